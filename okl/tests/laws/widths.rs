//! Widths that follow the stream: the rule is at the head of `learner/widths.rs`.

use crate::support::cases::Random;
use okl::config::{Gamma, KernelRule};
use okl::engine::head::Average;
use okl::{Batch, Learner};

/// Three widths for squares of side 1. Two are far too wide for them: the narrowest leads.
const SETTINGS: &str = "loss = 'logistic'\nkernel = { gaussian = { gamma = [0.04, 4.0, 0.01] } }\nwidths = 'follow'\nscale = 'none'\nanchor = 'none'\nbudget = 'unlimited'";

/// A chessboard: rows in [-1, 1]², and the colour of the square they lie in.
fn board(rows: usize) -> (Vec<f32>, Vec<f64>) {
    let mut random = Random(71);
    let x: Vec<f32> = (0..2 * rows).map(|_| (2.0 * random.unit() - 1.0) as f32).collect();
    let colour = |row: &[f32]| if row.iter().map(|v| v.floor() as i32).sum::<i32>() % 2 == 0 { 1.0 } else { -1.0 };
    let y = x.chunks(2).map(colour).collect();
    (x, y)
}

fn learner() -> Learner {
    Learner::new(okl::Config::from_toml(SETTINGS).unwrap()).unwrap()
}

/// The number of the width that stands where one of the first widths was.
fn new_width(learner: &Learner) -> Option<usize> {
    let KernelRule::Gaussian { gamma: Gamma::Several(widths) } = &**learner.config().kernel.given().unwrap() else { panic!() };
    let new = (0..3).find(|&w| widths[w] != [0.04, 4.0, 0.01][w]);
    assert!(widths[1] == 4.0 && new.is_none_or(|w| widths[w] == 16.0), "{widths:?}");
    new
}

/// 512 examples decide, wherever calls end, whether or not the model is saved and loaded there, and however many rows without a
/// target lie between.
#[test]
fn a_width_is_replaced_after_a_number_of_examples() {
    let (x, y) = board(900);
    let known: Vec<bool> = (0..900).map(|i| i % 4 != 1).collect();
    let at = known
        .iter()
        .scan(0, |count, known| {
            *count += usize::from(*known);
            Some(*count)
        })
        .position(|count| count == 512)
        .unwrap()
        + 1;
    let run = |cuts: &[usize]| {
        let (mut learner, mut first, mut seen) = (learner(), 0, Vec::new());
        for &last in cuts {
            let batch = Batch::new(&x[2 * first..2 * last], 2).numbers(&y[first..last]).known(&known[first..last]);
            seen.extend(learner.learn(&batch).unwrap().values);
            assert_eq!(new_width(&learner).is_some(), last >= at, "after {last} rows");
            learner = Learner::from_bytes(&learner.to_bytes()).unwrap();
            first = last;
        }
        (seen, learner.to_bytes())
    };
    let whole = run(&[900]);
    for cuts in [&[at - 1, at, 900][..], &[at, at + 1, 900], &[3, 300, at - 7, at + 5, 900]] {
        assert!(run(cuts) == whole, "{cuts:?}");
    }
    assert!(run(&(1..=900).collect::<Vec<_>>()) == whole, "row by row");
}

/// Under a smooth loss without a budget every row is a term of every head. So the heads of a new width are plain learners of the
/// rows after it came, whose steps and averages count from there.
#[test]
fn the_heads_of_a_new_width_begin_anew() {
    let (x, y) = board(700);
    let mut bank = learner();
    bank.learn(&Batch::new(&x, 2).numbers(&y)).unwrap();
    let new = new_width(&bank).unwrap();
    let members = bank.config().members();
    let heads = bank.engine().heads().iter();
    let mut firsts = members.iter().filter(|m| m.average == Average::None);
    let mut compared = 0;
    for head in heads {
        let member = firsts.next().unwrap();
        if member.width != new {
            continue;
        }
        let mut config = bank.config().frozen(member);
        config.kernel = KernelRule::Gaussian { gamma: Gamma::Value(16.0) }.into();
        let mut plain = Learner::new(config).unwrap();
        plain.learn(&Batch::new(&x[2 * 512..], 2).numbers(&y[512..])).unwrap();
        let found: Vec<f64> = (0..700).map(|slot| head.expansion().alpha(0, slot)).collect();
        // A coefficient is a stored number times a scale, and the scales began at different numbers.
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * b.abs();
        assert!(found[..512].iter().all(|a| *a == 0.0), "{member:?}");
        assert!(
            found[512..].iter().zip(&plain.coefficients()).all(near),
            "{member:?}: {:?} {:?}",
            &found[512..520],
            &plain.coefficients()[..8]
        );
        compared += 1;
    }
    assert_eq!(compared, 3);
}
