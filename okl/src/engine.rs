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
//! A block is cut into tiles whose kernel values come from one matrix product; nothing is decided at a tile's edge.

use crate::budget::{Budget, Room, Sight};
use crate::expansion::{Reading, Term};
use crate::gram::{Backend, LANES};
use crate::head::{Example, Head, Rules};
use crate::loss::Loss;
use crate::output::{Output, dot};
use crate::regulariser::{AnyRegulariser, Regulariser};
use crate::space::Space;
use crate::step::StepSize;
use crate::terms::{NO_ID, Terms};
use crate::tile::Tile;

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
    /// Ids; an id that names a live term adds onto it.
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
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// The scores before the update (of the averaged hypothesis, where there is one).
    pub scores: &'a [f64],
    /// The loss before the update times the weight; none for a row that was only predicted.
    pub loss: Option<f64>,
    /// The slot written, if one was.
    pub slot: Option<usize>,
}

/// A learner of any parts: a space of centres `P`, a loss `L`, step sizes `S`, a budget `B` and a regulariser `R`.
#[derive(Clone, Debug)]
pub struct Engine<P, L, S, B, R = AnyRegulariser> {
    pub(crate) terms: Terms<P>,
    pub(crate) heads: Vec<Head<S>>,
    pub(crate) loss: L,
    pub(crate) budget: B,
    pub(crate) output: Output,
    pub(crate) rules: Rules<R>,
    pub(crate) t: u64,
    pub(crate) skipped: u64,
    tile: Tile,
    scratch: Scratch,
}

#[derive(Clone, Debug, Default)]
struct Scratch {
    values: Vec<f64>,
    term_values: Vec<f64>,
    row: Vec<f32>,
    expired: Vec<usize>,
    reading: Reading,
    terms: [Term; 3],
}

/// Room for predictions, so that readers share a learner without writing to it.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    tile: Tile,
    reading: Reading,
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
    /// The heads: a step size and a lambda each.
    pub heads: Vec<(S, f64)>,
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
        let head = |(step, lambda)| Head::new(step, lambda, outputs, rules.average, theta, certified, None);
        let scratch = Scratch { values: vec![0.0; space.planes()], term_values: vec![0.0; space.planes()], ..Scratch::default() };
        Engine {
            heads: heads.into_iter().map(head).collect(), terms: Terms::new(space), loss, budget, output, rules,
            t: 0, skipped: 0, tile: Tile::default(), scratch,
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
                let (loss, slot) = self.step(tile, r, labels.target(first + r), labels.id(first + r));
                each(first + r, &Step { scores: self.heads[0].score(), loss, slot });
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
    }

    fn step(&mut self, rows: P::Rows<'_>, r: usize, target: Option<(&[f64], f64)>, id: u64) -> (Option<f64>, Option<usize>) {
        if let Some((&[class], _)) = target.filter(|_| self.loss.reads() == crate::loss::Reads::Class) {
            self.heads.iter_mut().for_each(|h| h.add_outputs(class as usize + 1));
        }
        self.tile.patch(r);
        let (tile, slots, backend) = (&self.tile, self.terms.row_len(), self.terms.space.backend());
        for head in &mut self.heads {
            head.read(backend, &self.output, |plane| tile.row(plane, r, slots));
        }
        let Some((y, weight)) = target else { return (None, None) };
        self.terms.space.self_values(rows, r, &mut self.scratch.values);
        let values = std::mem::take(&mut self.scratch.values);
        let example = Example { t: self.t + 1, y, weight, values: &values };
        let taken = self.take(&example);
        let slot = if taken { self.append(rows, r, id, &values) } else { None };
        self.scratch.values = values;
        if taken {
            self.drop_expired(r);
        } else {
            self.skipped += 1;
        }
        (Some(self.heads[0].plan.loss()), slot)
    }

    /// Plans the step for every head, and takes it if it leaves every state finite.
    fn take(&mut self, example: &Example<'_>) -> bool {
        let Engine { heads, loss, output, rules, .. } = self;
        if !heads.iter_mut().all(|head| head.plan(loss, output, rules, example)) {
            return false;
        }
        heads.iter_mut().for_each(|head| head.commit(loss, output, rules, example));
        self.t += 1;
        true
    }

    fn append(&mut self, rows: P::Rows<'_>, r: usize, id: u64, values: &[f64]) -> Option<usize> {
        if !self.heads.iter().any(|head| head.plan.appends()) {
            return None;
        }
        if let Some(slot) = self.terms.slot_of(id) {
            self.terms.births[slot] = self.t;
            self.heads.iter_mut().for_each(|head| head.write(slot));
            return Some(slot);
        }
        let room = self.budget.room(&mut scene(&mut self.terms, &self.heads[0], &self.output, &self.tile, r, self.t, values));
        let exact = room != Room::Fresh && self.exact_norms();
        if exact {
            self.heads.iter_mut().for_each(Head::without_new_term);
        }
        let slot = self.make_room(room, r, values);
        self.terms.put(slot, rows, r, self.t, id);
        if exact {
            self.count_new_term(slot, values);
        }
        self.heads.iter_mut().for_each(|head| {
            head.expansion.reserve(slot + 1);
            head.write(slot)
        });
        self.tile.appended(slot, r);
        if let Room::Transfer(_) = room {
            self.receive(slot, values);
        }
        Some(slot)
    }

    fn make_room(&mut self, room: Room, r: usize, values: &[f64]) -> usize {
        match room {
            Room::Fresh => return self.terms.fresh(),
            Room::Drop(slot) => self.drop_term(slot),
            Room::Transfer(slot) => self.give(slot, f64::from(self.tile.row(0, r, slot + 1)[slot]), values[0]),
            // Only between Gaussian centres is there a point that can stand for both.
            Room::Merge { from, .. } if self.terms.space.gaussian_gamma().is_none() => self.drop_term(from),
            Room::Merge { from, into, h } => self.merge(from, into, h),
            Room::Forget { slot, phi } => {
                for head in &mut self.heads {
                    head.scale(phi);
                    head.plan.alpha.iter_mut().for_each(|a| *a *= phi);
                }
                self.drop_term(slot);
            }
        }
        let (Room::Drop(slot) | Room::Transfer(slot) | Room::Merge { from: slot, .. } | Room::Forget { slot, .. }) = room else { unreachable!() };
        self.terms.vacate(slot);
        slot
    }

    fn exact_norms(&self) -> bool {
        self.heads.iter().any(|h| h.expansion.riders().trace)
    }

    /// The values of one centre against all terms, kept in the scratch row.
    fn read_term_row(&mut self, slot: usize) {
        let slots = self.terms.row_len();
        self.scratch.row.resize(slots * self.terms.space.planes(), 0.0);
        self.terms.space.term_row(slot, slots, &mut self.scratch.row);
    }

    /// N, pi and M as the term (0: f's share, -1 or +1 its sign) at the centre of the scratch row comes or goes.
    fn correct_norms(&mut self, head: usize, term: usize, sign: f64) {
        let slots = self.terms.row_len();
        let Scratch { row, reading, terms, term_values, .. } = &mut self.scratch;
        let head = &mut self.heads[head];
        let backend = self.terms.space.backend();
        head.expansion.read(backend, &self.output, |plane| &row[plane * slots..(plane + 1) * slots], reading);
        head.change_norms(&self.output, term_values, &terms[term], reading, sign);
    }

    /// N, pi and M with the new term at `slot`, which no expansion holds yet.
    fn count_new_term(&mut self, slot: usize, values: &[f64]) {
        self.read_term_row(slot);
        self.scratch.term_values.copy_from_slice(values);
        for h in 0..self.heads.len() {
            let (term, plan) = (&mut self.scratch.terms[0], &self.heads[h].plan);
            term.alpha.clone_from(&plan.alpha);
            term.trace.clone_from(&plan.beta);
            self.correct_norms(h, 0, 1.0);
        }
    }

    /// Drops a term from every head: delta = alpha_i k(x_i, .), |delta|² = alpha^T K_ii alpha (3.6).
    fn drop_term(&mut self, slot: usize) {
        let exact = self.exact_norms();
        self.terms.space.term_self_values(slot, &mut self.scratch.term_values);
        if exact {
            self.read_term_row(slot);
        }
        for h in 0..self.heads.len() {
            self.heads[h].expansion.get(slot, &mut self.scratch.terms[0]);
            let alpha = &self.scratch.terms[0].alpha;
            let lost = self.output.form(&self.scratch.term_values, alpha, alpha).max(0.0).sqrt();
            if exact {
                self.correct_norms(h, 0, -1.0);
            }
            self.heads[h].lose(lost, exact);
            self.heads[h].expansion.clear(slot);
        }
    }

    /// First half of a transfer: the term leaves; what of it the new one can carry waits in the plan.
    fn give(&mut self, slot: usize, shared: f64, own: f64) {
        let exact = self.exact_norms();
        self.terms.space.term_self_values(slot, &mut self.scratch.term_values);
        if exact {
            self.read_term_row(slot);
        }
        for h in 0..self.heads.len() {
            self.heads[h].expansion.get(slot, &mut self.scratch.terms[0]);
            if exact {
                self.correct_norms(h, 0, -1.0);
            }
            let Scratch { terms: [gone, carried, _], term_values, .. } = &mut self.scratch;
            let whole = self.output.form(term_values, &gone.alpha, &gone.alpha);
            let lost = (whole * (1.0 - shared * shared / (term_values[0] * own)).max(0.0)).max(0.0).sqrt();
            *carried = Term::default();
            Head::<S>::carry(gone, shared / own, carried);
            self.heads[h].lose(lost, exact);
            self.heads[h].expansion.clear(slot);
            self.heads[h].carried.clone_from(carried);
        }
    }

    /// Second half: the new term carries what it was given.
    fn receive(&mut self, slot: usize, values: &[f64]) {
        let exact = self.exact_norms();
        if exact {
            self.read_term_row(slot);
            self.scratch.term_values.copy_from_slice(values);
        }
        for h in 0..self.heads.len() {
            let [sum, carried, _] = &mut self.scratch.terms;
            carried.clone_from(&self.heads[h].carried);
            self.heads[h].expansion.get(slot, sum);
            Head::<S>::carry(carried, 1.0, sum);
            if exact {
                self.correct_norms(h, 1, 1.0);
            }
            self.heads[h].expansion.set(slot, &self.scratch.terms[0]);
        }
    }

    /// Merges two terms: each head projects its two coefficients onto the new centre in its own space.
    fn merge(&mut self, from: usize, into: usize, h: f64) {
        let exact = self.exact_norms();
        self.terms.space.term_self_values(into, &mut self.scratch.term_values);
        let own = self.scratch.term_values[0];
        let pairs: Vec<[Term; 2]> = self.heads.iter().map(|head| [from, into].map(|slot| head.term(slot))).collect();
        if exact {
            for (which, slot) in [from, into].into_iter().enumerate() {
                self.read_term_row(slot);
                for (head, pair) in pairs.iter().enumerate() {
                    self.scratch.terms[0].clone_from(&pair[which]);
                    self.correct_norms(head, 0, -1.0);
                    self.heads[head].expansion.clear(slot);
                }
            }
        }
        let Some([apart, from_new, into_new]) = self.terms.space.blend(into, from, h) else { return };
        if exact {
            self.heads.iter_mut().for_each(|head| head.expansion.clear(into));
            self.read_term_row(into);
        }
        for (head, [a, b]) in pairs.iter().enumerate() {
            let mut merged = Term::default();
            Head::<S>::carry(a, from_new / own, &mut merged);
            Head::<S>::carry(b, into_new / own, &mut merged);
            let form = |x: &Term, y: &Term| self.output.form(&[1.0], &x.alpha, &y.alpha);
            let before = own * (form(a, a) + form(b, b)) + 2.0 * apart * form(a, b);
            let lost = (before - own * form(&merged, &merged)).max(0.0).sqrt();
            if exact {
                self.scratch.terms[0].clone_from(&merged);
                self.correct_norms(head, 0, 1.0);
            }
            self.heads[head].lose(lost, exact);
            self.heads[head].expansion.clear(from);
            self.heads[head].expansion.set(into, &merged);
        }
        self.terms.name(into, NO_ID);
        self.terms.space.refresh(into, &mut self.tile);
    }

    fn drop_expired(&mut self, r: usize) {
        let mut expired = std::mem::take(&mut self.scratch.expired);
        expired.clear();
        let values = std::mem::take(&mut self.scratch.values);
        self.budget.expired(&mut scene(&mut self.terms, &self.heads[0], &self.output, &self.tile, r, self.t, &values), &mut expired);
        self.scratch.values = values;
        for &slot in &expired {
            self.drop_term(slot);
            self.terms.remove(slot);
        }
        self.scratch.expired = expired;
    }

    /// The scores of rows, without learning; many readers may share a learner.
    pub fn predict(&self, workspace: &mut Workspace, rows: P::Rows<'_>, mut each: impl FnMut(usize, &[f64])) {
        let (count, slots, head) = (P::count(rows), self.terms.row_len(), &self.heads[0]);
        let Workspace { tile, reading } = workspace;
        let mean = head.expansion.riders().mean;
        for first in (0..count).step_by(TILE) {
            let part = P::range(rows, first, count.min(first + TILE));
            tile.begin(P::count(part), self.terms.space.planes(), slots, slots);
            self.terms.space.against_terms(part, slots, tile);
            for r in 0..P::count(part) {
                head.expansion.read(self.terms.space.backend(), &self.output, |plane| tile.row(plane, r, slots), reading);
                let (score, offset) = if mean { (&mut reading.mean, &head.offset_mean) } else { (&mut reading.f, &head.offset) };
                score.iter_mut().zip(offset).for_each(|(z, b)| *z += b);
                each(first + r, score);
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

    /// The loss.
    pub fn loss(&self) -> &L {
        &self.loss
    }

    /// Examples learned.
    pub fn examples(&self) -> u64 {
        self.t
    }

    /// Steps that would have left a state that is not finite, and were not taken.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Bytes held for terms and coefficients.
    pub fn bytes(&self) -> usize {
        self.terms.bytes() + self.heads.iter().map(|h| h.expansion.bytes()).sum::<usize>()
    }
}

/// What the budget sees, borrowed from the engine for one decision.
struct Scene<'a, P, S> {
    terms: &'a mut Terms<P>,
    head: &'a Head<S>,
    output: &'a Output,
    tile: &'a Tile,
    r: usize,
    t: u64,
    values: &'a [f64],
    term_values: Vec<f64>,
}

fn scene<'a, P: Space, S>(terms: &'a mut Terms<P>, head: &'a Head<S>, output: &'a Output, tile: &'a Tile, r: usize, t: u64, values: &'a [f64]) -> Scene<'a, P, S> {
    Scene { terms, head, output, tile, r, t, values, term_values: Vec::new() }
}

impl<P: Space, S: StepSize> Scene<'_, P, S> {
    fn term_values(&mut self, slot: usize) -> &[f64] {
        self.term_values.resize(self.terms.space.planes(), 0.0);
        self.terms.space.term_self_values(slot, &mut self.term_values);
        &self.term_values
    }
}

impl<P: Space, S: StepSize> Sight for Scene<'_, P, S> {
    fn t(&self) -> u64 {
        self.t
    }

    fn terms(&self) -> usize {
        self.terms.len()
    }

    fn births(&self) -> &[u64] {
        &self.terms.births
    }

    fn norms2(&mut self, out: &mut Vec<f64>) {
        out.clear();
        let (mut term, output) = (Term::default(), self.output);
        for slot in 0..self.terms.slots() {
            self.head.expansion.get(slot, &mut term);
            let values = self.term_values(slot);
            out.push(output.form(values, &term.alpha, &term.alpha).max(0.0));
        }
    }

    fn self_value(&mut self, slot: usize) -> f64 {
        self.term_values(slot)[0]
    }

    fn products(&mut self, slot: usize, out: &mut Vec<f64>) {
        out.clear();
        let (mut one, mut other) = (Term::default(), Term::default());
        self.head.expansion.get(slot, &mut one);
        for slot in 0..self.terms.slots() {
            self.head.expansion.get(slot, &mut other);
            out.push(self.output.form(&[1.0], &one.alpha, &other.alpha));
        }
    }

    fn row(&self) -> &[f32] {
        self.tile.row(0, self.r, self.terms.row_len())
    }

    fn own_value(&self) -> f64 {
        self.values[0]
    }

    fn term_row(&mut self, slot: usize, out: &mut Vec<f32>) {
        let slots = self.terms.row_len();
        out.resize(slots * self.terms.space.planes(), 0.0);
        self.terms.space.term_row(slot, slots, out);
        out.truncate(slots);
    }

    fn value_at(&mut self, slot: usize) -> (f64, f64) {
        let (mut row, mut reading) = (Vec::new(), Reading::default());
        self.term_row(slot, &mut row);
        self.head.expansion.read(self.terms.space.backend(), self.output, |_| &row, &mut reading);
        let with_new = f64::from(self.row()[slot]) * dot(&self.head.plan.alpha[..1], &[1.0]);
        (self.head.expansion.alpha(0, slot), reading.f[0] + with_new)
    }

    fn eta(&self) -> f64 {
        self.head.eta
    }

    fn truncation(&self) -> f64 {
        self.head.truncation
    }

    fn backend(&self) -> Backend {
        self.terms.space.backend()
    }
}
