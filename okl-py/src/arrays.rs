//! Arguments with one number per row, as numpy arrays; without a copy if they have the right type.

use numpy::{
    Element, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;

/// Converts any object to a numpy array, by numpy's array protocol if needed. `name`: the argument's name, for messages.
pub fn array<'py>(name: &str, object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyUntypedArray>> {
    match object.cast_exact::<PyUntypedArray>() {
        Ok(array) => Ok(array.clone()),
        Err(_) => {
            refuse_lazy(name, object)?;
            refuse_masked(name, object)?;
            let numpy = object.py().import("numpy")?;
            Ok(numpy.call_method1("asarray", (object,)).map_err(|e| ragged(name, object).unwrap_or(e))?.cast_into()?)
        }
    }
}

/// Whether the object is polars' LazyFrame, which has no rows until it is collected.
pub fn is_lazy(object: &Bound<'_, PyAny>) -> bool {
    object.get_type().name().is_ok_and(|name| name == "LazyFrame")
}

fn refuse_lazy(name: &str, object: &Bound<'_, PyAny>) -> PyResult<()> {
    if !is_lazy(object) {
        return Ok(());
    }
    Err(PyTypeError::new_err(format!("{name} is a LazyFrame, which has no rows yet: use {name}.collect()")))
}

/// Refuses masked arrays, and lists of them: a plain array would lose the mask and use the arbitrary numbers under it.
fn refuse_masked(name: &str, object: &Bound<'_, PyAny>) -> PyResult<()> {
    object.py().import("okl._columns")?.call_method1("check_unmasked", (name, object)).map(drop)
}

/// What is said of a list whose rows differ in length; numpy's words do not have the row. None if this is not the fault.
fn ragged(name: &str, object: &Bound<'_, PyAny>) -> Option<PyErr> {
    let rows: Vec<Bound<'_, PyAny>> = object.cast::<PyList>().ok()?.iter().collect();
    let lengths: Vec<usize> = rows.iter().map(|row| row.len().unwrap_or(0)).collect();
    let row = lengths.iter().position(|length| *length != lengths[0])?;
    let (first, found) = (lengths[0], lengths[row]);
    Some(PyValueError::new_err(format!("{name} is not a table: row {row} has {found} values, row 0 has {first}")))
}

/// A copy in C order with the given type.
pub fn converted<'py>(array: &Bound<'py, PyUntypedArray>, dtype: &str) -> PyResult<Bound<'py, PyAny>> {
    array.call_method1("astype", (dtype, "C"))
}

/// The numbers of an array in C order; a copy only if type or layout differ.
pub fn contiguous<'py, T: Element>(array: &Bound<'py, PyUntypedArray>, dtype: &str) -> PyResult<PyReadonlyArrayDyn<'py, T>> {
    match array.cast::<PyArrayDyn<T>>() {
        Ok(typed) if array.is_aligned() && array.is_c_contiguous() => Ok(typed.try_readonly()?),
        _ => Ok(converted(array, dtype)?.cast::<PyArrayDyn<T>>()?.try_readonly()?),
    }
}

/// An argument with one entry per row. The engine checks its length.
fn per_row<'py>(name: &str, object: &Bound<'py, PyAny>, kinds: &[u8], expected: &str) -> PyResult<Bound<'py, PyUntypedArray>> {
    let array = array(name, object)?;
    if array.ndim() != 1 {
        return Err(PyValueError::new_err(format!("{name} has {} dimension(s), expected 1: one entry per row", array.ndim())));
    }
    if !array.is_empty() && !kinds.contains(&array.dtype().kind()) {
        return Err(PyTypeError::new_err(format!("{name} has dtype {}, expected {expected}", array.dtype())));
    }
    Ok(array)
}

/// Weights: real numbers.
pub fn weights<'py>(object: &Bound<'py, PyAny>) -> PyResult<PyReadonlyArrayDyn<'py, f64>> {
    contiguous(&per_row("weights", object, b"fiub", "real numbers")?, "float64")
}

/// Which rows have a target: booleans.
pub fn known<'py>(object: &Bound<'py, PyAny>) -> PyResult<PyReadonlyArrayDyn<'py, bool>> {
    contiguous(&per_row("known", object, b"b", "booleans")?, "bool")
}

/// Ids: whole numbers from 0.
pub fn ids<'py>(object: &Bound<'py, PyAny>) -> PyResult<PyReadonlyArrayDyn<'py, u64>> {
    let array = per_row("ids", object, b"iu", "whole numbers from 0")?;
    if array.dtype().kind() == b'i' {
        let signed = contiguous::<i64>(&array, "int64")?;
        if let Some((row, id)) = signed.as_slice()?.iter().enumerate().find(|(_, id)| **id < 0) {
            return Err(PyValueError::new_err(format!("row {row}: id {id}, expected a whole number from 0")));
        }
    }
    contiguous(&array, "uint64")
}
