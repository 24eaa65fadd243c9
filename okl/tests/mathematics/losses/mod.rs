//! Losses: gradients and curvature by finite differences, the conventions at the kinks, the first step from zero,
//! the proximal steps against their definition, the names of a configuration.

mod gradients;
mod proximal;
mod settings;

use okl::config::families::{Variant, family};
use okl::loss::*;

/// A small generator: splitmix64.
struct Random(u64);

impl Random {
    /// Uniform on [-1, 1).
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    fn vector(&mut self, d: usize, scale: f64) -> Vec<f64> {
        (0..d).map(|_| scale * self.unit()).collect()
    }

    /// Uniform on 0..n.
    fn below(&mut self, n: usize) -> usize {
        (((self.unit() + 1.0) / 2.0) * n as f64) as usize
    }

    /// A target as the loss reads it.
    fn target(&mut self, loss: &AnyLoss, d: usize) -> Vec<f64> {
        match loss.reads() {
            Reads::Sign => vec![self.unit().signum()],
            Reads::Class => vec![self.below(d) as f64],
            Reads::Number | Reads::Vector => self.vector(d, 2.0),
            Reads::Nothing => vec![],
        }
    }

    /// Rows of an orthogonal matrix (Gram-Schmidt, twice).
    fn basis(&mut self, d: usize) -> Vec<f64> {
        let mut u = self.vector(d * d, 1.0);
        for _ in 0..2 {
            for i in 0..d {
                let (done, rest) = u.split_at_mut(i * d);
                let row = &mut rest[..d];
                for other in done.chunks(d) {
                    let along = dot(row, other);
                    row.iter_mut().zip(other).for_each(|(r, o)| *r -= along * o);
                }
                let size = dot(row, row).sqrt();
                row.iter_mut().for_each(|r| *r /= size);
            }
        }
        u
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// The largest difference; NaN if there is one.
fn apart(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, |most, off| if off <= most { most } else { off })
}

fn every_loss() -> Vec<AnyLoss> {
    use AnyLoss::*;
    vec![
        Hinge { margin: 1.0 },
        Hinge { margin: 0.3 },
        NuHinge { nu: 0.2 },
        Perceptron {},
        Logistic {},
        MaxMargin {},
        Softmax {},
        Novelty { margin: 0.7 },
        NuNovelty { nu: 0.05 },
        Density { nu: 0.05 },
        Squared {},
        Absolute {},
        Epsilon { epsilon: 0.4 },
        NuEpsilon { nu: 0.1 },
        Huber { sigma: 0.6 },
        NuHuber { nu: 0.3, sigma_rule: SigmaRule::Quantile },
        NuHuber { nu: 0.3, sigma_rule: SigmaRule::Concomitant },
        Quantile { q: 0.8 },
    ]
}

/// The name and the parameters that a configuration has for this loss.
fn listed(loss: &AnyLoss) -> &'static Variant {
    let json = serde_json::to_value(loss).unwrap();
    family("loss").unwrap().name(json.as_object().unwrap().keys().next().unwrap()).unwrap()
}

fn outputs(loss: &AnyLoss) -> &'static [usize] {
    match loss.reads() {
        Reads::Class => &[1, 2, 5],
        Reads::Vector => &[1, 2, 4],
        Reads::Sign | Reads::Number | Reads::Nothing => &[1],
    }
}

/// What loss, gradient and the rest are at one point.
fn eval(loss: &dyn Loss, z: &[f64], y: &[f64], theta: f64) -> (Eval, Vec<f64>) {
    let mut xi = vec![f64::NAN; z.len()];
    let e = loss.eval(z, y, theta, &mut xi);
    (e, xi)
}

/// How far the nearest kink of the loss or of its gradient is, in the quantity that decides.
fn kink(loss: &AnyLoss, z: &[f64], y: &[f64], theta: f64) -> f64 {
    use AnyLoss::*;
    let size = || norm(&z.iter().zip(y).map(|(z, y)| y - z).collect::<Vec<_>>());
    match *loss {
        Hinge { margin } => (margin - y[0] * z[0]).abs(),
        NuHinge { .. } => (theta - y[0] * z[0]).abs(),
        Perceptron {} => z[0].abs(),
        Novelty { margin } => (margin - z[0]).abs(),
        NuNovelty { .. } => (theta - z[0]).abs(),
        Logistic {} | Softmax {} | Squared {} | Density { .. } => f64::INFINITY,
        MaxMargin {} => {
            let mut others: Vec<f64> = (0..z.len()).filter(|&c| c != y[0] as usize).map(|c| z[c]).collect();
            others.sort_by(|a, b| b.total_cmp(a));
            // A class that is alone competes with one not yet seen, whose score is 0.
            let top = others.first().copied().unwrap_or(0.0);
            let tie = others.get(1).map_or(f64::INFINITY, |second| top - second);
            (1.0 + top - z[y[0] as usize]).abs().min(tie)
        }
        Absolute {} => size(),
        // Vector losses bend at r = 0 only through their threshold.
        Epsilon { epsilon } => (size() - epsilon).abs(),
        NuEpsilon { .. } => (size() - theta).abs(),
        Huber { sigma } => (size() - sigma).abs(),
        NuHuber { .. } => (size() - theta).abs(),
        Quantile { .. } => (y[0] - z[0]).abs(),
        ref other => panic!("the kinks of {other:?} are not known here"),
    }
}

/// Random points of every loss and every number of outputs: `f(loss, z, y, theta, random)`.
fn everywhere(seed: u64, points: usize, mut f: impl FnMut(&AnyLoss, &[f64], &[f64], f64, &mut Random)) {
    let mut random = Random(seed);
    for loss in every_loss() {
        for &d in outputs(&loss) {
            for _ in 0..points {
                let z = random.vector(d, 2.0);
                let y = random.target(&loss, d);
                let theta = 0.7 + 0.6 * random.unit();
                f(&loss, &z, &y, theta, &mut random);
            }
        }
    }
}
