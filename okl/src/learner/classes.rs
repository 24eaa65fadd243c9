//! The names of classes, and which of two is the positive one.

use std::collections::HashMap;

use crate::config::Label;
use crate::parts::loss::Reads;

/// The names of classes, in order of appearance.
#[derive(Clone, Debug, Default)]
pub(crate) struct Classes {
    pub names: Vec<Label>,
    /// Whether the classes were given in the configuration, so that other classes are errors.
    pub fixed: bool,
    /// For a loss with a sign as target: the class of positive scores. If classes are given: the second. Otherwise the class that
    /// sorts last, or the only class so far; none before the first class.
    pub positive: Option<usize>,
    signs: bool,
    index: HashMap<Label, usize>,
}

impl Classes {
    pub fn new(given: Option<&[Label]>, reads: Reads) -> Self {
        let mut classes = Classes { fixed: given.is_some(), signs: reads == Reads::Sign, ..Classes::default() };
        classes.extend(given.unwrap_or(&[]));
        classes
    }

    pub fn extend<'a>(&mut self, names: impl IntoIterator<Item = &'a Label>) {
        for name in names {
            self.positive = self.positive_with(self.names.len(), self.names.first(), name, self.positive);
            self.index.insert(name.clone(), self.names.len());
            self.names.push(name.clone());
        }
    }

    /// The positive class after `name` is added as class number `index`. `first`: the first class; `before`: the positive class so far.
    pub fn positive_with(&self, index: usize, first: Option<&Label>, name: &Label, before: Option<usize>) -> Option<usize> {
        match (self.signs, first) {
            (false, _) => None,
            (true, None) => Some(0),
            (true, Some(first)) if index == 1 && (self.fixed || name > first) => Some(1),
            _ => before,
        }
    }

    /// Whether the classes are -1 and +1, or one of them, so that the numbers -1 and +1 are valid targets, too.
    pub fn are_signs(&self) -> bool {
        !self.names.is_empty() && self.names.iter().all(is_sign)
    }

    pub fn index(&self, name: &Label) -> Option<usize> {
        self.index.get(name).copied()
    }
}

fn is_sign(label: &Label) -> bool {
    matches!(label, Label::Int(-1 | 1))
}
