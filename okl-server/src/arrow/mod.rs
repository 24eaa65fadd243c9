//! Arrow IPC streams as rows: columns of numbers and truth values, and of text for the target.
//!
//! A stream is a sequence of messages: the marker 0xFFFFFFFF, the length of the metadata (a FlatBuffer, flat.rs), the metadata, and a body with the
//! buffers of the columns. The first message is the schema, the others are record batches; a length of 0 ends the stream. Memory is taken
//! only for bytes that are there. Not read, with an error that says so: compressed, nested and dictionary-encoded columns.

mod flat;

use std::collections::HashSet;

use crate::options::Options;
use crate::refusal::{Answered, Refusal};
use crate::rows::{LONGEST_NAME, Rows, Target, shortened};
use crate::surface::TableColumns;
use flat::{Damaged, Table};

impl From<Damaged> for Refusal {
    fn from(_: Damaged) -> Self {
        Refusal::new(
            400,
            "bad_arrow",
            "the body cannot be read as an Arrow IPC stream; it is damaged, incomplete or an Arrow file",
        )
    }
}

/// The types of columns that are read, with the bytes per value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Signed(usize),
    Unsigned(usize),
    Single,
    Double,
    Flag,
    /// Text; the bytes per offset.
    Text(usize),
    /// Any other type with a validity buffer and one more; can only be ignored.
    Other,
}

/// What a column is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Feature(usize),
    Target(usize),
    Weight,
    Id,
    Nothing,
}

struct Column {
    name: String,
    kind: Kind,
    used: Use,
}

/// The values of one column in one batch.
struct Values<'a> {
    column: &'a Column,
    /// The number of the first row in the body.
    first: usize,
    rows: usize,
    validity: &'a [u8],
    data: &'a [u8],
    /// The offsets of text.
    offsets: &'a [u8],
}

/// Reads a body. `columns` says which columns are not features.
///
/// # Errors
/// If the bytes are damaged, a column has a type that is not read, a number is absent where one is needed, or a limit is exceeded.
pub fn rows(bytes: &[u8], columns: &TableColumns, options: &Options) -> Answered<Rows> {
    let mut messages = Messages { bytes };
    let (schema, _) = messages.next()?.filter(|(table, _)| table.byte(1) == Ok(1)).ok_or(Damaged)?;
    let all = read_schema(schema.table(2)?.ok_or(Damaged)?, columns, options)?;
    let names: Vec<String> = all.iter().filter(|c| matches!(c.used, Use::Feature(_))).map(|c| c.name.clone()).collect();
    let mut rows = Rows { features: names.len(), names: Some(names), ..Rows::default() };
    rows.targets.width = all.iter().filter(|c| matches!(c.used, Use::Target(_))).count();
    while let Some((message, body)) = messages.next()? {
        if message.byte(1)? != 3 {
            return Err(Refusal::body("Arrow: dictionary-encoded columns are not read; send their values"));
        }
        read_batch(message.table(2)?.ok_or(Damaged)?, body, &all, &mut rows, options)?;
    }
    Ok(rows)
}

/// The messages of a stream with their bodies.
struct Messages<'a> {
    bytes: &'a [u8],
}

impl<'a> Messages<'a> {
    fn take(&mut self, length: usize) -> Answered<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(length).ok_or(Damaged)?;
        self.bytes = rest;
        Ok(taken)
    }

    /// The next message; none at the end of the stream.
    fn next(&mut self) -> Answered<Option<(Table<'a>, &'a [u8])>> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let number = |bytes: &[u8]| bytes.try_into().map(u32::from_le_bytes).map_err(|_| Damaged);
        if number(self.take(4)?)? != u32::MAX {
            return Err(Damaged.into());
        }
        let length = number(self.take(4)?)? as usize;
        if length == 0 {
            return Ok(None);
        }
        let message = Table::root(self.take(length)?)?;
        let body = self.take(message.length(3)?)?;
        Ok(Some((message, body)))
    }
}

fn read_schema(schema: Table<'_>, given: &TableColumns, options: &Options) -> Answered<Vec<Column>> {
    if schema.short(0)? != 0 {
        return Err(Refusal::body("Arrow: big-endian streams are not read"));
    }
    let (count, fields) = schema.tables(1)?;
    let most = options.most_features + given.targets.len() + given.ignore.len() + 2;
    if count > most {
        let text = format!("{count} columns, at most {} are allowed", options.most_features);
        return Err(Refusal::new(413, "too_many_features", text));
    }
    let mut columns = Vec::with_capacity(count);
    let mut seen = HashSet::new();
    let mut features = 0;
    for field in fields {
        let field = field?;
        let name = field.text(0)?;
        if name.is_empty() || name.len() > LONGEST_NAME || !seen.insert(name) {
            let text =
                format!("Arrow: column '{}': expected a name of 1 to {LONGEST_NAME} bytes that comes once", shortened(name));
            return Err(Refusal::body(text));
        }
        let used = used(name, given, features);
        features += usize::from(matches!(used, Use::Feature(_)));
        columns.push(Column { name: name.into(), kind: kind(&field, name, used)?, used });
    }
    let needed = given.targets.iter().chain(&given.weight).chain(&given.id);
    if let Some(absent) = needed.into_iter().find(|name| !seen.contains(name.as_str())) {
        return Err(Refusal::body(format!("Arrow: there is no column '{}'", shortened(absent))));
    }
    if features == 0 {
        return Err(Refusal::body("Arrow: there is no column of features"));
    }
    Ok(columns)
}

fn used(name: &str, given: &TableColumns, next: usize) -> Use {
    let is = |other: &Option<String>| other.as_deref() == Some(name);
    match given.targets.iter().position(|target| target == name) {
        Some(place) => Use::Target(place),
        None if is(&given.weight) => Use::Weight,
        None if is(&given.id) => Use::Id,
        None if given.ignore.iter().any(|ignored| ignored == name) => Use::Nothing,
        None => Use::Feature(next),
    }
}

/// The type of a column. Text can only be a target or ignored.
fn kind(field: &Table<'_>, name: &str, used: Use) -> Answered<Kind> {
    let wrong = |what: &str| Err(Refusal::body(format!("Arrow: column '{}': {what}", shortened(name))));
    if field.table(4)?.is_some() {
        return wrong("dictionary-encoded columns are not read; send their values");
    }
    let details = field.table(3)?;
    let of = |read: fn(&Table<'_>) -> flat::Read<i32>| details.as_ref().map_or(Err(Damaged), read);
    let kind = match field.byte(2)? {
        2 => match (of(|t| t.int(0))?, of(|t| t.byte(1).map(i32::from))? != 0) {
            (bits @ (8 | 16 | 32 | 64), true) => Kind::Signed(bits as usize / 8),
            (bits @ (8 | 16 | 32 | 64), false) => Kind::Unsigned(bits as usize / 8),
            _ => return Err(Damaged.into()),
        },
        3 => match of(|t| t.short(0).map(i32::from))? {
            1 => Kind::Single,
            2 => Kind::Double,
            _ => Kind::Other,
        },
        6 => Kind::Flag,
        5 => Kind::Text(4),
        20 => Kind::Text(8),
        // Decimal, date, time, timestamp, interval, bytes of fixed length, duration.
        7..=11 | 15 | 18 => Kind::Other,
        _ => return wrong("this type is not read; send integers, single or double precision, truth values or text"),
    };
    match (kind, used) {
        (Kind::Text(_), Use::Target(_) | Use::Nothing) | (_, Use::Nothing) => Ok(kind),
        (Kind::Signed(_) | Kind::Unsigned(_), Use::Id) => Ok(kind),
        (_, Use::Id) => wrong("ids are integers"),
        (Kind::Text(_), _) => wrong("found text, expected numbers; leave it out with ?ignore=, or name it with ?target="),
        (Kind::Other, _) => wrong("this type is not read; send integers, single or double precision or truth values"),
        _ => Ok(kind),
    }
}

/// Adds the rows of a record batch.
fn read_batch(batch: Table<'_>, body: &[u8], columns: &[Column], rows: &mut Rows, options: &Options) -> Answered<()> {
    if batch.table(3)?.is_some() {
        return Err(Refusal::new(415, "compressed", "Arrow: send the stream without compression"));
    }
    let (count, nodes) = (batch.length(0)?, batch.pairs(1)?);
    let mut buffers = batch.pairs(2)?.into_iter();
    let mut next = || -> Answered<&[u8]> {
        let (from, length) = buffers.next().ok_or(Damaged)?;
        Ok(from.checked_add(length).and_then(|end| body.get(from..end)).ok_or(Damaged)?)
    };
    if nodes.len() != columns.len() || nodes.iter().any(|(length, _)| *length != count) {
        return Err(Damaged.into());
    }
    let mut all = Vec::with_capacity(columns.len());
    for column in columns {
        let validity = next()?;
        let offsets = if matches!(column.kind, Kind::Text(_)) { next()? } else { &[] };
        let values = Values { column, first: rows.count, rows: count, validity, data: next()?, offsets };
        values.check_lengths()?;
        all.push(values);
    }
    if rows.count.saturating_add(count).saturating_mul(rows.features) > options.most_cells {
        let text = format!("more than {} numbers in one body; send fewer rows", options.most_cells);
        return Err(Refusal::new(413, "too_many_numbers", text));
    }
    add_rows(rows, count, &all)
}

fn add_rows(rows: &mut Rows, count: usize, all: &[Values<'_>]) -> Answered<()> {
    let (first, features, width) = (rows.count, rows.features, rows.targets.width);
    rows.x.resize((first + count) * features, 0.0);
    rows.targets.values.resize((first + count) * width, Target::Missing);
    let mut absent = Vec::new();
    for values in all {
        for row in 0..count {
            match values.column.used {
                Use::Feature(place) => match values.number(row) {
                    Some(number) => rows.x[(first + row) * features + place] = number,
                    None => absent.push((first + row) * features + place),
                },
                Use::Target(place) => rows.targets.values[(first + row) * width + place] = values.target(row)?,
                Use::Weight => rows.weights.get_or_insert_default().push(values.number(row).ok_or_else(|| values.missing(row))?),
                Use::Id => rows.ids.get_or_insert_default().push(values.id(row)?),
                Use::Nothing => {}
            }
        }
    }
    absent.sort_unstable();
    rows.absent.extend(absent);
    rows.count += count;
    Ok(())
}

impl Values<'_> {
    /// Checks that the buffers have all rows.
    fn check_lengths(&self) -> Answered<()> {
        let bits = self.rows.div_ceil(8);
        let needed = match self.column.kind {
            Kind::Signed(size) | Kind::Unsigned(size) => self.rows.checked_mul(size),
            Kind::Single => self.rows.checked_mul(4),
            Kind::Double => self.rows.checked_mul(8),
            Kind::Flag => Some(bits),
            Kind::Text(_) | Kind::Other => Some(0),
        };
        // A stream without rows may have no offsets.
        let offsets = match self.column.kind {
            Kind::Text(size) if self.rows > 0 => self.rows.checked_add(1).and_then(|n| n.checked_mul(size)),
            _ => Some(0),
        };
        let valid = self.validity.is_empty() || self.validity.len() >= bits;
        let enough = needed.is_some_and(|n| self.data.len() >= n) && offsets.is_some_and(|n| self.offsets.len() >= n);
        if valid && enough { Ok(()) } else { Err(Damaged.into()) }
    }

    fn is_null(&self, row: usize) -> bool {
        !self.validity.is_empty() && self.validity[row / 8] >> (row % 8) & 1 == 0
    }

    fn bytes<const N: usize>(&self, row: usize) -> [u8; N] {
        self.data[N * row..].first_chunk::<N>().copied().unwrap_or([0; N])
    }

    /// An integer; none if it is null or the column has another type.
    fn integer(&self, row: usize) -> Option<i128> {
        let value = match self.column.kind {
            Kind::Signed(1) => i8::from_le_bytes(self.bytes(row)).into(),
            Kind::Signed(2) => i16::from_le_bytes(self.bytes(row)).into(),
            Kind::Signed(4) => i32::from_le_bytes(self.bytes(row)).into(),
            Kind::Signed(_) => i64::from_le_bytes(self.bytes(row)).into(),
            Kind::Unsigned(1) => u8::from_le_bytes(self.bytes(row)).into(),
            Kind::Unsigned(2) => u16::from_le_bytes(self.bytes(row)).into(),
            Kind::Unsigned(4) => u32::from_le_bytes(self.bytes(row)).into(),
            Kind::Unsigned(_) => u64::from_le_bytes(self.bytes(row)).into(),
            _ => return None,
        };
        (!self.is_null(row)).then_some(value)
    }

    fn flag(&self, row: usize) -> bool {
        self.data[row / 8] >> (row % 8) & 1 == 1
    }

    /// A number; none if it is null.
    fn number(&self, row: usize) -> Option<f64> {
        if self.is_null(row) {
            return None;
        }
        match self.column.kind {
            Kind::Single => Some(f32::from_le_bytes(self.bytes(row)).into()),
            Kind::Double => Some(f64::from_le_bytes(self.bytes(row))),
            Kind::Flag => Some(f64::from(u8::from(self.flag(row)))),
            _ => self.integer(row).map(|value| value as f64),
        }
    }

    fn target(&self, row: usize) -> Answered<Target> {
        // The text of an absent target is checked, too: see `text`.
        let target = match self.column.kind {
            Kind::Flag => Target::Flag(self.flag(row)),
            Kind::Text(size) => Target::Text(self.text(row, size)?.into()),
            _ => self.number(row).map_or(Target::Missing, Target::Number),
        };
        Ok(if self.is_null(row) { Target::Missing } else { target })
    }

    fn text(&self, row: usize, size: usize) -> Answered<&str> {
        let offset = |row: usize| -> Result<usize, Damaged> {
            let bytes = &self.offsets[row * size..(row + 1) * size];
            let mut whole = [0; 8];
            whole[..size].copy_from_slice(bytes);
            usize::try_from(u64::from_le_bytes(whole)).map_err(|_| Damaged)
        };
        let (from, to) = (offset(row)?, offset(row + 1)?);
        if to.saturating_sub(from) > LONGEST_NAME {
            let text = format!("row {}: the name of a class has at most {LONGEST_NAME} bytes", self.first + row);
            return Err(Refusal::body(text));
        }
        // Offsets never decrease, so all texts together are not longer than the buffer.
        let text = self.data.get(from..to).and_then(|bytes| std::str::from_utf8(bytes).ok());
        Ok(text.ok_or(Damaged)?)
    }

    fn id(&self, row: usize) -> Answered<u64> {
        let id = self.integer(row).ok_or_else(|| self.missing(row))?;
        u64::try_from(id).map_err(|_| {
            let text =
                format!("row {}, column '{}': found {id}, expected an id of 0 or more", self.first + row, self.column.name);
            Refusal::body(text)
        })
    }

    fn missing(&self, row: usize) -> Refusal {
        let row = self.first + row;
        Refusal::body(format!("row {row}: '{}' is absent", shortened(&self.column.name))).with(serde_json::json!({ "row": row }))
    }
}
