//! Gradients, conventions at the kinks, theta.

use super::*;

#[test]
fn gradients_curvature_and_dtheta_are_the_finite_differences() {
    const H: f64 = 1e-5;
    let mut checked = 0;
    everywhere(1, 200, |loss, z, y, theta, random| {
        if kink(loss, z, y, theta) < 100.0 * H {
            return;
        }
        let (e, xi) = eval(loss, z, y, theta);
        assert!(e.dtheta == 0.0 || loss.theta().is_some(), "{loss:?}: theta has a gradient and does not move");
        let u = random.vector(z.len(), 1.0);
        let along = |h: f64| z.iter().zip(&u).map(|(z, u)| z + h * u).collect::<Vec<_>>();
        let (plus, minus) = (eval(loss, &along(H), y, theta), eval(loss, &along(-H), y, theta));

        let slope = (plus.0.loss - minus.0.loss) / (2.0 * H);
        assert!((slope - dot(&xi, &u)).abs() < 2e-6, "{loss:?} z {z:?} y {y:?}: {slope} but xi {xi:?}, u {u:?}");

        let mut hu = vec![f64::NAN; z.len()];
        loss.curvature(z, y, theta, &u, &mut hu);
        for i in 0..z.len() {
            let bend = (plus.1[i] - minus.1[i]) / (2.0 * H);
            assert!((bend - hu[i]).abs() < 2e-5, "{loss:?} z {z:?} y {y:?}: {bend} but h u = {hu:?}");
        }

        // N(21) follows a quantile and is not the gradient of its loss (E7); everything else is.
        if !matches!(loss, AnyLoss::NuHuber { sigma_rule: SigmaRule::Quantile, .. }) {
            let value = |theta| eval(loss, z, y, theta).0.loss;
            let slope = (value(theta + H) - value(theta - H)) / (2.0 * H);
            assert!((slope - e.dtheta).abs() < 2e-6, "{loss:?} z {z:?} y {y:?}: {slope} but dtheta {}", e.dtheta);
        }
        checked += 1;
    });
    assert!(checked > 4000, "{checked}");
}

#[test]
fn gradients_are_subgradients_and_bounded_also_at_kinks() {
    everywhere(2, 200, |loss, z, y, theta, random| {
        assert!(loss.convex());
        // Rounded to quarters, points, targets and thresholds meet exactly.
        let coarse = |v: &[f64]| v.iter().map(|v| (v * 4.0).round() / 4.0).collect::<Vec<_>>();
        let (z, y, theta) = (coarse(z), coarse(y), (theta * 4.0).round() / 4.0);
        let (e, xi) = eval(loss, &z, &y, theta);
        for _ in 0..20 {
            let other = coarse(&random.vector(z.len(), 3.0));
            let step: Vec<f64> = other.iter().zip(&z).map(|(o, z)| o - z).collect();
            let there = eval(loss, &other, &y, theta).0.loss;
            assert!(there >= e.loss + dot(&xi, &step) - 1e-12, "{loss:?} z {z:?} y {y:?} theta {theta}: {xi:?}");
        }
        let bound = loss.lipschitz().unwrap_or(f64::INFINITY);
        assert!(norm(&xi) <= bound * (1.0 + 1e-15), "{loss:?}: {xi:?} exceeds {bound}");
    });
    assert_eq!(AnyLoss::Squared {}.lipschitz(), None);
    // The bounds are attained.
    for (loss, y, bound) in [
        (AnyLoss::MaxMargin {}, 0.0, 2f64.sqrt()),
        (AnyLoss::Huber { sigma: 1.0 }, 9.0, 1.0),
        (AnyLoss::Quantile { q: 0.8 }, 9.0, 0.8),
    ] {
        assert_eq!(loss.lipschitz(), Some(bound));
        let z = vec![0.0; outputs(&loss)[0].max(usize::from(loss.reads() == Reads::Class) * 2)];
        assert_eq!(norm(&eval(&loss, &z, &[y], 1.0).1), bound);
    }
}

#[test]
fn the_conventions_hold_at_the_kinks() {
    use AnyLoss::*;
    let below = 1.0 - f64::EPSILON / 2.0;
    let above = 1.0 + f64::EPSILON;
    let one = |loss: AnyLoss, z: f64, y: f64, theta: f64| {
        let (e, xi) = eval(&loss, &[z], &[y], theta);
        (xi[0], e.outside, e.dtheta)
    };
    // Strict: at the margin there is no update and no margin error.
    assert_eq!(one(Hinge { margin: 1.0 }, 1.0, 1.0, 0.0), (0.0, false, 0.0));
    assert_eq!(one(Hinge { margin: 1.0 }, below, 1.0, 0.0), (-1.0, true, 0.0));
    assert_eq!(one(Hinge { margin: 1.0 }, -1.0, -1.0, 0.0), (0.0, false, 0.0));
    assert_eq!(one(NuHinge { nu: 0.25 }, 1.0, 1.0, 1.0), (0.0, false, -0.25));
    assert_eq!(one(NuHinge { nu: 0.25 }, -below, -1.0, 1.0), (1.0, true, 0.75));
    assert_eq!(one(Novelty { margin: 1.0 }, 1.0, 0.0, 0.0), (0.0, false, 0.0));
    assert_eq!(one(NuNovelty { nu: 0.25 }, 1.0, 0.0, 1.0), (0.0, false, -0.25));
    assert_eq!(one(NuNovelty { nu: 0.25 }, below, 0.0, 1.0), (-1.0, true, 0.75));
    // Weak: the perceptron errs at 0 (E4), for both signs of zero.
    assert_eq!(one(Perceptron {}, 0.0, 1.0, 0.0), (-1.0, true, 0.0));
    assert_eq!(one(Perceptron {}, -0.0, 1.0, 0.0), (-1.0, true, 0.0));
    assert_eq!(one(Perceptron {}, f64::MIN_POSITIVE, 1.0, 0.0), (0.0, false, 0.0));
    // Tube and scale: the edge is inside.
    assert_eq!(one(Epsilon { epsilon: 1.0 }, 0.0, 1.0, 0.0), (0.0, false, 0.0));
    assert_eq!(one(Epsilon { epsilon: 1.0 }, 0.0, above, 0.0), (-1.0, true, 0.0));
    assert_eq!(one(NuEpsilon { nu: 0.25 }, 0.0, -1.0, 1.0), (0.0, false, 0.25));
    assert_eq!(one(NuEpsilon { nu: 0.25 }, 0.0, -above, 1.0), (1.0, true, -0.75));
    assert_eq!(one(Huber { sigma: 1.0 }, 0.0, 1.0, 0.0), (-1.0, false, 0.0));
    let quantile = NuHuber { nu: 0.25, sigma_rule: SigmaRule::Quantile };
    assert_eq!(one(quantile.clone(), 0.0, 1.0, 1.0), (-1.0, false, 0.25));
    assert_eq!(one(quantile, 0.0, above, 1.0), (-1.0, true, -0.75));
    assert_eq!(one(Absolute {}, 1.0, 1.0, 0.0), (0.0, false, 0.0));
    assert_eq!(one(Quantile { q: 0.75 }, 1.0, 1.0, 0.0), (0.0, false, 0.0));
    // Classes: strict, ties to the earlier, an unknown class does nothing.
    assert_eq!(eval(&MaxMargin {}, &[1.0, 0.0], &[0.0], 0.0).1, [0.0, 0.0]);
    assert_eq!(eval(&MaxMargin {}, &[0.0, 0.5, 0.5], &[0.0], 0.0).1, [-1.0, 1.0, 0.0]);
    assert_eq!(eval(&MaxMargin {}, &[0.5, 0.5, 0.0], &[2.0], 0.0).1, [1.0, 0.0, -1.0]);
    for loss in [MaxMargin {}, Softmax {}] {
        assert_eq!(eval(&loss, &[1.0, 2.0], &[2.0], 0.0), (Eval::default(), vec![0.0, 0.0]));
        // A class that is alone is learned as if beside a second class with score 0.
        for z in [-3.0, 0.0, 0.5, 1.0, 4.0] {
            let (alone, beside) = (eval(&loss, &[z], &[0.0], 0.0), eval(&loss, &[z, 0.0], &[0.0], 0.0));
            assert!((alone.0.loss - beside.0.loss).abs() < 1e-15 && (alone.1[0] - beside.1[0]).abs() < 1e-15, "{loss:?} at {z}");
            assert_eq!(alone.0.outside, beside.0.outside);
        }
    }
}

#[test]
fn curvature_of_one_output_is_exactly_zero_outside() {
    for loss in [AnyLoss::Huber { sigma: 0.1 }, AnyLoss::Epsilon { epsilon: 0.1 }, AnyLoss::Absolute {}] {
        let mut hu = [f64::NAN];
        loss.curvature(&[0.3], &[0.123_456_789], 0.0, &[0.777], &mut hu);
        assert_eq!(hu[0], 0.0, "{loss:?}");
        // and the gradient a sign, whatever the magnitude of the residual
        for r in [1e-300, 0.7, 1e300] {
            let xi = eval(&loss, &[0.0], &[r], 0.0).1[0];
            assert!(xi == -1.0 || r < 0.1 && !matches!(loss, AnyLoss::Absolute {}), "{loss:?} {r}: {xi}");
        }
    }
}

#[test]
fn every_loss_starts_from_zero() {
    for loss in every_loss() {
        let d = *outputs(&loss).last().unwrap();
        let y = match loss.reads() {
            Reads::Class | Reads::Sign => vec![1.0],
            _ => vec![0.5; d],
        };
        let mut theta = loss.theta().map_or(0.0, |t| t.start);
        // Two steps: the nu-losses first move theta off 0 (E3), then update f.
        let mut moved = false;
        let mut learned = false;
        for _ in 0..2 {
            let (e, xi) = eval(&loss, &vec![0.0; d], &y, theta);
            let next = loss.theta().map_or(theta, |t| (theta - 0.1 * e.dtheta).max(t.least));
            moved |= next != theta;
            learned |= xi.iter().any(|&x| x != 0.0);
            theta = next;
        }
        assert!(learned, "{loss:?} never leaves f = 0");
        assert_eq!(moved, loss.theta().is_some(), "{loss:?}");
    }
}

/// The threshold of a novelty loss decides elsewhere: these losses are left out.
#[test]
fn a_loss_has_an_outside_where_examples_are_outside() {
    let mut seen = vec![];
    everywhere(3, 50, |loss, z, y, theta, _| {
        if eval(loss, z, y, theta).0.outside && !seen.contains(loss) {
            seen.push(loss.clone());
        }
    });
    for loss in every_loss().into_iter().filter(|loss| loss.reads() != Reads::Nothing) {
        // The scale of an absolute loss is 0: all examples are outside, which says nothing.
        let says = seen.contains(&loss) && loss != AnyLoss::Absolute {};
        assert_eq!(loss.has_outside(), says, "{loss:?}");
    }
}

#[test]
fn a_parameter_nu_is_the_fraction_outside() {
    for loss in every_loss() {
        let concomitant = matches!(loss, AnyLoss::NuHuber { sigma_rule: SigmaRule::Concomitant, .. });
        let asked = listed(&loss).parameters.contains(&"nu") && !concomitant;
        assert_eq!(loss.nu().is_some(), asked, "{loss:?}");
    }
}

#[test]
fn theta_settles_where_nu_of_the_examples_are_outside() {
    for loss in every_loss() {
        // A density has no theta: its threshold is the tracker's.
        let Some(nu) = loss.nu().filter(|_| loss.theta().is_some()) else { continue };
        let (mut random, mut theta, mut outside) = (Random(3), loss.theta().unwrap().start, 0.0);
        let (steps, eta) = (20_000, 0.01);
        for _ in 0..steps {
            let score = [if loss.reads() == Reads::Vector { 0.0 } else { 1.0 + random.unit() }];
            let target = [if loss.reads() == Reads::Vector { random.unit() } else { 1.0 }];
            let e = eval(&loss, &score, &target, theta).0;
            outside += f64::from(u8::from(e.outside));
            theta = (theta - eta * e.dtheta).max(loss.theta().unwrap().least);
        }
        // Section 3.5: |rate - nu| <= (range + eta)/(eta steps), range 2.
        let rate = outside / f64::from(steps);
        assert!((rate - nu).abs() < 2.01 / (eta * f64::from(steps)), "{loss:?}: rate {rate}");
    }
}
