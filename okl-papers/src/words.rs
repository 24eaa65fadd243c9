//! How pages write settings and durations.

/// A setting as it is typed: 1e-5 rather than 0.00001, and three digits of what is smaller than a thousandth.
pub fn typed(value: f64) -> String {
    if value == 0.0 || value.abs() >= 1e-3 {
        return format!("{}", (value * 1e9).round() / 1e9);
    }
    let written = format!("{value:.2e}");
    let (digits, exponent) = written.split_once('e').unwrap_or((&written, "0"));
    format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'))
}

/// A duration in the unit that suits it.
pub fn seconds(value: f64) -> String {
    match value {
        v if v < 0.1 => format!("{:.0}\u{a0}ms", 1000.0 * v),
        v if v < 10.0 => format!("{v:.2}\u{a0}s"),
        v if v < 600.0 => format!("{v:.0}\u{a0}s"),
        v => format!("{:.0}\u{a0}min", v / 60.0),
    }
}
