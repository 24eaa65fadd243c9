//! Learns rows one by one, each call timed, and prints the quantiles of the second half as JSON.
//!
//! `latency CONFIG FOLDER ROWS`: the configuration as JSON, the rows as numpy arrays `train_x.npy` (f32) and `train_y.npy` (f64).
//! `benchmarks/peers/okl_rust.py` runs it beside the peers.

use std::path::Path;
use std::time::Instant;

use okl::{Batch, Config, Learner};

/// The values of an array after the header of numpy's format, version 1.
fn values<const N: usize, T>(file: &Path, number: impl Fn([u8; N]) -> T) -> std::io::Result<Vec<T>> {
    let bytes = std::fs::read(file)?;
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    Ok(bytes[start..].chunks_exact(N).map(|chunk| number(chunk.try_into().expect("N bytes"))).collect())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [config, folder, rows] = arguments.as_slice() else { return Err("latency CONFIG FOLDER ROWS".into()) };
    let (folder, rows): (&Path, usize) = (folder.as_ref(), rows.parse()?);
    let x = values(&folder.join("train_x.npy"), f32::from_le_bytes)?;
    let y = values(&folder.join("train_y.npy"), f64::from_le_bytes)?;
    let features = x.len() / y.len();
    let mut learner = Learner::new(Config::from_json(config)?)?;
    let mut seconds = Vec::with_capacity(rows);
    for (row, target) in x.chunks_exact(features).zip(&y).take(rows) {
        let start = Instant::now();
        learner.learn(&Batch::new(row, features).numbers(std::slice::from_ref(target)))?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    let total: f64 = seconds.iter().sum();
    let mut settled = seconds.split_off(rows.min(y.len()) / 2);
    settled.sort_by(f64::total_cmp);
    let quantile = |q: f64| settled[((settled.len() - 1) as f64 * q) as usize];
    println!(r#"{{"p50": {}, "p99": {}, "wall": {total}, "processor": {total}}}"#, quantile(0.5), quantile(0.99));
    Ok(())
}
