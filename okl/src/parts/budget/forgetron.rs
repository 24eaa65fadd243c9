//! The self-tuned Forgetron: shrinks f, then drops the oldest term. The shrink factor keeps the damage within the mistake bound.

use crate::parts::budget::{Room, Sight};

#[derive(Clone, Debug, Default)]
pub(super) struct Forgetron {
    /// The total damage Q so far.
    pub damage: f64,
}

impl Forgetron {
    /// phi = max{phi in (0, 1]: phi² (sigma² - 2 sigma mu) + 2 phi sigma <= 15/32 M - Q}, in units of the step size. The analysis
    /// assumes k(x, x) <= 1: it runs on k/K with K = sup k(x, x), which divides mu by K (algorithms.md 7.3).
    pub fn room(&mut self, sight: &mut dyn Sight, mistakes: f64) -> Room {
        let births = sight.births();
        let oldest = (0..births.len()).filter(|&s| births[s] > 0).min_by_key(|&s| births[s]).unwrap_or(0);
        let (alpha, f) = sight.value_at(oldest);
        let (sigma, mu) = (alpha.abs() / sight.eta(), alpha.signum() * f / (sight.eta() * sight.diagonal().unwrap_or(1.0)));
        let (square, linear) = (sigma * sigma - 2.0 * sigma * mu, 2.0 * sigma);
        let allowed = 15.0 / 32.0 * mistakes - self.damage;
        let phi = largest_phi(square, linear, allowed);
        self.damage += sigma * phi * sigma * phi + 2.0 * sigma * phi - 2.0 * sigma * phi * phi * mu;
        Room::Forget { slot: oldest, phi }
    }
}

fn largest_phi(square: f64, linear: f64, allowed: f64) -> f64 {
    if square + linear <= allowed {
        return 1.0;
    }
    let root = (linear * linear + 4.0 * square * allowed).max(0.0).sqrt();
    let phi = if square == 0.0 { allowed / linear } else { (root - linear) / (2.0 * square) };
    phi.clamp(f64::MIN_POSITIVE, 1.0)
}
