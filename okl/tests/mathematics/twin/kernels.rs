//! The kernels of design.md section 5, one plain f64 formula each; r = |x - y|.

use std::rc::Rc;

pub type Kernel = Rc<dyn Fn(&[f64], &[f64]) -> f64>;

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

fn r2(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum()
}

/// A kernel from a formula in r.
fn radial(k: impl Fn(f64) -> f64 + 'static) -> Kernel {
    Rc::new(move |x, y| k(r2(x, y).sqrt()))
}

pub fn linear() -> Kernel {
    Rc::new(dot)
}

/// (gamma <x, y> + coef0)^degree
pub fn polynomial(degree: u32, gamma: f64, coef0: f64) -> Kernel {
    Rc::new(move |x, y| (0..degree).map(|_| gamma * dot(x, y) + coef0).product())
}

/// exp(-gamma r^2)
pub fn gaussian(gamma: f64) -> Kernel {
    Rc::new(move |x, y| libm::exp(-gamma * r2(x, y)))
}

/// exp(-gamma r)
pub fn exponential(gamma: f64) -> Kernel {
    radial(move |r| libm::exp(-gamma * r))
}

/// exp(-gamma s), s the sum of |x_j - y_j|
pub fn manhattan(gamma: f64) -> Kernel {
    Rc::new(move |x, y| libm::exp(-gamma * x.iter().zip(y).map(|(x, y)| (x - y).abs()).sum::<f64>()))
}

/// (1 + s) exp(-s), s = sqrt(3) gamma r
pub fn matern32(gamma: f64) -> Kernel {
    radial(move |r| (1.0 + 3.0_f64.sqrt() * gamma * r) * libm::exp(-(3.0_f64.sqrt()) * gamma * r))
}

/// (1 + s + s^2/3) exp(-s), s = sqrt(5) gamma r
pub fn matern52(gamma: f64) -> Kernel {
    radial(move |r| {
        let s = 5.0_f64.sqrt() * gamma * r;
        (1.0 + s + 5.0 * gamma * gamma * r * r / 3.0) * libm::exp(-s)
    })
}

/// (1 + gamma r^2 / alpha)^-alpha
pub fn rational_quadratic(gamma: f64, alpha: f64) -> Kernel {
    Rc::new(move |x, y| libm::pow(1.0 + gamma * r2(x, y) / alpha, -alpha))
}

pub fn scaled(weight: f64, of: Kernel) -> Kernel {
    Rc::new(move |x, y| weight * of(x, y))
}

/// k1 + k2 + .. is a kernel (L, section 4).
pub fn sum(of: Vec<Kernel>) -> Kernel {
    Rc::new(move |x, y| of.iter().map(|k| k(x, y)).sum())
}

pub fn product(of: Vec<Kernel>) -> Kernel {
    Rc::new(move |x, y| of.iter().map(|k| k(x, y)).product())
}

/// SVMD's width sigma: gamma = 1/(2 sigma^2).
pub fn svmd_width(sigma: f64) -> Kernel {
    gaussian(1.0 / (2.0 * sigma * sigma))
}

/// OLOK's mu: gamma = 1/mu.
pub fn olok_width(mu: f64) -> Kernel {
    gaussian(1.0 / mu)
}
