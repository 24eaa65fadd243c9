//! Making room: what a budget decided is carried out for every head, and what is lost is accounted for (law 5).
//!
//! Under smd, and under a regulariser that depends on |f|, the numbers |f|², <f, v> and |v|² follow every change exactly at the cost
//! of a kernel row (3.2, truncation corrections); otherwise |f| grows by what was lost and is an upper bound from then on.
//!
//! What a projection loses is computed in double precision from the difference of the two points ([`Space::pairs`]).

use crate::basis::Space;
use crate::basis::block::Tile;
use crate::basis::terms::{NO_ID, Terms};
use crate::coordinates::{Reading, Term};
use crate::engine::head::Head;
use crate::engine::{Engine, Scratch};
use crate::gram::Backend;
use crate::parts::budget::{Budget, Room, Sight};
use crate::parts::kernel::Pair;
use crate::parts::loss::Loss;
use crate::parts::output::Output;
use crate::parts::regulariser::Regulariser;
use crate::parts::step::StepSize;

impl<P: Space, L: Loss, S: StepSize, B: Budget, R: Regulariser> Engine<P, L, S, B, R> {
    /// Lets the budget see the leading head and row `r` of the tile, and decide.
    pub(crate) fn consult<T>(&mut self, r: usize, values: &[f64], ask: impl FnOnce(&mut B, &mut dyn Sight) -> T) -> T {
        let leader = self.leader();
        let Engine { terms, heads, output, tile, budget, t, scratch, .. } = self;
        ask(budget, &mut Scene { terms, heads, leader, output, tile, r, t: *t, values, scratch: &mut scratch.scene })
    }

    pub(crate) fn make_room(&mut self, room: Room, rows: P::Rows<'_>, r: usize) -> usize {
        match room {
            Room::Fresh => return self.terms.fresh(),
            Room::Drop(slot) => self.leave(slot, None),
            Room::Transfer(slot) => self.leave(slot, Some((rows, r))),
            // Only between Gaussian centres is there a point that can stand for both.
            Room::Merge { from, .. } if !self.terms.space.blends() => self.leave(from, None),
            Room::Merge { from, into, h } => self.merge(from, into, h),
            Room::Forget { slot, phi } => {
                self.heads.iter_mut().for_each(|head| head.forget(phi));
                self.leave(slot, None);
            }
        }
        let (Room::Drop(slot) | Room::Transfer(slot) | Room::Merge { from: slot, .. } | Room::Forget { slot, .. }) = room else {
            unreachable!()
        };
        self.terms.vacate(slot);
        slot
    }

    /// The leading head needs no new term: what the others would append goes onto the term that it resembles most, projected
    /// in each head's own space, a_j += a k_tj / k_jj, and the residual is lost. False, with nothing changed, if a head may not
    /// lose that much.
    pub(crate) fn onto_nearest(&mut self, rows: P::Rows<'_>, r: usize) -> bool {
        let slot = self.nearest(r);
        if !self.plan_projection(slot, rows, r) {
            return false;
        }
        let exact = self.exact_norms();
        self.terms.space.term_self_values(slot, &mut self.scratch.term_values);
        if exact {
            self.read_term_row(slot);
        }
        for h in 0..self.heads.len() {
            let (head, (share, lost)) = (&mut self.heads[h], self.scratch.projections[h]);
            if !head.plan.appends() {
                continue;
            }
            if exact {
                head.without_new_term();
            }
            head.plan.alpha.iter_mut().chain(&mut head.plan.beta).for_each(|a| *a *= share);
            if exact {
                let (term, plan) = (&mut self.scratch.terms[0], &self.heads[h].plan);
                term.alpha.clone_from(&plan.alpha);
                term.trace.clone_from(&plan.beta);
                self.correct_norms(h, 0, 1.0);
            }
            self.heads[h].lose(lost, 0.0, exact);
            let Scratch { term_values, terms: [term, ..], .. } = &mut self.scratch;
            self.heads[h].write_onto(slot, &self.output, term_values, term);
        }
        true
    }

    /// Of each head, the share of its new term that the term at `slot` can stand for, and the norm of what is lost. False if the
    /// certificate of a head would exceed the budget's limit.
    fn plan_projection(&mut self, slot: usize, rows: P::Rows<'_>, r: usize) -> bool {
        let limit = self.budget.limit();
        let Engine { terms, heads, output, scratch, .. } = self;
        terms.space.pairs(slot, rows, r, &mut scratch.pairs);
        scratch.projections.clear();
        for head in heads {
            let alpha = &head.plan.alpha;
            let share = project(output, &scratch.pairs[head.plane..], alpha, &mut scratch.left);
            let lost = output.form(&scratch.left, alpha, alpha).max(0.0).sqrt();
            scratch.projections.push((share, lost));
            if head.plan.appends() && head.truncation + lost > limit {
                return false;
            }
        }
        true
    }

    /// The live term whose function has the largest share of row `r`'s, as the leading head sees it.
    fn nearest(&mut self, r: usize) -> usize {
        let plane = self.heads[self.leader()].plane;
        let Engine { terms, tile, scratch, .. } = self;
        let row = tile.row(plane, r, terms.slots());
        if terms.space.diagonal().is_some() && terms.holes.is_empty() {
            return largest(row);
        }
        let mut best = (-1.0, 0);
        for slot in terms.live() {
            terms.space.term_self_values(slot, &mut scratch.term_values);
            let (k, own) = (f64::from(row[slot]), scratch.term_values[plane]);
            let shared = if own > 0.0 { k * k / own } else { 0.0 };
            if shared > best.0 {
                best = (shared, slot);
            }
        }
        best.1
    }

    /// Must |f|² be exact while terms are dropped? SVMD's recursions and a regulariser that depends on |f| act on it; otherwise an
    /// upper bound is enough.
    pub(crate) fn exact_norms(&self) -> bool {
        !self.rules.regulariser.is_square() || self.heads.iter().any(|h| h.expansion.riders().trace)
    }

    /// The values of one centre against all terms, kept in the scratch row.
    fn read_term_row(&mut self, slot: usize) {
        let (slots, planes) = (self.terms.row_len(), self.terms.space.planes());
        self.scratch.row.resize(slots * planes, 0.0);
        self.terms.space.term_row(slot, slots, 0..planes, &mut self.scratch.row);
    }

    /// N, pi and M as scratch term `term`, whose centre's kernel values are in the scratch row, comes (sign = 1) or goes (sign = -1).
    fn correct_norms(&mut self, head: usize, term: usize, sign: f64) {
        let slots = self.terms.row_len();
        let Scratch { row, reading, terms, term_values, .. } = &mut self.scratch;
        let head = &mut self.heads[head];
        let (backend, first) = (self.terms.space.backend(), head.plane);
        head.expansion.read(backend, &self.output, |plane| &row[(first + plane) * slots..][..slots], reading);
        head.change_norms(&self.output, term_values, &terms[term], reading, sign);
    }

    /// N, pi and M with the new term at `slot`, which no expansion holds yet.
    pub(crate) fn count_new_term(&mut self, slot: usize, values: &[f64]) {
        self.read_term_row(slot);
        self.scratch.term_values.copy_from_slice(values);
        for h in 0..self.heads.len() {
            let (term, plan) = (&mut self.scratch.terms[0], &self.heads[h].plan);
            term.alpha.clone_from(&plan.alpha);
            term.trace.clone_from(&plan.beta);
            self.correct_norms(h, 0, 1.0);
        }
    }

    /// A term leaves every head: delta = alpha_i k(x_i, .), |delta|² = alpha^T K_ii alpha (3.6). If it goes `onto` the row that is
    /// about to be appended, only the residual of the projection is lost and the rest waits to be carried by the new term.
    fn leave(&mut self, slot: usize, onto: Option<(P::Rows<'_>, usize)>) {
        let exact = self.exact_norms();
        self.terms.space.term_self_values(slot, &mut self.scratch.term_values);
        if exact {
            self.read_term_row(slot);
        }
        if let Some((rows, r)) = onto {
            let pairs = &mut self.scratch.pairs;
            self.terms.space.pairs(slot, rows, r, pairs);
            pairs.iter_mut().for_each(|pair| *pair = pair.swapped());
        }
        for h in 0..self.heads.len() {
            self.heads[h].expansion.get(slot, &mut self.scratch.terms[0]);
            if exact {
                self.correct_norms(h, 0, -1.0);
            }
            let Scratch { terms: [gone, ..], term_values, pairs, left, .. } = &mut self.scratch;
            let (head, output) = (&mut self.heads[h], &self.output);
            let plane = head.plane;
            let share = onto.map_or(0.0, |_| project(output, &pairs[plane..], &gone.alpha, left));
            let left = if onto.is_some() { left.as_slice() } else { &term_values[plane..] };
            let lost = |a: &[f64]| output.form(left, a, a).max(0.0).sqrt();
            let of_mean = if head.expansion.riders().mean { lost(&gone.mean) } else { 0.0 };
            head.lose(lost(&gone.alpha), of_mean, exact);
            head.exchange_mass(head.mass_of(output, term_values, &gone.alpha), 0.0);
            head.expansion.clear(slot);
            // Also where nothing is shared: the new term then receives zeros.
            head.carried.set_scaled(gone, share);
        }
    }

    /// Where nothing is left of any head's functions (a step with keep = 0 clears them), the terms go: nothing is lost with them.
    pub(crate) fn remove_dead_terms(&mut self) {
        let slots = self.terms.slots();
        if self.terms.is_empty() || !self.heads.iter().all(|head| head.expansion.is_zero(slots)) {
            return;
        }
        for slot in (0..slots).rev() {
            if self.terms.birth(slot).is_none() {
                continue;
            }
            self.heads.iter_mut().for_each(|head| head.expansion.clear(slot));
            self.terms.remove(slot);
        }
        self.budget.cleared();
    }

    /// The new term carries what a transfer left for it.
    pub(crate) fn receive(&mut self, slot: usize, values: &[f64]) {
        let exact = self.exact_norms();
        if exact {
            self.read_term_row(slot);
            self.scratch.term_values.copy_from_slice(values);
        }
        for h in 0..self.heads.len() {
            let [sum, carried, _] = &mut self.scratch.terms;
            carried.set_scaled(&self.heads[h].carried, 1.0);
            self.heads[h].expansion.get(slot, sum);
            let (head, output) = (&mut self.heads[h], &self.output);
            let alone = head.mass_of(output, values, &sum.alpha);
            sum.add_scaled(carried, 1.0);
            head.exchange_mass(alone, head.mass_of(output, values, &sum.alpha));
            if exact {
                self.correct_norms(h, 1, 1.0);
            }
            self.heads[h].expansion.set(slot, &self.scratch.terms[0]);
            self.heads[h].carried.set_scaled(&self.scratch.terms[1], 0.0);
        }
    }

    /// Merges two terms: each head projects its two coefficients onto the new centre in its own space.
    fn merge(&mut self, from: usize, into: usize, h: f64) {
        let exact = self.exact_norms();
        self.terms.space.term_self_values(into, &mut self.scratch.term_values);
        let mut triples = std::mem::take(&mut self.scratch.merging);
        triples.resize_with(self.heads.len(), Default::default);
        for (head, [a, b, _]) in self.heads.iter().zip(&mut triples) {
            head.expansion.get(from, a);
            head.expansion.get(into, b);
        }
        if exact {
            for (which, slot) in [from, into].into_iter().enumerate() {
                self.read_term_row(slot);
                for (head, triple) in triples.iter().enumerate() {
                    self.scratch.terms[0].set_scaled(&triple[which], 1.0);
                    self.correct_norms(head, 0, -1.0);
                    self.heads[head].expansion.clear(slot);
                }
            }
        }
        let mut pairs = std::mem::take(&mut self.scratch.blend);
        pairs.resize(self.terms.space.planes(), Default::default());
        self.terms.space.blend(into, from, h, &mut pairs);
        if exact {
            self.heads.iter_mut().for_each(|head| head.expansion.clear(into));
            self.read_term_row(into);
        }
        for (head, [a, b, merged]) in triples.iter_mut().enumerate() {
            let [apart, from_new, into_new] = pairs[self.heads[head].plane];
            let (of_a, of_b) = (from_new.share(), into_new.share());
            merged.set_scaled(a, of_a);
            merged.add_scaled(b, of_b);
            let (a, b, merged) = (&*a, &*b, &*merged);
            // k(x_a, .) and k(x_b, .) without their projections onto the new centre: their norms and their inner product.
            let across = 0.5 * (from_new.apart2 + into_new.apart2 - apart.apart2)
                - 0.25 * from_new.apart2 * into_new.apart2 / from_new.second;
            let lost = |part: fn(&Term) -> &[f64]| {
                let form = |x: &Term, y: &Term| self.output.form(&[1.0], part(x), part(y));
                let lost2 = from_new.left(of_a) * form(a, a) + into_new.left(of_b) * form(b, b) + 2.0 * across * form(a, b);
                lost2.max(0.0).sqrt()
            };
            let (lost, of_mean) = (lost(|term| &term.alpha), lost(|term| &term.mean));
            if exact {
                self.scratch.terms[0].set_scaled(merged, 1.0);
                self.correct_norms(head, 0, 1.0);
            }
            self.heads[head].lose(lost, of_mean, exact);
            let values = &self.scratch.term_values;
            let [a, b, merged_mass] = [a, b, merged].map(|term| self.heads[head].mass_of(&self.output, values, &term.alpha));
            self.heads[head].exchange_mass(a + b, merged_mass);
            self.heads[head].expansion.clear(from);
            self.heads[head].expansion.set(into, merged);
        }
        (self.scratch.blend, self.scratch.merging) = (pairs, triples);
        self.terms.name(into, NO_ID);
        self.terms.space.refresh(into, &mut self.tile);
    }

    pub(crate) fn drop_expired(&mut self, r: usize) {
        if !self.budget.looks(self.t) {
            return;
        }
        let mut expired = std::mem::take(&mut self.scratch.expired);
        expired.clear();
        let values = std::mem::take(&mut self.scratch.values);
        self.consult(r, &values, |budget, sight| budget.expired(sight, &mut expired));
        self.scratch.values = values;
        for &slot in &expired {
            self.leave(slot, None);
            self.terms.remove(slot);
        }
        self.scratch.expired = expired;
    }
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

/// What the budget sees, borrowed from the engine for one decision.
struct Scene<'a, P, S> {
    terms: &'a mut Terms<P>,
    heads: &'a [Head<S>],
    leader: usize,
    output: &'a Output,
    tile: &'a Tile,
    r: usize,
    t: u64,
    values: &'a [f64],
    scratch: &'a mut SceneScratch,
}

/// The workspace of a decision.
#[derive(Clone, Debug, Default)]
pub(crate) struct SceneScratch {
    term_values: Vec<f64>,
    term: Term,
    weights: Vec<f64>,
    row: Vec<f32>,
    reading: Reading,
    totals: Vec<[f64; 2]>,
}

impl<'a, P: Space, S: StepSize> Scene<'a, P, S> {
    fn head(&self) -> &'a Head<S> {
        &self.heads[self.leader]
    }

    /// k(x, x) of a centre in every plane.
    fn all_term_values(&mut self, slot: usize) -> &[f64] {
        let values = &mut self.scratch.term_values;
        values.resize(self.terms.space.planes(), 0.0);
        self.terms.space.term_self_values(slot, values);
        values
    }

    /// k(x, x) of a centre in the leading head's own space.
    fn term_values(&mut self, slot: usize) -> &[f64] {
        let plane = self.head().plane;
        &self.all_term_values(slot)[plane..]
    }

    /// What each head would lose, and its average, if a term were dropped.
    fn each_loss(&mut self, slot: usize, term: &mut Term, mut each: impl FnMut(usize, f64, f64)) {
        let (heads, output) = (self.heads, self.output);
        let values = self.all_term_values(slot);
        for (h, head) in heads.iter().enumerate() {
            head.expansion.get(slot, term);
            let lost = |a: &[f64]| output.form(&values[head.plane..], a, a).max(0.0).sqrt();
            each(h, lost(&term.alpha), if head.expansion.riders().mean { lost(&term.mean) } else { 0.0 });
        }
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
        let (slots, expansion, output) = (self.terms.slots(), &self.head().expansion, self.output);
        if output.projectable() {
            expansion.squares(output.single().map(|j| j.entries()), slots, out);
            if let Some(diagonal) = self.terms.space.diagonal() {
                let own = diagonal[self.head().plane];
                out.iter_mut().for_each(|norm2| *norm2 = (*norm2 * own).max(0.0));
                return;
            }
            (0..slots).for_each(|slot| out[slot] = (out[slot] * self.term_values(slot)[0]).max(0.0));
            return;
        }
        let mut term = std::mem::take(&mut self.scratch.term);
        out.clear();
        for slot in 0..slots {
            expansion.get(slot, &mut term);
            out.push(output.form(self.term_values(slot), &term.alpha, &term.alpha).max(0.0));
        }
        self.scratch.term = term;
    }

    fn self_value(&mut self, slot: usize) -> f64 {
        self.term_values(slot)[0]
    }

    fn products(&mut self, slot: usize, out: &mut Vec<f64>) {
        let expansion = &self.head().expansion;
        let SceneScratch { term, weights, .. } = &mut *self.scratch;
        expansion.get(slot, term);
        weights.resize(term.alpha.len(), 0.0);
        self.output.apply_one(&[1.0], &term.alpha, weights);
        expansion.weighted(weights, self.terms.slots(), out);
    }

    fn row(&self) -> &[f32] {
        self.tile.row(self.head().plane, self.r, self.terms.row_len())
    }

    fn own_value(&self) -> f64 {
        self.values[self.head().plane]
    }

    fn term_row(&mut self, slot: usize, out: &mut Vec<f32>) {
        let (slots, plane) = (self.terms.row_len(), self.head().plane);
        out.resize(slots, 0.0);
        self.terms.space.term_row(slot, slots, plane..plane + 1, out);
    }

    fn value_at(&mut self, slot: usize) -> (f64, f64) {
        let mut row = std::mem::take(&mut self.scratch.row);
        self.term_row(slot, &mut row);
        let expansion = &self.head().expansion;
        expansion.read(self.terms.space.backend(), self.output, |_| &row, &mut self.scratch.reading);
        self.scratch.row = row;
        let with_new = f64::from(self.row()[slot]) * self.head().plan.alpha[0];
        (expansion.alpha(0, slot), self.scratch.reading.f[0] + with_new)
    }

    fn eta(&self) -> f64 {
        self.head().eta
    }

    fn truncation(&self) -> f64 {
        self.head().truncation
    }

    fn largest_losses(&mut self, out: &mut Vec<f64>) {
        let mut term = std::mem::take(&mut self.scratch.term);
        out.clear();
        for slot in 0..self.terms.slots() {
            let mut largest = 0.0f64;
            self.each_loss(slot, &mut term, |_, of_f, of_mean| largest = largest.max(of_f).max(of_mean));
            out.push(largest);
        }
        self.scratch.term = term;
    }

    fn affordable(&mut self, slots: &[usize], limit: f64) -> usize {
        let (mut totals, mut term) = (std::mem::take(&mut self.scratch.totals), std::mem::take(&mut self.scratch.term));
        totals.clear();
        totals.extend(self.heads.iter().map(|head| [head.truncation, head.mean_truncation]));
        let within = |slot: &&usize| {
            self.each_loss(**slot, &mut term, |h, of_f, of_mean| {
                totals[h][0] += of_f;
                totals[h][1] += of_mean;
            });
            totals.iter().flatten().all(|total| *total <= limit)
        };
        let count = slots.iter().take_while(within).count();
        (self.scratch.totals, self.scratch.term) = (totals, term);
        count
    }

    fn supremum(&self) -> f64 {
        self.terms.space.diagonal().map_or(1.0, |values| values[self.head().plane])
    }

    fn backend(&self) -> Backend {
        self.terms.space.backend()
    }
}
