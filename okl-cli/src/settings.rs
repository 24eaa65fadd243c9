//! Builds a configuration from flags and files, and reports the settings that were chosen automatically.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Context, bail};
use clap::ValueEnum;
use okl::config::families::{FAMILIES, Family};
use okl::config::{Choice, Member, Scale, nearest, number_or_text};
use okl::loss::{Loss, Reads};
use okl::{Config, ErrorKind};
use serde_json::{Map, Value, json};

use crate::args::{Columns, Flat, Names, Settings, Task, all_names};
use crate::input::{Chunk, HASH_BITS, MOST_WORDS, label_of};
use crate::inspect::shorthand;
use crate::learn::task_of;
use crate::memory::{figure_of_bytes, most_bytes, of_a_term};
use crate::metrics::count;
use crate::usage::usage;

/// The settings of the file and the flags as one table; flags override the file.
pub fn given(settings: &Settings) -> anyhow::Result<Map<String, Value>> {
    let mut table = match &settings.config {
        Some(path) => read_file(path)?,
        None => Map::new(),
    };
    table.extend(of_flags(settings));
    Ok(table)
}

/// The settings of the flags as a table.
pub fn of_flags(settings: &Settings) -> Map<String, Value> {
    let mut table = Map::new();
    for (key, value) in settings.flat.given() {
        table.insert(key.into(), number_or_text(value));
    }
    let words = [
        ("loss", &settings.loss),
        ("kernel", &settings.kernel),
        ("step", &settings.step),
        ("budget", &settings.budget),
        ("form", &settings.form),
        ("regulariser", &settings.regulariser),
        ("shrink", &settings.shrink),
        ("average", &settings.average),
        ("threshold", &settings.threshold),
        ("scale", &settings.scale),
        ("anchor", &settings.anchor),
        ("class_weight", &settings.class_weight),
    ];
    table.extend(words.into_iter().filter_map(|(key, word)| Some((key.into(), Value::String(word.clone()?)))));
    let mut put = |key: &str, value: Option<Value>| value.map(|v| table.insert(key.into(), v));
    put("lambda", settings.lambda.as_deref().map(number_or_text));
    put("theta0", settings.theta0.map(Value::from));
    put("warmup", settings.warmup.map(Value::from));
    put("offset", settings.offset.map(Value::from));
    put("implicit", settings.implicit.then_some(json!(true)));
    put("allow_overshoot", settings.allow_overshoot.then_some(json!(true)));
    put("operator", (!settings.operator.is_empty()).then(|| json!(settings.operator)));
    let classes = all_names(&settings.classes);
    put("classes", (!classes.is_empty()).then(|| classes.iter().map(|class| json!(label_of(class))).collect()));
    table
}

/// Settings by name, as [`Config::to_json`] has them.
pub type Table = Map<String, Value>;

/// The settings at the end of a run that are not what they were before its first row.
pub fn learned(given: &Table, settings: &Table) -> Table {
    settings
        .iter()
        .filter(|(key, value)| given.get(*key) != Some(value))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// The settings that have one value for each column, and the number of their values.
pub fn per_column(config: &Config) -> Vec<(&'static str, usize)> {
    let scale = match &config.scale {
        Scale::Fixed { shift, .. } => shift.len(),
        _ => 0,
    };
    [("scale", scale), ("relevance", config.relevance.len())].into_iter().filter(|(_, values)| *values > 0).collect()
}

/// What to do about settings of --config with one value for each column that do not fit the columns of the rows; empty if there are none.
pub fn other_columns(config: &Config) -> String {
    let settings = per_column(config);
    let Some((_, values)) = settings.first() else { return String::new() };
    let names = settings.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" and ");
    let (have, them) = if settings.len() == 1 { ("has", "it is") } else { ("have", "they are") };
    format!(
        "; {names} of the settings {have} {values} values, one for each column: remove {names} from --config, so that {them} learned. Columns that \
         --one-hot, --text and indicators make come with the rows, so no list fits them from the first row on"
    )
}

/// Flags of a run, which a file of settings does not have.
const OF_THE_RUN: [&str; 19] = [
    "task",
    "passes",
    "shuffle",
    "test",
    "output",
    "save_model",
    "resume",
    "continue",
    "checkpoint_every",
    "threads",
    "device",
    "predictions",
    "predictions_format",
    "keep",
    "alerts_only",
    "report",
    "json",
    "quiet",
    "config",
];

fn read_file(path: &Path) -> anyhow::Result<Map<String, Value>> {
    let bytes = std::fs::read(path).with_context(|| format!("{}: cannot be read", path.display()))?;
    let no_text =
        |_| usage(format!("{}: not text; --config takes settings as TOML or JSON, and no model or data", path.display()));
    let text = String::from_utf8(bytes).map_err(no_text)?;
    let value: Value = match path.extension().is_some_and(|e| e == "json") {
        true => serde_json::from_str(&text).with_context(|| format!("{}: not JSON", path.display()))?,
        false => okl::config::toml_table(&text).with_context(|| path.display().to_string())?,
    };
    match value {
        Value::Object(table) => match table.keys().find(|key| OF_THE_RUN.contains(&key.replace('-', "_").as_str())) {
            Some(key) => {
                let flag = key.replace('_', "-");
                Err(usage(format!(
                    "{}: {key} belongs to the run and not to the model: remove it, and give --{flag} on the command line",
                    path.display()
                )))
            }
            None => Ok(table),
        },
        other => bail!("{}: expected a table of settings, found {other}", path.display()),
    }
}

/// The keys of a file of settings that are about columns and the reading of files; see [`columns`].
const OF_COLUMNS: [&str; 16] = [
    "target",
    "ignore",
    "features",
    "id",
    "weight",
    "format",
    "encoding",
    "header",
    "one_hot",
    "time",
    "log",
    "text",
    "ngrams",
    "hash_bits",
    "missing",
    "on_bad_row",
];

/// Refuses a key of the file of --config that is no setting. `table`: the settings without those about columns.
///
/// # Errors
/// If there is such a key; the message has all keys.
pub fn only_settings(path: Option<&Path>, table: &Table) -> anyhow::Result<()> {
    let Some(path) = path else { return Ok(()) };
    let reason = |key: &String, value: &Value| match Config::from_value(json!({ key: value })) {
        Err(error) => match error.kind() {
            ErrorKind::Config { field, reason } if field == key && reason.starts_with("no such setting") => Some(reason.clone()),
            _ => None,
        },
        Ok(_) => None,
    };
    let Some((key, reason)) = table.iter().find_map(|(key, value)| Some((key, reason(key, value)?))) else { return Ok(()) };
    let (meant, settings) = reason.split_once("there are ").unwrap_or((&reason, ""));
    let meant = match nearest(key, OF_COLUMNS.into_iter()) {
        Some(near) => format!("no such setting; did you mean `{near}`? "),
        None => meant.into(),
    };
    let columns = OF_COLUMNS.join(", ");
    Err(usage(format!("{}: {key}: {meant}there are {columns}; and {settings}", path.display())))
}

/// The answer to a flag of a parameter whose setting is not given, such as --q without --loss, if this is the reason for the error.
pub fn names_its_setting(error: okl::Error, flags: &Flat, table: &Table, look: &Look) -> anyhow::Error {
    let ErrorKind::Config { field, reason } = error.kind() else { return error.into() };
    // A wrong value of a parameter has another answer.
    if !reason.contains("has no such parameter") && !reason.contains("which is not given") {
        return error.into();
    }
    let flag = flags.given().into_iter().find(|(key, _)| key == field);
    let has_it = |family: &&Family| family.variants.iter().any(|variant| variant.parameters.contains(&field.as_str()));
    let families: Vec<&Family> = FAMILIES.iter().filter(has_it).collect();
    let (Some((key, value)), [family]) = (flag, &families[..]) else { return error.into() };
    if table.contains_key(family.key) {
        return error.into();
    }
    let fits = |name: &str| {
        let table = json!({ family.key: name, key: number_or_text(value) });
        let reads = || Config::from_value(table).map(|config| task_of(&config));
        family.key != "loss" || reads().is_ok_and(|task| task == metrics_task(look.task))
    };
    let having = family.variants.iter().filter(|variant| !variant.nested && variant.parameters.contains(&key));
    let names: Vec<&str> = having.map(|variant| variant.name).collect();
    let fitting: Vec<&str> = names.iter().copied().filter(|name| fits(name)).collect();
    let names = if fitting.is_empty() { names } else { fitting };
    let (of, setting) = (names.join(", "), family.key);
    let flag = key.replace('_', "-");
    match &names[..] {
        [] => error.into(),
        [one] => usage(format!("--{flag}: this is a parameter of the {setting} {one}; add --{setting} {one}")),
        [first, ..] => usage(format!(
            "--{flag}: this is a parameter of a {setting}, one of {of}; add one of them, as in --{setting} {first}"
        )),
    }
}

/// The task of a name of --task.
fn metrics_task(task: Task) -> crate::metrics::Task {
    match task {
        Task::Classes => crate::metrics::Task::Classes,
        Task::Numbers => crate::metrics::Task::Numbers,
        Task::Novelty => crate::metrics::Task::Novelty,
    }
}

/// Takes the settings that are about columns out of the table; flags override them.
///
/// # Errors
/// If a value is not valid for its flag.
pub fn columns(flags: &Columns, table: &mut Map<String, Value>) -> anyhow::Result<Columns> {
    let mut columns = flags.clone();
    for (key, place) in [
        ("target", &mut columns.target),
        ("ignore", &mut columns.ignore),
        ("features", &mut columns.features),
        ("time", &mut columns.time),
        ("log", &mut columns.log),
        ("text", &mut columns.text),
    ] {
        if let Some(names) = table.remove(key).map(|value| names(key, &value)).transpose()?.filter(|_| place.is_empty()) {
            *place = names;
        }
    }
    for (key, place) in [("id", &mut columns.id), ("weight", &mut columns.weight)] {
        if let Some(name) = table.remove(key).map(|value| one_word(key, &value)).transpose()? {
            place.get_or_insert(name);
        }
    }
    word(table, "format", &mut columns.format)?;
    word(table, "encoding", &mut columns.encoding)?;
    if let Some(Value::Bool(there)) = table.get("header") {
        let word = if *there { "yes" } else { "no" };
        table.insert("header".into(), json!(word));
    }
    word(table, "header", &mut columns.header)?;
    word(table, "on_bad_row", &mut columns.on_bad_row)?;
    if let Some(value) = table.remove("missing") {
        let rule = one_word("missing", &value)?.parse().map_err(|why| usage(format!("missing: found {value}, {why}")))?;
        columns.missing.get_or_insert(rule);
    }
    match table.remove("one_hot") {
        None => {}
        Some(Value::Bool(false)) => {}
        Some(Value::Bool(true)) => drop(columns.one_hot.get_or_insert(None)),
        Some(value) => {
            let all = names("one_hot", &value)?.into_iter().next();
            columns.one_hot.get_or_insert(all);
        }
    }
    for (key, place) in [("ngrams", &mut columns.ngrams), ("hash_bits", &mut columns.hash_bits)] {
        let most = if key == "ngrams" { MOST_WORDS } else { *HASH_BITS.end() };
        let Some(value) = table.remove(key) else { continue };
        let number = value.as_u64().and_then(|number| u8::try_from(number).ok()).filter(|number| (1..=most).contains(number));
        let number = number.ok_or_else(|| usage(format!("{key}: expected a whole number from 1 to {most}, found {value}")))?;
        place.get_or_insert(number);
    }
    Ok(columns)
}

/// A name, names separated by commas, or a list of names.
fn names(key: &str, value: &Value) -> anyhow::Result<Vec<Names>> {
    match value {
        Value::String(text) => Ok(text.parse().into_iter().collect()),
        Value::Array(list) => Ok(vec![list.iter().map(|name| one_word(key, name)).collect::<anyhow::Result<_>>()?]),
        other => Ok(vec![std::iter::once(one_word(key, other)?).collect()]),
    }
}

/// A name, or the number of a column without a name.
fn one_word(key: &str, value: &Value) -> anyhow::Result<String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        other => Err(usage(format!("{key}: expected the name of a column, found {other}"))),
    }
}

/// One of the words of a flag.
fn word<T: ValueEnum>(table: &mut Map<String, Value>, key: &str, place: &mut Option<T>) -> anyhow::Result<()> {
    let Some(value) = table.remove(key) else { return Ok(()) };
    let word = one_word(key, &value)?;
    let found = T::from_str(&word, false).map_err(|_| {
        let words: Vec<String> =
            T::value_variants().iter().filter_map(|v| Some(v.to_possible_value()?.get_name().into())).collect();
        usage(format!("{key}: unknown word '{word}'; choose one of {}", words.join(", ")))
    })?;
    place.get_or_insert(found);
    Ok(())
}

/// Properties of the data on which automatic choices depend.
#[derive(Clone, Debug)]
pub struct Look {
    /// The type of prediction.
    pub task: Task,
    /// Why this type was chosen from the first rows; none if it was given.
    pub why: Option<String>,
    /// Distinct classes among the first rows.
    pub classes: usize,
    /// The number of features so far.
    pub features: usize,
    /// The number of targets.
    pub targets: usize,
    /// Whether an absent feature is 0.
    pub sparse: bool,
    /// Whether later rows can have further features.
    pub grows: bool,
    /// Whether rows have ids.
    pub ids: bool,
    /// Of sparse rows with many features: what the first of them have.
    pub entries: Option<Entries>,
}

/// Means over the first rows, rounded up.
#[derive(Clone, Copy, Debug)]
pub struct Entries {
    /// Values that are not zero.
    pub values: usize,
    /// Different columns of all rows, divided by the number of rows.
    pub columns: usize,
}

impl Entries {
    /// Of these rows; none if rows are dense.
    pub fn of<'a>(chunks: impl IntoIterator<Item = &'a Chunk>) -> Option<Self> {
        let (mut rows, mut values, mut columns) = (0, 0, HashSet::new());
        for chunk in chunks.into_iter().filter(|chunk| chunk.entries.is_some()) {
            rows += chunk.rows;
            for row in 0..chunk.rows {
                columns.extend(chunk.values(row).inspect(|_| values += 1).map(|(column, _)| column));
            }
        }
        (rows > 0).then(|| Entries { values: usize::div_ceil(values, rows), columns: columns.len().div_ceil(rows) })
    }
}

impl Look {
    /// The number of classes that a figure of memory is about, if there may be more.
    fn if_so_many_classes(&self, config: &Config) -> String {
        let open = config.loss.reads() == Reads::Class && config.classes.is_none();
        if open { format!(" if there are {} classes", self.outputs(config)) } else { String::new() }
    }

    /// The number of outputs as far as it is known.
    pub fn outputs(&self, config: &Config) -> usize {
        match config.loss.reads() {
            Reads::Class => config.classes.as_ref().map_or(self.classes, Vec::len).max(2),
            Reads::Vector | Reads::Number => self.targets.max(1),
            _ => 1,
        }
    }
}

/// Chooses the settings that were not given, and returns notes about them. `memory`: the budget in bytes, if --memory is given.
pub fn choose(mut table: Map<String, Value>, look: &Look, memory: Option<usize>) -> anyhow::Result<(Config, Vec<String>)> {
    let mut said = Vec::new();
    let mut choose = |table: &mut Map<String, Value>, key: &str, value: Value, why: &str| {
        if !table.contains_key(key) {
            said.push(format!("{key} = {}: {why}", value.as_str().map_or_else(|| value.to_string(), str::to_owned)));
            table.insert(key.into(), value);
        }
    };
    let had_budget = table.contains_key("budget");
    let declared = table.get("classes").and_then(Value::as_array).map(Vec::len);
    let (loss, several, why) = match (look.task, declared) {
        (Task::Classes, Some(2)) => ("hinge", "hinge,logistic", "two classes are given"),
        (Task::Classes, None) if look.why.is_some() && look.classes == 2 => {
            ("hinge", "hinge,logistic", "the target has two values")
        }
        (Task::Classes, _) => ("max_margin", "max_margin,softmax", "for any number of classes"),
        (Task::Numbers, _) => ("squared", "squared", "the target is a number"),
        (Task::Novelty, _) => ("density", "density", "no target: rows unlike those before them are alerts"),
    };
    let mixes = learns_in_parallel(&table, several);
    let loss = if mixes { several } else { loss };
    choose(&mut table, "loss", json!(loss), look.why.as_deref().unwrap_or(why));
    match mixes {
        true => {
            let why = side_by_side(&table, look)?;
            choose(&mut table, "kernel", json!("auto"), &why);
        }
        false => choose(&mut table, "kernel", json!("gaussian"), "a good first choice"),
    }
    if look.ids && Config::from_value(Value::Object(table.clone()))?.uses_weights() {
        choose(&mut table, "form", json!("terms"), "a row with the id of an earlier one updates its term");
    }
    if look.sparse {
        choose(&mut table, "anchor", json!("none"), "absent features stay zero");
    }
    if Config::from_value(Value::Object(table.clone()))?.follows_a_rate() {
        choose(&mut table, "threshold", json!("tracker"), "holds the alert rate at nu");
    } else if look.task != Task::Novelty {
        choose(&mut table, "offset", json!(true), "scores need not be zero on average");
    }
    let mut config = Config::from_value(Value::Object(table))?;
    config.check()?;
    said.extend(left_open(&config, look));
    if let Some(bytes) = memory {
        let fixed = fitted(&config, look, bytes)?;
        let growing = Config { memory: Some(bytes), ..config.clone() };
        let grows = !had_budget && growing.check().is_ok() && fixed.budget().capacity() >= config.budget().capacity();
        config = if grows { growing } else { fixed };
    }
    if config.uses_weights() && config.form == Choice::Auto {
        let bytes = figure_of_bytes(config.bytes_of_weights(look.features, look.outputs(&config)));
        said.push(format!("form = weights: one weight per column and output, {bytes} of memory; nothing is truncated"));
    }
    if let Some(terms) = config.budget().capacity().filter(|_| memory.is_some() || !had_budget) {
        let name = if config.grows() { "auto".into() } else { budget_name(&config) };
        said.push(format!("budget = {name}: {}", held(&config, look, terms)));
    }
    Ok((config, said))
}

/// The configuration with as many terms as fit into --memory.
///
/// # Errors
/// If the budget has no number of terms, or too few terms fit.
fn fitted(config: &Config, look: &Look, bytes: usize) -> anyhow::Result<Config> {
    let outputs = look.outputs(config);
    let each = of_a_term(config, look);
    let terms = bytes / each;
    let within = || match look.entries {
        Some(Entries { values, columns }) => config.within_sparse(bytes, values, columns, outputs),
        None => config.within(bytes, look.features, outputs),
    };
    let fixed = if terms > 0 { Some(within()?) } else { None };
    fixed.filter(|fixed| fixed.check().is_ok()).ok_or_else(|| {
        let terms = if terms == 1 { "1 term".into() } else { format!("{terms} terms") };
        usage(format!(
            "--memory: {bytes} bytes hold {terms}, which is too few; a term takes {each} bytes here; give more, as in --memory {}MB",
            (100 * each).div_ceil(1_000_000)
        ))
    })
}

/// Whether kernels and losses that are not given can be several: kernel and step size are left open, and the bank of `kernel = auto`
/// with these losses is possible.
fn learns_in_parallel(table: &Map<String, Value>, losses: &str) -> bool {
    let described = ["gamma", "degree", "coef0", "alpha", "operator", "form"].iter().any(|key| table.contains_key(*key));
    let given = table.get("kernel").is_some_and(|kernel| kernel != "auto");
    let mut table = table.clone();
    table.insert("kernel".into(), json!("auto"));
    table.entry("loss").or_insert_with(|| json!(losses));
    !described && !given && Config::from_value(Value::Object(table)).is_ok_and(|config| config.selects())
}

/// What `kernel = auto` stands for.
fn side_by_side(table: &Map<String, Value>, look: &Look) -> anyhow::Result<String> {
    let mut table = table.clone();
    table.insert("kernel".into(), json!("auto"));
    if look.sparse {
        table.entry("anchor").or_insert_with(|| json!("none"));
    }
    let config = Config::from_value(Value::Object(table))?;
    let is_linear = |member: &Member| config.is_weight_vector(member);
    let (linear, others): (Vec<Member>, Vec<Member>) = config.members().into_iter().partition(is_linear);
    let mut names: Vec<String> = Vec::new();
    for member in &others {
        let kernel = serde_json::to_value(&config.frozen(member).kernel)?;
        let name = kernel.as_object().and_then(|kernel| kernel.keys().next()).cloned().unwrap_or_default();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let last = names.pop().unwrap_or_default();
    let kernels = if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) };
    Ok(match linear.is_empty() {
        true => format!("{kernels} learn side by side"),
        false => format!("{kernels} kernels and linear functions learn side by side"),
    })
}

/// At most so many columns are whitened: none, if one after these varies.
pub const MOST_WHITENED: usize = 256;

/// Notes about settings that are found from the data during learning.
fn left_open(config: &Config, look: &Look) -> Vec<String> {
    let mut said = Vec::new();
    let members = config.members();
    if config.scale == Scale::Auto && config.needs_scale() {
        let (unit, centre) = if look.sparse { ("their entries' size", ", not centred") } else { ("their deviation", "") };
        let whitened = if config.whitens_by_default() { "; their correlations are removed (whiten)" } else { "" };
        // Which columns vary is known after the warm-up.
        let unless = match !whitened.is_empty() && (look.grows || look.features > MOST_WHITENED) {
            true => format!(" unless a column after the {MOST_WHITENED}th varies"),
            false => String::new(),
        };
        said.push(format!(
            "scale = auto: columns in units of {unit}{centre}, unless many share one range already{whitened}{unless}"
        ));
    } else if config.scale == Scale::Auto {
        said.push("scale = none: gamma, step and lambda are given, and gamma is in the units of the data".into());
    }
    let open = [
        ("kernel", config.kernel == Choice::Auto),
        ("step", config.step == Choice::Auto),
        ("lambda", config.lambda == Choice::Auto),
        ("gamma", members.iter().any(|m| m.width > 0)),
    ];
    let open: Vec<&str> = open.iter().filter(|(_, open)| *open).map(|(name, _)| *name).collect();
    match &members[..] {
        _ if open.is_empty() => {}
        [one] => {
            let step = serde_json::to_value(&one.step).unwrap_or_default();
            said.push(format!("{} = auto: {}, lambda {}", open.join(", "), shorthand(&step), one.lambda));
        }
        several => said.push(format!(
            "{} = auto: {} settings learn in parallel{}; those with the smallest loss have the largest weight",
            open.join(", "),
            several.len(),
            match several.iter().any(|member| config.is_weight_vector(member)) {
                _ if config.uses_weights() => ", each with weights of its own",
                true => " over the same terms, or as weight vectors",
                false => " over the same terms",
            }
        )),
    }
    said
}

fn budget_name(config: &Config) -> String {
    shorthand(&serde_json::to_value(config.budget()).unwrap_or_default())
}

fn held(config: &Config, look: &Look, terms: usize) -> String {
    let rows = look.entries.map_or(String::new(), |rows| match rows.values {
        1 => " for rows with 1 value that is not 0".into(),
        values => format!(" for rows with {values} values that are not 0"),
    });
    let bytes = most_bytes(terms * of_a_term(config, look));
    let of_memory = format!("about {bytes} of memory{rows}{}", look.if_so_many_classes(config));
    let of_memory = if rows.is_empty() { of_memory.replacen("about ", "", 1) } else { of_memory };
    let frame = match look.entries {
        Some(_) if config.needs_scale() => {
            let twice =
                if config.grows() { "; both twice while the model is compared with one of half of the terms" } else { "" };
            format!(
                "; and {} for the units of {} columns, used or not, nearly as much in the model file{twice}",
                figure_of_bytes(config.bytes_of_frame(look.features)),
                count(look.features as f64)
            )
        }
        _ => String::new(),
    };
    let in_a_row = look.entries.map_or(look.features, |rows| rows.values);
    let beside = most_bytes(config.bytes_beside_terms(in_a_row, look.outputs(config)));
    if config.grows() {
        let most = okl::growth::MOST_DOUBLED * terms;
        let fit = config.memory.map_or(most, |memory| memory / (of_a_term(config, look) * 3 / 2));
        let limit = if fit < most {
            format!(" and as long as they fit into {}", figure_of_bytes(config.memory.unwrap_or(0)))
        } else {
            String::new()
        };
        return format!(
            "{terms} terms, {of_memory}; doubled up to {most} terms while that lowers the error{limit}; up to {beside} beside them for rows in work and \
             the warm-up{frame}"
        );
    }
    format!("at most {terms} terms, {of_memory}; and up to {beside} for the current rows and the warm-up{frame}")
}
