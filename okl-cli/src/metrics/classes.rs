//! Counts of predicted against true classes. New classes may appear at any time.

use super::histogram::{Histogram, auc};
use super::summary::{Auc, ClassFigures, ClassSummary, Confusion};
use okl::means::Mean;

/// Classes with a row and a column of their own in the confusion matrix; later ones share the last.
pub const MOST_CLASSES: usize = 50;
const OTHER: usize = MOST_CLASSES;
const SIDE: usize = MOST_CLASSES + 1;

/// One class: the number of its rows; and by weight its rows, the rows predicted to be of it, and those of both kinds.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    count: u64,
    rows: f64,
    said: f64,
    hits: f64,
}

impl Totals {
    /// The harmonic mean of precision and recall; none for a class that was neither met nor predicted.
    fn f1(&self) -> Option<f64> {
        share(self.hits, 0.5 * (self.said + self.rows))
    }
}

fn share(part: f64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| part / of)
}

/// Counts over classes, numbered in the order in which they appeared.
#[derive(Clone, Debug)]
pub(super) struct ClassCounts {
    /// Classes that exist: given in advance or seen.
    known: usize,
    /// The number of classes of a model that only predicts: no other class can be predicted. None while the model learns.
    of_model: Option<usize>,
    /// One entry per class; not limited to the first 50.
    totals: Vec<Totals>,
    /// `counts[true class][predicted class]`: the sum of the weights of these rows.
    counts: Vec<f64>,
    /// The total weight of rows without a predicted class, because no class was known when they came. They are not in `counts`.
    unsaid: f64,
    right: Mean,
    last: Option<usize>,
    no_change: Mean,
    /// Scores of the first and of the second class, while there are two.
    scores: [Histogram; 2],
    /// If there is one score for two classes: the class of positive scores. Default: the second class.
    positive: usize,
}

impl ClassCounts {
    pub fn new(known: usize) -> Self {
        let (right, no_change) = (Mean::default(), Mean::default());
        ClassCounts {
            known,
            of_model: None,
            totals: Vec::new(),
            counts: vec![0.0; SIDE * SIDE],
            unsaid: 0.0,
            right,
            last: None,
            no_change,
            scores: Default::default(),
            positive: 1,
        }
    }

    /// Sets the class of positive scores, for two classes that share one score. Applies from the next row on.
    pub fn positive_is(&mut self, class: usize) {
        self.positive = class;
    }

    /// From here on only the classes that exist now can be predicted: a class that appears later is always a mistake.
    pub fn predict_only(&mut self) {
        self.of_model = Some(self.known);
    }

    /// The number of classes that can be predicted.
    fn predictable(&self) -> usize {
        self.of_model.unwrap_or(self.known)
    }

    /// The predicted class: the one with the largest score, the earlier one of equal scores. With one score for two classes: the
    /// positive class if the score is above 0, otherwise the other one.
    pub fn said(&self, scores: &[f64]) -> Option<usize> {
        let known = self.predictable();
        match scores {
            _ if known == 0 => None,
            [z] if known == 2 => Some(if *z > 0.0 { self.positive } else { 1 - self.positive }),
            _ => Some((1..scores.len().min(known)).fold(0, |best, i| if scores[i] > scores[best] { i } else { best })),
        }
    }

    /// Adds one example; returns its error, 0 or 1, and that of repeating the last class. A class that first appears in this row could not be
    /// predicted: an error.
    pub fn add(&mut self, scores: &[f64], class: usize, weight: f64) -> [f64; 2] {
        let said = self.said(scores);
        let wrong = f64::from(u8::from(said != Some(class)));
        match said {
            Some(said) => self.counts[class.min(OTHER) * SIDE + said.min(OTHER)] += weight,
            None => self.unsaid += weight,
        }
        self.add_totals(class, said, weight);
        self.right.add(1.0 - wrong, weight);
        // The no-change predictor has no last class at the first row. This counts as an error, as for a model that knows no class.
        let changed = f64::from(u8::from(self.last.replace(class) != Some(class)));
        self.no_change.add(changed, weight);
        if class < 2 {
            self.scores[class].add(second_against_first(scores, self.positive), weight);
        }
        self.known = self.known.max(class + 1);
        [wrong, changed]
    }

    fn add_totals(&mut self, class: usize, said: Option<usize>, weight: f64) {
        let classes = class.max(said.unwrap_or(0)) + 1;
        self.totals.resize(self.totals.len().max(classes), Totals::default());
        self.totals[class].count += 1;
        self.totals[class].rows += weight;
        if let Some(said) = said {
            self.totals[said].said += weight;
            self.totals[said].hits += if said == class { weight } else { 0.0 };
        }
    }

    pub fn no_change(&self) -> Option<f64> {
        self.no_change.value()
    }

    fn auc(&self) -> Option<Auc> {
        let [first, second] = &self.scores;
        auc(first, second).filter(|_| self.predictable() == 2).map(|(value, error)| Auc { value, error })
    }

    pub fn summary(&self, names: &[String]) -> ClassSummary {
        let per_class: Vec<ClassFigures> = self.shown(names).into_iter().map(|i| self.figures(i, name(names, i))).collect();
        let met: Vec<f64> = self.totals.iter().filter_map(Totals::f1).collect();
        let largest = self.totals.iter().map(|class| class.rows).fold(0.0, f64::max);
        ClassSummary {
            accuracy: self.right.value(),
            macro_f1: (!met.is_empty()).then(|| met.iter().sum::<f64>() / met.len() as f64),
            macro_classes: met.len(),
            auc: self.auc(),
            majority_error: (self.right.weight() > 0.0).then(|| 1.0 - largest / self.right.weight()),
            known: self.known,
            per_class,
            confusion: self.confusion(names),
        }
    }

    /// The classes in the order of the tables: numbers in ascending order, names in order of appearance.
    fn shown(&self, names: &[String]) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.known.min(MOST_CLASSES)).collect();
        let numbers: Option<Vec<i64>> = places.iter().map(|&i| names.get(i)?.parse().ok()).collect();
        if let Some(numbers) = numbers {
            places.sort_by_key(|&i| numbers[i]);
        }
        places
    }

    fn figures(&self, class: usize, name: String) -> ClassFigures {
        let totals = self.totals.get(class).copied().unwrap_or_default();
        let Totals { count, rows, said, hits } = totals;
        ClassFigures {
            name,
            examples: count,
            weight: rows,
            precision: share(hits, said),
            recall: share(hits, rows),
            f1: totals.f1(),
        }
    }

    fn confusion(&self, names: &[String]) -> Confusion {
        let mut places = self.shown(names);
        let mut names: Vec<String> = places.iter().map(|&i| name(names, i)).collect();
        if self.known > MOST_CLASSES {
            places.push(OTHER);
            names.push("other".into());
        }
        let row = |&truth: &usize| places.iter().map(|said| self.counts[truth * SIDE + said]).collect();
        Confusion { counts: places.iter().map(row).collect(), names, unsaid: self.unsaid }
    }
}

fn name(names: &[String], class: usize) -> String {
    names.get(class).cloned().unwrap_or_else(|| format!("class {class}"))
}

fn second_against_first(scores: &[f64], positive: usize) -> f64 {
    match scores {
        [] => 0.0,
        [z] => {
            if positive == 1 {
                *z
            } else {
                -z
            }
        }
        [first, second, ..] => second - first,
    }
}
