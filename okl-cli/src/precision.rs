//! How far single precision moves the scores of a model, measured at some of its terms.
//!
//! The learner computes a squared distance as |u|² + |c|² - 2 <u, c> in single precision; exports compute it from differences in double precision. For kernels of
//! distance with coefficients a_i,
//!
//! ```text
//! moved(u) = sum_i a_i (k(|u|² + |c_i|² - 2 <u, c_i> in single precision) - k(|u - c_i|²))
//! ```
//!
//! is the difference of the two scores. It is largest where rows lie far from the origin, measured in widths of the kernel.

use okl::Learner;
use okl::kernel::DotKernel;
use okl::loss::{Loss, Reads};

use crate::export::Model;
use crate::metrics::{figure, percent};

/// At most about this many products are computed for a kernel: of all terms with each other, or of a sample of them with all.
const PRODUCTS: usize = 20_000_000;
/// A value of a kernel costs as much as this many products.
const VALUE: usize = 16;
/// A difference above this share of the deviation of the scores is reported. Other rows than the terms that are tried may be further off: about 1 %.
const LARGE: f64 = 0.005;

/// One sentence if single precision moves scores by more than `LARGE` of their deviation.
pub fn finding(learner: &Learner) -> Option<String> {
    let config = learner.config();
    if config.uses_weights() || config.is_precomputed() || learner.terms() < 2 || learner.engine().terms().space().is_sparse() {
        return None;
    }
    let kernels = learner.engine().terms().space().kernels();
    if !kernels.iter().any(|kernel| kernel.translation_invariant() && !kernel.of_manhattan_distance()) {
        return None;
    }
    let (moved, deviation) = measure(learner);
    let [output, of] = match config.loss.reads() {
        _ if learner.outputs() == 1 => ["", ""],
        Reads::Vector => [" for a target", " of this target"],
        _ => [" for a class", " of this class"],
    };
    (deviation.is_finite() && moved > LARGE * deviation).then(|| {
        format!(
            "single precision, in which distances are computed, moves the score of at least one term{output} by {}, {} of the deviation of the scores{of}; other rows may \
             be moved by more. Exports compute in double precision, so their scores differ from these by such amounts. A wider kernel (a smaller \
             gamma) makes the differences smaller",
            figure(moved),
            percent(moved / deviation)
        )
    })
}

/// The largest difference between the scores in single and in double precision at a sample of the terms, and the deviation of the scores there.
/// Of several outputs, those with the largest ratio of the two.
fn measure(learner: &Learner) -> (f64, f64) {
    let model = Model::of(learner);
    let (features, outputs) = (learner.features().max(1), model.outputs);
    let terms = model.centres.len() / features;
    let tried = (PRODUCTS / (terms * (features + VALUE))).max(2);
    let rows: Vec<&[f32]> = model.centres.chunks_exact(features).step_by(terms.div_ceil(tried)).collect();
    let mut moved = vec![0.0; rows.len() * outputs];
    let mut scores = moved.clone();
    for part in &model.parts {
        let weights = part.weights(&model);
        let columns = part.columns.as_deref();
        let distance = part.kernel.translation_invariant() && !part.kernel.of_manhattan_distance();
        let squares: Vec<f32> = model.centres.chunks_exact(features).map(|c| dot(&weighted(c, columns), c)).collect();
        for (row, u) in rows.iter().enumerate().filter(|_| distance) {
            let with = weighted(u, columns);
            let uu = dot(&with, u);
            let values = model.centres.chunks_exact(features).zip(&squares).map(|(c, cc)| {
                let exact = -0.5 * distance2(u, c, columns);
                [part.kernel.eval(dot(&with, c), uu, *cc), part.kernel.eval(exact as f32, 0.0, 0.0)]
            });
            for (values, weights) in values.zip(weights.chunks_exact(outputs)) {
                let [single, double] = values.map(f64::from);
                for (output, weight) in weights.iter().enumerate() {
                    moved[row * outputs + output] += weight * (single - double);
                    scores[row * outputs + output] += weight * double;
                }
            }
        }
    }
    let of = |all: &[f64], output: usize| all.iter().skip(output).step_by(outputs).copied().collect::<Vec<f64>>();
    let one = |output: usize| {
        let (moved, scores) = (of(&moved, output), of(&scores, output));
        let mean = scores.iter().sum::<f64>() / scores.len() as f64;
        let variance = scores.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / scores.len() as f64;
        (moved.iter().fold(0.0, |most: f64, moved| most.max(moved.abs())), variance.sqrt())
    };
    let ratio = |(moved, deviation): &(f64, f64)| moved / deviation.max(f64::MIN_POSITIVE);
    (0..outputs).map(one).max_by(|a, b| ratio(a).total_cmp(&ratio(b))).unwrap_or((0.0, f64::INFINITY))
}

/// |a - b|², with the weights of the columns.
fn distance2(a: &[f32], b: &[f32], columns: Option<&[f64]>) -> f64 {
    let weight = |j: usize| columns.map_or(1.0, |weights| weights[j]);
    a.iter().zip(b).enumerate().map(|(j, (a, b))| weight(j) * (f64::from(*a) - f64::from(*b)).powi(2)).sum()
}

/// The inner product as `predict` computes it: one chain of fused multiply-adds in single precision.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).fold(0.0, |sum, (a, b)| a.mul_add(*b, sum))
}

/// A row multiplied by the weights of its columns, as `predict` does it.
pub(crate) fn weighted(x: &[f32], columns: Option<&[f64]>) -> Vec<f32> {
    match columns {
        None => x.to_vec(),
        Some(weights) => x.iter().zip(weights).map(|(x, v)| *v as f32 * x).collect(),
    }
}
