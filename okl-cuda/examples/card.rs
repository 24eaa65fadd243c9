//! Times learning and predicting on the card and on the processor: `card ROWS FEATURES OUTPUTS TERMS THREADS card|processor [FILE]`.
//! Learns ROWS rows with nothing truncated and writes the model to FILE. Then, with TERMS > 0, predicts ROWS rows against the first TERMS
//! terms.

use std::time::Instant;

use okl::place::Place;
use okl::{Batch, Config, Learner};
use okl_cuda::Cuda;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize| words.get(i).and_then(|word| word.parse::<usize>().ok());
    let (rows, features, outputs) = (number(0).unwrap_or(20_000), number(1).unwrap_or(120), number(2).unwrap_or(16));
    let (terms, threads) = (number(3).unwrap_or(0), number(4).unwrap_or(1));
    let on_card = words.get(5).is_none_or(|word| word != "processor");
    let (x, y) = stream(rows, features, outputs);
    let mut learner = learner(features, threads, on_card)?;
    let begun = Instant::now();
    if terms == 0 {
        learner.learn_with(&Batch::new(&x, features).numbers(&y), |_, _| {})?;
        let took = begun.elapsed().as_secs_f64();
        println!("learn {rows} x {features} -> {outputs}: {took:.2} s, {} terms, {:?}", learner.terms(), learner.place());
        if let Some(file) = words.get(6) {
            learner.save(file)?;
        }
        return Ok(());
    }
    learner.learn_with(&Batch::new(&x[..terms * features], features).numbers(&y[..terms * outputs]), |_, _| {})?;
    println!("{} terms learned in {:.2} s", learner.terms(), begun.elapsed().as_secs_f64());
    for _ in 0..2 {
        let begun = Instant::now();
        let scores = learner.predict(&Batch::new(&x, features))?;
        let took = begun.elapsed().as_secs_f64();
        let rate = 2.0 * (rows * features) as f64 * learner.terms() as f64 / took / 1e12;
        let sum: f64 = scores.values.iter().sum();
        println!(
            "predict {rows} x {features} -> {outputs} against {} terms: {took:.3} s, {rate:.1} TFLOP/s, sum {sum}",
            learner.terms()
        );
    }
    Ok(())
}

/// Rows around 40 centres, and targets that are smooth functions of them.
fn stream(rows: usize, features: usize, outputs: usize) -> (Vec<f32>, Vec<f64>) {
    let mut state = 1u64;
    let mut unit = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    let centres: Vec<f32> = (0..40 * features).map(|_| unit()).collect();
    let mut x = Vec::with_capacity(rows * features);
    let mut y = Vec::with_capacity(rows * outputs);
    for i in 0..rows {
        let centre = &centres[(i * 7 % 40) * features..][..features];
        x.extend(centre.iter().map(|c| c + 0.5 * unit()));
        let row = &x[i * features..];
        y.extend((0..outputs).map(|o| f64::from(row[o % features] * 2.0).sin() + f64::from(row[(3 * o + 1) % features])));
    }
    (x, y)
}

fn learner(features: usize, threads: usize, on_card: bool) -> Result<Learner, Box<dyn std::error::Error>> {
    let gamma = 4.0 / features as f64;
    let settings = format!(
        "loss = 'squared'\nkernel = 'gaussian:{gamma}'\nstep = 'constant:0.2'\nlambda = 1e-6\nbudget = 'unlimited'\nscale = 'none'"
    );
    let mut learner = Learner::new(Config::from_toml(&settings)?)?;
    learner.set_threads(threads)?;
    if on_card {
        let (rows, begun) = (std::env::var("CARD_ROWS").ok().and_then(|rows| rows.parse().ok()).unwrap_or(256), Instant::now());
        learner.set_place(Some(Box::new(Cuda::open(0)?.with_rows(rows)) as Box<dyn Place>));
        println!("the card was found in {:.3} s", begun.elapsed().as_secs_f64());
    }
    Ok(learner)
}
