//! Generated stand-ins for the public data sets: the same shape, few rows, something to learn.

use std::f64::consts::TAU;

use super::data::{Rows, normal};
use okl_cli::random::Random;

/// The kinds of stand-in data.
pub(super) enum Shape {
    /// Ten sorts of strokes on 16 x 16 pixels.
    Digits,
    /// Two sorts of points, in this many features, with labels -1 and +1.
    Signs(usize),
    /// Smooth functions of this many features, so many of them.
    Numbers(usize, usize),
}

impl Shape {
    /// Some rows.
    pub fn draw(&self, random: &mut Random, n: usize) -> Rows {
        match *self {
            Shape::Digits => digits(random, n),
            Shape::Signs(features) => signs(random, n, features),
            Shape::Numbers(features, outputs) => numbers(random, n, features, outputs),
        }
    }
}

/// Three strokes per class, shaken and noisy; one in fifty is of no class.
fn digits(random: &mut Random, n: usize) -> Rows {
    let mut rows = Rows { features: 256, width: 1, ..Rows::default() };
    for _ in 0..n {
        let class = random.below(10);
        let odd = random.below(50) == 0;
        let mut strokes = Random::new(if odd { random.bits() } else { class });
        let (dx, dy) = (1.5 * normal(random), 1.5 * normal(random));
        let ends: Vec<[f64; 4]> = (0..3).map(|_| [0; 4].map(|_| 2.0 + 11.0 * strokes.uniform())).collect();
        for pixel in 0..256 {
            let (x, y) = ((pixel % 16) as f64 - dx, (pixel / 16) as f64 - dy);
            let near = ends.iter().map(|e| distance2(e, x, y)).fold(f64::MAX, f64::min);
            rows.x.push((2.0 * libm::exp(-near / 2.0) - 1.0 + 0.05 * normal(random)).clamp(-1.0, 1.0) as f32);
        }
        rows.y.push(class as f64);
    }
    rows
}

/// The squared distance of a point from a line between two others.
fn distance2(&[ax, ay, bx, by]: &[f64; 4], x: f64, y: f64) -> f64 {
    let (dx, dy) = (bx - ax, by - ay);
    let along = (((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy).max(1e-9)).clamp(0.0, 1.0);
    let (px, py) = (ax + along * dx - x, ay + along * dy - y);
    px * px + py * py
}

/// Points of the unit cube; the sign says on which side of a curved surface they are.
fn signs(random: &mut Random, n: usize, features: usize) -> Rows {
    let mut rows = Rows { features, width: 1, ..Rows::default() };
    for _ in 0..n {
        let x: Vec<f64> = (0..features).map(|_| random.uniform()).collect();
        let side = libm::sin(TAU * x[0]) + 2.0 * (x[1] - 0.5) + 0.2 * normal(random);
        rows.x.extend(x.iter().map(|v| *v as f32));
        rows.y.push(if side > 0.0 { 1.0 } else { -1.0 });
    }
    rows
}

/// Points of the unit cube with smooth functions of them.
fn numbers(random: &mut Random, n: usize, features: usize, outputs: usize) -> Rows {
    let mut rows = Rows { features, width: outputs, ..Rows::default() };
    for _ in 0..n {
        let x: Vec<f64> = (0..features).map(|_| random.uniform()).collect();
        let value = |o: usize| libm::sin(TAU * x[o % features] / 2.0) + x[(o + 1) % features];
        let y: Vec<f64> = (0..outputs).map(value).collect();
        rows.x.extend(x.iter().map(|v| *v as f32));
        rows.y.extend(y.iter().map(|v| v + 0.1 * normal(random)));
    }
    rows
}
