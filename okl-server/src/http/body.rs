//! JSON bodies. Every length is limited before memory is taken for it.

use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::options::Options;
use crate::refusal::{Answered, Refusal};
use crate::rows::{LONGEST_NAME, Rows, Target, Targets, shortened};

/// A body of `learn` and `predict`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object {\"rows\": [...]}")]
struct Body {
    rows: Table,
    #[serde(default, deserialize_with = "target_list")]
    targets: Option<Vec<OneTarget>>,
    #[serde(default, deserialize_with = "weight_list")]
    weights: Option<Vec<Number>>,
    #[serde(default, deserialize_with = "id_list")]
    ids: Option<Vec<Whole>>,
    #[serde(default)]
    stream: Option<String>,
    #[serde(default)]
    offset: Option<Whole>,
    #[serde(default)]
    key: Option<String>,
}

/// The rows of a body with their stream and key.
#[derive(Debug)]
pub struct Parsed {
    /// The rows.
    pub rows: Rows,
    /// The stream and the offset of the first row.
    pub stream: Option<(String, u64)>,
    /// The idempotency key.
    pub key: Option<String>,
    /// The row and the column of the first number of a JSON body that is null.
    pub null: Option<(usize, Value)>,
}

/// The body of `label`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object {\"ids\": [...], \"targets\": [...]}")]
struct LabelBody {
    #[serde(deserialize_with = "id_list")]
    ids: Option<Vec<Whole>>,
    #[serde(deserialize_with = "target_list")]
    targets: Option<Vec<OneTarget>>,
    #[serde(default)]
    key: Option<String>,
}

/// The targets of one row.
#[derive(Debug, Deserialize, Serialize)]
#[serde(untagged, expecting = "expected a number, text, true, false, null or a list of numbers")]
enum OneTarget {
    One(Target),
    Several(Vec<Option<f64>>),
}

fn number_or_missing(value: &Option<f64>) -> Target {
    value.map_or(Target::Missing, Target::Number)
}

/// A number. The message about anything else is in plain words.
#[derive(Debug)]
struct Number(f64);

/// A whole number of 0 or more.
#[derive(Debug)]
struct Whole(u64);

struct NumberVisitor;

impl Visitor<'_> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Number, E> {
        Ok(Number(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Number, E> {
        Ok(Number(value as f64))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Number, E> {
        Ok(Number(value as f64))
    }
}

struct WholeVisitor;

impl Visitor<'_> for WholeVisitor {
    type Value = Whole;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number of 0 or more")
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Whole, E> {
        Ok(Whole(value))
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_f64(NumberVisitor)
    }
}

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_u64(WholeVisitor)
    }
}

/// A list with one entry per row, or null. Errors name the row and what the entries are.
struct PerRow<T>(&'static str, PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for PerRow<T> {
    type Value = Option<Vec<T>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list with one {} per row", self.0)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        let at = |e: A::Error, row: usize| de::Error::custom(format!("row {row}: {}: {e}", self.0));
        while let Some(one) = list.next_element().map_err(|e| at(e, all.len()))? {
            all.push(one);
        }
        Ok(Some(all))
    }
}

fn target_list<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<OneTarget>>, D::Error> {
    from.deserialize_any(PerRow("target", PhantomData))
}

fn weight_list<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<Number>>, D::Error> {
    from.deserialize_any(PerRow("weight", PhantomData))
}

fn id_list<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<Whole>>, D::Error> {
    from.deserialize_any(PerRow("id", PhantomData))
}

fn wholes(list: Vec<Whole>) -> Vec<u64> {
    list.into_iter().map(|Whole(number)| number).collect()
}

/// Puts targets into one list; all rows have as many.
fn targets(given: Option<Vec<OneTarget>>, rows: usize) -> Answered<Targets> {
    let Some(given) = given else { return Ok(Targets::default()) };
    if given.len() != rows {
        return Err(Refusal::body(format!("targets: {} for {rows} rows, expected one entry per row", given.len())));
    }
    let width = given.iter().map(|t| if let OneTarget::Several(list) = t { list.len() } else { 1 }).max().unwrap_or(0);
    let mut values = Vec::with_capacity(rows * width);
    for (row, target) in given.into_iter().enumerate() {
        let before = values.len();
        match target {
            OneTarget::One(Target::Missing) => values.extend((0..width).map(|_| Target::Missing)),
            OneTarget::One(target) => values.push(target),
            OneTarget::Several(list) => values.extend(list.iter().map(number_or_missing)),
        }
        if values.len() - before != width {
            let text = format!("row {row}: {} targets, expected {width} as in the other rows", values.len() - before);
            return Err(Refusal::body(text).with(json!({ "row": row })));
        }
        if matches!(values.last(), Some(Target::Text(text)) if text.len() > LONGEST_NAME) {
            let text = format!("row {row}: the name of a class has at most {LONGEST_NAME} bytes");
            return Err(Refusal::body(text).with(json!({ "row": row })));
        }
    }
    Ok(Targets { width, values })
}

fn short(what: &str, text: Option<&String>) -> Answered<()> {
    match text {
        Some(text) if text.is_empty() || text.len() > LONGEST_NAME => {
            Err(Refusal::body(format!("{what}: expected 1 to {LONGEST_NAME} bytes")))
        }
        _ => Ok(()),
    }
}

fn read<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> Answered<T> {
    serde_json::from_slice(bytes).map_err(|e| {
        let text = e.to_string();
        let mut place = place_of(&text);
        let text = match unfinished(&text) {
            true if bytes.is_empty() => "the body is empty; expected JSON, or a table with its Content-Type".into(),
            true => {
                // The last number is the one that cannot be read to its end.
                place = place.map(|place| json!({ "row": place["row"] }));
                let row = place.as_ref().map_or(String::new(), |place| format!("row {}: ", place["row"]));
                format!("{row}the body ends before it is complete, after {} bytes", bytes.len())
            }
            false if !matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'[')) => {
                format!("the body is not JSON ({text}); a table needs a Content-Type, such as text/csv or application/x-ndjson")
            }
            false => format!("the body cannot be read: {text}"),
        };
        let refusal = Refusal::new(400, "bad_json", text);
        match place {
            Some(place) => refusal.with(place),
            None => refusal,
        }
    })
}

/// Reads a small object. Messages are in plain words: `like` is what an object looks like.
///
/// # Errors
/// If it is not JSON or has another form.
pub fn object<T: for<'de> Deserialize<'de>>(bytes: &[u8], like: &str) -> Answered<T> {
    serde_json::from_slice(bytes).map_err(|e| {
        let text = e.to_string();
        let mut found = text.split('`').skip(1).step_by(2).map(shortened);
        let text = match found.next() {
            _ if unfinished(&text) => format!("the body ends before it is complete, after {} bytes", bytes.len()),
            Some(name) if text.starts_with("unknown field") => format!("the body cannot be read: there is no '{name}' here"),
            Some(name) if text.starts_with("unknown variant") => {
                format!("the body cannot be read: unknown word '{name}'; choose one of {}", found.collect::<Vec<_>>().join(", "))
            }
            _ => format!("the body cannot be read: {text}"),
        };
        Refusal::new(400, "bad_json", format!("{text}; expected {like}"))
    })
}

/// Whether a message of `serde_json` is about the end of the body. Its type is lost where a row was put in front.
fn unfinished(text: &str) -> bool {
    text.contains("EOF while parsing")
}

/// The row and the column with which a message of this file begins: `row 1: `, `row 1, number 2: ` or `row 1, column 'a': `.
fn place_of(text: &str) -> Option<Value> {
    let rest = text.strip_prefix("row ")?;
    let (row, rest) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
    let mut place = json!({ "row": row.parse::<usize>().ok()? });
    let number = rest.strip_prefix(", number ").and_then(|rest| rest.split(':').next()?.parse::<usize>().ok());
    let name = rest.strip_prefix(", column '").and_then(|rest| rest.split_once("': ")).map(|(name, _)| name);
    if let Some(column) = number.map(Value::from).or(name.map(Value::from)) {
        place["column"] = column;
    }
    Some(place)
}

/// Reads a body of `learn` or `predict`.
///
/// # Errors
/// If it is not JSON, does not have this form, or exceeds a limit. The row is named.
pub fn rows(bytes: &[u8], options: &Options) -> Answered<Parsed> {
    let body: Body = read(bytes)?;
    let (mut rows, null) = body.rows.rows(options)?;
    rows.targets = targets(body.targets, rows.count)?;
    for (what, length) in [("weights", body.weights.as_ref().map(Vec::len)), ("ids", body.ids.as_ref().map(Vec::len))] {
        if let Some(length) = length.filter(|n| *n != rows.count) {
            return Err(Refusal::body(format!("{what}: {length} for {} rows, expected one per row", rows.count)));
        }
    }
    rows.weights = body.weights.map(|list| list.into_iter().map(|Number(weight)| weight).collect());
    rows.ids = body.ids.map(wholes);
    short("stream", body.stream.as_ref())?;
    short("key", body.key.as_ref())?;
    let stream = match (body.stream, body.offset.map(|Whole(offset)| offset)) {
        (Some(name), Some(offset)) if offset < 1 << 62 => Some((name, offset)),
        (None, None) => None,
        (Some(_), Some(_)) => return Err(Refusal::body("offset: too large")),
        _ => return Err(Refusal::body("stream and offset belong together: send both or none")),
    };
    Ok(Parsed { rows, stream, key: body.key, null })
}

/// Reads a body of `label`.
///
/// # Errors
/// As [`rows`].
pub fn labels(bytes: &[u8]) -> Answered<(Vec<u64>, Targets, Option<String>)> {
    let body: LabelBody = read(bytes)?;
    short("key", body.key.as_ref())?;
    let ids = wholes(body.ids.unwrap_or_default());
    let targets = targets(Some(body.targets.unwrap_or_default()), ids.len())?;
    Ok((ids, targets, body.key))
}

/// The rows of a body as they are read: lists of numbers, or numbers by name. A number that is null is NaN.
#[derive(Debug, Default)]
struct Table {
    count: usize,
    width: usize,
    x: Vec<f64>,
    /// The row and the column of the first null.
    null: Option<(usize, Value)>,
    /// For rows with names: the columns in order of appearance, and the column and value of each number of each row.
    columns: HashMap<String, u32>,
    cells: Vec<(u32, f64)>,
    /// The end of each named row in `cells`.
    ends: Vec<usize>,
}

impl Table {
    /// The number of a cell, and a note of its place if it is null.
    fn number(&mut self, cell: Option<Number>, column: impl FnOnce() -> Value) -> f64 {
        if cell.is_none() {
            self.null.get_or_insert_with(|| (self.count, column()));
        }
        cell.map_or(f64::NAN, |Number(value)| value)
    }

    fn rows(self, options: &Options) -> Answered<(Rows, Option<(usize, Value)>)> {
        let features = if self.ends.is_empty() { self.width } else { self.columns.len() };
        if features > options.most_features {
            return Err(Refusal::new(
                413,
                "too_many_features",
                format!("{features} columns, at most {} are allowed", options.most_features),
            ));
        }
        if self.count.saturating_mul(features) > options.most_cells {
            let text = format!(
                "{} rows of {features} columns, at most {} numbers are allowed in one body; send fewer rows",
                self.count, options.most_cells
            );
            return Err(Refusal::new(413, "too_many_numbers", text));
        }
        let named = !self.ends.is_empty();
        let mut names = vec![String::new(); if named { features } else { 0 }];
        self.columns.into_iter().for_each(|(name, at)| names[at as usize] = name);
        let mut x = if named { vec![f64::NAN; self.count * features] } else { self.x };
        let mut from = 0;
        for (row, end) in x.chunks_exact_mut(features.max(1)).zip(&self.ends) {
            self.cells[from..*end].iter().for_each(|(at, value)| row[*at as usize] = *value);
            from = *end;
        }
        // JSON has no NaN: what is NaN here was not in the row, or null.
        let absent: Vec<usize> = x.iter().enumerate().filter(|(_, v)| v.is_nan()).map(|(at, _)| at).collect();
        absent.iter().for_each(|at| x[*at] = 0.0);
        let rows = Rows { count: self.count, features, x, names: named.then_some(names), absent, ..Rows::default() };
        Ok((rows, self.null))
    }
}

impl<'de> Deserialize<'de> for Table {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(TableVisitor)
    }
}

struct TableVisitor;

impl<'de> Visitor<'de> for TableVisitor {
    type Value = Table;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut rows: A) -> Result<Table, A::Error> {
        let mut table = Table::default();
        loop {
            let row = table.count;
            match rows.next_element_seed(OneRow(&mut table)) {
                Ok(Some(())) => table.count += 1,
                Ok(None) => return Ok(table),
                Err(error) => {
                    let text = error.to_string();
                    return Err(if text.starts_with("row ") { error } else { de::Error::custom(format!("row {row}: {text}")) });
                }
            }
        }
    }
}

/// Receives one row.
struct OneRow<'a>(&'a mut Table);

impl<'de> DeserializeSeed<'de> for OneRow<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for OneRow<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row: a list of numbers, or an object with numbers by name")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut row: A) -> Result<(), A::Error> {
        let number = self.0.count;
        let table = self.0;
        if !table.ends.is_empty() {
            return Err(de::Error::custom(format!("row {number} is a list, but the rows before have names; use one form")));
        }
        let before = table.x.len();
        let at = |e: A::Error, column: usize| de::Error::custom(format!("row {number}, number {column}: {e}"));
        while let Some(cell) = row.next_element().map_err(|e| at(e, table.x.len() - before))? {
            let column = table.x.len() - before;
            let value = table.number(cell, || column.into());
            table.x.push(value);
        }
        let width = table.x.len() - before;
        if number == 0 {
            table.width = width;
        }
        match width == table.width && width > 0 {
            true => Ok(()),
            false => Err(de::Error::custom(format!("row {number} has {width} numbers, expected {}", table.width.max(1)))),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut row: A) -> Result<(), A::Error> {
        let number = self.0.count;
        let table = self.0;
        if table.ends.len() != number {
            return Err(de::Error::custom(format!("row {number} has names, but the rows before are lists; use one form")));
        }
        let before = table.cells.len();
        let at = |e: A::Error, name: &str| de::Error::custom(format!("row {number}, column '{}': {e}", shortened(name)));
        while let Some(name) = row.next_key::<String>()? {
            let cell = row.next_value().map_err(|e| at(e, &name))?;
            let value = table.number(cell, || name.as_str().into());
            if name.is_empty() || name.len() > LONGEST_NAME {
                return Err(de::Error::custom(format!("row {number}: the name of a column has 1 to {LONGEST_NAME} bytes")));
            }
            let next = table.columns.len() as u32;
            let column = *table.columns.entry(name).or_insert(next);
            table.cells.push((column, value));
        }
        let mut seen: Vec<u32> = table.cells[before..].iter().map(|(column, _)| *column).collect();
        seen.sort_unstable();
        if let Some(pair) = seen.windows(2).find(|pair| pair[0] == pair[1]) {
            let name = table.columns.iter().find(|(_, at)| **at == pair[0]).map_or("", |(name, _)| name);
            return Err(de::Error::custom(format!("row {number}, column '{}': the name comes twice", shortened(name))));
        }
        table.ends.push(table.cells.len());
        Ok(())
    }
}
