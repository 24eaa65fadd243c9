//! OLOK, section 3: several outputs at once, online, against the batch solution (vv-RLS) in error and time.
//!
//! ```text
//! f_t = (1 - eta_t lambda) f_{t-1} - eta_t K(x_t, .) (f_{t-1}(x_t) - y_t)      K = exp(-|x - x'|²/mu) J      O(1), E12
//! J_ii = 1, J_ij = 1/10          truncated: the newest s_t = max(t^(1/2 + epsilon), t_0) terms               E14
//! ```
//!
//! The paper's settings, eta = 0.1 with eta_t = 1/sqrt t and lambda = 3, contradict each other (E13): both readings are run.
//! Then lambda and eta are tuned; then the schedule (constant or falling, implicit) and an average; then several passes.
//! Which two outputs of Wine is not stated: alcohol and quality. Nothing is tuned on a test set.

pub mod batch;
pub mod click;
pub mod online;
pub mod problem;
mod shown;
pub mod table;
pub mod tune;

use super::Context;
use super::page::Page;
use problem::Source;
use table::Measured;

/// All that is measured.
pub struct Outcome {
    /// Wine, Parkinson and the synthetic set.
    pub sets: Vec<Measured>,
    /// Click's shape.
    pub click: click::Outcome,
}

/// Measures everything.
///
/// # Errors
/// If the data cannot be read.
pub fn measure(context: &Context) -> anyhow::Result<Outcome> {
    context.steps(3 * table::STEPS + click::steps(context));
    let sources = [Source::synthetic(context), Source::wine(context)?, Source::parkinson(context)?];
    let sets = sources.into_iter().map(|source| table::measure(context, source)).collect::<anyhow::Result<_>>()?;
    Ok(Outcome { sets, click: click::measure(context)? })
}

/// The page.
///
/// # Errors
/// If the data cannot be read.
pub fn run(context: &Context) -> anyhow::Result<Page> {
    Ok(shown::page(&measure(context)?))
}
