//! Single targets that are much larger than all others, and what they do to the model.
//!
//! Under the squared loss, one target of 1e9 moves the model by as much as a billion ordinary ones. The largest targets are kept with the sum
//! of the errors before them, so the errors before and after can be compared at the end. Memory is constant.

use okl::loss::AnyLoss;

use crate::metrics::{count, figure};

/// At most this many targets can be outliers.
const MOST: usize = 8;
/// An outlier is at least this many times as large as all other targets.
const TIMES: f64 = 100.0;
/// The error after an outlier is reported if it is this many times as large as before.
const WORSE: f64 = 3.0;
/// The fewest rows before an outlier whose mean error counts.
const FEWEST: u64 = 20;

/// The largest targets so far, and the sum of all errors.
#[derive(Clone, Debug, Default)]
pub struct LargeTargets {
    /// The largest first, one more than [`MOST`].
    largest: Vec<Large>,
    sum: f64,
    rows: u64,
}

#[derive(Clone, Copy, Debug)]
struct Large {
    line: u64,
    /// Of several outputs: the largest in absolute value.
    target: f64,
    error: f64,
    /// Sum and number of the errors before.
    sum: f64,
    rows: u64,
}

impl LargeTargets {
    /// Adds a row: its line, its targets and its error before the update.
    pub fn add(&mut self, line: u64, targets: &[f64], error: f64) {
        let target = targets.iter().copied().fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a });
        let at = self.largest.partition_point(|large| large.target.abs() >= target.abs());
        if at <= MOST {
            self.largest.insert(at, Large { line, target, error, sum: self.sum, rows: self.rows });
            self.largest.truncate(MOST + 1);
        }
        self.sum += error;
        self.rows += 1;
    }

    /// A sentence, if a few targets are much larger than all others and the model is worse after them.
    pub fn finding(&self, loss: &AnyLoss) -> Option<String> {
        let apart = |pair: &[Large]| pair[0].target.abs() > TIMES * pair[1].target.abs().max(f64::MIN_POSITIVE);
        let outliers = self.largest.windows(2).position(apart)? + 1;
        let (largest, others) = (&self.largest[..outliers], self.largest[outliers].target.abs());
        let first = largest.iter().min_by_key(|large| large.rows)?;
        let after = (self.rows - first.rows).checked_sub(outliers as u64).filter(|rows| *rows > 0)?;
        let errors: f64 = largest.iter().map(|large| large.error).sum();
        let error_after = (self.sum - first.sum - errors) / after as f64;
        let error_before = (first.rows >= FEWEST).then(|| first.sum / first.rows as f64);
        // Without enough rows before, an error beyond all other targets is certainly large.
        if error_after <= error_before.map_or(others, |before| WORSE * before) {
            return None;
        }
        let (line, target) = (count(largest[0].line as f64), figure(largest[0].target));
        let which = match outliers {
            1 => format!("The target in row {line} is {target}"),
            n => format!("{n} targets are very large (the largest: {target} in row {line})"),
        };
        let before = error_before.map_or(String::new(), |before| format!(" (before: {})", figure(before)));
        let advice = match loss {
            AnyLoss::Squared {} => {
                "The squared loss follows such a target: leave the row out, or use --loss huber or --loss absolute."
            }
            _ => "Leave such rows out if they are errors.",
        };
        let (others, after, error) = (figure(others), count(after as f64), figure(error_after));
        Some(format!(
            "{which}, no other one exceeds {others} in size; the mean error of the {after} rows afterwards is {error}{before}. {advice}"
        ))
    }
}
