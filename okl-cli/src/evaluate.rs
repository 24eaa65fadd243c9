//! `okl evaluate`: the figures of a model on rows with targets, over all rows and by group.

use serde_json::json;

use crate::args::{BadRow, Evaluate, Header, all_names};
use crate::device;
use crate::input::{Format, Options};
use crate::inspect;
use crate::learn::task_of;
use crate::metrics::{Summary, Task, count, figure, percent, shortened};
use crate::predict::{has_a_header, one_stream};
use crate::run::interrupted;
use crate::scoring::{self, Scored};
use crate::store;
use crate::table::{harmless, note, say, wrapped};

/// The width of the names of groups, in characters.
const NAMES: usize = 32;
/// The number of targets with a column in the table of groups.
const LISTED: usize = 4;

/// Runs the command; returns true if it was interrupted.
///
/// # Errors
/// If the data, a file or an option is wrong. The message says where and what to do.
pub fn evaluate(args: &Evaluate) -> anyhow::Result<bool> {
    one_stream(&args.data)?;
    let (mut learner, position) = store::load_for_rows(&args.model)?;
    learner.set_threads(args.threads)?;
    learner.set_place(device::open(&args.device)?);
    let position = position.unwrap_or_default();
    let ignore = all_names(&args.ignore);
    // The column of weights of the rows that were learned, unless it is named or left out here. (In files of older versions it can be a feature.)
    let feature = |name: &String| position.schema.as_ref().is_some_and(|schema| schema.columns().contains(name));
    let learned = position.way.weight.clone().filter(|name| args.weight.is_none() && !ignore.contains(name) && !feature(name));
    let options = Options {
        format: args.format.map(Format::from),
        encoding: args.encoding,
        header: args.header.map(Header::is_there).or(position.way.header),
        targets: all_names(&args.target),
        ignore,
        keep: args.by.iter().cloned().collect(),
        inherited: learned.iter().cloned().collect(),
        weight: args.weight.clone().or(learned),
        want_target: task_of(learner.config()) != Task::Novelty,
        skip_bad_rows: args.on_bad_row == Some(BadRow::Skip),
        number_targets: task_of(learner.config()) == Task::Numbers && args.on_bad_row == Some(BadRow::Skip),
        schema: position.schema.clone(),
        ..Options::default()
    };
    let mut scored = scoring::score(&learner, &args.data, options, &position)?;
    has_a_header(args.header, scored.format)?;
    scored.said.extend(device::warning(&learner));
    scored.said.extend(inspect::imprecise(&learner, inspect::source(&position, &[])));
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
    let columns = scored.clipped_columns.iter().map(|(column, rows)| json!({ "column": column, "rows": rows }));
    json!({
        "summary": scored.summary,
        "clipped": { "rows": scored.clipped.clipped, "of_rows": scored.clipped.rows, "columns": columns.collect::<Vec<_>>() },
        "warnings": scored.said,
        "by": by,
        "groups": by.map(|_| groups().collect::<Vec<_>>()),
    })
}

fn in_words(scored: &Scored, by: Option<&str>) -> String {
    let mut text = scored.summary.to_string();
    let Some(by) = by else { return text };
    let headings: Vec<String> = figures(&scored.summary).into_iter().map(|(heading, _)| heading).collect();
    text += &line(by, "examples", headings.iter().map(|heading| (heading.as_str(), heading.as_str())));
    for (value, summary) in &scored.groups {
        let shown = figures(summary);
        let cells = headings.iter().zip(&shown).map(|(heading, (_, cell))| (heading.as_str(), cell.as_str()));
        text += &line(value, &count(summary.examples as f64), cells);
    }
    if scored.summary.outputs.len() > LISTED {
        text += &format!("R² of the first {LISTED} targets; --json has all\n");
    }
    text
}

/// The figures of a group with their headings.
fn figures(summary: &Summary) -> Vec<(String, String)> {
    let shown = |value: Option<f64>, show: fn(f64) -> String| value.map_or("-".into(), show);
    match summary.task {
        Task::Classes => vec![
            ("error".into(), shown(summary.error, percent)),
            ("macro F1".into(), shown(summary.classes.as_ref().and_then(|c| c.macro_f1), figure)),
        ],
        Task::Numbers => {
            let several = summary.outputs.len() > 1;
            let of = |name: &str| if several { format!("R² {}", shortened(name, 16)) } else { "R²".into() };
            let mut cells = vec![(summary.measure.name().into(), shown(summary.error, figure))];
            cells.extend(summary.outputs.iter().take(LISTED).map(|output| (of(&output.name), shown(output.r2, figure))));
            let coverage = summary.outputs.iter().find_map(|output| output.coverage);
            cells.extend(coverage.map(|coverage| ("coverage".into(), percent(coverage.seen))));
            cells
        }
        Task::Novelty => vec![("alert rate".into(), shown(summary.alert_rate, percent))],
    }
}

/// A line of the table; `cells` are headings, which decide the widths, and contents.
fn line<'a>(name: &str, examples: &str, cells: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let name = shortened(&name.replace(['\n', '\r'], "?"), NAMES);
    let name = if name.trim().is_empty() { "(empty)" } else { &name };
    let mut line = format!("{name:<NAMES$}{examples:>12}");
    for (heading, cell) in cells {
        let width = heading.chars().count().max(10) + 2;
        line += &format!("{cell:>width$}");
    }
    line + "\n"
}
