//! NEON is part of every 64-bit ARM target, so the portable loops need no run-time dispatch, only tiles that fit 32 registers of
//! 4 floats. The code runs on every machine (in tests too), but is fast on ARM only.

use super::panels::Panel;
use super::portable::{Link, Rows, Tiling, sums_by_one, sweep};
use super::window::Window;

/// 32 registers of 4 floats.
pub(super) struct Neon;

impl Tiling for Neon {
    const ROWS: usize = 6;

    /// At least 16 chains of vectors, because four multiply-adds start per cycle and each takes four cycles.
    #[inline(always)]
    fn tile<L: Link>(link: L, count: usize, rows: Rows<'_>, panels: &[Panel], base: usize, out: &mut Window<'_>) {
        match count {
            1 => sweep::<L, 1, 2, 32>(link, rows, panels, base, out),
            2 => sweep::<L, 2, 1, 32>(link, rows, panels, base, out),
            3 => sweep::<L, 3, 1, 32>(link, rows, panels, base, out),
            4 => sweep::<L, 4, 1, 16>(link, rows, panels, base, out),
            5 => sweep::<L, 5, 1, 16>(link, rows, panels, base, out),
            _ => sweep::<L, 6, 1, 16>(link, rows, panels, base, out),
        }
    }

    #[inline(always)]
    fn sums(k: &[f32], columns: &[&[f64]], out: &mut [f64]) {
        sums_by_one(k, columns, out);
    }
}
