//! The charts of error and model over time, with captions that describe them.

use super::Report;
use super::axis::{Axis, Unit};
use super::chart::{Chart, Line};
use super::history::{History, Point};
use super::page::OF_TARGETS;
use super::text;
use crate::metrics::{Coverage, Measure, OutputSummary, Summary, Task, WINDOW};

/// Examples and a value.
pub(super) type Values = Vec<(f64, f64)>;

/// The smallest number of measured speeds for a chart.
const FEWEST_SPEEDS: usize = 4;

pub(super) fn series(history: &History, value: impl Fn(&Point) -> Option<f64>) -> Values {
    history.points().map(|p| (p.examples as f64, value(p).unwrap_or(f64::NAN))).collect()
}

pub(super) fn there(values: &Values) -> bool {
    values.iter().any(|v| v.1.is_finite())
}

pub(super) fn line(name: impl Into<String>, look: &'static str, points: Values) -> Line {
    Line::new(name, look, points)
}

pub(super) fn examples_axis(history: &History) -> Axis {
    Axis::exact(0.0, history.latest().map_or(1.0, |p| p.examples as f64), Unit::Count)
}

pub(super) fn heights(lines: &[Line]) -> impl Iterator<Item = f64> + Clone {
    lines.iter().flat_map(|l| l.points.iter().map(|p| p.1))
}

/// The first, the last and the extreme values of a line.
pub(super) struct Course {
    first: f64,
    pub last: f64,
    most: (f64, f64),
    least: (f64, f64),
    /// Whether the extreme values of the run are among the points; otherwise a value between two points may lie farther out.
    exact: bool,
}

impl Course {
    pub fn of(values: &Values) -> Option<Self> {
        let finite: Values = values.iter().copied().filter(|v| v.1.is_finite()).collect();
        let most = finite.iter().copied().fold(*finite.first()?, |a, b| if b.1 > a.1 { b } else { a });
        let least = finite.iter().copied().fold(most, |a, b| if b.1 < a.1 { b } else { a });
        Some(Course { first: finite[0].1, last: finite[finite.len() - 1].1, most, least, exact: false })
    }

    /// The course of a line whose points contain the extreme values.
    pub fn exactly(self, exact: bool) -> Self {
        Course { exact, ..self }
    }

    /// "from .. to ..", and the highest or lowest value if it lies far outside these two.
    pub fn words(&self, unit: Unit) -> String {
        let show = |v: f64| unit.show(v);
        let mut words = format!("from {} to {}", show(self.first), show(self.last));
        let [above, below] = if self.exact { ["", ""] } else { ["at least ", "at most "] };
        let much = 0.25 * (self.most.1 - self.least.1);
        if self.most.1 - self.first.max(self.last) > much {
            words += &format!(", and up to {above}{} near example {}", show(self.most.1), text::count(self.most.0));
        }
        if self.first.min(self.last) - self.least.1 > much {
            words += &format!(", and down to {below}{} near example {}", show(self.least.1), text::count(self.least.0));
        }
        words
    }
}

/// The error of the run: overall, over a window, and of the no-change predictor; for novelty the loss.
pub(super) fn progress(report: &Report<'_>) -> Chart {
    let history = report.history;
    if report.summary.task == Task::Novelty {
        return loss(history);
    }
    let percent = report.summary.task == Task::Classes;
    let unit = if percent { Unit::Percent } else { Unit::Plain };
    let mut lines = Vec::new();
    for ((name, rival), look) in report.rivals.iter().zip(["d", "e", "f"]) {
        lines.push(line(format!("{name}, last 1,000"), look, series(rival, |p| p.windowed_error)));
    }
    lines.push(line("all so far", "b", series(history, |p| p.error)));
    lines.push(line("last 1,000", "a", series(history, |p| p.windowed_error)));
    let training = series(history, |p| p.training_error);
    if there(&training) {
        lines.push(line("training error in later passes, last 1,000", "g", training));
    }
    // A line far above the others would flatten them. Such a line is not drawn, only described.
    let own = without_the_start(&lines, history, unit).0.high;
    let beside = report.summary.no_change_error.is_some_and(|e| e <= 3.0 * own);
    if beside {
        lines.insert(0, line("repeating the last target (no change)", "c", series(history, |p| p.no_change_error)));
    }
    let (y, above) = without_the_start(&lines, history, unit);
    let several = report.summary.outputs.len() > 1;
    let by_weight = report.summary.by_weight();
    let measures = match report.summary.measure {
        Measure::PinballLoss if several => format!("mean pinball loss{by_weight}, {OF_TARGETS}"),
        Measure::MeanAbsoluteError if several => format!("mean absolute error{by_weight}, {OF_TARGETS}"),
        Measure::PinballLoss => format!("mean pinball loss{by_weight}, in the units of the target"),
        _ if percent => format!("share of wrong predictions{by_weight}"),
        _ => format!("mean absolute error{by_weight}, in the units of the target"),
    };
    Chart {
        caption: error_caption(report, unit, beside, above),
        wide: true,
        ..Chart::new("Error before learning", measures, examples_axis(history), y, lines)
    }
}

/// A vertical axis that fits the values after the first fiftieth of the examples, because the large first errors would flatten the
/// rest. Also returns the last example with a value above the axis.
pub(super) fn without_the_start(lines: &[Line], history: &History, unit: Unit) -> (Axis, Option<f64>) {
    let settled = history.latest().map_or(0.0, |p| p.examples as f64 / 50.0).max(30.0);
    let later = lines.iter().flat_map(|l| l.points.iter()).filter(|p| p.0 >= settled).map(|p| p.1);
    let later: Vec<f64> = if later.clone().any(f64::is_finite) { later.collect() } else { heights(lines).collect() };
    let axis = Axis::straight(later.into_iter(), unit);
    let high = axis.high * (1.0 + 1e-9);
    let above = lines
        .iter()
        .flat_map(|l| l.points.iter())
        .filter(|p| p.1 > high)
        .map(|p| p.0)
        .fold(None, |a: Option<f64>, b| Some(a.unwrap_or(b).max(b)));
    (axis, above)
}

fn error_caption(report: &Report<'_>, unit: Unit, beside: bool, above: Option<f64>) -> String {
    let (s, show) = (report.summary, |v| unit.show(v));
    if super::page::no_rows(report) {
        return "No new rows.".into();
    }
    if let Some(reason) = super::page::without_figures(report) {
        return format!("No errors of new rows: {reason}.");
    }
    let mut words = match s.task {
        Task::Classes => {
            let by_weight = s.by_weight();
            format!("{} of all examples{by_weight} were predicted wrongly before they were learned", text::or_none(s.error, show))
        }
        _ => {
            let name = if s.measure == Measure::PinballLoss { "pinball loss" } else { "absolute error" };
            let of = if s.outputs.len() > 1 { format!(" ({OF_TARGETS})") } else { String::new() };
            let by_weight = s.by_weight();
            format!("Before the examples were learned, the mean {name}{by_weight}{of} was {}", text::or_none(s.error, show))
        }
    };
    words += &format!("; {} over the last {}.", text::or_none(s.windowed_error, show), text::count(s.windowed_rows as f64));
    let late: Values = series(report.history, |p| p.windowed_error).into_iter().filter(|v| v.0 >= 2.0 * WINDOW as f64).collect();
    if let Some(course) = Course::of(&late).filter(|c| rose(s, c)) {
        words += &format!(
            " The windowed error rose to at least {} near example {}: the stream changed there, or the model became worse.",
            show(course.most.1),
            text::count(course.most.0)
        );
    }
    if let Some(no_change) = s.no_change_error {
        let drawn = if beside { "the dashed line" } else { "far above this frame" };
        let better = if s.error.is_some_and(|e| e >= no_change) { "no better" } else { "better" };
        words += &format!(
            " Repeating the last target has an error of {} ({drawn}); over the whole stream the model is {better}.",
            show(no_change)
        );
    }
    if report.training.is_some() {
        words += " In later passes the rows have been learned before: that is training error, not the error on new rows.";
    }
    above.map_or(words.clone(), |at| format!("{words} Up to example {} a line lies above the frame.", text::count(at)))
}

/// Whether the windowed error rose by half, and by more than chance explains. The highest of many windows is above most of them by chance, so
/// the difference must be larger than four standard errors.
fn rose(summary: &Summary, course: &Course) -> bool {
    let spread_of_rows = |error: f64| match summary.task {
        Task::Numbers => {
            // The pinball loss is at most max(q, 1 - q) times the absolute error: this is an upper bound of its deviation.
            let of_output = |o: &OutputSummary| {
                let (slope, mean) = match o.coverage {
                    Some(Coverage { asked: q, .. }) => (q.max(1.0 - q), o.pinball?),
                    None => (1.0, o.mae?),
                };
                Some(((slope * o.rmse?).powi(2) - mean.powi(2)).max(0.0).sqrt())
            };
            summary.outputs.iter().filter_map(of_output).sum::<f64>() / summary.outputs.len().max(1) as f64
        }
        _ => (error * (1.0 - error)).sqrt(),
    };
    let standard_error = |error: f64| spread_of_rows(error) / (WINDOW as f64).sqrt();
    let (before, most) = (course.last.max(course.first), course.most.1);
    most > 1.5 * before && most - before > 4.0 * standard_error(most).hypot(standard_error(before))
}

fn loss(history: &History) -> Chart {
    let lines = vec![line("average loss", "a", series(history, |p| p.loss))];
    let (y, above) = without_the_start(&lines, history, Unit::Plain);
    let words = Course::of(&lines[0].points).map_or("No loss was recorded.".into(), |c| {
        format!("The mean loss of all examples so far went {}. It is the loss that is minimised, nu included, and can be negative. The alert rate above is the figure to act on.", c.words(Unit::Plain))
    });
    let caption = above.map_or(words.clone(), |at| format!("{words} Up to example {} it lies above the frame.", text::count(at)));
    Chart { caption, wide: true, ..Chart::new("Loss before learning", "average loss", examples_axis(history), y, lines) }
}

/// One line on an axis that fits it.
fn single(
    history: &History,
    title: &'static str,
    measures: &'static str,
    axis: fn(&Values) -> Axis,
    value: impl Fn(&Point) -> f64,
    words: impl Fn(&str) -> String,
) -> Chart {
    let lines = vec![line(title, "a", series(history, |p| Some(value(p))))];
    let y = axis(&lines[0].points);
    let course = Course::of(&lines[0].points).map_or("nowhere".into(), |c| c.words(y.unit));
    Chart { caption: words(&course), ..Chart::new(title, measures, examples_axis(history), y, lines) }
}

/// A sentence on how the step size changes.
fn step_note(report: &Report<'_>) -> String {
    match report.part("step").as_deref() {
        _ if report.members > 1 => format!(
            "{} settings learn in parallel; this is the step size of the one with the largest weight, and it jumps when another one gets the largest weight.",
            report.members
        ),
        Some("smd") if report.setting("step").is_some_and(|step| !step["smd"]["per"].is_null()) => {
            "Every weight has its own, adapted to the stream (stochastic meta-descent); this is their median.".into()
        }
        Some("smd") => "It is adapted to the stream (SVMD): it rises where larger steps would have helped.".into(),
        Some("constant") => "It is constant.".into(),
        _ => "It depends only on the number of examples, not on their values.".into(),
    }
}

/// Step size, terms, norm and speed.
pub(super) fn model(report: &Report<'_>) -> Vec<Chart> {
    let h = report.history;
    let eta_note = step_note(report);
    let fitting = |values: &Values| Axis::fitting(values.iter().map(|v| v.1), Unit::Plain);
    let mut charts = vec![
        single(h, "Step size", "eta", fitting, |p| p.eta, |course| format!("The step size went {course}. {eta_note}")),
        single(
            h,
            "Terms",
            "terms kept in memory",
            |v| Axis::straight(v.iter().map(|v| v.1), Unit::Count),
            |p| p.terms as f64,
            |course| format!("The number of terms went {course}. Memory and time per example are proportional to it."),
        ),
        single(
            h,
            "Norm",
            match (report.members > 1, report.averages()) {
                (true, true) => {
                    "|f| of the last hypothesis of the leading setting: exact, or an upper bound once terms were dropped or parts of updates left out"
                }
                (true, false) => {
                    "|f| of the leading setting: exact, or an upper bound once terms were dropped or parts of updates left out"
                }
                (false, true) => "|f| of the last hypothesis: exact, or an upper bound once terms were dropped",
                (false, false) => "|f|: exact, or an upper bound once terms were dropped",
            },
            |v| Axis::straight(v.iter().map(|v| v.1), Unit::Plain),
            |p| p.norm,
            |course| match (report.members > 1, report.averages()) {
                (true, averages) => format!(
                    "The norm of {}the leading setting, or the bound on it, went {course}. Scores are a weighted sum over all settings that learn in parallel, \
                         so this norm does not bound their changes.",
                    if averages { "the last hypothesis of " } else { "" }
                ),
                (false, true) => format!(
                    "The norm of the last hypothesis, or the bound on it, went {course}. The average of the hypotheses predicts, so this norm does not bound the \
                         changes of scores."
                ),
                // An operator multiplies the changes of each output by another factor.
                (false, false) if report.has_operator() => {
                    format!("The norm of the function, or the bound on it, went {course}.")
                }
                (false, false) => format!(
                    "The norm of the function, or the bound on it, went {course}. A score can change by at most this times the distance of two inputs in feature \
                         space."
                ),
            },
        ),
    ];
    if report.uses_weights() {
        charts.retain(|chart| chart.title != "Terms");
    }
    // Not every point has a speed, because short intervals cannot be timed reliably.
    let speeds: Values = series(h, |p| p.speed).into_iter().filter(|v| v.1.is_finite()).collect();
    if speeds.len() >= FEWEST_SPEEDS {
        let lines = vec![line("speed", "a", speeds)];
        let course = Course::of(&lines[0].points).map_or(String::new(), |c| {
            format!(
                "Between {} and {} examples per second, {} at the end; reading, learning and bookkeeping together.",
                text::speed(c.least.1),
                text::speed(c.most.1),
                text::speed(c.last)
            )
        });
        let y = Axis::straight(heights(&lines), Unit::Count);
        charts.push(Chart { caption: course, ..Chart::new("Speed", "examples per second", examples_axis(h), y, lines) });
    }
    charts
}
