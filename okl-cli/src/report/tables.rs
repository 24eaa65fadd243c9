//! Tables: the confusion matrix, figures per class and per output, residuals, the configuration.

use maud::{Markup, html};
use serde_json::Value;

use super::axis::{Axis, Unit};
use super::chart::frame;
use super::text;
use crate::metrics::{ClassSummary, Confusion, OutputSummary, Residuals, shortened};
use crate::settings::{Table, learned};

/// The largest number of outputs whose residuals are drawn.
const MOST_OUTPUTS: usize = 6;
/// The longest list of numbers that is printed in full.
const MOST_NUMBERS: usize = 8;

/// A table with one row per name.
fn table(caption: &str, head: &[&str], rows: &[(&str, Vec<String>)]) -> Markup {
    html! {
        figure {
            div.scroll {
                table.figures {
                    thead { tr { @for name in head { th scope="col" { (name) } } } }
                    tbody {
                        @for (name, cells) in rows {
                            tr { th scope="row" { (shortened(name, 28)) } @for cell in cells { td { (cell) } } }
                        }
                    }
                }
            }
            figcaption { (caption) }
        }
    }
}

fn or_dash(value: Option<f64>, show: fn(f64) -> String) -> String {
    value.map_or("–".into(), show)
}

/// A table of so many classes is wider than the screen of a phone.
const WIDE: usize = 4;

/// The confusion matrix. Cells are shaded by their share of the row, so that rare classes are as visible as frequent ones.
pub(super) fn confusion(classes: &ClassSummary) -> Markup {
    let Confusion { names, counts, .. } = &classes.confusion;
    html! {
        figure {
            @if names.len() > WIDE {
                p.sideways { "The table has " (names.len()) " columns: scroll it sideways where the screen is too narrow for them." }
            }
            div.scroll tabindex="0" {
                table.confusion.many[names.len() > 12] {
                    thead {
                        tr {
                            th.corner scope="col" { "was ↓ said →" }
                            @for name in names { th scope="col" { span { (shortened(name, 14)) } } }
                        }
                    }
                    tbody { @for (i, (name, row)) in names.iter().zip(counts).enumerate() { (confusion_row(i, name, row)) } }
                }
            }
            figcaption { (confusion_caption(classes)) }
        }
    }
}

fn confusion_row(i: usize, name: &str, counts: &[f64]) -> Markup {
    let total: f64 = counts.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let cell = |(j, &n): (usize, &f64)| {
        let (class, share) = (if i == j { "hit" } else { "miss" }, n / total);
        // Mistakes are shaded by the square root of their share, so that small shares are visible.
        let strength = if i == j { 100.0 * share } else { 100.0 * share.sqrt() };
        html! {
            td class=(class) style=(format!("--p:{strength:.0}%")) title=(text::percent(share)) {
                @if n > 0.0 { (text::count(n)) }
            }
        }
    };
    html! { tr { th scope="row" { (shortened(name, 20)) } @for of in counts.iter().enumerate() { (cell(of)) } } }
}

fn confusion_caption(classes: &ClassSummary) -> Markup {
    let Confusion { names, counts, unsaid } = &classes.confusion;
    let misses = counts
        .iter()
        .enumerate()
        .flat_map(|(i, row)| row.iter().enumerate().map(move |(j, n)| (i, j, *n)))
        .filter(|(i, j, n)| i != j && *n > 0.0);
    let worst = misses.max_by(|a, b| a.2.total_cmp(&b.2));
    let some = counts.iter().flatten().any(|count| *count > 0.0);
    let how_many = |n: f64| match classes.is_weighted() {
        true => format!("rows of weight {}", text::count(n)),
        false => format!("{} examples", text::count(n)),
    };
    html! {
        "Every example by its true class (row) and the class predicted before it was learned (column)"
        @if classes.is_weighted() { ", counted by its weight" }
        "; cells are shaded by their share of the row. "
        @if let Some((i, j, n)) = worst {
            "The most frequent mistake: " (how_many(n)) " of " b { (shortened(&names[i], 28)) } " were predicted as "
            b { (shortened(&names[j], 28)) } "."
        } @else if some {
            "No example was predicted wrongly."
        } @else {
            "No rows."
        }
        @if names.len() > crate::metrics::MOST_CLASSES {
            " " b { "other" } ": all classes after the first 50."
        }
        @if *unsaid > 0.0 {
            " The very first example is in no column: no class was known when it came. It counts as a mistake."
        }
    }
}

/// Precision, recall and F1 of each class.
pub(super) fn classes(classes: &ClassSummary) -> Markup {
    let weighted = classes.is_weighted();
    let line = |c: &crate::metrics::ClassFigures| {
        let shares = [or_dash(c.precision, text::percent), or_dash(c.recall, text::percent), or_dash(c.f1, text::figure)];
        let weight = weighted.then(|| text::count(c.weight));
        std::iter::once(text::count(c.examples as f64)).chain(weight).chain(shares).collect()
    };
    let rows: Vec<_> = classes.per_class.iter().map(|c| (c.name.as_str(), line(c))).collect();
    let more = if classes.known > classes.per_class.len() {
        format!(" The first {} of {} classes.", text::count(classes.per_class.len() as f64), text::count(classes.known as f64))
    } else {
        String::new()
    };
    table(
        &format!(
            "Precision: of the examples predicted as this class, the share that are of it. Recall: of the examples of this class, the share predicted as it.{more}"
        ),
        if weighted {
            &["class", "examples", "weight", "precision", "recall", "F1"]
        } else {
            &["class", "examples", "precision", "recall", "F1"]
        },
        &rows,
    )
}

/// RMSE, MAE, bias and R² of each output.
pub(super) fn outputs(outputs: &[OutputSummary]) -> Markup {
    let line = |o: &OutputSummary| [o.rmse, o.mae, o.no_change_mae, o.bias, o.r2].map(|v| or_dash(v, text::figure)).to_vec();
    let rows: Vec<_> = outputs.iter().map(|o| (o.name.as_str(), line(o))).collect();
    table(
        "Before learning. No change: the mean absolute change from one target to the next, the first from 0. Bias: the mean of score minus target. R²: 1 is perfect, 0 is as good as predicting the mean of the targets.",
        &["target", "RMSE", "MAE", "no change", "bias", "R²"],
        &rows,
    )
}

/// The residuals of the first outputs. `weighted`: whether rows have weights, so that shares are of weight.
pub(super) fn residuals(outputs: &[OutputSummary], weighted: bool) -> Markup {
    let drawn = outputs.iter().take(MOST_OUTPUTS).filter_map(|o| Some((&o.name, o.residuals.as_ref()?)));
    html! { @for (name, residuals) in drawn { (residual_chart(name, residuals, weighted)) } }
}

/// The residuals as the bias has them: score minus target.
fn mirrored(r: &Residuals) -> Residuals {
    Residuals {
        edges: r.edges.iter().rev().map(|edge| 0.0 - edge).collect(),
        counts: r.counts.iter().rev().copied().collect(),
        median: 0.0 - r.median,
        below: r.above,
        above: r.below,
        ..r.clone()
    }
}

fn residual_chart(name: &str, r: &Residuals, weighted: bool) -> Markup {
    let r = &mirrored(r);
    let total = r.counts.iter().sum::<f64>() + r.outside;
    let x = Axis::exact(-r.reach, r.reach, Unit::Plain);
    let y = Axis::straight(r.counts.iter().map(|n| n / total), Unit::Percent);
    let bar = |(ends, n): (&[f64], &f64)| {
        let [from, to] = [ends[0], ends[1]].map(|end| 1000.0 * x.place(end));
        format!("M{from:.1} 1000V{:.1}H{to:.1}V1000z", 1000.0 * (1.0 - y.place(n / total)))
    };
    let path: String = r.edges.windows(2).zip(&r.counts).filter(|(_, n)| **n > 0.0).map(bar).collect();
    let drawing = format!("<path class=\"bars\" d=\"{path}\"/><path class=\"line c\" d=\"M500 0V1000\"/>");
    let plot = frame(&drawing, &x.ticks(6), &y.ticks(5), "score minus target", None, &format!("residuals of {name}"));
    // Whole bars, about a quarter of the axis.
    let (bars, middle) = (r.counts.len(), r.counts.len() / 2);
    let beside = bars / 8;
    let near: f64 = r.counts[middle - beside..=middle + beside].iter().sum();
    let sides = match r.zero >= r.below.max(r.above) {
        true => format!(
            "{} of the residuals are exactly 0, {} are below and {} above.",
            text::percent(r.zero / total),
            text::percent(r.below / total),
            text::percent(r.above / total)
        ),
        false if weighted => format!("about half of the residuals lie on each side of {}.", text::figure(r.median)),
        false => format!("About half of the residuals lie on each side of {}.", text::figure(r.median)),
    };
    let by_weight = if weighted { "Counted by weight: " } else { "" };
    let caption = format!(
        "{by_weight}{sides} {} lie within {} of 0, {} beyond the ends of the axis.",
        text::percent(near / total),
        text::figure(r.edges[middle + beside + 1]),
        text::percent(r.outside / total)
    );
    html! {
        figure.chart {
            h3 { "Residuals of " (shortened(name, 40)) }
            p.measures { "share of examples per bar" @if weighted { ", by weight" } }
            (plot)
            figcaption { (caption) }
        }
    }
}

/// The settings before the first row, and apart from them those that learning replaced, each as a table with one line per setting. Text that is not
/// valid JSON is shown unchanged. A list per column fits only the columns at the end of the run, so the JSON for --config has the settings before it.
pub(super) fn config(given: Option<&str>, json: &str, resumed: bool) -> Markup {
    let Ok(Value::Object(settings)) = serde_json::from_str(json) else { return html! { pre { (json) } } };
    let lines = |settings: &Table| pairs(settings.iter().map(|(key, value)| (key.as_str(), setting(value))));
    let Some(Ok(Value::Object(given))) = given.map(serde_json::from_str) else { return lines(&settings) };
    let learned = learned(&given, &settings);
    html! {
        (lines(&given))
        details { summary { "as JSON, for --config" } pre { (one_per_line(&given)) } }
        p.note {
            "These settings were given, or were chosen before the first row was learned. "
            @if resumed { "This run resumed a model: that model and the flags about columns, order and passes reproduce this one. The settings alone do not." }
            @else { "With the flags about columns, order and passes they reproduce the model." }
        }
        @if !learned.is_empty() {
            h3 { "Learned" }
            (lines(&learned))
            p.note { "Values at the end that replaced settings above: what was learned from the rows, and what auto stood for. A run that began with them would be another run." }
        }
    }
}

/// A table of names and values.
pub(super) fn pairs<'a>(pairs: impl Iterator<Item = (&'a str, String)>) -> Markup {
    html! {
        div.scroll {
            table.settings { tbody { @for (name, value) in pairs { tr { th scope="row" { (name) } td { (value) } } } } }
        }
    }
}

/// JSON with one setting per line; a list is not broken into several lines.
fn one_per_line(settings: &Table) -> String {
    let lines: Vec<String> = settings.iter().map(|(key, value)| format!("  {}: {value}", Value::from(key.as_str()))).collect();
    format!("{{\n{}\n}}", lines.join(",\n"))
}

/// A setting as text: `decay: eta = 1, tau = 1000`.
fn setting(value: &Value) -> String {
    match value {
        Value::Object(parts) if parts.len() == 1 => {
            let (name, inner) = parts.iter().next().unwrap_or_else(|| unreachable!("it has one entry"));
            let inner = setting(inner);
            if inner.is_empty() {
                name.clone()
            } else if parts[name].is_object() {
                format!("{name}: {inner}")
            } else {
                format!("{name} = {inner}")
            }
        }
        Value::Object(parts) => parts.iter().map(|(k, v)| format!("{k} = {}", setting(v))).collect::<Vec<_>>().join(", "),
        Value::Array(list) if list.len() > MOST_NUMBERS => format!("{} values: {}, …", list.len(), joined(&list[..3])),
        Value::Array(list) => joined(list),
        Value::String(text) => text.clone(),
        Value::Number(n) => n.as_f64().map_or(n.to_string(), number),
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.into(),
        Value::Null => "none".into(),
    }
}

/// A number, in full if it is short, otherwise rounded.
fn number(value: f64) -> String {
    let exact = value.to_string();
    if exact.len() <= 8 { exact } else { text::figure(value) }
}

fn joined(list: &[Value]) -> String {
    list.iter().map(setting).collect::<Vec<_>>().join(", ")
}
