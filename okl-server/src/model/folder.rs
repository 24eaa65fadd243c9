//! The folder of one model: `model.json` (how it was created), `snapshot` and `journal/`. A copy of the folder is a copy of the model.
//!
//! A snapshot is one file, so that it is replaced atomically: magic, the length of the JSON, the JSON ([`Beside`]), the model file (none
//! before the configuration is decided), and the CRC-32 of everything before. All numbers are little-endian.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use okl::{Config, Learner};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::state::{Beside, State};
use crate::codec::Record;
use crate::disk::{self, Disk};
use crate::journal::{Cut, Journal};
use crate::refusal::{Answered, Refusal};
use crate::rows::shortened;
use crate::surface::{Gaps, Look, Surface, Task};

const MAGIC: &[u8; 8] = b"OKLSNAP1";

/// How a model was created; the file `model.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "an object")]
pub struct Settings {
    /// The configuration as it was given. Without a loss the rest is decided by the first rows.
    pub config: Map<String, Value>,
    /// The type of prediction, if it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<Task>,
    /// Whether an absent number is 0 and a new name a new column.
    pub sparse: bool,
    /// Whether the model was created from a model file.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub uploaded: bool,
}

impl Settings {
    /// The configuration of the learner: without `missing`, which belongs to the rows.
    pub fn of_learner(&self) -> Map<String, Value> {
        let mut config = self.config.clone();
        config.remove("missing");
        config
    }

    /// The configuration of the learner as it was given, if a loss was given.
    pub fn asked_with_loss(&self) -> Option<Answered<Config>> {
        self.config.contains_key("loss").then(|| self.asked())
    }

    /// The configuration of the learner as it was given.
    ///
    /// # Errors
    /// If a setting is wrong.
    fn asked(&self) -> Answered<Config> {
        Ok(Config::from_value(Value::Object(self.of_learner()))?)
    }

    /// The type of prediction, if it was given: as a task, or by a list of classes.
    pub fn task(&self) -> Option<Task> {
        self.task.or_else(|| self.lists_classes().then_some(Task::Classes))
    }

    fn lists_classes(&self) -> bool {
        self.config.get("classes").is_some_and(|classes| !classes.is_null())
    }

    /// Refuses two spellings of one class in a list: labels are matched by their spelling.
    ///
    /// # Errors
    /// If there are two.
    pub fn check_classes(&self) -> Answered<()> {
        let Some(Value::Array(classes)) = self.config.get("classes") else { return Ok(()) };
        let spelled = |class: &Value| class.as_str().map_or_else(|| class.to_string(), str::to_owned);
        let mut seen = HashSet::new();
        match classes.iter().map(spelled).find(|class| !seen.insert(class.clone())) {
            Some(class) => {
                Err(Refusal::body(format!("classes: '{}' comes twice; a number and its text are one class", shortened(&class))))
            }
            None => Ok(()),
        }
    }

    /// Checks settings without a loss, which the first rows complete: some rows must be able to.
    ///
    /// # Errors
    /// If no rows are.
    pub fn check_without_loss(&self, surface: &dyn Surface) -> Answered<()> {
        if let Some(task) = self.task.filter(|task| *task != Task::Classes && self.lists_classes()) {
            let text = format!(
                "classes: a list of classes is for \"task\": \"classes\", and \"task\" is \"{}\"; leave one of them out",
                task.word()
            );
            return Err(Refusal::body(text));
        }
        let table = self.of_learner();
        let tasks = match self.task() {
            Some(task) => vec![task],
            None => {
                self.asked()?;
                vec![Task::Classes, Task::Numbers, Task::Novelty]
            }
        };
        let mut refused = None;
        for task in tasks {
            let look = Look { task, classes: 2, features: 1, targets: 1, sparse: self.sparse, ids: false };
            match surface.choose(&table, &look) {
                Ok(config) => return refuse_precomputed(&config),
                Err(text) => refused = refused.or(Some((task, text))),
            }
        }
        let (task, text) = refused.unwrap_or((Task::Classes, String::new()));
        Err(Refusal::body(task.says(&text)))
    }

    /// What cells without a value become; none if they are refused.
    ///
    /// # Errors
    /// If there is no such rule.
    pub fn gaps(&self, surface: &dyn Surface) -> Answered<Option<Arc<dyn Gaps>>> {
        let gaps = match self.config.get("missing") {
            None | Some(Value::Null) => None,
            Some(Value::String(rule)) => {
                surface.gaps(rule).map_err(|e| Refusal::body(format!("missing: found '{rule}', {e}")))?
            }
            Some(other) => return Err(Refusal::body(format!("missing: expected text such as \"mean\", found {other}"))),
        };
        if self.sparse && gaps.is_some() {
            return Err(Refusal::body(
                "missing: in a sparse model an absent number is 0, so nothing is filled; leave \"missing\" or \"sparse\" out",
            ));
        }
        Ok(gaps)
    }
}

/// The folder of a model.
#[derive(Clone)]
pub struct Folder {
    /// The disk.
    pub disk: Arc<dyn Disk>,
    /// The path of the folder.
    pub path: PathBuf,
}

/// A model read from its folder.
pub struct Loaded {
    /// How it was created.
    pub settings: Settings,
    /// Its state after the last entry.
    pub state: State,
    /// Its journal.
    pub journal: Journal,
    /// The number of entries that were replayed.
    pub replayed: u64,
    /// The unfinished end of the journal that was cut off.
    pub cut: Option<Cut>,
}

impl Folder {
    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a new model. The settings are written last: a folder without them is not a model.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn create(&self, settings: &Settings, state: &State) -> io::Result<()> {
        self.disk.make_folder(&self.path)?;
        self.write_snapshot(state)?;
        disk::replace(&*self.disk, &self.file("model.json"), &serde_json::to_vec_pretty(settings)?)?;
        self.disk.sync_folder(self.path.parent().unwrap_or(Path::new(".")))
    }

    /// Writes a snapshot.
    ///
    /// # Errors
    /// Those of the disk. The old snapshot is then unchanged.
    pub fn write_snapshot(&self, state: &State) -> io::Result<()> {
        let gaps = state.gaps.as_ref().map(|gaps| gaps.stored());
        let beside = serde_json::to_vec(&Beside { gaps, ..state.beside.clone() })?;
        let model = state.learner.as_ref().map(Learner::to_bytes).unwrap_or_default();
        let mut bytes = Vec::with_capacity(24 + beside.len() + model.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend((beside.len() as u64).to_le_bytes());
        bytes.extend(beside);
        bytes.extend(model);
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        disk::replace(&*self.disk, &self.file("snapshot"), &bytes)
    }

    /// Reads the model: the snapshot, then all later entries of the journal.
    ///
    /// # Errors
    /// If a file is damaged, or the disk has an error. The text says what to do.
    pub fn load(&self, segment_bytes: u64, surface: &dyn Surface) -> Result<Loaded, String> {
        let (settings_file, snapshot_file) = (self.file("model.json"), self.file("snapshot"));
        let settings = self.disk.read(&settings_file).map_err(|e| at(&settings_file, e))?;
        let settings: Settings = serde_json::from_slice(&settings).map_err(|e| at(&settings_file, e))?;
        let snapshot = self.disk.read(&snapshot_file).map_err(|e| at(&snapshot_file, e))?;
        let (mut beside, learner) = read_snapshot(&snapshot).map_err(|e| at(&snapshot_file, e))?;
        let other = || at(&snapshot_file, "the values for missing cells were written by an incompatible version of okl");
        let stored = beside.gaps.take();
        let gaps = stored.map(|stored| surface.stored_gaps(&stored).ok_or_else(other)).transpose()?;
        let mut state = State { learner, beside, sparse: settings.sparse, gaps };
        let (after, mut replayed) = (state.beside.entry, 0);
        let opened = Journal::open(Arc::clone(&self.disk), &self.file("journal"), segment_bytes, after, |entry, payload| {
            let record = Record::from_bytes(payload).ok_or("written by an incompatible version of okl")?;
            replayed += 1;
            state.apply(entry, &record, &mut |_, _, _| {}).map(drop).map_err(|refusal| refusal.to_string())
        });
        let (journal, cut) = opened.map_err(|e| e.to_string())?;
        Ok(Loaded { settings, state, journal, replayed, cut })
    }
}

/// Refuses a model over kernel values or objects: requests carry rows of numbers.
///
/// # Errors
/// If it is one.
pub fn refuse_precomputed(config: &Config) -> Answered<()> {
    match config.is_precomputed() {
        true => Err(Refusal::body(
            "this model learns kernel values or objects (kernel = precomputed), and the server takes rows of numbers. Use it from Python \
             (okl.Learner), or choose another kernel",
        )),
        false => Ok(()),
    }
}

fn at(path: &Path, error: impl std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

/// Reads a snapshot.
///
/// # Errors
/// If it is damaged.
pub fn read_snapshot(bytes: &[u8]) -> Result<(Beside, Option<Learner>), String> {
    let damaged = || "the snapshot is damaged; restore the model's folder from a copy".to_owned();
    let (contents, crc) = bytes.split_last_chunk::<4>().ok_or_else(damaged)?;
    let rest = contents.strip_prefix(MAGIC).filter(|_| crc32fast::hash(contents).to_le_bytes() == *crc).ok_or_else(damaged)?;
    let (length, rest) = rest.split_first_chunk::<8>().ok_or_else(damaged)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| damaged())?;
    let (beside, model) = rest.split_at_checked(length).ok_or_else(damaged)?;
    let beside =
        serde_json::from_slice(beside).map_err(|e| format!("the snapshot was written by an incompatible version of okl: {e}"))?;
    let learner = (!model.is_empty()).then(|| Learner::from_bytes(model)).transpose().map_err(|e| e.to_string())?;
    Ok((beside, learner))
}
