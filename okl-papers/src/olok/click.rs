//! Click's shape, a million examples with 120 features and 16 outputs, and how the time grows.

use okl::Batch as Examples;

use super::batch::Rls;
use super::online::{Keep, Setting, error};
use super::problem;
use super::tune::{self, Tuning};
use crate::data::Rows;
use crate::{Context, Size};

/// Examples between two looks at the clock.
const BLOCK: usize = 1000;
/// Terms that are merged.
const MERGED: usize = 1000;
/// epsilon of the truncation: E14 finds it in the paper's times.
pub const EPSILON: f64 = 0.3;

/// One method over the stream.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Its setting.
    pub setting: Setting,
    /// Examples, and seconds since the start.
    pub times: Vec<(f64, f64)>,
    /// Examples, and the mean squared error of predictions before learning since the point before.
    pub errors: Vec<(f64, f64)>,
    /// On the test set at the end.
    pub test: f64,
    /// Terms at the end.
    pub terms: usize,
}

impl Pass {
    /// Seconds in all.
    pub fn seconds(&self) -> f64 {
        self.times.last().map_or(0.0, |p| p.1)
    }
}

/// All that is measured.
pub struct Outcome {
    /// Examples of the stream.
    pub examples: usize,
    /// Examples to test on.
    pub tests: usize,
    /// Threads that learn.
    pub threads: usize,
    /// OLOK, truncated, merged.
    pub passes: Vec<Pass>,
    /// Examples and seconds of vv-RLS, on the same threads.
    pub rls: Vec<(f64, f64)>,
}

/// Examples to learn from and to test on.
fn sizes(context: &Context) -> (usize, usize) {
    match context.size {
        Size::Smoke => (600, 100),
        Size::Usual => (32_000, 2_000),
        Size::Full => (1_000_000, 10_000),
    }
}

/// Steps of the progress bar.
pub fn steps(context: &Context) -> usize {
    3 * sizes(context).0.div_ceil(BLOCK) + 2
}

/// Generates, tunes, learns.
///
/// # Errors
/// After Ctrl-C.
pub fn measure(context: &Context) -> anyhow::Result<Outcome> {
    let (n, tests) = sizes(context);
    context.step("Click: generating, tuning")?;
    let (train, test) = problem::click(&mut context.random("olok click"), n + tests).split(n);
    let tuning = Tuning::new(&train, context.sized(4000, 200));
    let mus = [10.0, 30.0, 100.0];
    let theorem: Vec<Setting> =
        tune::truncated(&mus, tuning.rows()).into_iter().filter(|s| s.keep == Keep::Theorem(EPSILON)).collect();
    // An average would double what is read for every example, which is what bounds the speed here.
    let families = [tune::free(&mus, &[0.0]), theorem, tune::bounded(&mus, Keep::Merged(MERGED))];
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut passes = Vec::new();
    for family in families {
        passes.push(pass(context, tuning.best(&family)?.0, &train, &test, threads)?);
    }
    context.step("Click: vv-RLS on few examples")?;
    let rls = context.sized([500, 1000, 2000, 4000], [50, 100, 150, 200]).map(|n| {
        let rows = train.split(n).0;
        let (fitted, seconds) = context.time(|| Rls::fit(&rows, mus[1], 1e-4));
        fitted.map(|_| (n as f64, seconds))
    });
    Ok(Outcome { examples: n, tests, threads, passes, rls: rls.into_iter().collect::<anyhow::Result<_>>()? })
}

fn pass(context: &Context, setting: Setting, train: &Rows, test: &Rows, threads: usize) -> anyhow::Result<Pass> {
    let mut learner = setting.learner(train.width)?;
    learner.set_threads(threads)?;
    let (mut times, mut errors, mut total) = (Vec::new(), Vec::new(), 0.0);
    for (x, y) in train.x.chunks(BLOCK * train.features).zip(train.y.chunks(BLOCK * train.width)) {
        context.step(format!("Click: {:?}, {} examples", setting.keep, learner.examples()))?;
        let (scores, seconds) = context.time(|| learner.learn(&Examples::new(x, train.features).numbers(y)));
        total += seconds;
        let n = learner.examples() as f64;
        times.push((n, total));
        errors.push((n, super::online::mean_square(&scores?.values, y)));
    }
    Ok(Pass { setting, times, errors, test: error(&learner, test)?, terms: learner.terms() })
}

/// The exponent of the time, by least squares of logarithms over the last three doublings.
pub fn exponent(times: &[(f64, f64)]) -> f64 {
    let most = times.last().map_or(1.0, |p| p.0);
    let points: Vec<(f64, f64)> = times.iter().filter(|p| p.0 >= most / 8.0).map(|p| (libm::log(p.0), libm::log(p.1))).collect();
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), p| (x + p.0 / n, y + p.1 / n));
    let (xx, xy) = points.iter().fold((0.0, 0.0), |(xx, xy), p| (xx + (p.0 - x) * (p.0 - x), xy + (p.0 - x) * (p.1 - y)));
    if xx > 0.0 { xy / xx } else { 0.0 }
}
