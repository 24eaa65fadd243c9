//! The batch opponent: vv-RLS with the same kernel, `G C J + t lambda C = Y` solved by [`okl::rls`].

use okl::gram::{Backend, Matrix as Points, Panels};
use okl::kernel::{AnyKernel, DotKernel};

use super::online::{equicorrelated, mean_square};
use crate::data::Rows;

/// A solution: h(x) = sum_i exp(-|x - x_i|²/mu) J C_i.
pub struct Rls {
    centres: Centres,
    /// C, output by output, in slots.
    columns: Vec<Vec<f64>>,
}

/// Rows in panels, and the kernel over them.
struct Centres {
    backend: Backend,
    kernel: AnyKernel,
    panels: Panels,
    squares: Vec<f32>,
}

impl Centres {
    fn new(rows: &Rows, mu: f64) -> Self {
        let backend = Backend::chosen().unwrap_or_else(|_| Backend::best());
        let mut panels = Panels::new(rows.features);
        panels.reserve(rows.len());
        (0..rows.len()).for_each(|i| panels.put(i, rows.row(i)));
        let mut squares = vec![0.0; rows.len()];
        backend.squares(Points::new(rows.features, &rows.x), &mut squares);
        squares.resize(panels.slots(), 0.0);
        Centres { backend, kernel: AnyKernel::Gaussian { gamma: 1.0 / mu }, panels, squares }
    }

    /// Kernel values of every row against all slots, row by row to `each`.
    fn values(&self, rows: &Rows, mut each: impl FnMut(&[f32])) {
        const BLOCK: usize = 64;
        let slots = self.panels.slots();
        let (mut values, mut squares) = (vec![0.0; BLOCK * slots], [0.0; BLOCK]);
        for x in rows.x.chunks(BLOCK * rows.features) {
            let points = Points::new(rows.features, x);
            self.backend.dots(points, &self.panels, 0..self.panels.panels(), &mut values, slots);
            self.backend.squares(points, &mut squares[..points.len()]);
            for (i, row) in values.chunks_mut(slots).take(points.len()).enumerate() {
                self.kernel.map(self.backend, squares[i], &self.squares, row);
                each(row);
            }
        }
    }
}

impl Rls {
    /// Solves it.
    ///
    /// # Errors
    /// If the Gram matrix is not positive semidefinite.
    pub fn fit(rows: &Rows, mu: f64, lambda: f64) -> anyhow::Result<Self> {
        let (n, outputs) = (rows.len(), rows.width);
        let centres = Centres::new(rows, mu);
        let mut gram: Vec<f32> = Vec::with_capacity(n * n);
        centres.values(rows, |values| gram.extend_from_slice(&values[..n]));
        let c = okl::rls::solve(&gram, &rows.y, &equicorrelated(outputs), outputs, lambda)?;
        let column = |o: usize| (0..centres.panels.slots()).map(|i| if i < n { c[i * outputs + o] } else { 0.0 }).collect();
        Ok(Rls { columns: (0..outputs).map(column).collect(), centres })
    }

    /// h of every row.
    pub fn predict(&self, rows: &Rows) -> Vec<f64> {
        let outputs = self.columns.len();
        let (j, mut sums, mut h) = (equicorrelated(outputs), vec![0.0; outputs], Vec::with_capacity(rows.len() * outputs));
        let columns: Vec<&[f64]> = self.columns.iter().map(Vec::as_slice).collect();
        self.centres.values(rows, |values| {
            self.centres.backend.weighted_sums(values, &columns, &mut sums);
            h.extend(j.chunks(outputs).map(|row| row.iter().zip(&sums).map(|(j, s)| j * s).sum::<f64>()));
        });
        h
    }

    /// The mean squared error, per output.
    pub fn error(&self, rows: &Rows) -> f64 {
        mean_square(&self.predict(rows), &rows.y)
    }
}

/// The error by cross-validation in five folds.
///
/// # Errors
/// If a Gram matrix is not positive semidefinite.
pub fn cross_validated(rows: &Rows, mu: f64, lambda: f64) -> anyhow::Result<f64> {
    const FOLDS: usize = 5;
    let mut sum = 0.0;
    for fold in 0..FOLDS {
        let (held, kept): (Vec<usize>, Vec<usize>) = (0..rows.len()).partition(|i| i % FOLDS == fold);
        sum += Rls::fit(&rows.gather(&kept), mu, lambda)?.error(&rows.gather(&held));
    }
    Ok(sum / FOLDS as f64)
}
