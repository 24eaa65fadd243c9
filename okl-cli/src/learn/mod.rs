//! `okl learn`: a stream in, a model out.

mod begin;
mod course;
mod found;
mod held_out;
mod outcome;

use std::time::Instant;

use indicatif::ProgressBar;
use okl::Config;

pub use begin::{begin, task_of};
pub use course::Course;

use crate::args::Learn;
use crate::input::Chunk;
use crate::predictions::{self, Predictions};
use crate::run::{Run, interrupted};
use crate::store;
use crate::table::{self, Table, note};
use crate::watch::{Refused, Seen, Watch};

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
    let columns = predictions::columns(&learner, Some(course.schema()));
    let create = |to: &String| Predictions::create(to, args.show.predictions_format, task, &columns);
    let predictions = args.show.predictions.as_ref().map(create).transpose()?;
    let asked = learner.config().clone();
    let mut run = Run::new(learner, task);
    let mut session = Session {
        args,
        asked,
        course,
        table: Table::new(args.show.quiet),
        bar: table::bar(args.show.quiet),
        predictions,
        started,
        skipped: 0,
    };
    while let Some(chunk) = session.course.next()? {
        session.learn(&mut run, &chunk)?;
    }
    session.finish(&mut run)?;
    Ok(interrupted())
}

/// What goes on beside the learning.
struct Session<'a> {
    args: &'a Learn,
    /// The settings as they were before the first row.
    asked: Config,
    course: Course,
    table: Table,
    bar: ProgressBar,
    predictions: Option<Predictions>,
    started: Instant,
    /// Bad rows of one pass.
    skipped: u64,
}

impl Session<'_> {
    fn learn(&mut self, run: &mut Run, chunk: &Chunk) -> anyhow::Result<()> {
        let learned = run.learn(chunk, self).map_err(|error| match error.downcast::<Refused>() {
            Ok(refused) => refused.of(&self.args.data, self.course.schema()).into(),
            Err(other) => other,
        })?;
        self.course.advance(chunk, learned);
        self.count_bad(chunk);
        self.bar.set_position(run.rows());
        if let Some(predictions) = &mut self.predictions {
            predictions.flush()?;
        }
        Ok(())
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
        match &mut self.predictions {
            Some(predictions) if self.course.is_last_pass() => predictions.write(row),
            _ => Ok(()),
        }
    }

    fn skipped(&mut self, line: u64) -> anyhow::Result<()> {
        match &mut self.predictions {
            Some(predictions) if self.course.is_last_pass() => predictions.write_skipped(line),
            _ => Ok(()),
        }
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
