//! Rows of numbers in which NaN stands for a cell without a value: those of Python and of the server. They are filled by the rules and with the
//! state of the command line ([`Missing`], [`Filled`]), so the same rows give the same bits.
//!
//! A cell is filled from the rows that were learned before its own; a row that is only predicted leaves no trace. With indicators, the model
//! has one more feature for each column from its first NaN on.

use std::collections::HashMap;

use okl::Learner;
use serde::{Deserialize, Serialize};

use crate::input::{Chunk, Feature, Features, Filled, Inputs, Missing, Part, Schema};
use crate::store::{self, Position};

/// The rule with the features of the model, and the values after the rows that were learned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Filler {
    schema: Schema,
    filled: Filled,
}

/// Rows without NaN, in the features of the model.
#[derive(Clone, Debug)]
pub struct Filling {
    chunk: Chunk,
    /// The features of the model with these rows.
    schema: Schema,
    /// The number of indicators that these rows add.
    added: usize,
}

fn is_indicator(feature: &Feature) -> bool {
    feature.part == Some(Part::Missing)
}

impl Filler {
    /// A rule, before the first row.
    pub fn new(missing: Missing) -> Self {
        Filler { schema: Schema { missing, ..Schema::default() }, ..Filler::default() }
    }

    /// The rule and the values of a model file; none if cells without a value are refused, or its features are not columns of numbers.
    pub fn of_file(learner: &Learner) -> Option<Self> {
        let position: Option<Position> = serde_json::from_slice(learner.position()).ok();
        let Some(Position { schema: Some(schema), filled, .. }) = position else { return None };
        let mut filler = Filler { schema, filled };
        if let Features::Indexed(columns) = filler.schema.features {
            filler.widen(columns);
        }
        let fits = matches!(filler.schema.features, Features::Named(_)) && filler.schema.len() == learner.features();
        (fits && !filler.schema.missing.is_refused()).then_some(filler)
    }

    /// The rule; none if cells without a value are refused.
    pub fn rule(&self) -> Option<Missing> {
        Some(self.schema.missing).filter(|missing| !missing.is_refused())
    }

    /// Whether a feature that is absent from a row is 0.
    pub fn is_sparse(&self) -> bool {
        self.schema.sparse
    }

    /// The number of features of the model; 0 before the first row.
    pub fn features(&self) -> usize {
        self.schema.len()
    }

    fn list(&self) -> &[Feature] {
        if let Features::Named(list) = &self.schema.features { list } else { &[] }
    }

    /// The features that are not indicators: the columns of the rows.
    pub fn columns(&self) -> Vec<usize> {
        self.list().iter().enumerate().filter(|(_, feature)| !is_indicator(feature)).map(|(at, _)| at).collect()
    }

    /// The names of the columns; none if they have no names.
    pub fn column_names(&self) -> Option<Vec<String>> {
        let names: Vec<String> = self.columns().iter().map(|at| self.list()[*at].name()).collect();
        let numbered = names.iter().enumerate().all(|(at, name)| *name == (at + 1).to_string());
        (!numbered && !self.schema.unnamed).then_some(names)
    }

    /// The names of all features of the model, for columns with these names.
    pub fn feature_names(&self, columns: &[String]) -> Vec<String> {
        self.renamed(columns).schema.names()
    }

    /// The same rule and values for columns with other names.
    fn renamed(&self, columns: &[String]) -> Self {
        let old: Vec<String> = self.columns().iter().map(|at| self.list()[*at].column.to_string()).collect();
        let mut filler = self.clone();
        filler.schema.rename(&old, columns);
        filler
    }

    /// The same rule and values for columns that have numbers in place of names.
    pub fn unnamed(&self) -> Self {
        if self.column_names().is_none() {
            return self.clone();
        }
        let numbers: Vec<String> = (1..=self.columns().len()).map(|number| number.to_string()).collect();
        let mut filler = self.renamed(&numbers);
        filler.schema.unnamed = true;
        filler
    }

    /// Adds columns, so that rows have `columns` of them.
    pub fn widen(&mut self, columns: usize) {
        let from = self.columns().len();
        self.schema.unnamed |= self.schema.is_empty();
        let mut list = self.list().to_vec();
        list.extend((from + 1..=columns).map(|number| Feature { column: number.to_string().into(), ..Feature::default() }));
        self.schema.features = Features::Named(list);
    }

    /// The columns of the rows and how the features of the model are made from them; none if cells without a value are refused.
    pub fn inputs(&self) -> Option<Inputs> {
        self.filled.inputs(&self.schema)
    }

    /// The indicator of each of these columns, if it has one.
    fn indicators(&self, columns: &[usize]) -> Vec<Option<usize>> {
        let places = self.list().iter().enumerate().filter(|(_, feature)| is_indicator(feature));
        let places: HashMap<&str, usize> = places.map(|(at, feature)| (&*feature.column, at)).collect();
        columns.iter().map(|at| places.get(&*self.list()[*at].column).copied()).collect()
    }

    /// The rows with a place for each feature of the model; NaN becomes 0 and is listed. Rows that are learned add new indicators.
    fn chunk(&mut self, numbers: &[f64], width: usize, learned: &[bool]) -> Chunk {
        let is_learned = |row: usize| learned.get(row) == Some(&true);
        let columns = self.columns();
        let mut indicators = self.indicators(&columns);
        let (mut missing, mut list, mut reach) = (Vec::new(), self.list().to_vec(), Vec::new());
        for (row, values) in numbers.chunks_exact(width).enumerate() {
            for at in (0..width).filter(|at| values[*at].is_nan()) {
                missing.push((row, at));
                if self.schema.missing.indicator && is_learned(row) && indicators[at].is_none() {
                    indicators[at] = Some(list.len());
                    let column = list[columns[at]].column.clone();
                    list.push(Feature { column, part: Some(Part::Missing), ..Feature::default() });
                }
            }
            reach.push(list.len() as u32);
        }
        self.schema.features = Features::Named(list);
        let (rows, features) = (numbers.len() / width, self.schema.len());
        let mut chunk = Chunk { rows, features, reach, ..Chunk::default() };
        // A row that is only predicted has weight 0.
        chunk.weights = Some((0..rows).map(|row| f64::from(u8::from(is_learned(row)))).collect());
        chunk.x.resize(rows * features, 0.0);
        for (row, values) in numbers.chunks_exact(width).enumerate() {
            columns.iter().zip(values).filter(|(_, value)| !value.is_nan()).for_each(|(at, value)| chunk.set(row, *at, *value));
        }
        for (row, at) in missing {
            chunk.missing.push((row as u32, columns[at] as u32));
            // A row that is only predicted does not have the indicators that a later row of the call adds.
            if let Some(indicator) = indicators[at].filter(|at| (*at as u32) < chunk.reach[row]) {
                chunk.set(row, indicator, 1.0);
            }
        }
        chunk
    }

    /// The state for rows of `columns` numbers; these are the columns if no row came before.
    fn ready(&self, columns: usize) -> Self {
        let mut filler = self.clone();
        if filler.schema.is_empty() {
            filler.widen(columns);
        }
        filler
    }

    /// Rows for learning, each filled from the rows before it that are `learned` and not only predicted. A row has `columns` numbers, one
    /// for each column.
    pub fn fill_in_order(&self, numbers: &[f64], columns: usize, learned: &[bool]) -> Filling {
        let mut filler = self.ready(columns);
        let before = filler.schema.len();
        let mut chunk = filler.chunk(numbers, columns.max(1), learned);
        filler.filled.fill_in_order(&mut chunk, &filler.schema);
        let added = filler.schema.len() - before;
        Filling { chunk, schema: filler.schema, added }
    }

    /// Rows for predictions, filled from the rows that were learned.
    pub fn fill(&self, numbers: &[f64], columns: usize) -> Filling {
        let mut filler = self.ready(columns);
        let mut chunk = filler.chunk(numbers, columns.max(1), &[]);
        filler.filled.fill(&mut chunk, &filler.schema);
        Filling { chunk, schema: filler.schema, added: 0 }
    }

    /// A sentence, if learned rows had no value in a column before its first one. `name` returns the name of a column of the rows.
    pub fn finding(&self, name: impl Fn(usize) -> String) -> Option<String> {
        let columns = self.columns();
        self.filled.finding(&self.schema, |feature| name(columns.iter().position(|at| *at == feature).unwrap_or(feature)))
    }

    /// The same, where the rows so far are a fixed set, each of which is filled from the whole set.
    pub fn of_whole_set(&self) -> Self {
        let mut filler = self.clone();
        filler.filled.forget_early_cells();
        filler
    }

    /// After `rows` of the rows were learned: their values count for later ones.
    pub fn after(&self, filling: &Filling, rows: usize) -> Self {
        let mut filled = self.filled.clone();
        filled.follow(&filling.chunk, 0..rows, &filling.schema);
        Filler { schema: filling.schema.clone(), filled }
    }

    /// The position of a model file with the rule, the values and the names of the columns. None if cells without a value are refused.
    pub fn position(&self, learner: &Learner, names: &[String]) -> Option<Vec<u8>> {
        self.rule()?;
        let Filler { mut schema, filled } = self.clone();
        let mut position: Position = serde_json::from_slice(learner.position()).unwrap_or_default();
        if let Some(before) = position.schema.take() {
            schema = Schema { features: schema.features, missing: schema.missing, unnamed: schema.unnamed, ..before };
        }
        let plain = |f: &Feature| f.level.is_none() && matches!(f.part, None | Some(Part::Missing));
        if let Features::Named(list) = &schema.features
            && list.iter().all(plain)
        {
            let columns: Vec<String> = list.iter().filter(|f| !is_indicator(f)).map(|f| f.column.to_string()).collect();
            if names.len() == columns.len() && store::are_names(names) {
                schema.rename(&columns, names);
            }
        }
        (position.schema, position.filled) = (Some(schema), filled);
        serde_json::to_vec(&position).ok()
    }
}

impl Filling {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.chunk.rows
    }

    /// The numbers, row by row.
    pub fn x(&self) -> &[f64] {
        &self.chunk.x
    }

    /// The numbers of one row.
    pub fn features(&self) -> usize {
        self.chunk.features
    }

    /// The same rows without the new indicators, if a learner of `known` features does not know these: what the learner can check before it gets them.
    pub fn narrower(&self, known: usize) -> Option<Vec<f64>> {
        let features = self.chunk.features - self.added;
        let new = self.added > 0 && known == features;
        new.then(|| self.chunk.x.chunks_exact(self.chunk.features).flat_map(|row| &row[..features]).copied().collect())
    }
}
