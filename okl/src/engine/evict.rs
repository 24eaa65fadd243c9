//! Writes the new term of a step. The budget chooses a slot, the old term of that slot is removed from every head, and the norm
//! of what is lost is added to the truncation certificate (law 5).
//!
//! ```text
//! write     the id of the row names a term with the same input: the update is added to that term
//!           only heads other than the leader need a new term: their update is projected onto the nearest term
//!           otherwise the budget decides (Room), and the decision is applied to every head:
//!               evict     the old term is removed; its norm is lost, or after a projection the norm of the residual
//!               insert    the new term is written into the slot
//!               receive   after a transfer, the projection of the evicted term is added to the new term
//! ```
//!
//! Under smd, and under a regulariser that depends on |f|, the norms are updated exactly at every change, at the cost of one
//! kernel row (3.2, truncation corrections). Otherwise the lost norm is added to |f|, which is an upper bound from then on.
//!
//! The residual of a projection is computed in double precision from the difference of the two points ([`Space::pairs`]).

use crate::basis::block::Block;
use crate::basis::terms::{NO_ID, Terms};
use crate::basis::{Basis, Space};
use crate::coordinates::{Reading, Term};
use crate::engine::head::Head;
use crate::engine::sight::{Scene, SceneScratch};
use crate::gram::{Backend, Score};
use crate::parts::budget::{Budget, Room, Sight};
use crate::parts::kernel::Pair;
use crate::parts::output::Output;
use crate::parts::step::StepSize;

/// The workspace of a [`Writer`]; grown once, then reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    centre: Centre,
    reading: Reading,
    /// A term that is added or removed, and (`sum`) the sum of two terms.
    term: Term,
    sum: Term,
    /// For each head, the projection of an evicted term, which the new term receives.
    carried: Vec<Term>,
    /// For each head, the two terms that are merged, and the result.
    merging: Vec<[Term; 3]>,
    blend: Vec<[Pair; 3]>,
    /// Two points, plane by plane, and (`left`) the residual of the first after its projection onto the second.
    pairs: Vec<Pair>,
    left: Vec<f64>,
    /// For each head, the factor of a projection and the norm of its residual.
    projections: Vec<(f64, f64)>,
    expired: Vec<usize>,
    scene: SceneScratch,
}

impl Scratch {
    pub fn bytes(&self) -> usize {
        self.centre.row.capacity() * size_of::<f32>() + self.scene.bytes()
    }
}

/// The values of a centre for the norm updates: k(x, x) and, if norms are exact, its kernel values against all slots.
#[derive(Clone, Debug, Default)]
struct Centre {
    values: Vec<f64>,
    row: Vec<f32>,
    slots: usize,
}

impl Centre {
    /// Computes these values for the centre of a slot.
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

    /// Updates the norms of a head for a `term` at this centre that is added (sign = 1) or removed (sign = -1). Call this before
    /// f itself changes.
    fn change_norms<S: StepSize>(&self, head: &mut Head<S>, how: (Backend, &Output), term: &Term, sign: f64, at: &mut Reading) {
        let (first, slots) = (head.plane, self.slots);
        head.f.read(how.0, how.1, |plane| &self.row[(first + plane) * slots..][..slots], at);
        head.norms.change(how.1, &self.values[first..], term, at, sign);
    }
}

/// Everything that writing a term reads or changes, borrowed from the engine for one step.
pub(crate) struct Writer<'a, P, S, B> {
    pub terms: &'a mut Terms<P>,
    pub heads: &'a mut [Head<S>],
    pub budget: &'a mut B,
    pub block: &'a mut Block,
    pub output: &'a Output,
    /// The head whose coefficients the budget sees, and which decides whether a new term is stored.
    pub leader: usize,
    /// The number of the example.
    pub t: u64,
    /// The index of the example's row in the block, and (`own`) k(x, x).
    pub r: usize,
    pub own: &'a [f64],
    /// Whether norms must stay exact when terms are dropped. SVMD's recursions and a regulariser that depends on |f| use the
    /// norms; otherwise an upper bound is enough.
    pub exact: bool,
    pub scratch: &'a mut Scratch,
}

impl<P: Space, S: StepSize, B: Budget> Writer<'_, P, S, B> {
    /// Writes the planned term of every head. Returns the slot, if one was written. Not inlined: the loop is long enough without it.
    #[inline(never)]
    pub fn write(&mut self, rows: P::Rows<'_>, id: u64) -> Option<usize> {
        if !self.heads.iter().any(|head| head.plan.appends()) {
            return None;
        }
        let named = self.terms.slot_of(id);
        if let Some(slot) = named.filter(|&slot| self.terms.space.is(slot, rows, self.r)) {
            self.terms.births[slot] = self.t;
            let awake = self.heads.iter_mut().filter(|head| !head.retired);
            awake.for_each(|head| head.write_onto(slot, self.output, self.own, &mut self.scratch.term));
            return Some(slot);
        }
        let wanted = self.heads[self.leader].plan.appends();
        if !wanted && !self.terms.is_empty() && self.onto_nearest(rows) {
            return None;
        }
        // The id named a term with another input: that term loses the id, or is evicted.
        self.terms.taken_over += u64::from(named.is_some());
        let room = self.consult(|budget, sight| budget.room(sight));
        Some(self.replace(room, rows, id))
    }

    /// Calls `ask` with the budget and its view of the leading head and the row.
    fn consult<T>(&mut self, ask: impl FnOnce(&mut B, &mut dyn Sight) -> T) -> T {
        let Writer { terms, heads, leader, output, block, r, t, own, budget, scratch, .. } = self;
        let scene = &mut scratch.scene;
        ask(budget, &mut Scene { terms, heads, leader: *leader, output, block, r: *r, t: *t, values: own, scratch: scene })
    }

    /// Frees a slot as the budget decided and writes the new term there, in every head.
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

    /// Returns the slot for the new term, after the term that was there has been removed from every head.
    fn make_room(&mut self, room: Room, rows: P::Rows<'_>) -> usize {
        let slot = match room {
            Room::Fresh => return self.terms.fresh(),
            Room::Drop(slot) => {
                let slot = self.terms.here(slot);
                self.evict(slot, None);
                slot
            }
            Room::Transfer(slot) => {
                self.evict(slot, Some(rows));
                slot
            }
            // Only for radial kernels is there a line of centres between the two terms.
            Room::Merge { from, .. } if self.terms.space.radial(0).is_none() => {
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

    /// Removes a term from every head: delta = alpha_i k(x_i, .), |delta|² = alpha^T K_ii alpha (3.6). If `onto` is given, the
    /// term is projected onto the row that is about to be written: only the residual is lost, and the projection is kept for
    /// [`Writer::receive`].
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
        for (h, head) in self.heads.iter_mut().enumerate().filter(|(_, head)| !head.retired) {
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

    /// Writes the new term into a slot that is empty in every head.
    fn insert(&mut self, slot: usize, exact: bool) {
        let how = (self.terms.space.backend(), self.output);
        let Scratch { centre, reading, term, .. } = &mut *self.scratch;
        if exact {
            centre.find(self.terms, slot, true);
        }
        for head in &mut *self.heads {
            head.f.reserve(slot + 1);
            if head.retired {
                continue;
            }
            // An unused slot may hold -0 if the scale was negative. Clearing it makes every term start from +0, whatever the slot
            // held before.
            head.f.clear(slot);
            if exact {
                head.plan.term(term);
                centre.change_norms(head, how, term, 1.0, reading);
            }
            head.write(slot);
        }
    }

    /// Adds the projection of the evicted term, which [`Writer::evict`] kept, to the new term.
    fn receive(&mut self, slot: usize) {
        let how = (self.terms.space.backend(), self.output);
        let Scratch { centre, reading, sum, carried, .. } = &mut *self.scratch;
        for (head, carried) in self.heads.iter_mut().zip(carried).filter(|(head, _)| !head.retired) {
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

    /// Merges two terms into one at a centre on the line through them. Each head projects its two terms onto the new centre in its own
    /// space. With h = 0 the centre stays, and so do its id and its kernel values. Not inlined: the caller, which other budgets call as often,
    /// would have to make room for all of its variables.
    #[inline(never)]
    fn merge(&mut self, from: usize, into: usize, h: f64) {
        let (how, exact) = ((self.terms.space.backend(), self.output), self.exact);
        let Scratch { centre, reading, merging, blend, .. } = &mut *self.scratch;
        merging.resize_with(self.heads.len(), Default::default);
        for (head, [a, b, _]) in self.heads.iter().zip(&mut *merging).filter(|(head, _)| !head.retired) {
            head.f.get(from, a);
            head.f.get(into, b);
        }
        for (which, slot) in [from, into].into_iter().enumerate().filter(|_| exact) {
            centre.find(self.terms, slot, true);
            for (head, terms) in self.heads.iter_mut().zip(&*merging).filter(|(head, _)| !head.retired) {
                centre.change_norms(head, how, &terms[which], -1.0, reading);
                head.f.clear(slot);
            }
        }
        blend.resize(self.terms.space.planes(), Default::default());
        self.terms.space.blend(into, from, h, blend);
        centre.find(self.terms, into, exact);
        for (head, [a, b, merged]) in self.heads.iter_mut().zip(merging).filter(|(head, _)| !head.retired) {
            let pairs = &blend[head.plane];
            merged.set_scaled(a, pairs[1].share());
            merged.add_scaled(b, pairs[2].share());
            let lost = lost_by_merging(self.output, pairs, [a, b], head.f.riders().mean);
            if exact {
                centre.change_norms(head, how, merged, 1.0, reading);
            }
            head.lose(lost[0], lost[1], exact);
            let [a, b, mass] = [&*a, b, merged].map(|term| head.mass_of(self.output, &centre.values, &term.alpha));
            head.norms.exchange_mass(a + b, mass);
            head.f.clear(from);
            head.f.set(into, merged);
        }
        if h != 0.0 {
            self.terms.name(into, NO_ID);
            self.terms.space.refresh(into, self.block);
        }
    }

    /// Called when the leading head needs no new term but another head does. Projects the new terms of the other heads onto the
    /// nearest stored term, in each head's own space, a_j += a k_tj / k_jj; the residual is lost. Returns false, with nothing
    /// changed, if that would exceed the certificate limit of a head.
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

    /// Computes for each head the factor with which its new term projects onto the term at `slot`, and the norm of the residual.
    /// Returns false if the certificate of a head would exceed the budget's limit.
    fn plan_projection(&mut self, slot: usize, rows: P::Rows<'_>) -> bool {
        let limit = self.budget.limit();
        let Scratch { pairs, left, projections, .. } = &mut *self.scratch;
        pairs.resize(self.terms.space.planes(), Pair::default());
        self.terms.space.pairs(slot, rows, self.r, pairs);
        projections.clear();
        for head in &*self.heads {
            if head.retired {
                projections.push((0.0, 0.0));
                continue;
            }
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

    /// The live term onto which the row has the longest projection, in the space of the leading head.
    fn nearest(&mut self) -> usize {
        let (plane, terms) = (self.heads[self.leader].plane, &*self.terms);
        let (row, slots) = (self.block.row(plane, self.r, terms.row_len()), terms.slots());
        if terms.space.diagonal().is_some() && terms.holes.is_empty() {
            return terms.space.backend().first_least([], [row], slots, Size);
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

    /// Drops the terms that the budget declares expired (too old, or norm too small) after the step.
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

    /// Removes all terms if all coefficients of all heads are zero, as after a step with keep = 0. Nothing is lost with them.
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

/// The norms of what f and its average lose when the terms a and b are projected onto a centre between them. The pairs are (a,
/// b), (a, new) and (b, new).
fn lost_by_merging(output: &Output, &[apart, from_new, into_new]: &[Pair; 3], [a, b]: [&Term; 2], mean: bool) -> [f64; 2] {
    // The residuals of k(x_a, .) and k(x_b, .) after projection onto the new centre: their inner product, then their squared
    // norms.
    if from_new.second <= 0.0 {
        return [0.0; 2];
    }
    let across =
        0.5 * (from_new.apart2 + into_new.apart2 - apart.apart2) - 0.25 * from_new.apart2 * into_new.apart2 / from_new.second;
    let [of_a, of_b] = [from_new, into_new].map(|pair| pair.left(pair.share()));
    let lost = |part: fn(&Term) -> &[f64]| {
        let form = |x: &Term, y: &Term| output.form(&[1.0], part(x), part(y));
        (of_a * form(a, a) + of_b * form(b, b) + 2.0 * across * form(a, b)).max(0.0).sqrt()
    };
    [lost(|term| &term.alpha), if mean { lost(|term| &term.mean) } else { 0.0 }]
}

/// Projects K(x, .) a onto K(y, .) a, where x is the first point of each pair. Returns the factor, and writes the kernel of the
/// residual into `left`, plane by plane, for [`Output::form`]. With several planes the factor is the best one for this a.
fn project(output: &Output, pairs: &[Pair], a: &[f64], left: &mut Vec<f64>) -> f64 {
    // The planes behind the first one are those of other heads.
    let pairs = if output.projectable() { &pairs[..1] } else { pairs };
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

/// The size of a kernel value as a score: the larger the size, the less the score. With the least score comes the first one of the largest sizes.
#[derive(Clone, Copy)]
struct Size;

impl Score<0, 1> for Size {
    type Bits = u32;

    #[inline(always)]
    fn at(self, _: [f64; 0], [value]: [f32; 1]) -> u32 {
        f32::INFINITY.to_bits().saturating_sub(value.abs().to_bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first one of the largest sizes, among the slots in use; 0 if all values are 0.
    #[test]
    fn the_least_score_is_that_of_the_largest_size() {
        let rows: [&[f32]; 4] = [&[0.25, -0.5, 0.5, 0.125], &[0.0, -0.0], &[0.5, 0.25, -0.75], &[-1.0, 1.0]];
        for (row, backend) in rows.iter().flat_map(|row| Backend::available().into_iter().map(move |backend| (row, backend))) {
            let mut whole = row.to_vec();
            whole.resize(crate::gram::LANES, 2.0); // slots that are not in use do not count
            let size = |slot: &usize| row[*slot].abs();
            let first = (0..row.len()).reduce(|best, slot| if size(&slot) > size(&best) { slot } else { best });
            assert_eq!(Some(backend.first_least([], [&whole], row.len(), Size)), first, "{row:?}, {backend:?}");
        }
    }
}
