//! LimitRange.

use std::collections::BTreeSet;

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::kind::{Context, Kind};
use crate::kinds::pod_spec::{container_resource_name, resource_name};
use crate::validation::{Errors, named, names, quantity};
use crate::value::{entries, list, list_mut, set, text};

/// The hooks of LimitRange.
pub(super) struct LimitRange;

impl Kind for LimitRange {
    fn default(&self, object: &mut Value) {
        for item in list_mut(object, "spec.limits") {
            if text(item, "type") != "Container" {
                continue;
            }
            let mut limits = entries(item, "default").clone();
            let mut requests = entries(item, "defaultRequest").clone();
            for (name, amount) in entries(item, "max") {
                limits.entry(name).or_insert_with(|| amount.clone());
            }
            for (name, amount) in limits.iter().chain(entries(item, "min")) {
                requests.entry(name).or_insert_with(|| amount.clone());
            }
            set(item, "default", Value::Object(limits));
            set(item, "defaultRequest", Value::Object(requests));
        }
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let mut errors = Vec::new();
        let mut seen = Vec::new();
        for (index, item) in list(object, "spec.limits").iter().enumerate() {
            let path = Path::new("spec").child("limits").index(index);
            let kind = text(item, "type");
            let wrong = named(names::qualified_name, kind, &path.child("type"));
            let standard = ["Pod", "Container", "PersistentVolumeClaim"].contains(&kind);
            if wrong.is_empty() && !kind.contains('/') && !standard {
                let detail = "must be a standard limit type or fully qualified";
                errors.push(FieldError::invalid(&path.child("type"), kind, detail));
            }
            errors.extend(wrong);
            if seen.contains(&kind) {
                errors.push(FieldError::duplicate(&path.child("type"), kind));
            }
            seen.push(kind);
            errors.extend(resource_names(item, kind, &path));
            errors.extend(order(item, &path));
        }
        errors
    }

    fn allows_create_on_update(&self) -> bool {
        true
    }
}

fn resource_names(item: &Value, kind: &str, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let check = |list: &str, errors: &mut Errors| {
        for name in entries(item, list).keys() {
            let path = path.child(list).key(name);
            errors.extend(match kind {
                "Pod" | "Container" => container_resource_name(name, &path),
                _ => resource_name(name, &path),
            });
        }
    };
    check("max", &mut errors);
    check("min", &mut errors);
    for list in ["default", "defaultRequest"] {
        if kind != "Pod" {
            check(list, &mut errors);
        } else if !entries(item, list).is_empty() {
            let detail = "may not be specified when `type` is 'Pod'";
            errors.push(FieldError::forbidden(&path.child(list), detail));
        }
    }
    if kind == "PersistentVolumeClaim"
        && ["min", "max"].iter().all(|list| !entries(item, list).contains_key("storage"))
    {
        let detail =
            "either minimum or maximum storage value is required, but neither was provided";
        errors.push(FieldError::required(&path.child("limits"), detail));
    }
    check("maxLimitRequestRatio", &mut errors);
    errors
}

fn order(item: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let lists = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"];
    let keys: BTreeSet<&String> =
        lists.iter().flat_map(|list| entries(item, list).keys()).collect();
    for name in keys {
        let of = |list: &str| entries(item, list).get(name);
        let mut above = |left: &str, right: &str, shown: (&str, &str), words: (&str, &str)| {
            let (Some(low), Some(high)) = (of(left), of(right)) else { return };
            if quantity::compare(low, high).is_gt() {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let value = of(shown.1).cloned().unwrap_or_default();
                errors.push(FieldError::invalid(
                    &path.child(shown.0).key(name),
                    value,
                    format!(
                        "{} value {} is greater than {} value {}",
                        words.0,
                        text(low),
                        words.1,
                        text(high)
                    ),
                ));
            }
        };
        above("min", "max", ("min", "min"), ("min", "max"));
        let request = ("defaultRequest", "defaultRequest");
        above("min", "defaultRequest", request, ("min", "default request"));
        above("defaultRequest", "max", request, ("default request", "max"));
        above("defaultRequest", "default", request, ("default request", "default limit"));
        above("min", "default", ("default", "min"), ("min", "default"));
        above("default", "max", ("default", "max"), ("default", "max"));
    }
    errors
}
