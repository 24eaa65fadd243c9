//! Kernel values of rows against terms: inner products and maps interleaved, shared between threads.

use std::ops::Range;

use super::window::Planes;
use super::{Backend, LANES, Packed, Points};
use crate::parts::kernel::DotKernel;

/// Work below which another thread costs more than it saves: about ten microseconds of one core.
const FLOPS_PER_PIECE: usize = 1 << 20;

/// What a map costs beside the inner products, in the same unit.
const FLOPS_PER_VALUE: usize = 32;

/// Rows that visit a group of panels together: a block whose rows, panels and results stay in the second-level cache.
const ROWS: usize = 64;

/// Kernel values of every row against every slot, for several kernels that share the inner products:
/// `out[p][i*stride + j] = kernels[p](row i, slot j)`.
///
/// With `threads > 1` the work is shared through rayon's current pool, in at most `threads` pieces and only if it is
/// large enough to pay; the bits are the same.
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
    assert_eq!(kernels.len(), out.len(), "one output per kernel");
    assert_eq!(rows.rows.len(), rows.squares.len(), "one square per row");
    assert_eq!(terms.panels.slots(), terms.squares.len(), "one square per slot");
    let out = Planes::new(out, stride, rows.rows.len(), terms.panels.slots());
    let piece = Piece { backend, kernels, rows, terms, panels: 0..terms.panels.panels() };
    let pieces = (piece.flops() / FLOPS_PER_PIECE).clamp(1, threads.max(1));
    piece.share(pieces, out);
}

/// Some rows against some panels.
struct Piece<'a, K> {
    backend: Backend,
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

    /// Halves the work until there are `pieces`: by panels, which leaves tiles of rows whole and each thread its own
    /// terms to read, or else by rows.
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

    /// Inner products into the first output, from there to the others, then each is mapped in place.
    fn block(&self, rows: Range<usize>, panels: Range<usize>, out: &mut Planes<'_>) {
        let columns = panels.start * LANES..panels.end * LANES;
        let slots = self.panels.start * LANES + columns.start..self.panels.start * LANES + columns.end;
        let within = self.panels.start + panels.start..self.panels.start + panels.end;
        let window = out.window(0, rows.clone(), columns.clone());
        self.backend.dots_into(self.rows.rows.range(rows.clone()), self.terms.panels, within, window);
        for i in rows {
            for (p, kernel) in self.kernels.iter().enumerate().rev() {
                let values = copy_of_first(out, p, i, columns.clone());
                kernel.map(self.backend, self.rows.squares[i], &self.terms.squares[slots.clone()], values);
            }
        }
    }
}

/// Row `i` of output `p`, after the row of output 0 was copied there; output 0 itself is therefore mapped last.
fn copy_of_first<'a>(out: &'a mut Planes<'_>, p: usize, i: usize, columns: Range<usize>) -> &'a mut [f32] {
    if p > 0 {
        out.copy_row(0, p, i, columns.clone());
    }
    out.window(p, i..i + 1, columns).into_row()
}

/// A lone row is mapped in long stretches; for a block, results of 64 rows and 8 panels fill 64 KiB.
fn panels_together(rows: usize) -> usize {
    (2 * ROWS * 8 / rows.max(1)).clamp(8, 32)
}

/// `0..len` in steps.
fn ranges(len: usize, step: usize) -> impl Iterator<Item = Range<usize>> {
    (0..len).step_by(step).map(move |start| start..len.min(start + step))
}
