//! The input side of `okl`: every format, plain and compressed; what is refused and how; that nothing panics.

use okl_cli::input;

#[path = "../../fuzz/src/input.rs"]
#[allow(missing_docs)]
mod bodies;
#[path = "input/encodings.rs"]
mod encodings;
#[path = "input/errors.rs"]
mod errors;
#[path = "input/files.rs"]
mod files;
#[path = "input/formats.rs"]
mod formats;
#[path = "input/fuzz.rs"]
mod fuzz;
#[path = "input/names.rs"]
mod names;
#[cfg(feature = "parquet")]
#[path = "input/parquet.rs"]
mod parquet_tables;
#[path = "input/parts.rs"]
mod parts;
#[path = "input/properties.rs"]
mod properties;
#[path = "../src/input/short_names.rs"]
#[allow(missing_docs)]
mod short_names;
#[path = "input/support.rs"]
mod support;
