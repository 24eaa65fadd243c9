//! Files that are sorted by a skewed target, and passes over few rows: the figures and sentences about the model that is saved.

use okl_cli::random::Random;
use serde_json::Value;

use crate::support::{Folder, json, succeed};

/// Rows whose targets are above 0 at first, mostly by little, and then all 0. The columns say little about the target.
fn sorted(rows: usize) -> String {
    let mut random = Random::new(7);
    let mut draw = || random.uniform();
    let of_row = |row: usize| {
        let (x, z, u, early) = (draw(), draw(), draw(), row < rows * 3 / 10);
        let y = if early { 0.1 + 6.0 * u * u * u * (0.5 + x) } else { 0.0 };
        format!("{x},{},{y}\n", z + if early { 0.5 } else { 0.0 })
    };
    "x,z,y\n".to_string() + &(0..rows).map(of_row).collect::<String>()
}

/// R² and bias of the scores of a model.
fn measured(model: &str, data: &str, text: &str) -> [f64; 2] {
    let scores: Vec<f64> = succeed(&["predict", model, data, "--format", "csv"])
        .0
        .lines()
        .skip(1)
        .map(|line| line.rsplit(',').next().unwrap().parse().unwrap())
        .collect();
    let targets: Vec<f64> = text.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse().unwrap()).collect();
    assert_eq!(scores.len(), targets.len());
    let n = targets.len() as f64;
    let mean = targets.iter().sum::<f64>() / n;
    let squares: f64 = targets.iter().zip(&scores).map(|(y, s)| (y - s).powi(2)).sum();
    let variance: f64 = targets.iter().map(|y| (y - mean).powi(2)).sum();
    [1.0 - squares / variance, targets.iter().zip(&scores).map(|(y, s)| s - y).sum::<f64>() / n]
}

/// By mean absolute error, a model that predicts 0 everywhere is good on such a file; by squared error, which is learned, it is worse than the mean.
#[test]
fn a_model_that_is_worse_than_the_mean_of_its_targets_is_called_so() {
    let folder = Folder::new("sorted-target");
    let (text, model) = (sorted(900), folder.path("m.okl"));
    let data = folder.write("s.csv", &text);
    let learn = ["learn", &data, "--target", "y", "-o", &model];
    let out = json(&learn);
    let past = &out["model_on_past_rows"]["summary"]["outputs"][0];
    let [r2, bias] = measured(&model, &data, &text);
    let is = |name: &str, value: f64| (past[name].as_f64().unwrap() - value).abs() < 1e-6 * (1.0 + value.abs());
    assert!(is("r2", r2) && is("bias", bias), "{past} {r2} {bias}");
    let progressive = out["summary"]["outputs"][0]["r2"].as_f64().unwrap();
    assert!(r2 < 0.0 && progressive > 0.2, "the file shows the case: {r2} {progressive}");
    let said = |out: &Value| {
        out["warnings"].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    let warnings = said(&out);
    let warning = warnings.iter().find(|line| line.starts_with("By squared error")).unwrap_or_else(|| panic!("{warnings:?}"));
    assert!(warning.contains("--save-model all") && warning.contains(&format!("{r2:.4}")), "{warning}");
    let summary = succeed(&learn).1;
    assert!(summary.contains(&format!("R²            {r2:.4}")), "{summary}");

    succeed(&[&learn[..], &["--save-model", "all"]].concat());
    assert!(measured(&model, &data, &text)[0] > 0.0, "the advice helps");
    let shuffled = said(&json(&[&learn[..], &["--shuffle", "1"]].concat()));
    assert!(!shuffled.iter().any(|line| line.starts_with("By squared error")), "{shuffled:?}");
}

#[test]
fn equal_targets_at_the_end_are_no_reason_for_another_feature() {
    let folder = Folder::new("equal-targets");
    let data = folder.write("s.csv", sorted(4000));
    let said = succeed(&["learn", &data, "--target", "y"]).1.replace("\n  ", " ");
    assert!(said.contains("repeating the target of the row before gives 0. These targets are all equal."), "{said}");
    assert!(!said.contains("try it as one more feature"), "{said}");
}

#[test]
fn later_passes_of_a_detector_have_alerts_and_no_errors() {
    let folder = Folder::new("detector-passes");
    let (data, report) = (folder.write("s.csv", sorted(600)), folder.path("r.html"));
    let said = succeed(&["learn", &data, "--task", "novelty", "--passes", "2", "--report", &report]).1;
    assert!(said.contains("in pass 2, on rows that had been learned before"), "{said}");
    let page = folder.read("r.html");
    assert!(page.contains("Alert rate in pass 2"), "the report has it, too");
    assert!(!said.contains("training error") && !page.contains("raining error in pass"), "{said}");
}

#[test]
fn a_model_of_all_rows_makes_one_pass_and_the_run_says_so() {
    let folder = Folder::new("one-pass");
    let (data, model) = (folder.write("s.csv", sorted(60)), folder.path("m.okl"));
    let learn = ["learn", &data, "--target", "y", "--passes", "5", "-o", &model];
    let said = succeed(&[&learn[..], &["--save-model", "all"]].concat()).1.replace("\n  ", " ");
    let saved: Value = serde_json::from_str(&succeed(&["inspect", &model, "--json"]).0).unwrap();
    assert_eq!(saved["examples"], 60);
    assert!(said.contains("in one pass, not in several as the final model"), "{said}");
    assert!(!said.contains("a row is counted in every pass"), "{said}");
    assert!(succeed(&learn).1.replace("\n  ", " ").contains("first 256 examples (a row is counted in every pass)"));
}
