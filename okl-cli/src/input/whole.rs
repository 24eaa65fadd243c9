//! A whole input in memory, for reading its rows in any order.

use super::chunk::{Bad, Chunk};
use super::error::InputError;
use super::row::{RowView, gather};

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

    /// A good row: its chunk as it was read, and its number there.
    pub fn row(&self, row: u32) -> (&Chunk, usize) {
        let (chunk, at) = self.places[row as usize];
        (&self.chunks[chunk as usize], at as usize)
    }

    /// Whether a row was read without columns that appeared after it and that it may have: a row that is only predicted adds none itself, and where
    /// cells are filled, a number that appeared later has no value in the row.
    pub fn lacks_later_columns(&self, fills: bool) -> bool {
        let lacks = |(chunk, at): &(u32, u32)| {
            let (chunk, at) = (&self.chunks[*chunk as usize], *at as usize);
            (chunk.reach[at] as usize) < self.features && (fills || !chunk.is_example(at))
        };
        self.places.iter().any(lacks)
    }

    /// The same input, read again with the columns that the first reading found. What was said of the columns then is kept.
    pub fn read_again(self, chunks: impl Iterator<Item = Result<Chunk, InputError>>) -> Result<Whole, InputError> {
        let [unknown, said] = self.said();
        drop(self);
        let mut again = Whole::read(chunks)?;
        again.chunks.iter_mut().for_each(|chunk| [&mut chunk.unknown, &mut chunk.said].into_iter().for_each(Vec::clear));
        if let Some(first) = again.chunks.first_mut() {
            (first.unknown, first.said) = (unknown, said);
        }
        Ok(again)
    }

    /// The number of good rows.
    pub fn rows(&self) -> usize {
        self.places.len()
    }

    /// The bad rows, all before the first good one, and why the first of them was bad.
    pub fn bad(&self) -> (Vec<Bad>, Option<InputError>) {
        let lines = self.chunks.iter().flat_map(|c| &c.bad).map(|bad| Bad { before: 0, ..bad.clone() });
        (lines.collect(), self.chunks.iter().find_map(|c| c.first_bad.clone()))
    }

    /// Columns that the model does not know, and how columns were matched; see [`Chunk::unknown`] and [`Chunk::said`].
    pub fn said(&self) -> [Vec<String>; 2] {
        let all = |of: fn(&Chunk) -> &Vec<String>| self.chunks.iter().flat_map(of).cloned().collect();
        [all(|chunk| &chunk.unknown), all(|chunk| &chunk.said)]
    }

    /// Some of the good rows, in any order, as wide as the widest.
    pub fn gather(&self, rows: &[u32]) -> Chunk {
        let places = rows.iter().map(|row| self.places[*row as usize]);
        gather(places.map(|(chunk, at)| RowView::of(&self.chunks[chunk as usize], at as usize)), self.features)
    }
}
