//! One run of a case, row by row, with a shadow in f64 beside every head that keeps every term.

use std::collections::BTreeMap;

use okl::basis::block::Block;
use okl::basis::vectors::VectorRows;
use okl::basis::{Basis, Points as RowPoints};
use okl::config::{ClassWeight, Label, Member, OperatorRule};
use okl::engine::head::{Average, Head};
use okl::gram::Matrix;
use okl::kernel::AnyKernel;
use okl::loss::{Loss, Reads};
use okl::step::{AnyStep, StepSize};
use okl::{Config, Learner};

use crate::case::{Case, Row, Target};
use crate::norms::{Both, Drift, Moved};
use crate::points::{Function, Points, Shape, norm};

/// What a run found: which check, and the figures.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The check.
    pub check: &'static str,
    /// The row after which it failed.
    pub row: usize,
    /// The figures.
    pub text: String,
}

/// A failure, as a result.
pub fn fail<T>(check: &'static str, row: usize, text: String) -> Result<T, Failure> {
    Err(Failure { check, row, text })
}

/// Whether a <= limit; false for NaN.
pub fn within(a: f64, limit: f64) -> bool {
    a <= limit
}

/// One score of a head: its last hypothesis or its average.
#[derive(Clone, Debug)]
pub struct Voice {
    /// The head.
    pub head: usize,
    /// Whether the voice is the average.
    pub mean: bool,
}

/// The shadow of one head.
#[derive(Clone, Debug)]
pub struct Shadow {
    /// Its kernel and operator.
    pub shape: Shape,
    /// How its hypotheses are averaged.
    pub average: Average,
    /// f with nothing dropped.
    pub full: Function,
    /// The average with nothing dropped.
    pub full_mean: Function,
    /// f as the engine holds it.
    pub live: Function,
    /// The average as the engine holds it.
    pub live_mean: Function,
    /// SVMD's trace as the engine holds it.
    pub live_trace: Function,
    /// The offset, and that of the average.
    pub offset: [Vec<f64>; 2],
    /// The means of b and theta over the hypotheses before each update.
    pub means: (Vec<f64>, f64),
    /// sum |alpha| sqrt k over all updates, shrunk as f is: what roundings are relative to.
    pub history: f64,
    /// The same of |alpha| alone: kernel values below 1e-36 are zero in single precision, which moves f by 1e-18 |alpha|.
    pub coefficients: f64,
    /// The largest that `history` has been.
    pub peak: f64,
    /// Whether the head has ever diverged and been reset.
    pub rested: bool,
    /// Whether it rests now.
    pub resting: bool,
    /// How far the norms that are kept may be from the true ones by rounding.
    pub drift: Drift,
    /// The offset as its updates lead it, and how far rounding may take it from there.
    pub followed: (Vec<f64>, f64),
}

/// What one row left behind.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Whether it was learned.
    pub learned: bool,
    /// The scores.
    pub scores: Vec<f64>,
    /// The loss that was reported.
    pub loss: Option<f64>,
    /// Whether it was outside.
    pub outside: Option<bool>,
    /// The threshold.
    pub threshold: Option<f64>,
    /// Theta before the row.
    pub theta: f64,
    /// The row as a point.
    pub point: usize,
    /// The class of the row, by its number.
    pub class: Option<usize>,
    /// The target as the loss reads it: for two classes and a loss that reads a sign, -1 or +1.
    pub y: Option<Target>,
    /// Whether the units of the columns changed after it was learned.
    pub rescaled: bool,
    /// Its weight by its class, which multiplies the regulariser, too.
    pub share: f64,
    /// Its weight: that of the row times that of its class.
    pub weight: f64,
}

/// A run under way.
#[derive(Debug)]
pub struct Run<'a> {
    /// The case.
    pub case: &'a Case,
    /// The settings in force, everything found that is found from data.
    pub config: Config,
    /// The learner.
    pub learner: Learner,
    /// All points.
    pub points: Points,
    /// One per head.
    pub shadows: Vec<Shadow>,
    /// The step size of each head.
    pub steps: Vec<AnyStep>,
    /// The steps of the offset of each head are this many times those of f.
    pub offset_steps: Vec<f64>,
    /// In the order of the bank's weights.
    pub voices: Vec<Voice>,
    /// What truncation errors are multiplied by, to see that a false one is found out.
    pub deflate: f64,
    /// The number of examples of each class so far, by its name.
    pub counts: BTreeMap<String, f64>,
}

/// The configuration after the warm-up, which a learner built from it does not need; none where the stream is too short.
pub fn settled(case: &Case) -> Result<Option<Config>, Failure> {
    let config = case.config().map_err(|text| Failure { check: "refused", row: 0, text })?;
    frozen(&case.accepted(&config).0, config)
}

fn frozen(case: &Case, config: Config) -> Result<Option<Config>, Failure> {
    let mut learner = Learner::new(config).map_err(|e| Failure { check: "refused late", row: 0, text: e.to_string() })?;
    let all = case.columns(0, case.rows.len());
    if let Err(e) = learner.learn(&all.batch()) {
        return fail("refused rows", 0, e.to_string());
    }
    Ok((!learner.warming_up()).then(|| learner.config().clone()))
}

impl<'a> Run<'a> {
    /// Starts under settings that need no warm-up.
    pub fn start(case: &'a Case, config: Config) -> Result<Self, Failure> {
        let learner =
            Learner::new(config.clone()).map_err(|e| Failure { check: "frozen refused", row: 0, text: e.to_string() })?;
        let members = config.members();
        let (voices, owners) = voices(&members);
        let mut kernels = learner.engine().terms().space().kernels().to_vec();
        if has_map(&learner) {
            kernels = vec![AnyKernel::Linear]; // of the features
        }
        let heads = learner.engine().heads().len();
        if heads != owners.len() {
            return fail("heads", 0, format!("{heads} heads, {} by the members {members:?}", owners.len()));
        }
        let shadows = owners.iter().map(|member| Shadow::new(shape(&config, member), member.average)).collect();
        let weights = (0..kernels.len()).map(|kernel| learner.column_weights(kernel).map(<[f64]>::to_vec)).collect();
        let points = Points::new(&kernels, weights);
        let steps = owners.iter().map(|member| member.step.clone()).collect();
        let offset_steps = owners.iter().map(|member| member.offset_step).collect();
        Ok(Self { case, config, learner, points, shadows, steps, offset_steps, voices, deflate: 1.0, counts: BTreeMap::new() })
    }

    /// A row as the kernels see it.
    pub fn framed(&self, x: &[f64]) -> Vec<f32> {
        self.framed_by(self.learner.frame(), x)
    }

    /// The number of a row: of its features, if f is a weight vector over features that are computed from the row. They define the kernel
    /// of such a learner; okl/tests/mathematics/fourier.rs holds them against their formulas.
    pub fn point_of(&mut self, framed: &[f32]) -> usize {
        if !has_map(&self.learner) {
            return self.points.number(framed);
        }
        let (basis, mut block) = (self.learner.engine().basis(), Block::default());
        let rows = VectorRows::Dense(RowPoints { rows: Matrix::one(framed), squares: &[0.0] });
        basis.begin(rows, &mut block, false);
        let features = block.terms_mut().data[..basis.slots()].to_vec();
        self.points.number(&features)
    }

    fn framed_by(&self, (shift, factor): (&[f64], &[f64]), x: &[f64]) -> Vec<f32> {
        if shift.is_empty() && factor.is_empty() {
            return x.iter().map(|&v| v as f32).collect();
        }
        let one = |(j, &v): (usize, &f64)| {
            let moved = (v - shift.get(j).copied().unwrap_or(0.0)) * factor.get(j).copied().unwrap_or(1.0);
            let limit = self.learner.limit().unwrap_or(f64::INFINITY).min(okl::batch::LARGEST);
            moved.clamp(-limit, limit) as f32
        };
        x.iter().enumerate().map(one).collect()
    }

    /// Learns row `t` and follows it.
    pub fn step(&mut self, t: usize) -> Result<Seen, Failure> {
        let row = &self.case.rows[t];
        let mut seen = Seen { theta: self.learner.theta(), ..Seen::default() };
        let positive = self.learner.positive();
        let before = self.learner.examples();
        let (changes, frame) = (self.learner.unit_changes(), self.learner.frame());
        let frame = (frame.0.to_vec(), frame.1.to_vec());
        let mut slot = None;
        let columns = self.case.columns(t, t + 1);
        let outcome = self.learner.learn_with(&columns.batch(), |_, step| {
            seen.scores = step.scores.to_vec();
            (seen.loss, seen.outside, seen.threshold, slot) = (step.loss, step.outside, step.threshold, step.slot);
        });
        if let Err(e) = outcome {
            return fail("refused row", t, e.to_string());
        }
        seen.learned = self.learner.examples() > before;
        (seen.class, seen.y) = (self.class(row), Some(self.read(row)));
        seen.share = if row.known && row.weight > 0.0 { self.share(row) } else { 1.0 };
        seen.weight = row.weight * seen.share;
        if positive.is_some() && positive != self.learner.positive() {
            // A second class that sorts after the first is the positive one: f and b are negated before the row is scored.
            self.shadows.iter_mut().for_each(Shadow::negate);
        }
        seen.rescaled = changes.map(|of| of.0) != self.learner.unit_changes().map(|of| of.0);
        let x = self.framed(&row.x);
        if let Some(slot) = slot.filter(|_| !self.case.json().contains("merge")) {
            let mut centre = vec![0.0; x.len()];
            self.learner.engine().terms().space().centre(slot, &mut centre);
            if centre.iter().zip(&x).any(|(a, b)| a + 0.0 != b + 0.0) {
                let (shift, factor) = self.learner.frame();
                let text = format!("x = {:?}, shift {shift:?}, factor {factor:?}: {x:?}, held {centre:?}", row.x);
                return fail("frame", t, text);
            }
        }
        // Units change after the row was scored and learned in the old ones.
        let scored = if seen.rescaled { self.framed_by((&frame.0, &frame.1), &row.x) } else { x };
        seen.point = self.point_of(&scored);
        Ok(seen)
    }

    /// The weight of an example by its class: of a table divided by its largest number above 1, or the count of the rarest class over
    /// that of its own, which is 1 over its own while there is one class.
    fn share(&mut self, row: &Row) -> f64 {
        let name = match &row.y {
            Target::Class(label) => label.to_string(),
            Target::Numbers(y) => (if y[0] > 0.0 { "1" } else { "-1" }).to_string(),
            Target::Nothing => return 1.0,
        };
        *self.counts.entry(name.clone()).or_default() += 1.0;
        let rarest = self.counts.values().copied().fold(f64::INFINITY, f64::min);
        match &self.config.class_weight {
            ClassWeight::Balanced if self.counts.len() > 1 => rarest / self.counts[&name],
            ClassWeight::Balanced => 1.0 / self.counts[&name],
            ClassWeight::Table(table) => {
                let largest = table.values().copied().fold(1.0, f64::max);
                table.get(&name).copied().unwrap_or(1.0) / largest
            }
            _ => 1.0,
        }
    }

    /// The number of a row's class, if it is known.
    fn class(&self, row: &Row) -> Option<usize> {
        let Target::Class(label) = row.y else { return None };
        self.learner.classes().iter().position(|class| *class == Label::Int(label))
    }

    /// A row's target as the loss reads it: a sign is that of the positive class against the other.
    pub fn read(&self, row: &Row) -> Target {
        match (self.config.loss.reads(), self.class(row)) {
            (Reads::Sign, Some(class)) => Target::Numbers(vec![if self.learner.positive() == Some(class) { 1.0 } else { -1.0 }]),
            _ => row.y.clone(),
        }
    }

    /// Moves the shadows by what the heads say they did, then reads what the engine holds.
    pub fn follow(&mut self, seen: &Seen) {
        let (t, exact) = (self.learner.examples(), self.exact_norms());
        for h in 0..self.shadows.len() {
            let head = &self.learner.engine().heads()[h];
            let (live, mean, trace) = held(&self.learner, h, &mut self.points);
            let by = self.offset_move(h);
            let shadow = &mut self.shadows[h];
            shadow.resting = self.learner.engine().bank().is_some_and(|bank| bank.rests(h));
            if shadow.resting {
                shadow.set_back();
            } else if seen.learned {
                shadow.average_scalars(t, seen.theta);
                let (keep, alpha) = head.last_update();
                let each = head.step_sizes().is_some();
                shadow.advance(&self.points, t, keep, &alpha, seen.point);
                let decay = self.steps[h].trace().unwrap_or(0.0);
                let moved = Moved { keep, decay, alpha: &alpha, point: seen.point, exact };
                let (old, new) = (Both(&shadow.live, &shadow.live_trace), Both(&live, &trace));
                shadow.drift.step(&self.points, &shadow.shape, moved, old, new);
                shadow.follow_offset(by.filter(|_| !each), head.offset());
                if each {
                    // The step is no multiple of k(x, .), and nothing is ever dropped: f in full is f. What the step must be is in
                    // okl/tests/mathematics/per_coordinate.rs.
                    shadow.keep_all(&self.points, &live);
                }
            }
            if seen.rescaled && !shadow.resting {
                shadow.begin_anew(&self.points, &live, &mean, &trace);
            }
            shadow.followed.0.resize(head.offset().len(), 0.0);
            (shadow.live, shadow.live_mean, shadow.live_trace) = (live, mean, trace);
            shadow.offset = [head.offset().to_vec(), head.offset_mean().to_vec()];
        }
    }

    /// Whether step sizes are those of SVMD.
    pub fn under_smd(&self) -> bool {
        matches!(self.config.step.given(), Some(AnyStep::Smd { .. }))
    }

    /// f(x) + b of a voice, as the engine holds it.
    pub fn score(&self, voice: &Voice, point: usize, outputs: usize) -> Vec<f64> {
        let shadow = &self.shadows[voice.head];
        let f = if voice.mean { &shadow.live_mean } else { &shadow.live };
        let mut z = self.points.eval(&shadow.shape, f, point, outputs);
        z.iter_mut().zip(&shadow.offset[usize::from(voice.mean)]).for_each(|(z, b)| *z += b);
        z
    }

    /// The largest error of a voice's score in single precision.
    pub fn score_rounding(&self, voice: &Voice, point: usize) -> f64 {
        let shadow = &self.shadows[voice.head];
        let f = if voice.mean { &shadow.live_mean } else { &shadow.live };
        let offset = norm(&shadow.offset[usize::from(voice.mean)]);
        // Coefficients of an average are differences of larger numbers of f64.
        let carried = 1e-12 * if voice.mean { shadow.peak } else { shadow.history } * self.points.reach(&shadow.shape, point);
        self.points.rounding(&shadow.shape, f, point) + 1e-13 * offset + carried
    }
}

/// Whether f is a weight vector over features that are computed from the row.
fn has_map(learner: &Learner) -> bool {
    learner.engine().basis().fourier().is_some() || learner.engine().basis().is_quadratic()
}

/// f, its average and its trace, over points.
fn held(learner: &Learner, head: usize, points: &mut Points) -> (Function, Function, Function) {
    let (mut f, mut mean, mut trace) = (Function::default(), Function::default(), Function::default());
    let engine = learner.engine();
    let expansion = engine.heads()[head].expansion();
    let outputs = expansion.outputs();
    let mut centre = vec![0.0; engine.terms().space().features()];
    let features = if has_map(learner) { engine.basis().slots() } else { learner.features() };
    // The weight of feature j is the coefficient of the linear kernel at the unit vector e_j.
    let weights = engine.basis().has_weights();
    let slots: Vec<usize> = if weights { (0..features).collect() } else { engine.terms().live().collect() };
    centre.resize(features, 0.0);
    for slot in slots {
        match weights {
            true => centre.iter_mut().enumerate().for_each(|(j, x)| *x = if j == slot { 1.0 } else { 0.0 }),
            false => engine.terms().space().centre(slot, &mut centre),
        }
        let point = points.number(&centre);
        f.add(point, &(0..outputs).map(|o| expansion.alpha(o, slot)).collect::<Vec<_>>());
        let rider = |of: &dyn Fn(usize) -> Option<f64>| (0..outputs).map(of).collect::<Option<Vec<f64>>>();
        if let Some(g) = rider(&|o| expansion.mean(o, slot)) {
            mean.add(point, &g);
        }
        if let Some(b) = rider(&|o| expansion.trace(o, slot)) {
            trace.add(point, &b);
        }
    }
    (f, mean, trace)
}

impl Shadow {
    fn new(shape: Shape, average: Average) -> Self {
        Self {
            shape,
            average,
            full: Function::default(),
            full_mean: Function::default(),
            live: Function::default(),
            live_mean: Function::default(),
            live_trace: Function::default(),
            offset: [Vec::new(), Vec::new()],
            means: (Vec::new(), 0.0),
            history: 0.0,
            coefficients: 0.0,
            peak: 0.0,
            rested: false,
            resting: false,
            drift: Drift::default(),
            followed: (Vec::new(), 0.0),
        }
    }

    /// A head of a bank that diverged starts again from f = 0.
    fn set_back(&mut self) {
        *self = Self { rested: true, resting: true, ..Self::new(self.shape.clone(), self.average) };
    }

    /// The units of the columns changed: all certificates begin anew with the terms as the engine holds them, in the new units.
    fn begin_anew(&mut self, points: &Points, live: &Function, mean: &Function, trace: &Function) {
        (self.full, self.full_mean) = (live.clone(), mean.clone());
        self.history = points.mass(&self.shape, live);
        self.coefficients = live.support().map(|(_, a)| norm(a)).sum();
        // The coefficients of the average keep the roundings of before.
        self.peak = self.peak.max(self.history);
        self.drift = Drift::found(points, &self.shape, live, trace);
    }

    /// f with nothing dropped is f.
    fn keep_all(&mut self, points: &Points, live: &Function) {
        self.full = live.clone();
        self.history = self.history.max(points.mass(&self.shape, live));
        self.coefficients = self.coefficients.max(live.support().map(|(_, a)| norm(a)).sum());
        self.peak = self.peak.max(self.history);
    }

    /// The other class is the positive one from now on.
    fn negate(&mut self) {
        for f in [&mut self.full, &mut self.full_mean, &mut self.live, &mut self.live_mean, &mut self.live_trace] {
            f.scale(-1.0);
        }
        self.offset.iter_mut().flatten().chain(&mut self.followed.0).for_each(|b| *b = -*b);
        self.means.0.iter_mut().for_each(|b| *b = -*b);
    }

    /// The weight of the hypothesis before update t in the average.
    fn omega(&self, t: u64) -> f64 {
        match self.average {
            Average::None => 0.0,
            Average::Uniform => 1.0 / t as f64,
            Average::Exponential { rate } => rate.max(1.0 / t as f64),
        }
    }

    /// b and theta before the update enter their means.
    fn average_scalars(&mut self, t: u64, theta: f64) {
        let omega = self.omega(t);
        self.means.0.resize(self.offset[0].len(), 0.0);
        self.means.0.iter_mut().zip(&self.offset[0]).for_each(|(m, b)| *m += omega * (b - *m));
        self.means.1 += omega * (theta - self.means.1);
    }

    /// f <- keep f + k(x, .) alpha; before it, f enters its average.
    fn advance(&mut self, points: &Points, t: u64, keep: f64, alpha: &[f64], point: usize) {
        let omega = self.omega(t);
        if omega > 0.0 {
            self.full_mean.scale(1.0 - omega);
            self.full_mean.add_scaled(&self.full, omega);
        }
        self.full.scale(keep);
        self.full.add(point, alpha);
        let (size, reach) = (norm(alpha), points.reach(&self.shape, point));
        self.history = keep.abs() * self.history + size * reach;
        self.coefficients = keep.abs() * self.coefficients + size;
        self.peak = self.peak.max(self.history);
    }

    /// b moves by `by`, with a few roundings of double precision; where the move is not known, b is as the engine has it.
    fn follow_offset(&mut self, by: Option<Vec<f64>>, kept: &[f64]) {
        let (b, slack) = &mut self.followed;
        let Some(by) = by else {
            (*b, *slack) = (kept.to_vec(), 0.0);
            return;
        };
        b.resize(by.len(), 0.0);
        *slack += 4.0 * f64::EPSILON * (norm(b) + norm(&by));
        b.iter_mut().zip(&by).for_each(|(b, by)| *b += by);
    }
}

/// Voices and the members that own heads: those of one head follow each other.
fn voices(members: &[Member]) -> (Vec<Voice>, Vec<Member>) {
    let (mut voices, mut owners): (Vec<Voice>, Vec<Member>) = (Vec::new(), Vec::new());
    for member in members {
        let same = owners.last().is_some_and(|last| {
            last.step == member.step && last.lambda == member.lambda && last.width == member.width && last.loss == member.loss
        });
        if !same {
            owners.push(member.clone());
        } else if let Some(owner) = owners.last_mut().filter(|owner| owner.average == Average::None) {
            owner.average = member.average;
        }
        voices.push(Voice { head: owners.len() - 1, mean: member.average != Average::None });
    }
    (voices, owners)
}

fn shape(config: &Config, member: &Member) -> Shape {
    let parts = match &config.operator {
        None => vec![(member.width, None)],
        Some(OperatorRule::Matrix(j)) => vec![(member.width, Some(j.clone()))],
        Some(OperatorRule::Sum(parts)) => parts.iter().enumerate().map(|(m, p)| (m, Some(p.operator.clone()))).collect(),
    };
    Shape { parts }
}

/// The head's own truncation error, of f or of its average.
pub fn truncation<S: okl::step::StepSize>(head: &Head<S>, mean: bool) -> f64 {
    if mean { head.mean_truncation_error() } else { head.truncation_error() }
}
