//! Input that a learner did not use exactly as given: clipped or rounded values, skipped steps; and members of a bank that rest.
//!
//! A value is clipped if it lies at or beyond the limit of the frame (`scale = standard`: 8 standard deviations of the first rows).
//! Clipped values are counted per column, over all examples learned after the warm-up, and over the last 1,000 to 2,000 of them. A
//! window ends after every 1,000 examples, so the counts depend on the stream alone and not on the cut (law 1). `rounding.rs`
//! defines when a column loses digits in single precision.

use std::collections::BTreeMap;

pub use super::large_targets::LargeTargets;
use super::rounding::LARGE;
use super::scaling::{CLIP, FAR_CLIP, FURTHER, Frame};
use crate::basis::sparse::SparseRow;
use crate::config::{ClassWeight, Label, Scale};
use crate::engine::bank::Bank;
use crate::learner::Learner;
use crate::parts::kernel::{AnyKernel, DotKernel};
use crate::parts::loss::{Loss, Reads};

/// Examples per window.
pub(crate) const WINDOW: u64 = 1000;

/// [`Health::findings`] reports a column if at least this share of its last values is clipped. In ordinary data with heavy tails (a
/// lognormal of unit variance, Student's t with three degrees of freedom) less than 0.2 % lie beyond eight standard deviations.
const SHARE: f64 = 0.05;

/// The smallest number of values from which a share is reported.
const FEWEST: u64 = 100;

/// The amount by which a share must exceed [`SHARE`]: three standard errors of a share of 5 % if there are fewer values than a
/// window, otherwise 0.
fn doubt(values: u64) -> f64 {
    if values < WINDOW { 3.0 * (SHARE * (1.0 - SHARE) / values as f64).sqrt() } else { 0.0 }
}

/// Counts of clipped values.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Clipped {
    /// The number of examples checked.
    pub examples: u64,
    /// The number of examples with a clipped value.
    pub rows: u64,
    /// Per column, the number of clipped values: overall, in the last complete window, in the current window.
    pub columns: Vec<[u64; 3]>,
    /// The least and the largest clipped value as it was given: in the last complete window, in the current window. Of the columns with
    /// clipped values in these windows; of none in files of older versions.
    ranges: BTreeMap<u32, [Range; 2]>,
}

/// The least and the largest of some numbers; without a number, the least is above the largest.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Range([f64; 2]);

impl Range {
    const EMPTY: Range = Range([1.0, 0.0]);

    fn is_empty(self) -> bool {
        self.0[0] > self.0[1]
    }

    fn add(&mut self, value: f64) {
        *self = if self.is_empty() { Range([value; 2]) } else { Range([self.0[0].min(value), self.0[1].max(value)]) };
    }

    /// Whether all numbers of both ranges are the same one.
    fn is_one_value(self, other: Range) -> bool {
        let (some, more) = if self.is_empty() { (other, self) } else { (self, other) };
        !some.is_empty() && some.0[0] == some.0[1] && (more.is_empty() || more == some)
    }
}

impl Clipped {
    /// Counts the clipped values of a scaled row. `given` returns the value of a column as it was given.
    pub fn count(&mut self, row: &[f32], limit: f32, given: impl Fn(usize) -> f64) {
        self.begin_example(row.len());
        // Most rows have no clipped value. This check reads them without a branch per value.
        if row.iter().fold(false, |any, u| any | (u.abs() >= limit)) {
            self.rows += 1;
            for ([all, _, now], u) in self.columns.iter_mut().zip(row) {
                let one = u64::from(u.abs() >= limit);
                (*all, *now) = (*all + one, *now + one);
            }
            let clipped = row.iter().enumerate().filter(|(_, u)| u.abs() >= limit);
            clipped.for_each(|(column, _)| self.range(column, given(column)));
        }
    }

    /// Adds a clipped value to the range of its column.
    fn range(&mut self, column: usize, value: f64) {
        self.ranges.entry(column as u32).or_insert([Range::EMPTY; 2])[1].add(value);
    }

    /// Whether all clipped values of the column in the last windows are the same value, as in a column of zeros and ones.
    fn is_one_value(&self, column: usize) -> bool {
        self.ranges.get(&(column as u32)).is_some_and(|[last, now]| last.is_one_value(*now))
    }

    /// Whether this is the only clipped value of the column in the last windows.
    pub(super) fn is_only(&self, column: usize, value: f64) -> bool {
        let ranges = || self.ranges.get(&(column as u32)).into_iter().flatten();
        self.is_one_value(column) && ranges().any(|range| range.0[0] == value && !range.is_empty())
    }

    /// Whether a clipped value of the column in the last windows is at or beyond the limit of a frame.
    fn is_beyond(&self, column: usize, frame: &Frame) -> bool {
        let ranges = self.ranges.get(&(column as u32)).into_iter().flatten().filter(|range| !range.is_empty());
        ranges.flat_map(|range| range.0).any(|value| frame.clips(&[frame.value(column, value)]))
    }

    /// The same for a sparse row. A value of 0 is not clipped.
    pub fn count_sparse(&mut self, row: SparseRow<'_>, features: usize, limit: f32, given: impl Fn(usize) -> f64) {
        self.begin_example(features);
        let before = self.rows;
        for (column, _) in row.iter().filter(|(_, u)| u.abs() >= limit) {
            let [all, _, now] = &mut self.columns[column as usize];
            (*all, *now, self.rows) = (*all + 1, *now + 1, before + 1);
            self.range(column as usize, given(column as usize));
        }
    }

    fn begin_example(&mut self, features: usize) {
        self.columns.resize(features, [0; 3]);
        if self.examples > 0 && self.examples.is_multiple_of(WINDOW) {
            self.columns.iter_mut().for_each(|[_, last, now]| *last = std::mem::take(now));
            self.ranges.values_mut().for_each(|[last, now]| *last = std::mem::replace(now, Range::EMPTY));
            self.ranges.retain(|_, [last, _]| !last.is_empty());
        }
        self.examples += 1;
    }

    /// The number of examples in the last complete window and the current window.
    fn recent(&self) -> u64 {
        match self.examples {
            0 => 0,
            n if n <= WINDOW => n,
            n => WINDOW + (n - 1) % WINDOW + 1,
        }
    }

    /// The state as a list of numbers, for a model file.
    pub fn state(&self) -> Vec<u64> {
        [self.examples, self.rows].into_iter().chain(self.columns.iter().flatten().copied()).collect()
    }

    /// The ranges of the clipped values as a list of numbers: of each column its index and four ends. Empty if no value was clipped.
    pub fn ranges(&self) -> Vec<f64> {
        self.ranges
            .iter()
            .flat_map(|(column, [last, now])| [f64::from(*column), last.0[0], last.0[1], now.0[0], now.0[1]])
            .collect()
    }

    /// Takes the ranges from a model file; false if a column does not exist.
    pub fn restore_ranges(&mut self, ranges: &[f64]) -> bool {
        let (ranges, rest) = ranges.as_chunks::<5>();
        let exists = |[column, ..]: &[f64; 5]| column.fract() == 0.0 && (0.0..self.columns.len() as f64).contains(column);
        let possible = rest.is_empty() && ranges.iter().all(exists) && ranges.is_sorted_by(|a, b| a[0] < b[0]);
        self.ranges = ranges.iter().map(|&[column, a, b, c, d]| (column as u32, [Range([a, b]), Range([c, d])])).collect();
        possible
    }

    /// Restores the state from a model file; none if the numbers are inconsistent.
    pub fn restored(state: &[u64], features: usize) -> Option<Self> {
        let (&[examples, rows], columns) = (state.first_chunk()?, state.get(2..)?.as_chunks::<3>());
        let possible = columns.1.is_empty()
            && columns.0.len() == features
            && rows <= examples
            && examples < 1 << 60
            && columns.0.iter().all(|[all, last, now]| *all <= rows && *last <= WINDOW && *now <= WINDOW && last + now <= *all);
        possible.then(|| Clipped { examples, rows, columns: columns.0.to_vec(), ranges: BTreeMap::new() })
    }
}

/// Input that a learner did not use exactly as given; see [`Learner::health`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Health {
    /// The number of examples learned.
    pub examples: u64,
    /// The number of skipped steps; see [`Learner::skipped`].
    pub skipped: u64,
    /// The number of rows that took the id of a live term with other features.
    pub ids_taken_over: u64,
    /// The number of rows so far from the origin that rounding to single precision changes their kernel values by more than 5 %.
    pub blurred: u64,
    /// The number of members of a bank that rest, because their last step would have given numbers that are not finite.
    pub resting: usize,
    /// The number of examples checked for clipped values: all examples after the warm-up; 0 if there is no limit.
    pub watched: u64,
    /// The number of these examples with a clipped value.
    pub clipped_rows: u64,
    /// The number of clipped values.
    pub clipped_values: u64,
    /// The limit at which values are clipped, in standard deviations of the first rows; see `zeros_are_absent`.
    pub limit: Option<f64>,
    /// Whether nothing is subtracted from the columns, because a zero means that the value is absent. Then `limit` is in root mean squares
    /// of the values that are not 0.
    pub zeros_are_absent: bool,
    /// The columns with clipped values, in descending order of the recent share of clipped values.
    pub clipped_columns: Vec<ClippedColumn>,
    /// The number of examples of the warm-up, from which the frame was estimated.
    pub warmup: usize,
    /// Where units follow the stream ([`units`](crate::units)): how often they changed, and after which example last.
    pub unit_changes: Option<(u64, u64)>,
    /// The sum of `values` over the columns in `rounded_columns`.
    pub rounded_values: u64,
    /// The columns that lost digits in single precision, the worst first: in a window of 1,000 examples, the largest rounding error
    /// exceeded a thousandth of the range of the column.
    pub rounded_columns: Vec<RoundedColumn>,
    /// The columns that vary by less than 0.2 % of their unit in the current window of 1,000 examples, with their range there in units,
    /// the narrowest first. An outlier among the first rows makes such a unit.
    pub narrow_columns: Vec<(usize, f64)>,
    /// A sentence, if a few targets are much larger than all others and the model is worse after them; see [`LargeTargets`].
    pub large_targets: Option<String>,
    /// A sentence, if the weights of the rows that were learned since the learner was made or loaded are all small, or their mean is large.
    pub weights: Option<String>,
    /// A sentence, if targets are far from the unit of the steps of a loss with a bounded gradient and poorly predicted. It is not among the
    /// findings: programs that see the targets, as the command line, know their mean and deviation and say more.
    pub out_of_unit: Option<String>,
    /// A sentence, if the learner has no offset and targets are so far from 0 that a constant has smaller errors. It is not among the findings,
    /// because the command line compares errors with those of a constant, and says more.
    pub without_offset: Option<String>,
    /// Whether a weight vector leads a bank: it reads columns up to [`Learner::linear_limit`], so that what kernels see as clipped is no problem up to there.
    pub reads_further: bool,
    /// The classes to which `class_weight` gives a weight and which no example had. Where targets are the numbers -1 and +1, both of these count
    /// as classes that examples had.
    pub absent_classes: Vec<String>,
    /// Whether columns are not scaled, so that the unit of every column is that of the data.
    pub unscaled: bool,
    /// Whether the model is a detector: it has alerts, and no error.
    pub detects: bool,
}

/// A column that lost digits in single precision.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RoundedColumn {
    /// The index of the column, from 0.
    pub column: usize,
    /// The number of examples in the windows (of 1,000 examples each) in which the column lost digits.
    pub values: u64,
    /// The largest rounding error as a share of the column's range, in the last 1,000 to 2,000 examples.
    pub recent_error: f64,
}

/// A column with clipped values.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ClippedColumn {
    /// The index of the column, from 0.
    pub column: usize,
    /// The number of clipped values in this column.
    pub values: u64,
    /// The share of clipped values among all checked examples.
    pub share: f64,
    /// The share of clipped values among the last `recent` examples.
    pub recent_share: f64,
    /// The number of examples of `recent_share`: at most 2,000.
    pub recent: u64,
    /// Whether the values that were clipped among these examples are all the same, as in a column of zeros and ones. Clipping then makes no two
    /// values equal.
    pub one_value: bool,
    /// Whether one of these values is beyond the further limit of weight vectors, too; see [`Learner::linear_limit`].
    pub beyond_further: bool,
}

impl Health {
    pub(crate) fn of(learner: &Learner) -> Self {
        let clipped = &learner.clipped;
        let (all, recent) = (clipped.examples.max(1) as f64, clipped.recent());
        let further = learner.frame.further();
        let column = |(column, &[values, last, now]): (usize, &[u64; 3])| ClippedColumn {
            column,
            values,
            share: values as f64 / all,
            recent_share: (last + now) as f64 / recent.max(1) as f64,
            recent,
            one_value: clipped.is_one_value(column),
            beyond_further: further.as_ref().is_some_and(|frame| clipped.is_beyond(column, frame)),
        };
        let mut columns: Vec<_> = clipped.columns.iter().enumerate().map(column).filter(|c| c.values > 0).collect();
        columns.sort_by(|a, b| b.recent_share.total_cmp(&a.recent_share).then(b.values.cmp(&a.values)));
        let rounded = learner.rounding.columns(FEWEST).enumerate();
        let rounded = rounded.map(|(column, (values, recent_error))| RoundedColumn { column, values, recent_error });
        let mut rounded: Vec<_> = rounded.filter(|c| c.values > 0).collect();
        rounded.sort_by(|a, b| b.recent_error.total_cmp(&a.recent_error).then(b.values.cmp(&a.values)));
        Health {
            examples: learner.examples(),
            skipped: learner.skipped(),
            ids_taken_over: learner.engine.basis.taken_over,
            blurred: learner.blur.rows,
            resting: learner.engine.resting(),
            watched: clipped.examples,
            clipped_rows: clipped.rows,
            clipped_values: columns.iter().map(|c| c.values).sum(),
            limit: learner.limit(),
            zeros_are_absent: learner.config.keeps_zeros(),
            clipped_columns: columns,
            warmup: learner.config.warmup,
            unit_changes: learner.unit_changes(),
            rounded_values: rounded.iter().map(|c| c.values).sum(),
            rounded_columns: rounded,
            narrow_columns: narrow_columns(learner),
            large_targets: learner.large_targets.finding(&learner.config.loss, "example"),
            weights: learner.row_weights.finding(),
            out_of_unit: learner.large_targets.out_of_unit(&learner.config, &learner.target_level),
            without_offset: learner.target_level.finding(&learner.config),
            reads_further: reads_further(learner),
            absent_classes: absent_classes(learner),
            unscaled: learner.config.scale == Scale::None,
            detects: learner.config.loss.reads() == Reads::Nothing,
        }
    }

    /// Problems of the input and what to do about them, one sentence each; empty if there are none. `name` returns the name of a column.
    ///
    /// Clipping is reported, unless a weight vector leads and none of the values is beyond its further limit, or all clipped values of the column are the same, if at least 5 % of a column's last 1,000 to 2,000 values were clipped; with 100 to 999 values, if the
    /// share exceeds 5 % by three standard errors. Lost digits of a column are reported while the column loses digits, and a unit that is
    /// much too large while the column varies little. Blurred rows are reported if they are at least 1 % of the rows. Skipped steps, ids taken over and resting members are always reported, and so are
    /// targets that are much larger than all others and spoil the model. A class of `class_weight` is reported if none of 100 examples or more
    /// had it.
    pub fn findings(&self, name: impl Fn(usize) -> String) -> Vec<String> {
        let mut found = Vec::new();
        let speaks = |c: &&ClippedColumn| {
            let often = c.recent >= FEWEST && c.recent_share >= SHARE + doubt(c.recent) && !c.one_value;
            often && (!self.reads_further || c.beyond_further)
        };
        let columns: Vec<_> = self.clipped_columns.iter().filter(speaks).collect();
        if let (Some(worst), Some(limit)) = (columns.first(), self.limit) {
            let others = others(columns[1..].iter().map(|c| name(c.column)));
            let limit = in_words(limit, self.zeros_are_absent);
            let clipped = format!(
                "{:.0} % of the last {} values were at or beyond the limit of {limit}",
                100.0 * worst.recent_share,
                grouped(worst.recent)
            );
            let compare = if self.detects { "compare the alerts with those" } else { "compare the error with that" };
            let advice = match self.unit_changes {
                Some((changes, at)) => {
                    let when = self.why_clipped(worst, (changes > 0).then_some(at));
                    format!(
                        "{others}, at which values are clipped, so that kernels see all values beyond it as equal (a column that did not vary when its unit \
                         was found has the unit 1 in place of a standard deviation); {when}: {compare} of a model without the column, or with differences \
                         from row to row in its place"
                    )
                }
                None => format!(
                    " of the first {} examples{others}, at which values are clipped; the column's unit comes from those examples (1 where the column did not vary), \
                      so rescaling the column does not help: shuffle the rows if they are a fixed set, or {compare} of a model \
                     without the column, or with differences from row to row in its place",
                    grouped(self.warmup as u64)
                ),
            };
            let further = match self.reads_further {
                true => format!(
                    "; the weight vector that leads clips them at {}, and some are beyond that, too",
                    in_words(FURTHER, false)
                ),
                false => String::new(),
            };
            found.push(format!("column {}: {clipped}{advice}{further}", name(worst.column)));
        }
        let losing: Vec<_> = self.rounded_columns.iter().filter(|c| c.recent_error > LARGE).collect();
        if let Some(worst) = losing.first() {
            found.push(format!(
                "column {}: rounding to single precision (about 7 digits) changes values by up to {} % of the column's range in the last \
                 examples{}, because the column varies little around a large value or its values are below 1e-38; set scale to standard, \
                 or subtract a constant from the column and rescale it",
                name(worst.column),
                two_digits(100.0 * worst.recent_error),
                others(losing[1..].iter().map(|c| name(c.column))),
            ));
        }
        if let Some(&(column, range)) = self.narrow_columns.first() {
            let others = others(self.narrow_columns[1..].iter().map(|(column, _)| name(*column)));
            found.push(match self.unscaled {
                true => format!(
                    "column {}: the last values differ by {} at most{others}, so the kernel hardly sees them, and columns are not scaled: set scale \
                     to standard, multiply the columns by a number that makes these differences about 1, or, for a kernel of distance, choose \
                     a larger gamma",
                    name(column),
                    two_digits(range),
                ),
                false => format!(
                    "column {}: the last values differ by {} % of the column's unit at most{others}, so the kernel hardly sees them; the unit comes from \
                     the first {} examples: look for an outlier among them, leave it out and learn anew, or set scale to none",
                    name(column),
                    two_digits(100.0 * range),
                    grouped(self.warmup as u64),
                ),
            });
        }
        let rows = self.examples + self.skipped; // Rows whose step was skipped are among the blurred ones
        if self.blurred >= FEWEST_BLURRED && self.blurred as f64 >= BLURRED_SHARE * rows as f64 {
            found.push(format!(
                "{} of {} rows lie so far from the first rows, measured in widths of the kernel, that single precision blurs their kernel \
                 values: scores, |f|² and certificates are not reliable there; use a wider kernel, such as gamma = median, or, of a column \
                 that drifts far away, differences from row to row; look for an outlier among the first rows; scale the columns where \
                 they are not scaled",
                grouped(self.blurred),
                grouped(rows)
            ));
        }
        if self.resting > 0 {
            found.push(format!(
                "{} of the settings that learn in parallel rest, because their steps would have given numbers that are not finite; look for \
                 outliers in features or targets",
                self.resting
            ));
        }
        if self.skipped > 0 {
            found.push(format!(
                "{} of {} steps were not taken, because they would have given numbers that are not finite; choose a smaller step or rescale the data",
                grouped(self.skipped),
                grouped(self.examples + self.skipped)
            ));
        }
        if self.ids_taken_over > 0 {
            found.push(format!(
                "{} of {} rows had the id of a stored term with other features and took it over; give every row an id of its own",
                grouped(self.ids_taken_over),
                grouped(self.examples)
            ));
        }
        found.extend(self.large_targets.clone());
        found.extend(self.weights.clone());
        if !self.absent_classes.is_empty() && self.examples >= FEWEST {
            let which = if self.absent_classes.len() == 1 { "this class" } else { "these classes" };
            found.push(format!(
                "class_weight names {}, but none of {} examples had {which}; all weights are divided by the largest one, so a name that is \
                 misspelled can make the weights of the others smaller: correct or remove it",
                self.absent_classes.join(", "),
                grouped(self.examples)
            ));
        }
        found
    }

    /// When okl finds a new unit of a column that is clipped, and when it does not. `changed`: the example after which units were found last.
    fn why_clipped(&self, column: &ClippedColumn, changed: Option<u64>) -> String {
        let stays = "okl usually finds a new level of a column if the column stays there for 512 examples and varies there";
        let moves = "it does not follow a level that moves on, as that of a date or of a season does, and can miss one after long stretches of \
                     equal values";
        match changed.filter(|at| at + column.recent > self.examples) {
            Some(at) => format!(
                "units of columns were found again after example {}; if values of this column are clipped from then on, too: {stays}; {moves}",
                grouped(at)
            ),
            None => format!("{stays}; {moves}"),
        }
    }
}

/// A count with commas between thousands.
pub(super) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let comma = |at: usize| at > 0 && (digits.len() - at).is_multiple_of(3);
    digits.chars().enumerate().flat_map(|(at, digit)| comma(at).then_some(',').into_iter().chain([digit])).collect()
}

/// The classes with a weight that the learner has not seen. Classes that are declared have been checked against the weights. Targets that
/// are the numbers -1 and +1 have no names in the learner; their weights are those of these two names.
fn absent_classes(learner: &Learner) -> Vec<String> {
    match &learner.config.class_weight {
        ClassWeight::Table(table) if learner.config.classes.is_none() => {
            let signs = [Label::Int(-1), Label::Int(1)];
            let numbers = learner.classes().is_empty() && learner.config.loss.reads() == Reads::Sign && learner.examples() > 0;
            let classes = if numbers { &signs[..] } else { learner.classes() };
            let known = |name: &&String| classes.iter().any(|class| ClassWeight::is_name_of(name, class));
            table.keys().filter(|name| !known(name)).cloned().collect()
        }
        _ => Vec::new(),
    }
}

/// Whether the leading voice of a bank is a weight vector with a further limit.
pub(super) fn reads_further(learner: &Learner) -> bool {
    let leader = learner.engine.bank().map(Bank::leading_head);
    leader.is_some_and(|head| head >= learner.engine.heads.len()) && learner.linear_limit() != learner.limit()
}

/// The limit as text: in standard deviations or root mean squares of each column, or in a common unit of the columns.
pub(super) fn in_words(limit: f64, zeros_are_absent: bool) -> String {
    match [CLIP, FURTHER, FAR_CLIP].contains(&limit) {
        true if zeros_are_absent => format!("{limit} times the root mean square (zeros left out)"),
        true => format!("{limit} standard deviations"),
        false => format!("{limit}, {FAR_CLIP} times the widest range"),
    }
}

/// The columns whose unit is much too large for their last values. Without a frame, a column has no unit. Where all columns share one
/// unit, some may be small beside others; then all of them must be narrow. Where columns are not scaled, `gamma` may be chosen for the units of the
/// data, so the values of kernels of distance decide, too.
fn narrow_columns(learner: &Learner) -> Vec<(usize, f64)> {
    let factors = learner.frame().1;
    let varying: Vec<_> = learner.rounding.ranges(FEWEST).enumerate().filter(|(_, range)| *range > 0.0).collect();
    let sees = |range: f64| learner.config.scale == Scale::None && a_kernel_sees(learner, range);
    let mut narrow: Vec<_> = varying.iter().copied().filter(|(_, range)| *range < NARROW && !sees(*range)).collect();
    let shared = factors.windows(2).all(|pair| pair[0] == pair[1]);
    if factors.is_empty() || (shared && narrow.len() < varying.len()) {
        return Vec::new();
    }
    narrow.sort_by(|a, b| a.1.total_cmp(&b.1));
    narrow
}

/// Whether a kernel of distance changes by more than [`SEEN`] of k(x, x) over a range of one column.
fn a_kernel_sees(learner: &Learner, range: f64) -> bool {
    let range = range as f32;
    let change = |kernel: &AnyKernel| match kernel.of_manhattan_distance() {
        true => 1.0 - kernel.eval(-0.5 * range, 0.0, 0.0) / kernel.eval(0.0, 0.0, 0.0),
        false => 1.0 - kernel.eval(0.0, range * range, 0.0) / kernel.eval(0.0, 0.0, 0.0),
    };
    let kernels = learner.engine.basis.space.kernels();
    kernels.iter().filter(|kernel| kernel.translation_invariant()).any(|kernel| change(kernel) > SEEN)
}

/// A kernel value that changes by a smaller share over the range of a column hardly depends on the column: a Gaussian kernel with gamma = 1
/// changes by this over a hundredth of a unit.
const SEEN: f32 = 1e-4;

/// A column is narrow if its values differ by less than this share of its unit.
const NARROW: f64 = 2e-3;

/// Blurred rows are reported from this number and this share of all rows on.
const FEWEST_BLURRED: u64 = 5;
const BLURRED_SHARE: f64 = 0.01;

/// The names of the other columns, for a finding with the figures of the worst column.
pub(super) fn others(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(MOST_NAMES);
    let names: Vec<String> = names.take(MOST_NAMES).collect();
    let columns = if names.len() + more == 1 { "column" } else { "columns" };
    match more {
        _ if names.is_empty() => String::new(),
        0 => format!(" (also {columns} {}, with other figures)", names.join(", ")),
        more => format!(" (also {columns} {} and {more} more, with other figures)", names.join(", ")),
    }
}

/// At most this many other columns are named.
const MOST_NAMES: usize = 5;

/// A positive number with two significant digits.
fn two_digits(value: f64) -> String {
    let decimals = if value < 9.95 { 1 - value.log10().floor().max(-3.0) as i32 } else { 0 };
    format!("{value:.*}", decimals.max(0) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three standard errors above 5 % are 11.5 % of 100 values and 7.07 % of 999; from 1,000 values on 5 % is enough.
    #[test]
    fn a_short_stream_is_judged_with_a_margin() {
        let said = |clipped: u64, values: u64| {
            let share = clipped as f64 / values as f64;
            let column = ClippedColumn {
                column: 0,
                values: clipped,
                share,
                recent_share: share,
                recent: values,
                one_value: false,
                beyond_further: false,
            };
            let health = Health { limit: Some(8.0), clipped_columns: vec![column], ..Health::default() };
            health.findings(|c| c.to_string()).len()
        };
        assert_eq!([said(99, 99), said(11, 100), said(12, 100), said(70, 999), said(71, 999)], [0, 0, 1, 0, 1]);
        assert_eq!([said(49, 1000), said(50, 1000), said(655, 744)], [0, 1, 1]);
    }

    /// The unit of a column without a shift is the root mean square of its values that are not 0.
    #[test]
    fn the_limit_is_named_in_the_unit_of_the_column() {
        for (anchor, unit) in
            [("anchor = 'none'", "8 times the root mean square (zeros left out)"), ("", "8 standard deviations")]
        {
            let settings =
                format!("kernel = 'gaussian:1'\nscale = 'standard'\nwarmup = 16\nstep = 'constant:0.1'\nlambda = 0.01\n{anchor}");
            let mut learner = Learner::new(crate::Config::from_toml(&settings).unwrap()).unwrap();
            for i in 0..400 {
                let x = if i < 16 { (i % 2) as f32 + 0.5 } else { 1000.0 + i as f32 };
                learner.learn_one(&[x], if i % 3 == 0 { 1.0 } else { -1.0 }).unwrap();
            }
            let findings = learner.health().findings(|c| c.to_string());
            assert!(findings.iter().any(|line| line.contains(&format!("were at or beyond the limit of {unit}"))), "{findings:?}");
        }
    }

    #[test]
    fn steps_that_were_not_taken_are_counted_among_all() {
        let health = Health { skipped: 2000, examples: 10, ..Health::default() };
        assert!(health.findings(|c| c.to_string())[0].starts_with("2,000 of 2,010 steps were not taken"));
    }

    #[test]
    fn windows_end_at_counts_of_examples() {
        let mut clipped = Clipped::default();
        // The first column is clipped in examples 500 to 1,499, the second never.
        for i in 0..2600 {
            clipped.count(&[if (500..1500).contains(&i) { -8.0 } else { 7.9 }, 0.0], 8.0, |_| f64::from(i));
            let recent: u64 = clipped.columns[0][1] + clipped.columns[0][2];
            let from = (i / 1000 * 1000i32 - 1000).max(0);
            let expected = (from..=i).filter(|i| (500..1500).contains(i)).count() as u64;
            assert_eq!((recent, clipped.recent()), (expected, (i + 1 - from) as u64), "{i}");
        }
        assert_eq!((clipped.examples, clipped.rows, clipped.columns[1]), (2600, 1000, [0; 3]));
        let mut restored = Clipped::restored(&clipped.state(), 2).unwrap();
        assert!(restored.restore_ranges(&clipped.ranges()) && restored == clipped);
        assert!(!restored.restore_ranges(&[2.0, 1.0, 1.0, 1.0, 0.0]), "there are two columns");
        assert_eq!(Clipped::restored(&clipped.state(), 3), None);
    }
}
