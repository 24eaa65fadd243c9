//! Parsed rows, in the form that the learner needs.

use std::borrow::Cow;
use std::ops::Range;

use okl::{Batch, Label};

use super::error::InputError;
use super::number::{is_plain, scan};
use super::schema::Feature;

pub use okl::batch::LARGEST;

/// Consecutive rows of the input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chunk {
    /// The number of rows.
    pub rows: usize,
    /// The number of features; in formats that grow it may be larger than the last chunk's, never smaller.
    pub features: usize,
    /// The features, row by row; of sparse rows, the values that are given.
    pub x: Vec<f64>,
    /// Where the values of sparse rows are; none if rows are dense. Rows of sparse formats are dense up to [`MOST_EXPANDED`] features.
    pub entries: Option<Entries>,
    /// The targets; of width 0 if there are none.
    pub targets: Targets,
    /// Whether the row has all its targets; otherwise it is only predicted.
    pub known: Vec<bool>,
    /// A weight per row, if the input has weights.
    pub weights: Option<Vec<f64>>,
    /// An id per row, if requested: a whole number is its own id, other text has its 64-bit FNV-1a hash.
    pub ids: Option<Vec<u64>>,
    /// The input line of each row, from 1 (for Parquet the row).
    pub lines: Vec<u64>,
    /// The fingerprint of the input up to and including each row: a hash over the contents of every record, bad ones included.
    pub prints: Vec<u64>,
    /// The fingerprint of the features of each row, see [`Chunk::mark`]. Empty in chunks that are gathered from other rows.
    pub marks: Vec<u64>,
    /// The file of these rows, from 0.
    pub file: usize,
    /// The total number of lines of the files before this file.
    pub before: u64,
    /// The number of features that were known after each row. Later features of the chunk are 0 in the row.
    pub reach: Vec<u32>,
    /// The texts of the columns of [`super::Options::keep`], row by row.
    pub kept: Vec<String>,
    /// The cells without a value, if the model fills them: row and feature, ascending. Their value is 0 until they are filled.
    pub missing: Vec<(u32, u32)>,
    /// The bad rows that were skipped since the last chunk, in order.
    pub bad: Vec<Bad>,
    /// Why the first of them was bad.
    pub first_bad: Option<InputError>,
    /// Columns of the file that the model does not know, since the last chunk. They are ignored.
    pub unknown: Vec<String>,
    /// What the user should know of the first line of the file and of how its columns were matched with those of the model, in its first chunk.
    pub said: Vec<String>,
    /// Named features that appeared since the last chunk; see [`super::Schema::advance`].
    pub added: Vec<Feature>,
}

/// The places of the values of sparse rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entries {
    /// Where the values of each row begin, and where those of the last one end.
    pub starts: Vec<usize>,
    /// The column of each value; ascending within a row.
    pub columns: Vec<u32>,
}

impl Entries {
    /// No rows.
    fn empty() -> Self {
        Entries { starts: vec![0], columns: Vec::new() }
    }
}

/// Rows with more features than this stay sparse in sparse formats. For fewer, dense rows are as fast.
pub const MOST_EXPANDED: usize = 256;

/// A row that could not be read and was skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bad {
    /// The number of good rows of the chunk before it.
    pub before: usize,
    /// Its input line.
    pub line: u64,
    /// Its texts of the columns of [`super::Options::keep`], as far as they could be read.
    pub kept: Vec<String>,
}

impl Chunk {
    /// Where the values of a row are in `x`.
    pub(super) fn range(&self, row: usize) -> Range<usize> {
        match &self.entries {
            Some(entries) => entries.starts[row]..entries.starts[row + 1],
            None => row * self.features..(row + 1) * self.features,
        }
    }

    /// Leaves out all rows after the first `rows`. What other fields have of them is not read any more.
    pub fn keep_first(&mut self, rows: usize) {
        self.rows = self.rows.min(rows);
        self.lines.truncate(rows);
        self.bad.retain(|bad| bad.before <= rows);
        self.missing.retain(|(row, _)| (*row as usize) < rows);
    }

    /// The columns and values of a row that are not 0.
    pub fn values(&self, row: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.range(row);
        let columns = self.entries.as_ref().map(|entries| &entries.columns[range.clone()]);
        let column = move |at: usize| columns.map_or(at, |columns| columns[at] as usize);
        self.x[range].iter().enumerate().map(move |(at, value)| (column(at), *value)).filter(|(_, value)| *value != 0.0)
    }

    /// Where the value of a feature is in `x`; none if it is not there and so 0.
    fn place(&self, row: usize, feature: usize) -> Option<usize> {
        let Some(entries) = &self.entries else { return Some(row * self.features + feature) };
        let range = entries.starts[row]..entries.starts[row + 1];
        entries.columns[range.clone()].binary_search(&(feature as u32)).ok().map(|at| range.start + at)
    }

    /// The value of a feature.
    pub fn get(&self, row: usize, feature: usize) -> f64 {
        self.place(row, feature).map_or(0.0, |at| self.x[at])
    }

    /// Sets the value of a feature. Sparse rows have a place for each of their features in `missing`, and not for other absent ones.
    pub fn set(&mut self, row: usize, feature: usize, value: f64) {
        if let Some(at) = self.place(row, feature) {
            self.x[at] = value;
        }
    }

    /// Sets features to these values in the rows before they appeared (see `reach`); ascending.
    pub(super) fn set_later(&mut self, values: &[(u32, f64)]) {
        let Some((last, _)) = values.last().filter(|_| self.reach.len() == self.rows) else { return };
        let features = self.features.max(*last as usize + 1);
        let mut wider = Chunk { features, ..Chunk::default() };
        for (row, reach) in self.reach.iter().enumerate() {
            let later = values.iter().filter(|(feature, _)| feature >= reach);
            if self.entries.is_some() {
                let range = self.range(row);
                let columns = self.entries.iter().flat_map(|entries| &entries.columns[range.clone()]).map(|at| *at as usize);
                let given = columns.zip(self.x[range.clone()].iter().copied());
                wider.push_sparse(given.chain(later.map(|(feature, value)| (*feature as usize, *value))));
            } else {
                let from = wider.x.len();
                wider.x.extend_from_slice(&self.x[self.range(row)]);
                wider.x.resize(from + features, 0.0);
                later.for_each(|(feature, value)| wider.x[from + *feature as usize] = *value);
            }
        }
        (self.features, self.x, self.entries) = (features, wider.x, wider.entries);
    }

    /// The features, row by row, zeros included.
    pub fn dense(&self) -> Cow<'_, [f64]> {
        if self.entries.is_none() {
            return Cow::Borrowed(&self.x);
        }
        let mut x = vec![0.0; self.rows * self.features];
        for (row, to) in x.chunks_exact_mut(self.features.max(1)).enumerate() {
            self.values(row).for_each(|(column, value)| to[column] = value);
        }
        Cow::Owned(x)
    }

    /// Some rows as a learner takes them, without targets.
    pub fn batch(&self, rows: Range<usize>) -> Batch<'_> {
        match &self.entries {
            Some(entries) => Batch::sparse_f64(&entries.starts[rows.start..=rows.end], &entries.columns, &self.x, self.features),
            None => Batch::of_f64(&self.x[rows.start * self.features..rows.end * self.features], self.features),
        }
    }

    /// Makes room for this many values of sparse rows.
    pub fn reserve_sparse(&mut self, values: usize) {
        self.x.reserve(values);
        self.entries.get_or_insert_with(Entries::empty).columns.reserve(values);
    }

    /// Adds the features of a row of another chunk, as a sparse row.
    pub fn push_sparse(&mut self, values: impl Iterator<Item = (usize, f64)>) {
        let entries = self.entries.get_or_insert_with(Entries::empty);
        for (column, value) in values {
            entries.columns.push(column as u32);
            self.x.push(value);
        }
        entries.starts.push(self.x.len());
    }

    /// Whether the row is learned, and not only predicted: it has its targets, or the data have none, and a weight above 0.
    pub fn is_example(&self, row: usize) -> bool {
        let known = self.targets.width == 0 || self.known[row];
        known && self.weights.as_ref().is_none_or(|weights| weights[row] > 0.0)
    }

    /// The first target of a row that is learned and whose target is text: the row in the chunk, which target, and the text.
    pub fn first_text(&self) -> Option<(usize, usize, &str)> {
        let Targets { width, texts, .. } = &self.targets;
        let text = |(at, word): (usize, &u32)| {
            let row = at / width;
            let learned = *word > 0 && self.is_example(row);
            learned.then(|| self.targets.text(at)).flatten().map(|text| (row, at % width, text))
        };
        texts.iter().enumerate().find_map(text)
    }

    /// The texts of a row that are passed through.
    pub fn kept(&self, row: usize) -> &[String] {
        let width = self.kept.len() / self.rows.max(1);
        &self.kept[row * width..(row + 1) * width]
    }

    /// The features of a row that have no value.
    pub fn missing_in(&self, row: usize) -> impl Iterator<Item = u32> + '_ {
        self.missing_cells(row).iter().map(|(_, feature)| *feature)
    }

    /// The entries of `missing` of a row.
    pub(super) fn missing_cells(&self, row: usize) -> &[(u32, u32)] {
        let before = |rows: usize| self.missing.partition_point(|(at, _)| (*at as usize) < rows);
        &self.missing[before(row)..before(row + 1)]
    }

    /// The bad rows directly before the good row `row`; for `row == rows`, those after the last good row.
    pub fn bad_before(&self, row: usize) -> impl Iterator<Item = &Bad> + '_ {
        let from = self.bad.partition_point(|bad| bad.before < row);
        self.bad[from..].iter().take_while(move |bad| bad.before == row)
    }
}

/// Targets: numbers as numbers, text as indices into the words of this chunk.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Targets {
    /// Targets per row.
    pub width: usize,
    /// Row by row; 0 where the target is missing or text.
    pub(super) values: Vec<f64>,
    /// Empty if no target of this chunk is text. Otherwise, per value: 1 + the index of its word, or 0 for a number.
    pub(super) texts: Vec<u32>,
    /// Empty if every number can be printed back to its text. Otherwise, per value: 1 + the index of its text, or 0 if it can.
    pub(super) spelled: Vec<u32>,
    pub(super) words: Vec<String>,
    /// Empty if no number has a decimal point. Otherwise, per value: whether it has one.
    pub(super) points: Vec<bool>,
    /// The first truth value that is not written as `true` or `false`.
    pub(super) respelled: Option<String>,
}

impl Targets {
    /// The targets as numbers, row by row (0 where the target is missing); none if one of them is text.
    pub fn numbers(&self) -> Option<&[f64]> {
        self.texts.is_empty().then_some(&self.values)
    }

    /// The targets as numbers, row by row; 0 where the target is missing or text.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The targets of one row as numbers, unless the chunk has text.
    pub fn row(&self, row: usize) -> Option<&[f64]> {
        self.numbers().filter(|_| self.width > 0).map(|all| &all[row * self.width..(row + 1) * self.width])
    }

    /// Bytes that the values take.
    pub fn bytes(&self) -> usize {
        let words: usize = self.words.iter().map(String::len).sum();
        size_of_val(&self.values[..]) + size_of_val(&self.texts[..]) + size_of_val(&self.spelled[..]) + self.points.len() + words
    }

    /// The first target that is text: its row in the chunk, which target, and the text.
    pub fn first_text(&self) -> Option<(usize, usize, &str)> {
        let at = self.texts.iter().position(|t| *t > 0)?;
        Some((at / self.width, at % self.width, self.text(at)?))
    }

    /// Whether the first target of a row is text.
    pub fn is_text(&self, row: usize) -> bool {
        self.text(row * self.width).is_some()
    }

    /// Whether the first target of a row is a number with a decimal point.
    pub fn has_point(&self, row: usize) -> bool {
        self.points.get(row * self.width).is_some_and(|point| *point)
    }

    /// The first truth value that is not written as `true` or `false`, the names of its class.
    pub fn respelled(&self) -> Option<&str> {
        self.respelled.as_deref()
    }

    /// One target, if it is text.
    pub(super) fn text(&self, at: usize) -> Option<&str> {
        self.word(&self.texts, at)
    }

    /// The text of a number, if the number cannot be printed back to it.
    pub(super) fn spelling(&self, at: usize) -> Option<&str> {
        self.word(&self.spelled, at)
    }

    fn word(&self, of: &[u32], at: usize) -> Option<&str> {
        let word = of.get(at)?.checked_sub(1)?;
        self.words.get(word as usize).map(String::as_str)
    }

    /// The first target of each row as the name of a class: whole numbers as integers (so 1, +1 and
    /// 1.0 are one class, and so are 0 and -0), everything else as its text (so 7 and 007, 1000 and 1e3 are different classes). A text is the
    /// same class as a number with the same spelling: in JSON, 1 and "1" are one class. The label of a row without a target is arbitrary.
    pub fn labels(&self) -> Vec<Label> {
        let number = |at: usize| self.spelling(at).map_or_else(|| number_label(self.values[at]), label_of);
        let label = |at: usize| self.text(at).map_or_else(|| number(at), label_of);
        (0..self.values.len()).step_by(self.width.max(1)).map(label).collect()
    }
}

/// The label of a text: the label of a number if the text is its plain spelling, an integer if the integer prints to the same text,
/// otherwise the text.
pub fn label_of(text: &str) -> Label {
    if let Some((value, used)) = scan(text.as_bytes())
        && used == text.len()
        && is_plain(text.as_bytes())
    {
        return number_label(value);
    }
    let whole = text.parse::<i64>().ok().filter(|whole| text.strip_prefix('+').unwrap_or(text) == whole.to_string());
    whole.map_or_else(|| Label::Text(text.into()), Label::Int)
}

pub(super) fn number_label(value: f64) -> Label {
    if value.fract() == 0.0 && value.abs() < 9e15 { Label::Int(value as i64) } else { Label::Text(value.to_string()) }
}
