//! OLOK through the engine: `f <- (1 - eta_t lambda) f - eta_t K(x_t, .) (f(x_t) - y_t)`, K = exp(-|x - x'|²/mu) J.

use okl::{Batch, Config, Learner};

use crate::data::Rows;
use okl_cli::random;

/// Which terms are kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keep {
    /// All.
    All,
    /// The newest s_t = max(t^(1/2 + epsilon), t_0), as Theorem O1 has it.
    Theorem(f64),
    /// So many, the newest.
    Newest(usize),
    /// So many; what is dropped is merged into its neighbours.
    Merged(usize),
}

/// A learner of the family.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// The kernel's width.
    pub mu: f64,
    /// The regulariser.
    pub lambda: f64,
    /// The (first) step size.
    pub eta: f64,
    /// Whether the step size is eta t^(-1/2); false if it is constant.
    pub falling: bool,
    /// The proximal step: no eta is too large for it.
    pub implicit: bool,
    /// The rate of an exponential average of the hypotheses; 0 for none.
    pub average: f64,
    /// Which terms are kept.
    pub keep: Keep,
    /// Whether eta lambda may exceed 1.
    pub overshoot: bool,
}

impl Setting {
    /// Algorithm 1 as it stands: eta t^(-1/2), explicit, no average.
    pub fn plain(mu: f64, lambda: f64, eta: f64) -> Self {
        Setting { mu, lambda, eta, falling: true, implicit: false, average: 0.0, keep: Keep::All, overshoot: false }
    }

    /// f = 0, for so many outputs.
    ///
    /// # Errors
    /// If the engine refuses the setting.
    pub fn learner(&self, outputs: usize) -> anyhow::Result<Learner> {
        let budget = match self.keep {
            Keep::All => "unlimited".into(),
            Keep::Theorem(epsilon) => format!("olok:{epsilon}"),
            Keep::Newest(terms) => format!("window:{terms}"),
            Keep::Merged(terms) => format!("merge:{terms}"),
        };
        let average = if self.average > 0.0 { format!("exponential:{}", self.average) } else { "none".into() };
        let config = Config::from_toml(&format!(
            "loss = 'squared'\nkernel = 'gaussian:{:e}'\noperator = {:?}\nstep = '{}:{:e}'\nimplicit = {}\nlambda = {:e}\naverage = '{average}'\nbudget = '{budget}'\nallow_overshoot = {}",
            1.0 / self.mu,
            equicorrelated(outputs),
            if self.falling { "inverse_sqrt" } else { "constant" },
            self.eta,
            self.implicit,
            self.lambda,
            self.overshoot,
        ))?;
        Ok(Learner::new(config)?)
    }

    /// After some passes over these rows; one pass takes them as they come.
    ///
    /// # Errors
    /// If the engine refuses the setting.
    pub fn fit(&self, rows: &Rows, passes: u64) -> anyhow::Result<Learner> {
        let mut learner = self.learner(rows.width)?;
        if passes == 1 {
            learner.learn_with(&Batch::new(&rows.x, rows.features).numbers(&rows.y), |_, _| {})?;
        } else {
            (0..passes).try_for_each(|pass| self.pass(&mut learner, rows, pass))?;
        }
        Ok(learner)
    }

    /// Pass number `pass` (from 0), in an order of its own; where all terms are kept, a known row adds onto its term.
    ///
    /// # Errors
    /// If the rows do not fit the learner.
    pub fn pass(&self, learner: &mut Learner, rows: &Rows, pass: u64) -> anyhow::Result<()> {
        let order: Vec<usize> = random::order(rows.len(), 1, pass).into_iter().map(|row| row as usize).collect();
        let ids: Vec<u64> = order.iter().map(|row| *row as u64).collect();
        let rows = rows.gather(&order);
        let batch = Batch::new(&rows.x, rows.features).numbers(&rows.y);
        let batch = if self.keep == Keep::All { batch.ids(&ids) } else { batch };
        Ok(learner.learn_with(&batch, |_, _| {})?)
    }
}

/// J: 1 on the diagonal and 1/10 elsewhere.
pub fn equicorrelated(outputs: usize) -> Vec<f64> {
    (0..outputs * outputs).map(|i| if i / outputs == i % outputs { 1.0 } else { 0.1 }).collect()
}

/// The mean squared error of a learner, per output.
///
/// # Errors
/// If the rows do not fit the learner.
pub fn error(learner: &Learner, rows: &Rows) -> anyhow::Result<f64> {
    Ok(mean_square(&learner.predict(&Batch::new(&rows.x, rows.features))?.values, &rows.y))
}

/// The mean squared difference.
pub fn mean_square(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>() / a.len() as f64
}
