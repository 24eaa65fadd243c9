//! The partner and the position of a merge under a Gaussian kernel, where u = kappa^((1-h)²) and v = kappa^(h²).

use crate::gram::Combine;
use crate::parts::budget::merge::Terms;
use crate::parts::budget::{Sight, Work, first_least, hide_holes};
use crate::parts::kernel::{exp2, log2};

/// Steps towards the best h of every partner.
const CLIMB: usize = 2;

/// The workspace of the search.
#[derive(Clone, Debug, Default)]
pub(super) struct Gaussian {
    logs: Work<f32>,
    positions: Work<f32>,
    lost: Work<f64>,
}

impl Gaussian {
    /// The best partner of a term, and the position h of the merged centre, in [0, 1].
    pub fn partner(&mut self, terms: &mut Terms, sight: &mut dyn Sight, from: usize, diagonal: f64) -> (usize, f64) {
        sight.term_row(from, &mut terms.row.0);
        let into = self.screen(terms, sight, from, diagonal);
        let pair = Pair {
            a: terms.norms2.0[from] / diagonal,
            b: terms.norms2.0[into] / diagonal,
            c: terms.products.0[into],
            log_kappa: libm::log((f64::from(terms.row.0[into]) / diagonal).clamp(f64::MIN_POSITIVE, 1.0)),
        };
        (into, pair.best_h())
    }

    /// The partner with the smallest loss at the better one of two positions; the caller then computes the exact h of that partner.
    ///
    /// The best h maximises the norm of the projection and satisfies h = w_i / (w_i + w_j) with w_i = (A u + C v) u, w_j = (C u + B v) v, u = kappa^((1-h)²)
    /// and v = kappa^(h²). Starting from the solution for kappa near 1, this fixed-point equation is iterated a few times. Where
    /// the two terms are far apart, h = 0 is best. The better of these two h loses at most 11 % more than the best h (for parallel
    /// coefficients). For C <= 0 a centre between the two gains nothing, and h is 0. Powers of kappa have single precision.
    ///
    /// Each step is a pass of its own over all slots: a chain of all steps would wait for the result of every instruction.
    fn screen(&mut self, terms: &Terms, sight: &dyn Sight, from: usize, diagonal: f64) -> usize {
        let Terms { norms2: Work(norms2), products: Work(products), row: Work(row) } = terms;
        let Gaussian { logs: Work(logs), positions: Work(positions), lost: Work(lost) } = self;
        let (slots, backend, a) = (norms2.len(), sight.backend(), norms2[from] / diagonal);
        logs.clear();
        logs.extend_from_slice(&row[..slots]);
        positions.resize(slots, 0.0);
        lost.clone_from(norms2);
        backend.combine_values([], [], logs, LogKappa { diagonal: diagonal as f32 });
        // `lost` holds B until the last pass.
        backend.combine_values([], [], lost, Over { diagonal });
        backend.combine_values([lost, products], [], positions, First {});
        for _ in 0..CLIMB {
            backend.combine_values([lost, products], [logs], positions, Next { a });
        }
        backend.combine_values([products], [row, logs, positions], lost, Lost { a, diagonal: diagonal as f32 });
        lost[from] = f64::INFINITY;
        hide_holes(lost, sight);
        // If no loss is finite, the first other slot.
        Some(first_least(lost)).filter(|into| *into != from).unwrap_or(usize::from(from == 0))
    }

    pub fn bytes(&self) -> usize {
        self.logs.bytes() + self.positions.bytes() + self.lost.bytes()
    }
}

/// kappa = k(x_i, x_j) / k(0), kept away from 0, where it has no logarithm.
#[inline(always)]
fn kappa_of(k: f32, diagonal: f32) -> f32 {
    (k / diagonal).clamp(1e-30, 1.0)
}

/// log2 kappa from k(x_i, x_j).
#[derive(Clone, Copy)]
struct LogKappa {
    diagonal: f32,
}

impl Combine<f32, 0, 0> for LogKappa {
    #[inline(always)]
    fn at(self, k: f32, _: [f64; 0], _: [f32; 0]) -> f32 {
        log2(kappa_of(k, self.diagonal))
    }
}

/// B = |a_j k_j|² / k(0).
#[derive(Clone, Copy)]
struct Over {
    diagonal: f64,
}

impl Combine<f64, 0, 0> for Over {
    #[inline(always)]
    fn at(self, norm2: f64, _: [f64; 0], _: [f32; 0]) -> f64 {
        norm2 / self.diagonal
    }
}

/// The position for kappa near 1, from B and C.
#[derive(Clone, Copy)]
struct First {}

impl Combine<f32, 2, 0> for First {
    #[inline(always)]
    fn at(self, _: f32, [b, c]: [f64; 2], _: [f32; 0]) -> f32 {
        if c > 0.0 { (c / (b + c)) as f32 } else { 0.0 }
    }
}

/// The next iterate of a position above 0; u / v = kappa^((1-h)² - h²).
#[derive(Clone, Copy)]
struct Next {
    a: f64,
}

impl Combine<f32, 2, 1> for Next {
    #[inline(always)]
    fn at(self, h: f32, [b, c]: [f64; 2], [log_kappa]: [f32; 1]) -> f32 {
        let ratio = f64::from(exp2(((1.0 - h) * (1.0 - h) - h * h) * log_kappa));
        let (wi, wj) = ((self.a * ratio + c) * ratio, c * ratio + b);
        let next = (wi / (wi + wj)) as f32;
        if h > 0.0 { next } else { h }
    }
}

/// The loss at a position or at h = 0, whichever is smaller, from B, C and k(x_i, x_j).
#[derive(Clone, Copy)]
struct Lost {
    a: f64,
    diagonal: f32,
}

impl Combine<f64, 1, 3> for Lost {
    #[inline(always)]
    fn at(self, b: f64, [c]: [f64; 1], [k, log_kappa, h]: [f32; 3]) -> f64 {
        let (a, kappa) = (self.a, f64::from(kappa_of(k, self.diagonal)));
        let (u, v) = (exp2((1.0 - h) * (1.0 - h) * log_kappa), exp2(h * h * log_kappa));
        let (u, v) = (f64::from(u), f64::from(v));
        let moved = a * (1.0 - u * u) + b * (1.0 - v * v) + 2.0 * c * (kappa - u * v);
        let at_end = a * (1.0 - kappa * kappa);
        if moved < at_end { moved } else { at_end }
    }
}

/// Two terms on a line under a Gaussian: A = |a_i|², B = |a_j|², C = a_i^T a_j, kappa = k(x_i, x_j).
struct Pair {
    a: f64,
    b: f64,
    c: f64,
    log_kappa: f64,
}

impl Pair {
    /// |projection onto h x_i + (1 - h) x_j|² = A kappa^(2(1-h)²) + B kappa^(2h²) + 2C kappa^((1-h)² + h²).
    fn kept(&self, h: f64) -> f64 {
        let (far, near) = ((1.0 - h) * (1.0 - h), h * h);
        let power = |e: f64| libm::exp(e * self.log_kappa);
        self.a * power(2.0 * far) + self.b * power(2.0 * near) + 2.0 * self.c * power(far + near)
    }

    /// The best of a grid, then golden section around it.
    fn best_h(&self) -> f64 {
        const GRID: usize = 10;
        let at = |i: usize| i as f64 / GRID as f64;
        let better = |a: &usize, b: &usize| self.kept(at(*a)).total_cmp(&self.kept(at(*b)));
        let best = (0..=GRID).max_by(better).unwrap_or(0);
        let (mut low, mut high) = (at(best.saturating_sub(1)), at((best + 1).min(GRID)));
        const GOLDEN: f64 = 0.618_033_988_749_894_9;
        for _ in 0..24 {
            let (left, right) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
            if self.kept(left) < self.kept(right) { low = left } else { high = right }
        }
        0.5 * (low + high)
    }
}
