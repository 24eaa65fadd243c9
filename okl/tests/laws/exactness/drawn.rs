//! Random configurations and streams.

use std::collections::BTreeSet;

use super::*;
use crate::support::cases;
use okl::config::Heads;
use okl::config::families::FAMILIES;

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
    /// Whether every second call has its rows in double precision.
    mixed: bool,
    /// Whether the batch of a call is checked before the previous batch is learned, as in a server.
    ahead: bool,
    /// Whether the learner is published before every call, so that all its centres are shared.
    published: bool,
    /// Which calls have sparse rows.
    sparse: Which,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Which {
    #[default]
    None,
    /// Two of three, by the number of the first row.
    Some,
    All,
}

impl Which {
    fn has(self, from: usize) -> bool {
        self == Which::All || (self == Which::Some && from % 3 != 1)
    }
}

fn run(case: &Case, cuts: &[usize], how: &Departure) -> Trace {
    let rows = case.stream.rows();
    let widened = case.widened.filter(|_| how.widened);
    let mut config = case.config.clone();
    if let (Scale::Fixed { shift, factor, log_units, whiten, .. }, Some((early, _))) = (&mut config.scale, widened) {
        [shift, factor, log_units].into_iter().for_each(|of| of.truncate(early));
        whiten.truncate(early * (early + 1) / 2);
    }
    let mut learner = Learner::new(config).unwrap();
    learner.set_threads(how.threads).unwrap();
    let narrow = widened.map(|(early, at)| case.stream.narrow(early, at));
    let stops = [widened.map_or(rows, |w| w.1), if how.saved { case.saved_at } else { rows }];
    let mut trace = Trace::default();
    let (mut from, mut waiting, mut models) = (0, None, Vec::new());
    for to in ends(rows, cuts, &stops) {
        let early = narrow.as_ref().filter(|_| widened.is_some_and(|w| to <= w.1));
        let (stream, double) = (early.unwrap_or(&case.stream), how.mixed && from % 2 == 0);
        let batch = match how.sparse.has(from) {
            true => stream.sparse_batch(from..to, double),
            false => stream.batch_as(from..to, double),
        };
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
        let predicted = learner.predict_with(&mut workspace, &x);
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
    let most = learner.config().budget().capacity().unwrap_or(usize::MAX);
    assert!(learner.terms() <= most, "{} terms, at most {most} allowed: {}", learner.terms(), case.config.to_json());
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
    let all_of_it = Departure { threads: 2, saved: true, widened: true, mixed: true, ahead: true, published: true, ..two };
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
    check_sparse(case, &expected);
}

/// Sparse rows, in all calls or in some of them, give the scores and the state of dense ones. The file differs in how it holds the
/// centres, and is the same for every cut.
fn check_sparse(case: &Case, expected: &Trace) {
    let (all, rows) = (Which::All, [case.stream.rows()]);
    let sparse = |saved, sparse| Departure { saved, sparse, ..Departure::default() };
    let mixture =
        Departure { threads: 2, saved: true, widened: true, mixed: true, ahead: true, published: true, sparse: Which::Some };
    let runs: [(&str, &[usize], Departure); 4] = [
        ("sparse rows", &rows, sparse(false, all)),
        ("sparse rows, cut and saved", &case.cuts, sparse(true, all)),
        ("dense and sparse rows", &case.cuts, sparse(false, Which::Some)),
        ("dense and sparse rows, all of it", &case.cuts, mixture),
    ];
    let mut files = Vec::new();
    for (what, cuts, how) in runs {
        let mut found = run(case, cuts, &how);
        files.push(std::mem::replace(&mut found.bytes, expected.bytes.clone()));
        let difference = expected.difference(&found);
        assert!(difference.is_none(), "{what} differ: {}\n{}", difference.unwrap_or_default(), case.config.to_json());
    }
    assert!(files[0] == files[1], "the cut changes the file of sparse rows: {}", case.config.to_json());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases::count(1000), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_cut_does_not_matter(case in cases::small()) {
        check(&case);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases::count(60), failure_persistence: None, max_shrink_iters: 200, ..ProptestConfig::default() })]
    #[test]
    fn the_cut_does_not_matter_for_wide_rows(case in cases::wide()) {
        check(&case);
    }
}

/// The property above would say nothing of a part that is never drawn: every name of a configuration is, and every flag below.
#[test]
fn every_part_is_drawn() {
    let mut seen = BTreeSet::new();
    let mut all: BTreeSet<String> =
        FAMILIES.iter().flat_map(|f| f.names().map(move |name| format!("{} {name}", f.key))).collect();
    all.insert("budget default".into());
    // Rows of kernel values have a property test of their own: precomputed.rs.
    all.remove("kernel precomputed");
    for case in cases::fixed_cases(6000) {
        let (c, s) = (&case.config, &case.stream);
        let json: serde_json::Value = serde_json::from_str(&c.to_json()).unwrap();
        for family in &FAMILIES {
            let first = json[family.key].get(0).unwrap_or(&json[family.key]);
            let name = match first {
                serde_json::Value::Object(table) => table.keys().next().cloned().unwrap_or_default(),
                value => value.as_str().unwrap_or("default").to_string(),
            };
            seen.insert(format!("{} {name}", family.key));
        }
        if c.memory.is_some() {
            seen.insert("budget auto".into());
        }
        let preset = matches!(c.step, Choice::Given(AnyStep::Smd { preset: Some(_), .. }));
        let cut = matches!(c.loss.reads(), Reads::Class | Reads::Sign) && matches!(s.answers, Answers::Labels(_));
        let flags = [
            ("implicit", c.implicit),
            ("terms doubled", doubled(&case)),
            ("units changed", units_changed(&case)),
            ("offset", c.offset),
            ("offset that learns more slowly", c.offset_step.is_some_and(|step| step > 0.0)),
            ("offset that stays", c.offset_step == Some(0.0)),
            ("preset", preset),
            ("overshoot", c.allow_overshoot && c.lambda.given().is_some_and(|l| *l > 0.0)),
            ("classes given", c.classes.is_some()),
            ("classes discovered", cut && c.classes.is_none()),
            ("operator J", matches!(c.operator, Some(OperatorRule::Matrix(_)))),
            ("operator sum", matches!(c.operator, Some(OperatorRule::Sum(_)))),
            ("gamma auto", c.to_json().contains(r#""gamma":"auto""#)),
            (
                "density whose width is found",
                matches!(*c.loss, AnyLoss::Density { .. }) && c.to_json().contains(r#""gamma":"auto""#),
            ),
            ("lambda auto", c.lambda == Choice::Auto),
            ("bank", c.members().len() > 1),
            ("bank with averages", c.members().len() > 1 && c.members().iter().any(|m| m.average != c.members()[0].average)),
            ("bank of widths", c.members().iter().any(|m| m.width > 0)),
            ("merge without a Gaussian kernel", merges(c) && !c.to_json().contains("gaussian")),
            (
                "merge under an exponential kernel alone",
                merges(c)
                    && c.kernel.given().is_some_and(|k| k.all().len() == 1 && matches!(**k, KernelRule::Exponential { .. })),
            ),
            ("weights", c.uses_weights()),
            ("weights by default", c.uses_weights() && c.form == Choice::Auto),
            ("terms where weights are the default", c.form != Choice::Auto && !c.uses_weights() && c.budget.is_none()),
            ("weights in a bank", c.uses_weights() && c.members().len() > 1),
            ("weights with smd", c.uses_weights() && matches!(c.step, Choice::Given(AnyStep::Smd { .. }))),
            ("weights of products", products(c)),
            ("weights of products widened", products(c) && case.widened.is_some()),
            ("weights of products over sparse rows", products(c) && c.keeps_zeros()),
            ("weights of products with smd", products(c) && matches!(c.step, Choice::Given(AnyStep::Smd { .. }))),
            ("weights of products of classes", products(c) && c.loss.reads() == Reads::Class),
            ("step sizes per coordinate", cases::has_step_per_coordinate(c) && c.lambda.given().is_some_and(|l| *l > 0.0)),
            ("step sizes per coordinate without lambda", cases::has_step_per_coordinate(c) && c.lambda == Choice::Given(0.0)),
            ("step sizes per coordinate in a bank", cases::has_step_per_coordinate(c) && c.members().len() > 1),
            ("step sizes per coordinate of random features", cases::has_step_per_coordinate(c) && fourier(c)),
            ("step sizes per coordinate of classes", cases::has_step_per_coordinate(c) && c.loss.reads() == Reads::Class),
            (
                "step sizes per coordinate over sparse rows",
                cases::has_step_per_coordinate(c) && c.keeps_zeros() && !fourier(c) && case.widened.is_some(),
            ),
            ("weights with an operator", c.uses_weights() && c.operator.is_some()),
            ("weights widened", c.uses_weights() && case.widened.is_some()),
            ("weights of classes", c.uses_weights() && c.loss.reads() == Reads::Class),
            ("sparse rows that stay sparse", c.keeps_zeros() && s.x.iter().filter(|x| **x == 0.0).count() > s.x.len() / 2),
            ("sparse rows that are scaled", c.keeps_zeros() && c.needs_scale()),
            ("logarithms", c.scale == Scale::Log),
            ("logarithms of sparse rows", c.scale == Scale::Log && c.keeps_zeros()),
            ("logarithms widened", c.scale == Scale::Log && case.widened.is_some()),
            ("given logarithms", matches!(&c.scale, Scale::Fixed { log_units, .. } if !log_units.is_empty())),
            ("whitened rows", c.scale == Scale::Whiten),
            ("whitened rows widened", c.scale == Scale::Whiten && case.widened.is_some()),
            ("whitened rows whose units follow", c.scale == Scale::Whiten && !c.uses_weights()),
            ("given whitening", matches!(&c.scale, Scale::Fixed { whiten, .. } if !whiten.is_empty())),
            (
                "given whitening widened",
                matches!(&c.scale, Scale::Fixed { whiten, .. } if !whiten.is_empty()) && case.widened.is_some(),
            ),
            ("sparse rows that are merged", c.keeps_zeros() && merges(c)),
            ("weights over sparse rows", c.keeps_zeros() && c.uses_weights()),
            ("random features", fourier(c)),
            ("random features of several widths", fourier(c) && c.members().iter().any(|m| m.width > 0)),
            ("random features whose widths follow", fourier(c) && c.widths.given().is_some()),
            ("random features with smd", fourier(c) && matches!(c.step, Choice::Given(AnyStep::Smd { .. }))),
            ("random features widened", fourier(c) && case.widened.is_some()),
            ("orthogonal random features", matches!(c.form, Choice::Given(Form::Fourier { orthogonal: true, .. }))),
            ("random features of sparse rows", fourier(c) && c.keeps_zeros()),
            ("random features with an operator", fourier(c) && c.operator.is_some()),
            ("balanced classes", c.class_weight == ClassWeight::Balanced),
            ("balanced classes in a warm-up", c.class_weight == ClassWeight::Balanced && c.needs_scale()),
            ("balanced classes under a sign", c.class_weight == ClassWeight::Balanced && c.loss.reads() == Reads::Sign),
            ("weights of classes in a table", matches!(c.class_weight, ClassWeight::Table(_))),
            ("theta0", c.theta0.is_some()),
            ("known", s.known.is_some()),
            ("alerts of rows that are only predicted", s.known.is_some() && c.loss.reads() == Reads::Nothing),
            ("example weights", s.weights.is_some()),
            ("ids", s.ids.is_some()),
            ("widened", case.widened.is_some()),
            ("anchor none", c.to_json().contains(r#""anchor":"none""#)),
            (
                "smd averaged",
                matches!(c.step, Choice::Given(AnyStep::Smd { .. })) && c.average.given().is_some_and(|a| *a != Average::None),
            ),
            ("tracker", matches!(c.threshold, Threshold::Tracker { speed: Some(_) })),
            ("tracker that follows", matches!(c.threshold, Threshold::Tracker { speed: None })),
            ("nested", c.kernel.given().is_some_and(|k| matches!(**k, KernelRule::Scaled { .. }))),
            ("widths that follow", c.widths.given().is_some() && c.members().iter().any(|m| m.width > 0)),
            ("selected heads", c.kernel == Choice::Auto && c.members().iter().any(|m| m.step == AnyStep::Constant { eta: 20.0 })),
            ("weighted heads", c.kernel == Choice::Auto && learned_with_weights(&case)),
            ("weighted heads alone", c.heads == Choice::Given(Heads::Weighted)),
            ("weight vectors beside terms", Learner::new(c.clone()).unwrap().linear_weights().is_some()),
            ("weights of columns", !c.relevance.is_empty()),
            ("weights of columns widened", !c.relevance.is_empty() && case.widened.is_some()),
            ("weights of columns of merged terms", !c.relevance.is_empty() && merges(c)),
            ("weights of columns and units that follow", !c.relevance.is_empty() && c.scale == Scale::Auto),
            ("weights of columns in a bank", !c.relevance.is_empty() && c.members().len() > 1),
            ("weights of columns with smd", !c.relevance.is_empty() && matches!(c.step, Choice::Given(AnyStep::Smd { .. }))),
            ("weights of some kernels' columns", !c.relevance.is_empty() && c.kernel == Choice::Auto),
            ("varied heads", c.offset && c.members().iter().any(|m| m.offset_step != c.members()[0].offset_step)),
            (
                "head that forgets",
                c.kernel == Choice::Auto && c.members().iter().any(|m| m.step == AnyStep::Constant { eta: 1.0 }),
            ),
            ("bank of kernels", c.kernel.given().is_some_and(|k| k.all().len() > 1)),
            ("bank of losses", c.loss.all().len() > 1),
            ("bank of kernels and losses", c.loss.all().len() > 1 && c.kernel.given().is_some_and(|k| k.all().len() > 1)),
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
        all.extend(flags.iter().map(|f| f.0.to_string()));
        seen.extend(flags.iter().filter(|f| f.1).map(|f| f.0.to_string()));
    }
    assert_eq!(seen, all);
}

/// Whether f is a weight vector over the features of a polynomial kernel.
fn products(config: &okl::Config) -> bool {
    config.uses_weights() && config.to_json().contains("polynomial")
}

fn fourier(config: &okl::Config) -> bool {
    matches!(config.form, Choice::Given(Form::Fourier { .. }))
}

/// Whether the units of the columns change.
fn units_changed(case: &Case) -> bool {
    case.config.scale == Scale::Auto && case.shape.seed % 4 == 1 && {
        let mut learner = Learner::new(case.config.clone()).unwrap();
        let learned = learner.learn(&case.stream.batch_as(0..case.stream.rows(), false));
        learned.is_ok() && learner.unit_changes().is_some_and(|(changes, _)| changes > 0)
    }
}

/// Whether some kernels of the bank of `kernel = auto` read weighted columns, once there are weights.
fn learned_with_weights(case: &Case) -> bool {
    Learner::new(case.config.clone()).unwrap().weight_changes().is_some()
}

fn merges(config: &okl::Config) -> bool {
    matches!(config.budget(), BudgetRule::Merge { terms } if terms < 100)
}

/// Whether the budget doubles its number of terms.
fn doubled(case: &Case) -> bool {
    let terms = |config: &okl::Config| config.budget().capacity();
    case.config.memory.is_some() && {
        let mut learner = Learner::new(case.config.clone()).unwrap();
        learner.learn(&case.stream.batch_as(0..case.stream.rows(), false)).unwrap();
        terms(learner.config()) != terms(&case.config)
    }
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
        let output = child
            .args(["--exact", "exactness::drawn::every_backend"])
            .env("OKL_BACKEND", backend.name())
            .env(LEAVE, &path)
            .output()
            .unwrap();
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
