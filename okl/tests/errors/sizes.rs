//! Rows and scores of extreme sizes.

use super::*;

/// The limits that a refusal names are accepted, and kernels at them have finite values: 1 for equal rows.
#[test]
fn the_limits_of_gamma_are_accepted() {
    for kernel in ["gaussian", "exponential", "matern32", "matern52", "rational_quadratic"] {
        let said = Config::from_toml(&format!("kernel = '{kernel}:gamma=1e39'")).unwrap().check().unwrap_err().to_string();
        let limits: Vec<&str> = said.split_once("between ").unwrap().1.split(", ").next().unwrap().split(" and ").collect();
        for limit in limits {
            let text = format!(
                "kernel = '{kernel}:gamma={limit}'\nloss = 'squared'\nstep = 'constant:0.5'\nlambda = 0.1\nbudget = 'unlimited'"
            );
            let mut learner = Learner::new(Config::from_toml(&text).unwrap()).unwrap();
            let scores = learner.learn(&Batch::new(&[0.5, 0.5, -1.0, 1e15], 1).numbers(&[1.0, 1.0, 1.0, 1.0])).unwrap();
            assert!(
                (scores.values[1] - 0.5).abs() < 1e-7 && scores.values.iter().all(|z| z.is_finite()),
                "{text}: {:?}",
                scores.values
            );
            assert_eq!(learner.skipped(), 0, "{text}");
        }
    }
}

/// Automatic widths have no unit: rows times a power of two are learned to the same bits, however small or large they are.
#[test]
fn rows_of_any_size_are_learned_alike() {
    let rows: Vec<f32> = (0..600).map(|i| ((i * 37 % 101) as f32 - 50.0) / 32.0).collect();
    let y: Vec<f64> = rows.chunks_exact(2).map(|x| f64::from(x[0] * x[1] + 0.1).signum()).collect();
    for (gamma, anchor) in [("auto", "first"), ("median", "none")] {
        let learned = |power: i32, cut: usize| {
            let unit = 2f32.powi(power);
            let text =
                format!("kernel = 'gaussian:{gamma}'\nscale = 'none'\nanchor = '{anchor}'\nwarmup = 60\nbudget = 'merge:40'");
            let mut learner = Learner::new(Config::from_toml(&text).unwrap()).unwrap();
            let x: Vec<f32> = rows.iter().map(|x| x * unit).collect();
            let mut scores = Vec::new();
            for (x, y) in x.chunks(2 * cut).zip(y.chunks(cut)) {
                scores.extend(learner.learn(&Batch::new(x, 2).numbers(y)).unwrap().values);
                learner = Learner::from_bytes(&learner.to_bytes()).unwrap();
            }
            assert_eq!(learner.skipped(), 0, "rows times 2^{power}");
            // One row has no distance to another: the second is scored under a provisional width in the units of the data.
            scores.split_off(2)
        };
        let plain = learned(0, 300);
        assert!(plain.iter().all(|z| z.is_finite()) && plain.iter().any(|z| *z != 0.0));
        for power in [-66, -110, 40, 46] {
            assert!(learned(power, 300) == plain, "gamma {gamma}, rows times 2^{power}");
            assert!(learned(power, 17) == plain, "gamma {gamma}, rows times 2^{power}, in parts of 17");
        }
    }
}

/// A kernel value beyond single precision: `predict` and `learn` name the row.
#[test]
fn a_score_that_is_not_finite_is_an_error() {
    let mut learner =
        learner("loss = 'squared'\nkernel = 'polynomial:degree=4'\nstep = 'constant:0.01'\nlambda = 0.1\nanchor = 'none'");
    learner.learn(&Batch::new(&[1.0], 1).numbers(&[1.0])).unwrap();
    let error = learner.predict(&Batch::new(&[2.0, 1e12, 1.0], 1)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::NotFinite { row: 1, .. }));
    says(&error, &["row 1", "score", "single precision", "leave the row out"]);
    refused(&mut learner, &Batch::new(&[2.0, 1e12], 1).numbers(&[1.0, 1.0]), &["row 1", "k(x, x)", "single precision"]);
    assert!(learner.predict(&Batch::new(&[2.0, 1.0], 1)).is_ok());
}

/// k(x, x) = x^8 beyond 1e37: refused alone and in a block, also where the warm-up ends before the row in the same call.
#[test]
fn a_row_too_large_for_its_kernel_is_refused() {
    let kernel = "kernel = { polynomial = { degree = 4, gamma = 1.0, coef0 = 0.0 } }";
    let x = [1.0f32, -1.0, 2.0, -2.0, 1e10, 1.5];
    for (scale, first) in [("scale = 'none'", 2), ("scale = 'standard'\nwarmup = 4", 4), ("scale = 'standard'\nwarmup = 4", 0)] {
        let toml = format!("loss = 'squared'\nstep = 'constant:0.001'\nlambda = 0.01\n{kernel}\n{scale}");
        let mut learner = Learner::new(Config::from_toml(&toml).unwrap()).unwrap();
        learner.learn(&Batch::new(&x[..first], 1).numbers(&vec![1.0; first])).unwrap();
        let (rest, row) = (&x[first..], format!("row {}", 4 - first));
        let words = [&row, "k(x, x)", "beyond single precision", "leave the row out"];
        let kind = refused(&mut learner, &Batch::new(rest, 1).numbers(&vec![1.0; rest.len()]), &words);
        assert!(matches!(kind, ErrorKind::NotFinite { .. }));
        assert_eq!((learner.examples(), learner.skipped()), (first as u64, 0));
    }
    let mut learner = learner(&format!("loss = 'squared'\nstep = 'constant:0.1'\n{kernel}"));
    let edge = 1e37f64.powf(0.125) as f32;
    refused(&mut learner, &Batch::new(&[edge * 1.0001], 1).numbers(&[1.0]), &["row 0"]);
    learner.learn(&Batch::new(&[edge * 0.9999, -edge * 0.9999], 1).known(&[false, false])).unwrap();
}

/// While the frame is provisional a row that does not fit its kernel is not learned: its score is 0, and it is counted.
#[test]
fn a_row_of_the_warm_up_that_does_not_fit_its_kernel_is_counted() {
    let toml = "loss = 'squared'\nstep = 'constant:0.001'\nlambda = 0.01\nwarmup = 8\nscale = 'standard'\n\
                kernel = { polynomial = { degree = 4, gamma = 1.0, coef0 = 0.0 } }";
    // Standardised by the first two rows, the third lies at about 2e14 deviations.
    let x = [1.0f32, 1.001, 1e11, 1.0];
    let mut learner = Learner::new(Config::from_toml(toml).unwrap()).unwrap();
    learner.learn(&Batch::new(&x[..2], 1).numbers(&[1.0, 2.0])).unwrap();
    let mut losses = Vec::new();
    learner
        .learn_with(&Batch::new(&x[2..3], 1).numbers(&[1.0]), |_, step| losses.push((step.scores.to_vec(), step.loss)))
        .unwrap();
    assert_eq!((losses, learner.skipped(), learner.health().skipped), (vec![(vec![0.0], None)], 1, 1));
    // With the fourth row the frame is found anew from all of them, and the third fits.
    let scores = learner.learn(&Batch::new(&x[3..], 1).numbers(&[1.0])).unwrap();
    assert!(scores.values[0].is_finite() && learner.norm2().is_finite());
    assert_eq!((learner.examples(), learner.skipped()), (4, 0));
}

/// A novelty loss reads no targets, but those that are given must belong to the rows.
#[test]
fn targets_of_a_novelty_loss_are_counted_and_not_read() {
    let mut learner = started(NOVELTY);
    let x = [1.0f32, 2.0, 3.0, 4.0];
    let labels = [Label::from("a"), Label::from("b"), Label::from("c")];
    for wrong in [&labels[..], &labels[..1], &[]] {
        let batch = Batch::new(&x, 2).labels(wrong);
        refused(&mut learner, &batch, &["labels", "2, one per row", &format!("found {}", wrong.len()), "novelty"]);
    }
    for wrong in [&[1.0, 2.0, 3.0][..], &[1.0], &[]] {
        refused(&mut learner, &Batch::new(&x, 2).numbers(wrong), &["targets", "2, one per row", "novelty"]);
    }
    let mut without = learner.clone();
    let scores = learner.learn(&Batch::new(&x, 2).labels(&labels[..2])).unwrap();
    assert_eq!(scores, without.learn(&Batch::new(&x, 2)).unwrap());
    assert_eq!(learner.to_bytes(), without.to_bytes());
    assert!(learner.classes().is_empty());
}
