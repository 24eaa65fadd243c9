//! Certificates that are updated in O(1) per step: regret (E25) and alert rate (algorithms.md 3.5).
//!
//! The truncation certificate (3.6) is one number, [`crate::engine::head::Head::truncation_error`].

//! ```
//! use okl::{Batch, Config, Learner};
//! let mut detector = Learner::new(Config::from_toml("loss = 'nu_novelty:0.1'\nkernel = 'gaussian:1'\nstep = 'constant:0.01'\nlambda = 1")?)?;
//! let x: Vec<f32> = (0..4000).map(|i| (i as f32 * 0.37).sin()).collect();
//! detector.learn(&Batch::new(&x, 1))?;
//! let rate = detector.alert_rate().unwrap();
//! assert!((rate.rate - 0.1).abs() <= rate.bound);
//! # Ok::<(), okl::Error>(())
//! ```

use serde::{Deserialize, Serialize};

pub(crate) mod recent;
mod tracker;

pub(crate) use tracker::Scores;
pub use tracker::Tracker;

/// CERT-R of E25: for any u with offset b_u,
///
/// ```text
/// sum_t [R_t(f_t) - R_t(u)] <= |u|²/(2 L'_1) + 1/2 sum_{t>=2} (1/L_t - 1/L_{t-1} - lambda)_+ (|f_t| + |u|)² + 1/2 sum_t L'_t xi^T K_tt xi
///                            + the same for the offset, without lambda
///                            + sum_t d_t (|f_t| + |u| + d_t/2) / L_t + lambda d_t (|f_t| + d_t/2)     for dropped terms
/// ```
///
/// with L = eta, L' = eta/(1 - eta lambda), and d_t the norm of what step t dropped. The bound is a quadratic in |u| and |b_u|;
/// its coefficients are stored. R_t(f_t) is the loss at f_t(x_t) as the engine computes it: a rounding error d of this score adds at
/// most |xi| |d|, which is not included.
///
/// With `shrink = on_update` the certificate bounds sum_t [l_t(f_t) - l_t(u)] + lambda/2 sum_{t: xi_t != 0} (|f_t|² - |u|²): the
/// regulariser counts at updates only. Proof: where xi_t = 0, f_t minimises l_t, so l_t(f_t) <= l_t(u), and f does not change;
/// these examples can be left out of the sums above. The regulariser at the other examples is not bounded, because f is not
/// shrunk there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Regret {
    /// False once a step was taken for which the inequality is not proved.
    pub(crate) holds: bool,
    pub(crate) constant: f64,
    pub(crate) linear: f64,
    pub(crate) square: f64,
    pub(crate) offset_linear: f64,
    pub(crate) offset_square: f64,
    /// 1/eta of the previous step; 0 before the first step.
    pub(crate) last_inverse: f64,
    /// What the bank had lost more than this head when the certificate began.
    pub(crate) lost_before: f64,
    /// lambda of the previous step; 0 before the first step.
    pub(crate) last_lambda: f64,
}

/// The data of one explicit step that the regret certificate needs.
pub(crate) struct RegretStep {
    pub eta: f64,
    pub lambda: f64,
    /// |f_t|² before the step.
    pub norm2: f64,
    /// |b_t|² before the step, and the factor of the offset's steps to eta, which is not 0; none without an offset.
    pub offset: Option<(f64, f64)>,
    /// xi^T K_tt xi.
    pub form: f64,
    /// |xi|².
    pub xi2: f64,
}

impl Regret {
    pub(crate) fn step(&mut self, s: &RegretStep) {
        // E25: the first step contributes |u|²/(2 L'_1), with 1/L' = 1/L - lambda and f_1 = 0. Later steps contribute the growth
        // of 1/L beyond lambda.
        let inverse = 1.0 / s.eta;
        if !inverse.is_finite() {
            self.holds = false;
            return;
        }
        let growth = inverse - self.last_inverse - s.lambda;
        if s.form != 0.0 {
            self.constant += 0.5 * s.eta / (1.0 - s.eta * s.lambda) * s.form;
        }
        if growth > 0.0 {
            self.constant += 0.5 * growth * s.norm2;
            self.linear += growth * s.norm2.sqrt();
            self.square += 0.5 * growth;
        }
        // The inequality of a step has lambda_t |f_{t+1}|²/2, the objective lambda_t |f_t|²/2. The sum of the differences is at most the sum
        // of (lambda_t - lambda_{t-1}) |f_t|²/2; lambda_t changes with the weight of the example's class.
        if s.lambda > self.last_lambda {
            self.constant += 0.5 * (s.lambda - self.last_lambda) * s.norm2;
        }
        self.last_lambda = s.lambda;
        if let Some((offset2, step)) = s.offset {
            let growth = (inverse - self.last_inverse) / step;
            self.constant += 0.5 * step * s.eta * s.xi2;
            if growth > 0.0 {
                self.constant += 0.5 * growth * offset2;
                self.offset_linear += growth * offset2.sqrt();
                self.offset_square += 0.5 * growth;
            }
        }
        self.last_inverse = inverse;
        self.stay_numbers();
    }

    /// Ends the certificate if a sum has left the range of f64, and stores f64::MAX instead.
    fn stay_numbers(&mut self) {
        let sums = [&mut self.constant, &mut self.linear, &mut self.square, &mut self.offset_linear, &mut self.offset_square];
        for sum in sums {
            if !sum.is_finite() {
                (*sum, self.holds) = (f64::MAX, false);
            }
        }
    }

    /// Records that a part of norm `lost` was dropped from a function of norm `norm`, at step size eta.
    pub(crate) fn drop(&mut self, lost: f64, norm: f64, eta: f64, lambda: f64) {
        if !self.holds || lost == 0.0 {
            return;
        }
        // |f - u|² enters the telescoping sum with 1/(2 eta) of the last counted step. The drop may also have increased |f|,
        // which enters the next R_t.
        let inverse = (1.0 / eta).max(self.last_inverse);
        self.constant += 0.5 * lost * (2.0 * norm + lost) * (inverse + lambda);
        self.linear += lost * inverse;
        self.stay_numbers();
    }

    /// An upper bound on the regret against every u with |u| <= `norm` and |b_u| <= `offset`; none if the certificate does not
    /// hold.
    pub fn bound(&self, norm: f64, offset: f64) -> Option<f64> {
        let of_f = self.constant + self.linear * norm + self.square * norm * norm;
        self.holds.then_some(of_f + self.offset_linear * offset + self.offset_square * offset * offset)
    }
}

/// The observed rate of examples outside, and an upper bound on its distance from nu.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlertRate {
    /// The requested rate.
    pub nu: f64,
    /// The observed rate: the fraction of examples outside, by the weights of rows and classes.
    pub rate: f64,
    /// Upper bound on |rate - nu|, for any data.
    pub bound: f64,
}

/// The sums of the rate certificate (3.5). theta moves by -eta (1{out} - nu) (or the opposite), so the sum of 1{out} - nu is a
/// sum of the moves of theta divided by eta. Summation by parts gives |rate - nu| <= range(theta) (1/eta_1 + sum |1/eta_{t+1} -
/// 1/eta_t|) / T. Where theta did not move by this amount (projection, rounding), the difference divided by eta is added.
/// Examples count by their weights. If eta is 0, or so small that 1/eta overflows, theta does not move; from then on the bound is
/// f64::MAX / T, that is, no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rate {
    pub(crate) examples: f64,
    pub(crate) outside: f64,
    pub(crate) least: f64,
    pub(crate) largest: f64,
    pub(crate) variation: f64,
    pub(crate) last_inverse: f64,
    pub(crate) projected: f64,
    /// The differences between the reported totals and `examples` and `outside`. Where an average is reported, it may decide differently from
    /// the last hypothesis, which moves theta. And a warm-up learns its rows again and may then decide differently from what was reported
    /// when the rows came.
    pub(crate) more_examples: f64,
    pub(crate) more_outside: f64,
}

impl Rate {
    pub(crate) fn new(theta: f64) -> Self {
        Rate { least: theta, largest: theta, ..Rate::default() }
    }

    /// Records one example of weight `weight`. `theta` is the value after the step; `missed` is the part of its move that is due
    /// to projection and rounding.
    pub(crate) fn step(&mut self, weight: f64, outside: bool, eta: f64, theta: f64, missed: f64) {
        let inverse = (1.0 / eta).min(f64::MAX);
        self.examples += weight;
        self.outside += if outside { weight } else { 0.0 };
        self.least = self.least.min(theta);
        self.largest = self.largest.max(theta);
        self.variation = (self.variation + (inverse - self.last_inverse).abs()).min(f64::MAX);
        self.last_inverse = inverse;
        let missed = if inverse == f64::MAX { f64::MAX } else { missed.abs() * inverse };
        self.projected = (self.projected + missed).min(f64::MAX);
    }

    /// Records that the example of the last step is reported as `reported`, where the hypothesis that moved theta decided `learned`.
    pub(crate) fn report(&mut self, weight: f64, reported: bool, learned: bool) {
        self.more_outside += weight * (f64::from(u8::from(reported)) - f64::from(u8::from(learned)));
    }

    /// The reported totals: the weight of all examples, and of those outside.
    fn reported(&self) -> [f64; 2] {
        [self.examples + self.more_examples, self.outside + self.more_outside]
    }

    /// Keeps the totals that `before` has reported, after its rows were learned again.
    pub(crate) fn keep_reported(&mut self, before: &Rate) {
        let [examples, outside] = before.reported();
        (self.more_examples, self.more_outside) = (examples - self.examples, outside - self.outside);
    }

    /// Keeps the differences of `before`, after its rows were learned again with the same result.
    pub(crate) fn keep_more(&mut self, before: &Rate) {
        (self.more_examples, self.more_outside) = (before.more_examples, before.more_outside);
    }

    /// The certificate; none before the first example. The bound is proved for what was learned; any difference between the
    /// learned and the reported totals is added to it.
    pub fn certificate(&self, nu: f64) -> Option<AlertRate> {
        let [examples, outside] = self.reported();
        let otherwise = self.more_examples.abs() + self.more_outside.abs();
        let bound = ((self.largest - self.least) * self.variation + self.projected + otherwise).min(f64::MAX) / examples;
        (examples > 0.0).then(|| AlertRate { nu, rate: outside / examples, bound })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If 1/eta overflows, the certificates give no bound from then on, but all their numbers stay finite and can be saved.
    #[test]
    fn a_step_size_of_0_leaves_numbers() {
        for eta in [0.0, 1e-310] {
            let mut rate = Rate::new(0.5);
            rate.step(1.0, true, 0.1, 0.4, 0.0);
            (0..3).for_each(|_| rate.step(1.0, false, eta, 0.4, 0.0));
            let Rate { examples, outside, least, largest, variation, last_inverse, projected, .. } = rate;
            assert!(
                [examples, outside, least, largest, variation, last_inverse, projected].iter().all(|v| v.is_finite()),
                "{rate:?}"
            );
            let stated = rate.certificate(0.9).unwrap();
            assert!(stated.rate == 0.25 && stated.bound >= 1e300 && stated.bound.is_finite(), "{stated:?}");

            let mut regret = Regret { holds: true, ..Regret::default() };
            let step = |eta: f64| RegretStep { eta, lambda: 0.1, norm2: 0.0, offset: Some((1.0, 1.0)), form: 1.0, xi2: 1.0 };
            regret.step(&step(0.1));
            regret.step(&step(eta));
            regret.drop(1.0, 2.0, eta, 0.1);
            let Regret { constant, linear, square, offset_linear, offset_square, last_inverse, .. } = regret;
            assert!(
                [constant, linear, square, offset_linear, offset_square, last_inverse].iter().all(|v| v.is_finite()),
                "{regret:?}"
            );
            assert_eq!(regret.bound(1.0, 1.0), None);
        }
    }

    /// A sum that overflows ends the certificate and is not stored as infinity, which no file can hold.
    #[test]
    fn a_regret_beyond_all_numbers_ends_the_certificate() {
        let mut regret = Regret { holds: true, ..Regret::default() };
        regret.step(&RegretStep { eta: 1e-300, lambda: 0.0, norm2: 1e100, offset: None, form: 0.0, xi2: 0.0 });
        assert!(regret.constant.is_finite() && regret.bound(0.0, 0.0).is_none(), "{regret:?}");
    }
}
