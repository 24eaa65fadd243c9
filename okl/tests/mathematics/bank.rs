//! A bank against a naive twin, against the plain learners it consists of, and against a grid of them.

use crate::support::cases::Random;
use okl::config::{Choice, Config, Gamma, KernelRule};
use okl::engine::head::Average;
use okl::loss::AnyLoss;
use okl::step::AnyStep;
use okl::{Batch, Learner};

const FEATURES: usize = 3;

struct Stream {
    x: Vec<f32>,
    y: Vec<f64>,
}

/// Two classes that no plane separates; from `turn` on their names are exchanged in one half of the space.
fn stream(rows: usize, turn: usize, seed: u64) -> Stream {
    let mut random = Random(seed);
    let x: Vec<f32> = (0..rows * FEATURES).map(|_| (2.0 * random.unit() - 1.0) as f32).collect();
    let label = |(i, r): (usize, &[f32])| {
        let side = (r[0] * r[1] > 0.0) ^ (i >= turn && r[2] > 0.0);
        if side ^ (random.unit() < 0.03) { 1.0 } else { -1.0 }
    };
    let y = x.chunks(FEATURES).enumerate().map(label).collect();
    Stream { x, y }
}

/// Whatever is not given is left to the bank.
fn config(toml: &str) -> Config {
    let given = |key: &str| toml.lines().any(|line| line.split('=').next().is_some_and(|name| name.trim() == key));
    let width = if given("gamma") { "gaussian" } else { "gaussian:auto" };
    let all = [("step", "auto"), ("lambda", "auto"), ("scale", "auto"), ("kernel", width)];
    let missing: String = all.iter().filter(|(key, _)| !given(key)).map(|(key, value)| format!("{key} = '{value}'\n")).collect();
    Config::from_toml(&(missing + toml)).unwrap()
}

fn learner(toml: &str) -> Learner {
    Learner::new(config(toml)).unwrap()
}

fn learn(learner: &mut Learner, s: &Stream) -> Vec<f64> {
    learner.learn(&Batch::new(&s.x, FEATURES).numbers(&s.y)).unwrap().values
}

/// Fixed-share Hedge from the formula at the head of bank.rs: rate 0.05, eager 2, share 5e-4, far 8, memory 1e-3, young 10.
struct Hedge {
    weights: Vec<f64>,
    scale: f64,
    count: f64,
}

impl Hedge {
    fn new(heads: usize) -> Self {
        Hedge { weights: vec![1.0 / heads as f64; heads], scale: 0.0, count: 0.0 }
    }

    fn combine(&self, z: &[f64]) -> f64 {
        self.weights.iter().zip(z).map(|(w, z)| w * z).sum()
    }

    fn leader(&self) -> usize {
        (1..self.weights.len()).fold(0, |best, h| if self.weights[h] > self.weights[best] { h } else { best })
    }

    fn learn(&mut self, wrong: &[f64]) {
        self.count += 1.0;
        let mean: f64 = self.weights.iter().zip(wrong).map(|(w, l)| w * l).sum();
        self.scale += (10.0 / (self.count + 9.0)).max(1e-3) * (mean - self.scale);
        let rate = (2.0 / self.count.sqrt()).max(0.05);
        let least = wrong.iter().copied().fold(f64::INFINITY, f64::min);
        for (w, l) in self.weights.iter_mut().zip(wrong) {
            *w *= if *l > least { (-rate * ((l - least) / self.scale).min(8.0)).exp() } else { 1.0 };
        }
        let total: f64 = self.weights.iter().sum();
        let heads = self.weights.len() as f64;
        self.weights.iter_mut().for_each(|w| *w = (1.0 - 5e-4) * *w / total + 5e-4 / heads);
    }
}

/// A smooth loss without a budget appends every example for every head: the bank is then its members, weighed.
#[test]
fn a_bank_is_its_members_weighed() {
    let s = stream(300, 150, 5);
    let settings =
        "loss = 'logistic'\nkernel = { gaussian = { gamma = [0.5, 2.0] } }\noffset = true\nscale = 'none'\nbudget = 'unlimited'";
    let mut bank = learner(settings);
    let scores = learn(&mut bank, &s);
    let members = bank.config().members();
    assert!(members.len() == 10 && members.iter().filter(|m| m.average != Average::None).count() == 4);
    let alone: Vec<Vec<f64>> = members
        .iter()
        .map(|member| {
            let mut config = bank.config().clone();
            (config.step, config.lambda) = (member.step.clone().into(), member.lambda.into());
            config.kernel = KernelRule::Gaussian { gamma: Gamma::Value([0.5, 2.0][member.width]) }.into();
            (config.implicit, config.average) = (true, member.average.into());
            learn(&mut Learner::new(config).unwrap(), &s)
        })
        .collect();
    let mut hedge = Hedge::new(members.len());
    for (i, y) in s.y.iter().enumerate() {
        let z: Vec<f64> = alone.iter().map(|scores| scores[i]).collect();
        let expected = hedge.combine(&z);
        assert!((scores[i] - expected).abs() <= 1e-12 * expected.abs().max(1.0), "row {i}: {} {expected}", scores[i]);
        hedge.learn(&z.iter().map(|z| f64::from(u8::from(z * y <= 0.0))).collect::<Vec<_>>());
    }
    let weights = bank.engine().bank().unwrap().weights();
    assert!(weights.iter().zip(&hedge.weights).all(|(a, b)| (a - b).abs() < 1e-12));
    assert!(weights.iter().any(|w| *w > 0.25), "nobody leads: {weights:?}");
}

/// Voices are judged by the first loss, here half of the squared error, whichever loss their head has.
#[test]
fn a_bank_of_kernels_and_losses_is_its_members_weighed() {
    let mut s = stream(250, 120, 6);
    s.y.iter_mut().zip(s.x.chunks(FEATURES)).for_each(|(y, x)| *y += 2.0 * f64::from(x[0] * x[2]));
    let mut bank = learner(
        "loss = ['squared', 'huber:0.4']\nkernel = ['gaussian:0.5', 'exponential:1.5']\nscale = 'none'\nbudget = 'unlimited'",
    );
    let scores = learn(&mut bank, &s);
    let members = bank.config().members();
    let alone: Vec<Vec<f64>> = members
        .iter()
        .map(|member| {
            let mut config = bank.config().clone();
            (config.step, config.lambda) = (member.step.clone().into(), member.lambda.into());
            (config.implicit, config.average) = (true, member.average.into());
            config.loss = [AnyLoss::Squared {}, AnyLoss::Huber { sigma: 0.4 }][member.loss].clone().into();
            config.kernel = match member.width {
                0 => KernelRule::Gaussian { gamma: Gamma::Value(0.5) }.into(),
                _ => KernelRule::Exponential { gamma: Gamma::Value(1.5) }.into(),
            };
            learn(&mut Learner::new(config).unwrap(), &s)
        })
        .collect();
    assert!((0..4).all(|i| members.iter().any(|m| (m.width, m.loss) == (i % 2, i / 2))), "{members:?}");
    let (mut hedge, mut total, mut lost) = (Hedge::new(members.len()), 0.0, vec![0.0; members.len()]);
    for (i, y) in s.y.iter().enumerate() {
        let z: Vec<f64> = alone.iter().map(|scores| scores[i]).collect();
        let expected = hedge.combine(&z);
        assert!((scores[i] - expected).abs() <= 1e-11 * expected.abs().max(1.0), "row {i}: {} {expected}", scores[i]);
        let losses: Vec<f64> = z.iter().map(|z| 0.5 * (y - z) * (y - z)).collect();
        lost.iter_mut().zip(&losses).for_each(|(lost, l)| *lost += l);
        total += 0.5 * (y - expected) * (y - expected);
        hedge.learn(&losses);
    }
    let found = bank.engine().bank().unwrap();
    assert!(found.weights().iter().zip(&hedge.weights).all(|(a, b)| (a - b).abs() < 1e-10));
    assert!(
        found.losses().iter().zip(&lost).all(|(a, b)| (a - b).abs() < 1e-9 * b) && (found.loss() - total).abs() < 1e-9 * total
    );
}

/// One head of the twin: coefficients over the shared centres, and over every example with nothing dropped.
struct TwinHead {
    lambda: f64,
    kernel: fn(&[f32], &[f32]) -> f64,
    /// -dl/dz times y, at the margin y z.
    push: fn(f64) -> f64,
    alpha: Vec<f64>,
    full: Vec<(usize, f64)>,
}

fn square(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum()
}

impl TwinHead {
    fn at(&self, centres: &[&[f32]], x: &[f32]) -> f64 {
        self.alpha.iter().zip(centres).map(|(a, c)| a * (self.kernel)(c, x)).sum()
    }
}

fn wide(a: &[f32], b: &[f32]) -> f64 {
    (-0.5 * square(a, b)).exp()
}

fn narrow(a: &[f32], b: &[f32]) -> f64 {
    (-2.0 * square(a, b)).exp()
}

fn pointed(a: &[f32], b: &[f32]) -> f64 {
    (-1.5 * square(a, b).sqrt()).exp()
}

fn hinge(margin: f64) -> f64 {
    if margin < 1.0 { 1.0 } else { 0.0 }
}

fn logistic(margin: f64) -> f64 {
    1.0 / (1.0 + margin.exp())
}

#[test]
fn a_naive_twin_learns_the_same_bank() {
    let heads = [(wide as fn(&[f32], &[f32]) -> f64, hinge as fn(f64) -> f64), (narrow, hinge)];
    twin_learns("loss = 'hinge'\nkernel = { gaussian = { gamma = [0.5, 2.0] } }", 20, &heads);
}

#[test]
fn a_naive_twin_learns_the_same_bank_of_kernels_and_losses() {
    let heads =
        [(wide as fn(&[f32], &[f32]) -> f64, hinge as fn(f64) -> f64), (wide, logistic), (pointed, hinge), (pointed, logistic)];
    twin_learns("loss = 'hinge,logistic'\nkernel = 'gaussian:0.5,exponential:1.5'", 10, &heads);
}

/// A kernel and the derivative of a loss, as formulas.
type Formulas = (fn(&[f32], &[f32]) -> f64, fn(f64) -> f64);

/// Constant steps of size 1, explicit: a term is appended when the leader asks for one, the oldest of 80 goes, and what others
/// would append while the leader is content is projected onto the nearest term. Each of `kinds` runs with three regularisers; more
/// than `least` rows are projected.
fn twin_learns(settings: &str, least: usize, kinds: &[Formulas]) {
    let s = stream(500, 250, 11);
    let mut bank = learner(&format!("{settings}\nstep = 'constant:1'\nscale = 'none'\nanchor = 'none'\nbudget = 'window:80'"));
    let lambdas = [1e-5, 1e-3, 1e-2];
    let head = |&(kernel, push)| lambdas.map(|lambda| TwinHead { lambda, kernel, push, alpha: vec![], full: vec![] });
    let mut heads: Vec<TwinHead> = kinds.iter().flat_map(head).collect();
    let members = bank.config().members();
    assert_eq!(members.iter().map(|m| m.lambda).collect::<Vec<_>>(), lambdas.repeat(kinds.len()));
    let (mut hedge, mut centres, mut oldest) = (Hedge::new(heads.len()), Vec::<&[f32]>::new(), 0);
    let (mut projected, scores) = (0, learn(&mut bank, &s));
    for (i, (x, &y)) in s.x.chunks(FEATURES).zip(&s.y).enumerate() {
        let z: Vec<f64> = heads.iter().map(|h| h.at(&centres, x)).collect();
        assert!((scores[i] - hedge.combine(&z)).abs() < 1e-4, "row {i}: {} {}", scores[i], hedge.combine(&z));
        hedge.learn(&z.iter().map(|z| f64::from(u8::from(z * y <= 0.0))).collect::<Vec<_>>());
        let new: Vec<f64> = heads.iter().zip(&z).map(|(h, z)| (h.push)(y * z) * y).collect();
        for (h, a) in heads.iter_mut().zip(&new) {
            let keep = 1.0 - h.lambda;
            h.alpha.iter_mut().for_each(|a| *a *= keep);
            h.full.iter_mut().for_each(|(_, a)| *a *= keep);
            h.full.push((i, *a));
        }
        if new.iter().all(|a| *a == 0.0) {
            continue;
        }
        if new[hedge.leader()] == 0.0 && !centres.is_empty() {
            projected += 1;
            let near = |c: &&[f32]| square(c, x);
            let nearest = (0..centres.len()).min_by(|a, b| near(&centres[*a]).total_cmp(&near(&centres[*b]))).unwrap();
            heads.iter_mut().zip(&new).for_each(|(h, a)| h.alpha[nearest] += a * (h.kernel)(centres[nearest], x));
        } else if centres.len() < 80 {
            centres.push(x);
            heads.iter_mut().zip(&new).for_each(|(h, a)| h.alpha.push(*a));
        } else {
            centres[oldest] = x;
            heads.iter_mut().zip(&new).for_each(|(h, a)| h.alpha[oldest] = *a);
            oldest = (oldest + 1) % 80;
        }
    }
    assert!(projected > least, "{projected}");
    // Law 5: with nothing dropped or projected, no head would say anything further off than its certificate states.
    for (h, (twin, head)) in heads.iter().zip(bank.engine().heads()).enumerate() {
        for x in s.x.chunks(FEATURES).take(100) {
            let full: f64 = twin.full.iter().map(|(i, a)| a * (twin.kernel)(&s.x[i * FEATURES..][..FEATURES], x)).sum();
            let off = (full - twin.at(&centres, x)).abs();
            assert!(off <= head.truncation_error() + 1e-4, "head {h}: {off} {}", head.truncation_error());
        }
    }
}

#[test]
fn what_leads_can_be_frozen() {
    let s = stream(600, 600, 3);
    let mut bank = learner("loss = 'hinge'\nwarmup = 64\nbudget = 'merge:50'");
    assert!(bank.freeze().unwrap_err().to_string().contains("provisional before example 64"));
    learn(&mut bank, &s);
    let plain = bank.freeze().unwrap();
    assert!(!plain.config().to_json().contains("auto") && plain.config().members().len() == 1 && plain.engine().bank().is_none());
    assert_eq!((plain.config().step.given(), plain.eta()), (Some(&bank.members()[0].0.step), bank.eta()));
    assert_eq!((plain.coefficients(), plain.offset()), (bank.coefficients(), bank.offset()));
    // It is the learner that its configuration describes: it saves, loads and goes on.
    let mut loaded = Learner::from_bytes(&plain.to_bytes()).unwrap();
    let mut again = plain.freeze().unwrap();
    assert_eq!(again.to_bytes(), plain.to_bytes());
    assert_eq!(learn(&mut loaded, &s), learn(&mut again, &s));
}

/// predict, the coefficients of every width and the offset say the same of the bank.
#[test]
fn the_parts_of_a_bank_add_up() {
    let s = stream(400, 200, 8);
    let mut bank =
        learner("loss = 'hinge'\nkernel = { gaussian = { gamma = [0.5, 2.0] } }\noffset = true\nscale = 'none'\nanchor = 'none'");
    learn(&mut bank, &s);
    let scores = bank.predict(&Batch::new(&s.x[..30 * FEATURES], FEATURES)).unwrap().values;
    let centres: Vec<f32> = bank.centres().iter().map(|v| *v as f32).collect();
    let (coefficients, terms) = (bank.predicting_coefficients(), bank.terms());
    assert_eq!((bank.widths(), coefficients.len()), (2, 2 * terms));
    for (x, score) in s.x.chunks(FEATURES).zip(scores) {
        let at = |(i, c): (usize, &[f32])| coefficients[i] * wide(c, x) + coefficients[terms + i] * narrow(c, x);
        let sum: f64 = bank.predicting_offset()[0] + centres.chunks(FEATURES).enumerate().map(at).sum::<f64>();
        assert!((sum - score).abs() < 1e-4, "{sum} {score}");
    }
}

/// What is left out is left to the bank; what is given is given.
#[test]
fn giving_one_setting_fixes_that_one() {
    let members = |toml: &str| config(toml).members();
    let all = members("loss = 'hinge'");
    assert_eq!(all.len(), 15);
    assert!(members("lambda = 0.5").iter().all(|m| m.lambda == 0.5) && members("lambda = 0.5").len() == 15);
    assert!(members("gamma = 0.5").iter().all(|m| m.width == 0) && members("gamma = 0.5").len() == 5);
    let step = members("step = 'constant:0.3'\ngamma = 0.5");
    assert!(step.len() == 3 && step.iter().all(|m| m.step == AnyStep::Constant { eta: 0.3 }));
    assert_eq!(members("step = 'constant:0.3'\ngamma = 0.5\nlambda = 0.1").len(), 1);
    // Where one function owns the threshold, there is one.
    assert_eq!(members("loss = 'nu_novelty'").len(), 1);
    assert_eq!(config("").lambda, Choice::Auto);
    // An average stands beside what chooses its own steps, unless it is given.
    assert!(members("gamma = 0.5\naverage = 'none'").iter().all(|m| m.average == Average::None));
    assert!(members("gamma = 0.5\naverage = 'uniform'").iter().all(|m| m.average == Average::Uniform));
    assert!(members("step = 'constant:0.3'").iter().all(|m| m.average == Average::None));
}

/// In hindsight, the best of 36 plain settings is hardly better than the bank that chose for itself.
#[test]
fn no_setting_of_a_grid_is_much_better_than_none() {
    let s = stream(3000, 1500, 17);
    let wrong = |scores: &[f64]| scores.iter().zip(&s.y).filter(|(z, y)| *z * *y <= 0.0).count() as f64;
    let run = |settings: &str| wrong(&learn(&mut learner(&format!("loss = 'hinge'\nbudget = 'merge:100'\n{settings}")), &s));
    let auto = run("");
    let mut best = f64::INFINITY;
    for gamma in [0.125, 0.5, 2.0] {
        for lambda in [1e-6, 1e-4, 1e-2] {
            for step in ["constant:0.1", "constant:1", "inverse_sqrt:1", "decay:eta=1"] {
                best = best.min(run(&format!("gamma = {gamma}\nlambda = {lambda}\nstep = '{step}'")));
            }
        }
    }
    assert!(auto <= 1.15 * best, "{auto} wrong, the best setting {best}");
    assert!(best < 0.25 * s.y.len() as f64, "the stream can be learned");
}

/// A budget in bytes holds for all heads together: the learner stays within it, beside the stated constant, and a larger budget is
/// used for more terms of the stated size. Memory grows by 32 terms at a time.
#[test]
fn a_bank_fits_the_memory_it_is_given() {
    let s = stream(3000, 3000, 18);
    let taken = |asked: usize| {
        let config = config("loss = 'hinge'").within(asked, FEATURES, 1).unwrap();
        let (terms, each) = (config.budget().capacity().unwrap(), config.bytes_per_term(FEATURES, 1));
        let beside = config.bytes_beside_terms(FEATURES, 1);
        let mut bank = Learner::new(config).unwrap();
        learn(&mut bank, &s);
        assert_eq!(bank.terms(), terms);
        assert!(bank.bytes() >= terms * each, "{} bytes, stated {terms} terms of {each}", bank.bytes());
        assert!(bank.bytes() <= asked + beside, "{} bytes, asked {asked}, stated beside {beside}", bank.bytes());
        (bank.bytes(), terms * each, each)
    };
    let ((small, few, each), (large, many, _)) = (taken(100_000), taken(400_000));
    let (more, stated) = (large - small, many - few);
    assert!(more.abs_diff(stated) <= 32 * each + stated / 20, "{more} bytes more, stated {stated}");
}

/// Targets around a thousand are not learned from zero where nothing was chosen; a step that is given starts there, as in the papers.
#[test]
fn scores_start_in_the_middle_of_the_first_targets() {
    let s = stream(40, 40, 19);
    let y: Vec<f64> = s.y.iter().flat_map(|y| [1000.0 + y, -20.0 + 0.1 * y]).collect();
    let worst_after_the_first = |toml: &str| {
        let scores = learner(toml).learn(&Batch::new(&s.x, FEATURES).numbers(&y)).unwrap().values;
        assert_eq!(scores[..2], [0.0, 0.0]);
        scores[2..].iter().zip(&y[2..]).map(|(z, y)| (z - y).abs()).fold(0.0, f64::max)
    };
    let start = "loss = 'squared'\noffset = true\n";
    assert!(worst_after_the_first(start) < 4.0);
    assert!(worst_after_the_first(&format!("{start}step = 'constant:0.1'\nlambda = 1e-3")) > 500.0);
}
