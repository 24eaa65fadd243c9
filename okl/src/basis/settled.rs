//! Settled chunks: sums over terms that are taken for all rows of a block at once.
//!
//! The order of a sum ([`Backend::weighted_sums`]) goes chunk by chunk, and the total of a chunk depends on that chunk alone. A chunk is
//! settled while nothing in it changes. So a place that holds coefficients and kernel values can return the totals of settled chunks
//! for all rows of a block, and the loop adds the totals in the order of chunks: the same bits. A chunk that has changed by the
//! time a row is read is summed by the loop.
//!
//! [`SettledChunks`] is that place. [`Threads`] is this machine: the coefficients are fetched once a block instead of once a row,
//! which is most of the time where outputs and terms are many.

use rayon::prelude::*;

use crate::coordinates::Coordinates;
use crate::gram::{Backend, CHUNK};

/// What a place reads when a block begins.
pub(crate) struct Request<'a> {
    /// The functions whose totals are wanted, one after the other, each with the plane of kernel values that it reads.
    pub functions: &'a (dyn Fn(usize) -> (&'a Coordinates, usize) + Sync),
    /// The number of functions.
    pub count: usize,
    /// The kernel values of a plane and a row against all slots.
    pub row: &'a (dyn Fn(usize, usize) -> &'a [f32] + Sync),
    /// The number of rows.
    pub rows: usize,
    /// The number of slots.
    pub slots: usize,
    /// The instruction set.
    pub backend: Backend,
    /// The threads that share the work, in rayon's current pool.
    pub threads: usize,
}

/// A place that returns the totals of chunks that do not change while a block is learned.
///
/// Law: the totals of a chunk are those of [`Coordinates::sum_chunk`] at the beginning of the block, to the last bit.
pub(crate) trait SettledChunks {
    /// Takes the totals of all whole chunks for the rows of a block; false, with nothing taken, where that does not pay.
    fn begin(&mut self, block: &Request<'_>) -> bool;
    /// The totals of the columns of a function over one chunk, for one row; none where they were not taken.
    fn totals(&self, function: usize, row: usize, chunk: usize) -> Option<&[f64]>;
    /// Bytes held that grow with the number of terms.
    fn bytes(&self) -> usize;
}

/// Coefficients of fewer bytes stay in cache from row to row.
const WORTHWHILE: usize = 1 << 18;

/// The threads of this machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Threads {
    chunks: usize,
    rows: usize,
    /// Where the columns of each function begin, and the number of all columns.
    starts: Vec<usize>,
    /// Chunk by chunk, row by row, column by column.
    totals: Vec<f64>,
}

impl SettledChunks for Threads {
    fn begin(&mut self, block: &Request<'_>) -> bool {
        self.chunks = 0;
        self.starts.clear();
        self.starts.push(0);
        for i in 0..block.count {
            self.starts.push(self.starts[i] + (block.functions)(i).0.columns());
        }
        let columns = self.starts[block.count];
        if block.rows == 1 || block.slots < CHUNK || columns * block.slots * size_of::<f64>() < WORTHWHILE {
            return false;
        }
        (self.chunks, self.rows) = (block.slots / CHUNK, block.rows);
        let wanted = self.chunks * self.rows * columns;
        self.totals.reserve_exact(wanted.saturating_sub(self.totals.len()));
        self.totals.resize(wanted, 0.0);
        let starts = &self.starts;
        let of_chunk = |(chunk, totals): (usize, &mut [f64])| {
            for (r, totals) in totals.chunks_exact_mut(columns).enumerate() {
                for i in 0..block.count {
                    let (f, plane) = (block.functions)(i);
                    let row = &(block.row)(plane, r)[chunk * CHUNK..][..CHUNK];
                    f.sum_chunk(block.backend, row, chunk, &mut totals[starts[i]..starts[i + 1]]);
                }
            }
        };
        match block.threads {
            0 | 1 => self.totals.chunks_exact_mut(block.rows * columns).enumerate().for_each(of_chunk),
            _ => self.totals.par_chunks_exact_mut(block.rows * columns).enumerate().for_each(of_chunk),
        }
        true
    }

    fn totals(&self, function: usize, row: usize, chunk: usize) -> Option<&[f64]> {
        let columns = self.starts.last().copied().unwrap_or(0);
        let place = (chunk * self.rows + row) * columns;
        (chunk < self.chunks).then(|| &self.totals[place + self.starts[function]..place + self.starts[function + 1]])
    }

    fn bytes(&self) -> usize {
        self.totals.capacity() * size_of::<f64>()
    }
}
