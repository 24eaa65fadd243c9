//! A budget in bytes instead of a number of terms.
//!
//! ```
//! use okl::Config;
//! let bytes = okl::config::sizing::bytes("64MB")?;
//! let config = Config::from_toml("loss = 'hinge'\nstep = 'smd'\nlambda = 1e-4\ngamma = 0.5")?.within(bytes, 20, 1)?;
//! assert_eq!(config.budget().capacity(), Some(64_000_000 / 299));    // 4 * 20 + 24 + 8 * 2 + 128 + 4 + 1 + 36, and 1/32 of it
//! # Ok::<(), okl::Error>(())
//! ```

use crate::basis::quadratic;
use crate::config::portfolio::HeadRule;
use crate::config::{Choice, Config, Scale};
use crate::engine::head::Average;
use crate::error::{Error, Result};
use crate::learner::batch::BLOCK;
use crate::learner::scaling::MOST_COMPARED;
use crate::parts::budget::BudgetRule;
use crate::parts::regulariser::AnyRegulariser;
use crate::parts::step::{AnyStep, StepSize};

const UNITS: [(&str, f64); 7] =
    [("KIB", 1024.0), ("MIB", 1048576.0), ("GIB", 1073741824.0), ("KB", 1e3), ("MB", 1e6), ("GB", 1e9), ("B", 1.0)];

/// Reads a number of bytes: `64MB`, `1.5 GiB`, `500kB`, `4096B`.
///
/// # Errors
/// If it is not a number with a unit, or less than one byte.
pub fn bytes(text: &str) -> Result<usize> {
    let refused = || Error::config("memory", format!("expected a size as 64MB, 1.5GiB or 500kB, found {text:?}"));
    let upper = text.trim().to_ascii_uppercase();
    let number = |(unit, factor): &(&str, f64)| Some((upper.strip_suffix(unit)?.trim().parse::<f64>().ok()?, *factor));
    let (number, factor) = UNITS.iter().find_map(number).ok_or_else(refused)?;
    let size = number * factor;
    if size >= 1.0 && size <= (1u64 << 48) as f64 { Ok(size as usize) } else { Err(refused()) }
}

/// Buffers that grow with the number of terms grow by 1/`GROWTH` at a time.
const GROWTH: usize = 32;

impl Config {
    /// The bytes per term, including everything that grows with the number of terms:
    ///
    /// | bytes | for |
    /// |---|---|
    /// | 4 features | the centre |
    /// | 8 features | with `scale = auto`, where units follow the stream: its unscaled row |
    /// | 20 + 2 terms | with `kernel = precomputed`, in place of the centre: its item, k(x, x), and the values between terms |
    /// | 24 | its squared norm, birth time, id and slot |
    /// | 8 outputs functions | coefficients; functions: of every head, f, the trace of smd, the average |
    /// | 128 kernels | kernel values of the 32 rows of a block; kernels: widths of a bank, parts of an operator |
    /// | 4 kernels | if norms are exact (smd, regularisers other than the square): kernel values of a term that is dropped |
    /// | 8, 36, 4 | workspace of the budgets transfer, merge and forgetron |
    /// | outputs functions / 4 | totals of chunks of 1,024 terms for 32 rows; with several heads only under unlimited, window, age and olok |
    ///
    /// Memory grows by a thirty-second at a time, and by 32 terms at least, so up to 1/32 or 32 terms more are held. An index of ids,
    /// where rows have ids, takes up to 40 bytes per term more. Beside the terms there is [`Config::bytes_beside_terms`].
    ///
    /// ```
    /// # use okl::Config;
    /// let config = Config::from_toml("kernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'")?;
    /// assert_eq!(config.bytes_per_term(100, 1), 4 * 100 + 24 + 8 + 128 + 1);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn bytes_per_term(&self, features: usize, outputs: usize) -> usize {
        let (columns, kernels) = (outputs * self.functions(), self.kernels().len());
        let trace = self.members().iter().any(|member| matches!(member.step, AnyStep::Smd { .. }));
        let leaving = if trace || self.regulariser != AnyRegulariser::Square { 4 * kernels } else { 0 };
        let settles = self.heads().len() == 1 || self.budget().settles();
        let totals = if settles { columns.div_ceil(4) } else { 0 };
        let compared = match self.budget() {
            BudgetRule::Transfer { .. } => 8,
            BudgetRule::Merge { .. } => 36,
            BudgetRule::Forgetron { .. } => 4,
            BudgetRule::Unlimited {} | BudgetRule::Window { .. } | BudgetRule::Age { .. } | BudgetRule::Olok { .. } => 0,
            BudgetRule::Weight { .. } | BudgetRule::Certified { .. } => 0,
        };
        let unscaled = if self.units_follow() { 8 * features } else { 0 };
        let centre = if self.is_precomputed() { 20 + 2 * self.budget().capacity().unwrap_or(0) } else { 4 * features + unscaled };
        let weighted = if self.weighs() || !self.relevance.is_empty() { 4 } else { 0 };
        centre + 24 + weighted + 8 * columns + 128 * kernels + leaving + totals + compared
    }

    /// The bytes per term of sparse rows, which do not depend on the number of features: those of [`Config::bytes_per_term`] without the centre,
    /// 48 for its lists, 28 for every value that is not zero (8 in its row, the others in its column with room to grow), and 104 for every column in which no
    /// other term has a value. `values` and `columns` are means over the terms: of the number of values, and of the number of different columns
    /// of all terms divided by the number of terms.
    ///
    /// ```
    /// # use okl::Config;
    /// let config = Config::from_toml("kernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\nanchor = 'none'")?;
    /// assert_eq!(config.bytes_per_sparse_term(10, 2, 1), 24 + 8 + 128 + 1 + 48 + 28 * 10 + 104 * 2);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn bytes_per_sparse_term(&self, values: usize, columns: usize, outputs: usize) -> usize {
        self.bytes_per_term(0, outputs) + 48 + 28 * values + 104 * columns
    }

    /// The bytes that are held for every feature, whether rows have it or not, where columns are scaled: shift and factor, once more in the
    /// settings, and three counts of clipped values, 56 bytes; with `scale = log` 16 more. A model file takes nearly as much. They are
    /// not part of `memory`.
    ///
    /// ```
    /// # use okl::Config;
    /// let config = Config::from_toml("loss = 'hinge'\nanchor = 'none'")?;
    /// assert_eq!(config.bytes_of_frame(1 << 20), 56 << 20);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn bytes_of_frame(&self, features: usize) -> usize {
        match self.scale {
            Scale::Log if self.needs_scale() => 72 * features,
            _ if self.needs_scale() => 56 * features,
            _ => 0,
        }
    }

    /// The bytes of a weight vector (`form = weights`), including everything that grows with the number of features: per feature (for a
    /// polynomial kernel of degree 2 there are (n + 1)(n + 2)/2 for n columns),
    /// rounded up to 32 of them, 8 bytes per output and function, as many for step sizes where every coordinate has its own, and 128 bytes
    /// for the 32 rows of a block. Memory grows by a thirty-second at a time, which is included. Beside it there is [`Config::bytes_beside_terms`].
    ///
    /// ```
    /// # use okl::Config;
    /// let config = Config::from_toml("kernel = 'linear'\nstep = 'constant:0.5'\nlambda = 0.01")?;
    /// assert_eq!(config.bytes_of_weights(640, 1), 660 * (8 + 128));       // 640 and a thirty-second of it
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn bytes_of_weights(&self, features: usize, outputs: usize) -> usize {
        let weights = if self.is_quadratic() { quadratic::features(features) } else { features };
        let columns = weights.next_multiple_of(32);
        let steps = self.heads().iter().filter(|head| head.step.per_coordinate(head.lambda).is_some()).count();
        (columns + columns / GROWTH) * (8 * outputs * (self.functions() + steps) + 128)
    }

    /// The number of functions that have a coefficient per term and output.
    fn functions(&self) -> usize {
        let functions = |head: &HeadRule| {
            let riders = [matches!(head.step, AnyStep::Smd { .. }), head.average != Average::None, head.beside.is_some()];
            1 + riders.iter().filter(|rides| **rides).count()
        };
        self.heads().iter().map(functions).sum()
    }

    /// A bound on the bytes that do not depend on the number of terms: 256 kB, the rows of a block and of the warm-up, the kernel
    /// values among 32 rows, and 32 terms that are held ahead. What one call hands over (rows, targets, scores) is not in it.
    ///
    /// ```
    /// # use okl::Config;
    /// let config = Config::from_toml("kernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'")?;
    /// assert!(config.bytes_beside_terms(100, 1) > 262_144);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn bytes_beside_terms(&self, features: usize, outputs: usize) -> usize {
        let warmup = if self.needs_warmup() { self.warmup } else { 0 };
        let kept = if self.units_follow() { 8 * features * (BLOCK + 2 * self.warmup) } else { 0 };
        let rows = (BLOCK + warmup) * (16 * features + 8 * outputs + 32) + kept;
        let distances = if warmup > 0 { 16 * warmup.min(MOST_COMPARED).pow(2) } else { 0 };
        262_144 + rows + distances + 16_384 * self.kernels().len() + 4096 * outputs * self.functions()
    }

    /// The same settings with as many terms as fit into `bytes`. [`Config::bytes_beside_terms`] are needed in addition.
    ///
    /// ```
    /// # use okl::Config;
    /// let config = Config::from_toml("kernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'")?;
    /// assert!(config.within(1_000_000, 100, 1)?.budget().capacity() > Some(1000));
    /// # Ok::<(), okl::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the budget has no number of terms, or not even one term fits.
    pub fn within(&self, bytes: usize, features: usize, outputs: usize) -> Result<Config> {
        if self.form == Choice::Auto && self.uses_weights() {
            // A number of bytes asks for terms.
            return Config { budget: Some(self.budget_of_terms()), ..self.clone() }.within(bytes, features, outputs);
        }
        if self.is_precomputed() {
            let reason = "the memory of a precomputed kernel grows with the square of the number of terms: give that number";
            return Err(Error::config("memory", reason));
        }
        let each = self.bytes_per_term(features, outputs);
        let each = each + each.div_ceil(GROWTH);
        self.of_so_many_bytes(bytes, each, &format!("{features} features"))
    }

    /// As [`Config::within`], for sparse rows; see [`Config::bytes_per_sparse_term`].
    ///
    /// ```
    /// # use okl::Config;
    /// let config = Config::from_toml("kernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\nanchor = 'none'")?;
    /// assert!(config.within_sparse(1_000_000, 10, 2, 1)?.budget().capacity() > Some(1000));
    /// # Ok::<(), okl::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Config::within`].
    pub fn within_sparse(&self, bytes: usize, values: usize, columns: usize, outputs: usize) -> Result<Config> {
        if self.form == Choice::Auto && self.uses_weights() {
            let terms = Config { budget: Some(self.budget_of_terms()), ..self.clone() };
            return terms.within_sparse(bytes, values, columns, outputs);
        }
        let each = self.bytes_per_sparse_term(values, columns, outputs);
        self.of_so_many_bytes(bytes, each + each.div_ceil(GROWTH), &format!("{values} values"))
    }

    /// The same settings with as many terms of `each` bytes as fit into `bytes`.
    fn of_so_many_bytes(&self, bytes: usize, each: usize, term: &str) -> Result<Config> {
        let refused = |reason: String| Err(Error::config("memory", reason));
        match (self.budget().with_terms(bytes / each), bytes / each) {
            (None, _) => refused("only window, transfer, merge and forgetron have a number of terms to choose".into()),
            (_, 0) => refused(format!("one term of {term} takes {each} bytes, there are {bytes}")),
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
        // (4 + 8) * 20 + 24 + 8 * 15 functions + 128 * 3 widths + 36 of `merge`, and 1/32 of it.
        assert!(said("").contains("takes 830 bytes"), "{}", said(""));
        assert!(said("budget = 'age:100'").contains("window, transfer, merge"));
    }
}
