//! Rows that lie so far from the origin of the frame that their kernel values are blurred.
//!
//! A squared distance is |x|² + |y|² - 2 <x, y> in single precision, so its rounding error grows with |x|²: for two near rows it is about
//! 16 |x|² 2^-24 (3.10.4; it grows slowly with the number of features, which the rule leaves out because columns may come later).
//! Rule: a row is blurred if this error moves the value of every kernel by more than [`LARGE`] of k(x, x). Then near rows look apart, or
//! rows that are apart look equal, and f(x), |f|² and the certificates are those of the wrong values. Usual reasons: the first row (the
//! anchor) or a row of the warm-up lies far from all others, a column wanders off, or the kernel is very narrow.

use crate::parts::kernel::DotKernel;

/// A row is blurred if the rounding error moves its kernel values by more than this share of k(x, x).
const LARGE: f32 = 0.05;

/// The number of blurred rows, and the smallest |x|² of a blurred row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blur {
    pub rows: u64,
    /// The smallest |x|² of a blurred row; computed at the first count after the kernels are known.
    far2: Option<f32>,
}

impl Blur {
    /// Must be called when the kernels change, so that the smallest |x|² is computed again.
    pub fn forget_kernels(&mut self) {
        self.far2 = None;
    }

    /// Counts the rows with these squared norms.
    pub fn count<K: DotKernel>(&mut self, kernels: &[K], squares: impl Iterator<Item = f32>) {
        let far2 = *self.far2.get_or_insert_with(|| least_blurred(kernels));
        self.rows += squares.filter(|xx| *xx >= far2).count() as u64;
    }
}

/// The smallest power of two that is |x|² of a blurred row.
/// Manhattan distances are sums of differences, which do not blur.
fn least_blurred<K: DotKernel>(kernels: &[K]) -> f32 {
    const RELATIVE: f32 = 8.0 * f32::EPSILON;
    let blurred = |xx: f32| {
        let moved = |kernel: &K| {
            if kernel.of_manhattan_distance() {
                return false;
            }
            let own = kernel.eval(xx, xx, xx);
            (own - kernel.eval(xx - 0.5 * xx * RELATIVE, xx, xx)).abs() > LARGE * own
        };
        kernels.iter().all(moved)
    };
    (-60..126).map(|power| libm::scalbnf(1.0, power)).find(|xx| blurred(*xx)).unwrap_or(f32::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::kernel::AnyKernel;

    /// exp(-gamma e) < 0.95 from e = 0.0513 / gamma on, e = 16 |x|² 2^-24.
    #[test]
    fn blurring_begins_where_the_formula_says() {
        for gamma in [1.0, 0.01, 300.0] {
            let bound = 0.0513 / gamma / (16.0 * 2f64.powi(-24));
            let found = f64::from(least_blurred(&[AnyKernel::Gaussian { gamma }]));
            assert!(found >= 0.9 * bound && found <= 2.2 * bound, "gamma {gamma}: {found}, by the formula {bound}");
        }
    }
}
