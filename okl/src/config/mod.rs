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
//! assert!(refused.unwrap_err().to_string().starts_with("offset: a novelty loss has no offset"));
//! # Ok::<(), okl::Error>(())
//! ```
//!
//! [`Config::check`] is the one place of validation: what it lets through can be built and run.

mod parse;
pub mod sizing;
pub(crate) mod types;

use serde::{Deserialize, Serialize};

use crate::certificate::Scores;
use crate::config::types::WIDTHS;
pub use crate::config::types::{
    Anchor, Choice, Gamma, KernelRule, Label, OperatorPart, OperatorRule, Scale, TargetScale, Threshold,
};
use crate::engine::head::Average;
pub use crate::engine::head::Shrink;
use crate::error::{Error, Result};
use crate::learner::batch::LARGEST;
use crate::learner::scaling::FEW;
use crate::parts::budget::BudgetRule;
use crate::parts::kernel::{AnyKernel, DotKernel};
use crate::parts::loss::{AnyLoss, Loss, Reads};
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
    /// How many terms. When not given: merge:1000 for a Gaussian kernel, else transfer:1000, else window:1000.
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
pub fn toml_table(text: &str) -> Result<serde_json::Value> {
    let value: toml::Value = toml::from_str(text).map_err(|e| Error::config("configuration", e.message().to_string()))?;
    if let Some(key) = not_finite(&value) {
        return Err(Error::config(&key, "expected a finite number, found nan or inf"));
    }
    serde_json::to_value(value).map_err(|e| Error::config("configuration", e.to_string()))
}

/// The terms a budget has when none is asked for.
pub(crate) const DEFAULT_TERMS: usize = 1000;

/// What one voice of a learner runs with.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its step size.
    pub step: AnyStep,
    /// Its regulariser.
    pub lambda: f64,
    /// Which of the kernel's widths.
    pub width: usize,
    /// Which of its hypotheses speak.
    pub average: Average,
}

/// Steps and regularisers of a bank: a slow decay, a step that never tires, and a small one that forgets.
const PAIRS: [(AnyStep, f64); 3] = [
    (AnyStep::Decay { eta: 2.0, tau: 1000.0 }, 1e-5),
    (AnyStep::Constant { eta: 2.0 }, 1e-5),
    (AnyStep::Constant { eta: 0.2 }, 1e-3),
];

/// The averages beside them: a long one of what tires, a short one of what does not.
const AVERAGES: [Option<Average>; 3] =
    [Some(Average::Exponential { rate: 0.001 }), Some(Average::Exponential { rate: 0.01 }), None];

/// What is novel is told from its nearest neighbours: a narrow width.
const NOVEL: f64 = 4.0;

/// The regularisers of a bank whose step is given.
const LAMBDAS: [f64; 3] = [1e-5, 1e-3, 1e-2];

impl Config {
    /// Reads a description in any of the forms of this module's head, as a JSON value.
    pub fn from_value(value: serde_json::Value) -> Result<Config> {
        let mut canonical = parse::expand(value)?;
        let terms = parse::take_terms(&mut canonical)?;
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
    pub fn from_json(text: &str) -> Result<Config> {
        let value = serde_json::from_str(text).map_err(|e| Error::config("configuration", e.to_string()))?;
        Config::from_value(value)
    }

    /// Reads TOML text.
    pub fn from_toml(text: &str) -> Result<Config> {
        Config::from_value(toml_table(text)?)
    }

    /// The canonical JSON text.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a configuration is always representable")
    }

    /// The budget in force.
    pub fn budget(&self) -> BudgetRule {
        self.budget.clone().unwrap_or_else(|| match self.kernel.kernel(0).gaussian_gamma() {
            Some(_) if self.single_kernel() => BudgetRule::Merge { terms: DEFAULT_TERMS },
            _ if self.single_kernel() => BudgetRule::Transfer { terms: DEFAULT_TERMS },
            _ => BudgetRule::Window { terms: DEFAULT_TERMS },
        })
    }

    fn single_kernel(&self) -> bool {
        !matches!(self.operator, Some(OperatorRule::Sum(_)))
    }

    /// May several settings run side by side? A threshold, tube or scale that adapts belongs to one function, and some budgets
    /// belong to one step.
    pub(crate) fn banks(&self) -> bool {
        let tied = matches!(self.budget(), BudgetRule::Olok { .. } | BudgetRule::Forgetron { .. });
        self.loss.theta().is_none() && self.loss.reads() != Reads::Nothing && !tied
    }

    /// Do steps run side by side?
    fn chooses_steps(&self) -> bool {
        self.step == Choice::Auto && self.banks()
    }

    /// What speaks: one where everything is given, else a bank over what is not. Those of one head follow each other.
    pub fn members(&self) -> Vec<Member> {
        let average = self.average.given().copied().unwrap_or(Average::None);
        let pairs = self.pairs();
        let averages = if self.average == Choice::Auto && self.chooses_steps() { AVERAGES } else { [None; 3] };
        let mut members = Vec::new();
        for width in 0..self.widths() {
            for ((step, lambda), beside) in pairs.iter().zip(averages) {
                let member = Member { step: step.clone(), lambda: *lambda, width, average };
                let mean = beside.map(|average| Member { average, ..member.clone() });
                members.extend([Some(member), mean].into_iter().flatten());
            }
        }
        members
    }

    /// The heads: a member, and whether an average of the same head follows it.
    pub(crate) fn heads(&self) -> Vec<(Member, Option<Average>)> {
        let members = self.members();
        let of_one_head = |a: &Member, b: &Member| (a.width, &a.step, a.lambda) == (b.width, &b.step, b.lambda);
        members.chunk_by(of_one_head).map(|voices| (voices[0].clone(), voices.get(1).map(|v| v.average))).collect()
    }

    fn pairs(&self) -> Vec<(AnyStep, f64)> {
        let one = |step: &AnyStep, lambda: f64| vec![(step.clone(), lambda)];
        if !self.banks() {
            let (step, lambda) = self.plain_pair();
            return one(self.step.given().unwrap_or(&step), *self.lambda.given().unwrap_or(&lambda));
        }
        match (&self.step, &self.lambda) {
            (Choice::Given(step), Choice::Given(lambda)) => one(step, *lambda),
            (Choice::Auto, Choice::Given(lambda)) => PAIRS.iter().map(|(step, _)| (self.safe(step), *lambda)).collect(),
            (Choice::Auto, Choice::Auto) => PAIRS.iter().map(|(step, lambda)| (self.safe(step), *lambda)).collect(),
            (Choice::Given(step), Choice::Auto) => {
                let square = self.regulariser == AnyRegulariser::Square && !self.implicit && !self.allow_overshoot;
                let possible = |l: &&f64| **l == LAMBDAS[0] || !square || step.largest(**l) * **l < 1.0;
                LAMBDAS.iter().filter(possible).map(|lambda| (step.clone(), *lambda)).collect()
            }
        }
    }

    /// The step of a bank. A proximal step never overshoots. An explicit one does under a loss with unbounded gradients, and then f
    /// grows without end: there it is normalised.
    fn safe(&self, step: &AnyStep) -> AnyStep {
        match *step {
            _ if self.proximal() || self.loss.lipschitz().is_some() => step.clone(),
            AnyStep::Constant { eta } => AnyStep::Normalised { eta, tau: None },
            AnyStep::Decay { eta, tau } => AnyStep::Normalised { eta, tau: Some(tau) },
            _ => step.clone(),
        }
    }

    /// What stands in for a step and a regulariser that are not given where there is no bank.
    fn plain_pair(&self) -> (AnyStep, f64) {
        match self.budget() {
            BudgetRule::Forgetron { .. } => (AnyStep::Constant { eta: 1.0 }, 0.0),
            // nu holds the share of alerts; without it, what pulls f below the margin makes alerts.
            _ if self.loss.nu().is_none() && self.loss.reads() == Reads::Nothing => (AnyStep::Constant { eta: 0.1 }, 1e-3),
            _ if self.loss.reads() == Reads::Nothing => (AnyStep::Constant { eta: 0.1 }, 0.1),
            _ => (AnyStep::InverseSqrt { eta: 0.5 }, 1e-3),
        }
    }

    /// Automatic widths in units of the median heuristic's, for rows in which so many columns vary.
    pub(crate) fn width_factors(&self, columns: usize) -> Vec<f64> {
        // In few dimensions there is more to see between two rows.
        let narrow = (FEW as f64 / columns.max(1) as f64).max(1.0);
        match self.loss.reads() {
            Reads::Nothing => vec![NOVEL],
            _ if self.banks() => WIDTHS.map(|factor| narrow * factor).to_vec(),
            _ => vec![narrow],
        }
    }

    /// Is the step proximal?
    pub(crate) fn proximal(&self) -> bool {
        self.implicit || (self.chooses_steps() && self.check_implicit().is_ok())
    }

    /// Do scores start in the middle of the first targets, if there is a warm-up to see them? A step that is given starts at zero,
    /// as in the papers.
    pub(crate) fn starts_in_the_middle(&self) -> bool {
        let numbers = matches!(self.loss.reads(), Reads::Number | Reads::Vector);
        self.offset && numbers && self.chooses_steps()
    }

    /// How many widths run side by side.
    fn widths(&self) -> usize {
        match &self.operator {
            _ if !self.banks() => 1,
            Some(OperatorRule::Sum(parts)) => parts.iter().map(|p| p.kernel.widths()).max().unwrap_or(1),
            _ => self.kernel.widths(),
        }
    }

    /// Kernel values per pair of points and width.
    pub(crate) fn planes(&self) -> usize {
        if let Some(OperatorRule::Sum(parts)) = &self.operator { parts.len() } else { 1 }
    }

    /// The kernels of every plane, width by width.
    pub(crate) fn kernels(&self) -> Vec<AnyKernel> {
        let of_width = |width: usize| match &self.operator {
            Some(OperatorRule::Sum(parts)) => parts.iter().map(|p| p.kernel.kernel(width)).collect(),
            _ => vec![self.kernel.kernel(width)],
        };
        (0..self.widths()).flat_map(of_width).collect()
    }

    /// The settings of one head, everything given.
    pub fn frozen(&self, member: &Member) -> Config {
        let mut config = Config {
            step: member.step.clone().into(),
            lambda: member.lambda.into(),
            implicit: self.proximal(),
            budget: Some(self.budget()),
            average: member.average.into(),
            ..self.clone()
        };
        config.rules_mut().into_iter().for_each(|k| *k = k.with_width(member.width));
        config
    }

    pub(crate) fn rules_mut(&mut self) -> Vec<&mut KernelRule> {
        match &mut self.operator {
            Some(OperatorRule::Sum(parts)) => parts.iter_mut().map(|p| &mut p.kernel).collect(),
            _ => vec![&mut self.kernel],
        }
    }

    /// The sign of novelty scores. Coefficients are not negative unless a step overshoots, so a kernel >= 0 has scores >= 0.
    pub(crate) fn novelty_scores(&self) -> Scores {
        let kernels = match &self.operator {
            Some(OperatorRule::Sum(parts)) => parts.iter().any(|part| part.kernel.can_be_negative()),
            _ => self.kernel.can_be_negative(),
        };
        if kernels || self.allow_overshoot { Scores::AnySign } else { Scores::NotNegative }
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
        let mut copy = self.clone();
        self.needs_scale() || copy.rules_mut().iter().any(|k| k.wants_gamma())
    }

    /// Is a scale to be found from the data?
    pub fn needs_scale(&self) -> bool {
        match self.scale {
            Scale::Standard => true,
            Scale::Auto => !self.gives_all(),
            _ => false,
        }
    }

    /// Are widths, step and regulariser all given, as in the papers? Widths are then in the units of the data.
    fn gives_all(&self) -> bool {
        let mut copy = self.clone();
        let rules = copy.rules_mut();
        let widths = rules.iter().any(|k| k.gives_gamma()) && !rules.iter().any(|k| k.wants_gamma());
        widths && self.step.given().is_some() && self.lambda.given().is_some()
    }

    /// Refuses what cannot work, with the reason.
    pub fn check(&self) -> Result<()> {
        self.check_loaded()?;
        self.check_promises()
    }

    /// Refuses what no version accepted: a model file of an older version loads even if its settings are refused today.
    pub(crate) fn check_loaded(&self) -> Result<()> {
        let within = |field: &str, found: std::result::Result<(), String>| found.map_err(|reason| Error::config(field, reason));
        within("loss", self.loss.check())?;
        if let Choice::Given(step) = &self.step {
            within("step", step.check())?;
        }
        within("budget", self.budget().check())?;
        let mut copy = self.clone();
        copy.rules_mut().iter().try_for_each(|k| k.check())?;
        self.check_scalars()?;
        self.check_output()?;
        self.check_target_scale()?;
        self.members().iter().try_for_each(|member| self.check_step(member))?;
        self.check_budget()?;
        self.check_novelty()
    }

    fn check_scalars(&self) -> Result<()> {
        let refuse = |field: &str, reason: String| Err(Error::config(field, reason));
        if let Some(lambda) = self.lambda.given().filter(|l| !(l.is_finite() && **l >= 0.0)) {
            return refuse("lambda", format!("must be a finite number >= 0, found {lambda}"));
        }
        if let AnyRegulariser::Power { power } = self.regulariser
            && !(power.is_finite() && power >= 1.0)
        {
            return refuse("regulariser", format!("power must be at least 1 for the regulariser to be convex, found {power}"));
        }
        if let Choice::Given(Average::Exponential { rate }) = self.average
            && !(rate > 0.0 && rate < 1.0)
        {
            return refuse("average", format!("rate must be in (0, 1), found {rate}"));
        }
        if let Some(theta) = self.theta0 {
            match self.loss.theta() {
                None => return refuse("theta0", "this loss has no adaptive scalar".into()),
                Some(range) if !(theta.is_finite() && theta >= range.least) => {
                    return refuse("theta0", format!("must be a finite number >= {}, found {theta}", range.least));
                }
                _ => {}
            }
        }
        if self.warmup == 0 || self.warmup > 1 << 16 {
            return refuse("warmup", format!("must be between 1 and 65536 examples, found {}", self.warmup));
        }
        if let Scale::Fixed { shift, factor, limit } = &self.scale {
            if limit.is_some_and(|l| !(l > 0.0 && l <= LARGEST)) {
                return refuse("scale", "the limit of a fixed scale must be a number > 0".into());
            }
            if shift.len() != factor.len() || shift.iter().chain(factor).any(|v| !v.is_finite()) {
                return refuse("scale", "fixed shift and factor must be finite and of one length".into());
            }
            if shift.is_empty() || factor.iter().any(|f| *f <= 0.0) {
                return refuse("scale", "a fixed scale needs at least one feature, and every factor > 0".into());
            }
        }
        Ok(())
    }

    fn check_output(&self) -> Result<()> {
        let refuse = |field: &str, reason: &str| Err(Error::config(field, reason));
        let reads = self.loss.reads();
        if let Some(classes) = &self.classes {
            let distinct: std::collections::HashSet<_> = classes.iter().collect();
            if distinct.len() != classes.len() {
                return refuse("classes", "a class is named twice");
            }
            match reads {
                Reads::Class if classes.len() < 2 => return refuse("classes", "at least two classes are needed"),
                Reads::Sign if classes.len() != 2 => {
                    return refuse("classes", "this loss separates exactly two classes; use max_margin or softmax for more");
                }
                Reads::Number | Reads::Vector | Reads::Nothing => return refuse("classes", "this loss does not read classes"),
                _ => {}
            }
        }
        let Output::Separable(parts) = self.output()? else { return Ok(()) };
        let Some(first) = parts.first() else { return refuse("operator", "a sum of operator kernels needs at least one part") };
        if parts.iter().any(|j| j.size() != first.size()) {
            return refuse("operator", "all parts must have the same number of outputs");
        }
        match reads {
            Reads::Vector => Ok(()),
            Reads::Class if self.classes.as_ref().is_some_and(|c| c.len() == first.size()) => Ok(()),
            Reads::Class => refuse("operator", "with classes, an operator needs the list `classes`, one row and column each"),
            _ if first.size() == 1 => Ok(()),
            _ => refuse("operator", "this loss has one output; use squared, huber, epsilon, max_margin or softmax for several"),
        }
    }

    fn check_target_scale(&self) -> Result<()> {
        let Some(found) = self.target_scale.outputs() else { return Ok(()) };
        let refuse = |reason: String| Err(Error::config("target_scale", reason));
        self.target_scale.check()?;
        let outputs = match (self.output()?, self.loss.reads()) {
            (_, Reads::Sign | Reads::Class | Reads::Nothing) => {
                return refuse("this loss does not read numbers, so there is nothing to scale: drop target_scale".into());
            }
            (_, Reads::Number) => 1,
            (Output::Separable(parts), Reads::Vector) => parts[0].size(),
            (Output::Identity | Output::Full, Reads::Vector) => found,
        };
        match found == outputs {
            true => Ok(()),
            false => refuse(format!("there are {outputs} outputs here, found shifts and factors for {found}")),
        }
    }

    fn check_step(&self, Member { step, lambda, .. }: &Member) -> Result<()> {
        let refuse = |field: &str, reason: String| Err(Error::config(field, reason));
        if *lambda == 0.0 && matches!(step, AnyStep::Theorem2 {} | AnyStep::Pegasos { .. }) {
            return refuse("step", "theorem2 and pegasos divide by lambda: give lambda > 0".into());
        }
        let (smd, square) = (matches!(step, AnyStep::Smd { .. }), self.regulariser == AnyRegulariser::Square);
        if smd && (self.implicit || !square || self.allow_overshoot) {
            return refuse("step", "smd follows the explicit step under the square regulariser with eta lambda < 1: drop implicit, regulariser or allow_overshoot".into());
        }
        if self.implicit {
            return self.check_implicit();
        }
        let largest = step.largest(*lambda) * lambda;
        if square && !self.proximal() && !self.allow_overshoot && largest >= 1.0 {
            return refuse(
                "step",
                format!(
                    "eta lambda = {largest} must stay below 1, or nothing of f survives a step: lower eta or lambda, or set allow_overshoot"
                ),
            );
        }
        Ok(())
    }

    fn check_implicit(&self) -> Result<()> {
        let refuse = |reason: &str| Err(Error::config("implicit", reason));
        let output = self.output()?;
        if self.regulariser != AnyRegulariser::Square {
            return refuse("the proximal step is known for the square regulariser only");
        }
        if !output.projectable() {
            return refuse("the proximal step needs one operator J; a sum of operator kernels has no common eigenvectors");
        }
        let outputs = output.single().map_or(1, |j| j.size());
        match self.loss.can_prox(outputs, output.single().is_none()) {
            true => Ok(()),
            false => refuse(
                "this loss has no proximal step here (the perceptron's never leaves f = 0; max_margin and softmax need J = I)",
            ),
        }
    }

    fn check_budget(&self) -> Result<()> {
        let refuse = |reason: &str| Err(Error::config("budget", reason));
        let rule = self.budget();
        match rule {
            BudgetRule::Merge { .. } | BudgetRule::Transfer { .. } if !self.single_kernel() => refuse(
                "merging and transfer project one term onto another, which a sum of operator kernels does not allow: use window or age",
            ),
            BudgetRule::Merge { .. } if self.kernel.kernel(0).gaussian_gamma().is_none() => {
                refuse("merge needs a Gaussian kernel, where a point between two centres can stand for both: use transfer")
            }
            BudgetRule::Forgetron { .. } => {
                let textbook = self.loss == AnyLoss::Perceptron {}
                    && self.step.given().is_none_or(|step| matches!(step, AnyStep::Constant { .. }))
                    && self.lambda.given().is_none_or(|lambda| *lambda == 0.0)
                    && self.operator.is_none();
                if !self.kernel.kernel(0).translation_invariant() {
                    refuse(
                        "the Forgetron needs k(x, x) to be bounded: use a Gaussian kernel or another that depends on x - x' only",
                    )
                } else if textbook {
                    Ok(())
                } else {
                    refuse("the Forgetron is a perceptron: it needs loss = perceptron, step = constant and lambda = 0")
                }
            }
            BudgetRule::Olok { .. }
                if self.lambda.given() == Some(&0.0)
                    || self.step.given().is_some_and(|step| !matches!(step, AnyStep::InverseSqrt { .. })) =>
            {
                refuse("olok's truncation is stated for step = inverse_sqrt and lambda > 0")
            }
            _ => Ok(()),
        }
    }

    /// Refuses budgets that cannot keep what they promise.
    fn check_promises(&self) -> Result<()> {
        let refuse = |reason: &str| Err(Error::config("budget", reason));
        match self.budget() {
            BudgetRule::Forgetron { .. } if !self.kernel.kernel(0).translation_invariant() => {
                refuse("the Forgetron needs k(x, x) to be bounded: use a Gaussian kernel or another that depends on x - x' only")
            }
            BudgetRule::Certified { .. } if self.allow_overshoot => {
                refuse("with allow_overshoot a step may enlarge what was dropped, so no limit can be kept: use window or age")
            }
            _ => Ok(()),
        }
    }

    fn check_novelty(&self) -> Result<()> {
        let novelty = self.loss.reads() == Reads::Nothing;
        if novelty && self.offset {
            return Err(Error::config(
                "offset",
                "a novelty loss has no offset: b alone would satisfy it and nothing would be learned (N section 3)",
            ));
        }
        if let Threshold::Tracker { speed } = self.threshold {
            if !matches!(self.loss, AnyLoss::NuNovelty { .. }) {
                return Err(Error::config("threshold", "the tracker serves loss = nu_novelty"));
            }
            if let Some(speed) = speed.filter(|speed| !(*speed > 0.0 && speed.is_finite())) {
                return Err(Error::config("threshold", format!("speed must be a finite number > 0, found {speed}")));
            }
        }
        Ok(())
    }
}
