//! How well a model that stops learning predicts the rows that come after it, measured within one file.
//!
//! The error in the order of the file is that of a model that goes on learning: each row is predicted right after its neighbours were learned.
//! A saved model is fixed. So copies of the model are kept while the file is learned, and two kinds of fixed models are compared on the rows
//! after a copy:
//!
//! - the copy: the final model of a file that ends there;
//! - a new learner that has learned a sample of the rows up to there, in a random order: the model of all rows of a file that ends there.
//!
//! The length of the file is not known in advance. Copies are taken after 2^k and 3 * 2^k rows, and the last three are kept. Of these, the last two
//! are measured that leave at least an eighth of the rows; they lie between 0.4 and 0.88 of the file. Each is measured on a quarter as many rows as
//! there are up to it, or on all that follow. Copies and rows depend on the rows and a fixed seed alone.
//!
//! Cost: each of the two new learners, side by side on two threads, learns at most a sixth of the rows of the sample, or [`FEWEST_LEARNED`] rows.

use std::collections::VecDeque;
use std::panic::resume_unwind;

use okl::{Config, Learner};
use serde::Serialize;

use super::kept::learn;
use crate::input::Chunk;
use crate::metrics::Task;
use crate::past_rows::Reservoir;
use crate::run::{Run, interrupted};
use crate::scoring::Scoring;

/// Copies that are kept.
const KEPT: usize = 3;
/// Copies that are measured.
const MEASURED: usize = 2;
/// A model that takes more bytes is not copied.
const MOST_BYTES: usize = 32 << 20;
/// Rows before the first copy.
const FIRST: u64 = 32;
/// A new learner learns at most this share of the sample ...
const LEARNED: usize = 6;
/// ... but this many rows of it, if there are as many.
const FEWEST_LEARNED: usize = 2048;
/// Rows after a copy on which both are measured, at most.
const MOST_SCORED: usize = 2048;

/// A model as it was after some rows.
struct Copy {
    rows: u64,
    /// The line of the last one of these rows.
    line: u64,
    learner: Learner,
}

/// The last copies of a model that learns a file.
#[derive(Default)]
pub struct Copies(VecDeque<Copy>);

impl Copies {
    /// The number of rows after which the next copy is taken.
    pub fn next_after(rows: u64) -> u64 {
        let power = (rows.max(FIRST - 1) + 1).next_power_of_two();
        let before = power / 4 * 3;
        if before > rows && before >= FIRST { before } else { power }
    }

    /// Takes a copy, if one is due after this many rows; `line`: the line of the last row.
    pub fn take(&mut self, learner: &Learner, rows: u64, line: u64) {
        if rows > 0 && Self::next_after(rows - 1) == rows && learner.bytes() <= MOST_BYTES {
            self.0.push_back(Copy { rows, line, learner: learner.clone() });
            if self.0.len() > KEPT {
                self.0.pop_front();
            }
        }
    }

    /// Compares the copies with new learners on the rows after them. `order`: a random order of the rows of the sample. None if there is no copy to
    /// measure, or a signal came.
    pub(super) fn measure(
        &self,
        run: &Run,
        asked: &Config,
        sample: &Reservoir,
        order: &[u32],
        threads: usize,
    ) -> anyhow::Result<Option<LaterRows>> {
        let early_enough = |copy: &&Copy| 8 * copy.rows <= 7 * run.rows();
        let mut copies: Vec<&Copy> = self.0.iter().rev().filter(early_enough).take(MEASURED).collect();
        copies.reverse();
        let task = run.metrics.task();
        let measure = |copy: &Copy| Stretch::measure(copy, task, asked, sample, order, threads);
        // Each copy on a thread of its own: the results do not depend on that.
        let measured: Vec<anyhow::Result<Option<Stretch>>> = std::thread::scope(|scope| {
            let running: Vec<_> = copies.iter().map(|copy| scope.spawn(|| measure(copy))).collect();
            let ended = |thread: std::thread::ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|why| resume_unwind(why));
            running.into_iter().map(ended).collect()
        });
        let stretches: Vec<Stretch> = measured.into_iter().collect::<anyhow::Result<Vec<_>>>()?.into_iter().flatten().collect();
        let total: f64 = stretches.iter().map(|stretch| stretch.weight).sum();
        let mean = |of: fn(&Stretch) -> f64| stretches.iter().map(|s| s.weight * of(s)).sum::<f64>() / total;
        let (recent_error, all_error) = (mean(|s| s.recent_error), mean(|s| s.all_error));
        let measured = !stretches.is_empty() && !interrupted() && (recent_error - all_error).is_finite();
        Ok(measured.then_some(LaterRows { recent_error, all_error, stretches }))
    }
}

/// The errors of fixed models of both kinds on rows that came after them.
#[derive(Clone, Debug, Serialize)]
pub struct LaterRows {
    /// The error of the copies of the model, over the rows of all stretches.
    pub recent_error: f64,
    /// The error of the new learners.
    pub all_error: f64,
    /// Each copy by itself.
    pub stretches: Vec<Stretch>,
}

/// One copy and the rows after it.
#[derive(Clone, Debug, Serialize)]
pub struct Stretch {
    /// Rows that the copy had learned.
    pub after_rows: u64,
    /// Rows up to there that the new learner learned, in a random order.
    pub all_learned_rows: u64,
    /// Rows after the copy on which both are measured.
    pub rows: u64,
    /// The error of the copy.
    pub recent_error: f64,
    /// The error of the new learner.
    pub all_error: f64,
    #[serde(skip)]
    weight: f64,
}

impl Stretch {
    fn measure(
        copy: &Copy,
        task: Task,
        asked: &Config,
        sample: &Reservoir,
        order: &[u32],
        threads: usize,
    ) -> anyhow::Result<Option<Self>> {
        let mut before: Vec<u32> = order.iter().copied().filter(|row| sample.line(*row) <= copy.line).collect();
        let next = sample.after(copy.line, before.len() / 4, MOST_SCORED);
        if before.is_empty() || next.is_empty() {
            return Ok(None);
        }
        before.truncate((sample.len() / LEARNED).max(FEWEST_LEARNED));
        let mut learner = Learner::new(asked.clone())?;
        learner.set_threads(threads)?;
        let mut other = Run::new(learner, task);
        learn(&mut other, sample, &before)?;
        let next: Chunk = sample.gather(&next);
        let error_of = |learner: &Learner| Scoring::new(learner, task).error_of(&next);
        let weight = next.weights.as_ref().map_or(next.rows as f64, |weights| weights.iter().sum());
        Ok(error_of(&copy.learner)?.zip(error_of(&other.learner)?).map(|(recent_error, all_error)| Stretch {
            after_rows: copy.rows,
            all_learned_rows: before.len() as u64,
            rows: next.rows as u64,
            recent_error,
            all_error,
            weight,
        }))
    }
}
