//! What the heads of a learner share, and what each has of its own when it starts.

/// How hypotheses are averaged (algorithms.md 3.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Average {
    /// Not at all.
    #[default]
    None,
    /// The mean of all hypotheses before each update: Theorem N3.
    Uniform,
    /// An exponential mean: weight max(rate, 1/t), so that it starts as a uniform one.
    Exponential {
        /// The weight of the newest hypothesis.
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
    /// At examples whose loss has a gradient (xi != 0 at the score) only, as the authors' scripts do.
    OnUpdate,
}

impl Shrink {
    pub(crate) fn is_always(&self) -> bool {
        *self == Shrink::Always
    }
}

/// What every head of a learner shares: the settings that are not its own. By default the explicit step, no offset.
#[derive(Clone, Debug, Default)]
pub struct Rules<R> {
    /// The regulariser's shape.
    pub regulariser: R,
    /// Is an offset b learned?
    pub offset: bool,
    /// The proximal step of 3.3 instead of the explicit one.
    pub implicit: bool,
    /// May eta lambda exceed one (E13's second reading)?
    pub allow_overshoot: bool,
    /// When f is shrunk.
    pub shrink: Shrink,
}

/// What a head has of its own when it starts.
#[derive(Clone, Debug)]
pub struct HeadParts<S> {
    /// Its step size.
    pub step: S,
    /// Its regulariser.
    pub lambda: f64,
    /// The first plane of kernel values that it reads; heads may differ in their kernels.
    pub plane: usize,
    /// Which hypotheses are averaged; the average then speaks for the head.
    pub average: Average,
    /// Does the last hypothesis speak, too, where heads are weighed?
    pub both: bool,
}

impl<S> HeadParts<S> {
    /// A head without an average, under the first kernel.
    pub fn new(step: S, lambda: f64) -> Self {
        HeadParts { step, lambda, plane: 0, average: Average::None, both: false }
    }
}
