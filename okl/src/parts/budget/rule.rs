//! Budgets of a configuration.

use serde::{Deserialize, Serialize};

/// The built-in budgets, by their names in a configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum BudgetRule {
    /// Every term is kept.
    Unlimited {},
    /// If there are too many terms, the oldest is dropped.
    Window {
        /// The number of terms.
        terms: usize,
    },
    /// A term is dropped after this many examples: Proposition N1, N(11). Age counts examples, not terms.
    Age {
        /// tau.
        steps: u64,
    },
    /// OLOK's truncation: age s_t = ceil(max(t^(1/2 + exponent), t_0)), t_0 as corrected in E14.
    Olok {
        /// epsilon in (0, 1/2).
        exponent: f64,
    },
    /// Every 64 examples, terms with |alpha_i k(x_i, .)| below the tolerance are dropped.
    Weight {
        /// The tolerance.
        tolerance: f64,
    },
    /// Every 64 examples, the terms with the smallest norm are dropped, as long as the truncation certificate of every head and of its
    /// average stays within `error`.
    Certified {
        /// The largest truncation error of any head or average. With a `target_scale` it is in the unit of the scaled targets, where
        /// [`Learner::truncation_error`](crate::Learner::truncation_error) is in that of the targets.
        error: f64,
    },
    /// The term with the smallest residual after projection onto the newest term is projected onto it (generalises BPA-S).
    Transfer {
        /// The number of terms.
        terms: usize,
    },
    /// The term with the smallest norm is merged with the partner for which least is lost (BSGD). The kernel must be a function of
    /// distance.
    Merge {
        /// The number of terms.
        terms: usize,
    },
    /// The self-tuned Forgetron: f is shrunk, then the oldest term is dropped. The shrink keeps the damage within the mistake bound.
    Forgetron {
        /// The number of terms.
        terms: usize,
    },
}

impl BudgetRule {
    /// The largest number of terms, if the rule has one.
    pub fn capacity(&self) -> Option<usize> {
        match *self {
            BudgetRule::Window { terms }
            | BudgetRule::Transfer { terms }
            | BudgetRule::Merge { terms }
            | BudgetRule::Forgetron { terms } => Some(terms),
            _ => None,
        }
    }

    /// Whether the rule leaves most terms unchanged from one example to the next.
    pub(crate) fn settles(&self) -> bool {
        use BudgetRule::{Age, Certified, Forgetron, Merge, Olok, Transfer, Unlimited, Weight, Window};
        match self {
            Unlimited {} | Window { .. } | Age { .. } | Olok { .. } => true,
            Weight { .. } | Certified { .. } | Transfer { .. } | Merge { .. } | Forgetron { .. } => false,
        }
    }

    /// The same rule with `terms` terms; none if the rule has no number of terms.
    pub(crate) fn with_terms(&self, terms: usize) -> Option<Self> {
        match self {
            BudgetRule::Window { .. } => Some(BudgetRule::Window { terms }),
            BudgetRule::Transfer { .. } => Some(BudgetRule::Transfer { terms }),
            BudgetRule::Merge { .. } => Some(BudgetRule::Merge { terms }),
            BudgetRule::Forgetron { .. } => Some(BudgetRule::Forgetron { terms }),
            _ => None,
        }
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        let positive = |name: &str, v: f64| match v.is_finite() && v > 0.0 {
            true => Ok(()),
            false => Err(format!("{name} must be > 0, found {v}")),
        };
        match *self {
            BudgetRule::Unlimited {} => Ok(()),
            BudgetRule::Merge { terms } if terms < 2 => Err(format!("merging needs at least 2 terms, found {terms}")),
            BudgetRule::Window { terms }
            | BudgetRule::Transfer { terms }
            | BudgetRule::Merge { terms }
            | BudgetRule::Forgetron { terms } => positive("terms", terms as f64),
            BudgetRule::Age { steps } => positive("steps", steps as f64),
            BudgetRule::Olok { exponent } if exponent > 0.0 && exponent < 0.5 => Ok(()),
            BudgetRule::Olok { exponent } => Err(format!("exponent must be in (0, 1/2), found {exponent}")),
            BudgetRule::Weight { tolerance } => positive("tolerance", tolerance),
            BudgetRule::Certified { error } => positive("error", error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::discriminant;

    use super::*;
    use crate::config::families::family;

    #[test]
    fn a_budget_with_a_number_of_terms_is_bounded_by_it_and_can_be_given_another() {
        for budget in family("budget").unwrap().variants.iter().filter(|budget| budget.name != "auto") {
            let counts = budget.parameters == ["terms"];
            let example = budget.parameters.iter().map(|name| (*name, 3));
            let rule: BudgetRule =
                serde_json::from_value(serde_json::json!({ budget.name: example.collect::<std::collections::BTreeMap<_, _>>() }))
                    .unwrap();
            assert_eq!(rule.capacity(), counts.then_some(3), "{}", budget.name);
            let other = rule.with_terms(5);
            assert_eq!(other.as_ref().and_then(BudgetRule::capacity), counts.then_some(5), "{}", budget.name);
            assert!(other.is_none_or(|other| discriminant(&other) == discriminant(&rule)), "{}", budget.name);
        }
    }
}
