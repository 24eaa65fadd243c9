//! A whole input in memory, for reading its rows in any order.

use std::collections::HashMap;

use super::chunk::{Bad, Chunk, Targets};
use super::error::InputError;

/// All rows of an input that ends.
#[derive(Debug, Default)]
pub struct Whole {
    chunks: Vec<Chunk>,
    /// For each row: the index of its chunk and of the row in the chunk.
    places: Vec<(u32, u32)>,
    features: usize,
}

impl Whole {
    /// Reads the input to its end.
    ///
    /// # Errors
    /// Those of the chunks.
    pub fn read(chunks: impl Iterator<Item = Result<Chunk, InputError>>) -> Result<Whole, InputError> {
        let mut whole = Whole::default();
        for chunk in chunks {
            whole.add(chunk?);
        }
        Ok(whole)
    }

    fn add(&mut self, mut chunk: Chunk) {
        chunk.x.shrink_to_fit();
        self.features = self.features.max(chunk.features);
        self.places.extend((0..chunk.rows).map(|row| (self.chunks.len() as u32, row as u32)));
        self.chunks.push(chunk);
    }

    /// The fingerprint of the input up to its last good row.
    pub fn print(&self) -> Option<u64> {
        self.chunks.iter().rev().find_map(|chunk| chunk.prints.last().copied())
    }

    /// The number of good rows.
    pub fn rows(&self) -> usize {
        self.places.len()
    }

    /// The bad rows, all before the first good one, and why the first of them was bad.
    pub fn bad(&self) -> (Vec<Bad>, Option<InputError>) {
        let lines = self.chunks.iter().flat_map(|c| &c.bad).map(|bad| Bad { before: 0, ..*bad });
        (lines.collect(), self.chunks.iter().find_map(|c| c.first_bad.clone()))
    }

    /// What the user should know of the first line.
    pub fn said(&self) -> Option<String> {
        self.chunks.iter().find_map(|chunk| chunk.said.clone())
    }

    /// Some of the good rows, in any order, as wide as the widest.
    pub fn gather(&self, rows: &[u32]) -> Chunk {
        let places = rows.iter().map(|row| self.places[*row as usize]);
        gather(places.map(|(chunk, at)| (&self.chunks[chunk as usize], at as usize)), self.features)
    }
}

/// Some rows of several chunks as one chunk of `features` features; narrower rows are filled up with zeros.
pub fn gather<'a>(rows: impl Iterator<Item = (&'a Chunk, usize)> + Clone, features: usize) -> Chunk {
    let mut out = Chunk { features, ..Chunk::default() };
    let sparse = rows.clone().any(|(chunk, _)| chunk.entries.is_some());
    for (chunk, at) in rows.clone() {
        out.rows += 1;
        match sparse {
            true => out.push_sparse(chunk.values(at)),
            false => {
                out.x.extend_from_slice(&chunk.x[at * chunk.features..(at + 1) * chunk.features]);
                out.x.resize(out.rows * features, 0.0);
            }
        }
        out.known.push(chunk.known[at]);
        out.lines.push(chunk.lines[at]);
    }
    if rows.clone().any(|(chunk, _)| chunk.weights.is_some()) {
        out.weights = Some(rows.clone().map(|(chunk, at)| chunk.weights.as_ref().map_or(1.0, |w| w[at])).collect());
    }
    for (to, (chunk, at)) in rows.clone().enumerate() {
        out.reach.extend(chunk.reach.get(at));
        out.kept.extend_from_slice(chunk.kept(at));
        out.missing.extend(chunk.missing_in(at).map(|feature| (to as u32, feature)));
    }
    out.ids = rows.clone().map(|(chunk, at)| chunk.ids.as_ref().map(|ids| ids[at])).collect();
    out.targets = gather_targets(rows);
    out
}

fn gather_targets<'a>(rows: impl Iterator<Item = (&'a Chunk, usize)>) -> Targets {
    let (mut out, mut words) = (Targets::default(), HashMap::new());
    for (Chunk { targets, .. }, row) in rows {
        out.width = targets.width;
        for at in row * targets.width..(row + 1) * targets.width {
            out.values.push(targets.values[at]);
            out.points.push(targets.points.get(at).is_some_and(|point| *point));
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
    if !out.points.contains(&true) {
        out.points.clear();
    }
    let text = !out.texts.is_empty();
    out.texts.resize(if text { out.values.len() } else { 0 }, 0);
    out
}
