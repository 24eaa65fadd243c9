//! Rows as they arrive: numbers, perhaps with the names of their columns, targets, weights and ids.

use okl::Label;
use okl::loss::Reads;
use serde::{Deserialize, Serialize};

use crate::refusal::{Answered, Refusal};

/// Whole numbers below this one are exact as numbers of JSON.
const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53

/// The longest name of a column, a class, a stream or a key, in bytes.
pub const LONGEST_NAME: usize = 256;

/// One target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Target {
    /// Not known: the row is only predicted.
    Missing,
    /// A truth value: the class `true` or `false`.
    Flag(bool),
    /// A number.
    Number(f64),
    /// Text: the name of a class.
    Text(String),
}

impl Target {
    /// The name of the class: whole numbers as integers, so 1, 1.0 and the text "1" are one class. [`Label::named_as`] finds the name that
    /// the model has for it.
    pub fn label(&self) -> Label {
        match self {
            Target::Missing => Label::Int(0),
            Target::Flag(flag) => Label::Text(flag.to_string()),
            Target::Number(v) if v.fract() == 0.0 && v.abs() < 9e15 => Label::Int(*v as i64),
            Target::Number(v) => Label::Text(v.to_string()),
            Target::Text(text) => {
                let whole = text.parse::<i64>().ok().filter(|whole| whole.to_string() == *text);
                whole.map_or_else(|| Label::Text(text.clone()), Label::Int)
            }
        }
    }
}

/// The targets of some rows, `width` each; none if the width is 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Targets {
    /// Targets per row.
    pub width: usize,
    /// Row by row.
    pub values: Vec<Target>,
}

/// The targets in the form that the learner reads.
#[derive(Clone, Debug, PartialEq)]
pub enum Learnable {
    /// No targets.
    None,
    /// Numbers, row by row.
    Numbers(Vec<f64>),
    /// A class per row.
    Labels(Vec<Label>),
}

impl Learnable {
    /// As the targets of a batch.
    pub fn targets(&self) -> okl::Targets<'_> {
        match self {
            Learnable::None => okl::Targets::None,
            Learnable::Numbers(y) => okl::Targets::Numbers(y),
            Learnable::Labels(labels) => okl::Targets::Labels(labels),
        }
    }
}

impl Targets {
    /// Whether each row has all its targets.
    pub fn known(&self, rows: usize) -> Vec<bool> {
        match self.width {
            0 => vec![true; rows],
            width => self.values.chunks(width).map(|row| !row.contains(&Target::Missing)).collect(),
        }
    }

    /// The first target that is not missing.
    pub fn first_known(&self) -> Option<usize> {
        self.values.iter().position(|target| *target != Target::Missing)
    }

    /// Whether the rows have targets and all of them are missing.
    pub fn all_missing(&self) -> bool {
        !self.values.is_empty() && self.first_known().is_none()
    }

    /// The targets as a loss reads them; `classes` are the classes so far.
    ///
    /// # Errors
    /// If there are none, or the loss needs numbers and one of them is text; the row is named.
    pub fn learnable(&self, reads: Reads, classes: &[Label]) -> Answered<Learnable> {
        match reads {
            Reads::Nothing => Ok(Learnable::None),
            _ if self.width == 0 => {
                Err(Refusal::body("no targets: this model learns rows with a target; `predict` returns scores without learning"))
            }
            Reads::Sign | Reads::Class if self.width > 1 => {
                Err(Refusal::body(format!("{} targets per row, expected one class per row", self.width)))
            }
            Reads::Sign | Reads::Class => Ok(Learnable::Labels(self.labels(classes))),
            Reads::Number | Reads::Vector => self.numbers().map(Learnable::Numbers),
        }
    }

    /// The class of each row, under the name that the learner has for it or will give it at this row.
    fn labels(&self, classes: &[Label]) -> Vec<Label> {
        let mut new: Vec<Label> = Vec::new();
        let named = |target: &Target| {
            let label = target.label();
            if *target == Target::Missing {
                return label;
            }
            let name = label.named_as(classes.iter().chain(&new));
            if !classes.contains(&name) && !new.contains(&name) {
                new.push(name.clone());
            }
            name
        };
        self.values.iter().map(named).collect()
    }

    /// The targets that are numbers with a fraction, and their rows.
    pub fn fractions(&self) -> impl Iterator<Item = (usize, f64)> {
        let width = self.width.max(1);
        self.values.iter().enumerate().filter_map(move |(at, target)| match target {
            Target::Number(value) if value.fract() != 0.0 => Some((at / width, *value)),
            _ => None,
        })
    }

    /// The first target that is a number so large that it may have lost digits, and its row.
    pub fn inexact(&self) -> Option<(usize, f64)> {
        let large = |target: &Target| matches!(target, Target::Number(value) if value.abs() >= EXACT);
        let at = self.values.iter().position(large)?;
        let Target::Number(value) = self.values[at] else { return None };
        Some((at / self.width.max(1), value))
    }

    /// The first target that is text or a truth value, and its row.
    pub fn first_word(&self) -> Option<(usize, String)> {
        let is_word = |target: &Target| matches!(target, Target::Text(_) | Target::Flag(_));
        let at = self.values.iter().position(is_word)?;
        Some((at / self.width.max(1), self.values[at].label().to_string()))
    }

    fn numbers(&self) -> Answered<Vec<f64>> {
        // Where one target of a table is no number, all are text: the first text that is no number is the wrong one.
        let is_word = |target: &Target| matches!(target, Target::Text(text) if text.parse::<f64>().is_err());
        let word = self.values.iter().position(is_word);
        let refuse = |at: usize, text: &str| {
            let (at, text) = match word.map(|at| (at, &self.values[at])) {
                Some((at, Target::Text(word))) => (at, word.as_str()),
                _ => (at, text),
            };
            let row = at / self.width;
            let text = format!("row {row}: target '{}', expected a number", shortened(text));
            Err(Refusal::body(text).with(serde_json::json!({ "row": row, "target": at % self.width })))
        };
        let number = |(at, target): (usize, &Target)| match target {
            Target::Missing => Ok(0.0),
            Target::Number(v) => Ok(*v),
            Target::Flag(flag) => refuse(at, &flag.to_string()),
            Target::Text(text) => refuse(at, text),
        };
        self.values.iter().enumerate().map(number).collect()
    }

    /// The targets from row `from` on.
    pub fn after(&self, from: usize) -> Targets {
        Targets { width: self.width, values: self.values[from * self.width..].to_vec() }
    }
}

/// At most 80 characters of a text of the user, for a message.
pub fn shortened(text: &str) -> String {
    let clean: String = text.chars().filter(|c| !c.is_control()).take(80).collect();
    if clean.len() < text.len() { clean + "..." } else { clean }
}

/// Rows in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// The number of rows.
    pub count: usize,
    /// Numbers per row.
    pub features: usize,
    /// The numbers, row by row.
    pub x: Vec<f64>,
    /// The names of the columns, if the rows have names.
    pub names: Option<Vec<String>>,
    /// The cells that a named row did not have, as indices into `x`, in order.
    pub absent: Vec<usize>,
    /// The targets.
    pub targets: Targets,
    /// A weight per row.
    pub weights: Option<Vec<f64>>,
    /// An id per row.
    pub ids: Option<Vec<u64>>,
}

impl Rows {
    /// The rows from row `from` on.
    pub fn after(&self, from: usize) -> Rows {
        let cell = from * self.features;
        Rows {
            count: self.count - from,
            features: self.features,
            x: self.x[cell..].to_vec(),
            names: self.names.clone(),
            absent: self.absent.iter().filter(|at| **at >= cell).map(|at| at - cell).collect(),
            targets: self.targets.after(from),
            weights: self.weights.as_ref().map(|w| w[from..].to_vec()),
            ids: self.ids.as_ref().map(|ids| ids[from..].to_vec()),
        }
    }

    /// A row of weight 0 is a row without a target: what stands in its place names no class and decides no type.
    pub fn forget_targets_of_weight_zero(&mut self) {
        let Some(weights) = &self.weights else { return };
        let rows = self.targets.values.chunks_mut(self.targets.width.max(1)).zip(weights);
        rows.filter(|(_, weight)| **weight == 0.0).for_each(|(targets, _)| targets.fill(Target::Missing));
    }

    /// The bytes that the rows take in memory, approximately.
    pub fn bytes(&self) -> usize {
        8 * self.x.len() + 32 * self.targets.values.len() + 16 * self.count + 64
    }

    /// A hash of the contents, by which a repeat is told from another body under the same key.
    pub fn fingerprint(&self) -> u64 {
        let mut bytes = Vec::new();
        crate::codec::write_rows(&mut bytes, self);
        crate::codec::fingerprint(&bytes)
    }
}
