//! Vowpal Wabbit text with plain numeric features: `[label [importance]] ['tag]|namespace[:scale] name[:value] ... |...`
//!
//! A bare name is 1; a feature that is absent is 0; the same name twice adds up. Features of a namespace are called
//! `namespace^name`, and names become columns in order of appearance; with `hash_bits` they are hashed instead and not kept.

use super::Options;
use super::builder::Builder;
use super::chunk::LARGEST;
use super::columns::{Columns, Role, Shape};
use super::error::{self, Parsed};
use super::hash::hash_feature;
use super::number::{Value, classify, not_utf8, scan, shown};
use super::schema::Schema;

pub(super) const SHAPE: Shape = Shape { sparse: true, open: true, indexed: false };

pub(super) struct Vw {
    /// Targets per row, 0 or 1.
    width: usize,
    /// Whether the tag is the id of the row.
    tag_is_id: bool,
    /// Whether the tag is passed through.
    keeps_tag: bool,
    name: Vec<u8>,
    previous: u32,
    hash_bits: Option<u8>,
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
            name: Vec::new(),
            previous: 0,
            hash_bits: options.hash_bits.or(learned),
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
        let named = part.first().is_some_and(|b| !b.is_ascii_whitespace());
        let mut words = part.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
        let (space, scale) = if named { pair(words.next().unwrap_or(&[]))? } else { (&[][..], 1.0) };
        for word in words {
            let (name, value) = pair(word)?;
            self.name.clear();
            if !space.is_empty() {
                self.name.extend_from_slice(space);
                self.name.push(b'^');
            }
            self.name.extend_from_slice(name);
            if std::str::from_utf8(&self.name).is_err() {
                return Err(error::row(not_utf8(&self.name)));
            }
            if let Some(bits) = self.hash_bits {
                if columns.wants(&self.name) {
                    out.put(hash_feature(space, name, bits), checked(name, scale * value)?);
                }
                continue;
            }
            self.previous = columns.find(&self.name, self.previous);
            match columns.list[self.previous as usize].role {
                Role::Number(_) | Role::Undecided => columns.cell(self.previous, Value::Number(scale * value), b"", out)?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// A value that a feature can have.
fn checked(name: &[u8], value: f64) -> Parsed<f64> {
    match value.abs() <= LARGEST {
        true => Ok(value),
        false => Err(error::cell(&String::from_utf8_lossy(name), format!("found {value:e}, expected a number below 1e15"))),
    }
}

/// `name` or `name:value`.
fn pair(word: &[u8]) -> Parsed<(&[u8], f64)> {
    let Some(colon) = word.iter().rposition(|b| *b == b':') else { return Ok((word, 1.0)) };
    let (name, text) = (&word[..colon], &word[colon + 1..]);
    match scan(text) {
        Some((value, used)) if used == text.len() && !name.is_empty() => Ok((name, value)),
        _ if name.is_empty() => Err(error::row(format!("found {}, expected name:value", shown(word)))),
        _ => Err(error::cell(&String::from_utf8_lossy(name), format!("found {}, expected a finite number", shown(text)))),
    }
}
