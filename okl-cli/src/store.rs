//! Model files: written atomically, with the state of the command line (position in the data, columns) beside the learner.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use anyhow::Context;
use okl::{Learner, file};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::input::{Encoding, Feature, Features, Filled, Format, Schema};
use crate::learned_rows::{Equal, LearnedRows, Lookup};
use crate::progress::Progress;
use crate::usage::usage;

/// The state that the command line stores in a model's `position`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Position {
    /// The progress of the current pass: the last line that was learned or, for a shuffled file, the number of rows learned.
    pub rows: u64,
    /// The fingerprint of the rows learned in the current pass or, for a shuffled file, of all rows. None in files of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub print: Option<u64>,
    /// The number of complete passes before this one.
    #[serde(default)]
    pub pass: u64,
    /// For a shuffled file: the number of its rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shuffled: Option<u64>,
    /// The largest line that was learned in any pass.
    #[serde(default)]
    pub lines: u64,
    /// If passes over the first rows of these data were complete and the data then had further rows, which have passes of their own: the last line
    /// before these further rows; otherwise 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub since: u64,
    /// The fingerprint of the rows up to that line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_print: Option<u64>,
    /// Rows without an id get ids above this one; smaller ids belong to lines of earlier data.
    #[serde(default)]
    pub ids: u64,
    /// If the model began with a sample of rows in a random order (`--save-model all`): the number of rows in this sample. They are the first
    /// rows in `progress`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replayed: Option<u64>,
    /// The number of rows that were learned or predicted, over all runs of the command line, each counted once. None if a file of an older version began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<u64>,
    /// Order and number of passes, format and columns.
    #[serde(default)]
    pub way: Way,
    /// The settings before the first row was learned, of a model that began with `okl learn`: they reproduce it as `--config`. During learning, okl
    /// replaces some settings by learned values. None in files of older versions and of other programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<Value>,
    /// The columns.
    pub schema: Option<Schema>,
    /// How well the model did while it learned.
    #[serde(default, skip_serializing_if = "Progress::is_empty")]
    pub progress: Progress,
    /// A sample of the rows that were learned, over all runs. Empty in files of older versions, whose `learned` has hashes of the text of rows:
    /// these are not compared with rows any more.
    #[serde(default, rename = "learned_rows", skip_serializing_if = "LearnedRows::is_empty")]
    pub learned: LearnedRows,
    /// For a resumed model: which rows of these data are equal to rows that it had learned before them.
    #[serde(default, rename = "learned_rows_before", skip_serializing_if = "Lookup::is_none")]
    pub learned_before: Lookup,
    /// The number of such rows in the data before these.
    #[serde(default, skip_serializing_if = "Equal::is_none")]
    pub again_before: Equal,
    /// From what cells without a value are filled: after the rows that were learned, and before the first row of these data.
    #[serde(default, skip_serializing_if = "Filled::is_empty")]
    pub filled: Filled,
    /// See `filled`.
    #[serde(default, skip_serializing_if = "Filled::is_empty")]
    pub filled_before: Filled,
    /// The same after the line `since`.
    #[serde(default, skip_serializing_if = "Filled::is_empty")]
    pub filled_since: Filled,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Position {
    /// The number of rows that were learned or predicted while the model learned, each counted once. None if it is not known: if a file of an older
    /// version began, or if another program, which counts examples only, has learned some of them.
    pub fn all_rows(&self) -> Option<u64> {
        self.seen.filter(|_| !self.progress.is_partly_elsewhere())
    }
}

/// Order and number of passes, format and special columns; stored, so that `--resume m.okl --continue` needs no other flag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Way {
    /// Number of passes.
    pub passes: u64,
    /// The seed of the random orders, if rows are shuffled.
    pub shuffle: Option<u64>,
    /// The format of the file.
    pub format: Option<Format>,
    /// The encoding of text.
    pub encoding: Option<Encoding>,
    /// Whether the first line is a header, if --header says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<bool>,
    /// The column of ids.
    pub id: Option<String>,
    /// The column of weights.
    pub weight: Option<String>,
    /// Whether bad rows are skipped.
    pub skip_bad_rows: bool,
}

impl Default for Way {
    fn default() -> Self {
        Way { passes: 1, shuffle: None, format: None, encoding: None, header: None, id: None, weight: None, skip_bad_rows: false }
    }
}

/// Writes a file atomically, see [`okl::file`].
///
/// # Errors
/// If the file cannot be written; the message has the path. The old file is unchanged.
pub fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    file::write(path, bytes).with_context(|| format!("{}: cannot be written", path.display()))
}

/// Checks that a file can be written there, before hours of learning.
///
/// # Errors
/// If it cannot be written; the message has the path.
pub fn check_writable(path: &Path) -> anyhow::Result<()> {
    file::check_writable(path).with_context(|| format!("{}: cannot be written", path.display()))
}

/// Saves a learner with its position.
///
/// # Errors
/// If the file cannot be written; the message has the path. The old file is unchanged.
pub fn save(path: &Path, learner: &mut Learner, position: &Position) -> anyhow::Result<()> {
    let progress = position.progress.saved_with(learner);
    learner.set_position(serde_json::to_vec(&Position { progress, ..position.clone() })?);
    learner.save(path).with_context(|| format!("{}: cannot be written", path.display()))
}

/// The names of the features in the position of a learner; none if it has none, or not as many as there are features.
pub fn feature_names(learner: &Learner) -> Option<Vec<String>> {
    let position: Position = serde_json::from_slice(learner.position()).ok()?;
    let schema = position.schema.filter(|schema| matches!(schema.features, Features::Named(_)) && !schema.unnamed)?;
    Some(schema.names()).filter(|names| names.len() == learner.features())
}

/// How well a learner did under the command line while it learned.
pub fn progress(learner: &Learner) -> Progress {
    serde_json::from_slice::<Position>(learner.position()).map(|position| position.progress).unwrap_or_default()
}

/// The rules by which a learner's features are made of the columns of a table, as flags; none if each feature is the number in a column.
pub fn rules(learner: &Learner) -> Option<String> {
    let rules = used_rules(learner);
    (!rules.is_empty()).then(|| rules.join(", "))
}

/// The flags of these rules.
pub fn used_rules(learner: &Learner) -> Vec<&'static str> {
    let position: Position = serde_json::from_slice(learner.position()).unwrap_or_default();
    let schema = position.schema.unwrap_or_default();
    let rules = [
        ("--time", !schema.times.is_empty()),
        ("--log", !schema.logs.is_empty()),
        ("--text", !schema.texts.is_empty()),
        ("--one-hot", schema.one_hot || !schema.categories.is_empty()),
        ("--missing", !schema.missing.is_refused()),
        ("--hash-bits", schema.hash_bits().is_some()),
        ("--ignore or --features of LIBSVM text", !schema.unread().is_empty()),
    ];
    rules.iter().filter(|(_, used)| *used).map(|(flag, _)| *flag).collect()
}

/// Whether columns can be found by these names: each is different from the others and not empty.
pub fn are_names(names: &[String]) -> bool {
    !names.is_empty() && names.iter().collect::<BTreeSet<_>>().len() == names.len() && !names.iter().any(String::is_empty)
}

/// The position of a learner with these names of the features, for a program that has no position in the data of its own. None if
/// the position is as it should be, if it is that of another program, or if a name is empty or occurs twice.
pub fn position_with(learner: &Learner, names: &[String]) -> Option<Vec<u8>> {
    if !are_names(names) || names.len() != learner.features() || feature_names(learner).as_deref() == Some(names) {
        return None;
    }
    let mut position: Position = match learner.position() {
        [] => Position::default(),
        ours => serde_json::from_slice(ours).ok()?,
    };
    let named = |name: &String| Feature { column: name.as_str().into(), ..Feature::default() };
    let features = Features::Named(names.iter().map(named).collect());
    let targets = position.schema.map(|schema| schema.targets).unwrap_or_default();
    position.schema = Some(Schema { features, targets, ..Schema::default() });
    serde_json::to_vec(&position).ok()
}

/// The position of a learner whose features are hashes of names, for a program that has no position in the data of its own.
pub fn position_of_hashed(bits: u8) -> Vec<u8> {
    let schema = Schema { features: Features::Hashed(bits), sparse: true, open: true, ..Schema::default() };
    serde_json::to_vec(&Position { schema: Some(schema), ..Position::default() }).unwrap_or_default()
}

/// As [`load`], for rows of a table.
///
/// # Errors
/// As [`load`], and if the model learned objects, which no table has.
pub fn load_for_rows(path: &Path) -> anyhow::Result<(Learner, Option<Position>)> {
    let (learner, position) = load(path)?;
    if learner.config().is_precomputed() {
        return Err(usage(format!(
            "{}: the model learned objects by their kernel values (kernel = precomputed), so it takes no rows of a table; \
             use it in Python: okl.load(path, kernel=..., objects=...)",
            path.display()
        )));
    }
    Ok((learner, position))
}

/// Loads a learner, and its position if it was trained by `okl learn`. A model saved by another program has no position or one
/// in that program's format; it can be loaded, too.
///
/// # Errors
/// If the file is not a model file of okl; the message has the path.
pub fn load(path: &Path) -> anyhow::Result<(Learner, Option<Position>)> {
    let learner = Learner::load(path).map_err(|e| refused(path, e))?;
    let ours = |bytes: &&[u8]| bytes.first() == Some(&b'{');
    let position = Some(learner.position()).filter(ours).map(serde_json::from_slice).transpose();
    let position = position
        .with_context(|| format!("{}: the position in its data was written by an incompatible version of okl", path.display()))?;
    Ok((learner, position))
}

/// The first nine bytes of a file.
fn first_bytes(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(9).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Distinguishes an error of the system from wrong contents.
fn refused(path: &Path, error: std::io::Error) -> anyhow::Error {
    let of_okl = error.get_ref().is_some_and(|inner| inner.is::<okl::Error>());
    let what = match first_bytes(path) {
        _ if !of_okl => "cannot be read",
        // The header of a model file, JSON, begins after its length in eight bytes.
        Some(bytes) if bytes.get(8) == Some(&b'{') => "a model file that is damaged or cut off",
        _ => "not a model file; the model comes before the data: okl COMMAND MODEL DATA",
    };
    anyhow::Error::new(error).context(format!("{}: {what}", path.display()))
}
