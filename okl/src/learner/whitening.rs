//! Whitening (`scale = whiten`): after the columns are scaled and clipped, a row z becomes u = T z, so that |u - u'| is the Mahalanobis
//! distance of two rows. T is a lower triangle: the inverse of the Cholesky factor of
//!
//! (1 - [`SHRINKAGE`]) C + [`SHRINKAGE`] m I,
//!
//! where C is the covariance of the first rows and m the mean of its diagonal. Without the second part, directions in which the first
//! rows hardly vary would decide every distance.
//!
//! A column that did not vary is left as it is, and it has no effect on the others. T ends with the last column that varies; features after
//! it, and features that come later, are left as they are. T is fixed after the warm-up. Where units follow the stream, they change the columns before T is applied.

use crate::coordinates::Term;

/// The part of the mean variance in the covariance. benchmarks/novelty.md compares it with others.
const SHRINKAGE: f64 = 0.3;

/// A triangle has at most this many rows; rows with more columns that vary are not whitened. The cost per row grows with the square of this number, that of the triangle with its cube.
pub(crate) const MOST_WHITENED: usize = 256;

/// The number of entries of a triangle with this many rows.
pub(crate) fn entries(rows: usize) -> usize {
    rows * (rows + 1) / 2
}

/// The number of rows of a triangle with this many entries; none if no triangle has as many.
pub(crate) fn size(count: usize) -> Option<usize> {
    (0..=MOST_WHITENED).find(|rows| entries(*rows) == count)
}

fn rows_of(triangle: &[f64]) -> usize {
    size(triangle.len()).unwrap_or(0)
}

/// The triangle T, row by row, for rows that are scaled. Empty if no column varies, or too many do.
pub(crate) fn triangle(rows: &[f32], features: usize) -> Vec<f64> {
    let varies = |j: &usize| rows.iter().skip(*j).step_by(features).any(|z| *z != rows[*j]);
    let varying: Vec<usize> = (0..features).filter(varies).collect();
    let columns = varying.last().map_or(0, |last| last + 1);
    if columns == 0 || columns > MOST_WHITENED {
        return Vec::new();
    }
    let covariance = covariance(rows, features, &varying);
    let count = varying.len();
    let mean = (0..count).map(|a| covariance[a * count + a]).sum::<f64>() / count as f64;
    let shrunk = |a: usize, b: usize| {
        let own = if a == b { SHRINKAGE * mean } else { 0.0 };
        (1.0 - SHRINKAGE) * covariance[a * count + b] + own
    };
    let Some(inverse) = inverse_factor(count, shrunk) else { return Vec::new() };
    let mut found = identity(columns);
    for (a, &row) in varying.iter().enumerate() {
        for (b, &column) in varying[..=a].iter().enumerate() {
            found[entries(row) + column] = inverse[entries(a) + b];
        }
    }
    found
}

/// The triangle that changes nothing.
fn identity(features: usize) -> Vec<f64> {
    (0..features).flat_map(|row| (0..=row).map(move |column| f64::from(u8::from(row == column)))).collect()
}

/// Rows that are multiplied at a time: their sums do not wait for each other. A sum does not depend on the other rows.
const TOGETHER: usize = 8;

/// T z for every row, rounded to single precision at the end; `limit` bounds the size of a number.
pub(crate) fn apply(triangle: &[f64], rows: &mut [f32], features: usize, limit: f32) {
    for rows in rows.chunks_mut(TOGETHER * features) {
        let count = rows.len() / features;
        // From the last number to the first: an entry depends on earlier numbers and itself, which are still those of z.
        for i in (0..features).rev() {
            let Some(of_row) = triangle.get(entries(i)..entries(i + 1)) else { continue };
            let mut sums = [0.0; TOGETHER];
            for (j, t) in of_row.iter().enumerate() {
                let numbers = rows[j..].iter().step_by(features);
                sums.iter_mut().zip(numbers).for_each(|(sum, z)| *sum += t * f64::from(*z));
            }
            for (row, sum) in sums[..count].iter().enumerate() {
                rows[row * features + i] = (*sum as f32).clamp(-limit, limit);
            }
        }
    }
}

/// z of u = T z.
pub(crate) fn undo(triangle: &[f64], row: &[f32]) -> Vec<f64> {
    let mut found: Vec<f64> = Vec::with_capacity(row.len());
    for (i, u) in row.iter().enumerate() {
        let (known, own) = match triangle.get(entries(i)..entries(i + 1)) {
            Some(of_row) => (of_row.iter().zip(&found).map(|(t, z)| t * z).sum::<f64>(), of_row[i]),
            None => (0.0, 1.0),
        };
        found.push((f64::from(*u) - known) / own);
    }
    found
}

/// Weights of whitened numbers become weights of the scaled columns: v = T' w gives <w, T z> = <v, z>.
pub(crate) fn weights_of_columns(triangle: &[f64], weights: &mut [Term]) {
    for j in 0..rows_of(triangle).min(weights.len()) {
        let (before, after) = weights.split_at_mut(j + 1);
        let mut sum = before[j].scaled(triangle[entries(j) + j]);
        after.iter().zip(j + 1..rows_of(triangle)).for_each(|(w, i)| sum.add_scaled(w, triangle[entries(i) + j]));
        before[j] = sum;
    }
}

/// Weights of the scaled columns become weights of whitened numbers: the inverse of [`weights_of_columns`].
pub(crate) fn weights_of_whitened(triangle: &[f64], weights: &mut [Term]) {
    for j in (0..rows_of(triangle).min(weights.len())).rev() {
        let (before, after) = weights.split_at_mut(j + 1);
        let mut rest = before[j].scaled(1.0);
        after.iter().zip(j + 1..rows_of(triangle)).for_each(|(w, i)| rest.add_scaled(w, -triangle[entries(i) + j]));
        before[j] = rest.scaled(1.0 / triangle[entries(j) + j]);
    }
}

/// The lower half of the covariance of some columns, as many numbers per row of it as there are columns.
fn covariance(rows: &[f32], features: usize, columns: &[usize]) -> Vec<f64> {
    let (count, size) = ((rows.len() / features) as f64, columns.len());
    let mut mean = vec![0.0; size];
    for row in rows.chunks_exact(features) {
        mean.iter_mut().zip(columns).for_each(|(m, j)| *m += f64::from(row[*j]) / count);
    }
    let (mut sums, mut away) = (vec![0.0; size * size], vec![0.0; size]);
    for row in rows.chunks_exact(features) {
        away.iter_mut().zip(columns).zip(&mean).for_each(|((away, j), m)| *away = f64::from(row[*j]) - m);
        for (a, sums) in sums.chunks_exact_mut(size).enumerate() {
            sums[..=a].iter_mut().zip(&away).for_each(|(sum, b)| *sum += away[a] * b / count);
        }
    }
    sums
}

/// The inverse of the Cholesky factor of a symmetric matrix, as a triangle; none if the matrix is not positive definite in double precision.
fn inverse_factor(size: usize, of: impl Fn(usize, usize) -> f64) -> Option<Vec<f64>> {
    let mut factor = vec![0.0; entries(size)];
    for a in 0..size {
        for b in 0..=a {
            let product: f64 = (0..b).map(|k| factor[entries(a) + k] * factor[entries(b) + k]).sum();
            let rest = of(a, b) - product;
            factor[entries(a) + b] = match a == b {
                true if rest > 0.0 && rest.is_finite() => rest.sqrt(),
                true => return None,
                false => rest / factor[entries(b) + b],
            };
        }
    }
    let mut inverse = vec![0.0; entries(size)];
    for a in 0..size {
        let own = factor[entries(a) + a];
        for b in 0..a {
            let product: f64 = (b..a).map(|k| factor[entries(a) + k] * inverse[entries(k) + b]).sum();
            inverse[entries(a) + b] = -product / own;
        }
        inverse[entries(a) + a] = 1.0 / own;
    }
    inverse.iter().all(|t| t.is_finite()).then_some(inverse)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of three columns; the third is nearly the sum of the first two, and a fourth is constant.
    fn rows() -> Vec<f32> {
        let row = |i: usize| {
            let (a, b) = ((i as f32 * 0.7).sin(), (i as f32 * 1.3).cos());
            [a, b, a + b + 0.1 * (i as f32 * 2.1).sin(), 5.0]
        };
        (0..200).flat_map(row).collect()
    }

    /// <w, T z> = <v, z>, for two outputs and four columns, of which the last is not whitened; and back again.
    #[test]
    fn weights_of_columns_have_the_same_scores() {
        let triangle = triangle(&rows(), 4);
        let of = |j: usize| Term { alpha: vec![1.0 + j as f64, -0.5], mean: vec![0.25 * j as f64, 2.0], trace: vec![0.0; 2] };
        let whitened: Vec<Term> = (0..4).map(of).collect();
        let mut columns = whitened.clone();
        weights_of_columns(&triangle, &mut columns);
        for z in rows().chunks_exact(4).take(20) {
            let mut u = z.to_vec();
            apply(&triangle, &mut u, 4, 1e15);
            let score = |weights: &[Term], row: &[f32], of: fn(&Term) -> f64| -> f64 {
                weights.iter().zip(row).map(|(w, u)| of(w) * f64::from(*u)).sum()
            };
            for of in [|w: &Term| w.alpha[0], |w: &Term| w.alpha[1], |w: &Term| w.mean[0]] {
                let (a, b) = (score(&whitened, &u, of), score(&columns, z, of));
                assert!((a - b).abs() < 1e-5 * (1.0 + a.abs()), "{a} {b}");
            }
        }
        assert!(columns[0].alpha != whitened[0].alpha && columns[3].alpha == whitened[3].alpha);
        weights_of_whitened(&triangle, &mut columns);
        for (a, b) in columns.iter().zip(&whitened) {
            assert!(a.alpha.iter().chain(&a.mean).zip(b.alpha.iter().chain(&b.mean)).all(|(a, b)| (a - b).abs() < 1e-12));
        }
    }

    /// The covariance of the whitened rows, plus the part that was added, is the identity: T ((1 - s) C + s m I) T' = I.
    #[test]
    fn whitened_rows_have_the_covariance_that_is_left() {
        let (rows, features, varying) = (rows(), 4, [0, 1, 2]);
        let triangle = triangle(&rows, features);
        assert_eq!(triangle.len(), entries(3), "the last column is constant");
        let (of_rows, mut whitened) = (covariance(&rows, features, &varying), rows.clone());
        apply(&triangle, &mut whitened, features, 1e15);
        assert!(whitened.chunks_exact(features).all(|row| row[3] == 5.0));
        let of_whitened = covariance(&whitened, features, &varying);
        let mean = (of_rows[0] + of_rows[4] + of_rows[8]) / 3.0;
        let t = |a: usize, b: usize| if b <= a { triangle[entries(a) + b] } else { 0.0 };
        for a in 0..3 {
            for b in 0..=a {
                let added = SHRINKAGE * mean * (0..3).map(|k| t(a, k) * t(b, k)).sum::<f64>();
                let whole = (1.0 - SHRINKAGE) * of_whitened[a * 3 + b] + added;
                assert!((whole - f64::from(u8::from(a == b))).abs() < 1e-5, "{a} {b}: {whole}");
            }
        }
    }

    #[test]
    fn undo_undoes() {
        let rows = rows();
        let triangle = triangle(&rows, 4);
        for row in rows.chunks_exact(4) {
            let mut whitened = row.to_vec();
            apply(&triangle, &mut whitened, 4, 1e15);
            assert!(undo(&triangle, &whitened).iter().zip(row).all(|(z, x)| (z - f64::from(*x)).abs() < 1e-5));
        }
    }

    /// Rows one by one and all at once have the same bits.
    #[test]
    fn a_row_does_not_depend_on_the_others() {
        let mut together = rows();
        let (triangle, mut alone) = (triangle(&together, 4), together.clone());
        apply(&triangle, &mut together, 4, 1e15);
        alone.chunks_exact_mut(4).for_each(|row| apply(&triangle, row, 4, 1e15));
        assert!(together.iter().zip(&alone).all(|(a, b)| a.to_bits() == b.to_bits()));
    }

    /// A column of zeros, in the middle or at the end, has no effect on the others, to the last bit.
    #[test]
    fn a_column_that_does_not_vary_changes_nothing() {
        let rows: Vec<f32> = rows().chunks_exact(4).flat_map(|row| row[..3].to_vec()).collect();
        let narrow = triangle(&rows, 3);
        let wider: Vec<f32> = rows.chunks_exact(3).flat_map(|row| [row[0], row[1], row[2], 0.0]).collect();
        assert_eq!(narrow, triangle(&wider, 4));
        let spread: Vec<f32> = rows.chunks_exact(3).flat_map(|row| [row[0], 0.0, row[1], row[2]]).collect();
        let spread = triangle(&spread, 4);
        assert_eq!(spread[entries(1)..entries(2)], [0.0, 1.0]);
        let kept = |row: usize, columns: &[usize]| columns.iter().map(|c| spread[entries(row) + c]).collect::<Vec<f64>>();
        assert_eq!(narrow, [kept(0, &[0]), kept(2, &[0, 2]), kept(3, &[0, 2, 3])].concat());
    }

    #[test]
    fn equal_rows_and_too_many_columns_are_left_as_they_are() {
        assert!(triangle(&[0.1, 0.2, 0.1, 0.2, 0.1, 0.2], 2).is_empty());
        let many: Vec<f32> = (0..2 * MOST_WHITENED as u16 + 2).map(f32::from).collect();
        assert!(triangle(&many, MOST_WHITENED + 1).is_empty());
        assert_eq!(size(triangle(&many[..2 * MOST_WHITENED], MOST_WHITENED).len()), Some(MOST_WHITENED));
    }
}
