//! Budgets that drop terms: chunks come back before they change, and the driver holds few of them.

use super::keepers::{Sums, Twin};
use super::{bits, file};
use crate::support::cases::{self, Random};
use crate::support::plain::plain;
use okl::place::CHUNK;
use okl::sharded::ShardedLearner;
use okl::{Batch, Label, Learner};
use proptest::prelude::*;
use proptest::sample::select;

/// Numbers or classes; averages are multiplied out, f is renormalised, classes come late. Under `epsilon` quiet rows write no term, so holes come
/// and go.
const LOSSES: [&str; 5] = [
    "loss = 'squared'\nkernel = 'gaussian:0.7'\nstep = 'inverse_sqrt:3'\nlambda = 0.001",
    "loss = 'epsilon:0.6'\nkernel = 'matern32:5'\nstep = 'inverse_sqrt:3'\nlambda = 0.01\noffset = true",
    "loss = 'epsilon:0.6'\nkernel = 'gaussian:20'\nstep = 'inverse_sqrt:3'\nlambda = 0.01\naverage = 'exponential:0.05'",
    "loss = 'softmax'\nkernel = 'gaussian:0.7'\nstep = 'inverse_sqrt:3'\nlambda = 0.001\naverage = 'uniform'",
    "loss = 'hinge'\nkernel = 'polynomial:degree=2,gamma=0.1,coef0=1'\nstep = 'inverse_sqrt:1'\nlambda = 0.2",
];

/// A stream in bursts: in some all rows are far from f, in some none, in some every second one.
struct Bursts {
    x: Vec<f32>,
    y: Vec<f64>,
    labels: Vec<Label>,
    signs: Vec<Label>,
}

impl Bursts {
    fn new(rows: usize, seed: u64) -> Self {
        let mut random = Random(seed);
        let x = (0..3 * rows).map(|_| random.unit() as f32 * 4.0 - 2.0).collect();
        let mut y: Vec<f64> = Vec::new();
        while y.len() < rows {
            let (length, share) = (10 + random.below(300), [0.0, 0.5, 1.0][random.below(3)]);
            y.extend((0..length).map(|_| if random.often(share) { [-4.0, 4.0][random.below(2)] } else { 0.0 }));
        }
        y.truncate(rows);
        let class =
            |i: usize| Label::from(if i > rows / 2 && i.is_multiple_of(3) { "c" } else { ["a", "b"][usize::from(y[i] > 0.0)] });
        let labels = (0..rows).map(class).collect();
        let signs = y.iter().map(|y| Label::from(if *y > 0.0 { "yes" } else { "no" })).collect();
        Bursts { x, y, labels, signs }
    }

    fn batch(&self, settings: &str, rows: std::ops::Range<usize>) -> Batch<'_> {
        let batch = Batch::new(&self.x[3 * rows.start..3 * rows.end], 3);
        match settings {
            s if s.contains("softmax") => batch.labels(&self.labels[rows]),
            s if s.contains("hinge") => batch.labels(&self.signs[rows]),
            _ => batch.numbers(&self.y[rows]),
        }
    }
}

/// Learns a stream twice: at once, and in shards from row `continued` on, with requests of this number of rows. Returns the most chunks that were
/// here after a call, and the most slots at the keeper.
fn compare(settings: &str, seed: u64, rows: usize, continued: usize, request: usize) -> (usize, usize) {
    let stream = Bursts::new(rows, seed);
    let mut random = Random(seed);
    let mut alone = Learner::new(plain(settings).unwrap()).unwrap();
    if continued > 0 {
        alone.learn(&stream.batch(settings, 0..continued)).unwrap();
    }
    let mut sharded = ShardedLearner::new(alone.clone(), Box::new(Twin::new(request))).unwrap();
    let (mut from, mut most, mut sent) = (continued, 0, 0);
    while from < rows {
        let to = rows.min(from + [1, 40, 700, 3000][random.below(4)]);
        let batch = stream.batch(settings, from..to);
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        alone.learn_with(&batch, |_, step| ours.push((bits(step.scores), step.slot))).unwrap();
        let mut checked = sharded.check(&batch).unwrap();
        while sharded.learn_next(&mut checked, |_, step| theirs.push((bits(step.scores), step.slot))).unwrap() {}
        let first = ours.iter().zip(&theirs).position(|(a, b)| a != b);
        assert_eq!(first, None, "scores and slots of rows {from} to {to}, requests of {request}, seed {seed}: {settings}");
        assert_eq!(sharded.terms(), alone.terms());
        (most, sent) = (most.max(sharded.here().div_ceil(CHUNK)), sent.max(sharded.sent()));
        from = to;
        if random.often(0.3) || from == rows {
            let asked = Batch::new(&stream.x[..300], 3);
            let (ours, theirs) = (alone.predict(&asked).unwrap(), sharded.predict(&asked).unwrap());
            assert!(bits(&ours.values) == bits(&theirs.values), "predictions, seed {seed}: {settings}");
            assert!(file(&sharded) == alone.to_bytes(), "model file, seed {seed}: {settings}");
        }
    }
    (most, sent)
}

#[test]
fn shards_of_windows_ages_and_olok_change_no_bit() {
    for (at, (loss, budget)) in [
        (0, "window:3072"),
        (3, "window:3500"),
        (1, "window:2500"),
        (0, "age:3000"),
        (1, "age:4000"),
        (2, "age:5000"),
        (3, "age:2500"),
        (4, "age:6000"),
        (0, "olok:0.45"),
        (2, "olok:0.4"),
        (3, "olok:0.45"),
    ]
    .into_iter()
    .enumerate()
    {
        let settings = format!("{}\nbudget = '{budget}'", LOSSES[loss]);
        let (_, sent) = compare(&settings, at as u64, 7000, if at.is_multiple_of(2) { 0 } else { 4100 }, 200);
        assert!(sent >= CHUNK, "{sent} slots were sent: {settings}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases::count(6), failure_persistence: None, max_shrink_iters: 4, ..ProptestConfig::default() })]
    #[test]
    fn drawn_budgets_change_no_bit(
        loss in select(&LOSSES[..]),
        (budget, size) in (select(&["window", "age", "olok"][..]), 1..6000usize),
        (seed, request) in (any::<u64>(), select(&[9, 60, 512, 3000][..])),
        continued in select(&[0, 1, 5000][..]),
    ) {
        let size = if budget == "olok" { 0.2 + size as f64 / 25_000.0 } else { size as f64 };
        compare(&format!("{loss}\nbudget = '{budget}:{size}'"), seed, 7000, continued, request);
    }
}

/// Terms of all chunks grow old at the same time, because holes are filled in bursts: the chunks do not all come back at once.
#[test]
fn few_chunks_are_here_when_the_order_of_the_slots_is_not_that_of_the_births() {
    let settings = "loss = 'epsilon:0.6'\nkernel = 'gaussian:20'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'age:20000'";
    let (most, sent) = compare(settings, 5, 60_000, 0, 1024);
    assert!(most <= 7 && sent >= 6 * CHUNK, "{most} chunks were here, {sent} slots elsewhere");
}

/// 40 chunks of 64 features without a budget, and 120 under budgets that drop terms: the learner holds a tenth at most.
#[test]
fn the_learner_holds_a_tenth_of_the_model() {
    let features = 64;
    for (budget, chunks, limit) in [("unlimited", 40, 3), ("window:122900", 120, 7), ("age:122880", 120, 7)] {
        let rows = chunks * CHUNK * if budget == "unlimited" { 4 } else { 5 } / 4;
        let x: Vec<f32> = (0..rows * features).map(|i| (i % 977) as f32 * 0.01).collect();
        let y: Vec<f64> = (0..rows).map(|i| (1 + i % 7) as f64).collect();
        let settings =
            format!("loss = 'squared'\nkernel = 'gaussian:0.1'\nstep = 'constant:0.3'\nlambda = 0.001\nbudget = '{budget}'");
        let empty = Learner::new(plain(&settings).unwrap()).unwrap();
        let mut sharded = ShardedLearner::new(empty, Box::new(Sums::new(512, 0))).unwrap();
        let mut most = 0;
        let batch = Batch::new(&x, features).numbers(&y);
        let mut checked = sharded.check(&batch).unwrap();
        while sharded.learn_next(&mut checked, |_, _| {}).unwrap() {
            most = most.max(sharded.bytes());
            assert!(sharded.here() <= limit * CHUNK, "{} slots are here: {budget}", sharded.here());
        }
        assert!(sharded.terms() >= chunks * CHUNK && sharded.here() <= limit * CHUNK, "{} terms: {budget}", sharded.terms());
        let model = sharded.terms() * (4 * features + 8 + 16);
        assert!(most.max(sharded.bytes()) * 10 <= model, "{} of {model} bytes are here: {budget}", sharded.bytes());
    }
}
