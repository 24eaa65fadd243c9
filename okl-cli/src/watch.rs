//! The interface between a run and its observers: results of rows, pauses, rejected rows.

use std::fmt::{self, Display, Formatter};

use okl::{ErrorKind, Label, Outcome};

use crate::input::{Bad, Chunk, DECIMAL_COMMA, InputError, Schema, has_decimal_comma};
use crate::run::Run;

/// The result of a row, for the output of predictions.
pub struct Seen<'a> {
    /// The input line.
    pub line: u64,
    /// Scores, loss, threshold.
    pub step: &'a Outcome<'a>,
    /// The predicted class, if the task is classification.
    pub class: Option<(usize, &'a Label)>,
    /// The classes in the order of the scores, if each has one; others that are not known yet may follow.
    pub classes: &'a [Label],
    /// The class of positive scores, if two classes share one score or only one class is known.
    pub positive: Option<&'a Label>,
    /// The texts of the row that are passed through.
    pub kept: &'a [String],
}

/// An observer of a run.
pub trait Watch {
    /// A row was scored, and learned if it has a target.
    ///
    /// # Errors
    /// End the run.
    fn seen(&mut self, _row: &Seen<'_>) -> anyhow::Result<()> {
        Ok(())
    }

    /// A row could not be read and was skipped.
    ///
    /// # Errors
    /// End the run.
    fn skipped(&mut self, _bad: &Bad) -> anyhow::Result<()> {
        Ok(())
    }

    /// The number of rows at which [`Watch::pause`] is called next, in addition to every power of two.
    fn next_pause(&self, _rows: u64) -> u64 {
        u64::MAX
    }

    /// Called between two blocks; `learned` rows of the chunk have been learned.
    ///
    /// # Errors
    /// End the run.
    fn pause(&mut self, run: &mut Run, chunk: &Chunk, learned: usize) -> anyhow::Result<()>;
}

/// The learner refused a row.
#[derive(Debug)]
pub struct Refused {
    /// The row's input line.
    pub line: u64,
    /// Which target, if the target is wrong.
    pub target: usize,
    /// The reason.
    pub kind: ErrorKind,
}

impl Refused {
    /// Converts a row of the learner's batch to a line of the input. `first`: the row of the chunk at which the batch begins.
    pub fn new(kind: &ErrorKind, chunk: &Chunk, first: usize) -> Self {
        let row = match kind {
            ErrorKind::NotFinite { row, .. }
            | ErrorKind::Target { row, .. }
            | ErrorKind::Weight { row, .. }
            | ErrorKind::Id { row, .. } => *row,
            _ => 0,
        };
        Refused { line: chunk.lines.get(first + row).copied().unwrap_or(0), target: 0, kind: kind.clone() }
    }

    /// As an input error with the names of the file and its columns.
    pub fn of(&self, file: &str, schema: &Schema) -> InputError {
        let target = schema.targets.get(self.target).map(String::as_str);
        match &self.kind {
            ErrorKind::Target { found, expected, .. } => {
                InputError::of_row(file, self.line, target, format!("found {found}, expected {expected}"))
            }
            ErrorKind::Id { id, .. } => {
                let text = format!("id {id} is reserved; use a smaller number");
                InputError::of_row(file, self.line, None, text)
            }
            ErrorKind::Shape { what, expected, .. }
                if what == "features" && expected.contains("orthogonal random features depend") =>
            {
                let text = "the row has a feature that no row before it has, and orthogonal random features need all features from the start; \
                            learn with --form fourier:N without orthogonal, or with --hash-bits";
                InputError::of_row(file, self.line, None, text.into())
            }
            ErrorKind::Shape { what, expected, found } if what == "features" => {
                let advice = schema.hash_bits().and_then(|bits| fewer_bits(expected, bits)).unwrap_or_default();
                InputError::of_row(file, self.line, None, format!("rows of {found} columns, expected {expected}{advice}"))
            }
            other => InputError::of_row(file, self.line, None, other.to_string()),
        }
    }
}

/// The most bits of a hash that give no more columns than `expected` allows; none if it names no number.
fn fewer_bits(expected: &str, bits: u8) -> Option<String> {
    let most: usize = expected.split_whitespace().find_map(|word| word.parse().ok())?;
    let fewer = u8::try_from(most.checked_ilog2()?).ok().filter(|fewer| *fewer < bits)?;
    Some(format!("; or hash to fewer columns, with --hash-bits {fewer}"))
}

/// Checks that all targets of a chunk are numbers; refuses the first target that is text. `learned`: whether a model with its task and loss was given.
///
/// # Errors
/// If there is one.
pub fn numbers_only(chunk: &Chunk, learned: bool) -> Result<(), Refused> {
    let Some((row, target, text)) = chunk.targets.first_text() else { return Ok(()) };
    let comma = has_decimal_comma(text.as_bytes());
    let expected = match comma {
        true => format!("a number; this is {DECIMAL_COMMA}"),
        false if chunk.targets.width > 1 => {
            "a number: several targets are all numbers; correct it, or leave this target out, and learn it alone if it is a class"
                .into()
        }
        false => {
            let (task, or) = if learned { ("", "") } else { ("--task numbers ", "; for classes use a loss such as max_margin") };
            format!("a number; correct it, or leave such rows out with {task}--on-bad-row skip{or}")
        }
    };
    let kind = ErrorKind::Target { row, found: format!("'{text}'"), expected };
    Err(Refused { target, ..Refused::new(&kind, chunk, 0) })
}

impl Display for Refused {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.kind)
    }
}

impl std::error::Error for Refused {}
