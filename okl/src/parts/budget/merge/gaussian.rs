//! The partner and the position of a merge under a Gaussian kernel, where u = kappa^((1-h)²) and v = kappa^(h²).

use crate::gram::Combine;
use crate::parts::budget::merge::{Terms, least_other};
use crate::parts::budget::{Sight, Work};
use crate::parts::kernel::exp2;

/// Newton steps towards the best h of the chosen partner. From the starts of [`Line::best_h`] they settle all digits that matter.
const NEWTON: usize = 5;

/// The workspace of the screen: B and C of every partner, in units of A.
#[derive(Clone, Debug, Default)]
pub(super) struct Gaussian {
    b: Work<f32>,
    c: Work<f32>,
}

impl Gaussian {
    /// The best partner of a term, and the position h of the merged centre, in [0, 1/2].
    pub fn partner(&mut self, terms: &mut Terms, sight: &mut dyn Sight, from: usize, gamma: f64, diagonal: f64) -> (usize, f64) {
        sight.distances2(from, &mut terms.row.0);
        let into = self.screen(terms, sight, from, gamma, diagonal);
        let log_kappa = -gamma * sight.apart2(from, into);
        let [a, b] = [from, into].map(|slot| terms.norms2.0[slot] / diagonal);
        (into, Line { a, b, c: terms.products.0[into], log_kappa }.best_h())
    }

    /// The partner with the smallest loss at the better one of two positions; the caller then computes the exact h of that partner.
    /// The distances in the row are replaced by losses.
    fn screen(&mut self, terms: &mut Terms, sight: &dyn Sight, from: usize, gamma: f64, diagonal: f64) -> usize {
        let Terms { norms2: Work(norms2), products: Work(products), row: Work(row) } = terms;
        let Gaussian { b: Work(b), c: Work(c) } = self;
        let (slots, backend) = (norms2.len(), sight.backend());
        [&mut *b, &mut *c].into_iter().for_each(|values| values.resize(slots, 0.0));
        // In single precision from here on, which has twice as many numbers in a register.
        backend.combine_values([norms2], [], b, Ratio { factor: 1.0 / norms2[from] });
        backend.combine_values([products], [], c, Ratio { factor: diagonal / norms2[from] });
        let lost = &mut row[..slots];
        backend.combine_values([], [b, c], lost, Lost { log2_kappa: (-gamma * std::f64::consts::LOG2_E) as f32 });
        least_other(lost, sight, from)
    }

    pub fn bytes(&self) -> usize {
        self.b.bytes() + self.c.bytes()
    }
}

/// A number times a factor, between -1e10 and 1e10, so that products of three such numbers stay finite in single precision.
#[derive(Clone, Copy)]
struct Ratio {
    factor: f64,
}

impl Combine<f32, 1, 0> for Ratio {
    #[inline(always)]
    fn at(self, _: f32, [number]: [f64; 1], _: [f32; 0]) -> f32 {
        let ratio = (number * self.factor) as f32;
        let ratio = if ratio < 1e10 { ratio } else { 1e10 };
        if ratio > -1e10 { ratio } else { -1e10 }
    }
}

/// The loss of a merge in units of A, from the squared distance, B and C, with A = 1.
///
/// Three positions have a closed form: for kappa near 1 the best h is (A + C) / (A + B + 2 C); for B much larger than A it is near
/// (A kappa + C) kappa / (A kappa² + B + 2 C kappa), which the fixed-point equation h = (A u + C v) u / (A u² + B v² + 2 C u v) gives at
/// h = 0; for terms that are far apart it is 0. The screen tries 0 and a mean of the other two, whose weight t goes from 1 for A = B to
/// 0 for B much larger than A. The better of the two loses at most 8 % more than the best h (by exhaustive search over B, C >= 0 and
/// kappa). For C < 0 the second position is that for C = 0.
#[derive(Clone, Copy)]
struct Lost {
    /// log2 kappa for the squared distance 1.
    log2_kappa: f32,
}

impl Combine<f32, 0, 2> for Lost {
    /// Near a heavy partner h is small and v rounds to 1, which would hide the loss B (1 - v²). As a function of the squared distance a
    /// Gaussian is convex, so 1 - v is at least h² (1 - kappa).
    #[inline(always)]
    fn at(self, r2: f32, _: [f64; 0], [b, c]: [f32; 2]) -> f32 {
        let log_kappa = self.log2_kappa * r2;
        let kappa = exp2(log_kappa);
        // The positions are close / close_all and far / far_all, the weight of the first is t / t_all; one division for all three.
        let parallel = if c > 0.0 { c } else { 0.0 };
        let (close, close_all) = (1.0 + parallel, 1.0 + b + 2.0 * parallel);
        let far = (kappa + parallel) * kappa;
        let far_all = far + parallel * kappa + b;
        let t = 2.0 * close * kappa;
        let t_all = t + (b - 1.0);
        let h = (far * close_all * (t_all - t) + close * far_all * t) / (close_all * far_all * t_all);
        let (u, v) = (exp2((1.0 - h) * (1.0 - h) * log_kappa), exp2(h * h * log_kappa));
        let (gap, least_gap) = (1.0 - v, h * h * (1.0 - kappa));
        let gap = if gap > least_gap { gap } else { least_gap };
        let moved = (1.0 - u) * (1.0 + u) + b * gap * (1.0 + v) + 2.0 * c * (kappa - u * v);
        let at_end = (1.0 - kappa) * (1.0 + kappa);
        if moved < at_end { moved } else { at_end }
    }
}

/// Two terms on a line: A = |a_i|², B = |a_j|², C = a_i^T a_j, kappa = k(x_i, x_j) / k(0).
struct Line {
    a: f64,
    b: f64,
    c: f64,
    log_kappa: f64,
}

impl Line {
    /// A u² + B v² + 2 C u v, the squared norm of the projection onto h x_i + (1 - h) x_j, and (A u + C v) u, the part of the first term.
    /// Their quotient is h where the first is largest.
    fn kept(&self, h: f64) -> (f64, f64) {
        let power = |e: f64| libm::exp(e * self.log_kappa);
        let (u, v) = (power((1.0 - h) * (1.0 - h)), power(h * h));
        let first = (self.a * u + self.c * v) * u;
        (first + (self.c * u + self.b * v) * v, first)
    }

    /// The best h: Newton's method from 0 and from the best position for kappa near 1, because there can be two local maxima. Exactly 0
    /// where no other position is better.
    fn best_h(&self) -> f64 {
        let (at_end, first) = self.kept(0.0);
        // The norm falls from h = 0 on.
        if first <= 0.0 {
            return 0.0;
        }
        let close = (self.a + self.c) / (self.a + self.b + 2.0 * self.c);
        let better = |best: (f64, f64), start: f64| {
            let h = self.climb(start);
            let kept = self.kept(h).0;
            if kept > best.1 { (h, kept) } else { best }
        };
        [close, 0.0].into_iter().fold((0.0, at_end), better).0
    }

    /// Newton's method for g(h) = h kept(h) - first(h) = 0, where kept'(h) = 4 log(kappa) g(h). At a maximum g rises; where g falls, one step
    /// of the fixed-point iteration h = first / kept leads towards a maximum.
    fn climb(&self, mut h: f64) -> f64 {
        let l = self.log_kappa;
        for _ in 0..NEWTON {
            let power = |e: f64| libm::exp(e * l);
            let (u, v) = (power((1.0 - h) * (1.0 - h)), power(h * h));
            let (uu, uv) = (self.a * u * u, self.c * u * v);
            let (kept, first) = (uu + 2.0 * uv + self.b * v * v, uu + uv);
            let g = h * kept - first;
            let slope = kept + 4.0 * l * h * g + 4.0 * l * (1.0 - h) * uu - 2.0 * l * (2.0 * h - 1.0) * uv;
            let next = if slope > 0.0 { h - g / slope } else { first / kept };
            h = if (0.0..=0.5).contains(&next) { next } else { (first / kept).clamp(0.0, 0.5) };
        }
        h
    }
}
