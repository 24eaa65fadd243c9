//! Bytes as model files, configurations and batches.
//!
//! `okl/tests/fuzz_regressions.rs` includes this file and runs it over the corpus, so it uses nothing but what okl's tests have.

use okl::config::{OperatorRule, Scale};
use okl::loss::{Loss, Reads};
use okl::{Batch, Config, ErrorKind, Label, Learner, Targets};
use safetensors::tensor::SafeTensors;

/// Bytes as a model file: read, or refused with an error of model files. What was read learns on and is saved and read again.
/// Then the same with the checksum put right, so that what lies behind it is reached.
pub fn snapshot(data: &[u8]) {
    open(data);
    if let Some(sealed) = reseal(data) {
        open(&sealed);
    }
}

fn open(bytes: &[u8]) {
    match Learner::from_bytes(bytes) {
        Ok(mut learner) => {
            reopen(&learner);
            try_rows(&mut learner);
            reopen(&learner);
        }
        Err(error) => assert!(matches!(error.kind(), ErrorKind::Snapshot(_)), "{error:?}"),
    }
}

/// What was saved is read, and saved again as the same bytes.
fn reopen(learner: &Learner) {
    let bytes = learner.to_bytes();
    let again = Learner::from_bytes(&bytes).unwrap_or_else(|e| panic!("saved and not read: {e}\n{}", learner.config().to_json()));
    assert!(again.to_bytes() == bytes, "read and saved otherwise: {}", learner.config().to_json());
}

/// The same file with the checksum it should have; none for what is no file.
fn reseal(data: &[u8]) -> Option<Vec<u8>> {
    let (header, metadata) = SafeTensors::read_metadata(data).ok()?;
    let Some(info) = metadata.info("checksum") else { return reseal_as_before(data, metadata.metadata().as_ref()?.get("okl")?) };
    let (first, last) = (8 + header + info.data_offsets.0, 8 + header + info.data_offsets.1);
    let mut bytes = data.to_vec();
    bytes.get_mut(first..last)?.fill(0);
    let hash = xxhash_rust::xxh3::xxh3_64(&bytes).to_le_bytes();
    (last - first == hash.len()).then(|| bytes[first..last].copy_from_slice(&hash))?;
    Some(bytes)
}

/// Up to format 3 the checksum is in the text.
fn reseal_as_before(data: &[u8], text: &str) -> Option<Vec<u8>> {
    let (before, rest) = text.split_once("\"checksum\":\"")?;
    let (_, after) = rest.split_once('"')?;
    let sealed = |checksum: &str| format!("{before}\"checksum\":\"{checksum}\"{after}");
    let empty = sealed("");
    let mut tensors = SafeTensors::deserialize(data).ok()?.tensors();
    tensors.sort_by(|a, b| a.0.cmp(&b.0));
    let mut parts = vec![empty.as_bytes()];
    tensors.iter().for_each(|(name, view)| parts.extend([name.as_bytes(), view.data()]));
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = parts.iter().fold(0xcbf2_9ce4_8422_2325, |hash, part| part.iter().fold(mix(hash, &(part.len() as u8)), mix));
    safetensors::serialize(tensors, Some([("okl".to_string(), sealed(&format!("{hash:016x}")))].into())).ok()
}

/// A few rows with targets of the kind the loss reads; a learner may refuse them, but not fall over.
fn try_rows(learner: &mut Learner) {
    let features = if learner.features() > 0 { learner.features() } else { 2 };
    let width = if learner.config().loss.reads() == Reads::Vector { outputs(learner) } else { 1 };
    // What is too large to be tried in a moment.
    if features > 256 || width > 64 || learner.terms() > 4096 {
        return;
    }
    let x: Vec<f32> = (0..8 * features).map(|i| (i * 37 % 19) as f32 / 9.0 - 1.0).collect();
    let numbers: Vec<f64> = (0..8 * width).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
    let named = |i: usize| learner.classes().get(i % 3).cloned().unwrap_or(Label::Int(i as i64 % 3));
    let labels: Vec<Label> = (0..8).map(named).collect();
    let batch = match learner.config().loss.reads() {
        Reads::Class => Batch::new(&x, features).labels(&labels),
        _ => Batch::new(&x, features).numbers(&numbers),
    };
    for _ in 0..3 {
        if let Ok(scores) = learner.learn(&batch) {
            assert_eq!(scores.values.len(), 8 * scores.outputs);
        }
    }
    learner.predict(&Batch::new(&x, features)).expect("rows that were learned can be predicted");
}

fn outputs(learner: &Learner) -> usize {
    match &learner.config().operator {
        None => learner.outputs().max(1),
        Some(OperatorRule::Matrix(j)) => j.len().isqrt(),
        Some(OperatorRule::Sum(parts)) => parts[0].operator.len().isqrt(),
    }
}

/// Bytes as text of a configuration: read or refused by name; what is accepted is built, learns, is written and read again.
pub fn config(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for read in [Config::from_json, Config::from_toml] {
        match read(text) {
            Ok(config) => accept(config),
            Err(error) => assert!(matches!(error.kind(), ErrorKind::Config { .. }), "{error:?}"),
        }
    }
}

fn accept(config: Config) {
    if let Err(error) = config.check() {
        assert!(matches!(error.kind(), ErrorKind::Config { .. }), "{error:?}");
        assert!(Learner::new(config).is_err());
        return;
    }
    assert_eq!(Config::from_json(&config.to_json()).expect("canonical text is read"), config);
    let fixed = matches!(config.scale, Scale::Fixed { .. });
    let mut learner = Learner::new(config).expect("what is accepted is built");
    assert_eq!(fixed, learner.features() > 0);
    try_rows(&mut learner);
    reopen(&learner);
}

/// Bytes read from the front; zeros when there are no more.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn number(&mut self) -> f64 {
        const SPECIAL: [f64; 16] = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            1e15,
            1e16,
            -1e15,
            1e-40,
            1e300,
            5e-324,
            1e38,
            2.0,
        ];
        match self.next() {
            code @ 0..=15 => SPECIAL[usize::from(code)],
            16 => f64::from_bits(u64::from_le_bytes([0; 8].map(|_| self.next()))),
            code => (f64::from(code) - 128.0) / 32.0,
        }
    }

    /// Mostly `len`, sometimes one more or one less.
    fn about(&mut self, len: usize) -> usize {
        match self.next() {
            250.. => len.saturating_sub(1),
            245.. => len + 1,
            _ => len,
        }
    }
}

/// One learner of each kind, all with a past.
const LEARNERS: [&str; 11] = [
    "loss = 'hinge'\nkernel = 'gaussian:0.5'\nbudget = 'merge:3'\noffset = true\nshrink = 'on_update'",
    "loss = 'softmax'\nkernel = 'linear'\nbudget = 'transfer:3'\nstep = 'smd:eta=0.2'",
    "loss = 'max_margin'\nclasses = [0, 1, 2]\nbudget = 'age:4'\nscale = 'standard'\nwarmup = 6",
    "loss = 'squared'\nkernel = 'polynomial:degree=2'\nbudget = 'window:3'\nstep = 'constant:0.1'",
    "loss = 'nu_huber'\noperator = [1.0, 0.5, 0.5, 1.0]\nbudget = 'certified:0.1'\nwarmup = 3",
    "loss = 'nu_novelty:0.3'\nthreshold = 'tracker'\nwarmup = 3\nkernel = 'matern32:1'",
    "loss = 'density:0.3'\nwarmup = 3",
    "loss = 'quantile:0.3'\nimplicit = true\nkernel = 'exponential:1'\nbudget = 'weight:0.1'",
    "loss = 'perceptron'\nbudget = 'forgetron:3'\nlambda = 0\nstep = 'constant:1'\nkernel = 'exponential:0.5'",
    "loss = 'epsilon'\noperator = [{ kernel = 'linear', operator = [1.0] }, { kernel = 'gaussian', operator = [2.0] }]\nwarmup = 5\naverage = 'uniform'",
    "loss = 'logistic'\nkernel = 'rational_quadratic'\nbudget = 'olok:0.3'\nregulariser = 'norm'",
];

/// Bytes as batches of any shape against a learner: never a panic; an error changes nothing; what is learned can be saved.
pub fn batch(data: &[u8]) {
    let mut bytes = Bytes(data);
    let settings = LEARNERS[usize::from(bytes.next()) % LEARNERS.len()];
    let mut learner = Learner::new(Config::from_toml(settings).expect("readable")).expect("accepted");
    while !bytes.0.is_empty() {
        let features = if bytes.next() < 230 { 2 } else { usize::from(bytes.next() % 4) };
        let rows = usize::from(bytes.next() % 6);
        let x: Vec<f32> = (0..bytes.about(rows * features)).map(|_| bytes.number() as f32).collect();
        let width = [1, 1, 2, 0][usize::from(bytes.next() % 4)];
        let numbers: Vec<f64> = (0..bytes.about(rows * width)).map(|_| bytes.number()).collect();
        let label = |b: u8| if b < 200 { Label::Int(i64::from(b % 3)) } else { Label::Text("other".into()) };
        let labels: Vec<Label> = (0..bytes.about(rows)).map(|_| label(bytes.next())).collect();
        let known: Vec<bool> = (0..bytes.about(rows)).map(|_| bytes.next() < 200).collect();
        let weights: Vec<f64> = (0..bytes.about(rows)).map(|_| bytes.number()).collect();
        let ids: Vec<u64> =
            (0..bytes.about(rows)).map(|_| if bytes.next() == 255 { u64::MAX } else { (bytes.next() % 8).into() }).collect();
        let flags = bytes.next();
        let targets = [Targets::None, Targets::Numbers(&numbers), Targets::Labels(&labels), Targets::Numbers(&numbers)]
            [usize::from(flags % 4)];
        let mut batch = Batch::new(&x, features).targets(targets);
        batch = if flags & 16 > 0 { batch.known(&known) } else { batch };
        batch = if flags & 32 > 0 { batch.weights(&weights) } else { batch };
        batch = if flags & 64 > 0 { batch.ids(&ids) } else { batch };
        submit(&mut learner, &batch);
        if flags & 128 > 0 && learner.features() > 0 && learner.features() < 6 {
            learner.widen(learner.features() + 1).expect("more features");
        }
    }
    reopen(&learner);
}

fn submit(learner: &mut Learner, batch: &Batch<'_>) {
    let before = learner.to_bytes();
    match learner.learn(batch) {
        Ok(scores) => assert_eq!(scores.values.len(), batch.rows() * scores.outputs),
        Err(error) => {
            assert!(!matches!(error.kind(), ErrorKind::Config { .. } | ErrorKind::Snapshot(_)), "{error:?}");
            assert!(learner.to_bytes() == before, "refused and changed: {error}");
        }
    }
}
