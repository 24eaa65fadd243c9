//! The extension module `okl._okl`: the engine for Python, on numpy arrays.
//!
//! It contains no algorithm. `rows`, `columns`, `targets` and `arrays` convert Python objects to the engine's input, without copies where
//! possible; `settings` converts configurations; `shared` lets threads, signals and the interpreter share one learner; `learner`
//! is the class `okl.Learner`; `objects` computes kernel values of objects by a function of the caller; `sharded` is the learner whose terms
//! live in other processes; `command_line` is the command `okl`, without a binary.

mod alert_rate;
mod arrays;
mod call;
mod columns;
mod command_line;
mod device;
mod errors;
mod files;
mod gaps;
mod hash;
mod health;
mod learner;
mod objects;
mod row;
mod rows;
mod scores;
mod settings;
mod sharded;
mod shared;
mod targets;

#[pyo3::pymodule]
mod _okl {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::alert_rate::AlertRate;
    #[pymodule_export]
    use super::command_line::command_line;
    #[pymodule_export]
    use super::files::load;
    #[pymodule_export]
    use super::gaps::{fill_as, fill_from_all, fill_rows};
    #[pymodule_export]
    use super::hash::{hash_feature, hash_names, xxh3_64};
    #[pymodule_export]
    use super::learner::{Learner, learner_in_units};
    #[pymodule_export]
    use super::row::{learn_labelled, learn_row, predict_row};
    #[pymodule_export]
    use super::settings::{families, terms_within};
    #[pymodule_export]
    use super::sharded::{Shard, ShardedLearner};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
