//! Scores of rows without learning.

use std::sync::MutexGuard;

use crate::basis::block::ROWS;
use crate::basis::{Basis, RowsOf, Space};
use crate::engine::elsewhere::{Elsewhere, Source};
use crate::engine::linear::LinearReader;
use crate::engine::reader::Row;
use crate::engine::{Engine, Reader, Sums, Workspace, with_readings};
use crate::parts::budget::Budget;
use crate::parts::loss::Loss;
use crate::parts::regulariser::Regulariser;
use crate::parts::step::StepSize;

impl<F: Basis, L: Loss, S: StepSize, B: Budget, R: Regulariser> Engine<F, L, S, B, R> {
    /// Computes the scores of rows without learning. Several readers may call this on one engine.
    pub fn predict(&self, workspace: &mut Workspace, rows: RowsOf<'_, F>, mut each: impl FnMut(usize, &[f64])) {
        let (count, slots, backend) = (F::Space::count(rows), self.basis.row_len(), self.basis.space().backend());
        let Workspace { block, reader, linear, combined } = workspace;
        for first in (0..count).step_by(ROWS) {
            let part = F::Space::range(rows, first, count.min(first + ROWS));
            self.basis.begin(part, block, false);
            reader.begin(&self.heads, &self.output, &self.basis, (block, F::Space::count(part)), [true, true]);
            for r in 0..F::Space::count(part) {
                let values = |plane| block.row(plane, r, slots);
                let features = block.features(r);
                reader.read(&self.heads, &Row { output: &self.output, backend, values, features, r, first: 0, held: None });
                linear.read(&self.linear.heads, (backend, &self.output), F::Space::points(part), r);
                each(first + r, self.scores_of(reader, linear, combined));
            }
        }
    }

    /// As [`Engine::predict`], with totals over chunks that are elsewhere.
    pub(crate) fn predict_after(
        &self,
        workspace: &mut Workspace,
        rows: RowsOf<'_, F>,
        held: Sums<'_>,
        mut each: impl FnMut(usize, &[f64]),
    ) {
        let (count, slots, backend) = (F::Space::count(rows), self.basis.row_len(), self.basis.space().backend());
        let Workspace { block, reader, linear, combined } = workspace;
        for first in (0..count).step_by(ROWS) {
            let part = F::Space::range(rows, first, count.min(first + ROWS));
            self.basis.begin(part, block, false);
            reader.begin_elsewhere(self.heads.len());
            for r in 0..F::Space::count(part) {
                let values = |plane| block.row(plane, r, slots);
                let held = Some((held, first + r));
                reader.read(&self.heads, &Row { output: &self.output, backend, values, features: None, r, first: 0, held });
                each(first + r, self.scores_of(reader, linear, combined));
            }
        }
    }

    /// The scores at the row that was read last, with the weights of the heads as they are now.
    fn scores_of<'a>(&self, reader: &'a Reader, linear: &LinearReader, combined: &'a mut Vec<f64>) -> &'a [f64] {
        let Some(bank) = &self.bank else { return self.heads[0].score(&reader.readings[0]) };
        let all = with_readings((&self.heads, &self.linear), (reader, linear));
        bank.combine(all.flat_map(|(head, at)| head.scores(at)), combined);
        combined
    }

    /// The place elsewhere, if predictions may use it.
    pub(crate) fn elsewhere(&self) -> Option<MutexGuard<'_, Elsewhere>> {
        if self.output.projectable() && self.basis.settles() { self.away.lock() } else { None }
    }

    /// Asks for the sums of rows over all terms. Returns false if they have to be computed here.
    pub(crate) fn ask_elsewhere(&self, place: &mut Elsewhere, rows: RowsOf<'_, F>) -> bool {
        let source = Source { space: self.basis.space(), heads: &self.heads, slots: self.basis.slots() };
        F::Space::points(rows).is_some_and(|points| place.ask_all(source, points))
    }

    /// Computes the scores of rows from their sums.
    pub(crate) fn predict_sums(&self, place: &Elsewhere, workspace: &mut Workspace, mut each: impl FnMut(usize, &[f64])) {
        let Workspace { reader, linear, combined, .. } = workspace;
        for (row, sums) in place.received().enumerate() {
            reader.read_sums(&self.heads, &self.output, sums);
            each(row, self.scores_of(reader, linear, combined));
        }
    }
}
