//! Single numbers of a model file, by name: one table per tensor, one line per number.
//!
//! The file lists the names and the values. A name that this version does not know is an error. A number that the file lacks gets
//! the value that [`Absent`] gives. To save one more number, add one line at the end of a table; its [`Absent`] must describe the
//! behaviour of the older versions without this number.

use crate::certificate::Scores;
use crate::engine::bank::Bank;
use crate::engine::head::Head;
use crate::error::{Error, Result};
use crate::learner::Learner;
use crate::learner::growth::{Growth, Verdict};
use crate::parts::budget::AnyBudget;
use crate::parts::step::AnyStep;

/// One number of the state of a `T`.
pub(crate) struct Scalar<T, V = f64> {
    name: &'static str,
    get: fn(&T) -> V,
    set: fn(&mut T, V),
    /// Whether the value is possible. If not, the file is refused.
    check: fn(&T, V) -> bool,
    absent: Absent<V>,
}

/// The value of a number that a file does not have.
#[derive(Clone, Copy)]
pub(crate) enum Absent<V> {
    /// Every version writes this number: a file without it is refused.
    Refused,
    /// This value.
    Is(V),
    /// The value of another number of the same table.
    Same(&'static str),
}

/// The names of a table, as a model file lists them.
pub(crate) fn names<T, V>(table: &[Scalar<T, V>]) -> Vec<String> {
    table.iter().map(|scalar| scalar.name.to_string()).collect()
}

/// The values of a table, in the order of the names.
pub(crate) fn values<T, V>(table: &[Scalar<T, V>], of: &T) -> Vec<V> {
    table.iter().map(|scalar| (scalar.get)(of)).collect()
}

/// Sets every number of a table from the names and values of the tensor `tensor`.
pub(crate) fn restore<T, V: Copy>(
    table: &[Scalar<T, V>],
    tensor: &str,
    names: &[String],
    values: &[V],
    to: &mut T,
) -> Result<()> {
    let refuse = |reason: String| Err(Error::snapshot(format!("`{tensor}`: {reason}")));
    if names.len() != values.len() {
        return refuse(format!("{} values for {} names", values.len(), names.len()));
    }
    if let Some(name) = names.iter().find(|name| table.iter().all(|scalar| scalar.name != **name)) {
        return refuse(format!("this version of okl does not know `{name}`; read the file with the version that wrote it"));
    }
    let found = |name: &str| names.iter().position(|other| other == name).map(|i| values[i]);
    if let Some(i) = (0..names.len()).find(|&i| names[..i].contains(&names[i])) {
        return refuse(format!("`{}` is there twice", names[i]));
    }
    for scalar in table {
        let absent = || match scalar.absent {
            Absent::Refused => None,
            Absent::Is(value) => Some(value),
            Absent::Same(other) => found(other),
        };
        let Some(value) = found(scalar.name).or_else(absent) else {
            return refuse(format!("`{}` is missing", scalar.name));
        };
        if !(scalar.check)(to, value) {
            return refuse(format!("the value of `{}` is not possible", scalar.name));
        }
        (scalar.set)(to, value);
    }
    Ok(())
}

/// A line of a table: name, check, value when absent, and an f64 field or a getter and a setter.
macro_rules! scalar {
    ($name:literal, $check:expr, $absent:expr, |$of:ident| $place:expr) => {
        Scalar { name: $name, get: |$of| $place, set: |$of, value| $place = value, check: $check, absent: $absent }
    };
    ($name:literal, $check:expr, $absent:expr, $get:expr, $set:expr) => {
        Scalar { name: $name, get: $get, set: $set, check: $check, absent: $absent }
    };
}

/// A line for a number of the tracker; 0 if there is no tracker.
macro_rules! tracked {
    ($name:literal, $check:expr, $absent:expr, $field:ident) => {
        Scalar {
            name: $name,
            get: |head| head.tracker.as_ref().map_or(0.0, |tracker| tracker.state.$field),
            set: |head, value| {
                if let Some(tracker) = &mut head.tracker {
                    tracker.state.$field = value;
                }
            },
            check: $check,
            absent: $absent,
        }
    };
}

fn tracks_any_sign(head: &Head<AnyStep>) -> f64 {
    let any_sign = head.tracker.as_ref().is_some_and(|tracker| tracker.of == Scores::AnySign);
    f64::from(u8::from(any_sign))
}

fn track_any_sign(head: &mut Head<AnyStep>, value: f64) {
    if let Some(tracker) = &mut head.tracker {
        tracker.of = if value == 1.0 { Scores::AnySign } else { Scores::NotNegative };
    }
}

fn any<T>(_: &T, _: f64) -> bool {
    true
}

fn not_negative<T>(_: &T, value: f64) -> bool {
    value >= 0.0
}

/// The largest count that is stored as f64: f64 has every whole number up to here.
const MOST_COUNTED: f64 = (1u64 << 53) as f64;

fn counted<T>(_: &T, value: f64) -> bool {
    (0.0..=MOST_COUNTED).contains(&value)
}

/// Whether a scale is possible: terms are divided by it, so it must be neither 0 nor near the limits of f64.
fn divides(value: f64) -> bool {
    (1e-100..1e100).contains(&value.abs())
}

/// The number of lines of [`HEAD`] that formats 1, 2 and 3 have, in this order and without names.
pub(crate) const HEAD_OF_FORMAT: [usize; 3] = [32, 33, 38];

/// `head.scalars`: a head beside its coefficients.
pub(crate) const HEAD: &[Scalar<Head<AnyStep>>] = &[
    scalar!("eta", not_negative, Absent::Refused, |h| h.eta),
    scalar!("theta", any, Absent::Refused, |h| h.theta),
    scalar!("theta_trace", any, Absent::Refused, |h| h.theta_trace),
    scalar!("norm2", not_negative, Absent::Refused, |h| h.norms.f2),
    scalar!("product", any, Absent::Refused, |h| h.norms.product),
    scalar!("trace_norm2", not_negative, Absent::Refused, |h| h.norms.trace2),
    scalar!("truncation", not_negative, Absent::Refused, |h| h.truncation),
    scalar!("cut_steps", counted, Absent::Refused, |h| h.cut_steps as f64, |h, value| h.cut_steps = value as u64),
    scalar!("scale.f", |_, v| divides(v), Absent::Refused, |h| h.f.scales.f),
    scalar!("scale.trace", |h, v| !h.f.riders().trace || divides(v), Absent::Refused, |h| h.f.scales.trace.0),
    scalar!("scale.trace_of_f", any, Absent::Refused, |h| h.f.scales.trace.1),
    scalar!("scale.mean", |h, v| !h.f.riders().mean || divides(v), Absent::Refused, |h| h.f.scales.mean.0),
    scalar!("scale.mean_of_f", any, Absent::Refused, |h| h.f.scales.mean.1),
    scalar!("regret.holds", any, Absent::Refused, |h| f64::from(u8::from(h.regret.holds)), |h, value| h.regret.holds =
        value == 1.0),
    scalar!("regret.constant", any, Absent::Refused, |h| h.regret.constant),
    scalar!("regret.linear", any, Absent::Refused, |h| h.regret.linear),
    scalar!("regret.square", any, Absent::Refused, |h| h.regret.square),
    scalar!("regret.offset_linear", any, Absent::Refused, |h| h.regret.offset_linear),
    scalar!("regret.offset_square", any, Absent::Refused, |h| h.regret.offset_square),
    scalar!("regret.last_inverse", any, Absent::Refused, |h| h.regret.last_inverse),
    scalar!("rate.examples", any, Absent::Refused, |h| h.rate.examples),
    scalar!("rate.outside", any, Absent::Refused, |h| h.rate.outside),
    scalar!("rate.least", any, Absent::Refused, |h| h.rate.least),
    scalar!("rate.largest", any, Absent::Refused, |h| h.rate.largest),
    scalar!("rate.variation", any, Absent::Refused, |h| h.rate.variation),
    scalar!("rate.last_inverse", any, Absent::Refused, |h| h.rate.last_inverse),
    scalar!("rate.projected", any, Absent::Refused, |h| h.rate.projected),
    tracked!("tracker.start", any, Absent::Refused, start),
    tracked!("tracker.quantile", any, Absent::Refused, quantile),
    tracked!("tracker.examples", any, Absent::Refused, examples),
    tracked!("tracker.outside", any, Absent::Refused, outside),
    scalar!("theta_mean", any, Absent::Refused, |h| h.theta_mean),
    // Format 1 had one number for the losses of f and of the average.
    scalar!("mean_truncation", not_negative, Absent::Same("truncation"), |h| h.mean_truncation),
    // Before format 3 the step of a tracker was always given, so its estimate is 0.
    tracked!("tracker.stride", not_negative, Absent::Is(0.0), stride),
    tracked!("tracker.level", any, Absent::Is(0.0), level),
    tracked!("tracker.scores", not_negative, Absent::Is(0.0), scores),
    tracked!("tracker.least", any, Absent::Is(0.0), least),
    tracked!("tracker.largest", any, Absent::Is(0.0), largest),
    // Up to format 3 all trackers were for scores >= 0, and the quantile was clamped to the range of f64.
    scalar!("tracker.any_sign", |_, v| v == 0.0 || v == 1.0, Absent::Is(0.0), tracks_any_sign, track_any_sign),
    tracked!("tracker.spread", not_negative, Absent::Is(0.0), spread),
    tracked!("tracker.beyond", any, Absent::Is(0.0), beyond),
    tracked!("tracker.least_beyond", any, Absent::Is(0.0), least_beyond),
    tracked!("tracker.largest_beyond", any, Absent::Is(0.0), largest_beyond),
    // If a file has no mass, it is computed from the terms.
    scalar!("mass", |_, v| v >= 0.0 || v == NO_MASS, Absent::Is(NO_MASS), |h| h.norms.mass),
    // Older versions counted the rows of a warm-up as they were learned last, which is a difference of 0.
    scalar!("rate.more_examples", any, Absent::Is(0.0), |h| h.rate.more_examples),
    scalar!("rate.more_outside", any, Absent::Is(0.0), |h| h.rate.more_outside),
    // Before widths could follow the stream, every head began with the learner.
    scalar!("born", counted, Absent::Is(0.0), |h| h.born as f64, |h, value| h.born = value as u64),
    // Before heads could retire, none had.
    scalar!("retired", |_, v| v == 0.0 || v == 1.0, Absent::Is(0.0), |h| f64::from(u8::from(h.retired)), |h, value| h.retired =
        value == 1.0),
    // Before units could follow the stream, every certificate began with the learner.
    scalar!("regret.lost_before", any, Absent::Is(0.0), |h| h.regret.lost_before),
    // Older versions did not count a growing lambda: the last one was never smaller.
    scalar!("regret.last_lambda", not_negative, Absent::Is(f64::MAX), |h| h.regret.last_lambda),
    // A number that no version of okl has, in the crate's own tests only (`newer.rs`).
    #[cfg(test)]
    Scalar { name: "not_yet", get: |_| 2.0, set: |_, _| {}, check: any, absent: Absent::Is(2.0) },
];

/// Marks a missing mass: the file does not have it.
pub(crate) const NO_MASS: f64 = -1.0;

/// `budget`: the state of a built-in budget. Damage may be negative.
pub(crate) const BUDGET: &[Scalar<AnyBudget>] = &[
    scalar!("oldest_slot", counted, Absent::Refused, |b| b.oldest_slot() as f64, |b, value| b.set_oldest_slot(value as usize)),
    scalar!("mistakes", not_negative, Absent::Refused, |b| b.new_terms),
    scalar!("damage", any, Absent::Refused, |b| b.damage(), |b, value| b.set_damage(value)),
];

/// `bank`: the state of a bank, except for the numbers of each voice.
pub(crate) const BANK: &[Scalar<Bank>] = &[
    scalar!("loss", any, Absent::Refused, |b| b.loss),
    scalar!("scale", not_negative, Absent::Refused, |b| b.scale),
    scalar!("examples", not_negative, Absent::Refused, |b| b.examples),
];

/// `growth`: the state of `budget = auto` beside the shadow.
pub(crate) const GROWTH: &[Scalar<Growth>] = &[
    scalar!("start", counted, Absent::Refused, |g| g.start as f64, |g, value| g.start = value as usize),
    scalar!("verdict", |_, value| Verdict::from_number(value).is_some(), Absent::Refused, |g| g.verdict.number(), |g, value| g
        .verdict =
        Verdict::from_number(value).unwrap_or_default()),
    scalar!("examples", counted, Absent::Refused, |g| g.examples),
    scalar!("sum", any, Absent::Refused, |g| g.sum),
    scalar!("squares", not_negative, Absent::Refused, |g| g.squares),
    scalar!("voice", counted, Absent::Refused, |g| g.voice as f64, |g, value| g.voice = value as usize),
];

/// Counts of examples stay below this, so that no sum of them overflows.
const MOST_EXAMPLES: u64 = 1 << 60;

fn few<T>(_: &T, value: u64) -> bool {
    value < MOST_EXAMPLES
}

/// `counts`: whole numbers of the learner. `features` is needed before the rest of the state is restored.
pub(crate) const COUNTS: &[Scalar<Learner, u64>] = &[
    scalar!("examples", few, Absent::Refused, |l| l.engine.t),
    scalar!("skipped", few, Absent::Refused, |l| l.engine.skipped),
    scalar!("features", few, Absent::Refused, |l| l.features as u64, |l, value| l.features = value as usize),
    // Older versions refused a row whose id belonged to another input.
    scalar!("ids_taken_over", few, Absent::Is(0), |l| l.engine.basis.taken_over),
    // Older versions did not count these rows.
    scalar!("blurred", few, Absent::Is(0), |l| l.blur.rows),
    // In older versions columns had no weights.
    scalar!("weight_changes", few, Absent::Is(0), |l| l.weighed[0]),
    scalar!("weights_changed_at", few, Absent::Is(0), |l| l.weighed[1]),
    // Older versions did not know that a learner was a member of a bank.
    scalar!("frozen_after", few, Absent::Is(0), |l| l.frozen[0]),
    scalar!("frozen_certified_since", few, Absent::Is(0), |l| l.frozen[1]),
    scalar!("frozen_without_terms", few, Absent::Is(0), |l| l.frozen[2]),
];
