//! The model file. Its format is safetensors, which other programs can read. Loading and continuing gives the same bits on every
//! machine.
//!
//! The metadata entry `okl` is JSON: the version of the format, the configuration, the classes and the names of single numbers.
//! The state is stored as tensors, so that no number is converted to decimal text.
//!
//! | tensor | type | what |
//! |---|---|---|
//! | `checksum` | u64 | XXH3 of all bytes of the file, with the eight bytes of this number set to zero |
//! | `counts` | u64 | examples, steps not taken, features; single numbers by name (`scalars.rs`) |
//! | `centres` | f32 (slots, features) | centres in their frame, holes included |
//! | `centres.starts`, `centres.columns`, `centres.values` | u64, u32, f32 | in place of `centres`, if rows are stored sparsely: where the values of each slot begin (and the last one ends), their columns, and the values |
//! | `items`, `items.own`, `items.between` | u64, f64, f32 | in place of `centres`, with `kernel = precomputed`: the item of each slot, k(x, x) of each slot, and the values of slot s against the slots before it, slot by slot |
//! | `births`, `ids`, `holes` | u64 | per slot, per slot, and the holes in the order they will be filled |
//! | `head.columns` | f64 (columns, slots) | stored coefficients, column by column; with `form = weights` one per feature instead of one per slot |
//! | `head.scalars`, `head.offsets`, `head.gathered` | f64 | the head beside its coefficients; scalars by name |
//! | `head.steps`, `head.offset_steps` | f64 (outputs, features), f64 | if every coordinate has a step size: those of the weights and of the offsets; that of theta is the scalar `eta` |
//! | `head1.columns`, ... | f64 | the further heads of a bank, numbered |
//! | `bank.weights`, `bank.losses`, `bank` | f64 | the weights of a bank's voices and their losses; the rest by name |
//! | `budget`, `frame` | f64 | the budget's state, by name; shift and factor |
//! | `warm.x`, `warm.y`, `warm.weights`, `warm.ids` | f64 (f32 in older files), f64, f64, u64 | the examples of a warm-up under way |
//! | `warm.shares` | f64 | if classes have weights: the weights of these examples by their classes |
//! | `warm.starts`, `warm.columns` | u64, u32 | if rows are stored sparsely: where the numbers of each row begin in `warm.x`, and their columns |
//! | `class.counts` | u64 | with `class_weight = balanced`: examples per class, or of the negative and the positive class |
//! | `clipped` | u64 | if there is a limit: examples looked at, those with a clipped value, and per column: overall, last window, present window |
//! | `clipped.ranges` | f64 | of the columns with clipped values in these windows: index of the column, least and largest clipped value of the last window, and of the present one (1, 0 if there is none) |
//! | `rounding` | f64 | if there is no limit: examples looked at, and per column: examples that lost digits, the last window's largest rounding error over range, and of the present window the smallest value, the largest, the largest rounding error |
//! | `large_targets` | f64 | if targets are numbers: the sum and the number of the errors; and of the largest targets: the number of the example, the target, its error, and sum and number of the errors before |
//! | `target_level` | f64 | if targets are single numbers and there is no offset, or the loss has a bounded gradient, and automatic steps or a tube: the least and the largest target; sums of the errors in the last window and the present one; and their numbers of examples; with such a loss also of each window, per output, the first target and the sum of the differences from it, and the sum of the distances from the mean before |
//! | `growth` | f64 | with `budget = auto`: why there are so many terms, and the comparison under way; by name |
//! | `growth.shadow` | u8 | during a comparison: the voice with half of the terms, as a model file of its own |
//! | `units` | f64 | where units follow the stream: the statistics of the columns |
//! | `units.rows` | f64 | the rows since the last look at the units |
//! | `unscaled` | f64 (slots, features) | the unscaled rows of the terms, holes included |
//! | `position` | u8 | bytes of the caller, see [`Learner::set_position`](crate::Learner::set_position) |
//!
//! Later versions read every file of earlier ones. If a file lacks a setting, okl must behave as before the setting existed: either
//! the default of the setting in [`Config`] does so, or the code here sets another value.

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

mod items;
mod kept;
mod read;
mod steps;
mod write;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::config::{Config, Label};
use crate::learner::scalars::{self, BANK, BUDGET, COUNTS, GROWTH, HEAD};

/// The version of the format that this crate writes. It reads this version and all earlier ones, except for banks of version 2.
/// Version 2 added banks and the truncation error of averages; version 3 added trackers that follow the level of the scores;
/// version 4 added names of single numbers and a checksum over the bytes of the file.
pub const FORMAT: u32 = 4;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header<'a> {
    format: u32,
    /// The checksum up to format 3; read as part of [`Version`].
    #[serde(default, rename = "checksum", skip_serializing)]
    _checksum: String,
    config: Cow<'a, Config>,
    classes: Cow<'a, [Label]>,
    /// The class of positive scores; if a file lacks it, the second class that appeared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    positive: Option<usize>,
    warm_width: usize,
    outputs_known: bool,
    /// The names of the single numbers, by tensor; from format 4 on.
    #[serde(default)]
    scalars: BTreeMap<String, Vec<String>>,
    /// Exists only in the crate's own tests, as the setting of the same name in [`Config`].
    #[cfg(test)]
    #[serde(default)]
    not_yet: u32,
}

/// The names that this version writes.
fn scalar_names() -> BTreeMap<String, Vec<String>> {
    let names = [
        ("bank", scalars::names(BANK)),
        ("budget", scalars::names(BUDGET)),
        ("counts", scalars::names(COUNTS)),
        ("growth", scalars::names(GROWTH)),
        ("head.scalars", scalars::names(HEAD)),
    ];
    names.into_iter().map(|(tensor, names)| (tensor.to_string(), names)).collect()
}

fn head_tensor(number: usize, what: &str) -> String {
    if number == 0 { format!("head.{what}") } else { format!("head{number}.{what}") }
}
