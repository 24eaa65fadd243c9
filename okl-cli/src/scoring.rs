//! Measures the current model on rows with targets: a held-out file, or a sample of the rows that it has learned.

use std::collections::BTreeMap;

use okl::loss::AnyLoss;
use okl::{ClippedRows, Config, Label, Learner, Workspace};

use crate::input::{Chunk, Files, Format, Options, read_ahead};
use crate::learn::task_of;
use crate::learned_rows::{Lookup, measured, on_new_rows};
use crate::left_out::{LeftOut, listed};
use crate::metrics::{Metrics, NotLearned, Observed, Summary, Target, Task, count};
use crate::predict::{check_width, classes_of, fitted, refuse};
use crate::run::interrupted;
use crate::store::Position;
use crate::watch::{Refused, numbers_only};

/// The quantile that a learner predicts; none for other losses.
pub fn quantile(config: &Config) -> Option<f64> {
    match *config.loss {
        AnyLoss::Quantile { q } => Some(q),
        _ => None,
    }
}

/// The largest number of groups. The figures of a group take about 300 kB.
pub const MOST_GROUPS: usize = 200;

/// The figures of a model over files.
pub struct Scored {
    /// Over all rows.
    pub summary: Summary,
    /// Over the rows with the same text in the first column of [`Options::keep`], in the order of the texts.
    pub groups: Vec<(String, Summary)>,
    /// What was ignored, and rows that could not be scored as they are; one sentence each.
    pub said: Vec<String>,
    /// The rows with values that the model clips.
    pub clipped: ClippedRows,
    /// The columns with such values, with the number of rows, most rows first.
    pub clipped_columns: Vec<(String, u64)>,
    /// The format of the data.
    pub format: Format,
}

/// Scores every row of some files. Cells without a value are filled from what the model has seen; `position` is that of the model.
///
/// # Errors
/// Those of the files; and if there are too many groups.
pub fn score(learner: &Learner, paths: &[String], options: Options, position: &Position) -> anyhow::Result<Scored> {
    let (mut filled, mut learned, mut lookup) = (position.filled.clone(), Learned::new(position), Lookup::new(&position.learned));
    let (task, named) = (task_of(learner.config()), options.schema.is_some());
    let by = options.keep.first().cloned();
    let mut chunks = read_ahead(Files::open(paths, options)?, 4)?;
    let (mut scoring, mut left_out) = (Scoring::new(learner, task), LeftOut::new(chunks.schema(), chunks.format()));
    let mut clipped = ClippedRows::default();
    while let Some(mut chunk) = chunks.next_unless(interrupted).transpose()? {
        let path = &paths[chunk.file];
        if !named {
            check_width(learner, path, chunks.schema(), chunk.features, false)?;
        }
        if task == Task::Numbers {
            numbers_only(&chunk, true).map_err(|refused| {
                let line = chunks.places().of(refused.line).1;
                Refused { line, ..refused }.of(path, chunks.schema())
            })?;
        }
        filled.fill(&mut chunk, chunks.schema());
        left_out.count(&chunk, learner.features());
        learned.count(&chunk);
        lookup.count_examples(&chunk, 0..chunk.rows, task);
        scoring.add(&chunk)?;
        clipped.count(learner, &fitted(&chunk, learner.features()).batch(0..chunk.rows));
        if let Some(by) = by.as_ref().filter(|_| scoring.groups.len() > MOST_GROUPS) {
            anyhow::bail!("--by {by}: more than {MOST_GROUPS} different texts; choose a column with fewer");
        }
    }
    refuse(left_out.nothing_known(&paths.join(", "), chunks.schema(), learner.features(), !interrupted()))?;
    let learned = if lookup.is_more_than(learned.share()) { lookup.sentence(task) } else { learned.sentence(task) };
    let schema = chunks.schema();
    let beyond = clipped.finding(learner, |column| schema.name(column));
    let said = left_out.sentences().into_iter().chain(beyond).chain(scoring.unknown_classes()).chain(learned).collect();
    let clipped_columns = clipped.columns().into_iter().map(|(column, rows)| (schema.name(column), rows)).collect();
    let (summary, groups) = (scoring.summary(&schema.targets), scoring.group_summaries(&schema.targets));
    Ok(Scored { summary, groups, said, clipped, clipped_columns, format: chunks.format() })
}

/// Counts the rows at the beginning of the last run of the model, so that figures in sample are not taken for those of new rows.
struct Learned {
    /// The fingerprint of all rows that the model learned in its last pass.
    print: Option<u64>,
    /// The rows that are measured, and the others.
    rows: u64,
    only_predicted: u64,
    /// The measured rows up to the one with that fingerprint.
    found: Option<u64>,
}

impl Learned {
    fn new(position: &Position) -> Self {
        Learned { print: position.print, rows: 0, only_predicted: 0, found: None }
    }

    fn count(&mut self, chunk: &Chunk) {
        if let (Some(print), None) = (self.print, self.found) {
            let examples = |last| (0..=last).filter(|row| chunk.is_example(*row)).count() as u64;
            self.found = chunk.prints.iter().position(|p| *p == print).map(|row| self.rows + examples(row));
        }
        let examples = (0..chunk.rows).filter(|row| chunk.is_example(*row)).count() as u64;
        self.rows += examples;
        self.only_predicted += chunk.rows as u64 - examples;
    }

    /// The share of the rows that were learned in the last run, as far as these are the first rows.
    fn share(&self) -> f64 {
        self.found.map_or(0.0, |found| found as f64 / self.rows.max(1) as f64)
    }

    fn sentence(&self, task: Task) -> Option<String> {
        let learned = self.found.filter(|learned| *learned > 0)?;
        let rows = measured(self.rows, self.only_predicted, task);
        let which = match learned == self.rows {
            true if self.only_predicted == 0 => "the model has learned these rows".to_owned(),
            true => format!("the model has learned {rows}"),
            false => format!("the model has learned the first {} of {rows}", count(learned as f64)),
        };
        Some(format!("{which}: {}", on_new_rows(task)))
    }
}

/// Figures of a model over rows that it only predicts.
pub struct Scoring<'a> {
    learner: &'a Learner,
    classes: Vec<Label>,
    metrics: Metrics,
    /// Figures by the first text that is kept of a row.
    groups: BTreeMap<String, Metrics>,
    workspace: Workspace,
    /// Of several targets one each; scores of classes are counted together.
    scores: Vec<Spread>,
    /// Rows of a class that the model does not know.
    of_unknown: u64,
}

impl<'a> Scoring<'a> {
    /// Figures before the first row.
    pub fn new(learner: &'a Learner, task: Task) -> Self {
        let (classes, positive) = classes_of(learner);
        let classes = classes.to_vec();
        let known = if task == Task::Classes { classes.len() } else { 0 };
        let mut metrics = Metrics::new(task, known).with_quantile(quantile(learner.config())).predict_only();
        positive.into_iter().for_each(|class| metrics.positive_is(class));
        let groups = BTreeMap::new();
        Scoring { learner, classes, metrics, groups, workspace: Workspace::default(), scores: Vec::new(), of_unknown: 0 }
    }

    /// Scores the rows of a chunk. A class that the model has never seen counts as a mistake.
    ///
    /// # Errors
    /// Those of the learner.
    pub fn add(&mut self, chunk: &Chunk) -> okl::Result<()> {
        let (task, features, known) = (self.metrics.task(), self.learner.features(), classes_of(self.learner).0.len());
        let rows = fitted(chunk, features);
        let scores = self.learner.predict_with(&mut self.workspace, &rows.batch(0..chunk.rows))?;
        let labels = if task == Task::Classes { chunk.targets.labels() } else { Vec::new() };
        let threshold = self.learner.threshold().filter(|_| task == Task::Novelty);
        let empty = Scoring::new(self.learner, task).metrics;
        for row in 0..chunk.rows {
            let target = match task {
                Task::Classes if chunk.known[row] => Target::Class(place(&labels[row], &mut self.classes)),
                Task::Numbers if chunk.known[row] => chunk.targets.row(row).map_or(Target::None, Target::Numbers),
                _ => Target::None,
            };
            let unknown = matches!(target, Target::Class(class) if class >= known);
            self.of_unknown += u64::from(unknown);
            let weight = chunk.weights.as_ref().map_or(1.0, |w| w[row]);
            let (scores, alert) = (scores.row(row), threshold.map(|threshold| scores.row(row)[0] < threshold));
            let spreads = if task == Task::Numbers { scores.len() } else { 1 };
            self.scores.resize_with(spreads, Spread::default);
            scores.iter().zip((0..spreads).cycle()).for_each(|(score, of)| self.scores[of].add(*score));
            let observed = Observed { scores, target, loss: None, weight, alert };
            self.metrics.add(&observed);
            if let Some(group) = chunk.kept(row).first()
                && (self.groups.len() <= MOST_GROUPS || self.groups.contains_key(group))
            {
                self.groups.entry(group.clone()).or_insert_with(|| empty.clone()).add(&observed);
            }
        }
        Ok(())
    }

    /// Scores the rows of a chunk, as [`Self::add`]; returns their error.
    ///
    /// # Errors
    /// Those of the learner.
    pub fn error_of(&mut self, chunk: &Chunk) -> okl::Result<Option<f64>> {
        self.metrics.mark();
        self.add(chunk)?;
        Ok(self.metrics.error_since())
    }

    /// The figures of each group.
    fn group_summaries(&self, targets: &[String]) -> Vec<(String, Summary)> {
        self.groups.iter().map(|(group, metrics)| (group.clone(), self.summary_of(metrics, targets))).collect()
    }

    /// The figures; `targets` are the outputs' names, where they are numbers.
    pub fn summary(&self, targets: &[String]) -> Summary {
        self.summary_of(&self.metrics, targets)
    }

    fn summary_of(&self, metrics: &Metrics, targets: &[String]) -> Summary {
        let names: Vec<String> = match self.metrics.task() {
            Task::Classes => self.classes.iter().map(Label::to_string).collect(),
            _ => targets.to_vec(),
        };
        let summary = metrics.summary(&names);
        // No row is learned here, so a count of rows that the learner did not learn would be misleading.
        Summary { not_learned: NotLearned { by_the_learner: 0, ..summary.not_learned }, ..summary }
    }

    /// One sentence, if rows have a class that the model does not know.
    pub fn unknown_classes(&self) -> Option<String> {
        let known = classes_of(self.learner).0.len();
        let names: Vec<String> = self.classes.iter().skip(known).map(Label::to_string).collect();
        let (rows, have) = match self.of_unknown {
            1 => ("1 row".into(), "it counts as wrong"),
            rows => (format!("{} rows", count(rows as f64)), "they count as wrong"),
        };
        let of = if names.len() == 1 { "of the class" } else { "of the classes" };
        (!names.is_empty()).then(|| format!("{rows} {of} {}, which the model does not know: {have}", listed(&names)))
    }

    /// The running figures.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The standard deviation of the scores; of several targets the least one.
    pub fn score_deviation(&self) -> Option<f64> {
        self.scores.iter().map(Spread::deviation).collect::<Option<Vec<f64>>>()?.into_iter().min_by(f64::total_cmp)
    }
}

/// The number of a class; a new class is added at the end.
fn place(label: &Label, classes: &mut Vec<Label>) -> usize {
    let label = label.clone().named_as(classes.iter());
    classes.iter().position(|c| *c == label).unwrap_or_else(|| {
        classes.push(label);
        classes.len() - 1
    })
}

/// Mean and sum of squared deviations (Welford).
#[derive(Default)]
struct Spread {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Spread {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        let away = value - self.mean;
        self.mean += away / self.count;
        self.squares += away * (value - self.mean);
    }

    fn deviation(&self) -> Option<f64> {
        (self.count > 1.0).then(|| (self.squares / self.count).sqrt())
    }
}
