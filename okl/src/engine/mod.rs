//! The loop. One function, [`Engine::learn_block`], runs every algorithm; its parts are values passed to it.
//!
//! ```text
//! for each row of a block, in order:
//!     read     p = f(x), v(x), mean(x)       from the row's kernel values against the current terms     reader.rs
//!     score    z = p + b                     known before the target is used
//!     plan     xi, eta, the new term         head by head                                             plan.rs
//!     take     shrink, offset, theta, norms, certificates                                             head.rs
//!     weigh    a bank weighs its heads by their losses                                                bank.rs
//!     write    the budget makes room, what is lost is accounted for, the new term is written          evict.rs
//!     expire   terms that have grown old or light are dropped                                         evict.rs
//! ```
//!
//! ```
//! use okl::budget::{AnyBudget, BudgetRule};
//! use okl::engine::{Engine, Labels, Parts};
//! use okl::engine::head::{HeadParts, Rules};
//! use okl::{kernel::Kernel, loss::AnyLoss, output::Output, regulariser::AnyRegulariser, basis::{Items, terms::Terms}, step::AnyStep};
//!
//! struct Close;                                            // a kernel over whole numbers
//! impl Kernel<i64> for Close {
//!     fn eval(&self, a: &i64, b: &i64) -> f64 { (10 - (a - b).abs()).max(0) as f64 / 10.0 }
//! }
//! let mut engine = Engine::new(Parts {
//!     basis: Terms::new(Items::new(Close)),
//!     loss: AnyLoss::Squared {},
//!     budget: AnyBudget::new(BudgetRule::Unlimited {}, 0.0),
//!     heads: vec![HeadParts::new(AnyStep::Constant { eta: 0.5 }, 0.0)],
//!     output: Output::Identity,
//!     outputs: 1,
//!     theta0: None,
//!     rules: Rules::<AnyRegulariser>::default(),
//! });
//! let mut scores = Vec::new();
//! let labels = Labels { y: &[1.0, 1.0, 1.0], width: 1, ..Labels::default() };
//! engine.learn_block(&[3, 3, 8], &labels, |_, step| scores.push(step.scores[0]));
//! assert_eq!(scores, [0.0, 0.5, 0.375]);
//! ```
//!
//! Rows come in blocks of up to 32, whose kernel values come from one matrix product; nothing is decided at a block's edge.

pub mod bank;
mod copy;
mod evict;
pub mod head;
mod norms;
mod plan;
mod reader;
mod rules;
mod sight;

pub(crate) use plan::Example;
pub(crate) use reader::Reader;

use crate::basis::block::{Block, ROWS};
use crate::basis::terms::{NO_ID, Terms};
use crate::basis::{Basis, Form, RowsOf, Space};
use crate::engine::bank::Bank;
use crate::engine::evict::{Scratch, Writer};
use crate::engine::head::{Head, HeadParts, Rules};
use crate::parts::budget::Budget;
use crate::parts::loss::{Loss, Reads};
use crate::parts::output::Output;
use crate::parts::regulariser::{AnyRegulariser, Regulariser};
use crate::parts::step::StepSize;

/// The targets, weights and ids of a block's rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Labels<'a> {
    /// Targets row by row, `width` numbers each (a class is its index); empty for losses without a target.
    pub y: &'a [f64],
    /// Numbers per target.
    pub width: usize,
    /// Which rows have a target; all, when not given. The others are only predicted, in their place.
    pub known: Option<&'a [bool]>,
    /// Example weights; 1 when not given. Weight 0 is a row without a target.
    pub weights: Option<&'a [f64]>,
    /// Ids; a row whose id names a live term with the same input adds onto it. With another input the row takes the id over.
    pub ids: Option<&'a [u64]>,
}

impl<'a> Labels<'a> {
    fn target(&self, i: usize) -> Option<(&'a [f64], f64)> {
        let weight = self.weights.map_or(1.0, |w| w[i]);
        let known = self.known.is_none_or(|k| k[i]) && weight > 0.0;
        known.then(|| (&self.y[i * self.width..(i + 1) * self.width], weight))
    }

    fn id(&self, i: usize) -> u64 {
        self.ids.map_or(NO_ID, |ids| ids[i])
    }
}

/// What one row left behind.
#[derive(Clone, Copy, Debug, Default)]
pub struct Step<'a> {
    /// The scores before the update (of the averaged hypothesis, where there is one). 0 where a kernel value of the row is beyond
    /// single precision: such a row is not learned, and counted in [`Engine::skipped`] if it has a target.
    pub scores: &'a [f64],
    /// The loss before the update times the weight; none for a row that was only predicted, or with a kernel value beyond single
    /// precision. A learner with a `target_scale` gives scores in the unit of the targets, and this loss in the unit of the
    /// scaled targets.
    pub loss: Option<f64>,
    /// The slot written, if one was.
    pub slot: Option<usize>,
    /// Was the example outside: an alert, a margin error, beyond the tube or scale? A row that is only predicted can be an alert
    /// of a novelty loss. None where the loss has no margin, tube or scale, or while a novelty threshold is still being gathered.
    pub outside: Option<bool>,
    /// What a novelty score was held against, before the update.
    pub threshold: Option<f64>,
    /// Where classes share one score: the index of the class whose score is positive, by the classes up to this row's. Under a
    /// sign see [`Learner::positive`](crate::Learner::positive); under other losses a class that is alone.
    pub positive: Option<usize>,
}

/// A learner of any parts: a basis `F` of functions, a loss `L`, step sizes `S`, a budget `B` and a regulariser `R`.
#[derive(Clone, Debug)]
pub struct Engine<F, L, S, B, R = AnyRegulariser> {
    pub(crate) basis: F,
    pub(crate) heads: Vec<Head<S>>,
    pub(crate) bank: Option<Bank>,
    pub(crate) loss: L,
    pub(crate) budget: B,
    pub(crate) output: Output,
    pub(crate) rules: Rules<R>,
    /// Examples learned, and those whose step was not taken.
    pub(crate) t: u64,
    pub(crate) skipped: u64,
    block: Block,
    reader: Reader,
    /// k(x, x) of the current row, one value per plane.
    pub(crate) own: Vec<f64>,
    scratch: Scratch,
}

/// Room for predictions, so that readers share a learner without writing to it.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    block: Block,
    reader: Reader,
    combined: Vec<f64>,
}

/// The parts of an [`Engine`].
#[derive(Clone, Debug)]
pub struct Parts<F, L, S, B, R = AnyRegulariser> {
    /// What f is made of.
    pub basis: F,
    /// The loss.
    pub loss: L,
    /// The budget.
    pub budget: B,
    /// The heads: a step size, a lambda and a kernel each. Several are a [`Bank`].
    pub heads: Vec<HeadParts<S>>,
    /// The output operator.
    pub output: Output,
    /// The number of outputs to start with.
    pub outputs: usize,
    /// Where theta starts; the loss's own start when not given.
    pub theta0: Option<f64>,
    /// What the heads share.
    pub rules: Rules<R>,
}

impl<F: Basis, L: Loss, S: StepSize, B: Budget, R: Regulariser> Engine<F, L, S, B, R> {
    /// f = 0.
    pub fn new(parts: Parts<F, L, S, B, R>) -> Self {
        let Parts { basis, loss, budget, heads, output, outputs, theta0, rules } = parts;
        let theta = theta0.or(loss.theta().map(|t| t.start)).unwrap_or(0.0);
        let certified = rules.regulariser.is_square() && !rules.implicit && loss.convex() && loss.theta().is_none();
        let mut heads: Vec<_> = heads.into_iter().map(|parts| Head::new(parts, outputs, theta, certified, None)).collect();
        heads.iter_mut().for_each(|head| head.f.reserve(basis.row_len()));
        let bank = (heads.len() > 1).then(|| Bank::new(heads.iter().map(Head::voice_count)));
        Engine {
            heads,
            bank,
            own: vec![0.0; basis.planes()],
            basis,
            loss,
            budget,
            output,
            rules,
            t: 0,
            skipped: 0,
            block: Block::default(),
            reader: Reader::default(),
            scratch: Scratch::default(),
        }
    }

    /// Learns the rows in order; `each` sees what every row left behind.
    ///
    /// Inputs are taken as they are: whoever calls has checked lengths, finiteness and targets.
    pub fn learn_block(&mut self, rows: RowsOf<'_, F>, labels: &Labels<'_>, mut each: impl FnMut(usize, &Step<'_>)) {
        let count = F::Space::count(rows);
        for first in (0..count).step_by(ROWS) {
            let last = count.min(first + ROWS);
            let part = F::Space::range(rows, first, last);
            self.begin(part);
            for r in 0..last - first {
                let left = self.step(part, r, labels.target(first + r), labels.id(first + r));
                each(first + r, &Step { scores: self.scores(), ..left });
            }
        }
    }

    /// The one matrix product of a block, and how f is read for its rows.
    fn begin(&mut self, rows: RowsOf<'_, F>) {
        self.basis.begin(rows, &mut self.block, true);
        self.heads.iter_mut().for_each(|head| head.f.nothing_changed());
        let settles = self.heads.len() == 1 || self.budget.settles();
        let count = F::Space::count(rows);
        self.reader.begin(&self.heads, &self.output, &self.basis, (&self.block, count), [false, settles]);
    }

    /// One row: the loop of this file's head. Returns what the row left behind, but for its scores.
    fn step(&mut self, rows: RowsOf<'_, F>, r: usize, target: Option<(&[f64], f64)>, id: u64) -> Step<'static> {
        let new_class = self.add_class(target);
        let readable = self.read(r);
        let Some((y, weight)) = target else {
            return if readable { self.only_predicted() } else { Step::default() };
        };
        self.basis.self_values(rows, r, &mut self.own);
        if !readable || self.own.iter().any(|k| !k.is_finite()) {
            self.skipped += 1;
            return Step::default();
        }
        let example = Example { t: self.t + 1, y, weight, new_class };
        let threshold = self.heads[0].threshold(&self.loss);
        let taken = self.plan(&example);
        if taken {
            self.take(&example);
        }
        let (loss, outside) = self.weigh(&example, taken, threshold);
        let slot = if taken { self.write(rows, r, id) } else { None };
        self.skipped += u64::from(!taken);
        Step { scores: &[], loss: Some(loss), slot, outside, threshold, positive: None }
    }

    /// A class that the target names for the first time gets an output; is it one?
    fn add_class(&mut self, target: Option<(&[f64], f64)>) -> bool {
        let Some((&[class], _)) = target.filter(|_| self.loss.reads() == Reads::Class) else { return false };
        let new = class as usize >= self.heads[0].offset.len();
        self.heads.iter_mut().for_each(|head| head.add_outputs(class as usize + 1));
        new
    }

    /// Reads every head at row `r` of the block, which is brought up to date first. State stays below 1e150, so scores that are not
    /// finite come from a kernel value beyond single precision: then 0 is reported, and false returned.
    fn read(&mut self, r: usize) -> bool {
        self.block.patch(r);
        let Engine { basis, heads, bank, output, block, reader, .. } = self;
        let (slots, backend) = (basis.row_len(), basis.space().backend());
        reader.read(heads, output, backend, |plane| block.row(plane, r, slots), r);
        if let Some(bank) = bank {
            bank.read(heads.iter().zip(&reader.readings).flat_map(|(head, at)| head.scores(at)));
        }
        let readable = self.scores().iter().all(|z| z.is_finite());
        if !readable {
            self.reader.clear_scores();
            self.bank.iter_mut().for_each(|bank| bank.scores.fill(0.0));
        }
        readable
    }

    /// The scores of the current row, as they are reported.
    fn scores(&self) -> &[f64] {
        self.bank.as_ref().map_or_else(|| self.heads[0].score(&self.reader.readings[0]), |bank| &bank.scores)
    }

    /// What a row that is only predicted leaves behind: under a novelty loss it is an alert or not, as if it came to be learned.
    fn only_predicted(&self) -> Step<'static> {
        let head = &self.heads[0];
        let threshold = head.threshold(&self.loss);
        let outside = head.alert(&self.loss, threshold, &self.reader.readings[0]);
        Step { threshold, outside: outside.filter(|_| self.bank.is_none()), ..Step::default() }
    }

    /// Plans the step for every head that does not rest; false if none can take it, and then nothing happens at all.
    fn plan(&mut self, example: &Example<'_>) -> bool {
        let starts_again = (self.t + self.skipped + 1).is_power_of_two();
        let Engine { heads, bank, loss, output, rules, reader, own, .. } = self;
        let mut possible = false;
        for (h, (head, at)) in heads.iter_mut().zip(&reader.readings).enumerate() {
            match bank.as_ref().is_some_and(|bank| bank.rests(h)) && !starts_again {
                true => head.rest(),
                false => possible |= head.plan(loss, output, rules, at, own, example),
            }
        }
        possible
    }

    /// Every head takes its planned step; one for which it would leave a state that is not finite rests from now on.
    fn take(&mut self, example: &Example<'_>) {
        let Engine { heads, loss, output, rules, reader, own, .. } = self;
        heads.iter_mut().zip(&reader.readings).for_each(|(head, at)| match head.plan.finite {
            true => head.take(loss, output, rules, at, own, example),
            false => head.rest(),
        });
        self.t += 1;
    }

    /// The loss of the reported scores, and whether the example was outside. A bank weighs its heads by their losses.
    fn weigh(&mut self, example: &Example<'_>, taken: bool, threshold: Option<f64>) -> (f64, Option<bool>) {
        let Engine { heads, bank, loss, reader, .. } = self;
        let judged = loss.has_outside();
        let Some(bank) = bank else {
            let plan = &heads[0].plan;
            let outside = heads[0].outside(loss, threshold, &reader.readings[0]);
            return (plan.loss(), outside.or(judged.then_some(plan.is_outside())));
        };
        let (lost, outside) = bank.own_loss(loss, example.y, example.weight);
        if taken {
            bank.learn(loss, example, lost, heads.iter().zip(&reader.readings).flat_map(|(head, at)| head.voices(at)));
        }
        (lost, judged.then_some(outside))
    }

    /// Writes k(x, .) with the planned coefficients of every head; the slot, if it has one. Terms make room for it, and those that have
    /// grown old or light go.
    fn write(&mut self, rows: RowsOf<'_, F>, r: usize, id: u64) -> Option<usize> {
        let (leader, slots) = (self.leader(), self.basis.row_len());
        let exact = !self.rules.regulariser.is_square() || self.heads.iter().any(|head| head.f.riders().trace);
        let Engine { basis, heads, budget, output, t, block, own, scratch, .. } = self;
        let terms = match basis.form() {
            Form::Terms(terms) => terms,
            Form::Weights => {
                heads.iter_mut().for_each(|head| head.spread(block.row(head.plane, r, slots)));
                return None;
            }
        };
        let cleared = heads.iter().any(Head::is_cleared);
        let mut writer = Writer { terms, heads, budget, block, output, leader, t: *t, r, own, exact, scratch };
        if cleared {
            writer.remove_dead_terms();
        }
        let slot = writer.write(rows, id);
        writer.drop_expired();
        slot
    }

    /// The head that budgets look at and that asks for new terms.
    pub(crate) fn leader(&self) -> usize {
        self.bank.as_ref().map_or(0, Bank::leader)
    }

    /// The scores of rows, without learning; many readers may share a learner.
    pub fn predict(&self, workspace: &mut Workspace, rows: RowsOf<'_, F>, mut each: impl FnMut(usize, &[f64])) {
        let (count, slots, backend) = (F::Space::count(rows), self.basis.row_len(), self.basis.space().backend());
        let Workspace { block, reader, combined } = workspace;
        for first in (0..count).step_by(ROWS) {
            let part = F::Space::range(rows, first, count.min(first + ROWS));
            self.basis.begin(part, block, false);
            reader.begin(&self.heads, &self.output, &self.basis, (block, F::Space::count(part)), [true, true]);
            for r in 0..F::Space::count(part) {
                reader.read(&self.heads, &self.output, backend, |plane| block.row(plane, r, slots), r);
                let Some(bank) = &self.bank else {
                    each(first + r, self.heads[0].score(&reader.readings[0]));
                    continue;
                };
                bank.combine(self.heads.iter().zip(&reader.readings).flat_map(|(head, at)| head.scores(at)), combined);
                each(first + r, combined);
            }
        }
    }

    /// What f is made of.
    pub fn basis(&self) -> &F {
        &self.basis
    }

    /// The heads.
    pub fn heads(&self) -> &[Head<S>] {
        &self.heads
    }

    /// How the heads are weighed, if there are several.
    pub fn bank(&self) -> Option<&Bank> {
        self.bank.as_ref()
    }

    /// The loss.
    pub fn loss(&self) -> &L {
        &self.loss
    }

    /// Examples learned.
    pub fn examples(&self) -> u64 {
        self.t
    }

    /// Steps that were not taken because they would have left a number beyond 1e150 (a coefficient, an offset, a score, a loss, |f|²), or
    /// because a kernel value of the row was beyond single precision.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Bytes held for what grows with the number of terms (centres, coefficients, the kernel values of a block), and for the kernel
    /// values among the rows of a block.
    pub fn bytes(&self) -> usize {
        let coefficients: usize = self.heads.iter().map(|head| head.f.bytes()).sum();
        let workspace = self.block.bytes() + self.reader.bytes() + self.scratch.bytes();
        self.basis.bytes() + coefficients + workspace + self.budget.bytes()
    }
}

impl<P: Space, L, S, B, R> Engine<Terms<P>, L, S, B, R> {
    /// The terms that every head shares.
    pub fn terms(&self) -> &Terms<P> {
        &self.basis
    }
}
