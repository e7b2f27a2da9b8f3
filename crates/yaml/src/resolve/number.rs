//! Numbers, as Go's `strconv` and go-yaml's own pattern for floats parse them.

use super::Meaning;
use crate::Dialect;

/// `text`, which starts with a sign or a digit, as a number.
pub(super) fn number(text: &str, dialect: Dialect) -> Option<Meaning> {
    let without_underscores;
    let plain = if text.contains('_') {
        without_underscores = text.replace('_', "");
        &without_underscores
    } else {
        text
    };
    signed(plain)
        .map(Meaning::Integer)
        .or_else(|| unsigned(plain).map(Meaning::Unsigned))
        .or_else(|| float(plain).map(Meaning::Float))
        .or_else(|| prefixed(plain, "0b", "-0b", 2))
        .or_else(|| match dialect {
            Dialect::V2 => None,
            Dialect::V3 => prefixed(plain, "0o", "-0o", 8),
        })
}

/// `strconv.ParseInt(text, 0, 64)`.
fn signed(text: &str) -> Option<i64> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let size = i128::from(unsigned(digits)?);
    i64::try_from(if negative { -size } else { size }).ok()
}

/// `strconv.ParseUint(text, 0, 64)`: the base follows from `0x`, `0o`, `0b` or a leading zero.
fn unsigned(text: &str) -> Option<u64> {
    let (base, digits) = match text.as_bytes() {
        [b'0', b'x' | b'X', _, ..] => (16, &text[2..]),
        [b'0', b'o' | b'O', _, ..] => (8, &text[2..]),
        [b'0', b'b' | b'B', _, ..] => (2, &text[2..]),
        [b'0', _, ..] => (8, &text[1..]),
        _ => (10, text),
    };
    digits_to_base(digits, base)
}

fn digits_to_base(digits: &str, base: u32) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.chars().try_fold(0_u64, |sum, digit| {
        sum.checked_mul(base.into())?.checked_add(digit.to_digit(base)?.into())
    })
}

/// go-yaml strips the prefix once more itself, which allows a sign after it.
fn prefixed(text: &str, prefix: &str, negative: &str, base: u32) -> Option<Meaning> {
    let (sign, digits) = if let Some(rest) = text.strip_prefix(prefix) {
        match rest.as_bytes().first()? {
            b'-' => (-1, &rest[1..]),
            b'+' => (1, &rest[1..]),
            _ => (1, rest),
        }
    } else {
        (-1, text.strip_prefix(negative)?)
    };
    let size = digits_to_base(digits, base)?;
    i64::try_from(i128::from(size) * sign).ok().map(Meaning::Integer)
}

/// `strconv.ParseFloat(text, 64)` of a decimal: underscores are allowed between digits.
pub(super) fn go_float(text: &str) -> Option<f64> {
    if !text.contains('_') {
        return float(text);
    }
    let between_digits = text.split('_').collect::<Vec<_>>().windows(2).all(|parts| {
        parts[0].ends_with(|last: char| last.is_ascii_digit())
            && parts[1].starts_with(|first: char| first.is_ascii_digit())
    });
    if between_digits { float(&text.replace('_', "")) } else { None }
}

/// `text` as a decimal float; one that is too large is none.
pub(super) fn float(text: &str) -> Option<f64> {
    let bytes = text.as_bytes();
    let mut rest = match bytes.first()? {
        b'+' | b'-' => &bytes[1..],
        _ => bytes,
    };
    let digits = |rest: &mut &[u8]| {
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        *rest = &rest[count..];
        count
    };
    let whole = digits(&mut rest);
    if let [b'.', after @ ..] = rest {
        rest = after;
        if digits(&mut rest) == 0 && whole == 0 {
            return None;
        }
    } else if whole == 0 {
        return None;
    }
    if let [b'e' | b'E', after @ ..] = rest {
        rest = match after {
            [b'+' | b'-', after @ ..] => after,
            _ => after,
        };
        if digits(&mut rest) == 0 {
            return None;
        }
    }
    if !rest.is_empty() {
        return None;
    }
    text.parse().ok().filter(|value: &f64| value.is_finite())
}
