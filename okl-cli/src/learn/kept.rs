//! The model that is saved at the end of a file: the model after the last row, or one that has learned a sample of the rows in a random order
//! (`--save-model`).
//!
//! After one pass in the order of the file, the model knows the last rows best. If the file has long runs of one class, or its rows change
//! over time, it can be poor on all others. So a uniform sample of the rows is kept in bounded memory, and at the end of the file
//! a new learner with the same settings learns it in a random order. Which one is saved is decided on the second half of that order:
//!
//! - the new learner predicts each of these rows before it learns it;
//! - the model after the last row has learned them before, in the order of the file. That is to its advantage.
//!
//! Where the relation of the rows to their targets changes, no model is good on a sample of all rows, and the model after the last row is
//! the better one for the next rows. So the new learner is saved only if it is clearly better (its error is at most 0.9 times as large, and
//! the difference exceeds three standard errors), and one of these holds:
//!
//! - to know the last rows best is of no use in this file: in the random order, rows that are new are predicted no worse than in the order of
//!   the file;
//! - one model can explain the file: its error on the last tenth of the order is at most half of that of the trivial prediction (the most
//!   frequent class, or the mean of the targets), and so is its error on the last rows of the file, which it has learned;
//! - within the file, fixed models of this kind predicted later rows no worse than fixed models of the other kind ([`super::later_rows`]). A small
//!   error in the order of the file is that of a model that goes on learning. It does not say that a fixed model of the last rows is good.
//!
//! Where the rows changed near the end of the file ([`super::late_change`]), the second condition does not count, and the third one asks for errors
//! that are smaller by at least a tenth of the error of the trivial prediction: models of rows before the change say nothing about the rows after it.
//!
//! Rows can also change so that one model explains all of them, but is worse on the next rows. Whether they do cannot be known here. So the
//! errors of both models on the last rows are stated where the new learner is saved, and the run says which model is for rows that go on where
//! the file ends, if new rows were predicted better in the order of the file.
//!
//! Sample and order depend on the rows and fixed seeds alone.

use std::time::Instant;

use okl::loss::pinball;
use okl::{Config, Learner};
use serde::Serialize;

use super::late_change::LateChange;
use super::later_rows::{Copies, LaterRows};
use crate::args::{Learn, SaveModel};
use crate::input::{Chunk, is_stream};
use crate::metrics::{Measure, Metrics, Task, WINDOW, count};
use crate::past_rows::{FEWEST, Reservoir, WITHOUT_FIRST, coverage_line};
use crate::random::order;
use crate::run::{Run, interrupted};
use crate::scoring::{Scoring, quantile};
use crate::store::Way;
use crate::watch::Watch;

/// Rows of the sample at most, and their bytes.
pub const MOST_ROWS: usize = 65_536;
/// See [`MOST_ROWS`].
pub const MOST_BYTES: usize = 96 << 20;
/// Rows that are learned in one call.
const CHUNK: usize = 1024;
/// Both models are compared in this many blocks of rows at most, which have this many rows at least. The differences of the blocks have a
/// standard error.
const BLOCKS: usize = 50;
/// See [`BLOCKS`].
const FEWEST_IN_BLOCK: usize = 5;
/// The largest number of last rows on which both are measured, as a share of the sample, and the smallest number of these rows.
const LAST: usize = 5;
/// See [`LAST`].
const FEWEST_LAST: usize = 100;
/// Where rows changed near the end, fixed models of all rows have to be better on later rows by this part of the error of the trivial prediction.
const BETTER_LATER: f64 = 0.1;
/// The last rows are unlike the rows before them if the saved model, which has learned them, has so many times its error on all rows.
const UNLIKE: f64 = 2.0;
/// The seed of the random order.
const SEED: u64 = 1;

/// Which model is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Which {
    /// The model after the last row.
    Recent,
    /// A model that has learned a sample of all rows in a random order.
    All,
}

/// The comparison of the two models.
#[derive(Clone, Debug, Serialize)]
pub struct Kept {
    /// Which one is saved.
    pub model: Which,
    /// Whether the model is written into a file. Without `-o` it is chosen for the figures of the held-out file alone.
    #[serde(skip_serializing_if = "Clone::clone")]
    pub written: bool,
    /// Rows of the sample, all of which were learned once more.
    pub replayed_rows: u64,
    /// Rows from which the sample was drawn.
    pub drawn_from: u64,
    /// Rows of the sample on which both were compared.
    pub compared_rows: u64,
    /// The error of the model after the last row, which has learned these rows.
    pub recent_error: Option<f64>,
    /// The error of the other model on these rows, each before it learned the row.
    pub all_error: Option<f64>,
    /// With the quantile loss: the share of the compared targets at or below the scores of the model after the last row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recent_coverage: Option<f64>,
    /// The same for the other model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all_coverage: Option<f64>,
    /// Whether rows have weights: then shares are of weight.
    #[serde(skip)]
    pub weighted: bool,
    /// The standard error of the difference of the two.
    pub difference_standard_error: Option<f64>,
    /// The error of the trivial prediction on these rows: of their most frequent class, of the mean of their targets, or of their quantile.
    pub trivial_error: Option<f64>,
    /// The error of the other model on the last tenth of the random order, each row before it learned it. It explains the file if this is at most half of
    /// the trivial error.
    pub all_error_on_last_tenth: Option<f64>,
    /// The number of these rows. The rows are compared in blocks, so these are about a tenth.
    pub last_tenth_rows: u64,
    /// The error of all rows when they were new, in the order of the file; none if the rows were shuffled.
    pub file_order_error: Option<f64>,
    /// The error of the rows of the sample when they were new, in the random order.
    pub random_order_error: Option<f64>,
    /// Whether one of these two is without the first row, whose error would be more than a tenth of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub without_first_rows: bool,
    /// Whether the other model is clearly better on the compared rows: at most 0.9 times the error, and by more than three standard errors.
    pub clearly_better: bool,
    /// If neither condition holds that needs no further learning: fixed models of both kinds on rows that came after them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub later_rows: Option<LaterRows>,
    /// The last rows, if the other model is clearly better and the rows changed near the end of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_change: Option<LateChange>,
    /// Both models on the last rows of the file; none if the rows were shuffled: the model that goes on learning then learned other rows last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_rows: Option<LastRows>,
    /// Whether the final model made several passes; the other one makes one.
    #[serde(skip)]
    pub several_passes: bool,
    /// Whether there are several targets, which have units of their own.
    #[serde(skip)]
    pub several_targets: bool,
    /// Seconds that this took.
    pub seconds: f64,
    /// What the errors are.
    #[serde(rename = "error_is")]
    measure: Measure,
}

/// The errors of both models on the last rows of the file.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LastRows {
    /// The last rows on which the final model is measured.
    pub rows: u64,
    /// The error on them, when they were new, of the model that went on learning.
    pub error_while_learning: Option<f64>,
    /// The last rows of the sample, on which the other model is measured.
    pub sampled_rows: u64,
    /// The error of the other model on them, which has learned them.
    pub all_error: Option<f64>,
}

impl LastRows {
    /// The number of the last rows, in the file and in a sample. Of a sample of many rows, they are as many as correspond to the last 1,000 rows of the
    /// file.
    pub(super) fn counts(sample: &Reservoir) -> (u64, usize) {
        let share = sample.len() as f64 / sample.seen().max(1) as f64;
        let sampled = ((WINDOW as f64 * share) as usize).max(FEWEST_LAST).min(sample.len().div_ceil(LAST));
        (((sampled as f64 / share).round() as u64).min(WINDOW as u64), sampled)
    }

    fn measure(run: &Run, other: &Learner, sample: &Reservoir, fill: impl Fn(&mut Chunk)) -> anyhow::Result<Self> {
        let (rows, sampled) = Self::counts(sample);
        let mut last = sample.last(sampled);
        fill(&mut last);
        Ok(LastRows {
            rows,
            error_while_learning: run.metrics.error_of_last(rows as usize),
            sampled_rows: sampled as u64,
            all_error: Scoring::new(other, run.metrics.task()).error_of(&last)?,
        })
    }
}

/// An empty sample, if rows may be learned once more at the end.
pub fn sample(args: &Learn, task: Task, way: &Way) -> Option<Reservoir> {
    let in_order = args.data.iter().all(|file| !is_stream(file)) && way.shuffle.is_none();
    let wanted = args.chooses_model()
        && match args.save_model.unwrap_or_default() {
            SaveModel::Recent => false,
            SaveModel::All => true,
            SaveModel::Auto => in_order && task != Task::Novelty && args.stream.resume.is_none() && way.id.is_none(),
        };
    wanted.then(|| Reservoir::within(MOST_ROWS, MOST_BYTES))
}

/// No copy yet, if copies of the model may decide which one is saved: with `auto`, and if each row is learned once.
pub fn copies(args: &Learn, way: &Way) -> Option<Copies> {
    (args.save_model.unwrap_or_default() == SaveModel::Auto && way.passes == 1).then(Copies::default)
}

/// Learns the sample in a random order and compares. `in_file_order`: whether the rows were not shuffled. `fill` fills cells without a value as
/// `okl predict` does. Returns the other model with the comparison; none if a signal came, or if there are too few rows and no
/// model of all rows is asked for.
///
/// # Errors
/// Those of the learner.
pub fn replay(
    run: &Run,
    asked: &Config,
    (wanted, in_file_order): (SaveModel, bool),
    threads: usize,
    fill: impl Fn(&mut Chunk),
) -> anyhow::Result<Option<(Run, Kept)>> {
    // Few rows cannot decide which model is better; a model that is asked for is learned from any number of rows.
    let fewest = if wanted == SaveModel::All { 1 } else { FEWEST };
    let Some(sample) = run.replayed.as_ref().filter(|sample| sample.len() as u64 >= fewest) else { return Ok(None) };
    let (begun, task) = (Instant::now(), run.metrics.task());
    let mut learner = Learner::new(asked.clone())?;
    learner.set_threads(threads)?;
    let mut other = Run::new(learner, task);
    let order = order(sample.len(), SEED, 0);
    let (first, last) = order.split_at(order.len() - order.len() / 2);
    learn(&mut other, sample, first)?;
    let compared = Compared::measure(run, &mut other, sample, last)?;
    if interrupted() {
        return Ok(None);
    }
    let Compared { recent: recent_error, all: all_error, standard_error, trivial: trivial_error, .. } = compared;
    let [(in_order, without_first), (random_order_error, also_without)] =
        [&run.metrics, &other.metrics].map(Metrics::error_to_compare);
    let file_order_error = in_order.filter(|_| in_file_order);
    let clearly_better = compared.clearly_better();
    let order_is_no_help = random_order_error.zip(file_order_error).is_some_and(|(random, file)| random <= file);
    let last_rows = if in_file_order { Some(LastRows::measure(run, &other.learner, sample, &fill)?) } else { None };
    let half_of_trivial = |error: Option<f64>| error.zip(trivial_error).is_some_and(|(all, trivial)| 2.0 * all <= trivial);
    let explains = half_of_trivial(compared.all_at_last) && half_of_trivial(last_rows.and_then(|last| last.all_error));
    let candidate = task != Task::Novelty && clearly_better && wanted != SaveModel::All;
    let late_change = match candidate && !order_is_no_help {
        true => LateChange::find(run, &other.learner, sample, &fill)?,
        false => None,
    };
    let decided = order_is_no_help || explains && late_change.is_none();
    let later_rows = match &run.copies {
        Some(copies) if candidate && !decided => copies.measure(run, asked, sample, &order, threads)?,
        _ => None,
    };
    if interrupted() {
        return Ok(None);
    }
    let margin = if late_change.is_some() { BETTER_LATER * trivial_error.unwrap_or(0.0) } else { 0.0 };
    let better_later = later_rows.as_ref().is_some_and(|later| later.all_error + margin <= later.recent_error);
    let better = candidate && (decided || better_later);
    let model = if better || wanted == SaveModel::All { Which::All } else { Which::Recent };
    let kept = Kept {
        model,
        written: true,
        replayed_rows: order.len() as u64,
        drawn_from: sample.seen(),
        compared_rows: last.len() as u64,
        recent_error,
        all_error,
        recent_coverage: compared.recent_coverage,
        all_coverage: compared.all_coverage,
        weighted: run.summary(&[]).is_weighted(),
        difference_standard_error: standard_error,
        trivial_error,
        all_error_on_last_tenth: compared.all_at_last,
        last_tenth_rows: compared.rows_at_last,
        file_order_error,
        random_order_error,
        without_first_rows: without_first || also_without,
        clearly_better,
        later_rows,
        late_change,
        last_rows,
        several_passes: run.training.is_some(),
        several_targets: task == Task::Numbers && run.learner.outputs() > 1,
        seconds: begun.elapsed().as_secs_f64(),
        measure: run.metrics.measure(),
    };
    Ok(Some((other, kept)))
}

/// The errors of both models on the same rows.
#[derive(Clone, Copy, Debug, Default)]
struct Compared {
    recent: Option<f64>,
    all: Option<f64>,
    /// `all` over the last fifth of these rows.
    all_at_last: Option<f64>,
    rows_at_last: u64,
    /// That of the difference.
    standard_error: Option<f64>,
    trivial: Option<f64>,
    recent_coverage: Option<f64>,
    all_coverage: Option<f64>,
}

impl Compared {
    /// Scores some rows of the sample with the final model. The other one learns them.
    fn measure(run: &Run, other: &mut Run, sample: &Reservoir, rows: &[u32]) -> anyhow::Result<Self> {
        let mut final_model = Scoring::new(&run.learner, run.metrics.task());
        let (mut blocks, mut targets, mut rows_of_blocks): (Vec<[f64; 3]>, Targets, Vec<u64>) = Default::default();
        let covered_before = other.metrics.covered();
        for rows in rows.chunks(rows.len().div_ceil(BLOCKS).max(FEWEST_IN_BLOCK)) {
            let chunk = sample.gather(rows);
            let recent = final_model.error_of(&chunk)?;
            other.metrics.mark();
            other.learn(&chunk, &mut Unwatched)?;
            if let (Some(recent), Some(all)) = (recent, other.metrics.error_since()) {
                targets.extend(targets_of(&chunk));
                blocks.push([chunk.weights.as_ref().map_or(chunk.rows as f64, |weights| weights.iter().sum()), recent, all]);
                rows_of_blocks.push(chunk.rows as u64);
            }
        }
        let total: f64 = blocks.iter().map(|[weight, ..]| weight).sum();
        let mean = |of: &dyn Fn(&[f64; 3]) -> f64| blocks.iter().map(|block| block[0] * of(block)).sum::<f64>() / total;
        if blocks.is_empty() {
            return Ok(Compared::default());
        }
        let (recent, all) = (mean(&|block| block[1]), mean(&|block| block[2]));
        let squares: f64 = blocks.iter().map(|[weight, a, b]| (weight * (a - b - (recent - all))).powi(2)).sum();
        let count = blocks.len() as f64;
        Ok(Compared {
            recent: Some(recent),
            all: Some(all),
            rows_at_last: rows_of_blocks[blocks.len() - blocks.len().div_ceil(5)..].iter().sum(),
            all_at_last: Some({
                let last = &blocks[blocks.len() - blocks.len().div_ceil(5)..];
                last.iter().map(|[weight, _, all]| weight * all).sum::<f64>()
                    / last.iter().map(|[weight, ..]| weight).sum::<f64>()
            }),
            standard_error: (count > 1.0).then(|| (squares * count / (count - 1.0)).sqrt() / total),
            trivial: trivial_error(&final_model, &targets, quantile(run.learner.config())),
            recent_coverage: coverage(final_model.metrics().covered(), None),
            all_coverage: coverage(other.metrics.covered(), covered_before),
        })
    }

    /// Whether the other model has a clearly smaller error.
    fn clearly_better(&self) -> bool {
        match (self.all, self.recent, self.standard_error) {
            (Some(all), Some(recent), Some(spread)) => all <= 0.9 * recent && recent - all > 3.0 * spread,
            _ => false,
        }
    }
}

pub(super) fn learn(run: &mut Run, sample: &Reservoir, rows: &[u32]) -> anyhow::Result<()> {
    rows.chunks(CHUNK).try_for_each(|rows| run.learn(&sample.gather(rows), &mut Unwatched).map(drop))
}

/// The numbers that are the targets of rows, with the weights of the rows.
type Targets = Vec<(Vec<f64>, f64)>;

/// See [`Targets`]; none where targets are text.
pub(super) fn targets_of(chunk: &Chunk) -> impl Iterator<Item = (Vec<f64>, f64)> {
    let weight = |row: usize| chunk.weights.as_ref().map_or(1.0, |weights| weights[row]);
    (0..chunk.rows).filter_map(move |row| Some((chunk.targets.row(row)?.to_vec(), weight(row))))
}

/// The error of the trivial prediction on rows that were scored: of their most frequent class, of the mean of their targets, or of their quantile.
pub(super) fn trivial_error(scored: &Scoring<'_>, targets: &Targets, quantile: Option<f64>) -> Option<f64> {
    match scored.metrics().task() {
        Task::Classes => scored.summary(&[]).classes.and_then(|classes| classes.majority_error),
        Task::Numbers => Some(trivial(targets, quantile)),
        Task::Novelty => None,
    }
}

/// The share of targets at or below the scores, of those that were counted after `before`.
fn coverage(now: Option<[f64; 2]>, before: Option<[f64; 2]>) -> Option<f64> {
    let ([below, all], [below_before, all_before]) = (now?, before.unwrap_or_default());
    Some((below - below_before) / (all - all_before)).filter(|share| share.is_finite())
}

/// The error of the best constant that needs no model, over all outputs: the mean absolute error of the mean of the targets, or the mean
/// pinball loss of their quantile.
fn trivial(targets: &Targets, quantile: Option<f64>) -> f64 {
    let (total, width) =
        (targets.iter().map(|(_, weight)| weight).sum::<f64>(), targets.iter().map(|(y, _)| y.len()).max().unwrap_or(0));
    let mean = |of: &dyn Fn(&[f64]) -> f64| targets.iter().map(|(y, weight)| weight * of(y)).sum::<f64>() / total;
    let of_output = |output: usize| match quantile {
        Some(q) => {
            let value = quantile_of(targets, output, q * total);
            mean(&|y| pinball(q, y[output] - value))
        }
        None => {
            let value = mean(&|y| y[output]);
            mean(&|y| (y[output] - value).abs())
        }
    };
    (0..width).map(of_output).sum::<f64>() / width.max(1) as f64
}

/// The smallest target of an output for which the targets up to it have this total weight.
fn quantile_of(targets: &Targets, output: usize, weight: f64) -> f64 {
    let mut sorted: Vec<(f64, f64)> = targets.iter().map(|(y, weight)| (y[output], *weight)).collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut below = 0.0;
    let reached = |(_, own): &&(f64, f64)| {
        below += own;
        below >= weight
    };
    sorted.iter().find(reached).or(sorted.last()).map_or(0.0, |(y, _)| *y)
}

impl Kept {
    /// A line of the summary.
    pub fn line(&self) -> String {
        let (name, what) = (format!("{} model", self.saved()), self.measure.name());
        let covered = self.all_coverage.map_or(String::new(), |share| coverage_line(share, self.weighted) + "\n");
        match self.model {
            Which::All => {
                let compared = match self.compared_rows {
                    0 => "a new model of these rows, learned in a random order".into(),
                    _ => format!(
                        "{what} of a new model on {} of the learned rows, in a random order, each predicted before this model learned it",
                        self.rows()
                    ),
                };
                let last = self.last_rows.map_or(String::new(), |last| self.line_of_last(last));
                format!("{name:<16}{:<12}{compared}\n{covered}{last}", self.of_all()).trim_end().into()
            }
            Which::Recent => format!("{name:<16}{:<12}the final model", ""),
        }
    }

    /// The line about the last rows of the file.
    fn line_of_last(&self, last: LastRows) -> String {
        format!(
            "{:<16}{:<12}{} of this model on the last {} rows that it has learned; a model that goes on learning had {} on the last {} rows, each \
             predicted before it was learned",
            "  last rows",
            self.shown(last.all_error),
            self.measure.name(),
            count(last.sampled_rows as f64),
            self.shown(last.error_while_learning),
            count(last.rows as f64)
        )
    }

    /// What was done and why, in words.
    pub fn sentence(&self) -> String {
        let (all, recent, rows) = (self.of_all(), self.of_recent(), self.rows());
        let replayed = format!("{} of {} learned rows", count(self.replayed_rows as f64), count(self.drawn_from as f64));
        let passes = if self.several_passes { " and in one pass, not in several as the final model" } else { "" };
        let again =
            format!("{replayed} were learned once more by a new learner, in a random order{passes} ({:.1} s)", self.seconds);
        let saved = match self.model {
            Which::All => self.why_all(),
            Which::Recent if self.clearly_better => format!(
                "{}{} the final model is {}. If future rows are like all rows of the file, use --save-model all.",
                self.of_orders(),
                match (&self.later_rows, &self.late_change) {
                    (later, Some(change)) => {
                        let later = later.as_ref().map_or(String::new(), |later| self.on_later_rows(later) + " ");
                        format!("{later}{} So", self.on_late_change(change))
                    }
                    (Some(later), None) => format!("{} So", self.on_later_rows(later)),
                    (None, None) => "Fixed models were not tried on later rows;".into(),
                },
                self.saved()
            ),
            Which::Recent => format!(
                "The other one would have to be clearly better (at most 0.9 times the error, and by more than three standard errors): \
                 the final model is {}.",
                self.saved()
            ),
        };
        let unwritten =
            if self.written { "" } else { " The chosen model is the one that --test measured and that -o would save." };
        let (off, wrong) = match self.measure {
            Measure::MeanAbsoluteError if self.several_targets => ("is off by", " on average over the targets, each in its unit"),
            Measure::MeanAbsoluteError => ("is off by", " on average"),
            Measure::PinballLoss => ("has a mean pinball loss of", ""),
            Measure::ShareOfAlerts => ("gets", " alerts"),
            Measure::ShareOfMistakes => ("gets", " wrong"),
        };
        let found = match self.compared_rows {
            0 => String::new(),
            // The new learner has no threshold for rows of its warm-up.
            _ if self.measure == Measure::ShareOfAlerts && self.all_error.is_none() => {
                format!(" On {rows} of these rows, each before it learned it, it had no threshold yet.")
            }
            _ => format!(
                " On {rows} of these rows, each before it learned it, it {off} {all}{wrong}, and the final model, which has learned them, {off} \
                 {recent}{wrong}."
            ),
        };
        format!("{again}.{found} {saved}{unwritten}")
    }

    /// Why the new learner is saved, and when the final model is better.
    fn why_all(&self) -> String {
        let chosen = self.saved();
        let whose = format!(
            "The table, the curves and the numbers of terms of this run describe the final model. The settings, the certificates and the \
             warnings about columns describe the {chosen} model."
        );
        if let Some(later) = &self.later_rows {
            return format!(
                "{}{} So this learner is {chosen}, not the final model. The {} in the order of the file is that of a model that goes on learning: for it, \
                 learn new rows as they come (--resume, or okl serve). {whose}",
                self.of_orders(),
                self.on_later_rows(later),
                self.measure.name()
            );
        }
        format!(
            "{}This learner is {chosen}, not the final model; it is for rows like all rows of the file. {}If rows change with time, learn new rows as they \
             come (--resume, or okl serve). --save-model recent {} the final model: measure both on later rows (--test FILE) before you choose it. \
             {whose}",
            self.of_orders(),
            self.last_rows.map_or(String::new(), |last| self.on_last_rows(last) + " "),
            if self.written { "saves" } else { "chooses" },
        )
    }

    /// What was measured of fixed models on later rows.
    fn on_later_rows(&self, later: &LaterRows) -> String {
        let after: Vec<String> = later.stretches.iter().map(|stretch| count(stretch.after_rows as f64)).collect();
        let rows: u64 = later.stretches.iter().map(|stretch| stretch.rows).sum();
        let one = later.stretches.len() == 1;
        let sampled = later.stretches.iter().any(|stretch| stretch.all_learned_rows < stretch.after_rows);
        let sample = if sampled { "a sample of " } else { "" };
        format!(
            "As a test, learning was stopped after {} rows, and {} later rows were predicted. The {} of the final model of that moment was {}, that of a new \
             model of {sample}the rows up to there, in a random order, {}{}.",
            after.join(" and "),
            count(rows as f64),
            self.measure.name(),
            self.shown(Some(later.recent_error)),
            self.shown(Some(later.all_error)),
            if one { "" } else { " (over the later rows of both stops)" }
        )
    }

    /// Why the rows are said to have changed near the end.
    fn on_late_change(&self, change: &LateChange) -> String {
        format!(
            "On the last {} rows the {} of the model of all rows, which has learned them, is {}, that of the best constant {}, and that of the model \
             that went on learning was {}, each row predicted before it was learned: the rows changed near the end of the file.",
            count(change.rows as f64),
            self.measure.name(),
            self.shown(Some(change.all_error)),
            self.shown(Some(change.trivial_error)),
            self.shown(Some(change.error_while_learning))
        )
    }

    /// The errors of new rows in both orders.
    fn of_orders(&self) -> String {
        if self.measure == Measure::ShareOfAlerts || self.file_order_error.is_none() {
            return String::new();
        }
        format!(
            "When rows were new, the {} was {} in the order of the file and {} in the random order{}. ",
            self.measure.name(),
            self.shown(self.file_order_error),
            self.shown(self.random_order_error),
            if self.without_first_rows { WITHOUT_FIRST } else { "" }
        )
    }

    /// The errors of both models on the last rows.
    fn on_last_rows(&self, last: LastRows) -> String {
        let LastRows { rows, error_while_learning, sampled_rows, all_error } = last;
        let unlike = match [all_error, self.all_error, error_while_learning] {
            [Some(last), Some(all), Some(learning)] if last > UNLIKE * all && last > learning => {
                " They are unlike the rows before them: if later rows are like them, --save-model recent may be the better choice."
            }
            _ => "",
        };
        format!(
            "The {} of the last {} rows when they were new is {}: that of a model that goes on learning. The {} model has {} on the last {} rows \
             that it has learned.{unlike}",
            self.measure.name(),
            count(rows as f64),
            self.shown(error_while_learning),
            self.saved(),
            self.shown(all_error),
            count(sampled_rows as f64)
        )
    }

    /// What happens to the model: without `-o` it is chosen, but not saved.
    pub fn saved(&self) -> &'static str {
        if self.written { "saved" } else { "chosen" }
    }

    fn rows(&self) -> String {
        count(self.compared_rows as f64)
    }

    /// The error of the model that learned the sample once more, in words.
    pub fn of_all(&self) -> String {
        self.shown(self.all_error)
    }

    fn of_recent(&self) -> String {
        self.shown(self.recent_error)
    }

    fn shown(&self, error: Option<f64>) -> String {
        error.map_or("-".into(), |error| self.measure.show(error))
    }
}

/// Nobody watches the rows that are learned once more.
struct Unwatched;

impl Watch for Unwatched {
    fn pause(&mut self, _: &mut Run, _: &Chunk, _: usize) -> anyhow::Result<()> {
        Ok(())
    }
}
