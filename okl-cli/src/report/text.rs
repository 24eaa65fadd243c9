//! Formats text and numbers for a report. All of it is plain text: `maud` escapes it when it is written.

use crate::metrics;

/// Replaces control characters, and those that change the direction of text, by a visible character.
pub fn visible(text: &str) -> String {
    let hidden = |c: char| {
        let turns = ('\u{202a}'..='\u{202e}').contains(&c) || ('\u{2066}'..='\u{2069}').contains(&c);
        turns || (c.is_control() && c != '\n' && c != '\t')
    };
    text.replace(hidden, "\u{fffd}")
}

/// A number with four significant digits; an exponent is written as × 10ⁿ.
pub fn figure(value: f64) -> String {
    typeset(&metrics::figure(value))
}

/// An upper bound, rounded up; see [`metrics::at_most`].
pub fn at_most(value: f64) -> String {
    typeset(&metrics::at_most(value))
}

fn typeset(text: &str) -> String {
    match text.split_once('e') {
        // Of NaN and infinity no text has an e.
        Some((mantissa, exponent)) => {
            let mantissa = if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
            minus(&format!("{mantissa}\u{a0}×\u{a0}10{}", superscript(exponent)))
        }
        None => minus(text),
    }
}

/// A percentage.
pub fn percent(share: f64) -> String {
    minus(&metrics::percent(share).replace(' ', "\u{a0}"))
}

/// A percentage with two decimals, for a column of a table.
pub fn hundredths(share: f64) -> String {
    minus(&format!("{:.2}\u{a0}%", 100.0 * share))
}

/// A count.
pub fn count(value: f64) -> String {
    metrics::count(value)
}

/// Examples per second, rounded to the accuracy of the timing.
pub fn speed(per_second: f64) -> String {
    let unit = 10f64.powf((per_second.max(1.0).log10().floor() - 2.0).max(0.0));
    count((per_second / unit).round() * unit)
}

/// A value as text, or a text that there is none.
pub fn or_none(value: Option<f64>, show: impl Fn(f64) -> String) -> String {
    value.map_or("none".into(), show)
}

/// 10 to a power, as on a logarithmic axis.
pub fn power_of_ten(exponent: i32) -> String {
    match exponent {
        -3..=-1 => format!("{:.*}", exponent.unsigned_abs() as usize, 10f64.powi(exponent)),
        0..=5 => count(10f64.powi(exponent)),
        _ => format!("10{}", superscript(&exponent.to_string())),
    }
}

fn superscript(exponent: &str) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    exponent.chars().map(|c| c.to_digit(10).map_or('⁻', |d| DIGITS[d as usize])).collect()
}

/// Replaces the hyphen by a minus sign, which is as wide as a digit.
fn minus(text: &str) -> String {
    text.replace('-', "−")
}
