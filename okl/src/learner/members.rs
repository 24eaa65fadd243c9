//! The members of a bank, and the function that the learner predicts with.

use crate::config::Member;
use crate::engine::bank::Bank;
use crate::engine::head::Head;
use crate::error::{Error, Result};
use crate::learner::Learner;
use crate::learner::build::build_engine;
use crate::learner::health::Clipped;
use crate::parts::budget::BudgetRule;
use crate::parts::step::AnyStep;

impl Learner {
    /// The number of kernel widths in the function that [`Learner::predict`] evaluates: 1, or more for a bank with several widths.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// assert_eq!(learner.widths(), 1);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn widths(&self) -> usize {
        self.engine.basis.space.kernels().len() / self.config.planes()
    }

    /// The coefficients of the function that [`Learner::predict`] evaluates: alpha, or those of the average if there is one. They are
    /// listed width by width, then in slot order, `outputs` numbers per term. Heads of a bank with the same width are summed.
    ///
    /// With a `target_scale` they are divided by its factors, so that they give scores in the unit of the targets. With an operator J
    /// they are not divided, because J is applied first: the scores are offset + (J sum_i k(x, x_i) a_i) / factor.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// learner.learn(&Batch::new(&[0.0, 9.0], 1).numbers(&[1.0, -1.0]))?;
    /// assert_eq!(learner.predicting_coefficients(), learner.coefficients());
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn predicting_coefficients(&self) -> Vec<f64> {
        let (terms, outputs) = (&self.engine.basis, self.outputs());
        let size = terms.len() * outputs;
        let mut sums = vec![0.0; self.widths() * size];
        for (weight, head, averaged) in self.voices_over_terms() {
            let (expansion, first) = (head.expansion(), head.plane / self.config.planes() * size);
            let at = |o, slot| expansion.mean(o, slot).filter(|_| averaged).unwrap_or_else(|| expansion.alpha(o, slot));
            let values = terms.live().flat_map(|slot| (0..outputs).map(move |o| at(o, slot)));
            sums[first..first + size].iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
        }
        if self.config.operator.is_none() && outputs > 0 {
            sums.iter_mut().enumerate().for_each(|(i, sum)| *sum /= self.config.target_scale.factor(i % outputs));
        }
        sums
    }

    /// The offset that [`Learner::predict`] adds: b, or its average if there is one; in the unit of the targets.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// learner.learn(&Batch::new(&[0.0, 9.0], 1).numbers(&[1.0, -1.0]))?;
    /// assert_eq!(learner.predicting_offset(), learner.offset());
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn predicting_offset(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.outputs()];
        for (weight, head, averaged) in self.weighted_voices() {
            let offset = if averaged { head.offset_mean() } else { head.offset() };
            sums.iter_mut().zip(offset).for_each(|(sum, b)| *sum += weight * b);
        }
        self.config.target_scale.put_back(&mut sums);
        sums
    }

    /// The voices: weight, head, and whether the voice is the average.
    pub(super) fn weighted_voices(&self) -> impl Iterator<Item = (f64, &Head<AnyStep>, bool)> {
        let weight = |voice: usize| self.engine.bank().map_or(1.0, |bank| bank.weights()[voice]);
        let voices = self.engine.all_heads().flat_map(|head| head.kinds().map(move |averaged| (head, averaged)));
        voices.enumerate().map(move |(voice, (head, averaged))| (weight(voice), head, averaged))
    }

    /// The voices of heads over terms.
    pub(super) fn voices_over_terms(&self) -> impl Iterator<Item = (f64, &Head<AnyStep>, bool)> {
        let count = self.engine.heads.iter().map(Head::voice_count).sum();
        self.weighted_voices().take(count)
    }

    /// The members of the bank with their weights, in descending order of weight. One member of weight 1 if all settings are given.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// let mut learner = Learner::new(Config::from_toml("warmup = 4")?)?;                // step, lambda and width are found
    /// learner.learn(&Batch::new(&[0.0, 9.0, 1.0, 8.0], 1).numbers(&[1.0, -1.0, 1.0, -1.0]))?;
    /// let members = learner.members();
    /// assert!(members.len() > 1 && members[0].1 >= members[1].1);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn members(&self) -> Vec<(Member, f64)> {
        let weights = self.weighted_voices().map(|(weight, ..)| weight);
        let mut members: Vec<_> = self.config.members().into_iter().zip(weights).collect();
        members.sort_by(|a, b| b.1.total_cmp(&a.1));
        members
    }

    /// Returns a plain learner with the settings and the current function of the leading voice of the bank. Its units do not follow the
    /// stream any more.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// let mut learner = Learner::new(Config::from_toml("warmup = 4")?)?;                // step, lambda and width are found
    /// learner.learn(&Batch::new(&[0.0, 9.0, 1.0, 8.0], 1).numbers(&[1.0, -1.0, 1.0, -1.0]))?;
    /// let plain = learner.freeze()?;
    /// assert_eq!(plain.members().len(), 1);
    /// # Ok::<(), okl::Error>(())
    /// ```
    ///
    /// # Errors
    /// During the warm-up, because the settings are still provisional.
    pub fn freeze(&self) -> Result<Learner> {
        if self.warm.is_some() {
            let reason = format!(
                "settings are provisional before example {}: there have been {} examples",
                self.config.warmup,
                self.examples()
            );
            return Err(Error::config("warmup", reason));
        }
        let mut plain = self.alone(self.engine.bank().map_or(0, Bank::leading_voice))?;
        plain.stop_following();
        if self.engine.bank().is_some() {
            plain.frozen = [self.examples(), self.certified_since(), u64::from(!self.has_all_terms())];
        }
        Ok(plain)
    }

    /// The number of examples that the bank had learned from which this learner was frozen; none if it was no member of a bank. The bank shared
    /// terms among its heads, so parts of updates may be missing ([`Learner::truncation_error`]) though no term was dropped.
    ///
    /// ```
    /// # use okl::{Batch, Config, Learner};
    /// let mut learner = Learner::new(Config::from_toml("warmup = 4")?)?;
    /// learner.learn(&Batch::new(&[0.0, 9.0, 1.0, 8.0], 1).numbers(&[1.0, -1.0, 1.0, -1.0]))?;
    /// assert_eq!((learner.frozen_after(), learner.freeze()?.frozen_after()), (None, Some(4)));
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn frozen_after(&self) -> Option<u64> {
        Some(self.frozen[0]).filter(|examples| *examples > 0)
    }

    /// The number of examples after which the certificates of truncation and regret count: that of the last change of units or of weights of
    /// columns, also one before the learner was frozen. 0 if they count all examples.
    ///
    /// ```
    /// # use okl::{Batch, Config, Learner};
    /// let mut learner = Learner::new(Config::from_toml("kernel = 'auto'\nloss = 'squared'")?)?;
    /// let x: Vec<f32> = (0..1200).map(|i| ((i * i) as f32 * 0.37).sin()).collect();
    /// let y: Vec<f64> = x.chunks(2).map(|x| f64::from(x[0])).collect();           // the second column does not matter
    /// learner.learn(&Batch::new(&x, 2).numbers(&y))?;
    /// assert_eq!((learner.certified_since(), learner.freeze()?.certified_since()), (512, 512));
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn certified_since(&self) -> u64 {
        let changes = [self.unit_changes(), self.weight_changes()].into_iter().flatten();
        changes.filter(|(changes, _)| *changes > 0).map(|(_, at)| at).fold(self.frozen[1], u64::max)
    }

    /// Whether no term was ever dropped or merged, also before the learner was frozen: there were never as many terms as the budget allows, and no
    /// change of units removed one. False if that is not known, as for budgets without a number of terms.
    ///
    /// ```
    /// # use okl::{Batch, Config, Learner};
    /// let settings = "loss = 'squared'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:3'";
    /// let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// learner.learn(&Batch::new(&[0.0, 9.0], 1).numbers(&[1.0, -1.0]))?;
    /// assert!(learner.has_all_terms());
    /// learner.learn(&Batch::new(&[4.0, 6.0], 1).numbers(&[1.0, -1.0]))?;
    /// assert!(!learner.has_all_terms());
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn has_all_terms(&self) -> bool {
        let most = match self.config.budget() {
            BudgetRule::Unlimited {} => usize::MAX,
            rule => self.growth().map(|(start, _)| start).or(rule.capacity()).unwrap_or(0),
        };
        let same_units = self.unit_changes().is_none_or(|(changes, _)| changes == 0);
        same_units && self.frozen[2] == 0 && self.terms() < most
    }

    /// A weight vector alone has the limit of clipping that it had in its bank. What was clipped at the limit of the kernels does not concern it.
    fn read_further(&mut self) {
        if let Some(frame) = self.frame.further() {
            self.config.scale = frame.fixed(false);
            self.frame = frame;
            self.clipped = Clipped::default(); // those of the other limit
        }
    }

    /// A copy with the settings and the function of one voice, after the warm-up.
    pub(super) fn alone(&self, voice: usize) -> Result<Learner> {
        let member = &self.config.members()[voice];
        let config = self.config.frozen(member);
        let (_, head, averaged) = self.weighted_voices().nth(voice).expect("there is such a voice");
        let (first, planes) = (head.plane, self.config.planes());
        let space = self.engine.basis.space.under(first..first + planes);
        let mut engine = build_engine(&config, self.features)?;
        (engine.t, engine.skipped) = (self.engine.t, self.engine.skipped);
        if !self.config.is_weight_vector(member) {
            engine.budget = self.engine.budget.clone();
            *engine.basis = self.engine.basis.with_space(space);
        }
        engine.heads = vec![head.alone(averaged)];
        let mut plain = Learner { config, engine, growth: None, ..self.clone() };
        plain.blur.forget_kernels();
        if self.config.is_weight_vector(member) {
            plain.read_further();
        }
        Ok(plain)
    }
}
