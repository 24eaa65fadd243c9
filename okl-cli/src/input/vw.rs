//! Vowpal Wabbit text with plain numeric features: `[label [importance]] ['tag]|namespace[:scale] name[:value] ... |...`
//!
//! A bare name is 1; a feature that is absent is 0; the same name twice adds up. Features of a namespace are called
//! `namespace^name`, and names become columns in order of appearance; with `hash_bits` they are hashed instead and not kept.

use super::Options;
use super::builder::Builder;
use super::chunk::LARGEST;
use super::columns::{Columns, Role, Shape};
use super::error::{self, Parsed};
use super::hash::hash_joined;
use super::number::{Value, classify, not_utf8, scan, short, shown};
use super::schema::Schema;
use super::short_names::ShortNames;

pub(super) const SHAPE: Shape = Shape { sparse: true, open: true, indexed: false };

pub(super) struct Vw {
    /// Targets per row, 0 or 1.
    width: usize,
    /// Whether the tag is the id of the row.
    tag_is_id: bool,
    /// Whether the tag is passed through.
    keeps_tag: bool,
    hash_bits: Option<u8>,
    /// The name of a feature with its namespace, in a reused buffer.
    name: Vec<u8>,
    /// The bytes of which the hash is taken, in a reused buffer.
    hashed: Vec<u8>,
    /// The features of short names.
    known: ShortNames,
    /// The column of the last feature that was not found there.
    previous: u32,
    /// Whether hashed features are left out by name; none before the first row.
    leaves_out: Option<bool>,
    /// Whether the whole line is UTF-8, so that its names need no check.
    is_utf8: bool,
}

impl Vw {
    /// # Errors
    /// If columns are asked for that this format does not have.
    pub fn new(options: &Options) -> Result<Self, String> {
        if options.id.as_ref().is_some_and(|id| id != "tag") {
            return Err("VW text has ids as tags; say --id tag".into());
        }
        if options.weight.is_some() {
            return Err("VW text has weights after the labels; leave --weight out".into());
        }
        if options.targets.len() > 1 {
            return Err(format!("VW text has one label per row, not {}", options.targets.len()));
        }
        if let Some(name) = options.keep.iter().find(|name| *name != "tag") {
            return Err(format!("--keep {name}: of VW text the tag can be kept; say --keep tag"));
        }
        let learned = options.schema.as_ref().and_then(Schema::hash_bits);
        let (tag_is_id, keeps_tag) = (options.id.is_some(), !options.keep.is_empty());
        Ok(Vw {
            width: options.targets.len(),
            tag_is_id,
            keeps_tag,
            hash_bits: options.hash_bits.or(learned),
            name: Vec::new(),
            hashed: Vec::new(),
            known: ShortNames::default(),
            previous: 0,
            leaves_out: None,
            is_utf8: false,
        })
    }

    /// Parses one line into features and targets; `false` if the line is empty.
    pub fn row(&mut self, line: &[u8], columns: &mut Columns, out: &mut Builder) -> Parsed<bool> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(false);
        }
        out.begin(columns.features());
        let mut parts = line.split(|b| *b == b'|');
        self.label(parts.next().unwrap_or(&[]), out)?;
        if !line.contains(&b'|') {
            return Err(error::row(format!("found {}, expected label | name:value ...", shown(line))));
        }
        self.is_utf8 = std::str::from_utf8(line).is_ok();
        for part in parts {
            self.namespace(part, columns, out)?;
        }
        Ok(true)
    }

    /// `[label [importance]] ['tag]`; a last word that touches the bar and is no number is a tag too.
    fn label(&mut self, text: &[u8], out: &mut Builder) -> Parsed {
        let mut words: Vec<&[u8]> = text.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty()).collect();
        let touches = text.last().is_some_and(|b| !b.is_ascii_whitespace());
        let is_tag = |w: &&[u8]| w[0] == b'\'' || (touches && matches!(classify(w), Value::Text(_)));
        if let Some(tag) = words.pop_if(|w| is_tag(&&**w)) {
            let tag = tag.strip_prefix(b"'").unwrap_or(tag);
            if self.keeps_tag {
                out.keep(0, tag, "tag")?;
            }
            if self.tag_is_id {
                out.id(tag, "tag")?;
            }
        }
        match words.as_slice() {
            [] => Ok(()),
            [label] => self.target(label, out),
            [label, weight] => {
                out.weight(classify(weight), "importance")?;
                self.target(label, out)
            }
            [_, _, base, ..] => {
                Err(error::row(format!("found {} after label and importance; initial predictions are not read", shown(base))))
            }
        }
    }

    fn target(&self, label: &[u8], out: &mut Builder) -> Parsed {
        match classify(label) {
            _ if self.width == 0 => Ok(()),
            value @ (Value::Number(_) | Value::Missing) => out.target(0, value, label, "label"),
            _ => Err(error::cell("label", format!("found {}, expected a number", shown(label)))),
        }
    }

    fn namespace(&mut self, part: &[u8], columns: &mut Columns, out: &mut Builder) -> Parsed {
        let mut words = Words { text: part, at: 0 };
        let named = part.first().is_some_and(|b| !b.is_ascii_whitespace());
        let (space, scale) = if named { words.pair()?.unwrap_or((b"", 1.0)) } else { (&b""[..], 1.0) };
        let leaves_out = *self.leaves_out.get_or_insert_with(|| columns.leaves_out());
        begin(&mut self.name, space, b'^');
        begin(&mut self.hashed, space, 0);
        while let Some((name, value)) = words.pair()? {
            let value = scale * value;
            if !self.is_utf8 {
                check_utf8(full(&mut self.name, space, name))?;
            }
            match self.hash_bits {
                None => self.named(space, name, value, columns, out)?,
                Some(bits) if !leaves_out || columns.wants(full(&mut self.name, space, name)) => {
                    append(&mut self.hashed, space, name);
                    out.put(hash_joined(&self.hashed, bits), checked(name, value)?);
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Adds a feature of which the name is kept.
    fn named(&mut self, space: &[u8], name: &[u8], value: f64, columns: &mut Columns, out: &mut Builder) -> Parsed {
        let name = full(&mut self.name, space, name);
        let fits = value.abs() <= LARGEST;
        if let Some(feature) = self.known.get(name).filter(|_| fits) {
            out.put(feature, value);
            return Ok(());
        }
        self.previous = columns.find(name, self.previous);
        if let Some(feature) = columns.lasting_number(self.previous).filter(|_| fits) {
            self.known.insert(name, feature);
            out.put(feature, value);
            return Ok(());
        }
        match columns.list[self.previous as usize].role {
            Role::Number(_) | Role::Undecided => columns.cell(self.previous, Value::Number(value), b"", out),
            _ => {
                columns.asked.meet(name);
                Ok(())
            }
        }
    }
}

/// Begins a buffer with what stands before the names of a namespace.
fn begin(buffer: &mut Vec<u8>, space: &[u8], between: u8) {
    buffer.clear();
    buffer.extend_from_slice(space);
    buffer.push(between);
}

/// Replaces what a buffer has after the namespace.
#[inline]
fn append(buffer: &mut Vec<u8>, space: &[u8], name: &[u8]) {
    buffer.truncate(space.len() + 1);
    buffer.extend_from_slice(name);
}

/// The name of a feature with its namespace.
#[inline]
fn full<'a>(buffer: &'a mut Vec<u8>, space: &[u8], name: &'a [u8]) -> &'a [u8] {
    if space.is_empty() {
        return name;
    }
    append(buffer, space, name);
    buffer
}

fn check_utf8(name: &[u8]) -> Parsed {
    if std::str::from_utf8(name).is_err() { Err(error::row(not_utf8(name))) } else { Ok(()) }
}

/// The words of a namespace.
struct Words<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Words<'a> {
    /// The next `name` or `name:value`; the name ends at the last colon.
    #[inline]
    fn pair(&mut self) -> Parsed<Option<(&'a [u8], f64)>> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        let (start, mut colon) = (self.at, None);
        for byte in &self.text[start..] {
            if byte.is_ascii_whitespace() {
                break;
            }
            if *byte == b':' {
                colon = Some(self.at);
            }
            self.at += 1;
        }
        let word = &self.text[start..self.at];
        match colon {
            None => Ok((!word.is_empty()).then_some((word, 1.0))),
            // Most numbers are short and end at a space.
            Some(colon) => match short(&self.text[colon + 1..], b' ') {
                Some((value, used)) if colon > start && colon + 1 + used == self.at => {
                    Ok(Some((&self.text[start..colon], value)))
                }
                _ => pair(word, colon - start).map(Some),
            },
        }
    }
}

/// A value that a feature can have.
fn checked(name: &[u8], value: f64) -> Parsed<f64> {
    match value.abs() <= LARGEST {
        true => Ok(value),
        false => Err(error::cell(&String::from_utf8_lossy(name), format!("found {value:e}, expected a number below 1e15"))),
    }
}

/// `name:value`, with the place of the colon.
fn pair(word: &[u8], colon: usize) -> Parsed<(&[u8], f64)> {
    let (name, text) = (&word[..colon], &word[colon + 1..]);
    match scan(text) {
        Some((value, used)) if used == text.len() && !name.is_empty() => Ok((name, value)),
        _ if name.is_empty() => Err(error::row(format!("found {}, expected name:value", shown(word)))),
        _ => Err(error::cell(&String::from_utf8_lossy(name), format!("found {}, expected a finite number", shown(text)))),
    }
}
