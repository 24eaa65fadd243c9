//! Decodes text of other encodings to UTF-8. A byte order mark of UTF-16 is recognised. Text without one is UTF-8, unless an
//! encoding is given.

use std::io::{self, Cursor, Read};

use serde::{Deserialize, Serialize};

/// Text encodings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Encoding {
    /// UTF-8, with or without a byte order mark
    #[value(name = "utf-8", alias = "utf8")]
    #[serde(rename = "utf-8", alias = "utf8")]
    Utf8,
    /// ISO 8859-1
    #[value(name = "latin1", alias = "iso-8859-1")]
    #[serde(rename = "latin1", alias = "iso-8859-1")]
    Latin1,
    /// Latin-1 as Windows writes it, with curly quotes and the euro sign
    #[value(name = "windows-1252", alias = "cp1252")]
    #[serde(rename = "windows-1252", alias = "cp1252")]
    Windows1252,
    /// UTF-16; little-endian unless a byte order mark says otherwise
    #[value(name = "utf-16", alias = "utf16")]
    #[serde(rename = "utf-16", alias = "utf16")]
    Utf16,
}

/// Bytes 0x80 to 0x9f of Windows-1252; those that are not assigned are control characters, as in Latin-1.
const WINDOWS: [u16; 32] = [
    0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026, 0x2020, 0x2021, 0x2c6, 0x2030, 0x160, 0x2039, 0x152, 0x8d, 0x17d, 0x8f, 0x90,
    0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc, 0x2122, 0x161, 0x203a, 0x153, 0x9d, 0x17e, 0x178,
];

/// Bytes that are read at a time.
const PIECE: usize = 16 << 10;

/// The text as UTF-8. Invalid UTF-16 becomes invalid UTF-8, which the parser refuses with its row.
pub(super) fn decoded(mut bytes: Box<dyn Read + Send>, given: Option<Encoding>) -> io::Result<Box<dyn Read + Send>> {
    let mut mark = Vec::new();
    bytes.by_ref().take(2).read_to_end(&mut mark)?;
    let big = mark == [0xfe, 0xff];
    let marked = (big || mark == [0xff, 0xfe]) && matches!(given, None | Some(Encoding::Utf16));
    let rest = Cursor::new(if marked { Vec::new() } else { mark }).chain(bytes);
    let unit = match given {
        _ if marked => Unit::Wide { big },
        None | Some(Encoding::Utf8) => return Ok(Box::new(rest)),
        Some(Encoding::Latin1) => Unit::Byte { windows: false },
        Some(Encoding::Windows1252) => Unit::Byte { windows: true },
        Some(Encoding::Utf16) => Unit::Wide { big: false },
    };
    Ok(Box::new(Decoder { from: Box::new(rest), unit, raw: Vec::new(), ready: Cursor::default() }))
}

/// The code unit of an encoding: one byte, or two bytes of UTF-16.
#[derive(Clone, Copy)]
enum Unit {
    Byte { windows: bool },
    Wide { big: bool },
}

struct Decoder {
    from: Box<dyn Read + Send>,
    unit: Unit,
    /// Bytes of a character that is not complete yet.
    raw: Vec<u8>,
    ready: Cursor<Vec<u8>>,
}

impl Read for Decoder {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let got = self.ready.read(into)?;
            if got > 0 || into.is_empty() || !self.fill()? {
                return Ok(got);
            }
        }
    }
}

impl Decoder {
    /// Decodes the next bytes; `false` at the end.
    fn fill(&mut self) -> io::Result<bool> {
        let before = self.raw.len();
        self.raw.resize(before + PIECE, 0);
        let got = self.from.read(&mut self.raw[before..]);
        self.raw.truncate(before + *got.as_ref().unwrap_or(&0));
        let end = got? == 0;
        let mut text = Vec::with_capacity(2 * self.raw.len());
        let used = match self.unit {
            Unit::Byte { windows } => bytes(&self.raw, windows, &mut text),
            Unit::Wide { big } => wide(&self.raw, big, end, &mut text),
        };
        self.raw.drain(..used);
        self.ready = Cursor::new(text);
        Ok(!end || !self.ready.get_ref().is_empty())
    }
}

fn bytes(raw: &[u8], windows: bool, text: &mut Vec<u8>) -> usize {
    for &byte in raw {
        let code = match byte {
            0x80..=0x9f if windows => u32::from(WINDOWS[usize::from(byte - 0x80)]),
            _ => byte.into(),
        };
        push(code, text);
    }
    raw.len()
}

/// Decodes UTF-16 and appends complete characters; returns the number of bytes used. With `end`, an incomplete character is an
/// invalid one.
fn wide(raw: &[u8], big: bool, end: bool, text: &mut Vec<u8>) -> usize {
    let unit = |at: usize| {
        let pair = [*raw.get(at)?, *raw.get(at + 1)?];
        Some(if big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) })
    };
    let mut at = 0;
    while let Some(first) = unit(at) {
        let second = unit(at + 2).filter(|low| (0xdc00..0xe000).contains(low));
        match (first, second) {
            (0xd800..0xdc00, Some(low)) => {
                push(0x1_0000 + (u32::from(first - 0xd800) << 10) + u32::from(low - 0xdc00), text);
                at += 4;
                continue;
            }
            (0xd800..0xdc00, None) if !end && at + 4 > raw.len() => return at,
            _ => push(first.into(), text),
        }
        at += 2;
    }
    if end && at < raw.len() {
        // An odd last byte.
        text.push(0xff);
        at = raw.len();
    }
    at
}

/// Appends a character, or for an invalid code the byte 0xff, which is never valid UTF-8.
fn push(code: u32, text: &mut Vec<u8>) {
    match char::from_u32(code) {
        Some(c) => text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        None => text.push(0xff),
    }
}
