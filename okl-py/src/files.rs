//! Model files.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::file_error;
use crate::learner::Learner;

/// Reads a model file, written by `Learner.save` or by the command line.
///
/// Parameters
/// ----------
/// path : str or os.PathLike
///     The file.
///
/// Returns
/// -------
/// Learner
///     It goes on learning where the saved one stopped, to the last bit.
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
#[pyo3(signature = (path))]
pub fn load(py: Python<'_>, path: PathBuf) -> PyResult<Learner> {
    let bytes = py.detach(|| fs::read(&path)).map_err(|e| file_error(py, &e, &path))?;
    let learner = py.detach(|| okl::Learner::from_bytes(&bytes));
    Ok(learner.map_err(|e| PyValueError::new_err(format!("{}: {e}", path.display())))?.into())
}

/// Writes a file so that a crash at any moment leaves the old one or the new one.
pub fn write(py: Python<'_>, path: &Path, bytes: &[u8]) -> PyResult<()> {
    py.detach(|| write_atomically(path, bytes)).map_err(|e| file_error(py, &e, path))
}

fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Two threads may save to one path: each has a file of its own until it is whole.
    static FILES: AtomicU64 = AtomicU64::new(0);
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(format!(".{}-{}.part", std::process::id(), FILES.fetch_add(1, Ordering::Relaxed)));
    let write = || {
        let mut file = File::create(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    write().inspect_err(|_| drop(fs::remove_file(&temporary)))
}
