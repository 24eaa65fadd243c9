//! Predictions: one line per input line, in both formats, to files and to standard output.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::Value;

use crate::support::{Folder, fail, late_classes, numbers, okl, ring, succeed};

fn rows(jsonl: &str) -> Vec<Value> {
    jsonl.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn they_are_from_before_learning_and_the_same_in_both_formats() {
    let folder = Folder::new("predictions");
    let data = folder.write("ring.csv", ring(300));
    let args = ["learn", &data, "--target", "where", "--quiet", "--predictions"];
    let to = |name: &str| succeed(&[&args[..], &[name]].concat()).0;
    to(&folder.path("p.csv"));
    to(&folder.path("p.jsonl"));
    let (csv, jsonl) = (folder.read("p.csv"), folder.read("p.jsonl"));
    let said = |format| succeed(&[&args[..], &["-", "--predictions-format", format]].concat()).0;
    assert_eq!((to("-"), said("csv"), said("jsonl")), (csv.clone(), csv.clone(), jsonl.clone()));
    assert_eq!(csv.lines().count(), 301);
    let nothing_known = csv.lines().nth(1).unwrap();
    assert!(nothing_known.starts_with("2,,0,"), "f_1 = 0, and no class is said: {nothing_known}");
    for ((row, line), cells) in rows(&jsonl).iter().zip(2..).zip(csv.lines().skip(1)) {
        let cells: Vec<&str> = cells.split(',').collect();
        assert_eq!((row["line"].as_u64(), cells[0].parse().ok()), (Some(line), Some(line)));
        assert_eq!(row["scores"][0].as_f64(), cells[2].parse().ok());
        assert_eq!(row.get("class").map_or("", |c| c.as_str().unwrap()), cells[1]);
        assert_eq!(row["positive"].as_str(), Some(cells[3]));
    }
}

#[test]
fn a_line_for_every_line_also_where_rows_are_bad() {
    let folder = Folder::new("bad-lines");
    let data = folder.write("t.csv", "a,b,u,v\n?,1,1,1\n1,2,1,1\n1,2\n?,2,1,1\n2,3,2,2\n2,,2,2\n");
    let model = folder.path("m.okl");
    let args = ["--on-bad-row", "skip", "--predictions", "-"];
    let (csv, err) = succeed(&[&["learn", &data, "--target", "u,v", "--task", "numbers", "-o", &model], &args[..]].concat());
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.iter().map(|l| l.split(',').next().unwrap()).collect::<Vec<_>>(), ["line", "2", "3", "4", "5", "6", "7"]);
    assert!(lines.iter().all(|line| line.matches(',').count() == 2), "a table: {csv}");
    assert_eq!([lines[1], lines[3], lines[4], lines[6]], ["2,,", "4,,", "5,,", "7,,"]);
    assert!(err.contains("skipped: ") && err.contains("4 rows could not be read: skipped"), "{err}");
    let (jsonl, _) = succeed(&["predict", &model, &data, "--on-bad-row", "skip", "--predictions-format", "jsonl"]);
    let rows = rows(&jsonl);
    assert!(rows.iter().map(|row| row["line"].as_u64().unwrap()).eq(2..8));
    let scored: Vec<bool> = rows.iter().map(|row| row["scores"].is_array()).collect();
    assert_eq!(scored, [false, true, false, false, true, false]);
}

#[test]
fn a_table_stays_a_table_while_classes_are_discovered() {
    let folder = Folder::new("table");
    let (data, model) = (folder.write("s.jsonl", late_classes(400)), folder.path("m.okl"));
    let (csv, _) = succeed(&["learn", &data, "--target", "class", "--quiet", "-o", &model, "--predictions", "-"]);
    assert!(csv.starts_with("line,class,score\n1,,0\n"), "{}", &csv[..80]);
    assert!(csv.lines().all(|line| line.matches(',').count() == 2));
    // Once the classes are known, each has a column; the score is that of the class said.
    let (csv, _) = succeed(&["predict", &model, &data]);
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    assert_eq!(names[..3], ["line", "class", "score"]);
    for row in lines {
        let said = names.iter().position(|name| *name == format!("score_{}", row[1])).unwrap();
        let best = row[3..].iter().map(|z| z.parse::<f64>().unwrap()).fold(f64::MIN, f64::max);
        assert_eq!((row[2], row[2].parse::<f64>().unwrap()), (row[said], best));
    }
    // A line of JSON names its scores, too, also while classes are discovered.
    let (learned, _) =
        succeed(&["learn", &data, "--target", "class", "--quiet", "--predictions", "-", "--predictions-format", "jsonl"]);
    let (scored, _) = succeed(&["predict", &model, &data, "--predictions-format", "jsonl"]);
    assert_eq!(
        rows(&scored)[0]["classes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| format!("score_{}", c.as_str().unwrap()))
            .collect::<Vec<_>>(),
        names[3..]
    );
    for row in rows(&learned).iter().chain(&rows(&scored)).filter(|row| row["scores"].as_array().unwrap().len() > 1) {
        let scores: Vec<f64> = row["scores"].as_array().unwrap().iter().map(|z| z.as_f64().unwrap()).collect();
        let best = scores.iter().position(|z| *z == scores.iter().copied().fold(f64::MIN, f64::max)).unwrap();
        assert_eq!((row["classes"].as_array().unwrap().len(), &row["classes"][best]), (scores.len(), &row["class"]), "{row}");
    }
}

/// Whichever class comes first, the one that sorts last has the positive scores, and every row says whose score it is.
#[test]
fn every_row_names_the_positive_class() {
    let folder = Folder::new("positive");
    for first in ["1", "-1", "b"] {
        let names = if first == "b" { ["a", "b"] } else { ["-1", "1"] };
        let other = if first == names[0] { names[1] } else { names[0] };
        let row = |i: usize| {
            format!(
                "{},{}\n",
                if i.is_multiple_of(2) { 1.0 } else { -1.0 },
                if i.is_multiple_of(2) || i < 9 { first } else { other }
            )
        };
        let data = folder.write("d.csv", format!("x,y\n{}", (0..60).map(row).collect::<String>()));
        let model = folder.path("m.okl");
        let learn = ["learn", &data, "--target", "y", "--task", "classes", "--loss", "hinge", "--kernel", "linear"];
        let (csv, _) = succeed(&[&learn[..], &["--quiet", "-o", &model, "--predictions", "-"]].concat());
        let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
        assert_eq!(rows[0], ["line", "class", "score", "positive"]);
        // Rows 0 to 8 have one class; row 9 brings the other one.
        assert!(rows[1..10].iter().all(|row| row[3] == first), "{csv}");
        assert!(rows[10..].iter().all(|row| row[3] == names[1]), "{csv}");
        for row in &rows[20..] {
            assert_eq!(row[2].parse::<f64>().unwrap() > 0.0, row[1] == names[1], "{row:?}");
        }
        let (words, _) = succeed(&["inspect", &model]);
        assert!(words.contains(&format!("{} (scores above 0)", names[1])), "{words}");
        let (csv, _) = succeed(&["predict", &model, &data]);
        let right = csv.lines().skip(20).all(|line| {
            let row: Vec<&str> = line.split(',').collect();
            (row[2].parse::<f64>().unwrap() > 0.0) == (row[1] == names[1]) && row[3] == names[1]
        });
        assert!(right && csv.starts_with("line,class,score,positive\n"), "{csv}");
    }
}

#[test]
fn names_of_outputs_are_columns() {
    let folder = Folder::new("names");
    let data = folder.write("n.csv", numbers(60).replacen(",u,v", ",u,\"v \"\"w\"\"\"", 1));
    let (csv, _) = succeed(&["learn", &data, "--target", "u,v \"w\"", "--quiet", "--predictions", "-"]);
    assert!(csv.starts_with("line,score_u,\"score_v \"\"w\"\"\"\n2,0,0\n"), "{}", &csv[..60]);
}

#[test]
fn the_last_of_several_passes_is_written() {
    let folder = Folder::new("last-pass");
    let data = folder.write("n.csv", numbers(120));
    let args = ["learn", &data, "--target", "u", "--ignore", "v", "--quiet"];
    let model = folder.path("one.okl");
    succeed(&[&args[..], &["--passes", "2", "--predictions", &folder.path("two.csv")]].concat());
    assert_eq!(folder.read("two.csv").lines().count(), 121);
    // Its first score is that of a model which has seen everything once.
    succeed(&[&args[..], &["-o", &model]].concat());
    let (once, _) = succeed(&["predict", &model, &data]);
    assert_eq!(folder.read("two.csv").lines().nth(1), once.lines().nth(1));
}

#[test]
fn scores_come_out_as_soon_as_rows_go_in() {
    let folder = Folder::new("soon");
    let (data, model) = (folder.write("ring.csv", ring(200)), folder.path("m.okl"));
    succeed(&["learn", &data, "--target", "where", "--quiet", "-o", &model]);
    for (args, columns) in [
        (vec!["predict", &model, "-"], "line,class,score,positive"),
        (
            vec!["learn", "-", "--target", "where", "--loss", "hinge", "--quiet", "--predictions", "-"],
            "line,class,score,positive",
        ),
    ] {
        let mut child = okl(&args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        stdin.write_all(b"x,y,where\n0,0,inside\n").unwrap();
        // Neither waits for more, nor for the end.
        assert_eq!(lines.next().unwrap().unwrap(), columns);
        assert!(lines.next().unwrap().unwrap().starts_with("2,"));
        stdin.write_all(b"0,2,outside\n").unwrap();
        assert!(lines.next().unwrap().unwrap().starts_with("3,"));
        drop(stdin);
        assert!(child.wait().unwrap().success());
    }
}

#[test]
fn standard_output_is_for_one_thing() {
    let folder = Folder::new("both");
    let data = folder.write("ring.csv", ring(20));
    fail(&["learn", &data, "--target", "where", "--json", "--predictions", "-"], 2, &["--json", "--predictions", "file"]);
}

/// What `--continue` needs: the whole stream, half of it, a model of the half and its predictions.
fn half_done(folder: &Folder, flags: &[&str], name: &str) -> (String, String, String) {
    let text = ring(500);
    let half = format!("{}\n", text.lines().take(251).collect::<Vec<_>>().join("\n"));
    let (whole, model, out) = (folder.write("whole.csv", &text), folder.path("m.okl"), folder.path(name));
    let half = folder.write("half.csv", half);
    succeed(&[&["learn", &half, "--target", "where", "--quiet", "-o", &model, "--predictions", &out], flags].concat());
    (whole, model, out)
}

/// `--continue` adds to the file of the run before: it becomes what it would have become without the interruption.
#[test]
fn a_file_goes_on_where_the_model_does() {
    let folder = Folder::new("go-on");
    for (name, flags) in
        [("p.csv", &[][..]), ("p.jsonl", &[]), ("p.csv", &["--loss", "max_margin"]), ("p.jsonl", &["--loss", "max_margin"])]
    {
        let (whole, model, out) = half_done(&folder, flags, name);
        let uninterrupted = folder.path(&format!("one-{name}"));
        succeed(&[&["learn", &whole, "--target", "where", "--quiet", "--predictions", &uninterrupted], flags].concat());
        // Rows that a killed run wrote after its last checkpoint, the last of them not whole, come again.
        let late = folder.read(&format!("one-{name}")).lines().skip(251).take(40).collect::<Vec<_>>().join("\n");
        let begun = folder.read(name);
        folder.write(name, format!("{begun}{late}"));
        succeed(&["learn", "--resume", &model, "--continue", &whole, "--quiet", "--predictions", &out]);
        assert_eq!(folder.read(name), folder.read(&format!("one-{name}")), "{name} {flags:?}");
    }
    // Several passes: only the last one is written, in a shuffled order too, and bad rows have their lines.
    let bad: String = ring(300).lines().enumerate().map(|(i, l)| format!("{l}{}\n", if i == 7 { "," } else { "" })).collect();
    let data = folder.write("bad.csv", bad);
    for flags in [vec!["--passes", "2", "--shuffle", "3"], vec!["--shuffle", "3"], vec!["--passes", "2"], vec![]] {
        let learn = ["learn", &data, "--target", "where", "--quiet", "--on-bad-row", "skip"];
        let [one, two, model] = ["one.csv", "two.csv", "m.okl"].map(|name| folder.path(name));
        succeed(&[&learn[..], &flags, &["--predictions", &one]].concat());
        succeed(&[&learn[..], &flags, &["--predictions", &two, "-o", &model, "--checkpoint-every", "100"]].concat());
        succeed(&["learn", "--resume", &model, "--continue", &data, "--quiet", "--predictions", &two]);
        assert_eq!(folder.read("one.csv"), folder.read("two.csv"), "{flags:?}");
    }
}

/// A file that is not the one of the run before is not touched.
#[test]
fn a_file_of_something_else_is_not_added_to() {
    let folder = Folder::new("not-on");
    let (whole, model, out) = half_done(&folder, &[], "p.csv");
    let begun = folder.read("p.csv");
    let on = ["learn", "--resume", &model, "--continue", &whole, "--predictions", &out];
    for (found, words) in [
        ("when,what\n1,2\n".to_owned(), &["p.csv", "has the columns when,what", "line,class,score,positive", "another file"][..]),
        ("line,class,score,positive\nmonday,a,1,a\n".into(), &["its line 2 is not a line of predictions"]),
        (
            begun.lines().take(100).map(|l| format!("{l}\n")).collect(),
            &["ends with line 100", "learned up to line 251", "rows would be missing"],
        ),
    ] {
        folder.write("p.csv", &found);
        fail(&on, 1, words);
        assert_eq!(folder.read("p.csv"), found);
    }
    // Neither if the data are not the ones that were learned.
    folder.write("p.csv", format!("{begun}9999,inside,0,outside\n"));
    let other = folder.write("other.csv", ring(500).replacen("inside", "outside", 3));
    fail(
        &["learn", "--resume", &model, "--continue", &other, "--predictions", &out],
        1,
        &["differ from the rows that the model has learned"],
    );
    assert!(folder.read("p.csv").ends_with("9999,inside,0,outside\n"));
    // An older version did not name the positive class where both classes were known.
    let old: String = begun.lines().map(|line| format!("{}\n", line.rsplit_once(',').unwrap().0)).collect();
    folder.write("p.csv", old);
    succeed(&on);
    assert!(folder.read("p.csv").lines().count() == 501 && folder.read("p.csv").lines().all(|l| l.matches(',').count() == 2));
    std::fs::remove_file(&out).unwrap();
    assert!(succeed(&on).1.replace("\n  ", " ").contains("it will have only the rows of this run"));
    assert_eq!(folder.read("p.csv").lines().count(), 251);
}

/// A file of sparse rows gives the scores of the same rows in a table: while learning, in a second run and in `predict`.
#[test]
fn sparse_files_give_the_scores_of_tables() {
    let folder = Folder::new("sparse");
    let value = |i: usize, j: usize| if (i * 7 + j * 13).is_multiple_of(11) { (i % 5 + 1) as f64 / 4.0 } else { 0.0 };
    let sign = |i: usize| if i.is_multiple_of(3) { 1 } else { -1 };
    let columns = || 1..=300usize;
    let names: Vec<String> = columns().map(|j| format!("c{j}")).collect();
    let (mut table, mut sparse) = (format!("{},y\n", names.join(",")), String::new());
    for i in 0..90 {
        let row: Vec<String> = columns().map(|j| value(i, j).to_string()).collect();
        table += &format!("{},{}\n", row.join(","), sign(i));
        let pairs = columns().filter(|j| value(i, *j) != 0.0).map(|j| format!(" {j}:{}", value(i, j)));
        sparse += &format!("{}{}\n", sign(i), pairs.collect::<String>());
    }
    let files = [folder.write("d.csv", table), folder.write("d.svm", sparse)];
    for kernel in ["gaussian:0.01", "linear"] {
        let settings = ["--kernel", kernel, "--step", "constant:0.1", "--lambda", "0.01", "--anchor", "none", "--scale", "none"];
        let scores = files.each_ref().map(|data| {
            let model = folder.path("m.okl");
            let target: &[&str] = if data.ends_with("csv") { &["--target", "y"] } else { &[] };
            let learn = ["learn", data, "--task", "classes", "--loss", "hinge", "--quiet", "-o", &model, "--predictions", "-"];
            let (learned, _) = succeed(&[&learn[..], &settings, target].concat());
            let (predicted, _) = succeed(&["predict", &model, data]);
            let score = |line: &str| line.split(',').nth(2).unwrap_or("").to_string();
            learned.lines().chain(predicted.lines()).map(score).collect::<Vec<_>>()
        });
        assert!(scores[0].len() == 182 && scores[0].iter().any(|score| score.starts_with("0.")), "{:?}", scores[0]);
        assert_eq!(scores[0], scores[1], "{kernel}");
    }
}
