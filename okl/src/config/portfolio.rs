//! The members of a bank: the kernels, losses, step sizes, regularisers, widths and averages that learn in parallel where they
//! are not given.

use crate::config::kernel_rule::WIDTHS;
use crate::config::{Anchor, Choice, Config, Form, Gamma, Heads, KernelRule, OperatorRule, Scale};
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
    /// The steps of its offset are this many times those of f.
    pub offset_step: f64,
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
    /// As in [`Member::offset_step`].
    pub offset_step: f64,
}

/// A step and a regulariser, the hypothesis that speaks, and an average that speaks beside it.
#[derive(Clone)]
struct Candidate {
    step: AnyStep,
    lambda: f64,
    average: Average,
    beside: Option<Average>,
    /// The steps of the offset are this many times those of f, where heads are varied; elsewhere 1.
    offset_step: f64,
}

/// The settings of a bank if neither step nor lambda is given. Averages: rate 0.001 for the decaying step, 0.01 for the large
/// constant one, none for the small constant one.
const CANDIDATES: [Candidate; 3] = [DECAYING, CONSTANT, SMALL];

/// A large constant step and its average.
const CONSTANT: Candidate = Candidate {
    step: AnyStep::Constant { eta: 2.0 },
    lambda: 1e-5,
    average: Average::None,
    beside: Some(Average::Exponential { rate: 0.01 }),
    offset_step: 1.0,
};

/// A decaying step and its average.
const DECAYING: Candidate = Candidate {
    step: AnyStep::Decay { eta: 2.0, tau: 1000.0 },
    lambda: 1e-5,
    average: Average::None,
    beside: Some(Average::Exponential { rate: 0.001 }),
    offset_step: 1.0,
};

/// A small constant step.
const SMALL: Candidate =
    Candidate { step: AnyStep::Constant { eta: 0.2 }, lambda: 1e-3, average: Average::None, beside: None, offset_step: 1.0 };

/// A decaying step of which only the average speaks.
const STEADY: Candidate = Candidate {
    step: AnyStep::Decay { eta: 2.0, tau: 1000.0 },
    lambda: 1e-5,
    average: Average::Exponential { rate: 0.001 },
    beside: None,
    offset_step: 0.1,
};

/// A large constant step and its average. A proximal step corrects the score of its row; with an offset that takes the same steps,
/// half of every correction would go to all other rows.
const LARGE: Candidate = Candidate {
    step: AnyStep::Constant { eta: 20.0 },
    lambda: 1e-6,
    average: Average::None,
    beside: Some(Average::Exponential { rate: 0.01 }),
    offset_step: 0.0,
};

/// The heads that share a kernel and a width in the bank of `kernel = auto`: under the first loss, and under each further one.
struct Plane {
    first: &'static [Candidate],
    further: &'static [Candidate],
    /// Under the first loss, where heads are varied and the loss has decisions.
    decides: &'static [Candidate],
}

/// A large constant step without an average, for a further loss.
const LARGE_ALONE: Candidate = Candidate { beside: None, ..LARGE };

/// A large decaying step and its average, for a further loss.
const LARGE_DECAYING: Candidate = Candidate {
    step: AnyStep::Decay { eta: 10.0, tau: 1000.0 },
    lambda: 1e-6,
    average: Average::None,
    beside: Some(Average::Exponential { rate: 0.001 }),
    offset_step: 0.1,
};

/// A head that forgets: f has lost two thirds of what it was after 1,000 examples. It is for classes whose regions move.
const FORGETTING: Candidate =
    Candidate { step: AnyStep::Constant { eta: 1.0 }, lambda: 1e-3, average: Average::None, beside: None, offset_step: 0.0 };

/// The bank of `kernel = auto`, chosen from the recorded scores of many voices on 82 streams: 4 planes, 11 heads, 16 voices with two
/// losses; one more of each where heads are varied and there are classes. In the order of [`AUTOMATIC`] and of its widths.
const SELECTED: [Plane; 4] = [
    // gaussian, width 1, 4 and 1/4 in units of the median heuristic
    Plane { first: &[STEADY, LARGE], further: &[LARGE_ALONE], decides: &[] },
    Plane { first: &[STEADY, LARGE, SMALL], further: &[LARGE_DECAYING], decides: &[] },
    Plane { first: &[STEADY, LARGE], further: &[], decides: &[] },
    // matern32, width 16
    Plane { first: &[STEADY, LARGE], further: &[], decides: &[FORGETTING] },
];

/// The same where heads are weighted: 5 planes. For each plane: whether it reads weighted columns. A plane that reads columns as they
/// are does not lose anything when other columns begin to matter.
const WEIGHTED: [(Plane, bool); 5] = [
    // gaussian, width 1, 4 and 1/4
    (Plane { first: &[STEADY, LARGE], further: &[LARGE_ALONE], decides: &[] }, true),
    (Plane { first: &[STEADY, LARGE, SMALL], further: &[LARGE_DECAYING], decides: &[] }, true),
    (Plane { first: &[STEADY, LARGE], further: &[], decides: &[] }, false),
    // gaussian, width 1/16: with weights, narrow kernels lead at first, so that no wider one comes in by itself
    (Plane { first: &[STEADY, LARGE], further: &[], decides: &[] }, false),
    // matern32, width 16
    (Plane { first: &[STEADY, LARGE], further: &[], decides: &[FORGETTING] }, true),
];

/// The same where heads are broad: 6 planes. A kernel of the Manhattan distance is a product over the columns, so it suits functions that change at
/// thresholds of single columns, as trees have them.
const BROAD: [(Plane, bool); 6] = {
    let [one, four, quarter, sixteenth, matern] = WEIGHTED;
    [one, four, quarter, sixteenth, matern, (Plane { first: &[STEADY, LARGE], further: &[LARGE_DECAYING], decides: &[] }, true)]
};

/// The planes of the widest Gaussian kernel and of the kernel of the Manhattan distance, where heads are broad.
const SIXTEENTH: usize = 3;
const MANHATTAN: usize = 5;

/// The share of a voice under a further loss, where one under the first loss has 1: with equal shares they cost mistakes at the
/// start of short streams.
const FURTHER_SHARE: f64 = 0.3;

/// The weight vectors beside the weighted heads, under every loss. A proximal step of size 1 / |x|² already corrects the score of its row,
/// so noisy streams need steps far smaller than heads over terms do.
const LINEAR: [Candidate; 5] = [
    DECAYING,
    CONSTANT,
    Candidate {
        step: AnyStep::Constant { eta: 0.2 },
        lambda: 1e-5,
        average: Average::None,
        beside: Some(Average::Exponential { rate: 0.001 }),
        offset_step: 1.0,
    },
    Candidate { step: AnyStep::Constant { eta: 0.02 }, ..NOT_AVERAGED },
    Candidate { step: AnyStep::Constant { eta: 0.005 }, ..NOT_AVERAGED },
];

/// A weight vector of which the last hypothesis alone speaks.
const NOT_AVERAGED: Candidate =
    Candidate { step: AnyStep::Constant { eta: 0.02 }, lambda: 1e-5, average: Average::None, beside: None, offset_step: 1.0 };

/// The share of a weight vector, where a head over terms has 1. With larger ones, weight vectors cost mistakes on streams of few mistakes.
const LINEAR_SHARE: f64 = 0.1;

/// The kernels of `kernel = auto` in a bank, and (the first one) elsewhere. Of the families that are worth a second place, the
/// Matern kernel loses least where the Gaussian is better.
static AUTOMATIC: [KernelRule; 2] =
    [KernelRule::Gaussian { gamma: Gamma::Auto }, KernelRule::Matern32 { gamma: Gamma::Times(16.0) }];

/// The kernels of `kernel = auto` where heads are weighted.
static AUTOMATIC_WEIGHTED: [KernelRule; 3] = [
    KernelRule::Gaussian { gamma: Gamma::Auto },
    KernelRule::Gaussian { gamma: Gamma::Times(1.0 / 16.0) },
    KernelRule::Matern32 { gamma: Gamma::Times(16.0) },
];

/// The kernels of `kernel = auto` where heads are broad.
static AUTOMATIC_BROAD: [KernelRule; 4] = [
    KernelRule::Gaussian { gamma: Gamma::Auto },
    KernelRule::Gaussian { gamma: Gamma::Times(1.0 / 16.0) },
    KernelRule::Matern32 { gamma: Gamma::Times(16.0) },
    KernelRule::Manhattan { gamma: Gamma::Times(16.0) },
];

/// For novelty, gamma is this multiple of the median heuristic: a narrow kernel, because near neighbours decide what is novel.
const NOVEL: f64 = 4.0;

/// The default of a density: f is an exponential mean over about this many rows. Of 300, 1,000 and 3,000 rows, 300 is better where the
/// stream moves, and 1,000 by little on sets.
const REMEMBERED: f64 = 500.0;

/// The regularisers of a bank whose step is given.
const LAMBDAS: [f64; 3] = [1e-5, 1e-3, 1e-2];

impl Config {
    /// Whether f is a kernel density, whose threshold is always tracked.
    pub(crate) fn is_density(&self) -> bool {
        matches!(*self.loss, AnyLoss::Density { .. })
    }

    /// Whether `gamma = auto` is found by coverage (`coverage.rs`): for a density of kernels of distance.
    pub(crate) fn covers(&self) -> bool {
        self.is_density() && self.can_merge()
    }

    /// Whether `scale = auto` is `whiten`: for a density whose width is found by coverage. A given width is in the units of the columns.
    ///
    /// ```
    /// # use okl::Config;
    /// assert!(Config::from_toml("loss = 'density'")?.whitens_by_default());
    /// assert!(!Config::from_toml("loss = 'density'\nkernel = 'gaussian:0.5'")?.whitens_by_default());
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn whitens_by_default(&self) -> bool {
        self.covers() && self.can_whiten() && self.needs_scale() && !self.rules().any(KernelRule::gives_gamma)
    }

    /// Whether rows are whitened, by a triangle that is found or given.
    pub(crate) fn scale_whitens(&self) -> bool {
        matches!(&self.scale, Scale::Whiten) || matches!(&self.scale, Scale::Fixed { whiten, .. } if !whiten.is_empty())
    }

    /// Whether several settings can learn in parallel. A threshold, tube or scale that adapts belongs to one function, and some
    /// budgets belong to one step.
    pub(crate) fn banks(&self) -> bool {
        let tied = matches!(self.budget, Some(BudgetRule::Olok { .. } | BudgetRule::Forgetron { .. }));
        self.loss.theta().is_none() && self.loss.reads() != Reads::Nothing && !tied
    }

    /// The kernels that `kernel = auto` stands for.
    pub(super) fn automatic_kernels(&self) -> &'static [KernelRule] {
        if self.banks() && self.operator.is_none() { self.selected_kernels() } else { &AUTOMATIC[..1] }
    }

    /// The kernels of the selected heads.
    fn selected_kernels(&self) -> &'static [KernelRule] {
        match (self.can_weigh(), self.heads.given()) {
            (true, None | Some(Heads::Broad)) => &AUTOMATIC_BROAD,
            (true, _) => &AUTOMATIC_WEIGHTED,
            (false, _) => &AUTOMATIC,
        }
    }

    /// Whether the heads of `kernel = auto` may be the weighted ones. Rows are dense: with `anchor = none` zero means absence, and with
    /// `scale = none` columns are to stay as they are. Quantiles have weighted heads only if asked: with weights the quantile 0.9 of
    /// `benchmarks/relevance.md` covers 84 % instead of 89 %.
    fn can_weigh(&self) -> bool {
        let quantile = self.loss.all().iter().any(|loss| matches!(loss, AnyLoss::Quantile { .. }));
        let wanted = match self.heads {
            Choice::Given(heads) => matches!(heads, Heads::Weighted | Heads::Mixed | Heads::Broad),
            Choice::Auto => !quantile,
        };
        let terms = matches!(self.form, Choice::Auto | Choice::Given(Form::Terms));
        let columns = self.anchor == Anchor::First && self.scale != Scale::None;
        wanted && terms && columns && self.operator.is_none() && self.chooses_steps() && self.proximal()
    }

    /// Whether the selected heads are weighted.
    pub(crate) fn weighs(&self) -> bool {
        self.selects() && self.can_weigh()
    }

    /// Whether weight vectors learn beside the selected heads.
    pub(crate) fn mixes(&self) -> bool {
        self.weighs() && self.heads != Choice::Given(Heads::Weighted)
    }

    /// Whether a kernel of the Manhattan distance is among those of the selected heads.
    pub(crate) fn is_broad(&self) -> bool {
        self.weighs() && self.heads.given().is_none_or(|heads| *heads == Heads::Broad)
    }

    /// Whether the head with the large step of a plane stays after the first examples, whatever its share. The widest Gaussian kernel and that
    /// of the Manhattan distance have to earn their places.
    pub(crate) fn keeps_large_step(&self, plane: usize) -> bool {
        !self.is_broad() || !matches!(plane, SIXTEENTH | MANHATTAN)
    }

    /// For each plane of the weighted heads: its heads, and whether it reads weighted columns.
    fn weighted_table(&self) -> &'static [(Plane, bool)] {
        if self.is_broad() { &BROAD } else { &WEIGHTED }
    }

    /// The weight vectors that learn beside the selected heads. Their number of a kernel is one more than that of the last kernel.
    pub(crate) fn linear_heads(&self) -> Vec<HeadRule> {
        if !self.mixes() {
            return Vec::new();
        }
        let width = self.widths();
        let of_loss =
            |loss: usize| self.fitted(&LINEAR, loss).into_iter().map(move |candidate| self.head_rule(candidate, width, loss));
        (0..self.loss.all().len()).flat_map(of_loss).collect()
    }

    /// Whether a member is a weight vector beside the terms.
    pub fn is_weight_vector(&self, member: &Member) -> bool {
        member.width == self.widths()
    }

    /// For each kernel and width, whether it reads weighted columns, if there are weights.
    pub(crate) fn weighted_planes(&self) -> Vec<bool> {
        match self.weighs() {
            true => self.weighted_table().iter().map(|(_, weighted)| *weighted).collect(),
            false => vec![true; self.kernels().len()],
        }
    }

    /// Whether the bank has the selected heads of `kernel = auto`. Their large step is for proximal steps.
    ///
    /// ```
    /// # use okl::Config;
    /// assert!(Config::from_toml("kernel = 'auto'")?.selects());
    /// assert!(!Config::from_toml("kernel = 'auto'\nstep = 'constant:0.5'")?.selects());
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn selects(&self) -> bool {
        let wanted = self.heads.given().map_or(self.kernel == Choice::Auto, |heads| *heads != Heads::Grid);
        let shape_of = |k: &KernelRule| (k.is_gaussian(), k.reads_manhattan(), k.widths());
        let shape = || self.kernel_rules().iter().map(shape_of).eq(self.selected_kernels().iter().map(shape_of));
        wanted && self.chooses_steps() && self.proximal() && self.operator.is_none() && shape()
    }

    /// Whether the selected heads are varied: each has its own step of the offset, and where there are classes one forgets.
    pub(crate) fn varies(&self) -> bool {
        self.selects() && self.heads != Choice::Given(Heads::Selected)
    }

    /// Whether the bank has a head that forgets.
    pub(crate) fn forgets(&self) -> bool {
        self.varies() && matches!(self.loss.reads(), Reads::Sign | Reads::Class)
    }

    /// Whether several step sizes are learned in parallel.
    pub(crate) fn chooses_steps(&self) -> bool {
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
        let voices = |HeadRule { step, lambda, width, loss, average, beside, offset_step }| {
            let voice = move |average| Member { step: AnyStep::clone(&step), lambda, width, loss, average, offset_step };
            std::iter::once(average).chain(beside).map(voice)
        };
        self.heads().into_iter().chain(self.linear_heads()).flat_map(voices).collect()
    }

    /// The heads: kernel by kernel, width by width, loss by loss.
    pub(crate) fn heads(&self) -> Vec<HeadRule> {
        let of_loss = |width: usize, loss: usize| {
            let candidates = if self.selects() { self.selected(width, loss) } else { self.candidates(loss) };
            candidates.into_iter().map(move |candidate| self.head_rule(candidate, width, loss))
        };
        let of_width = |width| (0..self.loss.all().len()).flat_map(move |loss| of_loss(width, loss));
        (0..self.widths()).flat_map(of_width).collect()
    }

    fn head_rule(&self, candidate: Candidate, width: usize, loss: usize) -> HeadRule {
        let Candidate { step, lambda, average, beside, offset_step } = candidate;
        let offset_step = self.offset_step.unwrap_or(if self.varies() { offset_step } else { 1.0 });
        HeadRule { step, lambda, width, loss, average, beside, offset_step }
    }

    /// The heads of the bank of `kernel = auto` that have this kernel and this loss.
    fn selected(&self, width: usize, loss: usize) -> Vec<Candidate> {
        let Plane { first, further, decides } = if self.weighs() { &self.weighted_table()[width].0 } else { &SELECTED[width] };
        let mut candidates = self.fitted(if loss == 0 { first } else { further }, loss);
        if loss == 0 && self.forgets() {
            candidates.extend(self.fitted(decides, loss));
        }
        candidates
    }

    /// The relative share of each voice in the bank of `kernel = auto`.
    pub(crate) fn selected_shares(&self) -> Vec<f64> {
        let share = |member: &Member| match member.loss {
            _ if self.is_weight_vector(member) => LINEAR_SHARE,
            0 => 1.0,
            _ => FURTHER_SHARE,
        };
        self.members().iter().map(share).collect()
    }

    /// Candidates of a bank that chooses its steps, as far as nothing else is given: with a step that suits the loss, the given
    /// lambda, and the given average in place of their own.
    fn fitted(&self, candidates: &[Candidate], loss: usize) -> Vec<Candidate> {
        let fit = |Candidate { step, lambda, average, beside, offset_step }: &Candidate| Candidate {
            step: self.safe(step, &self.loss.all()[loss]),
            lambda: *self.lambda.given().unwrap_or(lambda),
            average: *self.average.given().unwrap_or(average),
            beside: beside.filter(|_| self.average == Choice::Auto),
            offset_step: *offset_step,
        };
        candidates.iter().map(fit).collect()
    }

    /// The step sizes and regularisers that learn in parallel under a loss.
    fn candidates(&self, loss: usize) -> Vec<Candidate> {
        let average = self.average.given().copied().unwrap_or(Average::None);
        let alone =
            |step: &AnyStep, lambda: f64| Candidate { step: step.clone(), lambda, average, beside: None, offset_step: 1.0 };
        if !self.banks() {
            let (step, lambda) = self.plain_pair();
            return vec![alone(self.step.given().unwrap_or(&step), *self.lambda.given().unwrap_or(&lambda))];
        }
        match (&self.step, &self.lambda) {
            (Choice::Given(step), Choice::Given(lambda)) => vec![alone(step, *lambda)],
            (Choice::Auto, _) => self.fitted(&CANDIDATES, loss),
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
            _ if self.is_density() => (AnyStep::Constant { eta: 1.0 / REMEMBERED }, 1.0),
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

    /// Whether steps are proximal: if `implicit` is set, and in a bank that chooses its steps wherever the loss has proximal steps.
    ///
    /// ```
    /// # use okl::Config;
    /// assert!(Config::from_toml("loss = 'hinge'")?.proximal());
    /// assert!(!Config::from_toml("loss = 'hinge'\nstep = 'constant:0.1'\nlambda = 0.01")?.proximal());
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn proximal(&self) -> bool {
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
            budget: (!self.uses_weights()).then(|| self.budget()),
            memory: None,
            warmup_passes: None,
            average: member.average.into(),
            loss: self.loss.all()[member.loss].clone().into(),
            widths: Choice::Auto,
            heads: Choice::Auto,
            relevance: self.relevance.clone(),
            offset_step: Some(member.offset_step).filter(|step| self.offset && *step != 1.0),
            ..self.clone()
        };
        if self.is_weight_vector(member) {
            config.kernel = KernelRule::Linear {}.into();
            config.form = Form::Weights.into();
            config.budget = None;
            config.relevance.clear();
            return config;
        }
        if !self.weighted_planes()[member.width] {
            config.relevance.clear();
        }
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
