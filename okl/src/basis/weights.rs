//! Weight vectors: the basis functions are the features of a row, so f(x) = <w, x> with a linear kernel.
//!
//! There are no terms, no budget and no truncation: k(x, .) is added to the weights of the features. With a linear kernel this
//! gives the same function as stored terms, at the cost of one inner product per row.

use crate::basis::block::{Block, Values};
use crate::basis::{Basis, Dense, Form, Points, RowsOf, Space};
use crate::gram::{Backend, LANES};
use crate::parts::kernel::AnyKernel;

/// The features of dense rows as a basis: the linear kernel k(x, x') = <x, x'>.
///
/// ```
/// use okl::basis::{Points, weights::Weights};
/// use okl::budget::{AnyBudget, BudgetRule};
/// use okl::engine::{Engine, Labels, Parts};
/// use okl::engine::head::{HeadParts, Rules};
/// use okl::gram::{Backend, Matrix};
/// use okl::{loss::AnyLoss, output::Output, regulariser::AnyRegulariser, step::AnyStep};
///
/// let mut engine = Engine::new(Parts {
///     basis: Weights::new(2, Backend::best()),
///     losses: vec![AnyLoss::Squared {}],
///     budget: AnyBudget::new(BudgetRule::Unlimited {}, 0.0),
///     heads: vec![HeadParts::new(AnyStep::Constant { eta: 0.5 }, 0.0)],
///     output: Output::Identity,
///     outputs: 1,
///     theta0: None,
///     rules: Rules::<AnyRegulariser>::default(),
/// });
/// // The step on (1, 0) with target 2 gives w = (1, 0), so the score of (2, 3) is 2.
/// let x = [1.0, 0.0, 2.0, 3.0];
/// let points = Points { rows: Matrix::new(2, &x), squares: &[1.0, 13.0] };
/// let mut scores = Vec::new();
/// engine.learn_block(points, &Labels { y: &[2.0, 2.0], width: 1, ..Labels::default() }, |_, row| scores.push(row.scores[0]));
/// assert_eq!(scores, [0.0, 2.0]);
/// ```
#[derive(Clone, Debug)]
pub struct Weights {
    /// Holds no centres: it defines the type of the rows, the number of features and the backend.
    space: Dense<AnyKernel>,
}

impl Weights {
    /// A basis of `features` features.
    pub fn new(features: usize, backend: Backend) -> Self {
        Weights { space: Dense::new(vec![AnyKernel::Linear], features, backend) }
    }
}

impl Basis for Weights {
    type Space = Dense<AnyKernel>;

    fn space(&self) -> &Self::Space {
        &self.space
    }

    fn row_len(&self) -> usize {
        self.space.features().next_multiple_of(LANES)
    }

    fn begin(&self, rows: RowsOf<'_, Self>, block: &mut Block, _learned: bool) {
        begin(self.space.features(), rows, block);
    }

    fn settles(&self) -> bool {
        false
    }

    fn self_values(&self, rows: Points<'_>, i: usize, out: &mut [f64]) {
        self.space.self_values(rows, i, out);
    }

    fn form(&mut self) -> Form<'_, Self::Space> {
        Form::Weights
    }

    fn bytes(&self) -> usize {
        0
    }
}

/// The values of rows against the basis functions: their features.
pub(crate) fn begin(features: usize, rows: Points<'_>, block: &mut Block) {
    block.begin(rows.squares.len(), 1, features, features.next_multiple_of(LANES));
    let Values { data, stride, .. } = block.terms_mut();
    for (i, to) in data.chunks_exact_mut(stride.max(1)).enumerate() {
        to[..features].copy_from_slice(rows.rows.row(i));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::basis::terms::Terms;
    use crate::engine::head::{Average, HeadParts, Rules};
    use crate::engine::{Engine, Labels, Parts, Workspace};
    use crate::gram::{Matrix, square};
    use crate::parts::budget::{AnyBudget, BudgetRule};
    use crate::parts::loss::AnyLoss;
    use crate::parts::output::Output;
    use crate::parts::regulariser::AnyRegulariser;
    use crate::parts::step::AnyStep;

    const ROWS: usize = 150;
    const FEATURES: usize = 37;

    fn parts<F>(basis: F, heads: usize) -> Parts<F, AnyLoss, AnyStep, AnyBudget> {
        let head = |i: usize| HeadParts {
            average: if i == 0 { Average::Uniform } else { Average::None },
            ..HeadParts::new(AnyStep::Constant { eta: 0.02 / (i + 1) as f64 }, 0.01)
        };
        Parts {
            basis,
            losses: vec![AnyLoss::Squared {}],
            budget: AnyBudget::new(BudgetRule::Unlimited {}, 0.0),
            heads: (0..heads).map(head).collect(),
            output: Output::Identity,
            outputs: 1,
            theta0: None,
            rules: Rules::<AnyRegulariser> { offset: true, ..Rules::default() },
        }
    }

    fn stream() -> (Vec<f32>, Vec<f64>) {
        let x: Vec<f32> = (0..ROWS * FEATURES).map(|i| (i as f32 * 0.37).sin()).collect();
        let y = x.chunks(FEATURES).map(|x| f64::from(2.0 * x[0] - x[5]) + 0.3).collect();
        (x, y)
    }

    /// Learns the stream in blocks of `cut` rows. Returns the scores before each step, then those of a prediction, then |f|².
    fn run<F: Basis>(basis: F, heads: usize, cut: usize) -> Vec<f64>
    where
        F::Space: for<'a> Space<Rows<'a> = Points<'a>>,
    {
        let (x, y) = stream();
        let squares: Vec<f32> = x.chunks(FEATURES).map(square).collect();
        let mut engine = Engine::new(parts(basis, heads));
        let mut scores = Vec::new();
        for first in (0..ROWS).step_by(cut) {
            let last = ROWS.min(first + cut);
            let rows = Matrix::new(FEATURES, &x[first * FEATURES..last * FEATURES]);
            let labels = Labels { y: &y[first..last], width: 1, ..Labels::default() };
            engine.learn_block(Points { rows, squares: &squares[first..last] }, &labels, |_, row| scores.push(row.scores[0]));
        }
        let points = Points { rows: Matrix::new(FEATURES, &x), squares: &squares };
        engine.predict(&mut Workspace::default(), points, |_, z| scores.push(z[0]));
        scores.extend(engine.heads().iter().map(|head| head.norm2()));
        scores
    }

    /// Terms and weights give the same function, except for the rounding of sums.
    #[test]
    fn weights_are_terms_under_a_linear_kernel() {
        for heads in [1, 3] {
            let dense = Dense::new(vec![AnyKernel::Linear], FEATURES, Backend::best());
            let by_terms = run(Terms::new(dense), heads, ROWS);
            let by_weights = run(Weights::new(FEATURES, Backend::best()), heads, ROWS);
            let apart = by_terms.iter().zip(&by_weights).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(apart < 1e-4 && by_terms.iter().any(|z| z.abs() > 1.0), "{heads} heads: {apart}");
        }
    }

    #[test]
    fn the_cut_does_not_matter() {
        for heads in [1, 3] {
            let whole = run(Weights::new(FEATURES, Backend::best()), heads, ROWS);
            for cut in [1, 7, 33] {
                assert_eq!(run(Weights::new(FEATURES, Backend::best()), heads, cut), whole, "{heads} heads, cut into {cut}");
            }
        }
    }
}
