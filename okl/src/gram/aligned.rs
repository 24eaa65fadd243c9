//! Buffers that start on a cache line, because a vector load across two cache lines takes twice as long.

use std::ops::{Deref, DerefMut};

/// A buffer of numbers that starts on a 64-byte boundary.
#[derive(Debug, Default)]
pub(crate) struct Aligned<T> {
    start: usize,
    len: usize,
    data: Vec<T>,
}

const LINE: usize = 64;

impl<T: Copy + Default> Aligned<T> {
    pub fn zeros(len: usize) -> Self {
        let mut data: Vec<T> = Vec::new();
        data.reserve_exact(len + LINE / size_of::<T>());
        let start = data.as_ptr().align_offset(LINE).min(LINE / size_of::<T>());
        data.resize(start + len, T::default());
        Aligned { start, len, data }
    }

    /// Grows to at least `len` numbers, by 1/32 at a time and not by doubling, so that the memory used stays close to the stated
    /// amount.
    pub fn at_least(&mut self, len: usize) {
        if self.len < len {
            self.grow(len.max(self.len + self.len / 32));
        }
    }

    /// Grows to `len` numbers: the old numbers first, then zeros. Extends the allocation in place if the allocator can.
    pub fn grow(&mut self, len: usize) {
        let (old, spare) = (self.start, LINE / size_of::<T>());
        self.data.reserve_exact((len + spare).saturating_sub(self.data.len()));
        self.start = self.data.as_ptr().align_offset(LINE).min(spare);
        self.data.resize((self.start + len).max(old + self.len), T::default());
        if self.start != old {
            self.data.copy_within(old..old + self.len, self.start);
            self.data[self.start + self.len..].fill(T::default());
        }
        self.data.truncate(self.start + len);
        self.len = len;
    }

    pub fn bytes(&self) -> usize {
        self.data.capacity() * size_of::<T>()
    }
}

impl<T: Copy + Default> Clone for Aligned<T> {
    fn clone(&self) -> Self {
        let mut copy = Aligned::zeros(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

impl<T> Deref for Aligned<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.data[self.start..self.start + self.len]
    }
}

impl<T> DerefMut for Aligned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.data[self.start..self.start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_stays_in_front_of_zeros() {
        let mut buffer = Aligned::<f64>::default();
        for len in [1usize, 3, 64, 1000, 100_000, 1_000_000] {
            let before = buffer.to_vec();
            buffer.grow(len);
            assert!(buffer.as_ptr().align_offset(LINE) == 0 && buffer.len() == len);
            assert!(buffer[..before.len()] == before && buffer[before.len()..].iter().all(|v| *v == 0.0));
            buffer.iter_mut().enumerate().for_each(|(i, v)| *v = i as f64 + 1.0);
        }
    }
}
