//! Weights of classes: `none`, `balanced`, or a table.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::{Config, Label};
use crate::error::{Error, Result};
use crate::parts::loss::{Loss, Reads};

/// The weight of an example by its class. It multiplies the loss of the example and its regulariser, so lambda keeps its meaning however
/// rare a class is. (The weight of a row multiplies the loss only.) The reported loss of a row does not contain it.
///
/// Only the ratio of the weights of two classes has a meaning: weights are divided by the largest one if that is above 1. A proximal
/// step stops at the margin, so a weight above 1 would hardly change it, and an explicit step with a weight of 1,000 overshoots.
///
/// ```
/// use okl::Config;
/// use okl::config::ClassWeight;
/// assert_eq!(Config::from_toml("class_weight = 'balanced'")?.class_weight, ClassWeight::Balanced);
/// assert_eq!(Config::from_toml("class_weight = 'spam=10,ham=1'")?, Config::from_toml("class_weight = { spam = 10, ham = 1 }")?);
/// # Ok::<(), okl::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ClassWeight {
    /// Every class has the weight 1.
    #[default]
    None,
    /// n / (K n_c) for an example of class c, divided by the largest of these weights: the number of examples of the rarest class over
    /// that of class c. Both count the examples of the stream up to and including this one; K is the number of classes among them.
    /// While there is only one class, another one counts as if it had one example.
    Balanced,
    /// A weight per class, by its name, see [`ClassWeight::is_name_of`]; classes that are not in the table have the weight 1.
    Table(BTreeMap<String, f64>),
}

/// The range of a weight in a table.
const WEIGHTS: std::ops::RangeInclusive<f64> = 1e-9..=1e9;

const EXPECTED: &str =
    "must be \"none\", \"balanced\", or a number > 0 per class: as text spam=10,\"a,b\"=2, as a table { spam = 10.0 }";

impl ClassWeight {
    /// Whether all classes have the weight 1.
    pub fn is_none(&self) -> bool {
        *self == ClassWeight::None
    }

    /// The weight of a class of a table, relative to the largest weight if that is above 1.
    pub(crate) fn of(table: &BTreeMap<String, f64>, class: &Label) -> f64 {
        let largest = table.values().copied().fold(1.0, f64::max);
        let other_spelling = || table.iter().find(|(name, _)| ClassWeight::is_name_of(name, class)).map(|(_, weight)| weight);
        table.get(&class.to_string()).or_else(other_spelling).copied().unwrap_or(1.0) / largest
    }

    /// Whether a name in a table is that of a class: the same text, or another spelling of the same truth value (True and true).
    ///
    /// ```
    /// use okl::config::ClassWeight;
    /// assert!(ClassWeight::is_name_of("True", &"true".into()) && ClassWeight::is_name_of("1", &1.into()));
    /// assert!(!ClassWeight::is_name_of("Spam", &"spam".into()));
    /// ```
    pub fn is_name_of(name: &str, class: &Label) -> bool {
        class.to_string() == name || Label::from(name).is_spelled_like(class)
    }
}

impl Serialize for ClassWeight {
    fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            ClassWeight::None => to.serialize_str("none"),
            ClassWeight::Balanced => to.serialize_str("balanced"),
            ClassWeight::Table(table) => table.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for ClassWeight {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        let value = Value::deserialize(from)?;
        match value.as_str() {
            Some("none") => Ok(ClassWeight::None),
            Some("balanced") => Ok(ClassWeight::Balanced),
            _ => BTreeMap::deserialize(value).map(ClassWeight::Table).map_err(|_| serde::de::Error::custom(EXPECTED)),
        }
    }
}

/// Replaces `spam=10,ham=1` by a table.
///
/// # Errors
/// If it is neither a word nor a table of numbers.
pub(super) fn expand(value: &mut Value) -> Result<()> {
    let refuse = |found: &Value| Err(Error::config("class_weight", format!("{EXPECTED}, found {found}")));
    match value {
        Value::Null => Ok(()),
        Value::String(word) if matches!(word.as_str(), "none" | "balanced") => Ok(()),
        Value::String(text) => match parts(text).into_iter().map(named).collect::<Option<_>>() {
            Some(table) => {
                *value = Value::Object(table);
                Ok(())
            }
            None => refuse(value),
        },
        Value::Object(table) if !table.is_empty() && table.values().all(Value::is_number) => Ok(()),
        found => refuse(found),
    }
}

/// The parts between commas that are not in double quotes.
fn parts(text: &str) -> Vec<&str> {
    let (mut quoted, mut start, mut parts) = (false, 0, Vec::new());
    for (at, sign) in text.char_indices() {
        quoted ^= sign == '"';
        if sign == ',' && !quoted {
            parts.push(&text[std::mem::replace(&mut start, at + 1)..at]);
        }
    }
    parts.push(&text[start..]);
    parts
}

/// The name of a class and its weight; the name may contain `=`. Double quotes around it are removed, doubled ones inside are one.
fn named(part: &str) -> Option<(String, Value)> {
    let (name, weight) = part.rsplit_once('=')?;
    let (name, weight) = (name.trim(), super::number_or_text(weight.trim()));
    let inside = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).map(|inside| inside.replace("\"\"", "\""));
    let name = inside.unwrap_or_else(|| name.to_string());
    (!name.is_empty() && weight.is_number()).then_some((name, weight))
}

impl Config {
    pub(super) fn check_class_weight(&self) -> Result<()> {
        let refuse = |reason: String| Err(Error::config("class_weight", reason));
        if !self.class_weight.is_none() && !matches!(self.loss.reads(), Reads::Sign | Reads::Class) {
            return refuse("this loss has no classes; remove class_weight".into());
        }
        let ClassWeight::Table(table) = &self.class_weight else { return Ok(()) };
        if let Some((class, weight)) = table.iter().find(|(_, weight)| !WEIGHTS.contains(weight)) {
            return refuse(format!("the weight of the class {class} must be a number > 0, from 1e-9 to 1e9, found {weight}"));
        }
        let given =
            |name: &&String| self.classes.as_ref().is_none_or(|classes| classes.iter().any(|c| ClassWeight::is_name_of(name, c)));
        match table.keys().find(|name| !given(name)) {
            Some(name) => refuse(format!("there is no class {name} in `classes`")),
            None => Ok(()),
        }
    }
}
