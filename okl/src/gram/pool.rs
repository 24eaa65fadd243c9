//! A thread pool for a learner that also works in a forked process.
//!
//! After a `fork` the child process has none of its parent's threads: work given to them would never be done. So a pool belongs
//! to the process that started it, and another process starts its own pool when it first needs one.

use std::process;
use std::sync::{Arc, RwLock};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{Error, Result};

/// A pool of `threads` threads. Clones share the threads.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    threads: usize,
    started: Arc<RwLock<Started>>,
}

/// The threads of one process.
#[derive(Debug)]
struct Started {
    process: u32,
    threads: Option<Arc<ThreadPool>>,
}

impl Started {
    fn new(threads: usize) -> Result<Self> {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|e| Error::config("threads", e.to_string()))?;
        Ok(Started { process: process::id(), threads: Some(Arc::new(pool)) })
    }

    /// The threads, if they belong to this process.
    fn here(&self) -> Option<Arc<ThreadPool>> {
        self.threads.clone().filter(|_| self.process == process::id())
    }
}

impl Drop for Started {
    /// The threads of another process are not ended: that would take locks that they may have held at the fork.
    fn drop(&mut self) {
        let threads = self.threads.take();
        if self.process != process::id() {
            std::mem::forget(threads);
        }
    }
}

impl Pool {
    /// Starts the threads.
    ///
    /// # Errors
    /// If the operating system cannot start the threads.
    pub fn new(threads: usize) -> Result<Self> {
        Ok(Pool { threads, started: Arc::new(RwLock::new(Started::new(threads)?)) })
    }

    /// Runs `work` on the threads of this process, or on the calling thread if the operating system cannot start any.
    pub fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match self.here() {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }

    fn here(&self) -> Option<Arc<ThreadPool>> {
        // Do not wait for the lock: a thread that does not exist in the child may have held it at the fork.
        let found = self.started.try_read().ok().and_then(|started| started.here());
        found.or_else(|| self.start_here())
    }

    fn start_here(&self) -> Option<Arc<ThreadPool>> {
        let fresh = Started::new(self.threads).ok()?;
        let pool = fresh.here();
        if let Ok(mut started) = self.started.try_write() {
            *started = fresh;
        }
        pool
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pool recognises a fork by the process id, so changing the stored id simulates one. Real forks are in the Python
    /// package's tests.
    #[test]
    fn another_process_starts_its_own_threads() {
        let pool = Pool::new(2).unwrap();
        let parents = pool.here().unwrap();
        pool.started.write().unwrap().process += 1;
        let own = pool.here().unwrap();
        assert!(!Arc::ptr_eq(&parents, &own), "the parent's threads do not exist here");
        assert!(Arc::ptr_eq(&own, &pool.clone().here().unwrap()), "threads are started once");
        assert_eq!(pool.install(rayon::current_num_threads), 2);
    }

    #[test]
    fn a_lock_that_was_held_at_the_fork_is_not_waited_for() {
        let pool = Pool::new(2).unwrap();
        let held = pool.started.write().unwrap();
        assert_eq!(pool.install(rayon::current_num_threads), 2);
        drop(held);
    }
}
