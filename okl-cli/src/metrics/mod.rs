//! Running metrics of a stream: every row is scored before it is learned (progressive validation).
//!
//! Memory does not grow with the stream: sums, a window of 1,000 rows, a confusion matrix of at most 51 x 51, and
//! histograms in bins of constant relative width (32 kB, and 1 kB for each binary order of magnitude of either sign that occurs: two for the area under the ROC curve, one per output).
//!
//! Streams are autocorrelated, so an error alone says little. The error of the no-change predictor, which repeats the last
//! target, is shown beside it. All counts are weighted; a row of weight 0 is treated as a row without a target.

mod classes;
mod histogram;
mod numbers;
mod recent_median;
mod summary;

use serde::{Deserialize, Serialize};

pub use classes::MOST_CLASSES;
pub use okl::means::WINDOW;
pub use summary::{
    Auc, ClassFigures, ClassSummary, Confusion, Coverage, NotLearned, OutputSummary, Residuals, Summary, Trivial, at_least,
    at_most, bound, count, figure, percent, right, shortened,
};

use classes::ClassCounts;
use numbers::OutputCounts;
use okl::loss::pinball;
use okl::means::{Mean, Window};

/// The type of prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// A class per row.
    Classes,
    /// One or more numbers per row.
    Numbers,
    /// No target: finds rows that are unlike the others.
    Novelty,
}

/// What "error" is in the figures of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// The share of wrong classes.
    #[default]
    ShareOfMistakes,
    /// The mean absolute error of numbers, for all losses but the quantile loss.
    MeanAbsoluteError,
    /// The mean pinball loss of numbers, in the unit of the targets, for the quantile loss.
    PinballLoss,
    /// The share of alerts.
    ShareOfAlerts,
}

impl Measure {
    /// The name in a line of figures.
    pub fn name(self) -> &'static str {
        match self {
            Measure::ShareOfMistakes | Measure::MeanAbsoluteError => "error",
            Measure::PinballLoss => "pinball loss",
            Measure::ShareOfAlerts => "alert rate",
        }
    }

    /// A value as text.
    pub fn show(self, value: f64) -> String {
        match self {
            Measure::MeanAbsoluteError | Measure::PinballLoss => figure(value),
            Measure::ShareOfMistakes | Measure::ShareOfAlerts => percent(value),
        }
    }
}

/// The target of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target<'a> {
    /// Not known.
    None,
    /// The class, numbered in order of appearance.
    Class(usize),
    /// One number per output.
    Numbers(&'a [f64]),
}

/// One row: its scores before the update, its target and its loss.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// One score per output. With one score for two classes: positive for the class of [`Metrics::positive_is`].
    pub scores: &'a [f64],
    /// The target.
    pub target: Target<'a>,
    /// The loss times the weight, as [`okl::Outcome`] has it; none for a row that was only predicted.
    pub loss: Option<f64>,
    /// The weight of the row; usually 1.
    pub weight: f64,
    /// Whether the example was outside the margin, tube or threshold; none if there is no threshold (yet).
    pub alert: Option<bool>,
}

#[derive(Clone, Debug)]
enum Detail {
    Classes(Box<ClassCounts>),
    Numbers(Vec<OutputCounts>),
    Novelty,
}

/// The running metrics of one task.
///
/// ```text
/// let mut metrics = Metrics::new(Task::Classes, 0);                // no class is known in advance
/// learner.learn_with(&batch, |i, step| metrics.add(&Observed {
///     scores: step.scores, target: Target::Class(y[i]), loss: step.loss, weight: 1.0, alert: None,
/// }))?;
/// println!("{}", metrics.summary(&names));
/// ```
#[derive(Clone, Debug)]
pub struct Metrics {
    detail: Detail,
    rows: u64,
    examples: u64,
    weight: f64,
    /// Whether an example has a weight other than 1. The sum alone does not tell: weights can have the mean 1.
    weighted: bool,
    not_learned: NotLearned,
    quantile: Option<f64>,
    loss: [Mean; 2],
    error: [Mean; 2],
    /// Errors of the examples after the first one.
    after_first: Mean,
    window: Window,
    /// Errors of the no-change predictor, for numbers.
    no_change_window: Window,
    /// Absolute errors of the median of the targets before, for numbers.
    median_window: Window,
    alerts: Mean,
    alert_window: Window,
    /// Rows for which an alert was decided.
    judged: u64,
}

impl Metrics {
    /// Metrics of a task with this many outputs or classes; 0 if the number is not known in advance.
    pub fn new(task: Task, outputs: usize) -> Self {
        let detail = match task {
            Task::Classes => Detail::Classes(Box::new(ClassCounts::new(outputs))),
            Task::Numbers => Detail::Numbers(vec![OutputCounts::default(); outputs]),
            Task::Novelty => Detail::Novelty,
        };
        let (loss, error, window, alert_window) = Default::default();
        let (not_learned, alerts, no_change_window, median_window, after_first) = Default::default();
        Metrics {
            detail,
            rows: 0,
            examples: 0,
            weight: 0.0,
            weighted: false,
            not_learned,
            quantile: None,
            loss,
            error,
            after_first,
            window,
            no_change_window,
            median_window,
            alerts,
            alert_window,
            judged: 0,
        }
    }

    /// Sets the quantile that the scores predict, so that coverage is counted.
    pub fn with_quantile(mut self, q: Option<f64>) -> Self {
        self.quantile = q;
        self
    }

    /// Takes over the window of the last 1,000 rows from other metrics: the error over a window of few rows would be noisy.
    pub fn after(mut self, before: Metrics) -> Self {
        self.window = before.window;
        self
    }

    /// Adds one row.
    pub fn add(&mut self, row: &Observed<'_>) {
        self.add_scored(row);
    }

    /// Adds one row; returns its error (1 for a mistake, the mean absolute error also of a quantile, 1 for an alert), if it has one.
    pub fn add_scored(&mut self, row: &Observed<'_>) -> Option<f64> {
        self.rows += 1;
        if row.weight <= 0.0 {
            self.not_learned.of_weight_zero += 1;
            return None;
        }
        if let Some(loss) = row.loss {
            self.loss.iter_mut().for_each(|mean| mean.add_product(loss, row.weight));
        }
        if let Some(alert) = row.alert {
            self.judged += 1;
            self.alerts.add(f64::from(u8::from(alert)), row.weight);
            self.alert_window.add(f64::from(u8::from(alert)), row.weight);
        }
        let error = self.add_target(row);
        let example = error.is_some() || (matches!(self.detail, Detail::Novelty) && row.loss.is_some());
        self.examples += u64::from(example);
        self.weight += if example { row.weight } else { 0.0 };
        self.weighted |= example && row.weight != 1.0;
        match (example, row.loss) {
            (false, _) if matches!(self.detail, Detail::Novelty) => self.not_learned.without_threshold += 1,
            (false, _) => self.not_learned.without_target += 1,
            (true, None) => self.not_learned.by_the_learner += 1,
            _ => {}
        }
        error
    }

    /// Adds a row to the metrics of its task; returns its error, if it has one.
    fn add_target(&mut self, row: &Observed<'_>) -> Option<f64> {
        let quantile = self.quantile;
        let mut measured = None;
        let error = match (&mut self.detail, row.target) {
            (Detail::Classes(classes), Target::Class(class)) => {
                let [error, changed] = classes.add(row.scores, class, row.weight);
                self.no_change_window.add(changed, row.weight);
                Some(error)
            }
            (Detail::Numbers(outputs), Target::Numbers(y)) if !y.is_empty() => {
                self.no_change_window.add(no_change(outputs, y, quantile), row.weight);
                self.median_window.add(of_medians(outputs, y), row.weight);
                measured = quantile.map(|q| mean_pinball(q, row.scores, y));
                Some(add_numbers(outputs, row.scores, y, row.weight))
            }
            (Detail::Novelty, _) => row.alert.map(|alert| f64::from(u8::from(alert))),
            _ => None,
        };
        if let Some(error) = measured.or(error) {
            if !self.window.is_empty() {
                self.after_first.add(error, row.weight);
            }
            self.error.iter_mut().for_each(|mean| mean.add(error, row.weight));
            self.window.add(error, row.weight);
        }
        error
    }

    /// Sets the class of positive scores, for two classes that share one score. Applies from the next row on. Default: the second class.
    pub fn positive_is(&mut self, class: usize) {
        if let Detail::Classes(classes) = &mut self.detail {
            classes.positive_is(class);
        }
    }

    /// For a model that learns nothing now: only the classes that exist now can be predicted.
    pub fn predict_only(mut self) -> Self {
        if let Detail::Classes(classes) = &mut self.detail {
            classes.predict_only();
        }
        self
    }

    /// The type of prediction.
    pub fn task(&self) -> Task {
        match self.detail {
            Detail::Classes(_) => Task::Classes,
            Detail::Numbers(_) => Task::Numbers,
            Detail::Novelty => Task::Novelty,
        }
    }
    /// Rows, with a target or not.
    pub fn rows(&self) -> u64 {
        self.rows
    }
    /// Rows with a target; for novelty, rows that were learned or checked for an alert.
    pub fn examples(&self) -> u64 {
        self.examples
    }
    /// The mean loss.
    pub fn average_loss(&self) -> Option<f64> {
        self.loss[0].value()
    }
    /// The mean loss since the last [`Metrics::mark`].
    pub fn loss_since(&self) -> Option<f64> {
        self.loss[1].value()
    }
    /// What [`Metrics::error`] is.
    pub fn measure(&self) -> Measure {
        match self.detail {
            Detail::Classes(_) => Measure::ShareOfMistakes,
            Detail::Numbers(_) if self.quantile.is_some() => Measure::PinballLoss,
            Detail::Numbers(_) => Measure::MeanAbsoluteError,
            Detail::Novelty => Measure::ShareOfAlerts,
        }
    }
    /// The targets at or below the scores, over all outputs, for the quantile loss: their total weight, and that of all targets.
    pub fn covered(&self) -> Option<[f64; 2]> {
        match &self.detail {
            Detail::Numbers(outputs) if self.quantile.is_some() => {
                Some(outputs.iter().map(OutputCounts::covered).fold([0.0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]))
            }
            _ => None,
        }
    }
    /// The share of mistakes, the mean absolute error or pinball loss (over all outputs), or the share of alerts: see [`Metrics::measure`].
    pub fn error(&self) -> Option<f64> {
        self.error[0].value()
    }
    /// [`Metrics::error`], and whether it is without the first row: a number far from 0 is predicted as 0 when it comes first, and this one error can
    /// exceed all others together.
    pub fn error_to_compare(&self) -> (Option<f64>, bool) {
        let (all, later) = (self.error(), self.after_first.value());
        match all.zip(later) {
            Some((all, later)) if self.task() == Task::Numbers && later < 0.9 * all => (Some(later), true),
            _ => (all, false),
        }
    }
    /// [`Metrics::error`] since the last [`Metrics::mark`].
    pub fn error_since(&self) -> Option<f64> {
        self.error[1].value()
    }
    /// [`Metrics::error`] over the last 1,000 examples.
    pub fn windowed_error(&self) -> Option<f64> {
        self.window.value()
    }
    /// [`Metrics::error`] over the last `count` examples, at most 1,000.
    pub fn error_of_last(&self, count: usize) -> Option<f64> {
        self.window.of_last(count)
    }
    /// The standard error of [`Metrics::windowed_error`], for rows that are a random sample.
    pub fn standard_error(&self) -> Option<f64> {
        self.window.standard_error()
    }
    /// The error of predicting the last target again; none for novelty.
    pub fn no_change_error(&self) -> Option<f64> {
        match &self.detail {
            Detail::Classes(classes) => classes.no_change(),
            Detail::Numbers(outputs) => mean(outputs.iter().map(|output| output.no_change_error(self.quantile))),
            Detail::Novelty => None,
        }
    }
    /// [`Metrics::no_change_error`] over the last `count` examples, at most 1,000.
    pub fn no_change_error_of_last(&self, count: usize) -> Option<f64> {
        self.no_change_window.of_last(count)
    }
    /// The share of rows outside the margin, tube or threshold, among the rows for which this is known.
    pub fn alert_rate(&self) -> Option<f64> {
        self.alerts.value()
    }
    /// [`Metrics::alert_rate`] over the last 1,000 rows.
    pub fn windowed_alert_rate(&self) -> Option<f64> {
        self.alert_window.value()
    }
    /// The predicted class among the known ones. [`Metrics::add`] compares it with the target.
    pub fn said(&self, scores: &[f64]) -> Option<usize> {
        match &self.detail {
            Detail::Classes(classes) => classes.said(scores),
            _ => None,
        }
    }

    /// Starts a new interval for [`Metrics::loss_since`] and [`Metrics::error_since`].
    pub fn mark(&mut self) {
        (self.loss[1], self.error[1]) = Default::default();
    }

    /// All figures so far. `names`: the names of the classes or outputs, in order.
    pub fn summary(&self, names: &[String]) -> Summary {
        let name = |i: usize| names.get(i).cloned().unwrap_or_else(|| format!("target {}", i + 1));
        let output = |(i, o): (usize, &OutputCounts)| o.summary(name(i), self.quantile, self.weighted);
        let (classes, outputs) = match &self.detail {
            Detail::Classes(classes) => (Some(classes.summary(names)), Vec::new()),
            Detail::Numbers(outputs) => (None, outputs.iter().enumerate().map(output).collect()),
            Detail::Novelty => (None, Vec::new()),
        };
        Summary {
            task: self.task(),
            measure: self.measure(),
            rows: self.rows,
            examples: self.examples,
            weight: self.weight,
            weighted: self.weighted,
            not_learned: self.not_learned,
            loss: None,
            average_loss: self.average_loss(),
            error: self.error(),
            windowed_error: self.windowed_error(),
            windowed_rows: self.window.len() as u64,
            no_change_error: self.no_change_error(),
            windowed_no_change_error: self.no_change_window.value().filter(|_| self.task() == Task::Numbers),
            windowed_median_error: self.median_window.value(),
            alert_rate: self.alert_rate(),
            judged: self.judged,
            classes,
            outputs,
        }
    }
}

/// The error of the last targets as predictions of these: the mean absolute change, or the mean pinball loss.
fn no_change(outputs: &[OutputCounts], y: &[f64], quantile: Option<f64>) -> f64 {
    let last = |i: usize| outputs.get(i).map_or(0.0, OutputCounts::last);
    let one = |residual: f64| quantile.map_or(residual.abs(), |q| pinball(q, residual));
    y.iter().enumerate().map(|(i, y)| one(y - last(i))).sum::<f64>() / y.len() as f64
}

/// The mean absolute error of the medians of the targets before.
fn of_medians(outputs: &[OutputCounts], y: &[f64]) -> f64 {
    let median = |i: usize| outputs.get(i).map_or(0.0, OutputCounts::recent_median);
    y.iter().enumerate().map(|(i, y)| (y - median(i)).abs()).sum::<f64>() / y.len() as f64
}

/// The pinball loss of a row, the mean over its outputs. A missing score counts as 0.
fn mean_pinball(q: f64, scores: &[f64], y: &[f64]) -> f64 {
    let score = |i: usize| scores.get(i).copied().unwrap_or(0.0);
    y.iter().enumerate().map(|(i, y)| pinball(q, y - score(i))).sum::<f64>() / y.len() as f64
}

/// Adds one example; returns the mean absolute error over the outputs. A missing score counts as 0.
fn add_numbers(outputs: &mut Vec<OutputCounts>, scores: &[f64], y: &[f64], weight: f64) -> f64 {
    outputs.resize(outputs.len().max(y.len()), OutputCounts::default());
    let score = |i: usize| scores.get(i).copied().unwrap_or(0.0);
    let total: f64 = outputs.iter_mut().zip(y).enumerate().map(|(i, (output, &y))| output.add(score(i), y, weight)).sum();
    total / y.len() as f64
}

fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let mut mean = Mean::default();
    values.flatten().for_each(|value| mean.add(value, 1.0));
    mean.value()
}
