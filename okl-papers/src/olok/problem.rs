//! The data of O section 3: two sets of measurements, and two that are generated.
//!
//! Features and outputs have mean 0 and deviation 1 over the training set, so an error of 1 is that of predicting the mean.
//! Only the features of the generated sets stay as they are, in [0, 1].

use crate::Context;
use crate::data::{self, Rows, Standard, normal};
use okl_cli::random::Random;

/// Error and time of a method in Table 1 of the paper.
pub type Reported = (&'static str, &'static str);

/// A data set before it is shuffled.
pub struct Source {
    /// Its name.
    pub name: &'static str,
    /// vv-RLS, OLOK and truncated OLOK in the paper.
    pub reported: [Reported; 3],
    rows: Rows,
    measured: bool,
}

/// A data set in one shuffle.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Four fifths.
    pub train: Rows,
    /// The rest.
    pub test: Rows,
}

impl Source {
    /// Wine: alcohol and quality from the other ten measurements.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn wine(context: &Context) -> anyhow::Result<Self> {
        let rows = context.load(&data::WINE)?.train;
        Ok(Source {
            name: "Wine",
            reported: [("2e-4 ± 2e-5", "240 s"), ("2.3e-4 ± 2e-5", "12 s"), ("2.3e-4 ± 2e-5", "2 s")],
            rows,
            measured: true,
        })
    }

    /// Parkinson: both scores from twenty columns, the number of the patient among them.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn parkinson(context: &Context) -> anyhow::Result<Self> {
        let rows = context.load(&data::PARKINSON)?.train;
        Ok(Source {
            name: "Parkinson",
            reported: [("9.1e-2 ± 1e-4", "120 s"), ("9.5e-2 ± 1e-3", "20 s"), ("1.0e-1 ± 1e-3", "6 s")],
            rows,
            measured: true,
        })
    }

    /// The synthetic set of Argyriou, Evgeniou and Pontil, in the shape the paper gives it.
    pub fn synthetic(context: &Context) -> Self {
        let n = context.sized(10_000, 400);
        Source {
            name: "Synthetic",
            reported: [("1e-5 ± 1e-6", "550 s"), ("1e-5 ± 1e-6", "17 s"), ("5e-5 ± 4e-6", "4 s")],
            rows: synthetic(&mut context.random("olok synthetic"), n),
            measured: false,
        }
    }

    /// Shuffled, split and put into scale by its training set.
    pub fn shuffled(&self, context: &Context, shuffle: u64) -> Problem {
        let rows = self.rows.gather(&context.order(self.rows.len(), shuffle));
        let (mut train, mut test) = rows.split(rows.len() * 4 / 5);
        let (features, targets) = (Standard::of_features(&train), Standard::of_targets(&train));
        for part in [&mut train, &mut test] {
            targets.targets(part);
            if self.measured {
                features.features(part);
            }
        }
        Problem { train, test }
    }
}

/// Features uniform in [0, 1]; weights of each output normal with variances 1, 0.64, 0.49, 0.36 and 0.25 on the first five, 0 on
/// the others; noise of deviation 0.1 (Machine Learning 73, 2008, section 5.1).
pub fn synthetic(random: &mut Random, n: usize) -> Rows {
    const DEVIATIONS: [f64; 5] = [1.0, 0.8, 0.7, 0.6, 0.5];
    let (features, outputs) = (50, 20);
    let weights: Vec<[f64; 5]> = (0..outputs).map(|_| DEVIATIONS.map(|deviation| deviation * normal(random))).collect();
    let mut rows = Rows { features, width: outputs, ..Rows::default() };
    for _ in 0..n {
        let x: Vec<f64> = (0..features).map(|_| random.uniform()).collect();
        rows.y.extend(weights.iter().map(|w| w.iter().zip(&x).map(|(w, x)| w * x).sum::<f64>() + 0.1 * normal(random)));
        rows.x.extend(x.iter().map(|v| *v as f32));
    }
    rows
}

/// Rates of sixteen advertisements in the shape of Click: logistic functions of eight of 120 features in [0, 1], which they share,
/// and noise of deviation 0.05.
pub fn click(random: &mut Random, n: usize) -> Rows {
    const USED: usize = 8;
    let (features, outputs) = (120, 16);
    let weights: Vec<[f64; USED]> = (0..outputs).map(|_| [0.0; USED].map(|_: f64| 3.0 * normal(random))).collect();
    let mut rows = Rows { features, width: outputs, ..Rows::default() };
    rows.x.reserve(n * features);
    rows.y.reserve(n * outputs);
    for _ in 0..n {
        rows.x.extend((0..features).map(|_| random.uniform() as f32));
        let x = &rows.x[rows.x.len() - features..];
        for w in &weights {
            let z: f64 = w.iter().zip(x).map(|(w, x)| w * (f64::from(*x) - 0.5)).sum();
            rows.y.push(1.0 / (1.0 + libm::exp(-z)) + 0.05 * normal(random));
        }
    }
    Standard::of_targets(&rows).targets(&mut rows);
    rows
}
