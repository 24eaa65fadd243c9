//! The columns of a model's training data, so that `predict` and `--resume` read the same columns in the same order.

use serde::{Deserialize, Serialize};

use super::chunk::Chunk;
use super::missing::Missing;
use super::plan::listed;

/// What a feature says of its column, if it is neither the number in it nor one of its levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// 1 in rows without a value, 0 in the others.
    Missing,
}

/// One feature: a column of numbers, one level of a column of text, or another part of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feature {
    /// The column's name.
    pub column: String,
    /// For a one-hot encoded column: the text for which this feature is 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// If true, the feature is 0 in a row without this column. If false, such a row is an error.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// None for a number and for a level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
}

impl Feature {
    /// The name that users see: the column, `column=level`, or the column and what the feature says of it.
    pub fn name(&self) -> String {
        let column = &self.column;
        match (self.part, &self.level) {
            (Some(Part::Missing), _) => format!("{column} is missing"),
            (None, Some(level)) => format!("{column}={level}"),
            (None, None) => column.clone(),
        }
    }

    /// Whether the feature is the number in its column.
    pub fn is_number(&self) -> bool {
        self.part.is_none() && self.level.is_none()
    }
}

/// The features in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Features {
    /// This many features without names: 1, 2, ...
    Indexed(usize),
    /// By name.
    Named(Vec<Feature>),
}

/// The columns of a model's training data; independent of the format, stored as JSON in the model file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    /// The features in order.
    pub features: Features,
    /// The targets' names.
    pub targets: Vec<String>,
    /// Columns that are neither features nor targets: ignored ones, ids, weights.
    #[serde(default)]
    pub ignored: Vec<String>,
    /// If not empty: only these columns are features.
    #[serde(default)]
    pub chosen: Vec<String>,
    /// Whether a feature that is absent from a row is 0. Such data are scaled, but not centred.
    pub sparse: bool,
    /// Whether features are added when new names appear.
    pub open: bool,
    /// Whether text columns are one-hot encoded and new values are added.
    pub one_hot: bool,
    /// What a cell without a value becomes.
    #[serde(default, skip_serializing_if = "Missing::is_refused")]
    pub missing: Missing,
}

impl Schema {
    /// The number of features so far.
    pub fn len(&self) -> usize {
        match &self.features {
            Features::Indexed(n) => *n,
            Features::Named(list) => list.len(),
        }
    }

    /// Whether there is no feature yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of a feature, see [`Feature::name`]; its number from 1 when it has no name.
    pub fn name(&self, feature: usize) -> String {
        let named = match &self.features {
            Features::Indexed(_) => None,
            Features::Named(list) => list.get(feature),
        };
        named.map_or_else(|| (feature + 1).to_string(), Feature::name)
    }

    /// All features' names in order.
    pub fn names(&self) -> Vec<String> {
        (0..self.len()).map(|i| self.name(i)).collect()
    }

    /// The names for a message; a long list is shortened.
    pub fn listed(&self) -> String {
        listed(self.names())
    }

    /// Adds the new features of a chunk; afterwards this is the schema after that chunk.
    pub fn advance(&mut self, chunk: &Chunk) {
        match &mut self.features {
            Features::Indexed(n) => *n = chunk.features,
            Features::Named(list) => list.extend_from_slice(&chunk.added),
        }
    }

    /// The features by name; a feature without a name gets its number as its name.
    pub(super) fn named(&self) -> Vec<Feature> {
        match &self.features {
            Features::Named(list) => list.clone(),
            Features::Indexed(n) => {
                (1..=*n).map(|i| Feature { column: i.to_string(), optional: true, ..Feature::default() }).collect()
            }
        }
    }
}
