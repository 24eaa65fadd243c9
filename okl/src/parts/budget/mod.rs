//! Budgets: rules that choose which term is removed for a new one, and which terms are dropped because they are old or their norm
//! is small.
//!
//! ```
//! use okl::budget::{Budget, Room, Sight};
//!
//! /// Keeps the first `terms` terms and no others: every later term replaces the last one.
//! struct Stubborn { terms: usize }
//! impl Budget for Stubborn {
//!     fn room(&mut self, sight: &mut dyn Sight) -> Room {
//!         if sight.terms() < self.terms { Room::Fresh } else { Room::Drop(self.terms - 1) }
//!     }
//! }
//! ```
//!
//! A budget decides; the engine applies the decision to every head and records the norm of what is lost (law 5).
//! When a budget sweeps over all terms depends only on the number of examples, never on the blocks.

mod age;
mod built_in;
mod forgetron;
mod merge;
mod rule;
mod sweep;
mod transfer;

pub use age::olok_t0;
pub use built_in::AnyBudget;
pub use rule::BudgetRule;

use crate::gram::{Backend, Score};
use crate::parts::kernel::DotKernel;

/// A budget's decision: which slot the new term gets, and what happens to the term in it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Room {
    /// A hole, or a new slot at the end.
    Fresh,
    /// The slot of this term, which is dropped.
    Drop(usize),
    /// The slot of this term, which is first projected onto the new one: a_t += a_r k_rt / k_tt.
    Transfer(usize),
    /// The slot `from`: it is merged into `into` at h x_from + (1 - h) x_into. Where kernels are not radial, `from` is dropped.
    Merge {
        /// The term that leaves its slot.
        from: usize,
        /// The term that moves to the merged centre.
        into: usize,
        /// The position on the line through the two centres: 0 at x_into, 1 at x_from.
        h: f64,
    },
    /// The slot of this term, which is dropped after f and the new term were multiplied by phi.
    Forget {
        /// The oldest term.
        slot: usize,
        /// The factor.
        phi: f64,
    },
}

/// The coefficients of the leading head, where there is one number per term and k(x, x) = 1: alpha_j = `scale` `stored[j]`, and the
/// squared norm of a term is alpha_j².
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Single<'a> {
    /// One number per slot, rounded up to whole panels of 32 slots; 0 for a hole and for a slot that does not exist.
    pub stored: &'a [f64],
    /// The factor.
    pub scale: f64,
}

/// A budget's view of the learner: the terms of the leading head, and the example whose term is about to be added.
pub trait Sight {
    /// The number of this example.
    fn t(&self) -> u64;
    /// The number of live terms.
    fn terms(&self) -> usize;
    /// For each slot, the number of the example that wrote it; 0 for a hole.
    fn births(&self) -> &[u64];
    /// |alpha_i k(x_i, .)|² for each slot; 0 for a hole.
    fn norms2(&mut self, out: &mut Vec<f64>);
    /// The coefficients, where there is one per term and all k(x, x) are 1.
    fn single(&self) -> Option<Single<'_>>;
    /// k(x_i, x_i).
    fn self_value(&mut self, slot: usize) -> f64;
    /// alpha_slot^T J alpha_j for every slot j.
    fn products(&mut self, slot: usize, out: &mut Vec<f64>);
    /// k(x_t, x_j) for every slot j.
    fn row(&self) -> &[f32];
    /// k(x_t, x_t).
    fn own_value(&self) -> f64;
    /// k(x_slot, x_j) for every slot j.
    fn term_row(&mut self, slot: usize, out: &mut Vec<f32>);
    /// Finds the values of [`Sight::term_row`] for [`Sight::found_term_row`]. If the term was added a few rows ago, they are there already.
    fn find_term_row(&mut self, slot: usize);
    /// k(x_slot, x_j) for every slot j, where `slot` is that of the last call of [`Sight::find_term_row`].
    fn found_term_row(&self) -> &[f32];
    /// The kernel of the leading head, if the kernels of all heads are functions of distance; see [`Room::Merge`].
    fn radial(&self) -> Option<&dyn DotKernel>;
    /// |x_slot - x_j|² for every slot j, where kernels are radial.
    fn distances2(&mut self, slot: usize, out: &mut Vec<f32>);
    /// |x_a - x_b|² in double precision, where kernels are radial.
    fn apart2(&mut self, a: usize, b: usize) -> f64;
    /// (alpha_slot, f(x_slot)) of the first output; f includes the term that is about to be added.
    fn value_at(&mut self, slot: usize) -> (f64, f64);
    /// The step size of this step.
    fn eta(&self) -> f64;
    /// The current truncation certificate of the leading head.
    fn truncation(&self) -> f64;
    /// For each slot, the largest norm that any head or average would lose if its term were dropped.
    fn largest_losses(&mut self, out: &mut Vec<f64>);
    /// The number of these terms that can be dropped, in this order, while the certificates of all heads and averages stay at or below
    /// `limit`.
    fn affordable(&mut self, slots: &[usize], limit: f64) -> usize;
    /// k(x, x), if it is the same for all x.
    fn diagonal(&self) -> Option<f64>;
    /// The backend for elementwise work.
    fn backend(&self) -> Backend;
}

/// A rule that bounds the number of terms or the truncation error.
///
/// Law: a decision depends only on the [`Sight`] and on the budget's own state.
pub trait Budget: Send + Sync {
    /// Chooses the slot for the new term. Called once per new term, after f was shrunk.
    fn room(&mut self, sight: &mut dyn Sight) -> Room;
    /// Whether [`Budget::expired`] may name a slot at the end of example `t`. The engine calls this first, because it is cheap.
    fn looks(&self, t: u64) -> bool {
        let _ = t;
        true
    }
    /// Names the slots to drop at the end of a step.
    fn expired(&mut self, sight: &mut dyn Sight, out: &mut Vec<usize>) {
        let _ = (sight, out);
    }
    /// The truncation certificate that no head may exceed by a projection onto another term; see [`BudgetRule::Certified`].
    fn limit(&self) -> f64 {
        f64::INFINITY
    }
    /// Called after all terms were removed because all coefficients were zero. The next terms get the slots 0, 1, 2, ...
    fn cleared(&mut self) {}
    /// Whether most chunks of 1,024 slots do not change while a block is learned. Then sums over them are computed for all rows at once.
    fn settles(&self) -> bool {
        false
    }
    /// For a budget that overwrites the oldest term, slot after slot and then from the first slot on: the number of slots, and the slot
    /// that is overwritten next.
    fn ring(&self) -> Option<(usize, usize)> {
        None
    }
    /// For a budget that drops terms by their age: at the end of example `t`, terms that were born at this time or before are gone.
    fn drops_until(&self, t: u64) -> u64 {
        let _ = t;
        0
    }
    /// Terms that were kept elsewhere are in sight again; the oldest one was born at this time.
    fn came_back(&mut self, oldest: u64) {
        let _ = oldest;
    }
    /// Bytes held that grow with the number of terms.
    fn bytes(&self) -> usize {
        0
    }
}

/// The index of the least value; the first one in case of a tie, 0 if there is none.
fn first_least(values: &[f64]) -> usize {
    first_of(values, f64::INFINITY, |a, b| a < b)
}

/// The index of the first value that no other precedes, 0 if there is none; `last` is preceded by all others. Only the chunk that
/// has this value is searched for it, so that the rest vectorises.
fn first_of<T: Copy + PartialEq>(values: &[T], last: T, precedes: impl Fn(T, T) -> bool) -> usize {
    const LANES: usize = 8;
    const CHUNK: usize = 16 * LANES;
    let first = |a: T, b: T| if precedes(b, a) { b } else { a };
    let (mut best, mut start) = (last, 0);
    for (number, chunk) in values.chunks(CHUNK).enumerate() {
        let (whole, rest) = chunk.as_chunks::<LANES>();
        let mut lanes = [last; LANES];
        whole.iter().for_each(|values| lanes.iter_mut().zip(values).for_each(|(lane, v)| *lane = first(*lane, *v)));
        let found = lanes.iter().chain(rest).fold(last, |found, v| first(found, *v));
        if precedes(found, best) {
            (best, start) = (found, number * CHUNK);
        }
    }
    start + values[start..].iter().position(|v| *v == best).unwrap_or(0)
}

/// Sets the values of all holes to infinity, so that [`first_least`] does not find them.
fn hide_holes(values: &mut [f64], sight: &dyn Sight) {
    let births = sight.births();
    if sight.terms() < births.len() {
        values.iter_mut().zip(births).filter(|(_, birth)| **birth == 0).for_each(|(value, _)| *value = f64::INFINITY);
    }
}

/// Whether all slots are live.
fn no_holes(sight: &dyn Sight) -> bool {
    sight.terms() == sight.births().len()
}

/// alpha², from the stored coefficient.
#[derive(Clone, Copy)]
struct Norm2 {
    scale2: f64,
}

impl Norm2 {
    fn of(single: &Single<'_>) -> Self {
        Norm2 { scale2: single.scale * single.scale }
    }

    #[inline(always)]
    fn value(self, a: f64) -> f64 {
        self.scale2 * a * a
    }
}

impl Score<1, 0> for Norm2 {
    type Bits = u64;

    #[inline(always)]
    fn at(self, [a]: [f64; 1], _: [f32; 0]) -> u64 {
        self.value(a).to_bits()
    }
}

/// The workspace of a budget: one or more numbers per term. A clone of a budget starts with an empty workspace.
#[derive(Debug, Default)]
struct Work<T>(Vec<T>);

impl<T> Clone for Work<T> {
    fn clone(&self) -> Self {
        Work(Vec::new())
    }
}

impl<T> Work<T> {
    /// Makes room for one number per slot, so that nothing is allocated when the numbers are needed.
    fn reserve(&mut self, slots: usize) {
        self.0.reserve_exact(slots.saturating_sub(self.0.len()));
    }

    fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<T>()
    }
}
