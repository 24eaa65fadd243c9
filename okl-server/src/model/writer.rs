//! The thread of a model: checks requests, stores them in the journal, learns them, publishes the result and answers.
//!
//! Requests that arrive while others are stored and learned are taken together (a group): one sync for all of them. A request joins a group only if
//! the result of its check cannot change by what the others learn; otherwise it is a group of its own.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use okl::loss::Reads;
use serde_json::{Map, json};
use tokio::sync::mpsc;

use super::columns;
use super::folder::{Folder, Loaded, Settings};
use super::state::{Answer, Beside, GapsNow, State};
use super::{LabelRequest, LearnRequest, Model, Published, Reply, Work, key_of};
use crate::codec::{Key, Record};
use crate::disk;
use crate::journal::Journal;
use crate::options::Options;
use crate::refusal::{Answered, Refusal};
use crate::rows::{Rows, Target, Targets, shortened};
use crate::surface::{self, Gaps, Surface, Task};

/// A request whose entry is not yet stored.
struct Pending {
    records: Vec<Record>,
    /// The answer to rows that were learned before, which comes before that to the others.
    before: Answer,
    reply: Box<dyn FnOnce(Answered<Answer>) + Send>,
}

/// A request that has been checked.
enum Prepared {
    /// It repeats an earlier one.
    Known(Answer),
    /// It must be stored and learned; `joins`: together with others.
    New { records: Vec<Record>, before: Answer, joins: bool },
}

pub(super) struct Writer {
    model: Arc<Model>,
    folder: Folder,
    settings: Settings,
    surface: Arc<dyn Surface>,
    options: Options,
    state: State,
    journal: Journal,
    group: Vec<Pending>,
    group_rows: usize,
    /// Rows learned and time since the last snapshot.
    since_snapshot: u64,
    last_snapshot: Instant,
    last_publish: Instant,
    last_figures: Instant,
    stopped: Option<Arc<str>>,
}

impl Writer {
    pub fn new(model: Arc<Model>, folder: Folder, loaded: Loaded, surface: Arc<dyn Surface>, options: Options) -> Self {
        let now = Instant::now();
        Writer {
            model,
            folder,
            settings: loaded.settings,
            surface,
            options,
            state: loaded.state,
            journal: loaded.journal,
            group: Vec::new(),
            group_rows: 0,
            since_snapshot: loaded.replayed,
            last_snapshot: now,
            last_publish: now,
            last_figures: now,
            stopped: None,
        }
    }

    /// Serves requests until the model is stopped.
    pub fn run(mut self, mut receive: mpsc::Receiver<Work>) {
        while let Some(work) = receive.blocking_recv() {
            let mut next = Some(work);
            while let Some(work) = next {
                if matches!(work, Work::Stop) {
                    self.flush();
                    self.write_snapshot_if_needed();
                    return;
                }
                self.take(work);
                next = if self.group_rows < self.options.group_rows { receive.try_recv().ok() } else { None };
            }
            self.flush();
            self.snapshot_if_due();
        }
    }

    fn take(&mut self, work: Work) {
        match work {
            Work::Learn(request, reply) => self.take_learn(request, reply),
            Work::Label(request, reply) => self.take_label(request, reply),
            Work::Remember(rows, until, reply) => self.take_remember(rows, until, reply),
            Work::Fresh(reply) => {
                self.flush();
                let _ = reply.send(Ok(()));
            }
            Work::Snapshot(reply) => {
                self.flush();
                let _ = reply.send(self.write_snapshot().map_err(|e| not_stored(&e)));
            }
            Work::Tick => self.expire(),
            Work::Stop => {}
        }
    }

    /// Puts a checked request into the group, or answers it.
    fn join(&mut self, prepared: Answered<Prepared>, rows: usize, reply: impl FnOnce(Answered<Answer>) + Send + 'static) {
        match prepared {
            Err(refusal) => reply(Err(refusal)),
            Ok(Prepared::Known(answer)) => reply(Ok(answer)),
            Ok(Prepared::New { records, before, joins }) => {
                self.group.push(Pending { records, before, reply: Box::new(reply) });
                self.group_rows += rows.max(1);
                if !joins {
                    self.flush();
                }
            }
        }
    }

    fn take_learn(&mut self, request: LearnRequest, reply: Reply<Answer>) {
        let rows = request.rows.count;
        if self.depends_on_group(request.stream.as_ref().map(|(name, _)| name), request.key.as_ref()) {
            self.flush();
        }
        let mut prepared = self.prepare_learn(&request);
        // What was checked against the state before the group must not depend on the group.
        if !self.group.is_empty() && !matches!(&prepared, Ok(Prepared::New { joins: true, .. } | Prepared::Known(_))) {
            self.flush();
            prepared = self.prepare_learn(&request);
        }
        self.join(prepared, rows, move |answer| drop(reply.send(answer)));
    }

    fn take_label(&mut self, request: LabelRequest, reply: Reply<Answer>) {
        self.flush();
        let prepared = self.prepare_label(&request).map(|prepared| match prepared {
            Prepared::New { records, before, .. } => Prepared::New { records, before, joins: false },
            known => known,
        });
        self.join(prepared, request.ids.len(), move |answer| drop(reply.send(answer)));
    }

    fn take_remember(&mut self, rows: Rows, until: u64, reply: Reply<u64>) {
        self.flush();
        let first = self.state.beside.waiting.next;
        let prepared = self.prepare_remember(&rows, first, until);
        self.join(prepared, rows.count, move |answer| drop(reply.send(answer.map(|_| first))));
    }

    /// Whether a request of the group has the same stream or key.
    fn depends_on_group(&self, stream: Option<&String>, key: Option<&String>) -> bool {
        let same = |record: &Record| match record {
            Record::Learn { stream: s, key: k, .. } => {
                (stream.is_some() && s.as_ref().map(|(name, _)| name) == stream)
                    || (key.is_some() && k.as_ref().map(|k| &k.name) == key)
            }
            _ => false,
        };
        self.group.iter().flat_map(|pending| &pending.records).any(same)
    }

    fn prepare_learn(&self, request: &LearnRequest) -> Answered<Prepared> {
        self.check_running()?;
        let key = key_of(request.key.clone(), || request.rows.fingerprint());
        if let Some(answer) = self.known(key.as_ref())? {
            return Ok(Prepared::Known(answer));
        }
        let (mut rows, mut stream, mut before) = (request.rows.clone(), request.stream.clone(), Answer::default());
        if let Some((name, offset)) = &mut stream {
            let known = self.state.beside.streams.get(name);
            if known.is_none() && self.state.beside.streams.len() >= self.options.most_streams {
                let text = format!("there are {} streams already, the most for one model", self.options.most_streams);
                return Err(Refusal::new(429, "too_many_streams", text));
            }
            let stream = known.cloned().unwrap_or_default();
            let repeated = stream.repeated(name, *offset, rows.count)?;
            before = stream.answer(*offset, repeated);
            if repeated == rows.count && repeated > 0 {
                return Ok(Prepared::Known(before));
            }
            rows = rows.after(repeated);
            *offset += repeated as u64;
        }
        if rows.count == 0 {
            return Err(Refusal::body("no rows"));
        }
        rows.forget_targets_of_weight_zero();
        columns::check_size(&rows, &self.state.beside.names, &self.options)?;
        let (mut records, joins) = self.check(&rows)?;
        records.push(Record::Learn { rows, stream, key });
        Ok(Prepared::New { records, before, joins })
    }

    /// Checks rows. If the model has no configuration yet, decides it and returns its record.
    fn check(&self, rows: &Rows) -> Answered<(Vec<Record>, bool)> {
        if self.state.learner.is_some() {
            self.check_fractions(&self.state, &rows.targets)?;
            self.check_classes(&self.state, &rows.targets)?;
            self.check_no_targets(&self.state, &rows.targets)?;
            return Ok((Vec::new(), self.state.check(rows)?));
        }
        // Rows that wait for their targets have decided the columns.
        self.state.place(rows)?;
        let task = self.settings.task();
        let look = surface::look(rows, task, self.settings.sparse);
        // The first target decides the type of the model, a missing one does not.
        let undecided = task.is_none() && rows.targets.all_missing();
        let settings = if undecided { Map::new() } else { self.settings.of_learner() };
        let config = self.surface.choose(&settings, &look).map_err(|text| Refusal::body(look.task.says(&text)))?;
        let begin = Record::Begin(config.to_json());
        let beside = Beside { names: self.state.beside.names.clone(), ..Beside::default() };
        let mut trial = State { sparse: self.state.sparse, gaps: self.state.gaps.clone(), beside, ..State::default() };
        trial.apply(0, &begin, &mut |_, _, _| {})?;
        self.check_fractions(&trial, &rows.targets)?;
        self.check_classes(&trial, &rows.targets)?;
        self.check_no_targets(&trial, &rows.targets)?;
        trial.check(rows)?;
        Ok((if undecided { Vec::new() } else { vec![begin] }, false))
    }

    /// Refuses targets for a detector, which would not learn them.
    fn check_no_targets(&self, state: &State, targets: &Targets) -> Answered<()> {
        let Some(at) = targets.first_known().filter(|_| matches!(state.reads(), Ok(Reads::Nothing))) else { return Ok(()) };
        let Settings { config, task, uploaded, .. } = &self.settings;
        let became = !config.contains_key("loss") && task.is_none() && !uploaded;
        let row = at / targets.width;
        let text = format!(
            "row {row}: target '{}', but this model {} a novelty detector{}, and a detector learns no targets. To learn targets, create \
             another model with \"task\": \"classes\" or \"numbers\", or with a loss, and send all rows to it",
            shortened(&targets.values[at].label().to_string()),
            if became { "has become" } else { "is" },
            if became { ", because its first rows had no target" } else { "" },
        );
        Err(Refusal::body(text).with(json!({ "row": row })))
    }

    /// Refuses targets that would be too many classes.
    fn check_classes(&self, state: &State, targets: &Targets) -> Answered<()> {
        if !matches!(state.reads(), Ok(Reads::Class | Reads::Sign)) {
            return Ok(());
        }
        if let Some((row, value)) = targets.inexact() {
            let text = format!(
                "row {row}: target {value:.0}: a number is exact up to 2^53 only, so different classes could become one. Send classes as text, \
                 \"{value:.0}\""
            );
            return Err(Refusal::body(text).with(json!({ "row": row })));
        }
        let old = state.learner.as_ref().map_or(&[][..], |learner| learner.classes());
        let known = targets.values.iter().filter(|target| **target != Target::Missing);
        let mut new: Vec<okl::Label> =
            known.map(|t| t.label().named_as(old.iter())).filter(|label| !old.contains(label)).collect();
        new.sort();
        new.dedup();
        if old.len() + new.len() > self.options.most_classes {
            let text = format!(
                "{} classes, at most {} are allowed; are the targets numbers?",
                old.len() + new.len(),
                self.options.most_classes
            );
            return Err(Refusal::body(text));
        }
        Ok(())
    }

    /// Refuses a number with a fraction as a new class, in the first body and later ones alike: the targets are often numbers. A task that
    /// was given allows it, and so does a class of this name, learned or listed.
    fn check_fractions(&self, state: &State, targets: &Targets) -> Answered<()> {
        if !matches!(state.reads(), Ok(Reads::Class | Reads::Sign)) || self.settings.task == Some(Task::Classes) {
            return Ok(());
        }
        let old = state.learner.as_ref().map_or(&[][..], |learner| learner.classes());
        let new = |value: f64| !old.contains(&Target::Number(value).label());
        let Some((row, value)) = targets.fractions().find(|(_, value)| new(*value)) else { return Ok(()) };
        if let Some((word_row, word)) =
            targets.first_word().filter(|_| old.is_empty() && !self.settings.config.contains_key("loss"))
        {
            let text = format!(
                "row {word_row}: target '{}', and row {row}: target {value}: text and numbers with fractions in one target column. If the \
                 targets are numbers, leave the rows with text without a target (null); if they are classes, create a model with \
                 \"task\": \"classes\"",
                shortened(&word),
            );
            return Err(Refusal::body(text).with(json!({ "row": word_row })));
        }
        let names: Vec<String> = old.iter().take(10).map(okl::Label::to_string).collect();
        let names = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
        let text = format!(
            "row {row}: target {value}, but this model learns classes{names}. For numbers, create another model with \"task\": \"numbers\" \
             and send all rows to it; for a class with this name, send it as text, \"{value}\""
        );
        Err(Refusal::body(text).with(json!({ "row": row })))
    }

    fn prepare_label(&self, request: &LabelRequest) -> Answered<Prepared> {
        self.check_running()?;
        let key = key_of(request.key.clone(), || {
            Record::Label { ids: request.ids.clone(), targets: request.targets.clone(), key: None }.fingerprint()
        });
        if let Some(answer) = self.known(key.as_ref())? {
            return Ok(Prepared::Known(answer));
        }
        check_targets_given(&request.ids, &request.targets)?;
        columns::check_cells(request.ids.len(), self.state.columns(), &self.options)?;
        let rows = self.state.waiting_rows(&request.ids, &request.targets)?;
        if rows.count == 0 {
            return Err(Refusal::body("no ids"));
        }
        let (mut records, _) = self.check(&rows)?;
        records.push(Record::Label { ids: request.ids.clone(), targets: request.targets.clone(), key });
        Ok(Prepared::New { records, before: Answer::default(), joins: false })
    }

    fn prepare_remember(&self, rows: &Rows, first: u64, until: u64) -> Answered<Prepared> {
        self.check_running()?;
        let waiting = &self.state.beside.waiting;
        if waiting.len() + rows.count > self.options.most_waiting
            || waiting.bytes() + rows.bytes() > self.options.most_waiting_bytes
        {
            let text = format!(
                "{} rows wait for their targets, and with these {} there would be more than {} rows or {} bytes, the most for one model; label some, \
                 or remember fewer rows or for a shorter time",
                waiting.len(),
                rows.count,
                self.options.most_waiting,
                self.options.most_waiting_bytes
            );
            return Err(Refusal::new(429, "too_many_waiting", text));
        }
        columns::check_size(rows, &self.state.beside.names, &self.options)?;
        let rows = self.remembered(rows)?;
        self.check_numbers(&rows)?;
        let records = vec![Record::Remember { first, until, rows }];
        Ok(Prepared::New { records, before: Answer::default(), joins: false })
    }

    /// Rows in the columns of the model. Rows with names (nothing was learned when they came) decide the names of the columns.
    fn remembered(&self, rows: &Rows) -> Answered<Rows> {
        if self.state.learner.as_ref().is_some_and(|learner| learner.features() > 0) && rows.names.is_none() {
            return Ok(rows.clone());
        }
        let placed = self.state.place(rows)?;
        let names = Some(placed.names.to_vec()).filter(|names| !names.is_empty());
        Ok(Rows { count: rows.count, features: placed.features, x: placed.x.into_owned(), names, ..Rows::default() })
    }

    /// Refuses a number that no model takes: its row could never be learned.
    fn check_numbers(&self, rows: &Rows) -> Answered<()> {
        let fills = self.state.gaps.is_some();
        let wrong = |x: &f64| if x.is_nan() { !fills } else { x.abs() > okl::batch::LARGEST };
        let Some(at) = rows.x.iter().position(wrong) else { return Ok(()) };
        let (row, column) = (at / rows.features, (at % rows.features).to_string());
        let error = okl::Error::from(okl::ErrorKind::NotFinite { row, column, found: rows.x[at], hint: "" });
        Err(Refusal::from(error).with_name_of_column(rows.names.as_deref().unwrap_or(&self.state.beside.names)))
    }

    fn known(&self, key: Option<&Key>) -> Answered<Option<Answer>> {
        let Some(key) = key else { return Ok(None) };
        let answer = self.state.beside.keys.find(key)?;
        Ok(answer.map(Answer::as_repeat))
    }

    fn check_running(&self) -> Answered<()> {
        match &self.stopped {
            Some(why) => Err(Refusal::new(503, "model_stopped", &**why)),
            None => Ok(()),
        }
    }

    /// Stores the group, learns it, publishes the result and answers.
    fn flush(&mut self) {
        let group = std::mem::take(&mut self.group);
        self.group_rows = 0;
        if group.is_empty() {
            return;
        }
        let first = self.journal.durable() + 1;
        group.iter().flat_map(|pending| &pending.records).for_each(|record| {
            self.journal.append(&record.to_bytes());
        });
        if let Err(error) = self.commit() {
            group.into_iter().for_each(|pending| (pending.reply)(Err(not_stored(&error))));
            return;
        }
        let mut entry = first;
        let mut answers = Vec::with_capacity(group.len());
        for pending in group {
            let answer = self.learn(&pending.records, &mut entry, pending.before);
            answers.push((pending.reply, answer));
        }
        self.publish();
        answers.into_iter().for_each(|(reply, answer)| reply(answer));
        self.tell_figures();
    }

    fn commit(&mut self) -> io::Result<()> {
        let start = Instant::now();
        let committed = self.journal.commit();
        let counts = &self.model.counts;
        counts.syncs.fetch_add(1, Ordering::Relaxed);
        counts.sync_nanoseconds.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        counts.failed_syncs.fetch_add(u64::from(committed.is_err()), Ordering::Relaxed);
        committed
    }

    /// Applies the stored entries of one request.
    fn learn(&mut self, records: &[Record], entry: &mut u64, before: Answer) -> Answered<Answer> {
        let mut answer = Answer::default();
        for record in records {
            self.check_running()?;
            let (model, every) = (Arc::clone(&self.model), self.options.publish_time);
            let mut last = self.last_publish;
            let journal_bytes = self.journal.bytes();
            model.predictions.give_way();
            let mut between = |learner: &okl::Learner, beside: &Beside, gaps: GapsNow<'_>| {
                model.predictions.give_way();
                if last.elapsed() >= every {
                    model.publish(published(&model.published(), Some(learner), beside, gaps(), journal_bytes));
                    last = Instant::now();
                }
            };
            let applied = self.state.apply(*entry, record, &mut between);
            *entry += 1;
            answer = applied.map_err(|refusal| self.stop(&refusal))?;
            self.since_snapshot += answer.scores.len() as u64;
            self.model.events.tell(std::mem::take(&mut answer.told));
        }
        Ok(answer.after(before))
    }

    /// An entry that was checked and stored was refused: an error of okl. The model learns nothing more.
    fn stop(&mut self, refusal: &Refusal) -> Refusal {
        let why =
            format!("a stored row was refused ({refusal}); this is an error of okl. The model predicts, but does not learn");
        self.stopped = Some(why.as_str().into());
        Refusal::new(500, "model_stopped", why)
    }

    pub fn publish(&mut self) {
        self.last_publish = Instant::now();
        let State { learner, beside, gaps, .. } = &self.state;
        let mut new = published(&self.model.published(), learner.as_ref(), beside, gaps.clone(), self.journal.bytes());
        new.stopped = self.stopped.clone();
        self.model.publish(new);
    }

    fn tell_figures(&mut self) {
        if self.model.events.are_read() && self.last_figures.elapsed().as_millis() >= 250 {
            self.last_figures = Instant::now();
            self.model.events.tell_figures();
        }
    }

    /// Removes the waiting rows whose time is over.
    fn expire(&mut self) {
        self.flush();
        let ids = self.state.beside.waiting.expired((self.options.clock)());
        if !ids.is_empty() && self.stopped.is_none() {
            self.group.push(Pending { records: vec![Record::Expire(ids)], before: Answer::default(), reply: Box::new(drop) });
            self.flush();
        }
    }

    fn snapshot_if_due(&mut self) {
        let time = self.since_snapshot > 0 && self.last_snapshot.elapsed() >= self.options.snapshot_time;
        let rows = self.since_snapshot >= self.options.snapshot_rows;
        if time || rows || self.journal.bytes() >= self.options.snapshot_bytes {
            let _ = self.write_snapshot();
        }
    }

    fn write_snapshot_if_needed(&mut self) {
        if self.journal.bytes() > 0 {
            let _ = self.write_snapshot();
        }
    }

    fn write_snapshot(&mut self) -> io::Result<()> {
        // A failed snapshot is tried again after the same number of rows and time.
        (self.since_snapshot, self.last_snapshot) = (0, Instant::now());
        if self.stopped.is_some() {
            return Ok(());
        }
        self.folder.write_snapshot(&self.state)?;
        self.model.counts.snapshots.fetch_add(1, Ordering::Relaxed);
        let removed = self.journal.remove_through(self.state.beside.entry);
        self.publish();
        removed
    }
}

/// Refuses targets that are missing: a waiting row is labelled once.
fn check_targets_given(ids: &[u64], targets: &Targets) -> Answered<()> {
    match targets.known(ids.len()).iter().position(|known| !known) {
        Some(row) => {
            let id = ids[row];
            let text = format!("row {row}: no target for id {id}: the row still waits; send its target, or let it expire");
            Err(Refusal::body(text).with(json!({ "row": row, "id": id })))
        }
        None => Ok(()),
    }
}

/// The copy for readers. Names are only added, so those of the copy before are shared if there are as many.
fn published(
    before: &Published,
    learner: Option<&okl::Learner>,
    beside: &Beside,
    gaps: Option<Arc<dyn Gaps>>,
    journal_bytes: u64,
) -> Published {
    let same = before.names.len() == beside.names.len();
    let complete = beside.forms.is_complete(&before.forms);
    Published {
        learner: learner.map(okl::Learner::publish),
        names: if same { Arc::clone(&before.names) } else { Arc::new(beside.names.clone()) },
        gaps,
        figures: Arc::new(beside.figures.clone()),
        entry: beside.entry,
        waiting: beside.waiting.len(),
        journal_bytes,
        forms: if complete { Arc::clone(&before.forms) } else { Arc::new(beside.forms.clone()) },
        stopped: None,
    }
}

/// The rows could not be stored. They were not learned.
fn not_stored(error: &io::Error) -> Refusal {
    if disk::is_full(error) {
        return Refusal::new(
            507,
            "disk_full",
            "the disk of the server is full: nothing was learned. Predictions go on. Free some space and send the rows again",
        );
    }
    Refusal::new(503, "not_stored", format!("the rows could not be stored ({error}): nothing was learned. Send them again"))
}
