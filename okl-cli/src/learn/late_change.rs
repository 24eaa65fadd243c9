//! Whether the rows of a file changed near its end.
//!
//! Where a relation between rows and targets changes for good, the final model is the better one for the next rows, but a model of all rows can be
//! better on a sample of all rows. If the change comes late, fixed models of earlier rows ([`super::later_rows`]) do not meet it. The last rows show
//! it. They changed if, over the last 1,000 of them (at most a fifth of the rows), the last half or the last quarter of these, but at least 100 rows:
//!
//! - the targets differ: at least 20 rows are not of the most frequent class, or the best constant has an error at all;
//! - the model that went on learning had at most half of the error of the best constant of these rows, each row predicted before it was learned;
//! - the model of all rows, which has learned these rows, has at least 0.8 times the error of that constant;
//! - the targets are in no order: to repeat the last target has at least 0.9 times the error of that constant. In a file that is sorted by its
//!   target, or comes in stretches of one class, it has less.

use okl::Learner;
use serde::Serialize;

use super::kept::{LastRows, targets_of, trivial_error};
use crate::input::Chunk;
use crate::metrics::Task;
use crate::past_rows::Reservoir;
use crate::run::Run;
use crate::scoring::{Scoring, quantile};

/// The last rows are looked at as a whole, and their last half and quarter.
const PARTS: [u64; 3] = [1, 2, 4];
/// The fewest rows of the file, and of the sample.
const FEWEST: u64 = 100;
/// See [`FEWEST`].
const FEWEST_SAMPLED: usize = 50;
/// The fewest rows of other classes than the most frequent one.
const FEWEST_OTHER: f64 = 20.0;
/// The largest error of the model that went on learning, as a multiple of that of the constant.
const LEARNABLE: f64 = 0.5;
/// The smallest error of the model of all rows.
const NOT_EXPLAINED: f64 = 0.8;
/// The smallest error of repeating the last target.
const NO_ORDER: f64 = 0.9;

/// The last rows, if they changed.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LateChange {
    /// Rows of the file.
    pub rows: u64,
    /// The error on them, when they were new, of the model that went on learning.
    pub error_while_learning: f64,
    /// The error of the model of all rows on those of them that are in the sample. It has learned them.
    pub all_error: f64,
    /// The error of the best constant of these rows.
    pub trivial_error: f64,
}

impl LateChange {
    /// Looks for a change. `other`: the model of all rows. `fill` fills cells without a value.
    pub fn find(run: &Run, other: &Learner, sample: &Reservoir, fill: &impl Fn(&mut Chunk)) -> anyhow::Result<Option<Self>> {
        let (all, _) = LastRows::counts(sample);
        let share = sample.len() as f64 / sample.seen().max(1) as f64;
        for rows in PARTS.map(|part| all / part) {
            let sampled = (rows as f64 * share).round() as usize;
            if rows < FEWEST || sampled < FEWEST_SAMPLED {
                break;
            }
            let mut last = sample.last(sampled);
            fill(&mut last);
            let mut scoring = Scoring::new(other, run.metrics.task());
            let all_error = scoring.error_of(&last)?;
            let errors = [
                run.metrics.error_of_last(rows as usize),
                all_error,
                trivial_error(&scoring, &targets_of(&last).collect(), quantile(run.learner.config())),
                run.metrics.no_change_error_of_last(rows as usize),
            ];
            if let [Some(error_while_learning), Some(all_error), Some(trivial_error), Some(no_change)] = errors
                && trivial_error > 0.0
                && (run.metrics.task() != Task::Classes || trivial_error * rows as f64 >= FEWEST_OTHER)
                && error_while_learning <= LEARNABLE * trivial_error
                && all_error >= NOT_EXPLAINED * trivial_error
                && no_change >= NO_ORDER * trivial_error
            {
                return Ok(Some(LateChange { rows, error_while_learning, all_error, trivial_error }));
            }
        }
        Ok(None)
    }
}
