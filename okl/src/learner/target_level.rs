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
/// Differences of targets count as at most this, so that 1,000 of them can be added.
const LARGEST: f64 = 1e300;

/// The range of the targets, and the sum and the number of the errors in the last complete window and the current one. Empty until the first
/// target.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TargetLevel {
    least: f64,
    largest: f64,
    sums: [f64; 2],
    rows: [u64; 2],
    moments: Option<[Moments; 2]>,
}

/// Of a window, per output: the first target and the sum of the differences of the targets from it; and the sum of the distances of the targets from
/// the mean of those before them in the window, a mean over the outputs. Distances are robust: the square of one outlier is as large as those of all
/// other targets.
#[derive(Clone, Debug, Default, PartialEq)]
struct Moments {
    first: Vec<f64>,
    sums: Vec<f64>,
    distances: f64,
}

impl Moments {
    fn new(first: &[f64]) -> Self {
        Moments { first: first.to_vec(), sums: vec![0.0; first.len()], distances: 0.0 }
    }

    /// Adds the targets of an example; `before`: the number of examples before it in the window.
    fn add(&mut self, targets: &[f64], before: u64) {
        let mut distance = 0.0;
        for ((first, sum), target) in self.first.iter().zip(&mut self.sums).zip(targets) {
            let difference = (target - first).clamp(-LARGEST, LARGEST);
            if before > 0 {
                distance += (difference - *sum / before as f64).abs() / targets.len() as f64;
            }
            *sum += difference;
        }
        self.distances += distance;
    }

    fn state(&self) -> impl Iterator<Item = f64> {
        self.first.iter().chain(&self.sums).copied().chain([self.distances])
    }

    fn restored(state: &[f64]) -> Option<Self> {
        let (&distances, of_outputs) = state.split_last()?;
        let (first, sums) = of_outputs.split_at(of_outputs.len() / 2);
        let possible = !first.is_empty() && first.len() == sums.len() && distances >= 0.0 && state.iter().all(|v| v.is_finite());
        possible.then(|| Moments { first: first.to_vec(), sums: sums.to_vec(), distances })
    }
}

/// The last examples: one complete window and the current one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recent {
    pub rows: u64,
    /// Their mean error.
    pub error: f64,
    /// The mean distance of a target from the mean of those before it in its window. A level that moves counts within a window only. 0 if it is not
    /// kept.
    pub spread: f64,
    /// The size of the mean of their targets; of several outputs the largest one. 0 if it is not kept.
    pub level: f64,
    /// The range of all targets.
    pub range: f64,
}

impl TargetLevel {
    pub fn is_empty(&self) -> bool {
        self.rows == [0, 0]
    }

    /// Adds an example: its targets and its error before the update. `with_spread`: whether the spread of the targets is kept.
    pub fn add(&mut self, targets: &[f64], error: f64, with_spread: bool) {
        let (empty, target) = (self.is_empty(), targets[0]);
        if empty && with_spread {
            self.moments = Some([(); 2].map(|()| Moments::new(targets)));
        }
        self.least = if empty { target } else { self.least.min(target) };
        self.largest = if empty { target } else { self.largest.max(target) };
        if self.rows[1] == WINDOW {
            (self.sums, self.rows) = ([self.sums[1], 0.0], [self.rows[1], 0]);
            self.moments = self.moments.take().map(|[_, last]| [last, Moments::new(targets)]);
        }
        // A model file holds finite numbers only.
        self.sums[1] = (self.sums[1] + error).min(f64::MAX);
        self.rows[1] += 1;
        if let Some([_, now]) = &mut self.moments {
            now.add(targets, self.rows[1] - 1);
        }
    }

    /// The errors in the windows, if they have enough examples.
    pub fn recent(&self) -> Option<Recent> {
        let rows = self.rows[0] + self.rows[1];
        let error = self.sums[0] / rows as f64 + self.sums[1] / rows as f64;
        let spread = self.moments.as_ref().map_or(0.0, |[last, now]| (last.distances + now.distances) / rows as f64);
        (rows >= FEWEST).then_some(Recent { rows, error, spread, level: self.level(), range: self.largest - self.least })
    }

    /// See [`Recent::level`].
    fn level(&self) -> f64 {
        let Some([last, now]) = &self.moments else { return 0.0 };
        let rows = [self.rows[0], self.rows[1]].map(|rows| rows as f64);
        let share = rows.map(|of| of / (rows[0] + rows[1]));
        let total = |moments: &Moments, at: usize, of: usize| {
            if rows[of] == 0.0 { 0.0 } else { share[of] * (moments.first[at] + moments.sums[at] / rows[of]) }
        };
        (0..now.first.len()).map(|at| (total(last, at, 0) + total(now, at, 1)).abs()).fold(0.0, f64::max)
    }

    /// A sentence, if there is no offset, all targets lie on one side of 0, and the mean error of the last examples is above the range of all targets.
    pub fn finding(&self, config: &Config) -> Option<String> {
        let Recent { rows, error, range, .. } = self.recent()?;
        let outputs = self.moments.as_ref().map_or(1, |[_, now]| now.first.len());
        let aside = self.least > 0.0 || self.largest < 0.0;
        (!config.offset && outputs == 1 && aside && error > range).then(|| {
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
        let mut state = vec![self.least, self.largest, self.sums[0], self.sums[1], self.rows[0] as f64, self.rows[1] as f64];
        state.extend(self.moments.iter().flatten().flat_map(Moments::state));
        state
    }

    /// Restores the state from a model file; none if the numbers are inconsistent.
    pub fn restored(state: &[f64]) -> Option<Self> {
        let (&[least, largest, last, now, of_last, of_now], rest) = state.split_first_chunk()?;
        let moments = match rest.split_at(rest.len() / 2) {
            ([], []) => None,
            (last, now) if last.len() == now.len() => Some([Moments::restored(last)?, Moments::restored(now)?]),
            _ => return None,
        };
        let count = |v: f64| (v.fract() == 0.0 && (0.0..=WINDOW as f64).contains(&v)).then_some(v as u64);
        let rows = [count(of_last)?, count(of_now)?];
        let possible = least.is_finite() && largest.is_finite() && least <= largest && last >= 0.0 && now >= 0.0;
        (possible && rows[1] > 0).then_some(TargetLevel { least, largest, sums: [last, now], rows, moments })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_those_of_the_last_windows() {
        let config = Config::from_toml("loss = 'squared'").unwrap();
        for with_spread in [false, true] {
            let mut level = TargetLevel::default();
            // Errors fall to 0.5 after 1,000 examples; all targets lie between 100 and 101.
            for i in 0..3500u32 {
                level.add(&[100.0 + f64::from(i % 2)], if i < 1000 { 50.0 } else { 0.5 }, with_spread);
                let said = level.finding(&config);
                assert_eq!(said.is_some(), (255..2000).contains(&i), "{i}: {said:?}");
                assert_eq!(TargetLevel::restored(&level.state()), Some(level.clone()));
            }
            assert_eq!(level.rows, [1000, 500]);
            let spread = level.recent().unwrap().spread;
            assert!(if with_spread { (spread - 0.5).abs() < 0.01 } else { spread == 0.0 }, "{spread}");
        }
    }

    /// Where 0 is among the targets, a missing offset is not the reason for errors above their range.
    #[test]
    fn targets_around_0_need_no_offset() {
        let config = Config::from_toml("loss = 'squared'").unwrap();
        for (shift, expected) in [(0.0, false), (10.0, true), (-10.0, true)] {
            let mut level = TargetLevel::default();
            (0..500u32).for_each(|i| level.add(&[f64::from(i % 3) - 1.0 + shift], 50.0, false));
            assert_eq!(level.finding(&config).is_some(), expected, "{shift}");
        }
    }

    #[test]
    fn the_spread_is_that_of_the_last_windows() {
        let mut level = TargetLevel::default();
        let targets: Vec<f64> = (0..2300u32).map(|i| if i < 900 { 1e9 } else { 5.0 + f64::from((i * i) % 97) }).collect();
        targets.iter().for_each(|target| level.add(&[*target], 1.0, true));
        // Windows end after 1,000 and 2,000 examples.
        let of = |window: &[f64]| -> f64 {
            let mean = |row: usize| window[..row].iter().sum::<f64>() / row as f64;
            (1..window.len()).map(|row| (window[row] - mean(row)).abs()).sum()
        };
        let by_hand = (of(&targets[1000..2000]) + of(&targets[2000..])) / 1300.0;
        let found = level.recent().unwrap();
        assert!((found.spread - by_hand).abs() < 1e-9 * by_hand && found.rows == 1300, "{found:?} {by_hand}");
        let level = targets[1000..].iter().sum::<f64>() / 1300.0;
        assert!((found.level - level).abs() < 1e-9 * level, "{found:?} {level}");
        // That of the distances from the mean of all is nearly the same.
        let last = &targets[1000..];
        let mean = last.iter().sum::<f64>() / 1300.0;
        let around = last.iter().map(|y| (y - mean).abs()).sum::<f64>() / 1300.0;
        assert!((found.spread / around - 1.0).abs() < 0.02, "{found:?} {around}");
    }

    #[test]
    fn an_impossible_state_is_refused() {
        let mut level = TargetLevel::default();
        level.add(&[1.0], 0.5, true);
        let state = level.state();
        assert_eq!(state.len(), 12);
        for (at, value) in [(8, -1.0), (11, f64::NAN), (6, f64::INFINITY)] {
            let mut wrong = state.clone();
            wrong[at] = value;
            assert_eq!(TargetLevel::restored(&wrong), None, "{at}");
        }
        assert_eq!(TargetLevel::restored(&state[..8]), None);
    }
}
