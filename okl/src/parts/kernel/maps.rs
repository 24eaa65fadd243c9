//! The kernels as elementwise functions of inner products, written once for every backend.

use crate::gram::{Backend, Elementwise};
use crate::parts::kernel::exp::{at_least, at_most, exp2, exp2_product, log2_1p_product};
use crate::parts::kernel::{AnyKernel, DotKernel};

/// `|x - y|²`; exactly 0 for equal rows. A negative value from rounding becomes 0.
#[inline(always)]
pub(super) fn distance2(dot: f32, xx: f32, yy: f32) -> f32 {
    at_least((-2.0f32).mul_add(dot, xx + yy), 0.0)
}

/// Beyond this, `exp(-s)` is below the smallest normal number. Larger `s` are clamped, because an infinite `s` times 0 is NaN.
const LARGEST_EXPONENT: f32 = 88.0;

/// Defines an elementwise function of two values, with its constants.
macro_rules! elementwise {
    ($name:ident { $($constant:ident),* }, $value:ident, $other:pat => $result:expr) => {
        #[derive(Clone, Copy)]
        pub(super) struct $name {
            $(pub $constant: f32),*
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

elementwise!(Distance2 { xx }, dot, yy => distance2(dot, xx, yy));
elementwise!(Gaussian { c, far, xx }, dot, yy => exp2_product(at_most(distance2(dot, xx, yy), far), c));
elementwise!(Exponential { c, xx }, dot, yy => exp2(c * distance2(dot, xx, yy).sqrt()));
elementwise!(Manhattan { c, far }, minus_half, _ => exp2_product(at_most(-2.0 * minus_half, far), c));
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

/// Computes powers by repeated squaring, from the lowest bit of the degree.
pub(super) fn map_polynomial(backend: Backend, degree: u32, gamma: f32, coef0: f32, yy: &[f32], values: &mut [f32]) {
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

/// The number of values that a power, sum or product computes at a time, with at most two buffers on the stack per level of nesting.
const STRETCH: usize = 256;

/// Combines the values of the kernels in their order, starting with `start`.
pub(super) fn map_fold(
    of: &[AnyKernel],
    start: f32,
    combine: impl Elementwise,
    backend: Backend,
    xx: f32,
    yy: &[f32],
    values: &mut [f32],
) {
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
