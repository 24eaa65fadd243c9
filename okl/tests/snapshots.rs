//! Law 7: model files load, resume to the same bits, and survive neither damage nor malice.
//!
//! `tests/golden/*.okl` are files of formats 1, 3 and 4, each beside the scores (bits in hexadecimal) to which it resumes;
//! those of formats 1 and 3 have no number in their names. Those of the present format are written by
//! `OKL_BLESS=1 cargo test --test snapshots golden` where they do not exist: a change that needs a blessing breaks the
//! models people have.

mod cases;

mod plain;

use std::collections::BTreeMap;
use std::path::PathBuf;

use cases::Random;
use okl::loss::AnyLoss;
use okl::snapshot::FORMAT;
use okl::{Batch, Config, ErrorKind, Label, Learner, Workspace};
use plain::plain;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};

/// A stream that will never change: rows, signs, names, weights and ids by count.
struct Fixed {
    random: Random,
    count: u64,
}

impl Fixed {
    fn new() -> Self {
        Fixed { random: Random(2026), count: 0 }
    }

    /// Learns the next rows; returns the bits of their scores, a line each.
    fn learn(&mut self, learner: &mut Learner, rows: usize) -> String {
        let mut lines = String::new();
        for _ in 0..rows {
            self.count += 1;
            let x = [0; 3].map(|_| (self.random.unit() * 2.0 - 1.0) as f32);
            let class = usize::from(x[0] > 0.0) + usize::from(x[1] > 0.3 && self.count > 3);
            let (names, weights, ids) =
                ([Label::from(["left", "right", "top"][class])], [0.5 + self.random.unit()], [self.count * 3]);
            let y = [if x[0] * x[1] > 0.0 { 1.0 } else { -1.0 }];
            let batch = Batch::new(&x, 3).weights(&weights).ids(&ids);
            let sides = [Label::from(if y[0] > 0.0 { "a" } else { "z" })];
            let scores = learner.learn(&match learner.config().loss {
                AnyLoss::Softmax {} => batch.labels(&names),
                AnyLoss::Logistic {} => batch.labels(&sides),
                _ => batch.numbers(&y),
            });
            let scores = scores.unwrap();
            let bits: Vec<String> = scores.values.iter().map(|z| format!("{:016x}", z.to_bits())).collect();
            lines += &(bits.join(" ") + "\n");
        }
        lines
    }
}

/// (name, settings, rows learned before the save)
const GOLDEN: [(&str, &str, usize); 6] = [
    (
        "binary",
        "loss = 'hinge'\nkernel = 'gaussian:0.5'\nstep = 'inverse_sqrt:0.5'\nlambda = 0.01\nbudget = 'window:8'\noffset = true",
        40,
    ),
    (
        "warming",
        "loss = 'softmax'\nkernel = 'gaussian'\nscale = 'standard'\nstep = 'smd:eta=0.3'\nwarmup = 32\nbudget = 'merge:12'",
        20,
    ),
    (
        "tracker",
        "loss = 'nu_novelty:0.1'\nkernel = 'matern52:0.7'\nthreshold = 'tracker:0.05'\naverage = 'exponential:0.05'\nwarmup = 10\nbudget = 'age:25'",
        60,
    ),
    (
        "bank",
        "loss = 'hinge'\nkernel = 'gaussian:auto'\nstep = 'auto'\nlambda = 'auto'\nscale = 'auto'\nwarmup = 16\nbudget = 'merge:12'\noffset = true",
        60,
    ),
    ("following", "loss = 'nu_novelty:0.2'\nkernel = 'gaussian:0.7'\nthreshold = 'tracker'\nwarmup = 10\nbudget = 'age:25'", 60),
    ("signs", "loss = 'logistic'\nkernel = 'gaussian:0.7'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:8'", 30),
];

fn trained(which: usize) -> (Learner, Fixed) {
    let (_, settings, rows) = GOLDEN[which];
    let (mut learner, mut stream) = (Learner::new(plain(settings).unwrap()).unwrap(), Fixed::new());
    stream.learn(&mut learner, rows);
    learner.set_position(format!("row {rows}"));
    (learner, stream)
}

/// The golden files: which of the list, the path without an ending, and whether this version writes it.
fn golden_files() -> impl Iterator<Item = (usize, PathBuf, bool)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let versions = move |which: usize| {
        let name = GOLDEN[which].0;
        [(name.to_string(), false), (format!("{name}-4"), FORMAT == 4)].map(|(name, current)| (which, folder.join(name), current))
    };
    // Classes under a sign have a golden file since format 4, which stores the positive one.
    (0..GOLDEN.len()).flat_map(versions).filter(|(_, path, _)| !path.ends_with("signs"))
}

#[test]
fn golden_files_resume_to_the_same_bits() {
    let bless = std::env::var_os("OKL_BLESS").is_some_and(|v| v == "1");
    for (which, path, current) in golden_files() {
        let (model, first, rows) = (path.with_extension("okl"), path.with_extension("scores"), GOLDEN[which].2);
        // Where a mend has changed further learning (CHANGELOG.md), its scores stand beside those of the version that wrote the file.
        let mended = path.with_extension("2.scores");
        let scores = if mended.exists() { mended } else { first.clone() };
        if bless && current && !model.exists() {
            let (mut learner, mut stream) = trained(which);
            std::fs::write(&model, learner.to_bytes()).unwrap();
            std::fs::write(&scores, stream.learn(&mut learner, 40)).unwrap();
        }
        let bytes = std::fs::read(&model).unwrap();
        let mut learner = Learner::from_bytes(&bytes).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        let again = learner.to_bytes();
        // A version that has more to save writes more names.
        assert!(text_of(&again) != text_of(&bytes) || again == bytes, "{path:?} is written otherwise than it was");
        assert!(Learner::from_bytes(&again).unwrap().to_bytes() == again, "{path:?}");
        assert_eq!(learner.position(), format!("row {rows}").as_bytes());
        assert_eq!(
            (learner.warming_up(), learner.config().warmup),
            [(false, 256), (true, 32), (false, 10), (false, 16), (false, 10), (false, 256)][which]
        );
        let mut stream = Fixed::new();
        let skipped = Config::from_toml("loss = 'softmax'").unwrap();
        stream.learn(&mut Learner::new(skipped).unwrap(), rows);
        let (first, found) = (std::fs::read_to_string(&first).unwrap(), stream.learn(&mut learner, 40));
        assert_eq!(found.lines().next(), first.lines().next(), "{path:?}: the first score is that of the loaded model");
        assert_eq!(found, std::fs::read_to_string(&scores).unwrap(), "{path:?}");
    }
}

/// A tracker under a linear kernel, written before scores of any sign had a tracker of their own, goes on as it was: the thresholds and
/// scores are those that the version which wrote the file printed for the next 40 rows.
#[test]
fn an_older_tracker_of_a_linear_kernel_goes_on() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/linear-tracker-3");
    let mut learner = Learner::from_bytes(&std::fs::read(path.with_extension("okl")).unwrap()).unwrap();
    let printed = std::fs::read_to_string(path.with_extension("scores")).unwrap();
    for (i, line) in (60..100).zip(printed.lines().skip(1)) {
        learner = Learner::from_bytes(&learner.to_bytes()).unwrap();
        let x = [0, 1, 2].map(|j: i32| ((i * 37 + j * 53 + i * i * 7) % 101 - 50) as f32 / 32.0);
        let (threshold, score) = line.split_once(',').unwrap();
        assert_eq!(learner.threshold(), Some(threshold.parse().unwrap()), "row {i}");
        assert_eq!(learner.learn(&Batch::new(&x, 3)).unwrap().values, [score.parse::<f64>().unwrap()], "row {i}");
    }
}

/// A file from before a setting existed has the checksum of its own bytes, and means what it meant: as if `allow_overshoot`
/// (whose default is what came before it) were new.
#[test]
fn a_new_setting_breaks_no_file() {
    const NEW: &str = ",\"allow_overshoot\":false";
    for (_, path, _) in golden_files() {
        let bytes = std::fs::read(path.with_extension("okl")).unwrap();
        let whole = Learner::from_bytes(&bytes).unwrap();
        let text = text_of(&bytes);
        assert_eq!(text.matches(NEW).count(), 1, "{path:?}");
        let older = sealed(&with_text(&bytes, &text.replace(NEW, "")));
        let loaded = reason(&older).unwrap_or_else(|e| panic!("{path:?}: {e}"));
        assert!(loaded.to_bytes() == whole.to_bytes(), "{path:?}");
        // Without a new checksum the change is damage.
        assert!(reason(&with_text(&bytes, &text.replace(NEW, ""))).unwrap_err().contains("damaged"), "{path:?}");
        for (from, to) in [
            ("\"allow_overshoot\"", "\"not_yet\":1,\"allow_overshoot\""),
            ("\"classes\"", "\"not_yet\":1,\"classes\""),
            ("\"gamma\"", "\"not_yet\":1,\"gamma\""),
        ] {
            let newer = sealed(&with_text(&bytes, &text.replacen(from, to, 1)));
            let found = reason(&newer).expect_err("a file with a field that is not known");
            assert!(found.contains("not_yet"), "{path:?}: {found}");
        }
    }
}

/// Files from before the positive class was stored: the second that appeared is positive, and stays it.
#[test]
fn a_file_without_a_positive_class_keeps_its_order() {
    let (learner, _) = trained(5);
    assert_eq!((learner.classes(), learner.positive()), (&["z".into(), "a".into()][..], Some(0)));
    let text = text_of(&learner.to_bytes());
    let without = sealed(&with_text(&learner.to_bytes(), &text.replace(",\"positive\":0", "")));
    let mut old = Learner::from_bytes(&without).unwrap();
    assert_eq!(old.positive(), Some(1));
    let before = old.predict(&mut Workspace::default(), &[0.1; 3], 3).unwrap().values;
    assert_eq!(before, learner.predict(&mut Workspace::default(), &[0.1; 3], 3).unwrap().values);
    for _ in 0..20 {
        old.learn(&Batch::new(&[0.1; 3], 3).labels(&["a".into()])).unwrap();
    }
    assert!(old.predict(&mut Workspace::default(), &[0.1; 3], 3).unwrap().values[0] > before[0]);
    assert_eq!(Learner::from_bytes(&old.to_bytes()).unwrap().positive(), Some(1));
    refused(&learner, "positive class", |p| p.header.positive = Some(2));
    refused(&trained(0).0, "positive class", |p| p.header.positive = Some(0));
}

#[test]
fn numbers_have_names() {
    let learner = trained(0).0;
    let changed = |change: &dyn Fn(&mut Parts)| {
        let mut parts = Parts::of(&learner);
        change(&mut parts);
        reason(&parts.bytes())
    };
    let rename = |tensor: &'static str, from: &'static str, to: &'static str| {
        changed(&|p| p.header.scalars.get_mut(tensor).unwrap().iter_mut().filter(|n| *n == from).for_each(|n| *n = to.into()))
    };
    for (tensor, name) in [("head.scalars", "eta"), ("budget", "mistakes"), ("counts", "skipped")] {
        assert!(rename(tensor, name, "not_yet").unwrap_err().contains("`not_yet`"));
    }
    assert!(rename("head.scalars", "eta", "theta").unwrap_err().contains("`theta` is there twice"));
    let without = |name: &'static str| {
        changed(&|p| {
            let at = p.place("head.scalars", name);
            p.header.scalars.get_mut("head.scalars").unwrap().remove(at);
            p.at("head.scalars").3.drain(8 * at..8 * at + 8);
            let len = p.len("head.scalars");
            p.resize("head.scalars", len);
        })
    };
    assert!(without("norm2").unwrap_err().contains("`norm2` is missing"));
    // Not known before format 3: absent it is zero, as in a learner without a tracker.
    assert!(without("tracker.level").unwrap().to_bytes() == learner.to_bytes());
    // Without the mass, which rounding is relative to, it is the sum over terms of |alpha| sqrt(k(x, x)).
    let mass = |learner: &Learner| {
        let mut parts = Parts::of(learner);
        let at = parts.place("head.scalars", "mass");
        f64::from_bits(parts.word("head.scalars", at))
    };
    let (kept, found) = (mass(&learner), mass(&without("mass").unwrap()));
    assert!(kept > 0.0 && (kept - found).abs() <= 1e-12 * kept, "{kept}, from the terms {found}");
    // The order does not matter.
    let swapped = changed(&|p| {
        p.header.scalars.get_mut("head.scalars").unwrap().swap(0, 3);
        let (first, fourth) = (p.word("head.scalars", 0), p.word("head.scalars", 3));
        p.put("head.scalars", 0, fourth);
        p.put("head.scalars", 3, first);
    });
    assert!(swapped.unwrap().to_bytes() == learner.to_bytes());
}

#[test]
fn every_kind_of_learner_survives() {
    for case in cases::fixed_cases(400) {
        let mut learner = Learner::new(case.config.clone()).unwrap();
        learner.set_position(vec![0, 255, 7]);
        for part in [0..case.saved_at, case.saved_at..case.stream.rows()] {
            learner.learn(&case.stream.batch(part)).unwrap();
            let bytes = learner.to_bytes();
            let loaded = Learner::from_bytes(&bytes).unwrap_or_else(|e| panic!("{e}: {case:?}"));
            assert!(loaded.to_bytes() == bytes, "{case:?}");
            // The stream has the bytes that the writer of safetensors makes of the same tensors, with the checksum of a whole file.
            assert!(sealed(&with_text(&bytes, &text_of(&bytes))) == bytes, "{case:?}");
            assert_eq!(
                (loaded.position(), loaded.classes(), loaded.config()),
                (&[0, 255, 7][..], learner.classes(), learner.config())
            );
            learner = loaded;
        }
    }
}

fn reason(bytes: &[u8]) -> Result<Learner, String> {
    Learner::from_bytes(bytes).map_err(|error| match error.kind() {
        ErrorKind::Snapshot(reason) => reason.clone(),
        other => panic!("not an error of model files: {other:?}"),
    })
}

#[test]
fn cut_off_files_are_refused() {
    for which in 0..GOLDEN.len() {
        let bytes = trained(which).0.to_bytes();
        for end in 0..bytes.len() {
            assert!(reason(&bytes[..end]).is_err(), "the first {end} of {} bytes", bytes.len());
        }
        assert!(reason(&[&bytes[..], &[0]].concat()).is_err());
    }
}

/// A flipped bit in any byte is found.
#[test]
fn damaged_files_are_refused() {
    for (which, (name, ..)) in GOLDEN.into_iter().enumerate() {
        let bytes = trained(which).0.to_bytes();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            assert!(reason(&damaged).is_err(), "byte {at} of {name}");
        }
    }
}

/// The text of the `okl` entry of a file.
fn text_of(bytes: &[u8]) -> String {
    SafeTensors::read_metadata(bytes).unwrap().1.metadata().as_ref().unwrap()["okl"].clone()
}

/// The same tensors with another text.
fn with_text(bytes: &[u8], text: &str) -> Vec<u8> {
    let mut tensors = SafeTensors::deserialize(bytes).unwrap().tensors();
    tensors.sort_by(|a, b| a.0.cmp(&b.0));
    safetensors::serialize(tensors, Some([("okl".to_string(), text.to_string())].into())).unwrap()
}

/// The same file with the checksum that its bytes have: see the table in snapshot.rs; FNV-1a of text and tensors up to format 3.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    let (header, metadata) = SafeTensors::read_metadata(bytes).unwrap();
    if text_of(bytes).contains("\"checksum\":") {
        return sealed_as_before(bytes);
    }
    // A file without a place for it stays as it is.
    let Some(info) = metadata.info("checksum") else { return bytes.to_vec() };
    let place = 8 + header + info.data_offsets.0..8 + header + info.data_offsets.1;
    let mut bytes = bytes.to_vec();
    bytes[place.clone()].fill(0);
    let hash = xxhash_rust::xxh3::xxh3_64(&bytes);
    bytes[place].copy_from_slice(&hash.to_le_bytes());
    bytes
}

fn sealed_as_before(bytes: &[u8]) -> Vec<u8> {
    let text = text_of(bytes);
    let (before, rest) = text.split_once("\"checksum\":\"").unwrap();
    let (_, after) = rest.split_once('"').unwrap();
    let empty = format!("{before}\"checksum\":\"\"{after}");
    let mut tensors = SafeTensors::deserialize(bytes).unwrap().tensors();
    tensors.sort_by(|a, b| a.0.cmp(&b.0));
    let mut parts = vec![empty.as_bytes()];
    tensors.iter().for_each(|(name, view)| parts.extend([name.as_bytes(), view.data()]));
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let hash = parts.iter().fold(0xcbf2_9ce4_8422_2325, |hash, part| part.iter().fold(mix(hash, &(part.len() as u8)), mix));
    with_text(bytes, &format!("{before}\"checksum\":\"{hash:016x}\"{after}"))
}

/// The header as it is written; see snapshot.rs.
#[derive(Clone, Serialize, Deserialize)]
struct Header {
    format: u32,
    config: Config,
    classes: Vec<Label>,
    #[serde(skip_serializing_if = "Option::is_none")]
    positive: Option<usize>,
    warm_width: usize,
    outputs_known: bool,
    scalars: BTreeMap<String, Vec<String>>,
}

/// A model file taken apart, to be put together again with a checksum that is right.
#[derive(Clone)]
struct Parts {
    header: Header,
    tensors: Vec<(String, Dtype, Vec<usize>, Vec<u8>)>,
}

impl Parts {
    fn of(learner: &Learner) -> Parts {
        let bytes = learner.to_bytes();
        let header = serde_json::from_str(&text_of(&bytes)).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let tensor = |(name, view): (String, TensorView<'_>)| (name, view.dtype(), view.shape().to_vec(), view.data().to_vec());
        let mut tensors: Vec<_> = file.tensors().into_iter().map(tensor).collect();
        tensors.sort_by(|a, b| a.0.cmp(&b.0));
        Parts { header, tensors }
    }

    fn bytes(&self) -> Vec<u8> {
        let text = serde_json::to_string(&self.header).unwrap();
        let views = self.tensors.iter().map(|t| (t.0.as_str(), TensorView::new(t.1, t.2.clone(), &t.3).unwrap()));
        sealed(&safetensors::serialize(views, Some([("okl".to_string(), text)].into())).unwrap())
    }

    /// Where a tensor of single numbers has the number of this name.
    fn place(&self, tensor: &str, name: &str) -> usize {
        self.header.scalars[tensor].iter().position(|n| n == name).unwrap_or_else(|| panic!("no {name}"))
    }

    fn put_named(&mut self, tensor: &str, name: &str, value: f64) {
        self.put_f64(tensor, self.place(tensor, name), value);
    }

    fn at(&mut self, name: &str) -> &mut (String, Dtype, Vec<usize>, Vec<u8>) {
        self.tensors.iter_mut().find(|t| t.0 == name).unwrap_or_else(|| panic!("no {name}"))
    }

    fn len(&mut self, name: &str) -> usize {
        let tensor = self.at(name);
        tensor.3.len() / (tensor.1.bitsize() / 8)
    }

    /// Number `i` of a tensor of eight bytes each.
    fn word(&mut self, name: &str, i: usize) -> u64 {
        u64::from_le_bytes(self.at(name).3[8 * i..8 * i + 8].try_into().unwrap())
    }

    fn put(&mut self, name: &str, i: usize, value: u64) {
        self.at(name).3[8 * i..8 * i + 8].copy_from_slice(&value.to_le_bytes());
    }

    fn put_f64(&mut self, name: &str, i: usize, value: f64) {
        self.put(name, i, value.to_bits());
    }

    /// A tensor cut or filled with zeros to `len` numbers, in one dimension.
    fn resize(&mut self, name: &str, len: usize) {
        let tensor = self.at(name);
        tensor.3.resize(len * tensor.1.bitsize() / 8, 0);
        tensor.2 = vec![len];
    }
}

fn learner(settings: &str) -> Learner {
    Learner::new(plain(settings).unwrap()).unwrap()
}

/// A learner with holes, ids, several classes, an average and an offset.
fn rich() -> Learner {
    let mut learner = learner(
        "loss = 'softmax'\nkernel = 'linear'\nbudget = 'age:12'\naverage = 'uniform'\noffset = true\nstep = 'constant:0.1'",
    );
    Fixed::new().learn(&mut learner, 30);
    for _ in 0..4 {
        learner.learn(&Batch::new(&[0.9; 3], 3).labels(&["right".into()]).ids(&[1000])).unwrap();
    }
    learner
}

/// Takes a file apart, changes it, and expects these words when it is read.
fn refused(learner: &Learner, words: &str, change: impl FnOnce(&mut Parts)) {
    let mut parts = Parts::of(learner);
    assert_eq!(parts.bytes(), learner.to_bytes(), "nothing is lost on the way");
    change(&mut parts);
    match reason(&parts.bytes()) {
        Ok(_) => panic!("accepted; expected {words:?}"),
        Err(reason) => assert!(reason.contains(words), "{reason:?} lacks {words:?}"),
    }
}

#[test]
fn missing_and_mistyped_tensors_are_refused() {
    for which in 0..GOLDEN.len() {
        let learner = trained(which).0;
        for (name, dtype, ..) in Parts::of(&learner).tensors {
            // Older files of the same format lack this one.
            if name != "rounding" {
                refused(&learner, &format!("`{name}` is missing"), |p| p.tensors.retain(|t| t.0 != name));
            }
            let other = if dtype == Dtype::U8 { Dtype::I8 } else { Dtype::U8 };
            refused(&learner, &format!("`{name}` has another type"), |p| {
                let tensor = p.at(&name);
                (tensor.1, tensor.2) = (other, vec![tensor.3.len()]);
            });
            if matches!(dtype, Dtype::F64 | Dtype::F32) && Parts::of(&learner).len(&name) > 0 {
                refused(&learner, &format!("`{name}` is not finite"), |p| {
                    let bytes = &mut p.at(&name).3;
                    let last = bytes.len() - 2;
                    bytes[last..].copy_from_slice(&[0xff, 0x7f]);
                });
            }
        }
    }
}

#[test]
fn states_that_cannot_be_are_refused() {
    let rich = rich();
    let mut parts = Parts::of(&rich);
    let (slots, holes, t) = (parts.len("births"), parts.len("holes"), parts.word("counts", 0));
    assert!(holes > 1 && slots > holes + 2, "{slots} slots, {holes} holes");
    let hole = parts.word("holes", 0) as usize;
    let live: Vec<usize> = (0..slots).filter(|&s| parts.word("births", s) > 0).collect();
    let cut = |name: &'static str, by: usize| {
        move |p: &mut Parts| {
            let len = p.len(name);
            p.resize(name, len - by);
        }
    };

    refused(&rich, "`counts`", cut("counts", 1));
    refused(&rich, "too many features", |p| p.put("counts", 2, 1 << 40));
    refused(&rich, "`examples` is not possible", |p| p.put("counts", 0, u64::MAX));
    refused(&rich, "`skipped` is not possible", |p| p.put("counts", 1, u64::MAX));
    refused(&rich, "do not fit together", |p| p.put("counts", 2, 4));
    refused(&rich, "do not fit together", |p| p.put("counts", 2, 0));
    refused(&rich, "do not fit together", cut("ids", 1));
    refused(&rich, "do not fit together", cut("centres", 1));
    refused(&rich, "do not fit together", cut("births", 1));
    refused(&rich, "younger", |p| p.put("births", live[0], t + 1));
    refused(&rich, "holes", |p| p.put("births", live[0], 0));
    refused(&rich, "holes", |p| p.put("births", hole, 1));
    refused(&rich, "holes", |p| p.put("holes", 0, live[0] as u64));
    refused(&rich, "holes", |p| p.put("holes", 0, u64::MAX));
    refused(&rich, "holes", |p| {
        let second = p.word("holes", 1);
        p.put("holes", 0, second);
    });
    refused(&rich, "holes", cut("holes", 1));
    refused(&rich, "id is given twice", |p| {
        let other = p.word("ids", live[1]);
        p.put("ids", live[0], other);
    });
    refused(&rich, "id is given twice", |p| p.put("ids", hole, 123));
    refused(&rich, "`centres` is not finite", |p| p.at("centres").3[..4].copy_from_slice(&1e20f32.to_le_bytes()));
    refused(&rich, "coefficients do not fit", cut("head.columns", 1));
    refused(&rich, "lost digits", cut("rounding", 1));
    for (place, value) in [(0, 0.5), (1, 1e9), (2, -1.0), (3, 9e14), (5, -1.0)] {
        refused(&rich, "lost digits", |p| p.put_f64("rounding", place, value));
    }
    refused(&rich, "empty slot has a coefficient", |p| p.put_f64("head.columns", hole, 0.5));
    refused(&rich, "`head.scalars`", cut("head.scalars", 1));
    for (scalar, value) in [
        ("scale.f", 0.0),
        ("scale.f", 1e-200),
        ("scale.mean", 0.0),
        ("scale.mean", 1e300),
        ("eta", -1.0),
        ("norm2", -1.0),
        ("truncation", -1e-3),
        ("cut_steps", -1.0),
        ("cut_steps", 1e19),
    ] {
        refused(&rich, &format!("`{scalar}` is not possible"), |p| p.put_named("head.scalars", scalar, value));
    }
    refused(&rich, "more cut steps than examples", |p| p.put_named("head.scalars", "cut_steps", t as f64 + 1.0));
    refused(&rich, "coefficients do not fit", cut("head.offsets", 3));
    refused(&rich, "coefficients do not fit", cut("head.offsets", 1));
    refused(&rich, "number of outputs", |p| p.resize("head.offsets", 3 << 14));
    refused(&rich, "no tracker", |p| p.resize("head.gathered", 1));
    refused(&rich, "budget", cut("budget", 1));
    refused(&rich, "budget", |p| p.put_f64("budget", 0, -1.0));
    refused(&rich, "budget", |p| p.put_f64("budget", 0, 1e300));
    refused(&rich, "frame", |p| p.resize("frame", 5));
    refused(&rich, "factor", |p| p.resize("frame", 6));
    refused(&rich, "named twice", |p| p.header.classes[1] = p.header.classes[0].clone());
    refused(&rich, "number of outputs", |p| _ = p.header.classes.pop());

    let window = trained(0).0;
    refused(&window, "budget", |p| p.put_f64("budget", 0, 8.0));
    refused(&window, "more terms than the budget", |p| {
        p.header.config.budget = Some(okl::budget::BudgetRule::Window { terms: 5 })
    });
    let tracker = trained(2).0;
    refused(&tracker, "gathered too much", |p| p.resize("head.gathered", 10));
    let bank = trained(3).0;
    refused(&bank, "freeze it with that okl", |p| p.resize("bank.weights", 12));
    refused(&bank, "bank", |p| p.resize("bank.losses", 12));
    refused(&bank, "bank", |p| p.put_f64("bank.weights", 0, -0.1));
    refused(&bank, "bank", |p| p.put_f64("bank.weights", 0, 2.0));
    refused(&bank, "`scale` is not possible", |p| p.put_named("bank", "scale", -1.0));
    refused(&trained(4).0, "out of its range", |p| p.put_named("head.scalars", "tracker.least", 0.0));
    refused(&trained(4).0, "not possible", |p| p.put_named("head.scalars", "tracker.stride", -1.0));
    refused(&rich, "does not know the tensor `not_yet`", |p| p.tensors.push(("not_yet".into(), Dtype::U8, vec![0], Vec::new())));
}

#[test]
fn impossible_warm_ups_are_refused() {
    let warming = trained(1).0;
    assert!(warming.warming_up());
    for tensor in ["warm.x", "warm.y", "warm.weights", "warm.ids"] {
        refused(&warming, "do not fit together", |p| {
            let len = p.len(tensor);
            p.resize(tensor, len - 1);
        });
    }
    refused(&warming, "do not fit together", |p| p.header.warm_width = 2);
    refused(&warming, "do not fit together", |p| p.header.warm_width = usize::MAX);
    refused(&warming, "do not fit together", |p| p.header.config.warmup = 5);
    refused(&warming, "no weight", |p| p.put_f64("warm.weights", 2, 0.0));
    refused(&warming, "no weight", |p| p.put_f64("warm.weights", 2, -1.0));
    for y in [-1.0, 0.5, 3.0, 1e300] {
        refused(&warming, "targets of the warm-up", |p| p.put_f64("warm.y", 1, y));
    }
}

#[test]
fn other_formats_and_configurations_are_refused() {
    let window = trained(0).0;
    for format in [0, FORMAT + 1, u32::MAX] {
        refused(&window, "format", |p| p.header.format = format);
    }
    refused(&window, "lambda", |p| p.header.config.lambda = (-1.0).into());
    refused(&window, "step", |p| p.header.config.step = okl::step::AnyStep::Constant { eta: 1e9 }.into());
    refused(&window, "operator", |p| {
        p.header.config.operator = Some(okl::config::OperatorRule::Matrix(vec![1.0, 2.0, 2.0, 1.0]))
    });
    refused(&window, "coefficients do not fit", |p| p.header.config.average = okl::engine::head::Average::Uniform.into());
    refused(&window, "classes", |p| p.header.config.classes = Some(vec![Label::from(1), Label::from(2)]));
    refused(&window, "scale has another number", |p| {
        p.header.config.scale = okl::config::Scale::Fixed { shift: vec![0.0], factor: vec![1.0], limit: None }
    });
    refused(&window, "`warm.x` is missing", |p| {
        p.header.config.kernel = okl::config::KernelRule::Gaussian { gamma: okl::config::Gamma::Median }
    });

    let bytes = window.to_bytes();
    let text = |from: &str, to: &str| {
        assert_eq!(from.len(), to.len());
        let at = bytes.windows(from.len()).position(|w| w == from.as_bytes()).unwrap_or_else(|| panic!("no {from}"));
        let mut changed = bytes.clone();
        changed[at..at + to.len()].copy_from_slice(to.as_bytes());
        reason(&changed).expect_err(to)
    };
    text("\"okl\"", "\"olk\"");
    text("lambda", "lamdba");
    text("\"checksum\"", "\"checksun\"");
    text("[8,3]", "[9,3]");
    text("[8,3]", "[3,9]");
    text("\"U64\"", "\"X64\"");
    text("data_offsets", "data_offsetz");
    for nothing in [&b""[..], b"okl", &[0; 8], &[0xff; 64], &(u64::MAX - 7).to_le_bytes(), b"\x02\0\0\0\0\0\0\0{}"] {
        assert!(reason(nothing).is_err());
    }
}

/// The most this process has ever had mapped, in bytes; 0 where nobody says.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmPeak:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// What a small file claims is not believed: no memory is taken for it.
#[test]
fn claims_take_no_memory() {
    let before = peak();
    let empty = {
        let mut learner = learner("loss = 'softmax'\nkernel = 'linear'\nbudget = 'window:10'");
        learner.learn(&Batch::new(&[0.0; 3], 3)).unwrap();
        learner
    };
    let mut parts = Parts::of(&empty);
    parts.put("counts", 2, 1 << 28);
    _ = reason(&parts.bytes());
    let mut parts = Parts::of(&empty);
    parts.header.config.budget = Some(okl::budget::BudgetRule::Window { terms: usize::MAX / 2 });
    parts.header.classes = (0..2000).map(Label::from).collect();
    parts.resize("head.offsets", 6000);
    _ = reason(&parts.bytes());
    parts.header.config.classes = Some(parts.header.classes.clone());
    _ = reason(&parts.bytes());
    let mut header = (1u64 << 50).to_le_bytes().to_vec();
    header.extend_from_slice(&empty.to_bytes()[8..]);
    assert!(reason(&header).is_err());
    assert!(peak() - before < 512 << 20, "{} MiB", (peak() - before) >> 20);
}
