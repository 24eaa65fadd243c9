//! The attack can win: its bounds are tight enough to mean something.

use std::collections::BTreeMap;

use okl::kernel::{AnyKernel, DotKernel};
use okl::{Batch, Config, Learner};

use crate::case::{Case, Row, Target};
use crate::checks::check_deflated;
use crate::kernels::{Pair, U, value};
use crate::rng::Rng;

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
            let single = f64::from(kernel.eval(chain(&x, &y), chain(&x, &x), chain(&y, &y)));
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
