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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_no_more_digits_than_they_need() {
        let written = [1e-5, 1e-5 / 3.0, 3e-4, 0.001, 0.0078125, 0.1, 10.0, 0.0].map(typed).join(" ");
        assert_eq!(written, "1e-5 3.33e-6 3e-4 0.001 0.0078125 0.1 10 0");
    }

    #[test]
    fn durations_have_a_unit() {
        let written = [0.0123, 0.456, 12.3, 1200.0].map(seconds).join(", ");
        assert_eq!(written, "12\u{a0}ms, 0.46\u{a0}s, 12\u{a0}s, 20\u{a0}min");
    }
}
