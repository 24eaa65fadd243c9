//! Budgets: which term makes room for the next one, and which have grown old or light.
//!
//! ```
//! use okl::budget::{Budget, Room, Sight};
//!
//! /// Keeps the first `terms` terms and no others: every later one takes the place of the one before it.
//! struct Stubborn { terms: usize }
//! impl Budget for Stubborn {
//!     fn room(&mut self, sight: &mut dyn Sight) -> Room {
//!         if sight.terms() < self.terms { Room::Fresh } else { Room::Drop(self.terms - 1) }
//!     }
//! }
//! ```
//!
//! A budget decides; the engine carries the decision out for every head and accounts for what is lost (law 5).
//! Sweeps over all terms happen at counts of examples, never at the edge of a block.

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

use crate::gram::Backend;

/// How the next term gets its slot.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Room {
    /// A hole, or one slot more.
    Fresh,
    /// The slot of this term, which is dropped.
    Drop(usize),
    /// The slot of this term, which is first projected onto the new one: a_t += a_r k_rt / k_tt.
    Transfer(usize),
    /// The slot `from`: it is merged into `into` at h x_from + (1 - h) x_into.
    Merge {
        /// The term that leaves its slot.
        from: usize,
        /// The term that moves to the merged centre.
        into: usize,
        /// How far.
        h: f64,
    },
    /// The slot of this term, dropped after everything, the new term included, was scaled by phi.
    Forget {
        /// The oldest term.
        slot: usize,
        /// The factor.
        phi: f64,
    },
}

/// What a budget sees of the learner: the leading head's terms, and the example about to be appended.
pub trait Sight {
    /// The number of this example.
    fn t(&self) -> u64;
    /// Live terms.
    fn terms(&self) -> usize;
    /// When each slot was written; 0 for a hole.
    fn births(&self) -> &[u64];
    /// |alpha_i k(x_i, .)|² for each slot; 0 for a hole.
    fn norms2(&mut self, out: &mut Vec<f64>);
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
    /// (alpha_slot, f(x_slot)) of the first output, the example about to be appended included.
    fn value_at(&mut self, slot: usize) -> (f64, f64);
    /// The step size of this step.
    fn eta(&self) -> f64;
    /// The truncation certificate as it stands.
    fn truncation(&self) -> f64;
    /// For each slot, the norm that dropping its term would take from the head that loses most, averages included.
    fn largest_losses(&mut self, out: &mut Vec<f64>);
    /// How many of these terms, dropped in this order, leave the certificates of all heads and averages at `limit` or below.
    fn affordable(&mut self, slots: &[usize], limit: f64) -> usize;
    /// sup k(x, x), where k(x, x) is the same for all x; 1 where it is not known.
    fn supremum(&self) -> f64;
    /// The backend for elementwise work.
    fn backend(&self) -> Backend;
}

/// A rule that bounds the number of terms or what they are worth.
///
/// Law: a decision depends on what the sight shows and on the budget's own state alone.
pub trait Budget: Send + Sync {
    /// Where the term about to be appended goes. Called once per new term, after the step's shrink.
    fn room(&mut self, sight: &mut dyn Sight) -> Room;
    /// May [`Budget::expired`] name a slot at the end of example `t`? Asked first, because it is cheap.
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
    /// All terms were removed because nothing was left of any function: the next term finds its slot among 0, 1, 2, ...
    fn cleared(&mut self) {}
    /// Do most chunks of 1,024 slots stay as they are while a block is learned? Then sums over them are taken for all its rows at once.
    fn settles(&self) -> bool {
        false
    }
    /// Bytes held that grow with the number of terms.
    fn bytes(&self) -> usize {
        0
    }
}

/// Memory that a budget works in: one number or more per term. A copy of a budget starts without it.
#[derive(Debug, Default)]
struct Work<T>(Vec<T>);

impl<T> Clone for Work<T> {
    fn clone(&self) -> Self {
        Work(Vec::new())
    }
}

impl<T> Work<T> {
    fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<T>()
    }
}
