//! |f|², <f, v> and |v|² as a head follows them, and how far rounding may take them from the Gram matrix.
//!
//! A step is f' = c f + sum_i a_i k(x_i, .), v' = d v - s f + sum_i b_i k(x_i, .): the new term, and the terms that a budget drops,
//! merges or moves. f(x_i) and v(x_i) come from kernel values in single precision, with the errors r_i and q_i of `Points::rounding`,
//! and k(x_i, x_i) with the relative error e_i. So the errors n of |f|², p of <f, v> and m of |v|² become
//!
//! ```text
//! n' = c² n + sum_i 2 |a_i| r_i + e_i |a_i|² k_ii                                                        + w F²
//! p' = |c d| p + |c s| n + sum_i |a_i| q_i + |b_i| r_i + e_i |a_i| |b_i| k_ii                            + w F V
//! m' = d² m + s² n + 2 |d s| p + sum_i 2 |b_i| q_i + e_i |b_i|² k_ii                                     + w V²
//! ```
//!
//! with F = |c| mass(f) + sum_i |a_i| sqrt k_ii and V = |d| mass(v) + |s| mass(f) + sum_i |b_i| sqrt k_ii, which bound all numbers that
//! are added, and w = `OPERATIONS` 2^-53. A drop makes f or v small, but leaves the errors of its past: with lambda = 0 for ever.
//!
//! Where the units of the columns change, the three are computed anew from all terms (`Drift::found`).
//!
//! Where |f|² is an upper bound (no smd, the square as regulariser) a drop is not computed from kernel values, and does not count.

use okl::engine::head::Shrink;
use okl::regulariser::Regulariser;

use crate::follow::{Failure, Run, Seen, Shadow, fail, within};
use crate::points::{Function, Points, Shape, norm};

/// Operations of double precision in one step, each with an error of 2^-53 of the sizes F and V.
const OPERATIONS: f64 = 64.0;
/// A coefficient that changes by less than this is only rounded.
const ROUNDED: f64 = 1e-12;
/// Numbers below are denormal: an operation has an absolute error of 2^-1075 there, and 2^52 operations reach this.
pub const DENORMAL: f64 = f64::MIN_POSITIVE;

/// How far the norms that are kept may be from the true ones by rounding.
#[derive(Clone, Copy, Debug, Default)]
pub struct Drift {
    /// Of |f|².
    pub norm2: f64,
    product: f64,
    trace: f64,
}

/// A step of f and v beside its terms: c, d, the coefficient of the new term and its point.
#[derive(Clone, Copy, Debug)]
pub struct Moved<'a> {
    /// c.
    pub keep: f64,
    /// The decay of v; d = decay c.
    pub decay: f64,
    /// The coefficients of the new term, before any budget.
    pub alpha: &'a [f64],
    /// Its point.
    pub point: usize,
    /// Whether |f|² is exact after a drop.
    pub exact: bool,
}

/// A term that comes, goes or changes: |a_i| and |b_i|.
struct Change {
    point: usize,
    a: f64,
    b: f64,
}

/// f and v.
#[derive(Clone, Copy)]
pub struct Both<'a>(pub &'a Function, pub &'a Function);

impl Drift {
    /// Of norms that are computed from all terms: |f|² = sum_i a_i f(x_i), <f, v> = sum_i a_i v(x_i), |v|² = sum_i b_i v(x_i).
    pub fn found(points: &Points, shape: &Shape, f: &Function, v: &Function) -> Self {
        let sum = |of: &Function, read: &Function| {
            let rounding = |(i, a): (usize, &[f64])| norm(a) * points.rounding(shape, read, i);
            let carried = OPERATIONS * f64::EPSILON * points.mass(shape, of) * points.mass(shape, read);
            of.support().map(rounding).sum::<f64>() + carried
        };
        Drift { norm2: sum(f, f), product: sum(f, v), trace: sum(v, v) }
    }

    /// Follows a step.
    pub fn step(&mut self, points: &Points, shape: &Shape, moved: Moved<'_>, old: Both<'_>, new: Both<'_>) {
        let (c, d, s) = (moved.keep.abs(), moved.decay * moved.keep.abs(), (1.0 - moved.keep).abs());
        let s = if moved.decay > 0.0 { s } else { 0.0 };
        let Drift { norm2: n, product: p, trace: m } = *self;
        let masses = (points.mass(shape, old.0), points.mass(shape, old.1));
        let (mut f, mut v) = (c * masses.0, d * masses.1 + s * masses.0);
        let (mut of_n, mut of_p, mut of_m) = (0.0, 0.0, 0.0);
        for Change { point, a, b } in changes(&moved, old, new) {
            let error = |old: &Function, new: &Function| points.rounding(shape, old, point) + points.rounding(shape, new, point);
            let both = |old, new| if moved.exact { error(old, new) } else { c * points.rounding(shape, old, point) };
            let (r, q) = (both(old.0, new.0), both(old.1, new.1));
            let reach = points.reach(shape, point);
            let own = reach * reach * points.diagonal_error(shape, point);
            of_n += 2.0 * a * r + own * a * a;
            of_p += a * q + b * r + own * a * b;
            of_m += 2.0 * b * q + own * b * b;
            f += a * reach;
            v += b * reach;
        }
        let w = OPERATIONS * f64::EPSILON / 2.0;
        self.norm2 = c * c * n + of_n + w * f * f;
        self.product = c * d * p + c * s * n + of_p + w * f * v;
        self.trace = d * d * m + s * s * n + 2.0 * d * s * p + of_m + w * v * v;
    }
}

/// The terms that a step changes beyond shrinking them. What is carried onto the new term counts beside the new term itself.
fn changes(moved: &Moved<'_>, old: Both<'_>, new: Both<'_>) -> Vec<Change> {
    let size = norm(moved.alpha);
    if !moved.exact {
        return vec![Change { point: moved.point, a: size, b: 0.0 }];
    }
    let (c, d, s) = (moved.keep, moved.decay * moved.keep, if moved.decay > 0.0 { 1.0 - moved.keep } else { 0.0 });
    let mut out = Vec::new();
    for point in 0..[old.0, old.1, new.0, new.1].iter().map(|f| f.0.len()).fold(moved.point + 1, usize::max) {
        let own = point == moved.point;
        let from = [at(old.0, point), at(old.1, point)];
        let a = combine(&[(1.0, at(new.0, point)), (-c, from[0])]);
        let b = combine(&[(1.0, at(new.1, point)), (-d, from[1]), (s, from[0])]);
        let mut change = Change { point, a: norm(&a), b: if moved.decay > 0.0 { norm(&b) } else { 0.0 } };
        if own {
            change.a = size + norm(&combine(&[(1.0, &a), (-1.0, moved.alpha)]));
        }
        let rounded = ROUNDED * (norm(from[0]) + norm(from[1]));
        if own || change.a.max(change.b) > rounded {
            out.push(change);
        }
    }
    out
}

fn at(f: &Function, point: usize) -> &[f64] {
    f.0.get(point).map_or(&[], Vec::as_slice)
}

fn combine(parts: &[(f64, &[f64])]) -> Vec<f64> {
    let mut out = vec![0.0; parts.iter().map(|(_, a)| a.len()).fold(0, usize::max)];
    for (by, a) in parts {
        out.iter_mut().zip(*a).for_each(|(o, a)| *o += by * a);
    }
    out
}

impl Run<'_> {
    /// Whether |f|² is corrected exactly when the budget changes terms.
    pub fn exact_norms(&self) -> bool {
        self.under_smd() || !self.config.regulariser.is_square()
    }
}

/// |f|² is what it claims: exact until a drop, an upper bound after; exact under smd, as are <f, v> and |v|².
pub fn norms(run: &Run, t: usize) -> Result<(), Failure> {
    for (h, shadow) in run.shadows.iter().enumerate() {
        let head = &run.learner.engine().heads()[h];
        let (kept, true_norm) = (head.norm2(), run.points.inner(&shadow.shape, &shadow.live, &shadow.live));
        let mass = run.points.mass(&shadow.shape, &shadow.live);
        let slack = match run.exact_norms() {
            true => shadow.drift.norm2 + 1e-12 * mass * mass + DENORMAL,
            false => 2.0 * shadow.drift.norm2 + 1e-12 * mass.max(shadow.history).powi(2) + 1e-6 * kept + DENORMAL,
        };
        let exact = head.truncation_error() == 0.0 || run.exact_norms();
        if !within(true_norm - slack, kept) || (exact && !within(kept, true_norm + slack)) {
            let text = format!("head {h}: norm2 {kept:e}, by the Gram matrix {true_norm:e}, rounding {slack:e}, exact {exact}");
            return fail("norm", t, text);
        }
        if run.under_smd() {
            trace(run, h, shadow, t)?;
        }
    }
    Ok(())
}

fn trace(run: &Run, h: usize, shadow: &Shadow, t: usize) -> Result<(), Failure> {
    let head = &run.learner.engine().heads()[h];
    let (f, v, shape) = (&shadow.live, &shadow.live_trace, &shadow.shape);
    let (fv, vv) = (run.points.inner(shape, f, v), run.points.inner(shape, v, v));
    let (mf, mv) = (run.points.mass(shape, f), run.points.mass(shape, v));
    let of_product = shadow.drift.product + 1e-12 * mf * mv + DENORMAL;
    let of_trace = shadow.drift.trace + 1e-12 * mv * mv + DENORMAL;
    if !within((head.trace_product() - fv).abs(), of_product) || !within((head.trace_norm2() - vv).abs(), of_trace) {
        let (product, norm2) = (head.trace_product(), head.trace_norm2());
        let text =
            format!("<f, v> {product:e}, expected {fv:e} +- {of_product:e}; |v|² {norm2:e}, expected {vv:e} +- {of_trace:e}");
        return fail("trace", t, text);
    }
    Ok(())
}

/// c = 1 - s eta lambda omega'(|f|)/|f|, with s the weight of the example by its class and with the true |f|, for the regularisers that ask for it.
pub fn shrinking(run: &Run, seen: &Seen, t: usize) -> Result<(), Failure> {
    let forgetron = matches!(run.config.budget(), okl::budget::BudgetRule::Forgetron { .. }); // shrinks f by a rule of its own
    if !seen.learned || run.config.regulariser.is_square() || run.config.allow_overshoot || forgetron {
        return Ok(());
    }
    for (h, shadow) in run.shadows.iter().enumerate().filter(|(h, _)| !run.rests(*h)) {
        let head = &run.learner.engine().heads()[h];
        let n = run.points.inner(&shadow.shape, &shadow.live, &shadow.live).max(0.0);
        let slack = 2.0 * shadow.drift.norm2 + 1e-6 * n;
        if n <= 4.0 * slack {
            continue;
        }
        let keep = |n: f64| (1.0 - seen.share * head.eta() * head.lambda() * run.config.regulariser.pull(n.sqrt())).max(0.0);
        let (a, b) = (keep(n - slack), keep(n + slack));
        let (found, alpha) = head.last_update();
        let quiet = alpha.iter().all(|a| *a == 0.0);
        if run.config.shrink == Shrink::OnUpdate && quiet {
            continue;
        }
        if found < a.min(b) - 1e-6 || found > a.max(b) + 1e-6 {
            let text = format!("head {h}: f shrinks by {found}, by the true |f| = {:e} it is {}", n.sqrt(), keep(n));
            return fail("regulariser", t, text);
        }
    }
    Ok(())
}
