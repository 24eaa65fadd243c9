//! Axes of charts: positions of values, and ticks.

use super::text;

/// The unit of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unit {
    /// Numbers.
    Plain,
    /// Shares, shown as percentages.
    Percent,
    /// Whole numbers.
    Count,
}

impl Unit {
    /// A value as text.
    pub fn show(self, value: f64) -> String {
        match self {
            Unit::Plain => text::figure(value),
            Unit::Percent => text::percent(value),
            Unit::Count => text::count(value.round()),
        }
    }
}

/// A linear or logarithmic axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// Its beginning.
    pub low: f64,
    /// Its end.
    pub high: f64,
    /// Whether the axis is logarithmic.
    pub log: bool,
    /// The unit of its values.
    pub unit: Unit,
}

/// A position on an axis, from 0 to 1, and its label.
pub type Tick = (f64, String);

/// An axis is logarithmic if the ratio of the largest to the smallest value exceeds this.
const LOG_RATIO: f64 = 30.0;

impl Axis {
    /// A linear axis over exactly this range.
    pub fn exact(low: f64, high: f64, unit: Unit) -> Self {
        let high = if high > low { high } else { low + low.abs().max(1.0) };
        Axis { low, high, log: false, unit }
    }

    /// A linear axis that ends at a tick. It begins at 0 if no value is negative.
    pub fn straight(values: impl Iterator<Item = f64>, unit: Unit) -> Self {
        let (low, high) = range(values);
        let (low, high) = (low.min(0.0), high.max(0.0));
        let high = if unit == Unit::Percent { high.min(1.0) } else { high };
        let step = nice_step((high - low).max(f64::MIN_POSITIVE) / 4.0);
        let axis = Axis::exact((low / step).floor() * step, (high / step).ceil() * step, unit);
        Axis { high: axis.high.min(if unit == Unit::Percent { 1.0 } else { f64::MAX }), ..axis }
    }

    /// A logarithmic axis if all values are positive and their ratio exceeds `LOG_RATIO`; otherwise a linear one.
    pub fn fitting(values: impl Iterator<Item = f64> + Clone, unit: Unit) -> Self {
        let (low, high) = range(values.clone());
        if !(low > 0.0 && high / low > LOG_RATIO) {
            return Axis::straight(values, unit);
        }
        Axis::logarithmic(values, unit)
    }

    /// A logarithmic axis over the positive values; other values lie below it.
    pub fn logarithmic(values: impl Iterator<Item = f64>, unit: Unit) -> Self {
        let (low, high) = range(values.filter(|v| *v > 0.0));
        let (low, high) = if low > 0.0 { (low, high) } else { (0.1, 1.0) };
        Axis { low: low / 1.1, high: high * 1.1, log: true, unit }
    }

    /// The position of a value: 0 at the beginning of the axis, 1 at its end.
    pub fn place(&self, value: f64) -> f64 {
        let map = |v: f64| if self.log { v.max(f64::MIN_POSITIVE).ln() } else { v };
        (map(value) - map(self.low)) / (map(self.high) - map(self.low))
    }

    /// At most about `most` ticks.
    pub fn ticks(&self, most: usize) -> Vec<Tick> {
        if self.log { self.log_ticks(most) } else { self.straight_ticks(most) }
    }

    fn straight_ticks(&self, most: usize) -> Vec<Tick> {
        let mut step = nice_step((self.high - self.low) / most as f64);
        if self.unit == Unit::Count {
            step = step.max(1.0);
        }
        let first = (self.low / step - 1e-9).ceil() as i64;
        let last = (self.high / step + 1e-9).floor() as i64;
        (first..=last).map(|i| (self.place(i as f64 * step), self.label(i as f64 * step, step))).collect()
    }

    /// The label of a tick. All ticks of an axis have the same number of decimals.
    fn label(&self, value: f64, step: f64) -> String {
        let scale = if self.unit == Unit::Percent { 100.0 } else { 1.0 };
        let digits = (-(step * scale).log10().floor()).max(0.0);
        let text = match () {
            () if value == 0.0 => "0".into(),
            () if digits > 5.0 || value.abs() >= 1e9 => text::figure(value * scale),
            () if self.unit == Unit::Count && self.high >= 2e6 => format!("{}M", text::count(value / 1e6)),
            () if step * scale >= 1.0 => text::count((value * scale).round()),
            () => format!("{:.*}", digits as usize, value * scale),
        };
        let text = text.replace('-', "−");
        if self.unit == Unit::Percent { text + "\u{a0}%" } else { text }
    }

    /// Ticks at powers of ten; if there are few, also at 2 and 5 times powers of ten.
    fn log_ticks(&self, most: usize) -> Vec<Tick> {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let every = ((last - first) as usize).div_ceil(most).max(1);
        let factors: &[f64] = if last - first <= 3 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let decades = (first..=last).filter(|d| d.rem_euclid(every as i32) == 0);
        let ticks = decades.flat_map(|d| factors.iter().map(move |f| (d, *f)));
        let inside = |value: f64| (self.low..=self.high).contains(&value);
        let value = |(d, factor): (i32, f64)| factor * 10f64.powi(d);
        ticks.filter(|t| inside(value(*t))).map(|t| (self.place(value(t)), self.log_label(t))).collect()
    }

    fn log_label(&self, (decade, factor): (i32, f64)) -> String {
        let value = factor * 10f64.powi(decade);
        match self.unit {
            Unit::Percent => text::percent(value),
            _ if factor == 1.0 => text::power_of_ten(decade),
            _ if (-4..0).contains(&decade) => format!("{value:.*}", -decade as usize),
            _ if (0..=5).contains(&decade) => text::count(value),
            _ => format!("{factor}·{}", text::power_of_ten(decade)),
        }
    }
}

/// 1, 2 or 5 times a power of ten, at least `step`.
fn nice_step(step: f64) -> f64 {
    let decade = 10f64.powf(step.max(1e-300).log10().floor());
    [1.0, 2.0, 5.0, 10.0].iter().map(|f| f * decade).find(|s| *s >= step * (1.0 - 1e-9)).unwrap_or(10.0 * decade)
}

/// The smallest and the largest finite value.
pub fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values.filter(|v| v.is_finite()).fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
    if low <= high { (low, high) } else { (0.0, 1.0) }
}
