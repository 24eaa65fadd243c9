//! `okl evaluate`: the figures of a model on rows with targets, over all rows and by group.

use serde_json::json;

use crate::args::{BadRow, Evaluate, all_names};
use crate::device;
use crate::input::{Format, Options};
use crate::learn::task_of;
use crate::metrics::{Summary, Task, count, figure, percent};
use crate::predict::one_stream;
use crate::run::interrupted;
use crate::scoring::{self, Scored};
use crate::store;
use crate::table::{harmless, note, say, wrapped};

/// The width of the names of groups, in characters.
const NAMES: usize = 32;

/// Runs the command; returns true if it was interrupted.
///
/// # Errors
/// If the data, a file or an option is wrong. The message says where and what to do.
pub fn evaluate(args: &Evaluate) -> anyhow::Result<bool> {
    one_stream(&args.data)?;
    let (mut learner, position) = store::load(&args.model)?;
    learner.set_threads(args.threads)?;
    learner.set_place(device::open(&args.device)?);
    let position = position.unwrap_or_default();
    let options = Options {
        format: args.format.map(Format::from),
        encoding: args.encoding,
        targets: all_names(&args.target),
        ignore: all_names(&args.ignore),
        keep: args.by.iter().cloned().collect(),
        weight: args.weight.clone().or(position.way.weight),
        want_target: task_of(learner.config()) != Task::Novelty,
        skip_bad_rows: args.on_bad_row == Some(BadRow::Skip),
        schema: position.schema,
        ..Options::default()
    };
    let mut scored = scoring::score(&learner, &args.data, options, position.filled)?;
    scored.said.extend(device::warning(&learner));
    match args.json {
        true => say(&(serde_json::to_string_pretty(&as_json(&scored, args.by.as_deref()))? + "\n"))?,
        false => {
            say(&harmless(&in_words(&scored, args.by.as_deref())))?;
            scored.said.iter().for_each(|line| note(wrapped(line, "  ")));
        }
    }
    Ok(interrupted())
}

fn as_json(scored: &Scored, by: Option<&str>) -> serde_json::Value {
    let groups = || scored.groups.iter().map(|(value, summary)| json!({ "value": value, "summary": summary }));
    json!({
        "summary": scored.summary,
        "warnings": scored.said,
        "by": by,
        "groups": by.map(|_| groups().collect::<Vec<_>>()),
    })
}

fn in_words(scored: &Scored, by: Option<&str>) -> String {
    let mut text = scored.summary.to_string();
    let Some(by) = by else { return text };
    let names = match scored.summary.task {
        Task::Classes => ["error", "macro F1"],
        Task::Numbers => ["error", "R²"],
        Task::Novelty => ["alert rate", ""],
    };
    text += &line(by, ["examples", names[0], names[1]]);
    for (value, summary) in &scored.groups {
        let [error, other] = figures(summary);
        text += &line(value, [&count(summary.examples as f64), &error, &other]);
    }
    text
}

fn figures(summary: &Summary) -> [String; 2] {
    let shown = |value: Option<f64>, show: fn(f64) -> String| value.map_or("-".into(), show);
    match (summary.task, &summary.classes, &summary.outputs[..]) {
        (Task::Classes, classes, _) => [shown(summary.error, percent), shown(classes.as_ref().and_then(|c| c.macro_f1), figure)],
        (Task::Numbers, _, [one]) => [shown(summary.error, figure), shown(one.r2, figure)],
        (Task::Numbers, ..) => [shown(summary.error, figure), String::new()],
        (Task::Novelty, ..) => [shown(summary.alert_rate, percent), String::new()],
    }
}

fn line(name: &str, [a, b, c]: [&str; 3]) -> String {
    let name: String = name.replace(['\n', '\r'], "?").chars().take(NAMES).collect();
    let line = format!("{name:<NAMES$}{a:>12}{b:>12}{c:>12}");
    format!("{}\n", line.trim_end())
}
