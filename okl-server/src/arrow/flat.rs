//! FlatBuffers, the encoding of the messages of an Arrow stream, for reading only. Every place is checked: damaged bytes are an error.
//!
//! A table begins with the distance back to its vtable: the lengths of vtable and table, then the place of each field within the table, 0 if
//! the field is absent. Tables, texts and lists are stored elsewhere; the field has the distance to them. Numbers are little-endian.

use std::ops::Range;

/// The bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

/// What was read.
pub type Read<T> = Result<T, Damaged>;

/// A table of a message.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
    vtable: usize,
    fields: usize,
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Read<[u8; N]> {
    bytes.get(at..).and_then(|rest| rest.first_chunk::<N>()).copied().ok_or(Damaged)
}

fn distance(bytes: &[u8], at: usize) -> Read<usize> {
    let forward = u32::from_le_bytes(array(bytes, at)?) as usize;
    at.checked_add(forward).filter(|to| *to < bytes.len()).ok_or(Damaged)
}

impl<'a> Table<'a> {
    /// The table that a message begins with.
    pub fn root(bytes: &'a [u8]) -> Read<Self> {
        Table::at(bytes, distance(bytes, 0)?)
    }

    fn at(bytes: &'a [u8], at: usize) -> Read<Self> {
        let back = i64::from(i32::from_le_bytes(array(bytes, at)?));
        let vtable = usize::try_from(at as i64 - back).map_err(|_| Damaged)?;
        let length = usize::from(u16::from_le_bytes(array(bytes, vtable)?));
        let fields = length.checked_sub(4).ok_or(Damaged)? / 2;
        Ok(Table { bytes, at, vtable, fields })
    }

    /// The place of a field; none if it is absent.
    fn place(&self, field: usize) -> Read<Option<usize>> {
        if field >= self.fields {
            return Ok(None);
        }
        let within = u16::from_le_bytes(array(self.bytes, self.vtable + 4 + 2 * field)?);
        Ok((within > 0).then(|| self.at + usize::from(within)))
    }

    fn number<const N: usize>(&self, field: usize) -> Read<[u8; N]> {
        self.place(field)?.map_or(Ok([0; N]), |at| array(self.bytes, at))
    }

    /// A number of one byte; 0 if it is absent.
    pub fn byte(&self, field: usize) -> Read<u8> {
        self.number::<1>(field).map(|[byte]| byte)
    }

    /// A number of two bytes; 0 if it is absent.
    pub fn short(&self, field: usize) -> Read<i16> {
        self.number(field).map(i16::from_le_bytes)
    }

    /// A number of four bytes; 0 if it is absent.
    pub fn int(&self, field: usize) -> Read<i32> {
        self.number(field).map(i32::from_le_bytes)
    }

    /// A length of eight bytes; 0 if it is absent.
    pub fn length(&self, field: usize) -> Read<usize> {
        usize::try_from(i64::from_le_bytes(self.number(field)?)).map_err(|_| Damaged)
    }

    /// A table.
    pub fn table(&self, field: usize) -> Read<Option<Table<'a>>> {
        let Some(at) = self.place(field)? else { return Ok(None) };
        Table::at(self.bytes, distance(self.bytes, at)?).map(Some)
    }

    /// A text; empty if it is absent.
    pub fn text(&self, field: usize) -> Read<&'a str> {
        let bytes = self.list(field, 1)?;
        std::str::from_utf8(&self.bytes[bytes]).map_err(|_| Damaged)
    }

    /// The places of a list whose elements have `size` bytes; empty if it is absent.
    fn list(&self, field: usize, size: usize) -> Read<Range<usize>> {
        let Some(at) = self.place(field)? else { return Ok(0..0) };
        let from = distance(self.bytes, at)?;
        let count = u32::from_le_bytes(array(self.bytes, from)?) as usize;
        let end = count.checked_mul(size).and_then(|length| length.checked_add(from + 4)).ok_or(Damaged)?;
        if end > self.bytes.len() { Err(Damaged) } else { Ok(from + 4..end) }
    }

    /// A list of tables, as a count and the tables one by one.
    pub fn tables(&self, field: usize) -> Read<(usize, impl Iterator<Item = Read<Table<'a>>> + 'a)> {
        let (bytes, list) = (self.bytes, self.list(field, 4)?);
        Ok((list.len() / 4, list.step_by(4).map(move |at| Table::at(bytes, distance(bytes, at)?))))
    }

    /// A list of pairs of lengths.
    pub fn pairs(&self, field: usize) -> Read<Vec<(usize, usize)>> {
        let list = self.list(field, 16)?;
        let length = |at: usize| usize::try_from(i64::from_le_bytes(array(self.bytes, at)?)).map_err(|_| Damaged);
        list.step_by(16).map(|at| Ok((length(at)?, length(at + 8)?))).collect()
    }
}
