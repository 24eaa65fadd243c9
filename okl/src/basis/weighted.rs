//! Weights of columns: kernels that read weighted columns see the distance |x - y|² = sum_j v_j (x_j - y_j)², v_j > 0.
//!
//! The inner product is sum_j (v_j x_j) y_j, one chain of fused multiply-adds in which the products v_j x_j of a row are rounded first, and
//! |x|² is the same chain: equal rows have distance exactly 0. So one set of panels serves kernels with and without weights; the weights
//! are multiplied into the rows. The factors of a fused multiply-add may be exchanged, but not row and centre: the weighted point is always
//! the row of a block, or the centre that is compared with all others.
//!
//! Kernels of the Manhattan distance see sum_j sqrt(v_j) |x_j - y_j|. Rows and centres are as they are there, and the weights belong to the chain.

use crate::gram::{Backend, Compiled};

/// The weights of columns, the squared norms of all centres under them, and the planes that read weighted columns.
#[derive(Clone, Debug)]
pub(crate) struct ColumnWeights {
    /// The weights of the first columns, as they were given.
    given: Vec<f32>,
    /// v, one number per feature.
    pub of_columns: Vec<f32>,
    /// The weights of differences times -1/2: `-sqrt(v) / 2`.
    pub halves: Vec<f32>,
    /// |x|² of every slot.
    pub squares: Vec<f32>,
    /// For each plane, whether it reads weighted columns.
    pub planes: Vec<bool>,
    /// A weighted row.
    pub row: Vec<f32>,
}

impl ColumnWeights {
    /// Columns without a number have the weight 1.
    pub fn new(given: &[f64], planes: Vec<bool>, features: usize) -> Self {
        let given = given.iter().map(|v| *v as f32).collect();
        let mut weights =
            ColumnWeights { given, of_columns: Vec::new(), halves: Vec::new(), squares: Vec::new(), planes, row: Vec::new() };
        weights.widen(features);
        weights
    }

    /// Increases the number of features.
    pub fn widen(&mut self, features: usize) {
        let known = self.of_columns.len();
        self.of_columns.extend((known..features).map(|j| self.given.get(j).copied().unwrap_or(1.0)));
        self.halves.extend(self.of_columns[known..].iter().map(|v| -0.5 * v.sqrt()));
        self.row.resize(features, 0.0);
    }

    /// The weights of some planes; none if they read columns as they are.
    pub fn under(&self, planes: std::ops::Range<usize>) -> Option<Self> {
        let planes = self.planes[planes].to_vec();
        planes.contains(&true).then(|| ColumnWeights { planes, ..self.clone() })
    }

    /// |x|² of a row. The weighted row is in `row` then.
    pub fn weigh(&mut self, backend: Backend, x: &[f32]) -> f32 {
        let mut square = [0.0];
        self.row.resize(x.len(), 0.0);
        backend.compiled(Weigh { rows: x, weights: &self.of_columns, out: &mut self.row, squares: &mut square });
        square[0]
    }

    /// Weighs rows, and writes their squared norms.
    pub fn weigh_rows(&self, backend: Backend, rows: &[f32], out: &mut Vec<f32>, squares: &mut [f32]) {
        out.resize(rows.len(), 0.0);
        backend.compiled(Weigh { rows, weights: &self.of_columns, out, squares });
    }
}

/// v_j x_j of rows, and the chain of (v_j x_j) x_j.
struct Weigh<'a> {
    rows: &'a [f32],
    weights: &'a [f32],
    out: &'a mut [f32],
    squares: &'a mut [f32],
}

impl Compiled for Weigh<'_> {
    #[inline(always)]
    fn run(self) {
        let features = self.weights.len().max(1);
        let rows = self.rows.chunks_exact(features).zip(self.out.chunks_exact_mut(features));
        for ((x, out), square) in rows.zip(self.squares) {
            out.iter_mut().zip(x).zip(self.weights).for_each(|((out, x), v)| *out = v * x);
            *square = out.iter().zip(x).fold(0.0, |sum: f32, (vx, x)| vx.mul_add(*x, sum));
        }
    }
}
