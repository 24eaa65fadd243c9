//! Scores of rows without learning.

use std::convert::Infallible;

use crate::basis::vectors::Vectors;
use crate::basis::{Basis, Space};
use crate::engine::{Sums, Workspace};
use crate::error::{Error, ErrorKind, Result};
use crate::learner::Learner;
use crate::learner::batch::Batch;
use crate::learner::rows::FramedRows;
use crate::parts::kernel::AnyKernel;

/// The scores of some rows, `outputs` numbers per row.
///
/// ```
/// use okl::{Batch, Config, Label, Learner};
/// let mut learner = Learner::new(Config::from_toml("loss = 'softmax'\nkernel = 'gaussian:1'")?)?;
/// let labels = ["a", "b", "c"].map(Label::from);
/// let scores = learner.learn(&Batch::new(&[0.0, 1.0, 2.0], 1).labels(&labels))?;
/// assert_eq!((scores.len(), scores.outputs), (3, 3));
/// for (row, of_row) in scores.iter().enumerate() {
///     assert_eq!(of_row, scores.row(row));
/// }
/// # Ok::<(), okl::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scores {
    /// The number of scores per row.
    pub outputs: usize,
    /// The scores, row by row.
    pub values: Vec<f64>,
}

impl Scores {
    /// The scores of one row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.outputs..(i + 1) * self.outputs]
    }

    /// The scores of every row, in order.
    pub fn iter(&self) -> std::slice::ChunksExact<'_, f64> {
        self.values.chunks_exact(self.outputs.max(1))
    }

    /// The number of rows; 0 if there are no outputs yet.
    pub fn len(&self) -> usize {
        self.values.len() / self.outputs.max(1)
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

impl<'a> IntoIterator for &'a Scores {
    type Item = &'a [f64];
    type IntoIter = std::slice::ChunksExact<'a, f64>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Learner {
    /// The scores of the rows of a batch, without learning: exactly those that [`Learner::learn`] would return for rows without a
    /// target. Targets, weights and ids of the batch are ignored.
    ///
    /// ```
    /// use okl::{Batch, Config, Learner};
    /// let mut learner = Learner::new(Config::from_toml("loss = 'squared'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0")?)?;
    /// learner.learn(&Batch::new(&[0.0, 5.0], 1).numbers(&[2.0, 4.0]))?;
    /// let scores = learner.predict(&Batch::new(&[0.0, 5.0], 1))?;
    /// assert!(scores.iter().zip([1.0, 2.0]).all(|(z, half)| (z[0] - half).abs() < 1e-6));    // half a step towards each target
    /// # Ok::<(), okl::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the rows have another number of features, a number that is not finite, or a kernel value that exceeds single precision.
    pub fn predict(&self, batch: &Batch<'_>) -> Result<Scores> {
        self.predict_with(&mut Workspace::default(), batch)
    }

    /// The scores of one row; see [`Learner::predict`].
    ///
    /// ```
    /// use okl::{Config, Label, Learner};
    /// let mut learner = Learner::new(Config::from_toml("kernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01")?)?;
    /// let (cold, warm) = (Label::from("cold"), Label::from("warm"));
    /// for _ in 0..3 {
    ///     learner.learn_one(&[-5.0], &cold)?;
    ///     learner.learn_one(&[25.0], &warm)?;
    /// }
    /// let class = learner.decide(&learner.predict_one(&[24.0])?).unwrap();
    /// assert_eq!(learner.classes()[class], warm);
    /// # Ok::<(), okl::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Learner::predict`].
    pub fn predict_one(&self, x: &[f32]) -> Result<Vec<f64>> {
        self.predict(&Batch::new(x, x.len())).map(|scores| scores.values)
    }

    /// As [`Learner::predict`], with a workspace that is reused from call to call: 128 bytes per term and kernel for 32 rows or more.
    ///
    /// ```
    /// use okl::{Batch, Config, Learner, Workspace};
    /// let learner = Learner::new(Config::default())?;
    /// let mut workspace = Workspace::default();               // one per thread
    /// for x in [[0.0f32, 1.0], [2.0, 3.0]] {
    ///     learner.predict_with(&mut workspace, &Batch::new(&x, 2))?;
    /// }
    /// # Ok::<(), okl::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Learner::predict`].
    pub fn predict_with(&self, workspace: &mut Workspace, batch: &Batch<'_>) -> Result<Scores> {
        self.check_kind(batch)?;
        batch.check_rows(self.features, false)?;
        self.check_layout(batch)?;
        self.check_columns(batch)?;
        let outputs = self.outputs();
        let mut scores = Scores { outputs, values: vec![0.0; batch.rows() * outputs] };
        if self.features > 0 {
            let mut run = || match self.engine.kept.is_set() {
                true => self.predict_kept(workspace, batch, &mut scores),
                false => self.predict_blocks(workspace, batch, &mut scores),
            };
            match &self.pool {
                Some(pool) => pool.install(run),
                None => run(),
            }
        }
        self.config.target_scale.put_back(&mut scores.values);
        match scores.values.iter().position(|z| !z.is_finite()) {
            Some(place) => Err(beyond_single_precision(place / outputs, scores.values[place])),
            None => Ok(scores),
        }
    }

    fn predict_blocks(&self, workspace: &mut Workspace, batch: &Batch<'_>, scores: &mut Scores) {
        let (outputs, space) = (scores.outputs, &self.engine.basis.space);
        let mut framed = FramedRows::default();
        let done = self.predict_elsewhere(workspace, batch, scores, &mut framed);
        let each_block = batch.try_each_block(done, &mut Vec::new(), |first, rows| {
            let points = framed.fill(&self.frame, rows, space.backend(), space.is_sparse());
            let to = &mut scores.values[first * outputs..];
            self.engine.predict(workspace, points, |i, z| to[i * outputs..(i + 1) * outputs].copy_from_slice(z));
            Ok::<_, Infallible>(())
        });
        match each_block {
            Ok(()) => {}
        }
    }

    /// Predicts rows whose sums over the first chunks come from their keeper. While it computes, the next rows are scaled and sent. After an
    /// error of the keeper the scores are not those of the rows; the caller asks for the error.
    fn predict_kept(&self, workspace: &mut Workspace, batch: &Batch<'_>, scores: &mut Scores) {
        let Some(mut kept) = self.engine.kept.lock() else { return self.predict_blocks(workspace, batch, scores) };
        let (outputs, space, mut buffer) = (scores.outputs, &self.engine.basis.space, Vec::new());
        let mut framed = [FramedRows::default(), FramedRows::default()];
        let count = batch.rows().div_ceil(KEPT);
        let of = |part: usize| part * KEPT..batch.rows().min((part + 1) * KEPT);
        for part in 0..=count {
            if part < count {
                let rows = batch.block(of(part), &mut buffer);
                let points = Vectors::<AnyKernel>::points(framed[part % 2].fill(&self.frame, rows, space.backend(), false));
                let Some(()) = points.and_then(|points| kept.start(points)) else { return };
            }
            let Some(before) = part.checked_sub(1) else { continue };
            let (points, to) = (framed[before % 2].points(), &mut scores.values[of(before).start * outputs..]);
            let Some(totals) = kept.finish(of(before).len(), &self.engine.heads[0].f) else { return };
            let held = Sums::Kept(&totals, totals.layout(self.engine.basis.places()));
            let each = |i: usize, z: &[f64]| to[i * outputs..(i + 1) * outputs].copy_from_slice(z);
            self.engine.predict_after(workspace, points, held, each);
        }
    }

    /// Predicts rows at the place elsewhere, if the learner has one and it is faster. While it computes, the next rows are scaled and sent.
    /// Returns the number of rows that were predicted.
    fn predict_elsewhere(
        &self,
        workspace: &mut Workspace,
        batch: &Batch<'_>,
        scores: &mut Scores,
        framed: &mut FramedRows,
    ) -> usize {
        let Some(mut place) = self.engine.elsewhere() else { return 0 };
        let (outputs, space, mut buffer) = (scores.outputs, &self.engine.basis.space, Default::default());
        let (mut done, mut asked, mut waiting) = (0, 0, 0);
        while done < batch.rows() {
            if asked < batch.rows() && waiting < 2 {
                let next = asked..batch.rows().min(asked + PREDICTED);
                let rows = batch.block(next.clone(), &mut buffer);
                let points = framed.fill(&self.frame, rows, space.backend(), space.is_sparse());
                if self.engine.ask_elsewhere(&mut place, points) {
                    (asked, waiting) = (next.end, waiting + 1);
                    continue;
                }
            }
            if waiting == 0 || !place.receive_all() {
                break;
            }
            let to = &mut scores.values[done * outputs..];
            self.engine.predict_sums(&place, workspace, |i, z| to[i * outputs..(i + 1) * outputs].copy_from_slice(z));
            (done, waiting) = (asked.min(done + PREDICTED), waiting - 1);
        }
        done
    }
}

/// The number of rows that are predicted together at a place elsewhere.
const PREDICTED: usize = 4096;

/// The number of rows that are predicted together where terms are kept elsewhere.
const KEPT: usize = 1024;

/// The error for a score that is not finite. All state stays below 1e150, so the reason is a kernel value that is too large.
fn beyond_single_precision(row: usize, found: f64) -> Error {
    let hint = "; a kernel value of this row is beyond single precision: leave the row out, or scale its features";
    ErrorKind::NotFinite { row, column: "score".into(), found, hint }.into()
}
