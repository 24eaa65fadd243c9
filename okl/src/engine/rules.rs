//! The settings that all heads of a learner share, and the initial settings of a single head.

use crate::parts::loss::Loss;
use crate::parts::output::Output;
use crate::parts::regulariser::Regulariser;

/// Which hypotheses are averaged, and with what weights (algorithms.md 3.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Average {
    /// No averaging.
    #[default]
    None,
    /// The mean of all hypotheses before each update: Theorem N3.
    Uniform,
    /// An exponential moving average: the newest hypothesis has weight max(rate, 1/t), so the average starts as a uniform one.
    Exponential {
        /// The final weight of the newest hypothesis.
        rate: f64,
    },
}

impl Average {
    pub(crate) fn weight(self, t: u64) -> f64 {
        match self {
            Average::None => 0.0,
            Average::Uniform => 1.0 / t as f64,
            Average::Exponential { rate } => rate.max(1.0 / t as f64),
        }
    }
}

/// When f is shrunk by 1 - eta lambda (algorithms.md 7.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shrink {
    /// At every example, as the papers print it: N(10), N(12).
    #[default]
    Always,
    /// Only at examples whose loss has a gradient (xi != 0 at the score), as in the authors' scripts.
    OnUpdate,
}

impl Shrink {
    pub(crate) fn is_always(&self) -> bool {
        *self == Shrink::Always
    }
}

/// The settings that all heads share. The default is the explicit step without an offset.
#[derive(Clone, Debug, Default)]
pub struct Rules<R> {
    /// The regulariser omega(|f|), without its weight lambda.
    pub regulariser: R,
    /// Whether an offset b is learned.
    pub offset: bool,
    /// Whether to take the proximal step of 3.3 instead of the explicit one.
    pub implicit: bool,
    /// Whether eta lambda may exceed one (E13's second reading).
    pub allow_overshoot: bool,
    /// When f is shrunk.
    pub shrink: Shrink,
}

impl<R: Regulariser> Rules<R> {
    /// Whether the regret certificate is proved for steps on this loss. It compares with other offsets, so an offset that stays where
    /// it is has none.
    pub(crate) fn certifies<L: Loss>(&self, loss: &L, offset_step: f64) -> bool {
        let moves = !self.offset || offset_step > 0.0;
        self.regulariser.is_square() && !self.implicit && loss.convex() && loss.theta().is_none() && moves
    }
}

/// What the step of a head is computed from, beside the head itself and the example.
pub(crate) struct Objective<'a, L, R> {
    pub loss: &'a L,
    pub output: &'a Output,
    pub rules: &'a Rules<R>,
    /// Whether anybody reads the loss before the step. A bank reads that of heads with its first loss only.
    pub read: bool,
}

/// The initial settings of a single head.
#[derive(Clone, Debug)]
pub struct HeadParts<S> {
    /// The step size.
    pub step: S,
    /// The regularisation weight.
    pub lambda: f64,
    /// The first plane of kernel values that the head reads. Heads may have different kernels.
    pub plane: usize,
    /// The number of its loss in [`Parts::losses`](crate::engine::Parts::losses).
    pub loss: usize,
    /// Which hypotheses are averaged. With an average, the head predicts with it.
    pub average: Average,
    /// In a bank: whether the last hypothesis is a second voice beside the average.
    pub both: bool,
    /// The steps of the offset are this many times those of f: in a proximal step and in a normalised one, b is f over the kernel
    /// k(x, x') = `offset_step`. With 0, the offset stays where it is.
    pub offset_step: f64,
}

impl<S> HeadParts<S> {
    /// A head without an average that has the first kernel and the first loss.
    pub fn new(step: S, lambda: f64) -> Self {
        HeadParts { step, lambda, plane: 0, loss: 0, average: Average::None, both: false, offset_step: 1.0 }
    }
}
