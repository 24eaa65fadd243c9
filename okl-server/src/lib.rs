//! The server of okl: models that learn and predict over HTTP and survive a crash to the last bit.
//!
//! Rows are checked, written to a journal, synced and then learned; a row that was acknowledged is on disk. After a crash the
//! snapshot of a model is loaded and its journal replayed. Learning does not depend on how rows are cut into batches, so the result
//! has the same bits as a run without the crash.

pub mod arrow;
pub mod background;
pub mod codec;
pub mod disk;
pub mod hooks;
pub mod http;
pub mod journal;
pub mod log;
pub mod model;
pub mod options;
pub mod refusal;
pub mod registry;
pub mod rows;
pub mod surface;
pub mod tokens;
