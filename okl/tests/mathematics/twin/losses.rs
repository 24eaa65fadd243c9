//! Every loss: l(z, y, theta), xi = dl/dz, h = d2l/dz2, dtheta = dl/dtheta (N(21): the quantile rule),
//! and how far each decision was from its threshold. r = y - z; classes are 0, 1, ..; signs are -1, +1.
//! At the kink (algorithms.md, section 6): margins update iff strictly below, the perceptron iff <= 0,
//! tube and scale are "outside" iff strictly greater, argmax ties go to the smallest label.

use super::{Matrix, identity, inner, scale};
use libm::{exp, log, log1p};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    Hinge {
        margin: f64,
    },
    NuHinge {
        nu: f64,
    },
    Perceptron,
    Logistic,
    MaxMargin,
    Softmax,
    Novelty {
        margin: f64,
    },
    NuNovelty {
        nu: f64,
    },
    /// -z: every row is added to f.
    Density {
        nu: f64,
    },
    Squared,
    Absolute,
    Epsilon {
        epsilon: f64,
    },
    NuEpsilon {
        nu: f64,
    },
    Huber {
        sigma: f64,
    },
    NuHuber {
        nu: f64,
    },
    /// sigma by the true gradient of loss + nu sigma (E7).
    NuHuberConcomitant {
        nu: f64,
    },
    Quantile {
        q: f64,
    },
}

#[derive(Clone, Debug)]
pub struct Eval {
    pub loss: f64,
    pub xi: Vec<f64>,
    pub h: Matrix,
    pub dtheta: f64,
    /// Signed distances from the thresholds at which xi or dtheta jumps, and at which only h does.
    pub gaps: Vec<f64>,
    pub bends: Vec<f64>,
}

impl Loss {
    pub fn is_novelty(self) -> bool {
        matches!(self, Loss::Novelty { .. } | Loss::NuNovelty { .. } | Loss::Density { .. })
    }

    /// How many numbers of `y` are the target, for d outputs.
    pub fn targets(self, d: usize) -> usize {
        if matches!(self, Loss::MaxMargin | Loss::Softmax) { 1 } else { d }
    }

    pub fn eval(self, z: &[f64], y: &[f64], theta: f64) -> Eval {
        let out = |r: f64, theta: f64| f64::from(u8::from(r > theta));
        match self {
            Loss::Hinge { margin } => below(y[0], y[0] * z[0], margin, false), //      N(12), L(2)-(3); E2
            Loss::Perceptron => below(y[0], y[0] * z[0], 0.0, true),           //               N(15); E4
            Loss::Novelty { margin } => below(1.0, z[0], margin, false),       //           V(9)
            Loss::NuHinge { nu } => nu_margin(below(y[0], y[0] * z[0], theta, false), nu, theta), // N(13)-(14); E3
            Loss::NuNovelty { nu } => nu_margin(below(1.0, z[0], theta, false), nu, theta), //       N(16); E3
            Loss::Density { .. } => scalar(-z[0], -1.0, 0.0, None),
            Loss::Logistic => logistic(y[0], z[0]),
            Loss::MaxMargin => max_margin(z, y[0] as usize),
            Loss::Softmax => softmax(z, y[0] as usize),
            Loss::Squared => squared(z, y),
            Loss::Absolute => tube(z, y, 0.0).0,
            Loss::Epsilon { epsilon } => tube(z, y, epsilon).0,
            Loss::NuEpsilon { nu } => {
                let (e, r) = tube(z, y, theta);
                Eval { loss: e.loss + nu * theta, dtheta: nu - out(r, theta), ..e } // N(18); E5
            }
            Loss::Huber { sigma } => huber(z, y, sigma).0,
            Loss::NuHuber { nu } => {
                let (e, r) = huber(z, y, theta);
                Eval { dtheta: nu - out(r, theta), gaps: vec![r - theta], ..e } // N(21); E6, E7, E8
            }
            Loss::NuHuberConcomitant { nu } => {
                let (e, r) = huber(z, y, theta);
                let dtheta = nu - 0.5 * (r * r / (theta * theta)).min(1.0); //    E7
                Eval { loss: e.loss + nu * theta, dtheta, ..e }
            }
            Loss::Quantile { q } => quantile(z[0], y[0], q),
        }
    }
}

fn scalar(loss: f64, xi: f64, h: f64, gap: Option<f64>) -> Eval {
    Eval { loss, xi: vec![xi], h: vec![vec![h]], dtheta: 0.0, gaps: gap.into_iter().collect(), bends: vec![] }
}

/// max(0, rho - m) with m = y z; `or_at`: m = rho counts as below.
fn below(y: f64, m: f64, rho: f64, or_at: bool) -> Eval {
    let below = m < rho || (or_at && m == rho);
    scalar((rho - m).max(0.0), if below { -y } else { 0.0 }, 0.0, Some(m - rho))
}

/// ... - nu rho: d/drho = 1{below} - nu (E3: the paper prints the opposite sign).
fn nu_margin(e: Eval, nu: f64, rho: f64) -> Eval {
    let below = f64::from(u8::from(e.xi[0] != 0.0));
    Eval { loss: e.loss - nu * rho, dtheta: below - nu, ..e }
}

/// log(1 + exp(-y z))
fn logistic(y: f64, z: f64) -> Eval {
    let m = y * z;
    let s = 1.0 / (1.0 + exp(m)); // sigmoid(-m)
    scalar((-m).max(0.0) + log1p(exp(-m.abs())), -y * s, s * (1.0 - s), None)
}

/// max(0, 1 + max_{c != y} z_c - z_y): V(8), Table 1.
fn max_margin(z: &[f64], y: usize) -> Eval {
    let d = z.len();
    let mut e = Eval { loss: 0.0, xi: vec![0.0; d], h: vec![vec![0.0; d]; d], dtheta: 0.0, gaps: vec![], bends: vec![] };
    let others = || (0..d).filter(|c| *c != y);
    let Some(star) = others().reduce(|a, c| if z[c] > z[a] { c } else { a }) else {
        return e;
    };
    e.gaps.push(z[y] - (1.0 + z[star]));
    if z[y] < 1.0 + z[star] {
        e.loss = 1.0 + z[star] - z[y];
        (e.xi[y], e.xi[star]) = (-1.0, 1.0);
        e.gaps.extend(others().filter(|c| *c != star).map(|c| z[star] - z[c])); // the argmax is a decision too
    }
    e
}

/// -log p_y, p = exp(z) / sum exp(z): xi = p - e_y, h u = p*u - p (p'u).
fn softmax(z: &[f64], y: usize) -> Eval {
    let top = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = z.iter().map(|z| exp(z - top)).sum();
    let p: Vec<f64> = z.iter().map(|z| exp(z - top) / total).collect();
    let delta = identity(z.len());
    let xi = (0..z.len()).map(|c| p[c] - delta[y][c]).collect();
    let h = (0..z.len()).map(|a| (0..z.len()).map(|c| p[a] * (delta[a][c] - p[c])).collect()).collect();
    Eval { loss: top + log(total) - z[y], xi, h, dtheta: 0.0, gaps: vec![], bends: vec![] }
}

fn residual(z: &[f64], y: &[f64]) -> (Vec<f64>, f64) {
    let r: Vec<f64> = z.iter().zip(y).map(|(z, y)| y - z).collect();
    let size = inner(&r, &r).sqrt();
    (r, size)
}

/// |r|^2 / 2: N(17), S(1), O Assumption 3.
fn squared(z: &[f64], y: &[f64]) -> Eval {
    let (r, size) = residual(z, y);
    Eval { loss: 0.5 * size * size, xi: scale(-1.0, &r), h: identity(r.len()), dtheta: 0.0, gaps: vec![], bends: vec![] }
}

/// max(0, |r| - epsilon), and |r|; in one dimension xi = -sgn(r) 1{|r| > epsilon}, h = 0.
fn tube(z: &[f64], y: &[f64], epsilon: f64) -> (Eval, f64) {
    let (r, size) = residual(z, y);
    let mut e = squared(z, y);
    e.loss = (size - epsilon).max(0.0);
    (e.xi, e.h) = if size > epsilon { (scale(-1.0 / size, &r), across(&r, size)) } else { (scale(0.0, &r), zeros(r.len())) };
    e.gaps = vec![size - epsilon];
    (e, size)
}

/// N(19), and |r|: xi = -r / max(sigma, |r|) (N(20) with E6: eta r / sigma inside).
fn huber(z: &[f64], y: &[f64], sigma: f64) -> (Eval, f64) {
    let (r, size) = residual(z, y);
    let mut e = squared(z, y);
    e.loss = if size >= sigma { size - 0.5 * sigma } else { size * size / (2.0 * sigma) };
    e.xi = scale(-1.0 / size.max(sigma), &r);
    e.h = if size < sigma { identity(r.len()).iter().map(|row| scale(1.0 / sigma, row)).collect() } else { across(&r, size) };
    e.bends = vec![size - sigma];
    (e, size)
}

/// (I - r r' / |r|^2) / |r|
fn across(r: &[f64], size: f64) -> Matrix {
    let mut h = identity(r.len());
    for (a, row) in h.iter_mut().enumerate() {
        row.iter_mut().zip(r).for_each(|(h, rc)| *h = (*h - r[a] * rc / (size * size)) / size);
    }
    if r.len() == 1 { zeros(1) } else { h }
}

fn zeros(d: usize) -> Matrix {
    vec![vec![0.0; d]; d]
}

/// max(q r, (q - 1) r)
fn quantile(z: f64, y: f64, q: f64) -> Eval {
    let r = y - z;
    let xi = if r > 0.0 {
        -q
    } else if r < 0.0 {
        1.0 - q
    } else {
        0.0
    };
    scalar((q * r).max((q - 1.0) * r), xi, 0.0, Some(r))
}
