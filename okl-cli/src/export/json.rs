//! Export to JSON, with one setting or one term per line.
//!
//! | key | what |
//! |---|---|
//! | `format`, `version` | `"okl model"`, 4 |
//! | `about` | the formula and the meaning of the scores, as a sentence |
//! | `config` | the configuration |
//! | `classes` | in the order of the outputs, or of appearance for a loss that reads a sign |
//! | `positive` | for a loss that reads a sign: the class of positive scores; null without classes and for other losses |
//! | `features` | their names in the order of the numbers of a row; a feature without a name has its number from 1 |
//! | `unread` | only if the model does not read some features: their places in `features`, from 0; version 9 |
//! | `missing` | only if the model fills missing values: the `rule`, and for each feature its `values`, the number in place of a missing one, null for an indicator |
//! | `target` | the target's name, a list of names if there are several, or null if it is not known |
//! | `outputs` | the number of scores |
//! | `frame` | `shift` and `factor` per feature and the `limit` of the result, or null; from version 5 on also `log_units`, from 6 on `whiten`, the rows of a lower triangle |
//! | `parts` | from version 6 on with `weights` of the features, if the kernel reads weighted columns; kernel and operator (matrix, its rows divided by the factors of a `target_scale`; or null for the identity), one unless operator kernels are summed or a bank has several widths |
//! | `centres` | one row per term, in the frame; of a weight vector, one row per output |
//! | `coefficients` | part by part, one row per term, one number per output; the average's where there is one; without an operator divided by the factors of a `target_scale` |
//! | `fourier` | only with random features, in place of parts, centres and coefficients: for each kernel width the `frequencies` in the frame, and the weights of their `cosines` and `sines`, one number per output |
//! | `polynomial` | only with weights of products of columns, in place of parts, centres and coefficients: the `constant`, for each feature `linear`, and for each feature j and each feature i up to j `products`, one number per output each |
//! | `linear` | only of a bank with weight vectors beside its terms, from version 8 on: the `weights` of each feature, one number per output, and the `limit` of the features that they multiply, in place of that of the frame |
//! | `offset` | one number per output, in the unit of the targets |
//! | `threshold` | for novelty: a row is novel iff its score is below; else null |
//!
//! A model whose terms are sparse rows of more than 256 columns has version 7, and only the numbers that are not 0:
//!
//! | key | what |
//! |---|---|
//! | `config` | the configuration without its scale, which is in `frame` |
//! | `features` | the names, or the number of columns if they have no names (they are hashed, or numbers) |
//! | `frame` | `factor` has the `columns` (from 0) whose factor is not that of the `others`, and their `values`; `shift` is null: it is 0 everywhere |
//! | `centres` | for each term the `columns` (from 0, ascending) and `values` that are not 0 |

use okl::Config;
use okl::basis::quadratic::Polynomial;
use okl::config::{KernelRule, Scale};
use okl::loss::Reads;
use serde_json::{Value, json};

use super::{Linear, Model, Part, Waves, rows_of_triangle};
use crate::input::{Inputs, Origin};

const SCORES: &str = "scores(x) = offset + sum over parts m and terms i of kernel_m(u, centres_i) operator_m coefficients_mi, \
    with u = (x - frame.shift) * frame.factor, clipped to [-limit, limit], computed in double precision and then rounded to single precision, \
    or u = x rounded to single precision if frame is null; a null operator is the identity";

const SCORES_OF_WAVES: &str = "scores(x) = offset + sum over the entries of fourier of sum_j cos(<frequencies_j, u>) cosines_j + \
    sin(<frequencies_j, u>) sines_j, with u = (x - frame.shift) * frame.factor, clipped to [-limit, limit], computed in double precision \
    and then rounded to single precision, or u = x rounded to single precision if frame is null";

const WHITENED: &str = "after that, the first numbers of u are multiplied by the lower triangle frame.whiten, in double precision, and rounded to single precision again; the other numbers stay as they are";

const SCORES_OF_PRODUCTS: &str = "scores(x) = offset + polynomial.constant + sum_j polynomial.linear_j u_j + sum over j and i <= j of \
    polynomial.products_ji u_j u_i, with u = (x - frame.shift) * frame.factor, clipped to [-limit, limit], computed in double precision \
    and then rounded to single precision, or u = x rounded to single precision if frame is null";

const WEIGHTS: &str = "where a part has weights, its kernel reads |u - c|² as the sum over j of weights_j (u_j - c_j)², and manhattan its distance as the sum over j of \
    sqrt(weights_j) |u_j - c_j|";

const LINEAR: &str = "added to the scores is the sum over j of linear.weights_j u_j, with u clipped to [-linear.limit, linear.limit] instead and not multiplied by a triangle";

const UNREAD: &str = "the features in unread are 0 in x, whatever a row has there";

const LOGARITHMS: &str = "before that, x is replaced by sign(x) ln(1 + |x| / frame.log_units)";

pub(super) fn write(model: &Model<'_>) -> Vec<u8> {
    let (learner, logarithms) = (model.learner, model.learner.log_units());
    let scores = match (&model.polynomial, model.waves.is_empty()) {
        (Some(_), _) => SCORES_OF_PRODUCTS,
        (None, true) => SCORES,
        (None, false) => SCORES_OF_WAVES,
    };
    let scores = if logarithms.is_empty() { scores.to_string() } else { format!("{scores}; {LOGARITHMS}") };
    let triangle = rows_of_triangle(learner.whitening());
    let scores = if triangle.is_empty() { scores } else { format!("{scores}; {WHITENED}") };
    let weighted = model.parts.iter().any(|part| part.columns.is_some());
    let scores = if weighted { format!("{scores}; {WEIGHTS}") } else { scores };
    let scores = if model.linear.is_some() { format!("{scores}; {LINEAR}") } else { scores };
    let scores = if model.unread.is_empty() { scores } else { format!("{scores}; {UNREAD}") };
    let about = json!({ "scores": scores, "decision": decision(model.reads()) });
    let sparse = super::writes_sparsely(learner);
    let mut frame = model.framed().then(|| match sparse {
        true => json!({ "shift": null, "factor": few(model.factor), "limit": model.limit }),
        false => json!({ "shift": model.shift, "factor": model.factor, "limit": model.limit }),
    });
    if let Some(frame) = frame.as_mut().filter(|_| !logarithms.is_empty()) {
        frame["log_units"] = if sparse { few(logarithms) } else { json!(logarithms) };
    }
    if let Some(frame) = frame.as_mut().filter(|_| !triangle.is_empty()) {
        frame["whiten"] = json!(triangle);
    }
    let version = match (triangle.is_empty() && !weighted, logarithms.is_empty()) {
        _ if !model.unread.is_empty() => "9",
        _ if model.linear.is_some() => "8",
        _ if sparse => "7",
        (false, _) => "6",
        (true, false) => "5",
        (true, true) => "4",
    };
    let parts: Vec<Value> = model.parts.iter().map(|part| describe(part, model.outputs)).collect();
    let mut entries = vec![
        ("format", "\"okl model\"".into()),
        ("version", version.into()),
        ("about", line(&about)),
        (
            "config",
            if sparse { Config { scale: Scale::None, ..learner.config().clone() } } else { learner.config().clone() }.to_json(),
        ),
        ("classes", line(&json!(learner.classes()))),
        ("positive", line(&json!(model.signs().map(|[_, positive]| positive)))),
        ("features", line(&if sparse && model.names.is_empty() { json!(model.features) } else { json!(model.names) })),
        ("target", line(&model.target())),
        ("outputs", model.outputs.to_string()),
        ("frame", line(&json!(frame))),
        ("parts", lines(parts.into_iter())),
        ("centres", if sparse { sparse_centres(model) } else { lines(model.centres().map(|c| json!(c))) }),
        ("coefficients", lines(model.parts.iter().map(|part| rows(part, model.outputs)))),
        ("offset", line(&json!(model.offset))),
        ("threshold", line(&json!(model.threshold))),
    ];
    if !model.unread.is_empty() {
        entries.push(("unread", line(&json!(model.unread))));
    }
    if let Some(inputs) = model.inputs {
        entries.push(("missing", line(&missing(inputs))));
    }
    if !model.waves.is_empty() {
        entries.push(("fourier", lines(model.waves.iter().map(|waves| described(waves, model)))));
    }
    if let Some(Linear { weights, limit }) = &model.linear {
        let weights: Vec<&[f64]> = weights.chunks_exact(model.outputs).collect();
        entries.push(("linear", line(&json!({ "weights": weights, "limit": limit }))));
    }
    if let Some(polynomial) = &model.polynomial {
        entries.push(("polynomial", line(&of_products(polynomial, model.outputs))));
    }
    let entries: Vec<String> = entries.iter().map(|(key, value)| format!("  \"{key}\": {value}")).collect();
    format!("{{\n{}\n}}\n", entries.join(",\n")).into_bytes()
}

/// The terms as columns and values.
fn sparse_centres(model: &Model<'_>) -> String {
    let terms = model.learner.engine().terms();
    let rows = terms.live().filter_map(|slot| terms.space().sparse_centre(slot));
    lines(rows.map(|row| json!({ "columns": row.columns, "values": row.values })))
}

/// Numbers of which most are equal: that one, and the others with their columns. The candidate of a majority is found by voting.
fn few(numbers: &[f64]) -> Value {
    let vote = |(held, votes): (f64, usize), number: &f64| match (held == *number, votes) {
        (_, 0) => (*number, 1),
        (true, votes) => (held, votes + 1),
        (false, votes) => (held, votes - 1),
    };
    let (most, _) = numbers.iter().fold((1.0, 0), vote);
    let (columns, values): (Vec<usize>, Vec<f64>) = numbers.iter().copied().enumerate().filter(|(_, n)| *n != most).unzip();
    json!({ "others": most, "columns": columns, "values": values })
}

/// The rule for missing values, and what a missing value of each feature becomes.
fn missing(inputs: &Inputs) -> Value {
    let value = |origin: &Origin| if let Origin::Column(column) = origin { Some(inputs.columns[*column].1) } else { None };
    json!({ "rule": inputs.missing.to_string(), "values": inputs.features.iter().map(value).collect::<Vec<_>>() })
}

/// Frequencies, and the weights of their cosines and sines, one row each.
fn described(waves: &Waves, model: &Model<'_>) -> Value {
    let rows = |numbers: &[f64], width: usize| json!(numbers.chunks_exact(width).collect::<Vec<_>>());
    let (cosines, sines) = waves.weights.split_at(waves.weights.len() / 2);
    let of_outputs = |weights| rows(weights, model.outputs);
    json!({ "frequencies": rows(&waves.frequencies, model.features), "cosines": of_outputs(cosines), "sines": of_outputs(sines) })
}

fn rows(part: &Part<'_>, outputs: usize) -> Value {
    json!(part.coefficients.chunks_exact(outputs).collect::<Vec<_>>())
}

/// Numbers of a polynomial, one list per feature; of products, one list per feature before it and for its square.
fn of_products(polynomial: &Polynomial, outputs: usize) -> Value {
    let linear: Vec<&[f64]> = polynomial.linear.chunks_exact(outputs).collect();
    let mut products = polynomial.products.chunks_exact(outputs);
    let products: Vec<Vec<&[f64]>> = (1..=linear.len()).map(|count| products.by_ref().take(count).collect()).collect();
    json!({ "constant": polynomial.constant, "linear": linear, "products": products })
}

fn line(value: &Value) -> String {
    value.to_string()
}

fn lines(values: impl Iterator<Item = Value>) -> String {
    let values: Vec<String> = values.map(|value| format!("    {value}")).collect();
    if values.is_empty() { "[]".into() } else { format!("[\n{}\n  ]", values.join(",\n")) }
}

fn decision(reads: Reads) -> &'static str {
    match reads {
        Reads::Sign => "the class in `positive` (+1 without classes) where the score is above 0, else the other one (-1)",
        Reads::Class => "the class with the largest score, the earlier one of equal scores",
        Reads::Number | Reads::Vector => "the scores are the predicted numbers",
        Reads::Nothing => "novel where the score is below the threshold",
    }
}

fn describe(part: &Part<'_>, outputs: usize) -> Value {
    let operator: Option<Vec<&[f64]>> = part.operator.as_ref().map(|j| j.chunks_exact(outputs).collect());
    let mut described = json!({ "kernel": KernelRule::from(part.kernel), "operator": operator });
    if let Some(weights) = &part.columns {
        described["weights"] = json!(weights);
    }
    described
}
