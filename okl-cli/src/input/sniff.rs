//! Detects the format of a file from its name and its first lines.

use super::Format;
use super::csv::{open_quote, split};
use super::number::{Value, classify, scan};

/// The format by the file name, without `.gz` or `.zst`; none if the name does not tell.
pub(super) fn from_name(path: &str) -> Option<Format> {
    let path = path.strip_suffix(".gz").or_else(|| path.strip_suffix(".zst")).unwrap_or(path);
    match path.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
        "csv" | "tsv" | "tab" => Some(Format::Csv),
        "libsvm" | "svm" | "svmlight" => Some(Format::Libsvm),
        "jsonl" | "ndjson" | "json" => Some(Format::Jsonl),
        "vw" => Some(Format::Vw),
        "parquet" | "pq" => Some(Format::Parquet),
        _ => None,
    }
}

/// The format by the first lines.
pub(super) fn from_content(head: &[u8]) -> Format {
    let line = head.split(|b| *b == b'\n').map(<[u8]>::trim_ascii).find(|l| !l.is_empty() && l[0] != b'#').unwrap_or(&[]);
    if matches!(line.first(), Some(b'{' | b'[')) {
        Format::Jsonl
    } else if is_vw(line) {
        Format::Vw
    } else if is_libsvm(line) {
        Format::Libsvm
    } else {
        Format::Csv
    }
}

/// Whether the line is VW text: its first bar has a space before it, or a space or a namespace and a space after it. A bar that
/// separates columns of a table has none of these.
fn is_vw(line: &[u8]) -> bool {
    let Some(bar) = line.iter().position(|b| *b == b'|') else { return false };
    let (before, after) = (&line[..bar], &line[bar + 1..]);
    let namespace = after.iter().position(|b| b" |,;\t".contains(b));
    let spaced = before.is_empty() || before.ends_with(b" ") || namespace.is_some_and(|n| after[n] == b' ');
    spaced
        && !before.contains(&b',')
        && before.split(|b| *b == b' ').next().is_some_and(|t| t.is_empty() || t[0] == b'\'' || scan(t).is_some())
}

/// Whether the line is LIBSVM text: the first or second word is `index:number`, without a table delimiter before it.
fn is_libsvm(line: &[u8]) -> bool {
    let pair = |word: &[u8]| {
        let colon = word.iter().position(|b| *b == b':');
        let index = colon.map(|c| (&word[..c], &word[c + 1..]));
        index.is_some_and(|(i, v)| {
            let whole = |t: &[u8]| scan(t).is_some_and(|(_, n)| n == t.len());
            (i == b"qid" || (!i.is_empty() && i.iter().all(u8::is_ascii_digit))) && whole(v)
        })
    };
    line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty()).take(2).any(pair)
}

/// If the bytes are not text: what kind of file they look like.
pub(super) fn not_text(head: &[u8]) -> Option<&'static str> {
    let packed = [
        (&b"\xfd7zXZ"[..], "compressed with xz; decompress it: xz -dc FILE | okl ... -, or give a gzip or zstd file"),
        (b"BZh", "compressed with bzip2; decompress it: bzip2 -dc FILE | okl ... -, or give a gzip or zstd file"),
        (b"PK\x03\x04", "a zip archive (or a spreadsheet); unpack it, or save the sheet as CSV"),
    ];
    let odd = |b: &u8| *b < 0x20 && !b"\t\n\r\x0c".contains(b);
    head[..head.len().min(4096)].iter().any(odd).then(|| {
        let known = packed.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, what)| *what);
        known.unwrap_or("binary data, not a table; give a CSV, LIBSVM, JSON lines, VW or Parquet file")
    })
}

/// The delimiter of a table, counted outside quotes: of those that occur equally often in the first two lines, the most frequent;
/// if there are none, the most frequent in the first line.
pub(super) fn delimiter(head: &[u8]) -> u8 {
    let mut lines = head.split(|b| *b == b'\n').filter(|l| !l.trim_ascii().is_empty());
    let (first, second) = (lines.next().unwrap_or(&[]), lines.next());
    let count = |line: &[u8], delimiter: u8| {
        let mut quoted = false;
        let outside = |b: &&u8| {
            quoted ^= **b == b'"';
            !quoted && **b == delimiter
        };
        line.iter().filter(outside).count()
    };
    let score = |d: u8| {
        let n = count(first, d);
        (second.is_none_or(|s| count(s, d) == n), n)
    };
    // The last of equal ones wins, so the comma comes last.
    let best = b"|\t;,".iter().copied().filter(|d| count(first, *d) > 0).max_by_key(|d| score(*d));
    best.unwrap_or(b',')
}

/// The fields of the first records of a head, at most two records.
pub(super) fn records(head: &[u8], delimiter: u8) -> Vec<Vec<String>> {
    raw_records(head, delimiter, 2).into_iter().map(|record| fields(record, delimiter)).collect()
}

/// The fields of the first [`COMPARED`] records of a head, without one that the head may have cut off.
pub(super) fn first_records(head: &[u8], delimiter: u8) -> Vec<Vec<String>> {
    let whole = head.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    raw_records(&head[..whole], delimiter, COMPARED).into_iter().map(|record| fields(record, delimiter)).collect()
}

/// The first record is compared with this many others, at most.
const COMPARED: usize = 32;

/// The fewest other records with which the first one is compared.
const FEWEST: usize = 5;

/// Whether the first record looks unlike the next ones, as a header of numbers does: it is far from them, or it alone counts by one, as years do.
pub(super) fn is_unlike(records: &[Vec<String>]) -> bool {
    let [first, rest @ ..] = records else { return false };
    // Two or three numbers count by chance, unless they are those of the columns and the others are no whole numbers.
    let alone = |most: usize| counts_by_one(first, most) && !rest.iter().any(|record| counts_by_one(record, most));
    let of_columns = || first.first().is_some_and(|name| name == "1") && rest.iter().flatten().any(|field| field.contains('.'));
    is_far(records) || (!rest.is_empty() && (alone(4) || alone(2) && of_columns()))
}

/// Whether the numbers of a record, at least so many, are whole and each is one more than the one before. Cells of text are left out.
fn counts_by_one(record: &[String], least: usize) -> bool {
    let numbers: Vec<&String> = record.iter().filter(|field| !is_text(field)).collect();
    let whole: Option<Vec<i64>> = numbers.iter().map(|field| field.parse().ok()).collect();
    whole.is_some_and(|whole| whole.len() >= least && whole.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1])))
}

/// Whether all cells of the first record, of two columns or more, are whole numbers that are far from those of the others: outside of their range by more than
/// that range and more than their size. Columns of text say nothing.
fn is_far(records: &[Vec<String>]) -> bool {
    let [first, rest @ ..] = records else { return false };
    if rest.len() < FEWEST || rest.iter().any(|record| record.len() != first.len()) {
        return false;
    }
    let number = |field: &String| field.parse::<f64>().ok().filter(|value| value.is_finite());
    let mut columns = 0;
    for (at, name) in first.iter().enumerate() {
        let values: Vec<f64> = rest.iter().filter_map(|record| number(&record[at])).collect();
        let Some(name) = number(name) else { if values.is_empty() { continue } else { return false } };
        let (least, most) = values.iter().fold((f64::MAX, f64::MIN), |(least, most), v| (least.min(*v), most.max(*v)));
        let away = (least - name).max(name - most);
        let size = least.abs().max(most.abs());
        if name.fract() != 0.0 || values.len() < FEWEST || away <= most - least || away <= 0.5 * size.max(name.abs()) {
            return false;
        }
        columns += 1;
    }
    columns >= 2
}

/// For each field of the first record of data: whether most of the next records that have a value there have a number.
pub(super) fn of_numbers(records: &[Vec<String>]) -> Vec<bool> {
    let [first, rest @ ..] = records else { return Vec::new() };
    let most = |at: usize| {
        let kinds: Vec<Value<'_>> = rest.iter().filter_map(|record| Some(classify(record.get(at)?.as_bytes()))).collect();
        let texts = kinds.iter().filter(|kind| matches!(kind, Value::Text(_))).count();
        let numbers = kinds.iter().filter(|kind| matches!(kind, Value::Number(_) | Value::Int(_))).count();
        numbers >= FEWEST_NUMBERS && numbers > texts
    };
    (0..first.len()).map(most).collect()
}

/// The fewest numbers below a text that say that the text is a bad value.
const FEWEST_NUMBERS: usize = 3;

/// The first record that is not blank.
pub(super) fn first_record(head: &[u8], delimiter: u8) -> &[u8] {
    raw_records(head, delimiter, 1).first().copied().unwrap_or(&[])
}

fn raw_records(head: &[u8], delimiter: u8, most: usize) -> Vec<&[u8]> {
    let (mut records, mut from, mut line, mut inside) = (Vec::new(), 0, 0, false);
    for end in head.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(i, _)| i).chain([head.len()]) {
        inside = open_quote(&head[line..end], delimiter, inside);
        line = end + 1;
        if inside {
            continue;
        }
        let record = head[from..end].strip_suffix(b"\r").unwrap_or(&head[from..end]);
        from = end + 1;
        if !record.trim_ascii().is_empty() {
            records.push(record);
        }
        if records.len() == most || from > head.len() {
            break;
        }
    }
    records
}

fn fields(record: &[u8], delimiter: u8) -> Vec<String> {
    let mut fields = Vec::new();
    split(record, delimiter, |field| fields.push(String::from_utf8_lossy(field.trim_ascii()).into_owned()));
    fields
}

/// Whether the first record is a header: it has a name that a flag names, or text above a number, or only text.
pub(super) fn has_header(records: &[Vec<String>], asked: &[String]) -> bool {
    let [first, rest @ ..] = records else { return false };
    if first.iter().any(|name| asked.contains(name) && is_text(name)) {
        return true;
    }
    let above = |second: &Vec<String>| first.iter().zip(second).any(|(a, b)| is_text(a) && !is_text(b));
    rest.first().is_some_and(above) || first.iter().all(|name| is_text(name))
}

/// What is done with a first record that is 0, 1, 2, ... in order.
pub(super) enum Numbered {
    /// It is a header, as pandas writes it for columns without names: the next record has a number that is not whole.
    Header,
    /// It is a row. It may have been meant as a header.
    Row,
}

/// Whether the first record counts its columns from 0. Two columns are taken for a row, as in a series that begins at 0.
pub(super) fn numbered(records: &[Vec<String>]) -> Option<Numbered> {
    let (first, second) = (records.first()?, records.get(1)?);
    let counts = first.iter().enumerate().all(|(i, name)| *name == i.to_string());
    let is_whole = |field: &String| field.is_empty() || field.parse::<i64>().is_ok();
    let whole = second.iter().all(is_whole);
    match first.len() {
        _ if !counts => None,
        3.. if !whole => Some(Numbered::Header),
        3.. => Some(Numbered::Row),
        2 if !whole => Some(Numbered::Row),
        _ => None,
    }
}

fn is_text(field: &str) -> bool {
    matches!(classify(field.as_bytes()), Value::Text(_))
}
