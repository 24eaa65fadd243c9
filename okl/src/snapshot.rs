//! The model file: safetensors, readable without okl; it loads on any machine and resumes to the same bits.
//!
//! One metadata entry `okl` holds, as JSON, the format's version, the configuration, the classes and a checksum over
//! everything else. State is tensors: numbers never pass through decimal text.
//!
//! | tensor | type | what |
//! |---|---|---|
//! | `counts` | u64 | examples, steps not taken, features |
//! | `centres` | f32 (slots, features) | centres in their frame, holes included |
//! | `births`, `ids`, `holes` | u64 | per slot, per slot, and the holes in the order they will be filled |
//! | `head.columns` | f64 (columns, slots) | stored coefficients, column by column |
//! | `head.scalars`, `head.offsets`, `head.gathered` | f64 | the head beside its coefficients |
//! | `head1.columns`, ... | f64 | the further heads of a bank, numbered |
//! | `bank` | f64 | the weights of a bank's voices, their losses, the bank's own, its scale and count |
//! | `budget`, `frame` | f64 | the budget's state; shift and factor |
//! | `warm.x`, `warm.y`, `warm.weights`, `warm.ids` | f32, f64, f64, u64 | the examples of a warm-up under way |
//! | `position` | u8 | for whoever replays the stream |

//! ```
//! use okl::{Batch, Config, Learner};
//! let x = [0.0f32, 1.0, 2.0, 3.0];
//! let y = [1.0, 1.0, -1.0, -1.0];
//! let mut whole = Learner::new(Config::default())?;
//! whole.learn(&Batch::new(&x, 1).numbers(&y))?;
//!
//! let mut half = Learner::new(Config::default())?;
//! half.learn(&Batch::new(&x[..2], 1).numbers(&y[..2]))?;
//! let mut resumed = Learner::from_bytes(&half.to_bytes())?;
//! resumed.learn(&Batch::new(&x[2..], 1).numbers(&y[2..]))?;
//! assert_eq!(resumed.to_bytes(), whole.to_bytes());
//! # Ok::<(), okl::Error>(())
//! ```

use std::collections::HashMap;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};

use crate::batch::{Classes, LARGEST};
use crate::budget::Budget;
use crate::certificate::TrackerState;
use crate::config::{Config, KernelRule, Label, Scale};
use crate::error::{Error, Result};
use crate::expansion::Scales;
use crate::frame::Frame;
use crate::gram::{self, Rows};
use crate::head::Head;
use crate::learner::{Learner, WarmUp};
use crate::loss::{Loss, Reads};
use crate::space::{Points, Space};
use crate::step::AnyStep;
use crate::terms::NO_ID;

/// The version this crate writes; it reads this one and all before it, but for banks of version 2. Version 2 has
/// banks, and counts what an average lost; version 3 has trackers that follow the usual score.
pub const FORMAT: u32 = 3;

#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    checksum: String,
    config: Config,
    classes: Vec<Label>,
    warm_width: usize,
    outputs_known: bool,
}

/// A tensor on its way to the file.
struct Tensor {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Tensor {
    fn f64s(name: impl Into<String>, shape: Vec<usize>, values: &[f64]) -> Self {
        Tensor { name: name.into(), dtype: Dtype::F64, shape, bytes: values.iter().flat_map(|v| v.to_le_bytes()).collect() }
    }
    fn f32s(name: &str, shape: Vec<usize>, values: &[f32]) -> Self {
        Tensor { name: name.into(), dtype: Dtype::F32, shape, bytes: values.iter().flat_map(|v| v.to_le_bytes()).collect() }
    }
    fn u64s(name: &str, values: &[u64]) -> Self {
        Tensor {
            name: name.into(),
            dtype: Dtype::U64,
            shape: vec![values.len()],
            bytes: values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        }
    }
}

/// FNV-1a over names and bytes, in order of names (what is read is checked against the bytes, not against shapes): it finds damage, not forgery.
fn checksum<'a>(parts: impl Iterator<Item = &'a [u8]>) -> String {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(PRIME);
    let hash = parts.fold(OFFSET, |hash, part| part.iter().fold(mix(hash, &(part.len() as u8)), mix));
    format!("{hash:016x}")
}

impl Learner {
    /// The model file as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut tensors = self.tensors();
        tensors.sort_by(|a, b| a.name.cmp(&b.name));
        let mut header = Header {
            format: FORMAT,
            checksum: String::new(),
            config: self.config.clone(),
            classes: self.classes.names.clone(),
            warm_width: self.warm.as_ref().map_or(0, |w| w.width),
            outputs_known: self.outputs_known,
        };
        header.checksum = checksum_of(&header, tensors.iter().map(|t| (t.name.as_str(), t.bytes.as_slice())));
        let text = serde_json::to_string(&header).expect("a header is always representable");
        let views = tensors
            .iter()
            .map(|t| (t.name.as_str(), TensorView::new(t.dtype, t.shape.clone(), &t.bytes).expect("shapes match their bytes")));
        // One entry: a map with several would be written in the order of its hashes.
        safetensors::serialize(views, Some(HashMap::from([("okl".into(), text)]))).expect("names are distinct and short")
    }

    fn tensors(&self) -> Vec<Tensor> {
        let terms = &self.engine.terms;
        let (slots, d) = (terms.slots(), self.features);
        let mut centres = vec![0.0; slots * d];
        for (slot, row) in centres.chunks_exact_mut(d.max(1)).enumerate() {
            terms.space.centre(slot, row);
        }
        let holes: Vec<u64> = terms.holes.iter().map(|&h| h.into()).collect();
        let frame = [self.frame.shift.as_slice(), &self.frame.factor].concat();
        let mut tensors = vec![
            Tensor::u64s("counts", &[self.engine.t, self.engine.skipped, d as u64]),
            Tensor::f32s("centres", vec![slots, d], &centres),
            Tensor::u64s("births", &terms.births),
            Tensor::u64s("ids", &terms.ids),
            Tensor::u64s("holes", &holes),
            Tensor::f64s("budget", vec![3], &self.engine.budget.state()),
            Tensor::f64s("frame", vec![frame.len()], &frame),
            Tensor { name: "position".into(), dtype: Dtype::U8, shape: vec![self.position.len()], bytes: self.position.clone() },
        ];
        tensors.extend(self.engine.heads.iter().enumerate().flat_map(|(h, head)| head.tensors(h, slots)));
        if let Some(bank) = &self.engine.bank {
            let state = bank.state();
            tensors.push(Tensor::f64s("bank", vec![state.len()], &state));
        }
        if let Some(warm) = &self.warm {
            tensors.push(Tensor::f32s("warm.x", vec![warm.x.len()], &warm.x));
            tensors.push(Tensor::f64s("warm.y", vec![warm.y.len()], &warm.y));
            tensors.push(Tensor::f64s("warm.weights", vec![warm.weights.len()], &warm.weights));
            tensors.push(Tensor::u64s("warm.ids", &warm.ids));
        }
        tensors
    }

    /// Reads a model file.
    ///
    /// # Errors
    /// If the bytes are not a model file of a known version, are damaged, or describe a state that cannot be.
    pub fn from_bytes(bytes: &[u8]) -> Result<Learner> {
        let file = File::open(bytes)?;
        let mut config = file.header.config.clone();
        if file.header.format == 1 {
            config.rules_mut().into_iter().for_each(KernelRule::without_bank);
        }
        let mut learner = Learner::new(config).map_err(|e| Error::snapshot(e.to_string()))?;
        file.check_members(&learner)?;
        file.restore_shape(&mut learner)?;
        file.restore_terms(&mut learner)?;
        (0..learner.engine.heads.len()).try_for_each(|h| file.restore_head(&mut learner, h))?;
        file.restore_budget(&mut learner)?;
        file.restore_bank(&mut learner)?;
        file.restore_warmup(&mut learner)?;
        learner.position = file.bytes("position", Dtype::U8)?.to_vec();
        Ok(learner)
    }
}

fn checksum_of<'a>(header: &Header, tensors: impl Iterator<Item = (&'a str, &'a [u8])>) -> String {
    let header = Header { checksum: String::new(), config: header.config.clone(), classes: header.classes.clone(), ..*header };
    let text = serde_json::to_string(&header).expect("a header is always representable");
    let parts: Vec<&[u8]> = tensors.flat_map(|(name, bytes)| [name.as_bytes(), bytes]).collect();
    checksum(std::iter::once(text.as_bytes()).chain(parts))
}

struct File<'a> {
    header: Header,
    tensors: SafeTensors<'a>,
}

/// So many features, slots or classes at most: what a file claims is not believed without its bytes.
const MOST: usize = 1 << 28;

fn demand(holds: bool, what: &str) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::snapshot(what)) }
}

impl<'a> File<'a> {
    fn open(bytes: &'a [u8]) -> Result<Self> {
        let unreadable = |e: safetensors::SafeTensorError| Error::snapshot(format!("not a safetensors file: {e}"));
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(unreadable)?;
        let text = metadata
            .metadata()
            .as_ref()
            .and_then(|m| m.get("okl"))
            .ok_or_else(|| Error::snapshot("not written by okl: no `okl` entry"))?;
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        let version: Version = serde_json::from_str(text).map_err(|e| Error::snapshot(e.to_string()))?;
        demand(
            (1..=FORMAT).contains(&version.format),
            &format!("format {} is not known to this okl, which reads 1 to {FORMAT}", version.format),
        )?;
        let header: Header = serde_json::from_str(text).map_err(|e| Error::snapshot(e.to_string()))?;
        let tensors = SafeTensors::deserialize(bytes).map_err(unreadable)?;
        let file = File { header, tensors };
        let mut all = file.tensors.tensors();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        let found = checksum_of(&file.header, all.iter().map(|(name, view)| (name.as_str(), view.data())));
        demand(found == file.header.checksum, "the checksum does not match: the file is damaged")?;
        Ok(file)
    }

    fn bytes(&self, name: &str, dtype: Dtype) -> Result<&'a [u8]> {
        let tensor = self.tensors.tensor(name).map_err(|_| Error::snapshot(format!("tensor `{name}` is missing")))?;
        demand(tensor.dtype() == dtype, &format!("tensor `{name}` has another type"))?;
        Ok(tensor.data())
    }

    fn f64s(&self, name: &str) -> Result<Vec<f64>> {
        let (chunks, _) = self.bytes(name, Dtype::F64)?.as_chunks::<8>();
        let values: Vec<f64> = chunks.iter().map(|b| f64::from_le_bytes(*b)).collect();
        demand(values.iter().all(|v| v.is_finite()), &format!("tensor `{name}` is not finite"))?;
        Ok(values)
    }

    fn f32s(&self, name: &str) -> Result<Vec<f32>> {
        let (chunks, _) = self.bytes(name, Dtype::F32)?.as_chunks::<4>();
        let values: Vec<f32> = chunks.iter().map(|b| f32::from_le_bytes(*b)).collect();
        demand(values.iter().all(|v| v.is_finite() && v.abs() <= LARGEST), &format!("tensor `{name}` is not finite"))?;
        Ok(values)
    }

    fn u64s(&self, name: &str) -> Result<Vec<u64>> {
        let (chunks, _) = self.bytes(name, Dtype::U64)?.as_chunks::<8>();
        Ok(chunks.iter().map(|b| u64::from_le_bytes(*b)).collect())
    }

    /// Counts, features, outputs, classes and frame.
    fn restore_shape(&self, learner: &mut Learner) -> Result<()> {
        let counts = self.u64s("counts")?;
        let &[t, skipped, features] = counts.as_slice() else { return Err(Error::snapshot("`counts` has another length")) };
        let features =
            usize::try_from(features).ok().filter(|&d| d <= MOST).ok_or_else(|| Error::snapshot("too many features"))?;
        demand(t.max(skipped) < 1 << 60, "too many examples")?;
        let fixed = match &learner.config.scale {
            Scale::Fixed { shift, .. } => Some(shift.len()),
            _ => None,
        };
        demand(fixed.is_none_or(|d| d == features), "the scale has another number of features")?;
        let frame = self.f64s("frame")?;
        demand(frame.is_empty() || frame.len() == 2 * features, "the frame has another number of features")?;
        let (shift, factor) = frame.split_at(frame.len() / 2);
        demand(factor.iter().all(|f| *f > 0.0), "the frame has a factor that is not positive")?;
        (learner.engine.t, learner.engine.skipped) = (t, skipped);
        if features > 0 {
            learner.widen(features)?;
        }
        let limit = if let Scale::Fixed { limit, .. } = &learner.config.scale { *limit } else { None };
        learner.frame = Frame { shift: shift.to_vec(), factor: factor.to_vec(), limit };
        learner.outputs_known |= self.header.outputs_known;
        self.restore_classes(learner)
    }

    fn restore_classes(&self, learner: &mut Learner) -> Result<()> {
        let names = &self.header.classes;
        let distinct: std::collections::HashSet<_> = names.iter().collect();
        demand(distinct.len() == names.len(), "a class is named twice")?;
        match &learner.config.classes {
            Some(given) => demand(given == names, "the classes are not those of the configuration")?,
            None => {
                learner.classes = Classes::default();
                learner.classes.extend(names);
            }
        }
        let outputs = self.f64s("head.offsets")?.len() / 3;
        let expected = match learner.config.loss.reads() {
            Reads::Class => names.len(),
            Reads::Vector if learner.config.operator.is_none() && learner.outputs_known => outputs.max(1),
            _ => learner.outputs(),
        };
        // A class that has only been named alone has no output yet.
        let unlearned = learner.config.loss.reads() == Reads::Class && outputs < names.len();
        demand(outputs <= MOST && (outputs == expected || unlearned), "the number of outputs does not fit the configuration")?;
        learner.engine.heads.iter_mut().for_each(|head| head.add_outputs(outputs));
        Ok(())
    }

    fn restore_terms(&self, learner: &mut Learner) -> Result<()> {
        let (births, ids, holes, centres) = (self.u64s("births")?, self.u64s("ids")?, self.u64s("holes")?, self.f32s("centres")?);
        let (slots, d, t) = (births.len(), learner.features, learner.engine.t);
        demand(
            ids.len() == slots && centres.len() == slots * d && slots < MOST && (d > 0 || slots == 0),
            "the terms do not fit together",
        )?;
        demand(births.iter().all(|&b| b <= t), "a term is younger than the last example")?;
        let mut empty: Vec<u64> = holes.clone();
        empty.sort_unstable();
        demand(
            empty.iter().copied().eq((0..slots as u64).filter(|&s| births[s as usize] == 0)),
            "the holes are not the empty slots",
        )?;
        let named: Vec<u64> = ids.iter().copied().filter(|&id| id != NO_ID).collect();
        let distinct: std::collections::HashSet<_> = named.iter().collect();
        let unnamed_holes = holes.iter().all(|&h| ids[h as usize] == NO_ID);
        demand(distinct.len() == named.len() && unnamed_holes, "an id is given twice")?;
        demand(
            learner.config.budget().capacity().is_none_or(|terms| slots <= terms),
            "there are more terms than the budget allows",
        )?;
        let terms = &mut learner.engine.terms;
        terms.space.reserve(slots);
        for (slot, row) in centres.chunks_exact(d.max(1)).enumerate() {
            let squares = [gram::square(row)];
            terms.space.put(slot, Points { rows: Rows::one(row), squares: &squares }, 0);
        }
        (terms.births, terms.ids) = (births, ids);
        terms.holes = holes.iter().map(|&h| h as u32).collect();
        terms.restore_ids();
        Ok(())
    }

    fn restore_head(&self, learner: &mut Learner, number: usize) -> Result<()> {
        let slots = learner.engine.terms.slots();
        let holes = learner.engine.terms.holes.clone();
        let head = &mut learner.engine.heads[number];
        let tensor = |what: &str| self.f64s(&head_tensor(number, what));
        let (columns, offsets, mut scalars) = (tensor("columns")?, tensor("offsets")?, tensor("scalars")?);
        let count = head.offset.len() * head.expansion.riders().functions();
        demand(
            columns.len() == count * slots && offsets.len() == 3 * head.offset.len(),
            "the coefficients do not fit the terms",
        )?;
        if scalars.len() == 32 && self.header.format < 2 {
            // What an average lost was not told apart from what f lost.
            scalars.push(scalars[6]);
        }
        if scalars.len() == 33 && self.header.format < 3 {
            // A tracker's step was given: nothing had to be found.
            scalars.extend([0.0; 5]);
        }
        demand(scalars.len() == SCALARS, "`head.scalars` has another length")?;
        let silent = |h: &u32| columns.chunks_exact(slots.max(1)).all(|c| c[*h as usize] == 0.0);
        demand(holes.iter().all(silent), "an empty slot has a coefficient")?;
        let counted = (0.0..=learner.engine.t as f64).contains(&scalars[7]);
        demand(
            [0, 3, 5, 6, 32, 33, 35].iter().all(|&i| scalars[i] >= 0.0) && counted,
            "a step size, norm or count is not possible",
        )?;
        let scales = head.restore_scalars(&scalars);
        // A term is divided by the scales of the functions that are there; they are kept far from the ends of f64.
        let riders = head.expansion.riders();
        let usable = |used: bool, scale: f64| !used || (1e-100..1e100).contains(&scale.abs());
        demand(
            usable(true, scales.f) && usable(riders.trace, scales.trace.0) && usable(riders.mean, scales.mean.0),
            "a scale is zero or out of range",
        )?;
        head.expansion.restore(slots, &columns, scales);
        for (to, from) in [&mut head.offset, &mut head.offset_trace, &mut head.offset_mean]
            .into_iter()
            .zip(offsets.chunks_exact(offsets.len().max(3) / 3))
        {
            to.copy_from_slice(from);
        }
        let gathered = tensor("gathered")?;
        match &mut head.tracker {
            Some(tracker) => {
                demand(
                    gathered.len() < tracker.warmup.max(1) && (tracker.ready() || tracker.state.quantile == 0.0),
                    "the tracker has gathered too much",
                )?;
                demand(tracker.is_possible(), "the tracker's threshold is out of its range")?;
                tracker.gathered = gathered;
            }
            None => demand(gathered.is_empty(), "there is no tracker for what was gathered")?,
        }
        Ok(())
    }

    /// What `auto` runs side by side may be another set from one version to the next.
    fn check_members(&self, learner: &Learner) -> Result<()> {
        let Some(bank) = &learner.engine.bank else { return Ok(()) };
        let (had, has) = (self.f64s("bank")?.len(), bank.state().len());
        demand(
            had == has,
            "the settings that `auto` ran side by side were others when it was saved: learn it again, or freeze it with that okl",
        )
    }

    fn restore_bank(&self, learner: &mut Learner) -> Result<()> {
        let Some(bank) = &mut learner.engine.bank else { return Ok(()) };
        let state = self.f64s("bank")?;
        demand(bank.restore(&state), "the bank's state is not possible")
    }

    fn restore_budget(&self, learner: &mut Learner) -> Result<()> {
        let slots = learner.engine.terms.slots();
        let budget = self.f64s("budget")?;
        // The slot that a window writes next, mistakes, and damage, which may be negative.
        let possible = |b: &[f64]| b.len() == 3 && (0.0..slots.max(1) as f64).contains(&b[0]) && b[1] >= 0.0;
        demand(possible(&budget), "the budget's state is not possible")?;
        learner.engine.budget.restore(&budget);
        Ok(())
    }

    fn restore_warmup(&self, learner: &mut Learner) -> Result<()> {
        let Some(warm) = &mut learner.warm else { return Ok(()) };
        if learner.features == 0 {
            return Ok(());
        }
        *warm = WarmUp {
            x: self.f32s("warm.x")?,
            y: self.f64s("warm.y")?,
            width: self.header.warm_width,
            weights: self.f64s("warm.weights")?,
            ids: self.u64s("warm.ids")?,
        };
        let count = warm.weights.len();
        let fits = warm.x.len() == count * learner.features
            && warm.y.len() == count.saturating_mul(warm.width)
            && warm.ids.len() == count
            && count < learner.config.warmup;
        demand(fits, "the examples of the warm-up do not fit together")?;
        demand(warm.weights.iter().all(|w| *w > 0.0), "an example of the warm-up has no weight")?;
        let outputs = learner.engine.heads[0].offset.len();
        let readable = match learner.config.loss.reads() {
            Reads::Class => warm.width == 1 && warm.y.iter().all(|y| y.fract() == 0.0 && *y >= 0.0 && (*y as usize) < outputs),
            Reads::Sign => warm.width == 1 && warm.y.iter().all(|y| y.abs() == 1.0),
            Reads::Number => warm.width == 1,
            Reads::Vector => warm.width == outputs,
            Reads::Nothing => warm.width == 0,
        };
        demand(count == 0 || readable, "the targets of the warm-up do not fit the loss")?;
        // The provisional statistics are those of the last recomputation; they follow from the rows alone.
        learner.resume_warmup();
        Ok(())
    }
}

/// The length of `head.scalars`.
const SCALARS: usize = 38;

fn head_tensor(number: usize, what: &str) -> String {
    if number == 0 { format!("head.{what}") } else { format!("head{number}.{what}") }
}

impl Head<AnyStep> {
    fn tensors(&self, number: usize, slots: usize) -> [Tensor; 4] {
        let columns = self.expansion.columns_of(slots);
        let offsets = [self.offset.as_slice(), &self.offset_trace, &self.offset_mean].concat();
        let gathered = self.tracker.as_ref().map_or(&[][..], |t| &t.gathered);
        let tensor = |what: &str, shape: Vec<usize>, values: &[f64]| Tensor::f64s(head_tensor(number, what), shape, values);
        [
            tensor("columns", vec![columns.len().checked_div(slots).unwrap_or(0), slots], &columns),
            tensor("scalars", vec![SCALARS], &self.scalars()),
            tensor("offsets", vec![3, self.offset.len()], &offsets),
            tensor("gathered", vec![gathered.len()], gathered),
        ]
    }

    fn scalars(&self) -> [f64; SCALARS] {
        let Scales { f, trace, mean } = self.expansion.scales;
        let (r, a) = (&self.regret, &self.rate);
        let tracker = self.tracker.as_ref().map(|t| t.state).unwrap_or_default();
        [
            self.eta,
            self.theta,
            self.theta_trace,
            self.norm2,
            self.product,
            self.trace_norm2,
            self.truncation,
            self.cut_steps as f64,
            f,
            trace.0,
            trace.1,
            mean.0,
            mean.1,
            f64::from(u8::from(r.holds)),
            r.constant,
            r.linear,
            r.square,
            r.offset_linear,
            r.offset_square,
            r.last_inverse,
            a.examples,
            a.outside,
            a.least,
            a.largest,
            a.variation,
            a.last_inverse,
            a.projected,
            tracker.start,
            tracker.quantile,
            tracker.examples,
            tracker.outside,
            self.theta_mean,
            self.mean_truncation,
            tracker.stride,
            tracker.level,
            tracker.scores,
            tracker.least,
            tracker.largest,
        ]
    }

    fn restore_scalars(&mut self, s: &[f64]) -> Scales {
        [self.eta, self.theta, self.theta_trace, self.norm2, self.product, self.trace_norm2, self.truncation] =
            [s[0], s[1], s[2], s[3], s[4], s[5], s[6]];
        (self.cut_steps, self.theta_mean, self.mean_truncation) = (s[7] as u64, s[31], s[32]);
        let r = &mut self.regret;
        r.holds = s[13] == 1.0;
        [r.constant, r.linear, r.square, r.offset_linear, r.offset_square, r.last_inverse] =
            [s[14], s[15], s[16], s[17], s[18], s[19]];
        let a = &mut self.rate;
        [a.examples, a.outside, a.least, a.largest, a.variation, a.last_inverse, a.projected] =
            [s[20], s[21], s[22], s[23], s[24], s[25], s[26]];
        if let Some(t) = &mut self.tracker {
            let [start, quantile, examples, outside] = [s[27], s[28], s[29], s[30]];
            let [stride, level, scores, least, largest] = [s[33], s[34], s[35], s[36], s[37]];
            t.state = TrackerState { quantile, start, least, largest, stride, level, scores, examples, outside };
        }
        Scales { f: s[8], trace: (s[9], s[10]), mean: (s[11], s[12]) }
    }
}
