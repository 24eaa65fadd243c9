//! What goes into a learner: rows, targets, weights, ids; checked whole before anything changes (law 6).

use std::collections::HashMap;
use std::fmt::Debug;
use std::ops::Range;

use crate::basis::terms::NO_ID;
use crate::config::{Label, TargetScale};
use crate::error::{Error, ErrorKind, Result};
use crate::parts::loss::Reads;

/// The largest feature that is accepted: its square, summed over many features, still fits single precision.
pub const LARGEST: f64 = 1e15;

/// Rows are checked, read and learned so many at a time. No bit depends on it.
pub(crate) const BLOCK: usize = 256;

/// Rows that are read when their turn comes, a block at a time: of another type, or not one after the other in memory.
///
/// ```
/// use okl::{Batch, Config, Learner, batch::RowSource};
///
/// #[derive(Debug)]
/// struct Bytes<'a>(&'a [u8]);                             // rows of two
/// impl RowSource for Bytes<'_> {
///     fn rows(&self) -> usize { self.0.len() / 2 }
///     fn features(&self) -> usize { 2 }
///     fn read(&self, rows: std::ops::Range<usize>, to: &mut Vec<f64>) {
///         to.extend(self.0[2 * rows.start..2 * rows.end].iter().map(|&v| f64::from(v)));
///     }
/// }
/// let mut learner = Learner::new(Config::default())?;
/// learner.learn(&Batch::read_from(&Bytes(&[0, 1, 1, 0])).numbers(&[1.0, -1.0]))?;
/// assert_eq!(learner.examples(), 2);
/// # Ok::<(), okl::Error>(())
/// ```
pub trait RowSource: Debug + Sync {
    /// The number of rows.
    fn rows(&self) -> usize;
    /// Numbers per row.
    fn features(&self) -> usize;
    /// Appends the rows of a range, one after the other. The same range always gives the same numbers.
    fn read(&self, rows: Range<usize>, to: &mut Vec<f64>);
}

/// Features of consecutive rows, as they were given. The frame sees both kinds in double precision, so numbers that are equal
/// give the same bits, whichever kind they come as.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Features<'a> {
    Single(&'a [f32]),
    Double(&'a [f64]),
}

impl<'a> Features<'a> {
    pub fn len(self) -> usize {
        match self {
            Features::Single(x) => x.len(),
            Features::Double(x) => x.len(),
        }
    }

    pub fn range(self, range: Range<usize>) -> Self {
        match self {
            Features::Single(x) => Features::Single(&x[range]),
            Features::Double(x) => Features::Double(&x[range]),
        }
    }

    pub fn append_to(self, to: &mut Vec<f64>) {
        match self {
            Features::Single(x) => to.extend(x.iter().map(|&v| f64::from(v))),
            Features::Double(x) => to.extend_from_slice(x),
        }
    }

    fn check_finite(self, first: usize, features: usize) -> Result<()> {
        match self {
            Features::Single(x) => check_finite(x, first, features),
            Features::Double(x) => check_finite(x, first, features),
        }
    }
}

impl PartialEq for Features<'_> {
    fn eq(&self, other: &Self) -> bool {
        let same = |a: &[f32], b: &[f64]| a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| f64::from(a) == b);
        match (self, other) {
            (Features::Single(a), Features::Single(b)) => a == b,
            (Features::Double(a), Features::Double(b)) => a == b,
            (Features::Single(a), Features::Double(b)) | (Features::Double(b), Features::Single(a)) => same(a, b),
        }
    }
}

/// Where the rows of a batch come from.
#[derive(Clone, Copy, Debug)]
enum Rows<'a> {
    Here(Features<'a>),
    From(&'a dyn RowSource),
}

/// The targets of a batch.
#[derive(Clone, Copy, Debug, Default)]
pub enum Targets<'a> {
    /// None: the rows themselves are the examples (novelty losses, which check the number of other targets and read none of them).
    #[default]
    None,
    /// One or more numbers per row, row by row; -1 and +1 for losses that read a sign.
    Numbers(&'a [f64]),
    /// The name of a class per row.
    Labels(&'a [Label]),
}

/// Rows in order, with what is known of them.
///
/// ```
/// use okl::{Batch, Targets};
/// let x = [0.0f32, 1.0, 1.0, 0.0];
/// let batch = Batch::new(&x, 2).targets(Targets::Numbers(&[1.0, -1.0])).weights(&[1.0, 0.5]);
/// assert_eq!(batch.rows(), 2);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    rows: Rows<'a>,
    pub(crate) features: usize,
    pub(crate) targets: Targets<'a>,
    pub(crate) known: Option<&'a [bool]>,
    pub(crate) weights: Option<&'a [f64]>,
    pub(crate) ids: Option<&'a [u64]>,
}

impl<'a> Batch<'a> {
    /// Rows of `features` numbers each, one after the other.
    pub fn new(x: &'a [f32], features: usize) -> Self {
        Batch::of(Rows::Here(Features::Single(x)), features)
    }

    /// The same in double precision: numbers are centred and scaled as they are, and rounded to single precision after that.
    pub fn of_f64(x: &'a [f64], features: usize) -> Self {
        Batch::of(Rows::Here(Features::Double(x)), features)
    }

    /// Rows that are read block by block.
    pub fn read_from(source: &'a dyn RowSource) -> Self {
        Batch::of(Rows::From(source), source.features())
    }

    fn of(rows: Rows<'a>, features: usize) -> Self {
        Batch { rows, features, targets: Targets::None, known: None, weights: None, ids: None }
    }

    /// With targets.
    pub fn targets(self, targets: Targets<'a>) -> Self {
        Batch { targets, ..self }
    }

    /// With one number per row as target.
    pub fn numbers(self, y: &'a [f64]) -> Self {
        self.targets(Targets::Numbers(y))
    }

    /// With one class per row as target.
    pub fn labels(self, labels: &'a [Label]) -> Self {
        self.targets(Targets::Labels(labels))
    }

    /// Says which rows have a target; the others are only predicted, in their place.
    pub fn known(self, known: &'a [bool]) -> Self {
        Batch { known: Some(known), ..self }
    }

    /// With a weight per row, which multiplies loss and gradient; weight 0 is a row without a target.
    pub fn weights(self, weights: &'a [f64]) -> Self {
        Batch { weights: Some(weights), ..self }
    }

    /// With an id per row: a row whose id names a live term with the same features adds onto it. With other features the row takes
    /// the id over, which is counted ([`Health::ids_taken_over`](crate::Health::ids_taken_over)): the old term stays, without
    /// an id. The number `u64::MAX` is refused.
    pub fn ids(self, ids: &'a [u64]) -> Self {
        Batch { ids: Some(ids), ..self }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        match self.rows {
            Rows::Here(x) => x.len().checked_div(self.features).unwrap_or(0),
            Rows::From(source) => source.rows(),
        }
    }

    /// The rows of a range, one after the other: where they are, or read into `buffer`.
    pub(crate) fn block<'b>(&'b self, rows: Range<usize>, buffer: &'b mut Vec<f64>) -> Features<'b> {
        match self.rows {
            Rows::Here(x) => x.range(rows.start * self.features..rows.end * self.features),
            Rows::From(source) => {
                buffer.clear();
                source.read(rows, buffer);
                Features::Double(buffer)
            }
        }
    }

    fn is_example(&self, i: usize) -> bool {
        self.known.is_none_or(|k| k[i]) && self.weights.is_none_or(|w| w[i] > 0.0)
    }

    pub(crate) fn check_rows(&self, features: usize) -> Result<()> {
        if self.features == 0 {
            return Err(Error::shape("features", "at least 1", 0));
        }
        if let Rows::Here(x) = self.rows
            && !x.len().is_multiple_of(self.features)
        {
            return Err(Error::shape("x", format!("a multiple of {} features", self.features), x.len()));
        }
        if features != 0 && self.features != features {
            return Err(Error::shape("features", features, self.features));
        }
        let mut buffer = Vec::new();
        (0..self.rows()).step_by(BLOCK).try_for_each(|first| {
            let last = self.rows().min(first + BLOCK);
            self.block(first..last, &mut buffer).check_finite(first, self.features)
        })
    }

    fn check_lengths(&self) -> Result<()> {
        let rows = self.rows();
        let lengths = [
            ("known", self.known.map(<[bool]>::len)),
            ("weights", self.weights.map(<[f64]>::len)),
            ("ids", self.ids.map(<[u64]>::len)),
        ];
        for (what, len) in lengths {
            if let Some(len) = len.filter(|&len| len != rows) {
                return Err(Error::shape(what, format!("{rows}, one per row"), len));
            }
        }
        if let Some(row) = self.ids.and_then(|ids| ids.iter().position(|id| *id == NO_ID)) {
            return Err(ErrorKind::Id { row, id: NO_ID }.into());
        }
        let bad = |w: &f64| !(w.is_finite() && *w >= 0.0);
        match self.weights.and_then(|w| w.iter().position(bad).map(|row| (row, w[row]))) {
            Some((row, found)) => Err(ErrorKind::Weight { row, found }.into()),
            None => Ok(()),
        }
    }
}

fn check_finite<T: Copy + Into<f64>>(x: &[T], first: usize, features: usize) -> Result<()> {
    // Without a way out of the inner loop it runs on whole vectors; NaN compares as false.
    let good = |part: &[T]| part.iter().fold(true, |good, &v| good & (v.into().abs() <= LARGEST));
    let Some(part) = x.chunks(256).position(|part| !good(part)) else { return Ok(()) };
    let at = 256 * part + x[256 * part..].iter().position(|v| !good(&[*v])).unwrap_or(0);
    let found = x[at].into();
    let hint = if found.is_finite() { " below 1e15; rescale this feature" } else { "" };
    let (row, column) = (first + at / features, (at % features).to_string());
    Err(ErrorKind::NotFinite { row, column, found, hint }.into())
}

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

/// The names of classes, in order of appearance.
#[derive(Clone, Debug, Default)]
pub(crate) struct Classes {
    pub names: Vec<Label>,
    /// Were they given, so that others are errors?
    pub fixed: bool,
    /// Under a loss that reads a sign: the class whose scores are positive, once there is a class. Of two given ones the
    /// second; of two that appear, the one that sorts last; a class that is alone.
    pub positive: Option<usize>,
    signs: bool,
    index: HashMap<Label, usize>,
}

impl Classes {
    pub fn new(given: Option<&[Label]>, reads: Reads) -> Self {
        let mut classes = Classes { fixed: given.is_some(), signs: reads == Reads::Sign, ..Classes::default() };
        classes.extend(given.unwrap_or(&[]));
        classes
    }

    pub fn extend<'a>(&mut self, names: impl IntoIterator<Item = &'a Label>) {
        for name in names {
            self.positive = self.positive_with(self.names.len(), self.names.first(), name, self.positive);
            self.index.insert(name.clone(), self.names.len());
            self.names.push(name.clone());
        }
    }

    /// The positive class once `name` is class number `index` beside `first`.
    fn positive_with(&self, index: usize, first: Option<&Label>, name: &Label, before: Option<usize>) -> Option<usize> {
        match (self.signs, first) {
            (false, _) => None,
            (true, None) => Some(0),
            (true, Some(first)) if index == 1 && (self.fixed || name > first) => Some(1),
            _ => before,
        }
    }

    /// Are these the classes -1 and +1, or one of them, so that the numbers -1 and +1 name them?
    fn are_signs(&self) -> bool {
        !self.names.is_empty() && self.names.iter().all(is_sign)
    }

    pub fn index(&self, name: &Label) -> Option<usize> {
        self.index.get(name).copied()
    }
}

fn is_sign(label: &Label) -> bool {
    matches!(label, Label::Int(-1 | 1))
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
