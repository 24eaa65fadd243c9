//! The unscaled rows of centres, exactly as they came, in double precision. They are kept where the frame may change: the centres
//! are then computed again from them.

use std::sync::Arc;

use crate::gram::LANES;
use crate::learner::batch::LARGEST;

/// One row per slot, in groups of [`LANES`] rows. A clone shares the groups; writing to a shared group copies it first.
#[derive(Clone, Debug)]
pub(crate) struct UnscaledRows {
    features: usize,
    groups: Vec<Arc<[f64]>>,
}

impl UnscaledRows {
    pub fn new(features: usize) -> Self {
        UnscaledRows { features, groups: Vec::new() }
    }

    /// Adds rows of zeros until there are at least `slots` rows.
    pub fn reserve(&mut self, slots: usize) {
        let (wanted, size) = (slots.div_ceil(LANES).max(self.groups.len()), LANES * self.features);
        self.groups.resize_with(wanted, || std::iter::repeat_n(0.0, size).collect());
    }

    pub fn row(&self, slot: usize) -> &[f64] {
        &self.groups[slot / LANES][slot % LANES * self.features..][..self.features]
    }

    pub fn row_mut(&mut self, slot: usize) -> &mut [f64] {
        &mut Arc::make_mut(&mut self.groups[slot / LANES])[slot % LANES * self.features..][..self.features]
    }

    /// The row of `into` becomes h times the row of `from` plus (1 - h) times itself, as the merged centre does. h = 0 changes no bit.
    pub fn blend(&mut self, into: usize, from: usize, h: f64) {
        if h == 0.0 {
            return;
        }
        for feature in 0..self.features {
            let [a, b] = [from, into].map(|slot| self.row(slot)[feature]);
            self.row_mut(into)[feature] = (h * a + (1.0 - h) * b).clamp(-LARGEST, LARGEST);
        }
    }

    /// Increases the number of features; the rows are 0 in the new ones.
    pub fn widen(&mut self, features: usize) {
        let from = std::mem::replace(&mut self.features, features);
        for group in self.groups.iter_mut().filter(|_| features > from) {
            let mut wide = vec![0.0; LANES * features];
            for (to, row) in wide.chunks_exact_mut(features).zip(group.chunks_exact(from.max(1))) {
                to[..from].copy_from_slice(&row[..from]);
            }
            *group = wide.into();
        }
    }

    /// Bytes held, including groups that are shared with a clone.
    pub fn bytes(&self) -> usize {
        // Each group has two reference counts.
        let group = |group: &Arc<[f64]>| size_of_val::<[f64]>(group) + 2 * size_of::<usize>();
        self.groups.iter().map(group).sum::<usize>() + self.groups.capacity() * size_of::<Arc<[f64]>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_kept_blended_and_widened() {
        let mut rows = UnscaledRows::new(2);
        rows.reserve(40);
        rows.row_mut(3).copy_from_slice(&[1.0, 0.1]);
        rows.row_mut(39).copy_from_slice(&[5.0, 0.3]);
        let before = rows.clone();
        rows.blend(3, 39, 0.0);
        assert_eq!(rows.row(3), [1.0, 0.1]);
        rows.blend(3, 39, 0.25);
        assert_eq!((rows.row(3)[0], rows.row(39)), (2.0, &[5.0, 0.3][..]));
        assert_eq!(before.row(3), [1.0, 0.1]);
        rows.widen(3);
        assert_eq!((rows.row(39), rows.row(38)), (&[5.0, 0.3, 0.0][..], &[0.0; 3][..]));
    }
}
