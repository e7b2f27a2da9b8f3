//! Timestamps in the four layouts that go-yaml tries.

/// A point in time with its offset, as far as a text gives them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timestamp {
    pub(crate) year: u32,
    pub(crate) month: u32,
    pub(crate) day: u32,
    pub(crate) hour: u32,
    pub(crate) minute: u32,
    pub(crate) second: u32,
    pub(crate) nanosecond: u32,
    /// Minutes east of UTC.
    pub(crate) offset: i32,
}

/// `text` as a timestamp: a date, or a date and a time with `T`, `t` or a space between.
pub(crate) fn parse(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let year = match bytes {
        [a, b, c, d, b'-', ..] if [a, b, c, d].iter().all(|digit| digit.is_ascii_digit()) => {
            text[..4].parse().ok()?
        }
        _ => return None,
    };
    let mut rest = &bytes[5..];
    let month = one_or_two(&mut rest)?;
    take(&mut rest, b'-')?;
    let day = one_or_two(&mut rest)?;
    let mut time =
        Timestamp { year, month, day, hour: 0, minute: 0, second: 0, nanosecond: 0, offset: 0 };
    if !(1..=12).contains(&month) || day < 1 || day > days_in(year, month) {
        return None;
    }
    if rest.is_empty() {
        return Some(time);
    }
    let zoned = match rest[0] {
        b'T' | b't' => true,
        b' ' => false,
        _ => return None,
    };
    rest = &rest[1..];
    // Go's layouts allow any run of spaces in place of one.
    while !zoned && rest.first() == Some(&b' ') {
        rest = &rest[1..];
    }
    time.hour = one_or_two(&mut rest).filter(|hour| *hour < 24)?;
    take(&mut rest, b':')?;
    time.minute = one_or_two(&mut rest).filter(|minute| *minute < 60)?;
    take(&mut rest, b':')?;
    time.second = one_or_two(&mut rest).filter(|second| *second < 60)?;
    time.nanosecond = fraction(&mut rest);
    if zoned {
        time.offset = offset(&mut rest)?;
    }
    rest.is_empty().then_some(time)
}

fn take(rest: &mut &[u8], expected: u8) -> Option<()> {
    let (first, after) = rest.split_first()?;
    *rest = after;
    (*first == expected).then_some(())
}

fn digit(rest: &[u8], index: usize) -> Option<u32> {
    rest.get(index).filter(|byte| byte.is_ascii_digit()).map(|byte| u32::from(byte - b'0'))
}

fn one_or_two(rest: &mut &[u8]) -> Option<u32> {
    let tens = digit(rest, 0)?;
    if let Some(units) = digit(rest, 1) {
        *rest = &rest[2..];
        Some(tens * 10 + units)
    } else {
        *rest = &rest[1..];
        Some(tens)
    }
}

fn fraction(rest: &mut &[u8]) -> u32 {
    if !matches!(rest.first(), Some(b'.' | b',')) || digit(rest, 1).is_none() {
        return 0;
    }
    let mut nanoseconds = 0;
    let mut count = 0;
    while let Some(value) = digit(rest, 1 + count) {
        if count < 9 {
            nanoseconds = nanoseconds * 10 + value;
        }
        count += 1;
    }
    *rest = &rest[1 + count..];
    for _ in count..9 {
        nanoseconds *= 10;
    }
    nanoseconds
}

fn offset(rest: &mut &[u8]) -> Option<i32> {
    if let [b'Z', after @ ..] = rest {
        *rest = after;
        return Some(0);
    }
    let [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2, after @ ..] = *rest else { return None };
    let two = |tens: u8, units: u8| {
        let pair = [tens, units];
        Some(digit(&pair, 0)? * 10 + digit(&pair, 1)?)
    };
    let hours = two(*h1, *h2).filter(|hours| *hours <= 24)?;
    let minutes = two(*m1, *m2).filter(|minutes| *minutes <= 60)?;
    *rest = after;
    let size = i32::try_from(hours * 60 + minutes).ok()?;
    Some(if *sign == b'-' { -size } else { size })
}

fn days_in(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn dates_and_times_are_found() {
        for text in [
            "2001-01-23",
            "2001-1-2",
            "2001-12-14T21:59:43.10-05:00",
            "2001-12-14t21:59:43Z",
            "2001-12-14 21:59:43.1",
            "2024-02-29",
        ] {
            assert!(parse(text).is_some(), "{text}");
        }
        for text in [
            "2001-13-01",
            "2023-02-29",
            "2001-12-14 21:59:43.10 -5",
            "2001-12-14T21:59:43",
            "20010-12-14",
            "2001-12-14T24:00:00Z",
            "2001-1-",
        ] {
            assert!(parse(text).is_none(), "{text}");
        }
    }
}
