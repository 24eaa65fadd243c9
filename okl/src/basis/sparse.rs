//! Sparse f32 rows, stored once row by row and once column by column (an inverted index), with the bits of dense rows.
//!
//! An inner product is one chain of fused multiply-adds over the features in ascending order. A product with zero leaves the chain
//! as it is, so the chain over the non-zeros of a row has the same bits: for every non-zero x_f of the row, in order of f, and every
//! stored row that has a value v in column f, `acc = x_f.mul_add(v, acc)`. The cost is the number of values in these columns, and
//! does not depend on the number of features (algorithms.md 7.4).
//!
//! A column with values in many of the slots is one array over all slots; any other column is a list of slots and values. No result
//! depends on which it is.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

use crate::basis::Space;
use crate::basis::block::{Block, Values};
use crate::basis::dense::{Dense, MOST_BLENDED};
use crate::gram::{Backend, LANES, Matrix};
use crate::learner::batch::LARGEST;
use crate::parts::kernel::{DotKernel, Pair, SquaredDistance, TwoRows};

/// One sparse row: columns in ascending order, and values that are not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SparseRow<'a> {
    /// The columns.
    pub columns: &'a [u32],
    /// Their values.
    pub values: &'a [f32],
}

impl<'a> SparseRow<'a> {
    /// Columns and values, in order.
    pub fn iter(self) -> impl Iterator<Item = (u32, f32)> + 'a {
        self.columns.iter().copied().zip(self.values.iter().copied())
    }

    /// |x|² by the chain of inner products.
    fn square(self, backend: Backend) -> f32 {
        let mut square = [0.0];
        backend.squares(Matrix::one(self.values), &mut square);
        square[0]
    }
}

/// Sparse rows with their squared norms.
#[derive(Clone, Copy, Debug)]
pub struct SparsePoints<'a> {
    /// Where each row begins in `columns` and `values`, and where the last one ends.
    pub starts: &'a [usize],
    /// The columns of all rows; ascending within a row.
    pub columns: &'a [u32],
    /// Their values; none is zero.
    pub values: &'a [f32],
    /// |x|² of every row.
    pub squares: &'a [f32],
}

impl<'a> SparsePoints<'a> {
    /// Row `i`.
    pub fn row(self, i: usize) -> SparseRow<'a> {
        let range = self.starts[i]..self.starts[i + 1];
        SparseRow { columns: &self.columns[range.clone()], values: &self.values[range] }
    }

    /// Some of the rows.
    pub fn range(self, rows: Range<usize>) -> Self {
        SparsePoints { starts: &self.starts[rows.start..=rows.end], squares: &self.squares[rows], ..self }
    }

    /// The number of rows.
    pub fn count(self) -> usize {
        self.squares.len()
    }
}

/// The values of two rows in the columns where one of them is not zero, in ascending order.
fn both<'a>(a: SparseRow<'a>, b: SparseRow<'a>) -> impl Iterator<Item = (u32, f32, f32)> + 'a {
    let (mut i, mut j) = (0, 0);
    std::iter::from_fn(move || {
        let (left, right) = (a.columns.get(i), b.columns.get(j));
        let column = match (left, right) {
            (Some(l), Some(r)) => *l.min(r),
            (Some(one), None) | (None, Some(one)) => *one,
            (None, None) => return None,
        };
        let value = |has: Option<&u32>, row: SparseRow<'_>, place: &mut usize| match has == Some(&column) {
            true => {
                *place += 1;
                row.values[*place - 1]
            }
            false => 0.0,
        };
        let x = value(left, a, &mut i);
        Some((column, x, value(right, b, &mut j)))
    })
}

fn two_rows(a: SparseRow<'_>, b: SparseRow<'_>) -> TwoRows {
    TwoRows::of_values(both(a, b).map(|(_, a, b)| (a, b)))
}

/// A stored row.
#[derive(Clone, Debug, Default)]
struct Stored {
    columns: Vec<u32>,
    values: Vec<f32>,
}

impl Stored {
    fn row(&self) -> SparseRow<'_> {
        SparseRow { columns: &self.columns, values: &self.values }
    }

    fn set(&mut self, row: SparseRow<'_>) {
        self.columns.clear();
        self.values.clear();
        self.columns.reserve_exact(row.columns.len());
        self.values.reserve_exact(row.values.len());
        self.columns.extend_from_slice(row.columns);
        self.values.extend_from_slice(row.values);
    }

    fn push(&mut self, column: u32, value: f32) {
        self.columns.push(column);
        self.values.push(value);
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.columns.capacity() * size_of::<u32>() + self.values.capacity() * size_of::<f32>()
    }
}

/// Mixes the bits of a column number. Only lookups use the map, so no order of the map reaches a result.
#[derive(Clone, Debug, Default)]
struct ColumnHash(u64);

impl Hasher for ColumnHash {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32(u32::from(*byte)));
    }

    fn write_u32(&mut self, column: u32) {
        let mixed = (self.0 ^ u64::from(column)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

type Columns<T> = HashMap<u32, T, BuildHasherDefault<ColumnHash>>;

/// The values of the stored rows in one column.
#[derive(Clone, Debug)]
enum Column {
    /// Slots and values.
    Listed(Vec<(u32, f32)>),
    /// One value per slot, and the number of those that are not zero.
    Whole(Vec<f32>, usize),
}

/// A column is an array over all slots from this share of the slots on (a list again below half of it), and never below this many
/// values: an array is a loop over vectors, a list one access to memory per value.
const WHOLE_SHARE: usize = 8;
const WHOLE_LEAST: usize = 32;

impl Column {
    fn add(&mut self, slot: usize, value: f32, slots: usize) {
        match self {
            Column::Listed(list) if (list.len() + 1) * WHOLE_SHARE >= slots.max(WHOLE_LEAST * WHOLE_SHARE) => {
                let mut whole = vec![0.0; slots];
                list.iter().for_each(|(slot, value)| whole[*slot as usize] = *value);
                whole[slot] = value;
                *self = Column::Whole(whole, list.len() + 1);
            }
            Column::Listed(list) => list.push((slot as u32, value)),
            Column::Whole(whole, count) => {
                whole.resize(slots.max(whole.len()), 0.0);
                whole[slot] = value;
                *count += 1;
            }
        }
    }

    /// Removes the value of a slot. Returns whether the column is empty then.
    fn remove(&mut self, slot: usize) -> bool {
        match self {
            Column::Listed(list) => {
                if let Some(place) = list.iter().position(|(at, _)| *at as usize == slot) {
                    list.swap_remove(place);
                }
                list.is_empty()
            }
            Column::Whole(whole, count) => {
                whole[slot] = 0.0;
                *count -= 1;
                if *count * 2 * WHOLE_SHARE < whole.len().max(WHOLE_LEAST * WHOLE_SHARE) {
                    let present = whole.iter().enumerate().filter(|(_, value)| **value != 0.0);
                    *self = Column::Listed(present.map(|(slot, value)| (slot as u32, *value)).collect());
                }
                false
            }
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Column::Listed(list) => list.capacity() * size_of::<(u32, f32)>(),
            Column::Whole(whole, _) => whole.capacity() * size_of::<f32>(),
        }
    }
}

/// The rows of a block by columns: the values of up to 32 rows per column.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockIndex {
    places: Columns<u32>,
    lines: Vec<[f32; LANES]>,
    squares: [f32; LANES],
}

impl BlockIndex {
    fn fill(&mut self, rows: SparsePoints<'_>) {
        self.places.clear();
        self.lines.clear();
        self.squares[..rows.count()].copy_from_slice(rows.squares);
        for i in 0..rows.count() {
            for (column, value) in rows.row(i).iter() {
                let next = self.lines.len() as u32;
                let place = *self.places.entry(column).or_insert(next);
                if place == next {
                    self.lines.push([0.0; LANES]);
                }
                self.lines[place as usize][i] = value;
            }
        }
    }

    /// The inner products of a row with the rows of the block.
    fn dots(&self, backend: Backend, row: SparseRow<'_>, out: &mut [f32]) {
        out.fill(0.0);
        for (column, x) in row.iter() {
            if let Some(place) = self.places.get(&column) {
                backend.add_product(x, &self.lines[*place as usize], out);
            }
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.lines.capacity() * size_of::<[f32; LANES]>() + map_bytes(&self.places)
    }
}

/// A hash table has one entry and one control byte per bucket; 7/8 of the buckets are used.
fn map_bytes<T>(map: &Columns<T>) -> usize {
    map.capacity() * 8 / 7 * (size_of::<(u32, T)>() + 1)
}

/// Sparse f32 rows with one or more kernels (planes) that share the inner products.
#[derive(Clone, Debug)]
pub struct Sparse<K> {
    kernels: Vec<K>,
    /// k(x, x) of each kernel, if it is the same for all x.
    diagonal: Option<Vec<f64>>,
    backend: Backend,
    pub(crate) threads: usize,
    features: usize,
    rows: Vec<Stored>,
    squares: Vec<f32>,
    columns: Columns<Column>,
    scratch: Stored,
}

impl<K: DotKernel + Clone> Sparse<K> {
    /// The rows of a dense space, with its kernels.
    pub(crate) fn of(dense: &Dense<K>, slots: usize) -> Self {
        let mut space = Sparse {
            kernels: dense.kernels().to_vec(),
            diagonal: dense.diagonal().map(<[f64]>::to_vec),
            backend: dense.backend(),
            threads: dense.threads,
            features: dense.features(),
            rows: Vec::new(),
            squares: Vec::new(),
            columns: Columns::default(),
            scratch: Stored::default(),
        };
        space.reserve(slots);
        let mut row = vec![0.0; dense.features()];
        for slot in 0..slots {
            dense.centre(slot, &mut row);
            let mut stored = Stored::default();
            row.iter().enumerate().filter(|(_, value)| **value != 0.0).for_each(|(j, value)| stored.push(j as u32, *value));
            space.put_row(slot, stored.row());
        }
        space
    }

    /// A copy with the same centres and only some of the kernels.
    pub(crate) fn under(&self, planes: Range<usize>) -> Self {
        let diagonal = self.diagonal.as_ref().map(|values| values[planes.clone()].to_vec());
        Sparse { kernels: self.kernels[planes].to_vec(), diagonal, ..self.clone() }
    }

    /// A space with the same kernels and no centres.
    pub(crate) fn emptied(&self) -> Self {
        Sparse {
            rows: Vec::new(),
            squares: Vec::new(),
            columns: Columns::default(),
            scratch: Stored::default(),
            kernels: self.kernels.clone(),
            diagonal: self.diagonal.clone(),
            ..*self
        }
    }
}

impl<K: DotKernel> Sparse<K> {
    /// Puts another kernel in the place of that of a plane.
    pub(crate) fn replace_kernel(&mut self, plane: usize, kernel: K) {
        if let Some(diagonal) = &mut self.diagonal {
            diagonal[plane] = kernel.eval(0.0, 0.0, 0.0).into();
        }
        self.kernels[plane] = kernel;
    }

    /// The kernels, one per plane.
    pub fn kernels(&self) -> &[K] {
        &self.kernels
    }

    /// The number of features.
    pub fn features(&self) -> usize {
        self.features
    }

    /// Increases the number of features. Existing centres are zero in the new ones.
    pub fn widen(&mut self, features: usize) {
        self.features = features;
    }

    /// The centre of a slot.
    pub fn row(&self, slot: usize) -> SparseRow<'_> {
        self.rows[slot].row()
    }

    /// Copies the centre of a slot as a dense row.
    pub fn centre(&self, slot: usize, out: &mut [f32]) {
        out.fill(0.0);
        self.row(slot).iter().for_each(|(column, value)| out[column as usize] = value);
    }

    /// Stores a row as the centre of a slot.
    pub(crate) fn put_row(&mut self, slot: usize, row: SparseRow<'_>) {
        let Sparse { rows, columns, squares, .. } = self;
        let slots = rows.len();
        for column in &rows[slot].columns {
            if columns.get_mut(column).is_some_and(|values| values.remove(slot)) {
                columns.remove(column);
            }
        }
        for (column, value) in row.iter() {
            columns.entry(column).or_insert_with(|| Column::Listed(Vec::new())).add(slot, value, slots);
        }
        rows[slot].set(row);
        squares[slot] = row.square(self.backend);
    }

    /// The inner products of a row with the centres of the first slots.
    fn dots(&self, row: SparseRow<'_>, out: &mut [f32]) {
        out.fill(0.0);
        for (column, x) in row.iter() {
            match self.columns.get(&column) {
                None => {}
                Some(Column::Listed(list)) => self.backend.add_products_at(x, list, out),
                Some(Column::Whole(whole, _)) => {
                    let length = whole.len().min(out.len());
                    self.backend.add_product(x, &whole[..length], &mut out[..length]);
                }
            }
        }
    }

    /// Kernel values of a row from its inner products in plane 0 of the first `slots` numbers.
    fn map(&self, kernels: &[K], xx: f32, squares: &[f32], data: &mut [f32], plane: usize, first: usize) {
        let slots = squares.len();
        for (p, kernel) in kernels.iter().enumerate().rev() {
            let at = p * plane + first;
            if p > 0 {
                data.copy_within(first..first + slots, at);
            }
            kernel.map(self.backend, xx, squares, &mut data[at..at + slots]);
        }
    }

    pub(crate) fn diagonal_at(&self, xx: f32, out: &mut [f64]) {
        match &self.diagonal {
            Some(values) => out.copy_from_slice(values),
            None => self.kernels.iter().zip(out).for_each(|(k, out)| *out = k.eval(xx, xx, xx).into()),
        }
    }
}

impl<K: DotKernel> Space for Sparse<K> {
    type Rows<'a> = SparsePoints<'a>;

    fn count(rows: SparsePoints<'_>) -> usize {
        rows.count()
    }

    fn range<'a>(rows: Self::Rows<'a>, from: usize, to: usize) -> Self::Rows<'a> {
        rows.range(from..to)
    }

    fn planes(&self) -> usize {
        self.kernels.len()
    }

    fn reserve(&mut self, slots: usize) {
        let slots = slots.next_multiple_of(LANES);
        if slots > self.rows.len() {
            let more = (slots - self.rows.len()).max(self.rows.len() / 32);
            self.rows.reserve_exact(more);
            self.squares.reserve_exact(more);
            self.rows.resize_with(slots, Stored::default);
            self.squares.resize(slots, 0.0);
        }
    }

    fn put(&mut self, slot: usize, rows: SparsePoints<'_>, i: usize) {
        self.put_row(slot, rows.row(i));
    }

    fn is(&mut self, slot: usize, rows: SparsePoints<'_>, i: usize) -> bool {
        self.row(slot) == rows.row(i)
    }

    fn against_terms(&self, rows: SparsePoints<'_>, slots: usize, block: &mut Block) {
        let Values { data, plane, stride } = block.terms_mut();
        for i in 0..rows.count() {
            let first = i * stride;
            self.dots(rows.row(i), &mut data[first..first + slots]);
            self.map(&self.kernels, rows.squares[i], &self.squares[..slots], data, plane, first);
        }
    }

    fn among_rows(&self, rows: SparsePoints<'_>, block: &mut Block) {
        let (index, Values { data, plane, stride }) = block.own_by_columns();
        index.fill(rows);
        for i in 0..rows.count() {
            let first = i * stride;
            index.dots(self.backend, rows.row(i), &mut data[first..first + LANES]);
            self.map(&self.kernels, rows.squares[i], &index.squares, data, plane, first);
        }
    }

    fn self_values(&self, rows: SparsePoints<'_>, i: usize, out: &mut [f64]) {
        self.diagonal_at(rows.squares[i], out);
    }

    fn term_self_values(&self, slot: usize, out: &mut [f64]) {
        self.diagonal_at(self.squares[slot], out);
    }

    fn diagonal(&self) -> Option<&[f64]> {
        self.diagonal.as_deref()
    }

    fn term_row(&mut self, slot: usize, slots: usize, planes: Range<usize>, out: &mut [f32]) {
        self.dots(self.row(slot), &mut out[..slots]);
        self.map(&self.kernels[planes], self.squares[slot], &self.squares[..slots], out, slots, 0);
    }

    fn pairs(&mut self, slot: usize, rows: SparsePoints<'_>, i: usize, out: &mut [Pair]) {
        let rows = two_rows(rows.row(i), self.row(slot));
        self.kernels.iter().zip(out).for_each(|(kernel, pair)| *pair = kernel.pair(&rows));
    }

    fn backend(&self) -> Backend {
        self.backend
    }

    fn threads(&self) -> usize {
        self.threads
    }

    fn radial(&self, plane: usize) -> Option<&dyn DotKernel> {
        self.diagonal.as_ref().map(|_| &self.kernels[plane] as &dyn DotKernel)
    }

    fn distances2(&mut self, _plane: usize, slot: usize, slots: usize, out: &mut [f32]) {
        self.dots(self.row(slot), &mut out[..slots]);
        SquaredDistance.map(self.backend, self.squares[slot], &self.squares[..slots], &mut out[..slots]);
    }

    fn apart2(&mut self, _plane: usize, a: usize, b: usize) -> f64 {
        two_rows(self.row(a), self.row(b)).apart2
    }

    fn blend(&mut self, into: usize, from: usize, h: f64, pairs: &mut [[Pair; 3]]) {
        let mut z = std::mem::take(&mut self.scratch);
        z.columns.clear();
        z.values.clear();
        let (a, b) = (self.row(from), self.row(into));
        for (column, a, b) in both(a, b) {
            let between = (h * f64::from(a) + (1.0 - h) * f64::from(b)) as f32;
            if between != 0.0 {
                z.push(column, between);
            }
        }
        // As for dense rows: a point that is too far away is not used, and a blend that would fill up is one of the two rows.
        if z.values.iter().any(|z| f64::from(z.abs()) > LARGEST) {
            z.set(b);
        }
        if z.values.len() > MOST_BLENDED {
            z.set(if h > 0.5 { a } else { b });
        }
        let rows = [two_rows(a, b), two_rows(a, z.row()), two_rows(b, z.row())];
        for (kernel, pairs) in self.kernels.iter().zip(pairs) {
            *pairs = rows.map(|rows| kernel.pair(&rows));
        }
        self.put_row(into, z.row());
        self.scratch = z;
    }

    fn refresh(&mut self, slot: usize, block: &mut Block) {
        let (index, column) = block.replaced_by_columns(slot);
        if let Some(index) = index {
            index.dots(self.backend, self.row(slot), &mut column[..LANES]);
            self.map(&self.kernels, self.squares[slot], &index.squares, column, LANES, 0);
        }
    }

    fn bytes(&self) -> usize {
        let rows: usize = self.rows.iter().map(Stored::bytes).sum();
        let spare = (self.rows.capacity() - self.rows.len()) * size_of::<Stored>();
        let columns: usize = self.columns.values().map(Column::bytes).sum();
        rows + spare + columns + map_bytes(&self.columns) + self.squares.capacity() * size_of::<f32>()
    }
}
