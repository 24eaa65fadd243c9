//! Noise whose quantiles are known, and streams of y = truth(x) + noise.

use std::f64::consts::{PI, SQRT_2};

use crate::data::normal;
use okl_cli::random::Random;

/// Half of all noise is smaller than this, whatever its law.
pub const MEDIAN: f64 = 0.25;

/// A symmetric law of noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// The squared loss is its logarithm.
    Gaussian,
    /// Never beyond a bound.
    Uniform,
    /// The absolute loss is its logarithm.
    Laplace,
    /// Student's t with two degrees of freedom: no variance.
    Student,
}

impl Noise {
    /// All of them.
    pub const ALL: [Noise; 4] = [Noise::Gaussian, Noise::Uniform, Noise::Laplace, Noise::Student];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Noise::Gaussian => "Gaussian",
            Noise::Uniform => "uniform",
            Noise::Laplace => "Laplace",
            Noise::Student => "Student t, 2 degrees",
        }
    }

    /// The size that is exceeded with probability `nu`.
    pub fn exceeded_by(self, nu: f64) -> f64 {
        MEDIAN * self.standard(1.0 - nu) / self.standard(0.5)
    }

    /// The p-quantile of |noise| at unit scale.
    pub fn standard(self, p: f64) -> f64 {
        match self {
            Noise::Gaussian => gaussian_quantile(p),
            Noise::Uniform => p,
            Noise::Laplace => -libm::log(1.0 - p),
            Noise::Student => SQRT_2 * p / (1.0 - p * p).sqrt(),
        }
    }

    /// One value.
    pub fn draw(self, random: &mut Random) -> f64 {
        let unit = match self {
            Noise::Gaussian => normal(random),
            law => {
                let size = law.standard(random.uniform());
                if random.below(2) == 0 { size } else { -size }
            }
        };
        MEDIAN * unit / self.standard(0.5)
    }
}

/// q with P(|N| <= q) = p, by bisection.
pub fn gaussian_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (0.0, 10.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if libm::erf(middle / SQRT_2) < p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// The function to learn, on [0, 1].
pub fn truth(x: f64) -> f64 {
    libm::sin(2.0 * PI * x) + 0.5 * libm::cos(6.0 * PI * x)
}

/// Examples in order.
pub struct Stream {
    /// Uniform on [0, 1].
    pub x: Vec<f32>,
    /// truth(x) + noise.
    pub y: Vec<f64>,
}

impl Stream {
    /// `rows` examples; the noise of row i is multiplied by `scale(i)`.
    pub fn new(noise: Noise, rows: usize, random: &mut Random, scale: impl Fn(usize) -> f64) -> Self {
        let mut stream = Stream { x: Vec::with_capacity(rows), y: Vec::with_capacity(rows) };
        for i in 0..rows {
            let x = random.uniform() as f32;
            stream.x.push(x);
            stream.y.push(truth(f64::from(x)) + scale(i) * noise.draw(random));
        }
        stream
    }
}
