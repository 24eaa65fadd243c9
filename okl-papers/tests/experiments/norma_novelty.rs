//! norma-novelty, small.

use okl_papers::Context;
use okl_papers::norma_novelty::{Outcome, Pass, RATES, Setting, measure, most_novel};

use super::frame::page;

fn outcome() -> Outcome {
    measure(&Context::smoke(1)).expect("a smoke version runs")
}

/// The certificate of algorithms.md 3.5, for each pass of each setting.
#[test]
fn the_rate_of_alerts_is_as_certified() {
    for (setting, passes) in outcome().settings {
        for pass in passes {
            let off = (pass.rate(false) - setting.nu).abs();
            assert!(off <= pass.bound * (1.0 + 1e-9) + 1e-12, "{setting:?}: off by {off}, certified within {}", pass.bound);
        }
    }
}

/// If f is shrunk at every pattern, large steps hold rho at its projection, and steps of the size of nu do not. Shrunk at alerts only,
/// as in the author's script, the large steps do not either.
#[test]
fn the_steps_of_the_script_are_too_large_for_nu_unless_it_shrinks_at_alerts_only() {
    let outcome = outcome();
    let [printed, _, small, _, script] = Setting::all(RATES[0]);
    let mean = |setting, value: fn(&Pass) -> f64| {
        let passes = outcome.passes(setting);
        passes.iter().map(value).sum::<f64>() / passes.len() as f64
    };
    assert!(mean(printed, |p| p.rate(true)) > 2.0 * RATES[0]);
    assert!((mean(small, |p| p.rate(true)) - RATES[0]).abs() < 0.5 * RATES[0]);
    assert!((mean(script, |p| p.rate(true)) - RATES[0]).abs() < 0.5 * RATES[0]);
    assert!(mean(printed, Pass::held) > mean(small, Pass::held) && mean(printed, Pass::held) > mean(script, Pass::held));
}

#[test]
fn every_pattern_is_judged_before_it_is_learned() {
    let outcome = outcome();
    let pass = &outcome.passes(Setting::all(RATES[0])[0])[0];
    assert_eq!(pass.judged.len(), outcome.data.train.len());
    assert_eq!(pass.judged[0].score, 0.0);
    for judged in &pass.judged {
        assert_eq!(judged.alert, judged.threshold.map(|threshold| judged.score < threshold));
    }
}

#[test]
fn the_most_novel_come_first() {
    assert_eq!(most_novel(&[0.5, -1.0, 0.25, -1.0], 3), [1, 3, 2]);
}

#[test]
fn the_picture_of_the_paper_is_there() {
    let html = page("norma-novelty");
    let pictures: Vec<usize> = html
        .split("<ul class=\"images\">")
        .skip(1)
        .map(|p| p.split("</ul>").next().unwrap_or("").matches("<img").count())
        .collect();
    assert_eq!(pictures.len(), 5);
    assert!(pictures[1..].iter().all(|n| *n == 50), "{pictures:?}");
}
