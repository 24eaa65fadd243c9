//! Formats text and numbers for HTML.

use crate::metrics;

/// Escapes HTML; control characters are replaced by visible ones.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c) || ('\u{2066}'..='\u{2069}').contains(&c) => {
                out.push('\u{fffd}')
            }
            c => out.push(c),
        }
    }
    out
}

/// Escapes HTML and cuts the text to `most` characters.
pub fn short(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return escape(text);
    }
    escape(&text.chars().take(most - 1).collect::<String>()) + "…"
}

/// A number with four significant digits; an exponent is written as × 10ⁿ.
pub fn figure(value: f64) -> String {
    let text = metrics::figure(value);
    match text.split_once('e') {
        Some((mantissa, exponent)) if value.is_finite() => {
            let mantissa = if mantissa.contains('.') { mantissa.trim_end_matches('0').trim_end_matches('.') } else { mantissa };
            minus(&format!("{mantissa}\u{a0}×\u{a0}10{}", superscript(exponent)))
        }
        _ => minus(&text),
    }
}

/// A percentage.
pub fn percent(share: f64) -> String {
    minus(&metrics::percent(share).replace(' ', "\u{a0}"))
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
