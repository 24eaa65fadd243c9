//! Progress output: a table like Vowpal Wabbit's, with a line at every power of two; and functions that write to the terminal.

use std::fmt::{self, Display};
use std::io::{self, IsTerminal, Write};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use crate::inspect::stored;
use crate::metrics::{Measure, Task, count, figure};
use crate::past_rows::sampled;
use crate::run::Run;

/// The width of a line on a terminal, less the indent of two columns.
const COLUMNS: usize = 78;

/// Writes to standard output; a closed pipe is an error and not a panic.
///
/// # Errors
/// Those of standard output.
pub fn say(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Whether the reader of standard output has stopped reading. `head` does so, and this is not an error.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|e| e.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe))
}

/// Writes a line to standard error. Errors of standard error are ignored, so learning continues if nobody reads it.
pub fn note(line: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{}", harmless(&line.to_string()));
}

/// Replaces control characters, which a terminal would execute: names and labels come from files.
pub fn harmless(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '?' } else { c }).collect()
}

/// Breaks a line after spaces and commas, so that it fits a terminal; lines after the first are indented.
pub fn wrapped(line: &str, indent: &str) -> String {
    let (mut out, mut column) = (String::new(), 0);
    for word in words(line) {
        if column > 0 && column + word.trim_end().chars().count() > COLUMNS {
            out.truncate(out.trim_end().len());
            out += &format!("\n{indent}");
            column = indent.chars().count();
        }
        out += word;
        column += word.chars().count();
    }
    out
}

/// The parts of a line, each with the space or comma at its end. A number is not cut at the comma of its thousands.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let rest = line.get(from..).filter(|rest| !rest.is_empty())?;
        let is_end = |(at, text): &(usize, &str)| *text == " " || !in_number(&rest[..*at], &rest[at + 1..]);
        let end = rest.match_indices([' ', ',']).find(is_end).map_or(rest.len(), |(at, _)| at + 1);
        from += end;
        Some(&rest[..end])
    })
}

/// Whether a comma between these texts is that of thousands: a digit before it, three digits after it.
fn in_number(before: &str, after: &str) -> bool {
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    before.ends_with(|c: char| c.is_ascii_digit()) && digits == 3
}

/// A spinner with the number of rows; nothing where standard error is not a terminal.
pub fn bar(quiet: bool) -> ProgressBar {
    if quiet || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{spinner} {human_pos} rows, {speed}, {elapsed}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
    let speed = |state: &ProgressState, out: &mut dyn fmt::Write| {
        let _ = out.write_str(&speed(state.per_sec()));
    };
    ProgressBar::new_spinner().with_style(style.with_key("speed", speed))
}

/// Rows per second, without a fraction.
pub fn speed(rows: f64) -> String {
    format!("{} rows/s", count(rows.round()))
}

/// Writes the table to standard error, unless --quiet is given.
pub struct Table {
    quiet: bool,
    /// Whether the last header was for training errors (true) or progressive errors (false).
    training: Option<bool>,
    /// The number of rows at the last line.
    at: u64,
    /// See [`sampled`].
    sampled: &'static str,
}

impl Table {
    /// A table without lines. `continued`: see [`sampled`].
    pub fn new(quiet: bool, continued: bool) -> Self {
        Table { quiet, training: None, at: 0, sampled: sampled(continued) }
    }

    /// Writes one line, unless this row already has one, and starts a new "since last" interval.
    pub fn line(&mut self, run: &mut Run) {
        if std::mem::replace(&mut self.at, run.rows()) == run.rows() {
            return;
        }
        // Without an example, no row of the pass had been learned before.
        let training = run.training.as_ref().is_some_and(|training| training.metrics.examples() > 0);
        if !self.quiet {
            if self.training.replace(training) != Some(training) {
                note(legend(run.metrics.measure(), training, stored(&run.learner).0, self.sampled));
            }
            note(row(run));
        }
        run.current_mut().mark();
    }
}

/// The header, with an explanation of its columns above it.
fn legend(measure: Measure, training: bool, stored: &str, sampled: &str) -> String {
    let past = match measure {
        Measure::ShareOfMistakes => "past %: error",
        Measure::PinballLoss => "past: pinball",
        Measure::MeanAbsoluteError => "past |r|: error",
        Measure::ShareOfAlerts => "past %: alerts",
    };
    let past = format!("{past} of the current model on up to 1,000 {sampled}, as learned");
    let again = match measure {
        Measure::ShareOfAlerts => "later passes: the rows have been learned before, so these are not alerts of new rows",
        _ => "later passes: the rows have been learned before, so these are training errors",
    };
    format!("{}\n{}", if training { again } else { &past }, header(measure, training, stored))
}

fn header(measure: Measure, training: bool, stored: &str) -> String {
    let [error, past] = match (measure, training) {
        (Measure::ShareOfMistakes, false) => ["error %", "past %"],
        (Measure::ShareOfMistakes, true) => ["train %", "past %"],
        (Measure::MeanAbsoluteError, false) => ["mean |r|", "past |r|"],
        (Measure::MeanAbsoluteError, true) => ["train |r|", "past |r|"],
        (Measure::PinballLoss, false) => ["pinball", "past"],
        (Measure::PinballLoss, true) => ["train", "past"],
        (Measure::ShareOfAlerts, _) => ["alerts %", "past %"],
    };
    aligned(["avg loss", "since last", "examples", error, past, stored, "step", "rows/s"])
}

fn row(run: &Run) -> String {
    let metrics = run.current();
    let number = |v: Option<f64>| v.map_or_else(|| "-".into(), figure);
    let scale = if metrics.task() == Task::Numbers { 1.0 } else { 100.0 };
    let speed = run.rows() as f64 / run.seconds().max(1e-9);
    let past = run.past(&[]).ok().flatten().and_then(|past| past.error);
    aligned([
        number(metrics.average_loss()),
        number(metrics.loss_since()),
        run.examples().to_string(),
        number(metrics.error().map(|e| scale * e)),
        number(past.map(|e| scale * e)),
        stored(&run.learner).1.to_string(),
        figure(run.learner.eta()),
        count(speed.round()),
    ])
}

/// The columns of a line of the table.
pub fn aligned<T: Display>([a, b, c, d, p, e, f, g]: [T; 8]) -> String {
    format!("{a:>10} {b:>10} {c:>9} {d:>9} {p:>9} {e:>7} {f:>9} {g:>10}")
}
