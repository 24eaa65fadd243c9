//! Weights of columns: the rule is at the head of `learner/relevance.rs`, the arithmetic at that of `basis/weighted.rs`.

use crate::support::cases::Random;
use okl::{Batch, Config, Label, Learner};

const COLUMNS: usize = 5;

/// Rows of which two columns of five matter; the third one is constant.
fn stream(rows: usize, seed: u64) -> (Vec<f32>, Vec<f64>) {
    let mut random = Random(seed);
    let x: Vec<f32> =
        (0..rows * COLUMNS).map(|i| if i % COLUMNS == 2 { 7.0 } else { (2.0 * random.unit() - 1.0) as f32 }).collect();
    let y = x.chunks(COLUMNS).map(|x| f64::from(2.0 * x[0]) + libm::sin(5.0 * f64::from(x[3]))).collect();
    (x, y)
}

/// How rows are handed over.
#[derive(Clone, Copy, Default)]
struct How<'a> {
    cuts: &'a [usize],
    threads: usize,
    saved: bool,
    widened: bool,
}

fn learn(settings: &str, rows: usize, how: How<'_>) -> Learner {
    let (x, y) = stream(rows, 3);
    let classes = settings.contains("max_margin");
    let labels: Vec<Label> = y.iter().map(|y| Label::Int(y.round() as i64)).collect();
    let mut learner = Learner::new(Config::from_toml(settings).unwrap()).unwrap();
    learner.set_threads(how.threads.max(1)).unwrap();
    let mut first = 0;
    for &last in how.cuts.iter().chain([&rows]) {
        let (x, width) = (&x[first * COLUMNS..last * COLUMNS], COLUMNS);
        // Two columns that come late are 0 before.
        let wide: Vec<f32> = x.chunks(width).flat_map(|row| row.iter().copied().chain([0.0; 2])).collect();
        let batch = if how.widened { Batch::new(&wide, width + 2) } else { Batch::new(x, width) };
        let batch =
            if classes { batch.targets(okl::Targets::Labels(&labels[first..last])) } else { batch.numbers(&y[first..last]) };
        learner.learn(&batch).unwrap();
        if how.saved {
            learner = Learner::from_bytes(&learner.to_bytes()).unwrap();
            learner.set_threads(how.threads.max(1)).unwrap();
        }
        first = last;
    }
    learner
}

const NUMBERS: &str = "kernel = 'auto'\nloss = 'squared'\noffset = true\n";
const CLASSES: &str = "kernel = 'auto'\nloss = ['max_margin', 'softmax']\noffset = true\n";

/// Weights are found after 512 and 1,024 examples, wherever calls end and however many threads there are, and whether or not the model is saved
/// and loaded in between.
#[test]
fn weights_change_at_counts_of_examples() {
    for (settings, budget) in
        [(NUMBERS, "budget = 'merge:60'"), (CLASSES, "budget = 'merge:60'"), (NUMBERS, ""), (CLASSES, "budget = 'transfer:50'")]
    {
        let settings = format!("{settings}{budget}");
        let whole = learn(&settings, 1200, How::default());
        let (changes, last) = whole.weight_changes().unwrap();
        assert!(changes > 0 && last >= 512 && last.is_power_of_two(), "{changes} changes, {last}");
        let bytes = whole.to_bytes();
        let around = [100, 500, 511, 512, 513, 700, 1023, 1024, 1025];
        let others = [
            How { cuts: &around, ..How::default() },
            How { cuts: &around, saved: true, ..How::default() },
            How { cuts: &[512, 1024], saved: true, threads: 3, ..How::default() },
            How { threads: 4, ..How::default() },
        ];
        for (i, how) in others.into_iter().enumerate() {
            assert!(learn(&settings, 1200, how).to_bytes() == bytes, "{settings}: way {i}");
        }
    }
}

/// The columns that matter get more weight than the others; a constant one keeps 1.
#[test]
fn columns_that_matter_get_more_weight() {
    for settings in [NUMBERS, CLASSES] {
        let learner = learn(settings, 600, How::default());
        let weights = &learner.config().relevance;
        let (least, most) = (weights[0].min(weights[3]), weights[1].max(weights[4]));
        assert!(least > most && weights[2] == 1.0, "{settings}: {weights:?}");
        assert_eq!(learner.weight_changes(), Some((1, 512)));
        // Some kernels read them, and some do not.
        let read: Vec<bool> = (0..learner.widths()).map(|kernel| learner.column_weights(kernel).is_some()).collect();
        assert_eq!(read, [true, true, false, false, true, true]);
    }
}

/// Columns that are 0 so far change nothing: weights, scores and file size apart, the learner decides as one that does not know them.
#[test]
fn columns_without_values_do_not_count() {
    let (few, more) = (learn(NUMBERS, 700, How::default()), learn(NUMBERS, 700, How { widened: true, ..How::default() }));
    assert_eq!(few.config().relevance, more.config().relevance);
    assert_eq!(few.coefficients(), more.coefficients());
}

/// Weights of 4 and 1/4 are columns of twice and half the size, to the last bit: products with powers of two are exact.
#[test]
fn weights_are_scales_of_columns() {
    let (x, y) = stream(300, 5);
    let sizes = [2.0, 1.0, 0.5, 4.0, 0.25];
    let scaled: Vec<f32> = x.iter().enumerate().map(|(i, x)| sizes[i % COLUMNS] * x).collect();
    let kernels = ["gaussian:0.7", "matern32:0.9", "exponential:0.5", "gaussian:0.4,matern52:1.1", "manhattan:0.4"];
    let budgets = ["unlimited", "window:20", "merge:20", "transfer:20", "age:40", "weight:0.05", "certified:0.4"];
    let steps = ["step = 'constant:0.3'\nlambda = 0.01", "step = 'smd:eta=0.2'\nlambda = 0.01", "implicit = true"];
    for i in 0..kernels.len() * budgets.len() * steps.len() {
        let (kernel, budget) = (kernels[i % kernels.len()], budgets[i / kernels.len() % budgets.len()]);
        let step = steps[i / kernels.len() / budgets.len()];
        let settings = format!("loss = 'squared'\nscale = 'none'\nkernel = '{kernel}'\nbudget = '{budget}'\n{step}");
        if Config::from_toml(&settings).unwrap().check().is_err() {
            continue;
        }
        let scores = |settings: &str, x: &[f32]| {
            let mut learner = Learner::new(Config::from_toml(settings).unwrap()).unwrap();
            let mut scores = learner.learn(&Batch::new(x, COLUMNS).numbers(&y)).unwrap().values;
            scores.extend(learner.predict(&Batch::new(&x[..20 * COLUMNS], COLUMNS)).unwrap().values);
            scores.extend([learner.norm2(), learner.truncation_error()]);
            scores
        };
        let weighted = scores(&format!("{settings}\nrelevance = [4, 1, 0.25, 16, 0.0625]"), &x);
        assert!(weighted == scores(&settings, &scaled), "{settings}");
    }
}

/// sum_i a_i k(u, c_i) + b in double precision, with the weights of the columns.
fn written_out(plain: &Learner, u: &[f32]) -> f64 {
    let (terms, kernel) = (plain.engine().terms(), &plain.engine().terms().space().kernels()[0]);
    let (a, weights) = (plain.predicting_coefficients(), plain.column_weights(0).unwrap_or(&[]));
    let mut centre = vec![0.0; u.len()];
    let term = |(slot, a): (usize, &f64)| {
        terms.space().centre(slot, &mut centre);
        let apart2 = |j: usize| (f64::from(u[j]) - f64::from(centre[j])).powi(2) * weights.get(j).copied().unwrap_or(1.0);
        let r2: f64 = (0..u.len()).map(apart2).sum();
        a * match kernel {
            okl::kernel::AnyKernel::Gaussian { gamma } => libm::exp(-gamma * r2),
            okl::kernel::AnyKernel::Matern32 { gamma } => {
                let s = 3f64.sqrt() * gamma * r2.sqrt();
                (1.0 + s) * libm::exp(-s)
            }
            other => panic!("{other:?}"),
        }
    };
    plain.predicting_offset()[0] + terms.live().zip(&a).map(term).sum::<f64>()
}

/// The plain learner of the leading voice has the weights, if its kernel reads them; its file, too.
#[test]
fn a_frozen_learner_keeps_the_weights() {
    let learner = learn(NUMBERS, 700, How::default());
    let plain = learner.freeze().unwrap();
    assert!(plain.column_weights(0).is_some(), "the leader reads columns as they are: {:?}", learner.members()[0]);
    assert_eq!((plain.widths(), plain.weight_changes()), (1, None));
    let (x, y) = stream(40, 9);
    let scores = plain.predict(&Batch::new(&x, COLUMNS)).unwrap().values;
    for (x, score) in x.chunks(COLUMNS).zip(&scores) {
        let u: Vec<f32> = x.iter().enumerate().map(|(j, x)| plain.framed(j, f64::from(*x))).collect();
        let expected = written_out(&plain, &u);
        assert!((score - expected).abs() < 1e-4 * (1.0 + expected.abs()), "{score}, {expected}");
    }
    // A learner built from the settings weighs columns alike, and a file goes on alike.
    assert_eq!(Learner::new(plain.config().clone()).unwrap().column_weights(0), plain.column_weights(0));
    let (mut a, mut b) = (Learner::from_bytes(&plain.to_bytes()).unwrap(), plain.clone());
    for learner in [&mut a, &mut b] {
        learner.learn(&Batch::new(&x, COLUMNS).numbers(&y)).unwrap();
    }
    assert!(a.to_bytes() == b.to_bytes());
    assert_eq!(learner.publish().predict(&Batch::new(&x, COLUMNS)).unwrap(), learner.predict(&Batch::new(&x, COLUMNS)).unwrap());
}

/// At a change the certificates of the heads that read weighted columns begin anew, and |f|² is that of the terms.
#[test]
fn norms_and_certificates_follow_the_weights() {
    let settings = format!("{NUMBERS}budget = 'merge:60'");
    let (before, after) = (learn(&settings, 511, How::default()), learn(&settings, 512, How::default()));
    assert_eq!((before.weight_changes(), after.weight_changes()), (Some((0, 0)), Some((1, 512))));
    let mut anew = 0;
    for (old, head) in before.engine().heads().iter().zip(after.engine().heads()) {
        assert!(old.truncation_error() >= 0.0);
        anew += usize::from(old.truncation_error() > 0.0 && head.truncation_error() == 0.0 && head.norm2() > 0.0);
    }
    assert!(anew > 0, "no certificate began anew");
    let plain = after.freeze().unwrap();
    assert!(plain.column_weights(0).is_some() && plain.truncation_error() == 0.0);
    // |f|² = sum_i a_i f(x_i), for the last hypothesis.
    let (terms, f) = (plain.engine().terms(), plain.engine().heads()[0].expansion());
    let (mut a, mut norm2) = (vec![0.0; COLUMNS], 0.0);
    for slot in terms.live() {
        terms.space().centre(slot, &mut a);
        let weights = plain.column_weights(0).unwrap();
        let mut sum = 0.0;
        let mut c = vec![0.0; COLUMNS];
        for other in terms.live() {
            terms.space().centre(other, &mut c);
            let r2: f64 =
                (0..COLUMNS).map(|j| weights.get(j).unwrap_or(&1.0) * (f64::from(a[j]) - f64::from(c[j])).powi(2)).sum();
            let kernel = &terms.space().kernels()[0];
            let k = okl::kernel::DotKernel::pair(kernel, &okl::kernel::TwoRows::apart(r2)).shared;
            sum += k * f.alpha(0, other);
        }
        norm2 += f.alpha(0, slot) * sum;
    }
    assert!((plain.norm2() / norm2 - 1.0).abs() < 1e-4, "{} by the terms {norm2}", plain.norm2());
}

/// The bank of older versions stays what it was when it is asked for, and where rows may be sparse or columns are to stay as they are.
#[test]
fn other_banks_have_no_weights() {
    for settings in ["heads = 'varied'", "heads = 'selected'", "anchor = 'none'", "scale = 'none'"] {
        let learner = Learner::new(Config::from_toml(&format!("{NUMBERS}{settings}")).unwrap()).unwrap();
        assert_eq!((learner.weight_changes(), learner.widths()), (None, 4), "{settings}");
    }
    assert_eq!(Learner::new(Config::from_toml(NUMBERS).unwrap()).unwrap().widths(), 6);
    assert_eq!(Learner::new(Config::from_toml(&format!("{NUMBERS}heads = 'mixed'")).unwrap()).unwrap().widths(), 5);
    let quantile =
        |heads: &str| Config::from_toml(&format!("kernel = 'auto'\nloss = 'quantile:0.9'\noffset = true\n{heads}")).unwrap();
    assert_eq!(Learner::new(quantile("")).unwrap().widths(), 4, "weights lower the coverage of quantiles");
    assert_eq!(Learner::new(quantile("heads = 'weighted'")).unwrap().widths(), 5, "asked for");
}
