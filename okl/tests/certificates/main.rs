//! What is certified holds.

mod bounds;
#[path = "../support/mod.rs"]
mod support;
mod truth;
