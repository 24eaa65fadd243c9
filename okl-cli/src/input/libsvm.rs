//! LIBSVM and SVMlight text: `label[,label] [qid:n] index:value ... [# comment]`, indices from 1 and ascending.

use super::Options;
use super::builder::Builder;
use super::chunk::LARGEST;
use super::columns::{Columns, MOST_FEATURES, Shape};
use super::error::{self, Parsed};
use super::number::{classify, scan, shown};
use super::plan::listed;
use super::schema::{Features, Schema};

pub(super) const SHAPE: Shape = Shape { sparse: true, open: true, indexed: true };

pub(super) struct Libsvm {
    /// Targets per row; 0: labels are not read.
    width: usize,
    /// `keep[i]`: whether feature i + 1 is used. Features beyond the end: see `rest`.
    keep: Vec<bool>,
    rest: bool,
    /// The features that the options name, until it has been checked that rows have them; and those that the current row has.
    asked: Vec<usize>,
    met: Vec<usize>,
}

/// A sentence where the features of a model have names, which are taken by number.
///
/// # Errors
/// If the model makes its features from columns of texts or times, which this format does not have.
pub(super) fn by_number(options: &Options) -> Result<Option<String>, String> {
    let Some(schema @ Schema { features: Features::Named(list), .. }) = &options.schema else { return Ok(None) };
    if schema.unnamed || list.iter().enumerate().all(|(i, feature)| feature.name() == (i + 1).to_string()) {
        return Ok(None);
    }
    if let Some(made) = list.iter().find(|feature| !feature.is_number() || feature.part.is_some()) {
        return Err(format!(
            "the model makes its feature '{}' from the column '{}', and LIBSVM text has numbers without names; give a table with the \
             columns {}",
            made.name(),
            made.column,
            listed(schema.columns())
        ));
    }
    Ok(Some(format!(
        "LIBSVM text has no names of columns: feature 1 is taken for '{}', and so on in the order of the model's features: {}",
        list[0].name(),
        schema.listed()
    )))
}

/// How many labels the first row has.
pub(super) fn labels(head: &[u8]) -> usize {
    let lines = head.split(|b| *b == b'\n').map(|l| l.split(|b| *b == b'#').next().unwrap_or(l).trim_ascii());
    let first = lines.into_iter().find(|l| !l.is_empty()).unwrap_or(&[]);
    word(first).iter().filter(|b| **b == b',').count() + 1
}

fn word(line: &[u8]) -> &[u8] {
    let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
    &line[..end]
}

impl Libsvm {
    /// # Errors
    /// If columns are asked for that this format does not have.
    pub fn new(options: &Options) -> Result<Self, String> {
        if let Some(name) = options.id.as_ref().or(options.weight.as_ref()) {
            return Err(format!("no column '{name}': LIBSVM text has labels and numbered features only"));
        }
        if let Some(name) = options.keep.first() {
            return Err(format!("--keep {name}: LIBSVM text has no columns with texts that could be kept"));
        }
        if let Some(bits) = options.schema.as_ref().and_then(Schema::hash_bits) {
            return Err(format!("the model hashes the names of features (--hash-bits {bits}); LIBSVM text has numbers"));
        }
        let remembered = options.schema.as_ref().map(|s| (&s.chosen, &s.ignored));
        let (chosen, ignored) = remembered.unwrap_or((&options.features, &options.ignore));
        let (mut keep, rest, mut asked) = (Vec::new(), chosen.is_empty(), Vec::new());
        for (name, kept) in chosen.iter().map(|n| (n, true)).chain(ignored.iter().map(|n| (n, false))) {
            let index = name.parse().ok().filter(|i| (1..=MOST_FEATURES).contains(i));
            let Some(index) = index else {
                // The model may have been trained on a format with column names, which LIBSVM text does not have.
                if remembered.is_some() {
                    continue;
                }
                return Err(format!("no column '{name}': the features of LIBSVM text are numbers from 1"));
            };
            keep.resize(keep.len().max(index), rest);
            keep[index - 1] = kept;
            asked.push(index);
        }
        Ok(Libsvm { width: options.targets.len(), keep, rest, asked, met: Vec::new() })
    }

    /// Parses one line into features and targets; `false` if the line is empty.
    pub fn row(&mut self, line: &[u8], columns: &mut Columns, out: &mut Builder) -> Parsed<bool> {
        let code = if line.contains(&b'#') { line.split(|b| *b == b'#').next().unwrap_or(line) } else { line };
        let mut rest = code.trim_ascii();
        if rest.is_empty() {
            return Ok(false);
        }
        out.begin(columns.features());
        let label = word(rest);
        if !label.contains(&b':') {
            self.label(label, out)?;
            rest = rest[label.len()..].trim_ascii_start();
        }
        let mut last = 0;
        while !rest.is_empty() {
            let used = self.pair(rest, &mut last, out)?;
            rest = rest[used..].trim_ascii_start();
        }
        columns.reach(last.max(1))?;
        self.meet(columns);
        Ok(true)
    }

    /// Reports the features in the options that the row has, as long as this is of interest.
    fn meet(&mut self, columns: &mut Columns) {
        for index in self.met.drain(..) {
            columns.asked.meet(index.to_string().as_bytes());
        }
        if columns.asked.is_checked() {
            self.asked.clear();
        }
    }

    fn label(&self, text: &[u8], out: &mut Builder) -> Parsed {
        if self.width == 0 {
            return Ok(());
        }
        let found = text.split(|b| *b == b',').count();
        if found != self.width {
            return Err(error::cell(
                "label",
                format!("found {found} labels {}, expected {} as in the first row", shown(text), self.width),
            ));
        }
        for (i, part) in text.split(|b| *b == b',').enumerate() {
            out.target(i as u32, classify(part), part, "label")?;
        }
        Ok(())
    }

    /// One `index:value`; returns the bytes it takes.
    fn pair(&mut self, text: &[u8], last: &mut usize, out: &mut Builder) -> Parsed<usize> {
        let (index, colon) = digits(text);
        if colon == 0 || text.get(colon) != Some(&b':') {
            return odd(text);
        }
        let Some((value, used)) = scan(&text[colon + 1..]) else { return odd(text) };
        let end = colon + 1 + used;
        if text.get(end).is_some_and(|b| !b.is_ascii_whitespace()) {
            return odd(text);
        }
        if value.abs() > LARGEST {
            return Err(error::cell(&index.to_string(), format!("found {value:e}, expected a number below 1e15")));
        }
        if index <= *last {
            return Err(out_of_order(index, *last));
        }
        *last = index;
        if !self.asked.is_empty() && self.asked.contains(&index) {
            self.met.push(index);
        }
        if self.keep.get(index - 1).copied().unwrap_or(self.rest) {
            out.put((index - 1).min(u32::MAX as usize) as u32, value);
        }
        Ok(end)
    }
}

#[inline]
fn digits(text: &[u8]) -> (usize, usize) {
    let (mut value, mut at) = (0usize, 0);
    while let Some(digit) = text.get(at).map(|b| b.wrapping_sub(b'0')).filter(|d| *d < 10) {
        value = value.saturating_mul(10).saturating_add(digit.into());
        at += 1;
    }
    (value, at)
}

/// Handles a word that is not `index:number`: skips a query id; anything else is an error.
fn odd(text: &[u8]) -> Parsed<usize> {
    let word = word(text);
    let Some(colon) = word.iter().position(|b| *b == b':') else {
        return Err(error::row(format!("found {}, expected index:value", shown(word))));
    };
    let (index, value) = (&word[..colon], &word[colon + 1..]);
    match index {
        b"qid" => Ok(word.len()),
        _ if index.is_empty() || !index.iter().all(u8::is_ascii_digit) => {
            Err(error::row(format!("found {}, expected index:value with an index from 1", shown(word))))
        }
        _ => Err(error::cell(&String::from_utf8_lossy(index), format!("found {}, expected a finite number", shown(value)))),
    }
}

fn out_of_order(index: usize, last: usize) -> Box<error::Fault> {
    error::cell(
        &index.to_string(),
        match index {
            0 => "found index 0, but LIBSVM counts from 1; write the file with zero_based=False".into(),
            _ if index == last => format!("index {index} comes twice; keep one"),
            _ => format!("index {index} comes after {last}; sort each row by index"),
        },
    )
}
