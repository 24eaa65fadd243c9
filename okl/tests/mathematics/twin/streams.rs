//! Small deterministic streams; features are f32, as the engine sees them.

use super::Stream;

/// xorshift64*
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        (0..8).for_each(|_| _ = random.uniform());
        random
    }

    /// In [0, 1).
    pub fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * libm::log(u)).sqrt() * libm::cos(std::f64::consts::TAU * v)
    }

    /// Student's t with two degrees of freedom: no variance.
    pub fn heavy(&mut self) -> f64 {
        self.normal() / (-libm::log(1.0 - self.uniform())).sqrt()
    }

    pub fn normals(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| self.normal() as f32).collect()
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.uniform() * n as f64) as usize
    }
}

/// y = +-1: a curved boundary in `features` >= 2 dimensions, 5 % of labels flipped, and the labels
/// exchanged from the middle on.
pub fn two_classes(n: usize, features: usize, seed: u64) -> Stream {
    let mut random = Random::new(seed);
    let label = |x: &[f32]| {
        if x[0] * x[1] + 0.5 * x[0] > 0.0 { 1.0 } else { -1.0 }
    };
    let example = |t: usize| {
        let x = random.normals(features);
        let noise = if random.uniform() < 0.05 { -1.0 } else { 1.0 };
        let y = label(&x) * noise * if t < n / 2 { 1.0 } else { -1.0 };
        (x, vec![y])
    };
    (0..n).map(example).collect()
}

/// y = 0 .. k-1: two clusters to a class; from the middle on each class has its neighbour's.
pub fn classes(n: usize, k: usize, features: usize, seed: u64) -> Stream {
    let mut random = Random::new(seed);
    let centres: Vec<Vec<f32>> = (0..2 * k).map(|_| random.normals(features)).collect();
    let example = |t: usize| {
        let c = random.below(2 * k);
        let x = centres[c].iter().zip(random.normals(features)).map(|(c, e)| 1.5 * c + 0.6 * e).collect();
        (x, vec![((c + usize::from(t >= n / 2)) % k) as f64])
    };
    (0..n).map(example).collect()
}

/// y = a smooth function + heavy-tailed noise.
pub fn regression(n: usize, features: usize, seed: u64) -> Stream {
    vector_regression(n, features, 1, seed)
}

/// d such functions, correlated, each with its own heavy-tailed noise.
pub fn vector_regression(n: usize, features: usize, d: usize, seed: u64) -> Stream {
    let mut random = Random::new(seed);
    let example = |_| {
        let x = random.normals(features);
        let common = libm::sin(2.0 * f64::from(x[0]));
        let own = |a: usize| 0.5 * f64::from(x[(a + 1) % features]);
        let y = (0..d).map(|a| common + own(a) + 0.1 * random.heavy()).collect();
        (x, y)
    };
    (0..n).map(example).collect()
}

/// Three clusters that all move at the middle, and 2 % of points from far away; y is not used.
pub fn novelty(n: usize, features: usize, seed: u64) -> Stream {
    let mut random = Random::new(seed);
    let centres: Vec<Vec<f32>> = (0..3).map(|_| random.normals(features)).collect();
    let example = |t: usize| {
        let (c, far) = (random.below(3), random.uniform() < 0.02);
        let move_by = if t < n / 2 { 0.0 } else { 1.0 };
        let spread = if far { 3.0 } else { 0.4 };
        let x = centres[c].iter().zip(random.normals(features)).map(|(c, e)| 2.0 * c + move_by + spread * e).collect();
        (x, vec![0.0])
    };
    (0..n).map(example).collect()
}

/// Points of N(0, I).
pub fn normals(n: usize, features: usize, seed: u64) -> Stream {
    let mut random = Random::new(seed);
    (0..n).map(|_| (random.normals(features), vec![0.0])).collect()
}
