//! norma-losses, small: the laws that hold at any size.

use std::sync::OnceLock;

use okl_papers::Context;
use okl_papers::norma_losses::noise::Noise;
use okl_papers::norma_losses::{Outcome, classes, measure};

fn outcome() -> &'static Outcome {
    static OUTCOME: OnceLock<Outcome> = OnceLock::new();
    OUTCOME.get_or_init(|| measure(&Context::smoke(1)).expect("a smoke version runs"))
}

/// Noise without a variance throws the squared loss off, and neither Huber's loss nor the tube.
#[test]
fn robust_losses_are_robust() {
    let distance = |family| outcome().robust.cell(Noise::Student, family).expect("a cell").distance.mean;
    for family in ["huber", "nu_huber", "nu_epsilon", "absolute"] {
        assert!(distance(family) < distance("squared"), "{family}: {} against {}", distance(family), distance("squared"));
    }
}

/// N(17) keeps every example, N(18) those outside the tube.
#[test]
fn the_tube_keeps_what_is_outside_it() {
    let kept = |family| outcome().robust.cell(Noise::Uniform, family).expect("a cell").kept;
    assert_eq!(kept("squared"), 1.0);
    assert!(kept("nu_epsilon") < 0.9);
}

#[test]
fn the_share_outside_is_as_certified() {
    for found in &outcome().tube.found {
        let off = (found.outside.mean - found.nu).abs();
        assert!(off <= found.bound, "{} {}: off by {off}, certified within {}", found.loss, found.noise.name(), found.bound);
    }
    for cell in outcome().classes.cells.iter().flatten().filter(|c| c.outside.is_some()) {
        let nu: f64 = cell.chosen.loss.rsplit('=').next().and_then(|nu| nu.parse().ok()).expect("nu");
        let (rate, bound) = cell.outside.expect("a rate");
        assert!((rate - nu).abs() <= bound, "{}: {rate}, certified within {bound}", cell.chosen.loss);
    }
}

/// Half of the noise is below its median: tube and scale come near it, from a start at twice its size.
#[test]
fn tube_and_scale_find_the_median_of_the_noise() {
    for found in outcome().tube.found.iter().filter(|found| found.nu == 0.5) {
        let ratio = found.theta.mean / found.noise.exceeded_by(0.5);
        assert!((ratio - 1.0).abs() < 0.2, "{} {}: {ratio}", found.loss, found.noise.name());
    }
}

/// A perceptron keeps its mistakes and the squared loss everything; the hinge is between.
#[test]
fn margin_losses_keep_fewer_examples() {
    let terms = |name: &str| {
        let at = classes::FAMILIES.iter().position(|f| f.name == name).expect("a family");
        outcome().classes.cells[0][at].terms
    };
    assert!(terms("perceptron") < terms("hinge") && terms("hinge") < terms("squared"));
    assert_eq!(terms("squared"), outcome().classes.rows as f64);
}

/// N(11), and algorithms.md 3.6 for a smooth loss.
#[test]
fn truncation_is_bounded() {
    for run in &outcome().truncation {
        for p in &run.points {
            assert!(p.dropped <= p.proposition && p.certificate <= p.proposition, "{}: {p:?}", run.loss);
            assert!(run.loss != "huber" || p.between_runs <= p.certificate, "{}: {p:?}", run.loss);
            assert!(p.dropped > 0.0 && p.between_runs > 0.0, "{}: nothing was dropped: {p:?}", run.loss);
        }
    }
}

/// E25, N(22), N(23).
#[test]
fn regret_is_bounded() {
    let regret = &outcome().regret;
    for point in regret.theorem1.iter().chain(&regret.theorem2) {
        assert!(point.regret <= point.certificate && point.certificate <= point.theorem, "{point:?}");
    }
    assert_eq!(regret.theorem2.last().map(|p| p.examples), Some(regret.rows as f64));
}

/// N(24); u is the best function there is, so nothing is better than it by more than what its search has left.
#[test]
fn the_average_is_bounded() {
    let regret = &outcome().regret;
    for point in &regret.theorem3 {
        assert!(point.excess <= point.theorem && point.excess > -0.01 * regret.risk, "{point:?}");
    }
    let (first, last) = (regret.theorem3.first().expect("points"), regret.theorem3.last().expect("points"));
    assert!(last.excess < 0.5 * first.excess, "{first:?} {last:?}");
}
