//! One output of a regression: errors, and the spread of the target they are to be held against.

use super::histogram::Histogram;
use super::summary::{OutputSummary, Residuals};
use super::window::Mean;

/// Bars of a residual histogram.
const BARS: usize = 41;

/// Running figures of one output.
#[derive(Clone, Debug, Default)]
pub(super) struct OutputCounts {
    absolute: Mean,
    squared: Mean,
    residual: Mean,
    /// Welford's mean and sum of squares of the target.
    mean: f64,
    spread: f64,
    weight: f64,
    last: Option<f64>,
    no_change: Mean,
    residuals: Histogram,
}

impl OutputCounts {
    /// One example; returns the absolute error.
    pub fn add(&mut self, score: f64, target: f64, weight: f64) -> f64 {
        let residual = target - score;
        self.absolute.add(residual.abs(), weight);
        self.squared.add(residual * residual, weight);
        self.residual.add(residual, weight);
        self.residuals.add(residual, weight);
        if let Some(last) = self.last.replace(target) {
            self.no_change.add((target - last).abs(), weight);
        }
        self.weight += weight;
        let away = target - self.mean;
        self.mean += weight / self.weight * away;
        self.spread += weight * away * (target - self.mean);
        residual.abs()
    }

    pub fn no_change(&self) -> Option<f64> {
        self.no_change.value()
    }

    pub fn summary(&self, name: String) -> OutputSummary {
        let squared = self.squared.value();
        OutputSummary {
            name,
            rmse: squared.map(f64::sqrt),
            mae: self.absolute.value(),
            bias: self.residual.value(),
            r2: squared.filter(|_| self.spread > 0.0).map(|s| 1.0 - s * self.weight / self.spread),
            no_change_mae: self.no_change(),
            residuals: self.residuals(),
        }
    }

    /// Equal bars about 0 that hold all but the outermost hundredth, so that the first guesses of a young model do not flatten the rest.
    fn residuals(&self) -> Option<Residuals> {
        let reach = self.residuals.quantile(0.005).abs().max(self.residuals.quantile(0.995).abs());
        let (counts, outside) = self.residuals.linear(-reach, reach, BARS);
        (reach > 0.0).then(|| Residuals { reach, counts, outside, median: self.residuals.quantile(0.5) })
    }
}
