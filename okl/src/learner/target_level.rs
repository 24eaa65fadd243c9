//! Targets that are far from 0 and a learner without an offset: it has to raise f from 0 to the level of the targets wherever rows come, and its
//! errors stay far above those of a constant. The same figures show whether steps suit the unit of the targets (large_targets.rs).
//!
//! The range of the targets and the errors of the last 1,000 to 2,000 examples are kept. A constant in the middle of the range has errors of at
//! most half of it, so a mean error above the whole range is never that of a useful model. Windows end at counts of examples (law 1).

use super::health::{WINDOW, grouped};
use super::large_targets::shown;
use crate::config::Config;

/// The fewest examples in the windows.
const FEWEST: u64 = 256;

/// The range of the targets, and the sum and the number of the errors in the last complete window and the current one. Empty until the first
/// target.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TargetLevel {
    least: f64,
    largest: f64,
    sums: [f64; 2],
    rows: [u64; 2],
}

/// The number of the last examples, their mean error, and the range of all targets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recent {
    pub rows: u64,
    pub error: f64,
    pub range: f64,
}

impl TargetLevel {
    pub fn is_empty(&self) -> bool {
        self.rows == [0, 0]
    }

    /// Adds an example: its target and its error before the update.
    pub fn add(&mut self, target: f64, error: f64) {
        let empty = self.is_empty();
        self.least = if empty { target } else { self.least.min(target) };
        self.largest = if empty { target } else { self.largest.max(target) };
        if self.rows[1] == WINDOW {
            (self.sums, self.rows) = ([self.sums[1], 0.0], [self.rows[1], 0]);
        }
        // A model file holds finite numbers only.
        self.sums[1] = (self.sums[1] + error).min(f64::MAX);
        self.rows[1] += 1;
    }

    /// The errors in the windows, if they have enough examples.
    pub fn recent(&self) -> Option<Recent> {
        let rows = self.rows[0] + self.rows[1];
        let error = self.sums[0] / rows as f64 + self.sums[1] / rows as f64;
        (rows >= FEWEST).then_some(Recent { rows, error, range: self.largest - self.least })
    }

    /// A sentence, if there is no offset and the mean error of the last examples is above the range of all targets.
    pub fn finding(&self, config: &Config) -> Option<String> {
        let Recent { rows, error, range } = self.recent()?;
        (!config.offset && error > range).then(|| {
            format!(
                "the mean error of the last {} rows is {}, but all targets lie between {} and {}, so a constant is better: without an offset, f has \
                 to rise from 0 to the targets wherever rows come; set offset to true, or subtract the mean of the targets",
                grouped(rows),
                shown(error),
                shown(self.least),
                shown(self.largest)
            )
        })
    }

    /// The state as a list of numbers, for a model file.
    pub fn state(&self) -> Vec<f64> {
        vec![self.least, self.largest, self.sums[0], self.sums[1], self.rows[0] as f64, self.rows[1] as f64]
    }

    /// Restores the state from a model file; none if the numbers are inconsistent.
    pub fn restored(state: &[f64]) -> Option<Self> {
        let &[least, largest, last, now, of_last, of_now] = state else { return None };
        let count = |v: f64| (v.fract() == 0.0 && (0.0..=WINDOW as f64).contains(&v)).then_some(v as u64);
        let rows = [count(of_last)?, count(of_now)?];
        let possible = least.is_finite() && largest.is_finite() && least <= largest && last >= 0.0 && now >= 0.0;
        (possible && rows[1] > 0).then_some(TargetLevel { least, largest, sums: [last, now], rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_those_of_the_last_windows() {
        let config = Config::from_toml("loss = 'squared'").unwrap();
        let mut level = TargetLevel::default();
        // Errors fall to 0.5 after 1,000 examples; all targets lie between 100 and 101.
        for i in 0..3500u32 {
            level.add(100.0 + f64::from(i % 2), if i < 1000 { 50.0 } else { 0.5 });
            let said = level.finding(&config);
            assert_eq!(said.is_some(), (255..2000).contains(&i), "{i}: {said:?}");
            assert_eq!(TargetLevel::restored(&level.state()), Some(level.clone()));
        }
        assert_eq!(level.rows, [1000, 500]);
    }
}
