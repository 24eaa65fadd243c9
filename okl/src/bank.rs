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

use crate::head::Voice;
use crate::loss::{Loss, Reads};
use crate::recent::follow;

/// How much a loss of the usual size counts against a head, in the long run.
const RATE: f64 = 0.05;
/// How much the first does; it falls with the root of the number of examples.
const EAGER: f64 = 2.0;
/// The weight that is handed out anew after every example.
const SHARE: f64 = 5e-4;
/// No single loss counts for more than so many usual ones.
const FAR: f64 = 8.0;
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

    /// How much each voice counts, head by head; the weights sum to one.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The loss of each voice so far, in the order of the weights.
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
    pub(crate) fn own_loss<L: Loss>(&mut self, loss: &L, y: &[f64], weight: f64) -> f64 {
        self.gradient.resize(self.scores.len(), 0.0);
        weight * loss.eval(&self.scores, y, NO_THETA, &mut self.gradient).loss
    }

    /// Weighs the voices by what each said of an example.
    pub(crate) fn learn<'a, L: Loss>(
        &mut self,
        loss: &L,
        y: &[f64],
        weight: f64,
        own: f64,
        voices: impl Iterator<Item = Voice<'a>>,
    ) {
        self.judged.clear();
        for (voice, total) in voices.zip(&mut self.losses) {
            let evaluate = || weight * loss.eval(voice.scores, y, NO_THETA, &mut self.gradient).loss;
            let lost = voice.loss.unwrap_or_else(evaluate);
            *total += lost;
            self.judged.push(judge(loss.reads(), voice.scores, y).map_or(lost, |wrong| weight * wrong));
        }
        self.loss += own;
        self.examples += 1.0;
        let least = self.judged.iter().copied().fold(f64::INFINITY, f64::min);
        let usual: f64 = self.weights.iter().zip(&self.judged).map(|(w, l)| w * l).sum();
        follow(&mut self.scale, usual, self.examples, YOUNG);
        let rate = RATE.max(EAGER / self.examples.sqrt());
        let mut total = 0.0;
        for (w, judged) in self.weights.iter_mut().zip(&self.judged) {
            if *judged > least {
                *w *= libm::exp(-rate * ((judged - least) / self.scale).min(FAR));
            }
            total += *w;
        }
        let handed_out = SHARE / self.weights.len() as f64;
        self.weights.iter_mut().for_each(|w| *w = (1.0 - SHARE) * *w / total + handed_out);
    }
}

/// Is the decision wrong? None where scores decide nothing.
fn judge(reads: Reads, scores: &[f64], y: &[f64]) -> Option<f64> {
    let wrong = match reads {
        Reads::Sign => scores[0] * y[0] <= 0.0,
        Reads::Class => (0..scores.len()).fold(0, |best, c| if scores[c] > scores[best] { c } else { best }) as f64 != y[0],
        _ => return None,
    };
    Some(f64::from(u8::from(wrong)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::AnyLoss;

    fn after(rounds: usize, losses: [f64; 3]) -> Bank {
        let mut bank = Bank::new([1; 3]);
        (0..rounds).for_each(|_| hear(&mut bank, losses));
        bank
    }

    fn hear(bank: &mut Bank, losses: [f64; 3]) {
        let voices = losses.iter().map(|l| Voice { scores: &[0.0], loss: Some(*l) });
        bank.learn(&AnyLoss::Squared {}, &[0.0], 1.0, 0.0, voices);
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
    fn a_head_leads_by_one_of_its_voices() {
        let mut bank = Bank::new([1, 2, 1]);
        bank.weights = vec![0.1, 0.2, 0.5, 0.2];
        assert_eq!((bank.leading_voice(), bank.leader()), (2, 1));
        bank.weights = vec![0.1, 0.2, 0.2, 0.5];
        assert_eq!((bank.leading_voice(), bank.leader()), (3, 2));
    }

    #[test]
    fn decisions_are_judged_where_there_are_any() {
        assert_eq!(judge(Reads::Sign, &[0.3], &[1.0]), Some(0.0));
        assert_eq!(judge(Reads::Sign, &[0.0], &[1.0]), Some(1.0));
        assert_eq!(judge(Reads::Class, &[0.3, 0.3], &[0.0]), Some(0.0));
        assert_eq!(judge(Reads::Class, &[0.3, 0.3], &[1.0]), Some(1.0));
        assert_eq!(judge(Reads::Number, &[0.3], &[1.0]), None);
    }
}
