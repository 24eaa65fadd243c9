//! Losses by their formulas.

use okl::loss::AnyLoss;

use crate::case::Target;
use crate::points::norm;

/// l(z, y, theta); `class` is the number of a row's class. A class that is alone competes with one not yet seen, whose score is 0.
pub fn loss(of: &AnyLoss, z: &[f64], y: &Target, class: Option<usize>, theta: f64) -> f64 {
    let alone = matches!(of, AnyLoss::MaxMargin {} | AnyLoss::Softmax {}) && z.len() == 1;
    let z = if alone { &[z[0], 0.0] } else { z };
    let number = |i: usize| if let Target::Numbers(y) = y { y[i] } else { 0.0 };
    let margin = |m: f64| (m - number(0) * z[0]).max(0.0);
    let residual = || z.iter().enumerate().map(|(i, z)| number(i) - z).collect::<Vec<_>>();
    let huber = |sigma: f64| {
        let r = norm(&residual());
        if r >= sigma { r - sigma / 2.0 } else { r * r / (2.0 * sigma) }
    };
    match of {
        AnyLoss::Hinge { margin: m } => margin(*m),
        AnyLoss::NuHinge { nu } => margin(theta) - nu * theta,
        AnyLoss::Perceptron {} => margin(0.0),
        AnyLoss::Logistic {} => log_one_plus_exp(-number(0) * z[0]),
        AnyLoss::MaxMargin {} => {
            let c = class.expect("a class");
            let best = z.iter().enumerate().filter(|(i, _)| *i != c).map(|(_, z)| *z).fold(f64::NEG_INFINITY, f64::max);
            (1.0 + best - z[c]).max(0.0)
        }
        AnyLoss::Softmax {} => {
            let c = class.expect("a class");
            let top = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            top + z.iter().map(|z| (z - top).exp()).sum::<f64>().ln() - z[c]
        }
        AnyLoss::Novelty { margin } => (margin - z[0]).max(0.0),
        AnyLoss::NuNovelty { nu } => (theta - z[0]).max(0.0) - nu * theta,
        AnyLoss::Density { .. } => -z[0],
        AnyLoss::Squared {} => residual().iter().map(|r| r * r).sum::<f64>() / 2.0,
        AnyLoss::Absolute {} => norm(&residual()),
        AnyLoss::Epsilon { epsilon } => (norm(&residual()) - epsilon).max(0.0),
        AnyLoss::NuEpsilon { nu } => (norm(&residual()) - theta).max(0.0) + nu * theta,
        AnyLoss::Huber { sigma } => huber(*sigma),
        AnyLoss::NuHuber { .. } => huber(theta),
        AnyLoss::Quantile { q } => {
            let r = number(0) - z[0];
            if r > 0.0 { q * r } else { (q - 1.0) * r }
        }
        other => panic!("the formula of {other:?} is not known here"),
    }
}

/// Whether the example is outside, and its distance from the threshold.
pub fn outside(of: &AnyLoss, z: &[f64], y: &Target, theta: f64) -> Option<(bool, f64)> {
    let residual = || {
        let Target::Numbers(y) = y else { return 0.0 };
        norm(&y.iter().zip(z).map(|(y, z)| y - z).collect::<Vec<_>>())
    };
    let gap = match of {
        AnyLoss::NuHinge { .. } => {
            let Target::Numbers(y) = y else { return None };
            theta - y[0] * z[0]
        }
        AnyLoss::NuNovelty { .. } => theta - z[0],
        AnyLoss::NuEpsilon { .. } | AnyLoss::NuHuber { .. } => residual() - theta,
        AnyLoss::Hinge { .. }
        | AnyLoss::Perceptron {}
        | AnyLoss::Logistic {}
        | AnyLoss::MaxMargin {}
        | AnyLoss::Softmax {}
        | AnyLoss::Novelty { .. }
        | AnyLoss::Density { .. }
        | AnyLoss::Squared {}
        | AnyLoss::Absolute {}
        | AnyLoss::Epsilon { .. }
        | AnyLoss::Huber { .. }
        | AnyLoss::Quantile { .. } => return None,
        other => panic!("{other:?}: when an example of a new loss is outside is missing here"),
    };
    Some((gap > 0.0, gap.abs()))
}

fn log_one_plus_exp(v: f64) -> f64 {
    v.max(0.0) + (-v.abs()).exp().ln_1p()
}
