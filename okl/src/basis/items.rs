//! Centres of any type with a user-defined kernel, scalar or operator-valued.

use std::ops::Range;

use crate::basis::Space;
use crate::basis::block::{Block, Values};
use crate::gram::LANES;
use crate::parts::kernel::{Kernel, Pair};

/// Up to this many entries, the matrix of an operator-valued kernel is kept on the stack.
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
pub struct OneOutput<K>(pub K);

impl<X: ?Sized, K: Kernel<X> + Send + Sync> OperatorKernel<X> for OneOutput<K> {
    fn outputs(&self) -> usize {
        1
    }

    fn eval(&self, a: &X, b: &X, out: &mut [f64]) {
        out[0] = self.0.eval(a, b);
    }
}

/// Centres of any type with a general [`OperatorKernel`].
#[derive(Clone, Debug)]
pub struct Operators<X, K> {
    kernel: K,
    items: Vec<Option<X>>,
}

/// Centres of any type with a user-defined [`Kernel`]: strings, graphs, sets.
pub type Items<X, K> = Operators<X, OneOutput<K>>;

impl<X, K> Operators<X, OneOutput<K>> {
    /// An empty space.
    pub fn new(kernel: K) -> Self {
        Operators::of(OneOutput(kernel))
    }
}

impl<X, K> Operators<X, K> {
    /// An empty space with an operator-valued kernel.
    pub fn of(kernel: K) -> Self {
        Operators { kernel, items: Vec::new() }
    }

    /// The centre of a slot.
    pub fn centre(&self, slot: usize) -> Option<&X> {
        self.items.get(slot).and_then(Option::as_ref)
    }
}

impl<X, K: OperatorKernel<X>> Operators<X, K> {
    /// Calls `write` with every entry of K(a, b), plane by plane; zeros for an empty slot.
    fn each_entry(&self, a: &X, b: Option<&X>, mut write: impl FnMut(usize, f32)) {
        self.each_value(a, b, |plane, v| write(plane, v as f32));
    }

    /// As [`Operators::each_entry`], without rounding to single precision.
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

    fn against_terms(&self, rows: &[X], slots: usize, block: &mut Block) {
        let Values { data: out, plane, stride } = block.terms_mut();
        for (r, x) in rows.iter().enumerate() {
            for slot in 0..slots {
                self.each_entry(x, self.items[slot].as_ref(), |p, v| out[p * plane + r * stride + slot] = v);
            }
        }
    }

    fn among_rows(&self, rows: &[X], block: &mut Block) {
        for r in 0..rows.len() {
            for i in 0..r {
                self.each_entry(&rows[r], Some(&rows[i]), |p, v| block.set_own(p, r, i, v));
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
        // The fields first hold k(x, x), k(x, y) and k(y, y); the last line turns them into pairs.
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
