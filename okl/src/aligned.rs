//! Numbers that start on a cache line: a vector load that straddles two lines costs twice.

use std::ops::{Deref, DerefMut};

/// A buffer of numbers whose first one lies on a 64-byte boundary.
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

    /// At least `len` numbers; what was there is lost when it grows. It grows by a quarter, as fresh memory costs more than sums.
    pub fn at_least(&mut self, len: usize) {
        if self.len < len {
            *self = Aligned::zeros(len.max(self.len + self.len / 4));
        }
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
