//! Threads of low priority for the work of requests that learn: their bodies are read and their answers are written here. So they take no
//! processor from predictions, which are answered by the threads of the runtime.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SendError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use crate::refusal::{Answered, Refusal};

type Job = Box<dyn FnOnce() + Send>;

/// Lowers the priority of this thread and of the threads that it starts: where the processors are busy, predictions go first.
pub fn yield_to_predictions() {
    // A priority that cannot be changed costs time only.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), 10);
}

/// Keeps this thread and the threads that it starts away from one of the processors. Priority alone is not enough: Linux lets a thread
/// that runs finish its time slice of a few milliseconds, also if a thread of higher priority waits.
pub fn leave_a_processor() {
    #[cfg(target_os = "linux")]
    if let Ok(mut allowed) = rustix::thread::sched_getaffinity(None)
        && allowed.count() > 1
        && let Some(first) = (0..rustix::thread::CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu))
    {
        allowed.unset(first);
        // As above: it costs time only.
        let _ = rustix::thread::sched_setaffinity(None, &allowed);
    }
}

/// Threads that take jobs in the order of their arrival; they end when this is dropped. A request has one job at a time, so the number of
/// connections limits that of the jobs.
pub struct Background(Sender<Job>);

/// One thread less than there are processors, at least one.
impl Default for Background {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get().saturating_sub(1).max(1));
        let (send, receive) = channel();
        let receive = Arc::new(Mutex::new(receive));
        for _ in 0..threads {
            let receive = Arc::clone(&receive);
            // Without a thread, `run` does the job itself.
            let _ = std::thread::Builder::new().name("okl-rows".into()).spawn(move || take_jobs(&receive));
        }
        Background(send)
    }
}

fn take_jobs(receive: &Mutex<Receiver<Job>>) {
    yield_to_predictions();
    loop {
        let next = receive.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match next {
            // The caller of a job that panicked gets an error.
            Ok(job) => drop(catch_unwind(AssertUnwindSafe(job))),
            Err(_) => return,
        }
        // A prediction that waits for this processor goes first.
        std::thread::yield_now();
    }
}

impl Background {
    /// Does a job on one of the threads.
    ///
    /// # Errors
    /// If the job panics.
    pub async fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Answered<T> {
        let (reply, done) = oneshot::channel();
        let job: Job = Box::new(move || drop(reply.send(job())));
        if let Err(SendError(job)) = self.0.send(job) {
            job();
        }
        done.await.map_err(|_| Refusal::new(500, "internal", "an error of okl has ended this request"))
    }
}
