//! Bounds, averages, weights, and the comparison itself.

use super::*;

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
