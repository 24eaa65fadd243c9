//! One learner between threads, signals and the interpreter.
//!
//! Several readers or one writer can use the learner at a time, without the interpreter's lock. A thread that waits for the learner
//! has released the interpreter's lock, so that the thread with the learner can get it. A writer learns block by block and admits
//! readers between two blocks. A signal handler runs in the middle of a call, on the thread of the call. It cannot use the learner,
//! because it would wait forever for its own thread.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, RwLock, TryLockError};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::{MutexExt, RwLockExt};

use crate::errors::broken;

thread_local! {
    /// The addresses of the learners that this thread is using in a call.
    static INSIDE: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Marks that this thread is in a call of a learner, until it is dropped.
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
pub struct Shared<L = okl::Learner> {
    learner: RwLock<L>,
    /// Held during a whole call that changes the learner, so that the rows of a call stay together.
    writer: Mutex<()>,
    /// The number of readers that have requested the learner, and of those that have got it.
    arrived: AtomicUsize,
    admitted: AtomicUsize,
    /// The process whose threads use the locks. A forked child has the locks of its parent, but not the threads that held them.
    process: AtomicU32,
}

impl<L: Send + Sync> Shared<L> {
    pub fn new(learner: L) -> Self {
        Shared {
            learner: RwLock::new(learner),
            writer: Mutex::new(()),
            arrived: 0.into(),
            admitted: 0.into(),
            process: std::process::id().into(),
        }
    }

    /// Reads the learner quickly, without releasing the interpreter's lock once the learner's lock is held.
    pub fn look<T>(&self, py: Python<'_>, look: impl FnOnce(&L) -> T) -> PyResult<T> {
        self.enter()?;
        let learner = self.counted(|| self.learner.read_py_attached(py)).map_err(|_| broken())?;
        Ok(look(&learner))
    }

    /// Changes the learner quickly, in the same way.
    pub fn touch<T>(&self, py: Python<'_>, touch: impl FnOnce(&mut L) -> T) -> PyResult<T> {
        self.enter()?;
        let _writer = self.writer.lock_py_attached(py).map_err(|_| broken())?;
        let mut learner = self.learner.write_py_attached(py).map_err(|_| broken())?;
        Ok(touch(&mut learner))
    }

    /// Reads the learner for a longer time, without the interpreter's lock.
    pub fn read<T: Send>(&self, py: Python<'_>, read: impl FnOnce(&L) -> T + Send) -> PyResult<T> {
        let address = self.enter()?;
        py.detach(|| {
            let learner = self.counted(|| self.learner.read()).map_err(|_| broken())?;
            let _inside = Inside::of(address);
            Ok(read(&learner))
        })
    }

    /// Runs a whole call with the interpreter's lock, except for waiting: no other call changes the learner in between, and Python code
    /// that runs inside (a kernel) cannot use it. Other threads can read it.
    pub fn exclusively<T>(&self, py: Python<'_>, run: impl FnOnce(&Held<'_, L>) -> PyResult<T>) -> PyResult<T> {
        let address = self.enter()?;
        let _writer = self.writer.lock_py_attached(py).map_err(|_| broken())?;
        let _inside = Inside::of(address);
        run(&Held(self))
    }

    /// Changes the learner without the interpreter's lock. Other threads can run, except those that need this learner.
    pub fn write<T: Send>(&self, py: Python<'_>, write: impl FnOnce(&mut L) -> T + Send) -> PyResult<T> {
        let mut result = None;
        let mut write = Some(write);
        self.write_in_turns(py, |learner| {
            result = write.take().map(|write| write(learner));
            Ok::<_, ()>(false)
        })?
        .ok();
        result.ok_or_else(broken)
    }

    /// Changes the learner in turns, until a turn returns false. Readers can use the learner between two turns, other writers after
    /// the last turn.
    pub fn write_in_turns<E: Send>(
        &self,
        py: Python<'_>,
        mut turn: impl FnMut(&mut L) -> Result<bool, E> + Send,
    ) -> PyResult<Result<(), E>> {
        let address = self.enter()?;
        py.detach(|| {
            let _writer = self.writer.lock().map_err(|_| broken())?;
            let _inside = Inside::of(address);
            loop {
                let more = turn(&mut *self.learner.write().map_err(|_| broken())?);
                match more {
                    Ok(true) => self.admit_readers(),
                    Ok(false) => return Ok(Ok(())),
                    Err(error) => return Ok(Err(error)),
                }
            }
        })
    }

    /// Counts a waiting reader, so that a writer can admit it.
    fn counted<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.arrived.fetch_add(1, Ordering::SeqCst);
        let learner = wait();
        self.admitted.fetch_add(1, Ordering::SeqCst);
        learner
    }

    /// Waits until all waiting readers have got the learner. Without this, the running writer would usually get the lock again first.
    fn admit_readers(&self) {
        let arrived = self.arrived.load(Ordering::SeqCst);
        while self.admitted.load(Ordering::SeqCst) < arrived {
            std::thread::yield_now();
        }
    }

    fn enter(&self) -> PyResult<usize> {
        let address = std::ptr::from_ref(self).addr();
        if INSIDE.with_borrow(|inside| inside.contains(&address)) {
            return Err(PyRuntimeError::new_err(
                "this learner is in the middle of a call: neither a signal handler nor its kernel can use it",
            ));
        }
        self.check_process()?;
        Ok(address)
    }

    /// Refuses a learner that another thread was using when this process was forked, because its locks are never released here. The
    /// caller holds the interpreter's lock, so that only one thread at a time tries the locks.
    fn check_process(&self) -> PyResult<()> {
        let here = std::process::id();
        if self.process.load(Ordering::SeqCst) == here {
            return Ok(());
        }
        let held = matches!(self.writer.try_lock(), Err(TryLockError::WouldBlock))
            || matches!(self.learner.try_write(), Err(TryLockError::WouldBlock));
        if held {
            return Err(PyRuntimeError::new_err(
                "another thread was using this learner when this process was forked, so its state here may be half changed: \
                 fork when no thread uses the learner, or load the model from a file in the child",
            ));
        }
        // Threads that were waiting for the learner at the fork do not exist here.
        self.admitted.store(self.arrived.load(Ordering::SeqCst), Ordering::SeqCst);
        self.process.store(here, Ordering::SeqCst);
        Ok(())
    }
}

/// A learner that no other call can change.
pub struct Held<'a, L = okl::Learner>(&'a Shared<L>);

impl<L: Send + Sync> Held<'_, L> {
    pub fn look<T>(&self, py: Python<'_>, look: impl FnOnce(&L) -> T) -> PyResult<T> {
        let learner = self.0.counted(|| self.0.learner.read_py_attached(py)).map_err(|_| broken())?;
        Ok(look(&learner))
    }

    pub fn change<T>(&self, py: Python<'_>, change: impl FnOnce(&mut L) -> T) -> PyResult<T> {
        let mut learner = self.0.learner.write_py_attached(py).map_err(|_| broken())?;
        Ok(change(&mut learner))
    }
}

/// The time between two checks for signals: short enough for Ctrl-C, long enough not to slow down other Python threads.
const PATIENCE: Duration = Duration::from_millis(100);

/// Checks for signals during a call.
pub struct Signals {
    asked: Instant,
    /// The exception that a signal handler has raised.
    pub raised: Option<PyErr>,
}

impl Signals {
    pub fn new() -> Self {
        Signals { asked: Instant::now(), raised: None }
    }

    /// Checks for signals from time to time; returns whether no handler has raised an exception.
    pub fn quiet(&mut self) -> bool {
        if self.asked.elapsed() >= PATIENCE {
            // None: the interpreter is shutting down and handles no more signals.
            self.raised = Python::try_attach(|py| py.check_signals()).and_then(Result::err);
            self.asked = Instant::now();
        }
        self.raised.is_none()
    }
}
