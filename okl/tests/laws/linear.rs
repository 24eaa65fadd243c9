//! Weight vectors in a bank over terms (`heads = mixed`, `engine/linear.rs`).

use crate::support::cases::Random;
use okl::config::{Choice, Form};
use okl::kernel::AnyKernel;
use okl::{Batch, Config, Learner};

const COLUMNS: usize = 4;
const NUMBERS: &str = "kernel = 'auto'\nloss = 'squared'\noffset = true\nwarmup = 64\nbudget = 'merge:30'\n";
const SIGNS: &str = "kernel = 'auto'\nloss = ['hinge', 'logistic']\noffset = true\nwarmup = 64\nbudget = 'merge:30'\n";

/// A linear target with little noise. From row `jump` on, the second column is 1,000 times as large and shifted, and the target does not change.
fn stream(rows: usize, jump: usize) -> (Vec<f64>, Vec<f64>) {
    let mut random = Random(5);
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for row in 0..rows {
        let u: Vec<f64> = (0..COLUMNS).map(|_| 2.0 * random.unit() - 1.0).collect();
        y.push(3.0 * u[0] - 2.0 * u[1] + u[2] + 0.1 * random.unit());
        // Columns of different ranges, so that each has its unit and is clipped.
        let u: Vec<f64> = u.iter().zip([1.0, 1.0, 10.0, 1.0]).map(|(u, unit)| u * unit).collect();
        x.extend(u.iter().enumerate().map(|(j, u)| if j == 1 && row >= jump { 1000.0 * u + 5000.0 } else { *u }));
    }
    (x, y)
}

fn learner(settings: &str) -> Learner {
    Learner::new(Config::from_toml(settings).unwrap()).unwrap()
}

fn batch<'a>(x: &'a [f64], y: &'a [f64], rows: std::ops::Range<usize>) -> Batch<'a> {
    Batch::of_f64(&x[rows.start * COLUMNS..rows.end * COLUMNS], COLUMNS).numbers(&y[rows])
}

/// The weight vectors are learned row by row, saved and loaded, and brought into other units inside of calls: no cut changes a bit.
#[test]
fn the_cut_does_not_matter_when_units_change() {
    let (x, numbers) = stream(1500, 700);
    let signs: Vec<f64> = numbers.iter().map(|y| y.signum()).collect();
    for (settings, y) in [(NUMBERS, &numbers), (SIGNS, &signs)] {
        let mut whole = learner(settings);
        whole.learn(&batch(&x, y, 0..1500)).unwrap();
        assert!(whole.unit_changes().unwrap().0 > 0 && whole.linear_weights().is_some());
        for cuts in [&[1, 63, 64, 65, 511, 512, 513, 1500][..], &[700, 800, 896, 897, 960, 1024, 1500], &[250, 1500]] {
            let (mut other, mut first) = (learner(settings), 0);
            for &last in cuts {
                other.learn(&batch(&x, y, first..last)).unwrap();
                other = Learner::from_bytes(&other.to_bytes()).unwrap();
                first = last;
            }
            assert!(other.to_bytes() == whole.to_bytes(), "{settings}: cut at {cuts:?}");
        }
    }
}

/// On a linear stream a weight vector leads. Frozen, it is a weight vector that predicts as the voice did: w and b are near those of the stream.
#[test]
fn a_weight_vector_that_leads_is_frozen_as_one() {
    let (x, y) = stream(3000, usize::MAX);
    let mut bank = learner(NUMBERS);
    bank.learn(&batch(&x, &y, 0..3000)).unwrap();
    let leader = &bank.members()[0].0;
    assert!(bank.config().is_weight_vector(leader), "{:?}", bank.members()[0]);
    let plain = bank.freeze().unwrap();
    assert!(plain.config().form == Choice::Given(Form::Weights) && plain.terms() == 0);
    assert_eq!(plain.engine().terms().space().kernels(), [AnyKernel::Linear]);
    let (_, factor) = plain.frame();
    let slopes: Vec<f64> = plain.weights().unwrap().iter().zip(factor).map(|(w, s)| w * s).collect();
    let expected = [3.0, -2.0, 0.1, 0.0];
    assert!(slopes.iter().zip(expected).all(|(w, e)| (w - e).abs() < 0.1), "{slopes:?}");
    let loaded = Learner::from_bytes(&plain.to_bytes()).unwrap();
    let rows = Batch::of_f64(&x[..400], COLUMNS);
    assert_eq!(loaded.predict(&rows).unwrap(), plain.predict(&rows).unwrap());
}

/// Far from all rows so far, kernels of distance say nothing, and the bank follows its weight vectors up to a further limit.
#[test]
fn a_row_far_away_is_predicted_linearly() {
    let (x, y) = stream(3000, usize::MAX);
    let score = |settings: &str, far: f64| {
        let mut learner = learner(settings);
        learner.learn(&batch(&x, &y, 0..3000)).unwrap();
        learner.predict(&Batch::of_f64(&[far, 0.0, 0.0, 0.0], COLUMNS)).unwrap().values[0]
    };
    // The deviation of the first column is 0.58, so 20 is 35 deviations away; the limit of the kernels is 8, that of weight vectors 64.
    let [mixed, weighted] = ["", "heads = 'weighted'\n"].map(|heads| score(&format!("{NUMBERS}{heads}"), 20.0));
    assert!((mixed / 60.0 - 1.0).abs() < 0.2, "{mixed}");
    assert!(weighted < 30.0, "{weighted}");
    let [at, beyond] = [37.5, 1000.0].map(|far| score(NUMBERS, far));
    assert!((at / beyond - 1.0).abs() < 0.05, "{at}, {beyond}");
}

/// Two weight vectors are left after 2,048 examples; the others have no weight.
#[test]
fn weight_vectors_retire() {
    let (x, y) = stream(2100, usize::MAX);
    let mut bank = learner(NUMBERS);
    let awake = |bank: &Learner| {
        let linear =
            bank.members().into_iter().filter(|(member, weight)| bank.config().is_weight_vector(member) && *weight > 0.0);
        let mut steps: Vec<String> = linear.map(|(member, _)| format!("{:?}", member.step)).collect();
        steps.sort();
        steps.dedup();
        steps.len()
    };
    let mut counts = Vec::new();
    for (first, last) in [(0, 511), (511, 512), (512, 1024), (1024, 2100)] {
        bank.learn(&batch(&x, &y, first..last)).unwrap();
        counts.push(awake(&bank));
    }
    assert_eq!(counts, [5, 4, 3, 2]);
}

/// A counter leaves the range of the kernels, and the weight vector that leads reads it further on: nothing is reported. Frozen, the weight
/// vector has clipped nothing.
#[test]
fn a_column_that_a_weight_vector_reads_is_not_reported_as_clipped() {
    let x: Vec<f64> = (0..2000).flat_map(|i| [f64::from(i), libm::sin(f64::from(i)) * 0.01]).collect();
    let y: Vec<f64> = x.chunks(2).map(|x| 0.01 * x[0] + 100.0 * x[1]).collect();
    let settings = "kernel = 'auto'\nloss = 'squared'\noffset = true\n";
    let learned = |settings: &str| {
        let mut learner = learner(settings);
        learner.learn(&Batch::of_f64(&x, 2).numbers(&y)).unwrap();
        learner
    };
    let clipped = |learner: &Learner| learner.health().findings(|j| j.to_string()).iter().any(|found| found.contains("clipped"));
    let bank = learned(settings);
    assert!(bank.config().is_weight_vector(&bank.members()[0].0));
    assert!(bank.health().clipped_values > 100 && !clipped(&bank), "{:?}", bank.health());
    assert!(clipped(&learned(&format!("{settings}heads = 'weighted'"))), "kernels alone see a constant");
    let mut plain = bank.freeze().unwrap();
    assert!(plain.limit() == Some(64.0) && plain.health().clipped_values == 0);
    plain.learn(&Batch::of_f64(&x[3800..], 2).numbers(&y[1900..])).unwrap();
    assert!(plain.health().clipped_values == 0 && !clipped(&plain));
}

/// The norm is that of the leading voice: |w| of a weight vector.
#[test]
fn the_norm_is_that_of_the_weight_vector_that_leads() {
    let (x, y) = stream(3000, usize::MAX);
    let mut bank = learner(NUMBERS);
    bank.learn(&batch(&x, &y, 0..3000)).unwrap();
    let frozen = bank.freeze().unwrap();
    assert_eq!(bank.norm2(), frozen.norm2());
    assert!(bank.norm2_over_terms() != bank.norm2());
}

/// Settings without weight vectors: given heads, rows that may be sparse, columns that are not scaled, quantiles.
#[test]
fn only_the_default_bank_has_weight_vectors() {
    assert!(learner(NUMBERS).linear_weights().is_some());
    for settings in ["heads = 'weighted'", "heads = 'varied'", "anchor = 'none'", "scale = 'none'"] {
        assert!(learner(&format!("{NUMBERS}{settings}")).linear_weights().is_none(), "{settings}");
    }
    assert!(learner("kernel = 'auto'\nloss = 'quantile:0.9'").linear_weights().is_none());
    assert!(learner("kernel = 'gaussian:auto'\nloss = 'squared'").linear_weights().is_none());
}
