//! One output of a regression: its errors, and the variance of the target to compare them with.

use super::histogram::Histogram;
use super::recent_median::RecentMedian;
use super::summary::{Coverage, OutputSummary, Residuals};
use okl::means::{Mean, Spread, WINDOW, Window};

/// Bars of a residual histogram.
const BARS: usize = 41;

/// Running figures of one output.
#[derive(Clone, Debug, Default)]
pub(super) struct OutputCounts {
    absolute: Mean,
    squared: Mean,
    /// The squared error of the first example alone, and of all others. A difference of sums would lose the digits of the smaller one.
    first: Mean,
    after_first: Mean,
    residual: Mean,
    targets: Spread,
    last: Option<f64>,
    no_change: Mean,
    /// The last targets, for the error of their median.
    recent: RecentMedian,
    /// The change from the last target, with its sign.
    change: Mean,
    residuals: Histogram,
    /// Targets at or below the score, of all examples and of the last ones.
    covered: Mean,
    covered_last: Window,
    examples: u64,
}

impl OutputCounts {
    /// Adds one example; returns the absolute error.
    pub fn add(&mut self, score: f64, target: f64, weight: f64) -> f64 {
        let residual = target - score;
        self.absolute.add(residual.abs(), weight);
        self.squared.add(residual * residual, weight);
        self.residual.add(residual, weight);
        self.residuals.add(residual, weight);
        let covered = f64::from(u8::from(target <= score));
        self.covered.add(covered, weight);
        self.covered_last.add(covered, weight);
        self.examples += 1;
        self.no_change.add((target - self.last()).abs(), weight);
        self.change.add(target - self.last(), weight);
        self.last = Some(target);
        self.recent.add(target);
        let part = if self.examples == 1 { &mut self.first } else { &mut self.after_first };
        part.add(residual * residual, weight);
        self.targets.add(target, weight);
        residual.abs()
    }

    /// The last target. Before the first example: 0, which is also the score of a model that has learned nothing.
    pub fn last(&self) -> f64 {
        self.last.unwrap_or(0.0)
    }

    /// The median of up to 1,000 targets before the next one; 0 before the first example.
    pub fn recent_median(&self) -> f64 {
        self.recent.value()
    }

    pub fn no_change(&self) -> Option<f64> {
        self.no_change.value()
    }

    /// The error of repeating the last target: the mean absolute one, or the mean pinball loss.
    pub fn no_change_error(&self, quantile: Option<f64>) -> Option<f64> {
        match quantile {
            None => self.no_change(),
            Some(q) => mean_pinball(q, &self.no_change, &self.change),
        }
    }

    /// The total weight of the targets at or below the scores, and of all targets.
    pub fn covered(&self) -> [f64; 2] {
        let all = self.covered.weight();
        [self.covered.value().map_or(0.0, |share| share * all), all]
    }

    /// The figures so far. `quantile`: the quantile that the score predicts; none unless the loss is the quantile loss. `weighted`: whether rows have
    /// weights other than 1.
    pub fn summary(&self, name: String, quantile: Option<f64>, weighted: bool) -> OutputSummary {
        let squared = self.squared.value();
        OutputSummary {
            name,
            target_mean: self.targets.mean(),
            target_deviation: self.targets.deviation(),
            rmse: squared.map(f64::sqrt),
            mae: self.absolute.value(),
            bias: self.residual.value().map(|residual| 0.0 - residual),
            r2: squared.and_then(|squared| self.targets.explained(squared)),
            no_change_mae: self.no_change(),
            rmse_after_first: self.after_first.value().map(f64::sqrt),
            first_share: self.first.share_of(&self.squared),
            pinball: quantile.and_then(|q| mean_pinball(q, &self.absolute, &self.residual)),
            coverage: quantile.and_then(|asked| self.coverage(asked, weighted)),
            residuals: self.residuals(),
        }
    }

    fn coverage(&self, asked: f64, weighted: bool) -> Option<Coverage> {
        let last_examples = self.examples.min(WINDOW as u64);
        Some(Coverage { asked, seen: self.covered.value()?, last: self.covered_last.value()?, last_examples, weighted })
    }

    /// Bars of about equal width around 0 that contain the inner 99 % of the residuals. The large first residuals of a new model
    /// would otherwise stretch the axis.
    fn residuals(&self) -> Option<Residuals> {
        let reach = Some(self.residuals.reach([0.005, 0.995])).filter(|reach| *reach > 0.0)?;
        let (edges, counts) = self.residuals.bars(reach, BARS);
        let (below, zero, above) = self.residuals.signs();
        let (outside, median) = ((self.residuals.total() - counts.iter().sum::<f64>()).max(0.0), self.residuals.median());
        Some(Residuals { reach, edges, counts, outside, median, below, zero, above })
    }
}

/// The mean of max(q r, (q - 1) r), from the means of |r| and r.
fn mean_pinball(q: f64, absolute: &Mean, signed: &Mean) -> Option<f64> {
    Some(0.5 * absolute.value()? + (q - 0.5) * signed.value()?)
}
