//! A step size for every weight: stochastic meta-descent as V(1)-(3) have it.
//!
//! For the weight w_j of one output, with the gradient g_j = xi phi_j + lambda w_j and zeta = xi + decay h (u + w) of `engine/plan.rs`:
//!
//! ```text
//! eta_j <- eta_j clamp(1 - mu g_j v_j, 1/2, 2), within [floor, cap]              V(2); the sign of v is that of V(17), see E16
//! w_j   <- w_j - eta_j g_j                                                       V(1)
//! v_j   <- decay v_j - eta_j (g_j + decay (G v)_j)                               V(3), (G v)_j = phi_j h (u + w) + lambda v_j
//!        = decay v_j - eta_j (zeta phi_j + lambda (w_j + decay v_j))
//! ```
//!
//! With lambda = 0, a weight whose feature is 0 has no gradient: eta_j and w_j stay, and v_j is multiplied by the decay, which the lazy
//! scale of the trace does. A step then costs as much as the row has features that are not 0. With lambda > 0, such a weight still has
//! the gradient lambda w_j, and eta_j has no closed form over several steps; so a step changes every weight. The arithmetic is the same
//! for a feature that is 0 and for one that is not there, so dense and sparse rows give the same bits.

use super::{Coordinates, LARGEST_SCALE};
use crate::basis::sparse::SparseRow;
use crate::gram::aligned::Aligned;
use crate::parts::step::Adaptation;

/// The number of lanes of the sums: coordinate j is added to lane j mod 8.
const LANES: usize = 8;

/// The step sizes of the weights, column by column as the coefficients of f.
#[derive(Clone, Debug)]
pub(crate) struct Steps {
    /// The step size of a weight before its first step.
    start: f64,
    data: Aligned<f64>,
    /// At least the largest step size.
    largest: f64,
}

/// The features of a row.
#[derive(Clone, Copy)]
pub(crate) enum Features<'a> {
    Dense(&'a [f32]),
    Sparse(SparseRow<'a>),
}

/// What a step is computed from, beside the coordinates themselves.
pub(crate) struct Advance<'a> {
    pub rule: Adaptation,
    pub decay: f64,
    pub lambda: f64,
    /// dl/dz, per output.
    pub xi: &'a [f64],
    /// xi + decay h (u + w), per output.
    pub zeta: &'a [f64],
}

/// |f|², <f, v> and |v|²: after the step, or their change beyond the decay of the trace.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Products {
    pub f2: f64,
    pub product: f64,
    pub trace2: f64,
    /// Whether they are those after the step.
    pub whole: bool,
}

/// The smallest, the median and the largest of the step sizes of weights that have moved.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[non_exhaustive]
pub struct StepSizes {
    /// The smallest step size.
    pub least: f64,
    /// The median; of an even number the larger of the two in the middle.
    pub median: f64,
    /// The largest step size.
    pub largest: f64,
}

impl StepSizes {
    /// Of these step sizes, if there are any.
    pub(crate) fn of(mut values: Vec<f64>) -> Option<StepSizes> {
        values.sort_unstable_by(f64::total_cmp);
        let median = *values.get(values.len() / 2)?;
        Some(StepSizes { least: values[0], median, largest: values[values.len() - 1] })
    }
}

impl Steps {
    pub fn new(start: f64) -> Self {
        Steps { start, data: Aligned::default(), largest: start }
    }

    pub fn bytes(&self) -> usize {
        self.data.bytes()
    }

    /// Changes the layout from `from` = (outputs, stride) to `to`, the last column first. New weights have the first step size.
    pub fn relayout(&mut self, from: (usize, usize), to: (usize, usize)) {
        let (outputs, stride) = to;
        self.data.grow(outputs * stride);
        for o in (0..outputs).rev() {
            let kept = if o < from.0 { from.1 } else { 0 };
            self.data.copy_within(o * from.1..o * from.1 + kept, o * stride);
            self.data[o * stride + kept..(o + 1) * stride].fill(self.start);
        }
    }

    pub fn restart(&mut self) {
        self.data.fill(self.start);
        self.largest = self.start;
    }

    /// At least the largest step size.
    pub fn largest(&self) -> f64 {
        self.largest
    }

    /// Finds the largest step size.
    pub fn find_largest(&mut self) {
        self.largest = self.data.iter().copied().fold(self.start, f64::max);
    }
}

/// The coordinates of one output, eight at a time.
struct Lanes<'a> {
    a: &'a mut [[f64; LANES]],
    b: &'a mut [[f64; LANES]],
    /// None if there is no average.
    mean: &'a mut [[f64; LANES]],
    eta: &'a mut [[f64; LANES]],
}

/// The numbers of a step of one output.
struct Numbers {
    rule: Adaptation,
    decay: f64,
    lambda: f64,
    xi: f64,
    zeta: f64,
    /// Whether all weights change.
    whole: bool,
    /// The scale of the stored trace before and after the step.
    before: f64,
    after: f64,
    /// What the stored average loses for a change of f.
    mean: f64,
}

/// Sums over the coordinates of one step, and the largest step size.
struct Sums {
    f2: [f64; LANES],
    product: [f64; LANES],
    trace2: [f64; LANES],
    largest: [f64; LANES],
}

/// The sum of the lanes, by a tree.
fn total(lanes: &[f64; LANES]) -> f64 {
    let [a, b, c, d, e, f, g, h] = *lanes;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

impl Lanes<'_> {
    /// The steps of the eight coordinates at `place`.
    #[inline(always)]
    fn advance_all(&mut self, place: usize, phi: &[f64; LANES], n: &Numbers, sums: &mut Sums) {
        for (lane, phi) in phi.iter().enumerate() {
            self.advance(place, lane, *phi, n, sums);
        }
    }

    /// The step of the coordinate at `place` and `lane`, whose feature is `phi`.
    #[inline(always)]
    fn advance(&mut self, place: usize, lane: usize, phi: f64, n: &Numbers, sums: &mut Sums) {
        let (w, b) = (self.a[place][lane], self.b[place][lane]);
        let v = n.before * b;
        let g = n.xi * phi + n.lambda * w;
        let eta = n.rule.eta(self.eta[place][lane], g * v); // V(2)
        let moved = w - eta * g; // V(1)
        let decayed = n.decay * v;
        let pull = n.zeta * phi + n.lambda * (w + decayed);
        let trace = decayed - eta * pull; // V(3)
        self.eta[place][lane] = eta;
        self.a[place][lane] = moved;
        self.b[place][lane] = if n.whole { trace } else { b - eta * pull / n.after };
        if !self.mean.is_empty() {
            self.mean[place][lane] += n.mean * (moved - w);
        }
        let (old_f2, old_product, old_trace2) = if n.whole { (0.0, 0.0, 0.0) } else { (w * w, w * decayed, decayed * decayed) };
        sums.f2[lane] += moved * moved - old_f2;
        sums.product[lane] += moved * trace - old_product;
        sums.trace2[lane] += trace * trace - old_trace2;
        sums.largest[lane] = sums.largest[lane].max(eta);
    }
}

impl Coordinates {
    /// With a step size for each coordinate, which begins with `start`.
    pub(crate) fn with_steps(self, start: f64) -> Self {
        Coordinates { steps: Some(Steps::new(start)), ..self }
    }

    pub(crate) fn steps(&self) -> Option<&Steps> {
        self.steps.as_ref()
    }

    pub(crate) fn steps_mut(&mut self) -> Option<&mut Steps> {
        self.steps.as_mut()
    }

    /// The step sizes of the first `slots` weights, output by output.
    pub(crate) fn step_columns(&self, slots: usize) -> impl Iterator<Item = &[f64]> {
        let data = self.steps.as_ref().map_or(&[][..], |steps| &steps.data);
        data.chunks_exact(self.stride.max(1)).map(move |column| &column[..slots])
    }

    /// Restores the step sizes from the numbers of `step_columns`.
    pub(crate) fn restore_steps(&mut self, slots: usize, columns: &[f64]) {
        let (Some(steps), true) = (&mut self.steps, slots > 0) else { return };
        for (to, from) in steps.data.chunks_exact_mut(self.stride.max(1)).zip(columns.chunks_exact(slots)) {
            to[..slots].copy_from_slice(from);
        }
        steps.find_largest();
    }

    /// The step sizes of the weights that have moved.
    pub(crate) fn moved_steps(&self, to: &mut Vec<f64>) {
        let Some(steps) = &self.steps else { return };
        let (weights, traces) = self.data.split_at(self.outputs * self.stride);
        let moved = steps.data.iter().zip(weights.iter().zip(traces)).filter(|(_, (w, v))| **w != 0.0 || **v != 0.0);
        to.extend(moved.map(|(eta, _)| *eta));
    }

    /// Takes a step with a step size for each coordinate. The average and the scale of f must already be those of the step (`shrink` with
    /// keep = 1, so the scale of f is 1).
    pub(crate) fn advance(&mut self, row: Features<'_>, by: &Advance<'_>) -> Products {
        let whole = by.lambda != 0.0 || by.decay == 0.0;
        let mut products = Products { whole, ..Products::default() };
        let (p, mean) = (self.scales.trace.0, self.scales.mean);
        let after = if whole { 1.0 } else { by.decay * p };
        if whole || by.xi.iter().chain(by.zeta).any(|v| *v != 0.0) {
            self.changes.note_all();
            for o in 0..self.outputs {
                let (xi, zeta) = (by.xi[o], by.zeta[o]);
                let n = Numbers {
                    rule: by.rule,
                    decay: by.decay,
                    lambda: by.lambda,
                    xi,
                    zeta,
                    whole,
                    before: p,
                    after,
                    mean: -mean.1 / mean.0,
                };
                self.advance_output(o, row, &n, &mut products);
            }
        }
        self.scales.trace = (after, 0.0);
        self.tidy();
        products
    }

    fn advance_output(&mut self, o: usize, row: Features<'_>, n: &Numbers, products: &mut Products) {
        let (block, stride) = (self.outputs * self.stride, self.stride);
        let Some(steps) = &mut self.steps else { return };
        let (a, rest) = self.data.split_at_mut(block);
        let (b, mean) = rest.split_at_mut(block);
        let column =
            |of: &mut [f64]| -> std::ops::Range<usize> { if of.is_empty() { 0..0 } else { o * stride..(o + 1) * stride } };
        let (of_a, of_b, of_mean) = (column(a), column(b), column(mean));
        let mut lanes = Lanes {
            a: a[of_a].as_chunks_mut().0,
            b: b[of_b].as_chunks_mut().0,
            mean: mean[of_mean].as_chunks_mut().0,
            eta: steps.data[o * stride..(o + 1) * stride].as_chunks_mut().0,
        };
        let zeros = [0.0; LANES];
        let mut sums = Sums { f2: zeros, product: zeros, trace2: zeros, largest: [steps.largest; LANES] };
        match row {
            Features::Dense(values) => {
                let (chunks, _) = values.as_chunks::<LANES>(); // rows are padded with zeros
                for (place, phi) in chunks.iter().enumerate() {
                    lanes.advance_all(place, &phi.map(f64::from), n, &mut sums);
                }
            }
            Features::Sparse(row) if n.whole => {
                let mut features = row.iter().peekable();
                for place in 0..lanes.a.len() {
                    let mut phi = [0.0; LANES];
                    while let Some((j, value)) = features.next_if(|(j, _)| *j as usize / LANES == place) {
                        phi[j as usize % LANES] = f64::from(value);
                    }
                    lanes.advance_all(place, &phi, n, &mut sums);
                }
            }
            Features::Sparse(row) => row.iter().for_each(|(j, value)| {
                lanes.advance(j as usize / LANES, j as usize % LANES, f64::from(value), n, &mut sums);
            }),
        }
        products.f2 += total(&sums.f2);
        products.product += total(&sums.product);
        products.trace2 += total(&sums.trace2);
        steps.largest = sums.largest.into_iter().fold(steps.largest, f64::max);
    }

    /// Whether the scale of a trace with step sizes of its own is so small that it must be multiplied into the coefficients. The trace is
    /// stored alone, without a part of f, so no digits are lost before.
    pub(super) fn trace_has_faded(&self) -> bool {
        self.scales.trace.0 < 1.0 / LARGEST_SCALE
    }
}
