//! What can be said of a run while it runs, in O(1) per step: regret (E25), alert rate (algorithms.md 3.5).
//!
//! The truncation certificate (3.6) is one number, [`crate::head::Head::truncation_error`].

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

use crate::recent::follow;

/// CERT-R of E25: for any u with offset b_u,
///
/// ```text
/// sum_t [R_t(f_t) - R_t(u)] <= |u|²/(2 L'_1) + 1/2 sum_{t>=2} (1/L_t - 1/L_{t-1} - lambda)_+ (|f_t| + |u|)² + 1/2 sum_t L'_t xi^T K_tt xi
///                            + the same for the offset, without lambda
///                            + sum_t d_t (|f_t| + |u| + d_t/2) / L_t + lambda d_t (|f_t| + d_t/2)     what was dropped
/// ```
///
/// with L = eta, L' = eta/(1 - eta lambda), d_t the norm of what step t dropped. It is a quadratic in |u| and |b_u|,
/// whose coefficients are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Regret {
    /// False once a step was taken for which the inequality is not known.
    pub(crate) holds: bool,
    pub(crate) constant: f64,
    pub(crate) linear: f64,
    pub(crate) square: f64,
    pub(crate) offset_linear: f64,
    pub(crate) offset_square: f64,
    /// 1/eta of the step before; 0 before the first.
    pub(crate) last_inverse: f64,
}

/// One explicit step, as the regret certificate sees it.
pub(crate) struct RegretStep {
    pub eta: f64,
    pub lambda: f64,
    /// |f_t|² before the step.
    pub norm2: f64,
    /// |b_t|² before the step; none without an offset.
    pub offset2: Option<f64>,
    /// xi^T K_tt xi.
    pub form: f64,
    /// |xi|².
    pub xi2: f64,
}

impl Regret {
    pub(crate) fn step(&mut self, s: &RegretStep) {
        // E25: the first step contributes |u|²/(2 L'_1), 1/L' = 1/L - lambda and f_1 = 0; later ones the growth of 1/L beyond lambda.
        let inverse = 1.0 / s.eta;
        let growth = inverse - self.last_inverse - s.lambda;
        if s.form != 0.0 {
            self.constant += 0.5 * s.eta / (1.0 - s.eta * s.lambda) * s.form;
        }
        if growth > 0.0 {
            self.constant += 0.5 * growth * s.norm2;
            self.linear += growth * s.norm2.sqrt();
            self.square += 0.5 * growth;
        }
        if let Some(offset2) = s.offset2 {
            let growth = inverse - self.last_inverse;
            self.constant += 0.5 * s.eta * s.xi2;
            if growth > 0.0 {
                self.constant += 0.5 * growth * offset2;
                self.offset_linear += growth * offset2.sqrt();
                self.offset_square += 0.5 * growth;
            }
        }
        self.last_inverse = inverse;
    }

    /// A part of norm `lost` was dropped from a function of norm `norm`, with step size eta.
    pub(crate) fn drop(&mut self, lost: f64, norm: f64, eta: f64, lambda: f64) {
        // |f - u|² enters the telescoping sum with 1/(2 eta); and the norm itself, which the next R_t pays for, may have grown.
        self.constant += 0.5 * lost * (2.0 * norm + lost) * (1.0 / eta + lambda);
        self.linear += lost / eta;
    }

    /// The bound on the regret against every u with |u| <= `norm` and |b_u| <= `offset`; none where it does not hold.
    pub fn bound(&self, norm: f64, offset: f64) -> Option<f64> {
        let of_f = self.constant + self.linear * norm + self.square * norm * norm;
        self.holds.then_some(of_f + self.offset_linear * offset + self.offset_square * offset * offset)
    }
}

/// The rate at which examples were outside, and how far it can be from nu.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlertRate {
    /// What was asked for.
    pub nu: f64,
    /// What was seen: the fraction outside.
    pub rate: f64,
    /// |rate - nu| is at most this, whatever the data.
    pub bound: f64,
}

/// 3.5: theta moves by -eta (1{out} - nu) (or its opposite), so the sum of 1{out} - nu is a sum of moves of theta over eta;
/// summed by parts, |rate - nu| <= range(theta) (1/eta_1 + sum |1/eta_{t+1} - 1/eta_t|) / T, and what the projection
/// moved is logged. Examples count by their weights.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rate {
    pub(crate) examples: f64,
    pub(crate) outside: f64,
    pub(crate) least: f64,
    pub(crate) largest: f64,
    pub(crate) variation: f64,
    pub(crate) last_inverse: f64,
    pub(crate) projected: f64,
}

impl Rate {
    pub(crate) fn new(theta: f64) -> Self {
        Rate { least: theta, largest: theta, ..Rate::default() }
    }

    /// One example of weight `weight`, after which theta is `theta`, of which the projection did `projected`.
    pub(crate) fn step(&mut self, weight: f64, outside: bool, eta: f64, theta: f64, projected: f64) {
        let inverse = 1.0 / eta;
        self.examples += weight;
        self.outside += if outside { weight } else { 0.0 };
        self.least = self.least.min(theta);
        self.largest = self.largest.max(theta);
        self.variation += (inverse - self.last_inverse).abs();
        self.last_inverse = inverse;
        self.projected += projected.abs() * inverse;
    }

    /// The certificate, after the first example.
    pub fn certificate(&self, nu: f64) -> Option<AlertRate> {
        let bound = ((self.largest - self.least) * self.variation + self.projected) / self.examples;
        (self.examples > 0.0).then(|| AlertRate { nu, rate: self.outside / self.examples, bound })
    }
}

/// A threshold of its own for the averaged score (3.5): th = q level with
///
/// ```text
/// q <- q exp(s_t (nu - 1{score < th}))                       started at the nu-quantile q_0 of the first `warmup` scores
/// level <- level + max(1e-3, 5/(t + 4)) (score - level)      the usual score, which grows while f is young
/// s_t = max(0.05, s_0 sqrt(1000/(1000 + t)))                 s_0 is a fifth of the way from ln q_0 to the median's logarithm
/// ```
///
/// Steps never grow, so |rate - nu| <= (max ln q - min ln q) / (s_T T), whatever the data. A step that is given is taken as it is
/// with level = 1; then rate = nu - ln(q_T / q_0) / (s T), exactly.
#[derive(Clone, Debug, PartialEq)]
pub struct Tracker {
    given: Option<f64>,
    pub(crate) warmup: usize,
    /// The first scores, while they are gathered.
    pub(crate) gathered: Vec<f64>,
    pub(crate) state: TrackerState,
}

/// What a tracker has found so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TrackerState {
    /// q, where it started, and its range.
    pub quantile: f64,
    pub start: f64,
    pub least: f64,
    pub largest: f64,
    /// s_0.
    pub stride: f64,
    pub level: f64,
    pub scores: f64,
    pub examples: f64,
    pub outside: f64,
}

/// A threshold is never 0: a multiplicative step could not leave it.
const LEAST_THRESHOLD: f64 = 1e-12;
/// While there are few scores, the newest counts for so many of them in the usual one.
const YOUNG: f64 = 5.0;
/// The share of the way from the quantile to the median that is walked at once, and the examples until strides get shorter.
const STRIDE: f64 = 0.2;
const STRIDES: f64 = 1000.0;
/// A step is at least this long.
const LEAST_STEP: f64 = 0.05;

impl Tracker {
    pub(crate) fn new(step: Option<f64>, warmup: usize) -> Self {
        Tracker { given: step, warmup: warmup.max(1), gathered: Vec::new(), state: TrackerState::default() }
    }

    /// Is the threshold there yet?
    pub fn ready(&self) -> bool {
        self.state.quantile > 0.0
    }

    /// Does what was loaded fit together?
    pub(crate) fn is_possible(&self) -> bool {
        let TrackerState { quantile, least, largest, .. } = self.state;
        !self.ready() || self.given.is_some() || (least > 0.0 && least <= quantile && quantile <= largest)
    }

    /// What the next score is held against; 0 while the first are gathered.
    pub fn threshold(&self) -> f64 {
        self.state.quantile * self.level()
    }

    fn level(&self) -> f64 {
        if self.given.is_some() { 1.0 } else { self.state.level.max(LEAST_THRESHOLD) }
    }

    pub(crate) fn step(&mut self, weight: f64, score: f64, nu: f64) {
        if self.ready() {
            self.move_quantile(weight, score < self.threshold(), nu);
        } else {
            self.gathered.push(score / self.level());
            if self.gathered.len() >= self.warmup {
                self.start_at_quantile(nu);
            }
        }
        let state = &mut self.state;
        state.scores += 1.0;
        follow(&mut state.level, score, state.scores, YOUNG);
    }

    fn move_quantile(&mut self, weight: f64, outside: bool, nu: f64) {
        let move_by = self.stride() * weight * (nu - f64::from(u8::from(outside)));
        let state = &mut self.state;
        state.quantile = (state.quantile * libm::exp(move_by)).clamp(f64::MIN_POSITIVE, f64::MAX);
        (state.least, state.largest) = (state.least.min(state.quantile), state.largest.max(state.quantile));
        state.examples += weight;
        state.outside += if outside { weight } else { 0.0 };
    }

    /// s_t.
    fn stride(&self) -> f64 {
        let shorter = (STRIDES / (STRIDES + self.state.examples)).sqrt();
        self.given.unwrap_or(LEAST_STEP.max(self.state.stride * shorter))
    }

    /// Scores grow while f is young, so the later half of the gathered ones speaks for what is to come.
    fn start_at_quantile(&mut self, nu: f64) {
        let mut scores = self.gathered.split_off(self.gathered.len() / 2);
        scores.sort_by(f64::total_cmp);
        let at = |share: f64| scores[((share * scores.len() as f64) as usize).min(scores.len() - 1)].max(LEAST_THRESHOLD);
        let (start, stride) = (at(nu), STRIDE * libm::log(at(0.5) / at(nu)));
        self.state = TrackerState { quantile: start, start, least: start, largest: start, stride: stride.max(0.0), ..self.state };
        self.gathered = Vec::new();
    }

    /// The certificate, once the threshold is there and an example has met it.
    pub fn certificate(&self, nu: f64) -> Option<AlertRate> {
        let TrackerState { start, quantile, least, largest, examples, outside, .. } = self.state;
        let moved = if self.given.is_some() { quantile / start } else { largest / least };
        let bound = libm::log(moved).abs() / (self.stride() * examples);
        (examples > 0.0).then(|| AlertRate { nu, rate: outside / examples, bound })
    }
}
