//! The rest of the page of svmd: what the paper leaves open or does not show.

use super::shown::{arithmetic, chart, geometric, line, log_axis};
use super::{LAMBDA, Outcome, Reading, classes, novelty};
use crate::page::{Page, Table};
use okl_cli::report::axis::{Axis, Unit};
use okl_cli::report::chart::{Chart, Line};
use okl_cli::report::text;

impl Reading {
    fn words(self) -> &'static str {
        match self {
            Reading::Sign => "a sign, hinge loss (used above)",
            Reading::Offset => "the same with an offset, V(15)",
            Reading::TwoClasses => "two classes under V(8)",
            Reading::FourClasses => "four classes under V(8), discovered",
        }
    }
}

pub(super) fn readings(page: &mut Page, outcome: &Outcome) {
    page.section("Other readings of the set-up");
    let mut table = Table::new(&["the labels are", "schedule, τ tuned", "SVMD as published", "with safeguards", "won : lost"]);
    for r in &outcome.readings {
        let [schedule, published, guarded] = [0, 1, 2].map(|i| &r.cells[i]);
        let (won, lost) = guarded.against(schedule);
        let spreads = [schedule, published, guarded].map(|cell| cell.spread().percent());
        table = table.row(&[&[r.reading.words().to_owned()], spreads.as_slice(), &[format!("{won} : {lost}")]].concat());
    }
    page.table(table.caption(format!(
        "λ = {LAMBDA}. Won : lost is that of SVMD with safeguards. A label that was never seen counts as a mistake."
    )));
}

pub(super) fn ten_classes(page: &mut Page, rows: &[classes::Row]) {
    page.section("All ten digits");
    page.text("One pass over the whole training set under V(8), with the same kernel. Nothing changes in this stream, so there is nothing for SVMD to react to but noise.");
    let mut table = Table::new(&["λ, step size", "error over the pass", "test set", "last η"]);
    for row in rows {
        let cells = [row.progressive.percent(), row.test.percent(), text::figure(row.last)];
        table = table.row(&[&[format!("{}, {}", row.lambda, row.rule.words())], cells.as_slice()].concat());
    }
    page.table(table.caption("Mean and standard deviation over the shuffles; the smallest of the last step sizes. τ is chosen on a fifth of the training set."));
}

pub(super) fn novel(page: &mut Page, outcome: &Outcome) {
    let (half, rows) = (outcome.half, &outcome.novelty.rows);
    page.section("Without labels");
    page.text("Novelty detection under V(9) on the stream of the figures: a digit is novel if f(x) < 1. When 2 and 3 appear they are novel, until they have been learned.");
    let drawn: Vec<&novelty::Row> = rows.iter().filter(|r| r.lambda == novelty::LAMBDAS[0]).collect();
    let window = half / 10;
    let alerts = |c: &novelty::Course| -> Vec<f64> {
        (0..c.scores.len()).map(|i| c.alerts((i + 1).saturating_sub(window)..i + 1)).collect()
    };
    let lines = |series: &dyn Fn(&novelty::Course) -> Vec<f64>, first: usize, mean: fn(&[f64]) -> f64| -> Vec<Line> {
        let bare = |r: &&novelty::Row| {
            let courses: Vec<Vec<f64>> = r.courses.iter().map(series).collect();
            Line { band: Vec::new(), ..line(r.rule.words(), r.rule.look(), &courses, first, mean) }
        };
        drawn.iter().map(bare).collect()
    };
    let alert_lines = lines(&alerts, window - 1, arithmetic);
    let step_lines = lines(&|c| c.eta.clone(), 0, geometric);
    let y = Axis::straight(alert_lines.iter().flat_map(|l| &l.points).map(|p| p.1), Unit::Percent);
    let step_y = log_axis(&step_lines, Unit::Plain);
    let narrow = |c: Chart| Chart { wide: false, ..c };
    page.charts(vec![
        narrow(chart(
            "Alerts",
            "share of alerts among the last examples",
            2 * half,
            y,
            alert_lines,
            "λ = 0.01, mean over the shuffles.",
        )),
        narrow(chart("Step size", "η, geometric mean", 2 * half, step_y, step_lines, "")),
    ]);
    let mut table = Table::new(&["λ, step size", "average loss", "alerts before the change", "just after it", "at the end"]);
    for row in rows {
        let n = 2 * half;
        let cells = [
            row.over(novelty::Course::loss).figure(),
            row.over(|c| c.alerts(half - half / 5..half)).percent(),
            row.over(|c| c.alerts(half..half + half / 5)).percent(),
            row.over(|c| c.alerts(n - half / 5..n)).percent(),
        ];
        table = table.row(&[&[format!("{}, {}", row.lambda, row.rule.words())], cells.as_slice()].concat());
    }
    page.table(table.caption(format!("Mean and standard deviation over the shuffles; alerts among {} examples each.", half / 5)));
}
