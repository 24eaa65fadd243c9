//! What algorithms.md derives, held against direct computation: traces, norms, equivalences, errata, averages, certificates.
//!
//! Section numbers and errata (E..) are of algorithms.md. Everything explicit here is f64 and as slow as it is plain.

mod budgets;
mod bugs;
mod equivalences;
mod numerics;
mod operators;
mod traces;

use std::collections::BTreeMap;

use crate::support::plain::plain;
use crate::twin::{Kernel, Matrix, Stream, identity, inner, kernels, streams, times};
use okl::basis::terms::Terms;
use okl::basis::{Items, OperatorKernel, Operators, Space};
use okl::budget::{AnyBudget, BudgetRule};
use okl::engine::head::{HeadParts, Rules, Shrink};
use okl::engine::{Engine, Labels, Parts};
use okl::kernel::Kernel as AnyTypeKernel;
use okl::loss::{AnyLoss, Eval, Loss, Reads, Theta};
use okl::output::Output;
use okl::regulariser::AnyRegulariser;
use okl::step::AnyStep;
use okl::{Batch, Label, Learner};

fn learner(toml: &str) -> Learner {
    let config = plain(toml).unwrap_or_else(|e| panic!("{e}\n{toml}"));
    Learner::new(config).unwrap_or_else(|e| panic!("{e}\n{toml}"))
}

fn learn_one(learner: &mut Learner, x: &[f32], y: &[f64]) -> Vec<f64> {
    let label = [Label::Int(y[0] as i64)];
    let batch = match learner.config().loss.reads() {
        Reads::Class => Batch::new(x, x.len()).labels(&label),
        Reads::Nothing => Batch::new(x, x.len()),
        _ => Batch::new(x, x.len()).numbers(y),
    };
    learner.learn(&batch).unwrap().values
}

fn run(learner: &mut Learner, stream: &Stream) -> Matrix {
    stream.iter().map(|(x, y)| learn_one(learner, x, y)).collect()
}

fn wide(x: &[f32]) -> Vec<f64> {
    x.iter().map(|x| f64::from(*x)).collect()
}

fn near(a: f64, b: f64, tolerance: f64, what: &str) {
    assert!((a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0), "{what}: {a} and {b}");
}

fn equicorrelated(d: usize, a: f64) -> Matrix {
    (0..d).map(|i| (0..d).map(|j| if i == j { 1.0 } else { a }).collect()).collect()
}

/// A function in H written out: centres with coefficients.
type Expansion = Vec<(Vec<f64>, Vec<f64>)>;

/// sum_ij k(x_i, y_j) a_i^T J b_j, and the same of absolute values, which is what rounding is measured by.
fn product(kernel: &Kernel, j: &Matrix, left: &Expansion, right: &Expansion) -> (f64, f64) {
    let (mut sum, mut size) = (0.0, 0.0);
    for (y, b) in right {
        let jb = times(j, b);
        for (x, a) in left {
            let term = kernel(x, y) * inner(a, &jb);
            (sum, size) = (sum + term, size + term.abs());
        }
    }
    (sum, size)
}

fn per_slot(learner: &Learner, coefficient: impl Fn(usize, usize) -> f64) -> Expansion {
    let (d, centres) = (learner.outputs(), learner.centres());
    let rows = centres.chunks_exact(learner.features().max(1));
    learner
        .engine()
        .terms()
        .live()
        .zip(rows)
        .map(|(slot, x)| (x.to_vec(), (0..d).map(|o| coefficient(o, slot)).collect()))
        .collect()
}

fn f_of(learner: &Learner) -> Expansion {
    let expansion = learner.engine().heads()[0].expansion();
    per_slot(learner, |o, slot| expansion.alpha(o, slot))
}

fn trace_of(learner: &Learner) -> Expansion {
    let expansion = learner.engine().heads()[0].expansion();
    per_slot(learner, |o, slot| expansion.trace(o, slot).unwrap())
}

fn births(learner: &Learner) -> Vec<u64> {
    let terms = learner.engine().terms();
    terms.live().map(|slot| terms.birth(slot).unwrap()).collect()
}

/// One example; the scores before it.
fn step_of<'a, P: Space, L: Loss>(engine: &mut Any<P, L>, row: P::Rows<'a>, y: &[f64]) -> Vec<f64> {
    let mut scores = vec![];
    engine.learn_block(row, &Labels { y, width: y.len(), ..Labels::default() }, |_, step| scores = step.scores.to_vec());
    scores
}

fn engine_of<P: Space, L: Loss>(
    space: P,
    loss: L,
    budget: BudgetRule,
    heads: Vec<(AnyStep, f64)>,
    output: Output,
    outputs: usize,
) -> Any<P, L> {
    let heads = heads.into_iter().map(|(step, lambda)| HeadParts::new(step, lambda)).collect();
    Engine::new(Parts {
        basis: Terms::new(space),
        losses: vec![loss],
        budget: AnyBudget::new(budget, 0.1),
        heads,
        output,
        outputs,
        theta0: None,
        rules: PLAIN,
    })
}

/// exp(-gamma |x - y|²) as a user writes it.
#[derive(Clone)]
struct Gaussian(f64);

impl AnyTypeKernel<Vec<f64>> for Gaussian {
    fn eval(&self, a: &Vec<f64>, b: &Vec<f64>) -> f64 {
        libm::exp(-self.0 * a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>())
    }
}

fn items<L: Loss>(
    loss: L,
    budget: BudgetRule,
    heads: Vec<(AnyStep, f64)>,
    kernel: Gaussian,
) -> Any<Items<Vec<f64>, Gaussian>, L> {
    engine_of(Items::new(kernel), loss, budget, heads, Output::Identity, 1)
}

const PLAIN: Rules<AnyRegulariser> =
    Rules { regulariser: AnyRegulariser::Square, offset: false, implicit: false, allow_overshoot: false, shrink: Shrink::Always };

type Any<P, L> = Engine<Terms<P>, L, AnyStep, AnyBudget>;

/// The rate of examples below the margin, the final theta, and the number of terms.
fn rate<L: Loss>(loss: L, stream: &Stream) -> (f64, f64, usize) {
    let mut engine = items(loss, BudgetRule::Unlimited {}, vec![(AnyStep::Constant { eta: 0.005 }, 1.0)], Gaussian(0.5));
    let mut below = 0;
    for (x, y) in stream {
        let theta = engine.heads()[0].theta();
        let nothing = engine.loss().reads() == Reads::Nothing;
        let z = step_of(&mut engine, &[wide(x)], if nothing { &[] } else { y });
        below += usize::from(z[0] * if nothing { 1.0 } else { y[0] } < theta);
    }
    (below as f64 / stream.len() as f64, engine.heads()[0].theta(), engine.terms().len())
}
