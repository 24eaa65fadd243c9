//! Sums and products of kernels in one line: `gaussian:0.5+linear`, `0.3*linear+gaussian:1*matern32:2`.
//!
//! A plus or a times is an operator if a name follows. Otherwise it belongs to a number: `1e+3`, `auto*16`.

use serde_json::{Map, Value, json};

/// The table of a sum, a product or a multiple of kernels; none if the text has a single kernel. The kernels inside are still text.
pub(super) fn table(text: &str) -> Option<Map<String, Value>> {
    match summands(text).as_slice() {
        [one] => product(one),
        several => Some(named("sum", several.iter().map(|part| product(part).map_or(json!(part), Value::Object)).collect())),
    }
}

/// The name of the first kernel of an expression.
pub(super) fn first_name(text: &str) -> &str {
    let text = weighted(text).map_or(text, |(_, rest)| rest).trim_start();
    text.split([':', '+', '*']).next().unwrap_or("").trim()
}

/// `0.5*a*b`: half of the product of a and b.
fn product(text: &str) -> Option<Map<String, Value>> {
    let (weight, rest) = weighted(text).map_or((None, text), |(weight, rest)| (Some(weight), rest));
    let factors = split(rest, '*', begins_with_name);
    let product = (factors.len() > 1).then(|| named("product", factors.iter().map(|factor| json!(factor)).collect()));
    match weight {
        None => product,
        Some(weight) => {
            let of = product.map_or(json!(rest.trim()), Value::Object);
            Some(Map::from_iter([("scaled".into(), json!({ "weight": weight, "of": of }))]))
        }
    }
}

fn named(name: &str, parts: Vec<Value>) -> Map<String, Value> {
    Map::from_iter([(name.into(), Value::Array(parts))])
}

fn summands(text: &str) -> Vec<&str> {
    split(text, '+', |rest| begins_with_name(rest) || weighted(rest).is_some())
}

/// Splits at the operators after which `begins` holds.
fn split(text: &str, operator: char, begins: impl Fn(&str) -> bool) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut from = 0;
    for (at, _) in text.match_indices(operator).filter(|(at, _)| begins(&text[at + 1..])) {
        parts.push(text[from..at].trim());
        from = at + 1;
    }
    parts.push(text[from..].trim());
    parts
}

fn begins_with_name(text: &str) -> bool {
    text.trim_start().starts_with(|c: char| c.is_ascii_alphabetic())
}

/// A weight before a name, and the rest.
fn weighted(text: &str) -> Option<(f64, &str)> {
    let (weight, rest) = text.split_once('*')?;
    let weight = weight.trim();
    let is_number = weight.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    Some((weight.parse().ok().filter(|_| is_number && begins_with_name(rest))?, rest))
}
