//! Measures the current model on a sample of the rows that it has learned (in-sample).
//!
//! Progressive figures score each row with the model of that moment. If the stream changes over time (long runs of one
//! class, drift), the final model can be much worse on the whole stream than these figures. So a uniform
//! sample of the rows is kept (Vitter 1985, algorithm R) and the model is measured on it. The sample depends on the rows
//! and a fixed seed alone: not on how they were cut into blocks.
//!
//! "Final model" is the model after the last row, whether it is saved or not.

use okl::Learner;
use okl::config::Threshold;
use serde::Serialize;

use crate::input::{Chunk, Row, gather};
use crate::metrics::{Measure, OutputSummary, Summary, Task, count, figure, percent};
use crate::random::Random;
use crate::scoring::Scoring;

/// Rows that are kept at most.
pub const MOST_ROWS: usize = 1000;
/// The largest number of bytes of these rows. Fewer rows are kept if rows have many features.
pub const MOST_BYTES: usize = 32 << 20;
/// Bytes of a row beside its features.
const ROW_BYTES: usize = size_of::<Row>() + 64;
const SEED: u64 = 1985;
/// The smallest number of rows for a comparison of settings and models.
pub const FEWEST: u64 = 100;
/// Outputs that are listed one by one.
const LISTED: usize = 12;
/// What an average over several targets is.
pub const OVER_TARGETS: &str = " over the targets, each in its unit,";
/// Part of an advice.
const SAVES_ALL: &str = " --save-model all saves a model of all rows, or of a sample of them.";
/// The smallest number of rows for saying that the final model is much worse on them.
pub const FEWEST_FOR_WORSE: u64 = 10;

/// A uniform random sample of a stream's rows in bounded memory.
#[derive(Clone, Debug)]
pub struct Reservoir {
    rows: Vec<Row>,
    most: usize,
    bytes: usize,
    most_bytes: usize,
    seen: u64,
    random: Random,
}

impl Default for Reservoir {
    fn default() -> Self {
        Reservoir::within(MOST_ROWS, MOST_BYTES)
    }
}

impl Reservoir {
    /// A sample of at most this many rows and bytes.
    pub fn within(rows: usize, bytes: usize) -> Self {
        Reservoir { rows: Vec::new(), most: rows.max(1), bytes: 0, most_bytes: bytes, seen: 0, random: Random::new(SEED) }
    }

    /// Adds one row of the stream to the draw: after n rows each of them is in the sample with the same probability.
    pub fn offer(&mut self, chunk: &Chunk, row: usize) {
        self.seen += 1;
        if self.rows.len() < self.most {
            self.rows.push(Row::copy(chunk, row));
            self.bytes += self.rows.last().map_or(0, bytes);
        } else {
            let place = self.random.below(self.seen);
            if let Some(place) = usize::try_from(place).ok().filter(|place| *place < self.most) {
                let row = Row::copy(chunk, row);
                self.bytes = self.bytes + bytes(&row) - bytes(&self.rows[place]);
                self.rows[place] = row;
            }
        }
        while self.bytes > self.most_bytes && self.rows.len() > 1 {
            self.shrink();
        }
    }

    /// Removes one row and keeps one row less from now on. A random part of a uniform sample is a uniform sample.
    fn shrink(&mut self) {
        let place = self.random.below(self.rows.len() as u64) as usize;
        self.bytes -= bytes(&self.rows.swap_remove(place));
        self.most = self.rows.len();
    }

    /// Rows in the sample.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no row yet.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Rows from which the sample was drawn.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Bytes that the rows take.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// All rows of the sample.
    pub fn chunk(&self) -> Chunk {
        self.gathered(self.rows.iter())
    }

    /// The earlier and the later half of the rows, in the order of their lines.
    pub fn halves(&self) -> [Chunk; 2] {
        let rows = self.in_order();
        let (earlier, later) = rows.split_at(rows.len() / 2);
        [earlier, later].map(|half| self.gathered(half.iter().copied()))
    }

    /// The last rows of the sample, in the order of their lines.
    pub fn last(&self, count: usize) -> Chunk {
        let rows = self.in_order();
        self.gathered(rows[rows.len().saturating_sub(count)..].iter().copied())
    }

    /// The line of a row of the sample.
    pub fn line(&self, row: u32) -> u64 {
        self.rows[row as usize].line()
    }

    /// The first `count` rows of the sample after a line, in the order of their lines; of more than `most` rows, at most these many at equal distances.
    pub fn after(&self, line: u64, count: usize, most: usize) -> Vec<u32> {
        let mut rows: Vec<u32> = (0..self.rows.len() as u32).filter(|row| self.line(*row) > line).collect();
        rows.sort_by_key(|row| self.line(*row));
        rows.truncate(count);
        let every = rows.len().div_ceil(most.max(1)).max(1);
        rows.into_iter().step_by(every).collect()
    }

    fn in_order(&self) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        rows.sort_by_key(|row| row.line());
        rows
    }

    /// Some rows of the sample, in this order.
    pub fn gather(&self, rows: &[u32]) -> Chunk {
        self.gathered(rows.iter().map(|row| &self.rows[*row as usize]))
    }

    fn gathered<'a>(&'a self, rows: impl Iterator<Item = &'a Row> + Clone) -> Chunk {
        let features = self.rows.iter().map(Row::features).max().unwrap_or(0).max(1);
        gather(rows.map(Row::view), features)
    }
}

fn or_none(value: Option<f64>) -> String {
    value.map_or("none".into(), figure)
}

fn bytes(row: &Row) -> usize {
    ROW_BYTES + row.bytes()
}

/// The error of a model on the earlier and on the later half of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Halves {
    /// On the earlier half.
    pub earlier: f64,
    /// On the later half.
    pub later: f64,
    /// Whether the later half has an error that is smaller by more than three standard errors of the difference.
    pub later_is_better: bool,
}

impl Halves {
    fn measure(reservoir: &Reservoir, learner: &Learner, task: Task, fill: impl Fn(&mut Chunk)) -> okl::Result<Option<Self>> {
        let figures = |mut chunk: Chunk| {
            fill(&mut chunk);
            let mut scoring = Scoring::new(learner, task);
            scoring.add(&chunk)?;
            okl::Result::Ok((scoring.metrics().error(), scoring.metrics().standard_error()))
        };
        let [earlier, later] = reservoir.halves();
        Ok(match (figures(earlier)?, figures(later)?) {
            ((Some(earlier), Some(a)), (Some(later), Some(b))) => {
                Some(Halves { earlier, later, later_is_better: earlier - later > 3.0 * a.hypot(b) })
            }
            _ => None,
        })
    }

    /// What was measured.
    fn words(&self, measure: Measure) -> String {
        let (show, name) = (|value| measure.show(value), measure.name());
        let (later, earlier) = (show(self.later), show(self.earlier));
        match (measure, self.later_is_better) {
            (Measure::ShareOfAlerts, true) => {
                format!("The later half of these rows has fewer alerts ({later}) than the earlier half ({earlier}).")
            }
            (Measure::ShareOfAlerts, false) => {
                format!("The later half of these rows has {later} of alerts, the earlier half {earlier}.")
            }
            (_, true) => {
                format!("It predicts the later half of these rows better ({name} {later}) than the earlier half ({earlier}).")
            }
            (_, false) if self.later >= self.earlier => {
                format!("It predicts the later half of these rows no better ({name} {later}) than the earlier half ({earlier}).")
            }
            (_, false) => {
                format!(
                    "It predicts the later half of these rows not clearly better ({name} {later}) than the earlier half ({earlier})."
                )
            }
        }
    }
}

/// The rows from which a run draws its sample. A run that continues an earlier one over the same data (--continue) reads the rows before again.
pub fn sampled(continued: bool) -> &'static str {
    if continued { "rows of the data" } else { "rows of this run" }
}

/// The figures of the current model on a random sample of the rows that it has learned.
#[derive(Clone, Debug, Serialize)]
pub struct Past {
    /// Rows in the sample.
    pub rows: u64,
    /// Rows from which it was drawn.
    pub drawn_from: u64,
    /// Whether these are all rows that the model has learned; otherwise they are those of [`sampled`].
    pub all_rows: bool,
    /// Whether this run continues an earlier one over the same data.
    #[serde(skip)]
    pub continued: bool,
    /// Whether the model had learned other rows before this run: the progressive error is that of the rows of this run.
    #[serde(skip)]
    pub resumed: bool,
    /// Whether this command also takes --save-model all.
    #[serde(skip)]
    pub can_save_all: bool,
    /// Share of mistakes, mean absolute error, mean pinball loss (quantile loss), or share of alerts: `summary` says which.
    pub error: Option<f64>,
    /// With the quantile loss: the share of targets at or below the scores, over all outputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<f64>,
    /// The standard error of `error`, from the size of the sample.
    pub standard_error: Option<f64>,
    /// The value that the error is compared with: the progressive error, or for novelty the alert rate asked for.
    pub expected: Option<f64>,
    /// Whether `expected` is without the first row, whose error would be more than a tenth of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub expected_without_first_row: bool,
    /// Whether the error is larger than expected by more than three standard errors and by a quarter. For novelty also whether
    /// the alert rate is smaller by as much.
    pub much_worse: bool,
    /// If the error is much worse: the error on the earlier and on the later half of the sample, in the order of the stream; none if rows were shuffled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub halves: Option<Halves>,
    /// For novelty: rows with a score below this are alerts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// Whether that threshold is theta itself, which moves with every row.
    #[serde(skip)]
    pub untracked: bool,
    /// All figures over the sample.
    pub summary: Summary,
    /// The standard deviation of the scores; of several targets the least one.
    #[serde(skip)]
    pub score_deviation: Option<f64>,
}

impl Past {
    /// Measures the model; `fill` fills the cells of the rows that have no value. `expected` is the progressive error, or for novelty the alert rate asked for; and whether it is without the first row. None if no row was kept.
    ///
    /// # Errors
    /// Those of the learner.
    pub fn measure(
        reservoir: &Reservoir,
        learner: &Learner,
        task: Task,
        (expected, expected_without_first_row): (Option<f64>, bool),
        targets: &[String],
        fill: impl Fn(&mut Chunk),
    ) -> okl::Result<Option<Past>> {
        if reservoir.is_empty() {
            return Ok(None);
        }
        let mut scoring = Scoring::new(learner, task);
        let mut chunk = reservoir.chunk();
        fill(&mut chunk);
        scoring.add(&chunk)?;
        let (error, standard_error) = (scoring.metrics().error(), scoring.metrics().standard_error());
        let much_worse = match (error, standard_error, expected) {
            (Some(error), Some(spread), Some(expected)) => {
                let low = task == Task::Novelty && much_smaller(error, reservoir.len() as f64, expected);
                // All of a few rows can be wrong: then the standard error of that share is 0.
                let chance = (expected * (1.0 - expected) / reservoir.len() as f64).max(0.0).sqrt();
                let spread = if task == Task::Classes { spread.max(chance) } else { spread };
                let fewest = if task == Task::Novelty { FEWEST } else { FEWEST_FOR_WORSE };
                reservoir.len() as u64 >= fewest && (low || much_larger(error, spread, expected))
            }
            _ => false,
        };
        Ok(Some(Past {
            rows: reservoir.len() as u64,
            drawn_from: reservoir.seen(),
            all_rows: true,
            continued: false,
            resumed: false,
            can_save_all: false,
            coverage: scoring.metrics().covered().map(|[below, all]| below / all).filter(|share| share.is_finite()),
            error,
            standard_error,
            expected,
            expected_without_first_row,
            much_worse,
            halves: if much_worse { Halves::measure(reservoir, learner, task, fill)? } else { None },
            threshold: learner.threshold().filter(|_| task == Task::Novelty),
            untracked: learner.config().threshold == Threshold::Norma,
            summary: unordered(scoring.summary(targets)),
            score_deviation: scoring.score_deviation(),
        }))
    }

    /// Whether the error on rows that the model has learned is hardly smaller than that of the rows when they were new. Learned rows have
    /// the smaller error, unless the model has forgotten some of them or was not able to learn them.
    pub fn is_hardly_better(&self) -> bool {
        self.error.zip(self.expected).is_some_and(|(error, expected)| self.rows >= FEWEST && error > 0.9 * expected)
            && !self.is_novelty()
    }

    /// "1,000 of 581,012 learned rows".
    pub fn of_rows(&self) -> String {
        let (rows, all) = (count(self.rows as f64), count(self.drawn_from as f64));
        let of = if self.all_rows { "learned rows" } else { sampled(self.continued) };
        if self.drawn_from == 1 {
            return format!("the one {}", of.replacen("rows", "row", 1));
        }
        if self.rows == self.drawn_from { format!("all {all} {of}") } else { format!("{rows} of {all} {of}") }
    }

    /// The standard error; none if the sample has all rows, or if all rows of the sample have the same error.
    pub fn spread(&self) -> Option<f64> {
        self.standard_error.filter(|error| *error > 0.0 && self.rows < self.drawn_from)
    }

    /// A line of the summary.
    pub fn line(&self) -> String {
        let measure = self.summary.measure;
        let value = self.error.map_or("-".into(), |error| measure.show(error));
        let spread = self.spread().map_or(String::new(), |e| format!(" (± {})", measure.show(e)));
        let line = format!("{:<16}{value:<12}{} on {}{spread}", "final model", measure.name(), self.of_rows());
        match self.coverage {
            Some(share) => format!("{line}\n{}", coverage_line(share, self.summary.is_weighted())),
            None => self.explained().fold(line, |lines, next| lines + "\n" + &next),
        }
    }

    /// A line per output that is a number: R² and bias. A model that predicts the most frequent target everywhere can have a small mean absolute error.
    fn explained(&self) -> impl Iterator<Item = String> {
        let several = self.summary.outputs.len() > 1;
        self.summary.outputs.iter().take(LISTED).filter_map(move |output| {
            let (r2, bias) = (figure(output.r2?), figure(output.bias?));
            let of = if several { format!("of {} on these rows", output.name) } else { "on these rows".into() };
            Some(format!("{:<16}{r2:<12}{of}; bias {bias}", "  R²"))
        })
    }

    /// The warning if the final model has a larger squared error on past rows than the mean of their targets, which was not so when rows were new.
    /// `progressive`: the figures of the rows when they were new. Only for the squared loss: the others do not predict a mean.
    pub fn explains_less(&self, progressive: &Summary, squared: bool, order: Order) -> Option<String> {
        if !squared || self.much_worse || self.rows < FEWEST || matches!(order, Order::Replayed | Order::ReplayedAsAsked) {
            return None;
        }
        let several = self.summary.outputs.len() > 1;
        let of_output = |(past, new): (&OutputSummary, &OutputSummary)| {
            let (r2, before) = (past.r2?, new.r2?);
            (r2 < 0.0 && before > 0.0).then(|| {
                let of = if several { format!(" of {}", past.name) } else { String::new() };
                format!(
                    "R²{of} is {} and the bias {}; when rows were new, R² was {}",
                    figure(r2),
                    or_none(past.bias),
                    figure(before)
                )
            })
        };
        let found: Vec<String> = self.summary.outputs.iter().zip(&progressive.outputs).filter_map(of_output).collect();
        let all = if self.can_save_all && order == Order::File { SAVES_ALL } else { "" };
        (!found.is_empty()).then(|| {
            // R² of a sample can be far from that of all rows, where a few large targets have most of the variance.
            let sampled = match self.rows < self.drawn_from {
                true => " R² of a sample depends on its few largest targets: okl evaluate measures all rows.",
                false => "",
            };
            format!(
                "By squared error, which this run minimises, the final model predicts the past rows that were tried ({}) worse than the mean of their \
                 targets does: {}.{sampled} {}{all}",
                self.of_rows(),
                found.join("; "),
                order.advice(false)
            )
        })
    }

    /// The warning if the final model is much worse than expected.
    pub fn warning(&self, order: Order) -> Option<String> {
        let measure = self.summary.measure;
        let [error, expected] = [self.error, self.expected].map(|value| value.map_or("none".into(), |value| measure.show(value)));
        let rows = self.of_rows();
        let new = if self.resumed { "the rows of this run" } else { "rows" };
        let by_weight = self.by_weight();
        let first = if self.expected_without_first_row { WITHOUT_FIRST } else { "" };
        let (found, advice) = match self.summary.task {
            Task::Classes => (
                format!(
                    "gets {error} of past rows{by_weight} wrong ({rows} were tried). When {new} were new, {expected} were wrong."
                ),
                self.advice(order),
            ),
            Task::Numbers if measure == Measure::PinballLoss => (
                format!(
                    "has a mean pinball loss of {error} on past rows ({rows} were tried{}). When {new} were new, it was {expected}{first}.",
                    self.coverage.map_or(String::new(), |share| format!(
                        "; {} of the targets{by_weight} lie at or below its scores",
                        percent(share)
                    ))
                ),
                self.advice(order),
            ),
            Task::Numbers => (
                format!(
                    "is off by {error} on average{} on past rows ({rows} were tried). When {new} were new, by {expected}{first}.",
                    if self.summary.outputs.len() > 1 { OVER_TARGETS } else { "" }
                ),
                self.advice(order),
            ),
            Task::Novelty => (
                format!("{} ({rows} were tried){}. {expected} was asked for.", self.alerts(), self.why()),
                self.alert_advice(order),
            ),
        };
        self.much_worse.then(|| format!("The final model {found} {advice}"))
    }

    /// Whether the model is a detector.
    pub fn is_novelty(&self) -> bool {
        self.summary.task == Task::Novelty
    }

    fn alerts(&self) -> String {
        match self.error {
            Some(0.0) => "gives no alert for any past row".into(),
            Some(1.0) => "gives an alert for every past row".into(),
            rate => format!("gives an alert for {} of past rows{}", rate.map_or("none".into(), percent), self.by_weight()),
        }
    }

    /// What a share of the sample is of, where its rows have weights.
    fn by_weight(&self) -> &'static str {
        if self.summary.is_weighted() { " by weight" } else { "" }
    }

    /// Why a detector never or always gives an alert.
    fn why(&self) -> String {
        let side = match self.error {
            Some(0.0) => "not above any",
            Some(1.0) => "above every",
            _ => return String::new(),
        };
        self.threshold.map_or(String::new(), |threshold| format!(": its threshold, {}, is {side} score", figure(threshold)))
    }

    fn alert_advice(&self, order: Order) -> String {
        if self.untracked {
            "With --threshold norma the threshold moves at every row and the model keeps the last one: \
             learn with --threshold tracker, which holds the rate."
                .into()
        } else if self.error < self.expected {
            "The model has learned these rows, so rows that are new can give more alerts: --test FILE counts them.".into()
        } else {
            self.advice(order)
        }
    }

    /// What was measured on the halves of the sample, and what to do.
    fn advice(&self, order: Order) -> String {
        let order = if self.resumed && order == Order::File { Order::Resumed } else { order };
        let Some(halves) = self.halves.filter(|_| order != Order::Shuffled) else { return order.advice(false).into() };
        let all = match order == Order::File && self.can_save_all && self.summary.task != Task::Novelty {
            true => SAVES_ALL,
            false => "",
        };
        format!("{} {}{all}", halves.words(self.summary.measure), order.advice(halves.later_is_better))
    }
}

/// Removes figures that depend on the order of the rows, because a sample has no order.
fn unordered(mut summary: Summary) -> Summary {
    (summary.no_change_error, summary.windowed_no_change_error) = (None, None);
    for output in &mut summary.outputs {
        (output.no_change_mae, output.rmse_after_first, output.first_share) = (None, None, None);
    }
    summary
}

/// The order and source of the rows, for advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In the order of the file.
    File,
    /// In the order of the file, by a model that had learned other rows before.
    Resumed,
    /// From standard input.
    Stream,
    /// In a random order.
    Shuffled,
    /// In the order of the file; a sample of the rows was then learned once more in a random order, and that model is saved.
    Replayed,
    /// In any order; a sample of the rows was then learned once more, because the command says so (--save-model all).
    ReplayedAsAsked,
}

impl Order {
    fn advice(self, later_is_better: bool) -> &'static str {
        match self {
            Order::File if later_is_better => {
                "If the rows are a fixed set, learn with --shuffle 1; otherwise measure the model on later rows (--test FILE) before you keep it."
            }
            Order::Stream if later_is_better => {
                "If the rows are a fixed set, write them to a file and learn with --shuffle 1; otherwise measure \
                 the model on later rows (--test FILE) before you keep it."
            }
            Order::Resumed if later_is_better => {
                "If the rows are a fixed set, learn all of them in one new run with --shuffle 1; otherwise measure the model on later rows (--test FILE) before you keep it."
            }
            Order::File => {
                "Rows may be like the rows just before them (groups, seasons, time order). Look for outliers, too. If the rows are a fixed \
                 set, learn with --shuffle 1; in any case measure the model on other rows (--test FILE) before you use it."
            }
            Order::Resumed => {
                "Rows may be like the rows just before them (groups, seasons, time order). Look for outliers, too. If the rows are a fixed \
                 set, learn all of them in one new run with --shuffle 1; in any case measure the model on other rows (--test FILE) before you use it."
            }
            Order::Stream => {
                "Rows may be like the rows just before them (groups, seasons, time order). Look for outliers, too. If the rows are a fixed \
                 set, write them to a file and learn with --shuffle 1; in any case measure the model on other rows (--test FILE) before you use it."
            }
            Order::Replayed => "So rows were learned once more, and another model was chosen.",
            Order::ReplayedAsAsked => "--save-model all takes another model, which has learned rows once more in a random order.",
            Order::Shuffled => {
                "The rows came in a random order, so the model has not settled: allow it more terms (--memory) or more passes (--passes)."
            }
        }
    }
}

/// A line of the summary about the coverage of a model; `weighted`: whether rows have weights.
pub fn coverage_line(share: f64, weighted: bool) -> String {
    let by_weight = if weighted { " by weight" } else { "" };
    format!("{:<16}{:<12}of these targets{by_weight} at or below its scores", "  coverage", percent(share))
}

/// What is said of an error that leaves the first row out.
pub const WITHOUT_FIRST: &str = " (without the first row)";

/// Whether an error measured on a sample is much larger than expected: by more than three standard errors, and by a quarter.
pub fn much_larger(error: f64, standard_error: f64, expected: f64) -> bool {
    error - expected > 3.0 * standard_error && error > 1.25 * expected
}

/// Whether a share of `rows` rows is much smaller than expected: by more than three standard errors of the expected share (that of the
/// share itself is 0 where no row counts), and by a quarter.
pub fn much_smaller(share: f64, rows: f64, expected: f64) -> bool {
    expected - share > 3.0 * (expected * (1.0 - expected) / rows).sqrt() && 1.25 * share < expected
}
