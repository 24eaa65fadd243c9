//! What the certificate tests share: streams, and functions recomputed in f64 from what a learner shows.
#![allow(dead_code)]

use crate::support::plain::plain;
use okl::{Batch, Label, Learner, Targets};

/// exp(-|a - b|²/2) in f64; configurations say `gaussian:0.5`. k(x, x) = 1, so X = kappa = 1.
pub fn gauss(a: &[f32], b: &[f32]) -> f64 {
    let r2: f64 = a.iter().zip(b).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum();
    (-0.5 * r2).exp()
}

/// A learner from TOML text with the Gaussian kernel of [`gauss`], unless the text names one. No anchor: centres are the rows' own bits.
pub fn learner(text: &str) -> Learner {
    let kernel = if text.contains("kernel") { "" } else { "kernel='gaussian:0.5'\n" };
    let text = format!("{kernel}anchor='none'\n{text}");
    Learner::new(plain(&text).expect(&text)).expect(&text)
}

pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        let mut rng = Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        (0..16).for_each(|_| _ = rng.uniform());
        rng
    }
    /// In [0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }
    pub fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }
}

/// Rows with targets of `width` numbers (a class is its index).
#[derive(Clone)]
pub struct Data {
    pub features: usize,
    pub x: Vec<f32>,
    pub width: usize,
    pub y: Vec<f64>,
    pub classes: bool,
}

impl Data {
    pub fn rows(&self) -> usize {
        self.x.len() / self.features
    }
    pub fn row(&self, i: usize) -> &[f32] {
        &self.x[i * self.features..(i + 1) * self.features]
    }
    pub fn target(&self, i: usize) -> &[f64] {
        &self.y[i * self.width..(i + 1) * self.width]
    }
    /// Learns row `i` alone; the scores before its update.
    pub fn teach(&self, learner: &mut Learner, i: usize, id: Option<u64>) -> Vec<f64> {
        let labels = if self.classes { vec![Label::Int(self.target(i)[0] as i64)] } else { vec![] };
        let targets = match (self.width, self.classes) {
            (0, _) => Targets::None,
            (_, true) => Targets::Labels(&labels),
            _ => Targets::Numbers(self.target(i)),
        };
        let ids: Vec<u64> = id.into_iter().collect();
        let batch = Batch::new(self.row(i), self.features).targets(targets);
        let batch = if ids.is_empty() { batch } else { batch.ids(&ids) };
        learner.learn(&batch).unwrap().values
    }

    /// Two features in a square, the sign of their product, a tenth of the signs flipped.
    pub fn signs(rows: usize, seed: u64) -> Data {
        Data::make(rows, 2, 1, seed, |rng, x| vec![if (x[0] * x[1] > 0.0) ^ (rng.uniform() < 0.1) { 1.0 } else { -1.0 }])
    }
    /// Three classes: which third of the circle, a tenth at random.
    pub fn thirds(rows: usize, seed: u64) -> Data {
        let class = |rng: &mut Rng, x: &[f32]| {
            let angle = f64::from(x[1]).atan2(f64::from(x[0])) / std::f64::consts::TAU + 0.5;
            let at = if rng.uniform() < 0.1 { rng.uniform() } else { angle };
            vec![(3.0 * at).floor().min(2.0)]
        };
        Data { classes: true, ..Data::make(rows, 2, 1, seed, class) }
    }
    /// A wave with noise; a few outliers. |y| <= 3.
    pub fn wave(rows: usize, seed: u64) -> Data {
        Data::make(rows, 2, 1, seed, |rng, x| {
            let noise = if rng.uniform() < 0.05 { 1.5 } else { 0.2 };
            vec![((1.5 * f64::from(x[0])).sin() + noise * rng.normal()).clamp(-3.0, 3.0)]
        })
    }
    pub fn make(
        rows: usize,
        features: usize,
        width: usize,
        seed: u64,
        mut target: impl FnMut(&mut Rng, &[f32]) -> Vec<f64>,
    ) -> Data {
        let mut rng = Rng::new(seed);
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for _ in 0..rows {
            let row: Vec<f32> = (0..features).map(|_| rng.between(-2.0, 2.0) as f32).collect();
            y.extend(target(&mut rng, &row));
            x.extend(row);
        }
        Data { features, x, width, y, classes: false }
    }
}

/// f = sum_i k(c_i, .) J a_i + b under the Gaussian of [`gauss`]; J = I when `operator` is empty.
#[derive(Clone)]
pub struct Function {
    pub features: usize,
    pub outputs: usize,
    pub centres: Vec<f32>,
    pub coefficients: Vec<f64>,
    pub offset: Vec<f64>,
    pub operator: Vec<f64>,
}

impl Function {
    pub fn of(learner: &Learner) -> Function {
        Function {
            features: learner.features().max(1),
            outputs: learner.outputs(),
            centres: learner.centres().iter().map(|v| *v as f32).collect(),
            coefficients: learner.coefficients(),
            offset: learner.offset().to_vec(),
            operator: Vec::new(),
        }
    }
    /// The averaged hypothesis.
    pub fn mean_of(learner: &Learner) -> Function {
        let (engine, f) = (learner.engine(), Function::of(learner));
        let mean = |slot| (0..f.outputs).map(move |o| engine.heads()[0].expansion().mean(o, slot).unwrap());
        Function { coefficients: engine.terms().live().flat_map(mean).collect(), ..f }
    }
    pub fn zero(features: usize, outputs: usize) -> Function {
        Function { features, outputs, centres: vec![], coefficients: vec![], offset: vec![0.0; outputs], operator: vec![] }
    }
    fn coupled(&self, a: &[f64]) -> Vec<f64> {
        match self.operator.is_empty() {
            true => a.to_vec(),
            false => self.operator.chunks_exact(self.outputs).map(|row| dot(row, a)).collect(),
        }
    }
    /// f(x) + b.
    pub fn at(&self, x: &[f32]) -> Vec<f64> {
        let mut sum = vec![0.0; self.outputs];
        for (c, a) in self.centres.chunks_exact(self.features).zip(self.coefficients.chunks_exact(self.outputs)) {
            let k = gauss(c, x);
            sum.iter_mut().zip(a).for_each(|(s, a)| *s += k * a);
        }
        self.coupled(&sum).iter().zip(&self.offset).map(|(f, b)| f + b).collect()
    }
    /// |f|², without the offset.
    pub fn norm2(&self) -> f64 {
        let terms: Vec<_> = self.centres.chunks_exact(self.features).zip(self.coefficients.chunks_exact(self.outputs)).collect();
        let mut sum = 0.0;
        for (i, (c, a)) in terms.iter().enumerate() {
            let a = self.coupled(a);
            sum += dot(&a, terms[i].1) * gauss(c, c);
            sum += 2.0 * terms[..i].iter().map(|(d, b)| gauss(c, d) * dot(&a, b)).sum::<f64>();
        }
        sum.max(0.0)
    }
    pub fn norm(&self) -> f64 {
        self.norm2().sqrt()
    }
    /// |self - other| over the union of the expansions; equal centres are one.
    pub fn distance(&self, other: &Function) -> f64 {
        let mut union = std::collections::BTreeMap::<Vec<u32>, Vec<f64>>::new();
        for (f, sign) in [(self, 1.0), (other, -1.0)] {
            for (c, a) in f.centres.chunks_exact(f.features).zip(f.coefficients.chunks_exact(f.outputs)) {
                let sum = union.entry(c.iter().map(|v| v.to_bits()).collect()).or_insert_with(|| vec![0.0; f.outputs]);
                sum.iter_mut().zip(a).for_each(|(s, a)| *s += sign * a);
            }
        }
        let live = || union.iter().filter(|(_, a)| a.iter().any(|a| *a != 0.0));
        Function {
            centres: live().flat_map(|(c, _)| c.iter().map(|v| f32::from_bits(*v))).collect(),
            coefficients: live().flat_map(|(_, a)| a.iter().copied()).collect(),
            ..self.clone()
        }
        .norm()
    }
}

pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// l(z, y), written out anew.
pub fn loss(name: &str, z: &[f64], y: &[f64]) -> f64 {
    let r = z.iter().zip(y).map(|(z, y)| (y - z).powi(2)).sum::<f64>().sqrt();
    let rival = |class: usize| (0..z.len()).filter(|c| *c != class).map(|c| z[c]).fold(f64::NEG_INFINITY, f64::max);
    match name {
        "hinge" => (1.0 - y[0] * z[0]).max(0.0),
        "logistic" => (1.0 + (-y[0] * z[0]).exp()).ln(),
        "max_margin" => (1.0 + rival(y[0] as usize) - z[y[0] as usize]).max(0.0),
        "softmax" => z.iter().map(|z| z.exp()).sum::<f64>().ln() - z[y[0] as usize],
        "squared" => 0.5 * r * r,
        "absolute" => r,
        "epsilon:0.1" => (r - 0.1).max(0.0),
        "huber:0.5" => {
            if r >= 0.5 {
                r - 0.25
            } else {
                r * r
            }
        }
        other => panic!("no loss {other}"),
    }
}

/// Scores of rows, through the learner itself.
pub fn predict(learner: &Learner, data: &Data) -> Vec<f64> {
    learner.predict(&Batch::new(&data.x, data.features)).unwrap().values
}
