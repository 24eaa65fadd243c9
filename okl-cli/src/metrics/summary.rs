//! The final figures of a run: as JSON, and as text with lines of at most 80 columns.

use std::fmt::{Display, Formatter, Result, Write};

use serde::{Deserialize, Serialize};

use super::{Measure, Task};
use crate::table::wrapped;

/// Classes or outputs that are listed one by one.
const LISTED: usize = 12;

/// Rows that a comparison with a trivial predictor needs.
const ENOUGH: u64 = 100;

/// To repeat the target of the row before is clearly better than a constant if it has at most this share of its error.
const CLEARLY: f64 = 0.9;

/// Everything [`super::Metrics`] knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The type of prediction.
    pub task: Task,
    /// What `error` is.
    #[serde(default, rename = "error_is")]
    pub measure: Measure,
    /// Rows, with a target or not.
    pub rows: u64,
    /// Rows with a target; for novelty, rows that were learned or checked for an alert.
    pub examples: u64,
    /// The sum of the weights of these examples.
    #[serde(default)]
    pub weight: f64,
    /// Whether an example has a weight other than 1: then all shares and means are by weight. See [`Summary::is_weighted`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub weighted: bool,
    /// Rows that were predicted and not learned.
    pub not_learned: NotLearned,
    /// The loss function, as typed on the command line, and whether it is in units of `target_scale`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<String>,
    /// The mean of this loss over all examples.
    pub average_loss: Option<f64>,
    /// Share of mistakes, mean absolute error, mean pinball loss (quantile loss), or share of alerts.
    pub error: Option<f64>,
    /// `error` over the last 1,000 examples.
    pub windowed_error: Option<f64>,
    /// The number of rows in `windowed_error`; for novelty those for which an alert was decided.
    pub windowed_rows: u64,
    /// The error of the no-change predictor, which predicts the last target again.
    pub no_change_error: Option<f64>,
    /// `no_change_error` over the last 1,000 examples; only for numbers in the order of the stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windowed_no_change_error: Option<f64>,
    /// For numbers: the mean absolute error over the last 1,000 examples of the median of up to 1,000 targets before each.
    #[serde(skip)]
    pub windowed_median_error: Option<f64>,
    /// The share of rows outside the margin, tube or threshold of the loss, of those for which this was decided.
    pub alert_rate: Option<f64>,
    /// The number of these rows: a detector has no threshold at first.
    #[serde(default)]
    pub judged: u64,
    /// Figures for classes; none for other tasks.
    pub classes: Option<ClassSummary>,
    /// Figures for numbers, one entry per output; empty for other tasks.
    pub outputs: Vec<OutputSummary>,
}

/// A predictor that needs no features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trivial {
    /// The target of the row before.
    NoChange,
    /// The median of the targets before.
    Median,
}

/// Rows that were predicted and not learned, by the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotLearned {
    /// The target is missing.
    pub without_target: u64,
    /// A detector without a threshold did not judge the row.
    #[serde(default)]
    pub without_threshold: u64,
    /// The weight is 0.
    pub of_weight_zero: u64,
    /// The row has a target and a weight, but the learner did not use it. Example: only one class was known at that time.
    pub by_the_learner: u64,
}

impl NotLearned {
    /// Each reason that applies: its name, the number of rows, and what it means.
    fn reasons(&self) -> impl Iterator<Item = (&'static str, u64, &'static str)> {
        let all = [
            ("no target", self.without_target, "rows in which a target is missing (empty, NA, ?): only predicted"),
            (
                "not judged",
                self.without_threshold,
                "rows: the model has no threshold yet, which it finds from its first examples (--warmup)",
            ),
            ("weight 0", self.of_weight_zero, "rows of weight 0: only predicted"),
            ("not learned", self.by_the_learner, "rows with a target that the learner did not use"),
        ];
        all.into_iter().filter(|(_, rows, _)| *rows > 0)
    }

    /// The reasons as text; empty if every row was learned.
    pub fn words(&self) -> String {
        let words = |(_, rows, what): (_, u64, &str)| match rows {
            1 => format!("1 {}", what.replacen("rows", "row", 1)),
            _ => format!("{} {what}", count(rows as f64)),
        };
        self.reasons().map(words).collect::<Vec<_>>().join("; ")
    }
}

/// The share of targets at or below the predicted quantile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Coverage {
    /// The quantile that was asked for.
    pub asked: f64,
    /// The share over all examples.
    pub seen: f64,
    /// The share over the last 1,000 examples.
    pub last: f64,
    /// The number of examples in `last`.
    pub last_examples: u64,
    /// Whether the shares are of the weight of the targets and not of their number: an example has a weight other than 1.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub weighted: bool,
}

impl Coverage {
    /// Whether a share over `examples` rows is off by more than chance explains: by more than three standard errors and a
    /// fifth of the smaller side of the quantile (2 percentage points for q = 0.9).
    fn off(&self, share: f64, examples: u64) -> bool {
        let q = self.asked;
        let chance = 3.0 * (q * (1.0 - q) / examples.max(1) as f64).sqrt();
        (share - q).abs() > chance + 0.2 * q.min(1.0 - q)
    }

    /// Whether the coverage of the last rows is off.
    pub fn is_off(&self) -> bool {
        self.off(self.last, self.last_examples)
    }

    /// Whether the share of the last rows is what was asked for: within two standard errors of a share of so many rows.
    pub fn is_as_asked(&self) -> bool {
        let q = self.asked;
        (self.last - q).abs() <= 2.0 * (q * (1.0 - q) / self.last_examples.max(1) as f64).sqrt()
    }

    /// Where the coverage is off: what it is. Where that of the last rows is as asked, the rows at the beginning are the reason.
    pub fn warning(&self, examples: u64) -> Option<String> {
        if !self.is_off() && !self.off(self.seen, examples) {
            return None;
        }
        let (asked, all, last) = (self.asked, percent(self.seen), percent(self.last));
        let by_weight = if self.weighted { ", by weight" } else { "" };
        let last = format!("{last} of the last {}{by_weight}", count(self.last_examples as f64));
        if self.is_as_asked() {
            return Some(format!(
                "The predicted {asked} quantile was off at the beginning: {all} of all targets lie at or below it, and {last}, as asked."
            ));
        }
        let off = if self.is_off() { "off" } else { "a little off" };
        Some(format!("The predicted {asked} quantile is {off}: {all} of all targets and {last} lie at or below it."))
    }

    /// The quantile to try instead: as far on the other side of the one that was asked for as the coverage is on this side. None if that is
    /// more than half of the way to 0 or 1: so large an error is not one of the quantile (measured: 0.95 instead of 0.9 moved 52 % to 56 %).
    pub fn other_quantile(&self) -> Option<f64> {
        let (q, tried) = (self.asked, 2.0 * self.asked - self.last);
        (0.5 * q..=0.5 * (1.0 + q)).contains(&tried).then(|| (1000.0 * tried).round() / 1000.0)
    }
}

/// The area under the ROC curve, second class above first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Auc {
    /// Computed from a histogram, so not exact.
    pub value: f64,
    /// The exact area differs from `value` by at most this.
    pub error: f64,
}

impl Auc {
    /// How far the exact area can be from `figure(value)`: the error of `value` and that of rounding it.
    pub fn within(&self) -> String {
        let rounding = figure(self.value).parse::<f64>().map_or(0.0, |shown| (shown - self.value).abs());
        bound(self.error + rounding)
    }
}

/// Figures over classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassSummary {
    /// The share of correct predictions.
    pub accuracy: Option<f64>,
    /// The mean F1 over all classes that were met or predicted.
    pub macro_f1: Option<f64>,
    /// The number of these classes.
    pub macro_classes: usize,
    /// Only if the model knows two classes; of the rows of these two.
    pub auc: Option<Auc>,
    /// The error of always predicting the most frequent class of the whole stream.
    pub majority_error: Option<f64>,
    /// The number of known classes: given in advance or seen.
    pub known: usize,
    /// Figures of the first 50 classes.
    pub per_class: Vec<ClassFigures>,
    /// Predicted against true classes.
    pub confusion: Confusion,
}

/// A class with fewer rows may never be predicted by chance.
const ENOUGH_OF_CLASS: u64 = 20;

impl ClassSummary {
    /// The classes of the AUC, if rows have further classes, which the model does not know.
    pub fn of_two(&self) -> Option<String> {
        let [first, second, _, ..] = &self.per_class[..] else { return None };
        Some(format!("rows of {} and {} only", cut(&first.name, 20), cut(&second.name, 20)))
    }

    /// The class of the most rows, and its number of rows, among classes of which no row was predicted to be.
    pub fn never_predicted(&self) -> Option<(&str, u64)> {
        let never = self.per_class.iter().filter(|class| class.precision.is_none() && class.examples >= ENOUGH_OF_CLASS);
        never.max_by_key(|class| class.examples).map(|class| (class.name.as_str(), class.examples))
    }

    /// Whether rows have weights other than 1.
    pub fn is_weighted(&self) -> bool {
        self.per_class.iter().any(|class| class.weight != class.examples as f64)
    }
}

/// Figures of one class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassFigures {
    /// Its name.
    pub name: String,
    /// The number of its rows.
    pub examples: u64,
    /// The sum of the weights of these rows. Precision and recall are shares of weight.
    pub weight: f64,
    /// Of the rows predicted as this class, the share that belong to it; none if there are no such rows.
    pub precision: Option<f64>,
    /// Of the rows of this class, the share predicted as it; none if there are no such rows.
    pub recall: Option<f64>,
    /// The harmonic mean of precision and recall; none if the class was neither seen nor predicted.
    pub f1: Option<f64>,
}

/// A confusion matrix. A 51st name, `other`, stands for all classes after the first 50.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Confusion {
    /// The class names of the rows and columns.
    pub names: Vec<String>,
    /// `counts[true class][predicted class]`: the sum of the weights of these rows.
    pub counts: Vec<Vec<f64>>,
    /// The total weight of rows without a predicted class, because no class was known yet. They count as errors, but are in no
    /// column of the matrix (in the column `other`, if there is one).
    pub unsaid: f64,
}

/// Figures of one output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputSummary {
    /// Its name.
    pub name: String,
    /// The mean of the target, and its standard deviation.
    #[serde(default)]
    pub target_mean: Option<f64>,
    /// See [`OutputSummary::target_mean`].
    #[serde(default)]
    pub target_deviation: Option<f64>,
    /// Root mean squared error.
    pub rmse: Option<f64>,
    /// Mean absolute error.
    pub mae: Option<f64>,
    /// The mean of score minus target: above 0 where scores are too large.
    pub bias: Option<f64>,
    /// 1 - squared error / variance of the target; none for a constant target.
    pub r2: Option<f64>,
    /// The mean absolute error of the no-change predictor, over the same rows as the other figures. It predicts 0 for the first row.
    pub no_change_mae: Option<f64>,
    /// [`OutputSummary::rmse`] without the first row, whose score is always 0.
    #[serde(default)]
    pub rmse_after_first: Option<f64>,
    /// The share of the first row in the squared error.
    #[serde(default)]
    pub first_share: Option<f64>,
    /// With the quantile loss: the mean quantile (pinball) loss, in the unit of the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinball: Option<f64>,
    /// With the quantile loss: the share of targets at or below the score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// Histogram of target minus score; none if all were 0.
    pub residuals: Option<Residuals>,
}

/// A histogram of residuals with bars of about equal width over [-reach, reach].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Residuals {
    /// The upper end of the last bar.
    pub reach: f64,
    /// The ends of the bars, one more than there are bars. They differ from equal widths by at most 0.4 % of their distance from 0.
    #[serde(default)]
    pub edges: Vec<f64>,
    /// The total weight of the rows in each bar.
    pub counts: Vec<f64>,
    /// The total weight of the rows below the first or above the last bar.
    pub outside: f64,
    /// The median residual, with a relative error of at most 1 %.
    pub median: f64,
    /// The total weight of the rows with a residual below 0.
    #[serde(default)]
    pub below: f64,
    /// The total weight of the rows with a residual of exactly 0.
    #[serde(default)]
    pub zero: f64,
    /// The total weight of the rows with a residual above 0.
    #[serde(default)]
    pub above: f64,
}

/// A number with four significant digits, in its shortest readable form.
pub fn figure(value: f64) -> String {
    let magnitude = value.abs();
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { "0".into() } else { value.to_string() };
    }
    if !(1e-4..1e7).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    let digits = (3 - magnitude.log10().floor() as i32).max(0) as usize;
    if magnitude >= 1000.0 { grouped(&format!("{value:.0}")) } else { format!("{value:.digits$}") }
}

/// An upper bound as [`figure`] shows it, rounded up: the number that is read is not below `value`.
pub fn at_most(value: f64) -> String {
    rounded(value, Side::Above)
}

/// A lower bound as [`figure`] shows it, rounded down: the number that is read is not above `value`.
pub fn at_least(value: f64) -> String {
    rounded(value, Side::Below)
}

/// A small bound on an error, rounded up to one digit.
pub fn bound(error: f64) -> String {
    if error <= 0.0 {
        return "0".into();
    }
    let place = error.log10().floor();
    let up = (error / 10f64.powf(place)).ceil() * 10f64.powf(place);
    let text = if place < -6.0 { format!("{up:.0e}") } else { format!("{up:.*}", -place.min(0.0) as usize) };
    // The quotient above is rounded, so the text can be one digit too small.
    if read(&text) >= error { text } else { moved(&text, 10f64.powf(place.max(0.0))) }
}

/// Where a number that is shown may lie beside the number that it stands for.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Above,
    Below,
}

/// [`figure`], moved by one unit of its last digit if it lies on the wrong side of `value`.
fn rounded(value: f64, side: Side) -> String {
    let text = figure(value);
    let shown = read(&text);
    match side {
        Side::Above if shown < value => figure(read(&moved(&text, 1.0))),
        Side::Below if shown > value => figure(read(&moved(&text, -1.0))),
        _ => text,
    }
}

/// The number that a text from [`figure`] shows.
fn read(text: &str) -> f64 {
    text.replace(',', "").parse().unwrap_or(f64::NAN)
}

/// The text of a number with `units` units of its last digit added.
fn moved(text: &str, units: f64) -> String {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, ""));
    let digits = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let mantissa = read(mantissa) + units * 10f64.powi(-(digits as i32));
    let exponent = if exponent.is_empty() { String::new() } else { format!("e{exponent}") };
    format!("{mantissa:.digits$}{exponent}")
}

/// A share as a percentage.
pub fn percent(share: f64) -> String {
    let value = 100.0 * share;
    let digits = match value.abs() {
        v if v == 0.0 || v == 100.0 => 0,
        v if v < 0.1 => 3,
        v if v < 99.995 => 2,
        _ => 1,
    };
    format!("{value:.digits$} %")
}

/// The share of right predictions for a share of mistakes, as a percentage: the two that are shown add up to 100 %.
pub fn right(error: f64) -> String {
    let wrong = percent(error);
    let wrong = wrong.trim_end_matches(" %");
    let digits = wrong.split_once('.').map_or(0, |(_, digits)| digits.len());
    format!("{:.digits$} %", 100.0 - wrong.parse().unwrap_or(100.0 * error))
}

/// A count with separators; weights may make it a fraction.
pub fn count(value: f64) -> String {
    if value.fract() == 0.0 { grouped(&format!("{value:.0}")) } else { grouped(&format!("{value:.1}")) }
}

fn grouped(text: &str) -> String {
    let whole = text.find('.').unwrap_or(text.len());
    let mut out = String::new();
    for (i, c) in text[..whole].chars().enumerate() {
        if i > 0 && (whole - i).is_multiple_of(3) && !out.ends_with('-') {
            out.push(',');
        }
        out.push(c);
    }
    out + &text[whole..]
}

/// Cuts a text to this many columns and replaces control characters.
fn cut(name: &str, columns: usize) -> String {
    shortened(name, columns).chars().map(|c: char| if c.is_control() { '?' } else { c }).collect()
}

/// The text, or its beginning and its end if it has more than `most` characters: long names often differ at their end alone.
pub fn shortened(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.into();
    }
    let end = (most - 1) / 2;
    text.chars().take(most - 1 - end).chain(['…']).chain(text.chars().skip(count - end)).collect()
}

fn or_dash(value: Option<f64>, show: fn(f64) -> String) -> String {
    value.map_or("-".into(), show)
}

fn line(f: &mut Formatter<'_>, name: &str, value: &str, note: &str) -> Result {
    let text: String = format!("{name:<15} {value:<11} {note}").chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    writeln!(f, "{}", wrapped(text.trim_end(), &" ".repeat(28)))
}

impl Display for Summary {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        line(f, "examples", &count(self.examples as f64), "")?;
        for (name, rows, what) in self.not_learned.reasons() {
            line(f, &format!("  {name}"), &count(rows as f64), what)?;
        }
        if self.is_weighted() {
            line(f, "  weight", &count(self.weight), "the sum of their weights; all figures are weighted")?;
        }
        if let Some(loss) = self.average_loss {
            line(f, "average loss", &figure(loss), self.loss.as_deref().unwrap_or_default())?;
        }
        match self.task {
            Task::Classes => self.class_lines(f),
            Task::Numbers => self.output_lines(f),
            Task::Novelty => {
                let (judged, first) = (self.judged, self.examples.saturating_sub(self.judged));
                let which = if first == 0 { "these rows" } else { "judged rows" };
                let by_weight = if self.is_weighted() { " by weight" } else { "" };
                let note = format!("of {which}{by_weight}; {}", self.of_last(percent));
                line(f, "alert rate", &or_dash(self.alert_rate, percent), &note)?;
                match first {
                    0 => Ok(()),
                    _ => line(
                        f,
                        "  judged",
                        &count(judged as f64),
                        &format!("rows; the first {} had no threshold yet", count(first as f64)),
                    ),
                }
            }
        }
    }
}

impl Summary {
    /// Whether examples have weights: then shares are of weight and not of rows. Summaries of older versions know only the sum of the weights.
    pub fn is_weighted(&self) -> bool {
        self.weighted || self.weight != self.examples as f64
    }

    /// What is said of an error or a share that rows count in by their weights.
    pub fn by_weight(&self) -> &'static str {
        if self.is_weighted() { " by weight" } else { "" }
    }

    fn of_last(&self, show: fn(f64) -> String) -> String {
        format!("{} over the last {}", or_dash(self.windowed_error, show), count(self.windowed_rows as f64))
    }

    /// Says it if the model is no better than the predictor of the line above, as the report does.
    fn no_better_line(&self, f: &mut Formatter<'_>, other: Option<f64>) -> Result {
        match self.error.zip(other) {
            Some((error, other)) if error >= other => line(f, "", "", "the model is no better over all these rows"),
            _ => Ok(()),
        }
    }

    fn class_lines(&self, f: &mut Formatter<'_>) -> Result {
        let Some(classes) = &self.classes else { return Ok(()) };
        let last = self.of_last(percent);
        line(f, "error", &or_dash(self.error, percent), &last)?;
        line(f, "  no change", &or_dash(self.no_change_error, percent), "by repeating the last label")?;
        self.no_better_line(f, self.no_change_error)?;
        line(f, "  majority", &or_dash(classes.majority_error, percent), "by always predicting the most frequent class")?;
        self.no_better_line(f, classes.majority_error)?;
        line(f, "accuracy", &or_dash(self.error, right), "")?;
        line(f, "macro F1", &or_dash(classes.macro_f1, figure), "")?;
        if let Some(auc) = classes.auc {
            let exact = (auc.error > 0.0).then(|| format!("the exact one is within {}", auc.within()));
            let notes: Vec<String> = classes.of_two().into_iter().chain(exact).collect();
            line(f, "AUC", &figure(auc.value), &notes.join("; "))?;
        }
        let (weighted, names) = (classes.is_weighted(), if classes.is_weighted() { 20 } else { 32 });
        let weight = if weighted { format!(" {:>11}", "weight") } else { String::new() };
        writeln!(f, "{:<names$} {:>11}{weight} {:>11} {:>11} {:>11}", "class", "examples", "precision", "recall", "F1")?;
        for class in classes.per_class.iter().take(LISTED) {
            class.line(f, weighted, names)?;
        }
        more(f, classes.known, "classes")
    }

    fn output_lines(&self, f: &mut Formatter<'_>) -> Result {
        let what = match (self.measure, self.outputs.len()) {
            (Measure::PinballLoss, 2..) => "mean of the pinball losses below, each in its unit",
            (Measure::PinballLoss, _) => "mean pinball loss",
            (_, 2..) => "mean of the MAEs below, each in its unit",
            _ => "mean absolute",
        };
        let last = format!("{what}; {}", self.of_last(figure));
        line(f, "error", &or_dash(self.error, figure), &last)?;
        line(f, "  no change", &or_dash(self.no_change_error, figure), "by repeating the last target, 0 at first")?;
        self.no_better_line(f, self.no_change_error)?;
        writeln!(f, "{:<32} {:>11} {:>11} {:>11} {:>11}", "target", "RMSE", "MAE", "bias", "R²")?;
        for o in self.outputs.iter().take(LISTED) {
            write!(f, "  {:<30}", cut(&o.name, 29))?;
            let mut cells = String::new();
            [o.rmse, o.mae, o.bias, o.r2].iter().try_for_each(|v| write!(cells, " {:>11}", or_dash(*v, figure)))?;
            writeln!(f, "{cells}")?;
        }
        more(f, self.outputs.len(), "targets")?;
        writeln!(f, "  bias: the mean of score minus target")?;
        self.outputs.iter().take(LISTED).try_for_each(|o| o.coverage_line(f, self.outputs.len() > 1))
    }

    /// One sentence if the last rows were predicted much worse than by a trivial predictor, and which one that is. Not for the quantile loss, whose
    /// predictions are not meant to be close to the target. `shuffled`: whether the row before is a random one.
    pub fn worse_than_trivial(&self, shuffled: bool) -> Option<(Trivial, String)> {
        let (error, no_change, median) = (self.windowed_error?, self.windowed_no_change_error?, self.windowed_median_error?);
        // Where a constant is as good, the target of the row before says nothing.
        let repeating_helps = !shuffled && (no_change == 0.0 || no_change <= CLEARLY * median);
        let (trivial, what, of_trivial) = match repeating_helps {
            true => (Trivial::NoChange, "repeating the target of the row before", no_change),
            false => (Trivial::Median, "the median of up to 1,000 targets before each row", median),
        };
        let much_worse = self.windowed_rows >= ENOUGH && self.measure == Measure::MeanAbsoluteError && error > 2.0 * of_trivial;
        let order = if shuffled { " of the shuffled order" } else { "" };
        much_worse.then(|| {
            let words = format!(
                "Over the last {} rows{order} the mean absolute error is {}; {what} gives {}.",
                count(self.windowed_rows as f64),
                figure(error),
                figure(of_trivial)
            );
            (trivial, words)
        })
    }

    /// Warnings about the figures, one sentence each, except for [`Summary::worse_than_trivial`] and [`Coverage::warning`].
    pub fn warnings(&self) -> Vec<String> {
        self.outputs.iter().filter_map(|o| o.first_row_warning(self.examples)).collect()
    }
}

impl OutputSummary {
    /// A warning if most of the RMSE comes from the first row.
    fn first_row_warning(&self, examples: u64) -> Option<String> {
        let share = self.first_share.filter(|share| *share > 0.5 && examples >= 10)?;
        let (name, rest) = (&self.name, self.rmse_after_first?);
        let percent = percent(share);
        Some(format!("The first row makes up {percent} of the squared error of {name}: without it RMSE is {}.", figure(rest)))
    }

    /// The share of targets at or below the predicted quantile; the output is named if there are several.
    fn coverage_line(&self, f: &mut Formatter<'_>, named: bool) -> Result {
        let Some(coverage) = self.coverage else { return Ok(()) };
        let of = if named { cut(&self.name, 16) } else { "targets".into() };
        let by_weight = if coverage.weighted { " by weight" } else { "" };
        let note = format!("of {of}{by_weight} at or below the score; asked for {}", percent(coverage.asked));
        line(f, "coverage", &percent(coverage.seen), &note)?;
        line(f, &format!("  last {}", count(coverage.last_examples as f64)), &percent(coverage.last), "")?;
        let of = if named { format!(" of {of}") } else { String::new() };
        let note = format!("mean quantile loss{of}, q = {}", coverage.asked);
        line(f, "pinball loss", &or_dash(self.pinball, figure), &note)
    }
}

impl ClassFigures {
    fn line(&self, f: &mut Formatter<'_>, weighted: bool, names: usize) -> Result {
        write!(f, "{:<names$} {:>11}", format!("  {}", cut(&self.name, names - 3)), count(self.examples as f64))?;
        if weighted {
            write!(f, " {:>11}", count(self.weight))?;
        }
        [self.precision, self.recall].iter().try_for_each(|v| write!(f, " {:>11}", or_dash(*v, percent)))?;
        writeln!(f, " {:>11}", or_dash(self.f1, figure))
    }
}

fn more(f: &mut Formatter<'_>, all: usize, what: &str) -> Result {
    if all > LISTED { writeln!(f, "  and {} more {what}", all - LISTED) } else { Ok(()) }
}
