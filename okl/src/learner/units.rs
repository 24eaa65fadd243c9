//! Units that follow the stream (`scale = auto`): the frame is estimated again when it no longer fits the columns.
//!
//! It holds for dense rows and kernels of distance. After the warm-up, the learner looks at the columns after every 128 examples (after
//! every `warmup` examples, if these are fewer), and at no other moment; so what it decides depends on the stream alone (law 1).
//!
//! 1. **The window.** Of the last 128 examples, each column has a mean and a standard deviation. A value that lies more than 256
//!    interquartile ranges from the median is an outlier, if not more than one value in 32 is: it counts as a value at 8 ranges. (The first
//!    frame is found in the same way. Columns with heavy tails have values at more than 100 ranges, and need the large unit.)
//! 2. **The running statistics** of a column are the mean and the standard deviation of all windows since they began, the warm-up
//!    being the first one.
//! 3. The column takes its running mean and deviation as its shift and unit, if that changes the unit by a factor of 2 or the shift by 4
//!    units at least, when
//!    - *most of its values spread further*: in each of two windows, the interquartile range, divided by 1.35 (as for a normal
//!      distribution), exceeds 4 units and 4 running deviations. The running statistics then begin anew with these windows.
//!    - *some of its values spread further*: more than 5 %, but not more than half of them are clipped, and the deviation of the window
//!      exceeds 2 units.
//!    - *it stays elsewhere*: in each of four windows more than half of the values are clipped, or the deviation is positive and below
//!      1/32 of the unit and of the running deviation; and the means of the four agree within a quarter of a deviation. The running statistics
//!      then begin anew with these windows. For a column that was constant in the warm-up, and so has the unit 1, half of the unit takes the place of
//!      1/32, as long as most of its values differ.
//!
//! A column that has only two values in a window, as an indicator has, keeps its unit by the first two rules: clipped or not, its two values
//! stay two values.
//!
//! A date or a counter does nothing of this: it leaves its first range, is clipped there, and so becomes a constant, which does not make
//! every row different from all earlier ones.
//!
//! Columns that share one unit (see `scaling.rs`) are judged together: their deviation is the root of the sum of the variances, which
//! takes the place of the interquartile range, too.
//!
//! What a change does:
//!
//! - The centres of the terms are computed again from their unscaled rows, which the terms keep exactly. A merged term keeps the same
//!   blend of its two unscaled rows.
//! - A term whose value in a column that changes is beyond twice the limit of clipping loses its coefficients: they were learned at a wrong
//!   place. If a unit becomes
//!   at least 8 times smaller, all terms do: those with the old unit are far away, and those with the new one were learned where all rows
//!   looked alike. Offsets stay.
//! - |f|², <f, v> and |v|² are computed again. The certificates of truncation and regret begin anew at that example; the certificate of
//!   the alert rate continues.
//! - The weight vectors of a bank (`engine/linear.rs`) are brought into the new units, so that their scores stay what they are.
//! - Kernel widths stay: they are in units of the columns.
//!
//! Stationary columns do not change their units: see benchmarks/units.md for how often that fails.

use crate::config::Scale;
use crate::engine::linear::{UnitChange, into_other_units};
use crate::learner::rows::KeptRows;
use crate::learner::scaling::{Frame, resolution};
use crate::learner::warmup::after_examples;
use crate::learner::{Learner, Part, whitening};

/// The largest number of examples between two looks.
const WINDOW: usize = 128;
/// Most values spread further if their range exceeds so many units and running deviations in [`WIDE_WINDOWS`] windows.
const JUMP: f64 = 4.0;
const WIDE_WINDOWS: f64 = 2.0;
/// The interquartile range of a normal distribution, in standard deviations.
const QUARTILES: f64 = 1.35;
/// Some values spread further if more than this share of them is clipped, but not most, and the deviation exceeds [`WIDE`] units.
const CLIPPED: f64 = 0.05;
const WIDE: f64 = 2.0;
/// A column stays elsewhere if [`CALM`] windows agree within [`AGREE`] deviations, and their deviations are below this part of the unit.
const NARROW: f64 = 1.0 / 32.0;
const CALM: f64 = 4.0;
const AGREE: f64 = 0.25;
/// A unit changes by this factor at least, or the shift by [`FAR`] units.
const OFF: f64 = 2.0;
const FAR: f64 = 4.0;
/// The unit of a column that did not vary. It fits nothing, so a deviation that is smaller by [`OFF`] is enough for another one.
const NO_UNIT: f64 = 1.0;
/// A term loses its coefficients if its value is beyond this many limits of clipping.
const MISPLACED: f64 = 2.0;
/// All terms lose their coefficients if a unit becomes smaller by this factor.
const OLD_UNIT: f64 = 8.0;
/// Outliers lie more than [`OUTLYING`] interquartile ranges from the median and count as values at [`COUNTS_AS`] ranges; at most one value in
/// [`RARE`] can be an outlier.
const OUTLYING: f64 = 256.0;
const COUNTS_AS: f64 = 8.0;
const RARE: usize = 32;

/// The number, the mean and the sum of squared deviations of some values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Moments {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Moments {
    fn variance(&self) -> f64 {
        if self.count > 0.0 { self.squares / self.count } else { 0.0 }
    }

    /// Adds other values.
    fn add(&mut self, other: &Moments) {
        if other.count == 0.0 {
            return;
        }
        let count = self.count + other.count;
        let apart = other.mean - self.mean;
        // A constant that differs by rounding errors only stays a constant.
        let constant = self.squares == 0.0 && other.squares == 0.0 && apart.abs() <= CONSTANT * self.mean.abs();
        if self.count > 0.0 && !constant {
            self.squares += other.squares + apart * apart * self.count * (other.count / count);
            self.mean += apart * (other.count / count);
        } else if self.count == 0.0 {
            (self.mean, self.squares) = (other.mean, other.squares);
        }
        self.count = count;
    }

    /// The moments of values without outliers.
    fn of(values: &[f64], usual: &Usual) -> Moments {
        let count = values.len() as f64;
        let moved = || values.iter().map(|x| usual.moved(*x));
        let mean = moved().map(|x| x / count).sum::<f64>();
        let squares = moved().map(|x| (x - mean) * (x - mean)).sum::<f64>();
        let least = resolution(values.iter()) * mean;
        Moments { count, mean, squares: if squares > count * least * least { squares } else { 0.0 } }
    }
}

/// A constant column differs from its mean by less than this part of it.
const CONSTANT: f64 = 1e-7;

/// The median, the interquartile range, and the distance from the median beyond which values are outliers.
struct Usual {
    median: f64,
    quartiles: f64,
    reach: f64,
}

impl Usual {
    fn of(values: &[f64], sorted: &mut Vec<f64>) -> Usual {
        sorted.clear();
        sorted.extend_from_slice(values);
        let mut quartile = |quarters: usize| *sorted.select_nth_unstable_by(quarters * (values.len() - 1) / 4, f64::total_cmp).1;
        let [first, median, third] = [1, 2, 3].map(&mut quartile);
        let quartiles = third - first;
        let reach = OUTLYING * quartiles;
        let beyond = values.iter().filter(|x| (**x - median).abs() > reach).count();
        let rare = reach > 0.0 && beyond <= values.len().div_ceil(RARE);
        Usual { median, quartiles, reach: if rare { reach } else { f64::INFINITY } }
    }

    /// The value, or what it counts as if it is an outlier.
    fn moved(&self, x: f64) -> f64 {
        let apart = x - self.median;
        if apart.abs() > self.reach { self.median + (COUNTS_AS * self.quartiles).copysign(apart) } else { x }
    }
}

/// The statistics of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Column {
    running: Moments,
    /// The last windows in which most values spread further.
    wide: Moments,
    /// The last windows that are elsewhere, as long as their means agree.
    calm: Moments,
}

/// The statistics of the columns, and the rows since the last look.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Units {
    rows: KeptRows,
    columns: Vec<Column>,
    /// The number of examples in all windows, with those of the warm-up.
    seen: f64,
    /// If all columns have one unit: the root of the sum of their variances in that unit, as the warm-up found it; otherwise 0.
    together: f64,
    /// How often the frame changed, and the number of examples at the last change.
    pub changes: u64,
    pub changed_at: u64,
    work: Work,
}

/// Buffers of a look, reused by the next one.
#[derive(Clone, Debug, Default, PartialEq)]
struct Work {
    column: Vec<f64>,
    sorted: Vec<f64>,
    /// Of each column, the moments and the interquartile range of the window.
    window: Vec<Moments>,
    quartiles: Vec<f64>,
}

impl Work {
    fn fill(&mut self, rows: &[f64], features: usize) {
        self.window.clear();
        self.quartiles.clear();
        for j in 0..features {
            self.column.clear();
            self.column.extend(rows.iter().skip(j).step_by(features));
            let usual = Usual::of(&self.column, &mut self.sorted);
            self.window.push(Moments::of(&self.column, &usual));
            self.quartiles.push(usual.quartiles);
        }
    }
}

/// The number of values of each column in a model file, and of values before them.
const OF_COLUMN: usize = 9;
const OF_ALL: usize = 4;

impl Units {
    /// Begins with the rows of a warm-up; `common_unit`: whether all columns have one unit.
    pub fn begin(&mut self, rows: &[f64], features: usize, common_unit: bool) {
        let mut work = Work::default();
        work.fill(rows, features);
        self.columns = work.window.iter().map(|running| Column { running: *running, ..Column::default() }).collect();
        self.seen = (rows.len() / features) as f64;
        let sum: f64 = self.columns.iter().map(|c| c.running.variance()).sum();
        self.together = if common_unit { sum.sqrt() } else { 0.0 };
    }

    /// Adds a window to the statistics. Returns another frame, if this one no longer fits.
    fn look(&mut self, rows: &[f64], frame: &Frame) -> Option<Frame> {
        let (features, count) = (frame.shift.len(), rows.len() / frame.shift.len());
        self.work.fill(rows, features);
        let Work { window, quartiles, .. } = &self.work;
        self.columns.resize(features, Column::default());
        self.seen += count as f64;
        let mut new: Option<Frame> = None;
        let (size, wanted) = if self.together > 0.0 { (features, self.together) } else { (1, 1.0) };
        for first in (0..features).step_by(size) {
            let of = first..first + size;
            let columns = &mut self.columns[of.clone()];
            let unit = wanted / frame.factor[first];
            let seen = match size == 1 {
                true if has_two_values(rows, features, first) => Seen { unit, range: Some(0.0), clipped: 0.0 },
                true => {
                    let clipped = clipped(rows, frame, first) as f64 / count as f64;
                    Seen { unit, range: Some(quartiles[first] / QUARTILES), clipped }
                }
                false => Seen { unit, range: None, clipped: 0.0 },
            };
            if !follow(columns, &window[of.clone()], &seen) {
                continue;
            }
            let deviation = columns.iter().map(|c| c.running.variance()).sum::<f64>().sqrt();
            let apart2 = |(c, m): (&Column, &f64)| (c.running.mean - m) * (c.running.mean - m);
            let apart = columns.iter().zip(&frame.shift[of.clone()]).map(apart2).sum::<f64>().sqrt();
            if !(unit / OFF..=unit * OFF).contains(&deviation) || apart > FAR * unit {
                let new = new.get_or_insert_with(|| frame.clone());
                new.factor[of.clone()].fill(wanted / deviation);
                new.shift[of].iter_mut().zip(columns).for_each(|(m, c)| *m = c.running.mean);
            }
        }
        new
    }

    /// Increases the number of features; all rows so far are 0 in the new ones.
    fn widen(&mut self, from: usize, to: usize) {
        self.rows.widen(from, to);
        if let Some(first) = self.columns.first().copied() {
            let zero = |of: Moments| Moments { count: of.count, ..Moments::default() };
            let new = match self.together > 0.0 {
                true => Column { running: zero(first.running), wide: zero(first.wide), calm: zero(first.calm) },
                false => Column { running: Moments { count: self.seen, ..Moments::default() }, ..Column::default() },
            };
            self.columns.resize(to, new);
        }
    }

    /// The statistics as a list of numbers, for a model file.
    pub fn state(&self) -> Vec<f64> {
        let all = [self.seen, self.together, self.changes as f64, self.changed_at as f64];
        let of = |Moments { count, mean, squares }: Moments| [count, mean, squares];
        all.into_iter().chain(self.columns.iter().flat_map(|c| [of(c.running), of(c.wide), of(c.calm)].concat())).collect()
    }

    /// The rows since the last look, row by row.
    pub fn rows(&self) -> &[f64] {
        &self.rows.numbers
    }

    /// Restores the state from a model file; none if it is not possible.
    pub fn restored(state: &[f64], rows: Vec<f64>, features: usize, examples: u64) -> Option<Self> {
        let (&[seen, together, changes, changed_at], columns) =
            (state.first_chunk::<OF_ALL>()?, state.get(OF_ALL..)?.as_chunks());
        let (columns, rest): (&[[f64; OF_COLUMN]], _) = columns;
        let counted = |value: f64| (0.0..=examples as f64).contains(&value) && value.fract() == 0.0;
        let moments = |&[count, mean, squares]: &[f64; 3]| {
            let possible = (0.0..=seen).contains(&count) && squares >= 0.0;
            possible.then_some(Moments { count, mean, squares })
        };
        let column = |c: &[f64; OF_COLUMN]| {
            let [running, wide, calm] = [&c[..3], &c[3..6], &c[6..]].map(|part| part.first_chunk().and_then(moments));
            Some(Column { running: running?, wide: wide?, calm: calm? })
        };
        let columns = columns.iter().map(column).collect::<Option<Vec<_>>>()?;
        let whole = rows.len().checked_div(features).unwrap_or(0) * features == rows.len();
        let possible = rest.is_empty()
            && whole
            && rows.len() < WINDOW * features.max(1)
            && (columns.len() == features || columns.is_empty())
            && [seen, together].iter().all(|v| *v >= 0.0)
            && counted(changes)
            && counted(changed_at);
        let (changes, changed_at) = (changes as u64, changed_at as u64);
        possible.then_some(Units {
            rows: KeptRows { numbers: rows, ..KeptRows::default() },
            columns,
            seen,
            together,
            changes,
            changed_at,
            work: Work::default(),
        })
    }
}

/// What is known of a window of columns that have one unit, beside their moments.
struct Seen {
    unit: f64,
    /// The interquartile range in standard deviations of a normal distribution; none for several columns.
    range: Option<f64>,
    /// The share of values that are clipped.
    clipped: f64,
}

/// Adds a window to the running statistics of columns that have one unit, or begins them anew. Returns whether the rule at the head of
/// this file applies to them.
fn follow(columns: &mut [Column], window: &[Moments], seen: &Seen) -> bool {
    let running: f64 = columns.iter().map(|c| c.running.variance()).sum();
    let now: f64 = window.iter().map(Moments::variance).sum();
    // A window that is constant except for rounding errors has no range either.
    let (unit2, range2) = (seen.unit * seen.unit, seen.range.filter(|_| now > 0.0).map_or(now, |range| range * range));
    let most = range2 > JUMP * JUMP * running.max(unit2);
    let some = !most && seen.clipped > CLIPPED && seen.clipped <= 0.5 && now > WIDE * WIDE * unit2;
    let unknown = seen.unit == NO_UNIT && seen.range.is_some_and(|range| range > 0.0) && OFF * OFF * running.max(now) < unit2;
    let elsewhere = now > 0.0 && (unknown || seen.clipped > 0.5 || now < NARROW * NARROW * running.min(unit2));
    let apart2: f64 = columns.iter().zip(window).map(|(c, w)| (w.mean - c.calm.mean) * (w.mean - c.calm.mean)).sum();
    let agrees = elsewhere && apart2 <= AGREE * AGREE * now;
    let windows = |of: &Moments| of.count / window[0].count + 1.0;
    let stays = agrees && windows(&columns[0].calm) >= CALM;
    let jumps = most && windows(&columns[0].wide) >= WIDE_WINDOWS;
    for (column, window) in columns.iter_mut().zip(window) {
        column.calm = if agrees { column.calm } else { Moments::default() };
        if elsewhere {
            column.calm.add(window);
        }
        if most {
            // Whether these windows begin the statistics anew or belong to them is known after the next one.
            column.wide.add(window);
        } else {
            column.running.add(&std::mem::take(&mut column.wide));
            column.running.add(window);
        }
        if jumps {
            column.running = std::mem::take(&mut column.wide);
        } else if stays {
            column.running = std::mem::take(&mut column.calm);
        }
    }
    jumps || some || stays
}

/// The number of values of a column that are clipped.
fn clipped(rows: &[f64], frame: &Frame, column: usize) -> usize {
    let (shift, factor, limit) = (frame.shift[column], frame.factor[column], frame.limit.unwrap_or(f64::MAX));
    rows.iter().skip(column).step_by(frame.shift.len()).filter(|x| (**x - shift).abs() * factor >= limit).count()
}

/// Whether a column has at most two different values.
fn has_two_values(rows: &[f64], features: usize, column: usize) -> bool {
    let values = || rows.iter().skip(column).step_by(features);
    let (Some(first), other) = (values().next(), values().find(|x| **x != rows[column])) else { return true };
    values().all(|x| x == first || Some(x) == other)
}

/// Moves the outliers of each column nearer to the median.
pub(super) fn move_outliers(rows: &mut [f64], features: usize) {
    let (mut column, mut sorted) = (Vec::new(), Vec::new());
    for j in 0..features {
        column.clear();
        column.extend(rows.iter().skip(j).step_by(features));
        let usual = Usual::of(&column, &mut sorted);
        rows.iter_mut().skip(j).step_by(features).for_each(|x| *x = usual.moved(*x));
    }
}

impl Learner {
    /// The number of times that the units of the columns changed, and the number of examples at the last change; none if the units do not
    /// follow the stream ([`units`](crate::units)). The certificates of truncation and regret hold for the examples after that change.
    ///
    /// ```
    /// use okl::{Batch, Config, Learner};
    /// let mut learner = Learner::new(Config::from_toml("loss = 'squared'\nwarmup = 64")?)?;
    /// // The windows that end at 192 and at 256 are both wider.
    /// let x: Vec<f32> = (0..256).map(|i| if i < 128 { 1.0 } else { 1000.0 } * (i as f32).sin()).collect();
    /// let y: Vec<f64> = (0..256).map(|i| f64::from(i).cos()).collect();
    /// learner.learn(&Batch::new(&x, 1).numbers(&y))?;
    /// assert_eq!(learner.unit_changes(), Some((1, 256)));
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn unit_changes(&self) -> Option<(u64, u64)> {
        self.units.as_ref().map(|units| (units.changes, units.changed_at))
    }

    /// The number of examples between two looks.
    fn window(&self) -> usize {
        self.config.warmup.min(WINDOW)
    }

    /// The end of the rows that are learned before the next look.
    pub(super) fn next_units(&self, first: usize, known: &[bool]) -> usize {
        match &self.units {
            Some(units) if self.warm.is_none() && self.features > 0 => {
                let gathered = units.rows.numbers.len() / self.features;
                after_examples(self.window() - gathered, first, known)
            }
            _ => known.len(),
        }
    }

    /// Keeps the examples of a part that was learned after the warm-up, and looks at the columns if there are enough of them.
    pub(super) fn follow_units(&mut self, part: &Part<'_>) {
        let (window, features) = (self.window(), self.features);
        let Some(units) = &mut self.units else { return };
        (0..part.rows.len()).filter(|&i| part.known()[i]).for_each(|i| units.rows.push(part.x.row(i)));
        if units.rows.numbers.len() < window * features {
            return;
        }
        let mut rows = std::mem::take(&mut units.rows);
        let better = units.look(&rows.numbers, &self.frame);
        rows.clear();
        units.rows = rows;
        if let Some(frame) = better {
            units.changes += 1;
            units.changed_at = self.engine.t;
            self.change_frame(&frame);
            self.tell_shadow(|shadow, learner| shadow.change_frame(&learner.frame));
        }
    }

    /// Replaces the frame: see the head of this file.
    fn change_frame(&mut self, frame: &Frame) {
        let units = || frame.factor.iter().zip(&self.frame.factor);
        let all = units().any(|(new, old)| *new >= OLD_UNIT * old);
        let changed: Vec<bool> = units().map(|(new, old)| new != old).collect();
        let (old, limit) = (self.frame.clone(), MISPLACED * frame.limit.unwrap_or(f64::INFINITY));
        let far = |(j, x): (usize, &f64)| changed[j] && (x - old.shift[j]).abs() * old.factor[j] >= limit;
        let gone = |row: &[f64]| all || row.iter().enumerate().any(far);
        self.engine.rescale(|row, centre| frame.apply_to(row, centre), gone);
        let shifts = frame.shift.iter().zip(&self.frame.shift);
        let change =
            |((new, old), (to, from)): ((&f64, &f64), (&f64, &f64))| UnitChange { factor: old / new, moved: old * (to - from) };
        let changes: Vec<UnitChange> = units().zip(shifts).map(change).collect();
        self.engine.change_linear(self.features, |weights, offset| {
            whitening::weights_of_columns(&frame.whiten, weights);
            into_other_units(&changes, weights, offset);
            whitening::weights_of_whitened(&frame.whiten, weights);
        });
        self.frame.clone_from(frame);
        if let Scale::Fixed { shift, factor, .. } = &mut self.config.scale {
            (*shift, *factor) = (frame.shift.clone(), frame.factor.clone());
        }
    }

    /// Increases the number of features of the statistics. New columns have the unit of the others, if all have one.
    pub(super) fn widen_units(&mut self, from: usize, to: usize) {
        let Some(units) = &mut self.units else { return };
        units.widen(from, to);
        if units.together > 0.0 {
            let unit = self.frame.factor[0];
            self.frame.factor[from..].fill(unit);
        }
    }

    /// From now on, the units stay as they are.
    pub(super) fn stop_following(&mut self) {
        self.units = None;
        if let Scale::Fixed { follow, .. } = &mut self.config.scale {
            *follow = false;
        }
        self.engine.basis.space.drop_unscaled();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(count: usize, unit: f64, level: f64) -> Vec<f64> {
        (0..count).map(|i| level + unit * libm::sin(i as f64 * 0.7)).collect()
    }

    fn units_of(windows: &[Vec<f64>]) -> Vec<f64> {
        frames_of(windows).iter().map(|frame| 1.0 / frame.factor[0]).collect()
    }

    /// The last shift, rounded.
    fn shift_of(windows: &[Vec<f64>]) -> f64 {
        frames_of(windows).last().unwrap().shift[0].round()
    }

    /// The frame after each window of 64 values.
    fn frames_of(windows: &[Vec<f64>]) -> Vec<Frame> {
        let mut first = windows[0].clone();
        move_outliers(&mut first, 1);
        let mut frame = Frame::standard(&first, 1).limited(Some(8.0));
        let mut units = Units::default();
        units.begin(&windows[0], 1, false);
        let mut look = |window: &Vec<f64>| {
            frame = units.look(window, &frame).unwrap_or(frame.clone());
            frame.clone()
        };
        windows[1..].iter().map(&mut look).collect()
    }

    /// The deviation of a sine of amplitude 1 is the root of a half.
    fn near(unit: f64, amplitude: f64) -> bool {
        (unit / (amplitude * 0.5f64.sqrt()) - 1.0).abs() < 0.05
    }

    #[test]
    fn a_unit_that_changes_is_followed() {
        let larger = units_of(&[wave(64, 1.0, 0.0), wave(64, 1.0, 0.0), wave(64, 1000.0, 0.0), wave(64, 1000.0, 0.0)]);
        assert!(near(larger[0], 1.0) && near(larger[2], 1000.0), "{larger:?}");
        let smaller: Vec<_> = [1.0, 1.0, 0.001, 0.001, 0.001, 0.001].map(|unit| wave(64, unit, 5.0)).to_vec();
        let smaller = units_of(&smaller);
        assert!(smaller[..4].iter().all(|unit| near(*unit, 1.0)) && near(smaller[4], 0.001), "{smaller:?}");
    }

    #[test]
    fn one_outlier_changes_nothing() {
        let mut odd = wave(64, 1.0, 0.0);
        odd[40] = 1e9;
        let later = units_of(&[wave(64, 1.0, 0.0), odd.clone(), wave(64, 1.0, 0.0)]);
        assert!(later.iter().all(|unit| near(*unit, 1.0)), "{later:?}");
        // At first it counts as 8 interquartile ranges: 11 of 64 of its squares.
        let first = units_of(&[odd, wave(64, 1.0, 0.0)]);
        assert!(first[0] > 0.7 && first[0] < 1.7, "{first:?}");
    }

    #[test]
    fn a_date_becomes_a_constant_and_a_new_level_does_not() {
        let date: Vec<Vec<f64>> = (0..64).map(|w| (0..64).map(|i| 1.7e9 + f64::from(64 * w + i)).collect()).collect();
        let units = units_of(&date);
        assert!(units.iter().all(|unit| *unit == units[0]), "{units:?}");
        let level: Vec<_> = [0.0, 0.0, 100.0, 100.0, 100.0, 100.0].map(|level| wave(64, 1.0, level)).to_vec();
        assert!(near(units_of(&level)[4], 1.0) && shift_of(&level) == 100.0, "{}", shift_of(&level));
    }

    /// Two of 64 values are 1 at first, and 1 is clipped in that unit; then a third of them is. A third value, clipped as 1 is, changes the unit.
    #[test]
    fn a_column_of_two_values_keeps_its_unit() {
        let ones = |every: usize| (0..64).map(|i| f64::from(u8::from(i % every == 0))).collect::<Vec<f64>>();
        let mut first = vec![0.0; 640];
        first[100] = 1.0;
        let later = units_of(&[first.clone(), ones(3), ones(3), ones(2), ones(3), ones(3)]);
        assert!(later.iter().all(|unit| *unit == later[0] && 8.0 * unit < 0.9), "{later:?}");
        let three: Vec<f64> = ones(3).iter().enumerate().map(|(i, x)| if i == 3 { 2.0 } else { *x }).collect();
        let later = units_of(&[first, three.clone(), three]);
        assert!(later[1] > 4.0 * 640f64.recip().sqrt(), "{later:?}");
    }

    /// Numbers of single precision around 1e9 are multiples of 64: such a spread is rounding, whatever the unit was.
    #[test]
    fn rounding_errors_are_no_unit() {
        let far: Vec<f64> = (0..64).map(|i| 1e9 + 64.0 * f64::from(i % 2)).collect();
        let later = units_of(&[wave(64, 1.0, 0.0), far.clone(), far.clone(), far]);
        assert!(later.iter().all(|unit| near(*unit, 1.0)), "{later:?}");
    }

    /// One window of which a half is clipped and most spreads further: the next one decides. Until then there is no unit but the old one.
    #[test]
    fn a_column_that_wakes_up_has_a_unit() {
        let half: Vec<f64> = (0..64).map(|i| if i % 2 == 0 { 0.0 } else { 4096.0 + f64::from(i) }).collect();
        let later = units_of(&[vec![0.0; 64], half.clone(), half]);
        assert_eq!(later[0], 1.0);
        assert!((later[1] / 2064.0 - 1.0).abs() < 0.01, "{later:?}");
    }

    /// The shift of a slow wave may follow it where it is at rest; its unit stays that of its noise.
    #[test]
    fn a_slow_wave_keeps_its_unit() {
        let of = |w: u32, i: u32| libm::cos(f64::from(64 * w + i) * 1e-3) + 0.1 * libm::sin(f64::from(i));
        let windows: Vec<Vec<f64>> = (0..200).map(|w| (0..64).map(|i| of(w, i)).collect()).collect();
        assert!(units_of(&windows).iter().all(|unit| near(*unit, 0.1)));
    }

    /// Weight vectors of a bank keep their scores when units change, also where rows are whitened.
    #[test]
    fn weight_vectors_keep_their_scores() {
        for scale in ["standard", "whiten"] {
            let x: Vec<f64> = (0..600)
                .flat_map(|i| {
                    let a = libm::sin(f64::from(i) * 0.7);
                    [a, a + 0.3 * libm::cos(f64::from(i) * 1.3), f64::from(i % 7)]
                })
                .collect();
            let y: Vec<f64> = x.chunks(3).map(|x| 3.0 * x[0] - x[1] + 0.5 * x[2]).collect();
            let settings = format!("kernel = 'auto'\nloss = 'squared'\noffset = true\nwarmup = 64\nscale = '{scale}'");
            let mut learner = Learner::new(crate::Config::from_toml(&settings).unwrap()).unwrap();
            learner.learn(&crate::Batch::of_f64(&x, 3).numbers(&y)).unwrap();
            let scores = |learner: &Learner| -> Vec<f64> {
                let (weights, offset) = (learner.linear_weights().unwrap(), learner.predicting_offset()[0]);
                let score = |x: &[f64]| weights.iter().zip(learner.framed_row(x)).map(|(w, u)| w * f64::from(u)).sum::<f64>();
                x.chunks(3).take(50).map(|x| offset + score(x)).collect()
            };
            let before = scores(&learner);
            let mut frame = learner.frame.clone();
            frame.factor.iter_mut().zip([0.5, 1.0, 0.8]).for_each(|(f, by)| *f *= by);
            frame.shift.iter_mut().zip([0.25, 0.0, -1.0]).for_each(|(m, by)| *m += by);
            learner.change_frame(&frame);
            let after = scores(&learner);
            assert!(learner.frame == frame && before.iter().any(|z| z.abs() > 0.5));
            assert!(before.iter().zip(&after).all(|(a, b)| (a - b).abs() < 1e-5), "{scale}: {before:?} {after:?}");
        }
    }

    #[test]
    fn the_state_survives_a_file() {
        let mut units = Units::default();
        units.begin(&[1.0, 2.0, 3.0, 5.0], 2, true);
        units.rows.numbers = vec![1.0, 7.0];
        let state = units.state();
        assert_eq!(Units::restored(&state, vec![1.0, 7.0], 2, 10), Some(units));
        assert_eq!(Units::restored(&state, vec![1.0], 2, 10), None);
        assert_eq!(Units::restored(&state[1..], vec![], 2, 10), None);
        assert_eq!(Units::restored(&state, vec![], 3, 10), None);
    }
}
