//! The [`Basis`] of functions that f is a weighted sum of: one function per stored term ([`terms::Terms`]), or the features
//! ([`weights::Weights`]).
//!
//! A [`Space`] holds the centres of terms and computes kernel values. [`Dense`] holds f32 rows in the micro-kernel's panels.
//! [`Operators`] holds centres of any type with an [`OperatorKernel`], one plane per entry of its matrix. [`Items`] is the
//! special case of one output with a plain [`Kernel`](crate::parts::kernel::Kernel). [`given::Given`] holds centres whose kernel values
//! the caller has computed. In every space a kernel value depends on its
//! two points alone, so that blocks give exactly the same results as single rows.
//!
//! ```
//! use okl::basis::OperatorKernel;
//!
//! /// Two outputs, the second of which is the first with a delay of 1: K_pq(a, b) = k(a - b + q - p), k(s) = 1 / (1 + |s|).
//! struct Delayed;
//! impl OperatorKernel<f64> for Delayed {
//!     fn outputs(&self) -> usize { 2 }
//!     fn eval(&self, a: &f64, b: &f64, out: &mut [f64]) {
//!         let k = |shift: f64| 1.0 / (1.0 + (a - b + shift).abs());
//!         out.copy_from_slice(&[k(0.0), k(1.0), k(-1.0), k(0.0)]);
//!     }
//! }
//! let centres = okl::basis::Operators::<f64, _>::of(Delayed);
//! assert!(centres.centre(0).is_none());
//! ```

#[doc(hidden)]
pub mod block;
pub mod dense;
pub mod either;
pub mod fourier;
pub mod given;
pub mod items;
pub mod quadratic;
pub(crate) mod settled;
pub mod sparse;
pub mod terms;
pub(crate) mod unscaled;
pub mod vectors;
pub(crate) mod weighted;
pub mod weights;

pub use dense::{Dense, Points};
pub use items::{Items, OneOutput, OperatorKernel, Operators};

use std::ops::Range;

use crate::basis::block::Block;
use crate::basis::terms::Terms;
use crate::gram::{Backend, Packed, Panels};
use crate::parts::kernel::{AnyKernel, DotKernel, Pair};

/// The type of the rows of a basis.
pub type RowsOf<'a, B> = <<B as Basis>::Space as Space>::Rows<'a>;

/// A basis of functions phi_i: f(x) = sum_i a_i phi_i(x). All heads share one basis; each head has its own coordinates a.
///
/// For terms, the basis functions are k(x_i, .), one per stored centre. For weights, they are the features of x. Both evaluate f
/// as the same weighted sum and use the same code for shrinking, norms, offsets, averages, certificates and banks. They differ
/// only in how a new k(x, .) is written ([`Basis::form`]).
///
/// Law: the values of a row depend on that row and on the basis functions alone, never on the other rows of the block.
pub trait Basis: Send + Sync {
    /// The type of the rows, and the storage of the terms' centres.
    type Space: Space;
    /// The space behind the basis.
    fn space(&self) -> &Self::Space;
    /// Values per pair of a row and a basis function.
    fn planes(&self) -> usize {
        self.space().planes()
    }
    /// The number of basis functions, rounded up to whole panels: the length of a row of values.
    fn row_len(&self) -> usize;
    /// Computes the values of up to 32 rows against the basis functions. If the block is `learned`, also computes the values of
    /// the rows against each other, which later rows need when earlier rows become terms.
    fn begin(&self, rows: RowsOf<'_, Self>, block: &mut Block, learned: bool);
    /// As [`Basis::begin`] for a block that is learned, for some of the basis functions only; the values of the others are not
    /// read.
    fn begin_partly(&self, rows: RowsOf<'_, Self>, block: &mut Block, _slots: &[Range<usize>]) {
        self.begin(rows, block, true);
    }
    /// The number of basis functions.
    fn slots(&self) -> usize {
        self.row_len()
    }
    /// Where chunks are kept elsewhere: the numbers of the chunks that are here, in order.
    fn places(&self) -> &[usize] {
        &[]
    }
    /// k(x, x) of row `i`, one value per plane.
    fn self_values(&self, rows: RowsOf<'_, Self>, i: usize, out: &mut [f64]);
    /// Whether learning a row leaves most coefficients unchanged.
    fn settles(&self) -> bool {
        true
    }
    /// How a new k(x, .) is written.
    fn form(&mut self) -> Form<'_, Self::Space>;
    /// The number of bytes held.
    fn bytes(&self) -> usize;
}

/// How a new k(x, .) is written, for each kind of basis.
pub enum Form<'a, P> {
    /// Into a slot of its own; a budget may first have to evict a term.
    Terms(&'a mut Terms<P>),
    /// Added to the weights: k(x, .) = sum_i phi_i(x) phi_i.
    Weights,
}

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
    /// Empties a slot whose term was removed; no other term takes its place now.
    fn clear(&mut self, _slot: usize) {}
    /// Whether input `i` of `rows` equals the centre of this slot.
    fn is(&mut self, slot: usize, rows: Self::Rows<'_>, i: usize) -> bool;
    /// Writes the values of every row against every slot below `slots` (a multiple of 32) into the block.
    fn against_terms(&self, rows: Self::Rows<'_>, slots: usize, block: &mut Block);
    /// As [`Space::against_terms`] for some of the slots (multiples of 32).
    fn against_some(&self, rows: Self::Rows<'_>, slots: Range<usize>, block: &mut Block) {
        self.against_terms(rows, slots.end, block);
    }
    /// The rows, if they are dense.
    fn points<'a>(_rows: Self::Rows<'a>) -> Option<Points<'a>> {
        None
    }
    /// The centres, if they are dense rows in panels.
    fn packed_terms(&self) -> Option<Packed<'_>> {
        None
    }
    /// Removes some slots, which are whole panels. Those behind them move forward. Only spaces with [`Space::packed_terms`] need it.
    fn remove_slots(&mut self, _slots: Range<usize>) {
        unreachable!("these centres are not kept elsewhere")
    }
    /// Inserts whole panels of centres with their squared norms in front of a slot. Only spaces with [`Space::packed_terms`] need it.
    fn insert_centres(&mut self, _slot: usize, _centres: Panels, _squares: &[f32]) {
        unreachable!("these centres are not kept elsewhere")
    }
    /// The kernels of the planes, if all of them are built in.
    fn built_in_kernels(&self) -> Option<Vec<AnyKernel>> {
        None
    }
    /// Writes the values of every row against the rows before it into the block; where kernels are radial, against all rows.
    fn among_rows(&self, rows: Self::Rows<'_>, block: &mut Block);
    /// k(x, x) of input `i`, one value per plane.
    fn self_values(&self, rows: Self::Rows<'_>, i: usize, out: &mut [f64]);
    /// k(x, x) of a centre, one value per plane.
    fn term_self_values(&self, slot: usize, out: &mut [f64]);
    /// k(x, x), one value per plane, if it is the same for all x.
    fn diagonal(&self) -> Option<&[f64]> {
        None
    }
    /// The values of one centre against every slot below `slots` for some planes, plane by plane: K(x_slot, x_j).
    fn term_row(&mut self, slot: usize, slots: usize, planes: Range<usize>, out: &mut [f32]);
    /// The pair of input `i` and the centre of a slot (in this order) in double precision, one per plane. The residual of a
    /// projection of one onto the other is computed from these.
    fn pairs(&mut self, slot: usize, rows: Self::Rows<'_>, i: usize, out: &mut [Pair]);
    /// The backend that computes sums over terms.
    fn backend(&self) -> Backend {
        Backend::best()
    }
    /// The number of threads that share work on this space.
    fn threads(&self) -> usize {
        1
    }
    /// The kernel of a plane, if the kernels of all planes are functions of distance. Then two terms can be merged at a point on the
    /// line through their centres.
    fn radial(&self, _plane: usize) -> Option<&dyn DotKernel> {
        None
    }
    /// The squared distances of one centre from every slot below `slots` (a multiple of 32), as the kernel of a plane sees them, where
    /// kernels are radial.
    fn distances2(&mut self, _plane: usize, _slot: usize, _slots: usize, _out: &mut [f32]) {}
    /// The squared distance of two centres in double precision, as the kernel of a plane sees it, where kernels are radial.
    fn apart2(&mut self, _plane: usize, _a: usize, _b: usize) -> f64 {
        0.0
    }
    /// Replaces the centre of `into` by h x_from + (1 - h) x_into, and writes the pairs (from, into), (from, new), (into, new) of
    /// each plane. With h = 0 the centre stays what it is.
    fn blend(&mut self, _into: usize, _from: usize, _h: f64, _pairs: &mut [[Pair; 3]]) {}
    /// Recomputes the column of a slot whose centre was blended, for the rows of the block.
    fn refresh(&mut self, _slot: usize, _block: &mut Block) {}
    /// The number of bytes held.
    fn bytes(&self) -> usize {
        0
    }
}
