//! Builds a learner with f = 0 from a configuration.

use crate::basis::Dense;
use crate::basis::either::{Functions, TermsOrWeights};
use crate::basis::fourier::{Draw, Fourier};
use crate::basis::given::Given;
use crate::basis::quadratic::Quadratic;
use crate::basis::vectors::Vectors;
use crate::certificate::Tracker;
use crate::config::{AUTO_MEMORY, Choice, Config, Form, HeadRule, Scale, Threshold};
use crate::engine::bank::{QUICK, QUICK_WITH_NUMBERS};
use crate::engine::head::{Average, HeadParts, Rules};
use crate::engine::{Engine, Parts};
use crate::error::{Error, Result};
use crate::gram::Backend;
use crate::learner::Learner;
use crate::learner::blur::Blur;
use crate::learner::check::Identity;
use crate::learner::class_weight::ClassCounts;
use crate::learner::classes::Classes;
use crate::learner::growth::Growth;
use crate::learner::health::Clipped;
use crate::learner::large_targets::LargeTargets;
use crate::learner::rounding::Rounding;
use crate::learner::row_weights::RowWeights;
use crate::learner::rows::FramedRows;
use crate::learner::scaling::Frame;
use crate::learner::target_level::TargetLevel;
use crate::learner::units::Units;
use crate::learner::warmup::WarmUp;
use crate::parts::budget::{AnyBudget, BudgetRule};
use crate::parts::kernel::AnyKernel;
use crate::parts::loss::{AnyLoss, Loss, Reads};
use crate::parts::output::Output;
use crate::parts::step::AnyStep;

/// How often a bank that chooses its steps learns the examples of the warm-up. The error on streams of about 1,500 examples falls by a
/// sixth from 1 to 5 passes, and by little more after that.
const WARMUP_PASSES: usize = 5;

/// The engine with the built-in kernels, losses, step sizes and budgets.
pub(crate) type DenseEngine = Engine<TermsOrWeights<Vectors<AnyKernel>>, AnyLoss, AnyStep, AnyBudget>;

impl Learner {
    /// Checks the configuration and builds a learner with f = 0.
    ///
    /// ```
    /// # use okl::{Config, Learner};
    /// assert!(Learner::new(Config::from_toml("loss = 'hinge'\nlambda = 0\nstep = 'pegasos'")?).is_err());
    /// # Ok::<(), okl::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the configuration is refused (the error has the setting and the reason), or `OKL_BACKEND` names a backend that this
    /// machine lacks.
    pub fn new(mut config: Config) -> Result<Self> {
        config.check()?;
        if config.chooses_steps() && config.needs_warmup() && config.repeats() {
            config.warmup_passes.get_or_insert(WARMUP_PASSES);
        }
        if config.scale == Scale::Auto && config.whitens_by_default() {
            config.scale = Scale::Whiten;
        }
        Self::build(config)
    }

    /// Builds the learner of a configuration that was checked.
    pub(crate) fn build(mut config: Config) -> Result<Self> {
        if config.is_density() && config.threshold == Threshold::Norma {
            config.threshold = Threshold::Tracker { speed: None };
        }
        if matches!(config.threshold, Threshold::Tracker { .. }) && !config.is_density() && config.average == Choice::Auto {
            config.average = Average::Exponential { rate: 1e-3 }.into();
        }
        if config.average == Choice::Auto && config.heads().iter().all(|head| head.beside.is_none()) {
            config.average = Average::None.into();
        }
        if config.scale == Scale::Auto && !config.needs_scale() {
            config.scale = Scale::None;
        }
        if config.budget.is_none() && config.memory.is_none() && config.can_grow() {
            config.memory = Some(AUTO_MEMORY);
        }
        match config.uses_weights() {
            true if config.form == Choice::Auto => config.form = Form::Weights.into(),
            true => {}
            false => config.budget = Some(config.budget()),
        }
        config.settle_kernel();
        let growth = config.memory.and_then(|_| config.budget().capacity()).map(Growth::new);
        let frame = Frame::of(&config.scale).unwrap_or_default();
        let features = frame.shift.len();
        let engine = build_engine(&config, features)?;
        let units = config.units_follow().then(Units::default);
        let warm = config.needs_warmup().then(WarmUp::default);
        let classes = Classes::new(config.classes.as_deref(), config.loss.reads());
        let outputs_known = config.gives_outputs() || config.loss.reads() != Reads::Vector;
        Ok(Learner {
            config,
            engine,
            frame,
            warm,
            classes,
            counts: ClassCounts::default(),
            features,
            outputs_known,
            position: Vec::new(),
            clipped: Clipped::default(),
            rounding: Rounding::default(),
            large_targets: LargeTargets::default(),
            target_level: TargetLevel::default(),
            row_weights: RowWeights::default(),
            blur: Blur::default(),
            growth,
            units,
            weighed: [0; 2],
            frozen: [0; 3],
            threads: 1,
            pool: None,
            identity: Identity::default(),
            buffers: None,
            rows: FramedRows::default(),
            scores: Vec::new(),
            own_targets: Vec::new(),
            shares: Vec::new(),
        })
    }
}

fn space(config: &Config, features: usize, backend: Backend) -> Vectors<AnyKernel> {
    if config.is_precomputed() {
        return Vectors::Given(Given::new(config.kernels(), backend));
    }
    let mut dense = Dense::new(config.kernels(), features, backend);
    dense.narrow_blends = config.keeps_zeros();
    if config.units_follow() {
        dense.keep_unscaled();
    }
    if !config.relevance.is_empty() {
        dense.set_weights(&config.relevance, config.weighted_planes());
    }
    Vectors::Dense(dense)
}

fn functions(config: &Config, features: usize) -> Functions {
    match config.form {
        Choice::Given(Form::Fourier { size, seed, orthogonal }) => {
            Functions::Fourier(Fourier::new(Draw { size, seed, orthogonal }, &config.kernels(), features))
        }
        _ if config.uses_weights() => Quadratic::new(&config.kernels()[0]).map_or(Functions::Features, Functions::Quadratic),
        _ => Functions::Terms,
    }
}

pub(crate) fn build_engine(config: &Config, features: usize) -> Result<DenseEngine> {
    let backend = Backend::chosen().map_err(|reason| Error::config("OKL_BACKEND", reason))?;
    let output = config.output()?;
    let outputs = match (&output, config.loss.reads()) {
        (Output::Separable(js), _) => js[0].size(),
        (_, Reads::Class) => config.classes.as_ref().map_or(0, Vec::len),
        _ => config.target_scale.outputs().unwrap_or(1),
    };
    let rule = config.budget();
    let (heads, planes) = (config.heads(), config.planes());
    let eta_lambda = heads[0].lambda * heads[0].step.largest(heads[0].lambda);
    let head = |HeadRule { step, lambda, width, loss, average, beside, offset_step }| HeadParts {
        step,
        lambda,
        plane: width * planes,
        loss,
        average: beside.unwrap_or(average),
        both: beside.is_some(),
        offset_step,
    };
    let head_of_columns = |rule| HeadParts { plane: 0, ..head(rule) };
    let mut engine = Engine::new(Parts {
        basis: TermsOrWeights::new(space(config, features, backend), functions(config, features)),
        losses: config.loss.all().to_vec(),
        budget: AnyBudget::new(rule.clone(), eta_lambda),
        heads: heads.into_iter().map(head).collect(),
        output,
        outputs,
        theta0: config.theta0,
        rules: Rules {
            regulariser: config.regulariser,
            offset: config.offset,
            implicit: config.proximal(),
            allow_overshoot: config.allow_overshoot,
            shrink: config.shrink,
        },
    });
    if config.mixes() {
        engine.add_linear(config.linear_heads().into_iter().map(head_of_columns).collect(), features);
    }
    if let Some(bank) = engine.bank.as_mut().filter(|_| config.selects()) {
        let numbers = matches!(config.loss.reads(), Reads::Number | Reads::Vector);
        let pace = if numbers && config.is_broad() { QUICK_WITH_NUMBERS } else { QUICK };
        bank.begin_with(config.selected_shares(), pace);
    }
    if let Some(bank) = engine.bank.as_mut().filter(|_| config.follows() || config.selects()) {
        bank.keep_recent();
    }
    if let Threshold::Tracker { speed } = config.threshold {
        let scores = config.novelty_scores();
        engine.heads.iter_mut().for_each(|h| h.tracker = Some(Tracker::new(speed, config.warmup, scores)));
    }
    if let Some(terms) = rule.capacity().filter(|_| matches!(rule, BudgetRule::Window { .. })) {
        engine.heads.iter_mut().for_each(|h| h.f.reserve(terms.min(1 << 12)));
    }
    Ok(engine)
}
