//! The configuration of a learner. TOML, JSON, command-line flags, Python arguments and model files use the same names.
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
//! [`Config::check`] validates a configuration; a configuration that passes can be built and run.

mod check;
mod class_weight;
mod expression;
pub mod families;
mod form;
mod kernel_rule;
mod kinds;
mod parse;
mod portfolio;
pub mod sizing;
mod types;

use serde::{Deserialize, Serialize};

use crate::certificate::Scores;
pub use crate::config::class_weight::ClassWeight;
pub use crate::config::form::Form;
pub(crate) use crate::config::kernel_rule::Medians;
pub use crate::config::kernel_rule::{Gamma, KernelRule};
pub use crate::config::parse::{nearest, number_or_text};
pub(crate) use crate::config::portfolio::HeadRule;
pub use crate::config::portfolio::Member;
pub use crate::config::types::{
    Anchor, Choice, Heads, Label, OneOrMore, OperatorPart, OperatorRule, Scale, TargetScale, Threshold, Widths,
};
use crate::engine::head::Average;
pub use crate::engine::head::Shrink;
use crate::error::{Error, Result};
use crate::parts::budget::BudgetRule;
use crate::parts::kernel::DotKernel;
use crate::parts::loss::AnyLoss;
use crate::parts::output::{Operator, Output};
use crate::parts::regulariser::AnyRegulariser;
use crate::parts::step::AnyStep;

/// The settings of a learner. A [bank](crate::engine::bank) tries values of missing ones if possible, else [`Config::default`] holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The kernel k(x, x'). Of a list, every head of a bank has one kernel.
    pub kernel: Choice<OneOrMore<KernelRule>>,
    /// The loss l(z, y). Of a list, every head of a bank has one loss; the bank measures itself and its heads by the first one.
    pub loss: OneOrMore<AnyLoss>,
    /// The step size eta_t. `auto`: several learn in parallel.
    pub step: Choice<AnyStep>,
    /// Whether steps are proximal (algorithms.md 3.3). With `step = auto` they are proximal if the loss allows it, too.
    pub implicit: bool,
    /// How many terms. When not given: merge:1000 for a kernel of distance, else transfer:1000; window:1000 for a sum of operator
    /// kernels; and `memory`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetRule>,
    /// Bytes. If given, a merge or transfer budget may double its number of terms as long as that lowers the error and fits into
    /// so many bytes ([`growth`](crate::growth)). When neither `budget` nor `memory` is given, it is 64 MB where a bank is possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<usize>,
    /// What f is stored as. `auto`: weights for a linear kernel without a budget, else terms.
    #[serde(skip_serializing_if = "Choice::is_auto")]
    pub form: Choice<Form>,
    /// The weight of the regulariser. `auto`: several learn in parallel.
    pub lambda: Choice<f64>,
    /// The function omega(|f|) of the regulariser.
    pub regulariser: AnyRegulariser,
    /// When f is shrunk: at every example, or only at examples with an update.
    #[serde(skip_serializing_if = "Shrink::is_always")]
    pub shrink: Shrink,
    /// Whether an offset is learned.
    pub offset: bool,
    /// The steps of the offset are this many times those of f; with 0 it stays where it began. When not given: 1, or one for each head
    /// of a bank with `heads = varied`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset_step: Option<f64>,
    /// The output operator J.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator: Option<OperatorRule>,
    /// The classes. Default: the classes that occur in the data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classes: Option<Vec<Label>>,
    /// The weight of an example by its class.
    #[serde(skip_serializing_if = "ClassWeight::is_none")]
    pub class_weight: ClassWeight,
    /// The hypothesis that predicts. `auto`: the last one; with `step = auto` also averages.
    pub average: Choice<Average>,
    /// The threshold for novelty.
    pub threshold: Threshold,
    /// The initial value of theta.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theta0: Option<f64>,
    /// The scaling of the features.
    pub scale: Scale,
    /// The unit in which targets that are numbers are learned. Scores are returned in the unit of the data.
    #[serde(skip_serializing_if = "TargetScale::is_none")]
    pub target_scale: TargetScale,
    /// The number of examples from which `gamma = auto`, `scale = standard` and the initial threshold of the tracker are estimated.
    pub warmup: usize,
    /// How often the examples of the warm-up are learned, each time that its statistics are recomputed. When not given: 5 where a bank
    /// chooses the steps, else once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup_passes: Option<usize>,
    /// The point that is subtracted from every row with translation-invariant kernels.
    pub anchor: Anchor,
    /// Whether eta lambda >= 1 is allowed.
    pub allow_overshoot: bool,
    /// Whether the widths of a bank follow the stream; with `auto`, those of `kernel = auto` do.
    #[serde(skip_serializing_if = "Choice::is_auto")]
    pub widths: Choice<Widths>,
    /// Which heads a bank has; with `auto`, a bank of `kernel = auto` has the selected ones.
    #[serde(skip_serializing_if = "Choice::is_auto")]
    pub heads: Choice<Heads>,
    /// The weight of each column in kernels of distance: its squared differences are multiplied by this number. Columns without a number
    /// have 1. With `heads = weighted` the learner finds them, and only some of its kernels use them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub relevance: Vec<f64>,
    /// A setting that no version of okl has. It exists in the crate's own tests, which read model files without it (`learner/newer.rs`).
    #[cfg(test)]
    pub(crate) not_yet: u32,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            kernel: KernelRule::Gaussian { gamma: Gamma::Auto }.into(),
            loss: AnyLoss::Hinge { margin: 1.0 }.into(),
            step: Choice::Auto,
            implicit: false,
            budget: None,
            memory: None,
            form: Choice::Auto,
            lambda: Choice::Auto,
            regulariser: AnyRegulariser::Square,
            shrink: Shrink::Always,
            offset: false,
            offset_step: None,
            operator: None,
            classes: None,
            class_weight: ClassWeight::None,
            average: Choice::Auto,
            threshold: Threshold::Norma,
            theta0: None,
            scale: Scale::Auto,
            target_scale: TargetScale::None,
            warmup: 256,
            warmup_passes: None,
            anchor: Anchor::First,
            allow_overshoot: false,
            widths: Choice::Auto,
            heads: Choice::Auto,
            relevance: Vec::new(),
            #[cfg(test)]
            not_yet: 0,
        }
    }
}

/// The first setting with a number that is not finite. JSON, to which TOML is converted, cannot hold such a number.
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
/// If it is not TOML, or has a number that is not finite, which JSON cannot hold.
#[doc(hidden)]
pub fn toml_table(text: &str) -> Result<serde_json::Value> {
    let value: toml::Value = toml::from_str(text).map_err(|e| Error::config("configuration", e.message().to_string()))?;
    if let Some(key) = not_finite(&value) {
        return Err(Error::config(&key, "expected a finite number, found nan or inf"));
    }
    serde_json::to_value(value).map_err(|e| Error::config("configuration", e.to_string()))
}

/// The bytes up to which the number of terms may be doubled when neither budget nor memory is given.
pub(crate) const AUTO_MEMORY: usize = 64_000_000;

/// The default number of terms.
pub(crate) const DEFAULT_TERMS: usize = 1000;
/// The number of terms of a density, of which every row is one: four times as many as the rows of its exponential mean.
const DENSITY_TERMS: usize = 2000;

impl Config {
    /// Reads a configuration from a JSON value, in any of the forms at the head of this module.
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
            // serde does not name the setting with the error. It is the one that cannot be read alone.
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
            Some(terms) => Config { budget: config.budget_of_terms().with_terms(terms), ..config },
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

    /// The budget: the given one or the default; unlimited for weights, which have no terms.
    ///
    /// ```
    /// # use okl::Config;
    /// let config = Config::from_toml("kernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'")?;
    /// assert_eq!(config.budget().capacity(), Some(10));
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn budget(&self) -> BudgetRule {
        if self.uses_weights() { BudgetRule::Unlimited {} } else { self.budget_of_terms() }
    }

    /// The budget of terms: the given one or the default.
    pub(crate) fn budget_of_terms(&self) -> BudgetRule {
        self.budget.clone().unwrap_or_else(|| match self.single_kernel() {
            _ if self.is_density() => BudgetRule::Window { terms: DENSITY_TERMS },
            true if self.can_merge() => BudgetRule::Merge { terms: DEFAULT_TERMS },
            true => BudgetRule::Transfer { terms: DEFAULT_TERMS },
            false => BudgetRule::Window { terms: DEFAULT_TERMS },
        })
    }

    /// Whether f is a weight vector: `form = weights` or `fourier`, or a linear kernel where neither form nor budget nor memory is given.
    ///
    /// ```
    /// # use okl::Config;
    /// assert!(Config::from_toml("kernel = 'linear'")?.uses_weights());
    /// assert!(!Config::from_toml("kernel = 'linear'\nbudget = 'window:1000'")?.uses_weights());
    /// assert!(!Config::from_toml("kernel = 'linear'\nform = 'terms'")?.uses_weights());
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn uses_weights(&self) -> bool {
        match self.form {
            Choice::Given(form) => form != Form::Terms,
            Choice::Auto => self.budget.is_none() && self.memory.is_none() && self.is_linear(),
        }
    }

    /// Whether there is one kernel, a linear one.
    pub(crate) fn is_linear(&self) -> bool {
        self.single_kernel() && matches!(self.kernel_rules(), [KernelRule::Linear {}])
    }

    /// Whether there is one kernel, the polynomial of degree 2.
    pub(crate) fn is_quadratic(&self) -> bool {
        self.single_kernel() && matches!(self.kernel_rules(), [KernelRule::Polynomial { degree: 2, .. }])
    }

    /// Whether kernel values are given by the caller ([`KernelRows`](crate::KernelRows)) in place of rows of features.
    ///
    /// ```
    /// # use okl::Config;
    /// assert!(Config::from_toml("kernel = 'precomputed'")?.is_precomputed());
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn is_precomputed(&self) -> bool {
        self.single_kernel() && matches!(self.kernel_rules(), [KernelRule::Precomputed {}])
    }

    /// Whether a feature that is 0 stays 0 before the kernel: no anchor and no mean is subtracted. Only then sparse rows stay sparse.
    ///
    /// ```
    /// # use okl::Config;
    /// assert!(!Config::default().keeps_zeros());                       // columns are centred
    /// assert!(Config::from_toml("anchor = 'none'")?.keeps_zeros());
    /// assert!(Config::from_toml("kernel = 'linear'\nscale = 'none'")?.keeps_zeros());
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn keeps_zeros(&self) -> bool {
        // This must not depend on what the warm-up finds.
        match &self.scale {
            _ if self.reads_manhattan() => false,
            Scale::Fixed { shift, .. } => self.anchor == Anchor::None && shift.iter().all(|shift| *shift == 0.0),
            _ if self.anchor == Anchor::None => true,
            _ => !self.needs_scale() && !self.kernels().iter().any(DotKernel::translation_invariant),
        }
    }

    /// Whether the number of terms may be doubled: `budget = auto`, or `memory` is given.
    ///
    /// ```
    /// # use okl::Config;
    /// assert!(Config::default().grows());
    /// assert!(!Config::from_toml("budget = 'merge:2000'")?.grows());
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn grows(&self) -> bool {
        self.memory.is_some() || (self.budget.is_none() && self.can_grow())
    }

    /// Whether the budget merges or projects terms. Such a budget does not look at their age.
    pub(crate) fn projects(&self) -> bool {
        matches!(self.budget(), BudgetRule::Merge { .. } | BudgetRule::Transfer { .. })
    }

    /// Whether the examples of the warm-up can be learned several times: no budget looks at the age of terms.
    pub(crate) fn repeats(&self) -> bool {
        self.projects() || self.uses_weights()
    }

    /// Whether doubling the number of terms is possible: a budget that merges or projects, and losses and steps of which a copy with
    /// fewer terms can be compared.
    pub(crate) fn can_grow(&self) -> bool {
        let smd = self.members().iter().any(|member| matches!(member.step, AnyStep::Smd { .. }));
        self.projects() && self.banks() && self.regulariser == AnyRegulariser::Square && !smd && !self.is_precomputed()
    }

    pub(crate) fn single_kernel(&self) -> bool {
        !matches!(self.operator, Some(OperatorRule::Sum(_)))
    }

    /// Whether two terms can be merged at a centre between them under every kernel.
    pub(crate) fn can_merge(&self) -> bool {
        self.kernel_rules().iter().all(|k| k.kernel(0).translation_invariant())
    }

    /// Whether a kernel reads the Manhattan distance.
    pub(crate) fn reads_manhattan(&self) -> bool {
        self.rules().any(KernelRule::reads_manhattan)
    }

    /// The kernels of `kernel`, with those that `auto` stands for.
    pub(crate) fn kernel_rules(&self) -> &[KernelRule] {
        self.kernel.given().map_or_else(|| self.automatic_kernels(), OneOrMore::all)
    }

    /// The kernels that run: those of the operator's parts, or those of `kernel`.
    pub(crate) fn rules(&self) -> impl Iterator<Item = &KernelRule> {
        let (parts, alone): (&[OperatorPart], &[KernelRule]) = match &self.operator {
            Some(OperatorRule::Sum(parts)) => (parts, &[]),
            _ => (&[], self.kernel_rules()),
        };
        parts.iter().map(|part| &part.kernel).chain(alone)
    }

    /// The same kernels, to be changed. `auto` has none: [`Config::settle_kernel`] puts its kernels in its place.
    pub(crate) fn rules_mut(&mut self) -> impl Iterator<Item = &mut KernelRule> {
        let (parts, alone): (&mut [OperatorPart], &mut [KernelRule]) = match (&mut self.operator, &mut self.kernel) {
            (Some(OperatorRule::Sum(parts)), _) => (parts, &mut []),
            (_, Choice::Given(kernels)) => (&mut [], kernels.all_mut()),
            (_, Choice::Auto) => (&mut [], &mut []),
        };
        parts.iter_mut().map(|part| &mut part.kernel).chain(alone)
    }

    /// Whether the widths of the bank follow the stream.
    pub(crate) fn follows(&self) -> bool {
        let wanted = self.widths.given().map_or(self.kernel == Choice::Auto, |widths| *widths == Widths::Follow);
        wanted && self.banks() && self.single_kernel()
    }

    /// Replaces `kernel = auto` by the kernels that it stands for.
    pub(crate) fn settle_kernel(&mut self) {
        if self.follows() {
            self.widths = Widths::Follow.into();
        }
        if self.selects() {
            self.heads = match (self.weighs(), self.varies()) {
                (true, _) if self.is_broad() => Heads::Broad,
                (true, _) if self.mixes() => Heads::Mixed,
                (true, _) => Heads::Weighted,
                (false, true) => Heads::Varied,
                (false, false) => Heads::Selected,
            }
            .into();
        }
        if let Some(kernels) = OneOrMore::of(self.kernel_rules().to_vec()) {
            self.kernel = Choice::Given(kernels);
        }
    }

    /// Whether the threshold of a detector should be tracked if none is given: always that of a density, and that of nu_novelty unless
    /// `theta0` is given, because its theta may end at 0, where it gives no alert.
    ///
    /// ```
    /// # use okl::Config;
    /// assert!(Config::from_toml("loss = 'nu_novelty:0.1'")?.follows_a_rate());
    /// assert!(!Config::from_toml("loss = 'nu_novelty:0.1'\ntheta0 = 0.5")?.follows_a_rate());
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn follows_a_rate(&self) -> bool {
        match *self.loss {
            AnyLoss::NuNovelty { .. } => self.theta0.is_none(),
            AnyLoss::Density { .. } => true,
            _ => false,
        }
    }

    /// The sign of novelty scores. Coefficients are not negative unless a step overshoots, so a kernel >= 0 has scores >= 0. A weight
    /// vector has scores of any sign: random features approximate a kernel, and sums over features are rounded.
    pub(crate) fn novelty_scores(&self) -> Scores {
        let negative = self.uses_weights() || self.rules().any(KernelRule::can_be_negative);
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

    /// Whether the configuration determines the number of outputs, independently of the targets.
    pub(crate) fn gives_outputs(&self) -> bool {
        self.operator.is_some() || !self.target_scale.is_none()
    }

    pub(crate) fn needs_warmup(&self) -> bool {
        self.needs_scale() || self.rules().any(KernelRule::wants_gamma)
    }

    /// Whether a scale is estimated from the data.
    ///
    /// ```
    /// # use okl::Config;
    /// let config = Config::from_toml("kernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'")?;
    /// assert!(!config.needs_scale());                              // width, step and lambda are given
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn needs_scale(&self) -> bool {
        match self.scale {
            Scale::Standard | Scale::Log | Scale::Whiten => true,
            Scale::Auto => !self.gives_all() && !self.is_precomputed(),
            _ => false,
        }
    }

    /// Whether the units of the columns follow the stream after the warm-up.
    pub(crate) fn units_follow(&self) -> bool {
        match self.scale {
            Scale::Auto | Scale::Whiten => self.needs_scale() && self.units_can_follow(),
            Scale::Fixed { follow, .. } => follow,
            _ => false,
        }
    }

    /// Whether rows can be whitened: they are dense, and the kernels are of distance.
    pub(crate) fn can_whiten(&self) -> bool {
        self.anchor == Anchor::First && !self.is_precomputed() && self.kernels().iter().all(DotKernel::translation_invariant)
    }

    /// Whether units can follow the stream: rows are dense, k(x, x) does not depend on the units, and there are terms whose unscaled rows
    /// are kept. A weight vector has none: its weights are sums over rows in the units that these had.
    pub(crate) fn units_can_follow(&self) -> bool {
        !self.uses_weights() && self.anchor == Anchor::First && self.kernels().iter().all(DotKernel::translation_invariant)
    }

    /// Whether widths, step and lambda are all given, as in the papers. Widths are then in the units of the data.
    fn gives_all(&self) -> bool {
        let widths = self.rules().any(KernelRule::gives_gamma) && !self.rules().any(KernelRule::wants_gamma);
        widths && self.step.given().is_some() && self.lambda.given().is_some()
    }
}
