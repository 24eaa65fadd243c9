//! Learning and testing.

use okl::{Batch, Config, Learner};

use super::problem::Problem;
use super::setting::Setting;
use super::{Context, PASSES, SHUFFLES};
use crate::data::{Data, Rows, named};
use crate::stats::Spread;

/// One shuffle, learned and tested.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The share of test rows that are named rightly.
    pub accuracy: f64,
    /// Terms at the end.
    pub terms: usize,
    /// To learn all passes.
    pub seconds: f64,
}

impl Run {
    /// Learns `rows` once in each of these orders, and is tested after that.
    pub fn learn(context: &Context, config: &str, rows: &Rows, orders: &[Vec<usize>], test: &Rows) -> anyhow::Result<Self> {
        let mut learner = Learner::new(Config::from_toml(config)?)?;
        let mut seconds = 0.0;
        for order in orders {
            let part = rows.gather(order);
            let (labels, ids) = (part.labels(), order.iter().map(|row| *row as u64).collect::<Vec<_>>());
            let batch = Batch::new(&part.x, part.features).labels(&labels);
            // A row that comes again adds onto its term.
            let batch = if orders.len() > 1 { batch.ids(&ids) } else { batch };
            let (learned, time) = context.time(|| learner.learn_with(&batch, |_, _| {}));
            learned?;
            seconds += time;
        }
        Ok(Run { accuracy: accuracy(&learner, test)?, terms: learner.terms(), seconds })
    }
}

/// The share of rows that are named rightly.
fn accuracy(learner: &Learner, rows: &Rows) -> anyhow::Result<f64> {
    let scores = learner.predict(&Batch::new(&rows.x, rows.features))?;
    let labels = rows.labels();
    let right = (0..rows.len()).filter(|i| named(learner, scores.row(*i)) == Some(&labels[*i])).count();
    Ok(right as f64 / rows.len() as f64)
}

/// One setting over all shuffles.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The setting of the run.
    pub setting: Setting,
    /// The budget, as it is typed.
    pub budget: String,
    /// Passes over the training set.
    pub passes: u64,
    /// Examples learned in a run.
    pub examples: u64,
    /// One per shuffle.
    pub runs: Vec<Run>,
}

impl Measured {
    /// Learns every shuffle.
    ///
    /// # Errors
    /// After Ctrl-C.
    pub fn new(
        context: &Context,
        problem: &Problem,
        data: &Data,
        setting: Setting,
        budget: String,
        passes: u64,
    ) -> anyhow::Result<Self> {
        context.step(format!("{}, {budget}", problem.set.name))?;
        let (rows, examples) = (data.train.len(), passes * data.train.len() as u64);
        let config = setting.config(problem, &budget, examples);
        let run = |shuffle: u64| {
            let orders: Vec<_> = (0..passes).map(|pass| context.order(rows, shuffle * PASSES + pass)).collect();
            Run::learn(context, &config, &data.train, &orders, &data.test)
        };
        let runs = (0..context.sized(SHUFFLES, 2)).map(run).collect::<anyhow::Result<_>>()?;
        Ok(Measured { setting, budget, passes, examples, runs })
    }

    /// On the test set.
    pub fn accuracy(&self) -> Spread {
        Spread::of(self.runs.iter().map(|run| run.accuracy))
    }

    /// The most terms of any run.
    pub fn terms(&self) -> usize {
        self.runs.iter().map(|run| run.terms).max().unwrap_or(0)
    }

    /// To learn, of the fastest run.
    pub fn seconds(&self) -> f64 {
        self.runs.iter().map(|run| run.seconds).fold(f64::MAX, f64::min)
    }

    /// Examples per second of the fastest run.
    pub fn speed(&self) -> f64 {
        self.examples as f64 / self.seconds()
    }
}
