//! The basis of a configured learner: stored terms, or weights (`form = weights`).

use std::ops::{Deref, DerefMut, Range};

use crate::basis::block::Block;
use crate::basis::terms::Terms;
use crate::basis::vectors::{VectorRows, Vectors};
use crate::basis::{Basis, Form, RowsOf, Space, weights};
use crate::gram::LANES;
use crate::parts::kernel::DotKernel;

/// Terms, or the features of the rows. With weights there are no terms; their space still has the kernel, the number of features
/// and the backend.
#[derive(Clone, Debug)]
pub struct TermsOrWeights<P> {
    terms: Terms<P>,
    weights: bool,
}

impl<P: Space> TermsOrWeights<P> {
    /// A basis without terms. With `weights`, the kernel of the space is the linear one.
    pub fn new(space: P, weights: bool) -> Self {
        TermsOrWeights { terms: Terms::new(space), weights }
    }

    /// Whether f is a weight vector.
    pub fn has_weights(&self) -> bool {
        self.weights
    }
}

impl<K: DotKernel> TermsOrWeights<Vectors<K>> {
    /// The number of coefficients per function and output: slots of terms, or features.
    pub(crate) fn coordinates(&self) -> usize {
        if self.weights { self.terms.space.features() } else { self.terms.slots() }
    }
}

impl<P> Deref for TermsOrWeights<P> {
    type Target = Terms<P>;

    fn deref(&self) -> &Terms<P> {
        &self.terms
    }
}

impl<P> DerefMut for TermsOrWeights<P> {
    fn deref_mut(&mut self) -> &mut Terms<P> {
        &mut self.terms
    }
}

impl<K: DotKernel> Basis for TermsOrWeights<Vectors<K>> {
    type Space = Vectors<K>;

    fn space(&self) -> &Self::Space {
        &self.terms.space
    }

    fn row_len(&self) -> usize {
        self.coordinates().next_multiple_of(LANES)
    }

    fn begin(&self, rows: RowsOf<'_, Self>, block: &mut Block, learned: bool) {
        match rows {
            _ if !self.weights => self.terms.begin(rows, block, learned),
            VectorRows::Dense(rows) => weights::begin(self.terms.space.features(), rows, block),
            VectorRows::Sparse(rows) => block.begin_features(rows),
        }
    }

    fn begin_partly(&self, rows: RowsOf<'_, Self>, block: &mut Block, slots: &[Range<usize>]) {
        self.terms.begin_partly(rows, block, slots);
    }

    fn slots(&self) -> usize {
        self.coordinates()
    }

    fn self_values(&self, rows: RowsOf<'_, Self>, i: usize, out: &mut [f64]) {
        self.terms.space.self_values(rows, i, out);
    }

    fn settles(&self) -> bool {
        !self.weights
    }

    fn form(&mut self) -> Form<'_, Self::Space> {
        if self.weights { Form::Weights } else { Form::Terms(&mut self.terms) }
    }

    fn bytes(&self) -> usize {
        self.terms.bytes()
    }
}
