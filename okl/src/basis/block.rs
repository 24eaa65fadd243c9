//! The kernel values of a block: rows against terms, rows against the rows before them, and what has changed since.
//!
//! The block invariant: when step j runs, its row is example j against the *current* terms. The matrix product runs once,
//! against the terms at the block's start; when example i is appended at slot p, rows still to come read column i of the
//! block's own values at p. A row is patched when it is read.

use crate::gram::aligned::Aligned;
use crate::gram::{LANES, Panels};

/// Where the new values of a changed slot come from.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// Row i of the block was written there.
    Row(usize),
    /// A centre that was in neither set: its column was computed on its own.
    Column(usize),
}

/// The workspace of a block; grown once, then reused.
#[derive(Clone, Debug, Default)]
pub struct Tile {
    rows: usize,
    planes: usize,
    stride: usize,
    terms: Aligned<f32>,
    own_stride: usize,
    own: Aligned<f32>,
    patches: Vec<(usize, Source)>,
    columns: Vec<Vec<f32>>,
    used_columns: usize,
    /// The block's rows, 32 at a time, so that they can stand where terms stand.
    packed: Vec<(Panels, [f32; LANES])>,
}

/// Where kernel values are written: planes lie `plane` apart, rows `stride` apart.
pub struct Values<'a> {
    /// The numbers.
    pub data: &'a mut [f32],
    /// From one plane to the next.
    pub plane: usize,
    /// From one row to the next.
    pub stride: usize,
}

impl Tile {
    /// A block of `rows` rows against `slots` slots, of which the first `filled` will be written.
    pub(crate) fn begin(&mut self, rows: usize, planes: usize, filled: usize, slots: usize) {
        let (stride, own_stride) = (slots.next_multiple_of(LANES), rows.next_multiple_of(LANES));
        (self.rows, self.planes, self.stride, self.own_stride) = (rows, planes, stride, own_stride);
        self.terms.at_least(planes * rows * stride);
        if rows > 1 {
            self.own.at_least(planes * rows * own_stride);
        }
        for row in self.terms[..planes * rows * stride].chunks_exact_mut(stride.max(1)) {
            row[filled..].fill(0.0);
        }
        self.patches.clear();
        self.used_columns = 0;
    }

    pub(crate) fn bytes(&self) -> usize {
        self.terms.bytes() + self.own.bytes()
    }

    /// Rows by slots.
    pub fn terms_mut(&mut self) -> Values<'_> {
        let plane = self.rows * self.stride;
        Values { data: &mut self.terms[..self.planes * plane], plane, stride: self.stride }
    }

    /// The panel of the rows' `group`-th thirty-two, to be filled.
    pub(crate) fn pack(&mut self, group: usize, features: usize) -> (&mut Panels, &mut [f32; LANES]) {
        if self.packed.len() <= group || self.packed[group].0.dim() != features {
            self.packed.truncate(group);
            let mut panel = Panels::new(features);
            panel.reserve(LANES);
            self.packed.push((panel, [0.0; LANES]));
        }
        let (panel, squares) = &mut self.packed[group];
        (panel, squares)
    }

    /// The packed rows of group `before`, and where the values of rows `first..` against them go.
    pub(crate) fn own_mut(&mut self, first: usize, before: usize) -> (&Panels, &[f32], Values<'_>) {
        let (plane, stride) = (self.rows * self.own_stride, self.own_stride);
        let (panel, squares) = &self.packed[before];
        (panel, squares, Values { data: &mut self.own[first * stride + before * LANES..], plane, stride })
    }

    /// Sets the value of a row against one before it.
    pub fn set_own(&mut self, plane: usize, row: usize, before: usize, value: f32) {
        self.own[(plane * self.rows + row) * self.own_stride + before] = value;
    }

    /// From now on slot `slot` is row `row` of this block.
    pub(crate) fn appended(&mut self, slot: usize, row: usize) {
        self.patches.push((slot, Source::Row(row)));
    }

    /// From now on slot `slot` is another centre, whose values against the packed rows are to be written into the column.
    pub(crate) fn replaced(&mut self, slot: usize) -> (&[(Panels, [f32; LANES])], &mut Vec<f32>) {
        let column = self.used_columns;
        self.used_columns += 1;
        if self.columns.len() < self.used_columns {
            self.columns.push(Vec::new());
        }
        self.patches.push((slot, Source::Column(column)));
        let groups = if self.rows > 1 { self.rows.div_ceil(LANES) } else { 0 };
        (&self.packed[..groups], &mut self.columns[column])
    }

    /// Brings row `r` up to date with what has happened in the block.
    pub(crate) fn patch(&mut self, r: usize) {
        for plane in 0..self.planes {
            let row = (plane * self.rows + r) * self.stride;
            let own = (plane * self.rows + r) * self.own_stride;
            for &(slot, source) in &self.patches {
                self.terms[row + slot] = match source {
                    Source::Row(i) => self.own[own + i],
                    Source::Column(c) => self.columns[c][plane * self.own_stride + r],
                };
            }
        }
    }

    /// The values of row `r` against the first `slots` slots.
    pub(crate) fn row(&self, plane: usize, r: usize, slots: usize) -> &[f32] {
        let start = (plane * self.rows + r) * self.stride;
        &self.terms[start..start + slots]
    }
}
