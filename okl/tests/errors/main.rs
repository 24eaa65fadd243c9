//! Law 6: bad input is refused by name and changes nothing; a step that would not leave a finite state is not taken.
//!
//! And the configuration: what is refused, with which words, and that every way to write one means the same.

#[path = "../support/mod.rs"]
mod support;

mod configurations;
mod kernel_values;
mod rows;
mod sizes;

use crate::support::plain::plain;
use okl::budget::BudgetRule;
use okl::config::families::{PARAMETERS, family};
use okl::config::{Gamma, KernelRule, OperatorRule, Scale};
use okl::loss::AnyLoss;
use okl::step::AnyStep;
use okl::{Batch, Config, Error, ErrorKind, Label, Learner, Targets};
use serde_json::{Value, json};

fn learner(toml: &str) -> Learner {
    Learner::new(plain(toml).unwrap()).unwrap()
}

fn says(error: &Error, words: &[&str]) {
    let text = error.to_string();
    assert!(words.iter().all(|w| text.contains(w)), "{text:?} lacks one of {words:?}");
}

/// Both ways to learn refuse the batch with these words, and leave every byte of the learner alone.
fn refused(learner: &mut Learner, batch: &Batch<'_>, words: &[&str]) -> ErrorKind {
    let before = learner.to_bytes();
    let error = learner.learn(batch).unwrap_err();
    let with = learner.learn_with(batch, |_, _| panic!("nothing is learned")).unwrap_err();
    assert_eq!(with.to_string(), error.to_string());
    assert_eq!(learner.to_bytes(), before, "{error}");
    says(&error, words);
    error.kind().clone()
}

/// A learner of each kind of target that has seen two examples.
fn started(toml: &str) -> Learner {
    let mut learner = learner(toml);
    let labels = [Label::from("a"), Label::from("b")];
    let x = [1.0f32, 2.0, 3.0, 4.0];
    let targets = match toml {
        _ if toml.contains("max_margin") || toml.contains("named") => Targets::Labels(&labels),
        _ => Targets::Numbers(&[1.0, -1.0]),
    };
    learner.learn(&Batch::new(&x, 2).targets(targets)).unwrap();
    learner
}

const HINGE: &str = "loss = 'hinge'\nkernel = 'gaussian:0.5'";
/// Labels are learned; the comment is for [`started`].
const NAMED: &str = "loss = 'hinge'\nkernel = 'gaussian:0.5' # named";
const CLASSES: &str = "loss = 'max_margin'\nkernel = 'gaussian:0.5'";
const SQUARED: &str = "loss = 'squared'\nkernel = 'gaussian:0.5'\nstep = 'constant:0.1'";
const QUANTILE: &str = "loss = 'quantile:0.5'\nkernel = 'gaussian:0.5'";
const NOVELTY: &str = "loss = 'nu_novelty:0.1'\nkernel = 'gaussian:0.5'";
