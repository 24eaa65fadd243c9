//! Weight vectors in a bank over terms: heads whose functions are linear in the columns, f(x) = <w, x> + b.
//!
//! A weight vector costs about as much as one term. No budget acts on it: it keeps a part of every row that it has learned, while terms leave. Far
//! from all terms, where kernels of distance vanish, it still follows the columns.
//!
//! The weight vectors are the last heads of the bank. They read the rows that the kernels get, but with a further limit of clipping, and
//! k(x, x) = |x|². Terms and budgets do not see these heads.

use crate::basis::Points;
use crate::coordinates::{Reading, Term};
use crate::engine::Engine;
use crate::engine::head::Head;
use crate::engine::norms::Norms;
use crate::gram::{self, Backend, LANES};
use crate::parts::loss::Loss;
use crate::parts::output::{Output, dot};
use crate::parts::regulariser::Regulariser;
use crate::parts::step::StepSize;

/// The weight vectors of a bank.
#[derive(Clone, Debug)]
pub(crate) struct Linear<S> {
    pub heads: Vec<Head<S>>,
    /// k(x, x) of the current row.
    pub own: [f64; 1],
}

impl<S> Default for Linear<S> {
    fn default() -> Self {
        Linear { heads: Vec::new(), own: [0.0] }
    }
}

/// The row that was read last, and the values of the weight vectors there.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinearReader {
    pub readings: Vec<Reading>,
    /// The row, with zeros up to a whole number of lanes.
    pub row: Vec<f32>,
}

impl LinearReader {
    /// Evaluates every weight vector at row `r` and adds the offsets.
    pub fn read<S: StepSize>(
        &mut self,
        heads: &[Head<S>],
        (backend, output): (Backend, &Output),
        rows: Option<Points<'_>>,
        r: usize,
    ) {
        let Some(rows) = rows.filter(|_| !heads.is_empty()) else { return };
        self.readings.resize_with(heads.len(), Default::default);
        self.row.clear();
        self.row.extend_from_slice(rows.rows.far_row(r));
        self.row.resize(self.row.len().next_multiple_of(LANES), 0.0);
        for (head, to) in heads.iter().zip(&mut self.readings).filter(|(head, _)| !head.retired) {
            head.f.read(backend, output, |_| &self.row, to);
            head.add_offsets(to);
        }
    }

    /// |x|² of the row that was read last.
    pub fn square(&self) -> f32 {
        if self.row.is_empty() { 0.0 } else { gram::square(&self.row) }
    }

    /// Sets the scores to 0, for a row whose kernel values overflow.
    pub fn clear_scores(&mut self) {
        for reading in &mut self.readings {
            reading.z.fill(0.0);
            reading.mean_z.fill(0.0);
        }
    }
}

impl<S: StepSize> Linear<S> {
    /// Increases the number of features. Weights are 0 in the new ones.
    pub fn widen(&mut self, features: usize) {
        self.heads.iter_mut().for_each(|head| head.f.reserve(features.next_multiple_of(LANES)));
    }
}

/// Other units of a column: u = (x - c) s becomes u' = (x - c') s'.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnitChange {
    /// s / s'.
    pub factor: f64,
    /// s (c' - c).
    pub moved: f64,
}

/// Brings weights and an offset into other units of the columns: with w' = w s / s' and b' = b + sum_j w_j s_j (c'_j - c_j), the score of a row
/// that is not clipped stays as it is.
pub(crate) fn into_other_units(changes: &[UnitChange], weights: &mut [Term], offset: &mut Term) {
    for (weight, UnitChange { factor, moved }) in weights.iter_mut().zip(changes) {
        offset.add_scaled(weight, *moved);
        *weight = weight.scaled(*factor);
    }
}

impl<F, L: Loss, S: StepSize, B, R: Regulariser> Engine<F, L, S, B, R> {
    /// Replaces the weights and the offset of every weight vector. Norms are computed again, and the certificates of regret begin anew.
    pub(crate) fn change_linear(&mut self, features: usize, change: impl Fn(&mut [Term], &mut Term)) {
        let Engine { heads, linear, bank, losses, rules, .. } = self;
        let first = heads.len();
        let lost = bank.as_ref().map_or(Vec::new(), |bank| bank.lost_more_than_heads());
        let mut weights = vec![Term::default(); features];
        for (h, head) in linear.heads.iter_mut().enumerate() {
            let (averaged, mut norm2) = (head.f.riders().mean, 0.0);
            weights.iter_mut().enumerate().for_each(|(j, weight)| head.f.get(j, weight));
            let mut offset = Term { alpha: head.offset.clone(), mean: head.offset_mean.clone(), ..Term::default() };
            change(&mut weights, &mut offset);
            head.offset = offset.alpha;
            if averaged {
                head.offset_mean = offset.mean;
            }
            for (j, weight) in weights.iter().enumerate() {
                norm2 += dot(&weight.alpha, &weight.alpha);
                head.f.set(j, weight);
            }
            head.norms = Norms { f2: norm2, mass: norm2.sqrt(), ..Norms::default() };
            let rests = bank.as_ref().is_some_and(|bank| bank.rests(first + h));
            let holds = rules.certifies(&losses[head.loss], head.offset_step) && !rests;
            head.certify_anew(holds, lost.get(first + h).copied().unwrap_or(0.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Batch, Config, Learner};

    /// In other units, every weight vector and its average have the scores that they had.
    #[test]
    fn scores_stay_in_other_units() {
        let x: Vec<f64> = (0..600).map(|i| libm::sin(f64::from(i) * 0.7) + f64::from(i % 2)).collect();
        let y: Vec<f64> = x.chunks(2).map(|x| 3.0 * x[0] - x[1]).collect();
        let mut learner =
            Learner::new(Config::from_toml("kernel = 'auto'\nloss = 'squared'\noffset = true\nwarmup = 64").unwrap()).unwrap();
        learner.learn(&Batch::of_f64(&x, 2).numbers(&y)).unwrap();
        let scores = |learner: &Learner, u: [f64; 2]| {
            let of = |head: &Head<_>| {
                let mut term = Term::default();
                let mut z = [head.offset[0], head.offset_mean[0]];
                for (j, u) in u.iter().enumerate() {
                    head.f.get(j, &mut term);
                    z = [z[0] + term.alpha[0] * u, z[1] + term.mean[0] * u];
                }
                z
            };
            learner.engine.linear.heads.iter().flat_map(of).collect::<Vec<f64>>()
        };
        // u = (x - c) s with c = 0, s = 1, and u' = (x - 2) 3, (x + 1) / 4.
        let (row, there) = ([0.3, -1.2], [(0.3 - 2.0) * 3.0, (-1.2 + 1.0) / 4.0]);
        let before = scores(&learner, row);
        let changes = [UnitChange { factor: 1.0 / 3.0, moved: 2.0 }, UnitChange { factor: 4.0, moved: -1.0 }];
        learner.engine.change_linear(2, |weights, offset| into_other_units(&changes, weights, offset));
        let after = scores(&learner, there);
        assert!(before.len() == 10 && before.iter().any(|z| z.abs() > 0.5));
        assert!(before.iter().zip(&after).all(|(a, b)| (a - b).abs() < 1e-12), "{before:?} {after:?}");
        let norm2: f64 = (0..2).map(|j| learner.engine.linear.heads[0].f.alpha(0, j).powi(2)).sum();
        assert!((learner.engine.linear.heads[0].norms.f2 - norm2).abs() < 1e-12);
    }
}
