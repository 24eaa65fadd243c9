//! The report of a run: one HTML file with its drawings inside, which needs no network and no JavaScript.
//!
//! ```text
//! let mut history = History::default();
//! // after every block:
//! if history.due(metrics.examples()) { history.record(Point::now(&learner, &metrics, speed)); }
//! // at the end:
//! history.record(Point::now(&learner, &metrics, speed));
//! let report = Report { certificates: &words, ..Report::new("elec2.csv", &command, &summary, &history, &learner.config().to_json()) };
//! report::write(&mut file, &report)?;
//! ```

pub mod alerts;
pub mod axis;
mod certified;
pub mod chart;
mod curves;
pub mod decision;
pub mod history;
pub mod page;
mod tables;
pub mod text;

use std::io;

pub use alerts::{Alert, Alerts};
pub use decision::{Decision, Reading, Samples};
pub use history::{History, Point};

use crate::learn::Kept;
use crate::learned_rows::Equal;
use crate::metrics::{Summary, Task};
use crate::past_rows::Past;
use crate::rate_words::{self, RateWords};

/// The contents of a report. All text is escaped when it is written.
#[derive(Clone, Copy)]
pub struct Report<'a> {
    /// The title at the top.
    pub title: &'a str,
    /// A sentence before the first figures; may be empty.
    pub lead: &'a str,
    /// The examples that are equal to rows of an earlier run.
    pub learned_again: Equal,
    /// The command line.
    pub command: &'a str,
    /// The figures.
    pub summary: &'a Summary,
    /// The record of the run over time.
    pub history: &'a History,
    /// [`okl::Config::to_json`] at the end of the run; nu and the names of loss, step and budget are read from it.
    pub config_json: &'a str,
    /// [`okl::Config::to_json`] before the first row, which reproduces the run as `--config`; none if it is not known.
    pub given_json: Option<&'a str>,
    /// Whether the run began with a model that had learned rows before.
    pub resumed: bool,
    /// Warnings about the figures, one sentence each.
    pub warnings: &'a [String],
    /// The current model on a sample of the rows that it has learned.
    pub past: Option<&'a Past>,
    /// The model that learned a sample of the rows once more, if it is the one that is saved.
    pub kept: Option<&'a Kept>,
    /// The last of several passes and its figures, over rows that had been learned before.
    pub training: Option<(u64, &'a Summary)>,
    /// The held-out file and its figures.
    pub held_out: Option<(&'a str, &'a Summary)>,
    /// The number of settings that are learned in parallel; 1 if all settings are given.
    pub members: usize,
    /// The certificates, as sentences.
    pub certificates: &'a [String],
    /// Other runs over the same stream, drawn beside this one's error; at most three.
    pub rivals: &'a [(String, &'a History)],
    /// Decision regions, for streams of two features.
    pub decision: Option<&'a Decision>,
    /// Alerts, for novelty.
    pub alerts: Option<&'a Alerts>,
    /// Names and values that help to reproduce the run: rows, version, seconds.
    pub facts: &'a [(String, String)],
}

impl<'a> Report<'a> {
    /// A report without the optional parts.
    pub fn new(title: &'a str, command: &'a str, summary: &'a Summary, history: &'a History, config_json: &'a str) -> Self {
        Report {
            title,
            lead: "",
            learned_again: Equal::default(),
            command,
            summary,
            history,
            config_json,
            given_json: None,
            resumed: false,
            warnings: &[],
            past: None,
            kept: None,
            training: None,
            held_out: None,
            members: 1,
            certificates: &[],
            rivals: &[],
            decision: None,
            alerts: None,
            facts: &[],
        }
    }

    fn setting(&self, name: &str) -> Option<serde_json::Value> {
        serde_json::from_str::<serde_json::Value>(self.config_json).ok()?.get_mut(name).map(serde_json::Value::take)
    }

    /// The name of the loss, step or budget: the one key of its object.
    fn part(&self, name: &str) -> Option<String> {
        match self.setting(name)? {
            serde_json::Value::Object(part) => part.keys().next().cloned(),
            serde_json::Value::String(part) => Some(part),
            _ => None,
        }
    }

    /// Whether the model is a vector of weights: it has no terms.
    fn uses_weights(&self) -> bool {
        matches!(self.part("form").as_deref(), Some("weights" | "fourier"))
    }

    /// The configuration at the end of the run; none if it is not valid.
    fn config(&self) -> Option<okl::Config> {
        okl::Config::from_json(self.config_json).ok()
    }

    /// Whether an average predicts, or may: it is not known of a configuration that is not valid. The norm of a learner is that of a last hypothesis.
    fn averages(&self) -> bool {
        self.config()
            .is_none_or(|config| config.members().iter().any(|member| member.average != okl::engine::head::Average::None))
    }

    /// Whether an output operator multiplies the kernel.
    fn has_operator(&self) -> bool {
        self.config().is_none_or(|config| config.operator.is_some())
    }

    /// Whether shares of examples are by the weights of rows. A model that was resumed may have learned rows with weights before.
    fn counts_by_weight(&self) -> bool {
        self.summary.is_weighted() || (self.resumed && self.summary.task != Task::Novelty)
    }

    /// Whether the certified share outside is by the weights of classes. A detector has none.
    fn counts_by_class(&self) -> bool {
        self.summary.task != Task::Novelty && self.setting("class_weight").is_some_and(|weight| !weight.is_null())
    }

    /// What the loss counts whose share nu sets, in words.
    fn rate_words(&self) -> RateWords {
        rate_words::of(&self.config().unwrap_or_default().loss)
    }

    /// The requested share nu.
    fn nu(&self) -> Option<f64> {
        self.setting("loss")?.as_object()?.values().next()?.get("nu")?.as_f64()
    }

    /// The name of theta for this loss.
    fn theta_name(&self) -> &'static str {
        self.part("loss").and_then(|loss| theta_name(&loss)).unwrap_or("theta")
    }
}

/// The name of the adaptive scalar theta of a loss; none for a loss without theta.
pub fn theta_name(loss: &str) -> Option<&'static str> {
    match loss {
        "nu_hinge" | "nu_novelty" => Some("margin rho"),
        "nu_epsilon" => Some("tube epsilon"),
        "nu_huber" => Some("scale sigma"),
        _ => None,
    }
}

/// Writes the report as one HTML file.
///
/// # Errors
/// Those of the writer.
pub fn write(to: &mut impl io::Write, report: &Report<'_>) -> io::Result<()> {
    to.write_all(page::html(report).as_bytes())
}
