//! Writes a model file as a stream.
//!
//! Numbers go from the learner to the writer through a small buffer, without a second copy of the model. The checksum is near the
//! beginning of the file, so all numbers are read twice: first for the checksum, then for the writer.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, BufWriter, Write};

use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use xxhash_rust::xxh3::Xxh3;

use crate::basis::unscaled::UnscaledRows;
use crate::basis::vectors::Vectors;
use crate::config::ClassWeight;
use crate::coordinates::Coordinates;
use crate::engine::head::Head;
use crate::learner::Learner;
use crate::learner::scalars::{self, BANK, BUDGET, COUNTS, GROWTH, HEAD};
use crate::learner::snapshot::{FORMAT, Header, head_tensor, kept, scalar_names};
use crate::parts::kernel::AnyKernel;
use crate::parts::step::AnyStep;

/// A tensor to write.
pub(super) struct Tensor<'a> {
    pub name: String,
    pub shape: Vec<usize>,
    pub data: Data<'a>,
}

/// The numbers of a tensor, borrowed from the learner.
pub(super) enum Data<'a> {
    Doubles(Cow<'a, [f64]>),
    Wholes(Cow<'a, [u64]>),
    Bytes(&'a [u8]),
    /// Slots, which are written as 64-bit numbers.
    Slots(&'a [u32]),
    Centres(&'a Vectors<AnyKernel>),
    /// Numbers of 32 bits.
    Singles(Cow<'a, [f32]>),
    Columns32(Cow<'a, [u32]>),
    Columns(&'a Coordinates),
    /// The step sizes of coordinates.
    Steps(&'a Coordinates),
    Unscaled(&'a UnscaledRows),
    /// A model file inside the model file, with its checksum.
    File(Plan<'a>, u64),
    /// Slots of which some chunks are kept elsewhere, with the numbers of the other slots.
    Divided(kept::Part, kept::Divided<'a>, Box<Data<'a>>),
    /// The place of the checksum.
    Checksum,
}

impl<'a> Tensor<'a> {
    fn new(name: impl Into<String>, shape: &[usize], data: Data<'a>) -> Self {
        Tensor { name: name.into(), shape: shape.to_vec(), data }
    }

    fn doubles(name: impl Into<String>, values: impl Into<Cow<'a, [f64]>>) -> Self {
        let values = values.into();
        Tensor::new(name, &[values.len()], Data::Doubles(values))
    }

    fn wholes(name: &str, values: impl Into<Cow<'a, [u64]>>) -> Self {
        let values = values.into();
        Tensor::new(name, &[values.len()], Data::Wholes(values))
    }

    fn columns(name: &str, columns: impl Into<Cow<'a, [u32]>>) -> Self {
        let columns = columns.into();
        Tensor::new(name, &[columns.len()], Data::Columns32(columns))
    }

    fn dtype(&self) -> Dtype {
        self.data.dtype()
    }

    fn bytes(&self) -> usize {
        self.shape.iter().product::<usize>() * self.dtype().bitsize() / 8
    }
}

impl Data<'_> {
    fn dtype(&self) -> Dtype {
        match self {
            Data::Doubles(_) | Data::Columns(_) | Data::Steps(_) | Data::Unscaled(_) => Dtype::F64,
            Data::Wholes(_) | Data::Slots(_) | Data::Checksum => Dtype::U64,
            Data::Bytes(_) | Data::File(..) => Dtype::U8,
            Data::Centres(_) | Data::Singles(_) => Dtype::F32,
            Data::Columns32(_) => Dtype::U32,
            Data::Divided(_, _, own) => own.dtype(),
        }
    }

    /// Writes the numbers of a tensor of this shape.
    pub(super) fn write(&self, shape: &[usize], checksum: u64, to: &mut impl Write) -> io::Result<()> {
        match self {
            Data::Doubles(values) => values.iter().try_for_each(|v| to.write_all(&v.to_le_bytes())),
            Data::Wholes(values) => values.iter().try_for_each(|v| to.write_all(&v.to_le_bytes())),
            Data::Slots(slots) => slots.iter().try_for_each(|v| to.write_all(&u64::from(*v).to_le_bytes())),
            Data::Bytes(bytes) => to.write_all(bytes),
            Data::Singles(values) => values.iter().try_for_each(|v| to.write_all(&v.to_le_bytes())),
            Data::Columns32(columns) => columns.iter().try_for_each(|v| to.write_all(&v.to_le_bytes())),
            Data::Centres(space) => {
                let mut centre = vec![0.0; shape[1]];
                (0..shape[0]).try_for_each(|slot| {
                    space.centre(slot, &mut centre);
                    centre.iter().try_for_each(|v| to.write_all(&v.to_le_bytes()))
                })
            }
            Data::Columns(expansion) => {
                let mut values = expansion.columns_of(shape[1]).flatten();
                values.try_for_each(|v| to.write_all(&v.to_le_bytes()))
            }
            Data::Steps(expansion) => {
                let mut values = expansion.step_columns(shape[1]).flatten();
                values.try_for_each(|v| to.write_all(&v.to_le_bytes()))
            }
            Data::Unscaled(rows) => {
                let mut values = (0..shape[0]).flat_map(|slot| rows.row(slot));
                values.try_for_each(|v| to.write_all(&v.to_le_bytes()))
            }
            Data::Divided(part, slots, own) => kept::write(*part, *slots, own, shape, to),
            Data::File(plan, own) => plan.write(*own, &mut *to as &mut dyn Write),
            Data::Checksum => to.write_all(&checksum.to_le_bytes()),
        }
    }
}

/// A model file before it is written.
pub(super) struct Plan<'a> {
    /// The length of the header and the header.
    head: Vec<u8>,
    tensors: Vec<Tensor<'a>>,
}

impl<'a> Plan<'a> {
    fn new(text: String, mut tensors: Vec<Tensor<'a>>) -> Self {
        // The order of safetensors: larger types first, then names.
        tensors.sort_by(|a, b| b.dtype().cmp(&a.dtype()).then(a.name.cmp(&b.name)));
        let mut end = 0;
        let infos = tensors.iter().map(|tensor| {
            let start = end;
            end += tensor.bytes();
            let info = TensorInfo { dtype: tensor.dtype(), shape: tensor.shape.clone(), data_offsets: (start, end) };
            (tensor.name.clone(), info)
        });
        // One entry only: the order of several entries in a `HashMap` would be random.
        let entries = HashMap::from([("okl".into(), text)]);
        let metadata = Metadata::new(Some(entries), infos.collect()).expect("tensors follow each other without gaps");
        let mut header = serde_json::to_vec(&metadata).expect("a header is always representable");
        header.resize(header.len().next_multiple_of(8), b' ');
        let head = [&(header.len() as u64).to_le_bytes(), header.as_slice()].concat();
        Plan { head, tensors }
    }

    fn bytes(&self) -> usize {
        self.head.len() + self.tensors.iter().map(Tensor::bytes).sum::<usize>()
    }

    fn write(&self, checksum: u64, to: impl Write) -> io::Result<()> {
        let mut to = BufWriter::new(to);
        to.write_all(&self.head)?;
        self.tensors.iter().try_for_each(|tensor| tensor.data.write(&tensor.shape, checksum, &mut to))?;
        to.flush()
    }

    /// XXH3 of all bytes, with the bytes of the checksum set to zero.
    fn checksum(&self) -> io::Result<u64> {
        let mut hash = Hash(Xxh3::new());
        self.write(0, &mut hash)?;
        Ok(hash.0.digest())
    }
}

struct Hash(Xxh3);

impl Write for Hash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Learner {
    /// The model file as bytes.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// learner.learn(&Batch::new(&[0.0, 9.0], 1).numbers(&[1.0, -1.0]))?;
    /// let loaded = Learner::from_bytes(&learner.to_bytes())?;
    /// assert_eq!(loaded.coefficients(), learner.coefficients());
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let plan = self.plan();
        let mut bytes = Vec::with_capacity(plan.bytes());
        plan.checksum().and_then(|checksum| plan.write(checksum, &mut bytes)).expect("memory takes every byte");
        bytes
    }

    /// Writes the model file (the bytes of [`Learner::to_bytes`]) as a stream. This needs memory for the header, one centre and a
    /// buffer of 16 kB.
    ///
    /// ```
    /// use okl::{Config, Learner};
    /// let learner = Learner::new(Config::default())?;
    /// let mut file = Vec::new();                              // anything that can be written to: a file, a socket
    /// learner.write_to(&mut file).unwrap();
    /// assert_eq!(file, learner.to_bytes());
    /// # Ok::<(), okl::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_to(&self, to: impl Write) -> io::Result<()> {
        let plan = self.plan();
        plan.write(plan.checksum()?, to)
    }

    fn plan(&self) -> Plan<'_> {
        let header = Header {
            format: FORMAT,
            _checksum: String::new(),
            config: Cow::Borrowed(&self.config),
            classes: Cow::Borrowed(&self.classes.names),
            positive: self.classes.positive,
            warm_width: self.warm.as_ref().map_or(0, |w| w.width),
            outputs_known: self.outputs_known,
            scalars: scalar_names(),
            #[cfg(test)]
            not_yet: 1,
        };
        Plan::new(serde_json::to_string(&header).expect("a header is always representable"), self.tensors())
    }

    fn tensors(&self) -> Vec<Tensor<'_>> {
        let terms = &self.engine.basis;
        let slots = terms.slots();
        let mut tensors = vec![
            Tensor::new("checksum", &[1], Data::Checksum),
            Tensor::wholes("counts", scalars::values(COUNTS, self)),
            Tensor::wholes("births", &terms.births),
            Tensor::wholes("ids", &terms.ids),
            Tensor::new("holes", &[terms.holes.len()], Data::Slots(&terms.holes)),
            Tensor::doubles("budget", scalars::values(BUDGET, &self.engine.budget)),
            Tensor::doubles("frame", [self.frame.shift.as_slice(), &self.frame.factor].concat()),
            Tensor::new("position", &[self.position.len()], Data::Bytes(&self.position)),
        ];
        tensors.extend(centres(&terms.space, slots));
        let coordinates = terms.coordinates();
        let of_terms = self.engine.heads.iter().map(|head| (head, coordinates));
        let of_columns = self.engine.linear.heads.iter().map(|head| (head, self.features));
        let heads = of_terms.chain(of_columns).enumerate();
        tensors.extend(heads.flat_map(|(h, (head, coordinates))| head.tensors(h, coordinates)));
        if let Some(bank) = &self.engine.bank {
            tensors.push(Tensor::doubles("bank", scalars::values(BANK, bank)));
            tensors.push(Tensor::doubles("bank.weights", &bank.weights));
            tensors.push(Tensor::doubles("bank.losses", &bank.losses));
            if !bank.recent.is_empty() {
                tensors.push(Tensor::doubles("bank.recent", &bank.recent));
            }
        }
        if let Some(growth) = &self.growth {
            tensors.push(Tensor::doubles("growth", scalars::values(GROWTH, growth)));
            if let Some(shadow) = &growth.shadow {
                let plan = shadow.plan();
                let checksum = plan.checksum().expect("a checksum takes every byte");
                tensors.push(Tensor::new("growth.shadow", &[plan.bytes()], Data::File(plan, checksum)));
            }
        }
        if self.config.class_weight == ClassWeight::Balanced {
            tensors.push(Tensor::wholes("class.counts", self.counts.state()));
        }
        if let Some(units) = &self.units {
            tensors.push(Tensor::doubles("units", units.state()));
            tensors.push(Tensor::doubles("units.rows", units.rows()));
            if let Some(rows) = terms.space.unscaled() {
                tensors.push(Tensor::new("unscaled", &[slots, self.features], Data::Unscaled(rows)));
            }
        }
        if self.clipped.examples > 0 {
            tensors.push(Tensor::wholes("clipped", self.clipped.state()));
            let ranges = self.clipped.ranges();
            if !ranges.is_empty() {
                tensors.push(Tensor::doubles("clipped.ranges", ranges));
            }
        }
        if self.rounding.examples > 0 {
            tensors.push(Tensor::doubles("rounding", self.rounding.state()));
        }
        if !self.large_targets.is_empty() {
            tensors.push(Tensor::doubles("large_targets", self.large_targets.state()));
        }
        if !self.target_level.is_empty() {
            tensors.push(Tensor::doubles("target_level", self.target_level.state()));
        }
        if let Some(warm) = &self.warm {
            tensors.push(Tensor::doubles("warm.x", &warm.x.numbers));
            if let Some((starts, columns)) = &warm.x.sparse {
                tensors.push(Tensor::wholes("warm.starts", starts.iter().map(|at| *at as u64).collect::<Vec<_>>()));
                tensors.push(Tensor::columns("warm.columns", columns));
            }
            tensors.push(Tensor::doubles("warm.y", &warm.y));
            tensors.push(Tensor::doubles("warm.weights", &warm.weights));
            tensors.push(Tensor::wholes("warm.ids", &warm.ids));
            if !warm.shares.is_empty() {
                tensors.push(Tensor::doubles("warm.shares", &warm.shares));
            }
        }
        kept::add_kept(&mut tensors, terms, &self.engine.kept);
        tensors
    }
}

/// The centres as a matrix, as the values of sparse rows, or as items and their kernel values.
fn centres(space: &Vectors<AnyKernel>, slots: usize) -> Vec<Tensor<'_>> {
    if let Some(space) = space.given() {
        let (own, between) = space.values(slots);
        return vec![
            Tensor::wholes("items", space.items(slots)),
            Tensor::doubles("items.own", own),
            Tensor::new("items.between", &[between.len()], Data::Singles(between.into())),
        ];
    }
    if !space.is_sparse() {
        return vec![Tensor::new("centres", &[slots, space.features()], Data::Centres(space))];
    }
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in (0..slots).filter_map(|slot| space.sparse_centre(slot)) {
        columns.extend_from_slice(row.columns);
        values.extend_from_slice(row.values);
        starts.push(columns.len() as u64);
    }
    vec![
        Tensor::wholes("centres.starts", starts),
        Tensor::columns("centres.columns", columns),
        Tensor::new("centres.values", &[values.len()], Data::Singles(values.into())),
    ]
}

impl Head<AnyStep> {
    fn tensors(&self, number: usize, slots: usize) -> Vec<Tensor<'_>> {
        let name = |what: &str| head_tensor(number, what);
        let columns = if slots > 0 { self.f.columns() } else { 0 };
        let offsets = [self.offset.as_slice(), &self.offset_trace, &self.offset_mean].concat();
        let gathered = self.tracker.as_ref().map_or(&[][..], |t| &t.gathered);
        let mut tensors = vec![
            Tensor::new(name("columns"), &[columns, slots], Data::Columns(&self.f)),
            Tensor::doubles(name("scalars"), scalars::values(HEAD, self)),
            Tensor::new(name("offsets"), &[3, self.offset.len()], Data::Doubles(offsets.into())),
            Tensor::doubles(name("gathered"), gathered),
        ];
        if self.f.steps().is_some() {
            let outputs = if slots > 0 { self.f.outputs() } else { 0 };
            tensors.push(Tensor::new(name("steps"), &[outputs, slots], Data::Steps(&self.f)));
            tensors.push(Tensor::doubles(name("offset_steps"), &self.offset_etas));
        }
        tensors
    }
}
