//! Fingerprints of rows, by which learned rows are recognised: hashes of what a model reads of a row, and not of how the row is written.
//!
//! The fingerprint of a row has its features (the index in the table of the model and the value, without zeros), which of its cells have no value,
//! and its targets. It does not have ids, weights, texts that are kept, columns that the model does not read, and the layout of the text. So the
//! fingerprint of a row is the same in every format, and stays the same when the model gets further features, which are 0 in the row.
//!
//! A cell without a value is 0 until it is filled. To tell it from a 0 that is given, the fingerprint has the given zeros of the columns of numbers in
//! which cells are filled. Cells without a value themselves are left out: a column that has its first value in a later row is unknown in the rows before,
//! and a column of JSON that appears in a later row is absent there.

use okl::Label;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::chunk::{Chunk, Targets, label_of, number_label};
use super::columns::{Columns, Role};
use crate::metrics::Task;

impl Columns {
    /// The features that are numbers of columns in which a cell without a value is filled, in ascending order. Columns that rows may lack are not among
    /// them: in these, a cell without a value and 0 have the same fingerprint. A cell of hashed features is not filled.
    pub fn fillable(&self) -> Vec<u32> {
        if self.schema.missing.is_refused() || self.schema.hash_bits().is_some() {
            return Vec::new();
        }
        let numbers = self.list.iter().filter(|column| column.required).filter_map(|column| match column.role {
            Role::Number(feature) | Role::Log(Some(feature)) => Some(feature),
            _ => None,
        });
        let mut features: Vec<u32> = numbers.collect();
        features.sort_unstable();
        features
    }
}

impl Chunk {
    /// Computes the fingerprints of the features of all rows, before cells without a value are filled. `fillable`: see [`Columns::fillable`].
    pub(super) fn mark_rows(&mut self, fillable: &[u32]) {
        let mut bytes = Vec::new();
        let mut marks = Vec::with_capacity(self.rows);
        for row in 0..self.rows {
            bytes.clear();
            match &self.entries {
                Some(_) => self.values(row).for_each(|(column, value)| push(&mut bytes, column, value)),
                None => push_dense(&mut bytes, &self.x[self.range(row)]),
            }
            let zeros = fillable.iter().filter(|feature| self.is_given_zero(row, **feature));
            zeros.for_each(|feature| push(&mut bytes, *feature as usize, 0.0));
            marks.push(xxh3_64(&bytes));
        }
        self.marks = marks;
    }

    /// Whether the row has 0 in a column of numbers. The row does not know features that appeared after it.
    fn is_given_zero(&self, row: usize, feature: u32) -> bool {
        let known = self.reach.get(row).is_some_and(|reach| feature < *reach);
        known && self.get(row, feature as usize) == 0.0 && !self.missing_in(row).any(|missing| missing == feature)
    }

    /// The fingerprint of a row: that of its features, with its targets as a model for this task reads them. None in chunks that are gathered from
    /// other rows.
    pub fn mark(&self, row: usize, task: Task) -> Option<u64> {
        let features = *self.marks.get(row)?;
        let targets = row * self.targets.width..(row + 1) * self.targets.width;
        Some(match task {
            Task::Novelty => features,
            _ if !self.known[row] => features,
            Task::Classes => self.targets.mark_of_class(targets.start, features),
            // Negative zero is zero.
            Task::Numbers => self.targets.values[targets]
                .iter()
                .fold(features, |before, value| xxh3_64_with_seed(&(0.0 + value).to_bits().to_le_bytes(), before)),
        })
    }
}

fn push(bytes: &mut Vec<u8>, column: usize, value: f64) {
    let pair = u128::from(value.to_bits()) << 64 | column as u128;
    bytes.extend_from_slice(&pair.to_le_bytes());
}

/// Adds the columns and values of a dense row that are not 0. Several zeros in a row are recognised at once: most rows of sparse formats have many.
fn push_dense(bytes: &mut Vec<u8>, row: &[f64]) {
    const AT_ONCE: usize = 8;
    for (values, from) in row.chunks(AT_ONCE).zip((0..).step_by(AT_ONCE)) {
        let bits = values.iter().fold(0, |all, value| all | value.to_bits());
        if bits != 0 {
            let given = values.iter().zip(from..).filter(|(value, _)| **value != 0.0);
            given.for_each(|(value, column)| push(bytes, column, *value));
        }
    }
}

impl Targets {
    /// Adds a class to a fingerprint. The same class has the same bytes in every spelling that models take for one class: 1, "1" and 1.0. The words
    /// for truth values are 1 and 0 here, because models take them for one class where they have no other classes (see [`Label::named_as`]).
    fn mark_of_class(&self, at: usize, before: u64) -> u64 {
        let label = match self.text(at).or_else(|| self.spelling(at)) {
            Some(text) if text.eq_ignore_ascii_case("true") => Label::Int(1),
            Some(text) if text.eq_ignore_ascii_case("false") => Label::Int(0),
            Some(text) => label_of(text),
            None => number_label(self.values[at]),
        };
        match label {
            Label::Int(whole) => xxh3_64_with_seed(&whole.to_le_bytes(), before),
            Label::Text(text) => xxh3_64_with_seed(text.as_bytes(), before),
        }
    }
}
