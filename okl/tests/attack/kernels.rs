//! Kernels in f64 by their formulas, and how far single precision may be from them.
//!
//! The engine computes a kernel value from <x, y>, |x|² and |y|², each one chain of D fused multiply-adds in f32, u = 2^-24:
//!
//! ```text
//! |fl<x, y> - <x, y>| <= D u sum_j |x_j y_j|                         |fl(r²) - r²| <= (D + 3) u (|x| + |y|)²
//! ```
//!
//! (three more roundings for |x|² + |y|² - 2<x, y>). The elementwise map is monotone in r² or in <x, y>, so the error of a value is at
//! most what the map makes of both ends of that interval, plus `MAP` u of the value: 1 ulp (2 u) of the exponential, 2 u of the rounded
//! constant per unit of the exponent, 2 u of the last products. So the claim of this attack is
//!
//! ```text
//! |f_f32(x) - f(x)| <= 2^-24 sum_i c_i |alpha_i| |k(x_i, x)|,   c_i = error(x_i, x) / (2^-24 |k(x_i, x)|)
//! ```
//!
//! which is c_i = MAP + 2 gamma (D + 3) (|x| + |y|)² or so for a Gaussian, and D + 2 for a linear kernel and vectors of one sign.

use okl::kernel::AnyKernel;

/// Half the distance from one to the next number of f32.
pub const U: f64 = 1.0 / 16_777_216.0;
/// Roundings of an elementwise map, relative to its value.
const MAP: f64 = 8.0;
/// Below this a value of f32 has lost digits or is zero.
const TINY: f64 = 1e-36;

/// A kernel value and how far single precision may be from it.
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// The value.
    pub k: f64,
    /// The largest error of the value in single precision.
    pub error: f64,
}

/// What kernels are functions of.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    dot: f64,
    dot_error: f64,
    r2: f64,
    r2_error: f64,
    manhattan: f64,
    manhattan_error: f64,
}

impl Pair {
    /// Of two rows; the distance comes from differences.
    pub fn of(x: &[f64], y: &[f64]) -> Self {
        let d = x.len() as f64;
        let (mut dot, mut size, mut r2, mut xx, mut yy, mut manhattan) = (0.0, 0.0, 0.0, 0.0f64, 0.0f64, 0.0);
        for (a, b) in x.iter().zip(y) {
            dot += a * b;
            size += (a * b).abs();
            r2 += (a - b) * (a - b);
            xx += a * a;
            yy += b * b;
            manhattan += (a - b).abs();
        }
        let reach = xx.sqrt() + yy.sqrt();
        // Products below the normal range of f32 lose their digits one by one.
        let lost = d * 1e-38;
        // A difference, its product with the weight and the sum are rounded once each.
        let manhattan_error = (d + 2.0) * U * manhattan + lost;
        Self {
            dot,
            dot_error: d * U * size + lost,
            r2,
            r2_error: (d + 3.0) * U * reach * reach + 4.0 * lost,
            manhattan,
            manhattan_error,
        }
    }

    /// Of two rows whose squared differences have weights, which are rounded to single precision. Weighted values are rounded once more
    /// before they are multiplied, which adds at most U |x| |y| to an inner product and to a square: 4 U (|x| + |y|)² in all.
    pub fn weighted(x: &[f64], y: &[f64], weights: &[f64]) -> Self {
        let root = |j: usize| f64::from(weights.get(j).copied().unwrap_or(1.0) as f32).sqrt();
        let scaled = |row: &[f64]| row.iter().enumerate().map(|(j, x)| root(j) * x).collect::<Vec<f64>>();
        let (x, y) = (scaled(x), scaled(y));
        let size = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>().sqrt();
        let reach = size(&x) + size(&y);
        let pair = Self::of(&x, &y);
        // The square root of a weight is rounded, too.
        let manhattan_error = pair.manhattan_error + U * pair.manhattan;
        Self { r2_error: pair.r2_error + 4.0 * U * reach * reach, manhattan_error, ..pair }
    }
}

/// The value of a kernel, and its error in single precision.
pub fn value(kernel: &AnyKernel, pair: &Pair) -> Value {
    match kernel {
        AnyKernel::Linear => Value { k: pair.dot, error: pair.dot_error + U * pair.dot.abs() },
        AnyKernel::Polynomial { degree, gamma, coef0 } => polynomial(*degree, *gamma, *coef0, pair),
        AnyKernel::Scaled { weight, of } => {
            let of = value(of, pair);
            let k = weight * of.k;
            Value { k, error: weight.abs() * of.error + 3.0 * U * k.abs() + TINY }
        }
        AnyKernel::Sum(parts) => parts.iter().map(|part| value(part, pair)).fold(Value { k: 0.0, error: 0.0 }, |a, b| {
            let k = a.k + b.k;
            let error = a.error + b.error;
            Value { k, error: error + U * (k.abs() + error) }
        }),
        AnyKernel::Product(parts) => parts.iter().map(|part| value(part, pair)).fold(Value { k: 1.0, error: 0.0 }, |a, b| {
            let k = a.k * b.k;
            let error = a.k.abs() * b.error + b.k.abs() * a.error + a.error * b.error;
            Value { k, error: error + U * (k.abs() + error) + TINY }
        }),
        AnyKernel::Manhattan { gamma } => {
            let (at, error) = (pair.manhattan, pair.manhattan_error);
            let ends = [(at - error).max(0.0), at, at + error].map(|s| (-gamma * s).exp());
            interval(ends, gamma * (at + error))
        }
        radial_kernel => {
            let (at, error) = (pair.r2, pair.r2_error);
            let ends = [(at - error).max(0.0), at, at + error].map(|r2| radial(radial_kernel, r2));
            interval(ends, exponent(radial_kernel, pair))
        }
    }
}

/// k as a decreasing function of r².
fn radial(kernel: &AnyKernel, r2: f64) -> f64 {
    let r = r2.sqrt();
    match *kernel {
        AnyKernel::Gaussian { gamma } => (-gamma * r2).exp(),
        AnyKernel::Exponential { gamma } => (-gamma * r).exp(),
        AnyKernel::Matern32 { gamma } => {
            let s = 3f64.sqrt() * gamma * r;
            (1.0 + s) * (-s).exp()
        }
        AnyKernel::Matern52 { gamma } => {
            let s = 5f64.sqrt() * gamma * r;
            (1.0 + s + s * s / 3.0) * (-s).exp()
        }
        AnyKernel::RationalQuadratic { gamma, alpha } => (-alpha * (gamma * r2 / alpha).ln_1p()).exp(),
        _ => unreachable!("not a radial kernel"),
    }
}

/// The size of the exponent whose constant is rounded to f32.
fn exponent(kernel: &AnyKernel, pair: &Pair) -> f64 {
    let (r2, r) = (pair.r2 + pair.r2_error, (pair.r2 + pair.r2_error).sqrt());
    match *kernel {
        AnyKernel::Gaussian { gamma } => gamma * r2,
        AnyKernel::Exponential { gamma } => gamma * r,
        AnyKernel::Matern32 { gamma } | AnyKernel::Matern52 { gamma } => 2.3 * gamma * r,
        AnyKernel::RationalQuadratic { gamma, alpha } => alpha + alpha * (gamma * r2 / alpha).ln_1p(),
        _ => 0.0,
    }
}

/// A value from the kernel at the least distance, at the distance itself and at the largest one.
fn interval([near, at, far]: [f64; 3], exponent: f64) -> Value {
    let map = (MAP + 4.0 * exponent) * U;
    Value { k: at, error: (near - at).max(at - far) + map.min(1.0) * near + TINY }
}

fn polynomial(degree: u32, gamma: f64, coef0: f64, pair: &Pair) -> Value {
    let base = gamma * pair.dot + coef0;
    let error = gamma.abs() * pair.dot_error + 2.0 * U * ((gamma * pair.dot).abs() + coef0.abs()) + U * base.abs();
    let p = f64::from(degree);
    let largest = (base.abs() + error).powf(p);
    Value { k: base.powi(degree as i32), error: (largest - base.abs().powf(p)) + (p + 2.0) * U * largest + TINY }
}
