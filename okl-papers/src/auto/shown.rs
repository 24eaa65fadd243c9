//! The page of auto.

use super::{Context, Outcome, ROUNDS, Run, terms};
use crate::page::{Page, Table, Tile};
use okl_cli::inspect;
use okl_cli::report::text;

pub(super) fn page(context: &Context, outcomes: &[Outcome]) -> Page {
    let mut page = Page::new("No settings, against the best of 36 in hindsight", lead(context));
    page.section("In figures").tiles(tiles(outcomes));
    page.section("Error").table(errors(outcomes));
    page.section("Cost").table(costs(outcomes));
    page.section("What it settled on").table(settled(outcomes));
    page
}

fn lead(context: &Context) -> String {
    format!(
        "Progressive error over one pass: every example is predicted before it is learned. Without a setting but the loss, an offset and {} terms, against 36 plain learners (4 rules of steps, 3 regularisers, 3 widths around the median heuristic), of which the one that erred least on this very stream is shown; once with explicit steps, once with proximal ones.",
        terms(context)
    )
}

fn geometric_mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    (values.clone().map(f64::ln).sum::<f64>() / values.count().max(1) as f64).exp()
}

fn tiles(outcomes: &[Outcome]) -> Vec<Tile> {
    let ratios = |proximal| outcomes.iter().map(move |o| o.ratio(proximal));
    let worst = |proximal| ratios(proximal).fold(0.0, f64::max);
    let tile = |proximal: bool, what: &str| {
        let mean = format!("{:.2}", geometric_mean(ratios(proximal)));
        Tile::new(mean, format!("error against the best of 36, {what}"), format!("at worst {:.2}", worst(proximal)))
    };
    let cost = |which: usize| outcomes.iter().map(move |o| o.cost()[which]);
    let time = |which: usize, what: &str| {
        let most = cost(which).fold(0.0, f64::max);
        Tile::new(
            format!("{:.2}", geometric_mean(cost(which))),
            format!("time against one plain learner, {what}"),
            format!("at most {most:.2}"),
        )
    };
    vec![tile(false, "explicit steps"), tile(true, "proximal steps"), time(0, "widths in the bank"), time(1, "the width given")]
}

fn error(outcome: &Outcome, run: &Run) -> String {
    if outcome.numbers { format!("{:.4}", run.error) } else { format!("{:.2}\u{a0}%", 100.0 * run.error) }
}

fn errors(outcomes: &[Outcome]) -> Table {
    let mut table = Table::new(&["stream", "examples", "no settings", "best of 36", "ratio", "best of 36, proximal", "ratio"]);
    for o in outcomes {
        let [explicit, proximal] = &o.best;
        table = table.row(&[
            o.name.to_owned(),
            text::count(o.shape.0 as f64),
            error(o, &o.auto),
            error(o, &explicit.1),
            format!("{:.2}", o.ratio(false)),
            error(o, &proximal.1),
            format!("{:.2}", o.ratio(true)),
        ]);
    }
    table.caption("Mistakes, or the mean squared residual over both targets (wine, parkinsons).")
}

fn costs(outcomes: &[Outcome]) -> Table {
    let head = [
        "stream",
        "features",
        "terms",
        "examples per second",
        "plain: terms",
        "examples per second",
        "cost",
        "cost, width given",
    ];
    let mut table = Table::new(&head);
    for o in outcomes {
        let speed = |run: &Run| text::count((o.shape.0 as f64 / run.seconds).round());
        let ([auto, _, plain], [all, given]) = (&o.timed, o.cost());
        table = table.row(&[
            o.name.to_owned(),
            o.shape.1.to_string(),
            auto.learner.terms().to_string(),
            speed(auto),
            plain.learner.terms().to_string(),
            speed(plain),
            format!("{all:.2}"),
            format!("{given:.2}"),
        ]);
    }
    table.caption(format!(
        "One thread, the fastest of {ROUNDS} turns. The plain learner has the settings that the bank settled on."
    ))
}

fn settled(outcomes: &[Outcome]) -> Table {
    let mut table = Table::new(&["stream", "no settings: what counts most at the end", "best of 36", "best of 36, proximal"]);
    for o in outcomes {
        let [explicit, proximal] = &o.best;
        table = table.row(&[o.name.to_owned(), inspect::bank(&o.auto.learner), explicit.0.clone(), proximal.0.clone()]);
    }
    table.worded()
}
