//! Targets from Python. Their meaning depends on the loss and on their type, never on their values, because a decision by the values
//! of a block would depend on the cut.

use std::fmt::Display;
use std::sync::atomic::{AtomicU8, Ordering};

use numpy::{PyArrayDescrMethods, PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods};
use okl::loss::Reads;
use okl::{Label, Targets};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyList, PyString, PyTuple};

use crate::arrays::{array, contiguous};
use crate::errors::MISSING;

/// Converts targets for a learner.
#[derive(Clone, Copy)]
pub struct Reader {
    /// The kind of target of the loss.
    pub reads: Reads,
    /// Whether `classes` were given, so that numbers can be names of classes for a loss of two classes.
    pub classes_given: bool,
    /// Whether numbers are names of classes for a loss of two classes also if no classes were given.
    pub numbers_name: bool,
}

/// Targets that the engine can read.
pub enum Read<'py> {
    None,
    Array(PyReadonlyArrayDyn<'py, f64>),
    Numbers(Vec<f64>),
    Labels(Vec<Label>),
}

impl Read<'_> {
    /// Whether the targets name classes, and there is at least one.
    pub fn names_classes(&self) -> bool {
        matches!(self, Read::Labels(names) if !names.is_empty())
    }

    pub fn targets(&self) -> Targets<'_> {
        match self {
            Read::None => Targets::None,
            Read::Array(y) => Targets::Numbers(y.as_slice().unwrap_or(&[])),
            Read::Numbers(y) => Targets::Numbers(y),
            Read::Labels(y) => Targets::Labels(y),
        }
    }
}

/// The contents of `y`.
pub struct Found<'py> {
    pub targets: Read<'py>,
    /// Which rows have a target; none if all have one.
    pub present: Option<Vec<bool>>,
    /// Whether all of them are bools that name classes.
    pub bools: bool,
    /// Whether there is one number or class per row, not a row of them.
    pub flat: bool,
}

impl Found<'_> {
    /// No targets, for a novelty loss.
    pub fn nothing() -> Self {
        Found { targets: Read::None, present: None, bools: false, flat: true }
    }
}

/// Whether all class names so far were bools. The engine stores them as 0 and 1; Python shows them as False and True.
#[derive(Default)]
pub struct Named(AtomicU8);

const NOTHING: u8 = 0;
const BOOLS: u8 = 1;
const OTHERS: u8 = 2;

impl Named {
    pub fn new(bools: bool) -> Self {
        Named(AtomicU8::new(if bools { BOOLS } else { NOTHING }))
    }

    /// Records the type of new class names.
    pub fn note(&self, bools: bool) {
        let next = if bools { BOOLS } else { OTHERS };
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| (now < next).then_some(next));
    }

    pub fn are_bools(&self) -> bool {
        self.0.load(Ordering::Relaxed) == BOOLS
    }
}

impl Reader {
    /// Reads the targets of this many rows. `known`: which rows have a target; the targets of the other rows are not read.
    pub fn read<'py>(self, y: &Bound<'py, PyAny>, rows: usize, known: Option<&[bool]>) -> PyResult<Found<'py>> {
        if self.reads == Reads::Nothing {
            return Err(PyValueError::new_err("this loss reads no target: leave y out"));
        }
        let y = as_array(y, known)?;
        match y.shape() {
            [n] | [n, _] if *n == rows => {}
            [n] | [n, _] => return Err(PyValueError::new_err(format!("y has {n} rows, X has {rows}"))),
            shape => {
                let found = shape.len();
                return Err(PyValueError::new_err(format!("y has {found} dimensions, expected 1, or 2 for several outputs")));
            }
        }
        let kind = y.dtype().kind();
        if kind == b'O' {
            return self.objects(&y, rows, known);
        }
        let found = match (self.names_classes(b"bUT".contains(&kind)), kind) {
            (false, b'f' | b'i' | b'u' | b'b') => Read::Array(contiguous(&y, "float64")?),
            (true, b'f') => labels(contiguous::<f64>(&y, "float64")?.as_slice()?, |row, v| match is_known(known, row) {
                true => whole(row, v),
                false => Ok(UNREAD),
            })?,
            (true, b'i') => labels(contiguous::<i64>(&y, "int64")?.as_slice()?, |_, v| Ok(Label::Int(v)))?,
            (true, b'u') => labels(contiguous::<u64>(&y, "uint64")?.as_slice()?, unsigned)?,
            (true, b'b') => labels(contiguous::<bool>(&y, "bool")?.as_slice()?, |_, v| Ok(Label::Int(v.into())))?,
            (true, b'U' | b'T') => {
                let texts: Vec<String> = y.call_method0("ravel")?.call_method0("tolist")?.extract()?;
                Read::Labels(texts.into_iter().map(Label::Text).collect())
            }
            _ => return Err(PyTypeError::new_err(format!("y has dtype {}, expected {}", y.dtype(), self.expected()))),
        };
        let bools = kind == b'b' && matches!(found, Read::Labels(_));
        Ok(Found { targets: found, present: None, bools, flat: y.ndim() == 1 })
    }

    /// Whether these targets are names of classes. `apart`: they cannot be numbers.
    fn names_classes(self, apart: bool) -> bool {
        match self.reads {
            Reads::Class => true,
            Reads::Sign => self.classes_given || self.numbers_name || apart,
            Reads::Number | Reads::Vector | Reads::Nothing => false,
        }
    }

    fn expected(self) -> &'static str {
        match self.reads {
            Reads::Class | Reads::Sign if self.classes_given => "the given classes",
            Reads::Class => "classes: whole numbers, bools or text",
            Reads::Sign => "-1 and +1, or classes as bools or text",
            _ => "numbers",
        }
    }

    /// Reads an array of objects; None is a missing target, and so is every target of a row that is not `known`.
    fn objects<'py>(self, y: &Bound<'py, PyUntypedArray>, rows: usize, given: Option<&[bool]>) -> PyResult<Found<'py>> {
        let mut items: Vec<Bound<'py, PyAny>> = y.call_method0("ravel")?.call_method0("tolist")?.extract()?;
        let width = items.len().checked_div(rows).unwrap_or(1).max(1);
        for (_, targets) in items.chunks_mut(width).enumerate().filter(|(row, _)| !is_known(given, *row)) {
            targets.fill(y.py().None().into_bound(y.py()));
        }
        let known = items.chunks(width).enumerate().map(known).collect::<PyResult<Vec<bool>>>()?;
        // NaN is never a valid target. The type of the other targets decides the error message.
        let first = items.iter().find(|v| !v.is_none() && !v.extract().is_ok_and(f64::is_nan));
        let labels = self.names_classes(first.is_some_and(apart));
        let bools = labels && items.iter().filter(|v| !v.is_none()).all(is_bool);
        let row = |i: usize| i / width;
        let items = items.iter().enumerate().map(|(i, v)| (row(i), v));
        let found = if labels {
            Read::Labels(items.map(|(row, v)| self.label(row, v)).collect::<PyResult<_>>()?)
        } else {
            Read::Numbers(items.map(|(row, v)| self.number(row, v)).collect::<PyResult<_>>()?)
        };
        Ok(Found { targets: found, present: Some(known), bools, flat: y.ndim() == 1 })
    }

    fn number(self, row: usize, value: &Bound<'_, PyAny>) -> PyResult<f64> {
        match value {
            _ if value.is_none() => Ok(0.0),
            _ if self.reads == Reads::Sign && apart(value) => Err(self.unreadable(row, value)),
            _ => value.extract().map_err(|_| self.unreadable(row, value)),
        }
    }

    fn label(self, row: usize, value: &Bound<'_, PyAny>) -> PyResult<Label> {
        if value.is_none() {
            return Ok(UNREAD);
        }
        // For a loss of two classes without given classes, text and bools are class names and numbers are not, so they cannot be mixed.
        if self.reads == Reads::Sign && !self.classes_given && !self.numbers_name && !apart(value) {
            return Err(self.unreadable(row, value));
        }
        label(row, value)?.ok_or_else(|| self.unreadable(row, value))
    }

    pub fn unreadable(self, row: usize, found: &Bound<'_, PyAny>) -> PyErr {
        let name = found.get_type().name().map_or_else(|_| "object".into(), |name| name.to_string());
        let expected = self.expected();
        PyTypeError::new_err(format!("row {row}: target {found} of type {name}, expected {expected}; None is a missing target"))
    }
}

/// Converts targets to an array. A list becomes an array of objects, because numpy would convert numbers to text if the list also
/// has text. The missing values of a column are None. Masked values are refused, except in rows that `known` says have no target.
fn as_array<'py>(y: &Bound<'py, PyAny>, known: Option<&[bool]>) -> PyResult<Bound<'py, PyUntypedArray>> {
    let listed = y.is_instance_of::<PyList>() || y.is_instance_of::<PyTuple>();
    if !listed && y.cast_exact::<PyUntypedArray>().is_err() {
        return array("y", &y.py().import("okl._columns")?.call_method1("with_none", (y, known.map(<[bool]>::to_vec)))?);
    }
    let found = array("y", y)?;
    match listed && found.dtype().kind() == b'U' {
        true => Ok(y.py().import("numpy")?.call_method1("asarray", (y, "object"))?.cast_into()?),
        false => Ok(found),
    }
}

/// Whether a row has its targets; an error if only some of them are missing.
fn known((row, targets): (usize, &[Bound<'_, PyAny>])) -> PyResult<bool> {
    match targets.iter().filter(|v| v.is_none()).count() {
        0 => Ok(true),
        missing if missing == targets.len() => Ok(false),
        _ => Err(PyValueError::new_err(format!("row {row}: some of its targets are None; give all of them or none"))),
    }
}

/// The label of a row without a target, which the engine does not read.
const UNREAD: Label = Label::Int(0);

/// Whether the caller says that the row has a target. The engine refuses a mask of the wrong length.
fn is_known(known: Option<&[bool]>, row: usize) -> bool {
    known.and_then(|known| known.get(row)).is_none_or(|known| *known)
}

/// Whether the value is text or a bool, which are never numbers.
fn apart(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyString>() || is_bool(value)
}

/// Whether the value is a bool of Python or numpy.
pub fn is_bool(value: &Bound<'_, PyAny>) -> bool {
    let numpy_bool = || value.get_type().name().is_ok_and(|name| name == "bool" || name == "bool_");
    value.is_instance_of::<PyBool>() || numpy_bool()
}

/// The class name of an object; none if its type cannot be a class name.
pub fn label(row: usize, value: &Bound<'_, PyAny>) -> PyResult<Option<Label>> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Some(Label::Text(text.to_str()?.into())));
    }
    match value.extract().or_else(|_| value.extract::<bool>().map(i64::from)) {
        Ok(number) => Ok(Some(Label::Int(number))),
        Err(_) if value.is_instance_of::<PyInt>() => Err(too_large(row, value)),
        Err(_) => value.extract().ok().map(|v| whole(row, v)).transpose(),
    }
}

fn labels<T: Copy>(values: &[T], label: impl Fn(usize, T) -> PyResult<Label>) -> PyResult<Read<'static>> {
    Ok(Read::Labels(values.iter().enumerate().map(|(row, &v)| label(row, v)).collect::<PyResult<_>>()?))
}

fn unsigned(row: usize, value: u64) -> PyResult<Label> {
    i64::try_from(value).map(Label::Int).map_err(|_| too_large(row, value))
}

/// The refusal of a whole number that the engine cannot store as a class.
fn too_large(row: usize, value: impl Display) -> PyErr {
    let (least, largest) = (i64::MIN, i64::MAX);
    PyValueError::new_err(format!(
        "row {row}: class {value}, but whole numbers that name classes are from {least} to {largest}; give labels as text"
    ))
}

/// The class name of a float, which must be a whole number.
fn whole(row: usize, value: f64) -> PyResult<Label> {
    const EXACT: f64 = (1u64 << 53) as f64;
    match value.fract() == 0.0 && value.abs() <= EXACT {
        true => Ok(Label::Int(value as i64)),
        false => {
            let missing = if value.is_nan() { MISSING } else { "" };
            Err(PyValueError::new_err(format!("row {row}: target {value:?}, expected a class: a whole number or text{missing}")))
        }
    }
}
