//! The command line of okl: reading streams, learning them, showing what was learned.
//!
//! The library crate `okl` owns the algorithms; this one owns input and output. It is a library of its own so that its
//! parts can be tested and the Python package has the same command; the binary `okl` is `main.rs`.

// `println!` and `eprintln!` panic when nobody reads the output; `table::say` and `table::note` do not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod args;
pub mod certificates;
pub mod clash;
pub mod command;
pub mod demo;
pub mod device;
pub mod earlier_target;
pub mod evaluate;
#[cfg(feature = "serve")]
pub mod explain;
pub mod export;
pub mod filler;
pub mod freeze;
pub mod input;
pub mod inspect;
pub mod learn;
pub mod learned_rows;
pub mod left_out;
pub mod memory;
pub mod metrics;
pub mod past_rows;
pub mod precision;
pub mod predict;
pub mod predictions;
pub mod progress;
pub mod random;
pub mod rate_words;
pub mod report;
pub mod run;
pub mod scoring;
#[cfg(feature = "serve")]
pub mod serve;
pub mod settings;
pub mod signals;
pub mod store;
pub mod table;
pub mod trial;
pub mod units;
pub mod usage;
pub mod watch;
