//! `okl evaluate`, and what `okl inspect` says of the time when the model learned.

use std::fmt::Write;

use serde_json::Value;

use crate::support::{Folder, Random, fail, flat, json, numbers, okl, ring, succeed};

/// The cells of a column of a table.
fn column(text: &str, name: &str) -> Vec<String> {
    let at = text.lines().next().unwrap().split(',').position(|n| n == name).unwrap();
    text.lines().skip(1).map(|line| line.split(',').nth(at).unwrap().to_owned()).collect()
}

/// The same rows with one more column, whose values repeat.
fn with_group(text: &str, groups: &[&str]) -> String {
    let mut lines = text.lines();
    let mut out = format!("{},group\n", lines.next().unwrap());
    lines.zip(groups.iter().cycle()).for_each(|(line, group)| writeln!(out, "{line},{group}").unwrap());
    out
}

#[test]
fn the_figures_are_those_of_predict() {
    let folder = Folder::new("evaluate");
    let (data, model) = (folder.write("s.csv", ring(200)), folder.path("m.okl"));
    // One more digit: none of the rows is equal to a learned one.
    let text = with_group(
        &ring(150).replace("0.", "1.").replace(",inside", "5,inside").replace(",outside", "5,outside"),
        &["a", "b", "b"],
    );
    let labelled = folder.write("t.csv", &text);
    let held_out = json(&["learn", &data, "--target", "where", "-o", &model, "--test", &labelled])["held_out"].clone();
    let found = json(&["evaluate", &model, &labelled, "--by", "group"]);
    assert_eq!(found["summary"], held_out, "learn --test measures the same model on the same rows");
    let said = column(&succeed(&["predict", &model, &labelled]).0, "class");
    let (truth, groups) = (column(&text, "where"), column(&text, "group"));
    for (at, name) in ["a", "b"].into_iter().enumerate() {
        let rows: Vec<usize> = (0..150).filter(|row| groups[*row] == name).collect();
        let wrong = rows.iter().filter(|row| said[**row] != truth[**row]).count();
        let group = &found["groups"][at];
        assert_eq!((group["value"].as_str(), group["summary"]["examples"].as_u64()), (Some(name), Some(rows.len() as u64)));
        let error = group["summary"]["error"].as_f64().unwrap();
        assert!((error - wrong as f64 / rows.len() as f64).abs() < 1e-12, "{name}: {error}, {wrong} mistakes");
        assert!(wrong > 0, "the rows are hard");
    }
    assert_eq!(found["warnings"], Value::Array(Vec::new()), "the column of --by was asked for: it is not called left out");
    let (table, _) = succeed(&["evaluate", &model, &labelled, "--by", "group"]);
    let starts = |name: &str, rows: &str| table.lines().any(|line| line.starts_with(name) && line.contains(rows));
    assert!(starts("group ", "macro F1") && starts("a ", "50") && starts("b ", "100"), "{table}");
}

#[test]
fn numbers_are_measured_by_their_residuals() {
    let folder = Folder::new("evaluate-numbers");
    let mut random = Random(3);
    let rows: Vec<[f64; 2]> = (0..120).map(|_| [random.next(), random.next()]).collect();
    let text = rows.iter().fold(String::from("a,b,y\n"), |text, [a, b]| text + &format!("{a},{b},{}\n", 3.0 * a - b + 5.0));
    let (data, model) = (folder.write("s.csv", &text), folder.path("m.okl"));
    succeed(&["learn", &data, "--target", "y", "--task", "numbers", "--quiet", "-o", &model]);
    let scores: Vec<f64> = column(&succeed(&["predict", &model, &data]).0, "score").iter().map(|s| s.parse().unwrap()).collect();
    let y: Vec<f64> = column(&text, "y").iter().map(|y| y.parse().unwrap()).collect();
    let mean = y.iter().sum::<f64>() / 120.0;
    let squares = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>();
    let residuals = squares(&mut y.iter().zip(&scores).map(|(y, z)| y - z));
    let r2 = 1.0 - residuals / squares(&mut y.iter().map(|y| y - mean));
    let absolute = y.iter().zip(&scores).map(|(y, z)| (y - z).abs()).sum::<f64>() / 120.0;
    let summary = json(&["evaluate", &model, &data])["summary"].clone();
    assert!((summary["error"].as_f64().unwrap() - absolute).abs() < 1e-9, "{summary}");
    assert!((summary["outputs"][0]["r2"].as_f64().unwrap() - r2).abs() < 1e-9, "{summary}");
}

/// The column `heading` of the line `name` in the table of groups.
fn cell(table: &str, group: &str, heading: &str) -> String {
    let titles = table.lines().find(|line| line.starts_with("group")).unwrap();
    let end = titles.chars().collect::<String>().find(heading).map(|at| titles[..at + heading.len()].chars().count()).unwrap();
    let row: Vec<char> = table.lines().find(|line| line.starts_with(group)).unwrap().chars().collect();
    let text: String = row[..end].iter().collect();
    text.split("  ").last().unwrap().trim().to_owned()
}

/// Each target has its R² in the table of groups, and a quantile its coverage.
#[test]
fn groups_have_the_figures_of_every_target() {
    let folder = Folder::new("evaluate-groups");
    let text = with_group(&numbers(120), &["a", ""]);
    let (data, model) = (folder.write("s.csv", &text), folder.path("m.okl"));
    succeed(&["learn", &data, "--target", "u,v", "--ignore", "group", "--quiet", "-o", &model]);
    let predicted = succeed(&["predict", &model, &data]).0;
    let at = |text: &str, name: &str| -> Vec<f64> {
        column(text, name).iter().step_by(2).map(|value| value.parse().unwrap()).collect()
    };
    let (table, _) = succeed(&["evaluate", &model, &data, "--by", "group"]);
    assert!(table.lines().any(|line| line.starts_with("(empty) ")), "{table}");
    for (target, score) in [("u", "score_u"), ("v", "score_v")] {
        let (y, z) = (at(&text, target), at(&predicted, score));
        let mean = y.iter().sum::<f64>() / y.len() as f64;
        let residuals: f64 = y.iter().zip(&z).map(|(y, z)| (y - z) * (y - z)).sum();
        let r2 = 1.0 - residuals / y.iter().map(|y| (y - mean) * (y - mean)).sum::<f64>();
        let shown: f64 = cell(&table, "a ", &format!("R² {target}")).parse().unwrap();
        assert!((shown - r2).abs() < 1e-4, "{r2}\n{table}");
    }
    succeed(&["learn", &data, "--target", "u", "--ignore", "group,v", "--loss", "quantile:0.8", "--quiet", "-o", &model]);
    let (y, z) = (at(&text, "u"), at(&succeed(&["predict", &model, &data]).0, "score"));
    let below = y.iter().zip(&z).filter(|(y, z)| y <= z).count();
    let (table, _) = succeed(&["evaluate", &model, &data, "--by", "group"]);
    let shown: f64 = cell(&table, "a ", "coverage").trim_end_matches(" %").parse().unwrap();
    assert!((shown - 100.0 * below as f64 / 60.0).abs() < 0.006, "{below} of 60\n{table}");
}

/// Long names of groups and of targets often differ at their end alone.
#[test]
fn long_names_of_groups_and_targets_are_told_apart() {
    let folder = Folder::new("evaluate-long");
    let groups = ["production line of the new factory, north", "production line of the new factory, south"];
    let [north, south] = groups.map(|name| name.replace(", ", " / "));
    let text = with_group(&numbers(60), &[&north, &south]).replace("u,v", "temperature at the inlet,temperature at the outlet");
    let (data, model) = (folder.write("s.csv", text), folder.path("m.okl"));
    let targets = "temperature at the inlet,temperature at the outlet";
    succeed(&["learn", &data, "--target", targets, "--ignore", "group", "--quiet", "-o", &model]);
    let (table, _) = succeed(&["evaluate", &model, &data, "--by", "group"]);
    let line = |start: &str, end: &str| table.lines().filter(|line| line.starts_with(start) && line.contains(end)).count();
    assert_eq!((line("production line ", "y / north "), line("production line ", "y / south ")), (1, 1), "{table}");
    assert!(table.contains("R² temperat…e inlet") && table.contains("R² temperat… outlet"), "{table}");
}

#[test]
fn what_cannot_be_evaluated_is_refused() {
    let folder = Folder::new("evaluate-refused");
    let (data, model) = (folder.write("s.csv", ring(60)), folder.path("m.okl"));
    succeed(&["learn", &data, "--target", "where", "--quiet", "-o", &model]);
    let unlabelled = folder.write("u.csv", "x,y\n1,2\n");
    fail(&["evaluate", &model, &unlabelled], 2, &["no column 'where'", "x, y"]);
    fail(&["evaluate", &model, &data, "--by", "place"], 2, &["no column 'place'", "x, y, where"]);
    // A model without names of columns; the command has no --features.
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../okl/tests/golden/binary.okl");
    let output = okl(&["evaluate", golden, &data, "--target", "where"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("leave some out with --ignore") && !said.contains("--features"), "{said}");
    let many = ring(300)
        .lines()
        .enumerate()
        .fold(String::new(), |text, (i, line)| text + &if i == 0 { format!("{line},user\n") } else { format!("{line},u{i}\n") });
    let many = folder.write("many.csv", many);
    fail(&["evaluate", &model, &many, "--by", "user"], 1, &["--by user", "more than 200"]);
}

#[test]
fn inspect_says_how_well_the_model_did_when_it_learned() {
    let folder = Folder::new("progressive");
    let text = ring(300);
    let lines: Vec<&str> = text.lines().collect();
    let rest: String = [lines[0]].iter().chain(&lines[201..]).map(|line| format!("{line}\n")).collect();
    let (first, rest) = (folder.write("first.csv", lines[..201].join("\n")), folder.write("rest.csv", rest));
    let [a, b] = ["a.okl", "b.okl"].map(|name| folder.path(name));
    let one = json(&["learn", &first, "--target", "where", "-o", &a])["summary"].clone();
    let two = json(&["learn", &rest, "--resume", &a, "-o", &b])["summary"].clone();
    let mistakes = |summary: &Value, rows: f64| (summary["error"].as_f64().unwrap() * rows).round();
    let all = mistakes(&one, 200.0) + mistakes(&two, 100.0);
    let found = json(&["inspect", &b])["progressive"].clone();
    assert_eq!(found["examples"], 300);
    assert!((found["error"].as_f64().unwrap() - all / 300.0).abs() < 1e-12, "{found}: {all} mistakes");
    assert_eq!(found["recent_examples"], 300 - 128, "from the last power of two but one");
    let (words, _) = succeed(&["inspect", &b]);
    assert!(words.contains("while learning") && words.contains("over 300 examples, each"), "{words}");
    // Weights are named where the figure has them.
    let weights: String = text
        .lines()
        .enumerate()
        .map(|(i, line)| format!("{line},{}\n", if i == 0 { "w".into() } else { (1 + i % 2).to_string() }))
        .collect();
    let weights = folder.write("weights.csv", weights);
    let learned = json(&["learn", &weights, "--target", "where", "--weight", "w", "-o", &a])["summary"].clone();
    let found = json(&["inspect", &a])["progressive"].clone();
    assert_eq!((&found["weight"], &found["error"]), (&serde_json::json!(450.0), &learned["error"]));
    assert!(flat(&succeed(&["inspect", &a]).0).contains("over 300 examples by their weights, each"));
    // Files of older versions have no such figures.
    let old = concat!(env!("CARGO_MANIFEST_DIR"), "/../okl/tests/golden/binary.okl");
    assert_eq!(json(&["inspect", old])["progressive"], Value::Null);
}

#[test]
fn figures_of_learned_rows_are_called_so() {
    let folder = Folder::new("evaluate-learned");
    let text = ring(200);
    let (data, model) = (folder.write("s.csv", &text), folder.path("m.okl"));
    let said =
        |found: Value| found["warnings"].as_array().unwrap().iter().map(|w| w.as_str().unwrap().to_owned()).collect::<Vec<_>>();
    for order in [&[][..], &["--shuffle", "3"], &["--passes", "2"]] {
        json(&[&["learn", &data, "--target", "where", "-o", &model], order].concat());
        let warnings = said(json(&["evaluate", &model, &data]));
        assert!(warnings.len() == 1 && warnings[0].starts_with("the model has learned these rows"), "{order:?}: {warnings:?}");
    }
    let more = folder
        .write("more.csv", text.clone() + &ring(260).lines().skip(201).map(|line| line.to_owned() + "\n").collect::<String>());
    let warnings = said(json(&["evaluate", &model, &more]));
    assert!(warnings[0].starts_with("the model has learned the first 200 of these 260 rows"), "{warnings:?}");
    let other = folder.write(
        "other.csv",
        text.lines().map(|line| line.replacen(',', "1,", 1) + "\n").collect::<String>().replacen("x1", "x", 1),
    );
    assert_eq!(said(json(&["evaluate", &model, &other])), Vec::<String>::new());
    let (_, notes) = succeed(&["learn", &data, "--target", "where", "-o", &model, "--test", &data]);
    assert!(notes.contains("the model has learned these rows"), "{notes}");
}

/// Rows of earlier runs, of a later file, and in another order are recognised as learned; new rows are not.
#[test]
fn learned_rows_are_recognised_wherever_they_are() {
    let folder = Folder::new("evaluate-any-order");
    let text = numbers(3200);
    let mut lines = text.lines();
    let header = lines.next().unwrap();
    let rows: Vec<&str> = lines.collect();
    let part = |name: &str, rows: &[&str]| folder.write(name, format!("{header}\n{}\n", rows.join("\n")));
    let (a, b, c) = (part("a.csv", &rows[..1300]), part("b.csv", &rows[1300..2600]), part("c.csv", &rows[2600..]));
    let backwards = part("d.csv", &rows[..1300].iter().rev().copied().collect::<Vec<_>>());
    let (first, both, shuffled) = (folder.path("a.okl"), folder.path("ab.okl"), folder.path("s.okl"));
    succeed(&["learn", &a, "--target", "u", "--ignore", "v", "-o", &first, "--quiet"]);
    succeed(&["learn", &b, "--resume", &first, "-o", &both, "--quiet"]);
    succeed(&["learn", &a, &b, "--target", "u", "--ignore", "v", "--shuffle", "1", "-o", &shuffled, "--quiet"]);
    let said = |model: &str, data: &[&str]| json(&[&["evaluate", model], data].concat())["warnings"].to_string();
    for model in [&both, &shuffled] {
        for data in [&[&a[..]][..], &[&b], &[&b, &a], &[&backwards]] {
            let said = said(model, data);
            assert!(
                said.contains("that the model has learned") || said.contains("the model has learned these rows"),
                "{data:?}: {said}"
            );
        }
        assert_eq!(said(model, &[&c]), "[]");
    }
    let some = said(&first, &[&a, &b]);
    assert!(some.contains("the model has learned the first 1,300 of these 2,600 rows"), "{some}");
    let mixed = said(&first, &[&b, &a]);
    assert!(mixed.contains("at least 512 of these 2,600 rows are equal"), "the rows whose fingerprints the model has: {mixed}");
}

/// The alert rate of learned rows is neither better nor worse than that of new rows.
#[test]
fn learned_rows_of_a_detector_are_called_so() {
    let folder = Folder::new("evaluate-learned-detector");
    let (data, model) = (folder.write("n.csv", numbers(600)), folder.path("m.okl"));
    succeed(&["learn", &data, "--task", "novelty", "-o", &model, "--quiet"]);
    let said = json(&["evaluate", &model, &data])["warnings"].to_string();
    assert!(said.contains("new rows can have another alert rate") && !said.contains("worse"), "{said}");
}

/// The area under the curve is of the two classes that the model knows, and says so.
#[test]
fn the_area_under_the_curve_names_its_classes() {
    let folder = Folder::new("evaluate-auc");
    let (data, model) = (folder.write("r.csv", ring(300)), folder.path("m.okl"));
    succeed(&["learn", &data, "--target", "where", "-o", &model, "--quiet"]);
    let others = folder.write("o.csv", ring(300) + "0.1,0.2,elsewhere\n");
    let area =
        |data: &str| succeed(&["evaluate", &model, data]).0.lines().find(|line| line.starts_with("AUC")).unwrap().to_owned();
    assert!(area(&others).contains("rows of outside and inside only"), "{}", area(&others));
    assert!(!area(&data).contains("only"), "{}", area(&data));
}
