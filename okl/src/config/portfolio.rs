//! The members of a bank: the kernels, losses, step sizes, regularisers, widths and averages that learn in parallel where they
//! are not given.

use crate::config::kernel_rule::WIDTHS;
use crate::config::{Choice, Config, Gamma, KernelRule, OperatorRule};
use crate::engine::head::Average;
use crate::learner::scaling::FEW_COLUMNS;
use crate::parts::budget::BudgetRule;
use crate::parts::kernel::AnyKernel;
use crate::parts::loss::{AnyLoss, Loss, Reads};
use crate::parts::regulariser::AnyRegulariser;
use crate::parts::step::AnyStep;

/// The settings of one voice of a learner.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its step size.
    pub step: AnyStep,
    /// Its regulariser.
    pub lambda: f64,
    /// The number of its kernel, counted over all kernels of the configuration and all widths of each.
    pub width: usize,
    /// The number of its loss in [`Config::loss`].
    pub loss: usize,
    /// The hypothesis that predicts: the last one or an average.
    pub average: Average,
}

/// One head of a learner, and which of its hypotheses are voices.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HeadRule {
    pub step: AnyStep,
    pub lambda: f64,
    /// The number of its kernel, as in [`Member::width`].
    pub width: usize,
    /// The number of its loss.
    pub loss: usize,
    /// The hypothesis of its first voice.
    pub average: Average,
    /// The average of its second voice, if there is one.
    pub beside: Option<Average>,
}

/// A step and a regulariser, and the average of the second voice.
#[derive(Clone)]
struct Candidate {
    step: AnyStep,
    lambda: f64,
    beside: Option<Average>,
}

/// The settings of a bank if neither step nor lambda is given. Averages: rate 0.001 for the decaying step, 0.01 for the large
/// constant one, none for the small constant one.
const CANDIDATES: [Candidate; 3] = [
    Candidate {
        step: AnyStep::Decay { eta: 2.0, tau: 1000.0 },
        lambda: 1e-5,
        beside: Some(Average::Exponential { rate: 0.001 }),
    },
    Candidate { step: AnyStep::Constant { eta: 2.0 }, lambda: 1e-5, beside: Some(Average::Exponential { rate: 0.01 }) },
    Candidate { step: AnyStep::Constant { eta: 0.2 }, lambda: 1e-3, beside: None },
];

/// The kernels of `kernel = auto`.
static AUTOMATIC: [KernelRule; 1] = [KernelRule::Gaussian { gamma: Gamma::Auto }];

/// For novelty, gamma is this multiple of the median heuristic: a narrow kernel, because near neighbours decide what is novel.
const NOVEL: f64 = 4.0;

/// The regularisers of a bank whose step is given.
const LAMBDAS: [f64; 3] = [1e-5, 1e-3, 1e-2];

impl Config {
    /// Whether several settings can learn in parallel. A threshold, tube or scale that adapts belongs to one function, and some
    /// budgets belong to one step.
    pub(crate) fn banks(&self) -> bool {
        let tied = matches!(self.budget, Some(BudgetRule::Olok { .. } | BudgetRule::Forgetron { .. }));
        self.loss.theta().is_none() && self.loss.reads() != Reads::Nothing && !tied
    }

    /// The kernels that `kernel = auto` stands for.
    pub(super) fn automatic_kernels(&self) -> &'static [KernelRule] {
        &AUTOMATIC
    }

    /// Whether several step sizes are learned in parallel.
    fn chooses_steps(&self) -> bool {
        self.step == Choice::Auto && self.banks()
    }

    /// The voices of the learner: one if step, lambda and width are given, otherwise a bank over the settings that are not given. The
    /// voices of one head are adjacent.
    ///
    /// ```
    /// # use okl::Config;
    /// assert!(Config::default().members().len() > 1);
    /// let config = Config::from_toml("kernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'")?;
    /// assert_eq!(config.members().len(), 1);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn members(&self) -> Vec<Member> {
        let voices = |HeadRule { step, lambda, width, loss, average, beside }| {
            let voice = move |average| Member { step: AnyStep::clone(&step), lambda, width, loss, average };
            std::iter::once(average).chain(beside).map(voice)
        };
        self.heads().into_iter().flat_map(voices).collect()
    }

    /// The heads: kernel by kernel, width by width, loss by loss.
    pub(crate) fn heads(&self) -> Vec<HeadRule> {
        let average = self.average.given().copied().unwrap_or(Average::None);
        let candidates: Vec<Vec<Candidate>> = self.loss.all().iter().map(|loss| self.candidates(loss)).collect();
        let of_loss = |width, loss: usize| {
            let head = move |Candidate { step, lambda, beside }| HeadRule { step, lambda, width, loss, average, beside };
            candidates[loss].iter().cloned().map(head)
        };
        let of_width = |width| (0..candidates.len()).flat_map(move |loss| of_loss(width, loss));
        (0..self.widths()).flat_map(of_width).collect()
    }

    /// The step sizes and regularisers that learn in parallel under a loss.
    fn candidates(&self, loss: &AnyLoss) -> Vec<Candidate> {
        let alone = |step: &AnyStep, lambda: f64| Candidate { step: step.clone(), lambda, beside: None };
        if !self.banks() {
            let (step, lambda) = self.plain_pair();
            return vec![alone(self.step.given().unwrap_or(&step), *self.lambda.given().unwrap_or(&lambda))];
        }
        match (&self.step, &self.lambda) {
            (Choice::Given(step), Choice::Given(lambda)) => vec![alone(step, *lambda)],
            (Choice::Auto, lambda) => {
                let fitted = |Candidate { step, lambda: usual, beside }: &Candidate| Candidate {
                    step: self.safe(step, loss),
                    lambda: *lambda.given().unwrap_or(usual),
                    beside: beside.filter(|_| self.average == Choice::Auto),
                };
                CANDIDATES.iter().map(fitted).collect()
            }
            (Choice::Given(step), Choice::Auto) => {
                let square = self.regulariser == AnyRegulariser::Square && !self.implicit && !self.allow_overshoot;
                let possible = |l: &&f64| **l == LAMBDAS[0] || !square || step.largest(**l) * **l < 1.0;
                LAMBDAS.iter().filter(possible).map(|lambda| alone(step, *lambda)).collect()
            }
        }
    }

    /// The step of a bank. A proximal step never overshoots. An explicit one does under a loss with unbounded gradients, and then f
    /// grows without bound: in this case it is normalised.
    fn safe(&self, step: &AnyStep, loss: &AnyLoss) -> AnyStep {
        match *step {
            _ if self.proximal() || loss.lipschitz().is_some() => step.clone(),
            AnyStep::Constant { eta } => AnyStep::Normalised { eta, tau: None },
            AnyStep::Decay { eta, tau } => AnyStep::Normalised { eta, tau: Some(tau) },
            _ => step.clone(),
        }
    }

    /// The defaults of step and lambda for learners without a bank.
    fn plain_pair(&self) -> (AnyStep, f64) {
        match self.budget() {
            BudgetRule::Forgetron { .. } => (AnyStep::Constant { eta: 1.0 }, 0.0),
            // With nu, the threshold adapts to lambda. Without nu the margin is fixed, so a large lambda would cause alerts.
            _ if self.loss.nu().is_none() && self.loss.reads() == Reads::Nothing => (AnyStep::Constant { eta: 0.1 }, 1e-3),
            _ if self.loss.reads() == Reads::Nothing => (AnyStep::Constant { eta: 0.1 }, 0.1),
            _ => (AnyStep::InverseSqrt { eta: 0.5 }, 1e-3),
        }
    }

    /// The automatic widths as multiples of the median heuristic; `columns`: the number of columns that vary.
    pub(crate) fn width_factors(&self, columns: usize) -> Vec<f64> {
        // With few columns, f can vary more between two rows, so the kernel is narrower.
        let narrow = (FEW_COLUMNS as f64 / columns.max(1) as f64).max(1.0);
        match self.loss.reads() {
            Reads::Nothing => vec![NOVEL],
            _ if self.banks() => WIDTHS.map(|factor| narrow * factor).to_vec(),
            _ => vec![narrow],
        }
    }

    /// Whether steps are proximal.
    pub(crate) fn proximal(&self) -> bool {
        self.implicit || (self.chooses_steps() && self.check_implicit().is_ok())
    }

    /// Whether the offset starts at the median of the first targets, if there is a warm-up. With a given step it starts at zero,
    /// as in the papers.
    pub(crate) fn starts_in_the_middle(&self) -> bool {
        let numbers = matches!(self.loss.reads(), Reads::Number | Reads::Vector);
        self.offset && numbers && self.chooses_steps()
    }

    /// The number of kernels that learn in parallel: for each kernel of a list, its widths.
    fn widths(&self) -> usize {
        let widths = self.rules().map(KernelRule::widths);
        match self.operator {
            _ if !self.banks() => 1,
            Some(OperatorRule::Sum(_)) => widths.max().unwrap_or(1),
            _ => widths.sum(),
        }
    }

    /// The kernel of a list that has this number, and the number of its width.
    fn kernel_of(&self, mut width: usize) -> (&KernelRule, usize) {
        let (last, others) = self.kernel_rules().split_last().expect("there is at least one kernel");
        for rule in others {
            match width.checked_sub(rule.widths()) {
                Some(rest) => width = rest,
                None => return (rule, width),
            }
        }
        (last, width)
    }

    /// Kernel values per pair of points and width.
    pub(crate) fn planes(&self) -> usize {
        if let Some(OperatorRule::Sum(parts)) = &self.operator { parts.len() } else { 1 }
    }

    /// The kernels of every plane, width by width.
    pub(crate) fn kernels(&self) -> Vec<AnyKernel> {
        let of_list = |width| {
            let (rule, width) = self.kernel_of(width);
            rule.kernel(width)
        };
        match &self.operator {
            Some(OperatorRule::Sum(parts)) => {
                (0..self.widths()).flat_map(|width| parts.iter().map(move |part| part.kernel.kernel(width))).collect()
            }
            _ => (0..self.widths()).map(of_list).collect(),
        }
    }

    /// The configuration of one member, with all settings given.
    ///
    /// ```
    /// # use okl::Config;
    /// let bank = Config::from_toml("kernel = 'gaussian:0.5'")?;
    /// let plain = bank.frozen(&bank.members()[0]);
    /// assert_eq!(plain.members().len(), 1);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn frozen(&self, member: &Member) -> Config {
        let mut config = Config {
            step: member.step.clone().into(),
            lambda: member.lambda.into(),
            implicit: self.proximal(),
            budget: Some(self.budget()),
            average: member.average.into(),
            loss: self.loss.all()[member.loss].clone().into(),
            ..self.clone()
        };
        match &mut config.operator {
            Some(OperatorRule::Sum(parts)) => {
                parts.iter_mut().for_each(|part| part.kernel = part.kernel.with_width(member.width))
            }
            _ => {
                let (rule, width) = self.kernel_of(member.width);
                config.kernel = rule.with_width(width).into();
            }
        }
        config
    }
}
