//! Tables and streams in: CSV, LIBSVM, JSON lines, VW text and Parquet, plain or compressed, as chunks of dense rows.
//!
//! ```text
//! bytes (source) -> lines (lines) -> cells (csv, libsvm, jsonl, vw; parquet has its own) -> roles (columns) -> rows (chunk)
//! ```
//!
//! Memory does not depend on the length of the input: a line has at most [`LONGEST_LINE`] bytes, there are at most
//! [`MOST_FEATURES`] features, and a chunk ends early rather than grow beyond 16 MiB. New features and levels of a row are
//! removed again if the row is discarded. The rows depend only on the input and the options, not on where a chunk ends. The
//! first good row decides whether a column has numbers or text.

mod asked;
mod body;
mod builder;
mod cells;
mod chunk;
mod columns;
mod csv;
mod encoding;
mod error;
mod files;
mod hash;
mod jsonl;
mod libsvm;
mod lines;
mod marks;
mod missing;
mod name;
mod number;
#[cfg(feature = "parquet")]
mod parquet;
mod plan;
mod read_ahead;
mod row;
mod schema;
mod short_names;
mod sniff;
mod source;
mod time;
mod vw;
mod whole;
mod words;

use std::io::Read;

use serde::{Deserialize, Serialize};

pub use chunk::{Bad, Chunk, Entries, LARGEST, MOST_EXPANDED, Targets, label_of};
pub use columns::{MOST_FEATURES, MOST_LEVELS};
pub use encoding::Encoding;
pub use error::{InputError, Trouble};
pub use files::Files;
pub use hash::{HASH_BITS, Used, hash_feature};
pub use lines::LONGEST_LINE;
pub use missing::{Filled, Inputs, Missing, Origin, Rule};
pub use name::Name;
pub use number::{DECIMAL_COMMA, has_decimal_comma};
pub use read_ahead::{Places, ReadAhead, read_ahead};
pub use row::{Row, RowView, gather};
pub use schema::{Feature, Features, Part, Schema};
pub use whole::Whole;
pub use words::MOST_WORDS;

use body::Body;
use builder::Builder;
use columns::Columns;
use source::Source;
pub use source::is_stream;

/// The one-hot encoded columns of dates or times: the name, the number of different texts, and what to do instead.
pub fn encoded_dates(schema: &Schema) -> Vec<(String, usize, String)> {
    let mut columns: std::collections::BTreeMap<String, (Option<usize>, String)> = Default::default();
    let Features::Named(list) = &schema.features else { return Vec::new() };
    for feature in list.iter().filter(|feature| feature.part.is_none()) {
        let Some(level) = &feature.level else { continue };
        let advice = || cells::of_date(&feature.column, level.as_bytes());
        let (texts, _) = columns.entry(feature.column.to_string()).or_insert_with(|| (Some(0), advice()));
        *texts = texts.filter(|_| number::is_date(level.as_bytes())).map(|texts| texts + 1);
    }
    columns.into_iter().filter_map(|(name, (texts, advice))| Some((name, texts?, advice))).collect()
}

/// File formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Delimited text.
    Csv,
    /// LIBSVM or SVMlight text.
    Libsvm,
    /// One JSON object per line.
    Jsonl,
    /// Vowpal Wabbit text.
    Vw,
    /// Apache Parquet; a file, not a stream.
    Parquet,
}

/// Options of the reader.
#[derive(Clone, Debug)]
pub struct Options {
    /// The format. None: detected from the name and the first bytes.
    pub format: Option<Format>,
    /// Whether the first line of a CSV file is a header. None: detected from the first two records and the names in the options.
    pub header: Option<bool>,
    /// The target columns, by name (by number from 1 without a header). In LIBSVM and VW text the label is the first word of a line.
    pub targets: Vec<String>,
    /// Columns to ignore.
    pub ignore: Vec<String>,
    /// If not empty: the only columns to use as features.
    pub features: Vec<String>,
    /// The column of ids (`tag` in VW).
    pub id: Option<String>,
    /// The column of weights. In VW text the weight (importance) follows the label.
    pub weight: Option<String>,
    /// Which of these two a model took from its data and the command does not name: the column is used if the file has it.
    pub inherited: Vec<String>,
    /// Columns whose texts are passed through, see [`Chunk::kept`]; they may be features, targets or neither. In VW text: the tag.
    pub keep: Vec<String>,
    /// What a cell without a value becomes. None: as the model says, otherwise an error.
    pub missing: Option<Missing>,
    /// Whether text columns become one feature per level.
    pub one_hot: bool,
    /// Columns that become one feature per level, whatever they have.
    pub categories: Vec<String>,
    /// Columns of times: days since the first row, and the time of the day and of the week as sine and cosine.
    pub times: Vec<String>,
    /// Columns of numbers x that become the logarithm of 1 + |x|, with the sign of x.
    pub logs: Vec<String>,
    /// Columns of texts: one feature per word, which counts it.
    pub texts: Vec<String>,
    /// The longest sequence of words that is a feature of a text; 0 and 1: words alone.
    pub ngrams: u8,
    /// Features are hashed to this many bits, and their names are not kept; see [`hash_feature`].
    pub hash_bits: Option<u8>,
    /// JSON lines: whether an absent key is 0 instead of an error.
    pub sparse: bool,
    /// Whether rows that cannot be read are skipped and counted, instead of being an error.
    pub skip_bad_rows: bool,
    /// Whether a target that is text is an error of its row, because the task is known to be numbers.
    pub number_targets: bool,
    /// Whether a file without a target column is an error. If not, targets are read if the file has any.
    pub want_target: bool,
    /// Whether the rows are learned. Then a row that is only predicted adds no feature.
    pub learns: bool,
    /// The columns of a model: the same columns are read, in the same order.
    pub schema: Option<Schema>,
    /// Rows up to this line (see [`Chunk::lines`]) have been learned before and are skipped.
    pub after_line: u64,
    /// The expected fingerprint of the skipped rows (see [`Chunk::prints`]). Another fingerprint is an error.
    pub consumed: Option<u64>,
    /// The fingerprint of the rows before this input.
    pub print: u64,
    /// The text encoding. None: UTF-16 if there is a byte order mark, otherwise UTF-8.
    pub encoding: Option<Encoding>,
    /// The largest number of rows per chunk.
    pub chunk_rows: usize,
    /// Whether there was a file before this one, with the same options.
    pub later_file: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            format: None,
            header: None,
            targets: Vec::new(),
            ignore: Vec::new(),
            features: Vec::new(),
            id: None,
            weight: None,
            inherited: Vec::new(),
            keep: Vec::new(),
            missing: None,
            one_hot: false,
            categories: Vec::new(),
            times: Vec::new(),
            logs: Vec::new(),
            texts: Vec::new(),
            ngrams: 0,
            hash_bits: None,
            sparse: false,
            skip_bad_rows: false,
            number_targets: false,
            want_target: true,
            learns: false,
            schema: None,
            after_line: 0,
            consumed: None,
            print: 0,
            encoding: None,
            chunk_rows: 1024,
            later_file: false,
        }
    }
}

impl Options {
    /// The flags that name columns which become other features, and these columns.
    fn parts(&self) -> [(&'static str, &Vec<String>); 4] {
        [("--one-hot", &self.categories), ("--time", &self.times), ("--log", &self.logs), ("--text", &self.texts)]
    }
}

/// Names separated by commas as in a line of CSV, with double quotes around a name that has a comma.
pub fn names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    csv::split(text.as_bytes(), b',', |name| names.push(String::from_utf8_lossy(name).into_owned()));
    names.retain(|name| !name.is_empty());
    names
}

/// Reads an input chunk by chunk.
pub struct Reader {
    file: String,
    format: Format,
    body: Body,
    columns: Columns,
    builder: Builder,
    chunk_rows: usize,
    skip_bad_rows: bool,
    learns: bool,
    after_line: u64,
    /// The fingerprint that the rows up to `after_line` must have, until it has been checked.
    unchecked: Option<u64>,
    /// The fingerprint of all records so far, and the line of the last.
    print: u64,
    last: u64,
    /// Chunks and good rows returned, bad rows seen and the first of them; whether the end has been reached.
    chunks: u32,
    rows: u64,
    bad: u64,
    first_bad: Option<InputError>,
    done: bool,
    /// The error to return after the remaining rows.
    failed: Option<InputError>,
}

impl Reader {
    /// Opens a file, or standard input for `-`.
    ///
    /// # Errors
    /// If it cannot be read, is empty, or does not fit the options.
    pub fn open(path: &str, options: Options) -> Result<Reader, InputError> {
        let format = options.format.or_else(|| sniff::from_name(path));
        let once = is_stream(path);
        if once && path != "-" && format == Some(Format::Parquet) {
            return Err(InputError::new(Trouble::Usage, path, "a pipe cannot be read as Parquet; give it as a file"));
        }
        if !once && (format == Some(Format::Parquet) || body::is_parquet(path)) {
            if options.encoding.is_some_and(|encoding| encoding != Encoding::Utf8) {
                return Err(InputError::new(Trouble::Usage, path, "--encoding: Parquet is not text; leave it out"));
            }
            return Self::with(path, Format::Parquet, options, body::open_parquet);
        }
        let source = Source::open(path, options.encoding).map_err(|e| InputError::io(path, &e))?;
        Self::text(path, source, format, options)
    }

    /// Reads from bytes that are completely available. `name` is used in messages.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn of(name: &str, bytes: impl Read + Send + 'static, options: Options) -> Result<Reader, InputError> {
        let source = Source::new(bytes, options.encoding).map_err(|e| InputError::io(name, &e))?;
        let format = options.format;
        Self::text(name, source, format, options)
    }

    /// Reads from a stream whose writer may be slow: rows that have arrived are returned without waiting for more.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn stream(name: &str, bytes: impl Read + Send + 'static, options: Options) -> Result<Reader, InputError> {
        let source = Source::live(bytes, options.encoding).map_err(|e| InputError::io(name, &e))?;
        let format = options.format;
        Self::text(name, source, format, options)
    }

    fn text(file: &str, source: Source, format: Option<Format>, options: Options) -> Result<Reader, InputError> {
        let mut text = body::Text::new(file, source)?;
        let format = match format {
            Some(format) => format,
            None => sniff::from_content(text.head(file)?),
        };
        Self::with(file, format, options, |file, options| text.parser(file, format, options))
    }

    fn with(
        file: &str,
        format: Format,
        mut options: Options,
        open: impl FnOnce(&str, &mut Options) -> Result<(Body, Columns), InputError>,
    ) -> Result<Reader, InputError> {
        plan::agree(&mut options).map_err(|text| InputError::new(Trouble::Usage, file, text))?;
        let (body, columns) = open(file, &mut options)?;
        let growing = columns.schema().grows() || !matches!(format, Format::Csv | Format::Parquet);
        let counts = [columns.schema().targets.len(), options.keep.len()];
        let wants_id = options.id.as_ref().is_some_and(|name| !columns.absent.contains(name));
        Ok(Reader {
            file: file.into(),
            format,
            body,
            builder: Builder::new(counts, [growing, columns.schema().sparse], wants_id),
            columns,
            chunk_rows: options.chunk_rows.max(1),
            skip_bad_rows: options.skip_bad_rows,
            learns: options.learns,
            after_line: options.after_line,
            unchecked: options.consumed,
            print: options.print,
            last: 0,
            chunks: 0,
            rows: 0,
            bad: 0,
            first_bad: None,
            done: false,
            failed: None,
        })
    }

    /// The next rows; none at the end. A chunk without rows only has skipped bad rows.
    ///
    /// # Errors
    /// If a row cannot be read; the message has file, line and column. There are no more rows after an error.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<Chunk>, InputError> {
        if self.done {
            return self.failed.take().map_or(Ok(None), Err);
        }
        let result = self.read();
        self.done |= result.is_err();
        match result {
            // Returns the rows before the bad row first, then the error.
            Err(error) if self.builder.rows() > 0 => {
                self.failed = Some(error);
                Ok(Some(self.hand_out()))
            }
            result => result,
        }
    }

    /// The columns so far.
    pub fn schema(&self) -> &Schema {
        self.columns.schema()
    }

    /// The columns of [`Options::inherited`] that the input does not have.
    pub fn absent(&self) -> &[String] {
        &self.columns.absent
    }

    /// The format of the input.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The name of the input.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The first chunks are small, so that learning begins while the next are parsed.
    fn is_enough(&self) -> bool {
        let enough = (FIRST_ROWS << self.chunks.min(16)).min(self.chunk_rows);
        self.builder.lines() >= enough || (self.builder.lines() > 0 && self.body.would_wait())
    }

    fn read(&mut self) -> Result<Option<Chunk>, InputError> {
        while !self.is_enough() {
            let Some(line) = self.body.advance(&self.file)? else { return self.end() };
            let print = self.body.print(self.print);
            if line <= self.after_line {
                (self.print, self.last) = (print, line);
                continue;
            }
            self.check_consumed()?;
            let parsed = self.parse();
            if parsed.is_ok() && self.builder.is_full(self.columns.features()) {
                self.roll_back();
                self.body.again();
                break;
            }
            (self.print, self.last) = (print, line);
            match parsed.and_then(|there| self.commit(there, line)) {
                Ok(true) => self.columns.keep(),
                Ok(false) => continue,
                Err(fault) => self.refuse(line, *fault)?,
            }
            let rows = self.rows + self.builder.rows() as u64;
            if rows == KNOWN_BY {
                self.check_names(rows)?;
            }
        }
        Ok(Some(self.hand_out()))
    }

    /// Parses the record. A row that is only predicted adds no feature to a model that learns. If it is the first row, the columns are
    /// its columns, without indicators, levels and words, unless these are all that it has.
    fn parse(&mut self) -> error::Parsed<bool> {
        let there = self.body.parse(&mut self.columns, &mut self.builder)?;
        if !there || !self.learns || self.builder.is_example() || !self.columns.has_grown() {
            return Ok(there);
        }
        if self.columns.started() {
            self.columns.roll_back();
            self.builder.cut(self.columns.features());
            return Ok(true);
        }
        self.roll_back();
        self.columns.only_columns = true;
        let again = self.body.parse(&mut self.columns, &mut self.builder);
        self.columns.only_columns = false;
        if self.columns.features() > 0 {
            return again;
        }
        self.roll_back();
        self.body.parse(&mut self.columns, &mut self.builder)
    }

    /// Completes the row, if there is one. A row is bad if no feature is known yet, because the learner needs one.
    fn commit(&mut self, there: bool, line: u64) -> error::Parsed<bool> {
        if there && self.columns.features() == 0 {
            return Err(error::row("no feature in this row or in any row before it; at least one is needed"));
        }
        if !there {
            return Ok(false);
        }
        self.builder.commit(line, self.print, self.columns.features()).map(|()| true)
    }

    /// Checks that the rows that were skipped are those that the model has learned.
    fn check_consumed(&mut self) -> Result<(), InputError> {
        match self.unchecked.take() {
            Some(consumed) if consumed != self.print => {
                let text = "the rows up to here differ from the rows that the model has learned; --continue needs the same data \
                            (without --continue all rows are learned as new rows)";
                Err(InputError::of_row(&self.file, self.after_line.max(self.last), None, text.into()).counted_in(self.format))
            }
            _ => Ok(()),
        }
    }

    /// At the end of the data: checks that the data are at least as long as before, and that the learned rows are the same.
    fn check_all_consumed(&mut self, before: u64) -> Result<(), InputError> {
        if self.unchecked.is_some() && self.last < self.after_line {
            let text = format!(
                "ends before line {}, where the model stopped; --continue needs the same data, not shorter",
                before + self.after_line
            );
            return Err(InputError::new(Trouble::Data, &self.file, text));
        }
        self.check_consumed()
    }

    /// The expected fingerprint of the skipped rows, if it has not been checked yet.
    fn unchecked(&self) -> Option<u64> {
        self.unchecked
    }

    /// The fingerprint of all records so far.
    fn print(&self) -> u64 {
        self.print
    }

    /// Lines that have been read.
    fn lines(&self) -> u64 {
        self.body.lines()
    }

    fn refuse(&mut self, line: u64, fault: error::Fault) -> Result<(), InputError> {
        self.roll_back();
        let skip = self.skip_bad_rows && !fault.fatal;
        let why = InputError::at(&self.file, line, fault).counted_in(self.format);
        if !skip {
            return Err(why.of_skippable());
        }
        self.bad += 1;
        self.first_bad.get_or_insert_with(|| why.clone());
        let kept = self.kept_of_bad();
        self.builder.skip(line, kept, why);
        Ok(())
    }

    /// The texts of a row that is skipped that are passed through. The row is read once more for them, because the first cell that
    /// cannot be used ends the reading of a row.
    fn kept_of_bad(&mut self) -> Vec<String> {
        if self.builder.take_kept().is_empty() {
            return Vec::new();
        }
        self.columns.only_kept = true;
        // The texts before a further error are kept.
        let _ = self.body.parse(&mut self.columns, &mut self.builder);
        self.columns.only_kept = false;
        let kept = self.builder.take_kept();
        self.roll_back();
        kept
    }

    fn roll_back(&mut self) {
        self.builder.roll_back();
        self.columns.roll_back();
    }

    fn hand_out(&mut self) -> Chunk {
        self.chunks = self.chunks.saturating_add(1);
        self.rows += self.builder.rows() as u64;
        let features = self.columns.features();
        let fillable = self.columns.fillable();
        let chunk = self.builder.finish(features, self.columns.hand_out(features), &fillable);
        Chunk { unknown: self.columns.unknown(), said: std::mem::take(&mut self.columns.said), ..chunk }
    }

    fn end(&mut self) -> Result<Option<Chunk>, InputError> {
        self.done = true;
        self.check_names(self.rows + self.builder.rows() as u64)?;
        let rest = self.hand_out();
        match (self.rows, self.after_line, &self.first_bad) {
            (0, 0, Some(first)) => {
                let text = format!("none of its {} rows can be read; the first: {first}", self.bad);
                Err(InputError::new(Trouble::Data, &self.file, text))
            }
            (0, 0, None) => Err(InputError::new(Trouble::Data, &self.file, self.body.no_rows())),
            _ => Ok((rest.rows > 0 || !rest.bad.is_empty() || !rest.said.is_empty()).then_some(rest)),
        }
    }

    /// An error if no row so far has the key of the target, which is then probably misspelt. Other names that no row has are said.
    fn check_names(&mut self, rows: u64) -> Result<(), InputError> {
        if self.after_line > 0 || rows == 0 {
            return Ok(());
        }
        let usage = |text| InputError::new(Trouble::Usage, &self.file, text);
        self.columns.check_asked(rows).map_err(usage)?;
        match &self.body {
            Body::Text(text) if !text.saw_targets(&self.columns) => {
                let names = self.columns.schema().listed();
                let text = format!(
                    "no row so far has the target '{}'; the other keys are {names}",
                    self.columns.schema().targets.join(",")
                );
                Err(InputError::new(Trouble::Usage, &self.file, text))
            }
            _ => Ok(()),
        }
    }
}

/// Rows of the first chunk; each of the next has twice as many.
const FIRST_ROWS: usize = 64;

/// A target's key must have appeared by this row. Other names in the options that have not are said then.
const KNOWN_BY: u64 = 1000;
