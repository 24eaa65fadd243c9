//! NEON is part of every 64-bit ARM target, so the portable loops need no run-time dispatch, only tiles that fit 32 registers of
//! 4 floats. The code runs on every machine (in tests too), but is fast on ARM only.

use super::chains::{Group, Link, Rows, sweep};
use super::portable::{Tiling, sums_by_one};
use super::window::Window;

/// 32 registers of 4 floats.
pub(super) struct Neon;

impl Tiling for Neon {
    const ROWS: usize = 6;

    /// At least 16 chains of vectors, because four multiply-adds start per cycle and each takes four cycles.
    #[inline(always)]
    fn tile<L: Link>(link: L, count: usize, rows: Rows<'_>, panels: Group<'_>, out: &mut Window<'_>) {
        match count {
            1 => sweep::<Self, L, 1, 2, 32>(link, rows, panels, out),
            2 => sweep::<Self, L, 2, 1, 32>(link, rows, panels, out),
            3 => sweep::<Self, L, 3, 1, 32>(link, rows, panels, out),
            4 => sweep::<Self, L, 4, 1, 16>(link, rows, panels, out),
            5 => sweep::<Self, L, 5, 1, 16>(link, rows, panels, out),
            _ => sweep::<Self, L, 6, 1, 16>(link, rows, panels, out),
        }
    }

    #[inline(always)]
    fn sums(k: &[f32], columns: &[&[f64]], out: &mut [f64]) {
        sums_by_one(k, columns, out);
    }
}
