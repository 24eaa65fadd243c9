//! What is said while a command runs: the progress table, in the habits of Vowpal Wabbit, a line at every power of two.

use std::io::Write;

use crate::metrics::Task;
use crate::run::Run;

/// Writes to standard output; a closed pipe is an error that the caller knows how to take, not a panic.
///
/// # Errors
/// Those of standard output.
pub fn say(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
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

    /// One line.
    pub fn line(&mut self, run: &Run) {
        if self.quiet {
            return;
        }
        let mut out = std::io::stderr().lock();
        let (error, scale) = match run.metrics.task() {
            Task::Classes => ("error %", 100.0),
            Task::Numbers => ("mean |r|", 1.0),
            Task::Novelty => ("alerts %", 100.0),
        };
        if !self.started {
            self.started = true;
            let _ = writeln!(
                out,
                "{:>10} {:>10} {:>10} {error:>9} {:>7} {:>9} {:>10}",
                "avg loss", "since last", "examples", "terms", "step", "rows/s"
            );
        }
        let number = |v: Option<f64>| v.map_or_else(|| "-".into(), crate::metrics::figure);
        let _ = writeln!(
            out,
            "{:>10} {:>10} {:>10} {:>9} {:>7} {:>9} {:>10}",
            number(run.metrics.average_loss()),
            number(run.metrics.loss_since()),
            run.metrics.examples(),
            number(run.metrics.error().map(|e| scale * e)),
            run.learner.terms(),
            crate::metrics::figure(run.learner.eta()),
            crate::metrics::count((run.metrics.rows() as f64 / run.seconds().max(1e-9)).round()),
        );
    }
}
