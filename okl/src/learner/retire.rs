//! Heads that retire: in the bank of `kernel = auto`, heads with little weight stop after the first examples, so that the rest costs less.
//!
//! The learner decides at the looks of `widths.rs`, before widths are replaced. So what it decides is a function of the stream alone
//! (law 1). The share of a head is the recent mean (128 examples) of the weights of its voices.
//!
//! ```text
//! after 512 examples      8 heads stay, 9 if one of the bank forgets
//! after 1,024             6, or 8
//! after 2,048 and later   5, or 7
//! first of all stay       the leader, the head with the largest share, the heads of the first loss with the large constant step, one
//!                         for each kernel and width, and the head that forgets
//! then                    those with the largest shares
//! from 1,024 on           with `heads = broad`, the large step of the widest Gaussian kernel and of the kernel of the Manhattan distance does
//!                         not stay first of all; instead, the head of the first loss with the decaying step and the smallest cumulative loss does
//! after 4,096 and later   with `heads = weighted`, of the two planes that read columns as they are, the large step of only that with the larger
//!                         share stays first of all; for classes 6 heads stay
//! weight vectors          are counted apart: of 5 per loss, the 4, 3 and 2 with the largest shares stay
//! ```
//!
//! The heads with the large step stay, because they follow a change of the stream fastest, and one of them leads after most changes even
//! if it had no weight before: without this exception the error on streams that change rises by up to 9 %. With it, the error on 60
//! streams is on average the same as that of all 11 heads.
//!
//! The head with the decaying step stays, because it is the best one on a stream that stands still, and has little weight while others are
//! ahead by chance: on the stream `magic` the error was 2 % above that of the best peer without this exception, and is 3 % below it.
//!
//! A head that has retired has f = 0 and weight 0. It is neither read nor learned, and kernel values that no other head reads are not
//! computed. It begins anew only when its width is replaced.

use crate::learner::Learner;
use crate::parts::step::AnyStep;

/// From this number of examples on, some kernels have to earn the place of their large step.
const EARNED: u64 = 1024;

/// From this number of examples on, one plane that reads columns as they are is enough.
const ONE_GUARD: u64 = 4096;

/// The number of heads that stay after a number of examples.
fn places(examples: u64, forgets: bool) -> usize {
    match examples {
        0..1024 => 8 + usize::from(forgets),
        1024..2048 => 6 + 2 * usize::from(forgets),
        _ => 5 + 2 * usize::from(forgets),
    }
}

/// The number of weight vectors that stay after a number of examples.
fn weight_vectors(examples: u64) -> usize {
    match examples {
        0..1024 => 4,
        1024..2048 => 3,
        _ => 2,
    }
}

impl Learner {
    /// The weight vectors that retire: those with the smallest shares.
    fn weight_vectors_to_retire(&self) -> Vec<usize> {
        let (Some(bank), first) = (self.engine.bank(), self.engine.heads.len()) else { return Vec::new() };
        let awake = self.engine.linear.heads.iter().enumerate().filter(|(_, head)| !head.retired);
        let mut awake: Vec<usize> = awake.map(|(h, _)| first + h).collect();
        awake.sort_by(|a, b| bank.recent_share(*b).total_cmp(&bank.recent_share(*a)));
        awake.split_off(weight_vectors(self.steps()).min(awake.len()))
    }

    /// Retires heads by the rule at the head of this file.
    pub(super) fn retire_heads(&mut self) {
        let Some(bank) = self.engine.bank().filter(|_| self.config.selects()) else { return };
        let heads = &self.engine.heads;
        let earned = self.steps() >= EARNED;
        let constant = |h: usize| heads[h].loss == 0 && matches!(heads[h].step, AnyStep::Constant { eta } if eta >= 1.0);
        let large = |h: usize| constant(h) && (!earned || self.config.keeps_large_step(heads[h].plane));
        let by_share = |a: &usize, b: &usize| bank.recent_share(*b).total_cmp(&bank.recent_share(*a));
        let planes = self.config.weighted_planes();
        let guards = self.config.weighs() && self.steps() >= ONE_GUARD;
        let plain = |h: usize| large(h) && !planes[heads[h].plane];
        let better =
            |h: usize, other: usize| plain(other) && bank.recent_share(other) > bank.recent_share(h) && !heads[other].retired;
        let spare = |h: usize| guards && plain(h) && (0..heads.len()).any(|other| better(h, other));
        let mut awake: Vec<usize> = (0..heads.len()).filter(|&h| !heads[h].retired).collect();
        awake.sort_by(by_share);
        let slow = |h: &&usize| heads[**h].loss == 0 && matches!(heads[**h].step, AnyStep::Decay { .. });
        let by_loss = |a: &&usize, b: &&usize| bank.least_loss(**a).total_cmp(&bank.least_loss(**b));
        let steady = awake.iter().filter(slow).min_by(by_loss).copied().filter(|_| self.config.is_broad());
        let first = |h: usize| h == bank.leader() || Some(h) == steady || h == awake[0] || (large(h) && !spare(h));
        let (first, others): (Vec<usize>, Vec<usize>) = awake.iter().partition(|&&h| first(h));
        let places = places(self.steps(), self.config.forgets()) - usize::from(guards && self.config.forgets());
        let room = places.saturating_sub(first.len()).min(others.len());
        let mut retired = others[room..].to_vec();
        retired.extend(self.weight_vectors_to_retire());
        if !retired.is_empty() {
            self.engine.retire(&retired);
            self.drop_comparison_of(|head| head.retired);
        }
    }
}
