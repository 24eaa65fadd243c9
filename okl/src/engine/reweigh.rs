//! Other weights of columns for the kernels that read them: the functions of their heads change, and with them norms and certificates.
//!
//! Coefficients stay what they are, except where f is to be brought back: then one pass over some terms, in their order, moves f at each of
//! their centres half way to what it was there before, 32 terms at a time. A term whose value is off by r gets r/2 added to its coefficient, and the others see
//! it: a Gauss-Seidel step with a factor of one half, which converges for every kernel.

use crate::basis::block::{Block, ROWS};
use crate::basis::either::TermsOrWeights;
use crate::basis::vectors::{VectorRows, Vectors};
use crate::basis::{Basis, Points, Space};
use crate::coordinates::{Reading, Term};
use crate::engine::Engine;
use crate::engine::head::Head;
use crate::engine::norms::Norms;
use crate::engine::reader::{Reader, Row};
use crate::gram::Matrix;
use crate::parts::budget::Budget;
use crate::parts::kernel::DotKernel;
use crate::parts::loss::Loss;
use crate::parts::output::Output;
use crate::parts::regulariser::Regulariser;
use crate::parts::step::StepSize;

/// How much of the way back f is brought.
const HALF: f64 = 0.5;

/// Evaluates heads at the centres of terms.
#[derive(Default)]
struct Centres {
    block: Block,
    reader: Reader,
    rows: Vec<f32>,
}

impl Centres {
    /// Evaluates all heads at the centres of up to 32 slots. Calls `each` with the number of the slot in the list, its values against all
    /// slots in a plane, and the values of the heads.
    fn read<K: DotKernel + Clone, S: StepSize>(
        &mut self,
        basis: &TermsOrWeights<Vectors<K>>,
        (heads, output): (&[Head<S>], &Output),
        slots: &[usize],
        mut each: impl for<'a> FnMut(usize, &'a dyn Fn(usize) -> &'a [f32], &[Reading]),
    ) {
        let (space, length, Centres { block, reader, rows }) = (basis.space(), basis.row_len(), self);
        let (features, backend) = (space.features(), space.backend());
        rows.resize(ROWS * features, 0.0);
        slots.iter().zip(rows.chunks_exact_mut(features.max(1))).for_each(|(slot, row)| space.centre(*slot, row));
        let (mut squares, count) = ([0.0; ROWS], slots.len());
        let rows = Matrix::with_len(features, count, &rows[..count * features]);
        backend.squares(rows, &mut squares[..count]);
        basis.begin(VectorRows::Dense(Points { rows, squares: &squares[..count] }), block, false);
        reader.begin(heads, output, basis, (block, count), [true, true]);
        for r in 0..count {
            let values = |plane: usize| block.row(plane, r, length);
            reader.read(heads, &Row { output, backend, values, features: None, r, first: 0, held: None });
            each(r, &values, &reader.readings);
        }
    }
}

/// f and its average at the centres of some slots: for each output the values of f, then for each output those of the average.
#[derive(Clone, Default)]
struct Seen(Vec<Vec<f64>>);

impl Seen {
    fn push(&mut self, at: &Reading) {
        self.0.resize_with(2 * at.f.len(), Vec::new);
        let values = at.f.iter().chain(at.mean.iter().take(at.f.len())).chain(std::iter::repeat(&0.0));
        self.0.iter_mut().zip(values).for_each(|(column, value)| column.push(*value));
    }

    /// What to add to the coefficients so that one pass brings these values half way to `old`; `between`: the kernel values between the slots.
    fn back_to(&self, old: &Seen, between: &[Vec<f32>]) -> Vec<Vec<f64>> {
        let pass = |(now, old): (&Vec<f64>, &Vec<f64>)| {
            let mut off: Vec<f64> = old.iter().zip(now).map(|(old, now)| old - now).collect();
            let mut added = vec![0.0; off.len()];
            for i in 0..off.len() {
                let add = HALF * off[i];
                added[i] = add;
                off.iter_mut().zip(&between[i]).for_each(|(off, k)| *off -= add * f64::from(*k));
            }
            added
        };
        self.0.iter().zip(&old.0).map(pass).collect()
    }
}

impl<K: DotKernel + Clone, L: Loss, S: StepSize, B: Budget, R: Regulariser> Engine<TermsOrWeights<Vectors<K>>, L, S, B, R> {
    /// Sets the weights of columns for the planes that read them; the kernels have k(x, x) = 1. With `sample`, f is brought back at the
    /// centres of these slots. Norms are computed again, and the certificates of truncation and regret begin anew, for the heads of these planes.
    pub(crate) fn reweigh(&mut self, weights: &[f64], planes: &[bool], sample: Option<&[usize]>) {
        let Engine { basis, heads, output, .. } = self;
        let moved = |head: &Head<S>| !head.retired && planes[head.plane];
        let (mut centres, mut old) = (Centres::default(), Vec::new());
        let parts = || sample.into_iter().flat_map(|slots| slots.chunks(ROWS));
        for slots in parts() {
            let mut seen = vec![Seen::default(); heads.len()];
            centres.read(basis, (heads, output), slots, |_, _, at| seen.iter_mut().zip(at).for_each(|(seen, at)| seen.push(at)));
            old.push(seen);
        }
        basis.space.set_weights(weights, planes.to_vec());
        let mut term = Term::default();
        for (slots, old) in parts().zip(&old) {
            let (mut new, mut between) = (vec![Seen::default(); heads.len()], vec![Vec::new(); planes.len()]);
            centres.read(basis, (heads, output), slots, |_, values, at| {
                new.iter_mut().zip(at).for_each(|(seen, at)| seen.push(at));
                let row = |plane: usize| slots.iter().map(|slot| values(plane)[*slot]).collect::<Vec<f32>>();
                between
                    .iter_mut()
                    .enumerate()
                    .filter(|(plane, _)| planes[*plane])
                    .for_each(|(plane, rows)| rows.push(row(plane)));
            });
            for (h, head) in heads.iter_mut().enumerate().filter(|(_, head)| moved(head)) {
                let added = new[h].back_to(&old[h], &between[head.plane]);
                let (of_f, of_mean) = added.split_at(added.len() / 2);
                for (i, slot) in slots.iter().enumerate() {
                    head.f.get(*slot, &mut term);
                    term.alpha.iter_mut().zip(of_f).for_each(|(a, added)| *a += added[i]);
                    term.mean.iter_mut().zip(of_mean).for_each(|(a, added)| *a += added[i]);
                    head.f.set(*slot, &term);
                }
            }
        }
        self.find_norms(moved);
        self.certify_anew(moved);
    }

    /// Computes |f|², <f, v>, |v|² and the mass of some heads from the terms: |f|² = sum_i a_i^T f(x_i), in the order of the slots.
    pub(crate) fn find_norms(&mut self, of: impl Fn(&Head<S>) -> bool) {
        let Engine { basis, heads, output, .. } = self;
        let slots: Vec<usize> = basis.live().collect();
        let mut norms = vec![Norms::default(); heads.len()];
        let (mut term, mut own) = (Term::default(), vec![0.0; basis.planes()]);
        let mut centres = Centres::default();
        for slots in slots.chunks(ROWS) {
            centres.read(basis, (heads, output), slots, |i, _, at| {
                basis.space.term_self_values(slots[i], &mut own);
                for (h, head) in heads.iter().enumerate().filter(|(_, head)| !head.retired && of(head)) {
                    head.f.get(slots[i], &mut term);
                    let mass = head.mass_of(output, &own, &term.alpha);
                    norms[h].add_part(&term, &at[h], mass);
                }
            });
        }
        for (head, mut norms) in heads.iter_mut().zip(norms).filter(|(head, _)| of(head)) {
            norms.stay_possible();
            head.norms = norms;
        }
    }

    /// Lets the certificates of truncation and regret of some heads begin anew.
    pub(crate) fn certify_anew(&mut self, of: impl Fn(&Head<S>) -> bool) {
        let Engine { heads, bank, losses, rules, .. } = self;
        let lost: Vec<f64> = bank.as_ref().map_or(vec![0.0; heads.len()], |bank| bank.lost_more_than_heads());
        for (h, (head, lost)) in heads.iter_mut().zip(lost).enumerate().filter(|(_, (head, _))| of(head)) {
            let rests = bank.as_ref().is_some_and(|bank| bank.rests(h));
            let holds = rules.certifies(&losses[head.loss], head.offset_step) && !rests;
            head.certify_anew(holds, lost);
        }
    }
}
