//! The payloads of journal entries: what happened to a model. Little-endian numbers, texts and lists with their lengths before them.

use crate::rows::{Rows, Target, Targets};

/// A key that makes a request safe to repeat, with the fingerprint of its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The key.
    pub name: String,
    /// The fingerprint of the body.
    pub body: u64,
}

/// One entry of a model's journal.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// The learner is created with this configuration (JSON).
    Begin(String),
    /// Rows are learned. With a stream: its name, and the offset of the first row.
    Learn {
        /// The rows.
        rows: Rows,
        /// The stream and the offset of the first row in it.
        stream: Option<(String, u64)>,
        /// The key of the request.
        key: Option<Key>,
    },
    /// Rows wait for their targets, with consecutive ids, until a time (seconds since 1970).
    Remember {
        /// The id of the first row.
        first: u64,
        /// When they expire.
        until: u64,
        /// The rows, in the columns of the model.
        rows: Rows,
    },
    /// Targets of waiting rows have arrived: these are learned in this order.
    Label {
        /// The rows.
        ids: Vec<u64>,
        /// Their targets.
        targets: Targets,
        /// The key of the request.
        key: Option<Key>,
    },
    /// Waiting rows have expired.
    Expire(Vec<u64>),
}

/// A hash that tells two bodies apart.
pub fn fingerprint(bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(bytes)
}

const VERSION: u8 = 1;

fn write_number(to: &mut Vec<u8>, number: u64) {
    to.extend(number.to_le_bytes());
}

fn write_text(to: &mut Vec<u8>, text: &str) {
    write_number(to, text.len() as u64);
    to.extend_from_slice(text.as_bytes());
}

fn write_numbers(to: &mut Vec<u8>, numbers: impl ExactSizeIterator<Item = u64>) {
    write_number(to, numbers.len() as u64);
    numbers.for_each(|number| write_number(to, number));
}

fn write_option<T>(to: &mut Vec<u8>, value: Option<T>, write: impl FnOnce(&mut Vec<u8>, T)) {
    to.push(u8::from(value.is_some()));
    if let Some(value) = value {
        write(to, value);
    }
}

fn write_targets(to: &mut Vec<u8>, targets: &Targets) {
    write_number(to, targets.width as u64);
    write_number(to, targets.values.len() as u64);
    for target in &targets.values {
        match target {
            Target::Missing => to.push(0),
            Target::Number(v) => {
                to.push(1);
                write_number(to, v.to_bits());
            }
            Target::Text(text) => {
                to.push(2);
                write_text(to, text);
            }
            Target::Flag(flag) => to.push(3 + u8::from(*flag)),
        }
    }
}

fn write_key(to: &mut Vec<u8>, key: &Option<Key>) {
    write_option(to, key.as_ref(), |to, key| {
        write_text(to, &key.name);
        write_number(to, key.body);
    });
}

/// Appends rows.
pub fn write_rows(to: &mut Vec<u8>, rows: &Rows) {
    write_number(to, rows.count as u64);
    write_number(to, rows.features as u64);
    write_numbers(to, rows.x.iter().map(|v| v.to_bits()));
    write_option(to, rows.names.as_ref(), |to, names| {
        write_number(to, names.len() as u64);
        names.iter().for_each(|name| write_text(to, name));
    });
    write_numbers(to, rows.absent.iter().map(|at| *at as u64));
    write_targets(to, &rows.targets);
    write_option(to, rows.weights.as_ref(), |to, weights| write_numbers(to, weights.iter().map(|w| w.to_bits())));
    write_option(to, rows.ids.as_ref(), |to, ids| write_numbers(to, ids.iter().copied()));
}

impl Record {
    /// The bytes of the record.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut to = vec![VERSION];
        match self {
            Record::Begin(config) => {
                to.push(0);
                write_text(&mut to, config);
            }
            Record::Learn { rows, stream, key } => {
                to.push(1);
                write_rows(&mut to, rows);
                write_option(&mut to, stream.as_ref(), |to, (name, offset)| {
                    write_text(to, name);
                    write_number(to, *offset);
                });
                write_key(&mut to, key);
            }
            Record::Remember { first, until, rows } => {
                to.push(2);
                write_number(&mut to, *first);
                write_number(&mut to, *until);
                write_rows(&mut to, rows);
            }
            Record::Label { ids, targets, key } => {
                to.push(3);
                write_numbers(&mut to, ids.iter().copied());
                write_targets(&mut to, targets);
                write_key(&mut to, key);
            }
            Record::Expire(ids) => {
                to.push(4);
                write_numbers(&mut to, ids.iter().copied());
            }
        }
        to
    }

    /// A hash of the record.
    pub fn fingerprint(&self) -> u64 {
        fingerprint(&self.to_bytes())
    }

    /// Reads a record; none if the bytes are not one.
    pub fn from_bytes(bytes: &[u8]) -> Option<Record> {
        let mut from = From(bytes);
        if from.byte()? != VERSION {
            return None;
        }
        let record = match from.byte()? {
            0 => Record::Begin(from.text()?),
            1 => Record::Learn {
                rows: from.rows()?,
                stream: from.option(|from| Some((from.text()?, from.number()?)))?,
                key: from.key()?,
            },
            2 => Record::Remember { first: from.number()?, until: from.number()?, rows: from.rows()? },
            3 => Record::Label { ids: from.numbers()?, targets: from.targets()?, key: from.key()? },
            4 => Record::Expire(from.numbers()?),
            _ => return None,
        };
        from.0.is_empty().then_some(record)
    }
}

/// The bytes that have not been read yet. No length is believed before the bytes are there.
struct From<'a>(&'a [u8]);

impl<'a> From<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.bytes(1).map(|b| b[0])
    }

    fn number(&mut self) -> Option<u64> {
        self.bytes(8).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes)
    }

    fn size(&mut self) -> Option<usize> {
        self.number().and_then(|n| usize::try_from(n).ok())
    }

    fn text(&mut self) -> Option<String> {
        let length = self.size()?;
        String::from_utf8(self.bytes(length)?.to_vec()).ok()
    }

    fn list<T>(&mut self, mut each: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.size().filter(|n| *n <= self.0.len())?;
        let mut list = Vec::new();
        for _ in 0..count {
            list.push(each(self)?);
        }
        Some(list)
    }

    fn numbers(&mut self) -> Option<Vec<u64>> {
        self.list(From::number)
    }

    fn doubles(&mut self) -> Option<Vec<f64>> {
        self.list(|from| from.number().map(f64::from_bits))
    }

    fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        match self.byte()? {
            0 => Some(None),
            1 => read(self).map(Some),
            _ => None,
        }
    }

    fn key(&mut self) -> Option<Option<Key>> {
        self.option(|from| Some(Key { name: from.text()?, body: from.number()? }))
    }

    fn targets(&mut self) -> Option<Targets> {
        let width = self.size()?;
        let values = self.list(|from| match from.byte()? {
            0 => Some(Target::Missing),
            1 => from.number().map(|bits| Target::Number(f64::from_bits(bits))),
            2 => from.text().map(Target::Text),
            flag @ (3 | 4) => Some(Target::Flag(flag == 4)),
            _ => None,
        })?;
        Some(Targets { width, values })
    }

    fn rows(&mut self) -> Option<Rows> {
        let (count, features, x) = (self.size()?, self.size()?, self.doubles()?);
        let names = self.option(|from| from.list(From::text))?;
        let absent: Vec<usize> = self.list(From::size)?;
        let (targets, weights, ids) = (self.targets()?, self.option(From::doubles)?, self.option(From::numbers)?);
        let fits = count.checked_mul(features) == Some(x.len())
            && names.as_ref().is_none_or(|n| n.len() == features)
            && absent.iter().all(|at| *at < x.len())
            && count.checked_mul(targets.width) == Some(targets.values.len())
            && weights.as_ref().is_none_or(|w| w.len() == count)
            && ids.as_ref().is_none_or(|ids| ids.len() == count);
        fits.then_some(Rows { count, features, x, names, absent, targets, weights, ids })
    }
}
