//! Digits that features lose when they are stored in single precision, which keeps about seven digits.
//!
//! The scaled value u of a feature (double precision) is stored as f32(u). If a column varies little around a large value, the
//! rounding error |u - f32(u)| is large compared with the variation. Rule: a column loses digits in a window of 1,000
//! examples if its largest rounding error in the window exceeds [`LARGE`] of its range (largest minus smallest value) in the
//! window. A range below [`CONSTANT`] of the column's size is itself a rounding error: such a column is constant.
//!
//! Every eighth example is checked, which is enough for a range and costs little. A window ends after every 1,000 examples, and a
//! minimum or maximum does not depend on the order of its values, so the result depends on the stream alone (law 1).
//! A frame with a limit has standardised columns, which lose no digits: they are not checked.

use super::batch::LARGEST;
use super::health::WINDOW;

/// A column loses digits if a rounding error exceeds this share of its range.
pub(crate) const LARGE: f64 = 1e-3;

/// A range below this share of the column's largest absolute value is a rounding error of double precision.
const CONSTANT: f64 = 1e-13;

/// One example in `EVERY` is checked; `EVERY` divides [`WINDOW`].
const EVERY: u64 = 8;

/// The rounding errors of all columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rounding {
    /// The number of examples after the warm-up.
    pub examples: u64,
    columns: Vec<Column>,
    window: Window,
}

/// The rounding errors of a column in complete windows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Column {
    /// The number of examples in the earlier windows in which the column lost digits.
    lossy: u64,
    /// The largest rounding error divided by the range, in the last complete window.
    last: f64,
}

/// Of the current window: smallest value, largest value and largest rounding error of each column. Separate lists, so that the loop over the
/// columns vectorises.
#[derive(Clone, Debug, Default, PartialEq)]
struct Window {
    low: Vec<f64>,
    high: Vec<f64>,
    error: Vec<f64>,
}

impl Window {
    fn start(&mut self, row: &[f64]) {
        self.resize(row.len());
        self.low.iter_mut().zip(row).for_each(|(low, u)| *low = clamped(*u));
        self.high.copy_from_slice(&self.low);
        self.error.fill(0.0);
    }

    fn add(&mut self, row: &[f64]) {
        let columns = self.low.iter_mut().zip(&mut self.high).zip(&mut self.error);
        for (((low, high), error), u) in columns.zip(row) {
            let u = clamped(*u);
            (*low, *high) = (smaller(u, *low), larger(u, *high));
            *error = larger((u - f64::from(u as f32)).abs(), *error);
        }
    }

    fn resize(&mut self, columns: usize) {
        [&mut self.low, &mut self.high, &mut self.error].into_iter().for_each(|list| list.resize(columns, 0.0));
    }

    /// Largest minus smallest value of a column; 0 if the difference is a rounding error.
    fn range(&self, column: usize) -> f64 {
        let (low, high) = (self.low[column], self.high[column]);
        let (range, size) = (high - low, high.abs().max(low.abs()));
        if range > CONSTANT * size { range } else { 0.0 }
    }

    /// The largest rounding error of a column as a share of the range; 0 for a constant column.
    fn share(&self, column: usize) -> f64 {
        match self.range(column) {
            0.0 => 0.0,
            range => self.error[column] / range,
        }
    }
}

/// A value within the limits of all values; NaN becomes a limit.
fn clamped(u: f64) -> f64 {
    smaller(larger(u, -LARGEST), LARGEST)
}

/// The smaller of two numbers; the second one if either is NaN. One instruction, where `f64::min` takes several.
fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// The larger of two numbers; the second one if either is NaN.
fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

impl Rounding {
    /// Counts an example; returns whether it must be checked with [`Rounding::look`].
    pub fn count(&mut self) -> bool {
        self.examples += 1;
        (self.examples - 1).is_multiple_of(EVERY)
    }

    /// Checks the example that was just counted; `row`: its scaled features before rounding. The first example of a window is
    /// always checked, because [`EVERY`] divides [`WINDOW`].
    pub fn look(&mut self, row: &[f64]) {
        if (self.examples - 1).is_multiple_of(WINDOW) {
            if self.examples > 1 {
                self.end_window();
            }
            self.columns.resize(row.len(), Column::default());
            self.window.start(row);
        }
        self.window.add(row);
    }

    fn end_window(&mut self) {
        for (i, column) in self.columns.iter_mut().enumerate() {
            column.last = self.window.share(i);
            column.lossy += if column.last > LARGE { WINDOW } else { 0 };
        }
    }

    /// The ranges of the columns in the current window, in units of the frame, if the window has at least `fewest` examples. A constant
    /// column has the range 0.
    pub fn ranges(&self, fewest: u64) -> impl Iterator<Item = f64> + '_ {
        let present = self.examples.checked_sub(1).map_or(0, |n| n % WINDOW + 1);
        (0..self.columns.len()).filter(move |_| present >= fewest).map(|column| self.window.range(column))
    }

    /// Adds columns; their values so far were 0.
    pub fn widen(&mut self, features: usize) {
        if self.examples > 0 {
            self.columns.resize(features, Column::default());
            self.window.resize(features);
        }
    }

    /// For each column: the number of examples in windows in which it lost digits, and its largest rounding error as a share of its
    /// range in the last complete and the current window. The current window counts if it has at least `fewest` examples.
    pub fn columns(&self, fewest: u64) -> impl Iterator<Item = (u64, f64)> + '_ {
        let present = self.examples.checked_sub(1).map_or(0, |n| n % WINDOW + 1);
        self.columns.iter().enumerate().map(move |(i, column)| {
            let now = if present >= fewest { self.window.share(i) } else { 0.0 };
            (column.lossy + if now > LARGE { present } else { 0 }, column.last.max(now))
        })
    }

    /// The state as a list of numbers, for a model file.
    pub fn state(&self) -> Vec<f64> {
        let Window { low, high, error } = &self.window;
        let column = |(i, c): (usize, &Column)| [c.lossy as f64, c.last, low[i], high[i], error[i]];
        std::iter::once(self.examples as f64).chain(self.columns.iter().enumerate().flat_map(column)).collect()
    }

    /// Restores the state from a model file; none if the numbers are inconsistent.
    pub fn restored(state: &[f64], features: usize) -> Option<Self> {
        const MOST: f64 = (1u64 << 53) as f64;
        let (&examples, columns) = state.split_first()?;
        let (columns, rest) = columns.as_chunks::<5>();
        let whole = |v: f64, most: f64| v.fract() == 0.0 && (0.0..=most).contains(&v);
        let possible = |&[lossy, last, low, high, error]: &[f64; 5]| {
            let ordered = -LARGEST <= low && low <= high && high <= LARGEST;
            whole(lossy, examples) && last >= 0.0 && (0.0..=LARGEST).contains(&error) && ordered
        };
        if !(rest.is_empty() && columns.len() == features && whole(examples, MOST) && columns.iter().all(possible)) {
            return None;
        }
        let list = |which: usize| columns.iter().map(|column| column[which]).collect();
        Some(Rounding {
            examples: examples as u64,
            columns: columns.iter().map(|&[lossy, last, ..]| Column { lossy: lossy as u64, last }).collect(),
            window: Window { low: list(2), high: list(3), error: list(4) },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounded(rows: usize, row: impl Fn(usize) -> Vec<f64>) -> Rounding {
        let mut rounding = Rounding::default();
        for i in 0..rows {
            if rounding.count() {
                rounding.look(&row(i));
            }
        }
        rounding
    }

    /// Single precision has steps of 128 at 1.7e9: errors up to 64. The second column is the same without its offset, the third is
    /// constant, the fourth has the same steps without an error (multiples of 128), the fifth varies in the last digit of f64 only.
    #[test]
    fn a_column_far_from_zero_loses_digits() {
        let step = |i: usize| (i * 7919 % 601) as f64;
        let last_digit = |i: usize| if i.is_multiple_of(16) { 0.1 } else { 0.1f64.next_up() };
        let row = |i: usize| vec![1.7e9 + step(i), step(i), 1.7e9 + 1.0, 1.7e9 + 128.0 * step(i), last_digit(i)];
        let rounding = rounded(2500, row);
        let found: Vec<_> = rounding.columns(100).collect();
        assert_eq!(found[0].0, 2500);
        assert!((found[0].1 - 64.0 / 600.0).abs() < 0.01, "{found:?}");
        assert_eq!(found[1..], [(0, 0.0); 4]);
    }

    #[test]
    fn windows_end_at_counts_of_examples() {
        // Far from zero in examples 1,000 to 1,999 only.
        let row = |i: usize| vec![if (1000..2000).contains(&i) { 1.7e9 } else { 0.0 } + (i % 601) as f64];
        let lossy = |rows: usize| rounded(rows, row).columns(100).next().map(|(lossy, share)| (lossy, share > LARGE));
        assert_eq!(lossy(1000), Some((0, false)));
        assert_eq!([lossy(1099), lossy(1100)], [Some((0, false)), Some((100, true))]);
        assert_eq!([lossy(2000), lossy(2500), lossy(3100)], [Some((1000, true)), Some((1000, true)), Some((1000, false))]);
        let rounding = rounded(1500, row);
        assert_eq!(Rounding::restored(&rounding.state(), 1), Some(rounding.clone()));
        assert_eq!(Rounding::restored(&rounding.state(), 2), None);
    }
}
