//! Times and durations: parsed and printed as Go does it.

use std::fmt;

/// The first and the last second of the years 1 to 9999.
const FIRST_SECOND: i64 = -62_135_596_800;
const LAST_SECOND: i64 = 253_402_300_799;
const SECOND: i64 = 1_000_000_000;

/// A point in time and the zone it was written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp {
    /// Seconds since 1970.
    pub seconds: i64,
    /// Nanoseconds of the second.
    pub nanos: u32,
    /// How many seconds its zone is ahead of UTC.
    pub offset: i32,
}

impl Timestamp {
    /// What two equal times have in common.
    pub(crate) fn instant(&self) -> (i64, u32) {
        (self.seconds, self.nanos)
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.instant() == (FIRST_SECOND, 0)
    }

    pub(crate) fn is_in_range(&self) -> bool {
        (FIRST_SECOND..=LAST_SECOND).contains(&self.seconds)
    }

    /// The time `span` nanoseconds later.
    pub(crate) fn add(&self, span: i64) -> Result<Timestamp, &'static str> {
        let nanos = i64::from(self.nanos) + span.rem_euclid(SECOND);
        let carried = span.div_euclid(SECOND) + nanos / SECOND;
        let seconds = self.seconds.checked_add(carried).ok_or("integer overflow")?;
        let nanos = u32::try_from(nanos % SECOND).map_err(|_| "integer overflow")?;
        let time = Timestamp { seconds, nanos, offset: self.offset };
        if time.is_in_range() { Ok(time) } else { Err("timestamp overflow") }
    }

    /// The nanoseconds since `other`.
    pub(crate) fn since(&self, other: &Timestamp) -> Option<i64> {
        let seconds = self.seconds.checked_sub(other.seconds)?;
        let nanos = i64::from(self.nanos) - i64::from(other.nanos);
        seconds.checked_mul(SECOND)?.checked_add(nanos)
    }

    /// As Go's `%v` prints it.
    pub(crate) fn go_string(&self) -> String {
        let civil = civil(self.seconds + i64::from(self.offset));
        let zone = self.offset / 60;
        let sign = if zone < 0 { '-' } else { '+' };
        let (hours, minutes) = (zone.abs() / 60, zone.abs() % 60);
        let name = if self.offset == 0 {
            "UTC".to_owned()
        } else {
            format!("{sign}{hours:02}{minutes:02}")
        };
        format!(
            "{:04}-{:02}-{:02} {:02}:{:02}:{:02}{} {sign}{hours:02}{minutes:02} {name}",
            civil.year,
            civil.month,
            civil.day,
            civil.hour,
            civil.minute,
            civil.second,
            fraction(self.nanos),
        )
    }
}

fn fraction(nanos: u32) -> String {
    if nanos == 0 {
        return String::new();
    }
    format!(".{nanos:09}").trim_end_matches('0').to_owned()
}

/// RFC 3339 with as many digits as are needed.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let civil = civil(self.seconds + i64::from(self.offset));
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}",
            civil.year,
            civil.month,
            civil.day,
            civil.hour,
            civil.minute,
            civil.second,
            fraction(self.nanos)
        )?;
        if self.offset == 0 {
            return f.write_str("Z");
        }
        let minutes = self.offset.abs() / 60;
        let sign = if self.offset < 0 { '-' } else { '+' };
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

/// A time taken apart.
pub(crate) struct Civil {
    pub(crate) year: i64,
    /// From 1.
    pub(crate) month: i64,
    /// From 1.
    pub(crate) day: i64,
    /// From 0.
    pub(crate) day_of_year: i64,
    /// Sunday is 0.
    pub(crate) weekday: i64,
    pub(crate) hour: i64,
    pub(crate) minute: i64,
    pub(crate) second: i64,
}

/// The date and time of day, given seconds since 1970.
pub(crate) fn civil(seconds: i64) -> Civil {
    let days = seconds.div_euclid(86_400);
    let rest = seconds.rem_euclid(86_400);
    // Days are counted in eras of 400 years that begin in March, so that leap days come last.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    Civil {
        year,
        month,
        day,
        day_of_year: days - days_since_epoch(year, 1, 1),
        weekday: (days + 4).rem_euclid(7),
        hour: rest / 3600,
        minute: rest % 3600 / 60,
        second: rest % 60,
    }
}

fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let from_march = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year - 719_468
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// A cursor over the text of a time.
struct Digits<'t>(&'t str);

impl Digits<'_> {
    fn number(&mut self, count: usize) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(count)?;
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        self.0 = rest;
        digits.parse().ok()
    }

    fn literal(&mut self, text: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(text)?;
        Some(())
    }

    fn date(&mut self) -> Option<i64> {
        let year = self.number(4)?;
        self.literal("-")?;
        let month = self.number(2)?;
        self.literal("-")?;
        let day = self.number(2)?;
        let exists = (1..=12).contains(&month) && (1..=days_in(year, month)).contains(&day);
        exists.then(|| days_since_epoch(year, month, day))
    }

    /// Seconds and nanoseconds of the day.
    fn time_of_day(&mut self) -> Option<(i64, u32)> {
        let hour = self.number(2).or_else(|| self.number(1))?;
        self.literal(":")?;
        let minute = self.number(2)?;
        self.literal(":")?;
        let second = self.number(2)?;
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let mut nanos = 0;
        if let Some(rest) = self.0.strip_prefix(['.', ',']) {
            let count = rest.bytes().take_while(u8::is_ascii_digit).count();
            if count == 0 {
                return None;
            }
            let digits = &rest[..count.min(9)];
            nanos = format!("{digits:0<9}").parse().ok()?;
            self.0 = &rest[count..];
        }
        Some((hour * 3600 + minute * 60 + second, nanos))
    }

    fn zone(&mut self) -> Option<i32> {
        if self.literal("Z").is_some() {
            return Some(0);
        }
        let sign = match self.0.chars().next()? {
            '+' => 1,
            '-' => -1,
            _ => return None,
        };
        self.0 = &self.0[1..];
        let hours = self.number(2)?;
        self.literal(":")?;
        let minutes = self.number(2)?;
        if hours > 24 || minutes > 59 {
            return None;
        }
        i32::try_from(sign * (hours * 3600 + minutes * 60)).ok()
    }
}

/// RFC 3339.
pub(crate) fn parse_timestamp(text: &str) -> Option<Timestamp> {
    let mut digits = Digits(text);
    let days = digits.date()?;
    digits.literal("T")?;
    let (of_day, nanos) = digits.time_of_day()?;
    let offset = digits.zone()?;
    if !digits.0.is_empty() {
        return None;
    }
    Some(Timestamp { seconds: days * 86_400 + of_day - i64::from(offset), nanos, offset })
}

/// A value of a `date-time` field: RFC 3339, or without a zone.
pub(crate) fn parse_schema_datetime(text: &str) -> Result<Timestamp, String> {
    if text.is_empty() {
        return Ok(Timestamp { seconds: 0, nanos: 0, offset: 0 });
    }
    let local = || {
        let mut digits = Digits(text);
        let days = digits.date()?;
        digits.literal("T")?;
        let (of_day, nanos) = digits.time_of_day()?;
        let seconds = days * 86_400 + of_day;
        digits.0.is_empty().then_some(Timestamp { seconds, nanos, offset: 0 })
    };
    parse_timestamp(text).or_else(local).ok_or_else(|| {
        complaint(text, &["2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05"])
    })
}

/// A value of a `date` field.
pub(crate) fn parse_date(text: &str) -> Result<Timestamp, String> {
    let mut digits = Digits(text);
    match digits.date().filter(|_| digits.0.is_empty()) {
        Some(days) => Ok(Timestamp { seconds: days * 86_400, nanos: 0, offset: 0 }),
        None => Err(complaint(text, &["2006", "-", "01", "-", "02"])),
    }
}

/// What Go says against a text that does not follow a layout.
fn complaint(text: &str, layout: &[&str]) -> String {
    let quote = sluice_base::go::quote;
    let mut rest = text;
    for element in layout {
        let digits = |count: usize| {
            rest.get(..count).filter(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let (taken, range) = match *element {
            "2006" => (digits(4), None),
            "01" => (digits(2), Some(("month", 1, 12))),
            "02" => (digits(2), None),
            "15" => (digits(2).or_else(|| digits(1)), Some(("hour", 0, 23))),
            "04" => (digits(2), Some(("minute", 0, 59))),
            "05" => (digits(2), Some(("second", 0, 59))),
            literal => (rest.get(..literal.len()).filter(|part| *part == literal), None),
        };
        let Some(taken) = taken else {
            return format!(
                "parsing time {} as {}: cannot parse {} as {}",
                quote(text),
                quote(&layout.concat()),
                quote(rest),
                quote(element)
            );
        };
        rest = &rest[taken.len()..];
        if let (Ok(number), Some((name, least, most))) = (taken.parse::<i64>(), range)
            && !(least..=most).contains(&number)
        {
            return format!("parsing time {}: {name} out of range", quote(text));
        }
    }
    if let Some(fraction) = rest.strip_prefix('.') {
        rest = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    if rest.is_empty() {
        return format!("parsing time {}: day out of range", quote(text));
    }
    format!("parsing time {}: extra text: {}", quote(text), quote(rest))
}

/// Go's duration syntax, in nanoseconds.
pub(crate) fn parse_duration(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let whole = digits(rest);
        let mut value: i128 = if whole == 0 { 0 } else { rest[..whole].parse().ok()? };
        rest = &rest[whole..];
        let mut decimals = "";
        if let Some(after) = rest.strip_prefix('.') {
            let count = digits(after);
            decimals = &after[..count];
            rest = &after[count..];
        }
        if whole == 0 && decimals.is_empty() {
            return None;
        }
        let end = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
        let unit: i128 = match &rest[..end] {
            "ns" => 1,
            "us" | "µs" | "μs" => 1000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        rest = &rest[end..];
        if value > 1 << 63 {
            return None;
        }
        value *= unit;
        if !decimals.is_empty() {
            // More digits than these cannot reach a nanosecond.
            let kept = &decimals[..decimals.len().min(18)];
            let scale = 10_i128.pow(u32::try_from(kept.len()).ok()?);
            value += kept.parse::<i128>().ok()? * unit / scale;
        }
        total += value;
        if total > 1 << 63 {
            return None;
        }
    }
    i64::try_from(if negative { -total } else { total }).ok()
}

/// Units by their names; of the last name a beginning suffices.
const UNITS: &[(&[&str], i64)] = &[
    (&["ns", "nano"], 1),
    (&["us", "µs", "micro"], 1000),
    (&["ms", "milli"], 1_000_000),
    (&["s", "sec"], SECOND),
    (&["m", "min"], 60 * SECOND),
    (&["h", "hr", "hour"], 3600 * SECOND),
    (&["d", "day"], 86_400 * SECOND),
    (&["w", "wk", "week"], 7 * 86_400 * SECOND),
];

/// A value of a `duration` field: Go's syntax, or numbers with units up to weeks.
pub(crate) fn parse_schema_duration(text: &str) -> Result<i64, String> {
    if let Some(span) = parse_duration(text) {
        return Ok(span);
    }
    let mut total: i64 = 0;
    let mut known = false;
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        rest = &rest[start..];
        let count = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, after) = rest.split_at(count);
        let blank = after.trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']);
        let letters = |c: char| !(c.is_ascii_alphabetic() || c == 'µ');
        let unit = &blank[..blank.find(letters).unwrap_or(blank.len())];
        rest = after;
        if unit.is_empty() {
            continue;
        }
        rest = &blank[unit.len()..];
        let factor: i64 = digits
            .parse()
            .map_err(|_| format!("strconv.Atoi: parsing \"{digits}\": value out of range"))?;
        let unit = unit.to_lowercase();
        for (variants, multiplier) in UNITS {
            for (index, variant) in variants.iter().enumerate() {
                let last = index == variants.len() - 1;
                if (last && unit.starts_with(variant)) || unit == *variant {
                    known = true;
                    total = total.wrapping_add(factor.wrapping_mul(*multiplier));
                }
            }
        }
    }
    if known { Ok(total) } else { Err(format!("unable to parse {text} as duration")) }
}

/// A duration as Go prints it.
pub(crate) fn go_duration(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let size = nanos.unsigned_abs();
    let part = |unit: u64, digits: usize| {
        let text = format!("{}.{:0digits$}", size / unit, size % unit);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    match size {
        0 => "0s".to_owned(),
        1..1000 => format!("{sign}{size}ns"),
        1000..1_000_000 => format!("{sign}{}µs", part(1000, 3)),
        1_000_000..1_000_000_000 => format!("{sign}{}ms", part(1_000_000, 6)),
        _ => {
            let (hours, rest) = (size / 3_600_000_000_000, size % 3_600_000_000_000);
            let (minutes, rest) = (rest / 60_000_000_000, rest % 60_000_000_000);
            let seconds = format!("{}.{:09}", rest / 1_000_000_000, rest % 1_000_000_000);
            let seconds = seconds.trim_end_matches('0').trim_end_matches('.').to_owned();
            match (hours, minutes) {
                (0, 0) => format!("{sign}{seconds}s"),
                (0, _) => format!("{sign}{minutes}m{seconds}s"),
                _ => format!("{sign}{hours}h{minutes}m{seconds}s"),
            }
        }
    }
}
