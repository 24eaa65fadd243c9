//! The warnings of a learner.

use std::sync::atomic::Ordering;

use okl::Health;
use okl::loss::Reads;
use okl_cli::store;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use super::Learner;
use crate::health;
use crate::scores::Signs;

impl Learner {
    /// The findings of the learner and those about filled cells, as sentences.
    pub(super) fn findings(&self, health: &Health) -> Vec<String> {
        let names = self.feature_names.get();
        health::findings(health, &names).into_iter().chain(self.gaps.finding(&names)).collect()
    }

    /// Warns about the health of the learner, at most once per learner.
    pub(crate) fn warn_once(&self, py: Python<'_>) -> PyResult<()> {
        if self.warned.load(Ordering::Relaxed) {
            return Ok(());
        }
        let findings = self.findings(&self.look(py, okl::Learner::health)?);
        if !findings.is_empty() && !self.warned.swap(true, Ordering::Relaxed) {
            health::warn(py, &findings)?;
        }
        Ok(())
    }

    /// Warns if a file cannot have these names, which the command line would look for.
    pub(super) fn warn_of_names(&self, py: Python<'_>, names: &[String]) -> PyResult<()> {
        let (named, features) = (names.len(), self.columns(py)?);
        let text = match (named, store::are_names(names)) {
            (0, _) => return Ok(()),
            (_, false) => {
                "the file has no names of the features, because one is empty or occurs twice in feature_names; it takes columns in order".into()
            }
            _ if features > named => format!(
                "the file has no names of the features, because the learner has {features} features since it was widened, and feature_names has \
                 {named} names; it takes columns in order. Set feature_names to {features} names and save again"
            ),
            _ => match names.iter().find(|name| name.trim_ascii() != name.as_str()) {
                Some(name) => format!(
                    "the name '{name}' begins or ends with white space, which the command line removes from the header of a CSV file: there it \
                     does not find this column. Set feature_names to names without it and save again, if the command line is to read the model"
                ),
                None => return Ok(()),
            },
        };
        health::warn_with(py, &text)
    }

    /// Warns if positive scores mean another class from some row of a call on, in earlier calls or earlier rows of this call. This can
    /// happen only once in a learner: when its second class appears.
    pub(super) fn warn_of_signs(&self, py: Python<'_>, signs: &Signs) -> PyResult<()> {
        let Some((rows, before, after)) = signs.turned.filter(|_| self.reader.reads == Reads::Sign) else { return Ok(()) };
        let names = self.classes(py)?.into_iter().map(|class| class.into_bound_py_any(py)).collect::<PyResult<Vec<_>>>()?;
        let (before_name, after_name) = (names[before].repr()?, names[after].repr()?);
        let earlier = match (signs.begun, rows) {
            (true, 0) => "earlier calls".into(),
            (true, _) => format!("earlier calls and of the first {rows} rows of this call"),
            (false, _) => format!("the first {rows} rows of this call"),
        };
        health::warn_with(
            py,
            &format!(
                "scores of {earlier} are positive for class {before_name}, later ones for class {after_name}; \
                 give classes=[{before_name}, {after_name}] when the learner is created, or read the column positive of learn_report"
            ),
        )
    }
}
