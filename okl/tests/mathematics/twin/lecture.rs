//! The lecture (L), Sumitra's note (S), the textbook kernel perceptron, the self-tuned Forgetron
//! (algorithms.md 4.1) and the implicit step (3.3) by brute force. All scalar; gradients written out here.

use super::losses::Loss;
use super::{Budget, Kernel, State, Step, Subject, Twin};

macro_rules! has_state {
    () => {
        fn state(&self) -> &State {
            &self.state
        }
        fn state_mut(&mut self) -> &mut State {
            &mut self.state
        }
    };
}

/// Shrinks every old coefficient by `c` and appends `a`.
fn update(s: &mut State, c: f64, a: f64) {
    s.terms.iter_mut().for_each(|term| term.alpha[0] *= c);
    s.append(vec![a], vec![0.0]);
}

/// On a mistake, y f(x) <= 0, add y k(x, .): N(15) with lambda = 0, eta = 1; E1, E4.
#[derive(Clone)]
pub struct Perceptron {
    pub state: State,
    pub offset: bool,
}

impl Perceptron {
    pub fn new(kernel: &Kernel) -> Perceptron {
        Perceptron { state: State { eta: 1.0, ..State::new(kernel, 1, 0.0) }, offset: false }
    }
}

impl Twin for Perceptron {
    has_state!();
    fn learn(&mut self, x: &[f64], y: &[f64]) -> Vec<f64> {
        let z = self.state.f(x)[0] + self.state.b[0];
        let mistake = y[0] * z <= 0.0; //                                  E4: sign(0) is a mistake
        let s = &mut self.state;
        s.xs.push(x.to_vec());
        update(s, 1.0, if mistake { y[0] } else { 0.0 });
        s.b[0] += if mistake && self.offset { y[0] } else { 0.0 };
        s.gaps = vec![y[0] * z];
        vec![z]
    }
}

/// L section 3: f <- (1 - eta lambda) f - eta grad L, hinge loss of margin 1 (E2, E23).
#[derive(Clone)]
pub struct LectureHinge {
    pub state: State,
    pub step: Step,
}

impl LectureHinge {
    pub fn new(kernel: &Kernel, step: Step, lambda: f64) -> LectureHinge {
        LectureHinge { state: State::new(kernel, 1, lambda), step }
    }
}

impl Twin for LectureHinge {
    has_state!();
    fn learn(&mut self, x: &[f64], y: &[f64]) -> Vec<f64> {
        let z = self.state.f(x)[0]; //                                     L section 3, 2.
        let s = &mut self.state;
        s.xs.push(x.to_vec());
        s.eta = self.step.eta(s.xs.len(), s.lambda);
        let gradient = if 1.0 - y[0] * z <= 0.0 { 0.0 } else { -y[0] }; // L(2)-(3); E2
        let (c, a) = (1.0 - s.eta * s.lambda, -s.eta * gradient); //       L section 3, 4.; E23
        update(s, c, a);
        s.gaps = vec![1.0 - y[0] * z];
        vec![z]
    }
}

/// S(4)-(5): squared loss, mu |f|^2 / 2 (lambda here), reading (3), not (2): E24.
#[derive(Clone)]
pub struct Sumitra {
    pub state: State,
    pub step: Step,
}

impl Sumitra {
    pub fn new(kernel: &Kernel, step: Step, mu: f64) -> Sumitra {
        Sumitra { state: State::new(kernel, 1, mu), step }
    }
}

impl Twin for Sumitra {
    has_state!();
    fn learn(&mut self, x: &[f64], y: &[f64]) -> Vec<f64> {
        let z = self.state.f(x)[0];
        let s = &mut self.state;
        s.xs.push(x.to_vec());
        s.eta = self.step.eta(s.xs.len(), s.lambda);
        let (c, a) = (1.0 - s.eta * s.lambda, -s.eta * (z - y[0])); //     S(5), S(4)
        update(s, c, a);
        vec![z]
    }
}

/// Self-tuned Forgetron: a perceptron of at most `terms` terms. When a mistake would make one more,
/// f' is shrunk by the largest phi that keeps the total damage Q below (15/32) M, and the oldest goes.
#[derive(Clone)]
pub struct Forgetron {
    pub state: State,
    pub terms: usize,
    pub mistakes: f64,
    pub damage: f64,
    before: Option<Box<Forgetron>>,
}

impl Forgetron {
    pub fn new(kernel: &Kernel, terms: usize) -> Forgetron {
        let state = State { eta: 1.0, slack: 1e-5, ..State::new(kernel, 1, 0.0) }; // phi depends on scores
        Forgetron { state, terms, mistakes: 0.0, damage: 0.0, before: None }
    }

    fn mistake(&mut self, y: f64) {
        self.mistakes += 1.0;
        update(&mut self.state, 1.0, y);
        if self.state.terms.len() <= self.terms {
            return;
        }
        let oldest = self.state.terms[0].clone();
        let sigma = oldest.alpha[0].abs();
        let mu = oldest.alpha[0].signum() * self.state.f(&self.state.xs[oldest.time - 1])[0]; // y_r f'(x_r)
        let psi = |phi: f64| phi * phi * (sigma * sigma - 2.0 * sigma * mu) + 2.0 * phi * sigma;
        let room = 15.0 / 32.0 * self.mistakes - self.damage;
        let phi = if psi(1.0) <= room { 1.0 } else { bisect(|phi| psi(phi) <= room) }; // 4.1: max phi in (0, 1]
        self.damage += psi(phi); //                                        4.1: Q += (s phi)^2 + 2 s phi - 2 s phi (phi mu)
        self.state.terms.iter_mut().for_each(|term| term.alpha[0] *= phi);
        self.state.drop_terms(Budget::Window { terms: self.terms }, false);
    }
}

/// Where a condition that holds at 0 and not at 1 changes (once: psi is rising, or concave).
fn bisect(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        (low, high) = if holds(middle) { (middle, high) } else { (low, middle) };
    }
    low
}

impl Twin for Forgetron {
    has_state!();
    fn learn(&mut self, x: &[f64], y: &[f64]) -> Vec<f64> {
        let z = self.state.f(x)[0];
        self.state.xs.push(x.to_vec());
        (self.state.gaps, self.state.updated) = (vec![y[0] * z], false);
        self.before = self.near_kink().then(|| Box::new(Forgetron { before: None, ..self.clone() }));
        if y[0] * z <= 0.0 {
            self.mistake(y[0]);
        }
        vec![z]
    }

    /// At a kink, repeats the step as the subject decided it, so that Q and M follow.
    fn adopt(&mut self, subject: &dyn Subject) {
        let t = self.state.xs.len() as u64;
        let theirs = subject.coefficients().into_iter().find(|term| term.0 == t);
        if let Some(before) = self.before.take().filter(|_| self.state.updated != theirs.is_some()) {
            *self = *before;
            if let Some((_, alpha)) = theirs {
                self.mistake(alpha[0].signum());
            }
        }
        self.state.adopt(subject);
    }
}

/// The implicit step: argmin over (f, b) of |f - f_t|^2/2 + (b - b_t)^2/2 + eta (l(f(x)+b, y) + lambda |f|^2/2).
/// Setting the derivative to 0, whatever l is: f = s (f_t - eta xi k_x), b = b_t - eta xi, s = 1/(1 + eta lambda),
/// for some number xi. The minimum lies on that line, so it is searched there, by golden section.
#[derive(Clone)]
pub struct Implicit {
    pub state: State,
    pub loss: Loss,
    pub step: Step,
    pub offset: bool,
}

impl Implicit {
    /// Any loss with one output and a fixed theta.
    pub fn new(kernel: &Kernel, loss: Loss, step: Step, lambda: f64) -> Implicit {
        Implicit { state: State::new(kernel, 1, lambda), loss, step, offset: false }
    }

    /// The objective at xi, less what does not depend on xi (the terms in |f_t|^2 alone).
    fn objective(&self, xi: f64, x: &[f64], y: &[f64], eta: f64) -> f64 {
        let (lambda, k, p) = (self.state.lambda, (self.state.kernel)(x, x), self.state.f(x)[0]);
        let s = 1.0 / (1.0 + eta * lambda);
        let (a, db) = (-eta * s * xi, if self.offset { -eta * xi } else { 0.0 }); // f = s f_t + a k_x
        let distance = 2.0 * (s - 1.0) * a * p + a * a * k + db * db;
        let norm = 2.0 * s * a * p + a * a * k;
        let z = s * p + a * k + self.state.b[0] + db;
        0.5 * distance + eta * (self.loss.eval(&[z], y, 0.0).loss + 0.5 * lambda * norm)
    }
}

/// The minimiser of a convex function on [low, high].
pub fn golden_section(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    let ratio = 0.5 * (5.0_f64.sqrt() - 1.0);
    for _ in 0..80 {
        let (a, b) = (high - ratio * (high - low), low + ratio * (high - low));
        (low, high) = if f(a) <= f(b) { (low, b) } else { (a, high) };
    }
    0.5 * (low + high)
}

impl Twin for Implicit {
    has_state!();
    fn learn(&mut self, x: &[f64], y: &[f64]) -> Vec<f64> {
        let z = self.state.f(x)[0] + self.state.b[0];
        let eta = self.step.eta(self.state.xs.len() + 1, self.state.lambda);
        let s = 1.0 / (1.0 + eta * self.state.lambda);
        let at_z = self.loss.eval(&[z], y, 0.0);
        if self.state.shrink_on_update && at_z.xi[0] == 0.0 {
            (self.state.gaps, self.state.eta) = (at_z.gaps, eta);
            self.state.xs.push(x.to_vec());
            update(&mut self.state, 1.0, 0.0); //                         7.1: no gradient at f_t, no step
            return vec![z];
        }
        let z0 = s * (z - self.state.b[0]) + self.state.b[0];
        let bound = 1.0 + self.loss.eval(&[z0], y, 0.0).xi[0].abs(); //   |xi| at the new z is no larger than at z0
        let xi = golden_section(|xi| self.objective(xi, x, y, eta), -bound, bound);
        self.state.gaps = self.loss.eval(&[z0], y, 0.0).gaps; //          whether a term appears is decided at z0
        let xi = if xi.abs() < 1e-6 && !self.state.gaps.is_empty() { 0.0 } else { xi }; // a flat piece: no action
        if self.state.shrink_on_update {
            self.state.gaps.extend(at_z.gaps);
        }
        let st = &mut self.state;
        st.xs.push(x.to_vec());
        update(st, s, -eta * s * xi); //                                  3.3
        st.b[0] -= if self.offset { eta * xi } else { 0.0 };
        st.eta = eta;
        vec![z]
    }
}
