//! Rows as a learner takes them, and the place where they are put together.

use std::collections::HashMap;

use okl::Label;

use super::error::{self, InputError, Parsed};
use super::number::{self, Value, shown};
use super::schema::Feature;

/// The largest feature that okl takes.
pub const LARGEST: f64 = 1e15;

/// A chunk ends before it has more numbers than this (16 MiB), however many rows were asked for.
pub(super) const MOST_CELLS: usize = 4 << 20;

/// Some rows in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chunk {
    /// The number of rows.
    pub rows: usize,
    /// The number of features; in formats that grow it may be larger than the last chunk's, never smaller.
    pub features: usize,
    /// The features, row by row; sparse formats are expanded.
    pub x: Vec<f32>,
    /// The targets; of width 0 if there are none.
    pub targets: Targets,
    /// Has the row all its targets? Otherwise it is only predicted.
    pub known: Vec<bool>,
    /// A weight per row, if the input has weights.
    pub weights: Option<Vec<f64>>,
    /// An id per row, if asked for: whole numbers as they are, other text by its 64-bit FNV-1a hash.
    pub ids: Option<Vec<u64>>,
    /// The input line of each row, from 1 (for Parquet the row).
    pub lines: Vec<u64>,
    /// How many bad rows were skipped since the last chunk.
    pub skipped: u64,
    /// Why the first of them was bad.
    pub first_skipped: Option<InputError>,
    /// Named features that appeared since the last chunk; see [`super::Schema::advance`].
    pub added: Vec<Feature>,
}

/// Targets: numbers as numbers, text as indices into the words of this chunk.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Targets {
    /// Targets per row.
    pub width: usize,
    /// Row by row; 0 where the target is missing or text.
    values: Vec<f64>,
    /// Nothing if no target of this chunk is text; otherwise per value 1 + its word, or 0.
    texts: Vec<u32>,
    words: Vec<String>,
}

impl Targets {
    /// The targets as numbers, row by row (0 in rows that are not known), unless one is text.
    pub fn numbers(&self) -> Option<&[f64]> {
        self.texts.is_empty().then_some(&self.values)
    }

    /// The first target that is text: its row in the chunk, which target, and the text.
    pub fn first_text(&self) -> Option<(usize, usize, &str)> {
        let at = self.texts.iter().position(|t| *t > 0)?;
        Some((at / self.width, at % self.width, self.text(at)?))
    }

    /// One target as text, if it is.
    fn text(&self, at: usize) -> Option<&str> {
        let word = self.texts.get(at)?.checked_sub(1)?;
        self.words.get(word as usize).map(String::as_str)
    }

    /// The first target of each row as the name of a class: text as it is, whole numbers as integers
    /// (so 1, +1 and 1.0 are one class), other numbers as text. Rows that are not known have any label.
    pub fn labels(&self) -> Vec<Label> {
        let label = |at: usize| self.text(at).map_or_else(|| number_label(self.values[at]), Label::from);
        (0..self.values.len()).step_by(self.width.max(1)).map(label).collect()
    }
}

fn number_label(value: f64) -> Label {
    if value.fract() == 0.0 && value.abs() < 9e15 { Label::Int(value as i64) } else { Label::Text(value.to_string()) }
}

/// A chunk in the making. A row is put in cell by cell, then committed or rolled back.
#[derive(Debug, Default)]
pub(super) struct Builder {
    chunk: Chunk,
    /// May the number of features grow? Then cells are kept as entries until the chunk is done.
    growing: bool,
    entries: Vec<(u32, f32)>,
    /// Where each row's entries end.
    ends: Vec<usize>,
    words: HashMap<Vec<u8>, u32>,
    word_bytes: usize,
    /// Of the row in the making: targets given, its weight and id.
    given: usize,
    weight: Option<f64>,
    id: Option<u64>,
    wants_id: bool,
}

impl Builder {
    pub fn new(width: usize, growing: bool, wants_id: bool) -> Self {
        let mut builder = Builder { growing, wants_id, ..Builder::default() };
        builder.chunk.targets.width = width;
        builder
    }

    pub fn rows(&self) -> usize {
        self.chunk.rows
    }

    /// Makes room for a row of so many features.
    pub fn begin(&mut self, features: usize) {
        self.chunk.targets.values.resize((self.chunk.rows + 1) * self.chunk.targets.width, 0.0);
        if !self.growing {
            self.chunk.features = features;
            self.chunk.x.resize((self.chunk.rows + 1) * features, 0.0);
        }
        (self.given, self.weight, self.id) = (0, None, None);
    }

    /// One feature of the row; several values of one feature add up.
    #[inline]
    pub fn put(&mut self, feature: u32, value: f64) {
        if self.growing {
            self.entries.push((feature, value as f32));
        } else {
            self.chunk.x[self.chunk.rows * self.chunk.features + feature as usize] = value as f32;
        }
    }

    /// One target of the row.
    pub fn target(&mut self, index: u32, value: Value<'_>, column: &str) -> Parsed {
        let number = match value {
            Value::Missing => return Ok(()),
            Value::Number(v) => v,
            Value::Int(v) => v as f64,
            Value::Bool(v) => return self.text_target(index, if v { b"true" } else { b"false" }),
            Value::Text(text) => return self.text_target(index, text),
        };
        if !number.is_finite() {
            return Err(error::cell(column, format!("found {number}, expected a finite target, or nothing to predict only")));
        }
        let at = self.chunk.rows * self.chunk.targets.width + index as usize;
        self.chunk.targets.values[at] = number;
        self.given += 1;
        Ok(())
    }

    fn text_target(&mut self, index: u32, text: &[u8]) -> Parsed {
        let targets = &mut self.chunk.targets;
        let word = self.words.get(text).copied().unwrap_or_else(|| {
            targets.words.push(String::from_utf8_lossy(text).into_owned());
            self.word_bytes += text.len();
            self.words.insert(text.to_vec(), targets.words.len() as u32);
            targets.words.len() as u32
        });
        targets.texts.resize(targets.values.len(), 0);
        targets.texts[self.chunk.rows * targets.width + index as usize] = word;
        self.given += 1;
        Ok(())
    }

    pub fn weight(&mut self, value: Value<'_>, column: &str) -> Parsed {
        let found = match value {
            Value::Number(v) if v.is_finite() && v >= 0.0 => {
                self.weight = Some(v);
                return Ok(());
            }
            Value::Int(v) if v >= 0 => {
                self.weight = Some(v as f64);
                return Ok(());
            }
            Value::Missing => "nothing".into(),
            Value::Text(t) => shown(t),
            Value::Number(v) => v.to_string(),
            Value::Int(v) => v.to_string(),
            Value::Bool(v) => v.to_string(),
        };
        Err(error::cell(column, format!("found {found}, expected a weight: a finite number >= 0")))
    }

    pub fn id(&mut self, text: &[u8], column: &str) -> Parsed {
        if text.is_empty() {
            return Err(error::cell(column, "found nothing, expected an id"));
        }
        self.id = Some(number::id(text));
        Ok(())
    }

    /// Takes back the row in the making.
    pub fn roll_back(&mut self) {
        let rows = self.chunk.rows;
        self.chunk.x.truncate(rows * self.chunk.features);
        let targets = &mut self.chunk.targets;
        targets.values.truncate(rows * targets.width);
        targets.texts.truncate(rows * targets.width);
        self.entries.truncate(self.ends.last().copied().unwrap_or(0));
    }

    pub fn skip(&mut self, why: InputError) {
        self.chunk.skipped += 1;
        self.chunk.first_skipped.get_or_insert(why);
    }

    /// Keeps the row in the making.
    pub fn commit(&mut self, line: u64) -> Parsed {
        if self.wants_id && self.id.is_none() {
            return Err(error::row("the row has no id"));
        }
        if let Some(weight) = self.weight {
            self.chunk.weights.get_or_insert_with(Vec::new).resize(self.chunk.rows, 1.0);
            self.chunk.weights.iter_mut().for_each(|w| w.push(weight));
        }
        if let Some(id) = self.id {
            self.chunk.ids.get_or_insert_with(Vec::new).push(id);
        }
        let width = self.chunk.targets.width;
        self.chunk.known.push(width > 0 && self.given == width);
        self.chunk.lines.push(line);
        self.ends.push(self.entries.len());
        self.chunk.rows += 1;
        Ok(())
    }

    /// Would one more row of so many features be too much?
    pub fn is_full(&self, features: usize) -> bool {
        let cells = (self.chunk.rows + 1).saturating_mul(features);
        self.chunk.rows > 0 && (cells > MOST_CELLS || self.entries.len() > MOST_CELLS || self.word_bytes > 4 * MOST_CELLS)
    }

    /// The chunk, with so many features; the builder starts again.
    pub fn finish(&mut self, features: usize, added: Vec<Feature>) -> Chunk {
        let fresh = Builder::new(self.chunk.targets.width, self.growing, self.wants_id);
        let mut done = std::mem::replace(self, fresh);
        let chunk = &mut done.chunk;
        (chunk.features, chunk.added) = (features, added);
        // A text whose row was taken back does not count.
        let text = chunk.targets.texts.iter().any(|t| *t > 0);
        chunk.targets.texts.resize(if text { chunk.targets.values.len() } else { 0 }, 0);
        if let Some(weights) = &mut chunk.weights {
            weights.resize(chunk.rows, 1.0);
        }
        if done.growing {
            chunk.x = expand(&done.entries, &done.ends, features);
        }
        done.chunk
    }
}

fn expand(entries: &[(u32, f32)], ends: &[usize], features: usize) -> Vec<f32> {
    let mut x = vec![0.0f32; ends.len() * features];
    let mut from = 0;
    for (row, &end) in x.chunks_exact_mut(features.max(1)).zip(ends) {
        for &(feature, value) in &entries[from..end] {
            row[feature as usize] += value;
        }
        from = end;
    }
    x
}
