//! Values of Python that `okl.Learner` reads and returns.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

/// The positional argument: a dict of settings.
pub fn settings_table<'a, 'py>(found: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, PyDict>> {
    found.cast::<PyDict>().map_err(|_| {
        let found = match (found.is_instance_of::<PyString>(), found.repr(), found.get_type().name()) {
            (true, Ok(text), _) => format!("the text {text}"),
            (_, _, Ok(kind)) => format!("an object of type {kind}"),
            _ => "another object".into(),
        };
        PyTypeError::new_err(format!(
            "okl.Learner takes settings by name, as in okl.Learner(loss=\"hinge\", gamma=0.5), or one dict of them; found {found}"
        ))
    })
}

/// A number between two limits.
pub fn within(name: &str, found: i64, least: i64, most: i64) -> PyResult<usize> {
    let refuse = || PyValueError::new_err(format!("{name}: expected {least} to {most}, found {found}"));
    usize::try_from(found).ok().filter(|_| (least..=most).contains(&found)).ok_or_else(refuse)
}

/// What a pickle holds beside the model file: whether the classes are bools, and the names of the features.
#[derive(FromPyObject, IntoPyObject)]
pub enum State {
    Names(bool, Vec<String>),
    /// Also the kernel and the objects of the terms.
    Objects(bool, Vec<String>, Py<PyAny>, Vec<Py<PyAny>>),
    /// Of pickles from before there were names.
    #[pyo3(transparent)]
    Bools(bool),
}

/// The name of a class as a Python value.
#[derive(IntoPyObject)]
pub enum Class {
    Bool(bool),
    Int(i64),
    Text(String),
}
