//! The page of svmd.

use super::scan::{Cell, Row};
use super::{Course, LAMBDA, Outcome, Rule, beside};
use crate::page::{Page, Table, Tile};
use crate::stats::Spread;
use okl_cli::report::axis::{Axis, Unit};
use okl_cli::report::chart::{Chart, Line};
use okl_cli::report::text;

/// A point is drawn every so many examples.
const EVERY: usize = 5;

impl Rule {
    pub(super) fn words(self) -> String {
        match self {
            Rule::Published => "SVMD as published".into(),
            Rule::Limited => "SVMD with limits".into(),
            Rule::Guarded => "SVMD with safeguards".into(),
            Rule::Schedule(tau) => format!("schedule, τ = {}", text::count(tau)),
        }
    }

    pub(super) fn look(self) -> &'static str {
        match self {
            Rule::Published => "a",
            Rule::Limited => "e",
            Rule::Guarded => "d",
            Rule::Schedule(_) => "b",
        }
    }
}

pub(super) fn page(outcome: &Outcome) -> Page {
    let mut page = Page::new("A step size that adapts: SVMD, section 5", lead(outcome));
    page.section("In figures").tiles(tiles(outcome));
    figures(&mut page, outcome);
    scanned(&mut page, outcome);
    beside::readings(&mut page, outcome);
    beside::ten_classes(&mut page, &outcome.classes);
    beside::novel(&mut page, outcome);
    page
}

fn lead(outcome: &Outcome) -> String {
    format!(
        "USPS: {0} digits of 0 against 1, then {0} of 2 against 3. Gaussian kernel with σ = 10, step sizes from η₀ = 1: SVMD with μ = 0.1 and decay 1 against the schedule √(τ/(τ + t)). The paper shows one run in which SVMD errs less throughout, and does not state λ. Here: {1} shuffles, every λ, τ chosen on shuffles of its own.",
        outcome.half, outcome.shuffles
    )
}

/// At how many lambdas a rule errs less than the schedule that was tuned for the whole stream.
fn wins(rows: &[Row], cell: impl Fn(&Row) -> &Cell) -> usize {
    rows.iter().filter(|row| cell(row).spread().mean < row.whole.spread().mean).count()
}

fn tiles(outcome: &Outcome) -> Vec<Tile> {
    let n = outcome.clean.len();
    let of = |rule: Rule| {
        let course = outcome.figures.courses.iter().find(|(r, _)| *r == rule);
        course.map_or(0.0, |(_, courses)| Spread::of(courses.iter().map(|c| c.error(2 * outcome.half))).mean)
    };
    let schedule = of(Rule::Schedule(outcome.figures.tuned.whole));
    let least = outcome.noisy.iter().chain(&outcome.clean).map(|row| row.published.last).fold(f64::MAX, f64::min);
    let all = outcome.classes.iter().filter(|row| row.rule == Rule::Published).map(|row| row.last).fold(least, f64::min);
    vec![
        Tile::new(
            text::percent(of(Rule::Published)),
            format!("average error, SVMD as published, λ = {LAMBDA}"),
            format!("the schedule with its best τ: {}", text::percent(schedule)),
        ),
        Tile::new(text::percent(of(Rule::Guarded)), "the same with safeguards", "μ = 0.05, decay 0.9, limits"),
        Tile::new(
            format!("{} and {} of {n}", wins(&outcome.clean, |r| &r.published), wins(&outcome.clean, |r| &r.guarded)),
            "values of λ at which SVMD wins, as published and with safeguards",
            "against the τ that is best for the whole stream",
        ),
        Tile::new(text::figure(all), "the smallest step size SVMD as published ended with", "nothing keeps it from collapsing"),
    ]
}

/// The mean of some courses and where eight of ten lie, every few examples from `first`.
pub(super) fn line(name: String, look: &'static str, courses: &[Vec<f64>], first: usize, mean: fn(&[f64]) -> f64) -> Line {
    let n = courses[0].len();
    let at = |i: usize| {
        let mut values: Vec<f64> = courses.iter().map(|c| c[i]).collect();
        values.sort_by(f64::total_cmp);
        values
    };
    let places: Vec<usize> = (first..n).filter(|i| (i + 1) % EVERY == 0).collect();
    let points = places.iter().map(|i| ((i + 1) as f64, mean(&at(*i)))).collect();
    let band = |i: &usize| {
        let (values, cut) = (at(*i), courses.len() / 10);
        ((i + 1) as f64, values[cut], values[values.len() - 1 - cut])
    };
    Line::new(name, look, points).within(places.iter().map(band).collect())
}

pub(super) fn arithmetic(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub(super) fn geometric(values: &[f64]) -> f64 {
    libm::exp(values.iter().map(|v| libm::log(*v)).sum::<f64>() / values.len() as f64)
}

pub(super) fn chart(title: &'static str, measures: &'static str, n: usize, y: Axis, lines: Vec<Line>, caption: &str) -> Chart {
    Chart {
        caption: caption.into(),
        wide: true,
        ..Chart::new(title, measures, Axis::exact(0.0, n as f64, Unit::Count), y, lines)
    }
}

/// The band may go beyond the axis, the lines not.
pub(super) fn log_axis(lines: &[Line], unit: Unit) -> Axis {
    Axis::logarithmic(lines.iter().flat_map(|l| &l.points).map(|p| p.1), unit)
}

fn figures(page: &mut Page, outcome: &Outcome) {
    let n = 2 * outcome.half;
    let name = |rule: Rule| match rule {
        Rule::Schedule(tau) if tau == outcome.figures.tuned.whole => format!("{} (tuned for the whole stream)", rule.words()),
        Rule::Schedule(_) => format!("{} (tuned for the first half)", rule.words()),
        _ => rule.words(),
    };
    let look = |rule: Rule| match rule {
        Rule::Schedule(tau) if tau != outcome.figures.tuned.whole => "b dashed",
        _ => rule.look(),
    };
    let same = outcome.figures.tuned.whole == outcome.figures.tuned.first_half;
    let drawn = || outcome.figures.courses.iter().skip(usize::from(same));
    let errors = |c: &Course| {
        let mut wrong = 0.0;
        let average = |(i, m): (usize, &bool)| {
            wrong += f64::from(u8::from(*m));
            wrong / (i + 1) as f64
        };
        c.mistaken.iter().enumerate().map(average).collect::<Vec<f64>>()
    };
    let error_lines: Vec<Line> = drawn()
        .map(|(rule, courses)| line(name(*rule), look(*rule), &courses.iter().map(errors).collect::<Vec<_>>(), 9, arithmetic))
        .collect();
    let step_lines: Vec<Line> = drawn()
        .map(|(rule, courses)| {
            line(name(*rule), look(*rule), &courses.iter().map(|c| c.eta.clone()).collect::<Vec<_>>(), 0, geometric)
        })
        .collect();
    page.section("Both figures of the paper");
    page.text(format!(
        "At λ = {LAMBDA}, where the step size takes the course that the paper describes: up at first, down until halfway, up again when the digits change. Mean over {} shuffles; the band has eight of ten of them.",
        outcome.shuffles
    ));
    page.charts(vec![
        chart(
            "Figure 1: average error",
            "share mistaken so far",
            n,
            log_axis(&error_lines, Unit::Percent),
            error_lines,
            "The jump at half is the change of digits. The bands of SVMD and of the schedule that was tuned for the whole stream overlap: one run, as in the paper, cannot tell them apart.",
        ),
        chart(
            "Figure 2: step size",
            "η, geometric mean",
            n,
            log_axis(&step_lines, Unit::Plain),
            step_lines,
            "The schedules know nothing of the change; SVMD answers it.",
        ),
    ]);
}

fn scanned(page: &mut Page, outcome: &Outcome) {
    page.section("Over λ, which the paper does not state");
    let n = outcome.clean.len();
    let first_half = |rows: &[Row]| rows.iter().filter(|r| r.guarded.spread().mean < r.first_half.spread().mean).count();
    page.text(format!(
        "The schedule with the τ that is best for the whole stream is a strong opponent: its τ knows that a change will come. Against it SVMD as published wins at {} of {n} values of λ under the hinge loss and at {} as two classes under V(8), with safeguards at {} and {}. Tuned on the first half alone, as one would have to before the change, the schedule loses to SVMD with safeguards at {} and {} of {n}.",
        wins(&outcome.clean, |r| &r.published),
        wins(&outcome.two_classes, |r| &r.published),
        wins(&outcome.clean, |r| &r.guarded),
        wins(&outcome.two_classes, |r| &r.guarded),
        first_half(&outcome.clean),
        first_half(&outcome.two_classes),
    ));
    page.charts(vec![
        over_lambda("True labels, hinge loss", &outcome.clean),
        over_lambda("True labels, two classes under V(8)", &outcome.two_classes),
    ]);
    page.table(scan_table(&outcome.clean).caption(format!(
        "Hinge loss: average error at the end, mean and standard deviation over {} shuffles. Won : lost counts shuffles against the schedule tuned for the whole stream. Limits: η within [10⁻⁶, 1/(2λ)], at most doubled in a step; safeguards: limits, μ = 0.05 and decay 0.9.",
        outcome.shuffles
    )));
    page.table(
        scan_table(&outcome.two_classes)
            .caption("The same as two classes under V(8): twice the step and half the regulariser of the hinge loss (E19)."),
    );
    page.section("With wrong labels");
    page.text(
        "With one label in ten wrong, SVMD as published mistakes noise for a reason to slow down, and its trace v never forgets (decay 1). Limits alone do not help; forgetting does.",
    );
    page.charts(vec![Chart { wide: true, ..over_lambda("One label in ten is wrong, hinge loss", &outcome.noisy) }]);
    page.table(scan_table(&outcome.noisy).caption("Errors are counted against the true labels."));
}

fn over_lambda(title: &'static str, rows: &[Row]) -> Chart {
    let points = |cell: fn(&Row) -> &Cell| rows.iter().map(|r| (r.lambda, cell(r).spread().mean)).collect::<Vec<_>>();
    let lines = vec![
        Line::new("schedule, τ for the first half", "b dashed", points(|r| &r.first_half)),
        Line::new("schedule, τ for the whole stream", "b", points(|r| &r.whole)),
        Line::new("SVMD with safeguards", "d", points(|r| &r.guarded)),
        Line::new("SVMD as published", "a", points(|r| &r.published)),
    ];
    let (x, y) = (Axis::logarithmic(rows.iter().map(|r| r.lambda), Unit::Plain), log_axis(&lines, Unit::Percent));
    Chart { over: "λ", ..Chart::new(title, "average error at the end", x, y, lines) }
}

fn scan_table(rows: &[Row]) -> Table {
    let head = [
        "λ",
        "schedule, whole stream",
        "schedule, first half",
        "SVMD as published",
        "won : lost",
        "with limits",
        "with safeguards",
        "won : lost",
    ];
    let tau = |cell: &Cell| match cell.rule {
        Rule::Schedule(tau) => format!("{} (τ {})", text::percent(cell.spread().mean), text::count(tau)),
        _ => cell.spread().percent(),
    };
    let score = |(won, lost): (usize, usize)| format!("{won} : {lost}");
    let row = |r: &Row| {
        [
            format!("{}", r.lambda),
            tau(&r.whole),
            tau(&r.first_half),
            r.published.spread().percent(),
            score(r.published.against(&r.whole)),
            text::percent(r.limited.spread().mean),
            r.guarded.spread().percent(),
            score(r.guarded.against(&r.whole)),
        ]
    };
    rows.iter().map(row).fold(Table::new(&head), |table, row| table.row(&row))
}
