//! Noise whose quantiles are known, and streams of y = truth(x) + noise.

use std::f64::consts::{PI, SQRT_2};

use crate::data::normal;
use okl_cli::random::Random;

/// Half of all noise is smaller than this, whatever its law.
const MEDIAN: f64 = 0.25;

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

    /// What it is called.
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
    fn standard(self, p: f64) -> f64 {
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
fn gaussian_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (0.0, 10.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if libm::erf(middle / SQRT_2) < p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// What is to be learned, on [0, 1].
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

#[cfg(test)]
mod tests {
    use super::*;

    /// P(|N| <= 1.959963984540054) = 0.95, and what follows from the other laws' distribution functions.
    #[test]
    fn quantiles_are_those_of_the_laws() {
        assert!((gaussian_quantile(0.95) - 1.959_963_984_540_054).abs() < 1e-12);
        let student = Noise::Student.standard(0.9);
        assert!((student / (2.0 + student * student).sqrt() - 0.9).abs() < 1e-14);
        assert!(Noise::ALL.iter().all(|noise| (noise.exceeded_by(0.5) - MEDIAN).abs() < 1e-14));
    }

    /// Of 40,000 values the share beyond a quantile is within five deviations of what it should be.
    #[test]
    fn noise_follows_its_law() {
        for noise in Noise::ALL {
            let mut random = Random::new(3);
            let values: Vec<f64> = (0..40_000).map(|_| noise.draw(&mut random)).collect();
            for nu in [0.1, 0.5] {
                let beyond = values.iter().filter(|v| v.abs() > noise.exceeded_by(nu)).count() as f64;
                let deviation = (40_000.0 * nu * (1.0 - nu)).sqrt();
                assert!((beyond - 40_000.0 * nu).abs() < 5.0 * deviation, "{}: {beyond}", noise.name());
            }
            let positive = values.iter().filter(|v| **v > 0.0).count() as f64;
            assert!((positive - 20_000.0).abs() < 500.0, "{}: {positive}", noise.name());
        }
    }
}
