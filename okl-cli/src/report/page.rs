//! The page: one file that needs nothing else, in the order in which one asks.

use super::text::{self, escape};
use super::{Report, certified, curves, tables};
use crate::metrics::{Task, WINDOW};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The whole document.
pub(super) fn html(report: &Report<'_>) -> String {
    document(report.title, &lead(report), &sections(report), "")
}

/// A document in the style of all reports. The lead and the sections are HTML; `style` comes after the common style sheet.
pub(crate) fn document(title: &str, lead: &str, sections: &str, style: &str) -> String {
    let title = escape(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\"><title>{title}</title><style>{STYLE}{style}</style></head>\n<body><main>\n<header><h1>{title}</h1><p class=\"lead\">{lead}</p></header>\n{sections}</main>\n<script>{SCRIPT}</script></body></html>\n"
    )
}

fn sections(report: &Report<'_>) -> String {
    let mut missing = Vec::new();
    let parts = [
        section("figures", "In figures", tiles(report)),
        section(
            "error",
            if report.summary.task == Task::Novelty { "Progressive loss" } else { "Progressive error" },
            curves::progress(report).html(),
        ),
        section("model", "Step size, terms and norm", grid(curves::model(report).iter().map(super::chart::Chart::html))),
        theta(report, &mut missing),
        truncation(report),
        outcome(report, &mut missing),
        regions(report, &mut missing),
        alerts(report),
        grid(
            [
                section("config", "Configuration", tables::config(report.config_json)),
                section("reproduce", "How to reproduce it", reproduce(report, &missing)),
            ]
            .into_iter(),
        ),
    ];
    parts.concat()
}

pub(crate) fn section(id: &str, title: &str, body: String) -> String {
    if body.is_empty() { body } else { format!("<section id=\"{id}\"><h2>{title}</h2>\n{body}</section>\n") }
}

pub(crate) fn grid(parts: impl Iterator<Item = String>) -> String {
    format!("<div class=\"grid\">{}</div>", parts.collect::<String>())
}

/// What happened, in two or three sentences.
fn lead(report: &Report<'_>) -> String {
    let s = report.summary;
    let n = text::count(s.examples as f64);
    let (percent, figure) = (text::percent as fn(f64) -> String, text::figure as fn(f64) -> String);
    let words = match s.task {
        Task::Classes => format!(
            "{n} examples, each predicted before it was learned: {} were mistaken, {} of the last {}.",
            text::or_none(s.error, percent),
            text::or_none(s.windowed_error, percent),
            window(report)
        ),
        Task::Numbers => format!(
            "{n} examples, each predicted before it was learned: off by {} on average, by {} over the last {}.",
            text::or_none(s.error, figure),
            text::or_none(s.windowed_error, figure),
            window(report)
        ),
        Task::Novelty => format!(
            "{n} rows, each judged before it was learned: {} raised an alert{}.",
            text::or_none(s.alert_rate, percent),
            report.nu().map_or(String::new(), |nu| format!(", where {} were asked for", percent(nu)))
        ),
    };
    format!("{} {words}", escape(report.lead)).trim_start().to_string()
}

/// How many examples the window holds.
fn window(report: &Report<'_>) -> String {
    text::count(report.summary.examples.min(WINDOW as u64) as f64)
}

pub(crate) fn tile(value: String, name: &str, note: &str) -> String {
    format!("<li><b>{value}</b><span>{name}</span><small>{note}</small></li>")
}

fn tiles(report: &Report<'_>) -> String {
    let s = report.summary;
    let mut tiles = match s.task {
        Task::Classes => class_tiles(report),
        Task::Numbers => number_tiles(report),
        Task::Novelty => alert_tiles(report),
    };
    tiles.push(tile(
        s.average_loss.map_or("none".into(), text::figure),
        "average loss",
        &report.part("loss").map_or(String::new(), |l| escape(&l)),
    ));
    let without = s.rows - s.examples;
    let note = if without > 0 { format!("and {} rows without a target", text::count(without as f64)) } else { String::new() };
    tiles.push(tile(text::count(s.examples as f64), "examples", &note));
    if let Some(latest) = report.history.latest() {
        tiles.push(tile(
            text::count(latest.terms as f64),
            "terms",
            &format!("budget: {}", escape(&report.part("budget").unwrap_or_default())),
        ));
    }
    // Rows of equal length, where that can be.
    let across = if tiles.len().is_multiple_of(3) { 3 } else { 4 };
    format!("<ul class=\"tiles across{across}\">{}</ul>", tiles.concat())
}

fn class_tiles(report: &Report<'_>) -> Vec<String> {
    let s = report.summary;
    let Some(classes) = &s.classes else { return Vec::new() };
    let percent = |v| text::or_none(v, text::percent);
    let mut tiles = vec![
        tile(percent(classes.accuracy), "accuracy", &format!("error {}", percent(s.error))),
        tile(
            percent(s.windowed_error.map(|e| 1.0 - e)),
            &format!("accuracy, last {}", window(report)),
            &format!("error {}", percent(s.windowed_error)),
        ),
        tile(
            percent(s.no_change_error.map(|e| 1.0 - e)),
            "by repeating the last label",
            &format!("{} by the most frequent class", percent(classes.majority_error.map(|e| 1.0 - e))),
        ),
        tile(
            text::or_none(classes.macro_f1, text::figure),
            "macro F1",
            &format!("over {} classes", classes.per_class.iter().filter(|c| c.f1.is_some()).count()),
        ),
    ];
    tiles.extend(
        classes
            .auc
            .map(|auc| tile(text::figure(auc.value), "AUC", &format!("exact within {}", crate::metrics::bound(auc.error)))),
    );
    tiles
}

fn number_tiles(report: &Report<'_>) -> Vec<String> {
    let s = report.summary;
    let mean = |value: fn(&crate::metrics::OutputSummary) -> Option<f64>| {
        let values: Vec<f64> = s.outputs.iter().filter_map(value).collect();
        text::or_none((!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64), text::figure)
    };
    let note = if s.outputs.len() > 1 { format!("mean over {} outputs", s.outputs.len()) } else { String::new() };
    vec![
        tile(mean(|o| o.r2), "R²", &note),
        tile(mean(|o| o.rmse), "RMSE", &note),
        tile(mean(|o| o.mae), "MAE", &note),
        tile(text::or_none(s.windowed_error, text::figure), &format!("MAE, last {}", window(report)), &note),
        tile(mean(|o| o.no_change_mae), "MAE by repeating the last target", &note),
    ]
}

fn alert_tiles(report: &Report<'_>) -> Vec<String> {
    let s = report.summary;
    let percent = |v| text::or_none(v, text::percent);
    let mut tiles = vec![tile(
        percent(s.alert_rate),
        "alert rate",
        &report.nu().map_or(String::new(), |nu| format!("{} asked for", text::percent(nu))),
    )];
    tiles.push(tile(percent(s.windowed_error), &format!("alert rate, last {}", window(report)), ""));
    tiles.extend(report.alerts.map(|a| tile(text::count(a.total() as f64), "alerts", "")));
    tiles
}

fn theta(report: &Report<'_>, missing: &mut Vec<&'static str>) -> String {
    let charts = certified::alert_charts(report);
    if charts.is_empty() {
        missing.push("theta and alert rate, because the loss adapts none (the losses with nu do)");
        return String::new();
    }
    section("theta", "Theta and alert rate", grid(charts.iter().map(super::chart::Chart::html)))
}

/// The curve beside all certificates in words.
fn truncation(report: &Report<'_>) -> String {
    let chart = certified::truncation(report).map(|c| c.html());
    let nothing = "<p class=\"beside\">Nothing has been dropped: the model is that of an unlimited budget.</p>".to_string();
    let words: String = report.certificates.iter().map(|c| format!("<li>{}</li>", escape(c))).collect();
    let list = if words.is_empty() {
        words
    } else {
        format!("<div class=\"beside\"><h3>What is certified</h3><ul class=\"words\">{words}</ul></div>")
    };
    section("truncation", "Truncation certificate", grid([chart.unwrap_or(nothing), list].into_iter()))
}

fn outcome(report: &Report<'_>, missing: &mut Vec<&'static str>) -> String {
    let s = report.summary;
    match &s.classes {
        Some(classes) => section(
            "confusion",
            "Confusion matrix",
            format!(
                "<div class=\"{}\">{}{}</div>",
                if classes.known > 5 { "stack" } else { "grid" },
                tables::confusion(classes),
                tables::classes(classes)
            ),
        ),
        None if !s.outputs.is_empty() => section(
            "residuals",
            "Residuals",
            format!(
                "<div class=\"stack\">{}{}</div>",
                grid(std::iter::once(tables::residuals(&s.outputs))),
                tables::outputs(&s.outputs)
            ),
        ),
        None => {
            missing.push("a confusion matrix or residuals, because the stream has no targets");
            String::new()
        }
    }
}

fn regions(report: &Report<'_>, missing: &mut Vec<&'static str>) -> String {
    match report.decision {
        Some(decision) => section("regions", "Decision regions", format!("<div class=\"grid\">{}</div>", decision.html())),
        None => {
            missing.push("decision regions, which need exactly two features");
            String::new()
        }
    }
}

fn alerts(report: &Report<'_>) -> String {
    report.alerts.map_or(String::new(), |alerts| section("alerts", "Alerts", alerts.html()))
}

fn reproduce(report: &Report<'_>, missing: &[&str]) -> String {
    let fact =
        |(name, value): &(String, String)| format!("<tr><th scope=\"row\">{}</th><td>{}</td></tr>", escape(name), escape(value));
    let facts: String = report.facts.iter().map(fact).collect();
    let facts = if facts.is_empty() {
        facts
    } else {
        format!("<div class=\"scroll\"><table class=\"settings\"><tbody>{facts}</tbody></table></div>")
    };
    let missing = if missing.is_empty() {
        String::new()
    } else {
        format!("<p class=\"note\">Not in this report: {}.</p>", missing.join("; "))
    };
    format!(
        "<pre class=\"command\">{}</pre><p>The same rows in the same order give the same model to the last bit, whatever the machine, the number of threads or the size of the blocks.</p>{facts}{missing}",
        escape(&wrapped(report.command))
    )
}

/// One option per line, as a shell reads it; a command with quotes or of several lines stays as it is.
pub(crate) fn wrapped(command: &str) -> String {
    if command.len() <= 60 || command.contains(['"', '\'', '\\', '\n']) {
        command.into()
    } else {
        command.replace(" --", " \\\n    --")
    }
}
