//! The short forms people type: `"window:1000"`, `"decay:eta=1,tau=1000"`, and flat keys such as `gamma = 0.5`.
//!
//! Everything is expanded into the one canonical form, `{"budget": {"window": {"terms": 1000}}}`, before it is read.

use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// A setting whose value is one of several names, each with parameters.
struct Group {
    key: &'static str,
    /// (name, parameters, in order of the documentation).
    names: &'static [(&'static str, &'static [&'static str])],
}

const GROUPS: [Group; 8] = [
    Group {
        key: "kernel",
        names: &[
            ("linear", &[]),
            ("polynomial", &["degree", "gamma", "coef0"]),
            ("gaussian", &["gamma"]),
            ("exponential", &["gamma"]),
            ("matern32", &["gamma"]),
            ("matern52", &["gamma"]),
            ("rational_quadratic", &["gamma", "alpha"]),
            ("scaled", &["weight", "of"]),
            ("sum", &[]),
            ("product", &[]),
        ],
    },
    Group {
        key: "loss",
        names: &[
            ("hinge", &["margin"]),
            ("nu_hinge", &["nu"]),
            ("perceptron", &[]),
            ("logistic", &[]),
            ("max_margin", &[]),
            ("softmax", &[]),
            ("novelty", &["margin"]),
            ("nu_novelty", &["nu"]),
            ("squared", &[]),
            ("absolute", &[]),
            ("epsilon", &["epsilon"]),
            ("nu_epsilon", &["nu"]),
            ("huber", &["sigma"]),
            ("nu_huber", &["nu", "sigma_rule"]),
            ("quantile", &["q"]),
        ],
    },
    Group {
        key: "step",
        names: &[
            ("auto", &[]),
            ("constant", &["eta"]),
            ("inverse_sqrt", &["eta"]),
            ("theorem1", &["bound", "radius", "horizon"]),
            ("theorem2", &[]),
            ("decay", &["eta", "tau"]),
            ("linear", &["eta", "horizon"]),
            ("pegasos", &["t0"]),
            ("smd", &["eta", "mu", "decay", "floor", "cap", "preset"]),
        ],
    },
    Group {
        key: "budget",
        names: &[
            ("unlimited", &[]),
            ("window", &["terms"]),
            ("age", &["steps"]),
            ("olok", &["exponent"]),
            ("weight", &["tolerance"]),
            ("certified", &["error"]),
            ("transfer", &["terms"]),
            ("merge", &["terms"]),
            ("forgetron", &["terms"]),
        ],
    },
    Group { key: "average", names: &[("auto", &[]), ("none", &[]), ("uniform", &[]), ("exponential", &["rate"])] },
    Group { key: "threshold", names: &[("norma", &[]), ("tracker", &["speed"])] },
    Group { key: "scale", names: &[("auto", &[]), ("none", &[]), ("standard", &[]), ("fixed", &["shift", "factor", "limit"])] },
    Group { key: "regulariser", names: &[("square", &[]), ("norm", &[]), ("power", &["power"])] },
];

/// Names that stand alone in the canonical form, without a table of parameters.
const BARE: [&str; 8] = ["auto", "none", "uniform", "norma", "standard", "square", "norm", "tracker"];

/// The canonical form of a table of settings.
pub(crate) fn expand(value: Value) -> Result<Value> {
    let Value::Object(mut settings) = value else {
        return Err(Error::config("configuration", "expected a table of settings"));
    };
    for group in &GROUPS {
        let flat = take_flat(&mut settings, group);
        let given = settings.remove(group.key).or_else(|| group.implied(&flat));
        if let Some(given) = given {
            settings.insert(group.key.into(), group.expand(given, flat)?);
        } else if let Some((key, _)) = flat.iter().next() {
            return Err(Error::config(key, format!("belongs to `{}`, which is not given", group.key)));
        }
    }
    if let Some(Value::Array(parts)) = settings.get_mut("operator") {
        for kernel in parts.iter_mut().filter_map(|part| part.get_mut("kernel")) {
            *kernel = GROUPS[0].expand(kernel.take(), Map::new())?;
        }
    }
    Ok(Value::Object(settings))
}

/// Removes the keys that belong to the parameters of a group.
fn take_flat(settings: &mut Map<String, Value>, group: &Group) -> Map<String, Value> {
    let parameters = group.names.iter().flat_map(|(_, keys)| keys.iter());
    let mut flat = Map::new();
    for key in parameters {
        if let Some(value) = settings.remove(*key) {
            flat.insert((*key).into(), value);
        }
    }
    flat
}

impl Group {
    /// A width alone is that of a Gaussian.
    fn implied(&self, flat: &Map<String, Value>) -> Option<Value> {
        (self.key == "kernel" && flat.keys().eq(["gamma"])).then(|| "gaussian".into())
    }

    fn expand(&self, given: Value, flat: Map<String, Value>) -> Result<Value> {
        let (name, mut inner) = match given {
            Value::String(text) => self.parse(&text)?,
            Value::Object(table) => self.unwrap(table)?,
            other => return Err(Error::config(self.key, format!("expected a name or a table, found {other}"))),
        };
        let known = self.parameters(&name)?;
        if let Value::Object(inner) = &mut inner {
            for (key, value) in flat {
                if !known.contains(&key.as_str()) {
                    return Err(Error::config(&key, format!("{} `{name}` has no such parameter{}", self.key, has(known))));
                }
                inner.insert(key, value);
            }
        }
        if name == "tracker" || (inner.as_object().is_some_and(|m| !m.is_empty()) || !BARE.contains(&name.as_str())) {
            return Ok(Value::Object(Map::from_iter([(name, inner)])));
        }
        Ok(Value::String(name))
    }

    fn parameters(&self, name: &str) -> Result<&'static [&'static str]> {
        let found = self.names.iter().find(|(n, _)| *n == name);
        found.map(|(_, keys)| *keys).ok_or_else(|| {
            let names: Vec<&str> = self.names.iter().map(|(n, _)| *n).collect();
            Error::config(self.key, format!("unknown name {name:?}; choose one of {}", names.join(", ")))
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

    /// `{name: {...}}`; kernels nest.
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

fn has(parameters: &[&str]) -> String {
    match parameters {
        [] => "; it has none".into(),
        keys => format!("; it has {}", keys.join(", ")),
    }
}

fn number_or_text(text: &str) -> Value {
    serde_json::from_str::<serde_json::Number>(text).map_or_else(|_| Value::String(text.into()), Value::Number)
}
