//! Drift: the error of a block of examples against that of all examples before it.
//!
//! Examples are compared in blocks of [`BLOCK`]. With mean m and variance s² of the n earlier errors, and m', s'², n' of the block, there is drift if
//!
//! ```text
//! z = (m' - m) / sqrt(s²/n + s'²/n') > 4
//! ```
//!
//! that is, if the error has risen by more than four standard errors. After a drift the earlier errors are those of the block. For independent errors
//! without a change this happens in 3 of 100,000 blocks. The error of a row without a target is 1 for an alert and 0 otherwise. Everything is
//! decided at counts of examples, so drifts are a function of the stream alone.

use serde::{Deserialize, Deserializer, Serialize};

/// The examples of a block.
pub const BLOCK: u64 = 500;
/// The number of earlier examples that are needed for a comparison.
const FEWEST: u64 = 1000;
/// The number of standard errors beyond which a difference is a drift.
const ERRORS: f64 = 4.0;

/// JSON has no infinite numbers: they are stored as null.
pub(super) fn infinite<'de, D: Deserializer<'de>>(json: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(json)?.unwrap_or(f64::INFINITY))
}

/// The error has risen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drift {
    /// The number of examples of the model at the end of the block.
    pub example: u64,
    /// The mean error of the earlier examples.
    pub before: f64,
    /// The mean error of the block.
    #[serde(deserialize_with = "infinite")]
    pub now: f64,
    /// The difference in standard errors; infinite if all errors before were equal, and all of the block.
    #[serde(deserialize_with = "infinite")]
    pub standard_errors: f64,
}

/// Count, sum and sum of squares of some errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Sums {
    count: u64,
    #[serde(deserialize_with = "infinite")]
    sum: f64,
    #[serde(deserialize_with = "infinite")]
    squares: f64,
}

impl Sums {
    fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }

    /// The square of the standard error of the mean.
    fn error2(&self) -> f64 {
        let n = self.count as f64;
        ((self.squares - self.sum * self.sum / n) / (n - 1.0)).max(0.0) / n
    }

    fn add(&mut self, other: Sums) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
    }
}

/// Compares blocks of errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Watch {
    earlier: Sums,
    block: Sums,
}

impl Watch {
    /// Adds the error of an example, the `example`th of the model. Returns a drift if one is found.
    pub fn add(&mut self, error: f64, example: u64) -> Option<Drift> {
        self.block.add(Sums { count: 1, sum: error, squares: error * error });
        if self.block.count < BLOCK {
            return None;
        }
        let block = std::mem::take(&mut self.block);
        let found = (self.earlier.count >= FEWEST).then(|| compare(&self.earlier, &block, example)).flatten();
        match found {
            Some(_) => self.earlier = block,
            None => self.earlier.add(block),
        }
        found
    }
}

fn compare(earlier: &Sums, block: &Sums, example: u64) -> Option<Drift> {
    let (before, now) = (earlier.mean(), block.mean());
    let standard_errors = (now - before) / (earlier.error2() + block.error2()).sqrt();
    (now > before && standard_errors > ERRORS).then_some(Drift { example, before, now, standard_errors })
}
