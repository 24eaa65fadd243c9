//! Model files.

use std::path::{Path, PathBuf};

use okl_cli::store;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::call::Object;
use crate::errors::file_error;
use crate::gaps::Gaps;
use crate::learner::Learner;
use crate::shared::Shared;

/// Reads a model file, written by `Learner.save` or by the command line.
///
/// Parameters
/// ----------
/// path : str or os.PathLike
///     The file.
/// kernel : callable, optional
///     Of a model that learned objects with a function as kernel: the same function.
/// objects : sequence, optional
///     Of such a model: the objects of its terms, as the attribute `objects` had them when the model was saved. The file has their
///     kernel values, not the objects; the values of the youngest term are compared.
///
/// A model of the command line that was learned with `--time`, `--log`, `--text` or `--one-hot` takes finished features, as
/// `feature_names` lists them: a warning says so.
///
/// Returns
/// -------
/// Learner
///     It continues where the saved learner stopped, with the same bits.
///
/// Examples
/// --------
/// >>> import okl, os, tempfile
/// >>> m = okl.Learner(loss="squared", gamma=1.0, kernel="gaussian")
/// >>> _ = m.learn([[0.0], [1.0]], [0.0, 1.0])
/// >>> path = os.path.join(tempfile.mkdtemp(), "m.okl")
/// >>> m.save(path)
/// >>> okl.load(path).examples
/// 2
#[pyfunction]
#[pyo3(signature = (path, *, kernel=None, objects=None))]
pub fn load<'py>(py: Python<'py>, path: PathBuf, kernel: Object<'_, 'py>, objects: Object<'_, 'py>) -> PyResult<Learner> {
    let learner = py.detach(|| okl::Learner::load(&path)).map_err(|e| match e.get_ref() {
        Some(refused) if refused.is::<okl::Error>() => PyValueError::new_err(format!("{}: {e}", path.display())),
        _ => file_error(py, &e, &path),
    })?;
    warn_of_rules(py, &path, &learner)?;
    Learner::of_file(learner).attach(py, kernel, objects)
}

/// Warns if the features of a model are made of the columns of a table by rules that only the command line has. Hashed features need no
/// warning: rows of another number of columns are refused.
fn warn_of_rules(py: Python<'_>, path: &Path, learner: &okl::Learner) -> PyResult<()> {
    let mut rules = store::used_rules(learner);
    rules.retain(|rule| !["--missing", "--hash-bits"].contains(rule));
    if rules.is_empty() {
        return Ok(());
    }
    let text = format!(
        "{}: the model was learned with {}, which only the command line applies: in Python, rows must have the finished features (see \
         feature_names)",
        path.display(),
        rules.join(", ")
    );
    py.import("okl._warnings")?.call_method1("warn", (text,)).map(drop)
}

/// The model file of a learner, with what NaN becomes and without the names of the features.
pub fn bytes(py: Python<'_>, shared: &Shared, gaps: &Gaps) -> PyResult<Vec<u8>> {
    match gaps.rule() {
        None => shared.read(py, okl::Learner::to_bytes),
        Some(_) => shared.write(py, |learner| with_names(learner, &[], gaps)),
    }
}

/// The model file of a learner, with the names of its features and what NaN becomes, in the form of the command line.
pub fn with_names(learner: &mut okl::Learner, names: &[String], gaps: &Gaps) -> Vec<u8> {
    let Some(position) = gaps.position(learner, names).or_else(|| store::position_with(learner, names)) else {
        return learner.to_bytes();
    };
    let before = learner.position().to_vec();
    learner.set_position(position);
    let bytes = learner.to_bytes();
    learner.set_position(before);
    bytes
}

/// Takes the names of the features out of a learner from a file that `Learner.save` wrote, so that its bytes are those of a learner that
/// was not loaded. The position of a file of the command line has more than names and stays.
pub fn without_names(learner: &mut okl::Learner, names: &[String], gaps: Gaps) -> Gaps {
    let (held, unnamed) = (learner.position().to_vec(), gaps.unnamed());
    learner.set_position(Vec::new());
    let saved = unnamed.position(learner, names).or_else(|| store::position_with(learner, names));
    if saved.as_ref() == Some(&held) {
        return unnamed;
    }
    learner.set_position(held);
    gaps
}

/// Writes a file atomically.
pub fn write(py: Python<'_>, path: &Path, bytes: &[u8]) -> PyResult<()> {
    py.detach(|| okl::file::write(path, bytes)).map_err(|e| file_error(py, &e, path))
}
