//! Errors that are large against the targets: single targets that are much larger than all others and what they do to the model, models
//! that have diverged, and targets that are far from the unit of the steps of a loss with a bounded gradient.
//!
//! Under the squared loss, one target of 1e9 moves the model by as much as a billion ordinary ones. The largest targets are kept with the sum
//! of the errors before them, so the errors before and after can be compared at any time. Memory is constant, and all sums are in the order
//! of the examples, so they do not depend on the cut (law 1).

use super::health::grouped;
use super::target_level::TargetLevel;
use crate::config::{Choice, Config};
use crate::parts::loss::AnyLoss;

/// At most this many targets can be outliers.
const MOST: usize = 8;
/// An outlier is at least this many times as large as all other targets.
const TIMES: f64 = 100.0;
/// The error after an outlier is reported if it is this many times as large as before.
const WORSE: f64 = 3.0;
/// A model has diverged if its mean error is this many times as large as the largest target: the error of the constant 0 is never above it.
const DIVERGED: f64 = 1000.0;
/// Targets are out of unit if several are larger than this, and poorly predicted if the mean error is this part of such a target; after this
/// number of rows.
const OUT_OF_UNIT: f64 = 10.0;
const POOR: f64 = 0.3;
const ENOUGH: u64 = 256;
/// Several targets that are larger than this are rare among those with mean 0 and deviation 1.
const FAR_FROM_ZERO: f64 = 4.0;
/// Targets with deviation 1 have at most about this mean distance from their mean, and tails can be far: a few large targets are no other unit then.
const UNIT: f64 = 1.25;
/// A tube is wider than targets vary if their spread is below this part of it.
const TUBE: f64 = 0.25;
/// The setting that is advised. Median and quartiles, as single large targets change mean and standard deviation.
const SCALE: &str = "{\"fixed\": {\"shift\": [MEDIAN], \"factor\": [1 / DEVIATION]}} with the median of the targets and a robust deviation (the distance \
                     between their quartiles, divided by 1.35)";
/// The fewest rows before or after an outlier, or from the start, whose mean error counts.
const FEWEST: u64 = 20;

/// The largest targets so far, and the sum of all errors.
///
/// ```
/// use okl::config::Config;
/// let mut targets = okl::health::LargeTargets::default();
/// (1..100).for_each(|row| targets.add(row, &[if row == 50 { 1e9 } else { 1.0 }], if row > 50 { 9.0 } else { 0.5 }));
/// let said = targets.finding(&Config::from_toml("loss = 'squared'")?.loss, "row").unwrap();
/// assert!(said.starts_with("the target of row 50 is 1e9"));
/// # Ok::<(), okl::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LargeTargets {
    /// The largest first, one more than [`MOST`].
    largest: Vec<Large>,
    sum: f64,
    rows: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Large {
    /// The number of the row.
    number: u64,
    /// Of several outputs: the largest in absolute value.
    target: f64,
    error: f64,
    /// Sum and number of the errors before.
    sum: f64,
    rows: u64,
}

impl LargeTargets {
    /// Adds a row: its number, its targets and its error before the update.
    pub fn add(&mut self, number: u64, targets: &[f64], error: f64) {
        let error = error.min(f64::MAX);
        let target = targets.iter().copied().fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a });
        if self.largest.len() <= MOST || target.abs() > self.largest[MOST].target.abs() {
            let at = self.largest.partition_point(|large| large.target.abs() >= target.abs());
            self.largest.insert(at, Large { number, target, error, sum: self.sum, rows: self.rows });
            self.largest.truncate(MOST + 1);
        }
        // A model file holds finite numbers only.
        self.sum = (self.sum + error).min(f64::MAX);
        self.rows += 1;
    }

    /// A sentence, if the model has diverged, or if a few targets are much larger than all others and the model is worse after them.
    /// `numbered`: what the numbers of the rows count.
    pub fn finding(&self, loss: &AnyLoss, numbered: &str) -> Option<String> {
        self.diverged().or_else(|| self.outliers(loss, numbered))
    }

    /// A sentence for a loss of [`bounded`]: if its tube is wider than the targets vary; or if targets are far from the unit of its steps, and the mean
    /// error of all rows is of their size, or that of the last rows nearly as large as the error of a constant.
    pub(crate) fn out_of_unit(&self, config: &Config, level: &TargetLevel) -> Option<String> {
        let loss = bounded(config)?;
        let recent = level.recent().filter(|recent| recent.spread > 0.0);
        let factor = config.target_scale.least_factor();
        if let (Some(recent), Some(epsilon)) = (recent, loss.epsilon)
            && recent.spread * factor < TUBE * epsilon
        {
            return Some(format!(
                "the last {} targets are {} on average from the mean of up to 999 targets before them, and the loss ignores errors up to epsilon = {}{}: \
                 smaller differences are not learned; set a smaller epsilon",
                grouped(recent.rows),
                shown(recent.spread),
                shown(epsilon),
                if factor == 1.0 {
                    String::new()
                } else {
                    format!(" of the scaled targets, which is {} of theirs", shown(epsilon / factor))
                }
            ));
        }
        if !loss.chosen {
            return None;
        }
        let (usual, all) = (self.largest.get(MOST)?.target.abs(), self.sum / self.rows as f64);
        let steps = format!("the steps of {} suit targets with", loss.name);
        if loss.adapts && self.rows >= ENOUGH && usual > OUT_OF_UNIT && all > POOR * usual {
            return Some(format!(
                "{steps} a mean near 0 and a standard deviation near 1; there are targets of {} and more, and the mean error of {} rows is {}: set \
                 target_scale {SCALE}",
                shown(usual),
                grouped(self.rows),
                shown(all)
            ));
        }
        let recent = recent.filter(|recent| recent.error > loss.poor * recent.spread)?;
        let in_unit = recent.level <= 1.0 && recent.spread <= UNIT;
        let far = if loss.adapts { usual > FAR_FROM_ZERO && !in_unit } else { recent.spread > loss.far };
        far.then(|| {
            format!(
                "{steps} {}the last {} targets are {} on average from the mean of up to 999 targets before them, and their mean error is {}: {} target_scale \
                 {SCALE}",
                match loss.adapts {
                    true => format!("a mean near 0 and a standard deviation near 1; there are targets of {} and more; ", shown(usual)),
                    false => "a standard deviation near 1; ".into(),
                },
                grouped(recent.rows),
                shown(recent.spread),
                shown(recent.error),
                if loss.adapts { "set" } else { "compare with" }
            )
        })
    }

    /// A sentence, if the mean error of all rows is far above the largest target.
    fn diverged(&self) -> Option<String> {
        let largest = self.largest.first()?.target.abs();
        let error = self.sum / self.rows as f64;
        if self.rows < FEWEST || largest == 0.0 || error.is_nan() || error <= DIVERGED * largest {
            return None;
        }
        Some(format!(
            "the mean error of {} rows is {}, but no target exceeds {} in size: the model has diverged; choose a smaller step \
             (for smd a cap, such as 0.05), scale the targets (target_scale) or the columns, or leave rows with very large values out, and start again",
            grouped(self.rows),
            shown(error),
            shown(largest)
        ))
    }

    fn outliers(&self, loss: &AnyLoss, numbered: &str) -> Option<String> {
        let apart = |pair: &[Large]| pair[0].target.abs() > TIMES * pair[1].target.abs().max(f64::MIN_POSITIVE);
        let outliers = self.largest.windows(2).position(apart)? + 1;
        let (largest, others) = (&self.largest[..outliers], self.largest[outliers].target.abs());
        let first = largest.iter().min_by_key(|large| large.rows)?;
        let after = (self.rows - first.rows).checked_sub(outliers as u64).filter(|rows| *rows >= FEWEST && others > 0.0)?;
        let errors: f64 = largest.iter().map(|large| large.error).sum();
        let error_after = (self.sum - first.sum - errors) / after as f64;
        let error_before = (first.rows >= FEWEST).then(|| first.sum / first.rows as f64);
        // Without enough rows before, an error beyond all other targets is certainly large.
        if error_after.is_nan() || error_after <= error_before.map_or(others, |before| WORSE * before) {
            return None;
        }
        let (number, target) = (largest[0].number, shown(largest[0].target));
        let which = match outliers {
            1 => format!("the target of {numbered} {number} is {target}"),
            n => format!("{n} targets are very large (the largest: {target} in {numbered} {number})"),
        };
        let before = error_before.map_or(String::new(), |before| format!(" (before: {})", shown(before)));
        let advice = match loss {
            AnyLoss::Squared {} => "the squared loss follows such a target: leave the row out, or set loss to huber or absolute",
            _ => "leave such rows out if they are errors",
        };
        let (others, error) = (shown(others), shown(error_after));
        let rows = if after == 1 { "row" } else { "rows" };
        Some(format!(
            "{which}, no other one exceeds {others} in size; the mean error of the {after} {rows} afterwards is {error}{before}; {advice}"
        ))
    }

    /// Whether a row was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The state as a list of numbers, for a model file.
    pub(crate) fn state(&self) -> Vec<f64> {
        let large = |l: &Large| [l.number as f64, l.target, l.error, l.sum, l.rows as f64];
        [self.sum, self.rows as f64].into_iter().chain(self.largest.iter().flat_map(large)).collect()
    }

    /// Restores the state from a model file; none if the numbers are inconsistent.
    pub(crate) fn restored(state: &[f64]) -> Option<Self> {
        let (&[sum, rows], (large, rest)) = (state.first_chunk()?, state.get(2..)?.as_chunks::<5>());
        let whole = |v: f64| (v >= 0.0 && v < 2f64.powi(53) && v.fract() == 0.0).then_some(v as u64);
        let one = |&[number, target, error, sum, before]: &[f64; 5]| {
            let possible = target.is_finite() && error >= 0.0 && sum >= 0.0 && before < rows;
            Some(Large { number: whole(number)?, target, error, sum, rows: whole(before)? }).filter(|_| possible)
        };
        let largest = large.iter().map(one).collect::<Option<Vec<Large>>>()?;
        let sorted = largest.is_sorted_by(|a, b| a.target.abs() >= b.target.abs());
        let rows = whole(rows)?;
        let complete = rest.is_empty() && largest.len() as u64 == rows.min(MOST as u64 + 1);
        (sorted && complete && sum >= 0.0).then_some(LargeTargets { largest, sum, rows })
    }
}

/// A loss for numbers whose gradient is bounded: a row moves the model by at most a step, which is in the unit of the targets.
pub(crate) struct Bounded {
    name: &'static str,
    /// Whether a tube or scale adapts: the loss then learns with one setting, whose steps suit targets with a mean near 0 and a deviation near 1.
    adapts: bool,
    /// Targets with a larger spread (mean distance from their mean) are far from the unit of the steps.
    far: f64,
    /// The model is poor if its error is larger than this part of the spread. That of a constant is 1, and more for an outer quantile.
    poor: f64,
    /// Errors that the loss ignores.
    epsilon: Option<f64>,
    /// Whether steps were chosen for the loss and targets have no scale.
    chosen: bool,
}

/// Describes such a loss, if there is something to find: steps that were chosen, or a tube.
pub(crate) fn bounded(config: &Config) -> Option<Bounded> {
    let chosen = config.step == Choice::Auto && config.target_scale.is_none();
    let loss = |name| Bounded { name, adapts: false, far: 25.0, poor: 0.5, epsilon: None, chosen };
    let found = match *config.loss {
        AnyLoss::NuEpsilon { .. } => Bounded { adapts: true, ..loss("nu_epsilon") },
        AnyLoss::NuHuber { .. } => Bounded { adapts: true, ..loss("nu_huber") },
        AnyLoss::Absolute {} => loss("absolute"),
        AnyLoss::Huber { .. } => loss("huber"),
        AnyLoss::Epsilon { epsilon } => Bounded { epsilon: Some(epsilon), ..loss("epsilon") },
        // Measured: the quantile loss gains from units only where its targets are much farther away.
        AnyLoss::Quantile { q } => {
            Bounded { far: 250.0, poor: if (q - 0.5).abs() > 0.25 { 1.0 } else { 0.5 }, ..loss("quantile") }
        }
        _ => return None,
    };
    Some(found).filter(|loss| loss.chosen || loss.epsilon.is_some())
}

/// A number with four significant digits.
pub(super) fn shown(value: f64) -> String {
    let rounded: f64 = format!("{value:.3e}").parse().unwrap_or(value);
    if rounded == 0.0 || (1e-4..1e6).contains(&rounded.abs()) { rounded.to_string() } else { format!("{rounded:e}") }
}
