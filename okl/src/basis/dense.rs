//! Dense f32 rows, stored in the panels of the micro-kernel, with one or more kernels that share the inner products.

use std::ops::Range;

use crate::basis::Space;
use crate::basis::block::{Block, Values};
use crate::basis::unscaled::UnscaledRows;
use crate::basis::weighted::ColumnWeights;
pub use crate::gram::Points;
use crate::gram::{self, Backend, Chain, LANES, Matrix, Packed, Panels};
use crate::learner::batch::LARGEST;
use crate::parts::kernel::{AnyKernel, Blended, DotKernel, Pair, SquaredDistance, TwoRows};

/// Dense f32 rows in panels, with one or more kernels (planes) that share the inner products.
#[derive(Clone, Debug)]
pub struct Dense<K> {
    kernels: Vec<K>,
    panels: Panels,
    squares: Vec<f32>,
    backend: Backend,
    /// k(x, x) of each kernel, if it is the same for all x.
    diagonal: Option<Vec<f64>>,
    pub(crate) threads: usize,
    /// Whether a blend with more than [`MOST_BLENDED`] values that are not zero is one of the two rows, as for sparse rows.
    pub(crate) narrow_blends: bool,
    /// The planes whose values are computed for the rows of a block; all planes, if none are listed.
    wanted: Option<Vec<usize>>,
    /// The planes that are wanted, by what they read.
    views: Views<K>,
    /// The weights of columns, if there are any.
    weights: Option<ColumnWeights>,
    /// Copies of three centres: any one, then the two ends of a line between centres. Their slots are in `copied`.
    scratch: [Vec<f32>; 3],
    copied: [usize; 3],
    /// The squared distance of the two ends, if it is known.
    apart2: Option<f64>,
    /// Whether the kernels need nothing but the distances of two rows.
    by_distance: bool,
    /// The unscaled row of every centre, if they are kept.
    unscaled: Option<UnscaledRows>,
}

/// The planes that share one chain, and their kernels.
#[derive(Clone, Debug)]
struct View<K> {
    planes: Vec<usize>,
    kernels: Vec<K>,
}

/// The planes that are wanted, by the chain and by the columns that they read: inner products and Manhattan distances of columns as they
/// are, then of weighted columns.
#[derive(Clone, Debug)]
struct Views<K> {
    products: View<K>,
    differences: View<K>,
    weighted_products: View<K>,
    weighted_differences: View<K>,
}

impl<K> Default for Views<K> {
    fn default() -> Self {
        let [products, differences, weighted_products, weighted_differences] =
            std::array::from_fn(|_| View { planes: Vec::new(), kernels: Vec::new() });
        Views { products, differences, weighted_products, weighted_differences }
    }
}

impl<K: DotKernel + Clone> Dense<K> {
    /// An empty space; each of `kernels` is one plane.
    pub fn new(kernels: Vec<K>, features: usize, backend: Backend) -> Self {
        let scratch = Default::default();
        let invariant = kernels.iter().all(DotKernel::translation_invariant);
        let diagonal = invariant.then(|| kernels.iter().map(|k| k.eval(0.0, 0.0, 0.0).into()).collect());
        let (panels, squares) = (Panels::new(features), Vec::new());
        let by_distance = invariant && kernels.iter().all(|kernel| kernel.built_in().is_some());
        let mut space = Dense {
            kernels,
            panels,
            squares,
            backend,
            diagonal,
            threads: 1,
            narrow_blends: false,
            wanted: None,
            views: Views::default(),
            weights: None,
            scratch,
            copied: NONE,
            apart2: None,
            by_distance,
            unscaled: None,
        };
        space.group_planes();
        space
    }

    /// From now on, the unscaled row of every new centre is kept. Two rows are then the same if their unscaled rows are.
    pub(crate) fn keep_unscaled(&mut self) {
        self.unscaled = Some(UnscaledRows::new(self.features()));
    }

    /// Forgets the unscaled rows.
    pub(crate) fn drop_unscaled(&mut self) {
        self.unscaled = None;
    }

    /// The unscaled rows, if they are kept.
    pub(crate) fn unscaled(&self) -> Option<&UnscaledRows> {
        self.unscaled.as_ref()
    }

    /// Computes the centres of the first `slots` slots again from their unscaled rows.
    pub(crate) fn rescale(&mut self, slots: usize, mut scale: impl FnMut(&[f64], &mut [f32])) {
        let Some(unscaled) = &self.unscaled else { return };
        self.copied = NONE;
        let centre = &mut self.scratch[0];
        for slot in 0..slots {
            scale(unscaled.row(slot), centre);
            self.panels.put(slot, centre);
            self.squares[slot] = gram::square(centre);
        }
        self.weigh_centres();
    }

    /// Computes the squared norms of all centres under the weights of the columns.
    fn weigh_centres(&mut self) {
        let Some(weights) = &mut self.weights else { return };
        weights.squares.clear();
        let mut centre = vec![0.0; self.panels.dim()];
        for slot in 0..self.panels.slots() {
            self.panels.get(slot, &mut centre);
            let square = weights.weigh(self.backend, &centre);
            weights.squares.push(square);
        }
    }

    /// Whether a plane reads weighted columns.
    fn is_heavy(&self, plane: usize) -> bool {
        self.weights.as_ref().is_some_and(|weights| weights.planes[plane])
    }

    /// Whether values of a plane are wanted.
    fn is_wanted(&self, plane: usize) -> bool {
        self.wanted.as_ref().is_none_or(|planes| planes.contains(&plane))
    }

    /// Puts another kernel in the place of that of a plane.
    pub(crate) fn replace_kernel(&mut self, plane: usize, kernel: K) {
        if let Some(diagonal) = &mut self.diagonal {
            diagonal[plane] = kernel.eval(0.0, 0.0, 0.0).into();
        }
        self.kernels[plane] = kernel;
        self.group_planes();
    }

    /// From now on, values of the rows of a block are computed for these planes only; for all planes, if none are listed.
    pub(crate) fn compute_only(&mut self, planes: Option<Vec<usize>>) {
        self.wanted = planes;
        self.group_planes();
    }

    /// Sets the weights of columns and which planes read weighted columns; none, if none does.
    pub(crate) fn set_weights(&mut self, weights: &[f64], planes: Vec<bool>) {
        let any = planes.contains(&true) && !weights.is_empty();
        self.weights = any.then(|| ColumnWeights::new(weights, planes, self.features()));
        self.weigh_centres();
        self.group_planes();
    }

    /// Lists the planes that are wanted by what they read.
    fn group_planes(&mut self) {
        let of = |heavy: bool, differences: bool| {
            let reads = |p: &usize| self.is_heavy(*p) == heavy && self.kernels[*p].of_manhattan_distance() == differences;
            let planes: Vec<usize> = (0..self.kernels.len()).filter(|&p| self.is_wanted(p)).filter(reads).collect();
            View { kernels: planes.iter().map(|&plane| self.kernels[plane].clone()).collect(), planes }
        };
        self.views = Views {
            products: of(false, false),
            differences: of(false, true),
            weighted_products: of(true, false),
            weighted_differences: of(true, true),
        };
    }

    /// A copy with the same centres and only some of the kernels.
    pub(crate) fn under(&self, planes: Range<usize>) -> Self {
        let diagonal = self.diagonal.as_ref().map(|values| values[planes.clone()].to_vec());
        let weights = self.weights.as_ref().and_then(|weights| weights.under(planes.clone()));
        let mut under = Dense { kernels: self.kernels[planes].to_vec(), diagonal, wanted: None, weights, ..self.clone() };
        under.group_planes();
        under
    }

    /// A space with the same kernels and no centres.
    pub(crate) fn emptied(&self) -> Self {
        let mut empty = Dense {
            threads: self.threads,
            narrow_blends: self.narrow_blends,
            unscaled: self.unscaled.as_ref().map(|_| UnscaledRows::new(self.features())),
            weights: self.weights.clone(),
            ..Dense::new(self.kernels.clone(), self.features(), self.backend)
        };
        empty.weigh_centres();
        empty.group_planes();
        empty
    }

    pub(crate) fn diagonal_at(&self, xx: f32, out: &mut [f64]) {
        match &self.diagonal {
            Some(values) => out.copy_from_slice(values),
            None => self.kernels.iter().zip(out).for_each(|(k, out)| *out = k.own(xx).into()),
        }
    }

    /// The kernels, one per plane.
    pub fn kernels(&self) -> &[K] {
        &self.kernels
    }

    /// The number of features.
    pub fn features(&self) -> usize {
        self.panels.dim()
    }

    /// Increases the number of features. Existing centres are zero in the new ones.
    pub fn widen(&mut self, features: usize) {
        self.copied = NONE;
        self.panels.widen(features);
        self.scratch.iter_mut().filter(|x| !x.is_empty()).for_each(|x| x.resize(features, 0.0));
        self.unscaled.iter_mut().for_each(|rows| rows.widen(features));
        self.weights.iter_mut().for_each(|weights| weights.widen(features));
    }

    fn packed(&self) -> Packed<'_> {
        Packed { panels: &self.panels, squares: &self.squares }
    }

    /// The centres with their squared norms under the weights of the columns.
    fn heavily_packed<'a>(&'a self, weights: &'a ColumnWeights) -> Packed<'a> {
        Packed { panels: &self.panels, squares: &weights.squares }
    }

    /// Computes the values of the rows of a block against packed terms for all planes that are wanted and read columns as they are.
    fn plain_values(&self, threads: usize, rows: Points<'_>, terms: Packed<'_>, mut out: Values<'_>) {
        let Views { products, differences, .. } = &self.views;
        self.values((Chain::Products, products), threads, rows, terms, out.again());
        self.values((Chain::Differences(&[]), differences), threads, rows, terms, out);
    }

    /// The weights of columns, if a plane that is wanted reads weighted columns.
    fn weights_in_use(&self) -> Option<&ColumnWeights> {
        let Views { weighted_products, weighted_differences, .. } = &self.views;
        let any = !(weighted_products.planes.is_empty() && weighted_differences.planes.is_empty());
        self.weights.as_ref().filter(|_| any)
    }

    /// The values of the planes that read weighted columns. Inner products are of the weighted rows, differences of the rows.
    fn heavy_values(&self, threads: usize, [weighted, rows]: [Points<'_>; 2], terms: Packed<'_>, mut out: Values<'_>) {
        let Some(weights) = &self.weights else { return };
        let Views { weighted_products, weighted_differences, .. } = &self.views;
        self.values((Chain::Products, weighted_products), threads, weighted, terms, out.again());
        self.values((Chain::Differences(&weights.halves), weighted_differences), threads, rows, terms, out);
    }

    /// Computes the values of rows against some panels of terms.
    fn all_values(&self, rows: Points<'_>, panels: Range<usize>, block: &mut Block) {
        let slots = panels.start * LANES..panels.end * LANES;
        let first = block.first();
        let part = (panels != (0..self.panels.panels())).then(|| self.panels.part(panels));
        let panels = part.as_ref().unwrap_or(&self.panels);
        let Values { data, plane, stride } = block.terms_mut();
        let out = Values { data: &mut data[slots.start - first..], plane, stride };
        self.plain_values(self.threads, rows, Packed { panels, squares: &self.squares[slots.clone()] }, out);
        let Some(weights) = self.weights_in_use() else { return };
        let count = rows.squares.len();
        let mut weighted = std::mem::take(block.weighted());
        weights.weigh_rows(self.backend, rows.rows.numbers(), &mut weighted.rows, &mut weighted.squares[..count]);
        let Values { data, plane, stride } = block.terms_mut();
        let out = Values { data: &mut data[slots.start - first..], plane, stride };
        let terms = Packed { panels, squares: &weights.squares[slots] };
        self.heavy_values(self.threads, [weighted.points(self.features(), count), rows], terms, out);
        *block.weighted() = weighted;
    }

    /// Computes the values of rows against packed terms for the planes of a view.
    fn values(&self, (chain, view): (Chain<'_>, &View<K>), threads: usize, rows: Points<'_>, terms: Packed<'_>, out: Values<'_>) {
        let wanted = |plane| view.planes.contains(&plane);
        self.kernel_values((chain, &view.kernels, wanted), threads, rows, terms, out);
    }

    /// Computes the values of rows against packed terms for kernels that share a chain; `wanted` says which planes of `out` are theirs.
    fn kernel_values(
        &self,
        (chain, kernels, wanted): (Chain<'_>, &[K], impl Fn(usize) -> bool),
        threads: usize,
        rows: Points<'_>,
        terms: Packed<'_>,
        Values { data: out, plane, stride }: Values<'_>,
    ) {
        if terms.panels.slots() == 0 || kernels.is_empty() {
            return;
        }
        let run = |out: &mut [&mut [f32]]| {
            gram::chained_rows(self.backend, threads, (chain, kernels), rows, terms, out, stride);
        };
        let mut planes =
            out.chunks_mut(plane).enumerate().filter(|(p, _)| wanted(*p)).map(|(_, values)| values).take(kernels.len());
        match kernels.len() {
            1 => run(&mut [planes.next().unwrap_or_default()]),
            count if count <= FEW_PLANES => {
                let mut of_planes: [&mut [f32]; FEW_PLANES] = std::array::from_fn(|_| &mut [][..]);
                of_planes.iter_mut().zip(planes).for_each(|(to, plane)| *to = plane);
                run(&mut of_planes[..count])
            }
            _ => run(&mut planes.collect::<Vec<_>>()),
        }
    }

    /// The values of the centre of a slot against all slots under another kernel, which reads the columns that the kernel of a plane reads.
    pub(crate) fn row_under(&mut self, plane: usize, kernel: &impl DotKernel, slot: usize, out: &mut [f32]) {
        self.read(0, slot);
        self.weigh_slot(slot);
        let (row, square, terms) = match self.weights.as_ref().filter(|weights| weights.planes[plane]) {
            Some(weights) => (&weights.row, weights.squares[slot], self.heavily_packed(weights)),
            None => (&self.scratch[0], self.squares[slot], self.packed()),
        };
        let (point, slots) = (Points { rows: Matrix::one(row), squares: &[square] }, out.len());
        gram::kernel_rows(self.backend, self.threads, std::slice::from_ref(kernel), point, terms, &mut [out], slots);
    }

    /// Weighs the copy of the centre of a slot.
    fn weigh_slot(&mut self, slot: usize) {
        let (backend, centre) = (self.backend, &self.scratch[0]);
        if let Some(weights) = &mut self.weights {
            weights.squares[slot] = weights.weigh(backend, centre);
        }
    }

    /// Copies the centre of a slot to a place of the scratch, unless the copy is there.
    fn read(&mut self, place: usize, slot: usize) {
        if self.copied[place] != slot {
            self.copied[place] = slot;
            self.panels.get(slot, &mut self.scratch[place]);
            self.apart2 = None;
        }
    }

    /// Copies the two ends of a line, and computes their squared distance.
    fn read_line(&mut self, a: usize, b: usize) -> f64 {
        self.read(1, a);
        self.read(2, b);
        *self.apart2.get_or_insert_with(|| TwoRows::apart2_of(&self.scratch[1], &self.scratch[2]))
    }

    /// Copies the centre of a slot.
    pub fn centre(&self, slot: usize, out: &mut [f32]) {
        self.panels.get(slot, out);
    }
}

impl<K: DotKernel + Clone> Space for Dense<K> {
    type Rows<'a> = Points<'a>;

    fn count(rows: Points<'_>) -> usize {
        rows.squares.len()
    }

    fn range<'a>(rows: Self::Rows<'a>, from: usize, to: usize) -> Self::Rows<'a> {
        rows.range(from..to)
    }

    fn planes(&self) -> usize {
        self.kernels.len()
    }

    fn reserve(&mut self, slots: usize) {
        self.panels.reserve(slots);
        let slots = self.panels.slots();
        self.scratch.iter_mut().filter(|_| slots > 0).for_each(|x| x.resize(self.panels.dim(), 0.0));
        if slots > self.squares.len() {
            self.squares.reserve_exact((slots - self.squares.len()).max(self.squares.len() / 32));
            self.squares.resize(slots, 0.0);
        }
        if let Some(weights) = self.weights.as_mut().filter(|weights| slots > weights.squares.len()) {
            weights.squares.reserve_exact((slots - weights.squares.len()).max(weights.squares.len() / 32));
            weights.squares.resize(slots, 0.0);
        }
        self.unscaled.iter_mut().for_each(|rows| rows.reserve(slots));
    }

    fn put(&mut self, slot: usize, rows: Points<'_>, i: usize) {
        self.panels.put(slot, rows.rows.row(i));
        self.squares[slot] = rows.squares[i];
        if let Some(weights) = &mut self.weights {
            weights.squares[slot] = weights.weigh(self.backend, rows.rows.row(i));
        }
        self.copied = NONE;
        if let Some(unscaled) = &mut self.unscaled {
            match rows.rows.unscaled(i) {
                Some(row) => unscaled.row_mut(slot).copy_from_slice(row),
                None => unscaled.row_mut(slot).iter_mut().zip(rows.rows.row(i)).for_each(|(to, x)| *to = f64::from(*x)),
            }
        }
    }

    fn is(&mut self, slot: usize, rows: Points<'_>, i: usize) -> bool {
        if let (Some(unscaled), Some(row)) = (&self.unscaled, rows.rows.unscaled(i)) {
            return unscaled.row(slot) == row;
        }
        self.read(0, slot);
        self.scratch[0] == rows.rows.row(i)
    }

    fn against_terms(&self, rows: Points<'_>, _slots: usize, block: &mut Block) {
        self.all_values(rows, 0..self.panels.panels(), block);
    }

    fn against_some(&self, rows: Points<'_>, slots: Range<usize>, block: &mut Block) {
        self.all_values(rows, slots.start / LANES..slots.end / LANES, block);
    }

    fn points<'a>(rows: Self::Rows<'a>) -> Option<Points<'a>> {
        Some(rows)
    }

    fn packed_terms(&self) -> Option<Packed<'_>> {
        // Centres that may be computed again, or are read with weights or by their differences, stay here.
        let products = self.views.differences.planes.is_empty();
        (self.unscaled.is_none() && self.weights.is_none() && products).then(|| self.packed())
    }

    fn remove_slots(&mut self, slots: Range<usize>) {
        self.copied = NONE;
        self.panels.remove(slots.clone());
        self.squares.drain(slots);
        self.squares.shrink_to_fit();
    }

    fn insert_centres(&mut self, slot: usize, centres: Panels, squares: &[f32]) {
        self.copied = NONE;
        self.reserve(slot);
        self.panels.insert(slot, centres);
        self.squares.splice(slot..slot, squares.iter().copied());
    }

    fn built_in_kernels(&self) -> Option<Vec<AnyKernel>> {
        self.kernels.iter().map(|kernel| kernel.built_in().cloned()).collect()
    }

    fn among_rows(&self, rows: Points<'_>, block: &mut Block) {
        let (packed, squares) = block.pack(self.features());
        packed.put_rows(rows.rows);
        squares[..rows.squares.len()].copy_from_slice(rows.squares);
        if let Some((packed, out)) = block.own_mut() {
            self.plain_values(1, rows, packed, out);
        }
        if self.weights_in_use().is_none() {
            return;
        }
        // The weighted rows are those of `against_terms`. As terms, rows are not weighted.
        let weighted = std::mem::take(block.weighted());
        if let Some((packed, out)) = block.own_mut() {
            let terms = Packed { squares: &weighted.squares, ..packed };
            self.heavy_values(1, [weighted.points(self.features(), rows.squares.len()), rows], terms, out);
        }
        *block.weighted() = weighted;
    }

    fn self_values(&self, rows: Points<'_>, i: usize, out: &mut [f64]) {
        self.diagonal_at(rows.squares[i], out);
    }

    fn term_self_values(&self, slot: usize, out: &mut [f64]) {
        self.diagonal_at(self.squares[slot], out);
    }

    fn diagonal(&self) -> Option<&[f64]> {
        self.diagonal.as_deref()
    }

    fn term_row(&mut self, slot: usize, slots: usize, planes: Range<usize>, out: &mut [f32]) {
        self.read(0, slot);
        self.weigh_slot(slot);
        let (rows, square) = (Matrix::one(&self.scratch[0]), [self.squares[slot]]);
        let point = Points { rows, squares: &square };
        let weighted = self.weights.as_ref().map(|weights| (weights, [weights.squares[slot]]));
        if weighted.is_none() && self.views.differences.planes.is_empty() {
            let out = Values { data: out, plane: slots, stride: slots };
            let kernels = (Chain::Products, &self.kernels[planes], |_| true);
            return self.kernel_values(kernels, self.threads, point, self.packed(), out);
        }
        for (plane, out) in planes.zip(out.chunks_mut(slots)) {
            let kernel = &self.kernels[plane..=plane];
            let heavy = weighted.as_ref().filter(|(weights, _)| weights.planes[plane]);
            let (chain, point, terms) = match (kernel[0].of_manhattan_distance(), heavy) {
                (true, None) => (Chain::Differences(&[]), point, self.packed()),
                (true, Some((weights, _))) => (Chain::Differences(&weights.halves), point, self.packed()),
                (false, None) => (Chain::Products, point, self.packed()),
                (false, Some((weights, squares))) => {
                    (Chain::Products, Points { rows: Matrix::one(&weights.row), squares }, self.heavily_packed(weights))
                }
            };
            let out = Values { data: out, plane: slots, stride: slots };
            self.kernel_values((chain, kernel, |_| true), self.threads, point, terms, out);
        }
    }

    fn pairs(&mut self, slot: usize, rows: Points<'_>, i: usize, out: &mut [Pair]) {
        self.read(0, slot);
        let (row, centre) = (rows.rows.row(i), &self.scratch[0]);
        let Views { differences, weighted_differences, .. } = &self.views;
        let weighted = self.weights_in_use().map(|weights| {
            let rows = TwoRows::weighted(row, centre, &weights.of_columns);
            if weighted_differences.planes.is_empty() { rows } else { rows.with_manhattan(row, centre, &weights.halves) }
        });
        let rows = match (self.by_distance, differences.planes.is_empty()) {
            (true, true) => TwoRows::apart(TwoRows::apart2_of(row, centre)),
            (true, false) => TwoRows::apart(TwoRows::apart2_of(row, centre)).with_manhattan(row, centre, &[]),
            (false, _) => TwoRows::new(row, centre),
        };
        for plane in (0..self.kernels.len()).filter(|&plane| self.is_wanted(plane)) {
            out[plane] = self.kernels[plane].pair(weighted.as_ref().filter(|_| self.is_heavy(plane)).unwrap_or(&rows));
        }
    }

    fn backend(&self) -> Backend {
        self.backend
    }

    fn threads(&self) -> usize {
        self.threads
    }

    fn radial(&self, plane: usize) -> Option<&dyn DotKernel> {
        self.diagonal.as_ref().map(|_| &self.kernels[plane] as &dyn DotKernel)
    }

    fn distances2(&mut self, plane: usize, slot: usize, slots: usize, out: &mut [f32]) {
        self.row_under(plane, &SquaredDistance, slot, &mut out[..slots]);
    }

    fn apart2(&mut self, plane: usize, a: usize, b: usize) -> f64 {
        let plain = self.read_line(a, b);
        let [_, a, b] = &self.scratch;
        let weights = self.weights.as_ref().filter(|weights| weights.planes[plane]);
        weights.map_or(plain, |weights| TwoRows::weighted(a, b, &weights.of_columns).apart2)
    }

    fn blend(&mut self, into: usize, from: usize, h: f64, pairs: &mut [[Pair; 3]]) {
        let apart2 = self.read_line(from, into);
        let [z, a, b] = &mut self.scratch;
        let blended = Blended::new(self.backend, [a, b], h, z);
        // Outside of [0, 1], h leads to a point that may be further away than any row can be.
        let too_far = f64::from(blended.largest) > LARGEST;
        if too_far {
            z.copy_from_slice(b);
        }
        if let Some(unscaled) = self.unscaled.as_mut().filter(|_| !too_far) {
            unscaled.blend(into, from, h);
        }
        let too_wide = self.narrow_blends && z.iter().filter(|z| **z != 0.0).count() > MOST_BLENDED;
        if too_wide {
            z.copy_from_slice(if h > 0.5 { a } else { b });
        }
        let [from_a, from_b] = blended.apart2;
        let (rows, zz) = match self.by_distance && !too_far && !too_wide {
            true => ([apart2, from_a, from_b].map(TwoRows::apart), blended.square),
            false => TwoRows::around(self.backend, [a, b, z], None),
        };
        let manhattan = |[ab, az, bz]: [TwoRows; 3], view: &View<K>, halves: &[f32]| match view.planes.is_empty() {
            true => [ab, az, bz],
            false => [ab.with_manhattan(a, b, halves), az.with_manhattan(a, z, halves), bz.with_manhattan(b, z, halves)],
        };
        let rows = manhattan(rows, &self.views.differences, &[]);
        let weighted = self.weights.as_mut().map(|weights| {
            let (rows, zz) = TwoRows::around(self.backend, [a, b, z], Some(&weights.of_columns));
            weights.squares[into] = zz;
            manhattan(rows, &self.views.weighted_differences, &weights.halves)
        });
        self.panels.put(into, z);
        for plane in (0..self.kernels.len()).filter(|&plane| self.is_wanted(plane)) {
            let rows = weighted.as_ref().filter(|_| self.is_heavy(plane)).unwrap_or(&rows);
            pairs[plane] = rows.each_ref().map(|rows| self.kernels[plane].pair(rows));
        }
        self.squares[into] = zz;
        self.copied = [into, NO_SLOT, NO_SLOT];
    }

    /// The chain of an inner product is symmetric, so the centre can be used as the row and the rows as terms.
    fn refresh(&mut self, slot: usize, block: &mut Block) {
        self.read(0, slot);
        let (packed, column) = block.replaced(slot);
        let Some(packed) = packed else { return };
        let (centre, square) = (Matrix::one(&self.scratch[0]), [self.squares[slot]]);
        let point = Points { rows: centre, squares: &square };
        if let ([kernel], None) = (self.kernels.as_slice(), &self.weights)
            && !kernel.of_manhattan_distance()
        {
            return gram::kernel_row(self.backend, kernel, point, packed, column);
        }
        let mut out = Values { data: column, plane: LANES, stride: LANES };
        self.plain_values(1, point, packed, out.again());
        let Some(weights) = self.weights_in_use() else { return };
        self.values((Chain::Differences(&weights.halves), &self.views.weighted_differences), 1, point, packed, out);
        // The rows of the block are weighted, here where they are the terms.
        if let Some((packed, column)) = block.replaced_weighted(self.features()) {
            let point = Points { rows: centre, squares: &[weights.squares[slot]] };
            let out = Values { data: column, plane: LANES, stride: LANES };
            self.values((Chain::Products, &self.views.weighted_products), 1, point, packed, out);
        }
    }

    fn bytes(&self) -> usize {
        let unscaled = self.unscaled.as_ref().map_or(0, UnscaledRows::bytes);
        let squares = self.squares.capacity() + self.weights.as_ref().map_or(0, |weights| weights.squares.capacity());
        self.panels.bytes() + squares * size_of::<f32>() + unscaled
    }
}

/// The most values of a blend of two sparse rows that are not zero: blended centres would fill up.
pub(crate) const MOST_BLENDED: usize = 1024;

/// No slot has this number.
const NO_SLOT: usize = usize::MAX;
const NONE: [usize; 3] = [NO_SLOT; 3];

/// Up to this many planes, the slices of the planes are kept on the stack.
const FEW_PLANES: usize = 64;
