//! The input of a learner: rows, targets, weights, ids. A batch is checked completely before any state changes (law 6).

use std::fmt::Debug;
use std::ops::Range;

use crate::basis::given::{GivenRows, KernelRows};
use crate::basis::terms::NO_ID;
use crate::config::Label;
use crate::error::{Error, ErrorKind, Result};
use crate::learner::rows::{Numbers, RowBlock, SparseNumbers, SparseValues};

/// The largest absolute value of a feature. The sum of many such squares still fits single precision.
pub const LARGEST: f64 = 1e15;

/// The number of rows that are checked, read and learned together. Results do not depend on it.
pub(crate) const BLOCK: usize = 256;

/// The number of rows learned together with a place elsewhere, which computes ahead of the learner.
pub(crate) const ELSEWHERE: usize = 1 << 15;

/// Batches of more numbers are checked by all threads.
const LONG: usize = 1 << 20;

/// Rows that are read block by block while they are learned, for rows of another type or memory layout.
///
/// ```
/// use okl::{Batch, Config, Learner, RowSource};
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

/// The source of the rows of a batch.
#[derive(Clone, Copy, Debug)]
enum Origin<'a> {
    Memory(RowBlock<'a>),
    Source(&'a dyn RowSource),
}

/// The targets of a batch.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum Targets<'a> {
    /// No targets, for novelty losses: each row is an example. (Other targets are accepted if their number is right, and ignored.)
    #[default]
    None,
    /// One or more numbers per row, row by row; -1 and +1 for losses with a sign as target.
    Numbers(&'a [f64]),
    /// The name of a class per row.
    Labels(&'a [Label]),
}

/// The target of one row: see [`Learner::learn_one`](crate::Learner::learn_one).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Target<'a> {
    /// No target: with a novelty loss the row is learned, with other losses it is only predicted.
    #[default]
    None,
    /// A number; -1 or +1 for losses with a sign as target.
    Number(f64),
    /// A number per output.
    Numbers(&'a [f64]),
    /// The name of a class.
    Label(&'a Label),
}

impl From<f64> for Target<'_> {
    fn from(y: f64) -> Self {
        Target::Number(y)
    }
}

impl<'a> From<&'a [f64]> for Target<'a> {
    fn from(y: &'a [f64]) -> Self {
        Target::Numbers(y)
    }
}

impl<'a> From<&'a Label> for Target<'a> {
    fn from(label: &'a Label) -> Self {
        Target::Label(label)
    }
}

impl<'a> Target<'a> {
    /// As the targets of a batch of one row.
    pub(crate) fn of_one_row(&'a self) -> Targets<'a> {
        match self {
            Target::None => Targets::None,
            Target::Number(y) => Targets::Numbers(std::slice::from_ref(y)),
            Target::Numbers(y) => Targets::Numbers(y),
            Target::Label(label) => Targets::Labels(std::slice::from_ref(*label)),
        }
    }
}

/// Rows in order, with their targets, weights and ids.
///
/// ```
/// use okl::{Batch, Targets};
/// let x = [0.0f32, 1.0, 1.0, 0.0];
/// let batch = Batch::new(&x, 2).targets(Targets::Numbers(&[1.0, -1.0])).weights(&[1.0, 0.5]);
/// assert_eq!(batch.rows(), 2);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    origin: Origin<'a>,
    pub(crate) features: usize,
    pub(crate) targets: Targets<'a>,
    pub(crate) known: Option<&'a [bool]>,
    pub(crate) weights: Option<&'a [f64]>,
    pub(crate) ids: Option<&'a [u64]>,
}

impl<'a> Batch<'a> {
    /// Rows of `features` numbers each, one after the other.
    pub fn new(x: &'a [f32], features: usize) -> Self {
        Batch::of(Origin::Memory(RowBlock::new(Numbers::Single(x), features)), features)
    }

    /// Rows in double precision. They are centred and scaled in double precision and then rounded to single precision.
    pub fn of_f64(x: &'a [f64], features: usize) -> Self {
        Batch::of(Origin::Memory(RowBlock::new(Numbers::Double(x), features)), features)
    }

    /// Sparse rows: the values of row i are `values[starts[i]..starts[i + 1]]`, in the columns at the same places, which ascend within a
    /// row. All other features are 0. A learner gives the same bits for the same rows, dense or sparse.
    ///
    /// Rows stay sparse if no number is subtracted from the columns ([`Config::keeps_zeros`](crate::Config::keeps_zeros)); otherwise
    /// they are expanded, or refused if they have more than 65,536 features.
    ///
    /// ```
    /// use okl::{Batch, Config, Learner};
    /// let settings = "kernel = 'gaussian:0.5'\nstep = 'constant:0.5'\nlambda = 0.01\nanchor = 'none'";
    /// let mut sparse = Learner::new(Config::from_toml(settings)?)?;
    /// let mut dense = sparse.clone();
    /// // (0, 2, 0, 1), (0, 0, 0, 0) and (3, 0, 0, 0)
    /// let batch = Batch::sparse(&[0, 2, 2, 3], &[1, 3, 0], &[2.0, 1.0, 3.0], 4).numbers(&[1.0, -1.0, 1.0]);
    /// let x = [0.0, 2.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0];
    /// assert_eq!(sparse.learn(&batch)?, dense.learn(&Batch::new(&x, 4).numbers(&[1.0, -1.0, 1.0]))?);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn sparse(starts: &'a [usize], columns: &'a [u32], values: &'a [f32], features: usize) -> Self {
        Batch::of_sparse(SparseNumbers { starts, columns, values: SparseValues::Single(values) }, features)
    }

    /// As [`Batch::sparse`], in double precision.
    pub fn sparse_f64(starts: &'a [usize], columns: &'a [u32], values: &'a [f64], features: usize) -> Self {
        Batch::of_sparse(SparseNumbers { starts, columns, values: SparseValues::Double(values) }, features)
    }

    fn of_sparse(numbers: SparseNumbers<'a>, features: usize) -> Self {
        Batch::of(Origin::Memory(RowBlock::new(Numbers::Sparse(numbers), features)), features)
    }

    /// Rows of kernel values, for a learner with `kernel = precomputed`; see [`KernelRows`].
    pub fn of_kernel_values(rows: &'a KernelRows<'a>) -> Self {
        Batch::of(Origin::Memory(RowBlock::new(Numbers::Given(GivenRows::new(rows)), 1)), 1)
    }

    /// The rows, if they are kernel values.
    pub(crate) fn kernel_rows(&self) -> Option<GivenRows<'a>> {
        let Origin::Memory(rows) = self.origin else { return None };
        if let Numbers::Given(rows) = rows.numbers() { Some(rows) } else { None }
    }

    /// Whether rows are sparse.
    pub(crate) fn is_sparse(&self) -> bool {
        matches!(self.origin, Origin::Memory(rows) if matches!(rows.numbers(), Numbers::Sparse(_)))
    }

    /// Rows that are read block by block.
    pub fn read_from(source: &'a dyn RowSource) -> Self {
        Batch::of(Origin::Source(source), source.features())
    }

    fn of(origin: Origin<'a>, features: usize) -> Self {
        Batch { origin, features, targets: Targets::None, known: None, weights: None, ids: None }
    }

    /// Sets the targets.
    pub fn targets(self, targets: Targets<'a>) -> Self {
        Batch { targets, ..self }
    }

    /// Sets the targets: one number per row.
    ///
    /// ```
    /// use okl::{Batch, Config, Learner};
    /// let mut learner = Learner::new(Config::from_toml("loss = 'squared'")?)?;
    /// learner.learn(&Batch::new(&[0.0, 1.0], 1).numbers(&[0.5, 1.5]))?;
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn numbers(self, y: &'a [f64]) -> Self {
        self.targets(Targets::Numbers(y))
    }

    /// Sets the targets: one class per row.
    ///
    /// ```
    /// use okl::{Batch, Config, Label, Learner};
    /// let mut learner = Learner::new(Config::from_toml("loss = 'max_margin'")?)?;
    /// let labels = [Label::from("cat"), Label::from("dog"), Label::from(3)];
    /// learner.learn(&Batch::new(&[0.0, 1.0, 2.0], 1).labels(&labels))?;
    /// assert_eq!(learner.classes(), labels);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn labels(self, labels: &'a [Label]) -> Self {
        self.targets(Targets::Labels(labels))
    }

    /// Sets which rows have a target. The others are only predicted, at their position in the stream.
    ///
    /// ```
    /// use okl::{Batch, Config, Learner};
    /// let mut learner = Learner::new(Config::default())?;
    /// learner.learn(&Batch::new(&[0.0, 1.0], 1).numbers(&[1.0, f64::NAN]).known(&[true, false]))?;
    /// assert_eq!(learner.examples(), 1);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn known(self, known: &'a [bool]) -> Self {
        Batch { known: Some(known), ..self }
    }

    /// Sets a weight per row, which multiplies loss and gradient. A row of weight 0 is treated as a row without a target.
    ///
    /// ```
    /// use okl::{Batch, Config, Learner};
    /// let mut learner = Learner::new(Config::default())?;
    /// learner.learn(&Batch::new(&[0.0, 1.0], 1).numbers(&[1.0, -1.0]).weights(&[2.0, 0.0]))?;
    /// assert_eq!(learner.examples(), 1);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn weights(self, weights: &'a [f64]) -> Self {
        Batch { weights: Some(weights), ..self }
    }

    /// Sets an id per row. If a live term has the same id and the same features, the row updates that term instead of adding one. If
    /// the features differ, the new row gets the id, the old term stays without an id, and
    /// [`Health::ids_taken_over`](crate::Health::ids_taken_over) counts the row. The id `u64::MAX` is refused.
    ///
    /// ```
    /// use okl::{Batch, Config, Learner};
    /// let mut learner = Learner::new(Config::from_toml("kernel = 'gaussian:1'\nstep = 'constant:0.1'\nlambda = 0.01")?)?;
    /// for _pass in 0..3 {
    ///     learner.learn(&Batch::new(&[0.0, 9.0], 1).numbers(&[1.0, -1.0]).ids(&[7, 8]))?;
    /// }
    /// assert_eq!(learner.terms(), 2);                         // three passes over two rows
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn ids(self, ids: &'a [u64]) -> Self {
        Batch { ids: Some(ids), ..self }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        match self.origin {
            Origin::Memory(rows) => rows.count(),
            Origin::Source(source) => source.rows(),
        }
    }

    /// The rows of a range: a view if they are in memory, otherwise read into `buffer`.
    pub(crate) fn block<'b>(&'b self, rows: Range<usize>, buffer: &'b mut Vec<f64>) -> RowBlock<'b> {
        match self.origin {
            Origin::Memory(all) => all.range(rows),
            Origin::Source(source) => {
                buffer.clear();
                source.read(rows, buffer);
                RowBlock::new(Numbers::Double(buffer), self.features)
            }
        }
    }

    /// Calls a function with each block of rows from row `from` on, and with the index of the block's first row.
    pub(crate) fn try_each_block<E>(
        &self,
        from: usize,
        buffer: &mut Vec<f64>,
        mut each: impl FnMut(usize, RowBlock<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let rows = self.rows();
        (from..rows).step_by(BLOCK).try_for_each(|first| each(first, self.block(first..rows.min(first + BLOCK), buffer)))
    }

    pub(crate) fn is_example(&self, i: usize) -> bool {
        self.known.is_none_or(|k| k[i]) && self.weights.is_none_or(|w| w[i] > 0.0)
    }

    /// Whether the check of the rows is worth the threads of a pool.
    pub(crate) fn is_long(&self) -> bool {
        self.rows().saturating_mul(self.features) > LONG
    }

    /// `shared`: the work is shared among the threads of rayon's current pool.
    pub(crate) fn check_rows(&self, features: usize, shared: bool) -> Result<()> {
        if self.features == 0 {
            return Err(Error::shape("features", "at least 1", 0));
        }
        if let Origin::Memory(rows) = self.origin {
            rows.check_shape()?;
        }
        if features != 0 && self.features != features {
            return Err(Error::shape("features", features, self.features));
        }
        match self.origin {
            Origin::Memory(rows) if shared => rows.check_by_threads(),
            _ => self.try_each_block(0, &mut Vec::new(), |first, rows| rows.check(first)),
        }
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
        let bad = |w: &f64| !(0.0..=LARGEST).contains(w);
        match self.weights.and_then(|w| w.iter().position(bad).map(|row| (row, w[row]))) {
            Some((row, found)) => Err(ErrorKind::Weight { row, found }.into()),
            None => Ok(()),
        }
    }
}
