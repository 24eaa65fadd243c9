//! The names of columns, where rows come as a frame: health and errors show them.

use std::sync::{Arc, Mutex, PoisonError};

use numpy::PyUntypedArray;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

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
    // The attribute `columns` of a table of pyarrow has the columns themselves.
    let arrow = x.get_type().module().is_ok_and(|module| module.to_string().starts_with("pyarrow."));
    let columns = x.getattr(if arrow { "column_names" } else { "columns" }).and_then(|columns| columns.try_iter());
    columns.and_then(|columns| columns.map(|name| name?.extract()).collect::<PyResult<_>>()).unwrap_or_default()
}

/// Names that the user sets; empty for None.
pub fn given_names(names: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<String>> {
    let Some(names) = names else { return Ok(Vec::new()) };
    let listed = if names.is_instance_of::<PyString>() { None } else { names.try_iter().ok() };
    listed.and_then(|names| names.map(|name| name?.extract()).collect::<PyResult<_>>().ok()).ok_or_else(|| {
        let found = names.repr().map_or_else(|_| "another object".into(), |names| names.to_string());
        PyTypeError::new_err(format!("feature_names: expected a list of names as text, or None, found {found}"))
    })
}

/// A column as messages show it: its name in quotes, or its number.
pub fn shown(column: usize, names: &[String]) -> String {
    names.get(column).map_or_else(|| column.to_string(), |name| format!("'{name}'"))
}

/// At most this many missing columns are named.
const MOST_SHOWN: usize = 5;

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
    /// If a column is missing, or has another name than in the rows before.
    pub fn checked(&self, given: Vec<String>) -> PyResult<Names> {
        let known = self.get();
        if !given.is_empty() && given.len() < known.len() {
            let missing: Vec<String> =
                known.iter().filter(|name| !given.contains(name)).map(|name| format!("'{name}'")).collect();
            if !missing.is_empty() {
                let (columns, them) = if missing.len() == 1 { ("column", "it") } else { ("columns", "them") };
                let shown = missing[..missing.len().min(MOST_SHOWN)].join(", ");
                let more = if missing.len() > MOST_SHOWN { ", ..." } else { "" };
                let (all, found) = (known.len(), given.len());
                return Err(PyValueError::new_err(format!(
                    "X lacks the {columns} {shown}{more}: expected {all} features, found {found}; the rows before had {them}"
                )));
            }
        }
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
