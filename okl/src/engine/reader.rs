//! The one way to read f: chosen once per block, for learning and predicting alike. All ways give the same bits.

use crate::basis::block::Block;
use crate::basis::settled::{Request, SettledChunks, Threads};
use crate::basis::{Basis, Space};
use crate::coordinates::{self, Reading};
use crate::engine::head::Head;
use crate::gram::{Backend, CHUNK};
use crate::parts::output::Output;
use crate::parts::step::StepSize;

/// How the sums over terms are had.
#[derive(Clone, Copy, Debug, Default)]
enum Way {
    /// Head by head, over all planes: sums of kernels, operator-valued kernels.
    #[default]
    Planes,
    /// One plane each: the columns of heads that share a plane are summed together.
    Columns,
    /// Chunk by chunk, from the totals of settled chunks as far as they still hold.
    Totals,
}

/// Reads every head at the rows of a block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reader {
    way: Way,
    /// Does nothing change while the block lasts?
    still: bool,
    settled: Threads,
    sums: Vec<f64>,
    fresh: Vec<f64>,
    /// What each head says of the row that was read last.
    pub readings: Vec<Reading>,
}

impl Reader {
    /// Chooses how the rows of a block are read. `still`: nothing is learned while the block lasts; `settles`: what is learned leaves
    /// most chunks of terms as they are.
    pub fn begin<B: Basis, S: StepSize>(
        &mut self,
        heads: &[Head<S>],
        output: &Output,
        basis: &B,
        (block, rows): (&Block, usize),
        [still, settles]: [bool; 2],
    ) {
        self.readings.resize_with(heads.len(), Default::default);
        self.still = still;
        if !output.projectable() {
            self.way = Way::Planes;
            return;
        }
        let slots = basis.row_len();
        let request = Request {
            functions: &|h| (&heads[h].f, heads[h].plane),
            count: heads.len(),
            row: &|plane, r| block.row(plane, r, slots),
            rows,
            slots,
            backend: basis.space().backend(),
            threads: basis.space().threads(),
        };
        self.way = if settles && self.settled.begin(&request) { Way::Totals } else { Way::Columns };
    }

    /// Reads every head at row `r`, whose kernel values are `row(plane)`, and adds the offsets.
    pub fn read<'r, S: StepSize>(
        &mut self,
        heads: &[Head<S>],
        output: &Output,
        backend: Backend,
        row: impl Fn(usize) -> &'r [f32],
        r: usize,
    ) {
        match self.way {
            Way::Planes => {
                for (head, to) in heads.iter().zip(&mut self.readings) {
                    head.f.read(backend, output, |plane| row(head.plane + plane), to);
                }
            }
            Way::Columns => self.read_columns(heads, output, backend, row),
            Way::Totals => self.read_totals(heads, output, backend, row, r),
        }
        heads.iter().zip(&mut self.readings).for_each(|(head, reading)| head.add_offsets(reading));
    }

    fn read_columns<'r, S: StepSize>(
        &mut self,
        heads: &[Head<S>],
        output: &Output,
        backend: Backend,
        row: impl Fn(usize) -> &'r [f32],
    ) {
        let Reader { sums, readings, .. } = self;
        let mut readings = readings.iter_mut();
        for group in heads.chunk_by(|a, b| a.plane == b.plane) {
            coordinates::sum_columns_of(backend, row(group[0].plane), group.iter().map(|head| &head.f), sums);
            let mut rest = sums.as_slice();
            for (head, to) in group.iter().zip(&mut readings) {
                let (own, others) = rest.split_at(head.f.columns());
                head.f.read_sums(output, own, to);
                rest = others;
            }
        }
    }

    fn read_totals<'r, S: StepSize>(
        &mut self,
        heads: &[Head<S>],
        output: &Output,
        backend: Backend,
        row: impl Fn(usize) -> &'r [f32],
        r: usize,
    ) {
        let Reader { settled, sums, fresh, readings, still, .. } = self;
        for (h, (head, to)) in heads.iter().zip(readings).enumerate() {
            let columns = head.f.columns();
            sums.clear();
            sums.resize(columns, 0.0);
            fresh.resize(columns, 0.0);
            for (chunk, row) in row(head.plane).chunks(CHUNK).enumerate() {
                let totals = match settled.totals(h, r, chunk).filter(|_| *still || !head.f.has_changed(chunk)) {
                    Some(settled) => settled,
                    None => {
                        head.f.sum_chunk(backend, row, chunk, fresh);
                        fresh.as_slice()
                    }
                };
                sums.iter_mut().zip(totals).for_each(|(sum, total)| *sum += total);
            }
            head.f.read_sums(output, sums, to);
        }
    }

    /// The scores of a row that cannot be read.
    pub fn clear_scores(&mut self) {
        for reading in &mut self.readings {
            reading.z.fill(0.0);
            reading.mean_z.fill(0.0);
        }
    }

    /// Bytes held that grow with the number of terms.
    pub fn bytes(&self) -> usize {
        self.settled.bytes()
    }
}
