//! The journal of a model: every change is written here and synced before it is acknowledged.
//!
//! Entries have consecutive numbers. They are in segments, files named after their first entry; a segment that a snapshot contains is
//! removed. Several entries are written and synced together ([`Journal::commit`]). After an error of the disk nothing is known about the bytes since
//! the last sync: the segment is cut back to that place, and the journal continues in a new one.

pub mod entry;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::{self, Disk, DiskFile};
use entry::{Ending, HEADER};

/// Why a journal cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// An error of the disk.
    #[error("{0}: {1}")]
    Disk(PathBuf, io::Error),
    /// An acknowledged entry cannot be read.
    #[error(
        "{segment}: entry {entry} at byte {at} is damaged, and it had been acknowledged. Nothing was changed. Restore the model's folder from a copy. Or \
         accept the loss of entry {entry} and all later ones: truncate -s {at} '{segment}', move the later segments out of its folder, and start again"
    )]
    Damaged {
        /// The file.
        segment: String,
        /// The number of the entry.
        entry: u64,
        /// Its place in the file.
        at: usize,
    },
    /// Entries are missing between two segments, or between the snapshot and the first segment.
    #[error("{folder}: the entries {from} to {to} are missing. Restore the model's folder from a copy")]
    Missing {
        /// The folder.
        folder: String,
        /// The first missing entry.
        from: u64,
        /// The last missing entry.
        to: u64,
    },
    /// An entry could be read, but not applied.
    #[error("entry {0} cannot be applied: {1}")]
    Refused(u64, String),
}

/// Bytes at the end of the journal that were never acknowledged and have been removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The file.
    pub segment: PathBuf,
    /// The number of bytes.
    pub bytes: u64,
}

struct Segment {
    first: u64,
    path: PathBuf,
    /// The bytes that are known to be stored.
    stored: u64,
}

/// The journal; see [the module](self).
pub struct Journal {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    segments: Vec<Segment>,
    /// The last segment, open for writing; none before the first entry and after an error.
    file: Option<Box<dyn DiskFile>>,
    /// Whether the last segment may have bytes after `stored`.
    broken: bool,
    durable: u64,
    next: u64,
    waiting: Vec<u8>,
    segment_bytes: u64,
}

impl Journal {
    /// Opens the journal in a folder and calls `each` with the number and payload of every entry after the entry `after`.
    ///
    /// # Errors
    /// If an acknowledged entry is damaged or missing, or refused by `each`, or the disk has an error. Damage changes nothing on the disk.
    pub fn open(
        disk: Arc<dyn Disk>,
        folder: &Path,
        segment_bytes: u64,
        after: u64,
        mut each: impl FnMut(u64, &[u8]) -> Result<(), String>,
    ) -> Result<(Journal, Option<Cut>), JournalError> {
        disk.make_folder(folder).map_err(|e| JournalError::Disk(folder.into(), e))?;
        let mut journal = Journal {
            disk,
            folder: folder.into(),
            segments: Vec::new(),
            file: None,
            broken: false,
            durable: after,
            next: after + 1,
            waiting: Vec::new(),
            segment_bytes,
        };
        let found = journal.find()?;
        let mut cut = None;
        for (i, (first, path)) in found.iter().enumerate() {
            // A segment is skipped if the next one begins at or before the first entry that is needed.
            if found.get(i + 1).is_some_and(|(next, _)| *next <= after + 1) {
                journal.segments.push(Segment { first: *first, path: path.clone(), stored: 0 });
                continue;
            }
            journal.expect(*first, journal.segments.is_empty() || journal.next == after + 1)?;
            cut = journal.read_segment(*first, path, i + 1 == found.len(), after, &mut each)?;
        }
        Ok((journal, cut))
    }

    /// The segments on the disk in order.
    fn find(&self) -> Result<Vec<(u64, PathBuf)>, JournalError> {
        let names = self.disk.names(&self.folder).map_err(|e| JournalError::Disk(self.folder.clone(), e))?;
        let first = |name: &String| name.strip_suffix(".log")?.parse().ok();
        let mut found: Vec<(u64, PathBuf)> = names.iter().filter_map(|n| Some((first(n)?, self.folder.join(n)))).collect();
        found.sort();
        Ok(found)
    }

    /// Checks that a segment continues the journal; the first one that is read may begin earlier.
    fn expect(&self, first: u64, may_be_earlier: bool) -> Result<(), JournalError> {
        if first == self.next || (may_be_earlier && first < self.next) {
            return Ok(());
        }
        Err(JournalError::Missing { folder: self.folder.display().to_string(), from: self.next, to: first.saturating_sub(1) })
    }

    /// Reads one segment. The last one is written anew without a torn end.
    fn read_segment(
        &mut self,
        first: u64,
        path: &Path,
        last: bool,
        after: u64,
        each: &mut impl FnMut(u64, &[u8]) -> Result<(), String>,
    ) -> Result<Option<Cut>, JournalError> {
        let on_disk = |e| JournalError::Disk(path.into(), e);
        let bytes = self.disk.read(path).map_err(on_disk)?;
        let (mut at, mut number) = (HEADER, first);
        if entry::read_header(&bytes) == Some(first) {
            while let Some(found) = entry::read(&bytes, at).filter(|found| found.number == number) {
                at = found.payload.end;
                if number > after {
                    each(number, &bytes[found.payload]).map_err(|text| JournalError::Refused(number, text))?;
                }
                number += 1;
            }
        } else {
            at = 0;
        }
        let ending = entry::ending(&bytes, at, number);
        if ending == Ending::Damaged || (ending == Ending::Torn && !last) {
            return Err(JournalError::Damaged { segment: path.display().to_string(), entry: number, at });
        }
        (self.next, self.durable) = (number.max(after + 1), (number - 1).max(after));
        if number == first {
            self.disk.remove(path).and_then(|()| self.disk.sync_folder(&self.folder)).map_err(on_disk)?;
        } else {
            // After a failed sync the cache may show bytes that are not stored and that no later sync stores. So the last segment is
            // written anew before its entries count as stored.
            if last {
                disk::replace(&*self.disk, path, &bytes[..at]).map_err(on_disk)?;
            }
            self.segments.push(Segment { first, path: path.into(), stored: at as u64 });
        }
        let cut = bytes.len().saturating_sub(at.max(HEADER)) as u64;
        Ok((cut > 0).then(|| Cut { segment: path.into(), bytes: cut }))
    }

    /// Adds an entry to the next commit and returns its number.
    pub fn append(&mut self, payload: &[u8]) -> u64 {
        let number = self.next;
        entry::write(&mut self.waiting, number, self.durable, payload);
        self.next += 1;
        number
    }

    /// Writes and syncs the entries since the last commit.
    ///
    /// # Errors
    /// Those of the disk. Then none of these entries is in the journal, and their numbers are used again.
    pub fn commit(&mut self) -> io::Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        if waiting.is_empty() {
            return self.repair();
        }
        match self.store(&waiting) {
            Ok(()) => {
                self.durable = self.next - 1;
                self.waiting = waiting;
                self.waiting.clear();
                Ok(())
            }
            Err(error) => {
                (self.next, self.file, self.broken) = (self.durable + 1, None, true);
                // Frees the space of a full disk; if this fails, the next commit tries again.
                let _ = self.repair();
                Err(error)
            }
        }
    }

    fn store(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.repair()?;
        let full = self.segments.last().is_some_and(|last| last.stored >= self.segment_bytes);
        if self.file.is_none() || full {
            self.begin_segment()?;
        }
        let (Some(file), Some(last)) = (&mut self.file, self.segments.last_mut()) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        file.append(bytes)?;
        file.sync()?;
        last.stored += bytes.len() as u64;
        Ok(())
    }

    fn begin_segment(&mut self) -> io::Result<()> {
        let first = self.durable + 1;
        let path = self.folder.join(format!("{first:020}.log"));
        self.file = None;
        let mut file = self.disk.create(&path)?;
        self.segments.push(Segment { first, path, stored: 0 });
        file.append(&entry::header(first))?;
        file.sync()?;
        self.disk.sync_folder(&self.folder)?;
        if let Some(last) = self.segments.last_mut() {
            last.stored = HEADER as u64;
        }
        self.file = Some(file);
        Ok(())
    }

    /// After an error: cuts the last segment back to the bytes that are known to be stored. A segment without entries is removed.
    fn repair(&mut self) -> io::Result<()> {
        if !self.broken {
            return Ok(());
        }
        if let Some(last) = self.segments.last() {
            if last.stored <= HEADER as u64 {
                match self.disk.remove(&last.path) {
                    Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                    _ => self.disk.sync_folder(&self.folder)?,
                }
                self.segments.pop();
            } else {
                self.disk.truncate(&last.path, last.stored)?;
            }
        }
        self.broken = false;
        Ok(())
    }

    /// Removes the segments whose entries all have numbers up to `number`.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn remove_through(&mut self, number: u64) -> io::Result<()> {
        while self.segments.len() > 1 && self.segments[1].first <= number + 1 {
            self.disk.remove(&self.segments[0].path)?;
            self.segments.remove(0);
        }
        if self.durable <= number && self.segments.len() == 1 && !self.broken {
            self.file = None;
            self.disk.remove(&self.segments[0].path)?;
            self.segments.clear();
        }
        self.disk.sync_folder(&self.folder)
    }

    /// The number of the last entry that is stored.
    pub fn durable(&self) -> u64 {
        self.durable
    }

    /// Whether the last commit failed and the journal could not be repaired yet.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// The bytes of the segments that were read or written.
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.stored).sum()
    }
}
