//! Certificates that are shown are true of what they name. Each test is a class of sentences that were false once.

use std::f64::consts::TAU;
use std::fmt::Write as _;

use okl_cli::memory::most_bytes;
use okl_cli::metrics::{at_least, at_most, bound, percent};
use serde_json::Value;

use crate::support::{Folder, Random, flat, json, numbers, ring, succeed};

/// Settings without a warm-up, an offset and an average, so that the sentence about the regret is made.
const PLAIN: [&str; 8] = ["--scale", "none", "--offset", "false", "--average", "none", "--save-model", "recent"];

/// The words of `okl inspect`, and of the certificates of `okl learn`.
fn certificates(learn: &[&str], model: &str) -> String {
    let out = json(&[learn, &["-o", model]].concat());
    let lines: Vec<&str> = out["certificates"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let inspected = flat(&succeed(&["inspect", model]).0);
    lines.iter().for_each(|line| assert!(inspected.contains(line), "{line}: {inspected}"));
    lines.join(" ")
}

/// The text of a report without its tags.
fn text_of(page: &str) -> String {
    let mut inside = false;
    let visible = |c: char| {
        inside = c == '<' || inside && c != '>';
        if inside || c == '>' { ' ' } else { c }
    };
    flat(&page.chars().map(visible).collect::<String>())
}

/// The number before this text.
fn number_after(text: &str, before: &str) -> f64 {
    let rest = text.split_once(before).unwrap_or_else(|| panic!("{before:?} is missing: {text}")).1;
    let word = rest.split([' ', ';']).next().unwrap().trim_end_matches(['.', ',', ')', ':']);
    word.replace(',', "").parse().unwrap_or_else(|_| panic!("{word}: {text}"))
}

/// While only one class is known, the softmax loss compares it with a class not yet seen, whose score is 0. A fixed function of the two classes has smaller
/// losses in these rows: the regret against it exceeds the bound, so the sentence says of what the losses are.
#[test]
fn the_regret_of_classes_that_come_late_says_what_its_losses_count() {
    let folder = Folder::new("certificates-late");
    let rows = |count: usize, class: &str| format!("0,{class}\n").repeat(count);
    let (data, model) = (folder.write("l.csv", format!("x,y\n{}{}", rows(1090, "a"), rows(10, "b"))), folder.path("m.okl"));
    let said = "While only one class was known, the losses of both also count a class not yet seen as a score of 0.";
    for loss in ["softmax", "max_margin"] {
        let settings = ["--loss", loss, "--kernel", "gaussian:1", "--step", "pegasos:1", "--lambda", "0.3"];
        let learn = [&["learn", &data, "--target", "y", "--task", "classes"][..], &settings, &PLAIN].concat();
        let found = certificates(&learn, &model);
        assert!(found.contains("Losses and penalties add up to at most") && found.contains(said), "{found}");
        let found = certificates(&[&learn[..], &["--classes", "a,b"]].concat(), &model);
        assert!(found.contains("Losses and penalties add up to at most") && !found.contains("While only"), "{found}");
    }
}

/// The model of a bank is a sum over its kernels. The bound holds for functions of one of them, with the penalties of the setting that has this kernel. And
/// a bound below 0 is a gain.
#[test]
fn the_regret_of_a_bank_is_that_of_each_kernel() {
    let folder = Folder::new("certificates-bank");
    let model = folder.path("m.okl");
    let text: String = (0..1200).map(|i| format!("{},30\n", if i % 3 == 0 { 1 } else { 0 })).collect();
    let data = folder.write("h.csv", format!("x,y\n{text}"));
    let settings = ["--loss", "absolute", "--kernel", "gaussian:0.01,gaussian:5", "--step", "constant:1", "--lambda", "0.000001"];
    let learn = [&["learn", &data, "--target", "y", "--anchor", "none"][..], &settings, &PLAIN].concat();
    let said = certificates(&learn, &model);
    assert!(said.contains("For every setting that learns in parallel: losses and its penalties add up to at most "), "{said}");
    assert!(said.contains("those of the best fixed function of one of the kernels (that of the setting"), "{said}");
    assert!(!said.contains("this model has no larger"), "{said}");
    // Two losses over one kernel: there is no other kernel, and the norm is not that of the model.
    let noisy: String = (0..1200).map(|i| format!("{},{}\n", i % 2, i % 3)).collect();
    let data = folder.write("n.csv", format!("x,y\n{noisy}"));
    let settings = ["--loss", "absolute,epsilon:0.1", "--kernel", "gaussian:5", "--step", "constant:0.05", "--lambda", "0.001"];
    let learn = [&["learn", &data, "--target", "y", "--task", "numbers"][..], &settings, &PLAIN].concat();
    let said = certificates(&learn, &model);
    assert!(
        said.contains("For every setting that learns in parallel with the loss absolute: losses and its penalties"),
        "{said}"
    );
    assert!(!said.contains("one of the kernels") && !said.contains("this model has no larger"), "{said}");

    let mut random = Random(5);
    let mut text = String::from("x,y\n");
    for _ in 0..20_000 {
        let x = (400.0 * random.next()).round() / 100.0;
        let noise = (0..12).map(|_| random.next()).sum::<f64>() - 6.0;
        writeln!(text, "{x},{:.3}", 1.0 + 0.8 * (25.0 * x).sin().signum() + 0.1 * noise).unwrap();
    }
    let data = folder.write("w.csv", text);
    let settings = ["--loss", "squared", "--kernel", "gaussian:100,gaussian:0.05", "--step", "pegasos:200", "--lambda", "0.03"];
    let learn =
        [&["learn", &data, "--target", "y", "--task", "numbers", "--budget", "unlimited"][..], &settings, &PLAIN].concat();
    let said = certificates(&learn, &model);
    let learner = okl::Learner::load(&model).unwrap();
    let norm = number_after(&said, "with a norm of up to ");
    let exact = learner.regret_bound(norm, 0.0).unwrap();
    let gain = number_after(&said, "add up to at least ");
    assert!(exact < 0.0 && gain <= -exact && gain >= 0.999 * -exact && said.contains(" less than those of"), "{exact}: {said}");
}

/// Targets have units of their own: a deviation over the scores of all of them would mostly be the distance of their means.
#[test]
fn each_target_has_its_own_deviation_of_scores() {
    let folder = Folder::new("certificates-targets");
    let (model, predictions) = (folder.path("m.okl"), folder.path("p.csv"));
    let mut random = Random(31);
    let mut text = String::from("x,u,v\n");
    for _ in 0..800 {
        let x = 6.0 * random.next();
        writeln!(text, "{x:.4},{:.4},{:.4}", 2.0 * x.sin(), 500.0 + 20.0 * x.cos()).unwrap();
    }
    let data = folder.write("t.csv", text);
    let settings = ["--loss", "squared", "--kernel", "gaussian:1", "--step", "constant:0.5", "--lambda", "0.00001"];
    let learn =
        [&["learn", &data, "--target", "u,v", "--budget", "window:10", "--predictions", &predictions][..], &settings, &PLAIN];
    let said = certificates(&learn.concat(), &model);
    let scores = folder.read("p.csv");
    let deviation = |name: &str| {
        let at = scores.lines().next().unwrap().split(',').position(|column| column == name).unwrap();
        let scores: Vec<f64> = scores.lines().skip(1).map(|line| line.split(',').nth(at).unwrap().parse().unwrap()).collect();
        let mean = scores.iter().sum::<f64>() / 800.0;
        (scores.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / 800.0).sqrt()
    };
    let [u, v] = ["score_u", "score_v"].map(deviation);
    let least = number_after(&said, "the standard deviation of the scores of a target is ");
    let largest = number_after(&said, " at least and ");
    assert!(u < v && (least / u - 1.0).abs() < 1e-3 && (largest / v - 1.0).abs() < 1e-3, "{u} {v}: {said}");
    // The scores of classes have one unit.
    let mut text = String::from("x,y\n");
    (0..600).for_each(|i| writeln!(text, "{:.4},{}", 6.0 * random.next(), ["a", "b", "c"][i % 3]).unwrap());
    let data = folder.write("c.csv", text);
    let settings = ["--loss", "max_margin", "--kernel", "gaussian:1", "--step", "constant:1", "--lambda", "0.00001"];
    let learn = [&["learn", &data, "--target", "y", "--budget", "window:10"][..], &settings, &PLAIN];
    let said = certificates(&learn.concat(), &model);
    assert!(said.contains("the standard deviation of the scores of all classes together is "), "{said}");
}

/// With `target_scale`, losses, penalties and norm are in the unit of the scaled targets: the same numbers as for targets that were scaled before.
#[test]
fn the_regret_with_scaled_targets_names_their_unit() {
    let folder = Folder::new("certificates-unit");
    let model = folder.path("m.okl");
    let mut random = Random(11);
    let rows: Vec<(f64, f64)> = (0..3000).map(|_| (4.0 * random.next(), 3.0 + random.next())).collect();
    let table = |unit: f64| rows.iter().fold(String::from("x,y\n"), |text, (x, y)| format!("{text}{x:.3},{}\n", unit * y));
    let scaled = folder.write("s.toml", "target_scale = { fixed = { shift = [0], factor = [0.0009765625] } }");
    let (small, large) = (folder.write("s.csv", table(1.0)), folder.write("l.csv", table(1024.0)));
    let settings = ["--loss", "absolute", "--kernel", "gaussian:1", "--step", "constant:0.05", "--lambda", "0.001"];
    let learn = |data: &str, more: &[&str]| {
        certificates(&[&["learn", data, "--target", "y", "--task", "numbers"][..], &settings, &PLAIN, more].concat(), &model)
    };
    let (plain, said) = (learn(&small, &[]), learn(&large, &["--config", &scaled]));
    assert!(said.contains("With targets in units of target_scale, losses and penalties add up to at most "), "{said}");
    assert_eq!(number_after(&said, "add up to at most "), number_after(&plain, "add up to at most "));
    assert_eq!(number_after(&said, "with a norm of up to "), number_after(&plain, "with a norm of up to "));
    for command in ["learn", "freeze"] {
        let help = flat(&succeed(&[command, "--help"]).0);
        assert!(
            command != "learn" || help.contains("never exceeds; with target_scale, in units of the scaled targets"),
            "{help}"
        );
    }
}

/// The bounded losses are times the weights of rows and of classes: the same bound is stated where the product stands in the column of weights.
#[test]
fn the_regret_with_weights_of_rows_and_classes_names_both() {
    let folder = Folder::new("certificates-weights");
    let model = folder.path("m.okl");
    let mut random = Random(12);
    let rows: Vec<(f64, bool, f64)> =
        (0..2000).map(|_| (4.0 * random.next(), random.next() < 0.3, 0.25 + 0.5 * random.next())).collect();
    let table = |of_class: f64| {
        rows.iter().fold(String::from("x,y,w\n"), |text, (x, rare, w)| {
            let (class, weight) = if *rare { ("yes", w * 1.0) } else { ("no", w * of_class) };
            format!("{text}{x:.3},{class},{weight:.17}\n")
        })
    };
    let (given, times) = (folder.write("g.csv", table(1.0)), folder.write("t.csv", table(0.125)));
    let settings = ["--loss", "hinge", "--kernel", "gaussian:1", "--step", "constant:0.05", "--lambda", "0", "--weight", "w"];
    let learn = |data: &str, more: &[&str]| {
        certificates(&[&["learn", data, "--target", "y"][..], &settings, &PLAIN, more].concat(), &model)
    };
    let (both, product) = (learn(&given, &["--class-weight", "yes=8,no=1"]), learn(&times, &[]));
    let words = "Losses, each times the weight of its row and that of its class, and penalties, each times the weight of its class, add up to ";
    assert!(both.contains(words) && !both.contains("per unit of weight"), "{both}");
    assert!(product.contains("Losses, each times the weight of its row, and penalties add up to "), "{product}");
    assert_eq!(number_after(&both, "add up to at most "), number_after(&product, "add up to at most "));
}

/// The norm that is shown is that of the last hypothesis. Where an average predicts, scores change by more; with an operator each output has a factor of its
/// own.
#[test]
fn a_norm_is_named_after_the_function_that_has_it() {
    let folder = Folder::new("certificates-norm");
    let (model, report) = (folder.path("m.okl"), folder.path("r.html"));
    // The target is 5 at x = 0 in the first half, and 0 afterwards: the average remembers.
    let at = |i: usize| (f64::from(u8::try_from(i % 10).unwrap()) * 0.5, if i.is_multiple_of(10) && i < 200 { 5 } else { 0 });
    let text: String = (0..400).map(|i| format!("{},{}\n", at(i).0, at(i).1)).collect();
    let data = folder.write("a.csv", format!("x,y\n{text}"));
    let page = |data: &str, more: &[&str]| {
        succeed(&[&["learn", data, "--task", "numbers", "--loss", "squared", "--report", &report, "-o", &model], more].concat());
        text_of(&folder.read("r.html"))
    };
    let lipschitz = "A score can change by at most this";
    let common = ["--scale", "none", "--offset", "false", "--save-model", "recent"];
    let of = [&["--target", "y", "--kernel", "gaussian:2", "--step", "constant:0.5", "--lambda", "0.01"][..], &common].concat();
    let shown = page(&data, &[&of[..], &["--average", "uniform"]].concat());
    assert!(shown.contains("The norm of the last hypothesis, or the bound on it, went") && !shown.contains(lipschitz), "{shown}");
    let scores: Vec<f64> = succeed(&["predict", &model, &data]).0.lines().skip(1).map(last_cell).collect();
    let distance = (2.0 - 2.0 * (-2.0f64 * 4.5 * 4.5).exp()).sqrt();
    let norm = okl::Learner::load(&model).unwrap().norm2().sqrt();
    assert!((scores[0] - scores[9]).abs() > norm * distance, "the sentence that was shown would hold: {scores:?} {norm}");
    let shown = page(&data, &[&of[..], &["--average", "none"]].concat());
    assert!(shown.contains("The norm of the function, or the bound on it, went") && shown.contains(lipschitz), "{shown}");

    let text: String = (0..100).map(|i| format!("{0},{1:.4},{1:.4}\n", at(i).0, 3.0 * at(i).0.sin())).collect();
    let two = folder.write("o.csv", format!("x,a,b\n{text}"));
    let of = [&["--target", "a,b", "--kernel", "gaussian:2", "--step", "constant:0.05", "--lambda", "0"][..], &common].concat();
    let shown = page(&two, &[&of[..], &["--average", "none", "--operator", "4,0,0,9"]].concat());
    assert!(shown.contains("The norm of the function, or the bound on it, went") && !shown.contains(lipschitz), "{shown}");

    let kernel = "polynomial:degree=2,gamma=0.1,coef0=1";
    let settings =
        ["--target", "y", "--kernel", kernel, "--step", "constant:0.1", "--lambda", "0.05", "--budget", "certified:0.02"];
    for (average, whose) in [("uniform", "the last hypothesis (the average predicts)"), ("none", "the model")] {
        page(&data, &[&settings[..], &common, &["--average", average]].concat());
        let said = flat(&succeed(&["inspect", &model]).0);
        let norm = number_after(&said, &format!("The norm of {whose} is at most "));
        assert!(norm >= okl::Learner::load(&model).unwrap().norm2().sqrt(), "{said}");
    }
}

fn last_cell(line: &str) -> f64 {
    line.rsplit(',').next().unwrap().parse().unwrap()
}

/// The norm of all terms that a window of 40 drops, as they are when they are dropped, by the steps of the hinge loss written out: kernel gaussian:2, step 0.2,
/// lambda 0.5.
fn norm_of_dropped(rows: &[(f64, f64)]) -> f64 {
    let k = |a: f64, b: f64| (-2.0 * (a - b) * (a - b)).exp();
    let [mut terms, mut dropped] = [const { Vec::<(f64, f64)>::new() }; 2];
    for (x, y) in rows {
        let score: f64 = terms.iter().map(|(centre, a)| a * k(*x, *centre)).sum();
        terms.iter_mut().for_each(|(_, a)| *a *= 0.9);
        if y * score < 1.0 {
            if terms.len() == 40 {
                dropped.push(terms.remove(0));
            }
            terms.push((*x, 0.2 * y));
        }
    }
    let with = |x: f64| dropped.iter().map(|(centre, a)| a * k(x, *centre)).sum::<f64>();
    dropped.iter().map(|(x, a)| a * with(*x)).sum::<f64>().sqrt()
}

/// The certificate bounds the distance to the function after the same updates. What was dropped had a larger norm, which would have shrunk with the function.
#[test]
fn the_truncation_error_is_not_the_norm_of_what_was_dropped() {
    let folder = Folder::new("certificates-dropped");
    let (model, report) = (folder.path("m.okl"), folder.path("r.html"));
    let mut random = Random(3);
    let row = |x: f64| (x, if (3.0 * x).sin() > 0.0 { 1.0 } else { -1.0 });
    let rows: Vec<(f64, f64)> = (0..3000).map(|_| row((400.0 * random.next()).round() / 100.0 - 2.0)).collect();
    let data = folder.write("d.csv", rows.iter().fold(String::from("x,y\n"), |text, (x, y)| format!("{text}{x},{y}\n")));
    let learn = ["learn", &data, "--target", "y", "--task", "classes", "--loss", "hinge", "--report", &report];
    let cases = [
        ("gaussian:2", "constant:0.2", "0.5", "window:40"),
        ("polynomial:degree=3,gamma=0.5,coef0=1", "constant:0.02", "2.5", "window:120"),
    ];
    for (kernel, step, lambda, budget) in cases {
        let settings = ["--kernel", kernel, "--step", step, "--lambda", lambda, "--budget", budget];
        let said = certificates(&[&learn[..], &settings, &PLAIN].concat(), &model);
        let page = text_of(&folder.read("r.html"));
        for text in [&said, &page] {
            assert!(!text.contains("have a norm of at most") && !text.contains("The norm of all that"), "{text}");
        }
        let lost = okl::Learner::load(&model).unwrap().truncation_error();
        let shown = number_after(&page, "The function that predicts differs by at most ");
        assert!(shown >= lost && shown <= 1.001 * lost, "{shown} {lost}");
        assert!(page.contains("in norm from the function after the same updates"), "{page}");
        if budget == "window:40" {
            let dropped = norm_of_dropped(&rows);
            assert!(dropped > 10.0 * shown, "what was dropped has the norm {dropped}, and the bound is {shown}");
        }
        if kernel.starts_with("polynomial") {
            let shown = number_after(&said, "change the function that predicts by at most ");
            assert!(shown >= lost && said.contains("in norm, compared with the same updates and nothing left out"), "{said}");
        }
    }
}

/// Terms that are projected or merged without a loss are gone all the same.
#[test]
fn no_truncation_error_does_not_mean_that_no_term_was_dropped() {
    let folder = Folder::new("certificates-merged");
    let (data, model) = (folder.path("m.csv"), folder.path("m.okl"));
    let settings =
        ["--target", "y", "--task", "numbers", "--kernel", "gaussian:1", "--loss", "absolute", "--step", "constant:0.1"];
    let rows: String = (0..60).map(|i| format!("{},{:.4}\n", i % 3 * 2, f64::from(i).sin())).collect();
    folder.write("m.csv", format!("x,y\n{rows}"));
    let learn = [&["learn", &data, "--lambda", "0.01", "--budget", "transfer:3"][..], &settings, &PLAIN].concat();
    let said = certificates(&learn, &model);
    let learner = okl::Learner::load(&model).unwrap();
    assert!(learner.terms() == 3 && learner.truncation_error() == 0.0, "59 updates are in 3 terms: {said}");
    assert!(said.contains("Scores have no truncation error.") && !said.contains("No term has been dropped"), "{said}");
}

/// Weights of rows make shares those of weight. Here their mean is 1, so that the sum of the weights does not show them.
#[test]
fn shares_of_weight_are_called_so() {
    let folder = Folder::new("certificates-weights");
    let (model, report, predictions) = (folder.path("m.okl"), folder.path("r.html"), folder.path("p.csv"));
    let mut random = Random(29);
    let mut normal = || (-2.0 * (1.0 - random.next()).ln()).sqrt() * (TAU * random.next()).cos();
    let mut rows: Vec<[f64; 3]> = (0..2000).map(|_| [normal(), normal(), normal()]).collect();
    rows.sort_by(|a, b| a[2].total_cmp(&b[2]));
    // Half of the rows have small errors below 0 and the weight 1/4, half errors above 0 and the weight 7/4; then the order is mixed.
    let text: String = (0..2000)
        .map(|i| i * 7 % 2000)
        .map(|i| {
            format!("{:.3},{:.3},{:.3},{}\n", rows[i][0], rows[i][1], rows[i][0] + rows[i][2], if i < 1000 { 0.25 } else { 1.75 })
        })
        .collect();
    let weights: Vec<f64> = text.lines().map(last_cell).collect();
    assert_eq!(weights.iter().sum::<f64>(), 2000.0);
    let data = folder.write("w.csv", format!("a,b,y,w\n{text}"));
    let learn = |weighted: bool, more: &[&str]| {
        let files = ["-o", &model, "--report", &report, "--predictions", &predictions, "--save-model", "recent"];
        let columns = if weighted { ["--weight", "w"] } else { ["--ignore", "w"] };
        let args = [&["learn", &data][..], &files, &columns, more].concat();
        let out = json(&args);
        let said = flat(&succeed(&args).1);
        (out, said, text_of(&folder.read("r.html")), flat(&succeed(&["inspect", &model]).0))
    };
    let steps = ["--kernel", "gaussian:1", "--step", "constant:0.05", "--lambda", "0.01"];

    // Novelty: the share of alerts.
    let detector =
        [&["--ignore", "y", "--task", "novelty", "--loss", "nu_novelty:0.1", "--threshold", "norma"][..], &steps].concat();
    let (out, said, page, inspected) = learn(true, &detector);
    let alerts = folder.read("p.csv");
    let place = alerts.lines().next().unwrap().split(',').position(|name| name == "alert").unwrap();
    let alert = |line: &str| line.split(',').nth(place).unwrap() == "1";
    let shares: f64 = alerts.lines().skip(1).zip(&weights).map(|(line, w)| if alert(line) { *w } else { 0.0 }).sum();
    let rate = shares / 2000.0;
    assert!((out["summary"]["alert_rate"].as_f64().unwrap() - rate).abs() < 1e-9, "{out}");
    assert!(
        out["summary"]["weighted"] == true && said.contains(&format!("{} of these rows by weight; ", percent(rate))),
        "{said}"
    );
    let shown = percent(rate).replace(' ', "\u{a0}");
    assert!(
        page.replace('\u{a0}', " ")
            .contains(&format!("By weight, {} of the 2,000 judged examples raised an alert", percent(rate)))
    );
    assert!(
        page.contains(&flat(&format!("{shown} by weight raised an alert"))) && page.contains("alert rate, by weight"),
        "{page}"
    );
    assert!(inspected.contains("Alert rate by weight since the model began: "), "{inspected}");

    // Quantiles: the share of targets at or below the score.
    let (out, said, page, _) = learn(true, &[&["--target", "y", "--loss", "quantile:0.5"][..], &steps].concat());
    assert_eq!(out["summary"]["outputs"][0]["coverage"]["weighted"], true);
    assert!(said.contains("of targets by weight at or below the score"), "{said}");
    assert!(page.contains("of targets by weight at or below the score of y") && page.contains("Counted by weight: "), "{page}");

    // Tubes and margins: the share outside.
    let (_, _, page, inspected) = learn(true, &[&["--target", "y", "--loss", "nu_epsilon:0.2"][..], &steps].concat());
    assert!(inspected.contains("Targets outside the tube by weight since the model began: "), "{inspected}");
    assert!(
        page.contains("By weight, ") && page.contains("of the examples since the model began had a target outside the tube"),
        "{page}"
    );

    // Without weights nothing is by weight; and a model that another program went on with may have weights.
    let (_, said, page, inspected) = learn(false, &detector);
    for text in [&said, &page, &inspected] {
        assert!(!text.contains("by weight") && !text.contains("By weight"), "{text}");
    }
    let mut learner = okl::Learner::load(&model).unwrap();
    learner.learn(&okl::Batch::new(&[0.5, 0.5], 2).weights(&[3.0])).unwrap();
    learner.save(&model).unwrap();
    let inspected = flat(&succeed(&["inspect", &model]).0);
    assert!(inspected.contains("Alert rate (by weight, where rows have weights) since the model began"), "{inspected}");
}

/// The memory of a model is that of its present terms: with more terms it is larger.
#[test]
fn the_memory_of_a_model_is_that_of_so_many_terms() {
    let folder = Folder::new("certificates-memory");
    let (few, model) = (folder.write("f.csv", numbers(300)), folder.path("m.okl"));
    let settings = ["--ignore", "v", "--loss", "squared", "--kernel", "gaussian:0.05", "--step", "constant:0.1", "--lambda", "0"];
    let learn = |budget: &str| {
        let args = [&["learn", &few, "--target", "u", "--budget", budget, "-o", &model][..], &settings, &PLAIN].concat();
        succeed(&[&args[..], &["--quiet"]].concat());
        flat(&succeed(&["inspect", &model]).0)
    };
    let kilobytes = |said: &str, before: &str| {
        let rest = said.split_once(before).unwrap_or_else(|| panic!("{before}: {said}")).1;
        let [number, unit] = [0, 1].map(|at| rest.split([' ', ',']).nth(at).unwrap());
        number.parse::<f64>().unwrap() * if unit == "MB" { 1e6 } else { 1e3 }
    };
    for budget in ["merge:4000", "window:4000", "transfer:4000"] {
        let said = learn(budget);
        assert!(said.contains("with its present 300 terms") && said.contains("with the 4,000 terms of its budget"), "{said}");
        let [now, full] = [kilobytes(&said, "loaded, up to "), kilobytes(&said, "rows, up to ")];
        let mut learner = okl::Learner::load(&model).unwrap();
        assert!(learner.bytes() as f64 <= now && now < full, "{said}");
        let mut random = Random(8);
        let rows: Vec<f64> = (0..13_500).map(|_| random.next()).collect();
        let targets: Vec<f64> = rows.chunks(3).map(|row| row[0]).collect();
        learner.learn(&okl::Batch::of_f64(&rows, 3).numbers(&targets)).unwrap();
        assert!(learner.terms() == 4000 && learner.bytes() as f64 > now, "{} bytes: {said}", learner.bytes());
        assert!(learner.bytes() as f64 <= full, "{} bytes: {said}", learner.bytes());
    }
    let said = learn("unlimited");
    assert!(said.contains("with its present 300 terms") && said.contains("; more with more terms"), "{said}");
    // Classes that come later add numbers to every term.
    let classes = folder.write("c.csv", ring(100));
    let learn = ["learn", &classes, "--target", "where", "--task", "classes", "--kernel", "gaussian:1", "-o", &model, "--quiet"];
    let steps = ["--step", "constant:0.1", "--lambda", "0.01", "--budget", "unlimited", "--save-model", "recent"];
    succeed(&[&learn[..], &steps].concat());
    assert!(flat(&succeed(&["inspect", &model]).0).contains(" terms and 2 classes"));
    succeed(&[&learn[..], &steps, &["--classes", "inside,outside"]].concat());
    assert!(!flat(&succeed(&["inspect", &model]).0).contains(" terms and "));
}

/// A bound that is printed is not below the bound: all helpers round up, and the lower bound down, by less than one unit of the last digit.
#[test]
fn printed_bounds_are_rounded_up() {
    let read = |text: &str| text.replace(',', "").parse::<f64>().unwrap();
    let check = |value: f64| {
        let (up, down, one) = (at_most(value), at_least(value), bound(value));
        assert!(read(&up) >= value && read(&up) <= 1.0011 * value, "{value:e}: at most {up}");
        assert!(read(&down) <= value && read(&down) >= 0.9989 * value, "{value:e}: at least {down}");
        assert!(read(&one) >= value && read(&one) <= 2.0001 * value, "{value:e}: bound {one}");
        assert!(read(&at_most(-value)) >= -value && read(&at_least(-value)) <= -value, "{value:e}");
    };
    let mut random = Random(77);
    for i in 0..200_000 {
        let size = 10f64.powf(24.0 * random.next() - 12.0);
        check(size);
        // Numbers at and beside those that have few digits.
        let short = format!("{size:.*e}", i % 4).parse::<f64>().unwrap();
        [short, short.next_up(), short.next_down()].into_iter().for_each(check);
    }
    assert_eq!([at_most(0.0), at_least(0.0), at_most(f64::INFINITY)], ["0", "0", "inf"]);
    assert_eq!([at_most(0.5), at_most(0.50001), at_most(9.9991), at_least(1.00001)], ["0.5000", "0.5001", "10.00", "1.000"]);
    for _ in 0..20_000 {
        let bytes = 10f64.powf(3.0 + 8.0 * random.next()) as usize;
        let text = most_bytes(bytes);
        let (number, unit) = text.split_once(' ').unwrap();
        let unit = match unit {
            "kB" => 1e3,
            "MB" => 1e6,
            _ => 1e9,
        };
        assert!(read(number) * unit >= bytes as f64, "{bytes}: {text}");
    }
}

/// The guarantee of the alert rate holds for the two shares as they are printed.
#[test]
fn the_guarantee_of_a_rate_holds_for_the_printed_shares() {
    let folder = Folder::new("certificates-rate");
    let (data, model) = (folder.write("n.csv", numbers(2000)), folder.path("m.okl"));
    for nu in ["0.05", "0.1", "0.2", "0.31234", "0.3"] {
        let loss = format!("nu_novelty:{nu}");
        let settings = ["--kernel", "gaussian:1", "--step", "constant:0.1", "--lambda", "0.01", "--threshold", "tracker:0.05"];
        let learn = [&["learn", &data, "--task", "novelty", "--loss", &loss, "--save-model", "recent"][..], &settings].concat();
        let said = certificates(&learn, &model);
        let rate = okl::Learner::load(&model).unwrap().alert_rate().unwrap();
        let within = number_after(&said, "guaranteed within ");
        let [shown, asked] = [number_after(&said, "was set: "), number_after(&said, "(requested ")];
        assert!((shown - asked).abs() <= within + 1e-12 && 100.0 * rate.bound <= within, "{said}");
        assert!((100.0 * rate.rate - asked).abs() <= within, "{said}");
    }
}
