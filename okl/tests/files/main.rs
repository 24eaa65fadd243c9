//! Model files: written, read, damaged, old.

mod fuzz_regressions;
mod snapshots;
#[path = "../support/mod.rs"]
mod support;
