//! Keepers in this process: shards that are restarted now and then, and one that holds chunks without summing over them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use okl::basis::Points;
use okl::sharded::{Keeper, Shard};

/// Chunks in memory, divided between two shards. Requests are computed when they are started, with the chunks at that time.
pub struct Twin {
    rows: usize,
    /// The number of calls after which it fails.
    pub fails_after: usize,
    calls: Arc<AtomicUsize>,
    config: String,
    pub shards: [Option<Shard>; 2],
    chunks: BTreeMap<usize, Vec<u8>>,
    next: usize,
    rewrites: Vec<Vec<u8>>,
    totals: VecDeque<Vec<f64>>,
}

impl Twin {
    pub fn new(rows: usize) -> Self {
        Twin {
            rows,
            fails_after: usize::MAX,
            calls: Arc::default(),
            config: String::new(),
            shards: [None, None],
            chunks: BTreeMap::new(),
            next: 0,
            rewrites: Vec::new(),
            totals: VecDeque::new(),
        }
    }

    fn count(&self) -> Result<(), String> {
        match self.calls.fetch_add(1, Ordering::Relaxed) >= self.fails_after {
            true => Err("the shard has burned down".into()),
            false => Ok(()),
        }
    }

    /// A shard begins anew, as after a crash: it gets the changes, then its chunks.
    fn restart(&mut self, which: usize) {
        let mut shard = Shard::new(&self.config).unwrap();
        self.rewrites.iter().enumerate().for_each(|(i, rewrite)| shard.rewrite(i, rewrite).unwrap());
        let mine = self.chunks.iter().filter(|(i, _)| *i % 2 == which);
        mine.for_each(|(i, chunk)| shard.keep(*i, chunk).unwrap());
        self.shards[which] = Some(shard);
    }
}

impl Keeper for Twin {
    fn rows(&self) -> usize {
        self.rows
    }

    fn begin(&mut self, config: &str) -> Result<(), String> {
        self.count()?;
        self.config = config.into();
        self.shards = [Some(Shard::new(config)?), Some(Shard::new(config)?)];
        Ok(())
    }

    fn keep(&mut self, number: usize, chunk: Vec<u8>) -> Result<(), String> {
        self.count()?;
        assert_eq!(number, self.next);
        self.next += 1;
        self.shards[number % 2].as_mut().unwrap().keep(number, &chunk)?;
        self.chunks.insert(number, chunk);
        Ok(())
    }

    fn rewrite(&mut self, number: usize, rewrite: Vec<u8>) -> Result<(), String> {
        self.count()?;
        assert_eq!(number, self.rewrites.len());
        self.shards.iter_mut().flatten().try_for_each(|shard| shard.rewrite(number, &rewrite))?;
        self.rewrites.push(rewrite);
        Ok(())
    }

    fn start(&mut self, rows: Points<'_>, chunks: &[usize]) -> Result<(), String> {
        self.count()?;
        assert!(rows.rows.len() <= self.rows.max(1024) && self.totals.len() < 3);
        let requests = self.calls.load(Ordering::Relaxed);
        if requests.is_multiple_of(3) {
            self.restart(requests % 2);
        }
        let numbers: Vec<f32> = (0..rows.rows.len()).flat_map(|i| rows.rows.row(i)).copied().collect();
        let mut totals = Vec::new();
        for chunk in chunks {
            let shard = self.shards[chunk % 2].as_mut().unwrap();
            totals.extend(shard.totals(&numbers, rows.rows.dim(), &[*chunk])?);
        }
        self.totals.push_back(totals);
        Ok(())
    }

    fn finish(&mut self) -> Result<Vec<f64>, String> {
        self.count()?;
        self.totals.pop_front().ok_or("nothing is under way".into())
    }

    fn fetch(&mut self, number: usize) -> Result<Vec<u8>, String> {
        self.count()?;
        Ok(self.chunks[&number].clone())
    }

    fn forget(&mut self, number: usize) -> Result<(), String> {
        self.count()?;
        self.shards.iter_mut().flatten().for_each(|shard| shard.forget(number));
        assert!(self.chunks.remove(&number).is_some());
        Ok(())
    }
}

/// A keeper whose totals are 0, for rows of this number at most.
pub struct Sums {
    rows: usize,
    /// The number of totals that are missing.
    missing: usize,
    chunks: BTreeMap<usize, Vec<u8>>,
    /// The number of totals of each request.
    asked: VecDeque<usize>,
}

impl Sums {
    pub fn new(rows: usize, missing: usize) -> Self {
        Sums { rows, missing, chunks: BTreeMap::new(), asked: VecDeque::new() }
    }
}

impl Keeper for Sums {
    fn rows(&self) -> usize {
        self.rows
    }
    fn begin(&mut self, _config: &str) -> Result<(), String> {
        Ok(())
    }
    fn keep(&mut self, number: usize, chunk: Vec<u8>) -> Result<(), String> {
        self.chunks.insert(number, chunk);
        Ok(())
    }
    fn rewrite(&mut self, _number: usize, _rewrite: Vec<u8>) -> Result<(), String> {
        Ok(())
    }
    fn start(&mut self, rows: Points<'_>, chunks: &[usize]) -> Result<(), String> {
        self.asked.push_back(chunks.len() * rows.rows.len());
        Ok(())
    }
    fn finish(&mut self) -> Result<Vec<f64>, String> {
        Ok(vec![0.0; self.asked.pop_front().unwrap() - self.missing])
    }
    fn fetch(&mut self, number: usize) -> Result<Vec<u8>, String> {
        Ok(self.chunks[&number].clone())
    }
    fn forget(&mut self, number: usize) -> Result<(), String> {
        self.chunks.remove(&number);
        Ok(())
    }
}
