//! Tensors over slots whose first chunks are kept elsewhere: they are fetched chunk by chunk while the file is written.

use std::io::{self, Write};

use super::head_tensor;
use super::write::{Data, Tensor};
use crate::coordinates::Coordinates;
use crate::engine::kept::KeptChunks;
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

/// Puts the slots that are kept elsewhere in front of those of the learner.
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

/// Writes a tensor of this shape: the slots that are kept elsewhere, then those of the learner.
pub(super) fn write(part: Part, kept: &KeptChunks, own: &Data<'_>, shape: &[usize], to: &mut impl Write) -> io::Result<()> {
    let mut shape = shape.to_vec();
    shape[part.axis()] -= kept.slots();
    if let Data::Columns(f) = own {
        return write_columns(kept, f, &shape, to);
    }
    each_chunk(kept, |mut chunk| match part {
        Part::Births => chunk.births.iter().try_for_each(|v| to.write_all(&v.to_le_bytes())),
        Part::Ids => chunk.ids.iter().try_for_each(|v| to.write_all(&v.to_le_bytes())),
        Part::Centres => write_centres(&mut chunk, shape[1], to),
        Part::Columns => Ok(()),
    })?;
    own.write(&shape, 0, to)
}

/// Calls `each` with all chunks in order, one at a time.
fn each_chunk(kept: &KeptChunks, mut each: impl FnMut(Chunk) -> io::Result<()>) -> io::Result<()> {
    let Some(mut kept) = kept.lock() else { return Ok(()) };
    (0..kept.gone()).try_for_each(|index| each(kept.fetch(index).map_err(io::Error::other)?))
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
        let mut write = |f: &Coordinates, slots: usize| {
            let mut values = f.columns_of(slots).skip(column).take(1).flatten();
            values.try_for_each(|v| to.write_all(&v.to_le_bytes()))
        };
        each_chunk(kept, |chunk| write(&chunk.f, CHUNK))?;
        write(f, shape[1])?;
    }
    Ok(())
}
