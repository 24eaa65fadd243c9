//! Traces, norms, step sizes, equivalences.

use super::*;

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
