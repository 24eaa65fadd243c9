//! The engine against naive twins in double precision and against what docs/algorithms.md derives.

mod bank;
mod density;
mod equations;
mod fourier;
mod losses;
mod offsets;
mod per_coordinate;
#[path = "../support/mod.rs"]
mod support;
mod twin;
mod twins;
mod weights;
