//! NORMA, sections 3 and 4 on generated streams, whose truth is known.
//!
//! Every loss of section 3 on a stream where it is the right one, against the squared loss; the tube and the scale that adapt,
//! against the quantile of the noise that they should find; truncation against Proposition 1; cumulative risk against
//! Theorems 1 to 3 and the certificate.

pub mod classes;
pub mod noise;
pub mod regret;
pub mod robust;
mod shown;
pub mod truncation;
pub mod tube;

use okl::{Config, Learner};

use super::Context;
use super::page::Page;

/// All that is measured.
pub struct Outcome {
    /// Each regression loss under each noise.
    pub robust: robust::Outcome,
    /// The results of the adaptive tube and scale.
    pub tube: tube::Outcome,
    /// Classification.
    pub classes: classes::Outcome,
    /// The cost of dropping old terms.
    pub truncation: Vec<truncation::Outcome>,
    /// Cumulative risk.
    pub regret: regret::Outcome,
}

/// A learner from its settings.
fn learner(settings: &str) -> anyhow::Result<Learner> {
    Ok(Learner::new(Config::from_toml(&settings.replace("; ", "\n"))?)?)
}

/// Measures everything.
///
/// # Errors
/// After Ctrl-C.
pub fn measure(context: &Context) -> anyhow::Result<Outcome> {
    context.steps(robust::STEPS + tube::STEPS + classes::STEPS + truncation::STEPS + regret::STEPS);
    Ok(Outcome {
        robust: robust::measure(context)?,
        tube: tube::measure(context)?,
        classes: classes::measure(context)?,
        truncation: truncation::measure(context)?,
        regret: regret::measure(context)?,
    })
}

/// The page.
///
/// # Errors
/// After Ctrl-C.
pub fn run(context: &Context) -> anyhow::Result<Page> {
    Ok(shown::page(&measure(context)?))
}
