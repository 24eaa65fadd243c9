//! Chunks of terms that a [`Keeper`] holds instead of the engine: what was sent, and the totals of the next rows over it.
//!
//! Chunks are numbered in the order in which they are completed. Under a window, the terms of a chunk are overwritten one after the other when all
//! chunks are full; a chunk that was overwritten has a new number. With a ring of n chunks, chunk i has the place i mod n in the order of the slots.
//!
//! ```text
//! numbers   first ... gone ... sent ...
//!           |---------|                  at the keeper only
//!                     |-------|          sent, and still here: requests that do not cover them are in use
//!                     |----------------| here; under a window the last ones have the terms that will be overwritten next
//! ```
//!
//! A request covers all chunks that are at the keeper when it starts. While rows are read whose request was made earlier, the chunks sent since
//! then are still here. They are removed when the first request that covers them is in use. Under a window, the oldest chunk comes back before its
//! first term is overwritten, and the keeper may forget it. A chunk that is here is summed here: sums do not depend on where a chunk is.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::basis::block::ROWS;
use crate::basis::terms::Terms;
use crate::basis::{Points, Space};
use crate::coordinates::{Coordinates, Rewrite};
use crate::gram::CHUNK;
use crate::sharded::chunk::{self, Chunk};
use crate::sharded::{self, Keeper};

/// The number of requests under way while the rows of another one are learned. With two, the keeper always has a request to work on.
const AHEAD: usize = 2;

/// The least number of chunks of a ring, for requests of this number of rows: one more than can be here at the same time.
pub(crate) fn least_ring(rows: usize) -> usize {
    ((1 + AHEAD) * rows + CHUNK - 1 + ROWS) / CHUNK + 2
}

/// The totals of some rows over chunks at the keeper.
#[derive(Debug)]
pub(crate) struct Totals {
    /// The rows, counted from the first row of the call.
    rows: Range<usize>,
    /// The numbers of the chunks.
    chunks: Range<usize>,
    columns: usize,
    /// Chunk by chunk, row by row with all columns.
    values: Vec<f64>,
    /// The time of the coefficients when the totals were asked for.
    time: u64,
}

impl Totals {
    /// The total of a row over a chunk.
    pub fn of(&self, row: usize, chunk: usize) -> &[f64] {
        let at = (chunk - self.chunks.start) * self.rows.len() + row - self.rows.start;
        &self.values[at * self.columns..][..self.columns]
    }

    /// The number of numbers.
    fn expected(&self) -> usize {
        self.chunks.len() * self.rows.len() * self.columns
    }

    /// Whether all coefficients have changed since the totals were asked for.
    fn is_stale(&self, f: &Coordinates) -> bool {
        f.changes().of_all() > self.time
    }
}

/// Where the chunks are, in the order of their slots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// The number of the first chunk that is here, and the number of chunks that are here.
    gone: usize,
    here: usize,
    ring: usize,
}

/// Where a chunk is: here, with its place among those that are here, or at the keeper, with its number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum At {
    Here(usize),
    Keeper(usize),
}

impl Layout {
    /// All chunks.
    pub fn chunks(self) -> impl Iterator<Item = At> {
        let first = self.gone % self.ring;
        (0..self.ring.min(self.gone + self.here)).map(move |place| {
            let after = if place >= first { place - first } else { place + self.ring - first };
            match after < self.here {
                true => At::Here(after),
                false => At::Keeper(self.gone + after - self.ring),
            }
        })
    }
}

/// The chunks at a keeper.
pub(crate) struct Kept {
    keeper: Box<dyn Keeper>,
    /// Whether the keeper has got the configuration.
    begun: bool,
    /// The number of chunks of a window; larger than any number of chunks without one.
    ring: usize,
    /// The first chunk that is at the keeper, the first one that is here, and the first one that was not sent.
    first: usize,
    gone: usize,
    sent: usize,
    /// The number of chunks that are at the keeper only.
    away: usize,
    /// The changes of all coefficients since the first chunk was sent.
    rewrites: Vec<Rewrite>,
    /// The requests under way; their numbers are not there yet.
    asked: VecDeque<Totals>,
    held: Option<Totals>,
    failure: Option<String>,
}

/// The terms of the engine and what the budget says of them.
pub(crate) struct Here<'a, P> {
    pub terms: &'a mut Terms<P>,
    pub f: &'a mut Coordinates,
    /// Under a window: the number of slots, and the slot that is overwritten next.
    pub ring: Option<(usize, usize)>,
}

impl<P: Space> Here<'_, P> {
    /// The place of the term that is overwritten next, if all slots are in use.
    fn next_slot(&self) -> Option<usize> {
        self.ring.filter(|(slots, _)| self.terms.all() >= *slots).map(|(_, oldest)| self.terms.here(oldest))
    }

    /// The number of first chunks that will not change.
    fn settled(&self) -> usize {
        self.next_slot().unwrap_or_else(|| self.terms.slots()) / CHUNK
    }

    /// Removes the first chunks.
    fn remove_first(&mut self, chunks: usize) {
        self.terms.remove_first(sharded::slots(chunks));
        self.f.remove_first(sharded::slots(chunks));
    }

    /// Puts a chunk behind the others.
    fn push(&mut self, chunk: &Chunk) {
        self.f.push_chunk(self.terms.slots(), &chunk.f);
        self.terms.push_chunk(chunk);
    }
}

impl Kept {
    /// Runs a step. After an error nothing is asked again.
    fn attempt<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T, String>) -> Option<T> {
        if self.failure.is_some() {
            return None;
        }
        step(self).map_err(|error| self.failure = Some(error)).ok()
    }

    /// Before the first chunk is sent: if all slots of a window are in use, the chunk that is overwritten next becomes the last one.
    fn turn<P: Space>(&mut self, here: &mut Here<'_, P>) -> Result<(), String> {
        let Some((slots, oldest)) = here.ring.filter(|_| self.sent == self.first) else { return Ok(()) };
        here.terms.set_ring(slots);
        if here.next_slot().is_none() {
            return Ok(());
        }
        for _ in 0..(oldest / CHUNK + 1) % self.ring {
            let first = chunk::decode(&chunk::encode(here.terms, here.f, 0, 0)?)?;
            here.remove_first(1);
            here.push(&first);
        }
        self.first = oldest / CHUNK + 1;
        (self.gone, self.sent) = (self.first, self.first);
        Ok(())
    }

    /// Whether the totals of row `first` are there. The totals that come next are waited for; totals of other coefficients are dropped.
    fn has_totals(&mut self, f: &Coordinates, first: usize) -> Result<bool, String> {
        loop {
            let good = |totals: &Totals| totals.rows.contains(&first) && !totals.is_stale(f);
            if self.held.as_ref().is_some_and(good) {
                return Ok(true);
            }
            self.held = None;
            let Some(asked) = self.asked.pop_front() else { return Ok(false) };
            self.held = Some(self.receive(asked)?);
        }
    }

    /// Waits for the totals of some rows.
    fn receive(&mut self, asked: Totals) -> Result<Totals, String> {
        let (values, expected) = (self.keeper.finish()?, asked.expected());
        match values.len() == expected {
            true => Ok(Totals { values, ..asked }),
            false => Err(format!("the shards returned {} sums, expected {expected}", values.len())),
        }
    }

    /// Rows whose totals over the chunks at the keeper are under way.
    fn request(&self, rows: Range<usize>, f: &Coordinates) -> Totals {
        Totals { rows, chunks: self.first..self.sent, columns: f.columns(), values: Vec::new(), time: f.changes().now() }
    }

    /// Sends what has changed and all chunks that are settled. Asks for the totals of the rows from `first` on, if there is a chunk.
    fn ask<P: Space>(&mut self, here: &mut Here<'_, P>, rows: Points<'_>, first: usize) -> Result<(), String> {
        self.send_rewrites(here.f)?;
        for number in self.sent..self.gone + here.settled() {
            let bytes = chunk::encode(here.terms, here.f, number - self.gone, self.rewrites.len())?;
            self.keeper.keep(number, bytes)?;
            self.sent += 1;
        }
        if self.sent > self.first {
            let range = first..rows.squares.len().min(first + self.keeper.rows().max(1));
            self.keeper.start(rows.range(range.clone()))?;
            self.asked.push_back(self.request(range, here.f));
        }
        Ok(())
    }

    /// Sends the changes of all coefficients.
    fn send_rewrites(&mut self, f: &mut Coordinates) -> Result<(), String> {
        for rewrite in f.changes_mut().take_rewrites() {
            if self.sent > self.first {
                self.keeper.rewrite(self.rewrites.len(), chunk::encode_rewrite(rewrite))?;
                self.rewrites.push(rewrite);
            }
        }
        Ok(())
    }

    /// Asks for the totals of the rows behind those that are there or under way.
    fn ask_ahead<P: Space>(&mut self, here: &mut Here<'_, P>, rows: Points<'_>) -> Result<(), String> {
        while self.asked.len() < AHEAD {
            let last = self.asked.back().or(self.held.as_ref());
            match last.map(|totals| totals.rows.end).filter(|&end| end < rows.squares.len()) {
                Some(end) => self.ask(here, rows, end)?,
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// Removes the chunks that the totals in use cover from the engine.
    fn remove_covered<P: Space>(&mut self, here: &mut Here<'_, P>) {
        let Some(end) = self.held.as_ref().map(|totals| totals.chunks.end) else { return };
        if end > self.gone {
            here.remove_first(end - self.gone);
            self.away += end - self.gone;
            self.gone = end;
        }
    }

    /// Under a window: fetches the chunks whose terms the next rows overwrite. Returns the number of rows that may be learned then.
    fn make_room<P: Space>(&mut self, here: &mut Here<'_, P>) -> Result<usize, String> {
        let Some((slots, _)) = here.ring else { return Ok(usize::MAX) };
        let Some(next) = here.next_slot() else { return Ok(slots - here.terms.all()) };
        while here.terms.slots() < slots.min(next + ROWS) {
            self.send_rewrites(here.f)?;
            let oldest = self.fetch(self.first)?;
            here.push(&oldest);
            self.first += 1;
            self.away -= 1;
            self.keeper.forget(self.first)?;
        }
        Ok(here.terms.slots() - next)
    }

    /// Starts a request for rows that are only predicted.
    pub fn start(&mut self, rows: Points<'_>) -> Option<()> {
        self.attempt(|here| here.keeper.start(rows))
    }

    /// Waits for the totals of rows that are only predicted.
    pub fn finish(&mut self, rows: usize, f: &Coordinates) -> Option<Totals> {
        self.attempt(|here| here.receive(here.request(0..rows, f)))
    }

    /// A chunk with its coefficients as they are now.
    pub fn fetch(&mut self, number: usize) -> Result<Chunk, String> {
        let mut chunk = chunk::decode(&self.keeper.fetch(number)?)?;
        self.rewrites[chunk.rewrites..].iter().for_each(|rewrite| chunk.f.rewrite(*rewrite));
        Ok(chunk)
    }

    /// Where the chunks are, if the engine has this number of slots.
    pub fn layout(&self, slots: usize) -> Layout {
        Layout { gone: self.gone, here: slots.div_ceil(CHUNK), ring: self.ring }
    }
}

/// The chunks of an engine at a keeper, if it has one.
#[derive(Default)]
pub(crate) struct KeptChunks(Option<Box<Mutex<Kept>>>);

impl Clone for KeptChunks {
    fn clone(&self) -> Self {
        assert!(self.0.is_none(), "a learner whose terms are kept elsewhere is not copied");
        KeptChunks(None)
    }
}

impl fmt::Debug for KeptChunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeptChunks({} slots)", self.slots())
    }
}

impl KeptChunks {
    /// A keeper that has nothing yet, for a ring of this number of chunks, if there is one.
    pub fn at(keeper: Box<dyn Keeper>, ring: Option<usize>) -> Self {
        let kept = Kept {
            keeper,
            begun: false,
            ring: ring.unwrap_or(usize::MAX / 2),
            first: 0,
            gone: 0,
            sent: 0,
            away: 0,
            rewrites: Vec::new(),
            asked: VecDeque::new(),
            held: None,
            failure: None,
        };
        KeptChunks(Some(Box::new(Mutex::new(kept))))
    }

    pub fn is_set(&self) -> bool {
        self.0.is_some()
    }

    fn get(&mut self) -> Option<&mut Kept> {
        self.0.as_mut().map(|kept| kept.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// Exclusive use of the keeper, if there is one that has chunks.
    pub fn lock(&self) -> Option<MutexGuard<'_, Kept>> {
        let kept = self.0.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        (kept.sent > kept.first).then_some(kept)
    }

    /// The number of slots that are at the keeper only.
    pub fn slots(&self) -> usize {
        self.lock().map_or(0, |kept| sharded::slots(kept.away))
    }

    /// Why the learner cannot be used any more, if it cannot.
    pub fn failure(&self) -> Option<String> {
        self.0.as_ref().and_then(|kept| kept.lock().unwrap_or_else(PoisonError::into_inner).failure.clone())
    }

    /// From now on, chunks are sent to the keeper. Before this call the kernel may still change.
    pub fn begin(&mut self, config: impl FnOnce() -> String) {
        if let Some(kept) = self.get().filter(|kept| !kept.begun) {
            kept.attempt(|kept| kept.keeper.begin(&config()));
            kept.begun = true;
        }
    }

    /// Before a call of the learner: rows are counted from its first row.
    pub fn begin_call(&mut self) {
        if let Some(kept) = self.get() {
            kept.held = None;
        }
    }

    /// After a call of the learner.
    pub fn end_call(&mut self, f: &mut Coordinates) {
        if let Some(kept) = self.get().filter(|kept| kept.begun) {
            kept.attempt(|kept| kept.send_rewrites(f));
        }
    }

    /// Makes the totals of row `first` available and asks for those of later rows. Returns the end of the rows that can be learned with them.
    /// None: the keeper has failed, and nothing can be learned any more.
    pub fn look_ahead<P: Space>(&mut self, mut here: Here<'_, P>, rows: Points<'_>, first: usize) -> Option<usize> {
        let Some(kept) = self.get().filter(|kept| kept.begun) else { return Some(usize::MAX) };
        kept.attempt(|kept| {
            kept.turn(&mut here)?;
            if !kept.has_totals(here.f, first)? {
                kept.ask(&mut here, rows, first)?;
                kept.has_totals(here.f, first)?;
            }
            kept.remove_covered(&mut here);
            kept.ask_ahead(&mut here, rows)?;
            let room = kept.make_room(&mut here)?;
            let end = kept.held.as_ref().map_or(usize::MAX, |totals| totals.rows.end);
            Ok(end.min(first.saturating_add(room)))
        })
    }

    /// The totals of the rows that are learned now, and where the chunks are if the engine has this number of slots.
    pub fn held(&mut self, slots: usize) -> Option<(&Totals, Layout)> {
        let kept = self.get()?;
        kept.held.as_ref().map(|totals| (totals, kept.layout(slots)))
    }

    /// Whether the coefficients that the totals in use belong to have changed.
    pub fn has_changed(&mut self, f: &Coordinates) -> bool {
        self.get().and_then(|kept| kept.held.as_ref()).is_some_and(|totals| totals.is_stale(f))
    }
}
