//! The place on a card.

use std::process;
use std::thread::{self, JoinHandle};

use okl::place::{Chunk, Place, Request, Shape};

use crate::card::{Found, check_library, has_device_files};
use crate::opened::Opened;

/// Requests with fewer multiplications are faster on the processor: sending the rows and starting the kernels takes as long as
/// some milliseconds of one core.
const WORTHWHILE: f64 = (1u64 << 28) as f64;

/// The card takes a millisecond for a request of so many multiplications, longer than the processor for its rows. Then the next request is started
/// before the card is done.
const LONG: f64 = (3u64 << 32) as f64;

/// Opening a card takes 0.2 s, in which one core does about so many multiplications.
const OPENING: f64 = (1u64 << 33) as f64;

/// A place on an NVIDIA card. The driver is started and the card opened when it is first used: that takes some tenths of a second, in
/// which the processor learns. Predictions wait for the card.
#[derive(Debug)]
pub struct Cuda {
    /// The name of the card; none while the driver has not been started.
    name: Option<String>,
    state: State,
    rows: usize,
    worthwhile: f64,
    long: f64,
}

/// How far a card has been opened.
#[derive(Debug)]
enum State {
    /// Not at all; the card, if the driver has been started.
    Closed(Option<Found>),
    /// A thread opens it.
    Opening(Opening),
    Open(Box<Opened>),
    /// It could not be opened.
    Failed(String),
}

/// The thread that opens a card. It is waited for before the place is dropped: a program must not end while the driver starts.
#[derive(Debug)]
struct Opening {
    thread: Option<JoinHandle<Result<(String, Opened), String>>>,
    /// The process of the thread. After a fork the child does not have it, and would wait for ever.
    process: u32,
}

impl Opening {
    fn is_here(&self) -> bool {
        self.process == process::id()
    }

    fn is_done(&self) -> bool {
        !self.is_here() || self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    fn wait(&mut self) -> Result<(String, Opened), String> {
        let here = self.is_here();
        match self.thread.take() {
            Some(thread) if here => thread.join().unwrap_or_else(|_| Err("the card could not be opened".into())),
            thread => {
                std::mem::forget(thread);
                Err("the card was being opened when this process was forked: use it before the fork, or only after it".into())
            }
        }
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        if self.thread.is_some() {
            let _ = self.wait();
        }
    }
}

/// Starts the driver if it was not started, and opens the card.
fn opened(found: Option<Found>) -> Result<(String, Opened), String> {
    let found = found.map_or_else(|| Found::number(0), Ok)?;
    let opened = Opened::new(&found)?;
    Ok((found.name, opened))
}

impl Cuda {
    /// The card with this number. If the files of a driver and of a card exist and the first card is meant, the driver is not started yet.
    ///
    /// # Errors
    /// A sentence for the user if there is no such card or no driver.
    pub fn open(number: usize) -> Result<Cuda, String> {
        if number > 0 || !has_device_files() {
            return Self::find(number);
        }
        check_library()?;
        Ok(Self::of(None))
    }

    /// Starts the driver and finds a card by its number.
    ///
    /// # Errors
    /// As [`Cuda::open`].
    pub fn find(number: usize) -> Result<Cuda, String> {
        Ok(Self::of(Some(Found::number(number)?)))
    }

    fn of(found: Option<Found>) -> Cuda {
        let name = found.as_ref().map(|found| found.name.clone());
        Cuda { name, state: State::Closed(found), rows: 256, worthwhile: WORTHWHILE, long: LONG }
    }

    /// Starts a thread that opens the card, if it is closed.
    fn open_in_background(&mut self) {
        if let State::Closed(found) = &mut self.state {
            let found = found.take();
            let thread = thread::Builder::new().spawn(|| opened(found));
            self.state = match thread {
                Ok(thread) => State::Opening(Opening { thread: Some(thread), process: process::id() }),
                Err(error) => State::Failed(format!("no thread could be started to open the card: {error}")),
            };
        }
    }

    /// Waits until the card is open.
    fn wait(&mut self) -> Result<&mut Opened, String> {
        self.open_in_background();
        if let State::Opening(opening) = &mut self.state {
            self.state = match opening.wait() {
                Ok((name, opened)) => {
                    self.name = Some(name);
                    State::Open(Box::new(opened))
                }
                Err(error) => State::Failed(error),
            };
        }
        self.opened()
    }

    /// For tests: requests of at most `rows` rows while the learner learns, however small they are, and two under way from the second chunk on.
    #[must_use]
    pub fn always(self, rows: usize) -> Self {
        Cuda { rows, worthwhile: 0.0, long: 4096.0 * rows as f64, ..self }
    }

    /// Requests of at most `rows` rows while the learner learns.
    #[must_use]
    pub fn with_rows(self, rows: usize) -> Self {
        Cuda { rows, ..self }
    }

    fn opened(&mut self) -> Result<&mut Opened, String> {
        match &mut self.state {
            State::Open(opened) => Ok(opened),
            State::Failed(error) => Err(error.clone()),
            State::Closed(_) | State::Opening(_) => Err("the card holds no terms yet".into()),
        }
    }
}

impl Place for Cuda {
    fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| "the first NVIDIA card".into())
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn pays(&self, multiplications: f64) -> bool {
        multiplications > 0.0 && multiplications >= self.worthwhile
    }

    fn opening(&self) -> f64 {
        if matches!(self.state, State::Closed(_)) && self.worthwhile > 0.0 { OPENING } else { 0.0 }
    }

    fn is_ready(&mut self) -> bool {
        self.open_in_background();
        // A test has few rows: the learner waits.
        self.worthwhile == 0.0 || !matches!(&self.state, State::Opening(opening) if !opening.is_done())
    }

    fn under_way(&self, multiplications: f64) -> usize {
        if multiplications < self.long { 1 } else { 2 }
    }

    fn begin(&mut self, shape: &Shape) -> Result<usize, String> {
        self.wait()?.begin(shape)
    }

    fn put(&mut self, index: usize, chunk: Chunk<'_>) -> Result<(), String> {
        self.opened()?.put(index, chunk)
    }

    fn start(&mut self, request: Request<'_>) -> Result<(), String> {
        self.opened()?.start(request)
    }

    fn finish(&mut self, totals: &mut Vec<f64>) -> Result<(), String> {
        self.opened()?.finish(totals)
    }

    fn bytes(&self) -> usize {
        if let State::Open(opened) = &self.state { opened.bytes() } else { 0 }
    }
}
