//! Budgets: which term makes room for the next one, and which have grown old or light.
//!
//! ```
//! use okl::budget::{Budget, Room, Sight};
//!
//! /// Keeps the first `terms` terms and no others: every later one takes the place of the one before it.
//! struct Stubborn { terms: usize }
//! impl Budget for Stubborn {
//!     fn room(&mut self, sight: &mut dyn Sight) -> Room {
//!         if sight.terms() < self.terms { Room::Fresh } else { Room::Drop(self.terms - 1) }
//!     }
//! }
//! ```
//!
//! A budget decides; the engine carries the decision out for every head and accounts for what is lost (law 5).
//! Sweeps over all terms happen at counts of examples, never at the edge of a block.

use serde::{Deserialize, Serialize};

use crate::gram::{Backend, Elementwise};
use crate::parts::kernel::{exp2, log2};

/// How the next term gets its slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Room {
    /// A hole, or one slot more.
    Fresh,
    /// The slot of this term, which is dropped.
    Drop(usize),
    /// The slot of this term, which is first projected onto the new one: a_t += a_r k_rt / k_tt.
    Transfer(usize),
    /// The slot `from`: it is merged into `into` at h x_from + (1 - h) x_into.
    Merge {
        /// The term that leaves its slot.
        from: usize,
        /// The term that moves to the merged centre.
        into: usize,
        /// How far.
        h: f64,
    },
    /// The slot of this term, dropped after everything, the new term included, was scaled by phi.
    Forget {
        /// The oldest term.
        slot: usize,
        /// The factor.
        phi: f64,
    },
}

/// What a budget sees of the learner: the leading head's terms, and the example about to be appended.
pub trait Sight {
    /// The number of this example.
    fn t(&self) -> u64;
    /// Live terms.
    fn terms(&self) -> usize;
    /// When each slot was written; 0 for a hole.
    fn births(&self) -> &[u64];
    /// |alpha_i k(x_i, .)|² for each slot; 0 for a hole.
    fn norms2(&mut self, out: &mut Vec<f64>);
    /// k(x_i, x_i).
    fn self_value(&mut self, slot: usize) -> f64;
    /// alpha_slot^T J alpha_j for every slot j.
    fn products(&mut self, slot: usize, out: &mut Vec<f64>);
    /// k(x_t, x_j) for every slot j.
    fn row(&self) -> &[f32];
    /// k(x_t, x_t).
    fn own_value(&self) -> f64;
    /// k(x_slot, x_j) for every slot j.
    fn term_row(&mut self, slot: usize, out: &mut Vec<f32>);
    /// (alpha_slot, f(x_slot)) of the first output, the example about to be appended included.
    fn value_at(&mut self, slot: usize) -> (f64, f64);
    /// The step size of this step.
    fn eta(&self) -> f64;
    /// The truncation certificate as it stands.
    fn truncation(&self) -> f64;
    /// For each slot, the norm that dropping its term would take from the head that loses most, averages included.
    fn largest_losses(&mut self, out: &mut Vec<f64>);
    /// How many of these terms, dropped in this order, leave the certificates of all heads and averages at `limit` or below.
    fn affordable(&mut self, slots: &[usize], limit: f64) -> usize;
    /// sup k(x, x), where k(x, x) is the same for all x; 1 where it is not known.
    fn supremum(&self) -> f64;
    /// The backend for elementwise work.
    fn backend(&self) -> Backend;
}

/// A rule that bounds the number of terms or what they are worth.
///
/// Law: a decision depends on what the sight shows and on the budget's own state alone.
pub trait Budget: Send + Sync {
    /// Where the term about to be appended goes. Called once per new term, after the step's shrink.
    fn room(&mut self, sight: &mut dyn Sight) -> Room;
    /// May [`Budget::expired`] name a slot at the end of example `t`? Asked first, because it is cheap.
    fn looks(&self, t: u64) -> bool {
        let _ = t;
        true
    }
    /// Names the slots to drop at the end of a step.
    fn expired(&mut self, sight: &mut dyn Sight, out: &mut Vec<usize>) {
        let _ = (sight, out);
    }
    /// The truncation certificate that no head may exceed by a projection onto another term; see [`BudgetRule::Certified`].
    fn limit(&self) -> f64 {
        f64::INFINITY
    }
    /// All terms were removed because nothing was left of any function: the next term finds its slot among 0, 1, 2, ...
    fn cleared(&mut self) {}
    /// Do most chunks of 1,024 slots stay as they are while a block is learned? Then sums over them are taken for all its rows at once.
    fn settles(&self) -> bool {
        false
    }
    /// Bytes held that grow with the number of terms.
    fn bytes(&self) -> usize {
        0
    }
}

/// The built-in budgets, by their names in a configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum BudgetRule {
    /// Every term is kept.
    Unlimited {},
    /// First in, first out.
    Window {
        /// The number of terms.
        terms: usize,
    },
    /// A term lives for so many examples: Proposition N1, N(11). Age counts examples, not terms.
    Age {
        /// tau.
        steps: u64,
    },
    /// OLOK's truncation: age s_t = ceil(max(t^(1/2 + exponent), t_0)), t_0 as corrected in E14.
    Olok {
        /// epsilon in (0, 1/2).
        exponent: f64,
    },
    /// Every 64 examples, terms with |alpha_i k(x_i, .)| below the tolerance go.
    Weight {
        /// The tolerance.
        tolerance: f64,
    },
    /// Every 64 examples, the lightest terms go as long as the truncation certificate of every head, and of its average, stays
    /// within `error`.
    Certified {
        /// The largest truncation error of any head or average.
        error: f64,
    },
    /// The term that the newest one replaces best is projected onto it (generalises BPA-S).
    Transfer {
        /// The number of terms.
        terms: usize,
    },
    /// The lightest term is merged with the partner that loses least (BSGD; Gaussian kernels).
    Merge {
        /// The number of terms.
        terms: usize,
    },
    /// The self-tuned Forgetron: the oldest goes, after a shrink that keeps the damage within its mistake bound.
    Forgetron {
        /// The number of terms.
        terms: usize,
    },
}

impl BudgetRule {
    /// The number of terms that is never exceeded, if there is one.
    pub fn capacity(&self) -> Option<usize> {
        match *self {
            BudgetRule::Window { terms }
            | BudgetRule::Transfer { terms }
            | BudgetRule::Merge { terms }
            | BudgetRule::Forgetron { terms } => Some(terms),
            _ => None,
        }
    }

    /// Does the rule leave most terms as they are from one example to the next?
    pub(crate) fn settles(&self) -> bool {
        use BudgetRule::{Age, Olok, Unlimited, Window};
        matches!(self, Unlimited {} | Window { .. } | Age { .. } | Olok { .. })
    }

    /// The same rule for so many terms, if it counts terms.
    pub(crate) fn with_terms(&self, terms: usize) -> Option<Self> {
        match self {
            BudgetRule::Window { .. } => Some(BudgetRule::Window { terms }),
            BudgetRule::Transfer { .. } => Some(BudgetRule::Transfer { terms }),
            BudgetRule::Merge { .. } => Some(BudgetRule::Merge { terms }),
            BudgetRule::Forgetron { .. } => Some(BudgetRule::Forgetron { terms }),
            _ => None,
        }
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        let positive = |name: &str, v: f64| match v.is_finite() && v > 0.0 {
            true => Ok(()),
            false => Err(format!("{name} must be > 0, found {v}")),
        };
        match *self {
            BudgetRule::Unlimited {} => Ok(()),
            BudgetRule::Merge { terms } if terms < 2 => Err(format!("merging needs at least 2 terms, found {terms}")),
            BudgetRule::Window { terms }
            | BudgetRule::Transfer { terms }
            | BudgetRule::Merge { terms }
            | BudgetRule::Forgetron { terms } => positive("terms", terms as f64),
            BudgetRule::Age { steps } => positive("steps", steps as f64),
            BudgetRule::Olok { exponent } if exponent > 0.0 && exponent < 0.5 => Ok(()),
            BudgetRule::Olok { exponent } => Err(format!("exponent must be in (0, 1/2), found {exponent}")),
            BudgetRule::Weight { tolerance } => positive("tolerance", tolerance),
            BudgetRule::Certified { error } => positive("error", error),
        }
    }
}

/// How often the rules that look at every term do so, in examples.
const SWEEP: u64 = 64;
/// Steps towards the best h of every partner.
const CLIMB: usize = 2;

/// A built-in budget with its state.
#[derive(Clone, Debug)]
pub struct AnyBudget {
    rule: BudgetRule,
    /// Window: the slot written longest ago.
    pub(crate) oldest_slot: usize,
    /// Age, olok: no live term is older than this.
    oldest_birth: u64,
    /// OLOK's t_0.
    t0: f64,
    /// Forgetron: mistakes M and spent damage Q.
    pub(crate) mistakes: f64,
    pub(crate) damage: f64,
    norms2: Vec<f64>,
    products: Vec<f64>,
    row: Vec<f32>,
    blends: Vec<f32>,
    powers: [Vec<f32>; 3],
}

impl AnyBudget {
    /// A budget at its start; `eta_lambda` is eta lambda of the schedule eta t^(-1/2), which OLOK's t_0 depends on.
    pub fn new(rule: BudgetRule, eta_lambda: f64) -> Self {
        let t0 = match rule {
            BudgetRule::Olok { exponent } => olok_t0(eta_lambda, exponent),
            _ => 0.0,
        };
        AnyBudget {
            rule,
            oldest_slot: 0,
            oldest_birth: 0,
            t0,
            mistakes: 0.0,
            damage: 0.0,
            norms2: Vec::new(),
            products: Vec::new(),
            row: Vec::new(),
            blends: Vec::new(),
            powers: Default::default(),
        }
    }

    /// The rule.
    pub fn rule(&self) -> &BudgetRule {
        &self.rule
    }

    fn next_in_window(&mut self, terms: usize) -> Room {
        let slot = self.oldest_slot;
        self.oldest_slot = (slot + 1) % terms;
        Room::Drop(slot)
    }

    /// r = argmin |alpha_r|²_J (k_rr - k_rt²/k_tt): the residual of projecting r onto the newest.
    fn transfer(&mut self, sight: &mut dyn Sight) -> Room {
        sight.norms2(&mut self.norms2);
        let own = sight.own_value();
        let mut best = (f64::INFINITY, 0);
        for slot in 0..self.norms2.len() {
            if sight.births()[slot] == 0 {
                continue;
            }
            let (k, kk) = (f64::from(sight.row()[slot]), sight.self_value(slot));
            let shared = if kk * own > 0.0 { k * k / (kk * own) } else { 0.0 };
            let residual = self.norms2[slot] * (1.0 - shared).max(0.0);
            if residual < best.0 {
                best = (residual, slot);
            }
        }
        // Nothing can be projected onto the zero function.
        if own > 0.0 { Room::Transfer(best.1) } else { Room::Drop(best.1) }
    }

    /// BSGD's merge: the lightest term, and the partner with the smallest weight degradation.
    fn merge(&mut self, sight: &mut dyn Sight) -> Room {
        sight.norms2(&mut self.norms2);
        let births = sight.births();
        let live = |slot: &usize| births[*slot] > 0;
        let lightest = |a: &usize, b: &usize| self.norms2[*a].total_cmp(&self.norms2[*b]);
        let from = (0..self.norms2.len()).filter(live).min_by(lightest).unwrap_or(0);
        sight.products(from, &mut self.products);
        sight.term_row(from, &mut self.row);
        let diagonal = sight.self_value(from);
        if diagonal <= 0.0 {
            return Room::Drop(from);
        }
        let into = self.partner(sight, from, diagonal);
        let pair = Pair {
            a: self.norms2[from] / diagonal,
            b: self.norms2[into] / diagonal,
            c: self.products[into],
            log_kappa: libm::log((f64::from(self.row[into]) / diagonal).clamp(f64::MIN_POSITIVE, 1.0)),
        };
        Room::Merge { from, into, h: pair.best_h() }
    }

    /// The partner with the smallest weight degradation, in single precision over whole arrays; the winner's h is then found
    /// properly.
    ///
    /// Where the projection is longest, h = w_i / (w_i + w_j) with w_i = (A u + C v) u, w_j = (C u + B v) v, u = kappa^((1-h)²)
    /// and v = kappa^(h²). From the h that holds for kappa near 1, a few such steps climb towards it; where the two terms are
    /// far apart, h = 0 is best. The better of the two loses at most 11 % more than the best h (parallel coefficients).
    fn partner(&mut self, sight: &mut dyn Sight, from: usize, diagonal: f64) -> usize {
        let (slots, a, backend) = (self.norms2.len(), self.norms2[from] / diagonal, sight.backend());
        let Self { norms2, products, row, blends, powers: [kappas, us, vs], .. } = self;
        let pair = |j: usize| (norms2[j] / diagonal, products[j]);
        kappas.clear();
        kappas.extend(row[..slots].iter().map(|k| (k / diagonal as f32).clamp(1e-30, 1.0)));
        blends.clear();
        // Coefficients that point apart gain nothing by moving.
        blends.extend((0..slots).map(pair).map(|(b, c)| if c > 0.0 { (c / (b + c)) as f32 } else { 0.0 }));
        for _ in 0..CLIMB {
            us.clone_from(kappas);
            backend.map_values(blends, us, KappaPower { far: 1.0, near: -1.0 });
            for (j, (h, ratio)) in blends.iter_mut().zip(us.iter()).enumerate().filter(|(_, (h, _))| **h > 0.0) {
                let ((b, c), ratio) = (pair(j), f64::from(*ratio));
                let (wi, wj) = ((a * ratio + c) * ratio, c * ratio + b);
                *h = (wi / (wi + wj)) as f32;
            }
        }
        us.clone_from(kappas);
        vs.clone_from(kappas);
        backend.map_values(blends, us, KappaPower { far: 1.0, near: 0.0 });
        backend.map_values(blends, vs, KappaPower { far: 0.0, near: 1.0 });
        let births = sight.births();
        let mut best = (f64::INFINITY, usize::from(from == 0));
        for j in (0..slots).filter(|&j| j != from && births[j] > 0) {
            let ((b, c), [kappa, u, v]) = (pair(j), [kappas[j], us[j], vs[j]].map(f64::from));
            let moved = a * (1.0 - u * u) + b * (1.0 - v * v) + 2.0 * c * (kappa - u * v);
            let lost = moved.min(a * (1.0 - kappa * kappa));
            if lost < best.0 {
                best = (lost, j);
            }
        }
        best.1
    }

    /// phi = max{phi in (0, 1]: phi² (sigma² - 2 sigma mu) + 2 phi sigma <= 15/32 M - Q}, in units of the step size. The analysis
    /// assumes k(x, x) <= 1: it runs on k/K with K = sup k(x, x), which divides mu by K (algorithms.md 7.3).
    fn forget(&mut self, sight: &mut dyn Sight) -> Room {
        let births = sight.births();
        let oldest = (0..births.len()).filter(|&s| births[s] > 0).min_by_key(|&s| births[s]).unwrap_or(0);
        let (alpha, f) = sight.value_at(oldest);
        let (sigma, mu) = (alpha.abs() / sight.eta(), alpha.signum() * f / (sight.eta() * sight.supremum()));
        let (square, linear) = (sigma * sigma - 2.0 * sigma * mu, 2.0 * sigma);
        let allowed = 15.0 / 32.0 * self.mistakes - self.damage;
        let phi = largest_phi(square, linear, allowed);
        self.damage += sigma * phi * sigma * phi + 2.0 * sigma * phi - 2.0 * sigma * phi * phi * mu;
        Room::Forget { slot: oldest, phi }
    }

    fn drop_older_than(&mut self, sight: &dyn Sight, age: u64, out: &mut Vec<usize>) {
        let last = sight.t().saturating_sub(age);
        if self.oldest_birth > last {
            return;
        }
        let births = sight.births();
        out.extend((0..births.len()).filter(|&s| births[s] > 0 && births[s] <= last));
        self.oldest_birth = births.iter().copied().filter(|&b| b > last).min().unwrap_or(sight.t() + 1);
    }

    fn drop_lighter_than(&mut self, sight: &mut dyn Sight, tolerance: f64, out: &mut Vec<usize>) {
        sight.norms2(&mut self.norms2);
        let births = sight.births();
        out.extend((0..births.len()).filter(|&s| births[s] > 0 && self.norms2[s] < tolerance * tolerance));
    }

    fn drop_within(&mut self, sight: &mut dyn Sight, error: f64, out: &mut Vec<usize>) {
        sight.largest_losses(&mut self.norms2);
        let births = sight.births();
        out.extend((0..births.len()).filter(|&s| births[s] > 0));
        out.sort_by(|&a, &b| self.norms2[a].total_cmp(&self.norms2[b]).then(a.cmp(&b)));
        out.truncate(sight.affordable(out, error));
    }

    fn olok_age(&self, t: u64, exponent: f64) -> u64 {
        libm::ceil(libm::pow(t as f64, 0.5 + exponent).max(self.t0)).min(9e18) as u64
    }
}

impl Budget for AnyBudget {
    fn room(&mut self, sight: &mut dyn Sight) -> Room {
        self.mistakes += 1.0;
        self.oldest_birth = self.oldest_birth.min(sight.t());
        match self.rule.capacity() {
            Some(terms) if sight.terms() >= terms => match self.rule {
                BudgetRule::Transfer { .. } => self.transfer(sight),
                BudgetRule::Merge { .. } => self.merge(sight),
                BudgetRule::Forgetron { .. } => self.forget(sight),
                _ => self.next_in_window(terms),
            },
            _ => Room::Fresh,
        }
    }

    fn bytes(&self) -> usize {
        let doubles = self.norms2.capacity() + self.products.capacity();
        let singles = self.row.capacity() + self.blends.capacity() + self.powers.iter().map(Vec::capacity).sum::<usize>();
        doubles * size_of::<f64>() + singles * size_of::<f32>()
    }

    fn looks(&self, t: u64) -> bool {
        match self.rule {
            BudgetRule::Age { .. } | BudgetRule::Olok { .. } => true,
            BudgetRule::Weight { .. } | BudgetRule::Certified { .. } => t.is_multiple_of(SWEEP),
            _ => false,
        }
    }

    fn expired(&mut self, sight: &mut dyn Sight, out: &mut Vec<usize>) {
        match self.rule {
            BudgetRule::Age { steps } => self.drop_older_than(sight, steps, out),
            BudgetRule::Olok { exponent } => {
                let age = self.olok_age(sight.t(), exponent);
                self.drop_older_than(sight, age, out);
            }
            BudgetRule::Weight { tolerance } => self.drop_lighter_than(sight, tolerance, out),
            BudgetRule::Certified { error } => self.drop_within(sight, error, out),
            _ => {}
        }
    }

    fn limit(&self) -> f64 {
        if let BudgetRule::Certified { error } = self.rule { error } else { f64::INFINITY }
    }

    fn settles(&self) -> bool {
        self.rule.settles()
    }

    fn cleared(&mut self) {
        self.oldest_slot = 0;
    }
}

fn largest_phi(square: f64, linear: f64, allowed: f64) -> f64 {
    if square + linear <= allowed {
        return 1.0;
    }
    let root = (linear * linear + 4.0 * square * allowed).max(0.0).sqrt();
    let phi = if square == 0.0 { allowed / linear } else { (root - linear) / (2.0 * square) };
    phi.clamp(f64::MIN_POSITIVE, 1.0)
}

/// kappa^(far (1-h)² + near h²).
#[derive(Clone, Copy)]
struct KappaPower {
    far: f32,
    near: f32,
}

impl Elementwise for KappaPower {
    #[inline(always)]
    fn at(self, kappa: f32, h: f32) -> f32 {
        let exponent = self.far * (1.0 - h) * (1.0 - h) + self.near * h * h;
        exp2(exponent * log2(kappa))
    }
}

/// Two terms on a line under a Gaussian: A = |a_i|², B = |a_j|², C = a_i^T a_j, kappa = k(x_i, x_j).
struct Pair {
    a: f64,
    b: f64,
    c: f64,
    log_kappa: f64,
}

impl Pair {
    /// |projection onto h x_i + (1 - h) x_j|² = A kappa^(2(1-h)²) + B kappa^(2h²) + 2C kappa^((1-h)² + h²).
    fn kept(&self, h: f64) -> f64 {
        let (far, near) = ((1.0 - h) * (1.0 - h), h * h);
        let power = |e: f64| libm::exp(e * self.log_kappa);
        self.a * power(2.0 * far) + self.b * power(2.0 * near) + 2.0 * self.c * power(far + near)
    }

    /// The best of a grid, then golden section around it.
    fn best_h(&self) -> f64 {
        const GRID: usize = 10;
        let at = |i: usize| i as f64 / GRID as f64;
        let better = |a: &usize, b: &usize| self.kept(at(*a)).total_cmp(&self.kept(at(*b)));
        let best = (0..=GRID).max_by(better).unwrap_or(0);
        let (mut low, mut high) = (at(best.saturating_sub(1)), at((best + 1).min(GRID)));
        const GOLDEN: f64 = 0.618_033_988_749_894_9;
        for _ in 0..24 {
            let (left, right) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
            if self.kept(left) < self.kept(right) { low = left } else { high = right }
        }
        0.5 * (low + high)
    }
}

/// OLOK's t_0: the least T such that for all t >= T: eta lambda < sqrt t, exp(-eta lambda t^e) <= eta lambda t^(-1/2),
/// t^(1/2 + e) <= 0.75 t (E14: "for all", not the first t that satisfies them).
pub fn olok_t0(eta_lambda: f64, exponent: f64) -> f64 {
    let by_step = libm::floor(eta_lambda * eta_lambda) + 1.0;
    let by_growth = libm::ceil(libm::pow(4.0 / 3.0, 1.0 / (0.5 - exponent)));
    // The middle condition is slack(t) >= 0; slack falls until `turn` and rises after.
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
