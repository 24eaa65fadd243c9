//! Converts errors of the engine to Python exceptions.

use std::io;
use std::path::Path;

use okl::loss::Reads;
use okl::{Error, ErrorKind};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::columns::shown;
use crate::rows::Matrix;

/// A setting or a model file that the engine refuses.
pub fn refused(error: &Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// What is known about the rows of a call.
pub struct Place<'a> {
    /// The index of the first row that was passed to the engine.
    pub first: usize,
    /// What the loss reads.
    pub reads: Reads,
    /// The names of the columns, where they are known.
    pub names: &'a [String],
    /// Whether y has one entry per row.
    pub flat: bool,
    /// What to do about a number that is NaN.
    pub unset: &'static str,
}

/// Rows or targets that the engine refuses.
pub fn refused_rows(error: Error, place: &Place<'_>) -> PyErr {
    let kind = match error.kind().clone() {
        ErrorKind::NotFinite { row, column, found, hint } => return not_finite(place, place.first + row, &column, found, hint),
        ErrorKind::Target { row, found, expected } if place.reads == Reads::Sign && expected.ends_with("or class labels") => {
            ErrorKind::Target {
                row,
                found: if found.parse::<f64>().is_ok_and(|y| y.abs() >= 2f64.powi(53)) {
                    format!("{found} (a number; beyond 2^53 whole numbers are rounded)")
                } else {
                    found
                },
                expected: format!("{expected} (text, bools, or any two with classes=[first, second])"),
            }
        }
        other => other,
    };
    refused(&kind.into())
}

/// The same error for rows that begin at row `first` of the call.
pub fn moved(mut kind: ErrorKind, first: usize) -> ErrorKind {
    match &mut kind {
        ErrorKind::NotFinite { row, .. }
        | ErrorKind::Column { row, .. }
        | ErrorKind::Target { row, .. }
        | ErrorKind::Weight { row, .. }
        | ErrorKind::Id { row, .. }
        | ErrorKind::KernelValue { row, .. } => *row += first,
        _ => {}
    }
    kind
}

/// What to do about a number that is NaN.
pub const UNSET: &str = "; set missing='mean', for example, fill it in first, or leave the row out";

/// The same for a learner that takes no `missing`.
pub const NEVER_FILLED: &str = "; fill it in first, or leave the row out";

/// The same where `missing` is set, and the rows are sparse or have a column for each feature of the model, indicators included: both are
/// taken as they are.
const NOT_FILLED: [&str; 2] = [
    "; missing does not fill sparse matrices: give a dense X, fill it in first, or leave the row out",
    "; missing does not fill an X that has the indicators of the model: give X without them, or leave the row out",
];

/// What to do about NaN in rows; `fills`: whether `missing` is set, `otherwise`: what to do where it is not.
pub fn unset(otherwise: &'static str, fills: bool, x: &Matrix<'_>) -> &'static str {
    match (fills, x) {
        (false, Matrix::Sparse(_)) => NEVER_FILLED,
        (false, _) => otherwise,
        (true, Matrix::Sparse(_)) => NOT_FILLED[0],
        (true, _) => NOT_FILLED[1],
    }
}

/// What to do about a target that is NaN.
pub const MISSING: &str = "; for a row without a target give None in a list, or known=False for the row";

/// A number that is not finite, in X or y. The engine numbers features, and calls the columns of y targets.
fn not_finite(place: &Place<'_>, row: usize, column: &str, found: f64, hint: &str) -> PyErr {
    let (at, missing) = match (column.strip_prefix("target "), column.parse()) {
        (Some(_), _) if place.flat => (format!("row {row} of y"), MISSING),
        (Some(output), _) => (format!("row {row}, column {output} of y"), "; for a row without targets give known=False"),
        (None, Ok(column)) => (
            format!("row {row}, column {}", shown(column, place.names)),
            if found.is_nan() { place.unset } else { "; replace it, or leave the row out" },
        ),
        (None, Err(_)) => (format!("row {row}, {column}"), hint),
    };
    let hint = if found.is_finite() { hint } else { missing };
    PyValueError::new_err(format!("{at}: found {found:e}, expected a finite number{hint}"))
}

/// An error of the operating system about a file, as the matching subclass of OSError.
pub fn file_error(py: Python<'_>, error: &io::Error, path: &Path) -> PyErr {
    let Some(code) = error.raw_os_error() else {
        let text = format!("{}: {error}", path.display());
        let no_path = error.kind() == io::ErrorKind::InvalidInput;
        return if no_path { PyValueError::new_err(text) } else { PyOSError::new_err(text) };
    };
    let text = py.import("os").and_then(|os| os.call_method1("strerror", (code,))?.extract::<String>());
    PyOSError::new_err((code, text.unwrap_or_else(|_| error.to_string()), path.as_os_str().to_owned()))
}

/// The error for a poisoned lock, which means that the engine panicked during learning.
pub fn broken() -> PyErr {
    PyRuntimeError::new_err(
        "a fault inside okl ended an earlier call, and this learner's state is unknown: load the last model saved",
    )
}
