//! The polynomial kernel of degree 2 as a weight vector: k(x, y) = (gamma <x, y> + c)² = <phi(x), phi(y)> with the features
//!
//! ```text
//! c,   √(2 gamma c) x_j,   √2 gamma x_i x_j (i < j),   gamma x_j²                      (n + 1)(n + 2)/2 for n columns (algorithms.md 7.5)
//! ```
//!
//! The constant comes first, then column by column: x_j alone, its products with the columns before it in their order, its square. The
//! features of column j begin at 1 + j (j + 3)/2. So a further column adds features at the end, and those before it stay where they are.
//!
//! A feature is computed in double precision and rounded once. Products with 0 are 0 in dense rows and left out in sparse ones.

use crate::basis::Points;
use crate::basis::block::{Block, Values};
use crate::basis::sparse::SparseRow;
use crate::gram::LANES;
use crate::parts::kernel::AnyKernel;

/// The most columns: 1,047,628 features.
pub(crate) const MOST_COLUMNS: usize = 1446;

/// The factors of the features.
#[derive(Clone, Copy, Debug)]
pub struct Quadratic {
    constant: f32,
    alone: f64,
    product: f64,
    square: f64,
}

/// A polynomial of degree 2 in the columns of a row, for each output:
///
/// ```text
/// constant + sum_j linear_j x_j + sum_{i <= j} products_ji x_j x_i
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Polynomial {
    /// One number per output.
    pub constant: Vec<f64>,
    /// For each column, one number per output.
    pub linear: Vec<f64>,
    /// For each column j and each column i up to j, one number per output.
    pub products: Vec<f64>,
}

/// The number of features for a number of columns; none before the first row.
pub(crate) fn features(columns: usize) -> usize {
    if columns == 0 { 0 } else { (columns + 1) * (columns + 2) / 2 }
}

/// Where the features of a column begin.
fn start(column: usize) -> usize {
    1 + column * (column + 3) / 2
}

/// Rounds a feature. A zero is +0.
fn rounded(feature: f64) -> f32 {
    feature as f32 + 0.0
}

impl Quadratic {
    /// The features of a kernel; none if it is not a polynomial of degree 2.
    pub fn new(kernel: &AnyKernel) -> Option<Self> {
        let AnyKernel::Polynomial { degree: 2, gamma, coef0 } = *kernel else { return None };
        Some(Quadratic {
            constant: rounded(coef0),
            alone: (2.0 * gamma * coef0).sqrt(),
            product: std::f64::consts::SQRT_2 * gamma,
            square: gamma,
        })
    }

    /// The polynomial that weights of the features stand for; `weights` has one number per feature and output.
    pub fn polynomial(&self, weights: &[f64], outputs: usize) -> Polynomial {
        let times = |factor: f64, weights: &[f64]| weights.iter().map(|w| factor * w).collect::<Vec<f64>>();
        let mut rows = weights.chunks_exact(outputs.max(1));
        let mut polynomial =
            Polynomial { constant: times(self.constant.into(), rows.next().unwrap_or_default()), ..Polynomial::default() };
        for column in 0.. {
            let Some(alone) = rows.next() else { break };
            polynomial.linear.extend(times(self.alone, alone));
            for (i, weights) in rows.by_ref().take(column + 1).enumerate() {
                polynomial.products.extend(times(if i < column { self.product } else { self.square }, weights));
            }
        }
        polynomial
    }

    /// Writes the features of dense rows into a block.
    pub(crate) fn begin(&self, columns: usize, rows: Points<'_>, block: &mut Block) {
        let size = features(columns);
        block.begin(rows.squares.len(), 1, size, size.next_multiple_of(LANES));
        let Values { data, stride, .. } = block.terms_mut();
        for (i, to) in data.chunks_exact_mut(stride.max(1)).enumerate() {
            let x = rows.rows.row(i);
            to[0] = self.constant;
            for (j, own) in x.iter().enumerate() {
                let own = f64::from(*own);
                let (by, to) = (self.product * own, &mut to[start(j)..start(j + 1)]);
                to[0] = rounded(self.alone * own);
                to[1..=j].iter_mut().zip(x).for_each(|(to, other)| *to = rounded(by * f64::from(*other)));
                to[j + 1] = rounded(self.square * own * own);
            }
        }
    }

    /// The features of a sparse row that are not 0, in order.
    pub(crate) fn of_sparse(&self, row: SparseRow<'_>, mut each: impl FnMut(u32, f32)) {
        let mut give = |place: usize, value: f32| {
            if value != 0.0 {
                each(place as u32, value);
            }
        };
        give(0, self.constant);
        for (at, (j, own)) in row.iter().enumerate() {
            let (own, first) = (f64::from(own), start(j as usize));
            let by = self.product * own;
            give(first, rounded(self.alone * own));
            for (i, other) in row.iter().take(at) {
                give(first + 1 + i as usize, rounded(by * f64::from(other)));
            }
            give(first + 1 + j as usize, rounded(self.square * own * own));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gram::Matrix;

    fn dense(map: &Quadratic, x: &[f32]) -> Vec<f32> {
        let mut block = Block::default();
        map.begin(x.len(), Points { rows: Matrix::one(x), squares: &[0.0] }, &mut block);
        block.row(0, 0, features(x.len())).to_vec()
    }

    /// The polynomial of the weights phi(y) is k(., y), here for two outputs of which one is its double.
    #[test]
    fn a_polynomial_has_the_values_of_its_weights() {
        let (gamma, coef0) = (0.7, 1.3);
        let map = Quadratic::new(&AnyKernel::Polynomial { degree: 2, gamma, coef0 }).unwrap();
        let (x, y) = ([0.5f32, -1.25, 2.0], [1.5f32, 0.75, 0.25]);
        let weights: Vec<f64> = dense(&map, &y).iter().flat_map(|w| [f64::from(*w), 2.0 * f64::from(*w)]).collect();
        let Polynomial { constant, linear, products } = map.polynomial(&weights, 2);
        let dot: f64 = x.iter().zip(y).map(|(a, b)| f64::from(a * b)).sum();
        for o in 0..2 {
            let mut products = products.iter().skip(o).step_by(2);
            let mut found = constant[o];
            for j in 0..3 {
                found += linear[2 * j + o] * f64::from(x[j]);
                found += (0..=j).map(|i| products.next().unwrap() * f64::from(x[j]) * f64::from(x[i])).sum::<f64>();
            }
            let expected = (gamma * dot + coef0).powi(2) * (o + 1) as f64;
            assert!((found - expected).abs() < 1e-5 && products.next().is_none(), "{found} for {expected}");
        }
    }

    /// <phi(x), phi(y)> is the kernel; a further column adds features at the end; sparse rows have the features of dense ones.
    #[test]
    fn inner_products_of_features_are_the_kernel() {
        for (gamma, coef0) in [(0.7, 1.3), (2.0, 0.0)] {
            let map = Quadratic::new(&AnyKernel::Polynomial { degree: 2, gamma, coef0 }).unwrap();
            let (x, y) = ([0.5f32, -1.25, 0.0, 2.0], [1.5f32, 0.75, -3.0, 0.25]);
            let (p, q) = (dense(&map, &x), dense(&map, &y));
            assert_eq!(p.len(), 15);
            let found: f64 = p.iter().zip(&q).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
            let dot: f64 = x.iter().zip(y).map(|(a, b)| f64::from(a * b)).sum();
            assert!((found - (gamma * dot + coef0).powi(2)).abs() < 1e-5, "{found}");
            assert_eq!(dense(&map, &x[..3]), p[..10]);
            let mut sparse = vec![0.0; 15];
            map.of_sparse(SparseRow { columns: &[0, 1, 3], values: &[0.5, -1.25, 2.0] }, |place, value| {
                sparse[place as usize] = value
            });
            assert_eq!(sparse, p);
        }
        assert_eq!(features(MOST_COLUMNS), 1_047_628);
        assert!(Quadratic::new(&AnyKernel::Polynomial { degree: 3, gamma: 1.0, coef0: 1.0 }).is_none());
    }
}
