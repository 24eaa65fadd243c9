//! Reads an input of any format record by record.

use std::fs::File;
use std::io::Read;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::asked::Asked;
use super::builder::Builder;
use super::columns::Columns;
use super::csv::{self, Csv};
use super::error::{self, InputError, Parsed, Trouble};
use super::jsonl::{self, Jsonl};
use super::libsvm::{self, Libsvm};
use super::lines::{LONGEST_LINE, Lines, NoLine};
use super::source::Source;
use super::vw::{self, Vw};
use super::{Format, Options, sniff};

pub(super) enum Body {
    Text(Box<Text>),
    #[cfg(feature = "parquet")]
    Parquet(Box<super::parquet::Table>),
}

enum Parser {
    Csv(Csv),
    Libsvm(Libsvm),
    Jsonl(Jsonl, bool),
    Vw(Vw),
}

/// Lines and the parser of one line.
pub(super) struct Text {
    lines: Lines,
    record: (usize, usize),
    parser: Parser,
}

impl Body {
    /// Takes the next record. Returns its line (or row), from 1; none at the end.
    pub fn advance(&mut self, file: &str) -> Result<Option<u64>, InputError> {
        match self {
            Body::Text(text) => text.advance(file),
            #[cfg(feature = "parquet")]
            Body::Parquet(table) => table.advance(file),
        }
    }

    /// Parses the record into features and targets; `false` if the record is empty.
    pub fn parse(&mut self, columns: &mut Columns, out: &mut Builder) -> Parsed<bool> {
        match self {
            Body::Text(text) => text.parse(columns, out),
            #[cfg(feature = "parquet")]
            Body::Parquet(table) => table.parse(columns, out),
        }
    }

    /// Makes [`Body::advance`] return the current record once more.
    pub fn again(&mut self) {
        match self {
            Body::Text(text) => text.lines.again(text.record),
            #[cfg(feature = "parquet")]
            Body::Parquet(table) => table.again(),
        }
    }

    /// The fingerprint of all records up to this one: a hash of the fingerprint before it and of the contents of the record.
    pub fn print(&self, before: u64) -> u64 {
        match self {
            Body::Text(text) => xxh3_64_with_seed(text.lines.bytes(text.record), before),
            #[cfg(feature = "parquet")]
            Body::Parquet(table) => table.print(before),
        }
    }

    /// Lines (or rows) that have been read.
    pub fn lines(&self) -> u64 {
        match self {
            Body::Text(text) => text.lines.read(),
            #[cfg(feature = "parquet")]
            Body::Parquet(table) => table.read(),
        }
    }

    /// The message for an input without rows.
    pub fn no_rows(&self) -> &'static str {
        match self {
            Body::Text(text) if matches!(&text.parser, Parser::Csv(Csv { header: true, .. })) => "a header and no rows",
            _ => "no rows; there is nothing to read",
        }
    }

    pub fn would_wait(&self) -> bool {
        match self {
            Body::Text(text) => text.lines.would_wait(),
            #[cfg(feature = "parquet")]
            Body::Parquet(_) => false,
        }
    }
}

impl Text {
    /// # Errors
    /// If it is empty or not text.
    pub fn new(file: &str, source: Source) -> Result<Self, InputError> {
        let mut text = Text { lines: Lines::new(source), record: (0, 0), parser: Parser::Jsonl(Jsonl::default(), false) };
        let head = text.head(file)?;
        let data = |text: &str| InputError::new(Trouble::Data, file, text);
        if head.starts_with(b"PAR1") {
            return Err(data("Parquet cannot be read from a stream or compressed as a whole; give the plain file by name"));
        }
        if let Some(what) = sniff::not_text(head) {
            return Err(data(what));
        }
        if head.starts_with(b"\xef\xbb\xbf") {
            text.lines.drop_front(3);
        }
        if text.head(file)?.trim_ascii().is_empty() {
            return Err(data("empty; there is nothing to read"));
        }
        if only_returns(text.head(file)?) {
            return Err(data("its lines end with a carriage return alone (CR); write line feeds: tr '\\r' '\\n' < FILE"));
        }
        Ok(text)
    }

    /// The first lines.
    pub fn head(&mut self, file: &str) -> Result<&[u8], InputError> {
        self.lines.peek().map_err(|e| no_line(file, 1, e))
    }

    /// Chooses the parser and learns what it needs from the first lines.
    pub fn parser(mut self, file: &str, format: Format, options: &mut Options) -> Result<(Body, Columns), InputError> {
        let head = self.lines.peek().map_err(|e| no_line(file, 1, e))?;
        let (parser, columns) = parser(head, format, options).map_err(|text| InputError::new(Trouble::Usage, file, text))?;
        self.parser = parser;
        if matches!(&self.parser, Parser::Csv(Csv { header: true, .. })) {
            self.skip_header(file)?;
        }
        Ok((Body::Text(Box::new(self)), columns))
    }

    /// Skips the first record that is not blank.
    fn skip_header(&mut self, file: &str) -> Result<(), InputError> {
        while self.advance(file)?.is_some() && self.lines.bytes(self.record).trim_ascii().is_empty() {}
        Ok(())
    }

    fn advance(&mut self, file: &str) -> Result<Option<u64>, InputError> {
        let next = match &self.parser {
            Parser::Csv(csv) => self.lines.next(|line, inside| csv::open_quote(line, csv.delimiter, inside)),
            _ => self.lines.next(|_, _| false),
        };
        let record = next.map_err(|e| no_line(file, self.lines.first, e))?;
        self.record = record.unwrap_or((0, 0));
        Ok(record.map(|_| self.lines.first))
    }

    fn parse(&mut self, columns: &mut Columns, out: &mut Builder) -> Parsed<bool> {
        let record = self.lines.bytes(self.record);
        match &mut self.parser {
            Parser::Csv(csv) => csv.row(record, columns, out),
            Parser::Libsvm(libsvm) => libsvm.row(record, columns, out),
            Parser::Jsonl(jsonl, _) => jsonl.row(record, columns, out),
            Parser::Vw(vw) => vw.row(record, columns, out),
        }
    }

    /// Whether every target that is needed has been named by some row.
    pub fn saw_targets(&self, columns: &Columns) -> bool {
        match &self.parser {
            Parser::Jsonl(jsonl, true) => jsonl.saw_targets(columns),
            _ => true,
        }
    }
}

fn parser(head: &[u8], format: Format, options: &mut Options) -> Result<(Parser, Columns), String> {
    let labelled = options.want_target || !options.targets.is_empty();
    match format {
        Format::Csv => {
            let mut columns = Columns::new(options, csv::SHAPE);
            Ok((Parser::Csv(Csv::new(head, options, &mut columns)?), columns))
        }
        Format::Libsvm => {
            no_names(options, "LIBSVM")?;
            no_missing(options, "LIBSVM")?;
            no_parts(options, "LIBSVM")?;
            if let Some(bits) = options.hash_bits {
                return Err(format!(
                    "--hash-bits {bits}: the features of LIBSVM text are numbers already; leave --hash-bits out"
                ));
            }
            name_labels(options, if labelled { libsvm::labels(head) } else { 0 });
            let asked = options.clone();
            without_inherited(options, |_| false);
            let mut columns = Columns::new(options, libsvm::SHAPE);
            columns.asked = Asked::of(options, false);
            columns.inherit(&asked, |_| false);
            columns.said.extend(libsvm::by_number(options)?);
            Ok((Parser::Libsvm(Libsvm::new(options)?), columns))
        }
        Format::Vw => {
            no_names(options, "VW")?;
            no_missing(options, "VW")?;
            no_parts(options, "VW")?;
            name_labels(options, usize::from(labelled));
            let asked = options.clone();
            without_inherited(options, |name| name == "tag");
            // Columns without names have numbers for names.
            options.schema.iter_mut().for_each(|schema| schema.unnamed = false);
            // The only text to keep is the tag, which is no column; a feature may have its name.
            let mut columns = Columns::new(&Options { keep: Vec::new(), ..options.clone() }, vw::SHAPE);
            columns.asked = Asked::of(options, false);
            columns.inherit(&asked, |name| name == "tag");
            Ok((Parser::Vw(Vw::new(options)?), columns))
        }
        Format::Jsonl if options.want_target && options.targets.is_empty() => {
            Err("which key is the target? Say --target NAME".into())
        }
        Format::Jsonl => {
            let inside = |keep: &&String| options.ignore.iter().any(|whole| is_inside(keep, whole));
            if let Some(name) = options.keep.iter().find(inside) {
                return Err(format!("--keep {name}: --ignore leaves out the object that has it; ignore its other keys by name"));
            }
            let mut columns = Columns::new(options, jsonl::shape(options.sparse));
            columns.asked = Asked::of(options, true);
            columns.inherit(options, |name| jsonl::first_has(head, name));
            if columns.schema().unnamed {
                columns.name_in_order(&jsonl::first_keys(head, options))?;
            }
            Ok((Parser::Jsonl(Jsonl::default(), options.want_target), columns))
        }
        Format::Parquet => Err("not a Parquet file".into()),
    }
}

/// Leaves the inherited columns of ids and weights out, unless the format has them.
fn without_inherited(options: &mut Options, has: impl Fn(&str) -> bool) {
    let inherited = options.inherited.clone();
    let stays = |name: &String| !inherited.contains(name) || has(name);
    options.id = options.id.take().filter(stays);
    options.weight = options.weight.take().filter(stays);
}

/// Whether a key is inside an object: `a.b` is inside `a`.
fn is_inside(key: &str, whole: &str) -> bool {
    key.strip_prefix(whole).is_some_and(|rest| rest.starts_with('.'))
}

/// Refuses --missing for formats in which an absent feature is 0.
fn no_missing(options: &Options, format: &str) -> Result<(), String> {
    match options.missing.filter(|missing| !missing.is_refused()) {
        Some(missing) => Err(format!("--missing {missing}: in {format} text a feature that is absent is 0; leave --missing out")),
        None => Ok(()),
    }
}

/// Refuses options about columns of texts and times for formats that have none.
fn no_parts(options: &Options, format: &str) -> Result<(), String> {
    match options.parts().into_iter().find(|(_, names)| !names.is_empty()) {
        Some((flag, names)) => Err(format!("{flag} {}: {format} text has features with numbers only", names.join(","))),
        None => Ok(()),
    }
}

/// Refuses --target for formats whose labels come first in the line and have no names.
fn no_names(options: &Options, format: &str) -> Result<(), String> {
    let own = |name: &String| name.strip_prefix("label").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()));
    match options.targets.iter().find(|name| options.schema.is_none() && !own(name)) {
        Some(name) => {
            Err(format!("--target {name}: {format} text has its labels in front and no names for them; leave --target out"))
        }
        None => Ok(()),
    }
}

/// Names the labels of formats without column names: `label`, or `label1`, `label2`, ...
fn name_labels(options: &mut Options, width: usize) {
    if options.targets.is_empty() {
        options.targets = match width {
            1 => vec!["label".into()],
            _ => (1..=width).map(|i| format!("label{i}")).collect(),
        };
        // The model of another program may have columns without a target.
        options.schema.iter_mut().for_each(|schema| schema.targets.clone_from(&options.targets));
    }
}

/// Whether lines end with a carriage return and no line feed, as in files of some old programs.
fn only_returns(head: &[u8]) -> bool {
    !head.contains(&b'\n') && head.trim_ascii().contains(&b'\r')
}

fn no_line(file: &str, line: u64, why: NoLine) -> InputError {
    match why {
        NoLine::Io(e) => InputError::io(file, &e),
        NoLine::TooLong => InputError::at(
            file,
            line,
            *error::row(format!("longer than {} MiB; is this text with line ends?", LONGEST_LINE >> 20)),
        ),
        NoLine::Open => InputError::at(file, line, *error::row("a quote (\") is opened here and not closed; close or double it")),
    }
}

pub(super) fn is_parquet(path: &str) -> bool {
    let mut magic = [0; 4];
    File::open(path).and_then(|mut f| f.read_exact(&mut magic)).is_ok() && &magic == b"PAR1"
}

#[cfg(feature = "parquet")]
pub(super) fn open_parquet(file: &str, options: &mut Options) -> Result<(Body, Columns), InputError> {
    let mut columns = Columns::new(options, csv::SHAPE);
    let table = super::parquet::Table::open(file, options, &mut columns)?;
    Ok((Body::Parquet(Box::new(table)), columns))
}

#[cfg(not(feature = "parquet"))]
pub(super) fn open_parquet(file: &str, _: &mut Options) -> Result<(Body, Columns), InputError> {
    let text = "this okl was built without Parquet; build it with the feature `parquet`, or convert the file to CSV";
    Err(InputError::new(Trouble::Usage, file, text))
}
