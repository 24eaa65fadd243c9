//! The HTML page of a report: one self-contained file.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::chart::Chart;
use super::{Report, certified, curves, tables, text};
use crate::metrics::{self, Coverage, Measure, OutputSummary, Summary, Task, right};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The whole document.
pub(super) fn html(report: &Report<'_>) -> String {
    document(report.title, &lead(report), &sections(report), "")
}

/// A document in the style of all reports; `style` comes after the common style sheet. Control characters in its texts are replaced
/// by visible ones.
pub fn document(title: &str, lead: &str, sections: &Markup, style: &str) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) (PreEscaped(style)) }
            }
            body {
                main {
                    header { h1 { (title) } p.lead { (lead) } }
                    (sections)
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    text::visible(&page.into_string()) + "\n"
}

fn sections(report: &Report<'_>) -> Markup {
    let mut missing = Vec::new();
    let figures = section("figures", "In figures", tiles(report));
    let title = if report.uses_weights() { "Step size and norm" } else { "Step size, terms and norm" };
    let model = section("model", title, grid(curves::model(report).iter().map(Chart::html)));
    let (theta, outcome, regions) = (theta(report, &mut missing), outcome(report, &mut missing), regions(report, &mut missing));
    let reproduce = grid(
        [
            section("config", "Configuration", tables::config(report.given_json, report.config_json, report.resumed)),
            section("reproduce", "How to reproduce it", reproduce(report, &missing)),
        ]
        .into_iter(),
    );
    let budget = truncation(report);
    let curve = |title| section("error", title, curves::progress(report).html());
    let parts = match report.summary.task {
        // Alerts come first, because users act on them.
        Task::Novelty => [alerts(report), figures, theta, regions, curve("Progressive loss"), model, budget, outcome, reproduce],
        _ => [figures, curve("Progressive error"), outcome, regions, theta, model, budget, alerts(report), reproduce],
    };
    html! { (warnings(report)) @for part in parts { (part) } }
}

/// Whether the run had no row, so that there are no figures.
pub(super) fn no_rows(report: &Report<'_>) -> bool {
    report.summary.rows == 0 && report.training.is_none()
}

/// Why there are no figures of rows that were predicted before they were learned, in a run with rows; none if there are figures.
pub(super) fn without_figures(report: &Report<'_>) -> Option<&'static str> {
    let reason = match report.training {
        Some(_) => "all rows of this run had been learned before",
        None => "no row of this run has a target and a weight above 0",
    };
    (!no_rows(report) && report.summary.examples == 0).then_some(reason)
}

/// The warnings, which come before the figures.
fn warnings(report: &Report<'_>) -> Markup {
    html! { @for words in report.warnings { p.warning { (words) } } }
}

fn section(id: &str, title: &str, body: Markup) -> Markup {
    html! { @if !body.0.is_empty() { section id=(id) { h2 { (title) } (body) } } }
}

/// A grid of HTML parts with two columns.
pub fn grid(parts: impl Iterator<Item = Markup>) -> Markup {
    html! { div.grid { @for part in parts { (part) } } }
}

/// What one error of several targets is.
pub(super) const OF_TARGETS: &str = "mean over the targets, each in its unit";

/// A summary of the run in two or three sentences.
fn lead(report: &Report<'_>) -> String {
    let s = report.summary;
    let (n, predicted) = (text::count(s.examples as f64), report.learned_again.predicted());
    let (percent, figure) = (text::percent as fn(f64) -> String, text::figure as fn(f64) -> String);
    let by_weight = s.by_weight();
    let words = match s.task {
        // The lead already says that there were no rows.
        _ if no_rows(report) && !report.lead.is_empty() => String::new(),
        _ if no_rows(report) => "No new rows.".into(),
        _ if let Some(reason) = without_figures(report) => format!("There are no figures of new rows: {reason}."),
        Task::Classes => format!(
            "{n} examples, {predicted}: {}{by_weight} were predicted wrongly, {} of the last {}.",
            text::or_none(s.error, percent),
            text::or_none(s.windowed_error, percent),
            window(report)
        ),
        Task::Numbers if s.outputs.len() > 1 => format!(
            "{n} examples, {predicted}: {}{by_weight} {}, {} over the last {} ({OF_TARGETS}).",
            if s.measure == Measure::PinballLoss { "mean pinball loss" } else { "mean absolute error" },
            text::or_none(s.error, figure),
            text::or_none(s.windowed_error, figure),
            window(report)
        ),
        Task::Numbers if s.measure == Measure::PinballLoss => format!(
            "{n} examples, {predicted}: mean pinball loss{by_weight} {}, {} over the last {}.",
            text::or_none(s.error, figure),
            text::or_none(s.windowed_error, figure),
            window(report)
        ),
        Task::Numbers => format!(
            "{n} examples, {predicted}: off by {} on average{by_weight}, by {} over the last {}.",
            text::or_none(s.error, figure),
            text::or_none(s.windowed_error, figure),
            window(report)
        ),
        Task::Novelty if s.judged == 0 => {
            format!(
                "{n} {}. None of them was judged, because no threshold was known yet.",
                if s.examples == 1 { "row" } else { "rows" }
            )
        }
        Task::Novelty => format!(
            "{n} {}{}, {}: {}{by_weight} raised an alert{}.",
            if s.examples == 1 { "row" } else { "rows" },
            match (s.examples.saturating_sub(s.judged), s.judged) {
                (0, _) => String::new(),
                (first, 1) => format!(". The first {} had no threshold. Of the one other row", text::count(first as f64)),
                (first, _) => format!(". The first {} had no threshold. Of the others", text::count(first as f64)),
            },
            predicted.replace("predicted", "judged"),
            text::or_none(s.alert_rate, percent),
            report.nu().map_or(String::new(), |nu| format!(", where {} were asked for", percent(nu)))
        ),
    };
    let more = report.training.map_or(String::new(), |(pass, training)| {
        let name = if training.task == Task::Novelty { "Alert rate" } else { "Training error" };
        format!(" {name} in pass {pass}, on rows that had been learned before: {}.", error_of(training))
    });
    format!("{} {words}{more}", report.lead).trim().to_string()
}

/// The error in the units of the task.
fn error_of(summary: &Summary) -> String {
    text::or_none(summary.error, if summary.task == Task::Numbers { text::figure } else { text::percent })
}

/// The current model: on past rows, in the last pass, on the held-out file.
fn model_tiles(report: &Report<'_>) -> Vec<Markup> {
    let name = |of: &str| match report.summary.measure {
        Measure::MeanAbsoluteError => format!("MAE {of}"),
        other => format!("{} {of}", other.name()),
    };
    let past = report.past.map(|past| {
        let show = if past.summary.task == Task::Numbers { text::figure } else { text::percent };
        let spread = past.spread().map_or(String::new(), |e| format!(", standard error {}", show(e)));
        let covered = past.coverage.map_or(String::new(), |share| format!(", coverage {}", text::percent(share)));
        tile(error_of(&past.summary), &name("of the final model on past rows"), &format!("{}{spread}{covered}", past.of_rows()))
    });
    let whose = report.kept.map_or("final", |kept| kept.saved());
    let kept = report.kept.map(|kept| {
        let covered = kept.all_coverage.map_or(String::new(), |share| format!(", coverage {}", text::percent(share)));
        let note = format!("{} rows, before it learned them{covered}", text::count(kept.compared_rows as f64));
        tile(kept.of_all(), &name(&format!("of the {whose} model on past rows")), &note)
    });
    let training = report
        .training
        .map(|(pass, training)| tile(error_of(training), &name("in training"), &format!("pass {pass}, on rows learned before")));
    let held_out = report.held_out.map(|(file, summary)| {
        let note = format!("{file}, {} examples", text::count(summary.examples as f64));
        tile(error_of(summary), &name(&format!("of the {whose} model on held-out rows")), &note)
    });
    past.into_iter().chain(kept).chain(training).chain(held_out).collect()
}

/// The number of examples in the window.
fn window(report: &Report<'_>) -> String {
    text::count(report.summary.windowed_rows as f64)
}

fn tile(value: String, name: &str, note: &str) -> Markup {
    html! { li { b { (value) } span { (name) } small { (note) } } }
}

fn tiles(report: &Report<'_>) -> Markup {
    let s = report.summary;
    let mut tiles = match s.task {
        _ if s.examples == 0 => Vec::new(),
        Task::Classes => class_tiles(report),
        Task::Numbers => number_tiles(report),
        Task::Novelty => alert_tiles(report),
    };
    tiles.extend(model_tiles(report));
    let loss = s.loss.clone().or_else(|| report.part("loss")).unwrap_or_default();
    tiles.extend(s.average_loss.map(|average| tile(text::figure(average), "average loss", &loss)));
    let weight = s.is_weighted().then(|| format!("total weight {}; figures are weighted", text::count(s.weight)));
    let note: Vec<String> = weight.into_iter().chain(Some(s.not_learned.words()).filter(|words| !words.is_empty())).collect();
    tiles.push(tile(text::count(s.examples as f64), "examples", &note.join("; ")));
    if let Some(latest) = report.history.latest().filter(|_| !report.uses_weights()) {
        tiles.push(tile(
            text::count(latest.terms as f64),
            "terms",
            &format!("budget: {}", report.part("budget").unwrap_or_default()),
        ));
    }
    // Chooses the number of columns so that all rows of tiles have the same length, if possible.
    let thirds = tiles.len().is_multiple_of(3);
    html! { ul.tiles.across3[thirds].across4[!thirds] { @for tile in tiles { (tile) } } }
}

fn class_tiles(report: &Report<'_>) -> Vec<Markup> {
    let s = report.summary;
    let Some(classes) = &s.classes else { return Vec::new() };
    let percent = |v| text::or_none(v, text::percent);
    let accuracy = |error| text::or_none(error, right);
    let mut tiles = vec![
        tile(accuracy(s.error), "accuracy", &format!("error{} {}", s.by_weight(), percent(s.error))),
        tile(
            accuracy(s.windowed_error),
            &format!("accuracy, last {}", window(report)),
            &format!("error {}", percent(s.windowed_error)),
        ),
        tile(
            accuracy(s.no_change_error),
            "accuracy by repeating the last label",
            &format!("accuracy {} by the most frequent class", accuracy(classes.majority_error)),
        ),
        tile(
            text::or_none(classes.macro_f1, text::figure),
            "macro F1",
            &format!("over {} classes", text::count(classes.macro_classes as f64)),
        ),
    ];
    tiles.extend(classes.auc.map(|auc| {
        let of = classes.of_two().map_or(String::new(), |two| format!("{two}; "));
        tile(text::figure(auc.value), "AUC", &format!("{of}exact within {}", auc.within()))
    }));
    tiles
}

fn number_tiles(report: &Report<'_>) -> Vec<Markup> {
    let s = report.summary;
    let mean = |value: fn(&OutputSummary) -> Option<f64>| {
        let values: Vec<f64> = s.outputs.iter().filter_map(value).collect();
        text::or_none((!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64), text::figure)
    };
    let several = (s.outputs.len() > 1).then(|| format!("mean over {} outputs", s.outputs.len()));
    let note = several.into_iter().chain(s.is_weighted().then(|| "by weight".into())).collect::<Vec<String>>().join(", ");
    let mut tiles = vec![
        tile(mean(|o| o.r2), "R²", &note),
        tile(mean(|o| o.rmse), "RMSE", &note),
        tile(mean(|o| o.mae), "MAE", &note),
        tile(
            text::or_none(s.windowed_error, text::figure),
            &format!("{}, last {}", if s.measure == Measure::PinballLoss { "pinball loss" } else { "MAE" }, window(report)),
            &note,
        ),
        tile(mean(|o| o.no_change_mae), "MAE by repeating the last target", &note),
    ];
    tiles.extend(s.outputs.iter().filter_map(|o| o.coverage.map(|coverage| coverage_tile(&o.name, &coverage))));
    let pinball = |(o, q): (&OutputSummary, f64)| {
        tile(
            text::or_none(o.pinball, text::figure),
            &format!("mean quantile loss of {}", metrics::shortened(&o.name, 20)),
            &format!("pinball, q = {q}"),
        )
    };
    tiles.extend(s.outputs.iter().filter_map(|o| Some((o, o.coverage?.asked))).map(pinball));
    tiles
}

fn coverage_tile(name: &str, coverage: &Coverage) -> Markup {
    let note = format!(
        "{} asked for; {} of the last {}",
        text::percent(coverage.asked),
        text::percent(coverage.last),
        text::count(coverage.last_examples as f64)
    );
    let by_weight = if coverage.weighted { " by weight" } else { "" };
    tile(
        text::percent(coverage.seen),
        &format!("of targets{by_weight} at or below the score of {}", metrics::shortened(name, 20)),
        &note,
    )
}

fn alert_tiles(report: &Report<'_>) -> Vec<Markup> {
    let s = report.summary;
    let percent = |v| text::or_none(v, text::percent);
    let by_weight = if s.is_weighted() { ", by weight" } else { "" };
    let mut tiles = vec![tile(
        percent(s.alert_rate),
        &format!("alert rate{by_weight}"),
        &report.nu().map_or(String::new(), |nu| format!("{} asked for", text::percent(nu))),
    )];
    tiles.push(tile(percent(s.windowed_error), &format!("alert rate{by_weight}, last {}", window(report)), ""));
    tiles.extend(report.alerts.map(|a| {
        let left_out = match a.only_predicted() {
            0 => String::new(),
            n => format!("without {} on rows of weight 0", text::count(n as f64)),
        };
        tile(text::count(a.total() as f64), "alerts", &left_out)
    }));
    tiles
}

fn theta(report: &Report<'_>, missing: &mut Vec<&'static str>) -> Markup {
    let charts = certified::alert_charts(report);
    if charts.is_empty() {
        missing.push("theta and the share that nu sets, because the loss adapts no theta (the losses with nu do)");
        return nothing();
    }
    section("theta", report.rate_words().section, grid(charts.iter().map(Chart::html)))
}

/// The certificates as sentences, beside a curve if the bound on dropped terms is useful.
fn truncation(report: &Report<'_>) -> Markup {
    let words = report.certificates;
    let list = (!words.is_empty()).then(|| html! { div.beside { ul.words { @for words in words { li { (words) } } } } });
    let chart = certified::truncation(report).map(|chart| chart.html());
    if list.is_none() && chart.is_none() {
        return nothing();
    }
    section("truncation", "What is certain", grid(list.into_iter().chain(chart)))
}

fn outcome(report: &Report<'_>, missing: &mut Vec<&'static str>) -> Markup {
    let s = report.summary;
    match &s.classes {
        Some(classes) => section(
            "confusion",
            "Confusion matrix",
            html! {
                div.stack[classes.known > 5].grid[classes.known <= 5] {
                    (tables::confusion(classes))
                    (tables::classes(classes))
                }
            },
        ),
        None if !s.outputs.is_empty() => section(
            "residuals",
            "Residuals",
            html! { div.stack { div.grid { (tables::residuals(&s.outputs, s.is_weighted())) } (tables::outputs(&s.outputs)) } },
        ),
        None => {
            missing.push(match without_figures(report) {
                _ if no_rows(report) => "a confusion matrix or residuals, because there were no new rows",
                Some(_) if report.training.is_some() => {
                    "a confusion matrix or residuals, because all rows of this run had been learned before"
                }
                Some(_) => "a confusion matrix or residuals, because no row of this run has a target and a weight above 0",
                None => "a confusion matrix or residuals, because the stream has no targets",
            });
            nothing()
        }
    }
}

fn regions(report: &Report<'_>, missing: &mut Vec<&'static str>) -> Markup {
    match report.decision {
        Some(decision) => section("regions", "Decision regions", grid(std::iter::once(decision.html()))),
        None => {
            missing.push("decision regions, which need exactly two features");
            nothing()
        }
    }
}

fn alerts(report: &Report<'_>) -> Markup {
    let alerts = match without_figures(report) {
        Some(reason) => report.alerts.map(|_| html! { p { "Alerts are listed for new rows, and " (reason) "." } }),
        None => report.alerts.map(|alerts| alerts.html(report.training.is_some())),
    };
    alerts.map_or_else(nothing, |alerts| section("alerts", "Alerts", alerts))
}

fn nothing() -> Markup {
    html! {}
}

fn reproduce(report: &Report<'_>, missing: &[&str]) -> Markup {
    html! {
        pre.command { (wrapped(report.command)) }
        p {
            "The same rows in the same order give the same model to the last bit, whatever the machine, the number of threads or the \
             size of the blocks."
        }
        @if !report.facts.is_empty() {
            (tables::pairs(report.facts.iter().map(|(name, value)| (name.as_str(), value.clone()))))
        }
        @if !missing.is_empty() { p.note { "Not in this report: " (missing.join("; ")) "." } }
    }
}

/// The command with one option per line, in shell syntax. A command with quotes or several lines is not changed.
fn wrapped(command: &str) -> String {
    if command.len() <= 60 || command.contains(['"', '\'', '\\', '\n']) {
        command.into()
    } else {
        command.replace(" --", " \\\n    --")
    }
}
