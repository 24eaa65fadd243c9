//! The chains of rows and terms: inner products, or distances of single features. A tile of rows and panels is in registers; larger pieces are
//! ordered so that they stay in the caches. The order within a chain is that of rule 1 of the module, whatever the tile.
//!
//! Everything here is `inline(always)`, as in portable.rs.

use std::array::from_fn;
use std::ops::Range;

use super::LANES;
use super::panels::{Line, Matrix, Panel};
use super::portable::{Job, Tiling};
use super::window::Window;

/// One link of a chain over the features: adds a feature of a row and of a term.
pub(super) trait Link: Copy {
    /// The weight of feature `k`.
    #[inline(always)]
    fn weight(self, _k: usize) -> f32 {
        1.0
    }

    fn add(weight: f32, x: f32, term: f32, acc: f32) -> f32;
}

/// Inner products.
#[derive(Clone, Copy)]
pub(super) struct Products;

impl Link for Products {
    #[inline(always)]
    fn add(_: f32, x: f32, term: f32, acc: f32) -> f32 {
        x.mul_add(term, acc)
    }
}

/// Minus half the sum of |x_k - y_k|.
#[derive(Clone, Copy)]
pub(super) struct Differences;

impl Link for Differences {
    #[inline(always)]
    fn add(_: f32, x: f32, term: f32, acc: f32) -> f32 {
        (x - term).abs().mul_add(-0.5, acc)
    }
}

/// The same with a weight per feature; `halves` are the weights times -1/2.
#[derive(Clone, Copy)]
pub(super) struct WeightedDifferences<'a> {
    pub(super) halves: &'a [f32],
}

impl Link for WeightedDifferences<'_> {
    #[inline(always)]
    fn weight(self, k: usize) -> f32 {
        self.halves[k]
    }

    #[inline(always)]
    fn add(half: f32, x: f32, term: f32, acc: f32) -> f32 {
        (x - term).abs().mul_add(half, acc)
    }
}

/// Rows from `first` on.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) matrix: Matrix<'a>,
    pub(super) first: usize,
}

/// Features of some panels, which all rows are multiplied with before the next ones.
#[derive(Clone)]
pub(super) struct Group<'a> {
    pub(super) panels: &'a [Panel],
    /// The number of the first panel in the output.
    pub(super) base: usize,
    /// The chains go over these features. If they do not begin with the first one, they continue those in the output.
    pub(super) features: Range<usize>,
    /// The lines that a tile fetches meanwhile: a part of those that come behind these.
    pub(super) next: &'a [Line],
}

/// The number of panels that all rows are multiplied with before the next panels. With 784 features four panels fill less than
/// half a second-level cache, and a single row needs several panels to keep the multipliers busy.
const GROUP: usize = 4;

/// The chains of rows and terms.
pub(super) struct Chains<'a, L> {
    pub(super) link: L,
    pub(super) rows: Matrix<'a>,
    pub(super) panels: &'a [Panel],
    pub(super) out: Window<'a>,
}

/// The most features of a panel that several tiles of rows are multiplied with before the next ones: 32 KiB, so that they stay in the first-level
/// cache. Rows of fewer features are not divided.
const FEATURES: usize = 256;

impl<L: Link> Job for Chains<'_, L> {
    #[inline(always)]
    fn run<T: Tiling>(mut self) {
        let tiles = self.rows.len() / T::ROWS;
        let blocked = if tiles > 1 && self.rows.dim() >= FEATURES { tiles } else { 0 };
        if blocked > 0 {
            self.run_blocked::<T>(blocked);
        }
        for base in (0..self.panels.len()).step_by(GROUP) {
            let panels = &self.panels[base..self.panels.len().min(base + GROUP)];
            for tile in blocked..self.rows.len().div_ceil(T::ROWS) {
                self.tile::<T>(tile, Group { panels, base, features: 0..self.rows.dim(), next: &[] });
            }
        }
    }
}

impl<L: Link> Chains<'_, L> {
    /// The first `tiles` tiles: one panel and some of its features after the other, so that they stay in the first-level cache for all rows.
    /// Meanwhile the next ones are fetched.
    #[inline(always)]
    fn run_blocked<T: Tiling>(&mut self, tiles: usize) {
        let dim = self.rows.dim();
        let blocks = dim.div_ceil(FEATURES);
        let features = |block: usize| dim * block / blocks..dim * (block + 1) / blocks;
        let panels = self.panels;
        for base in 0..panels.len() {
            for block in 0..blocks {
                let next: &[Line] = match block + 1 < blocks {
                    true => &panels[base][features(block + 1)],
                    false => panels.get(base + 1).map_or(&[], |panel| &panel[features(0)]),
                };
                for tile in 0..tiles {
                    let next = &next[next.len() * tile / tiles..next.len() * (tile + 1) / tiles];
                    self.tile::<T>(tile, Group { panels: &panels[base..=base], base, features: features(block), next });
                }
            }
        }
    }

    #[inline(always)]
    fn tile<T: Tiling>(&mut self, tile: usize, group: Group<'_>) {
        let first = tile * T::ROWS;
        T::tile(self.link, T::ROWS.min(self.rows.len() - first), Rows { matrix: self.rows, first }, group, &mut self.out);
    }
}

/// The chains of `R` rows with all panels of a group, `P` panels and `W` of their lanes at a time.
#[inline(always)]
pub(super) fn sweep<T: Tiling, L: Link, const R: usize, const P: usize, const W: usize>(
    link: L,
    Rows { matrix, first }: Rows<'_>,
    group: Group<'_>,
    out: &mut Window<'_>,
) {
    let (tiles, rest) = group.panels.as_chunks::<P>();
    let rows: [&[f32]; R] = from_fn(|i| matrix.row(first + i));
    for (t, panels) in tiles.iter().enumerate() {
        tile::<T, L, R, P, W>(link, (rows, first), panels, &group, t * P, out);
    }
    for (p, panel) in rest.iter().enumerate() {
        tile::<T, L, R, 1, W>(link, (rows, first), std::array::from_ref(panel), &group, tiles.len() * P + p, out);
    }
}

#[inline(always)]
fn tile<T: Tiling, L: Link, const R: usize, const P: usize, const W: usize>(
    link: L,
    (rows, first): ([&[f32]; R], usize),
    panels: &[Panel; P],
    group: &Group<'_>,
    at: usize,
    out: &mut Window<'_>,
) {
    for lane in (0..LANES).step_by(W) {
        let mut acc = [[[0.0f32; W]; P]; R];
        let start = |p: usize| (group.base + at + p) * LANES + lane;
        if group.features.start > 0 {
            for (i, of_row) in acc.iter_mut().enumerate() {
                let row = out.row(first + i);
                for (p, values) in of_row.iter_mut().enumerate() {
                    values.copy_from_slice(&row[start(p)..start(p) + W]);
                }
            }
        }
        let next = if lane == 0 { group.next } else { &[] };
        chains::<T, L, R, P, W>(link, rows, panels, (lane, group.features.clone()), next, &mut acc);
        for (i, of_row) in acc.iter().enumerate() {
            let row = out.row(first + i);
            for (p, values) in of_row.iter().enumerate() {
                row[start(p)..start(p) + W].copy_from_slice(values);
            }
        }
    }
}

/// Rule 1 of the module: continues `R * P * W` chains in parallel, each over the features in order. Meanwhile the lines `next` are fetched.
#[inline(always)]
fn chains<T: Tiling, L: Link, const R: usize, const P: usize, const W: usize>(
    link: L,
    rows: [&[f32]; R],
    panels: &[Panel; P],
    (lane, features): (usize, Range<usize>),
    next: &[Line],
    acc: &mut [[[f32; W]; P]; R],
) {
    let dim = rows[0].len();
    assert!(features.start <= features.end && features.end <= dim);
    let rows: [&[f32]; R] = from_fn(|i| &rows[i][..dim]);
    let panels: [&[Line]; P] = from_fn(|p| &panels[p][..dim]);
    let mut of_features = *acc;
    let apart = features.len() / next.len().max(1);
    let mut at = features.start;
    for line in next {
        T::fetch(line);
        links(link, &rows, &panels, lane, at..at + apart, &mut of_features);
        at += apart;
    }
    links(link, &rows, &panels, lane, at..features.end, &mut of_features);
    *acc = of_features;
}

/// The links of all chains for some features.
#[inline(always)]
fn links<L: Link, const R: usize, const P: usize, const W: usize>(
    link: L,
    rows: &[&[f32]; R],
    panels: &[&[Line]; P],
    lane: usize,
    features: Range<usize>,
    acc: &mut [[[f32; W]; P]; R],
) {
    for k in features {
        let weight = link.weight(k);
        for p in 0..P {
            let terms: &[f32; W] = lanes(&panels[p][k], lane);
            for i in 0..R {
                let x = rows[i][k];
                for l in 0..W {
                    acc[i][p][l] = L::add(weight, x, terms[l], acc[i][p][l]);
                }
            }
        }
    }
}

#[inline(always)]
fn lanes<const W: usize>(line: &Line, lane: usize) -> &[f32; W] {
    &line.0.as_chunks::<W>().0[lane / W]
}
