//! The warm-up: the statistics of the first examples are provisional until there are `warmup` examples.
//!
//! At example 1, 2, 4, ... `warmup` the statistics (kernel widths, scale, median of the targets) are computed again from all examples
//! so far, and these examples are learned again, in order, `warmup_passes` times. After the warm-up the statistics are part of the configuration and
//! fixed, except that units (`units.rs`) and widths (`widths.rs`) can follow the stream.

use crate::basis::Space;
use crate::basis::terms::NO_ID;
use crate::basis::vectors::VectorRows;
use crate::certificate::Rate;
use crate::config::{Anchor, Config, KernelRule, Medians, Scale};
use crate::engine::Labels;
use crate::engine::bank::Bank;
use crate::learner::batch::LARGEST;
use crate::learner::blur::Blur;
use crate::learner::build::build_engine;
use crate::learner::growth::Growth;
use crate::learner::rows::{FramedRows, KeptRows, Sample};
use crate::learner::scaling::{self, CLIP, FAR_CLIP, FEW_COLUMNS, Frame, median_distance2, median_manhattan};
use crate::learner::{Learner, Part, coverage, units};
use crate::parts::loss::{Loss, Reads};

/// The examples of the warm-up so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct WarmUp {
    pub x: KeptRows,
    pub y: Vec<f64>,
    pub width: usize,
    pub weights: Vec<f64>,
    /// The weights of the examples by their classes; empty if classes have no weights.
    pub shares: Vec<f64>,
    pub ids: Vec<u64>,
}

/// The end of the rows from `first` on that contain `count` examples; all rows, if there are fewer.
pub(super) fn after_examples(count: usize, first: usize, known: &[bool]) -> usize {
    let mut examples = (first..known.len()).filter(|&i| known[i]);
    examples.nth(count - 1).map_or(known.len(), |i| i + 1)
}

impl Learner {
    pub(super) fn next_stop(&self, first: usize, known: &[bool]) -> usize {
        let examples = match (&self.warm, &self.growth) {
            (Some(warm), _) => {
                let count = warm.weights.len();
                (count + 1).next_power_of_two().min(self.config.warmup) - count
            }
            (None, Some(_)) => (Growth::next_event(self.steps()) - self.steps()) as usize,
            (None, None) => return known.len(),
        };
        after_examples(examples, first, known)
    }

    pub(super) fn remember(&mut self, part: &Part<'_>) {
        let Some(warm) = self.warm.as_mut().filter(|_| part.known().contains(&true)) else { return };
        let shared = !self.config.class_weight.is_none();
        let width = part.targets.width;
        warm.width = width;
        for i in (0..part.rows.len()).filter(|&i| part.known()[i]) {
            warm.x.push(part.x.row(i));
            warm.y.extend_from_slice(&part.y()[i * width..(i + 1) * width]);
            warm.weights.push(part.weights.map_or(1.0, |w| w[i]));
            warm.shares.extend(shared.then(|| part.shares.map_or(1.0, |shares| shares[i])));
            warm.ids.push(part.ids().map_or(NO_ID, |ids| ids[i]));
        }
        let count = warm.weights.len();
        if count > 0 && (count.is_power_of_two() || count == self.config.warmup) {
            self.relearn();
        }
    }

    /// Computes the statistics again from all examples so far and learns these examples again, in order. At the end of the warm-up
    /// the statistics are fixed.
    fn relearn(&mut self) {
        let Some(warm) = self.warm.take() else { return };
        let count = warm.weights.len();
        let reported: Vec<Rate> = self.engine.all_heads().map(|head| head.rate).collect();
        let (config, squares) = self.replay(&warm, count);
        self.engine.all_heads_mut().zip(&reported).for_each(|(head, before)| head.rate.keep_reported(before));
        let space = &self.engine.basis.space;
        if space.diagonal().is_some() {
            self.blur = Blur::default();
            self.blur.count(space.kernels(), squares.into_iter());
        }
        if count < self.config.warmup {
            self.warm = Some(warm);
            return;
        }
        self.config = config;
        if let Some(units) = &mut self.units {
            let one_unit = self.frame.factor.iter().all(|f| *f == 1.0);
            let common = one_unit && scaling::ranges(&warm.x.numbers, self.features).len() > FEW_COLUMNS;
            units.begin(&warm.x.numbers, self.features, common);
        }
    }

    /// Restores the learner during a warm-up from its examples, after loading or after the signs were exchanged. Uses the statistics of
    /// the last recomputation, which depend on the examples alone.
    pub(crate) fn resume_warmup(&mut self) {
        let Some(warm) = self.warm.take() else { return };
        let count = warm.weights.len();
        if count > 0 {
            let reported: Vec<Rate> = self.engine.all_heads().map(|head| head.rate).collect();
            self.replay(&warm, 1 << count.ilog2());
            self.engine.all_heads_mut().zip(&reported).for_each(|(head, before)| head.rate.keep_more(before));
        }
        self.warm = Some(warm);
    }

    /// Learns the examples of a warm-up again, with the statistics of the first `count` examples. Returns the configuration with these
    /// statistics, and the squared norms of all scaled rows.
    fn replay(&mut self, warm: &WarmUp, count: usize) -> (Config, Vec<f32>) {
        let (mut config, first) = (self.config.clone(), warm.x.sample(count, self.features));
        if config.needs_scale() {
            self.frame = first.whole(self.found_frame(&first), self.features);
            config.scale = self.frame.fixed(self.units.is_some());
        }
        let mut framed = FramedRows::default();
        let median = self.found_median(&mut config, &first, &mut framed);
        let factors = match config.covers() {
            true => vec![coverage::factor(&config, median, framed.numbers(), first.width)],
            false => config.width_factors(scaling::ranges(&first.numbers, first.width).len()),
        };
        let manhattan = match config.reads_manhattan() {
            true => median_manhattan(framed.numbers(), first.width),
            false => 1.0,
        };
        config.rules_mut().for_each(|k| k.set_auto(Medians { distance2: median, manhattan }, &factors));
        let sparse = self.engine.basis.space.is_sparse();
        self.rebuild(&config);
        if sparse {
            self.engine.basis.space.make_sparse(0);
        }
        if config.starts_in_the_middle() {
            let middles = scaling::middles(&warm.y[..count * warm.width], warm.width);
            self.engine.all_heads_mut().for_each(|head| head.offset.copy_from_slice(&middles));
        }
        let backend = self.engine.basis.space.backend();
        let points = match self.engine.basis.space.unscaled() {
            Some(_) => framed.fill_keeping(&self.frame, warm.x.all(self.features), backend),
            None => framed.fill(&self.frame, warm.x.all(self.features), backend, sparse),
        };
        let ids = warm.ids.iter().any(|&id| id != NO_ID).then_some(warm.ids.as_slice());
        let shares = (!warm.shares.is_empty()).then_some(warm.shares.as_slice());
        let labels = Labels { y: &warm.y, width: warm.width, known: None, weights: Some(&warm.weights), shares, ids };
        self.learn_repeatedly(points, &labels, count);
        (config, framed.squares().to_vec())
    }

    /// Learns the first `count` rows `warmup_passes` times and the others once. The weights of a bank are those after the first pass:
    /// in later passes its voices predict rows that they have learned. A row that is learned again is added to its own term.
    fn learn_repeatedly(&mut self, points: VectorRows<'_>, labels: &Labels<'_>, count: usize) {
        let rows = labels.weights.map_or(0, <[f64]>::len);
        let numbers: Vec<u64> = (0..rows as u64).collect();
        let passes = self.config.warmup_passes.unwrap_or(1);
        let repeated = passes > 1;
        let named = Labels { ids: labels.ids.or(repeated.then_some(&numbers)), ..*labels };
        let (first, engine) = (points.range(0..count), &mut self.engine);
        engine.learn_block(first, &named.range(0..count), |_, _| {});
        let (mut t, bank, taken_over) = (engine.t, engine.bank.clone(), engine.basis.taken_over);
        for _ in 1..passes {
            (engine.t, engine.skipped) = (0, 0);
            engine.learn_block(first, &named.range(0..count), |_, _| {});
            t = t.max(engine.t);
        }
        if repeated {
            (engine.t, engine.skipped, engine.basis.taken_over) = (t, count as u64 - t, taken_over);
            // A head has weight 0 exactly while it rests, so the weights are kept only if no head rests.
            let awake = |bank: &Option<Bank>| bank.as_ref().is_some_and(|bank| bank.resting() == 0);
            if awake(&bank) && awake(&engine.bank) {
                engine.bank = bank;
            }
            engine.all_heads_mut().for_each(|head| head.regret.holds = false);
        }
        if repeated && labels.ids.is_none() {
            engine.basis.forget_ids();
        }
        engine.learn_block(points.range(count..rows), &labels.range(count..rows), |_, _| {});
    }

    /// The median squared distance of rows. If all kernel widths are found from the data, very small or large rows get another unit,
    /// because their squares would exceed single precision. This unit is then part of the configuration.
    fn found_median(&mut self, config: &mut Config, rows: &Sample, framed: &mut FramedRows) -> f64 {
        let backend = self.engine.basis.space.backend();
        let in_units_of_the_data = self.config.scale == Scale::None;
        if in_units_of_the_data {
            self.frame.factor.fill(1.0);
        }
        framed.fill(&rows.frame_of(&self.frame), rows.rows(), backend, false);
        let median = median_distance2(framed.numbers(), rows.width);
        let unit = scaling::common_unit(median);
        if unit == 1.0 || !in_units_of_the_data || !config.rules().all(KernelRule::has_no_unit) {
            return median;
        }
        self.frame = self.frame.in_unit(unit, self.features);
        config.scale = self.frame.fixed(false);
        framed.fill(&rows.frame_of(&self.frame), rows.rows(), backend, false);
        median_distance2(framed.numbers(), rows.width)
    }

    /// The frame of `scale = standard` for these rows, without their outliers where units follow the stream. With `auto`, columns that share one range have a larger limit, and more than
    /// [`FEW_COLUMNS`] such columns are not standardised, unless the range is below [`scaling::LEAST_RANGE`] and all kernel widths are found from the data.
    fn found_frame(&self, rows: &Sample) -> Frame {
        let frame = self.found_units(rows);
        if self.config.scale == Scale::Whiten { frame.whitened(rows.rows()) } else { frame }
    }

    fn found_units(&self, rows: &Sample) -> Frame {
        let clip = self.translation_invariant().then_some(CLIP);
        let frame = match self.config.anchor {
            _ if self.config.scale == Scale::Log => return self.found_logarithms(rows).limited(clip),
            Anchor::First if self.units.is_some() => {
                let mut usual = rows.numbers.clone();
                units::move_outliers(&mut usual, rows.width);
                Frame::standard(&usual, rows.width)
            }
            Anchor::First => Frame::standard(&rows.numbers, rows.width),
            Anchor::None => Frame::sparse(&rows.numbers, rows.width),
        };
        let ranges = scaling::ranges(&rows.numbers, rows.width);
        if matches!(self.config.scale, Scale::Auto | Scale::Whiten)
            && self.translation_invariant()
            && scaling::share_a_range(&ranges)
        {
            let widest = ranges.last().copied().unwrap_or(0.0);
            let fits = widest >= scaling::LEAST_RANGE || !self.config.rules().all(KernelRule::has_no_unit);
            return match ranges.len() > FEW_COLUMNS && fits {
                true => frame.in_units_of_the_data().limited((widest > 0.0).then_some((FAR_CLIP * widest).min(LARGEST))),
                false => frame.limited(Some(FAR_CLIP)),
            };
        }
        frame.limited(clip)
    }

    /// The frame of `scale = log` for these rows.
    fn found_logarithms(&self, rows: &Sample) -> Frame {
        let units = scaling::log_units(&rows.numbers, rows.width);
        let logarithms = scaling::logarithms(&rows.numbers, &units);
        let frame = match self.config.anchor {
            Anchor::First => Frame::standard(&logarithms, rows.width),
            Anchor::None => Frame::sparse(&logarithms, rows.width),
        };
        frame.of_logarithms(units)
    }

    fn rebuild(&mut self, config: &Config) {
        // A class exists from its first row on, also when the rows are learned again.
        let outputs = if self.config.loss.reads() == Reads::Class { 0 } else { self.outputs() };
        let away = std::mem::take(&mut self.engine.away).emptied();
        let kept = std::mem::take(&mut self.engine.kept);
        let threads = self.engine.basis.space.threads();
        self.engine =
            build_engine(config, self.features).expect("a checked configuration stays valid once its statistics are known");
        (self.engine.away, self.engine.kept) = (away, kept);
        self.engine.basis.space.set_threads(threads);
        self.blur.forget_kernels();
        self.engine.all_heads_mut().for_each(|h| h.add_outputs(outputs));
    }
}
