//! The parts of the learning loop: kernel, loss, step size, budget, regulariser and output operator.
//!
//! Each has one trait with its laws, and an enum of the built-in variants whose names are those of the configuration.

pub mod budget;
pub mod kernel;
pub mod loss;
pub mod output;
pub mod regulariser;
pub mod step;
