//! The side of a shard: chunks of terms, and the sums of rows over them.

use std::collections::BTreeMap;

use crate::config::Config;
use crate::coordinates::Rewrite;
use crate::gram::{self, Backend, CHUNK, Matrix, Packed, Points};
use crate::parts::kernel::AnyKernel;
use crate::sharded::chunk::{self, Chunk};

/// The number of rows whose kernel values against a chunk are computed together. They stay in the second-level cache.
const ROWS: usize = 32;

/// Chunks of terms of a sharded learner, and sums over them. See [`Keeper`](super::Keeper).
pub struct Shard {
    kernel: AnyKernel,
    backend: Backend,
    /// The chunks by their numbers.
    chunks: BTreeMap<usize, Chunk>,
    /// All changes of coefficients so far.
    rewrites: Vec<Rewrite>,
}

impl std::fmt::Debug for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shard").field("kernel", &self.kernel).field("chunks", &self.chunks.len()).finish_non_exhaustive()
    }
}

impl Shard {
    /// An empty shard for the configuration that [`Keeper::begin`](super::Keeper::begin) was called with.
    ///
    /// # Errors
    /// If the configuration is refused here, which means that this is another version of okl.
    pub fn new(config: &str) -> Result<Self, String> {
        let config = Config::from_json(config).map_err(|e| e.to_string())?;
        let backend = Backend::chosen()?;
        let [kernel] = config.kernels().try_into().map_err(|_| "a sharded learner has one kernel")?;
        Ok(Shard { kernel, backend, chunks: BTreeMap::new(), rewrites: Vec::new() })
    }

    /// Stores a chunk. A chunk that is already there stays as it is.
    ///
    /// # Errors
    /// If the chunk is damaged, or was encoded after changes that this shard does not have.
    pub fn keep(&mut self, number: usize, bytes: &[u8]) -> Result<(), String> {
        if self.chunks.contains_key(&number) {
            return Ok(());
        }
        let mut chunk = chunk::decode(bytes)?;
        let missed = self.rewrites.get(chunk.rewrites..).ok_or("changes of coefficients are missing")?;
        missed.iter().for_each(|rewrite| chunk.f.rewrite(*rewrite));
        self.chunks.insert(number, chunk);
        Ok(())
    }

    /// Changes all coefficients; `number` counts the changes from 0. A change that was made stays.
    ///
    /// # Errors
    /// If an earlier change is missing.
    pub fn rewrite(&mut self, number: usize, bytes: &[u8]) -> Result<(), String> {
        if number > self.rewrites.len() {
            return Err("changes of coefficients are missing".into());
        }
        if number == self.rewrites.len() {
            let rewrite = chunk::decode_rewrite(bytes)?;
            self.chunks.values_mut().for_each(|chunk| chunk.f.rewrite(rewrite));
            self.rewrites.push(rewrite);
        }
        Ok(())
    }

    /// Removes a chunk, if it is there.
    pub fn forget(&mut self, number: usize) {
        self.chunks.remove(&number);
    }

    /// The number of changes so far.
    pub fn rewrites(&self) -> usize {
        self.rewrites.len()
    }

    /// The number of chunks.
    pub fn chunks(&self) -> usize {
        self.chunks.len()
    }

    /// Whether it has a chunk.
    pub fn has(&self, number: usize) -> bool {
        self.chunks.contains_key(&number)
    }

    /// The totals of rows of `features` numbers over chunks, which are given by their numbers: for every chunk, row by row with all columns.
    ///
    /// # Errors
    /// If a chunk is not here.
    ///
    /// # Panics
    /// If `rows` is not whole rows.
    pub fn totals(&mut self, rows: &[f32], features: usize, chunks: &[usize]) -> Result<Vec<f64>, String> {
        let rows = Matrix::new(features, rows);
        let mut squares = vec![0.0; rows.len()];
        self.backend.squares(rows, &mut squares);
        let rows = Points { rows, squares: &squares };
        let mut values = vec![0.0; ROWS * CHUNK];
        let mut totals = Vec::new();
        for number in chunks {
            let chunk = self.chunks.get_mut(number).ok_or_else(|| format!("chunk {number} is not in this shard"))?;
            chunk.panels.widen(features);
            let first = totals.len();
            totals.resize(first + squares.len() * chunk.f.columns(), 0.0);
            sum(self.backend, &self.kernel, chunk, rows, &mut values, &mut totals[first..]);
        }
        Ok(totals)
    }

    /// The number of bytes held.
    pub fn bytes(&self) -> usize {
        let of_chunk = |chunk: &Chunk| chunk.panels.bytes() + CHUNK * (2 * size_of::<u64>() + size_of::<f32>()) + chunk.f.bytes();
        self.chunks.values().map(of_chunk).sum()
    }
}

/// Writes the totals of rows over one chunk.
fn sum(backend: Backend, kernel: &AnyKernel, chunk: &Chunk, rows: Points<'_>, values: &mut [f32], totals: &mut [f64]) {
    let (terms, columns) = (Packed { panels: &chunk.panels, squares: &chunk.squares }, chunk.f.columns());
    for (block, totals) in totals.chunks_mut((ROWS * columns).max(1)).enumerate() {
        let rows = rows.range(block * ROWS..rows.squares.len().min((block + 1) * ROWS));
        gram::kernel_rows(backend, 1, std::slice::from_ref(kernel), rows, terms, &mut [&mut *values], CHUNK);
        for (k, totals) in values.chunks_exact(CHUNK).zip(totals.chunks_exact_mut(columns)) {
            chunk.f.sum_chunk(backend, k, 0, totals);
        }
    }
}
