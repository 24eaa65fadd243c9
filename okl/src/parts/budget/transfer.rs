//! `transfer`: the term with the smallest residual after projection onto the newest term is projected onto it (generalises BPA-S).

use crate::gram::{Combine, Score};
use crate::parts::budget::{Room, Sight, Work, first_least, hide_holes, no_holes};

#[derive(Clone, Debug, Default)]
pub(super) struct Transfer {
    norms2: Work<f64>,
}

impl Transfer {
    /// r = argmin |alpha_r|²_J (k_rr - k_rt²/k_tt): the residual of projecting r onto the newest. Not inlined, as [`Merge::room`](super::merge::Merge::room).
    #[inline(never)]
    pub fn room(&mut self, sight: &mut dyn Sight) -> Room {
        let own = sight.own_value();
        let slot = match sight.single().filter(|_| no_holes(sight)) {
            Some(single) => sight.backend().first_least([single.stored], [sight.row()], sight.terms(), OfSingle),
            None => self.least_residual(sight, own),
        };
        // If k(x, x) = 0, the newest term is the zero function, and a projection onto it is not possible.
        if own > 0.0 { Room::Transfer(slot) } else { Room::Drop(slot) }
    }

    /// The slot with the least residual, whatever the kernel and the number of outputs.
    fn least_residual(&mut self, sight: &mut dyn Sight, own: f64) -> usize {
        let residuals = &mut self.norms2.0;
        sight.norms2(residuals);
        match sight.diagonal() {
            Some(diagonal) => sight.backend().combine_values([], [sight.row()], residuals, Residual::of(diagonal * own)),
            None => (0..residuals.len()).for_each(|slot| {
                let residual = Residual::of(sight.self_value(slot) * own);
                residuals[slot] = residual.at(residuals[slot], [], [sight.row()[slot]]);
            }),
        }
        hide_holes(residuals, sight);
        first_least(residuals)
    }

    pub fn bytes(&self) -> usize {
        self.norms2.bytes()
    }
}

/// |alpha|² k_rr (1 - k_rt² / (k_rr k_tt)) from |alpha|² k_rr and k_rt.
#[derive(Clone, Copy)]
struct Residual {
    /// 1 / (k_rr k_tt), or 0.
    over_both: f64,
}

impl Residual {
    fn of(both: f64) -> Self {
        Residual { over_both: if both > 0.0 { 1.0 / both } else { 0.0 } }
    }
}

impl Combine<f64, 0, 1> for Residual {
    #[inline(always)]
    fn at(self, norm2: f64, _: [f64; 0], [k]: [f32; 1]) -> f64 {
        let k = f64::from(k);
        norm2 * (1.0 - k * k * self.over_both).max(0.0)
    }
}

/// The same up to a common factor, from the stored coefficient and k_rt, where k_rr = k_tt = 1 and so k_rt <= 1.
#[derive(Clone, Copy)]
struct OfSingle;

impl Score<1, 1> for OfSingle {
    type Bits = u64;

    #[inline(always)]
    fn at(self, [a]: [f64; 1], [k]: [f32; 1]) -> u64 {
        (a * a * f64::from((1.0 - k) * (1.0 + k))).to_bits()
    }
}
