//! Two functions k(x, .) and k(y, .) in double precision, to compute the residual when one is projected onto the other.

use crate::gram::{Backend, Compiled};

/// Inner products and distances of two rows in double precision. Differences are taken before squares, so small distances are accurate.
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
    /// The Manhattan distance: the sum of `|x_j - y_j|`.
    pub manhattan: f64,
}

impl TwoRows {
    /// Computes these numbers for two rows of equal length.
    pub fn new(x: &[f32], y: &[f32]) -> Self {
        TwoRows::of_values(x.iter().copied().zip(y.iter().copied()))
    }

    /// Computes these numbers from the values of two rows in order. Features that are zero in both can be left out.
    #[inline]
    pub fn of_values(values: impl Iterator<Item = (f32, f32)>) -> Self {
        let mut rows = TwoRows { dot: 0.0, xx: 0.0, yy: 0.0, apart2: 0.0, tilt: 0.0, manhattan: 0.0 };
        for (x, y) in values {
            let (x, y) = (f64::from(x), f64::from(y));
            rows.dot += x * y;
            rows.xx += x * x;
            rows.yy += y * y;
            rows.apart2 += (x - y) * (x - y);
            rows.tilt += (x - y) * (x + y);
            rows.manhattan += (x - y).abs();
        }
        rows
    }

    /// The same numbers where the products of column j are multiplied by v_j; without the Manhattan distance.
    pub(crate) fn weighted(x: &[f32], y: &[f32], v: &[f32]) -> Self {
        let mut rows = TwoRows { dot: 0.0, xx: 0.0, yy: 0.0, apart2: 0.0, tilt: 0.0, manhattan: 0.0 };
        for ((x, y), v) in x.iter().zip(y).zip(v) {
            let (x, y, v) = (f64::from(*x), f64::from(*y), f64::from(*v));
            rows.dot += v * x * y;
            rows.xx += v * x * x;
            rows.yy += v * y * y;
            rows.apart2 += v * (x - y) * (x - y);
            rows.tilt += v * (x - y) * (x + y);
        }
        rows
    }

    /// The same numbers with the Manhattan distance. The weights of differences are -2 times the numbers `halves`; 1, if there are none.
    pub(crate) fn with_manhattan(self, x: &[f32], y: &[f32], halves: &[f32]) -> Self {
        let apart = |(x, y): (&f32, &f32)| (f64::from(*x) - f64::from(*y)).abs();
        let manhattan = match halves {
            [] => x.iter().zip(y).map(apart).sum(),
            _ => x.iter().zip(y).zip(halves).map(|(xy, half)| -2.0 * f64::from(*half) * apart(xy)).sum(),
        };
        TwoRows { manhattan, ..self }
    }

    /// [`TwoRows::new`] of (a, b), (a, z) and (b, z) with the same bits but for the Manhattan distance, which is 0, computed at once, and |z|² by
    /// the chain of [`square`](crate::gram::square). With weights: [`TwoRows::weighted`].
    pub(crate) fn around(backend: Backend, [a, b, z]: [&[f32]; 3], weights: Option<&[f32]>) -> ([TwoRows; 3], f32) {
        let (mut sums, mut square) = ([[0.0; 4]; 5], 0.0);
        match weights {
            None => backend.compiled(Around { a, b, z, v: std::iter::repeat(&1.0), sums: &mut sums, square: &mut square }),
            Some(v) => backend.compiled(Around { a, b, z, v: v.iter(), sums: &mut sums, square: &mut square }),
        }
        let [dot, xx, yy, apart2, tilt] = sums;
        let of = |l: usize| TwoRows { dot: dot[l], xx: xx[l], yy: yy[l], apart2: apart2[l], tilt: tilt[l], manhattan: 0.0 };
        ([of(0), of(1), of(2)], square)
    }

    /// `|x - y|²`: the same sum alone.
    pub(crate) fn apart2_of(x: &[f32], y: &[f32]) -> f64 {
        let difference = |(x, y): (&f32, &f32)| f64::from(*x) - f64::from(*y);
        x.iter().zip(y).map(difference).fold(0.0, |sum, d| sum + d * d)
    }

    /// The zero row and a row at a squared distance of `r2` from it, along one column. For a radial kernel `shared` of their pair is k(sqrt(r2)).
    pub fn apart(r2: f64) -> Self {
        TwoRows { dot: 0.0, xx: 0.0, yy: r2, apart2: r2, tilt: -r2, manhattan: r2.sqrt() }
    }
}

/// The sums of three pairs of rows, a lane each; the fourth lane stays 0. A product with the weight 1 changes no bit.
struct Around<'a, V> {
    a: &'a [f32],
    b: &'a [f32],
    z: &'a [f32],
    v: V,
    sums: &'a mut [[f64; 4]; 5],
    square: &'a mut f32,
}

impl<'a, V: Iterator<Item = &'a f32>> Compiled for Around<'a, V> {
    #[inline(always)]
    fn run(self) {
        let [mut dot, mut xx, mut yy, mut apart2, mut tilt] = [[0.0; 4]; 5];
        let mut square = 0.0f32;
        for (((a, b), z), v) in self.a.iter().zip(self.b).zip(self.z).zip(self.v) {
            square = (v * z).mul_add(*z, square);
            let (a, b, z, v) = (f64::from(*a), f64::from(*b), f64::from(*z), f64::from(*v));
            let (x, y) = ([a, a, b, 0.0], [b, z, z, 0.0]);
            for l in 0..4 {
                dot[l] += v * x[l] * y[l];
                xx[l] += v * x[l] * x[l];
                yy[l] += v * y[l] * y[l];
                apart2[l] += v * (x[l] - y[l]) * (x[l] - y[l]);
                tilt[l] += v * (x[l] - y[l]) * (x[l] + y[l]);
            }
        }
        *self.sums = [dot, xx, yy, apart2, tilt];
        *self.square = square;
    }
}

/// A row between two others: its squared distances from them (those of [`TwoRows::around`]), its square, and the largest |value|.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Blended {
    pub apart2: [f64; 2],
    pub square: f32,
    pub largest: f32,
}

impl Blended {
    /// Writes h a + (1 - h) b to z.
    pub fn new(backend: Backend, [a, b]: [&[f32]; 2], h: f64, z: &mut [f32]) -> Self {
        let mut out = Blended::default();
        backend.compiled(Blend { a, b, h, z, out: &mut out });
        out
    }
}

struct Blend<'a> {
    a: &'a [f32],
    b: &'a [f32],
    h: f64,
    z: &'a mut [f32],
    out: &'a mut Blended,
}

impl Compiled for Blend<'_> {
    #[inline(always)]
    fn run(self) {
        let (h, rest) = (self.h, 1.0 - self.h);
        let ([mut from_a, mut from_b], mut square, mut largest) = ([0.0; 2], 0.0f32, 0.0f32);
        for ((to, a), b) in self.z.iter_mut().zip(self.a).zip(self.b) {
            let (a, b) = (f64::from(*a), f64::from(*b));
            let z = (h * a + rest * b) as f32;
            *to = z;
            square = z.mul_add(z, square);
            largest = if z.abs() > largest { z.abs() } else { largest };
            let z = f64::from(z);
            from_a += (a - z) * (a - z);
            from_b += (b - z) * (b - z);
        }
        *self.out = Blended { apart2: [from_a, from_b], square, largest };
    }
}

/// The functions k(x, .) and k(y, .) of two points, in double precision. The residual of one after projection onto the other is a
/// small difference, which single precision would lose (law 5).
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
    /// Computes a pair from three kernel values. Digits that cancel in the differences are lost.
    pub fn of_values(xx: f64, xy: f64, yy: f64) -> Self {
        Pair { first: xx, shared: xy, second: yy, apart2: xx + yy - 2.0 * xy, tilt: xx - yy }
    }

    /// Computes a pair from `gap = 1 - k(x, y)`, for a kernel with k(x, x) = 1.
    pub(super) fn below_one(gap: f64) -> Self {
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

    /// `|k(x, .) - share k(y, .)|²`; may be slightly negative because of rounding.
    pub fn left(&self, share: f64) -> f64 {
        let rest = 1.0 - share;
        if rest.abs() < 0.5 {
            // For close points, the formula with their difference is more accurate.
            return share * self.apart2 + rest * self.tilt + rest * rest * self.second;
        }
        self.first - share * (2.0 * self.shared - share * self.second)
    }

    pub(super) fn scaled(self, by: f64) -> Self {
        Pair {
            first: by * self.first,
            shared: by * self.shared,
            second: by * self.second,
            apart2: by * self.apart2,
            tilt: by * self.tilt,
        }
    }

    /// The pair for the sum of two kernels.
    pub(super) fn plus(self, other: Self) -> Self {
        Pair {
            first: self.first + other.first,
            shared: self.shared + other.shared,
            second: self.second + other.second,
            apart2: self.apart2 + other.apart2,
            tilt: self.tilt + other.tilt,
        }
    }

    /// The pair for the product of two kernels. With k(x, x) = c + (d + t)/2 and k(y, y) = c + (d - t)/2 of each, no large numbers
    /// cancel.
    pub(super) fn times(self, other: Self) -> Self {
        let ((c, d, t), (e, f, u)) = ((self.shared, self.apart2, self.tilt), (other.shared, other.apart2, other.tilt));
        Pair {
            first: self.first * other.first,
            shared: c * e,
            second: self.second * other.second,
            apart2: e * d + c * f + 0.5 * (d * f + t * u),
            tilt: c * u + e * t + 0.5 * (d * u + t * f),
        }
    }

    /// The pair for a power of the kernel, by repeated squaring from the lowest bit of the degree.
    pub(super) fn power(self, mut degree: u32) -> Self {
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

/// `1 - (1 + s) exp(-s)` for s >= 0. For small s its upper bound `s²/2`, because the difference would be mostly rounding error.
pub(super) fn matern32_gap(s: f64) -> f64 {
    if s < 1e-5 { 0.5 * s * s } else { -libm::expm1(-s) - s * libm::exp(-s) }
}

/// `1 - (1 + s + s²/3) exp(-s)` for s >= 0; for small s its upper bound `s²/6`.
pub(super) fn matern52_gap(s: f64) -> f64 {
    if s < 1e-5 { s * s / 6.0 } else { -libm::expm1(-s) - (s + s * s / 3.0) * libm::exp(-s) }
}
