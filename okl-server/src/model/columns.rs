//! The columns of a model: which feature a named number of a row is.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde_json::json;

use crate::options::Options;
use crate::refusal::{Answered, Refusal};
use crate::rows::{Rows, shortened};

/// What a cell without a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    /// An error.
    Refused,
    /// 0, and a new name is a new column: a sparse model.
    Zero,
    /// NaN, which the model fills.
    Filled,
}

impl Absent {
    /// For a model that fills cells or does not, and is sparse or not.
    pub fn of(fills: bool, sparse: bool) -> Self {
        match (fills, sparse) {
            (true, _) => Absent::Filled,
            (false, true) => Absent::Zero,
            (false, false) => Absent::Refused,
        }
    }
}

/// Rows in the columns of the model.
#[derive(Debug)]
pub struct Placed<'a> {
    /// The numbers, row by row; NaN for a cell that the model fills.
    pub x: Cow<'a, [f64]>,
    /// Numbers per row.
    pub features: usize,
    /// The names of all columns of the model after these rows; empty if they have none.
    pub names: Cow<'a, [String]>,
}

/// The numbers of rows, with NaN for the cells that the model fills.
fn numbers(rows: &Rows, absent: Absent) -> Cow<'_, [f64]> {
    if absent != Absent::Filled || rows.absent.is_empty() {
        return Cow::Borrowed(&rows.x);
    }
    let mut x = rows.x.clone();
    rows.absent.iter().for_each(|at| x[*at] = f64::NAN);
    Cow::Owned(x)
}

/// Puts rows into the columns of a model that has `names` (empty: none) and `features` (0: not known yet).
///
/// # Errors
/// If there are too few or too many numbers; if a name is unknown, in a model that is not sparse; if a number is absent and refused. The row is
/// named.
pub fn place<'a>(rows: &'a Rows, names: &'a [String], features: usize, absent: Absent) -> Answered<Placed<'a>> {
    let sparse = absent == Absent::Zero;
    let Some(given) = &rows.names else {
        if features > 0 && rows.count > 0 && rows.features != features {
            let text = format!("row 0: {} numbers, expected {features}, one for each column of this model", rows.features);
            return Err(Refusal::body(text).with(json!({ "row": 0 })));
        }
        // A list has no absent numbers, only null.
        if let Some(at) = rows.absent.first().filter(|_| absent != Absent::Filled) {
            let (row, column) = (at / rows.features, at % rows.features);
            let text = format!("row {row}, column {column}: no value; send a number, or {FILLED}");
            return Err(Refusal::body(text).with(json!({ "row": row, "column": column })).with_name_of_column(names));
        }
        return Ok(Placed { x: numbers(rows, absent), features: rows.features, names: Cow::Borrowed(names) });
    };
    let incomplete = || match rows.absent.first() {
        Some(&at) if absent == Absent::Refused => Err(no_value(at / rows.features, &given[at % rows.features])),
        _ => Ok(()),
    };
    if names.is_empty() && given.is_empty() {
        return Err(Refusal::body("row 0 is empty: the columns of this model are not known yet").with(json!({ "row": 0 })));
    }
    if names.is_empty() && features > 0 {
        return Err(Refusal::body(format!(
            "the {features} columns of this model have no names: send each row as a list of {features} numbers"
        )));
    }
    if names == given.as_slice() || names.is_empty() {
        incomplete()?;
        return Ok(Placed { x: numbers(rows, absent), features: rows.features, names: Cow::Borrowed(given) });
    }
    let mut all = names.to_vec();
    let mut place: HashMap<&str, usize> = names.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
    let mut places = Vec::new();
    for (column, name) in given.iter().enumerate() {
        let next = all.len();
        let at = *place.entry(name).or_insert(next);
        if at == next {
            if !sparse {
                let row = first_with(rows, column);
                let text =
                    format!("row {row}: unknown column '{}'; the columns of this model are {}", shortened(name), listed(names));
                return Err(Refusal::body(text).with(json!({ "row": row, "column": name })));
            }
            all.push(name.clone());
        }
        places.push(at);
    }
    incomplete()?;
    let mut is_given = vec![false; all.len()];
    places.iter().for_each(|at| is_given[*at] = true);
    if absent == Absent::Refused
        && let Some(missing) = is_given.iter().position(|given| !given)
    {
        return Err(no_value(0, &names[missing]));
    }
    let features = all.len();
    let mut x = vec![if absent == Absent::Filled { f64::NAN } else { 0.0 }; rows.count * features];
    for (from, to) in numbers(rows, absent).chunks_exact(rows.features.max(1)).zip(x.chunks_exact_mut(features)) {
        places.iter().zip(from).for_each(|(at, value)| to[*at] = *value);
    }
    Ok(Placed { x: Cow::Owned(x), features, names: Cow::Owned(all) })
}

/// Refuses rows that are too many numbers in the columns of a model that has `names`: a row of a few names takes a place for every column.
/// New names are counted, too.
///
/// # Errors
/// If a limit is exceeded.
pub fn check_size(rows: &Rows, names: &[String], options: &Options) -> Answered<()> {
    let Some(given) = rows.names.as_ref().filter(|given| given.as_slice() != names) else { return Ok(()) };
    let known: HashSet<&String> = names.iter().collect();
    let columns = names.len() + given.iter().filter(|name| !known.contains(name)).count();
    if columns > options.most_features {
        let text = format!("{columns} columns with the new names of these rows, at most {} are allowed", options.most_features);
        return Err(Refusal::new(413, "too_many_features", text));
    }
    check_cells(rows.count, columns, options)
}

/// Refuses rows of this many columns if they are too many numbers.
///
/// # Errors
/// If the limit is exceeded.
pub fn check_cells(rows: usize, columns: usize, options: &Options) -> Answered<()> {
    if rows.saturating_mul(columns) <= options.most_cells {
        return Ok(());
    }
    let most = options.most_cells;
    let text = format!(
        "{rows} rows in the {columns} columns of this model, at most {most} numbers are allowed in one request; send fewer rows"
    );
    Err(Refusal::new(413, "too_many_numbers", text))
}

/// The first row that has a number in this column.
fn first_with(rows: &Rows, column: usize) -> usize {
    let has = |row: &usize| rows.absent.binary_search(&(row * rows.features + column)).is_err();
    (0..rows.count).find(has).unwrap_or(0)
}

/// The advice for models that take rows with cells without a value.
pub const FILLED: &str =
    "create the model with the setting \"missing\" in \"config\" (\"mean\", \"last\" or \"zero\"), which fills it";

fn no_value(row: usize, name: &str) -> Refusal {
    let text = format!(
        "row {row}: no value for column '{}'; send it, create the model with \"sparse\": true, where it is 0, or {FILLED}",
        shortened(name)
    );
    Refusal::body(text).with(json!({ "row": row, "column": name }))
}

/// The names for a message.
pub fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(20).map(|name| shortened(name)).collect();
    shown.join(", ") + if names.len() > shown.len() { ", ..." } else { "" }
}
