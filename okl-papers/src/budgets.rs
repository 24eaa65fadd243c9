//! Accuracy with few terms, in one pass: the data of BSGD (Wang, Crammer, Vucetic, JMLR 13, 2012), Table 3.
//!
//! BSGD is Pegasos, eta_t = 1/(lambda t), that merges two terms whenever there is one too many. It is run again beside what okl
//! has to offer: steps that fall to nothing over the pass, the implicit step of algorithms.md 3.3, and an averaged hypothesis.
//! Both have their settings chosen in the same way, on fifths of the training set that are held out ([`choose`]); the test set is
//! read with the settings chosen, and nothing follows from what it says.

pub mod choose;
pub mod problem;
pub mod runs;
pub mod setting;
mod shown;

use super::page::Page;
use super::{Context, Size};
use choose::Choice;
use problem::{PROBLEMS, Problem};
use runs::Measured;
use setting::{Method, Room, Setting};

/// Shuffles of the training set that are measured.
const SHUFFLES: u64 = 5;
/// Passes where there are several.
const PASSES: u64 = 3;
/// The weight of the newest hypothesis in the averaged one.
const RATE: f64 = 1e-3;

/// One change of a setting, and what it does.
#[derive(Clone, Debug)]
pub struct Change {
    /// In words.
    pub what: &'static str,
    /// With few terms and with many.
    pub measured: [Measured; 2],
}

/// The name of a change, the budget, and a function that changes the other settings.
type Changed = (&'static str, &'static str, fn(Setting) -> Setting);

/// The changes of okl's settings that are compared.
const CHANGES: [Changed; 5] = [
    ("steps that stay the same", "merge", |s| Setting { steps: s.steps.held(), ..s }),
    ("the other kind of step (explicit, implicit)", "merge", |s| Setting { implicit: !s.implicit, ..s }),
    ("the other hypothesis (last, averaged)", "merge", |s| Setting { average: !s.average, ..s }),
    ("budget transfer", "transfer", |s| s),
    ("budget window", "window", |s| s),
];

/// All about one data set.
pub struct Outcome {
    /// Which.
    pub problem: &'static Problem,
    /// Rows of the training and of the test set.
    pub rows: (usize, usize),
    /// The settings, in the order of [`choose::EACH`].
    pub choices: Vec<Choice>,
    /// In the same order.
    pub measured: Vec<Measured>,
    /// Accuracy over terms: BSGD and okl.
    pub curves: [Vec<(usize, Measured)>; 2],
    /// okl's settings with one thing changed.
    pub changes: Vec<Change>,
}

impl Outcome {
    /// The results of a method.
    pub fn of(&self, method: Method, room: Room) -> &Measured {
        &self.measured[choose::place(method, room)]
    }
}

/// The terms of the curves.
fn widths(context: &Context) -> &'static [usize] {
    context.sized(&[25, 50, 100, 200, 500, 1000], &[10, 20, 60])
}

/// Chooses where that is asked for, and measures one data set.
///
/// # Errors
/// If its files cannot be read; after Ctrl-C.
pub fn measure(context: &Context, problem: &'static Problem) -> anyhow::Result<Outcome> {
    let data = context.load(problem.set)?;
    let choices = match context.size {
        Size::Usual => choose::recorded(problem),
        Size::Smoke | Size::Full => choose::all(context, problem, &data)?,
    };
    let run = |setting, budget, passes| Measured::new(context, problem, &data, setting, budget, passes);
    let chosen = |method, room| choices[choose::place(method, room)].setting;
    let each = choose::EACH.iter().map(|&(method, room)| run(chosen(method, room), room.budget(context), room.passes()));
    let measured = each.collect::<anyhow::Result<Vec<_>>>()?;
    let curve = |method: Method| {
        let at = |&terms: &usize| match Room::ONE_PASS.into_iter().find(|room| room.terms(context) == Some(terms)) {
            Some(room) => Ok((terms, measured[choose::place(method, room)].clone())),
            None => Ok((terms, run(chosen(method, nearest(context, terms)), format!("merge:{terms}"), 1)?)),
        };
        widths(context).iter().map(at).collect::<anyhow::Result<Vec<_>>>()
    };
    let curves = [curve(Method::Bsgd)?, curve(Method::Okl)?];
    let changes = changes(context, &|room| chosen(Method::Okl, room), &run)?;
    Ok(Outcome { problem, rows: (data.train.len(), data.test.len()), choices, measured, curves, changes })
}

/// Whose setting a number of terms takes that none was chosen for.
fn nearest(context: &Context, terms: usize) -> Room {
    let [few, many] = [Room::Few, Room::Many].map(|room| room.terms(context).unwrap_or(1));
    if terms * terms < few * many { Room::Few } else { Room::Many }
}

/// okl's settings with one thing changed, and nothing chosen anew.
fn changes(
    context: &Context,
    chosen: &impl Fn(Room) -> Setting,
    run: &impl Fn(Setting, String, u64) -> anyhow::Result<Measured>,
) -> anyhow::Result<Vec<Change>> {
    let mut changes = Vec::new();
    for (what, budget, change) in CHANGES {
        let with = |room: Room| run(change(chosen(room)), room.budget(context).replace("merge", budget), 1);
        changes.push(Change { what, measured: [with(Room::Few)?, with(Room::Many)?] });
    }
    Ok(changes)
}

pub(super) fn run(context: &Context) -> anyhow::Result<Page> {
    let curves = 2 * (widths(context).len() - 2);
    let each = choose::EACH.len() + curves + 2 * CHANGES.len();
    let choosing = if context.size == Size::Usual { 0 } else { PROBLEMS.iter().map(|p| choose::count(context, p)).sum() };
    context.steps(each * PROBLEMS.len() + choosing);
    let outcomes = PROBLEMS.iter().map(|problem| measure(context, problem)).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(shown::page(context, &outcomes))
}
