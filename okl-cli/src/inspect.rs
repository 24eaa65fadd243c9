//! `okl inspect`: describes a model in sentences.

use okl::basis::Basis;
use okl::budget::BudgetRule;
use okl::certificate::AlertRate;
use okl::config::{KernelRule, Member, Shrink, Threshold};
use okl::engine::head::Average;
use okl::kernel::{AnyKernel, DotKernel};
use okl::loss::{Loss, Reads};
use okl::{Config, Label, Learner};
use serde_json::{Value, json};

use crate::args::Inspect;
use crate::input::Schema;
use crate::learn::task_of;
use crate::memory::{self, figure_of_bytes, most_bytes};
use crate::metrics::{at_least, at_most, count, figure, percent};
use crate::precision;
use crate::progress::in_random_order;
use crate::scoring::quantile;
use crate::settings;
use crate::store::{self, Position};
use crate::table::{harmless, say, wrapped};

/// The width of the names before their values, in characters.
const NAMES: usize = 18;
/// The longest list that is printed; of a longer one only the length is printed.
const LISTED: usize = 4;

/// A member of a bank is described if it has at least this share of the weight.
const LEADS: f64 = 0.1;

/// The largest number of members that are described.
const MOST_LEADING: usize = 3;

/// The largest number of digits; a longer number is rounded. `--json` prints all digits.
const DIGITS: usize = 8;

/// Measured values of a run. A bound that is larger than the measured value is not useful.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    /// The standard deviation of its scores.
    pub score_deviation: Option<f64>,
    /// The sum of its losses; none if the regret certificate is on other losses.
    pub total_loss: Option<f64>,
    /// The sum of the weights of its examples.
    pub total_weight: f64,
    /// Whether examples have weights other than 1; none if that is not known.
    pub weighted: Option<bool>,
}

/// Whether a bound on the change of a score is useful: it must be below the standard deviation of the scores. If that is not
/// known, it must be below a tenth of the norm of f, because scores are usually much smaller than the norm.
pub fn is_useful(bound: f64, norm: f64, score_deviation: Option<f64>) -> bool {
    bound < score_deviation.unwrap_or(0.1 * norm)
}

/// The certificates of a run, one line each.
pub fn certificates(learner: &Learner, measured: Measured) -> Vec<String> {
    let mut lines = vec![truncation(learner, measured)];
    lines.extend(learner.alert_rate().map(|rate| rate_in_words(learner, &rate, measured.weighted)));
    lines.extend(no_threshold(learner));
    lines.extend(units(learner));
    lines.extend(column_weights(learner));
    if learner.certified_since() > 0 {
        return lines; // the regret bound is on the examples after the change, and the losses of these alone are not measured
    }
    lines.extend(regret(learner, measured));
    lines
}

/// The regret bound as a sentence; none if there is no bound, if it is not on the losses that are shown, or if it is not below their sum.
fn regret(learner: &Learner, measured: Measured) -> Option<String> {
    let (config, bank) = (learner.config(), learner.members().len() > 1);
    // The bound on a plain learner is on the losses of its last hypotheses. Where their average predicts, other losses are shown.
    let loss = measured.total_loss.filter(|_| bank || !predicts_average(learner))?;
    let offset = learner.offset().iter().map(|b| b * b).sum::<f64>().sqrt();
    // The bound holds for norms up to those that are printed, which are rounded up.
    let [norm, offset] = [learner.norm_bound(), offset].map(Shown::at_most);
    let bound = learner.regret_bound(norm.value, offset.value).filter(|bound| *bound < loss)?;
    // Losses that the regret counts are times the weights of rows and classes; penalties are times those of classes.
    let rows = if measured.weighted == Some(true) { ", each times the weight of its row," } else { "" };
    let classes = if config.class_weight.is_none() { "" } else { ", each times the weight of its class," };
    let of = if measured.weighted == Some(true) { "unit of weight" } else { "example" };
    let on_update = match config.shrink {
        Shrink::Always => "",
        Shrink::OnUpdate => " (which count at updates only, shrink = on_update)",
    };
    let scaled = if config.target_scale.is_none() { "" } else { "with targets in units of target_scale" };
    // A bank predicts a weighted sum over its settings. With several kernels this is a function of none of them. Each setting has its own bound, and the
    // largest one is shown. Settings with another loss than the one that is shown have none.
    let several = if config.loss.all().len() > 1 { format!(" with the loss {}", typed(&*config.loss)) } else { String::new() };
    let (whose, penalties) = match (bank, scaled.is_empty()) {
        (false, true) => ("Losses".into(), " and penalties"),
        (false, false) => (format!("{}, losses", scaled.replacen('w', "W", 1)), " and penalties"),
        (true, true) => (format!("For every setting that learns in parallel{several}: losses"), " and its penalties"),
        (true, false) => (format!("For every setting that learns in parallel{several}, {scaled}: losses"), " and its penalties"),
    };
    let (with_offset, ones) = match offset.value > 0.0 {
        true => (format!(" and an offset of up to {}", offset.text), "ones"),
        false => (String::new(), "one"),
    };
    let (of_kernel, own) = match bank {
        false => ("", format!(" (this model has no larger {ones})")),
        true if learner.widths() > 1 => (" of one of the kernels (that of the setting, no sum of kernels)", String::new()),
        true => ("", String::new()),
    };
    let (side, each) = match bound < 0.0 {
        false => (format!("at most {} more than", at_most(bound)), at_most(bound / measured.total_weight)),
        true => (format!("at least {} less than", at_least(-bound)), at_least(-bound / measured.total_weight)),
    };
    // While one class is known, the loss compares it with a class not yet seen, for the fixed function as for the model.
    let unseen = match config.classes.is_none() && config.loss.reads() == Reads::Class {
        true => " While only one class was known, the losses of both also count a class not yet seen as a score of 0.",
        false => "",
    };
    Some(format!(
        "{whose}{rows}{penalties}{on_update}{classes} add up to {side} those of the best fixed function{of_kernel} with a norm of up to {}{with_offset}{own}: \
         {each} per {of}.{unseen}",
        norm.text
    ))
}

/// A bound that is rounded up, as it is printed, and the number that this text shows.
struct Shown {
    text: String,
    value: f64,
}

impl Shown {
    fn at_most(bound: f64) -> Self {
        let text = at_most(bound);
        let value = text.replace(',', "").parse().unwrap_or(bound);
        Shown { text, value }
    }
}

/// Whether an average predicts in the place of the last hypothesis; false for a bank, which has settings of both kinds.
pub fn predicts_average(learner: &Learner) -> bool {
    matches!(&learner.members()[..], [(member, _)] if member.average != Average::None)
}

/// Whose norm [`Learner::norm_bound`] is.
fn whose_norm(learner: &Learner) -> &'static str {
    let config = learner.config();
    match learner.members().len() > 1 {
        true if config.members().iter().any(|member| config.is_weight_vector(member)) => {
            "the last hypothesis of the leading setting over terms"
        }
        true => "the last hypothesis of the leading setting",
        false if predicts_average(learner) => "the last hypothesis (the average predicts)",
        false => "the model",
    }
}

/// When the weights of the columns changed, and how far they are apart; none if they did not change.
fn column_weights(learner: &Learner) -> Option<String> {
    let (_, at) = learner.weight_changes().filter(|(changes, _)| *changes > 0)?;
    let all = &learner.config().relevance;
    let (least, most) = all.iter().fold((f64::MAX, 0.0f64), |(least, most), v| (least.min(*v), most.max(*v)));
    Some(format!(
        "Columns in which scores vary more have more weight in the distances of some kernels: there, the squared difference of a column is multiplied by its weight, from {} to {}, since example {}.",
        figure(least),
        figure(most),
        count(at as f64)
    ))
}

/// How often and when the units of the columns changed; none if they did not.
fn units(learner: &Learner) -> Option<String> {
    let (changes, at) = learner.unit_changes().filter(|(changes, _)| *changes > 0)?;
    let often = if changes == 1 { "once".into() } else { format!("{} times", count(changes as f64)) };
    let last = if changes == 1 { "" } else { "last " };
    Some(format!("The units of the columns followed the stream: they changed {often}, {last}after example {}.", count(at as f64)))
}

/// |f| of the last hypothesis in the unit of the targets, as the truncation error is.
pub fn norm(learner: &Learner) -> f64 {
    learner.norm2().max(0.0).sqrt() / learner.config().target_scale.least_factor()
}

/// What the truncation error is measured against. The updates of a run depend on its scores, so a run with another budget makes others.
const SAME_UPDATES: &str =
    "compared with the same updates and nothing left out (a run with another budget also makes other updates)";

/// The bound on the effect of terms that were dropped or merged.
fn truncation(learner: &Learner, measured: Measured) -> String {
    let norm = learner.norm_bound() / learner.config().target_scale.least_factor();
    let (lost, all) = (learner.truncation_error(), learner.certified_since() == 0);
    let since = if all { "so far".into() } else { format!("since example {}", count(learner.certified_since() as f64)) };
    if lost == 0.0 {
        return match learner.config().uses_weights() {
            true => "The model is a weight vector: nothing is truncated.".into(),
            // Terms may have been dropped or merged without a loss.
            false if all => "Scores have no truncation error.".into(),
            false if learner.has_all_terms() => "No term has been dropped or merged.".into(),
            false => format!("The updates {since} have no truncation error."),
        };
    }
    let what = what_is_lost(learner);
    // The budget `certified` is defined by its bound.
    let certified = matches!(learner.config().budget(), BudgetRule::Certified { .. });
    match largest_diagonal(learner).map(|diagonal| lost * diagonal.sqrt()) {
        Some(change) if certified || is_useful(change, norm, measured.score_deviation) => {
            format!("{what} {since} can change a score by at most {}, {SAME_UPDATES}.", at_most(change))
        }
        None if certified || lost < 0.1 * norm => {
            // The norms of terms that were dropped can add up to more: what they were worth shrinks with the function.
            format!(
                "{what} {since} change the function that predicts by at most {} in norm, {SAME_UPDATES}. The norm of {} is at most {}.",
                at_most(lost),
                whose_norm(learner),
                at_most(norm)
            )
        }
        change => format!(
            "{what} are not in the model. No useful bound on the effect is known. {}",
            large_bound(learner, change.unwrap_or(lost), change.is_some(), norm, measured)
        ),
    }
}

/// The truncation error where it is too large to be useful, beside what it is compared with.
fn large_bound(learner: &Learner, bound: f64, of_scores: bool, norm: f64, measured: Measured) -> String {
    let what = if of_scores { "The bound on the change of a score" } else { "The bound on the change of the function, in norm," };
    let beside = match measured.score_deviation.filter(|_| of_scores) {
        Some(deviation) => format!("the standard deviation of the scores is {}", figure(deviation)),
        None => format!("the bound on the norm of {} is {}", whose_norm(learner), at_most(norm)),
    };
    format!("{what} is {}; {beside}.", at_most(bound))
}

/// What the model stores, and the number of these.
pub fn stored(learner: &Learner) -> (&'static str, usize) {
    match learner.config().uses_weights() {
        true => ("weights", weights(learner) * learner.outputs()),
        false => ("terms", learner.terms()),
    }
}

/// The number of weights per output: one per feature, per product of two, or per random feature of each kernel width.
fn weights(learner: &Learner) -> usize {
    learner.engine().basis().slots() * learner.widths()
}

/// The changes of terms that the truncation error accounts for. A member that was frozen has the losses that it had in its bank.
fn what_is_lost(learner: &Learner) -> &'static str {
    let (bank, frozen) = (learner.members().len() > 1, learner.frozen_after().is_some());
    match learner.has_all_terms() {
        true if bank => {
            "No term has been dropped or merged. The settings that learn in parallel share their terms: a row becomes a term where the \
             leading setting needs it, and updates of the others go to the nearest term. The parts of these updates that were left out"
        }
        true if frozen => {
            "No term has been dropped or merged. This model was a member of a bank, whose settings shared their terms: where another setting led, \
             updates of this one went to the nearest term. The parts of these updates that were left out"
        }
        false if bank => "Terms dropped or merged, and parts of updates that settings in parallel could not store,",
        false if frozen => "Terms dropped or merged, and parts of updates that this member of a bank could not store,",
        _ => "Terms dropped or merged",
    }
}

/// The largest k(x, x); none if it depends on x, or an operator multiplies it.
fn largest_diagonal(learner: &Learner) -> Option<f64> {
    let kernels = learner.engine().terms().space().kernels();
    let constant = learner.config().operator.is_none() && is_translation_invariant(learner);
    constant.then(|| kernels.iter().map(|kernel| f64::from(kernel.eval(0.0, 0.0, 0.0))).fold(0.0, f64::max))
}

fn is_translation_invariant(learner: &Learner) -> bool {
    learner.engine().terms().space().kernels().iter().all(DotKernel::translation_invariant)
}

/// The share of examples outside, over all examples of all runs that were compared with a threshold, and the requested share nu.
/// `weighted`: whether rows have weights; none if that is not known.
fn rate_in_words(learner: &Learner, rate: &AlertRate, weighted: Option<bool>) -> String {
    let by_weight = match weighted {
        Some(true) => " by weight",
        Some(false) => "",
        None => " (by weight, where rows have weights)",
    };
    let classes = if learner.config().class_weight.is_none() { "" } else { ", each with the weight of its class," };
    let name = match learner.config().loss.reads() {
        Reads::Nothing => "Alert rate",
        Reads::Sign | Reads::Class => "Examples inside the margin",
        Reads::Number | Reads::Vector => "Targets outside the tube or scale",
    };
    // |rate - nu| <= bound is useful only if it excludes the rates 0 and 1.
    let guarantee = match rate.bound < rate.nu.min(1.0 - rate.nu) {
        true => format!(", guaranteed within {} percentage points", points(rate)),
        false => format!("; nothing is guaranteed: {}", no_guarantee(rate)),
    };
    // A tracked threshold is set from the first scores. There are no alerts before, and these rows are not counted.
    let since = match learner.config().threshold {
        Threshold::Norma => "the model began",
        _ => "the threshold was set",
    };
    format!("{name}{by_weight}{classes} since {since}: {} (requested {}{guarantee}).", percent(rate.rate), percent(rate.nu))
}

/// The bound on the distance of the two shares in percentage points. It holds for the shares as they are printed, too.
fn points(rate: &AlertRate) -> String {
    let rounding = |share: f64| {
        let shown = percent(share).trim_end_matches(" %").parse::<f64>();
        shown.map_or(0.0, |shown| (shown - 100.0 * share).abs())
    };
    at_most(100.0 * rate.bound + rounding(rate.rate) + rounding(rate.nu))
}

/// Why the bound on the distance from nu says nothing.
fn no_guarantee(rate: &AlertRate) -> String {
    match rate.bound.is_finite() {
        true => format!("the bound, {} percentage points, is too large to be of use", at_most(100.0 * rate.bound)),
        false => "no bound is known".into(),
    }
}

/// One sentence while a detector has no threshold yet.
fn no_threshold(learner: &Learner) -> Option<String> {
    let (config, had) = (learner.config(), learner.examples());
    let gathers = matches!(config.threshold, Threshold::Tracker { .. }) && learner.threshold().is_none();
    gathers.then(|| {
        format!(
            "No row has been judged yet: the threshold is found from the first {} examples (--warmup), and there {} {} so far.",
            count(config.warmup as f64),
            if had == 1 { "is" } else { "are" },
            count(had as f64)
        )
    })
}

/// `okl inspect`.
pub fn inspect(args: &Inspect) -> anyhow::Result<()> {
    let (learner, position) = store::load(&args.model)?;
    let mut position = position.unwrap_or_default();
    position.progress.meet(&learner);
    let names = position.schema.as_ref().map(names_of).unwrap_or_default();
    let text = match args.json {
        true => serde_json::to_string_pretty(&as_json(&learner, &position, &names, source(&position, &names)))? + "\n",
        false => {
            let did = position.progress.words(task_of(learner.config()), quantile_in_units(&learner));
            let did = in_random_order(did, position.replayed, learner.examples());
            let did = match learner.frozen_after().filter(|_| !did.is_empty()) {
                Some(examples) => format!(
                    "{did}; the first {} examples were predicted by the bank from which this member was frozen",
                    count(examples as f64)
                ),
                None => did,
            };
            let hashed = position.schema.as_ref().and_then(Schema::hash_bits);
            let hashed = hashed.map(|bits| format!("hashed to 2^{bits} columns; their names are not kept"));
            harmless(&format!(
                "{}\n{}",
                args.model.display(),
                in_words(&learner, &position, &names, [did, hashed.unwrap_or_default()])
            ))
        }
    };
    Ok(say(&text)?)
}

/// The quantile that the model predicts, if its losses are in the unit of the targets.
fn quantile_in_units(learner: &Learner) -> Option<f64> {
    quantile(learner.config()).filter(|_| learner.config().target_scale.is_none())
}

/// The names of the features; none if the columns have no names and are the features.
fn names_of(schema: &Schema) -> Vec<String> {
    if schema.unnamed && schema.columns().len() == schema.len() { Vec::new() } else { schema.names() }
}

/// What a missing value becomes, as `--missing` says it; none if it is refused.
fn missing(position: &Position) -> Option<String> {
    let missing = position.schema.as_ref()?.missing;
    (!missing.is_refused()).then(|| missing.to_string())
}

/// The description as JSON. Findings call the features by `name`.
pub fn as_json(learner: &Learner, position: &Position, names: &[String], name: impl Fn(usize) -> String) -> serde_json::Value {
    // The share of examples outside the margin, tube or scale is a rate of alerts only for a detector.
    let alerts = learner.config().loss.reads() == Reads::Nothing;
    json!({
        "config": in_effect(learner.config()), "given": position.given, "examples": learner.examples(), "rows": position.seen, "progressive": position.progress.to_json(quantile_in_units(learner)), "replayed_rows": position.replayed, "frozen_after": learner.frozen_after(), "terms": learner.terms(), "features": learner.features(),
        "feature_names": names, "hash_bits": position.schema.as_ref().and_then(Schema::hash_bits), "missing": missing(position), "targets": position.schema.as_ref().map(|s| &s.targets), "outputs": learner.outputs(), "classes": learner.classes(), "positive_class": positive_class(learner), "eta": learner.eta(), "step_sizes": learner.step_sizes(), "theta": learner.theta(),
        "offset": learner.predicting_offset(), "norm2": learner.norm2(), "norm2_exact": norm_is_exact(learner), "truncation_error": learner.truncation_error(), "alert_rate": learner.alert_rate().filter(|_| alerts), "outside_rate": learner.alert_rate().filter(|_| !alerts),
        "bank": learner.members().iter().map(|(m, weight)| json!({ "weight": weight, "step": m.step, "lambda": m.lambda, "average": m.average, "width": m.width, "kernel": rule_of(learner, m), "loss": learner.config().loss.all()[m.loss] })).collect::<Vec<_>>(),
        "threshold": learner.threshold(), "bytes": learner.bytes(), "bytes_while_learning": memory::while_learning(learner), "warming_up": learner.warming_up(), "certificates": certificates(learner, position.progress.measured(learner)),
        "health": health_of_file(learner, position, name), "unit_changes": learner.unit_changes().map(|(changes, last)| json!({ "count": changes, "last_after_example": last })), "weight_changes": learner.weight_changes().map(|(changes, last)| json!({ "count": changes, "last_after_example": last })), "growth": learner.growth().map(|(start, verdict)| json!({ "first": start, "most": learner.config().budget().capacity(), "why": why_so_many(learner, verdict.words()) })),
    })
}

/// Whether `norm2` of the JSON is |f|²: an upper bound is kept from the first term that is dropped or merged on.
fn norm_is_exact(learner: &Learner) -> bool {
    learner.certified_since() == 0 && learner.truncation_error() == 0.0
}

/// The step size; where every weight has its own, their median and range.
fn step_size(learner: &Learner) -> String {
    let range =
        |sizes: okl::StepSizes| format!(" (median; from {} to {} over the weights)", figure(sizes.least), figure(sizes.largest));
    figure(learner.eta()) + &learner.step_sizes().map_or(String::new(), range)
}

fn in_words(learner: &Learner, position: &Position, names: &[String], [did, hashed]: [String; 2]) -> String {
    let targets = position.schema.as_ref().map(|s| &s.targets[..]).unwrap_or_default();
    let list = |names: &[String], most: usize| {
        let more = if names.len() > most { ", ..." } else { "" };
        // A line break in a name would look like the next line.
        names[..names.len().min(most)].join(", ").replace('\n', "?") + more
    };
    let classes: Vec<String> = learner.classes().iter().map(ToString::to_string).collect();
    let features = match learner.features() {
        _ if learner.config().is_precomputed() => "objects with kernel values".into(),
        1 => "1 feature".into(),
        features => format!("{features} features"),
    };
    let (stored, number) = stored(learner);
    let number = count(number as f64);
    let mut lines = vec![
        ("examples", count(learner.examples() as f64)),
        ("while learning", did),
        (stored, format!("{number} of {features}, {}", bytes(learner))),
        ("number of terms", growth(learner)),
        ("units", frame(learner)),
        ("features", if hashed.is_empty() { list(names, 8) } else { hashed }),
        ("missing values", missing(position).map_or(String::new(), |rule| format!("filled: {rule}"))),
        (if targets.len() == 1 { "target" } else { "targets" }, list(targets, 8)),
        ("classes", list(&classes, 20)),
        (
            "positive class",
            positive_class(learner).map_or(String::new(), |label| list(&[label.to_string()], 1) + " (scores above 0)"),
        ),
        ("bank", bank(learner)),
        ("step size", step_size(learner)),
        ("threshold", threshold(learner)),
    ];
    lines.retain(|(_, value)| !value.is_empty());
    let [settings, learned] = settings_in_words(learner, position);
    let lines = lines.iter().map(|(name, value)| named(name, value));
    let certificates = certificates(learner, position.progress.measured(learner));
    let health = health_of_file(learner, position, source(position, names)).into_iter().map(|line| format!("warning: {line}"));
    let certificates = certificates.into_iter().chain(health).map(|line| wrapped(&line, "    "));
    lines.chain(settings).chain(learned).chain(certificates).map(|line| format!("  {line}\n")).collect()
}

/// The settings that are in effect: settings that learn in parallel take proximal steps, whatever was given.
pub fn in_effect(config: &Config) -> Config {
    Config { implicit: config.proximal(), ..config.clone() }
}

/// The settings as they were before the first row, and those that learning replaced, each after its heading. One list of all settings if those before
/// the first row are not known.
fn settings_in_words(learner: &Learner, position: &Position) -> [Vec<String>; 2] {
    let now = serde_json::to_value(in_effect(learner.config())).ok().and_then(|now| now.as_object().cloned()).unwrap_or_default();
    let lines = |heading: &str, settings: &settings::Table| {
        let settings = settings.iter().filter(|(_, value)| !value.is_null());
        let lines = settings.map(|(name, value)| named(&format!("  {name}"), &shorthand(value)));
        std::iter::once(heading.to_owned()).chain(lines).collect::<Vec<_>>()
    };
    let Some(given) = position.given.as_ref().and_then(Value::as_object) else { return [lines("settings", &now), Vec::new()] };
    let learned = settings::learned(given, &now);
    let learned =
        if learned.is_empty() { Vec::new() } else { lines("settings now, where learned or filled in for auto", &learned) };
    [lines("settings before the first row (--json: given, for --config)", given), learned]
}

/// The memory of the model. A model that was loaded has no workspace yet, which it needs to learn. With more terms, it needs more.
fn bytes(learner: &Learner) -> String {
    let loaded = format!("{} bytes", count(learner.bytes() as f64));
    let Some(bytes) = memory::while_learning(learner) else { return loaded };
    let warmup = if learner.warming_up() { " and the warm-up" } else { "" };
    // Classes that come later add numbers to every term.
    let discovers = learner.config().classes.is_none() && learner.config().loss.reads() == Reads::Class;
    let classes = match (discovers, learner.classes().len()) {
        (false, _) => String::new(),
        (true, 1) => " and 1 class".into(),
        (true, classes) => format!(" and {} classes", count(classes as f64)),
    };
    let terms = |terms: usize| if terms == 1 { "1 term".into() } else { format!("{} terms", count(terms as f64)) };
    let now = learner.terms();
    let more = match learner.config().budget().capacity() {
        Some(full) if now < full => {
            let with_all = memory::with_terms(learner, full).map_or(String::new(), most_bytes);
            let doubled = if learner.growth().is_some() { "; more if that number is doubled" } else { "" };
            format!(", up to {with_all} with the {} of its budget{doubled}", terms(full))
        }
        Some(_) if learner.growth().is_some() => "; more if the budget gets more terms".into(),
        Some(_) => String::new(),
        None => "; more with more terms".into(),
    };
    format!(
        "{loaded} as loaded, up to {} while it learns with its present {}{classes}, with the current rows{warmup}{more}",
        most_bytes(bytes),
        terms(now)
    )
}

/// The names of the features for warnings, with the columns of the data from which they are made.
pub(crate) fn source<'a>(position: &'a Position, names: &'a [String]) -> impl Fn(usize) -> String + 'a {
    let named = move |column: usize| names.get(column).cloned().unwrap_or_else(|| (column + 1).to_string());
    move |column| position.schema.as_ref().map_or_else(|| named(column), |schema| schema.source(column))
}

/// Input that the learner did not use exactly as given, one sentence each.
pub fn health(learner: &Learner, name: impl Fn(usize) -> String) -> Vec<String> {
    with_precision(learner, learner.health().findings(name)).into_iter().chain(memory::beyond_its_limit(learner)).collect()
}

/// The same of a model file, which also says what its rows had in place of missing values.
fn health_of_file(learner: &Learner, position: &Position, name: impl Fn(usize) -> String) -> Vec<String> {
    let filled = position.schema.as_ref().and_then(|schema| position.filled.finding(schema, |column| schema.source(column)));
    health(learner, name).into_iter().chain(filled).collect()
}

/// Sentences about single precision, which concern the scores of a model; for commands that do not show all findings.
pub fn imprecise(learner: &Learner, name: impl Fn(usize) -> String) -> Vec<String> {
    let findings = learner.health().findings(name).into_iter().filter(|line| line.contains("single precision")).collect();
    with_precision(learner, findings)
}

/// Adds the finding of [`precision`], unless rows are known to be blurred.
fn with_precision(learner: &Learner, mut findings: Vec<String>) -> Vec<String> {
    if !findings.iter().any(|line| line.contains("single precision blurs")) {
        findings.extend(precision::finding(learner));
    }
    findings
}

/// Why `budget = auto` has its number of terms; empty for other budgets.
fn growth(learner: &Learner) -> String {
    let Some((start, verdict)) = learner.growth() else { return String::new() };
    let most = learner.config().budget().capacity().unwrap_or(start);
    format!("at most {}, {} at first: {}", count(most as f64), count(start as f64), why_so_many(learner, verdict.words()))
}

/// Why there are so many terms, with the number of times that their number was doubled.
fn why_so_many(learner: &Learner, why: &str) -> String {
    let start = learner.growth().map_or(1, |(start, _)| start);
    doubled(why, start, learner.config().budget().capacity().unwrap_or(start))
}

/// The verdict on the number of terms, with how often that number was doubled from `start` to `most`.
pub fn doubled(why: &str, start: usize, most: usize) -> String {
    match (most / start.max(1)).max(1).ilog2() {
        0 | 1 => why.into(),
        2 => why.replace("was doubled", "was doubled twice"),
        times => why.replace("was doubled", &format!("was doubled {times} times")),
    }
}

/// What the units of the columns take, where there are many columns.
fn frame(learner: &Learner) -> String {
    let columns = learner.frame().0.len();
    if columns < MANY_COLUMNS {
        return String::new();
    }
    let each = if learner.log_units().is_empty() { 56 } else { 72 };
    let bytes = figure_of_bytes(each * columns);
    let twice =
        if learner.growth().is_some() { "; both twice while this model is compared with one of half of the terms" } else { "" };
    format!("of {} columns, used or not: {bytes} of memory, and nearly as much of the model file{twice}", count(columns as f64))
}

/// From this many columns on, what their units take is shown.
const MANY_COLUMNS: usize = 10_000;

/// The threshold of a detector as text; empty if there is none.
fn threshold(learner: &Learner) -> String {
    let Some(threshold) = learner.threshold() else { return String::new() };
    // The values of a translation-invariant kernel are not negative.
    let not_negative = || is_translation_invariant(learner) && learner.coefficients().iter().all(|a| *a >= 0.0);
    let never = threshold <= 0.0 && not_negative();
    let means = if never { "no score is below it, so there is never an alert" } else { "scores below it are alerts" };
    format!("{} ({means})", figure(threshold))
}

/// The class whose scores are positive, where two classes share one score.
fn positive_class(learner: &Learner) -> Option<&Label> {
    learner.positive().and_then(|class| learner.classes().get(class))
}

/// The members of a bank with the largest weights. `okl freeze` writes the first of them.
pub fn bank(learner: &Learner) -> String {
    let members = learner.members();
    if members.len() == 1 {
        return String::new();
    }
    let count = members.len();
    let leading = members.iter().take_while(|(_, weight)| *weight >= LEADS).take(MOST_LEADING).count();
    let listed: Vec<String> = told_apart(learner, &members[..leading.max(1)]);
    let keeps = if learner.warming_up() { "" } else { " (okl freeze writes this one)" };
    match (leading, &listed[..]) {
        (0, [first, ..]) => format!(
            "{count} settings in parallel; none of them has {} of the weight; the largest is {first}{keeps}",
            percent(LEADS)
        ),
        (_, [first, others @ ..]) => {
            let others: String = others.iter().map(|other| format!("; {other}")).collect();
            format!("{count} settings in parallel: {first}{keeps}{others}")
        }
        _ => String::new(),
    }
}

/// Weights and settings of members. Where two of them have the same settings in words, the number of the kernel is added: two kernels of a bank
/// may have the same gamma.
fn told_apart(learner: &Learner, members: &[(Member, f64)]) -> Vec<String> {
    let words: Vec<String> = members.iter().map(|(member, _)| member_in_words(learner, member)).collect();
    let one = |((member, weight), text): (&(Member, f64), &String)| {
        let alone = words.iter().filter(|other| *other == text).count() == 1;
        let number = if alone { String::new() } else { format!(", kernel {} of {}", member.width + 1, learner.widths()) };
        format!("{} {text}{number}", percent(*weight))
    };
    members.iter().zip(&words).map(one).collect()
}

/// The settings of a member.
pub fn member_in_words(learner: &Learner, member: &Member) -> String {
    let step = typed(&member.step);
    let kernel = kernel_words(learner, member).map_or(String::new(), |kernel| format!(" {kernel}"));
    let losses = learner.config().loss.all();
    let loss = if losses.len() > 1 { format!(" {}", typed(&losses[member.loss])) } else { String::new() };
    let average = if member.average == Average::None { "" } else { ", averaged" };
    // In the bank of `kernel = auto` some kernels read columns with weights, and others do not.
    let weighs = learner.weight_changes().is_some() && learner.column_weights(member.width).is_some();
    let weighted = if weighs { ", columns weighted" } else { "" };
    format!("{step} lambda {}{kernel}{loss}{average}{weighted}", figure(member.lambda))
}

/// The kernel of a member; none if all members have the same one and it is not Gaussian.
fn kernel_words(learner: &Learner, member: &Member) -> Option<String> {
    let kernel = kernel_of(learner, member);
    let several = learner.config().kernel.given().is_some_and(|kernels| kernels.all().len() > 1);
    match kernel.gaussian_gamma() {
        Some(gamma) if !several => Some(format!("gamma {}", figure(gamma))),
        _ if several || learner.widths() > 1 => Some(typed(&KernelRule::from(kernel))),
        _ => None,
    }
}

/// The kernel of a member; the first one, where it has one per part of an operator.
fn kernel_of<'a>(learner: &'a Learner, member: &Member) -> &'a AnyKernel {
    if learner.config().is_weight_vector(member) {
        return &AnyKernel::Linear;
    }
    let kernels = learner.engine().terms().space().kernels();
    &kernels[member.width * kernels.len() / learner.widths()]
}

/// The kernel of a member as the configuration has it.
fn rule_of(learner: &Learner, member: &Member) -> KernelRule {
    match learner.config().is_precomputed() {
        true => KernelRule::Precomputed {},
        false => KernelRule::from(kernel_of(learner, member)),
    }
}

/// A part of the configuration about as it is typed.
fn typed(part: &impl serde::Serialize) -> String {
    shorthand(&serde_json::to_value(part).unwrap_or_default())
}

/// The settings of the member that `okl freeze` writes, as [`bank`] shows them, and its weight.
pub fn settled(bank: &Learner) -> String {
    let (member, weight) = &bank.members()[0];
    let kernel = kernel_words(bank, member).is_none().then(|| format!(" {}", typed(&rule_of(bank, member))));
    format!("{}{}, which had {} of the weight", member_in_words(bank, member), kernel.unwrap_or_default(), percent(*weight))
}

fn named(name: &str, value: &str) -> String {
    wrapped(&format!("{name:<NAMES$}{value}"), &" ".repeat(NAMES + 2))
}

/// The loss of a learner, as typed on the command line. The squared loss is half the squared error, so that its gradient is the error.
pub fn loss_in_words(learner: &Learner) -> String {
    // Of several losses, the first one is what is reported.
    let mut typed = typed(&*learner.config().loss);
    if learner.outputs() > 1 && typed != "squared" && learner.config().loss.reads() == Reads::Vector {
        typed += ", of the Euclidean norm of the residuals of all targets";
    }
    match typed.as_str() {
        _ if !learner.config().target_scale.is_none() => format!("{typed}, of targets in units of target_scale"),
        "squared" if learner.outputs() > 1 => "squared: half of the squared error, over all targets".into(),
        "squared" => "squared: half of the squared error".into(),
        _ => typed,
    }
}

/// A setting as typed on the command line: `name:key=value,...`, kernels also as `0.5*gaussian:gamma=1+linear`. A sum inside a product has
/// parentheses, which only a file of settings can express.
pub fn shorthand(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        // A whole number, as of bytes, is shown as it was given.
        Value::Number(long) if !long.is_u64() && long.to_string().len() > DIGITS => {
            long.as_f64().map_or_else(|| long.to_string(), figure)
        }
        Value::Array(list) if list.len() > LISTED => format!("({} values)", list.len()),
        // Numbers may have commas of their own.
        Value::Array(list) if list.iter().all(Value::is_number) => list.iter().map(shorthand).collect::<Vec<_>>().join("; "),
        Value::Array(list) => list.iter().map(shorthand).collect::<Vec<_>>().join(","),
        Value::Object(part) => part.iter().map(|(name, of)| part_of(name, of)).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

fn part_of(name: &str, of: &Value) -> String {
    let factor = |value: &Value| match value.get("sum") {
        Some(_) => format!("({})", shorthand(value)),
        None => shorthand(value),
    };
    match of {
        Value::Array(parts) if name == "sum" => parts.iter().map(shorthand).collect::<Vec<_>>().join("+"),
        Value::Array(parts) if name == "product" => parts.iter().map(factor).collect::<Vec<_>>().join("*"),
        Value::Object(keys) if name == "scaled" => format!("{}*{}", shorthand(&keys["weight"]), factor(&keys["of"])),
        // Several widths are typed as several kernels.
        Value::Object(keys) if keys.get("gamma").and_then(Value::as_array).is_some_and(|widths| widths.len() <= LISTED) => {
            let widths = keys["gamma"].as_array().into_iter().flatten();
            let one = |width: &Value| {
                part_of(
                    name,
                    &Value::Object(keys.iter().map(|(k, v)| (k.clone(), if k == "gamma" { width } else { v }.clone())).collect()),
                )
            };
            widths.map(one).collect::<Vec<_>>().join(",")
        }
        Value::Object(keys) if keys.is_empty() => name.into(),
        Value::Object(keys) => {
            let keys: Vec<String> = keys.iter().map(|(key, value)| format!("{key}={}", shorthand(value))).collect();
            format!("{name}:{}", keys.join(","))
        }
        other => format!("{name}={}", shorthand(other)),
    }
}
