//! From scores to decisions: a class, or novel or not.

use crate::config::Label;
use crate::engine::bank::decision;
use crate::learner::Learner;
use crate::parts::loss::{AnyLoss, Loss, Reads};

impl Learner {
    /// The classes so far, in order of appearance, or as they were given; outputs are in this order.
    pub fn classes(&self) -> &[Label] {
        &self.classes.names
    }

    /// Under a loss that reads a sign: the index among [`Learner::classes`] of the class whose scores are positive.
    ///
    /// Of two given classes it is the second; of two that appeared, the one that sorts last (numbers by value, names by
    /// spelling); a class that is alone. Model files of formats 1 to 3 keep their order: the second that appeared. None for
    /// other losses, and where targets are the numbers -1 and +1.
    pub fn positive(&self) -> Option<usize> {
        self.classes.positive
    }

    /// The index among [`Learner::classes`] of the class that the scores of a row decide for: the largest score, the earlier
    /// class of equals; under a sign the positive class where the score is above 0, else the other one. A class that is
    /// alone is always decided for. None where scores decide nothing: other losses, no class yet, or targets that are the
    /// numbers -1 and +1.
    pub fn decide(&self, scores: &[f64]) -> Option<usize> {
        let count = self.classes.names.len();
        match (self.config.loss.reads(), self.classes.positive) {
            (Reads::Sign, Some(positive)) if count == 1 || scores[0] > 0.0 => Some(positive),
            (Reads::Sign, Some(positive)) => Some(1 - positive),
            (Reads::Class, _) if count > 0 => Some(decision(scores)),
            _ => None,
        }
    }

    /// A row is novel iff its score is below this; none for losses that are not about novelty, or while the tracker gathers.
    ///
    /// Where scores are averaged without a tracker, so is theta.
    pub fn threshold(&self) -> Option<f64> {
        match (&self.config.loss, &self.head().tracker) {
            (AnyLoss::Novelty { margin }, _) => Some(*margin),
            (AnyLoss::NuNovelty { .. }, None) if self.head().f.riders().mean => Some(self.head().theta_mean),
            (AnyLoss::NuNovelty { .. }, None) => Some(self.theta()),
            (AnyLoss::NuNovelty { .. }, Some(tracker)) => tracker.ready().then(|| tracker.threshold()),
            _ => None,
        }
    }
}
