//! Files behind a trait, so that tests can use a disk that fails to sync or fills up ([`memory::MemoryDisk`]).

pub mod memory;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// The operations on files that the server needs.
///
/// Laws: bytes count as stored only after [`DiskFile::sync`] has returned without an error. A new, renamed or removed name counts as
/// stored only after [`Disk::sync_folder`]. After a failed sync nothing is known about the bytes since the last good one.
pub trait Disk: Send + Sync + 'static {
    /// Creates a file that does not exist yet, readable by its owner only.
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;
    /// The contents of a file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// Cuts a file to a length and syncs it.
    fn truncate(&self, path: &Path, length: u64) -> io::Result<()>;
    /// The names of the files in a folder, sorted.
    fn names(&self, folder: &Path) -> io::Result<Vec<String>>;
    /// Creates a folder and its parents, readable by their owner only.
    fn make_folder(&self, folder: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Renames a file; a file with the new name is replaced.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Syncs the names of a folder.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
}

/// A file that is written from its beginning to its end.
pub trait DiskFile: Send {
    /// Writes bytes at the end. After an error some of them may have been written.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Returns once all bytes are stored.
    fn sync(&mut self) -> io::Result<()>;
}

/// Writes a file atomically: under a temporary name, synced, renamed. After a crash the file is the old one or the new one.
///
/// # Errors
/// Those of the disk. The old file is then unchanged.
pub fn replace(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = path.with_extension("part");
    let _ = disk.remove(&temporary);
    let written = disk.create(&temporary).and_then(|mut file| {
        file.append(bytes)?;
        file.sync()
    });
    if let Err(error) = written.and_then(|()| disk.rename(&temporary, path)) {
        let _ = disk.remove(&temporary);
        return Err(error);
    }
    disk.sync_folder(path.parent().unwrap_or(Path::new(".")))
}

/// Whether an error says that the disk or the quota is full.
pub fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge)
}

/// The disk of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl DiskFile for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

impl Disk for RealDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(Box::new(options.open(path)?))
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(path)
    }

    fn truncate(&self, path: &Path, length: u64) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(path)?;
        file.set_len(length)?;
        file.sync_all()
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            names.extend(entry?.file_name().into_string().ok());
        }
        names.sort();
        Ok(names)
    }

    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
    }
}
