//! Kernels, losses and first steps.

use super::*;

/// The kernels at one pair of points (Matern: by numerical integration of the Bessel function in its general form).
pub fn kernel_values() {
    let (x, y, g) = ([0.5, -1.0, 2.0], [1.5, 0.25, -0.5], 0.3); // <x, y> = -1/2, r^2 = 8.8125
    let gaussian = 0.071_094_165_927_865_09; // exp(-2.64375)
    let values = [
        (kernels::linear(), -0.5),
        (kernels::polynomial(3, g, 1.0), 0.614_125),
        (kernels::gaussian(g), gaussian),
        (kernels::exponential(g), 0.410_419_424_116_164_3),
        (kernels::manhattan(g), 0.240_508_463_208_342_13), // exp(-0.3 * 4.75)
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
