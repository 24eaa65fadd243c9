//! Models whose type the first rows decide, and detectors with their figures.

use serde_json::{Value, json};

use crate::support::{Folder, Running, rows};

const LEARN: &str = "/v1/models/m/learn";
const MODEL: &str = "/v1/models/m";

/// A server with a model with nothing set.
fn undecided() -> (Folder, Running) {
    let folder = Folder::new();
    let server = Running::start(&folder);
    server.call("PUT", MODEL, &[], b"").good();
    (folder, server)
}

/// Targets for a model that has become a detector, or was created as one, are refused; missing ones are not.
#[test]
fn a_detector_refuses_targets() {
    let (_folder, server) = undecided();
    server.post(LEARN, &json!({ "rows": [[1, 2], [2, 1]] })).good();
    let refused = server.post(LEARN, &json!({ "rows": [[1, 2], [2, 1]], "targets": [null, "hot"] }));
    assert_eq!((refused.status, &refused.json()["error"]["row"]), (422, &json!(1)));
    for words in ["'hot'", "has become a novelty detector, because its first rows had no target", "\"task\": \"classes\""] {
        assert!(refused.message().contains(words), "{}", refused.message());
    }
    assert_eq!(server.get(MODEL).good()["rows"], 2, "nothing was learned");
    assert_eq!(server.post(LEARN, &json!({ "rows": [[1, 2]], "targets": [null] })).good()["learned"], 1);
    server.put("/v1/models/given", &json!({ "task": "novelty" })).good();
    let refused = server.post("/v1/models/given/learn", &json!({ "rows": [[1, 2]], "targets": [0.5] }));
    assert!(refused.status == 422 && refused.message().contains("is a novelty detector, and"), "{refused:?}");
}

/// Missing targets decide nothing, before and after a crash: the model is that of the rows with targets, and no row counts twice.
#[test]
fn missing_targets_leave_the_type_open() {
    let (folder, server) = undecided();
    let missing = json!({ "rows": [[1, 2], [2, 1]], "targets": [null, null], "stream": "s", "offset": 0 });
    let known = json!({ "rows": [[1, 2], [2, 1]], "targets": ["a", "b"], "stream": "s", "offset": 2 });
    let first = server.post(LEARN, &missing).good();
    assert_eq!((&first["learned"], &first["not_learned"], &first["scores"]), (&json!(0), &json!(2), &json!([null, null])));
    let bad = server.post(LEARN, &json!({ "rows": [{ "a": 1, "b": 2 }, { "a": 1 }], "targets": [null, null] }));
    assert_eq!((bad.status, &bad.json()["error"]["column"]), (422, &json!("b")), "rows are checked all the same");
    let crashed = folder.copy();
    Running::start(&folder.copy()).stop();
    let again = Running::start(&crashed);
    let repeated = again.post(LEARN, &missing).good();
    assert_eq!((&repeated["repeated"], &repeated["scores"]), (&json!(2), &first["scores"]));
    let (_other, plain) = undecided();
    plain.post(LEARN, &json!({ "rows": [[1, 2], [2, 1]], "targets": ["a", "b"] })).good();
    for server in [&server, &again] {
        assert_eq!(server.post(LEARN, &known).good()["learned"], 2);
        let told = server.get(MODEL).good();
        assert_eq!((&told["rows"], &told["examples"], &told["classes"]), (&json!(4), &json!(2), &json!(["a", "b"])));
        assert_eq!(server.model_file("m"), plain.model_file("m"));
    }
}

/// The threshold of nu_novelty is tracked as by `okl learn`, unless it or theta0 is given.
#[test]
fn a_detector_follows_its_rate_as_in_okl_learn() {
    let (_folder, server) = undecided();
    let cases = [
        (json!({ "loss": "nu_novelty", "nu": 0.01 }), true),
        (json!({ "loss": "nu_novelty", "nu": 0.01, "theta0": 0.5 }), false),
        (json!({ "loss": "nu_novelty", "nu": 0.01, "threshold": "norma" }), false),
        (json!({ "loss": "hinge" }), false),
    ];
    for (at, (config, tracked)) in cases.into_iter().enumerate() {
        let path = format!("/v1/models/d{at}");
        let told = server.put(&path, &json!({ "config": config })).good();
        assert_eq!(told["settings"]["config"], config, "the settings are kept as they were given");
        let threshold = server.get(&format!("{path}/inspect")).good()["config"]["threshold"].to_string();
        assert_eq!(threshold.contains("tracker"), tracked, "{config}: {threshold}");
    }
}

/// `error` and `alert_rate.rate` of a detector both leave out the rows before the threshold; other losses with nu have no alerts.
#[test]
fn a_detector_has_one_rate_of_alerts() {
    let (_folder, server) = undecided();
    let (x, y) = rows(3, 400);
    server.post(LEARN, &json!({ "rows": x })).good();
    let told = server.get(MODEL).good();
    let (error, rate) = (told["error"].as_f64().unwrap(), told["alert_rate"]["rate"].as_f64().unwrap());
    let alerts = told["alerts"].as_f64().unwrap();
    assert!(alerts > 0.0 && (error - rate).abs() < 1e-12, "{error} {rate} {alerts}");
    assert!((alerts / error - (400.0 - 256.0)).abs() < 1e-9, "256 rows have no threshold: {alerts} {error}");
    assert_eq!(told["outside_rate"], Value::Null);
    let tube = json!({ "loss": "nu_epsilon", "nu": 0.2, "kernel": "gaussian:1", "step": "constant:0.1", "lambda": 0.1 });
    server.put("/v1/models/tube", &json!({ "config": tube })).good();
    server.post("/v1/models/tube/learn", &json!({ "rows": x, "targets": y })).good();
    let told = server.get("/v1/models/tube").good();
    assert_eq!((&told["alert_rate"], &told["outside_rate"]["requested"]), (&Value::Null, &json!(0.2)));
    let metrics = String::from_utf8(server.get("/metrics").body).unwrap();
    assert!(metrics.contains("okl_outside_rate{model=\"tube\"}") && !metrics.contains("okl_alert_rate{model=\"tube\"}"));
    assert!(
        metrics.contains("# HELP okl_outside_rate Share of examples inside the margin (nu_hinge), of targets outside the tube"),
        "{metrics}"
    );
}

/// An uploaded model counts what its file has learned; its error is that of the rows since then.
#[test]
fn an_uploaded_model_counts_what_its_file_has_learned() {
    let (_folder, server) = undecided();
    let (x, y) = rows(5, 300);
    server.post(LEARN, &json!({ "rows": x[..200], "targets": y[..200] })).good();
    let file = server.model_file("m");
    server.call("PUT", "/v1/models/copy", &[("content-type", "application/octet-stream")], &file).good();
    let told = server.get("/v1/models/copy").good();
    assert_eq!((&told["examples"], &told["rows"], &told["error"]), (&json!(200), &json!(200), &Value::Null));
    let error_of = |name: &str| server.get(&format!("/v1/models/{name}")).good()["error"].as_f64();
    let before = error_of("m").unwrap();
    for name in ["m", "copy"] {
        server.post(&format!("/v1/models/{name}/learn"), &json!({ "rows": x[200..], "targets": y[200..] })).good();
    }
    let told = server.get("/v1/models/copy").good();
    assert_eq!((&told["examples"], &told["error"]), (&json!(300), &told["recent_error"]));
    let (all, since) = (error_of("m").unwrap(), error_of("copy").unwrap());
    assert!((300.0 * all - 200.0 * before - 100.0 * since).abs() < 1e-9, "{before} {since} {all}");
}

/// A model whose targets all come later: rows can be remembered before anything is learned, and survive a crash.
#[test]
fn rows_are_remembered_before_the_first_target() {
    let (_other, plain) = undecided();
    plain.post(LEARN, &json!({ "rows": [{ "a": 1, "b": 2 }, { "a": 2, "b": 1 }], "targets": ["x", "y"] })).good();
    for settings in [json!({}), json!({ "config": { "loss": "max_margin" } })] {
        let folder = Folder::new();
        let server = Running::start(&folder);
        server.put(MODEL, &settings).good();
        let remember = |rows: Value| server.post("/v1/models/m/predict?remember=1d", &json!({ "rows": rows }));
        let answer = remember(json!([{ "a": 1, "b": 2 }, { "b": 1, "a": 2 }])).good();
        assert_eq!((&answer["scores"], &answer["ids"]), (&json!([null, null]), &json!([0, 1])));
        assert_eq!(remember(json!([{ "a": 1, "c": 2 }])).json()["error"]["column"], "c");
        assert_eq!(remember(json!([[1, 2, 3]])).status, 422, "the model has two columns");
        let copy = folder.copy();
        let again = Running::start(&copy);
        for server in [&server, &again] {
            let labelled = server.post("/v1/models/m/label", &json!({ "ids": [0, 1], "targets": ["x", "y"] })).good();
            assert_eq!(labelled["learned"], 2);
            let told = server.get(MODEL).good();
            assert_eq!(
                (&told["classes"], &told["feature_names"], &told["waiting"]),
                (&json!(["x", "y"]), &json!(["a", "b"]), &json!(0))
            );
        }
        assert_eq!(server.model_file("m"), again.model_file("m"));
        if settings == json!({}) {
            assert_eq!(server.model_file("m"), plain.model_file("m"), "as if the rows had come with their targets");
        }
    }
    let (_folder, server) = undecided();
    let remember = |rows: Value| server.post("/v1/models/m/predict?remember=1d", &json!({ "rows": rows }));
    remember(json!([[1, 2]])).good();
    assert_eq!(remember(json!([[1, 2, 3]])).json()["error"]["row"], 0);
    assert_eq!(server.post(LEARN, &json!({ "rows": [[1]], "targets": [1] })).status, 422, "two columns, as the row that waits");
}

/// Rows that are remembered before anything is learned have no scores: they are remembered, and not predicted.
#[test]
fn rows_remembered_before_the_first_target_are_counted() {
    let (_folder, server) = undecided();
    let figures = || {
        let told = server.get(MODEL).good();
        ["remembered", "waiting", "labelled", "predicted", "rows"].map(|name| told[name].as_u64())
    };
    let metrics = || {
        let text = String::from_utf8(server.get("/metrics").body).unwrap();
        ["remembered_rows_total", "waiting_rows", "labelled_rows_total", "predicted_rows_total", "rows_total"].map(|name| {
            let start = format!("okl_{name}{{model=\"m\"}} ");
            text.lines().find_map(|line| line.strip_prefix(&start)?.parse::<u64>().ok())
        })
    };
    let predict = |path: &str, rows: Value| server.post(&format!("/v1/models/m/predict{path}"), &json!({ "rows": rows }));
    predict("?remember=1d", json!([[1, 2], [2, 1], [3, 3]])).good();
    assert_eq!((figures(), metrics()), ([3, 3, 0, 0, 0].map(Some), [3, 3, 0, 0, 0].map(Some)));
    server.post("/v1/models/m/label", &json!({ "ids": [0, 1], "targets": ["x", "y"] })).good();
    predict("?remember=1d", json!([[1, 1]])).good();
    predict("", json!([[1, 1], [2, 2]])).good();
    assert_eq!((figures(), metrics()), ([4, 2, 2, 3, 2].map(Some), [4, 2, 2, 3, 2].map(Some)));
    let script = String::from_utf8(server.get("/page.js").body).unwrap();
    assert!(script.contains("figure(\"remembered rows\", whole(model.remembered))"));
}

/// A task that contradicts the loss is refused when the model is created.
#[test]
fn the_task_is_that_of_the_loss() {
    let (_folder, server) = undecided();
    for (task, loss, good) in
        [("numbers", "hinge", false), ("classes", "squared", false), ("novelty", "softmax", false), ("classes", "softmax", true)]
    {
        let reply = server.put("/v1/models/t", &json!({ "task": task, "config": { "loss": loss } }));
        assert_eq!(reply.status, if good { 201 } else { 422 }, "{task} {loss}: {reply:?}");
        assert!(good || reply.message().contains("leave one of them out"), "{reply:?}");
    }
}

/// In a sparse model the row without numbers is the row of zeros.
#[test]
fn a_sparse_row_may_be_empty() {
    let folder = Folder::new();
    let server = Running::start(&folder);
    server.put(MODEL, &json!({ "sparse": true, "task": "classes" })).good();
    assert_eq!(server.post(LEARN, &json!({ "rows": [{}], "targets": ["x"] })).json()["error"]["row"], 0, "no column is known");
    server.post(LEARN, &json!({ "rows": [{ "a": 1 }, { "b": 2 }, {}], "targets": ["x", "y", "x"] })).good();
    let answer = server.post("/v1/models/m/predict", &json!({ "rows": [{ "a": 0 }, {}, { "c": 5 }] })).good();
    assert!(answer["scores"][0] == answer["scores"][1] && answer["scores"][1] == answer["scores"][2], "{answer}");
}
