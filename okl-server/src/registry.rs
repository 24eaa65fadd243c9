//! All models of a server: one folder, with one folder per model inside. One server per folder.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use okl::loss::Loss;
use okl::{Config, Learner};
use serde_json::{Value, json};

use crate::background::Predictions;
use crate::disk::{Disk, RealDisk};
use crate::hooks::Hooks;
use crate::model::Model;
use crate::model::figures::Figures;
use crate::model::folder::{Folder, Settings, refuse_precomputed};
use crate::model::state::State;
use crate::options::Options;
use crate::refusal::{Answered, Refusal};
use crate::surface::{Gaps, Surface, Task};

/// A model, or the reason why it does not run.
#[derive(Clone)]
pub enum Slot {
    /// It runs.
    Running(Arc<Model>),
    /// Its files are damaged; the text says what to do.
    Stopped(Arc<str>),
}

/// The learner of a model that does not begin empty.
pub struct Given {
    /// The learner.
    pub learner: Learner,
    /// What cells without a value become; none: they are refused.
    pub gaps: Option<Arc<dyn Gaps>>,
    /// If it was a member of a bank of this server: the examples that the bank had learned.
    pub frozen: Option<u64>,
}

/// All models of a server.
pub struct Registry {
    folder: PathBuf,
    disk: Arc<dyn Disk>,
    /// Parts of the command line.
    pub surface: Arc<dyn Surface>,
    /// Limits and times.
    pub options: Options,
    /// The web hooks of the models.
    pub hooks: Hooks,
    /// Predictions, to which learning gives way.
    pub predictions: Arc<Predictions>,
    slots: RwLock<BTreeMap<String, Slot>>,
    /// Held while a model is created or deleted.
    changing: tokio::sync::Mutex<()>,
    /// Held as long as the server runs.
    _lock: File,
}

/// Checks the name of a model: 1 to 64 letters, digits, `-`, `_` and `.`, of which the first is a letter or digit.
///
/// # Errors
/// If it is another name.
pub fn check_name(name: &str) -> Answered<()> {
    let inside = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    let good = (1..=64).contains(&name.len()) && name.bytes().all(inside) && name.as_bytes()[0].is_ascii_alphanumeric();
    let text = "the name of a model has 1 to 64 letters, digits, '-', '_' and '.', and begins with a letter or digit";
    if good { Ok(()) } else { Err(Refusal::new(400, "bad_name", text)) }
}

/// Takes the lock of a folder.
fn lock(folder: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(folder.join(".lock"))?;
    let taken = |_| io::Error::new(io::ErrorKind::WouldBlock, "another server uses this folder");
    file.try_lock().map_err(taken)?;
    Ok(file)
}

impl Registry {
    /// Opens all models of a folder, which is created if needed. Returns notes about their recovery, too.
    ///
    /// # Errors
    /// If the folder cannot be used, or another server uses it.
    pub fn open(folder: &Path, surface: Arc<dyn Surface>, options: Options) -> io::Result<(Registry, Vec<String>)> {
        Registry::on(Arc::new(RealDisk), folder, surface, options)
    }

    /// As [`Registry::open`], with the files of the models on another disk.
    ///
    /// # Errors
    /// As [`Registry::open`].
    pub fn on(
        disk: Arc<dyn Disk>,
        folder: &Path,
        surface: Arc<dyn Surface>,
        options: Options,
    ) -> io::Result<(Registry, Vec<String>)> {
        RealDisk.make_folder(folder)?;
        let registry = Registry {
            folder: folder.into(),
            disk,
            surface,
            options,
            hooks: Hooks::default(),
            predictions: Arc::default(),
            slots: RwLock::default(),
            changing: tokio::sync::Mutex::default(),
            _lock: lock(folder)?,
        };
        let mut notes = Vec::new();
        for name in RealDisk.names(folder)? {
            let path = folder.join(&name);
            if name.starts_with(".deleted-") {
                let _ = std::fs::remove_dir_all(&path);
            }
            if check_name(&name).is_ok() && path.join("model.json").is_file() {
                notes.extend(registry.start(&name));
            }
        }
        Ok((registry, notes))
    }

    /// The folder of a model.
    pub fn folder_of(&self, name: &str) -> Folder {
        Folder { disk: Arc::clone(&self.disk), path: self.folder.join(name) }
    }

    fn put(&self, name: &str, slot: Slot) {
        self.slots.write().unwrap_or_else(PoisonError::into_inner).insert(name.into(), slot);
    }

    /// Starts a model from its folder. A damaged one is stopped, the others run.
    fn start(&self, name: &str) -> Vec<String> {
        match Model::open(name, self.folder_of(name), Arc::clone(&self.surface), &self.options, &self.predictions) {
            Ok((model, notes)) => {
                self.put(name, Slot::Running(model));
                notes
            }
            Err(why) => {
                self.put(name, Slot::Stopped(why.as_str().into()));
                vec![format!("model {name} is stopped: {why}")]
            }
        }
    }

    /// The names of all models, with the models.
    pub fn all(&self) -> Vec<(String, Slot)> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        slots.iter().map(|(name, slot)| (name.clone(), slot.clone())).collect()
    }

    /// A model that runs.
    ///
    /// # Errors
    /// If there is none with this name, or it is stopped.
    pub fn model(&self, name: &str) -> Answered<Arc<Model>> {
        check_name(name)?;
        match self.slots.read().unwrap_or_else(PoisonError::into_inner).get(name) {
            Some(Slot::Running(model)) => Ok(Arc::clone(model)),
            Some(Slot::Stopped(why)) => Err(Refusal::new(503, "model_stopped", &**why)),
            None => Err(Refusal::new(404, "no_such_model", format!("there is no model '{name}'"))),
        }
    }

    /// Creates a model, perhaps from a learner. Returns false if it exists already with the same settings.
    ///
    /// # Errors
    /// If the settings are wrong, or a model with this name and other settings exists.
    pub async fn create(self: &Arc<Self>, name: &str, settings: Settings, given: Option<Given>) -> Answered<bool> {
        check_name(name)?;
        let _changing = self.changing.lock().await;
        match self.model(name) {
            Ok(model) if !settings.uploaded && model.settings == settings => return Ok(false),
            Err(Refusal { status: 404, .. }) => {}
            _ => {
                let text = format!("model '{name}' exists; delete it first, or take another name");
                return Err(Refusal::new(409, "model_exists", text));
            }
        }
        let mut state = State { sparse: settings.sparse, ..State::default() };
        match given {
            Some(Given { learner, gaps, frozen }) => {
                refuse_precomputed(learner.config())?;
                state.beside.names = gaps.as_ref().map_or_else(|| self.surface.names(&learner), |gaps| gaps.column_names());
                state.beside.figures = Figures { frozen, ..Figures::after(learner.examples()) };
                (state.learner, state.gaps) = (Some(learner), gaps);
            }
            None => {
                state.gaps = settings.gaps(&*self.surface)?;
                state.learner = configured(&settings, &*self.surface).map_err(with_missing)?;
            }
        }
        // After the settings were checked: wrong ones are wrong when there is a place for the model, too.
        if self.all().len() >= self.options.most_models {
            return Err(Refusal::new(
                429,
                "too_many_models",
                format!("there are {} models already, the most for this server", self.options.most_models),
            ));
        }
        let (registry, name) = (Arc::clone(self), name.to_owned());
        let made = tokio::task::spawn_blocking(move || {
            registry.folder_of(&name).create(&settings, &state)?;
            registry.start(&name);
            io::Result::Ok(())
        });
        match made.await {
            Ok(Ok(())) => Ok(true),
            Ok(Err(e)) if crate::disk::is_full(&e) => {
                Err(Refusal::new(507, "disk_full", "the disk of the server is full: the model was not created"))
            }
            Ok(Err(e)) => Err(Refusal::new(503, "not_stored", format!("the model could not be stored: {e}"))),
            Err(e) => Err(Refusal::new(500, "internal", e.to_string())),
        }
    }

    /// Stops and deletes a model.
    ///
    /// # Errors
    /// If there is none with this name, or its files cannot be removed.
    pub async fn delete(&self, name: &str) -> Answered<()> {
        check_name(name)?;
        let _changing = self.changing.lock().await;
        let slot = self.slots.write().unwrap_or_else(PoisonError::into_inner).remove(name);
        match slot {
            None => return Err(Refusal::new(404, "no_such_model", format!("there is no model '{name}'"))),
            Some(Slot::Running(model)) => {
                self.hooks.stop(name);
                model.stop().await;
            }
            Some(Slot::Stopped(_)) => {}
        }
        // Renamed first: a folder that is half removed is not a model.
        let (from, to) = (self.folder.join(name), self.folder.join(format!(".deleted-{name}")));
        let removed = std::fs::rename(&from, &to).and_then(|()| std::fs::remove_dir_all(&to));
        removed.map_err(|e| Refusal::new(500, "internal", format!("the files could not be removed: {e}")))
    }

    /// Starts the web hooks of all models.
    pub fn start_hooks(&self) {
        for model in self.running() {
            if let Ok(hook) = self.hooks.get(&self.folder_of(&model.name)) {
                self.hooks.start(&model, hook, &self.options.hooks);
            }
        }
    }

    /// Lets every model look at the clock.
    pub fn tick(&self) {
        self.running().iter().for_each(|model| model.tick());
    }

    fn running(&self) -> Vec<Arc<Model>> {
        let running = |(_, slot)| match slot {
            Slot::Running(model) => Some(model),
            Slot::Stopped(_) => None,
        };
        self.all().into_iter().filter_map(running).collect()
    }

    /// Lets every model learn what it has received, write a snapshot and stop.
    pub async fn stop(&self) {
        for model in self.running() {
            model.stop().await;
        }
    }
}

/// Adds `missing` to the list of settings in a message: it belongs to the rows, so the learner does not know it.
fn with_missing(refusal: Refusal) -> Refusal {
    Refusal { text: refusal.text.replace(" and the parameters of these", ", missing and the parameters of these"), ..refusal }
}

/// The learner of a configuration with a loss; none if the first rows decide. A threshold that is not given is chosen as by `okl learn`.
fn configured(settings: &Settings, surface: &dyn Surface) -> Answered<Option<Learner>> {
    settings.check_classes()?;
    if !settings.config.contains_key("loss") {
        return settings.check_without_loss(surface).map(|()| None);
    }
    let mut table = settings.of_learner();
    if Config::from_value(Value::Object(table.clone()))?.follows_a_rate() {
        table.entry("threshold").or_insert_with(|| json!("tracker"));
    }
    let config = Config::from_value(Value::Object(table))?;
    config.check()?;
    refuse_precomputed(&config)?;
    let learns = Task::of(config.loss.reads());
    if let Some(task) = settings.task.filter(|task| *task != learns) {
        let text =
            format!("task: \"{}\", but the loss in \"config\" is for \"{}\"; leave one of them out", task.word(), learns.word());
        return Err(Refusal::body(text));
    }
    Ok(Some(Learner::new(config)?))
}
