//! The class `okl.Learner`.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use okl::loss::{Loss, Reads};
use okl::{Config, Label};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};

use crate::alert_rate::AlertRate;
use crate::call::{self, Given, Object};
use crate::errors::refused;
use crate::scores::{Report, Signs};
use crate::shared::Shared;
use crate::targets::{Named, Reader};
use crate::{command_line, files, health, settings};

/// The largest numbers of features and threads. Larger ones are mistakes and would exhaust the memory.
const MOST_FEATURES: i64 = 1 << 24;
const MOST_THREADS: i64 = 1 << 10;

type Vector<'py> = Bound<'py, PyArray1<f64>>;

/// An online kernel learner: predicts every row of a stream before it learns the row.
///
/// Learning a block of rows gives the same scores and the same model as learning its rows one by one, to the last bit.
///
/// Parameters
/// ----------
/// config : dict, optional
///     Settings by name, as the attribute `config` of a learner has them.
/// **settings
///     Settings as keyword arguments. They override `config`; None counts as not given. A name with parameters is
///     written ``budget="window:1000"``, ``step="decay:eta=1,tau=1000"``, ``budget={"window": {"terms": 1000}}``, or flat:
///     ``budget="window", terms=1000``.
///
///     kernel
///         The kernel: linear; polynomial (degree, gamma, coef0); gaussian, exponential, matern32, matern52 (gamma: a number, a
///         list of numbers, "median" or "auto"); rational_quadratic (gamma, alpha); ``{"scaled": {"weight": w, "of": kernel}}``; ``{"sum": [...]}``;
///         ``{"product": [...]}``. Default "gaussian:auto".
///     loss
///         For two classes hinge (margin), nu_hinge (nu), perceptron, logistic; for classes max_margin, softmax; for novelty
///         novelty (margin), nu_novelty (nu); for numbers squared, absolute, epsilon (epsilon), nu_epsilon (nu), huber
///         (sigma), nu_huber (nu, sigma_rule), quantile (q). Default "hinge".
///     step
///         The step size: constant (eta), inverse_sqrt (eta), decay (eta, tau), theorem1 (bound, radius, horizon), theorem2, pegasos (t0),
///         linear (eta, horizon), normalised (eta, tau), smd (eta, mu, decay, floor, cap, preset).
///         Default "auto": several step sizes learn in parallel.
///     budget
///         The rule that bounds the number of terms: unlimited; window, transfer, merge, forgetron (terms); age (steps); olok (exponent); weight (tolerance);
///         certified (error). A whole number is the number of terms of the default budget. Default: 1000 terms, merge, or
///         transfer if the kernel is not a function of distance. For a budget in bytes see `okl.terms_within`.
///     lam
///         The weight of the regulariser; `lambda` inside a dict. Default "auto": several values learn in parallel.
///     offset
///         Whether an offset (intercept) is learned. Default False: a score is f(x), as in the papers. The default of the command
///         line and of the estimators of `okl` and `okl.river` is True. Use True if targets are far from 0. The repr shows the value.
///     classes
///         The classes, in order; any other class is an error. For two classes, the second is positive. Default: the classes that
///         occur in the data.
///     operator
///         The matrix J that couples several outputs.
///     average
///         The hypothesis that predicts: none (the last one), uniform (the mean of all) or exponential (a moving average with
///         rate). Default "auto": the last one; with step "auto" also averages.
///     scale
///         The scale of the features: none; standard (mean 0 and standard deviation 1 over the first `warmup` rows);
///         ``{"fixed": {"shift": [...], "factor": [...], "limit": 8.0}}``. Default "auto": standard, unless `gamma`, `step` and `lam`
///         are all given, or more than eight features share one range.
///     target_scale
///         none, or ``{"fixed": {"shift": [...], "factor": [...]}}`` with a number per output: targets are learned as
///         (y - shift) * factor, and scores are in the units of y. Losses, `theta`, `offset`, `coefficients` and `norm2` are
///         in the units of the scaled targets. Default "none".
///     shrink
///         When f is shrunk by lam: "always" (at every row), or "on_update" (at rows with an update, as the authors' script for
///         novelty detection does). Default "always".
///     regulariser
///         The function of f that lam multiplies: square (half of the squared norm), norm, or power (power). Default "square".
///     threshold
///         The threshold below which a novelty score is an alert: norma (theta of the loss) or tracker (speed; a tracked quantile of
///         the averaged score, which keeps the alert rate at nu). Default "norma".
///     implicit, theta0, warmup, anchor, allow_overshoot
///         As on the command line; ``okl learn --help`` has a line on each.
///
/// Examples
/// --------
/// >>> import numpy as np, okl
/// >>> m = okl.Learner(loss="hinge", kernel="gaussian", gamma=1.0, lam=1e-3, budget="window", terms=100)
/// >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
/// >>> y = np.array([-1, 1, 1, -1])
/// >>> for _ in range(20):
/// ...     scores = m.learn(X, y)
/// >>> np.sign(m.predict(X)).astype(int)
/// array([-1,  1,  1, -1])
#[pyclass(module = "okl", frozen)]
pub struct Learner {
    pub(crate) shared: Shared,
    pub(crate) reader: Reader,
    threads: AtomicUsize,
    /// Whether the health warning has been issued.
    pub(crate) warned: AtomicBool,
    pub(crate) named: Named,
}

impl From<okl::Learner> for Learner {
    fn from(learner: okl::Learner) -> Self {
        let Config { loss, classes, .. } = learner.config();
        let reader = Reader { reads: loss.reads(), classes_given: classes.is_some() };
        Learner {
            reader,
            shared: Shared::new(learner),
            threads: AtomicUsize::new(1),
            warned: AtomicBool::new(false),
            named: Named::default(),
        }
    }
}

impl Learner {
    /// Warns about the health of the learner, at most once per learner.
    pub(crate) fn warn_once(&self, py: Python<'_>) -> PyResult<()> {
        if self.warned.load(Ordering::Relaxed) {
            return Ok(());
        }
        let findings = health::findings(&self.look(py, okl::Learner::health)?);
        if !findings.is_empty() && !self.warned.swap(true, Ordering::Relaxed) {
            health::warn(py, &findings)?;
        }
        Ok(())
    }

    /// Warns if positive scores of a call mean one class in its first rows and another class in its later rows. This can happen only
    /// once in a learner: when its second class appears.
    fn warn_of_signs(&self, py: Python<'_>, signs: &Signs) -> PyResult<()> {
        let Some((rows, before, after)) = signs.turned.filter(|_| self.reader.reads == Reads::Sign) else { return Ok(()) };
        let names = self.classes(py)?.into_iter().map(|class| class.into_bound_py_any(py)).collect::<PyResult<Vec<_>>>()?;
        let (before, after) = (&names[before], &names[after]);
        let (before_name, after_name) = (before.repr()?, after.repr()?);
        health::warn_with(
            py,
            &format!(
                "scores of the first {rows} rows of this call are positive for class {before}, later ones for class {after}; \
                 give classes=[{before_name}, {after_name}] when the learner is created, or read the column positive of learn_report"
            ),
        )
    }

    fn look<T>(&self, py: Python<'_>, look: impl FnOnce(&okl::Learner) -> T) -> PyResult<T> {
        self.shared.look(py, look)
    }

    /// A class with its Python type.
    fn class(&self, label: &Label) -> Class {
        match label {
            Label::Int(number) if self.named.are_bools() => Class::Bool(*number != 0),
            Label::Int(number) => Class::Int(*number),
            Label::Text(text) => Class::Text(text.clone()),
        }
    }

    /// One number as a float, several as an array.
    fn per_output<'py>(&self, py: Python<'py>, values: Vec<f64>) -> PyResult<Bound<'py, PyAny>> {
        match (self.reader.reads, values.as_slice()) {
            (Reads::Class, _) => Ok(values.into_pyarray(py).into_any()),
            (_, [one]) => Ok(one.into_pyobject(py)?.into_any()),
            _ => Ok(values.into_pyarray(py).into_any()),
        }
    }
}

#[pymethods]
#[allow(non_snake_case)] // X is a matrix, here as in scikit-learn.
impl Learner {
    #[new]
    #[pyo3(signature = (config=None, **settings))]
    fn new(config: Option<&Bound<'_, PyDict>>, settings: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let bools = settings::gives_bools(config, settings)?;
        let config = settings::config(config, settings)?;
        let learner = Learner::from(okl::Learner::new(config).map_err(|e| refused(&e))?);
        Ok(Learner { named: Named::new(bools), ..learner })
    }

    /// Learns the rows in order and returns the score of every row before its update.
    ///
    /// Parameters
    /// ----------
    /// X : array-like of shape (n, features)
    ///     float32 or float64 in any layout (not copied), or anything that numpy can convert to real numbers. The engine computes in
    ///     single precision.
    /// y : array-like of shape (n,) or (n, outputs), optional
    ///     Numbers for regression. Classes (ints, bools, text) for max_margin and softmax. For the losses of two classes -1 and
    ///     +1, or bools or text; other numbers only as the names in `classes`. None in an array of objects is a missing target.
    ///     A novelty loss takes no y.
    /// weights : array-like of shape (n,), optional
    ///     Multiplies loss and gradient of a row; a row of weight 0 is only predicted.
    /// ids : array-like of shape (n,), optional
    ///     Whole numbers that identify the rows. If a term has the same id and the same features, the row updates that term instead
    ///     of adding one. If the features differ, the new row gets the id, which `health` counts; the old term stays without an id.
    /// known : array-like of shape (n,), optional
    ///     False for rows without a target, which are only predicted, at their position in the stream.
    ///
    /// Returns
    /// -------
    /// ndarray of float64
    ///     (n,) for one output, else (n, outputs); for max_margin and softmax always (n, classes so far). If two classes share one
    ///     score, a positive score means the class that sorts last among those known up to its row. So if the second class that
    ///     appears sorts after the first, the sign changes its meaning at that row, with an `okl.HealthWarning`. Give `classes` to
    ///     avoid this.
    ///
    /// Raises
    /// ------
    /// ValueError, TypeError
    ///     If a row is refused; the message has the row and the column. The whole call is checked first, so nothing has been learned.
    /// KeyboardInterrupt
    ///     On Ctrl-C, between two blocks of rows. The learner has learned the first rows and can be used; the attribute
    ///     `rows_learned` of the exception has their number.
    ///
    /// Notes
    /// -----
    /// Other threads can run during the call and use this learner: `predict` and the attributes wait until the current block of at
    /// most 256 rows is learned, not for the whole call, and use the model after that block. Another `learn` waits until this call
    /// ends. X must not be changed during the call.
    ///
    /// Examples
    /// --------
    /// >>> import okl
    /// >>> m = okl.Learner(loss="squared", kernel="gaussian", gamma=1.0, step="constant", eta=0.5, lam=0.0)
    /// >>> m.learn([[0.0], [0.0], [0.0]], [1.0, 1.0, 1.0])
    /// array([0.  , 0.5 , 0.75])
    #[pyo3(signature = (X, y=None, *, weights=None, ids=None, known=None))]
    fn learn<'py>(
        &self,
        X: &Bound<'py, PyAny>,
        y: Object<'_, 'py>,
        weights: Object<'_, 'py>,
        ids: Object<'_, 'py>,
        known: Object<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut signs = Signs::default();
        let given = Given { y, weights, ids, known, named: &self.named };
        let scores = call::learn(&self.shared, self.reader, X, &given, |step| signs.push(step))?;
        self.warn_once(X.py())?;
        self.warn_of_signs(X.py(), &signs)?;
        Ok(scores)
    }

    /// Learns as `learn` does and returns more results for every row.
    ///
    /// Parameters
    /// ----------
    /// X, y, weights, ids, known
    ///     As in `learn`.
    ///
    /// Returns
    /// -------
    /// dict of ndarray
    ///     scores, as `learn` returns them; loss, before the update and times the weight, nan if there was no target;
    ///     outside, True where a row was an alert (novelty losses: also a row that is only predicted), a margin error (hinge,
    ///     nu_hinge, perceptron, max_margin; for the perceptron a score of the wrong sign or 0) or beyond the tube or scale (epsilon,
    ///     nu_epsilon, huber, nu_huber), always False with other losses; threshold, with which the novelty score was compared, nan
    ///     if there is none; positive, the class of positive scores if two classes share one score, else None (see `learn`).
    ///
    /// Examples
    /// --------
    /// >>> import okl
    /// >>> m = okl.Learner(loss="squared", kernel="gaussian", gamma=1.0, step="constant", eta=0.5, lam=0.0)
    /// >>> m.learn_report([[0.0], [0.0]], [1.0, 1.0])["loss"]
    /// array([0.5  , 0.125])
    #[pyo3(signature = (X, y=None, *, weights=None, ids=None, known=None))]
    fn learn_report<'py>(
        &self,
        X: &Bound<'py, PyAny>,
        y: Object<'_, 'py>,
        weights: Object<'_, 'py>,
        ids: Object<'_, 'py>,
        known: Object<'_, 'py>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (mut report, mut signs) = (Report::default(), Signs::default());
        let given = Given { y, weights, ids, known, named: &self.named };
        let scores = call::learn(&self.shared, self.reader, X, &given, |step| {
            report.push(step);
            signs.push(step);
        })?;
        self.warn_once(X.py())?;
        self.warn_of_signs(X.py(), &signs)?;
        let classes = self.classes(X.py())?.into_iter().map(|class| class.into_bound_py_any(X.py()));
        report.dictionary(X.py(), scores, &classes.collect::<PyResult<Vec<_>>>()?)
    }

    /// Scores of rows, without learning: the scores that `learn` would return for rows without a target.
    ///
    /// Parameters
    /// ----------
    /// X : array-like of shape (n, features)
    ///     As in `learn`.
    ///
    /// Returns
    /// -------
    /// ndarray of float64
    ///     The same shape as from `learn`. If two classes share one score, it is positive for `positive_class`. For novelty, a row is
    ///     novel if and only if its score is below `threshold`.
    ///
    /// Notes
    /// -----
    /// Several threads may predict at the same time.
    ///
    /// Examples
    /// --------
    /// >>> import okl
    /// >>> okl.Learner(loss="squared").predict([[1.0, 2.0]])
    /// array([0.])
    fn predict<'py>(&self, X: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        call::predict(&self.shared, self.reader, X)
    }

    /// Increases the number of features. All earlier rows are 0 in the new features.
    ///
    /// Examples
    /// --------
    /// >>> import okl
    /// >>> m = okl.Learner(loss="squared")
    /// >>> _ = m.learn([[1.0]], [1.0])
    /// >>> m.widen(2)
    /// >>> _ = m.learn([[1.0, 3.0]], [1.0])
    fn widen(&self, py: Python<'_>, features: i64) -> PyResult<()> {
        let features = within("features", features, 0, MOST_FEATURES)?;
        self.shared.write(py, |learner| learner.widen(features))?.map_err(|e| refused(&e))
    }

    /// Resets the trace of the step size `smd`, for example after a change of the stream.
    ///
    /// Examples
    /// --------
    /// >>> import okl
    /// >>> m = okl.Learner(loss="squared", kernel="gaussian:1", step="smd")
    /// >>> _ = m.learn([[0.0], [0.0]], [1.0, 1.0])
    /// >>> m.reset_trace()
    fn reset_trace(&self, py: Python<'_>) -> PyResult<()> {
        self.shared.write(py, okl::Learner::reset_trace)
    }

    /// The model file as bytes.
    ///
    /// Examples
    /// --------
    /// >>> import okl
    /// >>> type(okl.Learner().to_bytes())
    /// <class 'bytes'>
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.shared.read(py, okl::Learner::to_bytes)?))
    }

    /// The learner that `to_bytes` saved. It continues with the same bits.
    ///
    /// Examples
    /// --------
    /// >>> import okl
    /// >>> m = okl.Learner(loss="squared")
    /// >>> okl.Learner.from_bytes(m.to_bytes()).config == m.config
    /// True
    #[classmethod]
    fn from_bytes(_cls: &Bound<'_, PyType>, py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        Ok(py.detach(|| okl::Learner::from_bytes(data)).map_err(|e| refused(&e))?.into())
    }

    /// Writes the model file, which `okl.load` and the command line can read. An old file is replaced atomically.
    ///
    /// Parameters
    /// ----------
    /// path : str or os.PathLike
    ///     The file.
    ///
    /// Examples
    /// --------
    /// >>> import okl, os, tempfile
    /// >>> path = os.path.join(tempfile.mkdtemp(), "m.okl")
    /// >>> okl.Learner(loss="squared").save(path)
    /// >>> okl.load(path).config["loss"]
    /// {'squared': {}}
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        files::write(py, &path, &self.shared.read(py, okl::Learner::to_bytes)?)
    }

    /// The model as an ONNX graph, which onnxruntime and others evaluate: input `x`, float64 rows; outputs `scores` and, for classes, `label`.
    ///
    /// Parameters
    /// ----------
    /// path : str or os.PathLike, optional
    ///     A file to write; an old file is replaced atomically.
    /// threshold : float, optional
    ///     Novelty losses: rows with a score below this are novel. Default: the learner's `threshold`.
    ///
    /// Returns
    /// -------
    /// bytes or None
    ///     The file's bytes, if no path is given.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     Before the first row, because there is nothing to export.
    ///
    /// Examples
    /// --------
    /// >>> import okl
    /// >>> m = okl.Learner(loss="squared", kernel="gaussian:1")
    /// >>> _ = m.learn([[0.0], [1.0]], [0.0, 1.0])
    /// >>> type(m.to_onnx())
    /// <class 'bytes'>
    ///
    /// Notes
    /// -----
    /// For max_margin and softmax the columns of `scores` are in the order of `classes`, which is the order of appearance unless
    /// `classes` was given; the metadata key ``okl.classes`` holds that order as JSON.
    #[pyo3(signature = (path=None, *, threshold=None))]
    fn to_onnx<'py>(
        &self,
        py: Python<'py>,
        path: Option<PathBuf>,
        threshold: Option<f64>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        if threshold.is_some() && self.reader.reads != Reads::Nothing {
            return Err(PyValueError::new_err("threshold is for novelty losses: leave it out"));
        }
        let bytes = self.shared.read(py, |learner| command_line::onnx(learner, threshold))??;
        match path {
            None => Ok(Some(PyBytes::new(py, &bytes))),
            Some(path) => files::write(py, &path, &bytes).map(|()| None),
        }
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,), bool)> {
        let made_from = (this.get().to_bytes(this.py())?,);
        Ok((this.get_type().getattr("from_bytes")?, made_from, this.get().named.are_bools()))
    }

    /// Restores from a pickle whether the classes are bools.
    fn __setstate__(&self, bools: bool) {
        if bools {
            self.named.note(true);
        }
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        let copy = Learner::from(self.shared.read(py, okl::Learner::clone)?);
        copy.threads.store(self.threads(), Ordering::Relaxed);
        copy.warned.store(self.warned.load(Ordering::Relaxed), Ordering::Relaxed);
        Ok(Learner { named: Named::new(self.named.are_bools()), ..copy })
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.__copy__(py)
    }

    fn __sizeof__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(size_of::<Self>() + self.look(py, okl::Learner::bytes)?)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (config, terms, examples) = self.look(py, |m| (m.config().clone(), m.terms(), m.examples()))?;
        let parts = settings::names(&config, ["loss", "kernel", "step", "budget"]);
        let offset = match (self.reader.reads, config.offset) {
            (Reads::Nothing, _) => "",
            (_, true) => ", offset",
            (_, false) => ", no offset",
        };
        Ok(format!("<okl.Learner {parts}{offset}: {terms} terms after {examples} examples>"))
    }

    /// The settings as a dict; after the warm-up with the estimated values. ``Learner(m.config)`` builds a new learner with the same settings.
    #[getter]
    fn config<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let config = settings::dictionary(py, &self.look(py, |m| m.config().clone())?)?;
        if self.named.are_bools() {
            settings::with_bools(&config)?;
        }
        Ok(config)
    }

    /// The classes so far, in the order of the scores: ints or text, or bools if all labels were bools. A model file stores
    /// bools as 0 and 1. If two classes share one score, see `positive_class`.
    #[getter]
    fn classes(&self, py: Python<'_>) -> PyResult<Vec<Class>> {
        self.look(py, |m| m.classes().iter().map(|class| self.class(class)).collect())
    }

    /// If two classes share one score, the class of positive scores: the second of the given classes, otherwise the class that sorts
    /// last, or the only class so far. None for other losses, and if targets are the numbers -1 and +1.
    #[getter]
    fn positive_class(&self, py: Python<'_>) -> PyResult<Option<Class>> {
        self.look(py, |m| m.positive().map(|class| self.class(&m.classes()[class])))
    }

    /// The number of features; 0 before the first row.
    #[getter]
    fn features(&self, py: Python<'_>) -> PyResult<usize> {
        self.look(py, okl::Learner::features)
    }

    /// The number of scores per row.
    #[getter]
    fn outputs(&self, py: Python<'_>) -> PyResult<usize> {
        self.look(py, okl::Learner::outputs)
    }

    /// The number of rows learned.
    #[getter]
    fn examples(&self, py: Python<'_>) -> PyResult<u64> {
        self.look(py, okl::Learner::examples)
    }

    /// The number of skipped steps: a number of the new state (coefficient, offset, score, loss, norm) would have exceeded 1e150, or
    /// a kernel value of the row exceeded single precision.
    #[getter]
    fn skipped(&self, py: Python<'_>) -> PyResult<u64> {
        self.look(py, okl::Learner::skipped)
    }

    /// The number of terms.
    #[getter]
    fn terms(&self, py: Python<'_>) -> PyResult<usize> {
        self.look(py, okl::Learner::terms)
    }

    /// The step size of the last step.
    #[getter]
    fn eta(&self, py: Python<'_>) -> PyResult<f64> {
        self.look(py, okl::Learner::eta)
    }

    /// The adaptive margin, tube or scale of the loss; with a `target_scale`, in the units of the scaled targets.
    #[getter]
    fn theta(&self, py: Python<'_>) -> PyResult<f64> {
        self.look(py, okl::Learner::theta)
    }

    /// The offset: a float, or an array if there are several outputs or classes; with a `target_scale`, in the units of the
    /// scaled targets.
    #[getter]
    fn offset<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.per_output(py, self.look(py, |m| m.offset().to_vec())?)
    }

    /// The offset that `predict` adds: `offset`, or its average if there is one; in the units of the targets.
    #[getter]
    fn predicting_offset<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.per_output(py, self.look(py, |m| m.predicting_offset().to_vec())?)
    }

    /// The squared norm of the function: exact until a term is dropped, an upper bound after that. Always exact with the step size smd.
    #[getter]
    fn norm2(&self, py: Python<'_>) -> PyResult<f64> {
        self.look(py, okl::Learner::norm2)
    }

    /// A bound on the distance, in the norm of the kernel's space, between the function that predicts and the function after the same
    /// updates with no term dropped. If k(x, x) = 1, no score differs by more. 0: the function is exact.
    ///
    /// It counts terms that a full budget drops, merges or projects. In a bank (several settings learned in parallel, see `members`)
    /// it also counts the following: a row becomes a new term only if the leading member needs one; otherwise the updates of the other
    /// members are projected onto the nearest term, and the residuals count, by the weights of these members. So a bank has a
    /// truncation error above 0 with ``budget="unlimited"``, too; a learner whose settings are all given has none.
    ///
    /// With a `target_scale` it is divided by the smallest factor, so that it is in the units of the targets.
    #[getter]
    fn truncation_error(&self, py: Python<'_>) -> PyResult<f64> {
        self.look(py, okl::Learner::truncation_error)
    }

    /// Input that was not used exactly as given: clipped or rounded values, skipped steps, ids taken over; and members of a bank that
    /// rest.
    ///
    /// Returns
    /// -------
    /// dict
    ///     examples
    ///         The number of rows learned.
    ///     skipped
    ///         The number of skipped steps, which would have given numbers that are not finite.
    ///     ids_taken_over
    ///         The number of rows with the id of a term with other features.
    ///     blurred
    ///         The number of rows so far from the origin that rounding changes their kernel values by more than 5 %.
    ///     resting
    ///         The number of members of a bank that rest, because their last step would have given numbers that are not finite.
    ///     watched, clipped_rows, clipped_values
    ///         If the scale has a limit (8 standard deviations of the first `warmup` rows): the number of examples after the
    ///         warm-up, of examples with a value beyond the limit, and of such values.
    ///     clipped_columns
    ///         For each column with clipped values, the worst first: `column`, `values`, `share`, and over the last `recent`
    ///         examples `recent_share`.
    ///     rounded_values, rounded_columns
    ///         Features are stored in single precision (about 7 digits), after the scale is applied. A column loses digits in a
    ///         window of 1,000 examples if its largest rounding error there exceeds a thousandth of its range (largest minus
    ///         smallest value) there; every eighth example is checked. For each such column, the worst first: `column`, `values`
    ///         (the number of examples in windows in which it lost digits) and `recent_error` (largest rounding error divided by the
    ///         range, in the last 1,000 to 2,000 examples). A standardised column loses none. Digits that a float32 array has lost
    ///         before are not counted.
    ///     findings
    ///         Problems and what to do about them, as sentences; empty if there are none. The first finding is also issued as an
    ///         `okl.HealthWarning`.
    ///
    /// Examples
    /// --------
    /// >>> import okl
    /// >>> okl.Learner(loss="squared").health()["findings"]
    /// []
    fn health<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        health::dictionary(py, &self.look(py, okl::Learner::health)?)
    }

    /// The centres of the terms, (terms, features), in the units of the data.
    #[getter]
    fn centres<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (centres, shape) = self.shared.read(py, |m| (m.centres(), [m.terms(), m.features()]))?;
        centres.into_pyarray(py).reshape(shape)
    }

    /// The coefficients of the terms, (terms, outputs); with a `target_scale`, in the units of the scaled targets.
    #[getter]
    fn coefficients<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (coefficients, shape) = self.shared.read(py, |m| (m.coefficients(), [m.terms(), m.outputs()]))?;
        coefficients.into_pyarray(py).reshape(shape)
    }

    /// The coefficients that `predict` uses: `coefficients`, or those of the average if there is one. They are in the units of the
    /// targets; with an operator J, in the units of the scaled targets.
    #[getter]
    fn predicting_coefficients<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (coefficients, shape) =
            self.shared.read(py, |m| (m.predicting_coefficients(), [m.widths() * m.terms(), m.outputs()]))?;
        coefficients.into_pyarray(py).reshape(shape)
    }

    /// The settings that are learned in parallel, in descending order of weight: a list of dicts with `weight`, `step`, `lambda` and
    /// `kernel`. One entry of weight 1 if every setting is given.
    ///
    /// Examples
    /// --------
    /// >>> import okl
    /// >>> m = okl.Learner(loss="squared", gamma=1.0, step="auto", lam=0.01)
    /// >>> [member["weight"] for member in m.members]
    /// [0.2, 0.2, 0.2, 0.2, 0.2]
    #[getter]
    fn members<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let members = self.look(py, |m| settings::members(m.config(), &m.members()))?;
        settings::from_json(py, &members.to_string())
    }

    /// A plain learner with the settings and the current function of the leading member; faster than the bank.
    ///
    /// Raises
    /// ------
    /// ValueError
    ///     During the first `warmup` rows, because the settings are still provisional.
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, okl
    /// >>> m = okl.Learner(loss="squared")
    /// >>> X = np.linspace(0.0, 6.0, 600).reshape(-1, 1)
    /// >>> scores = m.learn(X, np.sin(X[:, 0]))
    /// >>> plain = m.freeze()
    /// >>> len(m.members), len(plain.members)
    /// (15, 1)
    fn freeze(&self, py: Python<'_>) -> PyResult<Self> {
        let plain = Learner::from(self.look(py, okl::Learner::freeze)?.map_err(|e| refused(&e))?);
        Ok(Learner { named: Named::new(self.named.are_bools()), ..plain })
    }

    /// Shift and factor per feature: the input of the kernels is (x - shift) * factor. Empty if it is x itself.
    #[getter]
    fn frame<'py>(&self, py: Python<'py>) -> PyResult<(Vector<'py>, Vector<'py>)> {
        let (shift, factor) = self.look(py, |m| (m.frame().0.to_vec(), m.frame().1.to_vec()))?;
        Ok((shift.into_pyarray(py), factor.into_pyarray(py)))
    }

    /// Bytes of everything that grows with the number of terms: centres, coefficients, kernel values. The rest is bounded by
    /// `bytes_beside_terms`.
    #[getter]
    fn bytes(&self, py: Python<'_>) -> PyResult<usize> {
        self.look(py, okl::Learner::bytes)
    }

    /// A bound on the bytes that do not depend on the number of terms: 256 kB, the rows of a block and of the warm-up, their
    /// distances. The arrays of a call (X, y, scores) are not included.
    ///
    /// Examples
    /// --------
    /// >>> import okl
    /// >>> m = okl.Learner(loss="squared", kernel="gaussian:1", step="constant:0.1", lam=0.1, scale="none")
    /// >>> m.bytes_beside_terms < 500_000
    /// True
    #[getter]
    fn bytes_beside_terms(&self, py: Python<'_>) -> PyResult<usize> {
        self.look(py, |m| m.config().bytes_beside_terms(m.features(), m.outputs()))
    }

    /// Whether the warm-up has not ended yet, so that `gamma="auto"` or `scale="standard"` are provisional.
    #[getter]
    fn warming_up(&self, py: Python<'_>) -> PyResult<bool> {
        self.look(py, okl::Learner::warming_up)
    }

    /// The novelty threshold: a row is novel if and only if its score is below it. None for other losses, and while a tracker collects
    /// its first scores.
    #[getter]
    fn threshold(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.look(py, okl::Learner::threshold)
    }

    /// The alert rate and a bound on its distance from nu; None for losses without nu, and before the first row.
    #[getter]
    fn alert_rate(&self, py: Python<'_>) -> PyResult<Option<AlertRate>> {
        Ok(self.look(py, okl::Learner::alert_rate)?.map(AlertRate::from))
    }

    /// A bound on the regret against every function of at most this norm and offset; None if no bound is proved.
    ///
    /// Parameters
    /// ----------
    /// norm, offset : float
    ///     The largest norm and offset of the functions to compare with.
    ///
    /// Examples
    /// --------
    /// >>> import okl
    /// >>> m = okl.Learner(loss="hinge", kernel="gaussian:1", step="inverse_sqrt:0.5", lam=1e-3)
    /// >>> report = m.learn_report([[0.0], [1.0], [0.0]], [1, -1, 1])
    /// >>> bool(report["loss"].sum() - 3 <= m.regret_bound(norm=0.0))  # the zero function loses 1 per row
    /// True
    #[pyo3(signature = (norm, offset=0.0))]
    fn regret_bound(&self, py: Python<'_>, norm: f64, offset: f64) -> PyResult<Option<f64>> {
        for (name, found) in [("norm", norm), ("offset", offset)] {
            if found.is_nan() || found < 0.0 {
                return Err(PyValueError::new_err(format!("{name}: expected a number >= 0, found {found:?}")));
            }
        }
        self.look(py, |m| m.regret_bound(norm, offset))
    }

    /// Number of threads for large matrix products. Results do not depend on it. It can be set, and is not saved.
    #[getter]
    fn threads(&self) -> usize {
        self.threads.load(Ordering::Relaxed)
    }

    #[setter]
    fn set_threads(&self, py: Python<'_>, threads: i64) -> PyResult<()> {
        let threads = within("threads", threads, 1, MOST_THREADS)?;
        self.shared.write(py, |learner| learner.set_threads(threads))?.map_err(|e| refused(&e))?;
        self.threads.store(threads, Ordering::Relaxed);
        Ok(())
    }
}

fn within(name: &str, found: i64, least: i64, most: i64) -> PyResult<usize> {
    let refuse = || PyValueError::new_err(format!("{name}: expected {least} to {most}, found {found}"));
    usize::try_from(found).ok().filter(|_| (least..=most).contains(&found)).ok_or_else(refuse)
}

/// The name of a class as a Python value.
#[derive(IntoPyObject)]
enum Class {
    Bool(bool),
    Int(i64),
    Text(String),
}
