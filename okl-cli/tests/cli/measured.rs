//! What a run says of itself was measured: the bound and what it is compared with, memory, the final model, alerts, classes.

use std::fmt::Write as _;
use std::io::{Cursor, Write as _};
use std::process::Stdio;

use okl_cli::input::{Chunk, Options, Reader};
use okl_cli::learn::many_classes::{Found, ManyClasses};
use serde_json::Value;

use crate::support::{Folder, Random, fail, flat, json, numbers, okl, ring, succeed};

/// Text classes at random, `few` of them in the first rows and `many` after `first` rows.
fn classes([first, more]: [usize; 2], [few, many]: [usize; 2]) -> String {
    let mut random = Random(31);
    let mut text = String::from("x,y,c\n");
    for i in 0..first + more {
        let among = if i < first { few } else { many };
        let class = (random.next() * among as f64) as usize;
        writeln!(text, "{:.4},{:.4},k{class}", random.next(), random.next()).unwrap();
    }
    text
}

/// The updates of a run depend on its scores, so that a run with another budget makes others: the bound is not about such a run.
#[test]
fn the_bound_on_the_truncation_error_says_what_it_is_compared_with() {
    let folder = Folder::new("same-updates");
    let (data, model, report) = (folder.write("ring.csv", ring(600)), folder.path("m.okl"), folder.path("r.html"));
    let settings = ["--gamma", "1", "--scale", "none", "--step", "constant:0.5", "--lambda", "0.1", "--budget", "window:100"];
    let learn = [&["learn", &data, "--target", "where", "-o", &model, "--report", &report][..], &settings].concat();
    let (said, all) = (flat(&succeed(&learn).1), json(&learn));
    let inspected = flat(&succeed(&["inspect", &model]).0);
    for text in [&said, &all["certificates"].to_string(), &folder.read("r.html")] {
        assert!(text.contains("at most") && text.contains("compared with the same updates and nothing left out"), "{text}");
    }
    assert!(!inspected.contains("at most") || inspected.contains("compared with the same updates"), "{inspected}");
    // The caption of the chart claims nothing about scores: the certificates do, with the example at which they began.
    assert!(
        folder.read("r.html").contains("since the bound last began at 0")
            && folder.read("r.html").contains("certificates say what follows for scores")
    );
}

/// The bytes of all terms, by the formula of the engine.
fn bytes_of_terms(model: &str) -> usize {
    let learner = okl::Learner::load(model).unwrap();
    learner.terms() * learner.config().bytes_per_term(learner.features(), learner.outputs())
}

#[test]
fn memory_counts_the_classes_of_the_first_rows() {
    let folder = Folder::new("memory-classes");
    let (data, model) = (folder.write("c.csv", classes([1100, 0], [12, 12])), folder.path("m.okl"));
    for more in [&[][..], &["--task", "classes"], &["--loss", "max_margin"]] {
        let learn = ["learn", &data, "--target", "c", "--memory", "50kB", "-o", &model];
        let health = json(&[&learn[..], more].concat())["health"].clone();
        assert!(bytes_of_terms(&model) <= 50_000 && health == Value::Array(vec![]), "{more:?}: {health}");
    }
}

#[test]
fn memory_that_is_exceeded_is_said() {
    let folder = Folder::new("memory-late");
    let (data, model) = (folder.write("c.csv", classes([1050, 100], [3, 20])), folder.path("m.okl"));
    // With 100 kB the number of terms is fixed, with 2 MB it may grow: the model then knows its limit, and inspect says it, too.
    for (size, limit, inspected) in [("100kB", 100_000, false), ("2MB", 2_000_000, true)] {
        let learn = ["learn", &data, "--target", "c", "--memory", size, "-o", &model, "--report", &folder.path("r.html")];
        let health = json(&learn)["health"].to_string();
        assert!(bytes_of_terms(&model) > limit, "{} bytes", bytes_of_terms(&model));
        assert!(health.contains("The terms take") && health.contains("is allowed") && health.contains("20 outputs"), "{health}");
        assert!(folder.read("r.html").contains("The terms take") && health.matches("The terms take").count() == 1);
        assert_eq!(json(&["inspect", &model])["health"].to_string().contains("The terms take"), inspected);
    }
    // Nothing is asked for: the size is announced for the classes that are known, and the larger one is said in the end.
    let data = folder.write("c.csv", classes([1050, 100], [3, 20]));
    let said = flat(&succeed(&["learn", &data, "--target", "c"]).1);
    assert!(
        said.contains("of memory if there are ") && said.contains("there are more classes or columns than were known"),
        "{said}"
    );
    let named: Vec<String> = (0..20).map(|i| format!("k{i}")).collect();
    let said = flat(&succeed(&["learn", &data, "--target", "c", "--classes", &named.join(",")]).1);
    assert!(!said.contains("if there are") && !said.contains("than were known"), "{said}");
}

#[test]
fn decimal_numbers_do_not_become_classes() {
    let folder = Folder::new("decimals");
    let mut random = Random(7);
    let rows: String = (0..400).map(|_| format!("{:.3},{:.9}\n", random.next(), 0.1 + random.next())).collect();
    let data = folder.write("d.csv", format!("x,y\n{rows}"));
    let learn = ["learn", &data, "--target", "y", "--quiet"];
    let found = ["line 101", "column 'y'", "100 of the first 100 targets are different decimal numbers", "--task numbers"];
    fail(&[&learn[..], &["--task", "classes"]].concat(), 1, &found);
    fail(&[&learn[..], &["--loss", "max_margin"]].concat(), 1, &["leave --loss out and say --task numbers"]);
    // A few decimal numbers may be classes.
    let rows: String = (0..400).map(|i| format!("{i},{:.1}\n", 0.5 * f64::from(i % 9))).collect();
    let data = folder.write("r.csv", format!("x,y\n{rows}"));
    let known = json(&["learn", &data, "--target", "y", "--task", "classes", "--budget", "window:50"]);
    assert_eq!(known["summary"]["classes"]["known"], 9);
}

/// Very many classes are reported once, after the same row however the rows are cut.
#[test]
fn very_many_classes_are_reported_once() {
    let chunks = |text: &str, chunk_rows: usize| -> Vec<Chunk> {
        let options = Options { targets: vec!["y".into()], chunk_rows, ..Options::default() };
        let mut reader = Reader::of("rows", Cursor::new(text.as_bytes().to_vec()), options).unwrap();
        std::iter::from_fn(|| reader.next().unwrap()).collect()
    };
    let text: String = (0..3000).map(|i| format!("{i},k{}\n", i / 2)).collect();
    for rows in [1, 100, 1024] {
        let mut counts = ManyClasses::default();
        let found: Vec<Found> = chunks(&format!("x,y\n{text}"), rows).iter().filter_map(|chunk| counts.count(chunk)).collect();
        let [Found::Many(said)] = &found[..] else { panic!("{found:?}") };
        // Row 2,001 is the first one of class 1,001.
        assert!(said.starts_with("1,001 classes in the first 2,001 rows: "), "{said}");
    }
}

#[test]
fn a_file_of_predictions_has_one_writer() {
    let folder = Folder::new("one-writer");
    let (data, to, model) = (folder.write("ring.csv", ring(50)), folder.path("p.csv"), folder.path("m.okl"));
    succeed(&["learn", &data, "--target", "where", "-o", &model, "--quiet"]);
    let args = ["learn", "-", "--target", "y", "--loss", "hinge", "--predictions", &to, "--quiet"];
    let mut first = okl(&args).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = first.stdin.take().unwrap();
    stdin.write_all(b"x,y\n1,a\n").unwrap();
    while std::fs::metadata(&to).map_or(0, |file| file.len()) == 0 {
        assert!(first.try_wait().unwrap().is_none(), "it waits for more rows");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let refused = ["p.csv: another process is writing this file"];
    fail(&["learn", &data, "--target", "where", "--predictions", &to, "--quiet"], 1, &refused);
    fail(&["predict", &model, &data, "-o", &to], 1, &refused);
    stdin.write_all(b"2,b\n").unwrap();
    drop(stdin);
    assert!(first.wait().unwrap().success());
    assert_eq!(folder.read("p.csv").lines().count(), 3, "{}", folder.read("p.csv"));
    // Nobody writes it any more, and a longer file is replaced as a whole.
    folder.write("p.csv", "older\n".repeat(5000));
    succeed(&["predict", &model, &data, "-o", &to]);
    assert!(folder.read("p.csv").lines().count() == 51 && !folder.read("p.csv").contains("older"));
}

#[test]
fn freezing_does_not_overwrite_the_bank() {
    let folder = Folder::new("freeze-same");
    let (data, model) = (folder.write("ring.csv", ring(400)), folder.path("m.okl"));
    succeed(&["learn", &data, "--target", "where", "-o", &model, "--quiet"]);
    let before = std::fs::read(&model).unwrap();
    fail(&["freeze", &model, "-o", &model], 2, &["--output", "this would overwrite the model"]);
    assert!(std::fs::read(&model).unwrap() == before);
    succeed(&["freeze", &model, "-o", &folder.path("plain.okl")]);
}

/// The last row moves the whole function: all past rows are off, the later ones as much as the earlier ones.
#[test]
fn later_rows_are_called_better_only_if_they_are() {
    let folder = Folder::new("halves");
    let mut random = Random(3);
    let mut text = String::from("x,y\n");
    (0..600).for_each(|_| writeln!(text, "{:.4},{:.4}", random.next(), random.next()).unwrap());
    text += "0.5,1000000\n";
    let (data, model) = (folder.write("d.csv", &text), folder.path("m.okl"));
    let settings = ["--kernel", "gaussian:0.001", "--scale", "none", "--step", "constant:0.5", "--lambda", "0.000001"];
    let learn =
        [&["learn", &data, "--target", "y", "--task", "numbers", "-o", &model, "--save-model", "recent"][..], &settings].concat();
    let all = json(&learn);
    let (warning, halves) = (all["warnings"][0].as_str().unwrap(), &all["model_on_past_rows"]["halves"]);
    let off: Vec<f64> = {
        let scores = succeed(&["predict", &model, &data]).0;
        let last = |line: &str| line.rsplit(',').next().unwrap().parse::<f64>().unwrap();
        scores.lines().skip(1).zip(text.lines().skip(1)).map(|(z, y)| (last(z) - last(y)).abs()).collect()
    };
    for (half, rows) in [("earlier", &off[..300]), ("later", &off[300..])] {
        let expected = rows.iter().sum::<f64>() / rows.len() as f64;
        let found = halves[half].as_f64().unwrap();
        assert!((found - expected).abs() < 1e-6 * expected, "{half}: {found}, recomputed {expected}");
    }
    // "not clearly better" is said only of a smaller error.
    let smaller = halves["later"].as_f64() < halves["earlier"].as_f64();
    let words = if smaller { "not clearly better" } else { "no better" };
    assert!(warning.contains(&format!("It predicts the later half of these rows {words}")), "{warning}");
    assert!(warning.contains("Look for outliers") && !warning.contains("keep the model"), "{warning}");
}

/// Without something to learn no unit helps; and the average loss is in the unit of the targets that are learned.
#[test]
fn no_unit_is_advised_where_none_helps() {
    let folder = Folder::new("quantile-unit");
    let mut random = Random(13);
    let mut text = String::from("x,y\n");
    // A deviation of 40 / sqrt(12) = 11.5, and nothing to learn.
    (0..400).for_each(|_| writeln!(text, "{:.4},{:.4}", random.next(), 40.0 * random.next() - 20.0).unwrap());
    let data = folder.write("d.csv", text);
    let learn = |loss: &str, more: &[&str]| json(&[&["learn", &data, "--target", "y", "--loss", loss], more].concat());
    let advice = |loss: &str| learn(loss, &[])["warnings"].to_string().contains("target_scale");
    // Another unit makes neither loss better where nothing can be learned.
    assert!(!advice("quantile:0.9") && !advice("nu_epsilon"));
    // The average loss is in units of the scaled targets, and says so.
    let config = folder.write("c.toml", "target_scale = { fixed = { shift = [0], factor = [0.1] } }");
    assert_eq!(learn("quantile:0.9", &[])["summary"]["loss"], "quantile:q=0.9");
    let scaled = learn("quantile:0.9", &["--config", &config]);
    assert_eq!(scaled["summary"]["loss"], "quantile:q=0.9, of targets in units of target_scale");
    let (loss, pinball) = (&scaled["summary"]["average_loss"], &scaled["summary"]["outputs"][0]["pinball"]);
    assert!((loss.as_f64().unwrap() - 0.1 * pinball.as_f64().unwrap()).abs() < 1e-9, "{loss} {pinball}");
}

#[test]
fn a_table_with_one_score_of_several_classes_says_whose_it_is() {
    let folder = Folder::new("one-score");
    let (data, to) = (folder.write("ring.csv", ring(120)), folder.path("p.csv"));
    let learn = |to: &str, more: &[&str]| {
        let args = ["learn", &data, "--target", "where", "--task", "classes", "--predictions", to];
        flat(&succeed(&[&args[..], more].concat()).1)
    };
    let note = "the score is that of the predicted class; for the scores of all classes name them with --classes";
    let said = learn(&to, &[]);
    assert!(folder.read("p.csv").starts_with("line,class,score\n") && said.contains(note), "{said}");
    let said = learn(&to, &["--classes", "outside,inside"]);
    assert!(folder.read("p.csv").starts_with("line,class,score,positive\n") && !said.contains(note), "{said}");
    // The second one that is named, although it sorts first.
    assert!(folder.read("p.csv").lines().last().unwrap().ends_with(",inside"));
    assert!(!learn(&folder.path("p.jsonl"), &[]).contains(note));
}

/// Rows in increasing order: each is farther out than all before it, and a detector gives too many alerts.
#[test]
fn a_detector_that_misses_its_rate_says_so() {
    let folder = Folder::new("missed-rate");
    let mut random = Random(37);
    let mut values: Vec<f64> = (0..3000).map(|_| (0..12).map(|_| random.next()).sum::<f64>() - 6.0).collect();
    let table = |values: &[f64]| values.iter().fold(String::from("x\n"), |text, x| format!("{text}{x:.5}\n"));
    let shuffled = folder.write("d.csv", table(&values));
    values.sort_by(f64::total_cmp);
    let sorted = folder.write("s.csv", table(&values));
    let learn = |data: &str| json(&["learn", data, "--task", "novelty", "--nu", "0.01"]);
    let all = learn(&sorted);
    let rate = all["summary"]["windowed_error"].as_f64().unwrap();
    assert!(rate > 0.02, "{rate}");
    let said = format!("Of the last 1,000 rows {:.2} % gave an alert, and 1.00 % was asked for", 100.0 * rate);
    assert!(all["warnings"].to_string().contains(&said), "{said}: {}", all["warnings"]);
    assert!(!learn(&shuffled)["warnings"].to_string().contains("was asked for"));
    // A certificate without a guarantee has a reason.
    let rate = all["certificates"].to_string();
    assert!(rate.contains("guaranteed within") != rate.contains("nothing is guaranteed: "), "{rate}");
    let few = json(&["learn", &folder.write("f.csv", table(&values[..600])), "--task", "novelty", "--nu", "0.001"]);
    assert!(few["certificates"].to_string().contains("nothing is guaranteed: "), "{few}");
}

#[test]
fn the_report_says_what_the_dashed_line_is() {
    let folder = Folder::new("dashed");
    let sorted = ring(400);
    let mut rows: Vec<&str> = sorted.lines().skip(1).collect();
    rows.sort_by_key(|row| row.ends_with("outside"));
    let sorted = folder.write("s.csv", format!("x,y,where\n{}\n", rows.join("\n")));
    let mixed = folder.write("m.csv", ring(400));
    for (data, no_better) in [(&sorted, true), (&mixed, false)] {
        let report = folder.path("r.html");
        let summary = json(&["learn", data, "--target", "where", "--report", &report])["summary"].clone();
        assert_eq!(summary["error"].as_f64() >= summary["no_change_error"].as_f64(), no_better, "{summary}");
        let (page, better) = (folder.read("r.html"), if no_better { "no better" } else { "better" });
        assert!(page.contains(&format!("over the whole stream the model is {better}.")), "{better}");
        assert!(page.contains("(the dashed line)") || page.contains("(far above this frame)"));
        assert!(!page.contains("make use of the features"));
    }
}

#[test]
fn one_hot_encoded_dates_are_reported() {
    let folder = Folder::new("dates");
    let rows = |from: fn(usize) -> String| (0..40).map(|i| format!("{},{},{}\n", from(i), i % 5, i % 3)).collect::<String>();
    let learn = |name: &str, rows: String| {
        let data = folder.write(name, format!("t,x,y\n{rows}"));
        json(&["learn", &data, "--target", "y", "--task", "numbers", "--one-hot"])["warnings"].to_string()
    };
    let said = learn("d.csv", rows(|i| format!("2024-01-{:02} 08:{:02}", 1 + i % 28, i)));
    assert!(said.contains("The column 't' has 40 different dates or times") && said.contains("--ignore t"), "{said}");
    assert!(!learn("n.csv", rows(|i| format!("name{i}"))).contains("dates or times"));
}

/// Members of a bank that differ in their average alone are told apart.
#[test]
fn members_of_a_bank_are_distinct_in_json() {
    let folder = Folder::new("bank-json");
    let (data, model) = (folder.write("n.csv", numbers(300)), folder.path("m.okl"));
    succeed(&["learn", &data, "--target", "u", "--ignore", "v", "-o", &model, "--quiet"]);
    let bank = json(&["inspect", &model])["bank"].clone();
    let settings = |member: &Value| {
        let mut settings = member.clone();
        settings.as_object_mut().unwrap().remove("weight");
        settings.to_string()
    };
    let mut all: Vec<String> = bank.as_array().unwrap().iter().map(settings).collect();
    let count = all.len();
    all.sort();
    all.dedup();
    assert!(count > 1 && all.len() == count, "{bank}");
}
