//! The learner that a configuration describes: dense rows in, scores out.
//!
//! It contains no learning algorithm. It checks the input, maps class names to numbers, scales the features (the frame), runs
//! the warm-up, and passes blocks to the loop in [`crate::engine`].

pub mod batch;
mod blur;
mod build;
mod check;
mod class_weight;
mod classes;
pub(crate) mod clipped_rows;
mod coverage;
mod decide;
mod figures;
pub mod file;
pub mod growth;
pub mod health;
mod kernel_rows;
mod large_targets;
mod members;
#[cfg(test)]
mod newer;
mod predict;
mod publish;
pub(crate) mod relevance;
mod retire;
mod rounding;
mod row_weights;
mod rows;
pub(crate) mod scalars;
pub(crate) mod scaling;
pub mod snapshot;
mod target_level;
pub mod units;
mod warmup;
pub(crate) mod whitening;
mod widths;

use std::ops::Range;

use crate::basis::Space;
use crate::basis::fourier::Fourier;
use crate::basis::vectors::VectorRows;
use crate::config::{Anchor, Config, Label, Scale};
use crate::engine::elsewhere::Away;
use crate::engine::head::Head;
use crate::engine::{Labels, Outcome};
use crate::error::{Error, Result};
use crate::gram::pool::Pool;
use crate::learner::batch::{BLOCK, Batch, ELSEWHERE, Target};
use crate::learner::blur::Blur;
use crate::learner::build::DenseEngine;
pub use crate::learner::check::Checked;
use crate::learner::check::{CheckBuffers, CheckedRows, Identity, TargetNumbers};
use crate::learner::class_weight::ClassCounts;
use crate::learner::classes::Classes;
use crate::learner::growth::Growth;
use crate::learner::health::Clipped;
use crate::learner::large_targets::{LargeTargets, bounded};
pub use crate::learner::predict::Scores;
use crate::learner::rounding::Rounding;
use crate::learner::row_weights::RowWeights;
use crate::learner::rows::{FramedRows, RowBlock};
use crate::learner::scaling::Frame;
use crate::learner::target_level::TargetLevel;
use crate::learner::units::Units;
use crate::learner::warmup::WarmUp;
use crate::parts::kernel::{AnyKernel, DotKernel};
use crate::parts::loss::{AnyLoss, Loss, Reads};
use crate::place::{Place, PlaceReport};

/// The work of 32 rows, in floating-point operations, from which on several threads learn: about two tenths of a millisecond of one core.
const WORTH_THREADS: usize = 1 << 24;

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
    pub(crate) counts: ClassCounts,
    pub(crate) features: usize,
    /// Whether the number of outputs is known: from an operator, a target scale or the first targets.
    pub(crate) outputs_known: bool,
    pub(crate) position: Vec<u8>,
    pub(crate) clipped: Clipped,
    pub(crate) rounding: Rounding,
    pub(crate) large_targets: LargeTargets,
    /// Of a learner without an offset for one number per row.
    pub(crate) target_level: TargetLevel,
    pub(crate) row_weights: RowWeights,
    pub(crate) blur: Blur,
    pub(crate) growth: Option<Growth>,
    /// Where units follow the stream: the statistics of the columns.
    pub(crate) units: Option<Units>,
    /// How often the weights of columns changed, and the number of examples at the last change.
    pub(crate) weighed: [u64; 2],
    /// Of a learner that was a member of a bank: the number of examples at which it was frozen, what [`Learner::certified_since`] was then, and 1 if
    /// terms had been dropped or merged. Otherwise 0.
    pub(crate) frozen: [u64; 3],
    threads: usize,
    pool: Option<Pool>,
    identity: Identity,
    /// The buffers of the last check, reused by the next one.
    buffers: Option<Box<CheckBuffers>>,
    rows: FramedRows,
    /// The scores of a row in the unit of the targets.
    scores: Vec<f64>,
    /// The targets of a row in their own unit.
    own_targets: Vec<f64>,
    /// The weights of the rows of a part by their classes.
    shares: Vec<f64>,
}

/// Consecutive rows of a checked batch.
struct Part<'a> {
    batch: &'a Batch<'a>,
    targets: &'a TargetNumbers,
    rows: Range<usize>,
    x: RowBlock<'a>,
    weights: Option<&'a [f64]>,
    /// The weights of the rows by their classes, if classes have weights.
    shares: Option<&'a [f64]>,
}

impl<'a> Part<'a> {
    fn known(&self) -> &'a [bool] {
        &self.targets.known[self.rows.clone()]
    }

    /// The targets, `width` numbers each.
    fn y(&self) -> &'a [f64] {
        let width = self.targets.width;
        if width > 0 { &self.targets.y[self.rows.start * width..self.rows.end * width] } else { &[] }
    }

    fn ids(&self) -> Option<&'a [u64]> {
        self.batch.ids.map(|ids| &ids[self.rows.clone()])
    }
}

impl Learner {
    /// Learns the rows in order and returns the scores of every row before its update.
    ///
    /// The result is the same as if the rows were learned one by one, to the last bit.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// let scores = learner.learn(&Batch::new(&[0.0, 9.0], 1).numbers(&[1.0, -1.0]))?;
    /// assert_eq!(scores.values[0], 0.0);                            // f = 0 before the first update
    /// # Ok::<(), okl::Error>(())
    /// ```
    ///
    /// # Errors
    /// If anything in the batch is wrong. In this case the learner is unchanged.
    pub fn learn(&mut self, batch: &Batch<'_>) -> Result<Scores> {
        let rows = self.check_reusing_memory(batch)?;
        Ok(self.learn_rows(rows))
    }

    /// Learns one row and returns its scores before the update.
    ///
    /// ```
    /// use okl::{Config, Learner};
    /// let mut learner = Learner::new(Config::from_toml("loss = 'squared'\nkernel = 'linear'\nscale = 'none'\nstep = 'constant:0.1'\nlambda = 0")?)?;
    /// assert_eq!(learner.learn_one(&[1.0, 2.0], 3.0)?, [0.0]);
    /// assert!(learner.predict_one(&[1.0, 2.0])?[0] > 1.0);
    /// # Ok::<(), okl::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Learner::learn`].
    pub fn learn_one<'a>(&mut self, x: &[f32], target: impl Into<Target<'a>>) -> Result<Vec<f64>> {
        let target = target.into();
        self.learn(&Batch::new(x, x.len()).targets(target.of_one_row())).map(|scores| scores.values)
    }

    /// Learns the rows of a batch that [`Learner::check`] has checked, or the rows that [`Learner::learn_next`] has not learned yet.
    /// Does the same as [`Learner::learn`] at this time and returns the scores before each update.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// let batch = Batch::new(&[0.0, 9.0], 1).numbers(&[1.0, -1.0]);
    /// let checked = learner.check(&batch)?;                         // a server stores the rows here
    /// assert_eq!(learner.learn_checked(checked)?.len(), 2);
    /// # Ok::<(), okl::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the batch has to be checked again and is refused, or if other rows were learned after the first rows of the batch. In this
    /// case the learner is unchanged.
    pub fn learn_checked(&mut self, mut checked: Checked<'_>) -> Result<Scores> {
        self.check_again(&mut checked)?;
        Ok(self.learn_rows(checked.rows))
    }

    /// Learns all rows that are left and returns their scores from before each update.
    fn learn_rows(&mut self, mut rows: CheckedRows<'_>) -> Scores {
        let (first, outputs) = (rows.learned, self.outputs_after(&rows.buffers.targets));
        let mut scores = Scores { outputs, values: vec![0.0; (rows.batch.rows() - first) * outputs] };
        let mut each = |i: usize, step: &Outcome<'_>| {
            let at = (i - first) * outputs;
            scores.values[at..at + step.scores.len()].copy_from_slice(step.scores);
        };
        while self.learn_some(&mut rows, &mut each) {}
        self.buffers = Some(rows.buffers);
        scores
    }

    /// Learns the rows in order and calls `each` with the index and the [`Outcome`] of every row.
    ///
    /// ```
    /// use okl::{Batch, Config, Learner};
    /// let mut learner = Learner::new(Config::from_toml("loss = 'hinge'\nkernel = 'gaussian:1'")?)?;
    /// let mut total = 0.0;
    /// learner.learn_with(&Batch::new(&[0.0, 1.0], 1).numbers(&[1.0, -1.0]), |_row, outcome| total += outcome.loss.unwrap_or(0.0))?;
    /// assert!(total > 1.0);                                   // the first loss is 1: f is 0
    /// # Ok::<(), okl::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Learner::learn`].
    pub fn learn_with(&mut self, batch: &Batch<'_>, each: impl FnMut(usize, &Outcome<'_>) + Send) -> Result<()> {
        self.learn_while(batch, each, || true).map(|_| ())
    }

    /// Learns the rows in order until `go_on` returns false. `go_on` is called between blocks of 256 rows.
    ///
    /// Returns the number of rows learned. The result is the same as if the batch had only these rows.
    ///
    /// ```
    /// use okl::{Batch, Config, Learner};
    /// let mut learner = Learner::new(Config::default())?;
    /// let (x, y) = (vec![0.5; 1000], vec![1.0; 1000]);
    /// let learned = learner.learn_while(&Batch::new(&x, 1).numbers(&y), |_, _| {}, || false)?;
    /// assert_eq!((learned, learner.examples()), (256, 256));
    /// # Ok::<(), okl::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Learner::learn`]; the whole batch is checked first.
    pub fn learn_while(
        &mut self,
        batch: &Batch<'_>,
        mut each: impl FnMut(usize, &Outcome<'_>) + Send,
        mut go_on: impl FnMut() -> bool,
    ) -> Result<usize> {
        let mut rows = self.check_reusing_memory(batch)?;
        while self.learn_some(&mut rows, &mut each) && go_on() {}
        self.buffers = Some(rows.buffers);
        Ok(rows.learned)
    }

    /// Learns the next 256 rows of a batch that [`Learner::check`] has checked, and calls `each` with the [`Outcome`] of every row.
    /// Returns whether rows remain. The learner can be read between two calls.
    ///
    /// ```
    /// use okl::{Batch, Config, Learner};
    /// let mut learner = Learner::new(Config::default())?;
    /// let (x, y) = (vec![0.5; 1000], vec![1.0; 1000]);
    /// let batch = Batch::new(&x, 1).numbers(&y);
    /// let mut checked = learner.check(&batch)?;
    /// while learner.learn_next(&mut checked, |_, _| {})? {
    ///     println!("{} of {} rows", checked.learned(), checked.rows());
    /// }
    /// assert_eq!(learner.examples(), 1000);
    /// # Ok::<(), okl::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Learner::learn_checked`].
    pub fn learn_next(&mut self, checked: &mut Checked<'_>, mut each: impl FnMut(usize, &Outcome<'_>) + Send) -> Result<bool> {
        self.check_again(checked)?;
        let more = self.learn_some(&mut checked.rows, &mut each);
        self.note_learned(checked);
        Ok(more)
    }

    /// Learns the next 256 rows. Returns true if rows remain. The learner must not have changed since the rows were checked.
    fn learn_some(&mut self, checked: &mut CheckedRows<'_>, each: &mut (impl FnMut(usize, &Outcome<'_>) + Send)) -> bool {
        let (batch, CheckBuffers { targets, read, .. }) = (&checked.batch, &mut *checked.buffers);
        self.settle_widths(batch, targets);
        // More rows at a time take more memory, so they are framed together only where a place sums over the terms.
        let together = if self.engine.sums_elsewhere(batch.rows() - checked.learned) { ELSEWHERE } else { BLOCK };
        let rows = checked.learned..batch.rows().min(checked.learned + together);
        let weights = batch.weights.map(|weights| &weights[rows.clone()]);
        let block = Part { batch, targets, rows: rows.clone(), x: batch.block(rows.clone(), read), weights, shares: None };
        let threads = self.threads_for(rows.len());
        self.engine.basis.space.set_threads(threads);
        self.tell_shadow(|shadow, _| shadow.engine.basis.space.set_threads(threads));
        match self.pool.clone().filter(|_| threads > 1 && !rows.is_empty()) {
            Some(pool) => pool.install(|| self.run_block(&block, each)),
            None => self.run_block(&block, each),
        }
        checked.learned = rows.end;
        rows.end < batch.rows()
    }

    /// The number of threads that learn some rows: one if the work of 32 rows is so little that more threads cost more than they save.
    fn threads_for(&self, rows: usize) -> usize {
        let columns: usize = self.engine.heads.iter().map(|head| head.f.columns()).sum();
        // The inner products of sparse rows are computed by one thread.
        let products = if self.engine.basis.space.is_sparse() { 0 } else { 2 * self.features };
        let per_value = products + 32 * self.engine.basis.space.planes() + 4 * columns;
        let work = rows.min(32) * (self.terms() + rows) * per_value;
        if work < WORTH_THREADS { 1 } else { self.threads }
    }

    /// Sets the number of features and outputs from the first batch.
    fn settle_widths(&mut self, batch: &Batch<'_>, targets: &TargetNumbers) {
        if self.features == 0 {
            self.widen_to(batch.features);
        }
        if batch.is_sparse() && self.config.keeps_zeros() && !self.engine.basis.space.is_sparse() {
            self.make_sparse();
        }
        if !self.outputs_known && targets.width > 0 {
            self.engine.all_heads_mut().for_each(|h| h.add_outputs(targets.width));
            self.outputs_known = true;
        }
    }

    /// Stores rows sparsely from now on. No result changes.
    pub(super) fn make_sparse(&mut self) {
        let slots = self.engine.basis.slots();
        self.engine.basis.space.make_sparse(slots);
        self.rounding = Rounding::default();
        let features = self.features;
        self.warm.iter_mut().for_each(|warm| warm.x.make_sparse(features));
        self.tell_shadow(|shadow, _| shadow.make_sparse());
    }

    /// The number of scores per row after the checked batch is learned.
    fn outputs_after(&self, targets: &TargetNumbers) -> usize {
        match self.config.loss.reads() {
            Reads::Class => (self.classes.names.len() + targets.new_classes.len()).max(self.outputs()),
            Reads::Vector if !self.outputs_known && targets.width > 0 => targets.width,
            _ => self.outputs(),
        }
    }

    /// Learns a block in parts. A part ends where the warm-up recomputes its statistics, or units, widths or the number of terms are
    /// judged (after given numbers of examples), and before the row whose new class becomes the positive one.
    fn run_block(&mut self, block: &Part<'_>, each: &mut dyn FnMut(usize, &Outcome<'_>)) {
        let named_here = |(row, _): &&(usize, Label)| block.rows.contains(row);
        self.classes.extend(block.targets.new_classes.iter().filter(named_here).map(|(_, name)| name));
        self.tell_shadow(|shadow, learner| shadow.classes = learner.classes.clone());
        let mut first = block.rows.start;
        while first < block.rows.end {
            if block.targets.negated_at == Some(first) {
                self.negate();
            }
            let negated = block.targets.negated_at.filter(|&row| row > first).unwrap_or(usize::MAX);
            let known = &block.targets.known[..block.rows.end];
            let looks = [self.next_look(first, known), self.next_units(first, known), negated];
            let last = looks.into_iter().fold(self.next_stop(first, known), usize::min);
            self.run_part(block, first..last, each);
            first = last;
        }
    }

    /// Learns some rows of a block and does what comes after them: the warm-up, other units, other widths, more terms.
    fn run_part(&mut self, block: &Part<'_>, rows: Range<usize>, each: &mut dyn FnMut(usize, &Outcome<'_>)) {
        let within = rows.start - block.rows.start..rows.end - block.rows.start;
        let given = block.weights.map(|weights| &weights[within.clone()]);
        let part = Part { rows, x: block.x.range(within), weights: given, ..*block };
        let mut shares = std::mem::take(&mut self.shares);
        self.weigh_classes(&part, &mut shares);
        let part = Part { shares: (!shares.is_empty()).then_some(&shares), ..part };
        let before = self.steps();
        self.anchor(&part);
        self.learn_part(&part, &mut |row, outcome| match part.shares.map(|shares| shares[row - part.rows.start]) {
            Some(share) => each(row, &Outcome { loss: outcome.loss.map(|loss| loss / share), ..*outcome }),
            None => each(row, outcome),
        });
        match self.warm.is_some() {
            true => self.remember(&part),
            false => self.follow_units(&part),
        }
        self.follow_widths(before);
        if part.known().contains(&true) {
            self.grow();
        }
        self.shares = shares;
    }

    /// f <- -f. The result is bit-identical to learning all examples so far with the opposite sign.
    fn negate(&mut self) {
        self.counts.negate();
        match &mut self.warm {
            Some(warm) => {
                warm.y.iter_mut().for_each(|y| *y = -*y);
                self.resume_warmup();
            }
            None => self.engine.all_heads_mut().for_each(Head::negate),
        }
        self.tell_shadow(|shadow, _| shadow.negate());
    }

    /// Makes the first example the anchor of translation-invariant kernels.
    fn anchor(&mut self, part: &Part<'_>) {
        let wanted = self.frame.shift.is_empty() && self.config.anchor == Anchor::First && self.config.scale == Scale::None;
        let first = part.known().iter().position(|k| *k);
        if let Some(i) = first.filter(|_| wanted && self.engine.t == 0 && self.translation_invariant()) {
            self.frame = Frame::anchored(part.x.row(i));
        }
    }

    fn translation_invariant(&self) -> bool {
        self.config.kernels().iter().all(AnyKernel::translation_invariant)
    }

    fn learn_part(&mut self, part: &Part<'_>, each: &mut dyn FnMut(usize, &Outcome<'_>)) {
        let count = self.steps();
        self.engine.watched.clear();
        if self.warm.is_none() {
            self.engine.kept.begin(|| self.config.to_json());
        }
        let space = &self.engine.basis.space;
        let points = match space.unscaled() {
            Some(_) => self.rows.fill_keeping(&self.frame, part.x, space.backend()),
            None => self.rows.fill(&self.frame, part.x, space.backend(), space.is_sparse()),
        };
        let width = part.targets.width;
        let labels =
            Labels { y: part.y(), width, known: Some(part.known()), weights: part.weights, shares: part.shares, ids: part.ids() };
        let (classes, single) = (&self.classes, self.config.loss.reads() == Reads::Class);
        let (target_scale, scores) = (&self.config.target_scale, &mut self.scores);
        let (large_targets, own) = (&mut self.large_targets, &mut self.own_targets);
        let with_spread = bounded(&self.config).is_some();
        let mut level = Some(&mut self.target_level).filter(|_| with_spread || width == 1 && !self.config.offset);
        let row_weights = &mut self.row_weights;
        let numbers = matches!(self.config.loss.reads(), Reads::Number | Reads::Vector);
        // A margin that the loss gives is the threshold, which the engine knows only where it follows the stream.
        let margin = match *self.config.loss {
            AnyLoss::Novelty { margin } => Some(margin),
            _ => None,
        };
        let y = part.y();
        let mut examples = count;
        self.engine.learn_block(points, &labels, |i, step| {
            let row = part.rows.start + i;
            let alone = (single && step.scores.len() == 1).then_some(0);
            scores.clear();
            scores.extend_from_slice(step.scores);
            target_scale.put_back(scores);
            examples += u64::from(part.known()[i] && part.weights.is_none_or(|weights| weights[i] > 0.0));
            if step.loss.is_some() {
                row_weights.add(part.weights.map_or(1.0, |weights| weights[i]));
            }
            if numbers && step.loss.is_some() {
                own.clear();
                own.extend_from_slice(&y[i * width..(i + 1) * width]);
                target_scale.put_back(own);
                let error = scores.iter().zip(own.iter()).map(|(z, y)| (z - y).abs()).sum::<f64>() / width as f64;
                large_targets.add(examples, own, error);
                level.iter_mut().for_each(|level| level.add(own, error, with_spread));
            }
            let positive = part.targets.positive_at(row, classes).or(alone);
            each(row, &Outcome { scores, positive, threshold: step.threshold.or(margin), ..*step });
        });
        self.learn_shadow(&labels, count);
        self.count_clipped(part);
        self.count_rounding(part);
        self.count_blurred(part);
    }

    /// Counts the blurred rows of a part; only after the warm-up.
    fn count_blurred(&mut self, part: &Part<'_>) {
        let space = &self.engine.basis.space;
        if self.warm.is_some() || space.diagonal().is_none() {
            return;
        }
        let known = self.rows.squares().iter().zip(part.known()).filter(|(_, known)| **known);
        self.blur.count(space.kernels(), known.map(|(xx, _)| *xx));
    }

    /// Counts the clipped values in the examples of a learned part; only after the warm-up.
    fn count_clipped(&mut self, part: &Part<'_>) {
        let Some(limit) = self.frame.limit.filter(|_| self.warm.is_none()) else { return };
        let known = |i: &usize| part.known()[*i];
        if self.frame.whitens() {
            // A whitened row no longer shows what was clipped.
            let (mut row, mut scaled) = (Vec::new(), Vec::new());
            for i in (0..part.rows.len()).filter(known) {
                row.clear();
                part.x.row(i).append_to(&mut row);
                scaled.clear();
                scaled.extend(row.iter().enumerate().map(|(column, x)| self.frame.value(column, *x)));
                self.clipped.count(&scaled, limit as f32, |column| row[column]);
            }
            return;
        }
        match self.rows.points() {
            VectorRows::Dense(points) => {
                let mut count = |i| self.clipped.count(points.rows.row(i), limit as f32, |column| part.x.row(i).value(column));
                (0..part.rows.len()).filter(known).for_each(&mut count);
            }
            VectorRows::Sparse(points) => {
                let mut count = |i| {
                    let given = |column| part.x.row(i).value(column);
                    self.clipped.count_sparse(points.row(i), self.features, limit as f32, given);
                };
                (0..part.rows.len()).filter(known).for_each(&mut count);
            }
            VectorRows::Given(_) => {}
        }
    }

    /// Measures the rounding errors in the rows of a part; only after the warm-up.
    fn count_rounding(&mut self, part: &Part<'_>) {
        let space = &self.engine.basis.space;
        if self.frame.limit.is_some() || self.warm.is_some() || space.is_sparse() || space.given().is_some() {
            return;
        }
        let row = &mut self.rows.unrounded;
        for i in (0..part.rows.len()).filter(|&i| part.known()[i]) {
            if self.rounding.count() {
                row.clear();
                part.x.row(i).append_to(row);
                self.frame.place(row);
                self.rounding.look(row);
            }
        }
    }

    /// Increases the number of features. All earlier rows are 0 in the new features.
    ///
    /// ```
    /// use okl::{Config, Learner};
    /// let mut learner = Learner::new(Config::default())?;
    /// learner.learn_one(&[1.0], 1.0)?;
    /// learner.widen(2)?;
    /// learner.learn_one(&[1.0, 0.5], -1.0)?;
    /// # Ok::<(), okl::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the number would decrease, increase under orthogonal random features, or be too large for the products of two features.
    pub fn widen(&mut self, features: usize) -> Result<()> {
        if features < self.features {
            return Err(Error::shape("features", format!("at least {}", self.features), features));
        }
        if self.config.is_precomputed() && features > 1 {
            return Err(Error::config("kernel", "precomputed: rows of kernel values have no features that could become more"));
        }
        if self.features > 0 && features > self.features && self.engine.basis.fourier().is_some_and(Fourier::is_orthogonal) {
            let expected = format!("{}: orthogonal random features depend on the number of features of a row", self.features);
            return Err(Error::shape("features", expected, features));
        }
        self.check_products(features)?;
        self.widen_to(features);
        Ok(())
    }

    fn widen_to(&mut self, features: usize) {
        if let Some(warm) = &mut self.warm {
            warm.x.widen(self.features, features);
        }
        self.frame.widen(features);
        self.widen_units(self.features, features);
        if let Scale::Fixed { follow, .. } = self.config.scale {
            self.config.scale = self.frame.fixed(follow);
        }
        self.engine.widen(features);
        if self.clipped.examples > 0 {
            self.clipped.columns.resize(features, [0; 3]);
        }
        self.rounding.widen(features);
        self.features = features;
        self.tell_shadow(|shadow, _| shadow.widen_to(features));
    }

    /// Sets the number of threads for large matrix products. Results do not depend on it.
    ///
    /// ```
    /// use okl::{Config, Learner};
    /// let mut learner = Learner::new(Config::default())?;
    /// learner.set_threads(2)?;
    /// # Ok::<(), okl::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the threads cannot be started.
    pub fn set_threads(&mut self, threads: usize) -> Result<()> {
        self.pool = match threads {
            0 | 1 => None,
            n => Some(Pool::new(n)?),
        };
        self.threads = threads.max(1);
        self.engine.basis.space.set_threads(self.threads);
        self.tell_shadow(|shadow, learner| shadow.engine.basis.space.set_threads(learner.threads));
        Ok(())
    }

    /// Sets the place where settled terms are summed: a graphics card, for example. None: the processor. Results do not depend on
    /// it; like the number of threads, it is not saved. A copy of the learner computes on the processor.
    ///
    /// While learning uses it, memory for coefficients and kernel values grows by a quarter at a time, and up to 32,768 rows are
    /// learned between two calls of `go_on` of [`Learner::learn_while`].
    pub fn set_place(&mut self, place: Option<Box<dyn Place>>) {
        self.engine.away = Away::at(place);
    }

    /// What the place of [`Learner::set_place`] has done; none if the learner computes on the processor.
    pub fn place(&self) -> Option<PlaceReport> {
        self.engine.away.report(self.engine.stays_here())
    }

    /// Resets the trace of SVMD, for example after a change of the stream: earlier gradients then no longer affect the step size.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// learner.reset_trace();                                        // before a stream whose past does not matter
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn reset_trace(&mut self) {
        self.engine.all_heads_mut().for_each(Head::forget_trace);
        self.tell_shadow(|shadow, _| shadow.reset_trace());
    }
}
