//! The first chunks of terms, which a [`Keeper`] holds instead of the engine: what was sent, and the sums of the next rows over it.
//!
//! The engine counts slots from the first one that it still holds. A request covers all chunks that were sent before it. While rows are
//! read whose request was made earlier, the chunks sent since then are still here. They are removed when the first request that covers
//! them is in use.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::basis::terms::Terms;
use crate::basis::{Points, Space};
use crate::coordinates::{Coordinates, Rewrite};
use crate::engine::elsewhere::Held;
use crate::gram::CHUNK;
use crate::sharded::chunk::{self, Chunk};
use crate::sharded::{self, Keeper};

/// The number of requests under way while the rows of another one are learned. With two, the keeper always has a request to work on.
const AHEAD: usize = 2;

/// The chunks at a keeper.
pub(crate) struct Kept {
    keeper: Box<dyn Keeper>,
    /// Whether the keeper has got the configuration.
    begun: bool,
    /// The number of chunks that were removed here, and the number that was sent.
    gone: usize,
    sent: usize,
    /// The changes of all coefficients since the first chunk was sent.
    rewrites: Vec<Rewrite>,
    /// The requests under way, each with the number of chunks that it covers.
    asked: VecDeque<(Held, usize)>,
    held: Option<(Held, usize)>,
    failure: Option<String>,
}

impl Kept {
    /// Runs a step. After an error nothing is asked again.
    fn attempt<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T, String>) -> Option<T> {
        if self.failure.is_some() {
            return None;
        }
        step(self).map_err(|error| self.failure = Some(error)).ok()
    }

    /// Whether the sums of row `first` are there. The sums that come next are waited for; sums of other coefficients are dropped.
    fn has_sums(&mut self, f: &Coordinates, first: usize) -> Result<bool, String> {
        loop {
            let good = |(held, _): &(Held, usize)| held.covers(first) && !held.is_stale(f);
            if self.held.as_ref().is_some_and(good) {
                return Ok(true);
            }
            self.held = None;
            let Some((held, chunks)) = self.asked.pop_front() else { return Ok(false) };
            self.held = Some((self.receive(held)?, chunks));
        }
    }

    /// Waits for the sums of some rows.
    fn receive(&mut self, held: Held) -> Result<Held, String> {
        let (sums, expected) = (self.keeper.finish()?, held.numbers());
        match sums.len() == expected {
            true => Ok(held.with_totals(sums)),
            false => Err(format!("the shards returned {} sums, expected {expected}", sums.len())),
        }
    }

    /// Sends what has changed and all whole chunks. Asks for the sums of the rows from `first` on, if there is a chunk.
    fn ask<P: Space>(&mut self, terms: &Terms<P>, f: &mut Coordinates, rows: Points<'_>, first: usize) -> Result<(), String> {
        self.send_rewrites(f)?;
        for chunk in self.sent - self.gone..terms.slots() / CHUNK {
            let bytes = chunk::encode(terms, f, chunk, self.rewrites.len())?;
            self.keeper.keep(self.sent, bytes)?;
            self.sent += 1;
        }
        if self.sent > 0 {
            let range = first..rows.squares.len().min(first + self.keeper.rows().max(1));
            self.keeper.start(rows.range(range.clone()))?;
            self.asked.push_back((Held::of_first_chunks(range, f), self.sent));
        }
        Ok(())
    }

    /// Sends the changes of all coefficients.
    fn send_rewrites(&mut self, f: &mut Coordinates) -> Result<(), String> {
        for rewrite in f.changes_mut().take_rewrites() {
            if self.sent > 0 {
                self.keeper.rewrite(self.rewrites.len(), chunk::encode_rewrite(rewrite))?;
                self.rewrites.push(rewrite);
            }
        }
        Ok(())
    }

    /// Asks for the sums of the rows behind those that are there or under way.
    fn ask_ahead<P: Space>(&mut self, terms: &Terms<P>, f: &mut Coordinates, rows: Points<'_>) -> Result<(), String> {
        while self.asked.len() < AHEAD {
            let last = self.asked.back().or(self.held.as_ref());
            match last.map(|(held, _)| held.end()).filter(|&end| end < rows.squares.len()) {
                Some(end) => self.ask(terms, f, rows, end)?,
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// Removes the chunks that the sums in use cover from the engine.
    fn remove_covered<P: Space>(&mut self, terms: &mut Terms<P>, f: &mut Coordinates) {
        let Some((_, chunks)) = self.held else { return };
        let slots = sharded::slots(chunks - self.gone);
        if slots > 0 {
            terms.remove_first(slots);
            f.remove_first(slots);
            self.gone = chunks;
        }
    }

    /// Starts a request for rows that are only predicted.
    pub fn start(&mut self, rows: Points<'_>) -> Option<()> {
        self.attempt(|here| here.keeper.start(rows))
    }

    /// Waits for the sums of rows that are only predicted.
    pub fn finish(&mut self, rows: usize, f: &Coordinates) -> Option<Held> {
        let mut held = self.attempt(|here| here.receive(Held::of_first_chunks(0..rows, f)))?;
        held.folded = self.sent - self.gone;
        Some(held)
    }

    /// A chunk with its coefficients as they are now.
    pub fn fetch(&mut self, index: usize) -> Result<Chunk, String> {
        let mut chunk = chunk::decode(&self.keeper.fetch(index)?)?;
        self.rewrites[chunk.rewrites..].iter().for_each(|rewrite| chunk.f.rewrite(*rewrite));
        Ok(chunk)
    }

    /// The number of chunks that are not here any more.
    pub fn gone(&self) -> usize {
        self.gone
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
    /// A keeper that has nothing yet.
    pub fn at(keeper: Box<dyn Keeper>) -> Self {
        let (asked, rewrites) = (VecDeque::new(), Vec::new());
        let kept = Kept { keeper, begun: false, gone: 0, sent: 0, rewrites, asked, held: None, failure: None };
        KeptChunks(Some(Box::new(Mutex::new(kept))))
    }

    pub fn is_set(&self) -> bool {
        self.0.is_some()
    }

    fn get(&mut self) -> Option<&mut Kept> {
        self.0.as_mut().map(|kept| kept.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// Exclusive use of the keeper, if there is one and a chunk was sent.
    pub fn lock(&self) -> Option<MutexGuard<'_, Kept>> {
        let kept = self.0.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        (kept.sent > 0).then_some(kept)
    }

    /// The number of slots in front of those of the engine.
    pub fn slots(&self) -> usize {
        self.lock().map_or(0, |kept| sharded::slots(kept.gone))
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

    /// Makes the sums of row `first` available and asks for those of later rows. Returns the end of the rows that have sums. None: the
    /// keeper has failed, and nothing can be learned any more.
    pub fn look_ahead<P: Space>(
        &mut self,
        terms: &mut Terms<P>,
        f: &mut Coordinates,
        rows: Points<'_>,
        first: usize,
    ) -> Option<usize> {
        let Some(kept) = self.get().filter(|kept| kept.begun) else { return Some(usize::MAX) };
        kept.attempt(|kept| {
            if !kept.has_sums(f, first)? {
                kept.ask(terms, f, rows, first)?;
                kept.has_sums(f, first)?;
            }
            kept.remove_covered(terms, f);
            kept.ask_ahead(terms, f, rows)?;
            Ok(kept.held.as_ref().map_or(usize::MAX, |(held, _)| held.end()))
        })
    }

    /// The sums of the rows that are learned now.
    pub fn held(&mut self) -> Option<&Held> {
        self.get()?.held.as_ref().map(|(held, _)| held)
    }

    /// Whether the coefficients that the sums in use belong to have changed.
    pub fn has_changed(&mut self, f: &Coordinates) -> bool {
        self.held().is_some_and(|held| held.is_stale(f))
    }
}
