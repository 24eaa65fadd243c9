//! The kind of value of every setting. It is checked before the configuration is parsed, for better error messages.

use serde_json::{Map, Value};

use crate::config::families::family;
use crate::error::{Error, Result};

/// The kind of a value.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// A whole number. 0 is refused later, with a reason.
    Whole,
    Number,
    /// A number, or the word `auto`.
    NumberOrAuto,
    Numbers,
    Bool,
    Word(&'static [&'static str]),
    Classes,
    Operator,
}

/// Every setting and every parameter whose value is not described elsewhere: [families](crate::config::families) are names with parameters, `gamma` and
/// `target_scale` say themselves what they expect.
const KINDS: [(&str, Kind); 52] = [
    ("terms", Kind::Whole),
    ("steps", Kind::Whole),
    ("degree", Kind::Whole),
    ("horizon", Kind::Whole),
    ("warmup", Kind::Whole),
    ("memory", Kind::Whole),
    ("warmup_passes", Kind::Whole),
    ("coef0", Kind::Number),
    ("alpha", Kind::Number),
    ("weight", Kind::Number),
    ("margin", Kind::Number),
    ("nu", Kind::Number),
    ("epsilon", Kind::Number),
    ("sigma", Kind::Number),
    ("q", Kind::Number),
    ("eta", Kind::Number),
    ("tau", Kind::Number),
    ("mu", Kind::Number),
    ("decay", Kind::Number),
    ("floor", Kind::Number),
    ("cap", Kind::Number),
    ("t0", Kind::Number),
    ("bound", Kind::Number),
    ("radius", Kind::Number),
    ("exponent", Kind::Number),
    ("tolerance", Kind::Number),
    ("error", Kind::Number),
    ("rate", Kind::Number),
    ("speed", Kind::Number),
    ("power", Kind::Number),
    ("limit", Kind::Number),
    ("theta0", Kind::Number),
    ("offset_step", Kind::Number),
    ("lambda", Kind::NumberOrAuto),
    ("shift", Kind::Numbers),
    ("factor", Kind::Numbers),
    ("log_units", Kind::Numbers),
    ("whiten", Kind::Numbers),
    ("relevance", Kind::Numbers),
    ("sigma_rule", Kind::Word(&["quantile", "concomitant"])),
    ("preset", Kind::Word(&["svmd2005"])),
    ("per", Kind::Word(&["coordinate"])),
    ("anchor", Kind::Word(&["first", "none"])),
    ("heads", Kind::Word(&["auto", "grid", "selected", "varied", "weighted", "mixed", "broad"])),
    ("widths", Kind::Word(&["auto", "fixed", "follow"])),
    ("shrink", Kind::Word(&["always", "on_update"])),
    ("offset", Kind::Bool),
    ("follow", Kind::Bool),
    ("implicit", Kind::Bool),
    ("allow_overshoot", Kind::Bool),
    ("classes", Kind::Classes),
    ("operator", Kind::Operator),
];

impl Kind {
    fn expected(self) -> String {
        match self {
            Kind::Whole => "a whole number of at least 1".into(),
            Kind::Number => "a number".into(),
            Kind::NumberOrAuto => "a number or \"auto\"".into(),
            Kind::Numbers => "a list of numbers".into(),
            Kind::Bool => "true or false".into(),
            Kind::Word(words) => words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(" or "),
            Kind::Classes => "a list of whole numbers or of text".into(),
            Kind::Operator => "a list of numbers (a square matrix row by row), or of tables with kernel and operator".into(),
        }
    }

    fn takes(self, value: &Value) -> bool {
        let numbers = |values: &[Value]| values.iter().all(Value::is_number);
        match self {
            Kind::Whole => value.is_u64(),
            Kind::Number => value.is_number(),
            Kind::NumberOrAuto => value.is_number() || value.as_str() == Some("auto"),
            Kind::Numbers => value.as_array().is_some_and(|values| numbers(values)),
            Kind::Bool => value.is_boolean(),
            Kind::Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Kind::Classes => value.as_array().is_some_and(|names| names.iter().all(|n| n.is_i64() || n.is_string())),
            Kind::Operator => value.as_array().is_some_and(|parts| numbers(parts) || parts.iter().all(Value::is_object)),
        }
    }
}

/// Checks the kind of every value of a configuration in its canonical form. Whole numbers that are written as 1e3 or 1000.0 become
/// whole numbers.
pub(super) fn check(canonical: &mut Value) -> Result<()> {
    let Some(settings) = canonical.as_object_mut() else { return Ok(()) };
    for (key, value) in settings {
        match key.as_str() {
            part if family(part).is_some() => check_part(part, value)?,
            "target_scale" => check_target_scale(value)?,
            "operator" => check_operator(value)?,
            _ => check_value("", key, value)?,
        }
    }
    Ok(())
}

/// Checks a name with parameters; for kernels also the parts of a sum or product.
fn check_part(group: &str, part: &mut Value) -> Result<()> {
    if let Value::Array(parts) = part {
        return parts.iter_mut().try_for_each(|part| check_part(group, part));
    }
    let Some((_, inner)) = part.as_object_mut().and_then(|table| table.iter_mut().next()) else { return Ok(()) };
    match inner {
        Value::Array(parts) => parts.iter_mut().try_for_each(|part| check_part(group, part)),
        Value::Object(parameters) => check_parameters(group, parameters),
        _ => Ok(()),
    }
}

fn check_parameters(group: &str, parameters: &mut Map<String, Value>) -> Result<()> {
    parameters.iter_mut().try_for_each(|(key, value)| match key.as_str() {
        "of" => check_part(group, value),
        _ => check_value(group, key, value),
    })
}

fn check_target_scale(value: &mut Value) -> Result<()> {
    let expected = "must be \"none\" or a table as { fixed = { shift = [0.0], factor = [1.0] } }";
    match value {
        Value::String(word) if word == "none" => Ok(()),
        Value::Object(table) => match table.get_mut("fixed") {
            Some(Value::Object(parameters)) => check_parameters("target_scale", parameters),
            _ => Err(Error::config("target_scale", expected)),
        },
        found => Err(Error::config("target_scale", format!("{expected}, found {found}"))),
    }
}

/// Checks an operator: a matrix, or a list of parts with a kernel and a matrix each.
fn check_operator(value: &mut Value) -> Result<()> {
    check_value("", "operator", value)?;
    let parts = value.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut);
    for part in parts {
        for (key, value) in part {
            match key.as_str() {
                "kernel" => check_part("kernel", value)?,
                "operator" if !Kind::Numbers.takes(value) => {
                    let expected = Kind::Numbers.expected();
                    return Err(Error::config("operator", format!("the operator of a part must be {expected}, found {value}")));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Checks one value; `group` is the setting that it is a parameter of, if it is one.
fn check_value(group: &str, key: &str, value: &mut Value) -> Result<()> {
    let Some((_, kind)) = KINDS.iter().find(|(name, _)| *name == key) else { return Ok(()) };
    if let (Kind::Whole, Some(number)) = (kind, whole(value)) {
        *value = number.into();
    }
    if value.is_null() || kind.takes(value) {
        return Ok(());
    }
    let found = format!("must be {}, found {value}{}", kind.expected(), size_hint(key, value));
    Err(if group.is_empty() { Error::config(key, found) } else { Error::config(group, format!("{key} {found}")) })
}

/// The value as a whole number, also if it is written as 1e3.
pub(super) fn whole(value: &Value) -> Option<u64> {
    const EXACT: f64 = (1u64 << 53) as f64;
    let written_as_float = || value.as_f64().filter(|v| v.fract() == 0.0 && (0.0..=EXACT).contains(v)).map(|v| v as u64);
    value.as_u64().or_else(written_as_float)
}

/// Advice for a number of terms that is given as a size in bytes.
pub(super) fn size_hint(key: &str, value: &Value) -> &'static str {
    match value.as_str() {
        Some(size) if key == "terms" && super::sizing::bytes(size).is_ok() => {
            "; how many terms fit into a size depends on the number of columns: give the size with --memory on the command line, \
             or ask okl.terms_within in Python"
        }
        _ => "",
    }
}
