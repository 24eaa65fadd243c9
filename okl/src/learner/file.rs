//! Writes files atomically, and reads and writes model files: [`Learner::save`] and [`Learner::load`].
//!
//! A file is written under a temporary name in the folder of its destination, synced, and renamed; then the folder is
//! synced. A crash at any moment leaves the old file or the new one. The temporary name is new for every call
//! (`NAME.PROCESS-COUNT.part`, created only if it does not exist): several threads or processes may write to one path at
//! the same time, and the last rename wins. A process that is killed while it writes leaves its temporary file behind.
//!
//! Symbolic links are followed: the file that a link points to is replaced, and the link stays. The permissions of a file
//! that is replaced are kept. A device or a named pipe is written directly.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::learner::Learner;

/// The largest number of symbolic links that are followed before a path is refused; operating systems use the same limit.
const MOST_LINKS: usize = 40;

/// The number of temporary names that are tried; other processes may have left files with some of them.
const MOST_NAMES: usize = 1000;

impl Learner {
    /// Writes the model file atomically; see [the module](crate::file).
    ///
    /// ```
    /// # let folder = std::env::temp_dir().join(format!("okl-doc-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// use okl::{Config, Learner};
    /// let learner = Learner::new(Config::default()).unwrap();
    /// learner.save(folder.join("m.okl"))?;
    /// assert_eq!(Learner::load(folder.join("m.okl"))?.to_bytes(), learner.to_bytes());
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// Errors of the operating system. The old file is then unchanged.
    pub fn save(&self, path: impl AsRef<Path>) -> io::Result<()> {
        write_with(path.as_ref(), |file| self.write_to(file))
    }

    /// Reads a model file.
    ///
    /// # Errors
    /// Errors of the operating system; and [`ErrorKind::InvalidData`] with an [`crate::Error`] inside if it is not a model file.
    pub fn load(path: impl AsRef<Path>) -> io::Result<Learner> {
        Learner::from_bytes(&fs::read(path)?).map_err(|e| io::Error::new(ErrorKind::InvalidData, e))
    }
}

/// Writes a file atomically.
///
/// # Errors
/// Errors of the operating system. The old file is then unchanged.
#[doc(hidden)]
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_with(path, |file| file.write_all(bytes))
}

/// Writes a file atomically; `content` writes its contents.
///
/// # Errors
/// Errors of the operating system and of `content`. The old file is then unchanged.
#[doc(hidden)]
pub fn write_with(path: &Path, content: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let path = followed(path)?;
    match fs::metadata(&path) {
        Ok(found) if !found.is_file() => content(&mut OpenOptions::new().write(true).open(&path)?),
        found => replace(&path, content, found.ok().map(|m| m.permissions())),
    }
}

/// Checks that a file can be written to `path`, before long work whose result is to be saved there.
///
/// # Errors
/// If it cannot be written: the error of the operating system.
#[doc(hidden)]
pub fn check_writable(path: &Path) -> io::Result<()> {
    let path = followed(path)?;
    match fs::metadata(&path) {
        Ok(found) if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Ok(found) if !found.is_file() => Ok(()),
        _ => Temporary::create(&path).map(drop),
    }
}

/// The path with symbolic links followed; the last link may point to a file that does not exist yet.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&path) else { return Ok(path) };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    Err(io::Error::other("too many symbolic links"))
}

fn replace(
    path: &Path,
    content: impl FnOnce(&mut File) -> io::Result<()>,
    permissions: Option<fs::Permissions>,
) -> io::Result<()> {
    let mut temporary = Temporary::create(path)?;
    content(&mut temporary.file)?;
    if let Some(permissions) = permissions {
        temporary.file.set_permissions(permissions)?;
    }
    temporary.file.sync_all()?;
    fs::rename(&temporary.path, path)?;
    temporary.renamed = true;
    sync_folder(path)
}

/// Syncs the folder, so that the rename survives a crash. Systems on which a folder cannot be opened do not need this.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match File::open(folder) {
        Ok(folder) => folder.sync_all().or(Ok(())),
        Err(_) => Ok(()),
    }
}

/// A temporary file in the folder of the destination; removed when dropped, unless it was renamed.
struct Temporary {
    file: File,
    path: PathBuf,
    renamed: bool,
}

impl Temporary {
    fn create(beside: &Path) -> io::Result<Self> {
        static FILES: AtomicU64 = AtomicU64::new(0);
        for _ in 0..MOST_NAMES {
            let mut path = beside.as_os_str().to_owned();
            path.push(format!(".{}-{}.part", std::process::id(), FILES.fetch_add(1, Ordering::Relaxed)));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok(Temporary { file, path: path.into(), renamed: false }),
                Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
        Err(ErrorKind::AlreadyExists.into())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            drop(fs::remove_file(&self.path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of its own, removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("okl-file-{name}-{}", std::process::id()));
            drop(fs::remove_dir_all(&path));
            fs::create_dir_all(&path).unwrap();
            Folder(path)
        }

        fn names(&self) -> Vec<String> {
            fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    #[test]
    fn writers_of_one_path_do_not_meet_and_one_of_them_wins_whole() {
        let folder = Folder::new("writers");
        let path = folder.0.join("m.okl");
        let texts: Vec<Vec<u8>> = (0..4u8).map(|i| vec![i; 100_000]).collect();
        std::thread::scope(|scope| {
            for text in &texts {
                scope.spawn(|| (0..25).for_each(|_| write(&path, text).unwrap()));
            }
        });
        assert!(texts.contains(&fs::read(&path).unwrap()));
        assert_eq!(folder.names(), ["m.okl"]);
    }

    #[test]
    fn a_name_that_another_process_holds_is_passed_over() {
        let folder = Folder::new("held");
        let path = folder.0.join("m.okl");
        // The names that this process would take next, left behind by an earlier process with its number.
        for count in 0..500 {
            fs::write(folder.0.join(format!("m.okl.{}-{count}.part", std::process::id())), "old").unwrap();
        }
        write(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(folder.names().len(), 501);
    }

    #[test]
    fn a_failure_leaves_the_old_file_and_nothing_else() {
        let folder = Folder::new("failure");
        fs::create_dir(folder.0.join("m.okl")).unwrap();
        assert!(write(&folder.0.join("m.okl"), b"x").is_err() && check_writable(&folder.0.join("m.okl")).is_err());
        assert!(write(&folder.0.join("none/m.okl"), b"x").is_err());
        assert_eq!(folder.names(), ["m.okl"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_permissions_are_kept() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = Folder::new("links");
        let [file, link, second, dangling] = ["file", "link", "second", "dangling"].map(|n| folder.0.join(n));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("file", &link).unwrap();
        symlink(&link, &second).unwrap();
        symlink("new", &dangling).unwrap();
        check_writable(&second).unwrap();
        write(&second, b"new").unwrap();
        write(&dangling, b"first").unwrap();
        assert_eq!((fs::read(&file).unwrap(), fs::read(folder.0.join("new")).unwrap()), (b"new".to_vec(), b"first".to_vec()));
        assert!([&link, &second, &dangling].iter().all(|l| fs::symlink_metadata(l).unwrap().is_symlink()));
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        symlink("loop", folder.0.join("loop")).unwrap();
        assert!(write(&folder.0.join("loop"), b"x").is_err());
    }
}
