//! Short forms of settings: `"window:1000"`, `"decay:eta=1,tau=1000"`, and flat keys such as `gamma = 0.5`.
//!
//! Everything is expanded into the one canonical form, `{"budget": {"window": {"terms": 1000}}}`, before it is read.

use serde_json::{Map, Number, Value};

use crate::config::families::{FAMILIES, Family, PARAMETERS, family, parameter};
use crate::config::{DEFAULT_TERMS, class_weight, expression, form, kinds, sizing};
use crate::error::{Error, Result};

/// The name of the default budget in the canonical form, until [`take_terms`] replaces it.
const DEFAULT: &str = "default";

/// The canonical form of a table of settings.
pub(crate) fn expand(value: Value) -> Result<Value> {
    let Value::Object(mut settings) = value else {
        return Err(Error::config("configuration", "expected a table of settings"));
    };
    if settings.get("budget").is_some_and(|budget| budget == "auto") {
        settings.remove("budget");
    }
    if let Some(Value::String(size)) = settings.get("memory") {
        let bytes = sizing::bytes(size)?;
        settings.insert("memory".into(), bytes.into());
    }
    settings.get_mut("class_weight").map_or(Ok(()), class_weight::expand)?;
    settings.get_mut("form").map_or(Ok(()), form::expand)?;
    for group in &FAMILIES {
        let flat = take_flat(&mut settings, group);
        let given = settings.remove(group.key).or_else(|| group.implied(&flat));
        if let Some(given) = given {
            settings.insert(group.key.into(), group.expand_list(given, flat)?);
        } else if let Some((key, value)) = flat.iter().next() {
            return Err(Error::config(key, group.orphan(key, value)));
        }
    }
    if let (Some(Value::Array(parts)), Some(kernels)) = (settings.get_mut("operator"), family("kernel")) {
        for kernel in parts.iter_mut().filter_map(|part| part.get_mut("kernel")) {
            *kernel = kernels.expand(kernel.take(), Map::new())?;
        }
    }
    Ok(Value::Object(settings))
}

/// Removes the keys that belong to the parameters of a group.
fn take_flat(settings: &mut Map<String, Value>, group: &Family) -> Map<String, Value> {
    let parameters = group.variants.iter().flat_map(|variant| variant.parameters);
    let mut flat = Map::new();
    for key in parameters {
        if let Some(value) = settings.remove(*key) {
            flat.insert((*key).into(), value);
        }
    }
    flat
}

impl Family {
    /// The name if only a parameter is given: gamma alone means a Gaussian kernel, terms alone the default budget.
    fn implied(&self, flat: &Map<String, Value>) -> Option<Value> {
        match self.key {
            "kernel" if flat.keys().eq(["gamma"]) => Some("gaussian".into()),
            "budget" if flat.keys().eq(["terms"]) => Some(DEFAULT.into()),
            _ => None,
        }
    }

    /// The error message for a parameter without its name: lists the names that have this parameter, with an example.
    fn orphan(&self, key: &str, value: &Value) -> String {
        let having = self.having(key);
        let (group, first) = (self.key, having.first().unwrap_or(&""));
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!(
            "belongs to `{group}`, which is not given; say for instance {group} = {first}:{key}={value} ({} {key})",
            has_it(&having)
        )
    }

    /// The canonical form of a setting that may be a list: kernels and losses.
    fn expand_list(&self, given: Value, flat: Map<String, Value>) -> Result<Value> {
        let parts = match given {
            Value::Array(parts) if self.lists => parts,
            Value::String(text) if self.lists => self.split(&text).into_iter().map(Value::from).collect(),
            one => vec![one],
        };
        match <[Value; 1]>::try_from(parts) {
            Ok([one]) => self.expand(one, flat),
            Err(parts) => {
                if let Some((key, value)) = flat.iter().next() {
                    let having = self.having(key);
                    let first = having.first().unwrap_or(&"");
                    let text = format!("`{}` is a list; write the parameter into it, as in {first}:{key}={value}", self.key);
                    return Err(Error::config(key, text));
                }
                let none = parts.is_empty().then(|| Error::config(self.key, "the list is empty: name at least one"));
                let parts = parts.into_iter().map(|part| self.expand(part, Map::new())).collect::<Result<_>>();
                none.map_or(parts.map(Value::Array), Err)
            }
        }
    }

    /// Splits `hinge:margin=1,logistic` at the commas before a name of the family. `epsilon=1` is a parameter, `epsilon:1` a name.
    fn split(&self, text: &str) -> Vec<String> {
        let mut parts: Vec<String> = Vec::new();
        for piece in text.split(',') {
            let name = expression::first_name(piece);
            match parts.last_mut() {
                Some(part) if self.name(name).is_none() => {
                    part.push(',');
                    part.push_str(piece);
                }
                _ => parts.push(piece.trim().to_string()),
            }
        }
        parts
    }

    /// The names that have a parameter.
    fn having(&self, key: &str) -> Vec<&'static str> {
        self.variants.iter().filter(|variant| variant.parameters.contains(&key)).map(|variant| variant.name).collect()
    }

    fn expand(&self, given: Value, flat: Map<String, Value>) -> Result<Value> {
        let (name, mut inner) = match given {
            number if self.key == "budget" && whole(&number).is_some() => {
                (DEFAULT.into(), Value::Object(Map::from_iter([("terms".into(), whole(&number).into())])))
            }
            Value::String(text) => match expression::table(&text).filter(|_| self.key == "kernel") {
                Some(table) => self.unwrap(table)?,
                None => self.parse(&text)?,
            },
            Value::Object(table) => self.unwrap(table)?,
            other => return Err(Error::config(self.key, format!("expected {}, found {other}", self.expected()))),
        };
        let known = self.parameters(&name)?;
        if let (Value::Array(_), Some((key, value))) = (&inner, flat.iter().next()) {
            let text = format!(
                "a {name} has several kernels; write the parameter into one of them, as in gaussian:{key}={value}+linear"
            );
            return Err(Error::config(key, text));
        }
        if let Value::Object(inner) = &mut inner {
            for (key, value) in flat {
                if !known.contains(&key.as_str()) {
                    return Err(Error::config(&key, format!("{} `{name}` has no such parameter{}", self.key, has(known))));
                }
                inner.insert(key, value);
            }
            if known == ["terms"] && name != DEFAULT {
                inner.entry("terms").or_insert(DEFAULT_TERMS.into());
            }
        }
        let bare = self.name(&name).is_some_and(|variant| variant.bare);
        if !bare || inner.as_object().is_some_and(|m| !m.is_empty()) {
            return Ok(Value::Object(Map::from_iter([(name, inner)])));
        }
        Ok(Value::String(name))
    }

    fn expected(&self) -> &'static str {
        if self.key == "budget" { "a whole number of terms, a name or a table" } else { "a name or a table" }
    }

    fn parameters(&self, name: &str) -> Result<&'static [&'static str]> {
        if self.key == "budget" && name == DEFAULT {
            return Ok(&["terms"]);
        }
        if self.key == "budget" && name.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            let hint = kinds::size_hint("terms", &name.into());
            return Err(Error::config(self.key, format!("expected {}, found {name:?}{hint}", self.expected())));
        }
        self.name(name).map(|variant| variant.parameters).ok_or_else(|| {
            let meant = nearest(name, self.names()).map_or(String::new(), |near| format!(" did you mean {near}?"));
            Error::config(self.key, format!("unknown name {name:?};{meant} choose one of {}", self.choices()))
        })
    }

    /// `name`, `name:VALUE` or `name:key=value,...`.
    fn parse(&self, text: &str) -> Result<(String, Value)> {
        let (name, rest) = text.split_once(':').unwrap_or((text, ""));
        let known = self.parameters(name)?;
        let mut inner = Map::new();
        for item in rest.split(',').filter(|item| !item.is_empty()) {
            let (key, value) = match (item.split_once('='), known) {
                (Some((key, value)), _) if known.contains(&key) => (key, value),
                (Some((key, _)), _) => {
                    return Err(Error::config(self.key, format!("`{name}` has no parameter {key:?}{}", has(known))));
                }
                (None, [key]) => (*key, item),
                (None, _) => {
                    return Err(Error::config(self.key, format!("`{name}` wants key=value, found {item:?}{}", has(known))));
                }
            };
            inner.insert(key.into(), number_or_text(value));
        }
        Ok((name.into(), Value::Object(inner)))
    }

    /// Reads `{name: {...}}`; kernels can be nested.
    fn unwrap(&self, table: Map<String, Value>) -> Result<(String, Value)> {
        let mut entries = table.into_iter();
        let (Some((name, inner)), None) = (entries.next(), entries.next()) else {
            return Err(Error::config(self.key, "expected one name with its parameters, as in { window = { terms = 1000 } }"));
        };
        self.parameters(&name)?;
        let inner = match inner {
            Value::Array(parts) => Value::Array(parts.into_iter().map(|k| self.expand(k, Map::new())).collect::<Result<_>>()?),
            Value::Object(mut inner) => {
                if let Some(of) = inner.remove("of") {
                    inner.insert("of".into(), self.expand(of, Map::new())?);
                }
                Value::Object(inner)
            }
            Value::Null => Value::Object(Map::new()),
            other => return Err(Error::config(self.key, format!("`{name}` wants a table of parameters, found {other}"))),
        };
        Ok((name, inner))
    }
}

/// The error message for a setting that does not exist; `settings`: all settings.
pub(crate) fn no_such_setting(found: &str, settings: &[&str]) -> String {
    let near = nearest(found, settings.iter().copied().chain(PARAMETERS.iter().map(|parameter| parameter.name)));
    let meant = near.map_or(String::new(), |near| format!(" did you mean `{near}`?"));
    format!("no such setting;{meant} there are {} and the parameters of these", settings.join(", "))
}

/// Names of other libraries, and the names of okl with the same meaning.
const ELSEWHERE: [(&str, &str); 14] = [
    ("rbf", "gaussian"),
    ("poly", "polynomial"),
    ("laplacian", "exponential"),
    ("log", "logistic"),
    ("log_loss", "logistic"),
    ("crossentropy", "softmax"),
    ("mse", "squared"),
    ("squared_error", "squared"),
    ("mae", "absolute"),
    ("absolute_error", "absolute"),
    ("learning_rate", "step"),
    ("invscaling", "inverse_sqrt"),
    ("optimal", "pegasos"),
    ("adaptive", "smd"),
];

/// The name that `found` probably means: the one with this name in other libraries, or the one with the most similar spelling, here or there.
///
/// ```
/// assert_eq!(okl::config::nearest("targt", ["target", "ignore"].into_iter()), Some("target"));
/// assert_eq!(okl::config::nearest("colour", ["target", "ignore"].into_iter()), None);
/// assert_eq!(okl::config::nearest("rbf", ["linear", "gaussian"].into_iter()), Some("gaussian"));
/// assert_eq!(okl::config::nearest("rfb", ["linear", "gaussian"].into_iter()), Some("gaussian"));
/// ```
pub fn nearest<'a>(found: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let names: Vec<&'a str> = names.collect();
    let elsewhere = || ELSEWHERE.iter().filter_map(|(theirs, ours)| Some((*theirs, *names.iter().find(|name| *name == ours)?)));
    if let Some((_, ours)) = elsewhere().find(|(theirs, _)| *theirs == found) {
        return Some(ours);
    }
    let near = |spelled: &str| edits(found, spelled) <= found.chars().count().div_ceil(3);
    let here = names.iter().copied().filter(|name| near(name)).min_by_key(|name| edits(found, name));
    here.or_else(|| {
        elsewhere().filter(|(theirs, _)| near(theirs)).min_by_key(|(theirs, _)| edits(found, theirs)).map(|(_, ours)| ours)
    })
}

/// The edit distance: the number of letters to insert, delete, change, or swap with their neighbour.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let changed = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            let swap = if swapped { rows[i - 2][j - 2] + 1 } else { usize::MAX };
            row.push(changed.min(rows[i - 1][j] + 1).min(row[j - 1] + 1).min(swap));
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

/// The number of terms that the default budget is to have, taken out of the canonical form: which budget that is depends on the
/// other settings.
pub(crate) fn take_terms(canonical: &mut Value) -> Result<Option<usize>> {
    let Some(settings) = canonical.as_object_mut() else { return Ok(None) };
    let Some(terms) = settings.get("budget").and_then(|budget| budget.get(DEFAULT)).map(|inner| inner.get("terms").cloned())
    else {
        return Ok(None);
    };
    settings.remove("budget");
    let terms = terms.unwrap_or(DEFAULT_TERMS.into());
    match whole(&terms).and_then(|terms| usize::try_from(terms).ok()) {
        Some(terms) => Ok(Some(terms)),
        None => Err(Error::config("terms", format!("must be a whole number of at least 1, found {terms}"))),
    }
}

/// A whole number, also as text.
fn whole(value: &Value) -> Option<u64> {
    kinds::whole(value).or_else(|| value.as_str()?.parse().ok())
}

/// The error message for a missing parameter, with an example.
pub(crate) fn missing(group: &str, part: &Value, key: &str) -> Option<String> {
    let (name, _) = part.as_object()?.iter().next()?;
    let value = parameter(key).map_or("1", |parameter| parameter.example);
    Some(format!("`{name}` needs {key}, as in {group} = {name}:{key}={value}"))
}

fn has_it(names: &[&str]) -> String {
    match names {
        [one] => format!("{one} has"),
        several => format!("{} have", several.join(", ")),
    }
}

fn has(parameters: &[&str]) -> String {
    match parameters {
        [] => "; it has none".into(),
        keys => format!("; it has {}", keys.join(", ")),
    }
}

/// The value of a setting that is written as text: a number in any usual spelling (`0.5`, `.5`, `5.`, `+5`, `1e-3`), otherwise the text.
///
/// ```
/// use okl::config::number_or_text;
/// assert_eq!([".5", "+0.5", "5e-1"].map(number_or_text), [0.5, 0.5, 0.5]);
/// assert_eq!(number_or_text("inf"), "inf");
/// ```
pub fn number_or_text(text: &str) -> Value {
    let of_json = |text: &str| serde_json::from_str::<Number>(text).ok();
    let is_decimal = |text: &&str| text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    let decimal = |text: &str| Some(text).filter(is_decimal)?.parse().ok().and_then(Number::from_f64);
    let number = of_json(text).or_else(|| of_json(text.strip_prefix('+')?)).or_else(|| decimal(text));
    number.map_or_else(|| Value::String(text.into()), Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_count_letters() {
        let counted = [("", "abc", 3), ("tua", "tau", 1), ("rfb", "rbf", 1), ("dekay", "decay", 1), ("kitten", "sitting", 3)];
        counted.iter().for_each(|(a, b, count)| assert_eq!((edits(a, b), edits(b, a)), (*count, *count), "{a} {b}"));
    }

    #[test]
    fn only_what_is_alike_is_suggested() {
        let names = ["constant", "decay", "auto"];
        assert_eq!(nearest("dekay", names.into_iter()), Some("decay"));
        assert_eq!(nearest("quick", names.into_iter()), None);
    }
}
