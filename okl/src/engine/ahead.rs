//! Sums over the newest terms that are settled, which a place elsewhere does not have yet: for all rows of a request at once, and not
//! for 32 rows at a time, so that the threads have enough to do.
//!
//! The terms that come while these rows are learned belong to the same chunks. So what is kept is not a total but the lanes of the sum,
//! which are continued with the slots that follow (`Backend::totals_from`): the order of the additions stays as it is.

use std::ops::Range;

use rayon::prelude::*;

use crate::basis::block::ROWS;
use crate::basis::{Points, Space};
use crate::coordinates::Coordinates;
use crate::engine::elsewhere::Source;
use crate::gram::{self, CHUNK, LANES, Packed};
use crate::parts::kernel::AnyKernel;

/// The number of rows of a piece of the work. The kernel values of a piece are summed while they are in the second-level cache of the thread that
/// computes them; and the threads are called once for all of it, because waking them takes long.
const LEAST: usize = 16;
const MOST: usize = 64;

/// The lanes of the sums over some slots, for some rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ahead {
    /// The rows, counted from the first row of the call; none if there are no sums.
    rows: Range<usize>,
    /// The slots: from the begin of a chunk to the end of a panel.
    slots: Range<usize>,
    outputs: usize,
    columns: usize,
    values: Vec<f32>,
    lanes: Vec<[f64; LANES]>,
}

impl Ahead {
    /// From now on there are no sums.
    pub fn forget(&mut self) {
        self.rows = 0..0;
    }

    /// The slots that are summed up.
    pub fn slots(&self) -> Option<Range<usize>> {
        (!self.rows.is_empty()).then(|| self.slots.clone())
    }

    /// Sums over the whole panels from slot `start` on, which begins a chunk, for the rows in `range`.
    pub fn sum<P: Space, S>(
        &mut self,
        of: Source<'_, P, S>,
        kernel: &AnyKernel,
        rows: Points<'_>,
        range: Range<usize>,
        start: usize,
    ) {
        self.forget();
        let (f, end) = (&of.heads[0].f, of.slots / LANES * LANES);
        let Some(packed) = of.space.packed_terms().filter(|_| end > start && range.len() > ROWS) else { return };
        let (count, backend, threads) = (end - start, of.space.backend(), of.space.threads());
        let panels = packed.panels.part(start / LANES..end / LANES);
        let terms = Packed { panels: &panels, squares: &packed.squares[start..end] };
        let together = range.len().div_ceil(threads.max(1)).next_multiple_of(8).clamp(LEAST, MOST);
        (self.outputs, self.columns, self.slots) = (f.outputs(), f.columns(), start..end);
        let (columns, per_row) = (self.columns, count.div_ceil(CHUNK) * self.columns);
        self.values.resize(self.values.len().max(range.len() * count), 0.0);
        self.lanes.resize(self.lanes.len().max(range.len() * per_row), [0.0; LANES]);
        let sum_piece = |(piece, (values, lanes)): (usize, (&mut [f32], &mut [[f64; LANES]]))| {
            let first = range.start + piece * together;
            let points = rows.range(first..first + values.len() / count);
            gram::kernel_rows(backend, 1, std::slice::from_ref(kernel), points, terms, &mut [&mut *values], count);
            for (chunk, first) in (0..count).step_by(CHUNK).enumerate() {
                let slots = start + first..start + count.min(first + CHUNK);
                f.lanes_of_rows(backend, (&values[first..], count), slots, (&mut lanes[chunk * columns..], per_row));
            }
        };
        let (values, lanes) = (&mut self.values[..range.len() * count], &mut self.lanes[..range.len() * per_row]);
        match threads > 1 {
            true => {
                let pieces = values.par_chunks_mut(together * count).zip(lanes.par_chunks_mut(together * per_row));
                pieces.enumerate().for_each(sum_piece);
            }
            false => {
                let pieces = values.chunks_mut(together * count).zip(lanes.chunks_mut(together * per_row));
                pieces.enumerate().for_each(sum_piece);
            }
        }
        self.rows = range;
    }

    /// The first slot of a chunk that is not summed up, if others are; and the lanes of a row. At the row that names a new class, f has outputs
    /// that were not there: their lanes are 0, and all lanes are copied to `with_new`.
    pub fn lanes_of<'a>(
        &'a self,
        row: usize,
        chunk: usize,
        f: &Coordinates,
        with_new: &'a mut Vec<[f64; LANES]>,
    ) -> Option<(usize, &'a [[f64; LANES]])> {
        let first = (chunk * CHUNK).checked_sub(self.slots.start).filter(|_| self.rows.contains(&row))?;
        if self.slots.start + first >= self.slots.end {
            return None;
        }
        let per_row = self.slots.len().div_ceil(CHUNK) * self.columns;
        let lanes = &self.lanes[(row - self.rows.start) * per_row + first / CHUNK * self.columns..][..self.columns];
        let end = self.slots.end.min((chunk + 1) * CHUNK);
        if f.outputs() == self.outputs {
            return Some((end, lanes));
        }
        with_new.clear();
        with_new.resize(f.columns(), [0.0; LANES]);
        for (to, lanes) in with_new.chunks_exact_mut(f.outputs().max(1)).zip(lanes.chunks_exact(self.outputs.max(1))) {
            to[..self.outputs].copy_from_slice(lanes);
        }
        Some((end, with_new))
    }
}
