//! Settled chunks at a [`Place`] outside of this processor: which chunks are there, and the totals of the rows that come next.
//!
//! Totals are asked for some rows ahead of the row that is learned. They hold for the chunks as they were at that time. A chunk
//! that has changed since is summed on the processor; if it is part of the running total, the totals are asked for again. A
//! chunk that was whole and has changed since the last request (the oldest chunk of a window) is left to the processor.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::basis::block::ROWS;
use crate::basis::{Points, Space};
use crate::coordinates::Coordinates;
use crate::engine::ahead::Ahead;
use crate::engine::head::Head;
use crate::gram::CHUNK;
use crate::parts::step::StepSize;
use crate::place::{Chunk, Place, PlaceReport, Request, Shape};

const NOT_BUILT_IN: &str = "only the built-in kernels over dense rows can be computed elsewhere";

/// From this number of threads on, requests have twice as many rows.
const MANY_THREADS: usize = 8;

/// Totals for some rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held {
    /// The rows, counted from the first row of the call.
    rows: Range<usize>,
    /// The first chunks, whose totals are added up.
    pub folded: usize,
    /// The chunks that have totals, and of these the ones that may be used.
    usable: Vec<bool>,
    columns: usize,
    totals: Vec<f64>,
    /// The time of the coefficients when the totals were asked for.
    time: u64,
}

impl Held {
    /// The running totals of a row over the first chunks.
    pub fn running(&self, row: usize) -> &[f64] {
        &self.totals[(row - self.rows.start) * self.columns..][..self.columns]
    }

    /// The totals of a row over one chunk behind the first ones; none if it is summed here.
    pub fn total(&self, row: usize, chunk: usize) -> Option<&[f64]> {
        let at = (1 + chunk - self.folded) * self.rows.len() + row - self.rows.start;
        self.usable.get(chunk).is_some_and(|usable| *usable).then(|| &self.totals[at * self.columns..][..self.columns])
    }

    /// Adds totals to the sums of the columns of f. At the row that names a new class, f has outputs that were not there when the
    /// totals were asked for; the sums of these are 0.
    pub fn add(totals: &[f64], f: &Coordinates, sums: &mut [f64]) {
        let functions = f.riders().functions();
        let old = totals.chunks_exact((totals.len() / functions).max(1));
        for (sums, totals) in sums.chunks_exact_mut(f.outputs().max(1)).zip(old) {
            sums.iter_mut().zip(totals).for_each(|(sum, total)| *sum += total);
        }
    }

    /// Removes the chunks that have changed since the totals were asked for. Returns false if the running totals cannot be used any
    /// more.
    fn remove_changed(&mut self, f: &Coordinates) -> bool {
        let changed = |chunk: usize| f.changes().last(chunk) > self.time;
        self.usable.iter_mut().enumerate().for_each(|(chunk, usable)| *usable &= !changed(chunk));
        self.usable.iter().take(self.folded).all(|usable| *usable)
    }

    /// The slots that are summed here, of `slots` in all.
    fn left(&self, slots: usize) -> Vec<Range<usize>> {
        let end = self.usable.len() * CHUNK;
        let changed = (self.folded..self.usable.len()).filter(|&chunk| !self.usable[chunk]);
        changed.map(|chunk| chunk * CHUNK..(chunk + 1) * CHUNK).chain((end < slots).then_some(end..slots)).collect()
    }
}

/// The chunks at a place.
pub(crate) struct Elsewhere {
    place: Box<dyn Place>,
    shape: Option<Shape>,
    capacity: usize,
    /// For each chunk that was sent and each function, the time of its coefficients; 0 if it was not sent.
    sent: Vec<u64>,
    /// The totals that are under way, in the order of their requests; their numbers are not there yet.
    asked: VecDeque<Held>,
    held: Option<Held>,
    /// Sums over terms that are not there yet, for the rows that have totals.
    ahead: Ahead,
    /// The time of the coefficients at the last request of the learner and the number of whole chunks then, and the same at the
    /// request before it that saw another time.
    last: [(u64, usize); 2],
    summed: u64,
    /// The multiplications that were done here because the place is not open.
    waited: f64,
    error: Option<String>,
    centres: Vec<f32>,
    squares: Vec<f32>,
    coefficients: Vec<f64>,
}

/// What the centres of terms are made of, for a place.
pub(crate) struct Source<'a, P, S> {
    pub space: &'a P,
    pub heads: &'a [Head<S>],
    /// The number of slots in use.
    pub slots: usize,
}

impl<P, S> Clone for Source<'_, P, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P, S> Copy for Source<'_, P, S> {}

impl Elsewhere {
    fn new(place: Box<dyn Place>) -> Self {
        Elsewhere {
            place,
            shape: None,
            capacity: 0,
            sent: Vec::new(),
            asked: VecDeque::new(),
            held: None,
            ahead: Ahead::default(),
            last: [(0, 0); 2],
            summed: 0,
            waited: 0.0,
            error: None,
            centres: Vec::new(),
            squares: Vec::new(),
            coefficients: Vec::new(),
        }
    }

    /// Runs a step of a request. After an error everything is computed on the processor.
    fn attempt<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T, String>) -> Option<T> {
        if self.error.is_some() {
            return None;
        }
        let done = step(self);
        done.map_err(|error| (self.error, self.asked) = (Some(error), VecDeque::new())).ok()
    }

    /// Makes the totals of row `first` available, and asks for those of the rows behind them. Returns the end of the rows that have
    /// totals; none if the rows are summed here.
    fn look_ahead<P: Space, S: StepSize>(&mut self, of: Source<'_, P, S>, rows: Points<'_>, first: usize) -> Option<usize> {
        let f = &of.heads[0].f;
        if !self.held.as_mut().is_some_and(|held| held.rows.contains(&first) && held.remove_changed(f)) {
            self.attempt(Self::receive)?;
            if !self.held.as_mut().is_some_and(|held| held.rows.start == first && held.remove_changed(f)) {
                self.attempt(Self::forget)?;
                self.attempt(|here| here.ask_ahead(of, rows, first))?;
                self.attempt(Self::receive)?;
            }
            let end = self.held.as_ref()?.rows.end;
            // After an error, the totals that are there are still good.
            self.attempt(|here| here.ask_behind(of, rows, end));
            self.sum_ahead(of, rows, first);
        }
        self.held.as_ref().map(|held| held.rows.end)
    }

    /// Asks for the totals of the rows behind row `end`, until as many requests are under way as the place asks for.
    fn ask_behind<P: Space, S: StepSize>(&mut self, of: Source<'_, P, S>, rows: Points<'_>, end: usize) -> Result<(), String> {
        let terms = of.slots / CHUNK * CHUNK;
        let work = self.shape.as_ref().map_or(0.0, Shape::work) * (terms * self.rows(of)) as f64;
        let wanted = self.place.under_way(work);
        while self.asked.len() < wanted {
            let (end, before) = (self.asked.back().map_or(end, |asked| asked.rows.end), self.asked.len());
            if end < rows.squares.len() {
                self.ask_ahead(of, rows, end)?;
            }
            if self.asked.len() == before {
                break;
            }
        }
        Ok(())
    }

    /// Sums over the newest terms for the rows that have totals, from row `first` on, while the place works on the next ones.
    fn sum_ahead<P: Space, S: StepSize>(&mut self, of: Source<'_, P, S>, rows: Points<'_>, first: usize) {
        let Elsewhere { held, shape, ahead, .. } = self;
        if let (Some(held), Some(shape)) = (held, shape) {
            let kernel = &shape.kernels[of.heads[0].plane];
            ahead.sum(of, kernel, rows, first..held.rows.end, held.usable.len() * CHUNK);
        }
    }

    /// Waits for the totals that were asked for first, if any are under way.
    fn receive(&mut self) -> Result<(), String> {
        let totals = self.held.take().map(|held| held.totals).unwrap_or_default();
        self.ahead.forget();
        if let Some(asked) = self.asked.pop_front() {
            let mut held = Held { totals, ..asked };
            self.place.finish(&mut held.totals)?;
            self.held = Some(held);
        }
        Ok(())
    }

    /// Waits for all totals that are under way, and forgets them and those that are there.
    fn forget(&mut self) -> Result<(), String> {
        while !self.asked.is_empty() {
            self.receive()?;
        }
        self.held = None;
        self.ahead.forget();
        Ok(())
    }

    /// The most rows of a request. Longer requests use the place better, but more of the newest terms are summed on the processor, which takes
    /// little time with many threads.
    fn rows<P: Space, S: StepSize>(&self, of: Source<'_, P, S>) -> usize {
        if of.space.threads() < MANY_THREADS { self.place.rows() } else { 2 * self.place.rows() }
    }

    /// Asks for the totals of the rows from `first` on.
    fn ask_ahead<P: Space, S: StepSize>(&mut self, of: Source<'_, P, S>, rows: Points<'_>, first: usize) -> Result<(), String> {
        let (changes, whole) = (of.heads[0].f.changes(), of.slots / CHUNK);
        if self.last[0].0 != changes.now() {
            self.last = [(changes.now(), whole), self.last[0]];
        }
        let (time, before) = self.last[1];
        let rewritten = |chunk: usize| chunk < before && changes.last(chunk) > time;
        let end = rows.squares.len().min(first + self.rows(of));
        let left = rows.squares.len() - first;
        if !self.pays(of, whole * CHUNK, [end - first, left, left.min(ROWS)])? || !self.place.is_ready() {
            return Ok(());
        }
        self.begin(of)?;
        let usable: Vec<bool> = (0..whole.min(self.capacity)).map(|chunk| !rewritten(chunk)).collect();
        self.ask(of, rows, first..end, usable)
    }

    /// Asks for totals, if that is faster, after the chunks that have changed have been sent.
    fn ask<P: Space, S: StepSize>(
        &mut self,
        of: Source<'_, P, S>,
        rows: Points<'_>,
        range: Range<usize>,
        mut usable: Vec<bool>,
    ) -> Result<(), String> {
        let shape = self.shape.as_ref().ok_or("the place is not ready")?;
        usable.truncate(usable.iter().rposition(|usable| *usable).map_or(0, |last| last + 1));
        let settled = usable.iter().filter(|usable| **usable).count() * CHUNK;
        if !self.place.pays(shape.work() * (settled * range.len()) as f64) {
            return Ok(());
        }
        for chunk in (0..usable.len()).filter(|&chunk| usable[chunk]) {
            self.send(of, chunk)?;
        }
        let folded = usable.iter().take_while(|usable| **usable).count();
        let columns = of.heads.iter().map(|head| head.f.columns()).sum();
        self.place.start(Request { rows: rows.range(range.clone()), chunks: usable.len(), folded })?;
        self.summed += range.len() as u64;
        self.asked.push_back(Held {
            rows: range,
            folded,
            usable,
            columns,
            totals: Vec::new(),
            time: of.heads[0].f.changes().now(),
        });
        Ok(())
    }

    /// What a place has to hold for the learner as it is now.
    fn shape_of<P: Space, S: StepSize>(of: Source<'_, P, S>) -> Result<Shape, String> {
        let (packed, kernels) = of.space.packed_terms().zip(of.space.built_in_kernels()).ok_or(NOT_BUILT_IN)?;
        let planes = of.heads.iter().flat_map(|head| std::iter::repeat_n(head.plane, head.f.columns())).collect();
        Ok(Shape { features: packed.panels.dim(), kernels, planes })
    }

    /// Whether the place is worthwhile. The rows are those of the request, those in sight, and those that are summed here if the place stays
    /// closed.
    fn pays<P: Space, S: StepSize>(&mut self, of: Source<'_, P, S>, terms: usize, rows: [usize; 3]) -> Result<bool, String> {
        let shape = Self::shape_of(of)?;
        let [request, in_sight, here] = rows.map(|rows| shape.work() * (terms * rows) as f64);
        if !self.place.pays(request) {
            return Ok(false);
        }
        let opens = self.waited + in_sight >= self.place.opening();
        if !opens {
            self.waited += here;
        }
        Ok(opens)
    }

    /// Whether the place is open, or worth opening for the next rows, which add terms: half of them are there on average.
    fn is_worth_opening<P: Space, S: StepSize>(&self, of: Source<'_, P, S>, rows: usize) -> bool {
        let work = Self::shape_of(of).map_or(0.0, |shape| shape.work());
        self.waited + work * rows as f64 * (of.slots as f64 + rows as f64 / 2.0) >= self.place.opening()
    }

    /// Makes the place ready for the learner as it is now.
    fn begin<P: Space, S: StepSize>(&mut self, of: Source<'_, P, S>) -> Result<(), String> {
        let shape = Self::shape_of(of)?;
        if self.shape.as_ref() != Some(&shape) {
            self.sent.clear();
            self.capacity = self.place.begin(&shape)?;
            self.shape = Some(shape);
        }
        Ok(())
    }

    /// Sends a chunk if it was not sent or has changed since.
    fn send<P: Space, S: StepSize>(&mut self, of: Source<'_, P, S>, chunk: usize) -> Result<(), String> {
        let heads = of.heads.len();
        if self.sent.len() < (chunk + 1) * heads {
            self.sent.resize((chunk + 1) * heads, 0);
        }
        let sent = &mut self.sent[chunk * heads..][..heads];
        if sent.iter().zip(of.heads).all(|(sent, head)| *sent >= head.f.changes().last(chunk)) {
            return Ok(());
        }
        sent.iter_mut().zip(of.heads).for_each(|(sent, head)| *sent = head.f.changes().now());
        let packed = of.space.packed_terms().ok_or(NOT_BUILT_IN)?;
        packed.panels.copy_chunk(chunk, &mut self.centres);
        self.squares.clear();
        self.squares.extend(packed.squares.iter().skip(chunk * CHUNK).take(CHUNK));
        self.squares.resize(CHUNK, 0.0);
        self.coefficients.clear();
        of.heads.iter().for_each(|head| head.f.append_chunk(chunk, &mut self.coefficients));
        let Elsewhere { centres, squares, coefficients, .. } = self;
        self.place.put(chunk, Chunk { centres, squares, coefficients })
    }

    /// Asks for the sums of rows over all terms. Returns false if they have to be computed here.
    pub fn ask_all<P: Space, S: StepSize>(&mut self, of: Source<'_, P, S>, rows: Points<'_>) -> bool {
        let (chunks, before) = (of.slots.div_ceil(CHUNK), self.asked.len());
        let asked = self.attempt(|here| {
            if !here.pays(of, chunks * CHUNK, [rows.squares.len(); 3])? {
                return Ok(());
            }
            here.begin(of)?;
            if chunks == 0 || chunks > here.capacity {
                return Ok(());
            }
            here.ask(of, rows, 0..rows.squares.len(), vec![true; chunks])
        });
        asked.is_some() && self.asked.len() > before
    }

    /// Waits for the sums that [`Elsewhere::ask_all`] asked for. Returns false if there are none.
    pub fn receive_all(&mut self) -> bool {
        self.attempt(Self::receive).is_some() && self.held.is_some()
    }

    /// The sums that were received, row by row.
    pub fn received(&self) -> impl Iterator<Item = &[f64]> {
        self.held.iter().flat_map(|held| held.rows.clone().map(|row| held.running(row)))
    }

    fn report(&self, processor: Option<&str>) -> PlaceReport {
        PlaceReport {
            name: self.place.name(),
            rows: self.summed,
            bytes: self.place.bytes(),
            processor: self.error.clone().or(processor.map(Into::into)),
        }
    }
}

/// The place of an engine, if it has one. A copy of an engine has none: it computes on the processor.
#[derive(Default)]
pub(crate) struct Away(Option<Box<Mutex<Elsewhere>>>);

impl Clone for Away {
    fn clone(&self) -> Self {
        Away(None)
    }
}

impl fmt::Debug for Away {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Away(a place)" } else { "Away(none)" })
    }
}

impl Away {
    /// A place that holds nothing yet.
    pub fn at(place: Option<Box<dyn Place>>) -> Self {
        Away(place.map(|place| Box::new(Mutex::new(Elsewhere::new(place)))))
    }

    pub fn is_set(&self) -> bool {
        self.0.is_some()
    }

    /// Whether there is a place that has not failed.
    pub fn works(&mut self) -> bool {
        self.get().is_some_and(|here| here.error.is_none())
    }

    /// See [`Elsewhere::is_worth_opening`].
    pub fn is_worth_opening<P: Space, S: StepSize>(&mut self, of: Source<'_, P, S>, rows: usize) -> bool {
        self.get().is_some_and(|here| here.is_worth_opening(of, rows))
    }

    /// The same place for another engine, with nothing in it.
    pub fn emptied(self) -> Self {
        Away(self.0.map(|place| {
            let Elsewhere { place, summed, error, .. } = place.into_inner().unwrap_or_else(PoisonError::into_inner);
            Box::new(Mutex::new(Elsewhere { summed, error, ..Elsewhere::new(place) }))
        }))
    }

    fn get(&mut self) -> Option<&mut Elsewhere> {
        self.0.as_mut().map(|place| place.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// Before a call of the learner: rows are counted from its first row.
    pub fn begin_call(&mut self) {
        if let Some(here) = self.get() {
            here.attempt(Elsewhere::forget);
        }
    }

    /// See [`Elsewhere::look_ahead`].
    pub fn look_ahead<P: Space, S: StepSize>(&mut self, of: Source<'_, P, S>, rows: Points<'_>, first: usize) -> Option<usize> {
        let here = self.get()?;
        let end = here.look_ahead(of, rows, first);
        if end.is_none() {
            here.held = None;
            here.ahead.forget();
        }
        end
    }

    /// The totals of the rows that are learned now.
    pub fn held(&mut self) -> Option<&Held> {
        self.get()?.held.as_ref()
    }

    /// The same with the sums over terms that are not at the place.
    pub fn sums(&mut self) -> Option<(&Held, &Ahead)> {
        let here = self.get()?;
        here.held.as_ref().map(|held| (held, &here.ahead))
    }

    /// The slots that the processor sums for the rows that are learned now, of `slots` in all.
    pub fn left(&mut self, slots: usize) -> Option<Vec<Range<usize>>> {
        let (held, ahead) = self.sums()?;
        let mut left = held.left(slots);
        if let (Some(last), Some(summed)) = (left.last_mut(), ahead.slots()) {
            last.start = last.start.max(summed.end);
        }
        Some(left)
    }

    /// Whether a chunk whose totals are in use has changed.
    pub fn has_changed(&mut self, f: &Coordinates) -> bool {
        let lowest = f.changes().lowest();
        if let Some(here) = self.get().filter(|here| here.ahead.slots().is_some() && f.changes().has_seen()) {
            here.ahead.forget();
            return true;
        }
        self.held().is_some_and(|held| {
            (lowest..held.usable.len()).any(|chunk| held.usable[chunk] && f.changes().last(chunk) > held.time)
        })
    }

    pub fn report(&self, processor: Option<&str>) -> Option<PlaceReport> {
        self.0.as_ref().map(|place| place.lock().unwrap_or_else(PoisonError::into_inner).report(processor))
    }

    /// The place, for predictions. Other predictions wait.
    pub fn lock(&self) -> Option<MutexGuard<'_, Elsewhere>> {
        let mut here = self.0.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        here.attempt(Elsewhere::forget).map(|()| here)
    }
}
