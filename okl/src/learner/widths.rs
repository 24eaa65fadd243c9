//! Widths that follow the stream (`widths = follow`): when the narrowest or the widest kernel of a family leads, a width beyond it
//! takes the place of one that has no weight.
//!
//! The learner looks after 512, 1,024, 2,048 and 4,096 examples and then after every 4,096, learned or skipped. So what it decides
//! is a function of the stream alone (law 1). At a look, the share of a width is the recent mean (128 examples) of the weights of
//! all voices that have it. The rule, for each kernel of the configuration that has several widths:
//!
//! ```text
//! the edge     is the width with the smallest or the largest gamma, and its share is the largest of the kernel's widths
//! it leads     if its share is at least 1/4 of all and more than that of the kernel's other widths together
//! replaced     is the other width with the smallest share, if that is below 1/50
//! by           the width 4 times beyond the edge, in units of the median heuristic (gamma of r² times 4, gamma of r times 2)
//! ```
//!
//! The heads of the replaced width begin anew with f = 0; their voices keep their small weights. The configuration has the new width.

use crate::learner::Learner;
use crate::learner::warmup::after_examples;

/// The first look, and the number of examples between two looks in the long run.
const FIRST: u64 = 512;
const STRIDE: u64 = 4096;

/// The least share of all weight with which an edge leads.
const LEADS: f64 = 0.25;
/// A width with a smaller share can be replaced.
const NO_WEIGHT: f64 = 0.02;
/// How far beyond the edge the new width is.
const BEYOND: f64 = 4.0;

/// The number of examples at the next look after `count` examples.
fn look_after(count: u64) -> u64 {
    match count < STRIDE {
        true => (count + 1).next_power_of_two().max(FIRST),
        false => (count / STRIDE + 1) * STRIDE,
    }
}

impl Learner {
    /// The end of the rows that are learned before the next look.
    pub(super) fn next_look(&self, first: usize, known: &[bool]) -> usize {
        if self.warm.is_some() || !(self.config.follows() || self.config.selects()) {
            return known.len();
        }
        let count = self.steps();
        usize::try_from(look_after(count) - count).map_or(known.len(), |left| after_examples(left, first, known))
    }

    /// Looks at the shares of heads and widths and at the columns, if it is time to: heads retire, widths are replaced, columns get other
    /// weights. `before` is the number of examples before the rows that were learned last.
    pub(super) fn follow_widths(&mut self, before: u64) {
        let due = look_after(before) == self.steps();
        if !due || self.warm.is_some() {
            return;
        }
        self.retire_heads();
        if self.config.follows() {
            self.replace_widths();
        }
        self.weigh_columns();
    }

    /// Replaces widths by the rule at the head of this file.
    fn replace_widths(&mut self) {
        let shares = self.shares();
        let (mut first, mut replaced) = (0, Vec::new());
        for (place, rule) in self.config.kernel_rules().iter().enumerate() {
            let of_rule = &shares[first..first + rule.widths()];
            if let Some((which, factor)) = change(rule.own_widths(), of_rule)
                && let Some(width) = rule.beyond(rule.own_widths()[which.edge], factor)
            {
                replaced.push((place, which.goes, first + which.goes, width));
            }
            first += rule.widths();
        }
        for (place, which, plane, width) in replaced {
            let Some(rule) = self.config.rules_mut().nth(place) else { continue };
            rule.replace_width(which, width);
            let kernel = rule.kernel(which);
            self.engine.replace_kernel(plane, kernel);
            self.blur.forget_kernels();
            self.drop_comparison_of(|head| head.plane == plane);
        }
    }

    /// The share of each kernel: the recent mean of the weights of its voices.
    fn shares(&self) -> Vec<f64> {
        let mut shares = vec![0.0; self.widths()];
        let recent = self.engine.bank().map_or(&[][..], |bank| &bank.recent);
        let of_terms = self.config.members().into_iter().filter(|member| !self.config.is_weight_vector(member));
        of_terms.zip(recent).for_each(|(member, recent)| shares[member.width] += recent);
        shares
    }
}

/// Two widths of a kernel: the edge that leads, and the one that goes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Which {
    edge: usize,
    goes: usize,
}

/// What the rule replaces among the widths of one kernel, and the factor of the new width to the edge.
fn change(widths: &[f64], shares: &[f64]) -> Option<(Which, f64)> {
    if widths.len() < 2 {
        return None;
    }
    let leads = (0..widths.len()).fold(0, |best, w| if shares[w] > shares[best] { w } else { best });
    let others = || (0..widths.len()).filter(move |&w| w != leads);
    let (narrowest, widest) = (others().all(|w| widths[w] < widths[leads]), others().all(|w| widths[w] > widths[leads]));
    let rest: f64 = others().map(|w| shares[w]).sum();
    let goes = others().min_by(|&a, &b| shares[a].total_cmp(&shares[b]))?;
    let due = (narrowest || widest) && shares[leads] >= LEADS && shares[leads] > rest && shares[goes] < NO_WEIGHT;
    due.then_some((Which { edge: leads, goes }, if narrowest { BEYOND } else { 1.0 / BEYOND }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_at_powers_of_two_and_then_at_a_stride() {
        let mut looks = vec![0];
        (0..7).for_each(|i| looks.push(look_after(looks[i])));
        assert_eq!(looks, [0, 512, 1024, 2048, 4096, 8192, 12288, 16384]);
        assert_eq!((look_after(511), look_after(512), look_after(4095), look_after(4097)), (512, 1024, 4096, 8192));
    }

    #[test]
    fn an_edge_that_leads_moves() {
        let widths = [1.0, 4.0, 0.25];
        let to = |edge, goes, factor| Some((Which { edge, goes }, factor));
        assert_eq!(change(&widths, &[0.1, 0.8, 0.001]), to(1, 2, 4.0));
        assert_eq!(change(&widths, &[0.1, 0.001, 0.8]), to(2, 1, 0.25));
        // The middle leads; the others still have weight; the edge does not have enough of it.
        for shares in [[0.8, 0.1, 0.001], [0.1, 0.8, 0.03], [0.1, 0.2, 0.001], [0.3, 0.3, 0.001]] {
            assert_eq!(change(&widths, &shares), None, "{shares:?}");
        }
        assert_eq!(change(&[1.0], &[1.0]), None);
    }
}
