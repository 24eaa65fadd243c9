//! The frame of all features of a model, with indicators of missing values.

use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The numbers by which the input of the kernels is computed.
pub struct FullFrame {
    features: usize,
    log_units: Vec<f64>,
    shift: Vec<f64>,
    factor: Vec<f64>,
    limit: Option<f64>,
    /// The rows of the triangle, without the zeros above the diagonal.
    whiten: Vec<f64>,
    relevance: Vec<f64>,
}

impl FullFrame {
    pub fn of(learner: &okl::Learner) -> Self {
        let (shift, factor) = learner.frame();
        FullFrame {
            features: learner.features(),
            log_units: learner.log_units().to_vec(),
            shift: shift.to_vec(),
            factor: factor.to_vec(),
            limit: learner.limit(),
            whiten: learner.whitening().to_vec(),
            relevance: learner.config().relevance.clone(),
        }
    }

    /// A dictionary of arrays with one entry per feature; None for a part that the frame does not have.
    pub fn table(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let features = self.features;
        let filled = |mut values: Vec<f64>, rest: f64| {
            (!values.is_empty()).then(|| {
                values.resize(features, rest);
                values.into_pyarray(py)
            })
        };
        let whiten = (!self.whiten.is_empty()).then(|| square(&self.whiten, features).into_pyarray(py).reshape([features; 2]));
        let table = PyDict::new(py);
        table.set_item("log_units", filled(self.log_units, 1.0))?;
        table.set_item("shift", filled(self.shift, 0.0))?;
        table.set_item("factor", filled(self.factor, 1.0))?;
        table.set_item("limit", self.limit)?;
        table.set_item("whiten", whiten.transpose()?)?;
        table.set_item("relevance", filled(self.relevance, 1.0))?;
        Ok(table)
    }
}

/// The rows of a triangle as a square matrix; features after those of the triangle stay as they are.
fn square(triangle: &[f64], features: usize) -> Vec<f64> {
    let mut matrix = vec![0.0; features * features];
    for row in 0..features {
        match triangle.get(row * (row + 1) / 2..(row + 1) * (row + 2) / 2) {
            Some(of_row) => matrix[row * features..][..=row].copy_from_slice(of_row),
            None => matrix[row * (features + 1)] = 1.0,
        }
    }
    matrix
}
