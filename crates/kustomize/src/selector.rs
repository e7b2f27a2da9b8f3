//! Selectors of patches and replacements.

use std::collections::BTreeMap;

use regex::Regex;
use sluice_base::go::regexp;
use sluice_base::labels::Selector as LabelSelector;

use crate::decode::Fields;
use crate::failure::{Failure, Result};
use crate::id::{Gvk, ResourceId, split_api_version};
use crate::openapi::Schema;
use crate::resource::{Resource, annotation};
use crate::resources::Resources;

/// A selector as written: patterns and label selectors. Empty parts match everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "the fields are called so where they are written")]
pub(crate) struct Selector {
    /// Patterns of group, version and kind.
    pub(crate) gvk: Gvk,
    /// A pattern for the name.
    pub(crate) name: String,
    /// A pattern for the namespace.
    pub(crate) namespace: String,
    /// A label selector.
    pub(crate) label_selector: String,
    /// A label selector over annotations.
    pub(crate) annotation_selector: String,
}

impl Selector {
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self> {
        let (gvk, name, namespace) =
            fields.embedded(|id| Ok((Gvk::read(id)?, id.text("name")?, id.text("namespace")?)))?;
        Ok(Self {
            gvk,
            name,
            namespace,
            label_selector: fields.text("labelSelector")?,
            annotation_selector: fields.text("annotationSelector")?,
        })
    }

    /// Compiles the selector.
    pub(crate) fn compile(&self) -> Result<CompiledSelector> {
        Ok(CompiledSelector {
            group: Pattern::read(&self.gvk.group)?,
            version: Pattern::read(&self.gvk.version)?,
            kind: Pattern::read(&self.gvk.kind)?,
            name: Pattern::read(&self.name)?,
            namespace: Pattern::read(&self.namespace)?,
            // Wrong ones are only an error where a resource gets so far.
            labels: labels(&self.label_selector),
            annotations: labels(&self.annotation_selector),
        })
    }
}

/// A compiled selector.
#[derive(Debug, Clone)]
pub(crate) struct CompiledSelector {
    group: Pattern,
    version: Pattern,
    kind: Pattern,
    name: Pattern,
    namespace: Pattern,
    labels: Result<LabelSelector>,
    annotations: Result<LabelSelector>,
}

impl CompiledSelector {
    /// Positions of the selected resources: matches current or original name and namespace.
    pub(crate) fn select(&self, resources: &Resources, schema: &Schema) -> Result<Vec<usize>> {
        let mut selected = Vec::new();
        for (position, resource) in resources.iter().enumerate() {
            if self.selects(resource, schema)? {
                selected.push(position);
            }
        }
        Ok(selected)
    }

    /// Called for every resource and patch, so it copies nothing before the name matches.
    fn selects(&self, resource: &Resource, schema: &Schema) -> Result<bool> {
        let (group, version) = split_api_version(resource.api_version());
        if !self.kind.matches(resource.kind())
            || !self.group.matches(group)
            || !self.version.matches(version)
        {
            return Ok(false);
        }
        let first = |history| resource.annotation(history).and_then(|all| all.split(',').next());
        let was_called = first(annotation::PREVIOUS_NAMES);
        let has_name = self.name.matches(resource.name())
            || was_called.is_some_and(|name| self.name.matches(name));
        if !has_name {
            return Ok(false);
        }
        let has_namespace = matches!(self.namespace, Pattern::Anything)
            || self.namespace.matches(resource.original_id(schema).effective_namespace())
            || self.namespace.matches(resource.id(schema).effective_namespace());
        // Only label selectors can be invalid, and they are evaluated last.
        Ok(has_namespace && self.matches_labels(resource)? && self.matches_annotations(resource)?)
    }

    /// Whether an id matches, with the namespace as it is written.
    pub(crate) fn matches_id(&self, id: &ResourceId) -> bool {
        self.matches_gvk(&id.gvk)
            && self.name.matches(&id.name)
            && self.namespace.matches(&id.namespace)
    }

    fn matches_gvk(&self, gvk: &Gvk) -> bool {
        self.group.matches(&gvk.group)
            && self.version.matches(&gvk.version)
            && self.kind.matches(&gvk.kind)
    }

    pub(crate) fn matches_labels(&self, resource: &Resource) -> Result<bool> {
        let labels = self.labels.as_ref().map_err(Clone::clone)?;
        Ok(labels.is_empty() || selects(labels, &resource.labels()))
    }

    pub(crate) fn matches_annotations(&self, resource: &Resource) -> Result<bool> {
        let annotations = self.annotations.as_ref().map_err(Clone::clone)?;
        Ok(annotations.is_empty() || selects(annotations, &resource.annotations()))
    }
}

/// A label selector as kustomize reads it.
fn labels(text: &str) -> Result<LabelSelector> {
    LabelSelector::parse_kyaml(text).map_err(|error| {
        Failure::new(error.to_string()).hint(format_args!(
            "`{text}` is no label selector: write `key=value`, `key in (a,b)`, `key` or `!key`"
        ))
    })
}

fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    selector.matches(|key| labels.get(key).map(String::as_str))
}

/// A regular expression as Go compiles it.
pub(crate) fn compile(pattern: &str) -> Result<Regex> {
    regexp::compile(pattern).map_err(|error| {
        Failure::new(error.to_string())
            .hint("the pattern is a regular expression in Go's (RE2) syntax")
    })
}

/// A pattern for a whole text.
#[derive(Debug, Clone)]
enum Pattern {
    Anything,
    /// Without special characters.
    Text(String),
    Regex(Regex),
}

impl Pattern {
    fn read(pattern: &str) -> Result<Self> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_/".contains(&byte);
        Ok(if pattern.is_empty() {
            Self::Anything
        } else if pattern.bytes().all(is_plain) {
            Self::Text(pattern.to_owned())
        } else {
            Self::Regex(compile(&format!("^(?:{pattern})$"))?)
        })
    }

    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Anything => true,
            Self::Text(wanted) => wanted == text,
            Self::Regex(regex) => regex.is_match(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Selector;
    use crate::decode::{Fields, Unknown};
    use crate::openapi::Schema;
    use crate::resources::Resources;

    const OBJECTS: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop, annotations: {tier: front}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
";

    #[test]
    fn resources_are_selected_by_patterns_and_labels() {
        let schema = Schema::builtin();
        let mut all = Resources::default();
        for mut resource in crate::read::read_resources(OBJECTS.as_bytes(), None).unwrap() {
            resource.store_id(&schema).unwrap();
            let name = format!("new-{}", resource.name());
            resource.set_name(&name).unwrap();
            all.append(resource, &schema).unwrap();
        }
        let cases: [(serde_json::Value, &[usize]); 12] = [
            (json!({}), &[0, 1, 2]),
            (json!({"name": "web"}), &[0, 1]),
            (json!({"name": "new-web"}), &[0, 1]),
            (json!({"name": "new-.*"}), &[0, 1, 2]),
            (json!({"name": "we"}), &[]),
            (json!({"namespace": "default"}), &[0]),
            (json!({"namespace": "shop|default"}), &[0, 1]),
            (json!({"kind": "Deploy.*|Service", "group": "apps"}), &[0]),
            (json!({"group": "apps|"}), &[0, 1]),
            (json!({"labelSelector": "app=web"}), &[0]),
            (json!({"annotationSelector": "tier in (front,back)"}), &[1]),
            (json!({"labelSelector": "a=b=c", "kind": "None"}), &[]),
        ];
        for (value, expected) in cases {
            let fields = Fields::of(&value, "Selector", Unknown::Refused).unwrap();
            let selector = Selector::read(&fields).unwrap().compile().unwrap();
            assert_eq!(selector.select(&all, &schema).unwrap(), expected, "{value}");
        }
        let wrong = Selector { label_selector: "a=b=c".to_owned(), ..Selector::default() };
        assert!(wrong.compile().unwrap().select(&all, &schema).is_err());
        let wrong = Selector { name: "*".to_owned(), ..Selector::default() };
        assert!(wrong.compile().is_err());
    }
}
