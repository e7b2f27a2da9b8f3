//! Label and field selectors of list, watch and delete-collection requests.

use serde_json::Value;
use sluice_base::labels::Selector;

use crate::metadata;
use crate::resource::Resource;
use crate::status::Status;
use crate::store::index::Term;

/// A selector of objects by their labels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LabelSelector(Selector);

impl LabelSelector {
    /// Parses the text form: `a=b,c!=d,e in (f,g),h notin (i),j,!k`.
    pub(crate) fn parse(text: &str) -> Result<Self, Status> {
        let selector = Selector::parse(text);
        selector.map(Self).map_err(|error| Status::bad_request(error.to_string()))
    }

    /// A `metav1.LabelSelector` object; null selects nothing, empty selects everything. One that is
    /// wrong selects nothing.
    pub(crate) fn from_object(selector: &Value) -> Option<Self> {
        Selector::from_object(selector).ok().flatten().map(Self)
    }

    /// The selector for exactly these labels.
    pub(crate) fn equal(labels: &[(&str, &str)]) -> Self {
        Self(Selector::equal(labels))
    }

    /// Whether it selects everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What the index can be asked for the selected objects: one question for each label that has to have one of
    /// some values.
    pub(crate) fn questions(&self) -> Vec<Vec<Term>> {
        let questions = self.0.requirements().iter().filter_map(|requirement| {
            let label = |value: &String| Term::Label(requirement.key().to_owned(), value.clone());
            Some(requirement.wanted()?.iter().map(label).collect())
        });
        questions.collect()
    }

    /// Whether the selector matches the object's labels.
    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.0.matches(|key| metadata::entry(object, "labels", key))
    }
}

/// The text form of a `metav1.LabelSelector`, sorted by key.
pub(crate) fn label_selector_text(selector: &Value) -> String {
    Selector::from_object(selector).ok().flatten().unwrap_or_default().to_string()
}

/// A parsed `fieldSelector`: fields that must equal, or must not equal, a value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector(Vec<(String, String, bool)>);

impl FieldSelector {
    /// Parses the text form: `a=b,c!=d`, with `\` escaping `,`, `=` and itself.
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

    /// The value that a field must have, if the selector requires one.
    pub(crate) fn exact(&self, field: &str) -> Option<&str> {
        let term = self.0.iter().find(|(name, _, equal)| name == field && *equal);
        term.map(|(_, value, _)| value.as_str())
    }

    /// Fails if the resource does not support one of the fields.
    pub(crate) fn check(&self, resource: &Resource) -> Result<(), Status> {
        let known = resource.hooks.selectable_fields(&Value::Null);
        for (field, _, _) in &self.0 {
            let fits = (field == "metadata.name")
                || field == "metadata.namespace"
                || known.iter().any(|(name, _)| name == field);
            if !fits {
                return Err(Status::bad_request(if resource.shape.is_custom() {
                    format!("field label not supported: {field}")
                } else {
                    resource.hooks.unsupported_field(field)
                }));
            }
        }
        Ok(())
    }

    /// Whether the selector matches the object's fields.
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
        assert_eq!(selector.0[0], ("metadata.name".to_owned(), "a,b".to_owned(), true));
        assert!(FieldSelector::parse("metadata.name").is_err());
    }
}
