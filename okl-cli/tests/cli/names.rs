//! Names in the options that the rows do not have, in formats without a header; and features that a model does not read.

use std::fmt::Write as _;

use serde_json::Value;

use crate::support::{Folder, Random, fail, flat, json, succeed, succeed_with};

/// JSON lines of which the key `w` is absent in the first row and in every fourth one.
fn lines(rows: usize) -> String {
    let mut random = Random(4);
    let mut text = String::new();
    for i in 0..rows {
        let (a, b, noise) = (random.next(), random.next(), random.next());
        let weight = if i % 4 == 0 { String::new() } else { format!(",\"w\":{}", [1, 10, 1, 1][i % 4]) };
        writeln!(text, "{{\"a\":{a:.4},\"b\":{b:.4},\"y\":{:.4}{weight}}}", a + noise * [0.1, 2.0][usize::from(i % 4 == 1)])
            .unwrap();
    }
    text
}

/// What a command says on standard error, without line breaks.
fn said(args: &[&str]) -> String {
    flat(&succeed(args).1)
}

#[test]
fn a_key_that_no_row_has_is_named() {
    let folder = Folder::new("names-keys");
    let (data, model) = (folder.write("w.jsonl", lines(1200)), folder.path("m.okl"));
    let learn = |more: &[&str]| said(&[&["learn", &data, "--target", "y", "-o", &model], more].concat());
    let with = "none of the first 1,000 rows has the key";
    let weight = learn(&["--weight", "wieght"]);
    assert!(weight.contains(&format!("{with} 'wieght': they have the weight 1; the keys are y, a, b, w")), "{weight}");
    assert!(
        learn(&["--ignore", "w,laek"])
            .contains(&format!("{with} 'laek': --ignore left out nothing for it; the keys are y, w, a, b"))
    );
    assert!(learn(&["--features", "a,bb"]).contains(&format!("{with} 'bb': --features took nothing for it")));
    fail(&["learn", &data, "--target", "y", "--features", "bb"], 1, &["no feature in this row"]);
    for right in [&["--weight", "w"][..], &["--ignore", "w"], &["--features", "a"], &["--ignore", "w", "--features", "a,b"]] {
        assert!(!learn(right).contains("none of the first"), "{right:?}");
    }
    learn(&["--ignore", "w"]);
    assert!(said(&["predict", &model, &data, "--keep", "nme"]).contains(&format!("{with} 'nme': its texts are empty")));
    assert!(!said(&["predict", &model, &data, "--keep", "w"]).contains("none of the first"));
    assert!(said(&["evaluate", &model, &data, "--by", "regio"]).contains("has the key 'regio'"));
    assert!(said(&["evaluate", &model, &data, "--weight", "wieght"]).contains("'wieght': they have the weight 1"));
    // Short input: at its end. The second file need not have a key of the first one.
    let few = folder.write("few.jsonl", "{\"a\":1,\"y\":1}\n{\"a\":2,\"y\":2}\n");
    assert!(said(&["learn", &few, "--target", "y", "--ignore", "c"]).contains("none of the first 2 rows has the key 'c'"));
    let second = folder.write("second.jsonl", "{\"a\":1,\"b\":1,\"y\":1}\n");
    assert!(!said(&["learn", &data, &second, "--target", "y", "--ignore", "w"]).contains("none of the first"));
    let near = folder.write("near.jsonl", "{\"a\":1,\"y\":1,\"weight\":2}\n{\"a\":2,\"y\":2,\"weight\":1}\n");
    assert!(said(&["learn", &near, "--target", "y", "--weight", "wieght"]).contains("y, a, weight; did you mean weight?"));
    // An object that is left out as a whole.
    let nested = folder.write("nested.jsonl", "{\"a\":1,\"y\":1,\"o\":{\"b\":1}}\n{\"a\":2,\"y\":2,\"o\":{\"b\":1}}\n");
    assert!(!said(&["learn", &nested, "--target", "y", "--ignore", "o"]).contains("none of the first"));
    assert!(!said(&["learn", &nested, "--target", "y", "--features", "o"]).contains("none of the first"));
}

#[test]
fn a_feature_that_no_row_has_is_named() {
    let folder = Folder::new("names-features");
    let svm = folder.write("s.svm", "1 1:2 3:1\n-1 2:1\n1 1:1\n-1 3:2\n");
    let vw = folder.write("s.vw", "1 |n a:1 b:2\n-1 |n a:2\n1 |n b:1\n");
    assert!(
        said(&["learn", &svm, "--ignore", "99"])
            .contains("none of the first 4 rows has the feature '99': --ignore left out nothing")
    );
    assert!(!said(&["learn", &svm, "--ignore", "2"]).contains("none of the first"));
    assert!(
        said(&["learn", &svm, "--features", "1,77"]).contains("'77': --features took nothing for it; the features are 1 to 3")
    );
    fail(&["learn", &svm, "--features", "77"], 2, &["--features: none of the first 4 rows has the feature '77'", "1 to 3"]);
    for more in [&[][..], &["--hash-bits", "8"]] {
        let learn = |flags: &[&str]| said(&[&["learn", &vw], more, flags].concat());
        assert!(learn(&["--ignore", "a"]).contains("has the feature 'a': --ignore left out nothing"), "{more:?}");
        let names =
            if more.is_empty() { "the features are n^a, n^b" } else { "the names of features are not kept (--hash-bits)" };
        assert!(learn(&["--ignore", "c"]).contains(names), "{more:?}");
        assert!(!learn(&["--ignore", "n^a"]).contains("none of the first"), "{more:?}");
        assert!(!learn(&["--features", "n^b"]).contains("none of the first"), "{more:?}");
    }
}

/// The weights of the rows that a model has learned may begin after the first row.
#[test]
fn weights_of_later_rows_are_taken_over() {
    let folder = Folder::new("names-weights");
    let (data, model, more) = (folder.write("w.jsonl", lines(400)), folder.path("m.okl"), folder.path("more.okl"));
    succeed(&["learn", &data, "--target", "y", "--weight", "w", "-o", &model, "--save-model", "recent"]);
    let (over, given) = (json(&["evaluate", &model, &data]), json(&["evaluate", &model, &data, "--weight", "w"]));
    assert_eq!(over["summary"], given["summary"]);
    assert_eq!(over["summary"]["weight"], 1300.0);
    assert!(flat(&over["warnings"].to_string()).contains("weights are taken from the key 'w'"), "{over}");
    let resumed = json(&["learn", &data, "--resume", &model, "-o", &more]);
    assert_eq!(resumed["summary"]["weight"], 1300.0);
    // No row has the key.
    let bare: String = (0..30).map(|i| format!("{{\"a\":{i},\"b\":1,\"y\":{i}}}\n")).collect();
    let bare = folder.write("bare.jsonl", bare);
    let none = said(&["evaluate", &model, &bare]);
    assert!(
        none.contains("none of the first 30 rows has the key 'w', from which the model took its weights: they have the weight 1"),
        "{none}"
    );
    // Every row needs an id: the first row decides.
    let ids: String = (0..50).map(|i| format!("{{\"a\":{i},\"b\":1,\"y\":{i},\"k\":{i}}}\n")).collect();
    let (ids, late) =
        (folder.write("ids.jsonl", &ids), folder.write("late.jsonl", format!("{{\"a\":1,\"b\":1,\"y\":1}}\n{ids}")));
    succeed(&["learn", &ids, "--target", "y", "--id", "k", "-o", &model]);
    let without = said(&["learn", &late, "--resume", &model, "-o", &more]);
    assert!(without.contains("the first row has no key 'k', from which the model took its ids: rows have no ids"), "{without}");
}

/// LIBSVM text of which feature 1 is a row number, and the same rows as a table.
fn numbered(rows: usize) -> (String, String) {
    let mut random = Random(8);
    let (mut svm, mut csv) = (String::new(), String::from("1,2,3,label\n"));
    for i in 0..rows {
        let (a, b) = (2.0 * random.next() - 1.0, 2.0 * random.next() - 1.0);
        let label = if a * b > 0.0 { 1 } else { -1 };
        writeln!(svm, "{label} 1:{} 2:{a:.4} 3:{b:.4}", i + 1).unwrap();
        writeln!(csv, "{},{a:.4},{b:.4},{label}", i + 1).unwrap();
    }
    (svm, csv)
}

/// The scores of predictions.
fn scores(predictions: &str) -> Vec<f64> {
    let at = predictions.lines().next().unwrap().split(',').position(|name| name == "score").unwrap();
    predictions.lines().skip(1).map(|line| line.split(',').nth(at).unwrap().parse().unwrap()).collect()
}

/// Scores of an export to JSON with a gaussian kernel and no frame, in double precision.
fn exported(model: &Value, row: &[f64]) -> f64 {
    let list = |value: &Value| -> Vec<f64> { value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect() };
    let mut u = row.to_vec();
    model["unread"].as_array().into_iter().flatten().for_each(|at| u[at.as_u64().unwrap() as usize] = 0.0);
    let gamma = model["parts"][0]["kernel"]["gaussian"]["gamma"].as_f64().unwrap();
    let terms = model["centres"].as_array().unwrap().iter().zip(model["coefficients"][0].as_array().unwrap());
    let sum: f64 = terms
        .map(|(centre, a)| {
            let r2: f64 = list(centre).iter().zip(&u).map(|(c, x)| (c - x).powi(2)).sum();
            list(a)[0] * (-gamma * r2).exp()
        })
        .sum();
    sum + list(&model["offset"])[0]
}

#[test]
fn a_feature_that_is_left_out_of_libsvm_text_is_read_nowhere() {
    let folder = Folder::new("names-unread");
    let (svm, csv) = numbered(300);
    let bare: String = csv.lines().skip(1).map(|line| line.rsplit_once(',').unwrap().0.to_owned() + "\n").collect();
    let (data, table, bare) = (folder.write("n.svm", svm), folder.write("n.csv", &csv), folder.write("bare.csv", bare));
    let model = folder.path("m.okl");
    let plain = ["--gamma", "1", "--scale", "none", "--step", "constant:0.5", "--lambda", "0.0001", "--kernel", "gaussian"];
    for left_out in [["--ignore", "1"], ["--features", "2,3"]] {
        succeed(&[&["learn", &data, "-o", &model, "--save-model", "recent"][..], &left_out, &plain].concat());
        let from_svm = scores(&succeed(&["predict", &model, &data]).0);
        assert_eq!(from_svm, scores(&succeed(&["predict", &model, &table]).0), "{left_out:?}");
        assert_eq!(from_svm, scores(&succeed(&["predict", &model, &bare]).0), "{left_out:?}");
        let json_of: Value = serde_json::from_str(&succeed(&["export", &model, "--to", "json", "-o", "-"]).0).unwrap();
        let rows = csv.lines().skip(1).map(|line| line.split(',').take(3).map(|v| v.parse::<f64>().unwrap()).collect::<Vec<_>>());
        for (row, score) in rows.zip(&from_svm) {
            let found = exported(&json_of, &row);
            assert!((found - score).abs() < 1e-5, "{left_out:?}: {found}, {score}");
        }
        fail(&["export", &model, "--to", "libsvm", "-o", "-"], 1, &["does not read feature 1", "--ignore"]);
        assert_eq!(json(&["inspect", &model])["unread_features"], serde_json::json!(["1"]));
        assert!(said_of(&model).contains("not read 1 "));
        // A table continues the model: the column stays unread.
        let resumed = folder.path("r.okl");
        succeed(&["learn", &table, "--resume", &model, "-o", &resumed]);
        assert_eq!(json(&["inspect", &resumed])["unread_features"], serde_json::json!(["1"]));
        assert_eq!(scores(&succeed(&["predict", &resumed, &data]).0), scores(&succeed(&["predict", &resumed, &table]).0));
    }
    // A linear function has the weight 0 for the feature, so LIBSVM computes it.
    succeed(&[
        "learn",
        &data,
        "-o",
        &model,
        "--ignore",
        "1",
        "--kernel",
        "linear",
        "--scale",
        "none",
        "--step",
        "constant:0.1",
        "--lambda",
        "0.01",
    ]);
    succeed(&["export", &model, "--to", "libsvm", "-o", "-"]);
}

fn said_of(model: &str) -> String {
    flat(&succeed(&["inspect", model]).0)
}

/// Where elapsed days begin, which whoever makes the features of an exported model needs.
#[test]
fn inspect_says_when_elapsed_days_begin() {
    let folder = Folder::new("names-times");
    let rows: String = (0..40).map(|i| format!("2024-02-{:02}T06:30:00.250+01:00,{i}\n", 1 + i % 28)).collect();
    let (data, model) = (folder.write("t.csv", format!("when,y\n{rows}")), folder.path("m.okl"));
    succeed(&["learn", &data, "--target", "y", "--time", "when", "-o", &model]);
    assert_eq!(json(&["inspect", &model])["elapsed_since"], serde_json::json!({ "when": "2024-02-01T05:30:00.250Z" }));
    assert!(said_of(&model).contains("elapsed days when since 2024-02-01T05:30:00.250Z"));
}

/// A stream that is short says the same at its end.
#[test]
fn a_stream_says_it_at_its_end() {
    let (_, err) = succeed_with(&["learn", "-", "--format", "jsonl", "--target", "y", "--weight", "v"], lines(20).as_bytes());
    assert!(flat(&err).contains("none of the first 20 rows has the key 'v'"), "{err}");
}
