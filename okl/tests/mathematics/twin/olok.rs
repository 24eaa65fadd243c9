//! OLOK (O): operator-valued kernel k(x, x') J, f(x) = sum_i k(x_i, x) J alpha_i; Algorithm 1, with its
//! truncation, and the batch solution it is compared with (vv-RLS), as one dense Kronecker system.

use super::losses::Loss;
use super::{Budget, Kernel, Matrix, State, Step, Twin, combine, identity, inner, scale, times};

#[derive(Clone)]
pub struct Olok {
    pub state: State,
    pub loss: Loss,
    pub step: Step,
    pub budget: Budget,
    /// alpha_t = -eta (this) xi: the identity, or L' when coefficients are kept as L' alpha (3.4).
    pub right: Matrix,
}

impl Olok {
    /// eta_t = eta t^{-1/2} (Theorem O1; E13), loss squared, or Huber of the vector residual.
    pub fn new(kernel: &Kernel, operator: &Matrix, loss: Loss, eta: f64, lambda: f64) -> Olok {
        let d = operator.len();
        let mut state = State::new(kernel, d, lambda);
        (state.output, state.metric) = (operator.clone(), operator.clone());
        Olok { state, loss, step: Step::InverseSqrt { eta }, budget: Budget::Unlimited, right: identity(d) }
    }

    /// The same function for J = L L' with coefficients L' alpha of an ordinary expansion (3.4).
    pub fn whitened(kernel: &Kernel, l: &Matrix, loss: Loss, eta: f64, lambda: f64) -> Olok {
        let mut olok = Olok::new(kernel, &identity(l.len()), loss, eta, lambda);
        (olok.state.output, olok.state.metric, olok.right) = (l.clone(), identity(l[0].len()), transpose(l));
        olok
    }

    /// Truncation with s_t = ceil(max(t^{1/2 + epsilon}, t_0)).
    pub fn truncated(mut self, epsilon: f64) -> Olok {
        let Step::InverseSqrt { eta } = self.step else { panic!("Theorem O1 is for eta t^(-1/2)") };
        self.budget = Budget::Olok { exponent: 0.5 + epsilon, t0: t_0(eta * self.state.lambda, epsilon) };
        self
    }
}

impl Twin for Olok {
    fn learn(&mut self, x: &[f64], y: &[f64]) -> Vec<f64> {
        let z = self.state.f(x); //                                    f_{t-1}(x_t); E12
        let s = &mut self.state;
        s.xs.push(x.to_vec());
        s.eta = self.step.eta(s.xs.len(), s.lambda); //                Theorem O1; E13
        let e = self.loss.eval(&z, y, 0.0);
        for term in &mut s.terms {
            term.alpha = scale(1.0 - s.eta * s.lambda, &term.alpha); // Algorithm 1, 2.
        }
        let alpha = scale(-s.eta, &times(&self.right, &e.xi)); //      Algorithm 1, 1.: eta_t, not eta_{t-1} (E12)
        s.append(alpha.clone(), scale(0.0, &alpha));
        s.gaps = e.gaps;
        s.drop_terms(self.budget, false); //                           Algorithm 1, 3.
        z
    }

    fn state(&self) -> &State {
        &self.state
    }

    fn state_mut(&mut self) -> &mut State {
        &mut self.state
    }
}

/// s_t = ceil(max(t^exponent, t_0)), exponent = 1/2 + epsilon, the power by libm.
pub fn s_t(t: usize, exponent: f64, t0: f64) -> usize {
    libm::pow(t as f64, exponent).max(t0).ceil() as usize
}

/// The least t_0 such that for ALL integers t >= t_0 (E14)
///     a < sqrt(t),   exp(-a t^e) <= a t^{-1/2},   t^{1/2+e} <= 3/4 t       (a = eta lambda, e = epsilon).
/// The first and third, once true, stay true. The second is phi(t) = a t^e - ln(t)/2 + ln(a) >= 0, and
/// phi falls until t* = (1/(2 a e))^{1/e} and rises after it. So if phi >= 0 at both integers beside t*
/// it is >= 0 at every integer; else it is monotone from t* on. Either way all three, together, go from
/// false to true once, from 1 or from t* on: double until they hold, then bisect.
/// Whole numbers are held in f64: exact below 2^53, where every useful t_0 lies.
pub fn t_0(a: f64, e: f64) -> f64 {
    let phi = |t: f64| a * libm::pow(t, e) - 0.5 * libm::log(t) + libm::log(a);
    let hold = |t: f64| a < t.sqrt() && phi(t) >= 0.0 && libm::pow(t, 0.5 + e) <= 0.75 * t;
    let star = libm::pow(1.0 / (2.0 * a * e), 1.0 / e).max(1.0);
    let everywhere = phi(star.floor()) >= 0.0 && phi(star.ceil()) >= 0.0;
    let mut low = if everywhere { 0.0 } else { star.ceil() - 1.0 };
    let mut high = star.ceil();
    while !hold(high) {
        high *= 2.0;
    }
    loop {
        let middle = low + ((high - low) / 2.0).floor();
        if middle <= low || middle >= high {
            return high;
        }
        (low, high) = if hold(middle) { (low, middle) } else { (middle, high) };
    }
}

/// vv-RLS: argmin (1/t) sum |h(x_i) - y_i|^2 / 2 + (lambda/2) |h|^2, i.e. G C J + t lambda C = Y,
/// solved as the dense (t d) x (t d) system; row i of the result is alpha_i.
pub fn vv_rls(kernel: &Kernel, operator: &Matrix, xs: &[Vec<f64>], ys: &[Vec<f64>], lambda: f64) -> Matrix {
    let (t, d) = (xs.len(), operator.len());
    let mut system = vec![];
    for i in 0..t {
        for a in 0..d {
            let mut row = vec![0.0; t * d + 1];
            for j in 0..t {
                for b in 0..d {
                    row[j * d + b] = kernel(&xs[i], &xs[j]) * operator[b][a];
                }
            }
            row[i * d + a] += t as f64 * lambda;
            row[t * d] = ys[i][a];
            system.push(row);
        }
    }
    solve(system).chunks(d).map(<[f64]>::to_vec).collect()
}

/// Gaussian elimination with row pivoting; the last column is the right-hand side.
pub fn solve(mut m: Matrix) -> Vec<f64> {
    let n = m.len();
    for c in 0..n {
        let pivot = (c..n).max_by(|a, b| m[*a][c].abs().total_cmp(&m[*b][c].abs())).unwrap();
        m.swap(c, pivot);
        for r in c + 1..n {
            let (factor, above) = (m[r][c] / m[c][c], m[c].clone());
            m[r] = combine(1.0, &m[r], -factor, &above);
        }
    }
    let mut x = vec![0.0; n];
    for r in (0..n).rev() {
        x[r] = (m[r][n] - inner(&m[r][r + 1..n], &x[r + 1..])) / m[r][r];
    }
    x
}

pub fn transpose(m: &Matrix) -> Matrix {
    (0..m[0].len()).map(|j| m.iter().map(|row| row[j]).collect()).collect()
}
