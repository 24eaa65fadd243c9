//! The bytes of a journal segment: a header, then entries one after the other. All numbers are little-endian.
//!
//! ```text
//! header  magic "OKLJ", version u32, number of the first entry u64, CRC-32 of these 16 bytes u32
//! entry   length of the payload u32, number u64, durable u64, CRC-32 of all other bytes of the entry u32, payload
//! ```
//!
//! `durable` is the number of the last entry that was synced when this entry was written. It tells an entry that was never
//! acknowledged (cut off) from a damaged one (refused): see [`ending`].

use std::ops::Range;

/// The first bytes of a segment.
pub const HEADER: usize = 20;
/// The bytes of an entry before its payload.
pub const FRAME: usize = 24;
/// The largest payload.
pub const LARGEST: usize = 1 << 30;

const MAGIC: &[u8; 4] = b"OKLJ";
const VERSION: u32 = 1;

/// The header of a segment.
pub fn header(first: u64) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[..4].copy_from_slice(MAGIC);
    bytes[4..8].copy_from_slice(&VERSION.to_le_bytes());
    bytes[8..16].copy_from_slice(&first.to_le_bytes());
    let crc = crc32fast::hash(&bytes[..16]);
    bytes[16..].copy_from_slice(&crc.to_le_bytes());
    bytes
}

/// The number of the first entry, if the header is whole and of this version.
pub fn read_header(bytes: &[u8]) -> Option<u64> {
    let first = number(bytes, 8)?;
    (bytes.get(..HEADER)? == header(first)).then_some(first)
}

/// An entry that was read: its number, the number of the last entry synced before it, and the place of its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its number.
    pub number: u64,
    /// The number of the last entry that was synced when this one was written.
    pub durable: u64,
    /// The place of its payload in the segment.
    pub payload: Range<usize>,
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

fn short(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn checksum(fields: &[u8], payload: &[u8]) -> u32 {
    let mut hash = crc32fast::Hasher::new();
    hash.update(fields);
    hash.update(payload);
    hash.finalize()
}

/// Appends an entry to `to`.
pub fn write(to: &mut Vec<u8>, number: u64, durable: u64, payload: &[u8]) {
    let at = to.len();
    to.extend((payload.len() as u32).to_le_bytes());
    to.extend(number.to_le_bytes());
    to.extend(durable.to_le_bytes());
    let crc = checksum(&to[at..], payload);
    to.extend(crc.to_le_bytes());
    to.extend_from_slice(payload);
}

/// The entry at a place, if it is whole.
pub fn read(bytes: &[u8], at: usize) -> Option<Entry> {
    let length = short(bytes, at)? as usize;
    let payload = at + FRAME..(at + FRAME).checked_add(length)?;
    let contents = bytes.get(payload.clone()).filter(|_| length <= LARGEST)?;
    let entry = Entry { number: number(bytes, at + 4)?, durable: number(bytes, at + 12)?, payload };
    let right = checksum(&bytes[at..at + FRAME - 4], contents) == short(bytes, at + FRAME - 4)?;
    (right && entry.durable < entry.number).then_some(entry)
}

/// How the entries of a segment end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With the last byte.
    Whole,
    /// The rest was never acknowledged: a crash interrupted its writing.
    Torn,
    /// The rest was acknowledged and is damaged.
    Damaged,
}

/// Judges the rest of a segment from the first place where the entry `expected` cannot be read.
///
/// It is damaged if a later entry says that `expected` had been synced. A crash may store the end of a group of entries and not its
/// beginning, so a whole entry after a broken one is not enough.
pub fn ending(bytes: &[u8], at: usize, expected: u64) -> Ending {
    if at >= bytes.len() {
        return Ending::Whole;
    }
    let later = (at + 1..bytes.len().saturating_sub(FRAME - 1)).filter(|&place| {
        let plausible = |n: u64| n >= expected && n - expected < bytes.len() as u64;
        number(bytes, place + 12).is_some_and(plausible)
    });
    let acknowledged = |place: usize| read(bytes, place).is_some_and(|entry| entry.durable >= expected);
    if later.into_iter().any(acknowledged) { Ending::Damaged } else { Ending::Torn }
}
