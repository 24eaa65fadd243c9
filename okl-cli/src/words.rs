//! A model in words.

use okl::Learner;
use serde_json::json;

use crate::args::Inspect;
use crate::metrics::{figure, percent};
use crate::store;

/// What is certain about a run, a line each.
pub fn certificates(learner: &Learner) -> Vec<String> {
    let mut lines = Vec::new();
    let norm = learner.norm2().max(0.0).sqrt();
    match learner.truncation_error() {
        0.0 => lines.push(format!("Nothing was dropped: f is exact, |f| = {}.", figure(norm))),
        error => {
            lines.push(format!("What was dropped or merged is worth at most {} in norm; |f| <= {}.", figure(error), figure(norm)))
        }
    }
    if let Some(rate) = learner.alert_rate() {
        lines.push(format!(
            "Outside: {} of the examples, asked for {}; it cannot be further off than {}.",
            percent(rate.rate),
            percent(rate.nu),
            percent(rate.bound)
        ));
    }
    if let Some(bound) = learner.regret_bound(norm, 0.0) {
        lines.push(format!("Regret against any function of norm up to {}: at most {} in total.", figure(norm), figure(bound)));
    }
    if learner.skipped() > 0 {
        lines.push(format!("{} steps would have left a number that is not finite and were not taken.", learner.skipped()));
    }
    lines
}

/// `okl inspect`.
pub fn inspect(args: &Inspect) -> anyhow::Result<()> {
    let (learner, position) = store::load(&args.model)?;
    let names = position.schema.as_ref().map(|s| s.names());
    if args.json {
        let all = json!({
            "config": learner.config(), "examples": learner.examples(), "rows": position.rows, "terms": learner.terms(), "features": learner.features(),
            "feature_names": names, "outputs": learner.outputs(), "classes": learner.classes(), "eta": learner.eta(), "theta": learner.theta(),
            "offset": learner.offset(), "norm2": learner.norm2(), "truncation_error": learner.truncation_error(), "alert_rate": learner.alert_rate(),
            "threshold": learner.threshold(), "bytes": learner.bytes(), "warming_up": learner.warming_up(), "certificates": certificates(&learner),
        });
        println!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(());
    }
    println!("{}", args.model.display());
    println!("  examples   {}", learner.examples());
    println!("  terms      {} of {} features, {} bytes", learner.terms(), learner.features(), learner.bytes());
    if let Some(names) = names.filter(|n| !n.is_empty()) {
        let shown: Vec<&str> = names.iter().take(8).map(String::as_str).collect();
        println!("  features   {}{}", shown.join(", "), if names.len() > 8 { ", ..." } else { "" });
    }
    if !learner.classes().is_empty() {
        let classes: Vec<String> = learner.classes().iter().take(20).map(ToString::to_string).collect();
        println!("  classes    {}", classes.join(", "));
    }
    println!("  step size  {}", figure(learner.eta()));
    if let Some(threshold) = learner.threshold() {
        println!("  threshold  {}", figure(threshold));
    }
    println!("  settings   {}", learner.config().to_json());
    certificates(&learner).iter().for_each(|line| println!("  {line}"));
    Ok(())
}
