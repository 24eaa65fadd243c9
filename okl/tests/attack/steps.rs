//! What a step does beside f: where it leads the offset, and how large its numbers can be.
//!
//! b <- b - eta s xi with s the `offset_step`, and a term gets alpha = -eta xi; -eta c xi under a proximal step, -eta phi xi under a Forgetron. So the offset is
//! followed by s alpha / 1, s alpha / c, s alpha / phi.
//!
//! A step is skipped if it would leave numbers whose sizes sum to more than 1e150. `largest` bounds that sum from the state before the
//! step: with G the largest |xi|, R² the largest eigenvalue of K(x, x), H the curvature of the loss,
//!
//! ```text
//! |alpha| <= eta G, |b'| - |b| <= eta s G        |f'| <= c |f| + eta G R        |beta| <= eta (G + decay H (|v(x)| + |w|))
//! |v'| <= decay c |v| + eta lambda |f| + |beta| R                    <f', v'> <= |f'| |v'|
//! ```

use okl::budget::BudgetRule;
use okl::loss::AnyLoss;
use okl::regulariser::Regulariser;
use okl::step::{Signal, StepSize};

use crate::case::Target;
use crate::follow::{Failure, Run, Seen, Voice, fail, within};
use crate::points::norm;

/// What a head was before a row.
#[derive(Clone, Debug)]
pub struct Before {
    eta: f64,
    norm: f64,
    trace: f64,
    offset_trace: f64,
    resting: bool,
}

/// Sums of sizes below this are far from what is skipped.
const CERTAINLY_FINITE: f64 = 1e149;

impl Run<'_> {
    /// The state of all heads that `skips` needs, before a row.
    pub fn before(&self) -> Vec<Before> {
        let one = |h: usize| {
            let head = &self.learner.engine().heads()[h];
            Before {
                // Weights that have not moved still have the first step size.
                eta: head.step_sizes().map_or(head.eta(), |sizes| sizes.largest.max(self.steps[h].start())),
                norm: head.norm2().max(0.0).sqrt(),
                trace: head.trace_norm2().max(0.0).sqrt(),
                offset_trace: norm(head.offset_trace()),
                resting: self.rests(h),
            }
        };
        (0..self.shadows.len()).map(one).collect()
    }

    /// What the offset moves by where a term gets alpha; none if it cannot be known (nothing is left of alpha).
    pub fn offset_move(&self, h: usize) -> Option<Vec<f64>> {
        let head = &self.learner.engine().heads()[h];
        let (keep, alpha) = head.last_update();
        let share = match self.config.budget() {
            BudgetRule::Forgetron { .. } if head.lambda() == 0.0 => keep,
            BudgetRule::Forgetron { .. } => return None,
            _ if self.proximal() => keep,
            _ => 1.0,
        };
        let moves = |a: &f64| self.offset_step(h) * a / share;
        (share > 0.0).then(|| alpha.iter().map(moves).collect())
    }

    /// The steps of the offset are this many times those of f; 0 without an offset.
    fn offset_step(&self, h: usize) -> f64 {
        if self.config.offset { self.offset_steps[h] } else { 0.0 }
    }

    /// Whether steps are proximal. Automatic steps are, if the loss has a proximal step.
    fn proximal(&self) -> bool {
        let implicit = okl::Config { implicit: true, ..self.config.clone() };
        let chosen = self.config.step.given().is_none() && self.learner.engine().bank().is_some();
        self.config.implicit || (chosen && implicit.check().is_ok())
    }

    /// A bound on the sum of the sizes of all numbers that the step of a head would leave.
    fn largest(&self, h: usize, before: &Before, seen: &Seen, t: usize) -> f64 {
        let (row, shadow, voice) = (&self.case.rows[t], &self.shadows[h], Voice { head: h, mean: false });
        let lambda = self.learner.engine().heads()[h].lambda();
        let outputs = seen.scores.len();
        let y = if let Target::Numbers(y) = seen.target() { norm(y) } else { 1.0 };
        let rounding = self.score_rounding(&voice, seen.point);
        let b = norm(&shadow.offset[0]);
        let p = norm(&self.points.eval(&shadow.shape, &shadow.live, seen.point, outputs)) + rounding;
        let reach = self.points.reach(&shadow.shape, seen.point);
        let size = row.weight * (reach * reach + self.offset_step(h));
        let signal = Signal { t: self.learner.examples() + 1, lambda, last: before.eta, product: f64::NEG_INFINITY, size };
        let mut eta = self.steps[h].eta(&signal);
        if lambda > 0.0 && !self.proximal() && !self.config.allow_overshoot && self.config.regulariser.is_square() {
            eta = eta.min(1.0 / lambda);
        }
        let keep = if self.config.allow_overshoot { 1.0 + eta * lambda } else { 1.0 };
        let (slope, curvature) = slopes(&self.config.loss, y + p + b, seen.theta);
        let xi = row.weight * slope;
        let alpha = eta * xi;
        let f = keep * before.norm.max(shadow.history) + alpha * reach;
        let decay = self.steps[h].trace().unwrap_or(0.0);
        let lifted = self.points.mass(&shadow.shape, &shadow.live_trace) * reach + before.offset_trace;
        let beta = eta * (xi + decay * row.weight * curvature * lifted);
        let v = if decay > 0.0 { decay * keep * before.trace + eta * lambda * before.norm + beta * reach } else { 0.0 };
        let loss = (1.0 + y + p + b + seen.theta).powi(2);
        let sum = keep
            + f * f
            + f * v
            + v * v
            + loss
            + row.weight * (1.0 + eta)
            + (1.0 + self.offset_step(h)) * alpha
            + beta
            + p
            + 2.0 * b;
        sum * (outputs as f64).max(1.0)
    }
}

/// The largest |dl/dz| where |y - z| is at most `residual`, and the largest second derivative.
fn slopes(loss: &AnyLoss, residual: f64, theta: f64) -> (f64, f64) {
    match loss {
        AnyLoss::Squared {} => (residual, 1.0),
        AnyLoss::Huber { sigma } => (1.0, 1.0 / sigma),
        AnyLoss::NuHuber { .. } => (1.0, 1.0 / theta),
        AnyLoss::MaxMargin {} | AnyLoss::Softmax {} => (2f64.sqrt(), 1.0),
        AnyLoss::Hinge { .. }
        | AnyLoss::NuHinge { .. }
        | AnyLoss::Perceptron {}
        | AnyLoss::Logistic {}
        | AnyLoss::Novelty { .. }
        | AnyLoss::NuNovelty { .. }
        | AnyLoss::Density { .. }
        | AnyLoss::Absolute {}
        | AnyLoss::Epsilon { .. }
        | AnyLoss::NuEpsilon { .. }
        | AnyLoss::Quantile { .. } => (1.0, 1.0),
        other => panic!("{other:?}: the largest slopes of a new loss are missing here"),
    }
}

/// A step is left out, or a head of a bank set to rest, only where its numbers may be too large: where they certainly are not, none is.
pub fn skips(run: &Run, left_out: bool, before: &[Before], seen: &Seen, t: usize) -> Result<(), Failure> {
    if run.points.largest_diagonal() > 1e38 || seen.scores.is_empty() || !run.case.rows[t].known {
        return Ok(());
    }
    for (h, before) in before.iter().enumerate().filter(|(_, before)| !before.resting) {
        let rests = run.rests(h);
        if !left_out && !rests {
            continue;
        }
        let largest = run.largest(h, before, seen, t);
        if largest < CERTAINLY_FINITE {
            let check = if rests { "rests" } else { "skipped" };
            return fail(check, t, format!("head {h}: no step was taken, though its numbers sum to at most {largest:e}"));
        }
    }
    Ok(())
}

/// The offset is where the updates lead it.
pub fn offsets(run: &Run, t: usize) -> Result<(), Failure> {
    for (h, shadow) in run.shadows.iter().enumerate().filter(|(_, shadow)| !shadow.resting) {
        let kept = run.learner.engine().heads()[h].offset();
        let apart = kept.iter().zip(&shadow.followed.0).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        if kept.len() != shadow.followed.0.len() || !within(apart, shadow.followed.1) {
            return fail(
                "offset",
                t,
                format!("head {h}: {kept:?}, by its updates {:?} +- {:e}", shadow.followed.0, shadow.followed.1),
            );
        }
    }
    Ok(())
}
