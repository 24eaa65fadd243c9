//! Checks a batch completely before any state changes (law 6): targets against the loss and the classes, rows against the kernel.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use crate::basis::Space;
use crate::basis::fourier::Fourier;
use crate::basis::quadratic::MOST_COLUMNS;
use crate::config::{Anchor, Label, Scale, TargetScale};
use crate::error::{Error, ErrorKind, Result};
use crate::learner::batch::{Batch, Targets};
use crate::learner::classes::Classes;
use crate::learner::rows::FramedRows;
use crate::learner::{Learner, Part};
use crate::parts::loss::{Loss, Reads};

/// The targets of a batch in the form that the engine needs: numbers, row by row.
#[derive(Clone, Debug, Default)]
pub(crate) struct TargetNumbers {
    pub y: Vec<f64>,
    pub width: usize,
    pub known: Vec<bool>,
    /// New classes in order, each with the row of its first occurrence.
    pub new_classes: Vec<(usize, Label)>,
    /// The row whose new class becomes the positive one; f is negated before this row.
    pub negated_at: Option<usize>,
}

impl TargetNumbers {
    /// The positive class, given the classes up to and including this row. `classes` has the classes up to the end of the block.
    pub fn positive_at(&self, row: usize, classes: &Classes) -> Option<usize> {
        let first = self.new_classes.first().filter(|(_, name)| classes.names.first() == Some(name));
        let unnamed = first.is_some_and(|(at, _)| row < *at);
        let before = self.negated_at.is_some_and(|at| row < at);
        classes.positive.filter(|_| !unnamed).map(|positive| if before { 0 } else { positive })
    }
}

/// The state of the learner before the batch, as far as the check needs it.
struct Known<'a> {
    pub reads: Reads,
    pub features: usize,
    /// The number of outputs, if it is known.
    pub outputs: Option<usize>,
    pub target_scale: &'a TargetScale,
    pub classes: &'a Classes,
    /// Whether an example has been learned.
    pub started: bool,
    /// Whether the work is shared among the threads of rayon's current pool.
    pub shared: bool,
}

/// Checks a batch and writes its targets as numbers to `out`.
fn check(batch: &Batch<'_>, known: &Known<'_>, out: &mut TargetNumbers) -> Result<()> {
    let Known { reads, features, classes, shared, .. } = *known;
    batch.check_rows(features, shared)?;
    batch.check_lengths()?;
    let rows = batch.rows();
    (out.width, out.negated_at) = (0, None);
    out.new_classes.clear();
    out.y.clear();
    out.known.clear();
    out.known.extend((0..rows).map(|i| batch.is_example(i)));
    match (reads, batch.targets) {
        (Reads::Nothing, targets) => check_ignored(targets, rows, " (a novelty loss does not read them)"),
        (_, Targets::None) => {
            out.known.fill(false);
            Ok(())
        }
        (Reads::Sign, Targets::Labels(labels)) if known.started && classes.names.is_empty() => {
            check_numbers(&signs_of(labels, out)?, rows, known, out)
        }
        (Reads::Sign, Targets::Numbers(y)) if classes.are_signs() => {
            check_numbers(y, rows, known, out)?;
            let labels: Vec<Label> = y.iter().map(|y| Label::Int(*y as i64)).collect();
            out.y.clear();
            check_labels(&labels, reads, rows, classes, out)
        }
        (Reads::Sign, Targets::Numbers(_)) if !classes.names.is_empty() && !classes.fixed => {
            let expected = format!("class labels: the rows before had the class {}", classes.names[0]);
            other_kind(batch.targets, "numbers", &expected, rows, out)
        }
        (Reads::Sign | Reads::Class, Targets::Labels(labels)) => check_labels(labels, reads, rows, classes, out),
        (Reads::Class, Targets::Numbers(_)) => other_kind(batch.targets, "numbers", "class labels", rows, out),
        (_, Targets::Labels(_)) => other_kind(batch.targets, "class labels", "numbers: this is a loss for regression", rows, out),
        (_, Targets::Numbers(y)) => check_numbers(y, rows, known, out),
    }
}

/// Checks the number of targets that are not read, and says `why` they are not.
fn check_ignored(targets: Targets<'_>, rows: usize, why: &str) -> Result<()> {
    match targets {
        Targets::Labels(labels) if labels.len() != rows => {
            Err(Error::shape("labels", format!("{rows}, one per row{why}"), labels.len()))
        }
        Targets::Numbers(y) if y.len() != y.len().checked_div(rows).unwrap_or(0).max(1) * rows => {
            Err(Error::shape("targets", format!("{rows}, one per row{why}"), y.len()))
        }
        _ => Ok(()),
    }
}

/// Targets of another kind than the loss reads: an error of the first row with a target. Where no row has one, the kind says nothing: a list
/// without targets has none.
fn other_kind(targets: Targets<'_>, found: &str, expected: &str, rows: usize, out: &TargetNumbers) -> Result<()> {
    match out.known.iter().position(|known| *known) {
        Some(row) => Err(target_error(row, found, expected)),
        None => check_ignored(targets, rows, ""),
    }
}

fn target_error(row: usize, found: impl Into<String>, expected: impl Into<String>) -> Error {
    ErrorKind::Target { row, found: found.into(), expected: expected.into() }.into()
}

/// Converts labels for a learner that has learned the numbers -1 and +1 so far: the labels -1 and +1 are these numbers, others
/// are errors.
fn signs_of(labels: &[Label], out: &TargetNumbers) -> Result<Vec<f64>> {
    let sign = |(row, label): (usize, &Label)| match label {
        Label::Int(sign @ (-1 | 1)) => Ok(*sign as f64),
        _ if !out.known.get(row).is_some_and(|known| *known) => Ok(0.0),
        _ => Err(target_error(row, label.to_string(), "-1 or +1, as in the rows before")),
    };
    labels.iter().enumerate().map(sign).collect()
}

/// The least number of targets that a thread checks or copies.
const LEAST_TARGETS: usize = 1 << 12;

/// Checks targets that are numbers and writes them to `out`, scaled by the target scale.
fn check_numbers(y: &[f64], rows: usize, known: &Known<'_>, out: &mut TargetNumbers) -> Result<()> {
    let Known { reads, outputs, target_scale, shared, .. } = *known;
    let width = if reads == Reads::Vector { outputs.unwrap_or(y.len().checked_div(rows).unwrap_or(1).max(1)) } else { 1 };
    if y.len() != rows * width {
        return Err(Error::shape("targets", format!("{}, {width} per row", rows * width), y.len()));
    }
    let bad_number = |o: usize, y: f64| !target_scale.learned(o, y).is_finite();
    let bad_row = |row: usize| {
        let y = &y[row * width..(row + 1) * width];
        out.known[row] && ((0..width).any(|o| bad_number(o, y[o])) || reads == Reads::Sign && y[0].abs() != 1.0)
    };
    let bad = match shared {
        true => (0..rows).into_par_iter().with_min_len(LEAST_TARGETS).find_first(|row| bad_row(*row)),
        false => (0..rows).find(|row| bad_row(*row)),
    };
    if let Some(row) = bad {
        let y = &y[row * width..];
        let Some(column) = (0..width).find(|&o| bad_number(o, y[o])) else {
            return Err(target_error(row, y[0].to_string(), "-1 or +1, or class labels"));
        };
        let (found, column) = (y[column], format!("target {column}"));
        let hint = match found.is_finite() {
            true => " after target_scale is applied; leave the row out",
            false => "; use `known` for a missing target",
        };
        return Err(ErrorKind::NotFinite { row, column, found, hint }.into());
    }
    // A batch without rows does not determine the number of outputs.
    out.width = if rows > 0 { width } else { 0 };
    let learned = |(i, y): (usize, &f64)| target_scale.learned(i % width, *y);
    match shared {
        true => y.par_iter().enumerate().with_min_len(LEAST_TARGETS).map(learned).collect_into_vec(&mut out.y),
        false => out.y.extend(y.iter().enumerate().map(learned)),
    }
    Ok(())
}

/// Checks labels and writes their class numbers or signs to `out`. A class exists from its first row on; [`Label::named_as`] finds the
/// class of a label of another type. For a loss with a sign as
/// target, records the row whose new class becomes the positive one.
fn check_labels(labels: &[Label], reads: Reads, rows: usize, classes: &Classes, out: &mut TargetNumbers) -> Result<()> {
    if labels.len() != rows {
        return Err(Error::shape("labels", format!("{rows}, one per row"), labels.len()));
    }
    let (old, mut positive) = (classes.names.len(), classes.positive);
    for (row, label) in labels.iter().enumerate() {
        if !out.known[row] {
            out.y.push(0.0);
            continue;
        }
        let find = |label: &Label, new: &[(usize, Label)]| {
            classes.index(label).or_else(|| new.iter().position(|(_, c)| c == label).map(|i| old + i))
        };
        let found = find(label, &out.new_classes);
        let name = match found {
            Some(_) => Cow::Borrowed(label),
            None => Cow::Owned(label.clone().named_as(classes.names.iter().chain(out.new_classes.iter().map(|(_, c)| c)))),
        };
        let index = match found.or_else(|| find(&name, &out.new_classes)) {
            Some(index) => index,
            None if classes.fixed => {
                let names: Vec<String> = classes.names.iter().take(20).map(Label::to_string).collect();
                return Err(target_error(row, label.to_string(), format!("one of the given classes: {}", names.join(", "))));
            }
            None => {
                let index = old + out.new_classes.len();
                let first = classes.names.first().or(out.new_classes.first().map(|(_, name)| name));
                let after = classes.positive_with(index, first, &name, positive);
                out.negated_at = if index == 1 && after != positive { Some(row) } else { out.negated_at };
                positive = after;
                out.new_classes.push((row, name.into_owned()));
                index
            }
        };
        if reads == Reads::Sign && index > 1 {
            let names = classes.names.iter().chain(out.new_classes.iter().map(|(_, name)| name));
            let names: Vec<String> = names.take(2).map(Label::to_string).collect();
            let expected = format!("one of two classes ({}); use max_margin or softmax for more", names.join(", "));
            return Err(target_error(row, label.to_string(), expected));
        }
        let sign = if positive == Some(index) { 1.0 } else { -1.0 };
        out.y.push(if reads == Reads::Sign { sign } else { index as f64 });
    }
    out.width = 1;
    Ok(())
}

/// The state of a learner on which the check of a batch depends. In one learner, classes and features are only added, so their
/// numbers are enough.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Standing {
    learner: u64,
    features: usize,
    outputs: Option<usize>,
    classes: usize,
    started: bool,
    /// The number of examples of the warm-up; none after its end.
    warm: Option<usize>,
    /// The number of steps, if rows are kernel values: these are of the terms of that time.
    terms_of: Option<u64>,
}

/// Buffers for checks and blocks, reused from call to call.
#[derive(Clone, Debug, Default)]
pub(crate) struct CheckBuffers {
    pub targets: TargetNumbers,
    /// The rows of a block that had to be copied.
    pub read: Vec<f64>,
    framed: FramedRows,
    values: Vec<f64>,
}

/// A checked batch and the number of its rows that have been learned. It does not record whether the check is still valid.
#[derive(Debug)]
pub(super) struct CheckedRows<'a> {
    pub batch: Batch<'a>,
    pub buffers: Box<CheckBuffers>,
    pub learned: usize,
}

/// A checked batch, and the number of its rows that have been learned; see [`Learner::check`].
#[derive(Debug)]
pub struct Checked<'a> {
    pub(super) rows: CheckedRows<'a>,
    standing: Standing,
    /// The number of steps of the learner after the last block that was learned from this batch.
    steps: u64,
}

impl Checked<'_> {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows.batch.rows()
    }

    /// The number of rows learned so far.
    pub fn learned(&self) -> usize {
        self.rows.learned
    }
}

/// A number that identifies a learner; a copy gets a new number.
#[derive(Debug)]
pub(crate) struct Identity(u64);

impl Default for Identity {
    fn default() -> Self {
        static LEARNERS: AtomicU64 = AtomicU64::new(0);
        Identity(LEARNERS.fetch_add(1, Ordering::Relaxed))
    }
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        Identity::default()
    }
}

impl Learner {
    /// Checks a batch without learning it. [`Learner::learn_checked`] learns it later: a server stores the rows in between.
    ///
    /// The learner may change in between: it may learn other rows, name classes, get more features or be replaced by another
    /// learner. In any case `learn_checked` does exactly what [`Learner::learn`] would do at that time, to the last bit. The batch
    /// is checked again, and can then be refused, only if something has changed that the check depends on: the features, the
    /// outputs, the classes, a warm-up under way, or the learner itself.
    ///
    /// ```
    /// use okl::{Batch, Config, Label, Learner};
    /// let mut learner = Learner::new(Config::from_toml("loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01")?)?;
    /// let (new, old) = ([Label::from("new")], [Label::from("old")]);
    /// let first = learner.check(&Batch::new(&[1.0], 1).labels(&new))?;
    /// let second = learner.check(&Batch::new(&[2.0], 1).labels(&old))?;
    /// assert_eq!((first.rows(), learner.examples()), (1, 0));     // nothing has changed yet: store the rows here
    /// learner.learn_checked(first)?;
    /// learner.learn_checked(second)?;                             // there is a class more: checked again
    /// assert_eq!(learner.classes(), [new[0].clone(), old[0].clone()]);
    /// # Ok::<(), okl::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Learner::learn`].
    pub fn check<'a>(&self, batch: &Batch<'a>) -> Result<Checked<'a>> {
        let mut buffers = Box::default();
        self.check_batch(batch, &mut buffers)?;
        let rows = CheckedRows { batch: *batch, buffers, learned: 0 };
        Ok(Checked { rows, standing: self.standing(), steps: self.steps() })
    }

    /// Checks a batch that is learned immediately; reuses the buffers of the last check.
    pub(super) fn check_reusing_memory<'a>(&mut self, batch: &Batch<'a>) -> Result<CheckedRows<'a>> {
        let mut buffers = self.buffers.take().unwrap_or_default();
        self.check_batch(batch, &mut buffers)?;
        Ok(CheckedRows { batch: *batch, buffers, learned: 0 })
    }

    /// Checks the batch again if the state that the check depends on has changed.
    ///
    /// # Errors
    /// As [`Learner::check`]; and if other rows were learned after the first rows of this batch.
    pub(super) fn check_again(&self, checked: &mut Checked<'_>) -> Result<()> {
        let same = checked.standing == self.standing();
        if checked.rows.learned > 0 {
            let reason = "the learner has changed since the first rows of this batch were learned: check the other rows again";
            return if same && checked.steps == self.steps() { Ok(()) } else { Err(Error::config("batch", reason)) };
        }
        if !same {
            self.check_batch(&checked.rows.batch, &mut checked.rows.buffers)?;
            checked.standing = self.standing();
        }
        Ok(())
    }

    /// Records the state of the learner after rows of a checked batch have been learned.
    pub(super) fn note_learned(&self, checked: &mut Checked<'_>) {
        (checked.standing, checked.steps) = (self.standing(), self.steps());
    }

    fn check_batch(&self, batch: &Batch<'_>, buffers: &mut CheckBuffers) -> Result<()> {
        let known = Known {
            reads: self.config.loss.reads(),
            features: self.features,
            outputs: self.outputs_known.then(|| self.outputs()),
            target_scale: &self.config.target_scale,
            classes: &self.classes,
            started: self.engine.t > 0,
            shared: self.pool.is_some() && batch.is_long(),
        };
        self.check_kind(batch)?;
        match self.pool.as_ref().filter(|_| known.shared) {
            Some(pool) => pool.install(|| check(batch, &known, &mut buffers.targets))?,
            None => check(batch, &known, &mut buffers.targets)?,
        }
        self.check_layout(batch)?;
        self.check_columns(batch)?;
        self.check_kernel_values(batch)?;
        self.check_values(batch, buffers)
    }

    /// Refuses rows with more features than the learner can hold: those of a weight vector, of a frame, or of sparse rows that have to
    /// be expanded because the learner subtracts a number from every column.
    pub(super) fn check_layout(&self, batch: &Batch<'_>) -> Result<()> {
        let found = batch.features;
        let refuse = |most: usize, why: &str| Err(Error::shape("features", format!("at most {most} {why}"), found));
        if let Some(fourier) =
            self.engine.basis.fourier().filter(|fourier| found.saturating_mul(fourier.size() / 2) > MOST_WEIGHTS)
        {
            return refuse(
                MOST_WEIGHTS * 2 / fourier.size(),
                "for so many random features: use fewer, hashed features, or form = terms",
            );
        }
        if found > MOST_ORTHOGONAL && self.engine.basis.fourier().is_some_and(Fourier::is_orthogonal) {
            return refuse(MOST_ORTHOGONAL, "for orthogonal random features: leave orthogonal out");
        }
        self.check_products(found)?;
        if self.engine.basis.has_weights() && found > MOST_WEIGHTS {
            return refuse(MOST_WEIGHTS, "for form = weights: use hashed features, or form = terms");
        }
        if (self.config.needs_scale() || !self.frame.shift.is_empty()) && found > MOST_FRAMED {
            return refuse(MOST_FRAMED, "where columns are scaled: set scale = none");
        }
        if batch.is_sparse() && !self.config.keeps_zeros() && found > MOST_EXPANDED {
            return refuse(MOST_EXPANDED, self.why_expanded());
        }
        Ok(())
    }

    /// Why sparse rows become dense, and the setting with which they stay sparse.
    fn why_expanded(&self) -> &'static str {
        let shifted = matches!(&self.config.scale, Scale::Fixed { shift, .. } if shift.iter().any(|shift| *shift != 0.0));
        match (self.config.anchor == Anchor::None, shifted) {
            (false, false) => "in sparse rows where columns are centred: set anchor = none",
            (false, true) => "in sparse rows with a scale that shifts columns: set scale = none and anchor = none",
            (true, true) => "in sparse rows with a scale that shifts columns: set scale = none",
            (true, false) => "in sparse rows under the kernel manhattan, which needs dense rows: use another kernel",
        }
    }

    /// Refuses more columns than the features of the polynomial kernel of degree 2 may have.
    pub(super) fn check_products(&self, found: usize) -> Result<()> {
        if !self.engine.basis.is_quadratic() || found <= MOST_COLUMNS {
            return Ok(());
        }
        let why =
            "for a polynomial kernel as weights, which has a weight for every two columns: use form = terms, or fewer columns";
        Err(Error::shape("features", format!("at most {MOST_COLUMNS} {why}"), found))
    }

    fn standing(&self) -> Standing {
        Standing {
            learner: self.identity.0,
            features: self.features,
            outputs: self.outputs_known.then(|| self.outputs()),
            classes: self.classes.names.len(),
            started: self.engine.t > 0,
            warm: self.warm.as_ref().map(|warm| warm.weights.len()),
            terms_of: self.config.is_precomputed().then(|| self.steps()),
        }
    }

    /// The number of steps so far, skipped ones included.
    pub(super) fn steps(&self) -> u64 {
        self.engine.t + self.engine.skipped
    }

    /// Refuses rows whose kernel values exceed single precision. During the warm-up no row is refused, because the final frame is not
    /// known yet; a row with too large values is then skipped and counted when it is learned. Rows of the batch after the end of the
    /// warm-up are checked with the frame found there, so whether a row is refused does not depend on the cut.
    fn check_values(&self, batch: &Batch<'_>, buffers: &mut CheckBuffers) -> Result<()> {
        if self.engine.basis.space.diagonal().is_some() {
            return Ok(());
        }
        let Some(warm) = &self.warm else { return self.check_own_values(batch, 0, buffers) };
        let missing = self.config.warmup - warm.weights.len();
        let examples = buffers.targets.known.iter().enumerate().filter(|(_, known)| **known);
        match examples.map(|(row, _)| row + 1).nth(missing - 1).filter(|&end| end < batch.rows()) {
            Some(end) => self.warmed_up_by(batch, &buffers.targets, end).check_own_values(batch, end, buffers),
            None => Ok(()),
        }
    }

    /// A copy of the learner at the end of the warm-up, with the frame and kernels found from the rows before `end`.
    fn warmed_up_by(&self, batch: &Batch<'_>, targets: &TargetNumbers, end: usize) -> Learner {
        let (mut settled, mut buffer) = (self.clone(), Vec::new());
        settled.settle_widths(batch, targets);
        let weights = batch.weights.map(|weights| &weights[..end]);
        settled.remember(&Part { batch, targets, rows: 0..end, x: batch.block(0..end, &mut buffer), weights, shares: None });
        settled
    }

    /// Refuses rows whose k(x, x) exceeds single precision. Other values then fit, too, because |k(x, x')|² <= k(x, x) k(x', x').
    fn check_own_values(&self, batch: &Batch<'_>, from: usize, buffers: &mut CheckBuffers) -> Result<()> {
        let (space, CheckBuffers { read, framed, values, .. }) = (&self.engine.basis.space, buffers);
        let sparse = space.is_sparse() || (batch.is_sparse() && self.config.keeps_zeros());
        values.resize(space.planes(), 0.0);
        batch.try_each_block(from, read, |first, rows| {
            framed.fill(&self.frame, rows, space.backend(), sparse);
            for row in 0..rows.count() {
                space.diagonal_at(framed.squares()[row], values);
                if let Some(&found) = values.iter().find(|k| k.is_nan() || k.abs() > LARGEST_VALUE) {
                    return Err(too_large_for_its_kernel(first + row, found));
                }
            }
            Ok(())
        })
    }
}

/// The most features of a row under orthogonal random features: making them orthogonal takes time in proportion to their square.
const MOST_ORTHOGONAL: usize = 1 << 10;
/// The most features of a weight vector, of a frame, and of sparse rows that are expanded.
const MOST_WEIGHTS: usize = 1 << 28;
const MOST_FRAMED: usize = 1 << 24;
const MOST_EXPANDED: usize = 1 << 16;

/// The largest k(x, x) of a row that is learned. Single precision ends at 3.4e38; the difference is a margin for rounding.
pub(super) const LARGEST_VALUE: f64 = 1e37;

fn too_large_for_its_kernel(row: usize, found: f64) -> Error {
    let hint = " up to 1e37: beyond single precision; leave the row out, scale its features (scale, or by hand), or lower the kernel's degree";
    ErrorKind::NotFinite { row, column: "k(x, x)".into(), found, hint }.into()
}
