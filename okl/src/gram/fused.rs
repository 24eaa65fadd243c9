//! Kernel values of rows against terms. Inner products and kernel maps are interleaved, and the work is shared between threads.

use std::ops::Range;

use super::window::Planes;
use super::{Backend, Chain, LANES, Packed, Points};
use crate::parts::kernel::DotKernel;

/// The least work per thread, in floating-point operations: about forty microseconds of one core. For less work, another thread
/// costs more than it saves.
const FLOPS_PER_PIECE: usize = 1 << 22;

/// The cost of one kernel map, in the same unit.
const FLOPS_PER_VALUE: usize = 32;

/// The number of rows that are multiplied with a group of panels together, so that rows, panels and results stay in the
/// second-level cache.
const ROWS: usize = 64;

/// Kernel values of every row against every slot, for several kernels that share the inner products:
/// `out[p][i*stride + j] = kernels[p](row i, slot j)`.
///
/// With `threads > 1` the work is split into at most `threads` pieces for rayon's current pool, if it is large enough. The bits
/// of the result do not depend on this.
///
/// # Panics
/// If a length does not match, or an output is too short.
pub fn kernel_rows<K: DotKernel>(
    backend: Backend,
    threads: usize,
    kernels: &[K],
    rows: Points<'_>,
    terms: Packed<'_>,
    out: &mut [&mut [f32]],
    stride: usize,
) {
    chained_rows(backend, threads, (Chain::Products, kernels), rows, terms, out, stride);
}

/// The same for kernels that share another chain.
pub(crate) fn chained_rows<K: DotKernel>(
    backend: Backend,
    threads: usize,
    (chain, kernels): (Chain<'_>, &[K]),
    rows: Points<'_>,
    terms: Packed<'_>,
    out: &mut [&mut [f32]],
    stride: usize,
) {
    assert_eq!(kernels.len(), out.len(), "one output per kernel");
    assert_eq!(rows.rows.len(), rows.squares.len(), "one square per row");
    assert_eq!(terms.panels.slots(), terms.squares.len(), "one square per slot");
    let out = Planes::new(out, stride, rows.rows.len(), terms.panels.slots());
    let piece = Piece { backend, chain, kernels, rows, terms, panels: 0..terms.panels.panels() };
    let pieces = (piece.flops() / FLOPS_PER_PIECE).clamp(1, threads.max(1));
    piece.share(pieces, out);
}

/// [`kernel_rows`] of one kernel and one row, by one thread. For few panels most of the time of [`kernel_rows`] goes to the division of the work.
pub(crate) fn kernel_row<K: DotKernel>(backend: Backend, kernel: &K, row: Points<'_>, terms: Packed<'_>, out: &mut [f32]) {
    let slots = terms.panels.slots();
    assert_eq!(row.rows.len(), 1, "one row");
    assert_eq!(slots, terms.squares.len(), "one square per slot");
    backend.dots(row.rows, terms.panels, 0..terms.panels.panels(), out, slots);
    kernel.map(backend, row.squares[0], terms.squares, &mut out[..slots]);
}

/// A part of the work: some rows against some panels.
struct Piece<'a, K> {
    backend: Backend,
    chain: Chain<'a>,
    kernels: &'a [K],
    rows: Points<'a>,
    terms: Packed<'a>,
    panels: Range<usize>,
}

impl<K: DotKernel> Piece<'_, K> {
    fn flops(&self) -> usize {
        let per_value = 2 * self.rows.rows.dim() + FLOPS_PER_VALUE * self.kernels.len();
        self.rows.rows.len() * self.panels.len() * LANES * per_value
    }

    /// Splits the work in two recursively until there are `pieces` parts. Splitting by panels is preferred: tiles of rows stay
    /// whole, and each thread reads only its own terms. With too few panels, the rows are split.
    fn share(&self, pieces: usize, out: Planes<'_>) {
        let first = pieces / 2;
        if first == 0 {
            self.run(out);
        } else if self.panels.len() >= pieces {
            let middle = self.panels.len() * first / pieces;
            let (left, right) = out.split_columns(middle * LANES);
            let [a, b] = self.split_panels(middle);
            rayon::join(|| a.share(first, left), || b.share(pieces - first, right));
        } else {
            let middle = self.rows.rows.len() * first / pieces;
            let (above, below) = out.split_rows(middle);
            let [a, b] = self.split_rows(middle);
            rayon::join(|| a.share(first, above), || b.share(pieces - first, below));
        }
    }

    fn split_panels(&self, middle: usize) -> [Self; 2] {
        let Range { start, end } = self.panels;
        [start..start + middle, start + middle..end].map(|panels| Self { panels, ..*self })
    }

    fn split_rows(&self, middle: usize) -> [Self; 2] {
        [0..middle, middle..self.rows.rows.len()].map(|range| Self {
            rows: self.rows.range(range),
            panels: self.panels.clone(),
            ..*self
        })
    }

    fn run(&self, mut out: Planes<'_>) {
        if self.kernels.is_empty() {
            return;
        }
        for panels in ranges(self.panels.len(), panels_together(self.rows.rows.len())) {
            for rows in ranges(self.rows.rows.len(), ROWS) {
                self.block(rows, panels.clone(), &mut out);
            }
        }
    }

    /// Writes the ends of the chains to output 0, copies them to the other outputs, and applies each kernel's map in place.
    fn block(&self, rows: Range<usize>, panels: Range<usize>, out: &mut Planes<'_>) {
        let columns = panels.start * LANES..panels.end * LANES;
        let slots = self.panels.start * LANES + columns.start..self.panels.start * LANES + columns.end;
        let within = self.panels.start + panels.start..self.panels.start + panels.end;
        let window = out.window(0, rows.clone(), columns.clone());
        self.backend.chains_into(self.chain, self.rows.rows.range(rows.clone()), self.terms.panels, within, window);
        for i in rows {
            for (p, kernel) in self.kernels.iter().enumerate().rev() {
                let values = copy_of_first(out, p, i, columns.clone());
                kernel.map(self.backend, self.rows.squares[i], &self.terms.squares[slots.clone()], values);
            }
        }
    }
}

/// Returns row `i` of output `p`, after copying the row of output 0 into it. Output 0 must therefore be mapped last.
fn copy_of_first<'a>(out: &'a mut Planes<'_>, p: usize, i: usize, columns: Range<usize>) -> &'a mut [f32] {
    if p > 0 {
        out.copy_row(0, p, i, columns.clone());
    }
    out.window(p, i..i + 1, columns).into_row()
}

/// The number of panels per block: 32 for few rows, so that maps run over long arrays; down to 8 for many rows, so that the
/// results of 64 rows take 64 KiB.
fn panels_together(rows: usize) -> usize {
    (2 * ROWS * 8 / rows.max(1)).clamp(8, 32)
}

/// `0..len`, cut into ranges of length `step`.
fn ranges(len: usize, step: usize) -> impl Iterator<Item = Range<usize>> {
    (0..len).step_by(step).map(move |start| start..len.min(start + step))
}
