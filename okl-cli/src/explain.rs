//! Why a row has its score: what each stored term adds to it.
//!
//! In the symbols of [`export`](crate::export): score = b + sum_i c_i, where term i adds c_i = sum_m k_m(u, x_i) J_m a_mi. Kernel values have the
//! bits of `okl predict`. The sum over terms runs in another order, so b + sum_i c_i and the score differ by rounding in double precision only.
//!
//! A weight vector (`form = weights`) has no terms; there, column j adds u_j w_j. A bank with weight vectors beside its terms has both, and `others_add` is
//! what the terms and columns that are not listed add. Where rows are whitened, u = T z, column j adds z_j (T' w)_j; the sum differs from the score by
//! the rounding of u to single precision.

use okl::kernel::DotKernel;
use okl::{Batch, Learner};
use serde_json::{Value, json};

use crate::export::{Linear, Model, weights_of_columns};
use crate::precision::{dot, weighted};

/// The columns that are listed for a term: those in which the row and the term differ the most.
const COLUMNS: usize = 8;

/// Explains the scores of rows, each with the `top` terms that add the most to it.
///
/// # Errors
/// If the rows do not fit the learner, or it has random features or products of columns.
pub fn explain(learner: &Learner, x: &[f64], names: &[String], top: usize) -> okl::Result<Vec<Value>> {
    if learner.engine().basis().fourier().is_some() {
        let reason = "random features have neither terms nor weights of columns, so there is nothing to explain";
        return Err(okl::ErrorKind::Config { field: "form".into(), reason: reason.into() }.into());
    }
    if learner.engine().basis().is_quadratic() {
        let reason =
            "a polynomial kernel as weights has weights of products of columns, which no column alone explains: use form = terms";
        return Err(okl::ErrorKind::Config { field: "form".into(), reason: reason.into() }.into());
    }
    let features = learner.features();
    let scores = learner.predict(&Batch::of_f64(x, features))?;
    let weights = learner.weights().map(|weights| weights_of_columns(learner, weights));
    let explained = Explained { names, top, weights, model: Model::of(learner) };
    Ok(x.chunks_exact(features.max(1)).zip(scores.iter()).map(|(x, score)| explained.row(x, score)).collect())
}

struct Explained<'a> {
    names: &'a [String],
    top: usize,
    /// Weights of the scaled columns, one per output, for a learner without terms.
    weights: Option<Vec<f64>>,
    model: Model<'a>,
}

impl Explained<'_> {
    fn name(&self, column: usize) -> String {
        self.names.get(column).cloned().unwrap_or_else(|| (column + 1).to_string())
    }

    fn row(&self, x: &[f64], score: &[f64]) -> Value {
        let u = self.model.learner.framed_row(x);
        let mut row = json!({ "score": score, "offset": self.model.offset });
        let mut listed = Vec::new();
        if self.weights.is_none() {
            listed.push(self.terms(&mut row, x, &u));
        }
        if let Some(added) = self.added_by_columns(x, &u) {
            listed.push(self.columns(&mut row, x, added));
        }
        row["others_add"] = json!(rest(&listed, &self.model.offset, score));
        row
    }

    /// What each column adds, `outputs` numbers each: of a weight vector, or of weight vectors beside terms; none for terms alone.
    fn added_by_columns(&self, x: &[f64], u: &[f32]) -> Option<Vec<f64>> {
        let (learner, outputs) = (self.model.learner, self.model.outputs);
        let add = |weights: &[f64], u: &dyn Fn(usize) -> f64| {
            weights.iter().enumerate().map(|(at, w)| u(at / outputs) * w).collect::<Vec<f64>>()
        };
        match (&self.weights, &self.model.linear) {
            (Some(weights), _) if learner.whitening().is_empty() => Some(add(weights, &|j| f64::from(u[j]))),
            (Some(weights), _) => Some(add(weights, &|j| f64::from(learner.framed(j, x[j])))),
            (None, Some(Linear { weights, limit })) => {
                let further = |j: usize| f64::from((learner.unlimited(j, x[j]) as f32).clamp(-*limit as f32, *limit as f32));
                Some(add(weights, &further))
            }
            (None, None) => None,
        }
    }

    /// Lists the columns that add the most to the score.
    fn columns(&self, row: &mut Value, x: &[f64], added: Vec<f64>) -> Listed {
        let outputs = self.model.outputs;
        let best = largest(&added, outputs, self.top);
        let column =
            |j: &usize| json!({ "column": self.name(*j), "value": x[*j], "adds": added[j * outputs..(j + 1) * outputs] });
        row["columns"] = best.iter().map(column).collect();
        Listed { added, best }
    }

    /// Lists the terms that add the most to the score, and the nearest term.
    fn terms(&self, row: &mut Value, x: &[f64], u: &[f32]) -> Listed {
        let outputs = self.model.outputs;
        let added = self.added(u);
        let best = largest(&added, outputs, self.top);
        let centre = |term: usize| &self.model.centres[term * u.len()..(term + 1) * u.len()];
        let describe = |term: usize| {
            let (centre, distance) = (centre(term), distance2(u, centre(term)).sqrt());
            json!({ "term": term, "distance": distance, "columns": self.differences(x, u, centre), "adds": added[term * outputs..(term + 1) * outputs] })
        };
        let terms = self.model.centres.len() / u.len().max(1);
        let nearest = (0..terms).min_by(|a, b| distance2(u, centre(*a)).total_cmp(&distance2(u, centre(*b))));
        row["terms"] = best.iter().map(|term| describe(*term)).collect();
        row["nearest"] = nearest.map_or(Value::Null, describe);
        Listed { added, best }
    }

    /// c_i, `outputs` numbers per term.
    fn added(&self, u: &[f32]) -> Vec<f64> {
        let outputs = self.model.outputs;
        let mut added = vec![0.0; self.model.centres.len() / u.len().max(1) * outputs];
        for part in &self.model.parts {
            let columns = part.columns.as_deref();
            let (weighted, square) = (weighted(u, columns), |c: &[f32]| dot(&weighted(c, columns), c));
            let uu = square(u);
            let shared = |c: &[f32]| match part.kernel.of_manhattan_distance() {
                true => -0.5 * manhattan(u, c, columns),
                false => dot(&weighted, c),
            };
            let pairs: Vec<(f32, f32)> =
                self.model.centres.chunks_exact(u.len().max(1)).map(|c| (shared(c), square(c))).collect();
            let weights = part.weights(&self.model);
            for (at, (added, weight)) in added.iter_mut().zip(&weights).enumerate() {
                let (uc, cc) = pairs[at / outputs];
                *added += f64::from(part.kernel.eval(uc, uu, cc)) * weight;
            }
        }
        added
    }

    /// The columns in which a row and a term differ the most, in the unit of the scaled columns.
    fn differences(&self, x: &[f64], u: &[f32], centre: &[f32]) -> Value {
        let learner = self.model.learner;
        let (u, centre) = (learner.scaled_columns(u), learner.scaled_columns(centre));
        let away = |j: usize| f64::from(u[j]) - f64::from(centre[j]);
        let mut columns: Vec<usize> = (0..u.len()).filter(|j| away(*j) != 0.0).collect();
        columns.sort_by(|a, b| away(*b).abs().total_cmp(&away(*a).abs()));
        columns.truncate(COLUMNS);
        let one = |j: &usize| json!({ "column": self.name(*j), "value": x[*j], "stored": learner.unframed(*j, centre[*j]), "difference": away(*j) });
        columns.iter().map(one).collect()
    }
}

/// The Manhattan distance; differences are multiplied by the square roots of the weights of their columns.
fn manhattan(a: &[f32], b: &[f32], columns: Option<&[f64]>) -> f32 {
    let root = |j: usize| columns.map_or(1.0, |weights| (weights[j] as f32).sqrt());
    a.iter().zip(b).enumerate().fold(0.0, |sum, (j, (a, b))| (a - b).abs().mul_add(root(j), sum))
}

fn distance2(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum()
}

/// The `top` entries that add the most to any output, the largest first; of equal ones the earlier first.
fn largest(added: &[f64], outputs: usize, top: usize) -> Vec<usize> {
    let size = |of: &[f64]| of.iter().fold(0.0, |most: f64, c| most.max(c.abs()));
    let mut sizes: Vec<(usize, f64)> = added.chunks_exact(outputs.max(1)).map(size).enumerate().collect();
    sizes.sort_by(|a, b| b.1.total_cmp(&a.1));
    sizes.into_iter().take(top).map(|(at, _)| at).collect()
}

/// What the terms or the columns add to a score, `outputs` numbers each, and which of them are listed.
struct Listed {
    added: Vec<f64>,
    best: Vec<usize>,
}

/// What is missing to the score: the sum over all entries that are not listed.
fn rest(listed: &[Listed], offset: &[f64], score: &[f64]) -> Vec<f64> {
    let outputs = score.len();
    if listed.iter().all(|of| of.best.len() * outputs == of.added.len()) {
        return vec![0.0; outputs];
    }
    let shown = |o: usize| listed.iter().flat_map(|of| of.best.iter().map(move |at| of.added[at * outputs + o])).sum::<f64>();
    score.iter().enumerate().map(|(o, z)| z - offset[o] - shown(o)).collect()
}
