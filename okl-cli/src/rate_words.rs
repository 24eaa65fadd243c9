//! The share of examples that a loss with nu certifies, in words. A detector raises alerts; the other losses with nu raise none. Reports and
//! certificates take their words from here; okl-server has those of its figures in `model/figures.rs`.

use okl::loss::AnyLoss;

/// The words for what a loss with nu counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateWords {
    /// The name of the share in a certificate.
    pub certificate: &'static str,
    /// The title of its chart.
    pub title: &'static str,
    /// The title of the section of a report with theta and the share.
    pub section: &'static str,
    /// The name of the axis, without and with weights.
    pub measures: [&'static str; 2],
    /// What the counted examples are, or did: "10 % of the examples ...".
    pub were: &'static str,
}

/// Alerts: the rows whose score is below the threshold.
const DETECTOR: RateWords = RateWords {
    certificate: "Alert rate",
    title: "Alert rate",
    section: "Threshold and alert rate",
    measures: ["share of alerts", "share of alerts, by weight"],
    were: "raised an alert",
};
/// Margin errors: y f(x) is below theta = rho. The predicted class can be right.
const MARGIN: RateWords = RateWords {
    certificate: "Examples inside the margin",
    title: "Margin errors",
    section: "Theta and margin errors",
    measures: ["share of examples inside the margin", "share of examples inside the margin, by weight"],
    were: "were inside the margin",
};
/// |y - f(x)| is above theta = epsilon.
const TUBE: RateWords = RateWords {
    certificate: "Targets outside the tube",
    title: "Targets outside the tube",
    section: "Theta and targets outside the tube",
    measures: ["share of targets outside the tube", "share of targets outside the tube, by weight"],
    were: "had a target outside the tube",
};
/// |y - f(x)| is above theta = sigma.
const SCALE: RateWords = RateWords {
    certificate: "Residuals beyond the scale",
    title: "Residuals beyond the scale",
    section: "Theta and residuals beyond the scale",
    measures: ["share of residuals beyond the scale", "share of residuals beyond the scale, by weight"],
    were: "had a residual beyond the scale",
};

/// The words of a loss. Losses without nu have no such share, unless they are those of a detector.
pub fn of(loss: &AnyLoss) -> RateWords {
    match loss {
        AnyLoss::NuHinge { .. } => MARGIN,
        AnyLoss::NuEpsilon { .. } => TUBE,
        AnyLoss::NuHuber { .. } => SCALE,
        _ => DETECTOR,
    }
}
