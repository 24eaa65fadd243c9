//! Centres that are known by their kernel values alone (`kernel = precomputed`): objects whose kernel the caller computes.
//!
//! A kernel value is an inner product of two objects in the space of the kernel, so the kernel of the engine is the linear one. The
//! caller numbers the objects (items) and computes the values of the rows of a call before the call ([`KernelRows`]): a kernel that
//! fails changes nothing. The values between terms, which budgets and exact norms read, are kept in single precision, 4 bytes per
//! pair of terms.
//!
//! The value of two objects is always the one that was computed when the later of them was the row. So a block gives the bits of single
//! rows also if k(a, b) and k(b, a) differ by a rounding error.

use std::collections::HashMap;
use std::ops::Range;

use crate::basis::Space;
use crate::basis::block::{Block, Values};
use crate::error::{Error, Result};
use crate::gram::{Backend, LANES};
use crate::parts::kernel::{DotKernel, Pair, TwoRows};

/// Marks a slot without an item.
pub(crate) const NO_ITEM: u64 = u64::MAX;

/// Two objects are the same if their squared distance in the space of the kernel is below this part of their squared norms: rounding
/// errors of a kernel that is computed in double precision.
const SAME: f64 = 1e-12;

/// Rows that are given by their kernel values against items, for `kernel = precomputed`.
///
/// An item is an object of the caller, with a number. A row is an item, too: if it becomes a term, later rows need a value against it.
/// The rows of a call need a column for each term ([`Learner::items`](crate::Learner::items)) and, if they are learned, one for each
/// row of the call.
///
/// ```
/// use okl::{Batch, Config, KernelRows, Learner};
/// let mut learner = Learner::new(Config::from_toml("kernel = 'precomputed'\nloss = 'squared'\nstep = 'constant:0.5'\nlambda = 0")?)?;
/// let gram = [1.0, 0.5, 0.5, 1.0];                        // of the items 0 and 1
/// let rows = KernelRows::of_first(&[0, 1], 2, &gram)?;
/// let scores = learner.learn(&Batch::of_kernel_values(&rows).numbers(&[2.0, 0.0]))?;
/// assert_eq!(scores.values, [0.0, 0.5]);                  // one step towards the target 2, seen through k(1, 0) = 0.5
/// assert_eq!((learner.items(), learner.coefficients()), (vec![0, 1], vec![1.0, -0.25]));
/// # Ok::<(), okl::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct KernelRows<'a> {
    items: Vec<u64>,
    columns: Columns,
    width: usize,
    values: &'a [f64],
    /// k(x, x) of each row in single precision; 0 if the row has no column of its own.
    squares: Vec<f32>,
}

/// The column of an item.
#[derive(Clone, Debug)]
enum Columns {
    /// Item i has column i.
    First,
    Listed(HashMap<u64, usize>),
}

impl<'a> KernelRows<'a> {
    /// Rows with the numbers `items`, and their values against the items `columns`, row by row.
    ///
    /// # Errors
    /// If the number of values is not the number of rows times that of columns, an item has two columns, or the number of an item is
    /// `u64::MAX`.
    pub fn new(items: &[u64], columns: &[u64], values: &'a [f64]) -> Result<Self> {
        let mut places = HashMap::with_capacity(columns.len());
        for (column, item) in columns.iter().enumerate() {
            if let Some(first) = places.insert(*item, column) {
                return Err(Error::config("kernel", format!("item {item} has the columns {first} and {column}, expected one")));
            }
        }
        KernelRows::of(items, Columns::Listed(places), columns.len(), values)
    }

    /// Rows with the numbers `items`, and their values against the items 0 to `count` - 1, row by row: rows of a Gram matrix.
    ///
    /// # Errors
    /// As [`KernelRows::new`].
    pub fn of_first(items: &[u64], count: usize, values: &'a [f64]) -> Result<Self> {
        KernelRows::of(items, Columns::First, count, values)
    }

    fn of(items: &[u64], columns: Columns, width: usize, values: &'a [f64]) -> Result<Self> {
        let expected = items.len() * width;
        if values.len() != expected {
            let expected = format!("{expected}, {width} for each of {} rows", items.len());
            return Err(Error::shape("kernel values", expected, values.len()));
        }
        if items.contains(&NO_ITEM) {
            return Err(Error::config("kernel", format!("the number {NO_ITEM} of an item is reserved: use a smaller one")));
        }
        let mut rows = KernelRows { items: items.to_vec(), columns, width, values, squares: Vec::new() };
        rows.squares = (0..items.len()).map(|i| rows.value(i, items[i]).unwrap_or(0.0) as f32).collect();
        Ok(rows)
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The numbers of the rows.
    pub fn items(&self) -> &[u64] {
        &self.items
    }

    /// The values of a row, column by column.
    pub(crate) fn row(&self, row: usize) -> &'a [f64] {
        &self.values[row * self.width..(row + 1) * self.width]
    }

    /// The column of an item.
    pub(crate) fn column(&self, item: u64) -> Option<usize> {
        match &self.columns {
            Columns::First => usize::try_from(item).ok().filter(|column| *column < self.width),
            Columns::Listed(places) => places.get(&item).copied(),
        }
    }

    /// The value of a row against an item.
    pub(crate) fn value(&self, row: usize, item: u64) -> Option<f64> {
        self.column(item).map(|column| self.values[row * self.width + column])
    }
}

/// Consecutive rows of [`KernelRows`].
#[derive(Clone, Copy, Debug)]
pub struct GivenRows<'a> {
    all: &'a KernelRows<'a>,
    first: usize,
    count: usize,
}

impl<'a> GivenRows<'a> {
    pub(crate) fn new(all: &'a KernelRows<'a>) -> Self {
        GivenRows { all, first: 0, count: all.len() }
    }

    pub(crate) fn count(self) -> usize {
        self.count
    }

    pub(crate) fn range(self, rows: Range<usize>) -> Self {
        GivenRows { first: self.first + rows.start, count: rows.len(), ..self }
    }

    /// k(x, x) of each row in single precision.
    pub(crate) fn squares(self) -> &'a [f32] {
        &self.all.squares[self.first..self.first + self.count]
    }

    pub(crate) fn items(self) -> &'a [u64] {
        &self.all.items[self.first..self.first + self.count]
    }

    /// The value of row `i` against an item; 0 for an empty slot. [`Learner`](crate::Learner) has checked that there is a column for
    /// every term and, if rows are learned, for every row.
    pub(crate) fn value(self, i: usize, item: u64) -> f64 {
        self.all.value(self.first + i, item).unwrap_or(0.0)
    }

    /// k(x, x) of row `i`.
    pub(crate) fn own(self, i: usize) -> f64 {
        self.value(i, self.items()[i])
    }

    /// The values of row `i`, column by column.
    pub(crate) fn row(self, i: usize) -> &'a [f64] {
        self.all.row(self.first + i)
    }

    /// The number of columns.
    pub(crate) fn width(self) -> usize {
        self.all.width
    }

    /// The column of an item, and the item of a column.
    pub(crate) fn column(self, item: u64) -> Option<usize> {
        self.all.column(item)
    }

    pub(crate) fn item_of(self, column: usize) -> u64 {
        match &self.all.columns {
            Columns::First => column as u64,
            Columns::Listed(places) => {
                places.iter().find(|(_, place)| **place == column).map_or(column as u64, |(item, _)| *item)
            }
        }
    }
}

/// Items in numbered slots, with the inner products that were given for them.
#[derive(Clone, Debug)]
pub struct Given<K> {
    kernels: Vec<K>,
    backend: Backend,
    features: usize,
    items: Vec<u64>,
    /// k(x, x) of every slot, and the same in single precision.
    own: Vec<f64>,
    squares: Vec<f32>,
    /// The values of slot s against the slots j < s, at s (s - 1) / 2 + j.
    between: Vec<f32>,
}

/// The place of the value of two slots.
fn place(a: usize, b: usize) -> usize {
    let (high, low) = (a.max(b), a.min(b));
    high * high.saturating_sub(1) / 2 + low
}

impl<K: DotKernel> Given<K> {
    /// An empty space.
    pub fn new(kernels: Vec<K>, backend: Backend) -> Self {
        Given { kernels, backend, features: 0, items: Vec::new(), own: Vec::new(), squares: Vec::new(), between: Vec::new() }
    }

    /// The item of a slot; none if the slot is empty.
    pub fn item(&self, slot: usize) -> Option<u64> {
        self.items.get(slot).copied().filter(|item| *item != NO_ITEM)
    }

    /// k(x, x) of the item of a slot.
    pub(crate) fn own(&self, slot: usize) -> f64 {
        self.own[slot]
    }

    /// The value of the items of two slots.
    pub(crate) fn between(&self, a: usize, b: usize) -> f64 {
        if a == b { self.own[a] } else { self.between[place(a, b)].into() }
    }

    /// The items of the first slots; [`NO_ITEM`] for empty ones.
    pub(crate) fn items(&self, slots: usize) -> &[u64] {
        &self.items[..slots]
    }

    /// k(x, x) of the first slots, and the values between them.
    pub(crate) fn values(&self, slots: usize) -> (&[f64], &[f32]) {
        (&self.own[..slots], &self.between[..place(slots, 0)])
    }

    /// Restores the items of the first slots and their values.
    pub(crate) fn restore(&mut self, items: &[u64], own: &[f64], between: &[f32]) {
        self.reserve(items.len());
        self.items[..items.len()].copy_from_slice(items);
        self.own[..own.len()].copy_from_slice(own);
        self.squares.iter_mut().zip(own).for_each(|(square, own)| *square = *own as f32);
        self.between[..between.len()].copy_from_slice(between);
    }

    pub(crate) fn kernels(&self) -> &[K] {
        &self.kernels
    }

    pub(crate) fn replace_kernel(&mut self, plane: usize, kernel: K) {
        self.kernels[plane] = kernel;
    }

    /// 1, the number of the item; 0 before the first row.
    pub(crate) fn features(&self) -> usize {
        self.features
    }

    pub(crate) fn widen(&mut self, features: usize) {
        self.features = features;
    }

    /// Writes the number of the item of a slot.
    pub(crate) fn centre(&self, slot: usize, out: &mut [f32]) {
        out.fill(self.items[slot] as f32);
    }

    pub(crate) fn diagonal_at(&self, xx: f32, out: &mut [f64]) {
        out.iter_mut().zip(&self.kernels).for_each(|(out, kernel)| *out = kernel.eval(xx, xx, xx).into());
    }
}

impl<K: DotKernel + Clone> Given<K> {
    /// A copy with only some of the kernels.
    pub(crate) fn under(&self, planes: Range<usize>) -> Self {
        Given { kernels: self.kernels[planes].to_vec(), ..self.clone() }
    }

    pub(crate) fn emptied(&self) -> Self {
        Given { features: self.features, ..Given::new(self.kernels.clone(), self.backend) }
    }
}

impl<K: DotKernel> Space for Given<K> {
    type Rows<'a> = GivenRows<'a>;

    fn count(rows: GivenRows<'_>) -> usize {
        rows.count
    }

    fn range<'a>(rows: Self::Rows<'a>, from: usize, to: usize) -> Self::Rows<'a> {
        rows.range(from..to)
    }

    fn planes(&self) -> usize {
        self.kernels.len()
    }

    fn reserve(&mut self, slots: usize) {
        let slots = slots.max(self.items.len()).next_multiple_of(LANES);
        self.items.resize(slots, NO_ITEM);
        self.own.resize(slots, 0.0);
        self.squares.resize(slots, 0.0);
        let values = place(slots, 0);
        if values > self.between.capacity() {
            self.between.reserve_exact(values + values / 16 - self.between.len());
        }
        self.between.resize(values, 0.0);
    }

    fn put(&mut self, slot: usize, rows: GivenRows<'_>, i: usize) {
        for other in (0..self.items.len()).filter(|other| *other != slot) {
            self.between[place(slot, other)] = rows.value(i, self.items[other]) as f32;
        }
        self.items[slot] = rows.items()[i];
        self.own[slot] = rows.own(i);
        self.squares[slot] = self.own[slot] as f32;
    }

    fn clear(&mut self, slot: usize) {
        for other in (0..self.items.len()).filter(|other| *other != slot) {
            self.between[place(slot, other)] = 0.0;
        }
        (self.items[slot], self.own[slot], self.squares[slot]) = (NO_ITEM, 0.0, 0.0);
    }

    fn is(&mut self, slot: usize, rows: GivenRows<'_>, i: usize) -> bool {
        let (xx, yy) = (rows.own(i), self.own[slot]);
        self.item(slot).is_some_and(|item| (xx + yy - 2.0 * rows.value(i, item)).abs() <= SAME * (xx + yy))
    }

    fn against_terms(&self, rows: GivenRows<'_>, slots: usize, block: &mut Block) {
        let Values { data, plane, stride } = block.terms_mut();
        for r in 0..rows.count {
            let xx = rows.squares()[r];
            for (p, kernel) in self.kernels.iter().enumerate() {
                let out = &mut data[p * plane + r * stride..][..slots];
                out.iter_mut().zip(&self.items).for_each(|(out, item)| *out = rows.value(r, *item) as f32);
                kernel.map(self.backend, xx, &self.squares[..slots], out);
            }
        }
    }

    fn among_rows(&self, rows: GivenRows<'_>, block: &mut Block) {
        let (items, squares) = (rows.items(), rows.squares());
        for (later, earlier) in (0..rows.count).flat_map(|later| (0..later).map(move |earlier| (later, earlier))) {
            let dot = rows.value(later, items[earlier]) as f32;
            for (p, kernel) in self.kernels.iter().enumerate() {
                block.set_own(p, later, earlier, kernel.eval(dot, squares[later], squares[earlier]));
            }
        }
    }

    fn self_values(&self, rows: GivenRows<'_>, i: usize, out: &mut [f64]) {
        self.diagonal_at(rows.squares()[i], out);
    }

    fn term_self_values(&self, slot: usize, out: &mut [f64]) {
        self.diagonal_at(self.squares[slot], out);
    }

    fn pairs(&mut self, slot: usize, rows: GivenRows<'_>, i: usize, out: &mut [Pair]) {
        let (xx, dot, yy) = (rows.own(i), rows.value(i, self.items[slot]), self.own[slot]);
        let pair = TwoRows { dot, xx, yy, apart2: xx + yy - 2.0 * dot, tilt: xx - yy, manhattan: 0.0 };
        out.iter_mut().zip(&self.kernels).for_each(|(out, kernel)| *out = kernel.pair(&pair));
    }

    fn term_row(&mut self, slot: usize, slots: usize, planes: Range<usize>, out: &mut [f32]) {
        for (kernel, out) in self.kernels[planes].iter().zip(out.chunks_exact_mut(slots)) {
            let value = |other| if other == slot { self.squares[slot] } else { self.between[place(slot, other)] };
            out.iter_mut().enumerate().for_each(|(other, out)| *out = value(other));
            kernel.map(self.backend, self.squares[slot], &self.squares[..slots], out);
        }
    }

    fn backend(&self) -> Backend {
        self.backend
    }

    fn bytes(&self) -> usize {
        let per_slot = size_of::<u64>() + size_of::<f64>() + size_of::<f32>();
        self.items.capacity() * per_slot + self.between.capacity() * size_of::<f32>()
    }
}
