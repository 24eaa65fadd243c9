//! The scalar equations behind the proximal steps.

/// The largest number of Newton steps before bisection, and of all steps. Bisection alone needs about 64.
const NEWTON: usize = 60;
const CAP: usize = 200;

/// The root of an increasing function in `[lo, hi]`: Newton's method from `start`, with bisection if a step leaves the bracket.
///
/// `f` returns value and slope. The last step is the one from a point with `|value| <= close` (Newton squares the error, so
/// `close` may be far above the rounding of `f`), or one below the spacing of f64.
pub(super) fn root(mut lo: f64, mut hi: f64, start: f64, close: f64, f: impl Fn(f64) -> (f64, f64)) -> f64 {
    let mut x = start;
    for step in 0..CAP {
        let (value, slope) = f(x);
        if value < 0.0 {
            lo = x;
        } else {
            hi = x;
        }
        let newton = x - value / slope;
        let next = if newton >= lo && newton <= hi && step < NEWTON { newton } else { lo + 0.5 * (hi - lo) };
        if value.abs() <= close || (next - x).abs() <= 0.5 * f64::EPSILON * x.abs() {
            return next;
        }
        x = next;
    }
    x
}

/// Wright's omega: the `w` with `w + log w = beta`, in relative precision.
///
/// Fritsch, Shafer and Crowley's iteration multiplies the number of correct digits by four; the starts are within 40 %.
pub(super) fn omega(beta: f64) -> f64 {
    if beta < -38.0 {
        return libm::exp(beta); // w is then below half the spacing of f64 at 1
    }
    let mut w = match beta {
        _ if beta < -1.0 => libm::exp(beta),
        _ if beta < 2.0 => 0.567_143_290_4 * (1.0 + 0.638_1 * beta + 0.1 * beta * beta),
        _ => beta - libm::log(beta),
    };
    for _ in 0..3 {
        let r = beta - w - libm::log(w);
        let a = 1.0 + w;
        let q = 2.0 * a * (a + r * (2.0 / 3.0));
        w *= 1.0 + r / a * ((q - r) / (q - 2.0 * r));
    }
    w
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omega_solves_its_equation() {
        for i in -4000..4000 {
            let beta = f64::from(i) * 0.0501;
            let w = omega(beta);
            let off = (w + libm::log(w) - beta).abs();
            assert!(off <= 4e-16 * (1.0 + beta.abs()), "beta {beta}: w {w}, off by {off}");
        }
    }

    #[test]
    fn root_is_found_where_newton_alone_cycles_or_leaves() {
        // atan from 3: Newton diverges.
        let x = root(-50.0, 40.0, 3.0, 0.0, |x| (libm::atan(x), 1.0 / (1.0 + x * x)));
        assert!(x.abs() < 1e-15, "{x}");
        // A cube root from a flat start: Newton leaves the bracket.
        let x = root(-1.0, 8.0, 1e-9, 0.0, |x| (x * x * x - 2.0, 3.0 * x * x));
        assert!((x - libm::cbrt(2.0)).abs() < 4e-16, "{x}");
        // A slope that is not a number at the start.
        let x = root(0.0, 9.0, 0.0, 0.0, |x| (x.sqrt() - 2.0, 0.5 * x.sqrt() / x));
        assert!((x - 4.0).abs() < 1e-15, "{x}");
    }
}
