//! Several passes, random orders, held-out files.

use serde_json::Value;

use crate::support::{Folder, fail, flat, json, killed, late_classes, numbers, okl, ring, succeed};

const BUDGETS: [&str; 5] = ["unlimited", "window:40", "merge:40", "transfer:40", "age:200"];

fn model(folder: &Folder, name: &str, args: &[&str]) -> Vec<u8> {
    let path = folder.path(name);
    succeed(&[args, &["--quiet", "-o", &path]].concat());
    std::fs::read(path).unwrap()
}

#[test]
fn rows_that_come_again_add_onto_their_terms() {
    let folder = Folder::new("again");
    let data = folder.write("n.csv", numbers(300));
    for order in [&[][..], &["--shuffle", "3"]] {
        let args = [&["learn", &data, "--target", "u,v", "--passes", "3", "--budget", "unlimited"][..], order].concat();
        let path = folder.path("m.okl");
        let out = json(&[&args[..], &["-o", &path]].concat());
        assert_eq!((&out["summary"]["examples"], &out["training"]["summary"]["examples"]), (&300.into(), &300.into()));
        let terms: Value = serde_json::from_str(&succeed(&["inspect", &path, "--json"]).0).unwrap();
        assert_eq!(terms["terms"], 300, "{order:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bits_and_another_seed_others() {
    let folder = Folder::new("seed");
    let data = folder.write("ring.csv", ring(400));
    for budget in BUDGETS {
        let args = ["learn", &data, "--target", "where", "--passes", "2", "--budget", budget];
        let with = |seed: &str| model(&folder, "m.okl", &[&args[..], &["--shuffle", seed]].concat());
        let one = with("1");
        assert!(one == with("1") && one != with("2") && one != model(&folder, "m.okl", &args), "{budget}");
    }
}

/// A shuffled file is learned as the same rows would be if the file had them in that order.
#[test]
fn a_shuffled_file_is_the_file_in_another_order() {
    let folder = Folder::new("order");
    let text = late_classes(700);
    let data = folder.write("s.jsonl", &text);
    let shuffled = ["learn", &data, "--target", "class", "--shuffle", "11", "--predictions", &folder.path("p.jsonl"), "--json"];
    let with = serde_json::from_str::<Value>(&succeed(&shuffled).0).unwrap();
    let predictions = folder.read("p.jsonl");
    let order: Vec<usize> =
        predictions.lines().map(|l| serde_json::from_str::<Value>(l).unwrap()["line"].as_u64().unwrap() as usize).collect();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    assert!(sorted.into_iter().eq(1..=700) && !order.is_sorted(), "every line once");
    let lines: Vec<&str> = text.lines().collect();
    let reordered: String = order.iter().map(|line| format!("{}\n", lines[line - 1])).collect();
    let table = folder.write("reordered.csv", as_csv(&reordered, "x,y,k0,k1,k2,k3,k4"));
    assert_eq!(with["summary"], json(&["learn", &table, "--target", "class"])["summary"]);
}

/// Objects as a table with these columns, and `class` last.
fn as_csv(lines: &str, features: &str) -> String {
    let row = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        let cell = |name: &str| value.get(name).map_or("0".into(), |v| v.to_string().replace('"', ""));
        features.split(',').chain(["class"]).map(cell).collect::<Vec<_>>().join(",") + "\n"
    };
    format!("{features},class\n") + &lines.lines().map(row).collect::<String>()
}

#[test]
fn bad_rows_of_a_shuffled_file_are_counted_once_and_named() {
    let folder = Folder::new("shuffled-bad");
    let data = folder.write("n.csv", format!("a,y\n{}oops,1\n5,5\n", (0..50).map(|i| format!("{i},{i}\n")).collect::<String>()));
    let predictions = folder.path("p.csv");
    let args = ["learn", &data, "--target", "y", "--task", "numbers", "--on-bad-row", "skip", "--passes", "2"];
    for order in [&[][..], &["--shuffle", "1"]] {
        let out = json(&[&args[..], order, &["--predictions", &predictions]].concat());
        assert_eq!(out["skipped_rows"], 1);
        let lines = folder.read("p.csv");
        assert!(lines.lines().any(|line| line == "52,") && lines.lines().count() == 53, "{lines}");
    }
}

#[test]
fn what_cannot_be_gone_over_again_is_refused() {
    let folder = Folder::new("once");
    let data = folder.write("ring.csv", ring(50));
    fail(&["learn", "-", "--target", "y", "--passes", "2"], 2, &["--passes", "standard input", "file"]);
    fail(&["learn", "-", "--target", "y", "--shuffle", "2"], 2, &["--shuffle", "standard input", "file"]);
    assert_eq!(okl(&["learn", &data, "--target", "where", "--passes", "0"]).output().unwrap().status.code(), Some(2));
}

#[test]
fn a_column_of_ids_is_used_instead_of_lines() {
    let folder = Folder::new("ids");
    // Every row is there twice under one id: two hundred terms become one hundred.
    let rows: String = (0..200).map(|i| format!("{},{},r{}\n", i % 100, (i % 100) % 7, i % 100)).collect();
    let data = folder.write("n.csv", format!("a,y,name\n{rows}"));
    let terms = |flags: &[&str]| {
        let path = folder.path("m.okl");
        let args = ["learn", &data, "--target", "y", "--task", "numbers", "--budget", "unlimited", "--quiet", "-o", &path];
        succeed(&[&args[..], flags].concat());
        serde_json::from_str::<Value>(&succeed(&["inspect", &path, "--json"]).0).unwrap()["terms"].clone()
    };
    assert_eq!(terms(&["--id", "name", "--passes", "2"]), 100);
    assert_eq!(terms(&["--ignore", "name", "--passes", "2"]), 200);
}

#[test]
fn new_data_do_not_meet_the_ids_of_old_ones() {
    let folder = Folder::new("new-ids");
    let (first, second) = (
        folder.write("a.csv", numbers(80)),
        folder.write("b.csv", ring(90).replace("inside", "1").replace("outside", "2").replace("x,y,where", "a,b,u")),
    );
    let args = ["--target", "u", "--task", "numbers", "--features", "a,b", "--passes", "2", "--budget", "unlimited", "--quiet"];
    let (a, b) = (folder.path("a.okl"), folder.path("b.okl"));
    succeed(&[&["learn", &first, "-o", &a][..], &args].concat());
    succeed(&["learn", "--resume", &a, &second, "--passes", "2", "--quiet", "-o", &b]);
    let value: Value = serde_json::from_str(&succeed(&["inspect", &b, "--json"]).0).unwrap();
    assert_eq!(value["terms"], 170);
    let said = value["certificates"].to_string();
    assert!(!said.contains("had the id"), "{said}");
}

#[test]
fn a_held_out_file_is_shown_beside_the_progressive_figures() {
    let folder = Folder::new("held-out");
    let (train, test) = (folder.write("train.csv", ring(400)), folder.write("test.csv", ring(130)));
    let args = ["learn", &train, "--target", "where"];
    let alone = json(&args);
    let both = json(&[&args[..], &["--test", &test]].concat());
    assert_eq!((&alone["summary"], alone.get("held_out")), (&both["summary"], None));
    assert_eq!((&both["summary"]["examples"], &both["held_out"]["examples"]), (&400.into(), &130.into()));
    let (_, err) = succeed(&[&args[..], &["--test", &test]].concat());
    let (progressive, held_out) = (err.find("progressive, every row").unwrap(), err.find(&format!("held out, {test}:")).unwrap());
    assert!(progressive < held_out && err[progressive..].contains("400") && err[held_out..].contains("130"), "{err}");
    fail(&[&args[..], &["--quiet", "--test", &folder.path("none.csv")]].concat(), 1, &["none.csv", "no such file"]);
}

#[test]
fn a_class_that_only_the_held_out_file_has_is_a_mistake() {
    let folder = Folder::new("unseen");
    let train = folder.write("train.csv", ring(300));
    let test = folder.write("test.csv", "x,y,where\n0,0,inside\n0,1.8,outside\n9,9,elsewhere\n9,9,elsewhere\n");
    let held_out = json(&["learn", &train, "--target", "where", "--test", &test])["held_out"].clone();
    assert_eq!((&held_out["examples"], &held_out["classes"]["accuracy"]), (&4.into(), &0.5.into()));
    let numbers_file = folder.write("n.csv", numbers(100));
    let text = folder.write("t.csv", "a,b,c,u\n1,2,3,four\n");
    fail(
        &["learn", &numbers_file, "--target", "u", "--ignore", "v", "--quiet", "--test", &text],
        1,
        &["t.csv, line 2, column 'u'", "'four'", "a number"],
    );
}

/// A model that has learned 60 rows twice has learned 60 rows.
#[test]
fn passes_are_not_counted_as_rows() {
    let folder = Folder::new("passes-before");
    let (data, first, second) = (folder.write("ring.csv", ring(60)), folder.path("a.okl"), folder.path("b.okl"));
    succeed(&["learn", &data, "--target", "where", "--passes", "2", "--quiet", "-o", &first]);
    let said = succeed(&["learn", &data, "--resume", &first, "--passes", "2", "-o", &second]).1;
    let said = flat(&said);
    assert!(
        said.contains("Figures of this run; 60 rows were learned before (120 examples, a row being counted in every pass)."),
        "{said}"
    );
}

/// A run that only has a last pass has no progressive figures, and no heading of them.
#[test]
fn a_run_of_a_later_pass_has_no_progressive_figures() {
    let folder = Folder::new("last-pass");
    let (data, model) = (folder.write("ring.csv", ring(60)), folder.path("a.okl"));
    succeed(&["learn", &data, "--target", "where", "--passes", "2", "--quiet", "-o", &model]);
    let said = succeed(&["learn", &data, "--resume", &model, "--continue", "--passes", "3", "-o", &model]).1;
    assert!(said.contains("All rows of this run had been learned before.") && said.contains("in pass 3"), "{said}");
    assert!(!said.contains("progressive"), "{said}");
}

/// Rows that are only predicted come first in the file, and have categories and words of learned rows: in a random order, a row after the last learned one
/// has the score of the final model. An interruption changes nothing.
#[test]
fn rows_that_are_only_predicted_have_the_columns_of_a_shuffled_file() {
    let folder = Folder::new("shuffled-columns");
    let [model, end, cut] = ["m.okl", "end.okl", "cut.okl"].map(|name| folder.path(name));
    let kinds = ["zz", "u", "v"];
    let note = "n".repeat(1000);
    // The last 60 of 400 rows are learned, and 200 after an interruption.
    for (known, flags) in [(60, ["--one-hot", "cat"]), (60, ["--text", "cat"]), (200, ["--one-hot", "cat"])] {
        let row = |i: usize| {
            let target = if i < 400 - known { "" } else { ["no", "yes"][usize::from((i % 7 > 3) != i.is_multiple_of(3))] };
            format!("{}.5,{},{note},{target}\n", i % 7, kinds[i % 3])
        };
        let data = folder.write("d.csv", (0..400).map(row).fold(String::from("x,cat,note,y\n"), |all, row| all + &row));
        let learn = [
            "learn",
            &data,
            "--target",
            "y",
            "--ignore",
            "note",
            "--task",
            "classes",
            "--save-model",
            "recent",
            "--shuffle",
            "1",
        ];
        let learn = [&learn[..], &flags].concat();
        let predictions = folder.path("p.jsonl");
        succeed(&[&learn[..], &["-o", &model, "--quiet", "--predictions", &predictions]].concat());
        let (seen, scores) = (folder.read("p.jsonl"), succeed(&["predict", &model, &data, "--predictions-format", "jsonl"]).0);
        let line = |row: &str| serde_json::from_str::<Value>(row).unwrap()["line"].as_u64().unwrap() as usize;
        let rows: Vec<&str> = seen.lines().collect();
        let last = rows.iter().rposition(|row| line(row) - 2 >= 400 - known).unwrap();
        let scores: Vec<&str> = scores.lines().collect();
        assert!(last + 1 < rows.len(), "rows come after the last learned one");
        let score = |row: &str| serde_json::from_str::<Value>(row).unwrap()["scores"].clone();
        rows[last + 1..].iter().for_each(|row| assert_eq!(score(row), score(scores[line(row) - 2]), "{flags:?}: {row}"));
        killed(&learn, &cut, |position| position["rows"].as_u64() >= Some(50));
        let rest = folder.path("rest.jsonl");
        drop(std::fs::remove_file(&rest));
        succeed(&["learn", &data, "--resume", &cut, "--continue", "--quiet", "-o", &end, "--predictions", &rest]);
        let rest = folder.read("rest.jsonl");
        assert!(rest.lines().count() > 100 && seen.ends_with(&rest), "{flags:?}");
        assert!(std::fs::read(&end).unwrap() == std::fs::read(&model).unwrap(), "{flags:?}");
    }
}

/// A number that only later JSON lines have is filled in every row of a shuffled file, whether the run is interrupted or not.
#[test]
fn a_late_key_is_filled_in_all_rows_of_a_shuffled_file() {
    let folder = Folder::new("shuffled-late");
    let [model, end, cut] = ["m.okl", "end.okl", "cut.okl"].map(|name| folder.path(name));
    let note = "n".repeat(1000);
    let late = |i: usize| if i < 200 || i.is_multiple_of(4) { String::new() } else { format!("\"b\":{}.5,", 100 + i % 5) };
    let row = |i: usize| format!("{{\"a\":{},{}\"note\":\"{note}\",\"y\":{}}}\n", i % 7, late(i), i % 7 + i % 5);
    let data = folder.write("d.jsonl", (0..400).map(row).collect::<String>());
    let learn = [
        "learn",
        &data,
        "--target",
        "y",
        "--task",
        "numbers",
        "--ignore",
        "note",
        "--missing",
        "mean",
        "--shuffle",
        "2",
        "--save-model",
        "recent",
    ];
    succeed(&[&learn[..], &["-o", &model, "--quiet"]].concat());
    killed(&learn, &cut, |position| position["rows"].as_u64() >= Some(50));
    succeed(&["learn", &data, "--resume", &cut, "--continue", "--quiet", "-o", &end]);
    assert!(std::fs::read(&end).unwrap() == std::fs::read(&model).unwrap());
}

/// Where no row can be learned, no pass has figures, and no row had been learned before.
#[test]
fn passes_over_rows_that_cannot_be_learned_say_so() {
    let folder = Folder::new("passes-none");
    let page = folder.path("r.html");
    let texts = ["a,y,w\n1,,1\n2,,1\n3,,1\n", "a,y,w\n1,p,0\n2,q,0\n3,p,0\n"];
    for (text, why) in texts.into_iter().zip(["target is missing", "of weight 0"]) {
        let data = folder.write("d.csv", text);
        let learn = ["learn", &data, "--target", "y", "--task", "classes", "--weight", "w", "--passes", "2", "--report", &page];
        let said = flat(&succeed(&learn).1);
        assert!(
            !said.contains("learned before")
                && said
                    .contains(&format!("No row was learned (3 rows {}", if why == "of weight 0" { why } else { "in which a" })),
            "{said}"
        );
        let page = folder.read("r.html");
        assert!(
            !page.contains("learned before") && page.contains("no row of this run has a target and a weight above 0"),
            "{page}"
        );
    }
}

/// A later run says how many rows the model had learned, each counted once.
#[test]
fn rows_before_a_run_are_counted_once() {
    let folder = Folder::new("passes-rows-before");
    let (data, first, second, page) =
        (folder.write("ring.csv", ring(70)), folder.path("a.okl"), folder.path("b.okl"), folder.path("r.html"));
    for task in [&["--target", "where"][..], &["--task", "novelty", "--ignore", "where"]] {
        succeed(&[&["learn", &data, "--passes", "3", "--quiet", "-o", &first, "--save-model", "recent"], task].concat());
        let out = json(&["learn", &data, "--resume", &first, "-o", &second, "--report", &page]);
        let words = "70 rows were learned before (210 examples, a row being counted in every pass)";
        assert!(out["part"].as_str().unwrap().contains(words), "{out}");
        assert_eq!((&out["rows_before"], &out["examples_before"]), (&70.into(), &210.into()));
        assert!(folder.read("r.html").contains(words));
    }
}
