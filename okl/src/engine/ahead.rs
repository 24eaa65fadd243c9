//! Sums over the newest terms that are settled, which a place elsewhere does not have yet: for all rows of a request at once, and not
//! for 32 rows at a time, so that the threads have enough to do.
//!
//! The terms that come while these rows are learned belong to the same chunks. So what is kept is not a total but the lanes of the sum,
//! which are continued with the slots that follow (`Backend::lane_sums`): the order of the additions stays as it is.

use std::ops::Range;

use rayon::prelude::*;

use crate::basis::block::ROWS;
use crate::basis::{Points, Space};
use crate::coordinates::Coordinates;
use crate::engine::elsewhere::Source;
use crate::gram::{self, CHUNK, LANES, Packed};
use crate::parts::kernel::AnyKernel;

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
        self.values.resize(range.len() * count, 0.0);
        let (points, kernels) = (rows.range(range.clone()), std::slice::from_ref(kernel));
        gram::kernel_rows(backend, threads, kernels, points, terms, &mut [&mut self.values], count);
        (self.outputs, self.columns, self.slots) = (f.outputs(), f.columns(), start..end);
        let per_row = count.div_ceil(CHUNK) * self.columns;
        self.lanes.clear();
        self.lanes.resize(range.len() * per_row, [0.0; LANES]);
        let columns = self.columns;
        let sum_row = |(values, lanes): (&[f32], &mut [[f64; LANES]])| {
            for (chunk, (values, lanes)) in values.chunks(CHUNK).zip(lanes.chunks_exact_mut(columns)).enumerate() {
                f.sum_lanes(backend, values, start + chunk * CHUNK, lanes);
            }
        };
        match threads > 1 {
            true => {
                let values = self.values.par_chunks(count).with_min_len(ROWS);
                values.zip(self.lanes.par_chunks_mut(per_row)).for_each(sum_row);
            }
            false => self.values.chunks(count).zip(self.lanes.chunks_mut(per_row)).for_each(sum_row),
        }
        self.rows = range;
    }

    /// The first slot of a chunk that is not summed up, if others are; and a copy of the lanes of a row. At the row that names a new
    /// class, f has outputs that were not there; their lanes are 0.
    pub fn lanes_of(&self, row: usize, chunk: usize, f: &Coordinates, to: &mut Vec<[f64; LANES]>) -> Option<usize> {
        let first = (chunk * CHUNK).checked_sub(self.slots.start).filter(|_| self.rows.contains(&row))?;
        if self.slots.start + first >= self.slots.end {
            return None;
        }
        let per_row = self.slots.len().div_ceil(CHUNK) * self.columns;
        let lanes = &self.lanes[(row - self.rows.start) * per_row + first / CHUNK * self.columns..][..self.columns];
        to.clear();
        to.resize(f.columns(), [0.0; LANES]);
        for (to, lanes) in to.chunks_exact_mut(f.outputs().max(1)).zip(lanes.chunks_exact(self.outputs.max(1))) {
            to[..self.outputs].copy_from_slice(lanes);
        }
        Some(self.slots.end.min((chunk + 1) * CHUNK))
    }
}
