//! Law 1: what a stream leaves behind is a function of the stream and the configuration alone, to the last bit.
//!
//! Not of the cuts, the threads, a save and load in between, features that come later, or the instruction set.
//! `OKL_BACKEND=avx2 cargo test` runs all of this on one backend; [`every_backend`] compares them with each other.

mod cases;

mod plain;

use cases::{Answers, Case, Stream};
use okl::basis::block::Block;
use okl::basis::terms::Terms;
use okl::basis::{Items, OperatorKernel, Operators, Space};
use okl::budget::{AnyBudget, Budget, BudgetRule};
use okl::config::{Choice, KernelRule, OperatorRule, Scale, TargetScale, Threshold};
use okl::engine::head::{Average, HeadParts, Rules, Shrink};
use okl::engine::{Engine, Labels, Parts};
use okl::gram::Backend;
use okl::kernel::{Kernel, Pair};
use okl::loss::{AnyLoss, Loss, Reads};
use okl::output::Output;
use okl::regulariser::AnyRegulariser;
use okl::step::{AnyStep, StepSize};
use okl::{Batch, Checked, Label, Learner, Workspace};
use plain::plain;
use proptest::prelude::*;

/// Bits, with one NaN: its payload is no part of the law.
fn bits(v: f64) -> u64 {
    if v.is_nan() { u64::MAX } else { v.to_bits() }
}

fn all_bits(values: &[f64]) -> Vec<u64> {
    values.iter().copied().map(bits).collect()
}

/// What a row left behind.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    scores: Vec<u64>,
    loss: Option<u64>,
    slot: Option<usize>,
    outside: Option<bool>,
    threshold: Option<u64>,
}

impl Row {
    fn of(step: &okl::engine::Step<'_>) -> Self {
        Row {
            scores: all_bits(step.scores),
            loss: step.loss.map(bits),
            slot: step.slot,
            outside: step.outside,
            threshold: step.threshold.map(bits),
        }
    }
}

/// Everything that can be seen of a run.
#[derive(Clone, Debug, Default, PartialEq)]
struct Trace {
    rows: Vec<Row>,
    state: Vec<(&'static str, Vec<u64>)>,
    texts: Vec<String>,
    bytes: Vec<u8>,
}

impl Trace {
    fn engine<P: Space, L: Loss, S: StepSize, B: Budget>(&mut self, engine: &Engine<Terms<P>, L, S, B>) {
        let head = &engine.heads()[0];
        let terms = engine.terms();
        let alpha = terms.live().flat_map(|slot| (0..head.offset().len()).map(move |o| bits(head.expansion().alpha(o, slot))));
        let mean = terms.live().flat_map(|slot| (0..head.offset().len()).filter_map(move |o| head.expansion().mean(o, slot)));
        self.state.extend([
            ("alpha", alpha.collect()),
            ("mean", mean.map(bits).collect()),
            ("live", terms.live().map(|s| s as u64).collect()),
            ("births", terms.live().filter_map(|s| terms.birth(s)).collect()),
            ("offset", all_bits(head.offset())),
            ("theta, eta", all_bits(&[head.theta(), head.eta()])),
            ("norms", all_bits(&[head.norm2(), head.trace_product(), head.trace_norm2()])),
            ("truncation", vec![bits(head.truncation_error())]),
            (
                "regret",
                [(0.0, 0.0), (1.0, 0.5), (3.0, 2.0)]
                    .into_iter()
                    .filter_map(|(u, b)| head.regret().bound(u, b))
                    .map(bits)
                    .collect(),
            ),
            ("counts", vec![engine.examples(), engine.skipped(), head.cut_steps()]),
        ]);
    }

    fn learner(&mut self, learner: &Learner) {
        self.engine(learner.engine());
        let rate = learner.alert_rate().map_or(vec![], |r| all_bits(&[r.nu, r.rate, r.bound]));
        let centres = all_bits(&learner.centres());
        self.state.extend([
            ("alert rate", rate),
            ("threshold", learner.threshold().map_or(vec![], |t| vec![bits(t)])),
            ("centres", centres),
            ("coefficients", all_bits(&learner.coefficients())),
            ("shape", vec![learner.outputs() as u64, learner.features() as u64, learner.warming_up().into()]),
        ]);
        self.texts = vec![learner.config().to_json(), format!("{:?} {:?}", learner.classes(), learner.positive())];
        self.bytes = learner.to_bytes();
    }

    /// The first thing in which two runs differ.
    fn difference(&self, other: &Trace) -> Option<String> {
        if let Some(i) = (0..self.rows.len().max(other.rows.len())).find(|&i| self.rows.get(i) != other.rows.get(i)) {
            return Some(format!("row {i}: {:x?} and {:x?}", self.rows.get(i), other.rows.get(i)));
        }
        if let Some((a, b)) = self.state.iter().zip(&other.state).find(|(a, b)| a != b) {
            return Some(format!("{a:x?} and {b:x?}"));
        }
        (self != other)
            .then(|| format!("{:?} and {:?}, {} bytes and {}", self.texts, other.texts, self.bytes.len(), other.bytes.len()))
    }
}

fn learn(learner: &mut Learner, batch: &Batch<'_>, rows: &mut Vec<Row>) {
    learner.learn_with(batch, each_row(rows)).unwrap();
}

fn each_row(rows: &mut Vec<Row>) -> impl FnMut(usize, &okl::engine::Step<'_>) {
    |_, step| rows.push(Row::of(step))
}

/// The ends of the blocks that `cuts`, over and over, make of the rows, and the places where a block must end.
fn ends(rows: usize, cuts: &[usize], stops: &[usize]) -> Vec<usize> {
    let mut at = 0;
    let cut = cuts.iter().cycle().map(|c| {
        at += c;
        at
    });
    let mut ends: Vec<usize> =
        cut.take_while(|&e| e < rows).chain(stops.iter().copied()).chain([rows]).filter(|e| *e > 0).collect();
    ends.sort_unstable();
    ends.dedup();
    ends
}

/// How a run departs from the plain one.
#[derive(Default)]
struct Departure {
    threads: usize,
    saved: bool,
    widened: bool,
    /// Is every other call given its rows in double precision?
    mixed: bool,
    /// Is every call's batch checked before the batch of the call before it is learned, as a server does?
    ahead: bool,
    /// Is the learner published before every call, so that all its centres are shared?
    published: bool,
}

fn run(case: &Case, cuts: &[usize], how: &Departure) -> Trace {
    let rows = case.stream.rows();
    let widened = case.widened.filter(|_| how.widened);
    let mut config = case.config.clone();
    if let (Scale::Fixed { shift, factor, .. }, Some((early, _))) = (&mut config.scale, widened) {
        shift.truncate(early);
        factor.truncate(early);
    }
    let mut learner = Learner::new(config).unwrap();
    learner.set_threads(how.threads).unwrap();
    let narrow = widened.map(|(early, at)| case.stream.narrow(early, at));
    let stops = [widened.map_or(rows, |w| w.1), if how.saved { case.saved_at } else { rows }];
    let mut trace = Trace::default();
    let (mut from, mut waiting, mut models) = (0, None, Vec::new());
    for to in ends(rows, cuts, &stops) {
        let early = narrow.as_ref().filter(|_| widened.is_some_and(|w| to <= w.1));
        let batch = early.unwrap_or(&case.stream).batch_as(from..to, how.mixed && from % 2 == 0);
        let checked = how.ahead.then(|| learner.check(&batch).ok()).flatten();
        learn_waiting(&mut learner, waiting.take(), &mut trace.rows);
        if widened.is_some_and(|(_, at)| at == from) {
            learner.widen(case.stream.features).unwrap();
        }
        if how.saved && case.saved_at == from {
            learner = Learner::from_bytes(&learner.to_bytes()).unwrap();
        }
        if how.published {
            models.truncate(1);
            models.push((learner.publish(), learner.to_bytes()));
        }
        waiting = Some((batch, checked));
        from = to;
    }
    learn_waiting(&mut learner, waiting, &mut trace.rows);
    for (model, bytes) in models {
        assert!(model.to_bytes() == bytes, "what was published has changed: {}", case.config.to_json());
    }
    if how.saved && case.saved_at == rows {
        learner = Learner::from_bytes(&learner.to_bytes()).unwrap();
    }
    trace.learner(&learner);
    trace
}

/// Learns a batch, as it was checked before other rows were learned, if it was.
fn learn_waiting(learner: &mut Learner, waiting: Option<(Batch<'_>, Option<Checked<'_>>)>, rows: &mut Vec<Row>) {
    match waiting {
        Some((_, Some(mut checked))) => while learner.learn_next(&mut checked, each_row(rows)).unwrap() {},
        Some((batch, None)) => learn(learner, &batch, rows),
        None => {}
    }
}

fn says_beyond_single_precision(error: &okl::Error) {
    assert!(error.to_string().contains("beyond single precision"), "{error}");
}

/// One by one; on the way, what a row is predicted to score is what it scores, and a row without a target changes nothing. Ends at the
/// first row that is refused, if one is.
fn one_by_one(case: &Case) -> Result<Trace, usize> {
    let mut learner = Learner::new(case.config.clone()).unwrap();
    let (mut workspace, mut trace) = (Workspace::default(), Trace::default());
    for i in 0..case.stream.rows() {
        let x = case.stream.unlabelled(i..i + 1, false);
        let mut batch = case.stream.batch(i..i + 1);
        if let Err(error) = learner.check(&batch) {
            says_beyond_single_precision(&error);
            return Err(i);
        }
        // What `predict` refuses, `learn` scores 0 while the frame is provisional.
        let predicted = learner.predict_batch(&mut workspace, &x);
        let readable = predicted.is_ok();
        let predicted = predicted.inspect_err(says_beyond_single_precision).map_or(Vec::new(), |scores| scores.values);
        let silent = i > 0 && case.stream.silent(i);
        let before = if silent { learner.to_bytes() } else { Vec::new() };
        if silent && i % 2 == 0 && case.config.loss.reads() != Reads::Nothing {
            batch = x;
        }
        let positive = learner.positive();
        learn(&mut learner, &batch, &mut trace.rows);
        let row = &trace.rows[i];
        let scores = &row.scores;
        // At the row whose class takes over the positive sign, f is negated before its score; 0 stays 0.
        let negated = positive == Some(0) && learner.positive() == Some(1);
        let score = |z: &f64| bits(if negated { 0.0 - z } else { *z });
        let mut predicted: Vec<u64> = predicted.iter().map(score).collect();
        assert!(predicted.len() <= scores.len());
        predicted.resize(scores.len(), 0);
        assert_eq!(&predicted, scores, "predict at row {i} of {}", case.config.to_json());
        assert!(!silent || before == learner.to_bytes(), "row {i} has no target and changed {}", case.config.to_json());
        if silent && readable {
            check_alert(case, &learner, row);
        }
    }
    trace.learner(&learner);
    Ok(trace)
}

/// A row that is only predicted is an alert of a novelty loss iff its score is below the threshold of the learner. Not where scores are
/// averaged without a tracker: theta belongs to the last hypothesis there.
fn check_alert(case: &Case, learner: &Learner, row: &Row) {
    if case.config.loss.reads() != Reads::Nothing {
        return assert_eq!((row.outside, row.threshold), (None, None), "{}", case.config.to_json());
    }
    let averaged = case.config.average.given().is_some_and(|average| *average != Average::None);
    if averaged && learner.engine().heads()[0].tracker().is_none() {
        return;
    }
    let threshold = learner.threshold();
    let alert = threshold.map(|threshold| f64::from_bits(row.scores[0]) < threshold);
    assert_eq!(row.outside, alert, "{:?} against {threshold:?} under {}", row.scores, case.config.to_json());
    if case.config.loss.nu().is_some() {
        assert_eq!(row.threshold, threshold.map(bits), "{}", case.config.to_json());
    }
}

/// A [`Learner::learn`] of all rows gives the scores of [`Learner::learn_with`], zeros before a class exists.
fn check_learn(case: &Case, trace: &Trace) {
    let mut learner = Learner::new(case.config.clone()).unwrap();
    let scores = learner.learn(&case.stream.batch(0..case.stream.rows())).unwrap();
    assert_eq!(learner.to_bytes(), trace.bytes);
    for (i, Row { scores: row, .. }) in trace.rows.iter().enumerate() {
        let found = all_bits(scores.row(i));
        assert_eq!(&found[..row.len()], row);
        assert!(found[row.len()..].iter().all(|b| *b == 0));
    }
}

fn check(case: &Case) {
    let expected = match one_by_one(case) {
        Ok(trace) => trace,
        // A row that is refused alone is refused together with the rows before it.
        Err(row) => {
            let mut learner = Learner::new(case.config.clone()).unwrap();
            return says_beyond_single_precision(&learner.learn(&case.stream.batch(0..row + 1)).unwrap_err());
        }
    };
    let all = [case.stream.rows()];
    let two = Departure { threads: 2, ..Departure::default() };
    let (saved, widened) =
        (Departure { saved: true, ..Departure::default() }, Departure { widened: true, ..Departure::default() });
    let mixed = Departure { mixed: true, ahead: true, ..Departure::default() };
    let all_of_it = Departure { threads: 2, saved: true, widened: true, mixed: true, ahead: true, published: true };
    let runs: [(&str, &[usize], &Departure); 7] = [
        ("cut at random", &case.cuts, &Departure::default()),
        ("in one block", &all, &Departure::default()),
        ("with two threads", &all, &two),
        ("saved and loaded", &case.cuts, &saved),
        ("widened", &case.cuts, &widened),
        ("in single and double precision, checked ahead", &case.cuts, &mixed),
        ("all of it", &case.cuts, &all_of_it),
    ];
    for (what, cuts, how) in runs {
        let difference = expected.difference(&run(case, cuts, how));
        assert!(
            difference.is_none(),
            "{what} differs from one by one: {}\n{}",
            difference.unwrap_or_default(),
            case.config.to_json()
        );
    }
    check_learn(case, &expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_cut_does_not_matter(case in cases::small()) {
        check(&case);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, max_shrink_iters: 200, ..ProptestConfig::default() })]
    #[test]
    fn the_cut_does_not_matter_for_wide_rows(case in cases::wide()) {
        check(&case);
    }
}

/// The property above would say nothing of a part that is never drawn.
#[test]
fn every_part_is_drawn() {
    let mut seen = std::collections::BTreeSet::new();
    for case in cases::fixed_cases(1500) {
        let (c, s) = (&case.config, &case.stream);
        let json: serde_json::Value = serde_json::from_str(&c.to_json()).unwrap();
        for group in ["kernel", "loss", "step", "budget", "average", "threshold", "scale", "regulariser"] {
            let name = match &json[group] {
                serde_json::Value::Object(table) => table.keys().next().cloned().unwrap_or_default(),
                value => value.as_str().unwrap_or("default").to_string(),
            };
            seen.insert(format!("{group} {name}"));
        }
        let preset = matches!(c.step, Choice::Given(AnyStep::Smd { preset: Some(_), .. }));
        let cut = matches!(c.loss.reads(), Reads::Class | Reads::Sign) && matches!(s.answers, Answers::Labels(_));
        let flags = [
            ("implicit", c.implicit),
            ("offset", c.offset),
            ("preset", preset),
            ("overshoot", c.allow_overshoot && c.lambda.given().is_some_and(|l| *l > 0.0)),
            ("classes given", c.classes.is_some()),
            ("classes discovered", cut && c.classes.is_none()),
            ("operator J", matches!(c.operator, Some(OperatorRule::Matrix(_)))),
            ("operator sum", matches!(c.operator, Some(OperatorRule::Sum(_)))),
            ("gamma auto", c.to_json().contains(r#""gamma":"auto""#)),
            ("lambda auto", c.lambda == Choice::Auto),
            ("bank", c.members().len() > 1),
            ("bank with averages", c.members().len() > 1 && c.members().iter().any(|m| m.average != c.members()[0].average)),
            ("bank of widths", c.members().iter().any(|m| m.width > 0)),
            ("theta0", c.theta0.is_some()),
            ("known", s.known.is_some()),
            ("alerts of rows that are only predicted", s.known.is_some() && c.loss.reads() == Reads::Nothing),
            ("weights", s.weights.is_some()),
            ("ids", s.ids.is_some()),
            ("widened", case.widened.is_some()),
            ("anchor none", c.to_json().contains(r#""anchor":"none""#)),
            (
                "smd averaged",
                matches!(c.step, Choice::Given(AnyStep::Smd { .. })) && c.average.given().is_some_and(|a| *a != Average::None),
            ),
            ("tracker", matches!(c.threshold, Threshold::Tracker { speed: Some(_) })),
            ("tracker that follows", matches!(c.threshold, Threshold::Tracker { speed: None })),
            ("nested", matches!(c.kernel, KernelRule::Scaled { .. })),
            ("shrink on update", c.shrink == Shrink::OnUpdate && c.lambda.given().is_some_and(|l| *l > 0.0)),
            ("targets scaled", !c.target_scale.is_none()),
            (
                "targets of several outputs scaled",
                matches!(&c.target_scale, TargetScale::Fixed { factor, .. } if factor.len() > 1),
            ),
            ("targets scaled in a warm-up", !c.target_scale.is_none() && c.needs_scale()),
            ("tracker of negative scores", matches!(c.threshold, Threshold::Tracker { .. }) && c.to_json().contains("linear")),
            ("one class for long", one_class(&case) > 20 && one_class(&case) < s.rows()),
            ("one class for long under a sign", c.loss.reads() == Reads::Sign && one_class(&case) > 20),
            ("signs of whole numbers", c.loss.reads() == Reads::Sign && c.classes.is_none() && cut && !case.shape.texts),
        ];
        seen.extend(flags.iter().filter(|f| f.1).map(|f| f.0.to_string()));
    }
    // 10 kernels, 15 losses, 9 steps and auto, 9 budgets and none, 3 averages and auto, 2 thresholds, 4 scales, 3 regularisers, 32 flags.
    assert_eq!(seen.len(), 10 + 15 + 10 + 10 + 4 + 2 + 4 + 3 + 32, "{seen:#?}");
}

/// How many rows come before a second class is named, if classes are discovered.
fn one_class(case: &Case) -> usize {
    let Answers::Labels(labels) = &case.stream.answers else { return 0 };
    let heard: Vec<usize> = (0..labels.len()).filter(|&i| !case.stream.silent(i)).collect();
    let Some(first) = heard.first().filter(|_| case.config.classes.is_none()) else { return 0 };
    heard.iter().find(|&&i| labels[i] != labels[*first]).copied().unwrap_or(labels.len())
}

/// FNV-1a over everything in a trace.
fn digest(trace: &Trace) -> u64 {
    format!("{trace:?}").bytes().fold(0xcbf2_9ce4_8422_2325, |hash, b| (hash ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// One line per case: its digest and its configuration.
fn digests() -> String {
    let line =
        |case: &Case| format!("{:016x} {}\n", digest(&run(case, &case.cuts, &Departure::default())), case.config.to_json());
    cases::fixed_cases(120).iter().map(line).collect()
}

/// Each backend in a process of its own, because `OKL_BACKEND` speaks for a process: this test, told where to leave its digests.
#[test]
fn every_backend() {
    const LEAVE: &str = "OKL_TEST_DIGESTS";
    let here = digests();
    if let Some(path) = std::env::var_os(LEAVE) {
        return std::fs::write(path, here).unwrap();
    }
    for backend in Backend::available() {
        let path = std::env::temp_dir().join(format!("okl-digests-{}-{}", std::process::id(), backend.name()));
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        let output =
            child.args(["--exact", "every_backend"]).env("OKL_BACKEND", backend.name()).env(LEAVE, &path).output().unwrap();
        assert!(output.status.success(), "{backend:?}: {}", String::from_utf8_lossy(&output.stdout));
        let there = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let differ: Vec<_> = here.lines().zip(there.lines()).filter(|(a, b)| a != b).collect();
        assert!(differ.is_empty() && here.lines().count() == there.lines().count(), "{backend:?} differs: {differ:#?}");
    }
}

/// A term's weight and its repetition are part of the stream: a comparison that cannot see them sees nothing.
#[test]
fn other_streams_leave_other_states() {
    let mut told_apart = 0;
    let cases = cases::fixed_cases(40);
    for case in &cases {
        let mut weights = case.stream.weights.clone().unwrap_or_else(|| vec![1.0; case.stream.rows()]);
        let once = run(case, &case.cuts, &Departure::default());
        let Some(i) = (0..case.stream.rows()).rev().find(|&i| !case.stream.silent(i)) else { continue };
        weights[i] *= 2.0;
        let heavier = Case { stream: Stream { weights: Some(weights), ..case.stream.clone() }, ..case.clone() };
        told_apart += usize::from(once.difference(&run(&heavier, &case.cuts, &Departure::default())).is_some());
        let mut learner = Learner::new(case.config.clone()).unwrap();
        let (mut rows, t) = (Vec::new(), case.stream.rows());
        learn(&mut learner, &case.stream.batch(0..t), &mut rows);
        let before = learner.examples();
        assert_eq!(learner.to_bytes(), once.bytes);
        learn(&mut learner, &case.stream.batch(i..i + 1), &mut rows);
        let twice = before == learner.examples() || learner.to_bytes() != once.bytes;
        assert!(twice, "the last example again left the same state: {}", case.config.to_json());
    }
    // The last example may have been outside of every loss; most are not.
    assert!(told_apart > cases.len() / 3, "{told_apart} of {}", cases.len());
}

/// A kernel over anyone's own rows, whose sum over features may run backwards.
struct Sums {
    backwards: bool,
}

impl Kernel<Vec<f32>> for Sums {
    fn eval(&self, a: &Vec<f32>, b: &Vec<f32>) -> f64 {
        let square = |i: usize| (a[i] - b[i]) * (a[i] - b[i]);
        let order = 0..a.len();
        let r2: f32 = if self.backwards { order.rev().map(square).sum() } else { order.map(square).sum() };
        libm::exp(-0.3 * f64::from(r2))
    }
}

/// A space that has a second path: what a single row is worth against the terms comes from `single`.
struct SecondPath {
    blocks: Items<Vec<f32>, Sums>,
    single: Items<Vec<f32>, Sums>,
}

impl Space for SecondPath {
    type Rows<'a> = &'a [Vec<f32>];

    fn count(rows: &[Vec<f32>]) -> usize {
        rows.len()
    }
    fn range<'a>(rows: Self::Rows<'a>, from: usize, to: usize) -> Self::Rows<'a> {
        &rows[from..to]
    }
    fn planes(&self) -> usize {
        1
    }
    fn reserve(&mut self, slots: usize) {
        self.blocks.reserve(slots);
        self.single.reserve(slots);
    }
    fn put(&mut self, slot: usize, rows: &[Vec<f32>], i: usize) {
        self.blocks.put(slot, rows, i);
        self.single.put(slot, rows, i);
    }
    fn is(&mut self, slot: usize, rows: &[Vec<f32>], i: usize) -> bool {
        self.blocks.is(slot, rows, i)
    }
    fn against_terms(&self, rows: &[Vec<f32>], slots: usize, tile: &mut Block) {
        let space = if rows.len() == 1 { &self.single } else { &self.blocks };
        space.against_terms(rows, slots, tile);
    }
    fn among_rows(&self, rows: &[Vec<f32>], tile: &mut Block) {
        self.blocks.among_rows(rows, tile);
    }
    fn self_values(&self, rows: &[Vec<f32>], i: usize, out: &mut [f64]) {
        self.blocks.self_values(rows, i, out);
    }
    fn term_self_values(&self, slot: usize, out: &mut [f64]) {
        self.blocks.term_self_values(slot, out);
    }
    fn term_row(&mut self, slot: usize, slots: usize, planes: std::ops::Range<usize>, out: &mut [f32]) {
        self.blocks.term_row(slot, slots, planes, out);
    }
    fn pairs(&mut self, slot: usize, rows: &[Vec<f32>], i: usize, out: &mut [Pair]) {
        self.blocks.pairs(slot, rows, i, out);
    }
}

/// Rows and signs for spaces of one's own.
fn own_rows() -> (Vec<Vec<f32>>, Vec<f64>) {
    let mut random = cases::Random(5);
    let rows: Vec<Vec<f32>> = (0..150).map(|_| (0..9).map(|_| random.unit() as f32).collect()).collect();
    let y = rows.iter().map(|x| if x[0] > x[1] { 1.0 } else { -1.0 }).collect();
    (rows, y)
}

/// What a space learns of these rows in blocks of `cut`.
fn learned<P: for<'a> Space<Rows<'a> = &'a [Vec<f32>]>>(
    space: P,
    output: Output,
    loss: AnyLoss,
    outputs: usize,
    cut: usize,
) -> Trace {
    let (rows, y) = own_rows();
    let y: Vec<f64> = y.into_iter().flat_map(|y| vec![y; outputs]).collect();
    let budget = AnyBudget::new(BudgetRule::Window { terms: 60 }, 0.0);
    let rules = Rules {
        regulariser: AnyRegulariser::Square,
        offset: true,
        implicit: false,
        allow_overshoot: false,
        shrink: Shrink::Always,
    };
    let heads = vec![HeadParts { average: Average::Uniform, ..HeadParts::new(AnyStep::Constant { eta: 0.3 }, 0.01) }];
    let mut engine = Engine::new(Parts { basis: Terms::new(space), loss, budget, heads, output, outputs, theta0: None, rules });
    let mut trace = Trace::default();
    for (rows, y) in rows.chunks(cut).zip(y.chunks(cut * outputs)) {
        let labels = Labels { y, width: outputs, ..Labels::default() };
        engine.learn_block(rows, &labels, |_, step| trace.rows.push(Row::of(step)));
    }
    trace.engine(&engine);
    trace
}

/// The control: a space that sums single rows in another order is caught by the same comparison, and an honest one passes.
#[test]
fn another_summation_for_single_rows_is_caught() {
    let run = |backwards: bool, cut: usize| {
        let space = SecondPath { blocks: Items::new(Sums { backwards: false }), single: Items::new(Sums { backwards }) };
        learned(space, Output::Identity, AnyLoss::Logistic {}, 1, cut)
    };
    for cut in [7, 64, 150] {
        assert_eq!(run(false, 1).difference(&run(false, cut)), None);
        assert!(run(true, 1).difference(&run(true, cut)).is_some());
    }
}

/// A general operator-valued kernel, not symmetric as a matrix: the cut does not matter there either.
struct Rotating;

impl OperatorKernel<Vec<f32>> for Rotating {
    fn outputs(&self) -> usize {
        2
    }
    fn eval(&self, a: &Vec<f32>, b: &Vec<f32>, out: &mut [f64]) {
        let (k, turn) = (Sums { backwards: false }.eval(a, b), f64::from(a[2] - b[2]));
        out.copy_from_slice(&[k * libm::cos(turn), -k * libm::sin(turn), k * libm::sin(turn), k * libm::cos(turn)]);
    }
}

#[test]
fn the_cut_does_not_matter_for_operators() {
    let run = |cut: usize| learned(Operators::of(Rotating), Output::Full, AnyLoss::Huber { sigma: 0.5 }, 2, cut);
    for cut in [7, 64, 150] {
        assert_eq!(run(1).difference(&run(cut)), None);
    }
}

fn learner(toml: &str) -> Learner {
    Learner::new(plain(toml).unwrap()).unwrap()
}

/// A class that comes back has an index below the number of outputs: these stay.
#[test]
fn a_class_that_comes_back_keeps_the_others() {
    let mut learner = learner("loss = 'softmax'\nkernel = 'linear'\nclasses = ['a', 'b', 'c']");
    let scores = learner.learn(&Batch::new(&[1.0, 2.0], 1).labels(&["b".into(), "a".into()])).unwrap();
    assert_eq!((learner.outputs(), scores.outputs, learner.coefficients().len()), (3, 3, 6));
}

/// Several planes of kernel values: none before the first term, and a workspace that is larger than they need.
#[test]
fn a_sum_of_operator_kernels_predicts_and_learns_blocks() {
    let sum = "[{ kernel = 'linear', operator = [1.0] }, { kernel = 'gaussian:0.5', operator = [0.5] }]";
    let mut learner = learner(&format!("loss = 'squared'\noperator = {sum}\nstep = 'constant:0.1'"));
    learner.learn(&Batch::new(&[0.5; 90], 1)).unwrap();
    assert_eq!(learner.predict(&mut Workspace::default(), &[1.0], 1).unwrap().values, [0.0]);
    learner.learn(&Batch::new(&[0.5; 40], 1).numbers(&[1.0; 40])).unwrap();
    assert_eq!(learner.terms(), 40);
}

/// A batch without targets has no width; the examples of the warm-up keep theirs.
#[test]
fn a_batch_without_targets_leaves_the_warm_up_alone() {
    let mut learner = learner("loss = 'hinge'\nscale = 'standard'");
    learner.learn(&Batch::new(&[1.0, 2.0], 1).numbers(&[1.0, -1.0])).unwrap();
    let before = learner.to_bytes();
    learner.learn(&Batch::new(&[3.0], 1)).unwrap();
    assert_eq!(learner.to_bytes(), before);
}

/// In a warm-up, too, a class exists from the row that names it: what is learned again after a load does not know it earlier.
#[test]
fn a_class_that_comes_late_in_a_warm_up_survives_a_save() {
    let mut learner = learner("loss = 'softmax'\nkernel = 'gaussian'\nwarmup = 64");
    let labels = ["a", "b", "a", "b", "b", "late"].map(Into::into);
    learner.learn(&Batch::new(&[0.0, 1.0, 0.1, 1.1, 1.2, 3.0], 1).labels(&labels)).unwrap();
    assert_eq!(Learner::from_bytes(&learner.to_bytes()).unwrap().coefficients(), learner.coefficients());
}

/// The zero row is the zero function under a linear kernel: nothing can be projected onto it.
#[test]
fn a_transfer_onto_the_zero_row_stays_finite() {
    let mut learner = learner("loss = 'squared'\nkernel = 'linear'\nbudget = 'transfer:1'\nstep = 'constant:0.1'");
    learner.learn(&Batch::new(&[1.0, 0.0, 2.0], 1).numbers(&[1.0, 1.0, 1.0])).unwrap();
    assert!(learner.coefficients().iter().all(|a| a.is_finite()));
    assert!(learner.truncation_error() > 0.0);
}

/// So is every row under a kernel whose weight is nothing in single precision: nothing can be merged.
#[test]
fn a_merge_of_zero_functions_stays_finite() {
    // The smallest weight that is accepted: products of values vanish.
    let kernel = "{ scaled = { weight = 1.2e-38, of = 'gaussian:1' } }";
    let mut learner = learner(&format!("loss = 'squared'\nkernel = {kernel}\nbudget = 'merge:2'\nstep = 'constant:0.1'"));
    learner.learn(&Batch::new(&[1.0, 0.0, 2.0, 3.0], 1).numbers(&[1.0; 4])).unwrap();
    assert!(learner.coefficients().iter().all(|a| a.is_finite()));
}

/// The Forgetron's spent damage may be negative: a term that f overshoots is dropped at a gain.
#[test]
fn a_forgetron_with_negative_damage_survives_a_save() {
    for seed in 0..20 {
        let mut learner =
            learner("loss = 'perceptron'\nkernel = 'gaussian:0.05'\nbudget = 'forgetron:2'\nstep = 'constant:0.3'\nlambda = 0");
        let mut random = cases::Random(seed);
        for _ in 0..100 {
            let x = [random.unit() as f32 * 2.0 + 2.0, random.unit() as f32 * 2.0 - 1.0];
            let y = if (x[1] > 0.0) != random.often(0.15) { 1.0 } else { -1.0 };
            // A heavy example on top of a light one makes f overshoot the light one.
            let weight = if random.often(0.5) { 1.0 } else { 10.0 };
            learner.learn(&Batch::new(&x, 2).numbers(&[y]).weights(&[weight])).unwrap();
        }
        survives_a_save(&learner);
    }
}

fn survives_a_save(learner: &Learner) {
    assert_eq!(Learner::from_bytes(&learner.to_bytes()).unwrap().to_bytes(), learner.to_bytes());
}

/// Steps that are too large drive f away; what is left is finite all the same, certificates included, and can be saved.
#[test]
fn what_diverges_survives_a_save() {
    let mut learner = learner("loss = 'squared'\nkernel = 'linear'\nstep = 'theorem2'\nbudget = 'unlimited'");
    for i in 0..400u32 {
        let x = [1.0 + (i % 7) as f32, (i % 5) as f32];
        learner.learn(&Batch::new(&x, 2).numbers(&[f64::from(i % 3)])).unwrap();
        survives_a_save(&learner);
    }
    assert!(learner.skipped() > 0 && learner.norm2() > 1e60);
}

/// Weights multiply: the sums of the certificates and the tracker's threshold have to bear the largest.
#[test]
fn enormous_weights_survive_a_save() {
    for loss in ["'nu_novelty:0.5'\nthreshold = 'tracker:0.05'", "'nu_novelty:0.5'", "'nu_epsilon:0.5'", "'nu_hinge:0.5'"] {
        for weight in [1e6, 1e100, 1e200, 1e308] {
            let mut learner = learner(&format!("loss = {loss}\nkernel = 'gaussian:1'\nwarmup = 2"));
            for i in 0..40usize {
                let weight = if i < 5 { 1.0 } else { weight };
                let y = [if loss.contains("hinge") { 1.0 } else { 0.0 }];
                learner.learn(&Batch::new(&[[0.0, 5.0][i % 2]], 1).weights(&[weight]).numbers(&y)).unwrap();
                survives_a_save(&learner);
            }
        }
    }
}

/// alpha^T J alpha of a singular J may round to less than nothing; the certificates do not take its root.
#[test]
fn a_transfer_under_a_singular_operator_stays_finite() {
    let tenths: Vec<String> = (0..9).map(|_| "0.1".to_string()).collect();
    for seed in 0..40 {
        let mut learner = learner(&format!(
            "loss = 'softmax'\nkernel = 'gaussian:1'\nbudget = 'transfer:2'\nclasses = [0, 1, 2]\nstep = 'constant:300'\noperator = [{}]",
            tenths.join(",")
        ));
        let mut random = cases::Random(seed);
        for _ in 0..60 {
            let x = [random.unit() as f32 * 4.0];
            learner.learn(&Batch::new(&x, 1).labels(&[okl::Label::Int(random.below(3) as i64)])).unwrap();
            assert!(learner.truncation_error() >= 0.0, "{}", learner.truncation_error());
        }
    }
}

/// Orthogonal rows share nothing: the new term receives nothing, and keeps what is its own.
#[test]
fn a_transfer_between_orthogonal_rows_is_a_drop() {
    let mut learner = learner("loss = 'squared'\nkernel = 'linear'\nbudget = 'transfer:1'\nstep = 'constant:0.1'\nlambda = 0");
    learner.learn(&Batch::new(&[1.0, 0.0, 0.0, 1.0], 2).numbers(&[1.0, 1.0])).unwrap();
    assert_eq!((learner.coefficients(), learner.centres()), (vec![0.1], vec![0.0, 1.0]));
    assert_eq!(learner.truncation_error(), 0.1);
}

/// eta lambda > 1: the scale alternates in sign, and writing it out leaves -0 in slots that no term has used yet.
#[test]
fn a_negative_scale_leaves_nothing_in_unused_slots() {
    let rows: Vec<f32> = (0..60).map(|i| ((i * 7) % 11) as f32 - 5.0).collect();
    let labels: Vec<Label> = (0..60).map(|i| Label::Int((i * i) % 3)).collect();
    let learn = |learner: &mut Learner, range: std::ops::Range<usize>| {
        learner.learn(&Batch::new(&rows[range.clone()], 1).labels(&labels[range])).unwrap();
    };
    for (eta, stop) in (22..50).step_by(4).flat_map(|eta| (1..60).map(move |stop| (eta, stop))) {
        let text = format!(
            "loss = 'max_margin'\nkernel = 'linear'\nstep = 'constant:{eta}'\nlambda = 0.05\nallow_overshoot = true\naverage = 'uniform'\nbudget = 'unlimited'\nclasses = [0, 1, 2]"
        );
        let mut whole = Learner::new(plain(&text).unwrap()).unwrap();
        let mut half = whole.clone();
        learn(&mut whole, 0..60);
        learn(&mut half, 0..stop);
        let mut resumed = Learner::from_bytes(&half.to_bytes()).unwrap();
        learn(&mut resumed, stop..60);
        assert!(resumed.to_bytes() == whole.to_bytes(), "eta {eta}, saved and loaded after {stop} rows");
    }
}

/// The rows of [`an_id_of_another_input_is_taken_over_whatever_the_cut`] in a window of `terms`, each of which is written: how many
/// take an id over, and what is left of the terms.
fn ids_in_a_window(x: &[f32], ids: &[u64], terms: usize) -> (u64, usize) {
    let (mut window, mut taken_over) = (std::collections::VecDeque::new(), 0);
    for (&x, &id) in x.iter().zip(ids) {
        match window.iter_mut().find(|(_, name)| *name == Some(id)) {
            Some((other, _)) if *other == x => continue,
            Some((_, name)) => (*name, taken_over) = (None, taken_over + 1),
            None => {}
        }
        window.push_back((x, Some(id)));
        if window.len() > terms {
            window.pop_front();
        }
    }
    (taken_over, window.len())
}

/// A row whose id names another input takes the id over; the old term stays, without a name. Nothing depends on the cut, on
/// the warm-up, or on what the budget has dropped in between. In a window the count is that of a plain list of rows.
#[test]
fn an_id_of_another_input_is_taken_over_whatever_the_cut() {
    let rows = 120;
    // Of five rows one is often a revisit, with the features it had before.
    let x: Vec<f32> = (0..rows).map(|i| (if i % 5 == 3 { i / 50 } else { (i * 37) % 23 }) as f32 / 8.0).collect();
    let y: Vec<f64> = x.iter().map(|x| if x.fract() > 0.4 { 1.0 } else { -1.0 }).collect();
    let ids: Vec<u64> = (0..rows as u64).map(|i| [7, 8, 8, 3, i % 25][i as usize % 5]).collect();
    for (budget, window) in
        [("window:1", 1), ("window:9", 9), ("unlimited", rows), ("merge:6", 0), ("transfer:6", 0), ("age:10", 0)]
    {
        for rest in ["step = 'constant:0.5'\nlambda = 0.01", "step = 'auto'\nlambda = 'auto'\nwarmup = 40\nscale = 'standard'"] {
            let run = |cut: usize, saved: usize| {
                let mut learner = learner(&format!("loss = 'logistic'\nkernel = 'gaussian:1'\nbudget = '{budget}'\n{rest}"));
                for from in (0..rows).step_by(cut) {
                    let to = rows.min(from + cut);
                    learner.learn(&Batch::new(&x[from..to], 1).numbers(&y[from..to]).ids(&ids[from..to])).unwrap();
                    if (from..to).contains(&saved) {
                        learner = Learner::from_bytes(&learner.to_bytes()).unwrap();
                    }
                }
                (learner.health().ids_taken_over, learner.terms(), learner.to_bytes())
            };
            let expected = run(1, rows);
            assert!(expected.0 > 0, "{budget}, {rest}");
            if window > 0 {
                assert_eq!((expected.0, expected.1), ids_in_a_window(&x, &ids, window), "{budget}, {rest}");
            }
            for (cut, saved) in [(rows, rows), (1, 30), (7, 50), (33, 33)] {
                assert!(run(cut, saved) == expected, "{budget}, {rest}, cut {cut}, saved at {saved}");
            }
        }
    }
}
