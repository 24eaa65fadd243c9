//! A learner whose settled terms live elsewhere has the bits of the learner on one machine: scores, predictions and model file.

mod budgets;
mod keepers;

use crate::elsewhere::{ROWS, Stream, stream};
use crate::support::plain::plain;
use keepers::{Sums, Twin};
use okl::place::CHUNK;
use okl::sharded::{Keeper, ShardedLearner};
use okl::{Batch, Label, Learner};

const PLAIN: &str = "loss = 'squared'\nkernel = 'gaussian:0.7'\nstep = 'constant:0.3'\nlambda = 0.001\nbudget = 'unlimited'";

/// Terms of rows that are only predicted do not exist; classes come late, the scale of f is renormalised, averages are multiplied out.
const SETTINGS: [&str; 7] = [
    PLAIN,
    "loss = 'softmax'\nkernel = 'matern32:0.7'\nstep = 'constant:0.3'\nlambda = 0.001\nbudget = 'unlimited'\naverage = 'uniform'",
    "loss = 'logistic'\nkernel = 'exponential:0.7'\nstep = 'constant:0.3'\nlambda = 0.001\nbudget = 'unlimited'",
    "loss = 'squared'\nkernel = 'gaussian:0.7'\nstep = 'constant:0.3'\nlambda = 0.2\nbudget = 'unlimited'\noffset = true",
    "loss = 'squared'\nkernel = 'gaussian:0.7'\nstep = 'constant:0.3'\nlambda = 0.001\nbudget = 'unlimited'\naverage = 'exponential:0.05'",
    "loss = 'squared'\nkernel = 'gaussian:0.7'\nscale = 'standard'\nstep = 'inverse_sqrt:0.3'\nlambda = 0.001\nbudget = 'unlimited'",
    "loss = 'nu_novelty:0.5'\nkernel = 'rational_quadratic:gamma=0.5,alpha=1'\nstep = 'constant:0.3'\nlambda = 0.001\nbudget = 'unlimited'",
];

/// Two classes for a loss with one score: the second one sorts last and comes when chunks have been sent.
fn labels(settings: &str, stream: &Stream) -> Option<Vec<Label>> {
    let late = |i: usize| if i > 1500 && i.is_multiple_of(3) { "z" } else { "a" };
    match settings {
        s if s.contains("softmax") => Some(stream.labels.clone()),
        s if s.contains("logistic") => Some((0..ROWS).map(|i| Label::from(late(i))).collect()),
        _ => None,
    }
}

fn batch<'a>(settings: &str, stream: &'a Stream, labels: &'a Option<Vec<Label>>, rows: std::ops::Range<usize>) -> Batch<'a> {
    let batch = Batch::new(&stream.x[3 * rows.start..3 * rows.end], 3);
    match labels {
        Some(labels) => batch.labels(&labels[rows]),
        None if settings.contains("novelty") => batch,
        None => batch.numbers(&stream.y[rows]),
    }
}

fn bits(scores: &[f64]) -> Vec<u64> {
    scores.iter().map(|z| z.to_bits()).collect()
}

fn file(learner: &ShardedLearner) -> Vec<u8> {
    let mut bytes = Vec::new();
    learner.write_to(&mut bytes).unwrap();
    bytes
}

#[test]
fn shards_change_no_bit() {
    let stream = stream();
    for settings in SETTINGS {
        let labels = labels(settings, &stream);
        for (rows, cut) in [(100, ROWS), (300, 611)] {
            let config = plain(settings).unwrap();
            let mut alone = Learner::new(config.clone()).unwrap();
            let mut sharded = ShardedLearner::new(Learner::new(config).unwrap(), Box::new(Twin::new(rows))).unwrap();
            for from in (0..ROWS).step_by(cut) {
                let batch = batch(settings, &stream, &labels, from..ROWS.min(from + cut));
                let (ours, theirs) = (alone.learn(&batch).unwrap(), sharded.learn(&batch).unwrap());
                assert!(
                    bits(&ours.values) == bits(&theirs.values),
                    "scores, requests of {rows} rows, calls of {cut}: {settings}"
                );
                assert_eq!(sharded.terms(), alone.terms());
            }
            assert!(sharded.sent() >= CHUNK, "{} terms were sent: {settings}", sharded.sent());
            let asked = Batch::new(&stream.x, 3);
            let (ours, theirs) = (alone.predict(&asked).unwrap(), sharded.predict(&asked).unwrap());
            assert!(bits(&ours.values) == bits(&theirs.values), "predictions: {settings}");
            assert!(file(&sharded) == alone.to_bytes(), "model file: {settings}");
        }
    }
}

/// Chunks that were sent have fewer features than rows have later.
#[test]
fn new_features_and_a_learner_that_has_learned_before_change_no_bit() {
    let stream = stream();
    let (first, second) = (Batch::new(&stream.x[..3 * 1300], 3), Batch::new(&stream.x[..3 * 1300], 5));
    let (first, second) = (first.numbers(&stream.y[..1300]), second.numbers(&stream.y[..780]));
    let mut alone = Learner::new(plain(PLAIN).unwrap()).unwrap();
    alone.learn(&first).unwrap();
    let mut sharded = ShardedLearner::new(alone.clone(), Box::new(Twin::new(64))).unwrap();
    assert_eq!(sharded.sent(), 0);
    for _ in 0..2 {
        assert_eq!(alone.learn(&first).unwrap(), sharded.learn(&first).unwrap());
    }
    assert_eq!(sharded.sent(), 3 * CHUNK);
    alone.widen(5).unwrap();
    sharded.widen(5).unwrap();
    assert_eq!(alone.learn(&second).unwrap(), sharded.learn(&second).unwrap());
    assert!(file(&sharded) == alone.to_bytes());
}

/// No call returns a score or a file after the keeper has failed.
#[test]
fn after_a_failure_nothing_is_learned_or_saved() {
    let stream = stream();
    let batch = Batch::new(&stream.x, 3).numbers(&stream.y);
    for fails_after in [0, 1, 2, 3, 10, 25] {
        let mut twin = Twin::new(100);
        twin.fails_after = fails_after;
        let mut sharded = ShardedLearner::new(Learner::new(plain(PLAIN).unwrap()).unwrap(), Box::new(twin)).unwrap();
        let text = sharded.learn(&batch).unwrap_err().to_string();
        assert!(text.starts_with("the shard has burned down; this learner cannot be used any more"), "{text}");
        assert!(sharded.learn(&batch).is_err() && sharded.predict(&batch).is_err());
        assert!(sharded.write_to(&mut Vec::new()).is_err());
    }
    let short = Box::new(Sums::new(100, 1));
    let mut sharded = ShardedLearner::new(Learner::new(plain(PLAIN).unwrap()).unwrap(), short).unwrap();
    let text = sharded.learn(&batch).unwrap_err().to_string();
    assert!(text.starts_with("the shards returned 99 sums, expected 100"), "{text}");
}

#[test]
fn damaged_chunks_and_gaps_are_refused() {
    let mut twin = Twin::new(100);
    let config = plain(PLAIN).unwrap();
    twin.begin(&config.to_json()).unwrap();
    let shard = twin.shards[0].as_mut().unwrap();
    assert!(shard.keep(0, &[]).unwrap_err().contains("damaged"));
    assert!(shard.keep(0, &[7; 5000]).unwrap_err().contains("damaged"));
    assert!(shard.rewrite(1, &[0; 48]).unwrap_err().contains("missing"));
    assert!(shard.rewrite(0, &[9; 48]).unwrap_err().contains("unknown"));
    assert!(shard.totals(&[1.0], 1, &[0]).unwrap_err().contains("chunk 0 is not in this shard"));
    assert_eq!((shard.chunks(), shard.rewrites()), (0, 0));
}

#[test]
fn settings_that_cannot_be_sharded_are_refused() {
    let refused = |settings: &str| {
        let learner = Learner::new(plain(settings).unwrap()).unwrap();
        ShardedLearner::new(learner, Box::new(Twin::new(100))).unwrap_err().to_string()
    };
    for (change, reason) in [
        (
            "budget = 'merge:2000'",
            "budget: only unlimited, window, age and olok leave most terms as they are; found merge, so its terms cannot be sharded",
        ),
        ("budget = 'weight:0.01'", "budget: only unlimited, window, age and olok"),
        ("budget = 'auto'", "budget: only unlimited"),
        ("kernel = 'linear'", "form: f is a weight vector"),
        ("kernel = ['gaussian:1', 'matern32:1']", "config: these settings make an ensemble"),
        ("step = 'smd'", "config: smd multiplies all coefficients"),
        ("allow_overshoot = true", "allow_overshoot: it can set all terms to zero"),
        ("regulariser = 'norm'", "regulariser: it can set all terms to zero"),
    ] {
        let key = change.split(' ').next().unwrap();
        let budget = if key == "kernel" && change.contains("linear") { "budget" } else { key };
        let kept = PLAIN.lines().filter(|line| !line.starts_with(key) && !line.starts_with(budget));
        let kept: Vec<&str> = kept.filter(|line| !change.contains("kernel") || !line.starts_with("kernel")).collect();
        let text = refused(&format!("{}\n{change}", kept.join("\n")));
        assert!(text.starts_with(reason), "{change}: {text}");
    }
    let mut sharded = ShardedLearner::new(Learner::new(plain(PLAIN).unwrap()).unwrap(), Box::new(Twin::new(100))).unwrap();
    let text = sharded.learn(&Batch::new(&[1.0], 1).numbers(&[1.0]).ids(&[3])).unwrap_err().to_string();
    assert!(text.starts_with("ids: a sharded learner takes no ids"), "{text}");
    let text = sharded.learn(&Batch::sparse(&[0, 1], &[0], &[1.0], 3).numbers(&[1.0])).unwrap_err().to_string();
    assert!(text.starts_with("X: a sharded learner takes dense rows only"), "{text}");
    assert_eq!(sharded.examples(), 0);
}
