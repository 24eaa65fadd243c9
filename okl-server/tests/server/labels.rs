//! Labels of all types, and what the answers say of them.

use okl::{Batch, Config, Label, Learner};
use serde_json::{Value, json};

use crate::support::{Folder, Running, config};

const LEARN: &str = "/v1/models/m/learn";
const PREDICT: &str = "/v1/models/m/predict?fresh=true";
const ROWS: [[f64; 2]; 3] = [[1.0, 0.5], [-1.0, 0.5], [1.5, 0.0]];

/// A server with a model of this loss.
fn with_loss(loss: &str) -> (Folder, Running) {
    let (folder, mut config) = (Folder::new(), config());
    config["loss"] = json!(loss);
    let server = Running::start(&folder);
    server.put("/v1/models/m", &json!({ "config": config })).good();
    (folder, server)
}

/// Learns targets and returns the classes of the model.
fn classes_after(server: &Running, targets: Value) -> Value {
    server.post(LEARN, &json!({ "rows": ROWS, "targets": targets })).good();
    server.get("/v1/models/m").good()["classes"].clone()
}

/// A model file that has learned 1, 0, 1 as numbers or as text goes on learning with every spelling, and gets no further class.
#[test]
fn an_uploaded_model_knows_its_classes_in_every_type() {
    for (loss, named) in [("hinge", [1.into(), 0.into()]), ("softmax", [1.into(), 0.into()]), ("hinge", ["1".into(), "0".into()])]
    {
        let folder = Folder::new();
        let server = Running::start(&folder);
        let mut config = config();
        config["loss"] = json!(loss);
        let mut learner = Learner::new(Config::from_value(config).unwrap()).unwrap();
        let [one, zero]: [Label; 2] = named;
        let labels = [one.clone(), zero.clone(), one.clone()];
        learner.learn(&Batch::of_f64(ROWS.as_flattened(), 2).labels(&labels)).unwrap();
        let file = [("content-type", "application/octet-stream")];
        server.call("PUT", "/v1/models/m", &file, &learner.to_bytes()).good();
        for targets in [json!([true, false, true]), json!(["1", "0", "1"]), json!([1, 0, 1]), json!(["True", "False", "True"])] {
            let text = matches!(one, Label::Text(_));
            if text && !targets[0].is_number() && targets[0] != "1" {
                continue; // The texts "0" and "1" are not truth values.
            }
            assert_eq!(classes_after(&server, targets.clone()), json!([one, zero]), "{loss} {targets}");
            learner.learn(&Batch::of_f64(ROWS.as_flattened(), 2).labels(&labels)).unwrap();
        }
        assert_eq!(server.get("/v1/models/m/snapshot").body, learner.to_bytes(), "{loss}: as with the labels of the model");
    }
}

/// Classes that are given as text take text and numbers.
#[test]
fn given_classes_are_found_by_their_spelling() {
    let (folder, mut config) = (Folder::new(), config());
    config["classes"] = json!(["0", "1"]);
    let server = Running::start(&folder);
    server.put("/v1/models/m", &json!({ "config": config })).good();
    for targets in [json!(["1", "0", "1"]), json!([1, 0, 1])] {
        assert_eq!(classes_after(&server, targets), json!(["0", "1"]));
    }
}

/// A label comes back in the type in which it was first sent, whatever the type of a list of classes and the name that the model has for it.
#[test]
fn labels_come_back_as_they_were_sent() {
    let listed = |classes: Value| json!({ "classes": classes });
    for (given, sent) in [
        (listed(json!(["0", "1"])), json!([1, 0, 1])),
        (listed(json!([0, 1])), json!(["1", "0", "1"])),
        (listed(json!(["0", "1"])), json!(["1", "0", "1"])),
        (json!({}), json!(["10", "9", "10"])),
        (json!({}), json!([10, 9, 10])),
        (json!({}), json!(["10", "nine", "10"])),
        (json!({}), json!([10, "nine", 10])),
    ] {
        let (folder, mut config) = (Folder::new(), config());
        config.as_object_mut().unwrap().extend(given.as_object().unwrap().clone());
        let mut server = Running::start(&folder);
        server.put("/v1/models/m", &json!({ "config": config })).good();
        for _ in 0..20 {
            server.post(LEARN, &json!({ "rows": ROWS, "targets": sent })).good();
        }
        // Another spelling of the same classes changes nothing.
        let other: Vec<Value> = sent
            .as_array()
            .unwrap()
            .iter()
            .map(|y| y.as_str().map_or_else(|| json!(y.to_string()), |text| json!(text)))
            .collect();
        let answer = server.post(LEARN, &json!({ "rows": ROWS, "targets": other })).good();
        let all = |server: &Running| {
            let figures = server.get("/v1/models/m").good();
            let classes = figures["classes"].as_array().unwrap();
            let of_rows = [&figures["positive"]].into_iter().chain(classes).all(|class| sent.as_array().unwrap().contains(class));
            assert!(of_rows, "{given} {sent}: {figures}");
            server.post(PREDICT, &json!({ "rows": ROWS })).good()["labels"].clone()
        };
        assert!(sent.as_array().unwrap().contains(&answer["positive"]), "{given} {sent}: {answer}");
        assert_eq!(all(&server), sent, "{given}");
        server.stop();
        assert_eq!(all(&Running::start(&folder)), sent, "{given}, after a restart");
    }
    // With a task, a number with a fraction is a class.
    let folder = Folder::new();
    let server = Running::start(&folder);
    server.put("/v1/models/m", &json!({ "config": {}, "task": "classes" })).good();
    assert_eq!(classes_after(&server, json!([2.5, 1, 2.5])), json!([2.5, 1]));
}

/// Part of a request, sent again, has as many scores per row as the request had: one for each class that was known at its end.
#[test]
fn a_repeat_is_as_wide_as_the_first_answer() {
    let (_folder, server) = with_loss("softmax");
    let send = |rows: usize| {
        let (x, y) = (&ROWS[..rows], &["a", "b", "c"][..rows]);
        server.post(LEARN, &json!({ "rows": x, "targets": y, "stream": "s", "offset": 0 })).good()["scores"].clone()
    };
    let first = send(3);
    assert_eq!(first[0].as_array().unwrap().len(), 3);
    for rows in 1..=3 {
        assert_eq!(send(rows).as_array().unwrap()[..], first.as_array().unwrap()[..rows]);
    }
}

#[test]
fn an_unfinished_body_says_where_it_ends() {
    let (_folder, server) = with_loss("hinge");
    for (body, row) in [
        ("{\"rows\": [[1, 2], [3", json!(1)),
        ("{\"rows\": [[1, 2], [3, 4", json!(1)),
        ("{\"rows\": [{\"a\": 1}, {\"a\": ", json!(1)),
        ("{\"rows\": [[1, 2], [3, 4]], \"targets\": [1, ", json!(1)),
        ("{\"rows\": [[1, 2]], ", Value::Null),
    ] {
        let reply = server.call("POST", LEARN, &[], body.as_bytes());
        let error = &reply.json()["error"];
        assert_eq!((reply.status, &error["row"], &error["column"]), (400, &row, &Value::Null), "{body}: {error}");
        assert!(reply.message().contains("the body ends before it is complete"), "{body}: {error}");
    }
}

#[test]
fn truth_values_come_back_as_truth_values() {
    let (folder, mut server) = with_loss("hinge");
    for _ in 0..20 {
        assert_eq!(classes_after(&server, json!([true, false, true])), json!([true, false]));
    }
    let labels = |server: &Running| server.post(PREDICT, &json!({ "rows": ROWS })).good()["labels"].clone();
    assert_eq!(labels(&server), json!([true, false, true]));
    server.stop();
    let server = Running::start(&folder);
    assert_eq!(labels(&server), json!([true, false, true]), "after a restart");
    // The same classes as words or numbers: the model has truth values, until a class is none.
    for targets in [json!(["true", "False", "True"]), json!([1, 0, true])] {
        assert_eq!(classes_after(&server, targets), json!([true, false]));
    }
    let (_folder, server) = with_loss("softmax");
    assert_eq!(classes_after(&server, json!(["true", "false", true])), json!(["true", "false"]), "begun with words");
    let (_folder, server) = with_loss("softmax");
    assert_eq!(classes_after(&server, json!([true, false, "maybe"])), json!(["true", "false", "maybe"]));
}

#[test]
fn answers_name_the_positive_class_and_where_it_changes() {
    let (_folder, server) = with_loss("hinge");
    let rows = json!({ "rows": [[1.0, 0.0], [1.0, 0.1], [-1.0, 0.0], [1.0, 0.0]], "targets": ["a", "a", "b", "a"] });
    let answer = server.post(LEARN, &rows).good();
    // "b" sorts last.
    assert_eq!((&answer["positive"], &answer["positive_before"]), (&json!("b"), &json!({ "row": 2, "class": "a" })));
    let answer = server.post(LEARN, &rows).good();
    assert_eq!((&answer["positive"], &answer["positive_before"]), (&json!("b"), &Value::Null));
    let (_other, later) = with_loss("hinge");
    later.post(LEARN, &json!({ "rows": ROWS, "targets": ["a", "a", "a"] })).good();
    let answer = later.post(LEARN, &json!({ "rows": ROWS, "targets": ["b", "a", "b"] })).good();
    assert_eq!(answer["positive_before"], json!({ "row": 0, "class": "a" }), "the class of the answer before");
    let answer = server.post(PREDICT, &json!({ "rows": ROWS })).good();
    assert_eq!((&answer["positive"], &server.get("/v1/models/m").good()["positive"]), (&json!("b"), &json!("b")));
}

#[test]
fn only_rows_that_were_learned_count_as_learned() {
    let (_folder, server) = with_loss("squared");
    let rows = json!({ "rows": ROWS, "targets": [1.0, null, 2.0], "weights": [1, 1, 0], "key": "k" });
    let answer = server.post(LEARN, &rows).good();
    assert_eq!((&answer["learned"], &answer["not_learned"], &answer["repeated"]), (&json!(1), &json!(2), &json!(0)));
    let answer = server.post(LEARN, &rows).good();
    assert_eq!((&answer["learned"], &answer["not_learned"], &answer["repeated"]), (&json!(0), &json!(0), &json!(3)));
}

#[test]
fn a_label_without_a_target_leaves_the_row_waiting() {
    let (_folder, server) = with_loss("hinge");
    classes_after(&server, json!(["a", "b", "a"]));
    let ids = server.post(&format!("{PREDICT}&remember=1d"), &json!({ "rows": [[1.0, 2.0]] })).good()["ids"].clone();
    let reply = server.post("/v1/models/m/label", &json!({ "ids": ids, "targets": [null] }));
    assert!(reply.status == 422 && reply.message().contains("row 0: no target for id"), "{reply:?}");
    assert_eq!(server.post("/v1/models/m/label", &json!({ "ids": ids, "targets": ["a"] })).good()["learned"], 1);
}

#[test]
fn fractions_are_not_new_classes() {
    let folder = Folder::new();
    let server = Running::start(&folder);
    server.call("PUT", "/v1/models/m", &[], b"").good();
    classes_after(&server, json!([0, 1, 0]));
    let reply = server.post(LEARN, &json!({ "rows": ROWS, "targets": [1, 2.5, 17.25] }));
    assert_eq!((reply.status, &reply.json()["error"]["row"]), (422, &json!(1)), "{reply:?}");
    assert!(reply.message().contains("\"task\": \"numbers\"") && reply.message().contains("(0, 1)"), "{reply:?}");
    for target in [json!("2.5"), json!(2.5)] {
        assert_eq!(classes_after(&server, json!([1, target, 0])), json!([0, 1, "2.5"]), "a class that was given as text");
    }
}

/// 2^53 + 1 is read as 2^53: two classes would become one.
#[test]
fn numbers_that_lose_digits_are_no_classes() {
    let folder = Folder::new();
    let server = Running::start(&folder);
    server.call("PUT", "/v1/models/m", &[], br#"{"task": "classes"}"#).good();
    let [a, b] = [9_007_199_254_740_992_u64, 9_007_199_254_740_993];
    let reply = server.post(LEARN, &json!({ "rows": ROWS, "targets": [1, a, b] }));
    assert_eq!((reply.status, &reply.json()["error"]["row"]), (422, &json!(1)), "{reply:?}");
    assert!(reply.message().contains("Send classes as text"), "{reply:?}");
    let texts = json!(["1", a.to_string(), b.to_string()]);
    assert_eq!(classes_after(&server, texts.clone()), texts, "the advice helps");
    assert_eq!(classes_after(&server, json!(["1", a - 1, "1"])).as_array().unwrap().len(), 4, "below 2^53 numbers are exact");
}

/// What is a class does not depend on the order of the targets, nor on whether the body is the first one.
#[test]
fn fractions_are_refused_in_every_order() {
    let refused = |server: &Running, targets: Value, row: usize| {
        let before = server.get("/v1/models/m").good();
        let reply = server.post(LEARN, &json!({ "rows": ROWS, "targets": targets }));
        assert_eq!((reply.status, &reply.json()["error"]["row"]), (422, &json!(row)), "{targets}: {reply:?}");
        assert_eq!(server.get("/v1/models/m").good(), before, "{targets}: nothing changes");
        reply.message()
    };
    let folder = Folder::new();
    let mut server = Running::start(&folder);
    server.call("PUT", "/v1/models/m", &[], b"").good();
    for (targets, row) in [(json!([1.5, 2.5, "n/a"]), 2), (json!(["n/a", 1.5, 2.5]), 0), (json!([1, 2.5, true]), 2)] {
        let said = refused(&server, targets, row);
        assert!(said.contains("text and numbers with fractions") && said.contains("null"), "{said}");
    }
    // As text, they are names; a number then finds the class of its spelling.
    assert_eq!(classes_after(&server, json!(["u", "1.5", "2.5"])), json!(["u", "1.5", "2.5"]));
    assert_eq!(classes_after(&server, json!([1.5, "u", 2.5])), json!(["u", "1.5", "2.5"]));
    let orders = [(json!(["u", 1.5, 3.5]), 2), (json!([1.5, 3.5, "u"]), 1), (json!([3.5, 1.5, "u"]), 0)];
    for (targets, row) in orders.clone() {
        assert!(refused(&server, targets, row).contains("target 3.5, but this model learns classes (u, 1.5, 2.5)"));
    }
    server.stop();
    server = Running::start(&folder);
    orders.into_iter().for_each(|(targets, row)| drop(refused(&server, targets, row)));
    // A loss alone is no list of names.
    let (_folder, server) = with_loss("max_margin");
    assert!(refused(&server, json!([1, 2.5, 3]), 1).contains("target 2.5, but this model learns classes."));
    // Listed classes, and those of a task, may be fractions.
    for settings in [json!({ "task": "classes" }), json!({ "config": { "classes": ["u", "1.5", "2.5"] } })] {
        let folder = Folder::new();
        let server = Running::start(&folder);
        server.put("/v1/models/m", &settings).good();
        for targets in [json!(["u", 1.5, 2.5]), json!([1.5, 2.5, "u"])] {
            assert_eq!(classes_after(&server, targets).as_array().unwrap().len(), 3, "{settings}");
        }
        if settings["task"].is_null() {
            assert!(refused(&server, json!([1.5, "u", 3.5]), 2).contains("target 3.5"));
        }
    }
}

#[test]
fn every_refusal_of_a_row_names_it() {
    let (_folder, server) = with_loss("hinge");
    classes_after(&server, json!(["a", "b", "a"]));
    server.put("/v1/models/named", &json!({ "config": config() })).good();
    server.post("/v1/models/named/learn", &json!({ "rows": [{ "a": 1, "b": 2 }], "targets": [1] })).good();
    for (model, rows, row) in [
        ("m", json!([[1, 2], [1, null]]), 1),
        ("m", json!([[1, 2], [1, "x"]]), 1),
        ("m", json!([[1, 2], [1]]), 1),
        ("m", json!([[1]]), 0),
        ("named", json!([{ "a": 1, "b": 2 }, { "a": 1, "b": null }]), 1),
        ("named", json!([{ "a": 1, "b": 2 }, { "a": 1, "b": 2, "c": 3 }]), 1),
        ("named", json!([{ "a": 1, "b": 2 }, { "a": 1 }]), 1),
        ("named", json!([{ "a": 1, "b": 2 }, {}]), 1),
    ] {
        let reply = server.post(&format!("/v1/models/{model}/predict"), &json!({ "rows": rows }));
        assert!((400..423).contains(&reply.status) && reply.json()["error"]["row"] == row, "{rows}: {reply:?}");
        assert!(reply.message().contains(&format!("row {row}")), "{reply:?}");
    }
}

/// A repeat of rows of a stream has the alerts and the class of positive scores of the first answer; so has an overlap.
#[test]
fn a_repeat_has_the_whole_answer() {
    let (_folder, server) = with_loss("hinge");
    let part = |from: usize, rows: &Value, targets: &Value| {
        server.post(LEARN, &json!({ "rows": rows, "targets": targets, "stream": "s", "offset": from })).good()
    };
    let (rows, targets) = (json!([[1, 0], [1, 1], [-1, 0], [1, 0]]), json!(["a", "a", "b", "a"]));
    let same = |first: &Value, again: &Value| {
        for key in ["scores", "alerts", "positive", "positive_before", "entry"] {
            assert_eq!(first[key], again[key], "{key}");
        }
    };
    let first = part(0, &rows, &targets);
    assert_eq!(first["positive_before"], json!({ "row": 2, "class": "a" }));
    same(&first, &part(0, &rows, &targets));
    let overlap = part(1, &json!([[1, 1], [-1, 0], [1, 0], [0, 1]]), &json!(["a", "b", "a", "b"]));
    assert_eq!((&overlap["positive"], &overlap["positive_before"]), (&json!("b"), &json!({ "row": 1, "class": "a" })));
    let detector =
        json!({ "loss": "nu_novelty:0.1", "kernel": "gaussian:1", "step": "constant:0.1", "lambda": 0.1, "theta0": 0.5 });
    server.put("/v1/models/d", &json!({ "config": detector })).good();
    let send = |from: u64, to: u64| {
        let rows: Vec<[f64; 1]> = (from..to).map(|i| [if i % 7 == 6 { 50.0 * i as f64 } else { 0.0 }]).collect();
        server.post("/v1/models/d/learn", &json!({ "rows": rows, "stream": "s", "offset": from })).good()
    };
    let first = send(0, 30);
    assert!(first["alerts"].as_array().unwrap().contains(&json!(27)), "{first}");
    same(&first, &send(0, 30));
    let overlap = send(20, 40);
    assert!(overlap["alerts"].as_array().unwrap().contains(&json!(7)), "row 27 of the stream: {overlap}");
    assert!(overlap["alerts"].as_array().unwrap().contains(&json!(14)), "row 34, which is new: {overlap}");
}
