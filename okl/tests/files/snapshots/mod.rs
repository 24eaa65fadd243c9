//! Law 7: model files load, resume to the same bits, and survive neither damage nor malice.
//!
//! `tests/golden/*.okl` are files of formats 1, 3 and 4, each beside the scores (bits in hexadecimal) to which it resumes;
//! those of formats 1 and 3 have no number in their names. Those of the present format are written by
//! `OKL_BLESS=1 cargo test --test files golden` where they do not exist: a change that needs a blessing breaks the
//! models people have.

mod damage;
mod golden;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::support::cases::Random;
use crate::support::plain::plain;
use okl::loss::AnyLoss;
use okl::snapshot::FORMAT;
use okl::{Batch, Config, ErrorKind, KernelRows, Label, Learner};
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
            let scores = learner.learn(&match *learner.config().loss {
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
const GOLDEN: [(&str, &str, usize); 15] = [
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
    (
        "mixed",
        "loss = ['hinge', 'logistic']\nkernel = 'auto'\nstep = 'auto'\nlambda = 'auto'\nscale = 'auto'\nwarmup = 16\nbudget = 'merge:12'\noffset = true",
        60,
    ),
    (
        "waves",
        "loss = 'softmax'\nkernel = 'matern32:0.7'\nform = 'fourier:size=24,seed=5'\nstep = 'constant:0.5'\nlambda = 0.01\nclass_weight = 'balanced'",
        30,
    ),
    (
        "absent",
        "loss = 'hinge'\nkernel = 'gaussian:0.5'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'merge:8'\nanchor = 'none'\noffset = true",
        40,
    ),
    // As `mixed`, since offsets have their own steps and one head forgets.
    (
        "varied",
        "loss = ['hinge', 'logistic']\nkernel = 'auto'\nheads = 'varied'\nstep = 'auto'\nlambda = 'auto'\nscale = 'auto'\nwarmup = 16\nbudget = 'merge:12'\noffset = true",
        60,
    ),
    // As `varied`, since some kernels read weighted columns; there are weights after 512 examples.
    (
        "weighted",
        "loss = ['hinge', 'logistic']\nkernel = 'auto'\nheads = 'weighted'\nstep = 'auto'\nlambda = 'auto'\nscale = 'auto'\nwarmup = 16\nbudget = 'merge:12'\noffset = true",
        530,
    ),
    // Weights of products, each with a step size of its own.
    (
        "products",
        "loss = 'softmax'\nkernel = 'polynomial:degree=2,gamma=0.5,coef0=1'\nform = 'weights'\nscale = 'none'\nstep = 'smd:eta=0.05,per=coordinate'\nlambda = 0.001\naverage = 'uniform'\noffset = true",
        40,
    ),
    ("whitened", "loss = 'density:0.1'\nkernel = 'gaussian'\nscale = 'whiten'\nwarmup = 16\nbudget = 'window:25'", 60),
    // As `weighted`, with weight vectors beside the terms.
    (
        "vectors",
        "loss = ['hinge', 'logistic']\nkernel = 'auto'\nheads = 'mixed'\nstep = 'auto'\nlambda = 'auto'\nscale = 'auto'\nwarmup = 16\nbudget = 'merge:12'\noffset = true",
        530,
    ),
    // As `vectors`, with a kernel of the Manhattan distance.
    (
        "broad",
        "loss = ['hinge', 'logistic']\nkernel = 'auto'\nstep = 'auto'\nlambda = 'auto'\nscale = 'auto'\nwarmup = 16\nbudget = 'merge:12'\noffset = true",
        530,
    ),
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
    // Classes under a sign have a golden file since format 4, which stores the positive one; so have banks of several kernels, random
    // features with weights of classes, merged rows from which nothing is subtracted, weights of products, and whitened rows.
    let since_format_4 = ["signs", "mixed", "waves", "absent", "varied", "weighted", "products", "whitened", "vectors", "broad"];
    (0..GOLDEN.len()).flat_map(versions).filter(move |(_, path, _)| !since_format_4.iter().any(|name| path.ends_with(name)))
}

fn reason(bytes: &[u8]) -> Result<Learner, String> {
    Learner::from_bytes(bytes).map_err(|error| match error.kind() {
        ErrorKind::Snapshot(reason) => reason.clone(),
        other => panic!("not an error of model files: {other:?}"),
    })
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
