//! A budget in bytes in place of a number of terms.
//!
//! ```
//! use okl::Config;
//! let bytes = okl::memory::bytes("64MB")?;
//! let config = Config::from_toml("loss = 'hinge'\nstep = 'smd'\nlambda = 1e-4\ngamma = 0.5")?.within(bytes, 20, 1)?;
//! assert_eq!(config.budget().capacity(), Some(64_000_000 / (4 * 20 + 24 + 8 * 2)));
//! # Ok::<(), okl::Error>(())
//! ```

use crate::config::{Config, Member};
use crate::error::{Error, Result};
use crate::head::Average;
use crate::step::AnyStep;

const UNITS: [(&str, f64); 7] =
    [("KIB", 1024.0), ("MIB", 1048576.0), ("GIB", 1073741824.0), ("KB", 1e3), ("MB", 1e6), ("GB", 1e9), ("B", 1.0)];

/// Reads a number of bytes: `64MB`, `1.5 GiB`, `500kB`, `4096B`.
///
/// # Errors
/// If it is no number with a unit, or less than a byte.
pub fn bytes(text: &str) -> Result<usize> {
    let refused = || Error::config("memory", format!("expected a size as 64MB, 1.5GiB or 500kB, found {text:?}"));
    let upper = text.trim().to_ascii_uppercase();
    let number = |(unit, factor): &(&str, f64)| Some((upper.strip_suffix(unit)?.trim().parse::<f64>().ok()?, *factor));
    let (number, factor) = UNITS.iter().find_map(number).ok_or_else(refused)?;
    let size = number * factor;
    if size >= 1.0 && size <= (1u64 << 48) as f64 { Ok(size as usize) } else { Err(refused()) }
}

impl Config {
    /// What a term takes: 4 bytes per feature, 8 per output, head and function (f, the trace of smd, the average), 24 for the rest.
    pub fn bytes_per_term(&self, features: usize, outputs: usize) -> usize {
        let functions = |member: &Member| match (&member.step, member.average, self.average.given()) {
            // An average beside its head's last hypothesis.
            (_, Average::Exponential { .. }, None) => 1,
            (step, average, _) => 1 + usize::from(average != Average::None) + usize::from(matches!(step, AnyStep::Smd { .. })),
        };
        let functions: usize = self.members().iter().map(functions).sum();
        4 * features + 24 + 8 * outputs * functions
    }

    /// The same settings with as many terms as fit into `bytes`.
    ///
    /// # Errors
    /// If the budget does not count terms, or not one fits.
    pub fn within(&self, bytes: usize, features: usize, outputs: usize) -> Result<Config> {
        let each = self.bytes_per_term(features, outputs);
        let refused = |reason| Err(Error::config("memory", reason));
        match (self.budget().with_terms(bytes / each), bytes / each) {
            (None, _) => refused("only window, transfer, merge and forgetron have a number of terms to choose".into()),
            (_, 0) => refused(format!("one term of {features} features takes {each} bytes, there are {bytes}")),
            (budget, _) => Ok(Config { budget, ..self.clone() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        for (text, size) in [("64MB", 64_000_000), ("1.5 GiB", 1_610_612_736), ("500kB", 500_000), ("1kib", 1024), (" 7 B ", 7)] {
            assert_eq!(bytes(text).unwrap(), size, "{text}");
        }
        for text in ["", "MB", "64", "-1MB", "0B", "nanMB", "infGB", "1e30GB", "64 MB x", "64TBB"] {
            let said = bytes(text).unwrap_err().to_string();
            assert!(said.contains("64MB") && said.contains(&format!("{text:?}")), "{said}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let said = |config: &str| Config::from_toml(config).unwrap().within(100, 20, 1).unwrap_err().to_string();
        assert!(said("").contains("takes 224 bytes"), "{}", said(""));
        assert!(said("budget = 'age:100'").contains("window, transfer, merge"));
    }
}
