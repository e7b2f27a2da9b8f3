//! Label selectors, as `--watch-label-selector` takes them.

use std::collections::{BTreeMap, BTreeSet};

/// A selector that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unable to parse requirement: {0:?}")]
pub struct SelectorError(String);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Requirement {
    In(String, BTreeSet<String>),
    NotIn(String, BTreeSet<String>),
    Exists(String),
    Absent(String),
}

/// Which objects are meant, by their labels; without requirements, all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selector {
    text: String,
    requirements: Vec<Requirement>,
}

impl Selector {
    /// Reads `a=b,c!=d,e in (f,g),h notin (i),j,!k`.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let requirements: Result<Vec<_>, _> = split(text)
            .into_iter()
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .map(one)
            .collect();
        Ok(Self { text: text.trim().to_owned(), requirements: requirements? })
    }

    /// The selector as it was written; empty where it means all.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether labels fit. A missing label fits what is said about other values, as in Kubernetes.
    pub fn matches(&self, labels: Option<&BTreeMap<String, String>>) -> bool {
        let value = |key: &String| labels.and_then(|labels| labels.get(key));
        self.requirements.iter().all(|requirement| match requirement {
            Requirement::In(key, values) => value(key).is_some_and(|it| values.contains(it)),
            Requirement::NotIn(key, values) => value(key).is_none_or(|it| !values.contains(it)),
            Requirement::Exists(key) => value(key).is_some(),
            Requirement::Absent(key) => value(key).is_none(),
        })
    }
}

/// The parts between commas that are not in brackets.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(text.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text.get(start..).unwrap_or_default());
    parts
}

fn one(part: &str) -> Result<Requirement, SelectorError> {
    let wrong = || SelectorError(part.to_owned());
    let key = |text: &str| {
        let text = text.trim();
        let fits = |letter: char| letter.is_ascii_alphanumeric() || "-._/".contains(letter);
        let is_key = !text.is_empty() && text.chars().all(fits);
        is_key.then(|| text.to_owned()).ok_or_else(wrong)
    };
    if let Some(rest) = part.strip_prefix('!')
        && !rest.contains('=')
    {
        return Ok(Requirement::Absent(key(rest)?));
    }
    if let Some((left, right)) = part.split_once("!=") {
        return Ok(Requirement::NotIn(key(left)?, BTreeSet::from([right.trim().to_owned()])));
    }
    if let Some((left, right)) = part.split_once('=') {
        let right = right.strip_prefix('=').unwrap_or(right);
        return Ok(Requirement::In(key(left)?, BTreeSet::from([right.trim().to_owned()])));
    }
    if let Some((left, list)) = part.split_once('(') {
        let list = list.trim_end().strip_suffix(')').ok_or_else(wrong)?;
        let values = list.split(',').map(|value| value.trim().to_owned()).collect();
        let mut words = left.split_whitespace();
        return match (words.next(), words.next(), words.next()) {
            (Some(name), Some("in"), None) => Ok(Requirement::In(key(name)?, values)),
            (Some(name), Some("notin"), None) => Ok(Requirement::NotIn(key(name)?, values)),
            _ => Err(wrong()),
        };
    }
    Ok(Requirement::Exists(key(part)?))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::Selector;

    #[test]
    fn labels_fit_as_in_kubernetes() {
        let labels = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let shard = labels(&[("sharding.fluxcd.io/key", "shard1"), ("tier", "a")]);
        // selector, whether it fits a labelled object, whether it fits a bare one
        let cases = [
            ("", true, true),
            ("sharding.fluxcd.io/key=shard1", true, false),
            ("sharding.fluxcd.io/key == shard2", false, false),
            ("sharding.fluxcd.io/key!=shard1", false, true),
            ("!sharding.fluxcd.io/key", false, true),
            ("sharding.fluxcd.io/key", true, false),
            ("sharding.fluxcd.io/key in (shard1, shard2),tier=a", true, false),
            ("sharding.fluxcd.io/key notin (shard1)", false, true),
            ("tier=a,!other", true, false),
        ];
        for (text, labelled, bare) in cases {
            let selector = Selector::parse(text).unwrap();
            assert_eq!(selector.matches(Some(&shard)), labelled, "{text}");
            assert_eq!(selector.matches(None), bare, "{text}");
        }
        for wrong in ["a b", "a in x", "=b", "a in (b", "a like (b)"] {
            assert!(Selector::parse(wrong).is_err(), "{wrong}");
        }
    }
}
