//! The twins checked against what algorithms.md states as checked, against each other, and against
//! themselves at a coarser precision. Each function asserts one fact; [`all`] runs them.

use super::lecture::{Forgetron, Implicit, LectureHinge, Perceptron, Sumitra};
use super::losses::Loss;
use super::norma::{Average, Norma};
use super::olok::{Olok, s_t, t_0, vv_rls};
use super::svmd::{Smd, Svmd};
use super::*;

pub fn all() {
    for check in [
        kernel_values as fn(),
        boundaries,
        gradients,
        nu_is_the_fraction_outside,
        first_steps,
        alert_rate,
        lambda_eta,
        nu_identity,
        two_classes_are_norma,
        trace_is_a_derivative,
        recursions,
        step_size_limits,
        t_0_table,
        scalar_olok_is_norma,
        whitening,
        batch_is_stationary,
        perceptrons_agree,
        lecture_and_note_are_norma,
        implicit_closed_forms,
        forgetron_keeps_its_promise,
        truncation_bound,
        averages,
        weights,
        comparison_accepts,
        comparison_refuses,
    ] {
        check();
    }
}

fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().map(|x| f64::from(*x)).collect()
}

fn run(twin: &mut dyn Twin, stream: &Stream) -> Matrix {
    stream.iter().map(|(x, y)| twin.learn(&wide(x), y)).collect()
}

fn near(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0), "{a} and {b}");
}

fn same(a: &Matrix, b: &Matrix, tolerance: f64) {
    assert_eq!(a.len(), b.len());
    a.iter().flatten().zip(b.iter().flatten()).for_each(|(a, b)| near(*a, *b, tolerance));
}

/// A twin as a subject, its kernel rounded to f32: what the engine's arithmetic does to a score.
pub struct Shadow(pub Box<dyn Twin>);

pub fn shadow<T: Twin + Clone + 'static>(twin: &T) -> Shadow {
    let mut twin = twin.clone();
    let kernel = twin.state().kernel.clone();
    twin.state_mut().kernel = std::rc::Rc::new(move |x, y| f64::from(kernel(x, y) as f32));
    Shadow(Box::new(twin))
}

impl Subject for Shadow {
    fn learn(&mut self, x: &[f32], y: &[f64]) -> Vec<f64> {
        self.0.learn(&wide(x), y)
    }
    fn coefficients(&self) -> Vec<(u64, Vec<f64>)> {
        self.0.alpha()
    }
    fn offset(&self) -> Vec<f64> {
        self.0.offset()
    }
    fn theta(&self) -> f64 {
        self.0.theta()
    }
    fn eta(&self) -> f64 {
        self.0.eta()
    }
    fn norm2(&self) -> f64 {
        self.0.norm2()
    }
}

/// Every scalar loss, with a theta at which to start.
pub fn scalar_losses() -> Vec<(Loss, f64)> {
    vec![
        (Loss::Hinge { margin: 1.0 }, 0.0),
        (Loss::Hinge { margin: 0.3 }, 0.0),
        (Loss::NuHinge { nu: 0.3 }, 0.0),
        (Loss::Perceptron, 0.0),
        (Loss::Logistic, 0.0),
        (Loss::Novelty { margin: 1.0 }, 0.0),
        (Loss::NuNovelty { nu: 0.2 }, 0.0),
        (Loss::Squared, 0.0),
        (Loss::Absolute, 0.0),
        (Loss::Epsilon { epsilon: 0.2 }, 0.0),
        (Loss::NuEpsilon { nu: 0.3 }, 0.0),
        (Loss::Huber { sigma: 0.3 }, 0.0),
        (Loss::NuHuber { nu: 0.3 }, 0.5),
        (Loss::NuHuberConcomitant { nu: 0.2 }, 0.5),
        (Loss::Quantile { q: 0.8 }, 0.0),
    ]
}

/// A stream that suits a scalar loss.
pub fn stream_for(loss: Loss, n: usize) -> Stream {
    match loss {
        Loss::Hinge { .. } | Loss::NuHinge { .. } | Loss::Perceptron | Loss::Logistic => streams::two_classes(n, 3, 7),
        Loss::Novelty { .. } | Loss::NuNovelty { .. } => streams::novelty(n, 3, 7),
        _ => streams::regression(n, 3, 7),
    }
}

pub fn norma_for(loss: Loss, theta0: f64, step: Step, lambda: f64) -> Norma {
    let mut twin = Norma::new(&kernels::gaussian(0.5), loss, step, lambda);
    twin.offset = !loss.is_novelty();
    twin.state.theta = theta0;
    twin.theta_min = if theta0 > 0.0 { 0.01 } else { 0.0 };
    twin
}

/// The kernels at one pair of points (Matern: by numerical integration of the Bessel function in its general form).
pub fn kernel_values() {
    let (x, y, g) = ([0.5, -1.0, 2.0], [1.5, 0.25, -0.5], 0.3); // <x, y> = -1/2, r^2 = 8.8125
    let gaussian = 0.071_094_165_927_865_09; // exp(-2.64375)
    let values = [
        (kernels::linear(), -0.5),
        (kernels::polynomial(3, g, 1.0), 0.614_125),
        (kernels::gaussian(g), gaussian),
        (kernels::exponential(g), 0.410_419_424_116_164_3),
        (kernels::matern32(g), 0.543_695_641_540_342_6),
        (kernels::matern52(g), 0.588_785_651_591_271_6),
        (kernels::rational_quadratic(g, 2.0), 0.185_490_780_709_683_4),
        (kernels::scaled(2.0, kernels::linear()), -1.0),
        (kernels::sum(vec![kernels::linear(), kernels::gaussian(g)]), gaussian - 0.5),
        (kernels::product(vec![kernels::linear(), kernels::gaussian(g)]), -0.5 * gaussian),
    ];
    values.iter().for_each(|(k, value)| near(k(&x, &y), *value, 1e-12));
}

/// What happens exactly at the threshold (section 6).
pub fn boundaries() {
    let updates = |loss: Loss, z: f64, y: f64, theta: f64| loss.eval(&[z], &[y], theta).xi[0] != 0.0;
    for y in [-1.0, 1.0] {
        assert!(!updates(Loss::Hinge { margin: 0.5 }, 0.5 * y, y, 0.0));
        assert!(!updates(Loss::NuHinge { nu: 0.5 }, 0.5 * y, y, 0.5));
        assert!(updates(Loss::Perceptron, 0.0, y, 0.0) && !updates(Loss::Perceptron, 1e-300 * y, y, 0.0));
    }
    assert!(!updates(Loss::Novelty { margin: 1.0 }, 1.0, 0.0, 0.0));
    assert!(!updates(Loss::NuNovelty { nu: 0.5 }, 0.0, 0.0, 0.0));
    for r in [-0.5, 0.5] {
        assert!(!updates(Loss::Epsilon { epsilon: 0.5 }, 0.0, r, 0.0));
        assert_eq!(Loss::NuEpsilon { nu: 0.2 }.eval(&[0.0], &[r], 0.5).dtheta, 0.2);
        assert_eq!(Loss::NuHuber { nu: 0.2 }.eval(&[0.0], &[r], 0.5).dtheta, 0.2); // E8
        assert_eq!(Loss::Huber { sigma: 0.5 }.eval(&[0.0], &[r], 0.0).xi[0], -r.signum());
    }
    assert!(!updates(Loss::Absolute, 2.0, 2.0, 0.0) && !updates(Loss::Quantile { q: 0.3 }, 2.0, 2.0, 0.0));
    let xi = |z: &[f64], y: f64| Loss::MaxMargin.eval(z, &[y], 0.0).xi;
    assert_eq!(xi(&[0.0; 4], 2.0), [1.0, 0.0, -1.0, 0.0]); // ties go to the smallest label
    assert_eq!(xi(&[0.0; 4], 0.0), [-1.0, 1.0, 0.0, 0.0]);
    assert_eq!(xi(&[0.0, 1.5, 0.5], 1.0), [0.0; 3]); // z_y = 1 + z_y* is not below
    assert_eq!(xi(&[0.3], 0.0), [0.0]); // one class: nothing to learn
}

/// E5, E7: the fraction outside the tube, and beyond sigma, becomes nu.
pub fn nu_is_the_fraction_outside() {
    for loss in [Loss::NuEpsilon { nu: 0.2 }, Loss::NuHuber { nu: 0.2 }] {
        let mut twin = norma_for(loss, 1.0, Step::Constant { eta: 0.05 }, 0.01);
        let mut outside = 0;
        for (x, y) in &streams::regression(2000, 3, 16) {
            let theta = twin.state.theta;
            outside += usize::from((y[0] - twin.learn(&wide(x), y)[0]).abs() > theta);
        }
        near(f64::from(outside as u32) / 2000.0, 0.2, 0.01);
    }
}

/// xi, h and dtheta are derivatives of the loss, away from the kinks (section 5, item 1).
pub fn gradients() {
    let mut random = streams::Random::new(3);
    let losses = scalar_losses().into_iter().map(|(loss, _)| (loss, 1)).chain([
        (Loss::MaxMargin, 4),
        (Loss::Softmax, 4),
        (Loss::Squared, 3),
        (Loss::Huber { sigma: 1.0 }, 3),
        (Loss::Epsilon { epsilon: 1.0 }, 3),
    ]);
    for (loss, d) in losses {
        for _ in 0..200 {
            let z: Vec<f64> = (0..d).map(|_| random.normal()).collect();
            let class = matches!(loss, Loss::MaxMargin | Loss::Softmax);
            let y: Vec<f64> = match loss {
                _ if class => vec![random.below(d) as f64],
                Loss::Hinge { .. } | Loss::NuHinge { .. } | Loss::Perceptron | Loss::Logistic => {
                    vec![random.normal().signum()]
                }
                _ => (0..d).map(|_| random.normal()).collect(),
            };
            let theta = 0.2 + random.uniform();
            let e = loss.eval(&z, &y, theta);
            if e.gaps.iter().chain(&e.bends).any(|g| g.abs() < 1e-3) {
                continue;
            }
            let (delta, value) = (1e-5, |z: &[f64], theta| loss.eval(z, &y, theta));
            for a in 0..d {
                let moved = |by: f64| z.iter().enumerate().map(|(c, z)| z + if c == a { by } else { 0.0 }).collect::<Vec<_>>();
                let (up, down) = (value(&moved(delta), theta), value(&moved(-delta), theta));
                near(e.xi[a], (up.loss - down.loss) / (2.0 * delta), 1e-5);
                (0..d).for_each(|c| near(e.h[c][a], (up.xi[c] - down.xi[c]) / (2.0 * delta), 1e-5));
            }
            let (up, down) = (value(&z, theta + delta).loss, value(&z, theta - delta).loss);
            if !matches!(loss, Loss::NuHuber { .. }) {
                near(e.dtheta, (up - down) / (2.0 * delta), 1e-5); // E7: N(21) alone is not a gradient
            }
        }
    }
}

/// Every loss starts from f = 0 (E3, E4).
pub fn first_steps() {
    for (loss, theta0) in scalar_losses() {
        let mut twin = norma_for(loss, theta0, Step::Constant { eta: 0.1 }, 0.01);
        run(&mut twin, &stream_for(loss, 50));
        assert!(!twin.state.terms.is_empty(), "{loss:?} never starts");
    }
}

/// E3: N(0, I_2), nu = .05, eta = .005: rate nu; with the printed sign no alert at all and rho = -5.
pub fn alert_rate() {
    let stream = streams::normals(20_000, 2, 1);
    let mut twin = Norma::new(&kernels::gaussian(0.5), Loss::NuNovelty { nu: 0.05 }, Step::Constant { eta: 0.005 }, 1.0);
    let mut printed = twin.clone();
    printed.printed_signs = true;
    twin.budget = Budget::Age { steps: 4000 };
    let mut alerts = [0, 0];
    for (x, y) in &stream {
        for (twin, alerts) in [&mut twin, &mut printed].into_iter().zip(&mut alerts) {
            twin.learn(&wide(x), y);
            *alerts += usize::from(twin.updated());
        }
    }
    near(alerts[0] as f64 / 20_000.0, 0.05, 1e-3);
    assert_eq!((alerts[1], printed.state.terms.len()), (0, 0));
    near(printed.state.theta, -5.0, 1e-9);
}

/// E11: only the product lambda eta matters: the same alerts, f and rho scaled by 10.
pub fn lambda_eta() {
    let cases = [
        (Loss::NuNovelty { nu: 0.05 }, streams::normals(2000, 2, 2)),
        (Loss::NuHinge { nu: 0.3 }, streams::two_classes(2000, 2, 2)),
    ];
    for (loss, stream) in cases {
        let mut one = norma_for(loss, 0.0, Step::Constant { eta: 0.005 }, 1.0);
        let mut ten = norma_for(loss, 0.0, Step::Constant { eta: 0.05 }, 0.1);
        for (x, y) in &stream {
            let (a, b) = (one.learn(&wide(x), y), ten.learn(&wide(x), y));
            near(10.0 * a[0], b[0], 1e-10);
            near(10.0 * one.state.theta, ten.state.theta, 1e-10);
            assert_eq!(one.updated(), ten.updated());
        }
    }
}

/// 3.5: for a fixed step and no projection, rate = nu -+ (change of theta) / (eta T).
pub fn nu_identity() {
    for (loss, sign) in [
        (Loss::NuHinge { nu: 0.3 }, -1.0),
        (Loss::NuNovelty { nu: 0.3 }, -1.0),
        (Loss::NuEpsilon { nu: 0.3 }, 1.0),
        (Loss::NuHuber { nu: 0.3 }, 1.0),
    ] {
        let mut twin = norma_for(loss, 1.0, Step::Constant { eta: 0.01 }, 0.1);
        twin.theta_min = f64::NEG_INFINITY;
        let (mut out, mut previous) = (0.0, 1.0);
        for (x, y) in &stream_for(loss, 1000) {
            twin.learn(&wide(x), y);
            out += f64::from(u8::from(sign * (twin.state.theta - previous) > 0.0));
            previous = twin.state.theta;
        }
        near(out / 1000.0, 0.3 + sign * (twin.state.theta - 1.0) / (0.01 * 1000.0), 1e-12);
    }
}

/// E19: SVMD two-class (eta, lambda) is NORMA (2 eta, lambda/2).
pub fn two_classes_are_norma() {
    let k = kernels::gaussian(0.5);
    let (eta, lambda) = (0.1, 0.02);
    let mut two = Svmd::new(&k, Loss::MaxMargin, Smd { mu: 0.0, ..Smd::safe(eta, lambda) }, lambda, 2);
    let mut one = Norma::new(&k, Loss::Hinge { margin: 1.0 }, Step::Constant { eta: 2.0 * eta }, lambda / 2.0);
    (two.offset, one.offset) = (true, true);
    for (x, y) in &streams::two_classes(500, 3, 4) {
        let z = two.learn(&wide(x), &[if y[0] > 0.0 { 0.0 } else { 1.0 }]);
        near(z[0] - z[1], one.learn(&wide(x), y)[0], 1e-12);
    }
    near(one.norm2(), 2.0 * two.norm2(), 1e-11);
}

/// E16: v, w and q are the derivatives of f, b and theta by ln eta, at decay = 1.
pub fn trace_is_a_derivative() {
    let (lambda, delta) = (0.02, 1e-5_f64);
    let cases = [
        (Loss::Squared, 1, streams::regression(60, 3, 5)),
        (Loss::Logistic, 1, streams::two_classes(60, 3, 5)),
        (Loss::Huber { sigma: 0.5 }, 1, streams::regression(60, 3, 5)),
        (Loss::Hinge { margin: 1.0 }, 1, streams::two_classes(60, 3, 5)),
        (Loss::NuEpsilon { nu: 0.5 }, 1, streams::regression(60, 3, 5)),
        (Loss::MaxMargin, 3, streams::classes(60, 3, 3, 5)),
        (Loss::Softmax, 3, streams::classes(60, 3, 3, 5)),
        (Loss::Huber { sigma: 0.5 }, 2, streams::vector_regression(60, 3, 2, 5)),
    ];
    for (loss, d, stream) in cases {
        let at = |factor: f64| {
            let smd = Smd { mu: 0.0, decay: 1.0, ..Smd::safe(0.1 * factor, lambda) };
            let mut twin = Svmd::new(&kernels::gaussian(0.5), loss, smd, lambda, d);
            (twin.offset, twin.theta_min) = (true, f64::NEG_INFINITY);
            twin.state.metric = equicorrelated(d, 0.3);
            twin.state.output = equicorrelated(d, 0.3);
            run(&mut twin, &stream);
            twin
        };
        let (down, here, up) = (at((-delta).exp()), at(1.0), at(delta.exp()));
        let x = [0.1, -0.2, 0.3];
        for c in 0..d {
            let slope = |get: &dyn Fn(&Svmd) -> f64| (get(&up) - get(&down)) / (2.0 * delta);
            near(here.state.sum(&x, |term| &term.beta)[c], slope(&|twin| twin.state.f(&x)[c]), 1e-7);
            near(here.w[c], slope(&|twin| twin.state.b[c]), 1e-7);
        }
        near(here.q, (up.state.theta - down.state.theta) / (2.0 * delta), 1e-7);
    }
}

fn equicorrelated(d: usize, a: f64) -> Matrix {
    identity(d).iter().map(|row| row.iter().map(|i| a + (1.0 - a) * i).collect()).collect()
}

/// 3.2, V(21)-(25): the recursions for <f, v> and |f|^2 give what the double sums give.
pub fn recursions() {
    let (lambda, decay) = (0.02, 0.97);
    for (loss, d, stream) in [
        (Loss::MaxMargin, 3, streams::classes(80, 3, 3, 6)),
        (Loss::Softmax, 3, streams::classes(80, 3, 3, 6)),
        (Loss::Squared, 2, streams::vector_regression(80, 3, 2, 6)),
    ] {
        let j = equicorrelated(d, 0.2);
        let smd = Smd { mu: 0.02, decay, ..Smd::safe(0.1, lambda) };
        let mut twin = Svmd::new(&kernels::gaussian(0.5), loss, smd, lambda, d);
        (twin.offset, twin.state.output, twin.state.metric) = (true, j.clone(), j.clone());
        let (mut pi, mut n) = (0.0, 0.0);
        for (x, y) in &stream {
            let x = wide(x);
            let (p, u) = (twin.state.f(&x), twin.state.sum(&x, |term| &term.beta));
            let uw = combine(1.0, &u, 1.0, &twin.w);
            let z = twin.learn(&x, y);
            let e = loss.eval(&z, y, 0.0);
            near(lambda * pi + inner(&e.xi, &uw), twin.ip, 1e-12); //                              V(21)
            let zeta = combine(1.0, &e.xi, decay, &times(&e.h, &uw));
            let (eta, c) = (twin.eta(), 1.0 - twin.eta() * lambda);
            let (xp, zp, xu) = (inner(&e.xi, &p), inner(&zeta, &p), inner(&e.xi, &u));
            pi = decay * c * c * pi - eta * lambda * c * n - eta * c * zp - eta * decay * c * xu //  V(22)-(24)
                + eta * eta * lambda * xp + eta * eta * inner(&e.xi, &times(&j, &zeta));
            n = c * c * n - 2.0 * eta * c * xp + eta * eta * inner(&e.xi, &times(&j, &e.xi)); //    V(25)
            near(twin.norm2(), n, 1e-12);
        }
        near(twin.state.dot(|term| &term.alpha, |term| &term.beta), pi, 1e-12);
    }
}

/// V(16), E20: eta_0 first, then one factor in [1/2, 2] a step, floor and cap; as published, no upper limits.
pub fn step_size_limits() {
    let smd = Smd { mu: 50.0, decay: 1.0, upper: 2.0, floor: 0.01, cap: 0.6, eta: 0.2 };
    let open = Smd { upper: f64::INFINITY, floor: 0.0, cap: f64::INFINITY, ..smd };
    let etas = |smd: Smd| {
        let mut twin = Svmd::new(&kernels::gaussian(0.5), Loss::Hinge { margin: 1.0 }, smd, 0.01, 1);
        let xs = [[0.0], [0.1], [0.2], [0.1], [0.0]];
        let mut learn = |x: &[f64; 1], y: f64| {
            twin.learn(x, &[y]);
            twin.eta()
        };
        xs.iter().zip([1.0, 1.0, 1.0, -1.0, -1.0]).map(|(x, y)| learn(x, y)).collect::<Vec<_>>()
    };
    let limited = etas(smd); // the same label: faster; then the other: slower
    assert_eq!(limited, [0.2, 0.4, 0.6, 0.3, 0.15]);
    let free = etas(open);
    assert!(free[0] == 0.2 && free[1] > 2.0, "{free:?}");
    let published = Smd::svmd2005(1.0);
    assert_eq!((published.mu, published.decay, published.floor), (0.1, 1.0, 0.0));
}

/// E14's table, and that the conditions hold from t_0 on and fail just before it.
pub fn t_0_table() {
    let table = [
        (1.0, 0.2, 3.0),
        (1.0, 0.25, 4.0),
        (1.0, 0.3, 5.0),
        (1.0, 0.4, 18.0),
        (3.0, 0.1, 10.0),
        (3.0, 0.2, 10.0),
        (3.0, 0.3, 10.0),
        (3.0, 0.4, 18.0),
        (0.3, 0.4, 933.0),
        (0.3, 0.45, 337.0),
    ];
    for (a, e, t0) in table {
        assert_eq!(t_0(a, e), t0, "eta lambda = {a}, epsilon = {e}");
    }
    for (a, e, t0) in [(0.3, 0.2, 4.0e7), (0.3, 0.25, 4.3e5), (0.3, 0.3, 2.5e4), (1.0, 0.1, 1.1e11)] {
        assert!((t_0(a, e) / t0 - 1.0).abs() < 0.05, "{}", t_0(a, e));
    }
    assert_eq!(t_0(0.3, 0.3), 25_152.0); // E13
    for (a, e) in [(0.3, 0.45), (1.0, 0.3), (0.5, 0.35)] {
        let t0 = t_0(a, e);
        let hold = |t: f64| a < t.sqrt() && (-a * t.powf(e)).exp() <= a / t.sqrt() && t.powf(0.5 + e) <= 0.75 * t;
        assert!(!hold(t0 - 1.0) && (0..100_000).all(|i| hold(t0 + f64::from(i))));
    }
    assert_eq!((s_t(5, 0.8, 10.0), s_t(100, 0.8, 10.0)), (10, 40)); // 100^.8 = 39.8
}

/// OLOK with d = 1, J = 1 is NORMA with the squared loss (section 5, item 8).
pub fn scalar_olok_is_norma() {
    let k = kernels::olok_width(2.0);
    let stream = streams::regression(400, 3, 8);
    let mut norma = Norma::new(&k, Loss::Squared, Step::InverseSqrt { eta: 0.5 }, 0.1);
    let mut olok = Olok::new(&k, &identity(1), Loss::Squared, 0.5, 0.1);
    same(&run(&mut norma, &stream), &run(&mut olok, &stream), 1e-14);
    let mut all = Olok::new(&k, &identity(1), Loss::Squared, 1.0, 0.9);
    let mut cut = all.clone().truncated(0.4);
    let (a, b) = (run(&mut all, &stream), run(&mut cut, &stream));
    assert_eq!(cut.alpha()[0].0 as usize, 400 - s_t(400, 0.9, t_0(0.9, 0.4)) + 1);
    same(&a, &b, 0.02); // the error of truncation is small, and there is one
    assert_ne!(a, b);
}

/// 3.4: J = L L', also of deficient rank: coefficients L' alpha, f = L h, give the same function.
pub fn whitening() {
    let (k, stream) = (kernels::gaussian(0.5), streams::vector_regression(200, 3, 3, 9));
    let l: Matrix = vec![vec![1.0, 0.0], vec![0.4, 0.8], vec![-0.3, 0.5]];
    let j: Matrix = l.iter().map(|a| l.iter().map(|b| inner(a, b)).collect()).collect();
    for loss in [Loss::Squared, Loss::Huber { sigma: 0.5 }] {
        let mut plain = Olok::new(&k, &j, loss, 0.5, 0.1);
        let mut white = Olok::whitened(&k, &l, loss, 0.5, 0.1);
        same(&run(&mut plain, &stream), &run(&mut white, &stream), 1e-12);
        near(plain.norm2(), white.norm2(), 1e-12);
    }
}

/// E15: the batch solution is stationary: t lambda alpha_i = y_i - g(x_i).
pub fn batch_is_stationary() {
    let (k, j) = (kernels::gaussian(0.5), equicorrelated(2, 0.1));
    let stream = streams::vector_regression(12, 3, 2, 10);
    let (xs, ys): (Matrix, Matrix) = stream.iter().map(|(x, y)| (wide(x), y.clone())).unzip();
    let c = vv_rls(&k, &j, &xs, &ys, 0.05);
    let mut g = Olok::new(&k, &j, Loss::Squared, 0.0, 0.05).state;
    g.terms = c.iter().enumerate().map(|(i, a)| Term { time: i + 1, alpha: a.clone(), beta: vec![0.0; 2], live: true }).collect();
    g.xs = xs.clone();
    for ((x, y), alpha) in xs.iter().zip(&ys).zip(&c) {
        same(&vec![scale(12.0 * 0.05, alpha)], &vec![combine(1.0, y, -1.0, &g.f(x))], 1e-12);
    }
}

/// NORMA's perceptron with lambda = 0 is the textbook's.
pub fn perceptrons_agree() {
    let (k, stream) = (kernels::polynomial(2, 0.5, 1.0), streams::two_classes(500, 3, 11));
    for offset in [false, true] {
        let mut norma = Norma::new(&k, Loss::Perceptron, Step::Constant { eta: 1.0 }, 0.0);
        let mut textbook = Perceptron::new(&k);
        (norma.offset, textbook.offset) = (offset, offset);
        same(&run(&mut norma, &stream), &run(&mut textbook, &stream), 0.0);
    }
}

/// L(2)-(3) is NORMA's hinge, S(4)-(5) its squared loss.
pub fn lecture_and_note_are_norma() {
    let k = kernels::sum(vec![kernels::gaussian(0.5), kernels::scaled(0.1, kernels::linear())]);
    let step = Step::Decay { eta: 0.5, tau: 100.0 };
    let (signs, numbers) = (streams::two_classes(400, 3, 12), streams::regression(400, 3, 12));
    let hinge = Loss::Hinge { margin: 1.0 };
    same(&run(&mut LectureHinge::new(&k, step, 0.01), &signs), &run(&mut Norma::new(&k, hinge, step, 0.01), &signs), 0.0);
    same(
        &run(&mut Sumitra::new(&k, step, 0.01), &numbers),
        &run(&mut Norma::new(&k, Loss::Squared, step, 0.01), &numbers),
        1e-14,
    );
}

/// 3.3: the brute-force minimiser finds the closed forms of xi.
pub fn implicit_closed_forms() {
    let (eta, lambda, step) = (0.7, 0.3, Step::Constant { eta: 0.7 });
    let s = 1.0 / (1.0 + eta * lambda);
    let clip = |v: f64, a: f64, b: f64| v.max(a).min(b);
    type Closed = Box<dyn Fn(f64, f64, f64) -> f64>; // (z0, y, C) -> xi
    let cases: Vec<(Loss, Closed)> = vec![
        (Loss::Hinge { margin: 1.0 }, Box::new(move |z, y, c| -y * clip((1.0 - y * z) / c, 0.0, 1.0))),
        (Loss::Squared, Box::new(|z, y, c| -(y - z) / (1.0 + c))),
        (Loss::Epsilon { epsilon: 0.2 }, Box::new(move |z, y, c| -(y - z).signum() * clip(((y - z).abs() - 0.2) / c, 0.0, 1.0))),
        (Loss::Huber { sigma: 0.3 }, Box::new(move |z, y, c| -clip((y - z) / (0.3 + c), -1.0, 1.0))),
        (Loss::Quantile { q: 0.8 }, Box::new(move |z, y, c| -clip((y - z) / c, -0.2, 0.8))),
    ];
    for (loss, closed) in cases {
        for offset in [false, true] {
            let mut twin = Implicit::new(&kernels::gaussian(0.5), loss, step, lambda);
            twin.offset = offset;
            for (x, y) in &stream_for(loss, 200) {
                let z0 = s * twin.state.f(&wide(x))[0] + twin.state.b[0];
                let c = eta * (s + f64::from(u8::from(offset)));
                let xi = closed(z0, y[0], c);
                twin.learn(&wide(x), y);
                let found = if twin.updated() { twin.state.terms.last().unwrap().alpha[0] / (-eta * s) } else { 0.0 };
                near(found, xi, 2e-6);
            }
        }
    }
}

/// At most B terms, and total damage Q <= (15/32) M after every step.
pub fn forgetron_keeps_its_promise() {
    let mut twin = Forgetron::new(&kernels::gaussian(0.5), 20);
    for (x, y) in &streams::two_classes(600, 3, 13) {
        twin.learn(&wide(x), y);
        assert!(twin.state.terms.len() <= 20);
        assert!(twin.damage <= 15.0 / 32.0 * twin.mistakes + 1e-9);
    }
    assert!(twin.mistakes > 100.0);
}

/// N(11), and which terms an age and a window keep.
pub fn truncation_bound() {
    let (eta, lambda, tau, n) = (0.1, 0.2, 40, 300);
    let stream = streams::two_classes(n, 3, 14);
    let mut twin = norma_for(Loss::Hinge { margin: 1.0 }, 0.0, Step::Constant { eta }, lambda);
    let (mut age, mut window) = (twin.clone(), twin.clone());
    (age.budget, window.budget) = (Budget::Age { steps: tau }, Budget::Window { terms: 25 });
    for stream in [&mut twin, &mut age, &mut window] {
        run(stream, &streams::two_classes(n, 3, 14));
    }
    assert!(age.alpha().iter().all(|term| term.0 as usize > n - tau) && age.state.terms.len() > 5);
    assert_eq!(window.state.terms.len(), 25);
    twin.state.terms.retain(|term| term.time <= n - tau);
    let bound = (1.0 - lambda * eta).powi(tau as i32) / lambda;
    assert!(twin.norm2() > 0.0 && twin.norm2().sqrt() < bound);
    // a term of step i serves exactly f_{i+1} .. f_{i+tau}
    let mut one = norma_for(Loss::Squared, 0.0, Step::Constant { eta }, lambda);
    (one.offset, one.budget) = (false, Budget::Age { steps: 2 });
    let live: Vec<usize> = stream
        .iter()
        .take(4)
        .map(|(x, y)| {
            one.learn(&wide(x), y);
            one.state.terms.len()
        })
        .collect();
    assert_eq!(live, [1, 2, 2, 2]);
}

/// The running means are the means of the stored hypotheses before each update (Theorem N3; 3.7).
pub fn averages() {
    let x = [0.3, -0.1, 0.2];
    for (average, rate) in [(Average::Uniform, 0.0_f64), (Average::Exponential { rate: 0.05 }, 0.05)] {
        for fold_first in [false, true] {
            let mut twin = norma_for(Loss::Logistic, 0.0, Step::InverseSqrt { eta: 0.5 }, 0.01);
            (twin.average, twin.fold_first, twin.mean_keeps_dropped) = (average, fold_first, true);
            twin.budget = Budget::Window { terms: 20 };
            let mut hypotheses = vec![];
            for (i, (xt, y)) in streams::two_classes(100, 3, 15).iter().enumerate() {
                let (before, mean) = (twin.state.clone(), twin.mean_score(&wide(xt)));
                hypotheses.push(before.f(&x)[0] + before.b[0]);
                let score = twin.learn(&wide(xt), y);
                assert_eq!(!fold_first || i == 0, score == mean);
            }
            let mut mean = 0.0;
            for (i, h) in hypotheses.iter().enumerate() {
                let omega = rate.max(1.0 / (i + 1) as f64);
                mean = (1.0 - omega) * mean + omega * h;
            }
            near(twin.mean_score(&x)[0], mean, 1e-12);
            let plain = hypotheses.iter().sum::<f64>() / 100.0;
            assert_eq!(rate == 0.0, (plain - mean).abs() < 1e-12);
        }
    }
}

/// A weight multiplies the gradients and not lambda; 0 is a row without a target.
pub fn weights() {
    let mut twin = norma_for(Loss::Squared, 0.0, Step::Constant { eta: 0.1 }, 0.5);
    twin.learn(&[1.0], &[1.0, 3.0]);
    near(twin.state.terms[0].alpha[0], 0.3, 1e-15);
    near(twin.state.b[0], 0.3, 1e-15);
    twin.learn(&[1.0], &[1.0, 0.0]);
    assert_eq!((twin.state.xs.len(), twin.state.terms[0].alpha[0]), (1, 0.1 * 3.0));
    twin.learn(&[5.0], &[1.0, 2.0]);
    near(twin.state.terms[0].alpha[0], 0.3 * 0.95, 1e-15);
}

/// The comparison accepts a subject that differs by f32 kernel values only.
pub fn comparison_accepts() {
    let steps = [
        Step::Constant { eta: 0.1 },
        Step::InverseSqrt { eta: 0.5 },
        Step::Theorem1 { bound: 5.0, radius: 1.0, horizon: 1000.0 },
        Step::Theorem2,
        Step::Decay { eta: 0.3, tau: 100.0 },
        Step::Linear { eta: 0.3, horizon: 400.0 },
        Step::Pegasos { t0: 10.0 },
    ];
    let budgets = [Budget::Unlimited, Budget::Age { steps: 200 }, Budget::Window { terms: 100 }];
    for (i, (loss, theta0)) in scalar_losses().into_iter().enumerate() {
        let mut twin = norma_for(loss, theta0, steps[i % 7], 0.05);
        twin.budget = budgets[i % 3];
        twin.average = [Average::None, Average::Uniform, Average::Exponential { rate: 0.01 }][i / 2 % 3];
        let report = compare(&mut twin.clone(), &mut shadow(&twin), &stream_for(loss, 1000));
        assert!(report.updates > 10, "{loss:?} {report:?}");
    }
    let k = kernels::gaussian(0.5);
    let svmd = [
        (Loss::MaxMargin, 4, streams::classes(600, 4, 3, 17), Smd::safe(0.3, 0.01)),
        (Loss::Hinge { margin: 1.0 }, 1, streams::two_classes(600, 3, 17), Smd::svmd2005(1.0)),
        (Loss::Softmax, 4, streams::classes(600, 4, 3, 17), Smd::safe(0.3, 0.01)),
        (Loss::Squared, 1, streams::regression(600, 3, 17), Smd { mu: 0.01, ..Smd::safe(0.1, 0.01) }),
        (Loss::Huber { sigma: 0.5 }, 1, streams::regression(600, 3, 17), Smd::safe(0.1, 0.01)),
        (Loss::Logistic, 1, streams::two_classes(600, 3, 17), Smd::safe(0.3, 0.01)),
    ];
    for (loss, d, stream, smd) in svmd {
        for budget in [Budget::Unlimited, Budget::Window { terms: 80 }] {
            let mut twin = Svmd::new(&k, loss, smd, 0.01, d);
            (twin.offset, twin.budget) = (true, budget);
            compare(&mut twin.clone(), &mut shadow(&twin), &stream);
        }
    }
    for loss in [Loss::Squared, Loss::Huber { sigma: 0.5 }] {
        let twin = Olok::new(&k, &equicorrelated(2, 0.1), loss, 1.0, 0.9).truncated(0.4);
        compare(&mut twin.clone(), &mut shadow(&twin), &streams::vector_regression(400, 3, 2, 18));
        compare_free(&mut twin.clone(), &mut shadow(&twin), &streams::vector_regression(400, 3, 2, 18));
    }
    for loss in [Loss::Hinge { margin: 1.0 }, Loss::Squared, Loss::Epsilon { epsilon: 0.2 }, Loss::Huber { sigma: 0.3 }] {
        let mut twin = Implicit::new(&k, loss, Step::Constant { eta: 0.3 }, 0.05);
        twin.offset = true;
        compare(&mut twin.clone(), &mut shadow(&twin), &stream_for(loss, 300));
    }
    let twin = Forgetron::new(&k, 40);
    compare(&mut twin.clone(), &mut shadow(&twin), &streams::two_classes(1000, 3, 19));
}

/// The comparison refuses what it is there to refuse.
pub fn comparison_refuses() {
    let good = || norma_for(Loss::NuHinge { nu: 0.3 }, 0.0, Step::Constant { eta: 0.01 }, 0.01);
    type Fault = (&'static str, fn(&mut Norma));
    let faults: [Fault; 7] = [
        ("alpha of term", |t| t.state.lambda *= 1.01), // a shrink by 1e-4 that is 1 % wrong
        ("theta", |t| t.printed_signs = true),
        ("offset", |t| t.offset = false),
        ("theta", |t| t.loss = Loss::NuHinge { nu: 0.303 }),
        ("live terms", |t| t.budget = Budget::Age { steps: 101 }),
        ("live terms", |t| t.budget = Budget::Window { terms: 60 }),
        ("eta", |t| t.step = Step::Constant { eta: 0.01001 }),
    ];
    let stream = streams::two_classes(600, 3, 20);
    let aged = || Norma { budget: Budget::Age { steps: 100 }, ..good() };
    compare(&mut aged(), &mut shadow(&aged()), &stream);
    for (word, fault) in faults {
        let faulty = || {
            let mut twin = aged();
            fault(&mut twin);
            compare(&mut aged(), &mut shadow(&twin), &stream)
        };
        let complaint = std::panic::catch_unwind(std::panic::AssertUnwindSafe(faulty)).expect_err(word);
        let complaint = complaint.downcast_ref::<String>().expect("a message");
        assert!(complaint.contains(&format!(": {word}")), "expected {word}, got {complaint}");
    }
}
