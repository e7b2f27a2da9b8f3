//! Go's `time.Duration`: its text form, read and written exactly as Go does.

use crate::go::quote::quote_ascii;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Nanoseconds in each unit that a duration's text may name.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// A signed span of nanoseconds, written like `1h2m3.5s`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GoDuration(i64);

/// Why a text is no duration, in Go's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// The text is empty, overflows or is not made of numbers and units.
    #[error("time: invalid duration {0}")]
    Invalid(String),
    /// A number has no unit behind it.
    #[error("time: missing unit in duration {0}")]
    MissingUnit(String),
    /// A number has a unit that Go does not know.
    #[error("time: unknown unit {unit} in duration {text}")]
    UnknownUnit {
        /// The unit, quoted.
        unit: String,
        /// The whole text, quoted.
        text: String,
    },
}

impl GoDuration {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A duration of so many nanoseconds.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// A duration of so many seconds, held at the largest one Go can say.
    pub const fn from_secs(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1_000_000_000))
    }

    /// The nanoseconds of this duration.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// The duration as the standard library has it; negative ones become zero.
    pub fn to_std(self) -> Duration {
        u64::try_from(self.0).map_or(Duration::ZERO, Duration::from_nanos)
    }

    /// Reads a duration like `time.ParseDuration`.
    pub fn parse(text: &str) -> Result<Self, DurationError> {
        let invalid = || DurationError::Invalid(quote_ascii(text));
        let (negative, mut rest) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        if rest == "0" {
            return Ok(Self(0));
        }
        if rest.is_empty() {
            return Err(invalid());
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            if !rest.starts_with(|first: char| first == '.' || first.is_ascii_digit()) {
                return Err(invalid());
            }
            let (whole, after) = leading_integer(rest).ok_or_else(invalid)?;
            let had_whole = after.len() != rest.len();
            rest = after;
            let mut fraction = Fraction { value: 0, scale: 1.0 };
            let mut had_fraction = false;
            if let Some(after) = rest.strip_prefix('.') {
                let (read, left) = leading_fraction(after);
                had_fraction = left.len() != after.len();
                fraction = read;
                rest = left;
            }
            if !had_whole && !had_fraction {
                return Err(invalid());
            }
            let end = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
            let (unit, left) = rest.split_at(end);
            if unit.is_empty() {
                return Err(DurationError::MissingUnit(quote_ascii(text)));
            }
            rest = left;
            let Some(&(_, nanos)) = UNITS.iter().find(|(name, _)| *name == unit) else {
                return Err(DurationError::UnknownUnit {
                    unit: quote_ascii(unit),
                    text: quote_ascii(text),
                });
            };
            let value = whole
                .checked_mul(nanos)
                .filter(|value| *value <= 1 << 63)
                .and_then(|value| value.checked_add(fraction.nanos(nanos)))
                .filter(|value| *value <= 1 << 63)
                .ok_or_else(invalid)?;
            total =
                total.checked_add(value).filter(|total| *total <= 1 << 63).ok_or_else(invalid)?;
        }
        if negative {
            // The most negative duration has no positive twin: its magnitude is exactly 1 << 63.
            return Ok(Self(0i64.wrapping_sub_unsigned(total)));
        }
        i64::try_from(total).map(Self).map_err(|_| invalid())
    }
}

impl fmt::Display for GoDuration {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.unsigned_abs();
        if nanos == 0 {
            return formatter.write_str("0s");
        }
        if self.0 < 0 {
            formatter.write_str("-")?;
        }
        if nanos < 1_000_000_000 {
            let (unit, name) = match nanos {
                0..1_000 => (1, "ns"),
                1_000..1_000_000 => (1_000, "\u{b5}s"),
                _ => (1_000_000, "ms"),
            };
            return write!(formatter, "{}{}{name}", nanos / unit, Tail(nanos % unit, unit));
        }
        let seconds = nanos / 1_000_000_000;
        let tail = Tail(nanos % 1_000_000_000, 1_000_000_000);
        let (hours, minutes) = (seconds / 3600, seconds / 60);
        if hours > 0 {
            write!(formatter, "{hours}h")?;
        }
        if minutes > 0 {
            write!(formatter, "{}m", minutes % 60)?;
        }
        write!(formatter, "{}{tail}s", seconds % 60)
    }
}

impl FromStr for GoDuration {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl Serialize for GoDuration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for GoDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(de::Error::custom)
    }
}

/// Digits behind the point, as Go gathers them: an integer and what it must be divided by.
struct Fraction {
    value: u64,
    scale: f64,
}

impl Fraction {
    /// The fraction of a unit in whole nanoseconds, through floats as Go computes it.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "Go computes fractions in float64 and truncates; the result is below one unit"
    )]
    fn nanos(&self, unit: u64) -> u64 {
        if self.value == 0 {
            return 0;
        }
        (self.value as f64 * (unit as f64 / self.scale)) as u64
    }
}

/// The rest of a division, written as decimals without trailing zeros.
struct Tail(u64, u64);

impl fmt::Display for Tail {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(mut rest, unit) = *self;
        if rest == 0 {
            return Ok(());
        }
        formatter.write_str(".")?;
        let mut unit = unit;
        while rest > 0 {
            unit /= 10;
            write!(formatter, "{}", rest / unit)?;
            rest %= unit;
        }
        Ok(())
    }
}

/// The digits in front; `None` when they exceed 1 << 63.
fn leading_integer(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let mut value: u64 = 0;
    for digit in text[..end].bytes() {
        value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
        if value > 1 << 63 {
            return None;
        }
    }
    Some((value, &text[end..]))
}

/// The digits in front as a fraction; those that no longer fit are skipped.
fn leading_fraction(text: &str) -> (Fraction, &str) {
    const LIMIT: u64 = (1 << 63) - 1;
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let mut fraction = Fraction { value: 0, scale: 1.0 };
    for digit in text[..end].bytes() {
        if fraction.value > LIMIT / 10 {
            break;
        }
        let value = fraction.value * 10 + u64::from(digit - b'0');
        if value > 1 << 63 {
            break;
        }
        fraction.value = value;
        fraction.scale *= 10.0;
    }
    (fraction, &text[end..])
}

#[cfg(test)]
mod tests {
    use super::GoDuration;

    #[test]
    fn durations_are_read_and_written_in_go_form() {
        let cases = [
            ("5m", "5m0s"),
            ("1h2m3.5s", "1h2m3.5s"),
            ("1.5h", "1h30m0s"),
            ("-90s", "-1m30s"),
            ("0", "0s"),
            ("1500us", "1.5ms"),
            ("1\u{b5}s", "1\u{b5}s"),
            (".5s", "500ms"),
            ("-9223372036854775808ns", "-2562047h47m16.854775808s"),
        ];
        for (text, expected) in cases {
            assert_eq!(GoDuration::parse(text).map(|d| d.to_string()), Ok(expected.into()));
        }
    }

    #[test]
    fn a_wrong_duration_is_refused_in_the_words_of_go() {
        let cases = [
            ("", r#"time: invalid duration """#),
            ("3", r#"time: missing unit in duration "3""#),
            ("3x", r#"time: unknown unit "x" in duration "3x""#),
            ("9223372036854775808ns", r#"time: invalid duration "9223372036854775808ns""#),
            (".s", r#"time: invalid duration ".s""#),
        ];
        for (text, expected) in cases {
            assert_eq!(GoDuration::parse(text).map_err(|e| e.to_string()), Err(expected.into()));
        }
    }
}
