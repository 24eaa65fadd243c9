//! Every figure is true of what it names: recomputed from the predictions, or from the model itself.

use std::fmt::Write as _;

use serde_json::Value;

use crate::support::{Folder, Random, fail, flat, json, late_classes, numbers, ring, succeed};

fn close(found: &Value, expected: f64, what: &str) {
    let found = found.as_f64().unwrap_or_else(|| panic!("{what}: {found}"));
    assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{what}: {found}, recomputed {expected}");
}

/// The cells of a table without its header.
fn cells(csv: &str) -> Vec<Vec<String>> {
    csv.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// One column as numbers.
fn column(csv: &str, name: &str) -> Vec<f64> {
    let at = csv.lines().next().unwrap().split(',').position(|cell| cell == name).unwrap();
    cells(csv).iter().map(|row| row[at].parse().unwrap()).collect()
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

/// Three stretches of one class each; the features say nothing.
fn stretches(rows: usize) -> String {
    let mut random = Random(17);
    let mut text = String::from("x,y,c\n");
    for i in 0..rows {
        writeln!(text, "{:.4},{:.4},{}", random.next(), random.next(), ["a", "b", "c"][3 * i / rows]).unwrap();
    }
    text
}

/// The error of a saved model over all rows of a file, by `okl predict`.
fn error_of(model: &str, data: &str, truth: &[String]) -> f64 {
    let said: Vec<String> = cells(&succeed(&["predict", model, data]).0).into_iter().map(|row| row[1].clone()).collect();
    mean(said.iter().zip(truth).map(|(said, truth)| f64::from(u8::from(said != truth))))
}

#[test]
fn the_saved_model_is_measured_on_past_rows_and_a_large_difference_is_said() {
    let folder = Folder::new("past-classes");
    for (rows, name) in [(900, "short.csv"), (3000, "long.csv")] {
        let text = stretches(rows);
        let (data, model, report) = (folder.write(name, &text), folder.path("m.okl"), folder.path("r.html"));
        let learn =
            ["learn", &data, "--target", "c", "--task", "classes", "-o", &model, "--report", &report, "--save-model", "recent"];
        let out = json(&learn);
        let past = &out["model_on_past_rows"];
        let truth: Vec<String> = cells(&text).into_iter().map(|row| row[2].clone()).collect();
        let (all, error) = (error_of(&model, &data, &truth), past["error"].as_f64().unwrap());
        let spread = past["standard_error"].as_f64().unwrap();
        assert_eq!((past["rows"].as_u64(), past["drawn_from"].as_u64()), (Some(rows.min(1000) as u64), Some(rows as u64)));
        if rows <= 1000 {
            close(&past["error"], all, "all rows are in the sample");
        }
        assert!((error - all).abs() <= 4.0 * spread, "{error} ± {spread}, over all rows {all}");
        let expected = (error * (1.0 - error) / (rows.min(1000) as f64 - 1.0)).sqrt();
        assert!((spread - expected).abs() < 1e-12, "{spread}, for a share {expected}");
        assert!(out["summary"]["error"].as_f64().unwrap() < 0.1 && error > 0.5, "{out}");
        let (_, err) = succeed(&learn);
        let words = flat(&err);
        assert!(past["much_worse"] == true && out["warnings"][0].as_str().unwrap().contains("--shuffle 1"));
        assert!(
            words.contains("The final model gets ") && words.contains("It predicts the later half of these rows better "),
            "{err}"
        );
        assert!(err.lines().all(|line| line.chars().count() <= 80), "{err}");
        let last = err.lines().rfind(|line| line.split_whitespace().nth(2) == Some(&rows.to_string())).unwrap();
        let shown: f64 = last.split_whitespace().nth(4).unwrap().parse().unwrap();
        assert!((shown - 100.0 * error).abs() < 0.01, "the table: {last}");
        let page = folder.read("r.html");
        assert!(
            page.contains("class=\"warning\">The final model gets ") && page.contains("error of the final model on past rows")
        );
    }
}

#[test]
fn nothing_is_said_where_the_order_does_not_matter() {
    let folder = Folder::new("past-same");
    let (ring, stretches) = (folder.write("ring.csv", ring(1500)), folder.write("s.csv", stretches(1500)));
    for args in
        [vec![ring.as_str(), "--target", "where"], vec![&stretches, "--target", "c", "--task", "classes", "--shuffle", "1"]]
    {
        let out = json(&[&["learn"], &args[..]].concat());
        assert!(out["model_on_past_rows"]["much_worse"] == false && out["warnings"] == Value::Array(vec![]), "{args:?}: {out}");
    }
}

#[test]
fn numbers_and_novelty_are_measured_on_past_rows_too() {
    let folder = Folder::new("past-numbers");
    let mut random = Random(23);
    let mut text = String::from("x,y\n");
    (0..2000).for_each(|i| writeln!(text, "{:.4},{}", random.next(), if i < 1000 { 0 } else { 100 }).unwrap());
    let (data, model) = (folder.write("n.csv", &text), folder.path("m.okl"));
    let out = json(&["learn", &data, "--target", "y", "--task", "numbers", "-o", &model]);
    let scores = column(&succeed(&["predict", &model, &data]).0, "score");
    let all = mean(scores.iter().zip(column(&text, "y")).map(|(z, y)| (z - y).abs()));
    let past = &out["model_on_past_rows"];
    let (error, spread) = (past["error"].as_f64().unwrap(), past["standard_error"].as_f64().unwrap());
    assert!((error - all).abs() <= 4.0 * spread && past["much_worse"] == true, "{error} ± {spread}, over all rows {all}");

    // The rows move away, and the terms of the first half are gone.
    let mut text = String::from("x,y\n");
    (0..2000).for_each(|i| {
        let at = if i < 1000 { 0.0 } else { 4.0 };
        writeln!(text, "{:.4},{:.4}", at + random.next(), at + random.next()).unwrap();
    });
    let (data, settings) = (folder.write("o.csv", &text), ["--nu", "0.05", "--budget", "window:100", "--kernel", "gaussian:1"]);
    let learn = ["learn", &data, "--loss", "nu_novelty", "--threshold", "norma", "--scale", "none", "-o", &model];
    let learn = [&learn[..], &settings].concat();
    let out = json(&learn);
    let alerts = column(&succeed(&["predict", &model, &data]).0, "alert");
    let (all, past) = (mean(alerts.into_iter()), &out["model_on_past_rows"]);
    let (rate, spread) = (past["error"].as_f64().unwrap(), past["standard_error"].as_f64().unwrap());
    assert!((rate - all).abs() <= 4.0 * spread.max(0.001) && past["expected"] == 0.05, "{rate} ± {spread}, over all rows {all}");
    assert!(rate > 0.3 && past["much_worse"] == true, "{out}");
    assert!(out["warnings"][0].as_str().unwrap().contains("5.00 % was asked for"), "{out}");
}

/// A run that stopped and went on has the same sample, model and figure as one that did not stop.
#[test]
fn the_sample_is_drawn_again_when_a_run_goes_on() {
    let folder = Folder::new("past-continue");
    let text = stretches(1600);
    let half: String = text.lines().take(801).map(|line| format!("{line}\n")).collect();
    let (whole, part, model) = (folder.write("s.csv", &text), folder.write("half.csv", half), folder.path("m.okl"));
    let past = |args: &[&str]| json(&[&["learn"], args].concat())["model_on_past_rows"].clone();
    let classes = ["--target", "c", "--task", "classes"];
    let figures = |past: &Value| [&past["error"], &past["rows"], &past["drawn_from"], &past["all_rows"]].map(Value::clone);
    let expected = past(&[&[whole.as_str()][..], &classes].concat());
    succeed(&[&["learn", &part, "--quiet", "-o", &model, "--save-model", "recent"][..], &classes].concat());
    let continued = past(&["--resume", &model, "--continue", &whole]);
    assert_eq!((figures(&continued), &continued["summary"]), (figures(&expected), &expected["summary"]));
    // Shuffled, and stopped in the second pass.
    let shuffled = ["--shuffle", "3", "--passes", "2"];
    let expected = past(&[&[whole.as_str()][..], &classes, &shuffled].concat());
    succeed(&[&["learn", &whole, "--quiet", "-o", &model][..], &classes, &["--shuffle", "3", "--passes", "1"]].concat());
    let continued = past(&["--resume", &model, "--continue", &whole, "--passes", "2"]);
    // Rows have no ids in a single pass, so the models differ; the sample is the same.
    assert_eq!(figures(&continued)[1..], figures(&expected)[1..]);
    assert_eq!(
        continued["summary"]["classes"]["per_class"][0]["examples"],
        expected["summary"]["classes"]["per_class"][0]["examples"]
    );
    // New data: the sample has the rows of this run, and that is said.
    succeed(&[&["learn", &part, "--quiet", "-o", &model][..], &classes].concat());
    let resumed = past(&["--resume", &model, &part]);
    assert_eq!((&resumed["all_rows"], &resumed["drawn_from"]), (&false.into(), &800.into()));
    let (_, err) = succeed(&["learn", "--resume", &model, &part]);
    assert!(err.contains("on all 800 rows of this run"), "{err}");
}

/// Labels by coin: nothing can be learned, and the first pass says so however many passes follow.
#[test]
fn later_passes_are_training_error() {
    let folder = Folder::new("coins");
    let mut random = Random(41);
    let mut text = String::from("x,y,coin\n");
    (0..800).for_each(|_| {
        let coin = if random.next() < 0.5 { "heads" } else { "tails" };
        writeln!(text, "{:.4},{:.4},{coin}", random.next(), random.next()).unwrap();
    });
    let (data, report) = (folder.write("coins.csv", &text), folder.path("r.html"));
    let once = json(&["learn", &data, "--target", "coin"]);
    let args = ["learn", &data, "--target", "coin", "--passes", "20", "--report", &report];
    let often = json(&args);
    assert_eq!(often["summary"], once["summary"], "progressive figures are those of the first visits");
    let (error, training) = (often["summary"]["error"].as_f64().unwrap(), &often["training"]);
    // 800 coins: 0.5 with a deviation of 0.018.
    assert!((error - 0.5).abs() < 0.08, "{error}");
    assert_eq!((&training["pass"], &training["summary"]["examples"], once.get("training")), (&20.into(), &800.into(), None));
    assert!(training["summary"]["error"].as_f64().unwrap() < 0.4, "{training}");
    let (_, err) = succeed(&args);
    let headers: Vec<&str> = err.lines().filter(|line| line.contains("avg loss")).collect();
    assert!(headers.len() == 2 && headers[0].contains("error %") && headers[1].contains("train %"), "{err}");
    let lines: Vec<Vec<&str>> = err.lines().map(|line| line.split_whitespace().collect()).collect();
    let first = lines.iter().find(|line| line.len() == 8 && line[2] == "800").expect("a line at the end of the first pass");
    assert!((first[3].parse::<f64>().unwrap() - 100.0 * error).abs() < 0.01, "{err}");
    assert!(err.contains("training error") && err.contains("in pass 20, of rows that had been learned before"), "{err}");
    let page = folder.read("r.html");
    assert!(page.contains("800 examples, each predicted before it was learned: "));
    assert!(page.contains("Training error in pass 20, on rows that had been learned before: "));
}

/// Error, its last 1,000, macro F1 and AUC from the predictions file alone.
#[test]
fn figures_of_classes_follow_from_the_predictions() {
    let folder = Folder::new("figures-classes");
    let cases = [("two.csv", ring(1700), "where"), ("three.csv", stretches(1700), "c")];
    let task = ["--task", "classes"];
    for (more, (name, text, target)) in [&[][..], &task].into_iter().zip(cases) {
        let (data, predictions) = (folder.write(name, &text), folder.path("p.csv"));
        let args = [&["learn", &data, "--target", target, "--predictions", &predictions], more].concat();
        let summary = json(&args)["summary"].clone();
        let rows = cells(&folder.read("p.csv"));
        let truth: Vec<String> = cells(&text).into_iter().map(|row| row[2].clone()).collect();
        assert_eq!(rows[0][1], "", "no class is known before the first row: a mistake");
        let wrong: Vec<f64> = rows.iter().zip(&truth).map(|(row, y)| f64::from(u8::from(row[1] != *y))).collect();
        close(&summary["error"], mean(wrong.iter().copied()), "error");
        close(&summary["windowed_error"], mean(wrong[700..].iter().copied()), "last 1,000");
        let classes = &summary["classes"];
        close(&classes["accuracy"], 1.0 - mean(wrong.iter().copied()), "accuracy");
        let mut names = truth.clone();
        names.sort();
        names.dedup();
        let f1 = |name: &String| {
            let of = |pick: &dyn Fn(bool, bool) -> bool| {
                rows.iter().zip(&truth).filter(|(row, y)| pick(row[1] == *name, *y == name)).count() as f64
            };
            2.0 * of(&|said, was| said && was) / (of(&|said, _| said) + of(&|_, was| was))
        };
        close(&classes["macro_f1"], mean(names.iter().map(f1)), "macro F1");
        if names.len() == 2 {
            let positive = positive_class(&rows, &names);
            let area = auc(&rows, &truth, &positive);
            let (shown, within) = (classes["auc"]["value"].as_f64().unwrap(), classes["auc"]["error"].as_f64().unwrap());
            assert!((shown - area).abs() <= within + 1e-9, "AUC {shown} ± {within}, recomputed {area}");
        }
        // There is nothing to repeat at the first row, which is a mistake for both.
        let changes: f64 = truth.windows(2).map(|w| f64::from(u8::from(w[0] != w[1]))).sum();
        close(&summary["no_change_error"], (1.0 + changes) / truth.len() as f64, "no change");
    }
}

/// The class that is said where the score is positive, late in the file.
fn positive_class(rows: &[Vec<String>], names: &[String]) -> String {
    let row = rows.iter().rev().find(|row| row[2].parse::<f64>().unwrap() > 0.0).unwrap();
    assert!(names.contains(&row[1]));
    row[1].clone()
}

/// Over all pairs of a positive and a negative example, ties half.
fn auc(rows: &[Vec<String>], truth: &[String], positive: &str) -> f64 {
    let scores = |wanted: bool| -> Vec<f64> {
        let of = rows.iter().zip(truth).filter(|(_, y)| (*y == positive) == wanted);
        of.map(|(row, _)| row[2].parse().unwrap()).collect()
    };
    let (above, below) = (scores(true), scores(false));
    let order = |a: f64, b: f64| if a == b { 0.5 } else { f64::from(u8::from(a > b)) };
    let sum: f64 = above.iter().map(|a| below.iter().map(|b| order(*a, *b)).sum::<f64>()).sum();
    sum / (above.len() * below.len()) as f64
}

/// Under the squared loss f is linear in the targets, and a power of two multiplies exactly: in the unit of the targets every figure is
/// the same, but the loss, which is in the unit of the scaled targets.
#[test]
fn figures_are_in_the_unit_of_the_targets() {
    let folder = Folder::new("figures-units");
    let data = folder.write("n.csv", numbers(800));
    let scaled = folder.write("s.toml", "target_scale = { fixed = { shift = [0], factor = [0.125] } }");
    let (model, predictions) = (folder.path("m.okl"), folder.path("p.csv"));
    let given = [
        "--loss",
        "squared",
        "--kernel",
        "gaussian:0.5",
        "--step",
        "constant:0.5",
        "--lambda",
        "0.001",
        "--budget",
        "window:100",
    ];
    let learn = ["learn", &data, "--target", "u", "--ignore", "v", "--predictions", &predictions, "-o", &model];
    let said = |more: &[&str]| {
        let summary = json(&[&learn[..], &given, more].concat())["summary"].clone();
        let inspected = json(&["inspect", &model])["truncation_error"].as_f64().unwrap();
        (
            summary["outputs"].clone(),
            inspected,
            folder.read("p.csv"),
            succeed(&["predict", &model, &data]).0,
            summary["average_loss"].as_f64(),
        )
    };
    let (plain, scaled) = (said(&[]), said(&["--config", &scaled]));
    assert!(plain.1 > 0.0);
    assert_eq!((&plain.0, plain.1, &plain.2, &plain.3), (&scaled.0, scaled.1, &scaled.2, &scaled.3));
    assert_eq!(plain.4.map(|loss| loss / 64.0), scaled.4);
}

#[test]
fn figures_of_numbers_follow_from_the_predictions() {
    let folder = Folder::new("figures-numbers");
    let text = numbers(1600);
    let (data, predictions) = (folder.write("n.csv", &text), folder.path("p.csv"));
    let learn = ["learn", &data, "--target", "u", "--ignore", "v", "--predictions", &predictions];
    let y = column(&text, "u");
    for (q, more) in [(None, vec![]), (Some(0.9), vec!["--loss", "quantile", "--q", "0.9"])] {
        let out = json(&[&learn[..], &more].concat());
        let (summary, output) = (&out["summary"], &out["summary"]["outputs"][0]);
        let residuals: Vec<f64> = column(&folder.read("p.csv"), "score").iter().zip(&y).map(|(z, y)| y - z).collect();
        close(&output["rmse"], mean(residuals.iter().map(|r| r * r)).sqrt(), "RMSE");
        close(&output["mae"], mean(residuals.iter().map(|r| r.abs())), "MAE");
        close(&output["bias"], mean(residuals.iter().map(|r| -r)), "bias");
        let centre = mean(y.iter().copied());
        let spread = mean(y.iter().map(|y| (y - centre) * (y - centre)));
        close(&output["r2"], 1.0 - mean(residuals.iter().map(|r| r * r)) / spread, "R²");
        // The error of a quantile is its pinball loss.
        let error = |r: &f64| q.map_or(r.abs(), |q: f64| (q * r).max((q - 1.0) * r));
        close(&summary["error"], mean(residuals.iter().map(error)), "error");
        close(&summary["windowed_error"], mean(residuals[600..].iter().map(error)), "last 1,000");
        let changes: Vec<f64> = std::iter::once(y[0]).chain(y.windows(2).map(|y| y[1] - y[0])).collect();
        close(&summary["no_change_error"], mean(changes.iter().map(error)), "no change");
        close(&summary["windowed_no_change_error"], mean(changes[600..].iter().map(error)), "no change of the last 1,000");
        let covered = |rows: &[f64]| mean(rows.iter().map(|r| f64::from(u8::from(*r <= 0.0))));
        match q {
            None => assert!(output.get("coverage").is_none()),
            Some(q) => {
                let coverage = &output["coverage"];
                close(&coverage["asked"], q, "the quantile asked for");
                close(&coverage["seen"], covered(&residuals), "coverage");
                close(&coverage["last"], covered(&residuals[600..]), "coverage of the last 1,000");
            }
        }
    }
    // A step far too small: nearly half of the targets lie above the score for good.
    let slow =
        ["--loss", "quantile", "--q", "0.9", "--step", "constant:0.00001", "--lambda", "0", "--report", &folder.path("r.html")];
    let (_, err) = succeed(&[&learn[..], &slow].concat());
    assert!(err.contains("coverage  ") && err.contains("The predicted 0.9 quantile is off: "), "{err}");
    // So large an error is one of the step and not of the quantile.
    let said = flat(&err);
    assert!(!said.contains("The quantile 0.") && !said.contains("--step"), "{err}");
    let page = folder.read("r.html");
    assert!(page.contains("of targets at or below the score of u") && page.contains("quantile is off"));
}

#[test]
fn the_alert_rate_follows_from_the_predictions() {
    let folder = Folder::new("figures-novelty");
    let (data, predictions) = (folder.write("n.csv", numbers(2600)), folder.path("p.csv"));
    let summary = json(&["learn", &data, "--task", "novelty", "--nu", "0.05", "--predictions", &predictions])["summary"].clone();
    let alerts = cells(&folder.read("p.csv")).into_iter().filter(|row| !row[1].is_empty()).map(|row| row[1].parse().unwrap());
    let alerts: Vec<f64> = alerts.collect();
    close(&summary["alert_rate"], mean(alerts.iter().copied()), "alert rate");
    close(&summary["windowed_error"], mean(alerts[alerts.len() - 1000..].iter().copied()), "last 1,000");
}

#[test]
fn rows_that_are_not_learned_are_counted() {
    let folder = Folder::new("not-learned");
    let rows: String = ring(300)
        .lines()
        .skip(1)
        .enumerate()
        .map(|(i, line)| {
            let (x, class) = line.rsplit_once(',').unwrap();
            format!("{x},{},{}\n", if i % 10 == 9 { "" } else { class }, if i % 10 == 8 { 0 } else { 1 })
        })
        .collect();
    let data = folder.write("r.csv", format!("x,y,where,w\n{rows}"));
    let args = ["learn", &data, "--target", "where", "--weight", "w"];
    let summary = json(&args)["summary"].clone();
    assert_eq!((&summary["rows"], &summary["examples"]), (&300.into(), &240.into()));
    let not_learned = &summary["not_learned"];
    assert_eq!((&not_learned["without_target"], &not_learned["of_weight_zero"]), (&30.into(), &30.into()));
    let (_, err) = succeed(&args);
    assert!(err.contains("  no target     30") && err.contains("  weight 0      30"), "{err}");
}

/// Two classes in the first 1,100 rows, then a third.
fn late_third(rows: usize) -> String {
    let mut random = Random(13);
    let mut text = String::from("x,c\n");
    for i in 0..rows {
        let class = if i > 1100 && i % 5 == 0 { 2 } else { i % 2 };
        writeln!(text, "{:.3},{}", class as f64 + 0.4 * random.next(), ["a", "b", "z"][class]).unwrap();
    }
    text
}

#[test]
fn a_third_class_is_learned_if_classes_were_asked_for_and_else_said_what_to_type() {
    let folder = Folder::new("third");
    let data = folder.write("t.csv", late_third(1300));
    let learn = ["learn", &data, "--target", "c", "--quiet"];
    let words = ["t.csv, line 1", "column 'c'", "found z", "expected a or b", "run again with --task classes"];
    fail(&learn, 1, &words);
    let out = json(&[&learn[..], &["--task", "classes"]].concat());
    assert_eq!((&out["summary"]["classes"]["known"], &out["summary"]["examples"]), (&3.into(), &1300.into()));
    fail(&[&learn[..], &["--loss", "hinge"]].concat(), 1, &["found z", "--loss max_margin"]);
    // Two classes that are given are two classes.
    let two = folder.write("ring.csv", ring(200));
    let loss = |args: &[&str]| json(&[&["learn", &two, "--target", "where"], args].concat())["config"]["loss"].to_string();
    assert!(loss(&["--task", "classes", "--classes", "inside,outside"]).contains("hinge"));
    assert!(loss(&[]).contains("hinge") && loss(&["--task", "classes"]).contains("max_margin"));
}

#[test]
fn whole_numbers_are_what_the_format_takes_them_for() {
    let folder = Folder::new("whole");
    let rows = |row: &dyn Fn(usize) -> String| (0..120).map(|i| row(i) + "\n").collect::<String>();
    let libsvm = folder.write("k.libsvm", rows(&|i| format!("{} 1:{} 2:{}", 1 + i % 3, i % 3, i % 7)));
    let csv = folder.write("k.csv", "a,k\n".to_owned() + &rows(&|i| format!("{},{}", i % 7, i % 4)));
    let fractions = folder.write("f.csv", "a,k\n".to_owned() + &rows(&|i| format!("{},{}", i % 7, 0.5 * (i % 4) as f64)));
    let many = folder.write("m.csv", "a,k\n".to_owned() + &rows(&|i| format!("{},{i}", i % 7)));
    let vw = |name: &str, labels: [i32; 2]| folder.write(name, rows(&|i| format!("{} | a:{} b:{}", labels[i % 2], i % 2, i % 7)));
    let (signs, bits) = (vw("s.vw", [1, -1]), vw("b.vw", [0, 1]));
    let learn = |data: &str, more: &[&str]| {
        let args = [&["learn", data], more].concat();
        let loss = json(&args)["config"]["loss"].to_string();
        let said = flat(&succeed(&args).1);
        (loss, said)
    };
    let expect = |(loss, said): (String, String), name: &str, words: &str| {
        assert!(loss.contains(name) && said.contains(words), "{name}, {words}: {loss}: {said}");
    };
    let k = ["--target", "k"];
    expect(learn(&libsvm, &[]), "max_margin", "the labels are 3 whole numbers; if they are quantities add --task numbers");
    expect(learn(&libsvm, &["--task", "numbers"]), "squared", "the target is a number");
    expect(
        learn(&csv, &k),
        "squared",
        "the target has 4 whole-number values in the first 120 rows; if they are classes add --task classes",
    );
    expect(learn(&csv, &[&k[..], &["--task", "classes"]].concat()), "max_margin", "for any number of classes");
    expect(learn(&signs, &[]), "hinge", "all labels are 1 or -1");
    expect(learn(&bits, &[]), "squared", "the label is a number; for classes add --task classes");
    for data in [&fractions, &many] {
        let (loss, said) = learn(data, &k);
        assert!(loss.contains("squared") && !said.contains("--task classes"), "{said}");
    }
}

/// A number in JSON is a number: the task is chosen as for a table with the same targets.
#[test]
fn json_and_tables_choose_the_same_task() {
    let folder = Folder::new("json-task");
    let loss = |data: &str| json(&["learn", data, "--target", "k"])["config"]["loss"].to_string();
    for (targets, name) in [
        (&["1.0"][..], "squared"),
        (&["-0.0"], "squared"),
        (&["1"], "max_margin"),
        (&["0.0", "1.0"], "hinge"),
        (&["0", "1", "2"], "squared"),
    ] {
        let target = |i: usize| targets[i % targets.len()];
        let csv: String = (0..40).map(|i| format!("{},{}\n", i % 7, target(i))).collect();
        let jsonl: String = (0..40).map(|i| format!("{{\"a\":{},\"k\":{}}}\n", i % 7, target(i))).collect();
        let found = [loss(&folder.write("k.csv", format!("a,k\n{csv}"))), loss(&folder.write("k.jsonl", jsonl))];
        assert!(found.iter().all(|loss| loss.contains(name)), "{targets:?}: {found:?}");
    }
}

#[test]
fn the_report_of_a_bank_says_whose_step_size_it_is() {
    let folder = Folder::new("bank-step");
    let (data, report) = (folder.write("ring.csv", ring(400)), folder.path("r.html"));
    let page = |more: &[&str]| {
        succeed(&[&["learn", &data, "--target", "where", "--quiet", "--report", &report], more].concat());
        folder.read("r.html")
    };
    let bank = page(&[]);
    assert!(bank.contains("41 settings learn in parallel; this is the step size of the one with the largest weight"));
    assert!(!bank.contains("schedule") && !bank.contains("depends only on the number of examples"));
    let fixed = ["--lambda", "0.001", "--gamma", "1", "--step"];
    assert!(page(&[&fixed[..], &["decay:eta=1,tau=100"]].concat()).contains("It depends only on the number of examples"));
    assert!(page(&[&fixed[..], &["constant:0.5"]].concat()).contains("It is constant."));
}

/// A bound is shown in plain words, and only where it is smaller than what it bounds.
#[test]
fn certificates_say_something_or_nothing() {
    let folder = Folder::new("plain");
    let (data, model) = (folder.write("ring.csv", ring(600)), folder.path("m.okl"));
    let said = |more: &[&str]| {
        let args = [&["learn", &data, "--target", "where", "--gamma", "1", "--scale", "none", "-o", &model], more].concat();
        let words = flat(&succeed(&args).1);
        let lost: Value = serde_json::from_str(&succeed(&["inspect", &model, "--json"]).0).unwrap();
        let scores = column(&succeed(&["predict", &model, &data]).0, "score");
        let centre = mean(scores.iter().copied());
        (words, lost["truncation_error"].as_f64().unwrap(), mean(scores.iter().map(|z| (z - centre).powi(2))).sqrt())
    };
    let (words, lost, deviation) = said(&["--step", "constant:0.5", "--lambda", "0.1", "--budget", "window:100"]);
    assert!(0.0 < lost && lost < deviation, "{lost} {deviation}");
    let shown = words.split("can change a score by at most ").nth(1).unwrap_or_else(|| panic!("{words}"));
    let shown: f64 = shown.split_whitespace().next().unwrap().trim_end_matches(',').parse().unwrap();
    assert!((shown - lost).abs() <= 1e-3 * lost && shown >= lost, "{shown} {lost}");
    let (words, lost, deviation) = said(&["--step", "constant:1", "--lambda", "0.00001", "--budget", "window:10"]);
    assert!(lost > deviation, "{lost} {deviation}");
    assert!(words.contains("No useful bound on the effect is known.") && !words.contains("at most"), "{words}");
    assert!(succeed(&["inspect", &model]).0.contains("No useful bound"));
    for riddle in ["worth", "in norm", "|f|", "Outside:", "Regret"] {
        assert!(!words.contains(riddle), "{riddle}: {words}");
    }
    let (words, ..) = said(&["--step", "constant:0.5", "--lambda", "0.1", "--budget", "unlimited"]);
    assert!(words.contains("Scores have no truncation error."), "{words}");
}

/// A held-out file is read as the data are: `--format` holds for it, whatever its name says.
#[test]
fn a_held_out_file_has_the_format_of_the_data() {
    let folder = Folder::new("format-test");
    let (data, test) = (folder.write("s.csv", ring(200)), folder.write("t.csv", ring(90)));
    let (other_data, other_test) = (folder.write("s.svm", ring(200)), folder.write("t.svm", ring(90)));
    let plain = json(&["learn", &data, "--target", "where", "--test", &test]);
    let named = json(&["learn", &other_data, "--target", "where", "--format", "csv", "--test", &other_test]);
    assert_eq!(named["held_out"], plain["held_out"]);
    assert!(plain["held_out"]["rows"] == 90, "{plain}");
}

/// With a held-out file all three figures are shown: progressive, on past rows, held out.
#[test]
fn a_held_out_file_changes_nothing_else() {
    let folder = Folder::new("past-test");
    let (data, test) = (folder.write("s.jsonl", late_classes(500)), folder.write("t.jsonl", late_classes(90)));
    let learn = ["learn", &data, "--target", "class"];
    let (alone, both) = (json(&learn), json(&[&learn[..], &["--test", &test]].concat()));
    for key in ["summary", "model_on_past_rows", "certificates"] {
        assert_eq!(alone[key], both[key], "{key}");
    }
    // Some rows of these streams are equal, which is said of the held-out file.
    let about_the_model = both["warnings"].as_array().unwrap().iter().filter(|said| !said.as_str().unwrap().contains("t.jsonl"));
    assert_eq!(about_the_model.count(), alone["warnings"].as_array().unwrap().len());
    let (_, err) = succeed(&[&learn[..], &["--test", &test]].concat());
    let places: Vec<usize> =
        ["progressive, every row", "\nfinal model ", "held out, "].iter().map(|w| err.find(w).unwrap()).collect();
    assert!(places.is_sorted(), "{err}");
}

/// The bound on the regret holds against the model itself as a fixed function: it has an offset. The sentence had left the offset out, and the regret was 17
/// times the bound.
#[test]
fn the_regret_bound_holds_against_the_final_model() {
    let folder = Folder::new("truth-regret");
    let draw = |i: usize, factor: usize| ((i * factor) % 1009) as f64 / 1009.0;
    for (level, step, seen) in [(1000.0, "constant:0.5", false), (3.0, "constant:0.05", true)] {
        let text: String = (0..3000).map(|i| format!("{},{}\n", draw(i, 7919) * 4.0 - 2.0, level + draw(i, 104_729))).collect();
        let data = folder.write("r.csv", format!("x,y\n{text}"));
        let targets: Vec<f64> = text.lines().map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect();
        let (model, scores) = (folder.path("m.okl"), folder.path("p.csv"));
        let settings = ["--loss", "absolute", "--kernel", "gaussian:1", "--scale", "none", "--step", step, "--lambda", "0.001"];
        let files = ["--budget", "unlimited", "-o", &model, "--save-model", "recent", "--predictions", &scores];
        let out = json(&[&["learn", &data, "--target", "y"][..], &settings, &files].concat());
        let loss = |scores: &str| {
            let scores = scores.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse::<f64>().unwrap());
            scores.zip(&targets).map(|(score, y)| (score - y).abs()).sum::<f64>()
        };
        let inspected: Value = serde_json::from_str(&succeed(&["inspect", &model, "--json"]).0).unwrap();
        let penalty = 0.5 * 0.001 * inspected["norm2"].as_f64().unwrap() * targets.len() as f64;
        // The penalties of the run are left out: with them the regret is larger.
        let regret = loss(&folder.read("p.csv")) - loss(&succeed(&["predict", &model, &data]).0) - penalty;
        let said = out["certificates"]
            .as_array()
            .unwrap()
            .iter()
            .find_map(|line| line.as_str().unwrap().split_once("add up to at most "));
        let bound = said.map(|(_, rest)| rest.split(' ').next().unwrap().replace(',', "").parse::<f64>().unwrap());
        assert_eq!(bound.is_some(), seen, "{out}");
        assert!(bound.is_none_or(|bound| regret <= bound), "{step}: regret {regret}, bound {bound:?}");
    }
}

/// The sentence about the regret stands only where the losses that it is about are those of the scores that were shown.
#[test]
fn the_regret_is_that_of_the_shown_losses() {
    let folder = Folder::new("truth-shown");
    let draw = |i: usize, factor: usize| ((i * factor) % 1009) as f64 / 1009.0;
    let text: String = (0..3000).map(|i| format!("{},{}\n", draw(i, 7919) * 4.0 - 2.0, 3.0 + draw(i, 104_729))).collect();
    let (data, model) = (folder.write("r.csv", format!("x,y\n{text}")), folder.path("m.okl"));
    let settings = ["--loss", "absolute", "--kernel", "gaussian:1", "--step", "constant:0.05", "--lambda", "0.001"];
    let said = |flags: &[&str]| {
        let files = ["--budget", "unlimited", "-o", &model, "--save-model", "recent"];
        let out = json(&[&["learn", &data, "--target", "y"][..], &settings, &files, flags].concat());
        let inspected: Value = serde_json::from_str(&succeed(&["inspect", &model, "--json"]).0).unwrap();
        let sentence = |all: &Value| {
            let lines = all["certificates"].as_array().unwrap();
            lines.iter().find(|line| line.as_str().unwrap().contains("add up to at most")).map(Value::to_string)
        };
        assert_eq!(sentence(&out), sentence(&inspected), "{flags:?}");
        sentence(&out)
    };
    assert!(said(&["--scale", "none"]).unwrap().contains("Losses and penalties add up"));
    let on_update = said(&["--scale", "none", "--shrink", "on_update"]).unwrap();
    assert!(on_update.contains("penalties (which count at updates only"), "{on_update}");
    // A row of weight 2 counts twice.
    let doubled: String = text.lines().fold(String::from("x,y,w\n"), |all, line| all + line + ",2\n");
    let doubled = folder.write("w.csv", doubled);
    let out = json(&[&["learn", &doubled, "--target", "y", "--weight", "w", "--scale", "none"][..], &settings].concat());
    let sentence = out["certificates"].to_string();
    let each = |text: &str| text.split_once("no larger ones): ").unwrap().1.split(' ').next().unwrap().parse::<f64>().unwrap();
    let total = |text: &str| {
        text.split_once("add up to at most ").unwrap().1.split(' ').next().unwrap().replace(',', "").parse::<f64>().unwrap()
    };
    assert!(
        sentence.contains("Losses, each times the weight of its row, and penalties add up")
            && sentence.contains("per unit of weight")
            && (each(&sentence) - total(&sentence) / 6000.0).abs() < 1e-3 * each(&sentence),
        "{sentence}"
    );
    // The losses of an average are not those of the last hypotheses; rows of a warm-up are learned again with other units; and later passes
    // are not in the losses that are shown.
    for flags in
        [&["--scale", "none", "--average", "uniform"][..], &["--scale", "standard"], &["--scale", "none", "--passes", "2"]]
    {
        assert_eq!(said(flags), None, "{flags:?}");
        let learner = okl::Learner::load(&model).unwrap();
        assert!(learner.regret_bound(learner.norm2().sqrt(), learner.offset()[0].abs()).unwrap() < 3000.0, "it would be shown");
    }
}

/// The losses of a bank are not those of the member that is frozen.
#[test]
fn the_regret_of_a_frozen_member_is_not_that_of_its_bank() {
    let folder = Folder::new("truth-frozen");
    let text: String = (0..1200).map(|i| format!("{},30\n", if i % 3 == 0 { 1 } else { 0 })).collect();
    let data = folder.write("h.csv", format!("x,y\n{text}"));
    let [bank, member] = ["bank.okl", "member.okl"].map(|name| folder.path(name));
    let settings = ["--loss", "absolute", "--kernel", "gaussian:0.01,gaussian:5", "--step", "constant:1", "--lambda", "0.000001"];
    let rest = ["--scale", "none", "--offset", "false", "--average", "none", "--anchor", "none", "--save-model", "recent"];
    let out = json(&[&["learn", &data, "--target", "y"][..], &settings, &rest, &["-o", &bank]].concat());
    let shown = |text: &str| text.contains("add up to at most");
    assert!(shown(&out["certificates"].to_string()), "{out}");
    succeed(&["freeze", &bank, "-o", &member]);
    let learner = okl::Learner::load(&member).unwrap();
    assert!(learner.regret_bound(learner.norm2().sqrt(), 0.0).is_some_and(|bound| bound < 1200.0), "it would be shown");
    assert!(!shown(&succeed(&["inspect", &member]).0));
    // A copy of a plain model is this model.
    let noisy: String = (0..1200).map(|i| format!("{},{}\n", i % 2, i % 3)).collect();
    let noisy = folder.write("n.csv", format!("x,y\n{noisy}"));
    let plain = ["--loss", "absolute", "--kernel", "gaussian:5", "--step", "constant:0.05", "--lambda", "0.001", "-o", &bank];
    let out = json(&[&["learn", &noisy, "--target", "y", "--task", "numbers"][..], &plain, &rest].concat());
    succeed(&["freeze", &bank, "-o", &member]);
    assert!(shown(&out["certificates"].to_string()) && shown(&succeed(&["inspect", &member]).0), "{out}");
}

/// A class weight multiplies the steps of the margin, and so the shares that it holds.
#[test]
fn a_share_with_class_weights_says_so() {
    let folder = Folder::new("truth-weighted-share");
    let draw = |i: usize, factor: usize| ((i * factor) % 1009) as f64 / 1009.0;
    let row = |i: usize| format!("{},{}\n", draw(i, 7919), if draw(i, 104_729) < 0.1 { "a" } else { "b" });
    let data = folder.write("n.csv", format!("x,y\n{}", (0..2000).map(row).collect::<String>()));
    let learn = ["learn", &data, "--target", "y", "--loss", "nu_hinge:0.2", "--step", "constant:0.05"];
    let of = |flags: &[&str]| json(&[&learn[..], flags].concat())["certificates"].to_string();
    assert!(
        of(&["--class-weight", "a=10"])
            .contains("Examples inside the margin, each with the weight of its class, since the model began")
    );
    assert!(of(&[]).contains("Examples inside the margin since the model began"));
}

/// Medians, bars and the rows beyond them are those of the residuals, in any unit of the target.
#[test]
fn residuals_are_counted_in_any_unit() {
    let folder = Folder::new("truth-residuals");
    for unit in [1e-140, 1e-14, 1.0, 1e13, 1e100] {
        let mut random = Random(4);
        let mut text = String::from("a,y\n");
        for _ in 0..200 {
            let a = random.next();
            // Most targets are positive, so the median residual is not 0.
            writeln!(text, "{a:.4},{:e}", unit * (a + random.next() * random.next())).unwrap();
        }
        let (data, predictions) = (folder.write("d.csv", &text), folder.path("p.csv"));
        let out = json(&["learn", &data, "--target", "y", "--task", "numbers", "--predictions", &predictions]);
        let found = &out["summary"]["outputs"][0]["residuals"];
        let (targets, scores) = (column(&text, "y"), column(&folder.read("p.csv"), "score"));
        let mut residuals: Vec<f64> = targets.iter().zip(&scores).map(|(target, score)| target - score).collect();
        residuals.sort_by(f64::total_cmp);
        let number = |key: &str| found[key].as_f64().unwrap_or_else(|| panic!("{unit:e} {key}: {found}"));
        let median = 0.5 * (residuals[99] + residuals[100]);
        let near = 0.01 * residuals[99].abs().max(residuals[100].abs());
        assert!((number("median") - median).abs() <= near, "{unit:e}: {found}, the median is {median:e}");
        let reach = number("reach");
        let outside = residuals.iter().filter(|residual| residual.abs() > 1.005 * reach).count() as f64;
        let beyond = residuals.iter().filter(|residual| residual.abs() > 0.995 * reach).count() as f64;
        assert!(
            (outside..=beyond).contains(&number("outside")) && beyond <= 6.0,
            "{unit:e}: {found}, beyond {outside} to {beyond}"
        );
        assert!(reach <= 1.01 * residuals[199].abs().max(residuals[0].abs()), "{unit:e}: {found}");
    }
}
