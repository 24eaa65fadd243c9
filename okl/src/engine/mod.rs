//! The learning loop. One function, [`Engine::learn_block`], runs every algorithm. Kernel, loss, step sizes, budget and
//! regulariser are values passed to it.
//!
//! ```text
//! for each row of a block, in order:
//!     read     p = f(x), v(x), mean(x)       from the row's kernel values against the current terms     reader.rs
//!     score    z = p + b                     computed before the target is used
//!     plan     xi, eta, the new term         for each head                                            plan.rs
//!     take     shrinks f; updates offset, theta, norms and certificates                               head.rs
//!     weigh    a bank updates the weights of its heads from their losses                              bank.rs
//!     write    the budget chooses a slot, losses are recorded, the new term is written                evict.rs
//!     expire   terms that are too old or whose norm is too small are dropped                          evict.rs
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
//!     losses: vec![AnyLoss::Squared {}],
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
//! Rows are processed in blocks of up to 32. One matrix product computes the kernel values of a block. No result depends on where
//! one block ends and the next begins.

mod ahead;
pub mod bank;
mod change;
mod copy;
mod each;
pub(crate) mod elsewhere;
mod evict;
pub mod head;
pub(crate) mod kept;
mod labels;
pub(crate) mod linear;
mod norms;
mod plan;
mod predict;
mod reader;
mod reweigh;
mod rules;
mod sight;

use labels::Answer;
pub use labels::Labels;
pub(crate) use plan::Example;
pub(crate) use reader::{Reader, Sums};

use crate::basis::block::{Block, ROWS};
use crate::basis::either::TermsOrWeights;
use crate::basis::terms::Terms;
use crate::basis::{Basis, Form, RowsOf, Space};
use crate::coordinates::Reading;
use crate::engine::bank::Bank;
use crate::engine::elsewhere::{Away, Source};
use crate::engine::evict::{Scratch, Writer};
use crate::engine::head::{Head, HeadParts, Rules};
use crate::engine::kept::{Here, KeptChunks};
use crate::engine::linear::{Linear, LinearReader};
use crate::engine::reader::Row;
use crate::engine::rules::Objective;
use crate::parts::budget::Budget;
use crate::parts::kernel::DotKernel;
use crate::parts::loss::{Eval, Loss, Reads};
use crate::parts::output::Output;
use crate::parts::regulariser::{AnyRegulariser, Regulariser};
use crate::parts::step::StepSize;

/// The result of processing one row.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome<'a> {
    /// The scores before the update (of the averaged hypothesis, where there is one). All scores are 0 if a kernel value of the
    /// row overflows single precision: such a row is not learned, and [`Engine::skipped`] counts it if it has a target.
    pub scores: &'a [f64],
    /// The (first) loss before the update times the weight. None for a row that was only predicted or whose kernel values overflow single
    /// precision. With a `target_scale`, scores are in the unit of the targets, but this loss is in the unit of the scaled
    /// targets.
    pub loss: Option<f64>,
    /// The slot of the term that was written, if any.
    pub slot: Option<usize>,
    /// Whether the example was outside: an alert, a margin error, or a residual beyond the tube or scale. Under a novelty loss
    /// this is also set for a row that is only predicted. None where the loss has no margin, tube or scale, and while the first
    /// scores for a novelty threshold are still being collected.
    pub outside: Option<bool>,
    /// The threshold that the novelty score was compared with, before the update.
    pub threshold: Option<f64>,
    /// Where two classes share one score: the index of the class whose score is positive, given the classes seen up to and
    /// including this row. For losses with a sign target see [`Learner::positive`](crate::Learner::positive); for other losses
    /// this is set while only one class is known.
    pub positive: Option<usize>,
}

/// A generic learner: a basis `F` of functions, a loss `L`, step sizes `S`, a budget `B` and a regulariser `R`.
#[derive(Clone, Debug)]
pub struct Engine<F, L, S, B, R = AnyRegulariser> {
    pub(crate) basis: F,
    pub(crate) heads: Vec<Head<S>>,
    /// The last heads of a bank, if it has weight vectors beside the terms.
    pub(crate) linear: Linear<S>,
    pub(crate) bank: Option<Bank>,
    /// The losses of the heads. The first one measures the bank and all its voices.
    pub(crate) losses: Vec<L>,
    pub(crate) budget: B,
    pub(crate) output: Output,
    pub(crate) rules: Rules<R>,
    /// The number of examples learned, and (`skipped`) the number whose step was not taken.
    pub(crate) t: u64,
    pub(crate) skipped: u64,
    /// The place where settled chunks are summed, if there is one.
    pub(crate) away: Away,
    /// The first chunks of terms, if they are kept elsewhere.
    pub(crate) kept: KeptChunks,
    /// The number of the block's first row in its call.
    first: usize,
    block: Block,
    reader: Reader,
    linear_reader: LinearReader,
    /// k(x, x) of the current row, one value per plane.
    pub(crate) own: Vec<f64>,
    scratch: Scratch,
    /// A voice whose loss on each example is written to `watched`; not finite where the example was not learned.
    pub(crate) watch: Option<usize>,
    pub(crate) watched: Vec<f64>,
    gradient: Vec<f64>,
}

/// Workspace for predictions. Each reader has its own, so that several readers can share one engine immutably.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    block: Block,
    reader: Reader,
    linear: LinearReader,
    combined: Vec<f64>,
}

/// The parts of an [`Engine`].
#[derive(Clone, Debug)]
pub struct Parts<F, L, S, B, R = AnyRegulariser> {
    /// The basis: stored terms, or features.
    pub basis: F,
    /// The losses. A head has one of them ([`HeadParts::loss`]); the first one measures a bank and all its voices. Several losses
    /// must read the same targets and have no adaptive scalar.
    pub losses: Vec<L>,
    /// The budget.
    pub budget: B,
    /// The heads: a step size, a lambda, a kernel and a loss each. Several heads form a [`Bank`].
    pub heads: Vec<HeadParts<S>>,
    /// The output operator.
    pub output: Output,
    /// The initial number of outputs.
    pub outputs: usize,
    /// The initial theta; the loss's default when not given.
    pub theta0: Option<f64>,
    /// The settings that all heads share.
    pub rules: Rules<R>,
}

/// The heads over terms, then the weight vectors, with their values at the row that was read last.
fn with_readings<'a, S>(
    (heads, linear): (&'a [Head<S>], &'a Linear<S>),
    (reader, linear_reader): (&'a Reader, &'a LinearReader),
) -> impl Iterator<Item = (&'a Head<S>, &'a Reading)> {
    heads.iter().zip(&reader.readings).chain(linear.heads.iter().zip(&linear_reader.readings))
}

impl<F: Basis, L: Loss, S: StepSize, B: Budget, R: Regulariser> Engine<F, L, S, B, R> {
    /// A new engine with f = 0.
    ///
    /// # Panics
    /// If a head names a loss that is not there.
    pub fn new(parts: Parts<F, L, S, B, R>) -> Self {
        let Parts { basis, losses, budget, heads, output, outputs, theta0, rules } = parts;
        let head = |parts: HeadParts<S>| {
            let loss = &losses[parts.loss];
            let theta = theta0.or(loss.theta().map(|t| t.start)).unwrap_or(0.0);
            let certified = rules.certifies(loss, parts.offset_step);
            Head::new(parts, outputs, theta, certified, None)
        };
        let mut heads: Vec<_> = heads.into_iter().map(head).collect();
        heads.iter_mut().for_each(|head| head.f.reserve(basis.row_len()));
        let bank = (heads.len() > 1).then(|| Bank::new(heads.iter().map(Head::voice_count)));
        Engine {
            heads,
            linear: Linear::default(),
            bank,
            own: vec![0.0; basis.planes()],
            basis,
            losses,
            budget,
            output,
            rules,
            t: 0,
            skipped: 0,
            away: Away::default(),
            kept: KeptChunks::default(),
            first: 0,
            block: Block::default(),
            reader: Reader::default(),
            linear_reader: LinearReader::default(),
            scratch: Scratch::default(),
            watch: None,
            watched: Vec::new(),
            gradient: Vec::new(),
        }
    }

    /// Adds weight vectors to a bank of terms. Nothing has been learned yet, and rows are dense.
    pub(crate) fn add_linear(&mut self, heads: Vec<HeadParts<S>>, features: usize) {
        let outputs = self.heads[0].offset.len();
        let head = |parts: HeadParts<S>| {
            let certified = self.rules.certifies(&self.losses[parts.loss], parts.offset_step);
            Head::new(parts, outputs, 0.0, certified, None)
        };
        self.linear.heads = heads.into_iter().map(head).collect();
        self.linear.widen(features);
        self.bank = Some(Bank::new(self.all_heads().map(Head::voice_count)).over_terms(self.heads.len()));
    }

    /// The heads over terms, then the weight vectors beside them.
    pub(crate) fn all_heads(&self) -> impl Iterator<Item = &Head<S>> {
        self.heads.iter().chain(&self.linear.heads)
    }

    /// The same heads, to be changed.
    pub(crate) fn all_heads_mut(&mut self) -> impl Iterator<Item = &mut Head<S>> {
        self.heads.iter_mut().chain(&mut self.linear.heads)
    }

    /// Learns the rows in order and calls `each` with the index and the result of every row.
    ///
    /// Inputs are not checked here: the caller must have checked lengths, finiteness and targets.
    pub fn learn_block(&mut self, rows: RowsOf<'_, F>, labels: &Labels<'_>, mut each: impl FnMut(usize, &Outcome<'_>)) {
        let count = F::Space::count(rows);
        self.away.begin_call();
        self.kept.begin_call();
        self.first = 0;
        while self.first < count {
            let first = self.first;
            let Some(end) = self.look_ahead(rows) else { break };
            let last = count.min(first + ROWS).min(end);
            let part = F::Space::range(rows, first, last);
            self.begin(part);
            for r in 0..last - first {
                let left = self.step(part, r, labels.target(first + r), labels.id(first + r));
                each(first + r, &Outcome { scores: self.scores(), ..left });
                if self.totals_have_changed() {
                    // The totals in use are those of other coefficients: a new block begins.
                    self.first = first + r + 1;
                    break;
                }
            }
            if self.first == first {
                self.first = last;
            }
        }
        self.kept.end_call(&mut self.heads[0].f);
    }

    /// Makes the totals of the next rows available, if they come from elsewhere. Returns the end of these rows; none if nothing can be
    /// learned any more.
    fn look_ahead(&mut self, rows: RowsOf<'_, F>) -> Option<usize> {
        let Some(points) = F::Space::points(rows) else { return Some(usize::MAX) };
        let Engine { basis, heads, budget, kept, first, t, .. } = self;
        if kept.is_set()
            && let Form::Terms(terms) = basis.form()
        {
            let here = Here { terms, f: &mut heads[0].f, budget, t: *t };
            return kept.look_ahead(here, points, *first);
        }
        // After an error, the totals that are there are still used.
        if !self.away.is_set() || self.stays_here().is_some() {
            return Some(usize::MAX);
        }
        let Engine { basis, heads, away, first, .. } = self;
        let source = Source { space: basis.space(), heads, slots: basis.slots() };
        Some(away.look_ahead(source, points, *first).unwrap_or(usize::MAX))
    }

    /// Whether totals in use are those of other coefficients.
    fn totals_have_changed(&mut self) -> bool {
        let f = &self.heads[0].f;
        self.away.is_set() && self.away.has_changed(f) || self.kept.is_set() && self.kept.has_changed(f)
    }

    /// Whether learning the next `rows` rows uses sums from elsewhere.
    pub(crate) fn sums_elsewhere(&mut self, rows: usize) -> bool {
        if self.kept.is_set() || !self.away.works() || self.stays_here().is_some() {
            return self.kept.is_set();
        }
        let Engine { basis, heads, away, .. } = self;
        away.is_worth_opening(Source { space: basis.space(), heads, slots: basis.slots() }, rows)
    }

    /// Why learning does not use the place elsewhere, if it does not.
    pub(crate) fn stays_here(&self) -> Option<&'static str> {
        if self.heads.len() > 1 {
            return Some("several members over one set of terms need the nearest term of every row, which the processor finds");
        }
        if !self.basis.settles() {
            return Some("f is a weight vector: there are no terms to sum over");
        }
        let kernels = self.basis.space().built_in_kernels();
        if kernels.is_some_and(|kernels| kernels.iter().any(DotKernel::of_manhattan_distance)) {
            return Some("the kernel manhattan is computed by the processor only");
        }
        if self.basis.space().packed_terms().is_none() {
            return Some(
                "only the terms of dense rows whose units stay, and whose columns have no weights, are summed elsewhere; set scale to standard",
            );
        }
        if !self.budget.settles() {
            return Some("this budget changes terms everywhere; unlimited, window, age and olok do not");
        }
        if !self.output.projectable() {
            return Some("a sum of separable kernels has several kernel values per term");
        }
        self.heads[0].f.riders().trace.then_some("smd multiplies all coefficients every few rows")
    }

    /// Computes the kernel values of a block and chooses how the reader sums over terms for its rows.
    fn begin(&mut self, rows: RowsOf<'_, F>) {
        self.heads.iter_mut().for_each(|head| head.f.nothing_changed());
        if let Some(left) = self.away.left(self.basis.row_len()) {
            let summed = self.away.sums().and_then(|(_, ahead)| ahead.slots()).unwrap_or_default();
            self.heads[0].f.changes_mut().begin(summed);
            let slots = self.basis.slots() + ROWS;
            self.heads.iter_mut().for_each(|head| head.f.reserve_ample(slots));
            let first = left.first().map_or(self.basis.row_len(), |left| left.start);
            self.block.reserve_ample(self.basis.planes(), slots - first);
            self.basis.begin_partly(rows, &mut self.block, &left);
            self.reader.begin_elsewhere(self.heads.len());
            return;
        }
        self.basis.begin(rows, &mut self.block, true);
        if self.kept.held().is_some() {
            return self.reader.begin_elsewhere(self.heads.len());
        }
        let awake = self.heads.iter().filter(|head| !head.retired).count();
        let settles = self.basis.settles() && (awake == 1 || self.budget.settles());
        let count = F::Space::count(rows);
        self.reader.begin(&self.heads, &self.output, &self.basis, (&self.block, count), [false, settles]);
    }

    /// Processes one row, as listed at the head of this file. Returns everything in [`Outcome`] except the scores.
    fn step(&mut self, rows: RowsOf<'_, F>, r: usize, target: Option<Answer<'_>>, id: u64) -> Outcome<'static> {
        let new_class = self.add_class(target);
        let readable = self.read(rows, r);
        let Some(Answer { y, weight, share }) = target else {
            return if readable { self.only_predicted() } else { Outcome::default() };
        };
        self.basis.self_values(rows, r, &mut self.own);
        self.linear.own = [self.linear_reader.square().into()];
        if !readable || self.own.iter().chain(&self.linear.own).any(|k| !k.is_finite()) {
            self.skip();
            self.watched.extend(self.watch.map(|_| f64::NAN));
            return Outcome::default();
        }
        let example = Example { t: self.t + 1, y, weight: weight * share, share, new_class };
        let threshold = self.heads[0].threshold(self.loss());
        let of_average = self.eval_of_average(&example);
        let taken = self.plan(&example);
        if taken {
            self.take(&example);
        }
        let (loss, outside) = self.weigh(&example, taken, threshold, of_average);
        if let Some(voice) = self.watch {
            let judged = if taken { self.judged(voice, &example) } else { f64::NAN };
            self.watched.push(judged);
        }
        let slot = if taken { self.write(rows, r, id) } else { None };
        if !taken {
            self.skip();
        }
        Outcome { scores: &[], loss: Some(loss), slot, outside, threshold, positive: None }
    }

    /// Counts an example whose step is not taken. Its loss is not in the sums of the regret certificates, so these end.
    fn skip(&mut self) {
        self.skipped += 1;
        self.all_heads_mut().for_each(|head| head.regret.holds = false);
    }

    /// Adds an output for a class that the target names for the first time. Returns whether the class is new.
    fn add_class(&mut self, target: Option<Answer<'_>>) -> bool {
        let Some(Answer { y: &[class], .. }) = target.filter(|_| self.loss().reads() == Reads::Class) else { return false };
        let new = class as usize >= self.heads[0].offset.len();
        if new {
            self.all_heads_mut().for_each(|head| head.add_outputs(class as usize + 1));
        }
        new
    }

    /// Brings row `r` of the block up to date, then evaluates every head at it. All state stays below 1e150, so a score that is
    /// not finite comes from a kernel value that overflows single precision. In that case the scores are set to 0 and false is
    /// returned.
    fn read(&mut self, rows: RowsOf<'_, F>, r: usize) -> bool {
        self.block.patch(r);
        let Engine { basis, heads, linear, linear_reader, bank, output, block, reader, away, kept, first, .. } = self;
        let (slots, backend) = (basis.row_len(), basis.space().backend());
        let values = |plane| block.row(plane, r, slots);
        let of_kept = kept.held().map(|totals| Sums::Kept(totals, totals.layout(basis.places())));
        let held = away.sums().map(|(held, ahead)| Sums::Place(held, ahead)).or(of_kept).map(|held| (held, *first + r));
        reader.read(heads, &Row { output, backend, values, features: block.features(r), r, first: block.first(), held });
        linear_reader.read(&linear.heads, (backend, output), F::Space::points(rows), r);
        if let Some(bank) = bank {
            bank.read(with_readings((heads, linear), (reader, linear_reader)).flat_map(|(head, at)| head.scores(at)));
        }
        let readable = self.scores().iter().all(|z| z.is_finite());
        if !readable {
            self.reader.clear_scores();
            self.linear_reader.clear_scores();
            self.bank.iter_mut().for_each(|bank| bank.scores.fill(0.0));
        }
        readable
    }

    /// The scores of the current row, as reported to the caller.
    fn scores(&self) -> &[f64] {
        self.bank.as_ref().map_or_else(|| self.heads[0].score(&self.reader.readings[0]), |bank| &bank.scores)
    }

    /// The result of a row that is only predicted. Under a novelty loss it is an alert exactly if it would be one when learned
    /// now.
    fn only_predicted(&self) -> Outcome<'static> {
        let head = &self.heads[0];
        let threshold = head.threshold(self.loss());
        let outside = head.alert(self.loss(), threshold, &self.reader.readings[0]);
        Outcome { threshold, outside: outside.filter(|_| self.bank.is_none()), ..Outcome::default() }
    }

    /// Plans the step of every head that does not rest. Returns false if no head can take its step; then no state changes.
    fn plan(&mut self, example: &Example<'_>) -> bool {
        let starts_again = (self.t + self.skipped + 1).is_power_of_two();
        let Engine { heads, linear, linear_reader, bank, losses, output, rules, reader, own, .. } = self;
        let mut possible = false;
        let of_terms = heads.iter_mut().zip(&reader.readings).map(|(head, at)| (head, at, own.as_slice()));
        let of_columns = linear.heads.iter_mut().zip(&linear_reader.readings).map(|(head, at)| (head, at, &linear.own[..]));
        for (h, (head, at, own)) in of_terms.chain(of_columns).enumerate() {
            if head.retired {
                head.plan.rests = true;
                continue;
            }
            match bank.as_ref().is_some_and(|bank| bank.rests(h)) && !starts_again {
                true => head.rest(),
                false => {
                    let read = bank.is_none() || head.loss == 0;
                    possible |= head.plan(&Objective { loss: &losses[head.loss], output, rules, read }, at, own, example);
                }
            }
        }
        possible
    }

    /// Every head takes its planned step. A head whose step would give a state that is not finite rests from now on.
    fn take(&mut self, example: &Example<'_>) {
        let Engine { heads, linear, linear_reader, losses, output, rules, reader, own, .. } = self;
        let of_terms = heads.iter_mut().zip(&reader.readings).map(|(head, at)| (head, at, own.as_slice()));
        let of_columns = linear.heads.iter_mut().zip(&linear_reader.readings).map(|(head, at)| (head, at, &linear.own[..]));
        let awake = of_terms.chain(of_columns).filter(|(head, ..)| !head.retired);
        awake.for_each(|(head, at, own)| match head.plan.finite {
            true => head.take(&Objective { loss: &losses[head.loss], output, rules, read: true }, at, own, example),
            false => head.rest(),
        });
        self.t += 1;
    }

    /// Returns the first loss of the reported scores and whether the example was outside. A bank also updates the weights of its
    /// heads.
    fn weigh(
        &mut self,
        example: &Example<'_>,
        taken: bool,
        threshold: Option<f64>,
        of_average: Option<Eval>,
    ) -> (f64, Option<bool>) {
        let Engine { heads, linear, linear_reader, bank, losses, reader, .. } = self;
        let loss = &losses[0];
        let judged = loss.has_outside();
        let Some(bank) = bank else {
            let head = &mut heads[0];
            let eval = of_average.unwrap_or(head.plan.eval);
            if taken {
                head.count_outside(loss, &eval);
            }
            return (example.weight * eval.loss, head.outside(loss, threshold, &reader.readings[0], &eval));
        };
        let (lost, outside) = bank.own_loss(loss, example.y, example.weight);
        if taken {
            let voices = with_readings((heads, linear), (reader, linear_reader)).flat_map(|(head, at)| head.voices(at));
            bank.learn(loss, example, lost, voices);
        }
        (lost, judged.then_some(outside))
    }

    /// The first loss of the averaged scores, if these are reported, before the step. The planned step has that of the last hypothesis.
    fn eval_of_average(&mut self, example: &Example<'_>) -> Option<Eval> {
        let (head, loss) = (&self.heads[0], &self.losses[0]);
        let scores = Some(head.score(&self.reader.readings[0])).filter(|_| head.f.riders().mean && self.bank.is_none())?;
        self.gradient.resize(scores.len(), 0.0);
        Some(loss.eval(scores, example.y, head.theta_of_score(loss), &mut self.gradient))
    }

    /// The loss of a voice on the example that was just learned: 1 or 0 for decisions, as a bank judges its voices.
    fn judged(&mut self, voice: usize, example: &Example<'_>) -> f64 {
        if let Some(bank) = &self.bank {
            return bank.judged(voice);
        }
        let mut gradient = std::mem::take(&mut self.gradient);
        gradient.resize(self.scores().len(), 0.0);
        let judged = bank::judged_loss(self.loss(), self.scores(), example, &mut gradient);
        self.gradient = gradient;
        judged
    }

    /// Adds k(x, .) with the planned coefficients to every head, evicting a term if the budget asks for it. Then drops terms that
    /// are too old or whose norm is too small. Returns the slot of the new term, if one was written.
    fn write(&mut self, rows: RowsOf<'_, F>, r: usize, id: u64) -> Option<usize> {
        self.linear.heads.iter_mut().for_each(|head| head.spread(&self.linear_reader.row));
        let (leader, slots) = (self.leader(), self.basis.row_len());
        let exact = !self.rules.regulariser.is_square() || self.heads.iter().any(|head| head.f.riders().trace);
        let Engine { basis, heads, budget, output, t, block, own, scratch, .. } = self;
        let terms = match basis.form() {
            Form::Terms(terms) => terms,
            Form::Weights => {
                heads.iter_mut().for_each(|head| match block.features(r) {
                    Some(row) => head.spread_sparse(row),
                    None => head.spread(block.row(head.plane, r, slots)),
                });
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
        slot.map(|slot| writer.terms.overall(slot))
    }

    /// The head over terms whose coefficients the budget sees, and which decides whether a new term is stored.
    pub(crate) fn leader(&self) -> usize {
        self.bank.as_ref().map_or(0, Bank::leader)
    }

    /// The number of heads that rest because a step would not have been finite. They start again, unlike heads that have retired.
    pub(crate) fn resting(&self) -> usize {
        let rests = |(h, head): &(usize, &Head<S>)| !head.retired && self.bank.as_ref().is_some_and(|bank| bank.rests(*h));
        self.all_heads().enumerate().filter(rests).count()
    }

    /// The basis: stored terms, or features.
    pub fn basis(&self) -> &F {
        &self.basis
    }

    /// The heads.
    pub fn heads(&self) -> &[Head<S>] {
        &self.heads
    }

    /// The weights of the heads, if there are several heads.
    pub fn bank(&self) -> Option<&Bank> {
        self.bank.as_ref()
    }

    /// The first loss, which measures the engine: that of [`Outcome::loss`] and [`Bank::losses`].
    pub fn loss(&self) -> &L {
        &self.losses[0]
    }

    /// The losses of the heads.
    pub fn losses(&self) -> &[L] {
        &self.losses
    }

    /// The number of examples learned.
    pub fn examples(&self) -> u64 {
        self.t
    }

    /// The number of steps that were not taken, because a number of the new state (coefficient, offset, score, loss or |f|²)
    /// would exceed 1e150 or because a kernel value of the row overflows single precision.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Bytes of everything that grows with the number of terms (centres, coefficients, the kernel values of a block), plus the
    /// kernel values between the rows of a block.
    pub fn bytes(&self) -> usize {
        let coefficients: usize = self.all_heads().map(|head| head.f.bytes()).sum();
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

impl<P: Space, L, S, B, R> Engine<TermsOrWeights<P>, L, S, B, R> {
    /// The terms that every head shares; none where f is a weight vector.
    pub fn terms(&self) -> &Terms<P> {
        &self.basis
    }
}
