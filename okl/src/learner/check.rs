//! A batch is checked whole before anything changes (law 6): targets against the loss and the classes, rows against the kernel.

use crate::basis::Space;
use crate::config::{Label, TargetScale};
use crate::error::{Error, ErrorKind, Result};
use crate::learner::batch::{BLOCK, Batch, Targets};
use crate::learner::classes::Classes;
use crate::learner::{Learner, Part};
use crate::parts::loss::Reads;

/// The targets of a batch as the loop reads them: numbers, row by row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Checked {
    pub y: Vec<f64>,
    pub width: usize,
    pub known: Vec<bool>,
    /// Classes named for the first time, in order, each with the row that names it.
    pub new_classes: Vec<(usize, Label)>,
    /// The row whose class takes over the positive sign: f is negated before it.
    pub negated_at: Option<usize>,
}

impl Checked {
    /// The positive class by the classes up to this row's; `classes` has those up to its block's.
    pub fn positive_at(&self, row: usize, classes: &Classes) -> Option<usize> {
        let first = self.new_classes.first().filter(|(_, name)| classes.names.first() == Some(name));
        let unnamed = first.is_some_and(|(at, _)| row < *at);
        let before = self.negated_at.is_some_and(|at| row < at);
        classes.positive.filter(|_| !unnamed).map(|positive| if before { 0 } else { positive })
    }
}

/// What a learner knows before a batch comes.
pub(crate) struct Known<'a> {
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
pub(crate) fn check(batch: &Batch<'_>, known: &Known<'_>, out: &mut Checked) -> Result<()> {
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
fn signs_of(labels: &[Label], out: &Checked) -> Result<Vec<f64>> {
    let sign = |(row, label): (usize, &Label)| match label {
        Label::Int(sign @ (-1 | 1)) => Ok(*sign as f64),
        _ if !out.known.get(row).is_some_and(|known| *known) => Ok(0.0),
        _ => Err(target_error(row, label.to_string(), "-1 or +1, as in the rows before")),
    };
    labels.iter().enumerate().map(sign).collect()
}

/// Writes the targets as they are learned.
fn check_numbers(y: &[f64], rows: usize, known: &Known<'_>, out: &mut Checked) -> Result<()> {
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
fn check_labels(labels: &[Label], reads: Reads, rows: usize, classes: &Classes, out: &mut Checked) -> Result<()> {
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

impl Learner {
    /// Kernel values of a row must fit single precision. While the frame is provisional nothing is refused, because the frame that a row
    /// will meet is not known; such a row is not learned, and counted. Rows after the end of the warm-up are held against what is found
    /// there, so that a row is refused in every cut or in none.
    pub(super) fn check_values(&mut self, batch: &Batch<'_>, checked: &Checked) -> Result<()> {
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
}

/// The largest k(x, x) of a row that is learned: single precision ends at 3.4e38, and the rounding of other values needs room.
const LARGEST_VALUE: f64 = 1e37;

fn too_large_for_its_kernel(row: usize, found: f64) -> Error {
    let hint = " up to 1e37: beyond single precision; leave the row out, scale its features (scale, or by hand), or lower the kernel's degree";
    ErrorKind::NotFinite { row, column: "k(x, x)".into(), found, hint }.into()
}
