//! Hashes: of keys, which assigns them to shards (`okl.ray`), and of the names of features.

use okl_cli::input::{HASH_BITS, hash_feature as column};
use okl_cli::store;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::learner::Learner;

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

/// The column of a feature in a model of `okl learn --hash-bits BITS`, from 0.
///
/// It is the last `bits` bits of XXH3 (64 bits, seed 0) of the namespace, a byte 0 and the name, both as UTF-8. A feature of VW text has a namespace and a
/// name; a column of numbers is a name without a namespace; a one-hot encoded text and a word are names in the namespace of their column.
///
/// >>> import okl
/// >>> 0 <= okl.hash_feature("comment", "good", bits=18) < 2**18
/// True
#[pyfunction]
#[pyo3(signature = (namespace, name, bits))]
pub fn hash_feature(namespace: &str, name: &str, bits: u8) -> PyResult<u32> {
    check(bits)?;
    Ok(column(namespace.as_bytes(), name.as_bytes(), bits))
}

/// Model files of `learner` say that its features are hashes of names, as those of `okl learn --hash-bits BITS` do.
#[pyfunction]
pub fn hash_names(py: Python<'_>, learner: &Bound<'_, Learner>, bits: u8) -> PyResult<()> {
    check(bits)?;
    learner.get().shared.write(py, |learner| learner.set_position(store::position_of_hashed(bits)))
}

fn check(bits: u8) -> PyResult<()> {
    match HASH_BITS.contains(&bits) {
        true => Ok(()),
        false => Err(PyValueError::new_err(format!("bits: expected a whole number from 1 to {}, found {bits}", HASH_BITS.end()))),
    }
}
