//! Classes and signs: of two classes the one that sorts last has the positive scores, whatever came first; every row is learned
//! from the first one on; a class that is alone competes with a class not yet seen, whose score is 0.

use crate::support::cases::Random;
use crate::support::plain::plain;
use okl::{Batch, Label, Learner};

/// Settings of losses that read a sign: steps, riders, proximal steps, budgets, warm-ups, banks.
const SIGNED: [&str; 12] = [
    "loss = 'hinge'\nkernel = 'gaussian:0.7'\nstep = 'constant:0.3'\nlambda = 0.01\noffset = true\nbudget = 'window:40'",
    "loss = 'hinge'\nkernel = 'gaussian:0.7'\nstep = 'smd:eta=0.2'\nlambda = 0.01\noffset = true\nbudget = 'age:60'",
    "loss = 'logistic'\nkernel = 'gaussian:0.7'\nstep = 'smd:eta=0.2'\nlambda = 0.01\naverage = 'uniform'\nbudget = 'unlimited'",
    "loss = 'logistic'\nkernel = 'matern52:0.7'\nimplicit = true\nstep = 'constant:0.3'\nlambda = 0.01\noffset = true\nbudget = 'transfer:20'",
    "loss = 'nu_hinge:0.3'\nkernel = 'gaussian:0.7'\nstep = 'inverse_sqrt:0.5'\nlambda = 0.01\noffset = true\nbudget = 'merge:20'",
    "loss = 'perceptron'\nkernel = 'gaussian:0.7'\nstep = 'constant:1'\nlambda = 0\nbudget = 'forgetron:20'",
    "loss = 'hinge'\nkernel = 'linear'\nstep = 'constant:0.3'\nlambda = 0.05\nregulariser = 'norm'\naverage = 'exponential:0.05'\nbudget = 'weight:0.01'",
    "loss = 'hinge'\nkernel = 'gaussian'\nscale = 'standard'\nstep = 'decay:eta=0.5,tau=20'\nlambda = 0.01\nwarmup = 64\nbudget = 'certified:0.5'",
    "loss = 'logistic'\nkernel = 'gaussian'\nstep = 'auto'\nlambda = 'auto'\nwarmup = 50\noffset = true\nbudget = 'merge:20'",
    "loss = 'hinge'\nkernel = 'gaussian:auto'\nstep = 'auto'\nlambda = 'auto'\nwarmup = 200\nbudget = 'transfer:20'",
    "loss = 'hinge'\nkernel = 'gaussian:0.7'\nstep = 'constant:30'\nlambda = 0.05\nallow_overshoot = true\naverage = 'uniform'\nbudget = 'unlimited'",
    "loss = 'perceptron'\nkernel = 'polynomial:degree=2,gamma=0.5,coef0=1'\nstep = 'pegasos'\nlambda = 0.01\nbudget = 'window:30'",
];

/// Rows of which the first `alone` have one class.
struct Rows {
    x: Vec<f32>,
    /// -1 or +1.
    y: Vec<f64>,
}

fn rows(count: usize, alone: usize, first: f64, seed: u64) -> Rows {
    let mut random = Random(seed);
    let x: Vec<f32> = (0..2 * count).map(|_| (random.unit() * 2.0 - 1.0) as f32).collect();
    let side = |i: usize| if x[2 * i] * x[2 * i + 1] > 0.0 { 1.0 } else { -1.0 };
    let y = (0..count)
        .map(|i| {
            if i < alone {
                first
            } else if i == alone {
                -first
            } else {
                side(i)
            }
        })
        .collect();
    Rows { x, y }
}

fn new(settings: &str) -> Learner {
    Learner::new(plain(settings).unwrap_or_else(|e| panic!("{e}: {settings}"))).unwrap_or_else(|e| panic!("{e}: {settings}"))
}

/// The scores of rows learned as numbers or as labels, cut now and then, saved and loaded after `saved` rows.
fn learned(settings: &str, rows: &Rows, labels: Option<[Label; 2]>, saved: usize) -> (Vec<f64>, Learner) {
    let (mut learner, mut scores, count) = (new(settings), Vec::new(), rows.y.len());
    let named: Option<Vec<Label>> = labels.map(|two| rows.y.iter().map(|y| two[usize::from(*y > 0.0)].clone()).collect());
    let mut ends: Vec<usize> = (0..count).step_by(37).skip(1).chain([saved, count]).collect();
    ends.sort_unstable();
    let mut from = 0;
    for to in ends {
        let batch = Batch::new(&rows.x[2 * from..2 * to], 2);
        let batch = match &named {
            Some(named) => batch.labels(&named[from..to]),
            None => batch.numbers(&rows.y[from..to]),
        };
        scores.extend(learner.learn(&batch).unwrap().values);
        if to == saved {
            learner = Learner::from_bytes(&learner.to_bytes()).unwrap();
        }
        from = to;
    }
    (scores, learner)
}

/// Bits, where zeros of both signs are one.
fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| (v + 0.0).to_bits()).collect()
}

fn words() -> [[Label; 2]; 3] {
    [["bad".into(), "good".into()], [Label::Int(-1), Label::Int(1)], [Label::Int(9), Label::Int(10)]]
}

/// Learning with labels is learning with -1 and +1, the class that sorts last being +1. Before there is a second class the only
/// one is positive.
#[test]
fn labels_are_signs_to_the_last_bit() {
    for (which, settings) in SIGNED.into_iter().enumerate() {
        for (first, alone, saved) in
            [(1.0, 1, 20), (-1.0, 1, 20), (1.0, 90, 30), (-1.0, 90, 30), (-1.0, 70, 71), (-1.0, 150, 149)]
        {
            let rows = rows(230, alone, first, 7 + which as u64);
            let (expected, numbers) = learned(settings, &rows, None, saved);
            for two in words() {
                let (scores, learner) = learned(settings, &rows, Some(two.clone()), saved);
                let before: Vec<f64> = expected[..alone].iter().map(|z| first * z).collect();
                let what = format!("{two:?}, {alone} rows of {first}, saved after {saved}: {settings}");
                assert_eq!(bits(&scores[..alone]), bits(&before), "before the second class: {what}");
                assert_eq!(bits(&scores[alone..]), bits(&expected[alone..]), "after it: {what}");
                assert_eq!(bits(&learner.coefficients()), bits(&numbers.coefficients()), "{what}");
                assert_eq!(bits(learner.offset()), bits(numbers.offset()), "{what}");
                assert_eq!((learner.norm2(), learner.examples()), (numbers.norm2(), numbers.examples()), "{what}");
                assert_eq!(learner.positive().map(|p| &learner.classes()[p]), Some(&two[1]), "{what}");
            }
            assert_eq!(numbers.positive(), None);
        }
    }
}

/// Thousands of rows before the first of another class: all of them are learned.
#[test]
fn a_second_class_may_come_late() {
    let settings = "loss = 'logistic'\nkernel = 'gaussian'\nstep = 'auto'\nlambda = 'auto'\nbudget = 'merge:30'\noffset = true";
    let rows = rows(3600, 3200, -1.0, 3);
    let (expected, _) = learned(settings, &rows, None, 500);
    let (scores, learner) = learned(settings, &rows, Some(["no".into(), "yes".into()]), 3100);
    assert_eq!(bits(&scores[3200..]), bits(&expected[3200..]));
    assert!(scores[3100..3200].iter().all(|z| *z > 0.9), "the only class scores high");
    assert_eq!(learner.examples(), 3600);
}

/// One class under max_margin is the hinge of +1, under softmax the logistic loss of +1; a second class starts from 0.
#[test]
fn a_class_that_is_alone_competes_with_zero() {
    for (many, two) in [("max_margin", "hinge"), ("softmax", "logistic")] {
        for rest in [
            "step = 'constant:0.3'\nlambda = 0.01\noffset = true\nbudget = 'window:40'",
            "step = 'smd:eta=0.2'\nlambda = 0.01\noffset = true\nbudget = 'unlimited'",
            "step = 'constant:0.3'\nlambda = 0.01\nimplicit = true\naverage = 'uniform'\nbudget = 'transfer:20'",
            "step = 'auto'\nlambda = 'auto'\nwarmup = 40\nbudget = 'merge:20'",
        ] {
            let kernel = if rest.contains("warmup") { "gaussian" } else { "gaussian:0.7" };
            let settings = |loss: &str| format!("loss = '{loss}'\nkernel = '{kernel}'\n{rest}");
            let rows = rows(120, 120, 1.0, 5);
            let (expected, twin) = learned(&settings(two), &rows, None, 60);
            let (scores, mut learner) = learned(&settings(many), &rows, Some(["b".into(), "a".into()]), 60);
            assert_eq!((learner.classes(), learner.outputs()), (&[Label::from("a")][..], 1));
            assert_eq!(bits(&scores), bits(&expected), "{many} with {rest}");
            assert_eq!(bits(&learner.coefficients()), bits(&twin.coefficients()), "{many} with {rest}");
            let x = [0.3, 0.2];
            let alone = learner.predict(&Batch::new(&x, 2)).unwrap().values;
            let both = learner.learn(&Batch::new(&x, 2).labels(&["b".into()])).unwrap().values;
            assert_eq!(both, [alone[0], 0.0]);
        }
    }
}

fn learn_one(learner: &mut Learner, x: f32, label: impl Into<Label>) -> f64 {
    learner.learn(&Batch::new(&[x], 1).labels(&[label.into()])).unwrap().values[0]
}

const PLAIN: &str = "loss = 'hinge'\nkernel = 'linear'\nstep = 'constant:0.5'\nlambda = 0\nbudget = 'unlimited'";

/// By hand: f = 0.5 <2, .> after the first row, of the only class; then -f, before the score of the second.
#[test]
fn f_is_negated_before_the_score_of_the_class_that_sorts_last() {
    let mut learner = new(PLAIN);
    assert_eq!(learner.positive(), None);
    assert_eq!((learn_one(&mut learner, 2.0, "a"), learner.positive()), (0.0, Some(0)));
    assert_eq!((learn_one(&mut learner, 0.5, "z"), learner.positive()), (-0.5, Some(1)));
    assert_eq!(learner.coefficients(), [-0.5, 0.5]);
    let mut learner = new(PLAIN);
    learn_one(&mut learner, 2.0, "z");
    assert_eq!((learn_one(&mut learner, 0.5, "a"), learner.positive()), (0.5, Some(0)));
    assert_eq!(learner.coefficients(), [0.5, -0.5]);
}

/// A list of classes decides: its second is positive, whatever sorts last or comes first.
#[test]
fn given_classes_keep_their_order() {
    for (classes, first) in [("['z', 'a']", "a"), ("['z', 'a']", "z")] {
        let mut learner = new(&format!("{PLAIN}\nclasses = {classes}"));
        assert_eq!(learner.positive(), Some(1));
        learn_one(&mut learner, 2.0, first);
        learn_one(&mut learner, 0.5, if first == "a" { "z" } else { "a" });
        assert_eq!(learner.positive(), Some(1));
        let sign = if first == "a" { 1.0 } else { -1.0 };
        assert_eq!(learner.coefficients(), [0.5 * sign, -0.5 * sign]);
    }
}

#[test]
fn decisions_are_of_the_classes() {
    let mut learner = new(PLAIN);
    assert_eq!(learner.decide(&[1.0]), None);
    learn_one(&mut learner, 2.0, "z");
    assert_eq!((learner.decide(&[1.0]), learner.decide(&[-1.0])), (Some(0), Some(0)));
    learn_one(&mut learner, 2.0, "a");
    assert_eq!([1.0, 0.0, -1.0].map(|z| learner.decide(&[z])), [Some(0), Some(1), Some(1)]);
    let mut learner = new(&PLAIN.replace("hinge", "softmax"));
    assert_eq!((learner.decide(&[]), learner.positive()), (None, None));
    ["c", "a", "b"].into_iter().for_each(|name| _ = learn_one(&mut learner, 1.0, name));
    assert_eq!((learner.decide(&[0.1, 0.3, 0.3]), learner.positive()), (Some(1), None));
    let mut learner = new(PLAIN);
    learner.learn(&Batch::new(&[1.0], 1).numbers(&[1.0])).unwrap();
    assert_eq!((learner.decide(&[1.0]), learner.positive()), (None, None));
}

/// A row of weight 0 names no class; the rows of the other class are learned all the same.
#[test]
fn weight_zero_names_no_class() {
    for loss in ["hinge", "logistic", "max_margin", "softmax"] {
        let mut learner = new(&PLAIN.replace("hinge", loss));
        let labels: Vec<Label> = (0..20).map(|i| if i < 10 { "a".into() } else { "b".into() }).collect();
        let weights: Vec<f64> = (0..20).map(|i| if i < 10 { 0.0 } else { 1.0 }).collect();
        let x: Vec<f32> = (0..20).map(|i| 1.0 + i as f32).collect();
        learner.learn(&Batch::new(&x, 1).labels(&labels).weights(&weights)).unwrap();
        assert_eq!((learner.classes(), learner.examples()), (&[Label::from("b")][..], 10), "{loss}");
        assert!(learner.predict(&Batch::new(&[3.0], 1)).unwrap().values[0] > 0.5, "{loss}");
    }
}

/// The numbers -1 and +1 and the classes of these names are the same; other names beside numbers are refused.
#[test]
fn numbers_and_labels_do_not_mix_unless_they_are_the_same() {
    let (x, y) = ([1.0f32, 2.0, -1.0, 0.5], [-1.0, -1.0, 1.0, 1.0]);
    let labels = y.map(|y| Label::Int(y as i64));
    let run = |numbers_first: bool, cut: usize| {
        let mut learner = new(PLAIN);
        for (part, first) in [(0..cut, true), (cut..4, false)] {
            let batch = Batch::new(&x[part.clone()], 1);
            learner.learn(&if first == numbers_first { batch.numbers(&y[part]) } else { batch.labels(&labels[part]) }).unwrap();
        }
        learner.coefficients()
    };
    let expected = run(true, 4);
    for cut in 0..=4 {
        assert_eq!((run(true, cut), run(false, cut)), (expected.clone(), expected.clone()), "{cut}");
    }
    let mut learner = new(PLAIN);
    learner.learn(&Batch::new(&x, 1).numbers(&y)).unwrap();
    let error = learner.learn(&Batch::new(&x[..1], 1).labels(&["a".into()])).unwrap_err().to_string();
    assert!(error.contains("row 0") && error.contains("-1 or +1"), "{error}");
    let mut learner = new(PLAIN);
    learn_one(&mut learner, 1.0, "a");
    let error = learner.learn(&Batch::new(&x, 1).numbers(&y)).unwrap_err().to_string();
    assert!(error.contains("class labels"), "{error}");
}

/// Labels of several types are matched with the classes so far, row by row: the cut does not matter. Every row is learned as if it had the
/// label of its class.
#[test]
fn labels_of_several_types_do_not_depend_on_the_cut() {
    let mixed: [Label; 8] = [0.into(), "true".into(), "False".into(), 1.into(), "1".into(), 2.into(), "true".into(), "2".into()];
    // While the classes are 0 and 1, `true` is 1; beside the class 2 it is a class of its own.
    let named: [Label; 8] = [0.into(), 1.into(), 0.into(), 1.into(), 1.into(), 2.into(), "true".into(), 2.into()];
    let x: Vec<f32> = (0..8).map(|i| i as f32 / 3.0).collect();
    let settings = "loss = 'softmax'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'";
    let learned = |labels: &[Label], cut: usize| {
        let mut learner = new(settings);
        for (x, labels) in x.chunks(cut).zip(labels.chunks(cut)) {
            learner.learn(&Batch::new(x, 1).labels(labels)).unwrap();
        }
        learner.to_bytes()
    };
    let expected = learned(&named, 8);
    for cut in 1..=8 {
        assert!(learned(&mixed, cut) == expected, "{cut}");
    }
}
