//! The weights of examples by class (`class_weight`). They depend on the stream alone.

use crate::config::{ClassWeight, Label};
use crate::learner::{Learner, Part};
use crate::parts::loss::{Loss, Reads};

/// The number of examples of each class so far: by class number, or of the negative and the positive class. Counted if classes are
/// balanced, otherwise empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ClassCounts(Vec<u64>);

impl ClassCounts {
    /// Counts an example. Returns the number of examples of the rarest class so far over that of this class; while there is one class,
    /// the rarest is one not yet seen, which counts as one example.
    fn balance(&mut self, class: usize) -> f64 {
        self.0.resize(self.0.len().max(class + 1), 0);
        self.0[class] += 1;
        let seen = || self.0.iter().copied().filter(|count| *count > 0);
        let rarest = if seen().count() > 1 { seen().min().unwrap_or(1) } else { 1 };
        rarest as f64 / self.0[class] as f64
    }

    /// Exchanges the negative and the positive class.
    pub fn negate(&mut self) {
        if !self.0.is_empty() {
            self.0.resize(2, 0);
            self.0.swap(0, 1);
        }
    }

    /// The counts as numbers of a model file.
    pub fn state(&self) -> &[u64] {
        &self.0
    }

    /// The counts of a model file, if they are possible. A shadow has none, because its rows come with their weights.
    pub fn restored(counts: Vec<u64>, classes: usize, examples: u64) -> Option<Self> {
        let sum = counts.iter().try_fold(0u64, |sum, count| sum.checked_add(*count));
        (counts.len() <= classes.max(2) && (counts.is_empty() || sum == Some(examples))).then_some(ClassCounts(counts))
    }
}

impl Learner {
    /// Writes the weights of the rows of a part by class, without the weights that are given per row; nothing if classes have no
    /// weights.
    pub(super) fn weigh_classes(&mut self, part: &Part<'_>, weights: &mut Vec<f64>) {
        weights.clear();
        if self.config.class_weight.is_none() {
            return;
        }
        let signs = self.config.loss.reads() == Reads::Sign;
        for (i, (known, y)) in part.known().iter().zip(part.y()).enumerate() {
            let class = if signs { usize::from(*y > 0.0) } else { *y as usize };
            weights.push(match &self.config.class_weight {
                _ if !known => 1.0,
                ClassWeight::None => 1.0,
                ClassWeight::Balanced => self.counts.balance(class),
                ClassWeight::Table(table) => ClassWeight::of(table, &self.name_of_target(part, i, class)),
            });
        }
    }

    /// The name of the class of an example. Numbers without names are the classes -1 and 1.
    fn name_of_target(&self, part: &Part<'_>, i: usize, class: usize) -> Label {
        let names = &self.classes.names;
        match self.config.loss.reads() {
            Reads::Sign if names.is_empty() => Label::Int(if class == 1 { 1 } else { -1 }),
            Reads::Sign => {
                let positive = part.targets.positive_at(part.rows.start + i, &self.classes).unwrap_or(0);
                names[if class == 1 { positive } else { 1 - positive }].clone()
            }
            _ => names[class].clone(),
        }
    }
}
