//! `okl learn`: learns a stream and writes the model.

mod begin;
mod first_rows;
mod held_out;
mod kept;
mod late_change;
mod later_rows;
pub mod many_classes;
mod outcome;
mod passes;

use std::time::Instant;

use indicatif::ProgressBar;
use okl::loss::{Loss, Reads};
use okl::{Config, ErrorKind, Learner};

pub use begin::{Begun, begin, task_of};
pub use kept::{Kept, Which};
pub use later_rows::Copies;
pub use passes::Passes;

use crate::args::{Learn, all_names};
use crate::device;
use crate::input::{Bad, Chunk, InputError, Used, is_stream};
use crate::memory::Announced;
use crate::metrics::{Task, count};
use crate::predictions::{Consumed, Layout, Predictions, Shown};
use crate::run::{Run, interrupted};
use crate::settings::other_columns;
use crate::store::{self, Position};
use crate::table::{self, Table, is_closed_pipe, note, wrapped};
use crate::watch::{Refused, Seen, Watch};
use many_classes::{Found, ManyClasses};

/// Runs the command; returns true if it was interrupted.
///
/// # Errors
/// If the data, a file or an option is wrong. The message says where and what to do.
pub fn learn(args: &Learn) -> anyhow::Result<bool> {
    let started = Instant::now();
    let place = device::open(&args.stream.device)?;
    let Some(Begun { mut learner, mut passes, few_values, announced }) = begin(args)? else {
        note("interrupted before the first row");
        return Ok(true);
    };
    learner.set_threads(args.stream.threads)?;
    learner.set_place(place);
    let task = task_of(learner.config());
    if let Some(test) = &args.stream.test {
        held_out::check_columns(test, task, &passes)?;
    }
    let predictions = args.show.predictions.as_deref().map(|to| open(args, to, &learner, &mut passes)).transpose()?;
    let asked = learner.config().clone();
    let learned_before = learner.examples();
    let mut run = Run::new(learner, task);
    run.progress = passes.progress();
    run.progress.meet(&run.learner);
    let rows_before = passes.rows_before(&run.progress, learned_before);
    run.replayed = kept::sample(args, task, passes.way());
    run.copies = kept::copies(args, passes.way()).filter(|_| run.replayed.is_some());
    run.owe(passes.looked_at());
    let all_rows = recall(args, &mut run, &passes)?;
    let used = passes.schema().hash_bits().map(Used::new);
    let mut session = Session {
        args,
        asked,
        few_values,
        announced,
        many_classes: ManyClasses::default(),
        passes,
        all_rows,
        learned_before,
        rows_before,
        table: Table::new(args.show.quiet, args.stream.r#continue),
        bar: table::bar(args.show.quiet),
        predictions,
        lost: None,
        started,
        skipped: 0,
        respelled: false,
        saved: None,
        used,
    };
    session.learn_all(&mut run).map_err(|error| session.stopped(&mut run, error))?;
    session.finish(&mut run)?;
    session.lost.map_or(Ok(interrupted()), Err)
}

/// Creates the file of predictions; with --continue, extends the file of the earlier run.
fn open(args: &Learn, to: &str, learner: &Learner, passes: &mut Passes) -> anyhow::Result<Predictions> {
    let shown = Shown { kept: all_names(&args.show.keep), alerts_only: args.show.alerts_only };
    let (format, layout) = (args.show.predictions_format, Layout::of(learner, Some(passes.schema()), shown)?);
    if args.stream.r#continue {
        // The first rows are read now: if the data are not the ones that the model has learned, the file stays as it is.
        passes.look(|first| first.iter().any(|chunk| chunk.rows > 0), begin::waiting(args))?;
        let consumed = passes.predicted();
        if let Some(earlier) = Predictions::go_on(to, format, &layout, consumed)? {
            return Ok(earlier);
        }
        if !matches!(consumed, Consumed::Line(0) | Consumed::Rows(0)) && !args.show.quiet && to != "-" {
            note(wrapped(&format!("{to}: the file does not exist; it will have only the rows of this run"), "  "));
        }
    }
    let predictions = Predictions::create(to, format, layout)?;
    predictions.one_score().filter(|_| !args.show.quiet).iter().for_each(|text| note(wrapped(text, "  ")));
    Ok(predictions)
}

/// With --continue, the sample of past rows is drawn again from the rows before. Returns false if the model has learned rows
/// that the sample does not cover.
fn recall(args: &Learn, run: &mut Run, passes: &Passes) -> anyhow::Result<bool> {
    if passes.pass() > 1 {
        run.begin_pass(passes.pass());
    }
    match (&args.stream.resume, args.stream.r#continue) {
        (None, _) => Ok(true),
        (Some(_), true) => Ok(passes.consumed(|chunk, rows| run.recall(chunk, 0..rows))? && !passes.had_other_data()),
        (Some(_), false) => Ok(false),
    }
}

/// The number that a label is, if it is one.
fn number(label: &str) -> Option<f64> {
    label.trim_matches(['\'', '"']).parse().ok()
}

/// Whether two texts are the same number, as 01 and 1 are.
fn is_same_number(found: &str, class: &str) -> bool {
    number(found).is_some() && number(found) == number(class)
}

/// Adds advice to the error of a third class under a loss for two classes.
fn with_advice(refused: Refused, learner: &Learner, args: &Learn) -> Refused {
    let two = learner.config().loss.reads() == Reads::Sign && learner.config().classes.is_none();
    match (refused.kind.clone(), learner.classes()) {
        (ErrorKind::Target { row, found, .. }, [a, b]) if two => {
            let same = [a, b].into_iter().find(|class| is_same_number(&found, &class.to_string()));
            let expected = match same {
                Some(class) => format!(
                    "{a} or {b}: {found} and {class} are two classes, because they are written differently; write {class}"
                ),
                None => {
                    let numbers = [&found, &a.to_string(), &b.to_string()].iter().all(|label| number(label).is_some());
                    format!("{a} or {b}: {}", begin::more_classes(args, numbers))
                }
            };
            Refused { kind: ErrorKind::Target { row, found, expected }, ..refused }
        }
        (kind, _) => Refused { kind, ..refused },
    }
}

/// A run with its output: progress, predictions, checkpoints.
struct Session<'a> {
    args: &'a Learn,
    /// The settings as they were before the first row.
    asked: Config,
    /// See [`Begun::few_values`].
    few_values: bool,
    /// See [`Begun::announced`].
    announced: Option<Announced>,
    many_classes: ManyClasses,
    passes: Passes,
    /// Whether the sample of past rows covers all rows that the model has learned.
    all_rows: bool,
    /// Rows that the model of --resume had learned.
    learned_before: u64,
    /// The rows among them, each counted once in all passes.
    rows_before: u64,
    table: Table,
    bar: ProgressBar,
    predictions: Option<Predictions>,
    /// Why predictions could not be written; none if their reader has closed the pipe.
    lost: Option<anyhow::Error>,
    started: Instant,
    /// Bad rows of one pass.
    skipped: u64,
    /// Whether the note about spellings of true and false has been written.
    respelled: bool,
    /// The number of rows learned at the last checkpoint.
    saved: Option<u64>,
    /// The hashed columns that rows of this run have used.
    used: Option<Used>,
}

impl Session<'_> {
    fn learn_all(&mut self, run: &mut Run) -> anyhow::Result<()> {
        while let Some(chunk) = self.passes.next()? {
            self.learn(run, &chunk)?;
        }
        Ok(())
    }

    /// Adds to the error of a bad row what happened to the rows before it. A file can be corrected and read again, so only
    /// checkpoints are saved; a stream cannot, so its model is saved.
    fn stopped(&mut self, run: &mut Run, error: anyhow::Error) -> anyhow::Error {
        let wrong = match error.downcast::<InputError>() {
            Ok(wrong) if run.rows() > 0 => wrong,
            Ok(wrong) => return wrong.into(),
            Err(other) => return other,
        };
        let (rows, were) = match run.examples() {
            1 => ("1 row".into(), "was"),
            learned => (format!("{} rows", count(learned as f64)), "were"),
        };
        let stream = self.args.data.iter().any(|file| is_stream(file));
        let left = match (&self.args.output, self.saved) {
            (Some(path), _) if stream => match self.save(run) {
                Ok(()) => format!("{} has the model of the {rows} before", path.display()),
                Err(why) => format!("{rows} {were} learned, but {why:#}"),
            },
            (Some(path), Some(saved)) => {
                let saved = count(saved as f64);
                format!("{rows} {were} learned; {} has the model of the last checkpoint, after {saved} rows", path.display())
            }
            (Some(_), None) => format!("{rows} {were} learned before, and nothing was saved"),
            (None, _) => format!("{rows} {were} learned before"),
        };
        wrong.and(&format!("; {left}")).into()
    }

    fn learn(&mut self, run: &mut Run, chunk: &Chunk) -> anyhow::Result<()> {
        self.follow_pass(run);
        self.mention(run, chunk);
        if let Some(used) = self.used.as_mut().filter(|_| self.passes.is_first_pass()) {
            used.count(chunk);
        }
        self.count_classes(run, chunk)?;
        let learned = run.learn(chunk, self).map_err(|error| match error.downcast::<Refused>() {
            Ok(refused) => {
                self.passes.advance(chunk, run.in_chunk());
                let (file, line) = self.passes.place(refused.line);
                let refused = with_advice(Refused { line, ..refused }, &run.learner, self.args);
                let columns = matches!(&refused.kind, ErrorKind::Shape { what, .. } if what == "features");
                let advice =
                    if columns && self.args.settings.config.is_some() { other_columns(&self.asked) } else { String::new() };
                refused.of(file, self.passes.schema()).counted_in(self.passes.format()).and(&advice).into()
            }
            Err(other) => other,
        })?;
        self.passes.advance(chunk, learned);
        self.count_bad(chunk);
        self.bar.set_position(run.rows());
        self.predict(Predictions::flush)
    }

    /// Writes predictions, if they were requested. If they cannot be written and a model or a report was requested, the error
    /// is reported and learning continues.
    fn predict(&mut self, write: impl FnOnce(&mut Predictions) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let Some(Err(error)) = self.predictions.as_mut().map(write) else { return Ok(()) };
        if self.args.output.is_none() && self.args.show.report.is_none() {
            return Err(error);
        }
        self.predictions = None;
        if !self.args.show.quiet {
            let why = if is_closed_pipe(&error) { "nobody reads standard output any more".into() } else { format!("{error:#}") };
            self.bar.suspend(|| note(wrapped(&format!("{why}: no more predictions are written, learning continues"), "  ")));
        }
        self.lost = Some(error).filter(|error| !is_closed_pipe(error));
        Ok(())
    }

    /// Starts the figures of a new pass, which are training errors. Writes a line of the table at the end of passes 1, 2, 4, ...
    fn follow_pass(&mut self, run: &mut Run) {
        let counted = run.pass();
        if counted == self.passes.pass() {
            return;
        }
        if counted.is_power_of_two() && run.rows() > 0 {
            self.bar.suspend(|| self.table.line(run));
        }
        run.begin_pass(self.passes.pass());
    }

    /// Reports a first line that may be a header or a row, columns that are ignored, and classes with several spellings.
    fn mention(&mut self, run: &Run, chunk: &Chunk) {
        if self.args.show.quiet || !self.passes.is_first_pass() {
            return;
        }
        chunk.said.iter().for_each(|text| self.bar.suspend(|| note(wrapped(text, "  "))));
        if let [first, ..] = &chunk.unknown[..] {
            let more = if chunk.unknown.len() > 1 { format!(" and {} more", chunk.unknown.len() - 1) } else { String::new() };
            let text = format!("column '{first}'{more}: not among the columns that are learned; ignored");
            self.bar.suspend(|| note(wrapped(&text, "  ")));
        }
        if let Some(text) = chunk.targets.respelled().filter(|_| !self.respelled && run.metrics.task() == Task::Classes) {
            self.respelled = true;
            let text =
                format!("the target '{text}' is the class {}: TRUE, True and true are one class", text.to_ascii_lowercase());
            self.bar.suspend(|| note(wrapped(&text, "  ")));
        }
    }

    /// Refuses targets that are no classes, before each of them becomes one, and reports very many classes.
    fn count_classes(&mut self, run: &Run, chunk: &Chunk) -> anyhow::Result<()> {
        let config = run.learner.config();
        if config.loss.reads() != Reads::Class || config.classes.is_some() || !self.passes.is_first_pass() {
            return Ok(());
        }
        match self.many_classes.count(chunk) {
            Some(Found::Decimals(line, found)) => {
                let (file, line) = self.passes.place(line);
                let advice = if self.args.settings.loss.is_some() { "leave --loss out and say" } else { "say" };
                let text = format!(
                    "{found} are different decimal numbers, and each would be a class of its own; {advice} --task numbers"
                );
                let column = self.passes.schema().targets.first().map(String::as_str);
                Err(InputError::of_row(file, line, column, text).counted_in(self.passes.format()).into())
            }
            Some(Found::Many(text)) if !self.args.show.quiet => {
                self.bar.suspend(|| note(wrapped(&format!("warning: {text}"), "  ")));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn count_bad(&mut self, chunk: &Chunk) {
        if !self.passes.is_first_pass() {
            return;
        }
        if let Some(why) = chunk.first_bad.as_ref().filter(|_| self.skipped == 0 && !self.args.show.quiet) {
            self.bar.suspend(|| note(format_args!("skipped: {why}")));
        }
        self.skipped += chunk.bad.len() as u64;
    }

    fn save(&self, run: &mut Run) -> anyhow::Result<()> {
        match &self.args.output {
            Some(path) => {
                let position = Position { progress: run.progress.with_again(self.passes.again()), ..self.passes.position() };
                store::save(path, &mut run.learner, &position)
            }
            None => Ok(()),
        }
    }
}

impl Watch for Session<'_> {
    fn seen(&mut self, row: &Seen<'_>) -> anyhow::Result<()> {
        if self.passes.is_last_pass() { self.predict(|out| out.write(row)) } else { Ok(()) }
    }

    fn skipped(&mut self, bad: &Bad) -> anyhow::Result<()> {
        if self.passes.is_last_pass() { self.predict(|out| out.write_skipped(bad)) } else { Ok(()) }
    }

    fn next_pause(&self, rows: u64) -> u64 {
        self.args.stream.checkpoint_every.map_or(u64::MAX, |every| (rows / every + 1) * every)
    }

    fn pause(&mut self, run: &mut Run, chunk: &Chunk, learned: usize) -> anyhow::Result<()> {
        if run.rows().is_power_of_two() {
            self.bar.suspend(|| self.table.line(run));
        }
        if self.args.stream.checkpoint_every.is_some_and(|every| run.rows().is_multiple_of(every)) {
            self.passes.advance(chunk, learned);
            // The predictions are written before the model is saved, so that --continue only has to add the rows after the checkpoint.
            self.predict(Predictions::flush)?;
            self.save(run)?;
            self.saved = Some(run.rows());
        }
        Ok(())
    }
}
