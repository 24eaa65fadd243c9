//! The kernel width of a density (`loss = density` with `gamma = auto`), chosen without labels: by coverage.
//!
//! The share of a row is the mean of its kernel values with the other rows, as a part of k(x, x): about the fraction of the rows that
//! are near it. A narrow kernel distinguishes more, but below some width most rows have no other row near, and scores say nothing. The
//! rule: **the narrowest width with which nine of ten rows have a share of at least 1 %**.
//!
//! The widths are powers of the square root of 2, times that of the median heuristic. Shares decrease with gamma, so the search halves
//! the candidates. benchmarks/novelty.md compares the rule with fixed widths and with other ways to judge a width.

use crate::config::{Config, Medians};
use crate::learner::scaling::distance2;
use crate::parts::kernel::DotKernel;

/// The least share of a row.
const SHARE: f64 = 0.01;
/// The fraction of the rows that may have a smaller share.
const UNCOVERED: f64 = 0.1;
/// The candidates: this many half powers of 2 below and above the width of the median heuristic.
const WIDER: i32 = 12;
const NARROWER: i32 = 16;
/// The multiple of gamma for whitened rows. Their columns are as wide in every direction, so a narrower kernel still has rows near it.
const NARROWER_IF_WHITENED: f64 = 1.5;
/// The largest number of rows that are compared; evenly spaced, if there are more.
const MOST: usize = 256;

/// The multiple of the median heuristic that the rule chooses for these rows; `median` is their median squared distance.
pub(super) fn factor(config: &Config, median: f64, rows: &[f32], features: usize) -> f64 {
    let distances = Distances::between(rows, features);
    let covers = |candidate: i32| {
        let factor = of_candidate(candidate);
        let mut trial = config.clone();
        trial.rules_mut().for_each(|k| k.set_auto(Medians::of_distance2(median), &[factor]));
        trial.kernels().iter().all(|kernel| distances.covered_by(kernel))
    };
    // The narrowest candidate that covers, if the widest does.
    let (mut least, mut most) = (-WIDER, NARROWER + 1);
    while most - least > 1 {
        let middle = least + (most - least) / 2;
        (least, most) = if covers(middle) { (middle, most) } else { (least, middle) };
    }
    let narrower = if config.scale_whitens() { NARROWER_IF_WHITENED } else { 1.0 };
    of_candidate(least) * narrower
}

fn of_candidate(candidate: i32) -> f64 {
    libm::exp2(f64::from(candidate) / 2.0)
}

/// The squared distances of every row to all others.
struct Distances {
    all: Vec<f32>,
    count: usize,
}

impl Distances {
    fn between(rows: &[f32], features: usize) -> Self {
        let all = rows.len() / features;
        let count = all.min(MOST);
        let row = |i: usize| &rows[i * all / count * features..][..features];
        let pairs = (0..count).flat_map(|i| (0..count).filter(move |&j| j != i).map(move |j| (i, j)));
        Distances { all: pairs.map(|(i, j)| distance2(row(i), row(j)) as f32).collect(), count }
    }

    /// Whether enough rows have a share that is large enough. A kernel that is not a function of distance has no such share.
    fn covered_by(&self, kernel: &impl DotKernel) -> bool {
        if !kernel.translation_invariant() || self.count < 2 {
            return false;
        }
        let others = self.count - 1;
        let own = f64::from(kernel.eval(0.0, 0.0, 0.0));
        let near = |row: &[f32]| row.iter().map(|d| f64::from(kernel.eval(0.0, *d, 0.0))).sum::<f64>();
        let uncovered = self.all.chunks_exact(others).filter(|row| near(row) < SHARE * own * others as f64).count();
        uncovered as f64 <= UNCOVERED * self.count as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::scaling::median_distance2;

    fn chosen(settings: &str, rows: &[f32], features: usize) -> (f64, f64) {
        let config = Config::from_toml(&format!("loss = 'density'\n{settings}")).unwrap();
        let median = median_distance2(rows, features);
        (factor(&config, median, rows, features), median)
    }

    /// Rows of three columns on a closed curve, with some rows far from it.
    fn curve() -> Vec<f32> {
        let along = |i: usize, k: f32| (i as f32 * (k + 0.7)).sin() * if i.is_multiple_of(25) { 4.0 } else { 1.0 };
        (0..200).flat_map(|i| [along(i, 0.0), along(i, 1.0), along(i, 2.0)]).collect()
    }

    /// The share that one of ten rows is below, from its definition in double precision.
    fn tenth_share(rows: &[f32], gamma: f64) -> f64 {
        let rows: Vec<&[f32]> = rows.chunks(3).collect();
        let near = |a: &[f32], b: &[f32]| (-gamma * a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>()).exp();
        let of_row = |(i, a): (usize, &&[f32])| {
            let others = rows.iter().enumerate().filter(|(j, _)| *j != i);
            others.map(|(_, b)| near(a, b)).sum::<f64>() / (rows.len() - 1) as f64
        };
        let mut shares: Vec<f64> = rows.iter().enumerate().map(of_row).collect();
        shares.sort_by(f64::total_cmp);
        shares[rows.len() / 10]
    }

    /// gamma covers nine of ten rows, and the next narrower one does not.
    #[test]
    fn the_narrowest_width_that_covers_is_chosen() {
        let rows = curve();
        let (factor, median) = chosen("kernel = 'gaussian'", &rows, 3);
        let gamma = |factor: f64| factor * 0.5 / median;
        assert!(factor > of_candidate(-WIDER) && factor < of_candidate(NARROWER));
        assert!(tenth_share(&rows, gamma(factor)) >= SHARE && tenth_share(&rows, gamma(factor * 2f64.sqrt())) < SHARE);
    }

    #[test]
    fn every_kernel_of_distance_has_a_width() {
        let rows = curve();
        for kernel in ["gaussian", "exponential", "matern32", "matern52", "rational_quadratic"] {
            let (factor, _) = chosen(&format!("kernel = '{kernel}'"), &rows, 3);
            assert!(factor > of_candidate(-WIDER) && factor <= of_candidate(NARROWER), "{kernel}: {factor}");
        }
    }

    /// Equal rows are near at any width; a single row has no other row.
    #[test]
    fn few_and_equal_rows_have_a_width() {
        assert_eq!(chosen("kernel = 'gaussian'", &[3.0; 40], 1).0, of_candidate(NARROWER));
        assert_eq!(chosen("kernel = 'gaussian'", &[3.0], 1).0, of_candidate(-WIDER));
    }
}
