//! Chunks of terms that a [`Keeper`] holds instead of the engine: what was sent, and the totals of the next rows over it.
//!
//! A chunk has a place in the order of the slots, and it gets a new number whenever it is sent.
//!
//! ```text
//! here only         the last chunk while it is not whole, and the chunks that the next rows may change
//! here and sent     requests that do not cover it are in use
//! at the keeper     all others
//! ```
//!
//! A request covers the chunks that are at the keeper when it starts, without those that could change before its last row is learned. Which
//! these are is known ahead: a window overwrites its oldest slots in order, a budget by age drops the oldest terms, and new terms fill the last holes
//! first, then new slots. So for the next rows these are the chunks of the next slots of the window, the chunks with terms that will
//! be too old, and the chunks of as many of the last holes as there are rows. They are fetched before the request starts. If that would be too many
//! chunks, the request has fewer rows. A chunk that is here is summed here, unless the totals in use cover it: then it has not changed, and both sums
//! are the same.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::basis::terms::Terms;
use crate::basis::{Basis, Points, Space};
use crate::coordinates::{Coordinates, Rewrite};
use crate::gram::CHUNK;
use crate::parts::budget::Budget;
use crate::sharded::Keeper;
use crate::sharded::chunk::{self, Chunk};

/// The number of requests under way while the rows of another one are learned. With two, the keeper always has a request to work on.
const AHEAD: usize = 2;

/// As many chunks are here as a rule: this number, or this share of all chunks if that is more.
const HERE: usize = 6;
const SHARE: usize = 40;

/// A chunk at the keeper.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    place: usize,
    number: usize,
    /// The birth time of its oldest term.
    oldest: u64,
}

/// The totals of some rows over chunks at the keeper.
#[derive(Debug)]
pub(crate) struct Totals {
    /// The rows, counted from the first row of the call.
    rows: Range<usize>,
    /// The chunks in the order of their places.
    chunks: Vec<Sent>,
    columns: usize,
    /// Chunk by chunk, row by row with all columns.
    values: Vec<f64>,
    /// The time of the coefficients when the totals were asked for.
    time: u64,
}

impl Totals {
    /// The total of a row over a chunk, by its place in the list.
    pub fn of(&self, row: usize, chunk: usize) -> &[f64] {
        let at = chunk * self.rows.len() + row - self.rows.start;
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

    /// Whether these totals are about a chunk as it was sent.
    fn cover(&self, sent: Sent) -> bool {
        let found = self.chunks.binary_search_by_key(&sent.place, |chunk| chunk.place);
        found.is_ok_and(|at| self.chunks[at].number == sent.number)
    }

    /// Where all chunks are, if those of these places are here.
    pub fn layout<'a>(&'a self, here: &'a [usize]) -> Layout<'a> {
        Layout::new(&self.chunks, here)
    }
}

/// Chunks at the keeper and places of chunks that are here, both in order. Together these are all chunks; a chunk that is in both lists counts as
/// one at the keeper.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout<'a> {
    kept: &'a [Sent],
    here: &'a [usize],
}

/// Where a chunk is: its place among those that are here, or in the list of those at the keeper.
#[derive(Clone, Copy, Debug)]
pub(crate) enum At {
    Here(usize),
    Keeper(usize),
}

impl<'a> Layout<'a> {
    pub fn new(kept: &'a [Sent], here: &'a [usize]) -> Self {
        Layout { kept, here }
    }

    /// All chunks, in the order of their slots.
    pub fn chunks(self) -> impl Iterator<Item = At> + 'a {
        let (mut kept, mut here) = (0, 0);
        std::iter::from_fn(move || match (self.kept.get(kept).map(|chunk| chunk.place), self.here.get(here).copied()) {
            (None, None) => None,
            (Some(place), other) if other.is_none_or(|other| place <= other) => {
                here += usize::from(other == Some(place));
                kept += 1;
                Some(At::Keeper(kept - 1))
            }
            _ => {
                here += 1;
                Some(At::Here(here - 1))
            }
        })
    }
}

/// The chunks at a keeper.
pub(crate) struct Kept {
    keeper: Box<dyn Keeper>,
    /// Whether the keeper has got the configuration.
    begun: bool,
    /// For each place, the chunk at the keeper. None if the chunk is here only.
    sent: Vec<Option<Sent>>,
    /// The number of the chunk that is sent next.
    next: usize,
    /// The changes of all coefficients since the first chunk was sent.
    rewrites: Vec<Rewrite>,
    /// The requests under way; their numbers are not there yet.
    asked: VecDeque<Totals>,
    held: Option<Totals>,
    failure: Option<String>,
}

/// The terms of the engine, and the budget that changes them.
pub(crate) struct Here<'a, P, B> {
    pub terms: &'a mut Terms<P>,
    pub f: &'a mut Coordinates,
    pub budget: &'a mut B,
    /// The number of examples learned.
    pub t: u64,
}

impl<P: Space, B: Budget> Here<'_, P, B> {
    /// The places of the chunks that the next rows may change, except for new slots. `oldest` has the birth time of the oldest term of each chunk.
    fn changing(&self, rows: usize, oldest: &[u64]) -> BTreeSet<usize> {
        let holes = self.terms.holes.iter().rev().take(rows).map(|hole| *hole as usize / CHUNK);
        let mut places: BTreeSet<usize> = holes.collect();
        if let Some((slots, next)) = self.budget.ring() {
            let fresh = slots.saturating_sub(self.terms.len());
            places.extend((0..rows.saturating_sub(fresh).min(slots)).map(|i| (next + i) % slots / CHUNK));
        }
        // The life of terms grows with t under `olok`; it is rounded, so the last time may go back by one.
        let last = self.budget.drops_until(self.t + rows as u64 + 1);
        if last > 0 {
            places.extend((0..oldest.len()).filter(|place| oldest[*place] <= last));
        }
        // The last slots of a window may be new ones.
        places.retain(|place| *place < oldest.len());
        places
    }

    /// Removes a chunk that is here.
    fn remove(&mut self, chunk: usize) {
        self.terms.remove_chunk(chunk);
        self.f.remove_chunk(chunk);
    }

    /// Puts a chunk back.
    fn insert(&mut self, sent: Sent, chunk: Chunk) {
        let at = self.terms.places().partition_point(|place| *place < sent.place);
        self.f.insert_chunk(at, self.terms.slots(), &chunk.f);
        self.terms.insert_chunk(at, sent.place, chunk);
        self.budget.came_back(sent.oldest);
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

    /// The chunks at the keeper, in the order of their places.
    fn all_sent(&self) -> impl Iterator<Item = Sent> {
        self.sent.iter().copied().flatten()
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
        let chunks = self.all_sent().collect();
        Totals { rows, chunks, columns: f.columns(), values: Vec::new(), time: f.changes().now() }
    }

    /// Asks for the totals of the rows from `first` on, while row `now` is learned. Sends what has changed and all chunks that will not change before the
    /// last one of these rows, and fetches those that may. Returns false, with nothing asked, if too many
    /// chunks would be here, or if no chunk is at the keeper then.
    fn ask<P: Space, B: Budget>(
        &mut self,
        here: &mut Here<'_, P, B>,
        rows: Points<'_>,
        now: usize,
        first: usize,
    ) -> Result<bool, String> {
        self.send_rewrites(here.f)?;
        let oldest = self.oldest_births(here.terms);
        let end = rows.squares.len().min(first + self.keeper.rows().max(1));
        let Some((end, changing)) = self.reach(here, &oldest, now, first + 1..end + 1) else { return Ok(false) };
        self.fetch_changing(here, &changing)?;
        self.send_settled(here, &changing, &oldest)?;
        let request = self.request(first..end, here.f);
        if request.chunks.is_empty() {
            return Ok(false);
        }
        let numbers: Vec<usize> = request.chunks.iter().map(|chunk| chunk.number).collect();
        self.keeper.start(rows.range(first..end), &numbers)?;
        self.asked.push_back(request);
        Ok(true)
    }

    /// For each place, the birth time of its oldest term.
    fn oldest_births<P: Space>(&mut self, terms: &Terms<P>) -> Vec<u64> {
        let places = self.sent.len().max(terms.places().last().map_or(0, |last| last + 1));
        self.sent.resize(places, None);
        let mut oldest: Vec<u64> = self.sent.iter().map(|sent| sent.map_or(u64::MAX, |sent| sent.oldest)).collect();
        terms.places().iter().enumerate().for_each(|(chunk, place)| oldest[*place] = terms.oldest_birth(chunk));
        oldest
    }

    /// The last possible end of a request, and the chunks that may change before it. None if too many chunks would be here. If nothing is under way,
    /// there is always an answer: then all chunks that do not change can leave.
    fn reach<P: Space, B: Budget>(
        &self,
        here: &Here<'_, P, B>,
        oldest: &[u64],
        now: usize,
        ends: Range<usize>,
    ) -> Option<(usize, BTreeSet<usize>)> {
        let idle = self.held.is_none() && self.asked.is_empty();
        let (places, limit) = (here.terms.places(), HERE.max(oldest.len() / SHARE));
        let changing = |end: usize| here.changing(end - now, oldest);
        let fits = |changing: &BTreeSet<usize>| {
            let more = changing.iter().filter(|place| idle || places.binary_search(place).is_err()).count();
            more == 0 || more + if idle { 0 } else { places.len() } <= limit
        };
        // The set grows with the end: the last end that fits is found by halving.
        let (mut least, mut most) = (ends.start, ends.end);
        let first = changing(least);
        if !fits(&first) {
            return idle.then_some((least, first));
        }
        while most - least > 1 {
            let middle = if most == ends.end && least == ends.start { most - 1 } else { least.midpoint(most) };
            if fits(&changing(middle)) { least = middle } else { most = middle }
        }
        Some((least, changing(least)))
    }

    /// Takes the chunks that may change back from the keeper.
    fn fetch_changing<P: Space, B: Budget>(
        &mut self,
        here: &mut Here<'_, P, B>,
        changing: &BTreeSet<usize>,
    ) -> Result<(), String> {
        for &place in changing {
            let Some(sent) = self.sent[place].take() else { continue };
            if here.terms.places().binary_search(&place).is_err() {
                here.insert(sent, self.fetch(sent)?);
            }
            self.keeper.forget(sent.number)?;
        }
        Ok(())
    }

    /// Sends the whole chunks that will not change.
    fn send_settled<P: Space, B: Budget>(
        &mut self,
        here: &Here<'_, P, B>,
        changing: &BTreeSet<usize>,
        oldest: &[u64],
    ) -> Result<(), String> {
        let places = here.terms.places().iter().take(here.terms.slots() / CHUNK);
        for (chunk, &place) in places.enumerate() {
            if self.sent[place].is_none() && !changing.contains(&place) {
                self.keeper.keep(self.next, chunk::encode(here.terms, here.f, chunk, self.rewrites.len())?)?;
                self.sent[place] = Some(Sent { place, number: self.next, oldest: oldest[place] });
                self.next += 1;
            }
        }
        Ok(())
    }

    /// Sends the changes of all coefficients.
    fn send_rewrites(&mut self, f: &mut Coordinates) -> Result<(), String> {
        for rewrite in f.changes_mut().take_rewrites() {
            if self.all_sent().next().is_some() {
                self.keeper.rewrite(self.rewrites.len(), chunk::encode_rewrite(rewrite))?;
                self.rewrites.push(rewrite);
            }
        }
        Ok(())
    }

    /// Asks for the totals of the rows behind those that are there or under way.
    fn ask_ahead<P: Space, B: Budget>(&mut self, here: &mut Here<'_, P, B>, rows: Points<'_>, now: usize) -> Result<(), String> {
        while self.asked.len() < AHEAD {
            let last = self.asked.back().or(self.held.as_ref());
            match last.map(|totals| totals.rows.end).filter(|&end| end < rows.squares.len()) {
                Some(end) if self.ask(here, rows, now, end)? => {}
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    /// Removes the chunks that the totals in use cover from the engine. Later requests cover them, too.
    fn remove_covered<P: Space, B: Budget>(&self, here: &mut Here<'_, P, B>) {
        let Some(held) = &self.held else { return };
        for chunk in (0..here.terms.slots() / CHUNK).rev() {
            let sent = self.sent.get(here.terms.places()[chunk]).copied().flatten();
            if sent.is_some_and(|sent| held.cover(sent)) {
                here.remove(chunk);
            }
        }
    }

    /// Starts a request for rows that are only predicted.
    pub fn start(&mut self, rows: Points<'_>) -> Option<()> {
        let numbers: Vec<usize> = self.all_sent().map(|chunk| chunk.number).collect();
        self.attempt(|here| here.keeper.start(rows, &numbers))
    }

    /// Waits for the totals of rows that are only predicted.
    pub fn finish(&mut self, rows: usize, f: &Coordinates) -> Option<Totals> {
        self.attempt(|here| here.receive(here.request(0..rows, f)))
    }

    /// A chunk with its coefficients as they are now.
    pub fn fetch(&mut self, sent: Sent) -> Result<Chunk, String> {
        let mut chunk = chunk::decode(&self.keeper.fetch(sent.number)?)?;
        self.rewrites[chunk.rewrites..].iter().for_each(|rewrite| chunk.f.rewrite(*rewrite));
        Ok(chunk)
    }

    /// The chunks that are at the keeper only, if those of these places are here.
    pub fn only_there(&self, here: &[usize]) -> Vec<Sent> {
        self.all_sent().filter(|sent| here.binary_search(&sent.place).is_err()).collect()
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
        f.write_str(if self.0.is_some() { "KeptChunks(a keeper)" } else { "KeptChunks(none)" })
    }
}

impl KeptChunks {
    /// A keeper that has nothing yet.
    pub fn at(keeper: Box<dyn Keeper>) -> Self {
        let kept = Kept {
            keeper,
            begun: false,
            sent: Vec::new(),
            next: 0,
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
        let any = kept.all_sent().next().is_some();
        any.then_some(kept)
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
    pub fn look_ahead<P: Space, B: Budget>(&mut self, mut here: Here<'_, P, B>, rows: Points<'_>, first: usize) -> Option<usize> {
        let Some(kept) = self.get().filter(|kept| kept.begun) else { return Some(usize::MAX) };
        kept.attempt(|kept| {
            here.terms.divide();
            if !kept.has_totals(here.f, first)? {
                kept.ask(&mut here, rows, first, first)?;
                kept.has_totals(here.f, first)?;
            }
            kept.remove_covered(&mut here);
            kept.ask_ahead(&mut here, rows, first)?;
            Ok(kept.held.as_ref().map_or(usize::MAX, |totals| totals.rows.end))
        })
    }

    /// The totals of the rows that are learned now.
    pub fn held(&mut self) -> Option<&Totals> {
        self.get()?.held.as_ref()
    }

    /// Whether the coefficients that the totals in use belong to have changed.
    pub fn has_changed(&mut self, f: &Coordinates) -> bool {
        self.get().and_then(|kept| kept.held.as_ref()).is_some_and(|totals| totals.is_stale(f))
    }
}
