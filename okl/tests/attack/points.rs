//! Functions in H in f64: coefficients over points that are kept for ever, with their Gram matrices.

use std::collections::HashMap;

use okl::kernel::AnyKernel;

use crate::kernels::{Pair, U, Value, value};

/// How a head's outputs come from planes of kernel values: sum_m k_m J_m; no J is the identity.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Kernel and J of each part.
    pub parts: Vec<(usize, Option<Vec<f64>>)>,
}

/// A function: `outputs` coefficients per point.
#[derive(Clone, Debug, Default)]
pub struct Function(pub Vec<Vec<f64>>);

impl Function {
    /// Adds to the coefficient of a point.
    pub fn add(&mut self, point: usize, alpha: &[f64]) {
        if self.0.len() <= point {
            self.0.resize(point + 1, Vec::new());
        }
        let at = &mut self.0[point];
        at.resize(at.len().max(alpha.len()), 0.0);
        at.iter_mut().zip(alpha).for_each(|(a, b)| *a += b);
    }

    /// Multiplies by a number.
    pub fn scale(&mut self, by: f64) {
        self.0.iter_mut().flatten().for_each(|a| *a *= by);
    }

    /// Adds a multiple of another function.
    pub fn add_scaled(&mut self, other: &Function, by: f64) {
        for (i, a) in other.0.iter().enumerate().filter(|(_, a)| !a.is_empty()) {
            self.add(i, &a.iter().map(|a| a * by).collect::<Vec<_>>());
        }
    }

    /// The difference of two functions.
    pub fn minus(&self, other: &Function) -> Function {
        let mut out = self.clone();
        out.add_scaled(other, -1.0);
        out
    }

    /// The points with a coefficient that is not zero.
    pub fn support(&self) -> impl Iterator<Item = (usize, &[f64])> {
        self.0.iter().enumerate().map(|(i, a)| (i, a.as_slice())).filter(|(_, a)| a.iter().any(|v| *v != 0.0))
    }
}

/// Points as the kernels see them.
#[derive(Debug)]
pub struct Points {
    kernels: Vec<AnyKernel>,
    /// For each kernel the weights of columns, if it reads weighted ones; 1 behind the last number.
    weights: Vec<Option<Vec<f64>>>,
    rows: Vec<Vec<f64>>,
    index: HashMap<Vec<u32>, usize>,
    gram: Vec<Vec<Vec<Value>>>,
}

impl Points {
    /// None yet.
    pub fn new(kernels: &[AnyKernel], weights: Vec<Option<Vec<f64>>>) -> Self {
        let gram = vec![Vec::new(); kernels.len()];
        Self { kernels: kernels.to_vec(), weights, rows: Vec::new(), index: HashMap::new(), gram }
    }

    /// The number of a point, which is new or known.
    pub fn number(&mut self, row: &[f32]) -> usize {
        let key: Vec<u32> = row.iter().map(|v| (v + 0.0).to_bits()).collect();
        if let Some(&i) = self.index.get(&key) {
            return i;
        }
        let i = self.rows.len();
        self.rows.push(row.iter().map(|&v| f64::from(v)).collect());
        for ((kernel, weights), gram) in self.kernels.iter().zip(&self.weights).zip(&mut self.gram) {
            let pair = |other: &Vec<f64>| match weights {
                None => Pair::of(&self.rows[i], other),
                Some(weights) => Pair::weighted(&self.rows[i], other, weights),
            };
            gram.push(self.rows.iter().map(|other| value(kernel, &pair(other))).collect());
        }
        self.index.insert(key, i);
        i
    }

    /// The number of a point that is known.
    pub fn known(&self, row: &[f32]) -> usize {
        self.index[&row.iter().map(|v| (v + 0.0).to_bits()).collect::<Vec<u32>>()]
    }

    /// k_plane(x_i, x_j).
    pub fn k(&self, plane: usize, i: usize, j: usize) -> f64 {
        self.pair(plane, i, j).k
    }

    /// The value of a pair with its error in single precision.
    pub fn pair(&self, plane: usize, i: usize, j: usize) -> Value {
        if i >= j { self.gram[plane][i][j] } else { self.gram[plane][j][i] }
    }

    /// f(x_at).
    pub fn eval(&self, shape: &Shape, f: &Function, at: usize, outputs: usize) -> Vec<f64> {
        let mut out = vec![0.0; outputs];
        for (plane, operator) in &shape.parts {
            let mut sum = vec![0.0; outputs];
            for (i, a) in f.support() {
                let k = self.k(*plane, i, at);
                sum.iter_mut().zip(a).for_each(|(s, a)| *s += k * a);
            }
            add_operator(operator.as_deref(), &sum, &mut out);
        }
        out
    }

    /// How far single precision may be from f(x_at): the sum of |alpha_i| times the error of k(x_i, x_at).
    pub fn rounding(&self, shape: &Shape, f: &Function, at: usize) -> f64 {
        let mut out = 0.0;
        for (plane, operator) in &shape.parts {
            let size = operator.as_deref().map_or(1.0, frobenius);
            out += size * f.support().map(|(i, a)| norm(a) * self.pair(*plane, i, at).error).sum::<f64>();
        }
        out + f.support().map(|(i, a)| norm(a) * self.largest(shape, i, at)).sum::<f64>() * 1e-13
    }

    fn largest(&self, shape: &Shape, i: usize, at: usize) -> f64 {
        shape.parts.iter().map(|(plane, j)| self.k(*plane, i, at).abs() * j.as_deref().map_or(1.0, frobenius)).sum()
    }

    /// <f, g>.
    pub fn inner(&self, shape: &Shape, f: &Function, g: &Function) -> f64 {
        let right: Vec<(usize, &[f64])> = g.support().collect();
        let mut total = 0.0;
        for (plane, operator) in &shape.parts {
            for (i, a) in f.support() {
                let mut sum = vec![0.0; a.len()];
                for (j, b) in &right {
                    let k = self.k(*plane, i, *j);
                    sum.iter_mut().zip(*b).for_each(|(s, b)| *s += k * b);
                }
                let mut out = vec![0.0; sum.len()];
                add_operator(operator.as_deref(), &sum, &mut out);
                total += a.iter().zip(&out).map(|(a, b)| a * b).sum::<f64>();
            }
        }
        total
    }

    /// sum_i |alpha_i| sqrt(k(x_i, x_i) lambda_max): what the norm is made of, without cancellation.
    pub fn mass(&self, shape: &Shape, f: &Function) -> f64 {
        f.support().map(|(i, a)| norm(a) * self.reach(shape, i)).sum()
    }

    /// sqrt(lambda_max(sum_m k_m(x, x) J_m)): the largest |g(x)| of a function of norm one.
    pub fn reach(&self, shape: &Shape, at: usize) -> f64 {
        if let [(plane, None)] = shape.parts.as_slice() {
            return self.k(*plane, at, at).max(0.0).sqrt();
        }
        let size = shape.parts.iter().find_map(|(_, j)| j.as_ref().map(Vec::len)).unwrap_or(1);
        let mut sum = vec![0.0; size];
        for (plane, operator) in &shape.parts {
            let k = self.k(*plane, at, at);
            let j = operator.as_deref().expect("parts of a sum have operators");
            sum.iter_mut().zip(j).for_each(|(s, j)| *s += k * j);
        }
        largest_eigenvalue(&sum).max(0.0).sqrt()
    }

    /// The largest k(x, x) of all points and planes.
    pub fn largest_diagonal(&self) -> f64 {
        (0..self.rows.len()).flat_map(|i| self.gram.iter().map(move |g| g[i][i].k)).fold(0.0, f64::max)
    }

    /// The relative error of k(x_i, x_i) in single precision.
    pub fn diagonal_error(&self, shape: &Shape, at: usize) -> f64 {
        let relative = |plane: usize| {
            let v = self.pair(plane, at, at);
            if v.k > 0.0 { v.error / v.k } else { 0.0 }
        };
        shape.parts.iter().map(|(plane, _)| relative(*plane)).fold(U, f64::max)
    }
}

/// |a|.
pub fn norm(a: &[f64]) -> f64 {
    a.iter().map(|v| v * v).sum::<f64>().sqrt()
}

fn frobenius(j: &[f64]) -> f64 {
    norm(j)
}

fn add_operator(j: Option<&[f64]>, a: &[f64], out: &mut [f64]) {
    match j {
        None => out.iter_mut().zip(a).for_each(|(o, a)| *o += a),
        Some(j) => {
            for (row, o) in j.chunks(a.len()).zip(out) {
                *o += row.iter().zip(a).map(|(j, a)| j * a).sum::<f64>();
            }
        }
    }
}

/// By power iteration on a positive semidefinite matrix. One start may be orthogonal to the eigenvector; not all unit vectors are.
pub fn largest_eigenvalue(j: &[f64]) -> f64 {
    let n = (j.len() as f64).sqrt().round() as usize;
    (0..n).map(|i| power_iteration(j, (0..n).map(|o| f64::from(u8::from(o == i))).collect())).fold(0.0, f64::max)
}

fn power_iteration(j: &[f64], mut v: Vec<f64>) -> f64 {
    let n = v.len();
    let mut size = 0.0;
    for _ in 0..200 {
        let mut w = vec![0.0; n];
        add_operator(Some(j), &v, &mut w);
        size = norm(&w);
        if size == 0.0 {
            return 0.0;
        }
        v = w.iter().map(|w| w / size).collect();
    }
    size * (1.0 + 1e-9)
}
