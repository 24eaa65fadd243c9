//! When the stored coefficients have changed, and how.

use std::ops::Range;

use super::Scales;
use crate::gram::CHUNK;

/// When the chunks of slots were written. Time is the number of changes so far.
#[derive(Clone, Debug)]
pub(crate) struct Changes {
    pub(super) now: u64,
    /// The time at which the block began, and the first chunk that has changed since.
    pub(super) began: u64,
    pub(super) lowest: usize,
    /// Slots of which one would like to know whether they change during the block, and whether one has.
    watched: Range<usize>,
    has_seen: bool,
    /// The time of the last change of each chunk, and of the last change of all chunks, including those beyond the list.
    pub(super) of_chunks: Vec<u64>,
    of_all: u64,
    /// The changes of all coefficients since they were last taken, if they are recorded.
    record: Option<Vec<Rewrite>>,
}

/// A change of all stored coefficients. It is applied to each coefficient alone, so a part of the coefficients that is stored
/// elsewhere can follow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Rewrite {
    /// Multiplies by a power of two.
    Power(f64),
    /// Multiplies by the scales.
    Scales(Scales),
    Negate,
    Zero,
    /// Adds outputs, which are zero, up to this number.
    Outputs(usize),
}

impl Default for Changes {
    /// Everything has changed.
    fn default() -> Self {
        Changes { now: 1, began: 0, lowest: 0, watched: 0..0, has_seen: false, of_chunks: Vec::new(), of_all: 1, record: None }
    }
}

impl Changes {
    pub(super) fn note(&mut self, slot: usize) {
        let chunk = slot / CHUNK;
        if chunk >= self.of_chunks.len() {
            self.of_chunks.resize(chunk + 1, 0);
        }
        self.now += 1;
        self.of_chunks[chunk] = self.now;
        self.lowest = self.lowest.min(chunk);
        self.has_seen |= self.watched.contains(&slot);
    }

    pub(super) fn note_all(&mut self) {
        self.now += 1;
        (self.of_all, self.lowest, self.has_seen) = (self.now, 0, true);
    }

    pub(super) fn record(&mut self, rewrite: Rewrite) {
        self.record.iter_mut().for_each(|record| record.push(rewrite));
    }

    /// From now on, changes of all coefficients are recorded. Returns those since the last call.
    pub fn take_rewrites(&mut self) -> Vec<Rewrite> {
        self.record.replace(Vec::new()).unwrap_or_default()
    }

    /// The time of the last change of all coefficients.
    pub fn of_all(&self) -> u64 {
        self.of_all
    }

    /// The time of the last change.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// No chunk before this one has changed since the block began.
    pub fn lowest(&self) -> usize {
        self.lowest
    }

    /// A block begins, during which these slots are watched.
    pub fn begin(&mut self, watched: Range<usize>) {
        (self.began, self.lowest, self.watched, self.has_seen) = (self.now, usize::MAX, watched, false);
    }

    /// Whether a slot that is watched has changed since the block began.
    pub fn has_seen(&self) -> bool {
        self.has_seen
    }

    /// The time at which a chunk was written last.
    pub fn last(&self, chunk: usize) -> u64 {
        self.of_chunks.get(chunk).copied().unwrap_or(0).max(self.of_all)
    }
}
