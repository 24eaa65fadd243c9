//! The class `okl.Learner`. The long docstrings are text files beside this one.

#![allow(clippy::doc_lazy_continuation)] // Docstrings are read by Python, not as Markdown.

mod full_frame;
mod learn;
mod values;
mod warn;

use self::full_frame::FullFrame;
pub use self::learn::Arguments;
use self::values::{Class, State, settings_table, within};

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use okl::config::Scale;
use okl::loss::{Loss, Reads};
use okl::{Config, Label};
use okl_cli::store;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyType};

use crate::alert_rate::AlertRate;
use crate::call::{self, Object};
use crate::columns::{self, FeatureNames};
use crate::device::Device;
use crate::errors::refused;
use crate::gaps::{self, Gaps};
use crate::objects::{self, Objects};
use crate::shared::Shared;
use crate::targets::{Named, Reader, label};
use crate::{command_line, files, health, settings};

/// The largest numbers of features and threads. Larger ones are mistakes and would exhaust the memory.
const MOST_FEATURES: i64 = 1 << 24;
const MOST_THREADS: i64 = 1 << 10;

type Vector<'py> = Bound<'py, PyArray1<f64>>;

#[doc = include_str!("learner.txt")]
#[pyclass(module = "okl", frozen)]
pub struct Learner {
    pub(crate) shared: Shared,
    pub(crate) reader: Reader,
    threads: AtomicUsize,
    pub(crate) device: Device,
    /// Whether the health warning has been issued.
    pub(crate) warned: AtomicBool,
    pub(crate) named: Named,
    pub(crate) feature_names: FeatureNames,
    pub(crate) gaps: Gaps,
    /// With a kernel of the caller: the kernel and the objects of the terms.
    pub(crate) objects: Option<Objects>,
}

impl From<okl::Learner> for Learner {
    fn from(learner: okl::Learner) -> Self {
        let Config { loss, classes, .. } = learner.config();
        let reader = Reader { reads: loss.reads(), classes_given: classes.is_some(), numbers_name: false };
        let objects = learner.config().is_precomputed().then(Objects::default);
        Learner {
            reader,
            shared: Shared::new(learner),
            threads: AtomicUsize::new(1),
            device: Device::default(),
            warned: AtomicBool::new(false),
            named: Named::default(),
            feature_names: FeatureNames::default(),
            gaps: Gaps::default(),
            objects,
        }
    }
}

impl Learner {
    pub(crate) fn look<T>(&self, py: Python<'_>, look: impl FnOnce(&okl::Learner) -> T) -> PyResult<T> {
        self.shared.look(py, look)
    }

    /// A new learner. `scale`: in place of the scale of the columns in the settings.
    fn built(config: Option<&Bound<'_, PyDict>>, settings: Option<&Bound<'_, PyDict>>, scale: Option<Scale>) -> PyResult<Self> {
        let (settings, kernel) = objects::take_kernel(config, settings)?;
        let config = config.map(objects::without_function).transpose()?;
        let (config, settings) = (config.as_ref(), settings.as_ref());
        let bools = settings::gives_bools(config, settings)?;
        let given = gaps::take(&[config, settings])?;
        let config = settings::config(config, settings, scale)?;
        let learner = Learner::from(okl::Learner::new(config).map_err(|e| refused(&e))?);
        if given.is_some() && learner.objects.is_some() {
            return Err(PyValueError::new_err("missing: kernel values and objects have no columns to fill; leave it out"));
        }
        let objects = learner.objects.is_some().then(|| Objects::new(kernel));
        Ok(Learner { named: Named::new(bools), objects, gaps: given.map(Gaps::new).unwrap_or_default(), ..learner })
    }

    /// Another learner of the same rows: its features and classes have the same names, and its kernel and objects are the same.
    fn like(&self, py: Python<'_>, learner: okl::Learner) -> PyResult<Self> {
        let named = Named::new(self.named.are_bools());
        let objects = self.objects.as_ref().map(|objects| objects.copied(py)).transpose()?;
        let feature_names = FeatureNames::new(self.feature_names.get());
        Ok(Learner { named, objects, feature_names, gaps: self.gaps.copied(), ..Learner::from(learner) })
    }

    /// A learner from a model file, with the names of its features if the file has them.
    pub(crate) fn of_file(mut learner: okl::Learner) -> Self {
        let gaps = Gaps::of_file(&learner);
        let names = if gaps.rule().is_some() { gaps.column_names() } else { store::feature_names(&learner) }.unwrap_or_default();
        let gaps = files::without_names(&mut learner, &names, gaps);
        Learner { feature_names: FeatureNames::new(names.into()), gaps, ..Learner::from(learner) }
    }

    /// A class with its Python type.
    fn class(&self, label: &Label) -> Class {
        match label {
            Label::Int(number) if self.named.are_bools() => Class::Bool(*number != 0),
            Label::Int(number) => Class::Int(*number),
            Label::Text(text) => Class::Text(text.clone()),
        }
    }

    /// Classes as a caller lists them, for a loss with one score per class.
    fn order(&self, classes: &Bound<'_, PyAny>) -> PyResult<Vec<Label>> {
        if self.reader.reads != Reads::Class {
            return Err(PyValueError::new_err("classes is the order of the scores of max_margin and softmax: leave it out"));
        }
        let named = |(place, class): (usize, PyResult<Bound<'_, PyAny>>)| {
            let class = class?;
            label(place, &class)?.ok_or_else(|| self.reader.unreadable(place, &class))
        };
        classes.try_iter()?.enumerate().map(named).collect()
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

/// A new learner with these settings and the scale of the columns that `other` has. As a setting, that scale is a list with a number for each column,
/// which takes long to read where there are many.
#[pyfunction]
pub fn learner_in_units(config: &Bound<'_, PyDict>, other: &Bound<'_, Learner>) -> PyResult<Learner> {
    let scale = other.get().look(other.py(), |learner| learner.config().scale.clone())?;
    Learner::built(Some(config), None, Some(scale))
}

#[pymethods]
#[allow(non_snake_case)] // X is a matrix, here as in scikit-learn.
impl Learner {
    #[new]
    #[pyo3(signature = (config=None, **settings))]
    fn new(config: Object<'_, '_>, settings: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        Learner::built(config.map(settings_table).transpose()?, settings, None)
    }

    #[doc = include_str!("learn.txt")]
    #[pyo3(signature = (X, y=None, *, weights=None, ids=None, known=None))]
    fn learn<'py>(
        &self,
        X: &Bound<'py, PyAny>,
        y: Object<'_, 'py>,
        weights: Object<'_, 'py>,
        ids: Object<'_, 'py>,
        known: Object<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.learn_rows(X, &Arguments { y, weights, ids, known, by_name: false }, |_| {})
    }

    #[doc = include_str!("learn_report.txt")]
    #[pyo3(signature = (X, y=None, *, weights=None, ids=None, known=None))]
    fn learn_report<'py>(
        &self,
        X: &Bound<'py, PyAny>,
        y: Object<'_, 'py>,
        weights: Object<'_, 'py>,
        ids: Object<'_, 'py>,
        known: Object<'_, 'py>,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.report_of_rows(X, &Arguments { y, weights, ids, known, by_name: false })
    }

    #[doc = include_str!("predict.txt")]
    fn predict<'py>(&self, X: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(objects) = &self.objects {
            return objects::predict(&self.shared, objects, self.reader, X);
        }
        let names = self.feature_names.checked(columns::names_of(X), self.columns(X.py())? > 0)?;
        call::predict(&self.shared, self.reader, X, &names, &self.gaps)
    }

    /// Increases the number of features. All earlier rows are 0 in the new features. If the features have names, set `feature_names` to
    /// the names of all of them, or learn a frame that has the new columns: `save` stores no names while some are missing, and warns.
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
        let features = self.gaps.widen(features);
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
        Ok(PyBytes::new(py, &files::bytes(py, &self.shared, &self.gaps)?))
    }

    /// The learner that `to_bytes` saved. It continues with the same bits. `kernel` and `objects` as in `okl.load`.
    ///
    /// Examples
    /// --------
    /// >>> import okl
    /// >>> m = okl.Learner(loss="squared")
    /// >>> okl.Learner.from_bytes(m.to_bytes()).config == m.config
    /// True
    #[classmethod]
    #[pyo3(signature = (data, *, kernel=None, objects=None))]
    fn from_bytes<'py>(
        cls: &Bound<'py, PyType>,
        data: &[u8],
        kernel: Object<'_, 'py>,
        objects: Object<'_, 'py>,
    ) -> PyResult<Self> {
        let py = cls.py();
        Learner::of_file(py.detach(|| okl::Learner::from_bytes(data)).map_err(|e| refused(&e))?).attach(py, kernel, objects)
    }

    /// Writes the model file, which `okl.load` and the command line can read. It has the names of the features, where they are
    /// known: the command line then finds the columns by name. Names are left out, with a warning, if one is empty or occurs twice. A
    /// warning also names a column whose name begins or ends with white space: the command line does not find it. An old file is replaced
    /// atomically.
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
        let names = self.feature_names.get();
        self.warn_of_names(py, &names)?;
        files::write(py, &path, &self.shared.write(py, |learner| files::with_names(learner, &names, &self.gaps))?)
    }

    #[doc = include_str!("to_onnx.txt")]
    #[pyo3(signature = (path=None, *, threshold=None, classes=None))]
    fn to_onnx<'py>(
        &self,
        py: Python<'py>,
        path: Option<PathBuf>,
        threshold: Option<f64>,
        classes: Object<'_, 'py>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        if threshold.is_some() && self.reader.reads != Reads::Nothing {
            return Err(PyValueError::new_err("threshold is for novelty losses: leave it out"));
        }
        let order = classes.map(|classes| self.order(classes)).transpose()?;
        let names = self.feature_names.get();
        let bytes =
            self.shared.read(py, |learner| command_line::onnx(learner, threshold, order.as_deref(), &names, &self.gaps))??;
        match path {
            None => Ok(Some(PyBytes::new(py, &bytes))),
            Some(path) => files::write(py, &path, &bytes).map(|()| None),
        }
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,), State)> {
        let (py, learner) = (this.py(), this.get());
        let made_from = (learner.to_bytes(py)?,);
        let (bools, names) = (learner.named.are_bools(), learner.feature_names.get().to_vec());
        let kernel = learner.objects.as_ref().map(|objects| objects.kernel(py)).transpose()?.flatten();
        let state = match kernel {
            Some(kernel) => State::Objects(
                bools,
                names,
                kernel,
                learner.objects(py)?.map_or_else(Vec::new, |all| all.iter().map(Bound::unbind).collect()),
            ),
            None => State::Names(bools, names),
        };
        Ok((this.get_type().getattr("from_bytes")?, made_from, state))
    }

    /// Restores from a pickle what the model file does not contain.
    fn __setstate__(&self, py: Python<'_>, state: State) -> PyResult<()> {
        let (State::Names(bools, _) | State::Bools(bools) | State::Objects(bools, ..)) = state;
        if bools {
            self.named.note(true);
        }
        if let (State::Objects(_, _, kernel, given), Some(objects)) = (&state, &self.objects) {
            let given = given.iter().map(|object| object.clone_ref(py)).collect();
            objects.restore(kernel.clone_ref(py), given, self.look(py, okl::Learner::items)?)?;
        }
        if let State::Names(_, names) | State::Objects(_, names, ..) = state {
            self.feature_names.set(names.into());
        }
        Ok(())
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Self> {
        let copy = self.like(py, self.shared.read(py, okl::Learner::clone)?)?;
        copy.threads.store(self.threads(), Ordering::Relaxed);
        copy.warned.store(self.warned.load(Ordering::Relaxed), Ordering::Relaxed);
        Ok(copy)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.__copy__(py)
    }

    fn __sizeof__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(size_of::<Self>() + self.look(py, okl::Learner::bytes)?)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (config, terms, examples) = self.look(py, |m| (m.config().clone(), m.terms(), m.examples()))?;
        let mut parts = settings::names(&config, ["loss", "kernel", "step", "budget"]);
        if config.members().iter().any(|member| config.is_weight_vector(member)) {
            // The last kernel of `auto`.
            let last = if parts.contains("+manhattan") { "manhattan" } else { "matern32" };
            parts = parts.replacen(last, &format!("{last}+linear"), 1);
        }
        if let Some(kernel) = self.objects.as_ref().map(|objects| objects.kernel(py)).transpose()?.flatten() {
            let name =
                kernel.bind(py).getattr("__name__").or_else(|_| Ok::<_, PyErr>(kernel.bind(py).get_type().name()?.into_any()))?;
            parts = parts.replacen("precomputed", &format!("the function {name}"), 1);
        }
        let offset = match (self.reader.reads, config.offset) {
            (Reads::Nothing, _) => "",
            (_, true) => ", offset",
            (_, false) => ", no offset",
        };
        Ok(format!("<okl.Learner {parts}{offset}: {terms} terms after {examples} examples>"))
    }

    /// The settings as a dict; after the warm-up with the estimated values. ``Learner(m.config)`` builds a new learner with the same settings.
    /// The lists of a fixed `scale` have no entries for indicators of missing values, which a new learner does not have; `full_frame` has those of
    /// all features. `relevance` has the weights of the columns, those after its last one being 1; with ``kernel="auto"`` the first two Gaussian kernels, matern32 and manhattan use them, and the
    /// other Gaussian kernels do not.
    #[getter]
    fn config<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut config = self.look(py, |m| m.config().clone())?;
        self.gaps.without_indicators(&mut config);
        config.implicit = config.proximal();
        let config = settings::dictionary(py, &config)?;
        if self.named.are_bools() {
            settings::with_bools(&config)?;
        }
        self.gaps.add_to(&config)?;
        if let Some(kernel) = self.objects.as_ref().map(|objects| objects.kernel(py)).transpose()?.flatten() {
            config.set_item("kernel", kernel)?;
        }
        Ok(config)
    }

    /// The classes so far, in the order of the scores: ints or text, or bools if all labels were bools. A model file stores
    /// bools as 0 and 1, that of a server as the text 'true' and 'false'; labels of any of these types are matched with them. If two classes share one score, see `positive_class`.
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

    /// The names of the features, which warnings and errors show: those of the first frame that was learned, or those that were
    /// set; else None. With indicators of missing values, these are the names of the columns of X, and the indicators follow them in the
    /// features. A frame with other names, or in another order, is refused. Names that are no text (numbers, times, tuples, None) are taken as
    /// `str` writes them, except 0, 1, 2, ... in this order, which are the places of columns without names: these names are None, and the same numbers in another order are
    /// refused. `save` and pickle store the names, `to_bytes` does not.
    #[getter]
    fn feature_names(&self) -> Option<Vec<String>> {
        Some(self.feature_names.get().to_vec()).filter(|names| !names.is_empty())
    }

    #[setter]
    fn set_feature_names(&self, py: Python<'_>, names: Object<'_, '_>) -> PyResult<()> {
        let (names, features) = (columns::given_names(names)?, self.columns(py)?);
        if !names.is_empty() && features > 0 && names.len() != features {
            let found = names.len();
            return Err(PyValueError::new_err(format!("feature_names: expected {features}, one per feature, found {found}")));
        }
        self.feature_names.set(names.into());
        Ok(())
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

    /// The step size of the last step; the median of `step_sizes`, if every weight has its own. Where several settings learn in parallel, it is that
    /// of the leading one (the first of `members`).
    #[getter]
    fn eta(&self, py: Python<'_>) -> PyResult<f64> {
        self.look(py, okl::Learner::eta)
    }

    /// The smallest, the median and the largest step size, if every weight has its own (`step="smd:per=coordinate"`); otherwise None.
    #[getter]
    fn step_sizes(&self, py: Python<'_>) -> PyResult<Option<(f64, f64, f64)>> {
        Ok(self.look(py, okl::Learner::step_sizes)?.map(|sizes| (sizes.least, sizes.median, sizes.largest)))
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

    #[doc = include_str!("norm2.txt")]
    #[getter]
    fn norm2(&self, py: Python<'_>) -> PyResult<f64> {
        self.look(py, okl::Learner::norm2)
    }

    #[doc = include_str!("truncation_error.txt")]
    #[getter]
    fn truncation_error(&self, py: Python<'_>) -> PyResult<f64> {
        self.look(py, okl::Learner::truncation_error)
    }

    #[doc = include_str!("health.txt")]
    fn health<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let health = self.look(py, okl::Learner::health)?;
        health::dictionary(py, &health, &self.feature_names.get(), self.findings(&health))
    }

    /// With a function as kernel: the objects of the terms, in the order of `coefficients`; with kernel "precomputed" the numbers of their
    /// items. None for other kernels.
    #[getter]
    fn objects<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        let of_terms =
            |objects: &Objects| self.shared.exclusively(py, |held| objects.of_terms(py, &held.look(py, okl::Learner::items)?));
        self.objects.as_ref().map(of_terms).transpose()
    }

    /// The centres of the terms, (terms, features), in the units of the data.
    #[getter]
    fn centres<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        if self.objects.is_some() {
            return Err(PyValueError::new_err(
                "the terms of this learner are objects, not rows of features: see the attribute `objects`",
            ));
        }
        let (centres, shape) = self.shared.read(py, |m| (m.centres(), [m.terms(), m.features()]))?;
        centres.into_pyarray(py).reshape(shape)
    }

    /// With `form="weights"`: the weights that `predict` uses, (features, outputs), in the units of the targets; they multiply features
    /// in their frame. With `form="fourier"`, those of the random features. None for terms.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let (weights, outputs) = self.shared.read(py, |m| (m.weights(), m.outputs()))?;
        let shape = |weights: &[f64]| [weights.len() / outputs.max(1), outputs];
        weights.map(|weights| (shape(&weights), weights)).map(|(shape, w)| w.into_pyarray(py).reshape(shape)).transpose()
    }

    /// The coefficients of the terms, (terms, outputs), of several settings that learn in parallel: of the leading one over terms; with a `target_scale`, in the units of the scaled targets.
    #[getter]
    fn coefficients<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (coefficients, shape) = self.shared.read(py, |m| (m.coefficients(), [m.terms(), m.outputs()]))?;
        coefficients.into_pyarray(py).reshape(shape)
    }

    /// The coefficients that `predict` uses: `coefficients`, or those of the average if there is one. They are in the units of the
    /// targets; with an operator J, in the units of the scaled targets. A score is the sum over the terms plus `predicting_offset` and, where
    /// there are some, the `linear_weights` times the columns.
    #[getter]
    fn predicting_coefficients<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (coefficients, shape) =
            self.shared.read(py, |m| (m.predicting_coefficients(), [m.widths() * m.terms(), m.outputs()]))?;
        coefficients.into_pyarray(py).reshape(shape)
    }

    /// The weights of linear functions that learn beside the terms (``kernel="auto"`` for dense rows), (features, outputs), in the units of the
    /// targets; None without them. They multiply columns in their frame, clipped at 64 where kernels clip at 8; with ``scale="whiten"`` they
    /// multiply the same whitened columns as the kernels get.
    #[getter]
    fn linear_weights<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let (weights, shape) = self.shared.read(py, |m| (m.linear_weights(), [m.features(), m.outputs()]))?;
        weights.map(|weights| weights.into_pyarray(py).reshape(shape)).transpose()
    }

    #[doc = include_str!("members.txt")]
    #[getter]
    fn members<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let members = self.look(py, |m| settings::members(m.config(), &m.members()))?;
        settings::from_json(py, &members.to_string())
    }

    #[doc = include_str!("freeze.txt")]
    fn freeze(&self, py: Python<'_>) -> PyResult<Self> {
        self.like(py, self.look(py, okl::Learner::freeze)?.map_err(|e| refused(&e))?)
    }

    #[doc = include_str!("frame.txt")]
    #[getter]
    fn frame<'py>(&self, py: Python<'py>) -> PyResult<(Vector<'py>, Vector<'py>)> {
        let (shift, factor) = self.look(py, |m| (m.frame().0.to_vec(), m.frame().1.to_vec()))?;
        Ok((shift.into_pyarray(py), factor.into_pyarray(py)))
    }

    #[doc = include_str!("full_frame.txt")]
    #[getter]
    fn full_frame<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.look(py, FullFrame::of)?.table(py)
    }

    /// Bytes of everything that grows with the number of terms: centres, coefficients, kernel values, ids. With the number of terms
    /// from `okl.terms_within` this is at most the given size plus `bytes_beside_terms`: memory is allocated for up to 32 terms ahead.
    /// If rows have ids, use `okl.terms_within` with ``ids=True``. This is what is allocated now: a model that was loaded allocates its
    /// workspace with the first rows that it learns, and shows less before.
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

    /// The alert rate and a bound on its distance from nu; None for losses without nu, and before the first row. Each row counts by its weight times
    /// that of its class (`class_weight`).
    #[getter]
    fn alert_rate(&self, py: Python<'_>) -> PyResult<Option<AlertRate>> {
        Ok(self.look(py, okl::Learner::alert_rate)?.map(AlertRate::from))
    }

    #[doc = include_str!("regret_bound.txt")]
    #[pyo3(signature = (norm, offset=0.0))]
    fn regret_bound(&self, py: Python<'_>, norm: f64, offset: f64) -> PyResult<Option<f64>> {
        for (name, found) in [("norm", norm), ("offset", offset)] {
            if found.is_nan() || found < 0.0 {
                return Err(PyValueError::new_err(format!("{name}: expected a number >= 0, found {found:?}")));
            }
        }
        // With an infinite norm the sum of the bound has infinite parts of both signs.
        let unbounded = norm.is_infinite() || offset.is_infinite();
        let bound = self.look(py, |m| m.regret_bound(norm, offset))?;
        Ok(bound.map(|bound| if unbounded { f64::INFINITY } else { bound }))
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

    /// The device that computes: "cpu", "cuda" for the first NVIDIA card, or "cuda:N" for card number N. It can be set. Results do not
    /// depend on it; it is not saved, and a copy of the learner computes on the processor.
    ///
    /// A card sums over the terms of a learner with the budget unlimited, window, age or olok and one member, and predicts large
    /// batches of rows. If the card cannot do the work, the processor does it, and a warning says why.
    ///
    /// Examples
    /// --------
    /// >>> import okl
    /// >>> m = okl.Learner(loss="squared", kernel="gaussian:1", budget="unlimited")
    /// >>> m.device
    /// 'cpu'
    #[getter]
    fn device(&self) -> String {
        self.device.name()
    }

    #[setter]
    fn set_device(&self, py: Python<'_>, device: &str) -> PyResult<()> {
        self.device.set(&self.shared, py, device)
    }
}
