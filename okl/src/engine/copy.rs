//! Copies of an engine for readers.

use crate::basis::Space;
use crate::engine::{Engine, Scratch};

impl<P: Space + Clone, L: Clone, S: Clone, B: Clone, R: Clone> Engine<P, L, S, B, R> {
    /// The same state with an empty workspace. It predicts and learns as this one, and allocates its workspace when it is used.
    pub(crate) fn without_workspace(&self) -> Self {
        Engine {
            terms: self.terms.clone(),
            heads: self.heads.clone(),
            bank: self.bank.clone(),
            loss: self.loss.clone(),
            budget: self.budget.clone(),
            output: self.output.clone(),
            rules: self.rules.clone(),
            t: self.t,
            skipped: self.skipped,
            tile: Default::default(),
            ahead: Default::default(),
            scratch: Scratch::new(self.terms.space.planes()),
        }
    }
}
