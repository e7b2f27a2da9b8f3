//! Semantic versions and ranges as `Masterminds/semver` v3 has them, which Flux selects tags with.

mod constraint;

use std::cmp::Ordering;
use std::fmt;

pub use constraint::Constraint;

use crate::go::quote;

/// A version or a range that the library refuses, in its own text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SemverError {
    /// Not a version.
    #[error("invalid semantic version")]
    Invalid,
    /// A number in the pre-release begins with a zero.
    #[error("version segment starts with 0")]
    SegmentStartsZero,
    /// A part is larger than 64 bits.
    #[error("error parsing version segment: strconv.ParseUint: parsing {}: value out of range", quote(.0))]
    OutOfRange(String),
    /// More than 256 bytes.
    #[error("version string is too long (max 256 bytes)")]
    VersionTooLong,
    /// Not a range.
    #[error("improper constraint: {}", quote(.0))]
    Improper(String),
    /// A range whose version cannot be read.
    #[error("constraint parser error")]
    ConstraintVersion,
    /// More than 512 bytes.
    #[error("constraint string is too long (max 512 bytes)")]
    ConstraintTooLong,
    /// More than 32 alternatives.
    #[error("too many constraint groups (max 32)")]
    TooManyGroups,
}

/// A version, with the text it was read from.
#[derive(Debug, Clone)]
pub struct Version {
    pub(crate) major: u64,
    pub(crate) minor: u64,
    pub(crate) patch: u64,
    pub(crate) pre: String,
    pub(crate) metadata: String,
    original: String,
}

impl Version {
    /// Reads a version, as loosely as the library: a leading `v`, one or two numbers, and zeros in
    /// front of numbers are all fine.
    pub fn parse(text: &str) -> Result<Self, SemverError> {
        if text.len() > 256 {
            return Err(SemverError::VersionTooLong);
        }
        let rest = text.strip_prefix('v').unwrap_or(text);
        let (rest, metadata) = split_suffix(rest, '+')?;
        let (rest, pre) = split_suffix(rest, '-')?;
        let mut numbers = rest.split('.');
        let mut number = |required: bool| match numbers.next() {
            None if !required => Ok(0),
            Some(digits)
                if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                digits.parse().map_err(|_| SemverError::OutOfRange(digits.to_owned()))
            }
            _ => Err(SemverError::Invalid),
        };
        // The shape is judged before any number's size.
        if rest.split('.').count() > 3 || rest.split('.').any(|part| !is_digits(part)) {
            return Err(SemverError::Invalid);
        }
        let (major, minor, patch) = (number(true)?, number(false)?, number(false)?);
        for part in pre.split('.') {
            if is_digits(part) && part.len() > 1 && part.starts_with('0') {
                return Err(SemverError::SegmentStartsZero);
            }
        }
        let original = text.to_owned();
        Ok(Self {
            major,
            minor,
            patch,
            pre: pre.to_owned(),
            metadata: metadata.to_owned(),
            original,
        })
    }

    /// Reads a tag: three numbers are required, as Flux requires them.
    pub fn parse_tag(text: &str) -> Result<Self, SemverError> {
        if text.splitn(3, '.').count() == 3 { Self::parse(text) } else { Err(SemverError::Invalid) }
    }

    /// The text it was read from.
    pub fn original(&self) -> &str {
        &self.original
    }

    /// The pre-release part; empty for a release.
    pub fn prerelease(&self) -> &str {
        &self.pre
    }

    /// The precedence of two versions; build metadata counts for nothing.
    pub fn precedence(&self, other: &Self) -> Ordering {
        let numbers = |version: &Self| (version.major, version.minor, version.patch);
        numbers(self).cmp(&numbers(other)).then_with(|| {
            match (self.pre.is_empty(), other.pre.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => compare_pre(&self.pre, &other.pre),
            }
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.pre.is_empty() {
            write!(formatter, "-{}", self.pre)?;
        }
        if !self.metadata.is_empty() {
            write!(formatter, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

/// The tags that are versions in a range, newest first.
pub fn sorted<'a>(
    constraint: &Constraint,
    tags: impl IntoIterator<Item = &'a str>,
) -> Vec<Version> {
    let mut versions: Vec<Version> = tags
        .into_iter()
        .filter_map(|tag| Version::parse_tag(tag).ok())
        .filter(|version| constraint.check(version))
        .collect();
    versions.sort_by(|one, other| other.precedence(one));
    versions
}

pub(crate) fn compare_pre(one: &str, other: &str) -> Ordering {
    let (mut left, mut right) = (one.split('.'), other.split('.'));
    loop {
        let (one, other) = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (one, other) => (one.unwrap_or_default(), other.unwrap_or_default()),
        };
        let number = |part: &str| part.parse::<u64>().ok().filter(|_| is_digits(part));
        let order = match (number(one), number(other)) {
            _ if one.is_empty() || other.is_empty() => other.is_empty().cmp(&one.is_empty()),
            (Some(one), Some(other)) => one.cmp(&other),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => one.cmp(other),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// What follows a sign, which has to be words of letters, digits and dashes with dots between.
fn split_suffix(text: &str, sign: char) -> Result<(&str, &str), SemverError> {
    let Some((before, after)) = text.split_once(sign) else { return Ok((text, "")) };
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    if after.split('.').all(is_word) { Ok((before, after)) } else { Err(SemverError::Invalid) }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests;
