//! A threshold of its own for the averaged score (algorithms.md 3.5, 7.8), which holds the rate of alerts at nu.
//!
//! Each score moves a number m, up by s nu if the score was not below the threshold, down by s (1 - nu) if it was:
//!
//! ```text
//! m <- m + s_t w_t (nu - 1{score < th})
//! s_t = max(0.05, s_0 sqrt(1000/(1000 + t)))      s_0: a fifth of the way from the nu-quantile of the first scores to their median
//! ```
//!
//! What the threshold makes of m depends on the scores:
//!
//! ```text
//! scores >= 0         th = exp(m) level           level: the recent mean score
//! scores of any sign  th = level + m spread       spread: the recent mean of |score - level|
//! ```
//!
//! **The bound.** Let T be the sum of the weights w_t. Steps never grow, so
//!
//! ```text
//! |rate - nu| <= (max m - min m) / (s_T T)
//! ```
//!
//! whatever the scores are and however level and spread follow them. Proof: w_t (1{out_t} - nu) = (m_t - m_{t+1}) / s_t. Let
//! a_t = m_t - min m and R = max m - min m, so 0 <= a_t <= R. Summed by parts,
//!
//! ```text
//! T (rate - nu) = a_1/s_1 + sum_{t=2}^T a_t (1/s_t - 1/s_{t-1}) - a_{T+1}/s_T
//! ```
//!
//! The first two parts are not negative and at most R/s_T, the last one is between -R/s_T and 0. If the step is given, it is constant,
//! and the sum is exactly (m_1 - m_{T+1})/s.
//!
//! m is never clamped: where exp(m) would leave the range of f64, the rest of m is kept beside it. Each move is rounded, and so are
//! the sums of weights, so the bound has 4 epsilon (1 + |m|) / (s_T T) + 2 epsilon per move on top.

use super::AlertRate;
use crate::certificate::recent::follow;

/// What is known of the scores before the first of them: a function of the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scores {
    /// They are 0 or more: m is the logarithm of the threshold in units of the recent mean score.
    #[default]
    NotNegative,
    /// They may have any sign: m is the threshold's distance from the recent mean score in units of the spread.
    AnySign,
}

/// A threshold that is tracked; see the head of this file.
#[derive(Clone, Debug, PartialEq)]
pub struct Tracker {
    given: Option<f64>,
    pub(crate) warmup: usize,
    pub(crate) of: Scores,
    /// The first scores in their units, while they are gathered.
    pub(crate) gathered: Vec<f64>,
    pub(crate) state: TrackerState,
}

/// What a tracker has found so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TrackerState {
    /// exp(m), kept inside the range of f64, or m itself for scores of any sign; where it started, and its range.
    pub quantile: f64,
    pub start: f64,
    pub least: f64,
    pub largest: f64,
    /// What m has beyond ln(quantile), where exp(m) would leave the range of f64; and its range.
    pub beyond: f64,
    pub least_beyond: f64,
    pub largest_beyond: f64,
    /// s_0.
    pub stride: f64,
    pub level: f64,
    pub spread: f64,
    /// Scores seen.
    pub scores: f64,
    /// The sum of the weights of the scores that were held against the threshold, and of those below it.
    pub examples: f64,
    pub outside: f64,
}

/// The smallest level of scores that are not negative, and the smallest start of their quantile.
const LEAST_LEVEL: f64 = 1e-12;
/// The smallest spread, as a part of the level: equal scores still have a threshold that can move past them.
const LEAST_SPREAD: f64 = 1e-9;
/// The smallest spread of scores that are all zero.
const LEAST_SPREAD_AT_ZERO: f64 = 1e-300;
/// A threshold starts at most so many spreads from the level.
const FARTHEST_START: f64 = 16.0;
/// While there are few scores, the newest counts for so many of them in level and spread.
const YOUNG: f64 = 5.0;
/// s_0 is this share of the way from the quantile to the median, and steps shrink after this many examples.
const STRIDE: f64 = 0.2;
const STRIDES: f64 = 1000.0;
/// The sum of the logarithms that the bound is computed from.
const LOGARITHMS: f64 = 1500.0;
/// A step is at least this long.
const LEAST_STEP: f64 = 0.05;

impl Tracker {
    pub(crate) fn new(step: Option<f64>, warmup: usize, of: Scores) -> Self {
        Tracker { given: step, warmup: warmup.max(1), of, gathered: Vec::new(), state: TrackerState::default() }
    }

    /// Is the threshold there yet?
    pub fn ready(&self) -> bool {
        match self.of {
            Scores::NotNegative => self.state.quantile > 0.0,
            Scores::AnySign => self.state.scores >= self.warmup as f64,
        }
    }

    /// Does what was loaded fit together?
    pub(crate) fn is_possible(&self) -> bool {
        let TrackerState { quantile, least, largest, beyond, least_beyond, largest_beyond, spread, .. } = self.state;
        let inside = least <= quantile && quantile <= largest;
        let ranges = least_beyond <= beyond.min(0.0) && beyond.max(0.0) <= largest_beyond && spread >= 0.0;
        ranges
            && match self.of {
                // Files of version 2 and before have no range of the quantile where the step was given.
                Scores::NotNegative => !self.ready() || (self.given.is_some() && least == 0.0) || (least > 0.0 && inside),
                Scores::AnySign => inside && (least_beyond, largest_beyond) == (0.0, 0.0),
            }
    }

    /// What the next score is held against; 0 while the first are gathered.
    pub fn threshold(&self) -> f64 {
        let state = &self.state;
        match self.of {
            Scores::AnySign => (state.level + state.quantile * self.spread()).clamp(-f64::MAX, f64::MAX),
            // exp(m) is below the smallest number; no score >= 0 is below 0.
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

    /// A score in the units of m or exp(m), before level and spread have seen it.
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

    /// A score met the threshold: m moves.
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

    /// s_t.
    fn stride(&self) -> f64 {
        let shorter = (STRIDES / (STRIDES + self.state.examples)).sqrt();
        self.given.unwrap_or(LEAST_STEP.max(self.state.stride * shorter))
    }

    /// Scores grow while f is young, so the start is a quantile of the later half of the gathered scores.
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

    /// The certificate, once the threshold is there and an example has met it.
    pub fn certificate(&self, nu: f64) -> Option<AlertRate> {
        let TrackerState { examples, outside, scores, .. } = self.state;
        let (moved, farthest) = self.state.moved(self.of, self.given.is_some());
        let rounding = 4.0 * f64::EPSILON * ((1.0 + farthest) * scores + LOGARITHMS);
        let bound = (moved + rounding) / (self.stride() * examples) + 2.0 * f64::EPSILON * scores;
        (examples > 0.0).then(|| AlertRate { nu, rate: outside / examples, bound })
    }
}

impl TrackerState {
    /// exp(m) <- exp(m + move_by). What would leave the range of f64 is kept in `beyond`, so m itself is never clamped.
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

    /// How far m has moved for the bound, and the size of the largest number that was added up on the way.
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

    /// Streams of scores of any sign, each with the largest distance of its rate from nu.
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

    /// The rate by its definition, and what the tracker says of it.
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

    /// The bound holds for both kinds, steps that are given or not, weights, and any length of the warm-up; with a given step the
    /// bound is the distance itself.
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

    /// Scores that fall to zero for good: exp(m) leaves the range of f64, m does not stop, and the rate returns to nu.
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
