//! The times of entries: RFC 3339 in, UTC to the second out.

use std::fmt::Write as _;

/// A moment, to the second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Time {
    /// Seconds since 1970.
    pub(crate) seconds: i64,
    /// As it is written: `2024-01-02T03:04:05Z`.
    pub(crate) text: String,
}

impl Time {
    /// Reads an RFC 3339 time; fractions of a second are dropped.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let number = |from: usize, to: usize| -> Option<i64> {
            let digits = text.get(from..to)?;
            digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse().ok())?
        };
        let is = |at: usize, expected: &[u8]| {
            text.as_bytes().get(at).is_some_and(|byte| expected.contains(byte))
        };
        let marks = is(4, b"-") && is(7, b"-") && is(10, b"Tt") && is(13, b":") && is(16, b":");
        if !marks {
            return None;
        }
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 {
            return None;
        }
        let rest = text.get(19..)?;
        let zone = rest.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
        let offset = match zone.as_bytes() {
            b"Z" | b"z" => 0,
            [sign @ (b'+' | b'-'), ..] => {
                let at = text.len() - zone.len();
                let minutes = number(at + 1, at + 3)? * 60 + number(at + 4, at + 6)?;
                if *sign == b'-' { -minutes } else { minutes }
            }
            _ => return None,
        };
        let local =
            days_since_epoch(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
        Some(Self::from_seconds(local - offset * 60))
    }

    fn from_seconds(seconds: i64) -> Self {
        let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let (year, month, day) = civil_date(days);
        let mut text = String::with_capacity(20);
        let _ = write!(
            text,
            "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z",
            rest / 3600,
            rest / 60 % 60,
            rest % 60
        );
        Self { seconds, text }
    }
}

/// Days from 1970-01-01 to a date of the proleptic Gregorian calendar.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March here, so that the leap day is a year's last.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::Time;

    #[test]
    fn times_are_read_in_any_zone_and_written_in_utc() {
        let cases = [
            ("1970-01-01T00:00:00Z", Some((0, "1970-01-01T00:00:00Z"))),
            ("2024-02-29T23:59:59.123Z", Some((1_709_251_199, "2024-02-29T23:59:59Z"))),
            ("2024-03-01T01:00:00+02:00", Some((1_709_247_600, "2024-02-29T23:00:00Z"))),
            ("2023-12-31T20:00:00-05:00", Some((1_704_070_800, "2024-01-01T01:00:00Z"))),
            ("2024-13-01T00:00:00Z", None),
            ("yesterday", None),
            ("", None),
        ];
        for (text, expected) in cases {
            let read = Time::parse(text);
            assert_eq!(
                read.as_ref().map(|time| (time.seconds, time.text.as_str())),
                expected,
                "{text}"
            );
        }
    }
}
