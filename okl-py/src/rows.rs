//! Rows of features from Python: any object that numpy can convert to a matrix of real numbers.

use std::ops::Range;

use numpy::ndarray::{ArrayView2, Axis, s};
use numpy::{PyArray1, PyArray2, PyArrayDescrMethods, PyArrayMethods, PyReadonlyArray2, PyUntypedArray, PyUntypedArrayMethods};
use okl::Batch;
use okl::batch::RowSource;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::arrays::{array, converted, is_lazy};

/// A matrix of single or double precision in any layout, borrowed for a call.
pub enum Rows<'py> {
    Single(PyReadonlyArray2<'py, f32>),
    Double(PyReadonlyArray2<'py, f64>),
    Sparse(SparseRows),
}

/// A copy of a sparse matrix: the values of row i are at `starts[i]..starts[i + 1]`.
#[derive(Debug)]
pub struct SparseRows {
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    features: usize,
}

impl SparseRows {
    /// One row; its columns ascend.
    pub fn one(columns: Vec<u32>, values: Vec<f64>, features: usize) -> Self {
        SparseRows { starts: vec![0, values.len()], columns, values, features }
    }
}

impl<'py> Rows<'py> {
    /// Converts an object to rows: float32 and float64 without a copy, other real numbers by conversion.
    /// With `fills`, None and the like become NaN, which is filled.
    pub fn new(x: &Bound<'py, PyAny>, fills: bool) -> PyResult<Self> {
        if let Some(rows) = sparse(x)? {
            return Ok(Rows::Sparse(rows));
        }
        let x = &frame(x)?;
        let array = match array("X", x)? {
            objects if objects.dtype().kind() == b'O' => numeric_frame(x)?.unwrap_or(objects),
            array => array,
        };
        let array = if b"fiub".contains(&array.dtype().kind()) { array } else { numbers(x, &array, fills)? };
        if array.ndim() != 2 {
            let advice = match x.hasattr("to_frame")? {
                true => "One feature is X.to_frame()",
                false => "One row is X.reshape(1, -1), one feature X.reshape(-1, 1)",
            };
            let found = array.ndim();
            return Err(PyValueError::new_err(format!("X has {found} dimension(s), expected 2: rows and features. {advice}")));
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
            Rows::Sparse(rows) => Matrix::Sparse(rows),
        }
    }
}

/// A frame whose columns are numbers, in a form that numpy converts column by column. Other objects stay as they are.
fn frame<'py>(x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let is_plain = x.cast_exact::<PyUntypedArray>().is_ok() || x.is_exact_instance_of::<PyList>();
    if is_plain || is_lazy(x) || !x.hasattr("columns")? {
        return Ok(x.clone());
    }
    x.py().import("okl._columns")?.call_method1("as_numbers", (x,))
}

/// The rows of a sparse matrix of scipy, of any layout; values of one place are added up. None for other objects.
fn sparse(x: &Bound<'_, PyAny>) -> PyResult<Option<SparseRows>> {
    if x.cast_exact::<PyUntypedArray>().is_ok() || !x.hasattr("nnz")? || !x.hasattr("tocsr")? {
        return Ok(None);
    }
    let shape: Vec<usize> = x.getattr("shape")?.extract()?;
    let &[_, features] = &shape[..] else {
        return Err(PyValueError::new_err(format!("X has {} dimension(s), expected 2: rows and features", shape.len())));
    };
    let mut rows = x.call_method0("tocsr")?;
    let kind: String = rows.getattr("dtype")?.getattr("kind")?.extract()?;
    if !["b", "i", "u", "f"].contains(&kind.as_str()) {
        let dtype = rows.getattr("dtype")?;
        return Err(PyTypeError::new_err(format!("X is a sparse matrix of {dtype}, expected real numbers")));
    }
    if !rows.getattr("has_canonical_format")?.is_truthy()? {
        rows = rows.call_method0("copy")?;
        rows.call_method0("sum_duplicates")?;
    }
    let whole = |name: &str| -> PyResult<Vec<i64>> {
        let numbers = rows.getattr(name)?.call_method1("astype", ("int64",))?;
        Ok(numbers.cast_into::<PyArray1<i64>>()?.to_vec()?)
    };
    let columns = whole("indices")?.into_iter().map(u32::try_from).collect::<Result<_, _>>();
    let columns = columns.map_err(|_| PyValueError::new_err("X has a column beyond 4294967295, the last one that okl takes"))?;
    let starts = whole("indptr")?.into_iter().map(|at| at as usize).collect();
    let values = rows.getattr("data")?.call_method1("astype", ("float64",))?.cast_into::<PyArray1<f64>>()?.to_vec()?;
    Ok(Some(SparseRows { starts, columns, values, features }))
}

/// Converts objects that are numbers to float64. Others are refused; the message has the row and the column.
fn numbers<'py>(x: &Bound<'py, PyAny>, array: &Bound<'py, PyUntypedArray>, fills: bool) -> PyResult<Bound<'py, PyUntypedArray>> {
    if array.ndim() == 2 && b"OUSTMm".contains(&array.dtype().kind()) {
        return Ok(x.py().import("okl._columns")?.call_method1("numbers", (x, fills))?.cast_into()?);
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
    Sparse(&'a SparseRows),
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
        let cells = rows.start.saturating_mul(features)..rows.end.saturating_mul(features);
        match self {
            Matrix::Single(x) => Some(Batch::new(&x.to_slice()?[cells], features)),
            Matrix::Double(x) => Some(Batch::of_f64(&x.to_slice()?[cells], features)),
            Matrix::Sparse(x) => Some(Batch::sparse_f64(&x.starts[rows.start..=rows.end], &x.columns, &x.values, features)),
        }
    }
}

impl RowSource for Matrix<'_> {
    fn rows(&self) -> usize {
        match self {
            Matrix::Single(x) => x.nrows(),
            Matrix::Double(x) => x.nrows(),
            Matrix::Sparse(x) => x.starts.len().saturating_sub(1),
        }
    }

    fn features(&self) -> usize {
        match self {
            Matrix::Single(x) => x.ncols(),
            Matrix::Double(x) => x.ncols(),
            Matrix::Sparse(x) => x.features,
        }
    }

    fn read(&self, rows: Range<usize>, to: &mut Vec<f64>) {
        match self {
            Matrix::Single(x) => gather(x.slice(s![rows, ..]), to),
            Matrix::Double(x) => gather(x.slice(s![rows, ..]), to),
            Matrix::Sparse(x) => {
                for row in rows {
                    let first = to.len();
                    to.resize(first + x.features, 0.0);
                    (x.starts[row]..x.starts[row + 1]).for_each(|at| to[first + x.columns[at] as usize] = x.values[at]);
                }
            }
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
