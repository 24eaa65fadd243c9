//! SVMD (V): NORMA's step with a step size that descends its own gradient. v is d(f, b, theta)/d ln eta
//! (exactly, for decay = 1 and constant mu = 0: E16), kept as explicit coefficients beta; w and q are
//! its offset's and theta's parts. <g, v> is a double sum over the Gram matrix. E17, E18: general
//! curvature and offsets as in algorithms.md 3.2; V(18)-(25) are its case h = 0.

use super::losses::{Eval, Loss};
use super::{Budget, Kernel, Matrix, State, Subject, Twin, combine, inner, scale, times};

/// The step size's own parameters.
#[derive(Clone, Copy, Debug)]
pub struct Smd {
    pub eta: f64,
    pub mu: f64,
    pub decay: f64,
    /// One step multiplies eta by a factor in [1/2, upper].
    pub upper: f64,
    pub floor: f64,
    pub cap: f64,
}

impl Smd {
    /// The safeguarded defaults (E20): mu .05, decay .9, factor in [1/2, 2], eta in [1e-6 eta_0, .5/lambda].
    pub fn safe(eta: f64, lambda: f64) -> Smd {
        Smd { eta, mu: 0.05, decay: 0.9, upper: 2.0, floor: 1e-6 * eta, cap: 0.5 / lambda }
    }

    /// As published: mu .1, decay 1, max(1/2, .), nothing else.
    pub fn svmd2005(eta: f64) -> Smd {
        Smd { eta, mu: 0.1, decay: 1.0, upper: f64::INFINITY, floor: 0.0, cap: f64::INFINITY }
    }
}

#[derive(Clone)]
pub struct Svmd {
    pub state: State,
    pub loss: Loss,
    pub smd: Smd,
    pub offset: bool,
    pub budget: Budget,
    pub theta_min: f64,
    /// The traces of b and theta.
    pub w: Vec<f64>,
    pub q: f64,
    /// <g_t, v_t> of the last step.
    pub ip: f64,
    gram: Matrix,
    before: (Vec<f64>, Vec<f64>, f64, f64),
}

impl Svmd {
    pub fn new(kernel: &Kernel, loss: Loss, smd: Smd, lambda: f64, outputs: usize) -> Svmd {
        let mut state = State::new(kernel, outputs, lambda);
        state.eta = smd.eta;
        let w = vec![0.0; outputs];
        let before = (w.clone(), w.clone(), 0.0, 0.0);
        Svmd {
            state,
            loss,
            smd,
            offset: false,
            budget: Budget::Unlimited,
            theta_min: 0.0,
            w,
            q: 0.0,
            ip: 0.0,
            gram: vec![],
            before,
        }
    }

    /// sum_ij k(x_i, x_j) left_i' J right_j over (time, coefficient) pairs: <left, right> in H.
    fn double_sum(&self, left: &[(usize, Vec<f64>)], right: &[(usize, Vec<f64>)]) -> f64 {
        let k = |i: usize, j: usize| self.gram[i.max(j) - 1][i.min(j) - 1];
        let right: Vec<(usize, Vec<f64>)> = right.iter().map(|(j, r)| (*j, times(&self.state.metric, r))).collect();
        left.iter().map(|(i, l)| right.iter().map(|(j, r)| k(*i, *j) * inner(l, r)).sum::<f64>()).sum()
    }
}

impl Twin for Svmd {
    fn learn(&mut self, x: &[f64], y: &[f64]) -> Vec<f64> {
        let z = combine(1.0, &self.state.f(x), 1.0, &self.state.b); //            V(11), section 3.4
        let weight = y.get(self.loss.targets(z.len())).copied().unwrap_or(1.0);
        if weight == 0.0 {
            (self.state.updated, self.state.gaps) = (false, vec![]);
            return z; // a row without a target is only predicted
        }
        self.state.xs.push(x.to_vec());
        let t = self.state.xs.len();
        self.gram.push(self.state.xs.iter().map(|xi| (self.state.kernel)(xi, x)).collect());
        self.before = (self.state.b.clone(), self.w.clone(), self.state.theta, self.q);
        let u = self.state.sum(x, |term| &term.beta); //                          v_t(x_t): V(19)
        let Eval { xi, h, dtheta, gaps, bends, .. } = self.loss.eval(&z, y, self.state.theta); // Table 1
        let (xi, dtheta) = (scale(weight, &xi), weight * dtheta);
        let lambda = self.state.lambda_at(&xi); //                                7.1

        let mut g: Vec<_> = self.state.terms.iter().map(|term| (term.time, scale(lambda, &term.alpha))).collect();
        g.push((t, xi.clone())); //                                               g_t = lambda f + K_x xi: V(12)-(13)
        let v: Vec<_> = self.state.terms.iter().map(|term| (term.time, term.beta.clone())).collect();
        self.ip = self.double_sum(&g, &v) + inner(&xi, &self.w) + dtheta * self.q; // <g_t, v_t>; E18
        let factor = (1.0 - self.smd.mu * self.ip).max(0.5).min(self.smd.upper);
        let eta = (self.state.eta * factor).max(self.smd.floor).min(self.smd.cap); // V(16), before its use; E20

        let decay = self.smd.decay;
        let hu = times(&h, &combine(weight, &u, weight, &self.w)); //             H_t v = lambda v + K_x h (v(x) + w); E17
        let zeta = combine(1.0, &xi, decay, &hu);
        let s = &mut self.state;
        for term in &mut s.terms {
            let gradient = combine(lambda, &term.alpha, decay * lambda, &term.beta);
            term.beta = combine(decay, &term.beta, -eta, &gradient); //           V(17): v <- decay v - eta (g + decay H v)
            term.alpha = scale(1.0 - eta * lambda, &term.alpha); //               V(14)
        }
        s.append(scale(-eta, &xi), scale(-eta, &zeta)); //                        V(14), V(17)
        if self.offset {
            s.b = combine(1.0, &s.b, -eta, &xi); //                               V(15)
            self.w = combine(decay, &self.w, -eta, &zeta); //                     V(17) for b; 3.2
        }
        s.theta = (s.theta - eta * dtheta).max(self.theta_min); //                E3, E9
        self.q = decay * self.q - eta * dtheta; //                                V(17) for theta; 3.2
        (s.eta, s.gaps) = (eta, [gaps, bends].concat());
        s.drop_terms(self.budget, false); //                                      V section 3.3: the buffer
        z
    }

    fn state(&self) -> &State {
        &self.state
    }

    fn state_mut(&mut self) -> &mut State {
        &mut self.state
    }

    fn norm_is_exact(&self) -> bool {
        true
    }

    /// Where a piecewise linear loss (h = 0) was decided otherwise, at a kink, the traces follow the
    /// subject: beta_t = alpha_t, w = decay w + (change of b), q = decay q + (change of theta).
    fn adopt(&mut self, subject: &dyn Subject) {
        let t = self.state.xs.len();
        let newest = |s: &State| s.terms.iter().rfind(|term| term.time == t).map(|term| term.alpha.clone());
        let ours = newest(&self.state);
        self.state.adopt(subject);
        let flipped = match (ours, newest(&self.state)) {
            (Some(a), Some(b)) => a.iter().zip(&b).any(|(a, b)| (a - b).abs() > 0.5 * self.state.eta),
            (a, b) => a.is_some() != b.is_some(),
        };
        if self.near_kink() && flipped {
            let (b, w, theta, q) = &self.before;
            let decay = self.smd.decay;
            self.state.terms.iter_mut().filter(|term| term.time == t).for_each(|term| term.beta = term.alpha.clone());
            self.w = combine(decay, w, 1.0, &combine(1.0, &self.state.b, -1.0, b));
            self.q = decay * q + self.state.theta - theta;
        }
    }
}
