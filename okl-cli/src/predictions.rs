//! Writes predictions as CSV or JSON lines, one line per row.
//!
//! CSV has the same columns in every line: `line`, then the columns of `--keep`, then `class` or `alert,threshold`, then `score` (with several classes, that of
//! the predicted one), then `positive`, then one column for each output whose name is known at the beginning. JSON lines
//! have all scores and their names: `classes` or `targets`, if there are several; `kept` has the columns of `--keep`.
//!
//! If two classes share one score, it is positive for the class that sorts last (or is the second of a given list).
//! `positive` names that class on every row. While only one class is known, positive scores belong to it.

mod earlier;

use std::fs::{File, TryLockError};
use std::io::{self, BufReader, BufWriter, Seek, SeekFrom, Write};

use anyhow::{Context, bail};
use okl::Learner;
use okl::loss::{Loss, Reads};
use serde_json::{Value, json};

pub use earlier::Consumed;

use crate::args::OutputFormat;
use crate::input::{Bad, Schema};
use crate::learn::task_of;
use crate::metrics::Task;
use crate::usage::usage;
use crate::watch::Seen;
use earlier::Kept;

/// The name of standard output.
const STANDARD_OUTPUT: &str = "-";
/// The size of the write buffer in bytes.
const BUFFER: usize = 1 << 16;

/// What the user asks to see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Columns that are copied from the data.
    pub kept: Vec<String>,
    /// Whether rows without an alert are left out.
    pub alerts_only: bool,
}

/// The columns of a file of predictions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    task: Task,
    /// Whether there is a column for the class of positive scores.
    positive: bool,
    /// Outputs with a column of their own.
    outputs: Vec<String>,
    shown: Shown,
}

impl Layout {
    /// The layout for the current state of a model.
    ///
    /// # Errors
    /// If only alerts are to be written and the model raises none, or a column is to be copied twice.
    pub fn of(learner: &Learner, schema: Option<&Schema>, shown: Shown) -> anyhow::Result<Self> {
        let positive = learner.config().loss.reads() == Reads::Sign;
        let task = task_of(learner.config());
        if shown.alerts_only && task != Task::Novelty {
            return Err(usage("--alerts-only: only models of --task novelty raise alerts; remove this flag"));
        }
        if let Some((_, name)) = shown.kept.iter().enumerate().find(|(at, name)| shown.kept[..*at].contains(name)) {
            return Err(usage(format!("--keep names the column '{name}' twice; name it once")));
        }
        Ok(Layout { task, positive, outputs: columns(learner, schema), shown })
    }

    /// The columns of the data, under names that no other column has.
    fn kept_names(&self, others: &[String]) -> Vec<String> {
        let name = |name: &String| {
            let mut name = name.clone();
            while others.contains(&name) {
                name = format!("kept_{name}");
            }
            name
        };
        self.shown.kept.iter().map(name).collect()
    }

    /// Whether a table has the score of the predicted class alone, and that of no other class.
    fn has_one_score(&self) -> bool {
        self.task == Task::Classes && !self.positive && self.outputs.is_empty()
    }

    fn header(&self) -> Vec<String> {
        let first: &[&str] = match self.task {
            Task::Classes if self.positive => &["line", "class", "score", "positive"],
            Task::Classes => &["line", "class", "score"],
            Task::Numbers if self.outputs.is_empty() => &["line", "score"],
            Task::Numbers => &["line"],
            Task::Novelty => &["line", "alert", "threshold", "score"],
        };
        let outputs = self.outputs.iter().map(|name| format!("score_{name}"));
        let mut names: Vec<String> = first.iter().map(ToString::to_string).chain(outputs).collect();
        let kept = self.kept_names(&names);
        names.splice(1..1, kept);
        names
    }

    /// The columns of the data in a table that an earlier run of the same model has written. None if the table cannot belong to this model.
    fn kept_of_earlier(&self, header: &[String]) -> Option<Vec<String>> {
        (0..header.len()).find_map(|columns| {
            let found = header.get(1..1 + columns)?;
            let others = &header[1 + columns..];
            let plain = |name: &String| match name.strip_prefix("kept_") {
                Some(plain) if others.iter().any(|other| other == plain) => plain.to_owned(),
                _ => name.clone(),
            };
            let kept: Vec<String> = found.iter().map(plain).collect();
            let shown = Shown { kept: kept.clone(), ..self.shown.clone() };
            Layout { shown, ..self.clone() }.of_earlier(header).map(|_| kept)
        })
    }

    /// The layout of a table that an earlier run of the same model has written, with fewer known classes, or by an older version
    /// without the column `positive`. None if the table cannot belong to this model.
    fn of_earlier(&self, header: &[String]) -> Option<Layout> {
        let own = header.get(..1)?.iter().chain(header.get(1 + self.shown.kept.len()..)?);
        let columns = own.filter(|name| name.starts_with("score_")).count();
        let outputs = self.outputs.get(..columns)?.to_vec();
        let positive = header.iter().any(|name| name == "positive");
        let earlier = Layout { outputs, positive, ..self.clone() };
        (earlier.header() == header && (!positive || self.positive)).then_some(earlier)
    }
}

/// Where lines go: into memory while they are held back, then into the file.
enum Out {
    Held(Vec<u8>),
    Open(BufWriter<Box<dyn Write>>),
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Out::Held(held) => held.write(bytes),
            Out::Open(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Out::Held(_) => Ok(()),
            Out::Open(file) => file.flush(),
        }
    }
}

/// A file of predictions, or standard output.
pub struct Predictions {
    out: Out,
    name: String,
    json: bool,
    layout: Layout,
}

impl Predictions {
    /// Creates the file; `-` is standard output.
    ///
    /// # Errors
    /// If the file cannot be written; the message names the file.
    pub fn create(to: &str, format: Option<OutputFormat>, layout: Layout) -> anyhow::Result<Self> {
        let mut predictions = Predictions::held_back(to, format, layout)?;
        predictions.release()?;
        Ok(predictions)
    }

    /// Keeps rows in memory until [`Predictions::release`] creates the file. If the command fails before, no row is written and an
    /// older file is not replaced.
    ///
    /// # Errors
    /// As [`Predictions::write`].
    pub fn held_back(to: &str, format: Option<OutputFormat>, layout: Layout) -> anyhow::Result<Self> {
        let mut predictions = Predictions { out: Out::Held(Vec::new()), name: to.into(), json: is_json(to, format), layout };
        let begun = if predictions.json { Ok(()) } else { predictions.header() };
        predictions.named(begun)?;
        Ok(predictions)
    }

    /// Creates the file, unless this has been done, and writes the rows that were kept in memory. `-` is standard output.
    ///
    /// # Errors
    /// If the file cannot be written; the message names the file.
    pub fn release(&mut self) -> anyhow::Result<()> {
        let Out::Held(held) = &mut self.out else { return Ok(()) };
        let held = std::mem::take(held);
        let out: Box<dyn Write> = match self.name.as_str() {
            STANDARD_OUTPUT => Box::new(io::stdout()),
            path => Box::new(emptied(path)?),
        };
        self.out = Out::Open(BufWriter::with_capacity(BUFFER, out));
        let written = self.out.write_all(&held);
        self.named(written)
    }

    /// Extends the file of an earlier run: keeps the rows that the model has learned and removes the others. None if there is no
    /// such file.
    ///
    /// # Errors
    /// If the file cannot be read or written, does not belong to this model, or lacks rows that the model has learned. The message
    /// names the file, and the file is unchanged.
    pub fn go_on(to: &str, format: Option<OutputFormat>, layout: &Layout, consumed: Consumed) -> anyhow::Result<Option<Self>> {
        if to == STANDARD_OUTPUT || !std::fs::metadata(to).is_ok_and(|file| file.is_file() && file.len() > 0) {
            return Ok(None);
        }
        let json = is_json(to, format);
        let options = || File::options().read(true).write(true).open(to);
        let mut file = options().with_context(|| format!("{to}: cannot be written"))?;
        reserve(&file, to)?;
        let kept = Kept::read(&mut BufReader::new(&file), json, consumed)
            .with_context(|| format!("{to}: cannot be continued; give --predictions another file"))?;
        let earlier = match json {
            true => Some(Layout { positive: kept.positive.unwrap_or(layout.positive), ..layout.clone() }),
            false => layout.of_earlier(&kept.header),
        };
        let own = earlier.as_ref().map_or_else(|| layout.kept_of_earlier(&kept.header), |_| kept.texts.clone());
        if let Some(own) = own.filter(|own| !json || !same_names(own, &layout.shown.kept)) {
            let advice = if own.is_empty() { "leave --keep out".into() } else { format!("give --keep {}", own.join(",")) };
            bail!(
                "{to}: the earlier run had {}, and this command has {}; {advice}, or give --predictions another file",
                flag_of(&own),
                flag_of(&layout.shown.kept)
            );
        }
        let Some(layout) = earlier else {
            let (found, expected) = (kept.header.join(","), layout.header().join(","));
            bail!("{to}: has the columns {found}, and those of this model are {expected}; give --predictions another file");
        };
        if layout.shown.alerts_only && matches!(consumed, Consumed::Rows(1..)) {
            bail!("{to}: a file of alerts does not say how many shuffled rows were learned; give --predictions another file");
        }
        if let Some(gap) = kept.missing(consumed).filter(|_| !layout.shown.alerts_only) {
            bail!("{to}: {gap}, so rows would be missing; give --predictions another file");
        }
        let cut = file.set_len(kept.bytes).and_then(|()| file.seek(SeekFrom::End(0)));
        cut.with_context(|| format!("{to}: cannot be written"))?;
        let out = Out::Open(BufWriter::with_capacity(BUFFER, Box::new(file)));
        Ok(Some(Predictions { out, name: to.into(), json, layout }))
    }

    /// One sentence if a table has only the score of the predicted class, because the classes are not known at the beginning.
    pub fn one_score(&self) -> Option<String> {
        let one = !self.json && self.layout.has_one_score();
        one.then(|| {
            format!(
                "{}: the score is that of the predicted class; for the scores of all classes name them with --classes, or write JSON lines \
                 (--predictions-format jsonl)",
                self.shown_name()
            )
        })
    }

    fn shown_name(&self) -> &str {
        if self.name == STANDARD_OUTPUT { "standard output" } else { &self.name }
    }

    fn named(&self, written: io::Result<()>) -> anyhow::Result<()> {
        written.with_context(|| format!("{}: cannot be written", self.shown_name()))
    }

    fn header(&mut self) -> io::Result<()> {
        let names: Vec<String> = self.layout.header().iter().map(|name| quoted(name)).collect();
        writeln!(self.out, "{}", names.join(","))
    }

    /// Writes one row.
    ///
    /// # Errors
    /// If the file cannot be written; the message names the file.
    pub fn write(&mut self, seen: &Seen<'_>) -> anyhow::Result<()> {
        if self.layout.shown.alerts_only && seen.step.outside != Some(true) {
            return Ok(());
        }
        let written = if self.json { self.write_json(seen) } else { self.write_csv(seen) };
        self.named(written)
    }

    /// Writes the line number and the texts of a row that could not be read, without a score.
    ///
    /// # Errors
    /// As [`Predictions::write`].
    pub fn write_skipped(&mut self, Bad { line, kept, .. }: &Bad) -> anyhow::Result<()> {
        if self.layout.shown.alerts_only {
            return Ok(());
        }
        let written = match self.json {
            true => {
                let mut row = json!({ "line": line, "scores": null });
                self.add_kept(&mut row, kept);
                writeln!(self.out, "{row}")
            }
            false => {
                let cells = kept.iter().map(|text| quoted(text)).collect::<Vec<_>>();
                let empty = self.layout.header().len() - 1 - cells.len();
                let texts = cells.iter().map(|text| format!(",{text}")).collect::<String>();
                writeln!(self.out, "{line}{texts}{}", ",".repeat(empty))
            }
        };
        self.named(written)
    }

    fn write_csv(&mut self, seen: &Seen<'_>) -> io::Result<()> {
        let (out, layout, scores) = (&mut self.out, &self.layout, seen.step.scores);
        let score = |o: usize| scores.get(o).copied().unwrap_or(0.0);
        write!(out, "{}", seen.line)?;
        seen.kept.iter().try_for_each(|text| write!(out, ",{}", quoted(text)))?;
        match layout.task {
            Task::Classes => {
                let (at, name) = seen.class.map_or((0, String::new()), |(at, label)| (at, quoted(&label.to_string())));
                write!(out, ",{name},{}", score(if scores.len() > 1 { at } else { 0 }))?;
                if layout.positive {
                    write!(out, ",{}", seen.positive.map_or(String::new(), |label| quoted(&label.to_string())))?;
                }
            }
            Task::Numbers if layout.outputs.is_empty() => write!(out, ",{}", score(0))?,
            Task::Numbers => {}
            Task::Novelty => {
                let alert = seen.step.outside.map_or("", |outside| if outside { "1" } else { "0" });
                let threshold = seen.step.threshold.map_or(String::new(), |t| t.to_string());
                write!(out, ",{alert},{threshold},{}", score(0))?;
            }
        }
        (0..layout.outputs.len()).try_for_each(|o| write!(out, ",{}", score(o)))?;
        writeln!(out)
    }

    fn add_kept(&self, row: &mut Value, kept: &[String]) {
        if !kept.is_empty() {
            row["kept"] = self.layout.shown.kept.iter().cloned().zip(kept.iter().map(|text| json!(text))).collect();
        }
    }

    fn write_json(&mut self, seen: &Seen<'_>) -> io::Result<()> {
        let mut row = json!({ "line": seen.line, "scores": seen.step.scores });
        if let Some((_, class)) = seen.class {
            row["class"] = json!(class);
        }
        self.add_kept(&mut row, seen.kept);
        // The names of several scores: classes in the order in which they appeared, or targets.
        let several = seen.step.scores.len();
        if let Some(names) = seen.classes.get(..several).filter(|_| several > 1) {
            row["classes"] = json!(names);
        } else if self.layout.task == Task::Numbers && !self.layout.outputs.is_empty() {
            row["targets"] = json!(self.layout.outputs);
        }
        if self.layout.positive {
            row["positive"] = json!(seen.positive);
        }
        if self.layout.task == Task::Novelty {
            (row["alert"], row["threshold"]) = (seen.step.outside.into(), seen.step.threshold.into());
        }
        writeln!(self.out, "{row}")
    }

    /// Writes all buffered rows.
    ///
    /// # Errors
    /// As [`Predictions::write`].
    pub fn flush(&mut self) -> anyhow::Result<()> {
        let flushed = self.out.flush();
        self.named(flushed)
    }
}

/// Whether two lists have the same names, in any order.
fn same_names(one: &[String], other: &[String]) -> bool {
    one.len() == other.len() && one.iter().all(|name| other.contains(name))
}

/// The flag that an earlier run or this one has.
fn flag_of(names: &[String]) -> String {
    if names.is_empty() { "no --keep".into() } else { format!("--keep {}", names.join(",")) }
}

/// Creates a file or empties an older one, unless another process is writing it.
fn emptied(path: &str) -> anyhow::Result<File> {
    let written = || format!("{path}: cannot be written");
    let file = File::options().write(true).create(true).truncate(false).open(path).with_context(written)?;
    if file.metadata().with_context(written)?.is_file() {
        reserve(&file, path)?;
        file.set_len(0).with_context(written)?;
    }
    Ok(file)
}

/// Locks a file until it is closed, so that a second process does not write into it. Where a file system has no locks, nothing is
/// locked. Neither on Windows, where a lock would keep other programs from reading.
fn reserve(file: &File, path: &str) -> anyhow::Result<()> {
    if cfg!(windows) {
        return Ok(());
    }
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            bail!("{path}: another process is writing this file; give another name, or wait until it has ended")
        }
        Ok(()) | Err(TryLockError::Error(_)) => Ok(()),
    }
}

/// The outputs that have a column of their own: targets if there are several, by number where the model does not know their names,
/// and classes if they are known and have a score each.
fn columns(learner: &Learner, schema: Option<&Schema>) -> Vec<String> {
    let names: Vec<String> = match learner.config().loss.reads() {
        Reads::Class => learner.classes().iter().map(ToString::to_string).collect(),
        Reads::Vector => {
            let numbered = || (0..learner.outputs()).map(|output| output.to_string()).collect();
            schema.filter(|s| !s.targets.is_empty()).map_or_else(numbered, |s| s.targets.clone())
        }
        _ => Vec::new(),
    };
    if names.len() > 1 { names } else { Vec::new() }
}

fn is_json(to: &str, format: Option<OutputFormat>) -> bool {
    format.map_or(to.ends_with(".jsonl"), |format| format == OutputFormat::Jsonl)
}

fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.into(),
    }
}
