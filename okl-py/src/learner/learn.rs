//! Learning rows, behind `learn`, `learn_report` and the River estimators.

use okl::Label;
use okl::engine::Outcome;
use okl::loss::Reads;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Learner;
use crate::call::{self, Given, Object};
use crate::scores::{Report, Signs};
use crate::targets::Reader;
use crate::{columns, objects};

/// The arguments of a call beside the rows.
pub struct Arguments<'a, 'py> {
    pub y: Object<'a, 'py>,
    pub weights: Object<'a, 'py>,
    pub ids: Object<'a, 'py>,
    pub known: Object<'a, 'py>,
    /// Whether targets are names of classes also if they are numbers.
    pub by_name: bool,
}

impl Learner {
    /// Learns rows and calls `each` with the result of every row. Returns the scores.
    pub(crate) fn learn_rows<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        arguments: &Arguments<'_, 'py>,
        mut each: impl FnMut(&Outcome<'_>) + Send,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Arguments { y, weights, ids, known, by_name } = *arguments;
        let mut signs = self.look(x.py(), Signs::after)?;
        let names = match self.objects {
            Some(_) => self.feature_names.get(),
            None => self.feature_names.checked(columns::names_of(x), self.columns(x.py())? > 0)?,
        };
        let given = Given { y, weights, ids, known, named: &self.named, names: &names, gaps: &self.gaps };
        let reader = Reader { numbers_name: by_name || self.has_numbered_classes(x.py())?, ..self.reader };
        let each = |step: &Outcome<'_>| {
            each(step);
            signs.push(step);
        };
        let scores = match &self.objects {
            Some(objects) => objects::learn(&self.shared, objects, reader, x, &given, each)?,
            None => call::learn(&self.shared, reader, x, &given, each)?,
        };
        self.feature_names.set(names);
        self.device.warn_once(&self.shared, x.py())?;
        self.warn_once(x.py())?;
        if !by_name {
            self.warn_of_signs(x.py(), &signs)?;
        }
        Ok(scores)
    }

    /// Learns rows and returns the results of every row.
    pub(crate) fn report_of_rows<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        arguments: &Arguments<'_, 'py>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let mut report = Report::default();
        let scores = self.learn_rows(x, arguments, |step| report.push(step))?;
        let classes = self.classes(x.py())?.into_iter().map(|class| class.into_bound_py_any(x.py()));
        report.dictionary(x.py(), scores, &classes.collect::<PyResult<Vec<_>>>()?)
    }

    /// The number of columns of X; 0 before the first row. Without indicators of missing values, the number of features.
    pub(crate) fn columns(&self, py: Python<'_>) -> PyResult<usize> {
        let features = self.look(py, okl::Learner::features)?;
        Ok(self.gaps.columns().unwrap_or(features))
    }

    /// Whether the classes so far are whole numbers or truth values, also as text, as those of a file of the command line or of a server
    /// can be. Numbers are then names of classes.
    fn has_numbered_classes(&self, py: Python<'_>) -> PyResult<bool> {
        if self.reader.reads != Reads::Sign {
            return Ok(false);
        }
        self.look(py, |m| !m.classes().is_empty() && m.classes().iter().all(Label::is_whole_or_truth))
    }
}
