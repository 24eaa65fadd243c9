//! The loop. One function, [`Engine::learn_block`], runs every algorithm; its parts are values passed to it.
//!
//! ```text
//! for each row of a block, in order:
//!     read    p = f(x), v(x), mean(x)       from the row's kernel values against the current terms
//!     score   z = p + b                     known before the target is used
//!     plan    xi, eta, the new term         head by head
//!     take    shrink, offset, theta, norms, certificates
//!     room    the budget names a slot       and what is lost is accounted for
//!     write   the new term
//! ```
//!
//! ```
//! use okl::budget::{AnyBudget, BudgetRule};
//! use okl::engine::{Engine, Labels, Parts};
//! use okl::engine::head::{HeadParts, Rules};
//! use okl::{kernel::Kernel, loss::AnyLoss, output::Output, regulariser::AnyRegulariser, basis::Items, step::AnyStep};
//!
//! struct Close;                                            // a kernel over whole numbers
//! impl Kernel<i64> for Close {
//!     fn eval(&self, a: &i64, b: &i64) -> f64 { (10 - (a - b).abs()).max(0) as f64 / 10.0 }
//! }
//! let mut engine = Engine::new(Parts {
//!     space: Items::new(Close),
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
//! A block is cut into tiles whose kernel values come from one matrix product; nothing is decided at a tile's edge.

pub mod bank;
mod copy;
mod evict;
pub mod head;

use crate::basis::Space;
use crate::basis::block::Tile;
use crate::basis::settled::Ahead;
use crate::basis::terms::{NO_ID, Terms};
use crate::coordinates::{Reading, Term};
use crate::engine::bank::Bank;
use crate::engine::evict::SceneScratch;
use crate::engine::head::{Example, Head, HeadParts, Rules};
use crate::gram::LANES;
use crate::parts::budget::{Budget, Room};
use crate::parts::kernel::Pair;
use crate::parts::loss::{Loss, Reads};
use crate::parts::output::Output;
use crate::parts::regulariser::{AnyRegulariser, Regulariser};
use crate::parts::step::StepSize;

/// Rows per matrix product. More rows reuse each panel more often; fewer keep the block's own values small.
pub(crate) const TILE: usize = 32;

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

/// A learner of any parts: a space of centres `P`, a loss `L`, step sizes `S`, a budget `B` and a regulariser `R`.
#[derive(Clone, Debug)]
pub struct Engine<P, L, S, B, R = AnyRegulariser> {
    pub(crate) terms: Terms<P>,
    pub(crate) heads: Vec<Head<S>>,
    pub(crate) bank: Option<Bank>,
    pub(crate) loss: L,
    pub(crate) budget: B,
    pub(crate) output: Output,
    pub(crate) rules: Rules<R>,
    pub(crate) t: u64,
    pub(crate) skipped: u64,
    pub(crate) tile: Tile,
    ahead: Ahead,
    pub(crate) scratch: Scratch,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) values: Vec<f64>,
    pub(crate) term_values: Vec<f64>,
    pub(crate) row: Vec<f32>,
    pub(crate) expired: Vec<usize>,
    pub(crate) blend: Vec<[Pair; 3]>,
    /// Two points, plane by plane, and what is left of the first after a projection onto the second.
    pub(crate) pairs: Vec<Pair>,
    pub(crate) left: Vec<f64>,
    /// Of each head, the share that a projection keeps and what it loses.
    pub(crate) projections: Vec<(f64, f64)>,
    /// Of each head, two terms and the one they become.
    pub(crate) merging: Vec<[Term; 3]>,
    sums: Vec<f64>,
    pub(crate) reading: Reading,
    pub(crate) terms: [Term; 3],
    pub(crate) scene: SceneScratch,
}

impl Scratch {
    fn new(planes: usize) -> Self {
        Scratch {
            values: vec![0.0; planes],
            term_values: vec![0.0; planes],
            pairs: vec![Pair::default(); planes],
            ..Scratch::default()
        }
    }
}

/// Room for predictions, so that readers share a learner without writing to it.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    tile: Tile,
    reading: Reading,
    scores: Vec<Vec<f64>>,
    combined: Vec<f64>,
}

/// The parts of an [`Engine`].
#[derive(Clone, Debug)]
pub struct Parts<P, L, S, B, R = AnyRegulariser> {
    /// Centres and kernel.
    pub space: P,
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

impl<P: Space, L: Loss, S: StepSize, B: Budget, R: Regulariser> Engine<P, L, S, B, R> {
    /// f = 0.
    pub fn new(parts: Parts<P, L, S, B, R>) -> Self {
        let Parts { space, loss, budget, heads, output, outputs, theta0, rules } = parts;
        let theta = theta0.or(loss.theta().map(|t| t.start)).unwrap_or(0.0);
        let certified = rules.regulariser.is_square() && !rules.implicit && loss.convex() && loss.theta().is_none();
        let heads: Vec<_> = heads.into_iter().map(|parts| Head::new(parts, outputs, theta, certified, None)).collect();
        let bank = (heads.len() > 1).then(|| Bank::new(heads.iter().map(Head::voice_count)));
        let scratch = Scratch::new(space.planes());
        Engine {
            heads,
            bank,
            terms: Terms::new(space),
            loss,
            budget,
            output,
            rules,
            t: 0,
            skipped: 0,
            tile: Tile::default(),
            ahead: Ahead::default(),
            scratch,
        }
    }

    /// Learns the rows in order; `each` sees what every row left behind.
    ///
    /// Inputs are taken as they are: whoever calls has checked lengths, finiteness and targets.
    pub fn learn_block(&mut self, rows: P::Rows<'_>, labels: &Labels<'_>, mut each: impl FnMut(usize, &Step<'_>)) {
        let count = P::count(rows);
        for first in (0..count).step_by(TILE) {
            let last = count.min(first + TILE);
            let tile = P::range(rows, first, last);
            self.begin_tile(tile);
            for r in 0..last - first {
                let left = self.step(tile, r, labels.target(first + r), labels.id(first + r));
                each(first + r, &Step { scores: self.scores(), ..left });
            }
        }
    }

    /// The one matrix product of a tile, and the rows' own values.
    fn begin_tile(&mut self, rows: P::Rows<'_>) {
        let (count, filled) = (P::count(rows), self.terms.row_len());
        let slots = (self.terms.slots() + count).next_multiple_of(LANES);
        self.tile.begin(count, self.terms.space.planes(), filled, slots);
        self.terms.space.against_terms(rows, filled, &mut self.tile);
        if count > 1 {
            self.terms.space.among_rows(rows, &mut self.tile);
        }
        self.ahead.forget();
        if let ([head], true) = (self.heads.as_mut_slice(), self.output.projectable()) {
            let (space, tile, plane) = (&self.terms.space, &self.tile, head.plane);
            let how = (space.backend(), space.threads());
            self.ahead.take(how, &mut head.expansion, count, |r| tile.row(plane, r, filled));
        }
    }

    /// One row; what it left behind, but for the scores, which the head or the bank holds.
    fn step(&mut self, rows: P::Rows<'_>, r: usize, target: Option<(&[f64], f64)>, id: u64) -> Step<'static> {
        let mut new_class = false;
        if let Some((&[class], _)) = target.filter(|_| self.loss.reads() == Reads::Class) {
            new_class = class as usize >= self.heads[0].offset.len();
            self.heads.iter_mut().for_each(|h| h.add_outputs(class as usize + 1));
        }
        self.read_row(r);
        let readable = self.scores().iter().all(|z| z.is_finite());
        if !readable {
            self.clear_scores();
        }
        let Some((y, weight)) = target else {
            return if readable { self.only_predicted() } else { Step::default() };
        };
        self.terms.space.self_values(rows, r, &mut self.scratch.values);
        if !readable || self.scratch.values.iter().any(|k| !k.is_finite()) {
            self.skipped += 1;
            return Step::default();
        }
        let values = std::mem::take(&mut self.scratch.values);
        let example = Example { t: self.t + 1, y, weight, values: &values, new_class };
        let leader = self.leader();
        let threshold = self.heads[leader].threshold(&self.loss);
        let taken = self.take(&example);
        let (loss, outside) = self.judge(&example, taken);
        if taken && self.heads.iter().any(Head::is_cleared) {
            self.remove_dead_terms();
        }
        let slot = if taken { self.append(rows, r, id, &values) } else { None };
        self.scratch.values = values;
        if taken {
            self.drop_expired(r);
        } else {
            self.skipped += 1;
        }
        Step {
            scores: &[],
            loss: Some(loss),
            slot,
            outside: self.heads[leader].outside(&self.loss, threshold).or(self.loss.has_outside().then_some(outside)),
            threshold,
            positive: None,
        }
    }

    /// The step of a row that is only predicted: under a novelty loss it is an alert or not, as if it came to be learned.
    fn only_predicted(&self) -> Step<'static> {
        let head = &self.heads[self.leader()];
        let threshold = head.threshold(&self.loss);
        Step { threshold, outside: head.alert(&self.loss, threshold), ..Step::default() }
    }

    /// f(x) of every head for row `r` of the tile, which is brought up to date first.
    fn read_row(&mut self, r: usize) {
        self.tile.patch(r);
        let (tile, slots, backend) = (&self.tile, self.terms.row_len(), self.terms.space.backend());
        let row = |plane| tile.row(plane, r, slots);
        if self.ahead.is_taken() {
            let head = &mut self.heads[0];
            return head.read_ahead(backend, &self.output, row(head.plane), (&self.ahead, r));
        }
        head::read_all(&mut self.heads, backend, &self.output, row, &mut self.scratch.sums);
        if let Some(bank) = &mut self.bank {
            bank.read(self.heads.iter().flat_map(Head::voices).map(|voice| voice.scores));
        }
    }

    /// The scores of the current row, as they are reported.
    fn scores(&self) -> &[f64] {
        self.bank.as_ref().map_or_else(|| self.heads[0].score(), |bank| &bank.scores)
    }

    /// State stays below 1e150, so scores that are not finite come from a kernel value beyond single precision: 0 is reported.
    fn clear_scores(&mut self) {
        match &mut self.bank {
            Some(bank) => bank.scores.fill(0.0),
            None => self.heads[0].clear_scores(),
        }
    }

    /// The head that budgets look at and that asks for new terms.
    pub(crate) fn leader(&self) -> usize {
        self.bank.as_ref().map_or(0, Bank::leader)
    }

    /// The loss of the reported scores, and whether the loss counts the example as outside. A bank weighs its heads by their losses.
    fn judge(&mut self, example: &Example<'_>, taken: bool) -> (f64, bool) {
        let Some(bank) = &mut self.bank else {
            let plan = &self.heads[0].plan;
            return (plan.loss(), plan.is_outside());
        };
        let (loss, outside) = bank.own_loss(&self.loss, example.y, example.weight);
        if taken {
            bank.learn(&self.loss, example, loss, self.heads.iter().flat_map(Head::voices));
        }
        (loss, outside)
    }

    /// Plans the step for every head that does not rest. Those for which it would leave a state that is not finite rest from now on,
    /// the others take it; if there are no others, nothing happens at all.
    fn take(&mut self, example: &Example<'_>) -> bool {
        let starts_again = (self.t + self.skipped + 1).is_power_of_two();
        let Engine { heads, bank, loss, output, rules, .. } = self;
        let mut possible = false;
        for (h, head) in heads.iter_mut().enumerate() {
            match bank.as_ref().is_some_and(|bank| bank.rests(h)) && !starts_again {
                true => head.rest(),
                false => possible |= head.plan(loss, output, rules, example),
            }
        }
        if possible {
            heads.iter_mut().for_each(|head| match head.plan.finite {
                true => head.commit(loss, output, rules, example),
                false => head.rest(),
            });
            self.t += 1;
        }
        possible
    }

    fn append(&mut self, rows: P::Rows<'_>, r: usize, id: u64, values: &[f64]) -> Option<usize> {
        if !self.heads.iter().any(|head| head.plan.appends()) {
            return None;
        }
        let named = self.terms.slot_of(id);
        if let Some(slot) = named.filter(|&slot| self.terms.space.is(slot, rows, r)) {
            self.terms.births[slot] = self.t;
            let (output, term) = (&self.output, &mut self.scratch.terms[0]);
            self.heads.iter_mut().for_each(|head| head.write_onto(slot, output, values, term));
            return Some(slot);
        }
        let wanted = self.heads[self.leader()].plan.appends();
        if !wanted && !self.terms.is_empty() && self.onto_nearest(rows, r) {
            return None;
        }
        // The id named another input, whose term now loses it, or leaves.
        self.terms.taken_over += u64::from(named.is_some());
        let room = self.consult(r, values, |budget, sight| budget.room(sight));
        let exact = room != Room::Fresh && self.exact_norms();
        if exact {
            self.heads.iter_mut().for_each(Head::without_new_term);
        }
        let slot = self.make_room(room, rows, r);
        self.terms.put(slot, rows, r, self.t, id);
        if exact {
            self.count_new_term(slot, values);
        }
        self.heads.iter_mut().for_each(|head| {
            head.expansion.reserve(slot + 1);
            // An unused slot may hold -0 where the scale was negative; a term starts from +0 whatever happened there before.
            head.expansion.clear(slot);
            head.write(slot)
        });
        self.tile.appended(slot, r);
        if let Room::Transfer(_) = room {
            self.receive(slot, values);
        }
        Some(slot)
    }

    /// The scores of rows, without learning; many readers may share a learner.
    pub fn predict(&self, workspace: &mut Workspace, rows: P::Rows<'_>, mut each: impl FnMut(usize, &[f64])) {
        let (count, slots, backend) = (P::count(rows), self.terms.row_len(), self.terms.space.backend());
        let Workspace { tile, reading, scores, combined } = workspace;
        scores.resize_with(self.heads.iter().map(Head::voice_count).sum(), Vec::new);
        for first in (0..count).step_by(TILE) {
            let part = P::range(rows, first, count.min(first + TILE));
            tile.begin(P::count(part), self.terms.space.planes(), slots, slots);
            self.terms.space.against_terms(part, slots, tile);
            for r in 0..P::count(part) {
                let mut rest = scores.as_mut_slice();
                for head in &self.heads {
                    let own;
                    (own, rest) = rest.split_at_mut(head.voice_count());
                    head.voices_at(backend, &self.output, |plane| tile.row(plane, r, slots), reading, own);
                }
                let Some(bank) = &self.bank else {
                    each(first + r, &scores[0]);
                    continue;
                };
                bank.combine(scores.iter().map(Vec::as_slice), combined);
                each(first + r, combined);
            }
        }
    }

    /// The terms that every head shares.
    pub fn terms(&self) -> &Terms<P> {
        &self.terms
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

    /// Bytes held for what grows with the number of terms (centres, coefficients, the kernel values of a tile), and for the kernel values
    /// among the rows of a tile.
    pub fn bytes(&self) -> usize {
        let coefficients: usize = self.heads.iter().map(|h| h.expansion.bytes()).sum();
        let workspace = self.tile.bytes() + self.ahead.bytes() + self.scratch.row.capacity() * size_of::<f32>();
        self.terms.bytes() + coefficients + workspace + self.budget.bytes()
    }
}
