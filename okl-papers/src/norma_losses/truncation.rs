//! Proposition 1: what is lost by dropping terms that are at least tau steps old, against the bound N(11) and the certificate.
//!
//! ```text
//! |f - f_trunc| <= sum_{i <= t - tau} |alpha_i| X  <=  (1 - lambda eta)^tau C X / lambda
//! ```
//!
//! The bound is about one function and the same coefficients (E22). Dropping while learning changes what is learned
//! afterwards as well; the distance between the two runs is covered for smooth losses (algorithms.md 3.6), not for the hinge.

use okl::{Batch, Learner};

use super::classes::Kind;
use super::learner;
use super::noise::{Noise, Stream};
use crate::Context;

/// Steps on the progress bar.
pub const STEPS: usize = 2;
const ETA: f64 = 0.2;
const LAMBDA: f64 = 0.05;

/// The cost of dropping terms after tau steps.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// The age.
    pub tau: usize,
    /// (1 - lambda eta)^tau C X / lambda.
    pub proposition: f64,
    /// The certificate of the run that drops.
    pub certificate: f64,
    /// The norm of the old terms, in the run that keeps all.
    pub dropped: f64,
    /// The distance between the run that drops and the one that keeps all.
    pub between_runs: f64,
}

/// One loss.
pub struct Outcome {
    /// The loss.
    pub loss: &'static str,
    /// By age.
    pub points: Vec<Point>,
    /// |f| at the end of the run that keeps all.
    pub norm: f64,
    /// Examples.
    pub rows: usize,
}

/// Measures it.
///
/// # Errors
/// After Ctrl-C.
pub fn measure(context: &Context) -> anyhow::Result<Vec<Outcome>> {
    let rows = context.sized(3000, 600);
    let mut random = context.random("truncation");
    let numbers = Stream::new(Noise::Gaussian, rows, &mut random, |_| 1.0);
    let (points, labels) = Kind::Noisy.draw(rows, &mut random);
    let taus: Vec<usize> = (1..=context.sized(24, 4)).map(|i| 50 * i).collect();
    context.step("truncation, huber")?;
    let huber = one("huber", "loss = 'huber:1'; kernel = 'gaussian:50'", Batch::new(&numbers.x, 1).numbers(&numbers.y), &taus)?;
    context.step("truncation, hinge")?;
    let hinge = one("hinge", "loss = 'hinge'; kernel = 'gaussian:5'", Batch::new(&points, 2).numbers(&labels), &taus)?;
    Ok(vec![huber, hinge])
}

fn one(loss: &'static str, settings: &str, batch: Batch<'_>, taus: &[usize]) -> anyhow::Result<Outcome> {
    let run = |budget: &str| -> anyhow::Result<(Learner, Vec<usize>)> {
        let mut learner = learner(&format!("{settings}; step = 'constant:{ETA}'; lambda = {LAMBDA}; budget = '{budget}'"))?;
        let mut born = Vec::new();
        learner.learn_with(&batch, |t, step| born.extend(step.slot.map(|_| t)))?;
        Ok((learner, born))
    };
    let (full, born) = run("unlimited")?;
    let f = Function::of(&full);
    let mut points = Vec::new();
    for &tau in taus {
        let (truncated, _) = run(&format!("age:{tau}"))?;
        let old = born.iter().take_while(|t| **t + tau < batch.rows()).count();
        points.push(Point {
            tau,
            proposition: (1.0 - LAMBDA * ETA).powi(tau as i32) / LAMBDA,
            certificate: truncated.truncation_error(),
            dropped: f.first(old).norm(),
            between_runs: f.minus(&Function::of(&truncated)).norm(),
        });
    }
    Ok(Outcome { loss, points, norm: f.norm(), rows: batch.rows() })
}

/// An expansion, for norms by the definition.
pub(super) struct Function {
    features: usize,
    centres: Vec<f64>,
    coefficients: Vec<f64>,
    gamma: f64,
}

impl Function {
    /// The predicting function of a learner with a Gaussian kernel.
    pub fn of(learner: &Learner) -> Self {
        Function {
            features: learner.features(),
            centres: learner.centres(),
            coefficients: learner.predicting_coefficients(),
            gamma: if learner.features() == 1 { 50.0 } else { 5.0 },
        }
    }

    /// Its first terms only.
    fn first(&self, terms: usize) -> Function {
        let (centres, coefficients) = (self.centres[..terms * self.features].to_vec(), self.coefficients[..terms].to_vec());
        Function { centres, coefficients, ..*self }
    }

    fn minus(&self, other: &Function) -> Function {
        let centres = [self.centres.as_slice(), &other.centres].concat();
        let coefficients = self.coefficients.iter().copied().chain(other.coefficients.iter().map(|a| -a)).collect();
        Function { centres, coefficients, ..*self }
    }

    /// sqrt(sum_ij alpha_i alpha_j k(x_i, x_j)).
    pub fn norm(&self) -> f64 {
        let rows: Vec<&[f64]> = self.centres.chunks_exact(self.features).collect();
        let distance2 = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        let mut square = 0.0;
        for (i, (x, a)) in rows.iter().zip(&self.coefficients).enumerate() {
            let others = rows[..i].iter().zip(&self.coefficients);
            let sum: f64 = others.map(|(other, b)| b * libm::exp(-self.gamma * distance2(x, other))).sum();
            square += a * (a + 2.0 * sum);
        }
        square.max(0.0).sqrt()
    }
}
