//! The words of a configuration beside losses, steps and budgets: kernels, operators, labels, thresholds, scales, anchors.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::kernel::AnyKernel;

/// A setting that is given, or left to the [bank](crate::bank).
#[derive(Clone, Debug, PartialEq)]
pub enum Choice<T> {
    /// Several values run side by side.
    Auto,
    /// This one.
    Given(T),
}

impl<T> Choice<T> {
    /// The value, if it is given.
    pub fn given(&self) -> Option<&T> {
        match self {
            Choice::Auto => None,
            Choice::Given(value) => Some(value),
        }
    }
}

impl<T> From<T> for Choice<T> {
    fn from(value: T) -> Self {
        Choice::Given(value)
    }
}

impl<T: Serialize> Serialize for Choice<T> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Choice::Auto => to.serialize_str("auto"),
            Choice::Given(value) => value.serialize(to),
        }
    }
}

impl<'de, T: serde::de::DeserializeOwned> Deserialize<'de> for Choice<T> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(from)?;
        if value == "auto" {
            return Ok(Choice::Auto);
        }
        T::deserialize(value).map(Choice::Given).map_err(serde::de::Error::custom)
    }
}

/// A width that is given, or found from the data.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Gamma {
    /// A bank of widths around the median heuristic over the first rows.
    #[default]
    Auto,
    /// The median heuristic over the first rows.
    Median,
    /// This one.
    Value(f64),
    /// A bank of these: what `auto` becomes once it is frozen.
    Several(Vec<f64>),
}

/// The widths of a bank, in units of the median heuristic's.
pub(crate) const WIDTHS: [f64; 3] = [1.0, 4.0, 0.25];

impl Serialize for Gamma {
    fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Gamma::Auto => to.serialize_str("auto"),
            Gamma::Median => to.serialize_str("median"),
            Gamma::Value(v) => to.serialize_f64(*v),
            Gamma::Several(all) => all.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Gamma {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Raw {
            Number(f64),
            Numbers(Vec<f64>),
            Text(String),
        }
        const EXPECTED: &str = "gamma must be a number, a list of numbers, \"median\" or \"auto\"";
        match Raw::deserialize(from).map_err(|_| serde::de::Error::custom(EXPECTED))? {
            Raw::Number(v) => Ok(Gamma::Value(v)),
            Raw::Numbers(all) => Ok(Gamma::Several(all)),
            Raw::Text(t) if t == "auto" => Ok(Gamma::Auto),
            Raw::Text(t) if t == "median" => Ok(Gamma::Median),
            Raw::Text(t) => Err(serde::de::Error::custom(format!("{EXPECTED}, found {t:?}"))),
        }
    }
}

/// Far more than anybody tries, few enough to be built.
const MOST_WIDTHS: usize = 64;

impl Gamma {
    /// One of the widths; an automatic one that is not known yet is that of unit distances.
    fn at(&self, which: usize) -> f64 {
        match self {
            Gamma::Auto => WIDTHS[which % WIDTHS.len()],
            Gamma::Median => 1.0,
            Gamma::Value(v) => *v,
            Gamma::Several(all) => all[which % all.len()],
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
        self.has_gamma(|gamma| matches!(gamma, Gamma::Auto | Gamma::Median))
    }

    /// Is a width given, in the units of the data?
    pub(crate) fn gives_gamma(&self) -> bool {
        self.has_gamma(|gamma| matches!(gamma, Gamma::Value(_) | Gamma::Several(_)))
    }

    /// Does it look the same in any unit of the data, as its widths are found from them?
    pub(crate) fn has_no_unit(&self) -> bool {
        let (mut copy, mut all) = (self.clone(), true);
        copy.each(&mut |k| {
            let found = k.gamma_mut().is_some_and(|(gamma, _)| matches!(gamma, Gamma::Auto | Gamma::Median));
            all &= found || matches!(k, KernelRule::Scaled { .. } | KernelRule::Sum(_) | KernelRule::Product(_));
        });
        all
    }

    fn has_gamma(&self, which: impl Fn(&Gamma) -> bool) -> bool {
        let (mut copy, mut found) = (self.clone(), false);
        copy.each(&mut |k| found |= k.gamma_mut().is_some_and(|(gamma, _)| which(gamma)));
        found
    }

    /// How many widths run side by side.
    pub(crate) fn widths(&self) -> usize {
        let (mut copy, mut most) = (self.clone(), 1);
        copy.each(&mut |k| match k.gamma_mut() {
            Some((Gamma::Auto, _)) => most = most.max(WIDTHS.len()),
            Some((Gamma::Several(all), _)) => most = most.max(all.len()),
            _ => {}
        });
        most
    }

    /// Sets every automatic width from the median squared distance: 1/(2 m) where the kernel reads r², 1/√m where it reads r;
    /// `auto` takes each of the factors times that.
    pub(crate) fn set_auto(&mut self, median: f64, factors: &[f64]) {
        self.each(&mut |k| {
            let Some((gamma, squared)) = k.gamma_mut() else { return };
            let width = |factor: &f64| if squared { factor * 0.5 / median } else { (factor / median).sqrt() };
            *gamma = match (&*gamma, factors) {
                (Gamma::Median, _) => Gamma::Value(width(&1.0)),
                (Gamma::Auto, [one]) => Gamma::Value(width(one)),
                (Gamma::Auto, several) => Gamma::Several(several.iter().map(width).collect()),
                _ => return,
            };
        });
    }

    /// What `auto` meant before there were banks.
    pub(crate) fn without_bank(&mut self) {
        self.each(&mut |k| {
            if let Some((gamma @ Gamma::Auto, _)) = k.gamma_mut() {
                *gamma = Gamma::Median;
            }
        });
    }

    /// The description with one of its widths, for good.
    pub(crate) fn with_width(&self, which: usize) -> KernelRule {
        let mut copy = self.clone();
        copy.each(&mut |k| {
            if let Some((gamma @ Gamma::Several(_), _)) = k.gamma_mut() {
                *gamma = Gamma::Value(gamma.at(which));
            }
        });
        copy
    }

    /// Can k(x, y) be negative? A sum or a product is taken to be so if one of its parts can be.
    pub(crate) fn can_be_negative(&self) -> bool {
        match self {
            KernelRule::Linear {} => true,
            KernelRule::Polynomial { degree, .. } => degree % 2 == 1,
            KernelRule::Scaled { of, .. } => of.can_be_negative(),
            KernelRule::Sum(parts) | KernelRule::Product(parts) => parts.iter().any(KernelRule::can_be_negative),
            _ => false,
        }
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
                Some((Gamma::Several(all), _)) if all.is_empty() || all.len() > MOST_WIDTHS => {
                    Some(format!("gamma: a bank has 1 to {MOST_WIDTHS} widths, found {}", all.len()))
                }
                Some((Gamma::Several(all), _)) => all.iter().find_map(|v| positive("gamma", *v)),
                _ => None,
            };
            bad = bad.take().or(found).or(width);
        });
        bad.map_or(Ok(()), refuse)
    }

    /// The kernel that runs under one of its widths.
    pub(crate) fn kernel(&self, which: usize) -> AnyKernel {
        let value = |g: &Gamma| g.at(which);
        let all = |parts: &[KernelRule]| parts.iter().map(|k| k.kernel(which)).collect();
        match self {
            KernelRule::Linear {} => AnyKernel::Linear,
            &KernelRule::Polynomial { degree, gamma, coef0 } => AnyKernel::Polynomial { degree, gamma, coef0 },
            KernelRule::Gaussian { gamma } => AnyKernel::Gaussian { gamma: value(gamma) },
            KernelRule::Exponential { gamma } => AnyKernel::Exponential { gamma: value(gamma) },
            KernelRule::Matern32 { gamma } => AnyKernel::Matern32 { gamma: value(gamma) },
            KernelRule::Matern52 { gamma } => AnyKernel::Matern52 { gamma: value(gamma) },
            KernelRule::RationalQuadratic { gamma, alpha } => AnyKernel::RationalQuadratic { gamma: value(gamma), alpha: *alpha },
            KernelRule::Scaled { weight, of } => AnyKernel::Scaled { weight: *weight, of: Box::new(of.kernel(which)) },
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
        /// The step size of the threshold: of its logarithm, or in units of the scores' spread where scores can be negative
        /// (linear kernels, polynomials of odd degree). Found from the first scores when not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        speed: Option<f64>,
    },
}

/// What is done to features before the kernel sees them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Scale {
    /// Nothing where a width is given, which is in the units of the data; nothing where many columns share one range; else `standard`.
    Auto,
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
