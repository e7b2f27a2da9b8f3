//! Label and field selectors of list, watch and delete-collection requests.

use serde_json::Value;
use sluice_base::gojson::quote;

use crate::metadata;
use crate::resource::Resource;
use crate::status::Status;

/// What labels must be like.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Requirement {
    Exists(String),
    Absent(String),
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Greater(String, i64),
    Less(String, i64),
}

/// A parsed `labelSelector`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector(Vec<Requirement>);

impl LabelSelector {
    /// Reads the text form: `a=b,c!=d,e in (f,g),h notin (i),j,!k`.
    pub(crate) fn parse(text: &str) -> Result<Self, Status> {
        let mut out = Vec::new();
        for term in split_terms(text) {
            out.push(requirement(term.trim())?);
        }
        Ok(Self(out))
    }

    /// A `metav1.LabelSelector` object; null selects nothing, empty selects everything.
    pub(crate) fn from_object(selector: &Value) -> Option<Self> {
        let fields = selector.as_object()?;
        let mut out = Vec::new();
        for (key, value) in
            fields.get("matchLabels").and_then(Value::as_object).into_iter().flatten()
        {
            let value = value.as_str().unwrap_or_default().to_owned();
            out.push(Requirement::In(key.clone(), vec![value]));
        }
        for item in fields.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
            let key = item["key"].as_str().unwrap_or_default().to_owned();
            let values: Vec<String> = item["values"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|value| value.as_str().map(str::to_owned))
                .collect();
            out.push(match item["operator"].as_str().unwrap_or_default() {
                "In" => Requirement::In(key, values),
                "NotIn" => Requirement::NotIn(key, values),
                "Exists" => Requirement::Exists(key),
                _ => Requirement::Absent(key),
            });
        }
        Some(Self(out))
    }

    /// Whether it selects everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the object's labels fit.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.0.iter().all(|requirement| {
            let label = |key: &str| metadata::entry(object, "labels", key);
            let number = |key: &str| label(key).and_then(|value| value.parse::<i64>().ok());
            match requirement {
                Requirement::Exists(key) => label(key).is_some(),
                Requirement::Absent(key) => label(key).is_none(),
                Requirement::In(key, values) => {
                    label(key).is_some_and(|value| values.iter().any(|wanted| wanted == value))
                }
                Requirement::NotIn(key, values) => {
                    label(key).is_none_or(|value| values.iter().all(|wanted| wanted != value))
                }
                Requirement::Greater(key, bound) => number(key).is_some_and(|value| value > *bound),
                Requirement::Less(key, bound) => number(key).is_some_and(|value| value < *bound),
            }
        })
    }
}

/// Splits at commas outside parentheses.
fn split_terms(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let (mut depth, mut start) = (0_usize, 0);
    for (index, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                out.push(&text[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    if !text[start..].trim().is_empty() || !out.is_empty() {
        out.push(&text[start..]);
    }
    out
}

fn requirement(term: &str) -> Result<Requirement, Status> {
    let unparsable =
        |why: String| Status::bad_request(format!("unable to parse requirement: {why}"));
    if let Some(key) = term.strip_prefix('!') {
        return Ok(Requirement::Absent(checked_key(key.trim())?));
    }
    for (operator, is_in) in
        [(" notin ", false), (" in ", true), (" notin(", false), (" in(", true)]
    {
        if let Some(at) = term.find(operator) {
            let key = checked_key(term[..at].trim())?;
            let list = term[at + operator.trim_end_matches('(').len()..].trim();
            let inner = list
                .strip_prefix('(')
                .and_then(|list| list.strip_suffix(')'))
                .ok_or_else(|| unparsable(format!("found '{list}', expected: '('")))?;
            let values = inner.split(',').map(|value| value.trim().to_owned()).collect();
            return Ok(if is_in {
                Requirement::In(key, values)
            } else {
                Requirement::NotIn(key, values)
            });
        }
    }
    for (operator, equal) in [("!=", false), ("==", true), ("=", true)] {
        if let Some((key, value)) = term.split_once(operator) {
            let key = checked_key(key.trim())?;
            let value = checked_value(&key, value.trim())?;
            return Ok(if equal {
                Requirement::In(key, vec![value])
            } else {
                Requirement::NotIn(key, vec![value])
            });
        }
    }
    for (operator, greater) in [('>', true), ('<', false)] {
        if let Some((key, value)) = term.split_once(operator) {
            let key = checked_key(key.trim())?;
            let bound = value.trim().parse().map_err(|_| {
                unparsable("for 'Gt', 'Lt' operators, the value must be an integer".to_owned())
            })?;
            return Ok(if greater {
                Requirement::Greater(key, bound)
            } else {
                Requirement::Less(key, bound)
            });
        }
    }
    if term.is_empty() {
        return Err(unparsable("found '', expected: identifier after ','".to_owned()));
    }
    if let Some((_, rest)) = term.split_once(char::is_whitespace) {
        let found = rest.trim();
        return Err(unparsable(format!("found '{found}', expected: in, notin, =, ==, !=, gt, lt")));
    }
    Ok(Requirement::Exists(checked_key(term)?))
}

fn checked_key(key: &str) -> Result<String, Status> {
    let problems = sluice_schema::names::label_key(key);
    if problems.is_empty() {
        return Ok(key.to_owned());
    }
    Err(Status::bad_request(format!(
        "unable to parse requirement: <nil>: Invalid value: {}: {}",
        quote(key),
        problems.join("; ")
    )))
}

fn checked_value(key: &str, value: &str) -> Result<String, Status> {
    let problems = sluice_schema::names::label_value(value);
    if problems.is_empty() {
        return Ok(value.to_owned());
    }
    Err(Status::bad_request(format!(
        "unable to parse requirement: values[0][{key}]: Invalid value: {}: {}",
        quote(value),
        problems.join("; ")
    )))
}

/// A parsed `fieldSelector`: fields that must equal, or must not equal, a value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector(Vec<(String, String, bool)>);

impl FieldSelector {
    /// Reads the text form: `a=b,c!=d`, with `\` escaping `,`, `=` and itself.
    pub(crate) fn parse(text: &str) -> Result<Self, Status> {
        let mut out = Vec::new();
        for term in split_escaped(text) {
            if term.is_empty() {
                continue;
            }
            let (field, value, equal) = split_operator(&term).ok_or_else(|| {
                Status::bad_request(format!(
                    "invalid selector: '{text}'; can't understand '{term}'"
                ))
            })?;
            out.push((field, value, equal));
        }
        Ok(Self(out))
    }

    /// Whether it selects everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The name that must match, if the selector demands one.
    pub(crate) fn name(&self) -> Option<&str> {
        self.0
            .iter()
            .find(|(field, _, equal)| field == "metadata.name" && *equal)
            .map(|(_, value, _)| value.as_str())
    }

    /// Fails if the resource cannot be selected by one of the fields.
    pub(crate) fn check(&self, resource: &Resource) -> Result<(), Status> {
        let known = resource.hooks.selectable_fields(&Value::Null);
        for (field, _, _) in &self.0 {
            let fits = (field == "metadata.name")
                || field == "metadata.namespace"
                || known.iter().any(|(name, _)| name == field);
            if !fits {
                return Err(Status::bad_request(resource.hooks.unsupported_field(field)));
            }
        }
        Ok(())
    }

    /// Whether the object's fields fit.
    pub(crate) fn matches(&self, resource: &Resource, object: &Value) -> bool {
        if self.0.is_empty() {
            return true;
        }
        let fields = resource.hooks.selectable_fields(object);
        self.0.iter().all(|(field, wanted, equal)| {
            let value = match field.as_str() {
                "metadata.name" => metadata::name(object),
                "metadata.namespace" => metadata::namespace(object),
                other => fields
                    .iter()
                    .find(|(name, _)| name == other)
                    .map_or("", |(_, value)| value.as_str()),
            };
            (value == wanted) == *equal
        })
    }
}

fn split_escaped(text: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let last = out.last_mut().expect("the list starts with one entry");
        match character {
            '\\' => {
                last.push('\\');
                last.extend(characters.next());
            }
            ',' => out.push(String::new()),
            other => last.push(other),
        }
    }
    out
}

fn split_operator(term: &str) -> Option<(String, String, bool)> {
    let (field, value, equal) = if let Some((field, value)) = term.split_once("!=") {
        (field, value, false)
    } else if let Some((field, value)) = term.split_once("==") {
        (field, value, true)
    } else {
        let (field, value) = term.split_once('=')?;
        (field, value, true)
    };
    let unescape = |text: &str| {
        let mut out = String::new();
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            if character == '\\' { out.extend(characters.next()) } else { out.push(character) }
        }
        out
    };
    Some((unescape(field), unescape(value), equal))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn labels_are_selected_by_every_operator() {
        let object = json!({"metadata": {"labels": {"app": "web", "tier": "1"}}});
        let cases = [
            ("", true),
            ("app=web", true),
            ("app==web,tier", true),
            ("app!=web", false),
            ("zone!=x", true),
            ("app in (web,api)", true),
            ("app notin (web, api)", false),
            ("zone notin (a)", true),
            ("!zone", true),
            ("!app", false),
            ("tier>0", true),
            ("tier<1", false),
        ];
        for (text, expected) in cases {
            assert_eq!(LabelSelector::parse(text).unwrap().matches(&object), expected, "{text}");
        }
        assert!(LabelSelector::parse("a b").is_err());
        assert!(LabelSelector::parse("-a=b").is_err());
    }

    #[test]
    fn a_selector_object_selects_like_its_text() {
        let object = json!({"metadata": {"labels": {"app": "web"}}});
        let selector = json!({
            "matchLabels": {"app": "web"},
            "matchExpressions": [{"key": "zone", "operator": "DoesNotExist"}],
        });
        assert!(LabelSelector::from_object(&selector).unwrap().matches(&object));
        assert!(LabelSelector::from_object(&Value::Null).is_none());
    }

    #[test]
    fn fields_may_hold_escaped_separators() {
        let selector = FieldSelector::parse(r"metadata.name=a\,b,metadata.namespace!=c").unwrap();
        assert_eq!(selector.name(), Some("a,b"));
        assert!(FieldSelector::parse("metadata.name").is_err());
    }
}
