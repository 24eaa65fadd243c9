//! Kernels: what it means for two examples to be alike.
//!
//! A kernel over any type is a [`Kernel`]. Over rows of numbers, one that is a function of an inner product and two
//! squared norms is a [`DotKernel`], which is what blocks of rows and panels of terms run on. With
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
//! | rational_quadratic | `(1 + gamma r²/alpha)^-alpha` |
//! | scaled, sum, product | of other kernels |
//!
//! One [`Elementwise`] function per kernel serves [`DotKernel::eval`] and [`DotKernel::map`] on every backend, so their bits
//! agree. Exponentials and powers are taken to base 2, where rounding off the integer part is exact; the change of base
//! is folded into the kernel's constant, so it costs neither time nor accuracy.

//! ```
//! use okl::kernel::{AnyKernel, DotKernel};
//! let (x, y) = ([1.0f32, 2.0], [1.0f32, 0.0]);
//! let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
//! let k = AnyKernel::Gaussian { gamma: 0.25 }.eval(dot(&x, &y), dot(&x, &x), dot(&y, &y));
//! assert!((k - (-1.0f32).exp()).abs() < 1e-6);
//! ```

use std::f64::consts::LOG2_E;

use crate::gram::{Backend, Elementwise};

/// A kernel over any type: symmetric and positive semidefinite.
pub trait Kernel<X: ?Sized> {
    /// `k(a, b)`.
    fn eval(&self, a: &X, b: &X) -> f64;
}

/// Two rows in double precision, difference by difference, so that what is small is accurate.
#[derive(Clone, Copy, Debug)]
pub struct TwoRows {
    /// `<x, y>`
    pub dot: f64,
    /// `|x|²`
    pub xx: f64,
    /// `|y|²`
    pub yy: f64,
    /// `|x - y|²`
    pub apart2: f64,
    /// `<x - y, x + y> = |x|² - |y|²`
    pub tilt: f64,
}

impl TwoRows {
    /// The numbers of two rows of one length.
    pub fn new(x: &[f32], y: &[f32]) -> Self {
        let mut rows = TwoRows { dot: 0.0, xx: 0.0, yy: 0.0, apart2: 0.0, tilt: 0.0 };
        for (x, y) in x.iter().zip(y) {
            let (x, y) = (f64::from(*x), f64::from(*y));
            rows.dot += x * y;
            rows.xx += x * x;
            rows.yy += y * y;
            rows.apart2 += (x - y) * (x - y);
            rows.tilt += (x - y) * (x + y);
        }
        rows
    }
}

/// The functions k(x, .) and k(y, .) of two points, in double precision: what is left of one after its projection onto the other
/// is a small difference, which single precision would lose (law 5).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pair {
    /// `k(x, x)`
    pub first: f64,
    /// `k(x, y)`
    pub shared: f64,
    /// `k(y, y)`
    pub second: f64,
    /// `|k(x, .) - k(y, .)|² = k(x, x) + k(y, y) - 2 k(x, y)`
    pub apart2: f64,
    /// `k(x, x) - k(y, y)`
    pub tilt: f64,
}

impl Pair {
    /// From the three kernel values; what cancels here is lost.
    pub fn of_values(xx: f64, xy: f64, yy: f64) -> Self {
        Pair { first: xx, shared: xy, second: yy, apart2: xx + yy - 2.0 * xy, tilt: xx - yy }
    }

    /// Of a kernel with k(x, x) = 1 everywhere, from `1 - k(x, y)`.
    fn below_one(gap: f64) -> Self {
        Pair { first: 1.0, shared: 1.0 - gap, second: 1.0, apart2: 2.0 * gap, tilt: 0.0 }
    }

    /// The same pair with x and y exchanged.
    pub fn swapped(&self) -> Self {
        Pair { first: self.second, second: self.first, tilt: -self.tilt, ..*self }
    }

    /// The projection of k(x, .) onto k(y, .) is `share` k(y, .); 0 onto the zero function.
    pub fn share(&self) -> f64 {
        if self.second > 0.0 { self.shared / self.second } else { 0.0 }
    }

    /// `|k(x, .) - share k(y, .)|²`; rounding may leave a little below 0.
    pub fn left(&self, share: f64) -> f64 {
        let rest = 1.0 - share;
        if rest.abs() < 0.5 {
            // Close points: from their difference.
            return share * self.apart2 + rest * self.tilt + rest * rest * self.second;
        }
        self.first - share * (2.0 * self.shared - share * self.second)
    }

    fn scaled(self, by: f64) -> Self {
        Pair {
            first: by * self.first,
            shared: by * self.shared,
            second: by * self.second,
            apart2: by * self.apart2,
            tilt: by * self.tilt,
        }
    }

    /// Under the sum of two kernels.
    fn plus(self, other: Self) -> Self {
        Pair {
            first: self.first + other.first,
            shared: self.shared + other.shared,
            second: self.second + other.second,
            apart2: self.apart2 + other.apart2,
            tilt: self.tilt + other.tilt,
        }
    }

    /// Under the product of two kernels: with k(x, x) = c + (d + t)/2 and k(y, y) = c + (d - t)/2 of each, nothing large cancels.
    fn times(self, other: Self) -> Self {
        let ((c, d, t), (e, f, u)) = ((self.shared, self.apart2, self.tilt), (other.shared, other.apart2, other.tilt));
        Pair {
            first: self.first * other.first,
            shared: c * e,
            second: self.second * other.second,
            apart2: e * d + c * f + 0.5 * (d * f + t * u),
            tilt: c * u + e * t + 0.5 * (d * u + t * f),
        }
    }

    /// By squaring, the lowest bit of the degree first.
    fn power(self, mut degree: u32) -> Self {
        let (mut product, mut power) = (Pair::below_one(0.0), self);
        while degree > 0 {
            if degree % 2 == 1 {
                product = product.times(power);
            }
            power = power.times(power);
            degree /= 2;
        }
        product
    }
}

/// `1 - (1 + s) exp(-s)` for s >= 0; for small s its bound `s²/2`, where the difference would be rounding.
fn matern32_gap(s: f64) -> f64 {
    if s < 1e-5 { 0.5 * s * s } else { -libm::expm1(-s) - s * libm::exp(-s) }
}

/// `1 - (1 + s + s²/3) exp(-s)` for s >= 0; for small s its bound `s²/6`.
fn matern52_gap(s: f64) -> f64 {
    if s < 1e-5 { s * s / 6.0 } else { -libm::expm1(-s) - (s + s * s / 3.0) * libm::exp(-s) }
}

/// A kernel over rows of numbers that is a function of `<x, y>`, `|x|²` and `|y|²`.
///
/// Law: [`DotKernel::map`] gives the bits of [`DotKernel::eval`], whatever the backend and however the values are cut.
pub trait DotKernel: Send + Sync {
    /// `k(x, y)` from `dot = <x, y>`, `xx = |x|²` and `yy = |y|²`.
    fn eval(&self, dot: f32, xx: f32, yy: f32) -> f32;

    /// Inner products of one row with many in, kernel values out, in place. See [`Backend::map_values`] to vectorise one.
    fn map(&self, _backend: Backend, xx: f32, yy: &[f32], values: &mut [f32]) {
        for (value, yy) in values.iter_mut().zip(yy) {
            *value = self.eval(*value, xx, *yy);
        }
    }

    /// The functions of two rows in double precision.
    ///
    /// The default has single precision only: it states their distance with the rounding of [`DotKernel::eval`] added.
    fn pair(&self, rows: &TwoRows) -> Pair {
        let (xx, yy) = (rows.xx, rows.yy);
        let value = |dot: f64, xx: f64, yy: f64| f64::from(self.eval(dot as f32, xx as f32, yy as f32));
        let (own, other) = (value(xx, xx, xx), value(yy, yy, yy));
        let pair = Pair::of_values(own, value(rows.dot, xx, yy), other);
        Pair { apart2: pair.apart2.max(0.0) + 8.0 * f64::from(f32::EPSILON) * own.max(other), ..pair }
    }

    /// Whether `k(x, y)` depends on `x - y` only, so that an anchor may be subtracted from all rows.
    fn translation_invariant(&self) -> bool {
        false
    }

    /// `gamma` of a Gaussian, scaled or not; none for any other kernel.
    fn gaussian_gamma(&self) -> Option<f64> {
        None
    }
}

/// The kernels a configuration can name; formulas at the head of this file.
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
        /// Added to it; 0 or more for a positive semidefinite kernel.
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
    /// `(1 + gamma r²/alpha)^-alpha`
    RationalQuadratic {
        /// One over the squared length scale.
        gamma: f64,
        /// How fast the tail falls; a Gaussian as it grows.
        alpha: f64,
    },
    /// `weight` times a kernel.
    Scaled {
        /// The factor.
        weight: f64,
        /// The kernel.
        of: Box<AnyKernel>,
    },
    /// The sum of kernels; of none, 0.
    Sum(Vec<AnyKernel>),
    /// The product of kernels; of none, 1.
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

    fn pair(&self, rows: &TwoRows) -> Pair {
        let TwoRows { dot, xx, yy, apart2: r2, tilt } = *rows;
        let linear = Pair { first: xx, shared: dot, second: yy, apart2: r2, tilt };
        match *self {
            Self::Linear => linear,
            Self::Polynomial { degree, gamma, coef0 } => {
                let constant = Pair { first: coef0, shared: coef0, second: coef0, apart2: 0.0, tilt: 0.0 };
                linear.scaled(gamma).plus(constant).power(degree)
            }
            Self::Gaussian { gamma } => Pair::below_one(-libm::expm1(-gamma * r2)),
            Self::Exponential { gamma } => Pair::below_one(-libm::expm1(-gamma * r2.sqrt())),
            Self::Matern32 { gamma } => Pair::below_one(matern32_gap(3f64.sqrt() * gamma * r2.sqrt())),
            Self::Matern52 { gamma } => Pair::below_one(matern52_gap(5f64.sqrt() * gamma * r2.sqrt())),
            Self::RationalQuadratic { gamma, alpha } => Pair::below_one(-libm::expm1(-alpha * libm::log1p(gamma * r2 / alpha))),
            Self::Scaled { weight, ref of } => of.pair(rows).scaled(weight),
            Self::Sum(ref of) => of.iter().fold(Pair::default(), |sum, k| sum.plus(k.pair(rows))),
            Self::Product(ref of) => of.iter().fold(Pair::below_one(0.0), |product, k| product.times(k.pair(rows))),
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

    fn gaussian_gamma(&self) -> Option<f64> {
        match self {
            Self::Gaussian { gamma } => Some(*gamma),
            Self::Scaled { of, .. } => of.gaussian_gamma(),
            _ => None,
        }
    }
}

/// `|x - y|²`, exactly 0 for equal rows, where rounding may leave a little below 0 for others.
#[inline(always)]
fn distance2(dot: f32, xx: f32, yy: f32) -> f32 {
    at_least((-2.0f32).mul_add(dot, xx + yy), 0.0)
}

/// The larger one; `floor` if `x` is not a number. One instruction everywhere, unlike `f32::max`.
#[inline(always)]
fn at_least(x: f32, floor: f32) -> f32 {
    if x > floor { x } else { floor }
}

/// The smaller one; `ceiling` if `x` is not a number.
#[inline(always)]
fn at_most(x: f32, ceiling: f32) -> f32 {
    if x < ceiling { x } else { ceiling }
}

/// Beyond this `exp(-s)` is below the smallest normal number; an infinite `s` must not meet it in a product.
const LARGEST_EXPONENT: f32 = 88.0;

/// Names an elementwise function of a value and its companion, with its constants.
macro_rules! elementwise {
    ($name:ident { $($constant:ident),* }, $value:ident, $other:pat => $result:expr) => {
        #[derive(Clone, Copy)]
        struct $name {
            $($constant: f32),*
        }

        impl Elementwise for $name {
            #[inline(always)]
            fn at(self, $value: f32, $other: f32) -> f32 {
                let Self { $($constant),* } = self;
                $result
            }
        }
    };
}

elementwise!(Gaussian { c, far, xx }, dot, yy => exp2_product(at_most(distance2(dot, xx, yy), far), c));
elementwise!(Exponential { c, xx }, dot, yy => exp2(c * distance2(dot, xx, yy).sqrt()));
elementwise!(Matern32 { c, xx }, dot, yy => {
    let s = at_most(c * distance2(dot, xx, yy).sqrt(), LARGEST_EXPONENT);
    (1.0 + s) * exp2(s * -std::f32::consts::LOG2_E)
});
elementwise!(Matern52 { c, xx }, dot, yy => {
    let s = at_most(c * distance2(dot, xx, yy).sqrt(), LARGEST_EXPONENT);
    (s * s).mul_add(1.0 / 3.0, 1.0 + s) * exp2(s * -std::f32::consts::LOG2_E)
});
elementwise!(RationalQuadratic { c, minus_alpha, xx }, dot, yy => {
    exp2(minus_alpha * log2_1p_product(c, distance2(dot, xx, yy)))
});
elementwise!(Affine { gamma, coef0 }, dot, _ => gamma.mul_add(dot, coef0));
elementwise!(Square {}, value, _ => value * value);
elementwise!(Times { weight }, value, _ => weight * value);
elementwise!(Add {}, total, value => total + value);
elementwise!(Multiply {}, total, value => total * value);

/// Powers by squaring, the lowest bit of the degree first.
fn map_polynomial(backend: Backend, degree: u32, gamma: f32, coef0: f32, yy: &[f32], values: &mut [f32]) {
    for (values, yy) in values.chunks_mut(STRETCH).zip(yy.chunks(STRETCH)) {
        let mut power = [0.0; STRETCH];
        let power = &mut power[..yy.len()];
        backend.map_values(yy, values, Affine { gamma, coef0 });
        power.copy_from_slice(values);
        values.fill(1.0);
        let mut left = degree;
        while left > 0 {
            if left % 2 == 1 {
                backend.map_values(power, values, Multiply {});
            }
            backend.map_values(yy, power, Square {});
            left /= 2;
        }
    }
}

/// Values at a time in a power, sum or product: at most two buffers of them on the stack per level of nesting.
const STRETCH: usize = 256;

/// Combines the kernels' values in the order they are listed, from `start`.
fn map_fold(of: &[AnyKernel], start: f32, combine: impl Elementwise, backend: Backend, xx: f32, yy: &[f32], values: &mut [f32]) {
    for (values, yy) in values.chunks_mut(STRETCH).zip(yy.chunks(STRETCH)) {
        let (mut total, mut part) = ([start; STRETCH], [0.0; STRETCH]);
        let (total, part) = (&mut total[..yy.len()], &mut part[..yy.len()]);
        for kernel in of {
            part.copy_from_slice(values);
            kernel.map(backend, xx, yy, part);
            backend.map_values(part, total, combine);
        }
        values.copy_from_slice(total);
    }
}

/// `2^x` for `x <= 127`, to about one unit in the last place, exactly 1 at 0; `2^-126`, the smallest normal number,
/// for all below -126 and for what is not a number.
#[inline(always)]
pub(crate) fn exp2(x: f32) -> f32 {
    exp2_product(at_least(x, -126.0), 1.0)
}

/// `2^(u c)` for `u c` between -126 and 127: the product is never rounded on its own.
///
/// `u c = n + r` with `n` the nearest integer; `2^r - 1` is `r` times a polynomial and `n` is added to the exponent.
#[inline(always)]
fn exp2_product(u: f32, c: f32) -> f32 {
    /// Added to a small number it leaves the nearest integer in the lowest bits of the mantissa.
    const ROUND: f32 = 12_582_912.0; // 1.5 * 2^23
    let shifted = u.mul_add(c, ROUND);
    let r = u.mul_add(c, ROUND - shifted);
    let mut p = 1.545_316_3e-4_f32;
    p = p.mul_add(r, 1.339_086_3e-3);
    p = p.mul_add(r, 9.618_083e-3);
    p = p.mul_add(r, 5.550_357e-2);
    p = p.mul_add(r, 0.240_226_5);
    p = p.mul_add(r, std::f32::consts::LN_2);
    p = p.mul_add(r, 1.0);
    f32::from_bits(p.to_bits().wrapping_add(shifted.to_bits() << 23))
}

/// `log2(1 + v)` for `v >= 0`: what rounding `1 + v` loses is made good to first order. Finite for all `v`.
#[inline(always)]
fn log2_1p(v: f32) -> f32 {
    let v = at_most(v, 1e38);
    let u = 1.0 + v;
    let lost = v - (u - 1.0);
    (lost / u).mul_add(std::f32::consts::LOG2_E, log2(u))
}

/// `log2(1 + c r2)`. Where `c r2` is beyond single precision this is `log2(c r2)`, computed from `2^-126 c r2`.
#[inline(always)]
fn log2_1p_product(c: f32, r2: f32) -> f32 {
    let v = c * r2;
    let (v, shift) = if v > 1e38 { (c * f32::MIN_POSITIVE * r2 - 1.0, 126.0) } else { (v, 0.0) };
    log2_1p(v) + shift
}

/// `log2(u)` for normal `u > 0`, to about one unit in the last place, exactly 0 at 1.
///
/// `u = 2^e (1 + f)` with `1 + f` between `√½` and `√2`; `log2(1 + f)` is `f` times a polynomial, whose largest
/// coefficient has two parts and comes last, so that little is rounded twice.
#[inline(always)]
pub(crate) fn log2(u: f32) -> f32 {
    const SQRT_HALF: u32 = 0x3f35_04f3;
    const LOG2_E_REST: f32 = (LOG2_E - std::f32::consts::LOG2_E as f64) as f32;
    let above = u.to_bits().wrapping_sub(SQRT_HALF);
    let e = (above as i32 >> 23) as f32;
    let f = f32::from_bits((above & 0x007f_ffff) + SQRT_HALF) - 1.0;
    let mut p = -0.107_497_89_f32;
    p = p.mul_add(f, 0.184_760_33);
    p = p.mul_add(f, -0.191_388_38);
    p = p.mul_add(f, 0.204_857_65);
    p = p.mul_add(f, -0.239_608_12);
    p = p.mul_add(f, 0.288_552_55);
    p = p.mul_add(f, -0.360_696_55);
    p = p.mul_add(f, 0.480_898_53);
    p = p.mul_add(f, -0.721_347_33);
    let rest = f * p.mul_add(f, LOG2_E_REST);
    e + f.mul_add(std::f32::consts::LOG2_E, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest error of `f` in units in the last place, and where, over `values`.
    fn worst(values: impl Iterator<Item = f32>, f: fn(f32) -> f32, exact: fn(f64) -> f64) -> (f64, f32) {
        let error = |x: f32| {
            let exact = exact(f64::from(x));
            let nearest = exact.abs() as f32;
            let unit = f64::from(f32::from_bits(nearest.to_bits() + 1)) - f64::from(nearest);
            ((f64::from(f(x)) - exact).abs() / unit, x)
        };
        values.map(error).fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a })
    }

    #[test]
    fn exp2_is_accurate() {
        let (ulp, at) = worst((0..4_000_000).map(|i| -126.0 + i as f32 * (226.0 / 4e6)), exp2, libm::exp2);
        assert!(ulp < 1.0, "{ulp} units at {at}");
        let (ulp, at) = worst((0..400_000).map(|i| -1e-6 * i as f32), exp2, libm::exp2);
        assert!(ulp < 1.0, "{ulp} units at {at}");
        assert_eq!(exp2(0.0), 1.0);
        assert_eq!(exp2(-0.0), 1.0);
        assert!([-1e30, f32::NEG_INFINITY, f32::NAN].iter().all(|x| exp2(*x) == f32::MIN_POSITIVE));
    }

    #[test]
    fn log2_is_accurate() {
        let near_one = (1..2_000_000).map(|i| 1.0 + i as f32 * f32::EPSILON);
        let everywhere = (0x3f80_0001..0x7f00_0000).step_by(997).map(f32::from_bits);
        let (ulp, at) = worst(near_one.chain(everywhere), log2, libm::log2);
        assert!(ulp < 1.5, "{ulp} units at {at}");
        let small = (0..3_000_000).map(|i| 1e-12 * 1.000_02f32.powi(i)).take_while(|v| *v < 1e30);
        let (ulp, at) = worst(small, log2_1p, |v| libm::log1p(v) * LOG2_E);
        assert!(ulp < 2.0, "{ulp} units at {at}");
        assert_eq!((log2(1.0), log2_1p(0.0)), (0.0, 0.0));
        assert!(log2_1p(f32::INFINITY).is_finite());
    }

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
        let scaled = AnyKernel::Scaled { weight: 3.0, of: Box::new(gaussian.clone()) };
        let mixed = AnyKernel::Sum(vec![gaussian.clone(), AnyKernel::Linear]);
        assert_eq!((gaussian.gaussian_gamma(), scaled.gaussian_gamma(), mixed.gaussian_gamma()), (Some(2.0), Some(2.0), None));
        assert!(gaussian.translation_invariant() && scaled.translation_invariant() && !mixed.translation_invariant());
    }
}
