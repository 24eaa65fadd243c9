//! Columns that are passed through into predictions, and predictions of alerts alone.

use std::fmt::Write;
use std::fs;

use serde_json::Value;

use crate::support::{Folder, Random, fail, ring, succeed};

fn cells(table: &str) -> Vec<Vec<String>> {
    table.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

#[test]
fn kept_columns_are_copied_and_change_nothing_else() {
    let folder = Folder::new("keep");
    let plain = ring(120);
    let text = plain.lines().enumerate().fold(String::new(), |text, (i, line)| match i {
        0 => format!("time,{line},id\n"),
        _ => text + &format!("2024-05-01T00:00:{:02},{line},{i:03}\n", i % 60),
    });
    let data = folder.write("s.csv", &text);
    let [a, b] = ["a.okl", "b.okl"].map(|name| folder.path(name));
    let learn = ["learn", &data, "--target", "where", "--ignore", "time,id", "--predictions", "-", "--quiet", "-o"];
    let (without, _) = succeed(&[&learn[..], &[&a]].concat());
    let (with, _) = succeed(&[&learn[..], &[&b, "--keep", "id,time,x,where"]].concat());
    assert_eq!(fs::read(&a).unwrap(), fs::read(&b).unwrap(), "the model is the same");
    let (without, with, rows) = (cells(&without), cells(&with), cells(&text));
    assert_eq!(with[0][..5], ["line", "id", "time", "x", "where"]);
    for ((plain, kept), row) in without.iter().zip(&with).zip(&rows).skip(1) {
        assert_eq!(kept[1..5], [&row[4], &row[0], &row[1], &row[3]].map(Clone::clone), "texts as they are in the file");
        assert_eq!([&kept[..1], &kept[5..]].concat(), *plain);
    }
    // Predictions of a saved model, also of a file with other columns; a name of the predictions gets a prefix.
    let other = folder.write("o.csv", "class,y,x,note\nbig,1,2,\"a, \"\"b\"\"\"\n,3,4,\n");
    let (table, said) = succeed(&["predict", &a, &other, "--keep", "class,note"]);
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("line,kept_class,note,class,score"), "{table}");
    assert!(lines[1].starts_with("2,big,\"a, \"\"b\"\"\",") && lines[2].starts_with("3,,,"), "{table}");
    assert!(!said.contains("left out"), "{said}");
    let (rows, _) = succeed(&["predict", &a, &other, "--keep", "class,note", "--predictions-format", "jsonl"]);
    let first: Value = serde_json::from_str(rows.lines().next().unwrap()).unwrap();
    assert_eq!(first["kept"], serde_json::json!({ "class": "big", "note": "a, \"b\"" }));
}

/// A row that is skipped keeps its texts, also those behind the cell that cannot be used, and no text of the row before it.
#[test]
fn rows_that_are_skipped_keep_their_texts() {
    let folder = Folder::new("keep-skipped");
    let rows = |text: &str, name: &str, flags: &[&str]| {
        let data = folder.write(name, text);
        let learn = ["learn", &data, "--task", "numbers", "--on-bad-row", "skip", "--predictions", "-", "--quiet"];
        succeed(&[&learn[..], flags].concat()).0
    };
    let csv = "id,a,y,note\n1,1,2,x\n2,2,high,\"b, c\"\n3,1e99,1,z\n4,3\n5,4,4,w\n";
    let table = rows(csv, "s.csv", &["--target", "y", "--ignore", "id,note", "--keep", "id,note"]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!((lines[2], lines[3], lines[4]), ("3,2,\"b, c\",", "4,3,z,", "5,4,,"), "{table}");
    assert!(lines[1].starts_with("2,1,x,") && lines[5].starts_with("6,5,w,"), "{table}");
    let json =
        "{\"y\":1,\"a\":1,\"id\":\"p\"}\n{\"y\":\"high\",\"new\":2,\"a\":1,\"id\":\"q\"}\n{\"y\":2,\"a\":3,\"id\":\"r\"}\n";
    let flags = ["--target", "y", "--ignore", "id", "--keep", "id", "--predictions-format", "jsonl"];
    let second: Value = serde_json::from_str(rows(json, "s.jsonl", &flags).lines().nth(1).unwrap()).unwrap();
    assert_eq!((&second["kept"]["id"], &second["scores"]), (&Value::from("q"), &Value::Null));
    let vw = "1 'p| a:1\n2 'q| a:high\n3 | a:high\n4 'r| a:2\n";
    let table = rows(vw, "s.vw", &["--keep", "tag"]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!((lines[2], lines[3]), ("2,q,", "3,,"), "{table}");
}

#[test]
fn every_format_and_order_keeps_its_texts() {
    let folder = Folder::new("keep-formats");
    let model = folder.path("m.okl");
    let json = folder
        .write("s.jsonl", "{\"a\":1,\"m\":{\"id\":7,\"u\":\"x\"},\"y\":1}\n{\"a\":2,\"m\":{\"id\":8,\"u\":\"z\"},\"y\":0}\n");
    let learn = ["learn", &json, "--target", "y", "--ignore", "m.id,m.u", "-o", &model, "--predictions", "-", "--quiet"];
    let (table, _) = succeed(&[&learn[..], &["--keep", "m.u,m.id,none"]].concat());
    assert_eq!(cells(&table).iter().map(|row| row[1..4].join(",")).collect::<Vec<_>>(), ["m.u,m.id,none", "x,7,", "z,8,"]);
    let inside = ["learn", &json, "--target", "y", "--ignore", "m", "--keep", "m.id", "--predictions", "-"];
    fail(&inside, 2, &["--keep m.id", "--ignore"]);
    let vw = folder.write("s.vw", "1 'first| a b:2\n-1 2 second| b\n1 | a\n");
    let (table, _) = succeed(&["learn", &vw, "--predictions", "-", "--keep", "tag", "--quiet"]);
    assert_eq!(cells(&table).iter().map(|row| row[1].clone()).collect::<Vec<_>>(), ["tag", "first", "second", ""]);
    fail(&["learn", &vw, "--predictions", "-", "--keep", "a"], 2, &["--keep a", "--keep tag"]);
    let libsvm = folder.write("s.svm", "1 1:1\n-1 2:1\n");
    fail(&["learn", &libsvm, "--predictions", "-", "--keep", "1"], 2, &["--keep 1", "LIBSVM"]);
    let rows = (2..82)
        .zip(ring(80).lines().skip(1))
        .fold(String::from("n,x,y,where\n"), |text, (line, row)| text + &format!("{line},{row}\n"));
    let data = folder.write("n.csv", rows);
    let shuffled = ["learn", &data, "--target", "where", "--ignore", "n", "--shuffle", "4", "--passes", "2"];
    let (table, _) = succeed(&[&shuffled[..], &["--predictions", "-", "--keep", "n", "--quiet"]].concat());
    let rows = cells(&table);
    assert!(rows.len() == 81 && rows[1..].iter().all(|row| row[0] == row[1]), "each row has its own text: {table}");
    assert!(rows[1][0] != "2" || rows[2][0] != "3", "the rows are shuffled");
    fail(&["predict", &model, &json, "--keep", "a,a"], 2, &["'a' twice"]);
    fail(&["learn", &data, "--target", "where", "--keep", "m", "--predictions", "-"], 2, &["no column 'm'"]);
}

/// Two clusters, and now and then a row far away.
fn traffic(rows: usize) -> String {
    let mut random = Random(11);
    (0..rows).fold(String::from("a,b\n"), |mut text, i| {
        let far = if i % 37 == 36 { 9.0 } else { 0.0 };
        writeln!(text, "{:.4},{:.4}", random.next() + far, random.next() - far).unwrap();
        text
    })
}

#[test]
fn alerts_alone_are_the_rows_with_an_alert() {
    let folder = Folder::new("alerts-only");
    let text = traffic(500);
    let data = folder.write("s.csv", &text);
    let half = folder.write("half.csv", text.lines().take(301).map(|line| format!("{line}\n")).collect::<String>());
    let [whole, part, alerts, model] = ["w.csv", "p.csv", "a.csv", "m.okl"].map(|name| folder.path(name));
    let task = ["--task", "novelty", "--quiet", "-o", &model, "--predictions"];
    succeed(&[&["learn", &data], &task[..], &[&whole]].concat());
    succeed(&[&["learn", &data], &task[..], &[&alerts, "--alerts-only"]].concat());
    let expected: String = folder
        .read("w.csv")
        .lines()
        .filter(|line| line.starts_with("line") || line.split(',').nth(1) == Some("1"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(folder.read("a.csv"), expected);
    assert!((3..100).contains(&expected.lines().count()), "{expected}");
    // A run that is interrupted goes on with the same file, which may end before the last row that was learned.
    succeed(&[&["learn", &half], &task[..], &[&part, "--alerts-only"]].concat());
    succeed(&[
        "learn",
        &data,
        "--resume",
        &model,
        "--continue",
        "--quiet",
        "--predictions",
        &part,
        "--alerts-only",
        "-o",
        &model,
    ]);
    assert_eq!(folder.read("p.csv"), expected);
    let (all, _) = succeed(&["predict", &model, &data]);
    let (some, _) = succeed(&["predict", &model, &data, "--alerts-only"]);
    let alerts = all.lines().filter(|line| line.starts_with("line") || line.split(',').nth(1) == Some("1"));
    assert_eq!(some.lines().collect::<Vec<_>>(), alerts.collect::<Vec<_>>());
    let ring = folder.write("r.csv", ring(30));
    let learn = ["learn", &ring, "--target", "where", "--quiet", "--predictions", "-", "--alerts-only"];
    fail(&learn, 2, &["--alerts-only", "novelty"]);
}
