//! From flags and files to a configuration, and the words that say what was chosen.

use std::path::Path;

use anyhow::{Context, bail};
use okl::Config;
use okl::config::Label;
use serde_json::{Map, Value, json};

use crate::args::{Settings, Task};

/// The settings that were given, as one table: the file first, flags over it.
pub fn given(settings: &Settings) -> anyhow::Result<Map<String, Value>> {
    let mut table = match &settings.config {
        Some(path) => read_file(path)?,
        None => Map::new(),
    };
    for (key, value) in settings.flat.given() {
        table.insert(key.into(), number_or_text(value));
    }
    let words = [
        ("loss", &settings.loss),
        ("kernel", &settings.kernel),
        ("step", &settings.step),
        ("budget", &settings.budget),
        ("regulariser", &settings.regulariser),
        ("average", &settings.average),
        ("threshold", &settings.threshold),
        ("scale", &settings.scale),
        ("anchor", &settings.anchor),
    ];
    table.extend(words.into_iter().filter_map(|(key, word)| Some((key.into(), Value::String(word.clone()?)))));
    let mut put = |key: &str, value: Option<Value>| value.map(|v| table.insert(key.into(), v));
    put("lambda", settings.lambda.as_deref().map(number_or_text));
    put("theta0", settings.theta0.map(Value::from));
    put("warmup", settings.warmup.map(Value::from));
    put("offset", settings.offset.map(Value::from));
    put("implicit", settings.implicit.then_some(json!(true)));
    put("allow_overshoot", settings.allow_overshoot.then_some(json!(true)));
    put("operator", (!settings.operator.is_empty()).then(|| json!(settings.operator)));
    put("classes", (!settings.classes.is_empty()).then(|| settings.classes.iter().map(|c| json!(label(c))).collect()));
    Ok(table)
}

fn read_file(path: &Path) -> anyhow::Result<Map<String, Value>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    let value: Value = match path.extension().is_some_and(|e| e == "json") {
        true => serde_json::from_str(&text).with_context(|| format!("{}: not JSON", path.display()))?,
        false => {
            serde_json::to_value(toml::from_str::<toml::Value>(&text).with_context(|| format!("{}: not TOML", path.display()))?)?
        }
    };
    match value {
        Value::Object(table) => Ok(table),
        other => bail!("{}: expected a table of settings, found {other}", path.display()),
    }
}

fn number_or_text(text: &str) -> Value {
    serde_json::from_str::<serde_json::Number>(text).map_or_else(|_| json!(text), Value::Number)
}

/// A class name as it stands in a file: a whole number where it is one.
pub fn label(text: &str) -> Label {
    text.parse::<i64>().map_or_else(|_| Label::Text(text.into()), Label::Int)
}

/// What the data look like, as far as a choice of loss depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// What is to be predicted.
    pub task: Task,
    /// Distinct classes among the first rows.
    pub classes: usize,
    /// A format whose zeros mean absence.
    pub sparse: bool,
}

/// Fills in what was not given, and says so.
pub fn choose(mut table: Map<String, Value>, look: &Look) -> anyhow::Result<(Config, Vec<String>)> {
    let mut said = Vec::new();
    let mut choose = |table: &mut Map<String, Value>, key: &str, value: Value, why: &str| {
        if !table.contains_key(key) {
            said.push(format!("{key} = {}: {why}", value.as_str().map_or_else(|| value.to_string(), str::to_owned)));
            table.insert(key.into(), value);
        }
    };
    let had_loss = table.contains_key("loss");
    let (loss, why) = match look.task {
        Task::Classes if look.classes == 2 => ("hinge", "the target has two values"),
        Task::Classes => ("max_margin", "the target is a class"),
        Task::Numbers => ("squared", "the target is a number"),
        Task::Novelty => ("nu_novelty", "no target: rows unlike those before them are alerts"),
    };
    choose(&mut table, "loss", json!(loss), why);
    let (kernel, why) = ("gaussian", "a good first choice; its width comes from the first rows (gamma = median)");
    let had_kernel = table.contains_key("kernel");
    choose(&mut table, "kernel", json!(kernel), why);
    if look.sparse {
        choose(&mut table, "anchor", json!("none"), "absent features stay zero");
        choose(&mut table, "scale", json!("standard"), "columns in units of their entries' size, not centred");
    } else {
        choose(&mut table, "scale", json!("standard"), "columns in units of their deviation");
    }
    if !table.contains_key("step") {
        let step = if look.task == Task::Novelty { "inverse_sqrt:0.1" } else { "decay:eta=0.5,tau=1000" };
        choose(&mut table, "step", json!(step), "large at first, slowly smaller");
    }
    choose(&mut table, "lambda", json!(if look.task == Task::Novelty { 0.1 } else { 1e-4 }), "light regularisation");
    if look.task == Task::Novelty && !had_loss {
        choose(&mut table, "threshold", json!("tracker"), "holds the alert rate");
    } else if look.task != Task::Novelty {
        choose(&mut table, "offset", json!(true), "scores need not be zero on average");
    }
    if !had_kernel {
        choose(&mut table, "budget", json!("merge:1000"), "at most 1000 terms; the lightest are merged");
    }
    let config = Config::from_value(Value::Object(table))?;
    config.check()?;
    Ok((config, said))
}
