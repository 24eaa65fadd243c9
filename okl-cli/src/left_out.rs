//! Columns, keys and one-hot values of a file that a model was not trained with. They are ignored in the scores, counted and reported.
//! Rows that cannot be read are counted and reported, too.

use std::collections::BTreeMap;

use crate::input::{Chunk, Feature, Format, InputError, Part, Schema};
use crate::metrics::count;

/// The largest number of names in a sentence.
const SHOWN: usize = 5;

/// The number of rows after which a file without any known feature is refused.
pub const JUDGED: u64 = 1024;

/// Counts the columns and values of a file that are ignored.
#[derive(Debug, Default)]
pub struct LeftOut {
    /// Whether an absent feature is 0.
    sparse: bool,
    columns: Vec<String>,
    /// The features that the rows have beyond those of the model; those of some formats have no names.
    features: Vec<Feature>,
    /// Per column (by name; empty for features without names): its values that the model has not seen, and the rows with one of them.
    rows: BTreeMap<String, (Vec<String>, u64)>,
    /// Rows that could not be read, and why the first of them could not.
    bad: u64,
    /// Rows so far, and whether one of them has a feature that the model knows.
    seen: u64,
    known: bool,
    first_bad: Option<InputError>,
    /// What the user should know of the first lines of the files.
    said: Vec<String>,
}

impl LeftOut {
    /// Counts before the first row, for a file of this format and a model with these columns.
    pub fn new(schema: &Schema, format: Format) -> Self {
        LeftOut { sparse: schema.sparse || matches!(format, Format::Libsvm | Format::Vw), ..LeftOut::default() }
    }

    /// Counts the rows of a chunk for a model with this many features.
    pub fn count(&mut self, chunk: &Chunk, features: usize) {
        self.columns.extend(chunk.unknown.iter().filter(|name| !self.columns.contains(name)).cloned().collect::<Vec<_>>());
        self.said.extend(chunk.said.iter().filter(|text| !self.said.contains(text)).cloned().collect::<Vec<_>>());
        self.features.extend_from_slice(&chunk.added);
        self.bad += chunk.bad.len() as u64;
        self.first_bad = self.first_bad.take().or_else(|| chunk.first_bad.clone());
        self.seen += chunk.rows as u64;
        self.known = self.known || (0..chunk.rows).any(|row| chunk.values(row).any(|(column, _)| column < features));
        if chunk.features <= features || features == 0 {
            return;
        }
        for row in 0..chunk.rows {
            self.count_row(chunk.values(row).filter_map(|(column, _)| column.checked_sub(features)));
        }
    }

    fn count_row(&mut self, beyond: impl Iterator<Item = usize>) {
        let mut counted = Vec::new();
        for at in beyond {
            let feature = self.features.get(at);
            let column = feature.map_or(String::new(), |feature| match feature.part {
                Some(part) if part != Part::Word => feature.name(),
                _ => feature.column.to_string(),
            });
            let (levels, rows) = self.rows.entry(column.clone()).or_default();
            let level = feature.and_then(|feature| feature.level.as_ref()).filter(|_| levels.len() <= SHOWN);
            if let Some(level) = level.filter(|level| !levels.contains(level)) {
                levels.push(level.clone());
            }
            if !counted.contains(&column) {
                *rows += 1;
                counted.push(column);
            }
        }
    }

    /// Whether [`LeftOut::nothing_known`] can decide now: a known feature was found, or `JUDGED` rows were read.
    pub fn is_judged(&self) -> bool {
        !self.sparse || self.known || self.seen >= JUDGED
    }

    /// An error if the model knows none of the features of the rows, so that all scores would be equal. Only for formats in which an
    /// absent feature is 0. Checked after `JUDGED` rows or at the end of the file.
    pub fn nothing_known(&self, file: &str, schema: &Schema, features: usize, end: bool) -> Option<String> {
        let other = !self.rows.is_empty() || !self.columns.is_empty();
        let wrong = self.sparse && !self.known && other && (end || self.is_judged());
        wrong.then(|| {
            let mut names = schema.names();
            let own = if names.len() > features { names.split_off(features) } else { self.columns.clone() };
            format!(
                "{file}: none of the features that the model knows occurs in {} rows, so every row would get the same score; \
                 the model knows {}; the file has {}",
                count(self.seen as f64),
                listed(&names),
                listed(&own)
            )
        })
    }

    /// What was ignored, and what the user should know of the first lines, one sentence each; empty if there is nothing to say.
    pub fn sentences(&self) -> Vec<String> {
        let columns = (!self.columns.is_empty()).then(|| match &self.columns[..] {
            [one] => format!("column '{one}' is not known to the model and was left out"),
            several => format!("{} columns are not known to the model and were left out: {}", several.len(), listed(several)),
        });
        let bad = self.first_bad.as_ref().map(|why| match self.bad {
            1 => format!("1 row could not be read and has no score: {why}"),
            bad => format!("{} rows could not be read and have no score; the first: {why}", count(bad as f64)),
        });
        self.said
            .iter()
            .cloned()
            .chain(bad)
            .chain(columns)
            .chain(self.rows.iter().map(|(column, (levels, rows))| of_rows(column, levels, *rows)))
            .collect()
    }
}

fn of_rows(column: &str, levels: &[String], rows: u64) -> String {
    let have = if rows == 1 { "1 row has".into() } else { format!("{} rows have", count(rows as f64)) };
    match (column, levels) {
        ("", _) => format!("{have} features beyond the last that the model knows; these were left out"),
        (column, []) => format!("{have} '{column}', which the model does not know: it was left out"),
        (column, levels) => {
            format!("column '{column}': {have} a value that the model has not seen ({}); it was left out", listed(levels))
        }
    }
}

/// The first names, separated by commas.
pub fn listed(names: &[String]) -> String {
    let more = if names.len() > SHOWN { ", ..." } else { "" };
    names[..names.len().min(SHOWN)].join(", ") + more
}
