//! `okl serve` as a process: killed at random moments, stopped by signals, fed with tables.
#![cfg(all(unix, feature = "serve"))]

mod created;
mod explain;
mod kills;
mod missing;
mod page;
mod support;
mod surface;
