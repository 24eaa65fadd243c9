//! The stream under every lambda: where SVMD wins and where it does not.

use super::{Course, Reading, Rule, Stream, TAUS};
use crate::Context;
use crate::data::Rows;
use crate::stats::Spread;

/// The shuffles that are shown, and those on which tau is chosen.
pub struct Bench {
    /// Digits in each half.
    pub half: usize,
    /// The streams that are shown.
    pub shown: Vec<Stream>,
    /// Where tau is chosen.
    pub tuning: Vec<Stream>,
}

/// The values of tau that were best on the shuffles for tuning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuned {
    /// For the whole stream: knowing that it will change.
    pub whole: f64,
    /// For its first half, as one would before the change.
    pub first_half: f64,
}

impl Bench {
    /// Streams of the paper's shape; a share of the labels is told wrong.
    pub fn new(context: &Context, digits: &Rows, wrong: f64) -> Self {
        let half = context.sized(500, 90);
        let (shown, tuning) = context.sized((10, 5), (2, 1));
        let streams =
            |range: std::ops::Range<u64>| range.map(|shuffle| Stream::new(context, digits, half, shuffle, wrong)).collect();
        Bench { half, shown: streams(0..shown), tuning: streams(shown..shown + tuning) }
    }

    /// Chooses tau; of equals the larger.
    pub fn tune(&self, reading: Reading, lambda: f64) -> anyhow::Result<Tuned> {
        let mut best = [(f64::MAX, TAUS[0]); 2];
        for tau in TAUS {
            let mut mistakes = [0.0; 2];
            for stream in &self.tuning {
                let course = Course::run(Rule::Schedule(tau), reading, lambda, stream)?;
                mistakes[0] += course.error(2 * self.half);
                mistakes[1] += course.error(self.half);
            }
            for (best, mistakes) in best.iter_mut().zip(mistakes) {
                *best = if mistakes <= best.0 { (mistakes, tau) } else { *best };
            }
        }
        Ok(Tuned { whole: best[0].1, first_half: best[1].1 })
    }

    /// A pass over every shuffle that is shown.
    pub fn courses(&self, rule: Rule, reading: Reading, lambda: f64) -> anyhow::Result<Vec<Course>> {
        self.shown.iter().map(|stream| Course::run(rule, reading, lambda, stream)).collect()
    }

    /// The summary of these curves for a table.
    pub fn cell(&self, rule: Rule, reading: Reading, lambda: f64) -> anyhow::Result<Cell> {
        let courses = self.courses(rule, reading, lambda)?;
        let errors = courses.iter().map(|c| c.error(2 * self.half)).collect();
        let last = courses.iter().map(|c| c.eta[c.eta.len() - 1]).fold(f64::MAX, f64::min);
        Ok(Cell { rule, errors, last })
    }
}

/// One rule at one lambda.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Which rule.
    pub rule: Rule,
    /// The average error at the end of each shuffle.
    pub errors: Vec<f64>,
    /// The smallest of the last step sizes.
    pub last: f64,
}

impl Cell {
    /// Mean and deviation over the shuffles.
    pub fn spread(&self) -> Spread {
        Spread::of(self.errors.iter().copied())
    }

    /// In how many shuffles it is better, and in how many worse.
    pub fn against(&self, other: &Cell) -> (usize, usize) {
        let count = |test: fn(&f64, &f64) -> bool| self.errors.iter().zip(&other.errors).filter(|(a, b)| test(a, b)).count();
        (count(|a, b| a < b), count(|a, b| a > b))
    }
}

/// All rules at one lambda.
#[derive(Clone, Debug)]
pub struct Row {
    /// The regulariser.
    pub lambda: f64,
    /// The schedule that was tuned for the whole stream.
    pub whole: Cell,
    /// The schedule that was tuned for its first half.
    pub first_half: Cell,
    /// SVMD as published.
    pub published: Cell,
    /// With limits only.
    pub limited: Cell,
    /// With all safeguards.
    pub guarded: Cell,
}

impl Row {
    /// Tunes and runs.
    pub fn measure(bench: &Bench, reading: Reading, lambda: f64) -> anyhow::Result<Self> {
        let tuned = bench.tune(reading, lambda)?;
        let cell = |rule| bench.cell(rule, reading, lambda);
        Ok(Row {
            lambda,
            whole: cell(Rule::Schedule(tuned.whole))?,
            first_half: cell(Rule::Schedule(tuned.first_half))?,
            published: cell(Rule::Published)?,
            limited: cell(Rule::Limited)?,
            guarded: cell(Rule::Guarded)?,
        })
    }
}
