//! Kubernetes' rules for names, label keys and label values (`k8s.io/apimachinery/pkg/util/validation`).
//!
//! Each function returns what is wrong with a value, in upstream's texts and order; an empty list
//! means the value is valid.

const LABEL_1123: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN_1123: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const LABEL_1035: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const LABEL_KEY: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
const LABEL_KEY_WORDS: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/// The explanation of a text longer than `limit` bytes, where upstream calls them characters.
pub fn max_length(limit: usize) -> String {
    format!("must be no more than {limit} characters")
}

/// How one release of apimachinery says what is wrong with a label.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LabelTexts {
    whole: &'static str,
    unit: &'static str,
    subdomain: &'static str,
}

impl LabelTexts {
    /// apimachinery 0.35.
    pub(crate) const CURRENT: Self = Self {
        whole: "a valid label key",
        unit: "bytes",
        subdomain: "a lowercase RFC 1123 subdomain",
    };
    /// apimachinery 0.19, of which kyaml has a copy.
    pub(crate) const KYAML: Self =
        Self { whole: "a qualified name", unit: "characters", subdomain: "a DNS-1123 subdomain" };

    fn too_long(self, limit: usize) -> String {
        format!("must be no more than {limit} {}", self.unit)
    }

    /// What is wrong with a label key.
    pub(crate) fn key(self, value: &str) -> Vec<String> {
        let examples = ["MyName", "my.name", "123-abc"];
        let mut wrong = Vec::new();
        let parts: Vec<&str> = value.split('/').collect();
        let name = match parts.as_slice() {
            [name] => *name,
            ["", name] => {
                wrong.push("prefix part must be non-empty".to_owned());
                *name
            }
            [prefix, name] => {
                let problems = subdomain(prefix, self.subdomain, |limit| self.too_long(limit));
                wrong.extend(problems.into_iter().map(|why| format!("prefix part {why}")));
                *name
            }
            _ => {
                let why = mismatch(LABEL_KEY_WORDS, LABEL_KEY, &examples);
                return vec![format!(
                    "{} {why} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                    self.whole
                )];
            }
        };
        if name.is_empty() {
            wrong.push("name part must be non-empty".to_owned());
        } else if name.len() > 63 {
            wrong.push(format!("name part {}", self.too_long(63)));
        }
        if !matches_label_text(name) {
            wrong.push(format!("name part {}", mismatch(LABEL_KEY_WORDS, LABEL_KEY, &examples)));
        }
        wrong
    }

    /// What is wrong with a label value.
    pub(crate) fn value(self, value: &str) -> Vec<String> {
        let mut wrong = Vec::new();
        if value.len() > 63 {
            wrong.push(self.too_long(63));
        }
        if !value.is_empty() && !matches_label_text(value) {
            let words = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
            wrong.push(mismatch(words, LABEL_VALUE, &["MyValue", "my_value", "12345"]));
        }
        wrong
    }
}

/// The explanation of a text that does not match `expression`.
pub fn mismatch(words: &str, expression: &str, examples: &[&str]) -> String {
    if examples.is_empty() {
        return format!("{words} (regex used for validation is '{expression}')");
    }
    let quoted: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{words} (e.g. {}regex used for validation is '{expression}')", quoted.join(" or "))
}

fn is_lower_or_digit(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn matches_label_1123(value: &str) -> bool {
    let bytes = value.as_bytes();
    match (bytes.first(), bytes.last()) {
        (Some(&first), Some(&last)) => {
            is_lower_or_digit(first)
                && is_lower_or_digit(last)
                && bytes.iter().all(|&byte| is_lower_or_digit(byte) || byte == b'-')
        }
        _ => false,
    }
}

fn matches_subdomain_1123(value: &str) -> bool {
    value.split('.').all(matches_label_1123)
}

/// A lower case RFC 1123 label: up to 63 of `a-z`, `0-9` and inner dashes.
pub fn dns1123_label(value: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if value.len() > 63 {
        wrong.push(max_length(63));
    }
    if !matches_label_1123(value) {
        wrong.push(if matches_subdomain_1123(value) {
            "must not contain dots".to_owned()
        } else {
            let words = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
            mismatch(words, LABEL_1123, &["my-name", "123-abc"])
        });
    }
    wrong
}

/// A lower case RFC 1123 subdomain: labels (of any length) joined by dots, up to 253 bytes.
pub fn dns1123_subdomain(value: &str) -> Vec<String> {
    subdomain(value, "a lowercase RFC 1123 subdomain", max_length)
}

fn subdomain(value: &str, what: &str, too_long: impl Fn(usize) -> String) -> Vec<String> {
    let mut wrong = Vec::new();
    if value.len() > 253 {
        wrong.push(too_long(253));
    }
    if !matches_subdomain_1123(value) {
        let words = format!(
            "{what} must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character"
        );
        wrong.push(mismatch(&words, SUBDOMAIN_1123, &["example.com"]));
    }
    wrong
}

/// An RFC 1035 label: like an RFC 1123 label, but it starts with a letter.
pub fn dns1035_label(value: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if value.len() > 63 {
        wrong.push(max_length(63));
    }
    if !(matches_label_1123(value) && value.as_bytes()[0].is_ascii_lowercase()) {
        let words = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
        wrong.push(mismatch(words, LABEL_1035, &["my-name", "abc-123"]));
    }
    wrong
}

fn matches_label_text(value: &str) -> bool {
    let bytes = value.as_bytes();
    match (bytes.first(), bytes.last()) {
        (Some(first), Some(last)) => {
            first.is_ascii_alphanumeric()
                && last.is_ascii_alphanumeric()
                && bytes
                    .iter()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        }
        _ => false,
    }
}

/// A label key, which upstream also calls a qualified name: `name` or `prefix/name`.
pub fn label_key(value: &str) -> Vec<String> {
    LabelTexts::CURRENT.key(value)
}

/// A label value: empty, or up to 63 characters like the name of a label key.
pub fn label_value(value: &str) -> Vec<String> {
    LabelTexts::CURRENT.value(value)
}

/// A name that can stand in a URL path; `prefix` says that more will be appended to it.
pub fn path_segment(value: &str, prefix: bool) -> Vec<String> {
    if !prefix && (value == "." || value == "..") {
        return vec![format!("may not be '{value}'")];
    }
    ["/", "%"]
        .iter()
        .filter(|bad| value.contains(**bad))
        .map(|bad| format!("may not contain '{bad}'"))
        .collect()
}

/// `name` as the prefix of a generated name: a trailing dash will be followed by something.
///
/// Upstream replaces the dash and the character before it by an `a`, so neither is looked at.
pub fn as_prefix(name: &str) -> String {
    let mut characters = name.chars();
    match (characters.next_back(), characters.next_back()) {
        (Some('-'), Some(_)) => format!("{}a", characters.as_str()),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_pass_and_fail() {
        type Rule = fn(&str) -> Vec<String>;
        let cases: [(Rule, &[&str], &[&str]); 5] = [
            (dns1123_label, &["a", "0-a"], &["", "-a", "A", "a.b", "a-"]),
            (dns1123_subdomain, &["a.b-c", "1"], &["", "a..b", ".a", "a_b"]),
            (dns1035_label, &["a1"], &["1a", "", "a-"]),
            (label_key, &["a/b", "A_b.c"], &["", "/a", "a/", "a/b/c", "A/b", "-x"]),
            (label_value, &["", "A_b"], &["-", "a b"]),
        ];
        for (rule, good, bad) in cases {
            for value in good {
                assert!(rule(value).is_empty(), "{value}: {:?}", rule(value));
            }
            for value in bad {
                assert!(!rule(value).is_empty(), "{value}");
            }
        }
    }

    #[test]
    fn explanations_are_upstreams() {
        assert_eq!(dns1123_label("a.b"), ["must not contain dots"]);
        assert_eq!(
            dns1035_label("1"),
            [
                "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
            ]
        );
        assert_eq!(dns1123_label(&"a".repeat(64)), ["must be no more than 63 characters"]);
        assert_eq!(path_segment("a/b%", false), ["may not contain '/'", "may not contain '%'"]);
        assert_eq!(path_segment("..", false), ["may not be '..'"]);
        assert_eq!(as_prefix("ab-"), "aa");
        assert_eq!(as_prefix("-"), "-");
    }
}
