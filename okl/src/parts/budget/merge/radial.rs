//! The partner and the position of a merge under any radial kernel.
//!
//! A screen in single precision finds the partner, and a search in double precision finds its h. Close terms under a smooth kernel
//! have their best h near (A + C) / (A + B + 2 C), where k is 1 - const r² to first order; distant terms have it near 0. The screen
//! evaluates lost(h) at 0 and at three shares of that first position. Over all A <= B, C and r, the least of these four losses is at
//! most 35 % above the least of all h, and at most 16 % where C >= 0 (Matérn, rational quadratic and Gaussian kernels and sums and
//! products of them, by exhaustive search).

use crate::gram::{Backend, Combine, Elementwise};
use crate::parts::budget::merge::Terms;
use crate::parts::budget::{Sight, Work};
use crate::parts::kernel::{DotKernel, TwoRows};

/// The positions that the screen tries, as shares of the first position.
const SHARES: [f32; 3] = [1.0, 0.7, 0.4];

/// The lowest position of a merged centre. Only terms that nearly cancel have a better one below it.
const LOWEST: f64 = -1.0;
/// The highest position, by fact 1 of the module.
const HIGHEST: f64 = 0.5;

/// Slots per step of the screen. All intermediate values of one step fit in the first-level cache.
const STRETCH: usize = 256;

/// The search itself; it needs no memory between two calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Radial;

impl Radial {
    /// The best partner of a term, and the position h of the merged centre, in [-1, 1/2].
    pub fn partner(&mut self, terms: &mut Terms, sight: &mut dyn Sight, from: usize, diagonal: f64) -> (usize, f64) {
        sight.distances2(from, &mut terms.row.0);
        let into = screen(terms, sight, from, diagonal);
        let r2 = sight.apart2(from, into);
        let [a, b] = [from, into].map(|slot| terms.norms2.0[slot]);
        let c = diagonal * terms.products.0[into];
        let position = sight.radial().map_or(0.0, |kernel| Line { kernel, r2, a, b, c }.best_h());
        (into, position)
    }
}

/// The partner with the smallest loss at the positions that are tried.
fn screen(terms: &Terms, sight: &dyn Sight, from: usize, diagonal: f64) -> usize {
    let Terms { norms2: Work(norms2), products: Work(products), row: Work(distances2) } = terms;
    let (backend, births) = (sight.backend(), sight.births());
    let mut best = (f32::INFINITY, usize::from(from == 0));
    let Some(kernel) = sight.radial() else { return best.1 };
    let profile = Profile { kernel, backend, over_k0: (1.0 / diagonal) as f32 };
    let mut work = Stretch::default();
    for start in (0..births.len()).step_by(STRETCH) {
        let slots = start..births.len().min(start + STRETCH);
        work.load(&norms2[slots.clone()], &products[slots.clone()], norms2[from], diagonal);
        let lost = work.lost(&profile, &distances2[slots.clone()]);
        best = least(lost, &births[slots], start, from, best);
    }
    best.1
}

/// The smaller one of `best` and the least loss of the live slots other than `from`, with its slot.
fn least(lost: &[f32], births: &[u64], start: usize, from: usize, best: (f32, usize)) -> (f32, usize) {
    let smallest = lost.iter().fold(f32::INFINITY, |least, v| if *v < least { *v } else { least });
    if smallest >= best.0 {
        return best;
    }
    let each = lost.iter().zip(births).enumerate().map(|(j, (lost, birth))| (*lost, start + j, *birth));
    let live = each.filter(|(_, slot, birth)| *birth > 0 && *slot != from);
    live.fold(best, |best, (lost, slot, _)| if lost < best.0 { (lost, slot) } else { best })
}

/// A radial kernel as a function of r², divided by k(0), over whole arrays.
struct Profile<'a> {
    kernel: &'a dyn DotKernel,
    backend: Backend,
    over_k0: f32,
}

impl Profile<'_> {
    /// out = k(sqrt(r2)) / k(0): the kernel values of the zero row with rows of the square r2.
    fn values(&self, r2: &[f32], out: &mut [f32]) {
        out.fill(0.0);
        self.kernel.map(self.backend, 0.0, r2, out);
        self.backend.map_values(r2, out, Times { factor: self.over_k0 });
    }
}

/// The screen's numbers of [`STRETCH`] slots, with A = 1: B, C, kappa, the first position h, r² along the line, u, v and the loss.
struct Stretch {
    count: usize,
    b: [f32; STRETCH],
    c: [f32; STRETCH],
    kappa: [f32; STRETCH],
    h: [f32; STRETCH],
    r2: [f32; STRETCH],
    u: [f32; STRETCH],
    v: [f32; STRETCH],
    lost: [f32; STRETCH],
}

impl Default for Stretch {
    fn default() -> Self {
        let [b, c, kappa, h, r2, u, v, lost] = [[0.0; STRETCH]; 8];
        Stretch { count: 0, b, c, kappa, h, r2, u, v, lost }
    }
}

impl Stretch {
    /// B and C of every partner, in units of A.
    fn load(&mut self, norms2: &[f64], products: &[f64], a: f64, diagonal: f64) {
        /// No ratio of norms is larger, so that all products stay finite in single precision.
        const MOST: f64 = 1e30;
        self.count = norms2.len();
        let (over_a, c_over_a) = (1.0 / a, diagonal / a);
        for (to, b) in self.b.iter_mut().zip(norms2) {
            *to = (b * over_a).min(MOST) as f32;
        }
        for (to, c) in self.c.iter_mut().zip(products) {
            *to = (c * c_over_a).clamp(-MOST, MOST) as f32;
        }
    }

    /// The least loss of every partner at the positions that are tried, in units of A.
    fn lost(&mut self, profile: &Profile<'_>, distances2: &[f32]) -> &[f32] {
        let (n, backend) = (self.count, profile.backend);
        let Stretch { b, c, kappa, h, r2, u, v, lost, .. } = self;
        let (b, c, kappa, h, r2) = (&b[..n], &c[..n], &mut kappa[..n], &mut h[..n], &mut r2[..n]);
        let (u, v, lost) = (&mut u[..n], &mut v[..n], &mut lost[..n]);
        profile.values(distances2, kappa);
        h.copy_from_slice(b);
        backend.map_values(c, h, FirstPosition {});
        lost.copy_from_slice(kappa);
        backend.map_values(kappa, lost, LostAtEnd {});
        for share in SHARES {
            r2.copy_from_slice(distances2);
            backend.map_values(h, r2, Far { share });
            profile.values(r2, u);
            r2.copy_from_slice(distances2);
            backend.map_values(h, r2, Near { share });
            profile.values(r2, v);
            backend.combine_values([], [b, c, kappa, h, u, v], lost, Lost { share });
        }
        lost
    }
}

/// Multiplies by a factor.
#[derive(Clone, Copy)]
struct Times {
    factor: f32,
}

impl Elementwise for Times {
    #[inline(always)]
    fn at(self, value: f32, _: f32) -> f32 {
        self.factor * value
    }
}

/// h = (A + C) / (A + B + 2 C) from B and C, with A = 1; the lowest position where the two terms cancel.
#[derive(Clone, Copy)]
struct FirstPosition {}

impl Elementwise for FirstPosition {
    #[inline(always)]
    fn at(self, b: f32, c: f32) -> f32 {
        let h = (1.0 + c) / (1.0 + b + 2.0 * c);
        let h = if h > LOWEST as f32 { h } else { LOWEST as f32 };
        if h < HIGHEST as f32 { h } else { HIGHEST as f32 }
    }
}

/// lost(0) = A (1 - kappa²), with A = 1.
#[derive(Clone, Copy)]
struct LostAtEnd {}

impl Elementwise for LostAtEnd {
    #[inline(always)]
    fn at(self, kappa: f32, _: f32) -> f32 {
        (1.0 - kappa) * (1.0 + kappa)
    }
}

/// (1 - h)² r² at a share of the first position.
#[derive(Clone, Copy)]
struct Far {
    share: f32,
}

impl Elementwise for Far {
    #[inline(always)]
    fn at(self, r2: f32, h: f32) -> f32 {
        let rest = 1.0 - self.share * h;
        rest * rest * r2
    }
}

/// h² r² at a share of the first position.
#[derive(Clone, Copy)]
struct Near {
    share: f32,
}

impl Elementwise for Near {
    #[inline(always)]
    fn at(self, r2: f32, h: f32) -> f32 {
        let h = self.share * h;
        h * h * r2
    }
}

/// The smaller one of a loss and lost(h) at a share of the first position, with A = 1.
#[derive(Clone, Copy)]
struct Lost {
    share: f32,
}

impl Combine<f32, 0, 6> for Lost {
    /// Near a heavy partner h is small and v rounds to 1, which would hide the loss B (1 - v²). As a function of r² a mixture of
    /// Gaussians is convex, so 1 - v is at least h² (1 - kappa).
    #[inline(always)]
    fn at(self, lost: f32, _: [f64; 0], [b, c, kappa, h, u, v]: [f32; 6]) -> f32 {
        let h = self.share * h;
        let (gap, least_gap) = (1.0 - v, h * h * (1.0 - kappa));
        let gap = if gap > least_gap { gap } else { least_gap };
        let moved = (1.0 - u) * (1.0 + u) + b * gap * (1.0 + v) + 2.0 * c * (kappa - u * v);
        if moved < lost { moved } else { lost }
    }
}

/// Two terms on the line through their centres, in double precision; A, B and C in any common unit.
struct Line<'a> {
    kernel: &'a dyn DotKernel,
    r2: f64,
    a: f64,
    b: f64,
    c: f64,
}

impl Line<'_> {
    /// The squared norm of the projection, in the unit of A, B and C and of k(0)².
    fn kept(&self, h: f64) -> f64 {
        let [u, v] = [1.0 - h, h].map(|part| self.kernel.pair(&TwoRows::apart(part * part * self.r2)).shared);
        self.a * u * u + self.b * v * v + 2.0 * self.c * u * v
    }

    /// The best of a grid, then golden section around it; exactly 0 where no other position is better.
    fn best_h(&self) -> f64 {
        /// The distance of two positions on the grid.
        const STEP: f64 = 0.05;
        let lowest = if self.c < 0.0 { LOWEST } else { 0.0 };
        let steps = ((HIGHEST - lowest) / STEP).round() as usize;
        let on_grid = |i: usize| lowest + i as f64 * STEP;
        let better = |best: (f64, f64), i: usize| {
            let kept = self.kept(on_grid(i));
            if kept > best.1 { (on_grid(i), kept) } else { best }
        };
        let at_end = self.kept(0.0);
        let (middle, _) = (0..=steps).fold((0.0, at_end), better);
        let (h, kept) = self.golden_section((middle - STEP).max(lowest), (middle + STEP).min(HIGHEST));
        if kept > at_end { h } else { 0.0 }
    }

    /// The position with the largest kept norm between two positions, and that norm.
    fn golden_section(&self, mut low: f64, mut high: f64) -> (f64, f64) {
        const GOLDEN: f64 = 0.618_033_988_749_894_9;
        let inner = |low: f64, high: f64| [high - GOLDEN * (high - low), low + GOLDEN * (high - low)];
        let [mut left, mut right] = inner(low, high).map(|h| (h, self.kept(h)));
        for _ in 0..20 {
            if left.1 < right.1 {
                (low, left) = (left.0, right);
                let h = inner(low, high)[1];
                right = (h, self.kept(h));
            } else {
                (high, right) = (right.0, left);
                let h = inner(low, high)[0];
                left = (h, self.kept(h));
            }
        }
        if left.1 < right.1 { right } else { left }
    }
}
