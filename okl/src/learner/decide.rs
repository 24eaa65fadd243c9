//! Decisions from scores: a class, or novel or not.

use crate::config::Label;
use crate::engine::bank::decision;
use crate::learner::Learner;
use crate::parts::loss::{AnyLoss, Loss, Reads};

impl Learner {
    /// The classes so far: in the given order, or in order of appearance. Outputs have the same order.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// let labels = [Label::from("no"), Label::from("yes")];
    /// learner.learn(&Batch::new(&[0.0, 9.0], 1).labels(&labels))?;
    /// assert_eq!(learner.classes(), labels);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn classes(&self) -> &[Label] {
        &self.classes.names
    }

    /// For a loss with a sign as target: the index among [`Learner::classes`] of the class of positive scores.
    ///
    /// If classes are given, it is the second. Otherwise it is the class that sorts last (numbers by value, names by spelling), or the
    /// only class so far. In model files of formats 1 to 3 it is the second class that appeared. None for other losses, and if
    /// targets are the numbers -1 and +1.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// let labels = [Label::from("yes"), Label::from("no")];
    /// learner.learn(&Batch::new(&[9.0, 0.0], 1).labels(&labels))?;
    /// assert_eq!(learner.positive(), Some(0));                      // "yes" sorts after "no"
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn positive(&self) -> Option<usize> {
        self.classes.positive
    }

    /// The predicted class, as an index among [`Learner::classes`]: the class with the largest score, the earlier one of equal scores.
    /// For a loss with a sign as target: the positive class if the score is above 0, otherwise the other one. If only one class is
    /// known, it is always predicted. None for losses without classes, before the first class, and if targets are the numbers -1
    /// and +1.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// let labels = [Label::from("no"), Label::from("yes")];
    /// learner.learn(&Batch::new(&[0.0, 9.0], 1).labels(&labels))?;
    /// let scores = learner.predict_one(&[8.9])?;
    /// assert_eq!(learner.decide(&scores), Some(1));                 // "yes"
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn decide(&self, scores: &[f64]) -> Option<usize> {
        let count = self.classes.names.len();
        match (self.config.loss.reads(), self.classes.positive) {
            (Reads::Sign, Some(positive)) if count == 1 || scores[0] > 0.0 => Some(positive),
            (Reads::Sign, Some(positive)) => Some(1 - positive),
            (Reads::Class, _) if count > 0 => Some(decision(scores)),
            _ => None,
        }
    }

    /// The novelty threshold: a row is novel if and only if its score is below it. None for other losses, and while the tracker
    /// collects its first scores.
    ///
    /// If scores are averaged and there is no tracker, the threshold is the average of theta.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// let mut learner = Learner::new(Config::from_toml("loss = 'nu_novelty:0.2'\nkernel = 'gaussian:1'\nstep = 'constant:0.01'\nlambda = 0.1")?)?;
    /// learner.learn(&Batch::new(&[0.1, 0.2, 0.3, 0.2, 0.1], 1))?;
    /// let threshold = learner.threshold().unwrap();
    /// assert!(learner.predict_one(&[50.0])?[0] < threshold);        // unlike anything before: an alert
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn threshold(&self) -> Option<f64> {
        match (&*self.config.loss, &self.head().tracker) {
            (AnyLoss::Novelty { margin }, _) => Some(*margin),
            (loss @ AnyLoss::NuNovelty { .. }, None) => Some(self.head().theta_of_score(loss)),
            (AnyLoss::NuNovelty { .. } | AnyLoss::Density { .. }, Some(tracker)) => tracker.ready().then(|| tracker.threshold()),
            _ => None,
        }
    }
}
