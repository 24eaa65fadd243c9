//! The view of the learner that a budget has when it decides.

use crate::basis::block::Block;
use crate::basis::terms::Terms;
use crate::basis::{Basis, Space};
use crate::coordinates::{Reading, Term};
use crate::engine::head::Head;
use crate::gram::Backend;
use crate::parts::budget::{Sight, Single};
use crate::parts::kernel::DotKernel;
use crate::parts::output::Output;
use crate::parts::step::StepSize;

/// The data behind this view, borrowed from the engine for one decision.
pub(crate) struct Scene<'a, P, S> {
    pub terms: &'a mut Terms<P>,
    pub heads: &'a [Head<S>],
    pub leader: usize,
    pub output: &'a Output,
    pub block: &'a mut Block,
    /// The index in the block of the row being learned, the number of the example (`t`), and k(x, x) (`values`).
    pub r: usize,
    pub t: u64,
    pub values: &'a [f64],
    pub scratch: &'a mut SceneScratch,
}

/// The workspace for one decision.
#[derive(Clone, Debug, Default)]
pub(crate) struct SceneScratch {
    term_values: Vec<f64>,
    term: Term,
    weights: Vec<f64>,
    row: Vec<f32>,
    /// The row of the block that has the values of [`Sight::found_term_row`]; if there is none, they are in `row`.
    found: Option<usize>,
    reading: Reading,
    totals: Vec<[f64; 2]>,
}

impl SceneScratch {
    pub fn bytes(&self) -> usize {
        self.row.capacity() * size_of::<f32>()
    }
}

impl<'a, P: Space, S: StepSize> Scene<'a, P, S> {
    fn head(&self) -> &'a Head<S> {
        &self.heads[self.leader]
    }

    /// k(x, x) of a centre in every plane.
    fn all_term_values(&mut self, slot: usize) -> &[f64] {
        let values = &mut self.scratch.term_values;
        values.resize(self.terms.space.planes(), 0.0);
        self.terms.space.term_self_values(slot, values);
        values
    }

    /// k(x, x) of a centre, for the planes that the leading head reads.
    fn term_values(&mut self, slot: usize) -> &[f64] {
        let plane = self.head().plane;
        &self.all_term_values(slot)[plane..]
    }

    /// For each head, calls `each` with the norms that f and its average would lose if the term were dropped.
    fn each_loss(&mut self, slot: usize, term: &mut Term, mut each: impl FnMut(usize, f64, f64)) {
        let (heads, output) = (self.heads, self.output);
        let values = self.all_term_values(slot);
        for (h, head) in heads.iter().enumerate().filter(|(_, head)| !head.retired) {
            head.f.get(slot, term);
            let lost = |a: &[f64]| output.form(&values[head.plane..], a, a).max(0.0).sqrt();
            each(h, lost(&term.alpha), if head.f.riders().mean { lost(&term.mean) } else { 0.0 });
        }
    }
}

impl<P: Space, S: StepSize> Sight for Scene<'_, P, S> {
    fn t(&self) -> u64 {
        self.t
    }

    fn terms(&self) -> usize {
        self.terms.len()
    }

    fn births(&self) -> &[u64] {
        &self.terms.births
    }

    fn norms2(&mut self, out: &mut Vec<f64>) {
        let (slots, f, output) = (self.terms.slots(), &self.head().f, self.output);
        if output.projectable() {
            f.squares(output.single().map(|j| j.entries()), slots, out);
            if let Some(diagonal) = self.terms.space.diagonal() {
                let own = diagonal[self.head().plane];
                // A sum with an operator J may round to a number below 0; a single square does not.
                if own != 1.0 || output.single().is_some() {
                    out.iter_mut().for_each(|norm2| *norm2 = (*norm2 * own).max(0.0));
                }
                return;
            }
            (0..slots).for_each(|slot| out[slot] = (out[slot] * self.term_values(slot)[0]).max(0.0));
            return;
        }
        let mut term = std::mem::take(&mut self.scratch.term);
        out.clear();
        for slot in 0..slots {
            f.get(slot, &mut term);
            out.push(output.form(self.term_values(slot), &term.alpha, &term.alpha).max(0.0));
        }
        self.scratch.term = term;
    }

    fn single(&self) -> Option<Single<'_>> {
        let head = self.head();
        let own = self.terms.space.diagonal()?[head.plane];
        let plain = matches!(self.output, Output::Identity) && head.f.outputs() == 1 && own == 1.0;
        plain.then(|| Single { stored: head.f.stored_values(self.terms.row_len()), scale: head.f.scales.f })
    }

    fn self_value(&mut self, slot: usize) -> f64 {
        self.term_values(slot)[0]
    }

    fn products(&mut self, slot: usize, out: &mut Vec<f64>) {
        let f = &self.head().f;
        let SceneScratch { term, weights, .. } = &mut *self.scratch;
        f.get(slot, term);
        weights.resize(term.alpha.len(), 0.0);
        self.output.apply_one(&[1.0], &term.alpha, weights);
        f.weighted(weights, self.terms.slots(), out);
    }

    fn row(&self) -> &[f32] {
        self.block.row(self.head().plane, self.r, self.terms.row_len())
    }

    fn own_value(&self) -> f64 {
        self.values[self.head().plane]
    }

    fn term_row(&mut self, slot: usize, out: &mut Vec<f32>) {
        let (slots, plane) = (self.terms.row_len(), self.head().plane);
        out.resize(slots, 0.0);
        self.terms.space.term_row(slot, slots, plane..plane + 1, out);
    }

    fn find_term_row(&mut self, slot: usize) {
        self.scratch.found = self.block.row_of(slot).filter(|_| self.radial().is_some());
        match self.scratch.found {
            Some(r) => self.block.patch(r),
            None => {
                let mut row = std::mem::take(&mut self.scratch.row);
                self.term_row(slot, &mut row);
                self.scratch.row = row;
            }
        }
    }

    fn found_term_row(&self) -> &[f32] {
        match self.scratch.found {
            Some(r) => self.block.row(self.head().plane, r, self.terms.row_len()),
            None => &self.scratch.row,
        }
    }

    fn radial(&self) -> Option<&dyn DotKernel> {
        self.terms.space.radial(self.head().plane)
    }

    fn distances2(&mut self, slot: usize, out: &mut Vec<f32>) {
        let (slots, plane) = (self.terms.row_len(), self.head().plane);
        out.resize(slots, 0.0);
        self.terms.space.distances2(plane, slot, slots, out);
    }

    fn apart2(&mut self, a: usize, b: usize) -> f64 {
        self.terms.space.apart2(self.head().plane, a, b)
    }

    fn value_at(&mut self, slot: usize) -> (f64, f64) {
        let mut row = std::mem::take(&mut self.scratch.row);
        self.term_row(slot, &mut row);
        let f = &self.head().f;
        f.read(self.terms.space.backend(), self.output, |_| &row, &mut self.scratch.reading);
        self.scratch.row = row;
        let with_new = f64::from(self.row()[slot]) * self.head().plan.alpha[0];
        (f.alpha(0, slot), self.scratch.reading.f[0] + with_new)
    }

    fn eta(&self) -> f64 {
        self.head().eta
    }

    fn truncation(&self) -> f64 {
        self.head().truncation
    }

    fn largest_losses(&mut self, out: &mut Vec<f64>) {
        let mut term = std::mem::take(&mut self.scratch.term);
        out.clear();
        for slot in 0..self.terms.slots() {
            let mut largest = 0.0f64;
            self.each_loss(slot, &mut term, |_, of_f, of_mean| largest = largest.max(of_f).max(of_mean));
            out.push(largest);
        }
        self.scratch.term = term;
    }

    fn affordable(&mut self, slots: &[usize], limit: f64) -> usize {
        let (mut totals, mut term) = (std::mem::take(&mut self.scratch.totals), std::mem::take(&mut self.scratch.term));
        totals.clear();
        totals.extend(self.heads.iter().map(|head| [head.truncation, head.mean_truncation]));
        let within = |slot: &&usize| {
            self.each_loss(**slot, &mut term, |h, of_f, of_mean| {
                totals[h][0] += of_f;
                totals[h][1] += of_mean;
            });
            totals.iter().flatten().all(|total| *total <= limit)
        };
        let count = slots.iter().take_while(within).count();
        (self.scratch.totals, self.scratch.term) = (totals, term);
        count
    }

    fn diagonal(&self) -> Option<f64> {
        self.terms.space.diagonal().map(|values| values[self.head().plane])
    }

    fn backend(&self) -> Backend {
        self.terms.space.backend()
    }
}
