//! Proposition 1 and the theorems, drawn.

use super::{heights, whole};
use crate::norma_losses::regret::{self, LAMBDA, Point};
use crate::norma_losses::{Outcome, truncation};
use crate::page::{Page, Table, Tile};
use okl_cli::report::axis::{Axis, Unit};
use okl_cli::report::chart::{Chart, Line};
use okl_cli::report::text;

pub(super) fn tiles(outcome: &Outcome) -> [Tile; 2] {
    let points = || outcome.truncation.iter().flat_map(|t| &t.points);
    let largest = points().map(|p| p.dropped / p.proposition).fold(0.0, f64::max);
    let last = |points: &[Point]| points.last().map_or((f64::NAN, f64::NAN, f64::NAN), |p| (p.regret, p.certificate, p.theorem));
    let (regret, certificate, theorem) = last(&outcome.regret.theorem2);
    [
        Tile::new(
            format!("{} at most", whole(largest)),
            "of Proposition 1's bound is what truncation costs",
            "at every age, for both losses",
        ),
        Tile::new(
            text::count(regret.round()),
            "regret with the steps of Theorem 2",
            format!("the certificate says {}, the theorem {}", text::count(certificate.round()), text::count(theorem.round())),
        ),
    ]
}

pub(super) fn truncation(page: &mut Page, outcomes: &[truncation::Outcome]) {
    page.section("Proposition 1: what dropping old terms costs");
    page.text(
        "Terms that are at least τ steps old are dropped; constant steps η = 0.2, λ = 0.05. The proposition bounds the norm of what is dropped from one function by 1/λ times (1 − λη) to the power τ. The certificate adds up what a run has in fact dropped. Both speak of the same coefficients; but a run that drops also learns differently afterwards. For a smooth loss such as Huber's the two runs stay as close as the certificate says; with the hinge a margin that is met in one run and missed in the other moves them apart by a whole step.",
    );
    page.charts(outcomes.iter().map(truncation_chart).collect());
    let mut table = Table::new(&["loss, τ", "Proposition 1", "certificate", "norm of what is dropped", "distance of the runs"]);
    for outcome in outcomes {
        for p in outcome.points.iter().filter(|p| p.tau <= 100 || p.tau % 200 == 0) {
            let values = [p.proposition, p.certificate, p.dropped, p.between_runs].map(text::figure);
            table = table.row(&[&[format!("{}, {}", outcome.loss, p.tau)], values.as_slice()].concat());
        }
    }
    let above =
        outcomes.iter().flat_map(|o| o.points.iter().map(move |p| (o.loss, p))).filter(|(_, p)| p.between_runs > p.proposition);
    let above: Vec<String> = above.map(|(loss, p)| format!("{loss} at τ = {}", p.tau)).collect();
    let words = match above.is_empty() {
        true => "In this run no distance between runs exceeds the proposition, though nothing says so for the hinge.".into(),
        false => {
            format!("Beyond the proposition, which does not speak of it: the distance of the runs for {}.", above.join(", "))
        }
    };
    page.table(table.caption(words));
}

fn truncation_chart(outcome: &truncation::Outcome) -> Chart {
    let line = |name: &str, look, value: fn(&truncation::Point) -> f64| {
        Line::new(name, look, outcome.points.iter().map(|p| (p.tau as f64, value(p))).collect())
    };
    let lines = vec![
        line("Proposition 1", "c", |p| p.proposition),
        line("distance of the runs", "b", |p| p.between_runs),
        line("norm of what is dropped", "d", |p| p.dropped),
        line("certificate", "a", |p| p.certificate),
    ];
    let taus = outcome.points.iter().map(|p| p.tau as f64);
    Chart {
        over: "age τ",
        caption: format!("{} examples; |f| = {} at the end.", text::count(outcome.rows as f64), text::figure(outcome.norm)),
        ..Chart::new(
            if outcome.loss == "huber" { "Huber's loss" } else { "Hinge" },
            "in the norm of f",
            Axis::exact(0.0, taus.fold(0.0, f64::max), Unit::Count),
            Axis::logarithmic(heights(&lines), Unit::Plain),
            lines,
        )
    }
}

pub(super) fn regret(page: &mut Page, outcome: &regret::Outcome) {
    page.section("Theorems 1 to 3: cumulative risk");
    page.text(format!(
        "Hinge loss, margin 1, λ = {LAMBDA}, no offset. Examples are drawn from a fixed population of noisy points, so that the best function u is known: its risk is {}, its norm B = {}. Regret is the cumulative risk (loss + λ/2 |f_t|²) less that of u on the same examples.",
        text::figure(outcome.risk),
        text::figure(outcome.norm)
    ));
    page.charts(vec![
        regret_chart("Theorem 1: steps B/√m, m known", "B √m at m, N(22); before, what its proof gives", &outcome.theorem1),
        regret_chart("Theorem 2: steps 1/(3λ√t)", "2λ (B + 1/λ)² √t, N(23)", &outcome.theorem2),
    ]);
    page.charts(vec![average_chart(outcome)]);
    let mut table = Table::new(&["", "seen", "certificate", "theorem"]);
    for (name, points) in [("Theorem 1", &outcome.theorem1), ("Theorem 2", &outcome.theorem2)] {
        if let Some(p) = points.last() {
            let name = format!("{name}: regret after {}", text::count(p.examples));
            table = table.row(&[&[name], [p.regret, p.certificate, p.theorem].map(text::figure).as_slice()].concat());
        }
    }
    if let Some(p) = outcome.theorem3.last() {
        let name = format!("Theorem 3: excess risk of the average of {}", text::count(p.examples));
        table = table.row(&[&[name], [p.excess, p.certificate, p.theorem].map(text::figure).as_slice()].concat());
    }
    page.table(table.caption("The certificate is kept while learning and holds for every u of that norm."));
}

fn regret_chart(title: &'static str, theorem: &'static str, points: &[Point]) -> Chart {
    let line = |name: &str, look, value: fn(&Point) -> f64| {
        Line::new(name, look, points.iter().map(|p| (p.examples, value(p))).collect())
    };
    let lines = vec![
        line("the theorem", "c", |p| p.theorem),
        line("certificate", "b", |p| p.certificate),
        line("regret", "a", |p| p.regret),
    ];
    Chart {
        caption: format!("The theorem: {theorem}."),
        ..Chart::new(
            title,
            "cumulative risk less that of u",
            Axis::logarithmic(points.iter().map(|p| p.examples), Unit::Count),
            Axis::logarithmic(heights(&lines), Unit::Plain),
            lines,
        )
    }
}

fn average_chart(outcome: &regret::Outcome) -> Chart {
    let points = &outcome.theorem3;
    let line = |name: &str, look, value: fn(&regret::Averaged) -> f64| {
        Line::new(name, look, points.iter().map(|p| (p.examples, value(p))).collect())
    };
    let lines = vec![
        line("Theorem 3: 2λ (B + 1/λ)² / √m", "c", |p| p.theorem),
        line("certificate / m", "b", |p| p.certificate),
        line("the last hypothesis", "d", |p| p.last),
        line("the average", "a", |p| p.excess),
    ];
    Chart {
        caption: format!(
            "Mean over {} streams. The average of all hypotheses comes closer to u than the last one, and much faster than the theorem promises.",
            outcome.streams
        ),
        wide: true,
        ..Chart::new(
            "Theorem 3: the averaged hypothesis",
            "risk over the population less that of u",
            Axis::logarithmic(points.iter().map(|p| p.examples), Unit::Count),
            Axis::logarithmic(heights(&lines), Unit::Plain),
            lines,
        )
    }
}
