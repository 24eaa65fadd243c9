//! The unit of targets, and the step sizes that are chosen for a loss.

use okl::Config;
use okl::config::Choice;
use okl::loss::AnyLoss;

use crate::metrics::{Coverage, OutputSummary, figure};

/// Fewer examples say nothing.
const ENOUGH: u64 = 100;

/// The targets of one output, and how well they are predicted.
pub struct Target {
    /// The name of the target.
    pub name: String,
    /// The mean of the targets.
    pub mean: Option<f64>,
    /// Their standard deviation.
    pub deviation: Option<f64>,
    /// The share of their variance that is predicted.
    pub r2: Option<f64>,
    /// Of a quantile: the share of targets at or below it.
    pub coverage: Option<Coverage>,
}

impl Target {
    /// Of an output of a run.
    pub fn of(output: &OutputSummary) -> Target {
        let OutputSummary { target_mean: mean, target_deviation: deviation, r2, coverage, .. } = *output;
        Target { name: output.name.clone(), mean, deviation, r2, coverage }
    }

    /// The coverage of a quantile far from the median. It is far from the mean, too: its R² says nothing, but its coverage does.
    fn outer(&self) -> Option<Coverage> {
        self.coverage.filter(|coverage| (coverage.asked - 0.5).abs() > 0.25)
    }

    fn is_poor(&self) -> bool {
        self.outer().map_or(self.r2.is_some_and(|r2| r2 < 0.5), |coverage| coverage.is_off())
    }

    fn is_far(&self, limit: f64) -> bool {
        let (mean, deviation) = (self.mean.unwrap_or(0.0), self.deviation.unwrap_or(1.0));
        !(1.0 / limit..=limit).contains(&deviation) || mean.abs() > limit
    }
}

/// Targets that are poorly predicted because of their unit.
pub struct Finding {
    name: String,
    mean: f64,
    deviation: f64,
    /// The parameter of the loss that is in the unit of the targets.
    parameter: Option<&'static str>,
    /// The shifts of the `target_scale` that helps, separated by commas.
    pub shift: String,
    /// Its factors.
    pub factor: String,
}

impl Finding {
    /// One or two sentences. `with`: what the reader is going to set.
    pub fn says(&self, with: &str) -> String {
        let in_units = self
            .parameter
            .map_or(String::new(), |parameter| format!(" With {with}, {parameter} is in standard deviations of the target."));
        format!(
            "The step sizes that are chosen for this loss suit targets with a mean near 0 and a standard deviation near 1. {} has mean {} \
             and standard deviation {}.{in_units}",
            self.name,
            figure(self.mean),
            figure(self.deviation)
        )
    }
}

/// Finds targets that are poorly predicted because their unit is not that of the step sizes that are chosen for the loss. A loss with an
/// adaptive tube or scale learns with one setting; the gradient of every loss but the squared one is at most 1, so that its steps are too
/// short for targets with a large deviation.
pub fn finding(asked: &Config, examples: u64, outputs: &[Target]) -> Option<Finding> {
    let chosen = asked.step == Choice::Auto && asked.loss != AnyLoss::Squared {} && asked.target_scale.is_none();
    let parameter = match *asked.loss {
        AnyLoss::Epsilon { .. } => Some("epsilon"),
        AnyLoss::Huber { .. } => Some("sigma"),
        _ => None,
    };
    // Measured: the quantile loss gains from units only where its targets are much farther away.
    let limit = if matches!(*asked.loss, AnyLoss::Quantile { .. }) { 300.0 } else { 3.0 };
    let found = outputs.iter().find(|output| output.is_poor() && output.is_far(limit));
    let found = found.filter(|_| chosen && examples >= ENOUGH)?;
    let list = |value: fn(&Target) -> f64| outputs.iter().map(value).map(plain).collect::<Vec<_>>().join(", ");
    Some(Finding {
        name: found.name.clone(),
        mean: found.mean?,
        deviation: found.deviation?,
        parameter,
        shift: list(|output| output.mean.unwrap_or(0.0)),
        factor: list(|output| output.deviation.filter(|deviation| *deviation > 0.0).map_or(1.0, f64::recip)),
    })
}

/// A number with three digits, as a file of settings takes it.
fn plain(value: f64) -> String {
    format!("{value:.2e}").parse::<f64>().unwrap_or(value).to_string()
}
