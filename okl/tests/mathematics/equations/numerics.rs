//! The printed signs, renormalisation, the anchor, averages.

use super::*;

// --------------------------------------------------------------------------------------------------- (d) the printed signs, E3

/// A loss whose theta climbs its gradient and is not projected: N(14), N(16) as printed.
#[derive(Clone)]
struct Printed(AnyLoss);

impl Loss for Printed {
    fn reads(&self) -> Reads {
        self.0.reads()
    }
    fn eval(&self, z: &[f64], y: &[f64], theta: f64, xi: &mut [f64]) -> Eval {
        let eval = self.0.eval(z, y, theta, xi);
        Eval { dtheta: -eval.dtheta, ..eval }
    }
    fn theta(&self) -> Option<Theta> {
        Some(Theta { start: 0.0, least: f64::NEG_INFINITY })
    }
}

/// As printed, theta runs away from the first example on and nothing is ever learned; with the right sign the rate is nu.
#[test]
fn printed_signs_fail() {
    let (points, signs) = (streams::normals(8000, 2, 69), streams::two_classes(8000, 2, 69));
    for (loss, stream, nu) in [(AnyLoss::NuNovelty { nu: 0.05 }, points, 0.05), (AnyLoss::NuHinge { nu: 0.5 }, signs, 0.5)] {
        let (alerts, theta, terms) = rate(Printed(loss.clone()), &stream);
        assert_eq!((alerts, terms), (0.0, 0), "{loss:?}");
        near(theta, -0.005 * nu * 8000.0, 1e-9, "theta as printed");
        let (alerts, theta, terms) = rate(loss.clone(), &stream);
        assert!((alerts - nu).abs() < 0.1 * nu && theta > 0.0 && terms > 0, "{loss:?}: rate {alerts}, theta {theta}");
    }
}

// ---------------------------------------------------------------------------------------------------------- (e) numerics, 3.10

/// Moving the lazy scale into the coefficients by powers of two changes no bit: against a scale kept as mantissa and exponent,
/// every coefficient of every step; the scale falls by 2^-1500 in the course of it.
#[test]
fn renormalisation_changes_no_bit() {
    let (eta, lambda) = (0.5, 0.6);
    let keep = 1.0 - eta * lambda;
    let mut learner = learner("loss = 'hinge'\nkernel = 'gaussian:0.5'\nlambda = 0.6\nstep = 'constant:0.5'\nbudget = 'age:300'");
    let (mut mantissa, mut exponent) = (1.0_f64, 0_i32);
    let mut born: BTreeMap<u64, (f64, i32)> = BTreeMap::new();
    for (t, (x, y)) in streams::two_classes(3000, 3, 70).iter().enumerate() {
        learn_one(&mut learner, x, y);
        let (m, e) = libm::frexp(keep * mantissa);
        (mantissa, exponent) = (m, exponent + e);
        if births(&learner).contains(&(t as u64 + 1)) {
            born.insert(t as u64 + 1, (eta * y[0] / mantissa, exponent));
        }
        for (birth, alpha) in births(&learner).iter().zip(learner.coefficients()) {
            let (a, e) = born[birth];
            assert_eq!(alpha.to_bits(), libm::scalbn(mantissa * a, exponent - e).to_bits(), "step {t}, term {birth}");
        }
    }
    assert!(exponent < -1500 && born.len() > 1000);
}

/// Targets times 2^20: scores times 2^20, to the bit, with strong forgetting over thousands of steps.
#[test]
fn scaling_by_a_power_of_two() {
    let toml = "loss = 'squared'\nkernel = 'gaussian:0.5'\nlambda = 1.5\nstep = 'constant:0.5'\nbudget = 'age:40'\noffset = true";
    let (mut one, mut large) = (learner(toml), learner(toml));
    let scale = f64::from(1 << 20);
    for (x, y) in &streams::regression(3000, 3, 71) {
        let z = learn_one(&mut one, x, y)[0];
        assert_eq!(scale * z, learn_one(&mut large, x, &[scale * y[0]])[0]);
    }
}

/// Clusters of near-duplicates on a grid that both origins represent, 0 and 1,000.
fn near_duplicates(shift: f32) -> Stream {
    const GRID: f32 = 8192.0;
    let mut random = streams::Random::new(72);
    let mut on_grid = |size: f32| (random.normal() as f32 * size * GRID).round() / GRID;
    let centres: Vec<Vec<f32>> = (0..6).map(|_| (0..20).map(|_| on_grid(0.5)).collect()).collect();
    let example = |t: usize| {
        let x = centres[t % 6].iter().map(|c| c + on_grid(0.001) + shift).collect();
        (x, vec![if t.is_multiple_of(2) { 1.0 } else { -1.0 }])
    };
    (0..600).map(example).collect()
}

/// Near-duplicates 1,000 away from the origin: the anchor keeps scores and kernel values; without it they are visibly lost.
#[test]
fn the_anchor_keeps_distances() {
    let (here, there) = (near_duplicates(0.0), near_duplicates(1000.0));
    let scores = |anchor: &str, stream: &Stream| {
        let mut learner = learner(&format!(
            "loss = 'logistic'\nkernel = 'gaussian:2'\nlambda = 0.01\nstep = 'constant:0.5'\nbudget = 'unlimited'\nanchor = '{anchor}'"
        ));
        run(&mut learner, stream).concat()
    };
    let worst = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    let plain = scores("none", &here);
    assert!(worst(&plain, &scores("first", &here)) < 1e-4);
    assert!(worst(&plain, &scores("first", &there)) < 1e-4);
    assert!(worst(&plain, &scores("none", &there)) > 1e-2, "the control must fail");

    let kernel_error = |anchor: &str| {
        let mut one = learner(&format!(
            "loss = 'hinge'\nkernel = 'gaussian:2'\nlambda = 0\nstep = 'constant:1'\nbudget = 'unlimited'\nanchor = '{anchor}'"
        ));
        learn_one(&mut one, &there[0].0, &[1.0]); // f = k(x_1, .)
        let k = kernels::gaussian(2.0);
        let error = |(x, _): &(Vec<f32>, Vec<f64>)| {
            let found = one.predict(&Batch::new(x, 20)).unwrap().values[0];
            (found - k(&wide(&there[0].0), &wide(x))).abs()
        };
        there.iter().map(error).fold(0.0, f64::max)
    };
    assert!(kernel_error("first") < 1e-4);
    assert!(kernel_error("none") > 1e-2, "the control must fail");
}

// ---------------------------------------------------------------------------------------------------------- (f) averages, 3.7

/// The averaged hypothesis against the mean of the stored ones, coefficient by coefficient; what is dropped leaves the mean too.
#[test]
fn averages_of_stored_hypotheses() {
    for (average, rate) in [("uniform", 0.0_f64), ("exponential:0.02", 0.02), ("exponential:0.3", 0.3)] {
        for (budget, lambda) in [("unlimited", 0.01), ("window:40", 0.01), ("age:120", 1.2)] {
            let toml = format!(
                "loss = 'logistic'\nkernel = 'gaussian:0.5'\nlambda = {lambda}\nstep = 'inverse_sqrt:0.5'\noffset = true\nbudget = '{budget}'\naverage = '{average}'\nanchor = 'none'"
            );
            let mut learner = learner(&toml);
            let (mut mean, mut offset_mean, k) = (BTreeMap::<u64, f64>::new(), 0.0, kernels::gaussian(0.5));
            for (t, (x, y)) in streams::two_classes(500, 3, 73).iter().enumerate() {
                let omega = rate.max(1.0 / (t + 1) as f64);
                let before: BTreeMap<u64, f64> = births(&learner).into_iter().zip(learner.coefficients()).collect();
                let score: f64 = per_slot(&learner, |o, s| learner.engine().heads()[0].expansion().mean(o, s).unwrap())
                    .iter()
                    .map(|(c, a)| a[0] * k(c, &wide(x)))
                    .sum();
                let offset = learner.offset()[0];
                let z = learn_one(&mut learner, x, y)[0];
                near(z, score + offset_mean, 1e-5, "the score is the mean's");
                mean.iter_mut().for_each(|(_, m)| *m *= 1.0 - omega);
                before.iter().for_each(|(birth, a)| *mean.entry(*birth).or_insert(0.0) += omega * a);
                offset_mean += omega * (offset - offset_mean);
                let expansion = learner.engine().heads()[0].expansion();
                for slot in learner.engine().terms().live() {
                    let birth = learner.engine().terms().birth(slot).unwrap();
                    let expected = mean.get(&birth).copied().unwrap_or(0.0);
                    let found = expansion.mean(0, slot).unwrap();
                    assert!(
                        (found - expected).abs() <= 1e-9 * expected.abs() + 1e-12,
                        "step {t}, term {birth}: {expected} {found}\n{toml}"
                    );
                }
            }
        }
    }
}
