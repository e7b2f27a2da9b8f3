//! Times in Go's formats.

use jiff::civil::DateTime;

/// An RFC 3339 time in the format of Go's `RFC3339Nano`; `None` if it is invalid.
pub(crate) fn parse_rfc3339_nano(text: &str) -> Option<String> {
    let (date, rest) = text.split_at_checked(10)?;
    let (clock, zone_at) = rest.strip_prefix('T').map(|rest| (rest, zone_start(rest)))?;
    let zone = clock.get(zone_at..)?;
    if !is_zone(zone) {
        return None;
    }
    normalised(date, clock.get(..zone_at)?, zone)
}

/// A plain YAML scalar that is a time, as Go prints it.
pub(crate) fn parse_yaml_time(text: &str) -> Option<String> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '-')).unwrap_or(text.len());
    let (date, rest) = text.split_at(end);
    if rest.is_empty() {
        return normalised(date, "0:0:0", "Z");
    }
    if let Some(clock) = rest.strip_prefix(' ') {
        return normalised(date, clock.trim(), "Z");
    }
    let clock = rest.strip_prefix(['T', 't'])?;
    let zone_at = zone_start(clock);
    let zone = clock.get(zone_at..)?;
    if is_zone(zone) { normalised(date, clock.get(..zone_at)?, zone) } else { None }
}

fn zone_start(clock: &str) -> usize {
    clock.find(['Z', '+', '-']).unwrap_or(clock.len())
}

fn is_zone(zone: &str) -> bool {
    zone == "Z"
        || zone.strip_prefix(['+', '-']).is_some_and(|digits| {
            let (hours, minutes) = digits.split_once(':').unwrap_or(("", ""));
            let below = |part: &str, limit: u8| {
                part.len() == 2 && part.parse::<u8>().is_ok_and(|number| number < limit)
            };
            below(hours, 25) && below(minutes, 60)
        })
}

fn normalised(date: &str, clock: &str, zone: &str) -> Option<String> {
    let mut date = date.splitn(3, '-');
    let mut clock = clock.splitn(3, ':');
    let year = date.next().filter(|year| year.len() == 4)?.parse().ok()?;
    let (month, day) = (date.next()?.parse().ok()?, date.next()?.parse().ok()?);
    let (hour, minute) = (clock.next()?.parse().ok()?, clock.next()?.parse().ok()?);
    let seconds = clock.next()?;
    let (second, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) || fraction.len() > 9 {
        return None;
    }
    DateTime::new(year, month, day, hour, minute, second.parse().ok()?, 0).ok().map(|time| {
        let fraction = fraction.trim_end_matches('0');
        let dot = if fraction.is_empty() { "" } else { "." };
        let zone = if zone == "+00:00" || zone == "-00:00" { "Z" } else { zone };
        format!("{}{dot}{fraction}{zone}", time.strftime("%Y-%m-%dT%H:%M:%S"))
    })
}

#[cfg(test)]
mod tests {
    use super::{parse_rfc3339_nano, parse_yaml_time};

    #[test]
    fn times_are_read_as_go_reads_them() {
        for (text, expected) in [
            ("2024-01-02T03:04:05Z", Some("2024-01-02T03:04:05Z")),
            ("2024-01-02T03:04:05.500Z", Some("2024-01-02T03:04:05.5Z")),
            ("2024-01-02T03:04:05+02:00", Some("2024-01-02T03:04:05+02:00")),
            ("2024-13-02T03:04:05Z", None),
            ("2024-01-02T03:04:05", None),
            ("2024-01-02", None),
            ("", None),
            ("äääääääääää", None),
        ] {
            assert_eq!(parse_rfc3339_nano(text).as_deref(), expected, "{text}");
        }
        for (text, expected) in [
            ("2024-01-02", Some("2024-01-02T00:00:00Z")),
            ("2024-1-2 3:4:5", Some("2024-01-02T03:04:05Z")),
            ("2024-01-02t03:04:05Z", Some("2024-01-02T03:04:05Z")),
            ("24-01-02", None),
        ] {
            assert_eq!(parse_yaml_time(text).as_deref(), expected, "{text}");
        }
    }
}
