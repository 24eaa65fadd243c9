//! One run over a stream: the loop that passes rows from the reader to learner, metrics and observer.

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use okl::health::LargeTargets;
use okl::{Batch, Label, Learner, Outcome, Targets};

use crate::earlier_target::EarlierTarget;
use crate::input::Chunk;
use crate::inspect::loss_in_words;
use crate::learn::Copies;
use crate::metrics::{Metrics, Observed, Summary, Target, Task, count};
use crate::past_rows::{Past, Reservoir};
use crate::predict::classes_of;
use crate::progress::Progress;
use crate::report::{Alert, Alerts, Decision, History, Point, Reading, Samples};
use crate::scoring::quantile;
use crate::signals;
use crate::watch::{Refused, Seen, Watch, numbers_only};

/// Whether a signal has asked the command to end. The current block is then finished and the model is written.
pub fn interrupted() -> bool {
    signals::received()
}

/// The number of rows in a block. It is small, so that the command reacts to a signal quickly.
const BLOCK: u64 = 256;

/// A learner and everything that is measured while it learns.
pub struct Run {
    /// The learner.
    pub learner: Learner,
    /// Progressive figures: every row is scored when it is first seen, before it is learned.
    pub metrics: Metrics,
    /// The same over all runs of the model; stored in its file.
    pub progress: Progress,
    /// From the second pass on: figures of the current pass, over rows that have been learned before.
    pub training: Option<Training>,
    /// A random sample of the rows.
    pub reservoir: Reservoir,
    /// A larger sample, if rows are learned once more at the end.
    pub replayed: Option<Reservoir>,
    /// Copies of the model, if they may be compared at the end.
    pub copies: Option<Copies>,
    /// The record of the run over time.
    pub history: History,
    /// The alerts so far.
    pub alerts: Alerts,
    /// The last rows of two features, in the order of learning.
    pub samples: Samples,
    /// The largest targets and the errors after them.
    pub large_targets: LargeTargets,
    /// See [`EarlierTarget`].
    pub earlier_target: EarlierTarget,
    /// The classes of the learner after the last block, in its order: the order of the scores.
    classes: Vec<Label>,
    index: HashMap<Label, usize>,
    left: Left,
    /// The number of rows of the current chunk that have been learned.
    in_chunk: usize,
    /// The number of rows seen in all passes.
    visited: u64,
    /// The lines of the first and of the last row.
    lines: Option<[u64; 2]>,
    /// The number of next rows that are learned even after a signal.
    owed: u64,
    /// The number of examples in the complete passes.
    before_pass: u64,
    /// The pass that the next row begins, if it begins one.
    next_pass: Option<u64>,
    started: Instant,
    learning: Duration,
    last: (Instant, u64),
}

/// Figures over rows that have been learned before: training error.
pub struct Training {
    /// The number of the pass; the first pass is 1 and has no training figures, so this is at least 2.
    pub pass: u64,
    /// The figures of this pass.
    pub metrics: Metrics,
}

/// Results of the rows of a block, in reused buffers.
#[derive(Default)]
struct Left {
    /// The scores, row by row. Rows after a new class in the block have more scores.
    scores: Vec<f64>,
    /// For each row: the end of its scores, and its other results.
    rows: Vec<(usize, Outcome<'static>)>,
}

impl Left {
    fn clear(&mut self) {
        self.scores.clear();
        self.rows.clear();
    }

    fn push(&mut self, step: &Outcome<'_>) {
        self.scores.extend_from_slice(step.scores);
        self.rows.push((self.scores.len(), Outcome { scores: &[], ..*step }));
    }

    fn steps(&self) -> impl Iterator<Item = Outcome<'_>> {
        let mut from = 0;
        self.rows
            .iter()
            .map(move |(end, step)| Outcome { scores: &self.scores[std::mem::replace(&mut from, *end)..*end], ..*step })
    }
}

impl Run {
    /// A run before its first row.
    pub fn new(learner: Learner, task: Task) -> Self {
        let metrics = metrics(&learner, task);
        let now = Instant::now();
        let mut run = Run {
            learner,
            metrics,
            progress: Progress::default(),
            training: None,
            reservoir: Reservoir::default(),
            replayed: None,
            copies: None,
            history: History::default(),
            alerts: Alerts::default(),
            samples: Samples::default(),
            large_targets: LargeTargets::default(),
            earlier_target: EarlierTarget::default(),
            classes: Vec::new(),
            index: HashMap::new(),
            left: Left::default(),
            in_chunk: 0,
            visited: 0,
            lines: None,
            owed: 0,
            before_pass: 0,
            next_pass: None,
            started: now,
            learning: Duration::ZERO,
            last: (now, 0),
        };
        run.follow_classes();
        run
    }

    /// Takes over the classes that the learner has added.
    fn follow_classes(&mut self) {
        let (classes, _) = classes_of(&self.learner);
        for class in &classes[self.classes.len().min(classes.len())..] {
            self.index.insert(class.clone(), self.classes.len());
            self.classes.push(class.clone());
        }
    }

    /// Makes the run learn this many next rows even after a signal, because they were read before it.
    pub fn owe(&mut self, rows: u64) {
        self.owed = rows;
    }

    /// The number of rows of the last chunk that have been learned; after an error this is less than its number of rows.
    pub fn in_chunk(&self) -> usize {
        self.in_chunk
    }

    /// Rows so far, counted again in every pass.
    pub fn rows(&self) -> u64 {
        self.visited
    }

    /// The number of rows of this run, and their lines unless they are in another order than in the file.
    pub fn rows_in_words(&self, shuffled: bool) -> String {
        let rows = if self.rows() == 1 { "1 row".into() } else { format!("{} rows", count(self.rows() as f64)) };
        match self.lines.filter(|_| !shuffled) {
            None => rows,
            Some([first, last]) if first == last => format!("{rows}, line {}", count(first as f64)),
            Some([first, last]) => format!("{rows}, lines {} to {}", count(first as f64), count(last as f64)),
        }
    }

    /// Examples so far, counted again in every pass.
    pub fn examples(&self) -> u64 {
        self.before_pass + self.current().examples()
    }

    /// The figures that are being updated: progressive ones in the first pass, training errors in later passes.
    pub fn current(&self) -> &Metrics {
        self.training.as_ref().map_or(&self.metrics, |training| &training.metrics)
    }

    /// As [`Run::current`], mutable.
    pub fn current_mut(&mut self) -> &mut Metrics {
        self.training.as_mut().map_or(&mut self.metrics, |training| &mut training.metrics)
    }

    /// Lets the next row begin another pass over the same rows; its figures are training errors. A pass without a row, which a signal came before,
    /// has no figures.
    pub fn begin_pass(&mut self, pass: u64) {
        self.next_pass = Some(pass);
    }

    /// The number of the pass of the next row.
    pub fn pass(&self) -> u64 {
        self.next_pass.or(self.training.as_ref().map(|training| training.pass)).unwrap_or(1)
    }

    /// Begins the figures of the pass that [`Run::begin_pass`] announced.
    fn enter_pass(&mut self) {
        let Some(pass) = self.next_pass.take() else { return };
        self.before_pass = self.examples();
        let metrics = metrics(&self.learner, self.metrics.task());
        let metrics = match self.training.take() {
            Some(training) => metrics.after(training.metrics),
            None => metrics,
        };
        self.training = Some(Training { pass, metrics });
    }

    /// Adds rows that an earlier run over the same data has learned to the sample of past rows.
    pub fn recall(&mut self, chunk: &Chunk, rows: Range<usize>) {
        rows.filter(|row| chunk.is_example(*row)).for_each(|row| self.reservoir.offer(chunk, row));
    }

    /// The current model on a sample of the rows that it has learned; none before the first row.
    ///
    /// # Errors
    /// Those of the learner.
    pub fn past(&self, targets: &[String]) -> okl::Result<Option<Past>> {
        self.past_filled(targets, |_| ())
    }

    /// As [`Run::past`]. `fill` fills the cells without a value anew: `okl predict` fills them from all learned rows, and not from those before.
    ///
    /// # Errors
    /// Those of the learner.
    pub fn past_filled(&self, targets: &[String], fill: impl Fn(&mut Chunk)) -> okl::Result<Option<Past>> {
        let task = self.metrics.task();
        let expected = match task {
            Task::Novelty => (self.learner.alert_rate().map(|rate| rate.nu), false),
            _ => self.metrics.error_to_compare(),
        };
        Past::measure(&self.reservoir, &self.learner, task, expected, targets, fill)
    }

    /// Seconds since the beginning.
    pub fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Seconds that the learner took; the rest is input and output.
    pub fn learn_seconds(&self) -> f64 {
        self.learning.as_secs_f64()
    }

    /// The figures; `targets` are the outputs' names, where they are numbers.
    pub fn summary(&self, targets: &[String]) -> Summary {
        self.summary_of(&self.metrics, targets)
    }

    /// The number and figures of the current pass, from the second pass on.
    pub fn training_summary(&self, targets: &[String]) -> Option<(u64, Summary)> {
        self.training.as_ref().map(|training| (training.pass, self.summary_of(&training.metrics, targets)))
    }

    fn summary_of(&self, metrics: &Metrics, targets: &[String]) -> Summary {
        let summary = match metrics.task() {
            Task::Numbers => metrics.summary(targets),
            _ => metrics.summary(&self.class_names()),
        };
        Summary { loss: Some(loss_in_words(&self.learner)), ..summary }
    }

    fn class_names(&self) -> Vec<String> {
        self.classes.iter().map(Label::to_string).collect()
    }

    /// Learns the rows of a chunk until an interruption; returns the number of rows learned.
    ///
    /// # Errors
    /// [`Refused`], if the learner refuses a row (the blocks before it have been learned); and errors of the observer.
    pub fn learn(&mut self, chunk: &Chunk, watch: &mut impl Watch) -> anyhow::Result<usize> {
        self.in_chunk = 0;
        if self.learner.features() > 0 && chunk.features > self.learner.features() {
            self.learner.widen(chunk.features).map_err(|error| {
                let known = self.learner.features();
                let new = |row: &usize| chunk.values(*row).any(|(column, _)| column >= known);
                Refused::new(error.kind(), chunk, (0..chunk.rows).find(new).unwrap_or(0))
            })?;
        }
        let mut labels = self.labels(chunk)?;
        let mut first = 0;
        while first < chunk.rows && !(interrupted() && self.rows() >= self.owed) {
            self.enter_pass();
            let last = chunk.rows.min(first + self.until_pause(watch));
            self.name_classes(chunk, &mut labels, first..last);
            self.learn_block(chunk, &labels, first..last)?;
            self.observe(chunk, &labels, first..last, watch)?;
            first = last;
            self.in_chunk = first;
            if self.history.due(self.examples()) {
                self.record();
            }
            if let (Some(copies), Some([_, line])) = (&mut self.copies, self.lines) {
                copies.take(&self.learner, self.visited, line);
            }
            if self.rows().is_power_of_two() || self.rows() == watch.next_pause(self.rows() - 1) {
                watch.pause(self, chunk, first)?;
            }
        }
        if first == chunk.rows {
            chunk.bad_before(first).try_for_each(|bad| watch.skipped(bad))?;
        }
        Ok(first)
    }

    /// The number of rows until the next pause, at most a block.
    fn until_pause(&self, watch: &impl Watch) -> usize {
        let copy = if self.copies.is_some() { Copies::next_after(self.rows()) } else { u64::MAX };
        let next = (self.rows() + 1).next_power_of_two().min(watch.next_pause(self.rows())).min(copy);
        (next - self.rows()).min(BLOCK) as usize
    }

    /// The target of each row as a label, where the task is about classes.
    fn labels(&self, chunk: &Chunk) -> Result<Vec<Label>, Refused> {
        match self.metrics.task() {
            Task::Classes if chunk.targets.width > 0 => Ok(chunk.targets.labels()),
            Task::Numbers => numbers_only(chunk, self.learner.examples() > self.visited).map(|()| Vec::new()),
            _ => Ok(Vec::new()),
        }
    }

    /// Gives the labels of some rows the names of their classes. Only a row that is learned adds a class, as in the learner.
    fn name_classes(&self, chunk: &Chunk, labels: &mut [Label], rows: Range<usize>) {
        let mut new: Vec<Label> = Vec::new();
        for row in rows.start..rows.end.min(labels.len()) {
            if !chunk.known[row] {
                continue;
            }
            let label = &labels[row];
            if self.index.contains_key(label) || new.contains(label) {
                continue;
            }
            let name = label.clone().named_as(self.classes.iter().chain(&new));
            if chunk.is_example(row) && !self.index.contains_key(&name) && !new.contains(&name) {
                new.push(name.clone());
            }
            labels[row] = name;
        }
    }

    fn learn_block(&mut self, chunk: &Chunk, labels: &[Label], rows: Range<usize>) -> Result<(), Refused> {
        let batch = batch(chunk, labels, rows.clone(), self.metrics.task());
        let Run { learner, left, .. } = self;
        left.clear();
        let begun = Instant::now();
        learner.learn_with(&batch, |_, step| left.push(step)).map_err(|error| Refused::new(error.kind(), chunk, rows.start))?;
        self.learning += begun.elapsed();
        self.follow_classes();
        Ok(())
    }

    /// Adds the results of a block to the metrics and passes them to the observer.
    fn observe(&mut self, chunk: &Chunk, labels: &[Label], rows: Range<usize>, watch: &mut impl Watch) -> anyhow::Result<()> {
        let (d, task) = (chunk.features, self.metrics.task());
        let Run {
            metrics, progress, training, reservoir, replayed, visited, history, alerts, samples, classes, index, left, ..
        } = self;
        // The targets of a learner without names of classes are the numbers -1 and +1.
        let signs = classes_of(&self.learner).1.filter(|_| self.learner.classes().is_empty());
        let (large_targets, earlier_target) = (&mut self.large_targets, &mut self.earlier_target);
        let first_visit = training.is_none();
        let metrics = training.as_mut().map_or(metrics, |training| &mut training.metrics);
        for (row, step) in rows.zip(left.steps()) {
            *visited += 1;
            self.lines = Some([self.lines.map_or(chunk.lines[row], |lines| lines[0]), chunk.lines[row]]);
            if first_visit && chunk.is_example(row) {
                reservoir.offer(chunk, row);
                replayed.iter_mut().for_each(|sample| sample.offer(chunk, row));
            }
            chunk.bad_before(row).try_for_each(|bad| watch.skipped(bad))?;
            let positive = step.positive.or(signs);
            positive.into_iter().for_each(|class| metrics.positive_is(class));
            let class = metrics.said(step.scores).and_then(|c| Some((c, classes.get(c)?)));
            let positive = positive.and_then(|class| classes.get(class));
            watch.seen(&Seen { line: chunk.lines[row], step: &step, class, classes, positive, kept: chunk.kept(row) })?;
            let target = match task {
                Task::Classes if chunk.known[row] => {
                    // A class that only rows of weight 0 have is not known to the learner.
                    labels.get(row).and_then(|label| index.get(label)).map_or(Target::None, |class| Target::Class(*class))
                }
                Task::Numbers if chunk.known[row] => chunk.targets.row(row).map_or(Target::None, Target::Numbers),
                _ => Target::None,
            };
            let weight = chunk.weights.as_ref().map_or(1.0, |w| w[row]);
            // The alert rate is counted over the rows that are learned, as the engine's certificate counts it.
            let alert = step.outside.filter(|_| task == Task::Novelty && step.loss.is_some());
            let observed = Observed { scores: step.scores, target, loss: step.loss, weight, alert };
            if first_visit && task == Task::Novelty && step.outside == Some(true) && alert.is_none() {
                alerts.push_only_predicted();
            }
            let error = metrics.add_scored(&observed);
            if first_visit {
                progress.add(error, &observed);
                if let (Target::Numbers(y), Some(error)) = (target, error) {
                    large_targets.add(chunk.lines[row], y, error);
                    earlier_target.add(chunk, row, y[0]);
                }
            }
            if let Some(threshold) = step.threshold.filter(|_| task == Task::Novelty && first_visit) {
                history.compared(metrics.examples(), threshold);
            }
            if alert == Some(true) && first_visit {
                let (line, examples) = (chunk.lines[row], metrics.examples());
                alerts.push(Alert { line, examples, score: step.scores[0], threshold: step.threshold.unwrap_or(0.0) });
            }
            let drawn = task == Task::Novelty || target != Target::None;
            if let (2, true, Some(&[a, b])) = (d, drawn, chunk.x.get(2 * row..2 * row + 2)) {
                samples.push([a, b], sample_value(target, alert));
            }
        }
        Ok(())
    }

    /// Scores over the plane, for a stream of two features.
    ///
    /// # Errors
    /// Those of the learner.
    pub fn decision(&self, names: &[String], target: &str) -> anyhow::Result<Option<Decision>> {
        let [a, b] = names else { return Ok(None) };
        let reading = match self.metrics.task() {
            Task::Classes => Reading::Classes(self.class_names()),
            Task::Numbers => Reading::Numbers(target.into()),
            Task::Novelty => Reading::Novelty(self.learner.threshold().unwrap_or(0.0)),
        };
        let mut workspace = okl::Workspace::default();
        // The picture assumes that a single score is positive for the second class.
        let sign = if self.learner.positive() == Some(0) { -1.0 } else { 1.0 };
        let scores = |x: &[f64]| {
            let scores = self.learner.predict_with(&mut workspace, &Batch::of_f64(x, 2))?;
            okl::Result::Ok(scores.values.iter().map(|z| sign * z).collect())
        };
        Ok(Decision::evaluate([a.clone(), b.clone()], &self.samples, reading, scores)?)
    }

    /// Records the current state in the history.
    pub fn record(&mut self) {
        let (then, before) = self.last;
        let (now, examples) = (Instant::now(), self.examples());
        let seconds = (now - then).as_secs_f64();
        let speed = (seconds > 0.05 && examples > before).then(|| (examples - before) as f64 / seconds);
        let point = Point::now(&self.learner, &self.metrics, speed);
        self.history.record(match &self.training {
            Some(training) => point.in_training(examples, &training.metrics),
            None => point,
        });
        if speed.is_some() {
            self.last = (now, examples);
        }
    }
}

/// Figures for this learner, before the first row.
fn metrics(learner: &Learner, task: Task) -> Metrics {
    let (classes, positive) = classes_of(learner);
    let known = if task == Task::Classes { classes.len() } else { 0 };
    let mut metrics = Metrics::new(task, known).with_quantile(quantile(learner.config()));
    positive.into_iter().for_each(|class| metrics.positive_is(class));
    metrics
}

/// Some rows of a chunk as a learner takes them; `labels` are those of the whole chunk, where the task is about classes.
pub fn batch<'a>(chunk: &'a Chunk, labels: &'a [Label], rows: Range<usize>, task: Task) -> Batch<'a> {
    let width = chunk.targets.width;
    let targets = match chunk.targets.numbers() {
        Some(numbers) if task == Task::Numbers && width > 0 => Targets::Numbers(&numbers[rows.start * width..rows.end * width]),
        _ if !labels.is_empty() => Targets::Labels(&labels[rows.clone()]),
        _ => Targets::None,
    };
    let mut batch = chunk.batch(rows.clone()).targets(targets);
    if task != Task::Novelty {
        batch = batch.known(&chunk.known[rows.clone()]);
    }
    if let Some(weights) = &chunk.weights {
        batch = batch.weights(&weights[rows.clone()]);
    }
    match &chunk.ids {
        Some(ids) => batch.ids(&ids[rows]),
        None => batch,
    }
}

/// The value that decides the colour of a drawn row.
fn sample_value(target: Target<'_>, alert: Option<bool>) -> f64 {
    match target {
        Target::Class(class) => class as f64,
        Target::Numbers(y) => y[0],
        Target::None => f64::from(u8::from(alert == Some(true))),
    }
}
