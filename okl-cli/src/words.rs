//! A model in words.

use okl::Learner;
use serde_json::json;

use crate::args::Inspect;
use crate::metrics::{figure, percent};
use crate::store::{self, Position};
use crate::table::say;

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
    let names = position.schema.as_ref().map(|s| s.names()).unwrap_or_default();
    let text = match args.json {
        true => serde_json::to_string_pretty(&as_json(&learner, &position, &names))? + "\n",
        false => format!("{}\n{}", args.model.display(), in_words(&learner, &names)),
    };
    Ok(say(&text)?)
}

fn as_json(learner: &Learner, position: &Position, names: &[String]) -> serde_json::Value {
    json!({
        "config": learner.config(), "examples": learner.examples(), "rows": position.rows, "terms": learner.terms(), "features": learner.features(),
        "feature_names": names, "outputs": learner.outputs(), "classes": learner.classes(), "eta": learner.eta(), "theta": learner.theta(),
        "offset": learner.offset(), "norm2": learner.norm2(), "truncation_error": learner.truncation_error(), "alert_rate": learner.alert_rate(),
        "threshold": learner.threshold(), "bytes": learner.bytes(), "warming_up": learner.warming_up(), "certificates": certificates(learner),
    })
}

fn in_words(learner: &Learner, names: &[String]) -> String {
    let mut lines = vec![
        format!("examples   {}", learner.examples()),
        format!("terms      {} of {} features, {} bytes", learner.terms(), learner.features(), learner.bytes()),
    ];
    let list = |names: Vec<String>, most: usize| {
        let more = if names.len() > most { ", ..." } else { "" };
        names.into_iter().take(most).collect::<Vec<_>>().join(", ") + more
    };
    if !names.is_empty() {
        lines.push(format!("features   {}", list(names.to_vec(), 8)));
    }
    if !learner.classes().is_empty() {
        lines.push(format!("classes    {}", list(learner.classes().iter().map(ToString::to_string).collect(), 20)));
    }
    lines.push(format!("step size  {}", figure(learner.eta())));
    lines.extend(learner.threshold().map(|threshold| format!("threshold  {}", figure(threshold))));
    lines.push(format!("settings   {}", learner.config().to_json()));
    lines.extend(certificates(learner));
    lines.iter().map(|line| format!("  {line}\n")).collect()
}
