//! The classes behind `okl.ray.ShardedLearner`: the learner of the driver, and a shard of its terms.

#![allow(clippy::doc_lazy_continuation)] // Docstrings are read by Python, not as Markdown.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use okl::basis::Points;
use okl::loss::Loss;
use okl::sharded::Keeper;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::call::{self, Given, Object};
use crate::columns::{self, FeatureNames};
use crate::errors::{file_error, refused};
use crate::gaps::Gaps;
use crate::settings;
use crate::shared::Shared;
use crate::targets::{Named, Reader};

/// A keeper whose methods are those of a Python object.
struct Calls {
    object: Py<PyAny>,
    rows: usize,
}

impl Calls {
    fn call<T>(&self, run: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<T>) -> Result<T, String> {
        Python::attach(|py| run(py, self.object.bind(py)).map_err(|error| error.value(py).to_string()))
    }
}

impl Keeper for Calls {
    fn rows(&self) -> usize {
        self.rows
    }

    fn begin(&mut self, config: &str) -> Result<(), String> {
        self.call(|_, object| object.call_method1("begin", (config,)).map(drop))
    }

    fn keep(&mut self, number: usize, chunk: Vec<u8>) -> Result<(), String> {
        self.call(|py, object| object.call_method1("keep", (number, PyBytes::new(py, &chunk))).map(drop))
    }

    fn rewrite(&mut self, number: usize, rewrite: Vec<u8>) -> Result<(), String> {
        self.call(|py, object| object.call_method1("rewrite", (number, PyBytes::new(py, &rewrite))).map(drop))
    }

    fn start(&mut self, rows: Points<'_>, chunks: &[usize]) -> Result<(), String> {
        self.call(|py, object| {
            let numbers: Vec<f32> = (0..rows.rows.len()).flat_map(|i| rows.rows.row(i)).copied().collect();
            let shape = (rows.rows.len(), rows.rows.dim());
            let rows = numbers.into_pyarray(py).call_method1("reshape", (shape,))?;
            object.call_method1("start", (rows, chunks)).map(drop)
        })
    }

    fn finish(&mut self) -> Result<Vec<f64>, String> {
        self.call(|_, object| Ok(object.call_method0("finish")?.extract::<PyReadonlyArray1<'_, f64>>()?.as_slice()?.to_vec()))
    }

    fn fetch(&mut self, number: usize) -> Result<Vec<u8>, String> {
        self.call(|_, object| object.call_method1("fetch", (number,))?.extract())
    }

    fn forget(&mut self, number: usize) -> Result<(), String> {
        self.call(|_, object| object.call_method1("forget", (number,)).map(drop))
    }
}

/// A learner whose settled terms are at a keeper. See `okl.ray.ShardedLearner`.
#[pyclass(module = "okl._okl", frozen)]
pub struct ShardedLearner {
    shared: Shared<okl::sharded::ShardedLearner>,
    reader: Reader,
    named: Named,
    feature_names: FeatureNames,
}

#[pymethods]
#[allow(non_snake_case)] // X is a matrix, here as in scikit-learn.
impl ShardedLearner {
    /// `model` is a model file; `keeper` has the methods begin, keep, rewrite, start, finish, fetch and forget.
    #[new]
    fn new(py: Python<'_>, model: &[u8], keeper: Py<PyAny>, rows: usize) -> PyResult<Self> {
        let learner = py.detach(|| okl::Learner::from_bytes(model)).map_err(|e| refused(&e))?;
        if Gaps::of_file(&learner).rule().is_some() {
            return Err(PyValueError::new_err("missing: a sharded learner fills in no missing values, fill them in before"));
        }
        let (loss, classes_given) = (&learner.config().loss, learner.config().classes.is_some());
        let reader = Reader { reads: loss.reads(), classes_given, numbers_name: false };
        let keeper = Box::new(Calls { object: keeper, rows });
        let learner = okl::sharded::ShardedLearner::new(learner, keeper).map_err(|e| refused(&e))?;
        let (named, feature_names) = (Named::default(), FeatureNames::default());
        Ok(ShardedLearner { shared: Shared::new(learner), reader, named, feature_names })
    }

    /// As `okl.Learner.learn`.
    #[pyo3(signature = (X, y=None, *, weights=None, known=None))]
    fn learn<'py>(
        &self,
        X: &Bound<'py, PyAny>,
        y: Object<'_, 'py>,
        weights: Object<'_, 'py>,
        known: Object<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let names = self.feature_names.checked(columns::names_of(X), self.features(X.py())? > 0)?;
        let given = Given { y, weights, ids: None, known, named: &self.named, names: &names, gaps: &Gaps::default() };
        let scores = call::learn(&self.shared, self.reader, X, &given, |_| {})?;
        self.feature_names.set(names);
        Ok(scores)
    }

    /// As `okl.Learner.predict`.
    fn predict<'py>(&self, X: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let names = self.feature_names.checked(columns::names_of(X), self.features(X.py())? > 0)?;
        call::predict(&self.shared, self.reader, X, &names, &Gaps::default())
    }

    /// Writes the model file: the bytes of `okl.Learner.to_bytes`.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.shared.read(py, |learner| learner.save(&path))?.map_err(|e| file_error(py, &e, &path))
    }

    /// The number of terms.
    #[getter]
    fn terms(&self, py: Python<'_>) -> PyResult<usize> {
        self.shared.look(py, okl::sharded::ShardedLearner::terms)
    }

    /// The number of terms in this process, with the holes between them.
    #[getter]
    fn here(&self, py: Python<'_>) -> PyResult<usize> {
        self.shared.look(py, okl::sharded::ShardedLearner::here)
    }

    /// The number of bytes of this process that grow with the number of terms.
    #[getter]
    fn bytes(&self, py: Python<'_>) -> PyResult<usize> {
        self.shared.look(py, okl::sharded::ShardedLearner::bytes)
    }

    /// The number of rows learned.
    #[getter]
    fn examples(&self, py: Python<'_>) -> PyResult<u64> {
        self.shared.look(py, okl::sharded::ShardedLearner::examples)
    }

    /// The number of features; 0 before the first row.
    #[getter]
    fn features(&self, py: Python<'_>) -> PyResult<usize> {
        self.shared.look(py, okl::sharded::ShardedLearner::features)
    }

    /// The settings as a dict.
    #[getter]
    fn config<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        settings::dictionary(py, &self.shared.look(py, |learner| learner.config().clone())?)
    }
}

/// Some chunks of the terms of a sharded learner, and sums over them.
#[pyclass(module = "okl._okl", frozen)]
pub struct Shard(Mutex<okl::sharded::Shard>);

impl Shard {
    fn with<T: Send>(&self, py: Python<'_>, run: impl FnOnce(&mut okl::sharded::Shard) -> T + Send) -> T {
        py.detach(|| run(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

#[pymethods]
impl Shard {
    /// An empty shard for a learner with these settings, as JSON.
    #[new]
    fn new(config: &str) -> PyResult<Self> {
        okl::sharded::Shard::new(config).map(|shard| Shard(Mutex::new(shard))).map_err(PyValueError::new_err)
    }

    /// Stores a chunk. A chunk that is already there stays as it is.
    fn keep(&self, py: Python<'_>, number: usize, chunk: &[u8]) -> PyResult<()> {
        self.with(py, |shard| shard.keep(number, chunk)).map_err(PyRuntimeError::new_err)
    }

    /// Changes the coefficients of all chunks; `number` counts the changes from 0.
    fn rewrite(&self, py: Python<'_>, number: usize, rewrite: &[u8]) -> PyResult<()> {
        self.with(py, |shard| shard.rewrite(number, rewrite)).map_err(PyRuntimeError::new_err)
    }

    /// Removes a chunk, if it is there.
    fn forget(&self, py: Python<'_>, number: usize) {
        self.with(py, |shard| shard.forget(number));
    }

    /// The number of changes so far.
    #[getter]
    fn rewrites(&self, py: Python<'_>) -> usize {
        self.with(py, |shard| shard.rewrites())
    }

    /// Whether all these chunks are here.
    fn has(&self, py: Python<'_>, chunks: Vec<usize>) -> bool {
        self.with(py, |shard| chunks.iter().all(|number| shard.has(*number)))
    }

    /// The totals of rows (float32) over chunks: for every chunk in this order, row by row with all columns.
    fn totals<'py>(
        &self,
        py: Python<'py>,
        rows: PyReadonlyArray2<'py, f32>,
        chunks: Vec<usize>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (features, numbers) = (rows.shape()[1], rows.as_slice()?);
        let totals = self.with(py, |shard| shard.totals(numbers, features, &chunks)).map_err(PyRuntimeError::new_err)?;
        Ok(totals.into_pyarray(py))
    }

    /// The number of bytes held.
    #[getter]
    fn bytes(&self, py: Python<'_>) -> usize {
        self.with(py, |shard| shard.bytes())
    }
}
