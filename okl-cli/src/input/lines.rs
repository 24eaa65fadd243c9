//! Lines of a stream in one buffer that grows to the longest line and no further than [`LONGEST_LINE`].

use std::io::{self, BufRead, Read};

use super::source::Source;

/// The largest length of a line in bytes (16 MiB). This bounds memory; a longer line is probably not text.
pub const LONGEST_LINE: usize = 16 << 20;

const FIRST: usize = 64 << 10;

/// The reason why there is no next line.
#[derive(Debug)]
pub(super) enum NoLine {
    Io(io::Error),
    TooLong,
    /// A quote is never closed.
    Open,
}

pub(super) struct Lines {
    source: Source,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    done: bool,
    peeked: bool,
    /// The number of the line that was taken last, from 1, and how many lines the record had.
    number: u64,
    taken: u64,
    /// The line on which the last record began.
    pub first: u64,
}

impl Lines {
    pub fn new(source: Source) -> Self {
        Lines { source, buffer: vec![0; FIRST], start: 0, end: 0, done: false, peeked: false, number: 0, taken: 0, first: 1 }
    }

    /// Whether the next line is not there yet, so that reading it would wait for more input.
    pub fn would_wait(&self) -> bool {
        !self.done && self.source.would_wait() && !self.buffer[self.start..self.end].contains(&b'\n')
    }

    /// Lines that have been taken.
    pub fn read(&self) -> u64 {
        self.number
    }

    /// The next record without its end (LF or CRLF), as a range of [`Lines::bytes`]. A record has several lines if a quoted field
    /// contains line ends: `open(line, was_open)` returns whether a quote is open at the end of the line.
    pub fn next(&mut self, open: impl Fn(&[u8], bool) -> bool) -> Result<Option<(usize, usize)>, NoLine> {
        (self.taken, self.first) = (0, self.number + 1);
        let (mut line, mut searched, mut inside) = (0, 0, false);
        loop {
            let mut rest = &self.buffer[self.start + searched..self.end];
            let length = searched + rest.skip_until(b'\n').map_err(NoLine::Io)?;
            let whole = length > searched && self.buffer[self.start + length - 1] == b'\n';
            searched = length;
            if whole {
                self.taken += 1;
                inside = open(&self.buffer[self.start + line..self.start + length - 1], inside);
                if !inside {
                    return Ok(Some(self.take(length, whole)));
                }
                line = length;
            } else if !self.done {
                self.fill(inside)?;
            } else if length == 0 {
                return Ok(None);
            } else if open(&self.buffer[self.start + line..self.end], inside) {
                return Err(NoLine::Open);
            } else {
                self.taken += 1;
                return Ok(Some(self.take(length, whole)));
            }
        }
    }

    /// Makes [`Lines::next`] return the last record once more.
    pub fn again(&mut self, (from, _): (usize, usize)) {
        self.start = from;
        self.number -= self.taken;
    }

    /// The bytes of a range; valid until the next call of [`Lines::next`].
    pub fn bytes(&self, (from, to): (usize, usize)) -> &[u8] {
        &self.buffer[from..to]
    }

    /// Reads ahead without taking a line: at least two whole lines, the whole input, or [`LONGEST_LINE`] bytes.
    pub fn peek(&mut self) -> Result<&[u8], NoLine> {
        let (mut ends, mut line) = (if self.peeked { 2 } else { 0 }, 0);
        while !self.done && self.end < LONGEST_LINE && ends < 2 {
            let before = self.end;
            self.fill(false)?;
            for at in (before..self.end).filter(|at| self.buffer[*at] == b'\n') {
                // Blank lines and comments say nothing about the format.
                let first = self.buffer[line..at].trim_ascii().first();
                ends += usize::from(first.is_some_and(|b| *b != b'#'));
                line = at + 1;
            }
        }
        self.peeked = true;
        if ends == 0 && self.end >= LONGEST_LINE {
            return Err(NoLine::TooLong);
        }
        Ok(&self.buffer[self.start..self.end])
    }

    /// Skips bytes at the beginning of the input (a byte order mark).
    pub fn drop_front(&mut self, bytes: usize) {
        self.start += bytes;
    }

    fn take(&mut self, length: usize, whole: bool) -> (usize, usize) {
        let from = self.start;
        self.start += length;
        self.number += self.taken;
        let mut to = self.start - usize::from(whole);
        if to > from && self.buffer[to - 1] == b'\r' {
            to -= 1;
        }
        (from, to)
    }

    fn fill(&mut self, inside: bool) -> Result<(), NoLine> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.end, self.start) = (self.end - self.start, 0);
        }
        if self.end >= LONGEST_LINE {
            return Err(if inside { NoLine::Open } else { NoLine::TooLong });
        }
        if self.end == self.buffer.len() {
            self.buffer.resize((2 * self.end).min(LONGEST_LINE), 0);
        }
        let got = loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                other => break other.map_err(NoLine::Io)?,
            }
        };
        self.done = got == 0;
        self.end += got;
        Ok(())
    }
}
