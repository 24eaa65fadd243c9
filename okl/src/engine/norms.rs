//! Keeps |f|², <f, v> and |v|² of a head up to date through every step and every change of a term.
//!
//! A step updates the norms from values that are already known at the row (V(25), algorithms.md 3.2): |c f + a k_x|² = c² |f|² +
//! 2 c a f(x) + a² k(x, x). If a term is added or removed outside a step, f has to be evaluated at its centre
//! ([`Norms::change`]).
//!
//! Exact means up to the rounding of kernel values, which have single precision. An upper bound includes that rounding, relative to
//! the mass of the terms.

use crate::coordinates::{Reading, Term};
use crate::parts::output::{Output, dot};

/// The norms of f and of SVMD's trace v, and the mass, which bounds their rounding errors.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Norms {
    /// |f|².
    pub f2: f64,
    /// <f, v>; 0 without a trace.
    pub product: f64,
    /// |v|²; 0 without a trace.
    pub trace2: f64,
    /// An upper bound on sum_i |alpha_i| sqrt(lambda_max(K(x_i, x_i))). The rounding error of f(x) is relative to this sum, see
    /// [`KERNEL_ROUNDING`].
    pub mass: f64,
}

impl Norms {
    /// Updates the norms when `term` k(x, .) is added to f and v (sign = 1) or removed (sign = -1). `at` has f(x) and v(x) before
    /// the change, `values` has K(x, x) (3.2, truncation corrections).
    pub fn change(&mut self, output: &Output, values: &[f64], term: &Term, at: &Reading, sign: f64) {
        let form = |a: &[f64], b: &[f64]| output.form(values, a, b);
        let (alpha, beta) = (&term.alpha, &term.trace);
        self.f2 = (self.f2 + sign * 2.0 * dot(alpha, &at.f) + form(alpha, alpha)).max(0.0);
        self.product += sign * (dot(alpha, &at.trace) + dot(beta, &at.f)) + form(alpha, beta);
        self.trace2 = (self.trace2 + sign * 2.0 * dot(beta, &at.trace) + form(beta, beta)).max(0.0);
    }

    /// Adds the part of one term to norms that are computed from all terms; `at` has f and v at its centre.
    pub fn add_part(&mut self, term: &Term, at: &Reading, mass: f64) {
        self.f2 += dot(&term.alpha, &at.f);
        self.product += dot(&term.alpha, &at.trace);
        self.trace2 += dot(&term.trace, &at.trace);
        self.exchange_mass(0.0, mass);
    }

    /// Squares are not negative, whatever rounding has made of them.
    pub fn stay_possible(&mut self) {
        (self.f2, self.trace2) = (at_least_zero(self.f2), at_least_zero(self.trace2));
    }

    /// Updates the norms when f and v are multiplied by phi.
    pub fn scale(&mut self, phi: f64) {
        self.f2 *= phi * phi;
        self.product *= phi * phi;
        self.trace2 *= phi * phi;
        self.mass *= phi;
    }

    /// Updates the mass after a step that multiplies f by `keep` and adds a term of mass `new`.
    pub fn grow_mass(&mut self, keep: f64, new: f64) {
        self.mass = ((1.0 + ROUNDING) * (keep.abs() * self.mass + new)).min(f64::MAX);
    }

    /// Updates the mass when terms of mass `gone` are replaced by terms of mass `come`.
    pub fn exchange_mass(&mut self, gone: f64, come: f64) {
        self.mass = ((1.0 + ROUNDING) * ((self.mass - gone).max(0.0) + come)).min(f64::MAX);
    }

    /// Sets |f|² to an upper bound after a part of norm `lost` was removed from f, whose norm was `norm` before.
    pub fn bound_after(&mut self, norm: f64, lost: f64) {
        self.f2 = ((1.0 + ROUNDING) * (norm + lost) * (norm + lost)).min(f64::MAX);
    }

    /// An upper bound on the rounding error of |f|² while f grew to a mass S. In each step the errors of 2 |c alpha^T p| and
    /// alpha^T K alpha are at most `KERNEL_ROUNDING` (2 |c| S m + m²), where m is the mass of the new term, and S becomes |c| S +
    /// m.
    pub fn rounding(&self) -> f64 {
        (KERNEL_ROUNDING * self.mass * self.mass).min(f64::MAX)
    }

    /// |f|² after a step: `old` = c² |f|², `across` = 2 c alpha^T f(x), `own` = alpha^T K alpha, `mass` is that of the new term.
    /// Once |f|² is only an upper bound (`bound`), the rounding of this sum and of f(x) is added, because the square root taken
    /// at a drop can amplify it.
    pub fn after_step(&self, keep: f64, [old, across, own]: [f64; 3], mass: f64, bound: bool) -> f64 {
        let of_values = KERNEL_ROUNDING * mass * (2.0 * keep.abs() * self.mass + mass);
        let rounding = if bound { ROUNDING * (old + across.abs() + mass * mass) + of_values } else { 0.0 };
        at_least_zero(old + across + own) + rounding
    }
}

/// A few units in the last place.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

/// The relative error of a kernel value: |fl k(x, y) - k(x, y)| is at most this times sqrt(k(x, x) k(y, y)).
///
/// The value is computed from <x, y>, |x|² and |y|², each a chain of D fused multiply-adds in single precision, u = 2^-24:
///
/// ```text
/// linear                  |fl k - k| <= (D + 1) u |x| |y|
/// polynomial, degree p    |fl k - k| <= (p (D + 5) + 2) u sqrt(k(x, x) k(y, y))          as g |x| |y| + c <= sqrt((g |x|² + c) (g |y|² + c))
/// Gaussian                |fl k - k| <= (8 + g (D + 3) (|x| + |y|)²) u                   8 u near the anchor and for equal rows
/// ```
///
/// So the bound 32 u is proved for a linear kernel up to D = 31, degree 3 up to D = 5 and a Gaussian with g (D + 3) (|x| + |y|)²
/// <= 24; the Matérn and rational quadratic kernels are like the Gaussian. For larger D the bound fails only if nearly all D
/// rounding errors of a chain have the same sign. Not included is the larger rounding of |x - y|² for rows that are nearly equal
/// and, in units of the kernel's width, far from the anchor.
const KERNEL_ROUNDING: f64 = 32.0 / 16_777_216.0;

/// |a| sqrt(lambda_max(K(x, x))), an upper bound on the norm of K(x, .) a. 0 for a = 0 even where k(x, x) is not finite.
pub(crate) fn own_mass(output: &Output, values: &[f64], a: &[f64]) -> f64 {
    let size = dot(a, a).sqrt();
    if size == 0.0 { 0.0 } else { size * output.largest(values).max(0.0).sqrt() }
}

/// a^T K(x, x) a, set to 0 where rounding makes it negative (singular operators). 0 for a = 0 even where k(x, x) is not finite.
pub(crate) fn own_form(output: &Output, values: &[f64], a: &[f64]) -> f64 {
    if a.iter().all(|a| *a == 0.0) { 0.0 } else { at_least_zero(output.form(values, a, a)) }
}

/// Replaces negative values, which come from rounding, by zero. NaN stays NaN.
pub(crate) fn at_least_zero(value: f64) -> f64 {
    if value < 0.0 { 0.0 } else { value }
}

#[cfg(test)]
mod tests {
    use crate::basis::Space;
    use crate::{Batch, Config, Learner};

    /// sum_i |alpha_i| sqrt(k(x_i, x_i)) of the head's terms.
    fn mass_of_terms(learner: &Learner, head: usize) -> f64 {
        let engine = learner.engine();
        let (f, mut values) = (&engine.heads[head].f, [0.0]);
        let of_slot = |slot: usize| {
            engine.basis.space.term_self_values(slot, &mut values);
            let alpha: Vec<f64> = (0..f.outputs()).map(|o| f.alpha(o, slot)).collect();
            super::dot(&alpha, &alpha).sqrt() * values[0].sqrt()
        };
        engine.basis.live().map(of_slot).sum()
    }

    /// The tracked mass equals the mass computed from the terms, for every budget.
    #[test]
    fn the_mass_is_that_of_the_terms() {
        let x: Vec<f32> = (0..400).map(|i| (i / 4 * 4 + i % 2) as f32).map(|i| (i * 0.7).sin() * (1.0 + i * 0.01)).collect();
        let y: Vec<f64> = (0..200).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
        // Every row is given twice, one after the other, with the same id.
        let ids: Vec<u64> = (0..200).map(|i| i / 2 + 1).collect();
        let budgets = ["unlimited", "window:7", "age:9", "weight:7", "transfer:7", "merge:7", "forgetron:7", "certified:0.5"];
        for (budget, kernel) in budgets.iter().flat_map(|b| [(b, "gaussian:0.5"), (b, "linear")]) {
            if ["merge", "forgetron"].iter().any(|of| budget.starts_with(of)) && kernel == "linear" {
                continue;
            }
            let (loss, lambda) = if budget.starts_with("forgetron") { ("perceptron", 0.0) } else { ("hinge", 0.01) };
            let text =
                format!("loss = '{loss}'\nkernel = '{kernel}'\nstep = 'constant:0.3'\nlambda = {lambda:?}\nbudget = '{budget}'");
            let mut learner = Learner::new(Config::from_toml(&text).unwrap()).unwrap();
            learner.learn(&Batch::new(&x, 2).numbers(&y).ids(&ids)).unwrap();
            let (kept, of_terms) = (learner.engine().heads[0].norms.mass, mass_of_terms(&learner, 0));
            assert!(kept >= of_terms && kept <= of_terms * (1.0 + 1e-9), "{budget}, {kernel}: {kept}, by the terms {of_terms}");
        }
    }
}
