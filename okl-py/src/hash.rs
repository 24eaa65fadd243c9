//! The hash that assigns keys to shards (`okl.ray`).

use pyo3::prelude::*;

/// The hash xxh3_64 of bytes, with seed 0.
///
/// Examples
/// --------
/// >>> from okl._okl import xxh3_64
/// >>> xxh3_64(b"") == 0x2D06800538D394C2
/// True
#[pyfunction]
#[pyo3(signature = (data, /))]
pub fn xxh3_64(data: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(data)
}
