//! Cells without a value: a model with the setting `missing` takes them in every format, and has the bits of the command line.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use okl::Learner;
use serde_json::{Map, Value, json};

use crate::support::{Folder, Random, Served, call, json_call};

const NAMES: [&str; 3] = ["a", "b", "c"];
const SETTINGS: [(&str, &str); 7] = [
    ("loss", "squared"),
    ("kernel", "gaussian:0.5"),
    ("step", "constant:0.3"),
    ("lambda", "0.001"),
    ("budget", "merge:20"),
    ("scale", "standard"),
    ("warmup", "16"),
];

type Row = ([Option<f64>; 3], f64);

/// Rows in which a fifth of the cells has no value, but all of the first row; the last column has gaps from row 30 on.
fn rows(count: usize) -> Vec<Row> {
    let mut random = Random(11);
    let row = |at: usize| {
        let x: [f64; 3] = std::array::from_fn(|_| random.number());
        let gaps: [bool; 3] = std::array::from_fn(|column| random.below(5) == 0 && at > 0 && (column < 2 || at >= 30));
        (std::array::from_fn(|column| (!gaps[column]).then_some(x[column])), x[0] + x[1] * x[1])
    };
    (0..count).map(row).collect()
}

fn csv(rows: &[Row], empty: &str) -> String {
    rows.iter().fold("a,b,c,y\n".to_owned(), |mut text, (x, y)| {
        let cell = |cell: &Option<f64>| cell.map_or(empty.to_owned(), |v| v.to_string());
        let _ = writeln!(text, "{},{y}", x.iter().map(cell).collect::<Vec<_>>().join(","));
        text
    })
}

/// Rows as objects; a cell without a value is null, or left out.
fn objects(rows: &[Row], leave_out: bool) -> Vec<Map<String, Value>> {
    let object = |(x, _): &Row| {
        let cells = NAMES.iter().zip(x).filter(|(_, cell)| cell.is_some() || !leave_out);
        cells.map(|(name, cell)| ((*name).to_owned(), json!(cell))).collect()
    };
    rows.iter().map(object).collect()
}

fn ndjson(rows: &[Row]) -> String {
    objects(rows, false).into_iter().zip(rows).fold(String::new(), |mut text, (mut row, (_, y))| {
        row.insert("y".into(), json!(y));
        let _ = writeln!(text, "{}", json!(row));
        text
    })
}

fn config(rule: &str, like: &Learner) -> Value {
    let mut config: Map<String, Value> = SETTINGS.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
    config["lambda"] = json!(0.001);
    config["warmup"] = json!(16);
    let theirs = serde_json::to_value(like.config()).unwrap();
    for name in ["offset", "implicit"] {
        config.insert(name.into(), theirs[name].clone());
    }
    config.insert("missing".into(), json!(rule));
    json!({ "config": config })
}

/// Runs the command line.
fn okl(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_okl")).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// `okl learn --missing RULE` over these rows.
fn learned(folder: &Path, rule: &str, rows: &[Row]) -> (String, Learner) {
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (table, model) = (path("t.csv"), path("m.okl"));
    std::fs::write(&table, csv(rows, "")).unwrap();
    let mut args: Vec<String> = [
        "learn",
        &table,
        "--target",
        "y",
        "--task",
        "numbers",
        "--save-model",
        "recent",
        "--quiet",
        "--missing",
        rule,
        "-o",
        &model,
    ]
    .map(str::to_owned)
    .to_vec();
    args.extend(SETTINGS.iter().flat_map(|(name, value)| [format!("--{name}"), (*value).to_owned()]));
    okl(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let learner = Learner::load(&model).unwrap();
    (model, learner)
}

fn without_position(bytes: &[u8]) -> Vec<u8> {
    let mut learner = Learner::from_bytes(bytes).unwrap();
    learner.set_position([]);
    learner.to_bytes()
}

struct Client<'a>(&'a Served);

impl Client<'_> {
    fn json(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, answer) = json_call(&self.0.address, method, &format!("/v1/models/{path}"), body).unwrap();
        assert!(status < 300, "{path}: {answer}");
        answer
    }

    fn table(&self, path: &str, kind: &str, body: &str) -> Value {
        let (status, answer) = call(&self.0.address, "POST", &format!("/v1/models/{path}"), kind, body.as_bytes()).unwrap();
        assert!(status < 300, "{path}: {}", String::from_utf8_lossy(&answer));
        serde_json::from_slice(&answer).unwrap()
    }

    fn refused(&self, path: &str, kind: &str, body: &str) -> Value {
        let method = if path.contains('/') { "POST" } else { "PUT" };
        let (status, answer) = call(&self.0.address, method, &format!("/v1/models/{path}"), kind, body.as_bytes()).unwrap();
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(status, 422, "{path}: {body}: {answer}");
        answer["error"].clone()
    }

    fn file(&self, name: &str) -> Vec<u8> {
        self.json("POST", &format!("{name}/predict?fresh=true"), &json!({ "rows": [{}] }));
        call(&self.0.address, "GET", &format!("/v1/models/{name}/snapshot"), "", b"").unwrap().1
    }
}

fn numbers(answer: &Value) -> Vec<f64> {
    answer["scores"].as_array().unwrap().iter().map(|row| row[0].as_f64().unwrap()).collect()
}

/// One request, requests in all formats with a kill in the middle, labels that come later, and the command line: the same bits.
#[test]
fn every_way_gives_the_bits_of_the_command_line() {
    let all = rows(60);
    for rule in ["mean", "zero", "last", "mean+indicator", "zero+indicator", "last+indicator"] {
        let folder = Folder::new(&format!("missing-{rule}"));
        std::fs::create_dir_all(&folder.0).unwrap();
        let (model, theirs) = learned(&folder.0, rule, &all);
        let mut served = Served::start(&folder, &["--snapshot-rows", "40"]);
        let targets = |part: &[Row]| part.iter().map(|(_, y)| *y).collect::<Vec<f64>>();
        for name in ["once", "cut", "later"] {
            Client(&served).json("PUT", name, &config(rule, &theirs));
        }
        Client(&served).json("POST", "once/learn", &json!({ "rows": objects(&all, false), "targets": targets(&all) }));
        let ids = Client(&served).json("POST", "later/predict?remember=1d", &json!({ "rows": objects(&all[..40], false) }));
        let ids: Vec<u64> = serde_json::from_value(ids["ids"].clone()).unwrap();
        let label = |served: &Served, part: std::ops::Range<usize>| {
            let body = json!({ "ids": &ids[part.clone()], "targets": targets(&all[part]) });
            Client(served).json("POST", "later/label", &body)
        };
        let first = |served: &Served, from: usize, to: usize, kind: usize| {
            let (part, client) = (&all[from..to], Client(served));
            match kind {
                0 => client.json("POST", "cut/learn", &json!({ "rows": objects(part, true), "targets": targets(part) })),
                1 => client.table("cut/learn?target=y", "text/csv", &csv(part, "")),
                2 => client.table("cut/learn?target=y", "text/csv", &csv(part, "NA")),
                _ => client.table("cut/learn?target=y", "application/x-ndjson", &ndjson(part)),
            }
        };
        first(&served, 0, 7, 0);
        first(&served, 7, 33, 1);
        label(&served, 0..25);
        served.signal("-KILL");
        served = Served::start(&folder, &["--snapshot-rows", "40"]);
        first(&served, 33, 34, 3);
        first(&served, 34, 50, 2);
        label(&served, 25..40);
        first(&served, 50, 60, 3);
        // The last rows wait in a model that has learned before, over a stop that writes a snapshot.
        let late = Client(&served).json("POST", "later/predict?remember=1d", &json!({ "rows": objects(&all[40..], true) }));
        served.signal("-TERM");
        served = Served::start(&folder, &[]);
        let client = Client(&served);
        client.json("POST", "later/label", &json!({ "ids": late["ids"], "targets": targets(&all[40..]) }));
        let once = client.file("once");
        assert!(once == client.file("cut"), "{rule}: requests and a kill");
        assert!(once == client.file("later"), "{rule}: labels that come later");
        assert!(without_position(&once) == without_position(&std::fs::read(&model).unwrap()), "{rule}: the command line");
        let told = client.json("GET", "once", &Value::Null);
        assert_eq!((&told["missing"], &told["feature_names"]), (&json!(rule), &json!(NAMES)));
        let described = client.json("GET", "once/inspect", &Value::Null);
        assert_eq!(described["missing"], rule);
        let features = described["feature_names"].as_array().unwrap().len();
        assert_eq!((features, features > 3), (theirs.features(), rule.ends_with("indicator")));

        predictions_and_files(&folder, &client, rule, &model, &once);
    }
}

/// Predictions of every format, explanations, and model files that go to the server, come back and go on at the prompt.
fn predictions_and_files(folder: &Folder, client: &Client<'_>, rule: &str, model: &str, once: &[u8]) {
    let path = |name: &str| folder.0.join(name).to_str().unwrap().to_owned();
    let (ask, back, more) = (rows(80)[60..].to_vec(), path("back.okl"), path("more.csv"));
    let expected = numbers(&client.json("POST", "once/predict", &json!({ "rows": objects(&ask, true) })));
    std::fs::write(&more, csv(&ask, "?")).unwrap();
    let lists: Vec<&[Option<f64>; 3]> = ask.iter().map(|(x, _)| x).collect();
    assert_eq!(numbers(&client.json("POST", "once/predict", &json!({ "rows": lists }))), expected);
    assert_eq!(numbers(&client.table("once/predict?ignore=y", "text/csv", &csv(&ask, "nan"))), expected);
    assert_eq!(numbers(&client.table("once/predict?ignore=y", "application/x-ndjson", &ndjson(&ask))), expected);
    let explained = client.json("POST", "once/explain", &json!({ "rows": objects(&ask, true) }));
    let scores: Vec<f64> = explained["rows"].as_array().unwrap().iter().map(|row| row["score"][0].as_f64().unwrap()).collect();
    assert_eq!(scores, expected);
    // The file of the command line goes on here, and the file of the server at the prompt.
    std::fs::write(&back, once).unwrap();
    for (from, name) in [(model, "up"), (&back, "again")] {
        let file = std::fs::read(from).unwrap();
        let (status, answer) =
            call(&client.0.address, "PUT", &format!("/v1/models/{name}"), "application/octet-stream", &file).unwrap();
        assert_eq!(status, 201, "{}", String::from_utf8_lossy(&answer));
        let answer = client.table(&format!("{name}/learn?target=y"), "text/csv", &csv(&ask, ""));
        assert_eq!(answer["learned"], 20);
        let resumed = path("resumed.okl");
        okl(&["learn", &more, "--target", "y", "--resume", from, "--save-model", "recent", "--quiet", "-o", &resumed]);
        assert!(without_position(&client.file(name)) == without_position(&std::fs::read(&resumed).unwrap()), "{rule}: {name}");
        let predicted = okl(&["predict", from, &more]);
        let column = predicted.lines().next().unwrap().split(',').position(|name| name == "score").unwrap();
        let scores: Vec<f64> =
            predicted.lines().skip(1).map(|line| line.split(',').nth(column).unwrap().parse().unwrap()).collect();
        assert_eq!(scores, expected, "{rule}: {name}");
    }
}

/// Without a rule, a cell without a value is an error that names row and column; nothing changes. A wrong rule is refused.
#[test]
fn cells_without_a_value_are_refused_without_a_rule() {
    let folder = Folder::new("missing-refused");
    let served = Served::start(&folder, &[]);
    let client = Client(&served);
    let (json, lines) = ("application/json", "application/x-ndjson");
    client.json("PUT", "m", &json!({ "config": { "loss": "squared", "missing": "refuse" } }));
    client.json("PUT", "list", &json!({ "config": { "loss": "squared" } }));
    client.json("PUT", "s", &json!({ "config": { "loss": "squared" }, "sparse": true }));
    client.json("POST", "m/learn", &json!({ "rows": [{ "a": 1, "b": 2 }], "targets": [1] }));
    client.json("POST", "list/learn", &json!({ "rows": [[1, 2]], "targets": [1] }));
    client.json("POST", "s/learn", &json!({ "rows": [{ "a": 1, "b": 2 }, { "a": 2 }], "targets": [1, 2] }));
    let cases = [
        ("m/learn", json, r#"{"rows": [{"a": 1, "b": 2}, {"a": 1, "b": null}], "targets": [1, 1]}"#, json!(1), json!("b")),
        ("m/predict", json, r#"{"rows": [{"a": 1, "b": 2}, {"a": 1}]}"#, json!(1), json!("b")),
        ("m/predict", json, r#"{"rows": [{"a": 1, "b": 1e300}]}"#, json!(0), json!("b")),
        ("m/explain", json, r#"{"rows": [{"a": 1, "b": 1e300}]}"#, json!(0), json!("b")),
        ("m/predict", json, r#"{"rows": [[1, 2], [null, 2]]}"#, json!(1), json!("a")),
        ("list/learn", json, r#"{"rows": [[1, 2], [1, null]], "targets": [1, 1]}"#, json!(1), json!(1)),
        ("m/learn?target=y", "text/csv", "a,b,y\n1,2,1\n,2,1\n", json!(1), json!("a")),
        ("m/learn?target=y", lines, "{\"a\":1,\"b\":2,\"y\":1}\n{\"a\":1,\"b\":null,\"y\":1}\n", json!(1), json!("b")),
        ("s/learn", json, r#"{"rows": [{"a": 1}, {"a": 1, "b": null}], "targets": [1, 1]}"#, json!(1), json!("b")),
    ];
    for (path, kind, body, row, column) in cases {
        let error = client.refused(path, kind, body);
        assert_eq!((&error["row"], &error["column"]), (&row, &column), "{body}: {error}");
    }
    let error = client.refused("m/learn", json, r#"{"rows": [{"a": 1}], "targets": [1]}"#);
    assert!(error["message"].as_str().unwrap().contains("\"missing\" in \"config\""), "{error}");
    for name in ["m", "list"] {
        assert_eq!(client.json("GET", name, &Value::Null)["rows"], 1, "nothing was learned");
    }
    for (body, words) in [
        (r#"{"config": {"missing": "median"}}"#, "missing: found 'median', expected refuse, mean, zero, last, mean+indicator"),
        (r#"{"config": {"missing": "avg"}}"#, "or last+indicator; did you mean mean?"),
        (r#"{"config": {"missing": 3}}"#, "missing: expected text"),
        (r#"{"config": {"missing": "mean"}, "sparse": true}"#, "in a sparse model an absent number is 0"),
    ] {
        let error = client.refused("new", json, body);
        assert!(error["message"].as_str().unwrap().contains(words), "{error}");
    }
    // Numbers that are too large are refused before any row waits for a target.
    client.json("PUT", "empty", &json!({}));
    for body in [r#"{"rows": [[1, 2], [1, 1e300]]}"#, r#"{"rows": [{"a": 1, "b": 2}, {"b": 1e300, "a": 1}]}"#] {
        let error = client.refused("empty/predict?remember=1h", json, body);
        let column = if body.contains('a') { json!("b") } else { json!(1) };
        assert_eq!((&error["row"], &error["column"]), (&json!(1), &column), "{error}");
    }
    assert_eq!(client.json("GET", "empty", &Value::Null)["waiting"], 0);
}

/// Rows without a target leave no trace in the values of later cells, as at the prompt, also if they come before the first target.
#[test]
fn rows_before_the_first_target_leave_no_trace() {
    let folder = Folder::new("missing-undecided");
    std::fs::create_dir_all(&folder.0).unwrap();
    let mut served = Served::start(&folder, &[]);
    Client(&served).json("PUT", "m", &json!({ "config": { "missing": "mean+indicator" }, "task": null }));
    let early = json!({ "rows": [{ "a": 4, "b": 1 }, { "a": 6 }], "targets": [null, null] });
    assert_eq!(Client(&served).json("POST", "m/learn", &early)["scores"], json!([null, null]));
    served.signal("-KILL");
    served = Served::start(&folder, &[]);
    let client = Client(&served);
    client.json("POST", "m/learn", &json!({ "rows": [{ "b": 3 }, { "a": 1, "b": 2 }, { "a": 0 }], "targets": [1.5, 2.5, 3] }));
    let file = folder.0.join("there.okl");
    std::fs::write(&file, client.file("m")).unwrap();
    let learner = Learner::load(&file).unwrap();
    let stored: Value = serde_json::from_slice(learner.position()).unwrap();
    let seen: Vec<(u64, f64)> = stored["filled"]["seen"]
        .as_array()
        .unwrap()
        .iter()
        .map(|seen| (seen["count"].as_u64().unwrap(), seen["value"].as_f64().unwrap()))
        .collect();
    // a: 1, 0; b: 3, 2.
    assert_eq!(seen, [(2, 0.5), (2, 2.5)], "{stored}");
}

/// Arrow streams: null is a cell without a value, as in JSON.
#[test]
fn arrow_streams_have_cells_without_a_value() {
    let folder = Folder::new("missing-arrow");
    let served = Served::start(&folder, &[]);
    let client = Client(&served);
    let stream = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus/server_arrow/batches")).unwrap();
    let body = json!({
        "rows": [{ "x": 1.5 }, { "x": null }, { "x": 3.5 }, { "x": 4.5 }, { "x": 5.5 }],
        "targets": ["cat", "dög", null, "", "cat"], "weights": [1, 2, 3, 4, 5], "ids": [9, 8, 7, 6, 5],
    });
    for name in ["arrow", "json", "plain"] {
        let mut settings = json!({ "config": { "loss": "softmax", "kernel": "gaussian:0.5", "missing": "last+indicator" } });
        if name == "plain" {
            settings["config"].as_object_mut().unwrap().remove("missing");
        }
        client.json("PUT", name, &settings);
    }
    let kind = "application/vnd.apache.arrow.stream";
    let learn = |name: &str| {
        call(&served.address, "POST", &format!("/v1/models/{name}/learn?target=y&weight=w&id=k"), kind, &stream).unwrap()
    };
    let (status, answer) = learn("arrow");
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&answer));
    client.json("POST", "json/learn", &body);
    assert!(client.file("arrow") == client.file("json"));
    let (status, answer) = learn("plain");
    let refused: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!((status, &refused["error"]["row"], &refused["error"]["column"]), (422, &json!(1), &json!("x")), "{refused}");
}

/// A frozen model takes the rows of the model that it was made from: names that are absent are 0, or filled.
#[test]
fn a_frozen_model_takes_the_same_rows() {
    let folder = Folder::new("missing-frozen");
    let served = Served::start(&folder, &[]);
    let client = Client(&served);
    let plain = json!({ "loss": "squared", "kernel": "gaussian:0.5", "step": "constant:0.3", "lambda": 0.001, "scale": "none" });
    let mut filled = plain.clone();
    filled["missing"] = json!("mean+indicator");
    for (name, settings) in [("sparse", json!({ "config": plain, "sparse": true })), ("filled", json!({ "config": filled }))] {
        client.json("PUT", name, &settings);
        client.json("POST", &format!("{name}/learn"), &json!({ "rows": [{ "a": 1, "b": 2 }, { "b": 1 }], "targets": [1, -1] }));
        client.json("POST", &format!("{name}/freeze?to={name}-fixed"), &json!({}));
        let ask = json!({ "rows": [{ "b": 1 }, { "a": 1 }] });
        let scores = |name: &str| numbers(&client.json("POST", &format!("{name}/predict"), &ask));
        assert_eq!(scores(&format!("{name}-fixed")), scores(name), "{name}");
    }
}
