//! Cells without a value: NaN in rows becomes what the setting `missing` says, by the rules and with the state of the command line
//! (`okl_cli::input::Missing`, `Filled`).
//!
//! A cell is filled from the rows before its own; predictions are filled from the rows that were learned. With indicators, the model has
//! one more feature for each column from its first NaN on. Rows that already have the indicators are taken as they are.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use numpy::ndarray::ArrayView2;
use numpy::{IntoPyArray, PyArrayMethods};
use okl::batch::RowSource;
use okl::config::Scale;
use okl::{Config, Learner};
use okl_cli::input::{Chunk, Feature, Features, Filled, Inputs, Missing, Part, Schema};
use okl_cli::store::{self, Position};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyDict;

use crate::errors::broken;
use crate::rows::{Matrix, Rows};
use crate::shared::Shared;

/// What NaN becomes, and the values so far from which it is filled.
#[derive(Default)]
pub struct Gaps {
    /// Held during a call that learns, so that the rows of a call are filled and learned together.
    turn: Mutex<()>,
    known: Mutex<Arc<Known>>,
}

/// The rule with the features of the model, and the values after the rows that were learned.
#[derive(Clone, Debug, Default)]
struct Known {
    schema: Schema,
    filled: Filled,
}

/// Rows without NaN, for one call.
pub struct Filling {
    chunk: Chunk,
    /// The features of the model with these rows.
    schema: Schema,
    /// The number of indicators that these rows add.
    added: usize,
}

/// Takes the setting `missing` out of the settings. Of two tables, the later one counts; None is not given.
pub fn take(tables: &[Option<&Bound<'_, PyDict>>]) -> PyResult<Option<Missing>> {
    let mut found = None;
    for table in tables.iter().flatten() {
        if let Some(value) = table.get_item("missing")?.filter(|value| !value.is_none()) {
            let text = value.extract::<String>();
            let text = text.map_err(|_| PyTypeError::new_err(format!("missing: expected text, found {value}")))?;
            let rule: Missing = text.parse().map_err(|e| PyValueError::new_err(format!("missing: {e}, found {text:?}")))?;
            found = Some(rule);
        }
    }
    Ok(found)
}

impl Known {
    fn list(&self) -> &[Feature] {
        if let Features::Named(list) = &self.schema.features { list } else { &[] }
    }

    /// The features that are not indicators: the columns of X.
    fn columns(&self) -> Vec<usize> {
        let is_column = |feature: &Feature| feature.part != Some(Part::Missing);
        self.list().iter().enumerate().filter(|(_, feature)| is_column(feature)).map(|(at, _)| at).collect()
    }

    /// Adds columns, so that X has `columns` of them.
    fn widen(&mut self, columns: usize) {
        let from = self.columns().len();
        self.schema.unnamed |= self.schema.is_empty();
        let mut list = self.list().to_vec();
        list.extend((from + 1..=columns).map(|number| Feature { column: number.to_string(), ..Feature::default() }));
        self.schema.features = Features::Named(list);
    }

    fn indicator(&self, column: usize) -> Option<usize> {
        let name = &self.list()[column].column;
        self.list().iter().position(|feature| feature.part == Some(Part::Missing) && feature.column == *name)
    }

    fn add_indicator(&mut self, column: usize) -> usize {
        let mut list = self.list().to_vec();
        list.push(Feature { column: list[column].column.clone(), part: Some(Part::Missing), ..Feature::default() });
        self.schema.features = Features::Named(list);
        self.schema.len() - 1
    }

    /// The rows with a place for each feature of the model; NaN becomes 0 and is listed. With `learn`, new indicators are added.
    fn chunk(&mut self, x: &Matrix<'_>, learn: bool) -> Chunk {
        let mut numbers = Vec::with_capacity(x.rows() * x.features());
        x.read(0..x.rows(), &mut numbers);
        let (columns, width, mut missing) = (self.columns(), x.features().max(1), Vec::new());
        for (row, values) in numbers.chunks_exact(width).enumerate() {
            for at in (0..width).filter(|at| values[*at].is_nan()) {
                missing.push((row, columns[at]));
                if learn && self.schema.missing.indicator && self.indicator(columns[at]).is_none() {
                    self.add_indicator(columns[at]);
                }
            }
        }
        let features = self.schema.len();
        let mut chunk = Chunk { rows: x.rows(), features, reach: vec![features as u32; x.rows()], ..Chunk::default() };
        chunk.x.resize(x.rows() * features, 0.0);
        for (row, values) in numbers.chunks_exact(width).enumerate() {
            columns.iter().zip(values).filter(|(_, value)| !value.is_nan()).for_each(|(at, value)| chunk.set(row, *at, *value));
        }
        for (row, column) in missing {
            chunk.missing.push((row as u32, column as u32));
            if let Some(indicator) = self.indicator(column) {
                chunk.set(row, indicator, 1.0);
            }
        }
        chunk
    }
}

impl Gaps {
    pub fn new(missing: Missing) -> Self {
        Gaps {
            known: Mutex::new(Arc::new(Known { schema: Schema { missing, ..Schema::default() }, ..Known::default() })),
            ..Gaps::default()
        }
    }

    /// The rule and the values of a model file.
    pub fn of_file(learner: &Learner) -> Self {
        let position: Option<Position> = serde_json::from_slice(learner.position()).ok();
        let Some(Position { schema: Some(schema), filled, .. }) = position else { return Gaps::default() };
        let mut known = Known { schema, filled };
        if let Features::Indexed(columns) = known.schema.features {
            known.widen(columns);
        }
        let fits = matches!(known.schema.features, Features::Named(_)) && known.schema.len() == learner.features();
        match fits && !known.schema.missing.is_refused() {
            true => Gaps { known: Mutex::new(Arc::new(known)), ..Gaps::default() },
            false => Gaps::default(),
        }
    }

    fn known(&self) -> Arc<Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, known: Known) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(known);
    }

    /// The same rule and values.
    pub fn copied(&self) -> Self {
        Gaps { known: Mutex::new(self.known()), ..Gaps::default() }
    }

    /// The same rule and values for columns that have numbers in place of names.
    pub fn unnamed(&self) -> Self {
        let mut known = Known::clone(&self.known());
        if self.column_names().is_some() {
            let names: Vec<String> = known.columns().iter().map(|at| known.list()[*at].column.clone()).collect();
            let numbers: Vec<String> = (1..=names.len()).map(|number| number.to_string()).collect();
            known.schema.rename(&names, &numbers);
            known.schema.unnamed = true;
        }
        Gaps { known: Mutex::new(Arc::new(known)), ..Gaps::default() }
    }

    /// The rule; none if NaN is refused.
    pub fn rule(&self) -> Option<Missing> {
        Some(self.known().schema.missing).filter(|missing| !missing.is_refused())
    }

    /// The names of the columns of X, if NaN is filled and the columns have names.
    pub fn column_names(&self) -> Option<Vec<String>> {
        let known = self.known();
        self.rule()?;
        let names: Vec<String> = known.columns().iter().map(|at| known.list()[*at].name()).collect();
        let numbered = names.iter().enumerate().all(|(at, name)| *name == (at + 1).to_string());
        (!numbered && !known.schema.unnamed).then_some(names)
    }

    /// The number of columns of X; none if NaN is refused or there was no row.
    pub fn columns(&self) -> Option<usize> {
        let known = self.known();
        (self.rule().is_some() && !known.schema.is_empty()).then(|| known.columns().len())
    }

    /// Adds the rule to a dictionary of settings.
    pub fn add_to(&self, settings: &Bound<'_, PyAny>) -> PyResult<()> {
        self.rule().map_or(Ok(()), |missing| settings.set_item("missing", missing.to_string()))
    }

    /// Removes the indicators from the scale of a configuration: a new learner has none before its first NaN.
    pub fn without_indicators(&self, config: &mut Config) {
        let (known, columns) = (self.known(), self.known().columns());
        if let Scale::Fixed { shift, factor, log_units, whiten, .. } = &mut config.scale
            && columns.len() < known.schema.len()
        {
            // Indicators come after the columns of X, so the triangle of these is the beginning of the whole one.
            whiten.truncate(columns.len() * (columns.len() + 1) / 2);
            for values in [shift, factor, log_units].into_iter().filter(|values| values.len() == known.schema.len()) {
                *values = columns.iter().map(|at| values[*at]).collect();
            }
        }
    }

    /// The columns of X and how the features of the model are made from them; none if NaN is refused.
    pub fn inputs(&self, names: &[String]) -> Option<Inputs> {
        let known = self.known();
        let mut inputs = known.filled.inputs(&known.schema)?;
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
        let mut known = Known::clone(&self.known());
        known.widen(columns);
        let features = known.schema.len();
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

    /// Rows for learning, each filled from all rows before it. None if they are taken as they are.
    pub fn fill_in_order(&self, x: &Matrix<'_>, features: usize) -> PyResult<Option<Filling>> {
        let Some(mut known) = self.ready(x, features)? else { return Ok(None) };
        let before = known.schema.len();
        let mut chunk = known.chunk(x, true);
        known.filled.fill_in_order(&mut chunk, &known.schema);
        let added = known.schema.len() - before;
        Ok(Some(Filling { chunk, schema: known.schema, added }))
    }

    /// Rows for predictions, filled from the rows that were learned. None if they are taken as they are.
    pub fn fill(&self, x: &Matrix<'_>, features: usize) -> PyResult<Option<Filling>> {
        let Some(mut known) = self.ready(x, features)? else { return Ok(None) };
        let mut chunk = known.chunk(x, false);
        known.filled.fill(&mut chunk, &known.schema);
        Ok(Some(Filling { chunk, schema: known.schema, added: 0 }))
    }

    /// The state, if rows of this width are filled; `features`: those of the model.
    fn ready(&self, x: &Matrix<'_>, features: usize) -> PyResult<Option<Known>> {
        if self.rule().is_none() || matches!(x, Matrix::Sparse(_)) || x.features() == 0 {
            return Ok(None);
        }
        let mut known = Known::clone(&self.known());
        if known.schema.is_empty() {
            known.widen(if features > 0 { features } else { x.features() });
        }
        let (columns, found) = (known.columns().len(), x.features());
        match found {
            found if found == columns => Ok(Some(known)),
            found if found == known.schema.len() => Ok(None),
            _ => Err(PyValueError::new_err(format!("features: expected {columns}, found {found}"))),
        }
    }

    /// After `rows` of the rows were learned: their values count for later ones.
    pub fn learned(&self, filling: &Filling, rows: usize) {
        let mut known = Known::clone(&self.known());
        known.schema.clone_from(&filling.schema);
        known.filled.follow(&filling.chunk, 0..rows, &filling.schema);
        self.set(known);
    }

    /// The position of a model file with rule, values and the names of the columns of X. None if NaN is refused.
    pub fn position(&self, learner: &Learner, names: &[String]) -> Option<Vec<u8>> {
        self.rule()?;
        let Known { mut schema, filled } = Known::clone(&self.known());
        let mut position: Position = serde_json::from_slice(learner.position()).unwrap_or_default();
        if let Some(before) = position.schema.take() {
            schema = Schema { features: schema.features, missing: schema.missing, unnamed: schema.unnamed, ..before };
        }
        let plain = |f: &Feature| f.level.is_none() && matches!(f.part, None | Some(Part::Missing));
        if let Features::Named(list) = &schema.features
            && list.iter().all(plain)
        {
            let columns: Vec<String> = list.iter().filter(|f| f.part != Some(Part::Missing)).map(|f| f.column.clone()).collect();
            if names.len() == columns.len() && store::are_names(names) {
                schema.rename(&columns, names);
            }
        }
        (position.schema, position.filled) = (Some(schema), filled);
        serde_json::to_vec(&position).ok()
    }
}

/// The rows of a fixed set, each filled from all rows before it, with new indicators; they count for later rows of `learner` as if it had learned them.
#[pyfunction]
#[allow(non_snake_case)]
pub fn fill_rows<'py>(learner: &Bound<'py, crate::learner::Learner>, X: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let (gaps, held) = (&learner.get().gaps, Rows::new(X)?);
    let Some(filling) = gaps.fill_in_order(&held.view(), 0)? else { return Ok(X.clone()) };
    gaps.learned(&filling, filling.chunk.rows);
    let Chunk { rows, features, x, .. } = filling.chunk;
    Ok(x.into_pyarray(X.py()).reshape([rows, features])?.into_any())
}

/// From now on, `learner` fills NaN as `other` does.
#[pyfunction]
pub fn fill_as(learner: &Bound<'_, crate::learner::Learner>, other: &Bound<'_, crate::learner::Learner>) {
    learner.get().gaps.set(Known::clone(&other.get().gaps.known()));
}

impl Filling {
    pub fn view(&self) -> Matrix<'_> {
        let Chunk { rows, features, x, .. } = &self.chunk;
        ArrayView2::from_shape((*rows, *features), x).map_or(Matrix::Double(ArrayView2::from(&[[]; 0])), Matrix::Double)
    }

    /// The same rows without the new indicators, if a learner of `known` features does not know these: what the learner can check before it gets them.
    pub fn narrower(&self, known: usize) -> Option<Vec<f64>> {
        let features = self.chunk.features - self.added;
        let new = self.added > 0 && known == features;
        new.then(|| self.chunk.x.chunks_exact(self.chunk.features).flat_map(|row| &row[..features]).copied().collect())
    }
}
