//! Each regression loss of section 3 under each noise: how far is f from the truth?
//!
//! Step size and parameter of every loss are chosen on one stream and measured on others.

use okl::{Batch, Learner};

use super::learner;
use super::noise::{Noise, Stream, truth};
use crate::Context;
use crate::stats::Spread;

/// Steps on the progress bar.
pub const STEPS: usize = Noise::ALL.len();
const ETAS: [f64; 6] = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2];

/// A loss with a parameter that is to be chosen.
pub struct Family {
    /// In a configuration.
    pub name: &'static str,
    /// Where the paper has it.
    pub equation: &'static str,
    parameters: &'static [f64],
}

/// The losses of section 3, and the absolute one that it names.
pub const FAMILIES: [Family; 5] = [
    Family { name: "squared", equation: "N(17)", parameters: &[] },
    Family { name: "absolute", equation: "p. 2", parameters: &[] },
    Family { name: "nu_epsilon", equation: "N(18)", parameters: &[0.1, 0.3, 0.5, 0.8] },
    Family { name: "huber", equation: "N(20)", parameters: &[0.1, 0.3, 1.0, 3.0] },
    Family { name: "nu_huber", equation: "N(21)", parameters: &[0.02, 0.1, 0.3, 0.6] },
];

impl Family {
    fn settings(&self) -> Vec<Setting> {
        let losses: Vec<String> = match self.parameters {
            [] => vec![self.name.into()],
            many => {
                many.iter().map(|p| format!("{}:{}={p}", self.name, if self.name == "huber" { "sigma" } else { "nu" })).collect()
            }
        };
        losses.into_iter().flat_map(|loss| ETAS.map(|eta| Setting { loss: loss.clone(), eta })).collect()
    }
}

/// The chosen setting.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The loss with its parameter.
    pub loss: String,
    /// eta_1 of eta t^(-1/2).
    pub eta: f64,
}

impl Setting {
    fn learner(&self) -> anyhow::Result<Learner> {
        let theta = if self.loss.starts_with("nu_") { "; theta0 = 0.5" } else { "" };
        learner(&format!(
            "loss = '{}'; kernel = 'gaussian:50'; step = 'inverse_sqrt:{}'; lambda = 1e-3; budget = 'unlimited'{theta}",
            self.loss, self.eta
        ))
    }

    /// Learns a stream; the distance of f_t from the truth at x_t, example by example.
    fn learn(&self, stream: &Stream) -> anyhow::Result<(Learner, Vec<f64>)> {
        let mut learner = self.learner()?;
        let scores = learner.learn(&Batch::new(&stream.x, 1).numbers(&stream.y))?;
        let distance = scores.values.iter().zip(&stream.x).map(|(z, x)| z - truth(f64::from(*x)));
        let distances = distance.collect();
        Ok((learner, distances))
    }
}

/// Root of the mean square over the second half.
fn late_rms(distances: &[f64]) -> f64 {
    let late = &distances[distances.len() / 2..];
    (late.iter().map(|d| d * d).sum::<f64>() / late.len() as f64).sqrt()
}

/// One loss under one noise.
pub struct Cell {
    /// The setting chosen on the validation stream.
    pub chosen: Setting,
    /// Distance from the truth over the second half of fresh streams.
    pub distance: Spread,
    /// Share of the examples that are kept as terms.
    pub kept: f64,
}

/// A value over streams: where, the mean, the smallest and the largest.
pub type Band = Vec<(f64, [f64; 3])>;

/// A loss, drawn: on the streams whose noise has no variance.
pub struct Drawn {
    /// The loss with its parameter.
    pub name: String,
    /// f at the end, over x.
    pub function: Band,
    /// Root mean square distance from the truth of the last examples, over examples.
    pub course: Band,
}

/// All that is measured.
pub struct Outcome {
    /// By noise, then by loss.
    pub cells: Vec<Vec<Cell>>,
    /// Under Student's noise, by loss.
    pub drawn: Vec<Drawn>,
    /// Examples per stream.
    pub rows: usize,
    /// Fresh streams.
    pub streams: usize,
}

impl Outcome {
    /// One loss under one noise.
    pub fn cell(&self, noise: Noise, family: &str) -> Option<&Cell> {
        let noise = Noise::ALL.iter().position(|n| *n == noise)?;
        self.cells[noise].get(FAMILIES.iter().position(|f| f.name == family)?)
    }
}

/// Measures it.
///
/// # Errors
/// After Ctrl-C.
pub fn measure(context: &Context) -> anyhow::Result<Outcome> {
    let (rows, streams) = (context.sized(4000, 800), context.sized(10, 2));
    let (mut cells, mut drawn) = (Vec::new(), Vec::new());
    for noise in Noise::ALL {
        context.step(format!("losses under {} noise", noise.name()))?;
        let mut random = context.random(noise.name());
        let mut stream = || Stream::new(noise, rows, &mut random, |_| 1.0);
        let (validation, fresh) = (stream(), (0..streams).map(|_| stream()).collect::<Vec<_>>());
        let row = FAMILIES.iter().map(|family| cell(family, &validation, &fresh)).collect::<anyhow::Result<Vec<_>>>()?;
        if noise == Noise::Student {
            drawn = row.iter().map(|cell| draw(&cell.chosen, &fresh)).collect::<anyhow::Result<_>>()?;
        }
        cells.push(row);
    }
    Ok(Outcome { cells, drawn, rows, streams })
}

fn cell(family: &Family, validation: &Stream, fresh: &[Stream]) -> anyhow::Result<Cell> {
    let mut best: Option<(f64, Setting)> = None;
    for setting in family.settings() {
        let distance = late_rms(&setting.learn(validation)?.1);
        if best.as_ref().is_none_or(|(least, _)| distance < *least) {
            best = Some((distance, setting));
        }
    }
    let chosen = best.map(|(_, setting)| setting).expect("a family has settings");
    let (mut distances, mut kept) = (Vec::new(), 0.0);
    for stream in fresh {
        let (learner, distance) = chosen.learn(stream)?;
        distances.push(late_rms(&distance));
        kept += learner.terms() as f64 / (stream.y.len() * fresh.len()) as f64;
    }
    Ok(Cell { chosen, distance: Spread::of(distances), kept })
}

fn draw(setting: &Setting, streams: &[Stream]) -> anyhow::Result<Drawn> {
    let grid: Vec<f32> = (0..=200).map(|i| i as f32 / 200.0).collect();
    let (mut functions, mut courses) = (Vec::new(), Vec::new());
    for stream in streams {
        let (learner, distances) = setting.learn(stream)?;
        functions.push(learner.predict(&Batch::new(&grid, 1))?.values);
        courses.push(course(&distances));
    }
    let examples: Vec<f64> = courses[0].iter().map(|p| p.0).collect();
    let courses: Vec<Vec<f64>> = courses.into_iter().map(|c| c.into_iter().map(|p| p.1).collect()).collect();
    Ok(Drawn {
        name: setting.loss.clone(),
        function: band(grid.iter().map(|x| f64::from(*x)), &functions),
        course: band(examples.into_iter(), &courses),
    })
}

/// Root mean square over the last twentieth of the stream, in about 200 places.
fn course(distances: &[f64]) -> Vec<(f64, f64)> {
    let window = distances.len() / 20;
    let rms = |w: &[f64]| (w.iter().map(|d| d * d).sum::<f64>() / w.len() as f64).sqrt();
    let windows = distances.windows(window).enumerate().step_by((distances.len() / 200).max(1));
    windows.map(|(t, w)| ((t + window) as f64, rms(w))).collect()
}

fn band(places: impl Iterator<Item = f64>, curves: &[Vec<f64>]) -> Band {
    let of = |i: usize| {
        let values = curves.iter().map(|curve| curve[i]);
        let mean = values.clone().sum::<f64>() / curves.len() as f64;
        [mean, values.clone().fold(f64::MAX, f64::min), values.fold(f64::MIN, f64::max)]
    };
    places.enumerate().map(|(i, place)| (place, of(i))).collect()
}
