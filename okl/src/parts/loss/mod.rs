//! Losses: `l(z, y, theta)`, its gradient `xi = dl/dz`, its curvature `h = d²l/dz²`, and its proximal step.
//!
//! Symbols: `z` the score in R^d, `y` the target, `r = y - z` the residual, `|r|` its Euclidean norm, `m = y z` the
//! margin of a sign, `theta` the loss's adaptive scalar: the margin `rho`, the tube `epsilon` or the scale `sigma`.
//! Equation numbers: N (NORMA, Kivinen et al. 2001), V (SVMD, Karatzoglou et al. 2005), O (OLOK, Audiffren and Kadri
//! 2015), S (Sumitra's note). E is a numbered erratum to these papers; the formulas here are the corrected ones.
//!
//! # Boundary conventions
//!
//! These conventions hold for all functions below, explicit and proximal:
//!
//! * hinge, multiclass margin, novelty and structured margin act iff the margin is *strictly* below its threshold: at
//!   `m = rho` the gradient is 0;
//! * the perceptron acts iff `m <= 0` (E4: from f = 0 a strict rule would never start);
//! * "outside" the tube or the scale is strict: `|r| > epsilon`, `|r| > sigma` (E8: at `|r| = sigma` both branches of
//!   Huber's gradient agree);
//! * absolute and quantile losses have gradient 0 at `r = 0`;
//! * ties of an argmax go to the earlier class;
//! * while one class is known, its rival in `max_margin` and `softmax` is a class not yet seen, whose score is 0;
//! * curvature at a kink is that of the flat side: 0 for the tube and the scale at equality.
//!
//! At a kink a proximal step returns the one subgradient that solves the proximal equation.
//!
//! ```
//! use okl::loss::{AnyLoss, Loss};
//! let mut xi = [0.0];
//! let e = AnyLoss::Hinge { margin: 1.0 }.eval(&[0.25], &[1.0], 0.0, &mut xi);
//! assert_eq!((e.loss, xi[0]), (0.75, -1.0));               // below the margin: push towards y
//! let e = AnyLoss::NuNovelty { nu: 0.1 }.eval(&[0.2], &[], 0.5, &mut xi);
//! assert_eq!((e.outside, e.dtheta), (true, 0.9));          // an alert lowers the threshold by eta (1 - nu)
//! ```
//!
//! # The files
//!
//! `margin`: losses of one output. `residual`: losses of `|y - z|`, one output or many, by the same code.
//! `classes`: one output per class. `structured`: an argmax oracle. `root`: the scalar equations behind the proximal steps.

mod classes;
mod margin;
mod residual;
mod root;
mod structured;

use serde::{Deserialize, Serialize};

pub use margin::pinball;
pub use structured::{Oracle, Structured};

/// The result of a loss for one example, except its gradient.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Eval {
    /// The loss. The nu-losses include their `nu theta` term and may be negative.
    pub loss: f64,
    /// The derivative by `theta` (or its replacement) that the step subtracts; 0 for a loss without `theta`.
    pub dtheta: f64,
    /// Whether the example is a margin error, an alert, or outside the tube or scale. nu is the requested share of such examples. False
    /// for losses without a margin, tube or scale.
    pub outside: bool,
}

/// The kind of target that a loss needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// `y[0]` is -1 or +1; one output.
    Sign,
    /// `y[0]` is the index of a class; one output per class.
    Class,
    /// `y[0]` is a number; one output.
    Number,
    /// `y` has one number per output; one output or more.
    Vector,
    /// There is no target (novelty); one output, and no offset.
    Nothing,
}

/// The adaptive scalar of a loss: its initial value, and the lower limit of its projection (E9).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Theta {
    /// The value before the first example.
    pub start: f64,
    /// The lower limit.
    pub least: f64,
}

/// The matrix `C = U diag(c) Uᵀ` of a proximal step: the score after the step is `z = z0 - C xi`.
#[derive(Clone, Copy, Debug)]
pub struct Metric<'a> {
    /// The eigenvalues, one per output, none negative.
    pub c: &'a [f64],
    /// The eigenvectors: `U` row-major, d x d, one per column. None: the identity.
    pub basis: Option<&'a [f64]>,
}

impl Metric<'_> {
    /// `c` if the matrix is exactly `c I`.
    pub fn multiple(&self) -> Option<f64> {
        let (&first, rest) = self.c.split_first()?;
        rest.iter().all(|&c| c == first).then_some(first)
    }
}

/// A loss. Its results depend only on the arguments.
///
/// Laws: `xi` is the gradient of `loss` in `z` (a subgradient at kinks, by the conventions above). If `convex` returns true,
/// `loss(z') >= loss(z) + <xi, z' - z>` for all `z'`. A loss without an adaptive scalar ignores `theta`. After `prox` returned
/// true, `xi` is a (sub)gradient at `z0 - C xi`. `z`, `xi`, `u` and `hu` have one entry per output.
pub trait Loss: Send + Sync {
    /// The kind of target.
    fn reads(&self) -> Reads;

    /// The loss at `z`; writes `xi = dl/dz`.
    fn eval(&self, z: &[f64], y: &[f64], theta: f64, xi: &mut [f64]) -> Eval;

    /// Writes `h u`, the curvature along `u`. The default is 0, which is right for a piecewise linear loss.
    fn curvature(&self, z: &[f64], y: &[f64], theta: f64, u: &[f64], hu: &mut [f64]) {
        let _ = (z, y, theta, u);
        hu.fill(0.0);
    }

    /// The implicit gradient: writes the `xi` that solves `xi = dl/dz (z0 - C xi)`. Returns false, with `xi` unchanged, if the loss has
    /// no implicit gradient.
    fn prox(&self, z0: &[f64], y: &[f64], theta: f64, metric: &Metric<'_>, xi: &mut [f64]) -> bool {
        let _ = (z0, y, theta, metric, xi);
        false
    }

    /// Whether `prox` works for this number of outputs. `identity`: the metric is a multiple of the identity.
    ///
    /// False for the perceptron: its loss has a minimum at f = 0, so a proximal step would stay there and never learn. False for
    /// max_margin and softmax with a metric that couples the classes: no finite or scalar solution is known. False for structured
    /// outputs: the step would need a quadratic program over the oracle's answers.
    fn can_prox(&self, outputs: usize, identity: bool) -> bool {
        let _ = (outputs, identity);
        false
    }

    /// The adaptive scalar, if there is one.
    fn theta(&self) -> Option<Theta> {
        None
    }

    /// Whether the loss is convex in `z` at fixed `theta`.
    fn convex(&self) -> bool {
        true
    }

    /// A bound on the Euclidean norm of `xi`, if there is one.
    fn lipschitz(&self) -> Option<f64> {
        None
    }

    /// Whether the loss is at most twice the sum of the sizes of the scores, plus the logarithm of one more than their number.
    fn grows_as_scores(&self) -> bool {
        false
    }

    /// Whether [`Eval::outside`] has a meaning for this loss: a margin error, or a residual outside the tube or scale.
    fn has_outside(&self) -> bool {
        false
    }

    /// The fraction of examples outside to which the updates of `theta`, or of a separate threshold, converge; none for other losses.
    fn nu(&self) -> Option<f64> {
        None
    }
}

/// How the scale of `nu_huber` adapts to the residuals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SigmaRule {
    /// `dtheta = nu - 1{|r| > sigma}`, N(21): a fraction `nu` of the residuals ends up outside. Not a gradient (E7).
    #[default]
    Quantile,
    /// `dtheta = nu - ½ min(1, |r|²/sigma²)`, the gradient of `loss + nu sigma`: settles where the mean of `min(1, |r|²/sigma²)` is `2 nu`.
    Concomitant,
}

/// Every loss of the five papers, by the names a configuration uses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum AnyLoss {
    /// `max(0, margin - y z)`, N(12).
    Hinge {
        /// The margin. Default: 1.
        #[serde(default = "one")]
        margin: f64,
    },
    /// `max(0, rho - y z) - nu rho` with adaptive `rho >= 0`, N(13)-(14) with the sign of E3.
    NuHinge {
        /// The fraction of margin errors. Default: 0.1.
        #[serde(default = "tenth")]
        nu: f64,
    },
    /// `max(0, -y z)`, N(15) with E4.
    Perceptron {},
    /// `log(1 + exp(-y z))`.
    Logistic {},
    /// `max(0, 1 + max_{c != y} z_c - z_y)`, V(8).
    MaxMargin {},
    /// `log sum_c exp(z_c) - z_y`.
    Softmax {},
    /// `max(0, margin - z)`, V(9).
    Novelty {
        /// The score below which there is a loss. Default: 1.
        #[serde(default = "one")]
        margin: f64,
    },
    /// `max(0, rho - z) - nu rho` with adaptive `rho >= 0`, N(16) with the sign of E3.
    NuNovelty {
        /// The fraction of alerts. Default: 0.05.
        #[serde(default = "twentieth")]
        nu: f64,
    },
    /// `-z`: f is a weighted mean of `k(x, .)` over the rows so far, a kernel density. `nu` sets the threshold, not f.
    Density {
        /// The fraction of alerts. Default: 0.05.
        #[serde(default = "twentieth")]
        nu: f64,
    },
    /// `½ |r|²`, N(17), O Assumption 3, S(1).
    Squared {},
    /// `|r|`: epsilon-insensitive with no tube.
    Absolute {},
    /// `max(0, |r| - epsilon)`, N section 3.
    Epsilon {
        /// Half the width of the tube. Default: 0.1.
        #[serde(default = "tenth")]
        epsilon: f64,
    },
    /// `max(0, |r| - epsilon) + nu epsilon` with adaptive `epsilon >= 0`, N(18) with E5.
    NuEpsilon {
        /// The fraction of examples outside the tube. Default: 0.1.
        #[serde(default = "tenth")]
        nu: f64,
    },
    /// `|r| - sigma/2` where `|r| >= sigma`, else `|r|²/(2 sigma)`, N(19)-(20) with E6.
    Huber {
        /// The scale. Default: 1.
        #[serde(default = "one")]
        sigma: f64,
    },
    /// Huber's loss with adaptive `sigma >= 1e-6`, N(21) with E6 and E7.
    NuHuber {
        /// With `quantile`: the fraction of examples outside the scale. With `concomitant`: the weight of sigma in the loss. Default: 0.1.
        #[serde(default = "tenth")]
        nu: f64,
        /// How the scale adapts. Default: quantile.
        #[serde(default)]
        sigma_rule: SigmaRule,
    },
    /// `q r` where `r > 0`, else `(q - 1) r`: the pinball loss.
    Quantile {
        /// The quantile. Default: 0.5, the median.
        #[serde(default = "half")]
        q: f64,
    },
}

fn one() -> f64 {
    1.0
}

fn half() -> f64 {
    0.5
}

fn tenth() -> f64 {
    0.1
}

fn twentieth() -> f64 {
    0.05
}

/// The lower limit of the scale of `nu_huber` (E7, E9: without a limit, N(21) could make it 0 or negative).
const SIGMA_LEAST: f64 = 1e-6;

impl AnyLoss {
    /// Checks the parameters; the error is a sentence for the user.
    pub fn check(&self) -> Result<(), String> {
        match *self {
            Self::Hinge { margin } | Self::Novelty { margin } => positive("margin", margin, ""),
            Self::Epsilon { epsilon } => positive("epsilon", epsilon, " (without a tube the loss is called absolute)"),
            Self::Huber { sigma } => positive("sigma", sigma, ""),
            Self::Quantile { q } => inside("q", q, 1.0, ""),
            Self::NuHuber { nu, sigma_rule: SigmaRule::Concomitant } => {
                inside("nu", nu, 0.5, " with sigma_rule concomitant, where the mean of min(1, r²/sigma²) settles at 2 nu")
            }
            Self::NuHinge { nu } | Self::NuNovelty { nu } | Self::NuEpsilon { nu } | Self::NuHuber { nu, .. } => {
                inside("nu", nu, 1.0, "")
            }
            Self::Density { nu } => inside("nu", nu, 1.0, ""),
            Self::Perceptron {} | Self::Logistic {} | Self::MaxMargin {} => Ok(()),
            Self::Softmax {} | Self::Squared {} | Self::Absolute {} => Ok(()),
        }
    }
}

fn positive(name: &str, value: f64, why: &str) -> Result<(), String> {
    let good = value.is_finite() && value > 0.0;
    good.then_some(()).ok_or_else(|| format!("{name} must be finite and greater than 0, not {value}{why}"))
}

fn inside(name: &str, value: f64, end: f64, why: &str) -> Result<(), String> {
    let good = value > 0.0 && value < end;
    good.then_some(()).ok_or_else(|| format!("{name} must lie strictly between 0 and {end}, not {value}{why}"))
}

impl Loss for AnyLoss {
    fn reads(&self) -> Reads {
        match self {
            Self::Hinge { .. } | Self::NuHinge { .. } | Self::Perceptron {} | Self::Logistic {} => Reads::Sign,
            Self::MaxMargin {} | Self::Softmax {} => Reads::Class,
            Self::Novelty { .. } | Self::NuNovelty { .. } | Self::Density { .. } => Reads::Nothing,
            Self::Quantile { .. } => Reads::Number,
            Self::Squared {} | Self::Absolute {} | Self::Epsilon { .. } => Reads::Vector,
            Self::NuEpsilon { .. } | Self::Huber { .. } | Self::NuHuber { .. } => Reads::Vector,
        }
    }

    fn eval(&self, z: &[f64], y: &[f64], theta: f64, xi: &mut [f64]) -> Eval {
        match *self {
            Self::Hinge { margin } => margin::hinge(first(z), first(y), margin, xi),
            Self::NuHinge { nu } => margin::nu_hinge(first(z), first(y), theta, nu, xi),
            Self::Perceptron {} => margin::perceptron(first(z), first(y), xi),
            Self::Logistic {} => margin::logistic(first(z), first(y), xi),
            Self::MaxMargin {} if alone(z, y) => margin::hinge(first(z), 1.0, 1.0, xi),
            Self::Softmax {} if alone(z, y) => margin::logistic(first(z), 1.0, xi),
            Self::MaxMargin {} => classes::max_margin(z, class(y), xi),
            Self::Softmax {} => classes::softmax(z, class(y), xi),
            // Novelty is the hinge loss with y = 1 for every example.
            Self::Novelty { margin } => margin::hinge(first(z), 1.0, margin, xi),
            Self::NuNovelty { nu } => margin::nu_hinge(first(z), 1.0, theta, nu, xi),
            Self::Density { .. } => margin::linear(first(z), xi),
            Self::Squared {} => residual::squared(z, y, xi),
            Self::Absolute {} => residual::epsilon(z, y, 0.0, xi),
            Self::Epsilon { epsilon } => residual::epsilon(z, y, epsilon, xi),
            Self::NuEpsilon { nu } => residual::nu_epsilon(z, y, theta, nu, xi),
            Self::Huber { sigma } => residual::huber(z, y, sigma, xi),
            Self::NuHuber { nu, sigma_rule } => residual::nu_huber(z, y, theta, nu, sigma_rule, xi),
            Self::Quantile { q } => margin::quantile(first(z), first(y), q, xi),
        }
    }

    fn grows_as_scores(&self) -> bool {
        matches!(self, Self::Softmax {})
    }

    fn curvature(&self, z: &[f64], y: &[f64], theta: f64, u: &[f64], hu: &mut [f64]) {
        match *self {
            Self::Logistic {} => margin::logistic_curvature(first(z), u, hu),
            Self::Softmax {} if alone(z, y) => margin::logistic_curvature(first(z), u, hu),
            Self::Softmax {} => classes::softmax_curvature(z, class(y), u, hu),
            Self::Squared {} => hu.copy_from_slice(u),
            Self::Absolute {} => residual::epsilon_curvature(z, y, 0.0, u, hu),
            Self::Epsilon { epsilon } => residual::epsilon_curvature(z, y, epsilon, u, hu),
            Self::NuEpsilon { .. } => residual::epsilon_curvature(z, y, theta, u, hu),
            Self::Huber { sigma } => residual::huber_curvature(z, y, sigma, u, hu),
            Self::NuHuber { .. } => residual::huber_curvature(z, y, theta, u, hu),
            _ => hu.fill(0.0),
        }
    }

    fn prox(&self, z0: &[f64], y: &[f64], theta: f64, metric: &Metric<'_>, xi: &mut [f64]) -> bool {
        if !self.can_prox(z0.len(), metric.multiple().is_some()) {
            return false;
        }
        let c = first(metric.c);
        match *self {
            Self::Hinge { margin } => margin::hinge_prox(first(z0), first(y), margin, c, xi),
            Self::NuHinge { .. } => margin::hinge_prox(first(z0), first(y), theta, c, xi),
            Self::Perceptron {} => return false,
            Self::Logistic {} => margin::logistic_prox(first(z0), first(y), c, xi),
            Self::MaxMargin {} if alone(z0, y) => margin::hinge_prox(first(z0), 1.0, 1.0, c, xi),
            Self::Softmax {} if alone(z0, y) => margin::logistic_prox(first(z0), 1.0, c, xi),
            Self::MaxMargin {} => classes::max_margin_prox(z0, class(y), c, xi),
            Self::Softmax {} => classes::softmax_prox(z0, class(y), c, xi),
            Self::Novelty { margin } => margin::hinge_prox(first(z0), 1.0, margin, c, xi),
            Self::NuNovelty { .. } => margin::hinge_prox(first(z0), 1.0, theta, c, xi),
            Self::Density { .. } => xi.fill(-1.0),
            Self::Squared {} => residual::squared_prox(z0, y, metric, xi),
            Self::Absolute {} => residual::epsilon_prox(z0, y, 0.0, metric, xi),
            Self::Epsilon { epsilon } => residual::epsilon_prox(z0, y, epsilon, metric, xi),
            Self::NuEpsilon { .. } => residual::epsilon_prox(z0, y, theta, metric, xi),
            Self::Huber { sigma } => residual::huber_prox(z0, y, sigma, metric, xi),
            Self::NuHuber { .. } => residual::huber_prox(z0, y, theta, metric, xi),
            Self::Quantile { q } => margin::quantile_prox(first(z0), first(y), q, c, xi),
        }
        true
    }

    fn can_prox(&self, outputs: usize, identity: bool) -> bool {
        match self.reads() {
            _ if matches!(self, Self::Perceptron {}) => false,
            Reads::Vector => true,
            Reads::Class => identity || outputs <= 1,
            Reads::Sign | Reads::Number | Reads::Nothing => outputs == 1,
        }
    }

    fn theta(&self) -> Option<Theta> {
        match self {
            Self::NuHinge { .. } | Self::NuNovelty { .. } | Self::NuEpsilon { .. } => Some(Theta { start: 0.0, least: 0.0 }),
            Self::NuHuber { .. } => Some(Theta { start: 1.0, least: SIGMA_LEAST }),
            _ => None,
        }
    }

    fn lipschitz(&self) -> Option<f64> {
        match *self {
            Self::Squared {} => None,
            // One entry of xi is at least -1, and the others sum to its absolute value.
            Self::MaxMargin {} | Self::Softmax {} => Some(std::f64::consts::SQRT_2),
            Self::Quantile { q } => Some(q.max(1.0 - q)),
            _ => Some(1.0),
        }
    }

    /// False for novelty losses: their threshold decides, and may not be known yet.
    fn has_outside(&self) -> bool {
        let margin = matches!(self, Self::Hinge { .. } | Self::NuHinge { .. } | Self::Perceptron {} | Self::MaxMargin {});
        margin || matches!(self, Self::Epsilon { .. } | Self::NuEpsilon { .. } | Self::Huber { .. } | Self::NuHuber { .. })
    }

    fn nu(&self) -> Option<f64> {
        match *self {
            Self::NuHinge { nu } | Self::NuNovelty { nu } | Self::Density { nu } | Self::NuEpsilon { nu } => Some(nu),
            Self::NuHuber { nu, sigma_rule: SigmaRule::Quantile } => Some(nu),
            _ => None,
        }
    }
}

/// The single output, or the single number of a target.
fn first(values: &[f64]) -> f64 {
    values.first().copied().unwrap_or(0.0)
}

/// Whether only one class is known. It then competes with a class not yet seen, whose score is 0 and is not updated: `max(0, 1 - z)` and
/// `log(exp(z) + exp(0)) - z` are hinge and logistic loss of the sign +1.
fn alone(z: &[f64], y: &[f64]) -> bool {
    z.len() == 1 && class(y) == 0
}

/// The class index of a target. If there is no output with this index, the loss is 0 and there is no update.
fn class(y: &[f64]) -> usize {
    first(y) as usize
}
