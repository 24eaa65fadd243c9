//! Exported models against the learner they come from: every built-in kernel under every kind of model.
//!
//! LIBSVM text and JSON are evaluated here, by evaluators that share nothing with the writers. ONNX graphs and LIBSVM
//! text are also run by onnxruntime and LIBSVM themselves (`export_check.py`), if `OKL_PYTHON` names a Python that has
//! `onnxruntime`, `libsvm-official` and `numpy`.

#[path = "../../okl/tests/support/plain.rs"]
mod plain;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use okl::loss::{Loss, Reads};
use okl::{Batch, Config, Label, Learner, Targets};
use okl_cli::export::{To, export};
use plain::plain;
use serde_json::{Value, json};

const FEATURES: usize = 4;
const LEARNED: usize = 240;
const ASKED: usize = 80;

/// splitmix64, on [-1, 1).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// (name, kernel, does it depend on differences only?)
const KERNELS: [(&str, &str, bool); 11] = [
    ("linear", "'linear'", false),
    ("polynomial", "'polynomial:degree=3,gamma=0.5,coef0=1'", false),
    ("gaussian", "'gaussian:0.7'", true),
    ("exponential", "'exponential:0.7'", true),
    ("manhattan", "'manhattan:0.4'", true),
    ("matern32", "'matern32:0.7'", true),
    ("matern52", "'matern52:0.7'", true),
    ("rational_quadratic", "'rational_quadratic:gamma=0.7,alpha=1.5'", true),
    ("scaled", "{ scaled = { weight = 2.5, of = { scaled = { weight = 0.5, of = 'gaussian:0.7' } } } }", true),
    ("sum", "{ sum = ['linear', 'gaussian:0.7', { scaled = { weight = 0.3, of = 'matern52:0.4' } }] }", false),
    ("product", "{ product = ['exponential:0.2', { sum = ['gaussian:0.7', 'polynomial:degree=2,gamma=0.2,coef0=0'] }] }", false),
];

/// (name, settings besides the kernel)
const KINDS: [(&str, &str); 10] = [
    ("hinge", "loss = 'hinge'\noffset = true\nbudget = 'age:200'"),
    ("signs", "loss = 'logistic'\nbudget = 'window:200'"),
    ("squared", "loss = 'squared'\noffset = true\nstep = 'constant:0.1'\nimplicit = true\nbudget = 'window:60'"),
    ("max_margin", "loss = 'max_margin'\noffset = true\nbudget = 'window:80'"),
    (
        "vector",
        "loss = 'squared'\noffset = true\nstep = 'constant:0.1'\nimplicit = true\noperator = [1.0, 0.3, 0.3, 0.5]\nbudget = 'window:60'",
    ),
    ("novelty", "loss = 'nu_novelty:0.3'\nlambda = 0.01\nbudget = 'window:60'"),
    ("average", "loss = 'hinge'\noffset = true\naverage = 'uniform'\nbudget = 'window:200'"),
    (
        "standard",
        "loss = 'squared'\noffset = true\nstep = 'constant:0.05'\nimplicit = true\nscale = 'standard'\nwarmup = 64\nbudget = 'window:60'",
    ),
    ("anchor", "loss = 'hinge'\noffset = true\nbudget = 'transfer:120'"),
    (
        "warming",
        "loss = 'squared'\nstep = 'constant:0.05'\nimplicit = true\nscale = 'standard'\nwarmup = 1000\nbudget = 'window:60'",
    ),
];

/// A trained model and what it says of some rows.
struct Case {
    name: String,
    learner: Learner,
    x: Vec<f64>,
    scores: Vec<f64>,
}

impl Case {
    fn new(name: String, learner: Learner, x: Vec<f64>) -> Self {
        let scores = learner.predict(&Batch::of_f64(&x, learner.features())).unwrap().values;
        Case { name, learner, x, scores }
    }

    fn rows(&self) -> impl Iterator<Item = (&[f64], &[f64])> {
        self.x.chunks_exact(self.learner.features()).zip(self.scores.chunks_exact(self.learner.outputs()))
    }

    fn reads(&self) -> Reads {
        self.learner.config().loss.reads()
    }
}

/// Rows around `centre`; features have different scales where the frame is to be seen.
fn rows(random: &mut Random, count: usize, centre: f64, spread: bool) -> Vec<f64> {
    let scale = |j: usize| if spread { [1.0, 10.0, 0.1, 3.0][j % 4] } else { 1.0 };
    (0..count * FEATURES).map(|i| scale(i % FEATURES) * (centre + random.next())).collect()
}

/// For each row: whether its first feature is above the mean, and whether its last two features are on the same side of theirs.
fn sides(x: &[f64]) -> Vec<(bool, bool)> {
    let count = (x.len() / FEATURES) as f64;
    let mean = |j: usize| x.iter().skip(j).step_by(FEATURES).sum::<f64>() / count;
    let means = [mean(0), mean(2), mean(3)];
    x.chunks_exact(FEATURES).map(|row| (row[0] > means[0], (row[2] > means[1]) == (row[3] > means[2]))).collect()
}

/// A model of these labels, one for each answer to the two questions, in turn.
fn labelled(name: &str, settings: &str, labels: &[Label]) -> Case {
    let mut random = Random(11);
    let x = rows(&mut random, LEARNED, 0.0, false);
    let targets: Vec<Label> =
        sides(&x).iter().map(|(a, b)| labels[(usize::from(*a) + 2 * usize::from(*b)) % labels.len()].clone()).collect();
    let mut learner = Learner::new(plain(settings).unwrap()).unwrap();
    learner.learn(&Batch::of_f64(&x, FEATURES).labels(&targets)).unwrap();
    Case::new(name.into(), learner, rows(&mut random, ASKED, 0.0, false))
}

fn trained(settings: &str, x: &[f64]) -> Learner {
    let mut learner = Learner::new(plain(settings).unwrap()).unwrap();
    let sides = sides(x).into_iter();
    let number = |b: bool| if b { 1.0 } else { -1.0 };
    let two = learner.outputs() == 2;
    let numbers: Vec<f64> =
        sides.clone().flat_map(|(a, b)| [number(a), number(b)].into_iter().take(1 + usize::from(two))).collect();
    let pairs: Vec<Label> = sides.clone().map(|(a, _)| Label::Int(if a { 7 } else { 3 })).collect();
    let fours: Vec<Label> =
        sides.map(|(a, b)| Label::from(["north", "east", "south", "west"][usize::from(a) + 2 * usize::from(b)])).collect();
    let targets = match learner.config().loss.reads() {
        Reads::Nothing => Targets::None,
        Reads::Class => Targets::Labels(&fours),
        Reads::Sign if !settings.contains("logistic") => Targets::Labels(&pairs),
        _ => Targets::Numbers(&numbers),
    };
    learner.learn(&Batch::of_f64(x, FEATURES).targets(targets)).unwrap();
    learner
}

fn case(name: String, settings: &str, centre: f64, spread: bool) -> Case {
    let mut random = Random(name.bytes().fold(7, |h: u64, b| h.wrapping_mul(31) + u64::from(b)));
    let x = rows(&mut random, LEARNED, centre, spread);
    let learner = trained(settings, &x);
    assert!(learner.terms() > 5 || learner.weights().is_some(), "{name} has {} terms", learner.terms());
    // New rows, and some that the learner knows: their distance to a centre is 0.
    let mut asked = rows(&mut random, ASKED, centre, spread);
    asked.extend_from_slice(&x[x.len() - 8 * FEATURES..]);
    let case = Case::new(name, learner, asked);
    let decisions: Vec<_> = case.rows().map(|(_, z)| decision(&case, z)).collect();
    let varied = decisions.iter().any(|d| d != &decisions[0]);
    assert!(varied || matches!(case.reads(), Reads::Vector | Reads::Number), "{} decides nothing", case.name);
    case
}

fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for (kernel, rule, invariant) in KERNELS {
        for (kind, settings) in KINDS {
            let far = if kind == "anchor" && invariant { 100.0 } else { 0.0 };
            let spread = kind == "standard" || kind == "warming";
            // Scales of features, where they differ, are found from the data, and some widths with them.
            let rule = if kind == "warming" { rule.replace("gaussian:0.7", "gaussian") } else { rule.into() };
            all.push(case(format!("{kernel}-{kind}"), &format!("{settings}\nkernel = {rule}"), far, spread));
        }
    }
    all.extend(special_cases());
    all
}

/// What the table does not reach.
fn special_cases() -> Vec<Case> {
    let parts =
        "[{ kernel = 'gaussian:0.7', operator = [1.0, 0.3, 0.3, 0.5] }, { kernel = 'linear', operator = [0.2, 0.0, 0.0, 0.1] }]";
    let fixed = |shift: &str, factor: &str| format!("scale = {{ fixed = {{ shift = [{shift}], factor = [{factor}] }} }}");
    let hinge = "loss = 'hinge'\noffset = true\nbudget = 'window:200'";
    let squared = "loss = 'squared'\noffset = true\nstep = 'constant:0.1'\nbudget = 'window:60'\naverage = 'uniform'";
    let units = |shift: &str, factor: &str| format!("target_scale = {{ fixed = {{ shift = [{shift}], factor = [{factor}] }} }}");
    let of = |name: &str, settings: String| case(name.into(), &settings, 0.0, false);
    vec![
        of("units-of-one", format!("{squared}\nkernel = 'gaussian:0.7'\n{}", units("20.0", "0.3"))),
        of("units-of-two", format!("{squared}\nkernel = 'gaussian:0.7'\noperator = [1.0, 0.3, 0.3, 0.5]\n{}", units("20.0, -3.0", "0.3, 7.0"))),
        of("units-of-a-sum", format!("{squared}\noperator = {parts}\n{}", units("20.0, -3.0", "0.3, 7.0"))),
        of("units-of-a-bank", format!("loss = 'squared'\noffset = true\nkernel = 'gaussian:auto'\nstep = 'auto'\nlambda = 'auto'\nscale = 'auto'\nbudget = 'merge:60'\nwarmup = 32\n{}", units("20.0, -3.0", "0.3, 7.0"))),
        of("operator-sum", format!("loss = 'squared'\nstep = 'constant:0.1'\nbudget = 'window:60'\noperator = {parts}")),
        of("one-output-operator", "loss = 'squared'\nkernel = 'gaussian:0.7'\noperator = [0.6]\nstep = 'constant:0.1'".into()),
        of(
            "merged",
            "loss = 'nu_hinge'\nkernel = 'gaussian:0.7'\nbudget = 'merge:30'\naverage = 'exponential:0.01'\noffset = true".into(),
        ),
        of("smd", "loss = 'softmax'\nkernel = 'gaussian:0.7'\nstep = 'smd:eta=0.1'\nbudget = 'window:60'".into()),
        of(
            "tracker",
            "loss = 'nu_novelty:0.1'\nkernel = 'gaussian:0.7'\nthreshold = 'tracker'\nwarmup = 50\nbudget = 'window:60'".into(),
        ),
        of(
            "averaged-novelty",
            "loss = 'nu_novelty:0.1'\nkernel = 'gaussian:0.7'\naverage = 'uniform'\nbudget = 'window:60'".into(),
        ),
        of("equal-factors", format!("{hinge}\nkernel = 'gaussian:0.7'\n{}", fixed("0.1, 0.2, 0.3, 0.4", "1.5, 1.5, 1.5, 1.5"))),
        of(
            "stretched-polynomial",
            format!("{hinge}\nkernel = 'polynomial'\n{}", fixed("0.0, 0.0, 0.0, 0.0", "0.5, 1.0, 0.7, 0.2")),
        ),
        of(
            "cut-off",
            format!(
                "{hinge}\nkernel = 'gaussian:0.7'\nscale = {{ fixed = {{ shift = [0.1, 0.2, 0.3, 0.4], factor = [1.5, 1.5, 1.5, 1.5], limit = 0.5 }} }}"
            ),
        ),
        of("power", format!("{hinge}\nkernel = 'polynomial:degree=7,gamma=0.2,coef0=1'")),
        of("bank", "loss = 'hinge'\noffset = true\nkernel = 'gaussian:auto'\nstep = 'auto'\nlambda = 'auto'\nscale = 'auto'\nwarmup = 32\nbudget = 'merge:60'".into()),
        of("bank-of-kernels", "loss = ['hinge', 'logistic']\noffset = true\nkernel = ['gaussian:auto', 'exponential:auto']\nstep = 'auto'\nlambda = 'auto'\nscale = 'auto'\nwarmup = 32\nbudget = 'transfer:60'".into()),
        of("bank-of-kernels-for-classes", "loss = ['max_margin', 'softmax']\nkernel = ['exponential:0.9', 'matern32:0.5', 'linear']\nstep = 'auto'\nbudget = 'window:60'".into()),
        of("bank-of-classes", "loss = 'max_margin'\nkernel = { gaussian = { gamma = [0.3, 1.2] } }\nstep = 'auto'\nbudget = 'merge:60'".into()),
        of("columns-with-weights", format!("{hinge}\nkernel = 'gaussian:0.7'\nrelevance = [0.5, 2.0, 3.0]")),
        of("columns-with-weights-in-a-bank", "loss = ['max_margin', 'softmax']\noffset = true\nkernel = 'auto'\nheads = 'weighted'\nstep = 'auto'\nlambda = 'auto'\nscale = 'auto'\nwarmup = 32\nbudget = 'merge:60'\nrelevance = [0.5, 2.0, 3.0]".into()),
        of("vectors", format!("loss = ['max_margin', 'softmax']\noffset = true\nscale = 'auto'\n{VECTORS}")),
        of("vectors-of-numbers", format!("loss = 'squared'\noffset = true\nscale = 'auto'\ntarget_scale = {{ fixed = {{ shift = [0.5], factor = [2.0] }} }}\n{VECTORS}")),
        // Most numbers are beyond 8, where the kernels clip them, and some beyond 64.
        of("vectors-far", format!("loss = ['hinge', 'logistic']\noffset = true\nscale = {{ fixed = {{ shift = [0.1, 0.2, 0.3, 0.4], factor = [30.0, 300.0, 3.0, 20.0], limit = 8.0 }} }}\n{VECTORS}")),
        of("vectors-whitened", format!("loss = ['hinge', 'logistic']\noffset = true\nscale = 'whiten'\n{VECTORS}")),
        of("vectors-whitened-of-classes", format!("loss = ['max_margin', 'softmax']\noffset = true\nscale = 'whiten'\n{VECTORS}")),
        of("vectors-whitened-and-given", format!("loss = 'squared'\noffset = true\nscale = {{ fixed = {{ shift = [0.1, 0.2, 0.0, 0.0], factor = [1.5, 0.5, 1.0, 1.0], whiten = [0.8, -0.3, 1.2] }} }}\n{VECTORS}")),
        of("whitened-weights", "loss = 'squared'\noffset = true\nkernel = 'linear'\nscale = { fixed = { shift = [0.1, 0.2, 0.0, 0.0], factor = [1.5, 0.5, 1.0, 1.0], limit = 1.5, whiten = [0.8, -0.3, 1.2] } }".into()),
        far("far-from-zero"),
        of("logarithms", format!("{squared}\nkernel = 'gaussian:0.7'\nscale = 'log'\nwarmup = 32")),
        of("whitened", "loss = 'density:0.1'\nkernel = 'gaussian'\nscale = 'whiten'\nwarmup = 32\nbudget = 'window:60'".into()),
        of("whitened-and-fixed", format!("{squared}\nkernel = 'gaussian:0.7'\nscale = {{ fixed = {{ shift = [0.1, 0.2, 0.0, 0.0], factor = [1.5, 0.5, 1.0, 1.0], whiten = [0.8, -0.3, 1.2] }} }}")),
        of("logarithms-of-a-weight-vector", format!("{hinge}\nkernel = 'linear'\nform = 'weights'\nscale = 'log'\nwarmup = 32").replace("budget = 'window:200'", "")),
        labelled("numbered-classes", "loss = 'max_margin'\nkernel = 'gaussian:0.7'", &[9, -4, 1_000_000_007, 2].map(Label::Int)),
        labelled("mixed-classes", "loss = 'softmax'\nkernel = 'gaussian:0.7'", &["b".into(), Label::Int(7), "é".into()]),
        labelled("two-names", "loss = 'hinge'\nkernel = 'gaussian:0.7'", &["yes".into(), "no".into()]),
        labelled("two-numbers", "loss = 'hinge'\nkernel = 'gaussian:0.7'", &[Label::Int(12), Label::Int(5)]),
        of("weights", "loss = 'hinge'\noffset = true\nkernel = 'linear'\naverage = 'uniform'".into()),
        of("weights-of-classes", "loss = 'softmax'\noffset = true\nkernel = 'linear'\nscale = 'standard'\nwarmup = 32".into()),
        of("weights-in-a-bank", "loss = 'squared'\noffset = true\nkernel = 'linear'\nstep = 'auto'\nlambda = 'auto'\nscale = 'auto'\nwarmup = 32".into()),
        of("weights-under-an-operator", "loss = 'squared'\nstep = 'constant:0.1'\nkernel = 'linear'\noperator = [1.0, 0.3, 0.3, 0.5]\ntarget_scale = { fixed = { shift = [0.5, 1.0], factor = [2.0, 0.25] } }".into()),
        of("weights-of-products", format!("loss = 'hinge'\noffset = true\naverage = 'uniform'\n{PRODUCTS}")),
        of("weights-of-products-of-classes", format!("loss = 'softmax'\noffset = true\nscale = 'standard'\nwarmup = 32\n{PRODUCTS}")),
        of("weights-of-products-in-a-bank", format!("loss = 'squared'\noffset = true\nstep = 'auto'\nlambda = 'auto'\nscale = 'auto'\nwarmup = 32\n{PRODUCTS}")),
        of("weights-of-products-under-an-operator", format!("loss = 'squared'\nstep = 'constant:0.02'\noperator = [1.0, 0.3, 0.3, 0.5]\ntarget_scale = {{ fixed = {{ shift = [0.5, 1.0], factor = [2.0, 0.25] }} }}\n{PRODUCTS}")),
        of("random-features", "loss = 'softmax'\noffset = true\nkernel = 'gaussian:0.7'\nform = 'fourier:64'".into()),
        untaught("untaught-products", &format!("loss = 'hinge'\n{PRODUCTS}")),
        untaught("untaught-hinge", "loss = 'hinge'\nkernel = 'gaussian:0.7'"),
        untaught("untaught-classes", "loss = 'softmax'\nkernel = 'linear'\nclasses = ['a', 'b', 'c']"),
    ]
}

/// A weight for every column, product of two columns and square.
const VECTORS: &str = "kernel = 'auto'\nstep = 'auto'\nlambda = 'auto'\nwarmup = 32\nbudget = 'merge:60'";
const PRODUCTS: &str = "kernel = 'polynomial:degree=2,gamma=0.5,coef0=1'\nform = 'weights'";

/// Seconds since 1970 within ten minutes: in single precision they would be five different numbers.
fn far(name: &str) -> Case {
    let x: Vec<f64> = rows(&mut Random(5), LEARNED, 0.0, false).iter().map(|v| 1.7e9 + 300.0 * v).collect();
    Case::new(name.into(), trained("loss = 'squared'\nkernel = 'gaussian:0.7'\nscale = 'standard'\nwarmup = 64", &x), x)
}

/// A model that has seen rows and no target: no terms, all scores 0, all classes tied.
fn untaught(name: &str, settings: &str) -> Case {
    let mut learner = Learner::new(plain(settings).unwrap()).unwrap();
    let x = rows(&mut Random(3), 5, 0.0, false);
    let batch = Batch::of_f64(&x, FEATURES).known(&[false; 5]);
    let (signs, names) = ([1.0; 5], [const { Label::Int(0) }; 5]);
    let named = learner.config().loss.reads() == Reads::Class;
    learner.learn(&if named { batch.labels(&names) } else { batch.numbers(&signs) }).unwrap();
    assert_eq!((learner.terms(), learner.features()), (0, FEATURES));
    Case::new(name.into(), learner, x)
}

fn close(name: &str, found: f64, expected: f64) {
    let error = (found - expected).abs();
    assert!(error <= 1e-5 * expected.abs().max(1.0), "{name}: {found} for {expected}, {error:e} off");
}

// ---------------------------------------------------------------------------------------------------------- LIBSVM

/// A model text as LIBSVM's documentation describes it.
#[derive(Default)]
struct Svm {
    kind: String,
    kernel: String,
    degree: f64,
    gamma: f64,
    coef0: f64,
    rho: f64,
    labels: Vec<i64>,
    counts: Vec<usize>,
    vectors: Vec<(f64, Vec<f64>)>,
}

impl Svm {
    fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("SV\n").unwrap();
        let mut svm = Svm::default();
        head.lines().for_each(|line| svm.setting(line));
        svm.vectors = body.lines().map(vector).collect();
        assert!(head.contains(&format!("\ntotal_sv {}\n", svm.vectors.len())));
        assert!(head.contains("\nnr_class 2\n"));
        svm
    }

    fn setting(&mut self, line: &str) {
        let (key, value) = line.split_once(' ').unwrap();
        let number = || value.parse::<f64>().unwrap();
        match key {
            "svm_type" => self.kind = value.into(),
            "kernel_type" => self.kernel = value.into(),
            "degree" => self.degree = number(),
            "gamma" => self.gamma = number(),
            "coef0" => self.coef0 = number(),
            "rho" => self.rho = number(),
            "label" => self.labels = value.split(' ').map(|v| v.parse().unwrap()).collect(),
            "nr_sv" => self.counts = value.split(' ').map(|v| v.parse().unwrap()).collect(),
            "nr_class" | "total_sv" => {}
            other => panic!("unknown setting {other}"),
        }
    }

    fn value(&self, x: &[f64], sv: &[f64]) -> f64 {
        let pairs = || x.iter().zip(sv);
        let dot: f64 = pairs().map(|(a, b)| a * b).sum();
        match self.kernel.as_str() {
            "linear" => dot,
            "polynomial" => (self.gamma * dot + self.coef0).powf(self.degree),
            "rbf" => (-self.gamma * pairs().map(|(a, b)| (a - b) * (a - b)).sum::<f64>()).exp(),
            other => panic!("unknown kernel {other}"),
        }
    }

    fn decision(&self, x: &[f64]) -> f64 {
        self.vectors.iter().map(|(a, sv)| a * self.value(x, sv)).sum::<f64>() - self.rho
    }
}

fn vector(line: &str) -> (f64, Vec<f64>) {
    let mut parts = line.split_whitespace();
    let coefficient = parts.next().unwrap().parse().unwrap();
    let mut values = vec![0.0; FEATURES];
    for part in parts {
        let (index, value) = part.split_once(':').unwrap();
        values[index.parse::<usize>().unwrap() - 1] = value.parse().unwrap();
    }
    (coefficient, values)
}

/// Which models LIBSVM can express.
fn expressible(name: &str) -> bool {
    let [kernel, kind] = name.splitn(2, '-').collect::<Vec<_>>().try_into().unwrap_or(["", ""]);
    match (kernel, kind) {
        (_, "max_margin" | "vector") => false,
        ("linear", _) => true,
        ("polynomial" | "gaussian" | "scaled", kind) => kind != "standard" && kind != "warming",
        _ => matches!(
            name,
            "one-output-operator"
                | "units-of-one"
                | "weights"
                | "weights-in-a-bank"
                | "merged"
                | "tracker"
                | "averaged-novelty"
                | "equal-factors"
                | "stretched-polynomial"
                | "power"
                | "untaught-hinge"
                | "two-numbers"
        ),
    }
}

#[test]
fn libsvm_text_computes_the_scores() {
    for case in cases() {
        let text = match export(&case.learner, To::Libsvm) {
            Ok(text) => String::from_utf8(text).unwrap(),
            Err(reason) => {
                assert!(!expressible(&case.name), "{}: {reason}", case.name);
                assert!(reason.to_string().contains("onnx"), "{}: {reason}", case.name);
                continue;
            }
        };
        assert!(expressible(&case.name), "{} was not refused", case.name);
        let svm = Svm::parse(&text);
        let threshold = case.learner.threshold().unwrap_or(0.0);
        for (x, z) in case.rows() {
            close(&case.name, svm.decision(x) + threshold, z[0]);
        }
        check_svm_head(&case, &svm);
    }
}

fn check_svm_head(case: &Case, svm: &Svm) {
    let expected = match case.reads() {
        Reads::Sign => "c_svc",
        Reads::Nothing => "one_class",
        _ => "epsilon_svr",
    };
    assert_eq!(svm.kind, expected, "{}", case.name);
    if case.reads() == Reads::Sign {
        assert_eq!(svm.labels, svm_labels(&case.learner), "{}", case.name);
        let positive = svm.vectors.iter().take_while(|(a, _)| *a > 0.0).count();
        assert_eq!(svm.counts, [positive, svm.vectors.len() - positive], "{}", case.name);
    }
}

/// The label where the score is above 0, and the other one.
fn svm_labels(learner: &Learner) -> [i64; 2] {
    match learner.classes() {
        [Label::Int(a), Label::Int(b)] => [*a.max(b), *a.min(b)],
        _ => [1, -1],
    }
}

#[test]
fn what_libsvm_cannot_say_is_refused_with_a_reason() {
    let reason = |learner: &Learner| export(learner, To::Libsvm).unwrap_err().to_string();
    let find = |name: &str| cases().into_iter().find(|c| c.name == name).unwrap().learner;
    assert!(reason(&find("gaussian-standard")).contains("own scale"));
    assert!(reason(&find("bank-of-kernels")).contains("it is a sum over several kernels"));
    let bank = reason(&find("bank"));
    for obstacle in ["several widths", "own scale", "--gamma NUMBER --scale none"] {
        assert!(bank.contains(obstacle), "one message says everything: {bank}");
    }
    assert!(reason(&find("whitened-and-fixed")).contains("removes the correlations of the features"));
    assert!(reason(&find("logarithms-of-a-weight-vector")).contains("takes logarithms of the features"));
    assert!(reason(&find("cut-off")).contains("clips features at 0.5"));
    assert!(reason(&find("columns-with-weights")).contains("a weight for every feature"));
    assert!(reason(&find("polynomial-standard")).contains("shifts the features"));
    assert!(reason(&find("matern32-hinge")).contains("its kernel is matern32"));
    assert!(reason(&find("sum-hinge")).contains("a sum"));
    assert!(reason(&find("gaussian-max_margin")).contains("several classes"));
    assert!(reason(&find("gaussian-vector")).contains("it has 2 outputs"));
    let x = [0.0, 1.0, 1.0, 0.0f32];
    let learned = |settings: &str, batch: Batch<'_>| {
        let mut learner = Learner::new(plain(settings).unwrap()).unwrap();
        learner.learn(&batch).unwrap();
        learner
    };
    let names = |a: &str, b: &str| [Label::from(a), Label::from(b)];
    let hinge = "loss = 'hinge'\nkernel = 'linear'";
    assert!(reason(&learned(hinge, Batch::new(&x, 2).labels(&names("cat", "dog")))).contains("found dog"));
    assert!(reason(&learned(hinge, Batch::new(&x, 2).labels(&names("cat", "cat")))).contains("only one class"));
    assert!(export(&learned(hinge, Batch::new(&x, 2).labels(&names("-1", "+1"))), To::Libsvm).is_ok());
    let gathering = "loss = 'nu_novelty'\nkernel = 'gaussian:1'\nthreshold = 'tracker'";
    assert!(reason(&learned(gathering, Batch::new(&x, 2))).contains("not set yet"));
}

#[test]
fn a_model_without_data_is_refused() {
    let learner = Learner::new(Config::from_toml("loss = 'max_margin'").unwrap()).unwrap();
    for to in [To::Libsvm, To::Onnx, To::Json] {
        assert!(export(&learner, to).unwrap_err().to_string().contains("not learned any row"));
    }
}

#[test]
fn formats_have_names() {
    assert_eq!("libsvm".parse::<To>().unwrap(), To::Libsvm);
    assert_eq!("onnx".parse::<To>().unwrap(), To::Onnx);
    assert_eq!("json".parse::<To>().unwrap(), To::Json);
    assert!("pmml".parse::<To>().unwrap_err().to_string().contains("libsvm, onnx, json"));
}

// ------------------------------------------------------------------------------------------------------------ JSON

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

/// A kernel by the formulas of the documentation.
fn kernel_value(rule: &Value, u: &[f64], c: &[f64]) -> f64 {
    let (name, with) = rule.as_object().unwrap().iter().next().unwrap();
    let number = |key: &str| with[key].as_f64().unwrap();
    let dot: f64 = u.iter().zip(c).map(|(a, b)| a * b).sum();
    let r2: f64 = u.iter().zip(c).map(|(a, b)| (a - b) * (a - b)).sum();
    let parts = || with.as_array().unwrap().iter().map(|k| kernel_value(k, u, c));
    match name.as_str() {
        "linear" => dot,
        "polynomial" => (number("gamma") * dot + number("coef0")).powf(number("degree")),
        "gaussian" => (-number("gamma") * r2).exp(),
        "exponential" => (-number("gamma") * r2.sqrt()).exp(),
        "manhattan" => (-number("gamma") * u.iter().zip(c).map(|(a, b)| (a - b).abs()).sum::<f64>()).exp(),
        "matern32" => {
            let s = 3f64.sqrt() * number("gamma") * r2.sqrt();
            (1.0 + s) * (-s).exp()
        }
        "matern52" => {
            let s = 5f64.sqrt() * number("gamma") * r2.sqrt();
            (1.0 + s + s * s / 3.0) * (-s).exp()
        }
        "rational_quadratic" => (1.0 + number("gamma") * r2 / number("alpha")).powf(-number("alpha")),
        "scaled" => number("weight") * kernel_value(&with["of"], u, c),
        "sum" => parts().sum(),
        "product" => parts().product(),
        other => panic!("unknown kernel {other}"),
    }
}

fn json_scores(model: &Value, x: &[f64]) -> Vec<f64> {
    let mut u = x.to_vec();
    let mut further = Vec::new();
    if !model["frame"].is_null() {
        let (shift, factor) = (numbers(&model["frame"]["shift"]), numbers(&model["frame"]["factor"]));
        let limit = model["frame"]["limit"].as_f64().unwrap();
        if let Some(units) = model["frame"].get("log_units").map(numbers) {
            u.iter_mut().zip(&units).for_each(|(u, unit)| *u = (1.0 + u.abs() / unit).ln().copysign(*u));
        }
        u.iter_mut().zip(shift.iter().zip(&factor)).for_each(|(u, (m, f))| *u = (*u - m) * f);
        further.clone_from(&u);
        u.iter_mut().for_each(|u| *u = u.clamp(-limit, limit));
        if let Some(triangle) = model["frame"].get("whiten").and_then(Value::as_array) {
            let z = u.clone();
            for (u, row) in u.iter_mut().zip(triangle) {
                *u = numbers(row).iter().zip(&z).map(|(t, z)| t * z).sum();
            }
        }
    }
    let mut scores = numbers(&model["offset"]);
    let mut add = |by: f64, numbers: Vec<f64>| scores.iter_mut().zip(numbers).for_each(|(score, number)| *score += by * number);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    if let Some(polynomial) = model.get("polynomial") {
        add(1.0, numbers(&polynomial["constant"]));
        let (linear, products) = (list(&polynomial["linear"]), list(&polynomial["products"]));
        assert_eq!((linear.len(), products.len()), (u.len(), u.len()));
        for (j, of_column) in products.iter().enumerate() {
            add(u[j], numbers(&linear[j]));
            assert_eq!(list(of_column).len(), j + 1);
            list(of_column).iter().enumerate().for_each(|(i, product)| add(u[j] * u[i], numbers(product)));
        }
    }
    if let Some(linear) = model.get("linear") {
        let limit = linear["limit"].as_f64().unwrap();
        for (u, weights) in further.iter().zip(list(&linear["weights"])) {
            add(u.clamp(-limit, limit), numbers(&weights));
        }
    }
    for waves in model.get("fourier").map(list).unwrap_or_default() {
        for ((frequency, cosine), sine) in
            list(&waves["frequencies"]).iter().zip(list(&waves["cosines"])).zip(list(&waves["sines"]))
        {
            let angle: f64 = numbers(frequency).iter().zip(&u).map(|(w, u)| w * u).sum();
            add(angle.cos(), numbers(&cosine));
            add(angle.sin(), numbers(&sine));
        }
    }
    for (part, rows) in model["parts"].as_array().unwrap().iter().zip(model["coefficients"].as_array().unwrap()) {
        for (c, a) in model["centres"].as_array().unwrap().iter().zip(rows.as_array().unwrap()) {
            let (c, a) = (numbers(c), numbers(a));
            let weights = part.get("weights").map_or(vec![1.0; c.len()], numbers);
            if part.get("weights").is_some() {
                let about = model["about"].to_string();
                assert!(
                    about.contains("(u_j - c_j)², and manhattan its distance as the sum over j of sqrt(weights_j) |u_j - c_j|"),
                    "{about}"
                );
            }
            let weighted = |row: &[f64]| row.iter().zip(&weights).map(|(x, v)| x * v.sqrt()).collect::<Vec<f64>>();
            let k = kernel_value(&part["kernel"], &weighted(&u), &weighted(&c));
            for (o, score) in scores.iter_mut().enumerate() {
                let weight = match part["operator"].as_array() {
                    None => a[o],
                    Some(j) => numbers(&j[o]).iter().zip(&a).map(|(j, a)| j * a).sum(),
                };
                *score += k * weight;
            }
        }
    }
    scores
}

/// The version of an export.
fn version(name: &str) -> u32 {
    match name {
        _ if name.starts_with("vectors") => 8,
        _ if name.starts_with("logarithms") => 5,
        _ if name.starts_with("columns-with-weights") || name.starts_with("whitened") => 6,
        _ => 4,
    }
}

#[test]
fn json_computes_the_scores() {
    for case in cases() {
        let model: Value = serde_json::from_slice(&export(&case.learner, To::Json).unwrap()).unwrap();
        assert_eq!((&model["format"], &model["version"]), (&json!("okl model"), &json!(version(&case.name))));
        assert_eq!((&model["features"], &model["target"]), (&json!(["1", "2", "3", "4"]), &Value::Null));
        assert_eq!(model["outputs"], json!(case.learner.outputs()));
        assert_eq!(model["classes"], json!(case.learner.classes()));
        let signs = answers(&case).filter(|_| case.reads() == Reads::Sign && !case.learner.classes().is_empty());
        assert_eq!(model["positive"], signs.map_or(Value::Null, |signs| json!(signs.iter().max())), "{}", case.name);
        assert_eq!(model["threshold"].as_f64().is_some(), case.learner.threshold().is_some());
        assert_eq!(&Config::from_value(model["config"].clone()).unwrap(), case.learner.config());
        for (x, z) in case.rows() {
            json_scores(&model, x).iter().zip(z).for_each(|(found, z)| close(&case.name, *found, *z));
        }
    }
}

// ------------------------------------------------------------------------------------------- onnxruntime and LIBSVM

/// The labels that decisions are about, in the order of [`decision`].
fn answers(case: &Case) -> Option<Vec<Label>> {
    match (case.reads(), case.learner.classes()) {
        (Reads::Class, classes) => Some(classes.to_vec()),
        (Reads::Sign, []) => Some(vec![Label::Int(-1), Label::Int(1)]),
        // The class that sorts last has the positive scores: numbers by value, names by spelling.
        (Reads::Sign, [Label::Int(a), Label::Int(b)]) => Some(vec![Label::Int(*a.min(b)), Label::Int(*a.max(b))]),
        (Reads::Sign, [Label::Text(a), Label::Text(b)]) => {
            Some(vec![Label::from(a.min(b).as_str()), Label::from(a.max(b).as_str())])
        }
        _ => None,
    }
}

/// What the scores of a row decide, as an index: a class, a sign, novel or not.
fn decision(case: &Case, z: &[f64]) -> Option<usize> {
    match case.reads() {
        Reads::Class => Some((0..z.len()).rev().fold(0, |best, i| if z[i] >= z[best] { i } else { best })),
        Reads::Sign => Some(usize::from(z[0] > 0.0)),
        Reads::Nothing => case.learner.threshold().map(|threshold| usize::from(z[0] < threshold)),
        _ => None,
    }
}

/// Writes the models, the rows and what is expected of them; returns the case's line of the list.
fn write_case(folder: &Path, case: &Case) -> Value {
    let file = |kind: &str| folder.join(format!("{}.{kind}", case.name));
    fs::write(file("onnx"), export(&case.learner, To::Onnx).unwrap()).unwrap();
    let libsvm = export(&case.learner, To::Libsvm).ok();
    if let Some(text) = &libsvm {
        fs::write(file("libsvm"), text).unwrap();
    }
    fs::write(file("x"), case.x.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>()).unwrap();
    fs::write(file("scores"), case.scores.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>()).unwrap();
    let decisions: Option<Vec<usize>> = case.rows().map(|(_, z)| decision(case, z)).collect();
    json!({
        "name": case.name, "features": case.learner.features(), "outputs": case.learner.outputs(), "decisions": decisions,
        "threshold": case.learner.threshold(), "libsvm": libsvm.is_some(), "reads": format!("{:?}", case.reads()),
        "labels": svm_labels(&case.learner), "answers": answers(case), "classes": case.learner.classes(), "config": case.learner.config(),
    })
}

/// Is 0 where the scores of `cases` are those of onnxruntime and LIBSVM.
fn run_python(python: &Path, folder: &Path) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/export_check.py");
    let output = Command::new(python).arg(script).arg(folder).output().expect("OKL_PYTHON names a Python that runs");
    print!("{}", String::from_utf8_lossy(&output.stdout));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::io::stderr().write_all(&output.stderr).unwrap();
}

#[test]
fn onnxruntime_and_libsvm_compute_the_scores() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("export");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let list: Vec<Value> = cases().iter().map(|case| write_case(&folder, case)).collect();
    fs::write(folder.join("cases.json"), Value::from(list).to_string()).unwrap();
    match std::env::var_os("OKL_PYTHON") {
        Some(python) => run_python(Path::new(&python), &folder),
        // Straight to standard error: what a test prints is shown if it fails.
        None => {
            let why = "skipped: OKL_PYTHON does not name a Python with onnxruntime, libsvm-official and numpy";
            writeln!(std::io::stderr(), "{why}").unwrap();
        }
    }
}

/// The scores of an export differ from those of the learner where single precision blurs distances. This is reported where it is more than about
/// 1 % of the deviation of the scores.
#[test]
fn single_precision_that_moves_scores_is_reported() {
    let mut reported = [0; 2];
    for away in [0.0, 20.0, 300.0, 500.0, 700.0] {
        let mut random = Random(5);
        let near = |random: &mut Random, count: usize| (0..count * 2).map(|_| away + 3.0 * random.next()).collect::<Vec<f64>>();
        let mut x = near(&mut random, LEARNED);
        // The first row is the origin, from which the others are far away.
        x[..2].fill(0.0);
        let mut targets: Vec<f64> = x.chunks_exact(2).map(|row| (row[0] - away).sin() + 0.3 * (row[1] - away)).collect();
        targets[0] = 0.0;
        let settings = "loss = 'squared'\nkernel = 'gaussian:0.1'\nstep = 'constant:0.2'\nlambda = 0.0\nscale = 'none'\nbudget = 'unlimited'";
        let mut learner = Learner::new(plain(settings).unwrap()).unwrap();
        learner.learn(&Batch::of_f64(&x, 2).numbers(&targets)).unwrap();
        let finding = okl_cli::precision::finding(&learner);
        let model: Value = serde_json::from_slice(&export(&learner, To::Json).unwrap()).unwrap();
        if let Some(said) = &finding {
            let terms = Case::new("terms".into(), learner.clone(), x.clone());
            let most = terms.rows().map(|(x, scores)| (json_scores(&model, x)[0] - scores[0]).abs()).fold(0.0, f64::max);
            let stated: f64 = said.split("term by ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap();
            assert!((stated / most - 1.0).abs() < 0.02, "stated {stated}, at the terms {most}");
        }
        let case = Case::new("far".into(), learner, near(&mut random, ASKED));
        let moved = case.rows().map(|(x, scores)| (json_scores(&model, x)[0] - scores[0]).abs()).fold(0.0, f64::max);
        let mean = case.scores.iter().sum::<f64>() / ASKED as f64;
        let deviation = (case.scores.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / ASKED as f64).sqrt();
        let share = moved / deviation;
        assert!(share > 0.002 || finding.is_none(), "{share}: {finding:?}");
        assert!(share < 0.01 || finding.is_some(), "{share} is not reported");
        reported[usize::from(finding.is_some())] += 1;
    }
    assert!(reported.iter().all(|count| *count > 0), "both cases occur: {reported:?}");
}
