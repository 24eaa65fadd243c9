//! A disk in memory for tests: it can fail to sync, fill up and crash.
//!
//! Every file has two contents: what a reader sees (the page cache) and what is stored. A sync copies the first to the second. A failed
//! sync stores nothing and, as on Linux, later syncs do not store these bytes either. A crash leaves what is stored and, of the bytes
//! that were not synced, an arbitrary part.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Disk, DiskFile};

#[derive(Clone, Debug, Default)]
struct Contents {
    seen: Vec<u8>,
    stored: Vec<u8>,
    /// The bytes up to this place are no longer written by a sync.
    clean: usize,
}

impl Contents {
    fn sync(&mut self) {
        self.stored.resize(self.seen.len().max(self.clean), 0);
        self.stored.truncate(self.seen.len());
        let from = self.clean.min(self.seen.len());
        self.stored[from..].copy_from_slice(&self.seen[from..]);
        self.clean = self.seen.len();
    }
}

#[derive(Debug, Default)]
struct Inside {
    files: BTreeMap<PathBuf, Contents>,
    failing_syncs: u64,
    room: Option<usize>,
}

/// The disk; its copies are the same disk.
#[derive(Clone, Debug, Default)]
pub struct MemoryDisk(Arc<Mutex<Inside>>);

struct MemoryFile {
    disk: MemoryDisk,
    path: PathBuf,
}

fn missing(path: &Path) -> io::Error {
    io::Error::new(ErrorKind::NotFound, path.display().to_string())
}

impl MemoryDisk {
    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next so many syncs fail.
    pub fn fail_syncs(&self, count: u64) {
        self.inside().failing_syncs = count;
    }

    /// From now on so many bytes can be written; none: without limit.
    pub fn set_room(&self, bytes: Option<usize>) {
        self.inside().room = bytes;
    }

    /// The power fails. Of the bytes of each file that were not synced, `keep` chooses how many are stored (given their number), and
    /// `damage` changes them.
    pub fn crash(&self, mut keep: impl FnMut(usize) -> usize, mut damage: impl FnMut(&mut [u8])) {
        for file in self.inside().files.values_mut() {
            let from = file.stored.len().min(file.seen.len());
            let kept = keep(file.seen.len() - from);
            let mut tail = file.seen[from..from + kept].to_vec();
            damage(&mut tail);
            file.stored.extend(tail);
            (file.seen, file.clean) = (file.stored.clone(), file.stored.len());
        }
    }

    /// Changes one byte of a file, in the cache and as stored.
    pub fn flip(&self, path: &Path, at: usize) {
        if let Some(file) = self.inside().files.get_mut(path) {
            file.seen[at] ^= 0x40;
            if let Some(byte) = file.stored.get_mut(at) {
                *byte ^= 0x40;
            }
        }
    }
}

impl DiskFile for MemoryFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut inside = self.disk.inside();
        let taken = inside.room.map_or(bytes.len(), |room| room.min(bytes.len()));
        inside.room = inside.room.map(|room| room - taken);
        let file = inside.files.get_mut(&self.path).ok_or_else(|| missing(&self.path))?;
        file.seen.extend_from_slice(&bytes[..taken]);
        if taken < bytes.len() { Err(ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut inside = self.disk.inside();
        let fails = inside.failing_syncs > 0;
        inside.failing_syncs -= u64::from(fails);
        let file = inside.files.get_mut(&self.path).ok_or_else(|| missing(&self.path))?;
        if fails {
            file.clean = file.seen.len();
            return Err(io::Error::other("the disk reports an error"));
        }
        file.sync();
        Ok(())
    }
}

impl Disk for MemoryDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let mut inside = self.inside();
        if inside.files.contains_key(path) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        inside.files.insert(path.into(), Contents::default());
        Ok(Box::new(MemoryFile { disk: self.clone(), path: path.into() }))
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.inside().files.get(path).map(|file| file.seen.clone()).ok_or_else(|| missing(path))
    }

    fn truncate(&self, path: &Path, length: u64) -> io::Result<()> {
        let mut inside = self.inside();
        if inside.failing_syncs > 0 {
            inside.failing_syncs -= 1;
            return Err(io::Error::other("the disk reports an error"));
        }
        let file = inside.files.get_mut(path).ok_or_else(|| missing(path))?;
        file.seen.truncate(length as usize);
        file.stored.truncate(length as usize);
        file.clean = file.clean.min(length as usize);
        Ok(())
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        let inside = self.inside();
        let here = inside.files.keys().filter(|path| path.parent() == Some(folder));
        Ok(here.filter_map(|path| path.file_name()?.to_str().map(str::to_owned)).collect())
    }

    fn make_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.inside().files.remove(path).map(drop).ok_or_else(|| missing(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut inside = self.inside();
        let file = inside.files.remove(from).ok_or_else(|| missing(from))?;
        inside.files.insert(to.into(), file);
        Ok(())
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
}
