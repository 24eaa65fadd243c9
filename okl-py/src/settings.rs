//! Converts settings between Python (keyword arguments, dictionaries) and the engine.

use okl::Config;
use okl::config::families::{FAMILIES, Family, Variant};
use okl::config::{Member, Scale};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde_json::{Map, Number, Value, json};

use crate::errors::refused;
use crate::targets::is_bool;

/// The largest depth of nested kernels.
const DEEPEST: usize = 32;

/// The configuration that a dictionary and keyword arguments describe. Keyword arguments override the dictionary; None counts as not given.
/// `scale`: in place of the scale of the columns that they describe.
pub fn config(base: Option<&Bound<'_, PyDict>>, settings: Option<&Bound<'_, PyDict>>, scale: Option<Scale>) -> PyResult<Config> {
    let mut all = Map::new();
    for table in base.into_iter().chain(settings) {
        all.extend(object(table, 0)?);
    }
    // `missing` is a setting of the rows: the engine does not list it.
    let complete = |text: String| text.replacen(" and the parameters of these", ", missing and the parameters of these", 1);
    let mut config = Config::from_value(Value::Object(all)).map_err(|e| match e.to_string() {
        text if text.contains("no such setting;") => PyValueError::new_err(complete(text)),
        _ => refused(&e),
    })?;
    if let Some(scale) = scale {
        config.scale = scale;
    }
    // A setting without effect is not stored, so that a learner made from `Learner.config` has the bytes of the first one.
    let without = Config { implicit: false, ..config.clone() };
    Ok(if without.proximal() { without } else { config })
}

/// Whether the classes are given as bools.
pub fn gives_bools(base: Option<&Bound<'_, PyDict>>, settings: Option<&Bound<'_, PyDict>>) -> PyResult<bool> {
    let mut given = None;
    for table in base.into_iter().chain(settings) {
        given = table.get_item("classes")?.filter(|classes| !classes.is_none()).or(given);
    }
    let Some(classes) = given else { return Ok(false) };
    let names = classes.try_iter().and_then(Iterator::collect::<PyResult<Vec<_>>>).unwrap_or_default();
    Ok(!names.is_empty() && names.iter().all(is_bool))
}

/// The same settings, with the classes 0 and 1 as bools.
pub fn with_bools(config: &Bound<'_, PyAny>) -> PyResult<()> {
    if let Ok(classes) = config.get_item("classes") {
        let bools: Vec<bool> = classes.try_iter()?.map(|class| class?.is_truthy()).collect::<PyResult<_>>()?;
        config.set_item("classes", bools)?;
    }
    Ok(())
}

fn object(table: &Bound<'_, PyDict>, depth: usize) -> PyResult<Map<String, Value>> {
    let mut map = Map::new();
    for (key, value) in table.iter().filter(|(_, value)| !value.is_none()) {
        let key: String = key.extract()?;
        if key == "missing" && depth == 0 {
            continue; // of the rows, not of the engine: `gaps.rs`
        }
        // `lambda` is a keyword of Python.
        let key = if key == "lam" { "lambda".into() } else { key };
        let value = match value.cast::<PyDict>() {
            Ok(weights) if key == "class_weight" => class_weights(weights)?,
            _ => value_of(&key, &value, depth)?,
        };
        let value = match key.as_str() {
            "operator" => flat(value),
            "classes" => each(value, label),
            _ => value,
        };
        map.insert(key, value);
    }
    Ok(map)
}

/// Converts a Python value to JSON; `key`: the setting, for messages.
fn value_of(key: &str, value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth > DEEPEST {
        return Err(PyValueError::new_err(format!("{key}: nested more than {DEEPEST} deep")));
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(Value::Bool(value.extract()?));
    }
    if value.is_instance_of::<PyInt>() {
        let number = value.extract::<i64>().map(Value::from);
        return number.map_err(|_| PyValueError::new_err(format!("{key}: {value} is too large")));
    }
    if value.is_instance_of::<PyFloat>() {
        let number = Number::from_f64(value.extract()?).map(Value::Number);
        return number.ok_or_else(|| PyValueError::new_err(format!("{key}: expected a finite number, found {value}")));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Value::String(text.to_str()?.into()));
    }
    if let Ok(table) = value.cast::<PyDict>() {
        return Ok(Value::Object(object(table, depth + 1)?));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let parts = value.try_iter()?.map(|part| value_of(key, &part?, depth + 1));
        return Ok(Value::Array(parts.collect::<PyResult<_>>()?));
    }
    // numpy's scalars and arrays, pandas' series.
    if value.hasattr("tolist")? {
        return value_of(key, &value.call_method0("tolist")?, depth + 1);
    }
    Err(PyTypeError::new_err(format!("{key}: cannot read a {} as a setting", value.get_type().name()?)))
}

fn each(value: Value, change: impl Fn(Value) -> Value) -> Value {
    if let Value::Array(parts) = value { Value::Array(parts.into_iter().map(change).collect()) } else { value }
}

/// The weights of classes, by the text of their names.
fn class_weights(weights: &Bound<'_, PyDict>) -> PyResult<Value> {
    let mut table = Map::new();
    for (name, weight) in weights.iter() {
        let name = match label(value_of("class_weight", &name, 1)?) {
            Value::String(text) => text,
            name => name.to_string(),
        };
        table.insert(name, value_of("class_weight", &weight, 1)?);
    }
    Ok(Value::Object(table))
}

/// A matrix as one list, row by row.
fn flat(value: Value) -> Value {
    let Value::Array(rows) = value else { return value };
    let parts = rows.into_iter().flat_map(|row| if let Value::Array(row) = row { row } else { vec![row] });
    Value::Array(parts.collect())
}

/// Converts the name of a class to a whole number or text: False and True to 0 and 1, 2.0 to 2.
fn label(name: Value) -> Value {
    match &name {
        Value::Bool(yes) => i64::from(*yes).into(),
        Value::Number(number) => match number.as_f64() {
            Some(v) if number.is_f64() && v.fract() == 0.0 && v.abs() < 1e15 => (v as i64).into(),
            _ => name,
        },
        _ => name,
    }
}

/// A configuration as a dictionary.
pub fn dictionary<'py>(py: Python<'py>, config: &Config) -> PyResult<Bound<'py, PyAny>> {
    from_json(py, &config.to_json())
}

/// JSON text as Python objects.
pub fn from_json<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    PyModule::import(py, "json")?.call_method1("loads", (text,))
}

/// The settings that learn in parallel, with their weights.
pub fn members(config: &Config, members: &[(Member, f64)]) -> Value {
    let describe = |(member, weight): &(Member, f64)| {
        let Config { step, lambda, kernel, loss, average, .. } = config.frozen(member);
        json!({ "weight": weight, "step": step, "lambda": lambda, "kernel": kernel, "loss": loss, "average": average })
    };
    members.iter().map(describe).collect()
}

/// The number of terms that fit into `memory`, a size as "64MB".
///
/// This is the memory that grows with the number of terms. A learner needs a bounded number of bytes more, which does not
/// depend on the number of terms: `Learner.bytes_beside_terms`, at most 2 MB for 20 features with the default settings.
///
/// Parameters
/// ----------
/// memory : str or int
///     "64MB", "1.5GiB", "500kB"; a number is bytes.
/// features, outputs : int
///     Columns of X; scores per row.
/// ids : bool
///     Whether rows have ids: these take 40 bytes per term.
/// **settings
///     Settings of `okl.Learner`: every member of a bank and every average needs its own memory.
///
/// Returns
/// -------
/// int
///     For ``okl.Learner(terms=...)`` with the same settings.
///
/// Examples
/// --------
/// >>> import okl
/// >>> okl.terms_within("1MB", features=20, loss="hinge")
/// 1204
#[pyfunction]
#[pyo3(signature = (memory, /, features, outputs=1, *, ids=false, **settings))]
pub fn terms_within(
    memory: &Bound<'_, PyAny>,
    features: usize,
    outputs: usize,
    ids: bool,
    settings: Option<&Bound<'_, PyDict>>,
) -> PyResult<Option<usize>> {
    let memory = if memory.is_instance_of::<PyInt>() { format!("{memory}B") } else { memory.extract()? };
    let (bytes, config) = (okl::config::sizing::bytes(&memory).map_err(|e| refused(&e))?, config(None, settings, None)?);
    let each = config.bytes_per_term(features, outputs);
    let terms = config.within(bytes, features, outputs).map_err(|e| refused(&e))?.budget().capacity();
    // The engine counts terms without ids: with ids, fewer of them fit.
    Ok(terms.map(|terms| if ids { (terms * each / (each + ID_BYTES)).max(1) } else { terms }))
}

/// What the id of a term takes in the index by which its row is found again.
const ID_BYTES: usize = 40;

/// The names of every setting that has names, with their parameters: ``{setting: {name: [parameter, ...]}}``.
///
/// This is the table from which the engine reads short forms and makes error messages.
///
/// Examples
/// --------
/// >>> from okl._okl import families
/// >>> families()["threshold"]
/// {'norma': [], 'tracker': ['speed']}
#[pyfunction]
pub fn families(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    for Family { key, variants, .. } in &FAMILIES {
        let names = PyDict::new(py);
        variants.iter().try_for_each(|Variant { name, parameters, .. }| names.set_item(name, *parameters))?;
        all.set_item(key, names)?;
    }
    Ok(all)
}

/// The values of some settings by their names, in one line; settings that the configuration does not have are left out.
pub fn names<const N: usize>(config: &Config, settings: [&str; N]) -> String {
    let all: Value = serde_json::from_str(&config.to_json()).unwrap_or_default();
    let names: Vec<String> = settings.iter().map(|setting| name(&all[*setting])).filter(|name| !name.is_empty()).collect();
    names.join(", ")
}

/// The name of a setting's value; the different names of several values, of which a bank has one each, are joined by +.
fn name(value: &Value) -> String {
    match value {
        Value::Object(table) => table.keys().next().cloned().unwrap_or_default(),
        Value::Array(several) => {
            let mut names: Vec<String> = Vec::new();
            several.iter().map(name).for_each(|name| {
                if !names.contains(&name) {
                    names.push(name)
                }
            });
            names.join("+")
        }
        other => other.as_str().unwrap_or_default().to_string(),
    }
}
