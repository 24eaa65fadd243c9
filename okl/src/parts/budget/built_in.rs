//! The built-in budgets: one state for each rule of a configuration.

use crate::parts::budget::age::{Age, olok_t0};
use crate::parts::budget::forgetron::Forgetron;
use crate::parts::budget::merge::Merge;
use crate::parts::budget::sweep::{Certified, SWEEP, Weight};
use crate::parts::budget::transfer::Transfer;
use crate::parts::budget::{Budget, BudgetRule, Room, Sight};

/// A built-in budget with its state.
#[derive(Clone, Debug)]
pub struct AnyBudget {
    /// The number of new terms so far: the number of mistakes M of a Forgetron. Stored in every model file.
    pub(crate) new_terms: f64,
    state: State,
}

/// The state and workspace of a budget.
#[derive(Clone, Debug)]
enum State {
    Unlimited,
    Window { terms: usize, oldest_slot: usize },
    Age { steps: u64, age: Age },
    Olok { exponent: f64, t0: f64, age: Age },
    Weight(Weight),
    Certified(Certified),
    Transfer { terms: usize, transfer: Transfer },
    Merge { terms: usize, merge: Box<Merge> },
    Forgetron { terms: usize, forgetron: Forgetron },
}

impl AnyBudget {
    /// A budget at its start; `eta_lambda` is eta lambda of the schedule eta t^(-1/2), which OLOK's t_0 depends on.
    pub fn new(rule: BudgetRule, eta_lambda: f64) -> Self {
        let state = match rule {
            BudgetRule::Unlimited {} => State::Unlimited,
            BudgetRule::Window { terms } => State::Window { terms, oldest_slot: 0 },
            BudgetRule::Age { steps } => State::Age { steps, age: Age::default() },
            BudgetRule::Olok { exponent } => State::Olok { exponent, t0: olok_t0(eta_lambda, exponent), age: Age::default() },
            BudgetRule::Weight { tolerance } => State::Weight(Weight::new(tolerance)),
            BudgetRule::Certified { error } => State::Certified(Certified::new(error)),
            BudgetRule::Transfer { terms } => State::Transfer { terms, transfer: Transfer::default() },
            BudgetRule::Merge { terms } => State::Merge { terms, merge: Box::default() },
            BudgetRule::Forgetron { terms } => State::Forgetron { terms, forgetron: Forgetron::default() },
        };
        AnyBudget { new_terms: 0.0, state }
    }

    /// For a window, the slot that was written longest ago; 0 for other budgets.
    pub(crate) fn oldest_slot(&self) -> usize {
        if let State::Window { oldest_slot, .. } = self.state { oldest_slot } else { 0 }
    }

    pub(crate) fn set_oldest_slot(&mut self, slot: usize) {
        if let State::Window { oldest_slot, .. } = &mut self.state {
            *oldest_slot = slot;
        }
    }

    /// Changes the number of terms of a transfer or merge budget. Other budgets stay as they are.
    pub(crate) fn set_terms(&mut self, count: usize) {
        if let State::Transfer { terms, .. } | State::Merge { terms, .. } = &mut self.state {
            *terms = count;
        }
    }

    /// The sum Q of a Forgetron (its "damage"); 0 for other budgets.
    pub(crate) fn damage(&self) -> f64 {
        if let State::Forgetron { forgetron, .. } = &self.state { forgetron.damage } else { 0.0 }
    }

    pub(crate) fn set_damage(&mut self, damage: f64) {
        if let State::Forgetron { forgetron, .. } = &mut self.state {
            forgetron.damage = damage;
        }
    }
}

impl Budget for AnyBudget {
    fn room(&mut self, sight: &mut dyn Sight) -> Room {
        self.new_terms += 1.0;
        match &mut self.state {
            State::Age { age, .. } | State::Olok { age, .. } => age.see_term(sight.t()),
            State::Window { terms, oldest_slot } if sight.terms() >= *terms => {
                let slot = *oldest_slot;
                *oldest_slot = (slot + 1) % *terms;
                return Room::Drop(slot);
            }
            State::Transfer { terms, transfer } if sight.terms() >= *terms => return transfer.room(sight),
            State::Merge { terms, merge } if sight.terms() >= *terms => return merge.room(sight),
            State::Forgetron { terms, forgetron } if sight.terms() >= *terms => return forgetron.room(sight, self.new_terms),
            State::Window { .. } | State::Transfer { .. } | State::Merge { .. } | State::Forgetron { .. } => {}
            State::Unlimited | State::Weight(_) | State::Certified(_) => {}
        }
        Room::Fresh
    }

    fn bytes(&self) -> usize {
        match &self.state {
            State::Weight(weight) => weight.bytes(),
            State::Certified(certified) => certified.bytes(),
            State::Transfer { transfer, .. } => transfer.bytes(),
            State::Merge { merge, .. } => merge.bytes(),
            State::Unlimited | State::Window { .. } | State::Age { .. } | State::Olok { .. } | State::Forgetron { .. } => 0,
        }
    }

    fn looks(&self, t: u64) -> bool {
        match self.state {
            State::Age { .. } | State::Olok { .. } => true,
            State::Weight(_) | State::Certified(_) => t.is_multiple_of(SWEEP),
            State::Unlimited | State::Window { .. } => false,
            State::Transfer { .. } | State::Merge { .. } | State::Forgetron { .. } => false,
        }
    }

    fn expired(&mut self, sight: &mut dyn Sight, out: &mut Vec<usize>) {
        let last = self.drops_until(sight.t());
        match &mut self.state {
            State::Age { age, .. } | State::Olok { age, .. } => age.expired(sight, last, out),
            State::Weight(weight) => weight.expired(sight, out),
            State::Certified(certified) => certified.expired(sight, out),
            State::Unlimited | State::Window { .. } => {}
            State::Transfer { .. } | State::Merge { .. } | State::Forgetron { .. } => {}
        }
    }

    fn limit(&self) -> f64 {
        if let State::Certified(certified) = &self.state { certified.error } else { f64::INFINITY }
    }

    fn settles(&self) -> bool {
        match self.state {
            State::Unlimited | State::Window { .. } | State::Age { .. } | State::Olok { .. } => true,
            State::Weight(_) | State::Certified(_) => false,
            State::Transfer { .. } | State::Merge { .. } | State::Forgetron { .. } => false,
        }
    }

    fn ring(&self) -> Option<(usize, usize)> {
        if let State::Window { terms, oldest_slot } = self.state { Some((terms, oldest_slot)) } else { None }
    }

    fn drops_until(&self, t: u64) -> u64 {
        match self.state {
            State::Age { steps, .. } => t.saturating_sub(steps),
            // s_t = ceil(max(t^(1/2 + exponent), t_0)).
            State::Olok { exponent, t0, .. } => {
                t.saturating_sub(libm::ceil(libm::pow(t as f64, 0.5 + exponent).max(t0)).min(9e18) as u64)
            }
            State::Unlimited | State::Window { .. } | State::Weight(_) | State::Certified(_) => 0,
            State::Transfer { .. } | State::Merge { .. } | State::Forgetron { .. } => 0,
        }
    }

    fn came_back(&mut self, oldest: u64) {
        if let State::Age { age, .. } | State::Olok { age, .. } = &mut self.state {
            age.see_term(oldest);
        }
    }

    fn cleared(&mut self) {
        self.set_oldest_slot(0);
    }
}
