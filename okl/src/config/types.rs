//! Types of other settings: operators, labels, thresholds, scales, anchors.

use serde::{Deserialize, Serialize};

use crate::config::KernelRule;
use crate::error::{Error, Result};

/// A setting that is given, or left to the [bank](crate::engine::bank).
#[derive(Clone, Debug, PartialEq)]
pub enum Choice<T> {
    /// Several values learn in parallel.
    Auto,
    /// The given value.
    Given(T),
}

impl<T> Choice<T> {
    pub(crate) fn is_auto(&self) -> bool {
        self.given().is_none()
    }

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

/// One value, or a list of values that several heads of a [bank](crate::engine::bank) have. There is always a first value; the
/// type dereferences to it.
#[derive(Clone, Debug, PartialEq)]
pub struct OneOrMore<T>(Vec<T>);

impl<T> OneOrMore<T> {
    /// The values of a list; none if the list is empty.
    ///
    /// ```
    /// use okl::{config::OneOrMore, loss::AnyLoss};
    /// let losses = OneOrMore::of(vec![AnyLoss::Hinge { margin: 1.0 }, AnyLoss::Logistic {}]).unwrap();
    /// assert_eq!((losses.all().len(), &*losses), (2, &AnyLoss::Hinge { margin: 1.0 }));
    /// assert!(OneOrMore::<AnyLoss>::of(vec![]).is_none());
    /// ```
    pub fn of(values: Vec<T>) -> Option<Self> {
        (!values.is_empty()).then_some(OneOrMore(values))
    }

    /// All values.
    pub fn all(&self) -> &[T] {
        &self.0
    }

    pub(crate) fn all_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T> std::ops::Deref for OneOrMore<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0[0]
    }
}

impl<T> From<T> for OneOrMore<T> {
    fn from(value: T) -> Self {
        OneOrMore(vec![value])
    }
}

impl From<KernelRule> for Choice<OneOrMore<KernelRule>> {
    fn from(kernel: KernelRule) -> Self {
        Choice::Given(kernel.into())
    }
}

impl<T: PartialEq> PartialEq<T> for OneOrMore<T> {
    fn eq(&self, other: &T) -> bool {
        self.0.len() == 1 && self.0[0] == *other
    }
}

impl<T: Serialize> Serialize for OneOrMore<T> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        match &self.0[..] {
            [one] => one.serialize(to),
            several => several.serialize(to),
        }
    }
}

impl<'de, T: serde::de::DeserializeOwned> Deserialize<'de> for OneOrMore<T> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        use serde::de::Error;
        let one = |value| T::deserialize(value).map_err(D::Error::custom);
        match serde_json::Value::deserialize(from)? {
            serde_json::Value::Array(parts) if parts.is_empty() => Err(D::Error::custom("the list is empty: name at least one")),
            serde_json::Value::Array(parts) => parts.into_iter().map(one).collect::<std::result::Result<_, _>>().map(OneOrMore),
            value => one(value).map(Self::from),
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

impl Label {
    /// The name of this label's class, given the classes so far. A whole number and its text name one class (1 and "1"), and so do the
    /// spellings of a truth value (`true`, `True`). If all classes so far are truth values, as words or as 0 and 1 (numbers or text), a truth value of the
    /// other form gets their form: `true` is 1, 0 is `false`. Otherwise the name is the label itself.
    ///
    /// ```
    /// use okl::Label;
    /// let named = |label: Label, classes: &[Label]| label.named_as(classes.iter());
    /// assert_eq!(named("1".into(), &[0.into(), 1.into()]), Label::Int(1));
    /// assert_eq!(named("True".into(), &[0.into()]), Label::Int(1));
    /// assert_eq!(named(1.into(), &["false".into(), "true".into()]), Label::from("true"));
    /// assert_eq!(named("true".into(), &["0".into()]), Label::from("1"));
    /// assert_eq!(named("true".into(), &[0.into(), 1.into(), 2.into()]), Label::from("true"));
    /// ```
    pub fn named_as<'a>(self, classes: impl Iterator<Item = &'a Label> + Clone) -> Label {
        if classes.clone().any(|class| *class == self) {
            return self;
        }
        if let Some(class) = classes.clone().find(|class| class.is_spelled_like(&self)) {
            return class.clone();
        }
        let Some(value) = self.truth() else { return self };
        match classes.clone().next() {
            Some(first) if classes.clone().all(|class| class.truth().is_some()) => {
                let same = classes.clone().find(|class| class.truth() == Some(value));
                same.cloned().unwrap_or_else(|| first.truth_written_alike(value))
            }
            _ => self,
        }
    }

    /// Whether the label is a whole number, its text, or a truth value.
    pub fn is_whole_or_truth(&self) -> bool {
        let whole = |text: &str| text.parse::<i64>().is_ok_and(|whole| whole.to_string() == text);
        matches!(self, Label::Int(_)) || self.truth().is_some() || matches!(self, Label::Text(text) if whole(text))
    }

    /// Whether two labels differ in type only, or are spellings of one truth value.
    pub(crate) fn is_spelled_like(&self, other: &Label) -> bool {
        match (self, other) {
            (Label::Int(number), Label::Text(text)) | (Label::Text(text), Label::Int(number)) => number.to_string() == *text,
            (Label::Text(a), Label::Text(b)) => self.truth().is_some() && a.eq_ignore_ascii_case(b),
            _ => false,
        }
    }

    /// The truth value of 0 and 1, as numbers or text, and of the words false and true.
    fn truth(&self) -> Option<bool> {
        match self {
            Label::Int(0) => Some(false),
            Label::Int(1) => Some(true),
            Label::Text(text) if text == "0" => Some(false),
            Label::Text(text) if text == "1" => Some(true),
            Label::Text(text) if text.eq_ignore_ascii_case("false") => Some(false),
            Label::Text(text) if text.eq_ignore_ascii_case("true") => Some(true),
            _ => None,
        }
    }

    /// A truth value in the form of this one: a number, its text, or a word with capitals where this one has them.
    fn truth_written_alike(&self, value: bool) -> Label {
        let Label::Text(like) = self else { return Label::Int(value.into()) };
        if like == "0" || like == "1" {
            return Label::Text(u8::from(value).to_string());
        }
        let mut capital = like.chars().map(|c| c.is_ascii_uppercase());
        let (first, second) = (capital.next() == Some(true), capital.next() == Some(true));
        Label::Text(match (first, second) {
            (true, true) => value.to_string().to_ascii_uppercase(),
            (true, false) => (if value { "True" } else { "False" }).into(),
            _ => value.to_string(),
        })
    }
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

/// The threshold of the novelty score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Threshold {
    /// theta itself, N(16). The loss `density` has no theta: its threshold is always tracked.
    #[default]
    Norma,
    /// A tracked quantile of the score, which `nu_novelty` averages unless `average` says otherwise (algorithms.md 3.5).
    Tracker {
        /// The step size of the threshold: of its logarithm, or in units of the scores' spread where scores can be negative
        /// (linear kernels, polynomials of odd degree). Found from the first scores when not given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        speed: Option<f64>,
    },
}

/// The scaling of the features before the kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Scale {
    /// `none` where widths, step and lambda are all given: widths are then in the units of the data. Otherwise `standard`, but many
    /// columns that share one range keep their unit. A width that is given is in the units that result. For dense rows and kernels of
    /// distance, the units follow the stream after the warm-up: [`units`](crate::units).
    Auto,
    /// No scaling.
    #[default]
    None,
    /// (x - mean) / standard deviation of the first `warmup` examples, clipped at 8 for translation-invariant kernels.
    /// With `anchor = none` nothing is subtracted, and the deviation is that of the entries which are not zero, from zero.
    Standard,
    /// For heavy tails: sign(x) ln(1 + |x| / unit), then as `standard`. The unit of a column is the absolute value that a tenth of its
    /// entries other than 0 do not exceed in the first `warmup` examples. Zero stays zero where nothing is subtracted (`anchor = none`).
    Log,
    /// As `auto`; then the correlations of the columns are removed, so that distances are Mahalanobis distances, by the covariance of the
    /// first `warmup` examples. For kernels of distance, and up to 256 columns. A density whose `gamma` and `scale` are `auto` has it.
    Whiten,
    /// (x - shift) * factor. After the warm-up, `standard`, `log` and `auto` are replaced by this.
    Fixed {
        /// The numbers to subtract.
        shift: Vec<f64>,
        /// The numbers to multiply by.
        factor: Vec<f64>,
        /// If not empty: x is sign(x) ln(1 + |x| / unit) of the row's value, with these units.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        log_units: Vec<f64>,
        /// The largest absolute value of the result; larger values are clipped.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<f64>,
        /// Whether shift and factor follow the stream, as after the warm-up of `auto`.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        follow: bool,
        /// If not empty: the scaled row is multiplied by this lower triangle, row by row, after it is clipped.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        whiten: Vec<f64>,
    },
}

/// The unit in which targets that are numbers are learned. Losses and default step sizes assume targets of about 1 in size.
///
/// Targets come in and scores go out in the unit of the data: those of [`Learner::learn`](crate::Learner::learn),
/// [`Learner::predict`](crate::Learner::predict) and [`Outcome::scores`](crate::engine::Outcome::scores). What goes on in between is in
/// the unit of the scaled targets: losses, theta, eta, lambda, |f|², the parameters of the loss, the engine's own coefficients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum TargetScale {
    /// Targets are not scaled.
    #[default]
    None,
    /// A target y is learned as (y - shift) * factor, and a score z is returned as z / factor + shift.
    Fixed {
        /// Subtracted from a target, one number per output.
        shift: Vec<f64>,
        /// The factors, one number > 0 per output.
        factor: Vec<f64>,
    },
}

/// The largest shift. Within this limit a finite score stays finite in the unit of the data.
const SHIFTS: f64 = 1e300;
const FACTORS: std::ops::RangeInclusive<f64> = 1e-100..=1e100;

impl TargetScale {
    /// Whether targets are not scaled.
    pub fn is_none(&self) -> bool {
        *self == TargetScale::None
    }

    /// The number of outputs; none if targets are not scaled.
    pub(crate) fn outputs(&self) -> Option<usize> {
        match self {
            TargetScale::None => None,
            TargetScale::Fixed { factor, .. } => Some(factor.len()),
        }
    }

    /// The factor of an output; 1 if targets are not scaled.
    pub fn factor(&self, output: usize) -> f64 {
        match self {
            TargetScale::None => 1.0,
            TargetScale::Fixed { factor, .. } => factor[output],
        }
    }

    /// The smallest factor. A bound on scaled scores divided by it is a bound on all scores.
    pub fn least_factor(&self) -> f64 {
        match self {
            TargetScale::None => 1.0,
            TargetScale::Fixed { factor, .. } => factor.iter().copied().fold(f64::INFINITY, f64::min),
        }
    }

    /// Scales a target of an output.
    pub(crate) fn learned(&self, output: usize, y: f64) -> f64 {
        match self {
            TargetScale::None => y,
            TargetScale::Fixed { shift, factor } => (y - shift[output]) * factor[output],
        }
    }

    /// Converts scores, row by row, to the unit of the data.
    pub(crate) fn put_back(&self, scores: &mut [f64]) {
        let TargetScale::Fixed { shift, factor } = self else { return };
        for row in scores.chunks_exact_mut(factor.len()) {
            row.iter_mut().zip(shift).zip(factor).for_each(|((z, shift), factor)| *z = *z / factor + shift);
        }
    }

    /// Checks the numbers.
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
#[non_exhaustive]
pub enum Anchor {
    /// The first example.
    #[default]
    First,
    /// Nothing is subtracted.
    None,
}

/// Whether the widths of a bank change with the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Widths {
    /// The widths that were found in the warm-up, or given, stay.
    #[default]
    Fixed,
    /// If the narrowest or the widest kernel of a family leads, a width beyond it takes the place of one that has no weight.
    Follow,
}

/// Which heads a bank has, where the step size is not given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Heads {
    /// Every kernel and width under every loss, with each of three step sizes.
    #[default]
    Grid,
    /// Those of the table for `kernel = auto`, as they were at first: all offsets learn as fast as f.
    Selected,
    /// Those of the table for `kernel = auto`: offsets learn more slowly than f or not at all, and for classes one head forgets
    /// quickly.
    Varied,
    /// The same, and some kernels read columns with weights that are found from the gradient of f; one more kernel, a wide one, is among
    /// those that read columns as they are.
    Weighted,
    /// The same, and weight vectors, which are linear in the columns.
    Mixed,
    /// The same, and a kernel of the Manhattan distance.
    Broad,
}
