//! Threads that share the work of a learner, in whichever process the learner is.
//!
//! After a `fork` the child has none of its parent's threads: work that is handed to them is never done. So the threads
//! belong to the process that started them, and another process starts its own when it first needs them.

use std::process;
use std::sync::{Arc, RwLock};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{Error, Result};

/// So many threads. Clones share them.
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

    /// The threads, if this process has them.
    fn here(&self) -> Option<Arc<ThreadPool>> {
        self.threads.clone().filter(|_| self.process == process::id())
    }
}

impl Drop for Started {
    /// Threads of another process are left alone: ending them takes locks that they may have held at the fork.
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
    /// If the system refuses.
    pub fn new(threads: usize) -> Result<Self> {
        Ok(Pool { threads, started: Arc::new(RwLock::new(Started::new(threads)?)) })
    }

    /// Runs `work` with the threads of this process; without any, if the system refuses to start them.
    pub fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match self.here() {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }

    fn here(&self) -> Option<Arc<ThreadPool>> {
        // Never wait for the lock: at a fork, a thread that is not in the child may have held it.
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

    /// A fork is told by the number of the process, so another number stands for one. Real forks are in the Python package's tests.
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
