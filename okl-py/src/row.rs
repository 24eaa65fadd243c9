//! Functions for one row at a time, without numpy, for the River estimators.
//!
//! The interpreter is not released: a row is learned in microseconds, less than it can take to get the interpreter back.

use numpy::ndarray::{ArrayView2, ShapeError};
use okl::batch::RowSource;
use okl::loss::Reads;
use okl::{Batch, Targets};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::call::with_workspace;
use crate::errors::refused;
use crate::gaps::{self, Gaps};
use crate::learner::{Arguments, Learner};
use crate::rows::{Matrix, SparseRows};
use crate::targets::{is_bool, label};

/// The columns of the values of a sparse row, ascending, and the number of features.
type Columns = Option<(Vec<u32>, usize)>;

/// Learns one row: a number for every feature, or for the given columns, and a target. For losses of two classes, the target is the name
/// of a class.
#[pyfunction]
#[pyo3(signature = (learner, values, y=None, weight=1.0, columns=None))]
pub fn learn_row(
    learner: &Bound<'_, Learner>,
    values: &Bound<'_, PyList>,
    y: Option<&Bound<'_, PyAny>>,
    weight: f64,
    columns: Columns,
) -> PyResult<()> {
    let (learner, py, weights) = (learner.get(), values.py(), [weight]);
    let (reader, x) = (learner.reader, numbers(values, &learner.gaps)?);
    let _turn = learner.gaps.begin(py, &learner.shared)?;
    let held = Row::new(x, columns);
    let is_example = weight > 0.0 && (reader.reads == Reads::Nothing || y.is_some());
    let filling = learner.gaps.fill_in_order(&held.view()?, learner.look(py, okl::Learner::features)?, |_| is_example)?;
    let row = filling.as_ref().map_or_else(|| held.view(), |filling| Ok(gaps::view(filling)))?;
    let batch = row.batch().weights(&weights);
    let learn = |targets: Targets<'_>| {
        let learned = learner.shared.touch(py, |learner| {
            if let Some(narrow) = filling.as_ref().and_then(|filling| filling.narrower(learner.features())) {
                learner.check(&Batch::of_f64(&narrow, learner.features()).weights(&weights).targets(targets))?;
                learner.widen(row.features())?;
            }
            learner.learn_with(&batch.targets(targets), |_, _| {})?;
            Ok(learner.examples())
        })?;
        if let (Ok(_), Some(filling)) = (&learned, &filling) {
            learner.gaps.learned(filling, 1);
        }
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
#[pyo3(signature = (learner, values, columns=None))]
pub fn predict_row(learner: &Bound<'_, Learner>, values: &Bound<'_, PyList>, columns: Columns) -> PyResult<Vec<f64>> {
    let (learner, py) = (learner.get(), values.py());
    let held = Row::new(numbers(values, &learner.gaps)?, columns);
    let filling = learner.gaps.fill(&held.view()?, learner.look(py, okl::Learner::features)?)?;
    let row = filling.as_ref().map_or_else(|| held.view(), |filling| Ok(gaps::view(filling)))?;
    let scores = learner.look(py, |learner| match learner.features() {
        0 if row.features() == 0 => Ok(vec![0.0; learner.outputs()]),
        _ => with_workspace(|workspace| learner.predict_with(workspace, &row.batch())).map(|scores| scores.values),
    })?;
    scores.map_err(|e| refused(&e))
}

/// The values of a row. None is NaN where NaN is filled.
fn numbers(values: &Bound<'_, PyList>, gaps: &Gaps) -> PyResult<Vec<f64>> {
    let fills = gaps.rule().is_some();
    let number = |value: Bound<'_, PyAny>| if fills && value.is_none() { Ok(f64::NAN) } else { value.extract() };
    values.iter().map(number).collect()
}

/// One row of a call.
enum Row {
    Dense(Vec<f64>),
    Sparse(SparseRows),
}

impl Row {
    fn new(x: Vec<f64>, columns: Columns) -> Self {
        match columns {
            Some((columns, features)) => Row::Sparse(SparseRows::one(columns, x, features)),
            None => Row::Dense(x),
        }
    }

    fn view(&self) -> PyResult<Matrix<'_>> {
        let wrong = |e: ShapeError| PyValueError::new_err(e.to_string());
        match self {
            Row::Dense(x) => ArrayView2::from_shape((1, x.len()), x).map(Matrix::Double).map_err(wrong),
            Row::Sparse(row) => Ok(Matrix::Sparse(row)),
        }
    }
}
