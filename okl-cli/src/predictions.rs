//! Scores on their way out: CSV, or JSON lines, one line per row.
//!
//! CSV has the same columns in every line: `line`, then `class` or `alert,threshold`, then `score` (of the class said, where
//! there are several), then `positive`, then one column for each output whose name is known at the beginning. JSON lines
//! have all scores.
//!
//! Where two classes share one score, it is positive for the class that sorts last (or is the second of a given list).
//! `positive` names that class on every row unless both classes are known at the beginning: while one class is known, its
//! own score is positive.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use anyhow::Context;
use okl::Learner;
use okl::loss::{Loss, Reads};
use serde_json::json;

use crate::args::OutputFormat;
use crate::input::Schema;
use crate::metrics::Task;
use crate::watch::Seen;

/// A file of predictions, or standard output.
pub struct Predictions {
    out: BufWriter<Box<dyn Write>>,
    name: String,
    json: bool,
    task: Task,
    /// Outputs with a column of their own.
    outputs: usize,
    /// Is the positive class named on every row?
    positive: bool,
}

impl Predictions {
    /// Opens it; `-` is standard output. `outputs` are the names of those that have a column of their own; `positive` says
    /// whether the positive class is named on every row.
    ///
    /// # Errors
    /// With the file's name, if it cannot be written.
    pub fn create(
        to: &str,
        format: Option<OutputFormat>,
        task: Task,
        outputs: &[String],
        positive: bool,
    ) -> anyhow::Result<Self> {
        let (name, out): (&str, Box<dyn Write>) = match to {
            "-" => ("standard output", Box::new(io::stdout())),
            path => (path, Box::new(File::create(path).with_context(|| format!("{path}: cannot be written"))?)),
        };
        let mut predictions = Predictions {
            out: BufWriter::with_capacity(1 << 16, out),
            name: name.into(),
            json: format.map_or(to.ends_with(".jsonl"), |format| format == OutputFormat::Jsonl),
            task,
            outputs: outputs.len(),
            positive,
        };
        let begun = if predictions.json { Ok(()) } else { predictions.header(outputs) };
        predictions.named(begun)?;
        Ok(predictions)
    }

    fn named(&self, written: io::Result<()>) -> anyhow::Result<()> {
        written.with_context(|| format!("{}: cannot be written", self.name))
    }

    fn header(&mut self, outputs: &[String]) -> io::Result<()> {
        let first = match self.task {
            Task::Classes if self.positive => "line,class,score,positive",
            Task::Classes => "line,class,score",
            Task::Numbers if outputs.is_empty() => "line,score",
            Task::Numbers => "line",
            Task::Novelty => "line,alert,threshold,score",
        };
        write!(self.out, "{first}")?;
        outputs.iter().try_for_each(|name| write!(self.out, ",{}", quoted(&format!("score_{name}"))))?;
        writeln!(self.out)
    }

    /// One row.
    ///
    /// # Errors
    /// With the file's name, if it cannot be written.
    pub fn write(&mut self, seen: &Seen<'_>) -> anyhow::Result<()> {
        let written = if self.json { self.write_json(seen) } else { self.write_csv(seen) };
        self.named(written)
    }

    /// One row that could not be read: it has its line and no score.
    ///
    /// # Errors
    /// As [`Predictions::write`].
    pub fn write_skipped(&mut self, line: u64) -> anyhow::Result<()> {
        let before = match self.task {
            Task::Classes => 2 + usize::from(self.positive),
            Task::Numbers => usize::from(self.outputs == 0),
            Task::Novelty => 3,
        };
        let written = match self.json {
            true => writeln!(self.out, "{}", json!({ "line": line, "scores": null })),
            false => writeln!(self.out, "{line}{}", ",".repeat(before + self.outputs)),
        };
        self.named(written)
    }

    fn write_csv(&mut self, seen: &Seen<'_>) -> io::Result<()> {
        let (out, scores) = (&mut self.out, seen.step.scores);
        let score = |o: usize| scores.get(o).copied().unwrap_or(0.0);
        write!(out, "{}", seen.line)?;
        match self.task {
            Task::Classes => {
                let (at, name) = seen.class.map_or((0, String::new()), |(at, label)| (at, quoted(&label.to_string())));
                write!(out, ",{name},{}", score(if scores.len() > 1 { at } else { 0 }))?;
                if self.positive {
                    write!(out, ",{}", seen.positive.map_or(String::new(), |label| quoted(&label.to_string())))?;
                }
            }
            Task::Numbers if self.outputs == 0 => write!(out, ",{}", score(0))?,
            Task::Numbers => {}
            Task::Novelty => {
                let alert = seen.step.outside.map_or("", |outside| if outside { "1" } else { "0" });
                let threshold = seen.step.threshold.map_or(String::new(), |t| t.to_string());
                write!(out, ",{alert},{threshold},{}", score(0))?;
            }
        }
        (0..self.outputs).try_for_each(|o| write!(out, ",{}", score(o)))?;
        writeln!(out)
    }

    fn write_json(&mut self, seen: &Seen<'_>) -> io::Result<()> {
        let mut row = json!({ "line": seen.line, "scores": seen.step.scores });
        if let Some((_, class)) = seen.class {
            row["class"] = json!(class);
        }
        if self.positive {
            row["positive"] = json!(seen.positive);
        }
        if self.task == Task::Novelty {
            (row["alert"], row["threshold"]) = (seen.step.outside.into(), seen.step.threshold.into());
        }
        writeln!(self.out, "{row}")
    }

    /// Holds nothing back.
    ///
    /// # Errors
    /// As [`Predictions::write`].
    pub fn flush(&mut self) -> anyhow::Result<()> {
        let flushed = self.out.flush();
        self.named(flushed)
    }
}

/// The outputs that have a column of their own: targets if there are several, by number where the model does not know their names,
/// and classes if they are known and have a score each.
pub fn columns(learner: &Learner, schema: Option<&Schema>) -> Vec<String> {
    let names: Vec<String> = match learner.config().loss.reads() {
        Reads::Class => learner.classes().iter().map(ToString::to_string).collect(),
        Reads::Vector => {
            let numbered = || (0..learner.outputs()).map(|output| output.to_string()).collect();
            schema.map_or_else(numbered, |s| s.targets.clone())
        }
        _ => Vec::new(),
    };
    if names.len() > 1 { names } else { Vec::new() }
}

/// Does a file of predictions name the positive class on every row? Under a sign, unless both classes are known already.
pub fn names_positive(learner: &Learner) -> bool {
    learner.config().loss.reads() == Reads::Sign && learner.classes().len() < 2
}

fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.into(),
    }
}
