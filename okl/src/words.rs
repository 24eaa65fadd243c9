//! The words of a configuration beside losses, steps and budgets: kernels, operators, labels, thresholds, scales, anchors.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::kernel::AnyKernel;

/// A width that is given, or found from the data.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Gamma {
    /// The median heuristic over the first rows.
    #[default]
    Auto,
    /// This one.
    Value(f64),
}

impl Serialize for Gamma {
    fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Gamma::Auto => to.serialize_str("auto"),
            Gamma::Value(v) => to.serialize_f64(*v),
        }
    }
}

impl<'de> Deserialize<'de> for Gamma {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Raw {
            Number(f64),
            Text(String),
        }
        match Raw::deserialize(from)? {
            Raw::Number(v) => Ok(Gamma::Value(v)),
            Raw::Text(t) if t == "auto" => Ok(Gamma::Auto),
            Raw::Text(t) => Err(serde::de::Error::custom(format!("gamma must be a number or \"auto\", found {t:?}"))),
        }
    }
}

/// A kernel as it is described; [`AnyKernel`] is what runs. Formulas there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs)]
pub enum KernelRule {
    /// <x, y>.
    Linear {},
    /// (gamma <x, y> + coef0)^degree.
    Polynomial {
        #[serde(default = "three")]
        degree: u32,
        #[serde(default = "one")]
        gamma: f64,
        #[serde(default = "one")]
        coef0: f64,
    },
    /// exp(-gamma r²).
    Gaussian {
        #[serde(default)]
        gamma: Gamma,
    },
    /// exp(-gamma r).
    Exponential {
        #[serde(default)]
        gamma: Gamma,
    },
    /// (1 + √3 gamma r) exp(-√3 gamma r).
    Matern32 {
        #[serde(default)]
        gamma: Gamma,
    },
    /// (1 + √5 gamma r + 5 gamma² r²/3) exp(-√5 gamma r).
    Matern52 {
        #[serde(default)]
        gamma: Gamma,
    },
    /// (1 + gamma r²/alpha)^-alpha.
    RationalQuadratic {
        #[serde(default)]
        gamma: Gamma,
        #[serde(default = "one")]
        alpha: f64,
    },
    /// weight times a kernel.
    Scaled { weight: f64, of: Box<KernelRule> },
    /// The sum of kernels.
    Sum(Vec<KernelRule>),
    /// The product of kernels.
    Product(Vec<KernelRule>),
}

fn one() -> f64 {
    1.0
}
fn three() -> u32 {
    3
}

impl KernelRule {
    fn each(&mut self, visit: &mut impl FnMut(&mut KernelRule)) {
        visit(self);
        match self {
            KernelRule::Scaled { of, .. } => of.each(visit),
            KernelRule::Sum(parts) | KernelRule::Product(parts) => parts.iter_mut().for_each(|k| k.each(visit)),
            _ => {}
        }
    }

    fn gamma_mut(&mut self) -> Option<(&mut Gamma, bool)> {
        match self {
            KernelRule::Gaussian { gamma } | KernelRule::RationalQuadratic { gamma, .. } => Some((gamma, true)),
            KernelRule::Exponential { gamma } | KernelRule::Matern32 { gamma } | KernelRule::Matern52 { gamma } => {
                Some((gamma, false))
            }
            _ => None,
        }
    }

    pub(crate) fn wants_gamma(&self) -> bool {
        let (mut copy, mut wanted) = (self.clone(), false);
        copy.each(&mut |k| wanted |= matches!(k.gamma_mut(), Some((Gamma::Auto, _))));
        wanted
    }

    /// Sets every automatic width from the median squared distance: 1/(2 m) where the kernel reads r², 1/√m where it reads r.
    pub(crate) fn set_auto(&mut self, median: f64) {
        self.each(&mut |k| {
            if let Some((gamma @ Gamma::Auto, squared)) = k.gamma_mut() {
                *gamma = Gamma::Value(if squared { 0.5 / median } else { 1.0 / median.sqrt() });
            }
        });
    }

    pub(crate) fn check(&self) -> Result<()> {
        let refuse = |reason: String| Err(Error::config("kernel", reason));
        let (mut copy, mut bad) = (self.clone(), None);
        copy.each(&mut |k| {
            let positive = |name: &str, v: f64| {
                (!(v.is_finite() && v > 0.0)).then(|| format!("{name} must be a finite number > 0, found {v}"))
            };
            let found = match k {
                KernelRule::Polynomial { degree, gamma, coef0 } => positive("degree", f64::from(*degree))
                    .or(positive("gamma", *gamma))
                    .or((!(coef0.is_finite() && *coef0 >= 0.0))
                        .then(|| format!("coef0 must be >= 0 for the kernel to be positive semidefinite, found {coef0}"))),
                KernelRule::RationalQuadratic { alpha, .. } => positive("alpha", *alpha),
                KernelRule::Scaled { weight, .. } => positive("weight", *weight),
                KernelRule::Sum(parts) | KernelRule::Product(parts) if parts.is_empty() => {
                    Some("a sum or product needs at least one kernel".into())
                }
                _ => None,
            };
            let width = match k.gamma_mut() {
                Some((Gamma::Value(v), _)) => positive("gamma", *v),
                _ => None,
            };
            bad = bad.take().or(found).or(width);
        });
        bad.map_or(Ok(()), refuse)
    }

    /// The kernel that runs; an automatic width that is not known yet is 1.
    pub(crate) fn kernel(&self) -> AnyKernel {
        let value = |g: &Gamma| if let Gamma::Value(v) = g { *v } else { 1.0 };
        let all = |parts: &[KernelRule]| parts.iter().map(KernelRule::kernel).collect();
        match self {
            KernelRule::Linear {} => AnyKernel::Linear,
            &KernelRule::Polynomial { degree, gamma, coef0 } => AnyKernel::Polynomial { degree, gamma, coef0 },
            KernelRule::Gaussian { gamma } => AnyKernel::Gaussian { gamma: value(gamma) },
            KernelRule::Exponential { gamma } => AnyKernel::Exponential { gamma: value(gamma) },
            KernelRule::Matern32 { gamma } => AnyKernel::Matern32 { gamma: value(gamma) },
            KernelRule::Matern52 { gamma } => AnyKernel::Matern52 { gamma: value(gamma) },
            KernelRule::RationalQuadratic { gamma, alpha } => AnyKernel::RationalQuadratic { gamma: value(gamma), alpha: *alpha },
            KernelRule::Scaled { weight, of } => AnyKernel::Scaled { weight: *weight, of: Box::new(of.kernel()) },
            KernelRule::Sum(parts) => AnyKernel::Sum(all(parts)),
            KernelRule::Product(parts) => AnyKernel::Product(all(parts)),
        }
    }
}

/// One part of a sum of separable operator kernels: k_m(x, x') J_m.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OperatorPart {
    /// k_m.
    pub kernel: KernelRule,
    /// J_m, row by row.
    pub operator: Vec<f64>,
}

/// The output operator: one matrix J for the kernel, or a sum of parts with a kernel each (which replaces `kernel`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OperatorRule {
    /// J, row by row.
    Matrix(Vec<f64>),
    /// sum_m k_m J_m.
    Sum(Vec<OperatorPart>),
}

/// The name of a class: a whole number or text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Label {
    /// A whole number.
    Int(i64),
    /// Text.
    Text(String),
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Label::Int(i) => i.fmt(f),
            Label::Text(t) => t.fmt(f),
        }
    }
}

impl From<i64> for Label {
    fn from(i: i64) -> Self {
        Label::Int(i)
    }
}

impl From<&str> for Label {
    fn from(t: &str) -> Self {
        Label::Text(t.into())
    }
}

/// What decides that an example is novel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Threshold {
    /// theta itself, N(16).
    #[default]
    Norma,
    /// The averaged score against a quantile that is tracked on its own (algorithms.md 3.5).
    Tracker {
        /// How fast the threshold moves, in its logarithm.
        #[serde(default = "tracker_step")]
        speed: f64,
    },
}

fn tracker_step() -> f64 {
    0.05
}

/// What is done to features before the kernel sees them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Scale {
    /// Nothing.
    #[default]
    None,
    /// (x - mean) / deviation of the first `warmup` examples, cut off at 8 deviations for translation-invariant kernels.
    /// With `anchor = none` nothing is subtracted, and the deviation is that of the entries which are not zero, from zero.
    Standard,
    /// (x - shift) * factor: what `standard` becomes once it is frozen.
    Fixed {
        /// Subtracted.
        shift: Vec<f64>,
        /// Multiplied.
        factor: Vec<f64>,
        /// The largest size of the result; what is larger is cut off.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<f64>,
    },
}

/// What translation-invariant kernels subtract from every row, so that distances keep their digits far from the origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Anchor {
    /// The first example.
    #[default]
    First,
    /// Nothing.
    None,
}
