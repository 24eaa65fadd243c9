//! Law 1: what a stream leaves behind is a function of the stream and the configuration alone, to the last bit.
//!
//! Not of the cuts, the threads, a save and load in between, features that come later, or the instruction set.
//! `OKL_BACKEND=avx2 cargo test` runs all of this on one backend; [`every_backend`] compares them with each other.

mod drawn;
mod named;
mod own_spaces;
mod precomputed;

use crate::support::cases::{Answers, Case, Stream};
use crate::support::plain::plain;
use okl::basis::block::Block;
use okl::basis::terms::Terms;
use okl::basis::{Basis, Items, OperatorKernel, Operators, Space};
use okl::budget::{AnyBudget, Budget, BudgetRule};
use okl::config::{Choice, ClassWeight, Form, KernelRule, OperatorRule, Scale, TargetScale, Threshold};
use okl::engine::head::{Average, HeadParts, Rules, Shrink};
use okl::engine::{Engine, Labels, Parts};
use okl::gram::Backend;
use okl::kernel::{Kernel, Pair};
use okl::loss::{AnyLoss, Loss, Reads};
use okl::output::Output;
use okl::regulariser::AnyRegulariser;
use okl::step::{AnyStep, StepSize};
use okl::{Batch, Checked, Label, Learner, Workspace};
use proptest::prelude::*;

/// Bits, with one NaN: its payload is no part of the law.
fn bits(v: f64) -> u64 {
    if v.is_nan() { u64::MAX } else { v.to_bits() }
}

fn all_bits(values: &[f64]) -> Vec<u64> {
    values.iter().copied().map(bits).collect()
}

/// What a row left behind.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    scores: Vec<u64>,
    loss: Option<u64>,
    slot: Option<usize>,
    outside: Option<bool>,
    threshold: Option<u64>,
}

impl Row {
    fn of(step: &okl::engine::Outcome<'_>) -> Self {
        Row {
            scores: all_bits(step.scores),
            loss: step.loss.map(bits),
            slot: step.slot,
            outside: step.outside,
            threshold: step.threshold.map(bits),
        }
    }
}

/// Everything that can be seen of a run.
#[derive(Clone, Debug, Default, PartialEq)]
struct Trace {
    rows: Vec<Row>,
    state: Vec<(&'static str, Vec<u64>)>,
    texts: Vec<String>,
    bytes: Vec<u8>,
}

impl Trace {
    fn engine<F: Basis, P: Space, L: Loss, S: StepSize, B: Budget>(&mut self, engine: &Engine<F, L, S, B>, terms: &Terms<P>) {
        let head = &engine.heads()[0];
        let alpha = terms.live().flat_map(|slot| (0..head.offset().len()).map(move |o| bits(head.expansion().alpha(o, slot))));
        let mean = terms.live().flat_map(|slot| (0..head.offset().len()).filter_map(move |o| head.expansion().mean(o, slot)));
        self.state.extend([
            ("alpha", alpha.collect()),
            ("mean", mean.map(bits).collect()),
            ("live", terms.live().map(|s| s as u64).collect()),
            ("births", terms.live().filter_map(|s| terms.birth(s)).collect()),
            ("offset", all_bits(head.offset())),
            ("theta, eta", all_bits(&[head.theta(), head.eta()])),
            ("norms", all_bits(&[head.norm2(), head.trace_product(), head.trace_norm2()])),
            ("truncation", vec![bits(head.truncation_error())]),
            (
                "regret",
                [(0.0, 0.0), (1.0, 0.5), (3.0, 2.0)]
                    .into_iter()
                    .filter_map(|(u, b)| head.regret().bound(u, b))
                    .map(bits)
                    .collect(),
            ),
            ("counts", vec![engine.examples(), engine.skipped(), head.cut_steps()]),
        ]);
    }

    fn learner(&mut self, learner: &Learner) {
        self.engine(learner.engine(), learner.engine().terms());
        let rate = learner.alert_rate().map_or(vec![], |r| all_bits(&[r.nu, r.rate, r.bound]));
        let centres = all_bits(&learner.centres());
        self.state.extend([
            ("alert rate", rate),
            ("threshold", learner.threshold().map_or(vec![], |t| vec![bits(t)])),
            ("centres", centres),
            ("weights", all_bits(&learner.weights().unwrap_or_default())),
            ("coefficients", all_bits(&learner.coefficients())),
            ("shape", vec![learner.outputs() as u64, learner.features() as u64, learner.warming_up().into()]),
        ]);
        self.texts = vec![learner.config().to_json(), format!("{:?} {:?}", learner.classes(), learner.positive())];
        self.bytes = learner.to_bytes();
    }

    /// The first thing in which two runs differ.
    fn difference(&self, other: &Trace) -> Option<String> {
        if let Some(i) = (0..self.rows.len().max(other.rows.len())).find(|&i| self.rows.get(i) != other.rows.get(i)) {
            return Some(format!("row {i}: {:x?} and {:x?}", self.rows.get(i), other.rows.get(i)));
        }
        if let Some((a, b)) = self.state.iter().zip(&other.state).find(|(a, b)| a != b) {
            return Some(format!("{a:x?} and {b:x?}"));
        }
        (self != other)
            .then(|| format!("{:?} and {:?}, {} bytes and {}", self.texts, other.texts, self.bytes.len(), other.bytes.len()))
    }
}

fn learn(learner: &mut Learner, batch: &Batch<'_>, rows: &mut Vec<Row>) {
    learner.learn_with(batch, each_row(rows)).unwrap();
}

fn each_row(rows: &mut Vec<Row>) -> impl FnMut(usize, &okl::engine::Outcome<'_>) {
    |_, step| rows.push(Row::of(step))
}

fn learner(toml: &str) -> Learner {
    Learner::new(plain(toml).unwrap()).unwrap()
}
