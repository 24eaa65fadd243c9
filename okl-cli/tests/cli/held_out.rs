//! Held-out rows that the model was not made for.

use crate::support::{Folder, json, ring, succeed};

/// One row of a third class in the held-out file is one mistake; every other row counts as `okl predict` decides it.
#[test]
fn a_held_out_row_of_an_unknown_class_is_one_mistake() {
    let folder = Folder::new("unknown-class");
    // In one data set the positive class (the one that sorts last) comes first, in the other it comes second.
    for (last_first, rows) in [("outside", ring(120)), ("inside", ring(120).replace("outside", "a"))] {
        let data = folder.write("s.csv", &rows);
        let test: String = rows
            .lines()
            .take(1)
            .map(|head| format!("{head}\n0.1,0.1,new\n"))
            .chain(rows.lines().skip(1).map(|row| format!("{row}\n")))
            .collect();
        let (test, model, scores) = (folder.write("t.csv", test), folder.path("m.okl"), folder.path("p.csv"));
        let learn = ["learn", &data, "--target", "where", "--loss", "hinge", "-o", &model];
        let plain = json(&[&learn[..], &["--test", &data]].concat())["held_out"].clone();
        let all = json(&[&learn[..], &["--test", &test]].concat());
        succeed(&["predict", &model, &data, "-o", &scores]);
        let said = folder.read("p.csv");
        let column = said.lines().next().unwrap().split(',').position(|name| name == "class").unwrap();
        let pairs = rows.lines().zip(said.lines()).skip(1);
        let wrong = pairs.filter(|(row, said)| row.split(',').nth(2) != said.split(',').nth(column)).count();
        let found = &all["held_out"];
        assert_eq!(found["rows"], 121, "{last_first}");
        let mistakes = found["error"].as_f64().unwrap() * 121.0;
        assert!((mistakes - (wrong + 1) as f64).abs() < 1e-9, "{last_first}: {mistakes} mistakes, not {}", wrong + 1);
        assert!(wrong < 40, "{last_first}: the model has learned nothing");
        assert_eq!(found["classes"]["auc"], plain["classes"]["auc"], "{last_first}");
        let warnings = all["warnings"].to_string();
        assert!(
            warnings.contains("t.csv: 1 row of the class new, which the model does not know: it counts as wrong"),
            "{warnings}"
        );
    }
}
