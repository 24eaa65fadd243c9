//! Refuses outputs that would overwrite an input or another output, before anything is written.

use std::fs;
use std::path::{Path, PathBuf};

use crate::usage::usage;

/// A file of a command, and the flag or argument that names it.
pub struct Named<'a> {
    flag: &'a str,
    path: &'a Path,
}

impl<'a> Named<'a> {
    /// `-` is standard input or standard output.
    pub fn new(flag: &'a str, path: &'a (impl AsRef<Path> + ?Sized)) -> Self {
        Named { flag, path: path.as_ref() }
    }
}

/// Refuses an output that is the same file as an input or another output, also through links. Devices and pipes are not checked.
///
/// # Errors
/// The message has both names.
pub fn refuse(inputs: &[Named<'_>], outputs: &[Named<'_>]) -> anyhow::Result<()> {
    for (i, output) in outputs.iter().enumerate() {
        let Some(file) = identity(output.path, false) else { continue };
        for input in inputs {
            if identity(input.path, true).as_ref() == Some(&file) {
                let (what, shown) = (input.flag, output.path.display());
                return Err(usage(format!("{} {shown}: this would overwrite {what}; give it another name", output.flag)));
            }
        }
        if let Some(other) = outputs[..i].iter().find(|other| identity(other.path, false).as_ref() == Some(&file)) {
            return Err(usage(format!(
                "{} and {} both write {}; give each its own file",
                other.flag,
                output.flag,
                output.path.display()
            )));
        }
    }
    Ok(())
}

/// Whether two paths are one file.
pub fn is_same(a: &Path, b: &Path) -> bool {
    identity(a, true).is_some_and(|a| Some(a) == identity(b, true))
}

/// Two paths with equal identities are the same file.
#[derive(PartialEq, Eq)]
enum Identity {
    /// An existing file: its device and inode number, which hard links share.
    #[cfg(unix)]
    Node(u64, u64),
    /// A file that does not exist yet, or any file on a system without inode numbers: its path with links resolved.
    Path(PathBuf),
}

/// None if the path is not a regular file. `-` is the file that standard input is redirected from, if there is one.
fn identity(path: &Path, input: bool) -> Option<Identity> {
    let path = match path.to_str() {
        Some("-") if input => Path::new("/dev/stdin"),
        Some("-") => return None,
        _ => path,
    };
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => None,
        #[cfg(unix)]
        Ok(found) => {
            use std::os::unix::fs::MetadataExt;
            Some(Identity::Node(found.dev(), found.ino()))
        }
        #[cfg(not(unix))]
        Ok(_) => fs::canonicalize(path).ok().map(Identity::Path),
        Err(_) => {
            let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Some(Identity::Path(fs::canonicalize(folder).ok()?.join(path.file_name()?)))
        }
    }
}
