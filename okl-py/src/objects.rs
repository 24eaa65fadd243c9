//! Objects of any type with a kernel of the caller: a function over two lists, or rows of a Gram matrix.
//!
//! The kernel runs before the engine changes: it may raise, and its values are checked, so a call that fails has changed nothing. A call
//! with several blocks learns on a copy, which replaces the learner at the end.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Mutex;

use numpy::{PyArrayDescrMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods};
use okl::engine::Outcome;
use okl::loss::Reads;
use okl::{Batch, ErrorKind, KernelRows, Learner};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyList, PyMapping, PySet, PyString};

use crate::arrays::{array, contiguous};
use crate::call::{Given, Object, Told, width, with_workspace};
use crate::errors::{Place, UNSET, broken, moved, refused_rows};
use crate::scores::Table;
use crate::shared::{Held, Shared};
use crate::targets::Reader;

/// The number of rows whose kernel values are computed together. More of them would cost values between rows that never become terms.
const BLOCK: usize = 32;

/// The numbers of rows that are only predicted count down from here, above those of all items.
const NOT_LEARNED: u64 = u64::MAX - 1;

/// How the file of a learner of a Gram matrix is loaded.
const GRAM_FILES: &str =
    "a model that learned the rows of a Gram matrix (kernel=\"precomputed\") is loaded without kernel and objects";

/// The kernel of a learner with `kernel = precomputed`, and the objects of its terms.
#[derive(Default)]
pub struct Objects(Mutex<State>);

#[derive(Default)]
struct State {
    /// The function; none if rows are those of a Gram matrix.
    kernel: Option<Py<PyAny>>,
    /// The objects of the terms by the numbers of their items.
    of_item: HashMap<u64, Py<PyAny>>,
}

/// The rows of a call.
enum Rows<'py> {
    Objects(Vec<Bound<'py, PyAny>>),
    /// The rows of a Gram matrix, `.1` numbers each.
    Gram(PyReadonlyArrayDyn<'py, f64>, usize),
}

/// The kernel that the settings give as a function, and the settings without it.
pub type Taken<'py> = (Option<Bound<'py, PyDict>>, Option<Py<PyAny>>);

/// Takes a kernel that is a function out of the settings: keyword arguments override the dictionary.
pub fn take_kernel<'py>(config: Option<&Bound<'py, PyDict>>, settings: Option<&Bound<'py, PyDict>>) -> PyResult<Taken<'py>> {
    let mut kernel = None;
    for table in config.into_iter().chain(settings) {
        kernel = table.get_item("kernel")?.filter(|kernel| !kernel.is_none()).or(kernel);
    }
    let Some(kernel) = kernel.filter(|kernel| kernel.is_callable()) else { return Ok((settings.cloned(), None)) };
    let settings = settings.map_or_else(|| Ok(PyDict::new(kernel.py())), |settings| settings.copy())?;
    settings.set_item("kernel", "precomputed")?;
    Ok((Some(settings), Some(kernel.unbind())))
}

/// The settings of a learner without a kernel that is a function, which [`take_kernel`] has taken.
pub fn without_function<'py>(config: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
    let config = config.copy()?;
    if config.get_item("kernel")?.is_some_and(|kernel| kernel.is_callable()) {
        config.del_item("kernel")?;
    }
    Ok(config)
}

impl Objects {
    pub fn new(kernel: Option<Py<PyAny>>) -> Self {
        Objects(Mutex::new(State { kernel, ..State::default() }))
    }

    fn with<T>(&self, with: impl FnOnce(&mut State) -> T) -> PyResult<T> {
        // The lock is never held while Python code runs.
        Ok(with(&mut *self.0.lock().map_err(|_| broken())?))
    }

    pub fn kernel(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.with(|state| state.kernel.as_ref().map(|kernel| kernel.clone_ref(py)))
    }

    pub fn copied(&self, py: Python<'_>) -> PyResult<Self> {
        self.with(|state| {
            let of_item = state.of_item.iter().map(|(item, object)| (*item, object.clone_ref(py))).collect();
            let kernel = state.kernel.as_ref().map(|kernel| kernel.clone_ref(py));
            Objects(Mutex::new(State { kernel, of_item }))
        })
    }

    /// The objects of the terms with these items; the items themselves if rows are those of a Gram matrix.
    pub fn of_terms<'py>(&self, py: Python<'py>, items: &[u64]) -> PyResult<Bound<'py, PyList>> {
        if self.kernel(py)?.is_none() {
            return PyList::new(py, items);
        }
        let of_item = |state: &mut State| -> Vec<Option<Py<PyAny>>> {
            items.iter().map(|item| state.of_item.get(item).map(|object| object.clone_ref(py))).collect()
        };
        PyList::new(py, self.with(of_item)?)
    }

    /// Gives a learner its kernel and the objects of its terms, which a model file does not have.
    pub fn attach(&self, kernel: &Bound<'_, PyAny>, objects: &Bound<'_, PyAny>, learner: &Learner) -> PyResult<()> {
        if !kernel.is_callable() {
            let found = kernel.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "kernel: expected the function with which the model learned objects, found a {found}; {GRAM_FILES}"
            )));
        }
        let (given, items) = (sequence("objects", objects)?, learner.items());
        if given.len() != items.len() {
            let (found, terms) = (given.len(), items.len());
            return Err(PyValueError::new_err(format!(
                "objects: expected {terms}, those of the attribute `objects` when the model was saved, found {found}"
            )));
        }
        check_objects(kernel, &given, learner)?;
        let of_item = items.into_iter().zip(given.into_iter().map(Bound::unbind)).collect();
        self.with(|state| *state = State { kernel: Some(kernel.clone().unbind()), of_item })
    }

    /// Restores the state from a pickle, without a check.
    pub fn restore(&self, kernel: Py<PyAny>, objects: Vec<Py<PyAny>>, items: Vec<u64>) -> PyResult<()> {
        self.with(|state| *state = State { kernel: Some(kernel), of_item: items.into_iter().zip(objects).collect() })
    }

    fn rows<'py>(&self, x: &Bound<'py, PyAny>) -> PyResult<Rows<'py>> {
        match self.kernel(x.py())? {
            Some(_) => sequence("X", x).map(Rows::Objects),
            None => gram(x),
        }
    }
}

impl crate::learner::Learner {
    /// Gives a loaded learner the kernel and the objects of its terms.
    pub(crate) fn attach(self, py: Python<'_>, kernel: Object<'_, '_>, objects: Object<'_, '_>) -> PyResult<Self> {
        match (kernel, objects, &self.objects) {
            (None, None, _) => {}
            (Some(kernel), Some(given), Some(objects)) => {
                let learner = self.look(py, Learner::clone)?;
                objects.attach(kernel, given, &learner)?;
            }
            (_, _, None) => {
                return Err(PyValueError::new_err(
                    "kernel and objects are for models that learned with a function as kernel: leave them out",
                ));
            }
            _ => return Err(PyValueError::new_err(format!("give both kernel and objects, or neither of them: {GRAM_FILES}"))),
        }
        Ok(self)
    }
}

/// Compares the kernel values of the youngest term with those that were saved.
fn check_objects(kernel: &Bound<'_, PyAny>, objects: &[Bound<'_, PyAny>], learner: &Learner) -> PyResult<()> {
    let Some((youngest, saved)) = learner.values_of_youngest() else { return Ok(()) };
    let values = call(kernel, &objects[youngest..=youngest], objects)?;
    let size = saved[youngest].abs().sqrt();
    for (place, (found, saved)) in values.as_slice()?.iter().zip(&saved).enumerate() {
        // By Cauchy and Schwarz a value is at most the product of two norms; that of the other object is not known here.
        let slack = 1e-4 * (saved.abs() + size * size);
        if found.is_nan() || (found - saved).abs() > slack {
            return Err(PyValueError::new_err(format!(
                "objects: the kernel value of object {youngest} and object {place} is {found}, it was {saved} when the model was saved: \
                 give the same kernel, and the objects in the order of the attribute `objects`"
            )));
        }
    }
    Ok(())
}

/// The objects of a sequence.
fn sequence<'py>(name: &str, x: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let text = x.is_instance_of::<PyString>() || x.is_instance_of::<PyBytes>() || x.is_instance_of::<PyByteArray>();
    let unordered = x.is_instance_of::<PySet>() || x.cast::<PyMapping>().is_ok();
    let advice = match (text, unordered || x.hasattr("columns")?) {
        (true, _) => "one text is [text]",
        (_, true) => "give a list of objects, in order",
        _ => return x.try_iter()?.collect(),
    };
    let found = x.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "{name} is a {found}, expected a sequence of objects, on which the kernel is called: {advice}"
    )))
}

/// The rows of a Gram matrix.
fn gram<'py>(x: &Bound<'py, PyAny>) -> PyResult<Rows<'py>> {
    let values = array("X", x)?;
    let expected = "the rows of a Gram matrix: kernel values against the items 0, 1, 2, ... (a model that learned objects with a function is \
                    loaded with okl.load(path, kernel=..., objects=...))";
    if values.ndim() != 2 {
        let found = values.ndim();
        return Err(PyValueError::new_err(format!(
            "X has {found} dimension(s), expected 2 with kernel=\"precomputed\", {expected}"
        )));
    }
    if !b"fiub".contains(&values.dtype().kind()) {
        return Err(PyTypeError::new_err(format!("X has dtype {}, expected real numbers, {expected}", values.dtype())));
    }
    let columns = values.shape()[1];
    Ok(Rows::Gram(contiguous(&values, "float64")?, columns))
}

/// The kernel values of rows against others, as the function returns them.
fn call<'py>(
    kernel: &Bound<'py, PyAny>,
    rows: &[Bound<'py, PyAny>],
    others: &[Bound<'py, PyAny>],
) -> PyResult<PyReadonlyArrayDyn<'py, f64>> {
    let py = kernel.py();
    let returned = kernel.call1((PyList::new(py, rows)?, PyList::new(py, others)?))?;
    let values = array("the result of the kernel", &returned)?;
    let expected = [rows.len(), others.len()];
    if values.shape() != expected {
        let found = values.getattr("shape")?;
        return Err(PyValueError::new_err(format!(
            "kernel: expected an array of shape ({}, {}) from kernel(a, b), one row per object of a and one column per object of b, found shape {found}",
            expected[0], expected[1]
        )));
    }
    if !b"fiub".contains(&values.dtype().kind()) {
        return Err(PyTypeError::new_err(format!("kernel: expected real numbers, found an array of dtype {}", values.dtype())));
    }
    contiguous(&values, "float64")
}

impl<'py> Rows<'py> {
    fn count(&self) -> usize {
        match self {
            Rows::Objects(rows) => rows.len(),
            Rows::Gram(values, _) => values.shape()[0],
        }
    }
}

/// The kernel values of a block and the items that they belong to.
struct Values<'py> {
    rows: Vec<u64>,
    /// The items of the columns; none for 0, 1, 2, ...
    columns: Option<Vec<u64>>,
    values: PyReadonlyArrayDyn<'py, f64>,
    part: Range<usize>,
}

impl Values<'_> {
    fn kernel_rows(&self) -> PyResult<KernelRows<'_>> {
        let values = self.values.as_slice()?;
        let rows = match &self.columns {
            Some(columns) => KernelRows::new(&self.rows, columns, values),
            None => {
                let width = self.values.shape()[1];
                KernelRows::of_first(&self.rows, width, &values[self.part.start * width..self.part.end * width])
            }
        };
        rows.map_err(|e| PyValueError::new_err(e.to_string()))
    }
}

/// One call: the rows, and the objects and items that are known in it.
struct Call<'a, 'py> {
    objects: &'a Objects,
    rows: Rows<'py>,
    /// The items of the rows, and the rows of the items.
    items: Vec<u64>,
    row_of: HashMap<u64, usize>,
    kernel: Option<Bound<'py, PyAny>>,
    reads: Reads,
    flat: bool,
}

impl<'py> Call<'_, 'py> {
    /// The object of an item: of a row of this call, or of a term.
    fn object(&self, py: Python<'py>, item: u64) -> PyResult<Bound<'py, PyAny>> {
        if let (Rows::Objects(rows), Some(row)) = (&self.rows, self.row_of.get(&item)) {
            return Ok(rows[*row].clone());
        }
        let object = self.objects.with(|state| state.of_item.get(&item).map(|object| object.clone_ref(py)))?;
        object.map(|object| object.into_bound(py)).ok_or_else(broken)
    }

    /// The kernel values of some rows against the terms and, if they are learned, each other.
    fn values(&self, py: Python<'py>, learner_items: &[u64], part: Range<usize>, learned: bool) -> PyResult<Values<'py>> {
        let rows = self.items[part.clone()].to_vec();
        let (objects, kernel) = match (&self.rows, &self.kernel) {
            (Rows::Objects(objects), Some(kernel)) => (objects, kernel),
            (Rows::Gram(values, _), _) => return Ok(Values { rows, columns: None, values: values.clone(), part }),
            (Rows::Objects(_), None) => return Err(broken()),
        };
        let columns: Vec<u64> = learner_items.iter().copied().chain(rows.iter().copied().filter(|_| learned)).collect();
        let others = columns.iter().map(|item| self.object(py, *item)).collect::<PyResult<Vec<_>>>()?;
        // The kernel is not called with an empty list.
        let values = match part.is_empty() || others.is_empty() {
            true => contiguous(
                &array("values", &py.import("numpy")?.call_method1("zeros", ((part.len(), others.len()),))?)?,
                "float64",
            )?,
            false => call(kernel, &objects[part.clone()], &others)?,
        };
        Ok(Values { rows, columns: Some(columns), values, part })
    }

    /// An error of the engine about rows from row `first` on, in words of the caller.
    fn refused(&self, error: okl::Error, first: usize, learner_items: &[u64]) -> PyErr {
        let kind = moved(error.kind().clone(), first);
        match &kind {
            ErrorKind::KernelValue { row, item, found, expected } => {
                let other = match (&self.rows, self.row_of.get(item)) {
                    (Rows::Gram(..), _) => format!("item {item}"),
                    (_, Some(other)) if other == row => "itself".into(),
                    (_, Some(other)) => format!("row {other}"),
                    _ => format!("term {}", learner_items.iter().position(|term| term == item).unwrap_or(0)),
                };
                PyValueError::new_err(format!("row {row}: the kernel value against {other} is {found}, expected {expected}"))
            }
            ErrorKind::Shape { what, expected, found } if what == "columns of kernel values" => PyValueError::new_err(format!(
                "X has {found} columns, expected {expected}: a row has its kernel values against the items 0, 1, 2, ..."
            )),
            _ => refused_rows(
                kind.clone().into(),
                &Place { first: 0, reads: self.reads, names: &[], flat: self.flat, unset: UNSET },
            ),
        }
    }

    /// Learns some rows of the call.
    fn learn_block(
        &self,
        learner: &mut Learner,
        told: &Told<'py>,
        values: &Values<'py>,
        mut each: impl FnMut(&Outcome<'_>) + Send,
    ) -> PyResult<()> {
        let (part, items, rows) = (values.part.clone(), learner.items(), values.kernel_rows()?);
        let labels = told.part(&part, self.rows.count())?;
        let mut batch = labels.of(Batch::of_kernel_values(&rows));
        if values.columns.is_none() {
            batch = batch.ids(&values.rows);
        }
        learner.learn_with(&batch, |_, step| each(step)).map_err(|e| self.refused(e, part.start, &items))
    }
}

/// The rows of items.
fn rows_of(items: &[u64]) -> HashMap<u64, usize> {
    items.iter().enumerate().map(|(row, item)| (*item, row)).collect()
}

/// The blocks of a call; an empty one if there are no rows.
fn blocks(rows: usize, size: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows.max(1)).step_by(size).map(move |first| first..rows.min(first + size))
}

/// The items of the rows that are learned. The number of an object is that of its step, so that a loaded learner goes on with the same
/// numbers; a row that is only predicted never becomes a term.
fn items(learner: &Learner, rows: &Rows<'_>, told: &Told<'_>) -> PyResult<Vec<u64>> {
    let count = rows.count();
    match (rows, told.ids()?) {
        (Rows::Objects(_), _) => {
            let after_terms = learner.items().into_iter().max().map_or(0, |item| item + 1);
            let mut next = after_terms.max(learner.examples() + learner.skipped());
            let mut number = |row: usize| match told.is_example(row) {
                true => {
                    next += 1;
                    next - 1
                }
                false => NOT_LEARNED - row as u64,
            };
            Ok((0..count).map(&mut number).collect())
        }
        (Rows::Gram(..), Some(ids)) => {
            let refuse = || PyValueError::new_err(format!("ids: expected {count}, one per row, found {}", ids.len()));
            if ids.len() == count { Ok(ids.to_vec()) } else { Err(refuse()) }
        }
        (Rows::Gram(_, columns), None) if *columns == count => Ok((0..count as u64).collect()),
        (Rows::Gram(_, columns), None) => Err(PyValueError::new_err(format!(
            "X has {count} rows and {columns} columns: give ids, the number of the item of each row (a square Gram matrix, whose row i is item i, needs none)"
        ))),
    }
}

/// Learns objects or rows of a Gram matrix, and calls `each` with the result of every row. Returns the scores.
pub fn learn<'py>(
    shared: &Shared,
    objects: &Objects,
    reader: Reader,
    x: &Bound<'py, PyAny>,
    given: &Given<'_, 'py>,
    mut each: impl FnMut(&Outcome<'_>) + Send,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, rows) = (x.py(), objects.rows(x)?);
    let (told, count) = (Told::read(reader, given, rows.count())?, rows.count());
    shared.exclusively(py, |held| {
        let items = held.look(py, |learner| items(learner, &rows, &told))??;
        let kernel = objects.kernel(py)?.map(|kernel| kernel.into_bound(py));
        let call = Call { objects, rows, row_of: rows_of(&items), items, kernel, reads: reader.reads, flat: told.y.flat };
        let mut table = Table::new(count, held.look(py, Learner::outputs)?)?;
        let mut copy = if count > BLOCK { Some(held.look(py, Learner::clone)?) } else { None };
        for part in blocks(count, BLOCK) {
            let terms = copy.as_ref().map_or_else(|| held.look(py, Learner::items), |copy| Ok(copy.items()))?;
            let values = call.values(py, &terms, part, true)?;
            let mut learn = |learner: &mut Learner| {
                call.learn_block(learner, &told, &values, |step| {
                    table.push(step.scores);
                    each(step);
                })?;
                table.widen(width(learner, reader.reads));
                PyResult::Ok(())
            };
            match &mut copy {
                Some(copy) => learn(copy)?,
                None => held.change(py, learn)??,
            }
        }
        if let Some(copy) = copy {
            held.change(py, |learner| *learner = copy)?;
        }
        call.keep_objects(held, py)?;
        told.note_names(reader, given.named);
        table.array(py, reader.reads != Reads::Class)
    })
}

impl Call<'_, '_> {
    /// Keeps the objects of the terms, and forgets the others.
    fn keep_objects(&self, held: &Held<'_>, py: Python<'_>) -> PyResult<()> {
        let Rows::Objects(rows) = &self.rows else { return Ok(()) };
        let terms: HashSet<u64> = held.look(py, Learner::items)?.into_iter().collect();
        let new = self.items.iter().copied().zip(rows).filter(|(item, _)| terms.contains(item));
        let new: Vec<(u64, Py<PyAny>)> = new.map(|(item, object)| (item, object.clone().unbind())).collect();
        let gone = self.objects.with(|state| {
            let gone: Vec<u64> = state.of_item.keys().copied().filter(|item| !terms.contains(item)).collect();
            let gone: Vec<_> = gone.iter().filter_map(|item| state.of_item.remove(item)).collect();
            state.of_item.extend(new);
            gone
        })?;
        // Dropping an object may run Python code, so the lock is not held here.
        drop(gone);
        Ok(())
    }
}

/// The number of rows that are predicted together.
const PREDICTED: usize = 256;

/// Scores of objects or of rows of a Gram matrix, without learning.
pub fn predict<'py>(shared: &Shared, objects: &Objects, reader: Reader, x: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let (py, rows) = (x.py(), objects.rows(x)?);
    let count = rows.count();
    shared.exclusively(py, |held| {
        // These rows are no items: nothing has a value against them.
        let items: Vec<u64> = (0..count as u64).map(|row| NOT_LEARNED - row).collect();
        let kernel = objects.kernel(py)?.map(|kernel| kernel.into_bound(py));
        let call = Call { objects, rows, row_of: rows_of(&items), items, kernel, reads: reader.reads, flat: true };
        let mut table = Table::new(count, held.look(py, Learner::outputs)?)?;
        let terms = held.look(py, Learner::items)?;
        for part in blocks(count, PREDICTED) {
            let values = call.values(py, &terms, part.clone(), false)?;
            let rows = values.kernel_rows()?;
            let scores = held.look(py, |learner| {
                with_workspace(|workspace| learner.predict_with(workspace, &Batch::of_kernel_values(&rows)))
            })?;
            let scores = scores.map_err(|e| call.refused(e, part.start, &terms))?;
            part.enumerate().for_each(|(i, _)| table.push(scores.row(i)));
        }
        table.widen(held.look(py, |learner| width(learner, reader.reads))?);
        table.array(py, reader.reads != Reads::Class)
    })
}
