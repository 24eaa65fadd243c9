//! How well a model did while it learned: the errors of rows that were predicted before they were learned, over all runs.
//!
//! Only sums are kept, and a run continues the sums of the model file. So an interruption changes no bit of them.

use okl::Learner;
use okl::loss::{Loss, Reads};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use crate::certificates::{Deviations, Measured};
use crate::learned_rows::Equal;
use crate::metrics::{Observed, Target, Task, count, figure, percent};

/// Sums over examples, each counted when it was first seen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    all: Errors,
    /// The examples between the last two powers of two, and those after the last: the recent ones.
    before: Errors,
    since: Errors,
    /// For a single number as target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    numbers: Option<Numbers>,
    /// None in files of older versions, whose sums are not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    learned: Option<Learned>,
    /// The number of examples of the learner when these sums were saved. None in files of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    saved: Option<u64>,
    /// The examples that the model learned from another program (Python, a server): they are not in the sums.
    #[serde(default, skip_serializing_if = "is_zero")]
    elsewhere: u64,
    /// The examples that are equal to rows of an earlier run, which the model had learned.
    #[serde(default, skip_serializing_if = "Equal::is_none")]
    again: Equal,
    /// Whether an example has a weight other than 1. Files of older versions know only the sum of the weights.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    weighted: bool,
    /// Whether the learner was in its warm-up when this run began.
    #[serde(skip)]
    warming_up: bool,
}

/// Adds to the words about a model that its first rows, `replayed` of them, came in a random order. `examples`: the examples that it has learned.
pub fn in_random_order(did: String, replayed: Option<u64>, examples: u64) -> String {
    match replayed.filter(|_| !did.is_empty()) {
        Some(rows) if examples > rows => {
            format!("{did}; the first {} examples came in a random order, not in that of their file", count(rows as f64))
        }
        Some(rows) => format!("{did}; of {} rows in a random order, not in that of the file", count(rows as f64)),
        None => did,
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Sums over the rows that were learned: the losses, and the scores with their squared deviations (Welford).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Learned {
    #[serde(deserialize_with = "number")]
    loss: f64,
    /// The number of losses, if they are those of the regret certificate. None after a warm-up, which learns its rows again with other settings; for
    /// the member of a bank, which has the losses of the bank; and in files of older versions, where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    certified: Option<u64>,
    /// All scores of all rows together.
    #[serde(flatten)]
    scores: Scores,
    /// Of several targets: the scores of each. Empty in files of older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    by_target: Vec<Scores>,
}

/// The number of some scores, their mean and the sum of their squared deviations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Scores {
    scores: u64,
    #[serde(deserialize_with = "number")]
    mean: f64,
    #[serde(deserialize_with = "number")]
    squares: f64,
}

impl Scores {
    fn add(&mut self, score: f64) {
        self.scores += 1;
        let away = score - self.mean;
        self.mean += away / self.scores as f64;
        self.squares += away * (score - self.mean);
    }

    fn deviation(&self) -> Option<f64> {
        (self.scores > 1).then(|| (self.squares / self.scores as f64).sqrt()).filter(|deviation| deviation.is_finite())
    }
}

impl Learned {
    fn add(&mut self, loss: f64, row: &Observed<'_>) {
        self.loss += loss;
        self.certified.iter_mut().for_each(|rows| *rows += 1);
        row.scores.iter().for_each(|score| self.scores.add(*score));
        if matches!(row.target, Target::Numbers([_, _, ..])) {
            self.by_target.resize(row.scores.len(), Scores::default());
            self.by_target.iter_mut().zip(row.scores).for_each(|(of, score)| of.add(*score));
        }
    }

    /// The standard deviation of the scores, of several targets that of each. None if an older version of okl has counted the scores of several
    /// targets together.
    fn deviations(&self, numbers: usize) -> Option<Deviations> {
        if numbers < 2 {
            return self.scores.deviation().map(Deviations::one);
        }
        let counted: u64 = self.by_target.iter().map(|of| of.scores).sum();
        let each: Vec<f64> = self.by_target.iter().filter_map(Scores::deviation).collect();
        (counted == self.scores.scores && each.len() == numbers).then(|| Deviations::of_targets(&each)).flatten()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Errors {
    examples: u64,
    #[serde(deserialize_with = "number")]
    weight: f64,
    #[serde(deserialize_with = "number")]
    error: f64,
}

/// Sums of squares, for R².
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Numbers {
    #[serde(deserialize_with = "number")]
    weight: f64,
    #[serde(deserialize_with = "number")]
    mean: f64,
    #[serde(deserialize_with = "number")]
    squares: f64,
    #[serde(deserialize_with = "number")]
    residuals: f64,
}

/// JSON has no infinite numbers: a sum that overflowed is stored as null.
fn number<'de, D: Deserializer<'de>>(json: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(json)?.unwrap_or(f64::NAN))
}

impl Errors {
    fn add(&mut self, error: f64, weight: f64) {
        self.examples += 1;
        self.weight += weight;
        self.error += weight * error;
    }

    fn and(self, other: Errors) -> Errors {
        let Errors { examples, weight, error } = other;
        Errors { examples: self.examples + examples, weight: self.weight + weight, error: self.error + error }
    }

    fn mean(self) -> Option<f64> {
        Some(self.error / self.weight).filter(|mean| mean.is_finite())
    }
}

impl Progress {
    /// Adds an example with its error; a row without one is not counted.
    pub fn add(&mut self, error: Option<f64>, row: &Observed<'_>) {
        if self.is_empty() {
            self.learned = Some(Learned { certified: (!self.warming_up).then_some(0), ..Learned::default() });
        }
        if let (Some(learned), Some(loss)) = (&mut self.learned, row.loss) {
            learned.add(loss, row);
        }
        self.weighted |= row.weight > 0.0 && row.weight != 1.0;
        let Some(error) = error else { return };
        self.all.add(error, row.weight);
        self.since.add(error, row.weight);
        if self.all.examples.is_power_of_two() {
            self.before = std::mem::take(&mut self.since);
        }
        if let (Target::Numbers(&[y]), &[score]) = (row.target, row.scores) {
            let Numbers { weight, mean, squares, residuals } = self.numbers.get_or_insert_default();
            *weight += row.weight;
            let away = y - *mean;
            *mean += away * row.weight / *weight;
            *squares += row.weight * away * (y - *mean);
            *residuals += row.weight * (y - score) * (y - score);
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.all.examples == 0 && self.learned.is_none() && self.elsewhere == 0
    }

    /// Whether another program has learned examples of the model.
    pub fn is_partly_elsewhere(&self) -> bool {
        self.elsewhere > 0
    }

    /// The number of rows, each counted once in all its passes; not known of a model without these sums.
    pub fn rows(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.all.examples + self.elsewhere)
    }

    /// Counts the examples that a learner has learned from another program since these sums were saved.
    pub fn meet(&mut self, learner: &Learner) {
        let counted = match self.saved {
            Some(saved) => saved,
            None if self.is_empty() => 0,
            None => learner.examples(),
        };
        self.elsewhere += learner.examples().saturating_sub(counted);
        self.saved = Some(learner.examples());
        self.warming_up = learner.warming_up();
        if self.elsewhere > 0 {
            self.learned = None;
        }
    }

    /// The same sums for the member of a bank, which were measured with the bank.
    pub fn of_member(mut self) -> Progress {
        self.learned.iter_mut().for_each(|learned| learned.certified = None);
        self
    }

    /// The examples so far that are equal to rows of an earlier run.
    pub fn again(&self) -> Equal {
        self.again
    }

    /// The same sums with this number of examples that are equal to rows of an earlier run.
    pub fn with_again(&self, again: Equal) -> Progress {
        Progress { again, ..self.clone() }
    }

    /// The sums as they are saved with a learner.
    pub fn saved_with(&self, learner: &Learner) -> Progress {
        Progress { saved: Some(learner.examples()), ..self.clone() }
    }

    /// The sum of the losses and the deviations of the scores of this learner, against which certificates are held.
    pub fn measured(&self, learner: &Learner) -> Measured {
        // Rows that another program has learned may have weights.
        let weighted = Some(self.is_weighted()).filter(|weighted| *weighted || self.elsewhere == 0 && !self.is_empty());
        let Some(learned) = &self.learned else { return Measured { weighted, ..Measured::default() } };
        let targets = if learner.config().loss.reads() == Reads::Vector { learner.outputs() } else { 1 };
        let score_deviation = learned.deviations(targets);
        let certified = learned.certified == Some(learner.examples());
        let total_loss = Some(learned.loss).filter(|loss| loss.is_finite() && certified);
        Measured { score_deviation, total_loss, total_weight: self.all.weight, weighted }
    }

    /// Whether examples that were counted have weights other than 1.
    fn is_weighted(&self) -> bool {
        self.weighted || self.all.weight != self.all.examples as f64
    }

    fn r2(&self) -> Option<f64> {
        let Numbers { squares, residuals, .. } = self.numbers?;
        Some(1.0 - residuals / squares).filter(|r2| r2.is_finite())
    }

    /// The mean quantile loss, in the unit of the targets; none for other losses, and where it is not known.
    fn pinball(&self, quantile: Option<f64>) -> Option<f64> {
        quantile.and(self.learned.as_ref()).map(|learned| learned.loss / self.all.weight).filter(|loss| loss.is_finite())
    }

    /// One sentence; empty if there is no example. `quantile`: the quantile that the model predicts, if its loss is in the unit of the targets.
    pub fn words(&self, task: Task, quantile: Option<f64>) -> String {
        let recent = self.before.and(self.since);
        let elsewhere = match self.elsewhere {
            0 => String::new(),
            1 => "1 example was learned by another program (Python or a server) and is not counted here".into(),
            n => format!(
                "{} examples were learned by another program (Python or a server) and are not counted here",
                count(n as f64)
            ),
        };
        let (Some(all), Some(late)) = (self.all.mean(), recent.mean()) else { return elsewhere };
        let weighted = if self.is_weighted() { " by their weights" } else { "" };
        let examples = match self.all.examples {
            1 => format!("over 1 example{weighted}, {}", self.again.predicted()),
            examples => format!("over {} examples{weighted}, {}", count(examples as f64), self.again.predicted()),
        };
        // A quantile is not meant to be close to the target: its error and its R² say nothing.
        if let Some(loss) = self.pinball(quantile) {
            return format!("mean quantile (pinball) loss {} {examples}", figure(loss));
        }
        let (name, show): (_, fn(f64) -> String) = match task {
            Task::Classes => ("error", percent),
            Task::Numbers => ("mean absolute error", figure),
            Task::Novelty => ("alert rate", percent),
        };
        let r2 = self.r2().filter(|_| quantile.is_none()).map_or(String::new(), |r2| format!(" (R² {})", figure(r2)));
        let late = format!("{} over the last {}", show(late), count(recent.examples as f64));
        format!(
            "{name} {}{r2} {examples}; {}",
            show(all),
            if elsewhere.is_empty() { late } else { format!("{late} of these; {elsewhere}") }
        )
    }

    /// The same as JSON; null if there is no example.
    pub fn to_json(&self, quantile: Option<f64>) -> Value {
        let recent = self.before.and(self.since);
        match self.all.examples == 0 {
            true => Value::Null,
            false => json!({
                "examples": self.all.examples, "weight": self.all.weight, "error": self.all.mean(), "r2": self.r2().filter(|_| quantile.is_none()),
                "pinball_loss": self.pinball(quantile),
                "recent_examples": recent.examples, "recent_error": recent.mean(), "examples_elsewhere": self.elsewhere,
                "examples_of_earlier_runs": self.again.rows, "examples_of_earlier_runs_at_least": self.again.at_least,
                "examples_of_earlier_runs_estimated": self.again.estimated,
            }),
        }
    }
}
