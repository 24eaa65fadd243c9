//! Which rows a model has learned: a sample of their fingerprints, stored in the model file.
//!
//! The fingerprint of a row is a hash of what the model reads of it (`input/marks.rs`). The smallest fingerprints are kept (a bottom-k sketch), so the sample does not depend
//! on the order of the rows, on runs and on passes. In another file, the rows whose fingerprints are not larger than the largest one of the
//! sample are looked up: those of them that are known are equal to learned rows, so their number is a lower bound. It is not scaled up to all rows:
//! where many rows of the file are equal to each other, the share of the rows that are looked up can be far from that of all rows.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::input::Chunk;
use crate::metrics::{Task, count};

/// Fingerprints that are kept at most.
pub const MOST: usize = 512;
/// Bits of a fingerprint that are dropped. The others are enough to tell rows apart and take little room in the model file.
pub const DROPPED: u32 = 24;

/// The smallest fingerprints of the rows that a model has learned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LearnedRows(BTreeSet<u64>);

impl LearnedRows {
    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the learned rows of a chunk.
    pub fn add(&mut self, chunk: &Chunk, rows: std::ops::Range<usize>, task: Task) {
        rows.filter(|row| chunk.is_example(*row))
            .filter_map(|row| chunk.mark(row, task))
            .for_each(|mark| self.insert(mark >> DROPPED));
    }

    /// Adds the fingerprint of a row.
    pub fn insert(&mut self, mark: u64) {
        if self.0.len() < MOST {
            self.0.insert(mark);
        } else if mark < self.largest() && self.0.insert(mark) {
            self.0.pop_last();
        }
    }

    /// The fingerprints of the sample, in ascending order.
    pub fn marks(&self) -> impl Iterator<Item = u64> {
        self.0.iter().copied()
    }

    fn largest(&self) -> u64 {
        self.0.last().copied().unwrap_or(0)
    }

    /// Whether the sample has all rows.
    fn is_complete(&self) -> bool {
        self.0.len() < MOST
    }
}

/// Counts the rows of a file that are equal to learned rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lookup {
    learned: LearnedRows,
    /// The rows that are measured or learned, and those that are only predicted.
    rows: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    only_predicted: u64,
    looked_up: u64,
    known: u64,
    /// Whether the model had learned rows before.
    #[serde(default)]
    resumed: bool,
}

impl Lookup {
    /// Before the first row.
    pub fn new(learned: &LearnedRows) -> Self {
        Lookup { learned: learned.clone(), ..Lookup::default() }
    }

    /// For a model that goes on with other rows.
    pub fn resumed(learned: &LearnedRows) -> Self {
        Lookup { resumed: true, ..Lookup::new(learned) }
    }

    /// Whether no row was learned before.
    pub fn is_none(&self) -> bool {
        self.is_empty() && !self.resumed
    }

    /// Whether there are no learned rows to compare with.
    pub fn is_empty(&self) -> bool {
        self.learned.is_empty()
    }

    /// Looks up some rows of a chunk, of those that are measured or learned.
    pub fn count_examples(&mut self, chunk: &Chunk, rows: std::ops::Range<usize>, task: Task) {
        self.only_predicted += rows.clone().filter(|row| !chunk.is_example(*row)).count() as u64;
        for mark in rows.filter(|row| chunk.is_example(*row)).filter_map(|row| chunk.mark(row, task)) {
            self.rows += 1;
            self.look_up(mark);
        }
    }

    fn look_up(&mut self, mark: u64) {
        let mark = mark >> DROPPED;
        if !self.learned.is_empty() && (self.learned.is_complete() || mark <= self.learned.largest()) {
            self.looked_up += 1;
            self.known += u64::from(self.learned.0.contains(&mark));
        }
    }

    /// The number of rows that are equal to learned rows.
    pub fn equal(&self) -> Equal {
        let at_least = !self.is_none() && !self.is_counted();
        Equal { rows: self.known, compared: self.looked_up, at_least, estimated: false }
    }

    /// Whether all rows were looked up.
    fn is_counted(&self) -> bool {
        self.looked_up == self.rows
    }

    /// Whether clearly more rows are known than this share.
    pub fn is_more_than(&self, share: f64) -> bool {
        let chance = 1.5 / (self.looked_up as f64).sqrt(); // three standard errors of a half
        let chance = if self.is_counted() || share == 0.0 { 0.0 } else { chance };
        self.known as f64 > (share + chance) * self.looked_up as f64
    }

    /// One sentence, if rows are equal to learned rows.
    pub fn sentence(&self, task: Task) -> Option<String> {
        if self.known == 0 {
            return None;
        }
        let [looked_up, known] = [self.looked_up, self.known].map(|rows| count(rows as f64));
        let rows = measured(self.rows, self.only_predicted, task);
        let which = match (self.is_counted(), self.known == self.looked_up) {
            (true, true) if self.only_predicted == 0 => "these rows are equal to rows that the model has learned".into(),
            (true, true) => format!("{rows} are equal to rows that the model has learned"),
            (true, false) => format!("{known} of {rows} are equal to rows that the model has learned"),
            (false, _) => {
                let (are, were) = (if self.known == 1 { "is" } else { "are" }, if self.looked_up == 1 { "was" } else { "were" });
                format!(
                    "at least {known} of {rows} {are} equal to rows that the model has learned; only {looked_up} {were} looked up, as a \
                     model keeps fingerprints of a sample of its rows"
                )
            }
        };
        Some(format!("{which}: {}", on_new_rows(task)))
    }
}

/// So many rows, of which figures are; `others`: the rows beside them that are only predicted.
pub fn measured(rows: u64, others: u64, task: Task) -> String {
    let (number, plural) = (count(rows as f64), if rows == 1 { "row" } else { "rows" });
    match (others, task) {
        (0, _) => format!("these {number} {plural}"),
        (_, Task::Novelty) => format!("the {number} {plural} with a weight above 0"),
        _ => format!("the {number} {plural} with a target and a weight above 0"),
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Counts the rows of a run that are equal to an earlier row of the same run: among the rows with the smallest fingerprints, which are a fair sample of
/// the different rows.
#[derive(Clone, Debug, Default)]
pub struct Repeats(BTreeMap<u64, Times>);

/// How often a row came.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    /// Whether it came in the part of the run before an interruption.
    before: bool,
    /// In this part.
    now: u64,
}

impl Repeats {
    /// For a run that goes on where it was interrupted, after rows that were learned.
    pub fn after(learned: &LearnedRows) -> Self {
        Repeats(learned.marks().map(|mark| (mark, Times { before: true, now: 0 })).collect())
    }

    /// Adds a row that was learned in the part of the run before an interruption.
    pub fn add_earlier(&mut self, chunk: &Chunk, row: usize, task: Task) {
        self.enter(chunk, row..row + 1, task, |times| times.before = true);
    }

    /// Adds rows of a chunk that are learned, in this order.
    pub fn add(&mut self, chunk: &Chunk, rows: std::ops::Range<usize>, task: Task) {
        self.enter(chunk, rows, task, |times| times.now += 1);
    }

    fn enter(&mut self, chunk: &Chunk, rows: std::ops::Range<usize>, task: Task, count: impl Fn(&mut Times)) {
        for mark in rows.filter(|row| chunk.is_example(*row)).filter_map(|row| chunk.mark(row, task)) {
            let mark = mark >> DROPPED;
            if self.0.len() < MOST || self.0.last_key_value().is_some_and(|(largest, _)| mark <= *largest) {
                count(self.0.entry(mark).or_default());
            }
            if self.0.len() > MOST {
                self.0.pop_last();
            }
        }
    }

    /// The number of these rows, of so many rows.
    pub fn count(&self, rows: u64) -> Equal {
        let compared = self.0.values().map(|times| times.now).sum();
        let equal = self.0.values().map(|times| if times.before { times.now } else { times.now.saturating_sub(1) }).sum();
        Equal { rows: equal, compared, at_least: compared < rows, estimated: false }
    }

    /// One sentence, if there are many. `rows`: the number of all rows.
    pub fn sentence(&self, rows: u64, task: Task) -> Option<String> {
        let Equal { rows: equal, compared, at_least, .. } = self.count(rows);
        let many = equal >= FEWEST_REPEATS && equal as f64 >= MANY_REPEATS * compared as f64;
        let looked_up = if at_least { format!(" ({} were compared)", count(compared as f64)) } else { String::new() };
        let at_least = if at_least { "At least " } else { "" };
        let target = if task == Task::Novelty { "" } else { ", targets included" };
        many.then(|| {
            format!(
                "{at_least}{} of {} rows are equal to an earlier row of this run{target}{looked_up}. The figures of this run count them as new; {}.",
                count(equal as f64),
                count(rows as f64),
                on_rows_seen_never(task)
            )
        })
    }
}

/// Fewer equal rows, or a smaller share of them among those that were compared, are not worth a sentence.
const FEWEST_REPEATS: u64 = 20;
/// See [`FEWEST_REPEATS`].
const MANY_REPEATS: f64 = 0.1;

/// What figures over repeated rows do not say.
fn on_rows_seen_never(task: Task) -> &'static str {
    match task {
        Task::Novelty => "rows that were never seen can have another alert rate",
        _ => "on rows that were never seen the error can be larger",
    }
}

/// A number of rows that are equal to rows of an earlier run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Equal {
    /// The number of rows that were compared with those of the earlier run and are equal to one.
    pub rows: u64,
    /// The number of rows that were compared; 0 if there was no earlier run, or an older version wrote the model.
    #[serde(default)]
    pub compared: u64,
    /// Whether `rows` is a lower bound: not all rows could be compared.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// Whether an older version estimated a part of `rows` from a sample.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

impl Equal {
    /// Whether there is no such row.
    pub fn is_none(&self) -> bool {
        self.rows == 0 && !self.at_least
    }

    /// The sum of two numbers.
    pub fn and(self, other: Equal) -> Equal {
        Equal {
            rows: self.rows + other.rows,
            compared: self.compared + other.compared,
            at_least: self.at_least || other.at_least,
            estimated: self.estimated || other.estimated,
        }
    }

    /// Which of the examples were predicted before they were learned.
    pub fn predicted(&self) -> String {
        let about = match (self.at_least, self.estimated) {
            (true, true) => "at least about ",
            (true, false) => "at least ",
            (false, true) => "about ",
            (false, false) => "",
        };
        let compared = match (self.at_least, self.compared) {
            (true, 1..) if !self.estimated && self.compared >= self.rows => {
                let were = if self.compared == 1 { "was" } else { "were" };
                format!(" ({} {were} compared)", count(self.compared as f64))
            }
            _ => String::new(),
        };
        match self.rows {
            0 if self.at_least => format!("each predicted before it was learned, as far as known{compared}"),
            0 => "each predicted before it was learned".into(),
            1 => format!(
                "each predicted before it was learned, except {about}1 that is equal to a row of an earlier run{compared}"
            ),
            rows => format!(
                "each predicted before it was learned, except {about}{} that are equal to rows of an earlier run{compared}",
                count(rows as f64)
            ),
        }
    }
}

/// What figures over learned rows do not say.
pub fn on_new_rows(task: Task) -> &'static str {
    match task {
        Task::Novelty => "new rows can have another alert rate",
        _ => "on new rows the model may be worse than these figures",
    }
}
