//! The types for rows ([`Matrix`], [`Points`]) and for terms ([`Panels`], [`Packed`]).
//!
//! A panel holds [`LANES`] terms feature by feature: `panel[k][lane]`. The inner loops read a panel from front to back. One
//! feature of all its terms is two aligned cache lines. Each panel is a separate allocation, so adding panels copies no term. A
//! clone shares the panels; writing to a shared panel copies that panel first.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::LANES;

/// A row-major matrix of f32: rows of equal length, one after the other. It can also hold the numbers that the rows were computed
/// from, before scaling and rounding.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    dim: usize,
    len: usize,
    data: &'a [f32],
    /// The unscaled numbers, row by row; empty if they are not given.
    unscaled: &'a [f64],
    /// The rows with a further limit of clipping; empty if no number is clipped.
    far: &'a [f32],
}

impl<'a> Matrix<'a> {
    /// Rows of `dim` features. If `dim` is 0, there are no rows.
    ///
    /// # Panics
    /// If `data` is not whole rows.
    pub fn new(dim: usize, data: &'a [f32]) -> Self {
        let len = data.len().checked_div(dim).unwrap_or(0);
        Self::with_len(dim, len, data)
    }

    /// `len` rows of `dim` features; `dim` may be 0.
    ///
    /// # Panics
    /// If `data` does not have `len * dim` values.
    pub fn with_len(dim: usize, len: usize, data: &'a [f32]) -> Self {
        assert_eq!(data.len(), len * dim, "rows are whole");
        Self { dim, len, data, unscaled: &[], far: &[] }
    }

    /// The same rows with the numbers that they were computed from; none, if `unscaled` is empty.
    pub(crate) fn computed_from(self, unscaled: &'a [f64]) -> Self {
        assert!(unscaled.is_empty() || unscaled.len() == self.data.len(), "every number has its origin");
        Self { unscaled, ..self }
    }

    /// The numbers that row `i` was computed from, if they are given.
    pub(crate) fn unscaled(self, i: usize) -> Option<&'a [f64]> {
        (!self.unscaled.is_empty()).then(|| &self.unscaled[i * self.dim..(i + 1) * self.dim])
    }

    /// The same rows, also with a further limit of clipping; `far` is empty if no number is clipped.
    pub(crate) fn clipped_further(self, far: &'a [f32]) -> Self {
        assert!(far.is_empty() || far.len() == self.data.len(), "every number has another limit");
        Self { far, ..self }
    }

    /// Row `i` with the further limit of clipping.
    pub(crate) fn far_row(self, i: usize) -> &'a [f32] {
        let rows = if self.far.is_empty() { self.data } else { self.far };
        &rows[i * self.dim..(i + 1) * self.dim]
    }

    /// One row.
    pub fn one(row: &'a [f32]) -> Self {
        Self::with_len(row.len(), 1, row)
    }

    /// Features per row.
    pub fn dim(self) -> usize {
        self.dim
    }

    /// Number of rows.
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether there is no row.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Row `i`.
    #[inline(always)]
    pub fn row(self, i: usize) -> &'a [f32] {
        &self.data[i * self.dim..(i + 1) * self.dim]
    }

    /// All numbers, row by row.
    pub(crate) fn numbers(self) -> &'a [f32] {
        self.data
    }

    /// The rows in `range`.
    pub fn range(self, range: Range<usize>) -> Self {
        let cells = range.start * self.dim..range.end * self.dim;
        let unscaled = if self.unscaled.is_empty() { self.unscaled } else { &self.unscaled[cells.clone()] };
        let far = if self.far.is_empty() { self.far } else { &self.far[cells.clone()] };
        Self { len: range.len(), data: &self.data[cells], unscaled, far, ..self }
    }
}

/// One feature of the terms of a panel, aligned so that no vector load crosses a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Line(pub(super) [f32; LANES]);

const ZERO: Line = Line([0.0; LANES]);

/// [`LANES`] terms, feature by feature.
pub(super) type Panel = Arc<[Line]>;

/// The features of the terms in the layout of the inner loops. A slot is a place for one term; a slot that was never written is
/// zero.
#[derive(Clone)]
pub struct Panels {
    dim: usize,
    panels: Vec<Panel>,
}

impl Panels {
    /// An empty set of panels for terms of `dim` features.
    pub fn new(dim: usize) -> Self {
        Self { dim, panels: Vec::new() }
    }

    /// Features per term.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The number of slots: a multiple of [`LANES`].
    pub fn slots(&self) -> usize {
        self.panels.len() * LANES
    }

    /// Number of panels.
    pub fn panels(&self) -> usize {
        self.panels.len()
    }

    /// Adds zero panels until there are at least `slots` slots.
    pub fn reserve(&mut self, slots: usize) {
        let wanted = slots.div_ceil(LANES).max(self.panels.len());
        let dim = self.dim;
        self.panels.resize_with(wanted, || std::iter::repeat_n(ZERO, dim).collect());
    }

    /// Frees the panels that hold no slot below `slots`. The contents of the other panels do not change.
    pub fn truncate(&mut self, slots: usize) {
        self.panels.truncate(slots.div_ceil(LANES));
    }

    /// Removes the panels of some slots, which are whole panels. Those behind them move forward.
    pub(crate) fn remove(&mut self, slots: Range<usize>) {
        self.panels.drain(slots.start / LANES..slots.end / LANES);
        self.panels.shrink_to_fit();
    }

    /// Inserts other panels of at most as many features in front of a slot, the first one of a panel.
    pub(crate) fn insert(&mut self, slot: usize, mut others: Panels) {
        others.widen(self.dim);
        self.panels.splice(slot / LANES..slot / LANES, others.panels);
    }

    /// Writes a term.
    ///
    /// # Panics
    /// If there is no such slot or the term does not have [`Panels::dim`] features.
    pub fn put(&mut self, slot: usize, term: &[f32]) {
        self.put_many(&[(slot, term)]);
    }

    /// Writes terms in the order given. Consecutive terms in the list that share a panel are written together, each cache line
    /// once, which is several times faster than one by one.
    ///
    /// # Panics
    /// As [`Panels::put`].
    pub fn put_many(&mut self, terms: &[(usize, &[f32])]) {
        assert!(terms.iter().all(|t| t.1.len() == self.dim), "terms have {} features", self.dim);
        for group in terms.chunk_by(|a, b| a.0 / LANES == b.0 / LANES) {
            put_group(Arc::make_mut(&mut self.panels[group[0].0 / LANES]), group);
        }
    }

    /// Writes the rows of a matrix into the slots 0, 1, 2, ...
    ///
    /// # Panics
    /// As [`Panels::put`].
    pub fn put_rows(&mut self, rows: Matrix<'_>) {
        for first in (0..rows.len()).step_by(LANES) {
            let count = LANES.min(rows.len() - first);
            let terms: [(usize, &[f32]); LANES] = std::array::from_fn(|i| (first + i, rows.row(first + i.min(count - 1))));
            self.put_many(&terms[..count]);
        }
    }

    /// Reads a term.
    ///
    /// # Panics
    /// As [`Panels::put`].
    pub fn get(&self, slot: usize, term: &mut [f32]) {
        assert_eq!(term.len(), self.dim, "terms have {} features", self.dim);
        let panel = &self.panels[slot / LANES];
        for (value, line) in term.iter_mut().zip(&**panel) {
            *value = line.0[slot % LANES];
        }
    }

    /// Some of the panels, shared with this set.
    pub(crate) fn part(&self, panels: Range<usize>) -> Self {
        Self { dim: self.dim, panels: self.panels[panels].to_vec() }
    }

    /// Copies a chunk of [`CHUNK`](super::CHUNK) terms, feature by feature. Slots that do not exist are 0.
    pub(crate) fn copy_chunk(&self, chunk: usize, to: &mut Vec<f32>) {
        to.clear();
        to.resize(self.dim * super::CHUNK, 0.0);
        let panels = super::CHUNK / LANES;
        for (p, panel) in self.panels.iter().skip(chunk * panels).take(panels).enumerate() {
            for (line, to) in panel.iter().zip(to.chunks_exact_mut(super::CHUNK)) {
                to[p * LANES..(p + 1) * LANES].copy_from_slice(&line.0);
            }
        }
    }

    /// Grows to `dim` features. Existing terms are zero in the new ones. A smaller `dim` changes nothing.
    pub fn widen(&mut self, dim: usize) {
        self.dim = self.dim.max(dim);
        for panel in self.panels.iter_mut().filter(|panel| panel.len() < self.dim) {
            *panel = panel.iter().copied().chain(std::iter::repeat_n(ZERO, self.dim - panel.len())).collect();
        }
    }

    /// Bytes held, including spare capacity and panels that are shared with a clone.
    pub fn bytes(&self) -> usize {
        // The two reference counts of `Arc` precede the lines and are padded to the alignment of a line.
        let panel = |panel: &Panel| size_of_val::<[Line]>(panel) + align_of::<Line>();
        self.panels.iter().map(panel).sum::<usize>() + self.panels.capacity() * size_of::<Panel>()
    }

    pub(super) fn range(&self, panels: Range<usize>) -> &[Panel] {
        &self.panels[panels]
    }
}

impl fmt::Debug for Panels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Panels").field("dim", &self.dim).field("slots", &self.slots()).finish_non_exhaustive()
    }
}

/// Writes terms of one panel, a few features at a time, so that the lines of these features stay in the first-level cache.
fn put_group(panel: &mut [Line], terms: &[(usize, &[f32])]) {
    const FEATURES: usize = 16;
    for (block, lines) in panel.chunks_mut(FEATURES).enumerate() {
        for (slot, term) in terms {
            let lane = slot % LANES;
            for (line, value) in lines.iter_mut().zip(&term[block * FEATURES..]) {
                line.0[lane] = *value;
            }
        }
    }
}

/// Dense rows with their squared norms |x|², each computed by the chain of [`square`](super::square).
#[derive(Clone, Copy, Debug)]
pub struct Points<'a> {
    /// The rows.
    pub rows: Matrix<'a>,
    /// Their squared norms.
    pub squares: &'a [f32],
}

impl Points<'_> {
    /// Some of the rows.
    pub fn range(self, range: Range<usize>) -> Self {
        Points { rows: self.rows.range(range.clone()), squares: &self.squares[range] }
    }
}

/// Terms in panels with their squared norms.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a> {
    /// The terms.
    pub panels: &'a Panels,
    /// Their squared norms, slot by slot.
    pub squares: &'a [f32],
}
