//! Random configurations that [`Config::check`] accepts, and streams to learn: what exactness.rs and snapshots.rs run over.
//!
//! Every part is drawn on its own; [`accepted`] then changes as little as it can until the configuration is accepted, so
//! that rare parts (the Forgetron, OLOK, sums of operator kernels) are not rare here.
#![allow(dead_code)]

use okl::budget::BudgetRule;
use okl::config::{
    Anchor, Choice, ClassWeight, Form, Gamma, Heads, KernelRule, OneOrMore, OperatorPart, OperatorRule, Scale, Shrink,
    TargetScale, Threshold, Widths,
};
use okl::engine::head::Average;
use okl::loss::{AnyLoss, Loss, Reads, SigmaRule};
use okl::regulariser::AnyRegulariser;
use okl::step::{AnyStep, Per, Preset};
use okl::{Batch, Config, ErrorKind, Label, Targets};
use proptest::prelude::*;
use proptest::sample::select;

/// The number of cases of a property test: `usual` times `OKL_CASES`, which is 1 when not set (`make soak` sets 20, `make backends` 0.2).
pub fn count(usual: u32) -> u32 {
    let times = std::env::var("OKL_CASES").map_or(1.0, |text| text.parse::<f64>().expect("OKL_CASES is a number"));
    ((f64::from(usual) * times).round() as u32).max(1)
}

/// splitmix64.
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// Uniform on [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }

    pub fn often(&mut self, share: f64) -> bool {
        self.unit() < share
    }
}

/// Targets with an owner.
#[derive(Clone, Debug)]
pub enum Answers {
    None,
    Numbers(usize, Vec<f64>),
    Labels(Vec<Label>),
}

/// The values of rows that are not zero, and their columns; those of row i are at `starts[i]..starts[i + 1]`.
#[derive(Clone, Debug, Default)]
pub struct Sparse {
    starts: Vec<usize>,
    columns: Vec<u32>,
    singles: Vec<f32>,
    doubles: Vec<f64>,
}

impl Sparse {
    /// Every seventh zero is given, as some programs do.
    fn of(x: &[f32], doubles: &[f64], features: usize) -> Sparse {
        let mut sparse = Sparse { starts: vec![0], ..Sparse::default() };
        for (i, (&single, &double)) in x.iter().zip(doubles).enumerate() {
            if double != 0.0 || i % 7 == 3 {
                sparse.columns.push((i % features) as u32);
                sparse.singles.push(single);
                sparse.doubles.push(double);
            }
            if i % features == features - 1 {
                sparse.starts.push(sparse.columns.len());
            }
        }
        sparse
    }
}

/// Rows to learn, with what is known of them.
#[derive(Clone, Debug)]
pub struct Stream {
    pub features: usize,
    /// The same rows again, sparse.
    pub sparse: Sparse,
    pub x: Vec<f32>,
    /// The same rows in double precision; in half of the streams with digits that single precision does not have.
    pub doubles: Vec<f64>,
    pub answers: Answers,
    pub known: Option<Vec<bool>>,
    pub weights: Option<Vec<f64>>,
    pub ids: Option<Vec<u64>>,
}

impl Stream {
    pub fn rows(&self) -> usize {
        self.x.len() / self.features
    }

    /// Some rows with all that is known of them; in single precision if that is all there is, unless `double`.
    pub fn batch_as(&self, part: std::ops::Range<usize>, double: bool) -> Batch<'_> {
        self.labelled(self.unlabelled(part.clone(), double), part)
    }

    /// The same rows, sparse.
    pub fn sparse_batch(&self, part: std::ops::Range<usize>, double: bool) -> Batch<'_> {
        let (Sparse { starts, columns, singles, doubles }, features) = (&self.sparse, self.features);
        let starts = &starts[part.start..=part.end];
        let rows = match self.is_single() && !double {
            true => Batch::sparse(starts, columns, singles, features),
            false => Batch::sparse_f64(starts, columns, doubles, features),
        };
        self.labelled(rows, part)
    }

    pub fn labelled<'a>(&'a self, rows: Batch<'a>, part: std::ops::Range<usize>) -> Batch<'a> {
        let mut batch = rows.targets(match &self.answers {
            Answers::None => Targets::None,
            Answers::Numbers(width, y) => Targets::Numbers(&y[part.start * width..part.end * width]),
            Answers::Labels(labels) => Targets::Labels(&labels[part.clone()]),
        });
        if let Some(known) = &self.known {
            batch = batch.known(&known[part.clone()]);
        }
        if let Some(weights) = &self.weights {
            batch = batch.weights(&weights[part.clone()]);
        }
        if let Some(ids) = &self.ids {
            batch = batch.ids(&ids[part]);
        }
        batch
    }

    pub fn batch(&self, part: std::ops::Range<usize>) -> Batch<'_> {
        self.batch_as(part, false)
    }

    /// The rows alone.
    pub fn unlabelled(&self, part: std::ops::Range<usize>, double: bool) -> Batch<'_> {
        let cells = part.start * self.features..part.end * self.features;
        match self.is_single() && !double {
            true => Batch::new(&self.x[cells], self.features),
            false => Batch::of_f64(&self.doubles[cells], self.features),
        }
    }

    fn is_single(&self) -> bool {
        self.x.iter().zip(&self.doubles).all(|(&x, &double)| f64::from(x) == double)
    }

    /// Whether this row has no target or weight 0, so that it is only predicted.
    pub fn silent(&self, i: usize) -> bool {
        self.known.as_ref().is_some_and(|k| !k[i]) || self.weights.as_ref().is_some_and(|w| w[i] == 0.0)
    }

    /// The first `features` features of the rows before `rows`.
    pub fn narrow(&self, features: usize, rows: usize) -> Stream {
        fn first<T: Copy>(x: &[T], of: usize, features: usize, rows: usize) -> Vec<T> {
            x.chunks_exact(of).take(rows).flat_map(|row| row[..features].iter().copied()).collect()
        }
        let (x, doubles) = (first(&self.x, self.features, features, rows), first(&self.doubles, self.features, features, rows));
        Stream { features, sparse: Sparse::of(&x, &doubles, features), x, doubles, ..self.clone() }
    }
}

/// A configuration, a stream for it, and where it is cut, saved and widened.
#[derive(Clone)]
pub struct Case {
    pub shape: Shape,
    pub config: Config,
    pub stream: Stream,
    pub cuts: Vec<usize>,
    /// After so many rows: a save and a load.
    pub saved_at: usize,
    /// Before row `.1` only the first `.0` features are there.
    pub widened: Option<(usize, usize)>,
}

/// Enough to draw the case again, without its numbers.
impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Case { shape, cuts, saved_at, widened, .. } = self;
        write!(f, "{}\n{shape:?}, cuts {cuts:?}, saved at {saved_at}, widened {widened:?}", self.config.to_json())
    }
}

/// What a stream looks like, before it is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub rows: usize,
    pub features: usize,
    pub outputs: usize,
    pub masked: bool,
    pub weighted: bool,
    pub named: bool,
    pub widened: bool,
    pub texts: bool,
    pub seed: u64,
}

fn leaf() -> impl Strategy<Value = KernelRule> {
    let gamma = prop_oneof![2 => select(vec![Gamma::Value(0.3), Gamma::Value(1.7), Gamma::Several(vec![0.4, 1.1])]), 1 => Just(Gamma::Auto)];
    (gamma, 0..9usize).prop_map(|(gamma, which)| match which {
        0 => KernelRule::Linear {},
        1 => KernelRule::Polynomial { degree: 3, gamma: 0.5, coef0: 0.0 },
        2 => KernelRule::Polynomial { degree: 2, gamma: 0.3, coef0: 1.0 },
        3 => KernelRule::Gaussian { gamma },
        4 => KernelRule::Exponential { gamma },
        5 => KernelRule::Matern32 { gamma },
        6 => KernelRule::Matern52 { gamma },
        7 => KernelRule::Manhattan { gamma },
        _ => KernelRule::RationalQuadratic { gamma, alpha: 0.8 },
    })
}

/// A kernel as a part of a sum or product, where `manhattan` is refused.
fn part(kernel: KernelRule) -> KernelRule {
    match kernel {
        KernelRule::Manhattan { gamma } => KernelRule::Exponential { gamma },
        KernelRule::Scaled { weight, of } => KernelRule::Scaled { weight, of: Box::new(part(*of)) },
        other => other,
    }
}

fn kernel() -> impl Strategy<Value = KernelRule> {
    let compound = leaf().prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|k| KernelRule::Scaled { weight: 0.7, of: Box::new(k) }),
            prop::collection::vec(inner.clone().prop_map(part), 1..3).prop_map(KernelRule::Sum),
            prop::collection::vec(inner.prop_map(part), 1..3).prop_map(KernelRule::Product),
        ]
    });
    prop_oneof![leaf(), compound]
}

/// One kernel, or a list of kernels for the heads of a bank.
fn kernels() -> impl Strategy<Value = Choice<OneOrMore<KernelRule>>> {
    let several = prop::collection::vec(leaf(), 2..4).prop_map(|all| OneOrMore::of(all).expect("not empty").into());
    prop_oneof![8 => kernel().prop_map(Choice::from), 2 => several, 1 => Just(Choice::Auto)]
}

/// One loss, or a list of losses that read the same targets.
fn losses() -> impl Strategy<Value = OneOrMore<AnyLoss>> {
    use AnyLoss::*;
    let several = select(vec![
        vec![Hinge { margin: 1.0 }, Logistic {}],
        vec![Logistic {}, Perceptron {}, Hinge { margin: 0.5 }],
        vec![MaxMargin {}, Softmax {}],
        vec![Squared {}, Huber { sigma: 0.5 }],
        vec![Epsilon { epsilon: 0.1 }, Squared {}, Absolute {}],
        vec![Quantile { q: 0.7 }, Quantile { q: 0.2 }],
    ]);
    prop_oneof![4 => loss().prop_map(OneOrMore::from), 1 => several.prop_map(|all| OneOrMore::of(all).expect("not empty"))]
}

fn loss() -> impl Strategy<Value = AnyLoss> {
    use AnyLoss::*;
    select(vec![
        Hinge { margin: 1.0 },
        NuHinge { nu: 0.3 },
        Perceptron {},
        Logistic {},
        MaxMargin {},
        Softmax {},
        Novelty { margin: 0.8 },
        NuNovelty { nu: 0.2 },
        Density { nu: 0.2 },
        Squared {},
        Absolute {},
        Epsilon { epsilon: 0.1 },
        NuEpsilon { nu: 0.3 },
        Huber { sigma: 0.5 },
        NuHuber { nu: 0.3, sigma_rule: SigmaRule::Quantile },
        NuHuber { nu: 0.2, sigma_rule: SigmaRule::Concomitant },
        Quantile { q: 0.7 },
    ])
}

fn step() -> impl Strategy<Value = Choice<AnyStep>> {
    let smd = |floor, cap, preset| AnyStep::Smd { eta: 0.2, mu: 0.05, decay: 0.9, floor, cap, preset, per: None };
    let each = |mu, decay, preset| {
        let per = Some(Per::Coordinate);
        AnyStep::Smd { eta: 0.1, mu, decay, floor: None, cap: None, preset, per }
    };
    let given = select(vec![
        AnyStep::Constant { eta: 0.3 },
        AnyStep::InverseSqrt { eta: 0.5 },
        AnyStep::Theorem1 { bound: 1.0, radius: 1.5, horizon: 100 },
        AnyStep::Theorem2 {},
        AnyStep::Decay { eta: 0.5, tau: 20.0 },
        AnyStep::Linear { eta: 0.5, horizon: 30 },
        AnyStep::Pegasos { t0: 2.0 },
        AnyStep::Normalised { eta: 0.8, tau: None },
        AnyStep::Normalised { eta: 1.5, tau: Some(30.0) },
        smd(None, None, None),
        smd(Some(0.05), Some(0.4), None),
        smd(None, None, Some(Preset::Svmd2005)),
        each(0.05, 0.9, None),
        each(0.3, 0.0, None),
        each(0.05, 0.9, Some(Preset::Svmd2005)),
        AnyStep::Constant { eta: 30.0 },
    ]);
    prop_oneof![4 => given.prop_map(Choice::Given), 1 => Just(Choice::Auto)]
}

fn budget() -> impl Strategy<Value = Option<BudgetRule>> {
    use BudgetRule::*;
    (0..10usize, select(vec![2usize, 3, 9, 40])).prop_map(|(which, terms)| match which {
        0 => None,
        1 => Some(Unlimited {}),
        2 => Some(Window { terms }),
        3 => Some(Age { steps: 3 * terms as u64 }),
        4 => Some(Olok { exponent: 0.2 }),
        5 => Some(Weight { tolerance: 0.05 }),
        6 => Some(Certified { error: 0.4 }),
        7 => Some(Transfer { terms }),
        8 => Some(Merge { terms }),
        _ => Some(Forgetron { terms }),
    })
}

/// A positive semidefinite J; the second kind is singular.
fn matrix(size: usize, singular: bool) -> Vec<f64> {
    let entry = |i: usize, j: usize| if singular { 0.5 } else { 0.2 + f64::from(u8::from(i == j)) };
    (0..size).flat_map(|i| (0..size).map(move |j| entry(i, j))).collect()
}

type Parts = (Choice<OneOrMore<KernelRule>>, OneOrMore<AnyLoss>, Choice<AnyStep>, Option<BudgetRule>, KernelRule);
type Settings = (Choice<f64>, bool, bool, bool, AnyRegulariser, Choice<Average>, usize, bool);
type Frames = (usize, usize, bool, bool, usize);

fn parts() -> impl Strategy<Value = (Parts, Settings, Frames)> {
    let parts = (kernels(), losses(), step(), budget(), kernel());
    let regulariser = prop_oneof![
        5 => Just(AnyRegulariser::Square), 1 => Just(AnyRegulariser::Norm), 1 => Just(AnyRegulariser::Power { power: 3.0 }),
    ];
    let average = select(vec![
        Choice::Auto,
        Choice::Auto,
        Average::None.into(),
        Average::Uniform.into(),
        Average::Exponential { rate: 0.05 }.into(),
    ]);
    let settings = (
        select(vec![Choice::Auto, 0.0.into(), 1e-3.into(), 0.05.into()]),
        any::<bool>(),
        any::<bool>(),
        prop::bool::weighted(0.2),
        regulariser,
        average,
        0..5usize,
        prop::bool::weighted(0.25),
    );
    let frames = (0..7usize, select(vec![1usize, 3, 8, 21, 64]), any::<bool>(), any::<bool>(), 0..3usize);
    (parts, settings, frames)
}

fn shape(rows: std::ops::Range<usize>, features: std::ops::Range<usize>) -> impl Strategy<Value = Shape> {
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (rows, features, 1..4usize, flags, any::<u64>()).prop_map(|(rows, features, outputs, flags, seed)| {
        let (masked, weighted, named, widened, texts) = flags;
        Shape { rows, features, outputs, masked, weighted, named, widened, texts, seed }
    })
}

/// A configuration with everything drawn on its own, repaired until it is accepted.
fn config(((kernel, loss, step, budget, other), settings, frames): (Parts, Settings, Frames), shape: &Shape) -> Config {
    let (lambda, implicit, offset, allow_overshoot, regulariser, average, operator, on_update) = settings;
    let (scale, warmup, anchored, tracked, classes) = frames;
    let reads = loss.reads();
    let size = if matches!(reads, Reads::Vector | Reads::Class) { shape.outputs + usize::from(reads == Reads::Class) } else { 1 };
    let parts = vec![
        OperatorPart { kernel: first(&kernel), operator: matrix(size, false) },
        OperatorPart { kernel: other, operator: matrix(size, true) },
    ];
    let given = matches!(reads, Reads::Class | Reads::Sign) && (classes == 0 || (reads == Reads::Class && operator > 2));
    let names = if reads == Reads::Sign { 2 } else { size };
    let orthogonal = !shape.widened && shape.seed % 5 == 2;
    let fourier = Form::Fourier { size: 2 + 2 * (shape.seed % 40) as usize, seed: shape.seed, orthogonal };
    let forms = [Choice::Auto, Form::Terms.into(), Form::Weights.into(), fourier.into()];
    let form = forms[[0, 0, 1, 3, 2, 0, 2][(shape.seed % 7) as usize]].clone();
    let may_grow = matches!(budget, None | Some(BudgetRule::Merge { .. } | BudgetRule::Transfer { .. }));
    accepted(Config {
        kernel,
        step,
        warmup_passes: [None, Some(1), Some(3)][(shape.seed % 3) as usize].filter(|_| may_grow),
        memory: (may_grow && !shape.seed.is_multiple_of(3)).then_some(50_000),
        budget,
        lambda,
        implicit,
        offset,
        offset_step: [None, Some(0.1), None, Some(0.0), None][(shape.seed % 5) as usize].filter(|_| offset),
        allow_overshoot,
        regulariser,
        heads: if (shape.seed / 64).is_multiple_of(3) { Heads::Weighted.into() } else { Choice::Auto },
        relevance: relevance(shape),
        form,
        widths: if tracked { Widths::Follow.into() } else { Choice::Auto },
        shrink: if on_update { Shrink::OnUpdate } else { Shrink::Always },
        average,
        warmup,
        operator: match operator {
            3 => Some(OperatorRule::Matrix(matrix(size, classes == 1))),
            4 => Some(OperatorRule::Sum(parts)),
            _ => None,
        },
        class_weight: class_weight(reads, shape),
        classes: given.then(|| (0..names).rev().map(|c| name(c, shape.texts)).collect()),
        threshold: if tracked { Threshold::Tracker { speed: implicit.then_some(0.1) } } else { Threshold::Norma },
        theta0: loss.theta().filter(|_| tracked).map(|t| t.start + 0.25),
        scale: match scale {
            0 => Scale::Standard,
            1 => fixed(shape.features, anchored),
            2 => Scale::Auto,
            3 => Scale::Log,
            4 => Scale::Whiten,
            _ => Scale::None,
        },
        target_scale: match reads {
            Reads::Number | Reads::Vector if classes == 2 => target_scale(size),
            _ => TargetScale::None,
        },
        anchor: if anchored { Anchor::First } else { Anchor::None },
        loss,
    })
}

/// Weights of all columns but perhaps the last ones, in every fourth configuration.
fn relevance(shape: &Shape) -> Vec<f64> {
    let count = if shape.seed / 32 % 4 == 1 { 1 + shape.seed as usize / 128 % shape.features } else { 0 };
    (0..count).map(|j| [0.2, 1.0, 3.7, 0.9][(shape.seed as usize / 512 + j) % 4]).collect()
}

/// Every fourth configuration balances its classes, and every fourth has a table.
fn class_weight(reads: Reads, shape: &Shape) -> ClassWeight {
    let table = [(name(0, shape.texts).to_string(), 0.3), (name(1, shape.texts).to_string(), 1.7), ("-1".to_string(), 2.5)];
    match (reads, shape.seed / 8 % 4) {
        (Reads::Sign | Reads::Class, 0) => ClassWeight::Balanced,
        (Reads::Sign | Reads::Class, 1) => ClassWeight::Table(table.into()),
        _ => ClassWeight::None,
    }
}

/// Another unit for every output; none of the numbers is exact in double precision.
fn target_scale(outputs: usize) -> TargetScale {
    let each = |number: fn(f64) -> f64| (0..outputs).map(|o| number(o as f64)).collect();
    TargetScale::Fixed { shift: each(|o| 0.1 - 0.7 * o), factor: each(|o| 1.3 / (1.0 + o)) }
}

/// A frame that leaves the last features as they are, so that they may come later.
fn fixed(features: usize, whitens: bool) -> Scale {
    let early = |i: usize| i < features.div_ceil(2);
    Scale::Fixed {
        shift: (0..features).map(|i| if early(i) { 0.1 * i as f64 } else { 0.0 }).collect(),
        factor: (0..features).map(|i| if early(i) { 0.5 + i as f64 } else { 1.0 }).collect(),
        log_units: match features % 3 {
            0 => (0..features).map(|i| if early(i) { 0.3 + i as f64 } else { 1.0 }).collect(),
            _ => Vec::new(),
        },
        limit: features.is_multiple_of(2).then_some(0.75),
        follow: false,
        whiten: if features % 3 == 1 && whitens { triangle(features.div_ceil(2)) } else { Vec::new() },
    }
}

/// A lower triangle with a positive diagonal; none of the numbers is exact in double precision.
fn triangle(size: usize) -> Vec<f64> {
    let entry = |(i, j): (usize, usize)| if i == j { 0.7 + 0.1 * i as f64 } else { 0.3 - 0.2 * (i + j) as f64 };
    (0..size).flat_map(|i| (0..=i).map(move |j| (i, j))).map(entry).collect()
}

/// Whether terms can be merged under this kernel.
fn radial(kernel: &KernelRule) -> bool {
    match kernel {
        KernelRule::Linear {} | KernelRule::Polynomial { .. } => false,
        KernelRule::Scaled { of, .. } => radial(of),
        KernelRule::Sum(of) | KernelRule::Product(of) => of.iter().all(radial),
        _ => true,
    }
}

/// Whether the kernel can have random Fourier features.
fn has_spectrum(kernel: &KernelRule) -> bool {
    use KernelRule::{Exponential, Gaussian, Matern32, Matern52};
    matches!(kernel, Gaussian { .. } | Exponential { .. } | Matern32 { .. } | Matern52 { .. })
}

/// Whether every coordinate has a step size of its own.
pub fn has_step_per_coordinate(config: &Config) -> bool {
    matches!(config.step, Choice::Given(AnyStep::Smd { per: Some(_), .. }))
}

/// Changes as little as possible until the configuration is accepted.
pub fn accepted(mut config: Config) -> Config {
    if has_step_per_coordinate(&config) {
        config.operator = None;
        if !config.uses_weights() {
            config.form = Form::Weights.into();
        }
    }
    if config.form == Choice::Given(Form::Weights) {
        let quadratic = matches!(first(&config.kernel), KernelRule::Polynomial { .. });
        let kernel = if quadratic { KernelRule::Polynomial { degree: 2, gamma: 0.3, coef0: 0.5 } } else { KernelRule::Linear {} };
        (config.kernel, config.budget, config.memory) = (kernel.into(), None, None);
    }
    if matches!(config.form, Choice::Given(Form::Fourier { .. })) {
        (config.budget, config.memory) = (None, None);
        if !config.kernel.given().is_none_or(|kernels| kernels.all().iter().all(has_spectrum)) {
            config.kernel = KernelRule::Gaussian { gamma: Gamma::Auto }.into();
        }
    }
    match config.budget {
        Some(BudgetRule::Forgetron { .. }) => {
            (config.loss, config.lambda) = (AnyLoss::Perceptron {}.into(), 0.0.into());
            config.step = AnyStep::Constant { eta: 0.3 }.into();
            (config.operator, config.implicit, config.classes, config.theta0) = (None, false, None, None);
            config.threshold = Threshold::Norma;
        }
        Some(BudgetRule::Olok { .. }) => (config.step, config.lambda) = (AnyStep::InverseSqrt { eta: 0.5 }.into(), 0.05.into()),
        Some(BudgetRule::Merge { terms }) if !config.kernel.given().is_none_or(|kernels| kernels.all().iter().all(radial)) => {
            let gamma = if terms > 9 { Gamma::Auto } else { Gamma::Value(0.4) };
            config.kernel = KernelRule::Scaled { weight: 0.7, of: Box::new(KernelRule::Gaussian { gamma }) }.into();
        }
        _ => {}
    }
    for _ in 0..12 {
        let Err(error) = config.check() else { return config };
        let ErrorKind::Config { field, .. } = error.kind() else { panic!("{error}") };
        let smd = matches!(config.step, Choice::Given(AnyStep::Smd { .. }));
        match field.as_str() {
            "step" if smd => {
                (config.implicit, config.regulariser, config.allow_overshoot) = (false, AnyRegulariser::Square, false)
            }
            "step" if config.lambda == Choice::Given(0.0) => config.lambda = 1e-3.into(),
            "step" => config.step = AnyStep::Constant { eta: 0.3 }.into(),
            "form" => config.operator = None,
            "memory" => config.memory = None,
            "warmup_passes" => config.warmup_passes = None,
            "implicit" => config.implicit = false,
            "offset" => (config.offset, config.offset_step) = (false, None),
            "threshold" => config.threshold = Threshold::Norma,
            "operator" => config.operator = None,
            "class_weight" => config.class_weight = ClassWeight::Balanced,
            "target_scale" => config.target_scale = TargetScale::None,
            "widths" => config.widths = Choice::Auto,
            "heads" => config.heads = Choice::Auto,
            "relevance" => config.relevance.clear(),
            "scale" if config.anchor == Anchor::None => config.scale = Scale::Auto,
            "scale" => config.scale = Scale::Standard,
            "kernel" => config.kernel = first(&config.kernel).into(),
            "loss" => config.loss = (*config.loss).clone().into(),
            "budget" => config.budget = Some(BudgetRule::Window { terms: 5 }),
            _ => panic!("{error}: {}", config.to_json()),
        }
    }
    panic!("not repaired: {}", config.to_json())
}

/// The first kernel of a list.
fn first(kernels: &Choice<OneOrMore<KernelRule>>) -> KernelRule {
    kernels.given().map_or(KernelRule::Gaussian { gamma: Gamma::Auto }, |kernels| (**kernels).clone())
}

fn name(class: usize, text: bool) -> Label {
    if text { Label::Text(format!("class {class}")) } else { Label::Int(class as i64 * 7 - 3) }
}

/// Rows that repeat, rows of zeros, rows far from the origin; ids that come back with the same x.
fn stream(config: &Config, shape: &Shape, widened: Option<(usize, usize)>) -> Stream {
    let mut random = Random(shape.seed);
    let (d, rows) = (shape.features, shape.rows);
    let mut drawn: Vec<Vec<f32>> = Vec::new();
    let mut ids: Vec<u64> = Vec::new();
    let empty = shape.seed % 5 == 1;
    for i in 0..rows {
        let back = (i > 0 && random.often(0.2)).then(|| random.below(i));
        let fresh =
            |random: &mut Random| (0..d).map(|k| (random.unit() * 2.0 - 1.0 + if k == 0 { 3.0 } else { 0.0 }) as f32).collect();
        let thin = |random: &mut Random, mut row: Vec<f32>| {
            row.iter_mut().for_each(|v| *v = if random.often(0.6) { 0.0 } else { *v });
            row
        };
        let mut row: Vec<f32> = match back {
            Some(j) => drawn[j].clone(),
            None if random.often(0.06) => vec![0.0; d],
            None if empty => {
                let row = fresh(&mut random);
                thin(&mut random, row)
            }
            None => fresh(&mut random),
        };
        // In every fourth stream with units that follow, the unit changes.
        if back.is_none() && config.scale == Scale::Auto && shape.seed % 4 == 1 && i > rows / 3 {
            row.iter_mut().for_each(|v| *v *= 64.0);
        }
        if let Some((early, at)) = widened.filter(|w| i < w.1) {
            debug_assert!(i < at);
            row[early..].fill(0.0);
        }
        ids.push(back.filter(|&j| drawn[j] == row && random.often(0.7)).map_or(1000 - i as u64, |j| ids[j]));
        drawn.push(row);
    }
    let known: Vec<bool> = (0..rows).map(|_| random.often(0.8)).collect();
    let answers = answers(config, shape, &drawn, shape.masked.then_some(&known), &mut random);
    // Far from zero, single precision would lose most of what the column varies by; zero stays zero.
    let far = |v: f32| if v == 0.0 { 0.0 } else { 4096.0 + f64::from(v) * (1.0 + 1e-9) };
    let double = |v: &f32| if shape.seed.is_multiple_of(2) { f64::from(*v) } else { far(*v) };
    let (x, doubles): (Vec<f32>, Vec<f64>) = (drawn.concat(), drawn.iter().flatten().map(double).collect());
    Stream {
        features: d,
        answers,
        sparse: Sparse::of(&x, &doubles, d),
        doubles,
        x,
        known: shape.masked.then_some(known),
        weights: shape.weighted.then(|| (0..rows).map(|_| [0.0, 0.5, 1.0, 1.0, 2.5][random.below(5)]).collect()),
        ids: shape.named.then_some(ids),
    }
}

/// Targets that depend on the row; where a target is not known, nonsense stands in its place.
fn answers(config: &Config, shape: &Shape, rows: &[Vec<f32>], known: Option<&Vec<bool>>, random: &mut Random) -> Answers {
    let reads = config.loss.reads();
    let missing = |i: usize| known.is_some_and(|k| !k[i]);
    let signal =
        |row: &[f32], o: usize| row.iter().enumerate().map(|(k, v)| f64::from(*v) * libm::sin((k + o) as f64)).sum::<f64>();
    let side = |row: &[f32], random: &mut Random| (signal(row, 1) > 0.0) != random.often(0.15);
    match reads {
        Reads::Nothing => Answers::None,
        Reads::Sign if config.classes.is_none() && !shape.texts && shape.seed.is_multiple_of(2) => {
            let sign = |(i, row): (usize, &Vec<f32>)| {
                if missing(i) {
                    f64::NAN
                } else if side(row, random) {
                    1.0
                } else {
                    -1.0
                }
            };
            Answers::Numbers(1, rows.iter().enumerate().map(sign).collect())
        }
        Reads::Sign | Reads::Class => {
            let classes = if reads == Reads::Sign { 2 } else { shape.outputs + 1 };
            // Every other stream begins with rows of one class, perhaps all of it.
            let alone = (shape.seed / 2).is_multiple_of(2).then(|| (random.below(rows.len() + 1), random.below(classes)));
            let class = |(i, row): (usize, &Vec<f32>)| match missing(i) {
                true => Label::Text("nobody knows".into()),
                false if alone.is_some_and(|(until, _)| i < until) => name(alone.map_or(0, |a| a.1), shape.texts),
                false if side(row, random) => name(0, shape.texts),
                false => name(random.below(classes), shape.texts),
            };
            Answers::Labels(rows.iter().enumerate().map(class).collect())
        }
        Reads::Number | Reads::Vector => {
            let width = match &config.operator {
                Some(OperatorRule::Matrix(j)) => (j.len() as f64).sqrt() as usize,
                Some(OperatorRule::Sum(parts)) => (parts[0].operator.len() as f64).sqrt() as usize,
                None if reads == Reads::Number => 1,
                None => shape.outputs,
            };
            let mut number =
                |i: usize, row: &[f32], o: usize| if missing(i) { f64::INFINITY } else { signal(row, o) + 0.1 * random.unit() };
            let y =
                rows.iter().enumerate().flat_map(|(i, row)| (0..width).map(|o| number(i, row, o)).collect::<Vec<_>>()).collect();
            Answers::Numbers(width, y)
        }
    }
}

fn case(rows: std::ops::Range<usize>, features: std::ops::Range<usize>) -> impl Strategy<Value = Case> {
    (parts(), shape(rows, features), prop::collection::vec(1..90usize, 1..6), 0.0..1.0, 0.0..1.0).prop_map(
        |(parts, shape, cuts, saved, wide)| {
            let config = config(parts, &shape);
            let early = shape.features.div_ceil(2);
            let widened = (shape.widened && early < shape.features).then_some((early, (wide * shape.rows as f64) as usize));
            let stream = stream(&config, &shape, widened);
            Case { saved_at: (saved * (shape.rows + 1) as f64) as usize, shape, config, stream, cuts, widened }
        },
    )
}

/// A few features, up to three tiles of rows.
pub fn small() -> impl Strategy<Value = Case> {
    case(1..170, 1..7)
}

/// Enough features that a tile's matrix product is worth two threads once there are a hundred terms.
pub fn wide() -> impl Strategy<Value = Case> {
    case(200..330, 180..260)
}

/// Streams of several blocks.
pub fn long() -> impl Strategy<Value = Case> {
    case(300..900, 1..5)
}

/// The same cases on every machine and in every process.
pub fn fixed_cases(count: usize) -> Vec<Case> {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let draw = |_| small().new_tree(&mut runner).expect("nothing is filtered").current();
    (0..count).map(draw).collect()
}
