//! Regret: what was lost, against functions chosen in hindsight.
//!
//! The bound holds for the score f(x); a step takes its gradient xi at a score z = f(x) + d, where single precision has moved it by d. Losses
//! are convex, so
//!
//! ```text
//! l(z) - l(u(x)) <= xi (z - u(x)) = xi (f(x) - u(x)) + xi d,        xi d <= l(z + d) - l(z)
//! ```
//!
//! The first part sums to the certified bound. With W(r) the largest |l(f(x) + e) - l(f(x))| over |e| <= r, the rest is at most
//! W(2 |d|) + W(|d|), and l(f(x)) differs from l(z) by W(|d|); as 2 W(r) <= W(2 r), all of it is at most 2 W(2 |d|) per row.
//! A bank's bound is that of the head where it is least, and the losses that decide this are rounded: the rounding of any head counts.

use okl::engine::head::Shrink;

use crate::checks::loss_of;
use crate::follow::{Failure, Run, Seen, Voice, fail, within};
use crate::points::{Function, norm};

/// What is needed to know the regret of every head.
#[derive(Debug)]
pub struct Ledger {
    rows: Vec<(usize, Seen)>,
    losses: Vec<f64>,
    roundings: Vec<f64>,
    regret_roundings: Vec<f64>,
    sizes: Vec<f64>,
    regularised: Vec<f64>,
    bank: f64,
    /// What the bank and its heads had lost when the certificates began anew.
    before: (f64, Vec<f64>),
    /// Whether a step was skipped since the certificates began. Its loss is in no sum.
    skipped: bool,
}

/// A function chosen in hindsight.
struct Competitor {
    name: String,
    u: Function,
    offset: Vec<f64>,
}

/// What a competitor pays, and its norms.
struct Bill {
    losses: f64,
    norm: f64,
    offset: f64,
}

impl Ledger {
    /// Empty.
    pub fn new(heads: usize) -> Self {
        Self {
            rows: Vec::new(),
            losses: vec![0.0; heads],
            roundings: vec![0.0; heads],
            regret_roundings: vec![0.0; heads],
            sizes: vec![0.0; heads],
            regularised: vec![0.0; heads],
            bank: 0.0,
            before: (0.0, vec![0.0; heads]),
            skipped: false,
        }
    }

    /// A step was not taken.
    pub fn skip(&mut self) {
        self.skipped = true;
    }

    /// The certificates begin anew after this row: regret is counted from here. The losses that a bank keeps are those of all rows.
    pub fn begin_anew(&mut self) {
        let heads = self.losses.len();
        let before = (self.before.0 + self.bank, self.all_losses());
        *self = Self { before, roundings: std::mem::take(&mut self.roundings), ..Self::new(heads) };
    }

    /// The losses of the heads over all rows.
    fn all_losses(&self) -> Vec<f64> {
        self.losses.iter().zip(&self.before.1).map(|(now, before)| before + now).collect()
    }

    /// Counts what the hypotheses before a row pay for it.
    pub fn count(&mut self, run: &Run, seen: &Seen, t: usize) {
        if !seen.learned {
            return;
        }
        let (weight, outputs) = (seen.weight, seen.scores.len());
        for h in 0..self.losses.len() {
            let shadow = &run.shadows[h];
            let z = run.score(&Voice { head: h, mean: false }, seen.point, outputs);
            self.losses[h] += weight * loss_of(run, seen, &z, seen.theta);
            let rounding = run.score_rounding(&Voice { head: h, mean: false }, seen.point);
            let apart = |rounding: f64| weight * loss_rounding(|z| loss_of(run, seen, z, seen.theta), &z, rounding);
            self.roundings[h] += apart(rounding);
            self.regret_roundings[h] += 2.0 * apart(2.0 * rounding);
            let head = &run.learner.engine().heads()[h];
            let quiet = head.last_update().1.iter().all(|a| *a == 0.0);
            if run.config.shrink == Shrink::OnUpdate && quiet {
                continue; // with shrink = on_update the regulariser counts at updates only
            }
            self.regularised[h] += seen.share;
            if head.lambda() > 0.0 {
                self.sizes[h] += seen.share * run.points.inner(&shadow.shape, &shadow.live, &shadow.live);
            }
        }
        self.bank += weight * loss_of(run, seen, &seen.scores, seen.theta);
        self.rows.push((t, seen.clone()));
    }

    /// No competitor wins by more than is certified. Returns how many were certified.
    pub fn check(&mut self, run: &Run, t: usize) -> Result<usize, Failure> {
        // A competitor's sign is that of the classes at the end.
        self.rows.iter_mut().for_each(|(row, seen)| seen.y = Some(run.read(&run.case.rows[*row])));
        let outputs = run.learner.outputs();
        if outputs == 0 || self.rows.is_empty() {
            return Ok(0);
        }
        self.bank_losses(run, t)?;
        if run.learner.skipped() > 0 && run.learner.regret_bound(0.0, 0.0).is_some() {
            return fail("regret after a skipped step", t, "the learner states a bound".into());
        }
        let mut certified = 0;
        for h in 0..self.losses.len() {
            if self.skipped && run.learner.engine().heads()[h].regret().bound(0.0, 0.0).is_some() {
                return fail("regret after a skipped step", t, format!("head {h} states a bound"));
            }
            if run.learner.engine().heads()[h].regret().bound(0.0, 0.0).is_none() {
                continue;
            }
            for competitor in self.competitors(run, h, outputs) {
                certified += 1;
                self.against(run, h, &competitor, t)?;
            }
        }
        Ok(certified)
    }

    /// A bank's own count of what it and its voices have lost.
    fn bank_losses(&self, run: &Run, t: usize) -> Result<(), Failure> {
        let Some(bank) = run.learner.engine().bank() else { return Ok(()) };
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-5 * (a.abs() + b.abs()) + 1e-9;
        let rounding = self.roundings.iter().fold(0.0, |a: f64, b| a.max(*b));
        let (of_bank, losses) = (self.before.0 + self.bank, self.all_losses());
        if (bank.loss() - of_bank).abs() > rounding && !near(bank.loss(), of_bank) {
            return fail("bank's loss", t, format!("kept {}, counted {of_bank}", bank.loss()));
        }
        for (v, voice) in run.voices.iter().enumerate().filter(|(_, voice)| !voice.mean && !run.shadows[voice.head].rested) {
            let apart = (bank.losses()[v] - losses[voice.head]).abs();
            if apart > self.roundings[voice.head] && !near(bank.losses()[v], losses[voice.head]) {
                let text = format!("voice {v}: kept {}, counted {}", bank.losses()[v], losses[voice.head]);
                return fail("voice's loss", t, text);
            }
        }
        Ok(())
    }

    fn bill(&self, run: &Run, h: usize, competitor: &Competitor) -> Bill {
        let (shape, outputs) = (&run.shadows[h].shape, run.learner.outputs());
        let mut losses = 0.0;
        for (_, seen) in &self.rows {
            let mut z = run.points.eval(shape, &competitor.u, seen.point, outputs);
            z.iter_mut().zip(&competitor.offset).for_each(|(z, b)| *z += b);
            z.truncate(seen.scores.len()); // the classes known at the row
            losses += seen.weight * loss_of(run, seen, &z, seen.theta);
        }
        let norm2 = run.points.inner(shape, &competitor.u, &competitor.u).max(0.0);
        Bill { losses, norm: norm2.sqrt(), offset: norm(&competitor.offset) }
    }

    fn against(&self, run: &Run, h: usize, competitor: &Competitor, t: usize) -> Result<(), Failure> {
        let head = &run.learner.engine().heads()[h];
        let bill = self.bill(run, h, competitor);
        let penalty = head.lambda() / 2.0 * bill.norm.powi(2) * self.regularised[h];
        let (paid, theirs) = (self.losses[h] + head.lambda() / 2.0 * self.sizes[h], bill.losses + penalty);
        let Some(bound) = head.regret().bound(bill.norm, bill.offset) else { return Ok(()) };
        let slack = |bound: f64| 1e-6 * (bound.abs() + paid.abs() + theirs.abs()) + self.regret_roundings[h];
        let place = format!("head {h}, u = {}, |u| = {:e}, |b| = {:e}", competitor.name, bill.norm, bill.offset);
        if !within(paid - theirs, bound + slack(bound)) {
            return fail("regret", t, format!("{place}: paid {paid:e}, u pays {theirs:e}, bound {bound:e}"));
        }
        let Some(whole) = run.learner.regret_bound(bill.norm, bill.offset) else { return Ok(()) };
        if run.learner.engine().bank().is_none() {
            if whole != bound {
                return fail("regret of the learner", t, format!("{place}: {whole:e}, its head says {bound:e}"));
            }
            return Ok(());
        }
        // The bank's bound is the largest of its heads, so it is checked for functions of every head.
        let of_head =
            |g: usize| Some(self.bank - self.losses[g] + run.learner.engine().heads()[g].regret().bound(bill.norm, bill.offset)?);
        let Some(heads) = (0..self.losses.len()).map(of_head).collect::<Option<Vec<f64>>>() else {
            return fail("regret of the bank", t, format!("{place}: {whole:e}, but not every head has a bound"));
        };
        let most = heads.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // The bank finds the largest bound with losses that rounding has moved.
        let largest = |of: &[f64]| of.iter().copied().fold(0.0, f64::max);
        let (rounding, of_any_head) = (largest(&self.roundings), largest(&self.regret_roundings));
        let paid = self.bank + head.lambda() / 2.0 * self.sizes[h];
        if !within(paid - theirs, whole + slack(bound) + rounding + of_any_head) {
            return fail("regret of the bank", t, format!("{place}: paid {paid:e}, u pays {theirs:e}, bound {whole:e}"));
        }
        if (whole - most).abs() > 10.0 * slack(bound) + rounding + 1e-5 * (self.bank.abs() + self.losses[h].abs()) {
            return fail(
                "regret of the bank",
                t,
                format!(
                    "{place}: {whole:e}, by its heads {most:e}; bank {}, heads {:?}, kept {:?}, bound {bound}",
                    self.bank,
                    self.losses,
                    run.learner.engine().bank()
                ),
            );
        }
        Ok(())
    }

    /// Functions to compete with: nothing, constants, multiples of f as it stands, and what many passes in hindsight find.
    fn competitors(&self, run: &Run, h: usize, outputs: usize) -> Vec<Competitor> {
        let shadow = &run.shadows[h];
        let none = vec![0.0; outputs];
        let mut out = vec![Competitor { name: "0".into(), u: Function::default(), offset: none.clone() }];
        let hindsight = self.hindsight(run, h, outputs);
        let sources = [
            ("f", &shadow.live, &shadow.offset[0]),
            ("f_full", &shadow.full, &shadow.offset[0]),
            ("hindsight", &hindsight.0, &hindsight.1),
        ];
        for by in [0.1, 0.5, 1.0, 2.0, 5.0] {
            for (name, f, b) in sources {
                let mut u = f.clone();
                u.scale(by);
                if run.config.offset {
                    out.push(Competitor { name: format!("{by} {name} with b"), u: u.clone(), offset: b.clone() });
                }
                out.push(Competitor { name: format!("{by} {name}"), u, offset: none.clone() });
            }
        }
        for b in [-1.0, 1.0, 0.1, -0.1].into_iter().filter(|_| run.config.offset) {
            out.push(Competitor { name: format!("the constant {b}"), u: Function::default(), offset: vec![b; outputs] });
        }
        out
    }

    /// A few passes of subgradient descent with falling steps over all rows: a good function in hindsight.
    fn hindsight(&self, run: &Run, h: usize, outputs: usize) -> (Function, Vec<f64>) {
        let (shape, lambda) = (&run.shadows[h].shape, run.learner.engine().heads()[h].lambda());
        let (mut u, mut b) = (Function::default(), vec![0.0; outputs]);
        let passes = (2000 / self.rows.len()).clamp(1, 10);
        let mut t = 0.0f64;
        for _ in 0..passes {
            for (_, seen) in &self.rows {
                t += 1.0;
                let eta = 1.0 / (lambda * t + t.sqrt()) / run.points.reach(shape, seen.point).powi(2).max(1.0);
                let mut z = run.points.eval(shape, &u, seen.point, outputs);
                z.iter_mut().zip(&b).for_each(|(z, b)| *z += b);
                z.truncate(seen.scores.len());
                let xi = gradient(run, seen, &z, 10.0);
                let weight = seen.weight.min(1.0);
                u.scale(1.0 - eta * lambda);
                u.add(seen.point, &xi.iter().map(|g| -eta * weight * g).collect::<Vec<_>>());
                if run.config.offset {
                    b.iter_mut().zip(&xi).for_each(|(b, g)| *b -= eta * weight * g);
                }
            }
        }
        (u, b)
    }
}

/// How far the loss at a score within `rounding` of z may be from the loss at z.
///
/// Losses are convex in z. So l(z) - l(z + d) <= l(z - d) - l(z), and over a ball around z the difference is largest at its edge: at
/// most the largest l(z + d) - l(z) over the corners d = +- sqrt(n) rounding e_i, whose hull holds the ball. No slope at z bounds it: a
/// kink may lie between z and z + d.
pub fn loss_rounding(loss: impl Fn(&[f64]) -> f64, z: &[f64], rounding: f64) -> f64 {
    let (far, here) = (rounding * (z.len() as f64).sqrt(), loss(z));
    let at = |i: usize, by: f64| {
        let mut moved = z.to_vec();
        moved[i] += by;
        loss(&moved) - here
    };
    (0..z.len()).map(|i| at(i, far).max(at(i, -far))).fold(0.0, f64::max).min(1e200)
}

/// The gradient of the loss by differences, cut off where it is large.
fn gradient(run: &Run, seen: &Seen, z: &[f64], largest: f64) -> Vec<f64> {
    let step = 1e-6 * norm(z).max(1.0);
    let at = |i: usize, by: f64| {
        let mut moved = z.to_vec();
        moved[i] += by;
        loss_of(run, seen, &moved, seen.theta)
    };
    (0..z.len()).map(|i| ((at(i, step) - at(i, -step)) / (2.0 * step)).clamp(-largest, largest)).collect()
}
