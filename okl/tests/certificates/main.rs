//! What is certified holds.

mod bounds;
mod planes;
#[path = "../support/mod.rs"]
mod support;
mod truth;
