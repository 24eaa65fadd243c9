//! Naive textbook twins: the papers' updates in plain f64, every sum written out, nothing lazy.
//!
//! A twin predicts, then learns. [`compare`] walks a twin and the engine (a [`Subject`]) down one
//! stream: scores agree at every step to 1e-4 max(1,|z|), every coefficient, offset, theta and eta
//! agree after it, and the twin then adopts the engine's state, so that a rounding at a kink excuses
//! one step and no more. Because of the adoption each step's *change* is what is compared, so the
//! tolerances are relative to the change (a forgotten shrink of 1e-4 does not hide below 1e-4 |alpha|).
//!
//! Symbols and equation numbers as in algorithms.md: f = sum_i k(x_i, .) J alpha_i, z = f(x) + b,
//! theta in {rho, epsilon, sigma}, E.. = erratum. Targets `y`: one number (or a class 0, 1, ..), or d
//! numbers for vector losses; one number more, if there, is the example's weight.
#![allow(dead_code)]

pub mod check;
pub mod kernels;
pub mod lecture;
pub mod losses;
pub mod norma;
pub mod olok;
pub mod streams;
pub mod svmd;

pub use kernels::Kernel;
use std::collections::BTreeMap;

pub type Matrix = Vec<Vec<f64>>;
pub type Stream = Vec<(Vec<f32>, Vec<f64>)>;

/// Scores, coefficients and scalars agree to this.
pub const TOLERANCE: f64 = 1e-4;
/// A decision nearer than this to its threshold may fall either way.
pub const KINK: f64 = 1e-5;

/// What the engine shows to the twin.
pub trait Subject {
    /// Scores before the update.
    fn learn(&mut self, x: &[f32], y: &[f64]) -> Vec<f64>;
    /// (time step, from 1, at which the term was appended; alpha) of each live term, in any order.
    fn coefficients(&self) -> Vec<(u64, Vec<f64>)>;
    fn offset(&self) -> Vec<f64>;
    fn theta(&self) -> f64;
    /// The step size used by the last step.
    fn eta(&self) -> f64;
    /// |f|^2; NaN: not compared.
    fn norm2(&self) -> f64;
}

pub trait Twin {
    /// Scores before the update.
    fn learn(&mut self, x: &[f64], y: &[f64]) -> Vec<f64>;
    fn state(&self) -> &State;
    fn state_mut(&mut self) -> &mut State;
    /// The last decision was within 1e-5 of a threshold. Exactly on it is no excuse: that happens only
    /// where nothing is rounded (f = 0, classes never touched), and there the stated rule must hold.
    fn near_kink(&self) -> bool {
        self.state().gaps.iter().any(|g| *g != 0.0 && g.abs() < KINK)
    }
    /// The last step appended a term.
    fn updated(&self) -> bool {
        self.state().updated
    }
    fn alpha(&self) -> Vec<(u64, Vec<f64>)> {
        let live = self.state().terms.iter().filter(|term| term.live);
        live.map(|term| (term.time as u64, term.alpha.clone())).collect()
    }
    fn offset(&self) -> Vec<f64> {
        self.state().b.clone()
    }
    fn theta(&self) -> f64 {
        self.state().theta
    }
    fn eta(&self) -> f64 {
        self.state().eta
    }
    fn norm2(&self) -> f64 {
        self.state().dot(|term| &term.alpha, |term| &term.alpha)
    }
    /// |f|^2 of the engine is exact until a term is dropped, an upper bound after (law 5).
    fn norm_is_exact(&self) -> bool {
        !self.state().dropped
    }
    fn adopt(&mut self, subject: &dyn Subject) {
        self.state_mut().adopt(subject);
    }
}

/// x_i is `xs[time - 1]`; `beta` is the term's part in a second function (SVMD's trace, or the average).
#[derive(Clone, Debug)]
pub struct Term {
    pub time: usize,
    pub alpha: Vec<f64>,
    pub beta: Vec<f64>,
    pub live: bool,
}

/// What every twin has: the expansion with its history, the offset, theta and the last decision.
#[derive(Clone)]
pub struct State {
    pub kernel: Kernel,
    pub lambda: f64,
    /// f is shrunk only where the loss has a gradient (7.1).
    pub shrink_on_update: bool,
    /// f(x) = output sum_i k(x_i, x) alpha_i and <f, g> = sum_ij k_ij alpha_i' metric beta_j: both J.
    pub output: Matrix,
    pub metric: Matrix,
    pub xs: Vec<Vec<f64>>,
    pub terms: Vec<Term>,
    pub b: Vec<f64>,
    pub theta: f64,
    pub eta: f64,
    /// Signed distances of the last step's decisions from their thresholds.
    pub gaps: Vec<f64>,
    pub updated: bool,
    pub dropped: bool,
    /// Relative error allowed in a coefficient that only shrinks (f32 storage would pass).
    pub slack: f64,
}

impl State {
    pub fn new(kernel: &Kernel, outputs: usize, lambda: f64) -> State {
        State {
            kernel: kernel.clone(),
            lambda,
            shrink_on_update: false,
            output: identity(outputs),
            metric: identity(outputs),
            xs: vec![],
            terms: vec![],
            b: vec![0.0; outputs],
            theta: 0.0,
            eta: 0.0,
            gaps: vec![],
            updated: false,
            dropped: false,
            slack: 1e-7,
        }
    }

    pub fn k(&self, i: &Term, x: &[f64]) -> f64 {
        (self.kernel)(&self.xs[i.time - 1], x)
    }

    /// output sum_i k(x_i, x) part(i)
    pub fn sum(&self, x: &[f64], part: impl Fn(&Term) -> &Vec<f64>) -> Vec<f64> {
        let mut s = vec![0.0; self.output[0].len()];
        for term in &self.terms {
            let k = self.k(term, x);
            s.iter_mut().zip(part(term)).for_each(|(s, a)| *s += k * a);
        }
        times(&self.output, &s)
    }

    /// f(x), without the offset: N(7), L(1), V(11).
    pub fn f(&self, x: &[f64]) -> Vec<f64> {
        self.sum(x, |term| &term.alpha)
    }

    pub fn dot(&self, left: impl Fn(&Term) -> &Vec<f64>, right: impl Fn(&Term) -> &Vec<f64>) -> f64 {
        let mut s = 0.0;
        for j in &self.terms {
            let (x, right) = (&self.xs[j.time - 1], times(&self.metric, right(j)));
            s += self.terms.iter().map(|i| self.k(i, x) * inner(left(i), &right)).sum::<f64>();
        }
        s
    }

    /// Appends the newest example, unless its coefficient is 0.
    pub fn append(&mut self, alpha: Vec<f64>, beta: Vec<f64>) {
        self.updated = alpha.iter().chain(&beta).any(|a| *a != 0.0);
        if self.updated {
            let time = self.xs.len();
            self.terms.push(Term { time, alpha, beta, live: true });
        }
    }

    /// Removes terms; with `keep` they stay in the second function only.
    pub fn drop_terms(&mut self, budget: Budget, keep: bool) {
        let live = self.terms.iter().filter(|term| term.live).map(|term| term.time);
        let oldest = budget.oldest_kept(self.xs.len(), &live.collect::<Vec<_>>());
        for term in self.terms.iter_mut().filter(|term| term.live && term.time < oldest) {
            (term.live, self.dropped) = (false, true);
            term.alpha.iter_mut().for_each(|a| *a = 0.0);
        }
        self.terms.retain(|term| term.live || keep);
    }

    /// The regulariser that this example's gradient counts.
    pub fn lambda_at(&self, xi: &[f64]) -> f64 {
        if self.shrink_on_update && xi.iter().all(|xi| *xi == 0.0) { 0.0 } else { self.lambda }
    }

    pub fn adopt(&mut self, subject: &dyn Subject) {
        let ours = std::mem::take(&mut self.terms).into_iter();
        let (live, ghosts): (Vec<_>, Vec<_>) = ours.partition(|term| term.live);
        let mut betas: BTreeMap<usize, Vec<f64>> = live.into_iter().map(|term| (term.time, term.beta)).collect();
        self.terms = ghosts;
        for (time, alpha) in subject.coefficients() {
            let time = time as usize;
            let beta = betas.remove(&time).unwrap_or_else(|| vec![0.0; alpha.len()]);
            self.terms.push(Term { time, alpha, beta, live: true });
        }
        self.terms.sort_by_key(|term| term.time);
        (self.b, self.theta, self.eta) = (subject.offset(), subject.theta(), subject.eta());
    }
}

/// Which terms may stay at the end of a step.
#[derive(Clone, Copy, Debug)]
pub enum Budget {
    Unlimited,
    /// A term of step i serves f_{i+1} .. f_{i+steps}; age counts time steps (N, section 2).
    Age {
        steps: usize,
    },
    /// When full, the new term replaces the first-in (V, section 3.3).
    Window {
        terms: usize,
    },
    /// Terms i <= t - s_t are zeroed after the update (O, Algorithm 1, step 3).
    Olok {
        exponent: f64,
        t0: f64,
    },
}

impl Budget {
    fn oldest_kept(self, t: usize, live: &[usize]) -> usize {
        match self {
            Budget::Unlimited => 0,
            Budget::Age { steps } => (t + 1).saturating_sub(steps),
            Budget::Window { terms } if live.len() > terms => live[live.len() - terms],
            Budget::Window { .. } => 0,
            Budget::Olok { exponent, t0 } => (t + 1).saturating_sub(olok::s_t(t, exponent, t0)),
        }
    }
}

/// Step sizes that depend on the clock alone; t counts from 1.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Constant { eta: f64 },
    InverseSqrt { eta: f64 },
    Theorem1 { bound: f64, radius: f64, horizon: f64 },
    Theorem2,
    Decay { eta: f64, tau: f64 },
    Linear { eta: f64, horizon: f64 },
    Pegasos { t0: f64 },
}

impl Step {
    pub fn eta(self, t: usize, lambda: f64) -> f64 {
        let t = t as f64;
        match self {
            Step::Constant { eta } => eta,
            Step::InverseSqrt { eta } => eta / t.sqrt(), //                     Theorem O1; N section 5 (E10)
            Step::Theorem1 { bound, radius, horizon } => bound / (radius * horizon.sqrt()), // Theorem N1
            Step::Theorem2 => 1.0 / (3.0 * lambda * t.sqrt()), //               Theorems N2, N3
            Step::Decay { eta, tau } => eta * (tau / (tau + t)).sqrt(), //      V section 5
            Step::Linear { eta, horizon } => eta * (1.0 - (t - 1.0) / horizon).max(1.0 / horizon), // 1.3
            Step::Pegasos { t0 } => 1.0 / (lambda * (t + t0)), //               E25
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    pub steps: usize,
    pub updates: usize,
    pub kinks: usize,
    /// The largest |difference| / max(1,|z|) of a score.
    pub worst_score: f64,
}

/// Runs both down the stream; see the head of this file for what it asserts.
pub fn compare(twin: &mut dyn Twin, subject: &mut dyn Subject, stream: &[(Vec<f32>, Vec<f64>)]) -> Report {
    let mut report = Report::default();
    for (t, (x, y)) in stream.iter().enumerate() {
        let size = scores_agree(twin, subject, x, y, t + 1, &mut report);
        if twin.near_kink() {
            report.kinks += 1;
        } else {
            states_agree(twin, subject, t + 1, size);
        }
        twin.adopt(subject);
        if t % 100 == 99 || t + 1 == stream.len() {
            norms_agree(twin, subject, t + 1);
        }
    }
    assert!(report.kinks * 100 <= report.steps, "{} kinks in {} steps", report.kinks, report.steps);
    report
}

/// The same without adoption and for scores only: for smooth losses, where no decision can flip.
pub fn compare_free(twin: &mut dyn Twin, subject: &mut dyn Subject, stream: &[(Vec<f32>, Vec<f64>)]) -> Report {
    let mut report = Report::default();
    for (t, (x, y)) in stream.iter().enumerate() {
        scores_agree(twin, subject, x, y, t + 1, &mut report);
        report.kinks += usize::from(twin.near_kink());
    }
    report
}

/// Learns one example on both sides; returns max(1,|z|).
fn scores_agree(twin: &mut dyn Twin, subject: &mut dyn Subject, x: &[f32], y: &[f64], t: usize, report: &mut Report) -> f64 {
    let ours = twin.learn(&x.iter().map(|x| f64::from(*x)).collect::<Vec<_>>(), y);
    let theirs = subject.learn(x, y);
    assert_eq!(ours.len(), theirs.len(), "step {t}: number of scores");
    let mut size = 1.0_f64;
    for (a, b) in ours.iter().zip(&theirs) {
        let error = (a - b).abs() / a.abs().max(1.0);
        assert!(error <= TOLERANCE, "step {t}: score: twin {a}, subject {b}");
        report.worst_score = report.worst_score.max(error);
        size = size.max(a.abs());
    }
    report.steps += 1;
    report.updates += usize::from(twin.updated());
    size
}

fn states_agree(twin: &dyn Twin, subject: &dyn Subject, t: usize, size: f64) {
    let (eta, lambda, slack) = (twin.eta(), twin.state().lambda, twin.state().slack);
    agree("eta", t, eta, subject.eta(), TOLERANCE * eta.abs());
    let step = TOLERANCE * eta.abs() * size; // what one step may change by mistake
    agree("theta", t, twin.theta(), subject.theta(), step + 1e-10 * twin.theta().abs());
    let (ours, theirs) = (twin.offset(), subject.offset());
    assert_eq!(ours.len(), theirs.len(), "step {t}: number of offsets");
    ours.iter().zip(theirs).for_each(|(a, b)| agree("offset", t, *a, b, step + 1e-10 * a.abs()));
    let (ours, mut theirs) = (twin.alpha(), subject.coefficients());
    theirs.sort_by_key(|term| term.0);
    let times = |terms: &[(u64, Vec<f64>)]| terms.iter().map(|term| term.0).collect::<Vec<_>>();
    assert_eq!(times(&ours), times(&theirs), "step {t}: live terms");
    let last = twin.state().xs.len() as u64;
    for ((time, ours), (_, theirs)) in ours.iter().zip(&theirs) {
        assert_eq!(ours.len(), theirs.len(), "step {t}: outputs of term {time}");
        let change = slack + TOLERANCE * eta.abs() * lambda;
        for (a, b) in ours.iter().zip(theirs) {
            let tolerance = if *time == last { step } else { change * a.abs() };
            agree(&format!("alpha of term {time}"), t, *a, *b, tolerance);
        }
    }
}

fn norms_agree(twin: &dyn Twin, subject: &dyn Subject, t: usize) {
    let (ours, theirs) = (twin.norm2(), subject.norm2());
    let squares: f64 = twin.alpha().iter().map(|(_, a)| inner(a, a)).sum();
    let tolerance = TOLERANCE * ours.max(squares);
    if twin.norm_is_exact() && !theirs.is_nan() {
        agree("|f|^2", t, ours, theirs, tolerance);
    }
    assert!(theirs.is_nan() || theirs >= ours - tolerance, "step {t}: |f|^2 is {ours}, subject bounds it by {theirs}");
}

fn agree(what: &str, t: usize, twin: f64, subject: f64, tolerance: f64) {
    assert!((twin - subject).abs() <= tolerance, "step {t}: {what}: twin {twin:e}, subject {subject:e}, tolerance {tolerance:e}");
}

pub fn inner(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub fn times(m: &Matrix, a: &[f64]) -> Vec<f64> {
    m.iter().map(|row| inner(row, a)).collect()
}

pub fn identity(n: usize) -> Matrix {
    (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect()
}

/// a u + b v
pub fn combine(a: f64, u: &[f64], b: f64, v: &[f64]) -> Vec<f64> {
    u.iter().zip(v).map(|(u, v)| a * u + b * v).collect()
}

pub fn scale(a: f64, u: &[f64]) -> Vec<f64> {
    u.iter().map(|u| a * u).collect()
}
