//! `step = smd:per=coordinate` against V(1)-(3) in f64, in the paper's own signs and with the matrix G written out.

use okl::{Batch, Config, Label, Learner};

const FEATURES: usize = 5;
const ROWS: usize = 250;
const CLASSES: usize = 3;

/// Multiples of 1/8, many of them 0: inner products are exact in single precision.
fn rows() -> Vec<f32> {
    let mut state = 5u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as usize
    };
    (0..ROWS * FEATURES).map(|_| if next() % 3 == 0 { 0.0 } else { (next() % 33) as f32 / 8.0 - 2.0 }).collect()
}

fn signal(row: &[f32], output: usize) -> f64 {
    row.iter().enumerate().map(|(j, v)| f64::from(*v) * libm::sin((2 * j + 3 * output + 1) as f64)).sum()
}

/// A loss: its settings, targets, gradient and second derivatives in the scores.
struct Formula {
    settings: &'static str,
    outputs: usize,
    target: fn(&[f32]) -> f64,
    gradient: fn(&[f64], f64) -> Vec<f64>,
    curvature: fn(&[f64], f64) -> Vec<Vec<f64>>,
}

fn sign(row: &[f32]) -> f64 {
    if signal(row, 0) > 0.3 { 1.0 } else { -1.0 }
}

fn softmax(z: &[f64]) -> Vec<f64> {
    let total: f64 = z.iter().map(|z| z.exp()).sum();
    z.iter().map(|z| z.exp() / total).collect()
}

const FORMULAS: [Formula; 4] = [
    Formula {
        settings: "loss = 'squared'",
        outputs: 1,
        target: |row| signal(row, 0) + 0.25 * f64::from(row[2] * row[3]),
        gradient: |z, y| vec![z[0] - y],
        curvature: |_, _| vec![vec![1.0]],
    },
    Formula {
        settings: "loss = 'hinge'",
        outputs: 1,
        target: sign,
        gradient: |z, y| vec![if y * z[0] < 1.0 { -y } else { 0.0 }],
        curvature: |_, _| vec![vec![0.0]],
    },
    Formula {
        settings: "loss = 'logistic'",
        outputs: 1,
        target: sign,
        gradient: |z, y| vec![-y / (1.0 + (y * z[0]).exp())],
        curvature: |z, y| {
            let p = 1.0 / (1.0 + (y * z[0]).exp());
            vec![vec![p * (1.0 - p)]]
        },
    },
    Formula {
        settings: "loss = 'softmax'\nclasses = [0, 1, 2]",
        outputs: CLASSES,
        target: |row| (0..CLASSES).max_by(|a, b| signal(row, *a).total_cmp(&signal(row, *b))).unwrap() as f64,
        gradient: |z, y| softmax(z).iter().enumerate().map(|(o, p)| p - f64::from(u8::from(o == y as usize))).collect(),
        curvature: |z, _| {
            let p = softmax(z);
            let entry = |a: usize, b: usize| p[a] * (f64::from(u8::from(a == b)) - p[b]);
            (0..p.len()).map(|a| (0..p.len()).map(|b| entry(a, b)).collect()).collect()
        },
    },
];

/// mu, decay, the largest factor, floor and cap of a step size.
#[derive(Clone, Copy)]
struct Rule {
    mu: f64,
    decay: f64,
    growth: f64,
    floor: f64,
    cap: f64,
}

/// All parameters of one learner: per output, the weights and then the offset.
struct Twin {
    theta: Vec<f64>,
    /// V(3): the sign of V, not that of SVMD.
    v: Vec<f64>,
    eta: Vec<f64>,
    mean: Vec<f64>,
    outputs: usize,
}

impl Twin {
    fn new(outputs: usize, eta: f64) -> Self {
        let zeros = vec![0.0; outputs * (FEATURES + 1)];
        Twin { theta: zeros.clone(), v: zeros.clone(), eta: vec![eta; zeros.len()], mean: zeros, outputs }
    }

    fn scores(&self, parameters: &[f64], phi: &[f64]) -> Vec<f64> {
        parameters.chunks_exact(FEATURES + 1).map(|of| of.iter().zip(phi).map(|(w, x)| w * x).sum()).collect()
    }

    /// One example: g = dl/dtheta + lambda theta (not for offsets), G = (dz/dtheta)^T h (dz/dtheta) + lambda I.
    fn step(&mut self, formula: &Formula, row: &[f32], t: usize, lambda: f64, quiet_is_free: bool, rule: Rule) -> [Vec<f64>; 2] {
        let n = FEATURES + 1;
        let phi: Vec<f64> = row.iter().map(|x| f64::from(*x)).chain([1.0]).collect();
        let y = (formula.target)(row);
        let z = self.scores(&self.theta, &phi);
        let seen = [z.clone(), self.scores(&self.mean, &phi)];
        let share = 1.0 / (t + 1) as f64;
        self.mean.iter_mut().zip(&self.theta).for_each(|(m, w)| *m += share * (w - *m));
        let (xi, h) = ((formula.gradient)(&z, y), (formula.curvature)(&z, y));
        let quiet = quiet_is_free && xi.iter().all(|xi| *xi == 0.0);
        let pull = |i: usize| if i % n == FEATURES || quiet { 0.0 } else { lambda };
        let count = self.outputs * n;
        let g: Vec<f64> = (0..count).map(|i| xi[i / n] * phi[i % n] + pull(i) * self.theta[i]).collect();
        let matrix = |i: usize, j: usize| h[i / n][j / n] * phi[i % n] * phi[j % n] + if i == j { pull(i) } else { 0.0 };
        let gv: Vec<f64> = (0..count).map(|i| (0..count).map(|j| matrix(i, j) * self.v[j]).sum()).collect();
        for i in 0..count {
            let factor = (1.0 + rule.mu * self.v[i] * g[i]).max(0.5).min(rule.growth); // V(2)
            self.eta[i] = (self.eta[i] * factor).max(rule.floor).min(rule.cap);
            self.theta[i] -= self.eta[i] * g[i]; // V(1)
            self.v[i] = rule.decay * self.v[i] + self.eta[i] * (g[i] - rule.decay * gv[i]); // V(3)
        }
        seen
    }
}

fn learned(settings: &str, formula: &Formula, x: &[f32]) -> (Learner, Vec<f64>) {
    let mut learner = Learner::new(Config::from_toml(&format!("{}\n{settings}", formula.settings)).unwrap()).unwrap();
    let y: Vec<f64> = x.chunks_exact(FEATURES).map(formula.target).collect();
    let labels: Vec<Label> = y.iter().map(|y| Label::Int(*y as i64)).collect();
    let batch = Batch::new(x, FEATURES);
    let batch = if formula.settings.contains("classes") { batch.labels(&labels) } else { batch.numbers(&y) };
    let scores = learner.learn(&batch).unwrap().values;
    (learner, scores)
}

fn close(what: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{what}, {i}: {found} for {expected}");
    }
}

/// Scores, weights, traces, offsets, norms and the extremes of the step sizes.
#[test]
fn weights_and_step_sizes_are_those_of_the_equations() {
    let x = rows();
    let rules = |eta: f64, lambda: f64| {
        let cap = if lambda > 0.0 { 0.5 / lambda } else { 1e6 * eta };
        let safe = Rule { mu: 0.05, decay: 0.9, growth: 2.0, floor: 1e-6 * eta, cap };
        [
            ("smd:eta=0.05,per=coordinate", safe),
            (
                "smd:eta=0.05,mu=0.5,decay=0.97,floor=0.01,cap=0.2,per=coordinate",
                Rule { mu: 0.5, decay: 0.97, floor: 0.01, cap: 0.2, ..safe },
            ),
            ("smd:eta=0.05,decay=0,per=coordinate", Rule { decay: 0.0, ..safe }),
            (
                "smd:eta=0.05,preset=svmd2005,per=coordinate",
                Rule { mu: 0.1, decay: 1.0, growth: f64::INFINITY, floor: 0.0, cap: (1.0 - 1.0 / 1024.0) / lambda },
            ),
        ]
    };
    let mut moved = 0;
    for formula in &FORMULAS {
        for (lambda, shrink) in [(0.0, "always"), (0.02, "always"), (0.02, "on_update")] {
            for (step, rule) in rules(0.05, lambda) {
                let mut twin = Twin::new(formula.outputs, 0.05);
                let seen: Vec<[Vec<f64>; 2]> = x
                    .chunks_exact(FEATURES)
                    .enumerate()
                    .map(|(t, row)| twin.step(formula, row, t, lambda, shrink == "on_update", rule))
                    .collect();
                for (average, which) in [("none", 0), ("uniform", 1)] {
                    let settings = format!(
                        "kernel = 'linear'\nscale = 'none'\noffset = true\nstep = '{step}'\nlambda = {lambda:?}\nshrink = '{shrink}'\naverage = '{average}'"
                    );
                    let what = format!("{} {settings}", formula.settings);
                    let (learner, scores) = learned(&settings, formula, &x);
                    let expected: Vec<f64> = seen.iter().flat_map(|at| at[which].clone()).collect();
                    close(&what, &scores, &expected);
                    moved += check_state(&what, &learner, &twin);
                }
            }
        }
    }
    assert!(moved > 30, "{moved}");
}

/// Returns 1 if the step sizes of a learner differ by more than a factor of 2.
fn check_state(what: &str, learner: &Learner, twin: &Twin) -> usize {
    let head = &learner.engine().heads()[0];
    let f = head.expansion();
    let n = FEATURES + 1;
    let (mut f2, mut fv, mut v2) = (0.0, 0.0, 0.0);
    for o in 0..twin.outputs {
        let weights: Vec<f64> = (0..FEATURES).map(|j| f.alpha(o, j)).chain([head.offset()[o]]).collect();
        let traces: Vec<f64> = (0..FEATURES).map(|j| -f.trace(o, j).unwrap()).chain([-head.offset_trace()[o]]).collect();
        close(&format!("{what}, weights of {o}"), &weights, &twin.theta[o * n..(o + 1) * n]);
        close(&format!("{what}, traces of {o}"), &traces, &twin.v[o * n..(o + 1) * n]);
        for j in 0..FEATURES {
            let (w, v) = (twin.theta[o * n + j], -twin.v[o * n + j]);
            (f2, fv, v2) = (f2 + w * w, fv + w * v, v2 + v * v);
        }
    }
    close(&format!("{what}, norms"), &[head.norm2(), head.trace_product(), head.trace_norm2()], &[f2, fv, v2]);
    let mut sizes = twin.eta.clone();
    sizes.sort_by(f64::total_cmp);
    let found = learner.step_sizes().unwrap();
    let expected = [sizes[0], sizes[sizes.len() / 2], sizes[sizes.len() - 1]];
    close(&format!("{what}, step sizes"), &[found.least, found.median, found.largest], &expected);
    assert!(learner.eta() == found.median && learner.regret_bound(1.0, 1.0).is_none(), "{what}");
    usize::from(found.largest > 2.0 * found.least)
}

/// With a theta that adapts: the tube of nu_epsilon moves with a step size of its own, V(2) with g = d l / d theta, and the certificate of
/// the rate holds.
#[test]
fn theta_has_a_step_size_of_its_own() {
    let x = rows();
    let settings =
        "loss = 'nu_epsilon:0.3'\nkernel = 'linear'\nscale = 'none'\nstep = 'smd:eta=0.05,mu=0.5,per=coordinate'\nlambda = 0";
    let mut learner = Learner::new(Config::from_toml(settings).unwrap()).unwrap();
    let (mut theta, mut trace, mut eta, mut outside) = (learner.theta(), 0.0, 0.05, 0.0);
    let mut largest = eta;
    for row in x.chunks_exact(FEATURES) {
        let y = signal(row, 0);
        let z = learner.predict(&Batch::new(row, FEATURES)).unwrap().values[0];
        let beyond = (y - z).abs() > theta;
        outside += f64::from(u8::from(beyond));
        // l = max(0, |y - z| - theta) + nu theta, so dl/dtheta = nu - 1 outside and nu inside.
        let g = if beyond { 0.3 - 1.0 } else { 0.3 };
        eta = (eta * (1.0f64 - 0.5 * g * trace).clamp(0.5, 2.0)).clamp(0.05e-6, 0.05e6);
        largest = largest.max(eta);
        let free: f64 = theta - eta * g;
        trace = if free < 0.0 { 0.0 } else { 0.9 * trace - eta * g };
        theta = free.max(0.0);
        learner.learn(&Batch::new(row, FEATURES).numbers(&[y])).unwrap();
        assert!((learner.theta() - theta).abs() < 1e-9, "{} for {theta}", learner.theta());
    }
    let rate = learner.alert_rate().unwrap();
    assert!((rate.rate - outside / ROWS as f64).abs() < 1e-9 && (rate.rate - 0.3).abs() <= rate.bound, "{rate:?}");
    assert!(largest > 0.06, "{largest}");
}

/// Columns in very different units and `scale = none`: the best step size for each column beats the best step size for all.
#[test]
fn columns_of_different_scales_need_step_sizes_of_their_own() {
    const SCALES: [f64; 5] = [4.0, 1.0, 0.3, 0.1, 0.03];
    let mut state = 3u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
    };
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for _ in 0..3000 {
        let unit: Vec<f64> = SCALES.iter().map(|_| next()).collect();
        x.extend(unit.iter().zip(SCALES).map(|(u, scale)| (u * scale) as f32));
        y.push(unit.iter().enumerate().map(|(j, u)| u * libm::cos(j as f64 * 1.3)).sum::<f64>() + 0.05 * next());
    }
    let error = |per: &str| {
        let of = |eta: f64, mu: f64| {
            let settings = format!(
                "loss = 'squared'\nkernel = 'linear'\nscale = 'none'\nlambda = 0\nstep = 'smd:eta={eta},mu={mu},decay=0.99{per}'"
            );
            let mut learner = Learner::new(Config::from_toml(&settings).unwrap()).unwrap();
            let scores = learner.learn(&Batch::new(&x, SCALES.len()).numbers(&y)).unwrap().values;
            scores.iter().zip(&y).map(|(z, y)| (z - y) * (z - y)).sum::<f64>() / y.len() as f64
        };
        let tried = [0.003, 0.01, 0.03, 0.1, 0.3].into_iter().flat_map(|eta| [0.001, 0.01, 0.1, 1.0].map(|mu| of(eta, mu)));
        tried.filter(|error| error.is_finite()).fold(f64::INFINITY, f64::min)
    };
    let (one, each) = (error(""), error(",per=coordinate"));
    println!("a step size for each column {each}, one for all {one}");
    assert!(each < 0.7 * one, "a step size for each column {each}, one for all {one}");
}
