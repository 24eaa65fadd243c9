//! Running figures of a model: every row is scored before it is learned (progressive validation).

use std::collections::VecDeque;

use okl::certificate::AlertRate;
use okl::loss::{AnyLoss, Loss, Reads, pinball};
use okl::means::{Mean, Spread, Window};
use okl::{Label, Learner};
use serde::{Deserialize, Serialize};

use super::drift::{Drift, Watch, infinite};
use crate::rows::Learnable;
use crate::surface::TargetFigures;

/// The number of alerts that are kept, and of drifts.
const ALERTS: usize = 20;

/// A row that was unlike the rows before it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alert {
    /// The number of the row in the model, from 0.
    pub row: u64,
    /// Its score before the update.
    pub score: f64,
    /// The threshold: a score below it is an alert.
    pub threshold: Option<f64>,
    /// The columns with the largest values after scaling: a first hint at the reason.
    pub columns: Vec<(String, f64)>,
}

/// The outcome of one row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowOutcome {
    /// The scores before the update.
    pub scores: Vec<f64>,
    /// The loss, if the row was learned.
    pub loss: Option<f64>,
    /// Whether the row is one that a loss with nu counts: inside the margin, outside the tube, beyond the scale, or an alert.
    pub outside: Option<bool>,
    /// The threshold of the novelty score.
    pub threshold: Option<f64>,
    /// The class of positive scores.
    pub positive: Option<usize>,
}

/// The targets of one output, and the errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OutputFigures {
    target: Spread,
    /// The sum of the squared errors, each times its weight.
    #[serde(deserialize_with = "infinite")]
    squared: f64,
    weight: f64,
}

/// The running figures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// All rows, also those without a target.
    pub rows: u64,
    /// The rows with a target and a weight above 0; of a detector, those that were learned.
    pub examples: u64,
    /// The examples that a model file had learned before it was uploaded: their losses and errors are not known.
    #[serde(default)]
    pub before: u64,
    /// If the model was a member of a bank of this server (`freeze`): the examples that the bank had learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen: Option<u64>,
    /// The examples without an error: the first rows of a detector, which has no threshold yet.
    #[serde(default)]
    pub unmeasured: u64,
    /// The sum of the losses, each times its weight.
    #[serde(deserialize_with = "infinite")]
    pub loss: f64,
    /// The sum of the errors, each times its weight: 1 for a wrong class or an alert, of numbers as [`error_of`] has it.
    #[serde(deserialize_with = "infinite")]
    pub error: f64,
    /// The total weight of the examples in `loss`. None in older snapshots: there, every example counts 1.
    #[serde(default)]
    pub loss_weight: Option<f64>,
    /// The total weight of the examples in `error`.
    #[serde(default)]
    pub error_weight: Option<f64>,
    /// The errors of the last 1,000 examples.
    pub recent: Window,
    /// The number of alerts of a novelty detector.
    pub alerts: u64,
    /// The last alerts.
    pub last_alerts: VecDeque<Alert>,
    /// The comparison of errors; see [`drift`](super::drift).
    #[serde(default)]
    pub watch: Watch,
    /// The number of drifts.
    #[serde(default)]
    pub drifts: u64,
    /// The last drifts.
    #[serde(default)]
    pub last_drifts: VecDeque<Drift>,
    /// Of numbers: one entry per output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<OutputFigures>,
    /// Waiting rows that expired without a target.
    pub expired: u64,
    /// Waiting rows whose target arrived.
    pub labelled: u64,
}

impl Figures {
    /// The figures of a model file that has learned this many examples.
    pub fn after(examples: u64) -> Figures {
        Figures { rows: examples, examples, before: examples, ..Figures::default() }
    }

    /// The mean error of all examples that have one, by weight.
    pub fn mean_error(&self) -> Option<f64> {
        Mean::of(self.error_sum(), self.error_weight()).value()
    }

    fn error_weight(&self) -> f64 {
        self.error_weight.unwrap_or_else(|| self.examples.saturating_sub(self.before + self.unmeasured) as f64)
    }

    fn loss_weight(&self) -> f64 {
        self.loss_weight.unwrap_or_else(|| self.examples.saturating_sub(self.before) as f64)
    }

    /// The sum of the errors. Older snapshots of a detector have no errors: each of their alerts is an error of 1.
    fn error_sum(&self) -> f64 {
        if self.recent.is_empty() { self.alerts as f64 } else { self.error }
    }

    /// The mean error of the last examples, by weight.
    pub fn recent_error(&self) -> Option<f64> {
        self.recent.value()
    }

    /// The mean loss of all examples, by weight.
    pub fn mean_loss(&self) -> Option<f64> {
        Mean::of(self.loss, self.loss_weight()).value()
    }

    /// Counts a row with its error and its weight; returns the drift that is found at this row. As in `okl learn`, a row has an error if it
    /// has a target and a weight above 0, also if the learner did not use it.
    pub fn add(&mut self, outcome: &RowOutcome, error: Option<f64>, weight: f64) -> Option<Drift> {
        self.rows += 1;
        let weight_if = |counted: bool| if counted { weight } else { 0.0 };
        self.loss_weight = Some(self.loss_weight() + weight_if(outcome.loss.is_some()));
        self.error_weight = Some(self.error_weight() + weight_if(error.is_some()));
        self.loss += outcome.loss.unwrap_or(0.0);
        self.error = self.error_sum() + error.map_or(0.0, |error| weight * error);
        self.examples += u64::from(outcome.loss.is_some() || error.is_some());
        self.unmeasured += u64::from(outcome.loss.is_some() && error.is_none());
        let error = error?;
        self.recent.add(error, weight);
        let drift = self.watch.add(error, self.examples)?;
        self.drifts += 1;
        self.last_drifts.push_back(drift);
        self.last_drifts.drain(..self.last_drifts.len().saturating_sub(ALERTS));
        Some(drift)
    }

    /// Counts the targets of a row of numbers.
    pub fn add_targets(&mut self, scores: &[f64], targets: &[f64], weight: f64) {
        self.outputs.resize(targets.len(), OutputFigures::default());
        for ((output, score), target) in self.outputs.iter_mut().zip(scores).zip(targets) {
            output.target.add(*target, weight);
            output.squared += weight * (target - score) * (target - score);
            output.weight += weight;
        }
    }

    /// The targets of each output, and how well they are predicted.
    pub fn targets(&self) -> Vec<TargetFigures> {
        let figures = |output: &OutputFigures| {
            let r2 = Mean::of(output.squared, output.weight).value().and_then(|squared| output.target.explained(squared));
            Some(TargetFigures { mean: output.target.mean()?, deviation: output.target.deviation()?, r2 })
        };
        self.outputs.iter().filter_map(figures).collect()
    }

    /// Keeps an alert.
    pub fn alert(&mut self, alert: Alert) {
        self.alerts += 1;
        self.last_alerts.push_back(alert);
        self.last_alerts.drain(..self.last_alerts.len().saturating_sub(ALERTS));
    }
}

/// The share of alerts of a detector, or the share that another loss with nu counts: examples inside the margin (nu_hinge), targets outside the tube
/// (nu_epsilon), residuals beyond the scale (nu_huber).
pub fn rate_of(learner: &Learner, of_alerts: bool) -> Option<AlertRate> {
    let detects = learner.config().loss.reads() == Reads::Nothing;
    learner.alert_rate().filter(|_| detects == of_alerts)
}

/// What the errors of a model are, for its figures: over the last 1,000 rows, and over all rows.
pub fn names_of_errors(learner: &Learner) -> [&'static str; 2] {
    match learner.config().loss.reads() {
        Reads::Sign | Reads::Class => ["wrong, last 1,000 rows", "wrong, all rows"],
        Reads::Nothing => ["alerts, share of the last 1,000 rows", "alerts, share of all rows"],
        _ if quantile(learner).is_some() => ["mean pinball loss, last 1,000 rows", "mean pinball loss, all rows"],
        Reads::Number | Reads::Vector => ["mean |error|, last 1,000 rows", "mean |error|, all rows"],
    }
}

/// The quantile that a model predicts; none for other losses. The errors of its rows are pinball losses.
pub fn quantile(learner: &Learner) -> Option<f64> {
    if let AnyLoss::Quantile { q } = *learner.config().loss { Some(q) } else { None }
}

/// The error of one row: 0 or 1 for a class; for numbers |score - target|, or the pinball loss of a quantile, averaged over the outputs. Without a
/// target, 1 for an alert.
/// `known`: the number of classes before this row.
pub fn error_of(learner: &Learner, known: usize, outcome: &RowOutcome, targets: &Learnable, row: usize) -> Option<f64> {
    match targets {
        Learnable::None => outcome.outside.map(|outside| f64::from(u8::from(outside))),
        Learnable::Labels(labels) => Some(f64::from(u8::from(!is_right(learner.classes(), known, outcome, &labels[row])))),
        Learnable::Numbers(_) => {
            let error = |residual: f64| quantile(learner).map_or(residual.abs(), |q| pinball(q, residual));
            let errors = outcome.scores.iter().zip(numbers_of(targets, outcome, row)?).map(|(z, y)| error(y - z));
            Some(errors.sum::<f64>() / outcome.scores.len().max(1) as f64)
        }
    }
}

/// The numbers of a row.
pub fn numbers_of<'a>(targets: &'a Learnable, outcome: &RowOutcome, row: usize) -> Option<&'a [f64]> {
    let width = outcome.scores.len().max(1);
    match targets {
        Learnable::Numbers(y) => y.get(row * width..(row + 1) * width),
        _ => None,
    }
}

/// Whether the class of a row was predicted, by the rule of `okl learn`: of the classes before this row the one with the largest score, the
/// earlier one of equal scores. If two classes share one score: the positive class above 0, otherwise the other one.
fn is_right(classes: &[Label], known: usize, outcome: &RowOutcome, label: &Label) -> bool {
    let scores = &outcome.scores;
    let predicted = match outcome.positive {
        // Models of older files may have no names of classes.
        None if classes.is_empty() => return (scores[0] > 0.0) == (*label == Label::Int(1)),
        _ if known == 0 => return false,
        Some(positive) if scores.len() == 1 && known > 1 => usize::from((scores[0] > 0.0) == (positive == 1)),
        _ => (1..scores.len().min(known)).fold(0, |best, i| if scores[i] > scores[best] { i } else { best }),
    };
    classes.get(predicted) == Some(label)
}

/// The number of classes after a row of this class that was learned.
pub fn known_after(learner: &Learner, known: usize, targets: &Learnable, row: usize) -> usize {
    match targets {
        Learnable::Labels(labels) => known.max(learner.classes().iter().position(|c| *c == labels[row]).map_or(0, |at| at + 1)),
        _ => known,
    }
}
