//! Counts rows that are only predicted and have values that the model clips. [`super::health`] has the counts of the rows that are learned.
//!
//! The limit is that of the voice that leads: 64 standard deviations if a weight vector leads a bank over terms, otherwise that of the
//! kernels. A value is not counted if clipping makes it equal to no other value:
//!
//! - all clipped values that the model learned last in this column are the same value as this one;
//! - or the column is an indicator: k of the n rows of the warm-up had this value, and all others had one other value. Then the value lies
//!   u = sqrt((n - k) / k) standard deviations from the mean, so that n / (1 + u²) is the whole number k.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::convert::Infallible;

use crate::learner::Learner;
use crate::learner::batch::Batch;
use crate::learner::health::{grouped, in_words, others, reads_further};
use crate::learner::rows::{Numbers, RowBlock};
use crate::learner::scaling::Frame;
use crate::parts::loss::{Loss, Reads};

/// Rows that were predicted, and those among them with values that the model clips.
///
/// ```
/// use okl::{Batch, ClippedRows, Config, Learner};
/// let mut learner = Learner::new(Config::from_toml("kernel = 'gaussian:1'\nscale = 'standard'\nwarmup = 4")?)?;
/// learner.learn(&Batch::new(&[0.0, 1.0, 2.0, 3.0], 1).numbers(&[1.0, -1.0, 1.0, -1.0]))?;
/// let rows = Batch::new(&[1.5, 1e6], 1);                    // mean 1.5, standard deviation 1.1
/// learner.predict(&rows)?;
/// let mut clipped = ClippedRows::default();
/// clipped.count(&learner, &rows);
/// assert_eq!((clipped.rows, clipped.clipped, clipped.columns()), (2, 1, vec![(0, 1)]));
/// # Ok::<(), okl::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ClippedRows {
    /// The number of rows.
    pub rows: u64,
    /// The number of these rows with a value that is clipped.
    pub clipped: u64,
    /// Per column with such values, the number of rows.
    columns: BTreeMap<usize, u64>,
}

impl ClippedRows {
    /// Counts rows that [`Learner::predict`] takes.
    pub fn count(&mut self, learner: &Learner, rows: &Batch<'_>) {
        self.rows += rows.rows() as u64;
        let Some(frame) = frame_of(learner).filter(|_| rows.kernel_rows().is_none() && rows.features == learner.features())
        else {
            return;
        };
        let mut scaled = Vec::new();
        let counted = rows.try_each_block(0, &mut Vec::new(), |_, rows| {
            self.count_block(learner, &frame, rows, &mut scaled);
            Ok::<_, Infallible>(())
        });
        match counted {
            Ok(()) => {}
        }
    }

    fn count_block(&mut self, learner: &Learner, frame: &Frame, rows: RowBlock<'_>, scaled: &mut Vec<f32>) {
        let limit = frame.limit.map_or(f32::INFINITY, |limit| limit as f32);
        let mut last = None;
        let mut add = |row: usize, column: usize, x: f64| {
            if !is_learned(learner, frame, column, x) {
                *self.columns.entry(column).or_default() += 1;
                self.clipped += u64::from(last.replace(row) != Some(row));
            }
        };
        if let (Numbers::Sparse(_), true) = (rows.numbers(), learner.config.keeps_zeros()) {
            rows.each_value(|row, column, x| {
                if frame.value(column as usize, x).abs() >= limit {
                    add(row, column as usize, x);
                }
            });
            return;
        }
        frame.apply(rows, scaled);
        if !frame.clips(scaled) {
            return;
        }
        for (row, values) in scaled.chunks_exact(rows.features()).enumerate() {
            let clipped = values.iter().enumerate().filter(|(_, u)| u.abs() >= limit);
            clipped.for_each(|(column, _)| add(row, column, rows.row(row).value(column)));
        }
    }

    /// The columns with values that are clipped and the number of rows with such a value, most rows first.
    pub fn columns(&self) -> Vec<(usize, u64)> {
        let mut columns: Vec<(usize, u64)> = self.columns.iter().map(|(column, rows)| (*column, *rows)).collect();
        columns.sort_by_key(|(_, rows)| std::cmp::Reverse(*rows));
        columns
    }

    /// One sentence, if values were clipped. `name` returns the name of a column.
    pub fn finding(&self, learner: &Learner, name: impl Fn(usize) -> String) -> Option<String> {
        let columns = self.columns();
        let (&(worst, rows), frame) = (columns.first()?, frame_of(learner)?);
        let limit = |limit: f64| in_words(limit, learner.config.keeps_zeros());
        let have = if self.clipped == 1 { "has a value" } else { "have values" };
        let places = match columns.len() {
            1 => format!("in column {}", name(worst)),
            _ => format!(
                "most often in column {}, in {} {}{}",
                name(worst),
                grouped(rows),
                if rows == 1 { "row" } else { "rows" },
                others(columns[1..].iter().map(|(column, _)| name(*column)))
            ),
        };
        let further =
            learner.linear_limit().filter(|_| learner.linear_weights().is_some() && learner.linear_limit() != learner.limit());
        let equal = match further {
            Some(_) if reads_further(learner) => "the weight vector that leads sees all values beyond it as equal".to_owned(),
            Some(further) => {
                format!("kernels see all values beyond it as equal, and weight vectors those beyond {}", limit(further))
            }
            None => "the model sees all values beyond it as equal, so these rows have the scores of rows at the limit".to_owned(),
        };
        let alerts = match learner.config.loss.reads() {
            Reads::Nothing => ", and can be alerts all the same",
            _ => "",
        };
        Some(format!(
            "{} of {} rows {have} at or beyond the limit of {} (of the rows from which the unit of a column was found; the unit is 1 if the \
             column did not vary there), at which values are clipped, {places}: {equal}{alerts}; compare the column with that of the rows \
             that the model learned",
            grouped(self.clipped),
            grouped(self.rows),
            limit(frame.limit?)
        ))
    }
}

/// The frame of the columns with the limit of the voice that leads, without whitening; none if there is no limit.
fn frame_of(learner: &Learner) -> Option<Cow<'_, Frame>> {
    let frame = &learner.frame;
    frame.limit.filter(|_| learner.features() > 0)?;
    Some(match frame.further().filter(|_| reads_further(learner)) {
        Some(further) => Cow::Owned(further),
        None if frame.whitens() => Cow::Owned(Frame { whiten: Vec::new(), ..frame.clone() }),
        None => Cow::Borrowed(frame),
    })
}

/// Whether clipping makes a value that is clipped equal to no other value that the model learned.
fn is_learned(learner: &Learner, frame: &Frame, column: usize, x: f64) -> bool {
    let rows = match &learner.warm {
        Some(warm) => 1 << warm.weights.len().max(1).ilog2(),
        None => learner.config.warmup,
    };
    learner.clipped.is_only(column, x) || is_of_indicator(frame.unlimited(column, x), rows)
}

/// Whether a scaled value is that of an indicator that some of the rows had from which the unit was found.
fn is_of_indicator(u: f64, rows: usize) -> bool {
    let had = rows as f64 / (1.0 + u * u);
    had.round() >= 1.0 && (had - had.round()).abs() < 1e-6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    fn learner(settings: &str, column: impl Fn(u32) -> f32) -> Learner {
        let mut learner = Learner::new(Config::from_toml(settings).unwrap()).unwrap();
        let x: Vec<f32> = (0..64).map(column).collect();
        let y: Vec<f64> = (0..64).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
        learner.learn(&Batch::new(&x, 1).numbers(&y)).unwrap();
        learner
    }

    fn counted(learner: &Learner, x: &[f32]) -> ClippedRows {
        let mut clipped = ClippedRows::default();
        clipped.count(learner, &Batch::new(x, 1));
        clipped
    }

    const STANDARD: &str = "kernel = 'gaussian:1'\nscale = 'standard'\nwarmup = 64\nstep = 'constant:0.1'\nlambda = 0.01";

    /// The deviation of 0, 1, ..., 63 is sqrt((64² - 1) / 12) = 18.47, so the limits are 31.5 ± 147.8. Dense and sparse rows are counted alike.
    #[test]
    fn rows_beyond_eight_deviations_are_counted() {
        let learner = learner(STANDARD, |i| i as f32);
        let x = [179.2, 179.3, -116.2, -116.3, 0.0, 1e9];
        let clipped = counted(&learner, &x);
        assert_eq!((clipped.rows, clipped.clipped, clipped.columns()), (6, 3, vec![(0, 3)]));
        let mut sparse = ClippedRows::default();
        sparse.count(&learner, &Batch::sparse(&[0, 1, 2, 3, 4, 4, 5], &[0; 5], &[179.2, 179.3, -116.2, -116.3, 1e9], 1));
        assert_eq!(sparse, clipped);
        let said = clipped.finding(&learner, |_| "x".into()).unwrap();
        assert!(said.starts_with("3 of 6 rows have values at or beyond the limit of 8 standard deviations"), "{said}");
        assert!(said.contains(", in column x: ") && said.contains("the scores of rows at the limit"), "{said}");
        let at_the_limit = 31.5 + 8.0 * ((64.0f64 * 64.0 - 1.0) / 12.0).sqrt();
        let scores = learner.predict(&Batch::of_f64(&[at_the_limit, 1e9], 1)).unwrap();
        assert_eq!(scores.values[0], scores.values[1], "so the sentence is true");
        assert_eq!(counted(&learner, &[0.0]).finding(&learner, |_| "x".into()), None);
    }

    /// One of 64 values is 1: it lies 7.94 deviations from the mean; one of 128 lies 11.27 from it. To the model, clipping does not change it.
    #[test]
    fn the_value_of_an_indicator_is_not_counted() {
        assert!(is_of_indicator(127.0f64.sqrt(), 128) && is_of_indicator((254.0f64 / 2.0).sqrt(), 256));
        assert!(!is_of_indicator(12.0, 128) && !is_of_indicator(1e6, 256));
        let settings = STANDARD.replace("64", "128");
        let mut learner = Learner::new(Config::from_toml(&settings).unwrap()).unwrap();
        let x: Vec<f32> = (0..128).map(|i| f32::from(u8::from(i == 77))).collect();
        let y: Vec<f64> = (0..128).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
        learner.learn(&Batch::new(&x, 1).numbers(&y)).unwrap();
        assert!(learner.unlimited(0, 1.0) > 8.0, "clipped");
        assert_eq!(counted(&learner, &[1.0, 0.0, 2.0]).clipped, 1, "2 is not the value that the model has learned");
    }

    /// A column that begins to vary after the warm-up has the unit 1. If all of its clipped values were 100, another row with 100 is like them.
    #[test]
    fn a_value_that_was_learned_clipped_is_not_counted() {
        let mut learner = learner(STANDARD, |_| 0.0);
        for i in 0..50 {
            learner.learn_one(&[if i % 2 == 0 { 100.0 } else { 0.0 }], 1.0).unwrap();
        }
        assert_eq!(counted(&learner, &[100.0, 0.0]).clipped, 0);
        assert_eq!(counted(&learner, &[100.0, 101.0]).clipped, 1);
    }

    #[test]
    fn nothing_is_counted_without_a_limit() {
        let learner = learner("kernel = 'gaussian:1'\nstep = 'constant:0.1'\nlambda = 0.01", |i| i as f32);
        assert_eq!(counted(&learner, &[1e9]), ClippedRows { rows: 1, ..ClippedRows::default() });
    }
}
