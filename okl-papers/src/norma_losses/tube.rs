//! The tube epsilon of N(18) and the scale sigma of N(21): both should find the size that noise exceeds with probability nu.

use okl::Batch;

use super::learner;
use super::noise::{Noise, Stream};
use crate::Context;
use crate::stats::Spread;

/// Steps on the progress bar.
pub const STEPS: usize = 3;
/// The shares that shall be outside.
pub const RATES: [f64; 2] = [0.1, 0.5];
/// The two losses that adapt a width.
pub const LOSSES: [&str; 2] = ["nu_epsilon", "nu_huber"];
/// How much louder the noise becomes half-way.
pub const LOUDER: f64 = 3.0;

/// One loss under one noise, over several streams.
pub struct Found {
    /// The loss.
    pub loss: &'static str,
    /// The noise.
    pub noise: Noise,
    /// The share that shall be outside.
    pub nu: f64,
    /// theta, the mean over the last tenth.
    pub theta: Spread,
    /// The share that was outside.
    pub outside: Spread,
    /// How far it can be from nu, whatever the data.
    pub bound: f64,
}

/// theta over time.
pub struct Course {
    /// The loss.
    pub loss: &'static str,
    /// The noise.
    pub noise: Noise,
    /// Examples and theta.
    pub points: Vec<(f64, f64)>,
}

/// All that is measured.
pub struct Outcome {
    /// Every combination.
    pub found: Vec<Found>,
    /// The first rate, every loss and noise.
    pub courses: Vec<Course>,
    /// Student's noise becomes louder half-way; constant steps.
    pub louder: Vec<Course>,
    /// Examples per stream.
    pub rows: usize,
    /// Streams.
    pub streams: usize,
}

/// Measures it.
///
/// # Errors
/// After Ctrl-C.
pub fn measure(context: &Context) -> anyhow::Result<Outcome> {
    let (rows, streams) = (context.sized(10_000, 2000), context.sized(5, 2));
    let (mut found, mut courses, mut louder) = (Vec::new(), Vec::new(), Vec::new());
    for loss in LOSSES {
        context.step(format!("what {loss} finds"))?;
        for (noise, nu) in Noise::ALL.iter().flat_map(|noise| RATES.map(|nu| (*noise, nu))) {
            let mut random = context.random(&format!("tube {} {nu}", noise.name()));
            let runs: Vec<Run> = (0..streams)
                .map(|_| run(loss, nu, "inverse_sqrt:1", &Stream::new(noise, rows, &mut random, |_| 1.0)))
                .collect::<anyhow::Result<_>>()?;
            if nu == RATES[0] {
                courses.push(Course { loss, noise, points: runs[0].points.clone() });
            }
            found.push(Found {
                loss,
                noise,
                nu,
                theta: Spread::of(runs.iter().map(Run::late)),
                outside: Spread::of(runs.iter().map(|r| r.rate)),
                bound: runs.iter().map(|r| r.bound).fold(0.0, f64::max),
            });
        }
    }
    context.step("noise that becomes louder")?;
    for loss in LOSSES {
        let mut random = context.random("louder");
        let stream = Stream::new(Noise::Student, rows, &mut random, |i| if i < rows / 2 { 1.0 } else { LOUDER });
        louder.push(Course { loss, noise: Noise::Student, points: run(loss, RATES[0], "constant:0.02", &stream)?.points });
    }
    Ok(Outcome { found, courses, louder, rows, streams })
}

struct Run {
    points: Vec<(f64, f64)>,
    rate: f64,
    bound: f64,
}

impl Run {
    fn late(&self) -> f64 {
        let late = &self.points[self.points.len() * 9 / 10..];
        late.iter().map(|p| p.1).sum::<f64>() / late.len() as f64
    }
}

fn run(loss: &str, nu: f64, step: &str, stream: &Stream) -> anyhow::Result<Run> {
    let mut learner = learner(&format!(
        "loss = '{loss}:nu={nu}'; kernel = 'gaussian:50'; step = '{step}'; lambda = 1e-3; budget = 'unlimited'; theta0 = 0.5"
    ))?;
    let (block, mut points) = ((stream.y.len() / 250).max(1), vec![(0.0, 0.5)]);
    for (x, y) in stream.x.chunks(block).zip(stream.y.chunks(block)) {
        learner.learn(&Batch::new(x, 1).numbers(y))?;
        points.push((learner.examples() as f64, learner.theta()));
    }
    let rate = learner.alert_rate().expect("the losses with nu have a rate");
    Ok(Run { points, rate: rate.rate, bound: rate.bound })
}
