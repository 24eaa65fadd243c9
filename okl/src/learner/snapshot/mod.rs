//! The model file: safetensors, readable without okl; it loads on any machine and resumes to the same bits.
//!
//! One metadata entry `okl` holds, as JSON, the format's version, the configuration, the classes and the names of single
//! numbers. State is tensors: numbers never pass through decimal text.
//!
//! | tensor | type | what |
//! |---|---|---|
//! | `checksum` | u64 | XXH3 of all bytes of the file, with the eight of this number taken as zero |
//! | `counts` | u64 | examples, steps not taken, features; single numbers by name (`scalars.rs`) |
//! | `centres` | f32 (slots, features) | centres in their frame, holes included |
//! | `births`, `ids`, `holes` | u64 | per slot, per slot, and the holes in the order they will be filled |
//! | `head.columns` | f64 (columns, slots) | stored coefficients, column by column |
//! | `head.scalars`, `head.offsets`, `head.gathered` | f64 | the head beside its coefficients; scalars by name |
//! | `head1.columns`, ... | f64 | the further heads of a bank, numbered |
//! | `bank.weights`, `bank.losses`, `bank` | f64 | the weights of a bank's voices and their losses; the rest by name |
//! | `budget`, `frame` | f64 | the budget's state, by name; shift and factor |
//! | `warm.x`, `warm.y`, `warm.weights`, `warm.ids` | f64 (f32 in older files), f64, f64, u64 | the examples of a warm-up under way |
//! | `clipped` | u64 | if there is a limit: examples looked at, those with a clipped value, and per column: overall, last window, present window |
//! | `rounding` | f64 | if there is no limit: examples looked at, and per column: examples that lost digits, the last window's largest rounding error over range, and of the present window the smallest value, the largest, the largest rounding error |
//! | `position` | u8 | for whoever replays the stream |
//!
//! Later versions read every file of earlier ones. A setting that a file lacks means what okl did before the setting
//! existed: the default of a new setting in [`Config`] has to be that, or has to be put in its place here.

//! ```
//! use okl::{Batch, Config, Learner};
//! let x = [0.0f32, 1.0, 2.0, 3.0];
//! let y = [1.0, 1.0, -1.0, -1.0];
//! let mut whole = Learner::new(Config::default())?;
//! whole.learn(&Batch::new(&x, 1).numbers(&y))?;
//!
//! let mut half = Learner::new(Config::default())?;
//! half.learn(&Batch::new(&x[..2], 1).numbers(&y[..2]))?;
//! let mut resumed = Learner::from_bytes(&half.to_bytes())?;
//! resumed.learn(&Batch::new(&x[2..], 1).numbers(&y[2..]))?;
//! assert_eq!(resumed.to_bytes(), whole.to_bytes());
//! # Ok::<(), okl::Error>(())
//! ```

mod read;
mod write;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::config::{Config, Label};
use crate::learner::scalars::{self, BANK, BUDGET, COUNTS, HEAD};

/// The version this crate writes; it reads this one and all before it, but for banks of version 2. Version 2 has
/// banks, and counts what an average lost; version 3 has trackers that follow the usual score; version 4 has single
/// numbers by name and a checksum over the bytes of the file.
pub const FORMAT: u32 = 4;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header<'a> {
    format: u32,
    /// Up to format 3; read as part of [`Version`].
    #[serde(default, rename = "checksum", skip_serializing)]
    _checksum: String,
    config: Cow<'a, Config>,
    classes: Cow<'a, [Label]>,
    /// The class whose scores are positive; files without it have the second that appeared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    positive: Option<usize>,
    warm_width: usize,
    outputs_known: bool,
    /// The names of the single numbers, by tensor; from format 4 on.
    #[serde(default)]
    scalars: BTreeMap<String, Vec<String>>,
    /// In the crate's own tests only, as [`Config`] has it.
    #[cfg(test)]
    #[serde(default)]
    not_yet: u32,
}

/// The names as this version writes them.
fn scalar_names() -> BTreeMap<String, Vec<String>> {
    let names = [
        ("bank", scalars::names(BANK)),
        ("budget", scalars::names(BUDGET)),
        ("counts", scalars::names(COUNTS)),
        ("head.scalars", scalars::names(HEAD)),
    ];
    names.into_iter().map(|(tensor, names)| (tensor.to_string(), names)).collect()
}

fn head_tensor(number: usize, what: &str) -> String {
    if number == 0 { format!("head.{what}") } else { format!("head{number}.{what}") }
}
