//! What is known of a learner: counts, norms, bounds, centres and coefficients.

use crate::basis::Dense;
use crate::basis::terms::Terms;
use crate::certificate::AlertRate;
use crate::config::Config;
use crate::engine::Engine;
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
        &self.engine.heads[self.engine.leader()]
    }

    /// The configuration; after the warm-up it holds the values that were found.
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

    /// The loop and its state.
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
    pub fn engine(&self) -> &Engine<Terms<Dense<AnyKernel>>, AnyLoss, AnyStep, AnyBudget> {
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

    /// Scores per row.
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

    /// Examples learned.
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

    /// Steps that were not taken because they would have left a number beyond 1e150 (a coefficient, an offset, a score, a loss, |f|²), or
    /// because a kernel value of the row was beyond single precision.
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

    /// What was not used as it was given: values clipped, digits lost, steps not taken, members of a bank at rest.
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

    /// Live terms.
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

    /// The step size of the last step.
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
        self.head().eta
    }

    /// The margin, tube or scale that the loss adapts; with a `target_scale`, in the unit of the scaled targets.
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

    /// |f|²: exact until a term is dropped, an upper bound after; exact under smd and where the regulariser is not the square.
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

    /// A bound on |f_full - f|, f being the function that predicts and f_full what the same updates would have made of it with
    /// nothing dropped (3.6); a bank's is the weighted sum of its members', and bounds |f_full(x) - f(x)| in units of sqrt k(x, x).
    /// With a `target_scale` it is divided by the (smallest) factor: it then bounds scores in the unit of the targets.
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

    /// A bound on the regret against every u with |u| <= `norm`, |b_u| <= `offset` (E25); none where it does not hold. With
    /// `shrink = on_update` the regulariser counts at updates only.
    ///
    /// A bank's is what it has lost more than one of its heads, plus that head's own bound, for the head where this is least;
    /// u is then a function of that head's width, and its regulariser that head's.
    /// None as well once a row was so far out that its kernel values are blurred: see [`Health::blurred`](crate::Health::blurred).
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
        // The bound is on the losses of exact kernel values.
        if self.blur.rows > 0 {
            return None;
        }
        let Some(bank) = self.engine.bank() else { return self.head().regret.bound(norm, offset) };
        // A head's bound is on the losses of its last hypotheses, not on those of their average.
        let voices = self.engine.heads.iter().flat_map(|head| head.kinds().map(move |averaged| (head, averaged)));
        let last = voices.zip(bank.losses()).filter(|((_, averaged), _)| !averaged);
        let of_head =
            |((head, _), loss): ((&Head<AnyStep>, bool), &f64)| Some(bank.loss() - loss + head.regret.bound(norm, offset)?);
        last.filter_map(of_head).min_by(f64::total_cmp)
    }

    /// The rate of alerts (examples outside) and how far it can be from nu; none for losses without nu.
    ///
    /// It counts what moved the threshold: f_t against theta, or with a tracker the averaged score against its threshold.
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

    /// Is the warm-up still under way?
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

    /// Bytes held for what grows with the number of terms (see [`Config::bytes_per_term`]), and for the kernel values among 32 rows.
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
        self.engine.bytes()
    }

    /// What whoever replays a stream left here; saved with the model.
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

    /// Leaves a note for whoever replays the stream.
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

    /// alpha of the live terms in slot order, `outputs` each; with a `target_scale`, in the unit of the scaled targets.
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
        let f = self.head().expansion();
        self.engine.basis.live().flat_map(|slot| (0..self.outputs()).map(move |o| f.alpha(o, slot))).collect()
    }

    /// Shift and factor per feature: kernels see (x - shift) * factor. Empty where they see x itself.
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

    /// The size at which `scale` cuts features in the frame off, if it does. Features in the frame are cut off at 1e15 in any case.
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
