//! Settled chunks: sums over terms that are computed for all rows of a block at once.
//!
//! A sum over terms ([`Backend::weighted_sums`]) adds the totals of chunks in order, and the total of a chunk depends on that
//! chunk alone. A chunk is settled while none of its coefficients changes. The totals of settled chunks can therefore be computed
//! for all rows of a block in advance; adding them in the order of the chunks gives the same bits. If a chunk has changed by the
//! time a row is read, the loop computes its total again.
//!
//! [`SettledChunks`] is the interface of the code that computes these totals. [`Threads`] computes them on the threads of this
//! machine: the coefficients are loaded once per block instead of once per row, which saves most of the time when there are many
//! outputs and terms.

use rayon::prelude::*;

use crate::coordinates::Coordinates;
use crate::gram::{Backend, CHUNK};

/// The data from which the totals of a block are computed.
pub(crate) struct Request<'a> {
    /// The functions to sum, by index; each with the plane of kernel values that it reads. None for a function that is not read.
    pub functions: &'a (dyn Fn(usize) -> Option<(&'a Coordinates, usize)> + Sync),
    /// The number of functions.
    pub count: usize,
    /// The kernel values of a row in a plane against all slots.
    pub row: &'a (dyn Fn(usize, usize) -> &'a [f32] + Sync),
    /// The number of rows.
    pub rows: usize,
    /// The number of slots.
    pub slots: usize,
    /// The instruction set.
    pub backend: Backend,
    /// The number of threads of rayon's current pool that share the work.
    pub threads: usize,
}

/// Computes the totals of chunks at the start of a block and returns them while it is learned.
///
/// Law: the totals of a chunk are those of [`Coordinates::sum_chunk`] at the beginning of the block, to the last bit.
pub(crate) trait SettledChunks {
    /// Computes the totals of all whole chunks for the rows of a block. Returns false, with nothing computed, where that is not
    /// faster.
    fn begin(&mut self, block: &Request<'_>) -> bool;
    /// The totals of the columns of a function over one chunk, for one row. None if they were not computed.
    fn totals(&self, function: usize, row: usize, chunk: usize) -> Option<&[f64]>;
    /// Bytes of the workspace that grows with the number of terms.
    fn bytes(&self) -> usize;
}

/// If the coefficients take fewer bytes than this, they stay in cache from row to row, and totals are not precomputed.
const WORTHWHILE: usize = 1 << 18;

/// Computes totals on the threads of this machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Threads {
    chunks: usize,
    rows: usize,
    /// The index of the first column of each function, and the total number of columns.
    starts: Vec<usize>,
    /// Ordered by chunk, then row, then column.
    totals: Vec<f64>,
}

impl SettledChunks for Threads {
    fn begin(&mut self, block: &Request<'_>) -> bool {
        self.chunks = 0;
        if block.rows == 1 || block.slots < CHUNK {
            return false;
        }
        self.starts.clear();
        self.starts.push(0);
        for i in 0..block.count {
            self.starts.push(self.starts[i] + (block.functions)(i).map_or(0, |(f, _)| f.columns()));
        }
        let columns = self.starts[block.count];
        if columns * block.slots * size_of::<f64>() < WORTHWHILE {
            return false;
        }
        (self.chunks, self.rows) = (block.slots / CHUNK, block.rows);
        let wanted = self.chunks * self.rows * columns;
        self.totals.reserve_exact(wanted.saturating_sub(self.totals.len()));
        self.totals.resize(wanted, 0.0);
        let starts = &self.starts;
        let of_chunk = |(chunk, totals): (usize, &mut [f64])| {
            // Function by function, so that its coefficients stay in the cache for all rows.
            for i in 0..block.count {
                let Some((f, plane)) = (block.functions)(i) else { continue };
                for (r, totals) in totals.chunks_exact_mut(columns).enumerate() {
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
