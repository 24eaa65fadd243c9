//! JSON lines: one object per line, names to numbers, truth values (0 and 1) or text.
//!
//! Nested objects and arrays are flattened: `{"a": {"b": [1, 2]}}` has the columns `a.b.0` and `a.b.1`; a line that is an
//! array has the columns 1, 2, ... A key of the first row is required in every row (`null` is missing), unless the option
//! `sparse` is set or `missing` says what it becomes. A key that appears later is a new feature, which is 0 in the rows before it and,
//! unless `missing` says what it becomes, in later rows without it. `--ignore a` and `--features a`
//! apply to everything inside `a`.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::Options;
use super::builder::Builder;
use super::columns::{Column, Columns, Role, Shape};
use super::error::{self, Fault, Parsed};
use super::number::{Value, decimal, not_utf8, shown};

pub(super) fn shape(sparse: bool) -> Shape {
    Shape { sparse, open: true, indexed: false }
}

#[derive(Default)]
pub(super) struct Jsonl {
    path: String,
    previous: u32,
    /// The row in which each column was seen last.
    seen: Vec<u64>,
    row: u64,
    /// Whether the rows are arrays; decided by the first row.
    arrays: Option<bool>,
    fault: Option<Box<Fault>>,
}

impl Jsonl {
    /// Parses one line into features and targets; `false` if the line is empty.
    pub fn row(&mut self, line: &[u8], columns: &mut Columns, out: &mut Builder) -> Parsed<bool> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(false);
        }
        if !matches!(line[0], b'{' | b'[') {
            return Err(error::row(format!("found {}, expected a JSON object like {{\"name\": 1.5}}", shown(line))));
        }
        let array = line[0] == b'[';
        if *self.arrays.get_or_insert(array) != array {
            let (found, before) = if array { ("an array", "objects") } else { ("an object", "arrays") };
            return Err(error::row(format!("{found}, but the rows before are {before}; use one form")));
        }
        // While reading on with a model, the first row here is not the first row of the file.
        if self.row == 0
            && columns.features() == 0
            && let Some(text) = not_lines(line)
        {
            return Err(Box::new(Fault { fatal: true, ..*error::row(text) }));
        }
        out.begin(columns.features());
        self.row += 1;
        self.path.clear();
        let mut json = serde_json::Deserializer::from_slice(line);
        let cell = Cell { state: self, columns, out };
        let read = cell.deserialize(&mut json).and_then(|()| json.end());
        match (self.fault.take(), read) {
            (Some(fault), _) => Err(fault),
            (None, Err(_)) if std::str::from_utf8(line).is_err() => Err(error::row(not_utf8(line))),
            (None, Err(e)) => Err(error::row(format!("not JSON: {}", short(&e)))),
            (None, Ok(())) => self.complete(columns, out).map(|()| true),
        }
    }

    /// Whether a row has had the key of a target, even with an empty value.
    pub fn saw_targets(&self, columns: &Columns) -> bool {
        let seen = |i: usize| self.seen.get(i).is_some_and(|row| *row > 0);
        columns.list.iter().enumerate().all(|(i, c)| !matches!(c.role, Role::Target(_)) || seen(i))
    }

    /// A key of the first row that is absent is a cell without a value. So is a number that appeared later, if cells are filled; it has no
    /// indicator here, because in rows before its first one it is not known.
    fn complete(&mut self, columns: &mut Columns, out: &mut Builder) -> Parsed {
        let fills = !columns.schema().missing.is_refused();
        for i in 0..columns.list.len() {
            let Column { required, role, .. } = columns.list[i];
            match role {
                _ if self.seen.get(i) == Some(&self.row) => {}
                Role::Number(_) | Role::Category(_) | Role::Undecided | Role::Time(_) | Role::Log(_) if required => {
                    columns.cell(i as u32, Value::Missing, b"", out)?;
                }
                Role::Number(feature) if fills => out.missing(feature),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether the first row has this key, or one inside an object (`a.b`).
pub(super) fn first_has(head: &[u8], name: &str) -> bool {
    let line = first_line(head);
    let Ok(row) = serde_json::from_slice::<serde_json::Value>(line) else { return true };
    row.get(name).is_some() || row.pointer(&format!("/{}", name.replace('.', "/"))).is_some()
}

/// The first line that is not blank.
fn first_line(head: &[u8]) -> &[u8] {
    head.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default()
}

/// The keys of the first line in order, without those that the options name for something else than features.
pub(super) fn first_keys(head: &[u8], options: &Options) -> Vec<String> {
    let line = first_line(head);
    let fills = "zero".parse().ok();
    let options = Options { schema: None, missing: fills, one_hot: true, ..options.clone() };
    let mut columns = Columns::new(&options, shape(false));
    let mut out = Builder::new([options.targets.len(), options.keep.len()], [true, false], options.id.is_some());
    // What is wrong with the line is said when it is read as a row.
    let _ = Jsonl::default().row(line, &mut columns, &mut out);
    let is_feature = |column: &&Column| matches!(column.role, Role::Number(_) | Role::Category(_) | Role::Undecided);
    columns.list.iter().filter(is_feature).map(|column| column.name.to_string()).collect()
}

/// Advice if the first line shows that the file is one JSON array, or objects with commas between them.
fn not_lines(line: &[u8]) -> Option<&'static str> {
    let inside = line.strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    match inside {
        Some([] | [b'{', ..]) => Some("a JSON array of rows; write one object per line: jq -c '.[]' FILE"),
        None if line.ends_with(b"},") => {
            Some("a comma after the object; write one object per line and nothing else: sed 's/,$//' FILE")
        }
        _ => None,
    }
}

/// serde_json's message, whose line is always 1 here.
fn short(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(t, _)| t);
    format!("{text} at byte {}", error.column())
}

/// Receives the value at the current path: a number, text, an array or an object.
struct Cell<'a> {
    state: &'a mut Jsonl,
    columns: &'a mut Columns,
    out: &'a mut Builder,
}

impl Cell<'_> {
    /// Adds the value at the current path to the row. serde's errors cannot carry a [`error::Fault`], so it is kept in the state.
    fn put<E: de::Error>(self, value: Value<'_>) -> Result<(), E> {
        let state = self.state;
        let column = self.columns.find(state.path.as_bytes(), state.previous);
        state.previous = column;
        let Column { role, keep, .. } = self.columns.list[column as usize];
        if keep.is_some() || matches!(role, Role::Ignored | Role::Weight) {
            self.columns.asked.meet(state.path.as_bytes());
        }
        let text = raw(value, role, keep.is_some());
        let result = state.first_time(column).and_then(|()| self.columns.cell(column, value, &text, self.out));
        result.map_err(|fault| {
            state.fault = Some(fault);
            E::custom("")
        })
    }

    /// Whether the array or object at the current path is ignored as a whole. A column that was named needs one value.
    fn is_ignored<E: de::Error>(&mut self, what: &str, part: &str) -> Result<bool, E> {
        let path = self.state.path.as_str();
        match self.columns.at(path).map(|column| self.columns.list[column as usize].role) {
            Some(Role::Ignored) => {
                self.columns.asked.meet(path.as_bytes());
                Ok(true)
            }
            Some(Role::Target(_) | Role::Weight | Role::Id) => {
                let text = format!("found {what}, expected a number or text; name one value inside it, as in {path}.{part}");
                self.state.fault = Some(error::cell(path, text));
                Err(E::custom(""))
            }
            _ => Ok(false),
        }
    }

    /// A cell for a value inside this array or object.
    fn inner(&mut self) -> Cell<'_> {
        Cell { state: self.state, columns: self.columns, out: self.out }
    }
}

impl Jsonl {
    fn first_time(&mut self, column: u32) -> Parsed {
        let at = column as usize;
        if column > 0 && self.seen.get(at) == Some(&self.row) {
            return Err(error::cell(&self.path, "the key comes twice in this row; keep one"));
        }
        if self.seen.len() <= at {
            self.seen.resize(at + 1, 0);
        }
        self.seen[at] = self.row;
        Ok(())
    }
}

/// The text of a value, for roles that need it.
fn raw<'a>(value: Value<'a>, role: Role, kept: bool) -> std::borrow::Cow<'a, [u8]> {
    match value {
        Value::Text(text) => text.into(),
        _ if !kept && !matches!(role, Role::Id | Role::Category(_) | Role::Words(_) | Role::Target(_)) => b""[..].into(),
        Value::Int(v) => v.to_string().into_bytes().into(),
        Value::Number(v) if matches!(role, Role::Target(_)) => decimal(v).into_bytes().into(),
        Value::Number(v) => v.to_string().into_bytes().into(),
        Value::Bool(v) => v.to_string().into_bytes().into(),
        Value::Missing => b""[..].into(),
    }
}

impl<'de> DeserializeSeed<'de> for Cell<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Cell<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, text, an object or an array")
    }

    fn visit_f64<E: de::Error>(self, v: f64) -> Result<(), E> {
        self.put(Value::Number(v))
    }

    fn visit_i64<E: de::Error>(self, v: i64) -> Result<(), E> {
        self.put(Value::Int(v.into()))
    }

    fn visit_u64<E: de::Error>(self, v: u64) -> Result<(), E> {
        self.put(Value::Int(v.into()))
    }

    fn visit_bool<E: de::Error>(self, v: bool) -> Result<(), E> {
        self.put(Value::Bool(v))
    }

    fn visit_str<E: de::Error>(self, v: &str) -> Result<(), E> {
        self.put(if v.is_empty() { Value::Missing } else { Value::Text(v.as_bytes()) })
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        self.put(Value::Missing)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        if self.is_ignored("an array", "0")? {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(());
        }
        let length = self.state.path.len();
        let first = usize::from(length == 0);
        for i in first.. {
            self.state.path.push_str(if length > 0 { "." } else { "" });
            self.state.path.push_str(&i.to_string());
            let more = list.next_element_seed(self.inner())?;
            self.state.path.truncate(length);
            if more.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        if self.is_ignored("an object", "key")? {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(());
        }
        let length = self.state.path.len();
        while map.next_key_seed(Key(&mut self.state.path))?.is_some() {
            map.next_value_seed(self.inner())?;
            self.state.path.truncate(length);
        }
        Ok(())
    }
}

/// A key, appended to the path.
struct Key<'a>(&'a mut String);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<(), E> {
        if !self.0.is_empty() {
            self.0.push('.');
        }
        self.0.push_str(key);
        Ok(())
    }
}
