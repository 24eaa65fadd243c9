//! So many coefficients that sums over terms are taken for a whole block at once: the bits are those of rows learned one by one.

use okl::{Batch, Config, Label, Learner};

const ROWS: usize = 2500;
const FEATURES: usize = 3;
const OUTPUTS: usize = 20;

struct Stream {
    x: Vec<f32>,
    y: Vec<f64>,
    labels: Vec<Label>,
    ids: Vec<u64>,
}

/// Rows that come again now and then, under the id they had: old terms change in the middle of a block.
fn stream() -> Stream {
    let number = |i: usize, k: usize| libm::sin((i * 37 + k * 101) as f64 * 0.7391);
    let again = |i: usize| if i % 50 == 49 { i * 31 % i } else { i };
    let rows: Vec<usize> = (0..ROWS).map(again).collect();
    Stream {
        x: rows.iter().flat_map(|&i| (0..FEATURES).map(move |k| 3.0 * number(i, k) as f32)).collect(),
        y: rows.iter().flat_map(|&i| (0..OUTPUTS).map(move |o| number(i, 7 + o))).collect(),
        // A new class in the middle of a block, once there is much to be laid out anew.
        labels: rows.iter().map(|&i| ((if i < 2300 { i % 19 } else { i % 23 }) as i64).into()).collect(),
        ids: rows.iter().map(|&i| i as u64).collect(),
    }
}

fn learned(settings: &str, cut: usize, threads: usize) -> (Vec<u64>, Vec<u8>) {
    let s = stream();
    let mut learner =
        Learner::new(Config::from_toml(&format!("kernel = 'gaussian:2'\nscale = 'none'\n{settings}")).unwrap()).unwrap();
    learner.set_threads(threads).unwrap();
    let mut bits = Vec::new();
    for first in (0..ROWS).step_by(cut) {
        let last = ROWS.min(first + cut);
        let batch = Batch::new(&s.x[first * FEATURES..last * FEATURES], FEATURES).ids(&s.ids[first..last]);
        let batch = match settings.contains("softmax") {
            true => batch.labels(&s.labels[first..last]),
            false => batch.numbers(&s.y[first * OUTPUTS..last * OUTPUTS]),
        };
        learner.learn_with(&batch, |_, step| bits.extend(step.scores.iter().map(|z| z.to_bits()))).unwrap();
    }
    assert!(learner.terms() * learner.outputs() * 8 > 1 << 18, "enough terms for what is tested: {}", learner.terms());
    (bits, learner.to_bytes())
}

fn same_bits(settings: &str) {
    let rows = learned(settings, 1, 1);
    for (cut, threads) in [(ROWS, 1), (77, 1), (300, 2)] {
        let blocks = learned(settings, cut, threads);
        assert!(rows.0 == blocks.0, "{settings}\nin blocks of {cut}: other scores");
        assert!(rows.1 == blocks.1, "{settings}\nin blocks of {cut}: another state");
    }
}

#[test]
fn all_terms() {
    same_bits("loss = 'squared'\nstep = 'constant:0.3'\nlambda = 1e-3\nbudget = 'unlimited'");
}

#[test]
fn averages_and_traces() {
    same_bits("loss = 'squared'\nstep = 'constant:0.3'\nlambda = 1e-2\nbudget = 'unlimited'\naverage = 'exponential:0.2'");
    same_bits("loss = 'squared'\nstep = 'smd:eta=0.1'\nlambda = 1e-3\nbudget = 'unlimited'");
}

/// A step near 1/lambda renormalises the scale within blocks; beyond it the signs alternate.
#[test]
fn scales_that_run_away() {
    same_bits("loss = 'squared'\nstep = 'constant:0.9'\nlambda = 1\nbudget = 'window:2100'");
    same_bits("loss = 'squared'\nstep = 'constant:1.9'\nlambda = 1\nbudget = 'window:2100'\nallow_overshoot = true");
}

#[test]
fn budgets_that_change_old_terms() {
    for budget in ["window:1700", "transfer:1700", "merge:1700", "age:2000"] {
        same_bits(&format!("loss = 'squared'\nstep = 'constant:0.3'\nlambda = 1e-3\nbudget = '{budget}'"));
    }
}

#[test]
fn classes_that_come_late() {
    same_bits("loss = 'softmax'\nstep = 'constant:0.3'\nlambda = 1e-3\nbudget = 'unlimited'");
}

#[test]
fn outputs_that_are_coupled() {
    let coupled = |o: usize, p: usize| if o == p { 1.0 } else { 0.2 };
    let matrix: Vec<f64> = (0..OUTPUTS).flat_map(|o| (0..OUTPUTS).map(move |p| coupled(o, p))).collect();
    same_bits(&format!("loss = 'squared'\nstep = 'constant:0.1'\nlambda = 1e-3\nbudget = 'unlimited'\noperator = {matrix:?}"));
}

/// The heads of a bank read the totals of settled chunks, too, each of its own columns.
#[test]
fn several_heads() {
    for budget in ["unlimited", "window:1700", "transfer:1700"] {
        same_bits(&format!("loss = 'squared'\nbudget = '{budget}'"));
    }
    same_bits("loss = 'softmax'\nbudget = 'window:1700'");
}
