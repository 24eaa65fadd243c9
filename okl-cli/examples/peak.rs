//! How much memory `okl learn -` needs for streams of three lengths (Linux).
//!
//! ```text
//! cargo build --release && cargo run --release --example peak -- [flags of okl learn]
//! ```

use std::error::Error;
use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use okl_cli::random::Random;

const LENGTHS: [usize; 3] = [100_000, 1_000_000, 5_000_000];

fn main() -> Result<(), Box<dyn Error>> {
    let flags: Vec<String> = std::env::args().skip(1).collect();
    for rows in LENGTHS {
        let (kib, megabytes, seconds) = run(rows, &flags)?;
        println!("{rows:>9} rows, {megabytes:>6.1} MB of text: {kib} KiB at most, {seconds:.1} s");
    }
    Ok(())
}

/// Feeds a stream to the command; its peak, the size of the stream, the time.
fn run(rows: usize, flags: &[String]) -> Result<(u64, f64, f64), Box<dyn Error>> {
    let binary: PathBuf = std::env::current_exe()?.parent().and_then(|p| p.parent()).ok_or("no folder")?.join("okl");
    let begun = Instant::now();
    let mut child =
        Command::new(binary).args(["learn", "-", "--target", "y", "--quiet"]).args(flags).stdin(Stdio::piped()).spawn()?;
    let mut stdin = child.stdin.take().ok_or("no standard input")?;
    let (mut random, mut text, mut bytes) = (Random::new(7), String::from("a,b,c,d,y\n"), 0);
    for row in 1..=rows {
        line(&mut random, row as f64 / rows as f64, &mut text)?;
        if text.len() > 1 << 16 || row == rows {
            stdin.write_all(text.as_bytes())?;
            bytes += text.len();
            text.clear();
        }
    }
    // The memory needed at most never falls: what it is now misses at most what is still in the pipe.
    let kib = peak(child.id())?;
    drop(stdin);
    match child.wait()? {
        done if done.success() => Ok((kib, bytes as f64 / 1e6, begun.elapsed().as_secs_f64())),
        done => Err(format!("okl learn: {done}").into()),
    }
}

/// A row of a stream whose boundary turns once.
fn line(random: &mut Random, turned: f64, text: &mut String) -> std::fmt::Result {
    let [a, b, c, d] = [(); 4].map(|()| 2.0 * random.uniform() - 1.0);
    let angle = std::f64::consts::TAU * turned;
    let side = if a * angle.cos() + b * angle.sin() + 0.3 * c * d > 0.0 { "up" } else { "down" };
    writeln!(text, "{a:.4},{b:.4},{c:.4},{d:.4},{side}")
}

fn peak(pid: u32) -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.split_whitespace().nth(1).ok_or("no number")?.parse()?)
}
