//! Label selectors in their text form: `a=b, c!=d, e in (f, g), h notin (i), j, !k`.

use std::collections::BTreeMap;

/// Requirements on labels; all must hold.
#[derive(Clone, Debug, Default)]
pub(super) struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug)]
enum Requirement {
    Exists(String),
    Absent(String),
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
}

impl LabelSelector {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        parts(text)?
            .into_iter()
            .filter(|part| !part.is_empty())
            .map(|part| requirement(&part))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    pub(super) fn matches(&self, labels: &BTreeMap<&str, &str>) -> bool {
        self.0.iter().all(|requirement| match requirement {
            Requirement::Exists(key) => labels.contains_key(key.as_str()),
            Requirement::Absent(key) => !labels.contains_key(key.as_str()),
            Requirement::In(key, values) => {
                labels.get(key.as_str()).is_some_and(|value| values.iter().any(|v| v == value))
            }
            Requirement::NotIn(key, values) => {
                labels.get(key.as_str()).is_none_or(|value| values.iter().all(|v| v != value))
            }
        })
    }
}

/// The requirements as text: split at commas that are not in brackets.
fn parts(text: &str) -> Result<Vec<String>, String> {
    let mut parts = vec![String::new()];
    let mut inside = false;
    for letter in text.chars() {
        match letter {
            '(' if !inside => inside = true,
            ')' if inside => inside = false,
            '(' | ')' => return Err(format!("unexpected {letter:?} in {text:?}")),
            ',' if !inside => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = parts.last_mut() {
            last.push(letter);
        }
    }
    if inside {
        return Err(format!("a bracket is not closed in {text:?}"));
    }
    Ok(parts.into_iter().map(|part| part.trim().to_owned()).collect())
}

fn requirement(part: &str) -> Result<Requirement, String> {
    let key = |text: &str| {
        let text = text.trim();
        let fits = |letter: char| letter.is_ascii_alphanumeric() || "-_./".contains(letter);
        if text.is_empty() || !text.chars().all(fits) {
            return Err(format!("{text:?} is no key in {part:?}"));
        }
        Ok(text.to_owned())
    };
    if let Some(name) = part.strip_prefix('!') {
        return key(name).map(Requirement::Absent);
    }
    if let Some(list) = part.strip_suffix(')') {
        let (head, values) = list.split_once('(').ok_or_else(|| format!("{part:?} has no list"))?;
        let values = values.split(',').map(|value| value.trim().to_owned()).collect();
        let (name, word) =
            head.trim().rsplit_once(char::is_whitespace).ok_or_else(|| format!("{part:?}"))?;
        return match word {
            "in" => Ok(Requirement::In(key(name)?, values)),
            "notin" => Ok(Requirement::NotIn(key(name)?, values)),
            _ => Err(format!("found {word:?}, expected: in, notin, =, ==, !=")),
        };
    }
    let pair = |value: &str| vec![value.trim().to_owned()];
    if let Some((name, value)) = part.split_once("!=") {
        return Ok(Requirement::NotIn(key(name)?, pair(value)));
    }
    if let Some((name, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return Ok(Requirement::In(key(name)?, pair(value)));
    }
    key(part).map(Requirement::Exists)
}
