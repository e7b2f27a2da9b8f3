//! The type of a scalar: null, boolean, number, time or string, as go-yaml resolves it.
//!
//! Both versions read YAML 1.1's numbers (`0777`, `1_000`, `0b1`) besides 1.2's; they differ in booleans: only v2 has
//! `yes`, `no`, `on`, `off`, `y` and `n`.

mod number;
mod time;

use std::borrow::Cow;

use crate::Dialect;
use crate::error::Error;

pub(crate) use time::Timestamp;

/// The prefix of the tags that are written `!!name`.
const LONG_TAG: &str = "tag:yaml.org,2002:";

/// The value of a scalar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Meaning {
    Null,
    Bool(bool),
    Integer(i64),
    /// An integer that only fits without a sign.
    Unsigned(u64),
    Float(f64),
    Time(Timestamp),
    Text,
    /// `!!binary`: the text is base64.
    Binary,
    /// A tag that means nothing here; the value is the text.
    Unknown,
}

impl Meaning {
    /// The short tag that a value of this kind has when it is written plainly.
    pub(crate) fn tag(self) -> &'static str {
        match self {
            Self::Null => "!!null",
            Self::Bool(_) => "!!bool",
            Self::Integer(_) | Self::Unsigned(_) => "!!int",
            Self::Float(_) => "!!float",
            Self::Time(_) => "!!timestamp",
            Self::Binary => "!!binary",
            Self::Text | Self::Unknown => "!!str",
        }
    }
}

/// `tag` with `!!` for the common prefix.
pub(crate) fn short_tag(tag: &str) -> Cow<'_, str> {
    match tag.strip_prefix(LONG_TAG) {
        Some(name) => Cow::Owned(format!("!!{name}")),
        None => Cow::Borrowed(tag),
    }
}

/// `tag` with the common prefix for `!!`.
pub(crate) fn long_tag(tag: &str) -> Cow<'_, str> {
    match tag.strip_prefix("!!") {
        Some(name) => Cow::Owned(format!("{LONG_TAG}{name}")),
        None => Cow::Borrowed(tag),
    }
}

/// What `text` means without a tag and without quotes.
pub(crate) fn resolve(text: &str, dialect: Dialect) -> Meaning {
    resolve_hinted(text, dialect, true)
}

/// What `text` means under the short tag `tag`.
pub(crate) fn resolve_tagged(tag: &str, text: &str, dialect: Dialect) -> Result<Meaning, Error> {
    let found = match tag {
        "!!str" => return Ok(Meaning::Text),
        "!!binary" => return Ok(Meaning::Binary),
        "!!bool" | "!!int" | "!!float" | "!!null" => resolve_hinted(text, dialect, false),
        "!!timestamp" => resolve_hinted(text, dialect, true),
        _ => return Ok(Meaning::Unknown),
    };
    match found {
        #[expect(clippy::cast_precision_loss, reason = "an integer under !!float is rounded")]
        Meaning::Integer(value) if tag == "!!float" => Ok(Meaning::Float(value as f64)),
        found if found.tag() == tag => Ok(found),
        found => Err(Error::problem(format!("cannot decode {} `{text}` as a {tag}", found.tag()))),
    }
}

fn resolve_hinted(text: &str, dialect: Dialect, times: bool) -> Meaning {
    let Some(&first) = text.as_bytes().first() else { return Meaning::Null };
    match first {
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => {
            word(text, dialect).unwrap_or(Meaning::Text)
        }
        b'.' => match text {
            ".nan" | ".NaN" | ".NAN" => Meaning::Float(f64::NAN),
            ".inf" | ".Inf" | ".INF" => Meaning::Float(f64::INFINITY),
            _ => number::go_float(text).map_or(Meaning::Text, Meaning::Float),
        },
        b'+' | b'-' | b'0'..=b'9' => match text {
            "+.inf" | "+.Inf" | "+.INF" => Meaning::Float(f64::INFINITY),
            "-.inf" | "-.Inf" | "-.INF" => Meaning::Float(f64::NEG_INFINITY),
            _ => {
                let time = if times { time::parse(text) } else { None };
                time.map(Meaning::Time)
                    .or_else(|| number::number(text, dialect))
                    .unwrap_or(Meaning::Text)
            }
        },
        _ => Meaning::Text,
    }
}

fn word(text: &str, dialect: Dialect) -> Option<Meaning> {
    match text {
        "~" | "null" | "Null" | "NULL" => Some(Meaning::Null),
        "true" | "True" | "TRUE" => Some(Meaning::Bool(true)),
        "false" | "False" | "FALSE" => Some(Meaning::Bool(false)),
        _ if dialect == Dialect::V2 => old_bool(text).map(Meaning::Bool),
        _ => None,
    }
}

/// The truth values that YAML 1.1 has and 1.2 dropped.
pub(crate) fn old_bool(text: &str) -> Option<bool> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

/// Whether YAML 1.1 would read `text` as a number to base sixty, such as `1:30`.
pub(crate) fn is_base_sixty(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, fraction) = match unsigned.rsplit_once('.') {
        Some((whole, fraction)) => (whole, fraction),
        None => (unsigned, ""),
    };
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let mut parts = whole.split(':');
    let first = parts.next().unwrap_or_default();
    let mut sixtieths = 0;
    for part in parts {
        sixtieths += 1;
        let fits = match part.as_bytes() {
            [units] => units.is_ascii_digit(),
            [tens, units] => (b'0'..=b'5').contains(tens) && units.is_ascii_digit(),
            _ => false,
        };
        if !fits {
            return false;
        }
    }
    sixtieths > 0
        && first.starts_with(|first: char| first.is_ascii_digit())
        && is_digits(first)
        && is_digits(fraction)
}

#[cfg(test)]
mod tests {
    use super::{Meaning, is_base_sixty, resolve, resolve_tagged};
    use crate::Dialect::{V2, V3};

    #[test]
    fn plain_scalars_mean_what_go_yaml_says() {
        let both = [
            ("", Meaning::Null),
            ("~", Meaning::Null),
            ("Null", Meaning::Null),
            ("nULL", Meaning::Text),
            ("true", Meaning::Bool(true)),
            ("0777", Meaning::Integer(511)),
            ("0o17", Meaning::Integer(15)),
            ("08", Meaning::Float(8.0)),
            ("1_000", Meaning::Integer(1000)),
            ("0x1F", Meaning::Integer(31)),
            ("-0b11", Meaning::Integer(-3)),
            ("+12", Meaning::Integer(12)),
            ("18446744073709551615", Meaning::Unsigned(u64::MAX)),
            ("18446744073709551616", Meaning::Float(18_446_744_073_709_551_616.0)),
            ("1e3", Meaning::Float(1000.0)),
            ("1e400", Meaning::Text),
            (".5", Meaning::Float(0.5)),
            ("1.", Meaning::Float(1.0)),
            (".", Meaning::Text),
            ("-", Meaning::Text),
            ("1:30", Meaning::Text),
            ("1.2.3", Meaning::Text),
            ("-.inf", Meaning::Float(f64::NEG_INFINITY)),
        ];
        for (text, meaning) in both {
            assert_eq!(resolve(text, V2), meaning, "v2 of {text}");
            assert_eq!(resolve(text, V3), meaning, "v3 of {text}");
        }
        for (text, truth) in [("yes", true), ("On", true), ("n", false), ("OFF", false)] {
            assert_eq!(resolve(text, V2), Meaning::Bool(truth));
            assert_eq!(resolve(text, V3), Meaning::Text);
        }
    }

    #[test]
    fn a_tag_that_does_not_fit_is_an_error() {
        let error = resolve_tagged("!!int", "x", V2).expect_err("x is no number");
        assert_eq!(error.to_string(), "yaml: cannot decode !!str `x` as a !!int");
        assert_eq!(resolve_tagged("!!float", "3", V2).unwrap(), Meaning::Float(3.0));
        assert_eq!(resolve_tagged("!!str", "3", V2).unwrap(), Meaning::Text);
        assert_eq!(resolve_tagged("!mine", "3", V2).unwrap(), Meaning::Unknown);
    }

    #[test]
    fn base_sixty_is_recognised() {
        for text in ["1:30", "-1:00:59.5", "190:20:30", "1_0:2"] {
            assert!(is_base_sixty(text), "{text}");
        }
        for text in ["1:60", "a:1", "1:", ":1", "1", "1:2:", "_1:2"] {
            assert!(!is_base_sixty(text), "{text}");
        }
    }
}
