//! The basis of a configured learner: stored terms, the features of rows or products of two of them (`form = weights`), or random
//! features (`form = fourier`).

use std::ops::{Deref, DerefMut, Range};

use crate::basis::block::Block;
use crate::basis::fourier::Fourier;
use crate::basis::quadratic::{self, Quadratic};
use crate::basis::terms::Terms;
use crate::basis::vectors::{VectorRows, Vectors};
use crate::basis::{Basis, Form, RowsOf, Space, weights};
use crate::gram::LANES;
use crate::parts::kernel::DotKernel;

/// The basis functions.
#[derive(Clone, Debug)]
pub enum Functions {
    /// k(x_i, .) of stored terms.
    Terms,
    /// The features of a row; the kernel is the linear one.
    Features,
    /// The features of the polynomial kernel of degree 2.
    Quadratic(Quadratic),
    /// Random Fourier features of a row.
    Fourier(Fourier),
}

/// Terms, or weights of features. With weights there are no terms; their space still has the kernels, the number of features and the
/// backend.
#[derive(Clone, Debug)]
pub struct TermsOrWeights<P> {
    terms: Terms<P>,
    functions: Functions,
}

impl<P: Space> TermsOrWeights<P> {
    /// A basis without terms.
    pub fn new(space: P, functions: Functions) -> Self {
        TermsOrWeights { terms: Terms::new(space), functions }
    }

    /// Whether f is a weight vector.
    pub fn has_weights(&self) -> bool {
        !matches!(self.functions, Functions::Terms)
    }

    /// Whether f is a weight vector over the features of the polynomial kernel of degree 2.
    pub fn is_quadratic(&self) -> bool {
        self.quadratic().is_some()
    }

    /// The features of the polynomial kernel of degree 2, if f is a weight vector over them.
    pub fn quadratic(&self) -> Option<&Quadratic> {
        if let Functions::Quadratic(quadratic) = &self.functions { Some(quadratic) } else { None }
    }

    /// The random features, if f is a weight vector over them.
    pub fn fourier(&self) -> Option<&Fourier> {
        if let Functions::Fourier(fourier) = &self.functions { Some(fourier) } else { None }
    }
}

impl<K: DotKernel + Clone> TermsOrWeights<Vectors<K>> {
    /// The number of coefficients per function and output: slots of terms, or features. There are none before the first row.
    pub(crate) fn coordinates(&self) -> usize {
        match &self.functions {
            Functions::Terms => self.terms.slots(),
            Functions::Features => self.terms.space.features(),
            Functions::Quadratic(_) => quadratic::features(self.terms.space.features()),
            Functions::Fourier(fourier) => {
                if self.terms.space.features() > 0 {
                    fourier.size()
                } else {
                    0
                }
            }
        }
    }

    /// Increases the number of features of rows.
    pub(crate) fn widen(&mut self, features: usize) {
        self.terms.space.widen(features);
        if let Functions::Fourier(fourier) = &mut self.functions {
            fourier.widen(features);
        }
    }

    /// Puts another kernel in the place of that of a plane.
    pub(crate) fn replace_kernel(&mut self, plane: usize, kernel: K) {
        if let (Functions::Fourier(fourier), Some(kernel)) = (&mut self.functions, kernel.built_in()) {
            fourier.replace_kernel(plane, kernel);
        }
        self.terms.space.replace_kernel(plane, kernel);
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

impl<K: DotKernel + Clone> Basis for TermsOrWeights<Vectors<K>> {
    type Space = Vectors<K>;

    fn space(&self) -> &Self::Space {
        &self.terms.space
    }

    fn row_len(&self) -> usize {
        self.coordinates().next_multiple_of(LANES)
    }

    fn begin(&self, rows: RowsOf<'_, Self>, block: &mut Block, learned: bool) {
        match (&self.functions, rows) {
            (Functions::Terms, _) => self.terms.begin(rows, block, learned),
            (Functions::Features, VectorRows::Dense(rows)) => weights::begin(self.terms.space.features(), rows, block),
            (Functions::Features, VectorRows::Sparse(rows)) => block.begin_features(rows),
            (Functions::Quadratic(map), VectorRows::Dense(rows)) => map.begin(self.terms.space.features(), rows, block),
            (Functions::Quadratic(map), VectorRows::Sparse(rows)) => {
                block.begin_features_by(rows, |row, columns, values| {
                    map.of_sparse(row, |column, value| {
                        columns.push(column);
                        values.push(value);
                    });
                });
            }
            (Functions::Features | Functions::Quadratic(_), VectorRows::Given(_)) => {
                unreachable!("kernel values have no features")
            }
            (Functions::Fourier(fourier), _) => fourier.begin(self.terms.space.backend(), rows, block),
        }
    }

    fn begin_partly(&self, rows: RowsOf<'_, Self>, block: &mut Block, slots: &[Range<usize>]) {
        self.terms.begin_partly(rows, block, slots);
    }

    fn slots(&self) -> usize {
        self.coordinates()
    }

    fn places(&self) -> &[usize] {
        self.terms.places()
    }

    fn self_values(&self, rows: RowsOf<'_, Self>, i: usize, out: &mut [f64]) {
        self.terms.space.self_values(rows, i, out);
    }

    fn settles(&self) -> bool {
        !self.has_weights()
    }

    fn form(&mut self) -> Form<'_, Self::Space> {
        if self.has_weights() { Form::Weights } else { Form::Terms(&mut self.terms) }
    }

    fn bytes(&self) -> usize {
        self.terms.bytes() + self.fourier().map_or(0, Fourier::bytes)
    }
}
