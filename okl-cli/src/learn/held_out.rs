//! A held-out file, scored with the model as it stands.

use anyhow::Context;
use okl::{Batch, Label, Learner, Workspace};

use crate::input::{InputError, Options, Reader, Schema, read_ahead};
use crate::metrics::{Metrics, Observed, Summary, Target, Task};
use crate::predict::fitted;
use crate::store::Way;
use crate::usage::usage;
use crate::watch::numbers_only;

/// Scores every row of the file, which is written and read as the one that was learned. A class that the model has never seen counts as a mistake.
///
/// # Errors
/// Those of the file.
pub fn score(learner: &Learner, task: Task, path: &str, schema: &Schema, way: &Way) -> anyhow::Result<Summary> {
    let mut classes: Vec<Label> = learner.classes().to_vec();
    let mut metrics = Metrics::new(task, if task == Task::Classes { classes.len() } else { 0 });
    let options = options(task, schema, way);
    let mut workspace = Workspace::default();
    for chunk in read_ahead(Reader::open(path, options)?, 4)? {
        let chunk = chunk?;
        if task == Task::Numbers {
            numbers_only(&chunk).map_err(|refused| refused.of(path, schema))?;
        }
        let scores =
            learner.predict_batch(&mut workspace, &Batch::of_f64(&fitted(&chunk, learner.features()), learner.features()))?;
        let labels = if task == Task::Classes { chunk.targets.labels() } else { Vec::new() };
        for row in 0..chunk.rows {
            let target = match task {
                Task::Classes if chunk.known[row] => Target::Class(place(&labels[row], &mut classes)),
                Task::Numbers if chunk.known[row] => chunk.targets.row(row).map_or(Target::None, Target::Numbers),
                _ => Target::None,
            };
            let weight = chunk.weights.as_ref().map_or(1.0, |w| w[row]);
            let alert = learner.threshold().filter(|_| task == Task::Novelty).map(|threshold| scores.row(row)[0] < threshold);
            metrics.add(&Observed { scores: scores.row(row), target, loss: None, weight, alert });
        }
    }
    let names = if task == Task::Classes { classes.iter().map(Label::to_string).collect() } else { schema.targets.clone() };
    Ok(metrics.summary(&names))
}

fn options(task: Task, schema: &Schema, way: &Way) -> Options {
    Options {
        schema: Some(schema.clone()),
        want_target: task != Task::Novelty,
        weight: way.weight.clone(),
        skip_bad_rows: way.skip_bad_rows,
        encoding: way.encoding,
        ..Options::default()
    }
}

/// Is the file there? Asked before anything is learned.
///
/// # Errors
/// If it cannot be opened, or is standard input, which the data take already.
pub fn check(path: Option<&str>, data: &[String]) -> anyhow::Result<()> {
    match path {
        Some("-") if data.iter().any(|data| data == "-") => {
            Err(usage("--test -: the data are read from standard input already; give a file"))
        }
        Some(path) if path != "-" => {
            Ok(std::fs::metadata(path).map(drop).map_err(|e| InputError::io(&format!("--test {path}"), &e))?)
        }
        _ => Ok(()),
    }
}

/// Does the file have the columns that will be learned? Asked before anything is learned. What can be read only once is not
/// opened for this.
///
/// # Errors
/// Those of the file and its header.
pub fn check_columns(path: &str, task: Task, schema: &Schema, way: &Way) -> anyhow::Result<()> {
    if std::fs::metadata(path).is_ok_and(|found| found.is_file()) {
        Reader::open(path, options(task, schema, way)).with_context(|| format!("--test {path}"))?;
    }
    Ok(())
}

/// The number of a class; a new one comes last.
fn place(label: &Label, classes: &mut Vec<Label>) -> usize {
    classes.iter().position(|c| c == label).unwrap_or_else(|| {
        classes.push(label.clone());
        classes.len() - 1
    })
}
