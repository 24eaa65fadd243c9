//! Words of errors, help and reports that were misread.

use super::support::{Folder, fail, flat, json, numbers, okl, ring, succeed};

/// A misspelt key of --config is named before anything else is asked for, with the keys about columns.
#[test]
fn an_unknown_key_of_a_file_of_settings_is_answered_with_all_keys() {
    let folder = Folder::new("unknown-key");
    let data = folder.write("d.csv", numbers(30));
    let config = folder.write("c.toml", "targt = \"u\"\nlambda = 0.1");
    let wanted = ["c.toml: targt: no such setting", "did you mean `target`?", "target, ignore, features", "missing", "kernel"];
    fail(&["learn", &data, "--config", &config], 2, &wanted);
    fail(&["learn", &data, "--target", "u", "--config", &config], 2, &wanted);
    let config = folder.write("c.toml", "bugdet = 100");
    fail(&["learn", &data, "--target", "u", "--config", &config], 2, &["did you mean `budget`?", "one_hot"]);
    // Every key that the answer names is one that the help names.
    let (help, _) = succeed(&["learn", "--help"]);
    let error = String::from_utf8(okl(&["learn", &data, "--config", &config]).output().unwrap().stderr).unwrap();
    let keys = error.split_once("there are ").unwrap().1.split_once(';').unwrap().0.to_owned();
    let help = flat(&help);
    assert!(help.contains(&keys), "{keys}\n{help}");
}

/// A parameter without its setting is answered with a flag.
#[test]
fn a_parameter_without_its_setting_names_the_flag() {
    let folder = Folder::new("without-setting");
    let (data, classes) = (folder.write("d.csv", numbers(30)), folder.write("r.csv", ring(30)));
    let learn = |flags: &[&str], wanted: &[&str]| {
        fail(&[&["learn", &data, "--target", "u", "--ignore", "v", "--quiet"], flags].concat(), 2, wanted);
    };
    learn(&["--q", "0.5"], &["--q: this is a parameter of the loss quantile; add --loss quantile"]);
    learn(&["--nu", "0.1"], &["--nu", "one of nu_epsilon, nu_huber; add one of them, as in --loss nu_epsilon"]);
    learn(&["--eta", "0.1"], &["--eta", "as in --step constant"]);
    learn(&["--mu", "0.1"], &["--mu: this is a parameter of the step smd; add --step smd"]);
    learn(&["--degree", "3"], &["--degree", "add --kernel polynomial"]);
    fail(&["learn", &classes, "--target", "where", "--quiet", "--nu", "0.1"], 2, &["add --loss nu_hinge"]);
    // A wrong value is called so.
    learn(&["--gamma", "wide"], &["gamma", "found \"wide\""]);
    // What is advised works.
    for flags in
        [["--q", "0.5", "--loss", "quantile"], ["--nu", "0.1", "--loss", "nu_epsilon"], ["--eta", "0.1", "--step", "constant"]]
    {
        json(&[&["learn", &data, "--target", "u", "--ignore", "v"][..], &flags].concat());
    }
    // A parameter of the setting that is chosen needs no name.
    succeed(&["learn", &classes, "--target", "where", "--margin", "2", "--step", "constant:0.1", "--quiet"]);
}

#[test]
fn help_says_what_holds_for_its_command() {
    let (help, _) = succeed(&["evaluate", "--help"]);
    assert!(!flat(&help).contains("in the predictions"), "{help}");
    let (help, _) = succeed(&["learn", "--help"]);
    assert!(flat(&help).contains("--one-hot must name its columns here; without names it is refused"), "{help}");
    for command in ["learn", "predict", "evaluate"] {
        let (help, _) = succeed(&[command, "--help"]);
        assert!(flat(&help).contains("--header <YES|NO>"), "{help}");
    }
}

/// The alert rate is a share of the judged rows; the norm of a leading setting does not bound the scores of the bank.
#[test]
fn a_report_says_of_what_its_figures_are() {
    let folder = Folder::new("of-what");
    let (data, report) = (folder.write("d.csv", numbers(700)), folder.path("r.html"));
    let learned = json(&["learn", &data, "--task", "novelty", "--report", &report]);
    let judged = learned["summary"]["judged"].as_u64().unwrap();
    assert!(judged < 700);
    assert!(folder.read("r.html").contains(&format!("of the {judged} judged examples raised an alert")));
    succeed(&["learn", &data, "--target", "u", "--report", &report, "--quiet"]);
    let page = folder.read("r.html");
    assert!(
        page.contains("The norm of the last hypothesis of the leading setting, or the bound on it, went")
            && !page.contains("A score can change by at most this")
    );
    let plain = ["--kernel", "gaussian:1", "--step", "constant:0.1", "--lambda", "0.001"];
    succeed(&[&["learn", &data, "--target", "u", "--report", &report, "--quiet"][..], &plain].concat());
    assert!(folder.read("r.html").contains("A score can change by at most this"));
}

/// A model of rows in a random order goes on with other rows: its figures are still those of rows in a random order.
#[test]
fn a_resumed_model_keeps_the_remark_about_its_first_rows() {
    let folder = Folder::new("wording-order");
    let (data, model, more) = (folder.write("n.csv", numbers(300)), folder.path("1.okl"), folder.path("2.okl"));
    succeed(&["learn", &data, "--target", "u,v", "--save-model", "all", "-o", &model]);
    assert!(flat(&succeed(&["inspect", &model]).0).contains("of 300 rows in a random order, not in that of the file"));
    let other = folder.write("m.csv", numbers(340).replace("0.5", "0.51"));
    succeed(&["learn", &other, "--resume", &model, "-o", &more]);
    let said = flat(&succeed(&["inspect", &more]).0);
    assert!(said.contains("the first 300 examples came in a random order, not in that of their file"), "{said}");
    let inspected: serde_json::Value = serde_json::from_str(&succeed(&["inspect", &more, "--json"]).0).unwrap();
    assert_eq!(inspected["replayed_rows"], 300);
}

/// The losses of several targets are of the Euclidean norm of their residuals: recomputed from the predictions.
#[test]
fn the_loss_of_several_targets_says_what_it_is() {
    let folder = Folder::new("wording-targets");
    let text = numbers(300);
    let (data, scores, page) = (folder.write("n.csv", &text), folder.path("p.csv"), folder.path("r.html"));
    let learn = ["learn", &data, "--target", "u,v", "--loss", "absolute", "--predictions", &scores, "--report", &page];
    let said = flat(&succeed(&learn).1);
    assert!(said.contains("absolute, of the Euclidean norm of the residuals of all targets"), "{said}");
    let columns: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let place = |name: &str| columns.iter().position(|column| *column == name).unwrap();
    let cell = |line: &str, at: usize| line.split(',').nth(at).unwrap().parse::<f64>().unwrap();
    let predicted = folder.read("p.csv");
    let scored: Vec<&str> = predicted.lines().next().unwrap().split(',').collect();
    let first = scored.len() - 2;
    let norm = |(row, score): (&str, &str)| {
        (cell(row, place("u")) - cell(score, first)).hypot(cell(row, place("v")) - cell(score, first + 1))
    };
    let norms: Vec<f64> = text.lines().skip(1).zip(predicted.lines().skip(1)).map(norm).collect();
    let mean = norms.iter().sum::<f64>() / norms.len() as f64;
    let shown: f64 = said.split("average loss ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!((shown / mean - 1.0).abs() < 1e-3, "{shown} {mean}");
    assert!(folder.read("r.html").contains("over the targets, each in its unit"));
}
