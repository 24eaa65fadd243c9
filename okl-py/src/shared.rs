//! One learner between threads, signals and the interpreter.
//!
//! Readers run beside each other, a writer alone, and all of them without the interpreter. Who waits for the lock has let
//! the interpreter go, so whoever holds the lock can have it. A signal handler runs in the middle of a call, on its thread:
//! there the learner is taken, and to wait for it would be to wait forever.

use std::cell::RefCell;
use std::sync::RwLock;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::RwLockExt;

use crate::errors::broken;

thread_local! {
    /// The learners in whose calls this thread is, by address.
    static INSIDE: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// This thread is in a call of a learner, until it is dropped.
struct Inside;

impl Inside {
    fn of(address: usize) -> Self {
        INSIDE.with_borrow_mut(|inside| inside.push(address));
        Inside
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.with_borrow_mut(Vec::pop);
    }
}

/// A learner that threads share.
pub struct Shared(RwLock<okl::Learner>);

impl Shared {
    pub fn new(learner: okl::Learner) -> Self {
        Shared(RwLock::new(learner))
    }

    /// A look that takes no time; the interpreter is kept once the lock is there.
    pub fn look<T>(&self, py: Python<'_>, look: impl FnOnce(&okl::Learner) -> T) -> PyResult<T> {
        self.enter()?;
        let learner = self.0.read_py_attached(py).map_err(|_| broken())?;
        Ok(look(&learner))
    }

    /// A change that takes no time, in the same way.
    pub fn touch<T>(&self, py: Python<'_>, touch: impl FnOnce(&mut okl::Learner) -> T) -> PyResult<T> {
        self.enter()?;
        let mut learner = self.0.write_py_attached(py).map_err(|_| broken())?;
        Ok(touch(&mut learner))
    }

    /// Reading that takes time: other threads run meanwhile.
    pub fn read<T: Send>(&self, py: Python<'_>, read: impl FnOnce(&okl::Learner) -> T + Send) -> PyResult<T> {
        let address = self.enter()?;
        py.detach(|| {
            let learner = self.0.read().map_err(|_| broken())?;
            let _inside = Inside::of(address);
            Ok(read(&learner))
        })
    }

    /// Changing the learner: other threads run meanwhile, but for those that want this one.
    pub fn write<T: Send>(&self, py: Python<'_>, write: impl FnOnce(&mut okl::Learner) -> T + Send) -> PyResult<T> {
        let address = self.enter()?;
        py.detach(|| {
            let mut learner = self.0.write().map_err(|_| broken())?;
            let _inside = Inside::of(address);
            Ok(write(&mut learner))
        })
    }

    fn enter(&self) -> PyResult<usize> {
        let address = std::ptr::from_ref(self).addr();
        if INSIDE.with_borrow(|inside| inside.contains(&address)) {
            return Err(PyRuntimeError::new_err("this learner is in the middle of a call: a signal handler cannot use it"));
        }
        Ok(address)
    }
}

/// Python is asked so often whether a signal has come: soon enough for Ctrl-C, seldom enough for a busy interpreter.
const PATIENCE: Duration = Duration::from_millis(100);

/// The signals that come during a call.
pub struct Signals {
    asked: Instant,
    /// What a handler raised.
    pub raised: Option<PyErr>,
}

impl Signals {
    pub fn new() -> Self {
        Signals { asked: Instant::now(), raised: None }
    }

    /// Has no handler raised anything?
    pub fn quiet(&mut self) -> bool {
        if self.asked.elapsed() >= PATIENCE {
            // None: the interpreter is shutting down, and has no more signals to hand out.
            self.raised = Python::try_attach(|py| py.check_signals()).and_then(Result::err);
            self.asked = Instant::now();
        }
        self.raised.is_none()
    }
}
