//! Losses of `|r|`, `r = y - z`: squared, epsilon-insensitive, Huber. One output or many, by the same code.
//!
//! Each gradient is `xi = -r/tau`, `tau` = 1 (squared), `max(sigma, |r|)` (Huber), `|r|` (outside the tube). So is the
//! proximal one: `z = z0 - C xi` gives `r = r0 - C r/tau`, in the eigenbasis of `C`, with `q = Uᵀ r0`,
//!
//! ```text
//! r_j = tau q_j/(tau + c_j),    xi_j = -q_j/(tau + c_j),    |xi| = phi(tau) := |q/(tau + c)|,
//! ```
//!
//! which leaves a scalar equation for `tau`. `1/phi` is concave and increasing, and linear if all `c_j` are equal (the secular
//! equation of trust-region methods). Newton's method from the left converges to its root, in one step for one output.

use super::margin::indicator;
use super::root::root;
use super::{Eval, Metric, SigmaRule};

/// N(17), S(1), O Assumption 3: `l = ½ |r|²`, `xi = -r`.
pub(super) fn squared(z: &[f64], y: &[f64], xi: &mut [f64]) -> Eval {
    xi.iter_mut().zip(z.iter().zip(y)).for_each(|(xi, (z, y))| *xi = z - y);
    let loss = 0.5 * xi.iter().map(|r| r * r).sum::<f64>();
    Eval { loss, dtheta: 0.0, outside: false }
}

/// `l = max(0, |r| - epsilon)`, `xi = -(r/|r|) 1{|r| > epsilon}`.
pub(super) fn epsilon(z: &[f64], y: &[f64], epsilon: f64, xi: &mut [f64]) -> Eval {
    let size = residual(z, y, xi);
    let outside = size > epsilon;
    divide(xi, if outside { -size } else { f64::NEG_INFINITY });
    Eval { loss: (size - epsilon).max(0.0), dtheta: 0.0, outside }
}

/// N(18): `+ nu epsilon`, `dl/depsilon = nu - 1{|r| > epsilon}` (the text after it swaps nu and 1 - nu, E5).
pub(super) fn nu_epsilon(z: &[f64], y: &[f64], tube: f64, nu: f64, xi: &mut [f64]) -> Eval {
    let Eval { loss, outside, .. } = epsilon(z, y, tube, xi);
    Eval { loss: loss + nu * tube, dtheta: nu - indicator(outside), outside }
}

/// N(19)-(20): `l = |r| - sigma/2` where `|r| >= sigma`, else `|r|²/(2 sigma)`; `xi = -r/max(sigma, |r|)` (E6).
pub(super) fn huber(z: &[f64], y: &[f64], sigma: f64, xi: &mut [f64]) -> Eval {
    let size = residual(z, y, xi);
    divide(xi, -size.max(sigma));
    let loss = if size >= sigma { size - 0.5 * sigma } else { 0.5 * size * (size / sigma) };
    Eval { loss, dtheta: 0.0, outside: size > sigma }
}

/// N(21) `dtheta = nu - 1{|r| > sigma}`, or E7 `l + nu sigma`, `dtheta = nu - ½ min(1, |r|²/sigma²)`.
pub(super) fn nu_huber(z: &[f64], y: &[f64], sigma: f64, nu: f64, rule: SigmaRule, xi: &mut [f64]) -> Eval {
    let Eval { loss, outside, .. } = huber(z, y, sigma, xi);
    match rule {
        SigmaRule::Quantile => Eval { loss, dtheta: nu - indicator(outside), outside },
        SigmaRule::Concomitant => {
            // |xi| = min(1, |r|/sigma)
            let share = if outside { 1.0 } else { xi.iter().map(|x| x * x).sum() };
            Eval { loss: loss + nu * sigma, dtheta: nu - 0.5 * share, outside }
        }
    }
}

/// `h = (I - n nᵀ)/|r|`, `n = r/|r|`, outside the tube (exactly 0 for one output), else 0.
pub(super) fn epsilon_curvature(z: &[f64], y: &[f64], epsilon: f64, u: &[f64], hu: &mut [f64]) {
    let size = residual(z, y, hu);
    if size > epsilon { across(size, u, hu) } else { hu.fill(0.0) }
}

/// `h = I/sigma` inside, `(I - n nᵀ)/|r|` outside and at equality.
pub(super) fn huber_curvature(z: &[f64], y: &[f64], sigma: f64, u: &[f64], hu: &mut [f64]) {
    let size = residual(z, y, hu);
    if size >= sigma {
        across(size, u, hu);
    } else {
        hu.iter_mut().zip(u).for_each(|(hu, u)| *hu = u / sigma);
    }
}

/// From the residual in `hu`, of norm `size`: `hu = (u - n <n, u>)/size`.
fn across(size: f64, u: &[f64], hu: &mut [f64]) {
    divide(hu, size);
    let along: f64 = hu.iter().zip(u).map(|(n, u)| n * u).sum();
    hu.iter_mut().zip(u).for_each(|(n, u)| *n = (u - *n * along) / size);
}

/// `tau = 1`: `xi = -r0/(1 + C)`.
pub(super) fn squared_prox(z0: &[f64], y: &[f64], metric: &Metric<'_>, xi: &mut [f64]) {
    rotate(z0, y, metric, xi);
    finish(z0, y, metric, xi, |q, c| part(q, 1.0, c));
}

/// `tau = sigma` if the residual ends inside the scale, `phi(sigma) <= 1`; else `phi(tau) = 1`.
pub(super) fn huber_prox(z0: &[f64], y: &[f64], sigma: f64, metric: &Metric<'_>, xi: &mut [f64]) {
    rotate(z0, y, metric, xi);
    if phi(xi, sigma, metric.c) > 1.0 {
        unit(z0, y, sigma, metric, xi);
    } else {
        finish(z0, y, metric, xi, |q, c| part(q, sigma, c));
    }
}

/// `xi = 0` if `|r0| <= epsilon`; `phi(tau) = 1` if the residual ends outside, `phi(epsilon) > 1`; else on the tube.
pub(super) fn epsilon_prox(z0: &[f64], y: &[f64], epsilon: f64, metric: &Metric<'_>, xi: &mut [f64]) {
    rotate(z0, y, metric, xi);
    if norm(xi.iter().copied()) <= epsilon {
        xi.fill(0.0);
    } else if phi(xi, epsilon, metric.c) > 1.0 {
        unit(z0, y, epsilon, metric, xi);
    } else {
        let tau = touching(xi, epsilon, metric.c);
        finish(z0, y, metric, xi, |q, c| part(q, tau, c));
    }
}

/// `phi(tau) = 1`, `least < tau <= |r0|`: the unit vector `xi = -r/|r|`, `tau = |r|`. `xi` comes in as `q`.
fn unit(z0: &[f64], y: &[f64], least: f64, metric: &Metric<'_>, xi: &mut [f64]) {
    let c = metric.c;
    let most = norm(xi.iter().copied());
    let tau = root(least, most, least, rounding(xi), |tau| {
        let size = phi(xi, tau, c);
        let slope: f64 = xi.iter().zip(c).map(|(&q, &c)| square(part(q, tau, c) / size) / (tau + c)).sum();
        (1.0 / size - 1.0, slope / size)
    });
    let size = phi(xi, tau, c); // 1 but for rounding: divided out, so that one output gives exactly -1 or +1
    finish(z0, y, metric, xi, |q, c| part(q, tau, c) / size);
}

/// The `tau >= epsilon` that leaves the residual on the tube, `tau phi(tau) = |r| = epsilon`.
///
/// Solved in `s = 1/tau`, where `r_j = q_j/(1 + s c_j)` and `1/|r|` is concave, from `s = 0` up.
fn touching(q: &[f64], epsilon: f64, c: &[f64]) -> f64 {
    if epsilon < f64::MIN_POSITIVE {
        return 0.0;
    }
    let s = root(0.0, 1.0 / epsilon, 0.0, rounding(q), |s| {
        let left = |(&q, &c): (&f64, &f64)| q / (1.0 + s * c);
        let size = norm(q.iter().zip(c).map(left));
        let slope: f64 = q.iter().zip(c).map(|(q, c)| square(left((q, c)) / size) * c / (1.0 + s * c)).sum();
        ((epsilon - size) / size, slope * epsilon / size)
    });
    1.0 / s
}

/// `phi(tau) = |q/(tau + c)|`.
fn phi(q: &[f64], tau: f64, c: &[f64]) -> f64 {
    norm(q.iter().zip(c).map(|(&q, &c)| part(q, tau, c)))
}

/// `q/(tau + c)`; 0 for `q = 0`, even for `tau = c = 0`.
fn part(q: f64, tau: f64, c: f64) -> f64 {
    if q == 0.0 { 0.0 } else { q / (tau + c) }
}

/// `q = Uᵀ (y - z0)`.
fn rotate(z0: &[f64], y: &[f64], metric: &Metric<'_>, q: &mut [f64]) {
    match metric.basis {
        None => drop(residual(z0, y, q)),
        Some(u) => q.iter_mut().enumerate().for_each(|(j, q)| *q = along(u, z0, y, j)),
    }
}

/// `<U_j, y - z0>`, `U_j` the j-th column.
fn along(u: &[f64], z0: &[f64], y: &[f64], j: usize) -> f64 {
    let rows = u.chunks_exact(z0.len().max(1));
    rows.zip(z0.iter().zip(y)).map(|(row, (z, y))| row[j] * (y - z)).sum()
}

/// `xi = -U w(q, c)`; `xi` is `q` on entry. With a basis, each `q_j` is computed again while `xi` is written, so that no third
/// vector is needed.
fn finish(z0: &[f64], y: &[f64], metric: &Metric<'_>, xi: &mut [f64], w: impl Fn(f64, f64) -> f64) {
    let Some(u) = metric.basis else {
        xi.iter_mut().zip(metric.c).for_each(|(x, &c)| *x = -w(*x, c));
        return;
    };
    xi.fill(0.0);
    for (j, &c) in metric.c.iter().enumerate() {
        let w = w(along(u, z0, y, j), c);
        let rows = u.chunks_exact(xi.len().max(1));
        xi.iter_mut().zip(rows).for_each(|(x, row)| *x -= row[j] * w);
    }
}

/// Writes `r = y - z`, returns `|r|`.
fn residual(z: &[f64], y: &[f64], r: &mut [f64]) -> f64 {
    r.iter_mut().zip(z.iter().zip(y)).for_each(|(r, (z, y))| *r = y - z);
    norm(r.iter().copied())
}

/// The Euclidean norm, computed relative to the largest entry, so that it does not overflow or underflow. For one entry it is exact.
fn norm(r: impl Iterator<Item = f64> + Clone) -> f64 {
    let most = r.clone().fold(0.0, |most: f64, r| most.max(r.abs()));
    if most == f64::INFINITY {
        return most;
    }
    let scale = if most == 0.0 { 1.0 } else { most };
    scale * r.map(|r| square(r / scale)).sum::<f64>().sqrt()
}

/// The relative rounding error of a norm of this many entries.
fn rounding(r: &[f64]) -> f64 {
    f64::EPSILON * (2.0 + r.len() as f64)
}

fn square(a: f64) -> f64 {
    a * a
}

fn divide(values: &mut [f64], by: f64) {
    values.iter_mut().for_each(|v| *v /= by);
}
