//! The health of a learner as a dictionary, and as a warning.

use okl::Health;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::shown;

/// The findings as sentences, with the names of the columns, or their numbers.
pub fn findings(health: &Health, names: &[String]) -> Vec<String> {
    health
        .findings(|column| shown(column, names))
        .into_iter()
        .chain(health.out_of_unit.clone())
        .chain(health.without_offset.clone())
        .collect()
}

pub fn dictionary<'py>(
    py: Python<'py>,
    health: &Health,
    names: &[String],
    findings: Vec<String>,
) -> PyResult<Bound<'py, PyDict>> {
    let columns = health.clipped_columns.iter().map(|c| {
        let column = PyDict::new(py);
        column.set_item("column", c.column)?;
        column.set_item("name", names.get(c.column))?;
        column.set_item("values", c.values)?;
        column.set_item("share", c.share)?;
        column.set_item("recent_share", c.recent_share)?;
        column.set_item("recent", c.recent)?;
        column.set_item("one_value", c.one_value)?;
        Ok(column)
    });
    let rounded = health.rounded_columns.iter().map(|c| {
        let column = PyDict::new(py);
        column.set_item("column", c.column)?;
        column.set_item("name", names.get(c.column))?;
        column.set_item("values", c.values)?;
        column.set_item("recent_error", c.recent_error)?;
        Ok(column)
    });
    let found = PyDict::new(py);
    found.set_item("examples", health.examples)?;
    found.set_item("skipped", health.skipped)?;
    found.set_item("ids_taken_over", health.ids_taken_over)?;
    found.set_item("blurred", health.blurred)?;
    found.set_item("resting", health.resting)?;
    found.set_item("watched", health.watched)?;
    found.set_item("clipped_rows", health.clipped_rows)?;
    found.set_item("clipped_values", health.clipped_values)?;
    found.set_item("clipped_columns", columns.collect::<PyResult<Vec<_>>>()?)?;
    found.set_item("unit_changes", health.unit_changes)?;
    found.set_item("rounded_values", health.rounded_values)?;
    found.set_item("rounded_columns", rounded.collect::<PyResult<Vec<_>>>()?)?;
    found.set_item("findings", findings)?;
    Ok(found)
}

/// Warns with `okl.HealthWarning`.
pub fn warn(py: Python<'_>, findings: &[String]) -> PyResult<()> {
    warn_with(py, &format!("{} (see health())", findings.join("; ")))
}

/// Warns with `okl.HealthWarning` and this text, at the line of the user's that called the package.
pub fn warn_with(py: Python<'_>, text: &str) -> PyResult<()> {
    py.import("okl._warnings")?.call_method1("warn_of_health", (text,)).map(drop)
}
