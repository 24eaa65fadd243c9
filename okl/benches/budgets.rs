//! What making room costs: window, transfer and merge on the same rows, in one run, as ratios.
//!
//! `cargo bench --bench budgets`. Setting: gaussian, hinge, constant step, labels by coin flip, so that nearly every row is appended and has
//! to make room; one thread. Each figure is the best of several rounds, the budgets taking turns.

use std::time::Instant;

use okl::{Batch, Config, Learner};

const ROWS: usize = 512;
const ROUNDS: usize = 40;
const PROFILE_ROUNDS: usize = 4000;
const BUDGETS: [&str; 3] = ["window", "transfer", "merge"];

struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    }
}

/// Rows with a variance of 1 in every column, and labels without relation to them.
fn rows(features: usize, random: &mut Random) -> (Vec<f32>, Vec<f64>) {
    let x = (0..ROWS * features).map(|_| random.uniform() * 12f32.sqrt()).collect();
    let y = (0..ROWS).map(|_| f64::from(random.uniform().signum())).collect();
    (x, y)
}

/// A learner of this budget that is full.
fn ready(budget: &str, terms: usize, features: usize, random: &mut Random) -> Learner {
    let gamma = 0.7 / features as f64;
    let text = format!(
        "loss = 'hinge'\nkernel = 'gaussian:{gamma}'\nstep = 'constant:0.1'\nlambda = 1e-4\nscale = 'none'\nbudget = '{budget}:{terms}'"
    );
    let mut learner = Learner::new(Config::from_toml(&text).expect("a configuration")).expect("a learner");
    for _ in 0..terms.div_ceil(ROWS / 2) + 1 {
        let (x, y) = rows(features, random);
        learner.learn(&Batch::new(&x, features).numbers(&y)).expect("rows that can be learned");
    }
    assert_eq!(learner.terms(), terms, "the budget is full");
    learner
}

fn main() {
    // For a profile of one case: `budgets merge 32 1000`.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let chosen = arguments.iter().find(|a| BUDGETS.contains(&a.as_str())).cloned();
    let sizes: Vec<usize> = arguments.iter().filter_map(|a| a.parse().ok()).collect();
    println!("| columns | terms | window us | transfer us | merge us | transfer / window | merge / window |");
    println!("|---|---|---|---|---|---|---|");
    for features in [8, 32, 128] {
        for terms in [300, 1000, 3000] {
            if !sizes.is_empty() && sizes != [features, terms] {
                continue;
            }
            let mut random = Random(0x9e37_79b9_7f4a_7c15);
            let rounds = if chosen.is_some() { PROFILE_ROUNDS } else { ROUNDS };
            let mut learners = BUDGETS.map(|budget| ready(budget, terms, features, &mut random));
            let mut best = [f64::INFINITY; 3];
            for _ in 0..rounds {
                let (x, y) = rows(features, &mut random);
                for ((learner, best), name) in learners.iter_mut().zip(&mut best).zip(BUDGETS) {
                    if chosen.as_deref().is_some_and(|chosen| chosen != name) {
                        continue;
                    }
                    let start = Instant::now();
                    learner.learn(&Batch::new(&x, features).numbers(&y)).expect("rows that can be learned");
                    *best = best.min(start.elapsed().as_secs_f64() / ROWS as f64 * 1e6);
                }
            }
            let [window, transfer, merge] = best;
            println!(
                "| {features} | {terms} | {window:.2} | {transfer:.2} | {merge:.2} | {:.2} | {:.2} |",
                transfer / window,
                merge / window
            );
        }
    }
}
