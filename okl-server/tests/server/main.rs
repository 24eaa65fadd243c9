//! The server over real connections, and its journal.

mod fuzz;
mod hostile;
mod journal;
mod learning;
mod recovery;
mod rights;
mod support;
