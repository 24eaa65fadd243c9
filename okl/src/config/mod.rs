//! The one description of a learner: the same names as TOML, JSON, command-line flags, Python arguments and model files.
//!
//! ```toml
//! loss = "hinge"
//! kernel = "gaussian:0.5"          # or "gaussian" and gamma = 0.5, or { gaussian = { gamma = 0.5 } }
//! step = "decay:eta=1,tau=1000"
//! lambda = 1e-3
//! budget = { window = { terms = 1000 } }
//! ```
//!
//! ```
//! use okl::Config;
//! let long = Config::from_toml("kernel = { gaussian = { gamma = 0.5 } }\nbudget = { window = { terms = 1000 } }")?;
//! let short = Config::from_json(r#"{"kernel": "gaussian", "gamma": 0.5, "budget": "window:1000"}"#)?;
//! assert_eq!(long, short);
//! let refused = Config::from_toml("loss = 'nu_novelty:0.01'\noffset = true")?.check();
//! assert!(refused.unwrap_err().to_string().starts_with("offset: a novelty loss cannot have an offset"));
//! # Ok::<(), okl::Error>(())
//! ```
//!
//! [`Config::check`] is the one place of validation: what it lets through can be built and run.

mod check;
pub mod families;
mod kernel_rule;
mod kinds;
mod parse;
mod portfolio;
pub mod sizing;
mod types;

use serde::{Deserialize, Serialize};

use crate::certificate::Scores;
pub use crate::config::kernel_rule::{Gamma, KernelRule};
pub(crate) use crate::config::portfolio::HeadRule;
pub use crate::config::portfolio::Member;
pub use crate::config::types::{Anchor, Choice, Label, OperatorPart, OperatorRule, Scale, TargetScale, Threshold};
use crate::engine::head::Average;
pub use crate::engine::head::Shrink;
use crate::error::{Error, Result};
use crate::parts::budget::BudgetRule;
use crate::parts::kernel::DotKernel;
use crate::parts::loss::AnyLoss;
use crate::parts::output::{Operator, Output};
use crate::parts::regulariser::AnyRegulariser;
use crate::parts::step::AnyStep;

/// A learner's settings. What is not given is left to a [bank](crate::engine::bank) where it can be, else as in [`Config::default`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// k(x, x').
    pub kernel: KernelRule,
    /// l(z, y).
    pub loss: AnyLoss,
    /// eta_t; several side by side with `auto`.
    pub step: Choice<AnyStep>,
    /// The proximal step of algorithms.md 3.3; steps that are left to the bank are proximal wherever the loss allows it.
    pub implicit: bool,
    /// How many terms. When not given: merge:1000 for a kernel of distance, else transfer:1000; window:1000 for a sum of operator kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetRule>,
    /// The regulariser; several side by side with `auto`.
    pub lambda: Choice<f64>,
    /// Its shape omega(|f|).
    pub regulariser: AnyRegulariser,
    /// When f is shrunk: at every example, or at those with an update.
    #[serde(skip_serializing_if = "Shrink::is_always")]
    pub shrink: Shrink,
    /// Is an offset learned?
    pub offset: bool,
    /// J.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator: Option<OperatorRule>,
    /// The classes; discovered when not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classes: Option<Vec<Label>>,
    /// Which hypothesis predicts; with `auto` the last one, and where a bank chooses the steps an average beside it.
    pub average: Choice<Average>,
    /// What is novel.
    pub threshold: Threshold,
    /// Where theta starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theta0: Option<f64>,
    /// What is done to features first.
    pub scale: Scale,
    /// The unit in which targets that are numbers are learned; scores come back in the unit of the data.
    #[serde(skip_serializing_if = "TargetScale::is_none")]
    pub target_scale: TargetScale,
    /// Examples from which `gamma = auto`, `scale = standard` and the tracker's start are found.
    pub warmup: usize,
    /// What translation-invariant kernels subtract.
    pub anchor: Anchor,
    /// May eta lambda reach one?
    pub allow_overshoot: bool,
    /// A setting that no version of okl has. It exists in the crate's own tests, which read model files without it (`learner/newer.rs`).
    #[cfg(test)]
    pub(crate) not_yet: u32,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            kernel: KernelRule::Gaussian { gamma: Gamma::Auto },
            loss: AnyLoss::Hinge { margin: 1.0 },
            step: Choice::Auto,
            implicit: false,
            budget: None,
            lambda: Choice::Auto,
            regulariser: AnyRegulariser::Square,
            shrink: Shrink::Always,
            offset: false,
            operator: None,
            classes: None,
            average: Choice::Auto,
            threshold: Threshold::Norma,
            theta0: None,
            scale: Scale::Auto,
            target_scale: TargetScale::None,
            warmup: 256,
            anchor: Anchor::First,
            allow_overshoot: false,
            #[cfg(test)]
            not_yet: 0,
        }
    }
}

/// The setting of a table that holds a number which is not finite: JSON, the common form, would drop it.
fn not_finite(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::Float(v) => (!v.is_finite()).then(String::new),
        toml::Value::Array(parts) => parts.iter().find_map(not_finite),
        toml::Value::Table(table) => table.iter().find_map(|(key, value)| not_finite(value).map(|_| key.clone())),
        _ => None,
    }
}

/// A table of settings in TOML, as the JSON value that [`Config::from_value`] reads.
///
/// # Errors
/// If it is not TOML, or has a number that is not finite: JSON would drop it.
#[doc(hidden)]
pub fn toml_table(text: &str) -> Result<serde_json::Value> {
    let value: toml::Value = toml::from_str(text).map_err(|e| Error::config("configuration", e.message().to_string()))?;
    if let Some(key) = not_finite(&value) {
        return Err(Error::config(&key, "expected a finite number, found nan or inf"));
    }
    serde_json::to_value(value).map_err(|e| Error::config("configuration", e.to_string()))
}

/// The terms a budget has when none is asked for.
pub(crate) const DEFAULT_TERMS: usize = 1000;

impl Config {
    /// Reads a description in any of the forms of this module's head, as a JSON value.
    ///
    /// ```
    /// # use okl::Config;
    /// let value = serde_json::json!({ "kernel": "gaussian", "gamma": 0.5 });
    /// assert_eq!(Config::from_value(value)?, Config::from_toml("kernel = 'gaussian:0.5'")?);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn from_value(value: serde_json::Value) -> Result<Config> {
        let mut canonical = parse::expand(value)?;
        let terms = parse::take_terms(&mut canonical)?;
        kinds::check(&mut canonical)?;
        let config: Config = serde_json::from_value(canonical.clone()).map_err(|e| {
            // serde does not say which setting it is: the one that cannot be read alone.
            let alone = |(key, value): &(&String, &serde_json::Value)| {
                serde_json::from_value::<Config>(serde_json::json!({ *key: value })).is_err()
            };
            let field =
                canonical.as_object().and_then(|settings| settings.iter().find(alone)).map_or("configuration", |(key, _)| key);
            let message = e.to_string();
            // "unknown field `tua`, expected one of `kernel`, ...": of the settings themselves, not of a part's parameters.
            let mut names = message.split('`').skip(1).step_by(2);
            if message.starts_with("unknown field") && names.next() == Some(field) {
                return Error::config(field, parse::no_such_setting(field, &names.collect::<Vec<_>>()));
            }
            let missing = message.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
            if let Some(text) = missing.and_then(|key| parse::missing(field, canonical.get(field)?, key)) {
                return Error::config(field, text);
            }
            Error::config(field, message)
        })?;
        Ok(match terms {
            Some(terms) => Config { budget: config.budget().with_terms(terms), ..config },
            None => config,
        })
    }

    /// Reads JSON text.
    ///
    /// ```
    /// # use okl::Config;
    /// assert_eq!(Config::from_json(r#"{"gamma": 0.5}"#)?, Config::from_toml("gamma = 0.5")?);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn from_json(text: &str) -> Result<Config> {
        let value = serde_json::from_str(text).map_err(|e| Error::config("configuration", e.to_string()))?;
        Config::from_value(value)
    }

    /// Reads TOML text.
    ///
    /// ```
    /// # use okl::Config;
    /// assert!(Config::from_toml("lambda = nan").is_err());          // settings are finite numbers
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn from_toml(text: &str) -> Result<Config> {
        Config::from_value(toml_table(text)?)
    }

    /// The canonical JSON text.
    ///
    /// ```
    /// # use okl::Config;
    /// let config = Config::from_toml("kernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'")?;
    /// assert_eq!(Config::from_json(&config.to_json())?, config);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a configuration is always representable")
    }

    /// The budget in force.
    ///
    /// ```
    /// # use okl::Config;
    /// let config = Config::from_toml("kernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'")?;
    /// assert_eq!(config.budget().capacity(), Some(10));
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn budget(&self) -> BudgetRule {
        self.budget.clone().unwrap_or_else(|| match self.kernel.kernel(0).translation_invariant() {
            true if self.single_kernel() => BudgetRule::Merge { terms: DEFAULT_TERMS },
            _ if self.single_kernel() => BudgetRule::Transfer { terms: DEFAULT_TERMS },
            _ => BudgetRule::Window { terms: DEFAULT_TERMS },
        })
    }

    fn single_kernel(&self) -> bool {
        !matches!(self.operator, Some(OperatorRule::Sum(_)))
    }

    /// The kernels that run: those of the operator's parts, or the one of `kernel`.
    pub(crate) fn rules(&self) -> impl Iterator<Item = &KernelRule> {
        let (parts, alone): (&[OperatorPart], _) = match &self.operator {
            Some(OperatorRule::Sum(parts)) => (parts, None),
            _ => (&[], Some(&self.kernel)),
        };
        parts.iter().map(|part| &part.kernel).chain(alone)
    }

    pub(crate) fn rules_mut(&mut self) -> impl Iterator<Item = &mut KernelRule> {
        let (parts, alone): (&mut [OperatorPart], _) = match &mut self.operator {
            Some(OperatorRule::Sum(parts)) => (parts, None),
            _ => (&mut [], Some(&mut self.kernel)),
        };
        parts.iter_mut().map(|part| &mut part.kernel).chain(alone)
    }

    /// The sign of novelty scores. Coefficients are not negative unless a step overshoots, so a kernel >= 0 has scores >= 0.
    pub(crate) fn novelty_scores(&self) -> Scores {
        let negative = self.rules().any(KernelRule::can_be_negative);
        if negative || self.allow_overshoot { Scores::AnySign } else { Scores::NotNegative }
    }

    pub(crate) fn output(&self) -> Result<Output> {
        Ok(match &self.operator {
            None => Output::Identity,
            Some(OperatorRule::Matrix(j)) => Output::Separable(vec![Operator::new(j)?]),
            Some(OperatorRule::Sum(parts)) => {
                Output::Separable(parts.iter().map(|p| Operator::new(&p.operator)).collect::<Result<_>>()?)
            }
        })
    }

    /// Does it say how many outputs there are, whatever the targets say?
    pub(crate) fn gives_outputs(&self) -> bool {
        self.operator.is_some() || !self.target_scale.is_none()
    }

    pub(crate) fn needs_warmup(&self) -> bool {
        self.needs_scale() || self.rules().any(KernelRule::wants_gamma)
    }

    /// Is a scale to be found from the data?
    ///
    /// ```
    /// # use okl::Config;
    /// let config = Config::from_toml("kernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'")?;
    /// assert!(!config.needs_scale());                              // width, step and lambda are given
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn needs_scale(&self) -> bool {
        match self.scale {
            Scale::Standard => true,
            Scale::Auto => !self.gives_all(),
            _ => false,
        }
    }

    /// Are widths, step and regulariser all given, as in the papers? Widths are then in the units of the data.
    fn gives_all(&self) -> bool {
        let widths = self.rules().any(KernelRule::gives_gamma) && !self.rules().any(KernelRule::wants_gamma);
        widths && self.step.given().is_some() && self.lambda.given().is_some()
    }
}
