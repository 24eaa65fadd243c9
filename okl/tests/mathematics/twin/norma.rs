//! NORMA (N): f <- (1 - eta lambda) f - eta xi k(x, .), for every loss and every schedule of the clock.
//!
//! With `average` the returned score is the mean hypothesis' (Theorem N3: of the hypotheses *before*
//! each update, f_1 = 0 included); gradients use f_t. After t examples the mean is of f_1 .. f_t, and
//! the score of example t+1 is that mean's, as predict would give it: `fold_first` scores with f_{t+1}
//! already folded in instead. A dropped term leaves the mean as well, unless `mean_keeps_dropped`.

use super::losses::{Eval, Loss};
use super::{Budget, Kernel, State, Step, Twin, combine, scale};

#[derive(Clone, Copy, Debug)]
pub enum Average {
    None,
    Uniform,
    Exponential { rate: f64 },
}

#[derive(Clone)]
pub struct Norma {
    pub state: State,
    pub loss: Loss,
    pub step: Step,
    pub offset: bool,
    pub budget: Budget,
    pub average: Average,
    pub fold_first: bool,
    pub mean_keeps_dropped: bool,
    /// theta >= this: 0 for rho and epsilon, sigma_min > 0 for sigma (E9).
    pub theta_min: f64,
    /// N(14) and N(16) as printed: rho climbs its gradient and is not projected (E3, E9).
    pub printed_signs: bool,
    pub mean_b: Vec<f64>,
    pub mean_theta: f64,
}

impl Norma {
    pub fn new(kernel: &Kernel, loss: Loss, step: Step, lambda: f64) -> Norma {
        Norma::with_outputs(kernel, loss, step, lambda, 1)
    }

    /// For max_margin, softmax and vector targets.
    pub fn with_outputs(kernel: &Kernel, loss: Loss, step: Step, lambda: f64, outputs: usize) -> Norma {
        Norma {
            state: State::new(kernel, outputs, lambda),
            loss,
            step,
            offset: false,
            budget: Budget::Unlimited,
            average: Average::None,
            fold_first: false,
            mean_keeps_dropped: false,
            theta_min: 0.0,
            printed_signs: false,
            mean_b: vec![0.0; outputs],
            mean_theta: 0.0,
        }
    }

    /// mean <- (1 - omega) mean + omega f_t, omega = 1/t (Theorem N3) or max(rate, 1/t).
    fn fold(&mut self, t: usize) {
        let omega = match self.average {
            Average::None => return,
            Average::Uniform => 1.0 / t as f64,
            Average::Exponential { rate } => rate.max(1.0 / t as f64),
        };
        for term in &mut self.state.terms {
            term.beta = combine(1.0 - omega, &term.beta, omega, &term.alpha);
        }
        self.mean_b = combine(1.0 - omega, &self.mean_b, omega, &self.state.b);
        self.mean_theta += omega * (self.state.theta - self.mean_theta);
    }

    pub fn mean_score(&self, x: &[f64]) -> Vec<f64> {
        combine(1.0, &self.state.sum(x, |term| &term.beta), 1.0, &self.mean_b)
    }
}

impl Twin for Norma {
    fn learn(&mut self, x: &[f64], y: &[f64]) -> Vec<f64> {
        assert!(!(self.offset && self.loss.is_novelty()), "no offset for novelty: its solution would be trivial (N)");
        let d = self.state.b.len();
        let weight = y.get(self.loss.targets(d)).copied().unwrap_or(1.0);
        let t = self.state.xs.len() + 1;
        let z = combine(1.0, &self.state.f(x), 1.0, &self.state.b); //            g = f + b, N section 3
        if self.fold_first && weight != 0.0 {
            self.fold(t);
        }
        let score = if matches!(self.average, Average::None) { z.clone() } else { self.mean_score(x) };
        if weight == 0.0 {
            (self.state.updated, self.state.gaps) = (false, vec![]);
            return score; // a row without a target is only predicted; the clock stands still
        }
        if !self.fold_first {
            self.fold(t);
        }
        let Eval { xi, dtheta, gaps, .. } = self.loss.eval(&z, y, self.state.theta); // c'(x, y, f(x))
        let xi = scale(weight, &xi);
        let eta = self.step.eta(t, self.state.lambda);
        let lambda = self.state.lambda_at(&xi); //                                7.1
        let s = &mut self.state;
        s.xs.push(x.to_vec());
        for term in &mut s.terms {
            term.alpha = scale(1.0 - eta * lambda, &term.alpha); //               N(10); E1
        }
        s.append(scale(-eta, &xi), vec![0.0; d]); //                              N(9); E6
        if self.offset {
            s.b = combine(1.0, &s.b, -eta, &xi); //                               N(12), (14), (15): b - eta db R
        }
        s.theta = if self.printed_signs {
            s.theta + eta * weight * dtheta //                                    N(14), (16) as printed
        } else {
            (s.theta - eta * weight * dtheta).max(self.theta_min) //              N(14), (16), (18), (21); E3, E5, E7, E9
        };
        (s.eta, s.gaps) = (eta, gaps);
        s.drop_terms(self.budget, self.mean_keeps_dropped); //                    N section 2, truncation
        score
    }

    fn state(&self) -> &State {
        &self.state
    }

    fn state_mut(&mut self) -> &mut State {
        &mut self.state
    }
}
