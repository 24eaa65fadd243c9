//! Errors of the input: file, line, column, what was found and what to do. A line is a line of the file, from 1, with the header counted; Parquet has no
//! lines, and its rows are counted from 1.

use std::fmt::{self, Display, Formatter};
use std::io;

use super::Format;
use super::builder::NO_ID_YET;

/// The kind of error, for exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trouble {
    /// The file cannot be opened or read.
    Io,
    /// The options do not fit the file: an unknown column, no target, a text column.
    Usage,
    /// The contents are wrong.
    Data,
}

/// One or two lines that name file, line (of Parquet: row), column, what was found and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputError(Box<Parts>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Parts {
    trouble: Trouble,
    file: String,
    line: Option<u64>,
    /// Whether `line` counts rows, because the format has no lines.
    of_rows: bool,
    column: Option<String>,
    text: String,
}

impl InputError {
    pub(super) fn new(trouble: Trouble, file: &str, text: impl Into<String>) -> Self {
        let text = printable(&text.into(), LONGEST_TEXT);
        InputError(Box::new(Parts { trouble, file: shown_file(file), line: None, of_rows: false, column: None, text }))
    }

    /// An error of the operating system.
    pub fn io(file: &str, error: &io::Error) -> Self {
        let text = match error.kind() {
            io::ErrorKind::NotFound => "no such file".into(),
            io::ErrorKind::UnexpectedEof => "ends in the middle of its compressed data; copy or compress it again".into(),
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                format!("damaged compressed data ({error}); copy or compress it again")
            }
            _ => error.to_string(),
        };
        Self::new(Trouble::Io, file, text)
    }

    pub(super) fn at(file: &str, line: u64, fault: Fault) -> Self {
        let trouble = if fault.fatal { Trouble::Usage } else { Trouble::Data };
        let (line, text) = ((line > 0).then_some(line), printable(&fault.text, LONGEST_TEXT));
        let column = fault.column.map(|name| printable(&name, LONGEST_NAME));
        InputError(Box::new(Parts { trouble, file: shown_file(file), line, of_rows: false, column, text }))
    }

    /// A row that the learner refuses.
    pub fn of_row(file: &str, line: u64, column: Option<&str>, text: String) -> Self {
        Self::at(file, line, Fault { column: column.map(str::to_owned), text, fatal: false })
    }

    /// Names a row instead of a line where the format has no lines.
    pub fn counted_in(mut self, format: Format) -> Self {
        self.0.of_rows = format == Format::Parquet;
        self
    }

    /// Adds advice on how to skip the row, if skipping would help.
    pub(super) fn of_skippable(mut self) -> Self {
        if self.0.trouble == Trouble::Data {
            let others = if self.0.text == NO_ID_YET { "if other rows have an id, " } else { "" };
            self.0.text += &format!("; {others}--on-bad-row skip leaves such rows out");
        }
        self
    }

    /// Adds to the message what was done before the error.
    pub fn and(mut self, more: &str) -> Self {
        self.0.text += more;
        self
    }

    /// The kind of error.
    pub fn trouble(&self) -> Trouble {
        self.0.trouble
    }

    /// The message without file, line and column.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The line of the input, from 1.
    pub fn line(&self) -> Option<u64> {
        self.0.line
    }

    /// The column's name.
    pub fn column(&self) -> Option<&str> {
        self.0.column.as_deref()
    }
}

/// The largest number of characters of a message, without file, line and column.
const LONGEST_TEXT: usize = 500;
/// The largest number of characters of a column's name in a message.
const LONGEST_NAME: usize = 80;

/// The text with control characters escaped, cut to `most` characters.
fn printable(text: &str, most: usize) -> String {
    let mut shown = String::new();
    let mut left = most;
    for c in text.chars() {
        let clean = if c.is_control() { c.escape_debug().to_string() } else { c.to_string() };
        let Some(rest) = left.checked_sub(clean.chars().count()) else { return shown + "..." };
        shown += &clean;
        left = rest;
    }
    shown
}

fn shown_file(file: &str) -> String {
    if file == "-" { "standard input".into() } else { printable(file, usize::MAX) }
}

impl Display for InputError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.file)?;
        if let Some(line) = self.0.line {
            write!(f, ", {} {line}", if self.0.of_rows { "row" } else { "line" })?;
        }
        if let Some(column) = &self.0.column {
            write!(f, ", column '{column}'")?;
        }
        write!(f, ": {}", self.0.text)
    }
}

impl std::error::Error for InputError {}

/// An error in one row, without the file and the line.
#[derive(Debug)]
pub(super) struct Fault {
    pub column: Option<String>,
    pub text: String,
    /// Whether skipping this row would not help.
    pub fatal: bool,
}

/// The result of parsing one row.
pub(super) type Parsed<T = ()> = Result<T, Box<Fault>>;

/// An error of the whole row.
pub(super) fn row(text: impl Into<String>) -> Box<Fault> {
    Box::new(Fault { column: None, text: text.into(), fatal: false })
}

/// An error of one cell.
pub(super) fn cell(column: &str, text: impl Into<String>) -> Box<Fault> {
    Box::new(Fault { column: Some(column.into()), text: text.into(), fatal: false })
}

/// An error of one cell that would remain if the row were skipped.
pub(super) fn stop(column: &str, text: impl Into<String>) -> Box<Fault> {
    Box::new(Fault { column: Some(column.into()), text: text.into(), fatal: true })
}
