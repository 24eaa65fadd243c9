//! Scores of rows without learning.

use std::convert::Infallible;

use crate::basis::Space;
use crate::engine::Workspace;
use crate::error::{Error, ErrorKind, Result};
use crate::learner::Learner;
use crate::learner::batch::Batch;
use crate::learner::rows::FramedRows;

/// Scores of some rows, `outputs` each, row by row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scores {
    /// Scores per row.
    pub outputs: usize,
    /// Row by row.
    pub values: Vec<f64>,
}

impl Scores {
    /// The scores of one row.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.outputs..(i + 1) * self.outputs]
    }
}

impl Learner {
    /// Scores of rows without learning, exactly what [`Learner::learn`] would return for a row without a target.
    ///
    /// # Errors
    /// If the rows have another number of features, hold a number that is not finite, or have a kernel value beyond single precision.
    pub fn predict(&self, workspace: &mut Workspace, x: &[f32], features: usize) -> Result<Scores> {
        self.predict_batch(workspace, &Batch::new(x, features))
    }

    /// Scores of the rows of a batch without learning; of the batch, only the rows are read.
    ///
    /// # Errors
    /// As [`Learner::predict`].
    pub fn predict_batch(&self, workspace: &mut Workspace, batch: &Batch<'_>) -> Result<Scores> {
        batch.check_rows(self.features)?;
        let outputs = self.outputs();
        let mut scores = Scores { outputs, values: vec![0.0; batch.rows() * outputs] };
        if self.features > 0 {
            let mut run = || self.predict_blocks(workspace, batch, &mut scores);
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
}

impl Learner {
    fn predict_blocks(&self, workspace: &mut Workspace, batch: &Batch<'_>, scores: &mut Scores) {
        let (outputs, backend) = (scores.outputs, self.engine.basis.space.backend());
        let mut framed = FramedRows::default();
        let each_block = batch.try_each_block(0, &mut Vec::new(), |first, rows| {
            let points = framed.fill(&self.frame, rows, backend);
            let to = &mut scores.values[first * outputs..];
            self.engine.predict(workspace, points, |i, z| to[i * outputs..(i + 1) * outputs].copy_from_slice(z));
            Ok::<_, Infallible>(())
        });
        match each_block {
            Ok(()) => {}
        }
    }
}

/// State stays below 1e150, so only a kernel value can make a score infinite.
fn beyond_single_precision(row: usize, found: f64) -> Error {
    let hint = "; a kernel value of this row is beyond single precision: leave the row out, or scale its features";
    ErrorKind::NotFinite { row, column: "score".into(), found, hint }.into()
}
