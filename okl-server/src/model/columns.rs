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
/// If a name is unknown or a number absent, in a model that is not sparse.
pub fn place<'a>(rows: &'a Rows, names: &'a [String], features: usize, sparse: bool) -> Answered<Placed<'a>> {
    let Some(given) = &rows.names else {
        return Ok(Placed { x: Cow::Borrowed(&rows.x), features: rows.features, names: Cow::Borrowed(names) });
    };
    if !sparse && let Some(&at) = rows.absent.first() {
        return Err(absent(at / rows.features, &given[at % rows.features]));
    }
    if names.is_empty() && features > 0 {
        return Err(Refusal::body(format!(
            "the {features} columns of this model have no names: send each row as a list of {features} numbers"
        )));
    }
    if names == given.as_slice() || names.is_empty() {
        return Ok(Placed { x: Cow::Borrowed(&rows.x), features: rows.features, names: Cow::Borrowed(given) });
    }
    let mut all = names.to_vec();
    let mut place: HashMap<&str, usize> = names.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
    let mut places = Vec::new();
    for name in given {
        let next = all.len();
        let at = *place.entry(name).or_insert(next);
        if at == next {
            if !sparse {
                return Err(Refusal::body(format!(
                    "unknown column '{}'; the columns of this model are {}",
                    shortened(name),
                    listed(names)
                )));
            }
            all.push(name.clone());
        }
        places.push(at);
    }
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

fn absent(row: usize, name: &str) -> Refusal {
    let text = format!(
        "row {row}: no value for column '{}'; send it, or create the model with \"sparse\": true, where it is 0",
        shortened(name)
    );
    Refusal::body(text).with(json!({ "row": row, "column": name }))
}

/// The names for a message.
fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(20).map(|name| shortened(name)).collect();
    shown.join(", ") + if names.len() > shown.len() { ", ..." } else { "" }
}
