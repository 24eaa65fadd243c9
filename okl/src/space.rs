//! Where the centres live and how kernel values against them are had.
//!
//! [`Dense`] holds f32 rows in the micro-kernel's panels; [`Operators`] holds anything a general [`OperatorKernel`]
//! understands, one plane per entry of the matrix; [`Items`] is its case of one output, a plain [`Kernel`].
//! Whatever the space, a value depends on its two points alone: that is what makes blocks exact.
//!
//! ```
//! use okl::space::OperatorKernel;
//!
//! /// Two outputs, the second of which is the first seen with a delay: K(a, b) = k J with k = 1 / (1 + |a - b|).
//! struct Delayed;
//! impl OperatorKernel<f64> for Delayed {
//!     fn outputs(&self) -> usize { 2 }
//!     fn eval(&self, a: &f64, b: &f64, out: &mut [f64]) {
//!         let k = |shift: f64| 1.0 / (1.0 + (a - b + shift).abs());
//!         out.copy_from_slice(&[k(0.0), k(1.0), k(-1.0), k(0.0)]);
//!     }
//! }
//! let centres = okl::space::Operators::<f64, _>::of(Delayed);
//! assert!(centres.centre(0).is_none());
//! ```

use std::ops::Range;

use crate::gram::{self, Backend, LANES, Panels, Rows};
use crate::kernel::{DotKernel, Kernel, Pair, TwoRows};
use crate::tile::{Tile, Values};

/// A set of centres in numbered slots, and kernel values between them and rows.
///
/// Laws: a value written for (row, slot) depends on that row and that centre alone, never on the other rows of the call;
/// values of an empty slot are finite. There are one or more `planes` of values per pair (sums of separable kernels,
/// entries of an operator-valued kernel).
pub trait Space: Send + Sync {
    /// A view of a block of inputs.
    type Rows<'a>: Copy;
    /// The number of inputs in a view.
    fn count(rows: Self::Rows<'_>) -> usize;
    /// Inputs `from..to` of a view.
    fn range<'a>(rows: Self::Rows<'a>, from: usize, to: usize) -> Self::Rows<'a>;
    /// Kernel values per pair of points.
    fn planes(&self) -> usize;
    /// Makes room for `slots` slots.
    fn reserve(&mut self, slots: usize);
    /// Stores input `i` of `rows` as the centre of a slot.
    fn put(&mut self, slot: usize, rows: Self::Rows<'_>, i: usize);
    /// Is input `i` of `rows` the centre of this slot?
    fn is(&mut self, slot: usize, rows: Self::Rows<'_>, i: usize) -> bool;
    /// Writes the values of every row against every slot below `slots` (a multiple of 32) into the tile.
    fn against_terms(&self, rows: Self::Rows<'_>, slots: usize, tile: &mut Tile);
    /// Writes the values of every row against the rows before it into the tile.
    fn among_rows(&self, rows: Self::Rows<'_>, tile: &mut Tile);
    /// k(x, x) of input `i`, one value per plane.
    fn self_values(&self, rows: Self::Rows<'_>, i: usize, out: &mut [f64]);
    /// k(x, x) of a centre, one value per plane.
    fn term_self_values(&self, slot: usize, out: &mut [f64]);
    /// k(x, x) of every centre, one value per plane, where it is the same for all x.
    fn diagonal(&self) -> Option<&[f64]> {
        None
    }
    /// The values of one centre against every slot below `slots` for some planes, plane by plane: K(x_slot, x_j).
    fn term_row(&mut self, slot: usize, slots: usize, planes: Range<usize>, out: &mut [f32]);
    /// The functions of input `i` and of the centre of a slot (in this order) in double precision, one pair per plane: what a
    /// projection of one onto the other loses is accounted for with these.
    fn pairs(&mut self, slot: usize, rows: Self::Rows<'_>, i: usize, out: &mut [Pair]);
    /// Which backend sums over terms.
    fn backend(&self) -> Backend {
        Backend::best()
    }
    /// How many threads share work on this space.
    fn threads(&self) -> usize {
        1
    }
    /// May terms be merged along the line between them (Gaussian kernels)?
    fn blends(&self) -> bool {
        false
    }
    /// Replaces the centre of `into` by h x_from + (1 - h) x_into;
    /// writes the pairs (from, into), (from, new), (into, new) of each plane.
    fn blend(&mut self, _into: usize, _from: usize, _h: f64, _pairs: &mut [[Pair; 3]]) {}
    /// Computes anew the column of a slot whose centre was blended, for the rows of the tile.
    fn refresh(&mut self, _slot: usize, _tile: &mut Tile) {}
    /// Bytes held.
    fn bytes(&self) -> usize {
        0
    }
}

/// Dense rows with their squared norms |x|², each computed by the one chain of [`gram::square`].
#[derive(Clone, Copy, Debug)]
pub struct Points<'a> {
    /// The rows.
    pub rows: Rows<'a>,
    /// Their squared norms.
    pub squares: &'a [f32],
}

/// f32 rows in panels under one or more kernels that share the inner products.
#[derive(Clone, Debug)]
pub struct Dense<K> {
    kernels: Vec<K>,
    panels: Panels,
    squares: Vec<f32>,
    backend: Backend,
    /// k(x, x) of each kernel, where it is the same for all x.
    diagonal: Option<Vec<f64>>,
    pub(crate) threads: usize,
    /// One or two centres taken out of the panels, and one between them.
    scratch: [Vec<f32>; 3],
}

impl<K: DotKernel> Dense<K> {
    /// No centres yet; `kernels` are the planes.
    pub fn new(kernels: Vec<K>, features: usize, backend: Backend) -> Self {
        let scratch = Default::default();
        let invariant = kernels.iter().all(DotKernel::translation_invariant);
        let diagonal = invariant.then(|| kernels.iter().map(|k| k.eval(0.0, 0.0, 0.0).into()).collect());
        Dense { kernels, panels: Panels::new(features), squares: Vec::new(), backend, diagonal, threads: 1, scratch }
    }

    /// The same centres under some of the kernels.
    pub(crate) fn under(&self, planes: Range<usize>) -> Self
    where
        K: Clone,
    {
        let diagonal = self.diagonal.as_ref().map(|values| values[planes.clone()].to_vec());
        Dense { kernels: self.kernels[planes].to_vec(), diagonal, ..self.clone() }
    }

    fn diagonal_at(&self, xx: f32, out: &mut [f64]) {
        match &self.diagonal {
            Some(values) => out.copy_from_slice(values),
            None => self.kernels.iter().zip(out).for_each(|(k, out)| *out = k.eval(xx, xx, xx).into()),
        }
    }

    /// The kernels, one per plane.
    pub fn kernels(&self) -> &[K] {
        &self.kernels
    }

    /// The number of features.
    pub fn features(&self) -> usize {
        self.panels.dim()
    }

    /// More features; the centres are zero there.
    pub fn widen(&mut self, features: usize) {
        self.panels.widen(features);
        self.scratch.iter_mut().filter(|x| !x.is_empty()).for_each(|x| x.resize(features, 0.0));
    }

    /// Values of rows against packed terms, under some of the kernels.
    fn values(&self, kernels: &[K], threads: usize, rows: Points<'_>, terms: &Panels, squares: &[f32], out: Values<'_>) {
        let Values { data: out, plane, stride } = out;
        let Points { rows, squares: row_squares } = rows;
        let run = |out: &mut [&mut [f32]]| {
            gram::kernel_rows(self.backend, threads, kernels, rows, row_squares, terms, squares, out, stride)
        };
        match kernels.len() {
            1 => run(&mut [out]),
            _ if terms.slots() == 0 => {}
            planes if planes <= FEW_PLANES => {
                let mut of_planes: [&mut [f32]; FEW_PLANES] = std::array::from_fn(|_| &mut [][..]);
                of_planes.iter_mut().zip(out.chunks_mut(plane)).for_each(|(to, plane)| *to = plane);
                run(&mut of_planes[..planes])
            }
            planes => run(&mut out.chunks_mut(plane).take(planes).collect::<Vec<_>>()),
        }
    }

    /// Copies the centre of a slot.
    pub fn centre(&self, slot: usize, out: &mut [f32]) {
        self.panels.get(slot, out);
    }
}

impl<K: DotKernel> Space for Dense<K> {
    type Rows<'a> = Points<'a>;

    fn count(rows: Points<'_>) -> usize {
        rows.squares.len()
    }

    fn range<'a>(rows: Self::Rows<'a>, from: usize, to: usize) -> Self::Rows<'a> {
        Points { rows: rows.rows.range(from..to), squares: &rows.squares[from..to] }
    }

    fn planes(&self) -> usize {
        self.kernels.len()
    }

    fn reserve(&mut self, slots: usize) {
        self.panels.reserve(slots);
        let slots = self.panels.slots();
        self.scratch.iter_mut().filter(|_| slots > 0).for_each(|x| x.resize(self.panels.dim(), 0.0));
        if slots > self.squares.len() {
            self.squares.reserve_exact((slots - self.squares.len()).max(self.squares.len() / 32));
            self.squares.resize(slots, 0.0);
        }
    }

    fn put(&mut self, slot: usize, rows: Points<'_>, i: usize) {
        self.panels.put(slot, rows.rows.row(i));
        self.squares[slot] = rows.squares[i];
    }

    fn is(&mut self, slot: usize, rows: Points<'_>, i: usize) -> bool {
        self.panels.get(slot, &mut self.scratch[0]);
        self.scratch[0] == rows.rows.row(i)
    }

    fn against_terms(&self, rows: Points<'_>, _slots: usize, tile: &mut Tile) {
        self.values(&self.kernels, self.threads, rows, &self.panels, &self.squares, tile.terms_mut());
    }

    fn among_rows(&self, rows: Points<'_>, tile: &mut Tile) {
        let count = rows.squares.len();
        for first in (0..count).step_by(LANES) {
            let group = Self::range(rows, first, count.min(first + LANES));
            let (packed, squares) = tile.pack(first / LANES, self.features());
            (0..group.squares.len()).for_each(|i| packed.put(i, group.rows.row(i)));
            squares[..group.squares.len()].copy_from_slice(group.squares);
            // Only what lies at or below the diagonal.
            for before in 0..=first / LANES {
                let (packed, squares, out) = tile.own_mut(first, before);
                self.values(&self.kernels, 1, group, packed, squares, out);
            }
        }
    }

    fn self_values(&self, rows: Points<'_>, i: usize, out: &mut [f64]) {
        self.diagonal_at(rows.squares[i], out);
    }

    fn term_self_values(&self, slot: usize, out: &mut [f64]) {
        self.diagonal_at(self.squares[slot], out);
    }

    fn diagonal(&self) -> Option<&[f64]> {
        self.diagonal.as_deref()
    }

    fn term_row(&mut self, slot: usize, slots: usize, planes: Range<usize>, out: &mut [f32]) {
        self.panels.get(slot, &mut self.scratch[0]);
        let (rows, square) = (Rows::one(&self.scratch[0]), [self.squares[slot]]);
        let out = Values { data: out, plane: slots, stride: slots };
        let point = Points { rows, squares: &square };
        self.values(&self.kernels[planes], self.threads, point, &self.panels, &self.squares, out);
    }

    fn pairs(&mut self, slot: usize, rows: Points<'_>, i: usize, out: &mut [Pair]) {
        self.panels.get(slot, &mut self.scratch[0]);
        let rows = TwoRows::new(rows.rows.row(i), &self.scratch[0]);
        self.kernels.iter().zip(out).for_each(|(kernel, pair)| *pair = kernel.pair(&rows));
    }

    fn backend(&self) -> Backend {
        self.backend
    }

    fn threads(&self) -> usize {
        self.threads
    }

    fn blends(&self) -> bool {
        self.kernels.iter().all(|k| k.gaussian_gamma().is_some())
    }

    fn blend(&mut self, into: usize, from: usize, h: f64, pairs: &mut [[Pair; 3]]) {
        let [a, b, z] = &mut self.scratch;
        self.panels.get(from, a);
        self.panels.get(into, b);
        let blend = |(a, b): (&f32, &f32)| (h * f64::from(*a) + (1.0 - h) * f64::from(*b)) as f32;
        z.iter_mut().zip(a.iter().zip(&*b).map(blend)).for_each(|(z, between)| *z = between);
        let zz = gram::square(z);
        let rows = [TwoRows::new(a, b), TwoRows::new(a, z), TwoRows::new(b, z)];
        for (kernel, pairs) in self.kernels.iter().zip(pairs) {
            *pairs = rows.map(|rows| kernel.pair(&rows));
        }
        self.panels.put(into, z);
        self.squares[into] = zz;
    }

    /// The chain of an inner product is symmetric, so the centre may stand where a row stands.
    fn refresh(&mut self, slot: usize, tile: &mut Tile) {
        self.panels.get(slot, &mut self.scratch[0]);
        let (rows, square) = (Rows::one(&self.scratch[0]), [self.squares[slot]]);
        let point = Points { rows, squares: &square };
        let (packed, column) = tile.replaced(slot);
        let plane = packed.len() * LANES;
        column.resize(self.kernels.len() * plane, 0.0);
        for (group, (packed, squares)) in packed.iter().enumerate() {
            let out = Values { data: &mut column[group * LANES..], plane, stride: LANES };
            self.values(&self.kernels, 1, point, packed, squares, out);
        }
    }

    fn bytes(&self) -> usize {
        self.panels.bytes() + self.squares.capacity() * size_of::<f32>()
    }
}

/// Up to so many planes, their slices lie on the stack.
const FEW_PLANES: usize = 64;

/// Up to so many entries, the matrix of an operator-valued kernel lies on the stack.
const FEW_ENTRIES: usize = 64;

/// A general operator-valued kernel K(x, x'): for each pair of inputs a matrix over the outputs.
///
/// Law: sum_ij c_i^T K(x_i, x_j) c_j >= 0. K need not be symmetric as a matrix; f(x) = sum_i K(x, x_i) a_i (E12).
pub trait OperatorKernel<X: ?Sized>: Send + Sync {
    /// The number of outputs d.
    fn outputs(&self) -> usize;
    /// Writes K(a, b), row by row, d x d.
    fn eval(&self, a: &X, b: &X, out: &mut [f64]);
}

/// An ordinary kernel as an operator-valued one with a single output.
#[derive(Clone, Copy, Debug)]
pub struct Scalar<K>(pub K);

impl<X: ?Sized, K: Kernel<X> + Send + Sync> OperatorKernel<X> for Scalar<K> {
    fn outputs(&self) -> usize {
        1
    }

    fn eval(&self, a: &X, b: &X, out: &mut [f64]) {
        out[0] = self.0.eval(a, b);
    }
}

/// Centres of any type under a general [`OperatorKernel`].
#[derive(Clone, Debug)]
pub struct Operators<X, K> {
    kernel: K,
    items: Vec<Option<X>>,
}

/// Centres of any type under a user's [`Kernel`]: strings, graphs, sets.
pub type Items<X, K> = Operators<X, Scalar<K>>;

impl<X, K> Operators<X, Scalar<K>> {
    /// No centres yet.
    pub fn new(kernel: K) -> Self {
        Operators::of(Scalar(kernel))
    }
}

impl<X, K> Operators<X, K> {
    /// No centres yet, under an operator-valued kernel.
    pub fn of(kernel: K) -> Self {
        Operators { kernel, items: Vec::new() }
    }

    /// The centre of a slot.
    pub fn centre(&self, slot: usize) -> Option<&X> {
        self.items.get(slot).and_then(Option::as_ref)
    }
}

impl<X, K: OperatorKernel<X>> Operators<X, K> {
    /// Every entry of K(a, b), plane by plane; zeros against an empty slot.
    fn each_entry(&self, a: &X, b: Option<&X>, mut write: impl FnMut(usize, f32)) {
        self.each_value(a, b, |plane, v| write(plane, v as f32));
    }

    /// As [`Operators::each_entry`], before it is rounded to single precision.
    fn each_value(&self, a: &X, b: Option<&X>, mut write: impl FnMut(usize, f64)) {
        let d = self.kernel.outputs();
        let (mut few, mut many) = ([0.0; FEW_ENTRIES], Vec::new());
        let matrix = if d * d <= FEW_ENTRIES {
            &mut few[..d * d]
        } else {
            many.resize(d * d, 0.0);
            &mut many[..]
        };
        if let Some(b) = b {
            self.kernel.eval(a, b, matrix);
        }
        matrix.iter().enumerate().for_each(|(plane, v)| write(plane, *v));
    }
}

impl<X: Clone + PartialEq + Send + Sync + 'static, K: OperatorKernel<X>> Space for Operators<X, K> {
    type Rows<'a> = &'a [X];

    fn count(rows: &[X]) -> usize {
        rows.len()
    }

    fn range<'a>(rows: Self::Rows<'a>, from: usize, to: usize) -> Self::Rows<'a> {
        &rows[from..to]
    }

    fn planes(&self) -> usize {
        self.kernel.outputs() * self.kernel.outputs()
    }

    fn reserve(&mut self, slots: usize) {
        let slots = slots.max(self.items.len()).next_multiple_of(LANES);
        self.items.resize(slots, None);
    }

    fn put(&mut self, slot: usize, rows: &[X], i: usize) {
        self.items[slot] = Some(rows[i].clone());
    }

    fn is(&mut self, slot: usize, rows: &[X], i: usize) -> bool {
        self.items[slot].as_ref() == Some(&rows[i])
    }

    fn against_terms(&self, rows: &[X], slots: usize, tile: &mut Tile) {
        let Values { data: out, plane, stride } = tile.terms_mut();
        for (r, x) in rows.iter().enumerate() {
            for slot in 0..slots {
                self.each_entry(x, self.items[slot].as_ref(), |p, v| out[p * plane + r * stride + slot] = v);
            }
        }
    }

    fn among_rows(&self, rows: &[X], tile: &mut Tile) {
        for r in 0..rows.len() {
            for i in 0..r {
                self.each_entry(&rows[r], Some(&rows[i]), |p, v| tile.set_own(p, r, i, v));
            }
        }
    }

    fn self_values(&self, rows: &[X], i: usize, out: &mut [f64]) {
        self.each_entry(&rows[i], Some(&rows[i]), |p, v| out[p] = v.into());
    }

    fn term_self_values(&self, slot: usize, out: &mut [f64]) {
        out.fill(0.0);
        if let Some(x) = &self.items[slot] {
            self.each_entry(x, Some(x), |p, v| out[p] = v.into());
        }
    }

    fn pairs(&mut self, slot: usize, rows: &[X], i: usize, out: &mut [Pair]) {
        let (x, y) = (&rows[i], self.items[slot].as_ref());
        // First the values themselves, then what they mean to each other.
        self.each_value(x, Some(x), |plane, v| out[plane].apart2 = v);
        self.each_value(x, y, |plane, v| out[plane].shared = v);
        out.iter_mut().for_each(|pair| pair.tilt = 0.0);
        if let Some(y) = y {
            self.each_value(y, Some(y), |plane, v| out[plane].tilt = v);
        }
        out.iter_mut().for_each(|pair| *pair = Pair::of_values(pair.apart2, pair.shared, pair.tilt));
    }

    fn term_row(&mut self, slot: usize, slots: usize, planes: Range<usize>, out: &mut [f32]) {
        out.fill(0.0);
        let Some(x) = &self.items[slot] else { return };
        for j in 0..slots {
            self.each_entry(x, self.items[j].as_ref(), |p, v| {
                if planes.contains(&p) {
                    out[(p - planes.start) * slots + j] = v;
                }
            });
        }
    }
}
