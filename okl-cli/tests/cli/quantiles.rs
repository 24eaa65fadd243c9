//! What is said of predicted quantiles: true of the last rows, and advice that helps.

use std::fmt::Write;

use serde_json::Value;

use crate::support::{Folder, Random, flat, json, succeed};

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

/// Settings that follow the last targets closely cover about half of them. Nothing that was tried on a sample helps, so nothing is advised.
#[test]
fn a_quantile_that_is_far_off_gets_no_advice_that_was_not_tried() {
    let folder = Folder::new("quantiles-far");
    let data = folder.write("q.csv", slow(4000));
    let learn = ["learn", &data, "--target", "y", "--loss", "quantile:0.9"];
    let all = json(&learn);
    let (said, last) = (all["warnings"].to_string(), all["summary"]["outputs"][0]["coverage"]["last"].as_f64().unwrap());
    assert!(last < 0.8 && said.contains("nothing holds the share that was asked for"), "{last}: {said}");
    assert!(!said.contains("--step") && !said.contains("The quantile 0."), "{said}");
}

/// Heavy tails in a large unit: the pinball loss hardly differs in another unit, and the share is far off. The unit is named, and another one comes closer.
#[test]
fn the_unit_is_named_where_the_share_of_heavy_tails_is_off() {
    let folder = Folder::new("quantiles-tails");
    let mut random = Random(3);
    let mut text = String::from("a,b,y\n");
    for _ in 0..4000 {
        let [a, b] = [(); 2].map(|()| normal(&mut random));
        writeln!(text, "{a:.4},{b:.4},{:.1}", 1e4 * (1.0 - random.next()).powf(-1.0 / 1.2)).unwrap();
    }
    let data = folder.write("q.csv", text);
    let learn = ["learn", &data, "--target", "y", "--loss", "quantile:0.9"];
    let all = json(&learn);
    let (said, coverage) =
        (flat(&all["warnings"].to_string()), |all: &Value| all["summary"]["outputs"][0]["coverage"]["seen"].as_f64().unwrap());
    assert!(coverage(&all) < 0.85 && said.contains("The predicted 0.9 quantile is off"), "{} {said}", coverage(&all));
    let line = said.split("FILE has the line ").nth(1).unwrap_or_else(|| panic!("{said}"));
    let scale = &line[..=line.rfind("] } }").unwrap() + 4];
    let config = folder.write("unit.toml", scale);
    let other = json(&[&learn[..], &["--config", &config]].concat());
    assert!((coverage(&other) - 0.9).abs() < 0.5 * (coverage(&all) - 0.9).abs(), "{} {}", coverage(&all), coverage(&other));
}

/// Another quantile is named only with the figures that it had on a sample, and it comes closer on the whole stream, too.
#[test]
fn another_quantile_that_is_advised_comes_closer() {
    let folder = Folder::new("quantiles-other");
    let mut advised = 0;
    for (seed, q) in [(1, 0.9), (2, 0.1), (3, 0.9), (5, 0.1), (6, 0.9)] {
        let data = folder.write("q.csv", noisy(2000, seed));
        let run = |q: &str| json(&["learn", &data, "--target", "y", "--loss", &format!("quantile:{q}")]);
        let all = run(&q.to_string());
        let said = all["warnings"].to_string();
        let Some(other) = said.split("The quantile ").nth(1) else { continue };
        advised += 1;
        assert!(said.contains("Measured on the later half of a sample") && said.contains("pinball loss"), "{said}");
        assert!(said.contains("by the final model, which had learned these rows"), "{said}");
        let off = |all: &serde_json::Value| (all["summary"]["outputs"][0]["coverage"]["last"].as_f64().unwrap() - q).abs();
        let other = run(other.split(' ').next().unwrap());
        assert!(off(&other) < off(&all), "{q}: {} and {}", off(&other), off(&all));
    }
    assert!(advised > 0, "one of the streams gets advice");
}

/// A few far targets, many of them, and counts: the settings of the run cover too few targets on a sample, but the final model has seen more rows and
/// covers about as many as were asked for. Another quantile would move it away.
#[test]
fn a_quantile_that_the_final_model_holds_is_not_changed() {
    let folder = Folder::new("quantiles-held");
    let model = folder.path("m.okl");
    let table = |kind: &str, rows: usize, seed: u64| {
        let mut random = Random(seed);
        let mut text = String::from("a,b,c,y\n");
        for _ in 0..rows {
            let [a, b, c] = [(); 3].map(|()| normal(&mut random));
            let u = random.next();
            let y = match kind {
                "out" => a + if u < 0.01 { 1e4 } else { 0.0 },
                "mix" => a + if u < 0.2 { -5.0 * random.next().max(1e-12).ln() } else { 0.0 },
                _ => (2.0 * (0.7 * a).exp() * u * u).round(),
            };
            writeln!(text, "{a:.4},{b:.4},{c:.4},{y:.4}").unwrap();
        }
        text
    };
    let mut helped = [0, 0];
    for (kind, rows) in [("out", 2000), ("mix", 2000), ("count", 3000)] {
        for seed in 1..=4 {
            let data = folder.write("q.csv", table(kind, rows, seed));
            let new = folder.write("new.csv", table(kind, 5000, seed + 100));
            let run = |q: &str| {
                json(&["learn", &data, "--target", "y", "--task", "numbers", "--loss", &format!("quantile:{q}"), "-o", &model])
            };
            // The share of new targets at or below the scores of the saved model.
            let share = || {
                let scores = succeed(&["predict", &model, &new]).0;
                let z = scores.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse::<f64>().unwrap());
                let text = folder.read("new.csv");
                let y = text.lines().skip(1).map(|line| line.rsplit(',').next().unwrap().parse::<f64>().unwrap());
                y.zip(z).filter(|(y, z)| y <= z).count() as f64 / 5000.0
            };
            let said = run("0.95")["warnings"].to_string();
            let Some(other) = said.split("The quantile ").nth(1) else { continue };
            let before = share();
            run(other.split(' ').next().unwrap());
            let after = share();
            helped[usize::from((after - 0.95).abs() > (before - 0.95).abs())] += 1;
        }
    }
    assert_eq!(helped[1], 0, "advice that helped and that did harm: {helped:?}");
}

/// If many targets are equal to the smallest one, more than a tenth of them lie at or below the 0.1 quantile: this is said, and nothing is advised.
#[test]
fn targets_with_many_ties_get_no_advice_about_their_quantile() {
    let folder = Folder::new("quantiles-ties");
    let mut random = Random(4);
    let mut text = String::from("a,b,y\n");
    for _ in 0..2000 {
        let [a, b, c] = [(); 3].map(|()| random.next());
        writeln!(text, "{a:.4},{b:.4},{}", if c < 0.4 { 0.0 } else { (8.0 * a * random.next()).round() }).unwrap();
    }
    let data = folder.write("t.csv", text);
    let all = json(&["learn", &data, "--target", "y", "--task", "numbers", "--loss", "quantile:0.1"]);
    let said = all["warnings"].to_string();
    assert!(said.contains("quantile is off") && said.contains("of the sampled values of y are 0, and 0 % are smaller"), "{said}");
    assert!(
        said.contains("is no sign of a poor prediction") && !said.contains("--step") && !said.contains("The quantile 0."),
        "{said}"
    );
}

/// With the quantile loss every error is the pinball loss: of the run, of the final model and of the model of all rows. The target level changes, so
/// that the final model has the smaller absolute error and by far the larger pinball loss.
#[test]
fn models_of_a_quantile_are_compared_by_their_pinball_loss() {
    let folder = Folder::new("quantiles-kept");
    let mut random = Random(12);
    let mut text = String::from("a,y\n");
    for i in 0..3000 {
        let (a, noise) = (random.next(), 10.0 * random.next());
        writeln!(text, "{:.4},{:.4}", a + f64::from(i / 1000), noise + 5.0 * f64::from(i / 1000)).unwrap();
    }
    let (data, model, scores) = (folder.write("q.csv", &text), folder.path("m.okl"), folder.path("p.csv"));
    let learn = ["learn", &data, "--target", "y", "--loss", "quantile:0.1", "-o", &model, "--save-model", "all"];
    let all = json(&learn);
    let (summary, past, kept) = (&all["summary"], &all["model_on_past_rows"], &all["saved_model"]);
    for (figures, error) in [(summary, &summary["error"]), (&past["summary"], &past["error"])] {
        assert_eq!((&figures["error_is"], error), (&"pinball_loss".into(), &figures["error"]), "{figures}");
        let (error, pinball) = (error.as_f64().unwrap(), figures["outputs"][0]["pinball"].as_f64().unwrap());
        assert!((error - pinball).abs() < 1e-9 * pinball, "{error} is not {pinball}");
    }
    assert_eq!(
        (past["expected"].as_f64(), kept["error_is"].as_str()),
        (summary["error"].as_f64(), Some("pinball_loss")),
        "{all}"
    );
    let share = |of: &serde_json::Value| of.as_f64().unwrap();
    assert!((share(&past["coverage"]) - share(&past["summary"]["outputs"][0]["coverage"]["seen"])).abs() < 1e-12, "{past}");
    // The saved model, by its predictions: on its last rows, all of which it has learned.
    succeed(&["predict", &model, &data, "-o", &scores]);
    let column =
        |text: &str| -> Vec<f64> { text.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect() };
    let rows = kept["last_rows"]["sampled_rows"].as_u64().unwrap() as usize;
    let pairs = column(&text).into_iter().zip(column(&folder.read("p.csv"))).skip(3000 - rows);
    let mean = pairs.map(|(y, z)| (0.1 * (y - z)).max(-0.9 * (y - z))).sum::<f64>() / rows as f64;
    let found = share(&kept["last_rows"]["all_error"]);
    assert!((found - mean).abs() < 1e-5 * mean, "{found} is not {mean}");
    assert!(share(&kept["all_coverage"]) < 0.5 && share(&kept["recent_coverage"]) <= 1.0, "{kept}");
    // The trivial prediction is the quantile of the targets; its pinball loss is far below that of the mean.
    assert!(share(&kept["trivial_error"]) < 1.5, "{kept}");
    let said = succeed(&learn).1;
    assert!(said.contains("mean pinball loss") && said.contains("pinball loss on ") && said.contains("\n  coverage "), "{said}");
    assert!(!said.contains("|r|") && !said.contains("mean absolute") && !said.contains("off by"), "{said}");
    assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    let evaluated = json(&["evaluate", &model, &data]);
    assert_eq!(evaluated["summary"]["error_is"], "pinball_loss", "{evaluated}");
    // Other losses of numbers are measured by the mean absolute error, and say so.
    for loss in ["absolute", "huber:1", "epsilon:0.1", "nu_epsilon", "nu_huber"] {
        let summary = json(&["learn", &data, "--target", "y", "--loss", loss])["summary"].clone();
        let (error, mae) = (share(&summary["error"]), share(&summary["outputs"][0]["mae"]));
        assert!(summary["error_is"] == "mean_absolute_error" && (error - mae).abs() < 1e-9 * mae, "{loss}: {summary}");
    }
}
