//! Models for other programs. The exported function is the one that `okl predict` evaluates: the average if one is
//! configured, the weighted sum of all heads for a bank. With a frame (shift, factor), terms c_i and parts m (one part, unless
//! operator kernels are summed or a bank has several kernels or widths),
//!
//! ```text
//! u = (x - shift) * factor, cut off at +-limit; with `scale = log`, x is first replaced by sign(x) ln(1 + |x| / unit)
//!                                                                 u = x without a frame; in double precision, then rounded to single
//! scores(x) = b + sum_m J_m sum_i k_m(u, c_i) a_mi       J = I without an operator
//! ```
//!
//! A kernel that reads weighted columns computes |u - c|² as sum_j v_j (u_j - c_j)².
//!
//! A bank with weight vectors beside its terms (`heads = mixed`) also has linear weights w, which add sum_j w_j u'_j to the scores, where u' is
//! cut off at a limit of their own, and not whitened.
//!
//! A weight vector (`form = weights`) is written as one term per output: c_o = w_o / s_o with the coefficient s_o in output o, where s_o
//! is the largest |weight|, and J and the factors of a `target_scale` are in w. For a linear kernel this is the same function. With the polynomial
//! kernel of degree 2 a weight vector is a polynomial of u, with J and these factors in its coefficients.
//!
//! Features that the model does not read (of LIBSVM text with `--ignore` or `--features`) are taken as x_j = 0.
//!
//! Scores are in the unit of the targets: with a `target_scale`, b is what the learner's offset is in that unit, and the
//! rows of J, or a where there is no operator, are divided by the factors.
//!
//! Other programs compute it in double precision, where the learner's inner products are single: scores differ by at most
//! 1e-5 max(1, |score|) on features of moderate size. The learner's r² carries an error of about 1e-7 |u|²: where gamma |u|²
//! is in the hundreds (raw features, a large gamma), or where large terms cancel, it is the learner that is further off.

mod json;
mod libsvm;
mod onnx;
mod protobuf;

use std::str::FromStr;

use anyhow::{Result, bail};
use okl::basis::quadratic::Polynomial;
use okl::batch::LARGEST;
use okl::config::OperatorRule;
use okl::kernel::AnyKernel;
use okl::loss::{Loss, Reads};
use okl::{Label, Learner};
use serde_json::{Value, json};

use crate::input::{Inputs, MOST_EXPANDED};

/// A format to export to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// LIBSVM's model text: one output; linear, polynomial and gaussian kernels.
    Libsvm,
    /// An ONNX graph of plain operators in double precision: every model.
    Onnx,
    /// JSON that describes itself; possible for every model.
    Json,
}

impl FromStr for To {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> Result<Self> {
        Ok(match name {
            "libsvm" => To::Libsvm,
            "onnx" => To::Onnx,
            "json" => To::Json,
            _ => bail!("unknown format {name:?}; choose one of libsvm, onnx, json"),
        })
    }
}

/// The bytes of a file that holds the model.
///
/// # Errors
/// If the format cannot express the model; the message names a format that can.
pub fn export(learner: &Learner, to: To) -> Result<Vec<u8>> {
    export_with(learner, to, &Choices::of(learner))
}

/// What a caller can choose about an export.
#[derive(Clone, Copy, Debug)]
pub struct Choices<'a> {
    /// The threshold for novelty scores, if there is one.
    pub threshold: Option<f64>,
    /// Of an ONNX graph with one score per class: the order of the scores. All classes of the learner, and perhaps others, whose
    /// score is 0. None: the order of the learner's classes.
    pub classes: Option<&'a [Label]>,
    /// The names of the features in order. A feature without a name gets its number from 1.
    pub features: &'a [String],
    /// The names of the targets in order; empty if they are not known.
    pub targets: &'a [String],
    /// The features that the model does not read, ascending: it has learned them as 0. They are taken as 0 whatever a row has there.
    pub unread: &'a [usize],
    /// The columns, if values may be missing in them. An ONNX graph takes these columns, fills them and makes the indicators.
    pub inputs: Option<&'a Inputs>,
}

impl Choices<'_> {
    /// The learner's own threshold and order of classes, without names.
    pub fn of(learner: &Learner) -> Self {
        Choices { threshold: learner.threshold(), classes: None, features: &[], targets: &[], unread: &[], inputs: None }
    }
}

/// As [`export`], with these choices.
///
/// # Errors
/// As [`export`], and if a class of the learner is missing among those chosen.
pub fn export_with(learner: &Learner, to: To, choices: &Choices<'_>) -> Result<Vec<u8>> {
    if learner.features() == 0 || learner.outputs() == 0 {
        bail!("the model has not learned any row yet, so there is nothing to export");
    }
    if learner.config().is_precomputed() {
        bail!(
            "the kernel is precomputed: the model has no centres, only coefficients of objects outside of the file, so it cannot be exported"
        );
    }
    if learner.engine().basis().is_quadratic() && to == To::Libsvm {
        bail!(
            "a polynomial kernel as weights has a weight for every product of two columns, which LIBSVM cannot express: use --to onnx or \
             --to json, or learn with --form terms"
        );
    }
    if to == To::Json && writes_sparsely(learner) {
        let Choices { threshold, targets, unread, .. } = *choices;
        let mut model = Model { threshold, targets, unread, ..Model::of_sparse(learner) };
        model.names = choices.features.to_vec();
        return Ok(json::write(&model));
    }
    dense_fits(learner, to)?;
    let inputs = choices.inputs.filter(|inputs| inputs.features.len() == learner.features());
    let Choices { threshold, targets, unread, .. } = *choices;
    let mut model = Model { threshold, targets, unread, inputs, ..Model::of(learner) };
    model.names.iter_mut().zip(choices.features).for_each(|(name, given)| name.clone_from(given));
    if let Some(classes) = choices.classes {
        model.order(classes)?;
    }
    match to {
        To::Libsvm => libsvm::write(&model),
        To::Onnx => onnx::write(&model),
        To::Json => Ok(json::write(&model)),
    }
}

/// Whether the terms are sparse rows of many columns, which JSON writes as columns and values.
fn writes_sparsely(learner: &Learner) -> bool {
    let terms = !learner.config().uses_weights() && learner.engine().basis().fourier().is_none();
    terms && learner.features() > MOST_EXPANDED && learner.engine().terms().space().is_sparse()
}

/// The most bytes of centres in a format that writes all columns of all terms.
const MOST_BYTES: usize = 2 << 30;

/// Refuses to write out the zeros of very many columns, before memory is taken for them.
fn dense_fits(learner: &Learner, to: To) -> Result<()> {
    let (terms, features) = (learner.terms(), learner.features());
    if learner.config().uses_weights() || terms.saturating_mul(features).saturating_mul(4) <= MOST_BYTES {
        return Ok(());
    }
    let sparse = if writes_sparsely(learner) { "; --to json writes only the values that are not 0" } else { "" };
    let name = match to {
        To::Libsvm => "LIBSVM text",
        To::Onnx => "an ONNX graph",
        To::Json => "JSON",
    };
    bail!(
        "{name} has all {features} columns of all {terms} terms, {:.1} GB: learn with fewer columns (as with fewer --hash-bits) or a smaller \
         budget{sparse}",
        (4.0 * terms as f64 * features as f64) / 1e9
    )
}

/// The predicting function in the symbols at the head of this file; all formats are written from it.
pub(crate) struct Model<'a> {
    pub(crate) learner: &'a Learner,
    features: usize,
    /// The features' names.
    names: Vec<String>,
    /// The targets' names; empty if they are not known.
    targets: &'a [String],
    /// See [`Choices::unread`].
    unread: &'a [usize],
    /// The columns from which the features are made, if values may be missing.
    inputs: Option<&'a Inputs>,
    pub(crate) outputs: usize,
    pub(crate) shift: &'a [f64],
    pub(crate) factor: &'a [f64],
    /// The largest size of a feature in the frame.
    pub(crate) limit: f64,
    pub(crate) parts: Vec<Part<'a>>,
    /// c_i, in the frame, `features` each.
    pub(crate) centres: Vec<f32>,
    /// Random features in place of parts and centres, one entry per kernel width.
    waves: Vec<Waves>,
    /// The weights of weight vectors beside the parts, if there are some.
    pub(crate) linear: Option<Linear>,
    /// A polynomial of degree 2 of the features in their frame, in place of parts and centres.
    polynomial: Option<Polynomial>,
    pub(crate) offset: Vec<f64>,
    /// Novelty: a row is novel iff its score is below.
    threshold: Option<f64>,
    /// The classes in the order of the exported scores.
    classes: Vec<Label>,
    /// Which output each exported score is; none: a score of 0.
    columns: Vec<Option<usize>>,
}

/// Weights of the scaled features, clipped at a limit of their own.
pub(crate) struct Linear {
    /// One number per output for each feature. Where the learner whitens rows, these are the weights before whitening.
    pub(crate) weights: Vec<f64>,
    pub(crate) limit: f64,
}

/// Random Fourier features of one kernel width: the cosines and then the sines of the inner products with the frequencies.
struct Waves {
    /// In the frame, as many numbers each as there are features.
    frequencies: Vec<f64>,
    /// One number per output for each cosine, then for each sine.
    weights: Vec<f64>,
}

/// k_m J_m.
pub(crate) struct Part<'a> {
    pub(crate) kernel: &'a AnyKernel,
    /// J_m row by row; none for the identity.
    operator: Option<Vec<f64>>,
    /// a_mi, `outputs` each.
    coefficients: Vec<f64>,
    /// The weights of the features in squared distances, one each; none if all are 1.
    pub(crate) columns: Option<Vec<f64>>,
}

impl<'a> Model<'a> {
    pub(crate) fn of(learner: &'a Learner) -> Self {
        let waves = waves(learner);
        let weights = learner.weights();
        let of_products = learner.engine().basis().quadratic().zip(weights.as_ref());
        let polynomial = of_products.map(|(quadratic, weights)| quadratic.polynomial(weights, learner.outputs()));
        let (centres, parts) = match weights {
            _ if !waves.is_empty() || polynomial.is_some() => (Vec::new(), Vec::new()),
            Some(weights) => of_weights(learner, &weights),
            None => (framed_centres(learner), parts(learner)),
        };
        let names = (1..=learner.features()).map(|number| number.to_string()).collect();
        Model { centres, parts, waves, polynomial, names, ..Model::without_terms(learner) }
    }

    /// Without centres: they are written from the learner.
    fn of_sparse(learner: &'a Learner) -> Self {
        Model { parts: parts(learner), ..Model::without_terms(learner) }
    }

    fn without_terms(learner: &'a Learner) -> Self {
        let (shift, factor) = learner.frame();
        Model {
            learner,
            shift,
            factor,
            limit: learner.limit().unwrap_or(LARGEST),
            features: learner.features(),
            names: Vec::new(),
            targets: &[],
            unread: &[],
            inputs: None,
            outputs: learner.outputs(),
            parts: Vec::new(),
            centres: Vec::new(),
            waves: Vec::new(),
            linear: learner.linear_weights().map(|weights| Linear {
                weights: weights_of_columns(learner, weights),
                limit: learner.linear_limit().unwrap_or(LARGEST),
            }),
            polynomial: None,
            offset: learner.predicting_offset(),
            threshold: learner.threshold(),
            classes: learner.classes().to_vec(),
            columns: (0..learner.outputs()).map(Some).collect(),
        }
    }

    /// Exports one score per class in this order.
    fn order(&mut self, classes: &[Label]) -> Result<()> {
        if let Some(missing) = self.classes.iter().find(|class| !classes.contains(class)) {
            bail!("class {missing} is missing in the order of the scores");
        }
        let place = |class: &Label| self.classes.iter().position(|known| known == class).filter(|place| *place < self.outputs);
        self.columns = classes.iter().map(place).collect();
        self.classes = classes.to_vec();
        Ok(())
    }

    /// Numbers per output, in the order of the exported scores.
    fn ordered(&self, of_outputs: &[f64]) -> Vec<f64> {
        let row = |row: &[f64]| self.columns.iter().map(|column| column.map_or(0.0, |column| row[column])).collect::<Vec<f64>>();
        of_outputs.chunks_exact(self.outputs).flat_map(row).collect()
    }

    fn reads(&self) -> Reads {
        self.learner.config().loss.reads()
    }

    /// For a loss whose score's sign is the class: the label of scores up to 0 and the label of positive scores. If only one
    /// class is known, it is both.
    fn signs(&self) -> Option<[&'a Label; 2]> {
        let (classes, positive) = (self.learner.classes(), self.learner.positive()?);
        let other = if classes.len() > 1 { 1 - positive } else { positive };
        Some([classes.get(other)?, classes.get(positive)?])
    }

    /// The labels that can be predicted: one per output; if the sign decides, those of scores up to 0 and of positive scores.
    fn labels(&self) -> Vec<Label> {
        match self.reads() {
            Reads::Class => self.classes.clone(),
            Reads::Sign => self.signs().map_or(vec![Label::Int(-1), Label::Int(1)], |signs| signs.map(Label::clone).to_vec()),
            _ => Vec::new(),
        }
    }

    /// The name of the target, or a list of names if there are several; null if it is not known.
    fn target(&self) -> Value {
        match self.targets {
            [] => Value::Null,
            [one] => json!(one),
            several => json!(several),
        }
    }

    /// Whether rows are shifted or scaled before the kernel.
    fn framed(&self) -> bool {
        !self.shift.is_empty()
    }

    fn centres(&self) -> impl Iterator<Item = &[f32]> {
        self.centres.chunks_exact(self.features)
    }
}

impl Part<'_> {
    /// J a_i, term by term.
    pub(crate) fn weights(&self, model: &Model<'_>) -> Vec<f64> {
        let Some(operator) = &self.operator else { return self.coefficients.clone() };
        let product = |row: &[f64], a: &[f64]| row.iter().zip(a).map(|(j, a)| j * a).sum::<f64>();
        let terms = self.coefficients.chunks_exact(model.outputs);
        terms.flat_map(|a| operator.chunks_exact(model.outputs).map(move |row| product(row, a))).collect()
    }
}

/// The kernels are taken from the learner, not from the configuration: during the warm-up the configuration has no widths yet.
fn parts(learner: &Learner) -> Vec<Part<'_>> {
    let kernels = learner.engine().terms().space().kernels();
    let (outputs, target_scale) = (learner.outputs(), &learner.config().target_scale);
    let scaled = |j: &[f64]| j.iter().enumerate().map(|(i, j)| j / target_scale.factor(i / outputs)).collect::<Vec<f64>>();
    let operators: Vec<Option<Vec<f64>>> = match &learner.config().operator {
        None => vec![None],
        Some(OperatorRule::Matrix(j)) => vec![Some(scaled(j))],
        Some(OperatorRule::Sum(sum)) => sum.iter().map(|part| Some(scaled(&part.operator))).collect(),
    };
    let all = learner.predicting_coefficients();
    let size = all.len() / learner.widths();
    let part = |(plane, kernel): (usize, _)| {
        let (width, operator) = (plane / operators.len(), operators[plane % operators.len()].clone());
        let columns = learner
            .column_weights(width)
            .map(|known| (0..learner.features()).map(|j| known.get(j).copied().unwrap_or(1.0)).collect());
        Part { kernel, operator, coefficients: all[width * size..(width + 1) * size].to_vec(), columns }
    };
    kernels.iter().enumerate().map(part).collect()
}

/// The random features of a learner and their weights; none if there are no such features.
fn waves(learner: &Learner) -> Vec<Waves> {
    let Some(fourier) = learner.engine().basis().fourier() else { return Vec::new() };
    let scale = (fourier.size() as f64 / 2.0).sqrt();
    let of_width = |width: usize| Waves {
        frequencies: fourier.frequencies(width),
        weights: learner.weights_of(width).unwrap_or_default().iter().map(|w| w / scale).collect(),
    };
    (0..learner.widths()).map(of_width).collect()
}

/// A weight vector as one term per output.
fn of_weights<'a>(learner: &'a Learner, weights: &[f64]) -> (Vec<f32>, Vec<Part<'a>>) {
    let (outputs, mut centres, mut coefficients) = (learner.outputs(), Vec::new(), Vec::new());
    for o in 0..outputs {
        let of_output = || weights.iter().skip(o).step_by(outputs);
        let largest = of_output().fold(0.0, |largest: f64, w| largest.max(w.abs()));
        centres.extend(of_output().map(|w| if largest > 0.0 { (w / largest) as f32 } else { 0.0 }));
        coefficients.extend((0..outputs).map(|other| if other == o { largest } else { 0.0 }));
    }
    let kernel = &learner.engine().terms().space().kernels()[0];
    (centres, vec![Part { kernel, operator: None, coefficients, columns: None }])
}

/// The weights of the scaled columns of weights w of whitened rows T z: T' w. The same weights, unless the learner whitens rows.
pub(crate) fn weights_of_columns(learner: &Learner, weights: Vec<f64>) -> Vec<f64> {
    let (triangle, outputs) = (rows_of_triangle(learner.whitening()), learner.outputs());
    let of_column = |(at, own): (usize, &f64)| match at / outputs {
        j if j >= triangle.len() => *own,
        j => (j..triangle.len()).map(|i| triangle[i][j] * weights[i * outputs + at % outputs]).sum(),
    };
    weights.iter().enumerate().map(of_column).collect()
}

/// The rows of a lower triangle that is stored row by row.
fn rows_of_triangle(mut triangle: &[f64]) -> Vec<&[f64]> {
    let mut rows = Vec::new();
    while !triangle.is_empty() {
        let (row, rest) = triangle.split_at(rows.len() + 1);
        rows.push(row);
        triangle = rest;
    }
    rows
}

fn framed_centres(learner: &Learner) -> Vec<f32> {
    let terms = learner.engine().terms();
    let mut centres = vec![0.0; terms.len() * learner.features()];
    for (slot, row) in terms.live().zip(centres.chunks_exact_mut(learner.features())) {
        terms.space().centre(slot, row);
    }
    centres
}
