//! Terms that live for a number of examples: `age` (Proposition N1, N(11)) and `olok`.

use crate::parts::budget::Sight;

/// Finds the terms that have lived too long.
#[derive(Clone, Debug, Default)]
pub(super) struct Age {
    /// A lower bound on the birth times of all live terms.
    oldest_birth: u64,
}

impl Age {
    /// There is another term, which was born at this time.
    pub fn see_term(&mut self, birth: u64) {
        self.oldest_birth = self.oldest_birth.min(birth);
    }

    /// Finds the terms that were born at the time `last` or before.
    pub fn expired(&mut self, sight: &dyn Sight, last: u64, out: &mut Vec<usize>) {
        if self.oldest_birth > last {
            return;
        }
        let births = sight.births();
        out.extend((0..births.len()).filter(|&s| births[s] > 0 && births[s] <= last));
        self.oldest_birth = births.iter().copied().filter(|&b| b > last).min().unwrap_or(sight.t() + 1);
    }
}

/// OLOK's t_0: the least T such that for all t >= T: eta lambda < sqrt t, exp(-eta lambda t^e) <= eta lambda t^(-1/2),
/// t^(1/2 + e) <= 0.75 t (E14: "for all", not the first t that satisfies them).
#[doc(hidden)]
pub fn olok_t0(eta_lambda: f64, exponent: f64) -> f64 {
    let by_step = libm::floor(eta_lambda * eta_lambda) + 1.0;
    let by_growth = libm::ceil(libm::pow(4.0 / 3.0, 1.0 / (0.5 - exponent)));
    // The second condition is slack(t) >= 0. The function slack decreases up to `turn` and increases after it.
    let slack = |t: f64| eta_lambda * libm::pow(t, exponent) - 0.5 * libm::log(t) + libm::log(eta_lambda);
    let turn = libm::pow(1.0 / (2.0 * eta_lambda * exponent), 1.0 / exponent).max(1.0);
    let by_decay = if slack(turn) >= 0.0 { 1.0 } else { first_rise(slack, turn) };
    by_step.max(by_growth).max(by_decay)
}

fn first_rise(slack: impl Fn(f64) -> f64, turn: f64) -> f64 {
    let (mut low, mut high) = (turn, turn * 2.0);
    while slack(high) < 0.0 && high < 1e300 {
        high *= 2.0;
    }
    while high - low > 0.5 && high - low > 1e-15 * high {
        let middle = 0.5 * (low + high);
        if slack(middle) < 0.0 { low = middle } else { high = middle }
    }
    let whole = libm::floor(high);
    if slack(whole) >= 0.0 { whole } else { whole + 1.0 }
}
