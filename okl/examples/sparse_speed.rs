//! Sparse rows against dense ones, and against more columns: the figures of benchmarks/sparse.md.
//!
//! `cargo run --release --example sparse_speed`. Rows are drawn as words of a text are: 70 columns a row, column f with a frequency
//! proportional to (f + 1)^-1.1 (Zipf), values from 0.1 to 6. Every figure is the time per row of one run; only ratios are compared.

use std::time::Instant;

use okl::{Batch, Config, Learner};

/// Sparse rows and their targets.
struct Text {
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f32>,
    targets: Vec<f64>,
    features: usize,
}

impl Text {
    fn new(rows: usize, features: usize, seed: u64) -> Text {
        let mut text = Text { starts: vec![0], columns: Vec::new(), values: Vec::new(), targets: Vec::new(), features };
        let mut state = seed;
        let mut unit = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        // Zipf with exponent 1.1, by inversion of its continuous form.
        let top = (features as f64).powf(-0.1);
        for _ in 0..rows {
            let mut row: Vec<u32> =
                (0..70).map(|_| (((1.0 - unit() * (1.0 - top)).powf(-10.0) - 1.0) as usize).min(features - 1) as u32).collect();
            row.sort_unstable();
            row.dedup();
            let signal: f64 = row.iter().map(|f| f64::from(f % 7) - 3.0).sum();
            text.targets.push(if signal > 0.0 { 1.0 } else { -1.0 });
            text.values.extend(row.iter().map(|f| 0.1 + (f % 17) as f32 * 0.37));
            text.columns.extend(row);
            text.starts.push(text.columns.len());
        }
        text
    }

    fn sparse(&self, rows: std::ops::Range<usize>) -> Batch<'_> {
        let starts = &self.starts[rows.start..=rows.end];
        Batch::sparse(starts, &self.columns, &self.values, self.features).numbers(&self.targets[rows])
    }

    fn dense(&self, rows: std::ops::Range<usize>) -> Vec<f32> {
        let mut x = vec![0.0; rows.len() * self.features];
        for (i, row) in rows.enumerate() {
            for place in self.starts[row]..self.starts[row + 1] {
                x[i * self.features + self.columns[place] as usize] = self.values[place];
            }
        }
        x
    }
}

const GAUSSIAN: &str = "loss = 'logistic'\nkernel = 'gaussian:0.001'\nstep = 'constant:0.5'\nlambda = 1e-4\nbudget = 'window:1000'\nanchor = 'none'\nscale = 'none'";
const WEIGHTS: &str = "loss = 'logistic'\nkernel = 'linear'\nstep = 'constant:0.01'\nlambda = 1e-6\nscale = 'none'";

/// Rows that are learned before the clock starts, so that the window is full.
const BEFORE: usize = 1100;

/// Microseconds per row over `rows` sparse rows.
fn sparse(settings: &str, features: usize, rows: usize) -> f64 {
    let text = Text::new(BEFORE + rows, features, 7);
    let mut learner = Learner::new(Config::from_toml(settings).expect("settings")).expect("a learner");
    learner.learn(&text.sparse(0..BEFORE)).expect("rows");
    let start = Instant::now();
    learner.learn(&text.sparse(BEFORE..BEFORE + rows)).expect("rows");
    start.elapsed().as_secs_f64() * 1e6 / rows as f64
}

/// The same for dense rows, in calls of 100.
fn dense(settings: &str, features: usize, rows: usize) -> f64 {
    let text = Text::new(BEFORE + rows, features, 7);
    let mut learner = Learner::new(Config::from_toml(settings).expect("settings")).expect("a learner");
    let mut seconds = 0.0;
    for first in (0..BEFORE + rows).step_by(100) {
        let x = text.dense(first..first + 100);
        let start = Instant::now();
        learner.learn(&Batch::new(&x, features).numbers(&text.targets[first..first + 100])).expect("rows");
        seconds += if first >= BEFORE { start.elapsed().as_secs_f64() } else { 0.0 };
    }
    seconds * 1e6 / rows as f64
}

fn main() {
    println!("| rows | columns | us a row | ratio |\n|---|---|---|---|");
    for (name, settings) in [("gaussian, window:1000", GAUSSIAN), ("linear weights", WEIGHTS)] {
        let base = sparse(settings, 50_000, 20_000);
        println!("| {name}, sparse | 50,000 | {base:.1} | 1 |");
        let more = sparse(settings, 1_000_000, 20_000);
        println!("| {name}, sparse | 1,000,000 | {more:.1} | {:.2} |", more / base);
        let whole = dense(settings, 50_000, 200);
        println!("| {name}, dense | 50,000 | {whole:.0} | {:.0} |", whole / base);
    }
}
