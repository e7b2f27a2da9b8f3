//! Ignore rules: fields of other managers, left out of the drift comparison and of what is applied.

mod ownership;

use regex::Regex;
use serde_json::Value;
use sluice_api::shared::kustomize::{IgnoreRule, Selector};
use sluice_base::go::regexp;
use sluice_base::labels::Selector as LabelSelector;

use crate::metadata;
use crate::object::ObjectKey;

/// Why a rule is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("failed to create ignore rule selector: invalid {what}: {why}")]
pub struct IgnoreError {
    what: &'static str,
    why: String,
}

/// Compiled rules, in order.
#[derive(Clone, Debug, Default)]
pub struct IgnoreRules(Vec<(Option<Target>, Vec<String>)>);

#[derive(Clone, Debug)]
struct Target {
    group: Option<Regex>,
    version: Option<Regex>,
    kind: Option<Regex>,
    name: Option<Regex>,
    namespace: Option<Regex>,
    labels: LabelSelector,
    annotations: LabelSelector,
}

impl IgnoreRules {
    /// Compiles rules.
    pub fn compile(rules: &[IgnoreRule]) -> Result<Self, IgnoreError> {
        rules
            .iter()
            .map(|rule| {
                let target = rule.target.as_ref().map(Target::compile).transpose()?;
                Ok((target, rule.paths.clone()))
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// The pointers that apply to an object.
    fn paths(&self, object: &Value) -> Vec<&str> {
        self.0
            .iter()
            .filter(|(target, _)| target.as_ref().is_none_or(|target| target.matches(object)))
            .flat_map(|(_, paths)| paths.iter().map(String::as_str))
            .collect()
    }

    /// Removes the ignored fields from two objects; `merged` determines the rules that apply.
    pub(crate) fn strip(&self, live: &mut Value, merged: &mut Value) {
        let paths: Vec<String> = self.paths(merged).into_iter().map(str::to_owned).collect();
        for path in paths {
            remove(live, &path);
            remove(merged, &path);
        }
    }

    /// Adapts a desired object so that ignored fields keep their live value: a field that another manager applies
    /// is removed; a field that only we apply gets its live value.
    pub(crate) fn adapt(
        &self,
        payload: &mut Value,
        live: &Value,
        merged: &Value,
        field_manager: &str,
    ) {
        for path in self.paths(merged) {
            let (there, wanted) = (live.pointer(path), merged.pointer(path));
            if there == wanted {
                continue;
            }
            if ownership::is_applied_by_another(live, path, field_manager) {
                remove(payload, path);
            } else if let Some(field) = payload.pointer_mut(path) {
                *field = there.cloned().unwrap_or(Value::Null);
            }
        }
    }

    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Target {
    fn compile(selector: &Selector) -> Result<Self, IgnoreError> {
        Ok(Self {
            group: pattern("group regex", selector.group.as_deref())?,
            version: pattern("version regex", selector.version.as_deref())?,
            kind: pattern("kind regex", selector.kind.as_deref())?,
            name: pattern("name regex", selector.name.as_deref())?,
            namespace: pattern("namespace regex", selector.namespace.as_deref())?,
            labels: labels("label selector", selector.label_selector.as_deref())?,
            annotations: labels("annotation selector", selector.annotation_selector.as_deref())?,
        })
    }

    fn matches(&self, object: &Value) -> bool {
        let key = ObjectKey::of(object);
        let (labels, annotations) = (metadata::labels(object), metadata::annotations(object));
        let fits = |pattern: &Option<Regex>, text: &str| {
            pattern.as_ref().is_none_or(|pattern| pattern.is_match(text))
        };
        fits(&self.namespace, &key.id.namespace)
            && fits(&self.name, &key.id.name)
            && fits(&self.group, &key.id.group)
            && fits(&self.version, &key.version)
            && fits(&self.kind, &key.id.kind)
            && self.labels.matches(|key| labels.get(key).copied())
            && self.annotations.matches(|key| annotations.get(key).copied())
    }
}

fn pattern(what: &'static str, text: Option<&str>) -> Result<Option<Regex>, IgnoreError> {
    match text {
        None | Some("") => Ok(None),
        Some(text) => regexp::compile(&format!("^(?:{text})$"))
            .map(Some)
            .map_err(|error| IgnoreError { what, why: error.to_string() }),
    }
}

fn labels(what: &'static str, text: Option<&str>) -> Result<LabelSelector, IgnoreError> {
    LabelSelector::parse(text.unwrap_or_default())
        .map_err(|error| IgnoreError { what, why: error.to_string() })
}

/// Removes the field at a pointer, if it exists.
fn remove(object: &mut Value, pointer: &str) {
    let Some((parent, last)) = pointer.rsplit_once('/') else { return };
    let last = last.replace("~1", "/").replace("~0", "~");
    match object.pointer_mut(parent) {
        Some(Value::Object(fields)) => {
            fields.remove(&last);
        }
        Some(Value::Array(items)) => {
            if let Ok(index) = last.parse::<usize>()
                && index < items.len()
            {
                items.remove(index);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
