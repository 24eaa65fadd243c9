//! SVMD, section 5: USPS, 500 digits of 0 against 1, then 500 of 2 against 3, with a step size that adapts itself.
//!
//! ```text
//! eta_t = eta_{t-1} max(1/2, 1 - mu <g_t, v_t>)      v <- decay (1 - eta lambda) v - eta g      V(16), V(18)
//! eta_t = eta_0 sqrt(tau / (tau + t))                the schedule it is held against
//! ```
//!
//! The Gaussian's sigma = 10 (gamma = 1/200) on 256 pixels in [-1, 1], mu = 0.1, decay = 1, eta_0 = 1. What the paper leaves
//! open: lambda, which is scanned; the labels ("split them in two classes"), here -1 for 0 and 2, +1 for 1 and 3 under the
//! hinge loss without an offset, with the other readings beside it; for which part of the stream tau was tuned, so both.
//! tau is chosen on shuffles of its own.

mod beside;
pub mod classes;
pub mod novelty;
pub mod scan;
mod shown;

use okl::{Batch, Config, Label, Learner};

use super::Context;
use super::data::{self, Rows};
use super::page::Page;
use okl_cli::random::Random;
use scan::{Cell, Tuned};

/// sigma = 10: gamma = 1 / (2 sigma²).
pub const GAMMA: f64 = 1.0 / 200.0;
/// The regulariser of both figures: the one of the scan whose step sizes have the course of the paper's Figure 2.
pub const LAMBDA: f64 = 3e-3;
/// Where it is scanned.
pub const LAMBDAS: [f64; 8] = [1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1];
/// From which tau is chosen.
pub const TAUS: [f64; 7] = [10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4];
/// One label in ten is wrong in the noisy stream.
pub const WRONG_LABELS: f64 = 0.1;

/// How the step size is found; always from eta_0 = 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// SVMD as published: mu = 0.1, decay = 1, no limits.
    Published,
    /// The same, kept in [1e-6, 1/(2 lambda)] and never more than doubled.
    Limited,
    /// SVMD with all safeguards: mu = 0.05, decay = 0.9, and the limits.
    Guarded,
    /// sqrt(tau / (tau + t)).
    Schedule(f64),
}

impl Rule {
    fn step(self) -> String {
        match self {
            Rule::Published => "smd:eta=1,preset=svmd2005".into(),
            Rule::Limited => "smd:eta=1,mu=0.1,decay=1".into(),
            Rule::Guarded => "smd:eta=1,mu=0.05,decay=0.9".into(),
            Rule::Schedule(tau) => format!("decay:eta=1,tau={tau}"),
        }
    }

    fn learner(self, loss: &str, lambda: f64) -> anyhow::Result<Learner> {
        let settings =
            format!("{loss}\nkernel = 'gaussian:{GAMMA}'\nstep = '{}'\nlambda = {lambda:e}\nbudget = 'unlimited'", self.step());
        Ok(Learner::new(Config::from_toml(&settings)?)?)
    }
}

/// The paper's stream in one shuffle.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The digits in order.
    pub rows: Rows,
    /// -1 for 0 and 2, +1 for 1 and 3: the truth.
    pub signs: Vec<f64>,
    /// The labels that are given to the learner; some are wrong on purpose.
    pub told: Vec<f64>,
}

impl Stream {
    /// The first `half` digits 0 and 1 of a shuffle, then as many 2 and 3; some labels are told wrong.
    pub fn new(context: &Context, digits: &Rows, half: usize, shuffle: u64, wrong: f64) -> Self {
        let order = context.order(digits.len(), shuffle);
        let take = |low: f64| {
            let wanted = |i: &&usize| (low..low + 2.0).contains(&digits.target(**i)[0]);
            order.iter().filter(wanted).take(half).copied().collect::<Vec<_>>()
        };
        let rows = digits.gather(&[take(0.0), take(2.0)].concat());
        let signs: Vec<f64> = rows.y.iter().map(|digit| if digit % 2.0 == 1.0 { 1.0 } else { -1.0 }).collect();
        let mut random = Random::new(context.random("svmd labels").bits() ^ shuffle);
        let told = signs.iter().map(|sign| if random.uniform() < wrong { -sign } else { *sign }).collect();
        Stream { rows, signs, told }
    }
}

/// How labels are given to the learner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// A sign under the hinge loss.
    Sign,
    /// The same with an offset, V(15).
    Offset,
    /// Two classes under V(8).
    TwoClasses,
    /// Four classes, each discovered when it appears.
    FourClasses,
}

impl Reading {
    /// All.
    pub const ALL: [Reading; 4] = [Reading::Sign, Reading::Offset, Reading::TwoClasses, Reading::FourClasses];

    fn loss(self) -> &'static str {
        match self {
            Reading::Sign => "loss = 'hinge'",
            Reading::Offset => "loss = 'hinge'\noffset = true",
            // Both classes are given, so that both move from the first row on, as in E19.
            Reading::TwoClasses => "loss = 'max_margin'\nclasses = [-1, 1]",
            Reading::FourClasses => "loss = 'max_margin'",
        }
    }
}

/// One pass, example by example.
#[derive(Clone, Debug, Default)]
pub struct Course {
    /// Whether each example was predicted wrongly before it was learned. A tie is a mistake.
    pub mistaken: Vec<bool>,
    /// The step size it was learned with.
    pub eta: Vec<f64>,
}

impl Course {
    /// A pass over the stream.
    ///
    /// # Errors
    /// If the engine refuses the setting.
    pub fn run(rule: Rule, reading: Reading, lambda: f64, stream: &Stream) -> anyhow::Result<Self> {
        let mut learner = rule.learner(reading.loss(), lambda)?;
        let mut course = Course::default();
        for i in 0..stream.rows.len() {
            let batch = Batch::new(stream.rows.row(i), stream.rows.features);
            course.mistaken.push(match reading {
                Reading::Sign | Reading::Offset => {
                    learner.learn(&batch.numbers(&stream.told[i..=i]))?.values[0] * stream.signs[i] <= 0.0
                }
                Reading::TwoClasses => mistaken(&mut learner, &batch, Label::Int(stream.told[i] as i64))?,
                Reading::FourClasses => mistaken(&mut learner, &batch, Label::Int(stream.rows.y[i] as i64))?,
            });
            course.eta.push(learner.eta());
        }
        Ok(course)
    }

    /// The share of mistakes among the first `n` examples.
    pub fn error(&self, n: usize) -> f64 {
        self.mistaken[..n].iter().filter(|m| **m).count() as f64 / n as f64
    }
}

/// Learns one labelled row. Returns whether another class had at least the same score, or the label was new.
fn mistaken(learner: &mut Learner, batch: &Batch<'_>, label: Label) -> anyhow::Result<bool> {
    let known = learner.classes().iter().position(|class| *class == label);
    let scores = learner.learn(&batch.labels(&[label]))?;
    let Some(own) = known else { return Ok(true) };
    Ok(scores.row(0).iter().enumerate().any(|(class, z)| class != own && *z >= scores.row(0)[own]))
}

/// Both figures of the paper: every shuffle of every rule at [`LAMBDA`].
pub struct Figures {
    /// The schedules, tau tuned for the whole stream and for its first half.
    pub tuned: Tuned,
    /// The rule and its courses, one per shuffle.
    pub courses: Vec<(Rule, Vec<Course>)>,
}

/// The readings of the labels beside each other.
pub struct Readings {
    /// Which one.
    pub reading: Reading,
    /// The tuned schedule, SVMD as published, with safeguards.
    pub cells: Vec<Cell>,
}

/// All that is measured.
pub struct Outcome {
    /// Digits in each half of the stream.
    pub half: usize,
    /// Shuffles.
    pub shuffles: usize,
    /// Both figures.
    pub figures: Figures,
    /// Over lambda, with true labels.
    pub clean: Vec<scan::Row>,
    /// The same as two classes under V(8).
    pub two_classes: Vec<scan::Row>,
    /// Over lambda, with some labels wrong.
    pub noisy: Vec<scan::Row>,
    /// Other readings of the set-up.
    pub readings: Vec<Readings>,
    /// All ten digits.
    pub classes: Vec<classes::Row>,
    /// Without labels.
    pub novelty: novelty::Outcome,
}

/// Measures everything.
///
/// # Errors
/// If the data cannot be read.
pub fn measure(context: &Context) -> anyhow::Result<Outcome> {
    let lambdas = context.sized(&LAMBDAS[..], &LAMBDAS[3..5]);
    context.steps(2 + 3 * lambdas.len() + Reading::ALL.len() + classes::LAMBDAS.len() + novelty::LAMBDAS.len());
    context.step("reading USPS")?;
    let usps = context.load(&data::USPS)?;
    let bench = scan::Bench::new(context, &usps.train, 0.0);
    context.step("both figures")?;
    let tuned = bench.tune(Reading::Sign, LAMBDA)?;
    let rules = [Rule::Schedule(tuned.first_half), Rule::Schedule(tuned.whole), Rule::Guarded, Rule::Published];
    let courses = |rule| Ok((rule, bench.courses(rule, Reading::Sign, LAMBDA)?));
    let figures = Figures { tuned, courses: rules.into_iter().map(courses).collect::<anyhow::Result<_>>()? };
    let scan = |bench: &scan::Bench, reading: Reading, what: &str| -> anyhow::Result<Vec<scan::Row>> {
        let row = |lambda: &f64| {
            context.step(format!("{what}, lambda = {lambda}"))?;
            scan::Row::measure(bench, reading, *lambda)
        };
        lambdas.iter().map(row).collect()
    };
    let clean = scan(&bench, Reading::Sign, "true labels")?;
    let two_classes = scan(&bench, Reading::TwoClasses, "two classes")?;
    let noisy = scan(&scan::Bench::new(context, &usps.train, WRONG_LABELS), Reading::Sign, "labels with noise")?;
    let reading = |reading: &Reading| {
        context.step("readings of the labels")?;
        let tuned = bench.tune(*reading, LAMBDA)?;
        let rules = [Rule::Schedule(tuned.whole), Rule::Published, Rule::Guarded];
        let cells = rules.into_iter().map(|rule| bench.cell(rule, *reading, LAMBDA)).collect::<anyhow::Result<_>>()?;
        Ok(Readings { reading: *reading, cells })
    };
    Ok(Outcome {
        half: bench.half,
        shuffles: bench.shown.len(),
        figures,
        clean,
        two_classes,
        noisy,
        readings: Reading::ALL.iter().map(reading).collect::<anyhow::Result<_>>()?,
        classes: classes::measure(context, &usps)?,
        novelty: novelty::measure(context, &bench)?,
    })
}

/// The page.
///
/// # Errors
/// If the data cannot be read.
pub fn run(context: &Context) -> anyhow::Result<Page> {
    Ok(shown::page(&measure(context)?))
}
