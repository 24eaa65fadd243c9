//! Cells without a value: the same bits as rows that were filled by hand, under any cut, in every command.

use std::fmt::Write;
use std::fs;

use crate::support::{Folder, Random, fail, json, succeed};

/// Rows of a number that may be missing, a number, and a target that depends on both.
fn rows(count: usize) -> Vec<(Option<f64>, f64, f64)> {
    let mut random = Random(21);
    (0..count)
        .map(|_| {
            let (a, b) = ((random.next() * 100.0).round() / 8.0, random.next());
            let there = random.next() < 0.7;
            (there.then_some(a), b, if there { a + b } else { b })
        })
        .collect()
}

/// The rows as they come: the words for a missing value in turn.
fn as_they_come(rows: &[(Option<f64>, f64, f64)]) -> String {
    let words = ["", "NA", "NaN", "null", "?"];
    rows.iter().enumerate().fold(String::from("a,b,y\n"), |mut text, (i, (a, b, y))| {
        let a = a.map_or(words[i % words.len()].to_owned(), |a| a.to_string());
        writeln!(text, "{a},{b},{y}").unwrap();
        text
    })
}

/// What each missing cell becomes, from the rows before it; and what the next one would become.
fn by_hand(rows: &[(Option<f64>, f64, f64)], rule: &str) -> (Vec<f64>, f64) {
    let (mut count, mut value) = (0.0, 0.0);
    let filled = rows
        .iter()
        .map(|(a, ..)| {
            let before = value;
            if let Some(a) = *a {
                count += 1.0;
                value = match rule {
                    "mean" => value + (a - value) / count,
                    "last" => a,
                    _ => 0.0,
                };
            }
            a.unwrap_or(before)
        })
        .collect();
    (filled, value)
}

fn filled(rows: &[(Option<f64>, f64, f64)], rule: &str, indicator: bool) -> String {
    let head = if indicator { "a,b,a is missing,y\n" } else { "a,b,y\n" };
    rows.iter().zip(by_hand(rows, rule).0).fold(String::from(head), |mut text, ((a, b, y), value)| {
        let missing = if indicator { format!("{},", u8::from(a.is_none())) } else { String::new() };
        writeln!(text, "{value},{b},{missing}{y}").unwrap();
        text
    })
}

#[test]
fn cells_are_filled_from_the_rows_before() {
    let folder = Folder::new("missing");
    let rows = rows(250);
    let data = folder.write("s.csv", as_they_come(&rows));
    let model = folder.path("m.okl");
    for rule in ["mean", "zero", "last"] {
        let plain = folder.write("plain.csv", filled(&rows, rule, false));
        let learn = |data: &str, more: &[&str]| {
            let args = ["learn", data, "--target", "y", "--quiet", "--predictions", "-", "-o", &model];
            succeed(&[&args[..], more].concat()).0
        };
        for more in [&[][..], &["--passes", "3", "--step", "inverse_sqrt:0.5", "--lambda", "0.01"]] {
            let expected = learn(&plain, more);
            let expected_after = succeed(&["predict", &model, &plain]).0;
            assert_eq!(learn(&data, &[&["--missing", rule], more].concat()), expected, "{rule}");
            // A model fills what it predicts from the rows that it has learned.
            let (_, next) = by_hand(&rows, rule);
            let ask = folder.write("ask.csv", format!("b,a\n0.5,\n0.25,3\n0.125,{next}\n"));
            let hand = folder.write("hand.csv", format!("b,a\n0.5,{next}\n0.25,3\n0.125,{next}\n"));
            assert_eq!(succeed(&["predict", &model, &ask]).0, succeed(&["predict", &model, &hand]).0, "{rule}");
            assert_eq!(succeed(&["predict", &model, &plain]).0, expected_after, "{rule}: the same model");
        }
        let labelled = folder.write("l.csv", "a,b,y\n,0.5,1\n2,0.5,2.5\n");
        assert_eq!(json(&["evaluate", &model, &labelled])["summary"]["examples"], 2);
    }
}

#[test]
fn an_indicator_is_a_feature_with_a_name() {
    let folder = Folder::new("indicator");
    let mut rows = rows(200);
    rows[0].0 = None;
    let data = folder.write("s.csv", as_they_come(&rows));
    let hand = folder.write("hand.csv", filled(&rows, "mean", true));
    let [a, b] = ["a.okl", "b.okl"].map(|name| folder.path(name));
    let learn = |data: &str, model: &str, more: &[&str]| {
        let args = ["learn", data, "--target", "y", "--quiet", "--predictions", "-", "-o", model];
        succeed(&[&args[..], more].concat()).0
    };
    assert_eq!(learn(&data, &a, &["--missing", "mean+indicator"]), learn(&hand, &b, &[]));
    assert_eq!(json(&["inspect", &a])["feature_names"], serde_json::json!(["a", "b", "a is missing"]));
    // The indicator of a column that had all its values when the model learned.
    let (_, said) = succeed(&["predict", &a, &folder.write("t.csv", "a,b\n1,\n")]);
    assert!(said.contains("'b is missing', which the model does not know"), "{said}");
}

/// JSON lines: null, absent keys, and a key that appears late.
fn lines(count: usize) -> String {
    let mut random = Random(8);
    (0..count).fold(String::new(), |mut text, i| {
        let (a, b, c) = (random.next(), random.next(), random.next());
        let a_text = match i % 7 {
            3 => String::new(),
            5 => "\"a\":null,".into(),
            _ => format!("\"a\":{a:.3},"),
        };
        let c_text = if i > count / 3 && i % 3 > 0 { format!("\"deep\":{{\"c\":{c:.3}}},") } else { String::new() };
        writeln!(text, "{{{a_text}{c_text}\"b\":{b:.3},\"y\":{:.3}}}", a + b + c).unwrap();
        text
    })
}

#[test]
fn an_interruption_changes_no_bit() {
    let folder = Folder::new("missing-cut");
    let text = lines(400);
    let whole = folder.write("whole.jsonl", &text);
    for (at, rule) in [(130, "mean+indicator"), (133, "last"), (300, "mean")] {
        let half = folder.write("half.jsonl", text.lines().take(at).map(|line| format!("{line}\n")).collect::<String>());
        let [a, b, c] = ["a.okl", "b.okl", "c.okl"].map(|name| folder.path(name));
        let learn = ["--target", "y", "--task", "numbers", "--quiet", "--missing", rule, "-o"];
        succeed(&[&["learn", &whole], &learn[..], &[&a]].concat());
        succeed(&[&["learn", &half], &learn[..], &[&b]].concat());
        succeed(&["learn", &whole, "--resume", &b, "--continue", "--quiet", "-o", &c]);
        assert!(fs::read(&a).unwrap() == fs::read(&c).unwrap(), "{rule}");
        let names = json(&["inspect", &a])["feature_names"].to_string();
        assert_eq!(names.contains("a is missing"), rule.ends_with("indicator"), "{names}");
    }
}

#[test]
fn what_cannot_be_filled_is_refused() {
    let folder = Folder::new("missing-refused");
    let data = folder.write("s.csv", "a,b,y\n1,2,0.5\n,3,1.5\n2,2,2.5\n");
    let model = folder.path("m.okl");
    fail(&["learn", &data, "--target", "y"], 1, &["line 3, column 'a'", "--missing mean"]);
    for rule in ["median", "refuse+indicator"] {
        let table = folder.write("wrong.toml", format!("missing = \"{rule}\"\n"));
        fail(
            &["learn", &data, "--target", "y", "--config", &table],
            2,
            &["missing: found", "expected refuse, mean, zero, last, mean+indicator", rule],
        );
    }
    for (rule, meant) in
        [("avg", "mean"), ("meen", "mean"), ("lats+indicator", "last+indicator"), ("mean+indicater", "mean+indicator")]
    {
        let table = folder.write("wrong.toml", format!("missing = \"{rule}\"\n"));
        let meant = format!("or last+indicator; did you mean {meant}?");
        fail(&["learn", &data, "--target", "y", "--config", &table], 2, &[rule, &meant]);
    }
    succeed(&["learn", &data, "--target", "y", "--missing", "mean", "--quiet", "-o", &model]);
    let before = fs::read(&model).unwrap();
    fail(&["learn", &data, "--resume", &model, "--missing", "zero", "-o", &model], 2, &["--missing zero", "--missing mean"]);
    assert_eq!(fs::read(&model).unwrap(), before, "nothing is changed");
    for (name, text) in [("s.vw", "1 | a\n-1 | b\n"), ("s.svm", "1 1:1\n-1 2:1\n")] {
        fail(&["learn", &folder.write(name, text), "--missing", "zero"], 2, &["--missing zero", "absent is 0"]);
    }
    let passes = ["learn", &data, "--target", "y", "--missing", "last", "--passes", "2", "--shuffle", "1"];
    fail(&passes, 2, &["--missing last", "shuffled"]);
    // A table of settings has the same key.
    let table = folder.write("okl.toml", "missing = \"zero\"\n");
    succeed(&["learn", &data, "--target", "y", "--config", &table, "--quiet"]);
}

/// The rows of a table and of JSON lines: learned ones, and between them ones that are only predicted, because they have no target or the
/// weight 0. These have values, gaps, categories and keys that no learned row has.
fn some_only_predicted() -> ([String; 2], [String; 2]) {
    let mut random = Random(31);
    let head = "a,b,c,w,y\n";
    let (mut all, mut learned) = ([head.to_owned(), String::new()], [head.to_owned(), String::new()]);
    for i in 0..120 {
        let (a, b, c) = (random.next(), random.next(), ["u", "v"][i % 2]);
        if i % 3 != 1 {
            let [w, y] = if i % 2 == 0 { ["1", ""] } else { ["0", "5"] };
            let far = [format!(",1e3,new{i},{w},{y}\n"), format!("9{i},,v,{w},{y}\n")];
            all[0] += &far[usize::from(i % 4 < 2)];
            let y = if y.is_empty() { "null" } else { y };
            // The first line names the columns.
            if i > 0 {
                writeln!(all[1], "{{\"a\":null,\"b\":{i}e3,\"c\":\"new{i}\",\"key{i}\":2,\"w\":{w},\"y\":{y}}}").unwrap();
            }
        }
        let gap = i % 7 == 3;
        let row = [
            format!("{},{b:.3},{c},2,{:.3}\n", if gap { String::new() } else { format!("{a:.3}") }, a + b),
            format!(
                "{{\"a\":{},\"b\":{b:.3},\"c\":\"{c}\",\"w\":2,\"y\":{:.3}}}\n",
                if gap { "null".into() } else { format!("{a:.3}") },
                a + b
            ),
        ];
        for (format, row) in row.iter().enumerate() {
            all[format] += row;
            learned[format] += row;
        }
    }
    (all, learned)
}

#[test]
fn a_row_that_is_only_predicted_leaves_no_trace() {
    let folder = Folder::new("missing-predicted");
    let (all, learned) = some_only_predicted();
    let [a, b] = ["a.okl", "b.okl"].map(|name| folder.path(name));
    let ask = folder.write("ask.csv", "a,b,c\n,0.5,u\n0.2,,v\n,,\n");
    for (format, name) in ["s.csv", "s.jsonl"].into_iter().enumerate() {
        let every = folder.write(&format!("every-{name}"), &all[format]);
        let some = folder.write(&format!("some-{name}"), &learned[format]);
        for rule in ["mean+indicator", "last+indicator", "zero+indicator", "mean"] {
            let learn = |data: &str, model: &str| {
                let flags = ["--target", "y", "--weight", "w", "--task", "numbers", "--one-hot", "c", "--quiet"];
                succeed(&[&["learn", data, "--missing", rule, "--save-model", "recent", "-o", model], &flags[..]].concat());
            };
            learn(&every, &a);
            learn(&some, &b);
            let names = |model: &str| {
                let mut names: Vec<String> = serde_json::from_value(json(&["inspect", model])["feature_names"].clone()).unwrap();
                names.sort();
                names
            };
            assert_eq!(names(&a), names(&b), "{name} {rule}");
            assert_eq!(succeed(&["predict", &a, &ask]).0, succeed(&["predict", &b, &ask]).0, "{name} {rule}");
        }
    }
}

/// The figure of the final model is what `okl predict` of the saved model gives: cells are filled from all learned rows, not from those before.
#[test]
fn the_figure_of_the_final_model_is_that_of_the_saved_file() {
    let folder = Folder::new("missing-past");
    let mut random = Random(12);
    let mut text = String::from("a,b,y\n");
    for i in 0..400 {
        let (a, b) = (f64::from(i) / 40.0 + random.next(), random.next());
        let gap = random.next() < 0.4;
        writeln!(text, "{},{b:.4},{:.4}", if gap { String::new() } else { format!("{a:.4}") }, (2.0 * a).sin() + b).unwrap();
    }
    let (data, model) = (folder.write("m.csv", &text), folder.path("m.okl"));
    for rule in ["mean", "last", "mean+indicator"] {
        let learn = ["learn", &data, "--target", "y", "--missing", rule, "--save-model", "recent", "-o", &model];
        let shown = json(&learn)["model_on_past_rows"]["error"].as_f64().unwrap();
        let (out, _) = succeed(&["predict", &model, &data]);
        let scores = out.lines().skip(1).map(|line| line.split(',').next_back().unwrap().parse::<f64>().unwrap());
        let targets = text.lines().skip(1).map(|line| line.split(',').next_back().unwrap().parse::<f64>().unwrap());
        let error = scores.zip(targets).map(|(z, y)| (z - y).abs()).sum::<f64>() / 400.0;
        assert!((shown - error).abs() < 1e-5 * error, "{rule}: {shown} is shown, {error} is the error of the file");
    }
}

/// Only a model with indicators is said to have them.
#[test]
fn an_export_speaks_of_indicators_only_where_there_are_some() {
    let folder = Folder::new("missing-indicators");
    let data = folder.write("m.csv", "a,b,y\n1,2,1\n,3,0\n2,1,1\n0.5,,0\n1.5,2,1\n");
    let model = folder.path("m.okl");
    let said = |rule: &str| {
        let plain = [
            "--kernel",
            "gaussian:1",
            "--step",
            "constant:0.1",
            "--lambda",
            "0.01",
            "--task",
            "numbers",
            "--quiet",
            "-o",
            &model,
        ];
        succeed(&[&["learn", &data, "--target", "y", "--missing", rule], &plain[..]].concat());
        succeed(&["export", &model, "--to", "libsvm", "-o", &folder.path("m.svm")]).1
    };
    assert!(!said("mean").contains("indicators") && said("mean").contains("fills missing values"));
    assert!(said("mean+indicator").contains("the indicators are features"));
}

/// JSON lines of 900 rows in which a number appears with row `from`, and is null or absent in some rows from then on.
fn late_key(from: usize) -> Vec<String> {
    let mut random = Random(31);
    let row = |i: usize| {
        let (a, c) = (random.next(), 100.0 + random.next());
        let late = match i {
            i if i < from || i % 11 == 4 => String::new(),
            i if i % 11 == 7 => "\"c\":null,".into(),
            _ => format!("\"c\":{c:.3},"),
        };
        format!("{{\"a\":{a:.3},{late}\"y\":{:.4}}}\n", (6.0 * a).sin() + 0.3 * (c - 100.0))
    };
    (0..900).map(row).collect()
}

fn same(shown: &serde_json::Value, measured: &serde_json::Value, what: &str) {
    let (shown, measured) = (shown.as_f64().unwrap(), measured.as_f64().unwrap());
    assert!((shown - measured).abs() < 1e-9 * measured, "{what}: {shown} is shown, {measured} is the error of the file");
}

/// A row from before a column of numbers had its first value has no value there, as `okl predict` reads it: the figures of the final model and of the saved
/// one fill it.
#[test]
fn a_column_that_appears_later_is_filled_in_the_rows_before() {
    let folder = Folder::new("missing-late");
    let model = folder.path("m.okl");
    let halfway = folder.write("late.jsonl", late_key(450).concat());
    // In a table, the column is there from the first row on, but it has no value.
    let empty = late_key(450).iter().fold(String::from("a,c,y\n"), |text, line| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        format!("{text}{},{},{}\n", row["a"], row["c"].as_f64().map_or(String::new(), |c| c.to_string()), row["y"])
    });
    let empty = folder.write("empty.csv", empty);
    for rule in ["mean", "last", "zero", "mean+indicator", "last+indicator", "zero+indicator"] {
        for (data, more) in [(&halfway, &[][..]), (&halfway, &["--shuffle", "3"]), (&empty, &[])] {
            let learn = ["learn", data, "--target", "y", "--missing", rule, "--save-model", "recent", "-o", &model];
            let shown = json(&[&learn[..], more].concat())["model_on_past_rows"].clone();
            assert_eq!(shown["rows"], 900);
            let measured = json(&["evaluate", &model, data])["summary"]["error"].clone();
            same(&shown["error"], &measured, &format!("{rule} {data} {more:?}"));
        }
    }
    let lines = late_key(810);
    let data = folder.write("end.jsonl", lines.concat());
    for rule in ["mean", "last", "mean+indicator"] {
        let learn = ["learn", &data, "--target", "y", "--missing", rule, "--save-model", "all", "-o", &model];
        let last = json(&learn)["saved_model"]["last_rows"].clone();
        assert_eq!(last["sampled_rows"], 180, "{last}");
        let measured =
            json(&["evaluate", &model, &folder.write("last.jsonl", lines[720..].concat())])["summary"]["error"].clone();
        same(&last["all_error"], &measured, &format!("{rule}, the last rows"));
    }
}

/// Rows of many words are stored without their zeros. A cell without a value has a place there, also in a copy of the row.
#[test]
fn cells_of_sparse_rows_are_filled_in_copies() {
    let folder = Folder::new("missing-words");
    let (mut random, model) = (Random(5), folder.path("m.okl"));
    let text: String = (0..900)
        .map(|i| {
            let (a, c, word) = (random.next(), 3.0 + random.next(), i % 300);
            let a_text = if i < 9 || i % 5 == 2 { "null".into() } else { format!("{:.3}", 2.0 + a) };
            let late = if i < 450 { String::new() } else { format!("\"c\":{c:.3},") };
            format!("{{\"a\":{a_text},{late}\"words\":\"w{word} b{}\",\"y\":{:.4}}}\n", word % 7, a + 0.3 * c)
        })
        .collect();
    let data = folder.write("words.jsonl", text);
    for rule in ["mean", "last"] {
        for more in [&[][..], &["--shuffle", "3"]] {
            let learn = ["learn", &data, "--target", "y", "--text", "words", "--missing", rule, "--save-model", "recent"];
            let shown = json(&[&learn[..], &["-o", &model], more].concat())["model_on_past_rows"].clone();
            assert_eq!(shown["rows"], 900);
            let measured = json(&["evaluate", &model, &data])["summary"]["error"].clone();
            same(&shown["error"], &measured, &format!("{rule} {more:?}"));
        }
    }
}

/// A shuffled row is filled from the rows before it in that order, also if it is stored without its zeros.
#[test]
fn shuffled_rows_of_many_words_are_filled() {
    let folder = Folder::new("missing-shuffled");
    let mut random = Random(6);
    let mut rows: Vec<(bool, usize, f64)> = (0..600).map(|i| (random.next() < 0.5, i % 300, random.next())).collect();
    let write = |name: &str, rows: &[(bool, usize, f64)]| {
        let row = |(there, word, y): &(bool, usize, f64)| {
            format!("{{\"a\":{},\"words\":\"w{word}\",\"y\":{y:.4}}}\n", if *there { "1" } else { "null" })
        };
        folder.write(name, rows.iter().map(row).collect::<String>())
    };
    let scores = |data: &str| {
        let learn = ["learn", data, "--target", "y", "--text", "words", "--missing", "last", "--shuffle", "3", "--quiet"];
        succeed(&[&learn[..], &["--predictions", "-"]].concat()).0
    };
    // The last value is 1 everywhere, so all cells become 1, if the first row of the file and the first one in the shuffled order have a value.
    rows[0].0 = true;
    let whole = scores(&write("whole.jsonl", &rows.iter().map(|(_, word, y)| (true, *word, *y)).collect::<Vec<_>>()));
    let first: usize = whole.lines().nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
    rows[first - 1].0 = true;
    assert!(rows.iter().filter(|(there, ..)| !there).count() > 200);
    assert!(scores(&write("gaps.jsonl", &rows)) == whole, "cells without a value are not filled");
}
