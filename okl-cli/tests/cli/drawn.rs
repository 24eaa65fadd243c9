//! Tables and flags that are drawn: every figure is recomputed from the data and the predictions.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use crate::support::{Folder, Random, flat, json, succeed};

/// One row: its line in the file without the target and the weight, its target if it has one, and its weight.
#[derive(Clone)]
struct Row {
    cells: String,
    target: Option<String>,
    weight: f64,
}

impl Row {
    /// Whether it is learned or measured, and not only predicted. A detector has no targets.
    fn counts(&self) -> bool {
        self.target.is_some() && self.weight > 0.0
    }
}

struct Case {
    task: &'static str,
    weighted: bool,
    flags: Vec<&'static str>,
    passes: usize,
    shuffled: bool,
    rows: Vec<Row>,
    other: Vec<Row>,
}

fn pick<T: Copy>(random: &mut Random, all: &[T]) -> T {
    all[(random.next() * all.len() as f64) as usize]
}

fn draw(random: &mut Random) -> Case {
    let mut often = |share: f64| random.next() < share;
    let (weighted, unknown, category, gaps, shuffled, several) =
        (often(0.5), often(0.5), often(0.6), often(0.4), often(0.5), often(0.3));
    let task = pick(random, &["classes", "classes", "numbers", "novelty"]);
    let mut flags = vec!["--task", task, "--save-model", pick(random, &["recent", "recent", "auto", "all"])];
    if category {
        flags.extend(["--one-hot", "cat"]);
    } else {
        flags.extend(["--ignore", "cat"]);
    }
    if weighted {
        flags.extend(["--weight", "w"]);
    }
    if task != "novelty" {
        flags.extend(["--target", "y"]);
    } else {
        flags.extend(["--warmup", "20"]);
    }
    let same_in_passes = shuffled && several;
    if gaps {
        let rule = pick(random, &["zero", "mean", "last", "mean+indicator"]);
        flags.extend(["--missing", if same_in_passes { "zero" } else { rule }]);
    }
    if shuffled {
        flags.extend(["--shuffle", "5"]);
    }
    if several {
        flags.extend(["--passes", "2"]);
    }
    let row = |random: &mut Random, rare: f64| {
        let (a, b) = (random.next() - 0.5, random.next() - 0.5);
        // A category that only some of the rows have.
        let kind = if random.next() < rare { "rare" } else { pick(random, &["p", "q"]) };
        let first = if gaps && random.next() < 0.15 { String::new() } else { format!("{a:.2}").replace("-0.00", "0.00") };
        let sum = if kind == "q" { a - b } else { a + b };
        let target = if task == "numbers" { format!("{sum:.3}") } else { ["no", "yes"][usize::from(sum > 0.0)].into() };
        let known = task == "novelty" || !(unknown && random.next() < 0.25);
        let weight = if weighted { pick(random, &[0.0, 0.5, 1.0, 2.0]) } else { 1.0 };
        let cells = format!("{first},{},{kind}", format!("{b:.2}").replace("-0.00", "0.00"));
        Row { cells, target: known.then_some(target), weight }
    };
    let many = 30 + (random.next() * 90.0) as usize;
    let mut rows: Vec<Row> = (0..many).map(|i| row(random, 0.3 * i as f64 / many as f64)).collect();
    // The first rows say what the columns have.
    rows[..8].iter_mut().for_each(|row| row.weight = 1.0);
    let other = (0..40)
        .map(|_| if random.next() < 0.4 { pick(random, &rows.iter().collect::<Vec<_>>()).clone() } else { row(random, 0.2) });
    let other = other.collect();
    Case { task, weighted, flags, passes: 1 + usize::from(several), shuffled, rows, other }
}

impl Case {
    fn write(&self, folder: &Folder, name: &str, rows: &[Row]) -> String {
        let target = |row: &Row| {
            if self.task == "novelty" { String::new() } else { format!(",{}", row.target.as_deref().unwrap_or_default()) }
        };
        let weight = |row: &Row| if self.weighted { format!(",{}", row.weight) } else { String::new() };
        let lines = rows.iter().map(|row| format!("{}{}{}\n", row.cells, weight(row), target(row)));
        let header =
            format!("a,b,cat{}{}\n", if self.weighted { ",w" } else { "" }, if self.task == "novelty" { "" } else { ",y" });
        folder.write(name, header + &lines.collect::<String>())
    }

    /// The rows that the model reads as equal have equal keys.
    fn key(&self, row: &Row) -> (String, Option<String>) {
        let cells = if self.flags.contains(&"--ignore") { row.cells.rsplit_once(',').unwrap().0 } else { &row.cells };
        (cells.into(), row.target.clone())
    }
}

/// What the predictions say of rows: in the order of the file of predictions, the index of the row and its line of JSON.
fn predictions(text: &str) -> Vec<(usize, Value)> {
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|line| (line["line"].as_u64().unwrap() as usize - 2, line)).collect()
}

fn close(found: &Value, expected: Option<f64>, what: &str) {
    match (found.as_f64(), expected) {
        (None, None) => {}
        (Some(found), Some(expected)) if (found - expected).abs() <= 1e-9 * expected.abs().max(1.0) => {}
        _ => panic!("{what}: {found}, recomputed {expected:?}"),
    }
}

/// Recomputes the figures of a summary from predictions.
fn check(summary: &Value, task: &str, rows: &[Row], seen: &[(usize, Value)], what: &str) {
    let lines: HashSet<usize> = seen.iter().map(|(row, _)| *row).collect();
    assert_eq!((lines.len(), seen.len()), (rows.len(), rows.len()), "{what}: every row once");
    let (mut weights, mut errors, mut without) = (0.0, 0.0, [0, 0, 0]);
    let (mut judged, mut examples) = (0.0, 0);
    for (row, line) in seen {
        let row = &rows[*row];
        let Some(target) = row.target.as_ref().filter(|_| row.weight > 0.0) else {
            without[usize::from(row.target.is_some())] += 1;
            continue;
        };
        let error = match task {
            "classes" => Some(f64::from(u8::from(line["class"].as_str() != Some(target)))),
            "numbers" => Some((line["scores"][0].as_f64().unwrap() - target.parse::<f64>().unwrap()).abs()),
            _ => line["alert"].as_bool().map(|alert| f64::from(u8::from(alert))),
        };
        (examples, weights) = (examples + 1, weights + row.weight);
        without[2] += usize::from(error.is_none());
        (errors, judged) = (errors + row.weight * error.unwrap_or(0.0), judged + error.map_or(0.0, |_| row.weight));
    }
    assert_eq!(summary["examples"], examples, "{what}");
    close(&summary["weight"], Some(weights), &format!("{what}, weight"));
    close(&summary["error"], (judged > 0.0).then(|| errors / judged), &format!("{what}, error"));
    let counted = ["without_target", "of_weight_zero"].map(|key| summary["not_learned"][key].as_u64().unwrap() as usize);
    let both = rows.iter().filter(|row| row.target.is_none() && row.weight == 0.0).count();
    if task == "novelty" {
        assert_eq!(summary["judged"], examples - without[2], "{what}");
    }
    // A row without a target and of weight 0 counts once.
    assert_eq!(counted[0] + counted[1], without[0] + without[1], "{what}: {summary}");
    assert!(counted[0] <= without[0] && counted[0] + both >= without[0], "{what}: {summary}");
}

/// Learns, predicts and evaluates the drawn tables.
#[test]
fn figures_of_drawn_tables_follow_from_their_predictions() {
    let times = std::env::var("OKL_CASES").map_or(1.0, |text| text.parse::<f64>().expect("OKL_CASES is a number"));
    let folder = Folder::new("drawn");
    let [model, out, part_model] = ["m.okl", "p.jsonl", "part.okl"].map(|name| folder.path(name));
    let mut met = BTreeMap::<&str, usize>::new();
    for case in 0..(25.0 * times).round().max(1.0) as u64 {
        let drawn = draw(&mut Random(1000 + case));
        let what = format!("case {case}, {:?}", drawn.flags);
        let (data, other) = (drawn.write(&folder, "d.csv", &drawn.rows), drawn.write(&folder, "o.csv", &drawn.other));
        let learn = [&["learn", &data][..], &drawn.flags].concat();
        let learned = json(&[&learn[..], &["-o", &model, "--predictions", &out]].concat());
        let seen = predictions(&folder.read("p.jsonl"));
        let summary = if drawn.passes > 1 { &learned["training"]["summary"] } else { &learned["summary"] };
        check(summary, drawn.task, &drawn.rows, &seen, &what);
        // After the last row that is learned, the final model predicts.
        let last = seen.iter().rposition(|(row, _)| drawn.rows[*row].counts()).unwrap();
        let predicted = predictions(&succeed(&["predict", &model, &data, "--predictions-format", "jsonl"]).0);
        if learned["saved_model"]["model"] == "recent" || drawn.flags.contains(&"recent") {
            for (row, line) in &seen[last + 1..] {
                assert_eq!(line["scores"], predicted[*row].1["scores"], "{what}: row {row}");
                *met.entry("predicted after the last learned row").or_default() += 1;
            }
        }
        // The figures of the saved model, and the rows that it has learned.
        let evaluated = json(&["evaluate", &model, &other]);
        let predicted = predictions(&succeed(&["predict", &model, &other, "--predictions-format", "jsonl"]).0);
        check(&evaluated["summary"], drawn.task, &drawn.other, &predicted, &format!("{what}, evaluate"));
        let known: HashSet<_> = drawn.rows.iter().filter(|row| row.counts()).map(|row| drawn.key(row)).collect();
        let measured: Vec<&Row> = drawn.other.iter().filter(|row| row.counts()).collect();
        let same = measured.iter().filter(|row| known.contains(&drawn.key(row))).count();
        let all = measured.len() == drawn.other.len();
        let these = match (all, drawn.task) {
            (true, _) => format!("these {}", measured.len()),
            (false, "novelty") => format!("the {} rows with a weight above 0", measured.len()),
            (false, _) => format!("the {} rows with a target and a weight above 0", measured.len()),
        };
        let (said, expected) = (evaluated["warnings"].to_string(), format!("{same} of {these}"));
        assert!(same == 0 || same == measured.len() || said.contains(&expected), "{what}: {expected}: {said}");
        assert_eq!(said.contains("the model has learned"), same > 0, "{what}: {said}");
        *met.entry("some are equal").or_default() += usize::from(same > 0 && !all);
        let resumed = json(&["learn", &other, "--resume", &model, "-o", &part_model]);
        let found = (&resumed["rows_learned_again"]["rows"], &resumed["rows_before"]);
        assert_eq!(found, (&same.into(), &drawn.rows.iter().filter(|row| row.counts()).count().into()), "{what}");
        let said = flat(&resumed["warnings"].to_string());
        assert!(same == 0 || same == measured.len() || said.contains(&expected), "{what}, resumed: {expected}: {said}");
        // A run that stops and goes on is the run that was not interrupted.
        if drawn.passes == 1 && !drawn.shuffled {
            let recent = ["--save-model", "recent", "--predictions", &out, "--quiet"];
            let bytes = |name: &str| std::fs::read(folder.path(name)).unwrap();
            let flags: Vec<&str> =
                drawn.flags.iter().map(|flag| if matches!(*flag, "auto" | "all") { "recent" } else { flag }).collect();
            let learn = [&["learn", &data][..], &flags].concat();
            succeed(&[&learn[..], &recent[2..], &["-o", &model]].concat());
            let predicted = bytes("p.jsonl");
            drawn.write(&folder, "d.csv", &drawn.rows[..2 * drawn.rows.len() / 3]);
            succeed(&[&learn[..], &recent[2..], &["-o", &part_model]].concat());
            drawn.write(&folder, "d.csv", &drawn.rows);
            succeed(&[&["learn", &data, "--resume", &part_model, "--continue", "-o", &part_model][..], &recent].concat());
            assert!(bytes("p.jsonl") == predicted && bytes("part.okl") == bytes("m.okl"), "{what}: continued");
            *met.entry("continued").or_default() += 1;
        }
    }
    assert!(times < 1.0 || met.len() == 3 && met.values().all(|count| *count > 0), "{met:?}");
}
