//! Cron schedules as upstream's cron library parses them, and time zone names.

/// The five fields: smallest and largest value, names.
const FIELDS: [(u32, u32, &[&str]); 5] = [
    (0, 59, &[]),
    (0, 23, &[]),
    (1, 31, &[]),
    (1, 12, &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]),
    (0, 6, &["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
];

/// Parses a schedule into five sets of bits (minute, hour, day of month, month, day of week).
pub(crate) fn parse(text: &str) -> Result<[u64; 5], String> {
    let mut text = text;
    if text.starts_with("TZ=") || text.starts_with("CRON_TZ=") {
        let Some((_, rest)) = text.split_once(' ') else {
            return Err("invalid schedule format: runtime error: slice bounds out of range [:-1]"
                .to_owned());
        };
        text = rest.trim();
    }
    if text.starts_with('@') {
        return match text {
            "@yearly" | "@annually" => parse("0 0 1 1 *"),
            "@monthly" => parse("0 0 1 * *"),
            "@weekly" => parse("0 0 * * 0"),
            "@daily" | "@midnight" => parse("0 0 * * *"),
            "@hourly" => parse("0 * * * *"),
            _ if text.starts_with("@every ") => parse("* * * * *"),
            _ => Err(format!("unrecognized descriptor: {text}")),
        };
    }
    let fields: Vec<_> = text.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!(
            "expected exactly 5 fields, found {}: [{}]",
            fields.len(),
            fields.join(" ")
        ));
    }
    let mut schedule = [0; 5];
    for ((bits, text), bounds) in schedule.iter_mut().zip(fields).zip(FIELDS) {
        for part in text.split(',').filter(|part| !part.is_empty()) {
            *bits |= range(part, bounds)?;
        }
    }
    Ok(schedule)
}

fn range(text: &str, (low, high, names): (u32, u32, &[&str])) -> Result<u64, String> {
    let parts: Vec<_> = text.split('/').collect();
    let limits: Vec<_> = parts[0].split('-').collect();
    let named = |text: &str| {
        let position = names.iter().position(|name| name.eq_ignore_ascii_case(text));
        match position.and_then(|position| u32::try_from(position).ok()) {
            Some(position) => Ok(position + low),
            None => integer(text),
        }
    };
    let (start, mut end) = match limits.as_slice() {
        ["*" | "?", ..] => (low, high),
        [one] => (named(one)?, named(one)?),
        [from, to] => (named(from)?, named(to)?),
        _ => return Err(format!("too many hyphens: {text}")),
    };
    let step = match parts.as_slice() {
        [_] => 1,
        [_, step] => {
            if limits.len() == 1 {
                end = high;
            }
            integer(step)?
        }
        _ => return Err(format!("too many slashes: {text}")),
    };
    if start < low {
        return Err(format!("beginning of range ({start}) below minimum ({low}): {text}"));
    }
    if end > high {
        return Err(format!("end of range ({end}) above maximum ({high}): {text}"));
    }
    if start > end {
        return Err(format!("beginning of range ({start}) beyond end of range ({end}): {text}"));
    }
    if step == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    let step = usize::try_from(step).unwrap_or(usize::MAX);
    Ok((start..=end).step_by(step).fold(0, |bits, value| bits | 1 << value))
}

fn integer(text: &str) -> Result<u32, String> {
    match text.parse::<i64>() {
        Err(_) => Err(format!(
            "failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax"
        )),
        Ok(number) if number < 0 => Err(format!("negative number ({number}) not allowed: {text}")),
        Ok(number) => Ok(u32::try_from(number).unwrap_or(u32::MAX)),
    }
}

/// Validates the name of a time zone. Only its area is checked: there is no time zone database here.
pub(super) fn zone_problems(zone: &str) -> Vec<String> {
    const AREAS: &[&str] = &[
        "Africa",
        "America",
        "Antarctica",
        "Arctic",
        "Asia",
        "Atlantic",
        "Australia",
        "Brazil",
        "Canada",
        "Chile",
        "Etc",
        "Europe",
        "Indian",
        "Mexico",
        "Pacific",
        "US",
    ];
    const WORDS: &[&str] = &[
        "UTC",
        "GMT",
        "GMT0",
        "GMT+0",
        "GMT-0",
        "Greenwich",
        "UCT",
        "Universal",
        "Zulu",
        "CET",
        "CST6CDT",
        "Cuba",
        "EET",
        "EST",
        "EST5EDT",
        "Egypt",
        "Eire",
        "GB",
        "GB-Eire",
        "HST",
        "Hongkong",
        "Iceland",
        "Iran",
        "Israel",
        "Jamaica",
        "Japan",
        "Kwajalein",
        "Libya",
        "MET",
        "MST",
        "MST7MDT",
        "NZ",
        "NZ-CHAT",
        "Navajo",
        "PRC",
        "PST8PDT",
        "Poland",
        "Portugal",
        "ROC",
        "ROK",
        "Singapore",
        "Turkey",
        "W-SU",
        "WET",
    ];
    if zone.is_empty() {
        return vec!["timeZone must be nil or non-empty string".to_owned()];
    }
    let unknown = vec![format!("unknown time zone {zone}")];
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
    for part in zone.split('/') {
        let dots = part == "." || part == "..";
        if part.is_empty() || dots || part.starts_with('-') || !part.bytes().all(good) {
            return unknown;
        }
    }
    if zone.eq_ignore_ascii_case("Local") {
        let mut problems = vec![
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
                .to_owned(),
        ];
        if zone != "Local" {
            problems.extend(unknown);
        }
        return problems;
    }
    let known = match zone.split_once('/') {
        Some((area, _)) => AREAS.contains(&area),
        None => WORDS.contains(&zone),
    };
    if known { Vec::new() } else { unknown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_are_read_or_refused_with_the_librarys_words() {
        for good in ["*/5 * * * *", "0 0 1 jan mon-fri", "@hourly", "1,2,3-9/2 ? * * 6"] {
            assert!(parse(good).is_ok(), "{good}");
        }
        let bad = [
            ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            (
                "a * * * *",
                r#"failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax"#,
            ),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("@never", "unrecognized descriptor: @never"),
        ];
        for (text, expected) in bad {
            assert_eq!(parse(text), Err(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn steps_count_from_the_start_of_the_range() {
        assert_eq!(parse("5-20/5 0 1 1 *").unwrap()[0], 1 << 5 | 1 << 10 | 1 << 15 | 1 << 20);
        assert_eq!(parse("0 0 1 1 sat").unwrap()[4], 1 << 6);
    }
}
