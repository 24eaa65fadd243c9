//! The role of every column (feature, level of a text column, target, weight, id), and new columns that appear in later rows.

use super::Options;
use super::asked::Asked;
use super::error::{self, Parsed};
use super::name::{Name, Table};
use super::plan::listed;
use super::schema::{Feature, Features, Part, Schema};

/// The largest number of features.
pub const MOST_FEATURES: usize = 1 << 20;

/// The largest index of a numbered feature.
pub const MOST_INDEX: usize = 1 << 32;

/// A text column with more levels is refused, because it is probably a column of ids.
pub const MOST_LEVELS: usize = 10_000;

/// The role of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Ignored,
    /// A feature without any value so far, so it is not known whether it has numbers or text.
    Undecided,
    Number(u32),
    Category(u32),
    /// A time; the first of its features, if there has been a value.
    Time(Option<u32>),
    /// A number of which the logarithm is taken; its feature, if there has been a row.
    Log(Option<u32>),
    /// A text whose words are features; the number of its table of words.
    Words(u32),
    Target(u32),
    Weight,
    Id,
}

/// A named column.
#[derive(Debug)]
pub(super) struct Column {
    pub name: Name,
    pub role: Role,
    /// A row without it is an error.
    pub required: bool,
    /// What the numbers of the column are, if the format says that they are points in time.
    pub moments: Option<&'static str>,
    /// Milliseconds per unit, if the format says that the numbers are times or dates.
    pub unit: Option<f64>,
    /// The place of its text among those that are passed through.
    pub keep: Option<u32>,
    /// The feature that is 1 where the column has no value, if there has been such a row.
    pub indicator: Option<u32>,
}

/// All columns seen so far. Columns that a row adds are removed again if the row is discarded.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) schema: Schema,
    pub list: Vec<Column>,
    index: Table<Name>,
    /// For each column, the column that followed it in the last row: the first candidate of [`Columns::find`].
    after: Vec<u32>,
    /// How many of these candidates in a row were wrong, see [`WRONG`].
    wrong: u32,
    /// Levels of each text column.
    pub(super) categories: Vec<Table<Box<[u8]>>>,
    kept: Mark,
    /// The number of features in the chunks returned so far.
    pub handed: usize,
    /// The columns whose texts are passed through.
    keeps: Vec<String>,
    /// See [`Options::number_targets`].
    pub number_targets: bool,
    /// Whether cells are read for the texts that are passed through alone: those of a row that is skipped.
    pub only_kept: bool,
    /// Names that the model does not know: all of them, and those that no chunk has reported yet.
    unknown: [Vec<String>; 2],
    /// Whether rows add columns only, and no indicators, levels and words.
    pub only_columns: bool,
    /// Whether the columns are those of a model: options for columns do not change them any more.
    of_model: bool,
    /// What an error about names of columns says of the first line of a table; empty for other formats.
    pub line_1: &'static str,
    /// See [`super::Chunk::said`]; what no chunk has said yet.
    pub said: Vec<String>,
    /// The columns of [`Options::inherited`] that the file does not have.
    pub absent: Vec<String>,
    /// Names in the options that no row has had so far, for formats without a header.
    pub asked: Asked,
    /// The columns with a number in most of the first rows after the first one: a text in the first row is a bad row, and not what the column has.
    pub of_numbers: Vec<u32>,
    /// See [`Options::skip_bad_rows`].
    pub skips: bool,
}

/// The largest number of stored names that the model does not know.
const MOST_UNKNOWN: usize = 1000;

/// Properties of a format.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Whether an absent feature is 0.
    pub sparse: bool,
    /// Whether a new name adds a feature.
    pub open: bool,
    /// Whether features have numbers from 1 instead of names.
    pub indexed: bool,
}

/// A longer flag is not part of an advice.
const LONGEST_FLAG: usize = 200;

/// The index of the column that stands for all ignored cells.
const NOWHERE: u32 = 0;

/// After this many wrong candidates in a row, names come in no order, and only one name in this many has a candidate: it costs time.
const WRONG: u32 = 16;

/// The counts when the last row was completed, to which a discarded row is rolled back.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    columns: usize,
    features: usize,
    categories: usize,
    rows: u64,
}

/// Whether a key is that of an object, or inside it: `a` and `a.b` are parts of `a`.
fn is_part(key: &[u8], whole: &str) -> bool {
    key.strip_prefix(whole.as_bytes()).is_some_and(|rest| rest.is_empty() || rest[0] == b'.')
}

impl Columns {
    /// From the schema of a model, or from the options alone.
    pub fn new(options: &Options, shape: Shape) -> Self {
        let Shape { sparse, open, indexed } = shape;
        let schema = options.schema.clone().unwrap_or_else(|| Schema {
            features: match options.hash_bits {
                _ if indexed => Features::Indexed(0),
                Some(bits) => Features::Hashed(bits),
                None => Features::Named(Vec::new()),
            },
            unnamed: false,
            targets: options.targets.clone(),
            ignored: options.ignore.iter().chain(&options.id).chain(&options.weight).cloned().collect(),
            chosen: options.features.clone(),
            unread: Vec::new(),
            sparse: sparse || options.hash_bits.is_some() || !options.texts.is_empty(),
            open,
            one_hot: options.one_hot,
            categories: options.categories.clone(),
            times: options.times.clone(),
            logs: options.logs.clone(),
            texts: options.texts.clone(),
            ngrams: options.ngrams,
            missing: options.missing.unwrap_or_default(),
        });
        let mut columns = Columns {
            list: Vec::new(),
            index: Table::default(),
            after: Vec::new(),
            wrong: 0,
            categories: Vec::new(),
            kept: Mark::default(),
            handed: 0,
            keeps: options.keep.clone(),
            number_targets: options.number_targets,
            only_kept: false,
            unknown: Default::default(),
            only_columns: false,
            of_model: options.schema.is_some(),
            line_1: "",
            said: Vec::new(),
            absent: Vec::new(),
            asked: Asked::default(),
            of_numbers: Vec::new(),
            skips: options.skip_bad_rows,
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
        self.name_parts();
        if self.schema.hash_bits().is_none() && !self.schema.unnamed {
            self.add_all_known();
        }
    }

    /// Features that the model does not read have no column.
    fn add_all_known(&mut self) {
        self.schema.name_features();
        let unread = self.schema.unread();
        for (i, feature) in self.schema.named().iter().enumerate().filter(|(i, _)| unread.binary_search(i).is_err()) {
            self.add_known(feature, i as u32);
        }
    }

    /// Gives the columns of a model without names the names of a table's columns, in order. Columns that have a role already are left out.
    ///
    /// # Errors
    /// If the model has another number of columns.
    pub fn name_in_order(&mut self, names: &[String]) -> Result<(), String> {
        if !self.schema.unnamed {
            return Ok(());
        }
        let chosen = &self.schema.chosen;
        let free = |name: &&String| self.at(name).is_none() && (chosen.is_empty() || chosen.contains(name));
        let (free, columns): (Vec<String>, _) = (names.iter().filter(free).cloned().collect(), self.schema.columns());
        if free.len() != columns.len() {
            return Err(format!(
                "has {} columns for features ({}), and the model takes {}, for which it has no names; leave some out with --ignore",
                free.len(),
                listed(free),
                columns.len()
            ));
        }
        self.schema.rename(&columns, &free);
        self.add_all_known();
        self.seal();
        Ok(())
    }

    /// Gives the columns that are categories, times or texts their roles.
    fn name_parts(&mut self) {
        let required = !self.schema.sparse || !self.schema.open;
        for name in self.schema.categories.clone() {
            let role = self.new_table(Role::Category);
            self.add(name.as_bytes(), role, required);
        }
        for name in self.schema.times.clone() {
            self.add(name.as_bytes(), Role::Time(None), required);
        }
        for name in self.schema.logs.clone() {
            self.add(name.as_bytes(), Role::Log(None), required);
        }
        for name in self.schema.texts.clone() {
            let role = self.new_table(Role::Words);
            self.add(name.as_bytes(), role, required);
        }
    }

    /// The role of a column that has a table of levels or words.
    pub fn new_table(&mut self, role: fn(u32) -> Role) -> Role {
        self.categories.push(Table::default());
        role(self.categories.len() as u32 - 1)
    }

    fn set(&mut self, name: &str, role: Role) {
        let at = self.index.get(name.as_bytes()).copied().unwrap_or_else(|| self.add(name.as_bytes(), role, false));
        self.list[at as usize].role = role;
    }

    fn add_known(&mut self, feature: &Feature, at: u32) {
        let name = feature.column.as_bytes();
        let column = self.index.get(name).copied().unwrap_or_else(|| self.add(name, Role::Undecided, !feature.optional));
        match (feature.part, &feature.level) {
            (Some(Part::Missing), _) => self.list[column as usize].indicator = Some(at),
            (Some(Part::Elapsed(_)), _) => self.list[column as usize].role = Role::Time(Some(at)),
            (Some(Part::Log), _) => self.list[column as usize].role = Role::Log(Some(at)),
            (None, None) => self.list[column as usize].role = Role::Number(at),
            (None | Some(Part::Word), Some(level)) => self.add_level(column, level, at),
            _ => {}
        }
    }

    fn add_level(&mut self, column: u32, level: &str, at: u32) {
        if !matches!(self.list[column as usize].role, Role::Category(_) | Role::Words(_)) {
            self.list[column as usize].role = self.new_table(Role::Category);
        }
        if let Role::Category(c) | Role::Words(c) = self.list[column as usize].role {
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

    /// Whether there has been a row: in this input, or in the data of the model.
    pub fn started(&self) -> bool {
        self.kept.rows > 0
    }

    /// The flag --one-hot with a column of numbers beside the columns that it reads already; none without --one-hot, and for the columns of a model.
    pub fn with_one_hot(&self, name: &str) -> Option<String> {
        let texts = self.list.iter().filter(|column| matches!(column.role, Role::Category(_))).map(|column| &*column.name);
        let names: Vec<&str> = std::iter::once(name).chain(texts).collect();
        let flag = format!("--one-hot {}", names.join(","));
        let can_be_typed = flag.chars().count() <= LONGEST_FLAG && !names.iter().any(|name| name.contains([',', ' ']));
        (self.uses_one_hot() && !self.of_model && can_be_typed).then_some(flag)
    }

    fn uses_one_hot(&self) -> bool {
        self.schema.one_hot || !self.schema.categories.is_empty()
    }

    /// Whether the current row has added features.
    pub fn has_grown(&self) -> bool {
        self.features() > self.kept.features
    }

    /// The column of a name; `previous` is the column before it in the row. A new name becomes a feature, unless --features names
    /// others or the schema is closed.
    pub fn find(&mut self, name: &[u8], previous: u32) -> u32 {
        let guessing = self.wrong <= WRONG;
        if guessing {
            let guess = self.after.get(previous as usize).copied().unwrap_or(0);
            if guess != NOWHERE && self.list.get(guess as usize).is_some_and(|c| c.name.as_bytes() == name) {
                self.wrong = 0;
                return guess;
            }
        }
        self.wrong = if self.wrong < 2 * WRONG { self.wrong + 1 } else { WRONG };
        let found = self.index.get(name).copied().unwrap_or_else(|| {
            let chosen = &self.schema.chosen;
            let wanted = self.schema.open && (chosen.is_empty() || chosen.iter().any(|whole| is_part(name, whole)));
            let required = !self.schema.sparse && !self.started();
            if !wanted && self.keeps.iter().any(|keep| keep.as_bytes() == name) {
                return self.add(name, Role::Ignored, false);
            }
            if !wanted {
                self.leave_out(&String::from_utf8_lossy(name));
                return NOWHERE;
            }
            self.add(name, Role::Undecided, required)
        });
        if let Some(after) = self.after.get_mut(previous as usize).filter(|_| guessing) {
            *after = found;
        }
        found
    }

    fn add(&mut self, name: &[u8], role: Role, required: bool) -> u32 {
        let at = self.list.len() as u32;
        let keep = self.keeps.iter().position(|keep| keep.as_bytes() == name).map(|keep| keep as u32);
        let name = Name::from(&*String::from_utf8_lossy(name));
        self.index.insert(name.clone(), at);
        self.list.push(Column { name, role, required, moments: None, unit: None, keep, indicator: None });
        self.after.push(at + 1);
        at
    }

    /// Stores a name that the model does not know, unless --features is given.
    pub fn leave_out(&mut self, name: &str) {
        let [all, fresh] = &mut self.unknown;
        if self.schema.chosen.is_empty() && all.len() < MOST_UNKNOWN && !all.iter().any(|known| known == name) {
            all.push(name.into());
            fresh.push(name.into());
        }
    }

    /// The names that the model does not know and that no chunk has reported yet.
    pub fn unknown(&mut self) -> Vec<String> {
        std::mem::take(&mut self.unknown[1])
    }

    /// Says which columns of [`Options::inherited`] the file has; the others are not used. A key of JSON lines may be in later rows only: rows
    /// without it have the weight 1, but every row needs an id.
    pub fn inherit(&mut self, options: &Options, has: impl Fn(&str) -> bool) {
        for name in &options.inherited {
            let (what, flag, without) = match options.weight.as_ref() == Some(name) {
                true => ("weights", "--weight", "every row has the weight 1"),
                false => ("ids", "--id", "rows have no ids"),
            };
            let of_keys = self.asked.are_keys;
            if has(name) {
                self.said.push(format!(
                    "{what} are taken from the column '{name}', as when the model was learned; --ignore {name} leaves it out"
                ));
            } else if of_keys && flag == "--weight" {
                self.asked.add_inherited(name);
            } else {
                let not = if of_keys { "the first row has no key" } else { "there is no column" };
                self.said.push(format!(
                    "{not} '{name}', from which the model took its {what}: {without}; name another column with {flag}"
                ));
                self.absent.push(name.clone());
                self.set(name, Role::Ignored);
            }
        }
    }

    /// Adds a sentence to `said` for each name in the options that none of the first `rows` rows has. Called once.
    ///
    /// # Errors
    /// If no row has a feature that `--features` names.
    pub fn check_asked(&mut self, rows: u64) -> Result<(), String> {
        let asked = std::mem::take(&mut self.asked);
        if asked.is_checked() {
            return Ok(());
        }
        let is_there = |column: &&Column| asked.are_keys || !matches!(column.role, Role::Target(_));
        let own = self.list.iter().skip(1).filter(is_there).map(|column| column.name.to_string());
        let names: Vec<String> = own.filter(|name| !asked.is_unmet(name)).collect();
        let there = match &self.schema.features {
            Features::Indexed(n) => format!("the features are 1 to {n}"),
            Features::Hashed(_) => "the names of features are not kept (--hash-bits)".into(),
            Features::Named(_) => format!("the {}s are {}", asked.what(), listed(names.clone())),
        };
        let chosen = |name: &str| self.list.iter().skip(1).any(|column| is_part(column.name.as_bytes(), name));
        self.said.extend(asked.sentences(rows, (&names, &there), chosen)?);
        Ok(())
    }

    /// Raises the number of numbered features to at least `features`.
    pub fn reach(&mut self, features: usize) -> Parsed {
        match &mut self.schema.features {
            Features::Indexed(_) if features > MOST_INDEX => Err(error::cell(
                &features.to_string(),
                format!("indices beyond {MOST_INDEX} are not taken; renumber or hash the features"),
            )),
            Features::Indexed(n) => {
                *n = features.max(*n);
                Ok(())
            }
            Features::Named(list) if features > list.len() => {
                Err(error::cell(&features.to_string(), format!("the model has only {} features; remove the others", list.len())))
            }
            Features::Named(_) | Features::Hashed(_) => Ok(()),
        }
    }

    /// The feature of a column of numbers, if a row that is complete has it: such a column is never removed.
    pub fn lasting_number(&self, column: u32) -> Option<u32> {
        match self.list[column as usize].role {
            Role::Number(at) if (column as usize) < self.kept.columns && (at as usize) < self.kept.features => Some(at),
            _ => None,
        }
    }

    /// Keeps the columns, features and levels that the row added.
    pub fn keep(&mut self) {
        let rows = self.kept.rows + 1;
        self.kept = Mark { columns: self.list.len(), features: self.schema.len(), categories: self.categories.len(), rows };
    }

    /// Marks all columns known now as known before the first row.
    pub fn seal(&mut self) {
        let rows = self.kept.rows;
        self.keep();
        (self.handed, self.kept.rows) = (self.features(), rows);
    }

    /// Adds a column of the header that no option names.
    pub fn add_feature_column(&mut self, name: &str) -> u32 {
        self.add(name.as_bytes(), Role::Undecided, true)
    }

    /// Adds a column whose text is passed through and that is not used otherwise; none if it is not asked for.
    pub fn add_kept(&mut self, name: &str) -> Option<u32> {
        self.keeps.iter().any(|keep| keep == name).then(|| self.add(name.as_bytes(), Role::Ignored, false))
    }

    /// Whether a feature of this name is used: it is not ignored, and among those that are chosen, if some are.
    pub fn wants(&mut self, name: &[u8]) -> bool {
        self.asked.meet(name);
        let chosen = &self.schema.chosen;
        let ignored = self.index.get(name).is_some_and(|at| self.list[*at as usize].role == Role::Ignored);
        !ignored && (chosen.is_empty() || chosen.iter().any(|one| one.as_bytes() == name))
    }

    /// Whether there are features that are not used, see [`Columns::wants`].
    pub fn leaves_out(&self) -> bool {
        !self.schema.chosen.is_empty() || self.index.values().any(|at| self.list[*at as usize].role == Role::Ignored)
    }

    /// The column of that name.
    pub fn at(&self, name: &str) -> Option<u32> {
        self.index.get(name.as_bytes()).copied()
    }

    /// Removes the columns, features and levels that the row added.
    pub fn roll_back(&mut self) {
        let list = match &mut self.schema.features {
            Features::Named(list) => list,
            Features::Indexed(n) => {
                *n = self.kept.features;
                return;
            }
            Features::Hashed(_) => return self.roll_back_columns(),
        };
        if list.len() == self.kept.features && self.list.len() == self.kept.columns {
            return;
        }
        let gone = list.split_off(self.kept.features);
        self.categories.truncate(self.kept.categories);
        // Only the new levels are looked at: there may be many old ones.
        for Feature { column, level, .. } in gone {
            let role = self.index.get(column.as_bytes()).map(|at| self.list[*at as usize].role);
            if let (Some(Role::Category(table) | Role::Words(table)), Some(level)) = (role, level)
                && let Some(levels) = self.categories.get_mut(table as usize)
            {
                levels.remove(level.as_bytes());
            }
        }
        self.roll_back_columns();
        let gone = |at: &u32| *at as usize >= self.kept.features;
        for column in &mut self.list {
            column.role = match column.role {
                Role::Number(at) if gone(&at) => Role::Undecided,
                Role::Category(at) if at as usize >= self.kept.categories => Role::Undecided,
                Role::Time(Some(at)) if gone(&at) => Role::Time(None),
                Role::Log(Some(at)) if gone(&at) => Role::Log(None),
                role => role,
            };
            column.indicator = column.indicator.filter(|at| !gone(at));
        }
    }

    fn roll_back_columns(&mut self) {
        if self.list.len() == self.kept.columns {
            return;
        }
        for column in self.list.drain(self.kept.columns.min(self.list.len())..) {
            self.index.remove(column.name.as_bytes());
        }
        self.after.truncate(self.kept.columns);
    }

    /// The features up to number `features` that no chunk has reported yet.
    pub fn hand_out(&mut self, features: usize) -> Vec<Feature> {
        let Features::Named(list) = &self.schema.features else { return Vec::new() };
        let new = list[self.handed.min(features)..features].to_vec();
        self.handed = features;
        new
    }
}
