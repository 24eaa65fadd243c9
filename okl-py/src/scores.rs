//! Results of the rows of a call, collected while the interpreter's lock is released.

use numpy::{IntoPyArray, PyArrayMethods};
use okl::engine::Outcome;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Scores, row by row. A new class adds a column.
pub struct Table {
    rows: usize,
    width: usize,
    values: Vec<f64>,
}

impl Table {
    /// Space for this many rows.
    pub fn new(rows: usize, width: usize) -> PyResult<Self> {
        let mut values = Vec::new();
        let refuse = |_| PyMemoryError::new_err(format!("no room for the scores of {rows} rows: give fewer at a time"));
        values.try_reserve_exact(rows.saturating_mul(width)).map_err(refuse)?;
        Ok(Table { rows: 0, width, values })
    }

    pub fn push(&mut self, scores: &[f64]) {
        self.widen(scores.len());
        self.rows += 1;
        self.values.extend_from_slice(scores);
        self.values.resize(self.rows * self.width, 0.0);
    }

    /// Adds columns; earlier rows have the score 0 there.
    pub fn widen(&mut self, width: usize) {
        if width <= self.width {
            return;
        }
        let mut wide = vec![0.0; self.rows * width];
        for (to, from) in wide.chunks_exact_mut(width).zip(self.values.chunks_exact(self.width.max(1))) {
            to[..from.len()].copy_from_slice(from);
        }
        (self.values, self.width) = (wide, width);
    }

    /// Converts the scores to an array: (rows,) if `flat` and there is one score per row, else (rows, outputs).
    pub fn array(self, py: Python<'_>, flat: bool) -> PyResult<Bound<'_, PyAny>> {
        let Table { rows, width, values } = self;
        let array = values.into_pyarray(py);
        if flat && width == 1 { Ok(array.into_any()) } else { Ok(array.reshape([rows, width])?.into_any()) }
    }
}

/// The results of every row except its scores.
#[derive(Default)]
pub struct Report {
    loss: Vec<f64>,
    outside: Vec<bool>,
    threshold: Vec<f64>,
    positive: Vec<Option<usize>>,
}

/// Records whether the class of positive scores changes during a call.
#[derive(Default)]
pub struct Signs {
    rows: usize,
    last: Option<usize>,
    /// Whether a row has had a score other than 0. A score of 0 has no sign.
    scored: bool,
    /// Whether rows have been learned before this call.
    pub begun: bool,
    /// The first row at which the class of positive scores changes, the class before and the class after.
    pub turned: Option<(usize, usize, usize)>,
}

impl Signs {
    /// For the next call of a learner. The score of the first example is 0, so there have been other scores from the second one on.
    pub fn after(learner: &okl::Learner) -> Self {
        let (begun, scored) = (learner.examples() > 0, learner.examples() > 1);
        Signs { last: learner.positive(), scored, begun, ..Signs::default() }
    }

    pub fn push(&mut self, step: &Outcome<'_>) {
        if let (Some(before), Some(now), None) = (self.last, step.positive, self.turned)
            && before != now
            && self.scored
        {
            self.turned = Some((self.rows, before, now));
        }
        (self.rows, self.last) = (self.rows + 1, step.positive.or(self.last));
        self.scored |= step.scores.iter().any(|score| *score != 0.0);
    }
}

impl Report {
    pub fn push(&mut self, step: &Outcome<'_>) {
        self.loss.push(step.loss.unwrap_or(f64::NAN));
        self.outside.push(step.outside.unwrap_or(false));
        self.threshold.push(step.threshold.unwrap_or(f64::NAN));
        self.positive.push(step.positive);
    }

    /// Converts the results to a dictionary of arrays; `classes`: the classes of the learner.
    pub fn dictionary<'py>(
        self,
        py: Python<'py>,
        scores: Bound<'py, PyAny>,
        classes: &[Bound<'py, PyAny>],
    ) -> PyResult<Bound<'py, PyDict>> {
        let report = PyDict::new(py);
        report.set_item("scores", scores)?;
        report.set_item("loss", self.loss.into_pyarray(py))?;
        report.set_item("outside", self.outside.into_pyarray(py))?;
        report.set_item("threshold", self.threshold.into_pyarray(py))?;
        let positive: Vec<_> = self.positive.iter().map(|class| class.and_then(|class| classes.get(class))).collect();
        report.set_item("positive", py.import("numpy")?.call_method1("array", (positive, "object"))?)?;
        Ok(report)
    }
}
