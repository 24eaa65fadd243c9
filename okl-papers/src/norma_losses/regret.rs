//! Cumulative risk against Theorems 1 to 3 and the certificate (E25).
//!
//! The examples are drawn from a finite population, so that R_P and its minimiser u are known and the theorems can be held
//! to the letter: hinge loss, margin 1, no offset, X = 1, `R_stoch[f, t] = loss + lambda/2 |f|²`.

use okl::{Batch, Learner};

use super::classes::Kind;
use super::learner;
use super::truncation::Function;
use crate::Context;
use okl_cli::random::Random;

/// Steps on the progress bar.
pub const STEPS: usize = 4;
/// The regulariser.
pub const LAMBDA: f64 = 0.03;

/// Points that examples are drawn from, each as likely.
struct Population {
    x: Vec<f32>,
    y: Vec<f64>,
}

impl Population {
    fn hinge_losses(&self, learner: &Learner) -> anyhow::Result<Vec<f64>> {
        let scores = learner.predict(&Batch::new(&self.x, 2))?;
        Ok(scores.values.iter().zip(&self.y).map(|(z, y)| (1.0 - z * y).max(0.0)).collect())
    }

    /// Learns example by example; `each` sees the risk of f_t, the point that was drawn, and the learner after it.
    fn learn(
        &self,
        learner: &mut Learner,
        rows: usize,
        random: &mut Random,
        mut each: impl FnMut(f64, usize, &Learner),
    ) -> anyhow::Result<()> {
        for _ in 0..rows {
            let i = random.below(self.y.len() as u64) as usize;
            let (norm2, mut loss) = (learner.norm2(), 0.0);
            let (x, y, id) = (&self.x[2 * i..2 * i + 2], &self.y[i..=i], [i as u64]);
            learner.learn_with(&Batch::new(x, 2).numbers(y).ids(&id), |_, step| loss = step.loss.unwrap_or(0.0))?;
            each(loss + 0.5 * LAMBDA * norm2, i, learner);
        }
        Ok(())
    }
}

fn hinge(step: &str, average: &str) -> anyhow::Result<Learner> {
    learner(&format!(
        "loss = 'hinge'; kernel = 'gaussian:5'; step = '{step}'; lambda = {LAMBDA}; budget = 'unlimited'; average = '{average}'"
    ))
}

/// After so many examples.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// The examples.
    pub examples: f64,
    /// Cumulative risk less that of u.
    pub regret: f64,
    /// The certificate, against |u|.
    pub certificate: f64,
    /// The theorem.
    pub theorem: f64,
}

/// Theorem 3: risk of the averaged hypothesis.
#[derive(Clone, Copy, Debug)]
pub struct Averaged {
    /// m.
    pub examples: f64,
    /// R_P of the average less that of u, mean over streams.
    pub excess: f64,
    /// The same of the last hypothesis.
    pub last: f64,
    /// Certificate / m, mean over streams.
    pub certificate: f64,
    /// The theorem.
    pub theorem: f64,
}

/// All that is measured.
pub struct Outcome {
    /// The risk of u over the population.
    pub risk: f64,
    /// B = |u|.
    pub norm: f64,
    /// Fixed steps B/(X sqrt m).
    pub theorem1: Vec<Point>,
    /// Steps 1/(3 lambda sqrt t).
    pub theorem2: Vec<Point>,
    /// The average, over m.
    pub theorem3: Vec<Averaged>,
    /// Examples per stream.
    pub rows: usize,
    /// Streams for Theorem 3.
    pub streams: usize,
}

/// Measures it.
///
/// # Errors
/// After Ctrl-C.
pub fn measure(context: &Context) -> anyhow::Result<Outcome> {
    let (size, passes, rows, streams) = context.sized((1000, 300, 8192, 10), (200, 50, 512, 3));
    let (x, y) = Kind::Noisy.draw(size, &mut context.random("population"));
    let population = Population { x, y };
    context.step("the best fixed function")?;
    let mut best = hinge("pegasos", "none")?;
    population.learn(&mut best, passes * size, &mut context.random("comparator"), |_, _, _| {})?;
    let losses = population.hinge_losses(&best)?;
    let (norm, penalty) = (best.norm2().sqrt(), 0.5 * LAMBDA * best.norm2());
    let comparator: Vec<f64> = losses.iter().map(|loss| loss + penalty).collect();
    let risk = comparator.iter().sum::<f64>() / size as f64;
    let course = |step: &str, theorem: &dyn Fn(f64) -> f64| -> anyhow::Result<Vec<Point>> {
        let (mut points, mut regret, mut t) = (Vec::new(), 0.0, 0usize);
        population.learn(&mut hinge(step, "none")?, rows, &mut context.random("stream"), |risk, i, learner| {
            regret += risk - comparator[i];
            t += 1;
            if is_shown(t, rows) {
                let certificate = learner.regret_bound(norm, 0.0).unwrap_or(f64::NAN);
                points.push(Point { examples: t as f64, regret, certificate, theorem: theorem(t as f64) });
            }
        })?;
        Ok(points)
    };
    context.step("Theorem 1")?;
    let m = rows as f64;
    // (22) at t = m; before, what the same proof gives for these steps.
    let theorem1 = course(&format!("theorem1:bound={norm},radius=1,horizon={rows}"), &|t| {
        0.5 * norm * m.sqrt() * (1.0 + t / m) + 0.5 * LAMBDA * norm * norm
    })?;
    context.step("Theorem 2")?;
    let theorem2 = course("theorem2", &|t| 2.0 * LAMBDA * (norm + 1.0 / LAMBDA).powi(2) * t.sqrt())?;
    context.step("Theorem 3")?;
    let theorem3 = averaged(context, &population, norm, risk, rows, streams)?;
    Ok(Outcome { risk, norm, theorem1, theorem2, theorem3, rows, streams })
}

/// About forty points per decade, evenly on a logarithmic axis, and the last.
fn is_shown(t: usize, rows: usize) -> bool {
    let place = |t: usize| (40.0 * (t as f64).log10()).floor();
    t == rows || (t > 1 && place(t) > place(t - 1))
}

fn averaged(
    context: &Context,
    population: &Population,
    norm: f64,
    risk: f64,
    rows: usize,
    streams: usize,
) -> anyhow::Result<Vec<Averaged>> {
    let sizes: Vec<usize> = (5..).map(|k| 1 << k).take_while(|m| *m <= rows).collect();
    let mut sums = vec![[0.0; 3]; sizes.len()];
    for stream in 0..streams {
        let mut random = context.random(&format!("average {stream}"));
        let (mut average, mut last) = (hinge("theorem2", "uniform")?, hinge("theorem2", "none")?);
        let mut before = 0;
        for (m, sum) in sizes.iter().zip(&mut sums) {
            let mut again = random.clone();
            population.learn(&mut average, m - before, &mut random, |_, _, _| {})?;
            population.learn(&mut last, m - before, &mut again, |_, _, _| {})?;
            before = *m;
            let certificate = average.regret_bound(norm, 0.0).unwrap_or(f64::NAN) / *m as f64;
            for (sum, value) in
                sum.iter_mut().zip([excess(population, &average, risk)?, excess(population, &last, risk)?, certificate])
            {
                *sum += value / streams as f64;
            }
        }
    }
    let point = |(m, sum): (&usize, &[f64; 3])| {
        let examples = *m as f64;
        let theorem = 2.0 * LAMBDA * (norm + 1.0 / LAMBDA).powi(2) / examples.sqrt();
        Averaged { examples, excess: sum[0], last: sum[1], certificate: sum[2], theorem }
    };
    Ok(sizes.iter().zip(&sums).map(point).collect())
}

/// R_P of what a learner predicts with, less the risk of u.
fn excess(population: &Population, learner: &Learner, risk: f64) -> anyhow::Result<f64> {
    let losses = population.hinge_losses(learner)?;
    let mean = losses.iter().sum::<f64>() / losses.len() as f64;
    Ok(mean + 0.5 * LAMBDA * Function::of(learner).norm().powi(2) - risk)
}
