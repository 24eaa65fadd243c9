//! Exponentials and logarithms in single precision, to base 2: one polynomial each, the same bits on every instruction set. And e^x in
//! double precision.

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

/// ln 2 in two parts, of which the first has trailing zeros, so that its product with a small whole number is exact.
const LN_2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN_2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);

/// The multiple of ln 2 by which `libm::exp` and `libm::expm1` reduce a negative number: none, one, or the nearest one.
#[inline(always)]
fn multiple_of_ln_2(x: f64) -> i32 {
    const ONE: f64 = f64::from_bits(0x3fd6_2e43_0000_0000);
    const NEAREST: f64 = f64::from_bits(0x3ff0_a2b2_0000_0000);
    let near = if x <= -ONE { -1 } else { 0 };
    if x <= -NEAREST { (LOG2_E * x - 0.5) as i32 } else { near }
}

/// The bits of `libm::exp`. Its branches on the size of `x` cannot be predicted where `x` varies: here they are selections, so a processor
/// also computes several exponentials at the same time. Other numbers than those from -700 to 0 are left to the library. Constants and order
/// of operations are those of the library (FreeBSD's e_exp.c).
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    /// For a smaller |x| the library returns 1 + x.
    const TINY: f64 = f64::from_bits(0x3e30_0001_0000_0000);
    const P: [f64; 5] = [
        f64::from_bits(0x3fc5_5555_5555_553e),
        f64::from_bits(0xbf66_c16c_16be_bd93),
        f64::from_bits(0x3f11_566a_af25_de2c),
        f64::from_bits(0xbebb_bd41_c5d2_6bf1),
        f64::from_bits(0x3e66_3769_72be_a4d0),
    ];
    if !(x > -700.0 && x <= 0.0) {
        return libm::exp(x);
    }
    let k = multiple_of_ln_2(x);
    let (high, low) = (x - f64::from(k) * LN_2_HIGH, f64::from(k) * LN_2_LOW);
    let r = high - low;
    let rr = r * r;
    let c = r - rr * (P[0] + rr * (P[1] + rr * (P[2] + rr * (P[3] + rr * P[4]))));
    let y = 1.0 + (r * c / (2.0 - c) - low + high);
    if x <= -TINY { y * power_of_two(k) } else { 1.0 + x }
}

/// The bits of `libm::expm1`, in the same way (FreeBSD's s_expm1.c); numbers from -38 to 0.
#[inline(always)]
pub(super) fn expm1(x: f64) -> f64 {
    /// For a smaller |x| the library returns x.
    const TINY: f64 = f64::from_bits(0x3c90_0000_0000_0000);
    const Q: [f64; 5] = [
        f64::from_bits(0xbfa1_1111_1111_10f4),
        f64::from_bits(0x3f5a_01a0_19fe_5585),
        f64::from_bits(0xbf14_ce19_9eaa_dbb7),
        f64::from_bits(0x3ed0_cfca_86e6_5239),
        f64::from_bits(0xbe8a_fdb7_6e09_c32d),
    ];
    if !(x > -38.0 && x <= 0.0) {
        return libm::expm1(x);
    }
    let k = multiple_of_ln_2(x);
    let (high, low) = (x - f64::from(k) * LN_2_HIGH, f64::from(k) * LN_2_LOW);
    let r = high - low;
    let c = (high - r) - low;
    let half = 0.5 * r;
    let rr = r * half;
    let r1 = 1.0 + rr * (Q[0] + rr * (Q[1] + rr * (Q[2] + rr * (Q[3] + rr * Q[4]))));
    let t = 3.0 - r1 * half;
    let e = rr * ((r1 - t) / (6.0 - r * t));
    let d = r - (r * (e - c) - c - rr);
    let reduced = if k == -1 { 0.5 * d - 0.5 } else { (d + 1.0) * power_of_two(k) - 1.0 };
    let value = if k == 0 { d } else { reduced };
    if x <= -TINY { value } else { x }
}

/// 2^k, a normal number.
#[inline(always)]
fn power_of_two(k: i32) -> f64 {
    f64::from_bits(((1023 + k) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use std::f64::consts::LN_2;

    use super::*;

    #[test]
    fn exp_and_expm1_have_the_bits_of_the_library() {
        let sizes = (0..400_000).map(|i| 2f64.powf(-60.0 + f64::from(i) * (71.0 / 4e5)));
        // Both sides of every limit: of an argument that is reduced, of another multiple of ln 2, and of what is left to the library.
        let limits =
            [2f64.powi(-54), 2f64.powi(-28), 0.5 * LN_2, 1.5 * LN_2, 2.5 * LN_2, 38.0, 56.0 * LN_2, 700.0, 708.39, 745.13];
        let around = |limit: f64| (-3000..3000).map(move |i| f64::from_bits((limit.to_bits() as i64 + i * 7919) as u64));
        // The library compares the upper half of the bits.
        let halves = limits.map(|limit| limit.to_bits() >> 32).into_iter().flat_map(|half| half - 3..half + 4);
        let around_halves = halves.flat_map(|half| [0, 1, 0xffff_ffff].map(|low| f64::from_bits((half << 32) | low)));
        let all = sizes.chain(limits.into_iter().flat_map(around)).chain(around_halves).flat_map(|x| [x, -x]);
        for x in all.chain([0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY]) {
            assert_eq!(exp(x).to_bits(), libm::exp(x).to_bits(), "{x:e}");
            assert_eq!(expm1(x).to_bits(), libm::expm1(x).to_bits(), "{x:e}");
        }
        assert!(exp(f64::NAN).is_nan() && expm1(f64::NAN).is_nan());
    }

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
