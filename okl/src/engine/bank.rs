//! A bank: several heads over one set of terms, each with its own step size, regulariser and width, combined by fixed-share
//! Hedge so that the best of them leads, and another may take over when the stream changes (algorithms.md 4.2). A head has one
//! voice, or two: its last hypothesis and an average of the recent ones, which is better where nothing changes.
//!
//! ```text
//! z   = sum_h w_h z_h                                                        the score of the bank, over all voices h
//! w_h <- (1 - share) w_h exp(-rate_t min(far, (l_h - min l) / scale)) / total + share / voices
//! ```
//!
//! rate_t = max(rate, eager / sqrt(t)): the first examples have to tell voices apart that know nothing yet.
//!
//! l_h is 1 for a wrong decision and 0 for a right one where there are classes or signs, else the loss; `scale` is the recent
//! mean of sum_h w_h l_h, so that nothing here has a unit. Kernel values are nearly all of the cost and are shared: a term is
//! appended when the leading head asks for one, and what other heads would append then is projected onto the nearest term.
//!
//! A head whose step would leave a state that is not finite does not stop the others. It is set back to f = 0 and rests: it takes no
//! step, its voices have weight 0, and nothing is shared out to them. A weight is 0 if and only if its head rests, so the weights are
//! all that has to be saved. At the next example whose number is a power of two (examples with a target, learned or not) all resting
//! heads start again, from f = 0 and with a share of the weight that is handed out anew. A step that no head can take is taken by
//! none, and then no head is set back.

use crate::certificate::recent::follow;
use crate::engine::Example;
use crate::engine::head::Voice;
use crate::parts::loss::{Loss, Reads};

/// How much a loss of the usual size counts against a head, in the long run.
const RATE: f64 = 0.05;
/// How much the first does; it falls with the root of the number of examples.
const EAGER: f64 = 2.0;
/// The weight that is handed out anew after every example.
const SHARE: f64 = 5e-4;
/// No single loss counts for more than so many usual ones.
const LARGEST_LOSS: f64 = 8.0;
/// While there are few losses, the newest counts for so many of them in the usual one.
const YOUNG: f64 = 10.0;

/// A loss whose scalar adapts belongs to one function and has no bank.
const NO_THETA: f64 = 0.0;

/// The weights of the voices, and what they are weighed by.
#[derive(Clone, Debug, PartialEq)]
pub struct Bank {
    /// Whose voice each is.
    heads: Vec<usize>,
    pub(crate) weights: Vec<f64>,
    /// The recent mean of sum_h w_h l_h.
    pub(crate) scale: f64,
    pub(crate) examples: f64,
    /// The loss of each voice so far, and of the bank.
    pub(crate) losses: Vec<f64>,
    pub(crate) loss: f64,
    judged: Vec<f64>,
    pub(crate) scores: Vec<f64>,
    gradient: Vec<f64>,
}

impl Bank {
    /// Of each head, how many voices it has.
    pub(crate) fn new(counts: impl IntoIterator<Item = usize>) -> Self {
        let of_head = |(head, count)| std::iter::repeat_n(head, count);
        let heads: Vec<usize> = counts.into_iter().enumerate().flat_map(of_head).collect();
        let voices = heads.len();
        Bank {
            heads,
            weights: vec![1.0 / voices as f64; voices],
            scale: 0.0,
            examples: 0.0,
            losses: vec![0.0; voices],
            loss: 0.0,
            judged: Vec::new(),
            scores: Vec::new(),
            gradient: Vec::new(),
        }
    }

    /// May these be weights? They sum to one, and the voices of a head that rests, and no others, have weight 0.
    pub(crate) fn can_have(&self, weights: &[f64]) -> bool {
        let sum: f64 = weights.iter().sum();
        let heads = &self.heads;
        let together = (1..heads.len()).all(|v| heads[v] != heads[v - 1] || (weights[v] > 0.0) == (weights[v - 1] > 0.0));
        weights.iter().all(|w| *w >= 0.0) && (sum - 1.0).abs() < 1e-6 && together
    }

    /// How much each voice counts, head by head; the weights sum to one.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The loss of each voice so far, in the order of the weights; while its head rests, that of the score 0.
    pub fn losses(&self) -> &[f64] {
        &self.losses
    }

    /// The loss of the bank so far.
    pub fn loss(&self) -> f64 {
        self.loss
    }

    /// The head whose voice has the largest weight, the earlier one of equals.
    pub fn leader(&self) -> usize {
        self.heads[self.leading_voice()]
    }

    /// The place of that voice among the weights.
    pub(crate) fn leading_voice(&self) -> usize {
        (0..self.weights.len()).fold(0, |best, v| if self.weights[v] > self.weights[best] { v } else { best })
    }

    /// Does this head rest, because its last step would have left a state that is not finite?
    pub fn rests(&self, head: usize) -> bool {
        self.heads.iter().zip(&self.weights).any(|(h, weight)| *h == head && *weight == 0.0)
    }

    /// The number of heads that rest.
    pub fn resting(&self) -> usize {
        let last = self.heads.last().map_or(0, |head| head + 1);
        (0..last).filter(|&head| self.rests(head)).count()
    }

    /// z = sum_h w_h z_h.
    pub(crate) fn combine<'a>(&self, scores: impl Iterator<Item = &'a [f64]>, out: &mut Vec<f64>) {
        out.clear();
        for (w, z) in self.weights.iter().zip(scores) {
            out.resize(z.len(), 0.0);
            out.iter_mut().zip(z).for_each(|(out, z)| *out += w * z);
        }
    }

    /// Scores the current row.
    pub(crate) fn read<'a>(&mut self, scores: impl Iterator<Item = &'a [f64]>) {
        let mut out = std::mem::take(&mut self.scores);
        self.combine(scores, &mut out);
        self.scores = out;
    }

    /// The bank's own loss on the current row.
    pub(crate) fn own_loss<L: Loss>(&mut self, loss: &L, y: &[f64], weight: f64) -> (f64, bool) {
        self.gradient.resize(self.scores.len(), 0.0);
        let eval = loss.eval(&self.scores, y, NO_THETA, &mut self.gradient);
        (weight * eval.loss, eval.outside)
    }

    /// Weighs the voices by what each said of an example; those of heads that rest have weight 0.
    pub(crate) fn learn<'a, L: Loss>(
        &mut self,
        loss: &L,
        example: &Example<'_>,
        own: f64,
        voices: impl Iterator<Item = Voice<'a>>,
    ) {
        let Example { y, weight, new_class, .. } = *example;
        self.judged.clear();
        let mut awake = 0;
        for ((voice, total), weight_of) in voices.zip(&mut self.losses).zip(&mut self.weights) {
            let evaluate = || weight * loss.eval(voice.scores, y, NO_THETA, &mut self.gradient).loss;
            // A head that rests has planned nothing, but its voices were heard.
            let lost = voice.loss.filter(|_| !voice.rests).unwrap_or_else(evaluate);
            *total = (*total + lost).min(f64::MAX);
            if voice.rests {
                *weight_of = 0.0;
                self.judged.push(f64::INFINITY);
                continue;
            }
            awake += 1;
            let wrong = judge(loss.reads(), voice.scores, y).map(|wrong| wrong || new_class);
            self.judged.push(wrong.map_or(lost, |wrong| weight * f64::from(u8::from(wrong))).min(f64::MAX));
        }
        self.loss = (self.loss + own).min(f64::MAX);
        self.examples += 1.0;
        self.weigh(awake);
    }

    /// w_h exp(-rate ...), then the fixed share of the `awake` voices.
    fn weigh(&mut self, awake: usize) {
        let least = self.judged.iter().copied().fold(f64::INFINITY, f64::min);
        let rests = |judged: f64| judged == f64::INFINITY;
        let usual = self.weights.iter().zip(&self.judged).filter(|(_, l)| !rests(**l)).map(|(w, l)| w * l).sum();
        follow(&mut self.scale, usual, self.examples, YOUNG);
        let rate = RATE.max(EAGER / self.examples.sqrt());
        let mut total = 0.0;
        for (w, judged) in self.weights.iter_mut().zip(&self.judged) {
            if *judged > least && !rests(*judged) {
                *w *= libm::exp(-rate * ((judged - least) / self.scale).min(LARGEST_LOSS));
            }
            total += *w;
        }
        // If all that had weight rest now, those that start again share it.
        let (total, handed_out) = if total > 0.0 { (total, SHARE / awake as f64) } else { (1.0, 1.0 / awake as f64) };
        for (w, judged) in self.weights.iter_mut().zip(&self.judged) {
            *w = if rests(*judged) { 0.0 } else { (1.0 - SHARE) * *w / total + handed_out };
        }
    }
}

/// The place of the largest score, the earlier one of equals.
pub(crate) fn decision(scores: &[f64]) -> usize {
    (0..scores.len()).fold(0, |best, c| if scores[c] > scores[best] { c } else { best })
}

/// Is the decision wrong? None where scores decide nothing. The rival of a class that is alone is a class not yet seen, whose
/// score is 0.
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
        let voices = losses.iter().map(|l| Voice { scores: &[0.0], loss: Some(*l), rests: l.is_nan() });
        let example = Example { t: 1, y: &[0.0], weight: 1.0, new_class: false };
        bank.learn(&AnyLoss::Squared {}, &example, 0.0, voices);
    }

    #[test]
    fn the_best_head_leads_and_the_others_keep_their_share() {
        let bank = after(2000, [2.0, 1.0, 3.0]);
        assert_eq!(bank.leader(), 1);
        assert!(bank.weights[1] > 0.95 && bank.weights.iter().all(|w| *w >= SHARE / 3.0));
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
        assert_eq!((bank.weights[1], bank.resting()), (SHARE / 3.0, 0));
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

    /// Nobody can have decided for a class that was never named, even if its score, 0, is the largest.
    #[test]
    fn the_first_row_of_a_class_is_a_mistake_of_every_voice() {
        let mut bank = Bank::new([1; 2]);
        let example = |new_class| Example { t: 1, y: &[1.0], weight: 1.0, new_class };
        let scores: [&[f64]; 2] = [&[-0.5, 0.0], &[0.5, 0.0]];
        let voices = || scores.into_iter().map(|scores| Voice { scores, loss: Some(0.0), rests: false });
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
