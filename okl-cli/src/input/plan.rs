//! Compares the column names in the options with the names in the file, for formats with a header.

use std::borrow::Cow;

use super::Options;
use super::columns::{Columns, Role};
use super::missing::Rule;
use super::schema::{Features, Schema};

/// The largest number of names in a message, without the last.
const SHOWN: usize = 8;

/// A list of names for a message. A long list is shortened but keeps the last name, because it is often the target.
pub(super) fn listed(names: Vec<String>) -> String {
    match names.as_slice() {
        [first @ .., last] if first.len() > SHOWN => {
            format!("{}, ..., {last} ({} in all)", first[..SHOWN].join(", "), names.len())
        }
        all => all.join(", "),
    }
}

/// A name as it is typed after a flag in the shell. A name with spaces or special characters is in single quotes. A name with a comma is in double
/// quotes within single quotes, because flags cut lists of names at commas.
pub(super) fn typed(name: &str) -> Cow<'_, str> {
    match name {
        _ if name.contains(',') => format!("'\"{name}\"'").into(),
        _ if name.chars().all(|c| c.is_alphanumeric() || "_-.:/+@=%".contains(c)) => name.into(),
        _ => format!("'{}'", name.replace('\'', r"'\''")).into(),
    }
}

/// With a model, takes the columns of the model.
///
/// # Errors
/// If the options name other columns.
pub(super) fn agree(options: &mut Options) -> Result<(), String> {
    one_use(options)?;
    take_columns(options);
    take_targets(options)?;
    let Some(schema) = &options.schema else { return Ok(()) };
    let Schema { targets, chosen, missing, .. } = schema;
    if !options.targets.is_empty() && options.targets != *targets {
        let numbered = targets.iter().all(|name| name.parse::<usize>().is_ok());
        let advice = match numbered && !targets.is_empty() {
            true => {
                "; the model was learned from a file without a header: remove the header line, and give the number of the column"
            }
            false => "",
        };
        let (given, learned) = (options.targets.join(","), targets.join(","));
        if targets.is_empty() {
            return Err(format!("--target {given}: the model was learned without a target, as a detector; remove this flag"));
        }
        return Err(format!("--target {given} is not what the model learned: {learned}{advice}"));
    }
    options.targets.clone_from(targets);
    if let Some(name) = options.ignore.iter().find(|name| is_used(schema, name)) {
        return Err(format!("--ignore {name}: the model was trained with this column, so it cannot be ignored"));
    }
    let special = [("--id", &options.id), ("--weight", &options.weight)];
    if let Some((flag, Some(name))) =
        special.into_iter().find(|(_, name)| name.as_ref().is_some_and(|name| is_used(schema, name)))
    {
        return Err(format!("{flag} {name}: this column is a feature of the model; name another column"));
    }
    let learned = schema.hash_bits();
    if let Some(bits) = options.hash_bits.filter(|bits| Some(*bits) != learned) {
        let had = learned.map_or("without --hash-bits".into(), |bits| format!("with --hash-bits {bits}"));
        return Err(format!("--hash-bits {bits}: the model was trained {had}; remove this flag"));
    }
    let Schema { categories, times, logs, texts, ngrams, .. } = schema;
    let given = [
        (&options.categories, categories, "--one-hot"),
        (&options.times, times, "--time"),
        (&options.logs, logs, "--log"),
        (&options.texts, texts, "--text"),
    ];
    if let Some((_, _, flag)) = given.into_iter().find(|(given, learned, _)| !given.is_empty() && given != learned) {
        return Err(format!("{flag}: the model was trained with other columns; remove this flag"));
    }
    if options.ngrams > 0 && options.ngrams != *ngrams {
        return Err(format!("--ngrams {}: the model was trained with another number; remove this flag", options.ngrams));
    }
    if let Some(given) = options.missing.filter(|given| given != missing) {
        return Err(format!("--missing {given}: the model was trained with --missing {missing}; remove this flag"));
    }
    if !options.features.is_empty() && options.features != *chosen {
        return Err("--features: the model finds its columns by name; remove this flag".into());
    }
    Ok(())
}

/// Takes the columns of the options for those of a model without names: any column can be a feature, and any can be left out.
fn take_columns(options: &mut Options) {
    if let Some(schema) = options.schema.as_mut().filter(|schema| schema.unnamed) {
        schema.chosen.clone_from(&options.features);
        schema.ignored = options.ignore.iter().chain(&options.id).chain(&options.weight).cloned().collect();
    }
}

/// Whether a column is the source of a feature of a model.
fn is_used(schema: &Schema, name: &str) -> bool {
    !schema.unnamed && matches!(&schema.features, Features::Named(list) if list.iter().any(|feature| feature.column == *name))
}

/// Takes the targets of the options for those of a model of another program, which may have the names of its features alone.
fn take_targets(options: &mut Options) -> Result<(), String> {
    let Some(schema) = options.schema.as_mut().filter(|schema| options.want_target && schema.targets.is_empty()) else {
        return Ok(());
    };
    if let Some(name) = options.targets.iter().find(|name| is_used(schema, name)) {
        return Err(format!("--target {name}: this column is a feature of the model; name the column of the target"));
    }
    schema.targets.clone_from(&options.targets);
    Ok(())
}

/// Refuses a column that is named for two purposes, and options that exclude each other.
fn one_use(options: &Options) -> Result<(), String> {
    let parts = options.parts();
    let [id, weight] = [&options.id, &options.weight].map(|name| name.iter().cloned().collect::<Vec<_>>());
    let others = [("--target", &options.targets), ("--ignore", &options.ignore), ("--id", &id), ("--weight", &weight)];
    let all: Vec<(&str, &String)> =
        parts.iter().chain(&others).flat_map(|(flag, names)| names.iter().map(|name| (*flag, name))).collect();
    let of_parts = parts.iter().map(|(_, names)| names.len()).sum();
    for (at, (flag, name)) in all.iter().enumerate().take(of_parts) {
        if let Some((other, _)) = all[at + 1..].iter().find(|(_, other)| other == name) {
            return Err(format!("{flag} and {other} both name the column '{name}'; a column has one use"));
        }
    }
    if options.schema.is_none() {
        let twice = |names: &[String]| options.targets.iter().find(|target| names.contains(target)).cloned();
        if let Some(name) = twice(&options.ignore) {
            return Err(format!(
                "--target and --ignore both name the column '{name}'; a target is no feature, so remove it from --ignore"
            ));
        }
        let named = |name: &Option<String>| name.clone().filter(|name| options.features.contains(name));
        let twice = [("--target", twice(&options.features)), ("--id", named(&options.id)), ("--weight", named(&options.weight))];
        if let Some((flag, Some(name))) = twice.into_iter().find(|(_, name)| name.is_some()) {
            return Err(format!("{flag} and --features both name the column '{name}'; a column has one use"));
        }
    }
    match (options.hash_bits, options.missing) {
        (Some(bits), Some(missing)) if matches!(missing.rule, Rule::Mean | Rule::Last) => {
            Err(format!("--hash-bits {bits}: features may share a column, which has no mean or last value; use --missing zero"))
        }
        (Some(bits), _) if options.one_hot => {
            Err(format!("--hash-bits {bits}: name the columns that are one-hot encoded, as in --one-hot country"))
        }
        (Some(bits), _) if !options.times.is_empty() => {
            Err(format!("--hash-bits {bits}: the beginning of elapsed time is kept with the names of features; leave --time out"))
        }
        _ => Ok(()),
    }
}

/// Gives every column of a header its role; returns its index in [`Columns`].
///
/// # Errors
/// If a column is missing; the message lists the columns of the file.
pub(super) fn assign(names: &[String], options: &Options, columns: &mut Columns) -> Result<Vec<u32>, String> {
    columns.name_in_order(names)?;
    columns.inherit(options, |name| names.iter().any(|column| column == name));
    demand(names, options, columns)?;
    let mut plan = Vec::with_capacity(names.len());
    // A model that hashes names does not keep them: every column that is not named otherwise is one of its features.
    let open = options.schema.is_none() || columns.schema().hash_bits().is_some();
    let chosen = columns.schema().chosen.clone();
    for name in names {
        let known = columns.at(name);
        let new = known.is_none() && open && (chosen.is_empty() || chosen.contains(name));
        let column = if new { columns.add_feature_column(name) } else { known.or_else(|| columns.add_kept(name)).unwrap_or(0) };
        if new && !options.one_hot {
            columns.make_number(column).map_err(|fault| fault.text)?;
        }
        if known.is_none() && options.schema.is_some() && column == 0 {
            columns.leave_out(name);
        }
        plan.push(column);
    }
    columns.seal();
    let is_feature = |c: &&u32| {
        let role = columns.list[**c as usize].role;
        matches!(role, Role::Undecided | Role::Number(_) | Role::Category(_) | Role::Time(_) | Role::Log(_) | Role::Words(_))
    };
    if !plan.iter().any(|c| is_feature(&c)) {
        if let Some(schema) = &options.schema {
            // A header of numbers alone is read as a row.
            let numbered = schema.names().iter().all(|name| name.parse::<u64>().is_ok());
            let advice = if numbered { "delete the header: columns without names are 1, 2, ..." } else { "rename the columns" };
            return Err(format!(
                "none of the columns is a feature of the model, whose features are {}; the columns are {}; {advice}",
                schema.listed(),
                listed(names.to_vec())
            ));
        }
        return Err(format!(
            "no feature column is left (see --target, --ignore, --features, --id and --weight); the columns are {}",
            listed(names.to_vec())
        ));
    }
    Ok(plan)
}

/// A name without upper case, spaces and punctuation.
fn letters(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// What is said of line 1: where columns have numbers, or where a number is asked for.
fn line_1(names: &[String], asked: &str, columns: &Columns) -> &'static str {
    let number = |name: &str| name.parse::<f64>().is_ok();
    if names.iter().all(|name| number(name)) || number(asked) { columns.line_1 } else { "" }
}

fn demand(names: &[String], options: &Options, columns: &Columns) -> Result<(), String> {
    let missing = |name: &&String| !names.contains(name);
    let there = || listed(names.to_vec());
    let targets = if options.want_target { options.targets.as_slice() } else { &[] };
    if options.want_target && targets.is_empty() {
        return Err(format!(
            "which column is the target? Say --target NAME; the columns are {}{}",
            there(),
            line_1(names, "", columns)
        ));
    }
    let chosen = if options.schema.is_some() { [].iter() } else { options.ignore.iter() };
    let fresh = if options.schema.is_some() { [].iter() } else { options.features.iter() };
    let parts = options.parts();
    let parts = parts.iter().flat_map(|(_, names)| names.iter());
    let asked =
        targets.iter().chain(parts).chain(chosen).chain(fresh).chain(&options.id).chain(&options.weight).chain(&options.keep);
    if let Some(name) = asked.into_iter().find(|name| missing(name) && !columns.absent.contains(name)) {
        let meant = if let Some(near) = names.iter().find(|near| letters(near) == letters(name)) {
            &format!("; did you mean {near}?")
        } else if names.iter().any(|name| name.contains(',')) {
            "; put a name that has a comma into quotes: '\"a,b\",c'"
        } else if matches!(names, [one] if one.split_whitespace().any(|part| part == name.as_str())) {
            "; separate columns by a comma, semicolon, tab or |, not by spaces"
        } else {
            ""
        };
        return Err(format!("no column '{name}'; the columns are {}{meant}{}", there(), line_1(names, name, columns)));
    }
    match columns.list.iter().find(|c| c.required && !names.iter().any(|name| c.name == **name)) {
        Some(c) => Err(format!(
            "column '{}' is missing, and the model was trained with it; the columns are {}{}",
            c.name,
            there(),
            line_1(names, &c.name, columns)
        )),
        None => Ok(()),
    }
}
