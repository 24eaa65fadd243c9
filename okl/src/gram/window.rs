//! Rectangles of row-major matrices, so that several threads can write to disjoint parts of one output.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::ops::Range;

/// A rectangle of one row-major matrix, borrowed mutably. Two live windows never overlap.
pub(super) struct Window<'a> {
    first: *mut f32,
    stride: usize,
    rows: usize,
    columns: usize,
    borrow: PhantomData<&'a mut [f32]>,
}

impl<'a> Window<'a> {
    /// The left `columns` columns of a matrix whose rows start `stride` apart.
    pub(super) fn new(data: &'a mut [f32], stride: usize, rows: usize, columns: usize) -> Self {
        check_shape(data.len(), stride, rows, columns);
        Self { first: data.as_mut_ptr(), stride, rows, columns, borrow: PhantomData }
    }

    /// Row `i`.
    #[inline(always)]
    pub(super) fn row(&mut self, i: usize) -> &mut [f32] {
        assert!(i < self.rows);
        // SAFETY: `first` starts a rectangle of `rows` x `columns` that this window borrows mutably for 'a (checked
        // by `check_shape` when its matrix was wrapped, and kept by every split), and `i` lies inside.
        unsafe { std::slice::from_raw_parts_mut(self.first.add(i * self.stride), self.columns) }
    }

    /// Returns the first row, for the lifetime of the window's borrow.
    pub(super) fn into_row(self) -> &'a mut [f32] {
        assert!(self.rows > 0);
        // SAFETY: as in `row`; the window is consumed, so the row takes over its mutable borrow.
        unsafe { std::slice::from_raw_parts_mut(self.first, self.columns) }
    }
}

fn check_shape(len: usize, stride: usize, rows: usize, columns: usize) {
    assert!(columns <= stride || rows <= 1, "rows of {columns} values overlap at stride {stride}");
    let needed = rows.checked_sub(1).map_or(0, |above| above.saturating_mul(stride).saturating_add(columns));
    assert!(len >= needed, "the output has {len} places, {rows} rows at stride {stride} need {needed}");
}

/// The same rectangle in several matrices of one shape.
pub(super) struct Planes<'a> {
    /// The pointers to the matrices, which are only read. They are shared between parts, so that splitting allocates nothing.
    matrices: *const &'a mut [f32],
    count: usize,
    stride: usize,
    rows: Range<usize>,
    columns: Range<usize>,
    borrow: PhantomData<&'a mut [f32]>,
}

// SAFETY: the type stands for mutable borrows of plain numbers; `split_rows` and `split_columns` keep rectangles disjoint.
unsafe impl Send for Planes<'_> {}

impl<'a> Planes<'a> {
    /// The left `columns` columns of every matrix.
    pub(super) fn new<'b: 'a>(matrices: &'a mut [&'b mut [f32]], stride: usize, rows: usize, columns: usize) -> Self {
        for matrix in matrices.iter() {
            check_shape(matrix.len(), stride, rows, columns);
        }
        let (count, matrices) = (matrices.len(), matrices.as_ptr().cast());
        Self { matrices, count, stride, rows: 0..rows, columns: 0..columns, borrow: PhantomData }
    }

    pub(super) fn split_rows(self, at: usize) -> (Self, Self) {
        let middle = self.rows.start + at;
        assert!(middle <= self.rows.end);
        let below = Self { rows: middle..self.rows.end, columns: self.columns.clone(), ..self };
        (Self { rows: self.rows.start..middle, ..self }, below)
    }

    pub(super) fn split_columns(self, at: usize) -> (Self, Self) {
        let middle = self.columns.start + at;
        assert!(middle <= self.columns.end);
        let right = Self { columns: middle..self.columns.end, rows: self.rows.clone(), ..self };
        (Self { columns: self.columns.start..middle, ..self }, right)
    }

    /// Copies a part of row `i` from one matrix to another.
    pub(super) fn copy_row(&mut self, from: usize, to: usize, i: usize, columns: Range<usize>) {
        assert_ne!(from, to);
        let count = columns.len();
        let source = self.window(from, i..i + 1, columns.clone()).first;
        let target = self.window(to, i..i + 1, columns).first;
        // SAFETY: `window` checked both parts; they lie in different matrices, both borrowed mutably by `self`.
        unsafe { std::ptr::copy_nonoverlapping(source, target, count) }
    }

    /// A rectangle within this one, in one of the matrices.
    pub(super) fn window(&mut self, plane: usize, rows: Range<usize>, columns: Range<usize>) -> Window<'_> {
        assert!(plane < self.count && rows.end <= self.rows.len() && columns.end <= self.columns.len());
        assert!(rows.start <= rows.end && columns.start <= columns.end);
        let offset = (self.rows.start + rows.start) * self.stride + self.columns.start + columns.start;
        // SAFETY: `plane` names one of the matrices borrowed for 'a; only its pointer is copied out, no reference to
        // its elements is made. The rectangle lies in this one, which lies in the matrix by `check_shape`; an empty
        // one is never dereferenced, hence the wrapping offset.
        let first = unsafe { (&raw mut **self.matrices.add(plane).cast_mut()).cast::<f32>().wrapping_add(offset) };
        Window { first, stride: self.stride, rows: rows.len(), columns: columns.len(), borrow: PhantomData }
    }
}
