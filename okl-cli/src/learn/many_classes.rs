//! Finds targets that are probably no classes: decimal numbers of which nearly each is different, and very many classes.
//!
//! Every class adds a coefficient to every term, so a row costs time and memory in proportion to the number of classes.

use std::collections::HashSet;

use okl::Label;

use crate::input::Chunk;
use crate::metrics::count;

/// So many different decimal numbers are refused, if they are at least half of the targets so far.
const DECIMALS: usize = 100;
/// More classes than this are reported once.
const MANY: usize = 1000;
/// The number of rows that are watched.
const WATCHED: u64 = 10_000;

/// The targets of the first rows of a run, as classes.
#[derive(Debug, Default)]
pub struct ManyClasses {
    rows: u64,
    classes: HashSet<Label>,
    decimals: usize,
    told: bool,
}

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// The target of the row on this line is one decimal number too many; how many of how many targets are different decimals.
    Decimals(u64, String),
    /// The sentence about very many classes.
    Many(String),
}

impl ManyClasses {
    /// Counts the targets of a chunk. The result depends on the rows alone, and not on how they are cut into chunks.
    pub fn count(&mut self, chunk: &Chunk) -> Option<Found> {
        if self.rows >= WATCHED || chunk.targets.width != 1 {
            return None;
        }
        let mut many = None;
        for (row, label) in chunk.targets.labels().into_iter().enumerate().filter(|(row, _)| chunk.known[*row]) {
            self.rows += 1;
            let decimal = is_decimal(&label);
            if self.rows > WATCHED || !self.classes.insert(label) {
                continue;
            }
            self.decimals += usize::from(decimal);
            if self.decimals >= DECIMALS && 2 * self.decimals as u64 >= self.rows {
                let found = format!("{} of the first {} targets", count(self.decimals as f64), count(self.rows as f64));
                return Some(Found::Decimals(chunk.lines[row], found));
            }
            if self.classes.len() > MANY && !std::mem::replace(&mut self.told, true) {
                many = Some(Found::Many(self.many()));
            }
        }
        many
    }

    fn many(&self) -> String {
        format!(
            "{} classes in the first {} rows: each class adds a coefficient to every term, so rows take longer and longer; \
             if the target is a number learn with --task numbers",
            count(self.classes.len() as f64),
            count(self.rows as f64)
        )
    }
}

/// Whether a label is a number that is not whole.
fn is_decimal(label: &Label) -> bool {
    matches!(label, Label::Text(text) if text.parse::<f64>().is_ok_and(|value| value.fract() != 0.0))
}
