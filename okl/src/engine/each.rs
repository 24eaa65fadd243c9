//! The step of a head whose coordinates have step sizes of their own: V(1)-(3), `coordinates/steps.rs`.
//!
//! The offset of each output is a coordinate with the feature 1 and without a regulariser, and theta is one more. Weights move when the
//! step is written ([`Head::advance`]), because only then the features of the row are at hand. So the check before the step uses upper
//! bounds instead of the numbers after it.

use crate::coordinates::{Advance, Features, StepSizes, Steps};
use crate::engine::head::Head;
use crate::engine::norms::at_least_zero;
use crate::engine::plan::LARGEST;
use crate::parts::output::{Output, dot};
use crate::parts::step::{Adaptation, StepSize};

fn length(values: &[f64]) -> f64 {
    dot(values, values).sqrt()
}

impl<S: StepSize> Head<S> {
    fn rule(&self) -> Option<Adaptation> {
        self.f.steps().and(self.step.per_coordinate(self.lambda))
    }

    /// The first step size, within its limits.
    pub(super) fn first_eta(&self) -> f64 {
        self.rule().map_or(self.step.start(), |rule| rule.eta(self.step.start(), 0.0))
    }

    /// Regularisation in a step: none at a quiet example.
    fn lambda_of_step(&self) -> f64 {
        if self.plan.quiet { 0.0 } else { self.plan.lambda }
    }

    /// The smallest, the median and the largest step size of the weights that have moved and of the offsets. None if there is one step
    /// size for all, or if nothing has moved.
    pub fn step_sizes(&self) -> Option<StepSizes> {
        self.f.steps()?;
        let mut sizes = Vec::new();
        self.f.moved_steps(&mut sizes);
        let of_offset = self.offset_etas.iter().zip(self.offset.iter().zip(&self.offset_trace));
        sizes.extend(of_offset.filter(|(_, (b, v))| **b != 0.0 || **v != 0.0).map(|(eta, _)| *eta));
        StepSizes::of(sizes)
    }

    /// No coefficient of k(x, .) is planned: the weights move one by one.
    pub(super) fn plan_each(&mut self) {
        let plan = &mut self.plan;
        plan.alpha.fill(0.0);
        plan.beta.fill(0.0);
        plan.reach = 0.0;
    }

    /// An upper bound on |w|² + |v|², and on the squares of the offsets and of their traces, after the planned step: with |phi|² = k(x, x),
    /// |g| <= |xi| |phi| + lambda |w|, and no step size above the largest one times its largest factor. 0 if there is one step size for
    /// all.
    pub(super) fn bound_of_each(&mut self, own: &[f64], output: &Output) -> f64 {
        let Some(rule) = self.rule() else { return 0.0 };
        let features = output.largest(own).max(0.0).sqrt();
        let bound = self.bound_with(rule, features);
        if bound <= LARGEST {
            return bound;
        }
        // The largest step size may have become smaller since it was found.
        self.f.steps_mut().into_iter().for_each(Steps::find_largest);
        self.bound_with(rule, features)
    }

    fn bound_with(&self, rule: Adaptation, features: f64) -> f64 {
        let (plan, decay, lambda) = (&self.plan, self.plan.decay, self.lambda_of_step());
        let (w, v) = (self.norms.f2.sqrt(), self.norms.trace2.sqrt());
        let [xi, zeta] = [&plan.xi, &plan.zeta].map(|values| length(values));
        let of_offset = length(&self.offset_trace);
        let of_weights = xi * features + lambda * w;
        let product = (of_weights * v).max(xi * of_offset);
        let last = self.offset_etas.iter().copied().fold(self.f.steps().map_or(0.0, Steps::largest), f64::max);
        let eta = (last * (1.0 + rule.mu * product).min(rule.growth)).min(rule.cap);
        let moved = w + eta * of_weights;
        let trace = decay * v + eta * (zeta * features + lambda * (w + decay * v));
        let offset = length(&self.offset) + self.offset_step * eta * xi;
        let offset_trace = decay * of_offset + self.offset_step * eta * zeta;
        moved * moved + trace * trace + offset * offset + offset_trace * offset_trace
    }

    /// Adapts the step sizes of the offsets: V(2) with g = xi.
    pub(super) fn adapt_offset_steps(&mut self) {
        let Some(rule) = self.rule() else { return };
        for (eta, (xi, trace)) in self.offset_etas.iter_mut().zip(self.plan.xi.iter().zip(&self.offset_trace)) {
            *eta = rule.eta(*eta, xi * trace);
        }
    }

    /// Takes the planned step for the weights of the features of a row.
    pub(super) fn advance(&mut self, row: Features<'_>) {
        let Some(rule) = self.rule().filter(|_| !self.plan.rests) else { return };
        let (lambda, decay) = (self.lambda_of_step(), self.plan.decay);
        let by = Advance { rule, decay, lambda, xi: &self.plan.xi, zeta: &self.plan.zeta };
        let change = self.f.advance(row, &by);
        let norms = &mut self.norms;
        let kept = if change.whole { 0.0 } else { 1.0 };
        norms.f2 = at_least_zero(kept * norms.f2 + change.f2);
        norms.product = kept * decay * norms.product + change.product;
        norms.trace2 = at_least_zero(kept * decay * decay * norms.trace2 + change.trace2);
    }
}
