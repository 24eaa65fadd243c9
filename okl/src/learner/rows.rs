//! Rows, from the caller's arrays to the input of the kernel.
//!
//! | type | what it holds |
//! |---|---|
//! | [`RowBlock`] | a view of consecutive rows of the caller |
//! | [`KeptRows`] | stored rows of the caller, unscaled: those of a warm-up, and those since the last look at the units |
//! | [`FramedRows`] | rows in the frame, in single precision, with their squared norms: the input of the kernel |
//!
//! The learner, the checks, the warm-up and the frame use rows through these three types and count them in rows, never in
//! numbers. Rows come in dense, sparse or as kernel values, and are framed into the layout of the storage ([`crate::basis::vectors`]).

use std::ops::Range;

use rayon::prelude::*;

use crate::basis::Points;
use crate::basis::given::GivenRows;
use crate::basis::sparse::SparsePoints;
use crate::basis::vectors::VectorRows;
use crate::error::{Error, ErrorKind, Result};
use crate::gram::{self, Backend};
use crate::learner::batch::LARGEST;
use crate::learner::scaling::Frame;

/// Consecutive rows of the caller. The frame converts every type to double precision first, so equal numbers give the same bits
/// for every type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowBlock<'a> {
    features: usize,
    numbers: Numbers<'a>,
}

/// The numbers of rows, row by row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Numbers<'a> {
    Single(&'a [f32]),
    Double(&'a [f64]),
    Sparse(SparseNumbers<'a>),
    /// Kernel values; the one feature of such a row is the number of its item.
    Given(GivenRows<'a>),
}

/// The numbers of sparse rows: those of row i are at `starts[i]..starts[i + 1]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SparseNumbers<'a> {
    pub starts: &'a [usize],
    pub columns: &'a [u32],
    pub values: SparseValues<'a>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum SparseValues<'a> {
    Single(&'a [f32]),
    Double(&'a [f64]),
}

impl<'a> SparseNumbers<'a> {
    fn count(self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    fn len(self) -> usize {
        match self.values {
            SparseValues::Single(values) => values.len(),
            SparseValues::Double(values) => values.len(),
        }
    }

    /// The columns of a row and their values, zeros included.
    fn row(self, i: usize) -> impl Iterator<Item = (u32, f64)> + 'a {
        let places = self.starts[i]..self.starts[i + 1];
        places.map(move |place| {
            let value = match self.values {
                SparseValues::Single(values) => f64::from(values[place]),
                SparseValues::Double(values) => values[place],
            };
            (self.columns[place], value)
        })
    }

    /// Refuses starts that do not fit the arrays.
    fn check_shape(self) -> Result<()> {
        if self.columns.len() != self.len() {
            return Err(Error::shape("columns", format!("{}, one per value", self.len()), self.columns.len()));
        }
        let Some(&last) = self.starts.last() else { return Err(Error::shape("starts", "one per row, and the end", 0)) };
        if last > self.len() {
            return Err(Error::shape("starts", format!("at most {}, the number of values", self.len()), last));
        }
        match self.starts.windows(2).position(|pair| pair[0] > pair[1]) {
            Some(row) => Err(Error::shape(
                "starts",
                format!("at least {}, where row {row} begins", self.starts[row]),
                self.starts[row + 1],
            )),
            None => Ok(()),
        }
    }

    /// Refuses columns that do not ascend and values that are not finite or too large.
    fn check(self, first: usize, features: usize) -> Result<()> {
        for i in 0..self.count() {
            let (row, mut least) = (first + i, 0);
            for (column, found) in self.row(i) {
                let (column, refuse) =
                    (column as usize, |found, expected: String| Err(ErrorKind::Column { row, found, expected }.into()));
                if column < least {
                    return refuse(column, format!("at least {least}: the columns of a row ascend, and none is given twice"));
                }
                if column >= features {
                    return refuse(column, format!("below {features}, the number of features"));
                }
                if found.is_nan() || found.abs() > LARGEST {
                    return Err(not_finite(row, column, found));
                }
                least = column + 1;
            }
        }
        Ok(())
    }
}

impl<'a> RowBlock<'a> {
    pub fn new(numbers: Numbers<'a>, features: usize) -> Self {
        RowBlock { features, numbers }
    }

    pub fn numbers(self) -> Numbers<'a> {
        self.numbers
    }

    pub fn features(self) -> usize {
        self.features
    }

    /// The number of rows; 0 if there are no features.
    pub fn count(self) -> usize {
        let of_numbers = |length: usize| length.checked_div(self.features).unwrap_or(0);
        match self.numbers {
            Numbers::Single(x) => of_numbers(x.len()),
            Numbers::Double(x) => of_numbers(x.len()),
            Numbers::Sparse(x) => x.count(),
            Numbers::Given(x) => x.count(),
        }
    }

    /// Refuses arrays whose lengths do not fit together.
    pub fn check_shape(self) -> Result<()> {
        let length = match self.numbers {
            Numbers::Single(x) => x.len(),
            Numbers::Double(x) => x.len(),
            Numbers::Sparse(x) => return x.check_shape(),
            Numbers::Given(_) => return Ok(()),
        };
        match length.is_multiple_of(self.features) {
            true => Ok(()),
            false => Err(Error::shape("x", format!("a multiple of {} features", self.features), length)),
        }
    }

    /// Some of the rows.
    pub fn range(self, rows: Range<usize>) -> Self {
        let range = rows.start * self.features..rows.end * self.features;
        let numbers = match self.numbers {
            Numbers::Single(x) => Numbers::Single(&x[range]),
            Numbers::Double(x) => Numbers::Double(&x[range]),
            Numbers::Sparse(x) => Numbers::Sparse(SparseNumbers { starts: &x.starts[rows.start..=rows.end], ..x }),
            Numbers::Given(x) => Numbers::Given(x.range(rows)),
        };
        RowBlock { numbers, ..self }
    }

    pub fn row(self, i: usize) -> Self {
        self.range(i..i + 1)
    }

    /// Calls a function with the number of the row, the column and the value of every number that is not 0, in order.
    pub fn each_value(self, mut each: impl FnMut(usize, u32, f64)) {
        match self.numbers {
            Numbers::Single(x) => each_dense(x, self.features, each),
            Numbers::Double(x) => each_dense(x, self.features, each),
            Numbers::Sparse(x) => {
                let of_row = |i| x.row(i).filter(|(_, value)| *value != 0.0).map(move |(column, value)| (i, column, value));
                (0..x.count()).flat_map(of_row).for_each(|(i, column, value)| each(i, column, value));
            }
            Numbers::Given(x) => x.items().iter().enumerate().for_each(|(i, item)| each(i, 0, *item as f64)),
        }
    }

    /// The value of a column in the first row.
    pub fn value(self, column: usize) -> f64 {
        match self.numbers {
            Numbers::Single(x) => f64::from(x[column]),
            Numbers::Double(x) => x[column],
            Numbers::Sparse(x) => x.row(0).find(|(at, _)| *at as usize == column).map_or(0.0, |(_, value)| value),
            Numbers::Given(_) => 0.0,
        }
    }

    /// Appends the rows in double precision, zeros included.
    pub fn append_to(self, to: &mut Vec<f64>) {
        match self.numbers {
            Numbers::Sparse(x) => {
                let first = to.len();
                to.resize(first + x.count() * self.features, 0.0);
                self.each_value(|i, column, value| to[first + i * self.features + column as usize] = value);
            }
            Numbers::Single(x) => to.extend(x.iter().map(|&v| f64::from(v))),
            Numbers::Double(x) => to.extend_from_slice(x),
            Numbers::Given(x) => to.extend(x.items().iter().map(|item| *item as f64)),
        }
    }

    /// Refuses numbers that are not finite or too large; `first` is the number of the first row in its call.
    pub fn check(self, first: usize) -> Result<()> {
        match self.numbers {
            Numbers::Single(x) => check_finite(x, |v| v.abs() <= LARGEST as f32, first, self.features),
            Numbers::Double(x) => check_finite(x, |v| v.abs() <= LARGEST, first, self.features),
            Numbers::Sparse(x) => x.check(first, self.features),
            Numbers::Given(x) => x.check(first),
        }
    }

    /// As [`RowBlock::check`] of all rows of a call, by the threads of rayon's current pool. The error is that of the first bad row.
    pub fn check_by_threads(self) -> Result<()> {
        let pieces = (0..self.count()).into_par_iter().step_by(CHECKED);
        let checked = pieces.map(|first| self.range(first..self.count().min(first + CHECKED)).check(first));
        checked.find_first(Result::is_err).unwrap_or(Ok(()))
    }
}

/// The number of rows that a thread checks at a time.
const CHECKED: usize = 4096;

/// The single-precision number next to 1e15 is below it, and the one after is above: so single precision is compared in single precision.
fn check_finite<T: Copy + Into<f64>>(x: &[T], good: impl Fn(T) -> bool, first: usize, features: usize) -> Result<()> {
    // The inner loop has no early exit, so that it vectorises. NaN compares as false.
    let all_good = |part: &[T]| part.iter().fold(true, |all, &v| all & good(v));
    let Some(part) = x.chunks(256).position(|part| !all_good(part)) else { return Ok(()) };
    let at = 256 * part + x[256 * part..].iter().position(|v| !good(*v)).unwrap_or(0);
    Err(not_finite(first + at / features, at % features, x[at].into()))
}

fn not_finite(row: usize, column: usize, found: f64) -> Error {
    let hint = if found.is_finite() { " below 1e15; rescale this feature" } else { "" };
    ErrorKind::NotFinite { row, column: column.to_string(), found, hint }.into()
}

fn each_dense<T: Copy + Into<f64>>(x: &[T], features: usize, mut each: impl FnMut(usize, u32, f64)) {
    for (i, row) in x.chunks_exact(features.max(1)).enumerate() {
        let values = row.iter().enumerate().map(|(column, value)| (column as u32, (*value).into()));
        values.filter(|(_, value)| *value != 0.0).for_each(|(column, value)| each(i, column, value));
    }
}

/// Stored rows, in double precision; sparse ones where the learner stores its terms sparsely.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct KeptRows {
    /// The numbers, row by row.
    pub numbers: Vec<f64>,
    /// Of sparse rows: where each row begins and the last one ends, and the columns of the numbers.
    pub sparse: Option<(Vec<usize>, Vec<u32>)>,
}

/// The columns of stored rows that are not 0 in all of them, as a dense matrix.
pub(crate) struct Sample {
    /// The numbers, row by row, `width` each.
    pub numbers: Vec<f64>,
    pub width: usize,
    /// The columns; none if they are all columns.
    columns: Option<Vec<u32>>,
}

impl Sample {
    /// The frame of these columns from that of all columns.
    pub fn frame_of(&self, frame: &Frame) -> Frame {
        match &self.columns {
            Some(columns) if !frame.shift.is_empty() => {
                let some = |of: &[f64]| columns.iter().map(|&column| of[column as usize]).collect();
                let log = if frame.log.is_empty() { Vec::new() } else { some(&frame.log) };
                Frame { shift: some(&frame.shift), factor: some(&frame.factor), log, limit: frame.limit, ..Frame::default() }
            }
            _ => frame.clone(),
        }
    }

    /// The frame of all columns from that of these columns. A column without values has factor and unit 1.
    pub fn whole(&self, frame: Frame, features: usize) -> Frame {
        let Some(columns) = &self.columns else { return frame };
        let all = |of: &[f64]| {
            let mut all = vec![1.0; features];
            columns.iter().zip(of).for_each(|(&column, of)| all[column as usize] = *of);
            all
        };
        let log = if frame.log.is_empty() { Vec::new() } else { all(&frame.log) };
        Frame { shift: vec![0.0; features], factor: all(&frame.factor), log, limit: frame.limit, ..Frame::default() }
    }

    /// The rows of the sample.
    pub fn rows(&self) -> RowBlock<'_> {
        RowBlock::new(Numbers::Double(&self.numbers), self.width)
    }
}

impl KeptRows {
    /// Adds a block of rows.
    pub fn push(&mut self, rows: RowBlock<'_>) {
        let Some((starts, columns)) = &mut self.sparse else { return rows.append_to(&mut self.numbers) };
        for i in 0..rows.count() {
            rows.row(i).each_value(|_, column, value| {
                columns.push(column);
                self.numbers.push(value);
            });
            starts.push(columns.len());
        }
    }

    /// All rows; each has `features` features.
    pub fn all(&self, features: usize) -> RowBlock<'_> {
        let numbers = match &self.sparse {
            None => Numbers::Double(&self.numbers),
            Some((starts, columns)) => {
                Numbers::Sparse(SparseNumbers { starts, columns, values: SparseValues::Double(&self.numbers) })
            }
        };
        RowBlock::new(numbers, features)
    }

    /// The first rows.
    pub fn sample(&self, rows: usize, features: usize) -> Sample {
        let first = self.all(features).range(0..rows);
        let mut numbers = Vec::new();
        if self.sparse.is_none() {
            first.append_to(&mut numbers);
            return Sample { numbers, width: features, columns: None };
        }
        let mut columns = Vec::new();
        first.each_value(|_, column, _| columns.push(column));
        columns.sort_unstable();
        columns.dedup();
        let width = columns.len().max(1);
        numbers.resize(rows * width, 0.0);
        first.each_value(|i, column, value| {
            let place = columns.binary_search(&column).unwrap_or(0);
            numbers[i * width + place] = value;
        });
        Sample { numbers, width, columns: Some(columns) }
    }

    /// Stores the rows sparsely from now on.
    pub fn make_sparse(&mut self, features: usize) {
        let mut sparse = KeptRows { numbers: Vec::new(), sparse: Some((vec![0], Vec::new())) };
        sparse.push(self.all(features));
        *self = sparse;
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.numbers.clear();
    }

    /// Increases the number of features; the rows are 0 in the new ones.
    pub fn widen(&mut self, from: usize, to: usize) {
        if from > 0 && self.sparse.is_none() {
            let wide = |row: &[f64]| row.iter().copied().chain(std::iter::repeat_n(0.0, to - from)).collect::<Vec<_>>();
            self.numbers = self.numbers.chunks_exact(from).flat_map(wide).collect();
        }
    }
}

/// Scaled rows with their squared norms, in the layout of the storage.
#[derive(Clone, Debug, Default)]
pub(crate) struct FramedRows {
    /// One scaled row before rounding; see [`super::rounding`].
    pub unrounded: Vec<f64>,
    x: Vec<f32>,
    squares: Vec<f32>,
    /// The rows with the further limit of weight vectors, if a number is clipped; otherwise empty.
    far: Vec<f32>,
    /// The rows before scaling, if they are wanted; otherwise empty.
    unscaled: Vec<f64>,
    features: usize,
    /// Of sparse rows: where each row begins and the last one ends, and the columns of the numbers in `x`.
    sparse: bool,
    starts: Vec<usize>,
    columns: Vec<u32>,
}

impl FramedRows {
    /// Scales rows; they replace the earlier contents. With `sparse`, the frame must keep zeros. Kernel values stay as they are.
    pub fn fill<'a>(&'a mut self, frame: &Frame, rows: RowBlock<'a>, backend: Backend, sparse: bool) -> VectorRows<'a> {
        self.unscaled.clear();
        if let Numbers::Given(rows) = rows.numbers() {
            self.squares.clear();
            self.squares.extend_from_slice(rows.squares());
            return VectorRows::Given(rows);
        }
        self.scale(frame, rows, backend, sparse);
        self.points()
    }

    /// The same for dense rows; the points also have their unscaled rows.
    pub fn fill_keeping(&mut self, frame: &Frame, rows: RowBlock<'_>, backend: Backend) -> VectorRows<'_> {
        self.unscaled.clear();
        rows.append_to(&mut self.unscaled);
        self.scale(frame, rows, backend, false);
        self.points()
    }

    fn scale(&mut self, frame: &Frame, rows: RowBlock<'_>, backend: Backend, sparse: bool) {
        (self.sparse, self.features) = (sparse, rows.features());
        self.squares.resize(rows.count(), 0.0);
        match sparse {
            true => self.fill_sparse(frame, rows, backend),
            false => {
                frame.apply(rows, &mut self.x);
                self.far.clear();
                if let Some(far) = frame.further().filter(|_| frame.clips(&self.x)) {
                    far.apply(rows, &mut self.far);
                }
                backend.squares(gram::Matrix::new(self.features, &self.x), &mut self.squares);
            }
        }
    }

    fn fill_sparse(&mut self, frame: &Frame, rows: RowBlock<'_>, backend: Backend) {
        let FramedRows { x, squares, starts, columns, .. } = self;
        x.clear();
        starts.clear();
        columns.clear();
        starts.push(0);
        for i in 0..rows.count() {
            rows.row(i).each_value(|_, column, value| {
                let scaled = frame.value(column as usize, value);
                if scaled != 0.0 {
                    columns.push(column);
                    x.push(scaled);
                }
            });
            backend.squares(gram::Matrix::one(&x[starts[i]..]), &mut squares[i..i + 1]);
            starts.push(columns.len());
        }
    }

    /// The rows that were put into the frame last.
    pub fn points(&self) -> VectorRows<'_> {
        match self.sparse {
            true => VectorRows::Sparse(SparsePoints {
                starts: &self.starts,
                columns: &self.columns,
                values: &self.x,
                squares: &self.squares,
            }),
            false => {
                let rows = gram::Matrix::new(self.features, &self.x).computed_from(&self.unscaled).clipped_further(&self.far);
                VectorRows::Dense(Points { rows, squares: &self.squares })
            }
        }
    }

    /// The squared norms of the scaled rows.
    pub fn squares(&self) -> &[f32] {
        &self.squares
    }

    /// The scaled numbers of dense rows, row by row.
    pub fn numbers(&self) -> &[f32] {
        &self.x
    }
}
