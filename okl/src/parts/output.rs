//! Computes outputs from sums over terms: K(x, x') = sum_m k_m(x, x') J_m, or any operator-valued kernel.
//!
//! With plane m holding the values k_m(x, x_i) and a_i the coefficient of term i,
//!
//! ```text
//! f(x) = sum_m J_m sum_i k_m(x, x_i) a_i        separable kernels and their sums (O p.3, algorithms.md 3.4)
//! f_p(x) = sum_q sum_i K_pq(x, x_i) a_iq        a general operator-valued kernel: one plane per entry (p, q)
//! ```
//!
//! A kernel kappa(y, y') on labels is the special case where J is its Gram matrix.

//! ```
//! use okl::output::{Operator, Output};
//! let j = Operator::new(&[1.0, 0.1, 0.1, 1.0])?;           // two outputs that have something in common
//! let mut f = [0.0; 2];
//! Output::Separable(vec![j]).apply_one(&[0.5], &[2.0, 0.0], &mut f);
//! assert_eq!(f, [1.0, 0.1]);
//! assert!(Operator::new(&[1.0, 2.0, 2.0, 1.0]).is_err());  // not positive semidefinite
//! # Ok::<(), okl::Error>(())
//! ```

use crate::error::{Error, Result};
use crate::rls::{Eigen, eigen_symmetric};

/// A symmetric positive semidefinite matrix J with its eigenvectors.
#[derive(Clone, Debug)]
pub struct Operator {
    size: usize,
    entries: Vec<f64>,
    eigen: Eigen,
}

impl Operator {
    /// Checks that `entries` (row by row) are a symmetric positive semidefinite matrix.
    pub fn new(entries: &[f64]) -> Result<Self> {
        let size = (entries.len() as f64).sqrt().round() as usize;
        if size == 0 || size * size != entries.len() {
            return Err(Error::config("operator", format!("J must be square: {} entries are not", entries.len())));
        }
        if let Some(bad) = entries.iter().find(|v| !v.is_finite()) {
            return Err(Error::config("operator", format!("J must be finite, found {bad}")));
        }
        let symmetric = (0..size).all(|i| (0..i).all(|j| entries[i * size + j] == entries[j * size + i]));
        if !symmetric {
            return Err(Error::config("operator", "J must be symmetric"));
        }
        let eigen = eigen_symmetric(entries, size);
        let largest = eigen.values.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        let least = eigen.values.iter().copied().fold(f64::INFINITY, f64::min);
        if least < -1e-10 * largest {
            return Err(Error::config(
                "operator",
                format!("J must be positive semidefinite; its least eigenvalue is {least:.3e}"),
            ));
        }
        Ok(Operator { size, entries: entries.to_vec(), eigen })
    }

    /// The number of outputs.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The entries, row by row.
    pub fn entries(&self) -> &[f64] {
        &self.entries
    }

    /// Eigenvalues and eigenvectors.
    pub fn eigen(&self) -> &Eigen {
        &self.eigen
    }

    fn add_product(&self, scale: f64, a: &[f64], out: &mut [f64]) {
        for (out, row) in out.iter_mut().zip(self.entries.chunks_exact(self.size)) {
            *out += scale * dot(row, a);
        }
    }
}

/// How the planes of kernel values act on coefficients.
#[derive(Clone, Debug)]
pub enum Output {
    /// J = I over one plane; outputs may be added (new classes).
    Identity,
    /// One J_m per plane.
    Separable(Vec<Operator>),
    /// One plane per entry (p, q) of a general operator-valued kernel.
    Full,
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl Output {
    /// out = sum_m value_m J_m a: one kernel value (per plane) acting on one coefficient.
    pub fn apply_one(&self, values: &[f64], a: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        match self {
            Output::Identity => add_scaled(values[0], a, out),
            Output::Separable(js) => js.iter().zip(values).for_each(|(j, &k)| j.add_product(k, a, out)),
            Output::Full => {
                for (out, row) in out.iter_mut().zip(values.chunks_exact(a.len())) {
                    *out = dot(row, a);
                }
            }
        }
    }

    /// a^T K b for one kernel value per plane.
    pub fn form(&self, values: &[f64], a: &[f64], b: &[f64]) -> f64 {
        match self {
            Output::Identity => values[0] * dot(a, b),
            Output::Separable(js) => {
                let term = |(j, &k): (&Operator, &f64)| {
                    k * a.iter().zip(j.entries.chunks_exact(j.size)).map(|(a, row)| a * dot(row, b)).sum::<f64>()
                };
                js.iter().zip(values).map(term).sum()
            }
            Output::Full => a.iter().zip(values.chunks_exact(b.len())).map(|(a, row)| a * dot(row, b)).sum(),
        }
    }

    /// A bound on the largest eigenvalue of K = K(x, x), given by one kernel value per plane.
    pub(crate) fn largest(&self, values: &[f64]) -> f64 {
        let of = |j: &Operator| j.eigen.values.iter().copied().fold(0.0, f64::max);
        match self {
            Output::Identity => values[0],
            Output::Separable(js) => js.iter().zip(values).map(|(j, k)| k * of(j)).sum(),
            // The trace: all eigenvalues are at least 0.
            Output::Full => values.iter().step_by(values.len().isqrt() + 1).sum(),
        }
    }

    /// f = sum_m J_m S_m from the sums S_m over terms (`sums[m]`, or `sums[p * d + q]` for [`Output::Full`]).
    pub(crate) fn apply_sums(&self, sums: &[f64], out: &mut [f64]) {
        let d = out.len();
        match self {
            Output::Identity => out.copy_from_slice(&sums[..d]),
            Output::Separable(js) => {
                out.fill(0.0);
                js.iter().zip(sums.chunks_exact(d)).for_each(|(j, s)| j.add_product(1.0, s, out));
            }
            Output::Full => {
                for (out, row) in out.iter_mut().zip(sums.chunks_exact(d)) {
                    *out = row.iter().sum();
                }
            }
        }
    }

    /// The number of sums that [`Output::apply_sums`] reads, over `planes` planes.
    pub(crate) fn sums(&self, outputs: usize) -> usize {
        match self {
            Output::Identity => outputs,
            Output::Separable(js) => js.len() * outputs,
            Output::Full => outputs * outputs,
        }
    }

    /// The one operator of a separable kernel, if there is one; none means J = I.
    pub(crate) fn single(&self) -> Option<&Operator> {
        match self {
            Output::Separable(js) if js.len() == 1 => Some(&js[0]),
            _ => None,
        }
    }

    /// Whether the kernel is one scalar kernel times one fixed matrix. Only then can terms be projected onto each other.
    pub(crate) fn projectable(&self) -> bool {
        matches!(self, Output::Identity) || self.single().is_some()
    }
}

pub(crate) fn add_scaled(scale: f64, a: &[f64], out: &mut [f64]) {
    for (out, a) in out.iter_mut().zip(a) {
        *out += scale * a;
    }
}
