//! A case: settings as they are typed, and a stream. It prints itself as a test that can be pasted.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use okl::config::Label;
use okl::{Batch, Config};

/// The target of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// None: a novelty loss.
    Nothing,
    /// One or more numbers.
    Numbers(Vec<f64>),
    /// A class.
    Class(i64),
}

/// One row of a stream.
#[derive(Clone, Debug)]
pub struct Row {
    /// Features; numbers of f32 where the case is not wide.
    pub x: Vec<f64>,
    /// Target.
    pub y: Target,
    /// Whether the target is known.
    pub known: bool,
    /// Weight.
    pub weight: f64,
    /// Id.
    pub id: u64,
}

/// Settings and a stream.
#[derive(Clone, Debug)]
pub struct Case {
    /// Where it came from.
    pub seed: u64,
    /// Which part of the generator made it.
    pub family: &'static str,
    /// Settings: JSON text by name.
    pub settings: BTreeMap<&'static str, String>,
    /// The stream.
    pub rows: Vec<Row>,
    /// Whether rows are in double precision.
    pub wide: bool,
    /// Whether ids are given.
    pub ids: bool,
    /// Whether weights are given.
    pub weights: bool,
    /// After how many rows there is a save and load, in the run that cuts the stream.
    pub cuts: Vec<usize>,
}

impl Case {
    /// The settings as JSON.
    pub fn json(&self) -> String {
        let fields: Vec<String> = self.settings.iter().map(|(name, value)| format!("{name:?}: {value}")).collect();
        format!("{{{}}}", fields.join(", "))
    }

    /// The configuration, if it is not refused.
    pub fn config(&self) -> Result<Config, String> {
        let config = Config::from_json(&self.json()).map_err(|e| e.to_string())?;
        config.check().map_err(|e| e.to_string())?;
        Ok(config)
    }

    /// The rows that a learner takes one by one, beginning with this configuration: those with a kernel value beyond single precision are
    /// refused in words, and left out. With the first row that is refused, if one is.
    pub fn accepted(&self, config: &Config) -> (Case, Option<usize>) {
        let (mut taken, mut refused) = (self.clone(), None);
        let Ok(mut learner) = okl::Learner::new(config.clone()) else { return (taken, None) };
        taken.rows.clear();
        for (t, row) in self.rows.iter().enumerate() {
            match learner.learn(&self.columns(t, t + 1).batch()) {
                Err(e) if e.to_string().contains("beyond single precision") => refused = refused.or(Some(t)),
                _ => taken.rows.push(row.clone()),
            }
        }
        (taken, refused)
    }

    /// Whether any row has no target.
    fn partly_known(&self) -> bool {
        self.rows.iter().any(|row| !row.known)
    }

    /// The rows `from..to` as they are given to a learner.
    pub fn columns(&self, from: usize, to: usize) -> Columns {
        let rows = &self.rows[from..to];
        let mut out = Columns { features: rows.first().map_or(1, |r| r.x.len()), ..Columns::default() };
        for row in rows {
            out.x.extend_from_slice(&row.x);
            out.single.extend(row.x.iter().map(|&v| v as f32).filter(|_| !self.wide));
            match &row.y {
                Target::Nothing => {}
                Target::Numbers(y) => out.numbers.extend_from_slice(y),
                Target::Class(c) => out.labels.push(Label::Int(*c)),
            }
        }
        out.known = self.partly_known().then(|| rows.iter().map(|r| r.known).collect());
        out.weights = self.weights.then(|| rows.iter().map(|r| r.weight).collect());
        out.ids = self.ids.then(|| rows.iter().map(|r| r.id).collect());
        out
    }

    /// A test that shows the case.
    pub fn as_test(&self, failure: &str) -> String {
        let all = self.columns(0, self.rows.len());
        let mut out = String::new();
        let _ = writeln!(out, "// family {}, seed {}: {failure}", self.family, self.seed);
        let _ = writeln!(out, "let config = okl::Config::from_json(r#\"{}\"#).unwrap();", self.json());
        let _ = writeln!(out, "let mut learner = okl::Learner::new(config).unwrap();");
        let (kind, name) = if self.wide { ("f64", "of_f64") } else { ("f32", "new") };
        let _ = writeln!(
            out,
            "let x: Vec<{kind}> = vec!{}; // {} rows of {}",
            if self.wide { format!("{:?}", all.x) } else { format!("{:?}", all.single) },
            self.rows.len(),
            all.features
        );
        let mut batch = format!("okl::Batch::{name}(&x, {})", all.features);
        if !all.numbers.is_empty() {
            let _ = writeln!(out, "let y: Vec<f64> = vec!{:?};", all.numbers);
            batch += ".numbers(&y)";
        }
        if !all.labels.is_empty() {
            let names: Vec<i64> = self.rows.iter().map(|r| if let Target::Class(c) = r.y { c } else { 0 }).collect();
            let _ = writeln!(out, "let labels: Vec<okl::Label> = {names:?}.map(okl::Label::Int).to_vec();");
            batch += ".labels(&labels)";
        }
        if let Some(known) = all.known {
            let _ = writeln!(out, "let known = vec!{known:?};");
            batch += ".known(&known)";
        }
        if let Some(weights) = all.weights {
            let _ = writeln!(out, "let weights: Vec<f64> = vec!{weights:?};");
            batch += ".weights(&weights)";
        }
        if let Some(ids) = all.ids {
            let _ = writeln!(out, "let ids: Vec<u64> = vec!{ids:?};");
            batch += ".ids(&ids)";
        }
        let _ = writeln!(out, "learner.learn(&{batch}).unwrap();");
        out
    }
}

/// Rows, column by column.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// Numbers per row.
    pub features: usize,
    /// Rows.
    pub x: Vec<f64>,
    /// The same in single precision, where they are given so.
    pub single: Vec<f32>,
    /// Targets that are numbers.
    pub numbers: Vec<f64>,
    /// Targets that are classes.
    pub labels: Vec<Label>,
    /// Which targets are known.
    pub known: Option<Vec<bool>>,
    /// Weights.
    pub weights: Option<Vec<f64>>,
    /// Ids.
    pub ids: Option<Vec<u64>>,
}

impl Columns {
    /// The rows alone.
    pub fn rows(&self) -> Batch<'_> {
        if self.single.is_empty() { Batch::of_f64(&self.x, self.features) } else { Batch::new(&self.single, self.features) }
    }

    /// As a batch.
    pub fn batch(&self) -> Batch<'_> {
        let mut batch = self.rows();
        if !self.numbers.is_empty() {
            batch = batch.numbers(&self.numbers);
        }
        if !self.labels.is_empty() {
            batch = batch.labels(&self.labels);
        }
        if let Some(known) = &self.known {
            batch = batch.known(known);
        }
        if let Some(weights) = &self.weights {
            batch = batch.weights(weights);
        }
        if let Some(ids) = &self.ids {
            batch = batch.ids(ids);
        }
        batch
    }
}
