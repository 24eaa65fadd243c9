//! The coefficients of f over a basis, and of its riders: SVMD's trace and the average, functions over the same basis.
//!
//! The numbers (a, b, g) are stored per basis function and output. The coefficients are
//!
//! ```text
//! alpha = s a                  f
//! beta  = p b + q a            v, SVMD's trace           (algorithms.md 3.1, 3.2)
//! gamma = P g + Q a            the averaged hypothesis   (algorithms.md 3.7)
//! ```
//!
//! so a step changes five scalars and one term, whatever the number of terms. Only this file uses these scales.

mod changes;
mod chunks;
mod lanes;
mod steps;

pub(crate) use changes::{Changes, Rewrite};
pub use steps::StepSizes;
pub(crate) use steps::{Advance, Features, Steps};

use crate::basis::sparse::SparseRow;
use crate::gram::aligned::Aligned;
use crate::gram::{Backend, CHUNK, LANES};
use crate::parts::output::Output;

/// Which riders there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Riders {
    /// SVMD's trace v.
    pub trace: bool,
    /// The averaged hypothesis.
    pub mean: bool,
}

impl Riders {
    /// The number of functions: f and its riders.
    pub fn functions(self) -> usize {
        1 + self.trace as usize + self.mean as usize
    }
}

/// The lazy scales: alpha = f a, beta = trace.0 b + trace.1 a, gamma = mean.0 g + mean.1 a.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scales {
    pub f: f64,
    pub trace: (f64, f64),
    pub mean: (f64, f64),
}

impl Scales {
    const FRESH: Scales = Scales { f: 1.0, trace: (1.0, 0.0), mean: (1.0, 0.0) };
}

/// The values of one head at one row: f, the trace and the average, then the scores, which include the offsets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    pub f: Vec<f64>,
    pub trace: Vec<f64>,
    pub mean: Vec<f64>,
    /// z = f(x) + b.
    pub z: Vec<f64>,
    /// The score of the averaged hypothesis.
    pub mean_z: Vec<f64>,
    sums: Vec<f64>,
    gathered: Vec<f64>,
}

impl Reading {
    fn fit(&mut self, outputs: usize, sums: usize, riders: Riders) {
        if self.f.len() == outputs && self.sums.len() == sums * riders.functions() && self.gathered.len() == sums {
            return;
        }
        for values in [&mut self.f, &mut self.trace, &mut self.mean, &mut self.z, &mut self.mean_z] {
            values.resize(outputs, 0.0);
        }
        self.sums.resize(sums * riders.functions(), 0.0);
        self.gathered.resize(sums, 0.0);
    }
}

/// The coefficients of one term: alpha, beta, gamma.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Term {
    pub alpha: Vec<f64>,
    pub trace: Vec<f64>,
    pub mean: Vec<f64>,
}

impl Term {
    pub fn fit(&mut self, outputs: usize) {
        self.alpha.resize(outputs, 0.0);
        self.trace.resize(outputs, 0.0);
        self.mean.resize(outputs, 0.0);
    }

    /// Sets this term to `scale` times another.
    pub fn set_scaled(&mut self, from: &Term, scale: f64) {
        self.fit(from.alpha.len());
        for (to, from) in [(&mut self.alpha, &from.alpha), (&mut self.trace, &from.trace), (&mut self.mean, &from.mean)] {
            to.iter_mut().zip(from).for_each(|(to, from)| *to = scale * from);
        }
    }

    /// `scale` times this term.
    pub fn scaled(&self, scale: f64) -> Term {
        let mut scaled = Term::default();
        scaled.set_scaled(self, scale);
        scaled
    }

    /// Adds `scale` times another term.
    pub fn add_scaled(&mut self, from: &Term, scale: f64) {
        self.fit(from.alpha.len());
        for (to, from) in [(&mut self.alpha, &from.alpha), (&mut self.trace, &from.trace), (&mut self.mean, &from.mean)] {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += scale * from);
        }
    }
}

/// f = sum_i K(., x_i) alpha_i and its riders, stored as coefficients over slots.
#[derive(Clone, Debug)]
pub struct Coordinates {
    outputs: usize,
    riders: Riders,
    stride: usize,
    /// Column by column: a for each output, then b, then g. Each column has `stride` slots and starts on a cache line.
    data: Aligned<f64>,
    changes: Changes,
    /// The step sizes, if every coordinate has its own.
    steps: Option<Steps>,
    pub(crate) scales: Scales,
}

/// The scales are multiplied into the coefficients when one of them has fallen to this fraction of the scale it is combined with.
const BAKE: f64 = 1.0 / 1024.0;
/// Without riders, a scale of f beyond this size (or below its inverse) is moved into the coefficients by an exact power of two.
const LARGEST_SCALE: f64 = 2e60;

/// The number of columns summed together, so that the kernel values are loaded and converted to f64 once.
const TOGETHER: usize = 8;

/// The sums over terms of every column of several functions, one after the other. No sum depends on the others.
pub(crate) fn sum_columns_of<'e>(
    backend: Backend,
    row: &[f32],
    functions: impl Iterator<Item = &'e Coordinates>,
    sums: &mut Vec<f64>,
) {
    sums.clear();
    let mut together: [&[f64]; TOGETHER] = [&[]; TOGETHER];
    let mut waiting = 0;
    let mut add = |columns: &[&[f64]]| {
        let done = sums.len();
        sums.resize(done + columns.len(), 0.0);
        backend.weighted_sums(row, columns, &mut sums[done..]);
    };
    for f in functions {
        for i in 0..f.columns() {
            together[waiting] = &f.data[i * f.stride..][..row.len()];
            waiting += 1;
            if waiting == TOGETHER {
                add(&together);
                waiting = 0;
            }
        }
    }
    if waiting > 0 {
        add(&together[..waiting]);
    }
}

/// Negates the values exactly; a zero becomes or stays +0.
pub(crate) fn negate(values: &mut [f64]) {
    values.iter_mut().for_each(|v| *v = 0.0 - *v);
}

impl Coordinates {
    pub(crate) fn new(outputs: usize, riders: Riders) -> Self {
        let (data, changes, scales) = (Aligned::default(), Changes::default(), Scales::FRESH);
        Coordinates { outputs, riders, stride: 0, data, changes, steps: None, scales }
    }

    /// The number of outputs.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// Which riders there are.
    pub fn riders(&self) -> Riders {
        self.riders
    }

    pub(crate) fn bytes(&self) -> usize {
        self.data.bytes() + self.steps.as_ref().map_or(0, Steps::bytes)
    }

    pub(crate) fn columns(&self) -> usize {
        self.outputs * self.riders.functions()
    }

    /// Makes room for `slots` slots. The stride grows by 1/32 at a time and not by doubling, so that the memory used stays close
    /// to the stated amount.
    pub(crate) fn reserve(&mut self, slots: usize) {
        if slots > self.stride {
            let stride = slots.max(self.stride + self.stride / 32).next_multiple_of(LANES);
            self.relayout(self.outputs, stride);
        }
    }

    /// Makes room for `slots` slots; if there is none, for a quarter more, because every increase copies all coefficients.
    pub(crate) fn reserve_ample(&mut self, slots: usize) {
        if slots > self.stride {
            self.reserve(slots + slots / 4);
        }
    }

    pub(crate) fn add_outputs(&mut self, outputs: usize) {
        if outputs > self.outputs {
            self.relayout(outputs, self.stride);
        }
    }

    /// Changes the layout in place, the last column first, so that there is never a second copy.
    fn relayout(&mut self, outputs: usize, stride: usize) {
        let functions = self.riders.functions();
        self.data.grow(outputs * functions * stride);
        for column in (0..outputs * functions).rev() {
            let (function, o, to) = (column / outputs, column % outputs, column * stride);
            let kept = if o < self.outputs { self.stride } else { 0 };
            let from = (function * self.outputs + o) * self.stride;
            self.data.copy_within(from..from + kept, to);
            self.data[to + kept..to + stride].fill(0.0);
        }
        if let Some(steps) = &mut self.steps {
            steps.relayout((self.outputs, self.stride), (outputs, stride));
        }
        if outputs != self.outputs {
            self.changes.note_all();
            self.changes.record(Rewrite::Outputs(outputs));
        }
        (self.outputs, self.stride) = (outputs, stride);
    }

    /// Begins a block: [`Coordinates::has_changed`] is about later changes.
    pub(crate) fn nothing_changed(&mut self) {
        self.changes.begin(0..0);
    }

    /// Whether a slot of this chunk was written since [`Coordinates::nothing_changed`].
    pub(crate) fn has_changed(&self, chunk: usize) -> bool {
        self.changes.last(chunk) > self.changes.began
    }

    /// When which chunk was written.
    pub(crate) fn changes(&self) -> &Changes {
        &self.changes
    }

    pub(crate) fn changes_mut(&mut self) -> &mut Changes {
        &mut self.changes
    }

    /// Computes the values of f and its riders at the point whose kernel values against the first slots are `row(plane)`.
    pub(crate) fn read<'r>(&self, backend: Backend, output: &Output, row: impl Fn(usize) -> &'r [f32], to: &mut Reading) {
        let sums = output.sums(self.outputs);
        to.fit(self.outputs, sums, self.riders);
        self.sum_terms(backend, output, row, &mut to.sums);
        self.finish(output, to);
    }

    /// As [`Coordinates::read`] at a sparse row whose features are the basis functions.
    pub(crate) fn read_sparse(&self, backend: Backend, output: &Output, row: SparseRow<'_>, to: &mut Reading) {
        to.fit(self.outputs, output.sums(self.outputs), self.riders);
        for (i, sum) in to.sums.iter_mut().enumerate() {
            *sum = backend.sparse_sum(row.columns, row.values, &self.data[i * self.stride..][..self.stride]);
        }
        self.finish(output, to);
    }

    /// As [`Coordinates::read`] for one plane, from sums over terms that are already computed.
    pub(crate) fn read_sums(&self, output: &Output, sums: &[f64], to: &mut Reading) {
        to.fit(self.outputs, output.sums(self.outputs), self.riders);
        if matches!(output, Output::Identity) && !self.riders.trace {
            return self.mix_sums(sums, to);
        }
        to.sums.copy_from_slice(sums);
        self.finish(output, to);
    }

    /// As `finish` without an output operator and without a trace: the scales are applied to the sums at once.
    fn mix_sums(&self, sums: &[f64], to: &mut Reading) {
        let Scales { f: s, mean: (mp, mq), .. } = self.scales;
        let (of_f, of_mean) = sums.split_at(self.outputs);
        if self.riders.mean {
            for ((mean, own), f) in to.mean.iter_mut().zip(of_mean).zip(of_f) {
                *mean = mp * own + mq * f;
            }
        }
        for (to, f) in to.f.iter_mut().zip(of_f) {
            *to = f * s;
        }
    }

    /// Computes the values of f and of its riders from the sums over terms: applies the output operator, then the scales.
    fn finish(&self, output: &Output, to: &mut Reading) {
        self.output_of(output, 0, to, |to| &mut to.f);
        if self.riders.trace {
            self.output_of(output, 1, to, |to| &mut to.trace);
        }
        if self.riders.mean {
            self.output_of(output, self.riders.functions() - 1, to, |to| &mut to.mean);
        }
        self.mix(to);
    }

    fn output_of(&self, output: &Output, function: usize, to: &mut Reading, out: impl Fn(&mut Reading) -> &mut Vec<f64>) {
        let (d, per_plane) = (self.outputs, self.columns());
        let mut gathered = std::mem::take(&mut to.gathered);
        match output {
            Output::Identity => gathered.copy_from_slice(&to.sums[function * d..(function + 1) * d]),
            Output::Full => gathered.copy_from_slice(&to.sums[function * d * d..(function + 1) * d * d]),
            _ => {
                for (gathered, plane) in gathered.chunks_exact_mut(d).zip(to.sums.chunks_exact(per_plane)) {
                    gathered.copy_from_slice(&plane[function * d..(function + 1) * d]);
                }
            }
        }
        output.apply_sums(&gathered, out(to));
        to.gathered = gathered;
    }

    fn sum_terms<'r>(&self, backend: Backend, output: &Output, row: impl Fn(usize) -> &'r [f32], sums: &mut [f64]) {
        let d = self.outputs;
        if let Output::Full = output {
            for (i, sum) in sums.iter_mut().enumerate() {
                let (function, plane) = (i / (d * d), i % (d * d));
                self.sum_columns(backend, row(plane), 0, function * d + plane % d, std::slice::from_mut(sum));
            }
            return;
        }
        for (plane, sums) in sums.chunks_exact_mut(self.columns().max(1)).enumerate() {
            self.sum_columns(backend, row(plane), 0, 0, sums);
        }
    }

    /// Computes the sum of every column over one chunk of slots.
    pub(crate) fn sum_chunk(&self, backend: Backend, row: &[f32], chunk: usize, totals: &mut [f64]) {
        self.sum_columns(backend, row, chunk * CHUNK, 0, totals);
    }

    /// Sums `sums.len()` columns, starting with column `first`, over the `row.len()` slots that start at `slot`; `TOGETHER`
    /// columns at a time.
    fn sum_columns(&self, backend: Backend, row: &[f32], slot: usize, first: usize, sums: &mut [f64]) {
        let column = |i: usize| &self.data[i * self.stride + slot..][..row.len()];
        if let [sum] = sums {
            return backend.weighted_sums(row, &[column(first)], std::slice::from_mut(sum));
        }
        for (group, sums) in sums.chunks_mut(TOGETHER).enumerate() {
            let start = first + group * TOGETHER;
            let columns: [&[f64]; TOGETHER] = std::array::from_fn(|i| if i < sums.len() { column(start + i) } else { &[] });
            backend.weighted_sums(row, &columns[..sums.len()], sums);
        }
    }

    /// Applies the lazy scales: f, trace and average are linear combinations of the stored functions.
    fn mix(&self, to: &mut Reading) {
        let Scales { f: s, trace: (p, q), mean: (mp, mq) } = self.scales;
        for o in 0..self.outputs {
            if self.riders.trace {
                to.trace[o] = p * to.trace[o] + q * to.f[o];
            }
            if self.riders.mean {
                to.mean[o] = mp * to.mean[o] + mq * to.f[o];
            }
            to.f[o] *= s;
        }
    }

    /// Applies one step to all old coefficients by changing the scales: the mean is updated with f at weight `omega`, then v <-
    /// decay c v - eta lambda f and f <- c f, with c = `keep` and eta lambda = `pull`.
    pub(crate) fn shrink(&mut self, keep: f64, pull: f64, decay: f64, omega: f64) {
        let Scales { f: s, trace: (p, q), mean: (mp, mq) } = self.scales;
        self.scales = Scales {
            f: keep * s,
            trace: (decay * keep * p, decay * keep * q - pull * s),
            mean: ((1.0 - omega) * mp, (1.0 - omega) * mq + omega * s),
        };
        self.tidy();
    }

    /// Multiplies f and its trace by `factor`. The average does not change, because it contains earlier hypotheses only.
    pub(crate) fn scale(&mut self, factor: f64) {
        let Scales { f, trace, mean } = self.scales;
        self.scales = Scales { f: f * factor, trace: (trace.0 * factor, trace.1 * factor), mean };
        self.tidy();
    }

    /// Sets f and its riders to 0.
    pub(crate) fn zero(&mut self) {
        self.rewrite(Rewrite::Zero);
        self.scales = Scales::FRESH;
        self.steps.iter_mut().for_each(Steps::restart);
    }

    /// Whether all coefficients of the first slots are zero, including the riders'.
    pub(crate) fn is_zero(&self, slots: usize) -> bool {
        self.data.chunks_exact(self.stride.max(1)).all(|column| column[..slots.min(column.len())].iter().all(|a| *a == 0.0))
    }

    fn tidy(&mut self) {
        let Scales { f: s, trace: (p, q), mean: (mp, mq) } = self.scales;
        let lost = |own: f64, other: f64| own.abs() <= BAKE * other.abs();
        let Riders { trace, mean } = self.riders;
        let far = !(1.0 / LARGEST_SCALE..LARGEST_SCALE).contains(&s.abs());
        let trace_worn = if self.steps.is_some() { self.trace_has_faded() } else { lost(p, q) || lost(p, s) };
        let worn = (trace && trace_worn) || (mean && (lost(mp, mq) || lost(s, mq)));
        if worn || s == 0.0 || (far && (trace || mean)) {
            self.bake();
        } else if far {
            self.renormalise();
        }
    }

    /// Moves the scale of f into the coefficients by a power of two: the coefficients alpha keep their exact values.
    fn renormalise(&mut self) {
        let power = libm::scalbn(1.0, libm::ilogb(self.scales.f));
        self.scales.f /= power;
        self.rewrite(Rewrite::Power(power));
    }

    /// Multiplies the scales into the stored coefficients and resets the scales.
    fn bake(&mut self) {
        self.rewrite(Rewrite::Scales(self.scales));
        self.scales = Scales::FRESH;
    }

    /// Changes all stored coefficients.
    pub(crate) fn rewrite(&mut self, rewrite: Rewrite) {
        match rewrite {
            Rewrite::Power(power) => self.data.iter_mut().for_each(|a| *a *= power),
            Rewrite::Scales(scales) => self.multiply_by(scales),
            Rewrite::Negate => negate(&mut self.data),
            Rewrite::Zero => self.data.fill(0.0),
            Rewrite::Outputs(outputs) => return self.add_outputs(outputs),
        }
        self.changes.note_all();
        self.changes.record(rewrite);
    }

    /// Multiplies scales into the stored coefficients. A scale may be negative; the zeros of features that a learner does not know
    /// yet are +0, so all zeros stay +0.
    fn multiply_by(&mut self, scales: Scales) {
        let Scales { f: s, trace: (p, q), mean: (mp, mq) } = scales;
        let (riders, block) = (self.riders, self.outputs * self.stride);
        let (a, rest) = self.data.split_at_mut(block);
        let (b, g) = rest.split_at_mut(if riders.trace { block } else { 0 });
        b.iter_mut().zip(&*a).for_each(|(b, a)| *b = p * *b + q * a + 0.0);
        g.iter_mut().zip(&*a).for_each(|(g, a)| *g = mp * *g + mq * a + 0.0);
        a.iter_mut().for_each(|a| *a = *a * s + 0.0);
    }

    /// Negates f and its riders. The stored coefficients change, not the scales, so the result is bit-identical to learning with
    /// the opposite sign.
    pub(crate) fn negate(&mut self) {
        self.rewrite(Rewrite::Negate);
    }

    pub(crate) fn forget_trace(&mut self) {
        if self.riders.trace {
            self.changes.note_all();
            let block = self.outputs * self.stride;
            self.data[block..2 * block].fill(0.0);
            self.scales.trace = (1.0, 0.0);
        }
    }

    /// Adds (alpha, beta) to a slot. The average does not change until the next step.
    pub(crate) fn add(&mut self, slot: usize, alpha: &[f64], trace: &[f64]) {
        self.changes.note(slot);
        let Scales { f: s, trace: (p, q), mean: (mp, mq) } = self.scales;
        for o in 0..self.outputs {
            let a = alpha[o] / s;
            *self.at(0, o, slot) += a;
            if self.riders.trace {
                *self.at(1, o, slot) += (trace[o] - q * a) / p;
            }
            if self.riders.mean {
                *self.at(self.riders.functions() - 1, o, slot) -= mq * a / mp;
            }
        }
    }

    /// Adds (alpha, beta) k(x, .), where k(x, .) is the sum of the basis functions with the weights `values`. The average does
    /// not change until the next step.
    pub(crate) fn spread(&mut self, values: &[f32], alpha: &[f64], trace: &[f64]) {
        self.spread_with(alpha, trace, |column, by| {
            column.iter_mut().zip(values).for_each(|(to, v)| *to += by * f64::from(*v));
        });
    }

    /// The same for the features of a sparse row: adding a product with zero changes nothing.
    pub(crate) fn spread_sparse(&mut self, row: SparseRow<'_>, alpha: &[f64], trace: &[f64]) {
        self.spread_with(alpha, trace, |column, by| {
            row.iter().for_each(|(place, v)| column[place as usize] += by * f64::from(v));
        });
    }

    /// Calls `add` with every column and the factor of the row in it.
    fn spread_with(&mut self, alpha: &[f64], trace: &[f64], add: impl Fn(&mut [f64], f64)) {
        self.changes.note_all();
        let Scales { f: s, trace: (p, q), mean: (mp, mq) } = self.scales;
        let (d, stride, riders) = (self.outputs, self.stride, self.riders);
        let mut add = |column: usize, by: f64| add(&mut self.data[column * stride..][..stride], by);
        for o in 0..d {
            let a = alpha[o] / s;
            add(o, a);
            if riders.trace {
                add(d + o, (trace[o] - q * a) / p);
            }
            if riders.mean {
                add((riders.functions() - 1) * d + o, -mq * a / mp);
            }
        }
    }

    /// Sets the coefficients of a slot.
    pub(crate) fn set(&mut self, slot: usize, term: &Term) {
        self.changes.note(slot);
        let Scales { f: s, trace: (p, q), mean: (mp, mq) } = self.scales;
        for o in 0..self.outputs {
            let a = term.alpha[o] / s;
            *self.at(0, o, slot) = a;
            if self.riders.trace {
                *self.at(1, o, slot) = (term.trace[o] - q * a) / p;
            }
            if self.riders.mean {
                *self.at(self.riders.functions() - 1, o, slot) = (term.mean[o] - mq * a) / mp;
            }
        }
    }

    pub(crate) fn get(&self, slot: usize, term: &mut Term) {
        let Scales { f: s, trace: (p, q), mean: (mp, mq) } = self.scales;
        term.fit(self.outputs);
        for o in 0..self.outputs {
            let a = self.stored(0, o, slot);
            term.alpha[o] = s * a;
            if self.riders.trace {
                term.trace[o] = p * self.stored(1, o, slot) + q * a;
            }
            if self.riders.mean {
                term.mean[o] = mp * self.stored(self.riders.functions() - 1, o, slot) + mq * a;
            }
        }
    }

    /// out[i] = sum_o weights[o] alpha_o of slot i, computed column by column.
    pub(crate) fn weighted(&self, weights: &[f64], slots: usize, out: &mut Vec<f64>) {
        out.resize(slots, 0.0);
        for (o, w) in weights.iter().enumerate() {
            let (w, column) = (w * self.scales.f, &self.data[o * self.stride..][..slots]);
            match o {
                0 => out.iter_mut().zip(column).for_each(|(out, a)| *out = w * a),
                _ => out.iter_mut().zip(column).for_each(|(out, a)| *out += w * a),
            }
        }
    }

    /// out[i] = alpha^T J alpha of slot i, computed column by column; J = I when not given.
    pub(crate) fn squares(&self, j: Option<&[f64]>, slots: usize, out: &mut Vec<f64>) {
        let (d, s2) = (self.outputs, self.scales.f * self.scales.f);
        let column = |o: usize| &self.data[o * self.stride..][..slots];
        out.resize(slots, 0.0);
        if d == 1 && j.is_none() {
            out.iter_mut().zip(column(0)).for_each(|(out, a)| *out = s2 * a * a);
            return;
        }
        out.fill(0.0);
        for (o, p) in (0..d * d).map(|i| (i / d, i % d)) {
            let weight = s2 * j.map_or(f64::from(u8::from(o == p)), |j| j[o * d + p]);
            if weight != 0.0 {
                out.iter_mut().zip(column(o)).zip(column(p)).for_each(|((out, a), b)| *out += weight * a * b);
            }
        }
    }

    /// The stored numbers of the first output: alpha of slot i is `scales.f` times the number at i.
    pub(crate) fn stored_values(&self, slots: usize) -> &[f64] {
        &self.data[..slots]
    }

    /// alpha of one output at one slot.
    pub fn alpha(&self, output: usize, slot: usize) -> f64 {
        self.scales.f * self.stored(0, output, slot)
    }

    /// The coefficient of SVMD's trace v, if there is one.
    pub fn trace(&self, output: usize, slot: usize) -> Option<f64> {
        let (p, q) = self.scales.trace;
        self.riders.trace.then(|| p * self.stored(1, output, slot) + q * self.stored(0, output, slot))
    }

    /// The coefficient of the averaged hypothesis, if there is one.
    pub fn mean(&self, output: usize, slot: usize) -> Option<f64> {
        let (mp, mq) = self.scales.mean;
        let last = self.riders.functions() - 1;
        self.riders.mean.then(|| mp * self.stored(last, output, slot) + mq * self.stored(0, output, slot))
    }

    /// A copy without the average.
    pub(crate) fn without_mean(&self) -> Self {
        let riders = Riders { mean: false, ..self.riders };
        let mut data = Aligned::zeros(self.outputs * riders.functions() * self.stride);
        let kept = data.len();
        data.copy_from_slice(&self.data[..kept]);
        let scales = Scales { mean: Scales::FRESH.mean, ..self.scales };
        Coordinates { riders, data, scales, changes: Changes::default(), steps: self.steps.clone(), ..*self }
    }

    pub(crate) fn clear(&mut self, slot: usize) {
        self.changes.note(slot);
        for column in self.data.chunks_exact_mut(self.stride) {
            column[slot] = 0.0;
        }
    }

    fn at(&mut self, function: usize, output: usize, slot: usize) -> &mut f64 {
        &mut self.data[(function * self.outputs + output) * self.stride + slot]
    }

    fn stored(&self, function: usize, output: usize, slot: usize) -> f64 {
        self.data[(function * self.outputs + output) * self.stride + slot]
    }

    /// The stored columns, limited to the first `slots` slots, for a snapshot.
    pub(crate) fn columns_of(&self, slots: usize) -> impl Iterator<Item = &[f64]> {
        self.data.chunks_exact(self.stride.max(1)).map(move |column| &column[..slots])
    }

    /// A copy with some of the slots, in this order.
    pub(crate) fn subset(&self, slots: &[usize]) -> Self {
        let mut copy = Coordinates { scales: self.scales, ..Coordinates::new(self.outputs, self.riders) };
        let columns = (0..self.columns()).map(|column| &self.data[column * self.stride..]);
        let values: Vec<f64> = columns.flat_map(|column| slots.iter().map(|&slot| column[slot])).collect();
        copy.restore(slots.len(), &values);
        copy
    }

    /// Restores the stored columns from the numbers of `columns_of`, one column after the other. The caller restores the scales
    /// separately.
    pub(crate) fn restore(&mut self, slots: usize, columns: &[f64]) {
        self.reserve(slots);
        self.changes.note_all();
        if slots > 0 {
            for (to, from) in self.data.chunks_exact_mut(self.stride).zip(columns.chunks_exact(slots)) {
                to[..slots].copy_from_slice(from);
            }
        }
    }
}
