//! A histogram of any numbers in fixed memory: bins of constant relative width, found from the bits of the number.
//!
//! The top bits of a double are its exponent and the head of its mantissa, and for positive numbers they grow with it.
//! So with 7 bits of mantissa a bin [a, b) has b/a <= 1 + 1/128, whatever the scale of the data; 0 has a bin of its own.
//! Beyond 2^-40 and 2^40 (about 1e-12 and 1e12) numbers fall into the last bin on their side.

/// Bits of the mantissa that a bin sees.
const BITS: u32 = 7;
/// Binary orders of magnitude on each side of 1.
const ORDERS: i64 = 40;
/// Bins for numbers of one sign.
const SIDE: i64 = (2 * ORDERS) << BITS;
/// The top bits of the smallest number that has a bin of its own.
const FIRST: i64 = (1023 - ORDERS) << BITS;

/// Total weights per bin of values.
#[derive(Clone, Debug)]
pub struct Histogram {
    bins: Vec<f64>,
    total: f64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { bins: vec![0.0; 2 * SIDE as usize + 1], total: 0.0 }
    }
}

fn bin(value: f64) -> usize {
    let top = (value.abs().to_bits() >> (52 - BITS)) as i64 - FIRST;
    let place = top.clamp(0, SIDE - 1) + 1;
    // NaN compares as false with both and lands at 0.
    let signed = if value > 0.0 {
        place
    } else if value < 0.0 {
        -place
    } else {
        0
    };
    (signed + SIDE) as usize
}

/// The interval of a bin.
fn edges(bin: usize) -> (f64, f64) {
    let edge = |place: i64| f64::from_bits(((place + FIRST) as u64) << (52 - BITS));
    match bin as i64 - SIDE {
        0 => (0.0, 0.0),
        place if place > 0 => (edge(place - 1), edge(place)),
        place => (-edge(-place), -edge(-place - 1)),
    }
}

impl Histogram {
    /// Adds one number.
    pub fn add(&mut self, value: f64, weight: f64) {
        self.bins[bin(value)] += weight;
        self.total += weight;
    }

    /// The `q`-quantile by weight, exact up to the width of a bin.
    pub fn quantile(&self, q: f64) -> f64 {
        let mut below = 0.0;
        let passes = |weight: &f64| {
            below += weight;
            below > 0.0 && below >= q * self.total
        };
        let at = self.bins.iter().position(passes).unwrap_or(SIDE as usize);
        let (low, high) = edges(at);
        0.5 * (low + high)
    }

    /// The weights in `count` bins of equal width over [low, high], and the weight outside. A bin that crosses an edge is divided
    /// in proportion.
    pub fn linear(&self, low: f64, high: f64, count: usize) -> (Vec<f64>, f64) {
        let (mut out, mut inside) = (vec![0.0; count], 0.0);
        let width = (high - low) / count as f64;
        for (at, &weight) in self.bins.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
            let (a, b) = edges(at);
            let place = |v: f64| ((v - low) / width).clamp(0.0, count as f64);
            if a == b {
                // The bin of 0 has no width.
                if (low..high).contains(&a) {
                    out[(place(a) as usize).min(count - 1)] += weight;
                    inside += weight;
                }
                continue;
            }
            for (i, bar) in out.iter_mut().enumerate().take(place(b).ceil() as usize).skip(place(a) as usize) {
                let overlap = (place(b).min(i as f64 + 1.0) - place(a).max(i as f64)).max(0.0) * width / (b - a);
                *bar += overlap * weight;
                inside += overlap * weight;
            }
        }
        (out, (self.total - inside).max(0.0))
    }
}

/// The area under the ROC curve of `positive` scores above `negative` ones, and how far from it the exact one can be.
///
/// A pair in different bins is ordered for certain; pairs that share a bin count half. So the exact area (ties half)
/// differs by at most half the share of pairs that share a bin: an error that is computed, not assumed.
pub fn auc(negative: &Histogram, positive: &Histogram) -> Option<(f64, f64)> {
    let (mut ordered, mut shared, mut below) = (0.0, 0.0, 0.0);
    for (n, p) in negative.bins.iter().zip(&positive.bins) {
        ordered += p * below;
        shared += p * n;
        below += n;
    }
    // Pairs of exact zeros are true ties, so they add no uncertainty.
    let ties = negative.bins[SIDE as usize] * positive.bins[SIDE as usize];
    let pairs = negative.total * positive.total;
    (pairs > 0.0).then(|| ((ordered + 0.5 * shared) / pairs, 0.5 * (shared - ties).max(0.0) / pairs))
}
