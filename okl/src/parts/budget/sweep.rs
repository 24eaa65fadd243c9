//! Budgets that check all terms every 64 examples and drop those with a small norm.

use crate::parts::budget::{Sight, Work};

/// The number of examples between two checks.
pub(super) const SWEEP: u64 = 64;

/// Drops terms with |alpha_i k(x_i, .)| below a tolerance.
#[derive(Clone, Debug)]
pub(super) struct Weight {
    tolerance: f64,
    norms2: Work<f64>,
}

impl Weight {
    pub fn new(tolerance: f64) -> Self {
        Weight { tolerance, norms2: Work::default() }
    }

    pub fn expired(&mut self, sight: &mut dyn Sight, out: &mut Vec<usize>) {
        let (norms2, tolerance) = (&mut self.norms2.0, self.tolerance);
        sight.norms2(norms2);
        let births = sight.births();
        out.extend((0..births.len()).filter(|&s| births[s] > 0 && norms2[s] < tolerance * tolerance));
    }

    pub fn bytes(&self) -> usize {
        self.norms2.bytes()
    }
}

/// Drops the terms with the smallest norm as long as every truncation certificate stays within `error`.
#[derive(Clone, Debug)]
pub(super) struct Certified {
    pub error: f64,
    losses: Work<f64>,
}

impl Certified {
    pub fn new(error: f64) -> Self {
        Certified { error, losses: Work::default() }
    }

    pub fn expired(&mut self, sight: &mut dyn Sight, out: &mut Vec<usize>) {
        let losses = &mut self.losses.0;
        sight.largest_losses(losses);
        let births = sight.births();
        out.extend((0..births.len()).filter(|&s| births[s] > 0));
        out.sort_by(|&a, &b| losses[a].total_cmp(&losses[b]).then(a.cmp(&b)));
        out.truncate(sight.affordable(out, self.error));
    }

    pub fn bytes(&self) -> usize {
        self.losses.bytes()
    }
}
