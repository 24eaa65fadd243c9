//! One model whose settled terms live in other processes: [`ShardedLearner`].
//!
//! The total of a chunk of 1,024 slots depends on that chunk alone, and totals are added in the order of the chunks. So the terms of
//! one model can be divided between processes. The learner holds the last terms. When a chunk is full, the learner sends it to a
//! [`Keeper`] and removes it from its own memory. For the next rows it asks for the totals over all chunks that it sent, while it learns
//! the rows before them. Under the budgets window, age and olok, a chunk comes back before one of its terms is overwritten or dropped. The scores
//! and the model file have the same bits as those of a [`Learner`].
//!
//! ```
//! use std::collections::{HashMap, VecDeque};
//! use okl::basis::Points;
//! use okl::sharded::{Keeper, Shard, ShardedLearner};
//! use okl::{Batch, Config, Learner};
//!
//! /// Chunks in this process, and the totals that were asked for.
//! #[derive(Default)]
//! struct Here { shard: Option<Shard>, chunks: HashMap<usize, Vec<u8>>, totals: VecDeque<Vec<f64>> }
//! impl Keeper for Here {
//!     fn rows(&self) -> usize { 64 }
//!     fn begin(&mut self, config: &str) -> Result<(), String> {
//!         self.shard = Some(Shard::new(config)?);
//!         Ok(())
//!     }
//!     fn keep(&mut self, number: usize, chunk: Vec<u8>) -> Result<(), String> {
//!         self.shard.as_mut().unwrap().keep(number, &chunk)?;
//!         self.chunks.insert(number, chunk);
//!         Ok(())
//!     }
//!     fn rewrite(&mut self, number: usize, rewrite: Vec<u8>) -> Result<(), String> {
//!         self.shard.as_mut().unwrap().rewrite(number, &rewrite)
//!     }
//!     fn start(&mut self, rows: Points<'_>, chunks: &[usize]) -> Result<(), String> {
//!         let numbers: Vec<f32> = (0..rows.rows.len()).flat_map(|i| rows.rows.row(i)).copied().collect();
//!         self.totals.push_back(self.shard.as_mut().unwrap().totals(&numbers, rows.rows.dim(), chunks)?);
//!         Ok(())
//!     }
//!     fn finish(&mut self) -> Result<Vec<f64>, String> { self.totals.pop_front().ok_or("nothing was asked".into()) }
//!     fn fetch(&mut self, number: usize) -> Result<Vec<u8>, String> { Ok(self.chunks[&number].clone()) }
//!     fn forget(&mut self, number: usize) -> Result<(), String> {
//!         self.shard.as_mut().unwrap().forget(number);
//!         self.chunks.remove(&number);
//!         Ok(())
//!     }
//! }
//! let config = Config::from_toml("loss = 'squared'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'unlimited'")?;
//! let x: Vec<f32> = (0..2000).map(|i| (i as f32 * 0.37).sin()).collect();
//! let y: Vec<f64> = x.iter().map(|x| f64::from(*x).cos()).collect();
//! let batch = Batch::new(&x, 1).numbers(&y);
//! let mut sharded = ShardedLearner::new(Learner::new(config.clone())?, Box::new(Here::default()))?;
//! let mut alone = Learner::new(config)?;
//! assert_eq!(sharded.learn(&batch)?, alone.learn(&batch)?);
//! assert_eq!((sharded.terms(), sharded.sent()), (2000, 1024));
//! let mut file = Vec::new();
//! sharded.write_to(&mut file).unwrap();
//! assert_eq!(file, alone.to_bytes());
//! # Ok::<(), okl::Error>(())
//! ```

pub(crate) mod chunk;
mod shard;

pub use shard::Shard;

use std::io::{self, Write};
use std::path::Path;

use crate::basis::{Basis, Points, Space};
use crate::budget::Budget;
use crate::config::families::name_of;
use crate::config::{Config, Label};
use crate::engine::kept::KeptChunks;
use crate::engine::{Outcome, Workspace};
use crate::error::{Error, ErrorKind, Result};
use crate::learner::batch::Batch;
use crate::learner::{Checked, Learner, Scores, file};
use crate::regulariser::Regulariser;

/// Holds the chunks that a learner has removed from its own memory, and sums over them.
///
/// Laws: a chunk is on the disk when `keep` returns, or will not be lost for another reason: the learner removes it. The total of a chunk
/// is that of [`Shard::totals`]. Calls take effect in their
/// order: a request uses the chunks and changes of the calls before it. A keeper tries again until it succeeds; after an error the
/// learner cannot be used any more. An error is a sentence for the user.
pub trait Keeper: Send {
    /// The number of rows that one request has at most.
    fn rows(&self) -> usize;
    /// Makes ready for the chunks of a learner with this configuration (JSON).
    ///
    /// # Errors
    /// If the keeper cannot be used.
    fn begin(&mut self, config: &str) -> std::result::Result<(), String>;
    /// Stores a chunk. The numbers are 0, 1, 2, ...; a chunk that came back and is sent again has a new number.
    ///
    /// # Errors
    /// If the chunk cannot be stored.
    fn keep(&mut self, number: usize, chunk: Vec<u8>) -> std::result::Result<(), String>;
    /// Changes the coefficients of all chunks ([`Shard::rewrite`]). The bytes in which the chunks were stored do not change.
    ///
    /// # Errors
    /// If the change cannot be made.
    fn rewrite(&mut self, number: usize, rewrite: Vec<u8>) -> std::result::Result<(), String>;
    /// Starts a request for the totals of rows over chunks, which are given by their numbers. At most three are under way.
    ///
    /// # Errors
    /// If the request cannot be started.
    fn start(&mut self, rows: Points<'_>, chunks: &[usize]) -> std::result::Result<(), String>;
    /// Waits for the request that was started first and returns its totals: for every chunk in the order of the request, row by row with all
    /// columns.
    ///
    /// # Errors
    /// If the sums could not be computed.
    fn finish(&mut self) -> std::result::Result<Vec<f64>, String>;
    /// The bytes of a chunk, as they were stored.
    ///
    /// # Errors
    /// If the chunk cannot be read.
    fn fetch(&mut self, number: usize) -> std::result::Result<Vec<u8>, String>;
    /// Later calls do not need this chunk. Requests under way use it.
    ///
    /// # Errors
    /// If the chunk cannot be removed.
    fn forget(&mut self, number: usize) -> std::result::Result<(), String>;
}

/// A [`Learner`] whose settled terms live elsewhere, with the same bits.
///
/// It holds up to about 6,000 terms itself, or a 40th of the model if that is more. After an error of its [`Keeper`] it cannot be used any more; load the
/// model that was saved last.
#[derive(Debug)]
pub struct ShardedLearner {
    learner: Learner,
}

impl ShardedLearner {
    /// Continues a learner. Its terms are sent to the keeper with the first rows.
    ///
    /// # Errors
    /// If the settings change terms everywhere, so that no chunk of terms is settled. The error has the setting.
    pub fn new(mut learner: Learner, keeper: Box<dyn Keeper>) -> Result<Self> {
        check(&learner)?;
        learner.engine.kept = KeptChunks::at(keeper);
        Ok(ShardedLearner { learner })
    }

    /// As [`Learner::check`]. Ids and sparse rows are refused.
    ///
    /// # Errors
    /// If anything in the batch is wrong.
    pub fn check<'a>(&self, batch: &Batch<'a>) -> Result<Checked<'a>> {
        self.check_kept()?;
        if batch.ids.is_some() {
            return Err(Error::config("ids", "a sharded learner takes no ids: a known id would change a term that is settled"));
        }
        if batch.is_sparse() {
            return Err(Error::config("X", "a sharded learner takes dense rows only: found a sparse matrix"));
        }
        self.learner.check(batch)
    }

    /// As [`Learner::learn_next`], with up to 32,768 rows.
    ///
    /// # Errors
    /// As [`Learner::learn_next`]; and if the keeper fails, after which this learner cannot be used any more.
    pub fn learn_next(&mut self, checked: &mut Checked<'_>, each: impl FnMut(usize, &Outcome<'_>) + Send) -> Result<bool> {
        self.check_kept()?;
        let more = self.learner.learn_next(checked, each)?;
        self.check_kept()?;
        Ok(more)
    }

    /// Learns the rows in order and returns the scores of every row before its update: those of [`Learner::learn`].
    ///
    /// # Errors
    /// As [`ShardedLearner::check`] and [`ShardedLearner::learn_next`].
    pub fn learn(&mut self, batch: &Batch<'_>) -> Result<Scores> {
        let mut checked = self.check(batch)?;
        let mut rows: Vec<Vec<f64>> = Vec::with_capacity(batch.rows());
        while self.learn_next(&mut checked, |_, step| rows.push(step.scores.to_vec()))? {}
        let outputs = self.learner.outputs();
        let padded = rows.into_iter().flat_map(|row| row.into_iter().chain(std::iter::repeat(0.0)).take(outputs));
        Ok(Scores { outputs, values: padded.collect() })
    }

    /// As [`Learner::predict_with`].
    ///
    /// # Errors
    /// As [`Learner::predict`]; and if the keeper fails.
    pub fn predict_with(&self, workspace: &mut Workspace, batch: &Batch<'_>) -> Result<Scores> {
        self.check_kept()?;
        if batch.is_sparse() {
            return Err(Error::config("X", "a sharded learner takes dense rows only: found a sparse matrix"));
        }
        let scores = self.learner.predict_with(workspace, batch);
        self.check_kept()?;
        scores
    }

    /// As [`Learner::predict`].
    ///
    /// # Errors
    /// As [`ShardedLearner::predict_with`].
    pub fn predict(&self, batch: &Batch<'_>) -> Result<Scores> {
        self.predict_with(&mut Workspace::default(), batch)
    }

    /// Writes the model file, with the bytes of [`Learner::to_bytes`]. Chunks are fetched one at a time.
    ///
    /// # Errors
    /// Those of the writer and of the keeper.
    pub fn write_to(&self, to: impl Write) -> io::Result<()> {
        self.check_kept().map_err(io::Error::other)?;
        self.learner.write_to(to)
    }

    /// Writes the model file atomically; see [the module](crate::file).
    ///
    /// # Errors
    /// Those of the operating system and of the keeper. The old file is then unchanged.
    pub fn save(&self, path: impl AsRef<Path>) -> io::Result<()> {
        file::write_with(path.as_ref(), |file| self.write_to(file))
    }

    /// The number of terms, here and at the keeper.
    pub fn terms(&self) -> usize {
        self.learner.terms()
    }

    /// The number of slots at the keeper only: terms, and holes where terms were dropped.
    pub fn sent(&self) -> usize {
        self.learner.engine.basis.elsewhere()
    }

    /// The number of slots here: terms, and holes where terms were dropped.
    pub fn here(&self) -> usize {
        self.learner.engine.basis.slots()
    }

    /// The number of bytes here of everything that grows with the number of terms.
    pub fn bytes(&self) -> usize {
        self.learner.bytes()
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        self.learner.config()
    }

    /// See [`Learner::classes`].
    pub fn classes(&self) -> &[Label] {
        self.learner.classes()
    }

    /// See [`Learner::positive`].
    pub fn positive(&self) -> Option<usize> {
        self.learner.positive()
    }

    /// See [`Learner::outputs`].
    pub fn outputs(&self) -> usize {
        self.learner.outputs()
    }

    /// See [`Learner::features`].
    pub fn features(&self) -> usize {
        self.learner.features()
    }

    /// See [`Learner::examples`].
    pub fn examples(&self) -> u64 {
        self.learner.examples()
    }

    /// See [`Learner::widen`].
    ///
    /// # Errors
    /// If the number would decrease.
    pub fn widen(&mut self, features: usize) -> Result<()> {
        self.learner.widen(features)
    }

    /// See [`Learner::position`].
    pub fn position(&self) -> &[u8] {
        self.learner.position()
    }

    /// See [`Learner::set_position`].
    pub fn set_position(&mut self, position: impl Into<Vec<u8>>) {
        self.learner.set_position(position);
    }

    fn check_kept(&self) -> Result<()> {
        match self.learner.engine.kept.failure() {
            None => Ok(()),
            Some(reason) => Err(ErrorKind::Kept(reason).into()),
        }
    }
}

/// Refuses settings under which terms that are settled could change.
fn check(learner: &Learner) -> Result<()> {
    let (config, engine) = (&learner.config, &learner.engine);
    let refuse = |field: &str, reason: String| Err(Error::config(field, format!("{reason}, so its terms cannot be sharded")));
    if engine.heads.len() > 1 {
        let advice = "give kernel, loss, step and lambda, one of each";
        return refuse("config", format!("these settings make an ensemble of {} learners ({advice})", engine.heads.len()));
    }
    if !engine.basis.settles() {
        return refuse("form", "f is a weight vector and has no terms".into());
    }
    if config.is_precomputed() {
        return refuse("kernel", "the terms of a precomputed kernel are objects of the caller".into());
    }
    if learner.growth.is_some() || !engine.budget.settles() {
        let reason = "only unlimited, window, age and olok leave most terms as they are";
        return refuse("budget", format!("{reason}; found {}", name_of(&config.budget())));
    }
    if config.reads_manhattan() {
        return refuse("kernel", "shards compute inner products, and manhattan reads Manhattan distances".into());
    }
    if engine.basis.space.packed_terms().is_none() {
        let reason = "only dense rows whose units stay can be sharded (scale = none or standard, no sparse rows, no relevance)";
        return Err(Error::config("scale", reason));
    }
    if let Some(reason) = engine.stays_here() {
        return refuse("config", reason.into());
    }
    if !config.regulariser.is_square() || config.allow_overshoot {
        let field = if config.allow_overshoot { "allow_overshoot" } else { "regulariser" };
        return refuse(field, "it can set all terms to zero".into());
    }
    if engine.basis.ids.iter().any(|id| *id != u64::MAX) {
        return refuse("model", "it has terms with ids, which can change".into());
    }
    Ok(())
}
