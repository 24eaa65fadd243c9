//! The names of columns, where rows come as a frame: health and errors show them.

use std::sync::{Arc, Mutex, PoisonError};

use numpy::PyUntypedArray;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::arrays::is_lazy;

/// The names of a learner's features; empty while none are known.
#[derive(Default)]
pub struct FeatureNames(Mutex<Names>);

pub type Names = Arc<Vec<String>>;

/// The names of the columns of a frame. Empty for anything else, and where a name is not text.
pub fn names_of(x: &Bound<'_, PyAny>) -> Vec<String> {
    if x.is_exact_instance_of::<PyList>() || x.cast_exact::<PyUntypedArray>().is_ok() || is_lazy(x) {
        return Vec::new();
    }
    let columns = x.getattr("columns").and_then(|columns| columns.try_iter());
    columns.and_then(|columns| columns.map(|name| name?.extract()).collect::<PyResult<_>>()).unwrap_or_default()
}

/// A column as messages show it: its name in quotes, or its number.
pub fn shown(column: usize, names: &[String]) -> String {
    names.get(column).map_or_else(|| column.to_string(), |name| format!("'{name}'"))
}

impl FeatureNames {
    pub fn new(names: Names) -> Self {
        FeatureNames(Mutex::new(names))
    }

    pub fn get(&self) -> Names {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn set(&self, names: Names) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = names;
    }

    /// The names for the messages of a call with these columns.
    ///
    /// # Errors
    /// If a column has another name than in the rows before. A missing column is for the engine to refuse.
    pub fn checked(&self, given: Vec<String>) -> PyResult<Names> {
        let known = self.get();
        let other = known.iter().zip(&given).position(|(known, given)| known != given);
        match other.filter(|_| given.len() >= known.len()) {
            None if given.len() > known.len() => Ok(given.into()),
            None => Ok(known),
            Some(column) => Err(PyValueError::new_err(format!(
                "column {column} of X is '{}', but it was '{}' in the rows before: give the columns in the order of feature_names, \
                 or set feature_names to None if only the names have changed",
                given[column], known[column]
            ))),
        }
    }
}
