//! Sums over a chunk in two parts: the lanes of its first slots for many rows at once, then the totals row by row.

use std::ops::Range;

use super::{Coordinates, TOGETHER};
use crate::gram::{Backend, LANES};

impl Coordinates {
    /// The totals of every column over a chunk, from the lanes of its first slots; `row` has the values of the others, which start at `slot`.
    pub(crate) fn totals_from(&self, backend: Backend, lanes: &[[f64; LANES]], row: &[f32], slot: usize, totals: &mut [f64]) {
        let column = |i: usize| &self.data[i * self.stride + slot..][..row.len()];
        for (group, (totals, lanes)) in totals.chunks_mut(TOGETHER).zip(lanes.chunks(TOGETHER)).enumerate() {
            let columns: [&[f64]; TOGETHER] =
                std::array::from_fn(|i| if i < totals.len() { column(group * TOGETHER + i) } else { &[] });
            backend.totals_from(lanes, row, &columns[..totals.len()], totals);
        }
    }

    /// The lanes of the sums of every column over the `slots` slots of a chunk that start at `slot`, for several rows: those of `values` start
    /// `stride` apart, those of `lanes` start `apart` apart.
    pub(crate) fn lanes_of_rows(
        &self,
        backend: Backend,
        (values, stride): (&[f32], usize),
        slots: Range<usize>,
        (lanes, apart): (&mut [[f64; LANES]], usize),
    ) {
        let (all, rows) = (self.columns(), lanes.len().div_ceil(apart.max(1)));
        for first in (0..all).step_by(TOGETHER) {
            let count = TOGETHER.min(all - first);
            let column = |i: usize| &self.data[(first + i) * self.stride..][slots.clone()];
            let columns: [&[f64]; TOGETHER] = std::array::from_fn(|i| if i < count { column(i) } else { &[] });
            backend.lanes_of_rows((values, stride), &columns[..count], (&mut lanes[first..], apart), rows);
        }
    }
}
