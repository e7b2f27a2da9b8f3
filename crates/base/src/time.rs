//! Points in time as Kubernetes writes them: RFC 3339 in UTC, to the second or to the microsecond.
//!
//! Texts are read like Go's `time.Parse` reads them, and refused in its words.

use std::fmt;

use jiff::civil::{Date, DateTime, Time as CivilTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::go::quote::quote_ascii;

/// Go's `time.RFC3339`.
const SECONDS_LAYOUT: &str = "2006-01-02T15:04:05Z07:00";

/// The layout of a `MicroTime`.
const MICROS_LAYOUT: &str = "2006-01-02T15:04:05.000000Z07:00";

/// The second that Go counts its times from: the start of the year 1.
const ZERO_SECOND: i64 = -62_135_596_800;

/// A point in time written to the second, like `metav1.Time`; the zero time is written as null.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub Timestamp);

/// A point in time written to the microsecond, like `metav1.MicroTime`; the zero time is null.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MicroTime(pub Timestamp);

/// Why a text is no time, in Go's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TimeError(String);

/// `2006-01-02T15:04:05Z`; what is below a second is cut off.
pub fn format_seconds(moment: Timestamp) -> String {
    let civil = TimeZone::UTC.to_datetime(moment);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        civil.year(),
        civil.month(),
        civil.day(),
        civil.hour(),
        civil.minute(),
        civil.second()
    )
}

/// `2006-01-02T15:04:05.000000Z`; what is below a microsecond is cut off.
pub fn format_micros(moment: Timestamp) -> String {
    let civil = TimeZone::UTC.to_datetime(moment);
    let mut text = format_seconds(moment);
    text.pop();
    format!("{text}.{:06}Z", civil.subsec_nanosecond() / 1000)
}

/// Reads `2006-01-02T15:04:05Z07:00`, with or without decimals behind the seconds.
pub fn parse(text: &str) -> Result<Timestamp, TimeError> {
    Reader { text, rest: text, layout: SECONDS_LAYOUT }.read()
}

/// Reads `2006-01-02T15:04:05.000000Z07:00`; the six decimals are required.
pub fn parse_micros(text: &str) -> Result<Timestamp, TimeError> {
    Reader { text, rest: text, layout: MICROS_LAYOUT }.read()
}

macro_rules! text_form {
    ($name:ident, $format:path, $parse:path) => {
        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&$format(self.0))
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self(Timestamp::constant(ZERO_SECOND, 0))
            }
        }

        impl $name {
            /// Whether this is Go's zero time, which stands for none.
            pub fn is_zero(self) -> bool {
                self == Self::default()
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if self.is_zero() {
                    return serializer.serialize_none();
                }
                serializer.serialize_str(&$format(self.0))
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                match Option::<String>::deserialize(deserializer)? {
                    Some(text) => $parse(&text).map(Self).map_err(de::Error::custom),
                    None => Ok(Self::default()),
                }
            }
        }
    };
}

text_form!(Time, format_seconds, parse);
text_form!(MicroTime, format_micros, parse_micros);

/// A text that is consumed element by element of a layout.
struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
    layout: &'static str,
}

impl Reader<'_> {
    fn read(mut self) -> Result<Timestamp, TimeError> {
        let year = self.year()?;
        self.literal("-")?;
        let month = self.number("01", true)?;
        self.within(month, 1, 12, "month")?;
        self.literal("-")?;
        let day = self.number("02", true)?;
        self.literal("T")?;
        // Go takes an hour of one digit here.
        let hour = self.number("15", false)?;
        self.within(hour, 0, 23, "hour")?;
        self.literal(":")?;
        let minute = self.number("04", true)?;
        self.within(minute, 0, 59, "minute")?;
        self.literal(":")?;
        let second = self.number("05", true)?;
        self.within(second, 0, 59, "second")?;
        let nanos =
            if self.layout == MICROS_LAYOUT { self.six_decimals()? } else { self.decimals() };
        let offset = self.offset()?;
        if !self.rest.is_empty() {
            return Err(self.message(&format!(": extra text: {}", quote_ascii(self.rest))));
        }
        let date = Date::new(year, month, day).map_err(|_| self.message(": day out of range"))?;
        let time = CivilTime::new(hour, minute, second, nanos)
            .map_err(|_| self.message(": second out of range"))?;
        TimeZone::UTC
            .to_timestamp(DateTime::from_parts(date, time))
            .ok()
            .and_then(|local| local.checked_sub(SignedDuration::from_secs(offset)).ok())
            .ok_or_else(|| self.message(": year out of range"))
    }

    fn year(&mut self) -> Result<i16, TimeError> {
        let digits = self.rest.get(..4).filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
        let Some(year) = digits.and_then(|digits| digits.parse().ok()) else {
            return Err(self.cannot("2006"));
        };
        self.rest = &self.rest[4..];
        Ok(year)
    }

    /// Two digits, or one where the layout's element allows it.
    fn number(&mut self, element: &str, fixed: bool) -> Result<i8, TimeError> {
        let digit = |at: usize| {
            self.rest.as_bytes().get(at).filter(|byte| byte.is_ascii_digit()).map(|b| b - b'0')
        };
        let (value, length) = match (digit(0), digit(1)) {
            (Some(tens), Some(ones)) => (tens * 10 + ones, 2),
            (Some(ones), None) if !fixed => (ones, 1),
            _ => return Err(self.cannot(element)),
        };
        self.rest = &self.rest[length..];
        i8::try_from(value).map_err(|_| self.cannot(element))
    }

    fn literal(&mut self, literal: &str) -> Result<(), TimeError> {
        match self.rest.strip_prefix(literal) {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None => Err(self.cannot(literal)),
        }
    }

    /// Decimals that may stand behind the seconds, to nanoseconds.
    fn decimals(&mut self) -> i32 {
        let Some(after) = self.rest.strip_prefix(['.', ',']) else { return 0 };
        let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        if end == 0 {
            return 0;
        }
        let nanos = nanoseconds(&after[..end]);
        self.rest = &after[end..];
        nanos
    }

    fn six_decimals(&mut self) -> Result<i32, TimeError> {
        let digits = self
            .rest
            .strip_prefix(['.', ','])
            .and_then(|after| after.get(..6))
            .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        let Some(digits) = digits else { return Err(self.cannot(".000000")) };
        self.rest = &self.rest[7..];
        Ok(nanoseconds(digits))
    }

    /// The offset from UTC in seconds.
    fn offset(&mut self) -> Result<i64, TimeError> {
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Ok(0);
        }
        let bytes = self.rest.as_bytes();
        let number = |at: usize| match (bytes.get(at), bytes.get(at + 1)) {
            (Some(tens @ b'0'..=b'9'), Some(ones @ b'0'..=b'9')) => {
                Some(i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))
            }
            _ => None,
        };
        let sign = match bytes.first() {
            Some(b'+') => 1,
            Some(b'-') => -1,
            _ => return Err(self.cannot("Z07:00")),
        };
        let (Some(hours), Some(b':'), Some(minutes)) = (number(1), bytes.get(3), number(4)) else {
            return Err(self.cannot("Z07:00"));
        };
        if hours > 24 {
            return Err(self.message(": time zone offset hour out of range"));
        }
        if minutes > 60 {
            return Err(self.message(": time zone offset minute out of range"));
        }
        self.rest = &self.rest[6..];
        Ok(sign * (hours * 3600 + minutes * 60))
    }

    fn within(&self, value: i8, low: i8, high: i8, what: &str) -> Result<(), TimeError> {
        if (low..=high).contains(&value) {
            Ok(())
        } else {
            Err(self.message(&format!(": {what} out of range")))
        }
    }

    fn cannot(&self, element: &str) -> TimeError {
        TimeError(format!(
            "parsing time {} as {}: cannot parse {} as {}",
            quote_ascii(self.text),
            quote_ascii(self.layout),
            quote_ascii(self.rest),
            quote_ascii(element)
        ))
    }

    fn message(&self, message: &str) -> TimeError {
        TimeError(format!("parsing time {}{message}", quote_ascii(self.text)))
    }
}

/// Decimals as nanoseconds; what is beyond the ninth is dropped.
fn nanoseconds(digits: &str) -> i32 {
    digits
        .bytes()
        .chain(std::iter::repeat(b'0'))
        .take(9)
        .fold(0, |nanos, digit| nanos * 10 + i32::from(digit - b'0'))
}

#[cfg(test)]
mod tests {
    use super::{MicroTime, Time, format_micros, format_seconds, parse};

    #[test]
    fn the_zero_time_is_null() {
        assert_eq!(serde_json::to_string(&Time::default()).unwrap(), "null");
        assert_eq!(serde_json::from_str::<MicroTime>("null").unwrap(), MicroTime::default());
        assert!(Time(parse("0001-01-01T00:00:00Z").unwrap()).is_zero());
    }

    #[test]
    fn times_are_written_in_utc_and_cut_off() {
        let moment = parse("2026-01-02T03:04:05.123456789+01:30").unwrap();
        assert_eq!(format_seconds(moment), "2026-01-02T01:34:05Z");
        assert_eq!(format_micros(moment), "2026-01-02T01:34:05.123456Z");
    }
}
