//! What the command line lends to the server: automatic settings, descriptions of models, and readers of tables.
//!
//! The command line depends on this crate, so this crate cannot use its code directly.

use std::fmt::Debug;
use std::sync::Arc;

use okl::loss::Reads;
use okl::{Config, Learner};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::refusal::{Answered, Refusal};
use crate::rows::{Rows, Target, Targets};

/// The type of prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// A class per row.
    Classes,
    /// One or more numbers per row.
    Numbers,
    /// No target: finds rows that are unlike the others.
    Novelty,
}

/// Properties of the first rows on which automatic settings depend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// The type of prediction.
    pub task: Task,
    /// Distinct classes among the first rows.
    pub classes: usize,
    /// The number of features.
    pub features: usize,
    /// Targets per row.
    pub targets: usize,
    /// Whether an absent number is 0.
    pub sparse: bool,
    /// Whether rows have ids.
    pub ids: bool,
}

/// The targets of one output, and how well they are predicted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TargetFigures {
    /// The mean of the targets.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// The share of their variance that is predicted, each before its update.
    pub r2: Option<f64>,
}

/// Formats of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFormat {
    /// Delimited text with a header.
    Csv,
    /// One JSON object per line.
    Ndjson,
}

/// Which columns of a table are not features.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableColumns {
    /// The targets.
    pub targets: Vec<String>,
    /// The weight.
    pub weight: Option<String>,
    /// The id.
    pub id: Option<String>,
    /// Columns that are not used.
    pub ignore: Vec<String>,
    /// Whether an absent number is 0.
    pub sparse: bool,
    /// Whether the model fills cells without a value.
    pub fills: bool,
    /// The columns that the model has learned; empty if they have no names, or nothing is learned yet.
    pub learned: Vec<String>,
    /// The number of columns that the model has learned.
    pub features: usize,
}

/// Fills cells without a value (NaN) from the rows that were learned. A row has a number for each column; with indicators, the model has more
/// features than columns.
pub trait Gaps: Send + Sync + Debug {
    /// The rule, as the setting `missing` has it.
    fn rule(&self) -> String;

    /// The number of columns of a row; 0 before the first row.
    fn columns(&self) -> usize;

    /// The names of the columns in a model file; empty if they have none.
    fn column_names(&self) -> Vec<String>;

    /// The names of the features, for columns with these names. Columns without names are counted from 0.
    fn feature_names(&self, columns: &[String]) -> Vec<String>;

    /// A sentence, if learned rows had no value in a column before its first one. Columns without names are counted from 0.
    fn finding(&self, columns: &[String]) -> Option<String>;

    /// Rows for predictions, filled from the rows that were learned.
    fn fill(&self, x: &[f64], columns: usize) -> Box<dyn Filling>;

    /// Rows to learn, each filled from the rows before it that are `learned` and not only predicted. These may add indicators.
    fn fill_in_order(&self, x: &[f64], columns: usize, learned: &[bool]) -> Box<dyn Filling>;

    /// The bytes that carry the rule, the values and the names of the columns in a model file ([`Learner::set_position`]).
    fn position(&self, learner: &Learner, columns: &[String]) -> Option<Vec<u8>>;

    /// The state for a snapshot; [`Surface::stored_gaps`] reads it.
    fn stored(&self) -> Value;
}

/// Rows in the features of the model, without NaN.
pub trait Filling: Send {
    /// The numbers, row by row.
    fn x(&self) -> &[f64];

    /// Numbers per row.
    fn features(&self) -> usize;

    /// The state after the first `rows` of these rows were learned.
    fn after(&self, rows: usize) -> Arc<dyn Gaps>;
}

/// The parts of the command line that the server uses.
pub trait Surface: Send + Sync + 'static {
    /// Completes a configuration without a loss.
    ///
    /// # Errors
    /// If a setting is wrong.
    fn choose(&self, settings: &Map<String, Value>, look: &Look) -> Result<Config, String>;

    /// Describes a model: settings, figures, certificates in words.
    fn describe(&self, learner: &Learner, names: &[String]) -> Value;

    /// What terms that are not in a model any more can change in its scores, in words.
    fn truncation(&self, _: &Learner) -> Option<String> {
        None
    }

    /// Explains the scores of rows that have the columns of the model: what the offset, the `top` terms and all others add to each score.
    ///
    /// # Errors
    /// If the rows cannot be predicted.
    fn explain(&self, learner: &Learner, x: &[f64], names: &[String], top: usize) -> okl::Result<Vec<Value>>;

    /// What the targets say about the settings with which a model that predicts numbers was created, one sentence each.
    fn advice(&self, _: &Config, _: u64, _: &[TargetFigures]) -> Vec<String> {
        Vec::new()
    }

    /// The names of the columns that a model file has from the program that wrote it.
    fn names(&self, _: &Learner) -> Vec<String> {
        Vec::new()
    }

    /// The rules of a model file by which features are made of the columns of a table; none if features are the numbers of columns.
    fn rules(&self, _: &Learner) -> Option<String> {
        None
    }

    /// What cells without a value become, by a setting `missing`; none if they are refused.
    ///
    /// # Errors
    /// If there is no such rule.
    fn gaps(&self, rule: &str) -> Result<Option<Arc<dyn Gaps>>, String> {
        match rule {
            "refuse" => Ok(None),
            _ => Err("this server refuses rows without a value".into()),
        }
    }

    /// What cells without a value become in a model file; none if they are refused.
    fn gaps_of(&self, _: &Learner) -> Option<Arc<dyn Gaps>> {
        None
    }

    /// Reads the state of a snapshot; none if it has another form.
    fn stored_gaps(&self, _: &Value) -> Option<Arc<dyn Gaps>> {
        None
    }

    /// The bytes that carry these names of the columns in a model file ([`Learner::set_position`]); none if they need not be changed.
    fn with_names(&self, _: &Learner, _: &[String]) -> Option<Vec<u8>> {
        None
    }

    /// Reads a table. Its rows have at most `cells` numbers.
    ///
    /// # Errors
    /// If it cannot be read; row and column are named, rows counted from 0.
    fn table(&self, body: Vec<u8>, format: TableFormat, columns: &TableColumns, cells: usize) -> Answered<Rows>;
}

/// A surface without the command line: the simplest settings, and no tables.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl Surface for Plain {
    fn choose(&self, settings: &Map<String, Value>, look: &Look) -> Result<Config, String> {
        let mut settings = settings.clone();
        let loss = match look.task {
            Task::Classes => "max_margin",
            Task::Numbers => "squared",
            Task::Novelty => "density:0.01",
        };
        settings.insert("loss".into(), json!(loss));
        let config = Config::from_value(Value::Object(settings)).map_err(|e| e.to_string())?;
        config.check().map_err(|e| e.to_string()).map(|()| config)
    }

    fn describe(&self, learner: &Learner, names: &[String]) -> Value {
        json!({ "config": learner.config(), "examples": learner.examples(), "terms": learner.terms(), "feature_names": names })
    }

    fn explain(&self, learner: &Learner, x: &[f64], _: &[String], _: usize) -> okl::Result<Vec<Value>> {
        let scores = learner.predict(&okl::Batch::of_f64(x, learner.features()))?;
        Ok(scores.iter().map(|z| json!({ "score": z, "offset": learner.predicting_offset() })).collect())
    }

    fn table(&self, _: Vec<u8>, _: TableFormat, _: &TableColumns, _: usize) -> Answered<Rows> {
        Err(Refusal::body("this server reads JSON only"))
    }
}

impl Task {
    /// The task of a loss.
    pub fn of(reads: Reads) -> Task {
        match reads {
            Reads::Sign | Reads::Class => Task::Classes,
            Reads::Number | Reads::Vector => Task::Numbers,
            Reads::Nothing => Task::Novelty,
        }
    }

    /// A message about the loss of this task, which was chosen and not given.
    pub fn says(self, text: &str) -> String {
        text.replace("this loss", &format!("the loss for \"task\": \"{}\"", self.word()))
    }

    /// The word in settings.
    pub fn word(self) -> &'static str {
        match self {
            Task::Classes => "classes",
            Task::Numbers => "numbers",
            Task::Novelty => "novelty",
        }
    }
}

/// Looks at the first rows. Text and truth values are classes, and so are whole numbers with at most two values.
pub fn look(rows: &Rows, task: Option<Task>, sparse: bool) -> Look {
    let Targets { width, values } = &rows.targets;
    let mut labels: Vec<okl::Label> = values.iter().filter(|t| **t != Target::Missing).map(Target::label).collect();
    labels.sort();
    labels.dedup();
    let text = values.iter().any(|target| matches!(target, Target::Text(_) | Target::Flag(_)));
    let whole = values.iter().all(|target| !matches!(target, Target::Number(v) if v.fract() != 0.0));
    let small = || labels.len() == 2 || matches!(&labels[..], [okl::Label::Int(-1..=1)]);
    let found = match () {
        () if *width == 0 => Task::Novelty,
        () if *width == 1 && (text || (whole && small())) => Task::Classes,
        () => Task::Numbers,
    };
    Look {
        task: task.unwrap_or(found),
        classes: labels.len(),
        features: rows.features,
        targets: *width,
        sparse,
        ids: rows.ids.is_some(),
    }
}
