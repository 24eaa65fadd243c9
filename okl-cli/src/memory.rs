//! The memory of the terms: what is announced before the first row, and what the terms take with all columns and classes.

use okl::{Config, Learner};

use crate::metrics::count;
use crate::settings::{Entries, Look};

/// It is reported if a term takes more than this many times the announced bytes.
const GROWN: f64 = 1.25;

/// The bytes of a term, with the thirty-second of the memory that is held ahead.
pub fn of_a_term(config: &Config, look: &Look) -> usize {
    let outputs = look.outputs(config);
    let each = match look.entries {
        Some(Entries { values, columns }) => config.bytes_per_sparse_term(values, columns, outputs),
        None => config.bytes_per_term(look.features, outputs),
    };
    each + each.div_ceil(32)
}

/// A number of bytes for a reader.
pub fn figure_of_bytes(bytes: usize) -> String {
    match bytes as f64 {
        b if b < 1e6 => format!("{:.0} kB", b / 1e3),
        b if b < 1e9 => format!("{:.1} MB", b / 1e6),
        b => format!("{:.2} GB", b / 1e9),
    }
}

/// An upper bound on a number of bytes as [`figure_of_bytes`] shows it, rounded up: the number that is read is not below `bytes`.
pub fn most_bytes(bytes: usize) -> String {
    match bytes {
        b if b < 1_000_000 => format!("{} kB", b.div_ceil(1000)),
        b if b < 1_000_000_000 => format!("{:.1} MB", b.div_ceil(100_000) as f64 / 10.0),
        b => format!("{:.2} GB", b.div_ceil(10_000_000) as f64 / 100.0),
    }
}

/// What was said of the memory before the first row.
#[derive(Clone, Copy, Debug)]
pub struct Announced {
    /// The bytes of a term.
    pub each: usize,
    /// The size of --memory.
    pub limit: Option<usize>,
}

impl Announced {
    /// One sentence where the terms take more than was announced, because classes or columns came later. None where
    /// [`beyond_its_limit`] says it.
    pub fn exceeded(&self, learner: &Learner) -> Option<String> {
        if beyond_its_limit(learner).is_some() {
            return None;
        }
        match self.limit {
            Some(limit) => beyond(learner, limit),
            None => self.larger(learner),
        }
    }

    fn larger(&self, learner: &Learner) -> Option<String> {
        let (each, all) = taken(learner)?;
        (each as f64 > GROWN * self.each as f64).then(|| {
            let sparse = match learner.engine().terms().space().is_sparse() {
                true => ", or rows with more values, or terms were merged, which have the values of both",
                false => "",
            };
            format!(
                "A term takes {} bytes, and {} as it was estimated when learning began: there are more classes or columns than were known \
                 then{sparse}. All terms take {} of memory.",
                count(each as f64),
                count(self.each as f64),
                figure_of_bytes(all)
            )
        })
    }
}

/// One sentence where the terms take more than the setting `memory` allows.
pub fn beyond_its_limit(learner: &Learner) -> Option<String> {
    beyond(learner, learner.config().memory?)
}

fn beyond(learner: &Learner, limit: usize) -> Option<String> {
    let (each, all) = taken(learner)?;
    let discovers = !learner.classes().is_empty() && learner.config().classes.is_none();
    let classes = if discovers { "Name all classes before learning (--classes), or a" } else { "A" };
    (all > limit).then(|| {
        format!(
            "The terms take {} of memory, and {} is allowed: a term takes {} bytes with {} columns and {} outputs. {classes}sk for \
             fewer terms, as in --budget {}.",
            figure_of_bytes(all),
            figure_of_bytes(limit),
            count(each as f64),
            count(learner.features() as f64),
            count(learner.outputs() as f64),
            (limit / each).max(1)
        )
    })
}

/// An upper bound on the bytes of a model that learns, with as many terms as now: the terms with their workspace, half as many where `budget = auto`
/// compares with half of the terms, and the memory beside the terms (rows in work, warm-up). None where only the memory that is allocated now is known.
pub fn while_learning(learner: &Learner) -> Option<usize> {
    with_terms(learner, learner.terms())
}

/// [`while_learning`] with this number of terms, the columns and outputs of now.
pub fn with_terms(learner: &Learner, terms: usize) -> Option<usize> {
    let config = learner.config();
    let sparse = !config.uses_weights() && learner.engine().terms().space().is_sparse();
    let (each, _) = taken(learner).filter(|_| !sparse)?;
    let terms = each * terms;
    let compared = if learner.growth().is_some() { terms / 2 } else { 0 };
    Some(terms + compared + config.bytes_beside_terms(learner.features(), learner.outputs()))
}

/// The bytes of a term, and of all terms with the workspace that grows with them; none if there are no terms.
fn taken(learner: &Learner) -> Option<(usize, usize)> {
    let (config, terms) = (learner.config(), learner.terms());
    if config.uses_weights() || terms == 0 {
        return None;
    }
    if learner.engine().terms().space().is_sparse() {
        let bytes = learner.bytes();
        return Some((bytes.div_ceil(terms), bytes));
    }
    let each = config.bytes_per_term(learner.features(), learner.outputs());
    let each = each + each.div_ceil(32);
    Some((each, terms * each))
}
