//! Inner products, elementwise kernel maps and sums over terms.
//!
//! Law 1 of the crate: a result depends only on its inputs, to the last bit. It does not depend on how rows are cut into blocks,
//! on the number of threads or on the instruction set. Three rules ensure this for every [`Backend`]:
//!
//! 1. `<x, y>` is one chain of f32 fused multiply-adds over the features in index order, from +0:
//!    `acc = x[k].mul_add(y[k], acc)`. `|x|²` is the same chain ([`square`]), so equal rows are at distance exactly 0. The Manhattan
//!    distance is such a chain, too (`Chain::Differences`).
//! 2. The map of a kernel is elementwise and uses only IEEE operations and the two polynomials of `kernel.rs`.
//! 3. A sum over terms is computed in f64, in the order stated at [`Backend::weighted_sums`].
//!
//! Terms are stored in the layout that the inner loops read ([`Panels`]), so nothing is packed per call. The loops are portable
//! Rust (`chains.rs`, `portable.rs`), compiled once per instruction set (`x86.rs`, `neon.rs`). A backend only determines how many rows and
//! terms are held in registers at a time.
//!
//! ```
//! use okl::gram::{Backend, Panels, Matrix};
//! let terms = [1.0f32, 2.0, 3.0, 4.0];
//! let mut panels = Panels::new(2);
//! panels.reserve(2);
//! panels.put_many(&[(0, &terms[..2]), (1, &terms[2..])]);
//! let mut out = vec![0.0; panels.slots()];
//! Backend::best().dots(Matrix::one(&[1.0, -1.0]), &panels, 0..1, &mut out, 32);
//! assert_eq!(out[..2], [-1.0, -1.0]);
//! ```

pub(crate) mod aligned;
mod chains;
mod fused;
mod least;
mod neon;
mod panels;
pub(crate) mod pool;
mod portable;
mod row_lanes;
#[cfg(test)]
mod tests;
mod window;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::ops::Range;

pub use fused::kernel_rows;
pub(crate) use fused::{chained_rows, kernel_row};
pub(crate) use least::{Number, Score};
pub use panels::{Matrix, Packed, Panels, Points};
pub use portable::Elementwise;
pub(crate) use portable::{Combine, Compiled};

use portable::{Job, Scalar};
use window::Window;

/// Terms per panel: the width of the layout, and the number of lanes of a sum over terms.
pub const LANES: usize = 32;

/// Slots per partial sum of [`Backend::weighted_sums`].
pub const CHUNK: usize = 1024;

/// What a kernel reads of two rows: the end of one chain over the features in index order, from +0.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Chain<'a> {
    /// `<x, y>`: `acc = x[k].mul_add(y[k], acc)`.
    Products,
    /// Minus half the Manhattan distance: `acc = |x[k] - y[k]|.mul_add(-w[k] / 2, acc)`. The numbers are `-w[k] / 2`; without them
    /// every `w[k]` is 1.
    Differences(&'a [f32]),
}

/// An instruction set to run on. All give the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// The instructions that the compilation target guarantees; fused multiply-adds may be library calls.
    Scalar,
    /// x86 with AVX2 and FMA.
    Avx2,
    /// x86 with AVX-512 F, VL, BW and DQ.
    Avx512,
    /// 64-bit ARM.
    Neon,
}

impl Backend {
    const ALL: [Backend; 4] = [Backend::Scalar, Backend::Avx2, Backend::Avx512, Backend::Neon];

    /// The backends that this machine can run, slowest first.
    pub fn available() -> Vec<Backend> {
        Self::ALL.into_iter().filter(|b| b.runs_here()).collect()
    }

    /// The name of this backend in `OKL_BACKEND`.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Scalar => "scalar",
            Backend::Avx2 => "avx2",
            Backend::Avx512 => "avx512",
            Backend::Neon => "neon",
        }
    }

    /// The fastest backend that this machine can run.
    pub fn best() -> Backend {
        let fastest = Self::ALL.into_iter().rev().find(|b| b.runs_here());
        fastest.unwrap_or(Backend::Scalar)
    }

    /// The backend named by the environment variable `OKL_BACKEND`, or else [`Backend::best`].
    ///
    /// # Errors
    /// A sentence naming the choices, if the name is unknown or this machine cannot run it.
    pub fn chosen() -> Result<Backend, String> {
        match std::env::var("OKL_BACKEND") {
            Ok(name) => Self::named(&name),
            Err(std::env::VarError::NotPresent) => Ok(Self::best()),
            Err(error) => Err(format!("OKL_BACKEND cannot be read: {error}")),
        }
    }

    fn named(name: &str) -> Result<Backend, String> {
        let available = Self::available();
        if let Some(found) = available.iter().find(|b| b.name() == name) {
            return Ok(*found);
        }
        let names: Vec<_> = available.iter().map(|b| b.name()).collect();
        let known = Self::ALL.iter().any(|b| b.name() == name);
        let trouble = if known { "cannot be run on this machine" } else { "is no backend" };
        Err(format!("OKL_BACKEND={name} {trouble}; this machine runs {}", names.join(", ")))
    }

    /// Whether this machine has the instructions. This check is cheap: the standard library caches the answer.
    fn runs_here(self) -> bool {
        match self {
            Backend::Scalar => true,
            Backend::Neon => cfg!(target_arch = "aarch64"),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2 => x86::Avx2::runs_here(),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512 => x86::Avx512::runs_here(),
            #[cfg(not(target_arch = "x86_64"))]
            Backend::Avx2 | Backend::Avx512 => false,
        }
    }

    /// Runs `job` compiled for this instruction set. If the machine lacks it, a slower version computes the same numbers.
    #[inline]
    fn run<J: Job>(self, job: J) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Backend::Avx512 if x86::Avx512::runs_here() => x86::Avx512::run(job),
            #[cfg(target_arch = "x86_64")]
            Backend::Avx2 if x86::Avx2::runs_here() => x86::Avx2::run(job),
            Backend::Neon => job.run::<neon::Neon>(),
            _ => job.run::<Scalar>(),
        }
    }

    /// Inner products of every row with every lane of some panels:
    /// `out[i*stride + (j - 32*panels.start)] = <row i, slot j>`.
    ///
    /// # Panics
    /// If the dimensions differ, a panel does not exist or `out` is too short.
    pub fn dots(self, rows: Matrix<'_>, terms: &Panels, panels: Range<usize>, out: &mut [f32], stride: usize) {
        let window = Window::new(out, stride, rows.len(), panels.len() * LANES);
        self.chains_into(Chain::Products, rows, terms, panels, window);
    }

    /// The chains of every row with every lane of some panels.
    fn chains_into(self, chain: Chain<'_>, rows: Matrix<'_>, terms: &Panels, panels: Range<usize>, out: Window<'_>) {
        assert_eq!(rows.dim(), terms.dim(), "rows and terms have the same features");
        let panels = terms.range(panels);
        match chain {
            Chain::Products => self.run(chains::Chains { link: chains::Products, rows, panels, out }),
            Chain::Differences([]) => self.run(chains::Chains { link: chains::Differences, rows, panels, out }),
            Chain::Differences(halves) => {
                assert_eq!(halves.len(), rows.dim(), "one weight per feature");
                self.run(chains::Chains { link: chains::WeightedDifferences { halves }, rows, panels, out });
            }
        }
    }

    /// `out[c] = sum over j of k[j] * columns[c][j]`, in f64 and in this order: within a chunk of [`CHUNK`] slots,
    /// lane `l` accumulates `(k[j] as f64).mul_add(column[j], lane)` from +0 over the slots `j % LANES == l` in
    /// ascending order; lanes are added by halves (`l` and `l + 16`, then 8, 4, 2, 1); chunk totals are added in
    /// ascending order to the running total, from +0.
    ///
    /// # Panics
    /// If the length of a column is not `k.len()`, `k.len()` is not a multiple of [`LANES`], or `out` and `columns` differ in length.
    pub fn weighted_sums(self, k: &[f32], columns: &[&[f64]], out: &mut [f64]) {
        assert_eq!(k.len() % LANES, 0, "sums run over whole panels");
        assert_eq!(columns.len(), out.len(), "one sum per column");
        assert!(columns.iter().all(|c| c.len() == k.len()), "one coefficient per kernel value");
        self.run(portable::WeightedSums { k, columns, out });
    }

    /// The totals of [`Backend::weighted_sums`] over a chunk whose first slots have been summed: their lanes are given
    /// ([`Backend::lanes_of_rows`]), and `k` and `columns` are those of the slots behind them.
    ///
    /// # Panics
    /// As [`Backend::weighted_sums`], or if `lanes` and `columns` differ in length.
    pub(crate) fn totals_from(self, lanes: &[[f64; LANES]], k: &[f32], columns: &[&[f64]], out: &mut [f64]) {
        assert_eq!(k.len() % LANES, 0, "sums run over whole panels");
        assert!(columns.len() == out.len() && columns.len() == lanes.len(), "one sum per column");
        assert!(columns.iter().all(|c| c.len() == k.len()), "one coefficient per kernel value");
        self.run(portable::TotalsFrom { lanes, k, columns, out });
    }

    /// The lanes of [`Backend::weighted_sums`] for every row and column over the first slots of a chunk; several rows in one call are faster than one by one. The
    /// `rows` rows of `k` start `stride` apart, those of `lanes` start `apart` apart.
    ///
    /// # Panics
    /// If columns differ in length, their length is not a multiple of [`LANES`], or `k` or `lanes` is too short.
    pub(crate) fn lanes_of_rows(
        self,
        (k, stride): (&[f32], usize),
        columns: &[&[f64]],
        (lanes, apart): (&mut [[f64; LANES]], usize),
        rows: usize,
    ) {
        let slots = columns.first().map_or(0, |column| column.len());
        assert_eq!(slots % LANES, 0, "sums run over whole panels");
        assert!(columns.iter().all(|c| c.len() == slots), "one coefficient per kernel value");
        self.run(row_lanes::RowLanes { k, stride, columns, lanes, apart, rows });
    }

    /// `|row|²` of every row, by the chain of [`square`]. Several rows in one call are several times faster than one by one.
    ///
    /// # Panics
    /// If `out` does not have one place per row.
    pub fn squares(self, rows: Matrix<'_>, out: &mut [f32]) {
        assert_eq!(rows.len(), out.len(), "one square per row");
        self.run(portable::Squares { rows, out });
    }

    /// `out[j] = x.mul_add(column[j], out[j])`: one feature of a row against many terms. The features of a row in ascending order, those
    /// that are zero left out, give the inner products of [`Backend::dots`].
    pub(crate) fn add_product(self, x: f32, column: &[f32], out: &mut [f32]) {
        self.run(portable::AddProduct { x, column, out });
    }

    /// [`Backend::dots`] of one sparse row with all panels.
    pub(crate) fn sparse_dots(self, columns: &[u32], values: &[f32], terms: &Panels, out: &mut [f32]) {
        let panels = terms.range(0..terms.panels());
        self.run(portable::SparseDots { columns, values, panels, out });
    }

    /// The same for a list of places and values.
    pub(crate) fn add_products_at(self, x: f32, list: &[(u32, f32)], out: &mut [f32]) {
        self.run(portable::AddProductsAt { x, list, out });
    }

    /// [`Backend::weighted_sums`] of one column and a row that is zero outside of some places, which ascend.
    pub(crate) fn sparse_sum(self, places: &[u32], values: &[f32], column: &[f64]) -> f64 {
        let mut out = 0.0;
        self.run(portable::SparseSum { places, values, column, out: &mut out });
        out
    }

    /// `values[j] = f.at(values[j], others[j])`, compiled for this instruction set.
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline]
    pub fn map_values(self, others: &[f32], values: &mut [f32], f: impl Elementwise) {
        assert_eq!(others.len(), values.len(), "one argument of each kind per value");
        self.run(portable::MapValues { others, values, f });
    }

    /// `values[j] = f.at(values[j], doubles[..][j], singles[..][j])`, compiled for this instruction set.
    #[inline]
    pub(crate) fn combine_values<T: Copy, const N: usize, const M: usize>(
        self,
        doubles: [&[f64]; N],
        singles: [&[f32]; M],
        values: &mut [T],
        f: impl Combine<T, N, M>,
    ) {
        self.run(portable::CombineValues { doubles, singles, values, f });
    }

    /// The first one of `count` slots with the least score `f.at(doubles[..][j], singles[..][j])`; 0 if no score is below infinity.
    ///
    /// # Panics
    /// If there are no numbers for the slots behind `count` up to a whole number of panels. These numbers do not matter.
    #[inline]
    pub(crate) fn first_least<const N: usize, const M: usize>(
        self,
        doubles: [&[f64]; N],
        singles: [&[f32]; M],
        count: usize,
        f: impl Score<N, M>,
    ) -> usize {
        let mut out = 0;
        self.run(least::Least { doubles, singles, count, f, out: &mut out });
        out
    }

    /// Does the work, compiled for this instruction set.
    #[inline]
    pub(crate) fn compiled(self, work: impl Compiled) {
        self.run(portable::Plain(work));
    }
}

/// `|x|²` as one chain of fused multiply-adds: the bits of `<x, x>` in [`Backend::dots`].
pub fn square(x: &[f32]) -> f32 {
    let mut out = [0.0];
    Backend::best().squares(Matrix::one(x), &mut out);
    out[0]
}
