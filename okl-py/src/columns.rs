//! The names of columns, where rows come as a frame: health and errors show them.

use std::sync::{Arc, Mutex, PoisonError};

use numpy::PyUntypedArray;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::arrays::is_lazy;
use crate::targets::is_bool;

/// The names of a learner's features; empty while none are known.
#[derive(Default)]
pub struct FeatureNames(Mutex<Names>);

pub type Names = Arc<Vec<String>>;

/// The columns of X as a call gives them.
pub struct GivenColumns {
    names: Vec<String>,
    numbers: Numbers,
}

/// Whether the names of columns are the whole numbers 0, 1, 2, ...
#[derive(Clone, Copy, PartialEq)]
enum Numbers {
    /// In this order: so are columns called to which nobody gave a name.
    Places,
    /// In another order.
    Moved,
    No,
}

/// The names of the columns of a frame; whole numbers and all other objects are names as Python writes them. No names for anything else.
pub fn names_of(x: &Bound<'_, PyAny>) -> GivenColumns {
    let none = GivenColumns { names: Vec::new(), numbers: Numbers::No };
    if x.is_exact_instance_of::<PyList>() || x.cast_exact::<PyUntypedArray>().is_ok() || is_lazy(x) {
        return none;
    }
    // The attribute `columns` of a table of pyarrow has the columns themselves.
    let arrow = x.get_type().module().is_ok_and(|module| module.to_string().starts_with("pyarrow."));
    let columns = x.getattr(if arrow { "column_names" } else { "columns" }).and_then(|columns| columns.try_iter());
    let names: PyResult<Vec<Name>> = columns.and_then(|columns| columns.map(|name| Name::of(&name?)).collect());
    names.map_or(none, |names| GivenColumns { numbers: Numbers::of(&names), names: names.into_iter().map(Name::text).collect() })
}

impl Numbers {
    fn of(names: &[Name]) -> Self {
        let numbers: Option<Vec<i128>> = names.iter().map(Name::number).collect();
        let is_place = |(place, number): (usize, &i128)| *number == place as i128;
        match numbers {
            Some(mut numbers) if !numbers.is_empty() => {
                let in_order = numbers.iter().enumerate().all(is_place);
                numbers.sort_unstable();
                match numbers.iter().enumerate().all(is_place) {
                    true if in_order => Numbers::Places,
                    true => Numbers::Moved,
                    false => Numbers::No,
                }
            }
            _ => Numbers::No,
        }
    }
}

/// The name of a column of a frame.
enum Name {
    Text(String),
    Number(i128),
}

impl Name {
    fn of(name: &Bound<'_, PyAny>) -> PyResult<Self> {
        match name.extract() {
            Ok(text) => Ok(Name::Text(text)),
            // True is a number for Python, and a name of its own.
            Err(_) if is_bool(name) => Ok(Name::Text(name.to_string())),
            Err(_) => Ok(match name.extract() {
                Ok(number) => Name::Number(number),
                // Numbers with a fraction, times, tuples, None: as Python writes them.
                Err(_) => Name::Text(name.str()?.to_string()),
            }),
        }
    }

    fn number(&self) -> Option<i128> {
        if let Name::Number(number) = self { Some(*number) } else { None }
    }

    fn text(self) -> String {
        match self {
            Name::Text(text) => text,
            Name::Number(number) => number.to_string(),
        }
    }
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

    /// The names for the messages of a call with these columns. `learned`: whether rows have been learned.
    ///
    /// # Errors
    /// If a column is missing, or has another name than in the rows before, or columns without names are in another order.
    pub fn checked(&self, given: GivenColumns, learned: bool) -> PyResult<Names> {
        let known = self.get();
        if known.is_empty() && learned && given.numbers == Numbers::Moved {
            return Err(PyValueError::new_err(format!(
                "the columns of X are {}, but the rows before had columns without names: give the columns in the order 0, 1, ..., \
                 or X.to_numpy() if only the names have changed",
                given.names[..given.names.len().min(MOST_SHOWN)].join(", ")
                    + if given.names.len() > MOST_SHOWN { ", ..." } else { "" }
            )));
        }
        // Columns without names may be those that have names here, unless these are the same numbers in another order.
        let numbered = || given.names.iter().all(|name| known.contains(name));
        let given = if given.numbers == Numbers::Places && !numbered() { Vec::new() } else { given.names };
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
