//! Single rows, and chunks that are put together from them.

use std::collections::HashMap;

use super::chunk::{Chunk, Targets};

/// A row of a chunk, or a copy of one.
#[derive(Clone, Copy, Debug)]
pub struct RowView<'a> {
    /// The features; of a sparse row, the values that are given.
    x: &'a [f64],
    /// The columns of the values; none if the row is dense.
    columns: Option<&'a [u32]>,
    /// The targets of several rows, and which of these rows it is.
    targets: (&'a Targets, usize),
    known: bool,
    line: u64,
    weight: Option<f64>,
    id: Option<u64>,
    reach: Option<u32>,
    kept: &'a [String],
    /// The features without a value, with the number of a row that does not count.
    missing: &'a [(u32, u32)],
}

impl<'a> RowView<'a> {
    /// A row of a chunk.
    pub fn of(chunk: &'a Chunk, row: usize) -> Self {
        let range = chunk.range(row);
        RowView {
            x: &chunk.x[range.clone()],
            columns: chunk.entries.as_ref().map(|entries| &entries.columns[range]),
            targets: (&chunk.targets, row),
            known: chunk.known[row],
            line: chunk.lines[row],
            weight: chunk.weights.as_ref().map(|weights| weights[row]),
            id: chunk.ids.as_ref().map(|ids| ids[row]),
            reach: chunk.reach.get(row).copied(),
            kept: chunk.kept(row),
            missing: chunk.missing_cells(row),
        }
    }

    /// The columns and values that are not 0.
    fn values(self) -> impl Iterator<Item = (usize, f64)> + 'a {
        let column = move |at: usize| self.columns.map_or(at, |columns| columns[at] as usize);
        self.x.iter().enumerate().filter(|(_, value)| **value != 0.0).map(move |(at, value)| (column(at), *value))
    }

    fn absent(self) -> impl Iterator<Item = u32> + 'a {
        self.missing.iter().map(|(_, feature)| *feature)
    }

    /// The columns and values of a sparse row: those that are not 0, and a place for each cell without a value, which is filled there
    /// ([`Chunk::set`]).
    fn places(self) -> impl Iterator<Item = (usize, f64)> + 'a {
        let (mut values, mut absent) = (self.values().peekable(), self.absent().map(|feature| feature as usize).peekable());
        std::iter::from_fn(move || {
            let value = values.peek().map_or(usize::MAX, |(column, _)| *column);
            match absent.peek() {
                Some(feature) if *feature < value => absent.next().map(|feature| (feature, 0.0)),
                Some(feature) if *feature == value => {
                    absent.next();
                    values.next()
                }
                _ => values.next(),
            }
        })
    }
}

/// A copy of a row without its id. It takes few allocations, because a sample has many of them.
#[derive(Clone, Debug)]
pub struct Row {
    /// Zeros at the end of a dense row are left out, so that the copy does not depend on features that appear later in the chunk.
    x: Box<[f64]>,
    columns: Option<Box<[u32]>>,
    targets: Targets,
    known: bool,
    line: u64,
    weight: Option<f64>,
    reach: Option<u32>,
    kept: Box<[String]>,
    missing: Box<[(u32, u32)]>,
}

impl Row {
    /// Copies a row of a chunk.
    pub fn copy(chunk: &Chunk, row: usize) -> Self {
        let view = RowView::of(chunk, row);
        let given = || view.x.iter().filter(|value| **value != 0.0).count();
        let x = match view.columns {
            Some(_) => collected(given(), view.values().map(|(_, value)| value)),
            None => view.x[..view.x.iter().rposition(|value| *value != 0.0).map_or(0, |last| last + 1)].into(),
        };
        Row {
            columns: view.columns.map(|_| collected(x.len(), view.values().map(|(column, _)| column as u32))),
            x,
            targets: gather_targets(std::iter::once(view.targets)),
            known: view.known,
            line: view.line,
            weight: view.weight,
            reach: view.reach,
            kept: view.kept.into(),
            missing: view.missing.into(),
        }
    }

    /// The row, to be put into a chunk.
    pub fn view(&self) -> RowView<'_> {
        RowView {
            x: &self.x,
            columns: self.columns.as_deref(),
            targets: (&self.targets, 0),
            known: self.known,
            line: self.line,
            weight: self.weight,
            id: None,
            reach: self.reach,
            kept: &self.kept,
            missing: &self.missing,
        }
    }

    /// The number of features up to the last one that is not 0, or that has no value and may be filled.
    pub fn features(&self) -> usize {
        let given = self.columns.as_ref().map_or(self.x.len(), |columns| columns.last().map_or(0, |last| *last as usize + 1));
        given.max(self.missing.last().map_or(0, |(_, feature)| *feature as usize + 1))
    }

    /// The input line of the row.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Bytes of the features and targets.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.x[..]) + self.columns.as_ref().map_or(0, |columns| size_of_val(&columns[..])) + self.targets.bytes()
    }
}

/// As many values as are expected, in one allocation.
fn collected<T>(expected: usize, values: impl Iterator<Item = T>) -> Box<[T]> {
    let mut all = Vec::with_capacity(expected);
    all.extend(values);
    all.into()
}

/// Some rows as one chunk of `features` features; narrower rows are filled up with zeros.
pub fn gather<'a>(rows: impl Iterator<Item = RowView<'a>> + Clone, features: usize) -> Chunk {
    let mut out = Chunk { features, ..Chunk::default() };
    let sparse = rows.clone().any(|row| row.columns.is_some());
    for row in rows.clone() {
        match sparse {
            true => out.push_sparse(row.places()),
            false => {
                out.x.extend_from_slice(row.x);
                out.x.resize((out.rows + 1) * features, 0.0);
            }
        }
        out.known.push(row.known);
        out.lines.push(row.line);
        out.reach.extend(row.reach);
        out.kept.extend_from_slice(row.kept);
        out.missing.extend(row.absent().map(|feature| (out.rows as u32, feature)));
        out.rows += 1;
    }
    if rows.clone().any(|row| row.weight.is_some()) {
        out.weights = Some(rows.clone().map(|row| row.weight.unwrap_or(1.0)).collect());
    }
    out.ids = rows.clone().map(|row| row.id).collect();
    out.targets = gather_targets(rows.map(|row| row.targets));
    out
}

fn gather_targets<'a>(rows: impl Iterator<Item = (&'a Targets, usize)>) -> Targets {
    let (mut out, mut words) = (Targets::default(), HashMap::new());
    for (targets, row) in rows {
        out.width = targets.width;
        for at in row * targets.width..(row + 1) * targets.width {
            if targets.points.get(at).is_some_and(|point| *point) {
                out.points.resize(out.values.len(), false);
                out.points.push(true);
            }
            out.values.push(targets.values[at]);
            let (text, spelled) = (targets.text(at), targets.spelling(at));
            let Some(text) = text.or(spelled) else { continue };
            let word = *words.entry(text).or_insert_with(|| {
                out.words.push(text.to_owned());
                out.words.len() as u32
            });
            let place = if spelled.is_some() { &mut out.spelled } else { &mut out.texts };
            place.resize(out.values.len(), 0);
            place[out.values.len() - 1] = word;
        }
    }
    let pad = |length: usize| if length > 0 { out.values.len() } else { 0 };
    out.points.resize(pad(out.points.len()), false);
    out.texts.resize(pad(out.texts.len()), 0);
    out
}
