//! A histogram of any numbers in fixed memory: bins of constant relative width, found from the bits of the number.
//!
//! The top bits of a double are its exponent and the head of its mantissa, and for positive numbers they grow with it.
//! So with 7 bits of mantissa a bin [a, b) has b/a <= 1 + 1/128, whatever the scale of the data; 0 has a bin of its own.
//! All finite doubles have a bin (those below 1e-305 or so a wider one). Bins are kept in pages, and a page is there from its first number on.

use std::cmp::Ordering;

/// Bits of the mantissa that a bin sees.
const BITS: u32 = 7;
/// Bins for finite numbers of one sign: those of each of the 2047 exponents.
const SIDE: i64 = 2047 << BITS;
/// Bins of a page: about one binary order of magnitude, 1 kB.
const PAGE: usize = 1 << BITS;
/// Pages of all bins.
const PAGES: usize = (2 * SIDE as usize + 1).div_ceil(PAGE);
/// A page without numbers.
const EMPTY: [f64; PAGE] = [0.0; PAGE];

/// Total weights per bin of values.
#[derive(Clone, Debug)]
pub struct Histogram {
    pages: Vec<Option<Box<[f64; PAGE]>>>,
    total: f64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { pages: vec![None; PAGES], total: 0.0 }
    }
}

fn bin(value: f64) -> usize {
    let top = (value.abs().to_bits() >> (52 - BITS)) as i64;
    let place = top.min(SIDE - 1) + 1;
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

/// The upper edge of this many bins of one sign.
fn edge(bins: i64) -> f64 {
    f64::from_bits((bins as u64) << (52 - BITS)).min(f64::MAX)
}

/// The interval of a bin.
fn edges(bin: usize) -> (f64, f64) {
    match bin as i64 - SIDE {
        0 => (0.0, 0.0),
        place if place > 0 => (edge(place - 1), edge(place)),
        place => (-edge(-place), -edge(-place - 1)),
    }
}

impl Histogram {
    /// Adds one number.
    pub fn add(&mut self, value: f64, weight: f64) {
        let bin = bin(value);
        self.pages[bin / PAGE].get_or_insert_with(|| Box::new(EMPTY))[bin % PAGE] += weight;
        self.total += weight;
    }

    /// The bins of some pages in ascending order, with their weights. Pages without numbers are left out.
    fn bins(&self, pages: std::ops::Range<usize>) -> impl Iterator<Item = (usize, f64)> {
        let there = pages.filter_map(|page| Some((page, self.pages[page].as_ref()?)));
        there.flat_map(|(page, bins)| (page * PAGE..).zip(bins.iter().copied()))
    }

    /// The first bin whose weight passes; the bin of 0 if there is none.
    fn first(&self, mut passes: impl FnMut(f64) -> bool) -> usize {
        self.bins(0..PAGES).find(|(_, weight)| passes(*weight)).map_or(SIDE as usize, |(bin, _)| bin)
    }

    /// The `q`-quantile by weight, exact up to the width of a bin.
    pub fn quantile(&self, q: f64) -> f64 {
        let mut below = 0.0;
        let (low, high) = edges(self.first(|weight| {
            below += weight;
            below > 0.0 && below >= q * self.total
        }));
        0.5 * (low + high)
    }

    /// The total weight.
    pub fn total(&self) -> f64 {
        self.total
    }

    /// The weights of the numbers below 0, equal to 0 and above 0.
    pub fn signs(&self) -> (f64, f64, f64) {
        let of = |wanted: Ordering| {
            self.bins(0..PAGES).filter(|(bin, _)| bin.cmp(&(SIDE as usize)) == wanted).fold(0.0, |sum, (_, weight)| sum + weight)
        };
        (of(Ordering::Less), of(Ordering::Equal), of(Ordering::Greater))
    }

    /// The median: the mean of the two middle numbers, each exact up to the width of a bin, if half of the weight lies up to the first one.
    pub fn median(&self) -> f64 {
        let next = |above: f64| {
            let mut below = 0.0;
            self.first(|weight| {
                below += weight;
                below > above
            })
        };
        let (low, high) = edges(next(0.5 * self.total));
        0.5 * (self.quantile(0.5) + 0.5 * (low + high))
    }

    /// The smallest upper end of a bin that is above the distances of these quantiles from 0; 0 if both are 0.
    pub fn reach(&self, quantiles: [f64; 2]) -> f64 {
        let [a, b] = quantiles.map(|q| {
            let at = bin(self.quantile(q)) as i64 - SIDE;
            if at == 0 { 0.0 } else { edge(at.abs()) }
        });
        a.max(b)
    }

    /// The edges of `count` bars over [-reach, reach] (`count` is odd) and the weights in the bars. Edges are moved to the nearest edge of a bin, at
    /// most 0.4 % of their distance from 0, so that every bin lies in one bar: the weights are exact.
    pub fn bars(&self, reach: f64, count: usize) -> (Vec<f64>, Vec<f64>) {
        let half = count / 2;
        // Number of bins of one sign up to each edge.
        let place = |bar: usize| nearest(reach * (2 * bar + 1) as f64 / count as f64);
        let places: Vec<i64> = (0..=half).map(place).collect();
        let edges = places.iter().rev().map(|p| -edge(*p)).chain(places.iter().map(|p| edge(*p))).collect();
        let ends: Vec<i64> = places.iter().rev().map(|p| -p).chain(places.iter().map(|p| p + 1)).collect();
        let weight = |ends: &[i64]| {
            let [from, to] = [ends[0], ends[1]].map(|end| (end + SIDE) as usize);
            let inside = self.bins(from / PAGE..to.div_ceil(PAGE)).filter(|(bin, _)| (from..to).contains(bin));
            inside.fold(0.0, |sum, (_, weight)| sum + weight)
        };
        (edges, ends.windows(2).map(weight).collect())
    }
}

/// The number of bins of one sign whose upper edge is nearest to a positive number.
fn nearest(value: f64) -> i64 {
    let at = bin(value) as i64 - SIDE;
    let (low, high) = (edge(at - 1), edge(at));
    if value - low <= high - value { at - 1 } else { at }
}

/// The area under the ROC curve of `positive` scores above `negative` ones, and how far from it the exact one can be.
///
/// A pair in different bins is ordered for certain; pairs that share a bin count half. So the exact area (ties half)
/// differs by at most half the share of pairs that share a bin: an error that is computed, not assumed.
pub fn auc(negative: &Histogram, positive: &Histogram) -> Option<(f64, f64)> {
    let (mut ordered, mut shared, mut below) = (0.0, 0.0, 0.0);
    let used = negative.pages.iter().zip(&positive.pages).filter(|(n, p)| n.is_some() || p.is_some());
    for (negative, positive) in used.map(|(n, p)| (n.as_deref().unwrap_or(&EMPTY), p.as_deref().unwrap_or(&EMPTY))) {
        for (n, p) in negative.iter().zip(positive) {
            ordered += p * below;
            shared += p * n;
            below += n;
        }
    }
    // Pairs of exact zeros are true ties, so they add no uncertainty.
    let ties = negative.signs().1 * positive.signs().1;
    let pairs = negative.total * positive.total;
    (pairs > 0.0).then(|| ((ordered + 0.5 * shared) / pairs, 0.5 * (shared - ties).max(0.0) / pairs))
}
