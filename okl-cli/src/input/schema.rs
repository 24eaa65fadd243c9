//! The columns of a model's training data, so that `predict` and `--resume` read the same columns in the same order.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::chunk::Chunk;
use super::missing::Missing;
use super::name::Name;
use super::plan::{listed, typed};
use super::time::text_of;

/// What a feature says of its column, if it is neither the number in it nor one of its levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// 1 in rows without a value, 0 in the others.
    Missing,
    /// Of a time: the days since the time of the first row, which is given in milliseconds since 1970.
    Elapsed(i64),
    /// Of a time: the sine of the angle of the time of the day.
    HourSin,
    /// The cosine of that angle.
    HourCos,
    /// Of a time: the sine of the angle of the time of the week, from Monday on.
    WeekdaySin,
    /// The cosine of that angle.
    WeekdayCos,
    /// The logarithm of a number x: that of 1 + |x|, with the sign of x.
    Log,
    /// How often a word or sequence of words, the level, is in a text.
    Word,
}

impl Part {
    /// The features of a column of times, in order.
    pub(super) fn of_time(origin: i64) -> [Part; 5] {
        [Part::Elapsed(origin), Part::HourSin, Part::HourCos, Part::WeekdaySin, Part::WeekdayCos]
    }

    /// What the feature says, after the name of its column.
    fn words(self) -> &'static str {
        match self {
            Part::Missing => " is missing",
            Part::Elapsed(_) => " elapsed days",
            Part::HourSin => " hour sin",
            Part::HourCos => " hour cos",
            Part::WeekdaySin => " weekday sin",
            Part::WeekdayCos => " weekday cos",
            Part::Log => " log",
            Part::Word => ": ",
        }
    }
}

/// One feature: a column of numbers, one level of a column of text, or another part of a column.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feature {
    /// The column's name.
    pub column: Name,
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
            (Some(part), level) => format!("{column}{}{}", part.words(), level.as_deref().unwrap_or_default()),
            (None, Some(level)) => format!("{column}={level}"),
            (None, None) => column.to_string(),
        }
    }

    /// Whether the feature is the number in its column, or its logarithm.
    pub fn is_number(&self) -> bool {
        matches!(self.part, None | Some(Part::Log)) && self.level.is_none()
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
    /// By a hash of this many bits, see [`super::hash_feature`]. Names are not kept.
    Hashed(u8),
}

impl Default for Features {
    fn default() -> Self {
        Features::Indexed(0)
    }
}

/// The columns of a model's training data; independent of the format, stored as JSON in the model file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    /// The features in order.
    pub features: Features,
    /// Whether the columns have no names and are numbered from 1: a table's columns are then taken in their order.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unnamed: bool,
    /// The targets' names.
    pub targets: Vec<String>,
    /// Columns that are neither features nor targets: ignored ones, ids, weights.
    #[serde(default)]
    pub ignored: Vec<String>,
    /// If not empty: only these columns are features.
    #[serde(default)]
    pub chosen: Vec<String>,
    /// Features that are not read, see [`Schema::unread`], where features have their numbers as names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<String>,
    /// Whether a feature that is absent from a row is 0. Such data are scaled, but not centred.
    pub sparse: bool,
    /// Whether features are added when new names appear.
    pub open: bool,
    /// Whether text columns are one-hot encoded and new values are added.
    pub one_hot: bool,
    /// Columns that are one-hot encoded whatever they have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// Columns of times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<String>,
    /// Columns of numbers of which the logarithm is taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<String>,
    /// Columns of texts, whose words are features.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<String>,
    /// The longest sequence of words that is a feature; 0 and 1: words alone.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ngrams: u8,
    /// What a cell without a value becomes.
    #[serde(default, skip_serializing_if = "Missing::is_refused")]
    pub missing: Missing,
}

fn is_zero(number: &u8) -> bool {
    *number == 0
}

impl Schema {
    /// The number of features so far.
    pub fn len(&self) -> usize {
        match &self.features {
            Features::Indexed(n) => *n,
            Features::Hashed(bits) => 1 << bits,
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
            Features::Indexed(_) | Features::Hashed(_) => None,
            Features::Named(list) => list.get(feature),
        };
        named.map_or_else(|| (feature + 1).to_string(), Feature::name)
    }

    /// All features' names in order; empty if they are hashed.
    pub fn names(&self) -> Vec<String> {
        match &self.features {
            Features::Hashed(_) => Vec::new(),
            _ => (0..self.len()).map(|i| self.name(i)).collect(),
        }
    }

    /// The name of a feature; of a feature that is not the number in its column also the column, which flags such as --ignore name.
    pub fn source(&self, feature: usize) -> String {
        let name = self.name(feature);
        match &self.features {
            Features::Named(list) if list.get(feature).is_some_and(|made| made.column != *name) => {
                let column = &list[feature].column;
                format!(
                    "'{name}' (made from the column '{column}'; --ignore {} leaves out all that is made from it)",
                    typed(column)
                )
            }
            _ => name,
        }
    }

    /// Whether the cells of a row are not simply its features in order.
    pub(super) fn grows(&self) -> bool {
        let parts = [&self.categories, &self.times, &self.logs, &self.texts];
        self.one_hot || self.missing.indicator || self.hash_bits().is_some() || parts.iter().any(|names| !names.is_empty())
    }

    /// The number of bits of the hash, if features are hashed.
    pub fn hash_bits(&self) -> Option<u8> {
        match self.features {
            Features::Hashed(bits) => Some(bits),
            _ => None,
        }
    }

    /// The columns of times, and the time at which their elapsed days begin.
    pub fn elapsed_since(&self) -> Vec<(String, String)> {
        let Features::Named(list) = &self.features else { return Vec::new() };
        let since = |feature: &Feature| match feature.part {
            Some(Part::Elapsed(origin)) => Some((feature.column.to_string(), text_of(origin))),
            _ => None,
        };
        list.iter().filter_map(since).collect()
    }

    /// The features that are not read from rows, ascending. Features of LIBSVM text that `--ignore` or `--features` leaves out keep their numbers,
    /// but the model has learned them as 0.
    pub fn unread(&self) -> Vec<usize> {
        let numbers = |names: &[String]| -> BTreeSet<usize> {
            names.iter().filter_map(|name| name.parse::<usize>().ok()?.checked_sub(1)).collect()
        };
        match &self.features {
            Features::Indexed(n) if self.chosen.is_empty() => numbers(&self.ignored).range(..n).copied().collect(),
            Features::Indexed(n) => {
                let (chosen, ignored) = (numbers(&self.chosen), numbers(&self.ignored));
                (0..*n).filter(|feature| !chosen.contains(feature) || ignored.contains(feature)).collect()
            }
            Features::Named(list) if !self.unread.is_empty() => {
                let is_unread = |feature: &Feature| self.unread.iter().any(|name| feature.column == **name);
                (0..).zip(list).filter(|(_, feature)| is_unread(feature)).map(|(at, _)| at).collect()
            }
            Features::Named(_) | Features::Hashed(_) => Vec::new(),
        }
    }

    /// Gives features without names their numbers as names.
    pub(super) fn name_features(&mut self) {
        if matches!(self.features, Features::Indexed(_)) {
            self.unread = self.unread().into_iter().map(|feature| (feature + 1).to_string()).collect();
        }
        self.features = Features::Named(self.named());
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
            Features::Hashed(_) => {}
        }
    }

    /// The names of the columns of the features, each once, in order.
    pub fn columns(&self) -> Vec<String> {
        let mut seen = HashSet::new();
        let columns = self.named().into_iter().map(|feature| feature.column);
        columns.filter(|column| seen.insert(column.clone())).map(|column| column.to_string()).collect()
    }

    /// Gives columns other names. Afterwards the columns have names.
    pub fn rename(&mut self, old: &[String], new: &[String]) {
        let renamed: HashMap<&str, &String> = old.iter().map(String::as_str).zip(new).collect();
        let mut list = self.named();
        for feature in &mut list {
            if let Some(name) = renamed.get(&*feature.column) {
                feature.column = name.as_str().into();
            }
        }
        (self.features, self.unnamed) = (Features::Named(list), false);
    }

    /// The features by name; a feature without a name gets its number as its name.
    pub(super) fn named(&self) -> Vec<Feature> {
        match &self.features {
            Features::Named(list) => list.clone(),
            Features::Hashed(_) => Vec::new(),
            Features::Indexed(n) => {
                (1..=*n).map(|i| Feature { column: i.to_string().into(), optional: true, ..Feature::default() }).collect()
            }
        }
    }
}
