//! `okl learn`: a stream in, a model out.

mod begin;
mod course;
mod found;
mod held_out;
mod outcome;

use std::time::Instant;

use indicatif::ProgressBar;
use okl::loss::{Loss, Reads};
use okl::{Config, ErrorKind, Learner};

pub use begin::{begin, task_of};
pub use course::Course;

use crate::args::Learn;
use crate::input::Chunk;
use crate::predictions::{self, Predictions};
use crate::run::{Run, interrupted};
use crate::store;
use crate::table::{self, Table, is_closed_pipe, note};
use crate::watch::{Refused, Seen, Watch};
use crate::words::wrapped;

/// Runs the command; true if it was interrupted.
///
/// # Errors
/// One or two lines that say where and what to do.
pub fn learn(args: &Learn) -> anyhow::Result<bool> {
    let started = Instant::now();
    let Some((mut learner, course)) = begin(args)? else {
        note("interrupted before the first row");
        return Ok(true);
    };
    learner.set_threads(args.stream.threads)?;
    let task = task_of(learner.config());
    if let Some(test) = &args.stream.test {
        held_out::check_columns(test, task, course.schema(), course.way())?;
    }
    let columns = predictions::columns(&learner, Some(course.schema()));
    let positive = predictions::names_positive(&learner);
    let create = |to: &String| Predictions::create(to, args.show.predictions_format, task, &columns, positive);
    let predictions = args.show.predictions.as_ref().map(create).transpose()?;
    let asked = learner.config().clone();
    let mut run = Run::new(learner, task);
    run.owe(course.looked_at());
    let all_rows = recall(args, &mut run, &course)?;
    let mut session = Session {
        args,
        asked,
        course,
        all_rows,
        table: Table::new(args.show.quiet),
        bar: table::bar(args.show.quiet),
        predictions,
        lost: None,
        started,
        skipped: 0,
    };
    while let Some(chunk) = session.course.next()? {
        session.learn(&mut run, &chunk)?;
    }
    session.finish(&mut run)?;
    session.lost.map_or(Ok(interrupted()), Err)
}

/// With --continue, the sample of past rows is drawn again from the rows before. Returns false if the model has learned rows
/// that the sample does not cover.
fn recall(args: &Learn, run: &mut Run, course: &Course) -> anyhow::Result<bool> {
    if course.pass() > 1 {
        run.begin_pass(course.pass());
    }
    match (&args.stream.resume, args.stream.r#continue) {
        (None, _) => Ok(true),
        (Some(_), true) => Ok(course.consumed(|chunk, rows| run.recall(chunk, 0..rows))? && !course.had_other_data()),
        (Some(_), false) => Ok(false),
    }
}

/// A third class that came to a loss for two: says what to type.
fn with_advice(refused: Refused, learner: &Learner, args: &Learn) -> Refused {
    let two = learner.config().loss.reads() == Reads::Sign && learner.config().classes.is_none();
    match (refused.kind, learner.classes()) {
        (ErrorKind::Target { row, found, .. }, [a, b]) if two => {
            let expected = format!("{a} or {b}: {}", begin::more_classes(args));
            Refused { line: refused.line, kind: ErrorKind::Target { row, found, expected } }
        }
        (kind, _) => Refused { line: refused.line, kind },
    }
}

/// What goes on beside the learning.
struct Session<'a> {
    args: &'a Learn,
    /// The settings as they were before the first row.
    asked: Config,
    course: Course,
    /// Does the sample of past rows cover all rows that the model has learned?
    all_rows: bool,
    table: Table,
    bar: ProgressBar,
    predictions: Option<Predictions>,
    /// Why predictions could not be written, unless their reader stopped reading.
    lost: Option<anyhow::Error>,
    started: Instant,
    /// Bad rows of one pass.
    skipped: u64,
}

impl Session<'_> {
    fn learn(&mut self, run: &mut Run, chunk: &Chunk) -> anyhow::Result<()> {
        self.follow_pass(run);
        let learned = run.learn(chunk, self).map_err(|error| match error.downcast::<Refused>() {
            Ok(refused) => {
                let (file, line) = self.course.place(refused.line);
                with_advice(Refused { line, ..refused }, &run.learner, self.args).of(file, self.course.schema()).into()
            }
            Err(other) => other,
        })?;
        self.course.advance(chunk, learned);
        self.count_bad(chunk);
        self.bar.set_position(run.rows());
        self.predict(Predictions::flush)
    }

    /// Writes predictions, if they are wanted. If they cannot be written, the model or the report that was asked for is still
    /// made: the loss of the predictions is said, and learning goes on.
    fn predict(&mut self, write: impl FnOnce(&mut Predictions) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let Some(Err(error)) = self.predictions.as_mut().map(write) else { return Ok(()) };
        if self.args.output.is_none() && self.args.show.report.is_none() {
            return Err(error);
        }
        self.predictions = None;
        if !self.args.show.quiet {
            let why = if is_closed_pipe(&error) { "nobody reads standard output any more".into() } else { format!("{error:#}") };
            self.bar.suspend(|| note(wrapped(&format!("{why}: no more predictions are written, learning goes on"), "  ")));
        }
        self.lost = Some(error).filter(|error| !is_closed_pipe(error));
        Ok(())
    }

    /// Once the rows come again, what is counted is training error. The table has a line at the end of passes 1, 2, 4, ...
    fn follow_pass(&mut self, run: &mut Run) {
        let counted = run.training.as_ref().map_or(1, |training| training.pass);
        if counted == self.course.pass() {
            return;
        }
        if counted.is_power_of_two() && run.rows() > 0 {
            self.bar.suspend(|| self.table.line(run));
        }
        run.begin_pass(self.course.pass());
    }

    fn count_bad(&mut self, chunk: &Chunk) {
        if !self.course.is_first_pass() {
            return;
        }
        if let Some(why) = chunk.first_bad.as_ref().filter(|_| self.skipped == 0 && !self.args.show.quiet) {
            self.bar.suspend(|| note(format_args!("skipped: {why}")));
        }
        self.skipped += chunk.bad.len() as u64;
    }

    fn save(&self, run: &mut Run) -> anyhow::Result<()> {
        match &self.args.output {
            Some(path) => store::save(path, &mut run.learner, &self.course.position()),
            None => Ok(()),
        }
    }
}

impl Watch for Session<'_> {
    fn seen(&mut self, row: &Seen<'_>) -> anyhow::Result<()> {
        if self.course.is_last_pass() { self.predict(|out| out.write(row)) } else { Ok(()) }
    }

    fn skipped(&mut self, line: u64) -> anyhow::Result<()> {
        if self.course.is_last_pass() { self.predict(|out| out.write_skipped(line)) } else { Ok(()) }
    }

    fn next_pause(&self, rows: u64) -> u64 {
        self.args.stream.checkpoint_every.map_or(u64::MAX, |every| (rows / every + 1) * every)
    }

    fn pause(&mut self, run: &mut Run, chunk: &Chunk, learned: usize) -> anyhow::Result<()> {
        if run.rows().is_power_of_two() {
            self.bar.suspend(|| self.table.line(run));
        }
        if self.args.stream.checkpoint_every.is_some_and(|every| run.rows().is_multiple_of(every)) {
            self.course.advance(chunk, learned);
            self.save(run)?;
        }
        Ok(())
    }
}
