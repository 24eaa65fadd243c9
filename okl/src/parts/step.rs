//! Step sizes eta_t: a schedule of t, or SVMD's own adaptation (V(16), algorithms.md 3.2).
//!
//! A policy is a pure function of a [`Signal`]. Its only state, the last step size, is stored in the head.

//! ```
//! use okl::step::{AnyStep, Signal, StepSize};
//! let at = |t, product| Signal { t, lambda: 0.1, last: 0.5, product, size: 1.0 };
//! assert_eq!(AnyStep::InverseSqrt { eta: 1.0 }.eta(&at(4, 0.0)), 0.5);
//! let smd = AnyStep::Smd { eta: 0.5, mu: 0.1, decay: 0.9, floor: None, cap: None, preset: None, per: None };
//! assert!(smd.eta(&at(2, -1.0)) > 0.5);                    // the last steps pointed the same way: go faster
//! assert!(smd.eta(&at(2, 1.0)) < 0.5);                     // they were too long: go slower
//! ```

use serde::{Deserialize, Serialize};

/// The values on which a step size may depend.
#[derive(Clone, Copy, Debug)]
pub struct Signal {
    /// The number of this example, from 1.
    pub t: u64,
    /// The regulariser lambda.
    pub lambda: f64,
    /// The step size of the previous example (at t = 1: `start()`).
    pub last: f64,
    /// SVMD's <g_t, v_t>, V(21); 0 without a trace.
    pub product: f64,
    /// A bound on how fast the example's own score moves: its weight times (the largest eigenvalue of K(x, x), plus 1 where there is
    /// an offset). A gradient step of length eta moves the score by at most eta size |xi|.
    pub size: f64,
}

/// A policy of step sizes.
///
/// Laws: `eta` is pure, positive and finite; it may not depend on the label except through `product`.
pub trait StepSize: Send + Sync {
    /// The step size of this example, computed from `signal` only.
    fn eta(&self, signal: &Signal) -> f64;
    /// The decay of the gradient trace v, for policies that use <g, v>; none for schedules.
    fn trace(&self) -> Option<f64> {
        None
    }
    /// The step size before the first example.
    fn start(&self) -> f64 {
        0.0
    }
    /// How the step size of a single weight adapts, for policies that have one for each; none for policies with one step size for all.
    fn per_coordinate(&self, _lambda: f64) -> Option<Adaptation> {
        None
    }
}

/// How smd adapts a step size to the product of gradient and trace: V(2), V(16), with the safeguards of E20.
#[derive(Clone, Copy, Debug)]
pub struct Adaptation {
    /// The meta step size.
    pub mu: f64,
    /// The largest factor of one step. The smallest is 1/2.
    pub growth: f64,
    /// The smallest step size.
    pub floor: f64,
    /// The largest step size.
    pub cap: f64,
}

impl Adaptation {
    /// The step size after `last`, given the product of gradient and trace.
    #[inline(always)]
    pub fn eta(&self, last: f64, product: f64) -> f64 {
        (last * (1.0 - self.mu * product).max(0.5).min(self.growth)).max(self.floor).min(self.cap)
    }
}

/// The published setting of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Preset {
    /// Karatzoglou et al. 2005: mu = 0.1, decay = 1, factor max(1/2, .), no floor; the cap only keeps eta lambda < 1.
    Svmd2005,
}

/// What has a step size of its own under smd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Per {
    /// Every weight, every offset and theta, where f is a weight vector: V(1)-(3).
    Coordinate,
}

/// The built-in step sizes, by their names in a configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum AnyStep {
    /// eta.
    Constant {
        /// The step size.
        #[serde(default = "half")]
        eta: f64,
    },
    /// eta t^(-1/2): Theorem O1, the experiment of N section 5.
    InverseSqrt {
        /// The first step size.
        #[serde(default = "half")]
        eta: f64,
    },
    /// B / (X sqrt m): Theorem N1, m known in advance.
    Theorem1 {
        /// B: the norm of the comparator.
        #[serde(default = "one")]
        bound: f64,
        /// X: the largest sqrt k(x, x).
        #[serde(default = "one")]
        radius: f64,
        /// m: the number of examples.
        horizon: u64,
    },
    /// 1 / (3 lambda sqrt t): Theorems N2 and N3.
    Theorem2 {},
    /// eta sqrt(tau / (tau + t)): V section 5.
    Decay {
        /// The step size at t = 0.
        #[serde(default = "one")]
        eta: f64,
        /// The number of examples after which the step size has decreased to 0.71 eta.
        #[serde(default = "thousand")]
        tau: f64,
    },
    /// eta (1 - (t - 1)/horizon): decreases to eta / horizon over a number of examples that is known in advance; after that the last
    /// step size stays. The last hypothesis is then as good as an average, and late terms have a small norm when they are merged.
    Linear {
        /// The first step size.
        #[serde(default = "one")]
        eta: f64,
        /// The number of examples.
        horizon: u64,
    },
    /// 1 / (lambda (t + t0)): Pegasos, logarithmic regret.
    Pegasos {
        /// The delay; at least 1, so that eta lambda <= 1/2.
        #[serde(default = "one")]
        t0: f64,
    },
    /// e / (1 + e size) with e = eta sqrt(tau / (tau + t)), or e = eta without tau, and size = k(x, x) + 1 (+ 1 only with an offset; see
    /// [`Signal::size`]): normalised least mean squares. A step never overshoots its own target under the squared loss, however
    /// large k(x, x) is.
    Normalised {
        /// The step size for small k(x, x). For large k(x, x) the step size is about 1 / k(x, x).
        #[serde(default = "one")]
        eta: f64,
        /// The number of examples after which e has decreased to 0.71 eta. If not given, e = eta at every example.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tau: Option<f64>,
    },
    /// eta_t = eta_{t-1} clamp(1 - mu <g, v>, 1/2, 2), clamped to [floor, cap]: V(16) with the safeguards of E20.
    Smd {
        /// eta_0.
        #[serde(default = "half")]
        eta: f64,
        /// The meta step size.
        #[serde(default = "mu")]
        mu: f64,
        /// The decay of the trace.
        #[serde(default = "decay")]
        decay: f64,
        /// The smallest step size; 1e-6 eta_0 when not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        floor: Option<f64>,
        /// The largest step size; 0.5 / lambda when not given, 1e6 eta_0 where lambda = 0.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cap: Option<f64>,
        /// The published setting; replaces mu, decay, floor and cap.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        preset: Option<Preset>,
        /// What has a step size of its own; when not given, there is one for all of f.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        per: Option<Per>,
    },
}

fn half() -> f64 {
    0.5
}
fn one() -> f64 {
    1.0
}
fn thousand() -> f64 {
    1000.0
}
fn mu() -> f64 {
    0.05
}
fn decay() -> f64 {
    0.9
}

/// eta sqrt(tau / (tau + t)).
fn decayed(eta: f64, tau: f64, t: f64) -> f64 {
    eta * (tau / (tau + t)).sqrt()
}

/// The largest eta lambda to which a step is capped: 1 - 2^-10, so that f is not shrunk to 0.
pub(crate) const LARGEST_SHRINK: f64 = 1.0 - 1.0 / 1024.0;

impl AnyStep {
    /// The step size at t = 1, which is the largest one of a schedule; used to check eta lambda < 1.
    pub(crate) fn largest(&self, lambda: f64) -> f64 {
        let first = Signal { t: 1, lambda, last: self.start(), product: 0.0, size: 0.0 };
        self.eta(&first)
    }

    /// How smd adapts; none for the other step sizes.
    fn adaptation(&self, lambda: f64) -> Option<Adaptation> {
        match *self {
            AnyStep::Smd { preset: Some(Preset::Svmd2005), .. } => {
                Some(Adaptation { mu: 0.1, growth: f64::INFINITY, floor: 0.0, cap: LARGEST_SHRINK / lambda })
            }
            AnyStep::Smd { eta, mu, floor, cap, preset: None, .. } => {
                let cap = cap.unwrap_or(if lambda > 0.0 { 0.5 / lambda } else { 1e6 * eta });
                Some(Adaptation { mu, growth: 2.0, floor: floor.unwrap_or(1e-6 * eta), cap })
            }
            _ => None,
        }
    }

    /// Checks the parameters; the error is a sentence for the user.
    pub(crate) fn check(&self) -> Result<(), String> {
        let positive = |name: &str, v: f64| match v.is_finite() && v > 0.0 {
            true => Ok(()),
            false => Err(format!("{name} must be a finite number > 0, found {v}")),
        };
        match *self {
            AnyStep::Constant { eta } | AnyStep::InverseSqrt { eta } => positive("eta", eta),
            AnyStep::Theorem1 { bound, radius, horizon } => {
                positive("bound", bound)?;
                positive("radius", radius)?;
                positive("horizon", horizon as f64)
            }
            AnyStep::Theorem2 {} => Ok(()),
            AnyStep::Decay { eta, tau } => positive("eta", eta).and(positive("tau", tau)),
            AnyStep::Normalised { eta, tau } => positive("eta", eta).and(tau.map_or(Ok(()), |tau| positive("tau", tau))),
            AnyStep::Linear { eta, horizon } => positive("eta", eta).and(positive("horizon", horizon as f64)),
            AnyStep::Pegasos { t0 } if t0 >= 1.0 && t0.is_finite() => Ok(()),
            AnyStep::Pegasos { t0 } => Err(format!("t0 must be at least 1 so that eta lambda stays below one, found {t0}")),
            AnyStep::Smd { eta, mu, decay, floor, cap, .. } => {
                positive("eta", eta)?;
                positive("mu", mu)?;
                floor.map_or(Ok(()), |v| positive("floor", v))?;
                cap.map_or(Ok(()), |v| positive("cap", v))?;
                match (0.0..=1.0).contains(&decay) {
                    true => Ok(()),
                    false => Err(format!("decay must be in [0, 1], found {decay}")),
                }
            }
        }
    }
}

impl StepSize for AnyStep {
    fn eta(&self, s: &Signal) -> f64 {
        let t = s.t as f64;
        match *self {
            AnyStep::Constant { eta } => eta,
            AnyStep::InverseSqrt { eta } => eta / t.sqrt(),
            AnyStep::Theorem1 { bound, radius, horizon } => bound / (radius * (horizon as f64).sqrt()),
            AnyStep::Theorem2 {} => 1.0 / (3.0 * s.lambda * t.sqrt()),
            AnyStep::Decay { eta, tau } => decayed(eta, tau, t),
            AnyStep::Normalised { eta, tau } => {
                let eta = tau.map_or(eta, |tau| decayed(eta, tau, t));
                eta / (1.0 + eta * s.size)
            }
            AnyStep::Linear { eta, horizon } => eta * (horizon as f64 - (t - 1.0)).max(1.0) / horizon as f64,
            AnyStep::Pegasos { t0 } => 1.0 / (s.lambda * (t + t0)),
            AnyStep::Smd { .. } => self.adaptation(s.lambda).map_or(s.last, |rule| rule.eta(s.last, s.product)),
        }
    }

    fn trace(&self) -> Option<f64> {
        match *self {
            AnyStep::Smd { preset: Some(Preset::Svmd2005), .. } => Some(1.0),
            AnyStep::Smd { decay, .. } => Some(decay),
            _ => None,
        }
    }

    fn start(&self) -> f64 {
        match *self {
            AnyStep::Smd { eta, .. } => eta,
            _ => 0.0,
        }
    }

    fn per_coordinate(&self, lambda: f64) -> Option<Adaptation> {
        let AnyStep::Smd { per: Some(Per::Coordinate), .. } = self else { return None };
        self.adaptation(lambda).map(|rule| Adaptation { cap: rule.cap.min(LARGEST_SHRINK / lambda), ..rule })
    }
}
