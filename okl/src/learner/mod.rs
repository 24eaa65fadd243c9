//! The learner that a configuration describes: dense rows in, scores out.
//!
//! It owns no algorithm. It checks what comes in, names classes, puts features into their frame, warms up, and hands
//! blocks to the one loop in [`crate::engine`].

pub mod batch;
pub mod file;
pub mod health;
pub(crate) mod scalars;
pub(crate) mod scaling;
pub mod snapshot;

use std::ops::Range;

use crate::basis::terms::NO_ID;
use crate::basis::{Dense, Points, Space};
use crate::certificate::{AlertRate, Tracker};
use crate::config::{Anchor, Choice, Config, Label, Member, Scale, Threshold};
use crate::engine::bank::{Bank, decision};
use crate::engine::head::{Average, Head, HeadParts, Rules};
use crate::engine::{Engine, Labels, Parts, Step, Workspace};
use crate::error::{Error, ErrorKind, Result};
use crate::gram::pool::Pool;
use crate::gram::{Backend, Rows};
use crate::learner::batch::{BLOCK, Batch, Checked, Classes, Features, Known};
use crate::learner::health::{Clipped, Health};
use crate::learner::scaling::{FAR, FEW, Frame, median_distance2};
use crate::parts::budget::{AnyBudget, BudgetRule};
use crate::parts::kernel::{AnyKernel, DotKernel};
use crate::parts::loss::{AnyLoss, Loss, Reads};
use crate::parts::step::AnyStep;

/// The loop with the built-in parts.
pub(crate) type DenseEngine = Engine<Dense<AnyKernel>, AnyLoss, AnyStep, AnyBudget>;

/// Scores of some rows, `outputs` each, row by row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scores {
    /// Scores per row.
    pub outputs: usize,
    /// Row by row.
    pub values: Vec<f64>,
}

impl Scores {
    /// The scores of one row.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.outputs..(i + 1) * self.outputs]
    }
}

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

/// The examples so far, while statistics of the data are still provisional.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct WarmUp {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub width: usize,
    pub weights: Vec<f64>,
    pub ids: Vec<u64>,
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
    /// Checks the configuration and builds the learner, f = 0.
    ///
    /// # Errors
    /// With the setting and the reason, if the configuration is refused; if `OKL_BACKEND` names a backend this machine lacks.
    pub fn new(config: Config) -> Result<Self> {
        config.check()?;
        Self::build(config)
    }

    /// Builds the learner of a configuration that was checked.
    pub(crate) fn build(mut config: Config) -> Result<Self> {
        if matches!(config.threshold, Threshold::Tracker { .. })
            && matches!(config.average, Choice::Auto | Choice::Given(Average::None))
        {
            config.average = Average::Exponential { rate: 1e-3 }.into();
        }
        if config.average == Choice::Auto && config.members().iter().all(|m| m.average == Average::None) {
            config.average = Average::None.into();
        }
        if config.scale == Scale::Auto && !config.needs_scale() {
            config.scale = Scale::None;
        }
        config.budget = Some(config.budget());
        let (features, frame) = match &config.scale {
            Scale::Fixed { shift, factor, limit } => {
                (shift.len(), Frame { shift: shift.clone(), factor: factor.clone(), limit: *limit })
            }
            _ => (0, Frame::default()),
        };
        let engine = build_engine(&config, features)?;
        let warm = config.needs_warmup().then(WarmUp::default);
        let classes = Classes::new(config.classes.as_deref(), config.loss.reads());
        let outputs_known = config.gives_outputs() || config.loss.reads() != Reads::Vector;
        Ok(Learner {
            config,
            engine,
            frame,
            warm,
            classes,
            features,
            outputs_known,
            position: Vec::new(),
            clipped: Clipped::default(),
            threads: 1,
            pool: None,
            checked: Checked::default(),
            rows: FramedRows::default(),
            scores: Vec::new(),
        })
    }

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
        let result = batch::check(batch, &known, &mut checked);
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

    /// Kernel values of a row must fit single precision. While the frame is provisional nothing is refused, because the frame that a row
    /// will meet is not known; such a row is not learned, and counted. Rows after the end of the warm-up are held against what is found
    /// there, so that a row is refused in every cut or in none.
    fn check_values(&mut self, batch: &Batch<'_>, checked: &Checked) -> Result<()> {
        if self.engine.terms.space.diagonal().is_some() {
            return Ok(());
        }
        let Some(warm) = &self.warm else { return self.check_own_values(batch, 0) };
        let missing = self.config.warmup - warm.weights.len();
        let examples = checked.known.iter().enumerate().filter(|(_, known)| **known);
        match examples.map(|(row, _)| row + 1).nth(missing - 1).filter(|&end| end < batch.rows()) {
            Some(end) => self.warmed_up_by(batch, checked, end).check_own_values(batch, end),
            None => Ok(()),
        }
    }

    /// A copy that has found its statistics from rows before `end`, the last of which ends the warm-up.
    fn warmed_up_by(&self, batch: &Batch<'_>, checked: &Checked, end: usize) -> Learner {
        let (mut settled, mut buffer) = (self.clone(), Vec::new());
        settled.settle_widths(batch, checked);
        settled.remember(&Part { batch, checked, rows: 0..end, x: batch.block(0..end, &mut buffer) });
        settled
    }

    /// Refuses rows whose k(x, x) is beyond single precision. |k(x, x')|² <= k(x, x) k(x', x'), so that other values then fit as well.
    fn check_own_values(&mut self, batch: &Batch<'_>, from: usize) -> Result<()> {
        let (space, values, mut buffer) = (&self.engine.terms.space, &mut self.engine.scratch.values, Vec::new());
        for first in (from..batch.rows()).step_by(BLOCK) {
            let last = batch.rows().min(first + BLOCK);
            let x = batch.block(first..last, &mut buffer);
            let points = self.rows.fill(&self.frame, x, batch.features, space.backend());
            for row in first..last {
                space.self_values(points, row - first, values);
                if let Some(&found) = values.iter().find(|k| k.is_nan() || k.abs() > LARGEST_VALUE) {
                    return Err(too_large_for_its_kernel(row, found));
                }
            }
        }
        Ok(())
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

    fn next_stop(&self, first: usize, known: &[bool]) -> usize {
        let Some(warm) = &self.warm else { return known.len() };
        let (count, limit) = (warm.weights.len(), self.config.warmup);
        let stop = (count + 1).next_power_of_two().min(limit) - count;
        let mut examples = (first..known.len()).filter(|&i| known[i]);
        examples.nth(stop - 1).map_or(known.len(), |i| i + 1)
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

    fn remember(&mut self, part: &Part<'_>) {
        let Some(warm) = self.warm.as_mut().filter(|_| part.known().contains(&true)) else { return };
        let (d, width) = (self.features, part.checked.width);
        warm.width = width;
        for i in (0..part.rows.len()).filter(|&i| part.known()[i]) {
            part.x.range(i * d..(i + 1) * d).append_to(&mut warm.x);
            warm.y.extend_from_slice(&part.y()[i * width..(i + 1) * width]);
            warm.weights.push(part.weights().map_or(1.0, |w| w[i]));
            warm.ids.push(part.ids().map_or(NO_ID, |ids| ids[i]));
        }
        let count = warm.weights.len();
        if count > 0 && (count.is_power_of_two() || count == self.config.warmup) {
            self.relearn();
        }
    }

    /// Recomputes the statistics from all examples so far and learns these again, in order; at the end they are frozen.
    fn relearn(&mut self) {
        let Some(warm) = self.warm.take() else { return };
        let count = warm.weights.len();
        let config = self.replay(&warm, count);
        match count >= self.config.warmup {
            true => self.config = config,
            false => self.warm = Some(warm),
        }
    }

    /// After loading, or with other signs: the statistics in force are those of the last recomputation, and follow from the rows
    /// alone.
    pub(crate) fn resume_warmup(&mut self) {
        let Some(warm) = self.warm.take() else { return };
        let count = warm.weights.len();
        if count > 0 {
            self.replay(&warm, 1 << count.ilog2());
        }
        self.warm = Some(warm);
    }

    /// Learns the examples of a warm-up under the statistics of the first `count` of them; returns the configuration that has them.
    fn replay(&mut self, warm: &WarmUp, count: usize) -> Config {
        let (mut config, first) = (self.config.clone(), &warm.x[..count * self.features]);
        if config.needs_scale() {
            self.frame = self.found_frame(first);
            let Frame { shift, factor, limit } = self.frame.clone();
            config.scale = Scale::Fixed { shift, factor, limit };
        }
        let mut framed = FramedRows::default();
        let median = self.found_median(&mut config, first, &mut framed);
        let factors = config.width_factors(scaling::ranges(first, self.features).len());
        config.rules_mut().into_iter().for_each(|k| k.set_auto(median, &factors));
        self.rebuild(&config);
        if config.starts_in_the_middle() {
            let middles = scaling::middles(&warm.y[..count * warm.width], warm.width);
            self.engine.heads.iter_mut().for_each(|head| head.offset.copy_from_slice(&middles));
        }
        let points = framed.fill(&self.frame, Features::Double(&warm.x), self.features, self.engine.terms.space.backend());
        let ids = warm.ids.iter().any(|&id| id != NO_ID).then_some(warm.ids.as_slice());
        let labels = Labels { y: &warm.y, width: warm.width, known: None, weights: Some(&warm.weights), ids };
        self.engine.learn_block(points, &labels, |_, _| {});
        config
    }

    /// The median squared distance of rows. Very small or large rows get another unit where kernels have none, because their squares
    /// would leave single precision; the unit then stands in the configuration.
    fn found_median(&mut self, config: &mut Config, rows: &[f64], framed: &mut FramedRows) -> f64 {
        let backend = self.engine.terms.space.backend();
        let in_units_of_the_data = self.config.scale == Scale::None;
        if in_units_of_the_data {
            self.frame.factor.fill(1.0);
        }
        framed.fill(&self.frame, Features::Double(rows), self.features, backend);
        let median = median_distance2(&framed.x, self.features);
        let unit = scaling::common_unit(median);
        if unit == 1.0 || !in_units_of_the_data || !config.rules_mut().iter().all(|k| k.has_no_unit()) {
            return median;
        }
        self.frame = self.frame.in_unit(unit, self.features);
        let Frame { shift, factor, limit } = self.frame.clone();
        config.scale = Scale::Fixed { shift, factor, limit };
        framed.fill(&self.frame, Features::Double(rows), self.features, backend);
        median_distance2(&framed.x, self.features)
    }

    /// `scale = standard` as these rows have it. With `auto`, columns that share one range go as far as they go, and many of them keep
    /// their unit where kernels have none; of a few, each is a quantity of its own.
    fn found_frame(&self, rows: &[f64]) -> Frame {
        let frame = match self.config.anchor {
            Anchor::First => Frame::standard(rows, self.features),
            Anchor::None => Frame::sparse(rows, self.features),
        };
        let ranges = scaling::ranges(rows, self.features);
        if self.config.scale == Scale::Auto && self.translation_invariant() && scaling::share_a_range(&ranges) {
            return if ranges.len() > FEW { frame.in_units_of_the_data() } else { frame };
        }
        frame.limited(self.translation_invariant().then_some(FAR))
    }

    fn rebuild(&mut self, config: &Config) {
        // A class exists from the row that names it, also when the row is learned again.
        let outputs = if self.config.loss.reads() == Reads::Class { 0 } else { self.outputs() };
        self.engine =
            build_engine(config, self.features).expect("a checked configuration stays valid once its statistics are known");
        self.engine.terms.space.threads = self.threads;
        self.engine.heads.iter_mut().for_each(|h| h.add_outputs(outputs));
    }

    /// Scores of rows without learning, exactly what [`Learner::learn`] would return for a row without a target.
    ///
    /// # Errors
    /// If the rows have another number of features, hold a number that is not finite, or have a kernel value beyond single precision.
    pub fn predict(&self, workspace: &mut Workspace, x: &[f32], features: usize) -> Result<Scores> {
        self.predict_batch(workspace, &Batch::new(x, features))
    }

    /// Scores of the rows of a batch without learning; of the batch, only the rows are read.
    ///
    /// # Errors
    /// As [`Learner::predict`].
    pub fn predict_batch(&self, workspace: &mut Workspace, batch: &Batch<'_>) -> Result<Scores> {
        batch.check_rows(self.features)?;
        let outputs = self.outputs();
        let mut scores = Scores { outputs, values: vec![0.0; batch.rows() * outputs] };
        if self.features > 0 {
            let (mut framed, mut buffer) = (FramedRows::default(), Vec::new());
            let x = batch.block(0..batch.rows(), &mut buffer);
            let points = framed.fill(&self.frame, x, self.features, self.engine.terms.space.backend());
            let mut run = || {
                self.engine.predict(workspace, points, |i, z| scores.values[i * outputs..(i + 1) * outputs].copy_from_slice(z))
            };
            match &self.pool {
                Some(pool) => pool.install(run),
                None => run(),
            }
        }
        self.config.target_scale.put_back(&mut scores.values);
        match scores.values.iter().position(|z| !z.is_finite()) {
            Some(place) => Err(beyond_single_precision(place / outputs, scores.values[place])),
            None => Ok(scores),
        }
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

    /// The only head, or the leading one of a bank.
    fn head(&self) -> &Head<AnyStep> {
        &self.engine.heads[self.engine.leader()]
    }

    /// The configuration; after the warm-up it holds the values that were found.
    pub fn config(&self) -> &Config {
        &self.config
    }
    /// The loop and its state.
    pub fn engine(&self) -> &Engine<Dense<AnyKernel>, AnyLoss, AnyStep, AnyBudget> {
        &self.engine
    }
    /// The number of features; 0 before the first batch.
    pub fn features(&self) -> usize {
        self.features
    }
    /// Scores per row.
    pub fn outputs(&self) -> usize {
        self.head().offset().len()
    }
    /// The classes so far, in order of appearance, or as they were given; outputs are in this order.
    pub fn classes(&self) -> &[Label] {
        &self.classes.names
    }
    /// Under a loss that reads a sign: the index among [`Learner::classes`] of the class whose scores are positive.
    ///
    /// Of two given classes it is the second; of two that appeared, the one that sorts last (numbers by value, names by
    /// spelling); a class that is alone. Model files of formats 1 to 3 keep their order: the second that appeared. None for
    /// other losses, and where targets are the numbers -1 and +1.
    pub fn positive(&self) -> Option<usize> {
        self.classes.positive
    }
    /// The index among [`Learner::classes`] of the class that the scores of a row decide for: the largest score, the earlier
    /// class of equals; under a sign the positive class where the score is above 0, else the other one. A class that is
    /// alone is always decided for. None where scores decide nothing: other losses, no class yet, or targets that are the
    /// numbers -1 and +1.
    pub fn decide(&self, scores: &[f64]) -> Option<usize> {
        let count = self.classes.names.len();
        match (self.config.loss.reads(), self.classes.positive) {
            (Reads::Sign, Some(positive)) if count == 1 || scores[0] > 0.0 => Some(positive),
            (Reads::Sign, Some(positive)) => Some(1 - positive),
            (Reads::Class, _) if count > 0 => Some(decision(scores)),
            _ => None,
        }
    }
    /// Examples learned.
    pub fn examples(&self) -> u64 {
        self.engine.t
    }
    /// Steps that were not taken because they would have left a number beyond 1e150 (a coefficient, an offset, a score, a loss, |f|²), or
    /// because a kernel value of the row was beyond single precision.
    pub fn skipped(&self) -> u64 {
        self.engine.skipped
    }
    /// What was not used as it was given: values clipped, steps not taken, members of a bank at rest.
    pub fn health(&self) -> Health {
        Health::of(self)
    }
    /// Live terms.
    pub fn terms(&self) -> usize {
        self.engine.terms.len()
    }
    /// The step size of the last step.
    pub fn eta(&self) -> f64 {
        self.head().eta
    }
    /// The margin, tube or scale that the loss adapts; with a `target_scale`, in the unit of the scaled targets.
    pub fn theta(&self) -> f64 {
        self.head().theta
    }
    /// The offset b of the engine; with a `target_scale`, in the unit of the scaled targets.
    pub fn offset(&self) -> &[f64] {
        &self.head().offset
    }
    /// |f|²: exact until a term is dropped, an upper bound after; exact under smd and where the regulariser is not the square.
    pub fn norm2(&self) -> f64 {
        self.head().norm2
    }
    /// A bound on |f_full - f|, f being the function that predicts and f_full what the same updates would have made of it with
    /// nothing dropped (3.6); a bank's is the weighted sum of its members', and bounds |f_full(x) - f(x)| in units of sqrt k(x, x).
    /// With a `target_scale` it is divided by the (smallest) factor: it then bounds scores in the unit of the targets.
    pub fn truncation_error(&self) -> f64 {
        let lost = |head: &Head<AnyStep>, averaged| if averaged { head.mean_truncation } else { head.truncation };
        let lost: f64 = self.weighted_voices().map(|(weight, head, averaged)| weight * lost(head, averaged)).sum();
        lost / self.config.target_scale.least_factor()
    }
    /// A bound on the regret against every u with |u| <= `norm`, |b_u| <= `offset` (E25); none where it does not hold. With
    /// `shrink = on_update` the regulariser counts at updates only.
    ///
    /// A bank's is what it has lost more than one of its heads, plus that head's own bound, for the head where this is least;
    /// u is then a function of that head's width, and its regulariser that head's.
    pub fn regret_bound(&self, norm: f64, offset: f64) -> Option<f64> {
        let Some(bank) = self.engine.bank() else { return self.head().regret.bound(norm, offset) };
        // A head's bound is on the losses of its last hypotheses, not on those of their average.
        let voices = self.engine.heads.iter().flat_map(|head| head.kinds().map(move |averaged| (head, averaged)));
        let last = voices.zip(bank.losses()).filter(|((_, averaged), _)| !averaged);
        let of_head =
            |((head, _), loss): ((&Head<AnyStep>, bool), &f64)| Some(bank.loss() - loss + head.regret.bound(norm, offset)?);
        last.filter_map(of_head).min_by(f64::total_cmp)
    }
    /// The rate of alerts (examples outside) and how far it can be from nu; none for losses without nu.
    ///
    /// It counts what moved the threshold: f_t against theta, or with a tracker the averaged score against its threshold.
    pub fn alert_rate(&self) -> Option<AlertRate> {
        let nu = self.config.loss.nu()?;
        match &self.head().tracker {
            Some(tracker) => tracker.certificate(nu),
            None => self.head().rate.certificate(nu),
        }
    }
    /// A row is novel iff its score is below this; none for losses that are not about novelty, or while the tracker gathers.
    ///
    /// Where scores are averaged without a tracker, so is theta.
    pub fn threshold(&self) -> Option<f64> {
        match (&self.config.loss, &self.head().tracker) {
            (AnyLoss::Novelty { margin }, _) => Some(*margin),
            (AnyLoss::NuNovelty { .. }, None) if self.head().expansion.riders().mean => Some(self.head().theta_mean),
            (AnyLoss::NuNovelty { .. }, None) => Some(self.theta()),
            (AnyLoss::NuNovelty { .. }, Some(tracker)) => tracker.ready().then(|| tracker.threshold()),
            _ => None,
        }
    }
    /// Is the warm-up still under way?
    pub fn warming_up(&self) -> bool {
        self.warm.is_some()
    }
    /// Bytes held for what grows with the number of terms (see [`Config::bytes_per_term`]), and for the kernel values among 32 rows.
    pub fn bytes(&self) -> usize {
        self.engine.bytes()
    }
    /// What whoever replays a stream left here; saved with the model.
    pub fn position(&self) -> &[u8] {
        &self.position
    }
    /// Leaves a note for whoever replays the stream.
    pub fn set_position(&mut self, position: impl Into<Vec<u8>>) {
        self.position = position.into();
    }

    /// The centres of the live terms in slot order, in the units of the data.
    pub fn centres(&self) -> Vec<f64> {
        let (mut centres, mut row) = (Vec::with_capacity(self.terms() * self.features), vec![0.0; self.features]);
        for slot in self.engine.terms.live() {
            self.engine.terms.space.centre(slot, &mut row);
            centres.extend(self.frame.undo(&row));
        }
        centres
    }

    /// alpha of the live terms in slot order, `outputs` each; with a `target_scale`, in the unit of the scaled targets.
    pub fn coefficients(&self) -> Vec<f64> {
        let expansion = self.head().expansion();
        self.engine.terms.live().flat_map(|slot| (0..self.outputs()).map(move |o| expansion.alpha(o, slot))).collect()
    }

    /// How many widths the function that [`Learner::predict`] evaluates is a sum over: 1 but for a bank of several.
    pub fn widths(&self) -> usize {
        self.engine.terms.space.kernels().len() / self.config.planes()
    }

    /// The coefficients of the function that [`Learner::predict`] evaluates: alpha, or those of the average where there is one.
    /// Width by width, each in slot order with `outputs` per term; the heads of a bank that share a width are added up.
    ///
    /// With a `target_scale` they are divided by its factors, so that they give scores in the unit of the targets. Where there is
    /// an operator J they are not, because J comes first: the scores are then offset + (J sum_i k(x, x_i) a_i) / factor.
    pub fn predicting_coefficients(&self) -> Vec<f64> {
        let (terms, outputs) = (&self.engine.terms, self.outputs());
        let size = terms.len() * outputs;
        let mut sums = vec![0.0; self.widths() * size];
        for (weight, head, averaged) in self.weighted_voices() {
            let (expansion, first) = (head.expansion(), head.plane / self.config.planes() * size);
            let at = |o, slot| expansion.mean(o, slot).filter(|_| averaged).unwrap_or_else(|| expansion.alpha(o, slot));
            let values = terms.live().flat_map(|slot| (0..outputs).map(move |o| at(o, slot)));
            sums[first..first + size].iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
        }
        if self.config.operator.is_none() && outputs > 0 {
            sums.iter_mut().enumerate().for_each(|(i, sum)| *sum /= self.config.target_scale.factor(i % outputs));
        }
        sums
    }

    /// The offset that [`Learner::predict`] adds: b, or its average where there is one; in the unit of the targets.
    pub fn predicting_offset(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.outputs()];
        for (weight, head, averaged) in self.weighted_voices() {
            let offset = if averaged { head.offset_mean() } else { head.offset() };
            sums.iter_mut().zip(offset).for_each(|(sum, b)| *sum += weight * b);
        }
        self.config.target_scale.put_back(&mut sums);
        sums
    }

    /// What speaks: its weight, its head, and whether it is the average.
    fn weighted_voices(&self) -> impl Iterator<Item = (f64, &Head<AnyStep>, bool)> {
        let weight = |voice: usize| self.engine.bank().map_or(1.0, |bank| bank.weights()[voice]);
        let voices = self.engine.heads.iter().flat_map(|head| head.kinds().map(move |averaged| (head, averaged)));
        voices.enumerate().map(move |(voice, (head, averaged))| (weight(voice), head, averaged))
    }

    /// What runs side by side, with its weight, the heaviest first; one member of weight 1 where everything is given.
    pub fn members(&self) -> Vec<(Member, f64)> {
        let weights = self.weighted_voices().map(|(weight, ..)| weight);
        let mut members: Vec<_> = self.config.members().into_iter().zip(weights).collect();
        members.sort_by(|a, b| b.1.total_cmp(&a.1));
        members
    }

    /// The plain learner that the leading member of a bank is: its settings given, its function as it stands.
    ///
    /// # Errors
    /// While the warm-up is under way: its settings are not settled yet.
    pub fn freeze(&self) -> Result<Learner> {
        if self.warm.is_some() {
            let reason = format!("not settled before {} examples: there have been {}", self.config.warmup, self.examples());
            return Err(Error::config("warmup", reason));
        }
        let leader = self.engine.bank().map_or(0, Bank::leading_voice);
        let config = self.config.frozen(&self.config.members()[leader]);
        let (_, head, averaged) = self.weighted_voices().nth(leader).expect("one of them leads");
        let (first, planes) = (head.plane, self.config.planes());
        let space = self.engine.terms.space.under(first..first + planes);
        let mut engine = build_engine(&config, self.features)?;
        (engine.t, engine.skipped, engine.budget) = (self.engine.t, self.engine.skipped, self.engine.budget.clone());
        engine.terms = self.engine.terms.with_space(space);
        engine.heads = vec![head.alone(averaged)];
        Ok(Learner { config, engine, ..self.clone() })
    }

    /// Shift and factor per feature: kernels see (x - shift) * factor. Empty where they see x itself.
    pub fn frame(&self) -> (&[f64], &[f64]) {
        (&self.frame.shift, &self.frame.factor)
    }

    /// The size at which `scale` cuts features in the frame off, if it does. Features in the frame are cut off at 1e15 in any case.
    pub fn limit(&self) -> Option<f64> {
        self.frame.limit
    }
}

/// The largest k(x, x) of a row that is learned: single precision ends at 3.4e38, and the rounding of other values needs room.
const LARGEST_VALUE: f64 = 1e37;

fn too_large_for_its_kernel(row: usize, found: f64) -> Error {
    let hint = " up to 1e37: beyond single precision; leave the row out, scale its features (scale, or by hand), or lower the kernel's degree";
    ErrorKind::NotFinite { row, column: "k(x, x)".into(), found, hint }.into()
}

/// State stays below 1e150, so only a kernel value can make a score infinite.
fn beyond_single_precision(row: usize, found: f64) -> Error {
    let hint = "; a kernel value of this row is beyond single precision: leave the row out, or scale its features";
    ErrorKind::NotFinite { row, column: "score".into(), found, hint }.into()
}

pub(crate) fn build_engine(config: &Config, features: usize) -> Result<DenseEngine> {
    let backend = Backend::chosen().map_err(|reason| Error::config("OKL_BACKEND", reason))?;
    let output = config.output()?;
    let outputs = match (&output, config.loss.reads()) {
        (crate::parts::output::Output::Separable(js), _) => js[0].size(),
        (_, Reads::Class) => config.classes.as_ref().map_or(0, Vec::len),
        _ => config.target_scale.outputs().unwrap_or(1),
    };
    let rule = config.budget();
    let (heads, planes) = (config.heads(), config.planes());
    let eta_lambda = heads[0].0.lambda * heads[0].0.step.largest(heads[0].0.lambda);
    let head = |(Member { step, lambda, width, average }, beside): (Member, Option<Average>)| HeadParts {
        step,
        lambda,
        plane: width * planes,
        average: beside.unwrap_or(average),
        both: beside.is_some(),
    };
    let mut engine = Engine::new(Parts {
        space: Dense::new(config.kernels(), features, backend),
        loss: config.loss.clone(),
        budget: AnyBudget::new(rule.clone(), eta_lambda),
        heads: heads.into_iter().map(head).collect(),
        output,
        outputs,
        theta0: config.theta0,
        rules: Rules {
            regulariser: config.regulariser,
            offset: config.offset,
            implicit: config.proximal(),
            allow_overshoot: config.allow_overshoot,
            shrink: config.shrink,
        },
    });
    if let Threshold::Tracker { speed } = config.threshold {
        let scores = config.novelty_scores();
        engine.heads.iter_mut().for_each(|h| h.tracker = Some(Tracker::new(speed, config.warmup, scores)));
    }
    if let Some(terms) = rule.capacity().filter(|_| matches!(rule, BudgetRule::Window { .. })) {
        engine.heads.iter_mut().for_each(|h| h.expansion.reserve(terms.min(1 << 12)));
    }
    Ok(engine)
}
