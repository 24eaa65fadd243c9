//! `okl inspect`: describes a model in sentences.

use std::collections::BTreeMap;

use okl::basis::Basis;
use okl::config::{KernelRule, Member};
use okl::engine::head::Average;
use okl::growth::Verdict;
use okl::kernel::{AnyKernel, DotKernel};
use okl::loss::{Loss, Reads};
use okl::{Config, Label, Learner};
use serde_json::{Value, json};

use crate::args::Inspect;
use crate::certificates;
use crate::input::Schema;
use crate::learn::task_of;
use crate::memory::{self, figure_of_bytes, most_bytes};
use crate::metrics::{count, figure, percent};
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

/// The names of the features that the model does not read: of LIBSVM text with `--ignore` or `--features`.
fn unread(position: &Position, names: &[String]) -> Vec<String> {
    let unread = position.schema.as_ref().map(Schema::unread).unwrap_or_default();
    unread.into_iter().filter_map(|feature| names.get(feature).cloned()).collect()
}

/// The columns of times, and the time at which their elapsed days begin.
fn elapsed_since(position: &Position) -> impl Iterator<Item = (String, String)> {
    position.schema.as_ref().map(Schema::elapsed_since).unwrap_or_default().into_iter()
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
        "config": in_effect(learner.config()), "given": position.given, "examples": learner.examples(), "rows": position.all_rows(), "progressive": position.progress.to_json(quantile_in_units(learner)), "replayed_rows": position.replayed, "frozen_after": learner.frozen_after(), "terms": learner.terms(), "features": learner.features(),
        "feature_names": names, "unread_features": unread(position, names), "elapsed_since": elapsed_since(position).collect::<BTreeMap<_, _>>(), "hash_bits": position.schema.as_ref().and_then(Schema::hash_bits), "missing": missing(position), "targets": position.schema.as_ref().map(|s| &s.targets), "outputs": learner.outputs(), "classes": learner.classes(), "positive_class": positive_class(learner), "eta": learner.eta(), "step_sizes": learner.step_sizes(), "theta": learner.theta(),
        "offset": learner.predicting_offset(), "norm2": learner.norm2(), "norm2_exact": norm_is_exact(learner), "truncation_error": learner.truncation_error(), "alert_rate": learner.alert_rate().filter(|_| alerts), "outside_rate": learner.alert_rate().filter(|_| !alerts),
        "bank": learner.members().iter().map(|(m, weight)| json!({ "weight": weight, "step": m.step, "lambda": m.lambda, "average": m.average, "width": m.width, "kernel": rule_of(learner, m), "loss": learner.config().loss.all()[m.loss] })).collect::<Vec<_>>(),
        "threshold": learner.threshold(), "bytes": learner.bytes(), "bytes_while_learning": memory::while_learning(learner), "warming_up": learner.warming_up(), "certificates": certificates::in_words(learner, position.progress.measured(learner)),
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
        ("not read", list(&unread(position, names), 8)),
        (
            "elapsed days",
            list(&elapsed_since(position).map(|(column, time)| format!("{column} since {time}")).collect::<Vec<_>>(), 4),
        ),
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
    let certificates = certificates::in_words(learner, position.progress.measured(learner));
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

/// The verdict on the number of terms, with why and how often that number was doubled from `start` to `most`.
pub fn doubled(why: &str, start: usize, most: usize) -> String {
    let times = (most / start.max(1)).max(1).ilog2();
    let doubled = Verdict::Doubled.words();
    let why = match why == Verdict::HalfIsEnough.words() {
        _ if times == 0 || why == doubled => why.to_owned(),
        // That it was doubled says that half of the terms was not enough before.
        true => format!("{doubled}; later, {why}"),
        false => format!("{doubled}; {why}"),
    };
    match times {
        0 | 1 => why,
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
    let not_negative = || certificates::is_translation_invariant(learner) && learner.coefficients().iter().all(|a| *a >= 0.0);
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
pub fn typed(part: &impl serde::Serialize) -> String {
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
