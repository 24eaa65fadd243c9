//! Tensors over slots of which some chunks are kept elsewhere: they are fetched chunk by chunk while the file is written.

use std::io::{self, Write};
use std::ops::Range;

use super::head_tensor;
use super::write::{Data, Tensor};
use crate::coordinates::Coordinates;
use crate::engine::kept::{At, KeptChunks};
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

/// Adds the slots that are kept elsewhere to those of the learner.
pub(super) fn add_kept<'a>(tensors: &mut [Tensor<'a>], kept: &'a KeptChunks) {
    let slots = kept.slots();
    for tensor in tensors.iter_mut().filter(|_| slots > 0) {
        if let Some(part) = Part::of(&tensor.name) {
            tensor.shape[part.axis()] += slots;
            let own = std::mem::replace(&mut tensor.data, Data::Checksum);
            tensor.data = Data::AfterKept(part, kept, Box::new(own));
        }
    }
}

/// Writes a tensor of this shape: the slots that are kept elsewhere and those of the learner, in their order.
pub(super) fn write(part: Part, kept: &KeptChunks, own: &Data<'_>, shape: &[usize], to: &mut impl Write) -> io::Result<()> {
    let mut shape = shape.to_vec();
    shape[part.axis()] -= kept.slots();
    if let Data::Columns(f) = own {
        return write_columns(kept, f, &shape, to);
    }
    let mut here = Vec::new();
    own.write(&shape, 0, &mut here)?;
    let of_chunk = here.len() / shape[0].max(1) * CHUNK;
    each_chunk(kept, shape[0], |chunk| match (chunk, part) {
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

/// Calls `each` with all chunks in order, one at a time, if the learner has this number of slots.
fn each_chunk(kept: &KeptChunks, slots: usize, mut each: impl FnMut(Slots) -> io::Result<()>) -> io::Result<()> {
    let Some(mut kept) = kept.lock() else { return Ok(()) };
    kept.layout(slots).chunks().try_for_each(|at| match at {
        At::Here(chunk) => each(Slots::Here(chunk)),
        At::Keeper(number) => each(Slots::Fetched(Box::new(kept.fetch(number).map_err(io::Error::other)?))),
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

fn write_columns(kept: &KeptChunks, f: &Coordinates, shape: &[usize], to: &mut impl Write) -> io::Result<()> {
    for column in 0..shape[0] {
        let mut write = |f: &Coordinates, slots: Range<usize>| {
            let mut values = f.columns_of(slots.end).skip(column).take(1).flat_map(|values| &values[slots.start..]);
            values.try_for_each(|v| to.write_all(&v.to_le_bytes()))
        };
        each_chunk(kept, shape[1], |chunk| match chunk {
            Slots::Here(chunk) => write(f, chunk * CHUNK..shape[1].min((chunk + 1) * CHUNK)),
            Slots::Fetched(chunk) => write(&chunk.f, 0..CHUNK),
        })?;
    }
    Ok(())
}
