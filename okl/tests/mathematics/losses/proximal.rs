//! Proximal steps.

use super::*;

/// `z0 - C xi`.
fn after(z0: &[f64], metric: &Metric<'_>, xi: &[f64]) -> Vec<f64> {
    let d = z0.len();
    let Some(u) = metric.basis else {
        return (0..d).map(|i| z0[i] - metric.c[i] * xi[i]).collect();
    };
    let column = |j: usize| (0..d).map(|i| u[i * d + j]).collect::<Vec<_>>();
    let mut z = z0.to_vec();
    for j in 0..d {
        let along = metric.c[j] * dot(&column(j), xi);
        z.iter_mut().zip(column(j)).for_each(|(z, u)| *z -= along * u);
    }
    z
}

/// `½ (z - z0)ᵀ C⁻¹ (z - z0) + loss(z)`.
fn objective(loss: &AnyLoss, z: &[f64], z0: &[f64], y: &[f64], theta: f64, metric: &Metric<'_>) -> f64 {
    let d = z.len();
    let step: Vec<f64> = z.iter().zip(z0).map(|(z, z0)| z - z0).collect();
    let inside = |j: usize| metric.basis.map_or(step[j], |u| (0..d).map(|i| u[i * d + j] * step[i]).sum());
    let quadratic: f64 = (0..d).map(|j| inside(j) * inside(j) / metric.c[j]).sum();
    0.5 * quadratic + eval(loss, z, y, theta).0.loss
}

/// A random metric as the loss can take it: any eigenvalues and basis, or a multiple of the identity.
fn random_metric(random: &mut Random, loss: &AnyLoss, d: usize) -> (Vec<f64>, Option<Vec<f64>>) {
    let mut size = || 10f64.powf(1.5 * random.unit());
    if loss.can_prox(d, false) {
        let c = (0..d).map(|_| size()).collect();
        (c, (random.unit() > 0.0).then(|| random.basis(d)))
    } else {
        (vec![size(); d], None)
    }
}

/// A proximal step: xi, and the score z = z0 - C xi after it.
struct Proximal<'a> {
    loss: &'a AnyLoss,
    z0: &'a [f64],
    y: &'a [f64],
    theta: f64,
    metric: Metric<'a>,
    xi: Vec<f64>,
    z: Vec<f64>,
}

/// Calls `each` with the proximal steps of all losses that have one, under random metrics.
fn every_prox(seed: u64, rounds: usize, mut each: impl FnMut(Proximal<'_>, &mut Random)) {
    everywhere(seed, rounds, |loss, z0, y, theta, random| {
        let (c, basis) = random_metric(random, loss, z0.len());
        let metric = Metric { c: &c, basis: basis.as_deref() };
        let mut xi = vec![f64::NAN; z0.len()];
        if loss.prox(z0, y, theta, &metric, &mut xi) {
            let z = after(z0, &metric, &xi);
            each(Proximal { loss, z0, y, theta, metric, xi, z }, random);
        }
    });
}

#[test]
fn prox_is_the_gradient_after_its_own_step() {
    let (mut smooth, mut kinked) = (0, 0);
    every_prox(4, 300, |Proximal { loss, z0, y, theta, metric, xi, z }, random| {
        let (e, gradient) = eval(loss, &z, y, theta);
        let off = apart(&gradient, &xi);
        if kink(loss, &z, y, theta) > 1e-9 {
            assert!(off < 1e-11, "{loss:?} z0 {z0:?} y {y:?} c {:?}: xi {xi:?} but the gradient is {gradient:?}", metric.c);
            smooth += 1;
        } else {
            kinked += 1;
        }
        // Also at a kink: a subgradient there.
        for _ in 0..50 {
            let other = random.vector(z.len(), 3.0);
            let step: Vec<f64> = other.iter().zip(&z).map(|(o, z)| o - z).collect();
            let there = eval(loss, &other, y, theta).0.loss;
            assert!(there >= e.loss + dot(&xi, &step) - 1e-12, "{loss:?} z0 {z0:?} y {y:?} c {:?}: {xi:?}", metric.c);
        }
    });
    assert!(smooth > 3000 && kinked > 1000, "{smooth} {kinked}");
}

#[test]
fn prox_minimises_the_proximal_objective() {
    let mut checked = 0;
    every_prox(5, 8, |Proximal { loss, z0, y, theta, metric, z, .. }, random| {
        let least = objective(loss, &z, z0, y, theta, &metric);
        for i in 0..2000 {
            let scale = 10f64.powi(-(i % 6));
            let near: Vec<f64> = z.iter().map(|z| z + scale * random.unit()).collect();
            let value = objective(loss, &near, z0, y, theta, &metric);
            assert!(
                value >= least - 1e-13 * (1.0 + least.abs()),
                "{loss:?} z0 {z0:?} y {y:?} c {:?}: {near:?} beats {z:?}",
                metric.c
            );
        }
        checked += 1;
    });
    assert!(checked > 150, "{checked}");
}

/// Section 3.3's closed forms for one output.
fn closed_form(loss: &AnyLoss, z0: f64, y: f64, theta: f64, c: f64) -> Option<f64> {
    use AnyLoss::*;
    let r0 = y - z0;
    let tube = |epsilon: f64| -r0.signum() * ((r0.abs() - epsilon) / c).clamp(0.0, 1.0);
    let hinge = |y: f64, rho: f64| -y * ((rho - y * z0) / c).clamp(0.0, 1.0);
    Some(match *loss {
        Hinge { margin } => hinge(y, margin),
        NuHinge { .. } => hinge(y, theta),
        Novelty { margin } => hinge(1.0, margin),
        NuNovelty { .. } => hinge(1.0, theta),
        Density { .. } => -1.0,
        Squared {} => -r0 / (1.0 + c),
        Absolute {} => tube(0.0),
        Epsilon { epsilon } => tube(epsilon),
        NuEpsilon { .. } => tube(theta),
        Huber { sigma } => -(r0 / (sigma + c)).clamp(-1.0, 1.0),
        NuHuber { .. } => -(r0 / (theta + c)).clamp(-1.0, 1.0),
        Quantile { q } => -(r0 / c).clamp(q - 1.0, q),
        Perceptron {} | Logistic {} | MaxMargin {} | Softmax {} => return None,
        ref other => panic!("the closed form of {other:?} is not known here"),
    })
}

#[test]
fn prox_of_one_output_is_its_closed_form() {
    let mut checked = 0;
    everywhere(6, 300, |loss, z0, y, theta, random| {
        let c = 10f64.powf(3.0 * random.unit());
        let metric = Metric { c: &[c], basis: None };
        let expected = closed_form(loss, z0[0], y.first().copied().unwrap_or(1.0), theta, c);
        let Some(expected) = expected.filter(|_| z0.len() == 1) else { return };
        let mut xi = [f64::NAN];
        assert!(loss.prox(z0, y, theta, &metric, &mut xi));
        let close = (xi[0] - expected).abs() <= 4e-16 * (1.0 + z0[0].abs() / c);
        assert!(close, "{loss:?} z0 {z0:?} y {y:?} theta {theta} c {c}: {} not {expected}", xi[0]);
        assert_eq!(xi[0].abs() == 1.0, expected.abs() == 1.0, "{loss:?}: a full step is exactly full");
        checked += 1;
    });
    assert!(checked > 3000, "{checked}");
}

#[test]
fn prox_with_a_vanishing_metric_is_the_explicit_gradient() {
    everywhere(7, 100, |loss, z0, y, theta, random| {
        if kink(loss, z0, y, theta) < 1e-6 || !loss.can_prox(z0.len(), true) {
            return;
        }
        let basis = random.basis(z0.len());
        let basis = loss.can_prox(z0.len(), false).then_some(&basis[..]);
        let explicit = eval(loss, z0, y, theta).1;
        for c in [0.0, 1e-12] {
            let mut xi = vec![f64::NAN; z0.len()];
            assert!(loss.prox(z0, y, theta, &Metric { c: &vec![c; z0.len()], basis }, &mut xi));
            let off = apart(&xi, &explicit);
            assert!(off < 1e-10, "{loss:?} z0 {z0:?} y {y:?} c {c}: {xi:?} not {explicit:?}");
        }
    });
}

#[test]
fn prox_of_a_direction_that_neither_errs_nor_moves_is_zero() {
    let mut xi = [f64::NAN; 2];
    assert!(AnyLoss::Absolute {}.prox(&[0.0, 3.0], &[1.0, 3.0], 0.0, &Metric { c: &[2.0, 0.0], basis: None }, &mut xi));
    assert_eq!(xi, [-0.5, 0.0]);
}

#[test]
fn prox_survives_extreme_metrics() {
    everywhere(8, 60, |loss, z0, y, theta, random| {
        let d = z0.len();
        let any = loss.can_prox(d, false);
        for exponent in [-200, -30, -9, 4, 9] {
            // Directions that do not move beside directions that move far.
            let c: Vec<f64> = (0..d).map(|j| if any && j % 2 == 1 { 0.0 } else { 10f64.powi(exponent) }).collect();
            let basis = any.then(|| random.basis(d));
            let metric = Metric { c: &c, basis: basis.as_deref() };
            let mut xi = vec![f64::NAN; d];
            if loss.prox(z0, y, theta, &metric, &mut xi) {
                let bound = loss.lipschitz().unwrap_or(2.0 * norm(&[z0, y].concat()));
                assert!(norm(&xi) <= bound * (1.0 + 1e-14), "{loss:?} z0 {z0:?} y {y:?} c {c:?}: {xi:?}");
                let z = after(z0, &metric, &xi);
                let slack = 1e-12 * (1.0 + c[0]);
                let (here, there) = (eval(loss, &z, y, theta).0.loss, eval(loss, z0, y, theta).0.loss);
                assert!(here <= there + slack, "{loss:?} z0 {z0:?} y {y:?} c {c:?}: loss {there} rises to {here}");
            }
        }
    });
}

#[test]
fn what_has_no_prox_says_so_and_touches_nothing() {
    let mut random = Random(9);
    let mut refused = 0;
    for loss in every_loss() {
        for &d in outputs(&loss) {
            for (c, basis) in [(vec![0.5; d], None), ((1..=d).map(|c| c as f64).collect(), Some(random.basis(d)))] {
                let metric = Metric { c: &c, basis: basis.as_deref() };
                let z0 = random.vector(d, 1.0);
                let y = random.target(&loss, d);
                let mut xi = vec![7.0; d];
                let took = loss.prox(&z0, &y, 1.0, &metric, &mut xi);
                assert_eq!(took, loss.can_prox(d, metric.multiple().is_some()), "{loss:?} with {d} outputs");
                assert!(took || xi.iter().all(|&x| x == 7.0), "{loss:?}");
                refused += usize::from(!took);
            }
        }
    }
    // The perceptron twice; max_margin and softmax with 2 and 5 classes under a coupling metric.
    assert_eq!(refused, 2 + 4);
    assert!(!AnyLoss::Perceptron {}.can_prox(1, true));
}
