//! Model files: written whole or not at all, with what the command line has to remember beside the learner.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use okl::Learner;
use serde::{Deserialize, Serialize};

use crate::input::Schema;

/// What the command line keeps in a model's `position`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Position {
    /// Rows of the stream that the model has consumed, bad ones included.
    pub rows: u64,
    /// Which columns mean what.
    pub schema: Option<Schema>,
}

/// Writes a file so that a crash at any moment leaves the old one or the new one: temporary file, fsync, rename.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".part");
    let write = || -> std::io::Result<()> {
        let mut file = File::create(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        // The rename itself must survive: sync the folder, where the system lets us.
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder).and_then(|f| f.sync_all()).or(Ok(()))
    };
    write().inspect_err(|_| drop(fs::remove_file(&temporary))).with_context(|| format!("{}: cannot be written", path.display()))
}

/// Saves a learner with its position.
pub fn save(path: &Path, learner: &mut Learner, position: &Position) -> anyhow::Result<()> {
    learner.set_position(serde_json::to_vec(position)?);
    write_atomically(path, &learner.to_bytes())
}

/// Loads a learner and its position.
pub fn load(path: &Path) -> anyhow::Result<(Learner, Position)> {
    let bytes = fs::read(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    let learner = Learner::from_bytes(&bytes).with_context(|| format!("{}: not a model", path.display()))?;
    let position = match learner.position() {
        [] => Position::default(),
        text => serde_json::from_slice(text)
            .with_context(|| format!("{}: its position was not written by this program", path.display()))?,
    };
    Ok((learner, position))
}
