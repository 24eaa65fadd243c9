//! Online kernel learning: exact, one example at a time, in bounded memory.
//!
//! A learner is a function `f(x) = sum_i k(x, x_i) alpha_i` in a reproducing kernel Hilbert space. It sees a stream,
//! predicts every example before it learns it, and changes while the stream changes. Every algorithm is one loop:
//!
//! ```text
//! step(x, y):
//!     p   = f(x)                        one row of kernel values against the current terms
//!     z   = p + b                       the score: known BEFORE y is used
//!     xi  = d loss / d z (z, y, theta)  the gradient; theta = margin, tube or scale
//!     eta = step size                   a schedule, or SVMD's own adaptation
//!     f   = (1 - eta lambda) f - eta xi k(x, .)
//!     b   = b - eta xi ;  theta = theta - eta dtheta
//!     budget: evict a term if there are too many, and record the norm of what is lost
//! ```
//!
//! **Learning a block gives the same result as learning its rows one by one, to the last bit**, for any cut, number of threads and
//! instruction set, and for a save and load in between. Blocks are faster, because one matrix product computes their kernel values.
//!
//! ```
//! use okl::{Batch, Config, Learner};
//!
//! let config = Config::from_toml("
//!     loss   = 'hinge'
//!     kernel = 'gaussian:1'
//!     step   = 'constant:0.5'
//!     lambda = 1e-3
//!     budget = 'window:100'
//!     offset = true
//! ")?;
//! let mut learner = Learner::new(config)?;
//!
//! // Exclusive or: four corners, forty rounds.
//! let corners = [0.0f32, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0];
//! let labels = [-1.0, 1.0, 1.0, -1.0];
//! for _ in 0..40 {
//!     learner.learn(&Batch::new(&corners, 2).numbers(&labels))?;
//! }
//! let scores = learner.predict(&Batch::new(&corners, 2))?;
//! assert!(scores.iter().zip(labels).all(|(z, y)| z[0] * y > 0.0));
//!
//! // The model file resumes to the same bits, on any machine.
//! let resumed = Learner::from_bytes(&learner.to_bytes())?;
//! assert_eq!(resumed.coefficients(), learner.coefficients());
//! # Ok::<(), okl::Error>(())
//! ```
//!
//! # Where to go
//!
//! - [`Learner`] is built from a [`Config`]. It takes [`Batch`]es of rows and returns [`Scores`]; [`Learner::decide`] returns
//!   classes, [`Learner::save`] and [`Learner::load`] are for model files. [`config`] has the names of the settings.
//! - A server checks a batch, stores it and learns it later ([`Learner::check`]), while readers use a published model
//!   ([`Learner::publish`]).
//! - [`engine`] is the loop, for your own parts: a [`kernel::Kernel`] over any type, a [`loss::Loss`], a [`loss::Oracle`] over
//!   structured outputs, a [`budget::Budget`], a [`step::StepSize`]. Each trait states its laws.
//! - [`certificate`] has bounds that hold during a run: on the regret, the alert rate and the effect of dropped terms.
//! - [`snapshot`] describes the model file, [`mod@file`] writes and reads it.
//! - [`sharded`] is a learner whose terms are divided between processes.
//! - [`rls`] is the batch solver of the same problem, as a baseline.
//! - [`glossary`] defines the words, [`mathematics`] has the algorithms with their equations.
//!
//! Equation numbers: N is NORMA (Kivinen, Smola, Williamson 2001), V is SVMD (Karatzoglou, Vishwanathan, Schraudolph,
//! Smola 2005), O is OLOK (Audiffren, Kadri 2015), L and S are two lecture texts (Bagnell 2010, Sumitra). Their misprints
//! are corrected; E followed by a number names the correction. [`mathematics`] lists them all; its section numbers are cited
//! as algorithms.md.

pub mod basis;
pub mod certificate;
pub mod config;
mod coordinates;
pub mod engine;
mod error;
pub mod glossary;
// Public for tests and benchmarks.
#[doc(hidden)]
pub mod gram;
mod learner;
/// The algorithms with their equations, with the misprints of the papers corrected: the file algorithms.md.
///
#[cfg_attr(not(doctest), doc = include_str!("../docs/algorithms.md"))]
#[allow(rustdoc::broken_intra_doc_links, rustdoc::invalid_html_tags, rustdoc::bare_urls)]
pub mod mathematics {}
pub mod means;
mod parts;
pub mod place;
pub mod rls;
pub mod sharded;

pub use basis::given::KernelRows;
pub use config::{Config, Label};
pub use coordinates::StepSizes;
pub use engine::{Outcome, Workspace};
pub use error::{Error, ErrorKind, Result};
pub use learner::batch::{Batch, RowSource, Target, Targets};
pub use learner::clipped_rows::ClippedRows;
pub use learner::health::{ClippedColumn, Health, RoundedColumn};
pub use learner::{Checked, Learner, Scores, file, growth, snapshot, units};
#[doc(hidden)]
pub use learner::{batch, health};
pub use parts::{budget, kernel, loss, output, regulariser, step};
