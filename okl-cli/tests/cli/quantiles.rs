//! What is said of predicted quantiles: true of the last rows, and advice that helps.

use std::fmt::Write;

use crate::support::{Folder, Random, json, succeed};

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A normal number by the central limit.
fn normal(random: &mut Random) -> f64 {
    (0..12).map(|_| random.next()).sum::<f64>() - 6.0
}

/// Targets with noise around a curve; no row depends on the one before.
fn noisy(rows: usize, seed: u64) -> String {
    let mut random = Random(seed);
    let mut text = String::from("a,b,y\n");
    for _ in 0..rows {
        let [a, b] = [(); 2].map(|()| random.next());
        writeln!(text, "{a:.4},{b:.4},{:.4}", (6.0 * a).sin() + b + 0.7 * normal(&mut random)).unwrap();
    }
    text
}

/// Targets that hardly change from row to row.
fn slow(rows: usize) -> String {
    let (mut random, mut y, mut last) = (Random(8), 0.0, 0.0);
    let mut text = String::from("a,b,y\n");
    for _ in 0..rows {
        y = 0.999 * y + 0.045 * normal(&mut random);
        writeln!(text, "{:.4},{:.4},{y:.5}", last + 0.1 * normal(&mut random), random.next()).unwrap();
        last = y;
    }
    text
}

/// "as asked" is said of the last rows only where chance explains how far they are from it, and "at the beginning" only then.
#[test]
fn as_asked_is_as_asked() {
    let folder = Folder::new("quantiles-said");
    let mut off = 0;
    for (seed, q) in [(1, 0.9), (2, 0.1), (3, 0.9), (4, 0.75)] {
        let data = folder.write("q.csv", noisy(3000, seed));
        let learn = ["learn", &data, "--target", "y", "--loss", &format!("quantile:{q}")];
        let coverage = json(&learn)["summary"]["outputs"][0]["coverage"].clone();
        let (_, err) = succeed(&learn);
        let (said, last) = (flat(&err), coverage["last"].as_f64().unwrap());
        let chance = 2.0 * (q * (1.0 - q) / 1000.0f64).sqrt();
        if (last - q).abs() > chance {
            assert!(!said.contains("as asked"), "{q}: {last}: {said}");
            off += u32::from(said.contains("quantile is a little off"));
        }
    }
    assert!(off > 0, "one of the streams has a quantile that is a little off");
}

/// The advice about a quantile that is very far off is about the step, and it helps; another quantile would not.
#[test]
fn advice_about_a_quantile_helps() {
    let folder = Folder::new("quantiles-advice");
    let data = folder.write("q.csv", slow(4000));
    let learn = ["learn", &data, "--target", "y", "--loss", "quantile:0.9"];
    let last = |more: &[&str]| json(&[&learn[..], more].concat())["summary"]["outputs"][0]["coverage"]["last"].as_f64().unwrap();
    let (_, err) = succeed(&learn);
    let said = flat(&err);
    assert!(last(&[]) < 0.8 && !said.contains("try the quantile"), "{said}");
    let step = said.split("try --step ").nth(1).unwrap_or_else(|| panic!("no advice: {said}")).split(',').next().unwrap();
    assert!((last(&["--step", step]) - 0.9).abs() < 0.05, "{step}: {}", last(&["--step", step]));
}
