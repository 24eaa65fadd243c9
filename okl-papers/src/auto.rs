//! Settings that nobody chooses, against the best of 36 chosen in hindsight: streams that stand still, drift and jump.
//!
//! Every stream is learned once, in its order, each example predicted before it is learned. `auto` is given the loss, an offset and
//! the number of terms; a plain learner of the grid a width, a regulariser and a step size as well, and columns in units of their
//! deviation. The best of the grid is chosen by the very error that is then compared.

mod shown;
pub mod streams;

use okl::{Batch, Config, Label, Learner};

use super::Context;
use super::data::named;
use super::page::Page;
use streams::Stream;

/// Widths, in units of the median heuristic's.
const WIDTHS: [f64; 3] = [0.25, 1.0, 4.0];
const LAMBDAS: [f64; 3] = [1e-6, 1e-4, 1e-2];
const STEPS: [&str; 4] = ["constant:0.1", "constant:1", "inverse_sqrt:1", "decay:eta=1,tau=1000"];
/// Every timed run is repeated this often, in turns; the fastest time counts.
const ROUNDS: usize = 5;

/// One stream, learned by a learner.
#[derive(Clone, Debug)]
pub struct Run {
    /// The share of wrong decisions, or the mean squared residual.
    pub error: f64,
    /// To learn it.
    pub seconds: f64,
    /// As it was left.
    pub learner: Learner,
}

/// The results on one stream.
pub struct Outcome {
    /// Its name.
    pub name: &'static str,
    /// Examples and features.
    pub shape: (usize, usize),
    /// Whether the error is the squared residual; false if mistakes are counted.
    pub numbers: bool,
    /// Without a setting.
    pub auto: Run,
    /// The best explicit step of the grid, and the best proximal one: what it was, and how it went.
    pub best: [(String, Run); 2],
    /// `auto`, `auto` with the width given, and the plain learner with the settings that `auto` settled on: the fastest of several
    /// runs, taken in turns.
    pub timed: [Run; 3],
}

impl Outcome {
    /// The error of `auto` in units of the grid's best.
    pub fn ratio(&self, proximal: bool) -> f64 {
        self.auto.error / self.best[usize::from(proximal)].1.error
    }

    /// The cost of `auto` relative to one plain learner: with several widths, and with several steps and regularisers alone.
    pub fn cost(&self) -> [f64; 2] {
        let [all, given, plain] = &self.timed;
        [all.seconds / plain.seconds, given.seconds / plain.seconds]
    }
}

fn terms(context: &Context) -> usize {
    context.sized(500, 40)
}

/// Learns a stream from its first row to its last.
///
/// # Errors
/// If the settings are refused.
pub fn learn(context: &Context, stream: &Stream, settings: &str) -> anyhow::Result<Run> {
    let terms = terms(context);
    let config = format!("loss = '{}'\noffset = true\nbudget = 'merge:{terms}'\n{settings}", stream.loss);
    learn_with(context, stream, Config::from_toml(&config)?)
}

fn learn_with(context: &Context, stream: &Stream, config: Config) -> anyhow::Result<Run> {
    let mut learner = Learner::new(config)?;
    let (rows, labels) = (&stream.rows, stream.labels());
    let batch = Batch::new(&rows.x, rows.features);
    let batch = if stream.numbers() { batch.numbers(&rows.y) } else { batch.labels(&labels) };
    let mut said = Vec::with_capacity(rows.y.len());
    let (learned, seconds) = context.time(|| learner.learn_with(&batch, |_, step| said.push(step.scores.to_vec())));
    learned?;
    let error = said.iter().enumerate().map(|(i, z)| lost(stream, &learner, &labels, i, z)).sum::<f64>() / rows.len() as f64;
    Ok(Run { error, seconds, learner })
}

fn lost(stream: &Stream, learner: &Learner, labels: &[Label], i: usize, scores: &[f64]) -> f64 {
    if stream.numbers() {
        return scores.iter().zip(stream.rows.target(i)).map(|(z, y)| (z - y) * (z - y)).sum();
    }
    f64::from(u8::from(named(learner, scores) != Some(&labels[i])))
}

/// The width that the median heuristic finds in the first rows.
fn median_width(context: &Context, stream: &Stream) -> anyhow::Result<f64> {
    let first = Stream { rows: stream.rows.split(256).0, ..*stream };
    let run = learn(context, &first, "scale = 'standard'\ngamma = 'median'\nlambda = 1e-3\nstep = 'constant:0.1'")?;
    let kernel = run.learner.engine().terms().space().kernels()[0].clone();
    anyhow::Context::context(okl::kernel::DotKernel::gaussian_gamma(&kernel), "a Gaussian kernel")
}

fn grid(median: f64, proximal: bool) -> impl Iterator<Item = (String, String)> {
    let each = WIDTHS.into_iter().flat_map(|w| LAMBDAS.into_iter().map(move |l| (w, l)));
    each.flat_map(move |(width, lambda)| {
        STEPS.into_iter().map(move |step| {
            let name = format!("{step}, λ = {lambda}, γ = {width} × median");
            let gamma = width * median;
            (name, format!("scale = 'standard'\ngamma = {gamma}\nlambda = {lambda:e}\nstep = '{step}'\nimplicit = {proximal}"))
        })
    })
}

/// Runs `auto` and the grid on one stream.
///
/// # Errors
/// After Ctrl-C.
pub fn measure(context: &Context, stream: &Stream) -> anyhow::Result<Outcome> {
    context.step(format!("{}: without settings", stream.name))?;
    let (auto, median) = (learn(context, stream, "")?, median_width(context, stream)?);
    let mut best = Vec::new();
    for proximal in [false, true] {
        let mut found: Option<(String, Run)> = None;
        for (name, settings) in grid(median, proximal) {
            context.step(format!("{}: {name}", stream.name))?;
            let run = learn(context, stream, &settings)?;
            if run.error.is_finite() && found.as_ref().is_none_or(|(_, best)| run.error < best.error) {
                found = Some((name, run));
            }
        }
        best.push(found.ok_or_else(|| anyhow::anyhow!("{}: no setting of the grid stays finite", stream.name))?);
    }
    let timed = timed(context, stream, median, &auto.learner)?;
    let best = best.try_into().map_err(|_| anyhow::anyhow!("two grids have two winners"))?;
    let shape = (stream.rows.len(), stream.rows.features);
    Ok(Outcome { name: stream.name, shape, numbers: stream.numbers(), auto, best, timed })
}

fn timed(context: &Context, stream: &Stream, median: f64, auto: &Learner) -> anyhow::Result<[Run; 3]> {
    let given = format!("scale = 'standard'\ngamma = {median}");
    let mut rounds = (0..context.sized(ROUNDS, 1)).map(|_| {
        let plain = learn_with(context, stream, auto.freeze()?.config().clone())?;
        Ok([learn(context, stream, "")?, learn(context, stream, &given)?, plain])
    });
    let first: anyhow::Result<[Run; 3]> = rounds.next().unwrap_or_else(|| anyhow::bail!("at least one round"));
    rounds.try_fold(first?, |mut best, round| {
        best.iter_mut().zip(round?).filter(|(best, run)| run.seconds < best.seconds).for_each(|(best, run)| *best = run);
        Ok(best)
    })
}

pub(super) fn run(context: &Context) -> anyhow::Result<Page> {
    let streams = streams::all(context)?;
    let each = 1 + 2 * WIDTHS.len() * LAMBDAS.len() * STEPS.len();
    context.steps(each * streams.len());
    let outcomes = streams.iter().map(|stream| measure(context, stream)).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(shown::page(context, &outcomes))
}
