//! AVX2 and AVX-512: the portable loops compiled for these instruction sets, and tiles that fit their registers.
#![allow(unsafe_code)]

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
use std::sync::atomic::{AtomicU8, Ordering};

use super::LANES;
use super::chains::{Group, Link, Rows, sweep};
use super::panels::Line;
use super::portable::{Job, Tiling, sums_by_four, sums_by_one, totals_by_four};
use super::row_lanes::RowLanes;
use super::window::Window;

/// The widest of these instruction sets that this machine has; 0 before it was looked for. Kept here because the standard library answers one
/// feature at a time, which took as long as the shortest of the loops.
static FOUND: AtomicU8 = AtomicU8::new(0);
const NEITHER: u8 = 1;
const AVX2: u8 = 2;
const AVX512: u8 = 3;

#[inline(always)]
fn found() -> u8 {
    match FOUND.load(Ordering::Relaxed) {
        0 => look(),
        found => found,
    }
}

#[cold]
fn look() -> u8 {
    let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq");
    let found = match (avx2, avx512) {
        (true, true) => AVX512,
        (true, false) => AVX2,
        (false, _) => NEITHER,
    };
    FOUND.store(found, Ordering::Relaxed);
    found
}

/// Brings both cache lines of a line of a panel into the second-level cache.
#[inline(always)]
fn fetch(line: &Line) {
    let [first, second] = [&line.0[0], &line.0[LANES / 2]].map(|value| std::ptr::from_ref(value).cast());
    // SAFETY: every x86-64 processor has this instruction, and it changes no memory.
    unsafe {
        _mm_prefetch::<_MM_HINT_T1>(first);
        _mm_prefetch::<_MM_HINT_T1>(second);
    }
}

/// 32 registers of 16 floats.
pub(super) struct Avx512;

impl Avx512 {
    #[inline(always)]
    pub(super) fn runs_here() -> bool {
        found() == AVX512
    }

    /// Runs `job` compiled for AVX-512.
    #[inline(always)]
    pub(super) fn run(job: impl Job) {
        assert!(Self::runs_here());
        // SAFETY: this machine has every instruction set that `avx512` is compiled for.
        unsafe { avx512(job) }
    }
}

#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma")]
fn avx512(job: impl Job) {
    job.run::<Avx512>();
}

impl Tiling for Avx512 {
    const ROWS: usize = 8;

    /// At least 8 chains of vectors, to cover the latency of a multiply-add.
    #[inline(always)]
    fn tile<L: Link>(link: L, count: usize, rows: Rows<'_>, panels: Group<'_>, out: &mut Window<'_>) {
        match count {
            1 => sweep::<Self, L, 1, 4, 32>(link, rows, panels, out),
            2 => sweep::<Self, L, 2, 2, 32>(link, rows, panels, out),
            3 => sweep::<Self, L, 3, 2, 32>(link, rows, panels, out),
            4 => sweep::<Self, L, 4, 1, 32>(link, rows, panels, out),
            5 => sweep::<Self, L, 5, 1, 32>(link, rows, panels, out),
            6 => sweep::<Self, L, 6, 1, 32>(link, rows, panels, out),
            7 => sweep::<Self, L, 7, 1, 32>(link, rows, panels, out),
            _ => sweep::<Self, L, 8, 1, 32>(link, rows, panels, out),
        }
    }

    #[inline(always)]
    fn fetch(line: &Line) {
        fetch(line);
    }

    #[inline(always)]
    fn sums(k: &[f32], columns: &[&[f64]], out: &mut [f64]) {
        sums_by_four(k, columns, out);
    }

    #[inline(always)]
    fn totals_from(lanes: &[[f64; LANES]], k: &[f32], columns: &[&[f64]], out: &mut [f64]) {
        totals_by_four(lanes, k, columns, out);
    }

    /// 24 sums of a vector each leave room for four columns and the values of a row.
    #[inline(always)]
    fn row_lanes(mut job: RowLanes<'_>) {
        let first = job.tiles::<6, 4, 8>(0);
        job.tiles::<8, 1, 8>(first);
    }
}

/// 16 registers of 8 floats.
pub(super) struct Avx2;

impl Avx2 {
    #[inline(always)]
    pub(super) fn runs_here() -> bool {
        found() >= AVX2
    }

    /// Runs `job` compiled for AVX2.
    #[inline(always)]
    pub(super) fn run(job: impl Job) {
        assert!(Self::runs_here());
        // SAFETY: this machine has every instruction set that `avx2` is compiled for.
        unsafe { avx2(job) }
    }
}

#[target_feature(enable = "avx2,fma")]
fn avx2(job: impl Job) {
    job.run::<Avx2>();
}

impl Tiling for Avx2 {
    const ROWS: usize = 6;

    /// Six rows by two vectors leave room for the terms and one feature; fewer rows take wider tiles.
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
    fn fetch(line: &Line) {
        fetch(line);
    }

    #[inline(always)]
    fn sums(k: &[f32], columns: &[&[f64]], out: &mut [f64]) {
        sums_by_one(k, columns, out);
    }

    #[inline(always)]
    fn row_lanes(mut job: RowLanes<'_>) {
        let first = job.tiles::<3, 4, 4>(0);
        job.tiles::<8, 1, 4>(first);
    }
}
