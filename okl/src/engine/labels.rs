//! The targets of a block's rows, with their weights and ids.

use std::ops::Range;

use crate::basis::terms::NO_ID;

/// The targets, weights and ids of a block's rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Labels<'a> {
    /// Targets row by row, `width` numbers each (a class is given by its index); empty for losses without a target.
    pub y: &'a [f64],
    /// Numbers per target.
    pub width: usize,
    /// Which rows have a target; all, when not given. Rows without a target are predicted at their position in the stream and not
    /// learned.
    pub known: Option<&'a [bool]>,
    /// Example weights; 1 when not given. A row of weight 0 is treated as a row without a target.
    pub weights: Option<&'a [f64]>,
    /// The share of each row in the objective, from 0 to 1, which multiplies its loss and its regulariser; 1 when not given.
    pub shares: Option<&'a [f64]>,
    /// Ids. If the id names a live term with the same input, the row's coefficients are added to that term. If that term has
    /// another input, the id is reassigned to the new row.
    pub ids: Option<&'a [u64]>,
}

impl<'a> Labels<'a> {
    /// The labels of some of the rows.
    pub(crate) fn range(&self, rows: Range<usize>) -> Labels<'a> {
        Labels {
            y: &self.y[rows.start * self.width..rows.end * self.width],
            width: self.width,
            known: self.known.map(|known| &known[rows.clone()]),
            weights: self.weights.map(|weights| &weights[rows.clone()]),
            shares: self.shares.map(|shares| &shares[rows.clone()]),
            ids: self.ids.map(|ids| &ids[rows]),
        }
    }

    pub(super) fn target(&self, i: usize) -> Option<Answer<'a>> {
        let [weight, share] = [self.weights, self.shares].map(|of| of.map_or(1.0, |of| of[i]));
        let known = self.known.is_none_or(|k| k[i]) && weight > 0.0;
        known.then(|| Answer { y: &self.y[i * self.width..(i + 1) * self.width], weight, share })
    }

    pub(super) fn id(&self, i: usize) -> u64 {
        self.ids.map_or(NO_ID, |ids| ids[i])
    }
}

/// The target of one row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer<'a> {
    pub y: &'a [f64],
    pub weight: f64,
    pub share: f64,
}
