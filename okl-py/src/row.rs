//! Functions for one row at a time, without numpy, for the River estimators.
//!
//! The interpreter is not released: a row is learned in microseconds, less than it can take to get the interpreter back.

use okl::loss::Reads;
use okl::{Batch, Targets};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::call::with_workspace;
use crate::errors::refused;
use crate::learner::{Arguments, Learner};
use crate::targets::{is_bool, label};

/// Learns one row: a number for every feature, and a target. For losses of two classes, the target is the name of a class.
#[pyfunction]
#[pyo3(signature = (learner, values, y=None, weight=1.0))]
pub fn learn_row(
    learner: &Bound<'_, Learner>,
    values: &Bound<'_, PyList>,
    y: Option<&Bound<'_, PyAny>>,
    weight: f64,
) -> PyResult<()> {
    let (learner, x, weights) = (learner.get(), numbers(values)?, [weight]);
    let reader = learner.reader;
    let batch = Batch::of_f64(&x, x.len()).weights(&weights);
    let learn = |targets: Targets<'_>| {
        let learned = learner.shared.touch(values.py(), |learner| {
            learner.learn_with(&batch.targets(targets), |_, _| {})?;
            Ok(learner.examples())
        })?;
        // Checking the health takes longer than learning a row, so it is done every 128 examples.
        match learned.map_err(|e: okl::Error| refused(&e))?.is_multiple_of(128) {
            true => learner.warn_once(values.py()),
            false => Ok(()),
        }
    };
    match (reader.reads, y) {
        (Reads::Nothing, _) | (_, None) => learn(Targets::None),
        (Reads::Class | Reads::Sign, Some(y)) => {
            learn(Targets::Labels(&[label(0, y)?.ok_or_else(|| reader.unreadable(0, y))?]))?;
            if !reader.classes_given {
                learner.named.note(is_bool(y));
            }
            Ok(())
        }
        (Reads::Number | Reads::Vector, Some(y)) => learn(Targets::Numbers(&[y.extract()?])),
    }
}

/// Learns rows as `Learner.learn_report` does. For losses of two classes, every target is the name of a class, also a number.
#[pyfunction]
#[pyo3(signature = (learner, X, y, weights=None))]
#[allow(non_snake_case)]
pub fn learn_labelled<'py>(
    learner: &Bound<'py, Learner>,
    X: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    weights: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    learner.get().report_of_rows(X, &Arguments { y: Some(y), weights, ids: None, known: None, by_name: true })
}

/// The scores of one row, one per output; 0 while there are neither features nor examples.
#[pyfunction]
pub fn predict_row(learner: &Bound<'_, Learner>, values: &Bound<'_, PyList>) -> PyResult<Vec<f64>> {
    let x = numbers(values)?;
    let scores = learner.get().shared.look(values.py(), |learner| match learner.features() {
        0 if x.is_empty() => Ok(vec![0.0; learner.outputs()]),
        _ => with_workspace(|workspace| learner.predict_with(workspace, &Batch::of_f64(&x, x.len()))).map(|scores| scores.values),
    })?;
    scores.map_err(|e| refused(&e))
}

fn numbers(values: &Bound<'_, PyList>) -> PyResult<Vec<f64>> {
    values.iter().map(|value| value.extract()).collect()
}
