//! The file of predictions of an earlier run: which of its rows stay when `--continue` extends it.
//!
//! A run that was killed has written rows that the saved model has not learned. These rows will be learned and written again,
//! so they are removed. Rows that the saved model has learned were written before it was saved; they are kept.

use std::io::{self, BufRead};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::input::names;
use crate::metrics::count;

/// The rows that the model has learned in the pass whose predictions are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consumed {
    /// All rows up to and including this line of the data; 0: none.
    Line(u64),
    /// This many rows, in shuffled order.
    Rows(u64),
}

/// The part of the file that is kept.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    /// The number of bytes.
    pub bytes: u64,
    /// The columns of a table.
    pub header: Vec<String>,
    /// For JSON lines: whether rows have the key `positive`. None if no kept row has a score.
    pub positive: Option<bool>,
    /// For JSON lines: the columns of the data in the first row that has a score. None if no kept row has one.
    pub texts: Option<Vec<String>>,
    /// The number of rows, and the line of the last one.
    rows: u64,
    last: u64,
}

impl Kept {
    /// Reads a file up to the first row that the model has not learned. A last line without its end is not read.
    ///
    /// # Errors
    /// Those of the file; and if a line is not a line of predictions.
    pub fn read(file: &mut impl BufRead, json: bool, consumed: Consumed) -> io::Result<Kept> {
        let (mut kept, mut record) = (Kept::default(), Vec::new());
        if !json && next(file, true, &mut record)? {
            kept.header = names(&String::from_utf8_lossy(record.trim_ascii_end()));
            kept.bytes = record.len() as u64;
        }
        while next(file, !json, &mut record)? {
            let row = if json { of_json(&record) } else { of_table(&record) };
            let Some(Row { line, positive, texts }) = row else {
                return Err(io::Error::other(format!(
                    "its line {} is not a line of predictions",
                    kept.rows + 1 + u64::from(!json)
                )));
            };
            let stays = match consumed {
                Consumed::Line(last) => line <= last,
                Consumed::Rows(rows) => kept.rows < rows,
            };
            if !stays {
                break;
            }
            kept.positive = kept.positive.or(positive);
            kept.texts = kept.texts.or(texts);
            (kept.rows, kept.last, kept.bytes) = (kept.rows + 1, line, kept.bytes + record.len() as u64);
        }
        Ok(kept)
    }

    /// A description of the rows missing between the last kept row and the next row; none if no row is missing.
    pub fn missing(&self, consumed: Consumed) -> Option<String> {
        match consumed {
            Consumed::Line(last) if self.last < last => {
                Some(format!("it ends with line {} of the data, and the model has learned up to line {last}", self.last))
            }
            Consumed::Rows(rows) if self.rows < rows => {
                Some(format!("it has {} rows, and the model has learned {}", count(self.rows as f64), count(rows as f64)))
            }
            _ => None,
        }
    }
}

struct Row {
    line: u64,
    positive: Option<bool>,
    texts: Option<Vec<String>>,
}

fn of_table(record: &[u8]) -> Option<Row> {
    let digits = record.iter().position(|b| !b.is_ascii_digit())?;
    let line = std::str::from_utf8(&record[..digits]).ok()?.parse().ok()?;
    Some(Row { line, positive: None, texts: None })
}

#[derive(Deserialize)]
struct Json {
    line: u64,
    scores: Value,
    #[serde(default, deserialize_with = "present")]
    positive: Option<Value>,
    #[serde(default)]
    kept: Map<String, Value>,
}

/// Some for a key that is present, even if its value is null.
fn present<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

fn of_json(record: &[u8]) -> Option<Row> {
    let Json { line, scores, positive, kept } = serde_json::from_slice(record).ok()?;
    let (positive, texts) = (positive.is_some(), kept.into_iter().map(|(name, _)| name).collect());
    Some(if scores.is_array() {
        Row { line, positive: Some(positive), texts: Some(texts) }
    } else {
        Row { line, positive: None, texts: None }
    })
}

/// Reads a whole record with its line end: one line, or several lines if `quoted` fields contain line ends. False at the end.
fn next(file: &mut impl BufRead, quoted: bool, record: &mut Vec<u8>) -> io::Result<bool> {
    record.clear();
    loop {
        if file.read_until(b'\n', record)? == 0 || !record.ends_with(b"\n") {
            return Ok(false);
        }
        let open = quoted && record.iter().filter(|b| **b == b'"').count() % 2 == 1;
        if !open {
            return Ok(true);
        }
    }
}
