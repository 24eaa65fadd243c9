//! Batch regularised least squares for vector outputs (vv-RLS): the baseline of OLOK's experiments (O section 3).
//!
//! `argmin_h (1/t) sum_i ½|h(x_i) - y_i|² + (lambda/2) |h|²` over `h = sum_i k(x_i, .) J C_i` is stationary where
//!
//! ```text
//! G C J + t lambda C = Y          G the Gram matrix (t x t), J the output operator (d x d), C and Y t x d.
//! ```
//!
//! With `J = U diag(s) Uᵀ` the columns of `C U` decouple: `(s_j G + t lambda I) (C U)_j = (Y U)_j`. This takes one Cholesky
//! factorisation per *distinct* eigenvalue (an equicorrelated J has two, for any d), with t³/3 multiplications and additions
//! each. All computations are in f64, in an order that does not depend on the number of threads.
//!
//! ```
//! // Two examples, one output: (G + 2 lambda) C = Y.
//! let c = okl::rls::solve(&[1.0f64, 0.5, 0.5, 1.0], &[1.0, -1.0], &[1.0], 1, 0.25)?;
//! assert!((c[0] - 1.0).abs() < 1e-12 && (c[1] + 1.0).abs() < 1e-12);
//! # Ok::<(), okl::rls::RlsError>(())
//! ```

use rayon::prelude::*;
use thiserror::Error;

/// Why a batch problem cannot be solved.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum RlsError {
    /// The length of an argument does not match the others.
    #[error("{what} has {found} entries, expected {expected}")]
    Shape {
        /// Which argument.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length that follows from the other arguments.
        expected: usize,
    },
    /// `lambda` is not a finite number greater than 0.
    #[error("lambda must be finite and greater than 0, not {0}")]
    Lambda(f64),
    /// J has a negative eigenvalue, or entries that are not numbers.
    #[error("J is not positive semidefinite: its least eigenvalue is {0}")]
    Operator(f64),
    /// `s G + t lambda I` is not positive definite: G is not a Gram matrix, or lambda is too small compared with its rounding
    /// errors.
    #[error("the Gram matrix is not positive semidefinite: the pivot of row {row} is {pivot}")]
    Gram {
        /// The row where the factorisation stopped.
        row: usize,
        /// The pivot, which must be positive.
        pivot: f64,
    },
}

/// The eigenvalues and eigenvectors of a symmetric matrix, largest value first.
#[derive(Clone, Debug, PartialEq)]
#[doc(hidden)]
pub struct Eigen {
    /// The eigenvalues in descending order.
    pub values: Vec<f64>,
    /// The eigenvectors, one per column, d x d row-major: `J = V diag(values) Vᵀ`.
    pub vectors: Vec<f64>,
}

impl Eigen {
    /// Whether no eigenvalue is negative beyond rounding: `least >= -1e-12 largest`, all finite.
    pub fn is_semidefinite(&self) -> bool {
        let size = self.values.iter().fold(0.0, |size: f64, v| size.max(v.abs()));
        size.is_finite() && self.values.iter().all(|&v| v >= -1e-12 * size)
    }
}

/// The maximal number of sweeps of Jacobi's method. Convergence is quadratic; 6 to 10 sweeps are usual.
const SWEEPS: usize = 60;

/// Eigenvalues and eigenvectors of a small symmetric matrix by cyclic Jacobi (d x d, row-major; its symmetric part is used).
///
/// The only function used is the square root, so every machine gives the same bits. A diagonal matrix is returned exactly. If an
/// entry is not finite (or missing), all eigenvalues are NaN.
#[doc(hidden)]
pub fn eigen_symmetric(j: &[f64], d: usize) -> Eigen {
    let at = |r: usize, c: usize| j.get(r * d + c).copied().unwrap_or(f64::NAN);
    let mut a: Vec<f64> = (0..d * d).map(|i| 0.5 * at(i / d, i % d) + 0.5 * at(i % d, i / d)).collect();
    let mut v = identity(d);
    let small = 1e-17 * a.iter().map(|a| a.abs()).sum::<f64>() / d as f64;
    if !small.is_finite() {
        return Eigen { values: vec![f64::NAN; d], vectors: v };
    }
    for _ in 0..SWEEPS {
        if !sweep(&mut a, &mut v, d, small) {
            break;
        }
    }
    sorted(&a, &v, d)
}

fn identity(d: usize) -> Vec<f64> {
    (0..d * d).map(|i| f64::from(u8::from(i / d == i % d))).collect()
}

/// Rotates every off-diagonal entry above `small` to 0 once. Returns whether there was one.
fn sweep(a: &mut [f64], v: &mut [f64], d: usize, small: f64) -> bool {
    let mut any = false;
    for p in 0..d {
        for q in p + 1..d {
            if a[p * d + q].abs() > small {
                rotate(a, v, d, p, q);
                any = true;
            }
        }
    }
    any
}

/// Applies the rotation of the (p, q) plane that makes `a_pq` 0 to both sides of `a` and to `v`.
fn rotate(a: &mut [f64], v: &mut [f64], d: usize, p: usize, q: usize) {
    let theta = (a[q * d + q] - a[p * d + p]) / (2.0 * a[p * d + q]);
    let tan = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let cos = 1.0 / (tan * tan + 1.0).sqrt();
    let sin = tan * cos;
    for r in 0..d {
        turn(a, r * d + p, r * d + q, cos, sin);
        turn(v, r * d + p, r * d + q, cos, sin);
    }
    for c in 0..d {
        turn(a, p * d + c, q * d + c, cos, sin);
    }
    a[p * d + q] = 0.0;
    a[q * d + p] = 0.0;
}

fn turn(a: &mut [f64], p: usize, q: usize, cos: f64, sin: f64) {
    (a[p], a[q]) = (cos * a[p] - sin * a[q], sin * a[p] + cos * a[q]);
}

fn sorted(a: &[f64], v: &[f64], d: usize) -> Eigen {
    let mut order: Vec<usize> = (0..d).collect();
    order.sort_by(|&p, &q| a[q * d + q].total_cmp(&a[p * d + p])); // stable: equal values keep their order
    let values = order.iter().map(|&p| a[p * d + p]).collect();
    let vectors = (0..d * d).map(|i| v[i / d * d + order[i % d]]).collect();
    Eigen { values, vectors }
}

/// Eigenvalues of J that differ by less than this fraction of the largest are treated as equal and share a factorisation.
const SAME: f64 = 1e-13;

/// Solves `G C J + t lambda C = Y` for `C` (t x d, row-major).
///
/// `gram` is t x t, f64 or f32 (only its lower triangle is read), `outputs` is `Y`, t x d, `j` is d x d; all row-major.
/// Allocates a second t x t matrix of f64 as workspace.
pub fn solve<G>(gram: &[G], outputs: &[f64], j: &[f64], d: usize, lambda: f64) -> Result<Vec<f64>, RlsError>
where
    G: Copy + Into<f64> + Send + Sync,
{
    let t = outputs.len() / d.max(1);
    shape("outputs", outputs.len(), t * d)?;
    shape("gram", gram.len(), t * t)?;
    shape("j", j.len(), d * d)?;
    if !(lambda.is_finite() && lambda > 0.0) {
        return Err(RlsError::Lambda(lambda));
    }
    let eigen = eigen_symmetric(j, d);
    if !eigen.is_semidefinite() {
        return Err(RlsError::Operator(eigen.values.last().copied().unwrap_or(f64::NAN)));
    }
    let mut columns = into_basis(outputs, &eigen.vectors, t, d);
    solve_columns(gram, &mut columns, &eigen.values, t, t as f64 * lambda)?;
    Ok(out_of_basis(&columns, &eigen.vectors, t, d))
}

fn shape(what: &'static str, found: usize, expected: usize) -> Result<(), RlsError> {
    if found == expected { Ok(()) } else { Err(RlsError::Shape { what, found, expected }) }
}

/// `Y U`, stored column by column: column j has the entries `j t .. (j + 1) t`.
fn into_basis(outputs: &[f64], u: &[f64], t: usize, d: usize) -> Vec<f64> {
    let entry = |j: usize, i: usize| (0..d).map(|k| outputs[i * d + k] * u[k * d + j]).sum();
    (0..t * d).map(|n| entry(n / t, n % t)).collect()
}

/// `C = (C U) Uᵀ`, stored row by row.
fn out_of_basis(columns: &[f64], u: &[f64], t: usize, d: usize) -> Vec<f64> {
    let entry = |i: usize, k: usize| (0..d).map(|j| columns[j * t + i] * u[k * d + j]).sum();
    (0..t * d).map(|n| entry(n / d, n % d)).collect()
}

/// Solves `(s_j G + ridge I) x = column j` in place, with one factorisation for each run of equal eigenvalues.
fn solve_columns<G>(gram: &[G], columns: &mut [f64], values: &[f64], t: usize, ridge: f64) -> Result<(), RlsError>
where
    G: Copy + Into<f64> + Send + Sync,
{
    let near = SAME * values.first().copied().unwrap_or(0.0);
    let mut rest = columns;
    for group in values.chunk_by(|a, b| a - b <= near) {
        let (these, others) = rest.split_at_mut(group.len() * t);
        rest = others;
        let s = group.iter().sum::<f64>() / group.len() as f64;
        if s <= near {
            these.iter_mut().for_each(|y| *y /= ridge);
            continue;
        }
        let mut a: Vec<f64> = gram.par_iter().map(|&g| s * g.into()).collect();
        a.iter_mut().step_by(t + 1).for_each(|a| *a += ridge);
        cholesky(&mut a, t)?;
        these.par_chunks_mut(t.max(1)).for_each(|x| substitute(&a, t, x));
    }
    Ok(())
}

/// Solves `L Lᵀ x = y` in place; `x` holds `y` on entry.
fn substitute(l: &[f64], t: usize, x: &mut [f64]) {
    for (i, row) in l.chunks_exact(t).enumerate() {
        let (done, rest) = x.split_at_mut(i);
        rest[0] = (rest[0] - dot(&row[..i], done)) / row[i];
    }
    for (i, row) in l.chunks_exact(t).enumerate().rev() {
        let (ahead, rest) = x.split_at_mut(i);
        rest[0] /= row[i];
        subtract(ahead, rest[0], &row[..i]);
    }
}

/// The inner product on eight lanes, which are added in index order.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, ta), (b, tb)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut lanes = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        (0..8).for_each(|k| lanes[k] += a[k] * b[k]);
    }
    lanes.iter().sum::<f64>() + ta.iter().zip(tb).map(|(a, b)| a * b).sum::<f64>()
}

/// `y -= s x`.
fn subtract(y: &mut [f64], s: f64, x: &[f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y -= s * x);
}

/// The number of columns eliminated at once, and (`ROWS`, `COLUMNS`) the register tile of the trailing update.
const BLOCK: usize = 64;
const ROWS: usize = 4;
const COLUMNS: usize = 4;

/// Cholesky factorisation `A = L Lᵀ` in place, in the lower triangle (the upper one is left undefined). Blocked and
/// right-looking: factor a diagonal block, divide the rows below by it, subtract their outer product from the trailing matrix.
fn cholesky(a: &mut [f64], t: usize) -> Result<(), RlsError> {
    let mut packed = vec![0.0; (t + COLUMNS) * BLOCK];
    for start in (0..t).step_by(BLOCK) {
        let width = BLOCK.min(t - start);
        let (above, below) = a.split_at_mut((start + width) * t);
        let upper = diagonal(&mut above[start * t..], t, start, width)?;
        below.par_chunks_mut(t).for_each(|row| divide(&upper, &mut row[start..start + width]));
        pack(below, t, start, width, &mut packed);
        let trailing = Trailing { t, start, width, packed: &packed };
        below.par_chunks_mut(t * BLOCK).enumerate().for_each(|(strip, rows)| trailing.update(strip * BLOCK, rows));
    }
    Ok(())
}

/// Factors a diagonal block; `rows` starts with the first row of the block. Returns `L11ᵀ`, width x width, row-major.
fn diagonal(rows: &mut [f64], t: usize, start: usize, width: usize) -> Result<Vec<f64>, RlsError> {
    let mut upper = vec![0.0; width * width];
    for i in 0..width {
        let row = &mut rows[i * t + start..i * t + start + width];
        for p in 0..i {
            let x = row[p] / upper[p * width + p];
            row[p] = x;
            upper[p * width + i] = x; // must be set first: the next line subtracts x² from the pivot
            subtract(&mut row[p + 1..=i], x, &upper[p * width + p + 1..=p * width + i]);
        }
        let pivot = row[i];
        if !(pivot > 0.0 && pivot.is_finite()) {
            return Err(RlsError::Gram { row: start + i, pivot });
        }
        row[i] = pivot.sqrt();
        upper[i * width + i] = row[i];
    }
    Ok(upper)
}

/// Solves `x L11ᵀ = row` in place.
fn divide(upper: &[f64], row: &mut [f64]) {
    let width = row.len();
    for p in 0..width {
        let x = row[p] / upper[p * width + p];
        row[p] = x;
        subtract(&mut row[p + 1..], x, &upper[p * width + p + 1..(p + 1) * width]);
    }
}

/// Packs `L21ᵀ` into panels of COLUMNS rows of `L21`: entry (p, lane) of a panel is at `p COLUMNS + lane`.
fn pack(below: &[f64], t: usize, start: usize, width: usize, packed: &mut [f64]) {
    let panels = packed.par_chunks_mut(width * COLUMNS).zip(below.par_chunks(t * COLUMNS));
    panels.for_each(|(panel, rows)| transpose(rows, t, start, COLUMNS, panel));
}

/// Writes columns `start + p` of up to `lanes` rows into a panel, entry (p, lane) at `p lanes + lane`. Lanes without a row keep
/// their old contents; their sums are never written to the matrix.
fn transpose(rows: &[f64], t: usize, start: usize, lanes: usize, panel: &mut [f64]) {
    for (lane, row) in rows.chunks_exact(t).enumerate() {
        let entries = panel.iter_mut().skip(lane).step_by(lanes);
        entries.zip(&row[start..]).for_each(|(entry, x)| *entry = *x);
    }
}

/// The update `A22 -= L21 L21ᵀ` of the trailing matrix: its position, and the packed `L21`.
struct Trailing<'a> {
    t: usize,
    start: usize,
    width: usize,
    packed: &'a [f64],
}

impl Trailing<'_> {
    /// Updates the lower triangle of one strip of rows. `first` is the index of its first row in the trailing matrix.
    fn update(&self, first: usize, rows: &mut [f64]) {
        let mut left = [0.0; BLOCK * BLOCK];
        let size = self.width * ROWS;
        for (rows, left) in rows.chunks(self.t * ROWS).zip(left.chunks_mut(size)) {
            transpose(rows, self.t, self.start, ROWS, left);
        }
        let last = first + rows.len() / self.t;
        for (n, panel) in self.packed.chunks_exact(self.width * COLUMNS).enumerate().take(last.div_ceil(COLUMNS)) {
            let column = self.start + self.width + n * COLUMNS;
            let below = (n * COLUMNS).saturating_sub(first) / ROWS; // the first tile that is not above the diagonal
            let tiles = rows.chunks_mut(self.t * ROWS).zip(left.chunks(size)).skip(below);
            tiles.for_each(|(rows, left)| subtract_tile(rows, self.t, column, &tile(left, panel)));
        }
    }
}

/// One register tile of `L21 L21ᵀ`. Every entry is one sum, over the columns of `L21` in order.
fn tile(left: &[f64], right: &[f64]) -> [[f64; COLUMNS]; ROWS] {
    let mut sum = [[0.0; COLUMNS]; ROWS];
    for (l, r) in left.as_chunks::<ROWS>().0.iter().zip(right.as_chunks::<COLUMNS>().0) {
        for i in 0..ROWS {
            for j in 0..COLUMNS {
                sum[i][j] += l[i] * r[j];
            }
        }
    }
    sum
}

fn subtract_tile(rows: &mut [f64], t: usize, column: usize, tile: &[[f64; COLUMNS]; ROWS]) {
    for (row, sums) in rows.chunks_exact_mut(t).zip(tile) {
        row[column..].iter_mut().zip(sums).for_each(|(a, s)| *a -= s);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reproducible pseudorandom numbers in [-1, 1).
    fn numbers(n: usize, seed: u64) -> Vec<f64> {
        let mut x = seed;
        let mut next = || {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        (0..n).map(|_| next()).collect()
    }

    /// The Gram matrix of a Gaussian kernel on random points of the plane.
    fn gram(t: usize, seed: u64) -> Vec<f64> {
        let x = numbers(2 * t, seed);
        let distance = |a: usize, b: usize| (x[2 * a] - x[2 * b]).powi(2) + (x[2 * a + 1] - x[2 * b + 1]).powi(2);
        (0..t * t).map(|i| libm::exp(-2.0 * distance(i / t, i % t))).collect()
    }

    /// `A Aᵀ` of a random d x rank matrix.
    fn semidefinite(d: usize, rank: usize, seed: u64) -> Vec<f64> {
        let a = numbers(d * rank, seed);
        (0..d * d).map(|i| (0..rank).map(|k| a[i / d * rank + k] * a[i % d * rank + k]).sum()).collect()
    }

    /// Equal variances, all correlations equal.
    fn equicorrelated(d: usize, a: f64) -> Vec<f64> {
        (0..d * d).map(|i| if i / d == i % d { 1.0 } else { a }).collect()
    }

    fn product(a: &[f64], b: &[f64], inner: usize) -> Vec<f64> {
        let (rows, columns) = (a.len() / inner, b.len() / inner);
        let entry = |i: usize, j: usize| (0..inner).map(|k| a[i * inner + k] * b[k * columns + j]).sum();
        (0..rows * columns).map(|n| entry(n / columns, n % columns)).collect()
    }

    fn largest(a: impl IntoIterator<Item = f64>) -> f64 {
        a.into_iter().fold(0.0, |most, a| if a.abs() <= most { most } else { a.abs() })
    }

    /// Gaussian elimination with partial pivoting.
    fn eliminate(mut a: Vec<f64>, mut y: Vec<f64>) -> Vec<f64> {
        let n = y.len();
        for k in 0..n {
            let pivot = (k..n).max_by(|&i, &j| a[i * n + k].abs().total_cmp(&a[j * n + k].abs())).unwrap();
            (0..n).for_each(|c| a.swap(k * n + c, pivot * n + c));
            y.swap(k, pivot);
            for i in k + 1..n {
                let factor = a[i * n + k] / a[k * n + k];
                (k..n).for_each(|c| a[i * n + c] -= factor * a[k * n + c]);
                y[i] -= factor * y[k];
            }
        }
        for k in (0..n).rev() {
            y[k] = (y[k] - (k + 1..n).map(|c| a[k * n + c] * y[c]).sum::<f64>()) / a[k * n + k];
        }
        y
    }

    #[test]
    fn agrees_with_the_kronecker_system() {
        for (t, d, j) in [
            (1, 1, vec![2.0]),
            (9, 3, semidefinite(3, 3, 1)),
            (12, 4, semidefinite(4, 2, 2)),
            (10, 5, equicorrelated(5, 0.1)),
            (7, 2, vec![0.0; 4]),
            (8, 3, vec![2.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0]),
        ] {
            let (g, y, lambda) = (gram(t, 3), numbers(t * d, 4), 0.01);
            // Row-major C: entry ((i, k), (a, b)) of the system is G_ia J_bk + t lambda 1{i = a, k = b}.
            let n = t * d;
            let entry = |r: usize, c: usize| g[r / d * t + c / d] * j[c % d * d + r % d];
            let ridge = |r: usize, c: usize| if r == c { t as f64 * lambda } else { 0.0 };
            let a = (0..n * n).map(|i| entry(i / n, i % n) + ridge(i / n, i % n)).collect();
            let expected = eliminate(a, y.clone());
            let found = solve(&g, &y, &j, d, lambda).unwrap();
            let off = largest(found.iter().zip(&expected).map(|(a, b)| a - b)) / largest(expected.iter().copied());
            assert!(off < 1e-12, "t {t} d {d}: off by {off}");
        }
    }

    #[test]
    fn the_solution_is_stationary_for_sizes_around_the_blocks() {
        for t in [63, 64, 65, 67, 128, 131, 300] {
            let (d, lambda) = (4, 1e-3);
            let (g, y, j) = (gram(t, 5), numbers(t * d, 6), semidefinite(d, d, 7));
            let c = solve(&g, &y, &j, d, lambda).unwrap();
            let gcj = product(&product(&g, &c, t), &j, d);
            let off = largest((0..t * d).map(|i| gcj[i] + t as f64 * lambda * c[i] - y[i]));
            assert!(off < 1e-10, "t {t}: off by {off}");
        }
    }

    #[test]
    fn single_precision_grams_are_read_as_they_are() {
        let (t, d) = (70, 2);
        let short: Vec<f32> = gram(t, 8).iter().map(|&g| g as f32).collect();
        let long: Vec<f64> = short.iter().map(|&g| f64::from(g)).collect();
        let (y, j) = (numbers(t * d, 9), equicorrelated(d, 0.1));
        assert_eq!(solve(&short, &y, &j, d, 0.1), solve(&long, &y, &j, d, 0.1));
    }

    #[test]
    fn threads_change_no_bit() {
        let (t, d) = (200, 3);
        let (g, y, j) = (gram(t, 10), numbers(t * d, 11), semidefinite(d, d, 12));
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| solve(&g, &y, &j, d, 0.01).unwrap())
        };
        assert_eq!(with(1), with(3));
    }

    #[test]
    fn eigenvectors_give_the_matrix_back() {
        for (d, rank) in [(1, 1), (2, 2), (5, 3), (20, 20), (33, 4)] {
            let j = semidefinite(d, rank, 13);
            let Eigen { values, vectors } = eigen_symmetric(&j, d);
            assert!(values.windows(2).all(|w| w[0] >= w[1]));
            assert!(values[rank..].iter().all(|v| v.abs() < 1e-13 * values[0]), "{values:?}");
            let transposed: Vec<f64> = (0..d * d).map(|i| vectors[i % d * d + i / d]).collect();
            let scaled: Vec<f64> = (0..d * d).map(|i| vectors[i] * values[i % d]).collect();
            let back = product(&scaled, &transposed, d);
            let off = largest(back.iter().zip(&j).map(|(a, b)| a - b));
            assert!(off < 2e-14 * values[0], "d {d}: off by {off}");
            let square = product(&transposed, &vectors, d);
            assert!(largest(square.iter().zip(identity(d)).map(|(a, b)| a - b)) < 1e-14);
        }
        let exact = eigen_symmetric(&[1.0, 0.0, 0.0, 3.0], 2);
        assert_eq!(exact, Eigen { values: vec![3.0, 1.0], vectors: vec![0.0, 1.0, 1.0, 0.0] });
    }

    #[test]
    fn semidefinite_is_told_from_indefinite() {
        assert!(eigen_symmetric(&semidefinite(6, 2, 14), 6).is_semidefinite());
        assert!(eigen_symmetric(&[0.0; 9], 3).is_semidefinite());
        assert!(!eigen_symmetric(&[1.0, 1.1, 1.1, 1.0], 2).is_semidefinite());
        assert!(!eigen_symmetric(&[1.0, f64::NAN, 0.0, 1.0], 2).is_semidefinite());
        assert!(!eigen_symmetric(&[f64::INFINITY], 1).is_semidefinite());
    }

    #[test]
    fn what_cannot_be_solved_is_said() {
        let (g, y) = (gram(3, 15), numbers(3, 16));
        assert_eq!(solve(&g, &y, &[1.0], 1, 0.0), Err(RlsError::Lambda(0.0)));
        assert_eq!(solve(&g, &y, &[-1.0], 1, 0.1), Err(RlsError::Operator(-1.0)));
        assert!(matches!(solve(&g[..8], &y, &[1.0], 1, 0.1), Err(RlsError::Shape { what: "gram", found: 8, expected: 9 })));
        assert!(matches!(solve(&g, &y, &[1.0; 3], 1, 0.1), Err(RlsError::Shape { what: "j", .. })));
        assert!(matches!(solve(&g, &y, &[1.0; 4], 2, 0.1), Err(RlsError::Shape { what: "outputs", .. })));
        let negative = [1.0, 0.0, 0.0, -1.0];
        assert!(matches!(solve(&negative, &[1.0, 1.0], &[1.0], 1, 0.1), Err(RlsError::Gram { row: 1, .. })));
        assert_eq!(solve::<f64>(&[], &[], &[1.0], 1, 0.1), Ok(vec![]));
    }
}
