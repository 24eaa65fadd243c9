//! Parses numbers: a fast exact path for the usual numbers in tables, the standard library for the others.
//!
//! A decimal with a mantissa of at most 2^53 and a power of ten of at most 22 is one exact multiplication or division
//! (Clinger 1990); everything else goes through `str::parse`. Numbers of up to eight bytes, which is most of them, are read
//! as one word without a branch per digit. All three are correctly rounded, so they agree to the last bit.

use super::error::{self, Parsed};

/// The value of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Missing,
    Number(f64),
    Int(i128),
    Bool(bool),
    Text(&'a [u8]),
}

const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21,
    1e22,
];

const ONES: u64 = 0x0101_0101_0101_0101;

/// The position of the first `byte` in the word, from 0; 8 if there is none.
#[inline(always)]
fn find(word: u64, byte: u8) -> u32 {
    let zero = word ^ (ONES * u64::from(byte));
    // The lowest zero byte is always found. Bytes above it may be wrong because of carries, but are not used.
    (zero.wrapping_sub(ONES) & !zero & (ONES << 7)).trailing_zeros() / 8
}

/// The number that ends at a delimiter within the first eight bytes, if it is plain: a sign, digits, a point.
/// None means that there may be another number, which [`scan`] reads.
#[inline(always)]
pub(super) fn short(bytes: &[u8], delimiter: u8) -> Option<(f64, usize)> {
    let word = u64::from_le_bytes(*bytes.first_chunk()?);
    let end = find(word, delimiter);
    let negative = u32::from(bytes[0] == b'-');
    let (word, length) = (word >> (8 * negative), end.wrapping_sub(negative));
    if end == 8 || length == 0 {
        return None;
    }
    // Removes the decimal point and moves the digits after it down by one byte.
    let point = find(word, b'.').min(length);
    let below = (1u64 << (8 * point)) - 1;
    let fraction = length - point - u32::from(point < length);
    let (word, digits) = if point < length { (word & below | word >> 8 & !below, length - 1) } else { (word, length) };
    if digits == 0 {
        return None;
    }
    // Moves the digits to the high bytes and fills the low bytes with zeros, so that there are eight digits.
    let up = 8 * (8 - digits);
    let values = (word << up) ^ ((ONES * u64::from(b'0')) << up);
    if (values | values.wrapping_add(ONES * 0x76)) & (ONES << 7) != 0 {
        return None;
    }
    let size = f64::from(eight_digits(values)) / POWERS[fraction as usize];
    Some((if negative == 1 { -size } else { size }, end as usize))
}

/// The value of eight digits, the first in the lowest byte. Combines digits to pairs, pairs to fours, fours to the number.
#[inline(always)]
fn eight_digits(values: u64) -> u32 {
    const EVERY_FOURTH: u64 = 0x0000_00ff_0000_00ff;
    let pairs = values.wrapping_mul(10).wrapping_add(values >> 8);
    let upper = (pairs & EVERY_FOURTH).wrapping_mul(100 + (1_000_000 << 32));
    let lower = (pairs >> 16 & EVERY_FOURTH).wrapping_mul(1 + (10_000 << 32));
    (upper.wrapping_add(lower) >> 32) as u32
}

/// The number at the start of `bytes` and how many bytes it takes.
#[inline]
pub(super) fn scan(bytes: &[u8]) -> Option<(f64, usize)> {
    let negative = bytes.first() == Some(&b'-');
    let start = usize::from(negative || bytes.first() == Some(&b'+'));
    let (mut mantissa, mut at) = digits(bytes, start, 0);
    let mut count = at - start;
    let mut power = 0i32;
    if bytes.get(at) == Some(&b'.') {
        let (with, end) = digits(bytes, at + 1, mantissa);
        let fraction = end - at - 1;
        count += fraction;
        if count == 0 {
            return None;
        }
        (mantissa, at, power) = (with, end, -(fraction.min(1 << 20) as i32));
    }
    if count == 0 {
        return None;
    }
    if let Some(&(b'e' | b'E')) = bytes.get(at) {
        (power, at) = exponent(bytes, at, power);
    }
    if count <= 18 && mantissa <= 1 << 53 && power.unsigned_abs() <= 22 {
        let scale = POWERS[power.unsigned_abs() as usize];
        let size = if power < 0 { mantissa as f64 / scale } else { mantissa as f64 * scale };
        return Some((if negative { -size } else { size }, at));
    }
    let text = std::str::from_utf8(&bytes[..at]).ok()?;
    Some((text.parse().ok()?, at))
}

/// Appends decimal digits to a mantissa; it may wrap, which only more than 18 digits can cause.
#[inline]
fn digits(bytes: &[u8], mut at: usize, mut mantissa: u64) -> (u64, usize) {
    while let Some(digit) = bytes.get(at).map(|b| b.wrapping_sub(b'0')).filter(|d| *d < 10) {
        mantissa = mantissa.wrapping_mul(10).wrapping_add(digit.into());
        at += 1;
    }
    (mantissa, at)
}

/// The exponent at `at`, which is an `e`, added to `power`; without digits after it the number ends before the `e`.
fn exponent(bytes: &[u8], at: usize, power: i32) -> (i32, usize) {
    let sign = bytes.get(at + 1).copied();
    let start = at + 1 + usize::from(matches!(sign, Some(b'-' | b'+')));
    let (size, end) = digits(bytes, start, 0);
    if end == start {
        return (power, at);
    }
    // Such an exponent is outside the fast path, so its exact value does not matter: the standard library parses the text.
    let size = if end - start > 6 { 1 << 20 } else { size as i32 };
    (if sign == Some(b'-') { power - size } else { power + size }, end)
}

/// The value of a text field. Missing values: an empty field, `?`, and NA, N/A, NaN, null in upper or lower case.
pub(super) fn classify(field: &[u8]) -> Value<'_> {
    let field = field.trim_ascii();
    if let Some((value, used)) = scan(field)
        && used == field.len()
    {
        return Value::Number(value);
    }
    let is = |words: &[&str]| words.iter().any(|w| field.eq_ignore_ascii_case(w.as_bytes()));
    if is(&["", "?", "na", "n/a", "nan", "-nan", "null"]) {
        Value::Missing
    } else if is(&["inf", "+inf", "infinity", "+infinity"]) {
        Value::Number(f64::INFINITY)
    } else if is(&["-inf", "-infinity"]) {
        Value::Number(f64::NEG_INFINITY)
    } else if is(&["true", "false"]) {
        Value::Bool(field.len() == 4)
    } else {
        Value::Text(field)
    }
}

/// Whether a number, written again, gives the same text. This holds for at most 15 digits without an exponent, a zero in front or a zero behind a fraction.
/// Whole numbers may have a plus sign, or a fraction of zeros, and zero may have a minus sign: -0 is 0.
pub(super) fn is_plain(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    let size = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    let point = size.iter().position(|b| *b == b'.').unwrap_or(size.len());
    let (whole, fraction) = (&size[..point], size.get(point + 1..).unwrap_or(&[]));
    let digits = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
    let zeros = fraction.iter().all(|b| *b == b'0');
    let signed = text.starts_with(b"+") && !zeros;
    text.is_empty()
        || digits(whole)
            && digits(fraction)
            && !whole.is_empty()
            && !signed
            && (whole.len() == 1 || whole[0] != b'0')
            && whole.len() + fraction.len() <= 15
            && (zeros || fraction.last() != Some(&b'0'))
}

/// The text of a target that is not stored as an integer: a whole number has a decimal point, as it would have in a table, so that it
/// is not taken for the number of a class. Numbers of more than 14 digits keep the text from which their class is named.
pub(super) fn decimal(value: f64) -> String {
    let whole = value.fract() == 0.0 && value.abs() < 1e14;
    // Negative zero is zero.
    if whole { format!("{:.1}", value + 0.0) } else { value.to_string() }
}

/// The message for a number with a comma, which separates decimals or thousands.
pub const DECIMAL_COMMA: &str = "a number with a comma: write decimal points, and nothing between thousands";

/// Whether the text is a number with a decimal comma, as in 3,14 or 1.234,5.
pub fn has_decimal_comma(text: &[u8]) -> bool {
    let size = text.strip_prefix(b"-").or(text.strip_prefix(b"+")).unwrap_or(text);
    let mut parts = size.split(|b| *b == b',');
    let [whole, fraction] = [parts.next(), parts.next()].map(Option::unwrap_or_default);
    let digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    parts.next().is_none() && whole.split(|b| *b == b'.').all(digits) && digits(fraction)
}

/// Why a text that is a number with signs as in $1,234.5 or 12 %, or a number as text, is refused.
pub(super) fn of_number(text: &[u8]) -> Option<&'static str> {
    let is_number = |text: &str| matches!(classify(text.as_bytes()), Value::Number(_) | Value::Int(_));
    let text = std::str::from_utf8(text).ok()?;
    if is_number(text) {
        return Some("a number in quotes: write it without quotes");
    }
    let bare: String = text.chars().filter(|c| !SIGNS.contains(c) && !c.is_whitespace()).collect();
    is_number(&bare).then_some("a number with other signs: write the number alone, as 1234.5")
}

/// Signs that stand before, after or within numbers.
const SIGNS: [char; 9] = ['$', '€', '£', '¥', '₹', '%', '‰', '°', ','];

/// Whether the text begins like a date (2024-01-31, 31.1.2024, 1/31/24) or a time (23:59).
pub(super) fn is_date(text: &[u8]) -> bool {
    let run = |from: usize| text[from.min(text.len())..].iter().take_while(|b| b.is_ascii_digit()).count();
    let first = run(0);
    let (separator, second) = (text.get(first), run(first + 1));
    match separator {
        Some(b':') => (1..=2).contains(&first) && second == 2,
        Some(b'-' | b'/' | b'.') => {
            let third = first + 1 + second;
            (1..=4).contains(&first) && (1..=2).contains(&second) && text.get(third) == separator && run(third + 1) > 0
        }
        _ => false,
    }
}

/// The id of a text: a whole number is its own id, other text has its 64-bit FNV-1a hash.
pub(super) fn id(text: &[u8]) -> u64 {
    let whole = std::str::from_utf8(text).ok().and_then(|t| t.parse().ok());
    whole.unwrap_or_else(|| text.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3)))
}

/// The text of a cell, which must be UTF-8. Replacing invalid bytes could make different names equal.
pub(super) fn letters<'a>(text: &'a [u8], column: &str) -> Parsed<&'a str> {
    std::str::from_utf8(text).map_err(|_| error::cell(column, not_utf8(text)))
}

/// The message for bytes that are not UTF-8.
pub(super) fn not_utf8(text: &[u8]) -> String {
    format!("found {}, which is not UTF-8; if the file is Latin-1, say --encoding latin1", shown(text))
}

/// A piece of the input for a message: printable, and short.
pub(super) fn shown(text: &[u8]) -> String {
    let start = &text[..text.len().min(160)];
    let clean: String = match std::str::from_utf8(start) {
        // The cut may split a character.
        Err(e) if e.error_len().is_some() || text.len() <= 160 => start.escape_ascii().map(char::from).take(40).collect(),
        _ => String::from_utf8_lossy(start).chars().flat_map(char::escape_debug).take(40).collect(),
    };
    if text.len() > 40 { format!("'{clean}...'") } else { format!("'{clean}'") }
}
