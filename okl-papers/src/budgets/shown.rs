//! The page of budgets.

use super::choose::{EACH, STAY, TURNS, place};
use super::problem::{Grid, Problem};
use super::runs::Measured;
use super::setting::{Method, Room, Setting, Steps};
use super::{Context, Outcome, PASSES, RATE, SHUFFLES, Size};
use crate::page::{Page, Table, Tile};
use crate::stats::Spread;
use crate::words::{seconds, typed};
use okl_cli::report::axis::{Axis, Unit};
use okl_cli::report::chart::{Chart, Line};
use okl_cli::report::text;

pub(super) fn page(context: &Context, outcomes: &[Outcome]) -> Page {
    let mut page = Page::new("Few terms, one pass: budgets against BSGD's Table 3", lead());
    page.section("In figures").tiles(tiles(outcomes));
    for outcome in outcomes {
        page.section(outcome.problem.set.name).table(table(outcome));
        page.charts(vec![curve(outcome)]);
    }
    page.section("What each part does").table(changes(outcomes));
    settings(&mut page, context, outcomes);
    page
}

fn lead() -> String {
    format!(
        "Test accuracy after one pass with 100 and 500 terms and without a limit, mean and spread over {SHUFFLES} shuffles. BSGD (Wang, Crammer, Vucetic 2012) is Pegasos with merging; it is run again beside okl's best, each with settings chosen in the same way on held-out training rows. The published figures are context: their splits differ a little from the files used here."
    )
}

/// Two decimals, as the paper has them.
fn percent(share: f64) -> String {
    format!("{:.2}\u{a0}%", 100.0 * share)
}

/// Points of a per cent, with their sign.
fn points(difference: f64) -> String {
    format!("{:+.2}", 100.0 * difference).replace('-', "−")
}

fn tiles(outcomes: &[Outcome]) -> Vec<Tile> {
    let few = |o: &Outcome| {
        let again = o.of(Method::Bsgd, Room::Few).accuracy().mean;
        Tile::new(
            percent(o.of(Method::Okl, Room::Few).accuracy().mean),
            format!("{}, {} terms, one pass", o.problem.set.name, o.of(Method::Okl, Room::Few).terms()),
            format!("best published: {:.2}\u{a0}%; BSGD again: {}", o.problem.published.few, percent(again)),
        )
    };
    let all = |o: &Outcome| {
        Tile::new(
            percent(o.of(Method::Okl, Room::All).accuracy().mean),
            format!("{}, no limit, one pass", o.problem.set.name),
            format!(
                "LIBSVM: {:.2}\u{a0}%; {PASSES} passes: {}",
                o.problem.libsvm.accuracy,
                percent(o.of(Method::Okl, Room::Passes).accuracy().mean)
            ),
        )
    };
    outcomes.iter().map(few).chain(outcomes.iter().map(all)).collect()
}

const HEAD: [&str; 7] = ["", "terms", "test accuracy", "against published", "against LIBSVM here", "time", "examples per second"];

fn table(outcome: &Outcome) -> Table {
    let (problem, published) = (outcome.problem, outcome.problem.published);
    let quote = |name: &str, terms: &str, accuracy: f64| {
        [name, terms, &format!("{accuracy:.2}\u{a0}%"), "", "", "", ""].map(String::from)
    };
    let few = outcome.of(Method::Okl, Room::Few).terms().to_string();
    let many = outcome.of(Method::Okl, Room::Many).terms().to_string();
    let mut table = Table::new(&HEAD)
        .quoted(&quote("published: LIBSVM", "", published.libsvm))
        .quoted(&quote("published: Pegasos, no limit", "", published.pegasos))
        .quoted(&quote("published: NORMA, no limit", "", published.norma))
        .quoted(&quote("published: the best of all methods", &few, published.few))
        .quoted(&quote("published: the best of all methods", &many, published.many))
        .row(&reference(problem));
    for (method, room) in EACH {
        let best = match room {
            Room::Few => Some(published.few),
            Room::Many => Some(published.many),
            Room::All => Some(published.pegasos),
            Room::Passes => None,
        };
        table = table.row(&row(outcome, &name(method, room), outcome.of(method, room), best));
    }
    let caption = format!(
        "{} training rows, {} test rows. Terms: the most of any shuffle; time to learn: the fastest shuffle, one core. LIBSVM's row is a record of benchmarks/libsvm_reference.py.",
        text::count(outcome.rows.0 as f64),
        text::count(outcome.rows.1 as f64)
    );
    // Five rows are quoted and one is LIBSVM's.
    let first = 6;
    for room in Room::ONE_PASS {
        let [bsgd, okl] = [Method::Bsgd, Method::Okl].map(|method| outcome.of(method, room).accuracy().mean);
        let better = if okl >= bsgd { Method::Okl } else { Method::Bsgd };
        table = table.best(first + place(better, room), 2);
    }
    table.caption(caption)
}

fn name(method: Method, room: Room) -> String {
    match (method, room) {
        (Method::Bsgd, Room::Few | Room::Many) => "BSGD again: Pegasos, merge".into(),
        (Method::Bsgd, _) => "Pegasos again, no limit".into(),
        (Method::Okl, Room::Few | Room::Many) => "okl, merge".into(),
        (Method::Okl, Room::All) => "okl, no limit".into(),
        (Method::Okl, Room::Passes) => format!("okl, no limit, {PASSES} passes"),
    }
}

fn reference(problem: &Problem) -> [String; 7] {
    let libsvm = problem.libsvm;
    [
        format!("LIBSVM here, C = {}, γ = {}", libsvm.setting.0, libsvm.setting.1),
        text::count(libsvm.vectors as f64),
        format!("{:.2}\u{a0}%", libsvm.accuracy),
        String::new(),
        String::new(),
        String::new(),
        String::new(),
    ]
}

fn row(outcome: &Outcome, name: &str, measured: &Measured, published: Option<f64>) -> [String; 7] {
    let accuracy = measured.accuracy();
    [
        name.into(),
        text::count(measured.terms() as f64),
        accuracy.percent(),
        published.map_or(String::new(), |best| points(accuracy.mean - best / 100.0)),
        points(accuracy.mean - outcome.problem.libsvm.accuracy / 100.0),
        seconds(measured.seconds()),
        text::speed(measured.speed()),
    ]
}

fn curve(outcome: &Outcome) -> Chart {
    let line = |name: &str, look: &'static str, runs: &[(usize, Measured)]| {
        let spread: Vec<(f64, Spread)> = runs.iter().map(|(terms, m)| (*terms as f64, m.accuracy())).collect();
        let band = spread.iter().map(|(x, s)| (*x, s.mean - s.deviation, (s.mean + s.deviation).min(1.0))).collect();
        Line::new(name, look, spread.iter().map(|(x, s)| (*x, s.mean)).collect()).within(band)
    };
    let [bsgd, okl] = &outcome.curves;
    let ends = [okl[0].0 as f64, okl[okl.len() - 1].0 as f64];
    let flat = |name: &str, value: f64| Line::new(name, "c", ends.map(|x| (x, value)).to_vec());
    let lines =
        vec![flat("LIBSVM here", outcome.problem.libsvm.accuracy / 100.0), line("BSGD again", "b", bsgd), line("okl", "a", okl)];
    let published = vec![(100.0, outcome.problem.published.few / 100.0), (500.0, outcome.problem.published.many / 100.0)];
    let bands = lines.iter().flat_map(|l| &l.band).flat_map(|b| [b.1, b.2]);
    let values: Vec<f64> = lines.iter().flat_map(|l| &l.points).chain(&published).map(|p| p.1).chain(bands).collect();
    let low = values.iter().copied().fold(f64::MAX, f64::min);
    let high = values.iter().copied().fold(f64::MIN, f64::max);
    let x = Axis { low: ends[0], high: ends[1], log: true, unit: Unit::Count };
    let margin = 0.05 * (high - low);
    Chart {
        over: "terms",
        wide: true,
        dots: Some(("best published".into(), published)),
        caption: "Bands: one standard deviation. Settings are those chosen for 100 or for 500 terms, whichever is nearer.".into(),
        ..Chart::new(
            "Accuracy and terms",
            "share of test rows named rightly",
            x,
            Axis::exact(low - margin, high + margin, Unit::Percent),
            lines,
        )
    }
}

fn changes(outcomes: &[Outcome]) -> Table {
    let head: Vec<String> = outcomes
        .iter()
        .flat_map(|o| [Room::Few, Room::Many].map(|room| format!("{}, {}", o.problem.set.name, o.of(Method::Okl, room).terms())))
        .collect();
    let mut table = Table::new(&[vec!["okl's setting, but".to_owned()], head].concat());
    let whole =
        outcomes.iter().flat_map(|o| [Room::Few, Room::Many].map(|room| percent(o.of(Method::Okl, room).accuracy().mean)));
    table = table.row(&std::iter::once("as chosen".to_owned()).chain(whole).collect::<Vec<_>>());
    for (i, change) in outcomes[0].changes.iter().enumerate() {
        let cell = |(o, k): (&Outcome, usize)| {
            let room = [Room::Few, Room::Many][k];
            points(o.changes[i].measured[k].accuracy().mean - o.of(Method::Okl, room).accuracy().mean)
        };
        let cells = outcomes.iter().flat_map(|o| [(o, 0), (o, 1)]).map(cell);
        table = table.row(&std::iter::once(change.what.to_owned()).chain(cells).collect::<Vec<_>>());
    }
    table.caption("Points of test accuracy gained or lost by one change, nothing chosen anew.")
}

impl Setting {
    fn words(&self) -> String {
        let steps = match self.steps {
            Steps::Pegasos => "1/(λt)".into(),
            Steps::Linear(eta) => format!("{eta} to 0"),
            Steps::Constant(eta) => format!("{eta}"),
        };
        let implicit = if self.implicit { ", implicit" } else { "" };
        let average = if self.average { ", averaged" } else { "" };
        format!("γ = {}, λ = {}, steps {steps}{implicit}{average}", self.gamma, typed(self.lambda))
    }
}

fn settings(page: &mut Page, context: &Context, outcomes: &[Outcome]) {
    let mut table = Table::new(&["", "setting", "held-out accuracy"]).worded();
    for outcome in outcomes {
        for ((method, room), choice) in EACH.iter().zip(&outcome.choices) {
            let terms = room.terms(context).map_or(String::new(), |terms| format!(", {terms} terms"));
            let name = format!("{}, {}{terms}", outcome.problem.set.name, name(*method, *room));
            table = table.row(&[name, choice.setting.words(), percent(choice.held_out)]);
        }
    }
    let choices = || outcomes.iter().flat_map(|o| &o.choices);
    let same = choices().filter(|choice| choice.setting == choice.recorded).count();
    let provenance = match context.size {
        Size::Usual => "These are the choices that the program records; --full makes them anew.".into(),
        Size::Smoke | Size::Full => {
            format!("The choices were made for this page; {same} of {} are those recorded.", choices().count())
        }
    };
    page.section("The settings")
        .text(format!(
            "A fifth of the training rows is held out, and every setting of the grid learns the others. The best {STAY} do so {} times more, with another fifth held out, and the one with the best mean accuracy is taken. {provenance} Averaged: an exponential mean with rate {RATE}. Steps “3 to 0” fall in a straight line over all examples of all passes. In later passes a row that comes again adds onto its term.",
            TURNS - 1
        ))
        .table(table);
    for Outcome { problem, .. } in outcomes {
        page.text(grid(problem.set.name, &problem.grid));
    }
}

fn grid(name: &str, grid: &Grid) -> String {
    let list = |values: &[f64]| values.iter().map(|v| typed(*v)).collect::<Vec<_>>().join(", ");
    format!(
        "Tried for {name}: γ {}; okl: λ {}, first step {}, the steps falling to 0 (last or averaged hypothesis) or constant, explicit or implicit; BSGD: λ {}.",
        list(grid.gammas),
        list(grid.lambdas),
        list(grid.etas),
        list(grid.pegasos_lambdas)
    )
}
