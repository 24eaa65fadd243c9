//! Weighted means of a stream: over all values, and over the last 1,000.
//!
//! The command line and the server measure the progressive error with them, so that both report the same number for the same rows.

use std::collections::VecDeque;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The number of rows in a window.
pub const WINDOW: usize = 1000;

/// A weighted mean.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mean {
    sum: f64,
    weight: f64,
}

impl Mean {
    /// The mean of values with this sum, each multiplied by its weight, and this total weight.
    pub fn of(sum: f64, weight: f64) -> Mean {
        Mean { sum, weight }
    }

    /// Adds one value.
    pub fn add(&mut self, value: f64, weight: f64) {
        self.add_product(value * weight, weight);
    }

    /// Adds one value that is already multiplied by its weight.
    pub fn add_product(&mut self, product: f64, weight: f64) {
        self.sum += product;
        self.weight += weight;
    }

    /// The mean; none if there is no value or the sum has overflowed.
    pub fn value(&self) -> Option<f64> {
        (self.weight > 0.0).then(|| self.sum / self.weight).filter(|mean| mean.is_finite())
    }

    /// This sum as a share of `all`, which contains it; none if `all` is 0.
    pub fn share_of(&self, all: &Mean) -> Option<f64> {
        (all.sum > 0.0).then(|| self.sum / all.sum).filter(|share| share.is_finite())
    }

    /// The total weight.
    pub fn weight(&self) -> f64 {
        self.weight
    }
}

/// The weighted mean and variance of a stream, by Welford's rule: the sum of squares is that around the mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    weight: f64,
    mean: f64,
    squares: f64,
}

impl Spread {
    /// Adds one value.
    pub fn add(&mut self, value: f64, weight: f64) {
        self.weight += weight;
        let away = value - self.mean;
        self.mean += weight / self.weight * away;
        self.squares += weight * away * (value - self.mean);
    }

    /// The mean; none if there is no value.
    pub fn mean(&self) -> Option<f64> {
        (self.weight > 0.0).then_some(self.mean)
    }

    /// The standard deviation; none if there is no value.
    pub fn deviation(&self) -> Option<f64> {
        (self.weight > 0.0).then(|| (self.squares / self.weight).sqrt())
    }

    /// The share of the variance that predictions with this mean squared error explain; none if all values are equal.
    pub fn explained(&self, squared_error: f64) -> Option<f64> {
        (self.squares > 0.0).then(|| 1.0 - squared_error * self.weight / self.squares)
    }
}

/// As three numbers. JSON has no infinite numbers: such a value is stored as null.
impl Serialize for Spread {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        (self.weight, self.mean, self.squares).serialize(to)
    }
}

impl<'de> Deserialize<'de> for Spread {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let [weight, mean, squares] = <[Option<f64>; 3]>::deserialize(from)?.map(|value| value.unwrap_or(f64::NAN));
        Ok(Spread { weight, mean, squares })
    }
}

/// The last [`WINDOW`] values and their weights, the oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Window {
    values: VecDeque<(f64, f64)>,
}

impl Window {
    /// Adds one value and drops the oldest one if the window is full.
    pub fn add(&mut self, value: f64, weight: f64) {
        if self.values.len() == WINDOW {
            self.values.pop_front();
        }
        self.values.push_back((value, weight));
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// The mean of the values in the window, summed again each time: a running sum would accumulate rounding errors.
    pub fn value(&self) -> Option<f64> {
        let mut mean = Mean::default();
        self.values.iter().for_each(|&(value, weight)| mean.add(value, weight));
        mean.value()
    }

    /// The mean of the last `count` values; of all, if there are fewer.
    pub fn of_last(&self, count: usize) -> Option<f64> {
        let mut mean = Mean::default();
        self.values.iter().skip(self.len().saturating_sub(count)).for_each(|&(value, weight)| mean.add(value, weight));
        mean.value()
    }

    /// The standard error of [`Window::value`] as the mean of a random sample: sqrt(n/(n-1) sum w²(v - mean)²) / sum w.
    pub fn standard_error(&self) -> Option<f64> {
        let (mean, n) = (self.value()?, self.values.len() as f64);
        let total: f64 = self.values.iter().map(|(_, weight)| weight).sum();
        let squares: f64 = self.values.iter().map(|(value, weight)| (weight * (value - mean)).powi(2)).sum();
        (n > 1.0).then(|| (n / (n - 1.0) * squares).sqrt() / total)
    }
}

/// A value with its weight. A value alone has the weight 1. JSON has no infinite numbers: such a value is stored as null.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stored {
    Weighted(Option<f64>, f64),
    Alone(Option<f64>),
}

/// As a list of pairs, the oldest first.
impl Serialize for Window {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(&self.values)
    }
}

impl<'de> Deserialize<'de> for Window {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut window = Window::default();
        for stored in Vec::<Stored>::deserialize(from)? {
            let (value, weight) = match stored {
                Stored::Weighted(value, weight) => (value, weight),
                Stored::Alone(value) => (value, 1.0),
            };
            window.add(value.unwrap_or(f64::NAN), weight);
        }
        Ok(window)
    }
}
