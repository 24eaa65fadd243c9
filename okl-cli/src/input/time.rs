//! Points in time: texts of ISO 8601, and seconds or milliseconds since 1970.

/// A point in time, in milliseconds since the beginning of 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    /// In universal time.
    pub utc: i64,
    /// Of the clock that the text shows; universal time where the text has no offset.
    pub clock: i64,
}

const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
/// Milliseconds of a day.
pub(super) const DAY: i64 = 24 * HOUR;

/// Numbers of this size are seconds since 1970 (1973 to 5138), larger ones milliseconds. Smaller ones may be years, days or 20240131.
const SECONDS: std::ops::Range<f64> = 1e8..1e11;
/// Numbers of this size are milliseconds since 1970 (1973 to 2286).
const MILLISECONDS: std::ops::Range<f64> = 1e11..1e13;

impl Moment {
    /// Seconds or milliseconds since 1970; none if the number is too small or too large to tell.
    pub fn of_number(number: f64) -> Option<Moment> {
        let milliseconds = match number {
            number if SECONDS.contains(&number) => number * SECOND as f64,
            number if MILLISECONDS.contains(&number) => number,
            _ => return None,
        };
        Some(Moment::of_milliseconds(milliseconds))
    }

    /// Milliseconds since 1970, in universal time.
    pub fn of_milliseconds(milliseconds: f64) -> Moment {
        let utc = milliseconds.round() as i64;
        Moment { utc, clock: utc }
    }

    /// `2024-01-31`, `2024-01-31T08:15`, `2024-01-31 08:15:30.25+01:00`, `...Z`.
    pub fn parse(text: &[u8]) -> Option<Moment> {
        let mut text = Text(text);
        let (year, month, day) = (text.digits(4)?, text.after(b"-", 2)?, text.after(b"-", 2)?);
        let mut clock = days(year, month, day)? * DAY;
        let mut offset = 0;
        if text.takes(b"T") || text.takes(b"t") || text.takes(b" ") {
            let (hour, minute) = (text.digits(2)?, text.after(b":", 2)?);
            let second = if text.0.first() == Some(&b':') { text.after(b":", 2)? } else { 0 };
            if hour > 23 || minute > 59 || second > 60 {
                return None;
            }
            clock += hour * HOUR + minute * MINUTE + second * SECOND + text.fraction()?;
            offset = text.offset()?;
        }
        text.0.is_empty().then_some(Moment { utc: clock - offset, clock })
    }

    /// Days since `origin`, and the angles of the time of the day and of the time of the week (from Monday 0:00) as sine and cosine.
    pub fn features(self, origin: i64) -> [f64; 5] {
        let turn = |part: i64, whole: i64| std::f64::consts::TAU * part.rem_euclid(whole) as f64 / whole as f64;
        // 1970 began on a Thursday.
        let (day, week) = (turn(self.clock, DAY), turn(self.clock + 3 * DAY, 7 * DAY));
        let elapsed = (self.utc - origin) as f64 / DAY as f64;
        [elapsed, libm::sin(day), libm::cos(day), libm::sin(week), libm::cos(week)]
    }
}

/// Days from 1970-01-01 to a date of the Gregorian calendar; none if there is no such date.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, 28 + i64::from(leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before = usize::try_from(month - 1).ok().filter(|month| *month < 12)?;
    let within: i64 = lengths[..before].iter().sum();
    let leaps = |year: i64| year / 4 - year / 100 + year / 400;
    let years = 365 * (year - 1970) + leaps(year - 1 + 400) - leaps(1969 + 400);
    (1..=lengths[before]).contains(&day).then_some(years + within + day - 1)
}

/// The time of so many milliseconds since 1970 as text: `2024-01-31T08:15:30.250Z`.
pub(super) fn text_of(utc: i64) -> String {
    let (day, rest) = (date(utc.div_euclid(DAY)), utc.rem_euclid(DAY));
    let (hour, minute, second, fraction) = (rest / HOUR, rest / MINUTE % 60, rest / SECOND % 60, rest % SECOND);
    let fraction = if fraction == 0 { String::new() } else { format!(".{fraction:03}") };
    format!("{day}T{hour:02}:{minute:02}:{second:02}{fraction}Z")
}

/// The date of a day of the Gregorian calendar, counted from 1970-01-01, as 2024-01-31.
pub(super) fn date(day: i64) -> String {
    // Years that begin in March end with their leap day; 146,097 days are 400 years.
    let since = day + 719_468;
    let (era, within) = (since.div_euclid(146_097), since.rem_euclid(146_097));
    let year = (within - within / 1460 + within / 36_524 - within / 146_096) / 365;
    let of_year = within - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let (of_month, month) = (of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    format!("{:04}-{month:02}-{of_month:02}", year + 400 * era + i64::from(month <= 2))
}

/// The rest of a text.
struct Text<'a>(&'a [u8]);

impl Text<'_> {
    fn takes(&mut self, word: &[u8]) -> bool {
        self.0.strip_prefix(word).map(|rest| self.0 = rest).is_some()
    }

    /// A number of exactly this many digits.
    fn digits(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        let number =
            digits.iter().try_fold(0, |number, digit| digit.is_ascii_digit().then(|| 10 * number + i64::from(digit - b'0')))?;
        self.0 = rest;
        Some(number)
    }

    fn after(&mut self, word: &[u8], count: usize) -> Option<i64> {
        if self.takes(word) { self.digits(count) } else { None }
    }

    /// A fraction of a second in milliseconds; further digits are dropped. 0 if there is none.
    fn fraction(&mut self) -> Option<i64> {
        if !self.takes(b".") && !self.takes(b",") {
            return Some(0);
        }
        let count = self.0.iter().take_while(|digit| digit.is_ascii_digit()).count();
        let three: Vec<u8> = self.0[..count].iter().chain(b"00").copied().take(3).collect();
        self.0 = &self.0[count..];
        Text(&three).digits(3)
    }

    /// `Z`, `+01`, `+01:00`, `+0100` in milliseconds; 0 if there is none.
    fn offset(&mut self) -> Option<i64> {
        if self.0.is_empty() || self.takes(b"Z") || self.takes(b"z") {
            return Some(0);
        }
        let sign = if self.takes(b"+") {
            1
        } else if self.takes(b"-") {
            -1
        } else {
            return None;
        };
        let hours = self.digits(2)?;
        let minutes = if self.takes(b":") || !self.0.is_empty() { self.digits(2)? } else { 0 };
        (hours <= 23 && minutes <= 59).then_some(sign * (hours * HOUR + minutes * MINUTE))
    }
}
