//! The experiments of the papers, each as one self-contained page beside what the paper reports.
//!
//! `cargo run --release -p okl-papers` lists them.
//!
//! An experiment is a function from a [`Context`] to a [`Page`]. It takes its data, its size, its random numbers and its
//! clock from the context, so that one seed gives one page (times excepted) and a smoke test runs the same code on
//! generated data in a moment.

pub mod auto;
pub mod budgets;
pub mod command;
pub mod data;
pub mod image;
pub mod norma_losses;
pub mod norma_novelty;
pub mod olok;
pub mod page;
mod stand_in;
pub mod stats;
pub mod svmd;
pub mod words;

use std::fmt::{self, Display, Formatter};
use std::path::PathBuf;
use std::time::Instant;

use indicatif::ProgressBar;
use okl_cli::random::Random;
use okl_cli::run::interrupted;

use data::{Data, DataSet};
use page::Page;

/// One experiment.
pub struct Experiment {
    /// The name on the command line.
    pub name: &'static str,
    /// A description in one line.
    pub about: &'static str,
    /// The data sets it reads; none if it generates its data.
    pub wants: &'static [&'static DataSet],
    /// Runs it.
    pub run: fn(&Context) -> anyhow::Result<Page>,
}

/// All experiments, in the order of the papers.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "norma-novelty",
        about: "NORMA, section 5: badly written digits found in one pass over USPS without labels",
        wants: &[&data::USPS],
        run: norma_novelty::run,
    },
    Experiment {
        name: "norma-losses",
        about: "NORMA, sections 3 and 4: every loss on a stream where it is the right one; bounds against what happens",
        wants: &[],
        run: norma_losses::run,
    },
    Experiment {
        name: "svmd",
        about: "SVMD, section 5: a step size that adapts itself, on digits that change halfway; over lambda, with safeguards",
        wants: &[&data::USPS],
        run: svmd::run,
    },
    Experiment {
        name: "olok",
        about: "OLOK, section 3: several outputs at once, online against the batch solution, in error and time",
        wants: &[&data::WINE, &data::PARKINSON],
        run: olok::run,
    },
    Experiment {
        name: "budgets",
        about: "BSGD, Table 3: test accuracy in one pass with 100 and 500 terms, beside the published figures and LIBSVM",
        wants: &[&data::USPS, &data::IJCNN1, &data::A9A],
        run: budgets::run,
    },
    Experiment {
        name: "auto",
        about: "no settings, against the best of 36 chosen in hindsight: error and cost on six data sets and three drifts",
        wants: &[&data::USPS, &data::IJCNN1, &data::A9A, &data::ELEC2, &data::WINE, &data::PARKINSON],
        run: auto::run,
    },
];

/// The names of all experiments.
pub fn names() -> impl Iterator<Item = &'static str> {
    EXPERIMENTS.iter().map(|e| e.name)
}

/// The experiment of that name.
pub fn find(name: &str) -> Option<&'static Experiment> {
    EXPERIMENTS.iter().find(|e| e.name == name)
}

/// How much is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// The same code on little generated data, for tests.
    Smoke,
    /// Minutes at most.
    Usual,
    /// Includes the parts that take longer (`--full`).
    Full,
}

/// Where an experiment takes everything from that is not its own.
pub struct Context {
    /// How much is done.
    pub size: Size,
    /// From which all random numbers follow.
    pub seed: u64,
    folder: Option<PathBuf>,
    bar: ProgressBar,
}

impl Context {
    /// Data from files; `folder` may be missing for experiments that generate theirs.
    pub fn new(folder: Option<PathBuf>, size: Size, seed: u64) -> Self {
        Context { size, seed, folder, bar: ProgressBar::hidden() }
    }

    /// Little generated data of the same shape, for tests. The clock stands still: every duration is one second.
    pub fn smoke(seed: u64) -> Self {
        Context::new(None, Size::Smoke, seed)
    }

    /// Whether this is a smoke test.
    pub fn is_smoke(&self) -> bool {
        self.size == Size::Smoke
    }

    /// The usual value, or the one for a smoke test.
    pub fn sized<T>(&self, usual: T, smoke: T) -> T {
        if self.is_smoke() { smoke } else { usual }
    }

    /// A data set, from its files or (in a smoke test) generated in its shape.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn load(&self, set: &DataSet) -> anyhow::Result<Data> {
        match &self.folder {
            _ if self.is_smoke() => Ok(set.stand_in(&mut self.random(set.name))),
            folder => set.load(folder.as_deref().unwrap_or(".".as_ref())),
        }
    }

    /// Random numbers that depend on the seed and this name alone: asking for others elsewhere changes nothing here.
    pub fn random(&self, name: &str) -> Random {
        Random::new(self.named_seed(name))
    }

    /// The order of the rows in shuffle number `pass` (from 0).
    pub fn order(&self, rows: usize, pass: u64) -> Vec<usize> {
        okl_cli::random::order(rows, self.seed, pass).into_iter().map(|row| row as usize).collect()
    }

    /// The seed, mixed with the name by FNV-1a.
    fn named_seed(&self, name: &str) -> u64 {
        let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        name.bytes().fold(Random::new(self.seed).bits(), mix)
    }

    /// Says how many steps there will be on the progress bar.
    pub fn steps(&self, steps: usize) {
        self.bar.set_length(steps as u64);
    }

    /// A step of the progress bar begins; what it is, in words.
    ///
    /// # Errors
    /// After Ctrl-C: then the experiment ends here, and writes nothing.
    pub fn step(&self, what: impl Into<String>) -> anyhow::Result<()> {
        if interrupted() {
            return Err(Interrupted.into());
        }
        // What was under way, if anything was, is done now.
        self.bar.inc(u64::from(!self.bar.message().is_empty()));
        self.bar.set_message(what.into());
        Ok(())
    }

    /// Runs something and says how many seconds it took.
    pub fn time<T>(&self, work: impl FnOnce() -> T) -> (T, f64) {
        let start = Instant::now();
        let result = work();
        (result, self.sized(start.elapsed().as_secs_f64().max(1e-9), 1.0))
    }
}

/// Ctrl-C was pressed.
#[derive(Debug)]
struct Interrupted;

impl Display for Interrupted {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted: nothing was written")
    }
}

impl std::error::Error for Interrupted {}
