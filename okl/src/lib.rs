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
//!     budget: make room, and account for what is lost
//! ```
//!
//! **Learning a block is learning its rows one by one, to the last bit**, for any cut, number of threads and instruction
//! set, and for a save and load in between. Blocks are only faster: their kernel values come from one matrix product.
//!
//! ```
//! use okl::{Batch, Config, Learner, Workspace};
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
//! let scores = learner.predict(&mut Workspace::default(), &corners, 2)?;
//! assert!(scores.values.iter().zip(labels).all(|(z, y)| z * y > 0.0));
//!
//! // The model file resumes to the same bits, on any machine.
//! let resumed = Learner::from_bytes(&learner.to_bytes())?;
//! assert_eq!(resumed.coefficients(), learner.coefficients());
//! # Ok::<(), okl::Error>(())
//! ```
//!
//! # Where to go
//!
//! - [`Learner`] is what a [`Config`] describes: dense rows in, scores out. [`config`] has the names people type.
//! - [`engine`] is the loop, for parts of one's own: a [`kernel::Kernel`] over any type, a [`loss::Loss`], an
//!   [`loss::Oracle`] over structured outputs, a [`budget::Budget`], a [`step::StepSize`].
//! - [`certificate`] says what is known of a run while it runs: regret, alert rate, what was dropped.
//! - [`snapshot`] is the model file, [`mod@file`] how it is written and read. [`gram`] is where the numbers come from and why no bit depends on the machine.
//! - [`rls`] is the batch solver of the same problem, as a baseline.
//!
//! Equation numbers: N is NORMA (Kivinen, Smola, Williamson 2001), V is SVMD (Karatzoglou, Vishwanathan, Schraudolph,
//! Smola 2005), O is OLOK (Audiffren, Kadri 2015), L and S are two lecture texts (Bagnell 2010, Sumitra). Their misprints
//! are corrected; E followed by a number names the correction, listed in `docs/algorithms.md`, whose section numbers are cited too.

pub mod basis;
pub mod certificate;
pub mod config;
pub mod coordinates;
pub mod engine;
pub mod error;
pub mod gram;
pub mod learner;
pub mod parts;
pub mod rls;

pub use config::{Config, Label};
pub use engine::{Step, Workspace};
pub use error::{Error, ErrorKind, Result};
pub use learner::batch::{self, Batch, Targets};
pub use learner::health::{self, Health};
pub use learner::{Checked, Learner, Scores, file, snapshot};
pub use parts::{budget, kernel, loss, output, regulariser, step};
