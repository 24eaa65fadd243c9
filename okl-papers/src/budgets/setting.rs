//! The settings that are chosen per method and number of terms.

use super::problem::Problem;
use super::{Context, PASSES, RATE};

/// The schedule of the step sizes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Steps {
    /// 1/(lambda t).
    Pegasos,
    /// From eta to nothing over all passes.
    Linear(f64),
    /// eta.
    Constant(f64),
}

impl Steps {
    /// The same, but they do not fall.
    pub fn held(self) -> Self {
        match self {
            Steps::Linear(eta) => Steps::Constant(eta),
            other => other,
        }
    }
}

/// The chosen settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// Of the Gaussian kernel.
    pub gamma: f64,
    /// The regulariser.
    pub lambda: f64,
    /// The step sizes.
    pub steps: Steps,
    /// Whether the step is proximal.
    pub implicit: bool,
    /// Whether an averaged hypothesis predicts.
    pub average: bool,
}

impl Setting {
    /// The learner's description; `examples` are those of all passes.
    pub fn config(&self, problem: &Problem, budget: &str, examples: u64) -> String {
        let Setting { gamma, lambda, implicit, .. } = self;
        let step = match self.steps {
            Steps::Pegasos => "pegasos".into(),
            Steps::Linear(eta) => format!("linear:eta={eta},horizon={examples}"),
            Steps::Constant(eta) => format!("constant:{eta}"),
        };
        let average = if self.average { format!("exponential:{RATE}") } else { "none".into() };
        format!(
            "{}\nkernel = 'gaussian:{gamma}'\nlambda = {lambda:e}\nstep = '{step}'\nimplicit = {implicit}\naverage = '{average}'\nbudget = '{budget}'",
            problem.loss
        )
    }
}

/// Whose method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Pegasos' steps and nothing else.
    Bsgd,
    /// All that okl has.
    Okl,
}

/// The number of terms and passes for which a setting is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// As many as in the first column of the paper.
    Few,
    /// As many as in the last one.
    Many,
    /// No limit.
    All,
    /// No limit, and several passes.
    Passes,
}

impl Room {
    /// One pass, from the narrowest.
    pub const ONE_PASS: [Room; 3] = [Room::Few, Room::Many, Room::All];

    /// The terms; none without a limit.
    pub fn terms(self, context: &Context) -> Option<usize> {
        match self {
            Room::Few => Some(context.sized(100, 20)),
            Room::Many => Some(context.sized(500, 60)),
            Room::All | Room::Passes => None,
        }
    }

    /// Passes over the training set.
    pub fn passes(self) -> u64 {
        if self == Room::Passes { PASSES } else { 1 }
    }

    /// As it is typed.
    pub fn budget(self, context: &Context) -> String {
        self.terms(context).map_or("unlimited".into(), |terms| format!("merge:{terms}"))
    }
}
