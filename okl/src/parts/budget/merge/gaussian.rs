//! The partner and the position of a merge under a Gaussian kernel, where u = kappa^((1-h)²) and v = kappa^(h²).

use crate::gram::Elementwise;
use crate::parts::budget::merge::{Terms, partners};
use crate::parts::budget::{Sight, Work};
use crate::parts::kernel::{exp2, log2};

/// Steps towards the best h of every partner.
const CLIMB: usize = 2;

/// The workspace of the search.
#[derive(Clone, Debug, Default)]
pub(super) struct Gaussian {
    blends: Work<f32>,
    powers: [Work<f32>; 3],
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

    /// The partner with the smallest weight degradation, in single precision over whole arrays; the caller then computes
    /// the exact h of the chosen partner.
    ///
    /// The best h maximises the norm of the projection and satisfies h = w_i / (w_i + w_j) with w_i = (A u + C v) u, w_j = (C u + B v) v, u = kappa^((1-h)²)
    /// and v = kappa^(h²). Starting from the solution for kappa near 1, this fixed-point equation is iterated a few times. Where
    /// the two terms are far apart, h = 0 is best. The better of these two h loses at most 11 % more than the best h (for parallel
    /// coefficients).
    fn screen(&mut self, terms: &Terms, sight: &mut dyn Sight, from: usize, diagonal: f64) -> usize {
        let Terms { norms2: Work(norms2), products: Work(products), row: Work(row) } = terms;
        let Gaussian { blends: Work(blends), powers } = self;
        let [Work(kappas), Work(us), Work(vs)] = powers;
        let (slots, a, backend) = (norms2.len(), norms2[from] / diagonal, sight.backend());
        let pair = |j: usize| (norms2[j] / diagonal, products[j]);
        kappas.clear();
        kappas.extend(row[..slots].iter().map(|k| (k / diagonal as f32).clamp(1e-30, 1.0)));
        blends.clear();
        // For c <= 0 a centre between the two gains nothing.
        blends.extend((0..slots).map(pair).map(|(b, c)| if c > 0.0 { (c / (b + c)) as f32 } else { 0.0 }));
        for _ in 0..CLIMB {
            us.clone_from(kappas);
            backend.map_values(blends, us, KappaPower { far: 1.0, near: -1.0 });
            for (j, (h, ratio)) in blends.iter_mut().zip(us.iter()).enumerate().filter(|(_, (h, _))| **h > 0.0) {
                let ((b, c), ratio) = (pair(j), f64::from(*ratio));
                let (wi, wj) = ((a * ratio + c) * ratio, c * ratio + b);
                *h = (wi / (wi + wj)) as f32;
            }
        }
        us.clone_from(kappas);
        vs.clone_from(kappas);
        backend.map_values(blends, us, KappaPower { far: 1.0, near: 0.0 });
        backend.map_values(blends, vs, KappaPower { far: 0.0, near: 1.0 });
        let mut best = (f64::INFINITY, usize::from(from == 0));
        for j in partners(sight.births(), from) {
            let ((b, c), [kappa, u, v]) = (pair(j), [kappas[j], us[j], vs[j]].map(f64::from));
            let moved = a * (1.0 - u * u) + b * (1.0 - v * v) + 2.0 * c * (kappa - u * v);
            let lost = moved.min(a * (1.0 - kappa * kappa));
            if lost < best.0 {
                best = (lost, j);
            }
        }
        best.1
    }

    pub fn bytes(&self) -> usize {
        self.blends.bytes() + self.powers.iter().map(Work::bytes).sum::<usize>()
    }
}

/// kappa^(far (1-h)² + near h²).
#[derive(Clone, Copy)]
struct KappaPower {
    far: f32,
    near: f32,
}

impl Elementwise for KappaPower {
    #[inline(always)]
    fn at(self, kappa: f32, h: f32) -> f32 {
        let exponent = self.far * (1.0 - h) * (1.0 - h) + self.near * h * h;
        exp2(exponent * log2(kappa))
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
