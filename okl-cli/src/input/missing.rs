//! Cells without a value: what they become, and the numbers seen so far from which they are filled.
//!
//! A cell is filled from the rows that were learned before its own, so the result does not depend on how the rows are cut into chunks. A row
//! that is only predicted leaves no trace, and its score depends on the row and the model alone.

use std::collections::{HashMap, HashSet};
use std::fmt::{self, Display, Formatter};
use std::ops::Range;
use std::str::FromStr;

use okl::config::nearest;
use serde::{Deserialize, Serialize};

use super::chunk::Chunk;
use super::schema::{Feature, Features, Part, Schema};
use crate::metrics::count;

/// What a cell without a value becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// An error.
    #[default]
    Refuse,
    /// The mean of the column over the rows learned before; 0 before the first value.
    Mean,
    /// 0.
    Zero,
    /// The last value of the column that was learned; 0 before the first.
    Last,
}

/// The rule, and whether a column with missing values has an indicator: a feature that is 1 where the value is missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// What a cell becomes.
    pub rule: Rule,
    /// Whether there are indicators.
    #[serde(default)]
    pub indicator: bool,
}

impl Missing {
    /// Whether a cell without a value is an error.
    pub fn is_refused(&self) -> bool {
        self.rule == Rule::Refuse
    }
}

const RULES: [(Rule, &str); 4] = [(Rule::Refuse, "refuse"), (Rule::Mean, "mean"), (Rule::Zero, "zero"), (Rule::Last, "last")];

/// Names of other libraries, and the names of these rules here.
const ELSEWHERE: [(&str, &str); 6] =
    [("avg", "mean"), ("average", "mean"), ("ffill", "last"), ("previous", "last"), ("constant", "zero"), ("error", "refuse")];

impl FromStr for Missing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, indicator) = text.strip_suffix("+indicator").map_or((text, false), |word| (word, true));
        let rule = RULES.iter().find(|(_, name)| *name == word).map(|(rule, _)| *rule);
        match rule {
            Some(rule) if rule != Rule::Refuse || !indicator => Ok(Missing { rule, indicator }),
            _ => {
                let meant = meant(text).map_or(String::new(), |rule| format!("; did you mean {rule}?"));
                Err(format!("expected refuse, mean, zero, last, mean+indicator, zero+indicator or last+indicator{meant}"))
            }
        }
    }
}

/// The rule that an unknown word probably means.
fn meant(text: &str) -> Option<Missing> {
    let (word, indicator) = text.split_once('+').map_or((text, false), |(word, _)| (word, true));
    let elsewhere = ELSEWHERE.iter().find(|(theirs, _)| *theirs == word).map(|(_, name)| *name);
    let name = elsewhere.or_else(|| nearest(word, RULES.into_iter().map(|(_, name)| name)))?;
    let (rule, _) = RULES.into_iter().find(|(rule, known)| *known == name && !(indicator && *rule == Rule::Refuse))?;
    Some(Missing { rule, indicator })
}

impl Display for Missing {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let name = RULES.iter().find(|(rule, _)| *rule == self.rule).map_or("", |(_, name)| name);
        write!(f, "{name}{}", if self.indicator { "+indicator" } else { "" })
    }
}

/// The columns that a model takes where values may be missing, and how its features are made from them. The values of categories, texts and
/// times are finished features, one column each.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The rule.
    pub missing: Missing,
    /// The columns: the name of each, and what a missing value becomes.
    pub columns: Vec<(String, f64)>,
    /// How each feature is made.
    pub features: Vec<Origin>,
}

/// How a feature of a model is made from columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The column, filled.
    Column(usize),
    /// 1 where the value is missing in one of these columns, 0 elsewhere.
    Indicator(Vec<usize>),
}

/// The numbers of one column so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Seen {
    count: u64,
    /// Their mean, or the last of them.
    value: f64,
}

/// What cells without a value become after the rows so far. For each column of numbers, in the order of the features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Filled {
    seen: Vec<Seen>,
    /// How many rows that were learned had no value in each of these columns before its first one, also rows from before the column appeared.
    /// Not in files of older versions.
    #[serde(default, skip_serializing_if = "are_zero")]
    early: Vec<u64>,
    /// How many rows were learned: so many had no value in a column that appears next. None after rows that an older version learned, which did
    /// not count them: rows from before a column appeared are not counted in `early` then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rows: Option<u64>,
    /// The features that are columns of numbers; found again from the schema.
    #[serde(skip)]
    numbers: Vec<u32>,
    /// The number of features from which they were found.
    #[serde(skip)]
    features: usize,
}

fn are_zero(counts: &[u64]) -> bool {
    counts.iter().all(|count| *count == 0)
}

impl Default for Filled {
    fn default() -> Self {
        Filled { seen: Vec::new(), early: Vec::new(), rows: Some(0), numbers: Vec::new(), features: 0 }
    }
}

impl Filled {
    /// Whether no row has been counted and no value seen.
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty() && self.rows.unwrap_or(0) == 0
    }

    /// Fills the cells of a chunk from the rows before the chunk.
    pub fn fill(&mut self, chunk: &mut Chunk, schema: &Schema) {
        if !chunk.missing.is_empty() {
            self.know(schema);
            (0..chunk.rows).for_each(|row| self.fill_row(chunk, row));
        }
    }

    /// Fills the cells of learned rows as if they were read now, with all columns that the model knows: also those of columns of numbers that
    /// appeared after the row.
    pub fn fill_learned(&mut self, chunk: &mut Chunk, schema: &Schema) {
        self.know(schema);
        self.fill(chunk, schema);
        let Features::Named(list) = &schema.features else { return };
        // The reader of a row does not fill a logarithm that rows may lack.
        let is_filled = |at: &&u32| list.get(**at as usize).is_some_and(|feature| feature.part.is_none() || !feature.optional);
        let values = self.numbers.iter().filter(is_filled).map(|at| (*at, self.value(*at)));
        let values: Vec<(u32, f64)> = values.filter(|(_, value)| *value != 0.0).collect();
        chunk.set_later(&values);
    }

    /// Fills each row of a chunk from all rows before it that are learned.
    pub fn fill_in_order(&mut self, chunk: &mut Chunk, schema: &Schema) {
        if self.begin(schema) {
            for row in 0..chunk.rows {
                self.fill_row(chunk, row);
                if chunk.is_example(row) {
                    self.follow_row(chunk, row, schema.missing.rule);
                }
            }
        }
    }

    /// Adds the values of some rows, without those that were filled in and without rows that are only predicted.
    pub fn follow(&mut self, chunk: &Chunk, rows: Range<usize>, schema: &Schema) {
        if self.begin(schema) {
            rows.filter(|row| chunk.is_example(*row)).for_each(|row| self.follow_row(chunk, row, schema.missing.rule));
        }
    }

    /// Whether cells depend on the rows before; finds the columns of numbers.
    fn begin(&mut self, schema: &Schema) -> bool {
        let follows = matches!(schema.missing.rule, Rule::Mean | Rule::Last);
        if follows {
            self.know(schema);
            self.early.resize(self.seen.len(), 0); // a file without early cells does not have them
            self.seen.resize(self.numbers.len(), Seen::default());
            self.early.resize(self.numbers.len(), self.rows.unwrap_or(0)); // the rows so far came before the first value of a new column
        }
        follows
    }

    fn know(&mut self, schema: &Schema) {
        if self.features == schema.len() {
            return;
        }
        self.features = schema.len();
        self.numbers = match &schema.features {
            Features::Named(list) => (0..).zip(list).filter(|(_, feature)| feature.is_number()).map(|(at, _)| at).collect(),
            Features::Indexed(n) => (0..*n as u32).collect(),
            Features::Hashed(_) => Vec::new(),
        };
    }

    /// How the features of a model are made from columns in which values may be missing; none if they may not.
    pub fn inputs(&self, schema: &Schema) -> Option<Inputs> {
        let Features::Named(list) = &schema.features else { return None };
        let missing = Some(schema.missing).filter(|missing| !missing.is_refused())?;
        let mut filled = self.clone();
        filled.know(schema);
        let is_indicator = |feature: &Feature| feature.part == Some(Part::Missing);
        let have_values: HashSet<&str> = list.iter().filter(|f| !is_indicator(f)).map(|f| &*f.column).collect();
        let is_made = |feature: &Feature| is_indicator(feature) && have_values.contains(&*feature.column);
        let (mut columns, mut places) = (Vec::new(), HashMap::<&str, Vec<usize>>::new());
        for (at, feature) in (0..).zip(list).filter(|(_, feature)| !is_made(feature)) {
            places.entry(&feature.column).or_default().push(columns.len());
            columns.push((feature.name(), filled.value(at)));
        }
        let mut column = 0..;
        let source = |feature: &Feature| match is_made(feature) {
            true => Origin::Indicator(places[&*feature.column].clone()),
            false => Origin::Column(column.next().unwrap_or_default()),
        };
        let features = list.iter().map(source).collect();
        Some(Inputs { missing, columns, features })
    }

    /// What a cell of a feature without a value becomes.
    fn value(&self, feature: u32) -> f64 {
        let seen = self.numbers.binary_search(&feature).ok().and_then(|at| self.seen.get(at));
        seen.map_or(0.0, |seen| seen.value)
    }

    /// A sentence, if learned rows had no value in a column before its first one. They were filled with 0, which can be far from all values.
    pub fn finding(&self, schema: &Schema, name: impl Fn(usize) -> String) -> Option<String> {
        let mut known = self.clone();
        known.know(schema); // a model that was loaded does not know its columns yet
        let columns =
            || known.numbers.iter().zip(&known.early).zip(&known.seen).filter(|((_, early), seen)| **early > 0 && seen.count > 0);
        let ((feature, cells), _) = columns().max_by_key(|((_, early), _)| **early)?;
        let (count, others) = (count(*cells as f64), columns().count() - 1);
        let cells = if *cells == 1 { "cell" } else { "cells" };
        let likewise = match others {
            0 => String::new(),
            1 => " (also one other column, with another number of cells)".into(),
            n => format!(" (also {n} other columns, with other numbers of cells)"),
        };
        Some(format!(
            "column {}: {count} {cells} without a value came before its first value and became 0{likewise}; if 0 is far from its values, its unit is too large and the model is poor: \
             begin with rows that have all values",
            name(*feature as usize)
        ))
    }

    /// The rows so far are filled from all of them: no cell became 0 because it came before the first value.
    pub fn forget_early_cells(&mut self) {
        self.early.fill(0);
    }

    fn fill_row(&self, chunk: &mut Chunk, row: usize) {
        let absent: Vec<u32> = chunk.missing_in(row).collect();
        for feature in absent {
            chunk.set(row, feature as usize, self.value(feature));
        }
    }

    fn follow_row(&mut self, chunk: &Chunk, row: usize, rule: Rule) {
        let Some(reach) = chunk.reach.get(row) else { return };
        let mut absent = chunk.missing_in(row).peekable();
        self.rows = self.rows.map(|rows| rows + 1);
        for ((feature, seen), early) in self.numbers.iter().zip(&mut self.seen).zip(&mut self.early) {
            if feature >= reach {
                *early += u64::from(self.rows.is_some()); // the column appears after this row, which has 0 there
                continue;
            }
            while absent.next_if(|earlier| earlier < feature).is_some() {}
            if absent.next_if_eq(feature).is_some() {
                *early += u64::from(seen.count == 0);
                continue;
            }
            let value = chunk.get(row, *feature as usize);
            seen.count += 1;
            seen.value = if rule == Rule::Last { value } else { seen.value + (value - seen.value) / seen.count as f64 };
        }
    }
}
