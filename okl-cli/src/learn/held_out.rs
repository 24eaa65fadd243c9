//! Scores a held-out file with the current model.

use anyhow::Context;
use okl::Learner;

use super::{Passes, task_of};
use crate::input::{InputError, Options, Reader, Schema, is_stream};
use crate::metrics::{Summary, Task};
use crate::scoring;
use crate::store::Way;
use crate::usage::usage;

/// Scores every row of the file, which has the format of the learned data, and reports the columns and values that were ignored.
///
/// # Errors
/// Those of the file.
pub fn score(learner: &Learner, path: &str, passes: &Passes) -> anyhow::Result<(Summary, Vec<String>)> {
    let (schema, way) = (passes.schema(), passes.way());
    let options = options(task_of(learner.config()), schema, way, passes.inherited());
    let scored = scoring::score(learner, &[path.to_owned()], options, &passes.position())?;
    Ok((scored.summary, scored.said.iter().map(|line| format!("{path}: {line}")).collect()))
}

fn options(task: Task, schema: &Schema, way: &Way, inherited: &[String]) -> Options {
    Options {
        format: way.format,
        schema: Some(schema.clone()),
        want_target: task != Task::Novelty,
        number_targets: task == Task::Numbers && way.skip_bad_rows,
        weight: way.weight.clone(),
        inherited: inherited.iter().filter(|name| way.weight.as_ref() == Some(name)).cloned().collect(),
        skip_bad_rows: way.skip_bad_rows,
        encoding: way.encoding,
        header: way.header,
        ..Options::default()
    }
}

/// Checks that the file exists, before any row is learned.
///
/// # Errors
/// If the file cannot be opened, or is the stream from which the data are read.
pub fn check(path: Option<&str>, data: &[String]) -> anyhow::Result<()> {
    match path {
        Some("-") if data.iter().any(|data| data == "-") => {
            Err(usage("--test -: the data are read from standard input already; give a file"))
        }
        Some(path) if is_stream(path) && data.iter().any(|data| data == path) => {
            Err(usage(format!("--test {path}: the data are read from this pipe already; give a file")))
        }
        Some(path) if path != "-" => {
            Ok(std::fs::metadata(path).map(drop).map_err(|e| InputError::io(&format!("--test {path}"), &e))?)
        }
        _ => Ok(()),
    }
}

/// Checks that the file has the columns that will be learned and that its first rows can be read, before any row is learned. A
/// stream, which can be read only once, is not checked.
///
/// # Errors
/// Those of the file, its header and its first rows.
pub fn check_columns(path: &str, task: Task, passes: &Passes) -> anyhow::Result<()> {
    if std::fs::metadata(path).is_ok_and(|found| found.is_file()) {
        let mut reader = Reader::open(path, options(task, passes.schema(), passes.way(), passes.inherited()))
            .with_context(|| format!("--test {path}"))?;
        reader.next().with_context(|| format!("--test {path}"))?;
    }
    Ok(())
}
