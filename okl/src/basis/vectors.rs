//! The space of a configured learner: rows of numbers, stored densely or sparsely, or objects that are given by their kernel values.
//!
//! Rows come in the layout of the storage; the learner converts them (`FramedRows` in learner/rows.rs). No bit of a
//! result depends on the layout, so the storage may change at any time.

use std::ops::Range;

use crate::basis::block::Block;
use crate::basis::given::{Given, GivenRows};
use crate::basis::sparse::{Sparse, SparsePoints, SparseRow};
use crate::basis::unscaled::UnscaledRows;
use crate::basis::{Dense, Points, Space};
use crate::gram::{Backend, Matrix, Packed, Panels};
use crate::parts::kernel::{AnyKernel, DotKernel, Pair};

/// Rows of numbers with one or more kernels.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // there is one per learner
pub enum Vectors<K> {
    /// Dense rows in panels.
    Dense(Dense<K>),
    /// Sparse rows in an inverted index.
    Sparse(Sparse<K>),
    /// Objects with given kernel values.
    Given(Given<K>),
}

/// Rows in the layout of the storage.
#[derive(Clone, Copy, Debug)]
pub enum VectorRows<'a> {
    /// Dense rows.
    Dense(Points<'a>),
    /// Sparse rows.
    Sparse(SparsePoints<'a>),
    /// Rows of kernel values.
    Given(GivenRows<'a>),
}

impl<'a> VectorRows<'a> {
    /// The squared norms.
    pub fn squares(self) -> &'a [f32] {
        match self {
            VectorRows::Dense(rows) => rows.squares,
            VectorRows::Sparse(rows) => rows.squares,
            VectorRows::Given(rows) => rows.squares(),
        }
    }

    /// Some of the rows.
    pub fn range(self, rows: Range<usize>) -> Self {
        match self {
            VectorRows::Dense(all) => VectorRows::Dense(all.range(rows)),
            VectorRows::Sparse(all) => VectorRows::Sparse(all.range(rows)),
            VectorRows::Given(all) => VectorRows::Given(all.range(rows)),
        }
    }

    fn dense(self) -> Points<'a> {
        match self {
            VectorRows::Dense(rows) => rows,
            VectorRows::Sparse(_) | VectorRows::Given(_) => unreachable!("rows have the layout of the storage"),
        }
    }

    fn sparse(self) -> SparsePoints<'a> {
        match self {
            VectorRows::Sparse(rows) => rows,
            VectorRows::Dense(_) | VectorRows::Given(_) => unreachable!("rows have the layout of the storage"),
        }
    }

    fn given(self) -> GivenRows<'a> {
        match self {
            VectorRows::Given(rows) => rows,
            VectorRows::Dense(_) | VectorRows::Sparse(_) => unreachable!("rows have the layout of the storage"),
        }
    }
}

/// Calls a method of the storage, with the rows in its layout.
macro_rules! of_storage {
    ($self:expr, $space:ident => $call:expr) => {
        match $self {
            Vectors::Dense($space) => $call,
            Vectors::Sparse($space) => $call,
            Vectors::Given($space) => $call,
        }
    };
    ($self:expr, $rows:ident, $space:ident => $call:expr) => {
        match $self {
            Vectors::Dense($space) => {
                let $rows = $rows.dense();
                $call
            }
            Vectors::Sparse($space) => {
                let $rows = $rows.sparse();
                $call
            }
            Vectors::Given($space) => {
                let $rows = $rows.given();
                $call
            }
        }
    };
}

impl<K: DotKernel + Clone> Vectors<K> {
    /// A copy with the same centres and only some of the kernels.
    pub(crate) fn under(&self, planes: Range<usize>) -> Self {
        match self {
            Vectors::Dense(space) => Vectors::Dense(space.under(planes)),
            Vectors::Sparse(space) => Vectors::Sparse(space.under(planes)),
            Vectors::Given(space) => Vectors::Given(space.under(planes)),
        }
    }

    /// A space with the same kernels and no centres.
    pub(crate) fn emptied(&self) -> Self {
        match self {
            Vectors::Dense(space) => Vectors::Dense(space.emptied()),
            Vectors::Sparse(space) => Vectors::Sparse(space.emptied()),
            Vectors::Given(space) => Vectors::Given(space.emptied()),
        }
    }

    /// Values of the rows of a block are needed for these planes only; for all planes, if none are listed. Sparse storage computes all of
    /// them in any case: most of its time goes to inner products, which the planes share.
    pub(crate) fn compute_only(&mut self, planes: Option<Vec<usize>>) {
        if let Vectors::Dense(space) = self {
            space.compute_only(planes);
        }
    }

    /// Sets the weights of columns, and which planes read weighted columns. Rows that are stored sparsely have none.
    pub(crate) fn set_weights(&mut self, weights: &[f64], planes: Vec<bool>) {
        if let Vectors::Dense(space) = self {
            space.set_weights(weights, planes);
        }
    }

    /// Stores the rows of the first slots, and all later ones, sparsely.
    pub(crate) fn make_sparse(&mut self, slots: usize) {
        if let Vectors::Dense(dense) = self {
            *self = Vectors::Sparse(Sparse::of(dense, slots));
        }
    }

    /// Stores a sparse row as the centre of a slot, if rows are stored sparsely.
    pub(crate) fn put_sparse(&mut self, slot: usize, row: SparseRow<'_>) {
        if let Vectors::Sparse(space) = self {
            space.put_row(slot, row);
        }
    }

    /// Copies the centre of a slot of another space with the same storage into a slot.
    pub(crate) fn copy_from(&mut self, slot: usize, other: &Self, of: usize) {
        match (self, other) {
            (Vectors::Sparse(to), Vectors::Sparse(from)) => to.put_row(slot, from.row(of)),
            (Vectors::Dense(to), Vectors::Dense(from)) => {
                let mut row = vec![0.0; from.features()];
                from.centre(of, &mut row);
                let squares = [crate::gram::square(&row)];
                let unscaled = from.unscaled().map_or(&[][..], |rows| rows.row(of));
                to.put(slot, Points { rows: Matrix::one(&row).computed_from(unscaled), squares: &squares }, 0);
            }
            _ => unreachable!("both have one storage, and rows of numbers: other terms are not copied one by one"),
        }
    }
}

impl<K: DotKernel + Clone> Vectors<K> {
    /// Whether rows are stored sparsely.
    pub fn is_sparse(&self) -> bool {
        matches!(self, Vectors::Sparse(_))
    }

    /// The objects with given kernel values, if the terms are such objects.
    pub fn given(&self) -> Option<&Given<K>> {
        if let Vectors::Given(space) = self { Some(space) } else { None }
    }

    pub(crate) fn given_mut(&mut self) -> Option<&mut Given<K>> {
        if let Vectors::Given(space) = self { Some(space) } else { None }
    }

    /// Puts another kernel in the place of that of a plane.
    pub(crate) fn replace_kernel(&mut self, plane: usize, kernel: K) {
        of_storage!(self, space => space.replace_kernel(plane, kernel))
    }

    /// The kernels, one per plane.
    pub fn kernels(&self) -> &[K] {
        of_storage!(self, space => space.kernels())
    }

    /// The number of features.
    pub fn features(&self) -> usize {
        of_storage!(self, space => space.features())
    }

    /// Increases the number of features. Existing centres are zero in the new ones.
    pub fn widen(&mut self, features: usize) {
        of_storage!(self, space => space.widen(features))
    }

    /// Copies the centre of a slot as a dense row.
    pub fn centre(&self, slot: usize, out: &mut [f32]) {
        of_storage!(self, space => space.centre(slot, out))
    }

    /// The centre of a slot, if rows are stored sparsely.
    pub fn sparse_centre(&self, slot: usize) -> Option<SparseRow<'_>> {
        match self {
            Vectors::Dense(_) | Vectors::Given(_) => None,
            Vectors::Sparse(space) => Some(space.row(slot)),
        }
    }

    /// k(x, x) of a row with this squared norm, one value per plane.
    pub(crate) fn diagonal_at(&self, xx: f32, out: &mut [f64]) {
        of_storage!(self, space => space.diagonal_at(xx, out))
    }

    /// The unscaled rows, if they are kept.
    pub(crate) fn unscaled(&self) -> Option<&UnscaledRows> {
        if let Vectors::Dense(space) = self { space.unscaled() } else { None }
    }

    /// Forgets the unscaled rows.
    pub(crate) fn drop_unscaled(&mut self) {
        if let Vectors::Dense(space) = self {
            space.drop_unscaled();
        }
    }

    /// Computes the centres of the first `slots` slots again from their unscaled rows, if these are kept.
    pub(crate) fn rescale(&mut self, slots: usize, scale: impl FnMut(&[f64], &mut [f32])) {
        if let Vectors::Dense(space) = self {
            space.rescale(slots, scale);
        }
    }

    pub(crate) fn set_threads(&mut self, threads: usize) {
        match self {
            Vectors::Dense(space) => space.threads = threads,
            Vectors::Sparse(space) => space.threads = threads,
            Vectors::Given(_) => {}
        }
    }
}

impl<K: DotKernel + Clone> Space for Vectors<K> {
    type Rows<'a> = VectorRows<'a>;

    fn count(rows: VectorRows<'_>) -> usize {
        rows.squares().len()
    }

    fn range<'a>(rows: Self::Rows<'a>, from: usize, to: usize) -> Self::Rows<'a> {
        rows.range(from..to)
    }

    fn planes(&self) -> usize {
        of_storage!(self, space => space.planes())
    }

    fn reserve(&mut self, slots: usize) {
        of_storage!(self, space => space.reserve(slots))
    }

    fn put(&mut self, slot: usize, rows: VectorRows<'_>, i: usize) {
        of_storage!(self, rows, space => space.put(slot, rows, i))
    }

    fn clear(&mut self, slot: usize) {
        of_storage!(self, space => space.clear(slot))
    }

    fn is(&mut self, slot: usize, rows: VectorRows<'_>, i: usize) -> bool {
        of_storage!(self, rows, space => space.is(slot, rows, i))
    }

    fn against_terms(&self, rows: VectorRows<'_>, slots: usize, block: &mut Block) {
        of_storage!(self, rows, space => space.against_terms(rows, slots, block))
    }

    fn against_some(&self, rows: VectorRows<'_>, slots: Range<usize>, block: &mut Block) {
        of_storage!(self, rows, space => space.against_some(rows, slots, block))
    }

    fn points<'a>(rows: Self::Rows<'a>) -> Option<Points<'a>> {
        if let VectorRows::Dense(rows) = rows { Some(rows) } else { None }
    }

    fn packed_terms(&self) -> Option<Packed<'_>> {
        if let Vectors::Dense(space) = self { space.packed_terms() } else { None }
    }

    fn remove_slots(&mut self, slots: Range<usize>) {
        of_storage!(self, space => space.remove_slots(slots))
    }

    fn insert_centres(&mut self, slot: usize, centres: Panels, squares: &[f32]) {
        of_storage!(self, space => space.insert_centres(slot, centres, squares))
    }

    fn built_in_kernels(&self) -> Option<Vec<AnyKernel>> {
        if let Vectors::Dense(space) = self { space.built_in_kernels() } else { None }
    }

    fn among_rows(&self, rows: VectorRows<'_>, block: &mut Block) {
        of_storage!(self, rows, space => space.among_rows(rows, block))
    }

    fn self_values(&self, rows: VectorRows<'_>, i: usize, out: &mut [f64]) {
        of_storage!(self, rows, space => space.self_values(rows, i, out))
    }

    fn term_self_values(&self, slot: usize, out: &mut [f64]) {
        of_storage!(self, space => space.term_self_values(slot, out))
    }

    fn diagonal(&self) -> Option<&[f64]> {
        of_storage!(self, space => space.diagonal())
    }

    fn term_row(&mut self, slot: usize, slots: usize, planes: Range<usize>, out: &mut [f32]) {
        of_storage!(self, space => space.term_row(slot, slots, planes, out))
    }

    fn pairs(&mut self, slot: usize, rows: VectorRows<'_>, i: usize, out: &mut [Pair]) {
        of_storage!(self, rows, space => space.pairs(slot, rows, i, out))
    }

    fn backend(&self) -> Backend {
        of_storage!(self, space => space.backend())
    }

    fn threads(&self) -> usize {
        of_storage!(self, space => space.threads())
    }

    fn radial(&self, plane: usize) -> Option<&dyn DotKernel> {
        of_storage!(self, space => space.radial(plane))
    }

    fn distances2(&mut self, plane: usize, slot: usize, slots: usize, out: &mut [f32]) {
        of_storage!(self, space => space.distances2(plane, slot, slots, out))
    }

    fn apart2(&mut self, plane: usize, a: usize, b: usize) -> f64 {
        of_storage!(self, space => space.apart2(plane, a, b))
    }

    fn blend(&mut self, into: usize, from: usize, h: f64, pairs: &mut [[Pair; 3]]) {
        of_storage!(self, space => space.blend(into, from, h, pairs))
    }

    fn refresh(&mut self, slot: usize, block: &mut Block) {
        of_storage!(self, space => space.refresh(slot, block))
    }

    fn bytes(&self) -> usize {
        of_storage!(self, space => space.bytes())
    }
}
