//! Losses with one output per class, `y` the index of the right one. If there is no output for a class, the loss is 0.

use super::Eval;
use super::root::{omega, root};

/// V(8): `l = max(0, 1 + z_s - z_y)`, `s` the best other class; `xi_y = -1`, `xi_s = 1` where `l > 0`.
pub(super) fn max_margin(z: &[f64], y: usize, xi: &mut [f64]) -> Eval {
    xi.fill(0.0);
    let Some((gap, s)) = gap(z, y) else { return Eval::default() };
    let outside = gap > 0.0;
    if outside {
        xi[y] = -1.0;
        xi[s] = 1.0;
    }
    Eval { loss: gap.max(0.0), dtheta: 0.0, outside }
}

/// `1 + z_s - z_y` and `s`; None without a rival or without the class.
fn gap(z: &[f64], y: usize) -> Option<(f64, usize)> {
    let right = z.get(y)?;
    let others = z.iter().enumerate().filter(|&(c, _)| c != y);
    let (s, top) = others.reduce(|best, other| if other.1 > best.1 { other } else { best })?;
    Some((1.0 + (top - right), s))
}

/// `z = z0 - c xi` with `xi_r = (z0_r - m)_+/c` for the others, cut off at a level `m`, and `xi_y = -sum xi_r`.
///
/// The sum reaches 1, or the margin is met first: `sum xi_r = 1` gives a level, `1 + m = z_y` another, the higher one holds.
pub(super) fn max_margin_prox(z0: &[f64], y: usize, c: f64, xi: &mut [f64]) {
    let Some((gap, s)) = gap(z0, y).filter(|g| g.0 > 0.0) else { return xi.fill(0.0) };
    if c == 0.0 {
        max_margin(z0, y, xi);
        return;
    }
    // All scores are relative to the best other score, so that no digits are lost for a small c.
    let top = z0[s];
    let level = level(z0, y, top, c, 0.0).max(level(z0, y, top, gap, 1.0));
    xi.iter_mut().zip(z0).for_each(|(x, z)| *x = (z - top - level).max(0.0) / c);
    xi[y] = 0.0;
    xi[y] = -xi.iter().sum::<f64>();
}

/// The level `m` with `sum_{r != y} (z_r - top - m)_+ = fixed + slope m`.
///
/// The left side is convex in `m`: Newton from the left (all classes above the level, then those that stay) ends exactly.
fn level(z: &[f64], y: usize, top: f64, fixed: f64, slope: f64) -> f64 {
    let mut level = f64::NEG_INFINITY;
    for _ in 0..z.len() {
        let above = z.iter().enumerate().filter(|&(r, z)| r != y && z - top > level);
        let (count, sum) = above.fold((0.0, 0.0), |(n, sum), (_, z)| (n + 1.0, sum + (z - top)));
        let next = (sum - fixed) / (count + slope);
        if next <= level {
            break;
        }
        level = next;
    }
    level
}

/// `l = log sum_c exp(z_c) - z_y`, `xi = p - e_y`, `p_c = exp(z_c)/sum`.
pub(super) fn softmax(z: &[f64], y: usize, xi: &mut [f64]) -> Eval {
    let Some(&right) = z.get(y) else {
        xi.fill(0.0);
        return Eval::default();
    };
    let (top, log_sum) = probabilities(z, xi);
    xi[y] -= 1.0;
    Eval { loss: (top - right) + log_sum, dtheta: 0.0, outside: false }
}

/// `h u = p ∘ u - p (pᵀu)`.
pub(super) fn softmax_curvature(z: &[f64], y: usize, u: &[f64], hu: &mut [f64]) {
    if y >= z.len() {
        return hu.fill(0.0);
    }
    probabilities(z, hu);
    let mean: f64 = hu.iter().zip(u).map(|(p, u)| p * u).sum();
    hu.iter_mut().zip(u).for_each(|(p, u)| *p *= u - mean);
}

/// Writes `p`; returns the largest score and `log sum exp(z - largest)`, between 0 and the logarithm of the number of classes.
fn probabilities(z: &[f64], p: &mut [f64]) -> (f64, f64) {
    let top = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    p.iter_mut().zip(z).for_each(|(p, z)| *p = libm::exp(z - top));
    let sum: f64 = p.iter().sum();
    p.iter_mut().for_each(|p| *p /= sum);
    (top, libm::log(sum))
}

/// The solution of `z + c p(z) = a`, `a = z0 + c e_y`; `xi = p(z) - e_y`.
pub(super) fn softmax_prox(z0: &[f64], y: usize, c: f64, xi: &mut [f64]) {
    if c == 0.0 || y >= z0.len() {
        softmax(z0, y, xi);
        return;
    }
    if !by_newton(z0, y, c, xi) {
        by_level(z0, y, c, xi);
    }
    xi[y] -= 1.0;
}

/// The number of classes for which `by_newton` needs no allocation, and that for which it sets little memory to 0.
const FEW: usize = 32;
const FEWER: usize = 4;
/// The largest number of Newton steps; a million drawn cases ended before it.
const STEPS: usize = 40;

/// Writes `p`; false if Newton's method has not ended after `STEPS` steps.
///
/// With `u = log p` and `L = log sum exp(z)` the equations are `u_i + c p_i = a_i - L` and `sum p_i = 1`. A step of Newton's method in `u` and
/// `L` needs one exponential per class, and four or five steps are enough from the probabilities at `z0`. `u + c exp(u)` is convex and
/// increasing, so a step from too small a `u` may end far too high; `u <= 0` bounds it, and from above the method descends.
fn by_newton(z0: &[f64], y: usize, c: f64, p: &mut [f64]) -> bool {
    match z0.len() {
        classes @ ..=FEWER => newton(z0, y, c, p, &mut [0.0; 3 * FEWER][..3 * classes]),
        classes @ ..=FEW => newton(z0, y, c, p, &mut [0.0; 3 * FEW][..3 * classes]),
        classes => newton(z0, y, c, p, &mut vec![0.0; 3 * classes]),
    }
}

/// `by_newton` with room for three numbers per class.
fn newton(z0: &[f64], y: usize, c: f64, p: &mut [f64], room: &mut [f64]) -> bool {
    let classes = z0.len();
    let (a, rest) = room.split_at_mut(classes);
    let (u, off) = rest.split_at_mut(classes);
    let (top, log_sum) = probabilities(z0, p);
    for ((a, u), z) in a.iter_mut().zip(&mut *u).zip(z0) {
        *a = z - top;
        *u = *a - log_sum;
    }
    a[y] += c;
    for _ in 0..STEPS {
        let (mut sum, mut slope, mut moved) = (0.0, 0.0, 0.0);
        for (((p, off), u), a) in p.iter_mut().zip(&mut *off).zip(&*u).zip(&*a) {
            let weight = 1.0 / (1.0 + c * *p);
            sum += *p;
            *off = u + c * *p - a;
            slope += *p * weight;
            moved += *p * weight * *off;
            *off *= weight;
            *p = weight;
        }
        let level = (1.0 - sum + moved) / slope; // -L
        let mut close = true;
        for ((p, off), u) in p.iter_mut().zip(&*off).zip(&mut *u) {
            let step = level * *p - off;
            *u = (*u + step).min(0.0);
            *p = libm::exp(*u);
            close &= step.abs() <= 1e-9 - 4.0 * f64::EPSILON * *u;
        }
        if close {
            return true;
        }
    }
    false
}

/// Writes `p`, slower. `log p_i + c p_i = a_i - L`, so `c p_i` is `omega(a_i - L + log c)`, and `L` is the root of
/// `sum p_i = 1`, a decreasing function of it, between the levels where the largest `p_i` is 1 and 1/d.
fn by_level(z0: &[f64], y: usize, c: f64, xi: &mut [f64]) {
    let a = |i: usize, z: f64| if i == y { z + c } else { z };
    let top = z0.iter().enumerate().fold(f64::NEG_INFINITY, |top, (i, &z)| top.max(a(i, z)));
    let log_c = libm::log(c);
    let p = |level: f64, i: usize, z: f64| omega(a(i, z) - top - level + log_c) / c;
    let d = z0.len() as f64;
    // slope >= 1/(1 + c), bend/slope <= 2: from here the last step ends within 1e-16
    let close = (1e-9 / (1.0 + c)).max(8.0 * f64::EPSILON);
    let level = root(-c, libm::log(d) - c / d, -c / d, close, |level| {
        let each = z0.iter().enumerate().map(|(i, &z)| p(level, i, z));
        let (sum, slope) = each.fold((0.0, 0.0), |(s, t), p| (s + p, t + p / (1.0 + c * p)));
        (-libm::log(sum), slope / sum)
    });
    xi.iter_mut().zip(z0).enumerate().for_each(|(i, (x, &z))| *x = p(level, i, z));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Newton's method ends, solves the equations, and agrees with the method that solves one equation inside another.
        #[test]
        fn both_ways_to_the_softmax_step_agree(
            shape in prop::collection::vec(-1.0..1.0f64, 2..40),
            scores in -1.0..3.0f64,
            which in 0..40usize,
            step in -6.0..4.0f64,
        ) {
            let z0: Vec<f64> = shape.iter().map(|z| z * 10f64.powf(scores)).collect();
            let (y, c) = (which % z0.len(), 10f64.powf(step));
            let (mut fast, mut slow) = (vec![0.0; z0.len()], vec![0.0; z0.len()]);
            prop_assert!(by_newton(&z0, y, c, &mut fast));
            by_level(&z0, y, c, &mut slow);
            let rounding = 16.0 * f64::EPSILON * (1.0 + c + 2.0 * 10f64.powf(scores));
            prop_assert!((fast.iter().sum::<f64>() - 1.0).abs() <= 40.0 * f64::EPSILON);
            let level = |i: usize| z0[i] - libm::log(fast[i]) + c * (f64::from(u8::from(i == y)) - fast[i]);
            let first = (0..z0.len()).max_by(|&i, &j| fast[i].total_cmp(&fast[j])).unwrap();
            for i in 0..z0.len() {
                if fast[i] > 1e-300 {
                    prop_assert!((level(i) - level(first)).abs() <= rounding, "{} {}", level(i), level(first));
                }
                prop_assert!((fast[i] - slow[i]).abs() <= 2e-9 * slow[i] + 1e-300, "{} {}", fast[i], slow[i]);
            }
        }
    }

    /// A step that Newton's method does not find is found all the same.
    #[test]
    fn extreme_softmax_steps() {
        for (z0, c) in [([1e300, -1e300], 1.0), ([0.0, 0.0], 1e100), ([1e18, 0.0], 1e18), ([0.0, 5e-324], 1e-320)] {
            let mut xi = [0.0; 2];
            softmax_prox(&z0, 1, c, &mut xi);
            assert!((xi[0] + xi[1]).abs() <= 1e-15 && (0.0..=1.0).contains(&xi[0]), "{z0:?} {c:e}: {xi:?}");
        }
    }
}
