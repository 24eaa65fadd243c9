//! Words that are true of what they name: alert rates, the final model, classes, what was left out, what was lost.

use std::fmt::Write as _;

use okl::Config;
use okl_cli::filler::Filler;
use okl_cli::inspect::shorthand;
use serde_json::json;

use crate::support::{Folder, Random, fail, flat, json, numbers, okl, ring, succeed};

/// Points around the origin.
fn cloud(rows: usize) -> String {
    let mut random = Random(29);
    let mut text = String::from("x,y\n");
    let mut normal = || (0..12).map(|_| random.next()).sum::<f64>() - 6.0;
    (0..rows).for_each(|_| writeln!(text, "{:.4},{:.4}", normal(), normal()).unwrap());
    text
}

/// A run that goes on has its own alert rate and that of the model's whole life: each has its name.
#[test]
fn two_alert_rates_have_two_names() {
    let folder = Folder::new("two-rates");
    let (data, model) = (folder.write("c.csv", cloud(1500)), folder.path("m.okl"));
    succeed(&["learn", &data, "--task", "novelty", "--quiet", "-o", &model]);
    let far: String = (0..60).map(|i| format!("{},{}\n", 50 + i, 50 - i)).collect();
    let more = folder.write("far.csv", format!("x,y\n{far}"));
    let said = flat(&succeed(&["learn", "--resume", &model, &more, "-o", &model]).1);
    assert!(said.contains("% of these rows; ") && said.contains("Alert rate since the threshold was set: "), "{said}");
    let after = |name: &str| said.split(name).nth(1).unwrap().split_whitespace().next().unwrap().parse::<f64>().unwrap();
    let (run, life) = (after("alert rate "), after("Alert rate since the threshold was set: "));
    assert!(run > 2.0 * life, "the rows of this run are far away: {run} {life}");
}

/// An alert lowers theta: after three of them it is 0 when the stream ends, and such a detector never gives an alert. The final
/// model says so, and so does `inspect`.
#[test]
fn a_detector_that_never_gives_an_alert_says_so() {
    let folder = Folder::new("never");
    let (data, model) = (folder.write("c.csv", cloud(400) + "50,50\n-50,50\n50,-50\n"), folder.path("m.okl"));
    let learn = ["learn", &data, "--loss", "nu_novelty", "--nu", "0.2", "--gamma", "0.5", "--scale", "none", "--lambda", "0.1"];
    let learn = [&learn[..], &["--step", "constant:0.5", "--threshold", "norma", "-o", &model]].concat();
    let out = json(&learn);
    let past = &out["model_on_past_rows"];
    let scores: Vec<f64> = {
        let csv = succeed(&["predict", &model, &data]).0;
        csv.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse().unwrap()).collect()
    };
    let threshold = past["threshold"].as_f64().unwrap();
    let alerts = scores.iter().filter(|score| **score < threshold).count();
    assert_eq!((alerts, &past["error"], &past["much_worse"]), (0, &0.0.into(), &true.into()), "{out}");
    let warning = out["warnings"][0].as_str().unwrap();
    assert!(warning.contains("gives no alert for any past row") && warning.contains("20.00 % was asked for"), "{warning}");
    assert!(warning.contains("--threshold tracker"), "{warning}");
    let inspected = flat(&succeed(&["inspect", &model]).0);
    assert!(threshold == 0.0 && inspected.contains("0 (no score is below it, so there is never an alert)"), "{inspected}");
}

/// A detector holds the rate that was asked for without a flag for it; a start of the loss's own threshold asks for that threshold.
#[test]
fn a_detector_holds_its_alert_rate_unless_told_otherwise() {
    let folder = Folder::new("rate");
    let (data, config) =
        (folder.write("c.csv", cloud(3000)), folder.write("c.json", r#"{"loss": {"nu_novelty": {"nu": 0.05}}}"#));
    for args in [vec!["--loss", "nu_novelty", "--nu", "0.05"], vec!["--loss", "nu_novelty:0.05"], vec!["--config", &config]] {
        let said = flat(&succeed(&[&["learn", &data], &args[..]].concat()).1);
        assert!(said.contains("threshold = tracker: holds the alert rate at nu"), "{said}");
        let rate = said.split("Alert rate since the threshold was set: ").nth(1).unwrap();
        let measured: f64 = rate.split_whitespace().next().unwrap().parse().unwrap();
        // Of independent rows, 5 % ± 0.4 % are outside; four of these deviations.
        assert!((measured - 5.0).abs() < 1.6 && rate.contains("(requested 5.00 %"), "{said}");
    }
    for own in [["--theta0", "0.1"], ["--threshold", "norma"]] {
        let config = json(&[&["learn", &data, "--loss", "nu_novelty"], &own[..]].concat())["config"].to_string();
        assert!(!config.contains("tracker"), "{config}");
    }
}

/// A sample has no order, so that nothing is said of the target before.
#[test]
fn figures_say_which_rows_they_count() {
    let folder = Folder::new("which-rows");
    let (data, cloud) = (folder.write("n.csv", numbers(300)), folder.write("c.csv", cloud(400)));
    let past = json(&["learn", &data, "--target", "u", "--ignore", "v"])["model_on_past_rows"]["summary"].clone();
    assert!(past["no_change_error"].is_null() && past["outputs"][0]["no_change_mae"].is_null(), "{past}");
    // A run over all rows of the model has one alert rate, whatever the threshold.
    for threshold in ["norma", "tracker"] {
        let learn = ["learn", &cloud, "--loss", "nu_novelty", "--nu", "0.1", "--threshold", threshold];
        let said = flat(&succeed(&learn).1);
        let rate = |name: &str| said.split(name).nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
        let since = if threshold == "norma" { "the model began" } else { "the threshold was set" };
        assert_eq!(rate(" alert rate "), rate(&format!("Alert rate since {since}: ")), "{said}");
    }
}

/// A rate that is far too low is said as one that is too high is.
#[test]
fn an_alert_rate_that_is_too_low_is_said() {
    let folder = Folder::new("low");
    let data = folder.write("c.csv", cloud(1200));
    let out = json(&[
        "learn",
        &data,
        "--loss",
        "nu_novelty",
        "--nu",
        "0.3",
        "--gamma",
        "4",
        "--scale",
        "none",
        "--step",
        "constant:0.1",
        "--lambda",
        "0.01",
    ]);
    let past = &out["model_on_past_rows"];
    let (rate, rows) = (past["error"].as_f64().unwrap(), past["rows"].as_f64().unwrap());
    let low = 0.3 - rate > 3.0 * (0.3 * 0.7 / rows).sqrt() && 1.25 * rate < 0.3;
    assert!(low, "learned rows are familiar: {rate}");
    assert_eq!(past["much_worse"], true, "{out}");
    assert!(out["warnings"][0].as_str().unwrap().contains("30.00 % was asked for"), "{out}");
}

/// Nothing is called saved that is not.
#[test]
fn without_an_output_nothing_is_called_saved() {
    let folder = Folder::new("no-output");
    let (data, report) = (folder.write("n.csv", numbers(400)), folder.path("r.html"));
    for args in [vec!["--target", "u,v", "--test", &data], vec!["--task", "novelty", "--loss", "nu_novelty", "--nu", "0.2"]] {
        let said = succeed(&[&["learn", &data, "--report", &report], &args[..]].concat()).1;
        assert!(said.contains("\nfinal model ") && !said.contains("saved"), "{said}");
        assert!(said.contains(" on all 400 learned rows\n"), "all rows are no sample, and have no standard error: {said}");
        assert!(
            folder.read("r.html").contains("of the final model on past rows") && !folder.read("r.html").contains("saved model")
        );
    }
}

/// With weights the table of classes has both: the rows and the sum of their weights.
#[test]
fn weights_are_not_called_examples() {
    let folder = Folder::new("weights");
    let mut text = String::from("x,c,w\n");
    (0..300).for_each(|i| writeln!(text, "{},{},{}", i % 7, ["a", "b"][i % 2], if i % 2 == 0 { 2.5 } else { 1.0 }).unwrap());
    let (data, report) = (folder.write("w.csv", text), folder.path("r.html"));
    let learn = ["learn", &data, "--target", "c", "--ignore", "w"];
    let weighted = ["learn", &data, "--target", "c", "--weight", "w", "--report", &report];
    let classes = json(&weighted)["summary"]["classes"]["per_class"].clone();
    let figures: Vec<_> = classes.as_array().unwrap().iter().map(|c| (c["examples"].as_u64(), c["weight"].as_f64())).collect();
    assert_eq!(figures, [(Some(150), Some(375.0)), (Some(150), Some(150.0))]);
    let said = succeed(&weighted).1;
    assert!(said.lines().any(|l| flat(l) == "class examples weight precision recall F1"), "{said}");
    assert!(said.lines().any(|l| flat(l).starts_with("a 150 375 ")) && said.lines().all(|l| l.chars().count() <= 80), "{said}");
    let page = folder.read("r.html");
    assert!(page.contains("total weight 525") && said.lines().any(|l| flat(l).starts_with("weight 525 the sum")), "{said}");
    assert!(page.contains("<th scope=\"col\">weight</th>") && page.contains("counted by its weight"), "{page}");
    assert!(succeed(&learn).1.lines().any(|l| flat(l) == "class examples precision recall F1"));
}

/// A row that is wrong: what became of the rows before it.
#[test]
fn a_bad_row_says_what_is_left_of_the_rows_before() {
    let folder = Folder::new("bad-last");
    let text = format!("{}1,2\n", ring(1100));
    let (data, model) = (folder.write("d.csv", &text), folder.path("m.okl"));
    let learn = ["learn", &data, "--target", "where", "--loss", "hinge", "--quiet"];
    let wrong = ["d.csv, line 1102", "found 2 columns", "1,100 rows were learned before"];
    fail(&learn, 1, &wrong);
    fail(
        &[&learn[..], &["-o", &model]].concat(),
        1,
        &["d.csv, line 1102", "1,100 rows were learned before, and nothing was saved"],
    );
    assert!(!std::path::Path::new(&model).exists());
    let checkpoints = [&learn[..], &["-o", &model, "--checkpoint-every", "500"]].concat();
    fail(&checkpoints, 1, &["m.okl has the model of the last checkpoint, after 1,000 rows"]);
    let examples = |model: &str| json(&["inspect", model])["examples"].as_u64();
    assert_eq!(examples(&model), Some(1000));
    // A stream cannot be read again: its model is saved, and it is the one of the rows before.
    let (good, expected) = (folder.write("good.csv", ring(1100)), folder.path("good.okl"));
    succeed(&["learn", &good, "--target", "where", "--loss", "hinge", "--quiet", "-o", &expected]);
    let mut child = okl(&["learn", "-", "--target", "where", "--loss", "hinge", "--quiet", "-o", &model]);
    let output = child.stdin(std::fs::File::open(&data).unwrap()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && said.contains("m.okl has the model of the 1,100 rows before"), "{said}");
    assert_eq!(std::fs::read(&model).unwrap(), std::fs::read(&expected).unwrap());
    // The same for a row that the learner refuses: the position is that of the rows that were learned.
    let third = format!("{}1,2,between\n", ring(1100));
    let mut child = okl(&["learn", "-", "--target", "where", "--loss", "hinge", "--quiet", "-o", &model]);
    let output = child.stdin(std::fs::File::open(folder.write("third.csv", third)).unwrap()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    succeed(&["learn", "--resume", &model, "--continue", &good, "--quiet", "-o", &model]);
    assert_eq!(std::fs::read(&model).unwrap(), std::fs::read(&expected).unwrap());
}

/// A decimal target is a number, be it constant for a while.
#[test]
fn decimal_targets_are_numbers() {
    let folder = Folder::new("decimal");
    let loss = |name: &str, value: &dyn Fn(usize) -> String| {
        let rows: String = (0..1200).map(|i| format!("{},{}\n", i % 5, value(i))).collect();
        let data = folder.write(name, format!("x,y\n{rows}"));
        json(&["learn", &data, "--target", "y"])["config"]["loss"].to_string()
    };
    for (name, first) in [("half.csv", "0.5"), ("zero.csv", "0.0")] {
        let loss = loss(name, &|i| if i < 1100 { first.into() } else { format!("{}", i as f64 / 7.0) });
        assert!(loss.contains("squared"), "{first}: {loss}");
    }
    assert!(loss("two.csv", &|i| if i % 2 == 0 { "0.5".into() } else { "2.0".into() }).contains("squared"));
    // As pandas writes whole numbers where values are missing: two classes.
    assert!(loss("bits.csv", &|i| format!("{}.0", i % 2)).contains("hinge"));
    assert!(loss("padded.csv", &|i| format!("00{}", i % 2)).contains("hinge"));
}

/// What a model does not know is left out of the scores, counted and said.
#[test]
fn what_a_model_does_not_know_is_said() {
    let folder = Folder::new("unknown");
    let rows = |names: [&str; 2]| (0..60).map(|i| format!("{},{},{}\n", i % 7, names[i % 2], i % 2)).collect::<String>();
    let data = folder.write("a.csv", format!("x,colour,y\n{}", rows(["red", "blue"])));
    let (model, test) = (folder.path("m.okl"), folder.write("t.csv", "x,colour,y,extra\n1,red,1,5\n2,green,0,5\n3,pink,0,5\n"));
    let learn = ["learn", &data, "--target", "y", "--one-hot", "-o", &model];
    let said = flat(&succeed(&[&learn[..], &["--test", &test]].concat()).1);
    let expected =
        ["column 'colour': 2 rows have a value that the model has not seen (green, pink)", "column 'extra' is not known"];
    expected.iter().for_each(|text| assert!(said.contains(text), "{text}: {said}"));
    let (csv, err) = succeed(&["predict", &model, &test]);
    assert_eq!(csv.lines().count(), 4);
    expected.iter().for_each(|text| assert!(flat(&err).contains(text), "{text}: {err}"));
    assert_eq!(succeed(&["predict", &model, &data]).1, "");
    assert!(!succeed(&["predict", &model, &test, "--ignore", "extra"]).1.contains("extra"));
    // Keys of JSON lines, and columns of a second file.
    let keys = folder.write("k.jsonl", "{\"x\":1,\"colour\":\"red\",\"k\":3}\n{\"x\":1,\"colour\":\"red\"}\n");
    assert!(flat(&succeed(&["predict", &model, &keys]).1).contains("column 'k' is not known"));
    let said = flat(&succeed(&["learn", &data, &test, "--target", "y", "--one-hot"]).1);
    assert!(said.contains("column 'extra': not among the columns that are learned"), "{said}");
    // Rows that cannot be read are counted too.
    let bad = folder.write("bad.csv", "x,colour,y\n1,red,1\n?,red,1\n2,red\n");
    let (csv, err) = succeed(&["predict", &model, &bad, "--on-bad-row", "skip"]);
    assert!(csv.lines().count() == 4 && flat(&err).contains("2 rows could not be read and have no score; the first: "), "{err}");
    let said = flat(&succeed(&[&learn[..], &["--test", &bad, "--on-bad-row", "skip"]].concat()).1);
    assert!(said.contains("bad.csv: 2 rows could not be read"), "{said}");
    // Only some columns were asked for: the others are no surprise.
    succeed(&["learn", &test, "--target", "y", "--features", "x", "--quiet", "-o", &model]);
    assert_eq!(succeed(&["predict", &model, &test]).1, "");
}

#[test]
fn several_files_are_predicted_as_one() {
    let folder = Folder::new("predict-several");
    let (a, b, model) = (folder.write("a.csv", ring(50)), folder.write("b.csv", ring(30)), folder.path("m.okl"));
    succeed(&["learn", &a, "--target", "where", "--quiet", "-o", &model]);
    let (both, first, second) =
        (succeed(&["predict", &model, &a, &b]).0, succeed(&["predict", &model, &a]).0, succeed(&["predict", &model, &b]).0);
    let rows = |csv: &str, add: u64| -> Vec<String> {
        let row =
            |line: &str| line.split_once(',').map(|(n, rest)| format!("{},{rest}", n.parse::<u64>().unwrap() + add)).unwrap();
        csv.lines().skip(1).map(row).collect()
    };
    assert_eq!(rows(&both, 0), [rows(&first, 0), rows(&second, 51)].concat(), "lines are counted through all files");
    let bad = folder.write("bad.csv", "x,y,where\n1,oops,inside\n");
    fail(&["predict", &model, &a, &bad, "-o", &folder.path("p.csv")], 1, &["bad.csv, line 2, column 'y'"]);
    fail(&["predict", &model, "-", "-"], 2, &["can be given only once"]);
    fail(&["predict", &model, &a, &b, "-o", &b], 2, &["overwrite the data"]);
}

/// NA is not a class; how truth values are written does not make several of them. Both are said.
#[test]
fn labels_that_are_not_taken_as_they_stand_are_said() {
    let folder = Folder::new("labels");
    let names = ["yes", "no", "NA"];
    let rows: String = (0..90).map(|i| format!("{},{}\n", i % 3, names[i % 3])).collect();
    let said = flat(&succeed(&["learn", &folder.write("na.csv", format!("x,y\n{rows}")), "--target", "y"]).1);
    assert!(said.contains("no target 30 rows in which a target is missing (empty, NA, ?): only predicted"), "{said}");
    let names = ["True", "FALSE", "true", "false"];
    let rows: String = (0..80).map(|i| format!("{},{}\n", i % 2, names[i % 4])).collect();
    let data = folder.write("b.csv", format!("x,y\n{rows}"));
    let said = succeed(&["learn", &data, "--target", "y"]).1;
    let told = "the target 'True' is the class true: TRUE, True and true are one class";
    assert_eq!(flat(&said).matches(told).count(), 1, "{said}");
    assert_eq!(json(&["learn", &data, "--target", "y"])["summary"]["classes"]["known"], 2);
    let plain = data.replace("b.csv", "plain.csv");
    std::fs::write(&plain, format!("x,y\n{}", rows.to_lowercase())).unwrap();
    assert!(!succeed(&["learn", &plain, "--target", "y"]).1.contains("one class"));
}

/// The loss that is learned is shown with its name; of a quantile it is the mean of max(q r, (q - 1) r).
#[test]
fn the_loss_that_is_learned_is_named() {
    let folder = Folder::new("pinball");
    let (text, predictions) = (numbers(500), folder.path("p.csv"));
    let data = folder.write("n.csv", &text);
    let learn =
        ["learn", &data, "--target", "u", "--ignore", "v", "--loss", "quantile", "--q", "0.9", "--predictions", &predictions];
    let output = json(&learn)["summary"]["outputs"][0].clone();
    let column = |text: &str, at: usize| -> Vec<f64> {
        text.lines().skip(1).map(|line| line.split(',').nth(at).unwrap().parse().unwrap()).collect()
    };
    let (scores, targets) = (column(&folder.read("p.csv"), 1), column(&text, 3));
    let pinball = |(z, y): (&f64, &f64)| (0.9 * (y - z)).max((0.9 - 1.0) * (y - z));
    let expected = scores.iter().zip(&targets).map(pinball).sum::<f64>() / 500.0;
    assert!((output["pinball"].as_f64().unwrap() - expected).abs() < 1e-12 * expected.max(1.0), "{output} {expected}");
    let said = flat(&succeed(&learn).1);
    assert!(said.contains("pinball loss ") && said.contains("quantile:q=0.9"), "{said}");
    let said = flat(&succeed(&["learn", &data, "--target", "u", "--ignore", "v"]).1);
    assert!(said.lines().all(|line| !line.contains("pinball")) && said.contains(" squared"), "{said}");
}

/// Errors and what they are held against are over the same rows; a first row that decides the RMSE is said.
#[test]
fn the_first_row_counts_for_both_or_is_said() {
    let folder = Folder::new("first-row");
    let rows: String = (0..200).map(|i| format!("{},{}\n", i % 10, 1000 + i % 10)).collect();
    let (data, predictions) = (folder.write("n.csv", format!("x,y\n{rows}")), folder.path("p.csv"));
    let learn = ["learn", &data, "--target", "y", "--task", "numbers", "--predictions", &predictions];
    let out = json(&learn);
    let output = &out["summary"]["outputs"][0];
    let scores = folder.read("p.csv");
    let residuals: Vec<f64> = scores
        .lines()
        .skip(1)
        .zip(0..)
        .map(|(line, i): (&str, usize)| 1000.0 + (i % 10) as f64 - line.split(',').nth(1).unwrap().parse::<f64>().unwrap())
        .collect();
    let squares = |from: usize| residuals[from..].iter().map(|r| r * r).sum::<f64>();
    let near = |found: f64, expected: f64| assert!((found - expected).abs() <= 1e-9 * expected, "{found} {expected}: {out}");
    near(output["rmse_after_first"].as_f64().unwrap(), (squares(1) / 199.0).sqrt());
    near(output["first_share"].as_f64().unwrap(), squares(0).recip() * residuals[0] * residuals[0]);
    // 1,000 at first, then 1 each, and 9 at the end of every ten.
    let changes = 1000.0 + 9.0 * 20.0 + 9.0 * 19.0;
    near(out["summary"]["no_change_error"].as_f64().unwrap(), changes / 200.0);
    let said = flat(&succeed(&learn).1);
    assert!(said.contains("The first row makes up ") && said.contains("of the squared error of y"), "{said}");
}

/// Decimal commas, unnamed columns and dates: what was found, and what to do.
#[test]
fn errors_know_common_spellings() {
    let folder = Folder::new("spellings");
    let comma = folder.write("comma.csv", "a;b;y\n3,14;2;1\n2,5;3;2\n");
    fail(
        &["learn", &comma, "--target", "y", "--task", "numbers"],
        2,
        &["line 2, column 'a'", "found '3,14'", "a number with a comma: write decimal points"],
    );
    let target = folder.write("target.csv", "a;y\n3;2,5\n2;1\n4;0,25\n");
    fail(&["learn", &target, "--target", "y"], 2, &["--target y", "a number with a comma", "--task classes"]);
    fail(
        &["learn", &target, "--target", "y", "--task", "numbers", "--quiet"],
        1,
        &["line 2, column 'y'", "found '2,5'", "a number with a comma"],
    );
    let index = folder.write("index.csv", ",a,y\n0,1,2\n1,3,4\n2,5,7\n");
    fail(&["learn", &index, "--target", "y"], 2, &["column 1 has no name in the header", "--ignore 1"]);
    succeed(&["learn", &index, "--target", "y", "--ignore", "1", "--quiet"]);
    succeed(&["learn", &index, "--target", "y", "--features", "1,a", "--quiet"]);
    for date in ["2024-01-31", "31.1.2024", "1/31/24", "2024-01-31T23:59:00Z", "23:59"] {
        let data = folder.write("date.csv", format!("when,a,y\n{date},1,2\n{date},2,3\n"));
        let advice = if date.starts_with("2024") { "expected a number; say --time when" } else { "ISO 8601" };
        fail(&["learn", &data, "--target", "y"], 2, &["column 'when'", "a date or time", "--ignore when", advice]);
    }
    let other = folder.write("other.csv", "when,a,y\nsoon,1,2\n1.2.3x,2,3\n");
    fail(&["learn", &other, "--target", "y"], 2, &["found 'soon', expected a number"]);
}

/// Steps that were not taken are said once, and `inspect` says them too.
#[test]
fn steps_that_were_not_taken_are_said_once() {
    let folder = Folder::new("once");
    let rows: String =
        (0..40).map(|i| format!("{},{}\n", i % 5, if i == 30 { "1e308".into() } else { (i % 3).to_string() })).collect();
    let (data, model) = (folder.write("n.csv", format!("x,y\n{rows}")), folder.path("m.okl"));
    let fixed = ["--gamma", "1", "--scale", "none", "--step", "constant:0.9", "--lambda", "0", "--kernel", "gaussian"];
    let said = flat(
        &succeed(
            &[&["learn", &data, "--target", "y", "--task", "numbers", "--loss", "squared", "-o", &model], &fixed[..]].concat(),
        )
        .1,
    );
    let skipped = json(&["inspect", &model])["health"].to_string();
    assert!(skipped.contains("steps were not taken"), "{skipped}: {said}");
    assert_eq!(said.matches("not taken").count() + said.matches("were skipped").count(), 1, "{said}");
    assert_eq!(flat(&succeed(&["inspect", &model]).0).matches("steps were not taken").count(), 1);
}

#[test]
fn a_kernel_is_shown_as_it_can_be_typed() {
    let several = json!({ "gaussian": { "gamma": [0.5, 2.0] } });
    for (given, shown) in [
        (json!("0.5*gaussian:1+linear"), "0.5*gaussian:gamma=1.0+linear"),
        (json!("matern32:0.3*linear"), "matern32:gamma=0.3*linear"),
        (json!("0.25*gaussian:1*linear"), "0.25*gaussian:gamma=1.0*linear"),
        (json!("rational_quadratic:gamma=0.3,alpha=2"), "rational_quadratic:alpha=2.0,gamma=0.3"),
        (several, "gaussian:gamma=0.5,gaussian:gamma=2.0"),
    ] {
        let typed = |kernel| shorthand(&json!(Config::from_value(json!({ "kernel": kernel })).unwrap().kernel));
        assert_eq!(typed(given), shown);
        assert_eq!(typed(json!(shown)), shown);
    }
    let nested = json!({ "product": [{ "sum": ["linear", "gaussian:1"] }, "linear"] });
    let config = Config::from_value(json!({ "kernel": nested })).unwrap();
    assert_eq!(shorthand(&json!(config.kernel)), "(linear+gaussian:gamma=1.0)*linear");
}

/// A form that the kernel does not have names the kernel; with fewer rows than the warm-up has examples, the examples of later passes are counted.
#[test]
fn the_kernel_and_the_passes_are_named() {
    let folder = Folder::new("said-kernel");
    let data = folder.write("n.csv", numbers(88));
    let learn = ["learn", &data, "--target", "u", "--ignore", "v"];
    for kernel in ["manhattan", "linear"] {
        let words = [&format!("this run has {kernel}: use terms")[..]];
        fail(&[&learn[..], &["--kernel", kernel, "--form", "fourier:100"]].concat(), 2, &words);
    }
    let said = flat(&succeed(&[&learn[..], &["--passes", "5", "--shuffle", "1"]].concat()).1);
    assert!(said.contains("first 256 examples (a row is counted in every pass)"), "{said}");
}

/// Where the model is no better than repeating the last target, the summary says so in words, as the report does; otherwise it does not.
#[test]
fn a_model_that_is_no_better_than_no_change_is_called_so() {
    let folder = Folder::new("said-no-better");
    let mut random = Random(6);
    let (mut wandering, mut following) = (String::from("x,y\n"), String::from("x,y\n"));
    let mut level = 50.0;
    for _ in 0..300 {
        let x = random.next();
        level += random.next() - 0.5;
        writeln!(wandering, "{x:.4},{level:.4}").unwrap();
        writeln!(following, "{x:.4},{:.4}", 3.0 * x).unwrap();
    }
    let words = "the model is no better over all these rows";
    for (text, no_better) in [(wandering, true), (following, false)] {
        let (data, page) = (folder.write("d.csv", text), folder.path("r.html"));
        let said = succeed(&["learn", &data, "--target", "y", "--task", "numbers", "--report", &page]).1;
        assert_eq!(said.contains(words), no_better, "{said}");
        assert_eq!(folder.read("r.html").contains("over the whole stream the model is no better"), no_better);
        assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    }
}

/// Rows of four columns of noise; the class depends on the first one, and is "bad" in one row of 16.
fn rare(rows: usize) -> String {
    let mut random = Random(1);
    let mut text = String::from("a,b,c,d,y\n");
    for _ in 0..rows {
        let x: Vec<f64> = (0..4).map(|_| 3.5 * (random.next() - 0.5)).collect();
        let bad = random.next() < 1.0 / (1.0 + (3.2 - x[0]).exp());
        writeln!(text, "{:.3},{:.3},{:.3},{:.3},{}", x[0], x[1], x[2], x[3], if bad { "bad" } else { "good" }).unwrap();
    }
    text
}

/// A rare class of which no row is predicted to be, and a model that is no better than the most frequent class.
#[test]
fn a_class_that_is_never_predicted_is_named() {
    let folder = Folder::new("said-rare");
    let data = folder.write("rare.csv", rare(2000));
    let learn = ["learn", &data, "--target", "y", "--loss", "hinge", "--kernel", "gaussian:0.5", "--step", "constant:0.001"];
    let (table, said) = succeed(&learn);
    let (words, rows) = (self::flat(&format!("{table}{said}")), rare(2000).matches(",bad").count());
    assert!(
        words.contains(&format!("No row was predicted to be of class bad, which {rows} rows have. --class-weight balanced")),
        "{words}"
    );
    let majority = words.split_once("by always predicting the most frequent class").unwrap().1;
    assert!(majority.trim_start().starts_with("the model is no better over all these rows"), "{words}");
    let weighted = self::flat(&succeed(&[&learn[..], &["--class-weight", "balanced"]].concat()).1);
    assert!(!weighted.contains("No row was predicted"), "{weighted}");
}

/// Weights that add up to 1 make all steps too short.
#[test]
fn weights_far_from_one_are_said() {
    let folder = Folder::new("said-weights");
    let table = |weight: f64| {
        let mut random = Random(5);
        (0..400).fold(String::from("x,w,y\n"), |all, _| {
            let x = random.next();
            all + &format!("{x:.4},{weight},{:.4}\n", (9.0 * x).sin())
        })
    };
    let said = |weight: f64| {
        let data = folder.write("w.csv", table(weight));
        json(&["learn", &data, "--target", "y", "--weight", "w"])["health"].to_string()
    };
    assert!(
        said(1.0 / 400.0).contains("the weights of 400 learned rows are at most 0.0025; a weight multiplies the step"),
        "small"
    );
    assert!(said(100.0).contains("which can spoil the model: compare with the weights divided by their mean"));
    assert!(!said(1.0).contains("weights of"));
}

/// A cell without a value before the first value of its column becomes 0, which is far from the values of some columns.
#[test]
fn cells_before_the_first_value_of_a_column_are_said() {
    let folder = Folder::new("said-early");
    let table = |empty: usize| {
        let mut random = Random(6);
        (0..600).fold(String::from("p,b,y\n"), |all, i| {
            let (p, b) = (1000.0 + 8.0 * random.next(), random.next());
            all + &if i < empty { format!(",{b:.3},{b:.3}\n") } else { format!("{p:.3},{b:.3},{:.3}\n", p.sin()) }
        })
    };
    for (empty, words) in
        [(0, None), (1, Some("column p: 1 cell without a value")), (3, Some("column p: 3 cells without a value"))]
    {
        let data = folder.write("p.csv", table(empty));
        let said = json(&["learn", &data, "--target", "y", "--missing", "mean"])["warnings"].to_string();
        assert!(words.map_or(!said.contains("without a value"), |words| said.contains(words)), "{empty}: {said}");
    }
    // The number is in the model: it is that of all rows after a run is resumed, and `okl inspect` says it.
    let (whole, model) = (table(3), folder.path("m.okl"));
    let (first, rest) = whole.split_at(whole.match_indices('\n').nth(2).unwrap().0 + 1);
    let learn = ["learn", &folder.write("1.csv", first), "--target", "y", "--missing", "mean", "-o", &model];
    succeed(&learn);
    let rest = folder.write("2.csv", format!("p,b,y\n{rest}"));
    let resumed = json(&["learn", &rest, "--resume", &model, "-o", &model])["warnings"].to_string();
    assert!(resumed.contains("column p: 3 cells without a value"), "{resumed}");
    assert!(json(&["inspect", &model])["health"].to_string().contains("column p: 3 cells without a value"));
    assert!(flat(&succeed(&["inspect", &model]).0).contains("warning: column p: 3 cells without a value"));
}

/// JSON lines of 600 rows in which the key p, with values near 1000, appears with row `from`; `before` is what earlier rows have of it.
fn late_key(from: usize, before: &str) -> Vec<String> {
    let mut random = Random(6);
    let row = |i: usize| {
        let (p, b) = (1000.0 + 8.0 * random.next(), random.next());
        let p_text = if i < from { before.into() } else { format!("\"p\":{p:.3},") };
        format!("{{{p_text}\"b\":{b:.3},\"y\":{:.3}}}\n", if i < from { b } else { p.sin() })
    };
    (0..600).map(row).collect()
}

/// A key of JSON lines that appears later is 0 in the rows before it, as an empty cell of a table before the first value of its column.
#[test]
fn rows_before_a_key_appears_are_said() {
    let folder = Folder::new("said-late");
    let model = folder.path("m.okl");
    let learn = |name: &str, lines: &[String], more: &[&str]| {
        let data = folder.write(name, lines.concat());
        json(&[&["learn", &data, "--target", "y", "--task", "numbers", "--missing"], more, &["-o", &model]].concat())["warnings"]
            .to_string()
    };
    let words = "column p: 100 cells without a value came before its first value and became 0";
    for before in ["", "\"p\":null,"] {
        let lines = late_key(100, before);
        for more in [&["mean"][..], &["last"], &["mean+indicator"]] {
            let said = learn("whole.jsonl", &lines, more);
            assert!(said.contains(words), "{before:?} {more:?}: {said}");
        }
        assert!(json(&["inspect", &model])["health"].to_string().contains(words), "{before:?}");
        // In a random order, the rows before the first value are others.
        let scores = folder.path("p.csv");
        for seed in ["1", "2", "3", "4"] {
            let said = learn("whole.jsonl", &lines, &["mean", "--shuffle", seed, "--predictions", &scores]);
            let order = folder.read("p.csv");
            let order = order.lines().skip(1).map(|line| line.split(',').next().unwrap().parse::<usize>().unwrap());
            let words = match order.take_while(|line| *line <= 100).count() {
                0 => String::new(),
                1 => "column p: 1 cell without a value".into(),
                cells => format!("column p: {cells} cells without a value"),
            };
            assert!(
                said.contains(&words) && said.contains("without a value") != words.is_empty(),
                "{before:?} {seed}: {words}: {said}"
            );
        }
        // Rows that are only predicted are none of them.
        let predicted = lines[..20].iter().map(|line| line.replace("\"y\":", "\"z\":").replace("\"z\"", "\"y\":null,\"z\""));
        let some: Vec<String> = predicted.chain(lines[20..].iter().cloned()).collect();
        let said = learn("some.jsonl", &some, &["mean", "--ignore", "z"]);
        assert!(said.contains("column p: 80 cells"), "{before:?}: {said}");
        // The number of rows so far is in the model.
        for at in [1, 60, 100, 200] {
            learn("first.jsonl", &lines[..at], &["mean"]);
            let data = folder.write("rest.jsonl", lines[at..].concat());
            let said = json(&["learn", &data, "--resume", &model, "-o", &model])["warnings"].to_string();
            assert!(said.contains(words), "{before:?} {at}: {said}");
        }
        assert!(!learn("zero.jsonl", &lines, &["zero"]).contains("without a value"), "0 was asked for");
    }
    assert!(!learn("full.jsonl", &late_key(0, ""), &["mean"]).contains("without a value"));
}

/// A file of an older version does not say how many rows it had learned: of a column that appears later, nothing is said.
#[test]
fn rows_that_were_not_counted_are_not_said() {
    let rows = |filler: &Filler, x: &[f64], columns: usize| {
        let learned = vec![true; x.len() / columns];
        filler.after(&filler.fill_in_order(x, columns, &learned), learned.len())
    };
    let begun = rows(&Filler::new("mean".parse().unwrap()), &[1.0, 2.0, 3.0], 1);
    let mut stored = serde_json::to_value(&begun).unwrap();
    assert_eq!(stored["filled"].as_object_mut().unwrap().remove("rows"), Some(json!(3)));
    let finding = |mut filler: Filler| {
        filler.widen(2);
        rows(&rows(&filler, &[1.0, f64::NAN], 2), &[1.0, 5.0], 2).finding(|column| column.to_string())
    };
    assert!(finding(begun).unwrap().starts_with("column 1: 4 cells without a value"));
    let older: Filler = serde_json::from_value(stored.clone()).unwrap();
    assert_eq!(serde_json::to_value(rows(&older, &[3.0], 1)).unwrap()["filled"].get("rows"), None);
    // The cell of a row that has the column is counted, as it was.
    assert!(finding(older).unwrap().starts_with("column 1: 1 cell without a value"));
}

/// Targets that are far from the unit of the steps are reported where another unit was measured to be better, also where they are predicted well.
#[test]
fn targets_far_from_the_unit_are_said_though_predicted_well() {
    let folder = Folder::new("said-unit");
    let mut random = Random(7);
    let text = (0..2000).fold(String::from("a,b,y\n"), |all, _| {
        let (a, b) = (3.0 * random.next(), 3.0 * random.next());
        all + &format!("{a:.4},{b:.4},{:.2}\n", 3000.0 * ((2.0 * a).sin() + b))
    });
    let data = folder.write("u.csv", text);
    let out = json(&["learn", &data, "--target", "y", "--loss", "absolute"]);
    let said = out["warnings"].to_string();
    assert!(out["summary"]["outputs"][0]["r2"].as_f64().unwrap() > 0.5, "{out}");
    assert!(said.contains("target_scale = { fixed = {"), "{said}");
}
