//! Named formats: names, labels, and what else Kubernetes checks texts against.

use std::sync::LazyLock;

use regex::Regex;

use super::{Call, Implementation, encoders, url};
use crate::time;
use crate::value::{Outcome, Value};

/// A format a text may have.
#[derive(Debug)]
pub struct Format {
    /// The name it prints as.
    pub(crate) name: &'static str,
    /// The name it is asked for by.
    key: &'static str,
    /// The length of the pattern, which decides what a check costs.
    pub(crate) pattern_length: usize,
    check: fn(&str) -> Vec<String>,
}

impl Format {
    /// The name it prints as.
    pub fn name(&self) -> &'static str {
        self.name
    }
}

/// All formats by the name that expressions use.
const FORMATS: &[Format] = &[
    Format { key: "dns1123Label", name: "DNS1123Label", pattern_length: 30, check: label },
    Format {
        key: "dns1123Subdomain",
        name: "DNS1123Subdomain",
        pattern_length: 60,
        check: subdomain,
    },
    Format { key: "dns1035Label", name: "DNS1035Label", pattern_length: 30, check: old_label },
    Format { key: "qualifiedName", name: "QualifiedName", pattern_length: 60, check: label_key },
    Format {
        key: "dns1123LabelPrefix",
        name: "DNS1123LabelPrefix",
        pattern_length: 30,
        check: |text| label(&without_dash(text)),
    },
    Format {
        key: "dns1123SubdomainPrefix",
        name: "DNS1123SubdomainPrefix",
        pattern_length: 60,
        check: |text| subdomain(&without_dash(text)),
    },
    Format {
        key: "dns1035LabelPrefix",
        name: "DNS1035LabelPrefix",
        pattern_length: 30,
        check: |text| old_label(&without_dash(text)),
    },
    Format { key: "labelValue", name: "LabelValue", pattern_length: 40, check: label_value },
    Format {
        key: "uri",
        name: "URI",
        pattern_length: 1103,
        check: |text| url::request_error(text).into_iter().collect(),
    },
    Format {
        key: "uuid",
        name: "uuid",
        pattern_length: 70,
        check: |text| refuse_unless(UUID.is_match(text), "does not match the UUID format"),
    },
    Format {
        key: "byte",
        name: "byte",
        pattern_length: 84,
        check: |text| {
            refuse_unless(!text.is_empty() && encoders::is_standard(text), "invalid base64")
        },
    },
    Format {
        key: "date",
        name: "date",
        pattern_length: 71,
        check: |text| refuse_unless(time::parse_date(text).is_ok(), "invalid date"),
    },
    Format {
        key: "datetime",
        name: "datetime",
        pattern_length: 71,
        check: |text| refuse_unless(is_datetime(text), "invalid datetime"),
    },
];

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const OLD_LABEL: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const LABEL_KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";

fn whole(pattern: &str) -> Regex {
    Regex::new(&format!("^(?:{pattern})$")).expect("because the pattern is ours")
}

static IS_LABEL: LazyLock<Regex> = LazyLock::new(|| whole(LABEL));
static IS_SUBDOMAIN: LazyLock<Regex> = LazyLock::new(|| whole(SUBDOMAIN));
static IS_OLD_LABEL: LazyLock<Regex> = LazyLock::new(|| whole(OLD_LABEL));
static IS_LABEL_KEY: LazyLock<Regex> = LazyLock::new(|| whole(LABEL_KEY));
static IS_LABEL_VALUE: LazyLock<Regex> = LazyLock::new(|| whole(LABEL_VALUE));
static UUID: LazyLock<Regex> =
    LazyLock::new(|| whole("(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}"));
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    whole("([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))")
});

fn refuse_unless(fits: bool, message: &str) -> Vec<String> {
    if fits { Vec::new() } else { vec![message.to_owned()] }
}

/// Some checks count bytes and say so; others do and say characters.
fn too_long(length: usize, unit: &str) -> String {
    format!("must be no more than {length} {unit}")
}

fn pattern_error(message: &str, pattern: &str, examples: &[&str]) -> String {
    let mut out = format!("{message} (e.g. ");
    for (index, example) in examples.iter().enumerate() {
        if index > 0 {
            out.push_str(" or ");
        }
        out.push('\'');
        out.push_str(example);
        out.push_str("', ");
    }
    out + "regex used for validation is '" + pattern + "')"
}

/// A generated name ends in a dash that is not counted.
fn without_dash(text: &str) -> String {
    match text.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let mut kept: String = rest.to_owned();
            kept.pop();
            kept.push('a');
            kept
        }
        _ => text.to_owned(),
    }
}

fn label(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 63 {
        errors.push(too_long(63, "characters"));
    }
    if !IS_LABEL.is_match(text) {
        errors.push(if IS_SUBDOMAIN.is_match(text) {
            "must not contain dots".to_owned()
        } else {
            pattern_error(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or \
                 '-', and must start and end with an alphanumeric character",
                LABEL,
                &["my-name", "123-abc"],
            )
        });
    }
    errors
}

fn subdomain(text: &str) -> Vec<String> {
    subdomain_in(text, "characters")
}

fn subdomain_in(text: &str, unit: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 253 {
        errors.push(too_long(253, unit));
    }
    if !IS_SUBDOMAIN.is_match(text) {
        errors.push(pattern_error(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
             '-' or '.', and must start and end with an alphanumeric character",
            SUBDOMAIN,
            &["example.com"],
        ));
    }
    errors
}

fn old_label(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 63 {
        errors.push(too_long(63, "characters"));
    }
    if !IS_OLD_LABEL.is_match(text) {
        errors.push(pattern_error(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start \
             with an alphabetic character, and end with an alphanumeric character",
            OLD_LABEL,
            &["my-name", "abc-123"],
        ));
    }
    errors
}

fn label_key(text: &str) -> Vec<String> {
    const MESSAGE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must \
                           start and end with an alphanumeric character";
    let pattern = || pattern_error(MESSAGE, LABEL_KEY, &["MyName", "my.name", "123-abc"]);
    let mut errors = Vec::new();
    let parts: Vec<&str> = text.split('/').collect();
    let name = match parts[..] {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                errors.push("prefix part must be non-empty".to_owned());
            } else {
                let found = subdomain_in(prefix, "bytes");
                errors.extend(found.into_iter().map(|error| format!("prefix part {error}")));
            }
            name
        }
        _ => {
            return vec![format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. \
                 'example.com/MyName')",
                pattern()
            )];
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        errors.push(format!("name part {}", too_long(63, "bytes")));
    }
    if !IS_LABEL_KEY.is_match(name) {
        errors.push(format!("name part {}", pattern()));
    }
    errors
}

fn label_value(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 63 {
        errors.push(too_long(63, "bytes"));
    }
    if !IS_LABEL_VALUE.is_match(text) {
        errors.push(pattern_error(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', \
             '_' or '.', and must start and end with an alphanumeric character",
            LABEL_VALUE,
            &["MyValue", "my_value", "12345"],
        ));
    }
    errors
}

fn is_datetime(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    if text.len() < 4 || time::parse_date(date).is_err() {
        return false;
    }
    TIME.captures(time)
        .is_some_and(|found| &found[1] <= "23" && &found[2] <= "59" && &found[3] <= "59")
}

pub(super) fn find(name: &str) -> Option<Implementation> {
    if name.strip_prefix("format.").is_some_and(|key| FORMATS.iter().any(|f| f.key == key)) {
        return Some(constant);
    }
    Some(match name {
        "format.named" => named,
        "validate" => validate,
        _ => return None,
    })
}

fn by_key(key: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.key == key)
}

fn constant<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let key = call.function.strip_prefix("format.").unwrap_or_default();
    by_key(key).map(Value::Format).ok_or_else(|| call.mismatch(args))
}

fn named<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let [Value::String(key)] = args else { return Err(call.mismatch(args)) };
    Ok(by_key(key).map_or(Value::NONE, |format| Value::some(Value::Format(format))))
}

fn validate<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let [Value::Format(format), Value::String(text)] = args else {
        return Err(call.mismatch(args));
    };
    let errors = (format.check)(text);
    if errors.is_empty() {
        return Ok(Value::NONE);
    }
    Ok(Value::some(Value::from(errors.into_iter().map(Value::from).collect::<Vec<_>>())))
}
