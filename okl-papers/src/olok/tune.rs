//! How settings are chosen: on a part of the training set, never on the test set.

use okl::budget::olok_t0;
use rayon::prelude::*;

use super::batch::{Rls, cross_validated};
use super::online::{Keep, Setting, error};
use crate::data::Rows;

/// The widths of the paper's sweep, which goes from 1e-3 to 1e2.
pub const WIDTHS: [f64; 9] = [1e-3, 0.1, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0];
/// Those of a smoke test.
pub const FEW_WIDTHS: [f64; 4] = [0.1, 1.0, 10.0, 50.0];
/// Regularisers of vv-RLS for cross-validation.
const LAMBDAS: [f64; 4] = [1e-6, 1e-5, 1e-4, 1e-3];
/// After how many passes the error is looked at.
pub const PASSES: [u64; 6] = [1, 2, 4, 8, 16, 24];

/// Rows that are learned and rows that are held out while settings are chosen.
pub struct Tuning {
    learned: Rows,
    held: Rows,
}

impl Tuning {
    /// Four fifths and one fifth of the first rows of a training set, at most so many.
    pub fn new(train: &Rows, most: usize) -> Self {
        let rows = train.split(most).0;
        let (learned, held) = rows.split(rows.len() * 4 / 5);
        Tuning { learned, held }
    }

    /// How many rows are learned.
    pub fn rows(&self) -> usize {
        self.learned.len()
    }

    /// The error of a setting on the rows held out, after one pass over the others.
    fn error(&self, setting: &Setting) -> anyhow::Result<f64> {
        error(&setting.fit(&self.learned, 1)?, &self.held)
    }

    /// The setting with the least error, and that error.
    ///
    /// # Errors
    /// If the engine refuses a setting.
    pub fn best(&self, settings: &[Setting]) -> anyhow::Result<(Setting, f64)> {
        let errors: Vec<f64> = settings.par_iter().map(|s| self.error(s)).collect::<anyhow::Result<_>>()?;
        let best = (0..errors.len()).min_by(|a, b| finite(errors[*a]).total_cmp(&finite(errors[*b]))).unwrap_or(0);
        Ok((settings[best], errors[best]))
    }

    /// The setting that comes to within `goal` after the fewest passes of at most `most`, or closest to it; and how many passes.
    ///
    /// # Errors
    /// If the engine refuses a setting.
    pub fn best_in_passes(&self, settings: &[Setting], goal: f64, most: u64) -> anyhow::Result<(Setting, u64)> {
        let course = |setting: &Setting| -> anyhow::Result<Vec<f64>> {
            let (mut learner, mut errors) = (setting.learner(self.learned.width)?, Vec::new());
            for pass in 0..most {
                setting.pass(&mut learner, &self.learned, pass)?;
                if PASSES.contains(&(pass + 1)) {
                    errors.push(finite(error(&learner, &self.held)?));
                }
            }
            Ok(errors)
        };
        let courses: Vec<Vec<f64>> = settings.par_iter().map(course).collect::<anyhow::Result<_>>()?;
        let least = |look: usize| (0..courses.len()).min_by(|a, b| courses[*a][look].total_cmp(&courses[*b][look])).unwrap_or(0);
        let looks = courses.first().map_or(1, Vec::len);
        let enough = (0..looks).find(|look| courses[least(*look)][*look] <= goal).unwrap_or(looks - 1);
        Ok((settings[least(enough)], PASSES[enough]))
    }
}

/// An error that is not finite (the run diverged) counts as the largest number.
fn finite(error: f64) -> f64 {
    if error.is_finite() { error } else { f64::MAX }
}

/// Settings of vv-RLS.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Batch {
    /// The kernel's width.
    pub mu: f64,
    /// The regulariser.
    pub lambda: f64,
    /// The error by which it was chosen.
    pub error: f64,
}

impl Batch {
    /// The best regulariser for a width by cross-validation.
    ///
    /// # Errors
    /// If a Gram matrix is not positive semidefinite.
    pub fn cross_validated(rows: &Rows, mu: f64) -> anyhow::Result<Self> {
        let one = |lambda: &f64| Ok(Batch { mu, lambda: *lambda, error: cross_validated(rows, mu, *lambda)? });
        least(LAMBDAS.iter().map(one).collect::<anyhow::Result<_>>()?)
    }

    /// The width with the least error and its neighbours again with more rows, which want less of a regulariser: with the one
    /// that was found, a third, a tenth and a thirtieth of it.
    ///
    /// # Errors
    /// If a Gram matrix is not positive semidefinite.
    pub fn refined(found: &[Batch], tuning: &Tuning) -> anyhow::Result<Self> {
        let mut tried = Vec::new();
        for Batch { mu, lambda, .. } in neighbours(found) {
            for lambda in [1.0, 3.0, 10.0, 30.0].map(|part| lambda / part) {
                tried.push(Batch { mu: *mu, lambda, error: Rls::fit(&tuning.learned, *mu, lambda)?.error(&tuning.held) });
            }
        }
        least(tried)
    }
}

/// The width with the least error and those on both sides of it.
pub fn neighbours(found: &[Batch]) -> &[Batch] {
    let best = (0..found.len()).min_by(|a, b| found[*a].error.total_cmp(&found[*b].error)).unwrap_or(0);
    let first = best.saturating_sub(1).min(found.len().saturating_sub(3));
    &found[first..found.len().min(first + 3)]
}

fn least(tried: Vec<Batch>) -> anyhow::Result<Batch> {
    tried.into_iter().min_by(|a, b| a.error.total_cmp(&b.error)).ok_or_else(|| anyhow::anyhow!("nothing was tried"))
}

/// Every combination of a width, a regulariser and a step size.
fn grid(mus: &[f64], lambdas: &[f64], etas: &[f64], setting: impl Fn(f64, f64, f64) -> Setting) -> Vec<Setting> {
    let pairs = || lambdas.iter().flat_map(|lambda| etas.iter().map(move |eta| (*lambda, *eta)));
    mus.iter().flat_map(|mu| pairs().map(|(lambda, eta)| setting(*mu, lambda, eta)).collect::<Vec<_>>()).collect()
}

/// Algorithm 1 with lambda and eta free, eta lambda < 1.
pub fn plain(mus: &[f64]) -> Vec<Setting> {
    let mut settings = grid(mus, &[1e-5, 1e-4, 1e-3, 1e-2, 0.1], &[0.3, 1.0, 3.0, 10.0], Setting::plain);
    settings.retain(|s| s.eta * s.lambda < 1.0);
    settings
}

/// Constant and falling steps, implicit, with and without an average.
pub fn free(mus: &[f64], averages: &[f64]) -> Vec<Setting> {
    let with = |falling: bool, average: f64| {
        move |mu, lambda, eta| Setting { falling, implicit: true, average, ..Setting::plain(mu, lambda, eta) }
    };
    let both = |average: &f64| {
        let lambdas = [1e-6, 1e-5, 1e-4];
        [
            grid(mus, &lambdas, &[0.3, 1.0, 3.0, 10.0], with(false, *average)),
            grid(mus, &lambdas, &[10.0, 30.0], with(true, *average)),
        ]
        .concat()
    };
    averages.iter().flat_map(both).collect()
}

/// Those whose truncation by Theorem O1 begins within half of so many rows.
pub fn truncated(mus: &[f64], rows: usize) -> Vec<Setting> {
    let mut settings = Vec::new();
    for (keep, average) in [0.3, 0.4, 0.45].iter().flat_map(|e| [(Keep::Theorem(*e), 0.0), (Keep::Theorem(*e), 1e-3)]) {
        let setting = |mu, product: f64, eta| Setting { implicit: true, average, keep, ..Setting::plain(mu, product / eta, eta) };
        settings.extend(grid(mus, &[0.2, 0.3, 0.5, 0.9], &[1.0, 10.0, 100.0], setting));
    }
    let active = |s: &Setting| matches!(s.keep, Keep::Theorem(e) if olok_t0(s.eta * s.lambda, e) < rows as f64 / 2.0);
    settings.retain(active);
    settings
}

/// So many terms, constant and falling steps.
pub fn bounded(mus: &[f64], keep: Keep) -> Vec<Setting> {
    let mut settings = Vec::new();
    for average in [1e-3, 3e-3] {
        let setting = |falling| {
            move |mu, lambda, eta| Setting { falling, implicit: true, average, keep, ..Setting::plain(mu, lambda, eta) }
        };
        settings.extend(grid(mus, &[1e-6, 1e-4, 1e-3], &[1.0, 3.0], setting(false)));
        settings.extend(grid(mus, &[1e-6, 1e-4], &[10.0], setting(true)));
    }
    settings
}

/// For several passes: constant steps, hardly a regulariser, an average.
pub fn repeated(mus: &[f64], keep: Keep) -> Vec<Setting> {
    let with = |average: f64| {
        move |mu, lambda, eta| Setting { falling: false, implicit: true, average, keep, ..Setting::plain(mu, lambda, eta) }
    };
    [1e-3, 3e-4].iter().flat_map(|average| grid(mus, &[1e-6, 1e-5], &[1.0, 3.0], with(*average))).collect()
}
