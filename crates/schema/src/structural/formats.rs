//! The string formats that custom resources may ask for.
//!
//! The list and the checks are kube-openapi's `strfmt`; a schema may name any other format, which
//! then means nothing.

use std::net::Ipv6Addr;
use std::sync::LazyLock;

use regex::Regex;
use sluice_base::duration::GoDuration;

mod address;
mod uri;

pub use uri::is_request_uri;

type Check = fn(&str) -> bool;

/// Every format that is checked, with dashes removed as upstream does before it looks one up.
const FORMATS: [(&str, Check); 26] = [
    ("bsonobjectid", |text| text.len() == 24 && text.bytes().all(|b| b.is_ascii_hexdigit())),
    ("uri", uri::is_request_uri),
    ("email", address::is_email),
    ("hostname", is_hostname),
    ("ipv4", |text| text.contains('.') && is_ip(text)),
    ("ipv6", |text| text.contains(':') && text.parse::<Ipv6Addr>().is_ok()),
    ("cidr", is_cidr),
    ("mac", is_mac),
    ("uuid", |text| is_uuid(text, None, false)),
    ("uuid3", |text| is_uuid(text, Some('3'), false)),
    ("uuid4", |text| is_uuid(text, Some('4'), true)),
    ("uuid5", |text| is_uuid(text, Some('5'), true)),
    ("isbn", |text| is_isbn10(text) || is_isbn13(text)),
    ("isbn10", is_isbn10),
    ("isbn13", is_isbn13),
    ("creditcard", is_credit_card),
    ("ssn", |text| text.len() == 11 && SSN.is_match(text)),
    ("hexcolor", |text| HEX_COLOR.is_match(text)),
    ("rgbcolor", |text| RGB_COLOR.is_match(text)),
    ("byte", is_base64),
    ("password", |_| true),
    ("date", is_date),
    ("duration", is_duration),
    ("datetime", is_date_time),
    ("k8sshortname", is_short_name),
    ("k8slongname", |text| text.len() <= 253 && text.split('.').all(is_label)),
];

fn find(format: &str) -> Option<Check> {
    if format.is_empty() {
        return None;
    }
    let name = format.replace('-', "");
    FORMATS.iter().find(|(known, _)| *known == name).map(|(_, check)| *check)
}

/// Whether the server checks this format.
pub fn is_known(format: &str) -> bool {
    find(format).is_some()
}

/// Whether `text` has the format; texts of unknown formats do.
pub fn matches(format: &str, text: &str) -> bool {
    find(format).is_none_or(|check| check(text))
}

fn expression(text: &str) -> Regex {
    Regex::new(text).expect("because the expression is a constant of this module")
}

static SSN: LazyLock<Regex> = LazyLock::new(|| expression("^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$"));
static HEX_COLOR: LazyLock<Regex> =
    LazyLock::new(|| expression("^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"));
static RGB_COLOR: LazyLock<Regex> = LazyLock::new(|| {
    let channel = r"[\t\n\x0C\r ]*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])[\t\n\x0C\r ]*";
    expression(&format!(r"^rgb\({channel},{channel},{channel}\)$"))
});
static HOSTNAME: LazyLock<Regex> = LazyLock::new(|| {
    let any = r"a-zA-Z0-9\p{S}\p{L}";
    expression(&format!(
        r"^([{any}]((-?[{any}]{{0,62}})?)|([{any}](([-{any}]{{0,61}}[{any}])?)(\.)){{1,}}([a-zA-Z\p{{L}}]){{2,63}})$"
    ))
});
static CREDIT_CARD: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$",
    )
});
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    expression("^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$")
});
static LOOSE_DURATION: LazyLock<Regex> =
    LazyLock::new(|| expression(r"([0-9]+)[\t\n\x0C\r ]*([A-Za-zµ]+)"));

fn is_hostname(text: &str) -> bool {
    HOSTNAME.is_match(text) && text.len() <= 255 && text.split('.').all(|part| part.len() <= 63)
}

/// Four numbers up to 255, with as many leading zeros as one likes.
fn is_ipv4(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() == 4
        && parts.iter().all(|part| {
            !part.is_empty()
                && part.bytes().all(|byte| byte.is_ascii_digit())
                && part.trim_start_matches('0').len() <= 3
                && part.trim_start_matches('0').parse().unwrap_or(0_u16) <= 255
        })
}

fn is_ip(text: &str) -> bool {
    is_ipv4(text) || text.parse::<Ipv6Addr>().is_ok()
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let limit = match (is_ipv4(address), address.parse::<Ipv6Addr>()) {
        (true, _) => 32,
        (false, Ok(_)) => 128,
        (false, Err(_)) => return false,
    };
    !bits.is_empty()
        && bits.bytes().all(|byte| byte.is_ascii_digit())
        && bits.parse::<u32>().is_ok_and(|bits| bits <= limit)
}

/// Groups of two digits by colons or dashes, or of four by dots, making 6, 8 or 20 bytes.
fn is_mac(text: &str) -> bool {
    let hex = |part: &str, width: usize| {
        part.len() == width && part.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    [(':', 2, 1), ('-', 2, 1), ('.', 4, 2)].iter().any(|&(separator, width, bytes)| {
        let parts: Vec<&str> = text.split(separator).collect();
        matches!(parts.len() * bytes, 6 | 8 | 20) && parts.iter().all(|part| hex(part, width))
    })
}

/// Thirty-two hex digits, with or without each of the four dashes.
fn is_uuid(text: &str, version: Option<char>, variant: bool) -> bool {
    let mut rest = text;
    for (index, width) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if index > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let Some((group, after)) = rest.split_at_checked(width) else { return false };
        if !group.bytes().all(|byte| byte.is_ascii_hexdigit())
            || index == 2 && version.is_some_and(|version| !group.starts_with(version))
            || index == 3 && variant && !group.starts_with(['8', '9', 'a', 'b', 'A', 'B'])
        {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

fn without_spaces_and_dashes(text: &str) -> String {
    text.chars().filter(|c| !matches!(c, '\t' | '\n' | '\x0c' | '\r' | ' ' | '-')).collect()
}

fn is_isbn10(text: &str) -> bool {
    let digits = without_spaces_and_dashes(text);
    if digits.len() != 10 || !digits.is_ascii() {
        return false;
    }
    let mut sum = 0;
    for (weight, character) in (1_u32..).zip(digits.chars()) {
        sum += match character.to_digit(10) {
            Some(digit) => weight * digit,
            None if weight == 10 && character == 'X' => 100,
            None => return false,
        };
    }
    sum % 11 == 0
}

fn is_isbn13(text: &str) -> bool {
    let digits: Option<Vec<u32>> =
        without_spaces_and_dashes(text).chars().map(|c| c.to_digit(10)).collect();
    let Some([head @ .., check]) = digits.as_deref() else { return false };
    let sum: u32 = head.iter().zip([1, 3].into_iter().cycle()).map(|(d, factor)| d * factor).sum();
    head.len() == 12 && *check == (10 - sum % 10) % 10
}

fn is_credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let sum: u32 = digits
        .chars()
        .rev()
        .filter_map(|character| character.to_digit(10))
        .enumerate()
        .map(|(index, digit)| if index % 2 == 1 { digit * 2 } else { digit })
        .map(|doubled| if doubled >= 10 { doubled % 10 + 1 } else { doubled })
        .sum();
    CREDIT_CARD.is_match(&digits) && sum.is_multiple_of(10)
}

fn is_base64(text: &str) -> bool {
    let body = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    !body.is_empty()
        && text.len().is_multiple_of(4)
        && body.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && sluice_base::time::parse(&format!("{text}T00:00:00Z")).is_ok()
}

fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    text.len() >= 4
        && is_date(date)
        && TIME
            .captures(time)
            .is_some_and(|parts| &parts[1] <= "23" && &parts[2] <= "59" && &parts[3] <= "59")
}

/// Go's durations, and as a fallback anything with a number and a unit-like word.
fn is_duration(text: &str) -> bool {
    const UNITS: [&[&str]; 8] = [
        &["ns", "nano"],
        &["us", "µs", "micro"],
        &["ms", "milli"],
        &["s", "sec"],
        &["m", "min"],
        &["h", "hr", "hour"],
        &["d", "day"],
        &["w", "wk", "week"],
    ];
    if GoDuration::parse(text).is_ok() {
        return true;
    }
    let mut known = false;
    for parts in LOOSE_DURATION.captures_iter(text) {
        if parts[1].parse::<i64>().is_err() {
            return false;
        }
        let unit = parts[2].to_lowercase();
        known |= UNITS.iter().any(|names| {
            names.contains(&unit.as_str())
                || names.last().is_some_and(|last| unit.starts_with(last))
        });
    }
    known
}

fn is_label(text: &str) -> bool {
    let inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.first().is_some_and(inner)
        && bytes.last().is_some_and(inner)
        && bytes.iter().all(|byte| inner(byte) || *byte == b'-')
}

fn is_short_name(text: &str) -> bool {
    text.len() <= 63 && is_label(text)
}
