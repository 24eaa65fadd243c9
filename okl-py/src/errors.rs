//! Converts errors of the engine to Python exceptions.

use std::io;
use std::path::Path;

use okl::loss::Reads;
use okl::{Error, ErrorKind};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// A setting or a model file that the engine refuses.
pub fn refused(error: &Error) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Rows or targets that the engine refuses; `first`: the index of the first row that was passed to it.
pub fn refused_rows(error: Error, first: usize, reads: Reads) -> PyErr {
    let kind = match error.kind().clone() {
        ErrorKind::NotFinite { row, column, found, hint } => ErrorKind::NotFinite { row: first + row, column, found, hint },
        ErrorKind::Target { row, found, expected } if reads == Reads::Sign => ErrorKind::Target {
            row,
            found,
            expected: format!("{expected} (text, bools, or any two with classes=[first, second])"),
        },
        other => other,
    };
    refused(&kind.into())
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
