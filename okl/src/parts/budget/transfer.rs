//! `transfer`: the term with the smallest residual after projection onto the newest term is projected onto it (generalises BPA-S).

use crate::parts::budget::{Room, Sight, Work};

#[derive(Clone, Debug, Default)]
pub(super) struct Transfer {
    norms2: Work<f64>,
}

impl Transfer {
    /// r = argmin |alpha_r|²_J (k_rr - k_rt²/k_tt): the residual of projecting r onto the newest.
    pub fn room(&mut self, sight: &mut dyn Sight) -> Room {
        let norms2 = &mut self.norms2.0;
        sight.norms2(norms2);
        let own = sight.own_value();
        let mut best = (f64::INFINITY, 0);
        for (slot, norm2) in norms2.iter().enumerate() {
            if sight.births()[slot] == 0 {
                continue;
            }
            let (k, kk) = (f64::from(sight.row()[slot]), sight.self_value(slot));
            let shared = if kk * own > 0.0 { k * k / (kk * own) } else { 0.0 };
            let residual = norm2 * (1.0 - shared).max(0.0);
            if residual < best.0 {
                best = (residual, slot);
            }
        }
        // If k(x, x) = 0, the newest term is the zero function, and a projection onto it is not possible.
        if own > 0.0 { Room::Transfer(best.1) } else { Room::Drop(best.1) }
    }

    pub fn bytes(&self) -> usize {
        self.norms2.bytes()
    }
}
