//! Weights of columns (`heads = weighted`): columns in which f does not vary add noise to all distances, so kernels that read weighted
//! columns give them less weight.
//!
//! The learner decides after 512, 1,024, ... 8,192 examples, learned or skipped, after heads have retired and widths were replaced. So what
//! it decides is a function of the stream alone (law 1).
//!
//! ```text
//! M_j      mean of (df/dx_j)² over 256 evenly spaced centres (all of them, if there are fewer), f being the leading voice
//!          among the Gaussian and Matern kernels
//! v_j      sqrt(M_j / mean M), at least 0.16; 1 for a column in which f does not vary at all, which does not count in the mean
//! then     all v_j with M_j > 0 are multiplied by one number, so that the median squared distance of the centres stays
//! ```
//!
//! v_j multiplies squared differences: the column itself is multiplied by its square root, (M_j / mean M)^(1/4), at least 0.4. Nothing
//! happens if no v_j changes by a factor of 1.25, or if there are fewer than 4 examples for each column in which f varies.
//!
//! What a change does: [`Engine::reweigh`](crate::engine::Engine). For numbers f is brought half way back at 1,024 evenly spaced centres; for classes
//! coefficients stay, which is better there (benchmarks/relevance.md). Rows are not learned again.

use std::array::from_fn;

use crate::basis::Space;
use crate::basis::vectors::Vectors;
use crate::coordinates::Coordinates;
use crate::gram::{Backend, Compiled};
use crate::learner::Learner;
use crate::parts::kernel::AnyKernel;
use crate::parts::loss::{Loss, Reads};

/// The last number of examples after which weights are found.
const LAST: u64 = 8192;
/// The number of centres at which the gradient is computed.
const SAMPLE: usize = 256;
/// The number of centres at which f is brought back: with 256 the error on Friedman's function is 8 % larger, with all of them about the same,
/// at the cost of learning that many rows.
const BROUGHT_BACK: usize = 1024;
/// With fewer examples per column in which f varies, the gradient is mostly noise.
const PER_COLUMN: u64 = 4;
/// The least v before the median distance is restored.
const LEAST: f64 = 0.16;
/// A smaller factor is no change.
const CHANGE: f64 = 1.25;
/// The range of v, so that single precision holds weighted squares.
pub(crate) const RANGE: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

impl Learner {
    /// The number of times that the weights of the columns changed, and the number of examples at the last change; none where the learner does
    /// not find them (`heads = weighted`). The certificates of truncation and regret of members that read weighted columns hold for the
    /// examples after that change.
    ///
    /// ```
    /// use okl::{Batch, Config, Learner};
    /// let mut learner = Learner::new(Config::from_toml("kernel = 'auto'\nloss = 'squared'")?)?;
    /// let x: Vec<f32> = (0..1200).map(|i| ((i * i) as f32 * 0.37).sin()).collect();
    /// let y: Vec<f64> = x.chunks(2).map(|x| f64::from(x[0])).collect();           // the second column does not matter
    /// learner.learn(&Batch::new(&x, 2).numbers(&y))?;
    /// assert_eq!(learner.weight_changes(), Some((1, 512)));
    /// assert!(learner.config().relevance[0] > 2.0 * learner.config().relevance[1]);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn weight_changes(&self) -> Option<(u64, u64)> {
        self.config.weighs().then_some((self.weighed[0], self.weighed[1]))
    }

    /// The weights of the columns under a kernel, by its number: squared differences of column j are multiplied by the number j, or by 1
    /// behind the last number. None if the kernel reads columns as they are.
    ///
    /// ```
    /// use okl::{Config, Learner};
    /// let learner = Learner::new(Config::from_toml("kernel = 'gaussian:1'\nrelevance = [0.25, 4]")?)?;
    /// assert_eq!(learner.column_weights(0), Some(&[0.25, 4.0][..]));
    /// assert_eq!(Learner::new(Config::default())?.column_weights(0), None);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn column_weights(&self, kernel: usize) -> Option<&[f64]> {
        let weights = Some(self.config.relevance.as_slice()).filter(|weights| !weights.is_empty());
        weights.filter(|_| self.config.weighted_planes().get(kernel) == Some(&true))
    }

    /// Finds the weights of the columns, if it is time to. Called at the looks of `widths.rs`.
    pub(super) fn weigh_columns(&mut self) {
        if !self.config.weighs() || self.steps() > LAST {
            return;
        }
        let live: Vec<usize> = self.engine.basis.live().collect();
        let sample = evenly(&live, SAMPLE);
        let Some(weights) = self.found_weights(&live, &sample) else { return };
        let known = |j: usize| self.config.relevance.get(j).copied().unwrap_or(1.0);
        let off = |(j, v): (usize, &f64)| !(known(j) / CHANGE..=known(j) * CHANGE).contains(v);
        if !weights.iter().enumerate().any(off) {
            return;
        }
        let numbers = matches!(self.config.loss.reads(), Reads::Number | Reads::Vector);
        let planes = self.config.weighted_planes();
        self.engine.reweigh(&weights, &planes, numbers.then_some(&evenly(&live, BROUGHT_BACK)));
        self.drop_comparison_of(|head| planes[head.plane]);
        self.config.relevance = weights;
        self.weighed = [self.weighed[0] + 1, self.engine.t];
    }

    /// The weights by the rule at the head of this file, without those behind the last one that is not 1; none if f does not vary.
    fn found_weights(&mut self, live: &[usize], sample: &[usize]) -> Option<Vec<f64>> {
        let squares = self.mean_squared_gradient(live, sample)?;
        let varying = squares.iter().filter(|m| **m > 0.0);
        if self.steps() < PER_COLUMN * varying.clone().count() as u64 {
            return None;
        }
        let mean = varying.clone().sum::<f64>() / varying.count() as f64;
        if !(mean > 0.0 && mean.is_finite()) {
            return None;
        }
        let weight = |m: &f64| if *m > 0.0 { (m / mean).sqrt().max(LEAST) } else { 1.0 };
        let mut weights: Vec<f64> = squares.iter().map(weight).collect();
        let [plain, weighted] = self.median_distances(sample, &weights);
        let factor = if plain > 0.0 && weighted > 0.0 { plain / weighted } else { 1.0 };
        for (v, _) in weights.iter_mut().zip(&squares).filter(|(_, m)| **m > 0.0) {
            *v = f64::from((*v * factor).clamp(*RANGE.start(), *RANGE.end()) as f32);
        }
        let known = weights.iter().rposition(|v| *v != 1.0).map_or(0, |last| last + 1);
        weights.truncate(known);
        Some(weights)
    }

    /// The mean of the squared partial derivatives of the leading voice over the centres of some slots, one number per column.
    fn mean_squared_gradient(&mut self, live: &[usize], sample: &[usize]) -> Option<Vec<f64>> {
        let kernels = self.engine.basis.space.kernels();
        let voices = self.voices_over_terms().filter(|(_, head, _)| slope(&kernels[head.plane]).is_some());
        let (_, head, averaged) = voices.reduce(|best, voice| if voice.0 > best.0 { voice } else { best })?;
        let (plane, outputs, features) = (head.plane, head.f.outputs(), self.features);
        let known = self.config.relevance.get(..features.min(self.config.relevance.len())).unwrap_or(&[]);
        let read = self.config.weighted_planes()[plane];
        let weights: Vec<f64> = (0..features).map(|j| known.get(j).copied().filter(|_| read).unwrap_or(1.0)).collect();
        let coefficients = coefficients(&head.f, averaged, live);
        let space = &mut self.engine.basis.space;
        let (factor, slope) = slope(&space.kernels()[plane])?;
        let stride = features.next_multiple_of(TOGETHER).max(1);
        let mut centres = vec![0.0; live.len() * stride];
        live.iter().zip(centres.chunks_exact_mut(stride)).for_each(|(slot, row)| space.centre(*slot, &mut row[..features]));
        let slots = self.engine.basis.slots().next_multiple_of(crate::gram::LANES);
        let (backend, space) = (self.engine.basis.space.backend(), &mut self.engine.basis.space);
        let (mut row, mut total, mut point) = (vec![0.0; slots], vec![0.0; features], vec![0.0; stride]);
        let mut work =
            Work { scaled: vec![0.0; live.len() * outputs], sums: vec![0.0; outputs * features], apart: vec![0.0; features] };
        for slot in sample {
            space.row_under(plane, &slope, *slot, &mut row);
            space.centre(*slot, &mut point[..features]);
            for ((term, scaled), a) in
                live.iter().zip(work.scaled.chunks_exact_mut(outputs)).zip(coefficients.chunks_exact(outputs))
            {
                let slope = factor * f64::from(row[*term]);
                scaled.iter_mut().zip(a).for_each(|(scaled, a)| *scaled = a * slope);
            }
            work.sum(backend, &centres, &point, outputs);
            for of_output in work.sums.chunks_exact(features.max(1)) {
                let partial = of_output.iter().zip(&weights).map(|(sum, v)| 2.0 * v * sum);
                total.iter_mut().zip(partial).for_each(|(total, d)| *total += d * d);
            }
        }
        Some(total.iter().map(|total| total / sample.len() as f64).collect())
    }

    /// The median squared distance of centres, each compared with one of the other half of the sample: of columns as they are, and weighted.
    fn median_distances(&self, sample: &[usize], weights: &[f64]) -> [f64; 2] {
        let (space, half) = (&self.engine.basis.space, sample.len() / 2);
        let [mut a, mut b] = [vec![0.0; self.features], vec![0.0; self.features]];
        let mut distances = [Vec::new(), Vec::new()];
        for (one, other) in sample[..half].iter().zip(&sample[half..]) {
            space.centre(*one, &mut a);
            space.centre(*other, &mut b);
            let apart2 = || a.iter().zip(&b).map(|(a, b)| (f64::from(*a) - f64::from(*b)) * (f64::from(*a) - f64::from(*b)));
            distances[0].push(apart2().sum::<f64>());
            distances[1].push(apart2().zip(weights).map(|(apart2, v)| v * apart2).sum::<f64>());
        }
        distances.map(|mut distances| match distances.len() {
            0 => 0.0,
            count => *distances.select_nth_unstable_by(count / 2, f64::total_cmp).1,
        })
    }
}

/// At most `most` slots of a list, evenly spaced.
fn evenly(slots: &[usize], most: usize) -> Vec<usize> {
    let count = slots.len().min(most);
    (0..count).map(|i| slots[i * slots.len() / count]).collect()
}

/// The coefficients of a voice at some slots, slot by slot.
fn coefficients(f: &Coordinates, averaged: bool, slots: &[usize]) -> Vec<f64> {
    let at = |o, slot| f.mean(o, slot).filter(|_| averaged).unwrap_or_else(|| f.alpha(o, slot));
    slots.iter().flat_map(|slot| (0..f.outputs()).map(move |o| at(o, *slot))).collect()
}

/// The derivative of a kernel of distance in the squared distance: a number times another kernel.
fn slope(kernel: &AnyKernel) -> Option<(f64, AnyKernel)> {
    match *kernel {
        AnyKernel::Gaussian { gamma } => Some((-gamma, AnyKernel::Gaussian { gamma })),
        // (1 + s) exp(-s), s = √3 gamma r, has the derivative -s exp(-s) in s.
        AnyKernel::Matern32 { gamma } => Some((-1.5 * gamma * gamma, AnyKernel::Exponential { gamma: 3f64.sqrt() * gamma })),
        _ => None,
    }
}

/// Buffers for the sums of a gradient.
struct Work {
    /// Coefficients times slopes, `outputs` for each term.
    scaled: Vec<f64>,
    /// For each output and column: the sum over the terms of their scaled coefficient times the difference in the column.
    sums: Vec<f64>,
    apart: Vec<f64>,
}

impl Work {
    fn sum(&mut self, backend: Backend, centres: &[f32], point: &[f32], outputs: usize) {
        let Work { scaled, sums, apart } = self;
        sums.fill(0.0);
        backend.compiled(Sum { centres, point, scaled, sums, apart, outputs });
    }
}

struct Sum<'a> {
    /// The centres and the point, each with zeros up to a multiple of [`TOGETHER`] columns.
    centres: &'a [f32],
    point: &'a [f32],
    scaled: &'a [f64],
    sums: &'a mut [f64],
    apart: &'a mut [f64],
    outputs: usize,
}

/// Columns whose sums are kept in registers at a time.
const TOGETHER: usize = 16;

impl Compiled for Sum<'_> {
    #[inline(always)]
    fn run(self) {
        match self.outputs {
            1 => self.in_registers::<1>(),
            2 => self.in_registers::<2>(),
            _ => self.in_memory(),
        }
    }
}

impl Sum<'_> {
    /// For few outputs, whose coefficients are seldom 0: some columns at a time over all terms. Every sum has the terms in the same order as in
    /// [`Sum::in_memory`]; a term of coefficient 0 adds 0, which changes no sum.
    #[inline(always)]
    fn in_registers<const OUTPUTS: usize>(self) {
        let (features, stride) = (self.apart.len(), self.point.len());
        for first in (0..features).step_by(TOGETHER) {
            let load = |row: &[f32]| -> [f32; TOGETHER] { from_fn(|l| row[first..first + TOGETHER][l]) };
            let (point, mut sums) = (load(self.point), [[0.0f64; TOGETHER]; OUTPUTS]);
            for (centre, scaled) in self.centres.chunks_exact(stride).zip(self.scaled.as_chunks::<OUTPUTS>().0) {
                let centre = load(centre);
                for o in 0..OUTPUTS {
                    for l in 0..TOGETHER {
                        sums[o][l] += scaled[o] * (f64::from(point[l]) - f64::from(centre[l]));
                    }
                }
            }
            let width = TOGETHER.min(features - first);
            for (o, sums) in sums.iter().enumerate() {
                self.sums[o * features + first..][..width].copy_from_slice(&sums[..width]);
            }
        }
    }

    #[inline(always)]
    fn in_memory(self) {
        let (features, stride) = (self.apart.len().max(1), self.point.len().max(1));
        for (centre, scaled) in self.centres.chunks_exact(stride).zip(self.scaled.chunks_exact(self.outputs)) {
            for ((apart, x), c) in self.apart.iter_mut().zip(self.point).zip(centre) {
                *apart = f64::from(*x) - f64::from(*c);
            }
            for (a, sums) in scaled.iter().zip(self.sums.chunks_exact_mut(features)) {
                if *a != 0.0 {
                    sums.iter_mut().zip(&*self.apart).for_each(|(sum, apart)| *sum += a * apart);
                }
            }
        }
    }
}

impl Vectors<AnyKernel> {
    /// The values of the centre of a slot against all slots under another kernel, which reads the columns that the kernel of a plane reads.
    fn row_under(&mut self, plane: usize, kernel: &AnyKernel, slot: usize, out: &mut [f32]) {
        if let Vectors::Dense(space) = self {
            space.row_under(plane, kernel, slot, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ways to sum give the same bits, on every instruction set, for widths around those of the registers.
    #[test]
    fn sums_in_registers_are_those_in_memory() {
        struct InMemory<'a>(Sum<'a>);
        impl Compiled for InMemory<'_> {
            #[inline(always)]
            fn run(self) {
                self.0.in_memory();
            }
        }
        let number = |i: usize| libm::sin(0.7 * i as f64 * i as f64);
        for (features, outputs) in [1usize, 3, 15, 16, 17, 40].into_iter().flat_map(|features| [(features, 1), (features, 2)]) {
            let stride = features.next_multiple_of(TOGETHER);
            let centres: Vec<f32> = (0..37 * stride).map(|i| number(i) as f32).collect();
            let point: Vec<f32> = (0..stride).map(|i| number(i + 1000) as f32).collect();
            let scaled: Vec<f64> = (0..37 * outputs).map(|i| if i % 3 == 0 { 0.0 } else { number(i + 77) }).collect();
            for backend in Backend::available() {
                let both = [true, false].map(|registers| {
                    let (mut sums, mut apart) = (vec![0.0; outputs * features], vec![0.0; features]);
                    let (centres, point, scaled) = (&centres[..], &point[..], &scaled[..]);
                    let sum = Sum { centres, point, scaled, sums: &mut sums, apart: &mut apart, outputs };
                    if registers {
                        backend.compiled(sum)
                    } else {
                        backend.compiled(InMemory(sum))
                    }
                    sums
                });
                assert!(both[0] == both[1] && both[0].iter().all(|sum| *sum != 0.0), "{features}, {outputs}, {backend:?}");
            }
        }
    }
}
