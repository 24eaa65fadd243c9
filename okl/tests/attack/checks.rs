//! What is checked while a case runs.

use okl::Batch;
use okl::budget::BudgetRule;

use crate::case::{Case, Target};
use crate::follow::{Failure, Run, Seen, Voice, fail, settled, truncation, within};
use crate::kernels::U;
use crate::losses::{loss, outside};
use crate::norms::{norms, shrinking};
use crate::points::{Function, norm};
use crate::regret::Ledger;
use crate::rng::Rng;
use crate::steps::{offsets, skips};

/// Roundings of what is carried from term to term, in units of 2^-24 of sum |alpha| sqrt k over all updates.
const CARRIED: f64 = 8.0;

/// Alerts, counted from what every row left behind.
#[derive(Debug, Default)]
struct Alerts {
    outside: f64,
    total: f64,
}

/// Runs a case and checks it. What fails where a kernel value is beyond single precision is a finding of its own.
pub fn check(case: &Case) -> Result<(), Failure> {
    check_deflated(case, 1.0)
}

/// As `check`, with every truncation error taken times a number: below one, the attack has to win.
pub fn check_deflated(case: &Case, deflate: f64) -> Result<(), Failure> {
    let Some(config) = settled(case)? else { return Ok(()) };
    let (case, _) = case.accepted(&config);
    if case.rows.is_empty() {
        return Ok(());
    }
    let mut run = Run::start(&case, config)?;
    run.deflate = deflate;
    walk(&case, &mut run).map_err(|failure| {
        if run.points.largest_diagonal() < 1e38 {
            return failure;
        }
        let text = format!("{}: {}", failure.check, failure.text);
        Failure { check: "kernel beyond f32", row: failure.row, text }
    })
}

fn walk(case: &Case, run: &mut Run) -> Result<(), Failure> {
    let mut rng = Rng::new(case.seed ^ 0xa77a_c4ed);
    let mut alerts = Alerts::default();
    let mut ledger = Ledger::new(run.shadows.len());
    let n = case.rows.len();
    for t in 0..n {
        let skipped = run.learner.skipped();
        let weights = run.learner.engine().bank().map_or(vec![1.0], |bank| bank.weights().to_vec());
        let before = run.before();
        let seen = run.step(t)?;
        scores(run, &seen, &weights, t)?;
        shrinking(run, &seen, t)?;
        skips(run, run.learner.skipped() > skipped, &before, &seen, t)?;
        alerts.count(run, &seen, t)?;
        ledger.count(run, &seen, t);
        if run.learner.skipped() > skipped {
            ledger.skip();
        }
        run.follow(&seen);
        if seen.rescaled {
            ledger.begin_anew();
        }
        offsets(run, t)?;
        standing(run, t)?;
        if n <= 30 || t + 1 == n || rng.chance(8.0 / n as f64) {
            functions(run, &mut rng, t)?;
            norms(run, t)?;
            scalars(run, t)?;
            alerts.certificate(run, t)?;
        }
    }
    ledger.check(run, n - 1)?;
    frozen(run, n - 1)
}

/// Scores are f(x) + b of the function the engine holds.
fn scores(run: &Run, seen: &Seen, weights: &[f64], t: usize) -> Result<(), Failure> {
    if let Some(bad) = seen.scores.iter().find(|v| !v.is_finite()) {
        return fail("score not finite", t, format!("{bad}"));
    }
    let outputs = seen.scores.len();
    let (mut expected, mut slack) = (vec![0.0; outputs], 0.0);
    for (voice, w) in run.voices.iter().zip(weights) {
        let z = run.score(voice, seen.point, outputs);
        expected.iter_mut().zip(&z).for_each(|(e, z)| *e += w * z);
        slack += w * run.score_rounding(voice, seen.point);
    }
    let apart = norm(&expected.iter().zip(&seen.scores).map(|(a, b)| a - b).collect::<Vec<_>>());
    if apart > slack + 1e-12 * norm(&expected) {
        return fail(
            "score",
            t,
            format!("score {:?}, f(x) + b = {expected:?}, apart {apart:e}, rounding {slack:e}", seen.scores),
        );
    }
    Ok(())
}

/// What holds after every row: budgets keep their word.
fn standing(run: &Run, t: usize) -> Result<(), Failure> {
    // `budget = auto` has doubled its number of terms by now, or not.
    let budget = run.learner.config().budget();
    if let Some(capacity) = budget.capacity().filter(|&c| run.learner.terms() > c) {
        return fail("capacity", t, format!("{} terms, {capacity} at most", run.learner.terms()));
    }
    if let BudgetRule::Certified { error } = budget {
        let of_learner = run.learner.truncation_error();
        let worst = run.learner.engine().heads().iter().map(|h| h.truncation_error()).fold(of_learner, f64::max);
        if worst > error {
            return fail("certified", t, format!("certified:{error}, truncation error {worst} (learner {of_learner})"));
        }
    }
    if let BudgetRule::Age { steps } = budget {
        let (terms, now) = (run.learner.engine().terms(), run.learner.examples());
        let oldest = terms.live().filter_map(|slot| terms.birth(slot)).min().unwrap_or(now);
        if now.saturating_sub(oldest) > steps {
            return fail("age", t, format!("age:{steps}, a term written at {oldest} lives at {now}"));
        }
    }
    Ok(())
}

/// The means of b and theta that go with an average, and what novelty is held against.
fn scalars(run: &Run, t: usize) -> Result<(), Failure> {
    for (h, shadow) in run.shadows.iter().enumerate().filter(|(_, s)| s.average != okl::engine::head::Average::None) {
        let (own, kept) = (&shadow.means.0, &shadow.offset[1]);
        let apart = own.iter().zip(kept).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let size = norm(own).max(norm(kept)).max(norm(&shadow.offset[0]));
        if !within(apart, 1e-9 * size + 1e-300) {
            return fail("mean of b", t, format!("head {h}: {kept:?}, counted {own:?}"));
        }
    }
    let Some(threshold) = run.learner.threshold().filter(|_| !run.tracked()) else { return Ok(()) };
    let shadow = &run.shadows[0];
    let theta = run.learner.theta();
    let fixed = matches!(*run.config.loss, okl::loss::AnyLoss::Novelty { .. });
    let expected = if shadow.average == okl::engine::head::Average::None || fixed { theta } else { shadow.means.1 };
    if !fixed && !within((threshold - expected).abs(), 1e-9 * theta.abs().max(expected.abs()).max(1.0)) {
        return fail("threshold", t, format!("{threshold}, expected {expected}, theta {theta}"));
    }
    Ok(())
}

/// |f_full - f| <= truncation error + rounding, in H and at points.
fn functions(run: &mut Run, rng: &mut Rng, t: usize) -> Result<(), Failure> {
    let probes = probes(run, rng, t);
    for h in 0..run.shadows.len() {
        for mean in [false, true] {
            if mean && run.shadows[h].average == okl::engine::head::Average::None {
                continue;
            }
            in_h(run, h, mean, t)?;
        }
    }
    for (x, point) in probes {
        at_a_point(run, &x, point, t)?;
    }
    Ok(())
}

/// Rows to ask f at: some seen, some near them.
fn probes(run: &mut Run, rng: &mut Rng, t: usize) -> Vec<(Vec<f64>, usize)> {
    let mut out = Vec::new();
    for i in 0..4 {
        let mut x = run.case.rows[rng.below(t + 1)].x.clone();
        if i % 2 == 1 {
            x.iter_mut().for_each(|v| *v += (v.abs() * 0.3 + 1e-3) * rng.normal());
            x.iter_mut().for_each(|v| *v = f64::from(v.clamp(-9e14, 9e14) as f32));
        }
        let framed = run.framed(&x);
        let point = run.point_of(&framed);
        out.push((x, point));
    }
    out
}

fn in_h(run: &Run, h: usize, mean: bool, t: usize) -> Result<(), Failure> {
    let shadow = &run.shadows[h];
    let (full, live) = if mean { (&shadow.full_mean, &shadow.live_mean) } else { (&shadow.full, &shadow.live) };
    let claimed = run.deflate * truncation(&run.learner.engine().heads()[h], mean);
    let apart = full.minus(live);
    let distance = run.points.inner(&shadow.shape, &apart, &apart).max(0.0).sqrt();
    let slack = CARRIED * U * shadow.history
        + 1e-7 * run.points.mass(&shadow.shape, &apart)
        + claimed * 1e-5
        + 1e-12 * shadow.peak
        + 1e-18 * shadow.coefficients;
    if !within(distance, claimed + slack) {
        let check = if mean { "truncation of the average" } else { "truncation" };
        let text = format!("head {h}: |f_full - f| = {distance:e}, truncation error {claimed:e}, rounding {slack:e}");
        return fail(check, t, text);
    }
    Ok(())
}

/// The coefficients that are given out make the function that predicts.
fn written_out(run: &Run, scores: &[f64], point: usize, t: usize) -> Result<(), Failure> {
    let (learner, outputs) = (&run.learner, scores.len());
    if learner.engine().basis().has_weights() {
        return Ok(()); // there are no terms; okl/tests/mathematics/weights.rs holds the weights against the scores
    }
    let (coefficients, terms) = (learner.predicting_coefficients(), learner.engine().terms());
    if coefficients.len() != learner.widths() * terms.len() * outputs {
        let text =
            format!("{} coefficients, {} widths, {} terms, {outputs} outputs", coefficients.len(), learner.widths(), terms.len());
        return fail("coefficients", t, text);
    }
    let (mut z, mut rounding) = (learner.predicting_offset(), 0.0);
    z.resize(outputs, 0.0);
    let mut centre = vec![0.0; terms.space().features()];
    let live: Vec<usize> = terms.live().collect();
    for width in 0..learner.widths() {
        let mut f = Function::default();
        for (i, slot) in live.iter().enumerate() {
            terms.space().centre(*slot, &mut centre);
            let from = (width * live.len() + i) * outputs;
            f.add(run.points.known(&centre), &coefficients[from..from + outputs]);
        }
        let mut shape = run.shadows[0].shape.clone();
        if shape.parts.len() == 1 {
            shape.parts[0].0 = width;
        }
        z.iter_mut().zip(run.points.eval(&shape, &f, point, outputs)).for_each(|(z, v)| *z += v);
        rounding += run.points.rounding(&shape, &f, point);
    }
    let apart = norm(&z.iter().zip(scores).map(|(a, b)| a - b).collect::<Vec<_>>());
    let peak = run.shadows.iter().map(|s| s.peak * run.points.reach(&s.shape, point)).fold(0.0, f64::max);
    if !within(apart, rounding + 1e-12 * (norm(&z) + peak)) {
        let text = format!("predict says {scores:?}, the coefficients {z:?}, rounding {rounding:e}");
        return fail("coefficients", t, text);
    }
    Ok(())
}

/// The plain learner that a bank's leading member is: its scores are those of the leading voice.
fn frozen(run: &mut Run, t: usize) -> Result<(), Failure> {
    let x = &run.case.rows[t].x;
    let framed = run.framed(x);
    let point = run.point_of(&framed);
    let run = &*run;
    let Some(bank) = run.learner.engine().bank() else { return Ok(()) };
    let first = |best: usize, v: usize| if bank.weights()[v] > bank.weights()[best] { v } else { best };
    let voice = &run.voices[(1..run.voices.len()).fold(0, first)];
    let plain = match run.learner.freeze() {
        Ok(plain) => plain,
        Err(e) => return fail("freeze refused", t, e.to_string()),
    };
    let Ok(scores) = plain.predict(&Batch::of_f64(x, x.len())) else {
        return fail("freeze", t, "no scores".into());
    };
    let z = run.score(voice, point, scores.outputs);
    let apart = norm(&z.iter().zip(&scores.values).map(|(a, b)| a - b).collect::<Vec<_>>());
    let rounding = run.score_rounding(voice, point) + 1e-12 * norm(&z);
    if !within(apart, rounding) {
        let text = format!("the leading voice says {z:?}, its plain learner {:?}, rounding {rounding:e}", scores.values);
        return fail("freeze", t, text);
    }
    Ok(())
}

/// The combined score of all voices against what they would be with nothing dropped.
fn at_a_point(run: &Run, x: &[f64], point: usize, t: usize) -> Result<(), Failure> {
    let learner = &run.learner;
    let scores = match learner.predict(&Batch::of_f64(x, x.len())) {
        Ok(scores) => scores.values,
        Err(_) if run.points.largest_diagonal() > 1e38 => return Ok(()), // refused in words: a kernel value beyond single precision
        Err(e) => return fail("predict refused", t, e.to_string()),
    };
    if scores.iter().any(|v| !v.is_finite()) {
        return fail("prediction not finite", t, format!("{scores:?} at {x:?}"));
    }
    written_out(run, &scores, point, t)?;
    let weights = learner.engine().bank().map_or(vec![1.0], |bank| bank.weights().to_vec());
    if weights.len() != run.voices.len() || weights.iter().any(|w| !w.is_finite() || *w < 0.0) {
        return fail("weights", t, format!("{weights:?} of {} voices", run.voices.len()));
    }
    let (mut full, mut rounding, mut reach, mut own_claim) = (vec![0.0; scores.len()], 0.0, 0.0f64, 0.0);
    for (voice, w) in run.voices.iter().zip(&weights) {
        let shadow = &run.shadows[voice.head];
        let z = full_score(run, voice, point, scores.len());
        full.iter_mut().zip(&z).for_each(|(f, z)| *f += w * z);
        let at = run.points.reach(&shadow.shape, point);
        let carried = (CARRIED * U * shadow.history + 1e-18 * shadow.coefficients) * at;
        // The offset of the score in full is the sum of its moves, which rounds otherwise than the offset that is kept.
        let of_offset = if voice.mean { 0.0 } else { shadow.followed.1 };
        rounding += w * (run.score_rounding(voice, point) + carried + of_offset + 1e-12 * norm(&z));
        reach = reach.max(at);
        own_claim += w * truncation(&learner.engine().heads()[voice.head], voice.mean) * at;
    }
    let apart = norm(&full.iter().zip(&scores).map(|(a, b)| a - b).collect::<Vec<_>>());
    let claimed = learner.truncation_error() * reach;
    let noise = 1e-5 * claimed + rounding;
    if !within(apart, claimed + noise) {
        let text = format!("score {scores:?}, in full {full:?}: apart {apart:e}, claimed {claimed:e}, rounding {rounding:e}");
        return fail("truncation at a point", t, text);
    }
    if own_claim > claimed * (1.0 + 1e-9) + 1e-300 && run.voices.len() == 1 {
        return fail("truncation of the learner", t, format!("claimed {claimed:e}, by its heads {own_claim:e}"));
    }
    Ok(())
}

fn full_score(run: &Run, voice: &Voice, point: usize, outputs: usize) -> Vec<f64> {
    let shadow = &run.shadows[voice.head];
    let f = if voice.mean { &shadow.full_mean } else { &shadow.full };
    let mut z = run.points.eval(&shadow.shape, f, point, outputs);
    let offset = if voice.mean { &shadow.offset[1] } else { &shadow.followed.0 };
    z.iter_mut().zip(offset).for_each(|(z, b)| *z += b);
    z
}

impl Alerts {
    fn count(&mut self, run: &Run, seen: &Seen, t: usize) -> Result<(), Failure> {
        if let (Some(threshold), Some(alert), true) = (seen.threshold, seen.outside, run.tracked())
            && alert != (seen.scores[0] < threshold)
        {
            return fail("alert", t, format!("score {}, threshold {threshold}, alert {alert}", seen.scores[0]));
        }
        if !seen.learned {
            return Ok(());
        }
        if let Some(alert) = seen.outside {
            self.total += seen.weight;
            self.outside += if alert { seen.weight } else { 0.0 };
        }
        if run.tracked() {
            return Ok(());
        }
        let reported = Voice { head: 0, mean: run.shadows[0].average != okl::engine::head::Average::None };
        let (z, theta) = (run.score(&reported, seen.point, seen.scores.len()), seen.threshold.unwrap_or(seen.theta));
        if let (Some((own, gap)), Some(alert)) = (outside(&run.config.loss, &z, seen.target(), theta), seen.outside)
            && own != alert
            && gap > run.score_rounding(&reported, seen.point) + 1e-12 * (norm(&z) + theta)
        {
            return fail("outside", t, format!("z = {z:?}, theta = {theta}, reported {alert}"));
        }
        Ok(())
    }

    fn certificate(&self, run: &Run, t: usize) -> Result<(), Failure> {
        let Some(rate) = run.learner.alert_rate() else { return Ok(()) };
        if self.total == 0.0 {
            return Ok(());
        }
        let counted = self.outside / self.total;
        if (counted - rate.rate).abs() > 1e-9 {
            return fail("alert count", t, format!("rate {}, counted {counted} of weight {}", rate.rate, self.total));
        }
        if !within((counted - rate.nu).abs(), rate.bound * (1.0 + 1e-9) + 1e-9) {
            return fail("alert rate", t, format!("rate {counted}, nu {}, certified within {}", rate.nu, rate.bound));
        }
        Ok(())
    }
}

impl Seen {
    /// The target as the loss reads it.
    pub fn target(&self) -> &Target {
        self.y.as_ref().expect("set with every row")
    }
}

impl Run<'_> {
    /// Whether a head of a bank has diverged and rests.
    pub fn rests(&self, h: usize) -> bool {
        self.learner.engine().bank().is_some_and(|bank| bank.rests(h))
    }

    /// Whether the averaged score has a tracked threshold.
    pub fn tracked(&self) -> bool {
        self.learner.engine().heads()[0].tracker().is_some()
    }
}

/// The loss of a row at given scores.
pub fn loss_of(run: &Run, seen: &Seen, z: &[f64], theta: f64) -> f64 {
    loss(&run.config.loss, z, seen.target(), seen.class, theta)
}
