//! What goes into a learner: rows, targets, weights, ids; checked whole before anything changes (law 6).

use std::fmt::Debug;
use std::ops::Range;

use crate::basis::terms::NO_ID;
use crate::config::Label;
use crate::error::{Error, ErrorKind, Result};

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

    pub(crate) fn is_example(&self, i: usize) -> bool {
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

    pub(crate) fn check_lengths(&self) -> Result<()> {
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
