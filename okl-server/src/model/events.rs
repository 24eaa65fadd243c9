//! The events of a model: alerts, drifts, and notices that the figures have changed. Every reader takes them at its own pace.
//!
//! An event waits until all readers have taken it. At most [`MOST`] events wait, or all events of the last request if these are more; older
//! events are dropped, and a reader that has not taken them is told their number. So a reader that takes the events of one request before
//! the next request ends misses none. Without readers nothing waits.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::watch;

use super::drift::Drift;
use super::figures::Alert;

/// The number of events that wait for the slowest reader: about 4 MB.
pub const MOST: usize = 16_384;

/// Something that happened at a row of a model.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A row that is unlike the rows before it.
    Alert(Alert),
    /// The error has risen.
    Drift(Drift),
}

impl Event {
    /// The event as it is sent: `{"type": "alert", "alert": ...}`.
    pub fn json(&self) -> Value {
        match self {
            Event::Alert(alert) => json!({ "type": "alert", "alert": alert }),
            Event::Drift(drift) => json!({ "type": "drift", "drift": drift }),
        }
    }
}

/// What a reader takes next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// An event.
    Event(Event),
    /// The figures have changed since the last notice.
    Figures,
    /// This number of events was dropped before the reader took them.
    Missed(u64),
}

/// How far a reader is.
struct Place {
    /// The number of the next event.
    at: u64,
    /// The figures have changed; the notice comes after the events with smaller numbers.
    figures: Option<u64>,
}

#[derive(Default)]
struct Waiting {
    /// The number of the first event that waits.
    first: u64,
    events: VecDeque<Event>,
    readers: BTreeMap<u64, Place>,
    /// The number of the next reader.
    next_reader: u64,
}

impl Waiting {
    fn end(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    fn remove_first(&mut self, count: usize) {
        self.events.drain(..count);
        self.first += count as u64;
        if self.events.is_empty() {
            self.events.shrink_to(MOST);
        }
    }

    /// Removes the events that all readers have taken.
    fn remove_taken(&mut self) {
        let taken = self.readers.values().map(|place| place.at).min().unwrap_or(self.end());
        self.remove_first(taken.saturating_sub(self.first) as usize);
    }

    fn next(&mut self, reader: u64) -> Option<Next> {
        let first = self.first;
        let place = self.readers.get_mut(&reader)?;
        if place.at < first {
            let missed = first - place.at;
            place.at = first;
            return Some(Next::Missed(missed));
        }
        if place.figures.is_some_and(|after| after <= place.at) {
            place.figures = None;
            return Some(Next::Figures);
        }
        let event = self.events.get((place.at - first) as usize)?.clone();
        place.at += 1;
        self.remove_taken();
        Some(Next::Event(event))
    }
}

fn locked(waiting: &Mutex<Waiting>) -> MutexGuard<'_, Waiting> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The events of one model.
#[derive(Default)]
pub struct Events {
    waiting: Arc<Mutex<Waiting>>,
    changed: watch::Sender<()>,
}

impl Events {
    /// Tells all readers the events of one request.
    pub fn tell(&self, new: Vec<Event>) {
        let mut waiting = locked(&self.waiting);
        if new.is_empty() || waiting.readers.is_empty() {
            return;
        }
        let most = MOST.max(new.len());
        waiting.events.extend(new);
        let extra = waiting.events.len().saturating_sub(most);
        waiting.remove_first(extra);
        drop(waiting);
        self.changed.send_replace(());
    }

    /// Tells all readers that the figures have changed.
    pub fn tell_figures(&self) {
        let mut waiting = locked(&self.waiting);
        let end = waiting.end();
        waiting.readers.values_mut().for_each(|place| place.figures = place.figures.or(Some(end)));
        drop(waiting);
        self.changed.send_replace(());
    }

    /// Whether there is a reader.
    pub fn are_read(&self) -> bool {
        !locked(&self.waiting).readers.is_empty()
    }

    /// A reader of the events from now on.
    pub fn reader(&self) -> Reader {
        let mut waiting = locked(&self.waiting);
        let (number, at) = (waiting.next_reader, waiting.end());
        waiting.next_reader += 1;
        waiting.readers.insert(number, Place { at, figures: None });
        Reader { number, waiting: Arc::clone(&self.waiting), changed: self.changed.subscribe() }
    }
}

/// A reader of events.
pub struct Reader {
    number: u64,
    waiting: Arc<Mutex<Waiting>>,
    changed: watch::Receiver<()>,
}

impl Reader {
    /// Waits for what comes next; none when the model is gone.
    pub async fn next(&mut self) -> Option<Next> {
        loop {
            let next = locked(&self.waiting).next(self.number);
            if next.is_some() {
                return next;
            }
            self.changed.changed().await.ok()?;
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut waiting = locked(&self.waiting);
        waiting.readers.remove(&self.number);
        waiting.remove_taken();
    }
}
