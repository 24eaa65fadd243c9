//! Evaluates f at the rows of a block, for learning and for prediction. The way of summing over terms is chosen once per block.
//! All ways give the same bits.

use crate::basis::block::Block;
use crate::basis::settled::{Request, SettledChunks, Threads};
use crate::basis::sparse::SparseRow;
use crate::basis::{Basis, Space};
use crate::coordinates::{self, Reading};
use crate::engine::ahead::Ahead;
use crate::engine::elsewhere::Held;
use crate::engine::head::Head;
use crate::engine::kept::{At, Layout, Totals};
use crate::gram::{Backend, CHUNK, LANES};
use crate::parts::output::Output;
use crate::parts::step::StepSize;

/// How the sums over terms are computed.
#[derive(Clone, Copy, Debug, Default)]
enum Way {
    /// For each head, over all its planes: one head, sums of kernels, operator-valued kernels.
    #[default]
    Planes,
    /// Every head reads one plane; the columns of heads that read the same plane are summed together.
    Columns,
    /// Chunk by chunk, using the precomputed totals of chunks that have not changed since the block began.
    Totals,
    /// From the totals of a place elsewhere; only the other chunks are summed here.
    Elsewhere,
}

/// One row of a block, as the reader sees it.
pub(crate) struct Row<'a, V> {
    pub output: &'a Output,
    pub backend: Backend,
    /// The kernel values of the row in a plane, from slot `first` on.
    pub values: V,
    pub first: usize,
    /// The features of the row, if they are the basis functions and rows are sparse; then there are no values.
    pub features: Option<SparseRow<'a>>,
    /// The number of the row in its block.
    pub r: usize,
    /// The totals from elsewhere, and the number of the row there.
    pub held: Option<(Sums<'a>, usize)>,
}

/// Totals over chunks that are elsewhere.
#[derive(Clone, Copy)]
pub(crate) enum Sums<'a> {
    /// At a place that has copies of the chunks.
    Place(&'a Held, &'a Ahead),
    /// At a keeper, with the places of all chunks.
    Kept(&'a Totals, Layout<'a>),
}

/// The heads that are read, with their readings.
fn awake<'a, S>(heads: &'a [Head<S>], readings: &'a mut [Reading]) -> impl Iterator<Item = (&'a Head<S>, &'a mut Reading)> {
    heads.iter().zip(readings).filter(|(head, _)| !head.retired)
}

/// Evaluates every head at the rows of a block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reader {
    way: Way,
    /// Whether no coefficient changes during the block (prediction).
    still: bool,
    settled: Threads,
    sums: Vec<f64>,
    fresh: Vec<f64>,
    lanes: Vec<[f64; LANES]>,
    /// The values and scores of each head at the row that was read last.
    pub readings: Vec<Reading>,
}

impl Reader {
    /// Chooses how sums are computed for the rows of a block. `still`: nothing is learned during the block. `settles`: learning
    /// leaves most chunks of terms unchanged.
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
        if !output.projectable() || block.has_features() {
            self.way = Way::Planes;
            return;
        }
        let slots = basis.row_len();
        let request = Request {
            functions: &|h| (!heads[h].retired).then_some((&heads[h].f, heads[h].plane)),
            count: heads.len(),
            row: &|plane, r| block.row(plane, r, slots),
            rows,
            slots,
            backend: basis.space().backend(),
            threads: basis.space().threads(),
        };
        self.way = match heads.iter().filter(|head| !head.retired).count() {
            _ if settles && self.settled.begin(&request) => Way::Totals,
            1 => Way::Planes,
            _ => Way::Columns,
        };
    }

    /// The rows of the block have totals from elsewhere.
    pub fn begin_elsewhere(&mut self, heads: usize) {
        self.readings.resize_with(heads, Default::default);
        self.way = Way::Elsewhere;
    }

    /// Evaluates every head at a row and adds the offsets.
    pub fn read<'r, S: StepSize>(&mut self, heads: &[Head<S>], row: &Row<'_, impl Fn(usize) -> &'r [f32]>) {
        match self.way {
            _ if row.features.is_some() => {
                for (head, to) in heads.iter().zip(&mut self.readings) {
                    head.f.read_sparse(row.backend, row.output, row.features.unwrap_or_default(), to);
                }
            }
            Way::Planes => {
                for (head, to) in awake(heads, &mut self.readings) {
                    head.f.read(row.backend, row.output, |plane| (row.values)(head.plane + plane), to);
                }
            }
            Way::Columns => self.read_columns(heads, row),
            Way::Totals => self.read_totals(heads, row),
            Way::Elsewhere => self.read_elsewhere(heads, row),
        }
        awake(heads, &mut self.readings).for_each(|(head, reading)| head.add_offsets(reading));
    }

    fn read_columns<'r, S: StepSize>(&mut self, heads: &[Head<S>], row: &Row<'_, impl Fn(usize) -> &'r [f32]>) {
        let Row { output, backend, values, .. } = row;
        let Reader { sums, readings, .. } = self;
        let mut readings = readings.iter_mut();
        for group in heads.chunk_by(|a, b| a.plane == b.plane) {
            let functions = group.iter().filter(|head| !head.retired).map(|head| &head.f);
            coordinates::sum_columns_of(*backend, values(group[0].plane), functions, sums);
            let mut rest = sums.as_slice();
            for (head, to) in group.iter().zip(&mut readings).filter(|(head, _)| !head.retired) {
                let (own, others) = rest.split_at(head.f.columns());
                head.f.read_sums(output, own, to);
                rest = others;
            }
        }
    }

    fn read_totals<'r, S: StepSize>(&mut self, heads: &[Head<S>], row: &Row<'_, impl Fn(usize) -> &'r [f32]>) {
        let Row { output, backend, values, r, .. } = row;
        let Reader { settled, sums, fresh, readings, still, .. } = self;
        for (h, (head, to)) in heads.iter().zip(readings).enumerate().filter(|(_, (head, _))| !head.retired) {
            let columns = head.f.columns();
            sums.clear();
            sums.resize(columns, 0.0);
            fresh.resize(columns, 0.0);
            for (chunk, row) in values(head.plane).chunks(CHUNK).enumerate() {
                let totals = match settled.totals(h, *r, chunk).filter(|_| *still || !head.f.has_changed(chunk)) {
                    Some(settled) => settled,
                    None => {
                        head.f.sum_chunk(*backend, row, chunk, fresh);
                        fresh.as_slice()
                    }
                };
                sums.iter_mut().zip(totals).for_each(|(sum, total)| *sum += total);
            }
            head.f.read_sums(output, sums, to);
        }
    }

    fn read_elsewhere<'r, S: StepSize>(&mut self, heads: &[Head<S>], row: &Row<'_, impl Fn(usize) -> &'r [f32]>) {
        let Row { output, backend, values, first, held, .. } = row;
        let Some((held, r)) = *held else { return };
        let Reader { sums, fresh, lanes, readings, .. } = self;
        for (head, to) in heads.iter().zip(readings) {
            let columns = head.f.columns();
            sums.clear();
            sums.resize(columns, 0.0);
            fresh.resize(columns, 0.0);
            let row = values(head.plane);
            let slots = first + row.len();
            let mut sum_here = |chunk: usize, ahead: Option<&Ahead>, sums: &mut [f64]| {
                let end = slots.min((chunk + 1) * CHUNK);
                match ahead.and_then(|ahead| ahead.lanes_of(r, chunk, &head.f, lanes)) {
                    Some((slot, lanes)) => {
                        let others = if slot < end { &row[slot - first..end - first] } else { &[] };
                        head.f.totals_from(*backend, lanes, others, slot, fresh);
                    }
                    None => head.f.sum_chunk(*backend, &row[chunk * CHUNK - first..end - first], chunk, fresh),
                }
                Held::add(fresh, &head.f, sums);
            };
            match held {
                Sums::Place(held, ahead) => {
                    Held::add(held.running(r), &head.f, sums);
                    for chunk in held.folded..slots.div_ceil(CHUNK) {
                        match held.total(r, chunk) {
                            Some(total) => Held::add(total, &head.f, sums),
                            None => sum_here(chunk, Some(ahead), sums),
                        }
                    }
                }
                Sums::Kept(totals, layout) => layout.chunks().for_each(|at| match at {
                    At::Here(chunk) => sum_here(chunk, None, sums),
                    At::Keeper(chunk) => Held::add(totals.of(r, chunk), &head.f, sums),
                }),
            }
            head.f.read_sums(output, sums, to);
        }
    }

    /// Evaluates every head from its sums over all terms, and adds the offsets.
    pub fn read_sums<S: StepSize>(&mut self, heads: &[Head<S>], output: &Output, mut sums: &[f64]) {
        self.readings.resize_with(heads.len(), Default::default);
        for (head, to) in heads.iter().zip(&mut self.readings) {
            let (own, others) = sums.split_at(head.f.columns());
            head.f.read_sums(output, own, to);
            head.add_offsets(to);
            sums = others;
        }
    }

    /// Sets the scores to 0, for a row whose kernel values overflow.
    pub fn clear_scores(&mut self) {
        for reading in &mut self.readings {
            reading.z.fill(0.0);
            reading.mean_z.fill(0.0);
        }
    }

    /// Bytes of the workspace that grows with the number of terms.
    pub fn bytes(&self) -> usize {
        self.settled.bytes()
    }
}
