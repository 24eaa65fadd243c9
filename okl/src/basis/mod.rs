//! What f is made of: a [`Basis`] of functions, either one per stored term ([`terms::Terms`]) or the features ([`weights::Weights`]).
//!
//! A [`Space`] holds the centres of terms and computes kernel values: [`Dense`] holds f32 rows in the micro-kernel's panels; [`Operators`] holds anything a general [`OperatorKernel`]
//! understands, one plane per entry of the matrix; [`Items`] is its case of one output, a plain [`Kernel`](crate::parts::kernel::Kernel).
//! Whatever the space, a value depends on its two points alone: that is what makes blocks exact.
//!
//! ```
//! use okl::basis::OperatorKernel;
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
//! let centres = okl::basis::Operators::<f64, _>::of(Delayed);
//! assert!(centres.centre(0).is_none());
//! ```

pub mod block;
pub mod dense;
pub mod items;
pub(crate) mod settled;
pub mod terms;
pub mod weights;

pub use dense::{Dense, Points};
pub use items::{Items, OneOutput, OperatorKernel, Operators};

use std::ops::Range;

use crate::basis::block::Block;
use crate::basis::terms::Terms;
use crate::gram::Backend;
use crate::parts::kernel::Pair;

/// The rows of a basis.
pub type RowsOf<'a, B> = <<B as Basis>::Space as Space>::Rows<'a>;

/// What f is made of: f(x) = sum_i a_i phi_i(x). All heads share one basis; each has its own coordinates a.
///
/// Over terms the basis functions are k(x_i, .), one per stored centre; over weights they are the features of x. Reading f is the same
/// weighted sum in both, and so are shrinking, norms, offsets, averages, certificates and banks. One thing differs: how a new
/// k(x, .) is written ([`Basis::form`]).
///
/// Law: the values of a row depend on that row and on the basis functions alone, never on the other rows of the block.
pub trait Basis: Send + Sync {
    /// What the rows are, and where terms keep them.
    type Space: Space;
    /// The space behind the basis.
    fn space(&self) -> &Self::Space;
    /// Values per pair of a row and a basis function.
    fn planes(&self) -> usize {
        self.space().planes()
    }
    /// The number of basis functions, rounded up to whole panels: the length of a row of values.
    fn row_len(&self) -> usize;
    /// Computes the values of up to 32 rows. A block that is learned also has what later rows need of rows that become terms.
    fn begin(&self, rows: RowsOf<'_, Self>, block: &mut Block, learned: bool);
    /// k(x, x) of row `i`, one value per plane.
    fn self_values(&self, rows: RowsOf<'_, Self>, i: usize, out: &mut [f64]);
    /// How k(x, .) is written.
    fn form(&mut self) -> Form<'_, Self::Space>;
    /// Bytes held.
    fn bytes(&self) -> usize;
}

/// How k(x, .) is written, over each form of a basis.
pub enum Form<'a, P> {
    /// Into a slot of its own, for which a budget may have to make room.
    Terms(&'a mut Terms<P>),
    /// Along the values of the row: k(x, .) = sum_i phi_i(x) phi_i.
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
    /// Is input `i` of `rows` the centre of this slot?
    fn is(&mut self, slot: usize, rows: Self::Rows<'_>, i: usize) -> bool;
    /// Writes the values of every row against every slot below `slots` (a multiple of 32) into the block.
    fn against_terms(&self, rows: Self::Rows<'_>, slots: usize, block: &mut Block);
    /// Writes the values of every row against the rows before it into the block.
    fn among_rows(&self, rows: Self::Rows<'_>, block: &mut Block);
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
    /// Computes anew the column of a slot whose centre was blended, for the rows of the block.
    fn refresh(&mut self, _slot: usize, _block: &mut Block) {}
    /// Bytes held.
    fn bytes(&self) -> usize {
        0
    }
}
