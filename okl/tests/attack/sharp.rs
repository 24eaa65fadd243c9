//! The attack can win: its bounds are tight enough to mean something.

use std::collections::BTreeMap;

use okl::kernel::{AnyKernel, DotKernel};
use okl::{Batch, Config, Learner};

use crate::case::{Case, Row, Target};
use crate::checks::check_deflated;
use crate::follow::Run;
use crate::kernels::{Pair, U, value};
use crate::norms::norms;
use crate::regret::loss_rounding;
use crate::rng::Rng;
use crate::steps::{offsets, skips};

fn row(x: f64, y: f64) -> Row {
    Row { x: vec![x], y: Target::Numbers(vec![y]), known: true, weight: 1.0, id: 0 }
}

fn case(settings: &[(&'static str, &str)], rows: Vec<Row>) -> Case {
    let settings: BTreeMap<&'static str, String> = settings.iter().map(|(k, v)| (*k, (*v).to_string())).collect();
    Case { seed: 1, family: "sharp", settings, rows, wide: false, ids: false, weights: false, cuts: vec![1] }
}

/// After one drop |f_full - f| equals the truncation error: a claim one thousandth smaller is found out, the claim itself is not.
#[test]
fn a_claim_that_is_a_thousandth_too_small_is_found_out() {
    let settings = [
        ("kernel", "\"gaussian:1\""),
        ("loss", "\"hinge\""),
        ("step", "\"constant:0.5\""),
        ("lambda", "0.01"),
        ("budget", "\"window:2\""),
    ];
    let case = case(&settings, vec![row(0.0, 1.0), row(1.5, -1.0), row(-1.5, -1.0)]);
    check_deflated(&case, 1.0).unwrap();
    let failure = check_deflated(&case, 0.999).unwrap_err();
    assert_eq!(failure.check, "truncation");
}

/// Single precision stays within the error that `kernels` derives, and comes within a tenth of it for rows of usual size.
#[test]
fn the_rounding_of_kernel_values_is_bounded_and_met() {
    let kernels = [
        AnyKernel::Linear,
        AnyKernel::Polynomial { degree: 3, gamma: 0.5, coef0: 1.0 },
        AnyKernel::Gaussian { gamma: 0.7 },
        AnyKernel::Exponential { gamma: 0.7 },
        AnyKernel::Manhattan { gamma: 0.7 },
        AnyKernel::Matern32 { gamma: 0.7 },
        AnyKernel::Matern52 { gamma: 0.7 },
        AnyKernel::RationalQuadratic { gamma: 0.7, alpha: 1.5 },
    ];
    let mut rng = Rng::new(5);
    for kernel in &kernels {
        let (mut closest, mut largest_c) = (0.0f64, 0.0f64);
        for _ in 0..4000 {
            let x: Vec<f32> = (0..3).map(|_| rng.normal() as f32).collect();
            let y: Vec<f32> = (0..3).map(|_| rng.normal() as f32).collect();
            let chain = |a: &[f32], b: &[f32]| a.iter().zip(b).fold(0.0f32, |sum, (a, b)| a.mul_add(*b, sum));
            let apart = x.iter().zip(&y).fold(0.0f32, |sum, (a, b)| (a - b).abs().mul_add(-0.5, sum));
            let shared = if kernel.of_manhattan_distance() { apart } else { chain(&x, &y) };
            let single = f64::from(kernel.eval(shared, chain(&x, &x), chain(&y, &y)));
            let wide = |v: &[f32]| v.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
            let exact = value(kernel, &Pair::of(&wide(&x), &wide(&y)));
            let ratio = (single - exact.k).abs() / exact.error;
            assert!(ratio <= 1.0, "{kernel:?} at {x:?}, {y:?}: {single} against {} +- {:e}", exact.k, exact.error);
            closest = closest.max(ratio);
            if exact.k.abs() > 0.1 {
                largest_c = largest_c.max(exact.error / (U * exact.k.abs()));
            }
        }
        assert!(closest > 0.05, "{kernel:?}: the bound is never approached ({closest})");
        assert!(largest_c < 1000.0, "{kernel:?}: c = {largest_c} says little");
    }
}

/// A step that is left out without need is found out.
#[test]
fn a_needless_skip_is_found_out() {
    let settings =
        [("kernel", "\"gaussian:1\""), ("loss", "\"squared\""), ("step", "\"smd\""), ("lambda", "0.01"), ("offset", "true")];
    let case = case(&settings, vec![row(0.0, 1.0), row(1.5, -1.0), row(-1.5, -1.0)]);
    let mut run = Run::start(&case, case.config().unwrap()).unwrap();
    for t in 0..3 {
        let before = run.before();
        let seen = run.step(t).unwrap();
        skips(&run, false, &before, &seen, t).unwrap();
        assert_eq!(skips(&run, true, &before, &seen, t).unwrap_err().check, "skipped");
        run.follow(&seen);
    }
}

/// An offset that is off by a millionth is found out.
#[test]
fn a_wrong_offset_is_found_out() {
    let settings = [
        ("kernel", "\"gaussian:1\""),
        ("loss", "\"hinge\""),
        ("step", "\"constant:0.5\""),
        ("lambda", "0.01"),
        ("offset", "true"),
    ];
    let case = case(&settings, vec![row(0.0, 1.0), row(1.5, -1.0)]);
    let mut run = Run::start(&case, case.config().unwrap()).unwrap();
    let seen = run.step(0).unwrap();
    run.follow(&seen);
    offsets(&run, 0).unwrap();
    run.shadows[0].followed.0[0] += 1e-6;
    assert_eq!(offsets(&run, 0).unwrap_err().check, "offset");
}

/// The rounding that |f|², <f, v> and |v|² are allowed is at most ten thousand times what they have: a relative error of 1e-4 is found
/// out, though terms come and go.
#[test]
fn the_drift_of_norms_is_bounded_and_met() {
    let settings = [
        ("kernel", "\"gaussian:0.5\""),
        ("loss", "\"squared\""),
        ("step", "\"smd:eta=0.3,mu=0.01,decay=0.9\""),
        ("lambda", "0.01"),
        ("budget", "\"window:5\""),
    ];
    let mut rng = Rng::new(11);
    let rows = (0..60).map(|_| row(f64::from(rng.normal() as f32), rng.normal())).collect();
    let case = case(&settings, rows);
    let mut run = Run::start(&case, case.config().unwrap()).unwrap();
    let mut closest = 0.0f64;
    for t in 0..60 {
        let seen = run.step(t).unwrap();
        run.follow(&seen);
        norms(&run, t).unwrap();
        let (head, shadow) = (&run.learner.engine().heads()[0], &run.shadows[0]);
        let n = run.points.inner(&shadow.shape, &shadow.live, &shadow.live);
        assert!(shadow.drift.norm2 < 1e-4 * n.max(1.0), "row {t}: {:e} of {n}", shadow.drift.norm2);
        closest = closest.max((head.norm2() - n).abs() / shadow.drift.norm2);
    }
    assert!(closest > 1e-4, "the bound is never approached ({closest})");
}

/// The loss of a score that is known up to a rounding: a kink within it counts, and the bound is met by a loss with a slope.
#[test]
fn the_rounding_of_a_loss_is_bounded_and_met() {
    let tube = |z: &[f64]| (z.iter().map(|v| v * v).sum::<f64>().sqrt() - 0.5).max(0.0);
    assert_eq!(loss_rounding(tube, &[0.4], 0.05), 0.0);
    assert!((loss_rounding(tube, &[0.4], 0.3) - 0.2).abs() < 1e-12);
    let mut rng = Rng::new(12);
    let mut closest = 0.0f64;
    for _ in 0..2000 {
        let z: Vec<f64> = (0..3).map(|_| rng.normal()).collect();
        let by: Vec<f64> = (0..3).map(|_| 0.1 * rng.normal()).collect();
        let moved: Vec<f64> = z.iter().zip(&by).map(|(z, by)| z + by).collect();
        let size = by.iter().map(|v| v * v).sum::<f64>().sqrt();
        let (found, bound) = ((tube(&moved) - tube(&z)).abs(), loss_rounding(tube, &z, size));
        assert!(found <= bound + 1e-15, "{z:?} to {moved:?}: {found} beyond {bound}");
        closest = closest.max(found / bound.max(1e-9));
    }
    assert!(closest > 0.5, "the bound is never approached ({closest})");
}

/// What `bytes` and `bytes_per_term` say agrees within 5 % where a budget is full.
#[test]
fn stated_bytes_agree() {
    let mut rng = Rng::new(9);
    for (settings, heads) in [
        ("loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 1e-3", 1),
        ("loss = 'squared'\nkernel = 'linear'\nstep = 'smd'\nlambda = 1e-3\naverage = 'uniform'", 1),
        ("loss = 'hinge'\nkernel = 'gaussian:1'", 3),
    ] {
        let terms = 2048;
        let config = Config::from_toml(&format!("{settings}\nbudget = 'window:{terms}'\nscale = 'none'")).unwrap();
        let mut learner = Learner::new(config.clone()).unwrap();
        let rows = 3 * terms;
        let x: Vec<f32> = (0..rows * 10).map(|_| 20.0 * rng.normal() as f32).collect();
        let y: Vec<f64> = (0..rows).map(|_| if rng.chance(0.5) { 1.0 } else { -1.0 }).collect();
        learner.learn(&Batch::new(&x, 10).numbers(&y)).unwrap();
        assert_eq!(learner.terms(), terms);
        assert_eq!(learner.engine().heads().len(), heads);
        let (stated, held) = ((config.bytes_per_term(10, 1) * terms) as f64, learner.bytes() as f64);
        assert!((held / stated - 1.0).abs() <= 0.05, "{settings}: {stated} bytes by bytes_per_term, {held} by bytes()");
    }
}
