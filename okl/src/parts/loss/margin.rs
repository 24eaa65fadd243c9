//! Losses of one output: a sign's margin `m = y z` (novelty: `m = z`, y = 1), and the pinball loss.

use super::Eval;
use super::root::root;

/// N(12), with the margin `rho` in place of 1: `l = max(0, rho - m)`, `xi = -y 1{m < rho}`.
pub(super) fn hinge(z: f64, y: f64, rho: f64, xi: &mut [f64]) -> Eval {
    let gap = rho - y * z;
    let outside = gap > 0.0;
    xi.fill(if outside { -y } else { 0.0 });
    Eval { loss: gap.max(0.0), dtheta: 0.0, outside }
}

/// N(13)-(14), (16): `l = max(0, rho - m) - nu rho`, `dl/drho = 1{m < rho} - nu`. The papers print its negative (E3).
pub(super) fn nu_hinge(z: f64, y: f64, rho: f64, nu: f64, xi: &mut [f64]) -> Eval {
    let Eval { loss, outside, .. } = hinge(z, y, rho, xi);
    Eval { loss: loss - nu * rho, dtheta: indicator(outside) - nu, outside }
}

/// `l = -z`, `xi = -1` for every row: the step adds `eta k(x, .)` to f.
pub(super) fn linear(z: f64, xi: &mut [f64]) -> Eval {
    xi.fill(-1.0);
    Eval { loss: -z, dtheta: 0.0, outside: false }
}

/// Section 3.3: `xi = -y clip((rho - m0)/c, 0, 1)`.
pub(super) fn hinge_prox(z0: f64, y: f64, rho: f64, c: f64, xi: &mut [f64]) {
    xi.fill(-y * ramp(rho - y * z0, c));
}

/// N(15) with E4: `l = max(0, -m)`, `xi = -y 1{m <= 0}`.
pub(super) fn perceptron(z: f64, y: f64, xi: &mut [f64]) -> Eval {
    let m = y * z;
    let outside = m <= 0.0;
    xi.fill(if outside { -y } else { 0.0 });
    Eval { loss: (0.0 - m).max(0.0), dtheta: 0.0, outside }
}

/// `l = log(1 + exp(-m))`, `xi = -y s(-m)` with the sigmoid `s`.
pub(super) fn logistic(z: f64, y: f64, xi: &mut [f64]) -> Eval {
    let m = y * z;
    xi.fill(-y * sigmoid(-m));
    Eval { loss: (-m).max(0.0) + libm::log1p(libm::exp(-m.abs())), dtheta: 0.0, outside: false }
}

/// `h = s(z) s(-z)`, the same for both signs.
pub(super) fn logistic_curvature(z: f64, u: &[f64], hu: &mut [f64]) {
    let h = sigmoid(z) * sigmoid(-z);
    hu.iter_mut().zip(u).for_each(|(hu, u)| *hu = h * u);
}

/// `xi = -y s(-m)` where the margin after the step solves `m = m0 + c s(-m)`; the right side lies in `[m0, m0 + c]`.
pub(super) fn logistic_prox(z0: f64, y: f64, c: f64, xi: &mut [f64]) {
    let m0 = y * z0;
    // slope >= 1 >= bend/slope: from within 1e-9 the last step ends within 1e-18
    let m = root(m0, m0 + c, m0, 1e-9, |m| {
        let s = sigmoid(-m);
        (m - m0 - c * s, 1.0 + c * s * (1.0 - s))
    });
    xi.fill(-y * sigmoid(-m));
}

/// The pinball loss `q r_+ + (1 - q) (-r)_+` of a residual r, target minus score: its mean is smallest at the q-quantile of the targets.
///
/// ```
/// use okl::loss::pinball;
/// assert_eq!((pinball(0.75, 4.0), pinball(0.75, -4.0)), (3.0, 1.0));
/// ```
pub fn pinball(q: f64, residual: f64) -> f64 {
    q * residual.max(0.0) + (1.0 - q) * (-residual).max(0.0)
}

/// `l` is the [`pinball`] loss, `xi = -q` where `r > 0`, `1 - q` where `r < 0`, 0 at 0.
pub(super) fn quantile(z: f64, y: f64, q: f64, xi: &mut [f64]) -> Eval {
    let r = y - z;
    xi.fill(if r > 0.0 { -q } else { (1.0 - q) * indicator(r < 0.0) });
    Eval { loss: pinball(q, r), dtheta: 0.0, outside: false }
}

/// Section 3.3: `xi = -clip(r0/c, q - 1, q)`.
pub(super) fn quantile_prox(z0: f64, y: f64, q: f64, c: f64, xi: &mut [f64]) {
    let r0 = y - z0;
    let slope = if r0 < 0.0 { q - 1.0 } else { q };
    xi.fill(-slope * ramp(r0.abs(), c * slope.abs()));
}

/// `clip(gap/c, 0, 1)`, and for `c = 0` its limit `1{gap > 0}`: the explicit step.
fn ramp(gap: f64, c: f64) -> f64 {
    match gap {
        _ if gap <= 0.0 => 0.0,
        _ if gap >= c => 1.0,
        _ => gap / c,
    }
}

/// `1/(1 + exp(-a))`, without overflow.
fn sigmoid(a: f64) -> f64 {
    let e = libm::exp(-a.abs());
    if a < 0.0 { e / (1.0 + e) } else { 1.0 / (1.0 + e) }
}

/// `1{what}`.
pub(super) fn indicator(what: bool) -> f64 {
    f64::from(u8::from(what))
}
