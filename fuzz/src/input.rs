//! Bytes as files of every format: read or refused in one or two lines, never a panic, and the cut does not matter.
//!
//! The first two bytes choose the options, the rest is the file. `okl-cli/tests/input.rs` includes this file and runs it over the
//! corpus and over mutations of it, so it uses nothing but what those tests have.

use std::io::Cursor;

use okl::Label;
use okl_cli::input::{Chunk, Encoding, Format, InputError, LARGEST, Options, Reader, Schema};
use okl_cli::store::Position;

/// Delimited text.
pub fn csv(data: &[u8]) {
    text(data, Format::Csv);
}

/// LIBSVM text.
pub fn libsvm(data: &[u8]) {
    text(data, Format::Libsvm);
}

/// JSON lines.
pub fn jsonl(data: &[u8]) {
    text(data, Format::Jsonl);
}

/// VW text.
pub fn vw(data: &[u8]) {
    text(data, Format::Vw);
}

fn text(data: &[u8], format: Format) {
    let (options, file) = options(data, format);
    check(&options, |options| Reader::of("file", Cursor::new(file.to_vec()), options));
}

/// Parquet, which is read from files.
pub fn parquet(data: &[u8]) {
    let (options, file) = options(data, Format::Parquet);
    let path = std::env::temp_dir().join(format!("okl-fuzz-{}.parquet", std::process::id()));
    std::fs::write(&path, file).expect("a file can be written");
    let name = path.to_str().expect("a name of text");
    check(&Options { one_hot: true, ..options }, |options| Reader::open(name, options));
    std::fs::remove_file(&path).expect("and removed");
}

/// Bytes as one number: the one that the standard library reads, to the last bit.
pub fn number(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b)) {
        return;
    }
    let options = Options { targets: vec!["y".into()], format: Some(Format::Csv), header: Some(true), ..Options::default() };
    let read = |file: String| Reader::of("file", Cursor::new(file), options.clone()).and_then(drain);
    let (as_target, as_feature) = (read(format!("a,y\n1,{text}\n")), read(format!("a,y\n{text},1234567\n")));
    let digits = text.bytes().any(|b| b.is_ascii_digit());
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => {
            let found = as_target.expect("a number is read").numbers.expect("as a number");
            assert_eq!(found[0].to_bits(), value.to_bits(), "{text}");
            // No feature is larger than 1e15.
            match as_feature {
                Ok(all) => assert_eq!(all.x[0][0].to_bits(), value.to_bits(), "{text}"),
                Err(why) => assert!(value.abs() > LARGEST, "{text}: {why}"),
            }
        }
        Ok(_) if digits => assert!(as_target.is_err() && as_feature.is_err(), "{text} is too large"),
        Ok(_) => assert!(as_feature.is_err(), "{text} is not finite"),
        Err(_) => {
            assert!(as_target.is_ok_and(|all| all.numbers.is_none_or(|n| n == [0.0])), "{text} is no number");
            let truth = ["true", "false"].iter().any(|word| text.eq_ignore_ascii_case(word));
            assert!(as_feature.is_err() || truth, "{text} is no number");
        }
    }
}

/// A list of names, as flags have it: what is quoted comes back.
pub fn names(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let read = okl_cli::input::names(text);
    assert!(read.iter().all(|name| !name.is_empty()), "{text:?}");
    let quoted: Vec<String> = read.iter().map(|name| format!("\"{}\"", name.replace('"', "\"\""))).collect();
    assert_eq!(okl_cli::input::names(&quoted.join(",")), read, "{text:?}");
}

/// The position in the data that a model remembers: read and written, it stays what it is.
pub fn position(data: &[u8]) {
    let Ok(position) = serde_json::from_slice::<Position>(data) else { return };
    let written = serde_json::to_string(&position).expect("a position is written");
    let again: Position = serde_json::from_str(&written).expect("and read");
    assert_eq!(serde_json::to_string(&again).expect("and written"), written);
}

/// What the first two bytes ask for, and the rest.
fn options(data: &[u8], format: Format) -> (Options, &[u8]) {
    let (bits, file) = match data {
        [a, b, file @ ..] => (u16::from_le_bytes([*a, *b]), file),
        _ => (0, data),
    };
    let flag = |bit: u32| bits >> bit & 1 == 1;
    let names = |list: &[&str]| list.iter().map(|n| n.to_string()).collect::<Vec<_>>();
    let targets = [names(&["y"]), names(&["y", "a"]), Vec::new(), names(&["1"])][usize::from(bits & 3)].clone();
    let options = Options {
        format: (!flag(2)).then_some(format),
        want_target: flag(3) || format == Format::Jsonl && !targets.is_empty(),
        targets,
        one_hot: flag(4),
        sparse: flag(5),
        skip_bad_rows: flag(8),
        id: flag(9).then(|| if format == Format::Vw { "tag".into() } else { "id".into() }),
        weight: flag(10).then(|| "w".into()),
        ignore: if flag(11) { names(&["b"]) } else { Vec::new() },
        features: if flag(12) { names(&["a", "1"]) } else { Vec::new() },
        header: flag(13).then(|| flag(14)),
        encoding: [None, Some(Encoding::Latin1), Some(Encoding::Windows1252), Some(Encoding::Utf16)][usize::from(bits >> 6 & 3)]
            .filter(|_| format != Format::Parquet),
        ..Options::default()
    };
    match file {
        [more, file @ ..] if flag(15) => (with_parts(options, *more, format), file),
        _ => (options, file),
    }
}

/// The options about missing values, times, texts, categories and hashing that one byte asks for.
fn with_parts(options: Options, bits: u8, format: Format) -> Options {
    let flag = |bit: u8| bits >> bit & 1 == 1;
    let one = |asked: bool, name: &str| if asked { vec![name.to_string()] } else { Vec::new() };
    let rules = ["refuse", "mean", "zero+indicator", "last+indicator"];
    Options {
        missing: rules[usize::from(bits & 3)].parse().ok(),
        times: one(flag(2), "t"),
        texts: one(flag(3), "a"),
        logs: one(flag(3), "w"),
        ngrams: 2,
        categories: one(flag(4), "c"),
        keep: one(flag(5), if format == Format::Vw { "tag" } else { "b" }),
        hash_bits: flag(6).then(|| if flag(7) { 4 } else { 10 }),
        ..options
    }
}

/// Everything that must hold of a file, however it is read.
pub fn check(options: &Options, open: impl Fn(Options) -> Result<Reader, InputError>) {
    let read = |options: Options| open(options).and_then(drain);
    let whole = read(options.clone());
    let cut = Options { chunk_rows: 2, ..options.clone() };
    assert_eq!(whole.as_ref().ok(), read(cut.clone()).as_ref().ok(), "the cut matters");
    match whole {
        Ok(all) => {
            assert!(continues(&cut, &all, &open).expect("what was read is read on"), "reading on differs from reading at once")
        }
        Err(error) => short(&error.to_string()),
    }
}

/// One or two lines of printable text.
fn short(message: &str) {
    assert!(!message.is_empty() && message.lines().count() <= 2 && message.chars().count() < 700, "{message}");
    assert!(!message.chars().any(|c| c.is_control() && c != '\n'), "{message:?}");
}

/// Is what a model remembers after the first chunk enough to read on as if nothing had happened?
fn continues(options: &Options, all: &All, open: impl Fn(Options) -> Result<Reader, InputError>) -> Result<bool, InputError> {
    let mut reader = open(options.clone())?;
    // Before the first good row there is nothing to remember.
    let first = loop {
        match reader.next()? {
            None => return Ok(all.x.is_empty()),
            Some(chunk) if chunk.rows > 0 => break chunk,
            Some(_) => {}
        }
    };
    let after_line = first.lines.last().copied().unwrap_or(0);
    let consumed = first.prints.last().copied();
    let remembered = serde_json::to_string(reader.schema()).expect("a schema is written");
    let schema: Schema = serde_json::from_str(&remembered).expect("and read");
    let rest = drain(open(Options { schema: Some(schema), targets: Vec::new(), after_line, consumed, ..options.clone() })?)?;
    let from = first.rows;
    let numbers = all.numbers.as_ref().map(|n| &n[from * all.schema.targets.len()..]);
    let same_numbers = numbers.is_none() || rest.numbers.as_deref() == numbers;
    let same_labels = rest.labels == all.labels[if all.labels.is_empty() { 0 } else { from }..];
    Ok(rest.x == all.x[from..] && rest.lines == all.lines[from..] && rest.names == all.names && same_numbers && same_labels)
}

/// Everything an input holds.
#[derive(Clone, Debug, PartialEq)]
pub struct All {
    /// Features, row by row, as wide as the last one.
    pub x: Vec<Vec<f64>>,
    /// The features' names.
    pub names: Vec<String>,
    /// Targets, unless one is text.
    pub numbers: Option<Vec<f64>>,
    /// Targets as classes.
    pub labels: Vec<Label>,
    /// Has the row all its targets?
    pub known: Vec<bool>,
    /// Weights; 1 where there are none.
    pub weights: Vec<f64>,
    /// Ids, if asked for.
    pub ids: Vec<u64>,
    /// Input lines.
    pub lines: Vec<u64>,
    /// Texts that are passed through.
    pub kept: Vec<String>,
    /// Cells without a value.
    pub missing: Vec<(usize, u32)>,
    /// Lines of bad rows, and how many good rows came before.
    pub bad: Vec<(usize, u64)>,
    /// The schema at the end.
    pub schema: Schema,
}

impl All {
    fn new(schema: Schema) -> All {
        All {
            x: vec![],
            names: vec![],
            numbers: Some(vec![]),
            labels: vec![],
            known: vec![],
            weights: vec![],
            ids: vec![],
            lines: vec![],
            kept: vec![],
            missing: vec![],
            bad: vec![],
            schema,
        }
    }

    fn add(&mut self, chunk: &Chunk) {
        let stored = chunk.entries.as_ref().map_or(chunk.rows * chunk.features, |entries| entries.columns.len());
        assert_eq!((chunk.x.len(), chunk.known.len(), chunk.lines.len()), (stored, chunk.rows, chunk.rows));
        assert!(chunk.entries.is_some() || chunk.features >= self.x.last().map_or(0, Vec::len), "features never go away");
        assert!(chunk.x.iter().all(|v| v.abs() <= LARGEST), "features are finite and not too large");
        self.kept.extend(chunk.kept.iter().cloned());
        self.missing.extend(chunk.missing.iter().map(|(row, feature)| (self.x.len() + *row as usize, *feature)));
        self.bad.extend(chunk.bad.iter().map(|bad| (self.x.len() + bad.before, bad.line)));
        // Rows with many features would be too long: their columns and values.
        self.x.extend((0..chunk.rows).map(|row| match chunk.entries.is_some() {
            true => chunk.values(row).flat_map(|(column, value)| [column as f64, value]).collect(),
            false => chunk.x[row * chunk.features..(row + 1) * chunk.features].to_vec(),
        }));
        self.labels.extend(chunk.targets.labels());
        self.numbers = self.numbers.take().zip(chunk.targets.numbers()).map(|(mut all, more)| {
            all.extend_from_slice(more);
            all
        });
        self.known.extend_from_slice(&chunk.known);
        self.weights.extend(chunk.weights.clone().unwrap_or_else(|| vec![1.0; chunk.rows]));
        self.ids.extend(chunk.ids.iter().flatten());
        self.lines.extend_from_slice(&chunk.lines);
    }

    fn finish(mut self, schema: &Schema) -> All {
        assert!(self.lines.is_sorted() && self.bad.is_sorted(), "lines come in order");
        assert!(self.weights.iter().all(|w| w.is_finite() && *w >= 0.0), "weights are weights");
        self.x.iter_mut().for_each(|row| row.resize(schema.len(), 0.0));
        (self.names, self.schema) = (schema.names(), schema.clone());
        self
    }
}

/// Reads to the end.
///
/// # Errors
/// Those of the reader.
pub fn drain(mut reader: Reader) -> Result<All, InputError> {
    let mut all = All::new(reader.schema().clone());
    let mut followed = reader.schema().clone();
    while let Some(chunk) = reader.next()? {
        followed.advance(&chunk);
        assert_eq!(&followed, reader.schema(), "a schema follows its chunks");
        all.add(&chunk);
    }
    Ok(all.finish(reader.schema()))
}
