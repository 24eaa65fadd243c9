//! Tables of delimited text (RFC 4180 quotes, any of `, ; tab |`): a row of plain numbers is parsed in one pass over its bytes.

use super::Options;
use super::builder::Builder;
use super::chunk::LARGEST;
use super::columns::{Column, Columns, MOST_FEATURES, Role, Shape};
use super::error::{self, Parsed};
use super::number::{classify, not_utf8, scan, short};
use super::plan::{assign, listed};
use super::sniff;

pub(super) const SHAPE: Shape = Shape { sparse: false, open: false, indexed: false };

/// The format of the table, found from the first lines.
pub(super) struct Csv {
    pub delimiter: u8,
    pub header: bool,
    /// For each field of a record, its index in [`Columns`].
    plan: Vec<u32>,
}

impl Csv {
    /// Reads the header, or numbers the columns from 1, and finds a role for each.
    ///
    /// # Errors
    /// If the options or the header are wrong.
    pub fn new(head: &[u8], options: &Options, columns: &mut Columns) -> Result<Csv, String> {
        let delimiter = sniff::delimiter(head);
        let first = head.split(|b| *b == b'\n').find(|l| !l.trim_ascii().is_empty()).unwrap_or(&[]);
        if first.iter().filter(|b| **b == delimiter).count() >= MOST_FEATURES {
            return Err(format!("more than {MOST_FEATURES} columns; choose some of them"));
        }
        let records = sniff::records(head, delimiter);
        let Some(first) = records.first() else { return Err("empty; there is nothing to read".into()) };
        let named = options.header.is_none() && names_a_number(first, options, columns);
        let counted = if options.header.is_none() { sniff::numbered(&records) } else { None };
        let counted = counted.filter(|counted| !named || matches!(counted, sniff::Numbered::Header));
        columns.said.extend(counted.as_ref().map(|counted| said_of_numbers(counted, first)));
        let by_number = matches!(counted, Some(sniff::Numbered::Header));
        let header =
            options.header.unwrap_or_else(|| named || by_number || sniff::has_header(&records, &asked(options, columns)));
        if options.header.is_none() && !header && counted.is_none() && sniff::is_unlike(&sniff::first_records(head, delimiter)) {
            columns.said.push(format!(
                "line 1 ({}) was taken for a row, but it is unlike the next rows; if it is the header, add --header yes",
                first_names(first)
            ));
        }
        columns.line_1 = said_of_line_1(header, options);
        no_comment(first, records.get(1))?;
        if header {
            let bytes = sniff::first_record(head, delimiter);
            let mut names = Vec::new();
            split(bytes, delimiter, |name| names.push(name.to_vec()));
            if let Some((i, name)) = names.iter().enumerate().find(|(_, name)| std::str::from_utf8(name).is_err()) {
                return Err(format!("line 1, column {}: {}", i + 1, not_utf8(name)));
            }
        }
        let numbered = |i: usize| (i + 1).to_string();
        let unnamed = first.iter().enumerate().filter(|(_, name)| header && name.is_empty()).map(|(i, _)| numbered(i));
        if let Some(column) = unnamed.into_iter().find(|column| is_new(column, options, columns)) {
            return Err(format!("column {column} has no name in the header; name it, or leave it out with --ignore {column}"));
        }
        // A model of a table without a header knows its columns by their numbers from 1, not from 0.
        let named = header && !(by_number && options.schema.is_some() && columns.at("0").is_none());
        let name = |(i, n): (usize, &String)| if named && !n.is_empty() { n.clone() } else { numbered(i) };
        let names: Vec<String> = first.iter().enumerate().map(name).collect();
        let plan = plan(names, named, options, columns)?;
        let numbers = sniff::of_numbers(sniff::first_records(head, delimiter).get(usize::from(header)..).unwrap_or_default());
        columns.of_numbers = plan.iter().zip(numbers).filter(|(_, numbers)| *numbers).map(|(column, _)| *column).collect();
        Ok(Csv { delimiter, header, plan })
    }

    /// Parses one record into features and targets; `false` if the record is empty.
    pub fn row(&self, record: &[u8], columns: &mut Columns, out: &mut Builder) -> Parsed<bool> {
        if record.is_empty() || record.trim_ascii().is_empty() && self.plan.len() > 1 && !record.contains(&self.delimiter) {
            return Ok(false);
        }
        out.begin(columns.features());
        let read = if record.contains(&b'"') { self.quoted(record, columns, out) } else { self.plain(record, columns, out) };
        match read {
            // Where fields are missing or too many, that is the error, and not the text that stands in another column for this reason. Quotes may
            // be the reason for the number of fields.
            Err(_) if (record.starts_with(b"#") || !record.contains(&b'"')) && self.fields(record) != self.plan.len() => {
                Err(self.ragged(record))
            }
            other => other.map(|()| true),
        }
    }

    fn fields(&self, record: &[u8]) -> usize {
        let mut found = 0;
        split(record, self.delimiter, |_| found += 1);
        found
    }

    fn plain(&self, record: &[u8], columns: &mut Columns, out: &mut Builder) -> Parsed {
        let (mut at, mut i, last) = (0, 0, self.plan.len() - 1);
        while i <= last {
            let (taken, bytes) = self.numbers(&self.plan[i..last], &record[at..], columns, out);
            (i, at) = (i + taken, at + bytes);
            let rest = &record[at..];
            let end = self.field(rest, self.plan[i], columns, out)?;
            if (end == rest.len()) != (i == last) {
                return Err(self.ragged(record));
            }
            (i, at) = (i + 1, record.len().min(at + end + 1));
        }
        Ok(())
    }

    /// Reads leading fields that are short plain numbers; returns the number of fields and of bytes.
    fn numbers(&self, plan: &[u32], record: &[u8], columns: &Columns, out: &mut Builder) -> (usize, usize) {
        let (mut at, row) = (0, out.row_mut());
        for (i, column) in plan.iter().enumerate() {
            let Column { role: Role::Number(feature), keep: None, .. } = columns.list[*column as usize] else { return (i, at) };
            let number = short(&record[at..], self.delimiter);
            let (Some((value, end)), Some(place)) = (number, row.get_mut(feature as usize)) else { return (i, at) };
            *place = value;
            at += end + 1;
        }
        (plan.len(), at)
    }

    /// Reads one field; returns its end.
    fn field(&self, rest: &[u8], column: u32, columns: &mut Columns, out: &mut Builder) -> Parsed<usize> {
        let Column { role, keep, .. } = columns.list[column as usize];
        match (role, scan(rest)) {
            (Role::Number(feature), Some((value, end)))
                if keep.is_none() && !columns.only_kept && (end == rest.len() || rest[end] == self.delimiter) =>
            {
                if value.abs() > LARGEST {
                    return Err(columns.too_large(column, value, &rest[..end]));
                }
                out.put(feature, value);
                Ok(end)
            }
            _ => self.other(rest, column, columns, out),
        }
    }

    /// Reads one field that is not a plain number; returns its end.
    fn other(&self, rest: &[u8], column: u32, columns: &mut Columns, out: &mut Builder) -> Parsed<usize> {
        let end = rest.iter().position(|b| *b == self.delimiter).unwrap_or(rest.len());
        let field = rest[..end].trim_ascii();
        columns.cell(column, classify(field), field, out)?;
        Ok(end)
    }

    fn quoted(&self, record: &[u8], columns: &mut Columns, out: &mut Builder) -> Parsed {
        let (mut i, mut result) = (0, Ok(()));
        split_checked(record, self.delimiter, |field, stray| {
            let field = field.trim_ascii();
            if let (Ok(()), Some(&column)) = (&result, self.plan.get(i)) {
                result = match stray {
                    Some(stray) => Err(after_quotes(&columns.list[column as usize].name, stray)),
                    None => columns.cell(column, classify(field), field, out),
                };
            }
            i += 1;
        });
        // A quote that is not closed takes the next lines into its field, so their number of columns says nothing.
        if matches!(&result, Err(fault) if fault.text.contains(AFTER_QUOTES)) {
            return result;
        }
        if i == self.plan.len() { result } else { Err(self.ragged(record)) }
    }

    fn ragged(&self, record: &[u8]) -> Box<error::Fault> {
        let found = self.fields(record);
        let delimiter = char::from(self.delimiter).escape_debug();
        let comment = if record.starts_with(b"#") { COMMENT } else { "" };
        let expected = self.plan.len();
        error::row(format!("found {found} columns, expected {expected} as in the first line (delimiter '{delimiter}'){comment}"))
    }
}

/// The names of columns that the options and the model have.
fn asked(options: &Options, columns: &Columns) -> Vec<String> {
    let listed = columns.list.iter().map(|c| c.name.to_string());
    listed.chain(options.features.iter().chain(&options.keep).cloned()).collect()
}

/// Whether a flag names a number of the first record that is not the number of a column, such as a year: then the record is a header. A number that is
/// also that of a column stays the number of a column. Of a model, the names of all columns must be there: a row may have one of these numbers, too.
fn names_a_number(first: &[String], options: &Options, columns: &Columns) -> bool {
    let numbers = 1..=first.len();
    let is_column =
        |name: &str| name.parse::<usize>().is_ok_and(|number| numbers.contains(&number) && number.to_string() == name);
    let is_named = |name: &String| first.contains(name);
    match &options.schema {
        None => asked(options, columns).iter().any(|name| !name.is_empty() && !is_column(name) && is_named(name)),
        Some(schema) => {
            let names = schema.columns();
            names.iter().any(|name| !is_column(name)) && names.iter().all(is_named)
        }
    }
}

/// What an error about names of columns says of line 1.
fn said_of_line_1(header: bool, options: &Options) -> &'static str {
    match (header, options.header) {
        (false, None) => {
            "; line 1 was taken for a row, and columns have numbers from 1: if it is the header, add --header yes; if the table has none and a name is needed, write the names into a first line"
        }
        (false, Some(_)) => "; with --header no, columns have numbers from 1",
        (true, None) => "; line 1 was taken for the header: if it is a row, add --header no, and columns have numbers from 1",
        // The server always reads a header, and has no such flag.
        (true, Some(_)) => "",
    }
}

/// The first cells of a record.
fn first_names(first: &[String]) -> String {
    if first.len() > 4 { format!("{}, ...", first[..4].join(", ")) } else { first.join(", ") }
}

/// What is said of a first record that counts its columns from 0.
fn said_of_numbers(numbered: &sniff::Numbered, first: &[String]) -> String {
    let shown = first_names(first);
    match numbered {
        sniff::Numbered::Header => {
            format!("line 1 ({shown}) was taken for the header, because it counts the columns; if it is a row, add --header no")
        }
        sniff::Numbered::Row => {
            format!("line 1 ({shown}) was taken for a row; if it is the header, add --header yes")
        }
    }
}

/// Whether the column would be a feature that no option names.
fn is_new(column: &str, options: &Options, columns: &Columns) -> bool {
    let asked = if options.features.is_empty() { columns.at(column).is_some() } else { true };
    options.schema.is_none() && !asked
}

/// Advice for lines that begin with `#`. Such a line is not a comment, because a name or a value may begin with `#`.
const COMMENT: &str = "; CSV has no comments: delete lines that begin with '#'";

/// Refuses a first line that is a comment rather than a header or a row.
fn no_comment(first: &[String], second: Option<&Vec<String>>) -> Result<(), String> {
    let begins = first.first().is_some_and(|field| field.starts_with('#'));
    match second.filter(|second| begins && second.len() != first.len()) {
        Some(second) => {
            Err(format!("the first line begins with '#' and has {} columns, the next has {}{COMMENT}", first.len(), second.len()))
        }
        None => Ok(()),
    }
}

/// For each field of the file, its index in [`Columns`].
fn plan(names: Vec<String>, header: bool, options: &Options, columns: &mut Columns) -> Result<Vec<u32>, String> {
    no_duplicates(&names)?;
    let names = if header { names } else { by_position(names, options, columns) };
    assign(&names, options, columns)
}

fn no_duplicates(names: &[String]) -> Result<(), String> {
    let mut seen = std::collections::HashMap::new();
    for (i, name) in names.iter().enumerate() {
        if let Some(before) = seen.insert(name, i) {
            return Err(format!("columns {} and {} are both named '{name}'; rename one", before + 1, i + 1));
        }
    }
    Ok(())
}

/// A table without a header that has as many columns as the model has features: names its columns as the model does, in order.
fn by_position(names: Vec<String>, options: &Options, columns: &mut Columns) -> Vec<String> {
    let Some(schema) = &options.schema else { return names };
    let learned = schema.columns();
    if learned.len() != names.len() || learned == names {
        return names;
    }
    let order = listed(learned.clone());
    columns.said.push(format!(
        "the file has no header: its columns are taken by position, in the order of the model's features: {order}; if they are \
         others, add a header with their names"
    ));
    learned
}

/// Whether a quoted field is still open at the end of this line. `inside`: it was open at its beginning.
pub(super) fn open_quote(line: &[u8], delimiter: u8, inside: bool) -> bool {
    if !line.contains(&b'"') {
        return inside;
    }
    let (mut inside, mut at_start) = (inside, !inside);
    for &byte in line {
        match byte {
            b'"' if inside => inside = false,
            // A quote directly after a closing quote is an escaped quote or opens the field again. In both cases the field is open.
            b'"' => inside = at_start,
            _ if inside => continue,
            _ => {}
        }
        at_start = !inside && (byte == delimiter || byte == b'"');
    }
    inside
}

const AFTER_QUOTES: &str = "after its closing quote";

/// The error of a field with more text after its closing quote.
fn after_quotes(column: &str, stray: &[u8]) -> Box<error::Fault> {
    let stray: String = String::from_utf8_lossy(stray).chars().take(20).collect();
    error::cell(
        column,
        format!("found {stray:?} {AFTER_QUOTES}; close the quote of the text, or write quotes inside of a text twice"),
    )
}

/// Calls `each` with every field of a record, without its quotes.
pub(super) fn split(record: &[u8], delimiter: u8, mut each: impl FnMut(&[u8])) {
    split_checked(record, delimiter, |field, _| each(field));
}

/// Calls `each` with every field of a record, without its quotes, and with the rest of the field after its closing quote, if that is not blank.
fn split_checked(record: &[u8], delimiter: u8, mut each: impl FnMut(&[u8], Option<&[u8]>)) {
    let (mut rest, mut clean) = (record, Vec::new());
    loop {
        let end;
        if rest.first() == Some(&b'"') {
            clean.clear();
            let closed;
            (end, closed) = unquote(rest, delimiter, &mut clean);
            each(&clean, Some(rest[closed..end].trim_ascii()).filter(|stray| !stray.is_empty()));
        } else {
            end = rest.iter().position(|b| *b == delimiter).unwrap_or(rest.len());
            each(&rest[..end], None);
        }
        match rest.get(end + 1..) {
            Some(more) if end < rest.len() => rest = more,
            _ => return,
        }
    }
}

/// Copies a field that begins with a quote; returns where it ends, and where its quotes are closed.
fn unquote(field: &[u8], delimiter: u8, into: &mut Vec<u8>) -> (usize, usize) {
    let (mut at, mut inside, mut closed) = (1, true, None);
    while at < field.len() && (inside || field[at] != delimiter) {
        match (field[at], field.get(at + 1)) {
            (b'"', Some(b'"')) if inside => {
                into.push(b'"');
                at += 1;
            }
            (b'"', _) if inside => (inside, closed) = (false, Some(at + 1)),
            (byte, _) => into.push(byte),
        }
        at += 1;
    }
    (at, closed.unwrap_or(at))
}
