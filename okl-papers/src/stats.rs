//! Means over repetitions, and how far these are apart.

use okl_cli::report::text;

/// Mean and standard deviation of some repetitions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The standard deviation (of a sample); 0 for one value.
    pub deviation: f64,
}

impl Spread {
    /// Of these values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.into_iter().collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let square: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
        Spread { mean, deviation: if n > 1.0 { (square / (n - 1.0)).sqrt() } else { 0.0 } }
    }

    /// "12.3 ± 0.4 %" for a share.
    pub fn percent(&self) -> String {
        format!("{:.2}\u{a0}±\u{a0}{:.2}\u{a0}%", 100.0 * self.mean, 100.0 * self.deviation)
    }

    /// "0.123 ± 0.045": the deviation with two digits, the mean with as many decimals.
    pub fn figure(&self) -> String {
        let decimals = 1.0 - self.deviation.log10().floor();
        if !(0.0..=6.0).contains(&decimals) {
            return format!("{}\u{a0}±\u{a0}{}", text::figure(self.mean), text::figure(self.deviation));
        }
        format!("{:.2$}\u{a0}±\u{a0}{:.2$}", self.mean, self.deviation, decimals as usize).replace('-', "−")
    }
}
