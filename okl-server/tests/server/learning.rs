//! Learning and predicting: the answers are those of a plain learner, and repeats learn nothing.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use okl::{Batch, Config, Learner};
use okl_server::http::route::ROUTES;
use okl_server::model::figures::{Figures, RowOutcome};
use okl_server::options::Options;
use serde_json::{Value, json};

use crate::support::{Folder, Running, Setup, body, config, learned, rows, scores};

const LEARN: &str = "/v1/models/m/learn";
const PREDICT: &str = "/v1/models/m/predict";

fn server() -> (Folder, Running) {
    let folder = Folder::new();
    let server = Running::start(&folder);
    assert_eq!(server.put("/v1/models/m", &json!({ "config": config() })).status, 201);
    (folder, server)
}

fn examples(server: &Running) -> u64 {
    server.get("/v1/models/m").good()["examples"].as_u64().unwrap()
}

#[test]
fn the_server_learns_what_a_plain_learner_learns() {
    let (_folder, server) = server();
    let batches = [rows(1, 50), rows(2, 1), rows(3, 700)];
    let mut found = Vec::new();
    for (x, y) in &batches {
        found.extend(scores(&server.post(LEARN, &body(x, y)).good()));
    }
    let (learner, expected) = learned(&batches);
    assert_eq!(found, expected);
    assert_eq!(server.model_file("m"), learner.to_bytes());
    let (x, _) = rows(9, 20);
    let answer = server.post(&format!("{PREDICT}?fresh=true"), &json!({ "rows": x })).good();
    let plain = learner.predict(&Batch::of_f64(x.as_flattened(), 2)).unwrap();
    assert_eq!(scores(&answer), plain.values);
    let labels: Vec<Value> = plain.iter().map(|z| json!(learner.classes()[learner.decide(z).unwrap()])).collect();
    assert_eq!(answer["labels"], json!(labels));
    // The mean error of the figures: a wrong sign, and the first row, before which no class is known.
    let truth = batches.iter().flat_map(|(_, y)| y);
    let wrong = 1 + expected.iter().zip(truth).skip(1).filter(|(z, y)| **z * **y as f64 <= 0.0).count();
    assert_eq!(server.get("/v1/models/m").good()["error"], json!(wrong as f64 / 751.0));
}

/// The error of a quantile is the pinball loss, as on the command line: |score - target| would be smallest at the median.
#[test]
fn a_quantile_is_measured_by_its_pinball_loss() {
    let folder = Folder::new();
    let server = Running::start(&folder);
    let settings = json!({ "loss": "quantile:0.9", "kernel": "gaussian:1", "step": "constant:0.5", "lambda": 0.001 });
    assert_eq!(server.put("/v1/models/m", &json!({ "config": settings })).status, 201);
    let (x, _) = rows(4, 300);
    let y: Vec<f64> = x.iter().map(|x| 3.0 * x[0] + x[1]).collect();
    let answer = server.post(LEARN, &json!({ "rows": x, "targets": y })).good();
    let pinball = |(z, y): (f64, &f64)| if *y > z { 0.9 * (y - z) } else { 0.1 * (z - y) };
    let expected = scores(&answer).into_iter().zip(&y).map(pinball).sum::<f64>() / 300.0;
    let told = server.get("/v1/models/m").good();
    assert!((told["error"].as_f64().unwrap() / expected - 1.0).abs() < 1e-12, "{told}");
    assert_eq!(told["quantile"], json!(0.9));
}

#[test]
fn a_bad_row_changes_nothing_and_is_named() {
    let (_folder, server) = server();
    let (x, y) = rows(1, 30);
    server.post(LEARN, &body(&x, &y)).good();
    let before = server.model_file("m");
    let mut bad = x.clone();
    bad[17][1] = 1e300;
    let reply = server.post(LEARN, &body(&bad, &y));
    assert_eq!((reply.status, &reply.json()["error"]["row"]), (422, &json!(17)), "{reply:?}");
    for wrong in [
        json!({ "rows": [[1.0]], "targets": [1] }),
        json!({ "rows": [[1.0, 2.0]], "targets": [1, 1] }),
        json!({ "rows": [[1.0, 2.0]], "targets": ["third"] }),
        json!({ "rows": [[1.0, 2.0]] }),
        json!({ "rows": [] }),
        json!({ "rows": [[1.0, 2.0]], "targets": [1], "weights": [-1.0] }),
        json!({ "rows": [{ "a": 1.0, "b": 2.0 }], "targets": [1] }),
        json!({ "rows": [[1.0, 2.0]], "targets": [1], "stream": "s" }),
    ] {
        let reply = server.post(LEARN, &wrong);
        assert_eq!(reply.status, 422, "{wrong}: {reply:?}");
    }
    assert_eq!(server.model_file("m"), before);
}

/// Row and column of a wrong value are in fields of the error, and no message has a name of Rust.
#[test]
fn wrong_values_are_named_in_plain_words() {
    let folder = Folder::new();
    let server = Running::start(&folder);
    for name in ["m", "named"] {
        server.put(&format!("/v1/models/{name}"), &json!({ "config": config() })).good();
    }
    server.post("/v1/models/named/learn", &json!({ "rows": [{ "a": 1.0, "b": 2.0 }], "targets": [1] })).good();
    let none = Value::Null;
    let cases = [
        ("m", r#"{"rows": [[1, 2], [1, "x"]], "targets": [1, 1]}"#, json!(1), json!(1)),
        ("m", r#"{"rows": [[1, null]], "targets": [1]}"#, json!(0), json!(1)),
        ("m", r#"{"rows": [[1, NaN]], "targets": [1]}"#, json!(0), json!(1)),
        ("m", r#"{"rows": [[1e400, 2]], "targets": [1]}"#, json!(0), json!(0)),
        ("m", r#"{"rows": [[1, 2], [1, 1e300]], "targets": [1, 1]}"#, json!(1), json!(1)),
        ("named", r#"{"rows": [{"a": 1, "b": true}], "targets": [1]}"#, json!(0), json!("b")),
        ("named", r#"{"rows": [{"b": 1e300, "a": 2}], "targets": [1]}"#, json!(0), json!("b")),
        ("m", r#"{"rows": [[1, 2], [3, 4]], "targets": [1, {"y": 1}]}"#, json!(1), none.clone()),
        ("m", r#"{"rows": [[1, 2], [3, 4]], "targets": [1, 1], "weights": [1, "x"]}"#, json!(1), none.clone()),
        ("m", r#"{"rows": [[1, 2], [3, 4]], "targets": [1, 1], "ids": [1, -1]}"#, json!(1), none.clone()),
        ("m", r#"{"rows": [[1, 2]], "targets": [1], "stream": "s", "offset": "x"}"#, none.clone(), none.clone()),
        ("m", r#"{"rows": [[1, 2], 5], "targets": [1, 1]}"#, json!(1), none.clone()),
        ("named", r#"{"rows": [{"a": 1, "b": 2, "a": 3}], "targets": [1]}"#, json!(0), json!("a")),
        ("m", r#"{"rows": 5}"#, none.clone(), none.clone()),
        ("m", "[1]", none.clone(), none.clone()),
        ("m", "5", none.clone(), none),
    ];
    let plain = |message: &str| {
        let names = ["f64", "u64", "i64", "usize", "struct", "enum", "OneTarget", "variant", "Settings", "KernelRows"];
        let found = names.iter().find(|name| message.contains(**name));
        assert!(found.is_none() && message.len() > 20, "{message}");
    };
    for (name, body, row, column) in cases {
        let reply = server.call("POST", &format!("/v1/models/{name}/learn"), &[], body.as_bytes());
        let error = reply.json()["error"].clone();
        assert!(matches!(reply.status, 400 | 422), "{body}: {reply:?}");
        assert_eq!((&error["row"], &error["column"]), (&row, &column), "{body}: {error}");
        plain(&reply.message());
    }
    for (path, body) in [("m/label", "{\"ids\": [1.5], \"targets\": [1]}"), ("m/label", "5"), ("m/hook", "5"), ("new", "5")] {
        let method = if path == "m/label" { "POST" } else { "PUT" };
        plain(&server.call(method, &format!("/v1/models/{path}"), &[], body.as_bytes()).message());
    }
}

/// Requests carry rows of numbers, so a model over kernel values or objects is refused before it exists.
#[test]
fn a_precomputed_kernel_is_refused_at_creation_and_upload() {
    let (_folder, server) = server();
    let learner = Learner::new(Config::from_value(json!({ "loss": "hinge", "kernel": "precomputed" })).unwrap()).unwrap();
    let of_file = [("content-type", "application/octet-stream")];
    for reply in [
        server.put("/v1/models/new", &json!({ "config": { "loss": "hinge", "kernel": "precomputed" } })),
        server.put("/v1/models/new", &json!({ "config": { "kernel": "precomputed" } })),
        server.call("PUT", "/v1/models/new", &of_file, &learner.to_bytes()),
    ] {
        assert!(reply.status == 422 && reply.message().contains("rows of numbers"), "{reply:?}");
    }
    assert_eq!(server.get("/v1/models/new").status, 404);
}

#[test]
fn names_place_numbers_whatever_their_order() {
    let folder = Folder::new();
    let server = Running::start(&folder);
    for name in ["m", "listed", "wide"] {
        server.put(&format!("/v1/models/{name}"), &json!({ "config": config(), "sparse": name == "wide" })).good();
    }
    let (x, y) = rows(4, 60);
    for (i, (x, y)) in x.iter().zip(&y).enumerate() {
        let row = if i % 2 == 0 { json!({ "a": x[0], "b": x[1] }) } else { json!({ "b": x[1], "a": x[0] }) };
        server.post(LEARN, &json!({ "rows": [row], "targets": [y] })).good();
    }
    server.post("/v1/models/listed/learn", &body(&x, &y)).good();
    assert_eq!(server.model_file("m"), server.model_file("listed"));
    let missing = server.post(LEARN, &json!({ "rows": [{ "a": 1.0 }], "targets": [1] }));
    assert!(missing.status == 422 && missing.message().contains("no value for column 'b'"), "{missing:?}");
    let unknown = server.post(LEARN, &json!({ "rows": [{ "a": 1.0, "b": 1.0, "c": 1.0 }], "targets": [1] }));
    assert!(unknown.status == 422 && unknown.message().contains("unknown column 'c'"), "{unknown:?}");
    // In a sparse model an absent number is 0 and a new name is a new column.
    for row in [json!({ "a": 1.0, "b": 2.0 }), json!({ "b": 3.0 }), json!({ "c": 4.0, "a": 5.0 })] {
        server.post("/v1/models/wide/learn", &json!({ "rows": [row], "targets": [1] })).good();
    }
    let (mut wide, _) = learned(&[(vec![[1.0, 2.0], [0.0, 3.0]], vec![1, 1])]);
    wide.widen(3).unwrap();
    wide.learn(&Batch::of_f64(&[5.0, 0.0, 4.0], 3).labels(&[okl::Label::Int(1)])).unwrap();
    assert_eq!(server.get("/v1/models/wide/snapshot").body, wide.to_bytes());
}

#[test]
fn with_nothing_set_the_first_rows_decide_the_task() {
    let folder = Folder::new();
    let server = Running::start(&folder);
    let cases = [
        ("text", json!({ "rows": [[1.0], [2.0]], "targets": ["cat", "dog"] }), "max_margin"),
        ("numbers", json!({ "rows": [[1.0], [2.0]], "targets": [1.5, 2.0] }), "squared"),
        ("flags", json!({ "rows": [[1.0], [2.0]], "targets": [true, false] }), "max_margin"),
        ("none", json!({ "rows": [[1.0], [2.0]] }), "density"),
    ];
    for (name, first, loss) in cases {
        server.call("PUT", &format!("/v1/models/{name}"), &[], b"").good();
        assert_eq!(server.post(&format!("/v1/models/{name}/predict"), &first).status, 409);
        server.post(&format!("/v1/models/{name}/learn"), &first).good();
        let told = server.get(&format!("/v1/models/{name}/inspect")).good()["config"]["loss"].to_string();
        assert!(told.contains(loss), "{name}: {told}");
    }
    let by_curl = server.call(
        "PUT",
        "/v1/models/curl",
        &[("content-type", "application/x-www-form-urlencoded")],
        b"{\"task\": \"numbers\"}",
    );
    assert_eq!(by_curl.status, 201, "{by_curl:?}");
    let wrong = server.put("/v1/models/wrong", &json!({ "config": { "gamma": -1 } }));
    assert_eq!(wrong.status, 422, "{wrong:?}");
}

#[test]
fn a_number_and_its_text_are_one_class() {
    let (_folder, server) = server();
    server.post(LEARN, &json!({ "rows": [[1, 2], [3, 4], [5, 6], [7, 8]], "targets": [1, "1", 1.0, -1] })).good();
    assert_eq!(server.get("/v1/models/m").good()["classes"], json!([1, -1]));
}

#[test]
fn a_stream_is_learned_exactly_once() {
    let (_folder, server) = server();
    let (x, y) = rows(5, 90);
    let part = |from: usize, to: usize| {
        let mut body = body(&x[from..to], &y[from..to]);
        (body["stream"], body["offset"]) = (json!("s"), json!(from));
        server.post(LEARN, &body)
    };
    let first = part(0, 40).good();
    let again = part(0, 40).good();
    assert_eq!((&again["scores"], &again["learned"], &again["repeated"]), (&first["scores"], &json!(0), &json!(40)));
    let overlap = part(20, 90).good();
    assert_eq!((&overlap["learned"], &overlap["repeated"], examples(&server)), (&json!(50), &json!(20), 90));
    assert_eq!(scores(&overlap)[..20], scores(&first)[20..]);
    let gap = part(89, 90).good();
    assert_eq!(gap["learned"], 0);
    let mut body = body(&x[..1], &y[..1]);
    (body["stream"], body["offset"]) = (json!("s"), json!(95));
    let gap = server.post(LEARN, &body);
    assert_eq!((gap.status, &gap.json()["error"]["expected_offset"]), (409, &json!(90)));
    assert_eq!(server.model_file("m"), learned(&[(x, y)]).0.to_bytes());
}

#[test]
fn a_key_makes_a_request_safe_to_repeat() {
    let (_folder, server) = server();
    let (x, y) = rows(6, 10);
    let send = |count: usize| {
        server.call("POST", LEARN, &[("idempotency-key", "k1")], body(&x[..count], &y[..count]).to_string().as_bytes())
    };
    let (first, again) = (send(10).good(), send(10).good());
    assert_eq!((&again["scores"], &again["entry"], &again["repeated"]), (&first["scores"], &first["entry"], &json!(10)));
    assert_eq!(send(9).status, 409);
    assert_eq!(examples(&server), 10);
}

#[test]
fn labels_that_arrive_later_are_learned_in_their_order() {
    let now = Arc::new(AtomicU64::new(1_000_000));
    let clock = Arc::clone(&now);
    let options = Options { clock: Arc::new(move || clock.load(Ordering::Relaxed)), most_waiting: 50, ..Options::default() };
    let folder = Folder::new();
    let server = Running::with(&folder, Setup { options, ..Setup::default() });
    server.put("/v1/models/m", &json!({ "config": config() })).good();
    let (x, y) = rows(7, 40);
    server.post(LEARN, &body(&x[..10], &y[..10])).good();
    let answer = server.post(&format!("{PREDICT}?remember=1h"), &json!({ "rows": x[10..] })).good();
    let ids: Vec<u64> = answer["ids"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap()).collect();
    let full = server.post(&format!("{PREDICT}?remember=1h"), &json!({ "rows": x }));
    assert_eq!(full.status, 429, "at most 50 rows wait: {full:?}");
    // The labels arrive in the opposite order; the last five never do.
    let order: Vec<usize> = (10..35).rev().collect();
    let label = |rows: &[usize]| {
        let (ids, targets): (Vec<u64>, Vec<i64>) = rows.iter().map(|i| (ids[i - 10], y[*i])).unzip();
        server.post("/v1/models/m/label", &json!({ "ids": ids, "targets": targets, "key": format!("labels {rows:?}") }))
    };
    let first = label(&order).good();
    assert_eq!(label(&order).good()["scores"], first["scores"]);
    assert_eq!(label(&order[..1]).status, 404);
    let later = (order.iter().map(|i| x[*i]).collect::<Vec<_>>(), order.iter().map(|i| y[*i]).collect::<Vec<_>>());
    let expected = learned(&[(x[..10].to_vec(), y[..10].to_vec()), later]).0.to_bytes();
    assert_eq!(server.model_file("m"), expected);
    // Waiting rows and answers survive a restart.
    let copy = folder.copy();
    let mut copied = Running::start(&copy);
    let told = copied.get("/v1/models/m").good();
    assert_eq!((&told["waiting"], &told["labelled"]), (&json!(5), &json!(25)));
    assert_eq!(copied.model_file("m"), expected);
    copied.stop();
    now.fetch_add(3601, Ordering::Relaxed);
    let told = (0..200).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        let told = server.get("/v1/models/m").good();
        (told["expired"] == 5).then_some(told)
    });
    assert_eq!(told.expect("expired")["waiting"], 0);
    assert_eq!(label(&[39]).status, 404);
}

#[test]
fn models_are_listed_copied_frozen_and_deleted() {
    let (folder, server) = server();
    let (x, y) = rows(8, 300);
    server.post(LEARN, &body(&x, &y)).good();
    assert_eq!(server.put("/v1/models/m", &json!({ "config": config() })).status, 200, "the same settings again");
    assert_eq!(server.put("/v1/models/m", &json!({ "config": {} })).status, 409);
    let file = server.model_file("m");
    let upload = server.call("PUT", "/v1/models/copy", &[("content-type", "application/octet-stream")], &file);
    assert_eq!(upload.status, 201);
    assert_eq!(server.get("/v1/models/copy/snapshot").body, file);
    let damaged = server.call("PUT", "/v1/models/bad", &[("content-type", "application/octet-stream")], &file[..file.len() / 2]);
    assert_eq!(damaged.status, 422);
    assert_eq!(server.post("/v1/models/m/freeze?to=plain", &json!({})).status, 201);
    let plain = Learner::from_bytes(&server.get("/v1/models/plain/snapshot").body).unwrap();
    assert_eq!(plain.members().len(), 1);
    let listed = server.get("/v1/models").good();
    let names: Vec<&str> = listed["models"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["copy", "m", "plain"]);
    assert_eq!(server.call("DELETE", "/v1/models/copy", &[], b"").status, 200);
    assert_eq!((server.get("/v1/models/copy").status, folder.0.join("copy").exists()), (404, false));
    let explained = server.post("/v1/models/m/explain", &json!({ "rows": [[0.5, 0.5]] })).good();
    assert_eq!(explained["rows"].as_array().unwrap().len(), 1);
    let metrics = String::from_utf8(server.get("/metrics").body).unwrap();
    assert!(metrics.contains("okl_examples_total{model=\"m\"} 300\n"), "{metrics}");
    let document = server.get("/v1/openapi.json").good();
    let (mut routes, mut operations) = (0, 0);
    for route in ROUTES {
        let operation = &document["paths"][route.path][route.method.to_lowercase()];
        assert_eq!(operation["summary"], route.summary);
        routes += 1;
    }
    document["paths"].as_object().unwrap().values().for_each(|path| operations += path.as_object().unwrap().len());
    assert_eq!(routes, operations);
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/openapi.json");
    if std::env::var_os("OKL_WRITE_OPENAPI").is_some() {
        std::fs::write(&kept, serde_json::to_string_pretty(&document).unwrap() + "\n").unwrap();
    }
    let kept: Value = serde_json::from_slice(&std::fs::read(kept).unwrap()).unwrap();
    assert!(kept == document, "docs/openapi.json is old: OKL_WRITE_OPENAPI=1 writes it anew");
}

/// A server with a detector, and the events of the detector from now on.
fn watched_detector(folder: &Folder) -> (Running, impl Iterator<Item = Value>) {
    use std::io::{BufRead, BufReader, Write};
    let server = Running::start(folder);
    let detector =
        json!({ "loss": "nu_novelty:0.1", "kernel": "gaussian:1", "step": "constant:0.1", "lambda": 0.1, "theta0": 0.5 });
    server.put("/v1/models/m", &json!({ "config": detector })).good();
    let mut events = std::net::TcpStream::connect(server.address).unwrap();
    write!(events, "GET /v1/models/m/events HTTP/1.1\r\nhost: {}\r\n\r\n", server.address).unwrap();
    let lines = BufReader::new(events).lines().map(Result::unwrap);
    let mut told = lines.filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok());
    let figures = told.next().unwrap();
    assert_eq!((&figures["type"], &figures["rows"]), (&json!("figures"), &json!(0)));
    (server, told)
}

#[test]
fn alerts_are_events() {
    let folder = Folder::new();
    let (server, mut told) = watched_detector(&folder);
    let answer = server.post(LEARN, &json!({ "rows": [[0.0], [0.0], [0.0], [50.0]] })).good();
    assert!(answer["alerts"].as_array().unwrap().contains(&json!(3)), "{answer}");
    assert!(told.any(|event| event["alert"]["row"] == 3));
}

/// Every alert of a request is an event, in one form, and so are the figures after it.
#[test]
fn all_alerts_of_a_request_are_events() {
    let folder = Folder::new();
    let (server, mut told) = watched_detector(&folder);
    std::thread::sleep(std::time::Duration::from_millis(300)); // figures are told four times a second at most
    let rows: Vec<[f64; 1]> = (0..60).map(|i| [50.0 * f64::from(i)]).collect();
    let alerts = server.post(LEARN, &json!({ "rows": rows })).good()["alerts"].clone();
    assert!(alerts.as_array().unwrap().len() > 30, "{alerts}");
    let found: Vec<Value> =
        told.by_ref().take(alerts.as_array().unwrap().len()).map(|event| event["alert"]["row"].clone()).collect();
    assert_eq!(json!(found), alerts);
    let figures = told.next().unwrap();
    assert_eq!((&figures["type"], &figures["rows"]), (&json!("figures"), &json!(60)));
}

/// The error of a detector is its rate of alerts, also for figures of an older snapshot, which have alerts and no errors.
#[test]
fn the_error_of_a_detector_is_its_rate_of_alerts() {
    let folder = Folder::new();
    let server = Running::start(&folder);
    let detector =
        json!({ "loss": "nu_novelty:0.1", "kernel": "gaussian:1", "step": "constant:0.1", "lambda": 0.1, "theta0": 0.5 });
    server.put("/v1/models/m", &json!({ "config": detector })).good();
    let rows: Vec<[f64; 1]> = (0..40).map(|i| if i % 8 == 7 { [50.0 * f64::from(i)] } else { [0.0] }).collect();
    let alerts = server.post(LEARN, &json!({ "rows": rows })).good()["alerts"].as_array().unwrap().len();
    assert!((1..40).contains(&alerts), "{alerts}");
    let rate = json!(alerts as f64 / 40.0);
    let told = server.get("/v1/models/m").good();
    assert_eq!((&told["alerts"], &told["error"], &told["recent_error"]), (&json!(alerts), &rate, &rate));
    let metrics = String::from_utf8(server.get("/metrics").body).unwrap();
    assert!(metrics.contains(&format!("okl_error{{model=\"m\"}} {rate}\n")), "{metrics}");
    let mut older = Figures { rows: 10, examples: 10, alerts: 2, ..Figures::default() };
    assert_eq!(older.mean_error(), Some(0.2));
    older.add(&RowOutcome { loss: Some(0.0), ..RowOutcome::default() }, Some(1.0), 1.0);
    assert_eq!(older.mean_error(), Some(3.0 / 11.0));
}

/// A snapshot of an older version, where every example counts 1; sums that overflowed; a drift without variance (JSON has no infinite numbers).
#[test]
fn figures_of_older_snapshots_and_of_overflows_are_read() {
    let read = |figures: &Value| serde_json::from_value::<Figures>(figures.clone()).unwrap();
    let example = |error: f64| RowOutcome { loss: Some(error), ..RowOutcome::default() };
    let mut stored = serde_json::to_value(Figures { rows: 2, examples: 2, loss: 3.0, error: 1.0, ..Figures::default() }).unwrap();
    stored["recent"] = json!([1.0, 0.0]);
    stored.as_object_mut().unwrap().retain(|name, _| !name.ends_with("_weight"));
    let mut older = read(&stored);
    assert_eq!((older.mean_error(), older.recent_error(), older.mean_loss()), (Some(0.5), Some(0.5), Some(1.5)));
    older.add(&example(3.0), Some(0.5), 3.0);
    assert_eq!((older.mean_error(), older.recent_error(), older.mean_loss()), (Some(0.5), Some(0.5), Some(1.2)));
    assert_eq!(read(&serde_json::to_value(&older).unwrap()), older);
    let mut large = Figures::default();
    for error in [1e308, 1e308, f64::INFINITY] {
        large.add(&example(error), Some(error), 1.0);
    }
    let again = read(&serde_json::to_value(&large).unwrap());
    assert_eq!((again.examples, again.mean_error(), again.recent_error(), again.mean_loss()), (3, None, None, None));
    let mut steady = Figures::default();
    for i in 0..1500 {
        steady.add(&example(0.0), Some(if i < 1000 { 0.0 } else { 1.0 }), 1.0);
    }
    assert_eq!((steady.drifts, steady.last_drifts[0].standard_errors), (1, f64::INFINITY));
    assert_eq!(read(&serde_json::to_value(&steady).unwrap()), steady);
}

/// Every route refuses a parameter that it does not read, and names those that it reads, which are those of the OpenAPI document.
#[test]
fn unknown_query_parameters_are_refused() {
    let (_folder, server) = server();
    let document = server.get("/v1/openapi.json").good();
    let refused = |method: &str, path: &str| {
        let reply = server.call(method, path, &[], b"");
        assert_eq!((reply.status, &reply.json()["error"]["code"]), (400, &json!("bad_parameter")), "{method} {path}: {reply:?}");
        reply.message()
    };
    for route in ROUTES {
        let message = refused(route.method, &format!("{}?targett=y", route.path.replace("{name}", "m")));
        assert!(message.contains("'targett'"), "{message}");
        let parameters = document["paths"][route.path][route.method.to_lowercase()]["parameters"].as_array().unwrap();
        let names = parameters.iter().filter(|p| p["in"] == "query").map(|p| p["name"].as_str().unwrap());
        let listed = names.collect::<Vec<_>>().join(", ");
        assert!(message.ends_with(&format!(": {}", if listed.is_empty() { "none" } else { &listed })), "{message}");
    }
    let cases = [
        ("POST", "/v1/models/m/learn?target=y&tops=1", "'tops'"),
        ("POST", "/v1/models/m/learn?target=y&target=z", "'target' comes twice"),
        ("POST", "/v1/models/m/learn?fresh=true", "'fresh'"),
        ("POST", "/v1/models/m/predict?stream=s", "'stream'"),
        ("GET", "/v1/models/m/events?since=1", "none"),
    ];
    for (method, path, words) in cases {
        let message = refused(method, path);
        assert!(message.contains(words), "{path}: {message}");
    }
    let (x, y) = rows(9, 20);
    server.post(LEARN, &body(&x, &y)).good();
    let predict = |fresh: &str| server.post(&format!("{PREDICT}?fresh={fresh}"), &json!({ "rows": x }));
    assert_eq!(["true", "false"].map(|fresh| predict(fresh).status), [200; 2]);
    let misspelled = predict("tru");
    assert!(misspelled.status == 400 && misspelled.message().contains("true or false, found 'tru'"), "{misspelled:?}");
    let file = server.model_file("m");
    let upload = |path: &str| server.call("PUT", path, &[("content-type", "application/octet-stream")], &file).status;
    assert_eq!((upload("/v1/models/wide?sparse=yes"), upload("/v1/models/wide?sparse=true")), (400, 201));
}
