//! The server over real connections, and its journal.

mod arrow;
mod background;
mod faults;
mod fuzz;
mod hooks;
mod hostile;
mod journal;
mod labels;
mod learning;
mod limits;
mod live_page;
mod recovery;
mod rights;
mod support;
mod undecided;
