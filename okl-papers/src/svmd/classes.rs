//! All ten digits under V(8): one pass over the training set, errors on the test set.

use okl::{Batch, Learner};

use super::Rule;
use crate::Context;
use crate::data::{Data, Rows};
use crate::stats::Spread;

/// The regularisers.
pub const LAMBDAS: [f64; 3] = [1e-5, 1e-4, 1e-3];
/// From which tau is chosen.
const TAUS: [f64; 4] = [100.0, 1e3, 1e4, 1e5];

/// One rule at one lambda.
#[derive(Clone, Debug)]
pub struct Row {
    /// The regulariser.
    pub lambda: f64,
    /// The rule.
    pub rule: Rule,
    /// Average error over the pass.
    pub progressive: Spread,
    /// On the test set.
    pub test: Spread,
    /// The smallest of the last step sizes.
    pub last: f64,
}

/// A pass in one order: the progressive error, and the learner.
fn pass(rule: Rule, lambda: f64, rows: &Rows) -> anyhow::Result<(f64, Learner)> {
    let mut learner = rule.learner("loss = 'max_margin'", lambda)?;
    let scores = learner.learn(&Batch::new(&rows.x, rows.features).labels(&rows.labels()))?;
    Ok((error(&scores, rows, &learner), learner))
}

/// The share of rows whose highest score is not their label's.
fn error(scores: &okl::Scores, rows: &Rows, learner: &Learner) -> f64 {
    let labels = rows.labels();
    let wrong = |i: &usize| {
        let best = scores
            .row(*i)
            .iter()
            .enumerate()
            .fold((0, f64::MIN), |best, (class, z)| if *z > best.1 { (class, *z) } else { best });
        learner.classes()[best.0] != labels[*i]
    };
    (0..rows.len()).filter(wrong).count() as f64 / rows.len() as f64
}

fn held_out(learner: &Learner, rows: &Rows) -> anyhow::Result<f64> {
    let scores = learner.predict(&Batch::new(&rows.x, rows.features))?;
    Ok(error(&scores, rows, learner))
}

/// Chooses tau on the last fifth of a shuffle of the training set.
fn tune(context: &Context, data: &Data, lambda: f64, shuffle: u64) -> anyhow::Result<f64> {
    let order = context.order(data.train.len(), shuffle);
    let (learned, held) = data.train.gather(&order).split(order.len() * 4 / 5);
    let mut best = (f64::MAX, TAUS[0]);
    for tau in TAUS {
        let found = held_out(&pass(Rule::Schedule(tau), lambda, &learned)?.1, &held)?;
        best = if found < best.0 { (found, tau) } else { best };
    }
    Ok(best.1)
}

/// Every rule at every lambda.
///
/// # Errors
/// After Ctrl-C.
pub fn measure(context: &Context, data: &Data) -> anyhow::Result<Vec<Row>> {
    let shuffles = context.sized(3, 1);
    let mut rows = Vec::new();
    for lambda in LAMBDAS {
        context.step(format!("ten classes, lambda = {lambda}"))?;
        for rule in [Rule::Schedule(tune(context, data, lambda, shuffles)?), Rule::Published, Rule::Guarded] {
            let (mut progressive, mut test, mut last) = (Vec::new(), Vec::new(), f64::MAX);
            for shuffle in 0..shuffles {
                let (error, learner) = pass(rule, lambda, &data.train.gather(&context.order(data.train.len(), shuffle)))?;
                progressive.push(error);
                test.push(held_out(&learner, &data.test)?);
                last = last.min(learner.eta());
            }
            rows.push(Row { lambda, rule, progressive: Spread::of(progressive), test: Spread::of(test), last });
        }
    }
    Ok(rows)
}
