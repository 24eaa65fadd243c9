//! Learns rows that are in memory, once per line of standard input, and prints the seconds it took.
//!
//! `in_memory CONFIG ROWS FEATURES`, the configuration as JSON. This is what `okl-py/benches/overhead.py` measures the Python
//! package against: the rows are the same there, made by the same formula.

use std::time::Instant;

use okl::{Batch, Config, Learner};

/// A number in [-0.5, 0.5) with 24 bits, from a place in the matrix.
fn number(place: usize) -> f32 {
    ((place as u32).wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 24) as f32 - 0.5
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [config, rows, features] = arguments.as_slice() else { return Err("in_memory CONFIG ROWS FEATURES".into()) };
    let (rows, features): (usize, usize) = (rows.parse()?, features.parse()?);
    let x: Vec<f32> = (0..rows * features).map(number).collect();
    let y: Vec<f64> = x.chunks_exact(features).map(|row| if row[0] * row[1] > 0.0 { 1.0 } else { -1.0 }).collect();
    let mut learner = Learner::new(Config::from_json(config)?)?;
    for line in std::io::stdin().lines() {
        line?;
        let start = Instant::now();
        let scores = learner.learn(&Batch::new(&x, features).numbers(&y))?;
        let seconds = start.elapsed().as_secs_f64();
        println!("{seconds} {} {}", learner.terms(), scores.values.iter().sum::<f64>());
    }
    Ok(())
}
