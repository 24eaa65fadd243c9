//! Exponentials and logarithms in single precision, to base 2: one polynomial each, the same bits on every instruction set.

use std::f64::consts::LOG2_E;

/// The larger of the two; `floor` if `x` is NaN. One instruction on every backend, unlike `f32::max`.
#[inline(always)]
pub(super) fn at_least(x: f32, floor: f32) -> f32 {
    if x > floor { x } else { floor }
}

/// The smaller of the two; `ceiling` if `x` is NaN.
#[inline(always)]
pub(super) fn at_most(x: f32, ceiling: f32) -> f32 {
    if x < ceiling { x } else { ceiling }
}

/// `2^x` for `x <= 127`, to about one unit in the last place, exactly 1 at 0. For `x < -126` and for NaN: `2^-126`, the smallest
/// normal number.
#[inline(always)]
pub(crate) fn exp2(x: f32) -> f32 {
    exp2_product(at_least(x, -126.0), 1.0)
}

/// `2^(u c)` for `u c` between -126 and 127, without a separate rounding of the product.
///
/// `u c = n + r` with `n` the nearest integer; `2^r - 1` is `r` times a polynomial and `n` is added to the exponent.
#[inline(always)]
pub(super) fn exp2_product(u: f32, c: f32) -> f32 {
    /// Adding this to a small number puts the nearest integer into the lowest bits of the mantissa.
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

/// `log2(1 + v)` for `v >= 0`. The rounding error of `1 + v` is corrected to first order. Finite for all `v`.
#[inline(always)]
pub(super) fn log2_1p(v: f32) -> f32 {
    let v = at_most(v, 1e38);
    let u = 1.0 + v;
    let lost = v - (u - 1.0);
    (lost / u).mul_add(std::f32::consts::LOG2_E, log2(u))
}

/// `log2(1 + c r2)`. If `c r2` exceeds single precision: `log2(c r2)`, computed from `2^-126 c r2`.
#[inline(always)]
pub(super) fn log2_1p_product(c: f32, r2: f32) -> f32 {
    let v = c * r2;
    let (v, shift) = if v > 1e38 { (c * f32::MIN_POSITIVE * r2 - 1.0, 126.0) } else { (v, 0.0) };
    log2_1p(v) + shift
}

/// `log2(u)` for normal `u > 0`, to about one unit in the last place, exactly 0 at 1.
///
/// `u = 2^e (1 + f)` with `1 + f` between `√½` and `√2`; `log2(1 + f)` is `f` times a polynomial, whose largest
/// coefficient has two parts and comes last, so that little is rounded twice.
#[inline(always)]
fn log2(u: f32) -> f32 {
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

    /// The largest error of `f` over `values`, in units in the last place, and the value with this error.
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
}
