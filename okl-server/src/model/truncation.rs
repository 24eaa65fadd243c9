//! What the terms that are not in a model any more can change in its scores, as a sentence for the live page.

use okl::Learner;
use okl::kernel::DotKernel;

/// A bound that is not below this share of the norm of f is too large to be of use: scores are usually much smaller than the norm.
const USEFUL: f64 = 0.1;

/// Whether terms were dropped or merged, since which example that is known, and by how much they change a score at most. The certificate begins again
/// at 0 when the units or the weights of the columns change, so a certificate of 0 says nothing about the terms that were dropped before.
pub fn in_words(learner: &Learner) -> String {
    if learner.config().uses_weights() {
        return "The model is a weight vector: nothing is truncated.".into();
    }
    let (lost, since) = (learner.truncation_error(), learner.certified_since());
    let from = if since == 0 { String::new() } else { format!(" since example {}", grouped(since)) };
    if lost == 0.0 {
        return match (since, learner.has_all_terms()) {
            (0, _) => "No term has been dropped or merged: scores have no truncation error.".into(),
            (_, true) => "No term has been dropped or merged.".into(),
            (_, false) => {
                format!("No term has been dropped or merged{from}. The effect of what was dropped or merged before is not known.")
            }
        };
    }
    let what = what_is_lost(learner, &from);
    let norm = learner.norm2_over_terms().max(0.0).sqrt() / learner.config().target_scale.least_factor();
    let of_scores = largest_diagonal(learner).map(|diagonal| lost * diagonal.sqrt());
    let bound = match of_scores {
        Some(change) => format!("{what} change a score by at most {}", rounded(change)),
        None => format!("{what} have a norm of at most {}", rounded(lost)),
    };
    match of_scores.unwrap_or(lost) < USEFUL * norm {
        true => format!("{bound}, compared with the same updates and nothing dropped."),
        false => format!("{bound}: too large to be of use (the norm of the model is at most {}).", rounded(norm)),
    }
}

/// The changes of terms that the certificate accounts for. Settings that learn in parallel share their terms, so updates of some of them are stored in part.
fn what_is_lost(learner: &Learner, from: &str) -> String {
    let parallel = learner.members().len() > 1 || learner.frozen_after().is_some();
    match (learner.has_all_terms(), parallel) {
        (true, true) => format!("No term has been dropped or merged. Parts of updates that were not stored{from}"),
        (false, true) => format!("Terms dropped or merged, and parts of updates that were not stored,{from}"),
        _ => format!("Terms dropped or merged{from}"),
    }
}

/// The largest k(x, x); none if it depends on x, or an operator multiplies it.
fn largest_diagonal(learner: &Learner) -> Option<f64> {
    let kernels = learner.engine().terms().space().kernels();
    let constant = learner.config().operator.is_none() && kernels.iter().all(DotKernel::translation_invariant);
    constant.then(|| kernels.iter().map(|kernel| f64::from(kernel.eval(0.0, 0.0, 0.0))).fold(0.0, f64::max))
}

/// Three digits of a bound, rounded up, so that the rounded number is a bound as well.
fn rounded(bound: f64) -> String {
    if !(bound.is_finite() && bound > 0.0) {
        return bound.to_string();
    }
    let unit = 10f64.powf(bound.log10().floor() - 2.0);
    let text = format!("{:.2e}", (bound / unit).ceil() * unit);
    match text.parse::<f64>() {
        Ok(value) if (1e-4..1e6).contains(&value) => value.to_string(),
        _ => text,
    }
}

/// A number of examples with a comma between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let parts: Vec<&str> = digits.as_bytes().rchunks(3).rev().filter_map(|part| std::str::from_utf8(part).ok()).collect();
    parts.join(",")
}
