//! The frame: features are scaled to (x - shift) * factor before the kernel is computed. It is fixed after the warm-up, except with
//! `scale = auto`, where it can follow the stream (`units.rs`).
//!
//! `scale = standard` subtracts the mean and divides by the standard deviation of the first examples. For translation-invariant
//! kernels, values beyond [`CLIP`] standard deviations are clipped: a column that grows forever (a date, a counter) then becomes
//! constant, and does not make every row different from all earlier ones. With `anchor = none`, a zero means that a feature is
//! absent, and stays zero: the unit of a column is the root mean square of its other entries.
//!
//! `scale = log` is for heavy tails: a column is mapped by x -> sign(x) ln(1 + |x| / unit) first, then standardised as above. The unit is
//! the absolute value that a tenth of the column's entries other than 0 do not exceed ([`log_units`]). So zero stays zero, the order
//! of the values is kept, and values far above the unit are spread as their logarithms are. The unit is fixed after the warm-up.
//!
//! `scale = whiten` scales as `auto` and then removes the correlations of the columns (`whitening.rs`).
//!
//! Shift and factor are applied in double precision, and the result is rounded once to single precision for the kernels. So a
//! column that varies little around a large value (a time in seconds since 1970) keeps its digits.
//!
//! With other scales, translation-invariant kernels subtract the first example (the anchor), which keeps the digits of distances far
//! from the origin (3.10.4). This file also computes other statistics of the first rows: ranges, the median distance, the median
//! of the targets.

use crate::config::Scale;
use crate::learner::batch::LARGEST;
use crate::learner::rows::{Numbers, RowBlock};
use crate::learner::whitening;

/// The limit of `scale = standard` in standard deviations. Bounded columns usually stay below it, and kernel values do not vanish there.
pub(crate) const CLIP: f64 = 8.0;

/// The limit of `scale = auto` if columns share one range. Beyond it, single precision cannot distinguish near rows, and f would
/// grow without bound.
pub(crate) const FAR_CLIP: f64 = 256.0;

/// The limit of the weight vectors in a bank over terms, in place of [`CLIP`]: a linear function says something far away, too.
pub(crate) const FURTHER: f64 = 64.0;

/// Up to this many varying columns, `auto` narrows the kernel and standardises each column.
pub(crate) const FEW_COLUMNS: usize = 8;

/// The range of the units of `scale = log`. With these, no value within [`LARGEST`] leaves double precision.
pub(crate) const LOG_UNITS: std::ops::RangeInclusive<f64> = 1e-100..=LARGEST;

/// The share of the entries other than 0 that do not exceed the unit of `scale = log`.
const LOG_SHARE: f64 = 0.1;

/// Columns of one range that is smaller are standardised each: the squares of their differences can leave single precision.
pub(crate) const LEAST_RANGE: f64 = 1e-12;

/// A shift and a factor per feature; empty if features are not scaled.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Frame {
    pub shift: Vec<f64>,
    pub factor: Vec<f64>,
    /// The units of the logarithms that are taken first; empty if there are none.
    pub log: Vec<f64>,
    /// The largest absolute value of a scaled feature.
    pub limit: Option<f64>,
    /// The triangle that whitens scaled rows (`whitening.rs`); empty if rows are not whitened.
    pub whiten: Vec<f64>,
}

impl Frame {
    pub fn anchored(first: RowBlock<'_>) -> Self {
        let mut shift = Vec::new();
        first.append_to(&mut shift);
        Frame { factor: vec![1.0; shift.len()], shift, ..Frame::default() }
    }

    /// Shift and factor from the mean and the standard deviation of the rows. A constant feature has factor 1.
    pub fn standard(rows: &[f64], features: usize) -> Self {
        let count = (rows.len() / features) as f64;
        let mut frame = Frame { shift: vec![0.0; features], factor: vec![0.0; features], ..Frame::default() };
        for row in rows.chunks_exact(features) {
            frame.shift.iter_mut().zip(row).for_each(|(m, &x)| *m += x / count);
        }
        for row in rows.chunks_exact(features) {
            let spread = frame.factor.iter_mut().zip(&frame.shift).zip(row);
            spread.for_each(|((v, m), &x)| *v += (x - m) * (x - m) / count);
        }
        for (column, (factor, mean)) in frame.factor.iter_mut().zip(&frame.shift).enumerate() {
            let of_column = || rows.iter().skip(column).step_by(features);
            let least = resolution(of_column()) * mean;
            let deviation = root(*factor, || of_column().map(|x| x - *mean));
            // A root that is not 0 is compared, because squares of small numbers would be 0.
            *factor = if deviation > least.abs() { unit_factor(deviation) } else { 1.0 };
        }
        frame
    }

    /// No shift; the factors give the entries that are not zero a root mean square of 1.
    pub fn sparse(rows: &[f64], features: usize) -> Self {
        let unit = |feature: usize| {
            let present = || rows.iter().skip(feature).step_by(features).copied().filter(|x| *x != 0.0);
            let count = present().count();
            let square = present().map(|x| x * x).sum::<f64>() / count as f64;
            if count > 0 { unit_factor(root(square, present)) } else { 1.0 }
        };
        Frame { shift: vec![0.0; features], factor: (0..features).map(unit).collect(), ..Frame::default() }
    }

    /// The same shift, with all factors 1.
    pub fn in_units_of_the_data(self) -> Self {
        Frame { factor: vec![1.0; self.factor.len()], ..self }
    }

    /// The same shift, with the factor `unit` for every column.
    pub fn in_unit(&self, unit: f64, features: usize) -> Self {
        let shift = if self.shift.is_empty() { vec![0.0; features] } else { self.shift.clone() };
        Frame { shift, factor: vec![unit; features], ..Frame::default() }
    }

    /// The frame as a setting.
    pub fn fixed(&self, follow: bool) -> Scale {
        let Frame { shift, factor, log, limit, whiten } = self.clone();
        Scale::Fixed { shift, factor, log_units: log, limit, follow, whiten }
    }

    /// The frame of a setting; none if the setting is not a fixed scale.
    pub fn of(scale: &Scale) -> Option<Frame> {
        let Scale::Fixed { shift, factor, log_units, limit, whiten, .. } = scale.clone() else { return None };
        Some(Frame { shift, factor, log: log_units, limit, whiten })
    }

    /// The same frame with this limit.
    pub fn limited(self, limit: Option<f64>) -> Self {
        Frame { limit, ..self }
    }

    /// The same frame, after logarithms with these units.
    pub fn of_logarithms(self, log: Vec<f64>) -> Self {
        Frame { log, ..self }
    }

    /// Increases the number of features; the new features were 0 so far.
    pub fn widen(&mut self, features: usize) {
        if !self.shift.is_empty() {
            self.shift.resize(features, 0.0);
            // If all columns have one unit, new columns get it, too; see `common_unit`.
            let first = self.factor[0];
            let common = libm::log2(first).abs() > 32.0 && libm::frexp(first).0 == 0.5 && self.factor.iter().all(|f| *f == first);
            self.factor.resize(features, if common { first } else { 1.0 });
        }
        if !self.log.is_empty() {
            self.log.resize(features, 1.0);
        }
    }

    /// Whether rows are whitened: a number of a scaled row then depends on several columns.
    pub fn whitens(&self) -> bool {
        !self.whiten.is_empty()
    }

    /// The same frame, whitened by the covariance of rows that it has scaled.
    pub fn whitened(self, rows: RowBlock<'_>) -> Self {
        let mut scaled = Vec::new();
        self.apply(rows, &mut scaled);
        Frame { whiten: whitening::triangle(&scaled, rows.features()), ..self }
    }

    /// Scales rows. Extremely large values are clipped, so that they stay finite.
    pub fn apply(&self, rows: RowBlock<'_>, out: &mut Vec<f32>) {
        out.clear();
        match rows.numbers() {
            Numbers::Single(rows) => self.append(rows, out),
            Numbers::Double(rows) => self.append(rows, out),
            Numbers::Sparse(_) | Numbers::Given(_) => {
                let mut row = Vec::new();
                for i in 0..rows.count() {
                    row.clear();
                    rows.row(i).append_to(&mut row);
                    self.append(&row, out);
                }
            }
        }
    }

    /// One scaled value, without whitening.
    pub fn value(&self, column: usize, x: f64) -> f32 {
        if self.shift.is_empty() {
            return x as f32;
        }
        let limit = self.limit.unwrap_or(LARGEST) as f32;
        (self.unlimited(column, x) as f32).clamp(-limit, limit)
    }

    /// One scaled value, without rounding or limit.
    pub fn unlimited(&self, column: usize, x: f64) -> f64 {
        let Some((shift, factor)) = self.shift.get(column).zip(self.factor.get(column)) else { return x };
        (self.curved(column, x) - shift) * factor
    }

    /// The logarithm of a value, if the scale takes one; otherwise the value.
    fn curved(&self, column: usize, x: f64) -> f64 {
        self.log.get(column).map_or(x, |unit| logarithm(x, *unit))
    }

    fn append<T: Copy + Into<f64>>(&self, rows: &[T], out: &mut Vec<f32>) {
        let first = out.len();
        self.append_columns(rows, out);
        self.whiten_all(&mut out[first..]);
    }

    fn whiten_all(&self, rows: &mut [f32]) {
        if self.whitens() {
            whitening::apply(&self.whiten, rows, self.shift.len(), LARGEST as f32);
        }
    }

    /// Appends rows whose columns are scaled, without whitening.
    fn append_columns<T: Copy + Into<f64>>(&self, rows: &[T], out: &mut Vec<f32>) {
        if self.shift.is_empty() {
            out.extend(rows.iter().map(|&x| x.into() as f32));
            return;
        }
        if !self.log.is_empty() {
            let rows = rows.chunks_exact(self.shift.len());
            out.extend(rows.flat_map(|row| row.iter().enumerate().map(|(column, &x)| self.value(column, x.into()))));
            return;
        }
        let limit = self.limit.unwrap_or(LARGEST) as f32;
        for row in rows.chunks_exact(self.shift.len()) {
            let scaled = row.iter().zip(&self.shift).zip(&self.factor);
            out.extend(scaled.map(|((&x, m), f)| (((x.into() - m) * f) as f32).clamp(-limit, limit)));
        }
    }

    /// The frame of the weight vectors in a bank over terms, if it has another limit.
    pub fn further(&self) -> Option<Frame> {
        self.limit.filter(|limit| *limit == CLIP && !self.whitens())?;
        Some(Frame { limit: Some(FURTHER), ..self.clone() })
    }

    /// Whether a number of scaled rows is clipped.
    pub fn clips(&self, rows: &[f32]) -> bool {
        self.limit.is_some_and(|limit| rows.iter().any(|u| u.abs() >= limit as f32))
    }

    /// Scales one row. The result has the same bits as in [`Frame::apply`].
    pub fn apply_to(&self, row: &[f64], out: &mut [f32]) {
        out.iter_mut().zip(row).enumerate().for_each(|(column, (u, x))| *u = self.value(column, *x));
        self.whiten_all(out);
    }

    /// The scaled columns of a row that the kernels get: those of a whitened row are computed back.
    pub fn columns_of(&self, row: &[f32]) -> Vec<f32> {
        match self.whitens() {
            true => whitening::undo(&self.whiten, row).iter().map(|z| *z as f32).collect(),
            false => row.to_vec(),
        }
    }

    /// Scales one row, without rounding or limit.
    pub fn place(&self, row: &mut [f64]) {
        if self.log.is_empty() {
            let columns = row.iter_mut().zip(&self.shift).zip(&self.factor);
            return columns.for_each(|((u, shift), factor)| *u = (*u - shift) * factor);
        }
        row.iter_mut().enumerate().for_each(|(column, u)| *u = self.unlimited(column, *u));
    }

    /// Converts a scaled row back to the units of the data.
    pub fn undo(&self, row: &[f32]) -> impl Iterator<Item = f64> + '_ {
        self.columns_of(row).into_iter().enumerate().map(|(column, u)| self.undo_value(column, u))
    }

    /// Converts one scaled value, without whitening, back to the unit of the data.
    pub fn undo_value(&self, column: usize, u: f32) -> f64 {
        let frame = self.shift.get(column).zip(self.factor.get(column));
        let curved = frame.map_or(f64::from(u), |(shift, factor)| f64::from(u) / factor + shift);
        self.log.get(column).map_or(curved, |unit| (unit * libm::expm1(curved.abs())).copysign(curved))
    }
}

/// sign(x) ln(1 + |x| / unit).
fn logarithm(x: f64, unit: f64) -> f64 {
    libm::log1p(x.abs() / unit).copysign(x)
}

/// The units of `scale = log`, from the first rows. A column of zeros has unit 1.
pub(crate) fn log_units(rows: &[f64], features: usize) -> Vec<f64> {
    let unit = |feature: usize| {
        let mut sizes: Vec<f64> = rows.iter().skip(feature).step_by(features).map(|x| x.abs()).filter(|x| *x > 0.0).collect();
        if sizes.is_empty() {
            return 1.0;
        }
        let place = (LOG_SHARE * (sizes.len() - 1) as f64) as usize;
        let (_, unit, _) = sizes.select_nth_unstable_by(place, f64::total_cmp);
        unit.clamp(*LOG_UNITS.start(), *LOG_UNITS.end())
    };
    (0..features).map(unit).collect()
}

/// The logarithms of rows.
pub(crate) fn logarithms(rows: &[f64], units: &[f64]) -> Vec<f64> {
    rows.iter().zip(units.iter().cycle()).map(|(x, unit)| logarithm(*x, *unit)).collect()
}

/// The root of the mean square of some values, of which `square` is the mean square. Squares of values below 1e-154 lose digits or are 0; the values are then
/// divided by the largest one first.
fn root<V: Iterator<Item = f64>>(square: f64, values: impl Fn() -> V) -> f64 {
    const LEAST: f64 = 1e-290;
    if square > LEAST {
        return square.sqrt();
    }
    let largest = values().fold(0.0, |largest, v| f64::max(largest, v.abs()));
    let squares = || values().map(|v| (v / largest) * (v / largest));
    if largest > 0.0 { largest * (squares().sum::<f64>() / squares().count() as f64).sqrt() } else { 0.0 }
}

/// The factor that gives a column with this deviation the deviation 1; 1 if no number is large enough.
fn unit_factor(deviation: f64) -> f64 {
    Some(1.0 / deviation).filter(|factor| factor.is_finite()).unwrap_or(1.0)
}

/// A column with a relative spread below this is constant except for rounding errors. If all its numbers fit single precision, the
/// rounding errors of single precision are meant.
pub(crate) fn resolution<'a>(mut column: impl Iterator<Item = &'a f64>) -> f64 {
    if column.all(|&x| f64::from(x as f32) == x) { 1e-7 } else { 1e-13 }
}

/// Whether three quarters of the columns that vary have about the range of the widest column, as pixels and indicators have.
pub(crate) fn share_a_range(ranges: &[f64]) -> bool {
    ranges.last().is_none_or(|widest| ranges[ranges.len() / 4] >= 0.5 * widest)
}

/// The ranges of the columns that vary, in ascending order. Columns that appear later are 0 so far and do not vary.
pub(crate) fn ranges(rows: &[f64], features: usize) -> Vec<f64> {
    let mut ends = vec![(f64::INFINITY, f64::NEG_INFINITY); features];
    for row in rows.chunks_exact(features) {
        ends.iter_mut().zip(row).for_each(|((low, high), &x)| (*low, *high) = (low.min(x), high.max(x)));
    }
    let mut ranges: Vec<f64> = ends.iter().map(|(low, high)| high - low).filter(|range| *range > 0.0).collect();
    ranges.sort_by(f64::total_cmp);
    ranges
}

/// The median of each of the `width` numbers per target; the lower of two middle values.
pub(crate) fn middles(targets: &[f64], width: usize) -> Vec<f64> {
    let middle = |output: usize| {
        let mut of_output: Vec<f64> = targets.iter().skip(output).step_by(width).copied().collect();
        let place = of_output.len().saturating_sub(1) / 2;
        of_output.sort_unstable_by(f64::total_cmp);
        of_output[place]
    };
    (0..width).map(middle).collect()
}

/// A common factor of all columns with which squared distances around `median` fit single precision: 1, or another power of two,
/// which changes no digit of a row.
pub(crate) fn common_unit(median: f64) -> f64 {
    const USUAL: std::ops::RangeInclusive<f64> = 1e-24..=1e24;
    if USUAL.contains(&median) { 1.0 } else { libm::exp2(-(libm::log2(median) / 2.0).round()) }
}

/// The largest number of rows whose distances are computed; more would need more memory than a model.
pub(crate) const MOST_COMPARED: usize = 1024;

/// The squared distance of two rows.
pub(crate) fn distance2(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (f64::from(*a) - f64::from(*b)) * (f64::from(*a) - f64::from(*b))).sum()
}

/// The median of the squared distances between rows, over the pairs that differ; 1 if there are none. If there are more than
/// [`MOST_COMPARED`] rows, this many evenly spaced rows are used.
pub(crate) fn median_distance2(rows: &[f32], features: usize) -> f64 {
    median_of_pairs(rows, features, distance2)
}

/// The same for Manhattan distances.
pub(crate) fn median_manhattan(rows: &[f32], features: usize) -> f64 {
    let distance = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).abs();
    median_of_pairs(rows, features, |a, b| a.iter().zip(b).map(distance).sum())
}

fn median_of_pairs(rows: &[f32], features: usize, distance: impl Fn(&[f32], &[f32]) -> f64) -> f64 {
    let all = rows.len() / features;
    let count = all.min(MOST_COMPARED);
    let row = |i: usize| &rows[i * all / count * features..][..features];
    let mut distances: Vec<f64> = (0..count)
        .flat_map(|i| (0..i).map(move |j| (i, j)))
        .map(|(i, j)| distance(row(i), row(j)))
        .filter(|d| *d > 0.0)
        .collect();
    if distances.is_empty() {
        return 1.0;
    }
    let middle = distances.len() / 2;
    *distances.select_nth_unstable_by(middle, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_share_a_range_and_measurements_do_not() {
        assert_eq!(ranges(&[0.0, 1.0, 5.0, -3.0, 2.0, 5.0], 3), [1.0, 3.0]);
        // A column that hardly varies does not change the common range of the others.
        assert!(share_a_range(&[0.1, 0.9, 1.0, 1.0, 1.0]) && !share_a_range(&[0.1, 0.2, 1.0, 1.0, 1.0]));
    }

    #[test]
    fn the_middle_is_one_of_the_targets() {
        assert_eq!(middles(&[3.0, 10.0, 1.0, 30.0, 2.0, 20.0, 9.0, 40.0], 2), [2.0, 20.0]);
        assert_eq!(middles(&[5.0], 1), [5.0]);
    }

    #[test]
    fn a_constant_feature_keeps_its_unit() {
        let rows: Vec<f64> = (0..100).flat_map(|i| [0.003467, f64::from(i)]).collect();
        let frame = Frame::standard(&rows, 2);
        assert_eq!(frame.factor[0], 1.0);
        let variance = (0..100).map(|i| (i as f64 - 49.5).powi(2)).sum::<f64>() / 100.0;
        assert!((frame.factor[1] - 1.0 / variance.sqrt()).abs() < 1e-12 && (frame.shift[1] - 49.5).abs() < 1e-12);
    }

    /// The squares of the values are 0 in double precision.
    #[test]
    fn very_small_columns_have_a_unit() {
        let usual: Vec<f64> = (0..100).map(|i| f64::from(i % 7) + 3.0).collect();
        for size in [1e-120, 1e-154, 1e-160, 1e-200, 1e-300] {
            let rows: Vec<f64> = usual.iter().map(|x| x * size).collect();
            for (found, expected) in
                [(Frame::standard(&rows, 1), Frame::standard(&usual, 1)), (Frame::sparse(&rows, 1), Frame::sparse(&usual, 1))]
            {
                assert!((found.factor[0] * size / expected.factor[0] - 1.0).abs() < 1e-12, "{size}: {found:?}");
            }
        }
        assert_eq!(Frame::standard(&[1e-200; 9], 1).factor, [1.0]);
        assert_eq!(Frame::standard(&[5e-324, 0.0], 1).factor, [1.0]); // the factor would be infinite
    }

    #[test]
    fn absent_entries_stay_zero_and_do_not_count() {
        let frame = Frame::sparse(&[0.0, 3.0, 0.0, 0.0, -4.0, 0.0, 0.0, 0.0, 0.0], 3);
        assert_eq!((frame.shift, frame.factor), (vec![0.0; 3], vec![1.0, 1.0 / 12.5f64.sqrt(), 1.0]));
    }

    #[test]
    fn what_is_far_out_is_cut_off() {
        let frame = Frame { shift: vec![1.0], factor: vec![2.0], limit: Some(3.0), ..Frame::default() };
        let mut framed = Vec::new();
        frame.apply(RowBlock::new(Numbers::Single(&[1.5, 100.0, -100.0]), 1), &mut framed);
        assert_eq!(framed, [1.0, 3.0, -3.0]);
    }

    #[test]
    fn a_common_unit_is_a_power_of_two_and_new_columns_have_it() {
        assert_eq!([common_unit(1.0), common_unit(1e-24), common_unit(3e20)], [1.0; 3]);
        assert_eq!([common_unit(2f64.powi(-132)), common_unit(2f64.powi(90))], [2f64.powi(66), 2f64.powi(-45)]);
        let mut frame = Frame::default().in_unit(2f64.powi(66), 2);
        frame.widen(3);
        assert_eq!((frame.shift, frame.factor), (vec![0.0; 3], vec![2f64.powi(66); 3]));
        let mut frame = Frame { shift: vec![0.0], factor: vec![0.3], ..Frame::default() };
        frame.widen(2);
        assert_eq!(frame.factor, [0.3, 1.0]);
    }

    #[test]
    fn undo_undoes() {
        let frame = Frame { shift: vec![1.0, -2.0], factor: vec![0.5, 4.0], ..Frame::default() };
        let mut framed = Vec::new();
        frame.apply(RowBlock::new(Numbers::Double(&[3.0, -1.5]), 2), &mut framed);
        assert_eq!(framed, [1.0, 2.0]);
        assert_eq!(frame.undo(&framed).collect::<Vec<_>>(), [3.0, -1.5]);
    }

    /// e - 1 units above zero are one natural logarithm above it.
    #[test]
    fn a_logarithm_keeps_signs_zeros_and_order() {
        let above = |logs: f64| 2.0 * (logs.exp() - 1.0);
        let rows = [0.0, above(1.0), -above(1.0), above(3.0), 1e15];
        let frame = Frame { shift: vec![0.5], factor: vec![2.0], log: vec![2.0], limit: Some(60.0), ..Frame::default() };
        let mut framed = Vec::new();
        frame.apply(RowBlock::new(Numbers::Double(&rows), 1), &mut framed);
        let expected = [-1.0, 1.0, -3.0, 5.0, 60.0];
        assert!(framed.iter().zip(expected).all(|(u, e)| (u - e).abs() < 1e-6), "{framed:?}");
        let back: Vec<f64> = framed[..4].iter().map(|u| frame.undo_value(0, *u)).collect();
        assert!(back.iter().zip(rows).all(|(x, e)| (x - e).abs() <= 1e-6 * e.abs().max(1.0)), "{back:?}");
        let mut one = [0.0];
        for (x, u) in rows.iter().zip(&framed) {
            frame.apply_to(&[*x], &mut one);
            assert_eq!(one[0].to_bits(), u.to_bits());
        }
    }

    /// Of 21 entries other than 0, two are smaller than the unit; its sign does not matter.
    #[test]
    fn the_unit_of_a_logarithm_is_a_small_entry() {
        let rows: Vec<f64> = (0..=21).map(|i| if i % 2 == 0 { f64::from(i) } else { -f64::from(i) }).collect();
        assert_eq!(log_units(&rows, 1), [3.0]);
        assert_eq!(log_units(&[0.0, 1e-300, 0.0, 1e-300], 2), [1.0, 1e-100]);
    }

    #[test]
    fn a_column_far_from_zero_keeps_what_it_varies_by() {
        let times: Vec<f64> = (0..256).map(|i| 1.7e9 + f64::from(i)).collect();
        let frame = Frame::standard(&times, 1);
        // The variance of 0, 1, ..., n - 1 is (n² - 1) / 12.
        let deviation = ((256.0f64 * 256.0 - 1.0) / 12.0).sqrt();
        assert!((frame.factor[0] * deviation - 1.0).abs() < 1e-9);
        let mut framed = Vec::new();
        frame.apply(RowBlock::new(Numbers::Double(&times), 1), &mut framed);
        for (i, u) in framed.iter().enumerate() {
            assert!((f64::from(*u) - (i as f64 - 127.5) / deviation).abs() < 1e-6, "{i}: {u}");
        }
    }

    #[test]
    fn what_varies_by_rounding_errors_is_a_constant() {
        let single = [1.0f32, 1.0 + f32::EPSILON, 1.0].map(f64::from);
        let double = [0.1, 0.1 + 1e-16, 0.1];
        assert_eq!((Frame::standard(&single, 1).factor, Frame::standard(&double, 1).factor), (vec![1.0], vec![1.0]));
        // The same spread in a column that single precision does not hold is a spread.
        assert!(Frame::standard(&[1.0, 1.0 + 1.2e-7, 1.0], 1).factor[0] > 1e6);
    }

    #[test]
    fn median_of_distances_between_rows_that_differ() {
        assert_eq!(median_distance2(&[0.0, 0.0, 3.0], 1), 9.0);
        assert_eq!(median_distance2(&[2.0, 2.0], 1), 1.0);
    }
}
