//! Quantities as numbers, for comparing and for checking signs. Their text is already canonical.

use std::cmp::Ordering;

use serde_json::Value;

/// The quantity in billionths, saturating; `None` if it is not a quantity.
pub(crate) fn nanos(value: &Value) -> Option<i128> {
    match value {
        Value::Number(number) => parse(&number.to_string()),
        Value::String(text) => parse(text),
        _ => None,
    }
}

fn parse(text: &str) -> Option<i128> {
    let end = text
        .char_indices()
        .find(|(index, letter)| {
            !(letter.is_ascii_digit() || *letter == '.' || (*index == 0 && "+-".contains(*letter)))
        })
        .map_or(text.len(), |(index, _)| index);
    let (number, suffix) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let negative = whole.starts_with('-');
    let whole = whole.trim_start_matches(['+', '-']);
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let (base, power): (i128, i32) = match suffix {
        "" => (10, 0),
        "n" => (10, -9),
        "u" => (10, -6),
        "m" => (10, -3),
        "k" => (10, 3),
        "M" => (10, 6),
        "G" => (10, 9),
        "T" => (10, 12),
        "P" => (10, 15),
        "E" => (10, 18),
        "Ki" => (2, 10),
        "Mi" => (2, 20),
        "Gi" => (2, 30),
        "Ti" => (2, 40),
        "Pi" => (2, 50),
        "Ei" => (2, 60),
        _ => (10, suffix.strip_prefix(['e', 'E'])?.parse().ok()?),
    };
    let mut size: i128 = 0;
    let digits = whole.bytes().chain(fraction.bytes());
    for digit in digits {
        size = size.saturating_mul(10).saturating_add(i128::from(digit - b'0'));
    }
    let mut tens = 9 - i32::try_from(fraction.len()).ok()?;
    if base == 2 {
        size = size.saturating_mul(1_i128.checked_shl(power.unsigned_abs())?);
    } else {
        tens = tens.checked_add(power)?;
    }
    while tens > 0 && size != 0 && size < i128::MAX / 10 {
        size *= 10;
        tens -= 1;
    }
    while tens < 0 && size != 0 {
        // Quantities round up.
        size = size / 10 + i128::from(size % 10 != 0);
        tens += 1;
    }
    Some(if negative { -size } else { size })
}

/// Compares two quantities; anything else counts as zero.
pub(crate) fn compare(left: &Value, right: &Value) -> Ordering {
    nanos(left).unwrap_or_default().cmp(&nanos(right).unwrap_or_default())
}

/// Whether the quantity is a whole number.
pub(crate) fn is_whole(value: &Value) -> bool {
    nanos(value).is_some_and(|nanos| nanos % 1_000_000_000 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_and_exponents_compare_as_numbers() {
        let cases = [
            ("1", "1000m", Ordering::Equal),
            ("1Gi", "1G", Ordering::Greater),
            ("100m", "0.2", Ordering::Less),
            ("1e3", "1k", Ordering::Equal),
            ("-1", "0", Ordering::Less),
            ("1Ei", "1E", Ordering::Greater),
        ];
        for (left, right, expected) in cases {
            assert_eq!(compare(&left.into(), &right.into()), expected, "{left} {right}");
        }
        assert_eq!(nanos(&"x".into()), None);
        assert_eq!(nanos(&"1.5m".into()), Some(1_500_000));
    }
}
