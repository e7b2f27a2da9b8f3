//! Semantic versions.

use sluice_base::go::quote;

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use super::{Call, Implementation};
use crate::value::{EvalError, Outcome, Value};

/// A semantic version.
#[derive(Clone, Debug)]
pub struct Semver {
    numbers: [u64; 3],
    prerelease: Vec<Part>,
    build: Vec<String>,
}

/// A part of a prerelease; numbers come before words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Number(u64),
    Word(String),
}

impl Semver {
    /// The order of two versions; build data does not count.
    pub(crate) fn compare(&self, other: &Semver) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| {
            match (self.prerelease.is_empty(), other.prerelease.is_empty()) {
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                _ => self.prerelease.cmp(&other.prerelease),
            }
        })
    }
}

impl fmt::Display for Semver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.numbers;
        write!(f, "{major}.{minor}.{patch}")?;
        for (index, part) in self.prerelease.iter().enumerate() {
            f.write_str(if index == 0 { "-" } else { "." })?;
            match part {
                Part::Number(number) => write!(f, "{number}")?,
                Part::Word(word) => f.write_str(word)?,
            }
        }
        for (index, part) in self.build.iter().enumerate() {
            f.write_str(if index == 0 { "+" } else { "." })?;
            f.write_str(part)?;
        }
        Ok(())
    }
}

pub(super) fn find(name: &str) -> Option<Implementation> {
    Some(match name {
        "semver" | "isSemver" => convert,
        "major" | "minor" | "patch" => number,
        _ => return None,
    })
}

fn convert<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let (text, normalize) = match args {
        [Value::String(text)] => (text, false),
        [Value::String(text), Value::Bool(normalize)] => (text, *normalize),
        _ => return Err(call.mismatch(args)),
    };
    let parsed = if normalize { parse_loose(text) } else { parse(text) };
    if call.function == "isSemver" {
        return Ok(Value::Bool(parsed.is_ok()));
    }
    parsed.map(|version| Value::Semver(Arc::new(version))).map_err(EvalError::new)
}

fn number<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let [Value::Semver(version)] = args else { return Err(call.mismatch(args)) };
    let index = match call.function {
        "major" => 0,
        "minor" => 1,
        _ => 2,
    };
    Ok(Value::Int(version.numbers[index].cast_signed()))
}

fn digits_only(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn name_only(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn leading_zero(text: &str) -> bool {
    text.len() > 1 && text.starts_with('0')
}

fn parse_number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| {
        let why = if text.is_empty() { "invalid syntax" } else { "value out of range" };
        format!("strconv.ParseUint: parsing {}: {why}", quote(text))
    })
}

fn parse(text: &str) -> Result<Semver, String> {
    if text.is_empty() {
        return Err("Version string empty".to_owned());
    }
    let parts: Vec<&str> = text.splitn(3, '.').collect();
    let [major, minor, rest] = parts[..] else {
        return Err("No Major.Minor.Patch elements found".to_owned());
    };
    let component = |text: &str, name: &str, title: &str| {
        if !digits_only(text) {
            return Err(format!("Invalid character(s) found in {name} number {}", quote(text)));
        }
        if leading_zero(text) {
            let quoted = quote(text);
            return Err(format!("{title} number must not contain leading zeroes {quoted}"));
        }
        parse_number(text)
    };
    let major = component(major, "major", "Major")?;
    let minor = component(minor, "minor", "Minor")?;
    let (rest, build) = match rest.split_once('+') {
        Some((rest, build)) => (rest, Some(build)),
        None => (rest, None),
    };
    let (patch, prerelease) = match rest.split_once('-') {
        Some((patch, prerelease)) => (patch, Some(prerelease)),
        None => (rest, None),
    };
    let patch = component(patch, "patch", "Patch")?;
    let prerelease = prerelease
        .into_iter()
        .flat_map(|parts| parts.split('.'))
        .map(parse_part)
        .collect::<Result<_, _>>()?;
    let mut meta = Vec::new();
    for part in build.into_iter().flat_map(|parts| parts.split('.')) {
        if part.is_empty() {
            return Err("Build meta data is empty".to_owned());
        }
        if !name_only(part) {
            let quoted = quote(part);
            return Err(format!("Invalid character(s) found in build meta data {quoted}"));
        }
        meta.push(part.to_owned());
    }
    Ok(Semver { numbers: [major, minor, patch], prerelease, build: meta })
}

fn parse_part(text: &str) -> Result<Part, String> {
    if text.is_empty() {
        return Err("Prerelease is empty".to_owned());
    }
    if digits_only(text) {
        if leading_zero(text) {
            let quoted = quote(text);
            return Err(format!(
                "Numeric PreRelease version must not contain leading zeroes {quoted}"
            ));
        }
        return parse_number(text).map(Part::Number);
    }
    if name_only(text) {
        return Ok(Part::Word(text.to_owned()));
    }
    Err(format!("Invalid character(s) found in prerelease {}", quote(text)))
}

/// A version with a `v` in front, zeroes before its numbers, or numbers left out.
fn parse_loose(text: &str) -> Result<Semver, String> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text.splitn(3, '.').map(str::to_owned).collect();
    for part in &mut parts {
        if part.len() > 1 {
            let trimmed = part.trim_start_matches('0');
            *part = if trimmed.starts_with(|c: char| c.is_ascii_digit()) {
                trimmed.to_owned()
            } else {
                format!("0{trimmed}")
            };
        }
    }
    if parts.len() < 3 {
        if parts.last().is_some_and(|last| last.contains(['+', '-'])) {
            let message = "short version cannot contain PreRelease/Build meta data";
            return Err(message.to_owned());
        }
        parts.resize(3, "0".to_owned());
    }
    parse(&parts.join("."))
}
