//! `budget = auto`: doubles the number of terms as long as more terms lower the error.
//!
//! The rule compares the leading voice with a copy of it that has half of the terms (the shadow). Everything happens at fixed
//! counts of examples, so the result does not depend on how the stream is cut into calls.
//!
//! | example | event |
//! |---|---|
//! | 2^k | if all terms are in use and twice as many are allowed: the shadow is copied: the lighter half of the terms is projected onto the other half |
//! | 1.25 2^k | from here on the losses of both on each example are compared |
//! | 1.5 2^k | if the shadow's mean loss is larger by more than the standard error of the difference, the number of terms is doubled |
//!
//! The loss is 1 for a wrong decision and 0 for a right one where there are classes or signs, otherwise the loss of the
//! configuration. At most [`MOST_DOUBLED`] times the initial number of terms is allowed, because the cost of a row is at most
//! proportional to the number of terms; and never more than fit into `memory`. Columns behind the last one in which a term is
//! not 0 do not count there: a learner that is told its number of columns early and one that is widened later decide alike. Terms that
//! fit only as sparse rows are stored as such.

use std::collections::HashSet;
use std::sync::Arc;

use crate::basis::terms::Terms;
use crate::basis::vectors::{VectorRows, Vectors};
use crate::basis::{Basis, Space};
use crate::config::Config;
use crate::coordinates::{Coordinates, Term};
use crate::engine::Labels;
use crate::engine::bank::Bank;
use crate::engine::head::Head;
use crate::learner::Learner;
use crate::learner::class_weight::ClassCounts;
use crate::learner::units::Units;
use crate::parts::kernel::AnyKernel;
use crate::parts::step::AnyStep;

/// The number of terms is at most this many times the initial number: a row then costs at most this many times as much.
pub const MOST_DOUBLED: usize = 4;

/// Why the number of terms is what it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// No comparison has ended yet.
    #[default]
    Open,
    /// The last comparison doubled the number of terms.
    Doubled,
    /// In the last comparison, half of the terms did as well.
    HalfIsEnough,
    /// Twice as many terms do not fit into `memory`.
    Memory,
    /// Twice as many terms would make a row cost more than [`MOST_DOUBLED`] times what it cost at first.
    Speed,
}

const VERDICTS: [Verdict; 5] = [Verdict::Open, Verdict::Doubled, Verdict::HalfIsEnough, Verdict::Memory, Verdict::Speed];

impl Verdict {
    /// The verdict in words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Open => "not compared with half of the terms yet",
            Verdict::Doubled => "half of the terms made more errors, so the number was doubled",
            Verdict::HalfIsEnough => "half of the terms did as well",
            Verdict::Memory => "twice as many do not fit into the memory allowed",
            Verdict::Speed => "twice as many would make a row cost more than four times what it cost at first",
        }
    }

    pub(crate) fn number(self) -> f64 {
        VERDICTS.iter().position(|verdict| *verdict == self).unwrap_or(0) as f64
    }

    pub(crate) fn from_number(number: f64) -> Option<Self> {
        VERDICTS.iter().copied().find(|verdict| verdict.number() == number)
    }
}

/// The state of `budget = auto`.
#[derive(Clone, Debug)]
pub(crate) struct Growth {
    /// The initial number of terms.
    pub start: usize,
    pub verdict: Verdict,
    /// Of the loss of the shadow minus the loss of the voice: the number of examples, the sum, and the sum of squares.
    pub examples: f64,
    pub sum: f64,
    pub squares: f64,
    /// The voice that the shadow is a copy of.
    pub voice: usize,
    /// While a comparison is under way: the copy with half of the terms.
    pub shadow: Option<Arc<Learner>>,
}

impl Growth {
    pub fn new(start: usize) -> Self {
        Growth { start, verdict: Verdict::Open, examples: 0.0, sum: 0.0, squares: 0.0, voice: 0, shadow: None }
    }

    /// The next count of examples after `count` at which something happens.
    pub fn next_event(count: u64) -> u64 {
        let base = 1u64 << count.max(1).ilog2();
        [base + base / 4, base + base / 2].into_iter().find(|event| *event > count).unwrap_or(2 * base)
    }

    /// Lets the shadow learn the rows of a part. `watched` are the voice's losses on its examples, not finite where an example
    /// was not learned; `count` is the number of examples before the part.
    fn learn(&mut self, points: VectorRows<'_>, labels: &Labels<'_>, watched: &[f64], count: u64) {
        let Some(shadow) = &mut self.shadow else { return };
        let engine = &mut Arc::make_mut(shadow).engine;
        engine.watched.clear();
        engine.learn_block(points, labels, |_, _| {});
        let base = 1u64 << count.max(1).ilog2();
        if count < base + base / 4 {
            return;
        }
        let both = watched.iter().zip(&engine.watched).map(|(voice, shadow)| shadow - voice);
        for difference in both.filter(|difference| difference.is_finite()) {
            self.examples += 1.0;
            self.sum += difference;
            self.squares += difference * difference;
        }
    }

    /// Whether the mean difference exceeds its standard error.
    fn half_is_worse(&self) -> bool {
        let n = self.examples;
        let mean = self.sum / n;
        let variance = (self.squares / n - mean * mean).max(0.0);
        n > 1.0 && mean > 0.0 && mean * mean > variance / (n - 1.0)
    }
}

impl Learner {
    /// The initial number of terms of `budget = auto` and why the number is what it is now; none for other budgets.
    ///
    /// ```
    /// use okl::{Config, Learner, growth::Verdict};
    /// let learner = Learner::new(Config::default())?;
    /// assert_eq!(learner.growth(), Some((1000, Verdict::Open)));
    /// assert_eq!(Learner::new(Config::from_toml("budget = 'merge:500'")?)?.growth(), None);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn growth(&self) -> Option<(usize, Verdict)> {
        self.growth.as_ref().map(|growth| (growth.start, growth.verdict))
    }

    /// Lets the shadow learn what was just learned, of which `count` is the number of examples before.
    pub(super) fn learn_shadow(&mut self, labels: &Labels<'_>, count: u64) {
        if let Some(growth) = &mut self.growth {
            growth.learn(self.rows.points(), labels, &self.engine.watched, count);
        }
    }

    /// Changes the shadow, if there is one, as this learner was just changed.
    pub(super) fn tell_shadow(&mut self, change: impl FnOnce(&mut Learner, &Learner)) {
        if let Some(mut shadow) = self.growth.as_mut().and_then(|growth| growth.shadow.take()) {
            change(Arc::make_mut(&mut shadow), self);
            self.growth.as_mut().expect("it held the shadow").shadow = Some(shadow);
        }
    }

    /// Called after each part that has examples. Parts end at the counts of the table at the head of this file.
    pub(super) fn grow(&mut self) {
        let count = self.steps();
        if self.growth.is_none() || self.warm.is_some() || count == 0 {
            return;
        }
        let base = 1u64 << count.ilog2();
        if count == base {
            self.begin_comparison();
        } else if count == base + base / 2 {
            self.end_comparison();
        }
    }

    fn begin_comparison(&mut self) {
        let capacity = self.config.budget().capacity().unwrap_or(0);
        let Some((start, verdict)) = self.growth() else { return };
        if self.engine.basis.len() < capacity || capacity < 4 {
            return;
        }
        let outputs = self.engine.heads[0].offset.len();
        let stopped = match 2 * capacity {
            terms if terms > MOST_DOUBLED * start => Some(Verdict::Speed),
            terms => {
                let held = Held::of(&self.engine.basis);
                let [dense, sparse] = [false, true].map(|sparse| held.fits(&self.config, terms, outputs, sparse));
                if sparse && !dense && !self.engine.basis.space.is_sparse() {
                    self.make_sparse();
                }
                (!dense && !sparse).then_some(Verdict::Memory)
            }
        };
        let mut growth = Growth { verdict: stopped.unwrap_or(verdict), ..Growth::new(start) };
        if stopped.is_none() {
            let voice = self.engine.bank().map_or(0, Bank::leading_over_terms);
            let mut shadow = self.alone(voice).expect("the configuration of a voice is valid");
            // The shadow is told when units change.
            shadow.units = shadow.units.map(|_| Units::default());
            shadow.counts = ClassCounts::default();
            shadow.position.clear(); // the caller's bytes belong to the whole model
            shadow.halve(capacity / 2);
            growth.voice = voice;
            self.watch(&mut shadow, growth.voice);
            growth.shadow = Some(Arc::new(shadow));
        }
        self.growth = Some(growth);
    }

    /// Ends a comparison whose voice is one of these heads, because they began anew or retired.
    pub(super) fn drop_comparison_of(&mut self, heads: impl Fn(&Head<AnyStep>) -> bool) {
        let Some(voice) = self.engine.watch else { return };
        if self.weighted_voices().nth(voice).is_some_and(|(_, head, _)| heads(head)) {
            self.engine.watch = None;
            self.growth.iter_mut().for_each(|growth| growth.shadow = None);
        }
    }

    /// Records the losses of a voice and of its shadow from now on, both measured by the first loss of this learner.
    pub(super) fn watch(&mut self, shadow: &mut Learner, voice: usize) {
        let engine = &mut shadow.engine;
        if engine.loss() != self.engine.loss() {
            engine.losses.insert(0, self.engine.loss().clone());
            engine.heads[0].loss = 1;
        }
        (engine.watch, self.engine.watch) = (Some(0), Some(voice));
    }

    fn end_comparison(&mut self) {
        let Some(growth) = &mut self.growth else { return };
        self.engine.watch = None;
        if growth.shadow.take().is_none() {
            return;
        }
        growth.verdict = if growth.half_is_worse() { Verdict::Doubled } else { Verdict::HalfIsEnough };
        if growth.verdict == Verdict::Doubled {
            let doubled = self.config.budget().capacity().map_or(0, |terms| 2 * terms);
            self.config.budget = self.config.budget().with_terms(doubled);
            self.engine.budget.set_terms(doubled);
        }
    }

    /// Keeps the heaviest `count` terms of a learner with one head; each of the others is projected onto the nearest one that stays.
    fn halve(&mut self, count: usize) {
        self.config.budget = self.config.budget().with_terms(count);
        self.engine.budget.set_terms(count);
        let (head, terms, output) = (&mut self.engine.heads[0], &mut self.engine.basis, &self.engine.output);
        let (mut values, mut term) = (vec![0.0; terms.space.planes()], Term::default());
        let mut norm = |terms: &Terms<Vectors<AnyKernel>>, f: &Coordinates, slot: usize| {
            terms.space.term_self_values(slot, &mut values);
            f.get(slot, &mut term);
            [&term.alpha, &term.mean].map(|a| output.form(&values, a, a).max(0.0).sqrt())
        };
        let mut slots: Vec<(usize, [f64; 2])> = terms.live().map(|slot| (slot, norm(terms, &head.f, slot))).collect();
        slots.sort_by(|a, b| b.1[0].total_cmp(&a.1[0]));
        let dropped = slots.split_off(count.min(slots.len()));
        let mut kept: Vec<usize> = slots.iter().map(|(slot, _)| *slot).collect();
        kept.sort_unstable();
        let mut row = vec![0.0; terms.row_len()];
        let mut onto = Term::default();
        for (slot, [lost, of_mean]) in dropped {
            // The residual of a projection is at most as large as what is projected.
            head.lose(lost, of_mean, false);
            terms.space.term_row(slot, row.len(), 0..1, &mut row);
            let nearest = kept.iter().copied().max_by(|a, b| row[*a].abs().total_cmp(&row[*b].abs()).then(b.cmp(a)));
            let Some(nearest) = nearest else { continue };
            terms.space.term_self_values(nearest, &mut values);
            if values[0] > 0.0 {
                head.f.get(slot, &mut term);
                head.f.get(nearest, &mut onto);
                onto.add_scaled(&term, f64::from(row[nearest]) / values[0]);
                head.f.set(nearest, &onto);
            }
        }
        head.f = head.f.subset(&kept);
        **terms = subset(terms, &kept);
    }
}

/// A copy of some of the terms, in the given order of slots.
fn subset(terms: &Terms<Vectors<AnyKernel>>, slots: &[usize]) -> Terms<Vectors<AnyKernel>> {
    let mut copy = Terms::new(terms.space.emptied());
    copy.taken_over = terms.taken_over;
    for &slot in slots {
        let to = copy.fresh();
        copy.space.copy_from(to, &terms.space, slot);
        copy.births[to] = terms.births[slot];
        copy.name(to, terms.ids[slot]);
    }
    copy
}

/// The values of the terms, on which their memory depends.
struct Held {
    terms: usize,
    /// The number of columns up to the last one in which a term is not 0.
    columns: usize,
    /// The number of values that are not 0, and of the columns that have one.
    values: usize,
    used: usize,
}

impl Held {
    fn of(terms: &Terms<Vectors<AnyKernel>>) -> Self {
        let mut row = vec![0.0; if terms.space.is_sparse() { 0 } else { terms.space.features() }];
        let (mut values, mut used) = (0, HashSet::new());
        for slot in terms.live() {
            let mut add = |column: u32| {
                values += 1;
                used.insert(column);
            };
            match terms.space.sparse_centre(slot) {
                Some(row) => row.columns.iter().copied().for_each(&mut add),
                None => {
                    terms.space.centre(slot, &mut row);
                    let given = row.iter().enumerate().filter(|(_, value)| **value != 0.0);
                    given.for_each(|(column, _)| add(column as u32));
                }
            }
        }
        let columns = used.iter().max().map_or(0, |column| *column as usize + 1);
        Held { terms: terms.live().count(), columns, values, used: used.len() }
    }

    /// Whether so many terms, and a shadow of half as many, fit into the memory of the configuration, if rows are dense or sparse. This
    /// depends on the values and not on how they are stored now: learners of dense and of sparse rows decide alike.
    fn fits(&self, config: &Config, terms: usize, outputs: usize, sparse: bool) -> bool {
        if sparse && (!config.keeps_zeros() || config.is_precomputed() || self.terms == 0) {
            return false;
        }
        let shadow = config.frozen(&config.members()[0]);
        let [values, columns] = [self.values, self.used].map(|all| all.div_ceil(self.terms.max(1)));
        let of = |config: &Config| match sparse {
            true => config.bytes_per_sparse_term(values, columns, outputs),
            false => config.bytes_per_term(self.columns, outputs),
        };
        let each = of(config) + of(&shadow) / 2;
        config.memory.is_none_or(|memory| terms.saturating_mul(each + each.div_ceil(32)) <= memory)
    }
}
