//! What is said of the thresholds of novelty detectors.

use std::fmt::Write;

use crate::support::{Folder, Random, flat, json, succeed};

/// Rows around 0, and in between some that are far away for a while.
fn rows() -> String {
    let mut random = Random(6);
    let mut text = String::from("a,b\n");
    for i in 0..2500 {
        let spread = if (900..960).contains(&i) || (1703..1721).contains(&i) { 6.0 } else { 1.0 };
        writeln!(text, "{:.4},{:.4}", spread * (random.next() - 0.5), spread * (random.next() - 0.5)).unwrap();
    }
    text
}

fn column(text: &str, name: &str) -> Vec<Option<f64>> {
    let at = text.lines().next().unwrap().split(',').position(|column| column == name).unwrap();
    text.lines().skip(1).map(|line| line.split(',').nth(at).unwrap().parse().ok()).collect()
}

/// Four digits, as the report writes a number: 3.594e-6 with a raised exponent.
fn shown(value: f64) -> String {
    let text = okl_cli::metrics::figure(value);
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let digits = if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits };
    let raised = |sign: char| match sign {
        '-' => '⁻',
        digit => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit.to_digit(10).unwrap() as usize],
    };
    format!("{digits}\u{a0}×\u{a0}10{}", exponent.chars().map(raised).collect::<String>())
}

/// The highest and lowest threshold of the report are those of all rows, not of the points of the picture.
#[test]
fn the_report_has_the_extreme_thresholds_of_all_rows() {
    let folder = Folder::new("detectors-report");
    let (data, report, scores) = (folder.write("n.csv", rows()), folder.path("r.html"), folder.path("p.csv"));
    let mut checked = 0;
    for nu in ["0.02", "0.05", "0.1"] {
        succeed(&["learn", &data, "--task", "novelty", "--nu", nu, "--predictions", &scores, "--report", &report, "--quiet"]);
        let thresholds: Vec<f64> = column(&folder.read("p.csv"), "threshold").into_iter().flatten().collect();
        let most = thresholds.iter().copied().fold(f64::MIN, f64::max);
        let least = thresholds.iter().copied().fold(f64::MAX, f64::min);
        let page = folder.read("r.html");
        for (words, extreme) in [("and up to ", most), ("and down to ", least)] {
            let Some(said) = page.split("The threshold went ").nth(1).and_then(|rest| rest.split("</").next()) else { continue };
            if let Some(value) = said.split(words).nth(1).and_then(|rest| rest.split(' ').next()) {
                assert_eq!(value, shown(extreme), "{nu}: {said}");
                checked += 1;
            }
        }
    }
    assert!(checked > 0, "a report names an extreme threshold");
}

/// A margin that the loss gives is the threshold of every row.
#[test]
fn a_given_margin_is_the_threshold_of_every_row() {
    let folder = Folder::new("detectors-margin");
    let (data, scores, model) = (folder.write("n.csv", rows()), folder.path("p.csv"), folder.path("m.okl"));
    let report = folder.path("r.html");
    let learn = ["learn", &data, "--task", "novelty", "--loss", "novelty:0.5", "--predictions", &scores, "-o", &model, "--quiet"];
    succeed(&[&learn[..], &["--report", &report]].concat());
    let text = folder.read("p.csv");
    assert!(column(&text, "threshold").iter().all(|threshold| *threshold == Some(0.5)));
    let alerts = column(&text, "alert").into_iter().zip(column(&text, "score"));
    assert!(alerts.clone().any(|(alert, _)| alert == Some(1.0)));
    alerts.for_each(|(alert, score)| assert_eq!(alert == Some(1.0), score.unwrap() < 0.5));
    assert_eq!(column(&succeed(&["predict", &model, &data]).0, "threshold")[0], Some(0.5));
    let page = folder.read("r.html");
    let table = page.split("below it by").nth(1).unwrap();
    assert!(table.contains("0.5"), "the alerts of the report have the threshold");
}

/// Rows that a detector without a threshold does not judge lack no target.
#[test]
fn rows_that_are_not_judged_are_called_so() {
    let folder = Folder::new("detectors-not-judged");
    let mut random = Random(8);
    let mut table = |rows: usize| {
        (0..rows).fold(String::from("a,b\n"), |all, _| all + &format!("{:.4},{:.4}\n", random.next(), random.next()))
    };
    let (few, more, model) = (folder.write("few.csv", table(100)), folder.write("more.csv", table(200)), folder.path("m.okl"));
    let (_, learned) = succeed(&["learn", &few, "--task", "novelty", "-o", &model, "--test", &more]);
    let (shown, _) = succeed(&["evaluate", &model, &more]);
    for text in [learned, shown] {
        let words = flat(&text);
        assert!(
            words.contains("not judged 200 rows: the model has no threshold yet") && !words.contains("a target is missing"),
            "{words}"
        );
    }
    let out = json(&["evaluate", &model, &more]);
    assert_eq!(out["summary"]["not_learned"]["without_threshold"], 200);
}

/// An average that was named is the one that is used.
#[test]
fn a_detector_has_the_average_that_was_named() {
    let folder = Folder::new("detectors-average");
    let mut random = Random(9);
    let data = (0..800).fold(String::from("a,b\n"), |all, _| all + &format!("{:.4},{:.4}\n", random.next(), random.next()));
    let data = folder.write("d.csv", data);
    let of = |average: &str| {
        json(&["learn", &data, "--task", "novelty", "--loss", "nu_novelty:0.1", "--average", average])["config"]["average"]
            .to_string()
    };
    assert_eq!([of("none"), of("uniform")], ["\"none\"", "\"uniform\""]);
    assert!(
        json(&["learn", &data, "--task", "novelty", "--loss", "nu_novelty:0.1"])["config"]["average"]
            .to_string()
            .contains("exponential")
    );
}
