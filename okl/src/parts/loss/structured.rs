//! Margin losses for structured outputs: sequences, trees, rankings, any set of outputs with an argmax (V section 3.2).

use super::{Eval, Loss, Reads};

/// Defines the structured outputs `ỹ`: their parts, and the output with the largest loss for given scores.
///
/// Scores `z` in R^d are scores of parts; `psi(ỹ)` in R^d counts the parts of `ỹ`, so that `ỹ` scores `<z, psi(ỹ)>`.
/// Laws: the answer of `argmax` maximises over all outputs (`y` itself may be left out), ties go to one fixed choice,
/// and `delta(y, ỹ) >= 0`, 0 for `ỹ = y`.
pub trait Oracle: Send + Sync {
    /// The number d of parts.
    fn outputs(&self) -> usize;

    /// The kind of target. Default: a vector of numbers, which is passed on unchanged.
    fn reads(&self) -> Reads {
        Reads::Vector
    }

    /// Writes `psi(ỹ)` of the `ỹ` that maximises `delta(y, ỹ) + <z, psi(ỹ)>`; returns `delta(y, ỹ)`.
    fn argmax(&self, z: &[f64], y: &[f64], psi: &mut [f64]) -> f64;

    /// Adds `weight psi(y)` to `psi`, so that the loss needs no second vector.
    fn features(&self, y: &[f64], weight: f64, psi: &mut [f64]);
}

/// The margin loss over an oracle's outputs: `l = max(0, delta + <z, psi(ỹ)> - <z, psi(y)>)`.
///
/// V(8) is the special case where the parts are the classes, `psi(ỹ) = e_ỹ` and `delta` = 1 between any two.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Structured<O> {
    /// The outputs.
    pub oracle: O,
}

impl<O: Oracle> Structured<O> {
    /// The number of outputs, one per part.
    pub fn outputs(&self) -> usize {
        self.oracle.outputs()
    }
}

impl<O: Oracle> Loss for Structured<O> {
    fn reads(&self) -> Reads {
        self.oracle.reads()
    }

    /// `xi = psi(ỹ) - psi(y)` where `l > 0`, else 0.
    fn eval(&self, z: &[f64], y: &[f64], _theta: f64, xi: &mut [f64]) -> Eval {
        let delta = self.oracle.argmax(z, y, xi);
        self.oracle.features(y, -1.0, xi);
        let gap = delta + z.iter().zip(&*xi).map(|(z, xi)| z * xi).sum::<f64>();
        let outside = gap > 0.0;
        if !outside {
            xi.fill(0.0);
        }
        Eval { loss: gap.max(0.0), dtheta: 0.0, outside }
    }

    fn has_outside(&self) -> bool {
        true
    }
}
