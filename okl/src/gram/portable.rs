//! The loops, written once in portable Rust. `x86.rs` and `neon.rs` compile them for their instruction sets.
//!
//! Everything here is `inline(always)`: a loop is compiled for the instruction set of the function that it is inlined into.

use std::array::from_fn;

use super::chains::{Group, Link, Rows, sweep};
use super::panels::{Line, Matrix, Panel};
use super::row_lanes::RowLanes;
use super::window::Window;
use super::{CHUNK, LANES};

/// Work that can be compiled for any instruction set.
pub(super) trait Job {
    /// Does the work with the tiles of `T`.
    fn run<T: Tiling>(self);
}

/// How many rows and terms an instruction set holds in registers. The shape of a tile changes the speed, never a bit of the
/// result.
pub(super) trait Tiling: Sized {
    /// The number of rows of a full tile.
    const ROWS: usize;

    /// The chains of rows `first..first + count` with some panels, where `1 <= count <= ROWS`.
    fn tile<L: Link>(link: L, count: usize, rows: Rows<'_>, panels: Group<'_>, out: &mut Window<'_>);

    /// Brings a line that is needed soon into the second-level cache.
    #[inline(always)]
    fn fetch(_line: &Line) {}

    /// Computes one total per column.
    fn sums(k: &[f32], columns: &[&[f64]], out: &mut [f64]);

    /// Computes one total per column from the lanes of the first slots of a chunk and the kernel values of the others.
    #[inline(always)]
    fn totals_from(lanes: &[[f64; LANES]], k: &[f32], columns: &[&[f64]], out: &mut [f64]) {
        totals_by_one(lanes, k, columns, out);
    }

    /// Computes the lanes of every row and column within a chunk.
    #[inline(always)]
    fn row_lanes(job: RowLanes<'_>) {
        job.row_by_row();
    }
}

/// The instructions that the compilation target guarantees.
pub(super) struct Scalar;

impl Tiling for Scalar {
    const ROWS: usize = 1;

    #[inline(always)]
    fn tile<L: Link>(link: L, _: usize, rows: Rows<'_>, panels: Group<'_>, out: &mut Window<'_>) {
        sweep::<Self, L, 1, 1, 8>(link, rows, panels, out);
    }

    #[inline(always)]
    fn sums(k: &[f32], columns: &[&[f64]], out: &mut [f64]) {
        sums_by_one(k, columns, out);
    }
}

pub(super) struct Squares<'a> {
    pub(super) rows: Matrix<'a>,
    pub(super) out: &'a mut [f32],
}

impl Job for Squares<'_> {
    #[inline(always)]
    fn run<T: Tiling>(self) {
        for (group, out) in self.out.chunks_mut(SQUARED_TOGETHER).enumerate() {
            squares(self.rows, group * SQUARED_TOGETHER, out);
        }
    }
}

/// The number of rows whose squared norms are computed together, and the number of features of one row before the next row's turn.
const SQUARED_TOGETHER: usize = 8;
const SQUARED_FEATURES: usize = 8;

/// The squared norms of a few rows. Their chains take turns after some features, because a single chain waits for each multiply-add to
/// finish. Not one feature after the other: the optimiser would collect a feature of all rows in one vector, which takes five times as long.
#[inline(always)]
fn squares(rows: Matrix<'_>, first: usize, out: &mut [f32]) {
    out.fill(0.0);
    for start in (0..rows.dim()).step_by(SQUARED_FEATURES) {
        for (i, square) in out.iter_mut().enumerate() {
            let row = &rows.row(first + i)[start..];
            let mut acc = *square;
            for x in row.iter().take(SQUARED_FEATURES) {
                acc = x.mul_add(*x, acc);
            }
            *square = acc;
        }
    }
}

pub(super) struct WeightedSums<'a> {
    pub(super) k: &'a [f32],
    pub(super) columns: &'a [&'a [f64]],
    pub(super) out: &'a mut [f64],
}

impl Job for WeightedSums<'_> {
    #[inline(always)]
    fn run<T: Tiling>(self) {
        T::sums(self.k, self.columns, self.out);
    }
}

/// Rule 3 of the module, one column at a time.
#[inline(always)]
pub(super) fn sums_by_one(k: &[f32], columns: &[&[f64]], out: &mut [f64]) {
    for (a, total) in columns.iter().zip(out) {
        *total = 0.0;
        for (k, a) in k.chunks(CHUNK).zip(a.chunks(CHUNK)) {
            *total += tree(&lanes_of_one(k.as_chunks().0, a.as_chunks().0, [0.0; LANES]));
        }
    }
}

#[inline(always)]
pub(super) fn lanes_of_one(k: &[[f32; LANES]], a: &[[f64; LANES]], mut acc: [f64; LANES]) -> [f64; LANES] {
    for (k, a) in k.iter().zip(a) {
        accumulate(&mut acc, k, a);
    }
    acc
}

/// As `sums_by_one`, four columns at a time, so that `k` is converted to f64 once for the four.
#[inline(always)]
pub(super) fn sums_by_four(k: &[f32], columns: &[&[f64]], out: &mut [f64]) {
    let (fours, columns_rest) = columns.as_chunks::<4>();
    let (totals, totals_rest) = out.as_chunks_mut::<4>();
    for (four, totals) in fours.iter().zip(totals) {
        *totals = [0.0; 4];
        for start in (0..k.len()).step_by(CHUNK) {
            let end = k.len().min(start + CHUNK);
            let of_four = from_fn(|c| four[c][start..end].as_chunks().0);
            let lanes = lanes_of_four(k[start..end].as_chunks().0, of_four, [[0.0; LANES]; 4]);
            for (total, lanes) in totals.iter_mut().zip(&lanes) {
                *total += tree(lanes);
            }
        }
    }
    sums_by_one(k, columns_rest, totals_rest);
}

/// Uses `zip` rather than indices: a bounds check in the loop would keep the sums out of registers.
#[inline(always)]
fn lanes_of_four(k: &[[f32; LANES]], [a, b, c, d]: [&[[f64; LANES]]; 4], mut acc: [[f64; LANES]; 4]) -> [[f64; LANES]; 4] {
    for ((((k, a), b), c), d) in k.iter().zip(a).zip(b).zip(c).zip(d) {
        accumulate(&mut acc[0], k, a);
        accumulate(&mut acc[1], k, b);
        accumulate(&mut acc[2], k, c);
        accumulate(&mut acc[3], k, d);
    }
    acc
}

#[inline(always)]
fn accumulate(acc: &mut [f64; LANES], k: &[f32; LANES], column: &[f64; LANES]) {
    for l in 0..LANES {
        acc[l] = f64::from(k[l]).mul_add(column[l], acc[l]);
    }
}

/// The totals of rule 3 of a chunk, from the lanes of its first slots and the kernel values of the others.
pub(super) struct TotalsFrom<'a> {
    pub(super) lanes: &'a [[f64; LANES]],
    pub(super) k: &'a [f32],
    pub(super) columns: &'a [&'a [f64]],
    pub(super) out: &'a mut [f64],
}

impl Job for TotalsFrom<'_> {
    #[inline(always)]
    fn run<T: Tiling>(self) {
        T::totals_from(self.lanes, self.k, self.columns, self.out);
    }
}

#[inline(always)]
fn totals_by_one(lanes: &[[f64; LANES]], k: &[f32], columns: &[&[f64]], out: &mut [f64]) {
    for ((a, lanes), total) in columns.iter().zip(lanes).zip(out) {
        *total = tree(&lanes_of_one(k.as_chunks().0, a.as_chunks().0, *lanes));
    }
}

#[inline(always)]
pub(super) fn totals_by_four(lanes: &[[f64; LANES]], k: &[f32], columns: &[&[f64]], out: &mut [f64]) {
    let (fours, columns_rest) = columns.as_chunks::<4>();
    let (lanes, lanes_rest) = lanes.as_chunks::<4>();
    let (totals, totals_rest) = out.as_chunks_mut::<4>();
    for ((four, lanes), totals) in fours.iter().zip(lanes).zip(totals) {
        let lanes = lanes_of_four(k.as_chunks().0, from_fn(|c| four[c].as_chunks().0), *lanes);
        for (total, lanes) in totals.iter_mut().zip(&lanes) {
            *total = tree(lanes);
        }
    }
    totals_by_one(lanes_rest, k, columns_rest, totals_rest);
}

/// Adds lanes by halves: 16, 8, 4, 2, 1. Not inlined, because the optimiser would otherwise use shorter vectors in the long loop
/// before it.
#[inline(never)]
pub(super) fn tree(lanes: &[f64; LANES]) -> f64 {
    let lanes: [f64; 16] = from_fn(|l| lanes[l] + lanes[l + 16]);
    let lanes: [f64; 8] = from_fn(|l| lanes[l] + lanes[l + 8]);
    let lanes: [f64; 4] = from_fn(|l| lanes[l] + lanes[l + 4]);
    (lanes[0] + lanes[2]) + (lanes[1] + lanes[3])
}

/// A function of two numbers, applied to many pairs by [`Backend::map_values`](super::Backend::map_values).
///
/// This is a trait and not a closure, so that `at` can be `#[inline(always)]`: only inlined code uses the backend's instructions.
/// Results are bit-identical on all machines if `at` uses IEEE operations only. It vectorises if it has no calls and no branches
/// other than selections between two values.
pub trait Elementwise: Copy {
    /// The new value. Implement it `#[inline(always)]`.
    fn at(self, value: f32, other: f32) -> f32;
}

/// `count` numbers of every slice.
#[inline(always)]
pub(super) fn cut<T, const N: usize>(mut slices: [&[T]; N], start: usize, count: usize) -> [&[T]; N] {
    for slice in &mut slices {
        *slice = &slice[start..start + count];
    }
    slices
}

/// Number `i` of every slice. A loop, because `array::map` is not inlined into code for another instruction set.
#[inline(always)]
pub(super) fn each<T: Copy + Default, const N: usize>(slices: &[&[T]; N], i: usize) -> [T; N] {
    let mut numbers = [T::default(); N];
    for (number, slice) in numbers.iter_mut().zip(slices) {
        *number = slice[i];
    }
    numbers
}

/// A function of a number, `N` double-precision and `M` single-precision ones; as [`Elementwise`] in all else.
pub(crate) trait Combine<T, const N: usize, const M: usize>: Copy {
    /// The new value. Implement it `#[inline(always)]`.
    fn at(self, value: T, doubles: [f64; N], singles: [f32; M]) -> T;
}

pub(super) struct CombineValues<'a, T, const N: usize, const M: usize, F> {
    pub(super) doubles: [&'a [f64]; N],
    pub(super) singles: [&'a [f32]; M],
    pub(super) values: &'a mut [T],
    pub(super) f: F,
}

impl<T: Copy, const N: usize, const M: usize, F: Combine<T, N, M>> Job for CombineValues<'_, T, N, M, F> {
    #[inline(always)]
    fn run<I: Tiling>(self) {
        let count = self.values.len();
        let (doubles, singles) = (cut(self.doubles, 0, count), cut(self.singles, 0, count));
        for (i, value) in self.values.iter_mut().enumerate() {
            *value = self.f.at(*value, each(&doubles, i), each(&singles, i));
        }
    }
}

/// Work outside of this folder that is compiled once per instruction set, by [`Backend::compiled`](super::Backend::compiled). What it
/// calls is compiled for that instruction set only if it is `#[inline(always)]`. Its results are bit-identical on all machines if it
/// uses IEEE operations only.
pub(crate) trait Compiled {
    /// Does the work. Implement it `#[inline(always)]`.
    fn run(self);
}

pub(super) struct Plain<W>(pub(super) W);

impl<W: Compiled> Job for Plain<W> {
    #[inline(always)]
    fn run<T: Tiling>(self) {
        self.0.run();
    }
}

pub(super) struct MapValues<'a, F> {
    pub(super) others: &'a [f32],
    pub(super) values: &'a mut [f32],
    pub(super) f: F,
}

impl<F: Elementwise> Job for MapValues<'_, F> {
    #[inline(always)]
    fn run<T: Tiling>(self) {
        for (value, other) in self.values.iter_mut().zip(self.others) {
            *value = self.f.at(*value, *other);
        }
    }
}

/// One feature of a row against one array of values: continues the chain of rule 1 in every place.
pub(super) struct AddProduct<'a> {
    pub(super) x: f32,
    pub(super) column: &'a [f32],
    pub(super) out: &'a mut [f32],
}

impl Job for AddProduct<'_> {
    #[inline(always)]
    fn run<T: Tiling>(self) {
        for (acc, v) in self.out.iter_mut().zip(self.column) {
            *acc = self.x.mul_add(*v, *acc);
        }
    }
}

/// The chains of rule 1 for a sparse row: features that are zero are left out.
pub(super) struct SparseDots<'a> {
    pub(super) columns: &'a [u32],
    pub(super) values: &'a [f32],
    pub(super) panels: &'a [Panel],
    pub(super) out: &'a mut [f32],
}

impl Job for SparseDots<'_> {
    #[inline(always)]
    fn run<T: Tiling>(self) {
        for (panel, out) in self.panels.iter().zip(self.out.as_chunks_mut::<LANES>().0) {
            let mut acc = [0.0f32; LANES];
            for (column, x) in self.columns.iter().zip(self.values) {
                let line = &panel[*column as usize].0;
                for l in 0..LANES {
                    acc[l] = x.mul_add(line[l], acc[l]);
                }
            }
            *out = acc;
        }
    }
}

/// The same for a list of places and values.
pub(super) struct AddProductsAt<'a> {
    pub(super) x: f32,
    pub(super) list: &'a [(u32, f32)],
    pub(super) out: &'a mut [f32],
}

impl Job for AddProductsAt<'_> {
    #[inline(always)]
    fn run<T: Tiling>(self) {
        for (place, v) in self.list {
            if let Some(acc) = self.out.get_mut(*place as usize) {
                *acc = self.x.mul_add(*v, *acc);
            }
        }
    }
}

/// Rule 3 of the module for a row that is zero outside of `places`, which ascend. A chunk without a value adds 0.
pub(super) struct SparseSum<'a> {
    pub(super) places: &'a [u32],
    pub(super) values: &'a [f32],
    pub(super) column: &'a [f64],
    pub(super) out: &'a mut f64,
}

impl Job for SparseSum<'_> {
    #[inline(always)]
    fn run<T: Tiling>(self) {
        let SparseSum { places, values, column, out } = self;
        let (mut total, mut first) = (0.0, 0);
        while first < places.len() {
            let chunk = places[first] as usize / CHUNK;
            let mut end = first + 1;
            while end < places.len() && places[end] as usize / CHUNK == chunk {
                end += 1;
            }
            // The tree of one value and zeros is this value.
            total += match end - first {
                1 => f64::from(values[first]).mul_add(column[places[first] as usize], 0.0),
                _ => sparse_lanes(&places[first..end], &values[first..end], column),
            };
            first = end;
        }
        *out = total;
    }
}

#[inline(always)]
fn sparse_lanes(places: &[u32], values: &[f32], column: &[f64]) -> f64 {
    let mut acc = [0.0; LANES];
    for (place, value) in places.iter().zip(values) {
        let lane = &mut acc[*place as usize % LANES];
        *lane = f64::from(*value).mul_add(column[*place as usize], *lane);
    }
    tree(&acc)
}
