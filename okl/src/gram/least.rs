//! The slot with the least score, where a score is computed from the numbers of its slot.

use super::LANES;
use super::portable::{Job, Tiling, cut, each};

/// The bits of a number of at least +0: such numbers are in the order of their bits, and whole numbers are compared faster.
pub(crate) trait Bits: Copy + Ord {
    /// Those of infinity.
    const INFINITY: Self;
}

impl Bits for u32 {
    const INFINITY: Self = f32::INFINITY.to_bits();
}

impl Bits for u64 {
    const INFINITY: Self = f64::INFINITY.to_bits();
}

/// A score of at least +0 from `N` double-precision and `M` single-precision numbers of a slot; the laws of
/// [`Elementwise`](super::Elementwise) hold.
pub(crate) trait Score<const N: usize, const M: usize>: Copy {
    /// The bits of single or double precision.
    type Bits: Bits;
    /// The bits of the score. Implement it `#[inline(always)]`.
    fn at(self, doubles: [f64; N], singles: [f32; M]) -> Self::Bits;
}

/// Slots per part, if there are so many. Only the part with the least score is searched for its slot.
const PART: usize = 128;

/// Finds the first one of `count` slots with the least score: 0 if no score is below infinity. Slots behind `count` up to a whole number of
/// panels have numbers, which do not matter.
pub(super) struct Least<'a, const N: usize, const M: usize, F> {
    pub(super) doubles: [&'a [f64]; N],
    pub(super) singles: [&'a [f32]; M],
    pub(super) count: usize,
    pub(super) f: F,
    pub(super) out: &'a mut usize,
}

impl<const N: usize, const M: usize, F: Score<N, M>> Job for Least<'_, N, M, F> {
    #[inline(always)]
    fn run<T: Tiling>(self) {
        let (mut best, mut at) = (F::Bits::INFINITY, 0);
        let long = self.count / PART * PART;
        for first in (0..long).step_by(PART) {
            let least = self.least::<PART>(first);
            if least < best {
                (best, at) = (least, first);
            }
        }
        for first in (long..self.count).step_by(LANES) {
            let least = self.least::<LANES>(first);
            if least < best {
                (best, at) = (least, first);
            }
        }
        *self.out = if best == F::Bits::INFINITY {
            0
        } else if at < long {
            at + self.first::<PART>(at, best)
        } else {
            at + self.first::<LANES>(at, best)
        };
    }
}

impl<const N: usize, const M: usize, F: Score<N, M>> Least<'_, N, M, F> {
    /// The least score of `W` slots. A minimum of whole numbers may be taken in any order, so these loops become loops over vectors.
    #[inline(always)]
    fn least<const W: usize>(&self, first: usize) -> F::Bits {
        let (doubles, singles) = (cut(self.doubles, first, W), cut(self.singles, first, W));
        let mut least = F::Bits::INFINITY;
        if first + W <= self.count {
            for l in 0..W {
                least = least.min(self.f.at(each(&doubles, l), each(&singles, l)));
            }
        } else {
            let count = (self.count - first) as u32;
            for l in 0..W {
                let score = self.f.at(each(&doubles, l), each(&singles, l));
                least = least.min(if (l as u32) < count { score } else { F::Bits::INFINITY });
            }
        }
        least
    }

    /// The first one of `W` slots with the score `best`, which one of them has. The slots behind `count` come last.
    #[inline(always)]
    fn first<const W: usize>(&self, first: usize, best: F::Bits) -> usize {
        let (doubles, singles) = (cut(self.doubles, first, W), cut(self.singles, first, W));
        let mut at = W as u32;
        for l in 0..W {
            let has = self.f.at(each(&doubles, l), each(&singles, l)) == best;
            at = at.min(if has { l as u32 } else { W as u32 });
        }
        at as usize
    }
}

/// A number of at least +0 as a score.
#[derive(Clone, Copy)]
pub(crate) struct Number;

impl Score<0, 1> for Number {
    type Bits = u32;

    #[inline(always)]
    fn at(self, _: [f64; 0], [number]: [f32; 1]) -> u32 {
        number.to_bits()
    }
}
