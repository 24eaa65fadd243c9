//! Settings are chosen by the accuracy on rows that are held out of the training set, in turns that each hold out another fifth.
//!
//! After the first turn only the best stay in the race; the best of these over all turns is chosen. For several passes those are
//! tried that stayed in the race for one.

use rayon::prelude::*;

use super::Context;
use super::problem::{Grid, Problem};
use super::runs::Run;
use super::setting::{Method, Room, Setting, Steps};
use crate::data::{Data, Rows};
use crate::stats::Spread;
use okl_cli::random::order;

/// From which the rows held out and the shuffles of the others follow, whatever the seed of the page.
const SEED: u64 = 2012;
/// Turns in all.
pub const TURNS: usize = 3;
/// Settings that stay after the first turn.
pub const STAY: usize = 8;

/// The methods and budgets for which a setting is chosen.
pub const EACH: [(Method, Room); 7] = [
    (Method::Bsgd, Room::Few),
    (Method::Bsgd, Room::Many),
    (Method::Bsgd, Room::All),
    (Method::Okl, Room::Few),
    (Method::Okl, Room::Many),
    (Method::Okl, Room::All),
    (Method::Okl, Room::Passes),
];

/// Where it stands in [`EACH`].
pub fn place(method: Method, room: Room) -> usize {
    EACH.iter().position(|each| *each == (method, room)).expect("a method with a setting for that much room")
}

/// The setting chosen, and what was seen of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The best of those tried; the first of equals.
    pub setting: Setting,
    /// Its accuracy on the rows held out, over all turns.
    pub held_out: f64,
    /// The setting recorded at the last choice.
    pub recorded: Setting,
}

/// The choices as they were made last.
pub fn recorded(problem: &Problem) -> Vec<Choice> {
    problem.chosen.iter().map(|&(setting, held_out)| Choice { setting, held_out, recorded: setting }).collect()
}

/// All settings that are tried.
pub fn tried(method: Method, grid: &Grid) -> Vec<Setting> {
    let mut all = Vec::new();
    for &gamma in grid.gammas {
        if method == Method::Bsgd {
            let pegasos = |&lambda| Setting { gamma, lambda, steps: Steps::Pegasos, implicit: false, average: false };
            all.extend(grid.pegasos_lambdas.iter().map(pegasos));
            continue;
        }
        for (&lambda, &eta) in grid.lambdas.iter().flat_map(|l| grid.etas.iter().map(move |e| (l, e))) {
            for implicit in [false, true] {
                let kinds = [(Steps::Linear(eta), false), (Steps::Linear(eta), true), (Steps::Constant(eta), false)];
                all.extend(kinds.map(|(steps, average)| Setting { gamma, lambda, steps, implicit, average }));
            }
        }
    }
    all
}

/// The settings that are tried; only a few in a smoke test.
fn grid(context: &Context, problem: &Problem) -> Grid {
    let few = |values: &'static [f64]| if context.is_smoke() { &values[..values.len().min(2)] } else { values };
    let Grid { gammas, lambdas, etas, pegasos_lambdas } = problem.grid;
    Grid { gammas: few(gammas), lambdas: few(lambdas), etas: few(etas), pegasos_lambdas: few(pegasos_lambdas) }
}

/// Turns, and settings that stay after the first.
fn race(context: &Context) -> (usize, usize) {
    context.sized((TURNS, STAY), (2, 2))
}

/// How many runs it takes to choose.
pub fn count(context: &Context, problem: &Problem) -> usize {
    let (grid, (turns, stay)) = (grid(context, problem), race(context));
    let runs = |(method, room): &(Method, Room)| {
        let settings = tried(*method, &grid).len();
        if *room == Room::Passes { settings.min(stay) * turns } else { settings + settings.min(stay) * (turns - 1) }
    };
    EACH.iter().map(runs).sum()
}

/// The rows that are learned in a turn and those held out; the first turn holds out the last fifth of one shuffle.
pub fn split(train: &Rows, turn: usize) -> (Rows, Rows) {
    let learned = train.len() * 4 / 5;
    let mut order = indices(train.len(), 0);
    order.rotate_right((train.len() - learned) * turn);
    train.gather(&order).split(learned)
}

fn indices(rows: usize, pass: u64) -> Vec<usize> {
    order(rows, SEED, pass).into_iter().map(|row| row as usize).collect()
}

/// Chooses every setting; the test set is not looked at.
///
/// # Errors
/// After Ctrl-C.
pub fn all(context: &Context, problem: &Problem, data: &Data) -> anyhow::Result<Vec<Choice>> {
    let (grid, (turns, stay)) = (grid(context, problem), race(context));
    let splits: Vec<(Rows, Rows)> = (0..turns).map(|turn| split(&data.train, turn)).collect();
    let accuracy = |setting: &Setting, room: Room, turn: usize| {
        context.step(format!("{}, choosing for {}", problem.set.name, room.budget(context)))?;
        let (learned, held_out) = &splits[turn];
        let config = setting.config(problem, &room.budget(context), room.passes() * learned.len() as u64);
        let pass = |pass: u64| indices(learned.len(), 1 + turn as u64 + pass * turns as u64);
        let orders: Vec<_> = (0..room.passes()).map(pass).collect();
        anyhow::Ok(Run::learn(context, &config, learned, &orders, held_out)?.accuracy)
    };
    let mut stayed = Vec::new();
    let mut choose = |(i, (method, room)): (usize, &(Method, Room))| {
        let settings = if *room == Room::Passes { std::mem::take(&mut stayed) } else { tried(*method, &grid) };
        let first = |setting: Setting| Ok((setting, accuracy(&setting, *room, 0)?));
        let mut ranked = settings.into_par_iter().map(first).collect::<anyhow::Result<Vec<_>>>()?;
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        ranked.truncate(stay);
        stayed = ranked.iter().map(|found| found.0).collect();
        let whole = |(setting, first): (Setting, f64)| {
            let later = (1..turns).map(|turn| accuracy(&setting, *room, turn)).collect::<anyhow::Result<Vec<_>>>()?;
            Ok((setting, Spread::of(std::iter::once(first).chain(later)).mean))
        };
        let found = ranked.into_par_iter().map(whole).collect::<anyhow::Result<Vec<_>>>()?;
        let (setting, held_out) = found.into_iter().fold(None, better).expect("a grid is not empty");
        Ok(Choice { setting, held_out, recorded: problem.chosen[i].0 })
    };
    EACH.iter().enumerate().map(&mut choose).collect()
}

/// The first of equals.
fn better(best: Option<(Setting, f64)>, next: (Setting, f64)) -> Option<(Setting, f64)> {
    best.filter(|best| best.1 >= next.1).or(Some(next))
}
