//! Rows that are given by their kernel values (`kernel = precomputed`): what they must satisfy, and the items behind the terms.

use crate::basis::given::{Given, GivenRows};
use crate::error::{Error, ErrorKind, Result};
use crate::learner::Learner;
use crate::learner::batch::Batch;
use crate::learner::check::LARGEST_VALUE;
use crate::parts::budget::BudgetRule;
use crate::parts::kernel::AnyKernel;

/// The relative error that a kernel value may have: that of a kernel computed in single precision, with room to spare.
const TOLERANCE: f64 = 1e-4;

/// Why a learner and a batch do not fit together.
const NEEDS_VALUES: &str = "precomputed: this learner takes rows of kernel values (KernelRows; in Python the rows of a Gram matrix, or \
                            objects and a function), not rows of features";
const NEEDS_FEATURES: &str = "rows of kernel values need kernel = precomputed";

fn refuse(row: usize, item: u64, found: f64, expected: impl Into<String>) -> Result<()> {
    Err(ErrorKind::KernelValue { row, item, found, expected: expected.into() }.into())
}

impl GivenRows<'_> {
    /// Refuses values that are not finite or too large; `first` is the number of the first row in its call.
    pub(super) fn check(self, first: usize) -> Result<()> {
        for i in 0..self.count() {
            let bad = self.row(i).iter().position(|v| v.is_nan() || v.abs() > LARGEST_VALUE);
            if let Some(column) = bad {
                return refuse(first + i, self.item_of(column), self.row(i)[column], "a finite number up to 1e37");
            }
        }
        Ok(())
    }

    /// Refuses rows without a column for an item.
    fn demand_column(self, item: u64, what: &str) -> Result<()> {
        match self.column(item) {
            Some(_) => Ok(()),
            None => Err(Error::shape("columns of kernel values", format!("one for item {item}, {what}"), self.width())),
        }
    }

    /// Checks k(x, x) >= 0 of row `i`, and that the values of rows before it are symmetric and not larger than norms allow.
    fn check_among(self, i: usize) -> Result<()> {
        let (item, own) = (self.items()[i], self.own(i));
        if own < 0.0 {
            return refuse(i, item, own, "k(x, x) >= 0: a kernel is positive semidefinite");
        }
        for before in 0..i {
            let (other, found) = (self.items()[before], self.value(i, self.items()[before]));
            check_norms(i, other, found, own, self.own(before))?;
            let reversed = self.value(before, item);
            if (found - reversed).abs() > TOLERANCE * (own * self.own(before)).sqrt() {
                return refuse(
                    i,
                    other,
                    found,
                    format!("{reversed}, the value of the two in the other order: a kernel is symmetric"),
                );
            }
        }
        Ok(())
    }

    /// Checks that the values of row `i` against the terms are not larger than norms allow.
    fn check_against(self, i: usize, terms: &[(u64, f64)]) -> Result<()> {
        let own = self.own(i);
        terms.iter().try_for_each(|(item, other)| check_norms(i, *item, self.value(i, *item), own, *other))
    }
}

/// |k(x, y)|² <= k(x, x) k(y, y).
fn check_norms(row: usize, item: u64, found: f64, own: f64, other: f64) -> Result<()> {
    let most = (own * other).sqrt();
    match found.abs() > (1.0 + TOLERANCE) * most {
        true => refuse(
            row,
            item,
            found,
            format!(
                "at most {most} in size, the square root of k(x, x) k(y, y): a kernel is positive semidefinite, a distance is not"
            ),
        ),
        false => Ok(()),
    }
}

impl Learner {
    /// The items of the live terms in slot order, as [`Learner::coefficients`], with `kernel = precomputed`; none for other kernels.
    ///
    /// ```
    /// # use okl::{Batch, Config, KernelRows, Learner};
    /// let mut learner = Learner::new(Config::from_toml("kernel = 'precomputed'\nstep = 'constant:0.5'\nlambda = 0.01")?)?;
    /// learner.learn(&Batch::of_kernel_values(&KernelRows::new(&[7], &[7], &[1.0])?).numbers(&[1.0]))?;
    /// assert_eq!(learner.items(), [7]);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn items(&self) -> Vec<u64> {
        self.items_and_squares().map(|(item, _)| item).collect()
    }

    /// The number of the youngest term in the order of [`Learner::items`], and its kernel values against all live terms, as they were
    /// given: a caller that gives the objects of a saved model again can compare. None without terms, and for other kernels.
    pub fn values_of_youngest(&self) -> Option<(usize, Vec<f64>)> {
        let (terms, space) = (&self.engine.basis, self.engine.basis.space.given()?);
        let live: Vec<usize> = terms.live().collect();
        let youngest = (0..live.len()).max_by_key(|&i| terms.birth(live[i]))?;
        Some((youngest, live.iter().map(|&slot| space.between(live[youngest], slot)).collect()))
    }

    /// The items of the live terms, and k(x, x) of each.
    fn items_and_squares(&self) -> impl Iterator<Item = (u64, f64)> {
        let of_slot = |space: &Given<AnyKernel>, slot| space.item(slot).map(|item| (item, space.own(slot)));
        self.engine.basis.live().filter_map(move |slot| of_slot(self.engine.basis.space.given()?, slot))
    }

    /// Refuses kernel values for a learner of rows of features, and the other way round.
    pub(super) fn check_kind(&self, batch: &Batch<'_>) -> Result<()> {
        match (self.config.is_precomputed(), batch.kernel_rows().is_some()) {
            (true, false) => Err(Error::config("kernel", NEEDS_VALUES)),
            (false, true) => Err(Error::config("kernel", NEEDS_FEATURES)),
            _ => Ok(()),
        }
    }

    /// Refuses rows of kernel values without a column for each term.
    pub(super) fn check_columns(&self, batch: &Batch<'_>) -> Result<()> {
        let Some(rows) = batch.kernel_rows().filter(|rows| rows.count() > 0) else { return Ok(()) };
        self.items().into_iter().try_for_each(|item| rows.demand_column(item, "a term"))
    }

    /// Refuses rows of kernel values that cannot be learned: without a column for each row, or with values that no kernel has.
    pub(super) fn check_kernel_values(&self, batch: &Batch<'_>) -> Result<()> {
        let Some(rows) = batch.kernel_rows() else { return Ok(()) };
        rows.items().iter().try_for_each(|item| rows.demand_column(*item, "a row of this call"))?;
        let terms: Vec<(u64, f64)> = self.items_and_squares().collect();
        let normal = matches!(self.config.budget(), BudgetRule::Forgetron { .. });
        for i in 0..rows.count() {
            rows.check_among(i)?;
            rows.check_against(i, &terms)?;
            if normal && rows.own(i) > 1.0 + TOLERANCE {
                return refuse(i, rows.items()[i], rows.own(i), "k(x, x) <= 1, which the Forgetron needs: normalise the kernel");
            }
        }
        Ok(())
    }
}
