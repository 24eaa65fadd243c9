//! What a learner did not use as it was given: values that were clipped or lost digits, steps that were not taken, members of a
//! bank that rest.
//!
//! A value is clipped if it lies at or beyond the limit of the frame (`scale = standard`: 8 deviations of the first rows). Values are
//! counted per column, over the examples that are learned once the frame is settled, and over the last 1,000 to 2,000 of them:
//! a window of 1,000 examples ends at counts of examples, so that the counts are a function of the stream alone (law 1).
//! When a column loses digits in single precision is defined in `rounding.rs`.

use super::rounding::LARGE;
use super::scaling::{CLIP, FAR_CLIP};
use crate::learner::Learner;

/// Examples per window.
pub(crate) const WINDOW: u64 = 1000;

/// From this share of a column's last values on, [`Health::findings`] speaks of it. In ordinary data with heavy tails (a lognormal
/// of unit variance, Student's t with three degrees of freedom) fewer than 0.2 % lie beyond eight deviations.
const SHARE: f64 = 0.05;

/// The fewest values that a share is judged by.
const FEWEST: u64 = 100;

/// What a share has to be above [`SHARE`]: three standard errors of a share of 5 %, while there are fewer values than a window has.
fn doubt(values: u64) -> f64 {
    if values < WINDOW { 3.0 * (SHARE * (1.0 - SHARE) / values as f64).sqrt() } else { 0.0 }
}

/// Counts of clipped values.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Clipped {
    /// Examples that were looked at.
    pub examples: u64,
    /// Examples with a clipped value.
    pub rows: u64,
    /// Per column: overall, in the last whole window, in the present one.
    pub columns: Vec<[u64; 3]>,
}

impl Clipped {
    /// Counts the values of a row in its frame.
    pub fn count(&mut self, row: &[f32], limit: f32) {
        self.columns.resize(row.len(), [0; 3]);
        if self.examples > 0 && self.examples.is_multiple_of(WINDOW) {
            self.columns.iter_mut().for_each(|[_, last, now]| *last = std::mem::take(now));
        }
        self.examples += 1;
        // Most rows have none: they are read once, without a branch per value.
        if row.iter().fold(false, |any, u| any | (u.abs() >= limit)) {
            self.rows += 1;
            for ([all, _, now], u) in self.columns.iter_mut().zip(row) {
                let one = u64::from(u.abs() >= limit);
                (*all, *now) = (*all + one, *now + one);
            }
        }
    }

    /// The examples that the last whole window and the present one have.
    fn recent(&self) -> u64 {
        match self.examples {
            0 => 0,
            n if n <= WINDOW => n,
            n => WINDOW + (n - 1) % WINDOW + 1,
        }
    }

    /// As one row of numbers, for a model file.
    pub fn state(&self) -> Vec<u64> {
        [self.examples, self.rows].into_iter().chain(self.columns.iter().flatten().copied()).collect()
    }

    /// From a model file; none if the numbers are not possible.
    pub fn restored(state: &[u64], features: usize) -> Option<Self> {
        let (&[examples, rows], columns) = (state.first_chunk()?, state.get(2..)?.as_chunks::<3>());
        let possible = columns.1.is_empty()
            && columns.0.len() == features
            && rows <= examples
            && examples < 1 << 60
            && columns.0.iter().all(|[all, last, now]| *all <= rows && *last <= WINDOW && *now <= WINDOW && last + now <= *all);
        possible.then(|| Clipped { examples, rows, columns: columns.0.to_vec() })
    }
}

/// What a learner did not use as it was given; see [`Learner::health`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Health {
    /// Examples learned.
    pub examples: u64,
    /// Steps that were not taken: see [`Learner::skipped`].
    pub skipped: u64,
    /// Rows that took over the id of a live term with other features.
    pub ids_taken_over: u64,
    /// Rows so far out that single precision blurs their kernel values by more than 5 %.
    pub blurred: u64,
    /// Members of a bank that rest, because their last step would not have been finite.
    pub resting: usize,
    /// Examples that were looked at for clipped values: those since the frame was settled, where it has a limit.
    pub watched: u64,
    /// Of these, examples with a clipped value.
    pub clipped_rows: u64,
    /// Clipped values.
    pub clipped_values: u64,
    /// Where values are clipped, in deviations of the first rows.
    pub limit: Option<f64>,
    /// The columns with clipped values, the one with most of the last values clipped first.
    pub clipped_columns: Vec<ClippedColumn>,
    /// The examples that the frame was found from.
    pub warmup: usize,
    /// The values of the columns below, over the windows of 1,000 examples in which these columns lost digits.
    pub rounded_values: u64,
    /// The columns that lost digits in single precision, the worst first: the largest rounding error in a window of 1,000
    /// examples exceeded a thousandth of the column's range there.
    pub rounded_columns: Vec<RoundedColumn>,
}

/// A column that lost digits in single precision.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct RoundedColumn {
    /// Which, from 0.
    pub column: usize,
    /// The examples of the windows in which it lost digits.
    pub values: u64,
    /// The largest rounding error as a share of the column's range, in the last 1,000 to 2,000 examples.
    pub recent_error: f64,
}

/// A column with clipped values.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ClippedColumn {
    /// Which, from 0.
    pub column: usize,
    /// How many of its values were clipped.
    pub values: u64,
    /// Their share in all examples looked at.
    pub share: f64,
    /// Their share in the last examples.
    pub recent_share: f64,
    /// How many examples these are: at most 2,000.
    pub recent: u64,
}

impl Health {
    pub(crate) fn of(learner: &Learner) -> Self {
        let clipped = &learner.clipped;
        let (all, recent) = (clipped.examples.max(1) as f64, clipped.recent());
        let column = |(column, &[values, last, now]): (usize, &[u64; 3])| ClippedColumn {
            column,
            values,
            share: values as f64 / all,
            recent_share: (last + now) as f64 / recent.max(1) as f64,
            recent,
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
            resting: learner.engine.bank().map_or(0, crate::engine::bank::Bank::resting),
            watched: clipped.examples,
            clipped_rows: clipped.rows,
            clipped_values: columns.iter().map(|c| c.values).sum(),
            limit: learner.limit(),
            clipped_columns: columns,
            warmup: learner.config.warmup,
            rounded_values: rounded.iter().map(|c| c.values).sum(),
            rounded_columns: rounded,
        }
    }

    /// What somebody should know, with what to do, a sentence each; none for a learner in good health. `name` is a column's.
    ///
    /// Clipping is reported where at least 5 % of a column's last 1,000 to 2,000 values were clipped; over 100 to 999 values, where
    /// the share is above 5 % by three standard errors. Digits that a column loses in single precision are reported while it loses
    /// them. Blurred rows are reported from 1 % of the rows on. Steps that were not taken, ids that were taken over and members at rest
    /// are always reported.
    pub fn findings(&self, name: impl Fn(usize) -> String) -> Vec<String> {
        let mut found = Vec::new();
        let speaks = |c: &&ClippedColumn| c.recent >= FEWEST && c.recent_share >= SHARE + doubt(c.recent);
        let columns: Vec<_> = self.clipped_columns.iter().filter(speaks).collect();
        if let (Some(worst), Some(limit)) = (columns.first(), self.limit) {
            let others = others(columns.len());
            found.push(format!(
                "column {}: {:.0} % of the last {} values were clipped at {} of the first {} examples{others}; \
                 those examples fix the column's unit (1 where it did not vary), so that another unit changes nothing: shuffle the rows, \
                 or set warmup to more examples, or set scale to none and give the kernel a width (gamma)",
                name(worst.column),
                100.0 * worst.recent_share,
                worst.recent,
                in_words(limit),
                self.warmup,
            ));
        }
        let losing: Vec<_> = self.rounded_columns.iter().filter(|c| c.recent_error > LARGE).collect();
        if let Some(worst) = losing.first() {
            found.push(format!(
                "column {}: rounding to single precision (about 7 digits) changes values by up to {} % of the column's range in the last \
                 examples{}, because the column varies little around a large value; set scale to standard, or subtract a constant \
                 from the column",
                name(worst.column),
                two_digits(100.0 * worst.recent_error),
                others(losing.len()),
            ));
        }
        if self.blurred >= FEWEST_BLURRED && self.blurred as f64 >= BLURRED_SHARE * self.examples as f64 {
            found.push(format!(
                "{} of {} rows lie so far from the first rows, measured in widths of the kernel, that single precision blurs their kernel \
                 values: scores, |f|² and certificates are not reliable there; look for an outlier among the first rows or a column that \
                 wanders off, scale the features, or use a wider kernel",
                self.blurred, self.examples
            ));
        }
        if self.resting > 0 {
            found.push(format!(
                "{} of the settings that run side by side rest, because their steps would have left numbers that are not finite; look for \
                 outliers in features or targets",
                self.resting
            ));
        }
        if self.skipped > 0 {
            found.push(format!(
                "{} of {} steps were not taken, because they would have left numbers that are not finite; choose a smaller step or rescale the data",
                self.skipped,
                self.examples + self.skipped
            ));
        }
        if self.ids_taken_over > 0 {
            found.push(format!(
                "{} of {} rows had the id of a row with other features and took it over; give every row an id of its own",
                self.ids_taken_over, self.examples
            ));
        }
        found
    }
}

/// A limit of the frame: of each column in its own deviations, or of many columns in the unit of the data.
fn in_words(limit: f64) -> String {
    match limit == CLIP || limit == FAR_CLIP {
        true => format!("{limit} standard deviations"),
        false => format!("{limit}, {FAR_CLIP} times the widest range"),
    }
}

/// So many blurred rows, and such a share of all rows, are reported.
const FEWEST_BLURRED: u64 = 5;
const BLURRED_SHARE: f64 = 0.01;

/// Of a finding that names the worst of `count` columns.
fn others(count: usize) -> String {
    match count {
        1 => String::new(),
        n => format!(" ({} further columns likewise)", n - 1),
    }
}

/// A positive number with two digits.
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
            let column = ClippedColumn { column: 0, values: clipped, share, recent_share: share, recent: values };
            let health = Health { limit: Some(8.0), clipped_columns: vec![column], ..Health::default() };
            health.findings(|c| c.to_string()).len()
        };
        assert_eq!([said(99, 99), said(11, 100), said(12, 100), said(70, 999), said(71, 999)], [0, 0, 1, 0, 1]);
        assert_eq!([said(49, 1000), said(50, 1000), said(655, 744)], [0, 1, 1]);
    }

    #[test]
    fn steps_that_were_not_taken_are_counted_among_all() {
        let health = Health { skipped: 2000, examples: 10, ..Health::default() };
        assert!(health.findings(|c| c.to_string())[0].starts_with("2000 of 2010 steps were not taken"));
    }

    #[test]
    fn windows_end_at_counts_of_examples() {
        let mut clipped = Clipped::default();
        // The first column is clipped in examples 500 to 1,499, the second never.
        for i in 0..2600 {
            clipped.count(&[if (500..1500).contains(&i) { -8.0 } else { 7.9 }, 0.0], 8.0);
            let recent: u64 = clipped.columns[0][1] + clipped.columns[0][2];
            let from = (i / 1000 * 1000i32 - 1000).max(0);
            let expected = (from..=i).filter(|i| (500..1500).contains(i)).count() as u64;
            assert_eq!((recent, clipped.recent()), (expected, (i + 1 - from) as u64), "{i}");
        }
        assert_eq!((clipped.examples, clipped.rows, clipped.columns[1]), (2600, 1000, [0; 3]));
        assert_eq!(Clipped::restored(&clipped.state(), 2), Some(clipped.clone()));
        assert_eq!(Clipped::restored(&clipped.state(), 3), None);
    }
}
