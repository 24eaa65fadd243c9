//! The command line and the exports that it has, for Python.

use std::ffi::OsString;

use okl_cli::export::{To, export_with};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Runs the command `okl` with these arguments and returns its exit status. It reads, writes and listens to Ctrl-C as the
/// binary does: made for a process of its own, as `python -m okl` is.
#[pyfunction]
pub fn command_line(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    let program = OsString::from("okl");
    py.detach(|| okl_cli::command::run(std::iter::once(program).chain(arguments)))
}

/// The model as an ONNX file; `threshold` is in place of the learner's.
pub fn onnx(learner: &okl::Learner, threshold: Option<f64>) -> PyResult<Vec<u8>> {
    export_with(learner, To::Onnx, threshold.or(learner.threshold())).map_err(|e| PyValueError::new_err(format!("{e:#}")))
}
