//! `merge`: the term with the smallest norm is merged with the partner for which least is lost (BSGD), under any kernel that is a
//! function of distance.
//!
//! Two terms a_i k(x_i, .) and a_j k(x_j, .), of which the first is the lighter one, become one term at z = h x_i + (1 - h) x_j. On
//! this line all distances are known: with r = |x_i - x_j|, u = k((1 - h) r), v = k(h r), kappa = k(r), all divided by k(0), and
//! A = |a_i|², B = |a_j|², C = a_i^T a_j,
//!
//! ```text
//! kept(h) = A u² + B v² + 2 C u v                       the squared norm of the projection onto k(z, .), divided by k(0)
//! lost(h) = A (1 - u²) + B (1 - v²) + 2 C (kappa - u v)
//! ```
//!
//! (algorithms.md 4.1.) A kernel that is positive definite for every number of features is a mixture of Gaussians, so k decreases
//! with r. Three facts follow, and each rule below uses them:
//!
//! 1. h <= 1/2 is enough, because kept(h) - kept(1 - h) = (B - A)(v² - u²) >= 0 for h <= 1/2.
//! 2. Where C >= 0, h >= 0 is enough, because u and v both decrease below h = 0.
//! 3. Where C < 0, the best h can be below 0.

mod gaussian;
mod radial;

use crate::parts::budget::{Room, Sight, Work, first_least, first_of, hide_holes};

use gaussian::Gaussian;
use radial::Radial;

#[derive(Clone, Debug, Default)]
pub(super) struct Merge {
    terms: Terms,
    gaussian: Gaussian,
    radial: Radial,
}

/// What both searches know of the terms: |a_j k(x_j, .)|², a_from^T J a_j, and one single-precision number per slot: k(x_from, x_j)
/// or |x_from - x_j|².
#[derive(Clone, Debug, Default)]
struct Terms {
    norms2: Work<f64>,
    products: Work<f64>,
    row: Work<f32>,
}

impl Merge {
    /// BSGD's merge: the lightest term, and the partner with the smallest weight degradation. Not inlined: all budgets are called by one
    /// function, which would have to make room for its variables whatever the budget.
    #[inline(never)]
    pub fn room(&mut self, sight: &mut dyn Sight) -> Room {
        let gamma = sight.radial().and_then(|kernel| kernel.gaussian_gamma());
        let single = gamma.and_then(|gamma| self.gaussian.room_of_single(&mut self.terms, sight, gamma));
        single.unwrap_or_else(|| self.room_of_any(sight, gamma))
    }

    /// The decision for any number of outputs and any kernel. Not inlined, because it takes so much of the stack that touching it costs time.
    #[inline(never)]
    fn room_of_any(&mut self, sight: &mut dyn Sight, gamma: Option<f64>) -> Room {
        let Merge { terms, gaussian, radial } = self;
        let norms2 = &mut terms.norms2.0;
        sight.norms2(norms2);
        hide_holes(norms2, sight);
        let from = first_least(norms2);
        let diagonal = sight.self_value(from);
        let Some(kernel) = sight.radial().filter(|_| diagonal > 0.0) else { return Room::Drop(from) };
        if kernel.exponential_gamma().is_some() || terms.norms2.0[from] < f64::MIN_POSITIVE {
            sight.term_row(from, &mut terms.row.0);
            return Room::Merge { from, into: nearest(&mut terms.row.0, sight, from), h: 0.0 };
        }
        sight.products(from, &mut terms.products.0);
        let (into, h) = match gamma {
            Some(gamma) => gaussian.partner(terms, sight, from, gamma, diagonal),
            None => radial.partner(terms, sight, from, diagonal),
        };
        Room::Merge { from, into, h }
    }

    pub fn bytes(&self) -> usize {
        let Terms { norms2, products, row } = &self.terms;
        norms2.bytes() + products.bytes() + row.bytes() + self.gaussian.bytes()
    }
}

/// The partner of a term under an exponential kernel, with h = 0. There kept(h) = A e^(-2 g (1-h) r) + B e^(-2 g h r) + 2 C e^(-g r)
/// is convex on [0, 1], so an end is best, and h = 0 is the better end by fact 1 above. Below 0, kept(h) = kept(0) e^(-2 g |h| r). The
/// loss A (1 - kappa²) depends on the partner by its distance alone, so the nearest partner is best. The same choice serves for a
/// term of norm 0.
fn nearest(row: &mut [f32], sight: &dyn Sight, from: usize) -> usize {
    let row = &mut row[..sight.births().len()];
    row.iter_mut().for_each(|k| *k = -*k);
    least_other(row, sight, from)
}

/// The slot of the least value among the live terms other than `from`; the first one in case of a tie. If no value is finite, the first
/// other slot.
fn least_other(values: &mut [f32], sight: &dyn Sight, from: usize) -> usize {
    values[from] = f32::INFINITY;
    if sight.terms() < values.len() {
        values.iter_mut().zip(sight.births()).filter(|(_, birth)| **birth == 0).for_each(|(value, _)| *value = f32::INFINITY);
    }
    let found = first_of(values, f32::INFINITY, |a, b| a < b);
    if found == from { usize::from(from == 0) } else { found }
}
