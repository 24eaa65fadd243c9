//! The twins checked against what algorithms.md states as checked, against each other, and against
//! themselves at a coarser precision. Each function asserts one fact; [`all`] runs them.

mod bounds;
mod recursions;
mod values;

use bounds::*;
use recursions::*;
use values::*;

use super::lecture::{Forgetron, Implicit, LectureHinge, Perceptron, Sumitra};
use super::losses::Loss;
use super::norma::{Average, Norma};
use super::olok::{Olok, s_t, t_0, vv_rls};
use super::svmd::{Smd, Svmd};
use super::*;

pub fn all() {
    for check in [
        kernel_values as fn(),
        boundaries,
        gradients,
        nu_is_the_fraction_outside,
        first_steps,
        alert_rate,
        lambda_eta,
        nu_identity,
        two_classes_are_norma,
        trace_is_a_derivative,
        recursions,
        step_size_limits,
        t_0_table,
        scalar_olok_is_norma,
        whitening,
        batch_is_stationary,
        perceptrons_agree,
        lecture_and_note_are_norma,
        implicit_closed_forms,
        forgetron_keeps_its_promise,
        truncation_bound,
        averages,
        weights,
        comparison_accepts,
        comparison_refuses,
    ] {
        check();
    }
}

fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().map(|x| f64::from(*x)).collect()
}

fn run(twin: &mut dyn Twin, stream: &Stream) -> Matrix {
    stream.iter().map(|(x, y)| twin.learn(&wide(x), y)).collect()
}

fn near(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0), "{a} and {b}");
}

fn same(a: &Matrix, b: &Matrix, tolerance: f64) {
    assert_eq!(a.len(), b.len());
    a.iter().flatten().zip(b.iter().flatten()).for_each(|(a, b)| near(*a, *b, tolerance));
}

/// A twin as a subject, its kernel rounded to f32: what the engine's arithmetic does to a score.
pub struct Shadow(pub Box<dyn Twin>);

pub fn shadow<T: Twin + Clone + 'static>(twin: &T) -> Shadow {
    let mut twin = twin.clone();
    let kernel = twin.state().kernel.clone();
    twin.state_mut().kernel = std::rc::Rc::new(move |x, y| f64::from(kernel(x, y) as f32));
    Shadow(Box::new(twin))
}

impl Subject for Shadow {
    fn learn(&mut self, x: &[f32], y: &[f64]) -> Vec<f64> {
        self.0.learn(&wide(x), y)
    }
    fn coefficients(&self) -> Vec<(u64, Vec<f64>)> {
        self.0.alpha()
    }
    fn offset(&self) -> Vec<f64> {
        self.0.offset()
    }
    fn theta(&self) -> f64 {
        self.0.theta()
    }
    fn eta(&self) -> f64 {
        self.0.eta()
    }
    fn norm2(&self) -> f64 {
        self.0.norm2()
    }
}

/// Every scalar loss, with a theta at which to start.
pub fn scalar_losses() -> Vec<(Loss, f64)> {
    vec![
        (Loss::Hinge { margin: 1.0 }, 0.0),
        (Loss::Hinge { margin: 0.3 }, 0.0),
        (Loss::NuHinge { nu: 0.3 }, 0.0),
        (Loss::Perceptron, 0.0),
        (Loss::Logistic, 0.0),
        (Loss::Novelty { margin: 1.0 }, 0.0),
        (Loss::NuNovelty { nu: 0.2 }, 0.0),
        (Loss::Density { nu: 0.2 }, 0.0),
        (Loss::Squared, 0.0),
        (Loss::Absolute, 0.0),
        (Loss::Epsilon { epsilon: 0.2 }, 0.0),
        (Loss::NuEpsilon { nu: 0.3 }, 0.0),
        (Loss::Huber { sigma: 0.3 }, 0.0),
        (Loss::NuHuber { nu: 0.3 }, 0.5),
        (Loss::NuHuberConcomitant { nu: 0.2 }, 0.5),
        (Loss::Quantile { q: 0.8 }, 0.0),
    ]
}

/// A stream that suits a scalar loss.
pub fn stream_for(loss: Loss, n: usize) -> Stream {
    match loss {
        Loss::Hinge { .. } | Loss::NuHinge { .. } | Loss::Perceptron | Loss::Logistic => streams::two_classes(n, 3, 7),
        Loss::Novelty { .. } | Loss::NuNovelty { .. } | Loss::Density { .. } => streams::novelty(n, 3, 7),
        _ => streams::regression(n, 3, 7),
    }
}

pub fn norma_for(loss: Loss, theta0: f64, step: Step, lambda: f64) -> Norma {
    let mut twin = Norma::new(&kernels::gaussian(0.5), loss, step, lambda);
    twin.offset = !loss.is_novelty();
    twin.state.theta = theta0;
    twin.theta_min = if theta0 > 0.0 { 0.01 } else { 0.0 };
    twin
}

fn equicorrelated(d: usize, a: f64) -> Matrix {
    identity(d).iter().map(|row| row.iter().map(|i| a + (1.0 - a) * i).collect()).collect()
}
