//! One run over a stream: the loop between reader, learner, metrics and whoever watches.

use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use okl::{Batch, Label, Learner, Step, Targets};

use crate::input::Chunk;
use crate::metrics::{Metrics, Observed, Summary, Target, Task};
use crate::report::{Alert, Alerts, Decision, History, Point, Reading, Samples};
use crate::signals;
use crate::watch::{Refused, Seen, Watch, numbers_only};

/// Has a signal asked the command to end? Then the block is finished and the model is written.
pub fn interrupted() -> bool {
    signals::received()
}

/// Rows that are learned at a time: few enough for a signal to be heard at once.
const BLOCK: u64 = 256;

/// A learner and everything that is measured while it learns.
pub struct Run {
    /// The learner.
    pub learner: Learner,
    /// How good it is.
    pub metrics: Metrics,
    /// Its course.
    pub history: History,
    /// What it found novel.
    pub alerts: Alerts,
    /// The last rows of a stream of two features.
    pub samples: Samples,
    classes: Vec<Label>,
    index: HashMap<Label, usize>,
    left: Left,
    started: Instant,
    learning: Duration,
    last: (Instant, u64),
}

/// What the rows of a block left behind.
#[derive(Default)]
struct Left {
    /// Row by row; a class that appears within the block makes rows longer.
    scores: Vec<f64>,
    /// Where each row's scores end, and the rest of it.
    rows: Vec<(usize, Step<'static>)>,
}

impl Left {
    fn clear(&mut self) {
        self.scores.clear();
        self.rows.clear();
    }

    fn push(&mut self, step: &Step<'_>) {
        self.scores.extend_from_slice(step.scores);
        self.rows.push((self.scores.len(), Step { scores: &[], ..*step }));
    }

    fn steps(&self) -> impl Iterator<Item = Step<'_>> {
        let mut from = 0;
        self.rows.iter().map(move |(end, step)| Step { scores: &self.scores[std::mem::replace(&mut from, *end)..*end], ..*step })
    }
}

impl Run {
    /// Before the first row.
    pub fn new(learner: Learner, task: Task) -> Self {
        let classes = learner.classes().to_vec();
        let index = classes.iter().cloned().zip(0..).collect();
        let outputs = if task == Task::Classes { classes.len() } else { 0 };
        let now = Instant::now();
        Run {
            learner,
            metrics: Metrics::new(task, outputs),
            history: History::default(),
            alerts: Alerts::default(),
            samples: Samples::default(),
            classes,
            index,
            left: Left::default(),
            started: now,
            learning: Duration::ZERO,
            last: (now, 0),
        }
    }

    /// Rows so far.
    pub fn rows(&self) -> u64 {
        self.metrics.rows()
    }

    /// Seconds since the beginning.
    pub fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Seconds of these that the learner took.
    pub fn learn_seconds(&self) -> f64 {
        self.learning.as_secs_f64()
    }

    /// The figures; `targets` are the outputs' names, where they are numbers.
    pub fn summary(&self, targets: &[String]) -> Summary {
        match self.metrics.task() {
            Task::Numbers => self.metrics.summary(targets),
            _ => self.metrics.summary(&self.class_names()),
        }
    }

    fn class_names(&self) -> Vec<String> {
        self.classes.iter().map(Label::to_string).collect()
    }

    /// Learns a chunk, or as much of it as there is time for before an interruption; returns how many rows.
    ///
    /// # Errors
    /// [`Refused`], if the learner refuses a row: the blocks before it have been learned; and what the watcher says.
    pub fn learn(&mut self, chunk: &Chunk, watch: &mut impl Watch) -> anyhow::Result<usize> {
        if self.learner.features() > 0 && chunk.features > self.learner.features() {
            self.learner.widen(chunk.features)?;
        }
        let labels = self.labels(chunk)?;
        let mut first = 0;
        while first < chunk.rows && !interrupted() {
            let last = chunk.rows.min(first + self.until_pause(watch));
            self.learn_block(chunk, &labels, first..last)?;
            self.observe(chunk, &labels, first..last, watch)?;
            first = last;
            if self.history.due(self.metrics.examples()) {
                self.record();
            }
            if self.rows().is_power_of_two() || self.rows() == watch.next_pause(self.rows() - 1) {
                watch.pause(self, chunk, first)?;
            }
        }
        if first == chunk.rows {
            chunk.bad_before(first).try_for_each(|line| watch.skipped(line))?;
        }
        Ok(first)
    }

    /// Rows until the next pause, but no more than a block.
    fn until_pause(&self, watch: &impl Watch) -> usize {
        let next = (self.rows() + 1).next_power_of_two().min(watch.next_pause(self.rows()));
        (next - self.rows()).min(BLOCK) as usize
    }

    /// The class of each row, where the task is about classes.
    fn labels(&mut self, chunk: &Chunk) -> Result<Vec<Label>, Refused> {
        match self.metrics.task() {
            Task::Classes if chunk.targets.width > 0 => {}
            Task::Numbers => return numbers_only(chunk).map(|()| Vec::new()),
            _ => return Ok(Vec::new()),
        }
        let labels = chunk.targets.labels();
        for (label, _) in labels.iter().zip(&chunk.known).filter(|(_, known)| **known) {
            if !self.index.contains_key(label) {
                self.index.insert(label.clone(), self.classes.len());
                self.classes.push(label.clone());
            }
        }
        Ok(labels)
    }

    fn learn_block(&mut self, chunk: &Chunk, labels: &[Label], rows: Range<usize>) -> Result<(), Refused> {
        let batch = batch(chunk, labels, rows.clone(), self.metrics.task());
        let Run { learner, left, .. } = self;
        left.clear();
        let begun = Instant::now();
        learner.learn_with(&batch, |_, step| left.push(step)).map_err(|error| Refused::new(error.kind(), chunk, rows.start))?;
        self.learning += begun.elapsed();
        Ok(())
    }

    /// Counts what a block left behind and shows it to whoever watches.
    fn observe(&mut self, chunk: &Chunk, labels: &[Label], rows: Range<usize>, watch: &mut impl Watch) -> anyhow::Result<()> {
        let (d, task) = (chunk.features, self.metrics.task());
        let Run { metrics, alerts, samples, classes, index, left, .. } = self;
        for (row, step) in rows.zip(left.steps()) {
            chunk.bad_before(row).try_for_each(|line| watch.skipped(line))?;
            let class = metrics.said(step.scores).and_then(|c| Some((c, classes.get(c)?)));
            watch.seen(&Seen { line: chunk.lines[row], step: &step, class })?;
            let target = match task {
                Task::Classes if chunk.known[row] => labels.get(row).map_or(Target::None, |label| Target::Class(index[label])),
                Task::Numbers if chunk.known[row] => chunk.targets.row(row).map_or(Target::None, Target::Numbers),
                _ => Target::None,
            };
            let weight = chunk.weights.as_ref().map_or(1.0, |w| w[row]);
            let alert = step.outside.filter(|_| task == Task::Novelty);
            metrics.add(&Observed { scores: step.scores, target, loss: step.loss, weight, alert });
            if alert == Some(true) {
                let (line, examples) = (chunk.lines[row], metrics.examples());
                alerts.push(Alert { line, examples, score: step.scores[0], threshold: step.threshold.unwrap_or(0.0) });
            }
            if let &[a, b] = &chunk.x[row * d..(row + 1) * d] {
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
        let scores = |x: &[f64]| self.learner.predict_batch(&mut workspace, &Batch::of_f64(x, 2)).map(|s| s.values);
        Ok(Decision::evaluate([a.clone(), b.clone()], &self.samples, reading, scores)?)
    }

    /// Keeps a point of the run's course.
    pub fn record(&mut self) {
        let (then, before) = self.last;
        let (now, examples) = (Instant::now(), self.metrics.examples());
        let seconds = (now - then).as_secs_f64();
        let speed = (seconds > 0.05 && examples > before).then(|| (examples - before) as f64 / seconds);
        self.history.record(Point::now(&self.learner, &self.metrics, speed));
        if speed.is_some() {
            self.last = (now, examples);
        }
    }
}

/// Some rows of a chunk as a learner takes them; `labels` are those of the whole chunk, where the task is about classes.
pub fn batch<'a>(chunk: &'a Chunk, labels: &'a [Label], rows: Range<usize>, task: Task) -> Batch<'a> {
    let (d, width) = (chunk.features, chunk.targets.width);
    let targets = match chunk.targets.numbers() {
        Some(numbers) if task == Task::Numbers && width > 0 => Targets::Numbers(&numbers[rows.start * width..rows.end * width]),
        _ if !labels.is_empty() => Targets::Labels(&labels[rows.clone()]),
        _ => Targets::None,
    };
    let mut batch = Batch::of_f64(&chunk.x[rows.start * d..rows.end * d], d).targets(targets);
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

/// What a row of two features is drawn as.
fn sample_value(target: Target<'_>, alert: Option<bool>) -> f64 {
    match target {
        Target::Class(class) => class as f64,
        Target::Numbers(y) => y[0],
        Target::None => f64::from(u8::from(alert == Some(true))),
    }
}
