//! The command line and its exports, for Python.

use std::ffi::OsString;

use okl::Label;
use okl_cli::export::{Choices, To, export_with};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::gaps::Gaps;

/// Runs the command `okl` with these arguments and returns its exit status. Input, output and Ctrl-C are handled as by the binary,
/// so use it in a separate process only, as `python -m okl` does.
#[pyfunction]
pub fn command_line(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    let program = OsString::from("okl");
    py.detach(|| okl_cli::command::run(std::iter::once(program).chain(arguments)))
}

/// The model as an ONNX file; `threshold` replaces the learner's threshold, `classes` the order of the scores. `features`: the names of
/// the columns of X, if they are known; `gaps`: what NaN in them becomes.
pub fn onnx(
    learner: &okl::Learner,
    threshold: Option<f64>,
    classes: Option<&[Label]>,
    features: &[String],
    gaps: &Gaps,
) -> PyResult<Vec<u8>> {
    let inputs = gaps.inputs(features);
    let threshold = threshold.or(learner.threshold());
    let choices = Choices { threshold, classes, features, targets: &[], unread: &[], inputs: inputs.as_ref() };
    export_with(learner, To::Onnx, &choices).map_err(|e| PyValueError::new_err(format!("{e:#}")))
}
