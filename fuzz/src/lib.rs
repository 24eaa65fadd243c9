//! What the fuzz targets do with their bytes. Each function panics if a promise is broken, and never otherwise.
//!
//! The tests of okl and okl-cli include [`engine`] and [`input`] and run them over the corpus.

pub mod engine;
pub mod input;
