//! Settings are chosen by the accuracy on rows that are held out of the training set: a fifth, always the same one.

use rayon::prelude::*;

use super::Context;
use super::problem::{Grid, Problem};
use super::runs::Run;
use super::setting::{Method, Room, Setting, Steps};
use crate::random::order;
use crate::reproduce::data::{Data, Rows};
use crate::reproduce::stats::Spread;

/// From which the rows held out and the shuffles of the others follow, whatever the seed of the page.
const SEED: u64 = 2012;
/// Shuffles that a setting is tried on.
const SHUFFLES: u64 = 3;

/// What a setting is chosen for.
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
    /// Its accuracy on the rows held out.
    pub held_out: f64,
    /// What was recorded when the choice was made last.
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

/// What is tried here: in a smoke test a few.
fn grid(context: &Context, problem: &Problem) -> Grid {
    let few = |values: &'static [f64]| if context.is_smoke() { &values[..values.len().min(2)] } else { values };
    let Grid { gammas, lambdas, etas, pegasos_lambdas } = problem.grid;
    Grid { gammas: few(gammas), lambdas: few(lambdas), etas: few(etas), pegasos_lambdas: few(pegasos_lambdas) }
}

/// How many runs it takes to choose.
pub fn count(context: &Context, problem: &Problem) -> usize {
    let grid = grid(context, problem);
    EACH.iter().map(|(method, _)| tried(*method, &grid).len()).sum()
}

/// The rows that are learned and those held out.
pub fn split(train: &Rows) -> (Rows, Rows) {
    let shuffled = train.gather(&indices(train.len(), 0));
    shuffled.split(train.len() * 4 / 5)
}

fn indices(rows: usize, pass: u64) -> Vec<usize> {
    order(rows, SEED, pass).into_iter().map(|row| row as usize).collect()
}

/// Chooses every setting; the test set is not looked at.
///
/// # Errors
/// After Ctrl-C.
pub fn all(context: &Context, problem: &Problem, data: &Data) -> anyhow::Result<Vec<Choice>> {
    let (learned, held_out) = split(&data.train);
    let shuffles = context.sized(SHUFFLES, 1);
    let grid = grid(context, problem);
    let accuracy = |setting: &Setting, room: Room| {
        context.step(format!("{}, choosing for {}", problem.set.name, room.budget(context)))?;
        let config = setting.config(problem, &room.budget(context), room.passes() * learned.len() as u64);
        let run = |shuffle: u64| {
            let orders: Vec<_> = (0..room.passes()).map(|pass| indices(learned.len(), 1 + shuffle + pass * shuffles)).collect();
            Run::learn(context, &config, &learned, &orders, &held_out)
        };
        let runs = (0..shuffles).map(run).collect::<anyhow::Result<Vec<_>>>()?;
        anyhow::Ok(Spread::of(runs.iter().map(|run| run.accuracy)).mean)
    };
    let choose = |(i, (method, room)): (usize, &(Method, Room))| {
        let settings = tried(*method, &grid);
        let found: Vec<f64> = settings.par_iter().map(|s| accuracy(s, *room)).collect::<anyhow::Result<_>>()?;
        let best = (0..found.len()).fold(0, |best, i| if found[i] > found[best] { i } else { best });
        Ok(Choice { setting: settings[best], held_out: found[best], recorded: problem.chosen[i].0 })
    };
    EACH.iter().enumerate().map(choose).collect()
}
