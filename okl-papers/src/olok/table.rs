//! One data set: every method with its error and time, the course of one pass, the sweep over widths.

use okl::{Batch as Examples, Learner};

use super::batch::Rls;
use super::online::{Keep, Setting, error};
use super::problem::{Problem, Source};
use super::tune::{self, Batch, PASSES, Tuning, WIDTHS};
use crate::Context;
use crate::stats::Spread;

/// A method of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Method {
    /// vv-RLS.
    Rls(Batch),
    /// OLOK, as a setting and a number of passes.
    Olok(Kind, Setting, u64),
}

impl Method {
    /// Which OLOK it is.
    pub fn kind(&self) -> Option<Kind> {
        if let Method::Olok(kind, ..) = self { Some(*kind) } else { None }
    }
}

/// A special property of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The paper's eta_t = 0.1/sqrt t, lambda = 3 (E13).
    First,
    /// The paper's eta_t = 1/sqrt t, lambda = 3, which overshoots (E13).
    Second,
    /// The second reading, truncated.
    SecondTruncated,
    /// Algorithm 1 with lambda and eta tuned.
    Plain,
    /// Schedule and average tuned as well.
    Free,
    /// The same in as many passes as it takes.
    Passes,
    /// Truncated by Theorem O1, tuned.
    Truncated,
    /// The newest n^0.8 terms, tuned.
    Newest,
    /// Merged to n^0.8 terms, tuned.
    Merged,
    /// Merged to n^0.9 terms in as many passes as it takes.
    MergedPasses,
}

/// The results of a method.
#[derive(Clone, Debug)]
pub struct Row {
    /// Which one.
    pub method: Method,
    /// The error on the test set of every shuffle.
    pub errors: Vec<f64>,
    /// Of the first shuffle, on one thread.
    pub seconds: f64,
    /// Terms at the end.
    pub terms: usize,
}

impl Row {
    /// Mean and deviation over the shuffles.
    pub fn spread(&self) -> Spread {
        Spread::of(self.errors.iter().copied())
    }
}

/// The test error at one width after few rows.
#[derive(Clone, Copy, Debug)]
pub struct Width {
    /// mu.
    pub mu: f64,
    /// vv-RLS with its best regulariser.
    pub rls: f64,
    /// OLOK with its best setting, in one pass.
    pub olok: f64,
}

/// One data set, measured.
pub struct Measured {
    /// The data set.
    pub source: Source,
    /// Rows to learn from, rows to test on.
    pub sizes: (usize, usize),
    /// The methods; vv-RLS first.
    pub rows: Vec<Row>,
    /// Test errors over examples, one pass of the first shuffle.
    pub courses: Vec<(Kind, Vec<(f64, f64)>)>,
    /// Passes, seconds and test error, first shuffle; empty where one pass is enough.
    pub passes: Vec<(u64, f64, f64)>,
    /// Rows of the sweep.
    pub sweep_rows: usize,
    /// The sweep.
    pub widths: Vec<Width>,
}

impl Measured {
    /// The row of a kind.
    pub fn row(&self, kind: Kind) -> Option<&Row> {
        self.rows.iter().find(|row| row.method.kind() == Some(kind))
    }

    /// By how much a row's error exceeds that of vv-RLS, and the share of its time it takes.
    pub fn against(&self, row: &Row) -> (f64, f64) {
        let rls = &self.rows[0];
        (row.spread().mean / rls.spread().mean - 1.0, row.seconds / rls.seconds)
    }
}

/// Steps of the progress bar.
pub const STEPS: usize = 5;

/// Tunes on the first shuffle, then learns every shuffle.
///
/// # Errors
/// After Ctrl-C.
pub fn measure(context: &Context, source: Source) -> anyhow::Result<Measured> {
    let name = source.name;
    let shuffles = context.sized(3, 2);
    let problems: Vec<Problem> = (0..shuffles).map(|shuffle| source.shuffled(context, shuffle)).collect();
    let first = &problems[0];
    let tuning = Tuning::new(&first.train, context.sized(4000, 200));
    context.step(format!("{name}: widths"))?;
    let (widths, found) = sweep(context, first)?;
    let mus: Vec<f64> = tune::neighbours(&found).iter().map(|b| b.mu).collect();
    context.step(format!("{name}: vv-RLS, tuning"))?;
    let rls = Batch::refined(&found, &tuning)?;
    let mut methods = vec![Method::Rls(rls)];
    context.step(format!("{name}: OLOK, tuning"))?;
    methods.extend(chosen(&tuning, &mus, first.train.len(), rls.error)?);
    context.step(format!("{name}: every method"))?;
    let rows = methods.iter().map(|method| run(context, *method, &problems)).collect::<anyhow::Result<_>>()?;
    context.step(format!("{name}: courses"))?;
    let mut courses = Vec::new();
    let mut passes = Vec::new();
    for method in methods {
        match method {
            Method::Olok(kind, setting, _) if DRAWN.contains(&kind) => courses.push((kind, course(&setting, first)?)),
            Method::Olok(Kind::Passes, setting, _) => passes = in_passes(context, &setting, first)?,
            _ => {}
        }
    }
    let sizes = (first.train.len(), first.test.len());
    Ok(Measured { sizes, rows, courses, passes, sweep_rows: sweep_rows(context), widths, source })
}

/// Whose course is drawn.
const DRAWN: [Kind; 5] = [Kind::First, Kind::Plain, Kind::Newest, Kind::Merged, Kind::Free];

fn sweep_rows(context: &Context) -> usize {
    context.sized(1500, 100)
}

/// Every width with few rows, and the settings that cross-validation found for vv-RLS.
fn sweep(context: &Context, problem: &Problem) -> anyhow::Result<(Vec<Width>, Vec<Batch>)> {
    let rows = problem.train.split(sweep_rows(context)).0;
    let tuning = Tuning::new(&rows, rows.len());
    let (mut widths, mut found) = (Vec::new(), Vec::new());
    for &mu in context.sized(&WIDTHS[..], &tune::FEW_WIDTHS) {
        let rls = Batch::cross_validated(&rows, mu)?;
        let (setting, _) = tuning.best(&tune::free(&[mu], &[0.0, 1e-3, 3e-3]))?;
        let olok = error(&setting.fit(&rows, 1)?, &problem.test)?;
        widths.push(Width { mu, rls: Rls::fit(&rows, mu, rls.lambda)?.error(&problem.test), olok });
        found.push(rls);
    }
    Ok((widths, found))
}

/// Within so much of the error of vv-RLS on the rows held out, passes are enough: with all terms, and with few.
const GOALS: [f64; 2] = [1.05, 1.2];

/// The settings of every kind; several passes only where one is not enough.
fn chosen(tuning: &Tuning, mus: &[f64], n: usize, rls: f64) -> anyhow::Result<Vec<Method>> {
    let terms = |exponent: f64| (n as f64).powf(exponent).round() as usize;
    let published = |eta: f64, overshoot: bool, keep: Keep| -> Vec<Setting> {
        mus.iter().map(|mu| Setting { overshoot, keep, ..Setting::plain(*mu, 3.0, eta) }).collect()
    };
    let families = [
        (Kind::First, published(0.1, false, Keep::All)),
        (Kind::Second, published(1.0, true, Keep::All)),
        (Kind::SecondTruncated, published(1.0, true, Keep::Theorem(0.3))),
        (Kind::Plain, tune::plain(mus)),
        (Kind::Free, tune::free(mus, &[0.0, 1e-3, 3e-4])),
        (Kind::Truncated, tune::truncated(mus, tuning.rows())),
        (Kind::Newest, tune::bounded(mus, Keep::Newest(terms(0.8)))),
        (Kind::Merged, tune::bounded(mus, Keep::Merged(terms(0.8)))),
    ];
    let mut methods = Vec::new();
    for (kind, settings) in families {
        let (setting, error) = tuning.best(&settings)?;
        methods.push(Method::Olok(kind, setting, 1));
        let (kind, keep, goal, most) = match kind {
            Kind::Free => (Kind::Passes, Keep::All, GOALS[0] * rls, PASSES[PASSES.len() - 1]),
            Kind::Merged => (Kind::MergedPasses, Keep::Merged(terms(0.9)), GOALS[1] * rls, 8),
            _ => continue,
        };
        if error > goal {
            let (setting, passes) = tuning.best_in_passes(&tune::repeated(mus, keep), goal, most)?;
            methods.push(Method::Olok(kind, setting, passes));
        }
    }
    Ok(methods)
}

/// The fitted function of a method.
enum Fitted {
    Rls(Rls),
    Olok(Box<Learner>),
}

impl Fitted {
    fn new(method: Method, problem: &Problem) -> anyhow::Result<Self> {
        Ok(match method {
            Method::Rls(Batch { mu, lambda, .. }) => Fitted::Rls(Rls::fit(&problem.train, mu, lambda)?),
            Method::Olok(_, setting, passes) => Fitted::Olok(setting.fit(&problem.train, passes)?.into()),
        })
    }

    fn error(&self, problem: &Problem) -> anyhow::Result<f64> {
        match self {
            Fitted::Rls(rls) => Ok(rls.error(&problem.test)),
            Fitted::Olok(learner) => error(learner, &problem.test),
        }
    }
}

/// Every shuffle; the first is timed on one thread, learning only, as the best of three (in a smoke test: once).
fn run(context: &Context, method: Method, problems: &[Problem]) -> anyhow::Result<Row> {
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let timed = || context.time(|| one.install(|| Fitted::new(method, &problems[0])));
    let (fitted, seconds) = timed();
    let seconds = (0..context.sized(2, 0)).map(|_| timed().1).fold(seconds, f64::min);
    let fitted = fitted?;
    let terms = match &fitted {
        Fitted::Rls(_) => problems[0].train.len(),
        Fitted::Olok(learner) => learner.terms(),
    };
    let mut errors = vec![fitted.error(&problems[0])?];
    for problem in &problems[1..] {
        errors.push(Fitted::new(method, problem)?.error(problem)?);
    }
    Ok(Row { method, errors, seconds, terms })
}

/// The test error while examples come in.
fn course(setting: &Setting, problem: &Problem) -> anyhow::Result<Vec<(f64, f64)>> {
    let (rows, mut learner) = (&problem.train, setting.learner(problem.train.width)?);
    let (mut points, mut first) = (Vec::new(), 0);
    for share in (0..=24).rev() {
        let last = (rows.len() as f64 * 0.8f64.powi(share)).round() as usize;
        if last > first {
            let (x, y) = (&rows.x[first * rows.features..last * rows.features], &rows.y[first * rows.width..last * rows.width]);
            learner.learn_with(&Examples::new(x, rows.features).numbers(y), |_, _| {})?;
            points.push((last as f64, error(&learner, &problem.test)?));
            first = last;
        }
    }
    Ok(points)
}

/// Error and time after each of some numbers of passes, on one thread.
fn in_passes(context: &Context, setting: &Setting, problem: &Problem) -> anyhow::Result<Vec<(u64, f64, f64)>> {
    let (mut learner, mut points, mut total) = (setting.learner(problem.train.width)?, Vec::new(), 0.0);
    for pass in 0..PASSES[PASSES.len() - 1] {
        let (done, seconds) = context.time(|| setting.pass(&mut learner, &problem.train, pass));
        done?;
        total += seconds;
        if PASSES.contains(&(pass + 1)) {
            points.push((pass + 1, total, error(&learner, &problem.test)?));
        }
    }
    Ok(points)
}
