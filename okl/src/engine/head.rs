//! One learner beside its terms: scales, offset, theta, step size, norms and certificates.
//!
//! The unified step (algorithms.md section 0), with SVMD's recursions (3.2) and the proximal form (3.3):
//!
//! ```text
//! z = p + b                                     p = f(x), u = v(x), w the trace of b, q that of theta
//! xi = dl/dz                                    explicit: at z; implicit: at the step's own end, by the loss's prox
//! eta: clamp(1 - mu <g, v>) eta,   <g, v> = lambda pi + xi^T (u + w) + dtheta q                       V(16), V(21)
//! c = 1 - eta lambda omega'/|f|                 implicit: c = 1/(1 + eta lambda); shrink = on_update: c = 1 where xi = 0 (7.1)
//! f <- c f - eta xi k(x, .)        b <- b - eta xi        theta <- Pi(theta - eta dtheta)              N(6), N(8)-(10), V(15)
//! v <- decay c v - eta lambda f - eta zeta k(x, .)        zeta = xi + decay h (u + w)                  V(17)
//! ```
//!
//! A step is computed whole, checked, and only then taken.

use crate::basis::settled::Ahead;
use crate::certificate::{Rate, Regret, RegretStep, Tracker};
use crate::coordinates::{self, Expansion, Reading, Riders, Term, negate};
use crate::gram::Backend;
use crate::parts::loss::{Eval, Loss, Metric, Reads};
use crate::parts::output::{Output, dot};
use crate::parts::regulariser::Regulariser;
use crate::parts::step::{LARGEST_SHRINK, Signal, StepSize};

/// How hypotheses are averaged (algorithms.md 3.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Average {
    /// Not at all.
    #[default]
    None,
    /// The mean of all hypotheses before each update: Theorem N3.
    Uniform,
    /// An exponential mean: weight max(rate, 1/t), so that it starts as a uniform one.
    Exponential {
        /// The weight of the newest hypothesis.
        rate: f64,
    },
}

impl Average {
    fn weight(self, t: u64) -> f64 {
        match self {
            Average::None => 0.0,
            Average::Uniform => 1.0 / t as f64,
            Average::Exponential { rate } => rate.max(1.0 / t as f64),
        }
    }
}

/// When f is shrunk by 1 - eta lambda (algorithms.md 7.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shrink {
    /// At every example, as the papers print it: N(10), N(12).
    #[default]
    Always,
    /// At examples whose loss has a gradient (xi != 0 at the score) only, as the authors' scripts do.
    OnUpdate,
}

impl Shrink {
    pub(crate) fn is_always(&self) -> bool {
        *self == Shrink::Always
    }
}

/// What every head of a learner shares: the settings that are not its own. By default the explicit step, no offset.
#[derive(Clone, Debug, Default)]
pub struct Rules<R> {
    /// The regulariser's shape.
    pub regulariser: R,
    /// Is an offset b learned?
    pub offset: bool,
    /// The proximal step of 3.3 instead of the explicit one.
    pub implicit: bool,
    /// May eta lambda exceed one (E13's second reading)?
    pub allow_overshoot: bool,
    /// When f is shrunk.
    pub shrink: Shrink,
}

/// A head's scalars and coefficients.
#[derive(Clone, Debug)]
pub struct Head<S> {
    pub(crate) step: S,
    pub(crate) lambda: f64,
    /// The first plane of kernel values that it reads.
    pub(crate) plane: usize,
    average: Average,
    both: bool,
    pub(crate) expansion: Expansion,
    pub(crate) eta: f64,
    pub(crate) offset: Vec<f64>,
    pub(crate) offset_trace: Vec<f64>,
    pub(crate) offset_mean: Vec<f64>,
    pub(crate) theta: f64,
    pub(crate) theta_trace: f64,
    pub(crate) theta_mean: f64,
    /// |f|², <f, v>, |v|².
    pub(crate) norm2: f64,
    pub(crate) product: f64,
    pub(crate) trace_norm2: f64,
    /// At least sum_i |alpha_i| sqrt(lambda_max(K(x_i, x_i))): what the rounding of f(x) is relative to, see [`KERNEL_ROUNDING`].
    pub(crate) mass: f64,
    pub(crate) truncation: f64,
    pub(crate) mean_truncation: f64,
    pub(crate) regret: Regret,
    pub(crate) rate: Rate,
    pub(crate) tracker: Option<Tracker>,
    /// Steps whose eta was cut so that eta lambda stays below one.
    pub(crate) cut_steps: u64,
    pub(crate) plan: Plan,
    /// What a transfer moves from an old term onto the new one.
    pub(crate) carried: Term,
}

/// A step that has been computed and not yet taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub reading: Reading,
    /// The score z = p + b, and the averaged score.
    pub z: Vec<f64>,
    pub mean: Vec<f64>,
    xi: Vec<f64>,
    zeta: Vec<f64>,
    lifted: Vec<f64>,
    metric: Vec<f64>,
    /// The coefficients of the new term.
    pub alpha: Vec<f64>,
    pub beta: Vec<f64>,
    eval: Eval,
    weight: f64,
    eta: f64,
    keep: f64,
    pull: f64,
    decay: f64,
    cut: bool,
    /// No gradient and no shrinking: f stays as it is (`shrink = on_update`).
    quiet: bool,
    norm2: f64,
    product: f64,
    trace_norm2: f64,
    /// |alpha| sqrt(lambda_max(K(x, x))).
    mass: f64,
    /// |f|², <f, v>, |v|² before the step.
    before: [f64; 3],
    forget_trace: bool,
    /// alpha = -reach xi: eta, or eta keep where the step is proximal.
    reach: f64,
    /// Would the step leave a finite state?
    pub finite: bool,
    /// There is no step: the head of a bank rests, and f = 0.
    pub rests: bool,
}

impl Plan {
    fn fit(&mut self, d: usize) {
        if self.z.len() == d {
            return;
        }
        for v in [
            &mut self.z,
            &mut self.mean,
            &mut self.xi,
            &mut self.zeta,
            &mut self.lifted,
            &mut self.metric,
            &mut self.alpha,
            &mut self.beta,
        ] {
            v.resize(d, 0.0);
        }
    }

    /// Does the step write a term?
    pub fn appends(&self) -> bool {
        self.alpha.iter().chain(&self.beta).any(|&a| a != 0.0)
    }

    /// The loss before the step, times the example's weight.
    pub fn loss(&self) -> f64 {
        self.weight * self.eval.loss
    }

    /// Does the loss count the example as outside?
    pub(crate) fn is_outside(&self) -> bool {
        self.eval.outside
    }
}

/// The example of a step, as a head sees it.
pub(crate) struct Example<'a> {
    pub t: u64,
    pub y: &'a [f64],
    pub weight: f64,
    /// k(x, x), one value per plane.
    pub values: &'a [f64],
    /// Is this the first row of its class, so that no decision can have been right?
    pub new_class: bool,
}

/// A score of a head, and its loss times the example's weight where that is known.
#[derive(Clone, Copy)]
pub(crate) struct Voice<'a> {
    pub scores: &'a [f64],
    pub loss: Option<f64>,
    /// Does its head take no step?
    pub rests: bool,
}

/// What a head has of its own when it starts.
#[derive(Clone, Debug)]
pub struct HeadParts<S> {
    /// Its step size.
    pub step: S,
    /// Its regulariser.
    pub lambda: f64,
    /// The first plane of kernel values that it reads; heads may differ in their kernels.
    pub plane: usize,
    /// Which hypotheses are averaged; the average then speaks for the head.
    pub average: Average,
    /// Does the last hypothesis speak, too, where heads are weighed?
    pub both: bool,
}

impl<S> HeadParts<S> {
    /// A head without an average, under the first kernel.
    pub fn new(step: S, lambda: f64) -> Self {
        HeadParts { step, lambda, plane: 0, average: Average::None, both: false }
    }
}

/// Reads every head at a point. Under one plane of values each, the columns of heads that share it are summed together.
pub(crate) fn read_all<'r, S: StepSize>(
    heads: &mut [Head<S>],
    backend: Backend,
    output: &Output,
    row: impl Fn(usize) -> &'r [f32],
    sums: &mut Vec<f64>,
) {
    if heads.len() == 1 || !output.projectable() {
        heads.iter_mut().for_each(|head| head.read(backend, output, &row));
        return;
    }
    for group in heads.chunk_by_mut(|a, b| a.plane == b.plane) {
        let row = row(group[0].plane);
        coordinates::sum_columns_of(backend, row, group.iter().map(|head| &head.expansion), sums);
        let mut rest = sums.as_slice();
        for head in group {
            head.plan.fit(head.offset.len());
            rest = head.expansion.read_sums(output, rest, &mut head.plan.reading);
            head.fill_scores();
        }
    }
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
            expansion: Expansion::new(outputs, riders),
            offset: zeros.clone(),
            offset_trace: zeros.clone(),
            offset_mean: zeros,
            theta,
            theta_trace: 0.0,
            theta_mean: 0.0,
            norm2: 0.0,
            product: 0.0,
            trace_norm2: 0.0,
            mass: 0.0,
            truncation: 0.0,
            mean_truncation: 0.0,
            regret: Regret { holds: regret, ..Regret::default() },
            rate: Rate::new(theta),
            tracker,
            cut_steps: 0,
            plan: Plan::default(),
            carried: Term::default(),
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
        let expansion = self.expansion.without_mean();
        Head { average: Average::None, expansion, offset_mean, theta_mean: 0.0, mean_truncation: 0.0, ..head }
    }

    /// f over the shared terms.
    pub fn expansion(&self) -> &Expansion {
        &self.expansion
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
        self.norm2
    }
    /// <f, v> of SVMD; 0 without a trace.
    pub fn trace_product(&self) -> f64 {
        self.product
    }
    /// |v|² of SVMD; 0 without a trace.
    pub fn trace_norm2(&self) -> f64 {
        self.trace_norm2
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
        self.expansion.add_outputs(outputs);
        for v in [&mut self.offset, &mut self.offset_trace, &mut self.offset_mean] {
            v.resize(outputs.max(v.len()), 0.0);
        }
    }

    /// Reads f, v and the mean at a point from its kernel values; fills the scores.
    pub(crate) fn read<'r>(&mut self, backend: Backend, output: &Output, row: impl Fn(usize) -> &'r [f32]) {
        self.plan.fit(self.offset.len());
        self.expansion.read(backend, output, |plane| row(self.plane + plane), &mut self.plan.reading);
        self.fill_scores();
    }

    /// As [`Head::read`] under one plane, from what was taken ahead for row `r` of a tile.
    pub(crate) fn read_ahead(&mut self, backend: Backend, output: &Output, row: &[f32], ahead: (&Ahead, usize)) {
        self.plan.fit(self.offset.len());
        self.expansion.read_ahead(backend, output, row, ahead, &mut self.plan.reading);
        self.fill_scores();
    }

    fn fill_scores(&mut self) {
        let plan = &mut self.plan;
        for o in 0..self.offset.len() {
            plan.z[o] = plan.reading.f[o] + self.offset[o];
            plan.mean[o] = plan.reading.mean[o] + self.offset_mean[o];
        }
    }

    /// The scores at a point from its kernel values, exactly as [`Head::read`] and [`Head::voices`] have them.
    pub(crate) fn voices_at<'r>(
        &self,
        backend: Backend,
        output: &Output,
        row: impl Fn(usize) -> &'r [f32],
        reading: &mut Reading,
        scores: &mut [Vec<f64>],
    ) {
        self.expansion.read(backend, output, |plane| row(self.plane + plane), reading);
        for (score, averaged) in scores.iter_mut().zip(self.kinds()) {
            let (f, offset) = if averaged { (&reading.mean, &self.offset_mean) } else { (&reading.f, &self.offset) };
            score.clear();
            score.extend(f.iter().zip(offset).map(|(f, b)| f + b));
        }
    }

    /// What the head has to say of the current row: the last hypothesis, the average, or both, in this order.
    pub(crate) fn voices(&self) -> impl Iterator<Item = Voice<'_>> {
        let rests = self.plan.rests;
        self.kinds().map(move |averaged| match averaged {
            true => Voice { scores: &self.plan.mean, loss: None, rests },
            false => Voice { scores: &self.plan.z, loss: Some(self.plan.loss()), rests },
        })
    }

    /// Of each of them, is it the average?
    pub(crate) fn kinds(&self) -> impl Iterator<Item = bool> + use<S> {
        let averaged = self.expansion.riders().mean;
        let last = (!averaged || self.both).then_some(false);
        last.into_iter().chain(averaged.then_some(true))
    }

    /// How many those are.
    pub(crate) fn voice_count(&self) -> usize {
        self.kinds().count()
    }

    /// The score to report: the averaged one where there is an average.
    pub(crate) fn score(&self) -> &[f64] {
        if self.expansion.riders().mean { &self.plan.mean } else { &self.plan.z }
    }

    /// The scores of a row that cannot be read.
    pub(crate) fn clear_scores(&mut self) {
        self.plan.z.fill(0.0);
        self.plan.mean.fill(0.0);
    }

    /// What a novelty score is held against: the tracker's threshold once it is there, or theta where it is one.
    pub(crate) fn threshold<L: Loss>(&self, loss: &L) -> Option<f64> {
        match &self.tracker {
            Some(tracker) => tracker.ready().then(|| tracker.threshold()),
            None => loss.theta().filter(|_| loss.reads() == Reads::Nothing).map(|_| self.theta),
        }
    }

    /// Is the row that was read an alert of a novelty loss? By the tracker where there is one, else by the loss at the present theta.
    pub(crate) fn alert<L: Loss>(&self, loss: &L, threshold: Option<f64>) -> Option<bool> {
        match &self.tracker {
            Some(_) => threshold.map(|th| self.plan.mean[0] < th),
            None => (loss.reads() == Reads::Nothing).then(|| loss.eval(&self.plan.z, &[], self.theta, &mut [0.0]).outside),
        }
    }

    /// Was the planned example outside the threshold of a novelty loss or the adaptive scalar of a nu-loss? By the tracker where
    /// there is one.
    pub(crate) fn outside<L: Loss>(&self, loss: &L, threshold: Option<f64>) -> Option<bool> {
        match &self.tracker {
            Some(_) => threshold.map(|th| self.plan.mean[0] < th),
            None => (loss.nu().is_some() || loss.reads() == Reads::Nothing).then_some(self.plan.eval.outside),
        }
    }

    /// Computes the step for one example after [`Head::read`]; false if it would leave a state that is not finite.
    pub(crate) fn plan<L: Loss, R: Regulariser>(
        &mut self,
        loss: &L,
        output: &Output,
        rules: &Rules<R>,
        example: &Example<'_>,
    ) -> bool {
        let plan = &mut self.plan;
        plan.rests = false;
        plan.weight = example.weight;
        plan.eval = loss.eval(&plan.z, example.y, self.theta, &mut plan.xi);
        plan.xi.iter_mut().for_each(|xi| *xi *= example.weight);
        plan.quiet = !rules.shrink.is_always() && plan.xi.iter().all(|xi| *xi == 0.0);
        plan.decay = self.step.trace().unwrap_or(0.0);
        let product = self.gradient_trace_product();
        let size = example.weight * (output.largest(&example.values[self.plane..]) + f64::from(u8::from(rules.offset)));
        self.choose_step(rules, example.t, product, size);
        match rules.implicit && !self.plan.quiet {
            true => self.implicit_gradient(loss, output, rules.offset, example),
            false => self.explicit_gradient(loss, example),
        }
        self.new_norms(output, &example.values[self.plane..], rules.regulariser.is_square());
        self.plan.finite = self.is_finite();
        self.plan.finite
    }

    /// <g, v> = lambda pi + xi^T (u + w) + dtheta q, V(21) with offsets and theta (3.2); leaves u + w in `lifted`. A quiet example has
    /// no regulariser: lambda = 0 there, in the trace and in the norms as well.
    fn gradient_trace_product(&mut self) -> f64 {
        let plan = &mut self.plan;
        plan.forget_trace = false;
        if !self.expansion.riders().trace {
            return 0.0;
        }
        for o in 0..plan.lifted.len() {
            plan.lifted[o] = plan.reading.trace[o] + self.offset_trace[o];
        }
        let of_theta = plan.weight * plan.eval.dtheta * self.theta_trace;
        let lambda = if plan.quiet { 0.0 } else { self.lambda };
        let product = lambda * self.product + dot(&plan.xi, &plan.lifted) + of_theta;
        if product.is_finite() {
            return product;
        }
        plan.forget_trace = true;
        plan.lifted.fill(0.0);
        0.0
    }

    fn choose_step<R: Regulariser>(&mut self, rules: &Rules<R>, t: u64, product: f64, size: f64) {
        let signal = Signal { t, lambda: self.lambda, last: self.eta, product, size };
        let mut eta = self.step.eta(&signal);
        self.plan.cut = false;
        if rules.implicit {
            // 3.3: the proximal shrink needs no eta lambda < 1.
            self.plan.keep = 1.0 / (1.0 + eta * self.lambda);
        } else {
            let square = rules.regulariser.is_square();
            let pull = if square { self.lambda } else { self.lambda * rules.regulariser.pull(self.norm2.sqrt()) };
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
    fn explicit_gradient<L: Loss>(&mut self, loss: &L, example: &Example<'_>) {
        let plan = &mut self.plan;
        let eta = plan.eta;
        plan.reach = eta;
        plan.alpha.iter_mut().zip(&plan.xi).for_each(|(a, xi)| *a = -eta * xi);
        if self.expansion.riders().trace {
            loss.curvature(&plan.z, example.y, self.theta, &plan.lifted, &mut plan.zeta);
            let bend = plan.decay * plan.weight;
            plan.zeta.iter_mut().zip(&plan.xi).for_each(|(zeta, xi)| *zeta = xi + bend * *zeta);
            plan.beta.iter_mut().zip(&plan.zeta).for_each(|(b, zeta)| *b = -eta * zeta);
        }
    }

    /// 3.3: xi = dl/dz at z0 - C xi, z0 = c p + b, C = eta (c k J + 1); then alpha = -eta c xi.
    fn implicit_gradient<L: Loss>(&mut self, loss: &L, output: &Output, offset: bool, example: &Example<'_>) {
        let plan = &mut self.plan;
        let (eta, keep, weight) = (plan.eta, plan.keep, plan.weight);
        let of_offset = if offset { 1.0 } else { 0.0 };
        let metric = |s: f64| weight * eta * (keep * example.values[self.plane] * s + of_offset);
        let operator = output.single().map(|j| j.eigen());
        for o in 0..plan.z.len() {
            plan.lifted[o] = keep * plan.reading.f[o] + self.offset[o];
            plan.metric[o] = metric(operator.map_or(1.0, |e| e.values[o].max(0.0)));
        }
        let c = Metric { c: &plan.metric, basis: operator.map(|e| e.vectors.as_slice()) };
        // A loss without a proximal step leaves the explicit gradient standing; a checked configuration never gets here with one.
        if loss.prox(&plan.lifted, example.y, self.theta, &c, &mut plan.xi) {
            plan.xi.iter_mut().for_each(|xi| *xi *= weight);
        }
        plan.reach = eta * keep;
        plan.alpha.iter_mut().zip(&plan.xi).for_each(|(a, xi)| *a = -eta * keep * xi);
    }

    /// N <- c² N + 2 c alpha^T p + alpha^T K alpha, V(25); pi and M by 3.2, which generalises V(22)-(24).
    ///
    /// Once N is an upper bound only, the rounding of this sum and of p is added: the square root of a drop can make much of it.
    fn new_norms(&mut self, output: &Output, values: &[f64], square: bool) {
        let Plan { reading, alpha, keep: c, .. } = &self.plan;
        let (old, across, own) = (c * c * self.norm2, 2.0 * c * dot(alpha, &reading.f), own_form(output, values, alpha));
        let bound = self.truncation > 0.0 && square && !self.expansion.riders().trace;
        let mass = own_mass(output, values, alpha);
        let of_values = KERNEL_ROUNDING * mass * (2.0 * c.abs() * self.mass + mass);
        let rounding = if bound { ROUNDING * (old + across.abs() + mass * mass) + of_values } else { 0.0 };
        if self.expansion.riders().trace {
            (self.plan.product, self.plan.trace_norm2) = self.new_trace_norms(output, values);
        }
        self.plan.norm2 = at_least_zero(old + across + own) + rounding;
        self.plan.mass = mass;
    }

    fn new_trace_norms(&self, output: &Output, values: &[f64]) -> (f64, f64) {
        let Plan { reading, xi, zeta, eta, keep: c, pull: shrink, decay, .. } = &self.plan;
        let (f, v) = (&reading.f, &reading.trace);
        let old = if self.plan.forget_trace { (0.0, 0.0) } else { (self.product, self.trace_norm2) };
        let (xi_v, zeta_v) = if self.plan.forget_trace { (0.0, 0.0) } else { (dot(xi, v), dot(zeta, v)) };
        let product = decay * c * c * old.0 - shrink * c * self.norm2 - eta * c * dot(zeta, f) - eta * decay * c * xi_v
            + eta * shrink * dot(xi, f)
            + eta * eta * output.form(values, xi, zeta);
        let norm2 = decay * decay * c * c * old.1 + shrink * shrink * self.norm2 + eta * eta * output.form(values, zeta, zeta)
            - 2.0 * decay * c * shrink * old.0
            - 2.0 * decay * c * eta * zeta_v
            + 2.0 * eta * shrink * dot(zeta, f);
        (product, at_least_zero(norm2))
    }

    /// Does the step leave a state of numbers up to 1e150? Then the sums of the certificates, and norms after a loss, are finite too.
    /// Sizes are added, so that no two numbers cancel.
    fn is_finite(&self) -> bool {
        const LARGEST: f64 = 1e150;
        let p = &self.plan;
        let theta = p.weight * p.eval.dtheta * p.eta;
        let mut size = p.keep.abs() + p.norm2 + p.eval.loss.abs() + theta.abs() + p.product.abs() + p.trace_norm2 + p.weight;
        for o in 0..p.z.len() {
            size += p.alpha[o].abs() + p.beta[o].abs() + p.z[o].abs() + (self.offset[o] - p.eta * p.xi[o]).abs();
        }
        size <= LARGEST
    }

    /// Takes the planned step, up to the new term itself.
    pub(crate) fn commit<L: Loss, R: Regulariser>(&mut self, loss: &L, output: &Output, rules: &Rules<R>, example: &Example<'_>) {
        self.certify(output, rules, example);
        let omega = self.average.weight(example.t);
        self.plan.before = [self.norm2, self.product, self.trace_norm2];
        if self.plan.forget_trace {
            self.forget_trace();
            self.plan.before = [self.norm2, 0.0, 0.0];
        }
        let plan = &self.plan;
        self.expansion.shrink(plan.keep, plan.pull, plan.decay, omega);
        self.mean_truncation += omega * (self.truncation - self.mean_truncation);
        self.truncation *= plan.keep.abs();
        self.mass = ((1.0 + ROUNDING) * (plan.keep.abs() * self.mass + plan.mass)).min(f64::MAX);
        self.theta_mean += omega * (self.theta - self.theta_mean);
        if rules.offset {
            for o in 0..self.offset.len() {
                self.offset_mean[o] += omega * (self.offset[o] - self.offset_mean[o]);
                self.offset[o] -= plan.eta * plan.xi[o];
                self.offset_trace[o] = plan.decay * self.offset_trace[o] - plan.eta * plan.zeta[o];
            }
        }
        (self.norm2, self.product, self.trace_norm2) = (plan.norm2, plan.product, plan.trace_norm2);
        (self.eta, self.cut_steps) = (plan.eta, self.cut_steps + u64::from(plan.cut));
        self.move_theta(loss);
    }

    /// theta <- Pi(theta - eta dtheta), E3, E9; where the projection holds it, it does not depend on eta.
    fn move_theta<L: Loss>(&mut self, loss: &L) {
        let plan = &self.plan;
        if let (Some(nu), Some(tracker)) = (loss.nu(), &mut self.tracker) {
            tracker.step(plan.weight, plan.mean[0], nu);
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

    fn certify<R: Regulariser>(&mut self, output: &Output, rules: &Rules<R>, example: &Example<'_>) {
        let plan = &self.plan;
        self.regret.holds &= plan.keep > 0.0;
        // A quiet example leaves f as it is and adds nothing: its loss is at its least. See [`Regret`].
        if self.regret.holds && !plan.quiet {
            let offset2 = rules.offset.then(|| dot(&self.offset, &self.offset));
            let form = own_form(output, &example.values[self.plane..], &plan.xi);
            let xi2 = dot(&plan.xi, &plan.xi);
            self.regret.step(&RegretStep { eta: plan.eta, lambda: self.lambda, norm2: self.norm2, offset2, form, xi2 });
        }
    }

    /// v = 0, and with it everything that follows v (3.2: after a drift signal, or an inner product that is not finite).
    pub(crate) fn forget_trace(&mut self) {
        self.expansion.forget_trace();
        self.offset_trace.fill(0.0);
        (self.theta_trace, self.product, self.trace_norm2) = (0.0, 0.0, 0.0);
    }

    /// Writes the planned term, plus what a budget moved onto it.
    pub(crate) fn write(&mut self, slot: usize) {
        self.expansion.add(slot, &self.plan.alpha, &self.plan.beta);
    }

    /// N, pi and M of the shrunk f and v alone: what they are while the budget makes room for the new term (3.2).
    pub(crate) fn without_new_term(&mut self) {
        let Plan { before: [norm2, product, trace_norm2], keep: c, pull, decay, .. } = self.plan;
        self.norm2 = c * c * norm2;
        if self.expansion.riders().trace {
            self.product = decay * c * c * product - pull * c * norm2;
            self.trace_norm2 = decay * decay * c * c * trace_norm2 + pull * pull * norm2 - 2.0 * decay * c * pull * product;
        }
    }

    /// A part of norm `lost` leaves f, and one of norm `of_mean` the average: 3.6, law 5. The norm becomes an upper bound unless it
    /// was corrected exactly: at the first loss the rounding of all steps before it is added.
    pub(crate) fn lose(&mut self, lost: f64, of_mean: f64, exact: bool) {
        let first = !exact && lost > 0.0 && self.truncation == 0.0;
        let rounding = if first { rounding_of_norm2(self.mass) } else { 0.0 };
        let norm = (self.norm2 + rounding).sqrt();
        self.truncation = (self.truncation + lost).min(f64::MAX);
        self.mean_truncation = (self.mean_truncation + of_mean).min(f64::MAX);
        // The regret's price is that of f before the loss; a corrected norm is of f after it, perhaps without its new term.
        let before = if exact { (norm + lost).max(self.plan.norm2.sqrt()) } else { norm };
        self.regret.drop(lost, before, self.eta, self.lambda);
        if !exact {
            self.norm2 = ((1.0 + ROUNDING) * (norm + lost) * (norm + lost)).min(f64::MAX);
        }
    }

    /// The mass of coefficients `alpha` at a centre with these kernel values.
    pub(crate) fn mass_of(&self, output: &Output, values: &[f64], alpha: &[f64]) -> f64 {
        own_mass(output, &values[self.plane..], alpha)
    }

    /// Terms of one mass take the place of others.
    pub(crate) fn exchange_mass(&mut self, gone: f64, come: f64) {
        self.mass = ((1.0 + ROUNDING) * ((self.mass - gone).max(0.0) + come)).min(f64::MAX);
    }

    /// Adds the planned term to one that is there, whose centre has these kernel values; the two may cancel.
    pub(crate) fn write_onto(&mut self, slot: usize, output: &Output, values: &[f64], scratch: &mut Term) {
        self.expansion.get(slot, scratch);
        let gone = self.mass_of(output, values, &scratch.alpha) + self.plan.mass;
        self.write(slot);
        self.expansion.get(slot, scratch);
        self.exchange_mass(gone, self.mass_of(output, values, &scratch.alpha));
    }

    /// f and v change by `term` k(x, .) where f(x), v(x) are `at`: N, pi, M exactly (3.2, truncation corrections).
    pub(crate) fn change_norms(&mut self, output: &Output, values: &[f64], term: &Term, at: &Reading, sign: f64) {
        let form = |a: &[f64], b: &[f64]| output.form(&values[self.plane..], a, b);
        let (alpha, beta) = (&term.alpha, &term.trace);
        self.norm2 = (self.norm2 + sign * 2.0 * dot(alpha, &at.f) + form(alpha, alpha)).max(0.0);
        self.product += sign * (dot(alpha, &at.trace) + dot(beta, &at.f)) + form(alpha, beta);
        self.trace_norm2 = (self.trace_norm2 + sign * 2.0 * dot(beta, &at.trace) + form(beta, beta)).max(0.0);
    }

    /// f, its riders and b with its own become their negatives; norms, bounds and theta are the same for -f.
    pub(crate) fn negate(&mut self) {
        self.expansion.negate();
        [&mut self.offset, &mut self.offset_trace, &mut self.offset_mean].into_iter().for_each(|values| negate(values));
    }

    /// f, its trace and the new term times phi: the Forgetron's shrink, which is a part of the update.
    pub(crate) fn forget(&mut self, phi: f64) {
        self.expansion.scale(phi);
        let plan = &mut self.plan;
        plan.alpha.iter_mut().chain(&mut plan.beta).for_each(|a| *a *= phi);
        (plan.keep, plan.reach) = (phi * plan.keep, phi * plan.reach);
        self.norm2 *= phi * phi;
        self.product *= phi * phi;
        self.trace_norm2 *= phi * phi;
        self.mass *= phi;
        self.truncation *= phi;
        self.regret.holds = false;
    }

    /// Takes no step: f = 0, whatever it was before, and certificates that start anew. See [`crate::engine::bank`].
    pub(crate) fn rest(&mut self) {
        if !self.plan.rests {
            self.restart();
        }
        let plan = &mut self.plan;
        (plan.finite, plan.rests, plan.keep, plan.reach, plan.before) = (false, true, 0.0, 0.0, [0.0; 3]);
        [&mut plan.alpha, &mut plan.beta, &mut plan.xi].into_iter().for_each(|v| v.fill(0.0));
    }

    fn restart(&mut self) {
        self.expansion.zero();
        for v in [&mut self.offset, &mut self.offset_trace, &mut self.offset_mean] {
            v.fill(0.0);
        }
        self.eta = self.step.start();
        (self.theta_trace, self.theta_mean) = (0.0, 0.0);
        (self.norm2, self.product, self.trace_norm2) = (0.0, 0.0, 0.0);
        (self.mass, self.truncation, self.mean_truncation) = (0.0, 0.0, 0.0);
        self.regret = Regret::default();
    }

    /// Did the last step leave nothing of the old f?
    pub(crate) fn is_cleared(&self) -> bool {
        self.plan.keep == 0.0
    }
}

/// A few units in the last place.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

/// A kernel value k(x, y) has an error of at most this times sqrt(k(x, x) k(y, y)).
///
/// The value comes from <x, y>, |x|² and |y|², each a chain of D fused multiply-adds in single precision, u = 2^-24:
///
/// ```text
/// linear                  |fl k - k| <= (D + 1) u |x| |y|
/// polynomial, degree p    |fl k - k| <= (p (D + 5) + 2) u sqrt(k(x, x) k(y, y))          as g |x| |y| + c <= sqrt((g |x|² + c) (g |y|² + c))
/// Gaussian                |fl k - k| <= (8 + g (D + 3) (|x| + |y|)²) u                   near the anchor, and for rows that are equal, 8 u
/// ```
///
/// So 32 u is proved for a linear kernel up to D = 31, degree 3 up to D = 5 and a Gaussian with g (D + 3) (|x| + |y|)² <= 24, the
/// Matérn and rational quadratic kernels alike. Beyond that the D roundings of a chain would have to be of one sign; where rows are far
/// from the anchor in units of the kernel's width and nearly equal, the rounding of |x - y|² is larger and is not included.
const KERNEL_ROUNDING: f64 = 32.0 / 16_777_216.0;

/// How far rounding may have moved |f|² while f grew to a mass S: step by step 2 |c alpha^T p| and alpha^T K alpha move by
/// `KERNEL_ROUNDING` (2 |c| S m + m²), m being the mass of the new term, and S becomes |c| S + m.
fn rounding_of_norm2(mass: f64) -> f64 {
    (KERNEL_ROUNDING * mass * mass).min(f64::MAX)
}

/// |a| sqrt(lambda_max(K(x, x))): the norm of K(x, .) a is at most this. 0 for a = 0 even where k(x, x) is not finite.
fn own_mass(output: &Output, values: &[f64], a: &[f64]) -> f64 {
    let size = dot(a, a).sqrt();
    if size == 0.0 { 0.0 } else { size * output.largest(values).max(0.0).sqrt() }
}

/// a^T K(x, x) a, which is not negative though its rounding may be (a singular operator); 0 for a = 0 even where k(x, x) is not finite.
fn own_form(output: &Output, values: &[f64], a: &[f64]) -> f64 {
    if a.iter().all(|a| *a == 0.0) { 0.0 } else { at_least_zero(output.form(values, a, a)) }
}

/// What rounding left below zero is zero; what is not a number stays that.
fn at_least_zero(value: f64) -> f64 {
    if value < 0.0 { 0.0 } else { value }
}

#[cfg(test)]
mod tests {
    use crate::basis::Space;
    use crate::{Batch, Config, Learner};

    /// sum_i |alpha_i| sqrt(k(x_i, x_i)) of the head's terms.
    fn mass_of_terms(learner: &Learner, head: usize) -> f64 {
        let engine = learner.engine();
        let (expansion, mut values) = (&engine.heads[head].expansion, [0.0]);
        let of_slot = |slot: usize| {
            engine.terms.space.term_self_values(slot, &mut values);
            let alpha: Vec<f64> = (0..expansion.outputs()).map(|o| expansion.alpha(o, slot)).collect();
            super::dot(&alpha, &alpha).sqrt() * values[0].sqrt()
        };
        engine.terms.live().map(of_slot).sum()
    }

    /// The mass that the rounding of |f|² is relative to is that of the terms, whatever the budget does with them.
    #[test]
    fn the_mass_is_that_of_the_terms() {
        let x: Vec<f32> = (0..400).map(|i| (i / 4 * 4 + i % 2) as f32).map(|i| (i * 0.7).sin() * (1.0 + i * 0.01)).collect();
        let y: Vec<f64> = (0..200).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
        // Every row comes twice in a row, under one id.
        let ids: Vec<u64> = (0..200).map(|i| i / 2 + 1).collect();
        let budgets = ["unlimited", "window:7", "age:9", "weight:7", "transfer:7", "merge:7", "forgetron:7", "certified:0.5"];
        for (budget, kernel) in budgets.iter().flat_map(|b| [(b, "gaussian:0.5"), (b, "linear")]) {
            if ["merge", "forgetron"].iter().any(|of| budget.starts_with(of)) && kernel == "linear" {
                continue;
            }
            let (loss, lambda) = if budget.starts_with("forgetron") { ("perceptron", 0.0) } else { ("hinge", 0.01) };
            let text =
                format!("loss = '{loss}'\nkernel = '{kernel}'\nstep = 'constant:0.3'\nlambda = {lambda:?}\nbudget = '{budget}'");
            let mut learner = Learner::new(Config::from_toml(&text).unwrap()).unwrap();
            learner.learn(&Batch::new(&x, 2).numbers(&y).ids(&ids)).unwrap();
            let (kept, of_terms) = (learner.engine().heads[0].mass, mass_of_terms(&learner, 0));
            assert!(kept >= of_terms && kept <= of_terms * (1.0 + 1e-9), "{budget}, {kernel}: {kept}, by the terms {of_terms}");
        }
    }
}
