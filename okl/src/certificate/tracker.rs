//! A separate threshold for the averaged score (algorithms.md 3.5, 7.8), which keeps the alert rate at nu.
//!
//! Each score changes a number m: m rises by s nu if the score was not below the threshold th, and falls by s (1 - nu) if it was.
//!
//! ```text
//! m <- m + s_t w_t (nu - 1{score < th})
//! s_t = max(0.05, s_0 sqrt(1000/(1000 + t)))      s_0: 1/5 of the distance from the nu-quantile of the first scores to their median
//! ```
//!
//! The threshold is computed from m; the formula depends on the sign of the scores:
//!
//! ```text
//! scores >= 0         th = exp(m) level           level: the recent mean score
//! scores of any sign  th = level + m spread       spread: the recent mean of |score - level|
//! ```
//!
//! **The bound.** Let T be the sum of the weights w_t. The step s_t never grows, so
//!
//! ```text
//! |rate - nu| <= (max m - min m) / (s_T T)
//! ```
//!
//! for any scores, and for any values of level and spread. Proof: w_t (1{out_t} - nu) = (m_t - m_{t+1}) / s_t. Let a_t = m_t -
//! min m and R = max m - min m, so 0 <= a_t <= R. Summation by parts gives
//!
//! ```text
//! T (rate - nu) = a_1/s_1 + sum_{t=2}^T a_t (1/s_t - 1/s_{t-1}) - a_{T+1}/s_T
//! ```
//!
//! The first two parts together lie between 0 and R/s_T, the last one between -R/s_T and 0. If the step is given in the
//! configuration, it is constant, and the sum is exactly (m_1 - m_{T+1})/s.
//!
//! m is never clamped. Where exp(m) would leave the range of f64, the rest of m is stored separately. Every move of m and every
//! sum of weights is rounded; for this the bound contains another 4 epsilon (1 + |m|) / (s_T T) + 2 epsilon per move.

use super::AlertRate;
use crate::certificate::recent::follow;

/// The possible signs of the scores, which follow from the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scores {
    /// All scores are >= 0: m is the logarithm of the threshold in units of the recent mean score.
    #[default]
    NotNegative,
    /// Scores may have any sign: m is the distance of the threshold from the recent mean score in units of the spread.
    AnySign,
}

/// A threshold that tracks a quantile of the scores; see the head of this file.
#[derive(Clone, Debug, PartialEq)]
pub struct Tracker {
    given: Option<f64>,
    pub(crate) warmup: usize,
    pub(crate) of: Scores,
    /// The first scores in the units of m (or exp(m)), until the threshold is initialised.
    pub(crate) gathered: Vec<f64>,
    pub(crate) state: TrackerState,
}

/// The state of a tracker.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TrackerState {
    /// `quantile` is exp(m), limited to the range of f64, or m itself for scores of any sign. `start`, `least` and `largest` are
    /// its initial, smallest and largest value.
    pub quantile: f64,
    pub start: f64,
    pub least: f64,
    pub largest: f64,
    /// The part of m beyond ln(quantile), where exp(m) would leave the range of f64, and its smallest and largest value.
    pub beyond: f64,
    pub least_beyond: f64,
    pub largest_beyond: f64,
    /// s_0.
    pub stride: f64,
    pub level: f64,
    pub spread: f64,
    /// The number of scores seen.
    pub scores: f64,
    /// The sum of the weights of all scores that were compared with the threshold, and (`outside`) of those below it.
    pub examples: f64,
    pub outside: f64,
}

/// A lower limit for the level of scores >= 0, and for the initial quantile.
const LEAST_LEVEL: f64 = 1e-12;
/// A lower limit for the spread, relative to the level, so that the threshold can also move past scores that are all equal.
const LEAST_SPREAD: f64 = 1e-9;
/// A lower limit for the spread if all scores are zero.
const LEAST_SPREAD_AT_ZERO: f64 = 1e-300;
/// The initial threshold is at most this many spreads away from the level.
const FARTHEST_START: f64 = 16.0;
/// At the start, the newest score counts as this many scores in level and spread; see [`follow`].
const YOUNG: f64 = 5.0;
/// s_0 is this fraction of the distance from the nu-quantile to the median; steps begin to shrink after `STRIDES` examples.
const STRIDE: f64 = 0.2;
const STRIDES: f64 = 1000.0;
/// An upper bound on the sum of the absolute logarithms from which the bound is computed, for its rounding.
const LOGARITHMS: f64 = 1500.0;
/// A lower limit for the step s_t.
const LEAST_STEP: f64 = 0.05;

impl Tracker {
    pub(crate) fn new(step: Option<f64>, warmup: usize, of: Scores) -> Self {
        Tracker { given: step, warmup: warmup.max(1), of, gathered: Vec::new(), state: TrackerState::default() }
    }

    /// Whether the threshold is initialised.
    pub fn ready(&self) -> bool {
        match self.of {
            Scores::NotNegative => self.state.quantile > 0.0,
            Scores::AnySign => self.state.scores >= self.warmup as f64,
        }
    }

    /// Whether a loaded state is consistent.
    pub(crate) fn is_possible(&self) -> bool {
        let TrackerState { quantile, least, largest, beyond, least_beyond, largest_beyond, spread, .. } = self.state;
        let inside = least <= quantile && quantile <= largest;
        let ranges = least_beyond <= beyond.min(0.0) && beyond.max(0.0) <= largest_beyond && spread >= 0.0;
        ranges
            && match self.of {
                // Files of format 2 and earlier do not store the range of the quantile if the step was given.
                Scores::NotNegative => !self.ready() || (self.given.is_some() && least == 0.0) || (least > 0.0 && inside),
                Scores::AnySign => inside && (least_beyond, largest_beyond) == (0.0, 0.0),
            }
    }

    /// The threshold for the next score; 0 while the first scores are being collected.
    pub fn threshold(&self) -> f64 {
        let state = &self.state;
        match self.of {
            Scores::AnySign => (state.level + state.quantile * self.spread()).clamp(-f64::MAX, f64::MAX),
            // exp(m) is below the smallest positive f64. The threshold 0 gives no alert, because no score is below 0.
            Scores::NotNegative if state.beyond < 0.0 => 0.0,
            Scores::NotNegative => (state.quantile * self.level()).min(f64::MAX),
        }
    }

    fn level(&self) -> f64 {
        if self.given.is_some() { 1.0 } else { self.state.level.max(LEAST_LEVEL) }
    }

    fn spread(&self) -> f64 {
        self.state.spread.max(LEAST_SPREAD * self.state.level.abs()).max(LEAST_SPREAD_AT_ZERO)
    }

    pub(crate) fn step(&mut self, weight: f64, score: f64, nu: f64) {
        if self.ready() {
            self.meet(weight, score < self.threshold(), nu);
        } else {
            self.gathered.push(self.in_units(score));
            if self.gathered.len() >= self.warmup {
                self.start_at_quantile(nu);
            }
        }
        self.follow(score);
    }

    /// Converts a score to the units of m (or exp(m)), with level and spread before their update with this score.
    fn in_units(&self, score: f64) -> f64 {
        match self.of {
            Scores::NotNegative => score / self.level(),
            Scores::AnySign if self.state.spread == 0.0 => 0.0,
            Scores::AnySign => ((score - self.state.level) / self.spread()).clamp(-FARTHEST_START, FARTHEST_START),
        }
    }

    fn follow(&mut self, score: f64) {
        let state = &mut self.state;
        state.scores += 1.0;
        if self.of == Scores::AnySign && state.scores > 1.0 {
            follow(&mut state.spread, (score - state.level).abs(), state.scores - 1.0, YOUNG);
        }
        follow(&mut state.level, score, state.scores, YOUNG);
    }

    /// Moves m after a score was compared with the threshold, and updates ranges and counts.
    fn meet(&mut self, weight: f64, outside: bool, nu: f64) {
        let move_by = self.stride() * weight * (nu - f64::from(u8::from(outside)));
        let state = &mut self.state;
        match self.of {
            Scores::NotNegative => state.multiply(move_by),
            Scores::AnySign => state.quantile += move_by,
        }
        (state.least, state.largest) = (state.least.min(state.quantile), state.largest.max(state.quantile));
        (state.least_beyond, state.largest_beyond) =
            (state.least_beyond.min(state.beyond), state.largest_beyond.max(state.beyond));
        state.examples += weight;
        state.outside += if outside { weight } else { 0.0 };
    }

    /// The current step s_t.
    fn stride(&self) -> f64 {
        let shorter = (STRIDES / (STRIDES + self.state.examples)).sqrt();
        self.given.unwrap_or(LEAST_STEP.max(self.state.stride * shorter))
    }

    /// Initialises the threshold at the nu-quantile of the second half of the collected scores. The first half is ignored because
    /// scores grow while f has few terms.
    fn start_at_quantile(&mut self, nu: f64) {
        let mut scores = self.gathered.split_off(self.gathered.len() / 2);
        scores.sort_by(f64::total_cmp);
        let at = |share: f64| scores[((share * scores.len() as f64) as usize).min(scores.len() - 1)];
        let positive = |share: f64| at(share).max(LEAST_LEVEL);
        let (start, stride) = match self.of {
            Scores::NotNegative => (positive(nu), STRIDE * libm::log(positive(0.5) / positive(nu))),
            Scores::AnySign => (at(nu), STRIDE * (at(0.5) - at(nu))),
        };
        self.state = TrackerState { quantile: start, start, least: start, largest: start, stride: stride.max(0.0), ..self.state };
        self.gathered = Vec::new();
    }

    /// The certificate; none before the first score was compared with the threshold.
    pub fn certificate(&self, nu: f64) -> Option<AlertRate> {
        let TrackerState { examples, outside, scores, .. } = self.state;
        let (moved, farthest) = self.state.moved(self.of, self.given.is_some());
        let rounding = 4.0 * f64::EPSILON * ((1.0 + farthest) * scores + LOGARITHMS);
        let bound = (moved + rounding) / (self.stride() * examples) + 2.0 * f64::EPSILON * scores;
        (examples > 0.0).then(|| AlertRate { nu, rate: outside / examples, bound })
    }
}

impl TrackerState {
    /// exp(m) <- exp(m + move_by). The part of m that would leave the range of f64 is kept in `beyond`, so m itself is never
    /// clamped.
    fn multiply(&mut self, move_by: f64) {
        const LARGEST_EXPONENT: f64 = 700.0;
        let move_by = move_by + self.beyond;
        let moved = self.quantile * libm::exp(move_by);
        self.beyond = 0.0;
        if move_by.abs() < LARGEST_EXPONENT && moved.is_finite() && moved >= f64::MIN_POSITIVE {
            self.quantile = moved;
            return;
        }
        let (least, most) = (libm::log(f64::MIN_POSITIVE), libm::log(f64::MAX));
        let logarithm = if self.quantile == f64::MIN_POSITIVE { least } else { libm::log(self.quantile) };
        let moved = logarithm + move_by;
        (self.quantile, self.beyond) = match moved {
            _ if moved < least && logarithm == least => (f64::MIN_POSITIVE, move_by),
            _ if moved < least => (f64::MIN_POSITIVE, moved - least),
            _ if moved > most => (f64::MAX, moved - most),
            _ => (libm::exp(moved).clamp(f64::MIN_POSITIVE, f64::MAX), 0.0),
        };
    }

    /// The change of m that enters the bound, and the largest absolute value among the numbers that were added up, for the
    /// rounding.
    fn moved(&self, of: Scores, step_is_given: bool) -> (f64, f64) {
        let TrackerState { quantile, start, least, largest, beyond, least_beyond, largest_beyond, .. } = *self;
        let along = |from: f64, to: f64| if of == Scores::AnySign { to - from } else { libm::log(to) - libm::log(from) };
        let moved =
            if step_is_given { along(start, quantile) + beyond } else { along(least, largest) + largest_beyond - least_beyond };
        let farthest = if of == Scores::AnySign { largest.max(-least) } else { largest_beyond.max(-least_beyond) };
        (moved.abs(), farthest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uniform numbers in (0, 1), the same in every run.
    fn uniform(seed: &mut u64) -> f64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((*seed >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    fn normal(seed: &mut u64) -> f64 {
        (-2.0 * uniform(seed).ln()).sqrt() * (std::f64::consts::TAU * uniform(seed)).cos()
    }

    fn cauchy(seed: &mut u64) -> f64 {
        (std::f64::consts::PI * (uniform(seed) - 0.5)).tan()
    }

    const SCORES: usize = 20_000;

    /// Streams of scores of any sign, each with the largest permitted |rate - nu|.
    fn streams(seed: u64) -> Vec<(&'static str, Vec<f64>, f64)> {
        let made = |each: &dyn Fn(usize, &mut u64) -> f64| -> Vec<f64> {
            let mut seed = seed;
            (0..SCORES).map(|t| each(t, &mut seed)).collect()
        };
        let half = SCORES / 2;
        vec![
            ("normal", made(&|_, s| normal(s)), 0.005),
            ("of both signs and lopsided", made(&|_, s| normal(s).powi(3) - 0.3), 0.005),
            ("constant", made(&|_, _| -3.7), 0.005),
            ("all zero", made(&|_, _| 0.0), 0.005),
            ("two values", made(&|_, s| if uniform(s) < 0.5 { -1.0 } else { 1.0 }), 0.005),
            ("drift", made(&|t, s| normal(s) + t as f64 * 0.01), 0.005),
            ("fall", made(&|t, s| normal(s) - t as f64 * 0.01), 0.005),
            ("jump up", made(&|t, s| normal(s) + if t < half { 0.0 } else { 1e3 }), 0.02),
            ("jump down", made(&|t, s| normal(s) - if t < half { 0.0 } else { 1e3 }), 0.02),
            ("Cauchy", made(&|_, s| cauchy(s)), 0.01),
            ("cubes of Cauchy", made(&|_, s| cauchy(s).powi(3)), 0.02),
            ("a scale 1e6 times as large", made(&|t, s| normal(s) * if t < half { 1.0 } else { 1e6 }), 0.02),
            ("a scale 1e6 times as small", made(&|t, s| normal(s) * if t < half { 1e6 } else { 1.0 }), 0.02),
            ("tiny", made(&|_, s| normal(s) * 1e-200), 0.005),
            ("huge", made(&|_, s| normal(s) * 1e149), 0.005),
            ("constant, then normal", made(&|t, s| if t < half { 5.0 } else { normal(s) }), 0.02),
            ("normal, then constant", made(&|t, s| if t < half { normal(s) } else { 5.0 }), 0.02),
            (
                "sorted",
                {
                    let mut all = made(&|_, s| normal(s));
                    all.sort_by(f64::total_cmp);
                    all
                },
                0.02,
            ),
        ]
    }

    /// Returns the rate computed by its definition, and the tracker's certificate.
    fn run(mut tracker: Tracker, scores: &[f64], weight: impl Fn(usize) -> f64, nu: f64) -> (f64, AlertRate) {
        let (mut examples, mut outside) = (0.0, 0.0);
        for (t, score) in scores.iter().enumerate() {
            if tracker.ready() {
                examples += weight(t);
                outside += if *score < tracker.threshold() { weight(t) } else { 0.0 };
            }
            tracker.step(weight(t), *score, nu);
        }
        (outside / examples, tracker.certificate(nu).unwrap())
    }

    fn holds(name: &str, rate: f64, stated: AlertRate) {
        assert!((rate - stated.rate).abs() < 1e-12, "{name}: rate {rate}, stated {}", stated.rate);
        assert!((rate - stated.nu).abs() <= stated.bound, "{name}: rate {rate}, nu {}, bound {}", stated.nu, stated.bound);
    }

    #[test]
    fn the_rate_is_held_whatever_the_sign_of_the_scores() {
        for nu in [0.01, 0.1, 0.6] {
            for (name, scores, most) in streams(7) {
                let (rate, stated) = run(Tracker::new(None, 256, Scores::AnySign), &scores, |_| 1.0, nu);
                holds(name, rate, stated);
                assert!((rate - nu).abs() <= most && stated.bound <= 2.0 * most, "{name}, nu {nu}: rate {rate}, {stated:?}");
            }
        }
    }

    /// The bound holds for both kinds of scores, given and automatic steps, weights, and any length of the warm-up. With a given
    /// step the bound equals |rate - nu|.
    #[test]
    fn the_bound_holds_for_every_tracker() {
        let weights: [fn(usize) -> f64; 4] =
            [|_| 1.0, |t| [0.1, 3.0, 1e-6][t % 3], |t| if t % 1000 == 999 { 1e9 } else { 1.0 }, |_| 1e-13];
        for of in [Scores::AnySign, Scores::NotNegative] {
            for (name, mut scores, _) in streams(11) {
                if of == Scores::NotNegative {
                    scores.iter_mut().for_each(|score| *score = score.abs());
                }
                for (step, warmup) in [(None, 256), (None, 1), (Some(0.05), 2), (Some(1e-9), 30), (Some(40.0), 10)] {
                    for weight in weights {
                        let (rate, stated) = run(Tracker::new(step, warmup, of), &scores, weight, 0.1);
                        holds(&format!("{name} {of:?} {step:?} {warmup}"), rate, stated);
                    }
                }
            }
        }
    }

    /// Scores that become zero and stay zero: exp(m) leaves the range of f64, m keeps moving, and the rate returns to nu.
    #[test]
    fn scores_that_vanish_are_not_all_alerts() {
        let mut scores = vec![1.0; 500];
        scores.extend(vec![0.0; 200_000]);
        for step in [None, Some(0.05)] {
            let (rate, stated) = run(Tracker::new(step, 256, Scores::NotNegative), &scores, |_| 1.0, 0.1);
            holds("vanishing", rate, stated);
            assert!((rate - 0.1).abs() < 0.08 && stated.bound < 0.08, "rate {rate}, {stated:?}");
        }
    }
}
