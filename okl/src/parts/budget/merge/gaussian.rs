//! The partner and the position of a merge under a Gaussian kernel, where u = kappa^((1-h)²) and v = kappa^(h²).

use crate::gram::{Combine, Number};
use crate::parts::budget::merge::{Terms, least_other};
use crate::parts::budget::{Norm2, Room, Sight, Single, Work, no_holes};
use crate::parts::kernel::{exp, exp2};

/// Newton steps towards the best h of the chosen partner. From the starts of [`Line::best_h`] they settle all digits that matter.
const NEWTON: usize = 5;

/// After a step of Newton's method that is shorter than this, the next one would be shorter than the rounding error of h.
const SETTLED: f64 = 1e-8;

/// If the norm that is kept before a step shorter than [`SETTLED`] is larger by this factor than that of another position, it is larger after the
/// step, too: for log(kappa) >= -2 the step changes it by less than 4 * 2 * 2 * 1e-8 of itself, because |g| <= 2 kept.
const CLEARLY: f64 = 1.0 + 1e-6;

/// The workspace of the screen: B and C of every partner, in units of A.
#[derive(Clone, Debug, Default)]
pub(super) struct Gaussian {
    b: Work<f32>,
    c: Work<f32>,
}

impl Gaussian {
    /// The whole decision, where each term has a single coefficient and k(0) = 1; none where that is not so, where there are holes, or
    /// where the lightest term is the zero function.
    pub fn room_of_single(&mut self, terms: &mut Terms, sight: &mut dyn Sight, gamma: f64) -> Option<Room> {
        let single = sight.single().filter(|_| no_holes(sight))?;
        let norm2 = Norm2::of(&single);
        let from = sight.backend().first_least([single.stored], [], sight.terms(), norm2);
        if norm2.value(single.stored[from]) < f64::MIN_POSITIVE {
            return None;
        }
        self.reserve(terms, single.stored.len());
        sight.find_term_row(from);
        let single = sight.single()?;
        let into = screen_single(&mut terms.row.0, &single, sight, from);
        let [a, b] = [from, into].map(|slot| norm2.value(single.stored[slot]));
        let c = norm2.scale2 * single.stored[from] * single.stored[into];
        let log_kappa = -gamma * sight.apart2(from, into);
        Some(Room::Merge { from, into, h: Line { a, b, c, log_kappa }.best_h() })
    }

    /// Makes room for everything that [`Gaussian::partner`] needs, which may have to decide next time.
    fn reserve(&mut self, terms: &mut Terms, slots: usize) {
        let Terms { norms2, products, row } = terms;
        [norms2, products].into_iter().for_each(|work| work.reserve(slots));
        [row, &mut self.b, &mut self.c].into_iter().for_each(|work| work.reserve(slots));
    }

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

/// The partner with the smallest loss, where each term has a single coefficient. Writes the losses into `lost`.
fn screen_single(lost: &mut Vec<f32>, single: &Single<'_>, sight: &dyn Sight, from: usize) -> usize {
    lost.resize(single.stored.len(), 0.0);
    // The ratios first, in a loop of their own: a loop that reads double-precision numbers has only as many single-precision ones at a time.
    sight.backend().combine_values([single.stored], [], lost, OverA { over_a: 1.0 / single.stored[from] });
    sight.backend().combine_values([], [sight.found_term_row()], lost, LostBySingle);
    lost[from] = f32::INFINITY;
    let into = sight.backend().first_least([], [lost], sight.terms(), Number);
    if into == from { usize::from(from == 0) } else { into }
}

/// b / a in single precision.
#[derive(Clone, Copy)]
struct OverA {
    over_a: f64,
}

impl Combine<f32, 1, 0> for OverA {
    #[inline(always)]
    fn at(self, _: f32, [b]: [f64; 1], _: [f32; 0]) -> f32 {
        (b * self.over_a) as f32
    }
}

/// The loss of a merge in units of A, from the ratio b / a of the coefficients, |a| <= |b|, and kappa.
///
/// If the signs differ, the best h is 0 and the loss is 1 - kappa². Otherwise it is (1 - kappa)² p(kappa, m) with m = a / (a + b), where
/// p is a polynomial of degree 4 in kappa and 2 in m that is within 5.5 % of the loss at the best h (minimax fit; compared with that loss
/// for kappa from 1e-4 to 1 - 1e-4 and m from 1e-4 to 1/2). So the partner that is found loses at most 11 % more than the best one. No
/// exponential is computed.
#[derive(Clone, Copy)]
struct LostBySingle;

impl LostBySingle {
    /// The coefficients of p: of 1, m and m², from the highest power of kappa to the lowest.
    const P: [[f32; 5]; 3] = [
        [-5.124_596_6, 9.333_233, -5.541_602, 2.248_658_7, 0.993_469_6],
        [43.166_218, -66.571_82, 19.437_773, 0.722_589_2, -0.015_992_915],
        [-87.616_936, 142.157_88, -46.572_49, -7.439_706_3, 0.248_457_57],
    ];

    #[inline(always)]
    fn polynomial(of: [f32; 5], kappa: f32) -> f32 {
        let mut p = of[0].mul_add(kappa, of[1]);
        p = p.mul_add(kappa, of[2]);
        p = p.mul_add(kappa, of[3]);
        p.mul_add(kappa, of[4])
    }
}

impl Combine<f32, 0, 1> for LostBySingle {
    #[inline(always)]
    fn at(self, ratio: f32, _: [f64; 0], [kappa]: [f32; 1]) -> f32 {
        let m = 1.0 / (1.0 + ratio.abs());
        let [p0, p1, p2] = Self::P;
        let p = Self::polynomial(p2, kappa).mul_add(m, Self::polynomial(p1, kappa)).mul_add(m, Self::polynomial(p0, kappa));
        let gap = 1.0 - kappa;
        let (at_end, moved) = (gap * (1.0 + kappa), gap * gap * p);
        if ratio > 0.0 && moved < at_end { moved } else { at_end }
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
        let power = |e: f64| exp(e * self.log_kappa);
        // exp(0) is exactly 1.
        let (u, v) = (power((1.0 - h) * (1.0 - h)), if h == 0.0 { 1.0 } else { power(h * h) });
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
        // The norm that is kept of two parallel terms has one maximum if kappa >= e^-2.
        let parallel = self.c * self.c > 0.999_999 * self.a * self.b;
        if parallel && self.log_kappa >= -2.0 {
            let ([h], [before]) = self.climb([close]);
            let better = before > CLEARLY * at_end || self.kept(h).0 > at_end;
            return if better { h } else { 0.0 };
        }
        let better = |best: (f64, f64), h: f64| {
            let kept = self.kept(h).0;
            if kept > best.1 { (h, kept) } else { best }
        };
        self.climb([close, 0.0]).0.into_iter().fold((0.0, at_end), better).0
    }

    /// Newton's method for g(h) = h kept(h) - first(h) = 0, where kept'(h) = 4 log(kappa) g(h). Several starts at once, because a processor
    /// computes exponentials that do not depend on each other at the same time. Also returns the norms that are kept before the last step;
    /// 0 if it was not a short one.
    fn climb<const N: usize>(&self, mut positions: [f64; N]) -> ([f64; N], [f64; N]) {
        for _ in 0..NEWTON {
            let next = positions.map(|h| self.step(h));
            let settled = next.iter().zip(&positions).all(|((next, _), h)| (next - h).abs() < SETTLED);
            positions = next.map(|(h, _)| h);
            if settled {
                return (positions, next.map(|(_, kept)| kept));
            }
        }
        (positions, [0.0; N])
    }

    /// One step of Newton's method, and the norm that is kept before it. At a maximum g rises; where g falls, one step of the fixed-point iteration h = first / kept leads
    /// towards a maximum.
    fn step(&self, h: f64) -> (f64, f64) {
        let l = self.log_kappa;
        let power = |e: f64| exp(e * l);
        let (u, v) = (power((1.0 - h) * (1.0 - h)), power(h * h));
        let (uu, uv) = (self.a * u * u, self.c * u * v);
        let (kept, first) = (uu + 2.0 * uv + self.b * v * v, uu + uv);
        let g = h * kept - first;
        let slope = kept + 4.0 * l * h * g + 4.0 * l * (1.0 - h) * uu - 2.0 * l * (2.0 * h - 1.0) * uv;
        let next = if slope > 0.0 { h - g / slope } else { first / kept };
        (if (0.0..=0.5).contains(&next) { next } else { (first / kept).clamp(0.0, 0.5) }, kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The loss of merging coefficients 1 and `b` at the best position, from its formula on a grid that is refined around its best point.
    fn least_loss(b: f64, kappa: f64) -> f64 {
        let lost = |h: f64| {
            let (u, v) = (kappa.powf((1.0 - h) * (1.0 - h)), kappa.powf(h * h));
            1.0 - u * u - b * b * (2.0 * h * h * kappa.ln()).exp_m1() + 2.0 * b * (kappa - u * v)
        };
        let (mut middle, mut step) = (0.25, 0.25 / 16.0);
        for _ in 0..6 {
            let on_grid = (-16..=16).map(|i| (middle + f64::from(i) * step).clamp(0.0, 0.5));
            middle = on_grid.min_by(|g, h| lost(*g).total_cmp(&lost(*h))).unwrap();
            step /= 8.0;
        }
        lost(middle).min(lost(0.0))
    }

    #[test]
    fn the_polynomial_is_the_loss_within_its_bound() {
        for kappa in (1..100).map(|i| f64::from(i) * 0.01) {
            for b in [1.0, 1.05, 1.3, 2.0, 5.0, 30.0, 1000.0] {
                let exact = least_loss(b, kappa);
                let rating =
                    |b: f64| f64::from(LostBySingle.at(OverA { over_a: 2.0 }.at(0.0, [0.5 * b], []), [], [kappa as f32]));
                let ratio = rating(b) / exact;
                assert!((ratio - 1.0).abs() < 0.055, "b = {b}, kappa = {kappa}: {ratio} of {exact}");
                let opposite = rating(-b);
                assert!((opposite - (1.0 - kappa * kappa)).abs() < 1e-6, "b = -{b}, kappa = {kappa}: {opposite}");
            }
        }
    }
}
