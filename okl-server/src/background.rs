//! Threads of low priority for requests that learn: they read these requests, parse their bodies and write their answers. The threads of
//! the runtime answer all other requests. So a prediction waits neither for a processor nor behind requests that learn in a queue.

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::task::Poll;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};

use crate::refusal::{Answered, Refusal};

/// Lowers the priority of this thread and of the threads that it starts: where the processors are busy, predictions go first.
pub fn yield_to_predictions() {
    // A priority that cannot be changed costs time only.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), 10);
}

/// Predictions of the last seconds. While there are any, the threads that learn leave one of the processors to them. Priority alone is not
/// enough: Linux lets a thread that runs finish its time slice of a few milliseconds, also if a thread of higher priority waits.
#[derive(Debug, Default)]
pub struct Predictions {
    /// Milliseconds from the start of the process to the last prediction; 0: there was none.
    last: AtomicU64,
}

/// Learning has all processors when there was no prediction for this time.
const RECENT: Duration = Duration::from_secs(10);
/// A thread that learns offers its processor to threads that wait for it after this time. More often would cost learning most of its share
/// of a busy machine, because Linux takes the rest of the time slice from a thread that offers its processor.
const OFFER: Duration = Duration::from_micros(500);

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

thread_local! {
    /// Whether this thread has left a processor; none: not decided yet. And when it last offered its own.
    static GIVEN: Cell<(Option<bool>, Option<Instant>)> = const { Cell::new((None, None)) };
}

impl Predictions {
    /// A prediction is asked for.
    pub fn note(&self) {
        let now = START.elapsed().as_millis() as u64 + 1;
        // All threads that predict read this; most of them need not write it.
        if self.last.load(Ordering::Relaxed) < now {
            self.last.store(now, Ordering::Relaxed);
        }
    }

    fn are_recent(&self) -> bool {
        let last = self.last.load(Ordering::Relaxed);
        last > 0 && START.elapsed().as_millis() as u64 <= last + RECENT.as_millis() as u64
    }

    /// Called by a thread that learns, between two pieces of its work: gives way to predictions, if there are any.
    pub fn give_way(&self) {
        let (left, offered) = GIVEN.get();
        let recent = self.are_recent();
        if left != Some(recent) {
            use_processors(!recent);
        }
        let offer = recent && offered.is_none_or(|last| last.elapsed() >= OFFER);
        if offer {
            std::thread::yield_now();
        }
        GIVEN.set((Some(recent), if offer { Some(Instant::now()) } else { offered }));
    }
}

/// Lets this thread use all processors of the process, or all but one.
#[cfg_attr(not(target_os = "linux"), expect(unused_variables, reason = "there is no such call"))]
fn use_processors(all: bool) {
    // The first thread of the process always has all of them.
    #[cfg(target_os = "linux")]
    if let Ok(mut allowed) = rustix::thread::sched_getaffinity(Some(rustix::process::getpid()))
        && allowed.count() > 1
        && let Some(first) = (0..rustix::thread::CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu))
    {
        if !all {
            allowed.unset(first);
        }
        // As above: it costs time only.
        let _ = rustix::thread::sched_setaffinity(None, &allowed);
    }
}

/// The threads for requests that learn: one less than there are processors, at least one. They end when this is dropped.
pub struct Background {
    runtime: Option<Runtime>,
    predictions: Arc<Predictions>,
}

impl Background {
    /// Starts the threads, which give way to these predictions.
    ///
    /// # Errors
    /// Those of the system.
    pub fn start(predictions: Arc<Predictions>) -> io::Result<Background> {
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get().saturating_sub(1).max(1));
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(threads).thread_name("okl-rows").on_thread_start(yield_to_predictions).enable_all();
        Ok(Background { runtime: Some(builder.build()?), predictions })
    }

    /// Serves a connection: each of its requests on the threads that `side` was asked for.
    pub async fn serve(&self, side: &Arc<Side>, connection: impl Future<Output = ()> + Send + 'static) {
        let Some(background) = &self.runtime else { return };
        let mut rest: Connection = Box::pin(connection);
        loop {
            let Some(moved) = until_moved(rest, Arc::clone(side), None).await else { return };
            // A panic ends the connection, as on the other threads.
            let learns = until_moved(moved, Arc::clone(side), Some(Arc::clone(&self.predictions)));
            let Ok(Some(moved)) = background.spawn(learns).await else { return };
            rest = moved;
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Without waiting: this may be a thread of another runtime, which must not wait.
        self.runtime.take().into_iter().for_each(Runtime::shutdown_background);
    }
}

type Connection = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The threads that serve a connection, and those that its present request asks for; true: the background.
#[derive(Debug, Default)]
pub struct Side {
    now: AtomicBool,
    asked: AtomicBool,
}

impl Side {
    /// Whether the connection is served in the background.
    pub fn is_background(&self) -> bool {
        self.now.load(Ordering::Relaxed)
    }

    /// Returns on the threads in the background, or on those of the runtime. To be awaited inside the connection only.
    pub async fn change(&self, background: bool) {
        self.asked.store(background, Ordering::Relaxed);
        // `until_moved` sees that the other threads are asked for and polls again there: no waker is needed.
        poll_fn(|_| if self.is_background() == background { Poll::Ready(()) } else { Poll::Pending }).await;
    }
}

/// Serves a connection until it ends (none) or asks for the other threads (the rest of it). In the background: `gives_way` to predictions.
async fn until_moved(mut connection: Connection, side: Arc<Side>, gives_way: Option<Arc<Predictions>>) -> Option<Connection> {
    side.now.store(gives_way.is_some(), Ordering::Relaxed);
    let moves = poll_fn(|context| {
        if let Some(predictions) = &gives_way {
            predictions.give_way();
        }
        match connection.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(false),
            Poll::Pending if side.asked.load(Ordering::Relaxed) != gives_way.is_some() => Poll::Ready(true),
            Poll::Pending => Poll::Pending,
        }
    });
    moves.await.then_some(connection)
}

/// Does a part of a request.
///
/// # Errors
/// If it panics: an answer is better than a closed connection.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Answered<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| Refusal::new(500, "internal", "an error of okl has ended this request"))
}
