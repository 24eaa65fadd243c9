//! Reads a model file. Every tensor is checked before it is used.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use safetensors::tensor::{Dtype, Metadata, SafeTensors};
use serde::Deserialize;
use xxhash_rust::xxh3::Xxh3;

use crate::basis::sparse::SparseRow;
use crate::basis::terms::{NO_ID, Terms};
use crate::basis::vectors::VectorRows;
use crate::basis::{Points, Space};
use crate::config::{Choice, ClassWeight, Form, KernelRule, Scale};
use crate::coordinates::Term;
use crate::engine::Engine;
use crate::engine::head::Head;
use crate::error::{Error, Result};
use crate::gram::{self, Matrix};
use crate::learner::Learner;
use crate::learner::batch::LARGEST;
use crate::learner::class_weight::ClassCounts;
use crate::learner::health::Clipped;
use crate::learner::large_targets::LargeTargets;
use crate::learner::rounding::Rounding;
use crate::learner::rows::KeptRows;
use crate::learner::scalars::{self, BANK, BUDGET, COUNTS, GROWTH, HEAD, HEAD_OF_FORMAT, NO_MASS};
use crate::learner::scaling::Frame;
use crate::learner::snapshot::{FORMAT, Header, head_tensor, scalar_names};
use crate::learner::target_level::TargetLevel;
use crate::learner::units::Units;
use crate::learner::warmup::WarmUp;
use crate::parts::loss::{Loss, Reads};
use crate::parts::output::Output;
use crate::parts::step::AnyStep;

/// The part of the header that is read first. Up to format 3 it has the checksum.
#[derive(Deserialize)]
struct Version {
    format: u32,
    #[serde(default)]
    checksum: String,
}

/// The names of the single numbers in formats before 4, which stored these numbers in this order and without names.
fn scalar_names_of(format: u32) -> BTreeMap<String, Vec<String>> {
    let mut names = scalar_names();
    for (tensor, count) in [("bank", 3), ("budget", 3), ("counts", 3), ("head.scalars", HEAD_OF_FORMAT[format as usize - 1])] {
        names.entry(tensor.to_string()).and_modify(|names| names.truncate(count));
    }
    names
}

/// FNV-1a, the checksum up to format 3. It detects damage, but not intentional changes.
fn fnv<'a>(parts: impl Iterator<Item = &'a [u8]>) -> String {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(PRIME);
    let hash = parts.fold(OFFSET, |hash, part| part.iter().fold(mix(hash, &(part.len() as u8)), mix));
    format!("{hash:016x}")
}

/// The checksum of formats 1 to 3: over the text of the `okl` entry without the checksum itself, and the names and bytes
/// of the tensors in order of names.
fn old_checksum(text: &str, tensors: &SafeTensors<'_>) -> String {
    const KEY: &str = "\"checksum\":\"";
    let (before, after) = text.find(KEY).map_or((text, ""), |at| text.split_at(at + KEY.len()));
    let without = [before, &after[after.find('"').unwrap_or(0)..]].concat();
    let mut all = tensors.tensors();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    let parts = all.iter().flat_map(|(name, view)| [name.as_bytes(), view.data()]);
    fnv(std::iter::once(without.as_bytes()).chain(parts))
}

/// The position of the eight bytes of the checksum in a file.
fn checksum_place(header: usize, metadata: &Metadata) -> Result<Range<usize>> {
    let info = metadata.info("checksum").ok_or_else(|| Error::snapshot("tensor `checksum` is missing"))?;
    let (first, last) = (8 + header + info.data_offsets.0, 8 + header + info.data_offsets.1);
    demand(info.dtype == Dtype::U64 && last - first == 8, "tensor `checksum` has another type")?;
    Ok(first..last)
}

/// XXH3 of all bytes of a file, with the bytes of the checksum set to zero.
fn checksum(bytes: &[u8], place: &Range<usize>) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(&bytes[..place.start]);
    hash.update(&[0; 8]);
    hash.update(&bytes[place.end..]);
    hash.digest()
}

impl Learner {
    /// Reads a model file.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// learner.learn(&Batch::new(&[0.0, 9.0], 1).numbers(&[1.0, -1.0]))?;
    /// let loaded = Learner::from_bytes(&learner.to_bytes())?;
    /// assert_eq!(loaded.coefficients(), learner.coefficients());
    /// assert!(Learner::from_bytes(b"not a model").is_err());
    /// # Ok::<(), okl::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the bytes are not a model file of a known version, are damaged, or have an impossible state.
    pub fn from_bytes(bytes: &[u8]) -> Result<Learner> {
        Learner::from_file(&File::open(bytes)?)
    }

    fn from_file(file: &File<'_>) -> Result<Learner> {
        let mut config = file.header.config.clone().into_owned();
        if file.header.format == 1 {
            config.rules_mut().for_each(KernelRule::without_bank);
        }
        // Up to okl 0.1 every function was made of terms, and a file without a form has terms.
        if config.uses_weights() && config.form == Choice::Auto {
            config.form = Form::Terms.into();
        }
        let built = config.check_loaded().and_then(|()| Learner::build(config));
        let mut learner = built.map_err(|e| Error::snapshot(e.to_string()))?;
        file.check_members(&learner)?;
        file.restore_shape(&mut learner)?;
        file.restore_units(&mut learner)?;
        file.restore_terms(&mut learner)?;
        (0..learner.engine.all_heads().count()).try_for_each(|h| file.restore_head(&mut learner, h))?;
        file.restore_budget(&mut learner)?;
        file.restore_bank(&mut learner)?;
        file.restore_warmup(&mut learner)?;
        learner.position = file.bytes("position", Dtype::U8)?.to_vec();
        file.restore_class_counts(&mut learner)?;
        file.restore_clipped(&mut learner)?;
        file.restore_rounding(&mut learner)?;
        file.restore_large_targets(&mut learner)?;
        file.restore_growth(&mut learner)?;
        file.check_all_read()?;
        Ok(learner)
    }
}

pub(super) struct File<'a> {
    header: Header<'static>,
    tensors: SafeTensors<'a>,
    /// The names of the tensors that have been read.
    read: RefCell<HashSet<String>>,
}

/// The largest number of features, slots or classes, so that a damaged file cannot cause a huge allocation.
const MOST: usize = 1 << 28;

pub(super) fn demand(holds: bool, what: &str) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::snapshot(what)) }
}

impl<'a> File<'a> {
    fn open(bytes: &'a [u8]) -> Result<Self> {
        let unreadable = |e: safetensors::SafeTensorError| Error::snapshot(format!("not a safetensors file: {e}"));
        let (start, metadata) = SafeTensors::read_metadata(bytes).map_err(unreadable)?;
        let text = metadata
            .metadata()
            .as_ref()
            .and_then(|m| m.get("okl"))
            .ok_or_else(|| Error::snapshot("not written by okl: no `okl` entry"))?;
        let version: Version = serde_json::from_str(text).map_err(|e| Error::snapshot(e.to_string()))?;
        demand(
            (1..=FORMAT).contains(&version.format),
            &format!("format {} is not known to this okl, which reads 1 to {FORMAT}", version.format),
        )?;
        let tensors = SafeTensors::deserialize(bytes).map_err(unreadable)?;
        let whole = if version.format < 4 {
            old_checksum(text, &tensors) == version.checksum
        } else {
            let place = checksum_place(start, &metadata)?;
            checksum(bytes, &place).to_le_bytes() == bytes[place]
        };
        demand(whole, "the checksum does not match: the file is damaged")?;
        let mut header: Header<'static> = serde_json::from_str(text).map_err(|e| Error::snapshot(e.to_string()))?;
        if header.format < 4 {
            header.scalars = scalar_names_of(header.format);
        }
        Ok(File { header, tensors, read: RefCell::default() })
    }

    /// The names of the single numbers of a tensor.
    fn names(&self, tensor: &str) -> &[String] {
        self.header.scalars.get(tensor).map_or(&[], Vec::as_slice)
    }

    pub(super) fn bytes(&self, name: &str, dtype: Dtype) -> Result<&'a [u8]> {
        let tensor = self.tensors.tensor(name).map_err(|_| Error::snapshot(format!("tensor `{name}` is missing")))?;
        self.read.borrow_mut().insert(name.to_string());
        demand(tensor.dtype() == dtype, &format!("tensor `{name}` has another type"))?;
        Ok(tensor.data())
    }

    /// An error if a tensor has not been read: it has state that this version does not know.
    fn check_all_read(&self) -> Result<()> {
        let read = self.read.borrow();
        let unknown = self.tensors.names().into_iter().find(|name| *name != "checksum" && !read.contains(*name));
        match unknown {
            Some(name) => Err(Error::snapshot(format!("this version of okl does not know the tensor `{name}`"))),
            None => Ok(()),
        }
    }

    pub(super) fn f64s(&self, name: &str) -> Result<Vec<f64>> {
        let (chunks, _) = self.bytes(name, Dtype::F64)?.as_chunks::<8>();
        let values: Vec<f64> = chunks.iter().map(|b| f64::from_le_bytes(*b)).collect();
        demand(values.iter().all(|v| v.is_finite()), &format!("tensor `{name}` is not finite"))?;
        Ok(values)
    }

    fn f32s(&self, name: &str) -> Result<Vec<f32>> {
        let values = self.singles(name)?;
        demand(values.iter().all(|v| f64::from(v.abs()) <= LARGEST), &format!("tensor `{name}` is not finite"))?;
        Ok(values)
    }

    pub(super) fn u64s(&self, name: &str) -> Result<Vec<u64>> {
        let (chunks, _) = self.bytes(name, Dtype::U64)?.as_chunks::<8>();
        Ok(chunks.iter().map(|b| u64::from_le_bytes(*b)).collect())
    }

    /// Restores counts, features, outputs, classes and frame.
    fn restore_shape(&self, learner: &mut Learner) -> Result<()> {
        let before = learner.features;
        scalars::restore(COUNTS, "counts", self.names("counts"), &self.u64s("counts")?, learner)?;
        let features = std::mem::replace(&mut learner.features, before);
        demand(features <= MOST, "too many features")?;
        let fixed = match &learner.config.scale {
            Scale::Fixed { shift, .. } => Some(shift.len()),
            _ => None,
        };
        demand(fixed.is_none_or(|d| d == features), "the scale has another number of features")?;
        let frame = self.f64s("frame")?;
        demand(frame.is_empty() || frame.len() == 2 * features, "the frame has another number of features")?;
        let (shift, factor) = frame.split_at(frame.len() / 2);
        demand(factor.iter().all(|f| *f > 0.0), "the frame has a factor that is not positive")?;
        if features > 0 {
            learner.widen(features)?;
        }
        let scale = Frame::of(&learner.config.scale).unwrap_or_default();
        learner.frame = Frame { shift: shift.to_vec(), factor: factor.to_vec(), ..scale };
        learner.outputs_known |= self.header.outputs_known;
        self.restore_classes(learner)
    }

    fn restore_classes(&self, learner: &mut Learner) -> Result<()> {
        let names = &*self.header.classes;
        let distinct: HashSet<_> = names.iter().collect();
        demand(distinct.len() == names.len(), "a class is named twice")?;
        match &learner.config.classes {
            Some(given) => demand(given == names, "the classes are not those of the configuration")?,
            None => learner.classes.extend(names.iter()),
        }
        let signs = learner.classes.positive.is_some();
        let positive = self.header.positive.or(signs.then(|| names.len() - 1));
        demand(
            positive.is_some() == signs && positive.is_none_or(|p| p < names.len().min(2) && (p == 1 || !learner.classes.fixed)),
            "the positive class is not possible",
        )?;
        learner.classes.positive = positive;
        let outputs = self.f64s("head.offsets")?.len() / 3;
        let expected = match learner.config.loss.reads() {
            Reads::Class => names.len(),
            Reads::Vector if !learner.config.gives_outputs() && learner.outputs_known => outputs.max(1),
            _ => learner.outputs(),
        };
        // A single class that has not been learned has no output yet.
        let unlearned = learner.config.loss.reads() == Reads::Class && outputs < names.len();
        demand(outputs <= MOST && (outputs == expected || unlearned), "the number of outputs does not fit the configuration")?;
        learner.engine.all_heads_mut().for_each(|head| head.add_outputs(outputs));
        Ok(())
    }

    /// Restores the statistics of units that follow the stream. A file without them was written when units did not follow.
    fn restore_units(&self, learner: &mut Learner) -> Result<()> {
        if learner.warm.is_some() && self.tensors.tensor("units").is_err() {
            learner.units = None;
        }
        if learner.units.is_none() {
            return Ok(());
        }
        let (state, rows) = (self.f64s("units")?, self.f64s("units.rows")?);
        demand(rows.iter().all(|v| v.abs() <= LARGEST), "tensor `units.rows` has a number that is too large")?;
        let examples = learner.steps();
        learner.units = Units::restored(&state, rows, learner.features, examples);
        demand(learner.units.is_some(), "the statistics of the units are not possible")
    }

    fn restore_terms(&self, learner: &mut Learner) -> Result<()> {
        let (births, ids, holes) = (self.u64s("births")?, self.u64s("ids")?, self.u64s("holes")?);
        let (slots, d, t) = (births.len(), learner.features, learner.engine.t);
        demand(ids.len() == slots && slots < MOST && (d > 0 || slots == 0), "the terms do not fit together")?;
        demand(births.iter().all(|&b| b <= t), "a term is younger than the last example")?;
        let mut empty: Vec<u64> = holes.clone();
        empty.sort_unstable();
        demand(
            empty.iter().copied().eq((0..slots as u64).filter(|&s| births[s as usize] == 0)),
            "the holes are not the empty slots",
        )?;
        let named: Vec<u64> = ids.iter().copied().filter(|&id| id != NO_ID).collect();
        let distinct: HashSet<_> = named.iter().collect();
        let unnamed_holes = holes.iter().all(|&h| ids[h as usize] == NO_ID);
        demand(distinct.len() == named.len() && unnamed_holes, "an id is given twice")?;
        demand(slots == 0 || !learner.engine.basis.has_weights(), "a weight vector has no terms")?;
        demand(
            learner.config.budget().capacity().is_none_or(|terms| slots <= terms),
            "there are more terms than the budget allows",
        )?;
        self.restore_centres(learner, &births)?;
        let terms = &mut learner.engine.basis;
        (terms.births, terms.ids) = (births, ids);
        terms.holes = holes.iter().map(|&h| h as u32).collect();
        terms.restore_ids();
        Ok(())
    }

    fn restore_centres(&self, learner: &mut Learner, births: &[u64]) -> Result<()> {
        let slots = births.len();
        if let Some(space) = learner.engine.basis.space.given_mut() {
            return self.restore_items(space, births);
        }
        let (space, d) = (&mut learner.engine.basis.space, learner.features);
        if let Some((starts, columns)) = self.sparse_rows("centres", learner.config.keeps_zeros(), slots, d)? {
            let values = self.f32s("centres.values")?;
            demand(values.len() == columns.len() && !values.contains(&0.0), "the values of the centres do not fit")?;
            space.make_sparse(0);
            space.reserve(slots);
            for (slot, at) in starts.windows(2).map(|pair| pair[0]..pair[1]).enumerate() {
                space.put_sparse(slot, SparseRow { columns: &columns[at.clone()], values: &values[at] });
            }
            return Ok(());
        }
        let centres = self.f32s("centres")?;
        demand(centres.len() == slots * d, "the terms do not fit together")?;
        let unscaled = if learner.units.is_some() { self.f64s("unscaled")? } else { Vec::new() };
        demand(unscaled.is_empty() || unscaled.len() == slots * d, "the unscaled rows do not fit the terms")?;
        demand(unscaled.iter().all(|v| v.abs() <= LARGEST), "tensor `unscaled` has a number that is too large")?;
        space.reserve(slots);
        for (slot, row) in centres.chunks_exact(d.max(1)).enumerate() {
            let squares = [gram::square(row)];
            let origin = if unscaled.is_empty() { &[][..] } else { &unscaled[slot * d..(slot + 1) * d] };
            space.put(slot, VectorRows::Dense(Points { rows: Matrix::one(row).computed_from(origin), squares: &squares }), 0);
        }
        Ok(())
    }

    /// Where sparse rows begin, and their columns; none if the rows are dense.
    fn sparse_rows(&self, what: &str, possible: bool, rows: usize, features: usize) -> Result<Option<(Vec<usize>, Vec<u32>)>> {
        let starts = format!("{what}.starts");
        if self.tensors.tensor(&starts).is_err() {
            return Ok(None);
        }
        let starts: Vec<usize> = self.u64s(&starts)?.iter().map(|at| *at as usize).collect();
        let (chunks, _) = self.bytes(&format!("{what}.columns"), Dtype::U32)?.as_chunks::<4>();
        let columns: Vec<u32> = chunks.iter().map(|b| u32::from_le_bytes(*b)).collect();
        let fits = possible
            && starts.len() == rows + 1
            && starts[0] == 0
            && starts[rows] == columns.len()
            && starts.windows(2).all(|pair| pair[0] <= pair[1]);
        demand(fits, "the sparse rows do not fit together")?;
        let ascends = |at: &[usize]| columns[at[0]..at[1]].windows(2).all(|pair| pair[0] < pair[1]);
        demand(
            starts.windows(2).all(ascends) && columns.iter().all(|column| (*column as usize) < features),
            "the columns of sparse rows are not possible",
        )?;
        Ok(Some((starts, columns)))
    }

    fn restore_head(&self, learner: &mut Learner, number: usize) -> Result<()> {
        let of_columns = number.checked_sub(learner.engine.heads.len());
        let slots = if of_columns.is_some() { learner.features } else { learner.engine.basis.coordinates() };
        let holes = if of_columns.is_some() { Vec::new() } else { learner.engine.basis.holes.clone() };
        let Engine { heads, linear, basis, output, t, .. } = &mut learner.engine;
        let head = of_columns.map_or_else(|| &mut heads[number], |number| &mut linear.heads[number]);
        let tensor = |what: &str| self.f64s(&head_tensor(number, what));
        let (columns, offsets, numbers) = (tensor("columns")?, tensor("offsets")?, tensor("scalars")?);
        let count = head.offset.len() * head.f.riders().functions();
        demand(
            columns.len() == count * slots && offsets.len() == 3 * head.offset.len(),
            "the coefficients do not fit the terms",
        )?;
        let silent = |h: &u32| columns.chunks_exact(slots.max(1)).all(|c| c[*h as usize] == 0.0);
        demand(holes.iter().all(silent), "an empty slot has a coefficient")?;
        scalars::restore(HEAD, &head_tensor(number, "scalars"), self.names("head.scalars"), &numbers, head)?;
        demand(head.cut_steps <= *t, "there are more cut steps than examples")?;
        demand(head.born <= *t, "a head begins after the last example")?;
        head.f.restore(slots, &columns);
        restore_mass(head, basis, output);
        for (to, from) in [&mut head.offset, &mut head.offset_trace, &mut head.offset_mean]
            .into_iter()
            .zip(offsets.chunks_exact(offsets.len().max(3) / 3))
        {
            to.copy_from_slice(from);
        }
        self.restore_steps(head, number, slots)?;
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

    /// Checks that the members of the bank are those of this version: `auto` may have other members in another version.
    fn check_members(&self, learner: &Learner) -> Result<()> {
        let Some(bank) = &learner.engine.bank else { return Ok(()) };
        demand(
            self.of_voices(0)?.len() == bank.weights.len(),
            "`auto` had other settings in the okl that saved it: learn it again, or freeze it with that okl",
        )
    }

    /// The weights (0) or losses (1) of a bank's voices; 2 is the rest of its state. Up to format 3 they are one tensor.
    fn of_voices(&self, which: usize) -> Result<Vec<f64>> {
        if self.header.format >= 4 {
            return self.f64s(["bank.weights", "bank.losses", "bank"][which]);
        }
        let all = self.f64s("bank")?;
        let voices = all.len().saturating_sub(BANK_OF_OLD) / 2;
        Ok(all[(which * voices).min(all.len())..if which < 2 { (which + 1) * voices } else { all.len() }].to_vec())
    }

    fn restore_bank(&self, learner: &mut Learner) -> Result<()> {
        let Some(bank) = &mut learner.engine.bank else { return Ok(()) };
        let (weights, losses) = (self.of_voices(0)?, self.of_voices(1)?);
        demand(bank.can_have(&weights) && losses.len() == weights.len(), "the bank's state is not possible")?;
        (bank.weights, bank.losses) = (weights, losses);
        if !bank.recent.is_empty() {
            // Before heads could retire, a bank whose widths stay did not have them.
            let older = !learner.config.follows() && self.tensors.tensor("bank.recent").is_err();
            let recent = if older { bank.weights.clone() } else { self.f64s("bank.recent")? };
            let possible = recent.len() == bank.weights.len() && recent.iter().all(|w| (0.0..=1.0).contains(w));
            demand(possible, "the bank's recent weights are not possible")?;
            bank.recent = recent;
        }
        scalars::restore(BANK, "bank", self.names("bank"), &self.of_voices(2)?, bank)?;
        let slots = learner.engine.basis.slots();
        let silent = |(h, head): (usize, &Head<AnyStep>)| !head.retired || (bank.rests(h) && head.f.is_zero(slots));
        let possible =
            learner.engine.heads.iter().enumerate().all(silent) && !learner.engine.heads.iter().all(|head| head.retired);
        demand(possible, "a head that has retired has a weight or coefficients")?;
        learner.engine.choose_planes();
        Ok(())
    }

    /// Restores the counts of classes if classes are balanced. The shadow has none, because its rows come with their weights.
    fn restore_class_counts(&self, learner: &mut Learner) -> Result<()> {
        if learner.config.class_weight != ClassWeight::Balanced {
            return Ok(());
        }
        let counts = self.u64s("class.counts")?;
        let restored = ClassCounts::restored(counts, learner.classes.names.len(), learner.steps());
        learner.counts = restored.ok_or_else(|| Error::snapshot("the counts of classes are not possible"))?;
        Ok(())
    }

    /// Restores the counts of clipped values; zero if an older file has none.
    fn restore_clipped(&self, learner: &mut Learner) -> Result<()> {
        if self.tensors.tensor("clipped").is_err() {
            return Ok(());
        }
        let clipped = Clipped::restored(&self.u64s("clipped")?, learner.features);
        learner.clipped = clipped.ok_or_else(|| Error::snapshot("the counts of clipped values are not possible"))?;
        if self.tensors.tensor("clipped.ranges").is_ok() && !learner.clipped.restore_ranges(&self.f64s("clipped.ranges")?) {
            return Err(Error::snapshot("the ranges of clipped values are not possible"));
        }
        Ok(())
    }

    /// Restores the rounding errors; zero if an older file has none.
    fn restore_rounding(&self, learner: &mut Learner) -> Result<()> {
        if self.tensors.tensor("rounding").is_err() {
            return Ok(());
        }
        let rounding = Rounding::restored(&self.f64s("rounding")?, learner.features);
        learner.rounding = rounding.ok_or_else(|| Error::snapshot("the counts of lost digits are not possible"))?;
        Ok(())
    }

    /// Restores the largest targets and their level; none if an older file has none.
    fn restore_large_targets(&self, learner: &mut Learner) -> Result<()> {
        if self.tensors.tensor("large_targets").is_err() {
            return Ok(());
        }
        let large_targets = LargeTargets::restored(&self.f64s("large_targets")?);
        learner.large_targets = large_targets.ok_or_else(|| Error::snapshot("the largest targets are not possible"))?;
        if self.tensors.tensor("target_level").is_ok() {
            let level = TargetLevel::restored(&self.f64s("target_level")?);
            learner.target_level = level.ok_or_else(|| Error::snapshot("the range of the targets is not possible"))?;
        }
        Ok(())
    }

    /// The state of `budget = auto`, and the shadow of a comparison under way.
    fn restore_growth(&self, learner: &mut Learner) -> Result<()> {
        let Some(mut growth) = learner.growth.take() else { return Ok(()) };
        scalars::restore(GROWTH, "growth", self.names("growth"), &self.f64s("growth")?, &mut growth)?;
        demand((1..MOST).contains(&growth.start), "the initial number of terms is not possible")?;
        if self.tensors.tensor("growth.shadow").is_ok() {
            let file = File::open(self.bytes("growth.shadow", Dtype::U8)?)?;
            // A shadow has a fixed number of terms, so it has no shadow itself.
            demand(file.header.config.memory.is_none(), "the shadow has a shadow")?;
            let mut shadow = Learner::from_file(&file)?;
            shadow.position.clear(); // older files have the caller's bytes here, too
            let [own, whole] =
                [&shadow, learner].map(|learner| (learner.features, learner.engine.heads[0].offset.len(), learner.steps()));
            let reads = shadow.engine.loss().reads() == learner.engine.loss().reads();
            let alike = own == whole && reads && shadow.classes.names == learner.classes.names;
            demand(
                alike && shadow.growth.is_none() && shadow.warm.is_none() && shadow.engine.bank.is_none(),
                "the shadow does not fit the model",
            )?;
            demand(growth.voice < learner.config.members().len(), "the shadow's voice is not there")?;
            learner.watch(&mut shadow, growth.voice);
            growth.shadow = Some(std::sync::Arc::new(shadow));
        }
        learner.growth = Some(growth);
        Ok(())
    }

    fn restore_budget(&self, learner: &mut Learner) -> Result<()> {
        let (slots, budget) = (learner.engine.basis.slots(), &mut learner.engine.budget);
        scalars::restore(BUDGET, "budget", self.names("budget"), &self.f64s("budget")?, budget)?;
        demand(budget.oldest_slot() < slots.max(1), "the budget's oldest slot is not there")
    }

    /// Reads the rows of the warm-up, which older files store in single precision.
    fn rows_of_warmup(&self) -> Result<Vec<f64>> {
        if self.tensors.tensor("warm.x").is_ok_and(|x| x.dtype() == Dtype::F32) {
            return Ok(self.f32s("warm.x")?.into_iter().map(f64::from).collect());
        }
        let x = self.f64s("warm.x")?;
        demand(x.iter().all(|v| v.abs() <= LARGEST), "tensor `warm.x` has a number that is too large")?;
        Ok(x)
    }

    fn restore_warmup(&self, learner: &mut Learner) -> Result<()> {
        let Some(warm) = &mut learner.warm else { return Ok(()) };
        let (numbers, weights) = (self.rows_of_warmup()?, self.f64s("warm.weights")?);
        let (zeros, features) = (learner.config.keeps_zeros(), learner.features);
        let sparse = self.sparse_rows("warm", zeros, weights.len(), features)?;
        let shares = if self.tensors.tensor("warm.shares").is_ok() { self.f64s("warm.shares")? } else { Vec::new() };
        *warm = WarmUp {
            x: KeptRows { numbers, sparse },
            y: self.f64s("warm.y")?,
            width: self.header.warm_width,
            weights,
            shares,
            ids: self.u64s("warm.ids")?,
        };
        let count = warm.weights.len();
        if learner.features == 0 {
            return demand(count == 0, "there are examples of the warm-up before there are features");
        }
        let numbers = warm.x.sparse.as_ref().map_or(count * learner.features, |(_, columns)| columns.len());
        let stored = learner.engine.basis.space.is_sparse() == warm.x.sparse.is_some();
        let fits = stored
            && warm.x.numbers.len() == numbers
            && warm.y.len() == count.saturating_mul(warm.width)
            && warm.ids.len() == count
            && count < learner.config.warmup;
        demand(fits, "the examples of the warm-up do not fit together")?;
        demand(warm.weights.iter().all(|w| *w > 0.0), "an example of the warm-up has no weight")?;
        let shares = if learner.config.class_weight.is_none() { 0 } else { count };
        let shared = warm.shares.len() == shares && warm.shares.iter().all(|share| *share > 0.0 && *share <= 1.0);
        demand(shared, "the weights of classes in the warm-up are not possible")?;
        let outputs = learner.engine.heads[0].offset.len();
        let readable = match learner.config.loss.reads() {
            Reads::Class => warm.width == 1 && warm.y.iter().all(|y| y.fract() == 0.0 && *y >= 0.0 && (*y as usize) < outputs),
            Reads::Sign => warm.width == 1 && warm.y.iter().all(|y| y.abs() == 1.0),
            Reads::Number => warm.width == 1,
            Reads::Vector => warm.width == outputs,
            Reads::Nothing => warm.width == 0,
        };
        demand(count == 0 || readable, "the targets of the warm-up do not fit the loss")?;
        // The provisional statistics are not stored: they are computed again from the rows of the warm-up.
        learner.resume_warmup();
        Ok(())
    }
}

/// The number of single numbers at the end of the tensor `bank`, up to format 3.
const BANK_OF_OLD: usize = 3;

/// Computes the mass of a head from its terms, if the file does not have it.
fn restore_mass<P: Space>(head: &mut Head<AnyStep>, terms: &Terms<P>, output: &Output) {
    if head.norms.mass != NO_MASS {
        return;
    }
    head.norms.mass = 0.0;
    let (mut values, mut term) = (vec![0.0; terms.space.planes()], Term::default());
    for slot in terms.live() {
        terms.space.term_self_values(slot, &mut values);
        head.f.get(slot, &mut term);
        head.norms.exchange_mass(0.0, head.mass_of(output, &values, &term.alpha));
    }
}
