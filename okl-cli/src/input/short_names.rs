//! A table from short names to features, for formats in which every feature of a row has its name.
//!
//! Most of the time of such a format goes to cache misses. Here the text of a name is in its entry, so a lookup reads one cache line; in a
//! [`super::name::Table`] it reads the entry, the text and the description of the column, which are in different places.
//!
//! Entries are never removed. So the caller adds only names that stay: those of rows that are complete.

use std::hash::{BuildHasher, RandomState};

/// Names of up to this many bytes are in the table.
const LONGEST: usize = 23;

/// A name with zeros behind it; its length is in the last byte.
type Key = [u64; 3];

/// An entry; `key` is all zeros where there is none.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct Entry {
    key: Key,
    feature: u32,
}

/// See the head of this file.
#[derive(Debug)]
pub(super) struct ShortNames {
    /// A power of two, at least half of them empty. An entry is at the place that its hash says, or at the next one that was free.
    entries: Vec<Entry>,
    used: usize,
    /// Random, so that nobody can write a file whose names all have one place.
    seed: u64,
}

impl Default for ShortNames {
    fn default() -> Self {
        ShortNames { entries: vec![Entry::default(); 64], used: 0, seed: RandomState::new().hash_one(0) }
    }
}

/// The key of a name; none if it is empty or too long.
#[inline]
fn key(name: &[u8]) -> Option<Key> {
    if name.is_empty() || name.len() > LONGEST {
        return None;
    }
    let mut bytes = [0; LONGEST + 1];
    bytes[..name.len()].copy_from_slice(name);
    bytes[LONGEST] = name.len() as u8;
    let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
    Some([word(0), word(8), word(16)])
}

impl ShortNames {
    /// The feature of a name.
    #[inline]
    pub fn get(&self, name: &[u8]) -> Option<u32> {
        let key = key(name)?;
        let entry = &self.entries[self.place(&key)];
        (entry.key == key).then_some(entry.feature)
    }

    /// Adds a name that is not in the table.
    pub fn insert(&mut self, name: &[u8], feature: u32) {
        let Some(key) = key(name) else { return };
        if 2 * (self.used + 1) > self.entries.len() {
            let empty = vec![Entry::default(); 2 * self.entries.len()];
            let old = std::mem::replace(&mut self.entries, empty);
            old.into_iter().filter(|entry| entry.key != Key::default()).for_each(|entry| self.put(entry));
        }
        self.put(Entry { key, feature });
        self.used += 1;
    }

    fn put(&mut self, entry: Entry) {
        let place = self.place(&entry.key);
        self.entries[place] = entry;
    }

    /// Where a key is, or the empty entry where it would be added.
    #[inline]
    fn place(&self, key: &Key) -> usize {
        let last = self.entries.len() - 1;
        let mut place = self.hash(key) as usize & last;
        while self.entries[place].key != *key && self.entries[place].key != Key::default() {
            place = (place + 1) & last;
        }
        place
    }

    /// Both halves of a product of 128 bits depend on all bits of its factors.
    #[inline]
    fn hash(&self, key: &Key) -> u64 {
        let mixed = |a: u64, b: u64| {
            let product = u128::from(a) * u128::from(b);
            product as u64 ^ (product >> 64) as u64
        };
        // The digits of the golden ratio and of the square roots of 2 and 3: odd numbers without a pattern.
        let first = mixed(key[0] ^ self.seed, 0x9e37_79b9_7f4a_7c15 ^ key[1]);
        mixed(first ^ 0x6a09_e667_f3bc_c909, key[2] ^ 0xbb67_ae85_84ca_a73b)
    }
}
