//! The certificates of a model in sentences: truncation error, regret, alert rate, and since which example they hold.
//!
//! Each sentence names the thing that is bounded. Printed upper bounds are rounded up.

use okl::Learner;
use okl::budget::BudgetRule;
use okl::certificate::AlertRate;
use okl::config::{Shrink, Threshold};
use okl::engine::head::Average;
use okl::kernel::DotKernel;
use okl::loss::{Loss, Reads};

use crate::inspect::typed;
use crate::metrics::{at_least, at_most, count, figure, percent};
use crate::rate_words;

/// Measured values of a run. A bound that is larger than the measured value is not useful.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    /// The standard deviation of its scores.
    pub score_deviation: Option<Deviations>,
    /// The sum of its losses; none if the regret certificate is on other losses.
    pub total_loss: Option<f64>,
    /// The sum of the weights of its examples.
    pub total_weight: f64,
    /// Whether examples have weights other than 1; none if that is not known.
    pub weighted: Option<bool>,
}

/// The standard deviation of scores. Several targets have a deviation each, as each has a unit of its own; scores of several classes are counted
/// together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviations {
    /// The least one.
    pub least: f64,
    /// The largest one.
    pub largest: f64,
    targets: bool,
}

impl Deviations {
    /// The one of all scores together.
    pub fn one(deviation: f64) -> Self {
        Deviations { least: deviation, largest: deviation, targets: false }
    }

    /// Those of several targets; none without a target.
    pub fn of_targets(each: &[f64]) -> Option<Self> {
        let least = each.iter().copied().min_by(f64::total_cmp)?;
        let largest = each.iter().copied().max_by(f64::total_cmp)?;
        Some(Deviations { least, largest, targets: true })
    }

    fn words(self, learner: &Learner) -> String {
        let [least, largest] = [self.least, self.largest].map(figure);
        match self.targets {
            true => format!("the standard deviation of the scores of a target is {least} at least and {largest} at most"),
            false if learner.outputs() > 1 => {
                format!("the standard deviation of the scores of all classes together is {largest}")
            }
            false => format!("the standard deviation of the scores is {largest}"),
        }
    }
}

/// Whether a bound on the change of a score is useful: it must be below the standard deviation of the scores (of several targets: of each). If that is not
/// known, it must be below a tenth of the norm of f, because scores are usually much smaller than the norm.
pub fn is_useful(bound: f64, norm: f64, score_deviation: Option<f64>) -> bool {
    bound < score_deviation.unwrap_or(0.1 * norm)
}

/// The certificates of a run, one line each.
pub fn in_words(learner: &Learner, measured: Measured) -> Vec<String> {
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
    let classes = if config.class_weight.is_none() { "" } else { ", each times the weight of its class," };
    let rows = match (measured.weighted == Some(true), classes.is_empty()) {
        (true, true) => ", each times the weight of its row,",
        (true, false) => ", each times the weight of its row and that of its class,",
        (false, _) => "",
    };
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
    // The sum of the weights of the classes is not kept.
    let each = if classes.is_empty() { format!(": {each} per {of}") } else { String::new() };
    // While one class is known, the loss compares it with a class not yet seen, for the fixed function as for the model.
    let unseen = match config.classes.is_none() && config.loss.reads() == Reads::Class {
        true => " While only one class was known, the losses of both also count a class not yet seen as a score of 0.",
        false => "",
    };
    Some(format!(
        "{whose}{rows}{penalties}{on_update}{classes} add up to {side} those of the best fixed function{of_kernel} with a norm of up to {}{with_offset}{own}\
         {each}.{unseen}",
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
pub fn truncation(learner: &Learner, measured: Measured) -> String {
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
        Some(change) if certified || is_useful(change, norm, measured.score_deviation.map(|of| of.least)) => {
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
            large_bound(learner, (change.unwrap_or(lost), change.is_some()), norm, if all { "" } else { &since }, measured)
        ),
    }
}

/// The truncation error where it is too large to be useful, beside what it is compared with.
/// `since` says from which example on it counts; empty if from the first.
fn large_bound(learner: &Learner, (bound, of_scores): (f64, bool), norm: f64, since: &str, measured: Measured) -> String {
    let what = if of_scores { "The bound on the change of a score" } else { "The bound on the change of the function, in norm," };
    let beside = match measured.score_deviation.filter(|_| of_scores) {
        Some(deviations) => deviations.words(learner),
        None => format!("the bound on the norm of {} is {}", whose_norm(learner), at_most(norm)),
    };
    // What was dropped before the certificate began again is not in the bound.
    let by = if since.is_empty() { String::new() } else { format!(" by what was dropped or merged {since}") };
    format!("{what}{by} is {}; {beside}.", at_most(bound))
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

/// Whether k(x, x) is the same for all x, because every kernel reads differences of rows only.
pub fn is_translation_invariant(learner: &Learner) -> bool {
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
    let name = rate_words::of(&learner.config().loss).certificate;
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
