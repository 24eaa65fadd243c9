//! Chunks of coefficients that leave and come back, where some chunks are stored elsewhere.

use super::Coordinates;
use crate::gram::CHUNK;
use crate::gram::aligned::Aligned;

impl Coordinates {
    /// Appends the stored coefficients of one chunk, column by column. Slots that do not exist are 0.
    pub(crate) fn append_chunk(&self, chunk: usize, to: &mut Vec<f64>) {
        for column in self.data.chunks_exact(self.stride.max(1)).take(self.columns()) {
            let end = to.len() + CHUNK;
            to.extend(column.iter().skip(chunk * CHUNK).take(CHUNK));
            to.resize(end, 0.0);
        }
    }

    /// Removes a chunk. Those behind it move forward.
    pub(crate) fn remove_chunk(&mut self, chunk: usize) {
        let (first, stride) = (chunk * CHUNK, self.stride - CHUNK);
        let mut data = Aligned::zeros(self.columns() * stride);
        let columns = self.data.chunks_exact(self.stride).zip(data.chunks_exact_mut(stride.max(1)));
        columns.for_each(|(from, to)| {
            to[..first].copy_from_slice(&from[..first]);
            to[first..].copy_from_slice(&from[first + CHUNK..]);
        });
        (self.data, self.stride) = (data, stride);
        if chunk < self.changes.of_chunks.len() {
            self.changes.of_chunks.remove(chunk);
        }
    }

    /// Inserts a chunk of other coefficients. The chunks from this one on move back; `slots` slots are in use.
    pub(crate) fn insert_chunk(&mut self, chunk: usize, slots: usize, other: &Coordinates) {
        self.reserve(slots + CHUNK);
        let (first, stride) = (chunk * CHUNK, self.stride);
        for (to, from) in self.data.chunks_exact_mut(stride).zip(other.columns_of(CHUNK)) {
            to.copy_within(first..stride - CHUNK, first + CHUNK);
            to[first..first + CHUNK].copy_from_slice(from);
        }
        if chunk < self.changes.of_chunks.len() {
            self.changes.of_chunks.insert(chunk, 0);
        }
        self.changes.note(first);
    }
}
