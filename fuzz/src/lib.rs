//! What the fuzz targets do with their bytes. Each function panics if a promise is broken, and never otherwise.
//!
//! The tests of okl, okl-cli and okl-server include [`engine`], [`input`] and [`server`] and run them over the corpus.

pub mod engine;
pub mod input;
pub mod server;
