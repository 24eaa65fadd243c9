//! Names of features as numbers: `--hash-bits`.

use xxhash_rust::xxh3::xxh3_64;

use super::chunk::Chunk;
use crate::metrics::{count, percent};

/// The numbers of bits that can be asked for.
pub const HASH_BITS: std::ops::RangeInclusive<u8> = 1..=28;

/// Names of up to this many bytes are hashed without an allocation.
const SHORT: usize = 128;

/// The column of a feature: the last `bits` bits of XXH3 (64 bits, seed 0) of the bytes of the namespace, a byte 0 and the bytes of the name.
///
/// VW text has namespaces and names. A column of numbers is a name without a namespace; a one-hot encoded text and a word are names in the
/// namespace of their column.
pub fn hash_feature(namespace: &[u8], name: &[u8], bits: u8) -> u32 {
    let (mut buffer, length) = ([0; SHORT], namespace.len() + 1 + name.len());
    if length > SHORT {
        return hash_joined(&[namespace, &[0], name].concat(), bits);
    }
    buffer[..namespace.len()].copy_from_slice(namespace);
    buffer[namespace.len() + 1..length].copy_from_slice(name);
    hash_joined(&buffer[..length], bits)
}

/// As [`hash_feature`], of the bytes that it joins.
#[inline]
pub(super) fn hash_joined(bytes: &[u8], bits: u8) -> u32 {
    (xxh3_64(bytes) & ((1 << bits) - 1)) as u32
}

/// The hashed columns that rows have used.
#[derive(Debug)]
pub struct Used {
    bits: u8,
    words: Vec<u64>,
    columns: u64,
}

impl Used {
    /// No column is used yet.
    pub fn new(bits: u8) -> Self {
        Used { bits, words: vec![0; (1usize << bits).div_ceil(64)], columns: 0 }
    }

    /// Counts the columns of the rows of a chunk.
    pub fn count(&mut self, chunk: &Chunk) {
        for (column, _) in (0..chunk.rows).flat_map(|row| chunk.values(row)) {
            let (word, bit) = (&mut self.words[column / 64], 1 << (column % 64));
            self.columns += u64::from(*word & bit == 0);
            *word |= bit;
        }
    }

    /// The number of columns that were used.
    pub fn columns(&self) -> u64 {
        self.columns
    }

    /// The estimated number of features: n of them leave m (1 - 1/m)^n of m columns free (linear counting). None if no column is free.
    pub fn features(&self) -> Option<f64> {
        let all = (1u64 << self.bits) as f64;
        let free = all - self.columns as f64;
        (free > 0.0).then(|| if all > 1.0 { (free / all).ln() / (-1.0 / all).ln_1p() } else { 0.0 })
    }

    /// One sentence about collisions.
    pub fn words(&self) -> String {
        let (bits, columns) = (self.bits, count(self.columns as f64));
        match self.features() {
            None => format!("All 2^{bits} hashed columns are in use: most features share a column; give a larger --hash-bits."),
            Some(features) => {
                let all = (1u64 << bits) as f64;
                // A feature shares its column unless all others are elsewhere.
                let shared = 1.0 - ((features - 1.0).max(0.0) * (-1.0 / all).ln_1p()).exp();
                format!(
                    "{columns} of 2^{bits} hashed columns are in use, by about {} features: about {} of them share a column with another.",
                    count(features.round()),
                    percent(shared)
                )
            }
        }
    }
}
