//! Makes a failing case small: fewer rows, fewer columns, simpler settings, rounder numbers, as long as the same check fails.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::case::{Case, Target};
use crate::checks::check;
use crate::follow::Failure;
use crate::{insults, laws};

/// How many tries a case is worth.
const TRIES: usize = 1500;
/// And how much time.
const TIME: Duration = Duration::from_secs(15);

/// Runs the checks; a panic is a failure like any other.
pub fn outcome(case: &Case) -> Result<(), Failure> {
    catch_unwind(AssertUnwindSafe(|| all(case))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_string()));
        Err(Failure { check: "panic", row: 0, text: text.unwrap_or_default() })
    })
}

fn all(case: &Case) -> Result<(), Failure> {
    check(case)?;
    laws::check(case)?;
    insults::check(case)?;
    laws::widened(case)
}

/// A smaller case that fails alike.
pub fn shrink(case: &Case, failure: &Failure) -> (Case, Failure) {
    let mut best = (case.clone(), failure.clone());
    if failure.check != "panic" && failure.row + 1 < case.rows.len() {
        let mut cut = case.clone();
        cut.rows.truncate(failure.row + 1);
        try_it(&mut best, cut, &mut 0);
    }
    let (mut tries, start) = (0, Instant::now());
    let enough = |tries: usize| tries >= TRIES || start.elapsed() > TIME;
    loop {
        let before = tries;
        let mut better = false;
        let mut size = best.0.rows.len() / 2;
        while size > 0 {
            let mut from = 0;
            while from < best.0.rows.len() && !enough(tries) {
                let mut smaller = best.0.clone();
                smaller.rows.drain(from..(from + size).min(smaller.rows.len()));
                if smaller.rows.is_empty() || !try_it(&mut best, smaller, &mut tries) {
                    from += size;
                } else {
                    better = true;
                }
            }
            size /= 2;
        }
        for simpler in simpler(&best.0) {
            better |= try_it(&mut best, simpler, &mut tries);
        }
        if !better || enough(tries) || tries == before {
            return best;
        }
    }
}

fn try_it(best: &mut (Case, Failure), candidate: Case, tries: &mut usize) -> bool {
    *tries += 1;
    if candidate.config().is_err() || candidate.rows.is_empty() {
        return false;
    }
    match outcome(&candidate) {
        Err(failure) if failure.check == best.1.check => {
            *best = (candidate, failure);
            true
        }
        _ => false,
    }
}

/// Simpler cases, each by one change.
fn simpler(case: &Case) -> Vec<Case> {
    let mut out = Vec::new();
    let mut with = |change: &dyn Fn(&mut Case)| {
        let mut simpler = case.clone();
        change(&mut simpler);
        if simpler.json() != case.json()
            || format!("{:?}", simpler.rows) != format!("{:?}", case.rows)
            || simpler.ids != case.ids
            || simpler.wide != case.wide
        {
            out.push(simpler);
        }
    };
    for name in
        ["average", "regulariser", "offset", "implicit", "anchor", "allow_overshoot", "scale", "theta0", "threshold", "shrink"]
    {
        with(&|c| drop(c.settings.remove(name)));
    }
    for (name, value) in [
        ("kernel", "\"gaussian:1\""),
        ("kernel", "\"linear\""),
        ("step", "\"constant:0.5\""),
        ("step", "\"inverse_sqrt:0.5\""),
        ("step", "\"smd:eta=0.5,mu=0.1,decay=0.9\""),
        ("lambda", "0.0"),
        ("lambda", "0.1"),
        ("lambda", "0.001"),
        ("loss", "\"hinge\""),
        ("loss", "\"squared\""),
        ("warmup", "2"),
        ("budget", "\"unlimited\""),
        ("budget", "\"window:1\""),
        ("budget", "\"transfer:1\""),
        ("budget", "\"merge:2\""),
    ] {
        if case.settings.contains_key(name) && case.settings[name] != value {
            with(&|c| drop(c.settings.insert(name, value.into())));
        }
    }
    with(&|c| c.ids = false);
    with(&|c| {
        c.wide = false;
        c.rows.iter_mut().for_each(|r| r.x.iter_mut().for_each(|v| *v = f64::from(*v as f32)));
    });
    with(&|c| {
        c.weights = false;
        c.rows.iter_mut().for_each(|r| r.weight = 1.0);
    });
    with(&|c| c.rows.iter_mut().for_each(|r| r.known = true));
    for column in 0..case.rows[0].x.len() {
        with(&|c| {
            c.rows.iter_mut().filter(|r| r.x.len() > 1).for_each(|r| _ = r.x.remove(column));
        });
    }
    for digits in [0, 1, 2] {
        with(&|c| c.rows.iter_mut().for_each(|r| r.x.iter_mut().for_each(|v| *v = f64::from(rounded(*v, digits) as f32))));
        with(&|c| c.rows.iter_mut().for_each(|r| round_target(&mut r.y, digits)));
    }
    out
}

/// To so many digits after the leading one.
fn rounded(v: f64, digits: i32) -> f64 {
    if v == 0.0 {
        return 0.0;
    }
    let unit = 10f64.powi(v.abs().log10().floor() as i32 - digits);
    (v / unit).round() * unit
}

fn round_target(y: &mut Target, digits: i32) {
    if let Target::Numbers(y) = y {
        y.iter_mut().for_each(|v| *v = rounded(*v, digits));
    }
}
