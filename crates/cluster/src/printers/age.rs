//! Ages in tables, with two or three digits.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use sluice_base::time;

use crate::metadata;

/// The age of an object.
pub(crate) fn age(object: &Value, now: Timestamp) -> String {
    since(metadata::text(object, "creationTimestamp"), now)
}

/// The time since a moment; `<unknown>` for an invalid one.
pub(crate) fn since(moment: &str, now: Timestamp) -> String {
    parse(moment).map_or_else(|| "<unknown>".to_owned(), |moment| human(now.duration_since(moment)))
}

/// Parses a time of an object.
pub(crate) fn parse(moment: &str) -> Option<Timestamp> {
    time::parse(moment).ok()
}

/// A short duration, as upstream's `HumanDuration`.
pub(crate) fn human(span: SignedDuration) -> String {
    let seconds = span.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let both = |large: i64, large_unit: &str, small: i64, small_unit: &str| {
        if small == 0 {
            format!("{large}{large_unit}")
        } else {
            format!("{large}{large_unit}{small}{small_unit}")
        }
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => both(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => both(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => both(days, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{days}d"),
        63_072_000..252_288_000 => both(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_two_or_three_figures() {
        let (minute, hour, day) = (60, 3600, 86_400);
        let cases = [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (2 * minute, "2m"),
            (2 * minute + 1, "2m1s"),
            (9 * minute + 59, "9m59s"),
            (10 * minute + 59, "10m"),
            (3 * hour - 1, "179m"),
            (3 * hour, "3h"),
            (3 * hour + 61, "3h1m"),
            (8 * hour + 61, "8h"),
            (2 * day - 1, "47h"),
            (2 * day, "2d"),
            (2 * day + hour, "2d1h"),
            (8 * day + hour, "8d"),
            (730 * day - 1, "729d"),
            (730 * day, "2y"),
            (731 * day, "2y1d"),
            (365 * 8 * day + day, "8y"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(human(SignedDuration::from_secs(seconds)), expected, "{seconds}");
        }
    }

    #[test]
    fn no_time_is_unknown() {
        let now = "2026-01-01T00:02:30Z".parse().unwrap();
        assert_eq!(since("", now), "<unknown>");
        assert_eq!(since("2026-01-01T00:00:00Z", now), "2m30s");
        assert_eq!(since("2026-01-01T00:02:30.500000Z", now), "0s");
    }
}
