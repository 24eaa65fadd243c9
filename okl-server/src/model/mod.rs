//! One model: a thread that learns (writer.rs), and a published copy from which any number of readers predict.

pub mod columns;
pub mod drift;
pub mod events;
pub mod figures;
pub mod folder;
pub mod forms;
pub mod repeats;
pub mod state;
pub mod waiting;
mod writer;

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;

use okl::Learner;
use tokio::sync::{mpsc, oneshot};

use crate::background::{Predictions, yield_to_predictions};
use crate::codec::Key;
use crate::options::Options;
use crate::refusal::{Answered, Refusal};
use crate::rows::{Rows, Targets};
use crate::surface::{Gaps, Surface};
use events::{Events, Reader};
use figures::Figures;
use folder::{Folder, Loaded, Settings};
use forms::Forms;
use state::Answer;

/// Rows to learn.
#[derive(Debug)]
pub struct LearnRequest {
    /// The rows.
    pub rows: Rows,
    /// The stream and the offset of the first row in it.
    pub stream: Option<(String, u64)>,
    /// A key that makes the request safe to repeat.
    pub key: Option<String>,
}

/// Targets that arrive later.
#[derive(Debug)]
pub struct LabelRequest {
    /// The ids of the rows.
    pub ids: Vec<u64>,
    /// Their targets.
    pub targets: Targets,
    /// A key that makes the request safe to repeat.
    pub key: Option<String>,
}

type Reply<T> = oneshot::Sender<Answered<T>>;

/// Work for the thread of a model.
enum Work {
    Learn(LearnRequest, Reply<Answer>),
    Label(LabelRequest, Reply<Answer>),
    /// Rows, and when they expire. The answer is the id of the first one.
    Remember(Rows, u64, Reply<u64>),
    /// Publishes the newest model.
    Fresh(Reply<()>),
    Snapshot(Reply<()>),
    /// Expires rows and writes a snapshot if it is time.
    Tick,
    Stop,
}

/// The published copy of a model.
#[derive(Clone, Default)]
pub struct Published {
    /// The learner; none before its configuration is decided.
    pub learner: Option<Arc<Learner>>,
    /// The names of the columns.
    pub names: Arc<Vec<String>>,
    /// What cells without a value become; none: they are refused.
    pub gaps: Option<Arc<dyn Gaps>>,
    /// The running figures.
    pub figures: Arc<Figures>,
    /// The last entry of the journal that is in this copy.
    pub entry: u64,
    /// Rows that wait for their targets.
    pub waiting: usize,
    /// The bytes of the journal.
    pub journal_bytes: u64,
    /// The forms in which classes are returned.
    pub forms: Arc<Forms>,
    /// Why nothing can be learned at present.
    pub stopped: Option<Arc<str>>,
}

impl Published {
    /// The numbers of a row that the model takes; 0 if this is not known yet.
    pub fn columns(&self) -> usize {
        let features = self.learner.as_ref().map_or(0, |learner| learner.features());
        self.gaps.as_ref().map_or(features, |gaps| gaps.columns())
    }

    /// The rows that `predict` has stored for their targets, also before the first row was learned. Each waits, was labelled or has expired.
    pub fn remembered(&self) -> u64 {
        self.waiting as u64 + self.figures.labelled + self.figures.expired
    }

    /// The names of the features; empty if they have none.
    pub fn feature_names(&self) -> Cow<'_, [String]> {
        match &self.gaps {
            Some(gaps) => Cow::Owned(gaps.feature_names(&self.names)),
            None => Cow::Borrowed(&self.names),
        }
    }
}

/// Counts of a model for `/metrics`.
#[derive(Debug, Default)]
pub struct Counts {
    /// Groups of entries that were synced.
    pub syncs: AtomicU64,
    /// Nanoseconds in syncs.
    pub sync_nanoseconds: AtomicU64,
    /// Commits that failed.
    pub failed_syncs: AtomicU64,
    /// Rows to which `predict` has given scores. Rows that are remembered before anything is learned have none.
    pub predicted: AtomicU64,
    /// Snapshots that were written.
    pub snapshots: AtomicU64,
    /// The entries that were replayed at the start.
    pub replayed: AtomicU64,
    /// Events that a web hook has taken.
    pub hook_delivered: AtomicU64,
    /// Events that a web hook has refused, or not taken after all attempts.
    pub hook_failed: AtomicU64,
    /// Events that were dropped because too many waited for a web hook.
    pub hook_dropped: AtomicU64,
    /// Events that were sent to a web hook again.
    pub hook_retries: AtomicU64,
}

/// A model that runs.
pub struct Model {
    /// Its name.
    pub name: String,
    /// How it was created.
    pub settings: Settings,
    /// The counts of this model.
    pub counts: Arc<Counts>,
    /// What the command line lends.
    pub surface: Arc<dyn Surface>,
    /// Predictions of any model: they share the processors.
    predictions: Arc<Predictions>,
    published: RwLock<Arc<Published>>,
    events: Events,
    work: mpsc::Sender<Work>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Model {
    /// Loads a model from its folder and starts its thread. Returns notes about the recovery, too.
    ///
    /// # Errors
    /// If a file is damaged. The text says what to do.
    pub fn open(
        name: &str,
        folder: Folder,
        surface: Arc<dyn Surface>,
        options: &Options,
        predictions: &Arc<Predictions>,
    ) -> Result<(Arc<Model>, Vec<String>), String> {
        let loaded = folder.load(options.segment_bytes, &*surface)?;
        let mut notes = Vec::new();
        if let Some(cut) = &loaded.cut {
            notes.push(format!(
                "{}: removed {} bytes of an unfinished entry that was never acknowledged",
                cut.segment.display(),
                cut.bytes
            ));
        }
        let (send, receive) = mpsc::channel(options.queue);
        let model = Arc::new(Model {
            name: name.into(),
            settings: loaded.settings.clone(),
            counts: Arc::default(),
            surface: Arc::clone(&surface),
            predictions: Arc::clone(predictions),
            published: RwLock::default(),
            events: Events::default(),
            work: send,
            thread: Mutex::default(),
        });
        model.counts.replayed.store(loaded.replayed, Ordering::Relaxed);
        let thread = Model::start(&model, folder, loaded, surface, options.clone(), receive).map_err(|e| e.to_string())?;
        *model.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok((model, notes))
    }

    fn start(
        model: &Arc<Model>,
        folder: Folder,
        loaded: Loaded,
        surface: Arc<dyn Surface>,
        options: Options,
        receive: mpsc::Receiver<Work>,
    ) -> std::io::Result<JoinHandle<()>> {
        let mut writer = writer::Writer::new(Arc::clone(model), folder, loaded, surface, options);
        writer.publish();
        let model = Arc::clone(model);
        std::thread::Builder::new().name("okl-model".into()).spawn(move || {
            yield_to_predictions();
            // The state of a thread that panicked is dropped with it; the files are whole, and readers have the published copy.
            if catch_unwind(AssertUnwindSafe(|| writer.run(receive))).is_err() {
                let why = "an error of okl has ended the learning of this model; it predicts. Restart the server to load it again from its files";
                model.publish(Published { stopped: Some(why.into()), ..(*model.published()).clone() });
            }
        })
    }

    /// The newest published copy. Never waits for learning.
    pub fn published(&self) -> Arc<Published> {
        Arc::clone(&self.published.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn publish(&self, new: Published) {
        let mut new = Arc::new(new);
        std::mem::swap(&mut *self.published.write().unwrap_or_else(PoisonError::into_inner), &mut new);
        // The old copy is dropped here, when no reader waits for the lock.
    }

    /// The events of this model from now on.
    pub fn events(&self) -> Reader {
        self.events.reader()
    }

    async fn ask<T>(&self, work: impl FnOnce(Reply<T>) -> Work) -> Answered<T> {
        let (reply, answer) = oneshot::channel();
        self.work.send(work(reply)).await.map_err(|_| self.gone())?;
        answer.await.map_err(|_| self.gone())?
    }

    /// Why the thread of the model does not answer.
    fn gone(&self) -> Refusal {
        match &self.published().stopped {
            Some(why) => Refusal::new(500, "model_stopped", &**why),
            None => Refusal::new(503, "stopping", "the model is being stopped; try again"),
        }
    }

    /// Learns rows; returns after they are on disk.
    ///
    /// # Errors
    /// If the rows are refused or cannot be stored. Then nothing has changed.
    pub async fn learn(&self, request: LearnRequest) -> Answered<Answer> {
        self.ask(|reply| Work::Learn(request, reply)).await
    }

    /// Learns waiting rows whose targets have arrived.
    ///
    /// # Errors
    /// As [`Model::learn`].
    pub async fn label(&self, request: LabelRequest) -> Answered<Answer> {
        self.ask(|reply| Work::Label(request, reply)).await
    }

    /// Stores rows that wait for their targets until a time; returns the id of the first one.
    ///
    /// # Errors
    /// As [`Model::learn`].
    pub async fn remember(&self, rows: Rows, until: u64) -> Answered<u64> {
        self.ask(|reply| Work::Remember(rows, until, reply)).await
    }

    /// Waits until everything that was sent before is learned and published.
    ///
    /// # Errors
    /// If the model is being stopped.
    pub async fn fresh(&self) -> Answered<()> {
        self.ask(Work::Fresh).await
    }

    /// Writes a snapshot.
    ///
    /// # Errors
    /// Those of the disk.
    pub async fn snapshot(&self) -> Answered<()> {
        self.ask(Work::Snapshot).await
    }

    /// Lets the model look at the clock.
    pub fn tick(&self) {
        let _ = self.work.try_send(Work::Tick);
    }

    /// Asks the thread to learn what was sent before, write a snapshot and end; waits for it.
    pub async fn stop(&self) {
        let _ = self.work.send(Work::Stop).await;
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }
}

/// A key with the fingerprint of its body.
fn key_of(name: Option<String>, body: impl FnOnce() -> u64) -> Option<Key> {
    name.map(|name| Key { name, body: body() })
}
