//! Copies of an engine for concurrent prediction.

use crate::engine::Engine;

impl<F: Clone, L: Clone, S: Clone, B: Clone, R: Clone> Engine<F, L, S, B, R> {
    /// A copy of the state with an empty workspace. The copy predicts and learns exactly like the original; it allocates a
    /// workspace on first use.
    pub(crate) fn without_workspace(&self) -> Self {
        Engine {
            basis: self.basis.clone(),
            heads: self.heads.clone(),
            linear: self.linear.clone(),
            bank: self.bank.clone(),
            losses: self.losses.clone(),
            budget: self.budget.clone(),
            output: self.output.clone(),
            rules: self.rules.clone(),
            t: self.t,
            skipped: self.skipped,
            away: Default::default(),
            kept: self.kept.clone(),
            first: 0,
            block: Default::default(),
            reader: Default::default(),
            linear_reader: Default::default(),
            own: vec![0.0; self.own.len()],
            scratch: Default::default(),
            watch: self.watch,
            watched: Vec::new(),
            gradient: Vec::new(),
        }
    }
}
