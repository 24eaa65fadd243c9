//! The page of norma-losses.

mod theory;

use super::Outcome;
use super::classes::{self, FLIPPED, Kind};
use super::noise::{Noise, truth};
use super::robust::{self, FAMILIES};
use super::tube::{self, LOUDER, RATES};
use crate::page::{Page, Table, Tile};
use okl_cli::report::axis::{Axis, Unit};
use okl_cli::report::chart::{Chart, Line};
use okl_cli::report::text;

pub(super) fn page(outcome: &Outcome) -> Page {
    let mut page = Page::new(
        "Losses, truncation and regret: NORMA, sections 3 and 4",
        "Generated streams, whose truth is known: does every loss do what it is for, do tube and scale find the noise, and do the bounds of the paper hold?",
    );
    page.section("In figures").tiles(tiles(outcome));
    robust(&mut page, &outcome.robust);
    tube(&mut page, &outcome.tube);
    classification(&mut page, &outcome.classes);
    theory::truncation(&mut page, &outcome.truncation);
    theory::regret(&mut page, &outcome.regret);
    page
}

fn tiles(outcome: &Outcome) -> Vec<Tile> {
    let distance = |family| outcome.robust.cell(Noise::Student, family).map_or(f64::NAN, |cell| cell.distance.mean);
    let off = |found: &tube::Found| (found.theta.mean / found.noise.exceeded_by(found.nu) - 1.0).abs();
    let farthest = outcome.tube.found.iter().map(off).fold(0.0, f64::max);
    let mut tiles = vec![
        Tile::new(
            format!("{:.1} times", distance("squared") / distance("nu_huber")),
            "as far from the truth with the squared loss",
            "as with nu_huber, under noise without a variance",
        ),
        Tile::new(
            format!("within {}", text::percent(farthest)),
            "tube and scale against the noise's quantile",
            format!("all of {} means over streams", outcome.tube.found.len()),
        ),
    ];
    tiles.extend(theory::tiles(outcome));
    tiles
}

/// A share in whole per cent.
fn whole(share: f64) -> String {
    format!("{:.0}\u{a0}%", 100.0 * share)
}

/// The place of the smallest value.
fn least(values: impl Iterator<Item = f64>) -> usize {
    values.enumerate().fold((0, f64::MAX), |best, (i, v)| if v < best.1 { (i, v) } else { best }).0
}

fn heights(lines: &[Line]) -> impl Iterator<Item = f64> {
    lines.iter().flat_map(|l| l.points.iter().map(|p| p.1))
}

fn robust(page: &mut Page, outcome: &robust::Outcome) {
    page.section("Which loss for which noise");
    page.text(format!(
        "y = sin 2πx + ½ cos 6πx + noise, x uniform on [0, 1]; half of the noise is smaller than 0.25, whatever its law. Streams of {} examples, kernel exp(−50 |x − y|²), steps η/√t, λ = 0.001. η and the parameter of every loss are chosen on one stream and measured on {} others.",
        text::count(outcome.rows as f64),
        outcome.streams
    ));
    let head: Vec<&str> = ["loss", "equation"].into_iter().chain(Noise::ALL.map(Noise::name)).collect();
    let (mut distances, mut chosen) = (Table::new(&head), Table::new(&[&head[..1], &head[2..]].concat()));
    for (i, family) in FAMILIES.iter().enumerate() {
        let row = |names: &[&str], cell: &dyn Fn(&robust::Cell) -> String| {
            let cells = outcome.cells.iter().map(|noise| cell(&noise[i]));
            names.iter().map(|name| (*name).to_owned()).chain(cells).collect::<Vec<_>>()
        };
        distances = distances.row(&row(&[family.name, family.equation], &|c| c.distance.figure()));
        chosen = chosen.row(&row(&[family.name], &|c| {
            let parameter = c.chosen.loss.split_once(':').map_or(String::new(), |(_, p)| p.replace('=', " ") + ", ");
            format!("{parameter}η {}, {}", c.chosen.eta, whole(c.kept))
        }));
    }
    for (column, noise) in outcome.cells.iter().enumerate() {
        distances = distances.best(least(noise.iter().map(|c| c.distance.mean)), column + 2);
    }
    page.table(distances.caption(
        "Root mean square distance of f_t(x_t) from the truth over the second half, mean and standard deviation over streams; the smallest of each column is bold.",
    ));
    page.table(chosen.caption("What was chosen, and the share of the examples that are kept as terms at the end."));
    page.charts(drawn_charts(outcome));
}

fn look(loss: &str) -> &'static str {
    match loss.split(':').next() {
        Some("squared") => "b",
        Some("absolute") => "g",
        Some("nu_epsilon") => "d",
        Some("huber") => "e",
        _ => "a",
    }
}

/// The mean, within the smallest and the largest for the two losses that are compared.
fn drawn_line(drawn: &robust::Drawn, values: &robust::Band) -> Line {
    let line = Line::new(drawn.name.clone(), look(&drawn.name), values.iter().map(|(x, v)| (*x, v[0])).collect());
    if is_compared(drawn) { line.within(values.iter().map(|(x, v)| (*x, v[1], v[2])).collect()) } else { line }
}

fn is_compared(drawn: &robust::Drawn) -> bool {
    matches!(drawn.name.split(':').next(), Some("squared" | "nu_huber"))
}

fn drawn_charts(outcome: &robust::Outcome) -> Vec<Chart> {
    let mut functions = vec![Line::new("truth", "c", (0..=200).map(|i| f64::from(i) / 200.0).map(|x| (x, truth(x))).collect())];
    functions.extend(outcome.drawn.iter().filter(|d| is_compared(d)).map(|d| drawn_line(d, &d.function)));
    let courses: Vec<Line> = outcome.drawn.iter().map(|d| drawn_line(d, &d.course)).collect();
    let extremes = |lines: &[Line]| lines.iter().flat_map(|l| l.band.iter().flat_map(|b| [b.1, b.2])).collect::<Vec<_>>();
    let function_axis = Axis::straight(extremes(&functions).into_iter(), Unit::Plain);
    let course_axis = Axis::logarithmic(extremes(&courses).into_iter(), Unit::Plain);
    vec![
        Chart {
            over: "x",
            caption: format!(
                "What was learned under Student's noise, which has no variance: mean of {} streams, the bands from the lowest to the highest.",
                outcome.streams
            ),
            ..Chart::new("The function", "f at the end", Axis::exact(0.0, 1.0, Unit::Plain), function_axis, functions)
        },
        Chart {
            caption: "The same streams, bands for nu_huber and the squared loss. A single wild value throws the squared loss off until enough others have pulled it back.".into(),
            ..Chart::new(
                "Distance from the truth",
                "root mean square over the last twentieth of the stream",
                Axis::exact(0.0, outcome.rows as f64, Unit::Count),
                course_axis,
                courses,
            )
        },
    ]
}

fn tube(page: &mut Page, outcome: &tube::Outcome) {
    page.section("Tube and scale find the noise");
    page.text(format!(
        "The tube ε of the loss nu_epsilon, N(18), and the scale σ of nu_huber, N(21), grow when a residual is outside and shrink when it is inside, so that a share nu is outside in the long run: they are a quantile of the noise, of which they were told nothing. {} examples, steps 1/√t; both start at 0.5.",
        text::count(outcome.rows as f64)
    ));
    page.charts(tube::LOSSES.iter().map(|loss| ratio_chart(outcome, loss)).collect());
    page.charts(vec![louder_chart(outcome)]);
    let mut table = Table::new(&["loss, noise", "nu", "quantile of the noise", "found", "outside", "certified within"]);
    for found in &outcome.found {
        table = table.row(&[
            format!("{}, {}", found.loss, found.noise.name()),
            found.nu.to_string(),
            format!("{:.4}", found.noise.exceeded_by(found.nu)),
            found.theta.figure(),
            found.outside.percent(),
            format!("± {}", text::percent(found.bound)),
        ]);
    }
    page.table(table.caption(format!(
        "Quantile: the size that the noise exceeds with probability nu. Found: ε or σ, mean over the last tenth of the stream. Outside: the share of all residuals. Certified: how far that share can be from nu, whatever the data. {} streams each.",
        outcome.streams
    )));
}

fn ratio_chart(outcome: &tube::Outcome, loss: &str) -> Chart {
    let rows = outcome.rows as f64;
    let mut lines = vec![Line::new("the noise's quantile", "c", vec![(0.0, 1.0), (rows, 1.0)])];
    for (course, look) in outcome.courses.iter().filter(|c| c.loss == loss).zip(["a", "b", "d", "e"]) {
        let quantile = course.noise.exceeded_by(RATES[0]);
        lines.push(Line::new(course.noise.name(), look, course.points.iter().map(|p| (p.0, p.1 / quantile)).collect()));
    }
    let name = if loss == "nu_epsilon" { "tube ε" } else { "scale σ" };
    Chart {
        caption: "One stream for each noise. At first residuals are large because f is far off, not because of the noise.".into(),
        ..Chart::new(
            format!("The {name}, nu = {}", RATES[0]),
            format!("{name} over the size that {} of the noise exceed", whole(RATES[0])),
            Axis::exact(0.0, rows, Unit::Count),
            Axis::straight(heights(&lines), Unit::Plain),
            lines,
        )
    }
}

fn louder_chart(outcome: &tube::Outcome) -> Chart {
    let (rows, quantile) = (outcome.rows as f64, Noise::Student.exceeded_by(RATES[0]));
    let half = rows / 2.0;
    let step = vec![(0.0, quantile), (half, quantile), (half, LOUDER * quantile), (rows, LOUDER * quantile)];
    let mut lines = vec![Line::new("the noise's quantile", "c", step)];
    for (course, (name, look)) in outcome.louder.iter().zip([("tube ε", "d"), ("scale σ", "a")]) {
        lines.push(Line::new(name, look, course.points.clone()));
    }
    Chart {
        caption: "Constant steps of 0.02: tube and scale follow the noise when it changes.".into(),
        wide: true,
        ..Chart::new(
            format!("Student's noise becomes {LOUDER} times as loud half-way"),
            format!("tube and scale, nu = {}", RATES[0]),
            Axis::exact(0.0, rows, Unit::Count),
            Axis::straight(heights(&lines), Unit::Plain),
            lines,
        )
    }
}

fn classification(page: &mut Page, outcome: &classes::Outcome) {
    page.section("Classification");
    page.text(format!(
        "Points of the square in four quadrants of alternating labels, {} examples, kernel exp(−5 |x − y|²). Separable: no point within 0.1 of the border. Noisy: {} of the labels are turned round, and nobody can err less. Settings are chosen on one stream (fewest mistakes, then fewest terms) and measured on {} others.",
        text::count(outcome.rows as f64),
        whole(FLIPPED),
        outcome.streams
    ));
    let mut table = Table::new(&["stream, loss", "equation", "chosen", "mistakes", "terms", "margin errors"]);
    for (kind, cells) in Kind::ALL.iter().zip(&outcome.cells) {
        for (family, cell) in classes::FAMILIES.iter().zip(cells) {
            let chosen = &cell.chosen;
            let nu = chosen.loss.split_once(':').map_or(String::new(), |(_, nu)| format!("{nu}, "));
            table = table.row(&[
                format!("{}, {}", format!("{kind:?}").to_lowercase(), family.name),
                family.equation.into(),
                format!("{}η {}, λ {}", nu.replace('=', " "), chosen.eta, chosen.lambda),
                cell.mistakes.percent(),
                text::count(cell.terms.round()),
                cell.outside
                    .map_or("".into(), |(rate, bound)| format!("{}, certified ± {}", text::percent(rate), text::percent(bound))),
            ]);
        }
    }
    page.table(table.caption(
        "Mistakes before learning, over the second half. The squared loss errs as seldom, but keeps every example; where the classes can be separated the margin losses keep few, and the perceptron, which learns from mistakes only, fewest.",
    ));
}
