//! The lanes of rule 3 for many rows at once. Several rows and columns are held in registers, so that a kernel value is converted to f64 once for
//! several columns and a coefficient is loaded once for several rows. The order of the additions within a lane is that of rule 3.

use std::array::from_fn;

use super::LANES;
use super::portable::{Job, Tiling, lanes_of_one};

/// The lanes of all rows and columns over some slots of a chunk, from +0.
pub(super) struct RowLanes<'a> {
    /// The kernel values: rows start `stride` apart, and each has as many values as a column.
    pub(super) k: &'a [f32],
    pub(super) stride: usize,
    pub(super) columns: &'a [&'a [f64]],
    /// The lanes of the columns: rows start `apart` apart.
    pub(super) lanes: &'a mut [[f64; LANES]],
    pub(super) apart: usize,
    pub(super) rows: usize,
}

impl Job for RowLanes<'_> {
    #[inline(always)]
    fn run<T: Tiling>(self) {
        T::row_lanes(self);
    }
}

impl RowLanes<'_> {
    /// For instruction sets without a tile of their own.
    #[inline(always)]
    pub(super) fn row_by_row(self) {
        for i in 0..self.rows {
            let lanes = &mut self.lanes[i * self.apart..][..self.columns.len()];
            for (a, lanes) in self.columns.iter().zip(lanes) {
                let k = &self.k[i * self.stride..][..a.len()];
                *lanes = lanes_of_one(k.as_chunks().0, a.as_chunks().0, [0.0; LANES]);
            }
        }
    }

    /// `R` rows, `C` columns and `W` lanes at a time, from column `first` on while there are `C` columns. Returns the first column that is
    /// left. The slots of a few lanes of a few columns stay in the first-level cache while all rows are summed.
    #[inline(always)]
    pub(super) fn tiles<const R: usize, const C: usize, const W: usize>(&mut self, mut first: usize) -> usize {
        while first + C <= self.columns.len() {
            for lane in (0..LANES).step_by(W) {
                for row in (0..self.rows).step_by(R) {
                    self.tile::<R, C, W>(row, first, lane);
                }
            }
            first += C;
        }
        first
    }

    #[inline(always)]
    fn tile<const R: usize, const C: usize, const W: usize>(&mut self, row: usize, first: usize, lane: usize) {
        let count = R.min(self.rows - row);
        let panels = self.columns[first].len() / LANES;
        // A tile that is not full has its last row several times.
        let k: [&[[f32; LANES]]; R] =
            from_fn(|i| &self.k[(row + i.min(count - 1)) * self.stride..][..panels * LANES].as_chunks().0[..panels]);
        let columns: [&[[f64; LANES]]; C] = from_fn(|c| &self.columns[first + c].as_chunks().0[..panels]);
        let sums = sums::<R, C, W>(k, columns, lane);
        for (i, of_row) in sums.iter().enumerate().take(count) {
            let lanes = &mut self.lanes[(row + i) * self.apart + first..][..C];
            for (lanes, sums) in lanes.iter_mut().zip(of_row) {
                lanes[lane..lane + W].copy_from_slice(sums);
            }
        }
    }
}

#[inline(always)]
fn sums<const R: usize, const C: usize, const W: usize>(
    k: [&[[f32; LANES]]; R],
    columns: [&[[f64; LANES]]; C],
    lane: usize,
) -> [[[f64; W]; C]; R] {
    let panels = k[0].len();
    let k: [&[[f32; LANES]]; R] = from_fn(|i| &k[i][..panels]);
    let columns: [&[[f64; LANES]]; C] = from_fn(|c| &columns[c][..panels]);
    let mut acc = [[[0.0f64; W]; C]; R];
    for panel in 0..panels {
        for i in 0..R {
            let k: &[f32; W] = &k[i][panel].as_chunks::<W>().0[lane / W];
            for c in 0..C {
                let column: &[f64; W] = &columns[c][panel].as_chunks::<W>().0[lane / W];
                for l in 0..W {
                    acc[i][c][l] = f64::from(k[l]).mul_add(column[l], acc[i][c][l]);
                }
            }
        }
    }
    acc
}
