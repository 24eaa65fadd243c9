//! Random Fourier features: z(x) = M^(-1/2) [cos(<w_1, x>), ..., cos(<w_M, x>), sin(<w_1, x>), ..., sin(<w_M, x>)], so that
//! <z(x), z(y)> is the mean of cos(<w_j, x - y>), which estimates a kernel of x - y if w is drawn from its spectral measure
//! (algorithms.md 7.5). <z(x), z(x)> = 1.
//!
//! w_j = r_j g_j: g_j is normal and the same for all kernels, so kernels share the inner products; r_j depends on the kernel. Every
//! number is a function of the seed and its place alone, so all processes have the same frequencies, and more features of a row add
//! columns to g without changing the others. Orthogonal frequencies (Yu et al., 2016) are the exception: in groups of as many as a
//! row has features, g_j keeps its length and gets a direction that is orthogonal to those before it, each of which is still uniform
//! on the sphere. Frequencies are stored in turns: a number of turns is reduced to [-1/2, 1/2] without a
//! rounding error, and the rest is a polynomial, with the same bits on every instruction set.

use crate::basis::block::{Block, Values};
use crate::basis::vectors::VectorRows;
use crate::gram::{Backend, Elementwise, LANES, Panels};
use crate::parts::kernel::AnyKernel;

/// How frequencies are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Draw {
    /// The number of features, cosines and sines.
    pub size: usize,
    /// The seed.
    pub seed: u64,
    /// Whether frequencies are orthogonal in groups.
    pub orthogonal: bool,
}

/// The frequencies of random Fourier features for one or more kernels.
#[derive(Clone, Debug)]
pub struct Fourier {
    seed: u64,
    orthogonal: bool,
    /// The number of frequencies.
    pairs: usize,
    /// g_j / 2 pi.
    normals: Panels,
    /// r_j for each kernel.
    radii: Vec<Vec<f32>>,
}

impl Fourier {
    /// A cosine and a sine for each of `size / 2` frequencies, of rows with `features` numbers.
    pub fn new(draw: Draw, kernels: &[AnyKernel], features: usize) -> Self {
        let Draw { size, seed, orthogonal } = draw;
        let pairs = size / 2;
        let radii = kernels.iter().map(|kernel| radii(kernel, pairs, seed)).collect();
        let mut fourier = Fourier { seed, orthogonal, pairs, normals: Panels::new(0), radii };
        fourier.widen(features);
        fourier
    }

    /// The number of features, cosines and sines.
    pub fn size(&self) -> usize {
        2 * self.pairs
    }

    /// Whether frequencies are orthogonal in groups, so that they depend on the number of features of a row.
    pub(crate) fn is_orthogonal(&self) -> bool {
        self.orthogonal
    }

    /// Increases the number of features of a row.
    pub(crate) fn widen(&mut self, features: usize) {
        let mut normals = Panels::new(features);
        normals.reserve(self.pairs);
        let mut group: Vec<Vec<f64>> = Vec::new();
        for j in 0..self.pairs {
            let mut row: Vec<f64> = (0..features).map(|k| normal(self.seed, j as u64, k as u64)).collect();
            if self.orthogonal {
                if group.len() == features {
                    group.clear();
                }
                let length = dot(&row, &row).sqrt();
                let direction = orthogonal_to(&group, &row);
                row = direction.iter().map(|v| v * length).collect();
                group.push(direction);
            }
            let turns: Vec<f32> = row.iter().map(|v| (v / std::f64::consts::TAU) as f32).collect();
            normals.put(j, &turns);
        }
        self.normals = normals;
    }

    /// Puts another kernel in the place of that of a plane.
    pub(crate) fn replace_kernel(&mut self, plane: usize, kernel: &AnyKernel) {
        self.radii[plane] = radii(kernel, self.pairs, self.seed);
    }

    /// The frequencies of a kernel in radians, one after the other, as many numbers each as a row has.
    pub fn frequencies(&self, plane: usize) -> Vec<f64> {
        let mut row = vec![0.0; self.normals.dim()];
        let mut all = Vec::with_capacity(self.pairs * row.len());
        for (j, radius) in self.radii[plane].iter().enumerate() {
            self.normals.get(j, &mut row);
            all.extend(row.iter().map(|w| std::f64::consts::TAU * f64::from(*radius) * f64::from(*w)));
        }
        all
    }

    pub(crate) fn bytes(&self) -> usize {
        self.normals.bytes() + self.radii.iter().map(|radii| radii.capacity() * size_of::<f32>()).sum::<usize>()
    }

    /// Writes the features of rows into a block, plane by plane.
    pub(crate) fn begin(&self, backend: Backend, rows: VectorRows<'_>, block: &mut Block) {
        let (count, size) = (rows.squares().len(), self.size());
        block.begin(count, self.radii.len(), size, size.next_multiple_of(LANES));
        let Values { data, plane, stride } = block.terms_mut();
        match rows {
            VectorRows::Dense(rows) => {
                backend.dots(rows.rows, &self.normals, 0..self.normals.panels(), &mut data[..plane], stride);
            }
            VectorRows::Given(_) => unreachable!("kernel values have no features"),
            VectorRows::Sparse(rows) => {
                for (i, out) in data[..plane].chunks_exact_mut(stride).enumerate() {
                    let row = rows.row(i);
                    backend.sparse_dots(row.columns, row.values, &self.normals, &mut out[..self.normals.slots()]);
                }
            }
        }
        for (p, radii) in self.radii.iter().enumerate().rev() {
            for i in 0..count {
                self.waves(backend, radii, data, [i * stride, p * plane + i * stride], stride);
            }
        }
    }

    /// Replaces inner products by cosines and sines; reads and writes at these places.
    fn waves(&self, backend: Backend, radii: &[f32], data: &mut [f32], [from, to]: [usize; 2], stride: usize) {
        let scale = (1.0 / (self.pairs as f64).sqrt()) as f32;
        data.copy_within(from..from + self.pairs, to);
        let (cosines, rest) = data[to..to + stride].split_at_mut(self.pairs);
        let (sines, padding) = rest.split_at_mut(self.pairs);
        sines.copy_from_slice(cosines);
        padding.fill(0.0);
        backend.map_values(radii, cosines, Cosine(scale));
        backend.map_values(radii, sines, Sine(scale));
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |sum, (a, b)| sum + a * b)
}

/// The unit vector in the direction of the part of `row` that is orthogonal to the unit vectors `group` (Gram and Schmidt, twice, so that
/// rounding errors do not accumulate).
fn orthogonal_to(group: &[Vec<f64>], row: &[f64]) -> Vec<f64> {
    let mut rest = row.to_vec();
    for unit in group.iter().chain(group) {
        let along = dot(unit, &rest);
        rest.iter_mut().zip(unit).for_each(|(r, u)| *r -= along * u);
    }
    let length = dot(&rest, &rest).sqrt();
    rest.iter_mut().for_each(|r| *r /= length);
    rest
}

/// The lengths of frequencies relative to those of normal vectors. The spectral measure of exp(-gamma r²) is normal with variance
/// 2 gamma; those of exp(-gamma r) and of the Matern kernels are multivariate t distributions with 1, 3 and 5 degrees of freedom.
fn radii(kernel: &AnyKernel, pairs: usize, seed: u64) -> Vec<f32> {
    let student = |gamma: f64, degrees: u64, j: u64| {
        let normals = (0..degrees).map(|i| normal(seed, j, u64::MAX - i));
        let mean = normals.map(|n| n * n).sum::<f64>() / degrees as f64;
        gamma / mean.max(1e-30).sqrt()
    };
    let radius = |j: u64| match kernel {
        AnyKernel::Gaussian { gamma } => (2.0 * gamma).sqrt(),
        AnyKernel::Exponential { gamma } => student(*gamma, 1, j),
        AnyKernel::Matern32 { gamma } => student(*gamma, 3, j),
        AnyKernel::Matern52 { gamma } => student(*gamma, 5, j),
        _ => unreachable!("the check of the configuration allows only kernels with a known spectral measure"),
    };
    (0..pairs as u64).map(|j| radius(j).min(1e30) as f32).collect()
}

/// Whether frequencies can be drawn for a kernel.
pub(crate) fn has_spectrum(kernel: &AnyKernel) -> bool {
    use AnyKernel::{Exponential, Gaussian, Matern32, Matern52};
    matches!(kernel, Gaussian { .. } | Exponential { .. } | Matern32 { .. } | Matern52 { .. })
}

/// The finaliser of splitmix64.
fn mixed(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A normal number that depends on its place alone (Box and Muller).
fn normal(seed: u64, row: u64, column: u64) -> f64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let key = [row, column].iter().fold(mixed(seed.wrapping_add(STEP)), |key, part| {
        mixed(key.wrapping_add(STEP).wrapping_add(mixed(part.wrapping_mul(STEP) ^ STEP)))
    });
    let unit = |bits: u64| ((bits >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    let (u, v) = (unit(key), unit(mixed(key.wrapping_add(STEP))));
    (-2.0 * libm::log(u)).sqrt() * libm::cos(std::f64::consts::TAU * v)
}

/// The part of a number of turns beyond the nearest whole number, exactly. From 2^22 turns on single precision has no such part.
#[inline(always)]
fn fraction(turns: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0; // 1.5 * 2^23
    let rest = turns - ((turns + ROUND) - ROUND);
    if turns.abs() < 4_194_304.0 { rest } else { 0.0 }
}

/// sin(2 pi t) for |t| <= 1/4, to 2e-7.
#[inline(always)]
fn quarter_wave(t: f32) -> f32 {
    let s = t * t;
    let mut p = -14.394_135_f32;
    p = p.mul_add(s, 42.009_808);
    p = p.mul_add(s, -76.704_285);
    p = p.mul_add(s, 81.605_225);
    p = p.mul_add(s, -41.341_7);
    p = p.mul_add(s, std::f32::consts::TAU);
    p * t
}

/// A factor times cos(2 pi value other).
#[derive(Clone, Copy)]
struct Cosine(f32);

impl Elementwise for Cosine {
    #[inline(always)]
    fn at(self, value: f32, other: f32) -> f32 {
        self.0 * quarter_wave(0.25 - fraction(value * other).abs())
    }
}

/// A factor times sin(2 pi value other).
#[derive(Clone, Copy)]
struct Sine(f32);

impl Elementwise for Sine {
    #[inline(always)]
    fn at(self, value: f32, other: f32) -> f32 {
        let r = fraction(value * other);
        let beyond = if r > 0.0 { 0.5 - r } else { -0.5 - r };
        self.0 * quarter_wave(if r.abs() > 0.25 { beyond } else { r })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waves_are_sines_and_cosines() {
        let turns = (0..400_000).map(|i| (i as f32 - 200_000.0) * 1.7e-5).chain([1e6 + 0.125, -3e6, 5e9, f32::INFINITY]);
        for t in turns {
            let exact = if t.abs() < 4e6 { std::f64::consts::TAU * (f64::from(t) - f64::from(t).round()) } else { 0.0 };
            let [c, s] = [Cosine(1.0).at(t, 1.0), Sine(1.0).at(t, 1.0)].map(f64::from);
            assert!((c - exact.cos()).abs() < 3e-7 && (s - exact.sin()).abs() < 3e-7, "{t}: {c} {s}");
        }
    }

    /// Moments of the normals, and the mean of cos(<w, x>) over many frequencies: the kernel, within 5 standard errors.
    #[test]
    fn the_mean_of_waves_is_the_kernel() {
        let numbers: Vec<f64> = (0..20_000).map(|i| normal(7, i / 40, i % 40)).collect();
        let mean = |power: i32| numbers.iter().map(|n| n.powi(power)).sum::<f64>() / numbers.len() as f64;
        assert!(mean(1).abs() < 0.04 && (mean(2) - 1.0).abs() < 0.05 && (mean(4) - 3.0).abs() < 0.4);
        let gamma = 0.7;
        let kernels = [
            AnyKernel::Gaussian { gamma },
            AnyKernel::Exponential { gamma },
            AnyKernel::Matern32 { gamma },
            AnyKernel::Matern52 { gamma },
        ];
        for (kernel, orthogonal) in kernels.iter().flat_map(|kernel| [(kernel, false), (kernel, true)]) {
            let draw = Draw { size: 8000, seed: 3, orthogonal };
            let fourier = Fourier::new(draw, std::slice::from_ref(kernel), 3);
            for x in [[0.3, -0.2, 0.1], [1.0, 0.5, -0.8], [-0.1, 2.0, 1.0]] {
                let waves =
                    fourier.frequencies(0).chunks(3).map(|w| w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>().cos()).sum::<f64>();
                let square = x.iter().map(|x| x * x).sum::<f64>() as f32;
                let exact = f64::from(crate::parts::kernel::DotKernel::eval(kernel, 0.0, square, 0.0));
                assert!((waves / 4000.0 - exact).abs() < 5.0 / 4000f64.sqrt(), "{kernel:?} at {x:?}: {} {exact}", waves / 4000.0);
            }
        }
    }
    /// Frequencies of a group are orthogonal, those of two groups are not, and all have the lengths of normal vectors: the
    /// estimate of the kernel then has less variance.
    #[test]
    fn orthogonal_frequencies() {
        const FEATURES: usize = 12;
        let kernels = [AnyKernel::Gaussian { gamma: 0.5 }];
        let frequencies =
            |seed, orthogonal| Fourier::new(Draw { size: 4 * FEATURES, seed, orthogonal }, &kernels, FEATURES).frequencies(0);
        let (free, drawn) = (frequencies(5, false), frequencies(5, true));
        let [free, drawn] = [&free, &drawn].map(|all| all.chunks(FEATURES).collect::<Vec<_>>());
        let mut between = 0.0f64;
        for (i, a) in drawn.iter().enumerate() {
            assert!((dot(a, a) - dot(free[i], free[i])).abs() < 1e-5 * dot(a, a));
            for (j, b) in drawn.iter().enumerate().take(i) {
                let cosine = dot(a, b) / (dot(a, a) * dot(b, b)).sqrt();
                match i / FEATURES == j / FEATURES {
                    true => assert!(cosine.abs() < 1e-6, "{i} {j}: {cosine}"),
                    false => between = between.max(cosine.abs()),
                }
            }
        }
        assert!(between > 0.3);
        let x: Vec<f64> = (0..FEATURES).map(|k| 0.1 + 0.05 * k as f64).collect();
        let exact = (-0.5 * dot(&x, &x)).exp();
        let error = |orthogonal| {
            let estimate = |seed| {
                let waves: Vec<f64> = frequencies(seed, orthogonal).chunks(FEATURES).map(|w| dot(w, &x).cos()).collect();
                waves.iter().sum::<f64>() / waves.len() as f64
            };
            (0..200).map(|seed| (estimate(seed) - exact).powi(2)).sum::<f64>()
        };
        assert!(error(true) < 0.8 * error(false), "{} {}", error(true), error(false));
    }
}
