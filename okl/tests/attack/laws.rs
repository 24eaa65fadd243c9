//! Law 1: the cut does not matter, nor does a save and load in between.

use okl::Learner;

use crate::case::Case;
use crate::follow::{Failure, fail};

/// Learns the stream row by row, and in blocks with a save and load after each, and compares files and scores.
pub fn check(case: &Case) -> Result<(), Failure> {
    let config = case.config().map_err(|text| Failure { check: "refused", row: 0, text })?;
    let new = || Learner::new(config.clone()).map_err(|e| Failure { check: "refused late", row: 0, text: e.to_string() });
    let n = case.rows.len();
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
