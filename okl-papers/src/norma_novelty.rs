//! NORMA, section 5: USPS without labels, one pass, nu = 0.01, step sizes proportional to t^(-1/2); which digits are novel?
//!
//! ```text
//! f <- (1 - eta lambda) f + eta 1{f(x) < rho} k(x, .)        rho <- max(0, rho - eta (1{f(x) < rho} - nu))        N(16), E3
//! ```
//!
//! Only the product eta lambda matters (E11), so lambda = 1. The author's script shrinks f at alerts only (algorithms.md 7.1), and with
//! its step sizes 0.5 t^(-1/2) the rate is nu. As printed, f is shrunk at every pattern: the sum of all coefficients then settles near
//! nu, while one alert moves rho by eta, so the steps have to be small against nu, or rho is held at its projection, 0. So
//! each nu is learned as in the script, and as printed with the step sizes 0.5 t^(-1/2) and nu t^(-1/2), the latter decided twice, by
//! rho and by the tracker (the averaged score against a quantile of its own).
//!
//! Whether what is novel is badly written is measured with labels that the detector has not seen: among the digits of the
//! test set that it finds most novel, how many does a classifier get wrong?

mod shown;

use okl::{Batch, Config, Learner};

use super::data::{self, Data, Rows};
use super::page::Page;
use super::stats::Spread;
use super::{Context, Size};

/// The rates of alerts that are asked for; the first is the paper's.
pub const RATES: [f64; 3] = [0.01, 0.05, 0.2];
/// eta_1 of the author's script.
const PAPER_ETA: f64 = 0.5;
/// Alerts are counted over so many patterns.
const WINDOW: usize = 1000;
/// Patterns that are shown, as in the paper.
const SHOWN: usize = 50;

/// Which step sizes, what decides, and when f is shrunk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// The rate of alerts that is asked for.
    pub nu: f64,
    /// Whether the step sizes are those of the author's script; false for nu t^(-1/2).
    pub paper_steps: bool,
    /// Whether the averaged score is compared with a tracked quantile; false if f is compared with rho.
    pub tracker: bool,
    /// Whether f is shrunk only at alerts, as in the author's script; false if it is shrunk at every pattern, as in the paper.
    pub on_update: bool,
}

impl Setting {
    /// All of one rate.
    pub fn all(nu: f64) -> [Setting; 5] {
        let printed = |paper_steps, tracker| Setting { nu, paper_steps, tracker, on_update: false };
        let script = Setting { on_update: true, ..printed(true, false) };
        [printed(true, false), printed(true, true), printed(false, false), printed(false, true), script]
    }

    fn eta(&self) -> f64 {
        if self.paper_steps { PAPER_ETA } else { self.nu }
    }

    fn learner(&self) -> anyhow::Result<Learner> {
        let threshold = if self.tracker { "tracker:0.05" } else { "norma" };
        let shrink = if self.on_update { "on_update" } else { "always" };
        Ok(Learner::new(Config::from_toml(&format!(
            "loss = 'nu_novelty:{}'\nkernel = 'gaussian:{}'\nstep = 'inverse_sqrt:{}'\nlambda = 1\nbudget = 'window:1000'\nthreshold = '{threshold}'\nshrink = '{shrink}'",
            self.nu,
            1.0 / 128.0,
            self.eta()
        ))?)?)
    }
}

/// One pattern as it was judged before it was learned.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// Its score.
    pub score: f64,
    /// The threshold that the score was compared with; none while the tracker collects its first scores.
    pub threshold: Option<f64>,
    /// Whether it was an alert.
    pub alert: Option<bool>,
}

/// One pass over one order of the patterns.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Every pattern in the order of the pass.
    pub judged: Vec<Judged>,
    /// Scores less threshold of the training set as it stands in its file, after the pass.
    pub train: Vec<f64>,
    /// The same of the test set.
    pub test: Vec<f64>,
    /// Terms at the end.
    pub terms: usize,
    /// How far the rate can be from nu, whatever the data.
    pub bound: f64,
}

impl Pass {
    fn learn(setting: &Setting, data: &Data, order: &[usize]) -> anyhow::Result<Self> {
        let (mut learner, mut judged) = (setting.learner()?, Vec::with_capacity(order.len()));
        let rows = data.train.gather(order);
        learner.learn_with(&Batch::new(&rows.x, rows.features), |_, step| {
            judged.push(Judged { score: step.scores[0], threshold: step.threshold, alert: step.outside });
        })?;
        let threshold = learner.threshold().unwrap_or(0.0);
        let after = |rows: &Rows| {
            let scores = learner.predict(&Batch::new(&rows.x, rows.features))?;
            anyhow::Ok(scores.values.iter().map(|score| score - threshold).collect())
        };
        let bound = learner.alert_rate().map_or(f64::NAN, |rate| rate.bound);
        Ok(Pass { train: after(&data.train)?, test: after(&data.test)?, terms: learner.terms(), bound, judged })
    }

    /// The share of alerts among those patterns of the second half, or of all, that were judged.
    pub fn rate(&self, second_half: bool) -> f64 {
        let first = if second_half { self.judged.len() / 2 } else { 0 };
        share(self.judged[first..].iter().filter_map(|j| j.alert))
    }

    /// The share of alerts in the test set.
    pub fn test_rate(&self) -> f64 {
        share(self.test.iter().map(|difference| *difference < 0.0))
    }

    /// The share of patterns that met rho = 0, where nothing can be novel.
    pub fn held(&self) -> f64 {
        share(self.judged.iter().filter_map(|j| j.threshold).map(|threshold| threshold == 0.0))
    }

    /// The rate of alerts over the last patterns, from when there are enough.
    fn course(&self, window: usize) -> Vec<(f64, f64)> {
        let alerts: Vec<(usize, bool)> = self.judged.iter().enumerate().filter_map(|(t, j)| Some((t + 1, j.alert?))).collect();
        let every = (alerts.len() / 200).max(1);
        let windows = alerts.windows(window).step_by(every);
        windows.map(|w| (w[window - 1].0 as f64, share(w.iter().map(|a| a.1)))).collect()
    }
}

fn share(these: impl Iterator<Item = bool>) -> f64 {
    let (n, yes) = these.fold((0, 0), |(n, yes), this| (n + 1, yes + usize::from(this)));
    yes as f64 / f64::from(n.max(1))
}

/// The most novel patterns, the strangest first.
pub fn most_novel(scores: &[f64], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| scores[*a].total_cmp(&scores[*b]).then(a.cmp(b)));
    order.truncate(count);
    order
}

/// The predictions for the test set by a classifier trained with the labels.
#[derive(Clone, Debug)]
pub struct Yardstick {
    /// The digit it says.
    pub said: Vec<i64>,
    /// Whether the prediction is wrong.
    pub wrong: Vec<bool>,
}

impl Yardstick {
    fn learn(data: &Data, order: &[usize]) -> anyhow::Result<Self> {
        let config = "loss = 'max_margin'\nkernel = 'gaussian:0.0078125'\nstep = 'decay:eta=1,tau=1000'\nlambda = 1e-4\nbudget = 'unlimited'\naverage = 'uniform'";
        let mut learner = Learner::new(Config::from_toml(config)?)?;
        let rows = data.train.gather(order);
        learner.learn(&Batch::new(&rows.x, rows.features).labels(&rows.labels()))?;
        let scores = learner.predict(&Batch::new(&data.test.x, data.test.features))?;
        let digit = |i: usize| {
            let best = scores
                .row(i)
                .iter()
                .enumerate()
                .fold((0, f64::MIN), |best, (class, z)| if *z > best.1 { (class, *z) } else { best });
            match &learner.classes()[best.0] {
                okl::Label::Int(digit) => *digit,
                okl::Label::Text(_) => -1,
            }
        };
        let said: Vec<i64> = (0..data.test.len()).map(digit).collect();
        let wrong = said.iter().enumerate().map(|(i, digit)| *digit != data.test.target(i)[0] as i64).collect();
        Ok(Yardstick { said, wrong })
    }

    /// The share that it gets wrong among the most novel.
    pub fn wrong_among(&self, scores: &[f64]) -> f64 {
        share(most_novel(scores, SHOWN).into_iter().map(|i| self.wrong[i]))
    }

    /// The share that it gets wrong of all.
    pub fn wrong_of_all(&self) -> f64 {
        share(self.wrong.iter().copied())
    }
}

/// The mean of the kernel over all training patterns: a density that keeps every one of them.
fn kernel_mean(data: &Data) -> anyhow::Result<Vec<f64>> {
    let config = "loss = 'novelty:1e9'\nkernel = 'gaussian:0.0078125'\nstep = 'constant:1e-4'\nlambda = 0\nbudget = 'unlimited'";
    let mut learner = Learner::new(Config::from_toml(config)?)?;
    learner.learn(&Batch::new(&data.train.x, data.train.features))?;
    Ok(learner.predict(&Batch::new(&data.test.x, data.test.features))?.values)
}

/// Patterns per second.
#[derive(Clone, Copy, Debug)]
pub struct Speed {
    /// The setting.
    pub nu: f64,
    /// All patterns in one call.
    pub block: f64,
    /// One call per pattern.
    pub single: f64,
}

impl Speed {
    fn measure(context: &Context, nu: f64, rows: &Rows) -> anyhow::Result<Self> {
        let [setting, ..] = Setting::all(nu);
        let mut best = [f64::MAX; 2];
        for _ in 0..context.sized(5, 1) {
            for (best, at_once) in best.iter_mut().zip([rows.len(), 1]) {
                let mut learner = setting.learner()?;
                let mut blocks = rows.x.chunks(at_once * rows.features);
                let (done, seconds) =
                    context.time(|| blocks.try_for_each(|x| learner.learn(&Batch::new(x, rows.features)).map(drop)));
                done?;
                *best = best.min(seconds);
            }
        }
        let [block, single] = best.map(|seconds| rows.len() as f64 / seconds);
        Ok(Speed { nu, block, single })
    }
}

/// All that is measured.
pub struct Outcome {
    /// The patterns.
    pub data: Data,
    /// The first order of the patterns.
    pub order: Vec<usize>,
    /// Every setting, with a pass for each shuffle.
    pub settings: Vec<(Setting, Vec<Pass>)>,
    /// Judges what was found.
    pub yardstick: Yardstick,
    /// Wrong among those that are farthest from the kernel mean.
    pub kernel_mean: f64,
    /// How fast.
    pub speeds: Vec<Speed>,
    /// Alerts are counted over so many patterns.
    pub window: usize,
}

impl Outcome {
    /// The passes of a setting.
    pub fn passes(&self, wanted: Setting) -> &[Pass] {
        self.settings.iter().find(|(setting, _)| *setting == wanted).map_or(&[], |(_, passes)| passes)
    }

    /// The share that the yardstick gets wrong among the most novel of each pass.
    pub fn wrong(&self, passes: &[Pass]) -> Spread {
        Spread::of(passes.iter().map(|pass| self.yardstick.wrong_among(&pass.test)))
    }
}

/// Measures everything.
///
/// # Errors
/// If the data cannot be read.
pub fn measure(context: &Context) -> anyhow::Result<Outcome> {
    let shuffles = match context.size {
        Size::Smoke => 2,
        Size::Usual => 5,
        Size::Full => 20,
    };
    context.steps(RATES.len() * 5 + 3);
    context.step("reading USPS")?;
    let data = context.load(&data::USPS)?;
    let order = |shuffle: u64| context.order(data.train.len(), shuffle);
    let mut settings = Vec::new();
    for setting in RATES.iter().flat_map(|nu| Setting::all(*nu)) {
        context.step(format!("nu = {}, {} passes", setting.nu, shuffles))?;
        let passes = (0..shuffles).map(|shuffle| Pass::learn(&setting, &data, &order(shuffle)));
        settings.push((setting, passes.collect::<anyhow::Result<_>>()?));
    }
    context.step("a classifier that has seen the labels")?;
    let yardstick = Yardstick::learn(&data, &order(0))?;
    let kernel_mean = yardstick.wrong_among(&kernel_mean(&data)?);
    context.step("patterns per second")?;
    let rows = data.train.gather(&order(0));
    let speeds = RATES.iter().map(|nu| Speed::measure(context, *nu, &rows)).collect::<anyhow::Result<_>>()?;
    Ok(Outcome { order: order(0), data, settings, yardstick, kernel_mean, speeds, window: context.sized(WINDOW, 100) })
}

/// The page.
///
/// # Errors
/// If the data cannot be read.
pub fn run(context: &Context) -> anyhow::Result<Page> {
    Ok(shown::page(&measure(context)?))
}
