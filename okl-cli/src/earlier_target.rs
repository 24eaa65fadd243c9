//! Finds a column that repeats the target of the row before, as a user adds it who follows the advice to do so.

use crate::input::Chunk;

/// Rows that are compared.
const MOST: u32 = 1000;
/// Fewer rows say nothing.
const FEWEST: u32 = 20;
/// Columns that are compared.
const COLUMNS: usize = 1000;
/// At least this share of the rows must have the target in the column.
const NEARLY_ALL: f64 = 0.9;

/// How often each column of the first rows was equal to the first target of the row before.
#[derive(Clone, Debug, Default)]
pub struct EarlierTarget {
    last: Option<f64>,
    rows: u32,
    equal: Vec<u32>,
}

impl EarlierTarget {
    /// Adds the next row of the stream, which has the target `y`.
    pub fn add(&mut self, chunk: &Chunk, row: usize, y: f64) {
        if self.rows == MOST {
            return;
        }
        if let Some(last) = self.last.replace(y) {
            self.rows += 1;
            self.equal.resize(chunk.features.min(COLUMNS).max(self.equal.len()), 0);
            for (column, equal) in self.equal.iter_mut().enumerate().take(chunk.features) {
                *equal += u32::from(chunk.get(row, column) == last);
            }
        }
    }

    /// The first column that has this target in nearly all rows.
    pub fn column(&self) -> Option<usize> {
        let enough = |equal: &u32| self.rows >= FEWEST && f64::from(*equal) >= NEARLY_ALL * f64::from(self.rows);
        self.equal.iter().position(enough)
    }
}
