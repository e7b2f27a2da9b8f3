//! Durations as in Kubernetes' tables: at most two units, coarser for longer ones.

use jiff::SignedDuration;

/// A duration for people; a slightly negative one is zero, because clocks differ.
pub(crate) fn human(span: SignedDuration) -> String {
    let seconds = span.as_secs();
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    let seconds = seconds.max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    let years = days / 365;
    let two = |big: i64, unit: char, small: i64, small_unit: char| {
        if small == 0 { format!("{big}{unit}") } else { format!("{big}{unit}{small}{small_unit}") }
    };
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => two(minutes, 'm', seconds % 60, 's'),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => two(hours, 'h', minutes % 60, 'm'),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => two(days, 'd', hours % 24, 'h'),
        _ if days < 365 * 2 => format!("{days}d"),
        _ if days < 365 * 8 => two(years, 'y', days % 365, 'd'),
        _ => format!("{years}y"),
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::human;

    #[test]
    fn spans_are_told_in_the_units_that_matter() {
        let table = [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (11_000, "3h3m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (180_000, "2d2h"),
            (691_200, "8d"),
            (63_071_999, "729d"),
            (63_072_000, "2y"),
            (64_000_000, "2y10d"),
            (252_288_000, "8y"),
        ];
        for (seconds, text) in table {
            assert_eq!(human(SignedDuration::from_secs(seconds)), text, "{seconds}");
        }
    }
}
