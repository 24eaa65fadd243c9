//! What is said of runs over shuffled rows: the last rows of the file are not the last rows that were learned, and the row before is a random one.

use std::fmt::Write as _;

use crate::support::{Folder, Random, flat, heavy_tails, json, succeed};

/// Two classes on a board of four fields, with noise.
fn board(rows: usize) -> String {
    let mut random = Random(8);
    let mut text = String::from("a,b,c\n");
    for _ in 0..rows {
        let (a, b) = (random.next() - 0.5, random.next() - 0.5);
        let noise = 0.1 * (random.next() - 0.5);
        writeln!(text, "{a:.4},{b:.4},{}", if a * b + noise > 0.0 { "same" } else { "other" }).unwrap();
    }
    text
}

/// The saved model is not compared on the last rows of the file with the model that went on learning on the last rows of the shuffled order.
#[test]
fn models_are_not_compared_on_different_last_rows() {
    let folder = Folder::new("shuffled-last");
    let (data, model, report) = (folder.write("b.csv", board(1200)), folder.path("m.okl"), folder.path("r.html"));
    let learn = ["learn", &data, "--target", "c", "-o", &model, "--save-model", "all", "--report", &report];
    let (out, said) = (json(&learn), succeed(&learn).1);
    assert!(out["saved_model"]["last_rows"]["all_error"].is_number(), "{out}");
    assert!(said.contains("\n  last rows ") && flat(&said).contains("last 240 rows that it has learned"), "{said}");
    let shuffled = [&learn[..], &["--shuffle", "3"]].concat();
    let (out, said) = (json(&shuffled), succeed(&shuffled).1);
    assert_eq!((&out["saved_model"]["model"], out["saved_model"].get("last_rows")), (&"all".into(), None), "{out}");
    assert!(!said.contains("\n  last rows ") && !said.contains("goes on learning"), "{said}");
    assert!(said.contains("\nsaved model ") && flat(&said).contains("each predicted before this model learned it"), "{said}");
    let page = folder.read("r.html");
    assert!(!page.contains("goes on learning") && !page.contains("rows of the stream are drawn"), "the report");
    assert!(page.contains("the last 400 rows of this run are drawn"), "the report");
}

/// A final model that is much worse on past rows: of shuffled rows, no half of the file is named, because the model learned none of them last.
#[test]
fn halves_of_the_file_are_not_named_for_shuffled_rows() {
    let folder = Folder::new("shuffled-halves");
    let data = folder.write("heavy.csv", heavy_tails(1500).0);
    let learn = ["learn", &data, "--target", "y", "--loss", "squared", "--kernel", "gaussian:1", "--step", "constant:1"];
    let past = |more: &[&str]| json(&[&learn[..], more].concat())["model_on_past_rows"].clone();
    let (in_order, shuffled) = (past(&[]), past(&["--shuffle", "4"]));
    assert!(in_order["much_worse"] == true && shuffled["much_worse"] == true, "the case occurs: {in_order} {shuffled}");
    assert!(in_order["halves"].is_object() && shuffled.get("halves").is_none(), "{in_order} {shuffled}");
}

/// With --save-model all, the other model is saved because the command says so, and not because the final one is much worse.
#[test]
fn a_model_that_is_asked_for_does_not_follow_from_a_warning() {
    let folder = Folder::new("shuffled-asked");
    let sorted: String = (0..90).map(|i| format!("{:.3},{}\n", f64::from(i) / 90.0, ["a", "b", "c"][i as usize / 30])).collect();
    let (data, model) = (folder.write("s.csv", format!("x,c\n{sorted}")), folder.path("m.okl"));
    let settings = ["--target", "c", "--task", "classes", "--kernel", "gaussian:1", "--step", "constant:1"];
    let learn = [&["learn", &data, "-o", &model, "--save-model", "all"], &settings[..]].concat();
    let (out, said) = (json(&learn), flat(&succeed(&learn).1));
    assert!(out["model_on_past_rows"]["much_worse"] == true && said.contains("the later half of these rows"), "{said}");
    assert!(!said.contains("So rows were learned once more"), "{said}");
    assert!(said.contains("--save-model all takes another model, which has learned rows once more in a random order."), "{said}");
}
