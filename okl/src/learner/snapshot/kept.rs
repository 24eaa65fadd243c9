//! Tensors over slots of which some chunks are kept elsewhere: they are fetched chunk by chunk while the file is written.

use std::io::{self, Write};
use std::ops::Range;

use super::head_tensor;
use super::write::{Data, Tensor};
use crate::basis::terms::Terms;
use crate::basis::{Basis, Space};
use crate::coordinates::Coordinates;
use crate::engine::kept::{At, KeptChunks, Layout};
use crate::gram::CHUNK;
use crate::sharded::chunk::Chunk;

/// What a tensor has for each slot.
#[derive(Clone, Copy)]
pub(super) enum Part {
    Births,
    Ids,
    Centres,
    Columns,
}

impl Part {
    fn of(tensor: &str) -> Option<Self> {
        match tensor {
            "births" => Some(Part::Births),
            "ids" => Some(Part::Ids),
            "centres" => Some(Part::Centres),
            name => (name == head_tensor(0, "columns")).then_some(Part::Columns),
        }
    }

    /// The dimension of the tensor that counts slots.
    fn axis(self) -> usize {
        usize::from(matches!(self, Part::Columns))
    }
}

/// Where the slots of a learner are.
#[derive(Clone, Copy)]
pub(super) struct Divided<'a> {
    kept: &'a KeptChunks,
    /// The places of the chunks that are here, and the number of slots that are not.
    here: &'a [usize],
    elsewhere: usize,
}

/// Adds the slots that are kept elsewhere to those of the learner.
pub(super) fn add_kept<'a, P: Space>(tensors: &mut [Tensor<'a>], terms: &'a Terms<P>, kept: &'a KeptChunks) {
    let slots = Divided { kept, here: terms.places(), elsewhere: terms.elsewhere() };
    for tensor in tensors.iter_mut().filter(|_| slots.elsewhere > 0) {
        if let Some(part) = Part::of(&tensor.name) {
            tensor.shape[part.axis()] += slots.elsewhere;
            let own = std::mem::replace(&mut tensor.data, Data::Checksum);
            tensor.data = Data::Divided(part, slots, Box::new(own));
        }
    }
}

/// Writes a tensor of this shape: the slots that are kept elsewhere and those of the learner, in their order.
pub(super) fn write(part: Part, slots: Divided<'_>, own: &Data<'_>, shape: &[usize], to: &mut impl Write) -> io::Result<()> {
    let mut shape = shape.to_vec();
    shape[part.axis()] -= slots.elsewhere;
    if let Data::Columns(f) = own {
        return write_columns(slots, f, &shape, to);
    }
    let mut here = Vec::new();
    own.write(&shape, 0, &mut here)?;
    let of_chunk = here.len() / shape[0].max(1) * CHUNK;
    each_chunk(slots, |chunk| match (chunk, part) {
        (Slots::Here(chunk), _) => to.write_all(&here[chunk * of_chunk..here.len().min((chunk + 1) * of_chunk)]),
        (Slots::Fetched(chunk), Part::Births) => chunk.births.iter().try_for_each(|v| to.write_all(&v.to_le_bytes())),
        (Slots::Fetched(chunk), Part::Ids) => chunk.ids.iter().try_for_each(|v| to.write_all(&v.to_le_bytes())),
        (Slots::Fetched(mut chunk), Part::Centres) => write_centres(&mut chunk, shape[1], to),
        (Slots::Fetched(_), Part::Columns) => Ok(()),
    })
}

/// A chunk of the learner, or one that was fetched.
enum Slots {
    Here(usize),
    Fetched(Box<Chunk>),
}

/// Calls `each` with all chunks in order, one at a time.
fn each_chunk(slots: Divided<'_>, mut each: impl FnMut(Slots) -> io::Result<()>) -> io::Result<()> {
    let Some(mut kept) = slots.kept.lock() else { return Ok(()) };
    let there = kept.only_there(slots.here);
    Layout::new(&there, slots.here).chunks().try_for_each(|at| match at {
        At::Here(chunk) => each(Slots::Here(chunk)),
        At::Keeper(at) => each(Slots::Fetched(Box::new(kept.fetch(there[at]).map_err(io::Error::other)?))),
    })
}

/// Features that came after the chunk had left are 0.
fn write_centres(chunk: &mut Chunk, features: usize, to: &mut impl Write) -> io::Result<()> {
    chunk.panels.widen(features);
    let mut centre = vec![0.0; features];
    (0..CHUNK).try_for_each(|slot| {
        chunk.panels.get(slot, &mut centre);
        centre.iter().try_for_each(|v| to.write_all(&v.to_le_bytes()))
    })
}

fn write_columns(slots: Divided<'_>, f: &Coordinates, shape: &[usize], to: &mut impl Write) -> io::Result<()> {
    for column in 0..shape[0] {
        let mut write = |f: &Coordinates, slots: Range<usize>| {
            let mut values = f.columns_of(slots.end).skip(column).take(1).flat_map(|values| &values[slots.start..]);
            values.try_for_each(|v| to.write_all(&v.to_le_bytes()))
        };
        each_chunk(slots, |chunk| match chunk {
            Slots::Here(chunk) => write(f, chunk * CHUNK..shape[1].min((chunk + 1) * CHUNK)),
            Slots::Fetched(chunk) => write(&chunk.f, 0..CHUNK),
        })?;
    }
    Ok(())
}
