//! One learner over the shared basis: coordinates, offset, theta, step size, norms and certificates.
//!
//! A step is planned (`plan.rs`), checked, and only then taken ([`Head::take`]).

use crate::certificate::{Rate, Regret, RegretStep, Tracker};
use crate::coordinates::{Coordinates, Reading, Riders, Term, negate};
use crate::engine::norms::{Norms, own_form, own_mass};
use crate::engine::plan::{Example, Plan};
pub use crate::engine::rules::{Average, HeadParts, Rules, Shrink};
use crate::parts::loss::{Loss, Reads};
use crate::parts::output::{Output, dot};
use crate::parts::regulariser::Regulariser;
use crate::parts::step::StepSize;

/// One learner over the shared basis: its coordinates, offset, theta, step size, norms and certificates.
#[derive(Clone, Debug)]
pub struct Head<S> {
    pub(crate) step: S,
    pub(crate) lambda: f64,
    /// The first plane of kernel values that it reads.
    pub(crate) plane: usize,
    average: Average,
    both: bool,
    pub(crate) f: Coordinates,
    pub(crate) eta: f64,
    pub(crate) offset: Vec<f64>,
    pub(crate) offset_trace: Vec<f64>,
    pub(crate) offset_mean: Vec<f64>,
    pub(crate) theta: f64,
    pub(crate) theta_trace: f64,
    pub(crate) theta_mean: f64,
    pub(crate) norms: Norms,
    pub(crate) truncation: f64,
    pub(crate) mean_truncation: f64,
    pub(crate) regret: Regret,
    pub(crate) rate: Rate,
    pub(crate) tracker: Option<Tracker>,
    /// Steps whose eta was cut so that eta lambda stays below one.
    pub(crate) cut_steps: u64,
    /// The step that is planned, or was taken last.
    pub(crate) plan: Plan,
}

/// A score of a head, and its loss times the example's weight where that is known.
#[derive(Clone, Copy)]
pub(crate) struct Voice<'a> {
    pub scores: &'a [f64],
    pub loss: Option<f64>,
    /// Does its head take no step?
    pub rests: bool,
}

impl<S: StepSize> Head<S> {
    pub(crate) fn new(parts: HeadParts<S>, outputs: usize, theta: f64, regret: bool, tracker: Option<Tracker>) -> Self {
        let HeadParts { step, lambda, plane, average, both } = parts;
        let riders = Riders { trace: step.trace().is_some(), mean: average != Average::None };
        let eta = step.start();
        let zeros = vec![0.0; outputs];
        Head {
            step,
            lambda,
            plane,
            average,
            both,
            eta,
            f: Coordinates::new(outputs, riders),
            offset: zeros.clone(),
            offset_trace: zeros.clone(),
            offset_mean: zeros,
            theta,
            theta_trace: 0.0,
            theta_mean: 0.0,
            norms: Norms::default(),
            truncation: 0.0,
            mean_truncation: 0.0,
            regret: Regret { holds: regret, ..Regret::default() },
            rate: Rate::new(theta),
            tracker,
            cut_steps: 0,
            plan: Plan::default(),
        }
    }

    /// The head that has one voice only: the average, or the last hypothesis.
    pub(crate) fn alone(&self, averaged: bool) -> Self
    where
        S: Clone,
    {
        let head = Head { plane: 0, both: false, ..self.clone() };
        if averaged || !self.both {
            return head;
        }
        let offset_mean = vec![0.0; self.offset.len()];
        let f = self.f.without_mean();
        Head { average: Average::None, f, offset_mean, theta_mean: 0.0, mean_truncation: 0.0, ..head }
    }

    /// f over the shared basis.
    pub fn expansion(&self) -> &Coordinates {
        &self.f
    }
    /// The regulariser lambda.
    pub fn lambda(&self) -> f64 {
        self.lambda
    }
    /// The step size of the last step.
    pub fn eta(&self) -> f64 {
        self.eta
    }
    /// The offset b.
    pub fn offset(&self) -> &[f64] {
        &self.offset
    }
    /// The offset that goes with the averaged hypothesis; 0 where nothing is averaged.
    pub fn offset_mean(&self) -> &[f64] {
        &self.offset_mean
    }
    /// The adaptive scalar: margin, tube or scale.
    pub fn theta(&self) -> f64 {
        self.theta
    }
    /// SVMD's trace of the offset: its derivative in ln eta (E16).
    pub fn offset_trace(&self) -> &[f64] {
        &self.offset_trace
    }
    /// SVMD's trace of theta.
    pub fn theta_trace(&self) -> f64 {
        self.theta_trace
    }
    /// |f|²: exact until a term is dropped, an upper bound after; exact under smd and where the regulariser is not the square.
    ///
    /// Exact means up to the rounding of kernel values, which have single precision. The upper bound includes that rounding as far as
    /// a value is within 32 2^-24 sqrt(k(x, x) k(y, y)) of the true one: `KERNEL_ROUNDING` says where that is proved.
    pub fn norm2(&self) -> f64 {
        self.norms.f2
    }
    /// <f, v> of SVMD; 0 without a trace.
    pub fn trace_product(&self) -> f64 {
        self.norms.product
    }
    /// |v|² of SVMD; 0 without a trace.
    pub fn trace_norm2(&self) -> f64 {
        self.norms.trace2
    }
    /// A bound E on |f_full - f|, f_full being the same updates with nothing dropped (3.6). So |f_full(x) - f(x)| is at most
    /// E sqrt(k(x, x) |J|), |J| being the largest eigenvalue of the output operator (1 without one), plus the rounding of the two
    /// sums over terms: kernel values have single precision, and under a kernel of x - x' that includes the rounding of |x - x'|².
    pub fn truncation_error(&self) -> f64 {
        self.truncation
    }
    /// The same for the averaged hypothesis; 0 where nothing is averaged.
    pub fn mean_truncation_error(&self) -> f64 {
        self.mean_truncation
    }
    /// The regret certificate (E25).
    pub fn regret(&self) -> &Regret {
        &self.regret
    }
    /// The record behind the rate certificate of theta (3.5).
    pub fn rate(&self) -> &Rate {
        &self.rate
    }
    /// The threshold of the averaged score, if there is one.
    pub fn tracker(&self) -> Option<&Tracker> {
        self.tracker.as_ref()
    }
    /// Steps whose eta was cut so that eta lambda stays below one.
    pub fn cut_steps(&self) -> u64 {
        self.cut_steps
    }

    /// The update of the last row with a target, before any budget: f <- keep f + k(x, .) alpha. Returns keep and alpha. The shrink of a
    /// Forgetron is a part of both. A head of a bank that rests returns keep = 0 and alpha = 0.
    ///
    /// Together with the rows this is enough to follow f with nothing dropped, as the truncation certificate compares it.
    pub fn last_update(&self) -> (f64, Vec<f64>) {
        (self.plan.keep, self.plan.xi.iter().map(|xi| -self.plan.reach * xi).collect())
    }

    pub(crate) fn add_outputs(&mut self, outputs: usize) {
        let outputs = outputs.max(self.offset.len());
        self.f.add_outputs(outputs);
        for v in [&mut self.offset, &mut self.offset_trace, &mut self.offset_mean] {
            v.resize(outputs.max(v.len()), 0.0);
        }
    }

    /// Adds the offsets to what was read of f and of its average: the scores.
    pub(crate) fn add_offsets(&self, at: &mut Reading) {
        for o in 0..self.offset.len() {
            at.z[o] = at.f[o] + self.offset[o];
            at.mean_z[o] = at.mean[o] + self.offset_mean[o];
        }
    }

    /// The scores of the head for a row that it has read: of the last hypothesis, of the average, or both, in this order.
    pub(crate) fn scores<'a>(&self, at: &'a Reading) -> impl Iterator<Item = &'a [f64]> + use<'a, S> {
        self.kinds().map(|averaged| if averaged { at.mean_z.as_slice() } else { &at.z })
    }

    /// These scores with what the planned step knows of their losses.
    pub(crate) fn voices<'a>(&self, at: &'a Reading) -> impl Iterator<Item = Voice<'a>> + use<'a, S> {
        let (rests, loss) = (self.plan.rests, self.plan.loss());
        self.kinds().zip(self.scores(at)).map(move |(averaged, scores)| Voice {
            scores,
            loss: (!averaged).then_some(loss),
            rests,
        })
    }

    /// Of each of them, is it the average?
    pub(crate) fn kinds(&self) -> impl Iterator<Item = bool> + use<S> {
        let averaged = self.f.riders().mean;
        let last = (!averaged || self.both).then_some(false);
        last.into_iter().chain(averaged.then_some(true))
    }

    /// How many those are.
    pub(crate) fn voice_count(&self) -> usize {
        self.kinds().count()
    }

    /// The score to report: the averaged one where there is an average.
    pub(crate) fn score<'a>(&self, at: &'a Reading) -> &'a [f64] {
        if self.f.riders().mean { &at.mean_z } else { &at.z }
    }

    /// What a novelty score is held against: the tracker's threshold once it is there, or theta where it is one.
    pub(crate) fn threshold<L: Loss>(&self, loss: &L) -> Option<f64> {
        match &self.tracker {
            Some(tracker) => tracker.ready().then(|| tracker.threshold()),
            None => loss.theta().filter(|_| loss.reads() == Reads::Nothing).map(|_| self.theta),
        }
    }

    /// Is the row that was read an alert of a novelty loss? By the tracker where there is one, else by the loss at the present theta.
    pub(crate) fn alert<L: Loss>(&self, loss: &L, threshold: Option<f64>, at: &Reading) -> Option<bool> {
        match &self.tracker {
            Some(_) => threshold.map(|th| at.mean_z[0] < th),
            None => (loss.reads() == Reads::Nothing).then(|| loss.eval(&at.z, &[], self.theta, &mut [0.0]).outside),
        }
    }

    /// Was the planned example outside the threshold of a novelty loss or the adaptive scalar of a nu-loss? By the tracker where
    /// there is one.
    pub(crate) fn outside<L: Loss>(&self, loss: &L, threshold: Option<f64>, at: &Reading) -> Option<bool> {
        match &self.tracker {
            Some(_) => threshold.map(|th| at.mean_z[0] < th),
            None => (loss.nu().is_some() || loss.reads() == Reads::Nothing).then_some(self.plan.eval.outside),
        }
    }

    /// Takes the planned step, up to the new term itself.
    pub(crate) fn take<L: Loss, R: Regulariser>(
        &mut self,
        loss: &L,
        output: &Output,
        rules: &Rules<R>,
        at: &Reading,
        own: &[f64],
        example: &Example<'_>,
    ) {
        self.certify(output, rules, own);
        let omega = self.average.weight(example.t);
        if self.plan.forget_trace {
            self.forget_trace();
        }
        self.plan.before = self.norms;
        let plan = &self.plan;
        self.f.shrink(plan.keep, plan.pull, plan.decay, omega);
        self.mean_truncation += omega * (self.truncation - self.mean_truncation);
        self.truncation *= plan.keep.abs();
        self.norms.grow_mass(plan.keep, plan.norms.mass);
        self.theta_mean += omega * (self.theta - self.theta_mean);
        if rules.offset {
            for o in 0..self.offset.len() {
                self.offset_mean[o] += omega * (self.offset[o] - self.offset_mean[o]);
                self.offset[o] -= plan.eta * plan.xi[o];
                self.offset_trace[o] = plan.decay * self.offset_trace[o] - plan.eta * plan.zeta[o];
            }
        }
        self.norms = Norms { mass: self.norms.mass, ..plan.norms };
        (self.eta, self.cut_steps) = (plan.eta, self.cut_steps + u64::from(plan.cut));
        self.move_theta(loss, at);
    }

    /// theta <- Pi(theta - eta dtheta), E3, E9; where the projection holds it, it does not depend on eta.
    fn move_theta<L: Loss>(&mut self, loss: &L, at: &Reading) {
        let plan = &self.plan;
        if let (Some(nu), Some(tracker)) = (loss.nu(), &mut self.tracker) {
            tracker.step(plan.weight, at.mean_z[0], nu);
        }
        let Some(range) = loss.theta() else { return };
        let gradient = plan.weight * plan.eval.dtheta;
        let (before, move_by) = (self.theta, -plan.eta * gradient);
        let free = before + move_by;
        self.theta = free.max(range.least);
        self.theta_trace = if free < range.least { 0.0 } else { plan.decay * self.theta_trace + move_by };
        // What theta did not follow: the projection, and rounding, which is all of the move if eta is very small.
        let missed = (self.theta - before) - move_by;
        self.rate.step(plan.weight, plan.eval.outside, plan.eta, self.theta, missed);
    }

    fn certify<R: Regulariser>(&mut self, output: &Output, rules: &Rules<R>, own: &[f64]) {
        let plan = &self.plan;
        self.regret.holds &= plan.keep > 0.0;
        // A quiet example leaves f as it is and adds nothing: its loss is at its least. See [`Regret`].
        if self.regret.holds && !plan.quiet {
            let offset2 = rules.offset.then(|| dot(&self.offset, &self.offset));
            let form = own_form(output, &own[self.plane..], &plan.xi);
            let xi2 = dot(&plan.xi, &plan.xi);
            self.regret.step(&RegretStep { eta: plan.eta, lambda: self.lambda, norm2: self.norms.f2, offset2, form, xi2 });
        }
    }

    /// v = 0, and with it everything that follows v (3.2: after a drift signal, or an inner product that is not finite).
    pub(crate) fn forget_trace(&mut self) {
        self.f.forget_trace();
        self.offset_trace.fill(0.0);
        (self.theta_trace, self.norms.product, self.norms.trace2) = (0.0, 0.0, 0.0);
    }

    /// Writes the planned term onto a slot.
    pub(crate) fn write(&mut self, slot: usize) {
        self.f.add(slot, &self.plan.alpha, &self.plan.beta);
    }

    /// Writes the planned term along the features of its row.
    pub(crate) fn spread(&mut self, values: &[f32]) {
        if self.plan.appends() {
            self.f.spread(values, &self.plan.alpha, &self.plan.beta);
        }
    }

    /// The norms of the shrunk f and v alone: what they are while the budget makes room for the new term (3.2).
    pub(crate) fn without_new_term(&mut self) {
        let Plan { before: Norms { f2, product, trace2, .. }, keep: c, pull, decay, .. } = self.plan;
        self.norms.f2 = c * c * f2;
        if self.f.riders().trace {
            self.norms.product = decay * c * c * product - pull * c * f2;
            self.norms.trace2 = decay * decay * c * c * trace2 + pull * pull * f2 - 2.0 * decay * c * pull * product;
        }
    }

    /// A part of norm `lost` leaves f, and one of norm `of_mean` the average: 3.6, law 5. The norm becomes an upper bound unless it
    /// was corrected exactly: at the first loss the rounding of all steps before it is added.
    pub(crate) fn lose(&mut self, lost: f64, of_mean: f64, exact: bool) {
        let first = !exact && lost > 0.0 && self.truncation == 0.0;
        let rounding = if first { self.norms.rounding() } else { 0.0 };
        let norm = (self.norms.f2 + rounding).sqrt();
        self.truncation = (self.truncation + lost).min(f64::MAX);
        self.mean_truncation = (self.mean_truncation + of_mean).min(f64::MAX);
        // The regret's price is that of f before the loss; a corrected norm is of f after it, perhaps without its new term.
        let before = if exact { (norm + lost).max(self.plan.norms.f2.sqrt()) } else { norm };
        self.regret.drop(lost, before, self.eta, self.lambda);
        if !exact {
            self.norms.bound_after(norm, lost);
        }
    }

    /// The mass of coefficients `alpha` at a centre with these kernel values.
    pub(crate) fn mass_of(&self, output: &Output, values: &[f64], alpha: &[f64]) -> f64 {
        own_mass(output, &values[self.plane..], alpha)
    }

    /// Adds the planned term to one that is there, whose centre has these kernel values; the two may cancel.
    pub(crate) fn write_onto(&mut self, slot: usize, output: &Output, values: &[f64], scratch: &mut Term) {
        self.f.get(slot, scratch);
        let gone = self.mass_of(output, values, &scratch.alpha) + self.plan.norms.mass;
        self.write(slot);
        self.f.get(slot, scratch);
        self.norms.exchange_mass(gone, self.mass_of(output, values, &scratch.alpha));
    }

    /// f, its riders and b with its own become their negatives; norms, bounds and theta are the same for -f.
    pub(crate) fn negate(&mut self) {
        self.f.negate();
        [&mut self.offset, &mut self.offset_trace, &mut self.offset_mean].into_iter().for_each(|values| negate(values));
    }

    /// f, its trace and the new term times phi: the Forgetron's shrink, which is a part of the update.
    pub(crate) fn forget(&mut self, phi: f64) {
        self.f.scale(phi);
        let plan = &mut self.plan;
        plan.alpha.iter_mut().chain(&mut plan.beta).for_each(|a| *a *= phi);
        (plan.keep, plan.reach) = (phi * plan.keep, phi * plan.reach);
        self.norms.scale(phi);
        self.truncation *= phi;
        self.regret.holds = false;
    }

    /// Takes no step: f = 0, whatever it was before, and certificates that start anew. See [`crate::engine::bank`].
    pub(crate) fn rest(&mut self) {
        if !self.plan.rests {
            self.restart();
        }
        let plan = &mut self.plan;
        plan.fit(self.offset.len());
        (plan.finite, plan.rests, plan.keep, plan.reach, plan.before) = (false, true, 0.0, 0.0, Norms::default());
        [&mut plan.alpha, &mut plan.beta, &mut plan.xi].into_iter().for_each(|v| v.fill(0.0));
    }

    fn restart(&mut self) {
        self.f.zero();
        for v in [&mut self.offset, &mut self.offset_trace, &mut self.offset_mean] {
            v.fill(0.0);
        }
        self.eta = self.step.start();
        (self.theta_trace, self.theta_mean) = (0.0, 0.0);
        self.norms = Norms::default();
        (self.truncation, self.mean_truncation) = (0.0, 0.0);
        self.regret = Regret::default();
    }

    /// Did the last step leave nothing of the old f?
    pub(crate) fn is_cleared(&self) -> bool {
        self.plan.keep == 0.0
    }
}
