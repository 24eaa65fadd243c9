//! One learner over the shared basis: coordinates, offset, theta, step size, norms and certificates.
//!
//! A step is planned (`plan.rs`), checked, and only then taken (`Head::take`).

use crate::basis::sparse::SparseRow;
use crate::certificate::{Rate, Regret, RegretStep, Tracker};
use crate::coordinates::{Coordinates, Features, Reading, Riders, Term, negate};
use crate::engine::norms::{Norms, own_form, own_mass};
use crate::engine::plan::{Example, Plan};
use crate::engine::rules::Objective;
pub use crate::engine::rules::{Average, HeadParts, Rules, Shrink};
use crate::parts::loss::{Eval, Loss, Reads};
use crate::parts::output::{Output, dot};
use crate::parts::regulariser::Regulariser;
use crate::parts::step::StepSize;

/// One learner over the shared basis: its coordinates, offset, theta, step size, norms and certificates.
#[derive(Clone, Debug)]
pub struct Head<S> {
    pub(crate) step: S,
    pub(crate) lambda: f64,
    /// The first plane of kernel values that the head reads.
    pub(crate) plane: usize,
    /// The number of its loss.
    pub(crate) loss: usize,
    /// The number of examples before the head began, or began anew with another kernel. Its step sizes and its average count
    /// examples from there.
    pub(crate) born: u64,
    /// Whether the head has retired: f = 0, its voices have weight 0, and it is neither read nor learned.
    pub(crate) retired: bool,
    average: Average,
    both: bool,
    /// See [`HeadParts::offset_step`].
    pub(crate) offset_step: f64,
    pub(crate) f: Coordinates,
    pub(crate) eta: f64,
    /// The step sizes of the offset, if every coordinate has its own.
    pub(crate) offset_etas: Vec<f64>,
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
    /// The number of steps whose eta was reduced so that eta lambda stays below one.
    pub(crate) cut_steps: u64,
    /// The planned step, or the last one taken.
    pub(crate) plan: Plan,
}

/// One voice: scores of a head, and their first loss times the example's weight where the planned step has computed it.
#[derive(Clone, Copy)]
pub(crate) struct Voice<'a> {
    pub scores: &'a [f64],
    pub loss: Option<f64>,
    /// Whether the head rests, that is, takes no step.
    pub rests: bool,
    /// Whether it has retired. Then it also has no scores.
    pub retired: bool,
}

impl<S: StepSize> Head<S> {
    pub(crate) fn new(parts: HeadParts<S>, outputs: usize, theta: f64, regret: bool, tracker: Option<Tracker>) -> Self {
        let HeadParts { step, lambda, plane, loss, average, both, offset_step } = parts;
        let riders = Riders { trace: step.trace().is_some(), mean: average != Average::None };
        let rule = step.per_coordinate(lambda);
        let eta = rule.map_or(step.start(), |rule| rule.eta(step.start(), 0.0));
        let (zeros, f) = (vec![0.0; outputs], Coordinates::new(outputs, riders));
        Head {
            step,
            lambda,
            plane,
            loss,
            born: 0,
            retired: false,
            average,
            both,
            offset_step,
            eta,
            offset_etas: if rule.is_some() { vec![eta; outputs] } else { Vec::new() },
            f: if rule.is_some() { f.with_steps(eta) } else { f },
            offset: zeros.clone(),
            offset_trace: zeros.clone(),
            offset_mean: zeros,
            theta,
            theta_trace: 0.0,
            theta_mean: 0.0,
            norms: Norms::default(),
            truncation: 0.0,
            mean_truncation: 0.0,
            regret: Regret { holds: regret && rule.is_none(), ..Regret::default() },
            rate: Rate::new(theta),
            tracker,
            cut_steps: 0,
            plan: Plan::default(),
        }
    }

    /// A copy of the head with one voice only: the average, or the last hypothesis.
    pub(crate) fn alone(&self, averaged: bool) -> Self
    where
        S: Clone,
    {
        let head = Head { plane: 0, loss: 0, both: false, ..self.clone() };
        if averaged || !self.both {
            return head;
        }
        let offset_mean = vec![0.0; self.offset.len()];
        let f = self.f.without_mean();
        Head { average: Average::None, f, offset_mean, theta_mean: 0.0, mean_truncation: 0.0, ..head }
    }

    /// The coefficients of f over the shared basis.
    pub fn expansion(&self) -> &Coordinates {
        &self.f
    }
    /// The number of its loss in [`Engine::losses`](crate::engine::Engine::losses). Its regret certificate is on this loss.
    pub fn loss(&self) -> usize {
        self.loss
    }
    /// The regularisation weight lambda.
    pub fn lambda(&self) -> f64 {
        self.lambda
    }
    /// The step size of the last step; the median, if every coordinate has its own.
    pub fn eta(&self) -> f64 {
        self.step_sizes().map_or(self.eta, |sizes| sizes.median)
    }
    /// The offset b.
    pub fn offset(&self) -> &[f64] {
        &self.offset
    }
    /// The offset of the averaged hypothesis; 0 without averaging.
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
    /// |f|². It is exact until a term is dropped and an upper bound after that. Under smd, and where the regulariser is not the
    /// square, it is always exact.
    ///
    /// Exact means up to the rounding of kernel values, which have single precision. The upper bound includes this rounding as
    /// long as every computed value is within 32 2^-24 sqrt(k(x, x) k(y, y)) of the true one. `KERNEL_ROUNDING` states where that
    /// is proved.
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
    /// An upper bound E on |f_full - f|, where f_full results from the same updates with no term dropped (3.6). So |f_full(x) -
    /// f(x)| is at most E sqrt(k(x, x) |J|), plus the rounding of the two sums over terms. |J| is the largest eigenvalue of the
    /// output operator (1 without one). Kernel values have single precision; for a kernel of x - x' their rounding includes that
    /// of |x - x'|².
    pub fn truncation_error(&self) -> f64 {
        self.truncation
    }
    /// The same upper bound for the averaged hypothesis; 0 without averaging.
    pub fn mean_truncation_error(&self) -> f64 {
        self.mean_truncation
    }
    /// The regret certificate (E25).
    pub fn regret(&self) -> &Regret {
        &self.regret
    }
    /// The sums from which the rate certificate of theta is computed (3.5).
    pub fn rate(&self) -> &Rate {
        &self.rate
    }
    /// The threshold of the averaged score, if there is one.
    pub fn tracker(&self) -> Option<&Tracker> {
        self.tracker.as_ref()
    }
    /// The number of steps whose eta was reduced so that eta lambda stays below one.
    pub fn cut_steps(&self) -> u64 {
        self.cut_steps
    }

    /// The update for the last row with a target, before the budget acts: f <- keep f + k(x, .) alpha. Returns keep and alpha,
    /// both including the shrink factor of a Forgetron. A head of a bank that rests returns keep = 0 and alpha = 0. With a step size for
    /// each coordinate the update is no multiple of k(x, .): keep = 1 and alpha = 0, and nothing is ever dropped.
    ///
    /// With these values and the rows, a caller can compute f with no term dropped: the f_full of the truncation certificate.
    pub fn last_update(&self) -> (f64, Vec<f64>) {
        (self.plan.keep, self.plan.xi.iter().map(|xi| -self.plan.reach * xi).collect())
    }

    pub(crate) fn add_outputs(&mut self, outputs: usize) {
        let outputs = outputs.max(self.offset.len());
        self.f.add_outputs(outputs);
        for v in [&mut self.offset, &mut self.offset_trace, &mut self.offset_mean] {
            v.resize(outputs.max(v.len()), 0.0);
        }
        if self.f.steps().is_some() {
            self.offset_etas.resize(outputs.max(self.offset_etas.len()), self.first_eta());
        }
    }

    /// Computes the scores: adds the offsets to the values of f and of its average.
    pub(crate) fn add_offsets(&self, at: &mut Reading) {
        for o in 0..self.offset.len() {
            at.z[o] = at.f[o] + self.offset[o];
            at.mean_z[o] = at.mean[o] + self.offset_mean[o];
        }
    }

    /// The scores of the head for a row: of the last hypothesis, of the average, or of both in this order.
    pub(crate) fn scores<'a>(&self, at: &'a Reading) -> impl Iterator<Item = &'a [f64]> + use<'a, S> {
        self.kinds().map(|averaged| if averaged { at.mean_z.as_slice() } else { &at.z })
    }

    /// The same scores with their first losses, where the planned step has computed them: it has if the first loss is that of
    /// the head.
    pub(crate) fn voices<'a>(&self, at: &'a Reading) -> impl Iterator<Item = Voice<'a>> + use<'a, S> {
        let (rests, retired, loss) = (self.plan.rests, self.retired, (self.loss == 0).then_some(self.plan.loss()));
        let voice =
            move |(averaged, scores): (bool, &'a [f64])| Voice { scores, loss: loss.filter(|_| !averaged), rests, retired };
        self.kinds().zip(self.scores(at)).map(voice)
    }

    /// The kinds of the head's voices, in the order of [`Head::scores`]: false for the last hypothesis, true for the average.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = bool> + use<S> {
        let averaged = self.f.riders().mean;
        let last = (!averaged || self.both).then_some(false);
        last.into_iter().chain(averaged.then_some(true))
    }

    /// The number of voices of the head.
    pub(crate) fn voice_count(&self) -> usize {
        self.kinds().count()
    }

    /// The scores to report: those of the average, where there is one.
    pub(crate) fn score<'a>(&self, at: &'a Reading) -> &'a [f64] {
        if self.f.riders().mean { &at.mean_z } else { &at.z }
    }

    /// The threshold that a novelty score is compared with: the tracker's once it has one, or theta for losses that adapt it.
    pub(crate) fn threshold<L: Loss>(&self, loss: &L) -> Option<f64> {
        match &self.tracker {
            Some(tracker) => tracker.ready().then(|| tracker.threshold()),
            None => loss.theta().filter(|_| loss.reads() == Reads::Nothing).map(|_| self.theta_of_score(loss)),
        }
    }

    /// The theta that goes with the reported score: under a novelty loss its average, where the score is one.
    pub(crate) fn theta_of_score<L: Loss>(&self, loss: &L) -> f64 {
        if self.f.riders().mean && loss.reads() == Reads::Nothing { self.theta_mean } else { self.theta }
    }

    /// Whether a row is an alert of a novelty loss: by the tracker's threshold where there is a tracker, otherwise by the loss of the
    /// reported score. None for other losses.
    pub(crate) fn alert<L: Loss>(&self, loss: &L, threshold: Option<f64>, at: &Reading) -> Option<bool> {
        match &self.tracker {
            Some(_) => threshold.map(|th| self.score(at)[0] < th),
            None => (loss.reads() == Reads::Nothing)
                .then(|| loss.eval(self.score(at), &[], self.theta_of_score(loss), &mut [0.0]).outside),
        }
    }

    /// Whether an example is outside: its reported score is below the tracker's threshold if there is a tracker, otherwise by the loss
    /// `eval` of the reported scores. None for losses without a margin, tube or scale.
    pub(crate) fn outside<L: Loss>(&self, loss: &L, threshold: Option<f64>, at: &Reading, eval: &Eval) -> Option<bool> {
        match &self.tracker {
            Some(_) => threshold.map(|th| self.score(at)[0] < th),
            None => (loss.has_outside() || loss.nu().is_some() || loss.reads() == Reads::Nothing).then_some(eval.outside),
        }
    }

    /// Counts the example of the step that was just taken in the reported alert rate, if theta is the threshold. The step has counted it by the
    /// last hypothesis, which moved theta; `eval` is the loss of the reported scores, which can be those of an average.
    pub(crate) fn count_outside<L: Loss>(&mut self, loss: &L, eval: &Eval) {
        if loss.theta().is_some() {
            self.rate.report(self.plan.weight, eval.outside, self.plan.eval.outside);
        }
    }

    /// Takes the planned step, except that the new term is not written yet.
    pub(crate) fn take<L: Loss, R: Regulariser>(
        &mut self,
        objective: &Objective<'_, L, R>,
        at: &Reading,
        own: &[f64],
        example: &Example<'_>,
    ) {
        let Objective { loss, output, rules, .. } = *objective;
        self.certify(output, rules, own);
        let omega = self.average.weight(example.t - self.born);
        if self.plan.forget_trace {
            self.forget_trace();
        }
        self.plan.before = self.norms;
        if rules.offset {
            self.adapt_offset_steps();
        }
        let plan = &self.plan;
        let decay = if self.f.steps().is_some() { 1.0 } else { plan.decay };
        self.f.shrink(plan.keep, plan.pull, decay, omega);
        self.mean_truncation += omega * (self.truncation - self.mean_truncation);
        self.truncation *= plan.keep.abs();
        self.norms.grow_mass(plan.keep, plan.norms.mass);
        self.theta_mean += omega * (self.theta - self.theta_mean);
        if rules.offset {
            for o in 0..self.offset.len() {
                let eta = self.offset_step * self.offset_etas.get(o).copied().unwrap_or(plan.eta);
                self.offset_mean[o] += omega * (self.offset[o] - self.offset_mean[o]);
                self.offset[o] -= eta * plan.xi[o];
                self.offset_trace[o] = plan.decay * self.offset_trace[o] - eta * plan.zeta[o];
            }
        }
        self.norms = Norms { mass: self.norms.mass, ..plan.norms };
        (self.eta, self.cut_steps) = (plan.eta, self.cut_steps + u64::from(plan.cut));
        self.move_theta(loss, at);
    }

    /// theta <- Pi(theta - eta dtheta), E3, E9. Where the projection Pi is active, theta does not depend on eta, so its trace is
    /// 0.
    fn move_theta<L: Loss>(&mut self, loss: &L, at: &Reading) {
        let (plan, score) = (&self.plan, self.score(at)[0]);
        if let (Some(nu), Some(tracker)) = (loss.nu(), &mut self.tracker) {
            tracker.step(plan.weight, score, nu);
        }
        let Some(range) = loss.theta() else { return };
        let gradient = plan.weight * plan.eval.dtheta;
        let (before, move_by) = (self.theta, -plan.eta * gradient);
        let free = before + move_by;
        self.theta = free.max(range.least);
        self.theta_trace = if free < range.least { 0.0 } else { plan.decay * self.theta_trace + move_by };
        // The part of the move that theta did not make, because of the projection or of rounding. If eta is very small, rounding
        // can cancel the whole move.
        let missed = (self.theta - before) - move_by;
        self.rate.step(plan.weight, plan.eval.outside, plan.eta, self.theta, missed);
    }

    /// Adds the planned step to the regret certificate. The certificate ends if keep <= 0: the bound is proved for keep > 0 only.
    fn certify<R: Regulariser>(&mut self, output: &Output, rules: &Rules<R>, own: &[f64]) {
        let plan = &self.plan;
        self.regret.holds &= plan.keep > 0.0;
        // A quiet example leaves f unchanged and adds nothing to the regret: f minimises its loss. See [`Regret`].
        if self.regret.holds && !plan.quiet {
            let offset = rules.offset.then(|| (dot(&self.offset, &self.offset), self.offset_step));
            let form = own_form(output, &own[self.plane..], &plan.xi);
            let xi2 = dot(&plan.xi, &plan.xi);
            self.regret.step(&RegretStep { eta: plan.eta, lambda: plan.lambda, norm2: self.norms.f2, offset, form, xi2 });
        }
    }

    /// Resets v and everything derived from v to 0 (3.2: after a drift signal, or if an inner product is not finite).
    pub(crate) fn forget_trace(&mut self) {
        self.f.forget_trace();
        self.offset_trace.fill(0.0);
        (self.theta_trace, self.norms.product, self.norms.trace2) = (0.0, 0.0, 0.0);
    }

    /// Adds the coefficients of the planned term to a slot.
    pub(crate) fn write(&mut self, slot: usize) {
        self.f.add(slot, &self.plan.alpha, &self.plan.beta);
    }

    /// Adds the planned term to the weights of the features of its row (basis of features).
    pub(crate) fn spread(&mut self, values: &[f32]) {
        if self.f.steps().is_some() {
            self.advance(Features::Dense(values));
        } else if self.plan.appends() {
            self.f.spread(values, &self.plan.alpha, &self.plan.beta);
        }
    }

    /// The same for the features of a sparse row.
    pub(crate) fn spread_sparse(&mut self, row: SparseRow<'_>) {
        if self.f.steps().is_some() {
            self.advance(Features::Sparse(row));
        } else if self.plan.appends() {
            self.f.spread_sparse(row, &self.plan.alpha, &self.plan.beta);
        }
    }

    /// Sets the norms to those of the shrunk f and v without the new term, which is their state while the budget evicts a term
    /// (3.2).
    pub(crate) fn without_new_term(&mut self) {
        let Plan { before: Norms { f2, product, trace2, .. }, keep: c, pull, decay, .. } = self.plan;
        self.norms.f2 = c * c * f2;
        if self.f.riders().trace {
            self.norms.product = decay * c * c * product - pull * c * f2;
            self.norms.trace2 = decay * decay * c * c * trace2 + pull * pull * f2 - 2.0 * decay * c * pull * product;
        }
    }

    /// Records that a part of norm `lost` was removed from f, and a part of norm `of_mean` from the average (3.6, law 5). Unless
    /// the norms were corrected exactly, |f| becomes an upper bound; the first loss also adds the rounding of all steps before
    /// it.
    pub(crate) fn lose(&mut self, lost: f64, of_mean: f64, exact: bool) {
        let first = !exact && lost > 0.0 && self.truncation == 0.0;
        let rounding = if first { self.norms.rounding() } else { 0.0 };
        let norm = (self.norms.f2 + rounding).sqrt();
        self.truncation = (self.truncation + lost).min(f64::MAX);
        self.mean_truncation = (self.mean_truncation + of_mean).min(f64::MAX);
        // The regret bound needs |f| before the loss. A corrected norm is that of f after the loss, and may lack the new term.
        let before = if exact { (norm + lost).max(self.plan.norms.f2.sqrt()) } else { norm };
        self.regret.drop(lost, before, self.eta, self.lambda);
        if !exact {
            self.norms.bound_after(norm, lost);
        }
    }

    /// The mass of a term with coefficients `alpha` at a centre with these values of k(x, x).
    pub(crate) fn mass_of(&self, output: &Output, values: &[f64], alpha: &[f64]) -> f64 {
        own_mass(output, &values[self.plane..], alpha)
    }

    /// Adds the planned term to the term at `slot`, whose centre has these values of k(x, x). Coefficients may cancel, so the
    /// mass is computed again.
    pub(crate) fn write_onto(&mut self, slot: usize, output: &Output, values: &[f64], scratch: &mut Term) {
        self.f.get(slot, scratch);
        let gone = self.mass_of(output, values, &scratch.alpha) + self.plan.norms.mass;
        self.write(slot);
        self.f.get(slot, scratch);
        self.norms.exchange_mass(gone, self.mass_of(output, values, &scratch.alpha));
    }

    /// Negates f, its riders, and the offset with its trace and mean. Norms, bounds and theta are the same for -f.
    pub(crate) fn negate(&mut self) {
        self.f.negate();
        [&mut self.offset, &mut self.offset_trace, &mut self.offset_mean].into_iter().for_each(|values| negate(values));
    }

    /// Multiplies f, its trace and the new term by phi: the shrink step of the Forgetron, which is part of the update.
    pub(crate) fn forget(&mut self, phi: f64) {
        self.f.scale(phi);
        let plan = &mut self.plan;
        plan.alpha.iter_mut().chain(&mut plan.beta).for_each(|a| *a *= phi);
        (plan.keep, plan.reach) = (phi * plan.keep, phi * plan.reach);
        self.norms.scale(phi);
        self.truncation *= phi;
        self.regret.holds = false;
    }

    /// Lets the certificates of truncation and regret begin anew with the present f. `lost` is what the bank has lost more than this head.
    pub(crate) fn certify_anew(&mut self, holds: bool, lost: f64) {
        (self.truncation, self.mean_truncation) = (0.0, 0.0);
        self.regret = Regret { holds, lost_before: lost, ..Regret::default() };
    }

    /// Makes the head rest: no step is planned, f is reset to 0, and the certificates start again. See [`crate::engine::bank`].
    pub(crate) fn rest(&mut self) {
        if !self.plan.rests {
            self.restart();
        }
        let plan = &mut self.plan;
        plan.fit(self.offset.len());
        (plan.finite, plan.rests, plan.keep, plan.reach, plan.before) = (false, true, 0.0, 0.0, Norms::default());
        [&mut plan.alpha, &mut plan.beta, &mut plan.xi].into_iter().for_each(|v| v.fill(0.0));
    }

    /// Retires: f = 0, and no further part in reading and learning until the head begins anew.
    pub(crate) fn retire(&mut self) {
        self.rest();
        self.retired = true;
    }

    /// Begins anew with f = 0 after `t` examples. The offset is that of another head, so that scores do not begin at 0.
    pub(crate) fn begin_anew(&mut self, t: u64, offset: &[f64]) {
        self.rest();
        self.restart();
        (self.born, self.retired) = (t, false);
        self.offset.copy_from_slice(offset);
    }

    fn restart(&mut self) {
        self.f.zero();
        // An offset that takes no steps keeps the value with which it began.
        if self.offset_step > 0.0 {
            self.offset.fill(0.0);
        }
        self.offset_mean.copy_from_slice(&self.offset);
        self.offset_trace.fill(0.0);
        self.eta = self.first_eta();
        self.offset_etas.fill(self.eta);
        (self.theta_trace, self.theta_mean) = (0.0, 0.0);
        self.norms = Norms::default();
        (self.truncation, self.mean_truncation) = (0.0, 0.0);
        self.regret = Regret::default();
    }

    /// Whether the last step set the old f to zero (keep = 0).
    pub(crate) fn is_cleared(&self) -> bool {
        !self.retired && self.plan.keep == 0.0
    }
}
