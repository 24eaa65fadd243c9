//! The learner that a configuration describes: dense rows in, scores out.
//!
//! It owns no algorithm. It checks what comes in, names classes, puts features into their frame, warms up, and hands
//! blocks to the one loop in [`crate::engine`].

pub mod batch;
mod build;
mod check;
mod classes;
mod decide;
mod figures;
pub mod file;
pub mod health;
mod members;
mod predict;
pub(crate) mod scalars;
pub(crate) mod scaling;
pub mod snapshot;
mod warmup;

use std::ops::Range;

use crate::basis::{Points, Space};
use crate::config::{Anchor, Config, Label, Scale};
use crate::engine::head::Head;
use crate::engine::{Labels, Step};
use crate::error::{Error, Result};
use crate::gram::pool::Pool;
use crate::gram::{Backend, Rows};
use crate::learner::batch::{BLOCK, Batch, Features};
use crate::learner::build::DenseEngine;
use crate::learner::check::{Checked, Known};
use crate::learner::classes::Classes;
use crate::learner::health::Clipped;
pub use crate::learner::predict::Scores;
use crate::learner::scaling::Frame;
use crate::learner::warmup::WarmUp;
use crate::parts::kernel::{AnyKernel, DotKernel};
use crate::parts::loss::{Loss, Reads};

/// An online kernel learner.
///
/// ```
/// use okl::{Batch, Config, Learner};
/// let config = Config::from_toml("loss = 'hinge'\nkernel = 'gaussian:0.5'\nstep = 'constant:0.5'\nbudget = 'window:100'")?;
/// let mut learner = Learner::new(config)?;
/// let x = [0.0f32, 0.0, 1.0, 1.0, 0.1, 0.0, 0.9, 1.0];
/// let scores = learner.learn(&Batch::new(&x, 2).numbers(&[1.0, -1.0, 1.0, -1.0]))?;
/// assert_eq!(scores.values[0], 0.0);       // f_1 = 0: every score is known before its target is used
/// assert!(scores.values[2] > 0.0 && scores.values[3] < 0.0);
/// # Ok::<(), okl::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Learner {
    pub(crate) config: Config,
    pub(crate) engine: DenseEngine,
    pub(crate) frame: Frame,
    pub(crate) warm: Option<WarmUp>,
    pub(crate) classes: Classes,
    pub(crate) features: usize,
    /// Is the number of outputs settled (by an operator, by a scale of the targets, or by the first targets)?
    pub(crate) outputs_known: bool,
    pub(crate) position: Vec<u8>,
    pub(crate) clipped: Clipped,
    threads: usize,
    pool: Option<Pool>,
    checked: Checked,
    rows: FramedRows,
    /// The scores of a row in the unit of the targets.
    scores: Vec<f64>,
}

/// A batch that a learner has checked, and how much of it has been learned: see [`Learner::begin`].
#[derive(Debug)]
pub struct Pending {
    checked: Checked,
    /// Features of a block, where these are not read in place.
    buffer: Vec<f64>,
    learned: usize,
    of: usize,
    /// Of the learner, after what it has learned.
    state: (u64, usize, usize),
}

impl Pending {
    /// Rows learned so far.
    pub fn learned(&self) -> usize {
        self.learned
    }
}

/// Consecutive rows of a checked batch.
struct Part<'a> {
    batch: &'a Batch<'a>,
    checked: &'a Checked,
    rows: Range<usize>,
    /// Their features, one row after the other.
    x: Features<'a>,
}

impl<'a> Part<'a> {
    fn known(&self) -> &'a [bool] {
        &self.checked.known[self.rows.clone()]
    }

    /// The targets, `width` numbers each.
    fn y(&self) -> &'a [f64] {
        let width = self.checked.width;
        if width > 0 { &self.checked.y[self.rows.start * width..self.rows.end * width] } else { &[] }
    }

    fn weights(&self) -> Option<&'a [f64]> {
        self.batch.weights.map(|w| &w[self.rows.clone()])
    }

    fn ids(&self) -> Option<&'a [u64]> {
        self.batch.ids.map(|ids| &ids[self.rows.clone()])
    }
}

/// Rows in their frame, with squared norms.
#[derive(Clone, Debug, Default)]
struct FramedRows {
    x: Vec<f32>,
    squares: Vec<f32>,
}

impl FramedRows {
    fn fill(&mut self, frame: &Frame, rows: Features<'_>, features: usize, backend: Backend) -> Points<'_> {
        frame.apply(rows, &mut self.x);
        self.squares.resize(rows.len() / features, 0.0);
        let rows = Rows::new(features, &self.x);
        backend.squares(rows, &mut self.squares);
        Points { rows, squares: &self.squares }
    }
}

impl Learner {
    /// Learns the rows in order and returns every row's scores from before its update.
    ///
    /// Learning a block is learning its rows one by one, to the last bit.
    ///
    /// # Errors
    /// If anything in the batch is wrong; then nothing has changed.
    pub fn learn(&mut self, batch: &Batch<'_>) -> Result<Scores> {
        let mut pending = self.begin(batch)?;
        let outputs = self.outputs_after(&pending.checked);
        let mut scores = Scores { outputs, values: vec![0.0; batch.rows() * outputs] };
        let mut each = |i: usize, step: &Step<'_>| {
            scores.values[i * outputs..i * outputs + step.scores.len()].copy_from_slice(step.scores);
        };
        while self.learn_next(batch, &mut pending, &mut each)? {}
        self.checked = pending.checked;
        Ok(scores)
    }

    /// Learns the rows in order; `each` sees what every row left behind.
    ///
    /// # Errors
    /// As [`Learner::learn`].
    pub fn learn_with(&mut self, batch: &Batch<'_>, each: impl FnMut(usize, &Step<'_>) + Send) -> Result<()> {
        self.learn_while(batch, each, || true).map(|_| ())
    }

    /// Learns the rows in order as long as `go_on`, which is asked between blocks of 256 rows, says so.
    ///
    /// Returns how many rows were learned: the learner is what these rows alone would have made of it.
    ///
    /// # Errors
    /// As [`Learner::learn`]: the whole batch is checked first.
    pub fn learn_while(
        &mut self,
        batch: &Batch<'_>,
        mut each: impl FnMut(usize, &Step<'_>) + Send,
        mut go_on: impl FnMut() -> bool,
    ) -> Result<usize> {
        let mut pending = self.begin(batch)?;
        while self.learn_next(batch, &mut pending, &mut each)? && go_on() {}
        self.checked = pending.checked;
        Ok(pending.learned)
    }

    /// Checks a whole batch, which [`Learner::learn_next`] then learns block by block. Nothing has changed yet.
    ///
    /// # Errors
    /// As [`Learner::learn`].
    pub fn begin(&mut self, batch: &Batch<'_>) -> Result<Pending> {
        let outputs = self.outputs_known.then(|| self.outputs());
        let mut checked = std::mem::take(&mut self.checked);
        let known = Known {
            reads: self.config.loss.reads(),
            features: self.features,
            outputs,
            target_scale: &self.config.target_scale,
            classes: &self.classes,
            started: self.engine.t > 0,
        };
        let result = check::check(batch, &known, &mut checked);
        if let Err(error) = result.and_then(|()| self.check_values(batch, &checked)) {
            self.checked = checked;
            return Err(error);
        }
        Ok(Pending { checked, buffer: Vec::new(), learned: 0, of: batch.rows(), state: self.state() })
    }

    /// Learns the next block of a batch that [`Learner::begin`] has checked; `each` sees what every row left behind. Returns
    /// true if rows remain. The learner may be read between two blocks.
    ///
    /// # Errors
    /// If the learner has learned other rows in between, or if this is another batch; then nothing has changed.
    pub fn learn_next(
        &mut self,
        batch: &Batch<'_>,
        pending: &mut Pending,
        mut each: impl FnMut(usize, &Step<'_>) + Send,
    ) -> Result<bool> {
        if pending.state != self.state() || pending.of != batch.rows() {
            return Err(Error::config("batch", "the learner has changed since this batch was checked: begin again"));
        }
        let Pending { checked, buffer, learned, .. } = pending;
        self.settle_widths(batch, checked);
        let rows = *learned..batch.rows().min(*learned + BLOCK);
        if !rows.is_empty() {
            let x = batch.block(rows.clone(), buffer);
            let block = Part { batch, checked, rows, x };
            match self.pool.clone() {
                Some(pool) => pool.install(|| self.run_block(&block, &mut each)),
                None => self.run_block(&block, &mut each),
            }
            *learned = block.rows.end;
        }
        pending.state = self.state();
        Ok(pending.learned < batch.rows())
    }

    /// The first batch says how many features and outputs there are.
    fn settle_widths(&mut self, batch: &Batch<'_>, checked: &Checked) {
        if self.features == 0 {
            self.widen_to(batch.features);
        }
        if !self.outputs_known && checked.width > 0 {
            self.engine.heads.iter_mut().for_each(|h| h.add_outputs(checked.width));
            self.outputs_known = true;
        }
    }

    /// What changes whenever rows are learned or features are added.
    fn state(&self) -> (u64, usize, usize) {
        (self.engine.t, self.features, self.classes.names.len())
    }

    /// The width of the scores once the checked batch is learned.
    fn outputs_after(&self, checked: &Checked) -> usize {
        match self.config.loss.reads() {
            Reads::Class => (self.classes.names.len() + checked.new_classes.len()).max(self.outputs()),
            Reads::Vector if !self.outputs_known && checked.width > 0 => checked.width,
            _ => self.outputs(),
        }
    }

    /// Parts of a block end where the warm-up recomputes its statistics, at counts of examples, and before the row whose class
    /// takes over the positive sign.
    fn run_block(&mut self, block: &Part<'_>, each: &mut dyn FnMut(usize, &Step<'_>)) {
        let named_here = |(row, _): &&(usize, Label)| block.rows.contains(row);
        self.classes.extend(block.checked.new_classes.iter().filter(named_here).map(|(_, name)| name));
        let (d, mut first) = (block.batch.features, block.rows.start);
        while first < block.rows.end {
            if block.checked.negated_at == Some(first) {
                self.negate();
            }
            let negated = block.checked.negated_at.filter(|&row| row > first).unwrap_or(usize::MAX);
            let last = self.next_stop(first, &block.checked.known[..block.rows.end]).min(negated);
            let x = block.x.range((first - block.rows.start) * d..(last - block.rows.start) * d);
            let part = Part { rows: first..last, x, ..*block };
            self.anchor(&part);
            self.learn_part(&part, each);
            if self.warm.is_some() {
                self.remember(&part);
            }
            first = last;
        }
    }

    /// f <- -f, exactly: what was learned as one sign is what would have been learned as the other.
    fn negate(&mut self) {
        match &mut self.warm {
            Some(warm) => {
                warm.y.iter_mut().for_each(|y| *y = -*y);
                self.resume_warmup();
            }
            None => self.engine.heads.iter_mut().for_each(Head::negate),
        }
    }

    /// The first example becomes the anchor of translation-invariant kernels.
    fn anchor(&mut self, part: &Part<'_>) {
        let wanted = self.frame.shift.is_empty() && self.config.anchor == Anchor::First && self.config.scale == Scale::None;
        let first = part.known().iter().position(|k| *k);
        if let Some(i) = first.filter(|_| wanted && self.engine.t == 0 && self.translation_invariant()) {
            self.frame = Frame::anchored(part.x.range(i * self.features..(i + 1) * self.features));
        }
    }

    fn translation_invariant(&self) -> bool {
        self.config.kernels().iter().all(AnyKernel::translation_invariant)
    }

    fn learn_part(&mut self, part: &Part<'_>, each: &mut dyn FnMut(usize, &Step<'_>)) {
        let points = self.rows.fill(&self.frame, part.x, self.features, self.engine.terms.space.backend());
        let width = part.checked.width;
        let labels = Labels { y: part.y(), width, known: Some(part.known()), weights: part.weights(), ids: part.ids() };
        let (classes, single) = (&self.classes, self.config.loss.reads() == Reads::Class);
        let (target_scale, scores) = (&self.config.target_scale, &mut self.scores);
        self.engine.learn_block(points, &labels, |i, step| {
            let row = part.rows.start + i;
            let alone = (single && step.scores.len() == 1).then_some(0);
            scores.clear();
            scores.extend_from_slice(step.scores);
            target_scale.put_back(scores);
            each(row, &Step { scores, positive: part.checked.positive_at(row, classes).or(alone), ..*step });
        });
        self.count_clipped(part);
    }

    /// Counts what the frame clipped in the examples of a part that was learned, once the frame is settled.
    fn count_clipped(&mut self, part: &Part<'_>) {
        let Some(limit) = self.frame.limit.filter(|_| self.warm.is_none()) else { return };
        let rows = self.rows.x.chunks_exact(self.features).zip(part.known()).filter(|(_, known)| **known);
        rows.for_each(|(row, _)| self.clipped.count(row, limit as f32));
    }

    /// More features from now on; every row so far is taken to have been zero there.
    ///
    /// # Errors
    /// If there would be fewer.
    pub fn widen(&mut self, features: usize) -> Result<()> {
        if features < self.features {
            return Err(Error::shape("features", format!("at least {}", self.features), features));
        }
        self.widen_to(features);
        Ok(())
    }

    fn widen_to(&mut self, features: usize) {
        if let Some(warm) = &mut self.warm
            && self.features > 0
        {
            let wide =
                |row: &[f64]| row.iter().copied().chain(std::iter::repeat_n(0.0, features - row.len())).collect::<Vec<_>>();
            warm.x = warm.x.chunks_exact(self.features).flat_map(wide).collect();
        }
        self.frame.widen(features);
        if let Scale::Fixed { shift, factor, .. } = &mut self.config.scale {
            (*shift, *factor) = (self.frame.shift.clone(), self.frame.factor.clone());
        }
        self.engine.terms.space.widen(features);
        if self.clipped.examples > 0 {
            self.clipped.columns.resize(features, [0; 3]);
        }
        self.features = features;
    }

    /// Shares large matrix products among so many threads; no bit depends on it.
    ///
    /// # Errors
    /// If the threads cannot be started.
    pub fn set_threads(&mut self, threads: usize) -> Result<()> {
        self.pool = match threads {
            0 | 1 => None,
            n => Some(Pool::new(n)?),
        };
        self.threads = threads.max(1);
        self.engine.terms.space.threads = self.threads;
        Ok(())
    }

    /// Tells SVMD that the stream has changed: its trace, which remembers how past steps would have had to be, starts anew.
    pub fn reset_trace(&mut self) {
        self.engine.heads.iter_mut().for_each(Head::forget_trace);
    }
}
