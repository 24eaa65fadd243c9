//! Properties of a learner: counts, norms, bounds, centres and coefficients.

use crate::basis::either::TermsOrWeights;
use crate::basis::vectors::Vectors;
use crate::certificate::AlertRate;
use crate::config::Config;
use crate::engine::Engine;
use crate::engine::bank::Bank;
use crate::engine::head::Head;
use crate::learner::Learner;
use crate::learner::health::Health;
use crate::parts::budget::AnyBudget;
use crate::parts::kernel::AnyKernel;
use crate::parts::loss::{AnyLoss, Loss};
use crate::parts::step::AnyStep;

impl Learner {
    /// The only head, or the leading one of a bank.
    pub(super) fn head(&self) -> &Head<AnyStep> {
        let leader = self.engine.bank().map_or(0, Bank::leading_head);
        self.engine.all_heads().nth(leader).expect("one of the heads leads")
    }

    /// The only head, or the leading one over terms of a bank.
    fn head_over_terms(&self) -> &Head<AnyStep> {
        &self.engine.heads[self.engine.leader()]
    }

    /// The configuration; after the warm-up with the estimated values.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// assert_eq!(learner.config().lambda.given(), Some(&0.01));
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The engine, which holds the state.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// learner.learn(&Batch::new(&[0.0, 9.0], 1).numbers(&[1.0, -1.0]))?;
    /// assert_eq!(learner.engine().heads().len(), 1);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn engine(&self) -> &Engine<TermsOrWeights<Vectors<AnyKernel>>, AnyLoss, AnyStep, AnyBudget> {
        &self.engine
    }

    /// The number of features; 0 before the first batch.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// assert_eq!(learner.features(), 0);
    /// learner.learn(&Batch::new(&[0.0, 9.0], 1).numbers(&[1.0, -1.0]))?;
    /// assert_eq!(learner.features(), 1);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn features(&self) -> usize {
        self.features
    }

    /// The number of scores per row.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// assert_eq!(learner.outputs(), 1);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn outputs(&self) -> usize {
        self.head().offset().len()
    }

    /// The number of examples learned.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// learner.learn(&Batch::new(&[0.0, 9.0], 1).numbers(&[1.0, -1.0]))?;
    /// assert_eq!(learner.examples(), 2);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn examples(&self) -> u64 {
        self.engine.t
    }

    /// The number of skipped steps: a number of the new state (coefficient, offset, score, loss, |f|²) would have exceeded 1e150, or
    /// a kernel value of the row exceeded single precision.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// learner.learn(&Batch::new(&[0.0, 9.0], 1).numbers(&[1.0, -1.0]))?;
    /// assert_eq!(learner.skipped(), 0);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn skipped(&self) -> u64 {
        self.engine.skipped
    }

    /// Input that was not used exactly as given (clipped or rounded values, skipped steps), and members of a bank that rest.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// learner.learn(&Batch::new(&[0.0, 9.0], 1).numbers(&[1.0, -1.0]))?;
    /// assert!(learner.health().findings(|column| format!("column {column}")).is_empty());
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn health(&self) -> Health {
        Health::of(self)
    }

    /// The number of live terms.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// learner.learn(&Batch::new(&[0.0, 9.0], 1).numbers(&[1.0, -1.0]))?;
    /// assert_eq!(learner.terms(), 2);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn terms(&self) -> usize {
        self.engine.basis.len()
    }

    /// The step size of the last step; the median of [`Learner::step_sizes`], if every coordinate has its own.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// learner.learn(&Batch::new(&[0.0, 9.0], 1).numbers(&[1.0, -1.0]))?;
    /// assert_eq!(learner.eta(), 0.5);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn eta(&self) -> f64 {
        self.head().eta()
    }

    /// The smallest, the median and the largest step size, if every coordinate has its own (`step = smd:per=coordinate`): of the weights
    /// that have moved and of the offsets. None before the first step.
    ///
    /// ```
    /// # use okl::{Batch, Config, Learner};
    /// let mut learner = Learner::new(Config::from_toml("loss = 'squared'\nkernel = 'linear'\nstep = 'smd:eta=0.2,per=coordinate'\nlambda = 0\nscale = 'none'")?)?;
    /// assert_eq!(learner.step_sizes(), None);
    /// learner.learn(&Batch::new(&[1.0, 3.0, 1.0, 3.0], 2).numbers(&[1.0, 1.0]))?;
    /// assert!(learner.step_sizes().unwrap().least < 0.2);         // the first step was too long
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn step_sizes(&self) -> Option<crate::StepSizes> {
        self.head().step_sizes()
    }

    /// The adaptive margin, tube or scale of the loss; with a `target_scale`, in the unit of the scaled targets.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// let mut learner = Learner::new(Config::from_toml("loss = 'nu_novelty:0.2'\nkernel = 'gaussian:1'\nstep = 'constant:0.01'\nlambda = 0.1")?)?;
    /// learner.learn(&Batch::new(&[0.1, 0.2, 0.3, 0.2, 0.1], 1))?;
    /// assert!(learner.theta() > 0.0);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn theta(&self) -> f64 {
        self.head().theta
    }

    /// The offset b of the engine; with a `target_scale`, in the unit of the scaled targets.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// learner.learn(&Batch::new(&[0.0, 9.0], 1).numbers(&[1.0, -1.0]))?;
    /// assert_eq!(learner.offset(), [0.0]);                         // one step up, one down
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn offset(&self) -> &[f64] {
        &self.head().offset
    }

    /// |f|² of the only head, or of the leading one: |w|² if that is a weight vector. Where an average predicts, it is that of the last hypothesis and
    /// not of the average. Exact until a term is dropped or merged or, in a bank, an
    /// update is added to the nearest term because the leading head needed no new one. After that it is an upper bound, which can be several times
    /// |f|², also in the learner that [`Learner::freeze`] returns.
    /// Always exact with smd or a regulariser other than the square.
    ///
    /// Exact means up to rounding: the value follows from that before each update and from scores in single precision. After f was much larger,
    /// as after one very large target, an error of that time can remain, and the value can be too small or 0. [`Learner::norm_bound`] includes it.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// learner.learn(&Batch::new(&[0.0, 9.0], 1).numbers(&[1.0, -1.0]))?;
    /// let (first, second) = (0.5 * 0.995, 0.5);                     // the first coefficient was shrunk once by 1 - eta lambda
    /// assert!((learner.norm2() - (first * first + second * second)).abs() < 1e-6);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn norm2(&self) -> f64 {
        self.head().norms.f2
    }

    /// [`Learner::norm2`] of the leading head over terms, where a weight vector may lead: the norm of the space in which
    /// [`Learner::regret_bound`] and [`Learner::truncation_error`] are meant.
    pub fn norm2_over_terms(&self) -> f64 {
        self.head_over_terms().norms.f2
    }

    /// An upper bound on |f| of the head of [`Learner::norm2_over_terms`], with the rounding errors of all updates.
    pub fn norm_bound(&self) -> f64 {
        let norms = &self.head_over_terms().norms;
        (norms.f2 + norms.rounding()).max(0.0).sqrt()
    }

    /// A bound on |f_full - f|: f is the function that predicts, f_full the function after the same updates with no term dropped
    /// (3.6). For a bank it is the weighted sum of the members' bounds, and bounds |f_full(x) - f(x)| / sqrt k(x, x). With a
    /// `target_scale` it is divided by the smallest factor, so that it bounds scores in the unit of the targets.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// learner.learn(&Batch::new(&[0.0, 9.0], 1).numbers(&[1.0, -1.0]))?;
    /// assert_eq!(learner.truncation_error(), 0.0);                  // nothing was dropped
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn truncation_error(&self) -> f64 {
        let lost = |head: &Head<AnyStep>, averaged| if averaged { head.mean_truncation } else { head.truncation };
        let lost: f64 = self.weighted_voices().map(|(weight, head, averaged)| weight * lost(head, averaged)).sum();
        lost / self.config.target_scale.least_factor()
    }

    /// A bound on the regret against every u with |u| <= `norm`, |b_u| <= `offset` (E25); none if no bound is proved. With
    /// `shrink = on_update` the regulariser counts at updates only.
    ///
    /// For a bank: (loss of the bank - loss of a head) + the bound of this head, for the head with the largest sum. So u may be a
    /// function of the space of any head's kernel; norm, offset and regulariser are then those of this head. Losses are the first loss of the
    /// configuration; heads with another loss have no bound on it and are left out, and so are retired ones. None if another one has no bound.
    ///
    /// Losses count times the weight of their row and the weight of its class, and the regulariser times the weight of the class
    /// ([`ClassWeight`](crate::config::ClassWeight)). Losses that [`Learner::learn_with`] reports lack the weight of the class. The losses are those
    /// of the last hypotheses, also where an average predicts, and in the unit of `target_scale`. After a warm-up, the losses of its rows are
    /// those of the settings that were found, not those reported when the rows came.
    ///
    /// Also none after a skipped step ([`Learner::skipped`]), because its loss is not in the sum, and after a row with blurred kernel values; see
    /// [`Health::blurred`](crate::Health::blurred).
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// learner.learn(&Batch::new(&[0.0, 9.0], 1).numbers(&[1.0, -1.0]))?;
    /// assert!(learner.regret_bound(1.0, 0.0).unwrap() > 0.0);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn regret_bound(&self, norm: f64, offset: f64) -> Option<f64> {
        // The bound is proved for exact kernel values only, and its sums lack the losses of skipped steps. (Files of older versions have
        // heads whose certificates did not end at a skipped step.)
        if self.blur.rows > 0 || self.skipped() > 0 {
            return None;
        }
        let Some(bank) = self.engine.bank() else { return self.head().regret.bound(norm, offset) };
        // The bound of a head is on its own losses, of its last hypotheses and not of their average.
        let voices = self.engine.heads.iter().flat_map(|head| head.kinds().map(move |averaged| (head, averaged)));
        // Weight vectors come last and are left out: their functions are of another space.
        let last = voices.zip(bank.losses()).filter(|((head, averaged), _)| !averaged && head.loss == 0 && !head.retired);
        let of_head = |((head, _), loss): ((&Head<AnyStep>, bool), &f64)| {
            Some(bank.loss() - loss - head.regret.lost_before + head.regret.bound(norm, offset)?)
        };
        last.map(of_head).collect::<Option<Vec<f64>>>()?.into_iter().max_by(f64::total_cmp)
    }

    /// The alert rate and a bound on its distance from nu; none for losses without nu. The rate is the share of examples outside, where each
    /// counts by the weight of its row times that of its class.
    ///
    /// An example is counted as outside by the reported score and the threshold: the tracker's, or theta. Theta follows the last hypothesis.
    /// So where an average is reported without a tracker, the share of examples about which the two differ is added to the bound.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// let mut learner = Learner::new(Config::from_toml("loss = 'nu_novelty:0.2'\nkernel = 'gaussian:1'\nstep = 'constant:0.01'\nlambda = 0.1")?)?;
    /// learner.learn(&Batch::new(&[0.1, 0.2, 0.3, 0.2, 0.1], 1))?;
    /// let rate = learner.alert_rate().unwrap();
    /// assert!(rate.nu == 0.2 && (rate.rate - rate.nu).abs() <= rate.bound);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn alert_rate(&self) -> Option<AlertRate> {
        let nu = self.config.loss.nu()?;
        match &self.head().tracker {
            Some(tracker) => tracker.certificate(nu),
            None => self.head().rate.certificate(nu),
        }
    }

    /// Whether the warm-up has not ended yet.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// assert!(!learner.warming_up());                               // width, step and lambda are given
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn warming_up(&self) -> bool {
        self.warm.is_some()
    }

    /// Bytes of everything that grows with the number of terms (see [`Config::bytes_per_term`]), and of the kernel values among 32 rows. This is
    /// what is allocated now: a learner that was loaded has no workspace before it learns, so it shows less.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// learner.learn(&Batch::new(&[0.0, 9.0], 1).numbers(&[1.0, -1.0]))?;
    /// assert!(learner.bytes() > 0);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn bytes(&self) -> usize {
        let shadow = self.growth.as_ref().and_then(|growth| growth.shadow.as_ref());
        self.engine.bytes() + shadow.map_or(0, |shadow| shadow.bytes())
    }

    /// The bytes set by [`Learner::set_position`]; saved with the model.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// learner.set_position("row 1200");
    /// assert_eq!(Learner::from_bytes(&learner.to_bytes())?.position(), b"row 1200");
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn position(&self) -> &[u8] {
        &self.position
    }

    /// Stores bytes of the caller in the model, for example the position in the stream.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// learner.set_position("row 1200");
    /// assert_eq!(learner.position(), b"row 1200");
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn set_position(&mut self, position: impl Into<Vec<u8>>) {
        self.position = position.into();
    }

    /// The centres of the live terms in slot order, in the units of the data.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// learner.learn(&Batch::new(&[0.0, 9.0], 1).numbers(&[1.0, -1.0]))?;
    /// assert_eq!(learner.centres(), [0.0, 9.0]);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn centres(&self) -> Vec<f64> {
        let (mut centres, mut row) = (Vec::with_capacity(self.terms() * self.features), vec![0.0; self.features]);
        for slot in self.engine.basis.live() {
            self.engine.basis.space.centre(slot, &mut row);
            centres.extend(self.frame.undo(&row));
        }
        centres
    }

    /// alpha of the live terms in slot order, of the only head or of the leading one over terms, `outputs` each; with a `target_scale`, in the unit of the scaled targets.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// learner.learn(&Batch::new(&[0.0, 9.0], 1).numbers(&[1.0, -1.0]))?;
    /// assert_eq!(learner.coefficients(), [0.4975, -0.5]);           // 0.5, shrunk once by 1 - 0.5 * 0.01; and -0.5
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn coefficients(&self) -> Vec<f64> {
        let f = self.head_over_terms().expansion();
        self.engine.basis.live().flat_map(|slot| (0..self.outputs()).map(move |o| f.alpha(o, slot))).collect()
    }

    /// With `form = weights` or `fourier`: the weights of the function that [`Learner::predict`] evaluates, feature by feature, one number per
    /// output. None for terms, and for random features of several kernel widths, each of which has features of its own
    /// ([`Learner::weights_of`]).
    ///
    /// Of a bank they are the weighted sum over its voices. They multiply features in their frame ([`Learner::frame`]). An operator J is
    /// applied, and with a `target_scale` they give scores in the unit of the targets: scores = offset + sum_j u_j w_j, with the
    /// offset of [`Learner::predicting_offset`].
    ///
    /// ```
    /// use okl::{Config, Learner};
    /// let mut learner = Learner::new(Config::from_toml("loss = 'squared'\nkernel = 'linear'\nscale = 'none'\nstep = 'constant:0.1'\nlambda = 0")?)?;
    /// learner.learn_one(&[1.0, 2.0], 3.0)?;
    /// let expected = [0.1 * 3.0 * 1.0, 0.1 * 3.0 * 2.0];               // one step: eta y x
    /// assert!(learner.weights().unwrap().iter().zip(expected).all(|(w, e)| (w - e).abs() < 1e-15));
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn weights(&self) -> Option<Vec<f64>> {
        if self.widths() == 1 { self.weights_of(0) } else { None }
    }

    /// [`Learner::weights`] for the features of one kernel width; those of all widths are added up. With `form = fourier` the weights are
    /// of the cosines and then of the sines of [`Fourier::frequencies`](crate::basis::fourier::Fourier::frequencies), each divided by the
    /// square root of the number of frequencies. With a polynomial kernel of degree 2 they are of the features of
    /// [`quadratic`](crate::basis::quadratic).
    ///
    /// ```
    /// use okl::{Config, Learner};
    /// let mut learner = Learner::new(Config::from_toml("kernel = 'gaussian:1'\nform = 'fourier:6'\nstep = 'constant:1'\nlambda = 0")?)?;
    /// learner.learn_one(&[0.0], 1.0)?;
    /// let expected = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0].map(|wave: f64| wave / 3f64.sqrt());
    /// assert!(learner.weights_of(0).unwrap().iter().zip(expected).all(|(w, e)| (w - e).abs() < 1e-6));
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn weights_of(&self, width: usize) -> Option<Vec<f64>> {
        let (features, outputs) = (self.engine.basis.coordinates(), self.outputs());
        self.engine.basis.has_weights().then(|| {
            let mut sums = vec![0.0; features * outputs];
            for (weight, head, averaged) in self.weighted_voices().filter(|(_, head, _)| head.plane == width) {
                let f = head.expansion();
                let at = |o, j| f.mean(o, j).filter(|_| averaged).unwrap_or_else(|| f.alpha(o, j));
                let values = (0..features).flat_map(|j| (0..outputs).map(move |o| at(o, j)));
                sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
            }
            let mut row = vec![0.0; outputs];
            for weights in sums.chunks_exact_mut(outputs.max(1)) {
                self.engine.output.apply_one(&[1.0], weights, &mut row);
                let scaled = row.iter().enumerate().map(|(o, w)| w / self.config.target_scale.factor(o));
                weights.iter_mut().zip(scaled).for_each(|(to, w)| *to = w);
            }
            sums
        })
    }

    /// Of a bank with weight vectors beside its terms (`heads = mixed`): the weighted sum of these vectors, feature by feature, one number per
    /// output. None for other learners.
    ///
    /// They multiply features in their frame that are clipped at [`Learner::linear_limit`] and then whitened, if rows are
    /// ([`Learner::whitening`]), and their part of the scores is added to that of
    /// the terms. Their offsets are in [`Learner::predicting_offset`].
    ///
    /// ```
    /// use okl::{Batch, Config, Learner};
    /// let mut learner = Learner::new(Config::from_toml("loss = 'squared'\nkernel = 'auto'\nwarmup = 4")?)?;
    /// learner.learn(&Batch::new(&[0.0, 9.0, 1.0, 8.0], 1).numbers(&[1.0, 10.0, 2.0, 9.0]))?;
    /// assert!(learner.linear_weights().unwrap()[0] > 0.0);             // the target grows with the feature
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn linear_weights(&self) -> Option<Vec<f64>> {
        let (features, outputs) = (self.features, self.outputs());
        let mut sums = vec![0.0; features * outputs];
        let voices = self.weighted_voices().skip(self.voices_over_terms().count());
        for (weight, head, averaged) in voices {
            let f = head.expansion();
            let at = |o, j| f.mean(o, j).filter(|_| averaged).unwrap_or_else(|| f.alpha(o, j));
            let values = (0..features).flat_map(|j| (0..outputs).map(move |o| at(o, j) / self.config.target_scale.factor(o)));
            sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
        }
        (!self.engine.linear.heads.is_empty()).then_some(sums)
    }

    /// The limit at which the features of [`Learner::linear_weights`] are clipped, if there is one; where rows are not whitened, it can be further
    /// than [`Learner::limit`].
    pub fn linear_limit(&self) -> Option<f64> {
        self.frame.further().map_or(self.frame.limit, |frame| frame.limit)
    }

    /// Shift and factor per feature: the input of the kernels is (x - shift) * factor, and with [`Learner::whitening`] its product with the triangle. Empty if it is x itself. With
    /// [`Learner::log_units`], x is a logarithm of the value.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// learner.learn(&Batch::new(&[3.0, 9.0], 1).numbers(&[1.0, -1.0]))?;
    /// assert_eq!(learner.frame(), (&[3.0][..], &[1.0][..]));        // the anchor: the first row
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn frame(&self) -> (&[f64], &[f64]) {
        (&self.frame.shift, &self.frame.factor)
    }

    /// With `scale = log`, the unit of each feature: shift and factor are applied to sign(x) ln(1 + |x| / unit). Otherwise empty.
    ///
    /// ```
    /// use okl::{Batch, Config, Learner};
    /// let mut learner = Learner::new(Config::from_toml("scale = 'log'\nwarmup = 4")?)?;
    /// learner.learn(&Batch::new(&[2.0, 8.0, -30.0, 100.0], 1).numbers(&[1.0, -1.0, 1.0, 1.0]))?;
    /// assert_eq!(learner.log_units(), [2.0]);
    /// let logarithm = (1.0f64 + 8.0 / 2.0).ln();
    /// let expected = (logarithm - learner.frame().0[0]) * learner.frame().1[0];
    /// assert!((f64::from(learner.framed(0, 8.0)) - expected).abs() < 1e-6);
    /// assert!((learner.unframed(0, learner.framed(0, -30.0)) + 30.0).abs() < 1e-4);
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn log_units(&self) -> &[f64] {
        &self.frame.log
    }

    /// With `scale = whiten`, the lower triangle by which a scaled row is multiplied, row by row. Otherwise empty.
    ///
    /// ```
    /// use okl::{Batch, Config, Learner};
    /// let mut learner = Learner::new(Config::from_toml("loss = 'density'\nscale = 'whiten'\nwarmup = 4")?)?;
    /// learner.learn(&Batch::new(&[1.0, 1.0, 2.0, 2.0, 3.0, 4.0, 5.0, 4.0], 2))?;
    /// assert_eq!(learner.whitening().len(), 3);
    /// let (x, whitened) = ([2.0, 4.0], learner.framed_row(&[2.0, 4.0]));
    /// let scaled: Vec<f32> = (0..2).map(|j| learner.framed(j, x[j])).collect();
    /// assert!(learner.scaled_columns(&whitened).iter().zip(scaled).all(|(a, b)| (a - b).abs() < 1e-6));
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn whitening(&self) -> &[f64] {
        &self.frame.whiten
    }

    /// The row that the kernels get for a row of the data. It must have [`Learner::features`] numbers.
    pub fn framed_row(&self, x: &[f64]) -> Vec<f32> {
        let mut framed = vec![0.0; x.len()];
        self.frame.apply_to(x, &mut framed);
        framed
    }

    /// The scaled columns of a row that the kernels get; the same row, unless rows are whitened.
    pub fn scaled_columns(&self, framed: &[f32]) -> Vec<f32> {
        self.frame.columns_of(framed)
    }

    /// The scaled value of a feature: what the kernels get, unless rows are whitened ([`Learner::framed_row`]).
    pub fn framed(&self, feature: usize, x: f64) -> f32 {
        self.frame.value(feature, x)
    }

    /// [`Learner::framed`] before it is clipped and rounded.
    pub fn unlimited(&self, feature: usize, x: f64) -> f64 {
        self.frame.unlimited(feature, x)
    }

    /// The value of a feature whose scaled value is `u`.
    pub fn unframed(&self, feature: usize, u: f32) -> f64 {
        self.frame.undo_value(feature, u)
    }

    /// The limit at which `scale` clips scaled features, if there is one. Scaled features are always clipped at 1e15.
    ///
    /// ```
    /// # #![allow(unused_imports, unused_mut)]
    /// # use okl::{Batch, Config, Label, Learner};
    /// # let settings = "loss = 'hinge'\nkernel = 'gaussian:1'\nstep = 'constant:0.5'\nlambda = 0.01\nbudget = 'window:10'\noffset = true";
    /// # let mut learner = Learner::new(Config::from_toml(settings)?)?;
    /// assert_eq!(learner.limit(), None);                            // columns are not scaled
    /// # Ok::<(), okl::Error>(())
    /// ```
    pub fn limit(&self) -> Option<f64> {
        self.frame.limit
    }
}
