//! budgets, small.

use okl_papers::Context;
use okl_papers::budgets::choose::{self, EACH, TURNS};
use okl_papers::budgets::problem::{PROBLEMS, Problem};
use okl_papers::budgets::runs::Run;
use okl_papers::budgets::setting::{Method, Room};
use okl_papers::budgets::{Outcome, measure};
use okl_papers::data::{Data, Rows};

use super::frame::page;

const SIGNS: &Problem = &PROBLEMS[1];

fn outcome(problem: &'static Problem) -> Outcome {
    measure(&Context::smoke(1), problem).expect("a smoke version runs")
}

fn data(problem: &Problem) -> Data {
    Context::smoke(1).load(problem.set).expect("stand-ins")
}

#[test]
fn a_budget_is_kept_and_used() {
    let context = Context::smoke(1);
    for problem in &PROBLEMS {
        let outcome = outcome(problem);
        for (method, room) in EACH {
            let limit = room.terms(&context).unwrap_or(outcome.rows.0);
            for run in &outcome.of(method, room).runs {
                assert!(run.terms <= limit, "{}: {} terms where {limit} are allowed", problem.set.name, run.terms);
                assert!(room != Room::Few || run.terms == limit, "{}: {} terms", problem.set.name, run.terms);
            }
        }
        for change in &outcome.changes {
            assert!(change.measured.iter().zip([20, 60]).all(|(m, limit)| m.terms() <= limit), "{}", change.what);
        }
    }
}

/// A row that comes again adds onto its term: after three passes there are not more terms than rows.
#[test]
fn later_passes_come_back_to_the_same_terms() {
    let outcome = outcome(SIGNS);
    let [once, often] = [Room::All, Room::Passes].map(|room| outcome.of(Method::Okl, room));
    assert_eq!((once.examples, often.examples), (outcome.rows.0 as u64, 3 * outcome.rows.0 as u64));
    assert!(often.terms() <= outcome.rows.0);
}

fn bits(rows: &Rows) -> Vec<Vec<u32>> {
    (0..rows.len()).map(|i| rows.row(i).iter().map(|v| v.to_bits()).collect()).collect()
}

#[test]
fn a_turn_holds_out_a_fifth_and_learns_the_others() {
    let train = data(SIGNS).train;
    let mut all = bits(&train);
    all.sort();
    for turn in 0..TURNS {
        let (learned, held_out) = choose::split(&train, turn);
        assert_eq!((learned.len(), held_out.len()), (480, 120));
        let mut split = [bits(&learned), bits(&held_out)].concat();
        split.sort();
        assert!(split == all, "every row once");
        assert!(turn == 0 || bits(&held_out).iter().all(|row| !bits(&choose::split(&train, 0).1).contains(row)));
    }
}

/// The choice, made again the long way, for one method with few terms: two of four settings stay for the second of two turns.
#[test]
fn the_best_on_the_rows_held_out_is_chosen() {
    let (context, data) = (Context::smoke(1), data(SIGNS));
    let choices = choose::all(&context, SIGNS, &data).expect("it runs");
    let choice = &choices[choose::place(Method::Bsgd, Room::Few)];
    let accuracy = |gamma: f64, lambda: f64, turn: usize| {
        let (learned, held_out) = choose::split(&data.train, turn);
        let order = okl_cli::random::order(learned.len(), 2012, 1 + turn as u64).into_iter().map(|row| row as usize).collect();
        let config = format!("{}\nkernel='gaussian:{gamma}'\nlambda={lambda}\nstep='pegasos'\nbudget='merge:20'", SIGNS.loss);
        Run::learn(&context, &config, &learned, &[order], &held_out).expect("it runs").accuracy
    };
    let mut found = Vec::new();
    for &gamma in &SIGNS.grid.gammas[..2] {
        for &lambda in &SIGNS.grid.pegasos_lambdas[..2] {
            found.push((accuracy(gamma, lambda, 0), gamma, lambda));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let whole = found[..2].iter().map(|(first, gamma, lambda)| ((first + accuracy(*gamma, *lambda, 1)) / 2.0, *gamma, *lambda));
    let whole: Vec<_> = whole.collect();
    let best = if whole[1].0 > whole[0].0 { whole[1] } else { whole[0] };
    assert_eq!((choice.held_out, choice.setting.gamma, choice.setting.lambda), best);
}

#[test]
fn the_choice_does_not_see_the_test_set() {
    let (context, seen) = (Context::smoke(1), data(SIGNS));
    let mut other = seen.clone();
    other.test.y.iter_mut().for_each(|y| *y = -*y);
    let choose = |data: &Data| choose::all(&context, SIGNS, data).expect("it runs");
    assert_eq!(choose(&seen), choose(&other));
}

#[test]
fn what_is_recorded_is_among_what_is_tried() {
    for problem in &PROBLEMS {
        for ((method, room), (setting, _)) in EACH.iter().zip(problem.chosen) {
            let tried = choose::tried(*method, &problem.grid);
            assert!(tried.contains(&setting), "{}, {method:?}, {room:?}: {setting:?}", problem.set.name);
        }
    }
}

#[test]
fn the_published_figures_are_on_the_page() {
    let html = page("budgets");
    for problem in &PROBLEMS {
        let p = problem.published;
        for figure in [p.libsvm, p.pegasos, p.norma, p.few, p.many, problem.libsvm.accuracy] {
            assert!(html.contains(&format!("{figure:.2}\u{a0}%")), "{}: {figure}", problem.set.name);
        }
    }
}
