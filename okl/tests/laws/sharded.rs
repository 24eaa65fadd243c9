//! A learner whose settled terms live elsewhere has the bits of the learner on one machine: scores, predictions and model file.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::elsewhere::{ROWS, Stream, stream};
use crate::support::plain::plain;
use okl::basis::Points;
use okl::place::CHUNK;
use okl::sharded::{Keeper, Shard, ShardedLearner};
use okl::{Batch, Label, Learner};

/// Chunks in memory, divided between two shards. Requests are computed when they are waited for, with the chunks at their start: a shard
/// that has got more since then would show in the sums.
struct Twin {
    rows: usize,
    /// The number of calls after which it fails.
    fails_after: usize,
    calls: Arc<AtomicUsize>,
    config: String,
    shards: [Option<Shard>; 2],
    chunks: BTreeMap<usize, Vec<u8>>,
    rewrites: Vec<Vec<u8>>,
    totals: VecDeque<Vec<f64>>,
}

impl Twin {
    fn new(rows: usize) -> Self {
        Twin {
            rows,
            fails_after: usize::MAX,
            calls: Arc::default(),
            config: String::new(),
            shards: [None, None],
            chunks: BTreeMap::new(),
            rewrites: Vec::new(),
            totals: VecDeque::new(),
        }
    }

    fn count(&self) -> Result<(), String> {
        match self.calls.fetch_add(1, Ordering::Relaxed) >= self.fails_after {
            true => Err("the shard has burned down".into()),
            false => Ok(()),
        }
    }

    /// A shard begins anew, as after a crash: it gets the changes, then its chunks.
    fn restart(&mut self, which: usize) {
        let mut shard = Shard::new(&self.config).unwrap();
        self.rewrites.iter().enumerate().for_each(|(i, rewrite)| shard.rewrite(i, rewrite).unwrap());
        let mine = self.chunks.iter().filter(|(i, _)| *i % 2 == which);
        mine.for_each(|(i, chunk)| shard.keep(*i, chunk).unwrap());
        self.shards[which] = Some(shard);
    }
}

impl Keeper for Twin {
    fn rows(&self) -> usize {
        self.rows
    }

    fn begin(&mut self, config: &str) -> Result<(), String> {
        self.count()?;
        self.config = config.into();
        self.shards = [Some(Shard::new(config)?), Some(Shard::new(config)?)];
        Ok(())
    }

    fn keep(&mut self, index: usize, chunk: Vec<u8>) -> Result<(), String> {
        self.count()?;
        assert!(self.chunks.last_key_value().is_none_or(|(last, _)| index == last + 1));
        self.shards[index % 2].as_mut().unwrap().keep(index, &chunk)?;
        self.chunks.insert(index, chunk);
        Ok(())
    }

    fn rewrite(&mut self, number: usize, rewrite: Vec<u8>) -> Result<(), String> {
        self.count()?;
        assert_eq!(number, self.rewrites.len());
        self.shards.iter_mut().flatten().try_for_each(|shard| shard.rewrite(number, &rewrite))?;
        self.rewrites.push(rewrite);
        Ok(())
    }

    fn start(&mut self, rows: Points<'_>) -> Result<(), String> {
        self.count()?;
        assert!(rows.rows.len() <= self.rows.max(1024) && self.totals.len() < 3);
        let requests = self.calls.load(Ordering::Relaxed);
        self.restart(requests % 2);
        let numbers: Vec<f32> = (0..rows.rows.len()).flat_map(|i| rows.rows.row(i)).copied().collect();
        let [a, b] = self.shards.each_mut().map(|shard| shard.as_mut().unwrap().totals(&numbers, rows.rows.dim()));
        let size = (a.len() + b.len()) / self.chunks.len();
        let mut totals = [a.chunks_exact(size), b.chunks_exact(size)];
        self.totals.push_back(self.chunks.keys().flat_map(|chunk| totals[chunk % 2].next().unwrap()).copied().collect());
        Ok(())
    }

    fn finish(&mut self) -> Result<Vec<f64>, String> {
        self.count()?;
        self.totals.pop_front().ok_or("nothing is under way".into())
    }

    fn fetch(&mut self, index: usize) -> Result<Vec<u8>, String> {
        self.count()?;
        Ok(self.chunks[&index].clone())
    }

    fn forget(&mut self, first: usize) -> Result<(), String> {
        self.count()?;
        self.shards.iter_mut().flatten().for_each(|shard| shard.forget(first));
        self.chunks.retain(|index, _| *index >= first);
        Ok(())
    }
}

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

/// A window of three chunks is overwritten almost twice. Not every row is written, coefficients are renormalised, a class comes late.
const WINDOWS: [&str; 4] = [
    "loss = 'squared'\nkernel = 'gaussian:0.7'\nstep = 'constant:0.3'\nlambda = 0.001",
    "loss = 'epsilon:0.05'\nkernel = 'matern32:0.7'\nstep = 'constant:0.3'\nlambda = 0.2\noffset = true",
    "loss = 'squared'\nkernel = 'gaussian:0.7'\nstep = 'constant:0.3'\nlambda = 0.001\naverage = 'exponential:0.05'",
    "loss = 'softmax'\nkernel = 'gaussian:0.7'\nstep = 'constant:0.3'\nlambda = 0.001\naverage = 'uniform'",
];

#[test]
fn shards_of_a_window_change_no_bit() {
    let stream = stream();
    for (settings, continued) in WINDOWS.iter().flat_map(|settings| [(settings, 0), (settings, 3 * CHUNK + 1500)]) {
        let config = plain(&format!("{settings}\nbudget = 'window:{}'", 3 * CHUNK)).unwrap();
        let labels = labels(settings, &stream);
        let mut alone = Learner::new(config.clone()).unwrap();
        let mut at = 0;
        let mut next = |rows: usize| {
            let from = at;
            at = (from + rows).min(ROWS);
            let cut = batch(settings, &stream, &labels, from..at);
            at %= ROWS;
            cut
        };
        while alone.examples() < continued as u64 {
            alone.learn(&next(500)).unwrap();
        }
        let mut sharded = ShardedLearner::new(alone.clone(), Box::new(Twin::new(200))).unwrap();
        for rows in [1, 700, 5, 900, 1024, 333].into_iter().cycle().take(14) {
            let batch = next(rows);
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            alone.learn_with(&batch, |_, step| ours.push((bits(step.scores), step.slot))).unwrap();
            let mut checked = sharded.check(&batch).unwrap();
            while sharded.learn_next(&mut checked, |_, step| theirs.push((bits(step.scores), step.slot))).unwrap() {}
            assert!(ours == theirs, "scores and slots of {rows} rows: {settings}");
            assert_eq!(sharded.terms(), alone.terms());
            let asked = Batch::new(&stream.x[..300], 3);
            let (ours, theirs) = (alone.predict(&asked).unwrap(), sharded.predict(&asked).unwrap());
            assert!(bits(&ours.values) == bits(&theirs.values), "predictions: {settings}");
            assert!(file(&sharded) == alone.to_bytes(), "model file: {settings}");
        }
        assert!(sharded.sent() >= CHUNK && sharded.terms() == 3 * CHUNK, "{} terms were sent: {settings}", sharded.sent());
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

/// 40 chunks of 64 features: the learner holds the last chunks only.
#[test]
fn the_learner_holds_a_tenth_of_the_model() {
    let (rows, features) = (40 * CHUNK, 64);
    let x: Vec<f32> = (0..rows * features).map(|i| (i % 977) as f32 * 0.01).collect();
    let y: Vec<f64> = (0..rows).map(|i| (1 + i % 7) as f64).collect();
    let settings = "loss = 'squared'\nkernel = 'gaussian:0.1'\nstep = 'constant:0.3'\nlambda = 0.001\nbudget = 'unlimited'";
    let empty = Learner::new(plain(settings).unwrap()).unwrap();
    let mut sharded = ShardedLearner::new(empty, Box::new(Sums::new(512, 0))).unwrap();
    let mut most = 0;
    let batch = Batch::new(&x, features).numbers(&y);
    let mut checked = sharded.check(&batch).unwrap();
    while sharded.learn_next(&mut checked, |_, _| {}).unwrap() {
        most = most.max(sharded.bytes());
    }
    assert_eq!(sharded.terms(), rows);
    assert!(sharded.terms() - sharded.sent() <= 3 * CHUNK, "{} of {rows} terms are here", rows - sharded.sent());
    let model = rows * (4 * features + 8 + 16);
    assert!(most.max(sharded.bytes()) * 10 <= model, "{} of {model} bytes are here", sharded.bytes());
}

/// A keeper whose totals are 0, for rows of this number at most.
struct Sums {
    rows: usize,
    /// The number of totals that are missing.
    missing: usize,
    chunks: usize,
    /// The number of totals of each request.
    asked: VecDeque<usize>,
}

impl Sums {
    fn new(rows: usize, missing: usize) -> Self {
        Sums { rows, missing, chunks: 0, asked: VecDeque::new() }
    }
}

impl Keeper for Sums {
    fn rows(&self) -> usize {
        self.rows
    }
    fn begin(&mut self, _config: &str) -> Result<(), String> {
        Ok(())
    }
    fn keep(&mut self, index: usize, _chunk: Vec<u8>) -> Result<(), String> {
        self.chunks = index + 1;
        Ok(())
    }
    fn rewrite(&mut self, _number: usize, _rewrite: Vec<u8>) -> Result<(), String> {
        Ok(())
    }
    fn start(&mut self, rows: Points<'_>) -> Result<(), String> {
        self.asked.push_back(self.chunks * rows.rows.len());
        Ok(())
    }
    fn finish(&mut self) -> Result<Vec<f64>, String> {
        Ok(vec![0.0; self.asked.pop_front().unwrap() - self.missing])
    }
    fn fetch(&mut self, _index: usize) -> Result<Vec<u8>, String> {
        Err("nothing is kept".into())
    }
    fn forget(&mut self, _first: usize) -> Result<(), String> {
        Ok(())
    }
}

/// No call returns a score or a file after the keeper has failed.
#[test]
fn after_a_failure_nothing_is_learned_or_saved() {
    let stream = stream();
    let batch = Batch::new(&stream.x, 3).numbers(&stream.y);
    for fails_after in [0, 1, 2, 3, 10, 25] {
        let twin = Twin { fails_after, ..Twin::new(100) };
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
    assert_eq!(shard.state(), (0, 0, 0));
}

#[test]
fn settings_that_cannot_be_sharded_are_refused() {
    let refused = |settings: &str| {
        let learner = Learner::new(plain(settings).unwrap()).unwrap();
        ShardedLearner::new(learner, Box::new(Twin::new(100))).unwrap_err().to_string()
    };
    for (change, reason) in [
        (
            "budget = 'window:4000'",
            "budget: the window of a sharded learner is a multiple of 1024 terms, from 3072 on; found 4000",
        ),
        (
            "budget = 'window:2048'",
            "budget: the window of a sharded learner is a multiple of 1024 terms, from 3072 on; found 2048",
        ),
        ("budget = 'age:2000'", "budget: only unlimited and window leave all terms but the oldest where they are; found age"),
        ("budget = 'merge:2000'", "budget: only unlimited and window"),
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
