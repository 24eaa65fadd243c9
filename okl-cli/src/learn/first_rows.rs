//! Reports the settings that were estimated from the first rows.

use okl::config::{Anchor, Scale};
use okl::{Config, Learner};
use serde_json::Value;

use crate::inspect::member_in_words;
use crate::metrics::{count, figure, percent};
use crate::settings::MOST_WHITENED;

/// One line with the settings that were estimated; none if no setting was estimated. `asked` is the configuration before the first row.
pub fn estimated(asked: &Config, learner: &Learner) -> Option<String> {
    let now = learner.config();
    if learner.warming_up() {
        let (needs, had) = (count(asked.warmup as f64), count(learner.examples() as f64));
        let are = if learner.examples() == 1 { "is" } else { "are" };
        return Some(format!(
            "Widths and scales are provisional: the first {needs} examples settle them, and there {are} {had} so far."
        ));
    }
    if let [(leader, weight), _, ..] = &learner.members()[..] {
        let (all, leader) = (learner.members().len(), member_in_words(learner, leader));
        let units = units(asked, learner, leader.contains("gamma"));
        return Some(format!("Of {all} settings, {} of the weight is on {leader}.{units}", percent(*weight)));
    }
    let mut gammas = Vec::new();
    settled(&value(asked), &value(now), &mut gammas);
    let list = gammas.iter().map(|gamma| figure(*gamma)).collect::<Vec<_>>().join(", ");
    if gammas.is_empty() {
        let given = value(now)["kernel"].to_string().contains("gamma");
        return Some(units(asked, learner, given).trim().to_owned()).filter(|units| !units.is_empty());
    }
    Some(format!(
        "From the first {} examples: gamma = {list}{}.{}",
        count(asked.warmup as f64),
        alike(now),
        units(asked, learner, true)
    ))
}

/// The units of the columns, if the scale was estimated from the first rows, and those of gamma, if the reader knows one: it was given or is shown.
fn units(asked: &Config, learner: &Learner, gamma: bool) -> String {
    let now = learner.config();
    let changed = learner.unit_changes().filter(|(changes, _)| *changes > 0);
    let text = match changed {
        Some((_, at)) => format!(
            " The units of the columns were found again at example {}, because the columns had changed; gamma is in these units.",
            count(at as f64)
        ),
        None => units_of_gamma(asked, now),
    };
    match (gamma, text.rsplit_once("; gamma")) {
        (false, Some((columns, _))) => format!("{columns}."),
        _ => text,
    }
}

/// The units of the columns and of gamma.
fn units_of_gamma(asked: &Config, now: &Config) -> String {
    let (Scale::Auto | Scale::Whiten | Scale::Standard | Scale::Log, Scale::Fixed { shift, factor, .. }) =
        (&asked.scale, &now.scale)
    else {
        return String::new();
    };
    if matches!(&now.scale, Scale::Fixed { whiten, .. } if !whiten.is_empty()) {
        let examples = count(asked.warmup as f64);
        return format!(
            " Columns are whitened: their correlations over the first {examples} examples are removed; gamma is in units of whitened columns."
        );
    }
    let (centred, examples) = (asked.anchor != Anchor::None, count(asked.warmup as f64));
    let own = factor.contains(&1.0).then_some(" (a column that did not vary there, or appeared later, keeps its own unit)");
    let own = own.unwrap_or_default();
    match factor.iter().all(|f| *f == 1.0) {
        _ if asked.scale == Scale::Log => format!(
            " Columns are logarithms, sign(x) ln(1 + |x| / unit) with units found in the first {examples} examples, divided by their \
             {}; gamma is in these units.",
            if centred { "standard deviation" } else { "root mean square and not centred" }
        ),
        true if shift.iter().all(|s| *s == 0.0) => " Columns are taken as they are; gamma is in the units of the data.".into(),
        true => " Columns are centred; gamma is in the units of the data.".into(),
        false if centred => format!(
            " Columns are divided by their standard deviation over the first {examples} examples{own}; gamma is in these units."
        ),
        false => format!(
            " Columns are divided by the root mean square of their entries that are not 0 in the first {examples} examples{own}, and not \
             centred; gamma is in these units."
        ),
    }
}

/// A sentence if columns were to be whitened, because the command or the loss says so, and are not.
pub fn not_whitened(asked: &Config, now: &Config) -> Option<String> {
    let (Scale::Whiten, Scale::Fixed { shift, whiten, .. }) = (&asked.scale, &now.scale) else { return None };
    let why = match shift.len() > MOST_WHITENED {
        true => format!("a column after the {MOST_WHITENED}th varies"),
        false => "no column varies".into(),
    };
    let examples = count(asked.warmup as f64);
    whiten.is_empty().then(|| {
        format!("Columns are not whitened, because {why} over the first {examples} examples: their correlations are left in.")
    })
}

fn value(config: &Config) -> Value {
    serde_json::to_value(config).unwrap_or_default()
}

/// Collects the numbers that replaced "auto" or "median".
fn settled(asked: &Value, now: &Value, numbers: &mut Vec<f64>) {
    match (asked, now) {
        (Value::String(word), Value::Number(number)) if word == "auto" || word == "median" => numbers.extend(number.as_f64()),
        (Value::Object(asked), Value::Object(now)) => {
            asked.iter().filter_map(|(key, part)| Some((part, now.get(key)?))).for_each(|(a, n)| settled(a, n, numbers));
        }
        (Value::Array(asked), Value::Array(now)) => asked.iter().zip(now).for_each(|(a, n)| settled(a, n, numbers)),
        _ => {}
    }
}

/// Reports the distance r at which a Gaussian kernel is 1/2: exp(-gamma r²) = 1/2.
fn alike(config: &Config) -> String {
    let gamma = value(config)["kernel"]["gaussian"]["gamma"].as_f64();
    let half = gamma.map(|gamma| (std::f64::consts::LN_2 / gamma).sqrt());
    half.map_or(String::new(), |half| format!("; the kernel of two scaled rows at distance {} is 1/2", figure(half)))
}
