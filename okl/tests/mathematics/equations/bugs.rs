//! What was wrong once.

use super::*;

// ---------------------------------------------------------------------------------------------------- bugs, once found

/// A class that is named again does not take the later classes' offsets away.
#[test]
fn classes_may_come_in_any_order() {
    let mut learner =
        learner("loss = 'max_margin'\nkernel = 'gaussian:0.5'\noffset = true\nclasses = [0, 1, 2]\nbudget = 'unlimited'");
    for y in [2.0, 0.0, 1.0, 0.0] {
        assert_eq!(learn_one(&mut learner, &[y as f32, 1.0], &[y]).len(), 3);
        assert_eq!(learner.offset().len(), 3);
    }
}

/// Merging asks the space for a point between two centres; where there is none, a term is dropped and nothing is left of it.
#[test]
fn merge_without_a_point_between_drops() {
    let heads = vec![(AnyStep::Constant { eta: 0.5 }, 0.1)];
    let mut engine = items(AnyLoss::Hinge { margin: 1.0 }, BudgetRule::Merge { terms: 2 }, heads, Gaussian(1.0));
    for (t, (x, y)) in [(0.0, 1.0), (5.0, -1.0), (10.0, 1.0), (15.0, -1.0)].into_iter().enumerate() {
        engine.learn_block(&[vec![x]], &Labels { y: &[y], width: 1, ..Labels::default() }, |_, _| {});
        let (terms, expansion) = (engine.terms(), engine.heads()[0].expansion());
        for slot in terms.live() {
            let birth = terms.birth(slot).unwrap() as i32;
            let y = if birth % 2 == 1 { 1.0 } else { -1.0 };
            near(expansion.alpha(0, slot), 0.5 * y * 0.95_f64.powi(t as i32 + 1 - birth), 1e-12, "a term on its own");
        }
    }
    assert_eq!(engine.terms().len(), 2);
    assert!(engine.heads()[0].truncation_error() > 0.0);
}
