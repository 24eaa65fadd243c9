//! ONNX: the model as a graph of plain operators in double precision, which any runtime can run.
//!
//! | name | type | what |
//! |---|---|---|
//! | `x` | double (rows, columns) | input, in the units of the data; NaN where a value is missing, if the model fills missing values |
//! | `scores` | double (rows, outputs) | what `okl predict` returns |
//! | `label` | int64 or string (rows) | the label of the largest score, the earlier one of equals; for a sign, the label of positive scores where the score is above 0, else the other one. int64 if all labels are whole numbers; -1 and 1 if there are no labels |
//! | `novel` | bool (rows) | with a threshold: whether the score is below it |
//!
//! With U the rows in their frame, C the centres, W_m = A J_m the coefficients behind the operator,
//!
//! ```text
//! D = U Cᵀ            R² = max(0, |u|² + |c|² - 2 D)            scores = b + sum_m k_m(D, R²) W_m
//! ```
//!
//! A bank with weight vectors beside its terms adds U' L, where U' are the rows in their frame with a further limit.
//!
//! With weights of products of columns, in place of the second and the third of these, for each output o with the linear numbers l_o and
//! the lower triangle Q_o of the products:
//!
//! ```text
//! scores_o = b_o + <l_o, u> + <u, Q_o u>
//! ```
//!
//! The columns of `x` are the features. Of a model that fills missing values they are the features without the indicators: the graph puts
//! the number that the model has for a column in the place of NaN, and makes the indicators.
//!
//! The documentation of the input `x` lists its columns in order. Metadata: `okl.config`, `okl.features` (the columns' names in order; a
//! column without a name has its number from 1), `okl.missing` (the rule, if missing values are filled), `okl.target` (the target's name, or a list of names; absent if it is not known),
//! `okl.classes` (in the order of the scores) and `okl.positive` (the label of positive scores) as JSON, `okl.threshold` for novelty.

use anyhow::{Result, bail};
use okl::Label;
use okl::basis::quadratic::Polynomial;
use okl::kernel::{AnyKernel, DotKernel};
use okl::loss::Reads;

use super::protobuf::Message;
use super::{Linear, Model, rows_of_triangle};
use crate::input::{Inputs, Origin};

/// Supported by the runtimes of the last years; older versions lack double precision in some operators.
const IR_VERSION: u64 = 8;
const OPSET: u64 = 17;

/// Protobuf's own limit on the size of a message.
const MOST_BYTES: usize = i32::MAX as usize;

/// Types of elements, as `TensorProto.DataType` numbers them.
const FLOAT: u64 = 1;
const INT64: u64 = 7;
const STRING: u64 = 8;
const BOOL: u64 = 9;
const DOUBLE: u64 = 11;

pub(super) fn write(model: &Model<'_>) -> Result<Vec<u8>> {
    let of_waves = model.waves.iter().map(|waves| waves.frequencies.len() + waves.weights.len()).sum::<usize>();
    let of_parts = model.parts.iter().map(|part| part.coefficients.len()).sum::<usize>();
    let of_products = model.polynomial.iter().map(|_| model.features * (model.features + 1) * model.outputs).sum::<usize>();
    let bytes = 4 * model.centres.len() + 8 * (of_parts + of_waves + of_products);
    if bytes > MOST_BYTES / 2 {
        bail!("the model has {bytes} bytes of numbers, and an ONNX file holds at most 2 GB: learn with a smaller budget");
    }
    let mut graph = Graph::default();
    let names = columns(model);
    let about = format!("The features, one column each, in this order: {}", names.join(", "));
    graph.declare_input("x", DOUBLE, &[Dim::Rows, Dim::Count(names.len())], &about);
    let x = model.inputs.map_or_else(|| "x".into(), |inputs| filled(&mut graph, inputs));
    let x = without_unread(&mut graph, model, x);
    let scaled = scaled(&mut graph, model, &x);
    let rows = framed(&mut graph, model, &scaled);
    scores(&mut graph, model, &rows, &scaled);
    decide(&mut graph, model);
    Ok(finish(&graph, model).0)
}

/// The names of the columns of `x`.
fn columns(model: &Model<'_>) -> Vec<String> {
    match model.inputs {
        Some(inputs) => inputs.columns.iter().map(|(name, _)| name.clone()).collect(),
        None => model.names.clone(),
    }
}

/// The features, made from columns in which values may be missing.
fn filled(graph: &mut Graph, inputs: &Inputs) -> String {
    let values: Vec<f64> = inputs.columns.iter().map(|(_, value)| *value).collect();
    let values = graph.doubles("missing_values", &[1, values.len()], &values);
    let missing = graph.node("IsNaN", &["x"]);
    let x = graph.node("Where", &[&missing, &values, "x"]);
    let indicators: Vec<&Vec<usize>> =
        inputs.features.iter().filter_map(|origin| if let Origin::Indicator(of) = origin { Some(of) } else { None }).collect();
    if indicators.is_empty() {
        return x;
    }
    let marks = graph.cast(&missing, DOUBLE);
    let mut made = String::new();
    for source in 0..indicators.iter().map(|of| of.len()).max().unwrap_or(0) {
        let of: Vec<i64> = indicators.iter().map(|of| of[source.min(of.len() - 1)] as i64).collect();
        let next = graph.gather(&marks, &of);
        made = if source == 0 { next } else { graph.node("Max", &[&made, &next]) };
    }
    let both = graph.node_with("Concat", &[&x, &made], &[("axis", 1)]);
    let mut indicator = inputs.columns.len() as i64..;
    let place = |origin: &Origin| match origin {
        Origin::Column(column) => *column as i64,
        Origin::Indicator(_) => indicator.next().unwrap_or_default(),
    };
    let order: Vec<i64> = inputs.features.iter().map(place).collect();
    graph.gather(&both, &order)
}

/// The rows with 0 in the features that the model does not read.
fn without_unread(graph: &mut Graph, model: &Model<'_>, x: String) -> String {
    if model.unread.is_empty() {
        return x;
    }
    let is_read: Vec<u8> = (0..model.features).map(|feature| model.unread.binary_search(&feature).is_err().into()).collect();
    let is_read = graph.tensor("is_read", BOOL, &[1, model.features], &is_read);
    let zero = graph.scalar(0.0);
    graph.node("Where", &[&is_read, &x, &zero])
}

/// ModelProto.
fn finish(graph: &Graph, model: &Model<'_>) -> Message {
    let opset = Message::default().text(1, "").number(2, OPSET);
    Message::default()
        .number(1, IR_VERSION)
        .text(2, "okl")
        .text(3, env!("CARGO_PKG_VERSION"))
        .number(5, 1)
        .message(7, &graph.message())
        .message(8, &opset)
        .messages(14, &metadata(model))
}

fn metadata(model: &Model<'_>) -> Vec<Message> {
    let entry = |key: &str, value: String| Message::default().text(1, key).text(2, &value);
    let learner = model.learner;
    let features = serde_json::json!(columns(model)).to_string();
    let mut entries = vec![entry("okl.config", learner.config().to_json()), entry("okl.features", features)];
    entries.extend(model.inputs.map(|inputs| entry("okl.missing", inputs.missing.to_string())));
    entries.extend((!model.unread.is_empty()).then(|| entry("okl.unread", serde_json::json!(model.unread).to_string())));
    if !model.targets.is_empty() {
        entries.push(entry("okl.target", model.target().to_string()));
    }
    if !model.classes.is_empty() {
        entries.push(entry("okl.classes", serde_json::json!(model.classes).to_string()));
    }
    entries.extend(model.signs().map(|[_, positive]| entry("okl.positive", serde_json::json!(positive).to_string())));
    entries.extend(model.threshold.map(|threshold| entry("okl.threshold", format!("{threshold:?}"))));
    entries
}

/// The rows, shifted and scaled in double precision.
fn scaled(graph: &mut Graph, model: &Model<'_>, x: &str) -> String {
    if !model.framed() {
        return x.into();
    }
    let shift = graph.doubles("shift", &[1, model.features], model.shift);
    let factor = graph.doubles("factor", &[1, model.features], model.factor);
    let x = logarithms(graph, model, x);
    let x = graph.node("Sub", &[&x, &shift]);
    graph.node("Mul", &[&x, &factor])
}

/// The rows as the kernels see them: scaled rows, clipped and rounded once to single precision, as the learner does.
fn framed(graph: &mut Graph, model: &Model<'_>, scaled: &str) -> String {
    let x = clipped(graph, model, scaled, model.limit);
    whitened(graph, model, &x)
}

fn clipped(graph: &mut Graph, model: &Model<'_>, scaled: &str, limit: f64) -> String {
    if !model.framed() {
        return graph.rounded(scaled);
    }
    let (least, most) = (graph.scalar(-limit), graph.scalar(limit));
    let x = graph.node("Clip", &[scaled, &least, &most]);
    graph.rounded(&x)
}

/// The rows times the triangle of the model, if it whitens; rounded again, as the learner does.
fn whitened(graph: &mut Graph, model: &Model<'_>, x: &str) -> String {
    let triangle = rows_of_triangle(model.learner.whitening());
    if triangle.is_empty() {
        return x.into();
    }
    // u = T z of a column of numbers is z' T' of a row. Columns after the triangle are left as they are.
    let entry = |row: usize, column: usize| match triangle.get(column) {
        Some(of_row) => of_row.get(row).copied().unwrap_or(0.0),
        None => f64::from(u8::from(row == column)),
    };
    let places = (0..model.features).flat_map(|i| (0..model.features).map(move |j| (i, j)));
    let transposed: Vec<f64> = places.map(|(i, j)| entry(i, j)).collect();
    let transposed = graph.doubles("whiten", &[model.features, model.features], &transposed);
    let x = graph.node("MatMul", &[x, &transposed]);
    graph.rounded(&x)
}

/// sign(x) ln(1 + |x| / unit), if the scale of the model takes logarithms; otherwise x.
fn logarithms(graph: &mut Graph, model: &Model<'_>, x: &str) -> String {
    let units = model.learner.log_units();
    if units.is_empty() {
        return x.into();
    }
    let (units, one) = (graph.doubles("log_units", &[1, model.features], units), graph.scalar(1.0));
    let size = graph.node("Abs", &[x]);
    let size = graph.node("Div", &[&size, &units]);
    let size = graph.node("Add", &[&size, &one]);
    let (logarithm, sign) = (graph.node("Log", &[&size]), graph.node("Sign", &[x]));
    graph.node("Mul", &[&logarithm, &sign])
}

fn scores(graph: &mut Graph, model: &Model<'_>, rows: &str, scaled: &str) {
    if let Some(polynomial) = &model.polynomial {
        return scores_of_products(graph, model, polynomial, rows);
    }
    if !model.waves.is_empty() {
        return scores_of_waves(graph, model, rows);
    }
    // A model without terms gets one term of weight 0, because runtimes treat empty tensors differently.
    let terms = (model.centres.len() / model.features).max(1);
    let centres = Centres::new(graph, model, terms);
    let mut views: Vec<(Option<&[f64]>, Pairs)> = Vec::new();
    let columns = model.columns.len();
    let mut total = graph.doubles("offset", &[1, columns], &model.ordered(&model.offset));
    for (m, part) in model.parts.iter().enumerate() {
        let mut weights = model.ordered(&part.weights(model));
        weights.resize(terms * columns, 0.0);
        let weights = graph.doubles(&format!("weights_{m}"), &[terms, columns], &weights);
        let columns = part.columns.as_deref();
        if !views.iter().any(|(view, _)| *view == columns) {
            let reads =
                |reads: fn(&AnyKernel) -> bool| model.parts.iter().any(|of| of.columns.as_deref() == columns && reads(of.kernel));
            let reads = [reads(reads_distance), reads(DotKernel::of_manhattan_distance)];
            let pairs = centres.pairs(graph, rows, columns, (reads, views.len()));
            views.push((columns, pairs));
        }
        let pairs = views.iter().find(|(view, _)| *view == columns).map(|(_, pairs)| pairs).expect("it was put there just now");
        let values = kernel(graph, part.kernel, pairs);
        let sums = graph.node("MatMul", &[&values, &weights]);
        total = graph.node("Add", &[&total, &sums]);
    }
    if let Some(Linear { weights, limit }) = &model.linear {
        let rows = clipped(graph, model, scaled, *limit);
        let weights = graph.doubles("linear", &[model.features, columns], &model.ordered(weights));
        let sums = graph.node("MatMul", &[&rows, &weights]);
        total = graph.node("Add", &[&total, &sums]);
    }
    graph.name_output("scores", &total, DOUBLE, &[Dim::Rows, Dim::Count(columns)]);
}

/// The weighted sum of the sines and cosines of U Fᵀ, where F are the frequencies. A cosine is a sine a quarter of a turn ahead, because
/// some runtimes have cosines in single precision only.
fn scores_of_waves(graph: &mut Graph, model: &Model<'_>, rows: &str) {
    let columns = model.columns.len();
    let mut total = graph.doubles("offset", &[1, columns], &model.ordered(&model.offset));
    for (m, waves) in model.waves.iter().enumerate() {
        let count = waves.frequencies.len() / model.features;
        let frequencies = graph.doubles(&format!("frequencies_{m}"), &[count, model.features], &waves.frequencies);
        let transposed = graph.node("Transpose", &[&frequencies]);
        let angles = graph.node("MatMul", &[rows, &transposed]);
        let ahead = graph.plus(std::f64::consts::FRAC_PI_2, &angles);
        let weights = model.ordered(&waves.weights);
        for (name, angles, weights) in
            [("cosines", &ahead, &weights[..count * columns]), ("sines", &angles, &weights[count * columns..])]
        {
            let weights = graph.doubles(&format!("{name}_{m}"), &[count, columns], weights);
            let wave = graph.node("Sin", &[angles]);
            let sums = graph.node("MatMul", &[&wave, &weights]);
            total = graph.node("Add", &[&total, &sums]);
        }
    }
    graph.name_output("scores", &total, DOUBLE, &[Dim::Rows, Dim::Count(columns)]);
}

/// U L, and for each output the sum over the columns of U * (U Qᵀ): the matrices of all outputs stand side by side in one product.
fn scores_of_products(graph: &mut Graph, model: &Model<'_>, polynomial: &Polynomial, rows: &str) {
    let (columns, features) = (model.columns.len(), model.features);
    let offset: Vec<f64> = model.offset.iter().zip(&polynomial.constant).map(|(b, constant)| b + constant).collect();
    let offset = graph.doubles("offset", &[1, columns], &model.ordered(&offset));
    let linear = graph.doubles("linear", &[features, columns], &model.ordered(&polynomial.linear));
    let (ordered, mut products) = (model.ordered(&polynomial.products), vec![0.0; features * columns * features]);
    let pairs = (0..features).flat_map(|j| (0..=j).map(move |i| (j, i)));
    for ((j, i), of_outputs) in pairs.zip(ordered.chunks_exact(columns)) {
        for (o, product) in of_outputs.iter().enumerate() {
            products[(i * columns + o) * features + j] = *product;
        }
    }
    let products = graph.doubles("products", &[features, columns * features], &products);
    let sums = graph.node("MatMul", &[rows, &linear]);
    let total = graph.node("Add", &[&offset, &sums]);
    let products = graph.node("MatMul", &[rows, &products]);
    // A size of 0 is that of the input: the number of rows.
    let shape = graph.integers("shape_of_products", &[0, columns as i64, features as i64]);
    let products = graph.node("Reshape", &[&products, &shape]);
    let axis = graph.axis();
    let rows = graph.node("Unsqueeze", &[rows, &axis]);
    let products = graph.node("Mul", &[&products, &rows]);
    let last = graph.integers("last_axis", &[2]);
    let sums = graph.node_with("ReduceSum", &[&products, &last], &[("keepdims", 0)]);
    let total = graph.node("Add", &[&total, &sums]);
    graph.name_output("scores", &total, DOUBLE, &[Dim::Rows, Dim::Count(columns)]);
}

/// The inputs of the kernels: inner products and distances of every row and every centre.
struct Pairs {
    dots: String,
    /// Squared distances, if a kernel needs them.
    distances: String,
    /// Manhattan distances, if a kernel needs them.
    manhattan: String,
}

/// The centres, and the name of their transposed matrix in the graph.
struct Centres {
    numbers: Vec<f32>,
    features: usize,
    transposed: String,
}

impl Centres {
    fn new(graph: &mut Graph, model: &Model<'_>, terms: usize) -> Self {
        let (mut numbers, features) = (model.centres.clone(), model.features);
        numbers.resize(terms * features, 0.0);
        let name = graph.floats("centres", &[terms, features], &numbers);
        let c = graph.cast(&name, DOUBLE);
        Centres { numbers, features, transposed: graph.node("Transpose", &[&c]) }
    }

    /// The inputs of kernels that read columns with these weights: squared distances and Manhattan distances, if a kernel `reads` them.
    /// `number` tells such inputs apart.
    fn pairs(&self, graph: &mut Graph, rows: &str, weights: Option<&[f64]>, (reads, number): ([bool; 2], usize)) -> Pairs {
        let weighted = match weights {
            None => rows.to_string(),
            Some(weights) => {
                let weights = graph.doubles(&format!("column_weights_{number}"), &[1, self.features], weights);
                graph.node("Mul", &[rows, &weights])
            }
        };
        let dots = graph.node("MatMul", &[&weighted, &self.transposed]);
        let [euclidean, manhattan] = reads;
        let distances = if euclidean { self.distances(graph, [rows, &weighted, &dots], weights, number) } else { String::new() };
        let manhattan = if manhattan { self.manhattan(graph, [rows, &dots], weights, number) } else { String::new() };
        Pairs { dots, distances, manhattan }
    }

    /// Adds |x_j - c_j| column by column. Differences are multiplied by the square roots of the weights.
    fn manhattan(&self, graph: &mut Graph, [rows, dots]: [&str; 2], weights: Option<&[f64]>, number: usize) -> String {
        let rows = graph.node("Transpose", &[rows]);
        let scaled = |graph: &mut Graph, value: &str| match weights {
            None => value.to_string(),
            Some(weights) => {
                let roots: Vec<f64> = weights.iter().map(|v| f64::from((*v as f32).sqrt())).collect();
                let name = graph.fresh(&format!("roots_of_weights_{number}"));
                let roots = graph.doubles(&name, &[self.features, 1], &roots);
                graph.node("Mul", &[value, &roots])
            }
        };
        let (rows, centres) = (scaled(graph, &rows), scaled(graph, &self.transposed));
        let nothing = graph.times(0.0, dots);
        let axis = graph.axis();
        let mut body = Graph { values: graph.values, ..Graph::default() };
        for (name, shape) in [("total", 2), ("column_of_rows", 1), ("column_of_centres", 1)] {
            body.inputs.push(value_info(&format!("{name}_{number}"), DOUBLE, &(0..shape).map(|_| Dim::Any).collect::<Vec<_>>()));
        }
        let x = body.node("Unsqueeze", &[&format!("column_of_rows_{number}"), &axis]);
        let apart = body.node("Sub", &[&x, &format!("column_of_centres_{number}")]);
        let apart = body.node("Abs", &[&apart]);
        let sum = body.node("Add", &[&format!("total_{number}"), &apart]);
        body.name_output(&format!("new_total_{number}"), &sum, DOUBLE, &[Dim::Any, Dim::Any]);
        graph.values = body.values;
        graph.scan(&body, &[&nothing, &rows, &centres], 2)
    }

    fn distances(&self, graph: &mut Graph, [rows, weighted, dots]: [&str; 3], weights: Option<&[f64]>, number: usize) -> String {
        let weight = |j: usize| weights.map_or(1.0, |weights| weights[j]);
        let square = |c: &[f32]| c.iter().enumerate().map(|(j, c)| weight(j) * f64::from(*c) * f64::from(*c)).sum::<f64>();
        let squares: Vec<f64> = self.numbers.chunks_exact(self.features).map(square).collect();
        let name = if number == 0 { "centre_squares".to_string() } else { format!("centre_squares_{number}") };
        let cc = graph.doubles(&name, &[1, squares.len()], &squares);
        let axis = graph.axis();
        let xx = graph.node("Mul", &[weighted, rows]);
        let xx = graph.node("ReduceSum", &[&xx, &axis]);
        let both = graph.node("Add", &[&xx, &cc]);
        let twice = graph.times(2.0, dots);
        let distances = graph.node("Sub", &[&both, &twice]);
        let zero = graph.scalar(0.0);
        graph.node("Max", &[&distances, &zero])
    }
}

fn reads_distance(kernel: &AnyKernel) -> bool {
    match kernel {
        AnyKernel::Linear | AnyKernel::Polynomial { .. } | AnyKernel::Manhattan { .. } => false,
        AnyKernel::Scaled { of, .. } => reads_distance(of),
        AnyKernel::Sum(of) | AnyKernel::Product(of) => of.iter().any(reads_distance),
        _ => true,
    }
}

/// The kernel's values; formulas in `okl::kernel`.
fn kernel(graph: &mut Graph, of: &AnyKernel, pairs: &Pairs) -> String {
    let r2 = &pairs.distances;
    match *of {
        AnyKernel::Linear => pairs.dots.clone(),
        AnyKernel::Polynomial { degree, gamma, coef0 } => {
            let base = graph.times(gamma, &pairs.dots);
            let base = graph.plus(coef0, &base);
            graph.power(&base, f64::from(degree))
        }
        AnyKernel::Gaussian { gamma } => {
            let exponent = graph.times(-gamma, r2);
            graph.node("Exp", &[&exponent])
        }
        AnyKernel::Exponential { gamma } => {
            let s = scaled_distance(graph, r2, gamma);
            decay(graph, &s)
        }
        AnyKernel::Manhattan { gamma } => {
            let exponent = graph.times(-gamma, &pairs.manhattan);
            graph.node("Exp", &[&exponent])
        }
        AnyKernel::Matern32 { gamma } => matern(graph, r2, gamma * 3f64.sqrt(), false),
        AnyKernel::Matern52 { gamma } => matern(graph, r2, gamma * 5f64.sqrt(), true),
        AnyKernel::RationalQuadratic { gamma, alpha } => {
            let base = graph.times(gamma / alpha, r2);
            let base = graph.plus(1.0, &base);
            graph.power(&base, -alpha)
        }
        AnyKernel::Scaled { weight, ref of } => {
            let values = kernel(graph, of, pairs);
            graph.times(weight, &values)
        }
        AnyKernel::Sum(ref of) => fold(graph, "Add", of, pairs),
        AnyKernel::Product(ref of) => fold(graph, "Mul", of, pairs),
    }
}

fn scaled_distance(graph: &mut Graph, r2: &str, scale: f64) -> String {
    let r = graph.node("Sqrt", &[r2]);
    graph.times(scale, &r)
}

/// exp(-s)
fn decay(graph: &mut Graph, s: &str) -> String {
    let exponent = graph.node("Neg", &[s]);
    graph.node("Exp", &[&exponent])
}

/// (1 + s) exp(-s), or (1 + s + s²/3) exp(-s).
fn matern(graph: &mut Graph, r2: &str, scale: f64, smoother: bool) -> String {
    let s = scaled_distance(graph, r2, scale);
    let mut polynomial = graph.plus(1.0, &s);
    if smoother {
        let square = graph.node("Mul", &[&s, &s]);
        let third = graph.times(1.0 / 3.0, &square);
        polynomial = graph.node("Add", &[&polynomial, &third]);
    }
    let decay = decay(graph, &s);
    graph.node("Mul", &[&polynomial, &decay])
}

/// A checked configuration has no empty sums and products.
fn fold(graph: &mut Graph, operator: &str, of: &[AnyKernel], pairs: &Pairs) -> String {
    let values: Vec<String> = of.iter().map(|k| kernel(graph, k, pairs)).collect();
    let mut values = values.into_iter();
    let first = values.next().unwrap_or_else(|| graph.scalar(if operator == "Add" { 0.0 } else { 1.0 }));
    values.fold(first, |total, value| graph.node(operator, &[&total, &value]))
}

/// Adds the output `label` or `novel`; none for regression.
fn decide(graph: &mut Graph, model: &Model<'_>) {
    match (model.reads(), model.threshold) {
        (Reads::Class, _) => {
            let index = graph.node_with("ArgMax", &["scores"], &[("axis", 1), ("keepdims", 0)]);
            label(graph, &index, &model.labels());
        }
        (Reads::Sign, _) => {
            let positive = compare(graph, "Greater", 0.0);
            let index = graph.cast(&positive, INT64);
            label(graph, &index, &model.labels());
        }
        (_, Some(threshold)) => {
            let novel = compare(graph, "Less", threshold);
            graph.name_output("novel", &novel, BOOL, &[Dim::Rows]);
        }
        _ => {}
    }
}

/// Maps indices to labels: numbers if all labels are whole numbers, otherwise text.
fn label(graph: &mut Graph, index: &str, labels: &[Label]) {
    let number = |label: &Label| if let Label::Int(i) = label { Some(*i) } else { None };
    let (table, of) = match labels.iter().map(number).collect::<Option<Vec<i64>>>() {
        Some(numbers) => (graph.integers("labels", &numbers), INT64),
        None => (graph.texts("labels", labels.iter().map(Label::to_string)), STRING),
    };
    let chosen = graph.node("Gather", &[&table, index]);
    graph.name_output("label", &chosen, of, &[Dim::Rows]);
}

/// Compares the single score of each row with a number.
fn compare(graph: &mut Graph, operator: &str, with: f64) -> String {
    let with = graph.scalar(with);
    let answers = graph.node(operator, &["scores", &with]);
    let axis = graph.axis();
    graph.node("Squeeze", &[&answers, &axis])
}

/// The size of an axis.
enum Dim {
    Rows,
    Count(usize),
    /// Known when the graph runs.
    Any,
}

/// A graph under construction: every call adds a node or a constant and returns the name of its value.
#[derive(Default)]
struct Graph {
    nodes: Vec<Message>,
    constants: Vec<Message>,
    inputs: Vec<Message>,
    outputs: Vec<Message>,
    values: usize,
}

impl Graph {
    fn fresh(&mut self, what: &str) -> String {
        self.values += 1;
        format!("{}_{}", what.to_lowercase(), self.values)
    }

    fn node(&mut self, operator: &str, inputs: &[&str]) -> String {
        self.node_with(operator, inputs, &[])
    }

    fn node_with(&mut self, operator: &str, inputs: &[&str], attributes: &[(&str, u64)]) -> String {
        let output = self.fresh(operator);
        self.push(operator, inputs, attributes, &output);
        output
    }

    /// NodeProto.
    fn push(&mut self, operator: &str, inputs: &[&str], attributes: &[(&str, u64)], output: &str) {
        const INT: u64 = 2;
        let attribute = |(name, value): &(&str, u64)| Message::default().text(1, name).number(3, *value).number(20, INT);
        let attributes: Vec<Message> = attributes.iter().map(attribute).collect();
        let node = inputs.iter().fold(Message::default(), |node, input| node.text(1, input));
        self.nodes.push(node.text(2, output).text(3, output).text(4, operator).messages(5, &attributes));
    }

    /// The last state of a loop over the rows of the last `scanned` inputs; the input before them is the first state.
    fn scan(&mut self, body: &Graph, inputs: &[&str], scanned: u64) -> String {
        const INT: u64 = 2;
        const GRAPH: u64 = 5;
        let output = self.fresh("scan");
        let count = Message::default().text(1, "num_scan_inputs").number(3, scanned).number(20, INT);
        let body = Message::default().text(1, "body").message(6, &body.message()).number(20, GRAPH);
        let node = inputs.iter().fold(Message::default(), |node, input| node.text(1, input));
        self.nodes.push(node.text(2, &output).text(3, &output).text(4, "Scan").messages(5, &[count, body]));
        output
    }

    fn cast(&mut self, value: &str, to: u64) -> String {
        self.node_with("Cast", &[value], &[("to", to)])
    }

    /// These columns of a matrix.
    fn gather(&mut self, matrix: &str, columns: &[i64]) -> String {
        let name = self.fresh("columns");
        let columns = self.integers(&name, columns);
        self.node_with("Gather", &[matrix, &columns], &[("axis", 1)])
    }

    /// To single precision and back.
    fn rounded(&mut self, value: &str) -> String {
        let value = self.cast(value, FLOAT);
        self.cast(&value, DOUBLE)
    }

    fn times(&mut self, factor: f64, value: &str) -> String {
        let factor = self.scalar(factor);
        self.node("Mul", &[&factor, value])
    }

    fn plus(&mut self, constant: f64, value: &str) -> String {
        let constant = self.scalar(constant);
        self.node("Add", &[&constant, value])
    }

    fn power(&mut self, value: &str, exponent: f64) -> String {
        let exponent = self.scalar(exponent);
        self.node("Pow", &[value, &exponent])
    }

    fn scalar(&mut self, value: f64) -> String {
        let name = self.fresh("constant");
        self.doubles(&name, &[], &[value])
    }

    /// The index of the second axis, as a constant for operators that need it as an input.
    fn axis(&mut self) -> String {
        let name = self.fresh("axis");
        self.integers(&name, &[1])
    }

    fn integers(&mut self, name: &str, values: &[i64]) -> String {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.tensor(name, INT64, &[values.len()], &bytes)
    }

    /// TensorProto of texts, which have a field of their own.
    fn texts(&mut self, name: &str, values: impl ExactSizeIterator<Item = String>) -> String {
        let tensor = Message::default().number(1, values.len() as u64).number(2, STRING);
        self.constants.push(values.fold(tensor, |tensor, text| tensor.text(6, &text)).text(8, name));
        name.into()
    }

    fn doubles(&mut self, name: &str, shape: &[usize], values: &[f64]) -> String {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.tensor(name, DOUBLE, shape, &bytes)
    }

    fn floats(&mut self, name: &str, shape: &[usize], values: &[f32]) -> String {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.tensor(name, FLOAT, shape, &bytes)
    }

    /// TensorProto.
    fn tensor(&mut self, name: &str, of: u64, shape: &[usize], bytes: &[u8]) -> String {
        let tensor = shape.iter().fold(Message::default(), |tensor, size| tensor.number(1, *size as u64));
        self.constants.push(tensor.number(2, of).text(8, name).bytes(9, bytes));
        name.into()
    }

    fn declare_input(&mut self, name: &str, of: u64, shape: &[Dim], about: &str) {
        const DOC_STRING: u64 = 3;
        self.inputs.push(value_info(name, of, shape).text(DOC_STRING, about));
    }

    /// Makes a value an output of the graph under this name.
    fn name_output(&mut self, name: &str, value: &str, of: u64, shape: &[Dim]) {
        self.push("Identity", &[value], &[], name);
        self.outputs.push(value_info(name, of, shape));
    }

    /// GraphProto.
    fn message(&self) -> Message {
        Message::default()
            .messages(1, &self.nodes)
            .text(2, "okl")
            .messages(5, &self.constants)
            .messages(11, &self.inputs)
            .messages(12, &self.outputs)
    }
}

/// ValueInfoProto of a tensor.
fn value_info(name: &str, of: u64, shape: &[Dim]) -> Message {
    let dim = |dim: &Dim| match dim {
        Dim::Rows => Message::default().text(2, "rows"),
        Dim::Count(n) => Message::default().number(1, *n as u64),
        Dim::Any => Message::default(),
    };
    let dims: Vec<Message> = shape.iter().map(dim).collect();
    let tensor = Message::default().number(1, of).message(2, &Message::default().messages(1, &dims));
    let kind = Message::default().message(1, &tensor);
    Message::default().text(1, name).message(2, &kind)
}
