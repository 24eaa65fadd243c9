//! Rows that are only predicted and have values that the model clips are counted and said.

use std::fmt::Write;

use serde_json::{Value, json as value};

use crate::support::{Folder, Random, flat, json, succeed};

/// Numbers in [0, 1) and in [0, 1000), and a target that follows from them.
fn rows(count: usize) -> String {
    let mut random = Random(21);
    let mut text = String::from("a,b,y\n");
    for _ in 0..count {
        let (a, b) = (random.next(), 1000.0 * random.next());
        writeln!(text, "{a:.4},{b:.2},{:.4}", (3.0 * a).sin() + b / 500.0).unwrap();
    }
    text
}

/// Ten rows: b is far outside in three of them, a in one.
const FAR: &str =
    "a,b,y\n0.5,200,1\n0.2,1e7,1\n0.3,-1e7,1\n-1000,300,1\n0.4,2e7,1\n0.5,0,1\n0.1,999,1\n0.9,500,1\n0.7,700,1\n0.6,600,1\n";

const SAID: &str = "4 of 10 rows have values at or beyond the limit of ";

const WORST: &str = "at which values are clipped, most often in column b, in 3 rows (also column a, with other figures): ";

/// `predict`, `evaluate` and `learn --test` say it once, with the same words; `evaluate --json` has the counts.
#[test]
fn predict_evaluate_and_test_say_which_values_are_clipped() {
    let folder = Folder::new("clipped");
    let (data, far, model) = (folder.write("t.csv", rows(600)), folder.write("f.csv", FAR), folder.path("m.okl"));
    let learn = ["learn", &data, "--target", "y", "-o", &model];
    for settings in [&[][..], &["--kernel", "gaussian:1", "--scale", "standard", "--loss", "squared"]] {
        let learned = json(&[&learn[..], settings, &["--test", &far]].concat());
        let warning = |out: &Value, file: &str| {
            let warnings = out["warnings"].as_array().unwrap().iter().filter_map(Value::as_str);
            let ours: Vec<&str> = warnings.filter(|line| line.starts_with(&format!("{file}{SAID}"))).collect();
            assert!(matches!(&ours[..], [line] if line.contains(WORST)), "{out}");
            ours[0].trim_start_matches(file).to_owned()
        };
        let tested = warning(&learned, &format!("{far}: "));
        let (_, predicted) = succeed(&["predict", &model, &far]);
        assert_eq!(flat(&predicted).matches(&tested).count(), 1, "{tested}: {predicted}");
        let evaluated = json(&["evaluate", &model, &far]);
        assert_eq!(warning(&evaluated, ""), tested);
        let columns = value!([{ "column": "b", "rows": 3 }, { "column": "a", "rows": 1 }]);
        assert_eq!(evaluated["clipped"], value!({ "rows": 4, "of_rows": 10, "columns": columns }));
        assert!(flat(&succeed(&["evaluate", &model, &far]).1).contains(&tested));
        assert_eq!(tested.contains("these rows have the scores of rows at the limit"), !settings.is_empty(), "{tested}");
        // The rows that the model learned have no such values.
        let (_, predicted) = succeed(&["predict", &model, &data]);
        assert!(!predicted.contains("clipped"), "{predicted}");
        let none = json(&["evaluate", &model, &data])["clipped"].clone();
        assert_eq!(none, value!({ "rows": 0, "of_rows": 600, "columns": [] }));
    }
}

/// A row that is far out is an alert of a detector, clipped or not.
#[test]
fn a_clipped_row_is_an_alert() {
    let folder = Folder::new("clipped-alert");
    let (data, far, model) = (folder.write("t.csv", rows(1500)), folder.write("f.csv", FAR), folder.path("m.okl"));
    succeed(&["learn", &data, "--task", "novelty", "--ignore", "y", "--quiet", "-o", &model]);
    let (out, err) = succeed(&["predict", &model, &far, "--ignore", "y", "--alerts-only"]);
    let alerts: Vec<&str> = out.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    assert!(["3", "4", "5", "6"].iter().all(|line| alerts.contains(line)), "{out}");
    let err = flat(&err);
    assert!(err.contains(SAID) && err.contains(WORST) && err.contains("can be alerts all the same"), "{err}");
}

/// The one row in 256 of a rare category lies 16 standard deviations from the mean. Clipping does not make it equal to another value.
#[test]
fn a_rare_category_is_not_called_clipped() {
    let folder = Folder::new("clipped-rare");
    let mut random = Random(22);
    let mut text = String::from("a,colour,y\n");
    for i in 0..256 {
        let (a, colour) = (100.0 * random.next(), if i == 130 { "red" } else { "blue" });
        writeln!(text, "{a:.2},{colour},{:.3}", a.sqrt()).unwrap();
    }
    let (data, model) = (folder.write("t.csv", text), folder.path("m.okl"));
    let scaled = ["--one-hot", "colour", "--scale", "standard", "--kernel", "gaussian:1", "--loss", "squared"];
    succeed(&[&["learn", &data, "--target", "y", "--quiet", "-o", &model][..], &scaled].concat());
    let learner = okl::Learner::load(&model).unwrap();
    assert!((0..learner.features()).any(|column| learner.unlimited(column, 1.0) > 15.0), "a value is clipped");
    let new = folder.write("n.csv", "a,colour\n50,red\n60,blue\n");
    let (_, err) = succeed(&["predict", &model, &new]);
    assert!(!err.contains("clipped"), "{err}");
}
