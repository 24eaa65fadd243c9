//! Law 1: the cut does not matter, nor does a save and load in between.

use okl::{Config, Learner};

use crate::case::Case;
use crate::follow::{Failure, fail};
use crate::rng::Rng;

/// Learns the stream row by row, and in blocks with a save and load after each, and compares files and scores.
pub fn check(case: &Case) -> Result<(), Failure> {
    let config = case.config().map_err(|text| Failure { check: "refused", row: 0, text })?;
    let new = || Learner::new(config.clone()).map_err(|e| Failure { check: "refused late", row: 0, text: e.to_string() });
    let (accepted, refused) = case.accepted(&config);
    if let Some(t) = refused
        && new()?.learn(&case.columns(0, t + 1).batch()).is_ok()
    {
        return fail("law 1: refused", t, "refused alone, taken in a block".into());
    }
    let (case, n) = (&accepted, accepted.rows.len());
    if n == 0 {
        return Ok(());
    }
    let (mut slow, mut scores) = (new()?, Vec::new());
    for t in 0..n {
        match slow.learn(&case.columns(t, t + 1).batch()) {
            Ok(s) => scores.push(s.values),
            Err(e) => return fail("refused row", t, e.to_string()),
        }
    }
    let mut cuts = case.cuts.clone();
    cuts.extend([0, n]);
    cuts.iter_mut().for_each(|c| *c = (*c).min(n));
    cuts.sort_unstable();
    cuts.dedup();
    let mut fast = new()?;
    if case.seed.is_multiple_of(16) && fast.set_threads(2).is_err() {
        return fail("threads", 0, "refused".into());
    }
    for pair in cuts.windows(2) {
        let got = match fast.learn(&case.columns(pair[0], pair[1]).batch()) {
            Ok(got) => got,
            Err(e) => return fail("law 1: refused", pair[0], format!("rows {pair:?} in one call: {e}")),
        };
        compare_scores(&scores[pair[0]..pair[1]], &got, pair[0])?;
        fast = match Learner::from_bytes(&fast.to_bytes()) {
            Ok(loaded) => loaded,
            Err(e) => return fail("load", pair[1] - 1, e.to_string()),
        };
    }
    if fast.to_bytes() != slow.to_bytes() {
        return fail("law 1", n - 1, format!("model files differ after the cuts {cuts:?}"));
    }
    damage(case, &fast.to_bytes())?;
    let again = Config::from_json(&fast.config().to_json());
    if again.as_ref().ok() != Some(fast.config()) {
        return fail("settings", n - 1, format!("{} is read back as {again:?}", fast.config().to_json()));
    }
    Ok(())
}

/// A column that comes later: every row so far is taken to have been zero there.
pub fn widened(case: &Case) -> Result<(), Failure> {
    if case.json().contains("orthogonal") {
        return Ok(()); // these random features depend on the number of columns, so that more are refused
    }
    let mut wider = case.clone();
    wider.rows.iter_mut().for_each(|row| row.x.push(0.0));
    let config = case.config().map_err(|text| Failure { check: "refused", row: 0, text })?;
    let (Ok(mut all), Ok(mut later)) = (Learner::new(config.clone()), Learner::new(config)) else { return Ok(()) };
    let (n, half) = (case.rows.len(), case.cuts[0].min(case.rows.len()));
    if half == 0 || all.learn(&wider.columns(0, half).batch()).is_err() || later.learn(&case.columns(0, half).batch()).is_err() {
        return Ok(());
    }
    if let Err(e) = later.widen(case.rows[0].x.len() + 1) {
        return fail("widen refused", half, e.to_string());
    }
    for t in half..n {
        let columns = wider.columns(t, t + 1);
        let (Ok(a), Ok(b)) = (all.learn(&columns.batch()), later.learn(&columns.batch())) else { return Ok(()) };
        if a.values.iter().zip(&b.values).any(|(a, b)| a.to_bits() != b.to_bits()) {
            return fail(
                "widen",
                t,
                format!("{:?} with the column from the start, {:?} with it from row {half} on", a.values, b.values),
            );
        }
    }
    Ok(())
}

/// A damaged file is refused.
fn damage(case: &Case, bytes: &[u8]) -> Result<(), Failure> {
    let mut rng = Rng::new(case.seed ^ 0xda4a_6ed0);
    for _ in 0..3 {
        let mut damaged = bytes.to_vec();
        let (at, bit) = (rng.below(bytes.len()), 1u8 << rng.below(8));
        damaged[at] ^= bit;
        if Learner::from_bytes(&damaged).is_ok() {
            return fail("damaged file", case.rows.len() - 1, format!("byte {at} of {} changed by {bit}: it loads", bytes.len()));
        }
    }
    if Learner::from_bytes(&bytes[..rng.below(bytes.len())]).is_ok() {
        return fail("damaged file", case.rows.len() - 1, "a part of it loads".into());
    }
    Ok(())
}

/// A class that came later has score 0 in rows before it.
fn compare_scores(one_by_one: &[Vec<f64>], block: &okl::Scores, from: usize) -> Result<(), Failure> {
    for (i, one) in one_by_one.iter().enumerate() {
        let got = block.row(i);
        let same = |j: usize| got[j].to_bits() == one.get(j).copied().unwrap_or(0.0).to_bits();
        if got.len() < one.len() || !(0..got.len()).all(same) {
            return fail("law 1: scores", from + i, format!("{got:?} in a block, {one:?} alone"));
        }
    }
    Ok(())
}
