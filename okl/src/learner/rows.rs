//! Rows, from the caller's arrays to the input of the kernel.
//!
//! | type | what it holds |
//! |---|---|
//! | [`RowBlock`] | a view of consecutive rows of the caller |
//! | [`KeptRows`] | stored rows of the caller, unscaled: those of a warm-up |
//! | [`FramedRows`] | rows in the frame, in single precision, with their squared norms: the input of the kernel |
//!
//! The learner, the checks, the warm-up and the frame use rows through these three types and count them in rows, never in
//! numbers. Another kind of rows (sparse) is one more variant of [`Numbers`] and its arms in this file and in
//! [`Frame::apply`]; the loop does not see which kind it is.

use std::ops::Range;

use crate::basis::Points;
use crate::error::{ErrorKind, Result};
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
}

impl Numbers<'_> {
    pub fn len(self) -> usize {
        match self {
            Numbers::Single(x) => x.len(),
            Numbers::Double(x) => x.len(),
        }
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
        self.numbers.len().checked_div(self.features).unwrap_or(0)
    }

    /// Some of the rows.
    pub fn range(self, rows: Range<usize>) -> Self {
        let range = rows.start * self.features..rows.end * self.features;
        let numbers = match self.numbers {
            Numbers::Single(x) => Numbers::Single(&x[range]),
            Numbers::Double(x) => Numbers::Double(&x[range]),
        };
        RowBlock { numbers, ..self }
    }

    pub fn row(self, i: usize) -> Self {
        self.range(i..i + 1)
    }

    /// Appends the rows in double precision.
    pub fn append_to(self, to: &mut Vec<f64>) {
        match self.numbers {
            Numbers::Single(x) => to.extend(x.iter().map(|&v| f64::from(v))),
            Numbers::Double(x) => to.extend_from_slice(x),
        }
    }

    /// Refuses numbers that are not finite or too large; `first` is the number of the first row in its call.
    pub fn check(self, first: usize) -> Result<()> {
        match self.numbers {
            Numbers::Single(x) => check_finite(x, first, self.features),
            Numbers::Double(x) => check_finite(x, first, self.features),
        }
    }
}

fn check_finite<T: Copy + Into<f64>>(x: &[T], first: usize, features: usize) -> Result<()> {
    // The inner loop has no early exit, so that it vectorises. NaN compares as false.
    let good = |part: &[T]| part.iter().fold(true, |good, &v| good & (v.into().abs() <= LARGEST));
    let Some(part) = x.chunks(256).position(|part| !good(part)) else { return Ok(()) };
    let at = 256 * part + x[256 * part..].iter().position(|v| !good(&[*v])).unwrap_or(0);
    let found = x[at].into();
    let hint = if found.is_finite() { " below 1e15; rescale this feature" } else { "" };
    let (row, column) = (first + at / features, (at % features).to_string());
    Err(ErrorKind::NotFinite { row, column, found, hint }.into())
}

/// Stored rows, in double precision.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct KeptRows {
    /// The numbers, row by row.
    pub numbers: Vec<f64>,
}

impl KeptRows {
    /// Adds a block of rows.
    pub fn push(&mut self, rows: RowBlock<'_>) {
        rows.append_to(&mut self.numbers);
    }

    /// All rows; each has `features` features.
    pub fn all(&self, features: usize) -> RowBlock<'_> {
        RowBlock::new(Numbers::Double(&self.numbers), features)
    }

    /// The numbers of the first rows.
    pub fn first(&self, rows: usize, features: usize) -> &[f64] {
        &self.numbers[..rows * features]
    }

    /// Increases the number of features; the rows are 0 in the new ones.
    pub fn widen(&mut self, from: usize, to: usize) {
        if from > 0 {
            let wide = |row: &[f64]| row.iter().copied().chain(std::iter::repeat_n(0.0, to - from)).collect::<Vec<_>>();
            self.numbers = self.numbers.chunks_exact(from).flat_map(wide).collect();
        }
    }
}

/// Scaled rows with their squared norms.
#[derive(Clone, Debug, Default)]
pub(crate) struct FramedRows {
    /// One scaled row before rounding; see [`super::rounding`].
    pub unrounded: Vec<f64>,
    x: Vec<f32>,
    squares: Vec<f32>,
}

impl FramedRows {
    /// Scales rows; they replace the earlier contents.
    pub fn fill(&mut self, frame: &Frame, rows: RowBlock<'_>, backend: Backend) -> Points<'_> {
        frame.apply(rows, &mut self.x);
        self.squares.resize(rows.count(), 0.0);
        let rows = gram::Matrix::new(rows.features(), &self.x);
        backend.squares(rows, &mut self.squares);
        Points { rows, squares: &self.squares }
    }

    /// The rows that were put into the frame last, of so many features.
    pub fn points(&self, features: usize) -> Points<'_> {
        Points { rows: gram::Matrix::new(features, &self.x), squares: &self.squares }
    }

    /// The squared norms of the scaled rows.
    pub fn squares(&self) -> &[f32] {
        &self.squares
    }

    /// The scaled numbers, row by row.
    pub fn numbers(&self) -> &[f32] {
        &self.x
    }
}
