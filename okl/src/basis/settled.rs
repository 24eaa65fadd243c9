//! Sums over terms, taken ahead for all rows of a tile.
//!
//! The order of a sum ([`Backend::weighted_sums`]) goes chunk by chunk, and the total of a chunk depends on that chunk alone. So
//! the totals of chunks that do not change while a tile is learned can be taken for all its rows at once, with the coefficients
//! in cache: they are then fetched once a tile instead of once a row, which is most of the time where outputs and terms are many.
//! No bit depends on it: a chunk that has changed by the time a row is read is summed again. A bank keeps its terms within a chunk
//! or two that change with nearly every row, so this is for a head that is alone.

use rayon::prelude::*;

use crate::coordinates::Expansion;
use crate::gram::{Backend, CHUNK};

/// Coefficients of fewer bytes stay in cache from row to row.
const WORTHWHILE: usize = 1 << 18;

/// Chunk totals of a tile's rows; none where it is not worthwhile.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ahead {
    chunks: usize,
    count: usize,
    columns: usize,
    totals: Vec<f64>,
}

impl Ahead {
    /// Forgets the tile before.
    pub fn forget(&mut self) {
        self.chunks = 0;
    }

    pub fn bytes(&self) -> usize {
        self.totals.capacity() * size_of::<f64>()
    }

    /// Is there anything?
    pub fn is_taken(&self) -> bool {
        self.chunks > 0
    }

    /// Takes the totals of all whole chunks for `count` rows of kernel values; `threads` share the chunks in rayon's current pool.
    pub fn take<'r>(
        &mut self,
        (backend, threads): (Backend, usize),
        expansion: &mut Expansion,
        count: usize,
        row: impl Fn(usize) -> &'r [f32] + Sync,
    ) {
        let (slots, columns) = (row(0).len(), expansion.columns());
        if count == 1 || columns * slots * size_of::<f64>() < WORTHWHILE {
            return;
        }
        expansion.nothing_changed();
        (self.chunks, self.count, self.columns) = (slots / CHUNK, count, columns);
        let wanted = self.chunks * count * columns;
        self.totals.reserve_exact(wanted.saturating_sub(self.totals.len()));
        self.totals.resize(wanted, 0.0);
        let of_chunk = |(chunk, totals): (usize, &mut [f64])| {
            for (r, totals) in totals.chunks_exact_mut(columns).enumerate() {
                expansion.sum_chunk(backend, &row(r)[chunk * CHUNK..][..CHUNK], chunk, totals);
            }
        };
        match threads {
            0 | 1 => self.totals.chunks_exact_mut(count * columns).enumerate().for_each(of_chunk),
            _ => self.totals.par_chunks_exact_mut(count * columns).enumerate().for_each(of_chunk),
        }
    }

    /// The totals of a chunk for a row, if it is one of those that were taken.
    pub fn of(&self, r: usize, chunk: usize) -> Option<&[f64]> {
        let place = self.place(r, chunk);
        (chunk < self.chunks).then(|| &self.totals[place..place + self.columns])
    }

    fn place(&self, r: usize, chunk: usize) -> usize {
        (chunk * self.count + r) * self.columns
    }
}
