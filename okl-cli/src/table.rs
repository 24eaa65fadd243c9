//! What is said while a command runs: the progress table, in the habits of Vowpal Wabbit, a line at every power of two.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use indicatif::{ProgressBar, ProgressStyle};

use crate::metrics::{Task, count, figure};
use crate::run::Run;

/// Writes to standard output; a closed pipe is an error that the caller knows how to take, not a panic.
///
/// # Errors
/// Those of standard output.
pub fn say(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Has the reader of our output stopped reading? `head` does so, and it is not an error.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|e| e.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe))
}

/// Writes a line to standard error. If nobody reads it any more, that is no reason to stop learning.
pub fn note(line: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{}", harmless(&line.to_string()));
}

/// Text without anything that a terminal would obey: names and labels come from files.
pub fn harmless(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '?' } else { c }).collect()
}

/// A spinner with the number of rows; nothing where standard error is not a terminal.
pub fn bar(quiet: bool) -> ProgressBar {
    if quiet || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {human_pos} rows, {per_sec}, {elapsed}");
    ProgressBar::new_spinner().with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()))
}

/// Writes the table to standard error, unless it is to be quiet.
pub struct Table {
    quiet: bool,
    started: bool,
}

impl Table {
    /// Nothing yet.
    pub fn new(quiet: bool) -> Self {
        Table { quiet, started: false }
    }

    /// One line; "since last" begins anew.
    pub fn line(&mut self, run: &mut Run) {
        if !self.quiet {
            if !std::mem::replace(&mut self.started, true) {
                note(header(run.metrics.task()));
            }
            note(row(run));
        }
        run.metrics.mark();
    }
}

fn header(task: Task) -> String {
    let error = match task {
        Task::Classes => "error %",
        Task::Numbers => "mean |r|",
        Task::Novelty => "alerts %",
    };
    aligned(["avg loss", "since last", "examples", error, "terms", "step", "rows/s"])
}

fn row(run: &Run) -> String {
    let metrics = &run.metrics;
    let number = |v: Option<f64>| v.map_or_else(|| "-".into(), figure);
    let scale = if metrics.task() == Task::Numbers { 1.0 } else { 100.0 };
    let speed = metrics.rows() as f64 / run.seconds().max(1e-9);
    aligned([
        number(metrics.average_loss()),
        number(metrics.loss_since()),
        metrics.examples().to_string(),
        number(metrics.error().map(|e| scale * e)),
        run.learner.terms().to_string(),
        figure(run.learner.eta()),
        count(speed.round()),
    ])
}

fn aligned<T: Display>([a, b, c, d, e, f, g]: [T; 7]) -> String {
    format!("{a:>10} {b:>10} {c:>10} {d:>9} {e:>7} {f:>9} {g:>10}")
}
