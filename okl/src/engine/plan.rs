//! The step of a head for one example. It is computed completely and checked before any state changes.
//!
//! The unified step (algorithms.md section 0), with SVMD's recursions (3.2) and the proximal form (3.3):
//!
//! ```text
//! z = p + b                                     p = f(x), u = v(x), w the trace of b, q the trace of theta
//! xi = dl/dz                                    explicit: at z; implicit: at the score after the step, by the prox of the loss
//! eta: clamp(1 - mu <g, v>) eta,   <g, v> = lambda pi + xi^T (u + w) + dtheta q                       V(16), V(21)
//! c = 1 - eta lambda omega'/|f|                 implicit: c = 1/(1 + eta lambda); shrink = on_update: c = 1 where xi = 0 (7.1)
//! f <- c f - eta xi k(x, .)        b <- b - eta xi        theta <- Pi(theta - eta dtheta)              N(6), N(8)-(10), V(15)
//! v <- decay c v - eta lambda f - eta zeta k(x, .)        zeta = xi + decay h (u + w)                  V(17)
//! ```

use crate::coordinates::{Reading, Term};
use crate::engine::head::Head;
use crate::engine::norms::{Norms, at_least_zero, own_form, own_mass};
use crate::engine::rules::{Objective, Rules};
use crate::parts::loss::{Eval, Loss, Metric};
use crate::parts::output::{Output, dot};
use crate::parts::regulariser::Regulariser;
use crate::parts::step::{LARGEST_SHRINK, Signal, StepSize};

/// The largest number of a state.
pub(super) const LARGEST: f64 = 1e150;

/// A state of this size stays below the largest one if a loss is added that grows as the scores do: at most twice the size and a little.
const SMALL: f64 = LARGEST / 8.0;

/// A step that has been computed and not yet taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub xi: Vec<f64>,
    pub zeta: Vec<f64>,
    lifted: Vec<f64>,
    metric: Vec<f64>,
    /// The coefficients of the new term.
    pub alpha: Vec<f64>,
    pub beta: Vec<f64>,
    pub eval: Eval,
    pub weight: f64,
    /// lambda times the share of the example in the objective.
    pub lambda: f64,
    pub eta: f64,
    /// f <- keep f, v <- decay keep v - pull f.
    pub keep: f64,
    pub pull: f64,
    pub decay: f64,
    /// Whether eta was reduced so that eta lambda stays below one.
    pub cut: bool,
    /// No gradient and no shrinking: f stays unchanged (`shrink = on_update`).
    pub quiet: bool,
    /// The norms after the step. Exception: `mass` is that of the new term alone, |alpha| sqrt(lambda_max(K(x, x))).
    pub norms: Norms,
    /// The norms before the step.
    pub before: Norms,
    pub forget_trace: bool,
    /// The factor in alpha = -reach xi: eta, or eta keep for a proximal step.
    pub reach: f64,
    /// Whether the state after the step is finite.
    pub finite: bool,
    /// No step is taken: the head of a bank rests, and f = 0.
    pub rests: bool,
}

impl Plan {
    /// Resizes the vectors to `d` outputs.
    pub fn fit(&mut self, d: usize) {
        if self.xi.len() == d {
            return;
        }
        for v in [&mut self.xi, &mut self.zeta, &mut self.lifted, &mut self.metric, &mut self.alpha, &mut self.beta] {
            v.resize(d, 0.0);
        }
    }

    /// Whether the step adds a term.
    pub fn appends(&self) -> bool {
        self.alpha.iter().chain(&self.beta).any(|&a| a != 0.0)
    }

    /// Copies the coefficients of the new term to `to`, for [`Norms::change`].
    pub fn term(&self, to: &mut Term) {
        to.fit(self.alpha.len());
        to.alpha.clone_from(&self.alpha);
        to.trace.clone_from(&self.beta);
    }

    /// The loss before the step, times the example's weight.
    pub fn loss(&self) -> f64 {
        self.weight * self.eval.loss
    }
}

/// The example of a step, as a head sees it.
pub(crate) struct Example<'a> {
    pub t: u64,
    pub y: &'a [f64],
    /// The weight of the loss: that of the row times `share`.
    pub weight: f64,
    /// The share of the example in the objective: it multiplies lambda.
    pub share: f64,
    /// Whether this is the first row of its class. Then every decision counts as wrong.
    pub new_class: bool,
}

impl<S: StepSize> Head<S> {
    /// Computes the step for one example, given the values `at` of f and its riders. Returns false if the state after the step
    /// would not be finite.
    pub(crate) fn plan<L: Loss, R: Regulariser>(
        &mut self,
        objective: &Objective<'_, L, R>,
        at: &Reading,
        own: &[f64],
        example: &Example<'_>,
    ) -> bool {
        let Objective { loss, output, rules, .. } = *objective;
        let spared = self.spares_loss(objective);
        let plan = &mut self.plan;
        plan.fit(self.offset.len());
        plan.rests = false;
        plan.weight = example.weight;
        plan.lambda = self.lambda * example.share;
        plan.eval = if spared { Eval::default() } else { loss.eval(&at.z, example.y, self.theta, &mut plan.xi) };
        plan.xi.iter_mut().for_each(|xi| *xi *= example.weight);
        plan.quiet = !rules.shrink.is_always() && plan.xi.iter().all(|xi| *xi == 0.0);
        plan.decay = self.step.trace().unwrap_or(0.0);
        let product = self.gradient_trace_product(at);
        let size = example.weight * (output.largest(&own[self.plane..]) + self.own_of_offset(rules));
        self.choose_step(rules, example.t - self.born, product, size);
        match rules.implicit && !self.plan.quiet {
            true => self.implicit_gradient(objective, at, own[self.plane], example),
            false => self.explicit_gradient(loss, at, example),
        }
        self.new_norms(output, &own[self.plane..], rules.regulariser.is_square(), at);
        let size_of_each = self.bound_of_each(&own[self.plane..], output);
        let mut size = self.size_of_state(at) + size_of_each;
        if spared && size > SMALL {
            self.plan.eval = loss.eval(&at.z, example.y, self.theta, &mut self.plan.lifted);
            size = self.size_of_state(at) + size_of_each;
        }
        self.plan.finite = size <= LARGEST;
        self.plan.finite
    }

    /// Whether the loss and the gradient before the step are not computed: the proximal step writes the gradient after it, nobody reads the loss,
    /// and a loss that grows as the scores do can make the state too large only if the scores do.
    fn spares_loss<L: Loss, R>(&self, objective: &Objective<'_, L, R>) -> bool {
        let Objective { loss, output, rules, read } = *objective;
        let proximal = rules.implicit && rules.shrink.is_always() && matches!(output, Output::Identity);
        !read && proximal && !self.f.riders().trace && loss.grows_as_scores()
    }

    /// <g, v> = lambda pi + xi^T (u + w) + dtheta q, V(21) with offsets and theta (3.2). Also writes u + w into `lifted`. A quiet
    /// example is not regularised: lambda = 0 here, in the trace and in the norms.
    fn gradient_trace_product(&mut self, at: &Reading) -> f64 {
        let plan = &mut self.plan;
        plan.forget_trace = false;
        if !self.f.riders().trace {
            return 0.0;
        }
        for o in 0..plan.lifted.len() {
            plan.lifted[o] = at.trace[o] + self.offset_trace[o];
        }
        let of_theta = plan.weight * plan.eval.dtheta * self.theta_trace;
        if self.f.steps().is_some() {
            return of_theta; // every coordinate has a product of its own: coordinates/steps.rs
        }
        let lambda = if plan.quiet { 0.0 } else { plan.lambda };
        let product = lambda * self.norms.product + dot(&plan.xi, &plan.lifted) + of_theta;
        if product.is_finite() {
            return product;
        }
        plan.forget_trace = true;
        plan.lifted.fill(0.0);
        0.0
    }

    /// What the offset adds to k(x, x).
    fn own_of_offset<R>(&self, rules: &Rules<R>) -> f64 {
        if rules.offset { self.offset_step } else { 0.0 }
    }

    fn choose_step<R: Regulariser>(&mut self, rules: &Rules<R>, t: u64, product: f64, size: f64) {
        let signal = Signal { t, lambda: self.lambda, last: self.eta, product, size };
        let mut eta = self.step.eta(&signal);
        self.plan.cut = false;
        if self.f.steps().is_some() {
            (self.plan.eta, self.plan.keep, self.plan.pull) = (eta, 1.0, 0.0);
            return;
        }
        if rules.implicit {
            // 3.3: the proximal step does not need eta lambda < 1.
            self.plan.keep = 1.0 / (1.0 + eta * self.plan.lambda);
        } else {
            let square = rules.regulariser.is_square();
            let lambda = self.plan.lambda;
            let pull = if square { lambda } else { lambda * rules.regulariser.pull(self.norms.f2.sqrt()) };
            if square && !rules.allow_overshoot && eta * pull >= 1.0 {
                eta = LARGEST_SHRINK / pull;
                self.plan.cut = true;
            }
            let keep = 1.0 - eta * pull;
            self.plan.keep = if square { keep } else { keep.max(0.0) };
            self.plan.pull = eta * pull;
        }
        if self.plan.quiet {
            (self.plan.keep, self.plan.pull) = (1.0, 0.0);
        }
        self.plan.eta = eta;
    }

    /// alpha = -eta xi, beta = -eta zeta with zeta = xi + decay h (u + w).
    fn explicit_gradient<L: Loss>(&mut self, loss: &L, at: &Reading, example: &Example<'_>) {
        let plan = &mut self.plan;
        let eta = plan.eta;
        plan.reach = eta;
        plan.alpha.iter_mut().zip(&plan.xi).for_each(|(a, xi)| *a = -eta * xi);
        if self.f.riders().trace {
            loss.curvature(&at.z, example.y, self.theta, &plan.lifted, &mut plan.zeta);
            let bend = plan.decay * plan.weight;
            plan.zeta.iter_mut().zip(&plan.xi).for_each(|(zeta, xi)| *zeta = xi + bend * *zeta);
            plan.beta.iter_mut().zip(&plan.zeta).for_each(|(b, zeta)| *b = -eta * zeta);
        }
        if self.f.steps().is_some() {
            self.plan_each();
        }
    }

    /// Solves xi = dl/dz at z0 - C xi, where z0 = c p + b and C = eta (c k J + offset_step) (3.3); then alpha = -eta c xi.
    fn implicit_gradient<L: Loss, R>(&mut self, objective: &Objective<'_, L, R>, at: &Reading, own: f64, example: &Example<'_>) {
        let Objective { loss, output, rules, .. } = *objective;
        let of_offset = self.own_of_offset(rules);
        let plan = &mut self.plan;
        let (eta, keep, weight) = (plan.eta, plan.keep, plan.weight);
        let metric = |s: f64| weight * eta * (keep * own * s + of_offset);
        let operator = output.single().map(|j| j.eigen());
        for o in 0..at.z.len() {
            plan.lifted[o] = keep * at.f[o] + self.offset[o];
            plan.metric[o] = metric(operator.map_or(1.0, |e| e.values[o].max(0.0)));
        }
        let c = Metric { c: &plan.metric, basis: operator.map(|e| e.vectors.as_slice()) };
        // If the loss has no proximal step, the explicit gradient stays in xi. The check of the configuration rules this case
        // out.
        if loss.prox(&plan.lifted, example.y, self.theta, &c, &mut plan.xi) {
            plan.xi.iter_mut().for_each(|xi| *xi *= weight);
        }
        plan.reach = eta * keep;
        plan.alpha.iter_mut().zip(&plan.xi).for_each(|(a, xi)| *a = -eta * keep * xi);
    }

    /// |f|² <- c² |f|² + 2 c alpha^T p + alpha^T K alpha, V(25); <f, v> and |v|² by 3.2, which generalises V(22)-(24).
    fn new_norms(&mut self, output: &Output, values: &[f64], square: bool, at: &Reading) {
        if self.f.steps().is_some() {
            self.plan.norms = Norms { mass: 0.0, ..self.norms };
            return;
        }
        let Plan { alpha, keep, .. } = &self.plan;
        let c = *keep;
        let parts = [c * c * self.norms.f2, 2.0 * c * dot(alpha, &at.f), own_form(output, values, alpha)];
        let mass = own_mass(output, values, alpha);
        let trace = self.f.riders().trace;
        let bound = self.truncation > 0.0 && square && !trace;
        let (product, trace2) = if trace { self.new_trace_norms(output, values, at) } else { (0.0, 0.0) };
        self.plan.norms = Norms { f2: self.norms.after_step(c, parts, mass, bound), product, trace2, mass };
    }

    fn new_trace_norms(&self, output: &Output, values: &[f64], at: &Reading) -> (f64, f64) {
        let Plan { xi, zeta, eta, keep: c, pull: shrink, decay, .. } = &self.plan;
        let (f, v) = (&at.f, &at.trace);
        let old = if self.plan.forget_trace { (0.0, 0.0) } else { (self.norms.product, self.norms.trace2) };
        let (xi_v, zeta_v) = if self.plan.forget_trace { (0.0, 0.0) } else { (dot(xi, v), dot(zeta, v)) };
        let product = decay * c * c * old.0 - shrink * c * self.norms.f2 - eta * c * dot(zeta, f) - eta * decay * c * xi_v
            + eta * shrink * dot(xi, f)
            + eta * eta * output.form(values, xi, zeta);
        let norm2 = decay * decay * c * c * old.1 + shrink * shrink * self.norms.f2 + eta * eta * output.form(values, zeta, zeta)
            - 2.0 * decay * c * shrink * old.0
            - 2.0 * decay * c * eta * zeta_v
            + 2.0 * eta * shrink * dot(zeta, f);
        (product, at_least_zero(norm2))
    }

    /// The sum of all numbers after the step. If it is at most 1e150, the sums of the certificates, and the norms after a loss, are
    /// finite as well. Absolute values are added, so that no two numbers cancel. Coordinates that have step sizes of their own are bounded apart.
    fn size_of_state(&self, at: &Reading) -> f64 {
        let p = &self.plan;
        let theta = p.weight * p.eval.dtheta * p.eta;
        let mut size =
            p.keep.abs() + p.norms.f2 + p.eval.loss.abs() + theta.abs() + p.norms.product.abs() + p.norms.trace2 + p.weight;
        for o in 0..at.z.len() {
            size +=
                p.alpha[o].abs() + p.beta[o].abs() + at.z[o].abs() + (self.offset[o] - self.offset_step * p.eta * p.xi[o]).abs();
        }
        size
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::rules::HeadParts;
    use crate::parts::loss::AnyLoss;
    use crate::parts::regulariser::AnyRegulariser;
    use crate::parts::step::AnyStep;

    /// The step of a head whose loss nobody reads is that of a head whose loss is read, also where the loss decides that the state is too large.
    #[test]
    fn a_loss_that_is_not_read_changes_no_step() {
        let rules = Rules::<AnyRegulariser> { implicit: true, offset: true, ..Rules::default() };
        let example = Example { t: 1, y: &[1.0], weight: 1.0, share: 1.0, new_class: false };
        let step = |z: [f64; 3], read| {
            let mut head = Head::new(HeadParts::new(AnyStep::Constant { eta: 2.0 }, 1e-5), 3, 0.0, false, None);
            let mut at = Reading::default();
            (at.f, at.z) = (z.to_vec(), z.to_vec());
            head.plan(
                &Objective { loss: &AnyLoss::Softmax {}, output: &Output::Identity, rules: &rules, read },
                &at,
                &[1.0],
                &example,
            );
            (head.plan.finite, head.plan.alpha.clone(), head.plan.xi.clone(), head.plan.norms.f2)
        };
        let sizes = [1.0, 1e100, 1e148, 1e149, 2e149, 3e149, 4e149, 6e149];
        let both: Vec<_> = sizes.iter().map(|s| [true, false].map(|read| step([*s, -s, 0.5 * s], read))).collect();
        both.iter().for_each(|[read, not_read]| assert_eq!(read, not_read));
        // Of the sizes from 3e149 on, the scores alone are below the limit and the loss is not.
        let finite: Vec<bool> = both.iter().map(|both| both[0].0).collect();
        assert_eq!(finite, [true, true, true, true, true, false, false, false]);
    }
}
