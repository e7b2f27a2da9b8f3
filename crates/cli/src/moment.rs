//! Times as Go programs show them to people: in the local time zone.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use sluice_base::time;

/// `2026-08-19 12:00:00 +0000 UTC`; anything else is unchanged.
pub(crate) fn spelled(text: &str) -> String {
    shown(text, "%Y-%m-%d %H:%M:%S %z %Z")
}

/// RFC 3339 with the offset of the zone, `Z` for UTC.
pub(crate) fn rfc3339(text: &str) -> String {
    let local = shown(text, "%Y-%m-%dT%H:%M:%S%:z");
    match local.strip_suffix("+00:00") {
        Some(utc) => format!("{utc}Z"),
        None => local,
    }
}

fn shown(text: &str, form: &str) -> String {
    match time::parse(text) {
        Ok(moment) => in_zone(moment, form),
        Err(_) => text.to_owned(),
    }
}

fn in_zone(moment: Timestamp, form: &str) -> String {
    moment.to_zoned(local()).strftime(form).to_string()
}

/// Go's local zone: of `TZ`, or of the machine; UTC by default.
fn local() -> TimeZone {
    let path = match std::env::var("TZ") {
        Ok(name) if name.is_empty() || name == "UTC" => return TimeZone::UTC,
        Ok(name) => Path::new("/usr/share/zoneinfo").join(name.trim_start_matches(':')),
        Err(_) => PathBuf::from("/etc/localtime"),
    };
    let data = std::fs::read(&path).ok();
    let zone = data.and_then(|data| TimeZone::tzif(&path.to_string_lossy(), &data).ok());
    zone.unwrap_or(TimeZone::UTC)
}
