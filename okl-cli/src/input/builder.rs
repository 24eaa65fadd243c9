//! Builds a chunk: a row is added cell by cell, then committed or rolled back.

use std::collections::HashMap;

use okl::batch::LARGEST;

use super::chunk::{Bad, Chunk, MOST_EXPANDED};
use super::error::{self, InputError, Parsed};
use super::number::{self, Value, shown};
use super::schema::Feature;

/// A chunk ends before it has more numbers than this (16 MiB), however many rows were asked for.
const MOST_CELLS: usize = 2 << 20;

/// The complete rows, and the current row, which is not complete yet.
#[derive(Debug, Default)]
pub(super) struct Builder {
    chunk: Chunk,
    /// Whether the number of features may grow. Then cells are kept as entries until the chunk is done.
    growing: bool,
    /// Whether rows with many features stay sparse.
    sparse: bool,
    entries: Vec<(u32, f64)>,
    /// Where each row's entries end.
    ends: Vec<usize>,
    words: HashMap<String, u32>,
    word_bytes: usize,
    /// Of the current row: the number of its targets so far, its weight and its id.
    given: usize,
    weight: Option<f64>,
    id: Option<u64>,
    wants_id: bool,
    /// Whether a row so far has an id.
    has_ids: bool,
    /// The texts of the current row that are passed through.
    kept: Vec<String>,
    kept_bytes: usize,
}

/// Said of a row without an id, after rows with one.
const NO_ID: &str = "the row has no id";
/// The same where no row before has one: the name of the ids may be wrong, and to skip such rows would then skip all of them.
pub const NO_ID_YET: &str = "the row has no id: check the name that --id gives";

impl Builder {
    /// `width`: targets per row; `keeps`: texts per row that are passed through.
    pub fn new([width, keeps]: [usize; 2], [growing, sparse]: [bool; 2], wants_id: bool) -> Self {
        let mut builder = Builder { growing, sparse, wants_id, kept: vec![String::new(); keeps], ..Builder::default() };
        builder.chunk.targets.width = width;
        builder
    }

    pub fn rows(&self) -> usize {
        self.chunk.rows
    }

    /// The number of rows, bad ones included.
    pub fn lines(&self) -> usize {
        self.chunk.rows + self.chunk.bad.len()
    }

    /// Reserves space for a row of this many features.
    pub fn begin(&mut self, features: usize) {
        self.chunk.targets.values.resize((self.chunk.rows + 1) * self.chunk.targets.width, 0.0);
        if !self.growing {
            self.chunk.features = features;
            self.chunk.x.resize((self.chunk.rows + 1) * features, 0.0);
        }
        (self.given, self.weight, self.id) = (0, None, None);
        self.kept.iter_mut().for_each(String::clear);
    }

    /// Sets a text of the row that is passed through.
    pub fn keep(&mut self, at: u32, text: &[u8], column: &str) -> Parsed {
        self.kept[at as usize] = number::letters(text, column)?.to_owned();
        Ok(())
    }

    /// The texts of the current row that are passed through, which are then empty.
    pub fn take_kept(&mut self) -> Vec<String> {
        self.kept.iter_mut().map(std::mem::take).collect()
    }

    /// Marks a feature of the row as one without a value.
    pub fn missing(&mut self, feature: u32) {
        self.chunk.missing.push((self.chunk.rows as u32, feature));
        if self.growing {
            self.entries.push((feature, 0.0));
        }
    }

    /// Adds the value of one feature; several values of the same feature are summed.
    #[inline]
    pub fn put(&mut self, feature: u32, value: f64) {
        if self.growing {
            self.entries.push((feature, value));
        } else {
            self.chunk.x[self.chunk.rows * self.chunk.features + feature as usize] = value;
        }
    }

    /// The features of the current row, if the number of features is fixed.
    pub fn row_mut(&mut self) -> &mut [f64] {
        if self.growing { &mut [] } else { &mut self.chunk.x[self.chunk.rows * self.chunk.features..] }
    }

    /// Adds one target of the row; `raw` is its text. If a number cannot be printed back to the same text (007, 1e3), the text is
    /// kept for the label.
    pub fn target(&mut self, index: u32, value: Value<'_>, raw: &[u8], column: &str) -> Parsed {
        let number = match value {
            Value::Missing => return Ok(()),
            Value::Number(v) => v,
            Value::Int(v) => v as f64,
            Value::Bool(v) => {
                let name = if v { "true" } else { "false" };
                if raw != name.as_bytes() && raw.eq_ignore_ascii_case(name.as_bytes()) {
                    self.chunk.targets.respelled.get_or_insert_with(|| String::from_utf8_lossy(raw).into_owned());
                }
                return self.text_target(index, name);
            }
            Value::Text(text) => return self.text_target(index, number::letters(text, column)?),
        };
        if !number.is_finite() {
            let found = if raw.iter().any(u8::is_ascii_digit) { shown(raw.trim_ascii()) } else { number.to_string() };
            return Err(error::cell(column, format!("found {found}, expected a finite target, or nothing to predict only")));
        }
        let at = self.chunk.rows * self.chunk.targets.width + index as usize;
        self.chunk.targets.values[at] = number;
        self.given += 1;
        if raw.contains(&b'.') {
            self.chunk.targets.points.resize(at, false);
            self.chunk.targets.points.push(true);
        }
        // Only a single target can be a class.
        if self.chunk.targets.width == 1 && !number::is_plain(raw) {
            let word = self.word(number::letters(raw, column)?);
            let targets = &mut self.chunk.targets;
            targets.spelled.resize(targets.values.len(), 0);
            targets.spelled[at] = word;
        }
        Ok(())
    }

    fn text_target(&mut self, index: u32, text: &str) -> Parsed {
        let word = self.word(text);
        let targets = &mut self.chunk.targets;
        targets.texts.resize(targets.values.len(), 0);
        targets.texts[self.chunk.rows * targets.width + index as usize] = word;
        self.given += 1;
        Ok(())
    }

    /// The number of a word among the words of this chunk, from 1; a new word is added.
    fn word(&mut self, text: &str) -> u32 {
        let targets = &mut self.chunk.targets;
        self.words.get(text).copied().unwrap_or_else(|| {
            targets.words.push(text.into());
            self.word_bytes += text.len();
            self.words.insert(text.into(), targets.words.len() as u32);
            targets.words.len() as u32
        })
    }

    pub fn weight(&mut self, value: Value<'_>, column: &str) -> Parsed {
        let found = match value {
            Value::Number(v) if (0.0..=LARGEST).contains(&v) => {
                self.weight = Some(v);
                return Ok(());
            }
            Value::Int(v) if (0.0..=LARGEST).contains(&(v as f64)) => {
                self.weight = Some(v as f64);
                return Ok(());
            }
            Value::Missing => "nothing".into(),
            Value::Text(t) => shown(t),
            Value::Number(v) => v.to_string(),
            Value::Int(v) => v.to_string(),
            Value::Bool(v) => v.to_string(),
        };
        Err(error::cell(column, format!("found {found}, expected a weight: a number from 0 to 1e15")))
    }

    pub fn id(&mut self, text: &[u8], column: &str) -> Parsed {
        if text.is_empty() {
            return Err(error::cell(column, "found nothing, expected an id"));
        }
        self.id = Some(number::id(text));
        Ok(())
    }

    /// Discards the current row.
    pub fn roll_back(&mut self) {
        let rows = self.chunk.rows;
        self.chunk.x.truncate(rows * self.chunk.features);
        let targets = &mut self.chunk.targets;
        targets.values.truncate(rows * targets.width);
        targets.texts.truncate(rows * targets.width);
        targets.spelled.truncate(rows * targets.width);
        targets.points.truncate(rows * targets.width);
        self.entries.truncate(self.ends.last().copied().unwrap_or(0));
        let complete = self.chunk.missing.partition_point(|(row, _)| (*row as usize) < rows);
        self.chunk.missing.truncate(complete);
    }

    /// Counts the current row as bad; the caller has rolled it back. `kept`: its texts that are passed through.
    pub fn skip(&mut self, line: u64, kept: Vec<String>, why: InputError) {
        self.kept_bytes += kept.iter().map(String::len).sum::<usize>();
        self.chunk.bad.push(Bad { before: self.chunk.rows, line, kept });
        self.chunk.first_bad.get_or_insert(why);
    }

    /// Whether the current row is learned, and not only predicted; see [`Chunk::is_example`].
    pub fn is_example(&self) -> bool {
        let width = self.chunk.targets.width;
        (width == 0 || self.given == width) && self.weight.is_none_or(|weight| weight > 0.0)
    }

    /// Removes later features than the first `features` from the current row.
    pub fn cut(&mut self, features: usize) {
        let from = self.ends.last().copied().unwrap_or(0);
        let kept: Vec<_> = self.entries.drain(from..).filter(|(feature, _)| (*feature as usize) < features).collect();
        self.entries.extend(kept);
        let row = self.chunk.rows;
        self.chunk.missing.retain(|(at, feature)| (*at as usize) < row || (*feature as usize) < features);
    }

    /// Completes the current row; `features` are known now. `print`: the fingerprint of all records so far.
    pub fn commit(&mut self, line: u64, print: u64, features: usize) -> Parsed {
        if self.wants_id && self.id.is_none() {
            return Err(error::row(if self.has_ids { NO_ID } else { NO_ID_YET }));
        }
        if let Some(weight) = self.weight {
            self.chunk.weights.get_or_insert_with(Vec::new).resize(self.chunk.rows, 1.0);
            self.chunk.weights.iter_mut().for_each(|w| w.push(weight));
        }
        if let Some(id) = self.id {
            self.has_ids = true;
            self.chunk.ids.get_or_insert_with(Vec::new).push(id);
        }
        let width = self.chunk.targets.width;
        let known = width > 0 && self.given == width;
        // A row of weight 0 is only predicted. A text in place of its target, such as "unknown", is no class and no error.
        let text = self.weight == Some(0.0) && self.chunk.targets.texts.len() > self.chunk.rows * width;
        if text {
            self.chunk.targets.texts[self.chunk.rows * width..].fill(0);
        }
        self.chunk.known.push(known && !text);
        self.chunk.lines.push(line);
        self.chunk.prints.push(print);
        self.chunk.reach.push(u32::try_from(features).unwrap_or(u32::MAX));
        self.kept_bytes += self.kept.iter().map(String::len).sum::<usize>();
        self.chunk.kept.extend(self.kept.iter().cloned());
        let row = self.chunk.missing.partition_point(|(row, _)| (*row as usize) < self.chunk.rows);
        self.chunk.missing[row..].sort_unstable();
        self.ends.push(self.entries.len());
        self.chunk.rows += 1;
        Ok(())
    }

    /// Whether one more row of this many features would exceed the size of a chunk.
    pub fn is_full(&self, features: usize) -> bool {
        let stored = if self.growing && self.sparse { features.min(MOST_EXPANDED) } else { features };
        let cells = (self.chunk.rows + 1).saturating_mul(stored);
        let texts = self.word_bytes + self.kept_bytes;
        self.chunk.rows > 0 && (cells > MOST_CELLS || self.entries.len() > MOST_CELLS || texts > 8 * MOST_CELLS)
    }

    /// Returns the chunk, with this many features, and starts an empty one. `fillable`: see [`Chunk::mark_rows`].
    pub fn finish(&mut self, features: usize, added: Vec<Feature>, fillable: &[u32]) -> Chunk {
        let counts = [self.chunk.targets.width, self.kept.len()];
        let fresh = Builder { has_ids: self.has_ids, ..Builder::new(counts, [self.growing, self.sparse], self.wants_id) };
        let mut done = std::mem::replace(self, fresh);
        let chunk = &mut done.chunk;
        (chunk.features, chunk.added) = (features, added);
        // Texts of discarded rows do not count.
        let text = chunk.targets.texts.iter().any(|t| *t > 0);
        chunk.targets.texts.resize(if text { chunk.targets.values.len() } else { 0 }, 0);
        if let Some(weights) = &mut chunk.weights {
            weights.resize(chunk.rows, 1.0);
        }
        if done.growing && done.sparse && features > MOST_EXPANDED {
            let (mut from, mut keys) = (0, Vec::new());
            chunk.reserve_sparse(done.entries.len());
            for &end in &done.ends {
                push_sorted(&done.entries[from..end], &mut keys, chunk);
                from = end;
            }
        } else if done.growing {
            chunk.x = expand(&done.entries, &done.ends, features);
        }
        done.chunk.mark_rows(fillable);
        done.chunk
    }
}

/// Adds a row whose entries are in any order; several values of one column are summed in the order in which they were given.
fn push_sorted(entries: &[(u32, f64)], keys: &mut Vec<u64>, chunk: &mut Chunk) {
    // A sum begins with 0, so a negative zero becomes 0.
    if entries.is_sorted_by(|a, b| a.0 < b.0) {
        return chunk.push_sparse(entries.iter().map(|(column, value)| (*column as usize, 0.0 + value)));
    }
    // The place is in the key, so that equal columns keep their order; numbers are sorted faster than pairs.
    keys.clear();
    keys.extend(entries.iter().zip(0u64..).map(|((column, _), place)| u64::from(*column) << 32 | place));
    keys.sort_unstable();
    let value = |key: &u64| entries[(key & u64::from(u32::MAX)) as usize].1;
    let same = keys.chunk_by(|a, b| a >> 32 == b >> 32);
    chunk.push_sparse(same.map(|keys| ((keys[0] >> 32) as usize, keys.iter().fold(0.0, |sum, key| sum + value(key)))));
}

fn expand(entries: &[(u32, f64)], ends: &[usize], features: usize) -> Vec<f64> {
    let mut x = vec![0.0; ends.len() * features];
    let mut from = 0;
    for (row, &end) in x.chunks_exact_mut(features.max(1)).zip(ends) {
        for &(feature, value) in &entries[from..end] {
            row[feature as usize] += value;
        }
        from = end;
    }
    x
}
