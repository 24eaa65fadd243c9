//! The same stream without labels under V(9): new digits are novel until they have been learned.

use okl::Batch;

use super::scan::Bench;
use super::{Rule, Stream, TAUS};
use crate::Context;
use crate::stats::Spread;

/// The regularisers; the first is drawn.
pub const LAMBDAS: [f64; 3] = [1e-2, 1e-3, 1e-1];

/// One pass.
#[derive(Clone, Debug, Default)]
pub struct Course {
    /// The score f(x) before each update; novel below 1.
    pub scores: Vec<f64>,
    /// The step sizes.
    pub eta: Vec<f64>,
}

impl Course {
    fn run(rule: Rule, lambda: f64, stream: &Stream) -> anyhow::Result<Self> {
        let mut learner = rule.learner("loss = 'novelty:1'", lambda)?;
        let mut course = Course::default();
        for i in 0..stream.rows.len() {
            let scores = learner.learn(&Batch::new(stream.rows.row(i), stream.rows.features))?;
            course.scores.push(scores.values[0]);
            course.eta.push(learner.eta());
        }
        Ok(course)
    }

    /// The average loss max(0, 1 - f(x)).
    pub fn loss(&self) -> f64 {
        self.scores.iter().map(|f| (1.0 - f).max(0.0)).sum::<f64>() / self.scores.len() as f64
    }

    /// The share of alerts among these examples.
    pub fn alerts(&self, range: std::ops::Range<usize>) -> f64 {
        self.scores[range.clone()].iter().filter(|f| **f < 1.0).count() as f64 / range.len() as f64
    }
}

/// One rule at one lambda.
#[derive(Clone, Debug)]
pub struct Row {
    /// The regulariser.
    pub lambda: f64,
    /// The rule.
    pub rule: Rule,
    /// The passes over the shuffles.
    pub courses: Vec<Course>,
}

impl Row {
    /// A figure of every pass.
    pub fn over(&self, value: impl Fn(&Course) -> f64) -> Spread {
        Spread::of(self.courses.iter().map(value))
    }
}

/// All rules at every lambda.
pub struct Outcome {
    /// Three per lambda: the tuned schedule, SVMD as published, with safeguards.
    pub rows: Vec<Row>,
}

/// Every rule at every lambda; tau is the one with the least loss on the shuffles that are not shown.
///
/// # Errors
/// After Ctrl-C.
pub fn measure(context: &Context, bench: &Bench) -> anyhow::Result<Outcome> {
    let mut rows = Vec::new();
    for lambda in LAMBDAS {
        context.step(format!("novelty, lambda = {lambda}"))?;
        let courses = |rule: Rule, streams: &[Stream]| -> anyhow::Result<Vec<Course>> {
            streams.iter().map(|stream| Course::run(rule, lambda, stream)).collect()
        };
        let mut best = (f64::MAX, TAUS[0]);
        for tau in TAUS {
            let loss = courses(Rule::Schedule(tau), &bench.tuning)?.iter().map(Course::loss).sum();
            best = if loss < best.0 { (loss, tau) } else { best };
        }
        for rule in [Rule::Schedule(best.1), Rule::Published, Rule::Guarded] {
            rows.push(Row { lambda, rule, courses: courses(rule, &bench.shown)? });
        }
    }
    Ok(Outcome { rows })
}
