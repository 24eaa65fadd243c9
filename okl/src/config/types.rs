//! The words of a configuration beside losses, steps and budgets: kernels, operators, labels, thresholds, scales, anchors.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::parts::kernel::{AnyKernel, DotKernel};

/// A setting that is given, or left to the [bank](crate::engine::bank).
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

/// The normal numbers > 0 of single precision, in which kernel values are computed.
const SINGLE: (f64, f64) = (f32::MIN_POSITIVE as f64, f32::MAX as f64);

/// Refuses a parameter if `factor` times it is not a normal number of single precision.
fn fits(name: &str, value: f64, factor: f64) -> Option<String> {
    if !(value.is_finite() && value > 0.0) {
        return Some(format!("{name} must be a finite number > 0, found {value}"));
    }
    let (least, most) = (SINGLE.0 / factor, SINGLE.1 / factor);
    (!(least..=most).contains(&value)).then(|| {
        // Rounded inwards, so that the numbers shown are accepted.
        let (least, most) = (least * 1.001, most * 0.999);
        format!("{name} must be between {least:.3e} and {most:.3e}, where single precision ends, found {value:e}")
    })
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

    /// Is a width given?
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
            let per_gamma = k.constant_per_gamma();
            let Some((gamma, squared)) = k.gamma_mut() else { return };
            // Where a kernel has no unit the learner has put the median near 1; elsewhere the nearest width that fits has to do.
            let width = |factor: &f64| {
                let width = if squared { factor * 0.5 / median } else { (factor / median).sqrt() };
                width.clamp(SINGLE.0 / per_gamma, SINGLE.1 / per_gamma)
            };
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

    /// Refuses parameters that the single-precision kernel cannot hold.
    pub(crate) fn check(&self) -> Result<()> {
        let (mut copy, mut bad) = (self.clone(), None);
        copy.each(&mut |k| bad = bad.take().or_else(|| k.parameters_refused()).or_else(|| k.widths_refused()));
        bad.or_else(|| self.value_at_zero().err()).map_or(Ok(()), |reason| Err(Error::config("kernel", reason)))
    }

    /// What is wrong with the parameters beside the width.
    fn parameters_refused(&self) -> Option<String> {
        match *self {
            KernelRule::Polynomial { degree: 0, .. } => Some("degree must be a finite number > 0, found 0".into()),
            KernelRule::Polynomial { coef0, .. } if !(coef0.is_finite() && coef0 >= 0.0) => {
                Some(format!("coef0 must be >= 0 for the kernel to be positive semidefinite, found {coef0}"))
            }
            KernelRule::Polynomial { gamma, coef0, .. } => {
                fits("gamma", gamma, 1.0).or_else(|| fits("coef0", coef0, 1.0).filter(|_| coef0 > 0.0))
            }
            KernelRule::RationalQuadratic { alpha, .. } => fits("alpha", alpha, 1.0),
            KernelRule::Scaled { weight, .. } => fits("weight", weight, 1.0),
            KernelRule::Sum(ref parts) | KernelRule::Product(ref parts) if parts.is_empty() => {
                Some("a sum or product needs at least one kernel".into())
            }
            _ => None,
        }
    }

    /// What is wrong with the width.
    fn widths_refused(&mut self) -> Option<String> {
        let factor = self.constant_per_gamma();
        match self.gamma_mut()?.0 {
            Gamma::Value(v) => fits("gamma", *v, factor),
            Gamma::Several(all) if all.is_empty() || all.len() > MOST_WIDTHS => {
                Some(format!("gamma: a bank has 1 to {MOST_WIDTHS} widths, found {}", all.len()))
            }
            Gamma::Several(all) => all.iter().find_map(|v| fits("gamma", *v, factor)),
            _ => None,
        }
    }

    /// The constant that the kernel computes with in single precision, over gamma; see [`AnyKernel`].
    fn constant_per_gamma(&self) -> f64 {
        match *self {
            KernelRule::Gaussian { .. } | KernelRule::Exponential { .. } => std::f64::consts::LOG2_E,
            KernelRule::Matern32 { .. } => 3f64.sqrt(),
            KernelRule::Matern52 { .. } => 5f64.sqrt(),
            KernelRule::RationalQuadratic { alpha, .. } => 1.0 / alpha,
            _ => 1.0,
        }
    }

    /// k(0, 0), which is k(x, x) for translation-invariant kernels; refused where weights, sums or products take it out of single
    /// precision.
    fn value_at_zero(&self) -> std::result::Result<f64, String> {
        let in_range = |value: f64, never_zero: bool| match (value > SINGLE.1, never_zero && value < SINGLE.0) {
            (false, false) => Ok(value),
            _ => Err(format!(
                "k(0, 0) = {value:e} does not fit single precision, where values are between {:.1e} and {:.1e}: change weights or coef0",
                SINGLE.0, SINGLE.1
            )),
        };
        let invariant = self.kernel(0).translation_invariant();
        match self {
            KernelRule::Linear {} => Ok(0.0),
            KernelRule::Polynomial { degree, coef0, .. } => in_range(libm::pow(*coef0, f64::from(*degree)), false),
            KernelRule::Scaled { weight, of } => in_range(weight * of.value_at_zero()?, invariant),
            KernelRule::Sum(parts) => parts.iter().try_fold(0.0, |sum, k| in_range(sum + k.value_at_zero()?, false)),
            KernelRule::Product(parts) => parts.iter().try_fold(1.0, |all, k| in_range(all * k.value_at_zero()?, invariant)),
            _ => Ok(1.0),
        }
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

/// The name of a class: a whole number or text. Numbers sort by value and before text, which sorts by spelling.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
    /// `none` where widths, step and lambda are all given: widths are then in the units of the data. Otherwise `standard`, but many
    /// columns that share one range keep their unit. A width that is given is in the units that result.
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

/// The unit in which targets that are numbers are learned. Losses and step sizes are made for targets of the size of 1.
///
/// Targets come in and scores go out in the unit of the data: those of [`Learner::learn`](crate::Learner::learn),
/// [`Learner::predict`](crate::Learner::predict) and [`Step::scores`](crate::engine::Step::scores). What goes on in between is in
/// the unit of the scaled targets: losses, theta, eta, lambda, |f|², the parameters of the loss, the engine's own coefficients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TargetScale {
    /// Targets are learned as they are.
    #[default]
    None,
    /// A target y is learned as (y - shift) * factor, and a score z comes back as z / factor + shift.
    Fixed {
        /// Subtracted from a target, one number per output.
        shift: Vec<f64>,
        /// Multiplied, one number > 0 per output.
        factor: Vec<f64>,
    },
}

/// Within these limits a finite score stays finite in the unit of the data.
const SHIFTS: f64 = 1e300;
const FACTORS: std::ops::RangeInclusive<f64> = 1e-100..=1e100;

impl TargetScale {
    /// Are targets learned as they are?
    pub fn is_none(&self) -> bool {
        *self == TargetScale::None
    }

    /// How many outputs it is for; none where targets are learned as they are.
    pub(crate) fn outputs(&self) -> Option<usize> {
        match self {
            TargetScale::None => None,
            TargetScale::Fixed { factor, .. } => Some(factor.len()),
        }
    }

    /// The factor of an output: 1 where targets are learned as they are.
    pub fn factor(&self, output: usize) -> f64 {
        match self {
            TargetScale::None => 1.0,
            TargetScale::Fixed { factor, .. } => factor[output],
        }
    }

    /// The smallest factor: divided by it, a bound on the scaled scores is a bound on every score.
    pub fn least_factor(&self) -> f64 {
        match self {
            TargetScale::None => 1.0,
            TargetScale::Fixed { factor, .. } => factor.iter().copied().fold(f64::INFINITY, f64::min),
        }
    }

    /// A target of an output as it is learned.
    pub(crate) fn learned(&self, output: usize, y: f64) -> f64 {
        match self {
            TargetScale::None => y,
            TargetScale::Fixed { shift, factor } => (y - shift[output]) * factor[output],
        }
    }

    /// Puts scores, row by row, into the unit of the data.
    pub(crate) fn put_back(&self, scores: &mut [f64]) {
        let TargetScale::Fixed { shift, factor } = self else { return };
        for row in scores.chunks_exact_mut(factor.len()) {
            row.iter_mut().zip(shift).zip(factor).for_each(|((z, shift), factor)| *z = *z / factor + shift);
        }
    }

    /// What is wrong with its numbers.
    pub(crate) fn check(&self) -> Result<()> {
        let TargetScale::Fixed { shift, factor } = self else { return Ok(()) };
        let refuse = |reason: String| Err(Error::config("target_scale", reason));
        if shift.is_empty() || shift.len() != factor.len() {
            let (shifts, factors) = (shift.len(), factor.len());
            return refuse(format!("needs one shift and one factor per output, found {shifts} shifts and {factors} factors"));
        }
        if let Some((output, found)) = shift.iter().enumerate().find(|(_, v)| !(-SHIFTS..=SHIFTS).contains(*v)) {
            return refuse(format!("the shift of output {output} must be a finite number of at most 1e300, found {found:e}"));
        }
        if let Some((output, found)) = factor.iter().enumerate().find(|(_, v)| !FACTORS.contains(v)) {
            return refuse(format!("the factor of output {output} must be a number > 0, from 1e-100 to 1e100, found {found:e}"));
        }
        Ok(())
    }
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
