//! Law 6: bad input changes nothing and never panics. And what `predict` and `widen` promise.

use okl::config::Label;
use okl::{Learner, Workspace};

use crate::case::{Case, Columns, Target};
use crate::follow::{Failure, fail};
use crate::rng::Rng;

/// Learns the stream row by row; before each row, `predict` says what `learn` will say, and now and then bad rows are offered.
pub fn check(case: &Case) -> Result<(), Failure> {
    let config = case.config().map_err(|text| Failure { check: "refused", row: 0, text })?;
    let mut learner = Learner::new(config).map_err(|e| Failure { check: "refused late", row: 0, text: e.to_string() })?;
    let mut rng = Rng::new(case.seed ^ 0x1a5_017);
    let mut workspace = Workspace::default();
    for t in 0..case.rows.len() {
        if rng.chance(4.0 / case.rows.len() as f64) {
            offer(case, &mut learner, &mut rng, t)?;
        }
        let columns = case.columns(t, t + 1);
        let before = (t > 0).then(|| learner.predict_with(&mut workspace, &columns.rows()));
        let positive = learner.positive();
        let Ok(scores) = learner.learn(&columns.batch()) else { return Ok(()) };
        if positive.is_some() && positive != learner.positive() {
            continue; // the row itself brings the positive class, which predict cannot know
        }
        match before {
            Some(Ok(before)) if !agree(&before.values, &scores.values) => {
                return fail("predict", t, format!("predict says {:?}, learn {:?}", before.values, scores.values));
            }
            Some(Err(e)) if e.to_string().contains("beyond single precision") => {}
            Some(Err(e)) => return fail("predict refused", t, e.to_string()),
            _ => {}
        }
    }
    Ok(())
}

/// The same bits; a class that the row itself brings has score 0.
fn agree(before: &[f64], scores: &[f64]) -> bool {
    let at = |v: &[f64], i: usize| v.get(i).copied().unwrap_or(0.0);
    (0..before.len().max(scores.len())).all(|i| at(before, i) == at(scores, i))
}

/// Bad rows: an error, and not a bit of the model has changed.
fn offer(case: &Case, learner: &mut Learner, rng: &mut Rng, t: usize) -> Result<(), Failure> {
    let before = learner.to_bytes();
    let mut bad = case.columns(0, case.rows.len().min(3));
    let what = spoil(&mut bad, case, rng);
    let features = bad.features;
    let outcome = learner.learn(&bad.batch());
    if outcome.is_ok() {
        return fail("bad rows", t, format!("{what}: taken (features {features})"));
    }
    if learner.to_bytes() != before {
        return fail("bad rows", t, format!("{what}: refused, but the model has changed"));
    }
    Ok(())
}

/// Spoils a batch in one way, and says how.
fn spoil(bad: &mut Columns, case: &Case, rng: &mut Rng) -> &'static str {
    let value = |rng: &mut Rng| *rng.pick(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.1e15, -3e38]);
    let numbers = matches!(case.rows[0].y, Target::Numbers(_));
    match rng.below(6) {
        0 if numbers => {
            let at = rng.below(bad.numbers.len());
            bad.numbers[at] = f64::NAN;
            bad.known = None;
            bad.weights = None;
            "a target that is no number"
        }
        1 if numbers => {
            bad.numbers.push(1.0);
            "a target too many"
        }
        2 => {
            bad.labels = vec![Label::Text("x".into()); bad.x.len() / bad.features + 1];
            bad.numbers.clear();
            "labels, one too many"
        }
        3 => {
            bad.weights = Some((0..bad.x.len() / bad.features).map(|_| -1.0).collect());
            bad.known = None;
            "negative weights"
        }
        4 => {
            bad.ids = Some(vec![1]);
            bad.x.extend_from_within(..bad.features);
            bad.single.clear();
            "more rows than targets or ids"
        }
        _ => {
            let at = rng.below(bad.x.len());
            bad.x[at] = value(rng);
            bad.single.clear();
            "a feature that is not finite or too large"
        }
    }
}
