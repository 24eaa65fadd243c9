//! The experiments of the papers, small and on generated data: the same code that `okl reproduce` runs.

#[path = "reproduce/auto.rs"]
mod auto;
#[path = "reproduce/budgets.rs"]
mod budgets;
#[path = "reproduce/command.rs"]
mod command;
#[path = "reproduce/data.rs"]
mod data;
#[path = "reproduce/frame.rs"]
mod frame;
#[path = "reproduce/norma_losses.rs"]
mod norma_losses;
#[path = "reproduce/norma_novelty.rs"]
mod norma_novelty;
#[path = "reproduce/olok.rs"]
mod olok;
#[path = "reproduce/svmd.rs"]
mod svmd;
