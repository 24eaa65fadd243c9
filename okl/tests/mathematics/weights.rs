//! `form = weights` against a weight vector in f64 and against terms, where f is the same function.

use okl::{Batch, Config, Label, Learner};

const FEATURES: usize = 5;
const ROWS: usize = 400;
const CLASSES: usize = 3;

/// Rows whose features are multiples of 1/8 up to 2: their inner products are exact in single precision.
fn rows() -> Vec<f32> {
    let mut state = 11u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) % 33) as f32 / 8.0 - 2.0
    };
    (0..ROWS * FEATURES).map(|_| next()).collect()
}

/// What a row is labelled by: a noisy linear function.
fn signal(row: &[f32], output: usize) -> f64 {
    row.iter().enumerate().map(|(j, v)| f64::from(*v) * libm::sin((2 * j + 3 * output + 1) as f64)).sum()
}

/// The gradient of a loss in the scores, and the targets that it reads.
struct Formula {
    settings: &'static str,
    outputs: usize,
    target: fn(&[f32]) -> Vec<f64>,
    gradient: fn(&[f64], &[f64]) -> Vec<f64>,
}

fn sign(row: &[f32]) -> Vec<f64> {
    vec![if signal(row, 0) > 0.3 { 1.0 } else { -1.0 }]
}

fn number(row: &[f32]) -> Vec<f64> {
    vec![signal(row, 0) + 0.25 * f64::from(row[2] * row[3])]
}

fn class(row: &[f32]) -> Vec<f64> {
    let best = (0..CLASSES).max_by(|a, b| signal(row, *a).total_cmp(&signal(row, *b))).unwrap();
    vec![best as f64]
}

fn softmax(z: &[f64], y: &[f64]) -> Vec<f64> {
    let total: f64 = z.iter().map(|z| z.exp()).sum();
    z.iter().enumerate().map(|(o, z)| z.exp() / total - f64::from(u8::from(o == y[0] as usize))).collect()
}

const FORMULAS: [Formula; 6] = [
    Formula { settings: "loss = 'squared'", outputs: 1, target: number, gradient: |z, y| vec![z[0] - y[0]] },
    Formula {
        settings: "loss = 'hinge'",
        outputs: 1,
        target: sign,
        gradient: |z, y| vec![if y[0] * z[0] < 1.0 { -y[0] } else { 0.0 }],
    },
    Formula {
        settings: "loss = 'logistic'",
        outputs: 1,
        target: sign,
        gradient: |z, y| vec![-y[0] / (1.0 + (y[0] * z[0]).exp())],
    },
    Formula {
        settings: "loss = 'epsilon:0.2'",
        outputs: 1,
        target: number,
        gradient: |z, y| vec![if (z[0] - y[0]).abs() > 0.2 { (z[0] - y[0]).signum() } else { 0.0 }],
    },
    Formula { settings: "loss = 'softmax'\nclasses = [0, 1, 2]", outputs: CLASSES, target: class, gradient: softmax },
    Formula {
        settings: "loss = 'squared'\noperator = [1.0, 0.5, 0.5, 1.0]",
        outputs: 2,
        target: |row| vec![signal(row, 0), signal(row, 1)],
        gradient: |z, y| vec![z[0] - y[0], z[1] - y[1]],
    },
];

/// w <- (1 - eta lambda) w - eta xi x, with the offset, in f64. Under J = [[1, 1/2], [1/2, 1]] the scores are J <w, x> + b.
/// Returns the scores of the last hypothesis and those of the mean of all hypotheses before each row.
fn twin(formula: &Formula, x: &[f32], eta: fn(f64) -> f64, lambda: f64) -> Vec<[Vec<f64>; 2]> {
    let d = formula.outputs;
    let coupled = formula.settings.contains("operator");
    let (mut w, mut b) = (vec![vec![0.0; FEATURES]; d], vec![0.0; d]);
    let (mut w_mean, mut b_mean) = (w.clone(), b.clone());
    let read = |w: &[Vec<f64>], b: &[f64], row: &[f32]| -> Vec<f64> {
        let p: Vec<f64> = w.iter().map(|w| w.iter().zip(row).map(|(w, x)| w * f64::from(*x)).sum()).collect();
        let j = |o: usize| if coupled { p[o] + 0.5 * p[1 - o] } else { p[o] };
        (0..d).map(|o| j(o) + b[o]).collect()
    };
    let mut scores = Vec::new();
    for (t, row) in x.chunks_exact(FEATURES).enumerate() {
        let z = read(&w, &b, row);
        scores.push([z.clone(), read(&w_mean, &b_mean, row)]);
        let (eta, xi) = (eta((t + 1) as f64), (formula.gradient)(&z, &(formula.target)(row)));
        for o in 0..d {
            for j in 0..FEATURES {
                w_mean[o][j] += (w[o][j] - w_mean[o][j]) / (t + 1) as f64;
                w[o][j] = (1.0 - eta * lambda) * w[o][j] - eta * xi[o] * f64::from(row[j]);
            }
            b_mean[o] += (b[o] - b_mean[o]) / (t + 1) as f64;
            b[o] -= eta * xi[o];
        }
    }
    scores
}

fn learned(settings: &str, formula: &Formula, x: &[f32]) -> (Learner, Vec<f64>) {
    let mut learner = Learner::new(Config::from_toml(&format!("{}\n{settings}", formula.settings)).unwrap()).unwrap();
    let y: Vec<f64> = x.chunks_exact(FEATURES).flat_map(formula.target).collect();
    let labels: Vec<Label> = y.iter().map(|y| Label::Int(*y as i64)).collect();
    let batch = Batch::new(x, FEATURES);
    let batch = if formula.settings.contains("classes") { batch.labels(&labels) } else { batch.numbers(&y) };
    let scores = learner.learn(&batch).unwrap().values;
    (learner, scores)
}

fn close(what: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= 1e-10 * expected.abs().max(1.0), "{what}, {i}: {found} for {expected}");
    }
}

/// The step size at an example.
type Schedule = fn(f64) -> f64;

/// Weights are kept in double precision, so nothing but the order of sums differs.
#[test]
fn weights_are_those_of_the_formula() {
    let x = rows();
    let steps: [(&str, Schedule, f64); 3] = [
        ("constant:0.05", |_| 0.05, 0.1),
        ("inverse_sqrt:0.1", |t| 0.1 / t.sqrt(), 0.01),
        ("decay:eta=0.1,tau=50", |t| 0.1 * (50.0 / (50.0 + t)).sqrt(), 0.0),
    ];
    for formula in &FORMULAS {
        for (step, eta, lambda) in steps {
            let expected = twin(formula, &x, eta, lambda);
            for (average, which) in [("none", 0), ("uniform", 1)] {
                let settings = format!(
                    "kernel = 'linear'\nscale = 'none'\noffset = true\nstep = '{step}'\nlambda = {lambda:?}\naverage = '{average}'"
                );
                let (learner, scores) = learned(&settings, formula, &x);
                assert!(learner.config().uses_weights() && learner.terms() == 0);
                let expected: Vec<f64> = expected.iter().flat_map(|at| at[which].clone()).collect();
                close(&format!("{} {settings}", formula.settings), &scores, &expected);
                assert!(scores.iter().any(|z| z.abs() > 0.5));
            }
        }
    }
}

/// Where kernel values are exact in single precision, terms and weights are one function: every loss, step, average, threshold, bank.
#[test]
fn weights_are_terms_that_are_all_kept() {
    let x = rows();
    let heads = [
        "step = 'constant:0.05'\nlambda = 0.01",
        "step = 'smd:eta=0.05'\nlambda = 0.01\naverage = 'uniform'",
        "step = 'normalised:eta=0.5'\nlambda = 0.01\nshrink = 'on_update'",
        "lambda = 0.01",
        "step = 'constant:0.05'\nlambda = 0.01\nregulariser = 'norm'",
    ];
    let formula = |settings, target| Formula { settings, outputs: 1, target, gradient: |_, _| Vec::new() };
    let others = [
        formula("loss = 'nu_hinge:0.3'", sign as fn(&[f32]) -> Vec<f64>),
        formula("loss = 'perceptron'", sign),
        formula("loss = 'nu_epsilon:0.3'", number),
        formula("loss = 'nu_huber:nu=0.3'", number),
        formula("loss = 'quantile:0.7'", number),
        formula("loss = 'max_margin'\nclasses = [0, 1, 2]", class),
        formula("loss = 'nu_novelty:0.2'", number),
        formula("loss = 'nu_novelty:0.2'\nthreshold = 'tracker'\nwarmup = 50", number),
    ];
    for formula in FORMULAS.iter().chain(&others) {
        for head in heads {
            // The heads of a bank of terms share what they store, so all of them must store every row: smooth losses.
            let smooth = ["squared", "logistic", "softmax"].iter().any(|loss| formula.settings.contains(loss));
            if !head.contains("step") && !smooth {
                continue;
            }
            let novelty = formula.settings.contains("novelty");
            let of = |form: &str| format!("kernel = 'linear'\nscale = 'none'\noffset = {}\n{head}\n{form}", !novelty);
            let (by_weights, scores) = learned(&of("form = 'weights'"), formula, &x);
            let (by_terms, expected) = learned(&of("budget = 'unlimited'"), formula, &x);
            let what = format!("{} {head}", formula.settings);
            close(&what, &scores, &expected);
            close(
                &what,
                &[by_weights.norm2(), by_weights.theta(), by_weights.eta()],
                &[by_terms.norm2(), by_terms.theta(), by_terms.eta()],
            );
            let rate =
                [&by_weights, &by_terms].map(|l| l.alert_rate().map_or([-1.0; 3], |rate| [rate.nu, rate.rate, rate.bound]));
            close(&what, &rate[0], &rate[1]);
            let regret = [&by_weights, &by_terms].map(|learner| learner.regret_bound(2.0, 1.0).unwrap_or(-1.0));
            close(&what, &regret[..1], &regret[1..]);
            let centres = by_terms.centres();
            let outputs = by_terms.outputs();
            let mut w = vec![0.0; FEATURES * outputs];
            for (centre, a) in centres.chunks_exact(FEATURES).zip(by_terms.predicting_coefficients().chunks_exact(outputs)) {
                for (j, c) in centre.iter().enumerate() {
                    (0..outputs).for_each(|o| w[j * outputs + o] += c * a[o]);
                }
            }
            if !formula.settings.contains("operator") {
                close(&what, &by_weights.weights().unwrap(), &w);
            }
        }
    }
}

/// The features of (2 <x, y> + 1)² in double precision, in the documented order: 1, then for every column 2 x_j, its products 2√2 x_i x_j
/// with the columns before it, 2 x_j².
fn products(x: &[f32]) -> Vec<f64> {
    let x: Vec<f64> = x.iter().map(|v| f64::from(*v)).collect();
    let mut features = vec![1.0];
    for (j, own) in x.iter().enumerate() {
        features.push(2.0 * own);
        features.extend(x[..j].iter().map(|other| 8f64.sqrt() * other * own));
        features.push(2.0 * own * own);
    }
    features
}

/// A polynomial kernel of degree 2 as weights: the weights of its features in f64, and the function of terms that are all kept. √8 is
/// rounded to single precision, once per feature.
#[test]
fn weights_of_products_are_terms_of_the_polynomial_kernel() {
    const CLOSE: f64 = 1e-5;
    let x = rows();
    let heads = [
        "step = 'constant:0.0005'\nlambda = 0.01",
        "step = 'smd:eta=0.0003'\nlambda = 0.01\naverage = 'uniform'",
        "step = 'normalised:eta=0.5'\nlambda = 0.01",
        "step = 'constant:0.1'\nimplicit = true\nlambda = 0.01",
        "lambda = 0.01",
    ];
    let near = |what: &str, found: &[f64], expected: &[f64]| {
        assert_eq!(found.len(), expected.len(), "{what}");
        for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert!((found - expected).abs() <= CLOSE * expected.abs().max(1.0), "{what}, {i}: {found} for {expected}");
        }
    };
    for formula in FORMULAS.iter().filter(|of| ["squared", "logistic", "softmax"].iter().any(|name| of.settings.contains(name))) {
        for head in heads {
            if head.contains("implicit") && formula.settings.contains("operator") {
                continue;
            }
            let of = |form: &str| {
                format!("kernel = 'polynomial:degree=2,gamma=2,coef0=1'\nscale = 'none'\noffset = true\n{head}\n{form}")
            };
            let (by_weights, scores) = learned(&of("form = 'weights'"), formula, &x);
            let (by_terms, expected) = learned(&of("budget = 'unlimited'"), formula, &x);
            let what = format!("{} {head}", formula.settings);
            assert!(by_weights.terms() == 0 && by_terms.terms() == ROWS && scores.iter().any(|z| z.abs() > 0.1), "{what}");
            near(&what, &scores, &expected);
            near(&what, &[by_weights.norm2(), by_weights.eta()], &[by_terms.norm2(), by_terms.eta()]);
            let (centres, outputs) = (by_terms.centres(), by_terms.outputs());
            let mut w = vec![0.0; 21 * outputs];
            for (centre, a) in centres.chunks_exact(FEATURES).zip(by_terms.predicting_coefficients().chunks_exact(outputs)) {
                let centre: Vec<f32> = centre.iter().map(|c| *c as f32).collect();
                for (j, feature) in products(&centre).iter().enumerate() {
                    (0..outputs).for_each(|o| w[j * outputs + o] += feature * a[o]);
                }
            }
            if !formula.settings.contains("operator") {
                near(&what, &by_weights.weights().unwrap(), &w);
            }
        }
    }
}
