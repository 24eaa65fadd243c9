//! The calls `learn` and `predict`: arguments are converted to arrays first, then the engine runs without the interpreter's lock.

use std::cell::Cell;
use std::ops::Range;

use numpy::PyReadonlyArrayDyn;
use okl::batch::RowSource;
use okl::engine::Outcome;
use okl::loss::Reads;
use okl::sharded::ShardedLearner;
use okl::{Batch, Checked, Label, Learner, Scores, Targets, Workspace};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays;
use crate::errors::{NEVER_FILLED, Place, UNSET, refused_rows, unset};
use crate::gaps::{self, Gaps};
use crate::rows::{Matrix, Rows};
use crate::scores::Table;
use crate::shared::{Shared, Signals};
use crate::targets::{Found, Named, Reader};

/// Any Python object, or none.
pub type Object<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// The arguments of `learn` other than the rows.
pub struct Given<'a, 'py> {
    pub y: Object<'a, 'py>,
    pub weights: Object<'a, 'py>,
    pub ids: Object<'a, 'py>,
    pub known: Object<'a, 'py>,
    /// The type of the class names so far.
    pub named: &'a Named,
    /// The names of the columns, where they are known.
    pub names: &'a [String],
    /// What NaN becomes.
    pub gaps: &'a Gaps,
}

/// A learner that takes rows: on one machine or sharded.
pub trait Learns: Send + Sync {
    /// What to do about NaN in rows if `missing` is not set.
    const UNSET: &'static str;
    fn outputs(&self) -> usize;
    fn features(&self) -> usize;
    fn widen(&mut self, features: usize) -> okl::Result<()>;
    fn classes(&self) -> &[Label];
    fn check<'a>(&self, batch: &Batch<'a>) -> okl::Result<Checked<'a>>;
    fn learn_next(&mut self, checked: &mut Checked<'_>, each: impl FnMut(usize, &Outcome<'_>) + Send) -> okl::Result<bool>;
    fn predict_with(&self, workspace: &mut Workspace, batch: &Batch<'_>) -> okl::Result<Scores>;
}

macro_rules! learns {
    ($learner:ty, $unset:expr) => {
        impl Learns for $learner {
            const UNSET: &'static str = $unset;
            fn outputs(&self) -> usize {
                self.outputs()
            }
            fn features(&self) -> usize {
                self.features()
            }
            fn widen(&mut self, features: usize) -> okl::Result<()> {
                self.widen(features)
            }
            fn classes(&self) -> &[Label] {
                self.classes()
            }
            fn check<'a>(&self, batch: &Batch<'a>) -> okl::Result<Checked<'a>> {
                self.check(batch)
            }
            fn learn_next(
                &mut self,
                checked: &mut Checked<'_>,
                each: impl FnMut(usize, &Outcome<'_>) + Send,
            ) -> okl::Result<bool> {
                self.learn_next(checked, each)
            }
            fn predict_with(&self, workspace: &mut Workspace, batch: &Batch<'_>) -> okl::Result<Scores> {
                self.predict_with(workspace, batch)
            }
        }
    };
}

learns!(Learner, UNSET);
learns!(ShardedLearner, NEVER_FILLED);

/// What is known of the rows of a call, as arrays.
pub struct Told<'py> {
    pub y: Found<'py>,
    known: Option<Vec<bool>>,
    weights: Option<PyReadonlyArrayDyn<'py, f64>>,
    ids: Option<PyReadonlyArrayDyn<'py, u64>>,
}

impl<'py> Told<'py> {
    /// Reads the arguments of a call with so many rows.
    pub fn read(reader: Reader, given: &Given<'_, 'py>, rows: usize) -> PyResult<Self> {
        let known = given.known.map(arrays::known).transpose()?;
        let known = known.as_ref().map(|k| k.as_slice()).transpose()?;
        let mut y = match given.y {
            Some(y) => reader.read(y, rows, known)?,
            None if reader.reads == Reads::Nothing => Found::nothing(),
            None => return Err(PyValueError::new_err("this loss reads a target: give y, or use predict(X)")),
        };
        let known = both(known, y.present.take());
        let weights = given.weights.map(arrays::weights).transpose()?;
        Ok(Told { y, known, weights, ids: given.ids.map(arrays::ids).transpose()? })
    }

    /// What is known of all rows. The engine checks the lengths.
    pub fn labels(&self) -> PyResult<Labels<'_>> {
        let weights = self.weights.as_ref().map(|weights| weights.as_slice()).transpose()?;
        Ok(Labels { targets: self.y.targets.targets(), known: self.known.as_deref(), weights, ids: self.ids()? })
    }

    /// What is known of some of `count` rows.
    pub fn part(&self, part: &Range<usize>, count: usize) -> PyResult<Labels<'_>> {
        let Labels { targets, known, weights, ids } = self.labels()?;
        let targets = match targets {
            Targets::Numbers(y) => {
                let width = y.len().checked_div(count).unwrap_or(0);
                Targets::Numbers(&y[part.start * width..part.end * width])
            }
            Targets::Labels(labels) => Targets::Labels(&labels[part.clone()]),
            other => other,
        };
        Ok(Labels {
            targets,
            known: known.map(|known| some("known", known, part, count)).transpose()?,
            weights: weights.map(|weights| some("weights", weights, part, count)).transpose()?,
            ids: ids.map(|ids| some("ids", ids, part, count)).transpose()?,
        })
    }

    /// The ids of the rows, if there are any.
    pub fn ids(&self) -> PyResult<Option<&[u64]>> {
        Ok(self.ids.as_ref().map(|ids| ids.as_slice()).transpose()?)
    }

    /// Whether a row is learned, and not only predicted.
    pub fn is_example(&self, row: usize) -> bool {
        let weight = self.weights.as_ref().and_then(|weights| weights.as_slice().ok()?.get(row).copied());
        self.known.as_ref().is_none_or(|known| known.get(row) == Some(&true)) && weight.is_none_or(|weight| weight > 0.0)
    }

    /// Records the type of the names of new classes.
    pub fn note_names(&self, reader: Reader, named: &Named) {
        if self.y.targets.names_classes() && !reader.classes_given {
            named.note(self.y.bools);
        }
    }
}

/// Some entries of an argument with one entry per row.
fn some<'a, T>(name: &str, all: &'a [T], part: &Range<usize>, rows: usize) -> PyResult<&'a [T]> {
    let refuse = || PyValueError::new_err(format!("{name}: expected {rows}, one per row, found {}", all.len()));
    if all.len() == rows { Ok(&all[part.clone()]) } else { Err(refuse()) }
}

/// Learns rows and calls `each` with the result of every row. Returns the scores.
pub fn learn<'py, L: Learns>(
    shared: &Shared<L>,
    reader: Reader,
    x: &Bound<'py, PyAny>,
    given: &Given<'_, 'py>,
    mut each: impl FnMut(&Outcome<'_>) + Send,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, held) = (x.py(), Rows::new(x, given.gaps.rule().is_some())?);
    let _turn = given.gaps.begin(py, shared)?;
    let told = Told::read(reader, given, held.view().rows())?;
    let features = shared.look(py, L::features)?;
    let filling = given.gaps.fill_in_order(&held.view(), features, |row| told.is_example(row))?;
    let x = filling.as_ref().map_or_else(|| held.view(), gaps::view);
    let labels = told.labels()?;
    let (batch, flat, unset) = (labels.of(x.batch()), told.y.flat, unset(given.gaps.rule().is_some(), &x, L::UNSET));

    let mut table = Table::new(batch.rows(), shared.look(py, L::outputs)?)?;
    let mut signals = Signals::new();
    let mut pending = None;
    let learned = shared.write_in_turns(py, |learner| {
        let pending = match &mut pending {
            Some(pending) => pending,
            none => {
                if let Some(rows) = filling.as_ref().and_then(|filling| filling.narrower(learner.features())) {
                    learner.check(&labels.of(Batch::of_f64(&rows, learner.features())))?;
                    learner.widen(x.features())?;
                }
                none.insert(learner.check(&batch)?)
            }
        };
        let more = learner.learn_next(pending, |_, step: &Outcome<'_>| {
            table.push(step.scores);
            each(step);
        })?;
        table.widen(width(learner, reader.reads));
        Ok(more && signals.quiet())
    })?;
    learned.map_err(|e| refused_rows(e, &Place { first: 0, reads: reader.reads, names: given.names, flat, unset }))?;
    told.note_names(reader, given.named);
    let rows = pending.map_or(0, |pending| pending.learned());
    if let Some(filling) = &filling {
        given.gaps.learned(filling, rows);
    }
    match signals.raised {
        None => table.array(py, reader.reads != Reads::Class),
        Some(error) => {
            error.add_note(py, format!("okl: the first {rows} of {} rows have been learned", x.rows()))?;
            error.value(py).setattr("rows_learned", rows)?;
            Err(error)
        }
    }
}

/// What a batch has beside its rows.
pub struct Labels<'a> {
    targets: Targets<'a>,
    known: Option<&'a [bool]>,
    weights: Option<&'a [f64]>,
    ids: Option<&'a [u64]>,
}

impl Labels<'_> {
    pub fn of<'b>(&'b self, rows: Batch<'b>) -> Batch<'b> {
        let batch = rows.targets(self.targets);
        let batch = self.known.map_or(batch, |known| batch.known(known));
        let batch = self.weights.map_or(batch, |weights| batch.weights(weights));
        self.ids.map_or(batch, |ids| batch.ids(ids))
    }
}

/// The number of scores per row. Every known class has a score, even if nothing was learned for it.
pub fn width(learner: &impl Learns, reads: Reads) -> usize {
    if reads == Reads::Class { learner.outputs().max(learner.classes().len()) } else { learner.outputs() }
}

/// A row has a target if `known` is true and the target is not None. The engine refuses a mask of the wrong length.
fn both(known: Option<&[bool]>, present: Option<Vec<bool>>) -> Option<Vec<bool>> {
    match (known, present) {
        (Some(known), Some(present)) if known.len() == present.len() => {
            Some(known.iter().zip(present).map(|(&known, present)| known && present).collect())
        }
        (Some(known), _) => Some(known.to_vec()),
        (None, present) => present,
    }
}

thread_local! {
    /// The workspace for predictions, reused from call to call.
    static WORKSPACE: Cell<Workspace> = Cell::default();
}

/// Calls `work` with the workspace of this thread.
pub fn with_workspace<T>(work: impl FnOnce(&mut Workspace) -> T) -> T {
    let mut workspace = WORKSPACE.take();
    let result = work(&mut workspace);
    WORKSPACE.set(workspace);
    result
}

/// The number of rows between two checks for signals.
const BLOCK: usize = 1024;

/// Scores of rows, without learning.
pub fn predict<'py, L: Learns>(
    shared: &Shared<L>,
    reader: Reader,
    x: &Bound<'py, PyAny>,
    names: &[String],
    gaps: &Gaps,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, held) = (x.py(), Rows::new(x, gaps.rule().is_some())?);
    let filling = gaps.fill(&held.view(), shared.look(py, L::features)?)?;
    let x = filling.as_ref().map_or_else(|| held.view(), gaps::view);
    let unset = unset(gaps.rule().is_some(), &x, L::UNSET);
    let mut table = Table::new(x.rows(), shared.look(py, L::outputs)?)?;
    let mut signals = Signals::new();
    let scored = shared.read(py, |learner| {
        with_workspace(|workspace| score(learner, &x, workspace, &mut table, &mut signals))?;
        table.widen(width(learner, reader.reads));
        Ok(())
    })?;
    scored.map_err(|(first, e)| refused_rows(e, &Place { first, reads: reader.reads, names, flat: true, unset }))?;
    match signals.raised {
        None => table.array(py, reader.reads != Reads::Class),
        Some(error) => Err(error),
    }
}

/// Computes scores block by block. An error is returned with the first row of its block.
fn score(
    learner: &impl Learns,
    x: &Matrix<'_>,
    workspace: &mut Workspace,
    table: &mut Table,
    signals: &mut Signals,
) -> Result<(), (usize, okl::Error)> {
    let (mut first, mut buffer) = (0, Vec::new());
    loop {
        let last = x.rows().min(first + BLOCK);
        let block = learner.predict_with(workspace, &x.block(first..last, &mut buffer)).map_err(|e| (first, e))?;
        (0..last - first).for_each(|i| table.push(block.row(i)));
        if last == x.rows() || !signals.quiet() {
            return Ok(());
        }
        first = last;
    }
}
