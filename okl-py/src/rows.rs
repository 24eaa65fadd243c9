//! Rows of features from Python: any object that numpy can convert to a matrix of real numbers.

use std::ops::Range;

use numpy::ndarray::{ArrayView2, Axis, s};
use numpy::{PyArray2, PyArrayDescrMethods, PyArrayMethods, PyReadonlyArray2, PyUntypedArray, PyUntypedArrayMethods};
use okl::Batch;
use okl::batch::RowSource;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::arrays::{array, converted};

/// A matrix of single or double precision in any layout, borrowed for a call.
pub enum Rows<'py> {
    Single(PyReadonlyArray2<'py, f32>),
    Double(PyReadonlyArray2<'py, f64>),
}

impl<'py> Rows<'py> {
    /// Converts an object to rows: float32 and float64 without a copy, other real numbers by conversion.
    pub fn new(x: &Bound<'py, PyAny>) -> PyResult<Self> {
        refuse_sparse(x)?;
        let array = match array("X", x)? {
            objects if objects.dtype().kind() == b'O' => numeric_frame(x)?.unwrap_or(objects),
            array => array,
        };
        let array = if b"fiub".contains(&array.dtype().kind()) { array } else { numbers(x, &array)? };
        if array.ndim() != 2 {
            return Err(PyValueError::new_err(format!(
                "X has {} dimension(s), expected 2: rows and features. One row is X.reshape(1, -1), one feature X.reshape(-1, 1)",
                array.ndim()
            )));
        }
        if viewable(&array) {
            if let Ok(array) = array.cast::<PyArray2<f32>>() {
                return Ok(Rows::Single(array.try_readonly()?));
            }
            if let Ok(array) = array.cast::<PyArray2<f64>>() {
                return Ok(Rows::Double(array.try_readonly()?));
            }
        }
        let array = converted(&array, "float64")?;
        Ok(Rows::Double(array.cast::<PyArray2<f64>>()?.try_readonly()?))
    }

    /// A view that the engine can read without the interpreter's lock.
    pub fn view(&self) -> Matrix<'_> {
        match self {
            Rows::Single(x) => Matrix::Single(x.as_array()),
            Rows::Double(x) => Matrix::Double(x.as_array()),
        }
    }
}

/// Refuses sparse matrices, which numpy would convert to a single object.
fn refuse_sparse(x: &Bound<'_, PyAny>) -> PyResult<()> {
    if x.cast_exact::<PyUntypedArray>().is_ok() || !x.hasattr("nnz")? || !x.hasattr("toarray")? {
        return Ok(());
    }
    Err(PyTypeError::new_err("X is a sparse matrix: use X.toarray()"))
}

/// Converts objects that are numbers to float64. Others are refused; the message has the row and the column.
fn numbers<'py>(x: &Bound<'py, PyAny>, array: &Bound<'py, PyUntypedArray>) -> PyResult<Bound<'py, PyUntypedArray>> {
    if array.ndim() == 2 && b"OUSTMm".contains(&array.dtype().kind()) {
        return Ok(x.py().import("okl._columns")?.call_method1("numbers", (x,))?.cast_into()?);
    }
    let (dtype, kind) = (array.dtype(), x.get_type().name()?);
    let expected = "expected a matrix of real numbers (float32 or float64)";
    Err(PyTypeError::new_err(format!("X is a {kind} of {dtype}, {expected}")))
}

/// Converts a data frame whose columns are all bools or numbers to float64. numpy alone would convert a mixture of bools and floats
/// to objects.
fn numeric_frame<'py>(x: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyUntypedArray>>> {
    if !x.hasattr("dtypes")? || !x.hasattr("to_numpy")? {
        return Ok(None);
    }
    let Ok(types) = x.getattr("dtypes")?.try_iter() else { return Ok(None) };
    for dtype in types {
        let kind = dtype?.getattr("kind").and_then(|kind| kind.extract::<String>());
        if !kind.is_ok_and(|kind| ["b", "i", "u", "f"].contains(&kind.as_str())) {
            return Ok(None);
        }
    }
    // Columns with missing values cannot always be converted. They stay objects and are refused.
    Ok(x.call_method1("to_numpy", ("float64",)).ok().map(|array| array.cast_into()).transpose()?)
}

/// Whether all strides are multiples of the element size. Fields of a structured array may have other strides.
fn viewable(array: &Bound<'_, PyUntypedArray>) -> bool {
    let size = array.dtype().itemsize() as isize;
    !array.is_empty() && array.is_aligned() && array.strides().iter().all(|stride| stride % size == 0)
}

/// A view of [`Rows`]. If its layout is not that of the engine, it is copied block by block.
#[derive(Clone, Debug)]
pub enum Matrix<'a> {
    Single(ArrayView2<'a, f32>),
    Double(ArrayView2<'a, f64>),
}

impl Matrix<'_> {
    /// The rows as a batch, without a copy.
    pub fn batch(&self) -> Batch<'_> {
        self.in_place(0..self.rows()).unwrap_or_else(|| Batch::read_from(self))
    }

    /// The rows of a range: a view if possible, otherwise copied to `buffer`.
    pub fn block<'b>(&'b self, rows: Range<usize>, buffer: &'b mut Vec<f64>) -> Batch<'b> {
        self.in_place(rows.clone()).unwrap_or_else(|| {
            buffer.clear();
            self.read(rows, buffer);
            Batch::of_f64(buffer, self.features())
        })
    }

    /// The rows of a range, if they are contiguous in memory.
    fn in_place(&self, rows: Range<usize>) -> Option<Batch<'_>> {
        let features = self.features();
        let cells = rows.start * features..rows.end * features;
        match self {
            Matrix::Single(x) => Some(Batch::new(&x.to_slice()?[cells], features)),
            Matrix::Double(x) => Some(Batch::of_f64(&x.to_slice()?[cells], features)),
        }
    }
}

impl RowSource for Matrix<'_> {
    fn rows(&self) -> usize {
        match self {
            Matrix::Single(x) => x.nrows(),
            Matrix::Double(x) => x.nrows(),
        }
    }

    fn features(&self) -> usize {
        match self {
            Matrix::Single(x) => x.ncols(),
            Matrix::Double(x) => x.ncols(),
        }
    }

    fn read(&self, rows: Range<usize>, to: &mut Vec<f64>) {
        match self {
            Matrix::Single(x) => gather(x.slice(s![rows, ..]), to),
            Matrix::Double(x) => gather(x.slice(s![rows, ..]), to),
        }
    }
}

/// Appends a block row by row. Reads it in the order of its memory layout.
fn gather<T: Copy + Into<f64>>(block: ArrayView2<'_, T>, to: &mut Vec<f64>) {
    let (start, features) = (to.len(), block.ncols());
    if block.strides()[1].abs() <= block.strides()[0].abs() {
        return block.outer_iter().for_each(|row| match row.to_slice() {
            Some(row) => to.extend(row.iter().map(|&v| v.into())),
            None => to.extend(row.iter().map(|&v| v.into())),
        });
    }
    to.resize(start + block.len(), 0.0);
    for (column, values) in block.axis_iter(Axis(1)).enumerate().filter(|_| !block.is_empty()) {
        let places = to[start + column..].iter_mut().step_by(features);
        places.zip(values).for_each(|(place, &v)| *place = v.into());
    }
}
