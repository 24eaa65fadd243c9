//! The kernel values of a block: rows against terms, rows against the rows before them, and what has changed since.
//!
//! The block invariant: when step j runs, its row is example j against the *current* terms. The matrix product runs once,
//! against the terms at the block's start; when example i is appended at slot p, rows still to come read column i of the
//! block's own values at p. A row is patched when it is read.

use crate::gram::aligned::Aligned;
use crate::gram::{LANES, Packed, Panels};

/// Where the new values of a changed slot come from.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// Row i of the block was written there.
    Row(usize),
    /// A centre that was in neither set: its column was computed on its own.
    Column(usize),
}

/// The most rows of a block. More rows reuse each panel of terms more often; fewer keep the block's own values small.
pub(crate) const ROWS: usize = LANES;

/// The kernel values of a block of up to 32 rows; grown once, then reused.
#[derive(Clone, Debug, Default)]
pub struct Block {
    rows: usize,
    planes: usize,
    stride: usize,
    terms: Aligned<f32>,
    own: Aligned<f32>,
    patches: Vec<(usize, Source)>,
    columns: Vec<Vec<f32>>,
    used_columns: usize,
    /// The rows as one panel, so that they can stand where terms stand, and their squared norms.
    packed: Option<(Panels, [f32; LANES])>,
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

impl Block {
    /// A block of `rows` rows against `slots` slots, of which the first `filled` will be written.
    pub(crate) fn begin(&mut self, rows: usize, planes: usize, filled: usize, slots: usize) {
        debug_assert!(rows <= ROWS);
        let stride = slots.next_multiple_of(LANES);
        (self.rows, self.planes, self.stride) = (rows, planes, stride);
        self.terms.at_least(planes * rows * stride);
        if rows > 1 {
            self.own.at_least(planes * rows * LANES);
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

    /// The panel of the rows, to be filled with their features, and where their squared norms go.
    pub(crate) fn pack(&mut self, features: usize) -> (&mut Panels, &mut [f32; LANES]) {
        if self.packed.as_ref().is_none_or(|(panel, _)| panel.dim() != features) {
            let mut panel = Panels::new(features);
            panel.reserve(LANES);
            self.packed = Some((panel, [0.0; LANES]));
        }
        let (panel, squares) = self.packed.as_mut().expect("it was packed just now");
        (panel, squares)
    }

    /// The packed rows with their squared norms, and where the values of all rows against them go.
    pub(crate) fn own_mut(&mut self) -> Option<(Packed<'_>, Values<'_>)> {
        let (plane, stride) = (self.rows * LANES, LANES);
        let (panels, squares) = self.packed.as_ref()?;
        Some((Packed { panels, squares }, Values { data: &mut self.own, plane, stride }))
    }

    /// Sets the value of a row against one before it.
    pub fn set_own(&mut self, plane: usize, row: usize, before: usize, value: f32) {
        self.own[(plane * self.rows + row) * LANES + before] = value;
    }

    /// From now on slot `slot` is row `row` of this block.
    pub(crate) fn appended(&mut self, slot: usize, row: usize) {
        self.patches.push((slot, Source::Row(row)));
    }

    /// From now on slot `slot` is another centre, whose values against the packed rows are to be written into the column. There are
    /// no packed rows, and nothing to write, in a block of one row.
    pub(crate) fn replaced(&mut self, slot: usize) -> (Option<Packed<'_>>, &mut Vec<f32>) {
        let column = self.used_columns;
        self.used_columns += 1;
        if self.columns.len() < self.used_columns {
            self.columns.push(Vec::new());
        }
        self.patches.push((slot, Source::Column(column)));
        let packed = self.packed.as_ref().filter(|_| self.rows > 1);
        (packed.map(|(panels, squares)| Packed { panels, squares }), &mut self.columns[column])
    }

    /// Brings row `r` up to date with what has happened in the block.
    pub(crate) fn patch(&mut self, r: usize) {
        for plane in 0..self.planes {
            let row = (plane * self.rows + r) * self.stride;
            let own = (plane * self.rows + r) * LANES;
            for &(slot, source) in &self.patches {
                self.terms[row + slot] = match source {
                    Source::Row(i) => self.own[own + i],
                    Source::Column(c) => self.columns[c][plane * LANES + r],
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
