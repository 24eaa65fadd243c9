//! Which column is what: names to features, levels of text columns, targets, weights and ids; and how that grows.

use std::collections::HashMap;

use super::Options;
use super::error::{self, Parsed};
use super::schema::{Feature, Features, Schema};

/// There may be no more features.
pub const MOST_FEATURES: usize = 1 << 20;

/// A text column with more levels is taken for an id.
pub const MOST_LEVELS: usize = 10_000;

/// What a column is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Ignored,
    /// A feature of which no value has been seen, so that it is not known whether it is numbers or text.
    Undecided,
    Number(u32),
    Category(u32),
    Target(u32),
    Weight,
    Id,
}

/// A named column.
#[derive(Debug)]
pub(super) struct Column {
    pub name: String,
    pub role: Role,
    /// A row without it is an error.
    pub required: bool,
}

/// All columns seen so far; what a row adds is kept or taken back with the row.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) schema: Schema,
    pub list: Vec<Column>,
    index: HashMap<Box<[u8]>, u32>,
    /// The column that came after each column the last time: the first guess of [`Columns::find`].
    after: Vec<u32>,
    /// Levels of each text column.
    pub(super) categories: Vec<HashMap<Box<[u8]>, u32>>,
    kept: Mark,
    /// Features that the chunks handed out so far know of.
    pub handed: usize,
    /// Names that a model does not know, all of them and those that no chunk has handed out yet.
    unknown: [Vec<String>; 2],
}

/// So many names that a model does not know are remembered.
const MOST_UNKNOWN: usize = 1000;

/// What a format is like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// What is absent is 0.
    pub sparse: bool,
    /// New names are new features.
    pub open: bool,
    /// Features are numbers from 1, not names.
    pub indexed: bool,
}

/// What is not wanted.
const NOWHERE: u32 = 0;

/// How much there was when the last row was kept.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    columns: usize,
    features: usize,
    categories: usize,
    rows: u64,
}

impl Columns {
    /// From the schema of a model, or from the options alone.
    pub fn new(options: &Options, shape: Shape) -> Self {
        let Shape { sparse, open, indexed } = shape;
        let schema = options.schema.clone().unwrap_or_else(|| Schema {
            features: if indexed { Features::Indexed(0) } else { Features::Named(Vec::new()) },
            targets: options.targets.clone(),
            ignored: options.ignore.iter().chain(&options.id).chain(&options.weight).cloned().collect(),
            chosen: options.features.clone(),
            sparse,
            open,
            one_hot: options.one_hot,
        });
        let mut columns = Columns {
            list: Vec::new(),
            index: HashMap::new(),
            after: Vec::new(),
            categories: Vec::new(),
            kept: Mark::default(),
            handed: 0,
            unknown: Default::default(),
            schema,
        };
        columns.add(b"", Role::Ignored, false);
        columns.index.clear();
        if !indexed {
            columns.name_known(options);
        }
        columns.kept.rows = u64::from(options.schema.is_some());
        columns.seal();
        columns
    }

    fn name_known(&mut self, options: &Options) {
        for (i, name) in self.schema.targets.clone().iter().enumerate() {
            self.add(name.as_bytes(), Role::Target(i as u32), false);
        }
        options.id.iter().for_each(|name| self.set(name, Role::Id));
        options.weight.iter().for_each(|name| self.set(name, Role::Weight));
        for name in self.schema.ignored.clone().iter().chain(&options.ignore) {
            if !self.index.contains_key(name.as_bytes()) {
                self.set(name, Role::Ignored);
            }
        }
        self.schema.features = Features::Named(self.schema.named());
        for (i, feature) in self.schema.named().iter().enumerate() {
            self.add_known(feature, i as u32);
        }
    }

    fn set(&mut self, name: &str, role: Role) {
        let at = self.index.get(name.as_bytes()).copied().unwrap_or_else(|| self.add(name.as_bytes(), role, false));
        self.list[at as usize].role = role;
    }

    fn add_known(&mut self, feature: &Feature, at: u32) {
        let name = feature.column.as_bytes();
        let column = self.index.get(name).copied().unwrap_or_else(|| self.add(name, Role::Undecided, !feature.optional));
        let Some(level) = &feature.level else {
            self.list[column as usize].role = Role::Number(at);
            return;
        };
        if !matches!(self.list[column as usize].role, Role::Category(_)) {
            self.list[column as usize].role = Role::Category(self.categories.len() as u32);
            self.categories.push(HashMap::new());
        }
        if let Role::Category(c) = self.list[column as usize].role {
            self.categories[c as usize].insert(level.as_bytes().into(), at);
        }
    }

    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The number of features so far.
    pub fn features(&self) -> usize {
        self.schema.len()
    }

    /// Rows kept so far; with a model's schema there were rows before.
    pub fn started(&self) -> bool {
        self.kept.rows > 0
    }

    /// The column of a name that came after another one. New columns are features,
    /// unless only some were asked for or the schema is closed.
    pub fn find(&mut self, name: &[u8], previous: u32) -> u32 {
        let guess = self.after.get(previous as usize).copied().unwrap_or(0);
        if guess != NOWHERE && self.list.get(guess as usize).is_some_and(|c| c.name.as_bytes() == name) {
            return guess;
        }
        let found = self.index.get(name).copied().unwrap_or_else(|| {
            let chosen = &self.schema.chosen;
            let inside = |n: &String| name.strip_prefix(n.as_bytes()).is_some_and(|rest| rest.is_empty() || rest[0] == b'.');
            let wanted = self.schema.open && (chosen.is_empty() || chosen.iter().any(inside));
            let required = !self.schema.sparse && !self.started();
            if !wanted {
                self.leave_out(&String::from_utf8_lossy(name));
                return NOWHERE;
            }
            self.add(name, Role::Undecided, required)
        });
        if let Some(after) = self.after.get_mut(previous as usize) {
            *after = found;
        }
        found
    }

    fn add(&mut self, name: &[u8], role: Role, required: bool) -> u32 {
        let at = self.list.len() as u32;
        self.list.push(Column { name: String::from_utf8_lossy(name).into_owned(), role, required });
        self.index.insert(name.into(), at);
        self.after.push(at + 1);
        at
    }

    /// Remembers a name that a model does not know, unless only some columns were asked for.
    pub fn leave_out(&mut self, name: &str) {
        let [all, fresh] = &mut self.unknown;
        if self.schema.chosen.is_empty() && all.len() < MOST_UNKNOWN && !all.iter().any(|known| known == name) {
            all.push(name.into());
            fresh.push(name.into());
        }
    }

    /// The names that a model does not know and that no chunk has handed out yet.
    pub fn unknown(&mut self) -> Vec<String> {
        std::mem::take(&mut self.unknown[1])
    }

    /// Makes the number of numbered features at least this large.
    pub fn reach(&mut self, features: usize) -> Parsed {
        match &mut self.schema.features {
            Features::Indexed(_) if features > MOST_FEATURES => Err(error::cell(
                &features.to_string(),
                format!("indices beyond {MOST_FEATURES} are not taken; renumber or hash the features"),
            )),
            Features::Indexed(n) => {
                *n = features.max(*n);
                Ok(())
            }
            Features::Named(list) if features > list.len() => {
                Err(error::cell(&features.to_string(), format!("the model has only {} features", list.len())))
            }
            Features::Named(_) => Ok(()),
        }
    }

    /// What the row added stays.
    pub fn keep(&mut self) {
        let rows = self.kept.rows + 1;
        self.kept = Mark { columns: self.list.len(), features: self.schema.len(), categories: self.categories.len(), rows };
    }

    /// What is known now was known before any row.
    pub fn seal(&mut self) {
        let rows = self.kept.rows;
        self.keep();
        (self.handed, self.kept.rows) = (self.features(), rows);
    }

    /// A column that the file's header names and nobody else has.
    pub fn add_feature_column(&mut self, name: &str) -> u32 {
        self.add(name.as_bytes(), Role::Undecided, true)
    }

    /// The column of that name.
    pub fn at(&self, name: &str) -> Option<u32> {
        self.index.get(name.as_bytes()).copied()
    }

    /// What the row added goes.
    pub fn roll_back(&mut self) {
        let list = match &mut self.schema.features {
            Features::Named(list) => list,
            Features::Indexed(n) => {
                *n = self.kept.features;
                return;
            }
        };
        if list.len() == self.kept.features && self.list.len() == self.kept.columns {
            return;
        }
        list.truncate(self.kept.features);
        let gone = |at: &u32| *at as usize >= self.kept.features;
        self.categories.truncate(self.kept.categories);
        self.categories.iter_mut().for_each(|levels| levels.retain(|_, at| !gone(at)));
        self.list.truncate(self.kept.columns);
        self.after.truncate(self.kept.columns);
        self.index.retain(|_, at| (*at as usize) < self.kept.columns);
        for column in &mut self.list {
            let lost = match column.role {
                Role::Number(at) => gone(&at),
                Role::Category(at) => at as usize >= self.kept.categories,
                _ => false,
            };
            if lost {
                column.role = Role::Undecided;
            }
        }
    }

    /// Features that no chunk has handed out yet, up to `features` of them in all.
    pub fn hand_out(&mut self, features: usize) -> Vec<Feature> {
        let Features::Named(list) = &self.schema.features else { return Vec::new() };
        let new = list[self.handed.min(features)..features].to_vec();
        self.handed = features;
        new
    }
}
