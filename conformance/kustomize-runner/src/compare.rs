//! How far two answers agree.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use crate::case::Answer;

/// The first thing in which two answers differ, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Ours panicked.
    Panic,
    /// One succeeds, the other fails.
    Class,
    /// Other objects, values or orders of lists.
    Objects,
    /// The same objects in another order, as they come or in the legacy order.
    Order,
    /// The same objects, written differently.
    Bytes,
}

impl Level {
    /// All, worst first.
    pub(crate) const ALL: [Self; 5] =
        [Self::Panic, Self::Class, Self::Objects, Self::Order, Self::Bytes];

    /// Its name in lists and reports.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Panic => "panic",
            Self::Class => "class",
            Self::Objects => "objects",
            Self::Order => "order",
            Self::Bytes => "bytes",
        }
    }
}

/// Compares the original's answer with ours.
pub(crate) fn compare(real: &Answer, ours: &Answer) -> Option<Level> {
    if ours.panic {
        return Some(Level::Panic);
    }
    if real.ok != ours.ok {
        return Some(Level::Class);
    }
    let pairs = [(&real.yaml, &ours.yaml), (&real.legacy, &ours.legacy)];
    pairs.into_iter().filter_map(|(real, ours)| compare_texts(real, ours)).min()
}

fn compare_texts(real: &str, ours: &str) -> Option<Level> {
    if real == ours {
        return None;
    }
    let (Ok(real), Ok(ours)) = (objects(real), objects(ours)) else {
        return Some(Level::Objects);
    };
    if real == ours {
        return Some(Level::Bytes);
    }
    Some(if by_key(&real) == by_key(&ours) { Level::Order } else { Level::Objects })
}

fn objects(text: &str) -> Result<Vec<Value>, sluice_yaml::Error> {
    sluice_yaml::parse(text.as_bytes())?.iter().map(sluice_yaml::Document::to_json).collect()
}

/// The objects by group, version, kind, namespace and name; several may have the same.
fn by_key(objects: &[Value]) -> BTreeMap<[String; 4], Vec<&Value>> {
    let mut map: BTreeMap<_, Vec<&Value>> = BTreeMap::new();
    for object in objects {
        let at = |pointer: &str| object.pointer(pointer).map(Value::to_string).unwrap_or_default();
        let key = ["/apiVersion", "/kind", "/metadata/namespace", "/metadata/name"].map(at);
        map.entry(key).or_default().push(object);
    }
    map
}

/// What differs, to be read: the errors, or the lines of the first output that is not the same.
pub(crate) fn explain(real: &Answer, ours: &Answer) -> String {
    let mut text = String::new();
    if real.ok != ours.ok || ours.panic {
        for (who, answer) in [("kustomize", real), ("sluice", ours)] {
            let outcome = if answer.ok { "builds" } else { answer.error.trim() };
            let _written = writeln!(text, "  {who}: {outcome}");
        }
        return text;
    }
    for (title, real, ours) in
        [("as they come", &real.yaml, &ours.yaml), ("legacy order", &real.legacy, &ours.legacy)]
    {
        if real != ours {
            let _written = writeln!(text, "  {title}:");
            for line in difference(real, ours) {
                let _written = writeln!(text, "    {line}");
            }
            break;
        }
    }
    text
}

/// The lines of both, `-` the original's and `+` ours, with two lines around.
pub(crate) fn difference(real: &str, ours: &str) -> Vec<String> {
    let (real, ours): (Vec<_>, Vec<_>) = (real.lines().collect(), ours.lines().collect());
    let mut lines = Vec::new();
    let (mut left, mut right) = (0, 0);
    while left < real.len() || right < ours.len() {
        if let (Some(a), Some(b)) = (real.get(left), ours.get(right))
            && a == b
        {
            lines.push(format!("  {a}"));
            (left, right) = (left + 1, right + 1);
            continue;
        }
        let (skip_left, skip_right) = meeting(&real[left..], &ours[right..]);
        lines.extend(real[left..left + skip_left].iter().map(|line| format!("- {line}")));
        lines.extend(ours[right..right + skip_right].iter().map(|line| format!("+ {line}")));
        (left, right) = (left + skip_left, right + skip_right);
    }
    let near = |index: usize| {
        let around = index.saturating_sub(2)..(index + 3).min(lines.len());
        lines[around].iter().any(|line| !line.starts_with(' '))
    };
    (0..lines.len()).filter(|index| near(*index)).filter_map(|i| lines.get(i).cloned()).collect()
}

/// How many lines to skip on either side until two are equal again; the fewest in sum.
fn meeting(real: &[&str], ours: &[&str]) -> (usize, usize) {
    for sum in 1..(real.len() + ours.len()) {
        for left in 0..=sum {
            if let (Some(a), Some(b)) = (real.get(left), ours.get(sum - left))
                && a == b
            {
                return (left, sum - left);
            }
        }
    }
    (real.len(), ours.len())
}

#[cfg(test)]
mod tests {
    use super::{Level, compare, difference};
    use crate::case::Answer;

    fn built(yaml: &str) -> Answer {
        Answer { ok: true, yaml: yaml.to_owned(), ..Answer::default() }
    }

    #[test]
    fn answers_differ_by_the_worst_level() {
        let one = built("kind: A\nlist: [1]\n---\nkind: B\n");
        assert_eq!(compare(&one, &one), None);
        let cases = [
            ("kind: A\nlist:\n- 1\n---\nkind: B\n", Level::Bytes),
            ("kind: B\n---\nkind: A\nlist: [1]\n", Level::Order),
            ("kind: A\nlist: ['1']\n---\nkind: B\n", Level::Objects),
            ("kind: A\nlist: [1]\n", Level::Objects),
        ];
        for (text, level) in cases {
            assert_eq!(compare(&one, &built(text)), Some(level), "{text}");
        }
        assert_eq!(compare(&one, &Answer::default()), Some(Level::Class));
        assert_eq!(compare(&Answer::default(), &Answer::default()), None);
        let fell = Answer { panic: true, ..Answer::default() };
        assert_eq!(compare(&Answer::default(), &fell), Some(Level::Panic));
        assert_eq!(compare(&fell, &Answer::default()), None);
    }

    #[test]
    fn differences_show_both_sides() {
        let lines = difference("a\nb\nc\nd\ne\nf\n", "a\nb\nc\nX\ne\nf\n");
        assert_eq!(lines, ["  b", "  c", "- d", "+ X", "  e", "  f"]);
    }
}
