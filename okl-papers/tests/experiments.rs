//! The experiments of the papers, small and on generated data: the same code that the command runs.

#[path = "experiments/auto.rs"]
mod auto;
#[path = "experiments/budgets.rs"]
mod budgets;
#[path = "experiments/command.rs"]
mod command;
#[path = "experiments/data.rs"]
mod data;
#[path = "experiments/frame.rs"]
mod frame;
#[path = "experiments/norma_losses.rs"]
mod norma_losses;
#[path = "experiments/norma_novelty.rs"]
mod norma_novelty;
#[path = "experiments/olok.rs"]
mod olok;
#[path = "experiments/parts.rs"]
mod parts;
#[path = "experiments/svmd.rs"]
mod svmd;
