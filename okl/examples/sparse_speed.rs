//! Sparse rows against dense ones, and against more columns: the figures of benchmarks/sparse.md.
//!
//! `cargo run --release --example sparse_speed`. Rows are drawn as words of a text are: 70 columns a row, column f with a frequency
//! proportional to (f + 1)^-1.1 (Zipf), values from 0.1 to 6. Every figure is the time per row, the best of `ROUNDS` runs that take turns; only
//! ratios are compared. With more columns a row has more different ones, because fewer of the 70 are drawn twice, so the time per
//! non-zero value is beside it.

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
const ROWS: usize = 20_000;
const DENSE_ROWS: usize = 200;
const COLUMNS: [usize; 2] = [50_000, 1_000_000];
const ROUNDS: usize = 5;

/// Microseconds per row over sparse rows.
fn sparse(settings: &str, text: &Text) -> f64 {
    let mut learner = Learner::new(Config::from_toml(settings).expect("settings")).expect("a learner");
    learner.learn(&text.sparse(0..BEFORE)).expect("rows");
    let start = Instant::now();
    learner.learn(&text.sparse(BEFORE..BEFORE + ROWS)).expect("rows");
    start.elapsed().as_secs_f64() * 1e6 / ROWS as f64
}

/// The same for dense rows, in calls of 100.
fn dense(settings: &str, text: &Text) -> f64 {
    let mut learner = Learner::new(Config::from_toml(settings).expect("settings")).expect("a learner");
    let mut seconds = 0.0;
    for first in (0..BEFORE + DENSE_ROWS).step_by(100) {
        let x = text.dense(first..first + 100);
        let start = Instant::now();
        learner.learn(&Batch::new(&x, text.features).numbers(&text.targets[first..first + 100])).expect("rows");
        seconds += if first >= BEFORE { start.elapsed().as_secs_f64() } else { 0.0 };
    }
    seconds * 1e6 / DENSE_ROWS as f64
}

fn main() {
    let texts = COLUMNS.map(|features| Text::new(BEFORE + ROWS, features, 7));
    println!(
        "| learner | rows | columns | non-zeros a row | us a row | ratio | ns a non-zero | ratio |\n|---|---|---|---|---|---|---|---|"
    );
    for (name, settings) in [("gaussian, window:1000", GAUSSIAN), ("linear weights", WEIGHTS)] {
        let mut best = [f64::INFINITY; COLUMNS.len()];
        for _ in 0..ROUNDS {
            for (best, text) in best.iter_mut().zip(&texts) {
                *best = best.min(sparse(settings, text));
            }
        }
        let filled = texts.each_ref().map(|text| (text.columns.len() - text.starts[BEFORE]) as f64 / ROWS as f64);
        for (i, features) in COLUMNS.into_iter().enumerate() {
            let each = 1e3 * best[i] / filled[i];
            let (ratio, of_each) = (best[i] / best[0], each / (1e3 * best[0] / filled[0]));
            println!(
                "| {name} | sparse | {features} | {:.1} | {:.2} | {ratio:.2} | {each:.0} | {of_each:.2} |",
                filled[i], best[i]
            );
        }
        let whole = dense(settings, &texts[0]);
        println!("| {name} | dense | {} | | {whole:.0} | {:.0} | | |", COLUMNS[0], whole / best[0]);
    }
}
