//! Making room: what a budget decided is carried out for every head, and what is lost is accounted for (law 5).
//!
//! Under smd, |f|², <f, v> and |v|² follow every change exactly at the cost of a kernel row (3.2, truncation corrections);
//! otherwise |f| grows by what was lost and is an upper bound from then on.

use crate::budget::{Budget, Room, Sight};
use crate::engine::{Engine, Scratch};
use crate::expansion::{Reading, Term};
use crate::gram::Backend;
use crate::head::Head;
use crate::loss::Loss;
use crate::output::Output;
use crate::regulariser::Regulariser;
use crate::space::Space;
use crate::step::StepSize;
use crate::terms::{NO_ID, Terms};
use crate::tile::Tile;

impl<P: Space, L: Loss, S: StepSize, B: Budget, R: Regulariser> Engine<P, L, S, B, R> {
    /// Lets the budget see the leading head and row `r` of the tile, and decide.
    pub(crate) fn consult<T>(&mut self, r: usize, values: &[f64], ask: impl FnOnce(&mut B, &mut dyn Sight) -> T) -> T {
        let Engine { terms, heads, output, tile, budget, t, .. } = self;
        ask(budget, &mut Scene { terms, head: &heads[0], output, tile, r, t: *t, values, term_values: Vec::new() })
    }

    pub(crate) fn make_room(&mut self, room: Room, r: usize, values: &[f64]) -> usize {
        match room {
            Room::Fresh => return self.terms.fresh(),
            Room::Drop(slot) => self.leave(slot, 0.0, 1.0),
            Room::Transfer(slot) => self.leave(slot, f64::from(self.tile.row(0, r, slot + 1)[slot]), values[0]),
            // Only between Gaussian centres is there a point that can stand for both.
            Room::Merge { from, .. } if self.terms.space.gaussian_gamma().is_none() => self.leave(from, 0.0, 1.0),
            Room::Merge { from, into, h } => self.merge(from, into, h),
            Room::Forget { slot, phi } => {
                for head in &mut self.heads {
                    head.scale(phi);
                    head.plan.alpha.iter_mut().for_each(|a| *a *= phi);
                }
                self.leave(slot, 0.0, 1.0);
            }
        }
        let (Room::Drop(slot) | Room::Transfer(slot) | Room::Merge { from: slot, .. } | Room::Forget { slot, .. }) = room else {
            unreachable!()
        };
        self.terms.vacate(slot);
        slot
    }

    pub(crate) fn exact_norms(&self) -> bool {
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

    /// A term leaves every head: delta = alpha_i k(x_i, .), |delta|² = alpha^T K_ii alpha (3.6). Where it shares `shared` with
    /// the point about to be appended, whose own value is `own`, only the residual of the projection is lost and the rest waits
    /// to be carried by the new term.
    fn leave(&mut self, slot: usize, shared: f64, own: f64) {
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
            let Scratch { terms: [gone, ..], term_values, .. } = &self.scratch;
            let whole = self.output.form(term_values, &gone.alpha, &gone.alpha).max(0.0);
            let residual = (1.0 - shared * shared / (term_values[0] * own)).max(0.0);
            let head = &mut self.heads[h];
            head.lose(if shared == 0.0 { whole } else { whole * residual }.sqrt(), exact);
            head.expansion.clear(slot);
            // Also where nothing is shared: the new term then receives zeros.
            head.carried.set_scaled(gone, shared / own);
        }
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
            sum.add_scaled(carried, 1.0);
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
            merged.set_scaled(a, from_new / own);
            merged.add_scaled(b, into_new / own);
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
            self.leave(slot, 0.0, 1.0);
            self.terms.remove(slot);
        }
        self.scratch.expired = expired;
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
        let (slots, expansion, output) = (self.terms.slots(), &self.head.expansion, self.output);
        if output.projectable() {
            expansion.squares(output.single().map(|j| j.entries()), slots, out);
            (0..slots).for_each(|slot| out[slot] = (out[slot] * self.term_values(slot)[0]).max(0.0));
            return;
        }
        let mut term = Term::default();
        out.clear();
        for slot in 0..slots {
            expansion.get(slot, &mut term);
            out.push(output.form(self.term_values(slot), &term.alpha, &term.alpha).max(0.0));
        }
    }

    fn self_value(&mut self, slot: usize) -> f64 {
        self.term_values(slot)[0]
    }

    fn products(&mut self, slot: usize, out: &mut Vec<f64>) {
        let term = self.head.term(slot);
        let mut weights = vec![0.0; term.alpha.len()];
        self.output.apply_one(&[1.0], &term.alpha, &mut weights);
        self.head.expansion.weighted(&weights, self.terms.slots(), out);
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
        let with_new = f64::from(self.row()[slot]) * self.head.plan.alpha[0];
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
