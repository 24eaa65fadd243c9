//! A bank: several heads over one set of terms, each with its own kernel, loss, step size and regulariser. Fixed-share Hedge
//! combines the heads: the best one gets most of the weight, and another one can take over when the stream changes (algorithms.md
//! 4.2). A head has one voice or two: its last hypothesis, and an average of the recent ones, which is better on a stationary
//! stream.
//!
//! ```text
//! z   = sum_h w_h z_h                                                        the score of the bank, over all voices h
//! w_h <- (1 - share) w_h exp(-rate_t min(largest, (l_h - min l) / scale)) / total + share / voices
//! ```
//!
//! rate_t = max(rate, eager / sqrt(t)) is larger at the start, so that the first examples separate good voices from bad ones.
//!
//! l_h is 1 for a wrong decision and 0 for a right one where there are classes or signs, otherwise the first loss of the bank.
//! All voices are judged by this one measure, also those of heads that minimise another loss. `scale` is the recent mean of sum_h w_h l_h, so the weights do not depend on the unit of the loss. Kernel values are nearly all of the cost
//! and are shared by all heads. A new term is stored when the leading head needs one. If only other heads need one, their update
//! is projected onto the nearest stored term.
//!
//! A head whose step would give a state that is not finite does not stop the others. Its function is reset to f = 0 and the head
//! rests: it takes no step, and its voices have weight 0 and get no part of the shared weight. A weight is 0 if and only if its
//! head rests, so only the weights have to be saved. All resting heads start again, from f = 0 and with a part of the shared
//! weight, at the next example whose number is a power of two. (This number counts all examples with a target, learned or
//! skipped.) If no head can take its step, the example is skipped and no head is reset.

use crate::certificate::recent::follow;
use crate::engine::Example;
use crate::engine::head::Voice;
use crate::parts::loss::{Loss, Reads};

/// How fast weights move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pace {
    /// The learning rate of Hedge in the long run; it multiplies losses that are divided by `scale`.
    rate: f64,
    /// The learning rate at the first example; it decreases with the square root of the number of examples.
    eager: f64,
    /// The part of the total weight that is shared equally among the voices after every example.
    share: f64,
}

/// The pace of a bank, unless it is the selected one of `kernel = auto`.
pub(crate) const USUAL: Pace = Pace { rate: 0.05, eager: 2.0, share: 5e-4 };
/// The pace of the bank of `kernel = auto`.
pub(crate) const QUICK: Pace = Pace { eager: 4.0, ..USUAL };
/// The pace of this bank where heads are broad and there is no decision. The size of an error tells voices apart sooner than a mistake does; with
/// the slower pace, the voice that led after the first examples of ChickWeights kept its weight for 300 rows in which another one was better.
pub(crate) const QUICK_WITH_NUMBERS: Pace = Pace { eager: 8.0, share: 1e-3, ..USUAL };

/// A single loss counts as at most this multiple of `scale`.
const LARGEST_LOSS: f64 = 8.0;
/// At the start of the running mean `scale`, the newest loss counts as this many losses; see [`follow`].
const YOUNG: f64 = 10.0;

/// The weight of the newest example in the recent mean of the weights.
const RECENT: f64 = 1.0 / 128.0;

/// Losses with an adaptive theta cannot be used in a bank, so theta is a constant here.
const NO_THETA: f64 = 0.0;

/// The weights of the voices and the losses from which they are computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Bank {
    /// The head of each voice.
    heads: Vec<usize>,
    /// The first voice of each head.
    first_voices: Vec<usize>,
    /// The number of heads over terms; the others, which come last, are weight vectors.
    of_terms: usize,
    pub(crate) pace: Pace,
    /// The relative share of each voice: its first weight, and its part of the shared weight.
    shares: Vec<f64>,
    pub(crate) weights: Vec<f64>,
    /// The recent mean of sum_h w_h l_h.
    pub(crate) scale: f64,
    pub(crate) examples: f64,
    /// The cumulative first loss of each voice, and of the bank.
    pub(crate) losses: Vec<f64>,
    pub(crate) loss: f64,
    /// The recent mean of each weight, where widths follow the stream; otherwise empty.
    pub(crate) recent: Vec<f64>,
    judged: Vec<f64>,
    pub(crate) scores: Vec<f64>,
    gradient: Vec<f64>,
}

impl Bank {
    /// A bank with equal weights; `counts` is the number of voices of each head.
    pub(crate) fn new(counts: impl IntoIterator<Item = usize>) -> Self {
        let of_head = |(head, count)| std::iter::repeat_n(head, count);
        let heads: Vec<usize> = counts.into_iter().enumerate().flat_map(of_head).collect();
        let voices = heads.len();
        let first_voices = (0..voices).filter(|&v| v == 0 || heads[v] != heads[v - 1]).collect();
        Bank {
            first_voices,
            of_terms: usize::MAX,
            heads,
            pace: USUAL,
            shares: vec![1.0; voices],
            weights: vec![1.0 / voices as f64; voices],
            scale: 0.0,
            examples: 0.0,
            losses: vec![0.0; voices],
            loss: 0.0,
            recent: Vec::new(),
            judged: Vec::new(),
            scores: Vec::new(),
            gradient: Vec::new(),
        }
    }

    /// The same bank, of which the first heads are over terms.
    pub(crate) fn over_terms(self, of_terms: usize) -> Self {
        Bank { of_terms, ..self }
    }

    /// Whether these are valid weights: they sum to one, and the weights of all voices of one head are either all 0 (the head
    /// rests) or all positive.
    pub(crate) fn can_have(&self, weights: &[f64]) -> bool {
        let sum: f64 = weights.iter().sum();
        let heads = &self.heads;
        let together = (1..heads.len()).all(|v| heads[v] != heads[v - 1] || (weights[v] > 0.0) == (weights[v - 1] > 0.0));
        weights.iter().all(|w| *w >= 0.0) && (sum - 1.0).abs() < 1e-6 && together
    }

    /// The weight of each voice, ordered by head; the weights sum to one.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The cumulative first loss of each voice, in the order of the weights. While its head rests, the loss of the score 0 is
    /// added.
    pub fn losses(&self) -> &[f64] {
        &self.losses
    }

    /// The cumulative first loss of the bank's combined scores.
    pub fn loss(&self) -> f64 {
        self.loss
    }

    /// For each head, the loss of the bank minus that of the head's first voice.
    pub(crate) fn lost_more_than_heads(&self) -> Vec<f64> {
        let mut lost = Vec::new();
        for (head, loss) in self.heads.iter().zip(&self.losses) {
            if *head == lost.len() {
                lost.push(self.loss - loss);
            }
        }
        lost
    }

    /// The least cumulative first loss of the voices of a head.
    pub(crate) fn least_loss(&self, head: usize) -> f64 {
        let of_head = self.heads.iter().zip(&self.losses).filter(|(h, _)| **h == head);
        of_head.map(|(_, loss)| *loss).fold(f64::INFINITY, f64::min)
    }

    /// The head over terms whose voice has the largest weight; the first one in case of a tie.
    pub fn leader(&self) -> usize {
        self.heads[self.leading_over_terms()]
    }

    /// The head whose voice has the largest weight, over terms or not.
    pub(crate) fn leading_head(&self) -> usize {
        self.heads[self.leading_voice()]
    }

    /// The index of the voice over terms with the largest weight.
    pub(crate) fn leading_over_terms(&self) -> usize {
        self.leading(self.heads.partition_point(|head| *head < self.of_terms))
    }

    /// The index of the voice with the largest weight.
    pub(crate) fn leading_voice(&self) -> usize {
        self.leading(self.weights.len())
    }

    /// The index of the voice with the largest weight among the first `count`.
    fn leading(&self, count: usize) -> usize {
        (0..count).fold(0, |best, v| if self.weights[v] > self.weights[best] { v } else { best })
    }

    /// Whether this head rests, because its last step would have given a state that is not finite, or has retired.
    pub fn rests(&self, head: usize) -> bool {
        // The weights of all voices of a head are 0 together.
        self.first_voices.get(head).is_some_and(|&voice| self.weights[voice] == 0.0)
    }

    /// The number of heads that rest.
    pub fn resting(&self) -> usize {
        let last = self.heads.last().map_or(0, |head| head + 1);
        (0..last).filter(|&head| self.rests(head)).count()
    }

    /// z = sum_h w_h z_h.
    pub(crate) fn combine<'a>(&self, scores: impl Iterator<Item = &'a [f64]>, out: &mut Vec<f64>) {
        out.clear();
        let mut weights = self.weights.iter();
        // `for_each` runs through chained iterators faster than a loop does.
        scores.for_each(|z| {
            let Some(w) = weights.next().filter(|w| **w > 0.0) else { return };
            if out.len() < z.len() {
                out.resize(z.len(), 0.0);
            }
            out.iter_mut().zip(z).for_each(|(out, z)| *out += w * z);
        });
    }

    /// Computes the combined scores of the current row.
    pub(crate) fn read<'a>(&mut self, scores: impl Iterator<Item = &'a [f64]>) {
        let mut out = std::mem::take(&mut self.scores);
        self.combine(scores, &mut out);
        self.scores = out;
    }

    /// The loss of the combined scores on the current row times the weight, and whether the row was outside. Here and below,
    /// `loss` is the first loss.
    pub(crate) fn own_loss<L: Loss>(&mut self, loss: &L, y: &[f64], weight: f64) -> (f64, bool) {
        self.gradient.resize(self.scores.len(), 0.0);
        let eval = loss.eval(&self.scores, y, NO_THETA, &mut self.gradient);
        (weight * eval.loss, eval.outside)
    }

    /// Updates the weights from the losses of the voices on an example. Voices of heads that rest get weight 0.
    pub(crate) fn learn<'a, L: Loss>(
        &mut self,
        loss: &L,
        example: &Example<'_>,
        own: f64,
        voices: impl Iterator<Item = Voice<'a>>,
    ) {
        let Example { y, weight, new_class, .. } = *example;
        let Bank { judged, losses, weights, shares, gradient, .. } = self;
        judged.clear();
        let (mut awake, reads) = (0.0, loss.reads());
        let mut known = losses.iter_mut().zip(weights).zip(shares);
        // `for_each` runs through chained iterators faster than a loop does.
        voices.for_each(|voice| {
            let Some(((total, weight_of), share)) = known.next() else { return };
            let evaluate = || weight * loss.eval(voice.scores, y, NO_THETA, gradient).loss;
            // A head that rests has no planned step and so no loss of its own, and another head may have another loss: their
            // scores are evaluated here.
            let lost = if voice.retired { 0.0 } else { voice.loss.filter(|_| !voice.rests).unwrap_or_else(evaluate) };
            *total = (*total + lost).min(f64::MAX);
            if voice.rests {
                *weight_of = 0.0;
                judged.push(f64::INFINITY);
                return;
            }
            awake += *share;
            let wrong = judge(reads, voice.scores, y).map(|wrong| wrong || new_class);
            judged.push(wrong.map_or(lost, |wrong| weight * f64::from(u8::from(wrong))).min(f64::MAX));
        });
        self.loss = (self.loss + own).min(f64::MAX);
        self.examples += 1.0;
        self.weigh(awake);
        self.recent.iter_mut().zip(&self.weights).for_each(|(recent, weight)| *recent += RECENT * (weight - *recent));
    }

    /// Gives the voices of a new bank these relative shares, and another pace.
    pub(crate) fn begin_with(&mut self, shares: Vec<f64>, pace: Pace) {
        let total: f64 = shares.iter().sum();
        self.weights = shares.iter().map(|share| share / total).collect();
        (self.shares, self.pace) = (shares, pace);
    }

    /// Takes the weight of the voices of these heads and shares it among the others in proportion to their weights.
    pub(crate) fn retire(&mut self, retired: impl Fn(usize) -> bool) {
        let gone = self.heads.iter().map(|head| retired(*head));
        let kept: f64 = self.weights.iter().zip(gone.clone()).filter(|(_, gone)| !gone).map(|(w, _)| w).sum();
        for ((w, recent), gone) in self.weights.iter_mut().zip(&mut self.recent).zip(gone) {
            *w = if gone { 0.0 } else { *w / kept };
            *recent = if gone { 0.0 } else { *recent };
        }
    }

    /// Gives the voices of a head that begins anew a part of the shared weight, if they have no weight.
    pub(crate) fn admit(&mut self, head: usize) {
        let all: f64 = self.shares.iter().sum();
        for v in (0..self.weights.len()).filter(|&v| self.heads[v] == head && self.weights[v] == 0.0).collect::<Vec<_>>() {
            let part = self.pace.share * self.shares[v] / all;
            self.weights.iter_mut().for_each(|w| *w *= 1.0 - part);
            self.weights[v] = part;
        }
    }

    /// The recent mean of the weight of a head: that of all its voices.
    pub(crate) fn recent_share(&self, head: usize) -> f64 {
        self.heads.iter().zip(&self.recent).filter(|(h, _)| **h == head).map(|(_, recent)| recent).sum()
    }

    /// From now on, the recent mean of each weight is kept.
    pub(crate) fn keep_recent(&mut self) {
        self.recent.clone_from(&self.weights);
    }

    /// What a voice lost on the last example: 1 or 0 for decisions, otherwise the loss; infinite while its head rests.
    pub(crate) fn judged(&self, voice: usize) -> f64 {
        self.judged[voice]
    }

    /// Multiplies the weights by exp(-rate ...), normalises them, and shares a fixed part among the voices whose heads do not rest;
    /// `awake` is the sum of the relative shares of these voices.
    fn weigh(&mut self, awake: f64) {
        let Pace { rate, eager, share } = self.pace;
        let least = self.judged.iter().copied().fold(f64::INFINITY, f64::min);
        let rests = |judged: f64| judged == f64::INFINITY;
        let usual = self.weights.iter().zip(&self.judged).filter(|(_, l)| !rests(**l)).map(|(w, l)| w * l).sum();
        follow(&mut self.scale, usual, self.examples, YOUNG);
        let rate = rate.max(eager / self.examples.sqrt());
        let mut total = 0.0;
        // Voices with a wrong decision have lost the same: one exponential for all of them.
        let (mut of, mut factor) = (least, 1.0);
        for (w, judged) in self.weights.iter_mut().zip(&self.judged) {
            if *judged > least && !rests(*judged) {
                if *judged != of {
                    (of, factor) = (*judged, libm::exp(-rate * ((judged - least) / self.scale).min(LARGEST_LOSS)));
                }
                *w *= factor;
            }
            total += *w;
        }
        // If every voice with a positive weight rests now, the voices that start again get equal weights.
        let (total, handed_out) = if total > 0.0 { (total, share) } else { (1.0, 1.0) };
        for ((w, judged), own) in self.weights.iter_mut().zip(&self.judged).zip(&self.shares) {
            *w = if rests(*judged) { 0.0 } else { (1.0 - share) * *w / total + handed_out * own / awake };
        }
    }
}

/// The index of the largest score; the first one in case of a tie.
pub(crate) fn decision(scores: &[f64]) -> usize {
    (0..scores.len()).fold(0, |best, c| if scores[c] > scores[best] { c } else { best })
}

/// The loss of one voice as a bank judges it: 1 or 0 for decisions, otherwise the loss, times the weight of the example.
pub(crate) fn judged_loss<L: Loss>(loss: &L, scores: &[f64], example: &Example<'_>, gradient: &mut [f64]) -> f64 {
    let Example { y, weight, new_class, .. } = *example;
    let wrong = judge(loss.reads(), scores, y).map(|wrong| f64::from(u8::from(wrong || new_class)));
    weight * wrong.unwrap_or_else(|| loss.eval(scores, y, NO_THETA, gradient).loss)
}

/// Whether the decision is wrong; none for losses without a decision. While only one class is known, it competes with a class not
/// yet seen, whose score is 0.
fn judge(reads: Reads, scores: &[f64], y: &[f64]) -> Option<bool> {
    match reads {
        Reads::Sign => Some(scores[0] * y[0] <= 0.0),
        Reads::Class if scores.len() == 1 => Some(scores[0] <= 0.0),
        Reads::Class => Some(decision(scores) as f64 != y[0]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::loss::AnyLoss;

    fn after(rounds: usize, losses: [f64; 3]) -> Bank {
        let mut bank = Bank::new([1; 3]);
        (0..rounds).for_each(|_| hear(&mut bank, losses));
        bank
    }

    fn hear(bank: &mut Bank, losses: [f64; 3]) {
        let voices = losses.iter().map(|l| Voice { scores: &[0.0], loss: Some(*l), rests: l.is_nan(), retired: false });
        let example = Example { t: 1, y: &[0.0], weight: 1.0, share: 1.0, new_class: false };
        bank.learn(&AnyLoss::Squared {}, &example, 0.0, voices);
    }

    #[test]
    fn the_best_head_leads_and_the_others_keep_their_share() {
        let bank = after(2000, [2.0, 1.0, 3.0]);
        assert_eq!(bank.leader(), 1);
        assert!(bank.weights[1] > 0.95 && bank.weights.iter().all(|w| *w >= USUAL.share / 3.0));
        assert!((bank.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_first_examples_tell_voices_apart() {
        assert!(after(5, [2.0, 1.0, 3.0]).weights[1] > 0.9);
    }

    #[test]
    fn losses_have_no_unit() {
        // Powers of two scale without rounding.
        assert_eq!(after(300, [2.0, 1.0, 3.0]).weights, after(300, [2048.0, 1024.0, 3072.0]).weights);
    }

    #[test]
    fn another_head_takes_over_when_the_stream_changes() {
        let mut bank = after(5000, [2.0, 1.0, 3.0]);
        (0..1000).for_each(|_| hear(&mut bank, [2.0, 3.0, 1.0]));
        assert_eq!(bank.leader(), 2);
    }

    #[test]
    fn a_resting_head_has_no_weight_until_it_starts_again() {
        let mut bank = after(100, [2.0, 1.0, 3.0]);
        hear(&mut bank, [2.0, f64::NAN, 3.0]);
        assert_eq!((bank.weights[1], bank.leader(), bank.resting(), bank.rests(1)), (0.0, 0, 1, true));
        assert!((bank.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let lost = bank.losses[1];
        hear(&mut bank, [2.0, f64::NAN, 3.0]);
        assert_eq!((bank.weights[1], bank.losses[1]), (0.0, lost));
        assert!(bank.can_have(&bank.weights));
        hear(&mut bank, [2.0, 2.0, 3.0]);
        assert_eq!((bank.weights[1], bank.resting()), (USUAL.share / 3.0, 0));
    }

    #[test]
    fn a_head_that_starts_again_alone_has_all_the_weight() {
        let mut bank = after(100, [2.0, 1.0, 3.0]);
        hear(&mut bank, [f64::NAN, 1.0, f64::NAN]);
        hear(&mut bank, [2.0, f64::NAN, f64::NAN]);
        assert_eq!(bank.weights, [1.0, 0.0, 0.0]);
    }

    #[test]
    fn the_voices_of_one_head_rest_together() {
        let bank = Bank::new([2, 1]);
        assert!(!bank.can_have(&[0.0, 0.5, 0.5]));
        assert!(bank.can_have(&[0.0, 0.0, 1.0]));
    }

    #[test]
    fn a_head_leads_by_one_of_its_voices() {
        let mut bank = Bank::new([1, 2, 1]);
        bank.weights = vec![0.1, 0.2, 0.5, 0.2];
        assert_eq!((bank.leading_voice(), bank.leader()), (2, 1));
        bank.weights = vec![0.1, 0.2, 0.2, 0.5];
        assert_eq!((bank.leading_voice(), bank.leader()), (3, 2));
    }

    /// No voice can predict a class that was never seen, even if its score, 0, is the largest.
    #[test]
    fn the_first_row_of_a_class_is_a_mistake_of_every_voice() {
        let mut bank = Bank::new([1; 2]);
        let example = |new_class| Example { t: 1, y: &[1.0], weight: 1.0, share: 1.0, new_class };
        let scores: [&[f64]; 2] = [&[-0.5, 0.0], &[0.5, 0.0]];
        let voices = || scores.into_iter().map(|scores| Voice { scores, loss: Some(0.0), rests: false, retired: false });
        bank.learn(&AnyLoss::Softmax {}, &example(true), 0.0, voices());
        assert_eq!((bank.weights[0], bank.scale), (bank.weights[1], 1.0));
        bank.learn(&AnyLoss::Softmax {}, &example(false), 0.0, voices());
        assert!(bank.weights[0] > bank.weights[1]);
    }

    #[test]
    fn decisions_are_judged_where_there_are_any() {
        assert_eq!(judge(Reads::Sign, &[0.3], &[1.0]), Some(false));
        assert_eq!(judge(Reads::Sign, &[0.0], &[1.0]), Some(true));
        assert_eq!(judge(Reads::Class, &[0.3, 0.3], &[0.0]), Some(false));
        assert_eq!(judge(Reads::Class, &[0.3, 0.3], &[1.0]), Some(true));
        assert_eq!(judge(Reads::Class, &[0.0], &[0.0]), Some(true));
        assert_eq!(judge(Reads::Class, &[0.3], &[0.0]), Some(false));
        assert_eq!(judge(Reads::Number, &[0.3], &[1.0]), None);
    }
}
