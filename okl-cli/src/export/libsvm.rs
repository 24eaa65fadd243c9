//! LIBSVM's model text: `decision(x) = sum_i coef_i k(x, sv_i) - rho`, in the units of the data, which LIBSVM's programs
//! read. The shift and scale of the rows are moved into the model where the kernel allows it:
//!
//! | kernel | support vector | besides | possible if |
//! |---|---|---|---|
//! | linear | factor c | rho += sum_i coef_i <shift factor, c_i> | always |
//! | polynomial | factor c | | shift = 0 |
//! | gaussian | c / factor + shift | gamma factor² | all factors are equal |
//!
//! LIBSVM predicts the first label if the decision value is above 0, so the label of positive scores comes first.

use std::fmt::Write;

use anyhow::{Result, bail};
use okl::Label;
use okl::batch::LARGEST;
use okl::kernel::AnyKernel;
use okl::loss::Reads;

use super::Model;

/// A model that LIBSVM can express.
struct Machine {
    kernel: AnyKernel,
    kind: Kind,
    rho: f64,
    /// Coefficient and support vector.
    terms: Vec<(f64, Vec<f64>)>,
}

enum Kind {
    /// The label where the decision is above 0, and the other one.
    Classes([i32; 2]),
    Numbers,
    Novelty,
}

pub(super) fn write(model: &Model<'_>) -> Result<Vec<u8>> {
    if !model.waves.is_empty() {
        bail!("LIBSVM has no random features: export to onnx or json, or learn with form = terms");
    }
    let machine = machine(model)?;
    let mut text = String::new();
    machine.write(&mut text).expect("text can always be appended");
    Ok(text.into_bytes())
}

fn machine(model: &Model<'_>) -> Result<Machine> {
    let obstacles = obstacles(model);
    if !obstacles.is_empty() {
        let only_labels = obstacles.len() == 1 && obstacles[0].starts_with(LABELS);
        let way_out = if only_labels { "export to onnx or json, or learn with whole numbers as labels" } else { WAY_OUT };
        bail!("LIBSVM cannot express this model: {}; {way_out}", obstacles.join("; "));
    }
    let (kernel, weight) = unscaled(model.parts[0].kernel);
    let coefficients: Vec<f64> = model.parts[0].weights(model).iter().map(|a| weight * a).collect();
    let Placed { kernel, vectors, constant } = place(model, kernel, &coefficients);
    let (kind, threshold) = kind(model)?;
    let rho = threshold - model.offset[0] - constant;
    let mut terms: Vec<_> = coefficients.into_iter().zip(vectors).collect();
    // LIBSVM lists the vectors of the first label, whose coefficients are positive, first.
    terms.sort_by_key(|(a, _)| *a <= 0.0);
    Ok(Machine { kernel, kind, rho, terms })
}

/// What to do about a model that LIBSVM cannot express.
const WAY_OUT: &str = "export to onnx or json, or learn a model that it can express: two classes (without --task classes), a number or novelty, with \
                       --gamma NUMBER --scale none";

/// The beginning of what is said about other labels.
const LABELS: &str = "LIBSVM's labels are 32-bit integers";

/// All properties of the model that LIBSVM's model text cannot express, for one message.
fn obstacles(model: &Model<'_>) -> Vec<String> {
    let mut found = Vec::new();
    if model.reads() == Reads::Class {
        found.push("it has one score per class, and LIBSVM separates several classes pair by pair".into());
    } else if model.outputs != 1 {
        found.push(format!("it has {} outputs, and LIBSVM's models have one", model.outputs));
    }
    if model.parts.len() > 1 {
        let families = model.learner.config().kernel.given().map_or(1, |kernels| kernels.all().len());
        let what = match model.learner.widths() {
            1 => "several kernels with operators",
            _ if families > 1 => "several kernels",
            _ => "kernels of several widths",
        };
        found.push(format!("it is a sum over {what}, and LIBSVM has one kernel"));
    }
    let (kernel, _) = unscaled(model.parts[0].kernel);
    let (shifted, own) = (model.shift.iter().any(|m| *m != 0.0), model.factor.iter().any(|f| *f != model.factor[0]));
    match kernel {
        AnyKernel::Linear => {}
        AnyKernel::Polynomial { .. } if shifted => {
            found.push("it shifts the features before the polynomial kernel, and LIBSVM does not".into());
        }
        AnyKernel::Polynomial { .. } => {}
        AnyKernel::Gaussian { .. } if !model.unread.is_empty() => found.push(format!(
            "it does not read feature {} of its data (--ignore or --features), and LIBSVM reads every feature: learn a file without such features",
            model.names[model.unread[0]]
        )),
        AnyKernel::Gaussian { .. } if own => {
            found.push("it has its own scale for every feature, and LIBSVM's rbf kernel has one gamma for all".into());
        }
        AnyKernel::Gaussian { .. } => {}
        other => found.push(format!("its kernel is {}, and LIBSVM has linear, polynomial and rbf", name(other))),
    }
    if model.parts.iter().any(|part| part.columns.is_some()) {
        found.push("its kernel has a weight for every feature, and LIBSVM's kernels do not".into());
    }
    if !model.learner.log_units().is_empty() {
        found.push("it takes logarithms of the features (scale = log), and LIBSVM does not".into());
    }
    if !model.learner.whitening().is_empty() {
        found.push("it removes the correlations of the features (scale = whiten), and LIBSVM does not".into());
    }
    if model.limit < LARGEST {
        found.push(format!("it clips features at {} units, and LIBSVM's kernels do not", model.limit));
    }
    found.extend(kind(model).err().map(|why| why.to_string()));
    found
}

/// The type of LIBSVM model, and the threshold that the score is compared with.
fn kind(model: &Model<'_>) -> Result<(Kind, f64)> {
    match model.reads() {
        Reads::Sign => Ok((Kind::Classes(labels(model)?), 0.0)),
        Reads::Number | Reads::Vector | Reads::Class => Ok((Kind::Numbers, 0.0)),
        Reads::Nothing => match model.threshold {
            Some(threshold) => Ok((Kind::Novelty, threshold)),
            None => {
                bail!("its threshold is not set yet, because the tracker needs more examples")
            }
        },
    }
}

/// The labels in LIBSVM's order: the one of positive scores first.
fn labels(model: &Model<'_>) -> Result<[i32; 2]> {
    match model.signs() {
        None => Ok([1, -1]),
        Some([negative, positive]) if negative == positive => {
            bail!("it has seen only one class ({positive}), and a LIBSVM classifier needs two")
        }
        Some([negative, positive]) => Ok([whole(positive)?, whole(negative)?]),
    }
}

fn whole(label: &Label) -> Result<i32> {
    let number = match label {
        Label::Int(i) => i32::try_from(*i).ok(),
        Label::Text(text) => text.parse().ok(),
    };
    match number {
        Some(number) => Ok(number),
        None => {
            bail!("{LABELS}, found {label}")
        }
    }
}

/// The kernel inside factors, and their product.
fn unscaled(kernel: &AnyKernel) -> (&AnyKernel, f64) {
    match kernel {
        AnyKernel::Scaled { weight, of } => {
            let (kernel, inner) = unscaled(of);
            (kernel, weight * inner)
        }
        AnyKernel::Sum(of) | AnyKernel::Product(of) if of.len() == 1 => unscaled(&of[0]),
        _ => (kernel, 1.0),
    }
}

/// Kernel and support vectors in the units of the data, and the constant to add to every score.
struct Placed {
    kernel: AnyKernel,
    vectors: Vec<Vec<f64>>,
    constant: f64,
}

/// Converts kernel and support vectors; the kernel must have passed [`obstacles`].
fn place(model: &Model<'_>, kernel: &AnyKernel, coefficients: &[f64]) -> Placed {
    match kernel {
        AnyKernel::Linear => Placed { constant: constant(model, coefficients), ..stretched(model, kernel) },
        AnyKernel::Gaussian { gamma } => moved(model, *gamma),
        _ => stretched(model, kernel),
    }
}

/// <(x - shift) factor, c> = <x, factor c> - <shift factor, c>.
fn stretched(model: &Model<'_>, kernel: &AnyKernel) -> Placed {
    let factor = |j: usize| model.factor.get(j).copied().unwrap_or(1.0);
    let stretch = |c: &[f32]| c.iter().enumerate().map(|(j, c)| f64::from(*c) * factor(j)).collect();
    Placed { kernel: kernel.clone(), vectors: model.centres().map(stretch).collect(), constant: 0.0 }
}

fn constant(model: &Model<'_>, coefficients: &[f64]) -> f64 {
    let origin = |c: &[f32]| c.iter().zip(model.shift).zip(model.factor).map(|((c, m), f)| f64::from(*c) * m * f).sum::<f64>();
    -model.centres().zip(coefficients).map(|(c, a)| a * origin(c)).sum::<f64>()
}

/// |(x - shift) f - c|² = f² |x - (c / f + shift)|² for one factor f.
fn moved(model: &Model<'_>, gamma: f64) -> Placed {
    let factor = model.factor.first().copied().unwrap_or(1.0);
    let shift = |j: usize| model.shift.get(j).copied().unwrap_or(0.0);
    let back = |c: &[f32]| c.iter().enumerate().map(|(j, c)| f64::from(*c) / factor + shift(j)).collect();
    let kernel = AnyKernel::Gaussian { gamma: gamma * factor * factor };
    Placed { kernel, vectors: model.centres().map(back).collect(), constant: 0.0 }
}

fn name(kernel: &AnyKernel) -> &'static str {
    match kernel {
        AnyKernel::Linear => "linear",
        AnyKernel::Polynomial { .. } => "polynomial",
        AnyKernel::Gaussian { .. } => "gaussian",
        AnyKernel::Exponential { .. } => "exponential",
        AnyKernel::Manhattan { .. } => "manhattan",
        AnyKernel::Matern32 { .. } => "matern32",
        AnyKernel::Matern52 { .. } => "matern52",
        AnyKernel::RationalQuadratic { .. } => "rational_quadratic",
        AnyKernel::Scaled { of, .. } => name(of),
        AnyKernel::Sum(_) => "a sum",
        AnyKernel::Product(_) => "a product",
    }
}

impl Machine {
    fn write(&self, text: &mut String) -> std::fmt::Result {
        let kind = match self.kind {
            Kind::Classes(_) => "c_svc",
            Kind::Numbers => "epsilon_svr",
            Kind::Novelty => "one_class",
        };
        writeln!(text, "svm_type {kind}")?;
        self.write_kernel(text)?;
        writeln!(text, "nr_class 2\ntotal_sv {}\nrho {:?}", self.terms.len(), self.rho)?;
        if let Kind::Classes([above, below]) = self.kind {
            let positive = self.terms.iter().filter(|(a, _)| *a > 0.0).count();
            writeln!(text, "label {above} {below}\nnr_sv {positive} {}", self.terms.len() - positive)?;
        }
        writeln!(text, "SV")?;
        self.terms.iter().try_for_each(|(a, vector)| write_vector(text, *a, vector))
    }

    fn write_kernel(&self, text: &mut String) -> std::fmt::Result {
        match self.kernel {
            AnyKernel::Polynomial { degree, gamma, coef0 } => {
                writeln!(text, "kernel_type polynomial\ndegree {degree}\ngamma {gamma:?}\ncoef0 {coef0:?}")
            }
            AnyKernel::Gaussian { gamma } => writeln!(text, "kernel_type rbf\ngamma {gamma:?}"),
            _ => writeln!(text, "kernel_type linear"),
        }
    }
}

/// Writes the coefficient, then `index:value` for each value that is not zero; indices start at 1.
fn write_vector(text: &mut String, coefficient: f64, vector: &[f64]) -> std::fmt::Result {
    write!(text, "{coefficient:?} ")?;
    for (j, value) in vector.iter().enumerate().filter(|(_, value)| **value != 0.0) {
        write!(text, "{}:{value:?} ", j + 1)?;
    }
    writeln!(text)
}
