//! The slots with the least scores, where a score is computed from the numbers of its slot.

use super::portable::{Job, Tiling, cut, each};

/// Slots per step. Only the step with the least score is searched for its slot.
const STRETCH: usize = 256;

/// Slots per step of that search.
const FEW: usize = 32;

/// A score of at least +0 from `N` double-precision and `M` single-precision numbers of a slot; the laws of
/// [`Elementwise`](super::Elementwise) hold.
pub(crate) trait Score<const N: usize, const M: usize>: Copy {
    /// The score. Implement it `#[inline(always)]`.
    fn at(self, doubles: [f64; N], singles: [f32; M]) -> f64;
}

/// Finds the first one of `count` slots with the least score: 0 if no score is below infinity.
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
        let count = self.count;
        let (best, first) = self.least_part(0, count, STRETCH);
        let (_, first) = self.least_part(first, count.min(first + STRETCH), FEW);
        let has = |i: &usize| self.f.at(each(&self.doubles, *i), each(&self.singles, *i)).to_bits() == best;
        *self.out = (first..count.min(first + FEW)).find(has).unwrap_or(0);
    }
}

impl<const N: usize, const M: usize, F: Score<N, M>> Least<'_, N, M, F> {
    /// The bits of the least score from slot `start` to slot `end`, and the first slot of the part that has it.
    #[inline(always)]
    fn least_part(&self, start: usize, end: usize, part: usize) -> (u64, usize) {
        let mut best = (f64::INFINITY.to_bits(), start);
        for first in (start..end).step_by(part) {
            let count = part.min(end - first);
            let least = least_score(self.f, cut(self.doubles, first, count), cut(self.singles, first, count), count);
            if least < best.0 {
                best = (least, first);
            }
        }
        best
    }
}

/// The least score of a few slots. Numbers of at least +0 are in the order of their bits, and a minimum of whole numbers may be taken in
/// any order, so this loop becomes a loop over vectors.
#[inline(always)]
fn least_score<const N: usize, const M: usize>(
    f: impl Score<N, M>,
    doubles: [&[f64]; N],
    singles: [&[f32]; M],
    count: usize,
) -> u64 {
    let mut least = u64::MAX;
    for i in 0..count {
        least = least.min(f.at(each(&doubles, i), each(&singles, i)).to_bits());
    }
    least
}

/// Finds the first one of the least numbers, which are at least +0.
pub(super) struct LeastNumber<'a> {
    pub(super) numbers: &'a [f32],
    pub(super) out: &'a mut usize,
}

impl Job for LeastNumber<'_> {
    #[inline(always)]
    fn run<T: Tiling>(self) {
        let (best, first) = least_part_of(self.numbers, STRETCH);
        let stretch = &self.numbers[first..self.numbers.len().min(first + STRETCH)];
        let (_, within) = least_part_of(stretch, FEW);
        let found = stretch[within..].iter().position(|number| number.to_bits() == best);
        *self.out = found.map_or(0, |found| first + within + found);
    }
}

/// The bits of the least number, and the first place of the part that has it.
#[inline(always)]
fn least_part_of(numbers: &[f32], part: usize) -> (u32, usize) {
    let mut best = (u32::MAX, 0);
    for (k, numbers) in numbers.chunks(part).enumerate() {
        let mut least = u32::MAX;
        for number in numbers {
            least = least.min(number.to_bits());
        }
        if least < best.0 {
            best = (least, k * part);
        }
    }
    best
}
