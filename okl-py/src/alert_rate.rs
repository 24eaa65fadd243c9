//! `okl.AlertRate`.

use pyo3::prelude::*;

/// The observed alert rate, and a bound on its distance from nu.
///
/// Rows count by their weights: the rate is the weight of the rows outside, divided by the weight of all rows. Rows of weight 0
/// and, with the threshold "tracker", rows from before there is a threshold (nan in `learn_report`) do not count.
///
/// Attributes
/// ----------
/// nu : float
///     The requested rate.
/// rate : float
///     The observed rate: the share of the rows outside, by weight.
/// bound : float
///     ``abs(rate - nu)`` is at most this, for any data and weights.
///
/// Examples
/// --------
/// >>> import numpy as np, okl
/// >>> m = okl.Learner(loss="nu_novelty", nu=0.1, kernel="gaussian:1", step="constant:0.01", lam=1.0)
/// >>> scores = m.learn(np.sin(np.arange(4000.0)).reshape(-1, 1))
/// >>> abs(m.alert_rate.rate - 0.1) <= m.alert_rate.bound
/// True
#[pyclass(module = "okl", frozen, get_all, eq)]
#[derive(PartialEq)]
pub struct AlertRate {
    /// The requested rate.
    nu: f64,
    /// The observed rate: the share of the rows outside, by weight.
    rate: f64,
    /// abs(rate - nu) is at most this, for any data and weights.
    bound: f64,
}

impl From<okl::certificate::AlertRate> for AlertRate {
    fn from(found: okl::certificate::AlertRate) -> Self {
        AlertRate { nu: found.nu, rate: found.rate, bound: found.bound }
    }
}

#[pymethods]
impl AlertRate {
    #[new]
    fn new(nu: f64, rate: f64, bound: f64) -> Self {
        AlertRate { nu, rate, bound }
    }

    fn __getnewargs__(&self) -> (f64, f64, f64) {
        (self.nu, self.rate, self.bound)
    }

    fn __repr__(&self) -> String {
        format!("AlertRate(nu={}, rate={}, bound={})", self.nu, self.rate, self.bound)
    }
}
