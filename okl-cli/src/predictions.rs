//! Scores on their way out: CSV, or JSON lines, one line per row.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use anyhow::Context;

use crate::metrics::Task;
use crate::run::Seen;

/// A file of predictions, or standard output.
pub struct Predictions {
    out: BufWriter<Box<dyn Write>>,
    name: String,
    json: bool,
    task: Task,
    started: bool,
}

impl Predictions {
    /// Opens it; `-` is standard output.
    pub fn create(to: &str, task: Task) -> anyhow::Result<Self> {
        let out: Box<dyn Write> = match to {
            "-" => Box::new(io::stdout()),
            path => Box::new(File::create(path).with_context(|| format!("{path}: cannot be written"))?),
        };
        Ok(Predictions {
            out: BufWriter::with_capacity(1 << 16, out),
            name: to.into(),
            json: to.ends_with(".jsonl"),
            task,
            started: false,
        })
    }

    /// One row.
    pub fn write(&mut self, seen: &Seen<'_>) -> anyhow::Result<()> {
        let written = if self.json { self.write_json(seen) } else { self.write_csv(seen) };
        written.with_context(|| format!("{}: cannot be written", self.name))
    }

    fn write_csv(&mut self, seen: &Seen<'_>) -> io::Result<()> {
        let scores = seen.step.scores;
        if !self.started {
            self.started = true;
            let first = match self.task {
                Task::Classes => "line,class",
                Task::Numbers => "line",
                Task::Novelty => "line,alert,threshold",
            };
            write!(self.out, "{first}")?;
            (0..scores.len().max(1))
                .try_for_each(|o| write!(self.out, ",score{}", if scores.len() > 1 { o.to_string() } else { String::new() }))?;
            writeln!(self.out)?;
        }
        write!(self.out, "{}", seen.line)?;
        match self.task {
            Task::Classes => write!(self.out, ",{}", quoted(&seen.class.map(ToString::to_string).unwrap_or_default()))?,
            Task::Numbers => {}
            Task::Novelty => {
                write!(self.out, ",{}", seen.step.outside.map_or(String::new(), |o| u8::from(o).to_string()))?;
                write!(self.out, ",{}", seen.step.threshold.map_or(String::new(), |t| t.to_string()))?;
            }
        }
        scores.iter().try_for_each(|z| write!(self.out, ",{z}"))?;
        writeln!(self.out)
    }

    fn write_json(&mut self, seen: &Seen<'_>) -> io::Result<()> {
        let mut row = serde_json::json!({ "line": seen.line, "scores": seen.step.scores });
        if let Some(class) = seen.class {
            row["class"] = serde_json::json!(class);
        }
        if self.task == Task::Novelty {
            (row["alert"], row["threshold"]) = (seen.step.outside.into(), seen.step.threshold.into());
        }
        serde_json::to_writer(&mut self.out, &row)?;
        writeln!(self.out)
    }

    /// Writes out what is left.
    pub fn finish(mut self) -> anyhow::Result<()> {
        self.out.flush().with_context(|| format!("{}: cannot be written", self.name))
    }
}

fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.into(),
    }
}
