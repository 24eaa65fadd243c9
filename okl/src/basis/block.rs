//! The kernel values of a block: rows against terms, rows against earlier rows of the block, and the slots changed since the
//! block began.
//!
//! The block invariant: when step j runs, its row holds the kernel values of example j against the *current* terms. The matrix
//! product runs once, against the terms at the start of the block. When example i is written into slot p, later rows take their
//! value at p from column i of the block's own values. A row is patched just before it is read.

use crate::basis::sparse::{BlockIndex, SparsePoints, SparseRow};
use crate::gram::aligned::Aligned;
use crate::gram::{LANES, Matrix, Packed, Panels, Points};

/// Where the new values of a changed slot come from.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// Row i of the block was written into the slot.
    Row(u32),
    /// A new centre that is neither an old term nor a row of the block (a merged term): its column of kernel values is computed
    /// separately, and begins here.
    Column(u32),
}

/// The maximal number of rows of a block. With more rows, each panel of terms is reused more often; with fewer, the block's own
/// values stay small.
pub(crate) const ROWS: usize = LANES;

/// The kernel values of a block of up to 32 rows. The buffers are allocated once and reused.
#[derive(Clone, Debug, Default)]
pub struct Block {
    rows: usize,
    planes: usize,
    /// The first slot that has values; those before it are summed elsewhere.
    first: usize,
    stride: usize,
    terms: Aligned<f32>,
    own: Aligned<f32>,
    patches: Vec<(u32, Source)>,
    /// For each row, the number of patches that it has.
    patched: [usize; ROWS],
    /// Column after column, the values of merged centres against the rows: `planes * LANES` numbers each.
    columns: Vec<f32>,
    used_columns: usize,
    /// The rows stored as one panel, so that they can be used in place of terms, and their squared norms.
    packed: Option<(Panels, [f32; LANES])>,
    /// The rows multiplied by the weights of their columns, if a kernel reads weighted columns.
    weighted: WeightedRows,
    /// The same for sparse rows.
    index: BlockIndex,
    /// For weights over sparse rows, the rows themselves take the place of values.
    features: Option<SparseBlock>,
    /// Room for the next such rows.
    spare: Option<SparseBlock>,
}

/// The rows of a block, multiplied by the weights of their columns, with their squared norms.
#[derive(Clone, Debug, Default)]
pub(crate) struct WeightedRows {
    pub rows: Vec<f32>,
    pub squares: [f32; LANES],
    /// The rows as a panel; none if they were not packed since they changed.
    packed: Option<Panels>,
    is_packed: bool,
}

impl WeightedRows {
    /// The rows, if there are `count` of them, with their squared norms.
    pub fn points(&self, features: usize, count: usize) -> Points<'_> {
        Points { rows: Matrix::new(features, &self.rows[..count * features]), squares: &self.squares[..count] }
    }

    /// The rows in a panel, with their squared norms.
    fn packed(&mut self, features: usize, count: usize) -> Packed<'_> {
        let panel = self.packed.get_or_insert_with(|| Panels::new(features));
        if panel.dim() != features {
            *panel = Panels::new(features);
        }
        if !self.is_packed {
            panel.reserve(LANES);
            panel.put_rows(Matrix::new(features, &self.rows[..count * features]));
            self.is_packed = true;
        }
        Packed { panels: panel, squares: &self.squares }
    }
}

/// A copy of the sparse rows of a block.
#[derive(Clone, Debug, Default)]
struct SparseBlock {
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f32>,
}

/// A buffer for kernel values; planes start `plane` numbers apart, rows `stride` numbers apart.
pub struct Values<'a> {
    /// The numbers.
    pub data: &'a mut [f32],
    /// Distance from one plane to the next.
    pub plane: usize,
    /// Distance from one row to the next.
    pub stride: usize,
}

impl Values<'_> {
    /// The same buffer, to be written once more.
    pub(crate) fn again(&mut self) -> Values<'_> {
        Values { data: self.data, plane: self.plane, stride: self.stride }
    }
}

impl Block {
    /// Starts a block of `rows` rows against `slots` slots, of which the caller will write the first `filled`.
    pub(crate) fn begin(&mut self, rows: usize, planes: usize, filled: usize, slots: usize) {
        debug_assert!(rows <= ROWS);
        let stride = slots.next_multiple_of(LANES);
        (self.rows, self.planes, self.first, self.stride) = (rows, planes, 0, stride);
        self.terms.at_least(planes * rows * stride);
        if rows > 1 {
            self.own.at_least(planes * rows * LANES);
        }
        for row in self.terms[..planes * rows * stride].chunks_exact_mut(stride.max(1)) {
            row[filled..].fill(0.0);
        }
        self.patches.clear();
        self.patched = [0; ROWS];
        self.used_columns = 0;
        self.weighted.is_packed = false;
        self.spare = self.features.take().or(self.spare.take());
    }

    /// The same against the slots from `first` on. There are no values for slots before it.
    pub(crate) fn begin_from(&mut self, first: usize, rows: usize, planes: usize, filled: usize, slots: usize) {
        self.begin(rows, planes, filled - first, slots - first);
        self.first = first;
    }

    /// The first slot that has values.
    pub(crate) fn first(&self) -> usize {
        self.first
    }

    /// Starts a block of sparse rows whose features are the basis functions.
    pub(crate) fn begin_features(&mut self, rows: SparsePoints<'_>) {
        self.begin_features_by(rows, |row, columns, values| {
            columns.extend_from_slice(row.columns);
            values.extend_from_slice(row.values);
        });
    }

    /// Starts a block of sparse rows whose features are computed: `add` appends the columns and values of a row's features.
    pub(crate) fn begin_features_by(
        &mut self,
        rows: SparsePoints<'_>,
        add: impl Fn(SparseRow<'_>, &mut Vec<u32>, &mut Vec<f32>),
    ) {
        self.begin(rows.count(), 1, 0, 0);
        let mut block = self.spare.take().unwrap_or_default();
        block.starts.clear();
        block.columns.clear();
        block.values.clear();
        block.starts.push(0);
        for row in (0..rows.count()).map(|i| rows.row(i)) {
            add(row, &mut block.columns, &mut block.values);
            block.starts.push(block.columns.len());
        }
        self.features = Some(block);
    }

    /// The features of row `r`, if they are the basis functions and rows are sparse.
    pub(crate) fn features(&self, r: usize) -> Option<SparseRow<'_>> {
        self.features.as_ref().map(|block| {
            let range = block.starts[r]..block.starts[r + 1];
            SparseRow { columns: &block.columns[range.clone()], values: &block.values[range] }
        })
    }

    /// Whether the features of sparse rows take the place of values.
    pub(crate) fn has_features(&self) -> bool {
        self.features.is_some()
    }

    /// Makes room for the values of 32 rows against `slots` slots; if there is none, for a quarter more.
    pub(crate) fn reserve_ample(&mut self, planes: usize, slots: usize) {
        let wanted = planes * ROWS * slots.next_multiple_of(LANES);
        if self.terms.len() < wanted {
            self.terms.at_least(wanted + wanted / 4);
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        let rows = [&self.features, &self.spare].into_iter().flatten();
        let rows: usize = rows.map(|b| (b.columns.capacity() + b.values.capacity()) * size_of::<f32>()).sum();
        self.terms.bytes() + self.own.bytes() + self.index.bytes() + rows
    }

    /// The buffer for the values of rows against slots, from [`Block::first`] on.
    pub fn terms_mut(&mut self) -> Values<'_> {
        let plane = self.rows * self.stride;
        Values { data: &mut self.terms[..self.planes * plane], plane, stride: self.stride }
    }

    /// The panel for the rows' features and the array for their squared norms, both to be filled by the caller.
    pub(crate) fn pack(&mut self, features: usize) -> (&mut Panels, &mut [f32; LANES]) {
        if self.packed.as_ref().is_none_or(|(panel, _)| panel.dim() != features) {
            let mut panel = Panels::new(features);
            panel.reserve(LANES);
            self.packed = Some((panel, [0.0; LANES]));
        }
        let (panel, squares) = self.packed.as_mut().expect("it was packed just now");
        (panel, squares)
    }

    /// The packed rows with their squared norms, and the buffer for the values of all rows against them.
    pub(crate) fn own_mut(&mut self) -> Option<(Packed<'_>, Values<'_>)> {
        let (plane, stride) = (self.rows * LANES, LANES);
        let (panels, squares) = self.packed.as_ref()?;
        Some((Packed { panels, squares }, Values { data: &mut self.own, plane, stride }))
    }

    /// The index of sparse rows, to be filled by the caller, and the buffer for the values of all rows against them.
    pub(crate) fn own_by_columns(&mut self) -> (&mut BlockIndex, Values<'_>) {
        let (plane, stride) = (self.rows * LANES, LANES);
        (&mut self.index, Values { data: &mut self.own, plane, stride })
    }

    /// Sets the value of a row against an earlier row of the block.
    pub fn set_own(&mut self, plane: usize, row: usize, before: usize, value: f32) {
        self.own[(plane * self.rows + row) * LANES + before] = value;
    }

    /// Records that slot `slot` now holds row `row` of this block.
    pub(crate) fn appended(&mut self, slot: usize, row: usize) {
        self.patches.push((slot as u32, Source::Row(row as u32)));
    }

    /// Records that slot `slot` now holds another centre. Returns the packed rows and the column into which the caller writes the
    /// values of the centre against them. In a block of one row there are no packed rows and nothing to write.
    pub(crate) fn replaced(&mut self, slot: usize) -> (Option<Packed<'_>>, &mut [f32]) {
        self.patches.push((slot as u32, Source::Column((self.used_columns * self.planes * LANES) as u32)));
        self.used_columns += 1;
        let packed = self.packed.as_ref().filter(|_| self.rows > 1);
        (
            packed.map(|(panels, squares)| Packed { panels, squares }),
            last_column(&mut self.columns, self.planes, self.used_columns),
        )
    }

    /// The rows multiplied by the weights of their columns.
    pub(crate) fn weighted(&mut self) -> &mut WeightedRows {
        &mut self.weighted
    }

    /// Of the slot that was [replaced](Block::replaced) last: the packed weighted rows and the column; none in a block of one row.
    pub(crate) fn replaced_weighted(&mut self, features: usize) -> Option<(Packed<'_>, &mut [f32])> {
        let (rows, column) = (self.rows, last_column(&mut self.columns, self.planes, self.used_columns));
        (rows > 1).then(|| (self.weighted.packed(features, rows), column))
    }

    /// The same for sparse rows.
    pub(crate) fn replaced_by_columns(&mut self, slot: usize) -> (Option<&BlockIndex>, &mut [f32]) {
        let several = self.rows > 1;
        self.replaced(slot);
        (several.then_some(&self.index), last_column(&mut self.columns, self.planes, self.used_columns))
    }

    /// Updates row `r` for the slots that have changed since the block began.
    pub(crate) fn patch(&mut self, r: usize) {
        let new = &self.patches[self.patched[r]..];
        for plane in 0..self.planes {
            let place = plane * self.rows + r;
            let row = &mut self.terms[place * self.stride..(place + 1) * self.stride];
            // In a block of one row there are no values of rows against rows.
            let own = self.own.get(place * LANES..).unwrap_or_default();
            let columns = self.columns.get(plane * LANES + r..).unwrap_or_default();
            for &(slot, source) in new.iter().filter(|(slot, _)| *slot as usize >= self.first) {
                row[slot as usize - self.first] = match source {
                    Source::Row(i) => own[i as usize],
                    Source::Column(start) => columns[start as usize],
                };
            }
        }
        self.patched[r] = self.patches.len();
    }

    /// The row of this block whose input is the centre of a slot, if there is one. The values of that row, once it is patched, are those
    /// of the centre.
    pub(crate) fn row_of(&self, slot: usize) -> Option<usize> {
        match self.patches.iter().rev().find(|(patched, _)| *patched as usize == slot)? {
            (_, Source::Row(i)) => Some(*i as usize),
            (_, Source::Column(_)) => None,
        }
    }

    /// The values of row `r` against the first `slots` slots, from [`Block::first`] on.
    pub(crate) fn row(&self, plane: usize, r: usize, slots: usize) -> &[f32] {
        let start = (plane * self.rows + r) * self.stride;
        &self.terms[start..start + slots - self.first]
    }
}

/// The last one of `used` columns.
fn last_column(columns: &mut Vec<f32>, planes: usize, used: usize) -> &mut [f32] {
    let length = planes * LANES;
    if columns.len() < used * length {
        columns.resize(used * length, 0.0);
    }
    &mut columns[(used - 1) * length..used * length]
}
