//! The state of a model: a function of the entries of its journal alone. Replaying the journal uses the same code as serving.

use std::borrow::Cow;
use std::sync::Arc;

use okl::loss::{Loss, Reads};
use okl::{Batch, Config, Learner, Outcome};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::columns::{self, Absent, Placed};
use super::events::Event;
use super::figures::{self, Alert, Figures, RowOutcome};
use super::forms::Forms;
use super::repeats::{Keys, Streams};
use super::waiting::{Waiting, WaitingRow};
use crate::codec::Record;
use crate::refusal::{Answered, Refusal};
use crate::rows::{Learnable, Rows, Targets};
use crate::surface::{Filling, Gaps};

/// The answer to rows that were learned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The number of the journal entry. Entries are learned in the order of their numbers.
    pub entry: u64,
    /// The scores of each row from before its update; none for a repeated row whose scores are no longer kept.
    pub scores: Vec<Option<Vec<f64>>>,
    /// The rows of this request that were learned by an earlier one.
    pub repeated: usize,
    /// The rows that are alerts, as indices into this request.
    pub alerts: Vec<usize>,
    /// The rows of this request that were only predicted: without a target or with the weight 0.
    #[serde(default)]
    pub not_learned: usize,
    /// Where two classes share one score: the class of positive scores at the last row.
    #[serde(default)]
    pub positive: Option<Value>,
    /// The row from which on another class has the positive scores, and the class before (at row 0: that of earlier answers).
    #[serde(default)]
    pub positive_before: Option<(usize, Value)>,
    /// In a kept answer: the number of its rows, if their scores are no longer kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub forgotten: usize,
    /// The alerts and drifts of this request, in the order of its rows.
    #[serde(skip)]
    pub told: Vec<Event>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Answer {
    /// Gives every row as many scores as the widest has. A class has the score 0 before its first row.
    pub(super) fn widen(&mut self) {
        let width = self.scores.iter().flatten().map(Vec::len).max().unwrap_or(0);
        self.scores.iter_mut().flatten().for_each(|row| row.resize(width, 0.0));
    }

    /// The body of the answer.
    pub fn json(&self) -> Value {
        let rows = self.scores.len();
        let mut told = json!({
            "rows": rows, "learned": rows - self.repeated - self.not_learned, "not_learned": self.not_learned, "repeated": self.repeated,
            "entry": self.entry, "scores": self.scores, "alerts": self.alerts,
        });
        if let Some(positive) = &self.positive {
            told["positive"] = positive.clone();
        }
        if let Some((row, class)) = &self.positive_before {
            told["positive_before"] = json!({ "row": row, "class": class });
        }
        told
    }

    /// A copy to keep.
    fn without_events(&self) -> Answer {
        Answer { told: Vec::new(), ..self.clone() }
    }

    /// The answer to a repeated request: all its rows were learned before.
    pub fn as_repeat(&self) -> Answer {
        let mut answer = self.clone();
        answer.scores.resize(self.scores.len() + self.forgotten, None);
        answer.widen();
        Answer { repeated: answer.scores.len(), not_learned: 0, forgotten: 0, ..answer }
    }

    /// The number of rows and scores that are kept.
    pub fn size(&self) -> usize {
        let width = self.scores.iter().flatten().next_back().map_or(0, Vec::len);
        self.scores.len() * (1 + width)
    }

    /// Keeps the number of rows, without their scores.
    pub fn forget_scores(&mut self) {
        self.forgotten += self.scores.len();
        self.scores = Vec::new();
    }

    /// Puts the answer to rows that were learned before in front.
    pub fn after(mut self, before: Answer) -> Answer {
        let rows = before.scores.len();
        self.repeated = rows;
        self.alerts = before.alerts.into_iter().chain(self.alerts.iter().map(|row| row + rows)).collect();
        self.positive_before = self.positive_before.map(|(row, class)| (row + rows, class)).or(before.positive_before);
        self.scores.splice(0..0, before.scores);
        self.widen();
        self
    }
}

/// Everything but the learner; a snapshot has it as JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// The number of the last entry.
    pub entry: u64,
    /// The names of the columns; empty if they have none.
    pub names: Vec<String>,
    /// The streams.
    pub streams: Streams,
    /// The answers to requests with keys.
    pub keys: Keys,
    /// Rows that wait for their targets.
    pub waiting: Waiting,
    /// The running figures.
    pub figures: Figures,
    /// The forms in which classes are returned.
    #[serde(flatten)]
    pub forms: Forms,
    /// In a snapshot: [`State::gaps`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gaps: Option<Value>,
}

/// The state of a model.
#[derive(Debug, Default)]
pub struct State {
    /// The learner; none before its configuration is decided.
    pub learner: Option<Learner>,
    /// Everything else.
    pub beside: Beside,
    /// Whether an absent number is 0 and a new name a new column.
    pub sparse: bool,
    /// What cells without a value become; none: they are refused.
    pub gaps: Option<Arc<dyn Gaps>>,
}

/// What cells without a value become after the rows so far.
pub type GapsNow<'a> = &'a dyn Fn() -> Option<Arc<dyn Gaps>>;

/// Called between blocks of rows, to publish the model while a long body is learned.
pub type Between<'a> = &'a mut dyn FnMut(&Learner, &Beside, GapsNow<'_>);

/// Rows that are ready to be learned.
struct Ready<'a> {
    placed: Placed<'a>,
    /// The rows in the features of the model, if it fills cells.
    filling: Option<Box<dyn Filling>>,
    targets: Learnable,
    known: Vec<bool>,
    weights: Option<&'a [f64]>,
    ids: Option<&'a [u64]>,
}

impl Ready<'_> {
    fn x(&self) -> &[f64] {
        self.filling.as_ref().map_or(&self.placed.x, |filling| filling.x())
    }

    fn features(&self) -> usize {
        self.filling.as_ref().map_or(self.placed.features, |filling| filling.features())
    }

    fn batch(&self) -> Batch<'_> {
        let mut batch = Batch::of_f64(self.x(), self.features()).targets(self.targets.targets()).known(&self.known);
        if let Some(weights) = self.weights {
            batch = batch.weights(weights);
        }
        match self.ids {
            Some(ids) => batch.ids(ids),
            None => batch,
        }
    }
}

fn nothing_learned() -> Refusal {
    Refusal::new(409, "no_configuration", "the model has no configuration yet: it is decided by the first rows that are learned")
}

impl State {
    fn learner(&self) -> Answered<&Learner> {
        self.learner.as_ref().ok_or_else(nothing_learned)
    }

    /// What the loss reads.
    pub fn reads(&self) -> Answered<Reads> {
        Ok(self.learner()?.config().loss.reads())
    }

    /// The numbers of a row; 0 if this is not known yet.
    pub fn columns(&self) -> usize {
        let features = || self.learner.as_ref().map_or(0, Learner::features);
        match self.gaps.as_ref().map_or_else(features, |gaps| gaps.columns()) {
            // Before anything is learned, rows that wait for their targets decide.
            0 => self.beside.waiting.width(),
            columns => columns,
        }
    }

    /// The rows in the columns of the model.
    ///
    /// # Errors
    /// If the columns do not fit.
    pub fn place<'a>(&'a self, rows: &'a Rows) -> Answered<Placed<'a>> {
        columns::place(rows, &self.beside.names, self.columns(), Absent::of(self.gaps.is_some(), self.sparse))
    }

    fn ready<'a>(&'a self, rows: &'a Rows) -> Answered<Ready<'a>> {
        let reads = self.reads()?;
        let targets = rows.targets.learnable(reads, self.learner()?.classes())?;
        let known = if reads == Reads::Nothing { vec![true; rows.count] } else { rows.targets.known(rows.count) };
        let placed = self.place(rows)?;
        let weighs =
            |row: usize| rows.weights.as_ref().is_none_or(|weights| weights.get(row).is_some_and(|weight| *weight > 0.0));
        let learned: Vec<bool> = known.iter().enumerate().map(|(row, known)| *known && weighs(row)).collect();
        let filling = self.gaps.as_ref().map(|gaps| gaps.fill_in_order(&placed.x, placed.features, &learned));
        Ok(Ready { placed, filling, targets, known, weights: rows.weights.as_deref(), ids: rows.ids.as_deref() })
    }

    /// Checks rows completely. Returns whether the result of the check cannot change by rows that other requests learn before: then the
    /// rows can be stored together with those of other requests.
    ///
    /// # Errors
    /// If the rows cannot be learned; the row is named.
    pub fn check(&self, rows: &Rows) -> Answered<bool> {
        let (learner, ready) = (self.learner()?, self.ready(rows)?);
        let grows = self.gaps.is_some() || (self.sparse && rows.names.is_some());
        let wider = learner.features() > 0 && ready.features() > learner.features() && grows;
        let widened = wider.then(|| widened(learner, ready.features())).transpose()?;
        let checked = widened.as_ref().unwrap_or(learner).check(&ready.batch());
        checked.map_err(|error| Refusal::from(error).with_name_of_column(&ready.placed.names))?;
        let classes_known = match &ready.targets {
            Learnable::Labels(labels) => labels.iter().all(|label| learner.classes().contains(label)),
            _ => true,
        };
        Ok(!wider && learner.examples() > 0 && !learner.warming_up() && classes_known)
    }

    /// Applies an entry of the journal. The rows of an entry have been checked before it was written.
    ///
    /// # Errors
    /// If the entry does not fit the state, which can happen only if the journal belongs to another state.
    pub fn apply(&mut self, entry: u64, record: &Record, between: Between<'_>) -> Answered<Answer> {
        let answer = match record {
            Record::Begin(config) => self.begin(config).map(|()| Answer::default()),
            Record::Learn { rows, stream, key } => {
                let answer = Answer { entry, ..self.learn(rows, between)? };
                if let Some((name, offset)) = stream {
                    self.beside.streams.entry(name.clone()).or_default().advance(*offset, &answer);
                }
                if let Some(key) = key {
                    self.beside.keys.keep(key.clone(), answer.without_events());
                }
                Ok(answer)
            }
            Record::Remember { first, until, rows } => {
                if let Some(names) = &rows.names {
                    self.beside.names.clone_from(names);
                }
                for (id, x) in (*first..).zip(rows.x.chunks_exact(rows.features.max(1))) {
                    self.beside.waiting.add(id, WaitingRow { x: x.to_vec(), until: *until });
                }
                Ok(Answer::default())
            }
            Record::Label { ids, targets, key } => {
                let rows = self.waiting_rows(ids, targets)?;
                let answer = Answer { entry, ..self.learn(&rows, between)? };
                ids.iter().for_each(|id| drop(self.beside.waiting.remove(*id)));
                self.beside.figures.labelled += ids.len() as u64;
                if let Some(key) = key {
                    self.beside.keys.keep(key.clone(), answer.without_events());
                }
                Ok(answer)
            }
            Record::Expire(ids) => {
                let gone = ids.iter().filter(|id| self.beside.waiting.remove(**id).is_some()).count();
                self.beside.figures.expired += gone as u64;
                Ok(Answer::default())
            }
        }?;
        self.beside.entry = entry;
        Ok(answer)
    }

    /// Rows without a known target that come before the first target: the model has no configuration yet, so they have no scores.
    /// They name the columns, and leave no other trace.
    fn count_undecided(&mut self, rows: &Rows) -> Answered<Answer> {
        if let Some(gaps) = &self.gaps {
            let placed = self.place(rows)?;
            let gaps = gaps.fill_in_order(&placed.x, placed.features, &[]).after(rows.count);
            (self.beside.names, self.gaps) = (placed.names.into_owned(), Some(gaps));
        }
        self.beside.figures.rows += rows.count as u64;
        Ok(Answer { scores: vec![None; rows.count], not_learned: rows.count, ..Answer::default() })
    }

    fn begin(&mut self, config: &str) -> Answered<()> {
        self.learner = Some(Learner::new(Config::from_json(config)?)?);
        Ok(())
    }

    /// Waiting rows with their targets, as rows to learn.
    ///
    /// # Errors
    /// If an id is not waiting.
    pub fn waiting_rows(&self, ids: &[u64], targets: &Targets) -> Answered<Rows> {
        let features = self.columns();
        let mut x = Vec::with_capacity(ids.len() * features);
        for (i, id) in ids.iter().enumerate() {
            let unknown = || {
                let text = format!("id {id} is not waiting: it is unknown, was labelled before, or has expired");
                Refusal::new(404, "not_waiting", text).with(json!({ "id": id }))
            };
            if ids[..i].contains(id) {
                return Err(Refusal::body(format!("id {id} comes twice")));
            }
            x.extend_from_slice(&self.beside.waiting.get(*id).ok_or_else(unknown)?.x);
            x.resize((i + 1) * features, 0.0);
        }
        Ok(Rows { count: ids.len(), features, x, targets: targets.clone(), ..Rows::default() })
    }

    fn learn(&mut self, rows: &Rows, between: Between<'_>) -> Answered<Answer> {
        if self.learner.is_none() && rows.targets.all_missing() {
            return self.count_undecided(rows);
        }
        let ready = self.ready(rows)?;
        let names = ready.placed.names.clone().into_owned();
        let Ready { placed, filling, targets, known, .. } = ready;
        // Detached from `self`, which changes below.
        let placed = Placed { x: Cow::Owned(placed.x.into_owned()), features: placed.features, names: Cow::Owned(names) };
        let ready = Ready { placed, filling, targets, known, weights: rows.weights.as_deref(), ids: rows.ids.as_deref() };
        let State { learner, beside, gaps, .. } = self;
        let learner = learner.as_mut().ok_or_else(nothing_learned)?;
        let grows = gaps.is_some() || rows.names.is_some();
        if learner.features() > 0 && ready.features() > learner.features() && grows {
            learner.widen(ready.features())?;
        }
        let batch = ready.batch();
        let mut checked = learner.check(&batch)?;
        beside.names = ready.placed.names.to_vec();
        if let Learnable::Labels(labels) = &ready.targets {
            // A list says which classes there are, and not how they are sent.
            let listed = learner.config().classes.is_some();
            beside.forms.note(&rows.targets.values, labels, |class| listed || !learner.classes().contains(class));
        }
        let positive = positive_class(learner, learner.positive(), &beside.forms);
        let mut answer = Answer { scores: Vec::with_capacity(rows.count), positive, ..Answer::default() };
        let (mut outcomes, mut classes) = (Vec::new(), learner.classes().len());
        loop {
            let more = learner.learn_next(&mut checked, |_, outcome| outcomes.push(row_outcome(outcome)))?;
            for outcome in outcomes.drain(..) {
                count_row(learner, beside, &ready, outcome, &mut classes, &mut answer);
            }
            let now = || ready.filling.as_ref().map(|filling| filling.after(answer.scores.len()));
            if !more {
                *gaps = now();
                answer.widen();
                return Ok(answer);
            }
            between(learner, beside, &now);
        }
    }
}

/// A copy of the learner with more features, to check rows against.
fn widened(learner: &Learner, features: usize) -> Answered<Learner> {
    let mut copy = (*learner.publish()).clone();
    copy.widen(features)?;
    Ok(copy)
}

fn row_outcome(outcome: &Outcome<'_>) -> RowOutcome {
    RowOutcome {
        scores: outcome.scores.to_vec(),
        loss: outcome.loss,
        outside: outcome.outside,
        threshold: outcome.threshold,
        positive: outcome.positive,
    }
}

/// Adds a learned row to the answer and the figures. `classes`: the number of classes before the row.
fn count_row(
    learner: &Learner,
    beside: &mut Beside,
    ready: &Ready<'_>,
    outcome: RowOutcome,
    classes: &mut usize,
    answer: &mut Answer,
) {
    let row = answer.scores.len();
    let weight = ready.weights.map_or(1.0, |weights| weights[row]);
    let measured = ready.known[row] && weight > 0.0;
    let error = measured.then(|| figures::error_of(learner, *classes, &outcome, &ready.targets, row)).flatten();
    if measured {
        if let Some(targets) = figures::numbers_of(&ready.targets, &outcome, row) {
            beside.figures.add_targets(&outcome.scores, targets, weight);
        }
        *classes = figures::known_after(learner, *classes, &ready.targets, row);
    }
    let drift = beside.figures.add(&outcome, error, weight);
    answer.not_learned += usize::from(outcome.loss.is_none());
    note_positive(learner, &beside.forms, &outcome, answer);
    if outcome.outside == Some(true) && learner.config().loss.reads() == Reads::Nothing {
        let features = ready.features();
        let x = &ready.x()[row * features..(row + 1) * features];
        let score = outcome.scores.first().copied().unwrap_or(0.0);
        let columns = unusual(learner, x, &beside.names, ready.filling.as_deref());
        let alert = Alert { row: beside.figures.rows - 1, score, threshold: outcome.threshold, columns };
        answer.told.push(Event::Alert(alert.clone()));
        beside.figures.alert(alert);
        answer.alerts.push(row);
    }
    answer.told.extend(drift.map(Event::Drift));
    answer.scores.push(Some(outcome.scores));
}

/// The class of positive scores, for a loss of two classes.
fn positive_class(learner: &Learner, class: Option<usize>, forms: &Forms) -> Option<Value> {
    let signs = learner.config().loss.reads() == Reads::Sign;
    class.filter(|_| signs).and_then(|class| learner.classes().get(class)).map(|class| forms.json(class))
}

/// Notes the class of positive scores of a loss of two classes, and where it changes within the answer.
fn note_positive(learner: &Learner, forms: &Forms, outcome: &RowOutcome, answer: &mut Answer) {
    let Some(class) = positive_class(learner, outcome.positive, forms) else { return };
    if let Some(before) = answer.positive.take().filter(|before| *before != class) {
        answer.positive_before = Some((answer.scores.len(), before));
    }
    answer.positive = Some(class);
}

/// The three columns of a row with the largest values in the learner's frame.
fn unusual(learner: &Learner, x: &[f64], names: &[String], filling: Option<&dyn Filling>) -> Vec<(String, f64)> {
    let filled = filling.map(|filling| filling.after(0).feature_names(names));
    let names = filled.as_deref().unwrap_or(names);
    let away = |(i, v): (usize, &f64)| {
        let distance = learner.unlimited(i, *v);
        (names.get(i).cloned().unwrap_or_else(|| i.to_string()), distance)
    };
    let mut columns: Vec<(String, f64)> = x.iter().enumerate().map(away).collect();
    columns.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    columns.truncate(3);
    columns
}
