//! What f is stored as: terms, weights, or weights of random Fourier features.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::basis::fourier::has_spectrum;
use crate::config::{Choice, Config, kinds};
use crate::error::{Error, Result};

/// What f is stored as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Form {
    /// As terms: rows with their coefficients, under a budget.
    Terms,
    /// As one weight per feature and output, for a linear kernel; or per feature of the polynomial kernel of degree 2 (the columns, their
    /// products and squares; for up to 1,446 columns). There is no budget, and nothing is truncated.
    Weights,
    /// As one weight per random Fourier feature and output, for kernels of distance. The features stand in for the kernel; f is exact
    /// under the kernel that they define.
    Fourier {
        /// The number of features, cosines and sines together.
        size: usize,
        /// The seed of the frequencies.
        #[serde(default)]
        seed: u64,
        /// Whether frequencies are orthogonal in groups of as many as a row has features. The estimate of the kernel has less variance
        /// then, but the number of features of a row cannot grow.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        orthogonal: bool,
    },
}

/// The most random features.
const MOST: usize = 1 << 20;

const EXPECTED: &str =
    "must be \"auto\", \"terms\", \"weights\" or \"fourier:SIZE\" (or \"fourier:size=SIZE,seed=SEED,orthogonal=true\")";

/// Replaces `fourier:1000` by a table, and checks the kinds of the values.
///
/// # Errors
/// If it is none of the names, or has a parameter that it cannot have.
pub(super) fn expand(value: &mut Value) -> Result<()> {
    let refuse = |found: &Value| Err(Error::config("form", format!("{EXPECTED}, found {found}")));
    if let Some(parameters) = value.as_str().and_then(|text| text.strip_prefix("fourier")) {
        let Some(table) = parameters_of(parameters) else { return refuse(value) };
        *value = Value::Object(Map::from_iter([("fourier".to_string(), Value::Object(table))]));
    }
    match value {
        Value::Null => Ok(()),
        Value::String(word) if matches!(word.as_str(), "auto" | "terms" | "weights") => Ok(()),
        Value::Object(table) if table.len() == 1 => match table.get_mut("fourier") {
            Some(Value::Object(parameters)) => check_parameters(parameters),
            _ => refuse(value),
        },
        found => refuse(found),
    }
}

/// `:1000`, `:1000,orthogonal` or `:size=1000,seed=3,orthogonal=true`.
fn parameters_of(text: &str) -> Option<Map<String, Value>> {
    let parameter = |part: &str| match part.split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
        None if part.trim() == "orthogonal" => ("orthogonal".to_string(), true.into()),
        None => ("size".to_string(), super::number_or_text(part.trim())),
        Some((key @ "orthogonal", word @ ("true" | "false"))) => (key.to_string(), (word == "true").into()),
        Some((key, value)) => (key.to_string(), super::number_or_text(value)),
    };
    Some(text.strip_prefix(':')?.split(',').map(parameter).collect())
}

fn check_parameters(parameters: &mut Map<String, Value>) -> Result<()> {
    for (key, value) in parameters.iter_mut() {
        match (key.as_str(), kinds::whole(value)) {
            ("size" | "seed", Some(number)) => *value = number.into(),
            ("size" | "seed", None) => {
                return Err(Error::config("form", format!("{key} must be a whole number, found {value}")));
            }
            ("orthogonal", _) if value.is_boolean() => {}
            ("orthogonal", _) => return Err(Error::config("form", format!("orthogonal must be true or false, found {value}"))),
            _ => return Err(Error::config("form", format!("fourier has no parameter {key:?}; it has size, seed, orthogonal"))),
        }
    }
    match parameters.contains_key("size") {
        true => Ok(()),
        false => Err(Error::config("form", "`fourier` needs size, as in form = fourier:1000")),
    }
}

impl Config {
    /// The kernel for which there are no random features, in words.
    fn without_spectrum(&self) -> String {
        let rules = self.kernel_rules();
        let rule = rules.iter().find(|rule| !has_spectrum(&rule.kernel(0))).filter(|_| self.single_kernel());
        match rule.map(serde_json::to_value) {
            Some(Ok(Value::Object(one))) => one.keys().next().cloned().unwrap_or_default(),
            Some(Ok(Value::String(name))) => name,
            Some(_) => "another kernel".into(),
            None => "a sum of operator kernels".into(),
        }
    }

    pub(super) fn check_form(&self) -> Result<()> {
        let refuse = |reason: String| Err(Error::config("form", reason));
        let Choice::Given(form) = self.form else { return Ok(()) };
        let what = match form {
            Form::Terms => return Ok(()),
            Form::Weights if !self.is_linear() && !self.is_quadratic() => {
                return refuse(
                    "weights need kernel = linear or polynomial with degree = 2, and no sum of operator kernels: use terms or fourier"
                        .into(),
                );
            }
            Form::Weights => "weights have",
            Form::Fourier { size, .. } if size < 2 || size % 2 == 1 || size > MOST => {
                return refuse(format!("the size of fourier must be an even number from 2 to {MOST}, found {size}"));
            }
            Form::Fourier { .. } if !self.single_kernel() || !self.kernels().iter().all(has_spectrum) => {
                return refuse(format!(
                    "fourier needs the kernel gaussian, exponential, matern32 or matern52, and this run has {}: use terms",
                    self.without_spectrum()
                ));
            }
            Form::Fourier { .. } => "random features have",
        };
        match (self.budget.is_some(), self.memory.is_some()) {
            (true, _) => refuse(format!("{what} no terms, so there is no budget: remove budget, or use form = terms")),
            (_, true) => refuse(format!("{what} no terms that could become more: remove memory, or use form = terms")),
            _ => Ok(()),
        }
    }
}
