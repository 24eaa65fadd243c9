//! One run over a stream: the loop between reader, learner, metrics and whoever watches.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use okl::{Batch, Label, Learner, Step, Targets};

use crate::input::Chunk;
use crate::metrics::{Metrics, Observed, Target, Task};
use crate::report::{Alert, Alerts, Decision, History, Point, Reading, Samples};

/// Set by Ctrl-C: the block is finished, the model is written.
pub static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Was Ctrl-C pressed?
pub fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// What a row left behind, for whoever writes predictions.
pub struct Seen<'a> {
    /// The input line.
    pub line: u64,
    /// Scores, loss, threshold.
    pub step: &'a Step<'a>,
    /// The class the scores stand for, if the task is about classes.
    pub class: Option<&'a Label>,
}

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
    /// Rows consumed, bad ones included.
    pub rows: u64,
    /// Bad rows skipped.
    pub skipped: u64,
    classes: Vec<Label>,
    index: HashMap<Label, usize>,
    started: Instant,
    last: (Instant, u64),
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
            rows: 0,
            skipped: 0,
            classes,
            index,
            started: now,
            last: (now, 0),
        }
    }

    /// Seconds since the beginning.
    pub fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// The names of the classes, as text.
    pub fn names(&self) -> Vec<String> {
        self.classes.iter().map(Label::to_string).collect()
    }

    /// Learns a chunk, or as much of it as there is time for before an interruption; returns how many rows. `pause` is called wherever a line of the table is due, between two blocks.
    ///
    /// # Errors
    /// If the learner refuses the chunk; `line` in the message is the input's.
    pub fn learn(
        &mut self,
        chunk: &Chunk,
        mut seen: impl FnMut(&Seen<'_>),
        mut pause: impl FnMut(&Run),
    ) -> anyhow::Result<usize> {
        if self.learner.features() > 0 && chunk.features > self.learner.features() {
            self.learner.widen(chunk.features)?;
        }
        let labels = self.labels(chunk);
        let mut first = 0;
        while first < chunk.rows && !interrupted() {
            let last = chunk.rows.min(first + self.until_pause());
            self.learn_part(chunk, &labels, first..last, &mut seen)?;
            self.rows += (last - first) as u64;
            first = last;
            if self.history.due(self.metrics.examples()) {
                self.record();
            }
            if self.rows.is_power_of_two() {
                pause(self);
                self.metrics.mark();
            }
        }
        self.rows += chunk.skipped;
        self.skipped += chunk.skipped;
        Ok(first)
    }

    /// Rows until the next line of the table, in blocks that keep Ctrl-C responsive.
    fn until_pause(&self) -> usize {
        let next = (self.rows + 1).next_power_of_two();
        ((next - self.rows) as usize).clamp(1, 256)
    }

    fn labels(&mut self, chunk: &Chunk) -> Vec<Label> {
        if self.metrics.task() != Task::Classes || chunk.targets.width == 0 {
            return Vec::new();
        }
        let labels = chunk.targets.labels();
        for (label, _) in labels.iter().zip(&chunk.known).filter(|(_, known)| **known) {
            if !self.index.contains_key(label) {
                self.index.insert(label.clone(), self.classes.len());
                self.classes.push(label.clone());
            }
        }
        labels
    }

    fn learn_part(
        &mut self,
        chunk: &Chunk,
        labels: &[Label],
        part: Range<usize>,
        seen: &mut impl FnMut(&Seen<'_>),
    ) -> anyhow::Result<()> {
        let (d, width, task) = (chunk.features, chunk.targets.width, self.metrics.task());
        let weights = chunk.weights.as_ref().map(|w| &w[part.clone()]);
        let numbers = chunk.targets.numbers().filter(|_| task == Task::Numbers && width > 0);
        let targets = match task {
            Task::Classes if !labels.is_empty() => Targets::Labels(&labels[part.clone()]),
            Task::Numbers if numbers.is_some() => Targets::Numbers(&numbers.unwrap_or(&[])[part.start * width..part.end * width]),
            _ => Targets::None,
        };
        let mut batch = Batch::new(&chunk.x[part.start * d..part.end * d], d).targets(targets);
        if task != Task::Novelty {
            batch = batch.known(&chunk.known[part.clone()]);
        }
        if let Some(weights) = weights {
            batch = batch.weights(weights);
        }
        if let Some(ids) = &chunk.ids {
            batch = batch.ids(&ids[part.clone()]);
        }
        let Run { learner, metrics, alerts, samples, classes, index, .. } = self;
        let mut scored = Vec::with_capacity(part.len());
        learner.learn_with(&batch, |i, step| scored.push((i, step.scores.to_vec(), step.loss, step.outside, step.threshold)))?;
        for (i, scores, loss, outside, threshold) in &scored {
            let row = part.start + i;
            let target = match task {
                Task::Classes if chunk.known[row] && !labels.is_empty() => Target::Class(index[&labels[row]]),
                Task::Numbers if chunk.known[row] && numbers.is_some() => {
                    Target::Numbers(&numbers.unwrap_or(&[])[row * width..(row + 1) * width])
                }
                _ => Target::None,
            };
            let weight = weights.map_or(1.0, |w| w[*i]);
            let alert = outside.filter(|_| task == Task::Novelty);
            metrics.add(&Observed { scores, target, loss: *loss, weight, alert });
            if alert == Some(true) {
                alerts.push(Alert { row: chunk.lines[row], score: scores[0], threshold: threshold.unwrap_or(0.0) });
            }
            if let &[a, b] = &chunk.x[row * d..(row + 1) * d] {
                let value = match target {
                    Target::Class(class) => class as f64,
                    Target::Numbers(y) => y[0],
                    Target::None => f64::from(u8::from(alert == Some(true))),
                };
                samples.push([a, b], value);
            }
            let class = metrics.said(scores).and_then(|c| classes.get(c));
            let step = Step { scores, loss: *loss, slot: None, outside: *outside, threshold: *threshold };
            seen(&Seen { line: chunk.lines[row], step: &step, class: class.filter(|_| task == Task::Classes) });
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
            Task::Classes => Reading::Classes(self.names()),
            Task::Numbers => Reading::Numbers(target.into()),
            Task::Novelty => Reading::Novelty(self.learner.threshold().unwrap_or(0.0)),
        };
        let mut workspace = okl::Workspace::default();
        let scores = |x: &[f32]| self.learner.predict(&mut workspace, x, 2).map(|s| s.values);
        Ok(Decision::evaluate([a.clone(), b.clone()], &self.samples, reading, scores)?)
    }

    /// Keeps a point of the run's course.
    pub fn record(&mut self) {
        let (then, before) = self.last;
        let (now, examples) = (Instant::now(), self.metrics.examples());
        let seconds = (now - then).as_secs_f64();
        let speed = (seconds > 0.05 && examples > before).then(|| (examples - before) as f64 / seconds);
        self.history.record(Point::now(&self.learner, &self.metrics, speed));
        self.last = (now, examples);
    }
}
