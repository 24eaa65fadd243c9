//! A batch is checked whole before anything changes (law 6): targets against the loss and the classes, rows against the kernel.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::basis::Space;
use crate::config::{Label, TargetScale};
use crate::error::{Error, ErrorKind, Result};
use crate::learner::batch::{Batch, Targets};
use crate::learner::classes::Classes;
use crate::learner::rows::FramedRows;
use crate::learner::{Learner, Part};
use crate::parts::loss::{Loss, Reads};

/// The targets of a batch as the loop reads them: numbers, row by row.
#[derive(Clone, Debug, Default)]
pub(crate) struct TargetNumbers {
    pub y: Vec<f64>,
    pub width: usize,
    pub known: Vec<bool>,
    /// Classes named for the first time, in order, each with the row that names it.
    pub new_classes: Vec<(usize, Label)>,
    /// The row whose class takes over the positive sign: f is negated before it.
    pub negated_at: Option<usize>,
}

impl TargetNumbers {
    /// The positive class by the classes up to this row's; `classes` has those up to its block's.
    pub fn positive_at(&self, row: usize, classes: &Classes) -> Option<usize> {
        let first = self.new_classes.first().filter(|(_, name)| classes.names.first() == Some(name));
        let unnamed = first.is_some_and(|(at, _)| row < *at);
        let before = self.negated_at.is_some_and(|at| row < at);
        classes.positive.filter(|_| !unnamed).map(|positive| if before { 0 } else { positive })
    }
}

/// What a learner knows before a batch comes.
struct Known<'a> {
    pub reads: Reads,
    pub features: usize,
    /// The number of outputs, once it is settled.
    pub outputs: Option<usize>,
    pub target_scale: &'a TargetScale,
    pub classes: &'a Classes,
    /// Have there been examples?
    pub started: bool,
}

/// Checks everything about a batch that can be wrong; writes the targets as numbers.
fn check(batch: &Batch<'_>, known: &Known<'_>, out: &mut TargetNumbers) -> Result<()> {
    let Known { reads, features, classes, .. } = *known;
    batch.check_rows(features)?;
    batch.check_lengths()?;
    let rows = batch.rows();
    (out.width, out.negated_at) = (0, None);
    out.new_classes.clear();
    out.y.clear();
    out.known.clear();
    out.known.extend((0..rows).map(|i| batch.is_example(i)));
    match (reads, batch.targets) {
        (Reads::Nothing, targets) => check_ignored(targets, rows),
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
            Err(target_error(0, "numbers", format!("class labels: the rows before had the class {}", classes.names[0])))
        }
        (Reads::Sign | Reads::Class, Targets::Labels(labels)) => check_labels(labels, reads, rows, classes, out),
        (Reads::Class, Targets::Numbers(_)) => Err(target_error(0, "numbers", "class labels")),
        (_, Targets::Labels(_)) => Err(target_error(0, "class labels", "numbers: this is a loss for regression")),
        (_, Targets::Numbers(y)) => check_numbers(y, rows, known, out),
    }
}

/// A novelty loss reads no target; those that come with the rows must still belong to them.
fn check_ignored(targets: Targets<'_>, rows: usize) -> Result<()> {
    match targets {
        Targets::Labels(labels) if labels.len() != rows => {
            Err(Error::shape("labels", format!("{rows}, one per row (a novelty loss does not read them)"), labels.len()))
        }
        Targets::Numbers(y) if y.len() != y.len().checked_div(rows).unwrap_or(0).max(1) * rows => {
            Err(Error::shape("targets", format!("{rows}, one per row (a novelty loss does not read them)"), y.len()))
        }
        _ => Ok(()),
    }
}

fn target_error(row: usize, found: impl Into<String>, expected: impl Into<String>) -> Error {
    ErrorKind::Target { row, found: found.into(), expected: expected.into() }.into()
}

/// Labels for a learner that has learned numbers: the classes -1 and +1 are these numbers, others are errors.
fn signs_of(labels: &[Label], out: &TargetNumbers) -> Result<Vec<f64>> {
    let sign = |(row, label): (usize, &Label)| match label {
        Label::Int(sign @ (-1 | 1)) => Ok(*sign as f64),
        _ if !out.known.get(row).is_some_and(|known| *known) => Ok(0.0),
        _ => Err(target_error(row, label.to_string(), "-1 or +1, as in the rows before")),
    };
    labels.iter().enumerate().map(sign).collect()
}

/// Writes the targets as they are learned.
fn check_numbers(y: &[f64], rows: usize, known: &Known<'_>, out: &mut TargetNumbers) -> Result<()> {
    let Known { reads, outputs, target_scale, .. } = *known;
    let width = if reads == Reads::Vector { outputs.unwrap_or(y.len().checked_div(rows).unwrap_or(1).max(1)) } else { 1 };
    if y.len() != rows * width {
        return Err(Error::shape("targets", format!("{}, {width} per row", rows * width), y.len()));
    }
    for (row, y) in y.chunks_exact(width).enumerate().filter(|(row, _)| out.known[*row]) {
        if let Some(column) = (0..width).find(|&o| !target_scale.learned(o, y[o]).is_finite()) {
            let (found, column) = (y[column], format!("target {column}"));
            let hint = match found.is_finite() {
                true => " as target_scale makes it; leave the row out",
                false => "; use `known` for a missing target",
            };
            return Err(ErrorKind::NotFinite { row, column, found, hint }.into());
        }
        if reads == Reads::Sign && y[0].abs() != 1.0 {
            return Err(target_error(row, y[0].to_string(), "-1 or +1, or class labels"));
        }
    }
    // No rows settle nothing.
    out.width = if rows > 0 { width } else { 0 };
    out.y.extend(y.iter().enumerate().map(|(i, y)| target_scale.learned(i % width, *y)));
    Ok(())
}

/// A class exists from the row that names it, and is learned from there on. Under a sign, f is negated at the row whose class
/// takes over the positive sign.
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
        let new = || out.new_classes.iter().position(|(_, c)| c == label).map(|i| old + i);
        let index = match classes.index(label).or_else(new) {
            Some(index) => index,
            None if classes.fixed => {
                let names: Vec<String> = classes.names.iter().take(20).map(Label::to_string).collect();
                return Err(target_error(row, label.to_string(), format!("one of the given classes: {}", names.join(", "))));
            }
            None => {
                let index = old + out.new_classes.len();
                let first = classes.names.first().or(out.new_classes.first().map(|(_, name)| name));
                let after = classes.positive_with(index, first, label, positive);
                out.negated_at = if index == 1 && after != positive { Some(row) } else { out.negated_at };
                positive = after;
                out.new_classes.push((row, label.clone()));
                index
            }
        };
        if reads == Reads::Sign && index > 1 {
            return Err(target_error(row, label.to_string(), "one of two classes; use max_margin or softmax for more"));
        }
        let sign = if positive == Some(index) { 1.0 } else { -1.0 };
        out.y.push(if reads == Reads::Sign { sign } else { index as f64 });
    }
    out.width = 1;
    Ok(())
}

/// What the check of a batch depends on, beside the batch and the settings of the learner. Of one learner, classes and features are
/// only added.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Standing {
    learner: u64,
    features: usize,
    outputs: Option<usize>,
    classes: usize,
    started: bool,
    /// Examples of a warm-up under way.
    warm: Option<usize>,
}

/// Memory for checks and blocks, kept from call to call.
#[derive(Clone, Debug, Default)]
pub(crate) struct CheckBuffers {
    pub targets: TargetNumbers,
    /// Rows of a block that are not read where they are.
    pub read: Vec<f64>,
    framed: FramedRows,
    values: Vec<f64>,
}

/// A batch that a learner has checked, and how many of its rows have been learned: see [`Learner::check`].
#[derive(Debug)]
pub struct Checked<'a> {
    pub(super) batch: Batch<'a>,
    pub(super) buffers: CheckBuffers,
    pub(super) learned: usize,
    standing: Standing,
    /// The steps of the learner after its last block of this batch.
    steps: u64,
}

impl Checked<'_> {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.batch.rows()
    }

    /// Rows learned so far.
    pub fn learned(&self) -> usize {
        self.learned
    }
}

/// Distinguishes learners: a copy is another one.
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
        self.check_in(batch, CheckBuffers::default())
    }

    /// Checks a batch in memory that is there.
    pub(super) fn check_in<'a>(&self, batch: &Batch<'a>, mut buffers: CheckBuffers) -> Result<Checked<'a>> {
        self.check_batch(batch, &mut buffers)?;
        Ok(Checked { batch: *batch, buffers, learned: 0, standing: self.standing(), steps: self.steps() })
    }

    /// Brings a check up to date. Nothing has to be done while all that it depends on is as it was.
    ///
    /// # Errors
    /// As [`Learner::check`]; and if other rows were learned after the first rows of this batch.
    pub(super) fn check_again(&self, checked: &mut Checked<'_>) -> Result<()> {
        let same = checked.standing == self.standing();
        if checked.learned > 0 {
            let reason = "the learner has changed since the first rows of this batch were learned: check the other rows again";
            return if same && checked.steps == self.steps() { Ok(()) } else { Err(Error::config("batch", reason)) };
        }
        if !same {
            self.check_batch(&checked.batch, &mut checked.buffers)?;
            checked.standing = self.standing();
        }
        Ok(())
    }

    /// Counts rows of a checked batch as learned.
    pub(super) fn note_learned(&self, checked: &mut Checked<'_>, rows: usize) {
        checked.learned += rows;
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
        };
        check(batch, &known, &mut buffers.targets)?;
        self.check_values(batch, buffers)
    }

    fn standing(&self) -> Standing {
        Standing {
            learner: self.identity.0,
            features: self.features,
            outputs: self.outputs_known.then(|| self.outputs()),
            classes: self.classes.names.len(),
            started: self.engine.t > 0,
            warm: self.warm.as_ref().map(|warm| warm.weights.len()),
        }
    }

    /// Steps so far, those included that were not taken.
    fn steps(&self) -> u64 {
        self.engine.t + self.engine.skipped
    }

    /// Kernel values of a row must fit single precision. While the frame is provisional nothing is refused, because the frame that a row
    /// will meet is not known; such a row is not learned, and counted. Rows after the end of the warm-up are held against what is found
    /// there, so that a row is refused in every cut or in none.
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

    /// A copy that has found its statistics from rows before `end`, the last of which ends the warm-up.
    fn warmed_up_by(&self, batch: &Batch<'_>, targets: &TargetNumbers, end: usize) -> Learner {
        let (mut settled, mut buffer) = (self.clone(), Vec::new());
        settled.settle_widths(batch, targets);
        settled.remember(&Part { batch, targets, rows: 0..end, x: batch.block(0..end, &mut buffer) });
        settled
    }

    /// Refuses rows whose k(x, x) is beyond single precision. |k(x, x')|² <= k(x, x) k(x', x'), so that other values then fit as well.
    fn check_own_values(&self, batch: &Batch<'_>, from: usize, buffers: &mut CheckBuffers) -> Result<()> {
        let (space, CheckBuffers { read, framed, values, .. }) = (&self.engine.basis.space, buffers);
        values.resize(space.planes(), 0.0);
        batch.try_each_block(from, read, |first, rows| {
            let points = framed.fill(&self.frame, rows, space.backend());
            for row in 0..rows.count() {
                space.self_values(points, row, values);
                if let Some(&found) = values.iter().find(|k| k.is_nan() || k.abs() > LARGEST_VALUE) {
                    return Err(too_large_for_its_kernel(first + row, found));
                }
            }
            Ok(())
        })
    }
}

/// The largest k(x, x) of a row that is learned: single precision ends at 3.4e38, and the rounding of other values needs room.
const LARGEST_VALUE: f64 = 1e37;

fn too_large_for_its_kernel(row: usize, found: f64) -> Error {
    let hint = " up to 1e37: beyond single precision; leave the row out, scale its features (scale, or by hand), or lower the kernel's degree";
    ErrorKind::NotFinite { row, column: "k(x, x)".into(), found, hint }.into()
}
