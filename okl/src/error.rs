//! Errors: what is wrong, in which row or setting, and what to do.
//!
//! Every check runs before any state changes: a call that returns an [`Error`] has changed nothing.

//! ```
//! use okl::{Batch, Config, ErrorKind, Learner};
//! let mut learner = Learner::new(Config::default())?;
//! let error = learner.learn(&Batch::new(&[1.0, f32::NAN], 1).numbers(&[1.0, -1.0])).unwrap_err();
//! assert!(matches!(error.kind(), ErrorKind::NotFinite { row: 1, .. }));
//! assert_eq!(learner.examples(), 0);
//! # Ok::<(), okl::Error>(())
//! ```

use std::fmt::{self, Display, Formatter};

/// The result of every fallible call.
pub type Result<T> = std::result::Result<T, Error>;

/// An error; [`Error::kind`] has the details. It is boxed, so that a [`Result`] is small.
#[derive(Debug, Clone, PartialEq)]
pub struct Error(Box<ErrorKind>);

/// The kinds of errors. Rows and columns count from zero, as indices into the arrays of the call.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An array has the wrong length or width.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// The name of the array.
        what: String,
        /// The length or width that is needed.
        expected: String,
        /// The length or width that was given.
        found: usize,
    },
    /// A feature or target is NaN, infinite, or too large for single precision.
    #[error("row {row}, column {column}: found {found:e}, expected a finite number{hint}")]
    NotFinite {
        /// The row of the call.
        row: usize,
        /// The column: a feature, or a target.
        column: String,
        /// The value that was found.
        found: f64,
        /// What to do; may be empty.
        hint: &'static str,
    },
    /// A column of a sparse row that is out of order, given twice or beyond the number of features.
    #[error("row {row}: column {found}, expected {expected}")]
    Column {
        /// The row of the call.
        row: usize,
        /// The column that was found.
        found: usize,
        /// The columns that are possible.
        expected: String,
    },
    /// A target that the loss cannot read.
    #[error("row {row}: target {found}, expected {expected}")]
    Target {
        /// The row of the call.
        row: usize,
        /// The value that was found.
        found: String,
        /// The targets that the loss accepts.
        expected: String,
    },
    /// A weight that is negative, larger than 1e15, or not finite.
    #[error("row {row}: weight {}, expected a number from 0 to 1e15", plainly(*found))]
    Weight {
        /// The row of the call.
        row: usize,
        /// The value that was found.
        found: f64,
    },
    /// A kernel value that no kernel has, with `kernel = precomputed`.
    #[error("row {row}: the kernel value against item {item} is {found}, expected {expected}")]
    KernelValue {
        /// The row of the call.
        row: usize,
        /// The number of the other object.
        item: u64,
        /// The value that was found.
        found: f64,
        /// The values that are possible.
        expected: String,
    },
    /// The id `u64::MAX`, which is reserved.
    #[error("row {row}: id {id} is reserved, it means that a term has no id; use a smaller number")]
    Id {
        /// The row of the call.
        row: usize,
        /// The id.
        id: u64,
    },
    /// A configuration that cannot work, with the reason.
    #[error("{field}: {reason}")]
    Config {
        /// The name of the setting.
        field: String,
        /// Why the setting is refused, and which values are accepted.
        reason: String,
    },
    /// A model file that cannot be read.
    #[error("model file: {0}")]
    Snapshot(String),
    /// Terms that were kept elsewhere cannot be reached. The learner cannot be used any more.
    #[error("{0}; this learner cannot be used any more, load the model that was saved last")]
    Kept(String),
}

impl Error {
    /// The kind of the error, with its details.
    pub fn kind(&self) -> &ErrorKind {
        &self.0
    }

    pub(crate) fn config(field: &str, reason: impl Into<String>) -> Error {
        ErrorKind::Config { field: field.into(), reason: reason.into() }.into()
    }

    pub(crate) fn snapshot(reason: impl Into<String>) -> Error {
        ErrorKind::Snapshot(reason.into()).into()
    }

    pub(crate) fn shape(what: &str, expected: impl Display, found: usize) -> Error {
        ErrorKind::Shape { what: what.into(), expected: expected.to_string(), found }.into()
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Error(Box::new(kind))
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Error {}

/// A number without hundreds of digits.
fn plainly(number: f64) -> String {
    if number.abs() < 1e16 { number.to_string() } else { format!("{number:e}") }
}
