//! Kernels: similarity functions of two examples.
//!
//! A kernel over any type is a [`Kernel`]. Over rows of numbers, one that is a function of an inner product and two
//! squared norms is a [`DotKernel`]; blocks of rows and panels of terms need such a kernel. With
//! `r² = max(0, |x|² + |y|² - 2<x, y>)`, [`AnyKernel`] offers
//!
//! | kernel | value |
//! |---|---|
//! | linear | `<x, y>` |
//! | polynomial | `(gamma <x, y> + coef0)^degree` |
//! | gaussian | `exp(-gamma r²)` |
//! | exponential | `exp(-gamma r)` |
//! | matern32 | `(1 + s) exp(-s)`, `s = √3 gamma r` |
//! | matern52 | `(1 + s + s²/3) exp(-s)`, `s = √5 gamma r` |
//! | manhattan | `exp(-gamma s)`, `s` the sum of `|x_j - y_j|` |
//! | rational_quadratic | `(1 + gamma r²/alpha)^-alpha` |
//! | scaled, sum, product | of other kernels |
//!
//! One [`Elementwise`] function per kernel serves [`DotKernel::eval`] and [`DotKernel::map`] on every backend, so their bits
//! agree. Exponentials and powers use base 2, where the integer part is split off exactly. The change of base is included in the
//! constant of the kernel, so it costs neither time nor accuracy.

//! ```
//! use okl::kernel::{AnyKernel, DotKernel};
//! let (x, y) = ([1.0f32, 2.0], [1.0f32, 0.0]);
//! let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
//! let k = AnyKernel::Gaussian { gamma: 0.25 }.eval(dot(&x, &y), dot(&x, &x), dot(&y, &y));
//! assert!((k - (-1.0f32).exp()).abs() < 1e-6);
//! ```

mod exp;
mod maps;
mod pair;

use std::f64::consts::LOG2_E;

pub use crate::gram::{Backend, Elementwise};
use exp::expm1;
pub(crate) use exp::{exp, exp2};
use maps::{
    Add, Distance2, Exponential, Gaussian, Manhattan, Matern32, Matern52, Multiply, RationalQuadratic, Times, distance2,
    map_fold, map_polynomial,
};
pub(crate) use pair::Blended;
pub use pair::{Pair, TwoRows};
use pair::{matern32_gap, matern52_gap};

/// A kernel over any type: symmetric and positive semidefinite.
pub trait Kernel<X: ?Sized> {
    /// `k(a, b)`.
    fn eval(&self, a: &X, b: &X) -> f64;
}

/// A kernel over rows of numbers that is a function of `<x, y>`, `|x|²` and `|y|²`.
///
/// Law: [`DotKernel::map`] gives the bits of [`DotKernel::eval`], on every backend and for every division of the values.
pub trait DotKernel: Send + Sync {
    /// `k(x, y)` from `dot = <x, y>`, `xx = |x|²` and `yy = |y|²`.
    fn eval(&self, dot: f32, xx: f32, yy: f32) -> f32;

    /// Replaces the inner products of one row with many others by kernel values, in place. [`Backend::map_values`] vectorises this.
    fn map(&self, _backend: Backend, xx: f32, yy: &[f32], values: &mut [f32]) {
        for (value, yy) in values.iter_mut().zip(yy) {
            *value = self.eval(*value, xx, *yy);
        }
    }

    /// `k(x, x)` from `xx = |x|²`.
    fn own(&self, xx: f32) -> f32 {
        if self.of_manhattan_distance() { self.eval(0.0, xx, xx) } else { self.eval(xx, xx, xx) }
    }

    /// The [`Pair`] of two rows in double precision.
    ///
    /// The default has only single precision; it adds the rounding error of [`DotKernel::eval`] to the distance.
    fn pair(&self, rows: &TwoRows) -> Pair {
        let (xx, yy) = (rows.xx, rows.yy);
        let value = |dot: f64, xx: f64, yy: f64| f64::from(self.eval(dot as f32, xx as f32, yy as f32));
        let (own, other) = (value(xx, xx, xx), value(yy, yy, yy));
        let pair = Pair::of_values(own, value(rows.dot, xx, yy), other);
        Pair { apart2: pair.apart2.max(0.0) + 8.0 * f64::from(f32::EPSILON) * own.max(other), ..pair }
    }

    /// Whether `k(x, y)` depends on `x - y` only, so that an anchor may be subtracted from all rows. Such a kernel is radial: as a
    /// function of inner products, `k(x, y) = k(x - y, 0)` depends on `|x - y|` only.
    fn translation_invariant(&self) -> bool {
        false
    }

    /// This kernel, if it is one of the built-in ones.
    fn built_in(&self) -> Option<&AnyKernel> {
        None
    }

    /// Whether the kernel is a function of the Manhattan distance. Then [`DotKernel::eval`] and [`DotKernel::map`] get minus half this distance
    /// in the place of `<x, y>`, and do not read the squared norms.
    fn of_manhattan_distance(&self) -> bool {
        false
    }

    /// `gamma` of a Gaussian kernel, also of a scaled one; none for other kernels.
    fn gaussian_gamma(&self) -> Option<f64> {
        None
    }

    /// `gamma` of an exponential kernel (of the Euclidean or the Manhattan distance), scaled or not, or of a product of such kernels; none
    /// for any other kernel.
    fn exponential_gamma(&self) -> Option<f64> {
        None
    }
}

/// `|x - y|²` where a kernel is expected: the squared distances of one row from many.
pub(crate) struct SquaredDistance;

impl DotKernel for SquaredDistance {
    fn eval(&self, dot: f32, xx: f32, yy: f32) -> f32 {
        distance2(dot, xx, yy)
    }

    fn map(&self, backend: Backend, xx: f32, yy: &[f32], values: &mut [f32]) {
        backend.map_values(yy, values, Distance2 { xx });
    }
}

/// The kernels of a configuration; formulas at the head of this file.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyKernel {
    /// `<x, y>`
    Linear,
    /// `(gamma <x, y> + coef0)^degree`
    Polynomial {
        /// The power.
        degree: u32,
        /// Multiplies the inner product.
        gamma: f64,
        /// Added to this product; must be >= 0 for a positive semidefinite kernel.
        coef0: f64,
    },
    /// `exp(-gamma r²)`
    Gaussian {
        /// One over the squared length scale.
        gamma: f64,
    },
    /// `exp(-gamma r)`
    Exponential {
        /// One over the length scale.
        gamma: f64,
    },
    /// `(1 + s) exp(-s)`, `s = √3 gamma r`
    Matern32 {
        /// One over the length scale.
        gamma: f64,
    },
    /// `(1 + s + s²/3) exp(-s)`, `s = √5 gamma r`
    Matern52 {
        /// One over the length scale.
        gamma: f64,
    },
    /// `exp(-gamma s)`, `s` the sum of `|x_j - y_j|`
    Manhattan {
        /// One over the length scale.
        gamma: f64,
    },
    /// `(1 + gamma r²/alpha)^-alpha`
    RationalQuadratic {
        /// One over the squared length scale.
        gamma: f64,
        /// How fast the tail falls; for alpha -> infinity the kernel becomes a Gaussian.
        alpha: f64,
    },
    /// `weight` times a kernel.
    Scaled {
        /// The factor.
        weight: f64,
        /// The kernel.
        of: Box<AnyKernel>,
    },
    /// The sum of kernels; 0 if there are none.
    Sum(Vec<AnyKernel>),
    /// The product of kernels; 1 if there are none.
    Product(Vec<AnyKernel>),
}

impl DotKernel for AnyKernel {
    fn eval(&self, dot: f32, xx: f32, yy: f32) -> f32 {
        let mut value = [dot];
        self.map(Backend::best(), xx, &[yy], &mut value);
        value[0]
    }

    fn map(&self, backend: Backend, xx: f32, yy: &[f32], values: &mut [f32]) {
        match *self {
            Self::Linear => {}
            Self::Polynomial { degree, gamma, coef0 } => {
                map_polynomial(backend, degree, gamma as f32, coef0 as f32, yy, values);
            }
            Self::Gaussian { gamma } => {
                let c = (-gamma * LOG2_E) as f32;
                backend.map_values(yy, values, Gaussian { c, far: -126.0 / c, xx });
            }
            Self::Exponential { gamma } => {
                let c = (-gamma * LOG2_E) as f32;
                backend.map_values(yy, values, Exponential { c, xx });
            }
            Self::Manhattan { gamma } => {
                let c = (-gamma * LOG2_E) as f32;
                backend.map_values(yy, values, Manhattan { c, far: -126.0 / c });
            }
            Self::Matern32 { gamma } => {
                let c = (gamma * 3f64.sqrt()) as f32;
                backend.map_values(yy, values, Matern32 { c, xx });
            }
            Self::Matern52 { gamma } => {
                let c = (gamma * 5f64.sqrt()) as f32;
                backend.map_values(yy, values, Matern52 { c, xx });
            }
            Self::RationalQuadratic { gamma, alpha } => {
                let (c, minus_alpha) = ((gamma / alpha) as f32, -alpha as f32);
                backend.map_values(yy, values, RationalQuadratic { c, minus_alpha, xx });
            }
            Self::Scaled { weight, ref of } => {
                of.map(backend, xx, yy, values);
                backend.map_values(yy, values, Times { weight: weight as f32 });
            }
            Self::Sum(ref of) => map_fold(of, 0.0, Add {}, backend, xx, yy, values),
            Self::Product(ref of) => map_fold(of, 1.0, Multiply {}, backend, xx, yy, values),
        }
    }

    #[inline]
    fn pair(&self, rows: &TwoRows) -> Pair {
        // The most common kernel of budgets, apart from the others so that it is short enough to be inlined.
        match *self {
            Self::Gaussian { gamma } => Pair::below_one(-expm1(-gamma * rows.apart2)),
            _ => self.other_pair(rows),
        }
    }

    fn translation_invariant(&self) -> bool {
        match self {
            Self::Linear | Self::Polynomial { .. } => false,
            Self::Scaled { of, .. } => of.translation_invariant(),
            Self::Sum(of) | Self::Product(of) => of.iter().all(Self::translation_invariant),
            _ => true,
        }
    }

    fn built_in(&self) -> Option<&AnyKernel> {
        Some(self)
    }

    fn of_manhattan_distance(&self) -> bool {
        match self {
            Self::Manhattan { .. } => true,
            Self::Scaled { of, .. } => of.of_manhattan_distance(),
            _ => false,
        }
    }

    fn gaussian_gamma(&self) -> Option<f64> {
        match self {
            Self::Gaussian { gamma } => Some(*gamma),
            Self::Scaled { of, .. } => of.gaussian_gamma(),
            _ => None,
        }
    }

    fn exponential_gamma(&self) -> Option<f64> {
        match self {
            Self::Exponential { gamma } | Self::Manhattan { gamma } => Some(*gamma),
            Self::Scaled { of, .. } => of.exponential_gamma(),
            Self::Product(of) if !of.is_empty() => of.iter().map(Self::exponential_gamma).sum(),
            _ => None,
        }
    }
}

impl AnyKernel {
    fn other_pair(&self, rows: &TwoRows) -> Pair {
        let TwoRows { dot, xx, yy, apart2: r2, tilt, manhattan } = *rows;
        let linear = Pair { first: xx, shared: dot, second: yy, apart2: r2, tilt };
        match *self {
            Self::Linear => linear,
            Self::Polynomial { degree, gamma, coef0 } => {
                let constant = Pair { first: coef0, shared: coef0, second: coef0, apart2: 0.0, tilt: 0.0 };
                linear.scaled(gamma).plus(constant).power(degree)
            }
            Self::Gaussian { .. } => self.pair(rows),
            Self::Exponential { gamma } => Pair::below_one(-libm::expm1(-gamma * r2.sqrt())),
            Self::Manhattan { gamma } => Pair::below_one(-libm::expm1(-gamma * manhattan)),
            Self::Matern32 { gamma } => Pair::below_one(matern32_gap(3f64.sqrt() * gamma * r2.sqrt())),
            Self::Matern52 { gamma } => Pair::below_one(matern52_gap(5f64.sqrt() * gamma * r2.sqrt())),
            Self::RationalQuadratic { gamma, alpha } => Pair::below_one(-libm::expm1(-alpha * libm::log1p(gamma * r2 / alpha))),
            Self::Scaled { weight, ref of } => of.pair(rows).scaled(weight),
            Self::Sum(ref of) => of.iter().fold(Pair::default(), |sum, k| sum.plus(k.pair(rows))),
            Self::Product(ref of) => of.iter().fold(Pair::below_one(0.0), |product, k| product.times(k.pair(rows))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<AnyKernel> {
        use AnyKernel::*;
        let gaussian = Gaussian { gamma: 0.4 };
        vec![
            Linear,
            Polynomial { degree: 0, gamma: 0.5, coef0: 1.0 },
            Polynomial { degree: 2, gamma: 0.5, coef0: 1.0 },
            Polynomial { degree: 3, gamma: 0.5, coef0: 0.0 },
            Polynomial { degree: 7, gamma: 0.1, coef0: 1.0 },
            gaussian.clone(),
            Exponential { gamma: 0.4 },
            Matern32 { gamma: 0.4 },
            Matern52 { gamma: 0.4 },
            RationalQuadratic { gamma: 0.4, alpha: 0.5 },
            RationalQuadratic { gamma: 0.4, alpha: 1000.0 },
            Scaled { weight: 2.5, of: Box::new(gaussian.clone()) },
            Sum(vec![Linear, gaussian.clone(), Sum(vec![])]),
            Product(vec![Matern32 { gamma: 0.1 }, Sum(vec![gaussian, Linear]), Product(vec![])]),
        ]
    }

    /// The formulas at the head of this file.
    fn formula(kernel: &AnyKernel, dot: f64, r2: f64) -> f64 {
        let r = r2.sqrt();
        match kernel {
            AnyKernel::Linear => dot,
            AnyKernel::Polynomial { degree, gamma, coef0 } => (gamma * dot + coef0).powi(*degree as i32),
            AnyKernel::Gaussian { gamma } => (-gamma * r2).exp(),
            AnyKernel::Exponential { gamma } => (-gamma * r).exp(),
            // It gets minus half the distance in the place of the inner product.
            AnyKernel::Manhattan { gamma } => (2.0 * gamma * dot).exp(),
            AnyKernel::Matern32 { gamma } => (1.0 + 3f64.sqrt() * gamma * r) * (-3f64.sqrt() * gamma * r).exp(),
            AnyKernel::Matern52 { gamma } => {
                (1.0 + 5f64.sqrt() * gamma * r + 5.0 / 3.0 * gamma * gamma * r2) * (-5f64.sqrt() * gamma * r).exp()
            }
            AnyKernel::RationalQuadratic { gamma, alpha } => (1.0 + gamma * r2 / alpha).powf(-alpha),
            AnyKernel::Scaled { weight, of } => weight * formula(of, dot, r2),
            AnyKernel::Sum(of) => of.iter().map(|k| formula(k, dot, r2)).sum(),
            AnyKernel::Product(of) => of.iter().map(|k| formula(k, dot, r2)).product(),
        }
    }

    /// Pairs of a row of square 4 with others, as `(dot, yy)`; their squares, products and distances are exact in f32.
    fn pairs() -> (Vec<f32>, Vec<f32>) {
        (0..333).map(|i| ((i % 41) as f32 / 16.0 - 1.25, 2.0 + (i % 53) as f32 / 4.0)).unzip()
    }

    #[test]
    fn kernels_are_their_formulas() {
        let (dots, yy) = pairs();
        for kernel in all() {
            for (dot, yy) in dots.iter().zip(&yy) {
                let exact = formula(&kernel, f64::from(*dot), f64::from(4.0 + yy - 2.0 * dot));
                let error = (f64::from(kernel.eval(*dot, 4.0, *yy)) - exact).abs();
                // Half a unit per rounding of the exponent, which is 8 at most here, and of each of a few factors.
                assert!(error <= 2e-6 * exact.abs() + 1e-7, "{kernel:?} at {dot}, {yy}: off by {error} from {exact}");
            }
        }
    }

    /// exp(-gamma s), where the kernel gets -s / 2 and does not read the squares.
    #[test]
    fn the_kernel_of_manhattan_distances_is_its_formula() {
        let kernel = AnyKernel::Manhattan { gamma: 0.4 };
        for s in [0.0f32, 0.25, 1.5, 7.0, 100.0, 1e4, 1e30] {
            let (found, exact) = (f64::from(kernel.eval(-0.5 * s, 3.0, 5.0)), (-0.4 * f64::from(s)).exp());
            assert!((found - exact).abs() <= 2e-6 * exact + 1e-37, "{s}: {found} {exact}");
        }
        assert_eq!((kernel.own(17.0), kernel.eval(0.0, 1.0, 2.0)), (1.0, 1.0));
        let scaled = AnyKernel::Scaled { weight: 2.5, of: Box::new(kernel) };
        assert!(scaled.of_manhattan_distance() && scaled.own(17.0) == 2.5 && scaled.exponential_gamma() == Some(0.4));
    }

    #[test]
    fn map_gives_the_bits_of_eval_on_every_backend() {
        let (dots, yy) = pairs();
        for kernel in all() {
            let expected: Vec<u32> = dots.iter().zip(&yy).map(|(dot, yy)| kernel.eval(*dot, 4.0, *yy).to_bits()).collect();
            for backend in Backend::available() {
                for cut in [1, 31, 32, 100, 333] {
                    let mut values = dots.clone();
                    for (values, yy) in values.chunks_mut(cut).zip(yy.chunks(cut)) {
                        kernel.map(backend, 4.0, yy, values);
                    }
                    let found: Vec<u32> = values.iter().map(|v| v.to_bits()).collect();
                    assert_eq!(found, expected, "{kernel:?} on {backend:?}, {cut} at a time");
                }
            }
        }
    }

    #[test]
    fn radial_kernels_stay_between_0_and_1_however_far() {
        let far = [0.0, 1e-30, 1.0, 1e4, 1e20, 1e38, f32::INFINITY];
        for kernel in all().iter().filter(|k| k.translation_invariant()) {
            let most = if matches!(kernel, AnyKernel::Scaled { .. }) { 2.5 } else { 1.0 };
            assert_eq!(kernel.eval(4.0, 4.0, 4.0), most, "{kernel:?} of a row with itself");
            assert!(far.iter().all(|yy| (0.0..=most).contains(&kernel.eval(0.0, 0.0, *yy))), "{kernel:?}");
        }
    }

    /// gamma r² / alpha is beyond single precision from r² = 1e18 on; the value is far from 0.
    #[test]
    fn a_rational_quadratic_kernel_is_its_formula_however_far_rows_are() {
        for alpha in [0.01, 0.05, 0.2] {
            let kernel = AnyKernel::RationalQuadratic { gamma: 5e19, alpha };
            for r2 in (0..34).map(|i| 10f32.powi(i)) {
                let exact = formula(&kernel, 0.0, f64::from(r2));
                let error = (f64::from(kernel.eval(0.0, 0.0, r2)) - exact).abs();
                // The roundings of the map, and of an exponent of alpha log(1 + gamma r² / alpha) <= 26.
                assert!(error <= 26.0 * f64::from(f32::EPSILON) * exact, "alpha {alpha}, r² {r2}: off by {error} from {exact}");
            }
        }
    }

    #[test]
    fn kernels_know_what_they_are() {
        let gaussian = AnyKernel::Gaussian { gamma: 2.0 };
        let scaled_of = |kernel: &AnyKernel| AnyKernel::Scaled { weight: 3.0, of: Box::new(kernel.clone()) };
        let scaled = scaled_of(&gaussian);
        let mixed = AnyKernel::Sum(vec![gaussian.clone(), AnyKernel::Linear]);
        assert_eq!((gaussian.gaussian_gamma(), scaled.gaussian_gamma(), mixed.gaussian_gamma()), (Some(2.0), Some(2.0), None));
        let exponential = AnyKernel::Exponential { gamma: 0.5 };
        let product = AnyKernel::Product(vec![scaled_of(&exponential), exponential.clone()]);
        let found =
            [exponential.clone(), product, AnyKernel::Product(vec![exponential, gaussian.clone()]), AnyKernel::Product(vec![])];
        assert_eq!(found.map(|k| k.exponential_gamma()), [Some(0.5), Some(1.0), None, None]);
        assert!(gaussian.translation_invariant() && scaled.translation_invariant() && !mixed.translation_invariant());
    }
}
