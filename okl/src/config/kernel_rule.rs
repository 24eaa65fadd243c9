//! Kernels of a configuration. A width (gamma) may be given, found from the data, or a list of widths that learn in parallel.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::parts::kernel::{AnyKernel, DotKernel};

/// The width of a kernel: given, or found from the data.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Gamma {
    /// A bank of widths around the median heuristic over the first rows.
    #[default]
    Auto,
    /// The median heuristic over the first rows.
    Median,
    /// A given width.
    Value(f64),
    /// A bank with these widths. After the warm-up, `auto` is replaced by this.
    Several(Vec<f64>),
    /// One width, this many times the middle one of [`Gamma::Auto`]. It is written as `"auto*16"`.
    Times(f64),
}

/// The widths of a bank, as multiples of the width of the median heuristic.
pub(crate) const WIDTHS: [f64; 3] = [1.0, 4.0, 0.25];

/// How a multiple of the automatic width is written.
const TIMES: &str = "auto*";

impl Serialize for Gamma {
    fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Gamma::Auto => to.serialize_str("auto"),
            Gamma::Median => to.serialize_str("median"),
            Gamma::Value(v) => to.serialize_f64(*v),
            Gamma::Several(all) => all.serialize(to),
            Gamma::Times(factor) => to.serialize_str(&format!("{TIMES}{factor:?}")),
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
            Raw::Text(t) if t.strip_prefix(TIMES).is_some_and(|factor| factor.parse::<f64>().is_ok()) => {
                Ok(Gamma::Times(t[TIMES.len()..].parse().unwrap_or(1.0)))
            }
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

/// The largest number of widths of a bank, so that a bank does not exhaust the memory.
pub(super) const MOST_WIDTHS: usize = 64;

impl Gamma {
    /// Whether the width is found from the data.
    fn is_open(&self) -> bool {
        matches!(self, Gamma::Auto | Gamma::Median | Gamma::Times(_))
    }

    /// One of the widths. For an automatic width that is not known yet: the width for distances of 1.
    fn at(&self, which: usize) -> f64 {
        match self {
            Gamma::Auto => WIDTHS[which % WIDTHS.len()],
            Gamma::Median => 1.0,
            Gamma::Times(factor) => *factor,
            Gamma::Value(v) => *v,
            Gamma::Several(all) => all[which % all.len()],
        }
    }
}

/// Medians over pairs of the first rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Medians {
    /// Of squared distances.
    pub distance2: f64,
    /// Of Manhattan distances.
    pub manhattan: f64,
}

impl Medians {
    /// Where no kernel reads the Manhattan distance.
    pub fn of_distance2(distance2: f64) -> Self {
        Medians { distance2, manhattan: 1.0 }
    }
}

/// A kernel of a configuration. The engine uses [`AnyKernel`], which has the formulas.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs)]
#[non_exhaustive]
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
    /// exp(-gamma s), s the Manhattan distance: the sum of |x_j - y_j|.
    Manhattan {
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
    /// Values that the caller computes ([`KernelRows`](crate::KernelRows)).
    Precomputed {},
}

fn one() -> f64 {
    1.0
}
fn three() -> u32 {
    3
}

impl KernelRule {
    /// Calls `at` with this kernel and with all kernels inside it.
    fn look(&self, at: &mut impl FnMut(&KernelRule)) {
        at(self);
        match self {
            KernelRule::Scaled { of, .. } => of.look(at),
            KernelRule::Sum(parts) | KernelRule::Product(parts) => parts.iter().for_each(|k| k.look(at)),
            _ => {}
        }
    }

    /// Calls `change` with this kernel and with all kernels inside it.
    fn change(&mut self, change: &mut impl FnMut(&mut KernelRule)) {
        change(self);
        match self {
            KernelRule::Scaled { of, .. } => of.change(change),
            KernelRule::Sum(parts) | KernelRule::Product(parts) => parts.iter_mut().for_each(|k| k.change(change)),
            _ => {}
        }
    }

    /// The width, if this kernel has one; not the widths of kernels inside it.
    fn gamma(&self) -> Option<&Gamma> {
        match self {
            KernelRule::Gaussian { gamma }
            | KernelRule::RationalQuadratic { gamma, .. }
            | KernelRule::Exponential { gamma }
            | KernelRule::Manhattan { gamma }
            | KernelRule::Matern32 { gamma }
            | KernelRule::Matern52 { gamma } => Some(gamma),
            _ => None,
        }
    }

    fn gamma_mut(&mut self) -> Option<&mut Gamma> {
        match self {
            KernelRule::Gaussian { gamma }
            | KernelRule::RationalQuadratic { gamma, .. }
            | KernelRule::Exponential { gamma }
            | KernelRule::Manhattan { gamma }
            | KernelRule::Matern32 { gamma }
            | KernelRule::Matern52 { gamma } => Some(gamma),
            _ => None,
        }
    }

    /// Whether this kernel or a part of it is precomputed.
    pub(crate) fn has_precomputed(&self) -> bool {
        let mut found = false;
        self.look(&mut |k| found |= *k == KernelRule::Precomputed {});
        found
    }

    /// Whether this kernel or a part of it reads the Manhattan distance.
    pub(crate) fn reads_manhattan(&self) -> bool {
        let mut found = false;
        self.look(&mut |k| found |= matches!(k, KernelRule::Manhattan { .. }));
        found
    }

    /// Whether this is a Gaussian kernel, and not one that a Gaussian is a part of.
    pub(crate) fn is_gaussian(&self) -> bool {
        matches!(self, KernelRule::Gaussian { .. })
    }

    /// Whether gamma multiplies r²; false if it multiplies r.
    fn reads_squares(&self) -> bool {
        matches!(self, KernelRule::Gaussian { .. } | KernelRule::RationalQuadratic { .. })
    }

    pub(crate) fn wants_gamma(&self) -> bool {
        self.has_gamma(Gamma::is_open)
    }

    /// Whether a width is given.
    pub(crate) fn gives_gamma(&self) -> bool {
        self.has_gamma(|gamma| !gamma.is_open())
    }

    /// Whether every width is found from the data, so that the unit of the data does not matter.
    pub(crate) fn has_no_unit(&self) -> bool {
        let mut all = true;
        self.look(&mut |k| {
            let found = k.gamma().is_some_and(Gamma::is_open);
            all &= found || matches!(k, KernelRule::Scaled { .. } | KernelRule::Sum(_) | KernelRule::Product(_));
        });
        all
    }

    fn has_gamma(&self, which: impl Fn(&Gamma) -> bool) -> bool {
        let mut found = false;
        self.look(&mut |k| found |= k.gamma().is_some_and(&which));
        found
    }

    /// The widths of a bank that belong to this kernel itself, and not to a part of it.
    pub(crate) fn own_widths(&self) -> &[f64] {
        match self.gamma() {
            Some(Gamma::Several(all)) => all,
            _ => &[],
        }
    }

    /// Puts another width in the place of one of [`KernelRule::own_widths`].
    pub(crate) fn replace_width(&mut self, which: usize, width: f64) {
        if let Some(Gamma::Several(all)) = self.gamma_mut() {
            all[which] = width;
        }
    }

    /// The width `factor` times beyond a width, in units of the median heuristic; none if single precision cannot hold it.
    pub(crate) fn beyond(&self, width: f64, factor: f64) -> Option<f64> {
        let beyond = width * if self.reads_squares() { factor } else { factor.sqrt() };
        fits("gamma", beyond, self.constant_per_gamma()).is_none().then_some(beyond)
    }

    /// The number of widths that learn in parallel.
    pub(crate) fn widths(&self) -> usize {
        let mut most = 1;
        self.look(&mut |k| match k.gamma() {
            Some(Gamma::Auto) => most = most.max(WIDTHS.len()),
            Some(Gamma::Several(all)) => most = most.max(all.len()),
            _ => {}
        });
        most
    }

    /// Sets every automatic width from the median squared distance m: 1/(2 m) if gamma multiplies r², 1/√m if it multiplies r;
    /// for `auto` one width per factor, with m divided by the factor. If gamma multiplies the Manhattan distance, √m is the median of these
    /// distances.
    pub(crate) fn set_auto(&mut self, medians: Medians, factors: &[f64]) {
        self.change(&mut |k| {
            let (per_gamma, squared) = (k.constant_per_gamma(), k.reads_squares());
            let median = match k {
                KernelRule::Manhattan { .. } => medians.manhattan * medians.manhattan,
                _ => medians.distance2,
            };
            let Some(gamma) = k.gamma_mut() else { return };
            // If all widths are automatic, the learner has scaled the median to about 1; otherwise the nearest width that fits is used.
            let width = |factor: &f64| {
                let width = if squared { factor * 0.5 / median } else { (factor / median).sqrt() };
                width.clamp(SINGLE.0 / per_gamma, SINGLE.1 / per_gamma)
            };
            *gamma = match (&*gamma, factors) {
                (Gamma::Median, _) => Gamma::Value(width(&1.0)),
                (Gamma::Times(times), [first, ..]) => Gamma::Value(width(&(times * first))),
                (Gamma::Auto, [one]) => Gamma::Value(width(one)),
                (Gamma::Auto, several) => Gamma::Several(several.iter().map(width).collect()),
                _ => return,
            };
        });
    }

    /// Replaces `auto` by `median`, its meaning before there were banks.
    pub(crate) fn without_bank(&mut self) {
        self.change(&mut |k| {
            if let Some(gamma @ Gamma::Auto) = k.gamma_mut() {
                *gamma = Gamma::Median;
            }
        });
    }

    /// The kernel with one of its widths as its only width.
    pub(crate) fn with_width(&self, which: usize) -> KernelRule {
        let mut copy = self.clone();
        copy.change(&mut |k| {
            if let Some(gamma @ Gamma::Several(_)) = k.gamma_mut() {
                *gamma = Gamma::Value(gamma.at(which));
            }
        });
        copy
    }

    /// Whether k(x, y) can be negative. For a sum or a product: whether one of its parts can be.
    pub(crate) fn can_be_negative(&self) -> bool {
        match self {
            KernelRule::Linear {} | KernelRule::Precomputed {} => true,
            KernelRule::Polynomial { degree, .. } => degree % 2 == 1,
            KernelRule::Scaled { of, .. } => of.can_be_negative(),
            KernelRule::Sum(parts) | KernelRule::Product(parts) => parts.iter().any(KernelRule::can_be_negative),
            _ => false,
        }
    }

    /// Refuses parameters that do not fit single precision, in which kernel values are computed.
    pub(crate) fn check(&self) -> Result<()> {
        let mut bad = None;
        self.look(&mut |k| bad = bad.take().or_else(|| k.parameters_refused()).or_else(|| k.widths_refused()));
        bad.or_else(|| self.value_at_zero().err()).map_or(Ok(()), |reason| Err(Error::config("kernel", reason)))
    }

    /// An error message if a parameter other than the width is wrong.
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
            KernelRule::Sum(ref parts) | KernelRule::Product(ref parts) if parts.iter().any(KernelRule::reads_manhattan) => {
                let reason = "manhattan cannot be a part of a sum or product, whose parts read inner products";
                Some(format!("{reason}: give a list of kernels, which learn in parallel, or a sum of operator kernels"))
            }
            _ => None,
        }
    }

    /// An error message if a width is wrong.
    fn widths_refused(&self) -> Option<String> {
        let factor = self.constant_per_gamma();
        match self.gamma()? {
            Gamma::Value(v) => fits("gamma", *v, factor),
            Gamma::Several(all) if all.is_empty() || all.len() > MOST_WIDTHS => {
                Some(format!("gamma: a bank has 1 to {MOST_WIDTHS} widths, found {}", all.len()))
            }
            Gamma::Several(all) => all.iter().find_map(|v| fits("gamma", *v, factor)),
            Gamma::Times(times) => fits("gamma: the multiple of auto", *times, factor),
            _ => None,
        }
    }

    /// The constant that the kernel uses in single precision, divided by gamma; see [`AnyKernel`].
    fn constant_per_gamma(&self) -> f64 {
        match *self {
            KernelRule::Gaussian { .. } | KernelRule::Exponential { .. } | KernelRule::Manhattan { .. } => {
                std::f64::consts::LOG2_E
            }
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
            KernelRule::Linear {} | KernelRule::Precomputed {} => Ok(0.0),
            KernelRule::Polynomial { degree, coef0, .. } => in_range(libm::pow(*coef0, f64::from(*degree)), false),
            KernelRule::Scaled { weight, of } => in_range(weight * of.value_at_zero()?, invariant),
            KernelRule::Sum(parts) => parts.iter().try_fold(0.0, |sum, k| in_range(sum + k.value_at_zero()?, false)),
            KernelRule::Product(parts) => parts.iter().try_fold(1.0, |all, k| in_range(all * k.value_at_zero()?, invariant)),
            _ => Ok(1.0),
        }
    }

    /// The kernel for the engine, with one of its widths.
    pub(crate) fn kernel(&self, which: usize) -> AnyKernel {
        let value = |g: &Gamma| g.at(which);
        let all = |parts: &[KernelRule]| parts.iter().map(|k| k.kernel(which)).collect();
        match self {
            // A kernel value is an inner product in the space of the kernel.
            KernelRule::Linear {} | KernelRule::Precomputed {} => AnyKernel::Linear,
            &KernelRule::Polynomial { degree, gamma, coef0 } => AnyKernel::Polynomial { degree, gamma, coef0 },
            KernelRule::Gaussian { gamma } => AnyKernel::Gaussian { gamma: value(gamma) },
            KernelRule::Exponential { gamma } => AnyKernel::Exponential { gamma: value(gamma) },
            KernelRule::Manhattan { gamma } => AnyKernel::Manhattan { gamma: value(gamma) },
            KernelRule::Matern32 { gamma } => AnyKernel::Matern32 { gamma: value(gamma) },
            KernelRule::Matern52 { gamma } => AnyKernel::Matern52 { gamma: value(gamma) },
            KernelRule::RationalQuadratic { gamma, alpha } => AnyKernel::RationalQuadratic { gamma: value(gamma), alpha: *alpha },
            KernelRule::Scaled { weight, of } => AnyKernel::Scaled { weight: *weight, of: Box::new(of.kernel(which)) },
            KernelRule::Sum(parts) => AnyKernel::Sum(all(parts)),
            KernelRule::Product(parts) => AnyKernel::Product(all(parts)),
        }
    }
}

/// The description of a kernel that runs.
impl From<&AnyKernel> for KernelRule {
    fn from(kernel: &AnyKernel) -> Self {
        let rules = |of: &[AnyKernel]| of.iter().map(KernelRule::from).collect();
        match *kernel {
            AnyKernel::Linear => KernelRule::Linear {},
            AnyKernel::Polynomial { degree, gamma, coef0 } => KernelRule::Polynomial { degree, gamma, coef0 },
            AnyKernel::Gaussian { gamma } => KernelRule::Gaussian { gamma: Gamma::Value(gamma) },
            AnyKernel::Exponential { gamma } => KernelRule::Exponential { gamma: Gamma::Value(gamma) },
            AnyKernel::Manhattan { gamma } => KernelRule::Manhattan { gamma: Gamma::Value(gamma) },
            AnyKernel::Matern32 { gamma } => KernelRule::Matern32 { gamma: Gamma::Value(gamma) },
            AnyKernel::Matern52 { gamma } => KernelRule::Matern52 { gamma: Gamma::Value(gamma) },
            AnyKernel::RationalQuadratic { gamma, alpha } => KernelRule::RationalQuadratic { gamma: Gamma::Value(gamma), alpha },
            AnyKernel::Scaled { weight, ref of } => KernelRule::Scaled { weight, of: Box::new(KernelRule::from(&**of)) },
            AnyKernel::Sum(ref of) => KernelRule::Sum(rules(of)),
            AnyKernel::Product(ref of) => KernelRule::Product(rules(of)),
        }
    }
}
