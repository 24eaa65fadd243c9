//! Writing the new term of a step: the budget names a slot, terms make room in every head, and what is lost is accounted for (law 5).
//!
//! ```text
//! write     a row whose id names a term with the same input adds onto that term
//!           a row that only other heads than the leader want goes onto the nearest term
//!           else the budget decides (Room), and a Replacement is applied to every head:
//!               evict     the term leaves; its norm, or what a projection does not keep of it, is lost
//!               insert    the new term is written into the slot
//!               receive   a transfer adds the kept share of the evicted term onto the new one
//! ```
//!
//! Under smd, and under a regulariser that depends on |f|, the norms follow every change exactly at the cost of a kernel row (3.2,
//! truncation corrections); otherwise |f| grows by what was lost and is an upper bound from then on.
//!
//! What a projection loses is computed in double precision from the difference of the two points ([`Space::pairs`]).

use crate::basis::block::Block;
use crate::basis::terms::{NO_ID, Terms};
use crate::basis::{Basis, Space};
use crate::coordinates::{Reading, Term};
use crate::engine::head::Head;
use crate::engine::sight::{Scene, SceneScratch};
use crate::gram::Backend;
use crate::parts::budget::{Budget, Room, Sight};
use crate::parts::kernel::Pair;
use crate::parts::output::Output;
use crate::parts::step::StepSize;

/// The workspace of a [`Writer`]; grown once, then reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    centre: Centre,
    reading: Reading,
    /// A term that comes or goes, and what becomes of another.
    term: Term,
    sum: Term,
    /// Of each head, the share of an evicted term that the new term receives.
    carried: Vec<Term>,
    /// Of each head, two terms and the one that they become.
    merging: Vec<[Term; 3]>,
    blend: Vec<[Pair; 3]>,
    /// Two points, plane by plane, and what is left of the first after a projection onto the second.
    pairs: Vec<Pair>,
    left: Vec<f64>,
    /// Of each head, the share that a projection keeps and what it loses.
    projections: Vec<(f64, f64)>,
    expired: Vec<usize>,
    scene: SceneScratch,
}

impl Scratch {
    pub fn bytes(&self) -> usize {
        self.centre.row.capacity() * size_of::<f32>()
    }
}

/// A centre, as norms need it: k(x, x), and its kernel values against all slots where norms are exact.
#[derive(Clone, Debug, Default)]
struct Centre {
    values: Vec<f64>,
    row: Vec<f32>,
    slots: usize,
}

impl Centre {
    /// The centre of a slot.
    fn find<P: Space>(&mut self, terms: &mut Terms<P>, slot: usize, exact: bool) {
        let planes = terms.space.planes();
        self.values.resize(planes, 0.0);
        terms.space.term_self_values(slot, &mut self.values);
        if exact {
            self.slots = terms.row_len();
            self.row.resize(self.slots * planes, 0.0);
            terms.space.term_row(slot, self.slots, 0..planes, &mut self.row);
        }
    }

    /// The norms of a head as `term` at this centre comes (sign = 1) or goes (sign = -1); f holds it or does not hold it yet.
    fn change_norms<S: StepSize>(&self, head: &mut Head<S>, how: (Backend, &Output), term: &Term, sign: f64, at: &mut Reading) {
        let (first, slots) = (head.plane, self.slots);
        head.f.read(how.0, how.1, |plane| &self.row[(first + plane) * slots..][..slots], at);
        head.norms.change(how.1, &self.values[first..], term, at, sign);
    }
}

/// Everything that writing a term changes, borrowed from the engine for one step.
pub(crate) struct Writer<'a, P, S, B> {
    pub terms: &'a mut Terms<P>,
    pub heads: &'a mut [Head<S>],
    pub budget: &'a mut B,
    pub block: &'a mut Block,
    pub output: &'a Output,
    /// The head that budgets look at and that asks for new terms.
    pub leader: usize,
    /// The number of the example.
    pub t: u64,
    /// Its row in the block, and k(x, x).
    pub r: usize,
    pub own: &'a [f64],
    /// Must norms be exact while terms are dropped? SVMD's recursions and a regulariser that depends on |f| act on them; otherwise
    /// an upper bound is enough.
    pub exact: bool,
    pub scratch: &'a mut Scratch,
}

impl<P: Space, S: StepSize, B: Budget> Writer<'_, P, S, B> {
    /// Writes the planned term of every head; the slot, if one was written.
    pub fn write(&mut self, rows: P::Rows<'_>, id: u64) -> Option<usize> {
        if !self.heads.iter().any(|head| head.plan.appends()) {
            return None;
        }
        let named = self.terms.slot_of(id);
        if let Some(slot) = named.filter(|&slot| self.terms.space.is(slot, rows, self.r)) {
            self.terms.births[slot] = self.t;
            self.heads.iter_mut().for_each(|head| head.write_onto(slot, self.output, self.own, &mut self.scratch.term));
            return Some(slot);
        }
        let wanted = self.heads[self.leader].plan.appends();
        if !wanted && !self.terms.is_empty() && self.onto_nearest(rows) {
            return None;
        }
        // The id named another input, whose term now loses it, or leaves.
        self.terms.taken_over += u64::from(named.is_some());
        let room = self.consult(|budget, sight| budget.room(sight));
        Some(self.replace(room, rows, id))
    }

    /// Lets the budget see the leading head and the row, and decide.
    fn consult<T>(&mut self, ask: impl FnOnce(&mut B, &mut dyn Sight) -> T) -> T {
        let Writer { terms, heads, leader, output, block, r, t, own, budget, scratch, .. } = self;
        let scene = &mut scratch.scene;
        ask(budget, &mut Scene { terms, heads, leader: *leader, output, block, r: *r, t: *t, values: own, scratch: scene })
    }

    /// Evict, insert, receive: a slot changes hands in every head.
    fn replace(&mut self, room: Room, rows: P::Rows<'_>, id: u64) -> usize {
        let exact = self.exact && room != Room::Fresh;
        if exact {
            self.heads.iter_mut().for_each(Head::without_new_term);
        }
        let slot = self.make_room(room, rows);
        self.terms.put(slot, rows, self.r, self.t, id);
        self.insert(slot, exact);
        self.block.appended(slot, self.r);
        if let Room::Transfer(_) = room {
            self.receive(slot);
        }
        slot
    }

    /// The slot of the new term; what was there has left every head.
    fn make_room(&mut self, room: Room, rows: P::Rows<'_>) -> usize {
        let slot = match room {
            Room::Fresh => return self.terms.fresh(),
            Room::Drop(slot) => {
                self.evict(slot, None);
                slot
            }
            Room::Transfer(slot) => {
                self.evict(slot, Some(rows));
                slot
            }
            // Only between Gaussian centres is there a point that can stand for both.
            Room::Merge { from, .. } if !self.terms.space.blends() => {
                self.evict(from, None);
                from
            }
            Room::Merge { from, into, h } => {
                self.merge(from, into, h);
                from
            }
            Room::Forget { slot, phi } => {
                self.heads.iter_mut().for_each(|head| head.forget(phi));
                self.evict(slot, None);
                slot
            }
        };
        self.terms.vacate(slot);
        slot
    }

    /// A term leaves every head: delta = alpha_i k(x_i, .), |delta|² = alpha^T K_ii alpha (3.6). If it goes `onto` the row that is
    /// about to be written, only the residual of the projection is lost, and the rest waits to be received by the new term.
    fn evict(&mut self, slot: usize, onto: Option<P::Rows<'_>>) {
        let (how, exact) = ((self.terms.space.backend(), self.output), self.exact);
        let Scratch { centre, reading, term: gone, carried, pairs, left, .. } = &mut *self.scratch;
        centre.find(self.terms, slot, exact);
        if let Some(rows) = onto {
            pairs.resize(self.terms.space.planes(), Pair::default());
            self.terms.space.pairs(slot, rows, self.r, pairs);
            pairs.iter_mut().for_each(|pair| *pair = pair.swapped());
            carried.resize_with(self.heads.len(), Default::default);
        }
        for (h, head) in self.heads.iter_mut().enumerate() {
            head.f.get(slot, gone);
            if exact {
                centre.change_norms(head, how, gone, -1.0, reading);
            }
            let plane = head.plane;
            let share = onto.map(|_| project(self.output, &pairs[plane..], &gone.alpha, left));
            let left = if share.is_some() { left.as_slice() } else { &centre.values[plane..] };
            let lost = |a: &[f64]| self.output.form(left, a, a).max(0.0).sqrt();
            let of_mean = if head.f.riders().mean { lost(&gone.mean) } else { 0.0 };
            head.lose(lost(&gone.alpha), of_mean, exact);
            head.norms.exchange_mass(head.mass_of(self.output, &centre.values, &gone.alpha), 0.0);
            head.f.clear(slot);
            if let Some(share) = share {
                carried[h].set_scaled(gone, share);
            }
        }
    }

    /// The new term is written into a slot that every head has cleared.
    fn insert(&mut self, slot: usize, exact: bool) {
        let how = (self.terms.space.backend(), self.output);
        let Scratch { centre, reading, term, .. } = &mut *self.scratch;
        if exact {
            centre.find(self.terms, slot, true);
        }
        for head in &mut *self.heads {
            head.f.reserve(slot + 1);
            // An unused slot may hold -0 where the scale was negative; a term starts from +0 whatever happened there before.
            head.f.clear(slot);
            if exact {
                head.plan.term(term);
                centre.change_norms(head, how, term, 1.0, reading);
            }
            head.write(slot);
        }
    }

    /// The new term adds what a transfer kept for it.
    fn receive(&mut self, slot: usize) {
        let how = (self.terms.space.backend(), self.output);
        let Scratch { centre, reading, sum, carried, .. } = &mut *self.scratch;
        for (head, carried) in self.heads.iter_mut().zip(carried) {
            head.f.get(slot, sum);
            let alone = head.mass_of(self.output, self.own, &sum.alpha);
            sum.add_scaled(carried, 1.0);
            head.norms.exchange_mass(alone, head.mass_of(self.output, self.own, &sum.alpha));
            if self.exact {
                centre.change_norms(head, how, carried, 1.0, reading);
            }
            head.f.set(slot, sum);
        }
    }

    /// Two terms become one, at a centre between them: each head projects its two coefficients onto the new centre in its own space.
    fn merge(&mut self, from: usize, into: usize, h: f64) {
        let (how, exact) = ((self.terms.space.backend(), self.output), self.exact);
        let Scratch { centre, reading, merging, blend, .. } = &mut *self.scratch;
        merging.resize_with(self.heads.len(), Default::default);
        for (head, [a, b, _]) in self.heads.iter().zip(&mut *merging) {
            head.f.get(from, a);
            head.f.get(into, b);
        }
        for (which, slot) in [from, into].into_iter().enumerate().filter(|_| exact) {
            centre.find(self.terms, slot, true);
            for (head, terms) in self.heads.iter_mut().zip(&*merging) {
                centre.change_norms(head, how, &terms[which], -1.0, reading);
                head.f.clear(slot);
            }
        }
        blend.resize(self.terms.space.planes(), Default::default());
        self.terms.space.blend(into, from, h, blend);
        centre.find(self.terms, into, exact);
        for (head, [a, b, merged]) in self.heads.iter_mut().zip(merging) {
            let pairs = &blend[head.plane];
            merged.set_scaled(a, pairs[1].share());
            merged.add_scaled(b, pairs[2].share());
            let lost = lost_by_merging(self.output, pairs, a, b);
            if exact {
                centre.change_norms(head, how, merged, 1.0, reading);
            }
            head.lose(lost[0], lost[1], exact);
            let [a, b, mass] = [&*a, b, merged].map(|term| head.mass_of(self.output, &centre.values, &term.alpha));
            head.norms.exchange_mass(a + b, mass);
            head.f.clear(from);
            head.f.set(into, merged);
        }
        self.terms.name(into, NO_ID);
        self.terms.space.refresh(into, self.block);
    }

    /// The leading head needs no new term: what the others would append goes onto the term that it resembles most, projected
    /// in each head's own space, a_j += a k_tj / k_jj, and the residual is lost. False, with nothing changed, if a head may not
    /// lose that much.
    fn onto_nearest(&mut self, rows: P::Rows<'_>) -> bool {
        let slot = self.nearest();
        if !self.plan_projection(slot, rows) {
            return false;
        }
        let (how, exact) = ((self.terms.space.backend(), self.output), self.exact);
        let Scratch { centre, reading, term, projections, .. } = &mut *self.scratch;
        centre.find(self.terms, slot, exact);
        for (head, (share, lost)) in self.heads.iter_mut().zip(projections).filter(|(head, _)| head.plan.appends()) {
            if exact {
                head.without_new_term();
            }
            head.plan.alpha.iter_mut().chain(&mut head.plan.beta).for_each(|a| *a *= *share);
            if exact {
                head.plan.term(term);
                centre.change_norms(head, how, term, 1.0, reading);
            }
            head.lose(*lost, 0.0, exact);
            head.write_onto(slot, self.output, &centre.values, term);
        }
        true
    }

    /// Of each head, the share of its new term that the term at `slot` can stand for, and the norm of what is lost. False if the
    /// certificate of a head would exceed the budget's limit.
    fn plan_projection(&mut self, slot: usize, rows: P::Rows<'_>) -> bool {
        let limit = self.budget.limit();
        let Scratch { pairs, left, projections, .. } = &mut *self.scratch;
        pairs.resize(self.terms.space.planes(), Pair::default());
        self.terms.space.pairs(slot, rows, self.r, pairs);
        projections.clear();
        for head in &*self.heads {
            let alpha = &head.plan.alpha;
            let share = project(self.output, &pairs[head.plane..], alpha, left);
            let lost = self.output.form(left, alpha, alpha).max(0.0).sqrt();
            projections.push((share, lost));
            if head.plan.appends() && head.truncation + lost > limit {
                return false;
            }
        }
        true
    }

    /// The live term whose function has the largest share of the row's, as the leading head sees it.
    fn nearest(&mut self) -> usize {
        let (plane, terms) = (self.heads[self.leader].plane, &*self.terms);
        let row = self.block.row(plane, self.r, terms.slots());
        if terms.space.diagonal().is_some() && terms.holes.is_empty() {
            return largest(row);
        }
        let values = &mut self.scratch.centre.values;
        values.resize(terms.space.planes(), 0.0);
        let mut best = (-1.0, 0);
        for slot in terms.live() {
            terms.space.term_self_values(slot, values);
            let (k, own) = (f64::from(row[slot]), values[plane]);
            let shared = if own > 0.0 { k * k / own } else { 0.0 };
            if shared > best.0 {
                best = (shared, slot);
            }
        }
        best.1
    }

    /// Drops the terms that have grown old or light by the end of the step.
    pub fn drop_expired(&mut self) {
        if !self.budget.looks(self.t) {
            return;
        }
        let mut expired = std::mem::take(&mut self.scratch.expired);
        expired.clear();
        self.consult(|budget, sight| budget.expired(sight, &mut expired));
        for &slot in &expired {
            self.evict(slot, None);
            self.terms.remove(slot);
        }
        self.scratch.expired = expired;
    }

    /// Where nothing is left of any head's functions (a step with keep = 0 clears them), the terms go: nothing is lost with them.
    pub fn remove_dead_terms(&mut self) {
        let slots = self.terms.slots();
        if self.terms.is_empty() || !self.heads.iter().all(|head| head.f.is_zero(slots)) {
            return;
        }
        for slot in (0..slots).rev() {
            if self.terms.birth(slot).is_none() {
                continue;
            }
            self.heads.iter_mut().for_each(|head| head.f.clear(slot));
            self.terms.remove(slot);
        }
        self.budget.cleared();
    }
}

/// The norms of what f and its average lose when the terms a and b are projected onto a centre between them; `pairs` are those of
/// (a, b), (a, new) and (b, new).
fn lost_by_merging(output: &Output, &[apart, from_new, into_new]: &[Pair; 3], a: &Term, b: &Term) -> [f64; 2] {
    // k(x_a, .) and k(x_b, .) without their projections onto the new centre: their norms and their inner product.
    let across =
        0.5 * (from_new.apart2 + into_new.apart2 - apart.apart2) - 0.25 * from_new.apart2 * into_new.apart2 / from_new.second;
    let [of_a, of_b] = [from_new, into_new].map(|pair| pair.left(pair.share()));
    let lost = |part: fn(&Term) -> &[f64]| {
        let form = |x: &Term, y: &Term| output.form(&[1.0], part(x), part(y));
        (of_a * form(a, a) + of_b * form(b, b) + 2.0 * across * form(a, b)).max(0.0).sqrt()
    };
    [lost(|term| &term.alpha), lost(|term| &term.mean)]
}

/// Projects K(x, .) a onto K(y, .) a, x being the first point of each pair: returns the share that is kept and writes what is left,
/// plane by plane, as kernel values for [`Output::form`]. Under several planes the share is the best one for this a.
fn project(output: &Output, pairs: &[Pair], a: &[f64], left: &mut Vec<f64>) -> f64 {
    let mut form = |value: fn(&Pair) -> f64| {
        left.clear();
        left.extend(pairs.iter().map(value));
        output.form(left, a, a)
    };
    let share = match output.projectable() {
        true => pairs[0].share(),
        false => {
            let own = form(|pair| pair.second);
            if own > 0.0 { form(|pair| pair.shared) / own } else { 0.0 }
        }
    };
    left.clear();
    left.extend(pairs.iter().map(|pair| pair.left(share)));
    share
}

/// Where the largest size stands, the first of equals.
fn largest(values: &[f32]) -> usize {
    const LANES: usize = 16;
    let (whole, rest) = values.as_chunks::<LANES>();
    let mut lanes = [0.0f32; LANES];
    whole.iter().for_each(|chunk| lanes.iter_mut().zip(chunk).for_each(|(most, v)| *most = most.max(v.abs())));
    let most = lanes.iter().chain(rest).fold(0.0f32, |most, v| most.max(v.abs()));
    values.iter().position(|v| v.abs() == most).unwrap_or(0)
}
