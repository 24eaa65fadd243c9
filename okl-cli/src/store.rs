//! Model files: written whole or not at all, with what the command line has to remember beside the learner.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use okl::Learner;
use serde::{Deserialize, Serialize};

use crate::input::{Format, Schema};

/// What the command line keeps in a model's `position`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Position {
    /// How far the current pass has come: the last line that was consumed or, in a shuffled file, the number of rows.
    pub rows: u64,
    /// Passes that were complete before this one.
    #[serde(default)]
    pub pass: u64,
    /// Rows of the file, where they are shuffled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shuffled: Option<u64>,
    /// The largest line that was consumed in any pass.
    #[serde(default)]
    pub lines: u64,
    /// Ids that rows get for want of their own begin after this one: lines of other data had those before.
    #[serde(default)]
    pub ids: u64,
    /// How the data are gone through.
    #[serde(default)]
    pub way: Way,
    /// Which columns mean what.
    pub schema: Option<Schema>,
}

/// How data are gone through; remembered, so that `--resume m.okl --continue` needs no other flag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Way {
    /// So many times.
    pub passes: u64,
    /// In orders drawn from this seed.
    pub shuffle: Option<u64>,
    /// How the file is written.
    pub format: Option<Format>,
    /// The column of ids.
    pub id: Option<String>,
    /// The column of weights.
    pub weight: Option<String>,
    /// Bad rows are left out.
    pub skip_bad_rows: bool,
}

impl Default for Way {
    fn default() -> Self {
        Way { passes: 1, shuffle: None, format: None, id: None, weight: None, skip_bad_rows: false }
    }
}

/// Writes a file so that a crash at any moment leaves the old one or the new one: temporary file, fsync, rename.
/// What is not a file (a device, a pipe) is written as it is.
///
/// # Errors
/// With the path, if it cannot be written; then the old file is still there.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let write = || match place(path) {
        Place::Device => File::options().write(true).open(path)?.write_all(bytes),
        Place::File { path, temporary } => replace(&path, &temporary, bytes).inspect_err(|_| drop(fs::remove_file(&temporary))),
    };
    write().with_context(|| format!("{}: cannot be written", path.display()))
}

/// Can a file be written there? Better known before hours of learning than after.
///
/// # Errors
/// With the path, if not.
pub fn check_writable(path: &Path) -> anyhow::Result<()> {
    let probe = match place(path) {
        Place::Device if path.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Place::Device => Ok(()),
        Place::File { temporary, .. } => File::create(&temporary).and_then(|_| fs::remove_file(&temporary)),
    };
    probe.with_context(|| format!("{}: cannot be written", path.display()))
}

enum Place {
    Device,
    File { path: PathBuf, temporary: PathBuf },
}

/// Links are followed: what they point to is replaced, not they.
fn place(path: &Path) -> Place {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.into());
    if fs::metadata(&path).is_ok_and(|m| !m.is_file()) {
        return Place::Device;
    }
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".part");
    Place::File { path, temporary: temporary.into() }
}

fn replace(path: &Path, temporary: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = File::create(temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(temporary, path)?;
    // The rename itself must survive: sync the folder, where the system lets us.
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|f| f.sync_all()).or(Ok(()))
}

/// Saves a learner with its position.
///
/// # Errors
/// Those of [`write_atomically`].
pub fn save(path: &Path, learner: &mut Learner, position: &Position) -> anyhow::Result<()> {
    learner.set_position(serde_json::to_vec(position)?);
    write_atomically(path, &learner.to_bytes())
}

/// Loads a learner, and its position if it was learned here: a model that came out of a program has none, or one of that
/// program's own, and is a model all the same.
///
/// # Errors
/// With the path, if it is not a model file of okl.
pub fn load(path: &Path) -> anyhow::Result<(Learner, Option<Position>)> {
    let bytes = fs::read(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    let learner = Learner::from_bytes(&bytes).with_context(|| format!("{}: not a model", path.display()))?;
    let ours = |bytes: &&[u8]| bytes.first() == Some(&b'{');
    let position = Some(learner.position()).filter(ours).map(serde_json::from_slice).transpose();
    let position = position.with_context(|| format!("{}: where it stopped is not in words of this okl", path.display()))?;
    Ok((learner, position))
}
