//! How long `okl learn` takes, against the engine alone on the same rows in memory. Both take turns within one run; the best of
//! each counts, and the middle of the rounds' ratios is printed beside it.
//!
//! ```text
//! cargo build --release && cargo run --release --example wall -- ijcnn1.gz [flags of okl learn]
//! ```

use std::error::Error;
use std::path::PathBuf;
use std::process::{Command as Process, Stdio};
use std::time::Instant;

use clap::Parser;
use okl::{Label, Learner};
use okl_cli::args::{Cli, Command, Learn};
use okl_cli::input::Chunk;
use okl_cli::learn::{Begun, begin, task_of};
use okl_cli::metrics::Task;
use okl_cli::run::batch;

const ROUNDS: usize = 25;

fn main() -> Result<(), Box<dyn Error>> {
    let flags: Vec<String> = std::env::args().skip(1).collect();
    let words = ["okl", "learn", "--quiet"].into_iter().chain(flags.iter().map(String::as_str));
    let Command::Learn(args) = Cli::parse_from(words).command else { return Err("flags of `okl learn`".into()) };
    let (learner, rows) = rows(&args)?;
    let (mut engine, mut wall, mut ratios) = (f64::INFINITY, f64::INFINITY, Vec::new());
    for _ in 0..ROUNDS {
        let alone = seconds(|| learn(learner.clone(), &rows))?;
        let whole = seconds(|| command(&flags))?;
        (engine, wall) = (engine.min(alone), wall.min(whole));
        ratios.push(whole / alone);
    }
    ratios.sort_by(f64::total_cmp);
    let count: usize = rows.iter().map(|(chunk, _)| chunk.rows).sum();
    println!(
        "{count} rows: engine {engine:.4} s, okl learn {wall:.4} s, ratio {:.2}; of {ROUNDS} rounds, the middle ratio is {:.2}",
        wall / engine,
        ratios[ROUNDS / 2]
    );
    Ok(())
}

/// Rows and the classes they name.
type Labelled = (Chunk, Vec<Label>);

/// A learner as the command would build it, and all chunks with their labels.
fn rows(args: &Learn) -> Result<(Learner, Vec<Labelled>), Box<dyn Error>> {
    let Begun { learner, passes: mut course, .. } = begin(args)?.ok_or("interrupted")?;
    let mut rows = Vec::new();
    while let Some(chunk) = course.next()? {
        let classes = task_of(learner.config()) == Task::Classes;
        let labels = if classes { chunk.targets.labels() } else { Vec::new() };
        rows.push((chunk, labels));
    }
    Ok((learner, rows))
}

fn learn(mut learner: Learner, rows: &[(Chunk, Vec<Label>)]) -> Result<(), Box<dyn Error>> {
    let task = task_of(learner.config());
    for (chunk, labels) in rows {
        if learner.features() > 0 && chunk.features > learner.features() {
            learner.widen(chunk.features)?;
        }
        learner.learn_with(&batch(chunk, labels, 0..chunk.rows, task), |_, _| {})?;
    }
    Ok(())
}

fn command(flags: &[String]) -> Result<(), Box<dyn Error>> {
    let binary: PathBuf = std::env::current_exe()?.parent().and_then(|p| p.parent()).ok_or("no folder")?.join("okl");
    let done = Process::new(&binary).args(["learn", "--quiet"]).args(flags).stdout(Stdio::null()).status()?;
    if done.success() { Ok(()) } else { Err(format!("{}: {done}", binary.display()).into()) }
}

fn seconds(work: impl FnOnce() -> Result<(), Box<dyn Error>>) -> Result<f64, Box<dyn Error>> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed().as_secs_f64())
}
