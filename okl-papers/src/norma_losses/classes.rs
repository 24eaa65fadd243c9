//! The classification losses of section 3: who errs how often, and how many examples are kept.

use okl::certificate::AlertRate;
use okl::{Batch, Learner};

use super::learner;
use crate::Context;
use crate::stats::Spread;
use okl_cli::random::Random;

/// Steps on the progress bar.
pub const STEPS: usize = Kind::ALL.len();
/// Labels that are turned round in the noisy stream.
pub const FLIPPED: f64 = 0.15;

/// A stream of points in the plane, in four quadrants of alternating labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing within 0.1 of the border, every label right.
    Separable,
    /// Points everywhere, some labels turned round.
    Noisy,
}

impl Kind {
    /// Both.
    pub const ALL: [Kind; 2] = [Kind::Separable, Kind::Noisy];

    /// Its points and labels.
    pub fn draw(self, rows: usize, random: &mut Random) -> (Vec<f32>, Vec<f64>) {
        let (mut points, mut labels) = (Vec::with_capacity(2 * rows), Vec::with_capacity(rows));
        while labels.len() < rows {
            let (x, y) = (2.0 * random.uniform() - 1.0, 2.0 * random.uniform() - 1.0);
            if self == Kind::Separable && x.abs().min(y.abs()) < 0.1 {
                continue;
            }
            let flip = self == Kind::Noisy && random.uniform() < FLIPPED;
            points.extend([x as f32, y as f32]);
            labels.push(if (x * y > 0.0) != flip { 1.0 } else { -1.0 });
        }
        (points, labels)
    }
}

/// A loss with settings to choose from.
pub struct Family {
    /// In a configuration.
    pub name: &'static str,
    /// Where the paper has it.
    pub equation: &'static str,
    losses: &'static [&'static str],
    lambdas: &'static [f64],
    etas: &'static [f64],
}

const LAMBDAS: &[f64] = &[1e-3, 1e-2, 1e-1];
const ETAS: &[f64] = &[0.05, 0.1, 0.2, 0.5, 1.0, 1.9];

/// The losses of section 3, and the squared one on labels -1 and +1.
pub const FAMILIES: [Family; 4] = [
    Family { name: "hinge", equation: "N(12)", losses: &["hinge"], lambdas: LAMBDAS, etas: ETAS },
    Family {
        name: "nu_hinge",
        equation: "N(14)",
        losses: &["nu_hinge:nu=0.2", "nu_hinge:nu=0.4", "nu_hinge:nu=0.6", "nu_hinge:nu=0.8"],
        lambdas: LAMBDAS,
        etas: ETAS,
    },
    // Without a regulariser a perceptron's decisions do not depend on its step size.
    Family { name: "perceptron", equation: "N(15)", losses: &["perceptron"], lambdas: &[0.0], etas: &[1.0] },
    Family { name: "squared", equation: "N(17)", losses: &["squared"], lambdas: LAMBDAS, etas: ETAS },
];

/// The chosen setting.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The loss with its parameter.
    pub loss: &'static str,
    /// The regulariser.
    pub lambda: f64,
    /// eta_1 of eta t^(-1/2); constant for the perceptron.
    pub eta: f64,
}

/// One loss on one stream.
pub struct Cell {
    /// The setting chosen on a separate stream: the fewest mistakes, then the fewest terms.
    pub chosen: Setting,
    /// Share of examples on the wrong side before they were learned, over the second half.
    pub mistakes: Spread,
    /// Terms at the end.
    pub terms: f64,
    /// Share of margin errors, and how far it can be from nu; for nu_hinge.
    pub outside: Option<(f64, f64)>,
}

/// All that is measured.
pub struct Outcome {
    /// By stream, then by loss.
    pub cells: Vec<Vec<Cell>>,
    /// Examples per stream.
    pub rows: usize,
    /// Fresh streams.
    pub streams: usize,
}

/// Measures it.
///
/// # Errors
/// After Ctrl-C.
pub fn measure(context: &Context) -> anyhow::Result<Outcome> {
    let (rows, streams) = (context.sized(4000, 800), context.sized(10, 2));
    let mut cells = Vec::new();
    for kind in Kind::ALL {
        context.step(format!("classification, {kind:?}").to_lowercase())?;
        let mut random = context.random(&format!("{kind:?}"));
        let validation = kind.draw(rows, &mut random);
        let fresh: Vec<_> = (0..streams).map(|_| kind.draw(rows, &mut random)).collect();
        cells.push(FAMILIES.iter().map(|family| cell(family, &validation, &fresh)).collect::<anyhow::Result<Vec<_>>>()?);
    }
    Ok(Outcome { cells, rows, streams })
}

type Examples = (Vec<f32>, Vec<f64>);

fn cell(family: &Family, validation: &Examples, fresh: &[Examples]) -> anyhow::Result<Cell> {
    let mut best: Option<((f64, usize), Setting)> = None;
    for setting in family.settings() {
        let (learner, mistakes) = setting.learn(validation)?;
        let cost = (mistakes, learner.terms());
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, setting));
        }
    }
    let chosen = best.map(|(_, setting)| setting).expect("a family has settings");
    let runs = fresh.iter().map(|stream| chosen.learn(stream)).collect::<anyhow::Result<Vec<_>>>()?;
    let mean = |value: &dyn Fn(&Learner) -> f64| runs.iter().map(|(learner, _)| value(learner)).sum::<f64>() / runs.len() as f64;
    let rate = |part: fn(AlertRate) -> f64| mean(&|l: &Learner| l.alert_rate().map_or(f64::NAN, part));
    Ok(Cell {
        mistakes: Spread::of(runs.iter().map(|(_, mistakes)| *mistakes)),
        terms: mean(&|l: &Learner| l.terms() as f64),
        outside: (family.name == "nu_hinge").then(|| (rate(|r| r.rate), rate(|r| r.bound))),
        chosen,
    })
}

impl Family {
    fn settings(&self) -> impl Iterator<Item = Setting> {
        let pairs = self.lambdas.iter().flat_map(|lambda| self.etas.iter().map(|eta| (*lambda, *eta)));
        pairs.flat_map(|(lambda, eta)| self.losses.iter().map(move |loss| Setting { loss, lambda, eta }))
    }
}

impl Setting {
    /// The learner, and its share of mistakes over the second half; a score of 0 is one.
    fn learn(&self, (x, y): &Examples) -> anyhow::Result<(Learner, f64)> {
        let step = if self.lambda > 0.0 { "inverse_sqrt" } else { "constant" };
        let mut learner = learner(&format!(
            "loss = '{}'; kernel = 'gaussian:5'; step = '{step}:{}'; lambda = {:e}; budget = 'unlimited'",
            self.loss, self.eta, self.lambda
        ))?;
        let scores = learner.learn(&Batch::new(x, 2).numbers(y))?.values;
        let late = scores.len() / 2;
        let mistakes = scores[late..].iter().zip(&y[late..]).filter(|(z, y)| *z * *y <= 0.0).count();
        Ok((learner, mistakes as f64 / (scores.len() - late) as f64))
    }
}
