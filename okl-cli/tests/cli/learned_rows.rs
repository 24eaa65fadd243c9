//! Learned rows are recognised by what the model reads of them, however they are written.

use std::collections::HashSet;

use serde_json::Value;

use crate::support::{Folder, flat, json, killed, succeed};

/// A table of rows that are made from their numbers.
fn table(header: &str, rows: usize, row: impl Fn(usize) -> String) -> String {
    let header = if header.is_empty() { String::new() } else { format!("{header}\n") };
    (0..rows).fold(header, |all, i| all + &row(i) + "\n")
}

/// How many rows of some data are equal to learned rows of a model, and the rest of the output.
fn again(folder: &Folder, model: &str, name: &str, text: String) -> Value {
    let data = folder.write(name, text);
    json(&["learn", &data, "--resume", model, "-o", &folder.path("out.okl")])["rows_learned_again"].clone()
}

fn kind(i: usize) -> &'static str {
    ["p", "q"][i % 2]
}

/// Ids, the order of columns, columns that the model does not read, spellings of numbers, quotes and the format make no difference.
#[test]
fn a_row_is_known_however_it_is_written() {
    let folder = Folder::new("rows-written");
    let b = |i: usize| 0.25 * (i % 7) as f64;
    let data = folder.write("d.csv", table("id,a,b,kind", 40, |i| format!("{i},{i},{},{}", b(i), kind(i))));
    for order in [&[][..], &["--shuffle", "3"]] {
        let model = folder.path("m.okl");
        succeed(
            &[&["learn", &data, "--target", "kind", "--ignore", "id", "-o", &model, "--save-model", "recent"], order].concat(),
        );
        let written = [
            ("ids.csv", table("id,a,b,kind", 40, |i| format!("{},{i},{},{}", 7 * i, b(i), kind(i)))),
            ("order.csv", table("kind,more,b,a", 40, |i| format!("{},x{i},{},{i}", kind(i), b(i)))),
            ("spelled.csv", table("a,b,kind", 40, |i| format!("{i}.0,{:.3e},{}", b(i), kind(i)))),
            ("quoted.csv", table("\"a\";\"b\";\"kind\"", 40, |i| format!("\"{i}\";\"{}\";\"{}\"", b(i), kind(i)))),
            ("rows.jsonl", table("", 40, |i| format!("{{\"kind\": \"{}\", \"b\": {}, \"a\": {i}}}", kind(i), b(i)))),
            ("rows.libsvm", table("", 40, |i| format!("{} 1:{i} 2:{}", kind(i), b(i)))),
        ];
        for (name, text) in written {
            let found = again(&folder, &model, name, text);
            assert_eq!(found, serde_json::json!({ "rows": 40, "compared": 40 }), "{name} {order:?}");
            let said = json(&["evaluate", &model, &folder.path(name)])["warnings"].to_string();
            assert!(said.contains("these rows are equal to rows that the model has learned"), "{name}: {said}");
        }
        let new = [
            ("value.csv", table("a,b,kind", 40, |i| format!("{i},{},{}", b(i) + 0.01, kind(i)))),
            ("class.csv", table("a,b,kind", 40, |i| format!("{i},{},{}", b(i), kind(i + 1)))),
        ];
        for (name, text) in new {
            assert_eq!(again(&folder, &model, name, text)["rows"], 0, "{name}");
            assert_eq!(json(&["evaluate", &model, &folder.path(name)])["warnings"], serde_json::json!([]), "{name}");
        }
    }
}

/// Parts of the rows are counted, over runs of models that are resumed.
#[test]
fn rows_of_every_run_are_known() {
    let folder = Folder::new("rows-runs");
    let csv = |from: usize, to: usize| table("a,y", to - from, |i| format!("{},{}.5", from + i, (from + i) % 5));
    let jsonl = |from: usize, to: usize| table("", to - from, |i| format!("{{\"y\":{}.50,\"a\":{}}}", (from + i) % 5, from + i));
    let (one, two, three) = (folder.path("1.okl"), folder.path("2.okl"), folder.path("3.okl"));
    let learn = ["learn", &folder.write("1.csv", csv(0, 30)), "--target", "y", "--task", "numbers", "-o", &one];
    succeed(&[&learn[..], &["--save-model", "recent"]].concat());
    let out = json(&["learn", &folder.write("2.jsonl", jsonl(20, 60)), "--resume", &one, "-o", &two, "--save-model", "recent"]);
    assert_eq!(out["rows_learned_again"]["rows"], 10, "{out}");
    let out = json(&["learn", &folder.write("3.csv", csv(10, 70)), "--resume", &two, "-o", &three, "--save-model", "recent"]);
    assert_eq!(out["rows_learned_again"]["rows"], 50, "{out}");
    let said = flat(&succeed(&["inspect", &three]).0);
    assert!(said.contains("except 60 that are equal to rows of an earlier run"), "{said}");
}

/// Targets that are numbers are compared by value, classes by their names: 1e1 is the number 10, and no other name of the class 10.
#[test]
fn targets_are_compared_as_the_task_reads_them() {
    let folder = Folder::new("rows-targets");
    let model = folder.path("m.okl");
    let rows = |spell: fn(usize) -> &'static str| table("a,y", 40, |i| format!("{i},{}", spell(i)));
    let data = folder.write("d.csv", rows(|i| ["10", "2", "30"][i % 3]));
    let spelled = || rows(|i| ["1e1", "02", "3e1"][i % 3]);
    for (task, known) in [("numbers", 40), ("classes", 0)] {
        succeed(&["learn", &data, "--target", "y", "--task", task, "-o", &model, "--save-model", "recent"]);
        assert_eq!(again(&folder, &model, "spelled.csv", spelled())["rows"], known, "{task}");
        let floats = rows(|i| ["10.0", "+2", "30"][i % 3]);
        assert_eq!(again(&folder, &model, "floats.csv", floats)["rows"], 40, "{task}");
    }
    let texts = table("", 40, |i| format!("{{\"y\":\"{}\",\"a\":{i}}}", ["10", "2", "30"][i % 3]));
    assert_eq!(again(&folder, &model, "texts.jsonl", texts)["rows"], 40);
    let truths = folder.write("t.csv", table("a,y", 40, |i| format!("{i},{}", ["true", "false"][i % 2])));
    succeed(&["learn", &truths, "--target", "y", "-o", &model, "--save-model", "recent"]);
    let ones = table("a,y", 40, |i| format!("{i},{}", 1 - i % 2));
    assert_eq!(again(&folder, &model, "ones.csv", ones)["rows"], 40);
}

/// A cell without a value is no 0, and is known as such in every format. A column that is empty in the first rows changes nothing.
#[test]
fn cells_without_a_value_are_compared() {
    let folder = Folder::new("rows-missing");
    let model = folder.path("m.okl");
    let cell = |i: usize, empty: &str| if i % 4 == 3 || i < 8 { empty.to_owned() } else { (i % 3).to_string() };
    let rows = |empty: &str| table("a,b,e,kind", 40, |i| format!("{i},{},,{}", cell(i, empty), kind(i)));
    let data = folder.write("d.csv", rows(""));
    for missing in [&["--missing", "mean"][..], &["--missing", "mean+indicator"], &["--missing", "last", "--one-hot"]] {
        let learn = ["learn", &data, "--target", "kind", "-o", &model, "--save-model", "recent"];
        succeed(&[&learn[..], missing].concat());
        assert_eq!(again(&folder, &model, "same.csv", rows(""))["rows"], 40, "{missing:?}");
        assert_eq!(again(&folder, &model, "na.csv", rows("NA"))["rows"], 40, "{missing:?}");
        let null = table("", 40, |i| format!("{{\"e\":null,\"kind\":\"{}\",\"b\":{},\"a\":{i}}}", kind(i), cell(i, "null")));
        assert_eq!(again(&folder, &model, "null.jsonl", null)["rows"], 40, "{missing:?}");
        let empty = (0..40).filter(|i| cell(*i, "").is_empty()).count();
        assert_eq!(again(&folder, &model, "zeros.csv", rows("0"))["rows"], 40 - empty, "{missing:?}");
    }
}

/// Levels, words and keys that appear later do not change the fingerprints of the rows before.
#[test]
fn later_features_do_not_change_earlier_rows() {
    let folder = Folder::new("rows-later");
    let model = folder.path("m.okl");
    let csv = |rows: usize| table("a,c,kind", rows, |i| format!("{i},level{},{}", i / 5, kind(i)));
    let jsonl = |rows: usize| {
        let more = |i: usize| if i < 20 || i.is_multiple_of(3) { String::new() } else { format!(",\"k{}\":{i}", i / 10) };
        table("", rows, |i| format!("{{\"a\":{i},\"c\":{}{},\"kind\":\"{}\"}}", i % 3, more(i), kind(i)))
    };
    let cases: [(&str, String, String, &[&str]); 3] = [
        ("d.csv", csv(60), csv(30), &["--one-hot", "c"]),
        ("d.jsonl", jsonl(60), jsonl(30), &[]),
        ("f.jsonl", jsonl(60), jsonl(30), &["--missing", "mean"]),
    ];
    for (name, all, first, flags) in cases {
        let data = folder.write(name, &all);
        succeed(&[&["learn", &data, "--target", "kind", "-o", &model, "--save-model", "recent"], flags].concat());
        assert_eq!(again(&folder, &model, &format!("first-{name}"), first)["rows"], 30, "{name} {flags:?}");
        assert_eq!(again(&folder, &model, &format!("all-{name}"), all)["rows"], 60, "{name} {flags:?}");
    }
}

/// A file of an older version has hashes of the text of rows under another name. It is loaded, and nothing is claimed about its rows.
#[test]
fn without_fingerprints_nothing_is_claimed() {
    let folder = Folder::new("rows-old");
    let (model, old) = (folder.path("m.okl"), folder.path("old.okl"));
    let csv = table("a,kind", 40, |i| format!("{i},{}", kind(i)));
    let data = folder.write("d.csv", &csv);
    succeed(&["learn", &data, "--target", "kind", "-o", &model, "--save-model", "recent"]);
    let mut learner = okl::Learner::load(&model).unwrap();
    let mut position: Value = serde_json::from_slice(learner.position()).unwrap();
    let marks = position.as_object_mut().unwrap().remove("learned_rows").unwrap();
    position["learned"] = marks;
    learner.set_position(position.to_string().into_bytes());
    learner.save(&old).unwrap();
    assert_eq!(again(&folder, &model, "again.csv", csv.clone())["rows"], 40);
    assert_eq!(again(&folder, &old, "again.csv", csv.clone()), Value::Null);
    let other =
        folder.write("other.csv", csv.lines().take(30).skip(1).fold(String::from("a,kind\n"), |all, row| all + row + "\n"));
    assert!(json(&["evaluate", &model, &other])["warnings"].to_string().contains("that the model has learned"));
    assert_eq!(json(&["evaluate", &old, &other])["warnings"], serde_json::json!([]));
}

/// A model of many rows has fingerprints of a sample of them. Few rows of another run may have none there: that is no count of 0.
#[test]
fn few_comparisons_are_no_count() {
    let folder = Folder::new("rows-few");
    let row = |i: usize| format!("{i},{},{}", (i * 37 % 101) as f64 / 8.0, kind(i));
    let data = folder.write("d.csv", table("a,b,kind", 6000, row));
    let model = folder.path("m.okl");
    succeed(&["learn", &data, "--target", "kind", "--kernel", "linear", "--quiet", "-o", &model, "--save-model", "recent"]);
    let mut bounds = 0;
    for from in (0..6000).step_by(600) {
        let found = again(&folder, &model, "part.csv", table("a,b,kind", 15, |i| row(from + i)));
        let (rows, sure) = (found["rows"].as_u64().unwrap(), found["at_least"] != true);
        assert!(rows <= 15 && (!sure || rows == 15), "{from}: {found}");
        bounds += u64::from(found["at_least"] == true);
        let said = succeed(&["inspect", &folder.path("out.okl")]).1 + &succeed(&["inspect", &folder.path("out.okl")]).0;
        let said = flat(&said);
        let claim = said.split("each predicted before it was learned").nth(1).unwrap_or_else(|| panic!("{said}"));
        assert!(claim.starts_with(", as far as known") || claim.starts_with(", except"), "{from}: {said}");
    }
    assert!(bounds > 0, "the case occurs");
    // A few learned rows among many new ones are named.
    let some = folder.write("some.csv", table("a,b,kind", 3000, |i| if i % 16 == 0 { row(i) } else { row(10_000 + i) }));
    let said = json(&["evaluate", &model, &some])["warnings"].to_string();
    assert!(said.contains("equal to rows that the model has learned"), "{said}");
    let new = folder.write("new.csv", table("a,b,kind", 3000, |i| row(10_000 + i)));
    assert_eq!(json(&["evaluate", &model, &new])["warnings"], serde_json::json!([]));
}

/// Most rows of a file are copies of one row, which may or may not be looked up: the share of learned rows among those that are looked up says
/// little about the others. The number that is shown is never larger than the true one.
#[test]
fn copies_of_one_row_give_no_false_share() {
    let folder = Folder::new("rows-copies");
    let row = |i: usize| format!("{i},{},{}", (i * 37 % 101) as f64 / 8.0, kind(i));
    let data = folder.write("d.csv", table("a,b,kind", 6000, row));
    let model = folder.path("m.okl");
    succeed(&["learn", &data, "--target", "kind", "--kernel", "linear", "--quiet", "-o", &model, "--save-model", "recent"]);
    // 1,000 learned rows, and 3,000 copies of a row: of a new one, or of a learned one. Some copies are looked up, others are not.
    let mut looked_up = 0;
    for copied in [7000, 7001, 7002, 7003, 7004, 7005, 7006, 7007, 0, 1, 2, 3] {
        let text = table("a,b,kind", 4000, |i| if i % 4 == 0 { row(i / 4) } else { row(copied) });
        let found = again(&folder, &model, "copies.csv", text);
        let [rows, compared] = ["rows", "compared"].map(|key| found[key].as_u64().unwrap());
        assert!(found["at_least"] == true && rows > 0 && rows <= compared, "{copied}: {found}");
        assert!(rows <= if copied < 6000 { 4000 } else { 1000 }, "{copied}: {found}");
        looked_up += u64::from(compared >= 3000);
    }
    assert!(looked_up < 12, "copies that are not looked up occur");
}

/// Rows that come again within a run are counted as new: the run says how many there are.
#[test]
fn rows_that_come_again_within_a_run_are_said() {
    let folder = Folder::new("rows-again");
    let row = |i: usize| format!("{},{},{}", (37 * i) % 101, (53 * i) % 97, kind(i / 3));
    let said = |data: &str, more: &[&str]| {
        let learn = [&["learn", data, "--target", "kind", "--task", "classes"], more].concat();
        let repeated = json(&learn)["rows_repeated"].clone();
        (repeated, flat(&succeed(&learn).1))
    };
    // 100 rows, each of them four times: 300 rows are equal to an earlier one, whatever the order and the number of passes.
    let data = folder.write("four.csv", table("a,b,kind", 400, |i| row(i % 100)));
    for more in [&[][..], &["--shuffle", "1"], &["--passes", "2"]] {
        let (repeated, words) = said(&data, more);
        assert_eq!(repeated, serde_json::json!({ "rows": 300, "compared": 400 }), "{more:?}");
        let expected = "300 of 400 rows are equal to an earlier row of this run, targets included. The figures of this run count them as new; on rows \
                        that were never seen the error can be larger.";
        assert!(words.contains(expected), "{words}");
    }
    // Of many rows some are compared: a lower bound, and a fair share of the compared ones: half of these rows, and a quarter of the next ones.
    let many =
        folder.write("many.csv", table("a,b,kind", 6000, |i| format!("{},{},{}", i % 3000, (i % 3000) * 7, kind(i % 3000))));
    let (repeated, words) = said(&many, &[]);
    let [rows, compared] = ["rows", "compared"].map(|key| repeated[key].as_u64().unwrap());
    assert!(repeated["at_least"] == true && rows == 512 && compared == 1024, "{repeated}");
    assert!(words.contains("of 6,000 rows are equal to an earlier row of this run, targets included ("), "{words}");
    let quarter =
        folder.write("quarter.csv", table("a,b,kind", 4000, |i| format!("{},{},{}", i % 3000, (i % 3000) * 7, kind(i % 3000))));
    let (repeated, words) = said(&quarter, &[]);
    let share = repeated["rows"].as_f64().unwrap() / repeated["compared"].as_f64().unwrap();
    assert!((share - 0.25).abs() < 0.06 && words.contains("of 4,000 rows are equal to an earlier row"), "{repeated} {words}");
    // A run that goes on after an interruption knows the rows before it.
    let (part, model) = (folder.write("part.csv", table("a,b,kind", 150, |i| row(i % 100))), folder.path("part.okl"));
    succeed(&["learn", &part, "--target", "kind", "--task", "classes", "-o", &model, "--save-model", "recent"]);
    let learn = ["learn", &data, "--resume", &model, "--continue", "-o", &model];
    assert_eq!(json(&learn)["rows_repeated"], serde_json::json!({ "rows": 250, "compared": 250 }));
    // The same file twice, and rows that differ.
    let one = folder.write("one.csv", table("a,b,kind", 300, row));
    assert!(flat(&succeed(&["learn", &one, &one, "--target", "kind"]).1).contains("300 of 600 rows are equal to an earlier row"));
    let (repeated, words) = said(&one, &[]);
    assert_eq!(repeated, serde_json::json!({ "rows": 0, "compared": 300 }));
    assert!(!words.contains("equal to an earlier row"), "{words}");
}

/// A shuffled run that goes on after an interruption compares its rows with the rows before them, and with no others: none is equal to itself. In a later
/// pass there is nothing to compare.
#[test]
fn a_shuffled_run_that_goes_on_compares_with_the_rows_before() {
    let folder = Folder::new("rows-shuffled-on");
    let (model, end, predictions) = (folder.path("m.okl"), folder.path("end.okl"), folder.path("p.csv"));
    let note = "n".repeat(1000);
    for kinds in [600, 100] {
        drop(std::fs::remove_file(&predictions));
        let row = |i: usize| format!("{},{},{},{note}", i % kinds, (53 * (i % kinds)) % 97, kind((i % kinds) / 3));
        let data = folder.write("d.csv", table("a,b,kind,note", 600, row));
        let learn = ["learn", &data, "--target", "kind", "--ignore", "note", "--task", "classes", "--shuffle", "3"];
        let go_on = ["learn", &data, "--resume", &model, "--continue", "-o", &end];
        killed(&learn, &model, |position| position["rows"].as_u64() >= Some(50));
        let (out, said) = (json(&[&go_on[..], &["--predictions", &predictions]].concat()), flat(&succeed(&go_on).1));
        // The lines of this part, in their order; all others were learned before.
        let text = folder.read("p.csv");
        let lines: Vec<usize> = text.lines().skip(1).map(|line| line.split(',').next().unwrap().parse().unwrap()).collect();
        assert_eq!(out["summary"]["examples"], lines.len(), "{out}");
        let mut met: HashSet<usize> = (2..602).filter(|line| !lines.contains(line)).map(|line| (line - 2) % kinds).collect();
        let repeated = lines.iter().filter(|line| !met.insert((*line - 2) % kinds)).count();
        let found = &out["rows_repeated"];
        assert!(found["compared"].as_u64() <= out["summary"]["examples"].as_u64(), "{found}");
        if kinds == 100 {
            assert_eq!(*found, serde_json::json!({ "rows": repeated, "compared": lines.len() }));
        } else {
            assert_eq!((repeated, &found["rows"]), (0, &0.into()), "{found}");
        }
        assert_eq!(said.contains("equal to an earlier row of this run"), kinds == 100, "{said}");
        // The part before the interruption was learned, and no other row.
        killed(&[&learn[..], &["--passes", "2"]].concat(), &model, |position| {
            position["pass"] == 1 && position["rows"].as_u64() >= Some(50)
        });
        let (out, said) = (json(&go_on), succeed(&go_on).1);
        assert_eq!(out["rows_repeated"], serde_json::json!({ "rows": 0, "compared": 0 }));
        assert!(!said.contains("equal to an earlier row"), "{said}");
    }
}

/// The figures are of the rows with a target and a weight above 0, and so is the number of learned rows among them.
#[test]
fn learned_rows_are_counted_among_the_measured_ones() {
    let folder = Folder::new("rows-measured");
    let row = |i: usize, weight: usize, target: &str| format!("{i},{weight},{target}");
    let model = folder.path("m.okl");
    let data = folder.write("d.csv", table("a,w,kind", 60, |i| row(i, 1, kind(i))));
    succeed(&["learn", &data, "--target", "kind", "--weight", "w", "--quiet", "-o", &model, "--save-model", "recent"]);
    // 20 learned rows, 20 learned rows of weight 0, 10 new rows, 10 new rows without a target.
    let other = table("a,w,kind", 60, |i| match i {
        0..20 => row(i, 1, kind(i)),
        20..40 => row(i, 0, kind(i)),
        40..50 => row(1000 + i, 1, kind(i)),
        _ => row(1000 + i, 1, ""),
    });
    let other = folder.write("o.csv", other);
    let said = json(&["evaluate", &model, &other])["warnings"].to_string();
    let words = "20 of the 30 rows with a target and a weight above 0 are equal to rows that the model ha";
    assert!(said.contains(words), "{said}");
    let said = flat(&succeed(&["learn", &other, "--resume", &model, "-o", &folder.path("n.okl")]).1);
    assert!(said.contains(words), "{said}");
    // All measured rows are learned ones, and those at the beginning.
    let known = folder.write("k.csv", table("a,w,kind", 90, |i| row(i, 1, if i < 60 { kind(i) } else { "" })));
    let said = json(&["evaluate", &model, &known])["warnings"].to_string();
    assert!(said.contains("the model has learned the 60 rows with a target and a weight above 0: "), "{said}");
}
