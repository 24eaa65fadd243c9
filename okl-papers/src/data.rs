//! The public data sets: their files, their rows in memory, and generated stand-ins of the same shape.
//!
//! Shuffles are [`Context::order`](super::Context::order): Fisher and Yates over SplitMix64.

use std::f64::consts::TAU;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use okl::{Label, Learner};

use super::Experiment;
use super::stand_in::Shape;
use okl_cli::input::{Options, Reader};
use okl_cli::random::Random;

/// A public data set: what its files are called here, what is in them and where they come from.
pub struct DataSet {
    /// Its name.
    pub name: &'static str,
    /// The training set, and the test set where there is one; `.gz` may be missing.
    pub files: &'static [&'static str],
    /// The format of the files.
    pub form: &'static str,
    /// Who made it public.
    pub origin: &'static str,
    targets: &'static [&'static str],
    ignore: &'static [&'static str],
    shape: Shape,
}

/// USPS: digits of 16 x 16 pixels.
pub const USPS: DataSet = DataSet {
    name: "USPS",
    files: &["usps_train.csv.gz", "usps_test.csv.gz"],
    form: "CSV with a header, columns p0 to p255 (16 x 16 pixels, -1 is paper and 1 is ink) and digit (0 to 9); 7,291 and 2,007 rows",
    origin: "the Zip code data of Hastie, Tibshirani and Friedman, The Elements of Statistical Learning",
    targets: &["digit"],
    ignore: &[],
    shape: Shape::Digits,
};

/// White wine: two outputs.
pub const WINE: DataSet = DataSet {
    name: "Wine",
    files: &["wine_white.csv.gz"],
    form: "CSV with a header, the eleven measurements and quality; 4,898 rows; the targets are alcohol and quality",
    origin: "Wine Quality (white), UCI Machine Learning Repository; Cortez and others 2009",
    targets: &["alcohol", "quality"],
    ignore: &[],
    shape: Shape::Numbers(10, 2),
};

/// Parkinson's telemonitoring: two outputs.
pub const PARKINSON: DataSet = DataSet {
    name: "Parkinson",
    files: &["parkinsons.csv.gz"],
    form: "CSV with a header, 20 columns and the targets motor_UPDRS and total_UPDRS; 5,875 rows",
    origin: "Parkinsons Telemonitoring, UCI Machine Learning Repository; Tsanas and Little 2009",
    targets: &["motor_UPDRS", "total_UPDRS"],
    ignore: &[],
    shape: Shape::Numbers(20, 2),
};

/// Adult: who earns more than 50,000 dollars.
pub const A9A: DataSet = DataSet {
    name: "Adult (a9a)",
    files: &["a9a.gz", "a9a.t.gz"],
    form: "LIBSVM text with labels -1 and +1 and 123 features of 0 and 1; 32,561 and 16,281 rows",
    origin: "a9a in the LIBSVM data collection; Adult, UCI Machine Learning Repository",
    targets: &[],
    ignore: &[],
    shape: Shape::Signs(123),
};

/// The neural network competition of IJCNN 2001.
pub const IJCNN1: DataSet = DataSet {
    name: "ijcnn1",
    files: &["ijcnn1.gz", "ijcnn1.t.gz"],
    form: "LIBSVM text with labels -1 and +1 and 22 features; 49,990 and 91,701 rows",
    origin: "ijcnn1 in the LIBSVM data collection; Prokhorov, IJCNN 2001 neural network competition",
    targets: &[],
    ignore: &[],
    shape: Shape::Signs(22),
};

/// Prices of electricity in New South Wales: up or down.
pub const ELEC2: DataSet = DataSet {
    name: "Electricity (elec2)",
    files: &["elec2.csv.gz"],
    form: "CSV with a header, eight measurements in the order of time and class (0 and 1); 45,312 rows",
    origin: "Electricity, Harries 1999; in this form from the streams of MOA and OpenML",
    targets: &["class"],
    ignore: &[],
    shape: Shape::Signs(8),
};

/// Both parts of a data set.
#[derive(Clone, Debug, Default)]
pub struct Data {
    /// To learn from.
    pub train: Rows,
    /// Held out; without rows where the data set has one part.
    pub test: Rows,
}

/// Rows in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// Features per row.
    pub features: usize,
    /// Row by row.
    pub x: Vec<f32>,
    /// Targets per row.
    pub width: usize,
    /// Row by row.
    pub y: Vec<f64>,
}

impl Rows {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.x.len().checked_div(self.features).unwrap_or(0)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.x.is_empty()
    }

    /// The features of one.
    pub fn row(&self, i: usize) -> &[f32] {
        &self.x[i * self.features..(i + 1) * self.features]
    }

    /// The targets of one.
    pub fn target(&self, i: usize) -> &[f64] {
        &self.y[i * self.width..(i + 1) * self.width]
    }

    /// Some of them, in this order.
    pub fn gather(&self, rows: &[usize]) -> Rows {
        Rows {
            x: rows.iter().flat_map(|&i| self.row(i)).copied().collect(),
            y: rows.iter().flat_map(|&i| self.target(i)).copied().collect(),
            ..*self
        }
    }

    /// Those whose first target is wanted, in order.
    pub fn only(&self, wanted: impl Fn(f64) -> bool) -> Rows {
        self.gather(&(0..self.len()).filter(|&i| wanted(self.target(i)[0])).collect::<Vec<_>>())
    }

    /// The first `n`, and the others.
    pub fn split(&self, n: usize) -> (Rows, Rows) {
        let n = n.min(self.len());
        let (x, more_x) = self.x.split_at(n * self.features);
        let (y, more_y) = self.y.split_at(n * self.width);
        (Rows { x: x.to_vec(), y: y.to_vec(), ..*self }, Rows { x: more_x.to_vec(), y: more_y.to_vec(), ..*self })
    }

    /// The first targets as names of classes.
    pub fn labels(&self) -> Vec<Label> {
        (0..self.len()).map(|i| Label::Int(self.target(i)[0] as i64)).collect()
    }

    /// As wide as `features`: what is new is zero.
    fn widen(&mut self, features: usize) {
        let wide = |row: &[f32]| row.iter().copied().chain(std::iter::repeat_n(0.0, features - row.len())).collect::<Vec<_>>();
        self.x = self.x.chunks_exact(self.features.max(1)).flat_map(wide).collect();
        self.features = features;
    }
}

/// Shift and factor of every column.
#[derive(Clone, Debug, PartialEq)]
pub struct Standard(Vec<(f64, f64)>);

impl Standard {
    /// Mean 0 and deviation 1 for the features of these rows.
    pub fn of_features(rows: &Rows) -> Self {
        Standard(
            (0..rows.features).map(|j| moments(rows.x.iter().skip(j).step_by(rows.features).map(|v| f64::from(*v)))).collect(),
        )
    }

    /// Mean 0 and deviation 1 for the targets of these rows.
    pub fn of_targets(rows: &Rows) -> Self {
        Standard((0..rows.width).map(|j| moments(rows.y.iter().skip(j).step_by(rows.width).copied())).collect())
    }

    /// Puts features into this scale.
    pub fn features(&self, rows: &mut Rows) {
        let standard = |(i, v): (usize, &mut f32)| {
            let (mean, deviation) = self.0[i % self.0.len()];
            *v = ((f64::from(*v) - mean) / deviation) as f32;
        };
        rows.x.iter_mut().enumerate().for_each(standard);
    }

    /// Puts targets into this scale.
    pub fn targets(&self, rows: &mut Rows) {
        let standard = |(i, v): (usize, &mut f64)| {
            let (mean, deviation) = self.0[i % self.0.len()];
            *v = (*v - mean) / deviation;
        };
        rows.y.iter_mut().enumerate().for_each(standard);
    }
}

/// Mean and deviation; the deviation of a constant column is 1.
fn moments(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let n = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / n;
    let variance = values.map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
    (mean, if variance > 0.0 { variance.sqrt() } else { 1.0 })
}

impl DataSet {
    /// Reads its files.
    pub(super) fn load(&self, folder: &Path) -> anyhow::Result<Data> {
        let mut parts = self.files.iter().map(|file| self.read(&find(folder, file).unwrap_or_else(|| folder.join(file))));
        let mut data = Data { train: parts.next().transpose()?.unwrap_or_default(), test: Rows::default() };
        if let Some(test) = parts.next() {
            data.test = test?;
            let features = data.train.features.max(data.test.features);
            data.train.widen(features);
            data.test.widen(features);
        }
        Ok(data)
    }

    fn read(&self, path: &Path) -> anyhow::Result<Rows> {
        let owned = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
        let options = Options { targets: owned(self.targets), ignore: owned(self.ignore), ..Options::default() };
        let mut reader = Reader::open(&path.to_string_lossy(), options)?;
        let mut rows = Rows::default();
        while let Some(chunk) = reader.next()? {
            if rows.features < chunk.features {
                rows.widen(chunk.features);
            }
            let x = chunk.dense().iter().map(|v| *v as f32).collect();
            let mut more = Rows { features: chunk.features, x, width: chunk.targets.width, y: Vec::new() };
            more.widen(rows.features);
            let numbers = chunk.targets.numbers();
            rows.width = more.width;
            rows.y.extend(numbers.with_context(|| format!("{}: a target is text; expected {}", path.display(), self.form))?);
            rows.x.extend(more.x);
        }
        Ok(rows)
    }

    /// Few generated rows of the same shape.
    pub(super) fn stand_in(&self, random: &mut Random) -> Data {
        let train = self.shape.draw(random, 600);
        let test = if self.files.len() > 1 { self.shape.draw(random, 200) } else { Rows::default() };
        Data { train, test }
    }
}

/// The file of that name in a folder, compressed or not.
fn find(folder: &Path, file: &str) -> Option<PathBuf> {
    [file, file.trim_end_matches(".gz")].iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

/// Says which files are missing, in which form they are wanted, and where they come from.
pub(super) fn check_there(experiment: &Experiment, folder: Option<&Path>) -> anyhow::Result<()> {
    let missing = |file: &&&str| folder.is_none_or(|folder| find(folder, file).is_none());
    let mut text = String::new();
    for set in experiment.wants {
        let files: Vec<&str> = set.files.iter().filter(missing).copied().collect();
        if !files.is_empty() {
            text += &format!("\n  {}\n      {}\n      from: {}", files.join(", "), set.form, set.origin);
        }
    }
    match folder {
        _ if text.is_empty() => Ok(()),
        None => bail!("{} reads public data; put these files into a folder and give it with --data DIR:{text}", experiment.name),
        Some(folder) => bail!("{}: missing there (plain or .gz):{text}", folder.display()),
    }
}

/// The class that the scores of a row decide for.
pub fn named<'a>(learner: &'a Learner, scores: &[f64]) -> Option<&'a Label> {
    learner.classes().get(learner.decide(scores)?)
}

/// A number from the normal distribution (Box and Muller).
pub fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * libm::log(1.0 - random.uniform())).sqrt();
    radius * libm::cos(TAU * random.uniform())
}
