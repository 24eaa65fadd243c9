//! Cells without a value: NaN in rows becomes what the setting `missing` says, by the rules and with the state of the command line
//! (`okl_cli::filler`), between threads.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use numpy::ndarray::ArrayView2;
use numpy::{IntoPyArray, PyArrayMethods};
use okl::batch::RowSource;
use okl::config::Scale;
use okl::{Config, Learner};
use okl_cli::filler::{Filler, Filling};
use okl_cli::input::{Inputs, Missing};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyDict;

use crate::columns::shown;
use crate::errors::broken;
use crate::rows::{Matrix, Rows};
use crate::shared::Shared;

/// What NaN becomes, and the values so far from which it is filled.
#[derive(Default)]
pub struct Gaps {
    /// Held during a call that learns, so that the rows of a call are filled and learned together.
    turn: Mutex<()>,
    known: Mutex<Arc<Filler>>,
}

/// Takes the setting `missing` out of the settings. Of two tables, the later one counts; None is not given.
pub fn take(tables: &[Option<&Bound<'_, PyDict>>]) -> PyResult<Option<Missing>> {
    let mut found = None;
    for table in tables.iter().flatten() {
        if let Some(value) = table.get_item("missing")?.filter(|value| !value.is_none()) {
            let text = value.extract::<String>();
            let text = text.map_err(|_| PyTypeError::new_err(format!("missing: expected text, found {value}")))?;
            let rule: Missing = text.parse().map_err(|e| PyValueError::new_err(format!("missing: found {text:?}, {e}")))?;
            found = Some(rule);
        }
    }
    Ok(found)
}

impl Gaps {
    fn with(filler: Filler) -> Self {
        Gaps { known: Mutex::new(Arc::new(filler)), ..Gaps::default() }
    }

    pub fn new(missing: Missing) -> Self {
        Gaps::with(Filler::new(missing))
    }

    /// The rule and the values of a model file.
    pub fn of_file(learner: &Learner) -> Self {
        Filler::of_file(learner).map(Gaps::with).unwrap_or_default()
    }

    fn known(&self) -> Arc<Filler> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, known: Filler) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(known);
    }

    /// The same rule and values.
    pub fn copied(&self) -> Self {
        Gaps { known: Mutex::new(self.known()), ..Gaps::default() }
    }

    /// The same rule and values for columns that have numbers in place of names.
    pub fn unnamed(&self) -> Self {
        Gaps::with(self.known().unnamed())
    }

    /// The rule; none if NaN is refused.
    pub fn rule(&self) -> Option<Missing> {
        self.known().rule()
    }

    /// The names of the columns of X, if NaN is filled and the columns have names.
    pub fn column_names(&self) -> Option<Vec<String>> {
        self.rule().and_then(|_| self.known().column_names())
    }

    /// The number of columns of X; none if NaN is refused or there was no row.
    pub fn columns(&self) -> Option<usize> {
        let known = self.known();
        (known.rule().is_some() && known.features() > 0).then(|| known.columns().len())
    }

    /// Adds the rule to a dictionary of settings.
    pub fn add_to(&self, settings: &Bound<'_, PyAny>) -> PyResult<()> {
        self.rule().map_or(Ok(()), |missing| settings.set_item("missing", missing.to_string()))
    }

    /// Removes the indicators from the scale of a configuration: a new learner has none before its first NaN.
    pub fn without_indicators(&self, config: &mut Config) {
        let (features, columns) = (self.known().features(), self.known().columns());
        if let Scale::Fixed { shift, factor, log_units, whiten, .. } = &mut config.scale
            && columns.len() < features
        {
            // Indicators come after the columns of X, so the triangle of these is the beginning of the whole one.
            whiten.truncate(columns.len() * (columns.len() + 1) / 2);
            for values in [shift, factor, log_units].into_iter().filter(|values| values.len() == features) {
                *values = columns.iter().map(|at| values[*at]).collect();
            }
        }
    }

    /// The columns of X and how the features of the model are made from them; none if NaN is refused.
    pub fn inputs(&self, names: &[String]) -> Option<Inputs> {
        let mut inputs = self.known().inputs()?;
        if names.len() == inputs.columns.len() {
            inputs.columns.iter_mut().zip(names).for_each(|((name, _), given)| name.clone_from(given));
        }
        Some(inputs)
    }

    /// The number of features of the model if X has this many columns.
    pub fn widen(&self, columns: usize) -> usize {
        if self.rule().is_none() {
            return columns;
        }
        let mut known = Filler::clone(&self.known());
        known.widen(columns);
        let features = known.features();
        self.set(known);
        features
    }

    /// Waits until no other thread learns; none if NaN is refused.
    pub fn begin<'a, L: Send + Sync>(&'a self, py: Python<'_>, shared: &Shared<L>) -> PyResult<Option<MutexGuard<'a, ()>>> {
        if self.rule().is_none() {
            return Ok(None);
        }
        shared.look(py, |_| ())?; // a signal handler in the middle of a call is refused here
        self.turn.lock_py_attached(py).map(Some).map_err(|_| broken())
    }

    /// Rows for learning, each filled from the rows before it that are `learned` and not only predicted. None if they are taken as they are.
    pub fn fill_in_order(&self, x: &Matrix<'_>, features: usize, learned: impl Fn(usize) -> bool) -> PyResult<Option<Filling>> {
        let learned = || (0..x.rows()).map(&learned).collect::<Vec<_>>();
        Ok(self.ready(x, features)?.map(|known| known.fill_in_order(&numbers(x), x.features(), &learned())))
    }

    /// Rows for predictions, filled from the rows that were learned. None if they are taken as they are.
    pub fn fill(&self, x: &Matrix<'_>, features: usize) -> PyResult<Option<Filling>> {
        Ok(self.ready(x, features)?.map(|known| known.fill(&numbers(x), x.features())))
    }

    /// The state, if rows of this width are filled; `features`: those of the model. Rows that already have the indicators are taken as
    /// they are.
    fn ready(&self, x: &Matrix<'_>, features: usize) -> PyResult<Option<Filler>> {
        if self.rule().is_none() || matches!(x, Matrix::Sparse(_)) || x.features() == 0 {
            return Ok(None);
        }
        let mut known = Filler::clone(&self.known());
        if known.features() == 0 {
            known.widen(if features > 0 { features } else { x.features() });
        }
        let (columns, found) = (known.columns().len(), x.features());
        match found {
            found if found == columns => Ok(Some(known)),
            found if found == known.features() => Ok(None),
            _ => Err(PyValueError::new_err(format!("features: expected {columns}, found {found}"))),
        }
    }

    /// A sentence, if learned rows had NaN in a column before its first number.
    pub fn finding(&self, names: &[String]) -> Option<String> {
        self.known().finding(|column| shown(column, names))
    }

    /// After `rows` of the rows were learned: their values count for later ones.
    pub fn learned(&self, filling: &Filling, rows: usize) {
        self.set(self.known().after(filling, rows));
    }

    /// The position of a model file with rule, values and the names of the columns of X. None if NaN is refused.
    pub fn position(&self, learner: &Learner, names: &[String]) -> Option<Vec<u8>> {
        self.known().position(learner, names)
    }
}

/// The numbers of rows, row by row.
fn numbers(x: &Matrix<'_>) -> Vec<f64> {
    let mut numbers = Vec::with_capacity(x.rows() * x.features());
    x.read(0..x.rows(), &mut numbers);
    numbers
}

/// Filled rows as a matrix.
pub fn view(filling: &Filling) -> Matrix<'_> {
    let shape = (filling.rows(), filling.features());
    ArrayView2::from_shape(shape, filling.x()).map_or(Matrix::Double(ArrayView2::from(&[[]; 0])), Matrix::Double)
}

/// The rows of a fixed set, each filled from all rows before it, with new indicators; they count for later rows of `learner` as if it had learned them.
#[pyfunction]
#[allow(non_snake_case)]
pub fn fill_rows<'py>(learner: &Bound<'py, crate::learner::Learner>, X: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let (gaps, held) = (&learner.get().gaps, Rows::new(X, true)?);
    let Some(filling) = gaps.fill_in_order(&held.view(), 0, |_| true)? else { return Ok(X.clone()) };
    gaps.learned(&filling, filling.rows());
    let shape = [filling.rows(), filling.features()];
    Ok(filling.x().to_vec().into_pyarray(X.py()).reshape(shape)?.into_any())
}

/// The rows of a fixed set that `learner` has followed, filled as `predict` fills them: from the whole set.
#[pyfunction]
#[allow(non_snake_case)]
pub fn fill_from_all<'py>(learner: &Bound<'py, crate::learner::Learner>, X: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let (gaps, held) = (&learner.get().gaps, Rows::new(X, true)?);
    let Some(filling) = gaps.fill(&held.view(), 0)? else { return Ok(X.clone()) };
    gaps.set(gaps.known().of_whole_set());
    let shape = [filling.rows(), filling.features()];
    Ok(filling.x().to_vec().into_pyarray(X.py()).reshape(shape)?.into_any())
}

/// From now on, `learner` fills NaN as `other` does.
#[pyfunction]
pub fn fill_as(learner: &Bound<'_, crate::learner::Learner>, other: &Bound<'_, crate::learner::Learner>) {
    learner.get().gaps.set(Filler::clone(&other.get().gaps.known()));
}
