//! Charts of certified quantities: theta, the share of alerts or margin errors against nu, and the bound on the truncation error.

use super::Report;
use super::axis::{Axis, Unit};
use super::chart::Chart;
use super::curves::{Course, Values, examples_axis, heights, line, series, there, without_the_start};
use super::history::Point;
use super::text;
use crate::certificates::is_useful;
use crate::metrics::Task;

/// Theta, the threshold, and the share of alerts or margin errors against nu; empty if the loss has no adaptive theta.
pub(super) fn alert_charts(report: &Report<'_>) -> Vec<Chart> {
    let h = report.history;
    let (theta, threshold) = (series(h, |p| p.theta), series(h, |p| p.threshold));
    let mut charts = Vec::new();
    if there(&theta) || there(&threshold) {
        charts.push(theta_chart(report, theta, threshold));
    }
    let rate = series(h, |p| p.alert_rate);
    if there(&rate) {
        charts.push(rate_chart(report, rate));
    }
    charts
}

fn theta_chart(report: &Report<'_>, theta: Values, threshold: Values) -> Chart {
    let same = theta.iter().zip(&threshold).all(|(a, b)| a.1 == b.1 || !b.1.is_finite());
    let (threshold, theta) = match same {
        true => (threshold, with_extremes(report, theta)),
        false => (with_extremes(report, threshold), theta),
    };
    let mut lines = Vec::new();
    if there(&theta) {
        lines.push(line(report.theta_name(), if same { "a" } else { "b" }, theta));
    }
    if there(&threshold) && !same {
        lines.push(line("threshold", "a", threshold));
    }
    let exact = report.history.extreme_thresholds().is_some();
    let course = lines
        .last()
        .and_then(|l| Course::of(&l.points).map(|c| format!("The {} went {}.", l.name, c.exactly(exact).words(Unit::Plain))))
        .unwrap_or_default();
    let strongest: Values =
        report.alerts.map_or(Vec::new(), |a| a.strongest().iter().map(|a| (a.examples as f64, a.score)).collect());
    let y = Axis::straight(heights(&lines).chain(strongest.iter().map(|p| p.1)), Unit::Plain);
    let dots = (!strongest.is_empty()).then(|| (format!("score of an alert ({} strongest)", strongest.len()), strongest));
    let note = if dots.is_some() { " Each dot is a row that was novel: the lower, the more unusual." } else { "" };
    let measures = match &lines[..] {
        [_, _] => "theta of the loss, and the threshold",
        [one] if one.name == "threshold" => "the threshold of the score",
        _ => "theta of the loss",
    };
    let title = if report.summary.task == Task::Novelty { "Threshold" } else { "Theta" };
    Chart { caption: course + note, dots, ..Chart::new(title, measures, examples_axis(report.history), y, lines) }
}

/// The line with the highest and the lowest threshold of all rows, which its points may have missed.
fn with_extremes(report: &Report<'_>, mut line: Values) -> Values {
    line.extend(report.history.extreme_thresholds().into_iter().flatten().map(|(examples, value)| (examples as f64, value)));
    line.sort_by(|a, b| a.0.total_cmp(&b.0));
    line
}

fn rate_chart(report: &Report<'_>, rate: Values) -> Chart {
    let h = report.history;
    let last = Course::of(&rate).map_or(0.0, |c| c.last);
    let mut lines = Vec::new();
    if let Some(nu) = report.nu() {
        lines.push(line("nu: the share asked for", "c", rate.iter().map(|p| (p.0, nu)).collect()));
    }
    let windowed = series(h, |p| p.windowed_alert_rate);
    lines.push(line("all so far", "b", rate));
    if there(&windowed) {
        lines.push(line("last 1,000", "a", windowed));
    }
    let asked = report.nu().map_or(String::new(), |nu| format!(" {} was asked for.", text::percent(nu)));
    let (y, above) = without_the_start(&lines, h, Unit::Percent);
    let above = above.map_or(String::new(), |at| format!(" Up to example {} a line lies above the frame.", text::count(at)));
    let judged = report.summary.judged;
    let of = match report.summary.task {
        Task::Novelty => format!("{} judged examples", text::count(judged as f64)),
        // This is the certified share, which counts the rows of earlier runs.
        _ => "examples since the model began".into(),
    };
    let (rows, classes) = (report.counts_by_weight(), report.counts_by_class());
    let by_weight = match (rows, classes) {
        (false, false) => "",
        (true, false) => "By weight, ",
        (false, true) => "By the weights of the classes, ",
        (true, true) => "By the weights of the rows times those of their classes, ",
    };
    let words = report.rate_words();
    let [unweighted, weighted] = words.measures;
    let measures = if rows || classes { weighted } else { unweighted };
    let caption = format!("{by_weight}{} of the {of} {}.{asked}{above}", text::percent(last), words.were);
    Chart { caption, ..Chart::new(words.title, measures, examples_axis(h), y, lines) }
}

/// The bound on the truncation error; none if it is 0, or if the bound is too large to be useful.
pub(super) fn truncation(report: &Report<'_>) -> Option<Chart> {
    let deviation = report.past.and_then(|past| past.score_deviation);
    let useful = |p: &&Point| p.truncation > 0.0 && is_useful(p.truncation, p.norm, deviation);
    let latest = report.history.latest().filter(useful)?;
    let norm = if report.averages() { "norm of the last hypothesis, or a bound on it" } else { "norm |f|, or a bound on it" };
    let lines = vec![
        line(norm, "c", series(report.history, |p| Some(p.norm))),
        line("truncation error", "a", series(report.history, |p| Some(p.truncation))),
    ];
    let whose = match &report.kept {
        Some(kept) => format!("Of the final model, which is not the one that is {}: t", kept.saved()),
        None => "T".into(),
    };
    let caption = format!(
        "{whose}he function that predicts differs by at most {} in norm from the function after the same updates, counted since the bound last began at 0, with nothing left out: with no term dropped or merged by the budget ({}), and no part of an update left out where settings learn in parallel and share their terms. The bound begins anew where units or weights of columns change. The certificates say what follows for scores.",
        text::at_most(latest.truncation),
        report.part("budget").unwrap_or_default(),
    );
    let positive: Vec<f64> = heights(&lines).filter(|v| *v > 0.0).collect();
    let y = Axis::fitting(positive.iter().copied(), Unit::Plain);
    let measures = "bound on |f of the same updates without truncation − f|";
    Some(Chart { caption, ..Chart::new("Truncation error", measures, examples_axis(report.history), y, lines) })
}
