//! The columns of a model: which feature a named number of a row is.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::json;

use crate::refusal::{Answered, Refusal};
use crate::rows::{Rows, shortened};

/// Rows in the columns of the model.
#[derive(Debug)]
pub struct Placed<'a> {
    /// The numbers, row by row.
    pub x: Cow<'a, [f64]>,
    /// Numbers per row.
    pub features: usize,
    /// The names of all columns of the model after these rows; empty if they have none.
    pub names: Cow<'a, [String]>,
}

/// Puts rows into the columns of a model that has `names` (empty: none) and `features` (0: not known yet). In a sparse model, an absent number
/// is 0 and a new name is a new column.
///
/// # Errors
/// If there are too few or too many numbers; if a name is unknown or a number absent, in a model that is not sparse. The row is named.
pub fn place<'a>(rows: &'a Rows, names: &'a [String], features: usize, sparse: bool) -> Answered<Placed<'a>> {
    let Some(given) = &rows.names else {
        if features > 0 && rows.count > 0 && rows.features != features {
            let text = format!("row 0: {} numbers, expected {features}, one for each column of this model", rows.features);
            return Err(Refusal::body(text).with(json!({ "row": 0 })));
        }
        return Ok(Placed { x: Cow::Borrowed(&rows.x), features: rows.features, names: Cow::Borrowed(names) });
    };
    let incomplete = || match rows.absent.first() {
        Some(&at) if !sparse => Err(absent(at / rows.features, &given[at % rows.features])),
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
        return Ok(Placed { x: Cow::Borrowed(&rows.x), features: rows.features, names: Cow::Borrowed(given) });
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
    if !sparse && let Some(missing) = (0..names.len()).find(|i| !places.contains(i)) {
        return Err(absent(0, &names[missing]));
    }
    let features = all.len();
    let mut x = vec![0.0; rows.count * features];
    for (from, to) in rows.x.chunks_exact(rows.features.max(1)).zip(x.chunks_exact_mut(features)) {
        places.iter().zip(from).for_each(|(at, value)| to[*at] = *value);
    }
    Ok(Placed { x: Cow::Owned(x), features, names: Cow::Owned(all) })
}

/// The first row that has a number in this column.
fn first_with(rows: &Rows, column: usize) -> usize {
    let has = |row: &usize| rows.absent.binary_search(&(row * rows.features + column)).is_err();
    (0..rows.count).find(has).unwrap_or(0)
}

fn absent(row: usize, name: &str) -> Refusal {
    let text = format!(
        "row {row}: no value for column '{}'; send it, or create the model with \"sparse\": true, where it is 0",
        shortened(name)
    );
    Refusal::body(text).with(json!({ "row": row, "column": name }))
}

/// The names for a message.
pub fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(20).map(|name| shortened(name)).collect();
    shown.join(", ") + if names.len() > shown.len() { ", ..." } else { "" }
}
